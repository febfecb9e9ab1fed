# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds dimmap-load and nodeos-dimsim, and records which pages of files the loads lriot, bfs and
streamline touch, with several patterns, layouts and random numbers. Prints how many of 100 accesses
each policy finds in the buffer, compared with LRU and Belady's optimum. Needs no guest and no
module, since only the order of touched pages matters. The traces take 2 GB."""

import json
import os
import subprocess

from bench.lib.context import Failed, need_tools
from bench.lib.options import Option, positive

TITLE = "Which policy a buffer of dimmapfs should have"
MINUTES = {"quick": 2, "full": 5}
INPUTS = ["bench/policies/*", "dimmap/load/**/*.[ch]", "dimmap/policy/*.[ch]", "dimmap/sim/*.[ch]"]
OPTIONS = (
    Option("pages", "SIZES", "sizes of the buffer, as for nodeos-dimsim", "2%,5%,10%,25%,50%"),
    Option("seeds", "N", "number of seeds", 3, 1, positive),
)
PROGRAMS = ("dimmap-load", "nodeos-dimsim")


def accesses(load, file, seed):
    """Return (name, command that makes FILE, command whose accesses are recorded) of all loads."""
    threads = ["--threads=8", "--ops=100000", f"--seed={seed}"]
    patterns = {
        f"LRIOT, {p}": [f"--pattern={p}"] for p in ("uniform", "zipf:0.8", "zipf:1.1", "seq")
    }
    patterns["LRIOT, zipf:0.8, 30 % writes"] = ["--pattern=zipf:0.8", "--read-percent=70"]
    make = [load, "lriot", "generate", "--size=64M", file]
    for name, words in patterns.items():
        yield name, make, [load, "lriot", "run", *words, *threads, file]
    make = [load, "bfs", "generate", "--scale=18", f"--seed={seed}", file]
    yield "BFS", make, [load, "bfs", "run", file]
    for layout in ("row", "brick:8"):
        make = [load, "streamline", "generate", "--grid=160", f"--layout={layout}", file]
        lines = ["--seeds=1000", "--steps=1000", "--threads=4", f"--seed={seed}"]
        yield f"streamlines, {layout}", make, [load, "streamline", "run", *lines, file]


def run(context):
    need_tools("gcc", "make")
    load, dimsim = context.programs(*PROGRAMS)
    trace, file, found = f"{context.out}/trace", f"{context.out}/file", []
    try:
        for seed in range(1, context.options.seeds + 1):
            for name, make, command in accesses(load, file, seed):
                context.say(f"{name}, {seed}")
                context.run(*make)
                context.run(*command, f"--trace={trace}")
                found.append(played(dimsim, context.options.pages, trace) | {"name": name})
    finally:
        for path in (trace, file):
            if os.path.exists(path):
                os.remove(path)
    return found


def played(dimsim, sizes, trace):
    """Run nodeos-dimsim on the trace. Return {pages, results: [{policy, buffer, hit_ratio}]}."""
    command = [dimsim, f"--pages={sizes}", "--json", trace]
    got = subprocess.run(command, capture_output=True, text=True)
    if got.returncode:
        raise Failed(f"exit {got.returncode} of {' '.join(command)}: {got.stderr}")
    return json.loads(got.stdout)
