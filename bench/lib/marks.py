# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of counters that QEMU's plugins write at markers (mark.c)."""

from bench.lib.context import Failed

ID, NANOSECONDS, USER, KERNEL, REPEATED, CPU0 = range(6)  # columns of insn-count.c


def rows(path):
    """Read lists of numbers, one on each line."""
    with open(path, encoding="utf-8") as f:
        return [[int(word) for word in line.split()] for line in f]


def pair(found, at):
    """Rows AT and AT + 1, the first and the second marker of a program."""
    if len(found) < at + 2:
        raise Failed(f"{len(found)} marks, where {at + 2} and more should be")
    first, second = found[at : at + 2]
    if (first[ID], second[ID]) != (1, 2):
        raise Failed(f"markers {first[ID]} and {second[ID]} where 1 and 2 should be")
    return first, second


def explained(found, at):
    """Check that the guest's log explains every row."""
    if at != len(found):
        raise Failed(f"{len(found)} marks, {at} of them explained")
