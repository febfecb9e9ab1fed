# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of doc/benchmarks.md, for experiments whose full size is measured there."""

import re


def number(text):
    """ "1,018 (816 to 1,456)" -> (1018, 816, 1456); one number is all three"""
    found = [
        float(n.replace(",", ""))
        for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text.replace("**", ""))
    ]
    if len(found) == 1:
        return found[0], found[0], found[0]
    return found[0], found[1], found[2]


def table(top, after, head):
    """Rows, without markup, of the first table below the text AFTER whose first line
    begins with HEAD."""
    with open(f"{top}/doc/benchmarks.md", encoding="utf-8") as f:
        text = f.read()
    at = text.index(after)
    lines = text[text.index(head, at) :].splitlines()
    rows = []
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.replace("**", "").strip() for cell in line.strip("|\n").split("|")])
    return rows
