# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the tables of doc/benchmarks.md. They have the results of experiments of full size."""

import re

from bench.lib.context import TOP, read


def number(text):
    """Convert "1,018 (816 to 1,456)" to [1018, 816, 1456]: median, minimum, maximum. A single
    number stands for all three."""
    found = [
        float(n.replace(",", ""))
        for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text.replace("**", ""))
    ]
    return found[:3] if len(found) > 1 else found * 3


def table(after, head):
    """Return the rows of a table, without markup: the first table after the text AFTER whose header
    begins with HEAD."""
    text = read(f"{TOP}/doc/benchmarks.md")
    at = text.index(after)
    lines = text[text.index(head, at) :].splitlines()
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.replace("**", "").strip() for cell in line.strip("|\n").split("|")])
    return rows
