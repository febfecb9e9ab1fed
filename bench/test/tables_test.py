#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the experiments' tables: small outputs of guests, and tables worked out by hand. TAP."""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
sys.dont_write_bytecode = True
import bench.hpc.run
import bench.hpc.table
from bench.lib.context import Failed
from bench.lib.tables import cell_text
from bench.lib.tap import Tests

t = Tests()


def texts(table):
    return [" | ".join(cell_text(c) for c in row) for row in table.rows]


def hpc_log(*runs):
    """(arm, moves and switches of each of two ranks, residual)"""
    lines = []
    for arm, moves, switches, residual in runs:
        # what the firmware leaves on its line
        lines.append(f"{'' if lines else 'SeaBIOS'}run {arm} busy 1")
        for rank in (0, 1):
            lines.append(
                f"rank {rank} cpu 1 2 moves {moves} involuntary {switches} voluntary 1 seconds 1.5"
                f" residual {residual}"
            )
    return "\n".join(lines)


def test_hpc():
    log = hpc_log(("cfs", 5, 100, "1e-9"), ("cfs", 7, 200, "1e-9"), ("topo", 0, 1, "1e-9"))
    # own, kernel, other, all: foreign are 30, 50 and 2 per 100 own
    counted = [[200_000, 20_000, 40_000, 1], [100_000, 20_000, 30_000, 1], [100_000, 1_500, 500, 1]]
    raw = {"plain": bench.hpc.run.runs_of(log, counted)}
    (table,) = bench.hpc.table.tables(raw)
    t.same(
        texts(table),
        [
            # medians: foreign of 30 and 50 %, 40 and 30 thousand, 2 x 100 and 2 x 200 switches
            "busy | cfs | 40.00 % (30.00 to 50.00) | 1.000 | 20 | 35 (30 to 40) |"
            " 300 (200 to 400) | 12 (10 to 14) | 7",
            "busy | topo | 2.00 % | 0.050 | 1 | 0 | 2 | 0 | 0",
        ],
        "hpc: foreign instructions by own, of CFS, and sums of ranks",
    )
    t.same(
        [(v.good, v.what.partition(": topo")[2]) for v in bench.hpc.table.judge(raw)],
        [
            (True, ": no rank is moved more than once: 0"),
            # 1 in 1.5 s: 2 whole or begun periods and one to end in
            (True, ": no rank loses its CPU but to the guard: 0.3 times a period"),
            (True, ", busy node: foreign instructions are 0.050 of CFS, at most 0.15"),
            (True, ", busy node: 0.50 % are other programs', at most the guard's 5"),
        ],
        "hpc: verdicts of the class",
    )
    counted[2] = [100_000, 1_000, 6_000, 1]
    log = hpc_log(("cfs", 5, 100, "1e-9"), ("cfs", 7, 200, "1e-9"), ("topo", 2, 7, "1e-9"))
    raw = {"nohz": bench.hpc.run.runs_of(log, counted)}
    t.same(
        [v.good for v in bench.hpc.table.judge(raw)],
        [False] * 4,
        "hpc: moved twice, 7 switches in two periods, 0.175 of CFS without ticks, 6 % of others",
    )
    # GROMACS has no seconds, and its first thread binds itself to each CPU
    gmx = "\n".join(
        ["run topo busy 1"]
        + [
            f"rank {n} cpu 1 2 moves {moves} involuntary 0 voluntary 1 residual ab12"
            for n, moves in ((0, 16), (1, 1))
        ]
    )
    verdicts = bench.hpc.table.judge({"plain": bench.hpc.run.runs_of(gmx, [[100, 1, 1, 1]])})
    t.same(
        [(v.good, v.what[-2:]) for v in verdicts][:1],
        [(True, " 1")],
        "hpc: what GROMACS's first thread does to itself is not judged",
    )
    runs_of = bench.hpc.run.runs_of
    t.raises(Failed, "3 runs, 2 of", "hpc: a run that was not counted", runs_of, log, counted[:2])
    odd = hpc_log(("cfs", 5, 100, "1e-9"), ("topo", 0, 1, "2e-9"))
    t.raises(Failed, "do not agree", "hpc: another result", runs_of, odd, counted[:2])
    t.raises(Failed, "another form", "hpc: a line that is none", runs_of, log + "\nrank x", counted)
    missing = "\n".join(log.splitlines()[:-1])
    t.raises(Failed, "[2, 2, 1]", "hpc: a rank too few", runs_of, missing, counted)


def main():
    test_hpc()
    sys.exit(t.end())


main()
