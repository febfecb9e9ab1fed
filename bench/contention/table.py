# SPDX-License-Identifier: GPL-2.0-or-later
"""Table, plots and verdicts of bench/run contention. All counts and times come from a simulated
cache and a model of memory."""

import statistics

from bench.lib import plot
from bench.lib.tables import Table, spread
from bench.lib.tap import Verdict

ARMS = {
    "none": "none",
    "none-balancing": "none, numa_balancing",
    "none-bind": "none, memory bound",
    "none-balancing-bind": "none, both",
    "dino": "dino",
    "dino-balancing": "dino, numa_balancing",
    "worst": "by hand, worst",
    "best": "by hand, best",
}
PLACED = ("dino", "dino-balancing")
HEAD = [
    "arm",
    "misses for 10,000 instructions, last third",
    "whole step",
    "remote, % of the misses, last third",
    "whole step",
    "memory on another node at the end, %",
    "moves",
    "seconds in which memory stops a scan",
    "seconds of the step",
    "relative to worst by hand",
]
BOUND = 45  # a rank with more misses per 10,000 instructions is a devil (doc/contention.md)
HALF = 8  # first CPU of the second socket


def scans(run):
    """Return the lines of each scan, as {rank: lines}."""
    found = {}
    for line in run["lines"]:
        if line["kind"] == "scan":
            found.setdefault(line["rank"], []).append(line)
    return found


def at_third(lines):
    """Return the line that is nearest to two thirds of the scan's passes. The scan's start counts
    as a line."""
    begin = {"pass": 0, "instructions": 0, "misses": 0, "remote": 0}
    goal = lines[-1]["pass"] * 2 / 3
    return min([begin, *lines[:-1]], key=lambda line: abs(line["pass"] - goal))


def last_third(run):
    """Return (misses per 10,000 instructions, % of remote misses) of both scans in their last
    third."""
    parts = [(at_third(lines), lines[-1]) for lines in scans(run).values()]
    instructions, misses, remote = (
        sum(b[k] - a[k] for a, b in parts) for k in ("instructions", "misses", "remote")
    )
    return 1e4 * misses / instructions, 100 * remote / max(misses, 1)


def whole(run):
    """Return the misses of both scans per 10,000 instructions, from the first pass to the last."""
    ends = [lines[-1] for lines in scans(run).values()]
    return 1e4 * sum(e["misses"] for e in ends) / sum(e["instructions"] for e in ends)


def remote_whole(run):
    """Return the % of remote misses among all misses of both scans."""
    ends = [lines[-1] for lines in scans(run).values()]
    return 100 * sum(e["remote"] for e in ends) / max(sum(e["misses"] for e in ends), 1)


def elsewhere(run):
    """Return the % of the scans' memory that at the end is not on the node of their CPUs
    (numa_maps)."""
    ends = [lines[-1] for lines in scans(run).values()]
    away = sum(e["kib0"] if e["cpu"] >= HALF else e["kib1"] for e in ends)
    return 100 * away / sum(e["kib0"] + e["kib1"] for e in ends)


def seconds(run):
    """Return the seconds from the common start to the end of the last scan."""
    return max(lines[-1]["seconds"] for lines in scans(run).values())


def stopped(run):
    """Return the seconds for which the simulated memory stops a scan: the larger number of the two
    scans."""
    return max(lines[-1]["stall"] for lines in scans(run).values())


def of_worst(runs, arm):
    """Return the seconds of ARM divided by those of the worst placement, for each seed that has
    both."""
    time = {(r["seed"], r["arm"]): seconds(r) for r in runs}
    return [
        time[seed, arm] / time[seed, "worst"]
        for seed in sorted({r["seed"] for r in runs})
        if (seed, arm) in time and (seed, "worst") in time
    ]


def chosen(runs, arm):
    return [r for r in runs if r["arm"] == arm]


def there(runs):
    return [arm for arm in ARMS if chosen(runs, arm)]


def measures(runs, arm):
    """Return the columns of the table for ARM, each as a list with a value for each seed."""
    of = chosen(runs, arm)
    return [
        [last_third(r)[0] for r in of],
        [whole(r) for r in of],
        [last_third(r)[1] for r in of],
        [remote_whole(r) for r in of],
        [elsewhere(r) for r in of],
        [r["moves"] for r in of],
        [stopped(r) for r in of],
        [seconds(r) for r in of],
        of_worst(runs, arm),
    ]


def tables(raw):
    runs, rows = raw["runs"], []
    for arm in there(runs):
        cells = [
            spread([round(v, digits) for v in values], digits)
            for values, digits in zip(measures(runs, arm), (1, 1, 1, 1, 0, 0, 1, 1, 2))
        ]
        rows.append([f"**{ARMS[arm]}**" if arm in PLACED else ARMS[arm], *cells])
    seeds = ", ".join(str(s) for s in sorted({r["seed"] for r in runs}))
    title = (
        "*Simulated* caches: two ranks that scan 3 MiB each and two that compute, seeds"
        f" {seeds}; both scans together; median (smallest to largest)"
    )
    return [Table(HEAD, rows, title)]


def passes_at(lines, time):
    """Return how many passes a scan has made at TIME, interpolated between its lines."""
    before = (0, 0)
    for line in lines:
        now = line["seconds"], line["pass"]
        if time <= now[0] and now[0] > before[0]:
            part = (time - before[0]) / (now[0] - before[0])
            return before[1] + part * (now[1] - before[1])
        before = now
    return lines[-1]["pass"]


def progress(runs):
    """Return the progress of each step: {(arm, seed): [(seconds, % of the passes of both
    scans)]}."""
    curves = {}
    for run in runs:
        parts = list(scans(run).values())
        total = sum(lines[-1]["pass"] for lines in parts)
        times = sorted(line["seconds"] for lines in parts for line in lines)
        curves[run["arm"], run["seed"]] = [(0, 0.0)] + [
            (time, 100 * sum(passes_at(lines, time) for lines in parts) / total) for time in times
        ]
    return curves


# {name of a series in the plot of progress: its arms}
SERIES = {
    "both scans on one socket, by hand": ("worst",),
    "the same, observed only": ("none", "none-balancing", "none-bind", "none-balancing-bind"),
    "dino, from the same begin": PLACED,
    "a scan on each socket, by hand": ("best",),
}


def plots(raw):
    """{file: SVG}"""
    runs, curves = raw["runs"], progress(raw["runs"])
    arms, seeds = there(runs), len({r["seed"] for r in runs})
    values = {arm: measures(runs, arm) for arm in arms}

    def panel(name, unit, column, digits):
        found = [[round(v, digits) for v in values[arm][column]] for arm in arms]
        return name, unit, [plot.of(f) if f else None for f in found]

    panels = [
        panel("Misses, at end", "for 10,000 instructions", 0, 1),
        panel("Misses, in all", "for 10,000 instructions", 1, 1),
        panel("Remote, in all", "% of the misses", 3, 1),
        panel("Moves", "of ranks", 5, 0),
        panel("Stopped by memory", "seconds of the model", 6, 1),
        panel("The step's end", "seconds, emulated", 7, 1),
    ]
    note = "Simulated: counts of a model of caches and memory, not of a processor."
    series = [
        (name, [c for (arm, _), c in sorted(curves.items()) if arm in of])
        for name, of in SERIES.items()
    ]
    return {
        "contention-arms.svg": plot.panels(
            "Two ranks that need a cache each, placed badly",
            f"Both scan 3 MiB; caches of 4 MiB; median, smallest and largest of {seeds} seeds",
            [ARMS[arm] for arm in arms],
            panels,
            highlight=[n for n, arm in enumerate(arms) if arm in PLACED],
            note=note,
        ),
        "contention-progress.svg": plot.paths(
            "When the step ends",
            f"Passes of both scans over time, a curve for each run ({seeds} seeds)",
            "seconds under emulation, with a model of memory's time",
            "% of the passes",
            [(name, c) for name, c in series if c],
            note=note,
        ),
    }


def judge(raw):
    return list(verdicts(raw["runs"]))


def verdicts(runs):
    for arm in there(runs):
        last = [last_third(r)[0] for r in chosen(runs, arm)]
        what = ARMS[arm]
        if arm in PLACED or arm == "best":
            # judge the median: in a single run, a rank can be a devil only because of the physical
            # pages that it has got
            middle = statistics.median(last)
            text = (
                f"{what}: no devils at the end: median {middle:.1f} misses per 10,000 instructions"
            )
            yield Verdict(middle <= BOUND, text)
        else:
            good = min(last) > BOUND
            yield Verdict(
                good,
                f"{what}: devils at the end: at least {min(last):.1f} misses per 10,000"
                " instructions",
            )
        if arm in PLACED:
            moves = sorted(r["moves"] for r in chosen(runs, arm))
            good = moves[0] == moves[-1] == 2
            yield Verdict(good, f"{what}: each step has two moves: {moves[0]} to {moves[-1]}")
            ratios = of_worst(runs, arm)
            if ratios:
                good = max(ratios) < 1
                yield Verdict(
                    good,
                    f"{what}: steps end earlier than with the worst placement: at most"
                    f" {max(ratios):.2f} of its time",
                )
