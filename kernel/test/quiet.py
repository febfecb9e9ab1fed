#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with SCHED_HPC, built with kernel/test/quiet.config, in a small guest. Count the
kernel's own work on a CPU where an HPC task computes (quiet.c), and for comparison where a task of
SCHED_FIFO computes.

quiet.py [--before KERNEL] KERNEL WORKDIR; --before: a kernel without the patches of quiet/, for a
table of both. TAP on stdout.
"""

import argparse
import os
import re
import sys

import boot
from boot import Boot, Machine, ok, same

SECONDS = 10
NAMES = (
    "clocksource_watchdog",
    "task_mm_cid_work",
    "vmstat_update",
    "sched_balance_softirq",
    "css_killed_work_fn",
    "srcu_invoke_callbacks",
    "reschedules",
    "wakeups",
    "next",
    "ticks",
)
ELSEWHERE = ("next", "ticks")  # counters that may be above 0


FOUR, SOCKETS = (
    Machine("four CPUs", [1024], cpus=[4]),
    Machine("two sockets", [512, 512], low=512, cpus=[2, 2]),
)


def counts(kernel, cpu, append="", machine=FOUR):
    """Return {(policy, name): count}."""
    # tsc=watchdog: the kernel checks other clocks against the TSC, and does not check the TSC
    # itself
    b = Boot(
        machine,
        f"{append} tsc=watchdog do=run:/quiet:{SECONDS}:{cpu}",
        kernel=kernel,
        accel=("-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off"),
    )
    found = {
        (policy, name): int(n)
        for policy, name, n in re.findall(r"^quiet (\w+) (\w+) (\d+)$", b.after, re.M)
    }
    ok(
        b.ended and len(found) == 2 * len(NAMES),
        "the guest prints the counts of all events under both policies",
        b.after[-2000:] or b.text[-2000:],
    )
    ok(not b.complaints, "the kernel's log has no complaint", b.complaints)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", metavar="KERNEL")
    parser.add_argument("kernel")
    parser.add_argument("work")
    args = parser.parse_args()
    boot.WORK = args.work
    os.makedirs(args.work, exist_ok=True)
    boot.initramfs(args.work, {"quiet": os.path.join(boot.HERE, "quiet.c")})
    after = counts(args.kernel, 0)
    before = counts(args.before, 0) if args.before else {}
    print(
        f"# events in {SECONDS} s on a CPU where a program computes:"
        f" {'before, ' if before else ''}after"
    )
    for policy in ("fifo", "hpc"):
        for name in NAMES:
            print(
                f"# {policy:5} {name:22} {before.get((policy, name), ''):>5}"
                f" {after.get((policy, name), ''):>5}"
            )
    for name in (n for n in NAMES if n not in ELSEWHERE):
        # under SCHED_FIFO each counter must be above 0, to show that it counts. Two are exceptions:
        # the patches avoid reschedules under SCHED_FIFO, too, and a waker that shares the cache
        # sends no interrupt.
        ok(
            name in ("reschedules", "wakeups") or after.get(("fifo", name), 0) > 0,
            f"{name}: above 0 on a CPU where a task of SCHED_FIFO computes",
            after,
        )
        ok(after.get(("hpc", name)) == 0, f"{name}: 0 on a CPU where an HPC task computes", after)
    ok(
        after.get(("hpc", "next"), 0) > 0,
        "SRCU's callbacks for a CPU with an HPC task run on the next CPU",
        after,
    )
    far = counts(args.kernel, 2, machine=SOCKETS)
    ok(
        far.get(("fifo", "wakeups"), 0) > 0,
        "a wakeup by a CPU of another cache interrupts a task of SCHED_FIFO",
        far,
    )
    same(
        (far.get(("hpc", "wakeups")), far.get(("hpc", "reschedules"))),
        (0, 0),
        "a wakeup by a CPU of another cache does not interrupt an HPC task",
    )
    alone = counts(args.kernel, 0, "isolcpus=1")
    same(
        alone.get(("hpc", "next")),
        0,
        "an isolated CPU takes over no work of a CPU with HPC tasks",
    )
    full = counts(args.kernel, 2, "nohz_full=2 rcu_nocbs=2")
    print(
        f"# with nohz_full=2: {full.get(('fifo', 'ticks'))} timer interrupts under SCHED_FIFO,"
        f" {full.get(('hpc', 'ticks'))} under SCHED_HPC"
    )
    # the remaining interrupts are the guard's timer, and the tick while the guard runs the fair
    # task
    ok(
        full.get(("hpc", "ticks"), 1 << 30) < after.get(("hpc", "ticks"), 0) / 10,
        "nohz_full stops the tick of a lone HPC task",
        full,
    )
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


sys.exit(main())
