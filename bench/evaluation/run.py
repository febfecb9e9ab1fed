# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures each part of the evaluation (doc/evaluation.md) whose inputs have changed since its last
measurement. Reports for each number of doc/evaluation.md whether the measured value is within the
spread stated there. Writes tables and plots to evaluation.md in --out, too. All parts except
planner boot guests; the first guest needs root to be built."""

import concurrent.futures
import importlib
import json
import os
import re
import subprocess

from bench.lib.context import TOP, Failed, load, measured, read, store
from bench.lib.options import Option, words
from bench.lib.tables import written

HERE = f"{TOP}/bench/evaluation"
PAGE = f"{TOP}/doc/evaluation.md"
QUANTITIES = f"{HERE}/quantities.json"
# in the order of their run time
PARTS = ("planner", "variability", "caches", "coupled", "launch", "outofcore")
KEPT = False  # each part keeps its own results
MINUTES = {"quick": 30, "full": 150}
OPTIONS = (
    Option("only", "P+P", "parts to measure", list(PARTS), None, words(*PARTS)),
    Option(
        "nodeosctl",
        "FILE",
        "nodeosctl for the part planner, instead of a new build",
        read=os.path.abspath,
    ),
    Option("record", "", "write the measured values to doc/evaluation.md and quantities.json"),
)


def refused(values):
    """Return the reason why the options cannot be combined, or None."""
    if values.record and values.quick:
        return "--record is for results of full size; do not combine it with --quick"
    return None


def module_of(name):
    """Return the module of the part NAME."""
    return importlib.import_module(f"bench.evaluation.{name}")


def side_by_side(names, modules, processors):
    """Divide NAMES into groups. The parts of a group run at the same time: each keeps one processor
    busy, and its counts do not depend on other processors. A group has adjacent parts."""
    groups = []
    for name in names:
        if (
            groups
            and len(groups[-1]) < processors
            and all(getattr(modules[n], "ONE_PROCESSOR", False) for n in (groups[-1][-1], name))
        ):
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def part(context, name, module):
    """Measure one part."""
    given = {o.name: getattr(context.options, o.name) for o in module.OPTIONS}
    return measured(context.part(name, module, **given), module)


def run(context):
    """Measure the parts, and return {results: {part: raw}, failures: {part: reason}, quick}."""
    names = [name for name in PARTS if name in context.options.only]
    modules = {name: module_of(name) for name in names}
    results, failures = {}, {}
    for group in side_by_side(names, modules, os.cpu_count() or 1):
        with concurrent.futures.ThreadPoolExecutor(len(group)) as pool:
            running = {name: pool.submit(part, context, name, modules[name]) for name in group}
        for name, future in running.items():
            try:
                results[name] = future.result()
            except (Failed, OSError, subprocess.SubprocessError) as e:
                failures[name] = str(e)
                context.say(f"{name}: FAILED: {e}")
    text = []
    for name, raw in results.items():
        for file, svg in modules[name].plots(raw).items():
            store(f"{context.out}/{file}", svg)
            text.append(f"## {modules[name].TITLE}\n\n![{modules[name].TITLE}]({file})")
        text.append(written(modules[name].tables(raw)))
    store(f"{context.out}/evaluation.md", "\n\n".join(["# What was measured", *text]) + "\n")
    context.say(f"tables and plots: {context.out}/evaluation.md")
    if context.options.record and not failures:
        record(results, modules)
        context.say("recorded in doc/evaluation.md and bench/evaluation/quantities.json")
    return {"results": results, "failures": failures, "quick": context.options.quick}


def block(name):
    """Return the marks around the tables of a part in the page."""
    return f"<!-- evaluate {name} -->\n", f"<!-- end {name} -->"


def filled(page, name, text):
    """Return PAGE with TEXT in place of the text between the marks of NAME."""
    first, last = block(name)
    pattern = re.compile(re.escape(first) + ".*?" + re.escape(last), re.S)
    if not pattern.search(page):
        raise ValueError(f'doc/evaluation.md has no block "{name}"')
    return pattern.sub(lambda _: f"{first}{text.strip()}\n{last}", page)


def record(results, modules):
    """Write the measured values to doc/evaluation.md, and keep its spreads. Copy the values of
    parts that doc/benchmarks.md has from there."""
    quantities, page = load(QUANTITIES), read(PAGE)
    for name, module in modules.items():
        raw = module.stated() if hasattr(module, "stated") else results[name]
        if not hasattr(module, "stated"):
            found = module.quantities(raw)
            for q in quantities:
                q["value"] = found.get(q["name"], q["value"])
        page = filled(page, name, written(module.tables(raw)))
        os.makedirs(f"{TOP}/doc/evaluation", exist_ok=True)
        for file, svg in module.plots(raw).items():
            store(f"{TOP}/doc/evaluation/{file}", svg)
    lines = ",\n".join(json.dumps(q, ensure_ascii=False) for q in quantities)
    store(QUANTITIES, f"[\n{lines}\n]\n")
    store(PAGE, page)
