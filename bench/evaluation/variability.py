# SPDX-License-Identifier: GPL-2.0-or-later
"""HPL's table of variability: migrations and switches of ranks on a busy node, under CFS,
SCHED_FIFO and SCHED_HPC. The full size is bench/run hpc's 30 seeds in doc/benchmarks.md; here as
many seeds as one waits for."""

import json
import os
import statistics
import sys

import benchmarks
import plot

TITLE = "Variability: SCHED_HPC beside CFS and SCHED_FIFO"
MINUTES = {"quick": 4, "full": 60}
ONE_PROCESSOR = True
INPUTS = [
    "bench/evaluation/variability.py",
    "bench/evaluation/benchmarks.py",
    "bench/hpc/*",
    "bench/lib/*",
    "kernel/patches/*/series",
]
ARMS = {
    "cfs": "CFS",
    "pinned": "CFS, pinned",
    "fifo": "SCHED_FIFO, pinned",
    "user": "SCHED_HPC user",
    "rr": "SCHED_HPC rr",
    "topo": "SCHED_HPC topo",
}
MEASURES = ("foreign", "involuntary", "migrations")
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(context):
    seeds, arms = (
        ("1-2", "cfs+fifo+topo") if context.quick else ("1-30", "cfs+pinned+fifo+user+rr+topo")
    )
    context.run(
        f"{context.top}/bench/run",
        "hpc",
        "--seeds",
        seeds,
        "--loads",
        "busy",
        "--arms",
        arms,
        "--out",
        f"{context.out}/bench-hpc",
    )
    with open(f"{context.out}/bench-hpc/result.json", encoding="utf-8") as f:
        runs = json.load(f)["raw"]["plain"]
    return {
        "seeds": seeds,
        "rows": {
            arm: {
                "foreign": [
                    100 * (r["kernel"] + r["other"]) / r["own"] for r in runs if r["arm"] == arm
                ],
                "involuntary": [r["involuntary"] for r in runs if r["arm"] == arm],
                "migrations": [r["moves"] for r in runs if r["arm"] == arm],
            }
            for arm in arms.split("+")
        },
    }


def stated():
    """The same of doc/benchmarks.md, where the ends are there beside the median:
    (median, smallest, largest)."""
    rows = {}
    for row in benchmarks.table(TOP, "--seeds 1-30 --boots plain+nohz", "| busy node | foreign"):
        arm = next(a for a, name in ARMS.items() if name == row[0])
        rows[arm] = {
            "foreign": benchmarks.number(row[1]),
            "involuntary": benchmarks.number(row[4]),
            "migrations": benchmarks.number(row[5]),
        }
    return rows


def quantities(raw):
    return {
        f"variability.{what}.{arm}": round(statistics.median(values), 1)
        for arm, row in raw["rows"].items()
        for what, values in row.items()
    }


def table(rows, text):
    out = [
        text,
        "",
        (
            "| busy node | foreign instructions per own, % | involuntary switches, all ranks |"
            " migrations | from the least to the most: foreign | switches | migrations |"
        ),
        "|" + "---|" * 7,
    ]
    for arm, row in rows.items():

        def beyond(what):
            _, low, high = row[what]
            return f"{high - low:,.1f}" if what == "foreign" else f"{high - low:,.0f}"

        def cell(what, digits=0):
            middle, low, high = row[what]
            return (
                f"{middle:,.{digits}f}"
                if low == high
                else f"{middle:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"
            )

        name = f"**{ARMS[arm]}**" if arm in ("user", "rr", "topo") else ARMS[arm]
        out.append(
            f"| {name} | {cell('foreign', 1)} | {cell('involuntary')} | {cell('migrations')} |"
            f" {beyond('foreign')} | {beyond('involuntary')} | {beyond('migrations')} |"
        )
    return "\n".join(out)


def rows_of(raw):
    return {
        arm: {what: (statistics.median(v), min(v), max(v)) for what, v in row.items()}
        for arm, row in raw["rows"].items()
    }


def tables(raw):
    return table(
        rows_of(raw),
        f"Seven ranks of a conjugate gradient, seeds {raw['seeds']}; median (smallest to largest):",
    )


def drawn(rows, subtitle):
    names = {
        "foreign": ("Foreign instructions", "% of the ranks' own"),
        "involuntary": ("Involuntary switches", "of all ranks"),
        "migrations": ("Migrations", "of all ranks"),
    }
    panels = [
        (*names[what], [plot.Value(*row[what]) for row in rows.values()]) for what in MEASURES
    ]
    return plot.panels(
        "What disturbs the ranks of a solver on a busy node",
        subtitle,
        [ARMS[arm] for arm in rows],
        panels,
        highlight=[n for n, arm in enumerate(rows) if arm in ("user", "rr", "topo")],
    )


def plots(raw):
    return {
        "variability.svg": drawn(
            rows_of(raw),
            f"Seven spinning ranks beside six other programs; seeds {raw['seeds']}: median,"
            " smallest and largest",
        )
    }


def page():
    """What doc/evaluation.md has of it: the numbers of doc/benchmarks.md."""
    rows = stated()
    return (
        table(
            rows,
            "Seven ranks of a conjugate gradient, seeds 1 to 30, from `doc/benchmarks.md`; median"
            " (smallest to largest):",
        ),
        {
            "variability.svg": drawn(
                rows,
                "Seven spinning ranks beside six other programs; 30 seeds: median, smallest and"
                " largest",
            )
        },
    )


if __name__ == "__main__":
    sys.exit("run bench/evaluate --only variability")
