# SPDX-License-Identifier: GPL-2.0-or-later
"""The effect of caches and memory nodes in Argo's Figures 6 and 9, as misses of a *simulated*
cache: of LRIOT's reads, and of ranks under several kinds of placement. bench/run caches measures
it."""

from statistics import median

import bench.caches.run
import bench.caches.table
from bench.caches.table import CLASSES, HPC, MEDIA, PLACES, a_read, chosen, rates, remote_share
from bench.lib import plot
from bench.lib.context import measured

TITLE = "Figures 6 and 9: misses in a simulated cache"
MINUTES = {"quick": 6, "full": 20}
OPTIONS = ()
INPUTS = ["bench/evaluation/caches.py", *bench.caches.run.INPUTS]
tables = bench.caches.table.tables


def run(context):
    return measured(context.part("measured", bench.caches.run), bench.caches.run)


def quantities(raw):
    found = {}
    for medium in MEDIA:
        for arm in PLACES:
            share = remote_share(raw["lriot"], arm, medium)
            found[f"caches.remote.{medium}.{arm.replace(' ', '-')}"] = round(share, 1)
    for size, arm in bench.caches.table.arms(raw["placement"]):
        for what in ("misses", "remote"):
            value = median(rates(raw["placement"], size, arm, what))
            found[f"caches.{what}.{size}.{arm}"] = round(value, 1)
    return found


def plots(raw):
    def reads(arm, medium, what):
        of = chosen(raw["lriot"], arm=arm, medium=medium)
        return plot.of([round(a_read(r, what), 3) for r in of])

    panels = [
        (f"{through}: {name}", "a read", [reads(arm, medium, what) for arm in PLACES])
        for medium, through in MEDIA.items()
        for what, name in (("misses", "misses"), ("remote", "remote misses"))
    ]
    runs = raw["placement"]
    there = [arm for arm in CLASSES if chosen(runs, arm=arm)]
    placed = [
        (f"{size} KiB a rank: {name}", "for 10,000 instructions")
        + ([plot.of([round(r, 1) for r in rates(runs, size, arm, what)]) for arm in there],)
        for size in sorted({r["size"] for r in runs})
        for what, name in (("misses", "misses"), ("remote", "remote misses"))
    ]
    return {
        "caches-lriot.svg": plot.panels(
            "LRIOT's reads in a simulated cache",
            "Eight threads that read a file at random; median, smallest and largest of the rounds",
            list(PLACES.values()),
            panels,
            highlight=list(PLACES).index("container"),
            note="Simulated: counts of a model, not of a processor.",
        ),
        "caches-placement.svg": plot.panels(
            "Ranks that read their own data again and again, in a simulated cache",
            "Eight ranks beside six other programs; median, smallest and largest of the seeds",
            [CLASSES[arm] for arm in there],
            placed,
            highlight=[n for n, arm in enumerate(there) if arm in HPC],
            note="Simulated: counts of a model, not of a processor.",
        ),
    }
