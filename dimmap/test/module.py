#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel in small guests, load dimmapfs, and test it with the scripts guest/*.sh, each in a
guest of its own. KERNEL and TREE are outputs of kernel/build, also of its --variant debian. The
groups are the names of the scripts, and "exact" with --dimsim. A complaint in the kernel's log is a
failure. Needs QEMU, cpio, busybox-static, dmsetup, e2fsprogs and xfsprogs; TAP on stdout.
"""

import argparse
import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/kernel/test")

import boot  # noqa: E402
from boot import Boot, Machine, ok  # noqa: E402

# the second node has no CPU, so its memory is local to none
MACHINE = Machine("four CPUs, two nodes", [1024, 512], cpus=[4, 0])
PROGRAMS = ("crash", "model", "replay", "rounds", "touch")
COMMANDS = ("dmsetup", "mkfs.ext4", "mkfs.xfs")
# large programs, which only the group "clients" uses
CLIENTS = ("fio", "sqlite3", "mdb_load", "mdb_dump", "mdb_stat")
# {counter of the module: its name in the simulator}
SAME = {
    "major": "misses",
    "recovered": "recovered",
    "pages_read": "pages_read",
    "evicted": "evicted",
    "evicted_dirty": "evicted_dirty",
    "unmap_batches": "unmap_batches",
    "unmap_pages": "unmap_pages",
}
# time limits in seconds of groups that take longer than half an hour on a slow kernel
LIMITS = {"volume": 10800, "nvme": 5400}
# expected messages of the kernel, about failing or removed devices
EXPECTED = re.compile(
    r"dimmapfs: |Buffer I/O error|I/O error, dev|device-mapper:|out-of-tree module taints"
)


def build(tree, work):
    """Build the module in a copy of the sources, so that no objects are left beside the sources."""
    if os.path.isdir(f"{tree}/boot"):
        made = subprocess.run(
            [f"{TOP}/dimmap/build", "--variant", "debian"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.split()[-1]
        return shutil.copy(made, f"{work}/dimmapfs.ko")
    shutil.rmtree(f"{work}/dimmap", ignore_errors=True)
    shutil.copytree(f"{TOP}/dimmap", f"{work}/dimmap")
    subprocess.run(
        [
            "make",
            "-s",
            "-C",
            tree,
            f"M={os.path.abspath(work)}/dimmap/module",
            "W=1",
            "KCFLAGS=-Werror",
            "modules",
        ],
        check=True,
        stdout=sys.stderr,
    )
    return f"{work}/dimmap/module/dimmapfs.ko"


def drivers(tree, work):
    """Unpack driver modules of a distribution's kernel. Return their paths in the order of
    loading."""
    if not os.path.isdir(f"{tree}/boot"):
        return []
    found = []
    for n, name in enumerate(
        (
            "brd",
            "configfs",
            "null_blk",
            "dm-mod",
            "dm-flakey",
            "dm-delay",
            "dm-dust",
            "dm-log-writes",
            "crc16",
            "mbcache",
            "jbd2",
            "crc32c_generic",
            "libcrc32c",
            "ext4",
            "xfs",
        )
    ):
        for path in glob.glob(f"{tree}/lib/modules/*/kernel/**/{name}.ko.xz", recursive=True):
            found.append(f"{work}/{n:02}-{name}.ko")
            with open(found[-1], "wb") as f:
                subprocess.run(["xz", "-dc", path], check=True, stdout=f)
    return found


def trace(kind, pages, accesses, rng):
    """Yield the accesses (page, write) of a kind."""
    for i in range(accesses):
        if kind == "uniform":
            page = rng.randrange(pages)
        elif kind == "skewed":
            page = int(pages * rng.random() ** 4)
        else:  # a loop, with accesses to a few hot pages in between
            page = i * 7 // 8 % pages if i % 8 else rng.randrange(pages // 20)
        yield page, rng.random() < 0.25


def exact(dimsim, module, modules):
    """Check that for the accesses of one thread the module's counters equal the simulator's."""
    rng, pages, accesses = random.Random(7), 3000, 30000
    kinds = ("uniform", "skewed", "loop")
    for kind in kinds:
        with open(f"{boot.WORK}/{kind}.trace", "wb") as f:
            f.write(struct.pack("<8sIIQII", b"NODEOSPT", 1, 4096, pages, 1, 0))
            for page, write in trace(kind, pages, accesses, rng):
                f.write(struct.pack("<Q", page | write << 63))
    runs = [
        (kind, policy, size, fill, batch)
        for kind in kinds
        for policy in ("dimmap", "fifo", "sieve", "s3fifo")
        for size, fill, batch in ((300, 1, 64), (1000, 1, 32), (700, 4, 64), (20, 1, 3))
    ]
    lines = [
        f"run {kind} {policy} {size} {fill} {batch}" for kind, policy, size, fill, batch in runs
    ]
    with open(f"{boot.WORK}/exact.sh", "w") as f:
        f.write(
            """. /lib.sh
run() {
	buffer size=$(($3 * 4))K,src=/dev/ram0,pools=1,dirty_bg=100,dirty_max=100,\
policy=$2,fill=$(($4 * 4))K,batch=$5
	/replay /m/data /$1.trace
	echo "exact $*" $(tr '\n' ' ' </m/.stats)
	umount /m
}
"""
            + "\n".join(lines)
            + "\nfinish\n"
        )
    boot.initramfs(
        boot.WORK,
        {p: f"{HERE}/{p}.c" for p in PROGRAMS},
        [
            module,
            "/bin/busybox",
            *modules,
            f"{HERE}/guest/lib.sh",
            f"{boot.WORK}/exact.sh",
            *(f"{boot.WORK}/{kind}.trace" for kind in kinds),
        ],
    )
    b = Boot(MACHINE, "brd.rd_size=16384 do=run:/busybox:sh:/exact.sh", limit=900)
    words = [line.split() for line in re.findall(r"^exact (.*)", b.after, re.M)]
    found = {" ".join(w[:5]): dict(zip(w[5::2], w[6::2])) for w in words}
    for kind, policy, size, fill, batch in runs:
        out = subprocess.run(
            [
                dimsim,
                "--policy",
                policy,
                "--pages",
                str(size),
                "--fill",
                str(fill),
                "--batch",
                str(batch),
                "--json",
                f"{boot.WORK}/{kind}.trace",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        want = next(r for r in json.loads(out)["results"] if r["policy"] == policy)
        want = {name: want[own] for name, own in SAME.items()}
        got = found.get(f"{kind} {policy} {size} {fill} {batch}", {})
        boot.same(
            {name: int(got.get(name, -1)) for name in SAME},
            want,
            f"exact: {kind}, {policy}, {size} pages, fill {fill}, batch {batch}: {want['major']}"
            " misses",
        )
    ok(
        b.ended and not b.complaints,
        "exact: the guest runs to its end, and the kernel's log has no complaint",
        b.complaints or b.text[-2000:],
    )


def machine(name):
    """Return the machine of a group. That of the group nvme has a disk."""
    if name != "nvme":
        return MACHINE
    disk = f"{boot.WORK}/nvme.img"
    with open(disk, "wb") as f:
        f.truncate(64 << 20)
    m = Machine(MACHINE.name, MACHINE.memory, cpus=MACHINE.cpus)
    m.args += [
        "-drive",
        f"file={disk},if=none,id=disk,format=raw,cache=writeback",
        "-device",
        "nvme,serial=dimmap,drive=disk",
    ]
    return m


def group(name, parts):
    b = Boot(
        machine(name),
        f"parts={parts} brd.rd_size=16384 brd.rd_nr=2 null_blk.gb=1 null_blk.memory_backed=1"
        f" do=run:/busybox:sh:/{name}.sh",
        limit=LIMITS.get(name, 1800),
    )
    lines = re.findall(r"^(ok|not ok) \d+ - (.*)\n((?:# got.*\n)?)", b.after, re.M)
    print("\n".join(line for line in re.findall(r"^# (?!got).*", b.after, re.M)), flush=True)
    for word, what, got in lines:
        if word == "ok" and " # SKIP " in what:
            boot.skip(f"{name}: {what.replace(' # SKIP ', ': ')}")
        else:
            ok(word == "ok", f"{name}: {what}", got or b.after[-1500:])
    plan = re.search(r"^1\.\.(\d+)$", b.after, re.M)
    ok(
        b.ended and plan and len(lines) == int(plan.group(1)),
        f"{name}: the script runs to its end",
        b.text[-3000:],
    )
    complaints = [c for c in b.complaints if not EXPECTED.search(c)]
    ok(not complaints, f"{name}: the kernel's log has no complaint", complaints)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    parser.add_argument("group", nargs="*")
    parser.add_argument(
        "--dimsim",
        metavar="PROGRAM",
        help="path of the simulator, for the group exact",
    )
    parser.add_argument(
        "--parts",
        metavar="LIST",
        default="",
        help="run only these parts of the group volume, such as 1,3: a debug kernel takes hours",
    )
    args = parser.parse_args()
    if not re.fullmatch(r"(\d+(,\d+)*)?", args.parts):
        parser.error(f"--parts {args.parts}: expected numbers separated by commas, such as 1,3")
    boot.KERNEL, tree, boot.WORK, names = args.kernel, args.tree, args.work, args.group
    os.makedirs(boot.WORK, exist_ok=True)
    scripts = sorted(glob.glob(f"{HERE}/guest/*.sh"))
    commands = COMMANDS + (CLIENTS if not names or "clients" in names else ())
    module, modules = build(tree, boot.WORK), drivers(tree, boot.WORK)
    boot.initramfs(
        boot.WORK,
        {p: f"{HERE}/{p}.c" for p in PROGRAMS},
        [module, "/bin/busybox", *modules, *scripts],
        [shutil.which(c) or sys.exit(f"{c} is needed") for c in commands],
    )
    for script in scripts:
        name = os.path.basename(script).removesuffix(".sh")
        if name != "lib" and (not names or name in names):
            group(name, args.parts)
    if args.dimsim and (not names or "exact" in names):
        exact(args.dimsim, module, modules)
    print(f"1..{boot.count}")
    print(
        f"{boot.count - boot.failed - boot.skipped} passed, {boot.failed} failed, {boot.skipped}"
        " skipped"
    )
    return boot.failed != 0


sys.exit(main())
