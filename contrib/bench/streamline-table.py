#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of contrib/bench-streamline, in Markdown.

usage: streamline-table.py RUNS.json"""
import json
import statistics
import sys


def main():
    with open(sys.argv[1]) as f:
        runs = json.load(f)["runs"]
    arms = list(dict.fromkeys(r["arm"] for r in runs))

    def median(arm, beside, what):
        return statistics.median(r[what] for r in runs if r["arm"] == arm and r["beside"] == beside)

    print("| | | steps a second (smallest to largest) | of the best mmap | of itself alone | major faults | pages read | the simulation's steps a second |")
    print("|" + "---|" * 8)
    for beside in (False, True):
        best = max(median(arm, beside, "steps_per_second") for arm in arms if arm != "dimmap")
        for arm in arms:
            own = [r["steps_per_second"] for r in runs if r["arm"] == arm and r["beside"] == beside]
            rate = statistics.median(own)
            print(f"| {'beside GROMACS' if beside else 'alone'} | {arm} | {rate:,.0f} ({min(own):,.0f} to {max(own):,.0f}) | {rate / best:.2f} "
                  f"| {rate / median(arm, False, 'steps_per_second'):.2f} | {median(arm, beside, 'majflt'):,.0f} | {median(arm, beside, 'pages_read'):,.0f} "
                  f"| {format(median(arm, beside, 'simulation_steps_per_second'), '.1f') if beside else ''} |")
    same = all(len({r["checksum"] for r in runs if r["run"] == n}) == 1 for n in {r["run"] for r in runs})
    print(f"\nThe lines are {'the same, to the last bit, in all arms' if same else 'NOT THE SAME'}.")
    return not same


sys.exit(main())
