#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with SCHED_HPC in small guests, and run its KUnit tests and the kernel's selftest of it: on machines of one and two
sockets, with and without threads, and once with a clock that goes by instructions; then everything at random (hpc_stress.c).
KERNEL and TREE of kernel/build. No kernel may complain in its log. TAP on stdout."""
import argparse
import os
import re
import sys

import boot
from boot import Boot, Machine, ok

ICOUNT = ("-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off")
MACHINES = ((Machine("two sockets, two cores, two threads", [512, 512], low=512, cpus=[4, 4], threads=2), None),
            (Machine("four CPUs", [1024], cpus=[4]), None),
            (Machine("16 CPUs", [512, 512], low=512, cpus=[8, 8], threads=2), None),
            (Machine("four CPUs, counted", [1024], cpus=[4]), ICOUNT))
STRESSED = Machine("two sockets", [1024, 1024], low=1024, cpus=[4, 4], threads=2)


def tests(machines):
    """KUnit and the selftest, on each of MACHINES."""
    for machine, accel in machines:
        b = Boot(machine, "kunit.enable=1 kunit.filter_glob=sched_hpc do=run:/hpc" + (":exact" if accel else ""), **({"accel": accel} if accel else {}))
        cases = re.findall(r"\] +(ok|not ok) \d+ (test_\w+)", b.text)
        ok(len(cases) == 4 and all(word == "ok" for word, _ in cases), f"{machine.name}: KUnit", cases)
        judge(b, machine.name)


def of_ours(b):
    """Complaints, without one of stock's: the fair server is counted in nr_running while it is queued, and sched_cpu_dying() looks
    before it stops it. "Dying CPU not properly vacated!" with nothing there but the stopper is that."""
    vacated = re.findall(r"CPU(\d+) enqueued tasks \(2 total\):\n.*pid: \d+, name: migration/\1\n(?!.*pid: \d+, name: )", b.whole)
    dying = [line for line in b.complaints if " sched_cpu_dying+" in line]
    if len(dying) != len(vacated):
        return b.complaints
    for cpu in vacated:
        print(f"# the fair server was still queued when CPU {cpu} went", flush=True)
    return [line for line in b.complaints if line not in dying]


def judge(b, name):
    """What a program of the guest says in TAP."""
    lines = re.findall(r"^(ok|not ok) \d+ (.*)\n((?:# got.*\n)?)", b.after, re.M)
    for word, what, got in lines:
        ok(word == "ok", f"{name}: {what}", got)
    plan = re.search(r"^1\.\.(\d+)$", b.after, re.M)
    ok(b.ended and plan and len(lines) == int(plan.group(1)), f"{name}: it has run to its end", b.text[-3000:])
    complaints = of_ours(b)
    ok(not complaints, f"{name}: no complaint in the log", complaints)


def stress(seconds, seed):
    """Everything at random; stalls are complaints here."""
    b = Boot(STRESSED, f"rcupdate.rcu_cpu_stall_suppress=0 do=run:/stress:{seconds}:{seed}", limit=3 * seconds + 900)
    print("\n".join(re.findall(r"^# .*", b.after, re.M)), flush=True)
    judge(b, f"stress, seed {seed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    parser.add_argument("--few", action="store_true", help="two of the four machines")
    parser.add_argument("--stress", type=int, default=60, metavar="SECONDS", help="default %(default)s; 0: none")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is random (%(default)s)")
    parser.add_argument("--only-stress", action="store_true")
    args = parser.parse_args()
    boot.KERNEL, boot.WORK = args.kernel, args.work
    os.makedirs(args.work, exist_ok=True)
    boot.initramfs(args.work, {"hpc": f"{args.tree}/tools/testing/selftests/sched_hpc/sched_hpc.c", "stress": f"{boot.HERE}/hpc_stress.c"})
    if not args.only_stress:
        tests(MACHINES[::3] if args.few else MACHINES)
    if args.stress:
        stress(args.stress, args.seed)
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


sys.exit(main())
