#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Ranks that straddle caches, memory nodes or packages, beside those of hwloc-distrib. TAP.

usage: ranks_table.py [--all] [FILE.xml | SYNTHETIC]...

Divides each machine among 2 to 64 ranks (some counts, or with --all every one) by "nodeosctl plan"
and by hwloc-distrib. The domains come from hwloc's own XML, not from our code. A rank straddles
when it has a part of a domain and CPUs outside of it.
"""

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


def domains_of(obj, out):
    """Add the CPU sets of packages, L3 caches and objects with memory nodes; count cores."""
    kind, cpus = obj.get("type"), cpus_of(obj.get("cpuset") or "0x0")
    memory = any(o.get("type") in ("NUMANode", "MemCache") for o in obj.findall("object"))
    if kind in ("Package", "Socket", "L3Cache") or memory:
        out.add(cpus)
    return sum(domains_of(o, out) for o in obj.findall("object")) or int(kind == "Core")


def machine(arg):
    xml = subprocess.run(
        ["lstopo", "-i", arg, "--of", "xml", "-"], stdout=subprocess.PIPE, check=True, timeout=60
    ).stdout
    root, domains = ET.fromstring(xml).find("object"), set()
    cores = domains_of(root, domains)
    return cpus_of(root.get("cpuset")), domains, cores


def straddling(ranks, domains):
    return sum(any(r & d and d & ~r and r & ~d for d in domains) for r in ranks)


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


def distrib(arg, n):
    out = subprocess.run(
        ["hwloc-distrib", "-i", arg, str(n)], stdout=subprocess.PIPE, check=True, timeout=60
    ).stdout.decode()
    return [cpus_of(line) for line in out.split()]


def main():
    args = [a for a in sys.argv[1:] if a != "--all"]
    counts = range(2, 65) if "--all" in sys.argv else COUNTS
    if not shutil.which("hwloc-distrib") or not shutil.which("lstopo"):
        print("1..0 # SKIP hwloc-distrib or lstopo is not installed")
        return
    folder = os.environ.get("NODEOS_TOPOLOGIES", "")
    machines = args or SYNTHETIC + sorted(glob.glob(folder + "/*.xml"))
    failed, tests = 0, 0
    with tempfile.TemporaryDirectory() as work:
        manifest = os.path.join(work, "all.json")
        with open(manifest, "w") as f:
            json.dump(MANIFEST, f)
        with open(manifest + ".conf", "w"):
            pass
        print("# machine: counts of ranks; straddling ranks, idle threads: NodeOS, hwloc-distrib")
        for arg in machines:
            cpus, domains, cores = machine(arg)
            total, idle, tried, worse = [0, 0], [0, 0], 0, []
            for n in counts:
                mine = ours(manifest, arg, n) if n <= cores else None
                if mine is None:
                    continue
                tried += 1
                for i, ranks in enumerate((mine, distrib(arg, n))):
                    used = 0
                    for r in ranks:
                        used |= r
                    total[i] += straddling(ranks, domains)
                    idle[i] += (cpus & ~used).bit_count()
                    if i:
                        worse += (
                            [n] if straddling(mine, domains) > straddling(ranks, domains) else []
                        )
            tests += 1
            failed += bool(worse)
            name = os.path.basename(arg)
            print(f"# {name}: {tried} counts; {total[0]}, {idle[0]}; {total[1]}, {idle[1]}")
            verdict = "not ok" if worse else "ok"
            print(f"{verdict} {tests} - {name}: no more ranks straddle than of hwloc-distrib")
            if worse:
                print(f"# counts of ranks: {worse}")
    print(f"1..{tests}")
    sys.exit(failed > 0)


main()
