# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bench/run streamline."""

import statistics

from bench.lib.tables import Table, number, spread
from bench.lib.tap import Verdict

HEAD = [
    "threads",
    "",
    "",
    "steps a second (smallest to largest)",
    "relative to the best mmap",
    "relative to itself alone",
    "major faults",
    "pages read",
    "ms of CPU for 1,000 steps",
    "the simulation's steps a second",
]


def chosen(runs, **which):
    return [r for r in runs if all(r[k] == v for k, v in which.items())]


def median(runs, what, **which):
    return statistics.median(r[what] for r in chosen(runs, **which))


def row(runs, arm, threads, beside, best):
    here = chosen(runs, arm=arm, threads=threads, beside=beside)
    rate = median(here, "steps_per_second")
    alone = median(runs, "steps_per_second", arm=arm, threads=threads, beside=False)
    cpu = statistics.median(1e6 * r["cpu_seconds"] / r["steps"] for r in here)
    return [
        threads,
        "beside GROMACS" if beside else "alone",
        arm,
        spread([r["steps_per_second"] for r in here], 0),
        number(rate / best, 2),
        number(rate / alone, 2),
        number(median(here, "majflt")),
        number(median(here, "pages_read")),
        number(cpu),
        number(median(here, "simulation_steps_per_second") if beside else None, 1),
    ]


def tables(runs):
    arms, rows = dict.fromkeys(r["arm"] for r in runs), []
    mmap = [arm for arm in arms if not arm.startswith("dimmap")]
    for threads in sorted({r["threads"] for r in runs}):
        for beside in (False, True):
            here = {"threads": threads, "beside": beside}
            best = max(median(runs, "steps_per_second", arm=arm, **here) for arm in mmap)
            rows += [row(runs, arm, threads, beside, best) for arm in arms]
    return [Table(HEAD, rows)]


def judge(runs):
    """Return a verdict on whether the streamlines of a run are the same in all arms."""
    sums = {}
    for r in runs:
        sums.setdefault((r["run"], r["threads"]), set()).add(r["checksum"])
    same = all(len(found) == 1 for found in sums.values())
    return [Verdict(same, "the streamlines are the same to the last bit in all arms")]
