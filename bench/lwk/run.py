# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots Debian's kernel on an emulated machine of two sockets with two cores each; the processor
has SVM. Three ranks on CPUs 1 to 3 sweep over memory of their own, and spin while they wait for
each other. The arms:

    native on Linux, a CPU for each rank
    partition  on Linux, in a root partition of CPUs 1 to 3, as in all further arms
    locked     with huge pages for malloc(), and with mlockall()
    lwk2m      in machines of nodeos-lwk, with huge pages of 2 MiB
    lwk1g      with huge pages of 1 GiB

The machine is idle, or noisy: stress-ng (vm, fork, mremap, io) runs, and a program that makes Linux
compact memory and drop caches again and again. QEMU's clock counts instructions (-icount), so
durations mean nothing: a second is 250 million instructions of all CPUs."""

import glob
import os
import re
import shutil
import subprocess

from bench.lib import guests, marks, options
from bench.lib.context import TOP, Failed, need_tools, read
from bench.lib.options import Option

TITLE = "What a machine of nodeos-lwk gives beyond a partition"
MINUTES = {"quick": 4, "full": 20}
INPUTS = [*guests.INPUTS, "bench/lwk/*.[cp]*", "kernel/test/init.c", "lwk/*.c", "lwk/*/*.[chS]"]
ARMS = ("native", "partition", "locked", "lwk2m", "lwk1g")
LOADS = ("idle", "noisy")
BOOTS = {"plain": "", "nohz": "nohz_full=1-3 rcu_nocbs=1-3"}
RANKS = 3
MIB = 16  # memory that a rank sweeps
MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd")
PAGES = "hugepagesz=2M hugepages=256 hugepagesz=1G hugepages=4"
# addresses of rank.c, at which no other program computes (as in bench/hpc/run.py)
OWN = "0x20000000-0x2fffffff"
OPTIONS = (
    Option(
        "seeds",
        "A-B",
        "seeds, which determine the order of the arms",
        "1-3",
        "1-1",
        options.interval,
    ),
    Option("rounds", "N", "number of sweeps of each rank", 20, 5, options.positive),
    Option("loads", "L+L", "loads, of idle and noisy", list(LOADS), read=options.words(*LOADS)),
    Option("arms", "A+A", "arms, see above", list(ARMS), read=options.words(*ARMS)),
    Option(
        "boots",
        "B+B",
        "boots, of plain and nohz (nohz_full)",
        ["plain"],
        read=options.words(*BOOTS),
    ),
)
NODE = re.compile(r"node interrupts (\d+) exits (\d+) seconds (\S+)")
RANK = re.compile(r"rank (\d+) faults (\d+) involuntary (\d+) sum (\S+)")


def copy_with_libraries(root, path):
    """Copy the program PATH, and the libraries that ldd names for it, below ROOT."""
    text = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for name in [path, *re.findall(r"(/\S+) \(0x", text)]:
        to = f"{root}{name}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(name, to)


def build(context, tree):
    """Build the initramfs."""
    root, here = guests.root(context), f"{TOP}/bench/lwk"
    guests.program(context, f"{root}/init", f"{TOP}/kernel/test/init.c")
    guests.program(context, f"{root}/arms", f"{here}/arms.c")
    guests.program(context, f"{root}/rank", f"{here}/rank.c", "-Wl,-Ttext-segment=0x20000000")
    (lwk,) = context.programs("nodeos-lwk")
    shutil.copy(lwk, f"{root}/nodeos-lwk")
    os.makedirs(f"{root}/modules")
    os.makedirs(f"{root}/tmp")
    for n, name in enumerate(MODULES):
        for path in glob.glob(f"{tree}/**/modules/*/kernel/**/{name}.ko*", recursive=True)[:1]:
            # a module without a file is built in
            with open(f"{root}/modules/{n}-{name}.ko", "wb") as f:
                subprocess.run(["xz", "-dcf", path], check=True, stdout=f)
    copy_with_libraries(root, shutil.which("stress-ng"))
    guests.initramfs(context)


def run(context):
    need_tools("gcc", "cpio", "xz:xz-utils", "stress-ng", "qemu-system-x86_64:qemu-system-x86")
    given = context.options
    kernel = guests.kernel(context, "--variant", "debian")
    build(context, guests.kernel(context, "--variant", "debian", "--tree"))
    plugin = guests.plugin(context, "rank-count")
    words = (RANKS, given.seeds, "+".join(given.loads), "+".join(given.arms), MIB, given.rounds)
    do = f"do=run:/arms:{':'.join(map(str, words))}"
    found = {}
    for boot in given.boots:
        counted = f"{context.out}/{boot}.marks"
        machine = [*guests.two_sockets(4, 1, 4), *guests.COUNTED, "shift=2,sleep=off"]
        machine += ["-cpu", "EPYC,+svm,+npt,+invtsc", "-rtc", "base=2026-01-01,clock=vm"]
        machine += ["-plugin", guests.plugged(plugin, counted, f",own={OWN},ranks={RANKS}")]
        append = f"{do} {PAGES} {BOOTS[boot]}"
        guests.boot(context, boot, kernel, machine, append, "/arms: exit 0", timeout=14400)
        found[boot] = runs_of(read(f"{context.out}/{boot}.log"), marks.rows(counted))
    return found


def runs_of(log, counted):
    """Return the runs in order, as [{arm, load, seed, interrupts, exits, seconds, faults,
    involuntary, own, kernel, other, longest, stretches}], from LOG, a guest's console, and COUNTED,
    the lines of rank-count.c. "faults" has a number for each rank."""
    runs, sums = [], set()
    for line in log.splitlines():
        # the firmware's output may be at the beginning of the first line
        if m := re.search(r"run (\w+) (\w+) (\d+)$", line):
            runs.append({"arm": m[1], "load": m[2], "seed": int(m[3]), "faults": []})
            runs[-1]["involuntary"] = 0
        elif m := NODE.fullmatch(line):
            runs[-1].update(interrupts=int(m[1]), exits=int(m[2]), seconds=float(m[3]))
        elif m := RANK.fullmatch(line):
            runs[-1]["faults"].append(int(m[2]))
            runs[-1]["involuntary"] += int(m[3])
            sums.add((m[1], m[4]))
        elif line.startswith(("rank", "nodeos-lwk", "arms: ")):
            raise Failed(f"unexpected line: {line}")
    if len(runs) != len(counted):
        raise Failed(f"{len(runs)} runs, but {len(counted)} lines of counts")
    for one, (own, kernel, other, _, longest, *stretches) in zip(runs, counted):
        one.update(own=own, kernel=kernel, other=other, longest=longest, stretches=stretches)
        if len(one["faults"]) != RANKS or "exits" not in one:
            raise Failed(
                f"run {one['arm']} {one['load']} {one['seed']}: a rank has printed no result"
            )
    if len(sums) != RANKS:
        raise Failed(f"the sums that ranks have computed differ between runs: {sums}")
    return runs
