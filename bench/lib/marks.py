# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the lines of counters that QEMU's plugins write at markers (mark.c)."""

from bench.lib.context import Failed

ID, NANOSECONDS, USER, KERNEL, REPEATED, CPU0 = range(6)  # columns of insn-count.c


def rows(path):
    """Read lists of numbers, one on each line."""
    with open(path, encoding="utf-8") as f:
        return [[int(word) for word in line.split()] for line in f]


def pair(found, at):
    """The rows AT and AT + 1, which must be the first and the second marker of a program."""
    if len(found) < at + 2:
        raise Failed(f"there are {len(found)} marks; at least {at + 2} were expected")
    first, second = found[at : at + 2]
    if (first[ID], second[ID]) != (1, 2):
        raise Failed(f"markers {first[ID]} and {second[ID]}; 1 and 2 were expected")
    return first, second


def explained(found, at):
    """Check that the guest's log explains every row: AT rows are explained."""
    if at != len(found):
        raise Failed(f"{len(found)} marks, {at} of them explained")
