# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulation and an analysis of what it writes on one node,
as Figure 5 of the Argo NodeOS paper has them: alone, in one container, in two, by taskset."""

import json
import statistics

import guest
import plot

TITLE = "Figure 5: a simulation and its analysis"
MINUTES = {"quick": 10, "full": 25}
ONE_PROCESSOR = True
INPUTS = [
    "bench/evaluation/coupled.py",
    "bench/evaluation/coupled-guest",
    "bench/evaluation/analysis.c",
    "bench/lib/rank-count.c",
    "tools/noise/nodeos-sched-count",
    *guest.INPUTS,
    *guest.PROJECT,
]
ARMS = {
    "alone": "GROMACS alone",
    "one": "both in one container",
    "two": "two containers",
    "taskset": "taskset, no container",
}
SIZES = {"quick": ["3", "20", "8"], "full": ["10", "20", "8"]}


def run(context):
    build = guest.build(context, "rank-count")
    here = f"{context.top}/bench/evaluation"
    # where no other program of the guest is: these come as position-independent ones
    context.run(
        "gcc",
        "-static",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,-Ttext-segment=0x20000000",
        "-o",
        f"{build}/analysis",
        f"{here}/analysis.c",
        "-lm",
    )
    share, marks = guest.boot(
        context,
        f"{build}/rank-count.so,own=0x550000000000-0x7fffffffffff,ranks=7",
        [f"{here}/coupled-guest", f"{build}/mark", f"{build}/analysis"],
        ["./coupled-guest", *SIZES["quick" if context.quick else "full"]],
    )
    return read(f"{share}/runs.json", marks)


def read(path, marks):
    with open(path, encoding="utf-8") as f:
        raw = json.load(f)
    with open(marks, encoding="utf-8") as f:
        counted = [[int(n) for n in line.split()] for line in f]
    if len(counted) != len(raw["runs"]):
        raise RuntimeError(f"{len(raw['runs'])} runs, {len(counted)} of them counted")
    for r, (own, kernel, other, every) in zip(raw["runs"], counted):
        r.update(own=own, kernel=kernel, other=other, all=every)
    results = {tuple(r["result"]) for r in raw["runs"]}
    if len(results) != 1:
        raise RuntimeError(f"the simulation's results differ: {results}")
    return raw


def of(raw, arm, what):
    return [r[what] for r in raw["runs"] if r["arm"] == arm]


def quantities(raw):
    found = {}
    for arm in ARMS:
        found[f"coupled.other.{arm}"] = round(statistics.median(of(raw, arm, "other")) / 1e6, 1)
        found[f"coupled.involuntary.{arm}"] = statistics.median(of(raw, arm, "involuntary"))
        found[f"coupled.migrations.{arm}"] = statistics.median(of(raw, arm, "migrations"))
    return found


def spread(values, unit=1):
    values = [v / unit for v in values]
    digits = 1 if unit > 1 and max(values) < 100 else 0
    return (
        f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to"
        f" {max(values):,.{digits}f})"
    )


def tables(raw):
    out = [
        (
            "| | other programs on the simulation's CPUs, M | of the simulation's own | kernel"
            " there, M | involuntary switches | migrations | the simulation's own M, with what it"
            " spins |"
        ),
        "|" + "---|" * 7,
    ]
    for arm, name in ARMS.items():
        share = 100 * statistics.median(
            o / w for o, w in zip(of(raw, arm, "other"), of(raw, arm, "own"))
        )
        name = f"**{name}**" if arm == "two" else name
        out.append(
            f"| {name} | {spread(of(raw, arm, 'other'), 1e6)} | {share:.1f} % |"
            f" {spread(of(raw, arm, 'kernel'), 1e6)} | {spread(of(raw, arm, 'involuntary'))} |"
            f" {spread(of(raw, arm, 'migrations'))} | {spread(of(raw, arm, 'own'), 1e6)} |"
        )
    n = len({r["round"] for r in raw["runs"]})
    out += [
        "",
        (
            f"{n} rounds, the arms by turns; GROMACS with seven threads, {raw['steps']} steps of a"
            " box of water, the same result to the last bit in all runs."
        ),
    ]
    return "\n".join(out)


def plots(raw):
    measures = [
        ("Other programs on its CPUs", "M instructions", "other", 1e6),
        ("Involuntary switches", "of GROMACS's threads", "involuntary", 1),
        ("Migrations", "of GROMACS's threads", "migrations", 1),
    ]
    panels = [
        (name, unit, [plot.of([v / scale for v in of(raw, arm, what)]) for arm in ARMS])
        for name, unit, what, scale in measures
    ]
    return {
        "coupled.svg": plot.panels(
            "A simulation beside its own analysis",
            "GROMACS with seven spinning threads and four processes that analyse its trajectory, on"
            " eight cores; median, smallest and largest",
            list(ARMS.values()),
            panels,
            highlight=2,
        )
    }
