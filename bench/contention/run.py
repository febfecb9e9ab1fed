# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a node of the virtual cluster with a *simulated* last-level cache of 4 MiB for each of two
sockets (test/simllc) and its model of time, and runs steps of four ranks there: two that scan 3 MiB
each, which one cache cannot hold, and two that compute. Slurm puts both scans on one socket. A seed
chooses which ranks scan, the order in which ranks begin, and the order of the arms:

    none       NodeOS only observes the step; with the kernel's numa_balancing on or off, and with
               the memory of each rank bound to its first node (as by numactl --membind) or not
    dino       the policy dino, with numa_balancing on or off
    worst      bound by hand with srun --cpu-bind, both scans on one socket
    best       bound by hand, a scan on each socket

A scan reads its memory a fixed number of times, so the ends of steps can be compared. Misses, times
and moves come from a model and an emulator, so ratios compare runs of one boot only. The results of
each seed are kept until an input changes."""

import argparse
import json
import re

from bench.lib import guests
from bench.lib.context import TOP, Failed, kept, key_of, load, store
from bench.lib.options import Option, interval, positive, words

TITLE = "Contention: a bad placement, and what makes it good"
KEPT = False  # each seed keeps its own results
MINUTES = {"quick": 6, "full": 25}
ARMS = ("none", "none-balancing", "none-bind", "none-balancing-bind", "dino", "dino-balancing")
ARMS += ("worst", "best")
# 64 ways instead of 16: processors spread the lines of a page over all sets by a hash, but the
# simulated cache has no hash. With 16 ways, random pages of 3 MiB would miss 48 times for 10,000
# instructions.
SIMULATED = (
    Option("llc", "SIZE", "size of each simulated cache, and its ways", "4M,ways=64"),
    Option(
        "time", "MODEL", "times of the simulated memory", "miss_ns=1500,remote_ns=1000,node_ns=500"
    ),
)
OPTIONS = (
    Option("seeds", "A-B", "seeds of the runs", "1-5", "1-1", interval),
    Option("arms", "A+A", "arms to run with each seed", list(ARMS), None, words(*ARMS)),
    Option("passes", "N", "passes of a scan", 240, 150, positive),
    *SIMULATED,
)
INPUTS = [
    *guests.CLUSTER,
    *guests.CACHE,
    "bench/contention/guest",
    "bench/contention/rank.c",
    "bench/lib/job.py",
    *(f"{room}/*.c" for room in ("counters", "contention", "contend", "placement", "migration")),
]
RANKS = 4
MEMORY = 1536  # MiB of a memory node; Slurm requires 2,700 in all
LINE = re.compile(
    r"rank (\d+) (scan|loop) pass (\d+) seconds ([\d.]+) instructions (\d+) misses (\d+)"
    r" remote (\d+) stall ([\d.]+) cpu (\d+) kib (\d+) (\d+)"
)
NAMES = ("rank", "kind", "pass", "seconds", "instructions", "misses", "remote", "stall", "cpu")
NAMES += ("kib0", "kib1")


def run(context):
    """Return {runs: the runs of all seeds}."""
    first, last = map(int, context.options.seeds.split("-"))
    whole = argparse.Namespace(**{**vars(context.options), "seeds": ""})
    key = key_of(__import__(__name__, fromlist=["run"]), whole)
    paths = {seed: f"{context.out}/seed.{seed}.json" for seed in range(first, last + 1)}
    missing = [s for s, p in paths.items() if context.options.again or not kept(p, key)]
    if missing:
        for seed, runs in measure(context, missing).items():
            store(paths[seed], json.dumps({"key": key, "runs": runs}, indent=1) + "\n")
    return {"runs": [one for path in paths.values() for one in load(path)["runs"]]}


def measure(context, seeds):
    """Run all SEEDS in one boot. Return {seed: [run...]}."""
    given, here = context.options, f"{TOP}/bench/contention"
    rank = guests.program(context, f"{context.build}/rank", f"{here}/rank.c")
    puts = [f"{here}/guest", f"{TOP}/bench/lib/job.py", rank]
    more = ["--llc", f"size={given.llc},{given.time}", "--numa", "2", "--memory", str(MEMORY)]
    more += ["--qemu", "-cpu EPYC-Milan"]
    command = ["./guest", "+".join(map(str, seeds)), "+".join(given.arms), str(given.passes)]
    context.say(f"seeds {'+'.join(map(str, seeds))}: log in {context.out}/log")
    left = guests.cluster(context, puts, command, more, clock="tcg", share=f"seeds.{seeds[0]}")
    found = {seed: [] for seed in seeds}
    for one in load(f"{left}/runs.json"):
        found[one["seed"]].append(run_of(one))
    return found


def number(text):
    return float(text) if "." in text else int(text)


def run_of(one):
    """Convert a run as the script guest has written it to {seed, arm, moves, why, lines: [{rank,
    kind, pass, ...}]}."""
    what, lines, document = f"{one['arm']}, seed {one['seed']}", [], one["document"]
    for text in one["text"].splitlines():
        if m := LINE.fullmatch(text):
            lines.append({n: g if n == "kind" else number(g) for n, g in zip(NAMES, m.groups())})
        elif text.startswith("rank "):
            raise Failed(f"{what}: cannot parse the line of a rank: {text}")
    if len({line["rank"] for line in lines}) != RANKS:
        raise Failed(f"{what}: a rank has written no line:\n{one['text']}")
    if not document:
        raise Failed(f"{what}: nodeos-contend has written no document")
    return {
        "seed": one["seed"],
        "arm": one["arm"],
        # the document's ranks do not include those that ended before the others, so sum over
        # placings
        "moves": sum(p["moves"] for p in document["placings"]),
        "pages": sum(r["pages_moved_bytes"] for r in document["ranks"]),
        "why": [p["why"] for p in document["placings"]],
        "lines": lines,
    }
