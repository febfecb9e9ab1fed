# SPDX-License-Identifier: GPL-2.0-or-later
"""Figure 7: a simulation beside a tracer whose field is larger than its container's memory.
The full size is bench/run streamline's in doc/benchmarks.md; quick: shorter lines."""

import json
import os
import statistics

import benchmarks
import plot

TITLE = "Figure 7: a simulation beside an out-of-core tracer"
MINUTES = {"quick": 12, "full": 35}
INPUTS = [
    "bench/evaluation/outofcore.py",
    "bench/evaluation/benchmarks.py",
    "bench/streamline/*",
    "bench/lib/*",
    "dimmap/load/streamline/*.c",
    "dimmap/module/*.c",
    "dimmap/policy/*.c",
    "host/buffer*.c",
    "kernel/patches/*/series",
]
ARMS = {
    "mmap": "mmap",
    "mmap, MADV_RANDOM": "mmap, MADV_RANDOM",
    "dimmap": "buffer, page by page",
    "dimmap, fill 64K": "buffer, fill 64K",
}
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(context):
    size = ["--seeds", "50", "--steps", "100"] if context.quick else []
    context.run(
        f"{context.top}/bench/run",
        "streamline",
        *size,
        "--out",
        f"{context.out}/bench-streamline",
    )
    with open(f"{context.out}/bench-streamline/result.json", encoding="utf-8") as f:
        runs = json.load(f)["raw"]
    rows = []
    for threads in sorted({r["threads"] for r in runs}):
        for beside in (False, True):
            for arm in ARMS:
                mine = [
                    r
                    for r in runs
                    if (r["threads"], r["beside"], r["arm"]) == (threads, beside, arm)
                ]
                rates = [r["steps_per_second"] for r in mine]
                rows.append(
                    {
                        "threads": threads,
                        "beside": beside,
                        "arm": arm,
                        "rate": [statistics.median(rates), min(rates), max(rates)],
                        "faults": statistics.median(r["majflt"] for r in mine),
                        "read": statistics.median(r["pages_read"] for r in mine),
                    }
                )
    return {"rows": rows}


def stated():
    rows = []
    for row in benchmarks.table(TOP, "### Streamlines in a container", "| threads |"):
        rows.append(
            {
                "threads": int(row[0]),
                "beside": row[1] != "alone",
                "arm": row[2],
                "rate": list(benchmarks.number(row[3])),
                "faults": benchmarks.number(row[6])[0],
                "read": benchmarks.number(row[7])[0],
            }
        )
    return {"rows": rows}


def of(raw, threads, beside, arm):
    return next(
        r for r in raw["rows"] if (r["threads"], r["beside"], r["arm"]) == (threads, beside, arm)
    )


def best_mmap(raw, threads, beside):
    return max(of(raw, threads, beside, arm)["rate"][0] for arm in ARMS if arm.startswith("mmap"))


def quantities(raw):
    found = {}
    for threads in (1, 16):
        for arm in ARMS:
            found[f"outofcore.of-mmap.{threads}.{arm.replace(', ', '-').replace(' ', '-')}"] = (
                round(of(raw, threads, True, arm)["rate"][0] / best_mmap(raw, threads, True), 2)
            )
            found[f"outofcore.of-alone.{threads}.{arm.replace(', ', '-').replace(' ', '-')}"] = (
                round(
                    of(raw, threads, True, arm)["rate"][0]
                    / of(raw, threads, False, arm)["rate"][0],
                    2,
                )
            )
    return found


def tables(raw):
    out = [
        (
            "| threads | tracer | steps a second beside GROMACS | of the best mmap | of itself"
            " alone | major faults | pages read |"
        ),
        "|" + "---|" * 7,
    ]
    for threads in (1, 16):
        for arm, name in ARMS.items():
            r = of(raw, threads, True, arm)
            middle, low, high = r["rate"]
            name = f"**{name}**" if arm.startswith("dimmap") else name
            out.append(
                f"| {threads} | {name} | {middle:,.0f} ({low:,.0f} to {high:,.0f}) |"
                f" {middle / best_mmap(raw, threads, True):.2f} |"
                f" {middle / of(raw, threads, False, arm)['rate'][0]:.2f} | {r['faults']:,.0f} |"
                f" {r['read']:,.0f} |"
            )
    return "\n".join(out)


def plots(raw):
    panels = []
    for threads in (1, 16):
        for beside, where in ((False, "alone"), (True, "beside GROMACS")):
            panels.append(
                (
                    f"{threads} thread{'s' if threads > 1 else ''}, {where}",
                    "steps a second",
                    [plot.Value(*of(raw, threads, beside, arm)["rate"]) for arm in ARMS],
                )
            )
    return {
        "outofcore.svg": plot.panels(
            "Streamlines through a field four times as large as the container's memory",
            "Beside a simulation in another container, and alone; median, smallest and largest of"
            " three runs",
            list(ARMS.values()),
            panels,
            highlight=[2, 3],
            note="Ratios count: the emulator's seconds are not a machine's.",
        )
    }


def page():
    """What doc/evaluation.md has of it: the numbers of doc/benchmarks.md."""
    raw = stated()
    return tables(raw), plots(raw)
