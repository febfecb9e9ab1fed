#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/fgmn, in Markdown, from what the guests left.

usage: fgmn-table.py faults DIRECTORY
           of VARIANT's faults.VARIANT.marks (insn-count.c) and faults.VARIANT.log (faults.c)
       fgmn-table.py neighbour DIRECTORY
           of neighbour.on.marks and neighbour.on.log (neighbour.c)
       fgmn-table.py memory DIRECTORY
           of memory.VARIANT.CPUS.THP.log (footprint.c and init.c)
"""

import re
import statistics
import sys

VARIANTS = ("stock", "off", "on")
CPU = 1  # where faults.c runs
# the scene of the stock kernel that a scene with blocks is compared with: as near, as confined
LIKE = {
    "cpuset=2": "cpuset=0",
    "cpuset=24": "cpuset=0",
    "cpuset=2-24": "cpuset=0",
    "full=2-24": "cpuset=0",
    "cpuset=47": "cpuset=1",
    "bind=2": "bind=0",
    "bind=47": "bind=1",
}


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def text_of(path):
    with open(path) as f:
        return f.read()


def nodes_named(words):
    named = set()
    for word in words.split(","):
        first, _, last = word.partition("-")
        named |= set(range(int(first), int(last or first) + 1))
    return named


# ------------------------------------------------------------------------ faults


def between(before, after):
    """The numbers of two lines of insn-count.c, a round's first and last marker."""
    a, b = ([int(x) for x in line.split()] for line in (before, after))
    if (a[0], b[0]) != (1, 2):
        sys.exit(f"fgmn-table: markers {a[0]} and {b[0]} where 1 and 2 should be")
    return a, b


def kernel_instructions(before, after):
    """Of CPU: only faults.c is in user space then."""
    a, b = between(before, after)
    return b[5 + CPU] - a[5 + CPU] - (b[2] - a[2])


def read_faults(directory, variant):
    """{(scene, kind): [instructions per fault, round by round]}"""
    marks = text_of(f"{directory}/faults.{variant}.marks").splitlines()
    counts, at = {}, 0
    for line in text_of(f"{directory}/faults.{variant}.log").splitlines():
        found = re.fullmatch(r"faults (\S+) (\S+) (\d+) (\d+) node (.*)", line)
        if not found:
            continue
        scene, kind, faults, rounds = (
            found.group(1),
            found.group(2),
            int(found.group(3)),
            int(found.group(4)),
        )
        nodes = {int(word.split(":")[0]) for word in found.group(5).split()}
        if not nodes <= nodes_named(scene.partition("=")[2] or "0"):
            sys.exit(f"fgmn-table: {variant}, {scene}: pages on nodes {sorted(nodes)}")
        counts[scene, kind] = [
            kernel_instructions(marks[at + 2 * i], marks[at + 2 * i + 1]) / faults
            for i in range(rounds)
        ]
        at += 2 * rounds
    if at != len(marks):
        sys.exit(f"fgmn-table: {variant}: {len(marks)} marks, {at} of them explained")
    return counts


def faults(directory):
    counts = {variant: read_faults(directory, variant) for variant in VARIANTS}
    rows = []
    for variant in VARIANTS:
        for scene in dict.fromkeys(scene for scene, _ in counts[variant]):
            row = [variant, scene]
            for kind in ("4K", "2M"):
                c, base = (
                    counts[variant].get((scene, kind)),
                    counts["stock"][LIKE.get(scene, scene), kind],
                )
                if not c:
                    row += ["", "", ""]
                    continue
                middle, least = statistics.median(c), min(c)
                row += [
                    f"{least:,.0f}",
                    f"{middle:,.0f} (to {max(c):,.0f})",
                    f"{least / min(base):.3f}, {middle / statistics.median(base):.3f}",
                ]
            rows.append(row)
    table(
        [
            "kernel",
            "scene",
            "4 KiB, smallest",
            "median (largest)",
            "of stock's: smallest, median",
            "2 MiB, smallest",
            "median (largest)",
            "of stock's: smallest, median",
        ],
        rows,
    )


# --------------------------------------------------------------------- neighbour


def neighbour(directory):
    marks = text_of(f"{directory}/neighbour.on.marks").splitlines()
    text = text_of(f"{directory}/neighbour.on.log")
    rows, at, first = [], 0, None
    for arm, rounds, kills in re.findall(r"^neighbour (\w+) (\d+) kills (\d+)$", text, re.M):
        pairs = [between(marks[at + 2 * i], marks[at + 2 * i + 1]) for i in range(int(rounds))]
        at += 2 * int(rounds)
        own = [b[5 + CPU] - a[5 + CPU] for a, b in pairs]
        middle = statistics.median(own)
        first = first or middle
        moved = re.findall(rf"^neighbour {arm} moved (\S+) (\d+) (\d+)$", text, re.M)
        rows.append(
            [
                arm,
                kills,
                f"{min(own):,}",
                f"{middle:,.0f} (to {max(own):,})",
                f"{middle / first:.4f}",
                f"{sum(own) / len(own) / first:.4f}",
                "; ".join(f"{name} {a} to {b}" for name, a, b in moved) or "none",
            ]
        )
    if at != len(marks):
        sys.exit(f"fgmn-table: {len(marks)} marks, {at} of them explained")
    table(
        [
            "arm",
            "deaths beside it",
            "instructions of a round, smallest",
            "median (largest)",
            "median, of alone's",
            "mean, of alone's median",
            "counters that moved",
        ],
        rows,
    )


# ------------------------------------------------------------------------ memory


def read_memory(directory, variant, cpus, thp):
    return {
        name: int(number)
        for name, number in re.findall(
            r"^footprint (\w+) (-?\d+)$",
            text_of(f"{directory}/memory.{variant}.{cpus}.{thp}.log"),
            re.M,
        )
    }


def usable(directory):
    """Of the blocks of the boot with 8 CPUs and huge pages: MiB in total and free,
    smallest and largest."""
    text = text_of(f"{directory}/memory.on.8.always.log").partition("=== done")[0]
    found = [
        (int(total), int(free))
        for nid, total, free in re.findall(
            r"^Node (\d+) MemTotal: +(\d+) kB\nNode \d+ MemFree: +(\d+) kB", text, re.M
        )
        if int(nid) >= 2
    ]
    for what, values in (("MemTotal", [t for t, _ in found]), ("MemFree", [f for _, f in found])):
        print(
            f"{what} of {len(found)} blocks: {min(values) / 1024:.1f} to"
            f" {max(values) / 1024:.1f} MiB"
        )
    low = re.findall(
        r"^Node (\d+), zone +Normal\n(?:  .*\n)*? +min +(\d+)\n +low +(\d+)", text, re.M
    )
    pages = [(int(a), int(b)) for nid, a, b in low if int(nid) >= 2]
    print(
        f"their watermarks when init ran: min {min(a for a, _ in pages) / 256:.1f} to"
        f" {max(a for a, _ in pages) / 256:.1f} MiB, low {min(b for _, b in pages) / 256:.1f} to"
        f" {max(b for _, b in pages) / 256:.1f} MiB"
    )


def memory(directory):
    for cpus, thp in ((8, "always"), (8, "never"), (16, "always")):
        got = {variant: read_memory(directory, variant, cpus, thp) for variant in VARIANTS}
        rows = []
        for name in got["stock"]:
            if name == "groups":
                continue
            if name.endswith("_threads"):
                rows.append(
                    [name]
                    + [got[variant][name] for variant in VARIANTS]
                    + [got["on"][name] - got["stock"][name]]
                )
                continue
            unit, per = (
                (got["stock"]["groups"], f"{name}, KiB per cgroup")
                if name.startswith("groups")
                else (1024, f"{name}, MiB")
            )
            rows.append(
                [per]
                + [f"{got[variant][name] / unit:,.1f}" for variant in VARIANTS]
                + [f"{(got['on'][name] - got['stock'][name]) / unit:+,.1f}"]
            )
        table([f"{cpus} CPUs, transparent_hugepage={thp}", *VARIANTS, "on against stock"], rows)
    usable(directory)


{"faults": faults, "neighbour": neighbour, "memory": memory}[sys.argv[1]](sys.argv[2])
