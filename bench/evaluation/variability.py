# SPDX-License-Identifier: GPL-2.0-or-later
"""HPL's table of variability: migrations and switches of ranks on a busy node, under CFS,
SCHED_FIFO and SCHED_HPC. bench/run hpc measures it; doc/benchmarks.md has the results of 30
seeds."""

import statistics

import bench.hpc.run
from bench.evaluation import benchmarks
from bench.hpc.table import HPC, foreign
from bench.lib import plot
from bench.lib.context import measured
from bench.lib.tables import Table, number, spread

TITLE = "Variability: SCHED_HPC beside CFS and SCHED_FIFO"
MINUTES = {"quick": 4, "full": 60}
ONE_PROCESSOR = True
OPTIONS = ()
INPUTS = ["bench/evaluation/variability.py", *bench.hpc.run.INPUTS]
ARMS = {
    "cfs": "CFS",
    "pinned": "CFS, pinned",
    "fifo": "SCHED_FIFO, pinned",
    "user": "SCHED_HPC user",
    "rr": "SCHED_HPC rr",
    "topo": "SCHED_HPC topo",
}
MEASURES = {
    "foreign": ("Foreign instructions", "% of the ranks' own"),
    "involuntary": ("Involuntary switches", "of all ranks"),
    "migrations": ("Migrations", "of all ranks"),
}
HEAD = [
    "busy node",
    "foreign instructions per own, %",
    "involuntary switches, all ranks",
    "migrations",
    "from the least to the most: foreign",
    "switches",
    "migrations",
]


def run(context):
    given = {} if context.options.quick else {"seeds": "1-30"}
    hpc = context.part("hpc", bench.hpc.run, loads=["busy"], **given)
    runs, rows = measured(hpc, bench.hpc.run)["plain"], {}
    for arm in hpc.options.arms:
        of = [r for r in runs if r["arm"] == arm]
        rows[arm] = {
            "foreign": [foreign(r) for r in of],
            "involuntary": [r["involuntary"] for r in of],
            "migrations": [r["moves"] for r in of],
        }
    seeds = hpc.options.seeds
    return {"seeds": seeds, "drawn": f"seeds {seeds}", "rows": rows}


def stated():
    """Return the results in doc/benchmarks.md. The values are the median, the minimum and the
    maximum."""
    rows, names = {}, {name: arm for arm, name in ARMS.items()}
    for row in benchmarks.table("--seeds 1-30 --boots plain+nohz", "| busy node | foreign"):
        cells = zip(MEASURES, (row[1], row[4], row[5]))
        rows[names[row[0]]] = {what: benchmarks.number(cell) for what, cell in cells}
    return {"seeds": "1 to 30, from `doc/benchmarks.md`", "drawn": "30 seeds", "rows": rows}


def quantities(raw):
    return {
        f"variability.{what}.{arm}": round(statistics.median(values), 1)
        for arm, row in raw["rows"].items()
        for what, values in row.items()
    }


def tables(raw):
    rows = []
    for arm, row in raw["rows"].items():
        name = f"**{ARMS[arm]}**" if arm in HPC else ARMS[arm]
        digits = {what: int(what == "foreign") for what in MEASURES}
        beyond = [number(max(v) - min(v), digits[what]) for what, v in row.items()]
        rows.append([name, *(spread(v, digits[what]) for what, v in row.items()), *beyond])
    text = (
        f"Seven ranks of a conjugate gradient, seeds {raw['seeds']}; median (smallest to largest):"
    )
    return [Table(HEAD, rows, text)]


def plots(raw):
    rows = raw["rows"]
    text = f"Seven spinning ranks beside six other programs; {raw['drawn']}: median, smallest and"
    panels = [
        (*name, [plot.of(row[what]) for row in rows.values()]) for what, name in MEASURES.items()
    ]
    return {
        "variability.svg": plot.panels(
            "What disturbs the ranks of a solver on a busy node",
            f"{text} largest",
            [ARMS[arm] for arm in rows],
            panels,
            highlight=[n for n, arm in enumerate(rows) if arm in HPC],
        )
    }
