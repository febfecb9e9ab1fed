#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with SCHED_HPC in small guests. Run the kernel's KUnit tests and selftest of the
class on machines of one and two sockets, with and without SMT, and once with a clock that counts
instructions. Then count what wakeups cost on 64 CPUs (hpc_crowd.c), and run random load
(hpc_stress.c).

KERNEL and TREE are the outputs of kernel/build. No kernel may complain in its log. TAP on
stdout."""

import argparse
import os
import re
import sys

import boot
from boot import Boot, Machine, ok

ICOUNT = ("-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off")
# with ICOUNT's few instructions per millisecond, the timer ticks of 64 CPUs would use them all
FAST = ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off")
MACHINES = (
    (
        Machine("two sockets, two cores, two threads", [512, 512], low=512, cpus=[4, 4], threads=2),
        None,
    ),
    (Machine("four CPUs", [1024], cpus=[4]), None),
    (Machine("16 CPUs", [512, 512], low=512, cpus=[8, 8], threads=2), None),
    (Machine("four CPUs, clock by instructions", [1024], cpus=[4]), ICOUNT),
)
CROWD = Machine("64 CPUs", [1024, 1024], low=1024, cpus=[32, 32])
STRESSED = Machine("two sockets", [1024, 1024], low=1024, cpus=[4, 4], threads=2)


def tests(machines, config):
    """On each of MACHINES, run KUnit and the selftest of a kernel with the configuration CONFIG."""
    for machine, accel in machines:
        may_skip = (
            ()
            if len(machine.memory) > 1 and "\nCONFIG_NUMA_BALANCING=y\n" in config
            else ("numa: ",)
        )
        may_skip += () if "\nCONFIG_SCHED_AUTOGROUP=y\n" in config else ("position: session",)
        b = Boot(
            machine,
            "kunit.enable=1 kunit.filter_glob=sched_hpc do=run:/hpc" + (":exact" if accel else ""),
            **({"accel": accel} if accel else {}),
        )
        cases = re.findall(r"\] +(ok|not ok) \d+ (test_\w+)", b.text)
        ok(
            len(cases) == 6 and all(word == "ok" for word, _ in cases),
            f"{machine.name}: the KUnit tests pass",
            cases,
        )
        judge(b, machine.name, may_skip)


def crowd():
    """Count what wakeups cost on 64 CPUs of which 62 have HPC tasks; run the KUnit tests that need
    many CPUs."""
    b = Boot(
        CROWD,
        "kunit.enable=1 kunit.filter_glob=sched_hpc do=run:/crowd",
        accel=FAST,
        limit=900,
    )
    cases = re.findall(r"\] +(ok|not ok) \d+ (test_\w+)(.*)", b.text)
    ok(
        len(cases) == 6 and all((word, rest) == ("ok", "") for word, _, rest in cases),
        "64 CPUs: all KUnit tests pass, and none is skipped",
        cases,
    )
    print("\n".join(re.findall(r"^# .*", b.after, re.M)), flush=True)
    judge(b, "64 CPUs")


def judge(b, name, may_skip=()):
    """Report the results of a guest's program as results of this test. The program may skip only
    tests whose names begin with one of MAY_SKIP."""
    lines = re.findall(r"^(ok|not ok) \d+ (.*)\n((?:# got.*\n)?)", b.after, re.M)
    for word, what, got in lines:
        skip = what.removeprefix("# SKIP ") if what.startswith("# SKIP ") else None
        if skip and skip.startswith(tuple(may_skip)):
            boot.skip(f"{name}: {skip}")
        else:
            ok(word == "ok" and not skip, f"{name}: {what}", got)
    plan = re.search(r"^1\.\.(\d+)$", b.after, re.M)
    ok(
        b.ended and plan and len(lines) == int(plan.group(1)),
        f"{name}: the program runs to its end",
        b.text[-3000:],
    )
    ok(not b.complaints, f"{name}: the log has no complaint", b.complaints)


def stress(seconds, seed):
    """Run hpc_stress. A stall that RCU reports is a complaint."""
    b = Boot(
        STRESSED,
        f"rcupdate.rcu_cpu_stall_suppress=0 do=run:/stress:{seconds}:{seed}",
        limit=3 * seconds + 900,
    )
    print("\n".join(re.findall(r"^# .*", b.after, re.M)), flush=True)
    judge(b, f"stress, seed {seed}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    parser.add_argument(
        "--config", metavar="FILE", help="the kernel's configuration, instead of TREE/.config"
    )
    parser.add_argument("--few", action="store_true", help="two of the four machines")
    parser.add_argument(
        "--stress",
        type=int,
        default=60,
        metavar="SECONDS",
        help="duration of the random load (default %(default)s; 0: none)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of the random load (default %(default)s)",
    )
    parser.add_argument("--only-stress", action="store_true")
    args = parser.parse_args()
    boot.KERNEL, boot.WORK = args.kernel, args.work
    os.makedirs(args.work, exist_ok=True)
    boot.initramfs(
        args.work,
        {
            "hpc": f"{args.tree}/tools/testing/selftests/sched_hpc/sched_hpc.c",
            "stress": f"{boot.HERE}/hpc_stress.c",
            "crowd": f"{boot.HERE}/hpc_crowd.c",
        },
    )
    if not args.only_stress:
        with open(args.config or f"{args.tree}/.config") as f:
            config = f.read()
        tests(MACHINES[::3] if args.few else MACHINES, config)
        # in a debug kernel the checks add instructions, and the count takes hours
        if not re.search(r"^CONFIG_(KASAN|KCSAN|PROVE_LOCKING)=y$", config, re.M):
            crowd()
    if args.stress:
        stress(args.stress, args.seed)
    print(f"1..{boot.count}")
    print(
        f"{boot.count - boot.failed - boot.skipped} passed, {boot.failed} failed, {boot.skipped}"
        " skipped"
    )
    return boot.failed != 0


sys.exit(main())
