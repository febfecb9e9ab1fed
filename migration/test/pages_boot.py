#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Move pages between two memory nodes of a small guest (pages_guest.c). pages_boot.py KERNEL
WORKDIR: KERNEL of kernel/build. Needs QEMU and cpio; TAP on stdout; about a minute."""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/kernel/test")

import boot  # noqa: E402
from boot import Boot, Machine, ok  # noqa: E402

NODE = 768  # MiB
SOURCES = {
    "base": ["errbuf", "fileio", "idset", "proc", "words"],
    "contention": ["process"],
    "host": ["apart", "cgroup"],
    "migration": [
        "around",
        "node_memory",
        "numa_maps",
        "page_worker",
        "pages",
        "pages_move",
        "process_memory",
        "test/pages_guest",
    ],
}


def build_guest():
    out = f"{boot.WORK}/pages"
    sources = [f"{TOP}/{room}/{name}.c" for room, names in SOURCES.items() for name in names]
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-static", "-O1", "-pthread", f"-I{TOP}"]
    # drop unused functions, which may call sources that are not listed
    command += ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-o", out]
    subprocess.run([*command, *sources], check=True)
    return out


def main():
    boot.KERNEL, boot.WORK = sys.argv[1], os.path.abspath(sys.argv[2])
    os.makedirs(boot.WORK, exist_ok=True)
    programs = {"hold": f"{TOP}/test/guest/programs/hold.c"}
    boot.initramfs(boot.WORK, programs, [build_guest()], ["/bin/true"])
    machine = Machine("two nodes of two CPUs", [NODE, NODE], cpus=[2, 2])
    guest = Boot(machine, "do=run:/pages", limit=600)
    text = guest.after.partition("pages: begin\n")[2]
    for line in text.splitlines():
        found = re.fullmatch(r"(not )?ok \d+ - (.*)", line)
        if found:
            ok(not found[1], found[2])
        elif line.startswith("#"):
            print(line, flush=True)
    ended = "pages: end" in text and not guest.complaints
    ok(ended, "the guest ran to its end", guest.complaints or guest.text[-3000:] + text[-3000:])
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


if __name__ == "__main__":
    sys.exit(main())
