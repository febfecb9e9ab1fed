#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel and test dimmap's mapping code in a small module, proof.c, with program rogue.c:
- unmapping 64 pages at a time costs one flush of other CPUs, and no write is lost or misplaced
  while threads on four other CPUs write continuously; the control, with the flush compiled out,
  loses writes;
- faults of programs are served under the lock of the mapping alone; the control, without map_pages,
  has no such fault.
proof.py KERNEL TREE WORKDIR [PAGES]: KERNEL and TREE of kernel/build; unmaps PAGES pages (default
100000). TAP on stdout.
"""

import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{TOP}/kernel/test")

import boot  # noqa: E402
from boot import Boot, Machine, ok  # noqa: E402

FIVE = Machine("five CPUs", [1024], cpus=[5])
BATCH = 64


def build(tree, work):
    """Build the modules in a copy of the sources, so that no objects are left beside the
    sources."""
    shutil.rmtree(f"{work}/dimmap", ignore_errors=True)
    shutil.copytree(f"{TOP}/dimmap", f"{work}/dimmap")
    subprocess.run(
        [
            "make",
            "-s",
            "-C",
            tree,
            f"M={os.path.abspath(work)}/dimmap/test",
            "W=1",
            "KCFLAGS=-Werror",
            "modules",
        ],
        check=True,
        stdout=sys.stderr,
    )
    return [f"{work}/dimmap/test/{name}.ko" for name in ("dimmap_proof", "dimmap_control")]


def run(module, pages, *parameters, least=BATCH):
    b = Boot(
        FIVE,
        f"do=run:/rogue:/{module}.ko:{pages}:{BATCH}:{least}{''.join(':' + p for p in parameters)}",
        limit=900,
    )
    found = re.search(r"^proof (.*)$", b.after, re.M)
    words = found.group(1).split() if found else []
    counts = dict(zip(words[::2], map(int, words[1::2])))
    name = " ".join((module, *parameters))
    print(f"# {name}: {counts}", flush=True)
    ok(
        b.ended and counts.get("evicted", 0) >= (pages if least > 1 else 1) and not b.complaints,
        f"{name}: the guest runs to its end, and the kernel's log has no complaint",
        b.complaints or b.text[-2000:],
    )
    return counts


def main():
    boot.KERNEL, tree, boot.WORK, *rest = sys.argv[1:]
    pages = int(rest[0]) if rest else 100000
    os.makedirs(boot.WORK, exist_ok=True)
    boot.initramfs(boot.WORK, {"rogue": f"{TOP}/dimmap/test/rogue.c"}, build(tree, boot.WORK))

    c = run("dimmap_proof", pages)
    ok(c.get("lost") == 0 and c.get("writes", 0) > pages, "batches: no write is lost", c)
    ok(
        0 < c.get("rounds", 0) <= 1.05 * c["batches"] and c["ptes"] == BATCH * c["batches"],
        f"batches: {BATCH} pages cost one round of flushes",
        c,
    )
    ok(
        c.get("vma_lock_faults", 0) >= 0.99 * c.get("user_faults", 1 << 60),
        "batches: faults of programs are handled under the VMA lock",
        c,
    )

    c = run("dimmap_proof", pages // 10, "zap=1")
    ok(c.get("lost") == 0, "page by page: no write is lost", c)
    ok(
        c.get("rounds", 0) >= 0.9 * c.get("ptes", 0) and c["rounds"] >= 0.9 * c["evicted"],
        "page by page: each page costs a round of flushes",
        c,
    )

    # a thread that writes through stale entries causes no faults, so few pages are resident
    c = run("dimmap_control", pages // 10, least=1)
    ok(c.get("lost", 0) > 0, "the control without the flush loses writes", c)
    c = run("dimmap_proof", pages // 10, "no_map_pages=1")
    ok(
        c.get("user_faults", 0) > 0 and c.get("vma_lock_faults") == 0,
        "the control without map_pages has no fault under the VMA lock",
        c,
    )
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


sys.exit(main())
