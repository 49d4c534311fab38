"""What a run has measured."""

from bisect import bisect_left, bisect_right

from checker import OK, READ, REFUSED, UNKNOWN
from client import SEARCH


def outcomes(calls):
    """Rows with the number of calls of each kind by their outcome."""
    rows = [("calls", "acknowledged", "refused", "unknown")]
    kinds = list(dict.fromkeys(it.kind if it.key != SEARCH else SEARCH for it in calls))
    for kind in sorted(kinds):
        of = [it.outcome for it in calls if (SEARCH if it.key == SEARCH else it.kind) == kind]
        rows.append((kind, of.count(OK), of.count(REFUSED), of.count(UNKNOWN)))
    return rows


def reasons(calls, most=8):
    """Why calls did not succeed, the most frequent first."""
    count = {}
    for call in calls:
        if call.outcome != OK:
            reason = (call.outcome, call.detail.partition("(")[0][:110].strip())
            count[reason] = count.get(reason, 0) + 1
    found = sorted(count.items(), key=lambda it: -it[1])[:most]
    return [("outcome", "number", "reason")] + [(outcome, number, reason) for (outcome, reason), number in found]


def stopped(ends, fault, until):
    """How long no write was acknowledged after a fault, of the times of all acknowledgements, and when it ended."""
    at = fault["at"]
    after = ends[bisect_right(ends, at):]
    inside = after[:bisect_right(after, until)] or after[:1]
    gaps = [(later - earlier, later) for earlier, later in zip([at, *inside], inside)]
    return max(gaps, default=(0.0, 0.0))


# How long after the database accepts writes, in seconds, a pause of writes belongs to the fault.
AFTER = 5


def faults(calls, found, end):
    """A row for each fault: how long writes stopped, and how long after the database was there again."""
    rows = [("fault", "no write acknowledged for", "first after the database accepts writes")]
    ends = sorted(it.end for it in calls if it.kind != READ and it.outcome == OK)
    for number, fault in enumerate(found):
        until = found[number + 1]["at"] if number + 1 < len(found) else end
        if "database" in fault:
            # The killed server comes back as a standby later, which is another interruption.
            until = min(until, fault["database"] + AFTER)
        gap, resumed = stopped(ends, fault, until)
        after = ""
        if "database" in fault:
            # A write that began before may end there, too.
            first = next((it for it in ends[bisect_left(ends, max(resumed, fault["at"] + 0.5)):]), None)
            after = f"{max(0.0, first - fault['database']):.2f} s" if first else "never"
        rows.append((fault["name"], f"{gap:.2f} s", after))
    return rows


def searches(calls, paused=()):
    """How searches went, which need no other machine."""
    found = [it for it in calls if it.key == SEARCH and not it.detail.startswith("not sent")]
    times = sorted(it.end - it.start for it in found if it.outcome == OK)
    if not times:
        return "no searches"
    failed = sum(it.outcome != OK for it in found)
    share = lambda it: times[min(len(times) - 1, int(len(times) * it))] * 1000
    return f"{len(times)} searches: p50 {share(0.5):.1f} ms, p99 {share(0.99):.1f} ms, longest {times[-1]:.2f} s; {failed} failed"


def repeated(runs):
    """How often the program of the flow ran for an event."""
    often = [it for it in runs if it.ran > 1]
    never = [it for it in runs if it.ran == 0]
    tries = sum(it.tries > 1 for it in runs)
    return f"{len(runs)} runs of the flow: {len(often)} programs ran again, {tries} runs have several attempts, {len(never)} never ran"


def table(rows):
    """Rows as text, with aligned columns."""
    widths = [max(len(str(row[it])) for row in rows) for it in range(len(rows[0]))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * it for it in widths), *lines[1:]])
