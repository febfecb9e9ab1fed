#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel that is built with finer-grained memory nodes, SCHED_HPC, both or neither, and
check that the kernel has exactly these features.

combined.py KERNEL SELFTEST WORKDIR [fgmn] [hpc]: SELFTEST is sched_hpc.c of the patched tree.
TAP on stdout.
"""

import os
import re
import sys

import boot
from boot import Boot, Machine, ok, same

MACHINE = Machine("two sockets", [1024, 1024], low=512, cpus=[2, 2])


def main():
    boot.KERNEL, selftest, boot.WORK, *options = sys.argv[1:]
    os.makedirs(boot.WORK, exist_ok=True)
    boot.initramfs(boot.WORK, {"hpc": selftest})
    b = Boot(MACHINE, "fgmn=all:2x128M do=run:/hpc")
    what = "kernel with " + (" and ".join(options) or "neither fgmn nor hpc")
    same(
        (len(b.nodes), len(b.blocks)),
        (6, 4) if "fgmn" in options else (2, 0),
        f"{what}: memory nodes and blocks are as configured",
    )
    lines = re.findall(r"^(ok|not ok) \d+", b.after, re.M)
    ok(
        (
            lines and set(lines) == {"ok"}
            if "hpc" in options
            else "no SCHED_HPC" in b.after and not lines
        ),
        f"{what}: the selftest of SCHED_HPC passes if the kernel has the class, and is skipped"
        " otherwise",
        re.findall(r"^not ok .*\n(?:# got.*\n)?", b.after, re.M) or b.text[-2000:],
    )
    ok(
        b.ended and not b.complaints,
        f"{what}: the guest boots and ends, and its kernel's log has no complaint",
        b.complaints or b.text[-2000:],
    )
    print(f"1..{boot.count}")
    return boot.failed != 0


sys.exit(main())
