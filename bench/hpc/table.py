# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and verdicts of bench/run hpc, one table for each boot."""

import statistics

from bench.lib.tables import Table, number, spread
from bench.lib.tap import Verdict

HPC = ("user", "rr", "topo")
INSIDE = "inside"  # SCHED_HPC in a root partition
ORDER = ("cfs", "pinned", "fifo", "root", "iso", "isofifo", *HPC, INSIDE)
HEAD = [
    "node",
    "arm",
    "foreign instructions per own",
    "of cfs",
    "kernel, thousands",
    "other programs, thousands",
    "longest interruption, thousands",
    "involuntary switches",
    "migrations",
    "most of a rank",
]
# Largest allowed ratio of foreign instructions to those under CFS. QEMU's clock advances with the
# instructions of all CPUs, so most foreign instructions are ticks, except with nohz, which stops
# the tick (doc/benchmarks.md).
LIMIT = {"plain": 0.15, "nohz": 0.05}
PARTITION_OF_CFS = 0.05
PARTITION_NOHZ = 1  # percent
GUARD = 0.05  # share of each second that the guard, the kernel's fair server, gives to fair tasks


def foreign(run):
    """Return the instructions of the kernel and of other programs per 100 instructions of the
    program."""
    return 100 * (run["kernel"] + run["other"]) / run["own"]


def chosen(runs, arm, load=None):
    return [r for r in runs if r["arm"] == arm and load in (None, r["load"])]


def row(runs, arm, load):
    of, cfs = chosen(runs, arm, load), chosen(runs, "cfs", load)
    middle = statistics.median(map(foreign, of))
    return [
        load,
        arm,
        spread(list(map(foreign, of)), 2, after=" %"),
        number(middle / statistics.median(map(foreign, cfs)) if cfs else None, 3),
        *(spread([r[what] // 1000 for r in of], 0) for what in ("kernel", "other", "longest")),
        *(spread([r[what] for r in of], 0) for what in ("involuntary", "moves")),
        max(rank["moves"] for r in of for rank in r["ranks"]),
    ]


def tables(raw):
    out = []
    for boot, runs in raw.items():
        places = dict.fromkeys((r["load"], r["arm"]) for r in runs)
        loads = list(dict.fromkeys(load for load, _ in places))
        arms = [a for a in ORDER if a in {arm for _, arm in places}]
        seeds = ", ".join(str(s) for s in sorted({r["seed"] for r in runs}))
        title = (
            f"Boot {boot}: {len(runs[0]['ranks'])} ranks or threads, seeds {seeds}; median"
            " (smallest to largest) of the seeds, sums of all ranks"
        )
        out.append(Table(HEAD, [row(runs, arm, load) for load in loads for arm in arms], title))
    return out


def of_arm(boot, runs, arm):
    """Yield verdicts on all runs of ARM, and on its medians on a busy node relative to CFS."""
    what, of = f"{boot}: {arm}", chosen(runs, arm)
    solver = bool(of[0]["ranks"][0]["seconds"])  # cg reports its duration, GROMACS does not
    # leave out GROMACS's first thread: it binds itself to each CPU in turn to identify the CPU,
    # which makes 16 moves for 8 CPUs
    most = max(rank["moves"] for r in of for rank in r["ranks"][not solver :])
    yield Verdict(most <= 1, f"{what}: no rank is moved more than once: {most}")
    # In each period of a second, also an incomplete one, the guard lets fair tasks run. This
    # switches a rank off its CPU at most twice.
    most = max(rank["involuntary"] / (2 + int(rank["seconds"])) for r in of for rank in r["ranks"])
    text = f"{what}: no rank loses its CPU except to the guard: {most:.1f} times a period"
    yield Verdict(most <= 2, text)
    busy, cfs = chosen(runs, arm, "busy"), chosen(runs, "cfs", "busy")
    if not busy or not cfs:
        return
    ratio = statistics.median(map(foreign, busy)) / statistics.median(map(foreign, cfs))
    text = f"{what}, busy node: foreign instructions are {ratio:.3f} of CFS, at most {LIMIT[boot]}"
    yield Verdict(ratio <= LIMIT[boot], text)
    if solver:  # cg is counted only after other programs have left its CPUs
        share = statistics.median(r["other"] / r["own"] for r in busy)
        text = f"{what}, busy node: {100 * share:.2f} % are other programs', at most the guard's 5"
        yield Verdict(share <= GUARD, text)


def of_partition(boot, runs):
    """Yield verdicts on a root partition. NodeOS uses it instead of policy hpc on a kernel without
    SCHED_HPC."""
    of, cfs = chosen(runs, "root", "busy"), chosen(runs, "cfs", "busy")
    if not of or not cfs:
        return
    middle = statistics.median(map(foreign, of))
    ratio = middle / statistics.median(map(foreign, cfs))
    text = f"{boot}: root partition, busy node: foreign instructions are {ratio:.3f} of CFS"
    yield Verdict(ratio <= PARTITION_OF_CFS, f"{text}, at most {PARTITION_OF_CFS}")
    if boot == "nohz":
        text = f"{boot}: root partition, busy node: {middle:.2f} % foreign instructions"
        yield Verdict(middle < PARTITION_NOHZ, f"{text}, below {PARTITION_NOHZ} %")


def judge(raw):
    out = []
    for boot, runs in raw.items():
        for arm in (*HPC, INSIDE):
            if chosen(runs, arm):
                out += of_arm(boot, runs, arm)
        out += of_partition(boot, runs)
    return out
