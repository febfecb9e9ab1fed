# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots emulated machines of two sockets with a memory node and a *simulated* last-level cache
each (test/simllc; --llc), and counts user code's misses by perf_event_open():

    placement  eight ranks that repeatedly read memory of their own, less or more than their share
               of the caches, on fifteen CPUs beside programs of the default class that sleep and
               read in turns: under CFS (cfs), with a CPU for each (pinned), and placed by SCHED_HPC
               (rr, topo). QEMU's clock counts instructions (-icount), so that the same seed gives
               the same counts
    lriot      eight threads of dimmap-load's lriot that read a file at random through the page
               cache (mmap) and through a buffer of dimmapfs: on all CPUs (unplaced), bound with
               their memory by numactl (by hand), in a container; in a job of Slurm, three times

All counts are those of a simulated cache; ratios are of one boot."""

import re

from bench.lib import guests
from bench.lib.context import TOP, Failed, load, need_tools, read
from bench.lib.options import Option, interval, positive, words

TITLE = "Misses in a simulated cache, by placement"
MINUTES = {"quick": 6, "full": 20}
INPUTS = [
    *guests.CLUSTER,
    *guests.CACHE,
    "bench/caches/*",
    "bench/lib/job.py",
    "dimmap/load/lriot/*.c",
    "dimmap/module/*.c",
    "dimmap/policy/*.c",
    "kernel/test/init.c",
]
PARTS = ("placement", "lriot")
ARMS = ("cfs", "pinned", "rr", "topo")
CPUS, RANKS = 16, 8
NODE, SLURM_NODE = 1024, 1536  # MiB of a memory node; Slurm requires 2,700 in all
OPTIONS = (
    Option("only", "P+P", "parts to run, of placement and lriot", list(PARTS), None, words(*PARTS)),
    Option(
        "seeds",
        "A-B",
        "seeds of the programs beside the ranks of placement; one boot per seed",
        "1-5",
        "1-1",
        interval,
    ),
    Option("arms", "A+A", "arms of placement", list(ARMS), None, words(*ARMS)),
    Option("each", "MIB", "memory that a rank reads in all", 24, 16, positive),
    Option("rounds", "N", "rounds of lriot", 3, 1, positive),
    Option("llc", "SIZE", "size of each simulated cache", "4M"),
)
SIZES = (768, 1536)  # memory of a rank, KiB
RANK = re.compile(r"rank (\d+) cpu (\d+) (\d+) ((?:[a-z-]+ \d+ ?)+)")


def run(context):
    need_tools("gcc", "cpio", "qemu-system-x86_64:qemu-system-x86")
    found = {}
    if "placement" in context.options.only:
        found["placement"] = placement(context)
    if "lriot" in context.options.only:
        found["lriot"] = lriot(context)
    return found


def placement(context):
    """Boot once for each seed, and return all runs."""
    given, root = context.options, guests.root(context)
    kernel = guests.kernel(context)
    guests.program(context, f"{root}/init", f"{TOP}/kernel/test/init.c")
    guests.program(context, f"{root}/placed", f"{TOP}/bench/caches/placed.c")
    module = context.path_of(f"{TOP}/test/simllc/build", "module")
    context.run("cp", module, f"{root}/simllc.ko")
    guests.initramfs(context)
    sizes, arms = "+".join(map(str, SIZES)), "+".join(given.arms)
    machine = [*guests.two_sockets(CPUS, 2, NODE // 1024), *guests.COUNTED, "shift=2,sleep=off"]
    machine += ["-rtc", "base=2026-01-01,clock=vm"]
    cache = f"size={given.llc}"
    runs, (first, last) = [], map(int, given.seeds.split("-"))
    for seed in range(first, last + 1):
        name = f"placement.{seed}"
        words = f"{RANKS}:{seed}:{sizes}:{arms}:{given.each}:/simllc.ko"
        # skew_tick makes the ticks of the CPUs come at different times: QEMU switches to another
        # CPU at each tick
        append = f"skew_tick=1 do=run:/placed:{words}"
        boot = [*machine, *guests.simulated_cache(context, name, NODE, CPUS, cache)]
        guests.boot(context, name, kernel, boot, append, "/placed: exit 0")
        runs += runs_of(read(f"{context.out}/{name}.log"))
    return runs


def counts_of(text):
    """Convert "misses 1 moves 2" to {misses: 1, moves: 2}."""
    found = text.split()
    return dict(zip(found[::2], map(int, found[1::2])))


def runs_of(log):
    """Read placed.c's lines as [{arm, size, seed, ranks: [{cpus, instructions, misses, remote,
    ...}]}]."""
    runs = []
    for line in log.splitlines():
        # the firmware's output may be at the beginning of the first line
        if m := re.search(r"run (\w+) (\d+) (\d+)$", line):
            runs.append({"arm": m[1], "size": int(m[2]), "seed": int(m[3]), "ranks": []})
        elif m := RANK.fullmatch(line):
            runs[-1]["ranks"].append({"cpus": [int(m[2]), int(m[3])], **counts_of(m[4])})
        elif line.startswith("rank "):
            raise Failed(f"cannot parse the line of a rank: {line}")
    for one in runs:
        if len(one["ranks"]) != RANKS:
            raise Failed(
                f"{one['arm']}, seed {one['seed']}: {len(one['ranks'])} ranks have printed a line,"
                f" not {RANKS}"
            )
    return runs


def lriot(context):
    """Run lriot, and return [{arm, medium, round, reads, node, misses, remote, ...}]."""
    here, module = f"{TOP}/bench/caches", f"{context.build}/dimmapfs.ko"
    context.run("cp", context.path_of(f"{TOP}/dimmap/build"), module)
    counted = guests.program(context, f"{context.build}/counted", f"{here}/counted.c")
    puts = [f"{here}/guest", f"{TOP}/bench/lib/job.py", counted, module]
    more = ["--llc", f"size={context.options.llc}", "--numa", "2", "--memory", str(SLURM_NODE)]
    more += ["--append", "null_blk.nr_devices=0"]
    command = ["./guest", str(context.options.rounds)]
    left = guests.cluster(context, puts, command, more, clock="tcg")
    runs = load(f"{left}/runs.json")
    return [{**one, **counts_of(one.pop("counts"))} for one in runs]
