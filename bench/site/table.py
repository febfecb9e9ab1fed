# SPDX-License-Identifier: GPL-2.0-or-later
"""Table and plot of bench/run site."""

import statistics

from bench.lib import plot
from bench.lib.tables import Cell, Table, short

SMALL = ("_us", "_usec", "detours_a_second", "detours_percent")  # less is better for these figures
DRAWN = 6  # panels of the plot


def less_is_better(name):
    return name.endswith(SMALL)


def values(raw, arm, name):
    return [r["figures"][name] for r in raw["runs"] if r["arm"] == arm and name in r["figures"]]


def arms(raw):
    return list(dict.fromkeys(r["arm"] for r in raw["runs"]))


def names(raw):
    return list(dict.fromkeys(name for r in raw["runs"] for name in r["figures"]))


def cell(of, base, best):
    """Return a cell with the mean of OF, its standard deviation, and its ratio to the mean of
    BASE."""
    if not of:
        return Cell(None, "")
    mean = statistics.mean(of)
    spread = statistics.stdev(of) if len(of) > 1 else 0
    text = f"{short(float(mean))} ± {short(float(spread))}"
    if base and statistics.mean(base):
        text += f" ({mean / statistics.mean(base):.2f})"
    return Cell({"mean": mean, "deviation": spread}, text, best)


def tables(raw):
    order, rows = arms(raw), []
    base = "partition" if "partition" in order else order[0]
    for name in names(raw):
        means = {a: statistics.mean(v) for a in order if (v := values(raw, a, name))}
        best = (min if less_is_better(name) else max)(means, key=means.get)
        cells = [cell(values(raw, a, name), values(raw, base, name), a == best) for a in order]
        rows.append([name, "less" if less_is_better(name) else "more", *cells])
    runs = len({r["run"] for r in raw["runs"]})
    title = (
        f"{raw['ranks']} ranks, {runs} runs: mean ± standard deviation (relative to {base}); bold:"
        " the best mean"
    )
    return [Table(["figure", "better", *order], rows, title)]


def plots(raw):
    """{file: SVG}"""
    order = arms(raw)
    measures = []
    for name in names(raw)[:DRAWN]:
        better = "less is better" if less_is_better(name) else "more is better"
        found = [values(raw, a, name) for a in order]
        measures.append(
            (name.replace("_", " "), better, [plot.of(v) if v else None for v in found])
        )
    subtitle = f"{raw['ranks']} ranks; median, smallest and largest of the runs"
    lwk = [n for n, a in enumerate(order) if a.startswith("lwk")]
    drawn = plot.panels("Ranks on this cluster", subtitle, order, measures, highlight=lwk)
    return {"site.svg": drawn}
