# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots an emulated machine of two sockets with two cores of two threads each. Runs a conjugate
gradient with 7 ranks, or GROMACS with 7 threads, on CPUs 1 to 7. The ranks or threads spin while
they wait for each other. The arms of scheduling:

    cfs      the default class, on any of these CPUs
    pinned   the default class, a CPU for each rank
    fifo     SCHED_FIFO, a CPU for each
    root     as pinned, in a root partition of CPUs 1 to 7; iso: in an isolated one
    isofifo  as fifo, in an isolated partition
    user     SCHED_HPC, a CPU for each, by the program
    rr topo  SCHED_HPC, placed by the kernel
    inside   as user, in a root partition

The ranks run alone (idle), and beside programs of the default class that sleep and compute in turn
(busy), for times that a seed determines; the times are the same for all arms. The experiment
counts, for each rank, the instructions of other programs on its CPU, its migrations and its
switches. QEMU's clock counts instructions (-icount), so durations mean nothing. GROMACS is counted
from its start. 10 runs take 2 minutes on an idle processor once the kernel is built."""

import re
import shutil

from bench.lib import guests, marks, options
from bench.lib.context import TOP, Failed, need_tools, read, store
from bench.lib.options import Option

TITLE = "What SCHED_HPC keeps from ranks"
MINUTES = {"quick": 4, "full": 15}
INPUTS = [*guests.INPUTS, "bench/hpc/*", "bench/lib/water.sh", "kernel/test/*init.c"]
ARMS = ("cfs", "pinned", "fifo", "root", "iso", "isofifo", "user", "rr", "topo", "inside")
LOADS = ("idle", "busy")
BOOTS = {"plain": "", "nohz": "nohz_full=1-7 rcu_nocbs=1-7"}
RANKS = 7
OPTIONS = (
    Option("program", "P", "cg, or gmx for Debian's GROMACS", "cg", read=options.one("cg", "gmx")),
    Option("seeds", "A-B", "seeds of the runs", "1-5", "1-2", options.interval),
    Option("loads", "L+L", "loads, of idle and busy", list(LOADS), ["busy"], options.words(*LOADS)),
    Option(
        "arms", "A+A", "arms, see above", list(ARMS), ["cfs", "fifo", "topo"], options.words(*ARMS)
    ),
    Option(
        "boots",
        "B+B",
        "boots: plain, and nohz (with nohz_full)",
        ["plain"],
        read=options.words(*BOOTS),
    ),
    Option("kernel", "FILE", "kernel with SCHED_HPC, instead of that of kernel/build"),
)
# Addresses of the ranks' programs, at which no other program computes. cg is linked to its
# addresses. GROMACS is where the kernel puts position-independent programs and libraries; there,
# the shell that starts GROMACS is counted, too.
OWN = {"cg": "0x20000000-0x2fffffff", "gmx": "0x550000000000-0x7fffffffffff"}
SCRIPT = """exec 2>&1
(cd /tmp && /mnt/water.sh 20) >/tmp/prepare.log 2>&1 || {{
	cat /tmp/prepare.log; echo "/ranks: cannot prepare"
}}
/mnt/ranks threads:{ranks} {seeds} {loads} {arms} /mnt/gmx.sh
echo "/ranks: exit $?"
echo "=== end"
"""
RANK = re.compile(
    r"rank (\d+) cpu (\d+) (\d+) moves (-?\d+) involuntary (\d+) voluntary (\d+)"
    r" (?:seconds (\S+) )?residual (\S+)"
)


def build(context, program, given):
    """Build the initramfs. Return the rest of the kernel's command line, and QEMU's disk."""
    root = guests.root(context)
    here = f"{TOP}/bench/hpc"
    if program == "cg":
        guests.program(context, f"{root}/init", f"{TOP}/kernel/test/init.c")
        guests.program(context, f"{root}/ranks", f"{here}/ranks.c")
        guests.program(context, f"{root}/cg", f"{here}/cg.c", "-Wl,-Ttext-segment=0x20000000")
        guests.initramfs(context)
        return "do=run:/ranks:{ranks}:{seeds}:{loads}:{arms}:/cg:32:256:40".format(**given), []
    guests.program(context, f"{root}/init", f"{TOP}/kernel/test/image-init.c")
    guests.program(context, f"{root}/tests/ranks", f"{here}/ranks.c")
    for script in (f"{here}/gmx.sh", f"{TOP}/bench/lib/water.sh"):
        shutil.copy(script, f"{root}/tests")
    store(f"{root}/tests/run", SCRIPT.format(**given))
    guests.initramfs(context)
    image = context.path_of(f"{TOP}/test/guest/image")
    return "", ["-drive", f"file={image},format=raw,if=virtio,snapshot=on"]


def run(context):
    need_tools("gcc", "cpio", "qemu-system-x86_64:qemu-system-x86")
    given, program = context.options, context.options.program
    words = {"ranks": RANKS, "seeds": given.seeds}
    words |= {"loads": "+".join(given.loads), "arms": "+".join(given.arms)}
    kernel = given.kernel or guests.kernel(context)
    append, disk = build(context, program, words)
    plugin = guests.plugin(context, "rank-count")
    found = {}
    for boot in given.boots:
        counted = f"{context.out}/{boot}.marks"
        more = f",own={OWN[program]},ranks={RANKS}"
        machine = [*guests.two_sockets(8, 2, 1), *disk, *guests.COUNTED, "shift=2,sleep=off"]
        machine += ["-rtc", "base=2026-01-01,clock=vm"]
        machine += ["-plugin", guests.plugged(plugin, counted, more)]
        full = f"{append} {BOOTS[boot]}"
        guests.boot(context, boot, kernel, machine, full, "/ranks: exit 0", timeout=7200)
        found[boot] = runs_of(read(f"{context.out}/{boot}.log"), marks.rows(counted))
    return found


def runs_of(log, counted):
    """Return the runs in order, as [{arm, load, seed, ranks, own, kernel, other, all, longest,
    moves, involuntary, voluntary}], from LOG, a guest's console, and COUNTED, the lines of
    rank-count.c."""
    runs = []
    for line in log.splitlines():
        # the firmware's output may be at the beginning of the first line
        if m := re.search(r"run (\w+) (\w+) (\d+)$", line):
            runs.append({"arm": m[1], "load": m[2], "seed": int(m[3]), "ranks": []})
        elif m := RANK.fullmatch(line):
            rank = {"moves": int(m[4]), "involuntary": int(m[5]), "voluntary": int(m[6])}
            rank |= {"seconds": float(m[7] or 0), "residual": m[8]}
            runs[-1]["ranks"].append(rank)
        elif line.startswith("rank "):
            raise Failed(f"cannot parse the line of a rank: {line}")
    if len(runs) != len(counted):
        raise Failed(f"{len(runs)} runs, but {len(counted)} lines of counts")
    for one, (own, kernel, other, every, longest, *_) in zip(runs, counted):
        one.update(own=own, kernel=kernel, other=other, all=every, longest=longest)
        for name in ("moves", "involuntary", "voluntary"):
            one[name] = sum(rank[name] for rank in one["ranks"])
    numbers = [len(one["ranks"]) for one in runs]
    if len(set(numbers)) > 1:
        raise Failed(f"the runs have different numbers of ranks or threads: {numbers}")
    residuals = {rank["residual"] for one in runs for rank in one["ranks"]}
    if len(residuals) != 1:
        raise Failed(f"the residuals of the ranks differ: {residuals}")
    return runs
