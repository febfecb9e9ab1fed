# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulation and an analysis of its output on one node, as in Figure 5 of the Argo NodeOS paper:
alone, in one container, in two containers, and bound by taskset."""

import statistics

from bench.lib import guests, marks, plot
from bench.lib.context import TOP, Failed, load
from bench.lib.tables import Table, number, spread

TITLE = "Figure 5: a simulation and its analysis"
MINUTES = {"quick": 10, "full": 25}
ONE_PROCESSOR = True
OPTIONS = ()
INPUTS = [
    "bench/evaluation/coupled*",
    "bench/evaluation/analysis.c",
    "bench/lib/job.py",
    "bench/lib/water.sh",
    "bench/evaluation/task-counts",
    *guests.CLUSTER,
]
ARMS = {
    "alone": "GROMACS alone",
    "one": "both in one container",
    "two": "two containers",
    "taskset": "taskset, no container",
}
HEAD = [
    "",
    "other programs on the simulation's CPUs, M",
    "relative to the simulation's own",
    "kernel there, M",
    "involuntary switches",
    "migrations",
    "the simulation's own M, including spinning",
]
SIZES = {"quick": ["3", "20", "8"], "full": ["10", "20", "8"]}


def run(context):
    plugin, here = guests.plugin(context, "rank-count"), f"{TOP}/bench/evaluation"
    # all other programs of the guest are position-independent, so none is at this address
    flags = ["-Wl,-Ttext-segment=0x20000000", "-lm"]
    to = f"{context.build}/analysis"
    puts = [guests.program(context, to, f"{here}/analysis.c", *flags), guests.mark(context)]
    puts += [
        f"{here}/coupled-guest",
        f"{here}/task-counts",
        f"{TOP}/bench/lib/job.py",
        f"{TOP}/bench/lib/water.sh",
    ]
    counted, own = f"{context.out}/marks", ",own=0x550000000000-0x7fffffffffff,ranks=7"
    more = ["--memory", "1024", "--qemu", f"-plugin {guests.plugged(plugin, counted, own)}"]
    sizes = SIZES["quick" if context.options.quick else "full"]
    left = guests.cluster(context, puts, ["./coupled-guest", *sizes], more, clock="icount")
    return read(f"{left}/runs.json", counted)


def read(path, counted):
    """Return the runs in the file PATH, each with its line of the file COUNTED."""
    raw, counts = load(path), marks.rows(counted)
    if len(counts) != len(raw["runs"]):
        raise Failed(f"{len(raw['runs'])} runs, but {len(counts)} lines of counts")
    for r, (own, kernel, other, every, *_) in zip(raw["runs"], counts):
        r.update(own=own, kernel=kernel, other=other, all=every)
    results = {tuple(r["result"]) for r in raw["runs"]}
    if len(results) != 1:
        raise Failed(f"the simulation's results differ: {results}")
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


def tables(raw):
    rows = []
    for arm, name in ARMS.items():

        def millions(what):
            values = of(raw, arm, what)
            return spread(values, int(max(values) < 100e6), 1e6)

        of_own = zip(of(raw, arm, "other"), of(raw, arm, "own"))
        rows.append(
            [
                f"**{name}**" if arm == "two" else name,
                millions("other"),
                number(100 * statistics.median(o / w for o, w in of_own), 1, after=" %"),
                millions("kernel"),
                spread(of(raw, arm, "involuntary"), 0),
                spread(of(raw, arm, "migrations"), 0),
                millions("own"),
            ]
        )
    n = len({r["round"] for r in raw["runs"]})
    note = (
        f"{n} rounds, the arms by turns; GROMACS with seven threads, {raw['steps']} steps of a box"
        " of water, the same result to the last bit in all runs."
    )
    return [Table(HEAD, rows, notes=[note])]


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
