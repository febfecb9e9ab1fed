#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check which rooms of the source tree use which: compare a table of allowed arrows with the
#include lines and with calls. Also refused are circles of source files, a room without a README,
and a room that is too large. Part of make check. rooms.py --table prints the numbers of files and
lines of each room, as Markdown; rooms.py --installed prints the names of the rooms that are
installed."""

import os
import re
import subprocess
import sys

SOURCE = os.path.abspath(
    os.environ.get("NODEOS_SOURCE")
    or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
)
MAX_LINES = 6000  # lines of a room's sources without tests; split a larger room
DIVIDED = ("dimmap", "guest", "lwk", "tools")  # rooms whose folders are counted separately

# Rooms that are installed, with code that root may run.
INSTALLED = [
    "base",
    "topology",
    "ranks",
    "manifest",
    "host",
    "jobplan",
    "limits",
    "hugepages",
    "serviceos",
    "container",
    "counters",
    "contention",
    "contend",
    "placement",
    "advice",
    "migration",
    "lwk",
    "guest",
    "vnode",
    "inventory",
    "move",
    "collect",
    "launch",
    "report",
    "control",
    "tools",
    "spank",
]
# Rooms that each room may include besides its own files, lowest first. Rooms that are connected
# only by kernel interfaces and files have no arrows.
CORE = ["base", "topology", "manifest", "host"]
ALLOWED = {
    "base": [],
    "topology": ["base"],
    "ranks": ["base", "topology"],  # only the codes of refusals, see ONLY
    "manifest": ["base", "topology"],
    "dimmap": ["base"],
    "host": [
        "base",
        "topology",
        "manifest",
        "dimmap",
    ],  # only dimmap's ioctl numbers, see ONLY
    "jobplan": CORE,
    "limits": CORE,
    "hugepages": CORE + ["lwk"],  # only the record of counts, see ONLY
    "serviceos": ["base", "topology", "host"],
    "container": CORE + ["limits", "hugepages", "jobplan"],
    "counters": CORE,
    "contention": CORE + ["container", "counters"],
    "contend": CORE + ["container", "counters", "contention", "migration"],
    "placement": CORE + ["container", "counters", "contention"],
    "advice": ["base", "counters"],
    "lwk": ["base"],
    "guest": ["base", "topology", "manifest"],
    "vnode": CORE + ["serviceos"],
    "inventory": ["base"],
    "move": CORE + ["vnode", "inventory"],
    "migration": CORE + ["jobplan", "container", "counters", "contention", "placement", "control"],
    "collect": CORE + ["counters", "contention", "advice"],
    "launch": CORE + ["jobplan", "serviceos", "hugepages", "container", "ranks"],
    "report": CORE + ["jobplan", "serviceos", "container"],
    "control": CORE + ["jobplan", "container", "report", "ranks"],
    "tools": CORE
    + [
        "ranks",
        "jobplan",
        "serviceos",
        "hugepages",
        "container",
        "counters",
        "contention",
        "collect",
        "guest",
        "vnode",
        "launch",
        "report",
        "control",
    ],
    "bench": ["base", "topology", "ranks"],
    "spank": ["base", "manifest", "host", "launch"],
    "kernel": [],
    "etc": [],
    "contrib": [],
    "doc": [],
    "test": ["bench"],  # only what plugins of QEMU need, see ONLY
}
# {(from, to): headers}: these arrows allow only these headers.
ONLY = {
    ("host", "dimmap"): ["dimmap/dimmap_ioctl.h"],
    ("hugepages", "lwk"): ["lwk/counted.h"],
    ("ranks", "topology"): ["topology/refusal.h"],
    ("launch", "serviceos"): ["serviceos/state.h", "serviceos/quiet.h"],
    ("report", "serviceos"): ["serviceos/state.h"],
    ("test", "bench"): ["bench/lib/block.h"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources():
    """Return {path of each .c and .h of the rooms, from the top of the tree: paths of this tree
    that the file includes}."""
    listed = []
    for room in ALLOWED:
        for folder, folders, names in os.walk(os.path.join(SOURCE, room)):
            folders[:] = [f for f in folders if f not in ("patches", "corpus")]
            listed += [
                os.path.relpath(os.path.join(folder, n), SOURCE)
                for n in names
                if n.endswith((".c", ".h"))
            ]
    known = set(listed)
    out = {}
    for path in listed:
        with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
            found = INCLUDE.findall(f.read())
        beside = os.path.dirname(path)
        out[path] = sorted(
            {p for i in found for p in (i, os.path.normpath(os.path.join(beside, i))) if p in known}
        )
    return out


def room_of(path):
    return path.split("/")[0]


def is_test(path):
    return "/test/" in path or re.search(r"_test\.[ch]$", path) is not None


def wrong_arrows(includes):
    """Return the includes that the table does not allow. A test may use the arrows of its room, and
    the helpers in base/test."""
    wrong = []
    for path, found in includes.items():
        here = room_of(path)
        for to in found:
            there = room_of(to)
            if there == here or there in ("base",) and here not in ("kernel",):
                continue
            if there not in ALLOWED[here]:
                wrong.append(
                    f"{path} includes {to}: {here} may include"
                    f" {', '.join(ALLOWED[here]) or 'nothing'}"
                )
            elif (here, there) in ONLY and to not in ONLY[here, there] and not is_test(path):
                wrong.append(
                    f"{path} includes {to}: of {there}, {here} may include"
                    f" {', '.join(ONLY[here, there])} only"
                )
    return wrong


def circles(graph):
    """Return the strongly connected groups of more than one node (Tarjan 1972), each sorted."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            group = []
            while True:
                w = stack.pop()
                on.discard(w)
                group.append(w)
                if w == v:
                    break
            if len(group) > 1:
                out.append(sorted(group))

    sys.setrecursionlimit(10000)
    for v in sorted(graph):
        if v not in index:
            visit(v)
    return out


def objects():
    """Return the object files of the build tree: {unit: path}."""
    units = {}
    build = os.environ.get("NODEOS_BUILD")
    for folder, _, names in os.walk(build or os.devnull):
        for name in names:
            if name.endswith(".o"):
                where = os.path.relpath(folder, build).replace("/.libs", "")
                # automake puts a target's name before that of the source
                unit = f"{where}/{name[:-2].rsplit('-', 1)[-1]}"
                if (
                    os.path.exists(os.path.join(SOURCE, unit + ".c"))
                    and not is_test(unit + ".c")
                    and room_of(unit) in ALLOWED
                ):
                    units[unit] = os.path.join(folder, name)
    return units


def calls(units):
    """Return {unit: units whose functions or variables it uses}, by the symbols of the object
    files."""
    defined, wanted = {}, {}
    for unit, path in units.items():
        for line in subprocess.run(
            ["nm", path], capture_output=True, text=True, check=True
        ).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                wanted.setdefault(unit, set()).add(symbol)
            elif kind in "TDBRC":
                defined.setdefault(symbol, set()).add(unit)
    graph = {unit: set() for unit in units}
    for unit, symbols in wanted.items():
        for owners in (defined.get(s, ()) for s in symbols):
            if len(owners) == 1:  # main and similar names make no arrow
                graph[unit] |= set(owners) - {unit}
    return graph


def module_calls():
    """Return the calls in dimmap/module as calls() does. Only a build of the kernel makes objects
    of the module, so functions are found by their names in the sources."""
    text, owner = {}, {}
    for name in sorted(os.listdir(os.path.join(SOURCE, "dimmap/module"))):
        if name.endswith(".c") and not name.endswith(".mod.c"):
            with open(os.path.join(SOURCE, "dimmap/module", name), encoding="utf-8") as f:
                text[f"dimmap/module/{name[:-2]}"] = re.sub(
                    r"/\*.*?\*/", "", f.read(), flags=re.DOTALL
                )
    for unit, t in text.items():
        for m in re.finditer(
            r"^(?!static)\w[\w\s*]*?\b(dimmap\w+)\([^;{]*\)\s*\{", t, re.MULTILINE
        ):
            owner[m[1]] = unit
    return {
        unit: {owner[w] for w in set(re.findall(r"\bdimmap\w+", t)) if owner.get(w, unit) != unit}
        for unit, t in text.items()
    }


def calls_against_the_table(graph):
    return [
        f"{a} calls {b}"
        for a, to in sorted(graph.items())
        for b in sorted(to)
        if room_of(a) != room_of(b) and room_of(b) not in ALLOWED[room_of(a)]
    ]


def lines(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return sum(1 for _ in f)


def sizes(includes):
    """Return {room: (lines, files)} of the sources without tests. Folders of DIVIDED rooms are
    separate."""
    out = {}
    for path in includes:
        room = room_of(path)
        if room in ("kernel", "test", "doc", "etc", "contrib"):
            continue
        if room in DIVIDED and path.count("/") > 1:
            room = "/".join(path.split("/")[:2])
        if not is_test(path):
            n, files = out.get(room, (0, 0))
            out[room] = (n + lines(path), files + 1)
    return out


def table(includes):
    print("| room | files | lines | may include |\n|---|---|---|---|")
    for room, (n, files) in sorted(sizes(includes).items(), key=lambda x: -x[1][0]):
        print(
            f"| {room}/ | {files} | {n:,} | {', '.join(ALLOWED[room.split('/')[0]]) or 'nothing'} |"
        )


def report(checks):
    """Print CHECKS, a list of (name, lines of findings), as TAP. Returns the exit status."""
    failed = 0
    for number, (what, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {what}")
        for w in wrong:
            print(f"#   {w}")
        failed += bool(wrong)
    print(f"1..{len(checks)}")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--installed"]:
        print("\n".join(INSTALLED))
        return 0
    includes = sources()
    if sys.argv[1:] == ["--table"]:
        table(includes)
        return 0
    graph = calls(objects())
    rooms = {room: set(to) for room, to in ALLOWED.items()}
    checks = [
        ("the table of allowed arrows has no circle", circles(rooms)),
        ("each #include is allowed by the table", wrong_arrows(includes)),
        (
            "the object files are found",
            (
                []
                if len(graph) > 100 or not os.environ.get("NODEOS_BUILD")
                else [f"only {len(graph)} object files"]
            ),
        ),
        (
            "each call from one room to another is allowed by the table",
            calls_against_the_table(graph),
        ),
        (
            "source files do not call each other in a circle",
            [" <-> ".join(c) for c in circles(graph)],
        ),
        (
            "source files of the kernel module do not call each other in a circle",
            [" <-> ".join(c) for c in circles(module_calls())],
        ),
        (
            "each room has a README",
            [r for r in ALLOWED if not os.path.exists(os.path.join(SOURCE, r, "README"))],
        ),
        (
            f"no room has more than {MAX_LINES} lines",
            [f"{r}: {n}" for r, (n, _) in sizes(includes).items() if n > MAX_LINES],
        ),
    ]
    # The check must find these mistakes, which are made for this test.
    planted = dict(includes)
    planted["base/words.c"] = ["container/ledger.h"]
    checks.append(
        (
            "the check finds an #include that the table does not allow",
            []
            if wrong_arrows(planted) != wrong_arrows(includes)
            else ["the mistake was not found"],
        )
    )
    checks.append(
        (
            "the check finds a circle",
            (
                []
                if circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == [["a", "b", "c"]]
                else ["the mistake was not found"]
            ),
        )
    )
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
