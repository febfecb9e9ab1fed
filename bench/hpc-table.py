#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/hpc, in Markdown, and their numbers in DIRECTORY/results.json,
from what the guests left.

usage: hpc-table.py [--check] DIRECTORY BOOT[+BOOT]
           of BOOT.marks (rank-count.c) and BOOT.log (ranks.c, cg.c)
--check: judges them, too: TAP after the tables.
"""

import json
import re
import statistics
import sys

# the clock of all CPUs goes by the instructions of all: ticks are most of what is left where
# nothing stops them (doc/benchmarks.md)
LIMIT = {"plain": 0.15, "nohz": 0.05}


def runs_of(directory, boot):
    """[{arm, load, seed, own, kernel, other, moves, involuntary, voluntary, residual}],
    run by run."""
    with open(f"{directory}/{boot}.log") as f:
        lines = f.read().splitlines()
    with open(f"{directory}/{boot}.marks") as f:
        marks = [[int(x) for x in line.split()] for line in f]
    runs = []
    for line in lines:
        # the first one may follow what the firmware has left on its line
        if m := re.search(r"run (\w+) (\w+) (\d+)$", line):
            runs.append({"arm": m[1], "load": m[2], "seed": int(m[3]), "ranks": []})
        elif m := re.fullmatch(
            r"rank (\d+) cpu (\d+) (\d+) moves (-?\d+) involuntary (\d+) voluntary (\d+) (?:seconds"
            r" (\S+) )?residual (\S+)",
            line,
        ):
            runs[-1]["ranks"].append(
                {
                    "cpus": (int(m[2]), int(m[3])),
                    "moves": int(m[4]),
                    "involuntary": int(m[5]),
                    "voluntary": int(m[6]),
                    "seconds": float(m[7] or 0),
                    "residual": m[8],
                }
            )
        elif line.startswith("rank "):
            sys.exit(f"hpc-table: {boot}: {line}")
    if len(runs) != len(marks):
        sys.exit(f"hpc-table: {boot}: {len(runs)} runs, {len(marks)} of them counted")
    for run, (own, kernel, other, every) in zip(runs, marks):
        run.update(own=own, kernel=kernel, other=other, all=every)
        for name in ("moves", "involuntary", "voluntary"):
            run[name] = sum(rank[name] for rank in run["ranks"])
    if len({len(run["ranks"]) for run in runs}) > 1:
        sys.exit(
            f"hpc-table: {boot}: some runs have more ranks or threads than others:"
            f" {[len(run['ranks']) for run in runs]}"
        )
    residuals = {rank["residual"] for run in runs for rank in run["ranks"]}
    if len(residuals) != 1:
        sys.exit(f"hpc-table: {boot}: the ranks do not agree: residuals {residuals}")
    return runs


def spread(values):
    """median (min to max)"""
    low, high = min(values), max(values)
    return (
        f"{statistics.median(values):,.0f}"
        if low == high
        else f"{statistics.median(values):,.0f} ({low:,} to {high:,})"
    )


def table(boot, runs):
    n = len(runs[0]["ranks"])
    rows = []
    for load in dict.fromkeys(run["load"] for run in runs):
        base = None
        for arm in ("cfs", "pinned", "fifo", "user", "rr", "topo"):
            of = [run for run in runs if (run["arm"], run["load"]) == (arm, load)]
            if not of:
                continue
            foreign = [(run["kernel"] + run["other"]) / run["own"] for run in of]
            if arm == "cfs":
                base = statistics.median(foreign)
            rows.append(
                (
                    load,
                    arm,
                    (
                        f"{100 * statistics.median(foreign):.2f} % ({100 * min(foreign):.2f} to"
                        f" {100 * max(foreign):.2f})"
                    ),
                    f"{statistics.median(foreign) / base:.3f}" if base else "",
                    spread([run["kernel"] // 1000 for run in of]),
                    spread([run["other"] // 1000 for run in of]),
                    spread([run["involuntary"] for run in of]),
                    spread([run["moves"] for run in of]),
                    max(rank["moves"] for run in of for rank in run["ranks"]),
                )
            )
    print(
        f"Boot {boot}: {n} ranks or threads, seeds"
        f" {', '.join(str(s) for s in sorted({run['seed'] for run in runs}))}; median (smallest to"
        " largest) of the seeds, sums of all ranks\n"
    )
    head = (
        "node",
        "arm",
        "foreign instructions per own",
        "of cfs",
        "kernel, thousands",
        "other programs, thousands",
        "involuntary switches",
        "migrations",
        "most of a rank",
    )
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def judge(boot, runs):
    """What has to hold in each run, and of the medians beside CFS on a busy node."""
    for arm in ("user", "rr", "topo"):
        of = [run for run in runs if run["arm"] == arm]
        if not of:
            continue
        what = f"{boot}: {arm}"
        # GROMACS binds its first thread to each CPU in turn, to see what it is: 16 moves of 8 CPUs
        most = max(
            rank["moves"]
            for run in of
            for rank in (run["ranks"] if run["ranks"][0]["seconds"] else run["ranks"][1:])
        )
        yield most <= 1, f"{what}: no rank is moved more than once: {most}"
        # in each second, or part of one, the guard lets fair tasks in:
        # there and back, and for their own switches meanwhile
        most = max(
            rank["involuntary"] / (2 + int(rank["seconds"])) for run in of for rank in run["ranks"]
        )
        yield (
            most <= 2,
            f"{what}: no rank loses its CPU but to the guard: {most:.1f} times a period",
        )
        busy = [
            [
                (run["kernel"] + run["other"]) / run["own"]
                for run in runs
                if (run["arm"], run["load"]) == (a, "busy")
            ]
            for a in (arm, "cfs")
        ]
        if all(busy):
            ratio = statistics.median(busy[0]) / statistics.median(busy[1])
            yield (
                ratio <= LIMIT[boot],
                (
                    f"{what}, busy node: foreign instructions are {ratio:.3f} of CFS, at most"
                    f" {LIMIT[boot]}"
                ),
            )
        if (
            all(busy) and of[0]["ranks"][0]["seconds"]
        ):  # of what is measured when those that were there have left
            ratio = statistics.median(
                [
                    run["other"] / run["own"]
                    for run in runs
                    if (run["arm"], run["load"]) == (arm, "busy")
                ]
            )
            yield (
                ratio <= 0.05,
                (
                    f"{what}, busy node: {100 * ratio:.2f} % are other programs', at most the"
                    " guard's 5"
                ),
            )


def main():
    check = sys.argv[1] == "--check"
    directory, boots = sys.argv[1 + check], sys.argv[2 + check].split("+")
    found = {boot: runs_of(directory, boot) for boot in boots}
    with open(f"{directory}/results.json", "w") as f:
        json.dump(found, f, indent=1)
    for boot, runs in found.items():
        table(boot, runs)
    if not check:
        return 0
    judged = [verdict for boot, runs in found.items() for verdict in judge(boot, runs)]
    for n, (good, what) in enumerate(judged, 1):
        print(f"{'' if good else 'not '}ok {n} - {what}")
    print(
        f"1..{len(judged)}\n{sum(good for good, _ in judged)} passed,"
        f" {sum(not good for good, _ in judged)} failed, 0 skipped"
    )
    return not all(good for good, _ in judged)


sys.exit(main())
