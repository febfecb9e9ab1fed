# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/run launch."""

import statistics

from bench.lib import marks
from bench.lib.tables import Table, spread

IDLE = 10
KINDS = {20: "plain", 30: "container", 40: "stock", 50: "plain step", 60: "container step"}
KINDS |= {110: "partition step", 120: "machines step"}
PAIRS = [("plain", "container"), ("stock", "plain"), ("stock", "container")]
PAIRS += [("plain step", "container step"), ("partition step", "machines step")]
HELPER = {
    70: "`true`, for comparison",
    80: "helper, no input: loaded and ended",
    90: "helper, with its input",
    100: "helper, with its input, HWLOC_PLUGINS_PATH=/var/empty",
}
LAUNCH = ["launch", "runs", "user M", "of it after srun", "kernel M", "both M"]
LAUNCH += ["both M, with idle", "srun's wall s"]
PAIRED = ["pair by pair", "user M more", "kernel M more", "both M more", "ratio, both"]
PAIRED += ["ratio, wall"]
STEP_PARTS = (
    "slurmstepd of the step",
    "slurmstepd's forks, until their exec of `true`",
    "fork for the helper, until its exec",
    "helper nodeos-plan",
)
STEP = "together: slurmstepd of the step, its forks, the helper"
ALL = "together: everything above"
TRACED = ("stock", "plain", "contained")
COMPARED = ("srun", STEP_PARTS[0], "slurmstepd of the extern step", STEP_PARTS[1])


def by_id(rows):
    """Return the markers grouped by run: {id: [(start, returned, settled or None)]}, in the order
    of the runs. A run has the markers N, N + 1 and, in most runs, N + 2."""
    out = {}
    for first, second, third in zip(rows, rows[1:], [*rows[2:], [None]]):
        if first[marks.ID] % 10 == 0 and second[marks.ID] == first[marks.ID] + 1:
            settled = third if third[marks.ID] == first[marks.ID] + 2 else None
            out.setdefault(first[marks.ID], []).append((first, second, settled))
    return out


def between(first, second):
    """(seconds, user, kernel)"""
    more = [second[n] - first[n] for n in (marks.NANOSECONDS, marks.USER, marks.KERNEL)]
    return more[0] / 1e9, more[1], more[2]


def idle_rate(runs):
    """Return the instructions per second of an idle guest: (user, kernel)."""
    found = [between(begin, end) for begin, _, end in runs]
    seconds = sum(s for s, _, _ in found)
    return sum(u for _, u, _ in found) / seconds, sum(k for _, _, k in found) / seconds


def launch(found, rate):
    """Return the measures of one launch, which has three markers; srun returns at the second one.
    "wall" is the seconds from the first marker to the second. "user", "kernel" and "both" are the
    instructions from the first marker to the third, less those of an idle guest in the same time.
    "after" is the user instructions from the second marker to the third, less those of an idle
    guest. "raw" is all instructions, with nothing subtracted."""
    start, back, end = found
    seconds, user, kernel = between(start, end)
    rest, after, _ = between(back, end)
    own = {"user": user - rate[0] * seconds, "kernel": kernel - rate[1] * seconds}
    own |= {"raw": user + kernel, "after": after - rate[0] * rest}
    return own | {"both": own["user"] + own["kernel"], "wall": between(start, back)[0]}


def counts(rows):
    if not rows:
        return []
    found = by_id(rows)
    rate = idle_rate(found[IDLE])
    runs = {
        kind: [launch(r, rate) for r in found[n] if r[2]] for n, kind in KINDS.items() if n in found
    }
    launches = []
    for kind, of in runs.items():
        cells = [
            spread([r[what] for r in of], unit=1e6)
            for what in ("user", "after", "kernel", "both", "raw")
        ]
        launches.append([kind, len(of), *cells, spread([r["wall"] for r in of])])
    paired = []
    for base, other in PAIRS:
        if base in runs and other in runs:
            pairs = list(zip(runs[base], runs[other]))
            more = [
                spread([b[what] - a[what] for a, b in pairs], unit=1e6)
                for what in ("user", "kernel", "both")
            ]
            ratios = [spread([b[what] / a[what] for a, b in pairs]) for what in ("both", "wall")]
            paired.append([f"{other} against {base}", *more, *ratios])
    helper = []
    for n, name in HELPER.items():
        of = [between(begin, end) for begin, end, _ in found.get(n, [])]
        if of:
            cells = [spread([one[column] for one in of], unit=1e6) for column in (1, 2)]
            helper.append([name, len(of), *cells])
    title = (
        f"Idle guest: {rate[0] / 1e6:.2f} user and {rate[1] / 1e6:.2f} kernel M instructions per"
        f" second ({len(found[IDLE])} samples), subtracted below."
    )
    out = [Table(LAUNCH, launches, title), Table(PAIRED, paired)]
    out.append(Table(["by hand", "runs", "user M", "kernel M, whole guest"], helper))
    return [out[0], *(table for table in out[1:] if table.rows)]


def difference(runs, base, other, who):
    """Return a note on the system calls that WHO makes more or less often in runs of kind OTHER
    than in runs of kind BASE, by the medians of their counts."""

    def median(kind):
        of = [r["calls"].get(who, {}) for r in runs if r["kind"] == kind]
        names = {name for one in of for name in one}
        return {name: statistics.median(one.get(name, 0) for one in of) for name in names}

    a, b = median(base), median(other)
    more = [(b.get(name, 0) - a.get(name, 0), name) for name in set(a) | set(b)]
    more.sort(key=lambda one: (-abs(one[0]), one[1]))
    text = ", ".join(f"{name} {n:+g}" for n, name in more[:14] if n)
    return f"{who}, {other} against {base}, medians: {text or 'the same'}"


def order(who):
    """Return a key that sorts srun first, then slurmstepd, the helper, other roles, and sums."""
    last = (STEP, ALL).index(who) + 1 if who in (STEP, ALL) else 0
    return last, who != "srun", not who.startswith("slurmstepd"), "helper" not in who, who


def traces(runs):
    found = {}  # {role: {kind: numbers}}
    for r in runs:
        sums = {who: sum(calls.values()) for who, calls in r["calls"].items()}
        step = sum(n for who, n in sums.items() if who in STEP_PARTS)
        for who, n in (sums | {STEP: step, ALL: sum(sums.values())}).items():
            found.setdefault(who, {}).setdefault(r["kind"], []).append(n)
    rows = [
        [who, *(spread(found[who][k]) if k in found[who] else "none" for k in TRACED)]
        for who in sorted(found, key=order)
    ]
    kinds = {r["kind"] for r in runs}
    notes = [
        difference(runs, base, other, who)
        for base, other in (("plain", "contained"), ("stock", "plain"))
        if {base, other} <= kinds
        for who in COMPARED
    ]
    return Table(["system calls of", "stock", "plain", "container"], rows, notes=notes)


def tables(raw):
    out = [table for part in ("counts", "machines") for table in counts(raw.get(part, []))]
    return [*out, traces(raw["traces"])] if "traces" in raw else out
