"""Shows that the checker accepts valid histories, and finds each fault that is put into one."""

import random

from checker import EVENT, LINK, MEMORY, OK, READ, REFUSED, UNKNOWN, UPDATE, Call, Run, State, judge

MACHINES = ("north", "east", "south")


def history(seed, steps=400):
    """A history that a correct cluster could have, and its final state."""
    chance = random.Random(seed)
    calls, memories, events, links = [], [], [], []
    clock = {f"agent-{it}": chance.random() for it in range(6)}
    seq = 0
    for step in range(steps):
        # The client whose clock is the least goes on: its write commits in the middle of its call.
        client = min(clock, key=clock.get)
        start = clock[client]
        commit = max(start, max((it.end for it in calls[-1:]), default=0.0) - 0.004) + 0.002
        end = commit + 0.003
        clock[client] = end + chance.random() * 0.01
        base = {"client": client, "machine": chance.choice(MACHINES), "start": start, "end": end}
        key, draw = f"{client}-{step}", chance.random()
        if draw < 0.08:
            calls.append(Call(kind=MEMORY, key=key, outcome=REFUSED, **base))
        elif draw < 0.16:
            if chance.random() < 0.5:
                seq += 1
                memories.append([len(memories) + 1, key, None])
            calls.append(Call(kind=MEMORY, key=key, outcome=UNKNOWN, **base))
        elif draw < 0.5:
            seq += 1
            memories.append([len(memories) + 1, key, None])
            calls.append(Call(kind=MEMORY, key=key, outcome=OK, id=len(memories), at=seq, **base))
        elif draw < 0.75:
            seq += 1
            events.append((len(events) + 1, key))
            first = Call(kind=EVENT, key=key, outcome=OK, id=len(events), at=seq, **base)
            if chance.random() < 0.3:
                # The response was lost, and the client has asked again.
                calls.append(first._replace(outcome=UNKNOWN, id=None, at=None, end=commit))
                first = first._replace(start=commit, repeated=True)
            calls.append(first)
        elif draw < 0.85 and memories:
            written = [it for it in calls if it.kind == MEMORY and it.outcome == OK and it.client == client]
            if written:
                target = chance.choice(written)
                seq += 1
                memories[target.id - 1][2] = (memories[target.id - 1][2] or 0) + 1
                calls.append(Call(kind=UPDATE, key=target.key, outcome=OK, at=seq, revision=memories[target.id - 1][2], **base))
        elif draw < 0.9 and len(memories) > 2:
            seq += 1
            links.append(f"{len(memories)}-{step}")
            calls.append(Call(kind=LINK, key=links[-1], outcome=OK, at=seq, **base))
        else:
            written = [it for it in calls if it.kind in (MEMORY, EVENT) and it.outcome == OK and it.end < start]
            if written:
                target = chance.choice(written)
                calls.append(Call(kind=READ, key=target.key, outcome=OK, at=seq, least=target.at, found=True, **base))
    state = State([tuple(it) for it in memories], events, links, b"export")
    return calls, {name: state for name in MACHINES}


def pick(calls, kind, outcome=OK, which=0.5, **wanted):
    found = [n for n, it in enumerate(calls) if it.kind == kind and it.outcome == outcome
             and all(getattr(it, name) == value for name, value in wanted.items())]
    return found[int(len(found) * which)]


def everywhere(states, **parts):
    return {name: it._replace(**parts) for name, it in states.items()}


def renumbered(rows):
    return [(number, *row[1:]) for number, row in enumerate(rows, 1)]


def acknowledged_before_commit(calls, states):
    """The last acknowledged memory does not exist: it was acknowledged before its commit."""
    lost = calls[pick(calls, MEMORY, which=0.999)]
    rows = [it for it in states["north"].memories if it[1] != lost.key]
    return calls, everywhere(states, memories=renumbered(rows))


def trusted_wait(calls, states):
    """A cancelled wait for standbys was trusted: the events after a failover reuse the ids of lost ones."""
    place = pick(calls, EVENT, which=0.6, repeated=False)
    lost = calls[place]
    rows = [it for it in states["north"].events if it[1] != lost.key]
    return calls, everywhere(states, events=renumbered(rows))


def looked_up_on_the_old_primary(calls, states):
    """A batch was looked up on a server that was the primary no longer, and written again."""
    rows = list(states["north"].memories)
    twice = calls[pick(calls, MEMORY)]
    return calls, everywhere(states, memories=[*rows, (len(rows) + 1, twice.key, None)])


def refused_and_written(calls, states):
    """A write was reported as not written, and was written later."""
    refused = calls[pick(calls, MEMORY, REFUSED)]
    rows = states["north"].memories
    return calls, everywhere(states, memories=[*rows, (len(rows) + 1, refused.key, None)])


def skipped_record(calls, states):
    """A follower has skipped a record."""
    short = states["east"].memories
    short = short[: len(short) // 2] + short[len(short) // 2 + 1:]
    return calls, {**states, "east": states["east"]._replace(memories=short)}


def other_bytes(calls, states):
    """The exports differ in one byte, and in nothing that the checker compares by key."""
    return calls, {**states, "south": states["south"]._replace(export=b"Export")}


def stale_lease(calls, states):
    """A holder whose lease had ended appended: two events have the same id, and one was overwritten."""
    one, other = pick(calls, EVENT, which=0.3, repeated=False), pick(calls, EVENT, which=0.5, repeated=False)
    changed = list(calls)
    changed[other] = calls[other]._replace(id=calls[one].id)
    rows = [it for it in states["north"].events if it[1] != calls[other].key]
    return changed, everywhere(states, events=renumbered(rows))


def restore(calls, states):
    """A backup was restored, and clients wrote on: the positions and ids of lost writes are used again."""
    changed = list(calls)
    places = [n for n, it in enumerate(calls) if it.kind == MEMORY and it.outcome == OK]
    back = places[len(places) // 2:]
    for place, source in zip(back, places[len(places) // 4:]):
        changed[place] = calls[place]._replace(id=calls[source].id, at=calls[source].at)
    return changed, states


def trimmed(calls, states):
    """The journal was trimmed without a snapshot: a machine that joined lacks the beginning."""
    return calls, {**states, "south": states["south"]._replace(memories=states["south"].memories[20:])}


def reordered(calls, states):
    """Two memories of one client have each other's ids."""
    client = calls[pick(calls, MEMORY)].client
    own = [n for n, it in enumerate(calls) if it.kind == MEMORY and it.outcome == OK and it.client == client]
    one, other = own[0], own[-1]
    changed = list(calls)
    changed[one], changed[other] = calls[one]._replace(id=calls[other].id), calls[other]._replace(id=calls[one].id)
    rows = list(states["north"].memories)
    first, last = calls[one].id - 1, calls[other].id - 1
    rows[first], rows[last] = (rows[first][0], *rows[last][1:]), (rows[last][0], *rows[first][1:])
    return changed, everywhere(states, memories=rows)


def stale_read(calls, states):
    """A read that named a position did not show what was written before it."""
    changed = list(calls)
    place = pick(calls, READ)
    changed[place] = calls[place]._replace(found=False)
    return changed, states


def lost_update(calls, states):
    """An acknowledged update was overwritten by an earlier one."""
    update = calls[pick(calls, UPDATE, which=0.999)]
    rows = [(id, key, 0 if key == update.key else revision) for id, key, revision in states["north"].memories]
    return calls, everywhere(states, memories=rows)


def lost_link(calls, states):
    """An acknowledged link does not exist."""
    return calls, everywhere(states, links=states["north"].links[1:])


def duplicate_event(calls, states):
    """A repeated publish with an Idempotency-Key has published again."""
    repeated = calls[pick(calls, EVENT, repeated=True)]
    rows = states["north"].events
    return calls, everywhere(states, events=[*rows, (len(rows) + 1, repeated.key)])


def gap(calls, states):
    """An id was skipped."""
    rows = [(it[0] + (it[0] > 30), *it[1:]) for it in states["north"].events]
    return calls, everywhere(states, events=rows)


def runs(calls, states):
    """The runs of a correct cluster: some were interrupted and ran again."""
    chance = random.Random(len(calls))
    found = []
    for id, key in states["north"].events:
        tries = chance.choice((1, 1, 1, 2, 3))
        found.append(Run(id, key, ran=chance.randint(1, tries), tries=tries, state="succeeded"))
    return found


def lost_run(found):
    """An event started no run."""
    return [found[0]._replace(state=None, tries=0, ran=0), *found[1:]]


def secret_repetition(found):
    """A program ran again, on another machine, and nobody knows."""
    return [found[0]._replace(ran=found[0].tries + 1), *found[1:]]


def only_recorded(found):
    """A run is recorded as done that was not."""
    return [found[0]._replace(ran=0), *found[1:]]


# The same for the runs of a flow.
RUN_MUTATIONS = [(lost_run, {"no run"}), (secret_repetition, {"run again"}), (only_recorded, {"not run"})]

# The mutation, and the kinds of fault of which at least one must be found.
MUTATIONS = [
    (acknowledged_before_commit, {"lost"}),
    (trusted_wait, {"lost"}),
    (looked_up_on_the_old_primary, {"twice"}),
    (refused_and_written, {"refused"}),
    (skipped_record, {"differs"}),
    (other_bytes, {"differs"}),
    (stale_lease, {"lost"}),
    (restore, {"position"}),
    (trimmed, {"differs"}),
    (reordered, {"order"}),
    (stale_read, {"stale"}),
    (lost_update, {"revision"}),
    (lost_link, {"lost"}),
    (duplicate_event, {"twice"}),
    (gap, {"gap"}),
]


def self_test(say, rounds=8):
    """Whether all valid histories are accepted, and all faults found."""
    failures = 0
    for seed in range(rounds):
        valid = history(seed)
        faults = judge(*valid, runs(*valid))
        if faults:
            failures += 1
            say(f"history {seed} is valid, and the checker says: {faults[0].text}")
    say(f"{rounds} valid histories: {'accepted' if failures == 0 else f'{failures} not accepted'}")
    mutated = [(mutate, kinds, lambda valid, mutate=mutate: judge(*mutate(*valid))) for mutate, kinds in MUTATIONS]
    mutated += [(mutate, kinds, lambda valid, mutate=mutate: judge(*valid, mutate(runs(*valid)))) for mutate, kinds in RUN_MUTATIONS]
    for mutate, kinds, judged in mutated:
        missed = [seed for seed in range(rounds) if not kinds & {it.kind for it in judged(history(seed))}]
        failures += len(missed)
        verdict = f"found in {rounds} of {rounds}" if not missed else f"NOT FOUND in histories {missed}"
        say(f"{mutate.__name__.replace('_', ' '):32} {verdict}")
    return failures == 0
