#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with SCHED_HPC (kernel/build --config kernel/test/hpc.config) in small guests, and run its KUnit tests and the
kernel's selftest of it: on machines of one and two sockets, with and without threads, and once with a clock that goes by
instructions. KERNEL and TREE of kernel/build. No kernel may complain in its log. TAP on stdout."""
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    args = parser.parse_args()
    boot.KERNEL, boot.WORK = args.kernel, args.work
    os.makedirs(args.work, exist_ok=True)
    boot.initramfs(args.work, {"hpc": f"{args.tree}/tools/testing/selftests/sched_hpc/sched_hpc.c"})
    for machine, accel in MACHINES:
        b = Boot(machine, "kunit.enable=1 kunit.filter_glob=sched_hpc do=run:/hpc", **({"accel": accel} if accel else {}))
        cases = re.findall(r"\] +(ok|not ok) \d+ (test_\w+)", b.text)
        ok(len(cases) == 4 and all(word == "ok" for word, _ in cases), f"{machine.name}: KUnit", cases)
        lines = re.findall(r"^(ok|not ok) \d+ (.*)\n((?:# got.*\n)?)", b.after, re.M)
        for word, what, got in lines:
            ok(word == "ok", f"{machine.name}: {what}", got)
        plan = re.search(r"^1\.\.(\d+)$", b.after, re.M)
        ok(b.ended and plan and len(lines) == int(plan.group(1)), f"{machine.name}: the selftest has run to its end", b.text[-3000:])
        ok(not b.complaints, f"{machine.name}: no complaint in the log", b.complaints)
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


sys.exit(main())
