# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bench/run policies: hits per 100 accesses."""

import statistics

from bench.lib.tables import Table, number

OWN = ("fifo", "dimmap", "sieve", "s3fifo")
POLICIES = (*OWN, "lru", "opt")
# a policy whose hits are at most this far below those of our best policy counts as equally good
NEAR = 0.05


def hits(raw):
    """Return the hits of each policy: {(name, index of the buffer's size): (share of the pages,
    {policy: mean over the seeds})}."""
    found, share = {}, {}
    for played in raw:
        buffers = sorted({r["buffer"] for r in played["results"]})
        for r in played["results"]:
            key = played["name"], buffers.index(r["buffer"])
            of = found.setdefault(key, {p: [] for p in POLICIES})
            of[r["policy"]].append(100 * r["hit_ratio"])
            share[key] = round(100 * r["buffer"] / played["pages"])
    means = {key: {p: statistics.mean(v) for p, v in of.items()} for key, of in found.items()}
    return {key: (share[key], means[key]) for key in sorted(means)}


def tables(raw):
    rows, found = [], hits(raw)
    for (name, _), (share, mean) in found.items():
        best = max(mean[p] for p in OWN)
        cells = [number(mean[p], 1, bold=p in OWN and mean[p] > best - NEAR) for p in POLICIES]
        rows.append([name, share, *cells])
    means = {p: [mean[p] for _, mean in found.values()] for p in POLICIES}
    rows.append(["mean", "", *(number(statistics.mean(means[p]), 2) for p in POLICIES)])
    extra = {
        p: statistics.geometric_mean(
            [(100 - a) / (100 - b) for a, b in zip(means[p], means["opt"])]
        )
        for p in POLICIES
    }
    name = "misses, relative to the optimum's (geometric mean)"
    rows.append([name, "", *(number(extra[p], 2) for p in POLICIES)])
    return [Table(["accesses", "buffer, % of the pages", *POLICIES], rows)]
