# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots an emulated machine of two sockets and 8 GiB with three kernels: the stock kernel, the
patched kernel without fgmn= (off), and the patched kernel with fgmn=all:23x128M (on). Parts:

    faults     kernel instructions per page fault of 4 KiB and of 2 MiB, in cpusets of one node and
               of many nodes. QEMU's clock counts instructions (-icount), so the same kernel gives
               the same counts
    neighbour  instructions of fixed work on blocks, alone and beside a container that the kernel
               kills again and again because its own blocks are too small
    memory     memory that each kernel itself uses, and memory that a cgroup with the memory
               controller adds, on 8 and on 16 CPUs

Takes 10 minutes on two idle processors once the kernels are built."""

import re

from bench.lib import guests, marks
from bench.lib.context import TOP, Failed, need_tools, read
from bench.lib.options import Option, positive, words

TITLE = "What finer-grained memory nodes cost"
MINUTES = {"quick": 4, "full": 10}
INPUTS = [*guests.INPUTS, "bench/fgmn/*", "kernel/test/init.c"]
PARTS = ("faults", "neighbour", "memory")
OPTIONS = (
    Option(
        "rounds",
        "N",
        "rounds of 1024 small faults and of 32 huge faults; the neighbour makes ten times as many"
        " rounds",
        21,
        3,
        positive,
    ),
    Option("groups", "N", "number of cgroups", 50, 10, positive),
    Option(
        "only",
        "P+P",
        "parts to run, of faults, neighbour and memory",
        list(PARTS),
        None,
        words(*PARTS),
    ),
)
BLOCKS = "fgmn=all:23x128M"
VARIANTS = ("stock", "off", "on")
CPU = marks.CPU0 + 1  # CPU of faults.c and of the worker of neighbour.c
BOOTS = ((8, "always"), (8, "never"), (16, "always"))  # CPUs, huge pages
SCENES = "none:cpuset=0:cpuset=1:bind=0:bind=1"
# blocks 2-24 are parts of node 0, 25-47 of node 1
WITH_BLOCKS = ":cpuset=2:cpuset=24:cpuset=47:cpuset=2-24:full=2-24:bind=2:bind=47"
FAULTS = re.compile(r"^faults (\S+) (\S+) (\d+) (\d+) node (.*)$", re.M)


def boot(context, name, kernel, cpus, append, ended, machine):
    """Boot a machine of two sockets with 4 GiB each, of which 1 GiB is below address 4 GiB. Return
    the console's output."""
    machine = [*guests.two_sockets(cpus, 1, 4), *machine]
    model = "q35,max-ram-below-4g=1G"
    guests.boot(context, name, kernel, machine, append, f"/{ended}: exit 0", model=model)
    return read(f"{context.out}/{name}.log")


def counted(context, name, kernel, append, program, plugin):
    """Boot with 4 CPUs. Return the console's output, and QEMU's counts at PROGRAM's markers."""
    path = f"{context.out}/{name}.marks"
    machine = [*guests.COUNTED, "shift=0,sleep=off", "-plugin", guests.plugged(plugin, path)]
    return boot(context, name, kernel, 4, append, program, machine), marks.rows(path)


def run(context):
    need_tools("gcc", "cpio", "qemu-system-x86_64:qemu-system-x86")
    rounds, groups, only = (getattr(context.options, o.name) for o in OPTIONS)
    kernels = {"on": guests.kernel(context)}
    if set(only) != {"neighbour"}:
        kernels |= {"stock": guests.kernel(context, "--variant", "stock"), "off": kernels["on"]}
    root = guests.root(context)
    guests.program(context, f"{root}/init", f"{TOP}/kernel/test/init.c")
    for name in ("faults", "footprint", "neighbour"):
        guests.program(context, f"{root}/{name}", f"{TOP}/bench/fgmn/{name}.c")
    guests.initramfs(context)
    plugin = guests.plugin(context, "insn-count") if set(only) != {"memory"} else None
    found = {}
    if "faults" in only:
        found["faults"] = {}
        for variant in VARIANTS:
            scenes = f"{BLOCKS} do=run:/faults:{rounds}:{SCENES}{WITH_BLOCKS}"
            if variant != "on":
                scenes = f"do=run:/faults:{rounds}:{SCENES}"
            given = [f"faults.{variant}", kernels[variant], scenes, "faults", plugin]
            found["faults"][variant] = faults_of(*counted(context, *given))
    if "neighbour" in only:
        # The worker and the hog have two blocks each, on the same socket. Of these 256 MiB, 233
        # remain without struct pages and high watermarks. The hog may use 230.
        work = f"{BLOCKS} psi=1 do=run:/neighbour:{10 * rounds}:2-3:4-5:230"
        given = ["neighbour.on", kernels["on"], work, "neighbour", plugin]
        found["neighbour"] = arms_of(*counted(context, *given))
    if "memory" in only:
        found["memory"] = memory(context, kernels, groups)
    return found


def memory(context, kernels, groups):
    """Boot all variants. Return [{variant, cpus, thp, sizes}], and the memory of the blocks in KiB
    as {total, free, min, low}."""
    boots = []
    for variant in VARIANTS:
        for cpus, thp in BOOTS:
            append = f"transparent_hugepage={thp} do=run:/footprint:{groups}"
            append += f" {BLOCKS}" * (variant == "on")
            given = [f"memory.{variant}.{cpus}.{thp}", kernels[variant], cpus, append, "footprint"]
            log = boot(context, *given, ["-accel", "tcg,thread=multi"])
            boots.append({"variant": variant, "cpus": cpus, "thp": thp, "sizes": sizes_of(log)})
            if (variant, cpus, thp) == ("on", 8, "always"):
                blocks = blocks_of(log)
    return {"boots": boots, "blocks": blocks}


def nodes_named(words):
    named = set()
    for word in words.split(","):
        first, _, last = word.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    return named


def faults_of(log, counts):
    """Return [{scene, kind, each}]. EACH has the kernel instructions per fault of each round.
    Between markers, no other program than faults.c runs on CPU."""
    found, at = [], 0
    for scene, kind, faults, rounds, pages in FAULTS.findall(log):
        nodes = {int(word.partition(":")[0]) for word in pages.split()}
        if not nodes <= nodes_named(scene.partition("=")[2] or "0"):
            raise Failed(f"{scene}: its pages are on the wrong nodes, {sorted(nodes)}")
        each = []
        for _ in range(int(rounds)):
            first, second = marks.pair(counts, at)
            all_of_cpu, user = (second[n] - first[n] for n in (CPU, marks.USER))
            each.append((all_of_cpu - user) / int(faults))
            at += 2
        found.append({"scene": scene, "kind": kind, "each": each})
    marks.explained(counts, at)
    return found


def arms_of(log, counts):
    """Return [{arm, kills, rounds, moved}]. ROUNDS has the instructions of each round. MOVED has
    the counters that have changed."""
    found, at = [], 0
    for arm, rounds, kills in re.findall(r"^neighbour (\w+) (\d+) kills (\d+)$", log, re.M):
        pairs = [marks.pair(counts, at + 2 * n) for n in range(int(rounds))]
        at += 2 * len(pairs)
        moved = re.findall(rf"^neighbour {arm} moved (\S+) (\d+) (\d+)$", log, re.M)
        own = [second[CPU] - first[CPU] for first, second in pairs]
        found.append({"arm": arm, "kills": int(kills), "rounds": own, "moved": moved})
    marks.explained(counts, at)
    return found


def sizes_of(log):
    return {n: int(v) for n, v in re.findall(r"^footprint (\w+) (-?\d+)$", log, re.M)}


def blocks_of(log):
    """Return the total, free and reserved memory of each block in KiB. Nodes 0 and 1 are homes."""
    log = log.partition("=== done")[0]
    size = r"^Node (\d+) MemTotal: +(\d+) kB\nNode \d+ MemFree: +(\d+) kB"
    mark = r"^Node (\d+), zone +Normal\n(?:  .*\n)*? +min +(\d+)\n +low +(\d+)"
    sizes = [(int(a), int(b)) for n, a, b in re.findall(size, log, re.M) if int(n) >= 2]
    pages = [(4 * int(a), 4 * int(b)) for n, a, b in re.findall(mark, log, re.M) if int(n) >= 2]
    (total, free), (least, low) = zip(*sizes), zip(*pages)
    return {"total": total, "free": free, "min": least, "low": low}
