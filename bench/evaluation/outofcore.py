# SPDX-License-Identifier: GPL-2.0-or-later
"""Figure 7: a simulation beside a program that follows streamlines through a field that is larger
than the memory of its container. bench/run streamline measures this; doc/benchmarks.md has the
results."""

from statistics import median

import bench.streamline.run
from bench.evaluation import benchmarks
from bench.lib import plot
from bench.lib.context import measured
from bench.lib.tables import Table, number, spread

TITLE = "Figure 7: a simulation beside an out-of-core tracer"
MINUTES = {"quick": 12, "full": 35}
OPTIONS = ()
INPUTS = ["bench/evaluation/outofcore.py", *bench.streamline.run.INPUTS]
ARMS = {
    "mmap": "mmap",
    "mmap, MADV_RANDOM": "mmap, MADV_RANDOM",
    "dimmap": "buffer, page by page",
    "dimmap, fill 64K": "buffer, fill 64K",
}
HEAD = ["threads", "tracer", "steps a second beside GROMACS", "relative to the best mmap"]
HEAD += ["relative to itself alone", "major faults", "pages read"]


def run(context):
    part = context.part("streamline", bench.streamline.run)
    found = {}
    for r in measured(part, bench.streamline.run):
        row = found.setdefault((r["threads"], r["beside"], r["arm"]), {})
        for name, value in (
            ("rate", r["steps_per_second"]),
            ("faults", r["majflt"]),
            ("read", r["pages_read"]),
        ):
            row.setdefault(name, []).append(value)
    return {"rows": [[*key, row] for key, row in found.items()]}


def stated():
    """Return the results in doc/benchmarks.md. The values are the median, the minimum and the
    maximum."""
    rows = []
    for row in benchmarks.table("### Streamlines in a container", "| threads |"):
        cells = zip(("rate", "faults", "read"), (row[3], row[6], row[7]))
        values = {name: benchmarks.number(cell) for name, cell in cells}
        rows.append([int(row[0]), row[1] != "alone", row[2], values])
    return {"rows": rows}


def of(raw, threads, beside, arm, what="rate"):
    key = [threads, beside, arm]
    return next(row[3][what] for row in raw["rows"] if row[:3] == key)


def ratios(raw, threads, arm):
    """Return ARM's median rate beside a simulation, relative to the best mmap beside a simulation
    and to ARM alone."""
    rate = median(of(raw, threads, True, arm))
    best = max(median(of(raw, threads, True, a)) for a in ARMS if a.startswith("mmap"))
    return rate / best, rate / median(of(raw, threads, False, arm))


def quantities(raw):
    found = {}
    for threads in (1, 16):
        for arm in ARMS:
            end = f"{threads}.{arm.replace(', ', '-').replace(' ', '-')}"
            of_mmap, of_alone = ratios(raw, threads, arm)
            found[f"outofcore.of-mmap.{end}"] = round(of_mmap, 2)
            found[f"outofcore.of-alone.{end}"] = round(of_alone, 2)
    return found


def tables(raw):
    rows = []
    for threads in (1, 16):
        for arm, name in ARMS.items():
            rows.append(
                [
                    threads,
                    f"**{name}**" if arm.startswith("dimmap") else name,
                    spread(of(raw, threads, True, arm), 0),
                    *(number(ratio, 2) for ratio in ratios(raw, threads, arm)),
                    number(median(of(raw, threads, True, arm, "faults"))),
                    number(median(of(raw, threads, True, arm, "read"))),
                ]
            )
    return [Table(HEAD, rows)]


def plots(raw):
    panels = []
    for threads in (1, 16):
        for beside, where in ((False, "alone"), (True, "beside GROMACS")):
            name = f"{threads} thread{'s' if threads > 1 else ''}, {where}"
            values = [plot.of(of(raw, threads, beside, arm)) for arm in ARMS]
            panels.append((name, "steps a second", values))
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
