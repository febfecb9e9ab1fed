#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of bench/dimmap, in Markdown, from what the guests left.

usage: dimmap-table.py NAME...    of NAME.marks (insn-count.c) and NAME.log (outofcore.c)
       dimmap-table.py --throughput NAME...    of NAME.log alone"""

import sys

BEST = ("default", "random", "mglru", "mglru-random", "free-default", "free-random")


killed = []  # scenes


class Scene:
    def __init__(self, line, before, after):
        words = line.split()
        arm, threads, _, writes, *_ = words[1].split("/")
        self.arm, self.threads, self.writes = arm, int(threads), int(writes)
        count = dict(zip(words[2::2], map(int, words[3::2])))
        a, b = before.split(), after.split()
        if (a[0], b[0]) != ("1", "2"):
            sys.exit(f"dimmap-table: markers {a[0]} and {b[0]} where 1 and 2 should be")
        self.reads = count["accesses"] if arm == "direct" else count["major"]
        self.each = (int(b[3]) - int(a[3])) / max(self.reads, 1)
        self.interrupts, self.pages = (
            count["interrupts"] / max(self.reads, 1),
            count["pages"] / max(self.reads, 1),
        )


def read(name):
    with open(f"{name}.log", errors="replace") as f:
        lines = [line for line in f.read().splitlines() if line.startswith("outofcore ")]
    with open(f"{name}.marks") as f:
        marks = f.read().splitlines()
    scenes = []
    for line in lines:
        words = line.split()
        if words[2] == "killed":
            arm, threads, _, writes, *_ = words[1].split("/")
            killed.append(f"{arm}, {threads} thread{'s' * (threads != '1')}, {writes} % writes")
            continue
        # who was killed has set the first marker, or none
        while len(marks) > 1 and marks[1].split()[0] == "1":
            marks.pop(0)
        if len(marks) < 2:
            sys.exit(f"dimmap-table: {name}: fewer marks than scenes")
        scenes.append(Scene(line, marks.pop(0), marks.pop(0)))
    return scenes


def throughput(names):
    """Accesses a second by threads, a row an arm, and how much of the best mmap's that is."""
    rate, lost = {}, []
    for name in names:
        with open(f"{name}.log", errors="replace") as f:
            for line in f:
                words = line.split()
                if not line.startswith("outofcore ") or len(words) < 4:
                    continue
                arm, threads, _, writes, _, times, _ = words[1].split("/")
                if words[2] == "killed":
                    lost.append(words[1])
                    continue
                count = dict(zip(words[2::2], map(int, words[3::2])))
                rate[int(times), int(writes), arm, int(threads)] = (
                    count["accesses"] / count["nanoseconds"] * 1e6
                )
    threads = sorted({key[3] for key in rate})
    print(
        "| file, of the buffer | writes | thousand accesses a second, with threads: | "
        + " | ".join(map(str, threads))
        + " |"
    )
    print("|" + "---|" * (3 + len(threads)))
    for times, writes in dict.fromkeys(key[:2] for key in rate):
        best = {n: max(rate.get((times, writes, arm, n), 0) for arm in BEST) for n in threads}
        for arm in dict.fromkeys(key[2] for key in rate if key[:2] == (times, writes)):
            cells = [(rate.get((times, writes, arm, n)), best[n]) for n in threads]
            print(
                f"| {times} | {writes} % | {arm} | "
                + " | ".join(
                    "" if r is None else f"{r:.1f} ({r / b:.2f})" if b else f"{r:.1f}"
                    for r, b in cells
                )
                + " |"
            )
    print("\nIn brackets: of the best mmap's.")
    if lost:
        print("Killed, as the cgroup's memory did not suffice: " + ", ".join(lost) + ".")


def main():
    if sys.argv[1:2] == ["--throughput"]:
        throughput(sys.argv[2:])
        return
    scenes = [s for name in sys.argv[1:] for s in read(name)]
    direct = {s.threads: s.each for s in scenes if s.arm == "direct"}
    print(
        "| threads | writes | | kernel instructions per fault that reads | of the best mmap |"
        " without the device's | of the best mmap's | interrupts per fault | pages read per fault |"
    )
    print("|" + "---|" * 9)
    for threads, writes in dict.fromkeys(
        (s.threads, s.writes) for s in scenes if s.arm != "direct"
    ):
        rows = [
            s for s in scenes if (s.threads, s.writes) == (threads, writes) and s.arm != "direct"
        ]
        best = min(s.each for s in rows if s.arm in BEST)
        device = direct[threads]
        for s in sorted(rows, key=lambda s: s.each):
            print(
                f"| {threads} | {writes} % | {s.arm} | {s.each:,.0f} | {s.each / best:.2f} |"
                f" {s.each - device:,.0f} | {(s.each - device) / (best - device):.2f} |"
                f" {s.interrupts:.3f} | {s.pages:.2f} |"
            )
    print()
    if killed:
        print("Killed, as the cgroup's memory did not suffice: " + "; ".join(killed) + ".")
    print(
        "O_DIRECT reads of a page, with their system call: "
        + ", ".join(
            f"{each:,.0f} with {threads} thread{'s' * (threads > 1)}"
            for threads, each in direct.items()
        )
    )


main()
