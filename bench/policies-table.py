#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bench/policies, in Markdown.

usage: policies-table.py DIR    of results of nodeos-dimsim, NAME, SEED.json"""

import glob
import json
import os
import statistics
import sys

OWN = ("fifo", "dimmap", "sieve", "s3fifo")
LINES = ("lru", "opt")


def main():
    found = {}  # (trace, rank of the buffer's size) -> policy -> hit ratios of its seeds
    share = {}
    for path in sorted(glob.glob(f"{sys.argv[1]}/*.json")):
        name = os.path.basename(path).removesuffix(".json").rpartition(", ")[0]
        with open(path) as f:
            played = json.load(f)
        buffers = sorted({r["buffer"] for r in played["results"]})
        for r in played["results"]:
            key = name, buffers.index(r["buffer"])
            found.setdefault(key, {}).setdefault(r["policy"], []).append(r["hit_ratio"] * 100)
            share[key] = round(100 * r["buffer"] / played["pages"])
    print("| accesses | buffer, % of the pages | " + " | ".join(OWN + LINES) + " |")
    print("|" + "---|" * (2 + len(OWN + LINES)))
    means = {p: [] for p in OWN + LINES}
    for key in sorted(found, key=lambda k: (k[0], k[1])):
        row = {p: statistics.mean(found[key][p]) for p in OWN + LINES}
        best = max(row[p] for p in OWN)
        for p in means:
            means[p].append(row[p])
        print(
            f"| {key[0]} | {share[key]} | "
            + " | ".join(
                f"**{row[p]:.1f}**" if p in OWN and row[p] > best - 0.05 else f"{row[p]:.1f}"
                for p in row
            )
            + " |"
        )
    print("| mean | | " + " | ".join(f"{statistics.mean(means[p]):.2f}" for p in means) + " |")
    # how much more than the optimum has to be read
    extra = {
        p: statistics.geometric_mean(
            [(100 - a) / (100 - b) for a, b in zip(means[p], means["opt"])]
        )
        for p in means
    }
    print(
        "| misses, of the optimum's (geometric mean) | | "
        + " | ".join(f"{extra[p]:.2f}" for p in means)
        + " |"
    )


main()
