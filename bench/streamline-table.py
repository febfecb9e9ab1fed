#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bench/streamline, in Markdown.

usage: streamline-table.py RUNS.json"""

import json
import statistics
import sys


def main():
    with open(sys.argv[1]) as f:
        runs = json.load(f)["runs"]
    arms = list(dict.fromkeys(r["arm"] for r in runs))

    def of(what, **which):
        return [r[what] for r in runs if all(r[k] == v for k, v in which.items())]

    def median(what, **which):
        return statistics.median(of(what, **which))

    print(
        "| threads | | | steps a second (smallest to largest) | of the best mmap | of itself alone"
        " | major faults | pages read | ms of CPU for 1,000 steps | the simulation's steps a"
        " second |"
    )
    print("|" + "---|" * 10)
    for threads in sorted({r["threads"] for r in runs}):
        for beside in (False, True):
            here = {"threads": threads, "beside": beside}
            best = max(
                median("steps_per_second", arm=arm, **here)
                for arm in arms
                if not arm.startswith("dimmap")
            )
            for arm in arms:
                own = of("steps_per_second", arm=arm, **here)
                rate = statistics.median(own)
                alone = median("steps_per_second", arm=arm, threads=threads, beside=False)
                cpu = statistics.median(
                    1e6 * r["cpu_seconds"] / r["steps"]
                    for r in runs
                    if r["arm"] == arm and all(r[k] == v for k, v in here.items())
                )
                simulation = (
                    format(median("simulation_steps_per_second", arm=arm, **here), ".1f")
                    if beside
                    else ""
                )
                print(
                    f"| {threads} | {'beside GROMACS' if beside else 'alone'} | {arm} | {rate:,.0f}"
                    f" ({min(own):,.0f} to {max(own):,.0f}) | {rate / best:.2f} |"
                    f" {rate / alone:.2f} | {median('majflt', arm=arm, **here):,.0f} |"
                    f" {median('pages_read', arm=arm, **here):,.0f} | {cpu:.0f} | {simulation} |"
                )
    same = all(
        len(set(of("checksum", run=n, threads=t))) == 1
        for n, t in {(r["run"], r["threads"]) for r in runs}
    )
    print(
        f"\nThe lines are {'the same, to the last bit, in all arms' if same else 'NOT THE SAME'}."
    )
    return not same


sys.exit(main())
