#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the experiments' tables: small outputs of guests give tables that were worked out by
hand. Prints TAP."""

import argparse
import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
sys.dont_write_bytecode = True
import bench.caches.run
import bench.caches.table
import bench.contention.run
import bench.contention.table
import bench.dimmap.run
import bench.dimmap.table
import bench.fgmn.run
import bench.fgmn.table
import bench.hpc.run
import bench.hpc.table
import bench.launch.calls
import bench.launch.table
import bench.lwk.run
import bench.lwk.table
import bench.pairs.run
import bench.pairs.table
import bench.policies.run
import bench.policies.table
import bench.site.run
import bench.site.table
import bench.streamline.table
from bench.lib.context import Context, Failed
from bench.lib.tables import cell_text, markdown
from bench.lib.tap import Tests

t = Tests()


def texts(table):
    return [" | ".join(cell_text(c) for c in row) for row in table.rows]


def hpc_log(*runs):
    """Return the console of a guest. RUNS have (arm, moves and switches of each of two ranks,
    residual)."""
    lines = []
    for arm, moves, switches, residual in runs:
        # the firmware's output precedes the first line
        lines.append(f"{'' if lines else 'SeaBIOS'}run {arm} busy 1")
        for rank in (0, 1):
            lines.append(
                f"rank {rank} cpu 1 2 moves {moves} involuntary {switches} voluntary 1 seconds 1.5"
                f" residual {residual}"
            )
    return "\n".join(lines)


def test_hpc():
    log = hpc_log(("cfs", 5, 100, "1e-9"), ("cfs", 7, 200, "1e-9"), ("topo", 0, 1, "1e-9"))
    # columns: own, kernel, other, all, the longest interruption. Foreign instructions (kernel +
    # other) are 30, 50 and 2 per 100 own instructions.
    counted = [
        [200_000, 20_000, 40_000, 1, 9_000],
        [100_000, 20_000, 30_000, 1, 5_000],
        [100_000, 1_500, 500, 1, 2_000],
    ]
    raw = {"plain": bench.hpc.run.runs_of(log, counted)}
    (table,) = bench.hpc.table.tables(raw)
    t.same(
        texts(table),
        [
            # medians over two runs of cfs: foreign instructions are 30 and 50 % (60 and 50
            # thousand, of which 40 and 30 thousand are of other programs); two ranks have 2 x 100
            # and 2 x 200 involuntary switches
            "busy | cfs | 40.00 % (30.00 to 50.00) | 1.000 | 20 | 35 (30 to 40) |"
            " 7 (5 to 9) | 300 (200 to 400) | 12 (10 to 14) | 7",
            "busy | topo | 2.00 % | 0.050 | 1 | 0 | 2 | 2 | 0 | 0",
        ],
        "hpc: the table has foreign instructions, their ratio to CFS's, and sums over ranks",
    )
    t.same(
        [(v.good, v.what.partition(": topo")[2]) for v in bench.hpc.table.judge(raw)],
        [
            (True, ": no rank is moved more than once: 0"),
            # 1.5 s can be in three of the guard's periods of 1 s
            (True, ": no rank loses its CPU except to the guard: 0.3 times a period"),
            (True, ", busy node: foreign instructions are 0.050 of CFS, at most 0.15"),
            (True, ", busy node: 0.50 % are other programs', at most the guard's 5"),
        ],
        "hpc: all verdicts on SCHED_HPC hold for few moves, switches and foreign instructions",
    )
    counted[2] = [100_000, 1_000, 6_000, 1, 6_000]
    log = hpc_log(("cfs", 5, 100, "1e-9"), ("cfs", 7, 200, "1e-9"), ("topo", 2, 7, "1e-9"))
    raw = {"nohz": bench.hpc.run.runs_of(log, counted)}
    t.same(
        [v.good for v in bench.hpc.table.judge(raw)],
        [False] * 4,
        "hpc: all verdicts on SCHED_HPC fail for many moves, switches and foreign instructions",
    )
    # GROMACS prints no seconds, and its first thread binds itself to each CPU in turn
    gmx = "\n".join(
        ["run topo busy 1"]
        + [
            f"rank {n} cpu 1 2 moves {moves} involuntary 0 voluntary 1 residual ab12"
            for n, moves in ((0, 16), (1, 1))
        ]
    )
    verdicts = bench.hpc.table.judge({"plain": bench.hpc.run.runs_of(gmx, [[100, 1, 1, 1, 1]])})
    t.same(
        [(v.good, v.what[-2:]) for v in verdicts][:1],
        [(True, " 1")],
        "hpc: the moves of GROMACS's first thread are not judged",
    )
    runs_of = bench.hpc.run.runs_of
    t.raises(
        Failed, "3 runs, but 2", "hpc: a run without counts is an error", runs_of, log, counted[:2]
    )
    odd = hpc_log(("cfs", 5, 100, "1e-9"), ("topo", 0, 1, "2e-9"))
    t.raises(
        Failed,
        "residuals of the ranks differ",
        "hpc: a result that differs is an error",
        runs_of,
        odd,
        counted[:2],
    )
    t.raises(
        Failed,
        "cannot parse",
        "hpc: a rank's line in an unknown format is an error",
        runs_of,
        log + "\nrank x",
        counted,
    )
    missing = "\n".join(log.splitlines()[:-1])
    t.raises(
        Failed,
        "[2, 2, 1]",
        "hpc: a run without the line of a rank is an error",
        runs_of,
        missing,
        counted,
    )


def lwk_log(*runs):
    """Return the console of a guest. RUNS have (arm, interrupts in 2 s, exits, faults of each
    rank)."""
    lines = []
    for arm, interrupts, exits, faults in runs:
        lines.append(f"run {arm} noisy 1")
        lines.append(f"node interrupts {interrupts} exits {exits} seconds 2.000")
        lines += [f"rank {n} faults {f} involuntary 1 sum 0x{n}p+0" for n, f in enumerate(faults)]
    return "\n".join(lines)


def test_lwk():
    log = lwk_log(("partition", 600, 0, (5, 6, 7)), ("lwk2m", 480, 90, (0, 0, 0)))
    # columns: instructions (own, kernel, other, of all CPUs), the longest stretch, and for each k
    # the number of stretches of 4**k to 4**(k+1) instructions
    counted = [[10_000, 300, 200, 1, 5_000, *[0] * 5, 4, 2, *[0] * 9]]
    counted.append([10_000, 100, 0, 1, 4_000, *[0] * 4, 1, 7, *[0] * 10])
    raw = {"nohz": bench.lwk.run.runs_of(log, counted)}
    (table,) = bench.lwk.table.tables(raw)
    t.same(
        texts(table),
        [
            # three ranks: 600 / 2 s / 3 = 100 interrupts; (300 + 200) / 10,000 = 5 %
            "noisy | partition | 6 (5 to 7) | 0 | 100.0 | 5.000 % | 6 | 5.0 | 3",
            "noisy | lwk, 2 MiB | 0 | 90 | 80.0 | 1.000 % | 8 | 4.0 | 3",
        ],
        "lwk: the table has faults, exits, interrupts, foreign instructions and stretches",
    )
    t.same(
        [v.good for v in bench.lwk.table.judge(raw)],
        [True] * 5,
        "lwk: all verdicts hold without faults, with exits only in machines, and with less noise"
        " than in a partition",
    )
    t.same(
        {n: v.middle for n, v in bench.lwk.table.longer(raw["nohz"][:1]).items()},
        {256: 6, 1024: 6, 4096: 2},
        "lwk: the curve counts the stretches that are at least that long",
    )
    log = lwk_log(("partition", 600, 1, (5, 6, 7)), ("lwk2m", 601, 0, (0, 1, 0)))
    counted[1][4] = 5_000
    t.same(
        [v.good for v in bench.lwk.table.judge({"nohz": bench.lwk.run.runs_of(log, counted)})],
        [False] * 5,
        "lwk: all verdicts fail with a fault, an exit outside of machines, none in them, and as"
        " much noise as in a partition",
    )
    runs_of = bench.lwk.run.runs_of
    t.raises(
        Failed, "2 runs, but 1", "lwk: a run without counts is an error", runs_of, log, counted[:1]
    )
    short = lwk_log(("lwk2m", 1, 1, (0, 0)))
    t.raises(
        Failed,
        "no result",
        "lwk: a run without the line of a rank is an error",
        runs_of,
        short,
        counted[:1],
    )
    noise = f"{log}\nrank: noise 1 ended with 0x100"
    t.raises(
        Failed,
        "unexpected",
        "lwk: a noise program that ends early is an error",
        runs_of,
        noise,
        counted,
    )
    wrong = log.replace("0x2p+0", "0x3p+0", 1)
    t.raises(
        Failed,
        "differ",
        "lwk: a rank's sum that differs between runs is an error",
        runs_of,
        wrong,
        counted,
    )


def test_site():
    figures = bench.site.run.figures
    t.same(
        figures("x\nfigure message_us 2.5\n", "pingpong"),
        {"pingpong: message_us": 2.5},
        "site: figures() reads the figure of a program",
    )
    t.same(
        figures("HPL_Tflops=0.25\nHPL_time=3\nStarSTREAM_Triad=7\n", "hpcc"),
        {"hpcc: HPL_Tflops": 0.25, "hpcc: StarSTREAM_Triad": 7.0},
        "site: figures() reads only the chosen lines of HPCC",
    )
    t.raises(
        Failed,
        "no figure",
        "site: an output without a figure is an error",
        figures,
        "HPL_Tflops=1",
        "cg",
    )
    made = (("native", 0, 4, 10), ("partition", 0, 2, 20), ("native", 1, 8, 10))
    made += (("partition", 1, 2, 40),)
    runs = [
        {"arm": arm, "run": n, "figures": {"pingpong: message_us": us, "cg: rate": rate}}
        for arm, n, us, rate in made
    ]
    (table,) = bench.site.table.tables({"ranks": 2, "runs": runs})
    t.same(
        texts(table),
        [
            # sample deviations: of 4 and 8, sqrt(8); of 20 and 40, sqrt(200)
            "pingpong: message_us | less | 6.00 ± 2.83 (3.00) | 2.00 ± 0.00 (1.00)",
            "cg: rate | more | 10.0 ± 0.00 (0.33) | 30.0 ± 14.1 (1.00)",
        ],
        "site: the table has means, deviations and ratios to the partition",
    )
    t.same(
        [[c.bold for c in row[2:]] for row in table.rows],
        [[False, True], [False, True]],
        "site: the shortest time and the greatest rate are bold",
    )
    # eight ranks of 64 MiB: an eighth of their memory holds 2896 x 2896 numbers of 8 bytes
    lines = bench.site.run.hpcc_input(8, 64).splitlines()
    t.same(lines[5], str(2896 // 64 * 64), "site: HPCC's matrix is an eighth of the memory")
    t.same(lines[10:12], ["2", "4"], "site: HPCC's grid of processes has all ranks")


def placed_log(arm, size, seed, misses, remote, moves, cpu):
    """Return the lines of a run of eight ranks with 1,000 instructions each. REMOTE and MOVES are
    those of the last rank; the other ranks have 0. Odd ranks end on CPU, even ranks on CPU 1."""
    lines = [f"run {arm} {size} {seed}"]
    for n in range(8):
        counts = f"instructions 1000 misses {misses} remote {remote if n == 7 else 0}"
        counts += f" kernel-misses 1 kernel-remote 0 moves {moves if n == 7 else 0}"
        lines.append(f"rank {n} cpu 1 {cpu if n % 2 else 1} {counts}")
    return "\n".join(lines)


def contention_run(arm, seed, moves, *ranks):
    """Return a run as the script guest writes it. RANKS have (kind, lines). A line is (pass,
    seconds, misses, remote, CPU, KiB on each node). A pass has 1,000 instructions."""
    text = ["step 3"]
    for n, (kind, lines) in enumerate(ranks):
        for done, seconds, misses, remote, cpu, kib in lines:
            counts = f"instructions {1000 * done} misses {misses} remote {remote} stall 0.5"
            text.append(
                f"rank {n} {kind} pass {done} seconds {seconds:.2f} {counts} cpu {cpu}"
                f" kib {kib[0]} {kib[1]}"
            )
    document = {
        "ranks": [{"moves": m, "pages_moved_bytes": 0} for m in moves[1:]],
        "placings": [{"why": "ranks move", "moves": sum(moves)}],
    }
    return {"seed": seed, "arm": arm, "text": "\n".join(text), "document": document}


def contention_runs():
    """Return runs of the worst placement and of dino with two seeds. Each scan has 30 passes."""
    rest = [("loop", [(9, 5, 0, 0, 8, (0, 8))])] * 2
    worst = [("scan", [(20, 10, 600, 0, 0, (8, 0)), (30, 15, 900, 0, 0, (8, 0))])] * 2
    slow = [("scan", [(20, 20, 600, 0, 0, (8, 0)), (30, 30, 900, 0, 0, (8, 0))])] * 2
    stays = ("scan", [(10, 4, 300, 0, 0, (8, 0)), (20, 5, 310, 0, 0, (8, 0))])
    stays[1].append((30, 6, 311, 0, 0, (8, 0)))
    moved = ("scan", [(10, 4, 300, 0, 0, (8, 0)), (20, 5, 305, 5, 8, (8, 0))])
    moved[1].append((30, 7.5, 308, 8, 8, (2, 6)))
    return [
        contention_run("worst", 1, [0] * 4, *worst, *rest),
        contention_run("dino", 1, [0, 0, 1, 1], stays, moved, *rest),
        contention_run("worst", 2, [0] * 4, *slow, *rest),
        contention_run("dino", 2, [0, 0, 1, 1], stays, moved, *rest),
    ]


def test_contention():
    read = bench.contention.run.run_of
    raw = {"runs": [read(one) for one in contention_runs()]}
    (table,) = bench.contention.table.tables(raw)
    t.same(
        texts(table),
        [
            # dino: in the last third 1 + 3 misses per 20,000 instructions (2.0 per 10,000), 3 of
            # them remote (75 %); in total 311 + 308 per 60,000 (103.2 per 10,000), 8 of them remote
            # (1.3 %); 2 of 16 KiB on another node (12 %); 7.5 s, where worst takes 15 and 30 s
            "**dino** | 2.0 | 103.2 | 75.0 | 1.3 | 12 | 2 | 0.5 | 7.5 | 0.38 (0.25 to 0.50)",
            "by hand, worst | 300.0 | 300.0 | 0.0 | 0.0 | 0 | 0 | 0.5 | 22.5 (15.0 to 30.0) | 1.00",
        ],
        "contention: the table has the misses of both scans, and the time of the step",
    )
    t.same(
        [(v.good, v.what.partition(": ")[2]) for v in bench.contention.table.judge(raw)],
        [
            (True, "no devils at the end: median 2.0 misses per 10,000 instructions"),
            (True, "each step has two moves: 2 to 2"),
            (True, "steps end earlier than with the worst placement: at most 0.50 of its time"),
            (True, "devils at the end: at least 300.0 misses per 10,000 instructions"),
        ],
        "contention: verdicts on good and bad placements hold for runs as expected",
    )
    curves = bench.contention.table.progress(raw["runs"])
    t.same(
        curves["dino", 1],
        # At 6 s, the scan that stays has made 30 passes. The moved scan has made 24: 20 until 5 s,
        # and 4 of the 10 passes from 5 s to 7.5 s.
        [(0, 0.0), *[(4, 100 / 3)] * 2, *[(5, 200 / 3)] * 2, (6, 90.0), (7.5, 100.0)],
        "contention: progress is the sum of the passes of both scans at a time",
    )
    bad = contention_run("dino", 1, [2, 0, 1, 1], *[("scan", [(30, 9, 900, 0, 0, (8, 0))])] * 4)
    worse = {"runs": [raw["runs"][0], read(bad)]}
    t.same(
        [v.good for v in bench.contention.table.judge(worse)][:3],
        [False, False, True],
        "contention: the verdicts on dino fail if scans are devils at the end, or with four moves",
    )
    plots = bench.contention.table.plots(raw)
    t.same(
        sorted(plots), ["contention-arms.svg", "contention-progress.svg"], "contention: two plots"
    )
    for file, svg in plots.items():
        t.same(
            ElementTree.fromstring(svg).tag.endswith("svg"),
            True,
            f"contention: {file} is well-formed",
        )
    t.same(
        "ends at 7.50 (7.50 to 7.50)" in plots["contention-progress.svg"],
        True,
        "contention: the plot has the end of each step",
    )
    few = contention_run("dino", 1, [0] * 4, ("scan", [(30, 9, 900, 0, 0, (8, 0))]))
    t.raises(
        Failed, "no line", "contention: a rank that has written no line is an error", read, few
    )
    few["document"] = None
    few["text"] = contention_runs()[0]["text"]
    t.raises(
        Failed,
        "no document",
        "contention: a run without nodeos-contend's document is an error",
        read,
        few,
    )
    few["text"] += "\nrank 0 scan"
    t.raises(
        Failed,
        "cannot parse",
        "contention: a rank's line in an unknown format is an error",
        read,
        few,
    )


def test_contention_seeds(directory):
    """Test that the results of each seed are kept, and are measured again if an option changes."""
    experiment, asked = bench.contention.run, []

    def measure(_context, seeds):
        asked.append(seeds)
        return {seed: [{"seed": seed}] for seed in seeds}

    def seeds(text, **more):
        values = dict.fromkeys(o.name for o in experiment.OPTIONS)
        values |= {"seeds": text, "quick": False, "again": False, "out": directory} | more
        context = Context("contention", argparse.Namespace(**values))
        return [one["seed"] for one in experiment.run(context)["runs"]]

    real, experiment.measure = experiment.measure, measure
    got = [seeds("1-2"), seeds("1-3"), seeds("2-3"), seeds("3-3", passes=7)]
    experiment.measure = real
    t.same(
        (got, asked),
        ([[1, 2], [1, 2, 3], [2, 3], [3]], [[1, 2], [3], [3]]),
        "contention: only seeds without results for the same options are measured",
    )


def pair_run(policy, moves, ranks):
    """Return a run of ranks with 1,000 instructions each. RANKS have (program, begin, end, misses,
    history of classes or None)."""
    text, found = ["step 0"], []
    for n, (program, begin, end, misses, history) in enumerate(ranks):
        counts = f"instructions 1000 misses {misses} remote 0 kernel-misses 1 moves 0"
        text.append(f"rank {n} {program} begin {begin}.5 end {end}.5 {counts}")
        if history is not None:
            found.append({"rank": n, "history": [[n, 1, c] for c in history]})
    document = {"placings": [{"moves": moves}] * bool(moves), "ranks": found}
    return {"pair": ["cg", "scan"], "policy": policy, "text": "\n".join(text), "document": document}


def test_pairs():
    plain = [("cg", 0, 10, 3, "uutt"), ("scan", 1, 21, 20, "uddt")]
    plain += [("cg", 2, 12, 5, None), ("scan", 1, 20, 40, "ds")]
    dino = [("cg", 0, 15, 4, "t"), ("scan", 0, 5, 2, "dt"), ("cg", 0, 14, 4, "t")]
    dino += [("scan", 0, 5, 2, "d")]
    read = bench.pairs.run.run_of
    raw = {"runs": [read(pair_run("observe", 0, plain)), read(pair_run("dino", 2, dino))]}
    (table,) = bench.pairs.table.tables(raw)
    t.same(
        texts(table),
        [
            # observed only: 8 and 60 misses per 2,000 instructions; cg runs from second 0 to 12,
            # scan from 1 to 21
            "cg and scan | cg | turtle | 40.0 | 40.0 | 12.0 | 15.0 | 1.25 | 2",
            " | scan | devil, then semi-devil or devil, then turtle | 300.0 | 20.0 | 20.0 | 5.0 |"
            " 0.25 | ",
        ],
        "pairs: the table has the gain of one program, the loss of the other, classes and moves",
    )
    t.same(
        [(v.good, v.what.partition(": ")[2], bool(v.skip)) for v in bench.pairs.table.judge(raw)],
        [
            (False, "cg: 40.0 misses per 10,000 instructions make it a devil", False),
            (False, "cg: the last class of each rank is devil", False),
            (True, "scan: 300.0 misses per 10,000 instructions make it a devil", False),
            (False, "scan: the last class of each rank is devil", False),
        ],
        "pairs: the class of each program is judged by its misses and by its last class, if it is"
        " only observed",
    )
    unknown = read(pair_run("observe", 0, [(p, b, e, 500, None) for p, b, e, _, _ in plain]))
    t.same(
        [(v.good, bool(v.skip)) for v in bench.pairs.table.judge({"runs": [unknown]})],
        [(True, False), (True, True)] * 2,
        "pairs: the last class of a program without ranks in the document is not judged",
    )
    few = pair_run("dino", 0, dino[:3])
    t.raises(Failed, "3 ranks", "pairs: a step with three ranks is an error", read, few)
    few["text"] += "\nrank 3 scan"
    t.raises(
        Failed, "cannot parse", "pairs: a rank's line in an unknown format is an error", read, few
    )
    few["document"] = None
    t.raises(
        Failed,
        "no document",
        "pairs: a step without nodeos-contend's document is an error",
        read,
        few,
    )


def test_placement():
    log = "SeaBIOS" + "\n".join(
        placed_log(*run)
        for run in (
            ("cfs", 768, 1, 10, 8, 3, 15),
            ("topo", 768, 1, 5, 0, 0, 8),
            ("topo", 768, 2, 10, 0, 0, 8),
            ("cfs", 768, 2, 40, 16, 5, 7),
            ("cfs", 1536, 1, 50, 0, 0, 8),
            ("rr", 1536, 1, 60, 12, 1, 8),
        )
    )
    raw = {"placement": bench.caches.run.runs_of(log)}
    (table,) = bench.caches.table.tables(raw)
    t.same(
        texts(table),
        [
            # 10 and 40 misses per 1,000 instructions are 100 and 400 per 10,000; the last rank's 8
            # and 16 remote misses per 8,000 instructions of all ranks are 10 and 20 per 10,000;
            # with seed 1 the four odd ranks end on socket 1 (CPU 15), with seed 2 all ranks end on
            # socket 0
            "768 | CFS | 250.0 (100.0 to 400.0) | 1.00 | 15.0 (10.0 to 20.0) | 4 (3 to 5) |"
            " 2 (0 to 4)",
            # misses relative to CFS are 5 / 10 in the first boot and 10 / 40 in the second
            "768 | **SCHED_HPC topo** | 75.0 (50.0 to 100.0) | 0.38 (0.25 to 0.50) | 0.0 | 0 | 4",
            "1,536 | CFS | 500.0 | 1.00 | 0.0 | 0 | 4",
            "1,536 | **SCHED_HPC rr** | 600.0 | 1.20 | 15.0 | 1 | 4",
        ],
        "caches: the table has misses of all ranks, and their ratios to CFS in the same boot",
    )
    t.same(
        "seeds 1, 2, a boot each" in table.title and "Simulated" in table.title,
        True,
        "caches: the title of placement names the ranks and seeds",
    )
    t.same(
        [(v.good, v.what) for v in bench.caches.table.judge(raw)],
        [
            (True, "768 KiB, SCHED_HPC topo: 0.0 % of the misses are remote, at most 2"),
            (True, "768 KiB, SCHED_HPC topo: 0.38 times CFS's misses, at most 1"),
            # 15 of 600 misses are remote; a size that does not fit the cache is not compared with
            # CFS
            (False, "1536 KiB, SCHED_HPC rr: 2.5 % of the misses are remote, at most 2"),
        ],
        "caches: placements are judged by remote misses, and by misses relative to CFS where the"
        " data fit",
    )
    runs_of = bench.caches.run.runs_of
    missing = "\n".join(log.splitlines()[:-1])
    t.raises(
        Failed,
        "seed 1: 7 ranks",
        "caches: a run without the line of a rank is an error",
        runs_of,
        missing,
    )
    t.raises(
        Failed,
        "cannot parse",
        "caches: a rank's line in an unknown format is an error",
        runs_of,
        log + "\nrank x",
    )


def test_lriot():
    runs = [
        {"arm": arm, "medium": medium, "round": n, "reads": 1000, "misses": 500 * n}
        | {"remote": remote * n, "moves": n}
        for medium in ("mmap", "buffer")
        for arm, remote in (("unplaced", 250), ("by hand", 0), ("container", 5))
        for n in (1, 2, 3)
    ]
    (table,) = bench.caches.table.tables({"lriot": runs})
    t.same(
        texts(table)[2:4],
        [
            "page cache | **container** | 1.000 (0.500 to 1.500) | 0.010 (0.005 to 0.015) | 1.0 |"
            " 2 (1 to 3)",
            "buffer | unplaced | 1.000 (0.500 to 1.500) | 0.500 (0.250 to 0.750) | 50.0 |"
            " 2 (1 to 3)",
        ],
        "caches: the table has LRIOT's misses per read",
    )
    t.same("1,000 reads at random, 3 rounds" in table.title, True, "caches: LRIOT's title")
    verdicts = bench.caches.table.judge({"lriot": runs})
    t.same(
        [v.good for v in verdicts],
        [True] * 6,
        "caches: LRIOT's verdicts hold for 1 % of remote misses, which are 1/50 of those of"
        " unplaced threads",
    )
    for run in runs:
        run["remote"] += 60 * (run["arm"] == "container") * run["round"]
    verdicts = bench.caches.table.judge({"lriot": runs})
    t.same(
        [v.good for v in verdicts],
        [False, True, False] * 2,
        "caches: LRIOT's verdicts fail for 13 % of remote misses, which are 1/4 of those of"
        " unplaced threads",
    )


def scene(arm, threads, writes, times=48, **counts):
    counts = " ".join(f"{key} {n}" for key, n in counts.items()) or "killed"
    return f"outofcore {arm}/{threads}/10/{writes}/8/{times}/nullb0 {counts}"


def test_dimmap():
    log = "\n".join(
        [
            "text of init",
            scene("direct", 1, 0, accesses=10, major=0, interrupts=0, pages=10),
            scene("random", 1, 0, accesses=10, major=10, interrupts=5, pages=10),
            scene("default", 1, 0),
            scene("dimmap", 1, 0, accesses=10, major=8, interrupts=1, pages=8),
        ]
    )
    # columns: ID, nanoseconds, user, kernel; the killed scene has only its first marker
    counted = [
        *([1, 0, 0, 1000], [2, 0, 0, 2000]),
        *([1, 0, 0, 5000], [2, 0, 0, 9000]),
        *([1, 0, 0, 9500],),
        *([1, 0, 0, 10_000], [2, 0, 0, 12_000]),
    ]
    found = bench.dimmap.run.scenes_of(log, counted)
    (table,) = bench.dimmap.table.tables({"counted": found})
    t.same(
        texts(table),
        [
            # 2000 / 8 and 4000 / 10 instructions per fault; without the device's 100: 150 and 300
            "1 | 0 % | dimmap | 250 | 0.62 | 150 | 0.50 | 0.125 | 1.00",
            "1 | 0 % | random | 400 | 1.00 | 300 | 1.00 | 0.500 | 1.00",
        ],
        "dimmap: the table has instructions per fault that reads, relative to the best mmap",
    )
    t.same(
        table.notes,
        [
            "Killed, as the cgroup's memory did not suffice: default, 1 thread, 0 % writes,"
            " 48 times.",
            "O_DIRECT reads of a page, with their system call: 100 with 1 thread",
        ],
        "dimmap: notes name killed scenes and the cost of reading the device",
    )
    scenes_of = bench.dimmap.run.scenes_of
    t.raises(
        Failed,
        "at least 6 were",
        "dimmap: a scene without counts is an error",
        scenes_of,
        log,
        counted[:5],
    )
    timed = "\n".join(
        [
            scene("dimmap", 1, 0, 4, accesses=60, nanoseconds=2_000_000),
            scene("random", 1, 0, 4, accesses=40, nanoseconds=2_000_000),
            scene("default", 1, 0, 4, accesses=10, nanoseconds=2_000_000),
            scene("dimmap", 4, 0, 4, accesses=60, nanoseconds=1_000_000),
        ]
    )
    (table,) = bench.dimmap.table.tables({"timed": scenes_of(timed, None)})
    t.same(
        texts(table),
        [
            "4 | 0 % | dimmap | 30.0 (1.50) | 60.0",
            "4 | 0 % | random | 20.0 (1.00) | ",
            "4 | 0 % | default | 5.0 (0.25) | ",
        ],
        "dimmap: the table has accesses per second, relative to the best mmap with as many threads",
    )
    bounded, free = bench.dimmap.run.scenes_counted(5, ["default"])
    t.same(
        (bounded[:3], len(bounded), free[-1]),
        (
            ["direct/1/5/0/8/48/nullb0", "dimmap/1/5/0/8/48/nullb0", "default/1/5/0/8/48/nullb0"],
            2 * (1 + 2 * 2) + 3,
            "free-random/4/5/0/0/24/nullb0",
        ),
        "dimmap: each of the two boots has its scenes",
    )


def test_fgmn():
    def faults(each, scenes, node=0):
        """Return faults_of() of an output of faults.c with one round of each scene, and EACH kernel
        instructions per fault."""
        log, counts, at = [], [], 0
        for scene in scenes:
            for kind, n in (("4K", 1024), ("2M", 32)):
                log.append(f"faults {scene} {kind} {n} 1 node {node}:{n}")
                # CPU 1 executes 7 more instructions in user space
                counts.append([1, 0, 0, 0, 0, 0, at])
                counts.append([2, 0, 7, 0, 0, 99, at + each * n + 7])
                at += 10**6
        return bench.fgmn.run.faults_of("\n".join(log), counts)

    raw = {
        "stock": faults(200, ["none", "cpuset=0"]),
        "off": faults(202, ["none", "cpuset=0"]),
        "on": faults(300, ["cpuset=2"], node=2),
    }
    (table,) = bench.fgmn.table.tables({"faults": raw})
    t.same(
        texts(table),
        [
            "stock | none | 200 | 1.000 | 1.000 | 200 | 1.000 | 1.000",
            "stock | cpuset=0 | 200 | 1.000 | 1.000 | 200 | 1.000 | 1.000",
            "off | none | 202 | 1.010 | 1.010 | 202 | 1.010 | 1.010",
            "off | cpuset=0 | 202 | 1.010 | 1.010 | 202 | 1.010 | 1.010",
            # a block of the CPU's socket is compared with the stock kernel's node 0
            "on | cpuset=2 | 300 | 1.500 | 1.500 | 300 | 1.500 | 1.500",
        ],
        "fgmn: the table has kernel instructions per fault, relative to the stock kernel",
    )
    t.raises(
        Failed, "nodes, [3]", "fgmn: pages on another node are an error", faults, 1, ["cpuset=2"], 3
    )
    log = "neighbour alone 2 kills 0\nneighbour limit 2 kills 3\nneighbour limit moved x 0 4"
    own = [100, 300, 210, 410]  # instructions of CPU 1 in each round
    counts = [row for n in own for row in ([1, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, n])]
    (table,) = bench.fgmn.table.tables({"neighbour": bench.fgmn.run.arms_of(log, counts)})
    t.same(
        texts(table),
        [
            "alone | 0 | 200 (100 to 300) | 1.0000 | 1.0000 | none",
            "limit | 3 | 310 (210 to 410) | 1.5500 | 1.5500 | x 0 to 4",
        ],
        "fgmn: the table shows a neighbour's rounds relative to its rounds alone",
    )
    counts.append([1] * 7)
    arms_of = bench.fgmn.run.arms_of
    t.raises(Failed, "9 marks", "fgmn: a surplus mark is an error", arms_of, log, counts)
    boots = [
        {
            "variant": variant,
            "cpus": 8,
            "thp": "always",
            "sizes": bench.fgmn.run.sizes_of(
                f"footprint groups 4\nfootprint Slab {kib}\nfootprint groups_slab {kib}\n"
                f"footprint kswapd_threads {kib // 1024}\n"
            ),
        }
        for variant, kib in (("stock", 2048), ("off", 2048), ("on", 5120))
    ]
    t.same(
        texts(bench.fgmn.table.memory(boots, 8, "always")),
        [
            "Slab, MiB | 2.0 | 2.0 | 5.0 | +3.0",
            "groups_slab, KiB per cgroup | 512.0 | 512.0 | 1,280.0 | +768.0",
            "kswapd_threads | 2 | 2 | 5 | +3",
        ],
        "fgmn: the table has the kernel's memory in MiB, that of a cgroup in KiB, and numbers of"
        " threads",
    )
    meminfo, zones = "", ""
    for node, mib in ((1, 9), (2, 126), (3, 125)):
        meminfo += f"Node {node} MemTotal:  {mib * 1024} kB\nNode {node} MemFree:  1024 kB\n"
        zones += f"Node {node}, zone   Normal\n  pages free 9\n     min  256\n     low  {mib}\n"
    found = bench.fgmn.run.blocks_of(f"{meminfo}{zones}=== done\n{meminfo}")
    t.same(
        bench.fgmn.table.blocks(found),
        [
            "2 blocks: MemTotal 125.0 to 126.0 MiB, MemFree 1.0 to 1.0 MiB; watermarks when init"
            " ran: min 1.0 to 1.0 MiB, low 0.5 to 0.5 MiB"
        ],
        "fgmn: the memory of blocks is that before the program ran, without homes",
    )


def test_launch_counts():
    """Test counts with rows of ID, nanoseconds, user and kernel. An idle guest executes 1 M user
    and 2 M kernel instructions per second."""
    rows, now = [], [0, 0, 0]

    def mark(number, seconds, user, kernel):
        for n, more in enumerate((seconds * 10**9, user * 10**6, kernel * 10**6)):
            now[n] += more
        rows.append([number, *now])

    mark(10, 1, 0, 0)
    mark(11, 1, 1, 2)
    mark(12, 1, 1, 2)
    for kind, user in ((20, 40), (30, 50), (20, 60), (30, 90)):
        mark(kind, 1, 0, 0)
        mark(kind + 1, 4, user, 100)  # srun
        mark(kind + 2, 1, 3, 2)  # marker 3 comes after the work that follows srun
    mark(90, 1, 0, 0)
    mark(91, 1, 2, 5)
    launches, pairs, helper = bench.launch.table.counts(rows)
    t.same(
        launches.title,
        "Idle guest: 1.00 user and 2.00 kernel M instructions per second (1 samples), subtracted"
        " below.",
        "launch: the title has the rates of an idle guest",
    )
    t.same(
        texts(launches),
        [
            # user: 40 + 3 - 5 s * 1 = 38, and 60 + 3 - 5 = 58; kernel: 100 + 2 - 5 s * 2 = 92;
            # after srun's end: 3 M in a second, of which an idle guest executes 1
            "plain | 2 | 48.0 (38.0 to 58.0) | 2.00 | 92.0 | 140.0 (130.0 to 150.0) |"
            " 155.0 (145.0 to 165.0) | 4.00",
            "container | 2 | 68.0 (48.0 to 88.0) | 2.00 | 92.0 | 160.0 (140.0 to 180.0) |"
            " 175.0 (155.0 to 195.0) | 4.00",
        ],
        "launch: the table has instructions, less what an idle guest executes in the same time",
    )
    t.same(
        texts(pairs),
        [
            # 48 - 38 and 88 - 58; 140 / 130 and 180 / 150
            "container against plain | 20.0 (10.0 to 30.0) | 0.00 | 20.0 (10.0 to 30.0) |"
            " 1.14 (1.08 to 1.20) | 1.00"
        ],
        "launch: the table of pairs has differences and ratios",
    )
    t.same(
        texts(helper),
        ["helper, with its input | 1 | 2.00 | 5.00"],
        "launch: a table has the instructions of the helper alone",
    )


SLURMD = """1 poll([]) = 0
1 clone(flags=SIGCHLD) = 10
10 close(3) = 0
10 execve("/usr/sbin/slurmstepd", ["slurmstepd"], 0x1) = 0
10 read(0, "", 3) = 0
10 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 11
11 poll([]) = 0
10 clone(flags=SIGCHLD <unfinished ...>
20 setuid(1) = 0
10 <... clone resumed>) = 20
20 execve("/usr/bin/true", ["true"], 0x2) = 0
20 brk(0) = 1
1 vfork() = 40
40 execve("/usr/sbin/slurmstepd", ["slurmstepd", "spank", "epilog"], 0x1) = 0
40 open() = 3
--- SIGCHLD ---
"""
HELPER = """10 fork() = 30
30 close(1) = 0
30 execve("/usr/libexec/nodeos/nodeos-plan", ["nodeos-plan"], 0x2) = 0
30 brk(0) = 1
"""


def test_launch_calls(directory):
    for name, text in (
        ("slurmd.plain.0", SLURMD),
        ("srun.plain.0", "5 read(1) = 0\n"),
        ("slurmd.contained.0", SLURMD + HELPER),
        ("srun.contained.0", "5 read(1) = 0\n5 futex(1) = 0\n"),
    ):
        with open(f"{directory}/{name}", "w") as f:
            f.write(text)
    runs = bench.launch.calls.all_of(directory)
    of_step = {"read": 1, "clone3": 1, "clone": 1, "poll": 1}
    t.same(
        {r["kind"]: r["calls"]["slurmstepd of the step"] for r in runs},
        {"plain": of_step, "contained": of_step | {"fork": 1}},
        "launch: calls of slurmstepd and its thread are counted, a call in two lines once",
    )
    table = bench.launch.table.traces(runs)
    t.same(
        texts(table),
        [
            "srun | none | 1 | 2",
            "slurmstepd of the epilog | none | 1 | 1",
            "slurmstepd of the step | none | 4 | 5",
            # 2 calls: setuid and execve. Calls of the user's program after the exec are not
            # counted.
            "slurmstepd's forks, until their exec of `true` | none | 2 | 2",
            "fork for the helper, until its exec | none | none | 2",
            "helper nodeos-plan | none | none | 1",
            # calls of slurmd: poll, clone and vfork; of its fork that becomes slurmstepd: close and
            # execve
            "slurmd, and its forks until slurmstepd's exec | none | 6 | 6",
            "together: slurmstepd of the step, its forks, the helper | none | 6 | 10",
            "together: everything above | none | 14 | 19",
        ],
        "launch: the table has system calls by the role of the caller",
    )
    t.same(
        table.notes[:2],
        [
            "srun, contained against plain, medians: futex +1",
            "slurmstepd of the step, contained against plain, medians: fork +1",
        ],
        "launch: notes name the calls that a container adds",
    )


def test_policies():
    def played(name, hits):
        """Return results for buffers of 10 and 50 of 100 pages. HITS has hits per 100 accesses by
        policy."""
        results = [
            {"policy": p, "buffer": buffer, "hit_ratio": hit / 100}
            for p, of in hits.items()
            for buffer, hit in zip((50, 10), of)
        ]
        return {"name": name, "pages": 100, "results": results}

    hits = {"fifo": (60, 20), "dimmap": (62, 20), "sieve": (70, 20), "s3fifo": (70.04, 30)}
    raw = [
        played("BFS", hits | {"lru": (65, 25), "opt": (80, 50)}),
        played("BFS", hits | {"lru": (67, 35), "opt": (80, 50)}),
    ]
    (table,) = bench.policies.table.tables(raw)
    t.same(
        markdown(table).splitlines()[2:],
        [
            "| BFS | 10 | 20.0 | 20.0 | 20.0 | **30.0** | 30.0 | 50.0 |",
            # a policy that is at most 0.04 below the best one counts as equally good
            "| BFS | 50 | 60.0 | 62.0 | **70.0** | **70.0** | 66.0 | 80.0 |",
            "| mean |  | 40.00 | 41.00 | 45.00 | 50.02 | 48.00 | 65.00 |",
            # roots of 80/50 x 40/20, 1.6 x 1.9, 1.6 x 1.5, 1.4 x 1.498, 1.4 x 1.7
            "| misses, relative to the optimum's (geometric mean) |  | 1.79 | 1.74 | 1.55 | 1.45 |"
            " 1.54 | 1.00 |",
        ],
        "policies: the table has means of the seeds, our best policies in bold, and misses"
        " relative to the optimum's",
    )
    of_seed = list(bench.policies.run.accesses("load", "FILE", 2))
    t.same(
        [name for name, _, _ in of_seed],
        [
            *(f"LRIOT, {p}" for p in ("uniform", "zipf:0.8", "zipf:1.1", "seq")),
            "LRIOT, zipf:0.8, 30 % writes",
            "BFS",
            *(f"streamlines, {layout}" for layout in ("row", "brick:8")),
        ],
        "policies: eight loads",
    )
    t.same(
        [name for name, _, command in of_seed if "--seed=2" not in command],
        ["BFS"],
        "policies: each load uses the seed; BFS uses it only for its graph",
    )


def test_streamline():
    def run(n, arm, beside, rate, checksum="a"):
        return {
            "run": n,
            "arm": arm,
            "beside": beside,
            "threads": 1,
            "steps_per_second": rate,
            "steps": 1000,
            "cpu_seconds": 0.25,
            "majflt": 1000 * n,
            "pages_read": 5,
            "simulation_steps_per_second": 4.25 if beside else None,
            "checksum": f"{n}{checksum}",
        }

    runs = [
        *(run(n, "mmap", False, rate) for n, rate in ((1, 100), (2, 300), (3, 200))),
        *(run(n, "dimmap", False, 500) for n in (1, 2, 3)),
        *(run(n, "mmap", True, 100) for n in (1, 2, 3)),
        *(run(n, "dimmap", True, 400) for n in (1, 2, 3)),
    ]
    (table,) = bench.streamline.table.tables(runs)
    t.same(
        texts(table),
        [
            "1 | alone | mmap | 200 (100 to 300) | 1.00 | 1.00 | 2,000 | 5 | 250 | ",
            "1 | alone | dimmap | 500 | 2.50 | 1.00 | 2,000 | 5 | 250 | ",
            "1 | beside GROMACS | mmap | 100 | 1.00 | 0.50 | 2,000 | 5 | 250 | 4.2",
            "1 | beside GROMACS | dimmap | 400 | 4.00 | 0.80 | 2,000 | 5 | 250 | 4.2",
        ],
        "streamline: the table has rates, relative to the best mmap and to the same arm alone",
    )
    judge = bench.streamline.table.judge
    t.same([v.good for v in judge(runs)], [True], "streamline: the lines may differ between runs")
    runs.append(run(1, "dimmap", True, 400, "b"))
    t.same(
        [v.good for v in judge(runs)],
        [False],
        "streamline: lines that differ between arms of a run are an error",
    )


def main():
    test_placement()
    test_contention()
    test_pairs()
    test_lriot()
    test_hpc()
    test_lwk()
    test_site()
    test_policies()
    test_streamline()
    test_launch_counts()
    with tempfile.TemporaryDirectory() as directory:
        test_launch_calls(directory)
        test_contention_seeds(directory)
    test_dimmap()
    test_fgmn()
    sys.exit(t.end())


main()
