"""Judges a history of calls and the final state of all machines against what a cluster promises.

A key names what a call wants to exist: a memory, an event, a link. Calls that repeat a key are tries
of the same write. Times are those of one monotonic clock, and positions those of one journal.
"""

from typing import NamedTuple, Optional

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
MEMORY, EVENT, LINK, UPDATE, READ = "memory", "event", "link", "update", "read"


class Call(NamedTuple):
    """A call as its client saw it."""

    client: str
    machine: str
    kind: str
    key: str
    start: float
    end: float
    outcome: str
    # The id in the response.
    id: Optional[int] = None
    # The position in the journal that the response has.
    at: Optional[int] = None
    # Of a read: the position that the request named, and whether the response had the write.
    least: Optional[int] = None
    found: Optional[bool] = None
    # Of an update: the revision that it wrote.
    revision: Optional[int] = None
    # Whether the response said that an earlier try had been carried out.
    repeated: bool = False
    # Why a call did not succeed.
    detail: str = ""


class State(NamedTuple):
    """What a machine has in the end."""

    # (id, key, revision), in order of id. The key is None for what no client wrote.
    memories: list
    # (id, key), in order.
    events: list
    # Keys.
    links: list
    # The bytes of the export.
    export: bytes = b""


class Run(NamedTuple):
    """What became of an event that a flow wants."""

    event: int
    key: str
    # How often the program has run, on whatever machine.
    ran: int
    # How many attempts the service reports, and the state of the run; None if it reports no run.
    tries: int
    state: Optional[str]


class Fault(NamedTuple):
    """A promise that was not kept."""

    kind: str
    text: str


def judge(calls, states, runs=()):
    """All faults of a history; `states` has the machines by name, `runs` what became of events that a flow wants."""
    faults = list(differences(states))
    state = next(iter(states.values()))
    tries = by_key(calls)
    faults += dense("memory", [it[0] for it in state.memories])
    faults += dense("event", [it[0] for it in state.events])
    faults += existence(MEMORY, tries, [(key, id) for id, key, _ in state.memories])
    faults += existence(EVENT, tries, [(key, id) for id, key in state.events])
    faults += existence(LINK, tries, [(key, None) for key in state.links])
    faults += order(MEMORY, tries)
    faults += order(EVENT, tries)
    faults += positions(calls)
    faults += reads(calls)
    faults += revisions(tries, state.memories)
    faults += flows(runs)
    return faults


def differences(states):
    """Machines that do not have the same."""
    (first, one), *others = states.items()
    for name, other in others:
        for part in State._fields:
            if getattr(one, part) != getattr(other, part):
                yield Fault("differs", f"the {part} of {first} and {name} differ")


def by_key(calls):
    tries = {}
    for call in calls:
        if call.kind != READ:
            tries.setdefault((call.kind, call.key), []).append(call)
    return tries


def dense(what, ids):
    """Ids that are missing or not in order."""
    for before, id in zip([0, *ids], ids):
        if id == before:
            yield Fault("twice", f"{what} {id} exists more than once")
        elif id != before + 1:
            yield Fault("gap", f"{what} {id} follows {before}")


def existence(kind, tries, found):
    """Acknowledged once: exists once. Unknown: at most once. Refused: never."""
    where = {}
    for key, id in found:
        if key is not None:
            where.setdefault(key, []).append(id)
    for (of, key), calls in tries.items():
        if of != kind:
            continue
        ids = where.pop(key, [])
        acknowledged = [it for it in calls if it.outcome == OK]
        if acknowledged and not ids:
            call = acknowledged[0]
            yield Fault("lost", f"{kind} {key} was acknowledged by {call.machine} at {call.end:.3f} and does not exist")
        if len(ids) > 1:
            yield Fault("twice", f"{kind} {key} exists {len(ids)} times: {ids}")
        if ids and all(it.outcome == REFUSED for it in calls):
            yield Fault("refused", f"{kind} {key} was refused and exists")
        for call in acknowledged:
            if call.id is not None and ids and call.id not in ids:
                yield Fault("id", f"{kind} {key} was acknowledged as {call.id} and is {ids}")
    for key, ids in where.items():
        yield Fault("foreign", f"{kind} {key} ({ids}) exists, and no client wrote it")


def order(kind, tries):
    """A write that begins after another one was acknowledged comes after it."""
    spans = []
    for (of, _), calls in tries.items():
        done = [it for it in calls if it.outcome == OK and it.id is not None]
        if of == kind and done:
            # The write took effect between the first try and the first response.
            spans.append((min(it.start for it in calls), min(it.end for it in done), done[0]))
    ends = sorted(spans, key=lambda it: it[1])
    latest, next_end = None, 0
    for start, _, call in sorted(spans, key=lambda it: it[0]):
        while next_end < len(ends) and ends[next_end][1] < start:
            ended = ends[next_end][2]
            latest = ended if latest is None or ended.id > latest.id else latest
            next_end += 1
        if latest is not None and call.id < latest.id:
            yield Fault("order", f"{kind} {call.key} ({call.id}) began after {latest.key} ({latest.id}) was acknowledged")


def positions(calls):
    """A write is behind every position that was known before it began."""
    known = [it for it in calls if it.at is not None and it.outcome == OK]
    ends = sorted(known, key=lambda it: it.end)
    latest, next_end = None, 0
    for call in sorted(known, key=lambda it: it.start):
        while next_end < len(ends) and ends[next_end].end < call.start:
            ended = ends[next_end]
            latest = ended if latest is None or ended.at > latest.at else latest
            next_end += 1
        if latest is None or call.kind == READ:
            continue
        # What was written before, or changed nothing, has no new record.
        is_new = call.kind in (MEMORY, EVENT) and not call.repeated
        if call.at < latest.at + is_new:
            yield Fault("position", f"{call.kind} {call.key} is at {call.at}, and {latest.at} was known before it began")


def reads(calls):
    """A read that names a position shows what was written up to there."""
    for call in calls:
        if call.kind != READ or call.outcome != OK or call.least is None:
            continue
        if not call.found:
            yield Fault("stale", f"{call.machine} did not show {call.key} at position {call.least}")
        elif call.at is not None and call.at < call.least:
            yield Fault("stale", f"{call.machine} answered at {call.at} and was asked for {call.least}")


def revisions(tries, memories):
    """A memory has the last acknowledged revision, or a later one whose outcome is unknown."""
    has = {key: revision for _, key, revision in memories}
    for (kind, key), calls in tries.items():
        if kind != UPDATE or key not in has:
            continue
        acknowledged = max((it.revision for it in calls if it.outcome == OK), default=0)
        allowed = {acknowledged} | {it.revision for it in calls if it.outcome == UNKNOWN and it.revision > acknowledged}
        if (has[key] or 0) not in allowed:
            yield Fault("revision", f"{key} has revision {has[key]}, and {sorted(allowed)} were written")


def flows(runs):
    """A program runs once for each event, or again and is reported as such."""
    for it in runs:
        what = f"event {it.event} ({it.key})"
        if it.state is None:
            yield Fault("no run", f"no flow ran for {what}")
        elif it.state not in ("succeeded", "failed", "dead"):
            yield Fault("unfinished", f"the run for {what} is {it.state}")
        elif it.ran == 0 and it.state == "succeeded":
            yield Fault("not run", f"the run for {what} is reported as succeeded, and its program did not run")
        elif it.ran > it.tries:
            yield Fault("run again", f"the program for {what} ran {it.ran} times, and {it.tries} attempts are reported")
