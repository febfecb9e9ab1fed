# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the lines of counters that QEMU's plugins write at markers (mark.c)."""

from bench.lib.context import Failed

ID, NANOSECONDS, USER, KERNEL, REPEATED, CPU0 = range(6)  # columns of the lines of insn-count.c


def rows(path):
    """Read the file PATH. Return a list of numbers for each line."""
    with open(path, encoding="utf-8") as f:
        return [[int(word) for word in line.split()] for line in f]


def pair(found, at):
    """Return the rows AT and AT + 1 of FOUND. They must be marker 1 and marker 2 of a program."""
    if len(found) < at + 2:
        raise Failed(f"{len(found)} marks; at least {at + 2} were expected")
    first, second = found[at : at + 2]
    if (first[ID], second[ID]) != (1, 2):
        raise Failed(
            f"marks {at} and {at + 1} have the IDs {first[ID]} and {second[ID]}; 1 and 2 were"
            " expected"
        )
    return first, second


def explained(found, at):
    """Check that no row is left. The guest's log has used the first AT rows."""
    if at != len(found):
        raise Failed(f"{len(found)} marks, but the guest's log has used only {at}")
