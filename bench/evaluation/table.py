# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the parts, and a verdict for each number that doc/evaluation.md states."""

from bench.evaluation.run import PARTS, QUANTITIES, module_of
from bench.lib.context import load
from bench.lib.tap import Verdict


def tables(raw):
    return [
        table for name, found in raw["results"].items() for table in module_of(name).tables(found)
    ]


def compare(stated, found, quick):
    """Return verdicts on all numbers of STATED, and on numbers that only FOUND has."""
    out = []
    for q in stated:
        name, value, spread = q["name"], q["value"], q["spread"]
        if name not in found:
            out.append(Verdict(True, name, "not measured"))
        elif quick and not q.get("quick", True):
            out.append(Verdict(True, name, "full size only"))
        else:
            text = f"{name}: {found[name]:g} {q['unit']}, stated {value:g} ± {spread:g}"
            out.append(Verdict(abs(found[name] - value) <= spread + 1e-9, text))
    known = {q["name"] for q in stated}
    new = [f"{name}: {value:g}" for name, value in found.items() if name not in known]
    return out + [Verdict(True, text, "not stated") for text in new]


def judge(raw):
    found = {}
    for name, results in raw["results"].items():
        found |= module_of(name).quantities(results)
    named = [n for n in PARTS if n in raw["results"] or n in raw["failures"]]
    stated = [q for q in load(QUANTITIES) if q["name"].partition(".")[0] in named]
    failed = [f"{name}: the experiment failed" for name in raw["failures"]]
    return compare(stated, found, raw["quick"]) + [Verdict(False, text) for text in failed]
