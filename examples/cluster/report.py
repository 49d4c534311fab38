"""What a run has measured."""

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


def stopped(calls, fault, until):
    """How long no write was acknowledged around a fault: from the last response before it, to the first after."""
    ends = sorted(it.end for it in calls if it.kind != READ and it.outcome == OK)
    after = [it for it in ends if it > fault["at"]]
    inside = [it for it in after if it <= until] or after[:1]
    before = max((it for it in ends if it <= fault["at"]), default=fault["at"])
    gaps = [(later - earlier, later) for earlier, later in zip([before, *inside], inside)]
    return max(gaps, default=(0.0, 0.0))


def faults(calls, found, end):
    """A row for each fault: how long writes stopped, and how long after the database was there again."""
    rows = [("fault", "no write acknowledged for", "first after the database accepts writes")]
    for number, fault in enumerate(found):
        until = found[number + 1]["at"] if number + 1 < len(found) else end
        gap, resumed = stopped(calls, fault, until)
        after = ""
        if "database" in fault:
            # A write that began before may end there, too.
            ends = [it.end for it in calls if it.kind != READ and it.outcome == OK and it.end > fault["at"] + 0.5]
            first = min((it for it in ends if it >= resumed), default=None)
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


def table(rows):
    """Rows as text, with aligned columns."""
    widths = [max(len(str(row[it])) for row in rows) for it in range(len(rows[0]))]
    lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * it for it in widths), *lines[1:]])
