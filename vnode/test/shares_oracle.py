#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the shares that vnode/shares.c gives to vnodes (through shares_driver) against the rule of
vnode/shares.h. The domains are calculated here from the machine's description, or read from the XML
by Python's own parser. Prints TAP."""

import itertools
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter

BUILD = os.environ.get("NODEOS_BUILD", ".")
SOURCE = os.environ.get("NODEOS_SOURCE", ".")
DRIVER = os.path.join(BUILD, "vnode/test/shares_driver")
XML = os.environ.get("NODEOS_TOPOLOGIES", os.path.join(SOURCE, "../shared/topologies"))
ROUNDS = 150
LEVELS = ("package", "numa", "l3", "core")
count = failed = 0


def ok(good, what, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    if not good:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="")


def synthetic(sizes):
    """Return the description of a machine, and the domain of each CPU at each level."""
    packages, nodes, caches, cores, threads = sizes
    text = f"package:{packages} numa:{nodes} l3:{caches} core:{cores} pu:{threads}"
    cpus = {}
    below = [nodes * caches * cores * threads, caches * cores * threads, cores * threads, threads]
    for cpu in range(packages * below[0]):
        cpus[cpu] = {level: cpu // n for level, n in zip(LEVELS, below)}
    return text, cpus


def walk(element, inside, cpus):
    """Collect the domains of the CPUs below an object of hwloc's XML. A memory node is a child of
    the object whose CPUs it is local to."""
    for child in element.findall("object"):
        kind = child.get("type")
        now = dict(inside)
        if kind in ("Package", "L3Cache", "Core"):
            now[{"Package": "package", "L3Cache": "l3", "Core": "core"}[kind]] = child.get("cpuset")
        if any(c.get("type") == "NUMANode" for c in child.findall("object")):
            now["numa"] = child.get("cpuset")
        if kind == "PU":
            cpus[int(child.get("os_index"))] = now
        walk(child, now, cpus)


def ids(text):
    """ "0-3,8" -> {0, 1, 2, 3, 8}"""
    pairs = [p.partition("-") for p in text.split(",") if p]
    return {i for a, _, b in pairs for i in range(int(a), int(b or a) + 1)}


def listed(cpus):
    return ",".join(map(str, sorted(cpus)))


def shares(machine, n, only=None):
    words = [DRIVER, machine, str(n)] + ([listed(only)] if only else [])
    r = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    return r.returncode, r.stdout.splitlines()


def core_of(cpus, cpu):
    return cpus[cpu].get("core", cpu)


def wrong(cpus, only, parts):
    """Return how PARTS, the shares of the CPUs ONLY, break the rule of shares.h; "": not at all."""
    if set().union(*parts) != set(only):
        return "the shares are not all CPUs"
    if any(a & b for a, b in itertools.combinations(parts, 2)):
        return "a CPU is in two shares"
    owner = {}
    for i, part in enumerate(parts):
        for cpu in part:
            if owner.setdefault(core_of(cpus, cpu), i) != i:
                return f"the core of CPU {cpu} is in two shares"
    for level in LEVELS[:-1] + ("all",):
        numbers = {}
        domain_of = {}
        for core, i in owner.items():
            cpu = next(c for c in only if core_of(cpus, c) == core)
            d = domain_of[core] = "all" if level == "all" else cpus[cpu].get(level)
            numbers.setdefault(d, Counter())[i] += 1
        for d, got in numbers.items():
            all_of = [got[i] for i in range(len(parts))]
            if d is not None and max(all_of) - min(all_of) > 1:
                return f"{level} {d}: {all_of} cores"
    return ""


def check(what, machine, cpus, n, only=None):
    code, lines = shares(machine, n, only)
    only = sorted(only or cpus)
    cores = len({core_of(cpus, c) for c in only})
    if n > cores:
        return ok(code == 1, f"{what}: {n} vnodes are refused on {cores} cores", lines)
    if code:
        return ok(False, f"{what}: {n} vnodes share the CPUs", lines)
    bad = wrong(cpus, only, [ids(line) for line in lines])
    return ok(
        not bad and len(lines) == n,
        f"{what}: {n} vnodes share each domain evenly",
        f"{bad}\n{lines}",
    )


def main():
    rng = random.Random(36)
    # by hand: 2 packages of 2 caches of 2 cores of 2 threads
    code, lines = shares("package:2 l3:2 core:2 pu:2", 2)
    want = ["0-1,4-5,8-9,12-13", "2-3,6-7,10-11,14-15"]
    ok(
        (code, lines) == (0, want),
        "each of two vnodes has one of the two cores of each cache",
        lines,
    )
    code, lines = shares("package:2 core:3 pu:1", 1)
    ok((code, lines) == (0, ["0-5"]), "the only vnode has all cores", lines)
    ok(shares("package:2 core:3 pu:1", 0)[0] == 1, "a division among 0 vnodes is refused")
    for _ in range(ROUNDS):
        sizes = [rng.randint(1, 4), rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 6)]
        text, cpus = synthetic(sizes + [rng.randint(1, 2)])
        only = None
        if rng.random() < 0.5:
            gone = {core_of(cpus, c) for c in rng.sample(sorted(cpus), len(cpus) // 4)}
            only = [c for c in cpus if core_of(cpus, c) not in gone]
        check(f"{text}{' without some cores' if only else ''}", text, cpus, rng.randint(1, 6), only)
    for name in sorted(os.listdir(XML)) if os.path.isdir(XML) else []:
        if not name.endswith(".xml"):
            continue
        cpus = {}
        walk(ET.parse(os.path.join(XML, name)).getroot(), {}, cpus)
        # one vnode gets all CPUs that the driver divides: those that hwloc says are allowed
        code, lines = shares(os.path.join(XML, name), 1)
        if code == 2 or len(lines) != 1:
            continue
        for n in (2, 3):
            check(name, os.path.join(XML, name), cpus, n, ids(lines[0]))
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
