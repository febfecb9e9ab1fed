#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranks that straddle caches, memory nodes or packages, beside those of hwloc-distrib. TAP.

usage: ranks_table.py [--all] [--markdown] [--beside PROGRAM] [FILE.xml | SYNTHETIC]...

Divides each machine among 2 to 64 ranks (some counts, or with --all every one) by "nodeosctl plan",
by hwloc-distrib and, if it is given, by "PROGRAM MACHINE N", which prints a mask of CPUs for each
rank, as hwloc-distrib does. The domains come from hwloc's own XML, not from our code. A rank
straddles when it has a part of a domain and CPUs outside of it; a rank that has some threads of a
core counts as one that has them all. No other program may have fewer ranks that straddle without
leaving more cores idle. The sums of each program are: ranks that straddle; idle cores; ranks that
have cores of several kinds; and, beyond one for each rank, the objects with memory near which the
rank has cores. --markdown prints the rows of a table.
"""

import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

COUNTS = [2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 24, 31, 33, 48, 63, 64]
SYNTHETIC = [
    "package:2 numa:4 l3:2 core:3 pu:2",  # 48 cores, as of two EPYC 7401
    "package:2 numa:1 core:18 pu:2",
    "package:2 numa:4 l3:2 core:8 pu:2",
    "package:1 numa:4 l3:2 core:8 pu:1",
]
MANIFEST = {
    "acKind": "ImageManifest",
    "acVersion": "0.8.11",
    "name": "all",
    "app": {"isolators": [{"name": "container", "value": {}}]},
}


def cpus_of(mask):
    words = mask.split(",")
    value = 0
    for word in words:
        value = value << 32 | (int(word, 16) if word else 0)
    return value


class Machine:
    """CPU sets of a machine: DOMAINS (packages, L3 caches, objects with memory), MEMORY (the
    innermost objects with memory), CORES, and KINDS of CPUs."""

    def __init__(self, arg):
        xml = subprocess.run(
            ["lstopo", "-i", arg, "--of", "xml", "-"],
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        ).stdout
        tree = ET.fromstring(xml)
        self.domains, memory, self.cores = set(), set(), []
        self.add(tree.find("object"), memory)
        self.memory = [m for m in memory if not any(o & m == o != m for o in memory)]
        self.kinds = [cpus_of(k.get("cpuset")) for k in tree.findall("cpukind")]

    def add(self, obj, found):
        kind, cpus = obj.get("type"), cpus_of(obj.get("cpuset") or "0x0")
        memory = any(o.get("type") in ("NUMANode", "MemCache") for o in obj.findall("object"))
        if memory and cpus:
            found.add(cpus)
        if kind in ("Package", "Socket", "L3Cache") or memory:
            self.domains.add(cpus)
        if kind == "Core":
            self.cores.append(cpus)
        for inner in obj.findall("object"):
            self.add(inner, found)

    def score(self, ranks):
        """The four numbers that a row sums up; a rank that has some threads of a core counts as if
        it had all."""
        ranks = [sum(c for c in self.cores if c & r) for r in ranks]
        used = 0
        for r in ranks:
            used |= r
        straddling = sum(any(r & d and d & ~r and r & ~d for d in self.domains) for r in ranks)
        idle = sum(not c & used for c in self.cores)
        mixed = sum(sum(bool(k & r) for k in self.kinds) > 1 for r in ranks)
        far = sum(max(sum(bool(m & r) for m in self.memory) - 1, 0) for r in ranks)
        return straddling, idle, mixed, far


def ours(manifest, arg, n):
    plan = subprocess.run(
        [os.path.join(os.environ.get("NODEOS_BUILD", "."), "nodeosctl"), "plan", "--json"]
        + ["--conf=" + manifest + ".conf", "-t", arg, "-n", str(n), manifest],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    if plan.returncode:
        return None
    masks = []
    for rank in json.loads(plan.stdout)["containers"][0]["ranks"]:
        mask = 0
        for part in rank["cpus"].split(","):
            first, _, last = part.partition("-")
            mask |= (1 << int(last or first) + 1) - (1 << int(first))
        masks.append(mask)
    return masks


def other(program, arg, n):
    """The masks that another program prints, or None if it fails or gives a rank nothing."""
    command = ["hwloc-distrib", "-i", arg, str(n)] if not program else [program, arg, str(n)]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    masks = [cpus_of(line) for line in out.stdout.decode().split()]
    return None if out.returncode or len(masks) != n or not all(masks) else masks


class Row:
    """The sums of one machine over all counts of ranks."""

    def __init__(self, arg, manifest, counts, programs):
        self.name = os.path.basename(arg)
        machine = Machine(arg)
        self.cores = len(machine.cores)
        self.tried, self.worse = 0, []
        self.sums = [[0] * 4 for _ in range(1 + len(programs))]
        for n in counts:
            maps = [ours(manifest, arg, n)] if n <= self.cores else [None]
            maps += [other(program, arg, n) for program in programs] if maps[0] else []
            if None in maps:
                continue
            self.add(n, [machine.score(ranks) for ranks in maps])

    def add(self, n, scores):
        self.tried += 1
        for total, found in zip(self.sums, scores):
            total[:] = map(sum, zip(total, found))
        if any(s[0] < scores[0][0] and s[1] <= scores[0][1] for s in scores[1:]):
            self.worse.append((n, scores))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--beside", metavar="PROGRAM")
    parser.add_argument("machines", nargs="*")
    a = parser.parse_args()
    if not shutil.which("hwloc-distrib") or not shutil.which("lstopo"):
        print("1..0 # SKIP hwloc-distrib or lstopo is not installed")
        return
    programs = [None] + ([a.beside] if a.beside else [])
    folder = os.environ.get("NODEOS_TOPOLOGIES", "")
    machines = a.machines or SYNTHETIC + sorted(glob.glob(folder + "/*.xml"))
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        manifest = os.path.join(work, "all.json")
        with open(manifest, "w") as f:
            json.dump(MANIFEST, f)
        with open(manifest + ".conf", "w"):
            pass
        print("# machine: counts; straddling, idle, mixed, memory: NodeOS; hwloc-distrib; ...")
        for tests, arg in enumerate(machines):
            try:
                row = Row(arg, manifest, range(2, 65) if a.all else COUNTS, programs)
            except subprocess.CalledProcessError:
                print(f"ok {tests + 1} - {os.path.basename(arg)} # SKIP lstopo cannot read it")
                continue
            sums = "; ".join(", ".join(map(str, total)) for total in row.sums)
            print(f"# {row.name}: {row.tried} counts; {sums}")
            if a.markdown:
                cells = [f"`{row.name}`", row.cores, row.tried]
                cells += ["{} ({}, {}, {})".format(*total) for total in row.sums]
                print("|", " | ".join(map(str, cells)), "|")
            verdict = "not ok" if row.worse else "ok"
            failed += bool(row.worse)
            print(
                f"{verdict} {tests + 1} - {row.name}: no other program has fewer ranks that"
                " straddle at as few idle cores",
                flush=True,
            )
            for n, scores in row.worse:
                print(f"# {n} ranks: {scores}")
    print(f"1..{len(machines)}")
    sys.exit(failed > 0)


main()
