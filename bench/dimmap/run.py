# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots an emulated machine of 4 CPUs and touches pages of a device at random, through dimmapfs and
through mmap with all means that Linux has for this (memory.max or the machine's whole memory as the
limit, with or without MADV_RANDOM, with or without the multi-generational LRU where the kernel has
it). It counts kernel instructions per page fault that reads, and interrupts that flush other CPUs'
TLBs. QEMU's clock counts instructions (-icount). The device is null_blk with memory; O_DIRECT reads
show its part of the instructions.

With --throughput it instead counts accesses per second of that clock, with 1 to 64 threads and a
device that takes --latency for each request: 15 minutes."""

import glob
import lzma
import os
import re
import shutil

from bench.lib import guests, marks
from bench.lib.context import TOP, Failed, need_tools, read, store
from bench.lib.options import Option, directory_with, positive

TITLE = "Page faults of dimmapfs beside mmap"
MINUTES = {"quick": 2, "full": 5}
INPUTS = [*guests.INPUTS, "bench/dimmap/*", "dimmap/module/*", "dimmap/policy/*.[ch]"]
OPTIONS = (
    Option(
        "faults",
        "N",
        "accesses of each scene (default 20000; 2000 with --quick, 6000 with --throughput)",
        read=positive,
    ),
    Option("throughput", "", "measure accesses per second with 1 to 64 threads"),
    Option("latency", "NS", "latency of the device, with --throughput", 20000, None, positive),
    Option(
        "umap",
        "DIR",
        "with --throughput: measure LLNL's UMap, too; DIR has its sources (github.com/LLNL/umap)",
        read=directory_with("src/umap/umap.cpp"),
    ),
    Option("debian", "", "use the stock kernel of Debian 13, which has the multi-generational LRU"),
)
THREADS = (1, 4, 16, 32, 64)
FREE = ("free-default", "free-random")
COMMAND_LINE = 1700  # largest size of the scenes on the kernel's command line, in bytes


def umap_objects(context, sources):
    """Build UMap without its logging. Return its object files."""
    build = f"{context.build}/umap"
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(f"{build}/umap")
    store(
        f"{build}/umap/config.h",
        "".join(f"#define UMAP_VERSION_{part} 0\n" for part in ("MAJOR", "MINOR", "PATCH")),
    )
    flags = ["-O2", "-std=c++11", f"-I{build}", f"-I{sources}/src"]
    objects = []
    for source in glob.glob(f"{sources}/src/**/*.cpp", recursive=True):
        objects.append(f"{build}/{os.path.basename(source)}.o")
        context.run("g++", *flags, "-c", "-o", objects[-1], source)
    return objects


def build(context, variant, tree):
    """Build the initramfs: programs, the module and, for Debian's kernel, null_blk."""
    root, source = guests.root(context), f"{TOP}/bench/dimmap/outofcore.c"
    guests.program(context, f"{root}/init", f"{TOP}/kernel/test/init.c")
    if context.options.umap:
        objects = umap_objects(context, os.path.realpath(context.options.umap))
        objects.append(f"{context.build}/outofcore.o")
        context.run("gcc", *guests.STRICT, "-c", "-o", objects[-1], source)
        context.run("g++", "-static", "-pthread", "-o", f"{root}/outofcore", *objects)
    else:
        guests.program(context, f"{root}/outofcore", source, "-pthread")
    shutil.copy(context.path_of(f"{TOP}/dimmap/build", *variant), f"{root}/dimmapfs.ko")
    for driver in ("configfs", "null_blk") if os.path.isdir(f"{tree}/boot") else ():
        (packed,) = glob.glob(f"{tree}/lib/modules/**/{driver}.ko.xz", recursive=True)
        with lzma.open(packed) as f, open(f"{root}/{driver}.ko", "wb") as to:
            shutil.copyfileobj(f, to)
    guests.initramfs(context)


def arms_of(tree):
    """Return the arms of mmap that the kernel of TREE has."""
    configs = [f"{tree}/.config", *glob.glob(f"{tree}/boot/config-*")]
    has = any(re.search("^CONFIG_LRU_GEN=y$", read(c), re.M) for c in configs if os.path.exists(c))
    return ["default", "random", *(["mglru", "mglru-random"] if has else [])]


def scenes_counted(faults, arms):
    """Return the scenes with memory.max, and the scenes that only the machine's memory limits.
    These have a boot of their own."""
    bounded, free = [], []
    for threads in (1, 4):
        bounded.append(f"direct/{threads}/{faults}/0/8/48/nullb0")
        for writes in (0, 30):
            for arm in ("dimmap", *arms):
                bounded.append(f"{arm}/{threads}/{faults}/{writes}/8/48/nullb0")
        free += [f"{arm}/{threads}/{faults}/0/0/24/nullb0" for arm in FREE]
    bounded += [f"dimmap@{batch}/4/{faults}/0/8/48/nullb0" for batch in (1, 16, 256)]
    return bounded, free


def scenes_timed(faults, arms, umap, times, writes):
    """Return the scenes with a file of TIMES the buffer's size."""
    scenes = []
    for threads in THREADS:
        scenes += [
            f"{arm}/{threads}/{faults}/{writes}/8/{times}/nullb0"
            for arm in ("dimmap", "direct", *arms)
        ]
        # UMap's mapping is private, so its writes never reach the file
        if umap and not writes:
            scenes.append(f"umap/{threads}/{faults}/0/8/{times}/nullb0")
    return scenes


def boot(context, name, kernel, memory, scenes, plugin=None):
    """Boot a guest that runs SCENES. Return the results of scenes_of()."""
    text, counted = ":".join(scenes), f"{context.out}/{name}.marks"
    if len(text) >= COMMAND_LINE:
        raise Failed(
            f"{name}: the scenes have {len(text)} bytes, but a kernel's command line has room for"
            f" fewer than {COMMAND_LINE}"
        )
    machine = ["-m", memory, "-smp", "4", *guests.COUNTED, "shift=0,sleep=off"]
    device = "irqmode=0"
    if plugin:
        machine += ["-plugin", guests.plugged(plugin, counted)]
    else:  # a device with a latency completes requests by a timer
        device = f"irqmode=2 null_blk.completion_nsec={context.options.latency}"
        device += " null_blk.submit_queues=4 null_blk.hw_queue_depth=64"
    append = f"null_blk.gb=8 null_blk.{device} null_blk.memory_backed=1 do=run:/outofcore:{text}"
    guests.boot(context, name, kernel, machine, append, "/outofcore: exit 0", timeout=7200)
    return scenes_of(read(f"{context.out}/{name}.log"), marks.rows(counted) if plugin else None)


def run(context):
    need_tools("gcc", "cpio", "qemu-system-x86_64:qemu-system-x86")
    given = context.options
    variant = ["--variant", "debian"] if given.debian else []
    kernel, tree = guests.kernel(context, *variant), guests.kernel(context, "--tree", *variant)
    build(context, variant, tree)
    arms, faults = arms_of(tree), given.faults or (2000 if given.quick else 20000)
    if not given.throughput:
        plugin = guests.plugin(context, "insn-count")
        bounded, free = scenes_counted(faults, arms)
        found = boot(context, "bounded", kernel, "1G", bounded, plugin)
        return {"counted": found + boot(context, "whole", kernel, "192M", free, plugin)}
    faults, timed = given.faults or 6000, []
    # a boot for each size: the scenes of both do not fit on one kernel command line
    for times in (48, 4):
        for writes in (0, 30):
            scenes = scenes_timed(faults, arms, given.umap, times, writes)
            timed += boot(context, f"throughput-{times}-{writes}", kernel, "1G", scenes)
    return {"timed": timed}


def scenes_of(log, counted):
    """Return the scenes as [{arm, threads, writes, times, killed, accesses, major, ..., kernel}],
    from the output of outofcore.c and, if QEMU counted, the rows COUNTED of insn-count.c."""
    found, at = [], 0
    for line in log.splitlines():
        words = line.split()
        if words[:1] != ["outofcore"] or len(words) < 3:
            continue
        arm, threads, _, writes, _, times, _ = words[1].split("/")
        scene = {"arm": arm, "threads": int(threads), "writes": int(writes), "times": int(times)}
        scene["killed"] = words[2] == "killed"
        found.append(scene)
        if scene["killed"]:
            continue
        scene |= dict(zip(words[2::2], map(int, words[3::2])))
        found[-1] = scene
        if counted is None:
            continue
        # a killed scene has only its first marker: skip it
        while len(counted) > at + 1 and counted[at + 1][marks.ID] == 1:
            at += 1
        first, second = marks.pair(counted, at)
        scene["kernel"] = second[marks.KERNEL] - first[marks.KERNEL]
        at += 2
    return found
