#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the evaluation: the readers of its inputs, mpibind's rules on small machines, the
measures of placements, the comparison with stated numbers, plots, a short run of the part planner,
and doc/evaluation.md. Expected results are worked out by hand. Prints TAP."""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = f"{TOP}/bench/evaluation"
TOOL = os.path.join(os.environ.get("NODEOS_BUILD", TOP), "nodeosctl")
sys.dont_write_bytecode = True
sys.path.insert(0, TOP)
from bench.evaluation import (
    benchmarks,
    caches,
    coupled,
    launch,
    machine,
    mpibind,
    outofcore,
    planner,
    table,
    variability,
)
from bench.evaluation import run as evaluate
from bench.lib import context, plot
from bench.lib.context import Failed
from bench.lib.tables import cell_text, written
from bench.lib.tap import Tests

t = Tests()
same, skip = t.same, t.skip


def test_sets():
    same(
        machine.cpuset("0x00000001,,0x8000000f"),
        {0, 1, 2, 3, 31, 64},
        "machine: cpuset() reads hwloc's set of three words, one of them empty",
    )
    same(machine.cpulist("0-3,8"), {0, 1, 2, 3, 8}, "machine: cpulist() reads a list of CPUs")
    same(mpibind.shares(7, 3), [3, 2, 2], "mpibind: shares() divides seven CPUs among three tasks")
    same(
        mpibind.proportional(5, [8, 8, 4]),
        [2, 2, 1],
        "mpibind: proportional() divides five tasks by CPUs, largest remainders first",
    )
    same(
        mpibind.dealt([2, 4, 6], 5),
        [[2], [2], [4], [4], [6]],
        "mpibind: dealt() deals three sets to five tasks",
    )


def test_machines(directory):
    m = machine.from_text("two", "package:2 numa:1 l3:2 core:2 pu:2", directory)
    same(
        (len(m.pus), len(m.cores), m.numa, len(m.caches)),
        (16, 8, [set(range(8)), set(range(8, 16))], 4),
        "machine: two packages have their CPUs, cores, localities and caches",
    )
    same(
        mpibind.mapped(m, 1), [set(range(16))], "mpibind: a single task has all CPUs of the machine"
    )
    same(
        mpibind.mapped(m, 4),
        [{0}, {4}, {8}, {12}],
        "mpibind: four tasks of one thread have a cache each, and use one CPU of the cache",
    )
    same(
        mpibind.mapped(m, 8),
        [{0}, {2}, {4}, {6}, {8}, {10}, {12}, {14}],
        "mpibind: each of eight tasks has a core",
    )
    same(
        mpibind.mapped(m, 2, 8),
        [set(range(8)), set(range(8, 16))],
        "mpibind: two tasks of eight threads have all threads of their cores",
    )
    apart = [[{0, 1}, {2, 3}, {4, 5}, {6, 7}], [{8, 9}]]
    same(
        {k: planner.measure(m, apart)[k] for k in planner.MEASURES},
        {"cores": 0, "caches": 0, "numa": 0, "span": 0, "neighbours": 0},
        "measure: containers on packages of their own share nothing",
    )
    mixed = [[{0, 1}, {8, 9}], [{1}, {10, 11}]]
    same(
        {k: planner.measure(m, mixed)[k] for k in planner.MEASURES},
        {"cores": 1, "caches": 2, "numa": 2, "span": 2, "neighbours": 2},
        "measure: mixed containers share a core, two caches and two localities",
    )
    one = machine.from_text("nested", "[numa] package:2 l3:2 [numa] core:4 pu:2", directory)
    same(
        len(mpibind.mapped(one, 16)) == 16 and len(set.union(*mpibind.mapped(one, 16))),
        16,
        "mpibind: if memory nodes have CPUs in common, no two tasks share a core",
    )


def test_planner(directory):
    """Run the part planner of the evaluation, with only two of its machines and all requests."""
    if not os.access(TOOL, os.X_OK):
        skip("planner: a short run", f"no {TOOL}")
        return
    for name in list(planner.PAPERS)[:2]:
        m = machine.from_text(name, planner.PAPERS[name], directory)
        for request, sizes in planner.requests(len(m.cores)).items():
            placed = planner.nodeos(TOOL, m, sizes, m.threads, directory)
            got = planner.measure(m, placed)
            others = [
                planner.measure(m, planner.containers_of(sizes, maps))
                for maps in (planner.distrib(m, sum(sizes)), mpibind.mapped(m, sum(sizes)))
            ]
            same(
                (got["cores"], got["span"], [len(ranks) for ranks in placed]),
                (0, 0, list(sizes)),
                f"{name}, {request}: no core is in two containers, and none has more localities"
                " than it needs",
            )
            if sum(sizes) < len(m.cores):
                # the planner packs containers even if they then share caches, so that the remaining
                # cores stay together for the next job
                continue
            same(
                all(got[k] <= other[k] for k in ("caches", "numa") for other in others),
                True,
                f"{name}, {request}: containers share no more caches and localities than with"
                " hwloc-distrib and"
                " mpibind",
            )


def test_compare():
    stated = [
        {"name": "a.x", "unit": "", "value": 10, "spread": 2},
        {"name": "a.w", "unit": "", "value": 10, "spread": 2},
        {"name": "a.y", "unit": "", "value": 1, "spread": 0},
        {"name": "a.z", "unit": "", "value": 1, "spread": 0},
        {"name": "a.f", "unit": "", "value": 1, "spread": 0, "quick": False},
    ]
    verdicts = {
        v.what: v.skip or v.good
        for v in table.compare(
            stated, {"a.x": 12, "a.w": 7.9, "a.y": 1.01, "a.f": 5, "a.n": 3}, True
        )
    }
    same(
        verdicts,
        {
            "a.x: 12 , stated 10 ± 2": True,
            "a.w: 7.9 , stated 10 ± 2": False,
            "a.y: 1.01 , stated 1 ± 0": False,
            "a.z": "not measured",
            "a.f": "full size only",
            "a.n: 3": "not stated",
        },
        "compare: numbers hold within their spread, fail outside of it, and are not judged if"
        " missing or new",
    )
    page = "x\n<!-- evaluate a -->\nold\n<!-- end a -->\ny\n"
    same(
        evaluate.filled(page, "a", "new \\1"),
        "x\n<!-- evaluate a -->\nnew \\1\n<!-- end a -->\ny\n",
        "filled: a table replaces the old one in the page",
    )


def test_record(directory):
    """Test that results of --quick are never recorded in the page."""
    r = subprocess.run(
        [
            sys.executable,
            os.path.join(TOP, "bench/run"),
            "evaluation",
            "--quick",
            "--record",
            "--only=planner",
            f"--nodeosctl={TOOL}",
            f"--out={directory}/none",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    same(
        (
            r.returncode,
            "do not combine it with --quick" in r.stderr,
            os.path.exists(f"{directory}/none"),
        ),
        (2, True, False),
        "--record with --quick is refused before anything is measured",
    )


def test_side_by_side():
    """Test that parts that need one processor run at the same time, at most as many as there are
    processors, and that results keep their order."""
    one, all_of_them = type("One", (), {"ONE_PROCESSOR": True}), type("All", (), {})
    modules = {"a": all_of_them, "b": one, "c": one, "d": one, "e": all_of_them}
    same(
        [evaluate.side_by_side(list("abcde"), modules, n) for n in (1, 2, 4)],
        [
            [["a"], ["b"], ["c"], ["d"], ["e"]],
            [["a"], ["b", "c"], ["d"], ["e"]],
            [["a"], ["b", "c", "d"], ["e"]],
        ],
        "side_by_side: groups have as many parts of one processor as there are processors, for 1,"
        " 2 and 4",
    )
    same(
        evaluate.side_by_side([], modules, 2),
        [],
        "side_by_side: an empty list of parts gives no group",
    )


def trr(atoms):
    """Return a frame of a trajectory as GROMACS writes it: a header, a box, positions."""
    name = b"GMX_trn_file"
    sizes = [0, 0, 36, 0, 0, 0, 0, 12 * len(atoms), 0, 0]
    head = (
        struct.pack(">iii", 1993, len(name) + 1, len(name))
        + name
        + struct.pack(">13i", *sizes, len(atoms), 0, 0)
        + struct.pack(">2f", 0, 0)
    )
    return (
        head + struct.pack(">9f", *[9] * 9) + b"".join(struct.pack(">3f", *atom) for atom in atoms)
    )


def test_analysis(directory):
    """Test the analysis of two frames of three atoms with distances 5, 12 and 13, and of a frame
    that stays incomplete."""
    program, path, done = (f"{directory}/{name}" for name in ("analysis", "md.trr", "done"))
    if not shutil.which("gcc"):
        skip("the analysis", "no gcc")
        return
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, f"{HERE}/analysis.c", "-lm"],
        check=True,
    )
    frame = trr([(0, 0, 0), (3, 4, 0), (0, 0, 12)])
    with open(path, "wb") as f:
        f.write(frame + frame[:100])
    child = subprocess.Popen([program, path, done, "1", "2"], stdout=subprocess.PIPE, text=True)
    with open(path, "ab") as f:
        f.write(frame[100:])
    with open(done, "w"):
        pass
    same(
        (child.communicate(timeout=30)[0], child.returncode),
        ("frames 2 atoms 3 sum 120\n", 0),
        "analysis: two frames, one written in two pieces, are analysed twice each: the distances"
        " sum up to 30",
    )
    with open(path, "wb") as f:
        f.write(b"no trajectory at all")
    same(
        subprocess.run([program, path, done, "1", "1"], timeout=30).returncode,
        1,
        "analysis: a file that is not a trajectory is refused",
    )


def test_launches():
    """Test launches() with marks in which an idle guest executes 10 user and 20 kernel instructions
    a second."""
    lines = [
        {"arm": "idle", "nodes": 1, "code": 0, "begun": 0, "ended": 4, "helpers": 0},
        {"arm": "plain", "nodes": 2, "code": 0, "begun": 5, "ended": 7, "helpers": 0},
    ]
    marks = [
        [10, 0, 1000, 2000],
        [11, 0, 1010, 2030],
        [12, 0, 1040, 2080],
        [10, 0, 2000, 3000],
        [11, 0, 2500, 3900],
        [12, 0, 2520, 4040],
    ]
    got = launch.launches(lines, marks)[1]
    same(
        (got["user"], got["kernel"]),
        (500, 1000),
        "launch: the counts of an idle guest are subtracted from those of a launch",
    )
    t.raises(
        Failed, "5 marks", "launch: a missing mark is an error", launch.launches, lines, marks[:5]
    )


def test_coupled(directory):
    runs = [
        {"arm": arm, "round": 0, "involuntary": 1, "migrations": 2, "result": ["x"]}
        for arm in coupled.ARMS
    ]
    for name, text in (
        ("runs.json", json.dumps({"steps": 1, "runs": runs})),
        ("marks", "100 10 5 200\n" * 4),
    ):
        with open(f"{directory}/{name}", "w") as f:
            f.write(text)
    raw = coupled.read(f"{directory}/runs.json", f"{directory}/marks")
    same(
        [(r["own"], r["kernel"], r["other"], r["all"]) for r in raw["runs"]],
        [(100, 10, 5, 200)] * 4,
        "coupled: each run gets the counts of its line of marks",
    )
    with open(f"{directory}/marks", "a") as f:
        f.write("1 1 1 1\n")
    given = [coupled.read, f"{directory}/runs.json", f"{directory}/marks"]
    t.raises(Failed, "5 lines of counts", "coupled: a surplus mark is an error", *given)


def texts(tables):
    return [" | ".join(cell_text(c) for c in row) for row in tables[0].rows]


def test_tables():
    runs = [
        {"arm": arm, "round": n, "own": 200_000_000, "kernel": kernel, "other": other}
        | {"involuntary": 10 * n, "migrations": 3}
        for arm, kernel, other in (("alone", 50_000_000, 4_000_000), ("two", 120_500_000, 0))
        for n in (1, 2, 3)
    ]
    runs += [r | {"arm": arm} for arm in ("one", "taskset") for r in runs[:3]]
    of = coupled.tables({"runs": runs, "steps": 20})
    same(
        [row for n, row in enumerate(texts(of)) if n in (0, 2)],
        [
            "GROMACS alone | 4.0 | 2.0 % | 50.0 | 20 (10 to 30) | 3 | 200",
            "**two containers** | 0.0 | 0.0 % | 120 | 20 (10 to 30) | 3 | 200",
        ],
        "Figure 5: numbers are millions, with a decimal below 100, and percent of the simulation's"
        " own",
    )
    same(of[0].notes[0][:8], "3 rounds", "Figure 5: the note has the number of rounds")
    rows = [
        {"arm": arm, "nodes": nodes, "user": user * 10**6, "kernel": 10**6, "helpers": 0}
        for arm, nodes, user in (
            ("stock", 1, 80),
            ("plain", 1, 90),
            ("plain", 1, 110),
            ("container", 1, 125),
            ("stock", 32, 3000),
            ("plain", 32, 3300),
            ("container", 32, 3630),
        )
    ]
    rows.append({"arm": "helpers-manifest", "nodes": 4, "helpers": 4, "user": 0, "kernel": 0})
    of = launch.tables({"rows": rows})
    same(
        texts(of),
        [
            "1 | 80 | 100 (90 to 110) | 125 |  | 1.25 | 1.25 | 126",
            "32 | 3,000 | 3,300 | 3,630 |  | 1.10 | 1.10 | 3,631",
        ],
        "launches: the table has medians and ratios of user instructions, and empty cells for what"
        " was not measured",
    )
    same(
        of[0].notes,
        [
            "Runs of the helper nodeos-plan in one launch of four ranks a node: 4 on 4 nodes"
            " (manifest)."
        ],
        "launches: the note has the helper's runs",
    )
    verdicts = table.judge({"results": {}, "failures": {"coupled": "why"}, "quick": True})
    same(
        [v.what for v in verdicts if not v.good],
        ["coupled: the experiment failed"],
        "judge: a failed part is a verdict that does not hold",
    )
    same(
        {v.skip for v in verdicts if v.good},
        {"not measured"},
        "judge: the numbers of a failed part are not measured, and those of parts that did not run"
        " are left out",
    )


def test_caches():
    lriot = [
        {"arm": arm, "medium": medium, "round": n, "reads": 100, "misses": 50, "remote": remote}
        for arm, remote in (("unplaced", 20), ("by hand", 0), ("container", 1))
        for medium in ("mmap", "buffer")
        for n in (1, 2)
    ]
    placement = [
        {"arm": "topo", "size": 768, "seed": seed}
        | {"ranks": [{"instructions": 20_000, "misses": misses, "remote": 2, "cpus": [1, 1]}] * 8}
        for seed, misses in ((1, 10), (2, 20), (3, 60))
    ]
    raw = {"lriot": lriot, "placement": placement}
    same(
        caches.quantities(raw),
        {
            f"caches.remote.{medium}.{arm}": share
            for medium in ("mmap", "buffer")
            for arm, share in (("unplaced", 40.0), ("by-hand", 0.0), ("container", 2.0))
        }
        | {"caches.misses.768.topo": 10.0, "caches.remote.768.topo": 1.0},
        "simulated caches: quantities are shares of 50 misses, and rates of 20,000 instructions",
    )
    same(
        [
            "NaN" not in svg and ElementTree.fromstring(svg).tag[-3:]
            for svg in caches.plots(raw).values()
        ],
        ["svg", "svg"],
        "simulated caches: there are two plots",
    )


def test_benchmarks():
    same(
        [
            benchmarks.number(t)
            for t in ("1,018 (816 to 1,456)", "0", "**9,518** (9,269 to 10,406)", "0 (0 to 4.7)")
        ],
        [[1018, 816, 1456], [0, 0, 0], [9518, 9269, 10406], [0, 0, 4.7]],
        "benchmarks: number() reads median, minimum and maximum",
    )
    rows = benchmarks.table("--seeds 1-30 --boots plain+nohz", "| busy node | foreign")
    same(
        [row[0] for row in rows],
        [
            "CFS",
            "CFS, pinned",
            "SCHED_FIFO, pinned",
            "SCHED_HPC user",
            "SCHED_HPC rr",
            "SCHED_HPC topo",
        ],
        "benchmarks: table() finds the rows of all arms in doc/benchmarks.md",
    )


def test_plots():
    drawn = {
        "panels": plot.panels(
            "T & t",
            "s",
            ["one", "two"],
            [("a measure with a long name", "unit", [plot.Value(3, 1, 9), None])],
            highlight=0,
        ),
        "lines": plot.lines(
            "T",
            "s",
            "x",
            "y",
            [("curve", {1: plot.Value(2, 1, 3), 64: plot.Value(30)})],
            [1, 64],
            logarithmic=True,
        ),
    }
    for name, text in drawn.items():
        root = ElementTree.fromstring(text)
        width = float(root.get("width"))
        outside = []
        for t in root.iter("{http://www.w3.org/2000/svg}text"):
            long = plot.wide(t.text or "", float(t.get("font-size")))
            left = (
                float(t.get("x"))
                - {"start": 0, "middle": long / 2, "end": long}[t.get("text-anchor")]
            )
            if left < 0 or left + long > width:
                outside.append(t.text)
        same(outside, [], f"plot: {name} is well-formed, and all its text is inside")
    same(
        [plot.short(n) for n in (0, 3, 12.34, 0.5, 1234, 23456, 3.2e6, 4e9)],
        ["0", "3", "12.3", "0.50", "1,234", "23.5k", "3.2M", "4G"],
        "plot: short() formats numbers for plots",
    )
    same(
        plot.of([5, 1, 2, 9]),
        plot.Value(3.5, 1, 9),
        "plot: of() gives median, minimum and maximum",
    )


def test_page():
    with open(f"{TOP}/doc/evaluation.md", encoding="utf-8") as f:
        page = f.read()
    with open(f"{HERE}/quantities.json", encoding="utf-8") as f:
        quantities = json.load(f)
    blocks = {
        name: re.search(
            re.escape(evaluate.block(name)[0]) + "(.*?)" + re.escape(evaluate.block(name)[1]),
            page,
            re.S,
        )
        for name in evaluate.PARTS
    }
    same(
        [name for name, text in blocks.items() if not text or not text[1].strip()],
        [],
        "doc/evaluation.md has the tables of all parts",
    )
    for module in (variability, outofcore):
        name = module.__name__.rpartition(".")[2]
        raw = module.stated()
        same(
            blocks[name][1].strip(),
            written(module.tables(raw)),
            f"{name}: the table in doc/evaluation.md has the values of doc/benchmarks.md",
        )
        value = {q["name"]: q["value"] for q in quantities}
        found = module.quantities(raw)
        same(
            found,
            {k: value[k] for k in found},
            f"{name}: quantities.json has the values of doc/benchmarks.md",
        )
    same(
        [
            p
            for p in re.findall(r"\]\((evaluation/[^)]+)\)", page)
            if not os.path.exists(f"{TOP}/doc/{p}")
        ],
        [],
        "doc/evaluation.md: all its plots exist",
    )
    same(
        [
            q["name"]
            for q in quantities
            if q["name"].partition(".")[0] not in evaluate.PARTS
            or not {"unit", "value", "spread"} <= set(q)
        ],
        [],
        "quantities.json: each quantity has a part, unit, value and spread",
    )
    same(
        len({q["name"] for q in quantities}),
        len(quantities),
        "quantities.json: no name occurs twice",
    )
    for name in evaluate.PARTS:
        module = evaluate.module_of(name)
        values = argparse.Namespace(quick=False, **{o.name: o.full for o in module.OPTIONS})
        same(len(context.key_of(module, values)), 64, f"{name}: its input files exist")
    value = {q["name"]: q["value"] for q in quantities}
    rows = re.findall(r"^\| \**NodeOS's planner\** \| (.*) \|$", page, re.M)
    for group, row in zip(("papers", "synthetic", "recorded"), rows):
        same(
            [int(c.replace(",", "")) for c in row.split(" | ")[:-1]],
            [value[f"planner.{group}.nodeos.{what}"] for what in planner.MEASURES],
            f"doc/evaluation.md: the planner's row {group} has the values of quantities.json",
        )


def main():
    with tempfile.TemporaryDirectory() as directory:
        test_sets()
        if shutil.which("hwloc-distrib") and shutil.which("lstopo-no-graphics"):
            test_machines(directory)
            test_planner(directory)
        else:
            skip(
                "machine: lstopo and hwloc-distrib give machines and placements",
                "no hwloc-distrib or lstopo-no-graphics (package hwloc-nox)",
            )
        test_compare()
        test_record(directory)
        test_side_by_side()
        test_analysis(directory)
        test_coupled(directory)
    test_launches()
    test_tables()
    test_caches()
    test_benchmarks()
    test_plots()
    test_page()
    sys.exit(t.end())


main()
