#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the functions of the C sources. A name is defined in one file only, static or not, so that
a search finds one function. No function is longer than a screen, or has too many parameters for a
reader. Callers check the result of NAME_find(), which can be NULL. Tests, kernel/ and dimmap/module
are left out. Part of make check. Needs universal-ctags. "functions.py --list" prints each fault on
a line, "functions.py --table" numbers of each room as Markdown."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import rooms

MAX_LINES = 60  # lines from a function's name to its closing brace
MAX_PARAMETERS = 6

# {name that several files may define: reason}
SEVERAL = {
    "main": "each program has its own",
    "qemu_plugin_install": "QEMU loads it from each plugin",
}

OUTSIDE = re.compile(r"^(kernel|test)/|^dimmap/(module|test)/|(^|/)fuzz_\w+\.c$")

UNSEEN_RESULT = re.compile(r"\b\w+_find\((?:[^();]|\([^();]*\))*\)(?:->|\[)")


def files():
    return sorted(p for p in rooms.sources() if not OUTSIDE.search(p) and not rooms.is_test(p))


def count_parameters(signature):
    """Return the number of parameters of a signature: 2 for "(int a,void (*f)(int, int))"."""
    depth, count = 0, 0 if signature in ("()", "(void)", "") else 1
    for c in signature[1:-1]:
        depth += (c in "([{") - (c in ")]}")
        count += c == "," and depth == 0
    return count


def functions(top, paths):
    """Return each function as (file, name, line, number of lines, number of parameters)."""
    out = subprocess.run(
        [
            "ctags",
            "--options=NONE",
            "--languages=C",
            "--langmap=C:.c.h",
            "--kinds-C=f",
            "--fields=+neS",
            "--output-format=json",
            "-f",
            "-",
            "-L",
            "-",
        ],
        cwd=top,
        input="\n".join(paths),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = []
    for tag in map(json.loads, out.splitlines()):
        found.append(
            (
                tag["path"],
                tag["name"],
                tag["line"],
                tag["end"] - tag["line"] + 1,
                count_parameters(tag.get("signature", "")),
            )
        )
    return sorted(found)


def unseen(top, found):
    """Return the files in which ctags finds fewer or more functions than there are bodies. A body
    begins with a brace in column 0, where clang-format puts it."""
    wrong = []
    for path in files() if top == rooms.SOURCE else []:
        with open(os.path.join(top, path), encoding="utf-8") as f:
            bodies = sum(line.rstrip() == "{" for line in f)
        seen = sum(f[0] == path for f in found)
        if bodies != seen:
            wrong.append(f"{path}: ctags sees {seen} functions of {bodies}")
    return wrong


def several(found):
    places = {}
    for path, name, line, _, _ in found:
        places.setdefault(name, {}).setdefault(path, f"{path}:{line}")
    return {
        name: f"{name}: {', '.join(at.values())}"
        for name, at in sorted(places.items())
        if len(at) > 1 and name not in SEVERAL
    }


def long(found):
    return {
        f"{path}:{name}": f"{path}:{line}: {name}: {n} lines"
        for path, name, line, n, _ in found
        if n > MAX_LINES
    }


def wide(found):
    return {
        f"{path}:{name}": f"{path}:{line}: {name}: {n} parameters"
        for path, name, line, _, n in found
        if n > MAX_PARAMETERS
    }


def unchecked(top, paths):
    """Return the places that use the result of a NAME_find() without a check."""
    wrong = []
    for path in paths:
        with open(os.path.join(top, path), encoding="utf-8") as f:
            code = f.read()
        for m in UNSEEN_RESULT.finditer(code):
            wrong.append(f"{path}:{code.count(chr(10), 0, m.start()) + 1}: {m[0]}")
    return wrong


def plant():
    """Return the findings of the check in two files that break each rule once."""
    body = "{\n" + "\tx++;\n" * (MAX_LINES - 3) + "}\n\n"
    parameters = ", ".join(f"int p{i}" for i in range(MAX_PARAMETERS))
    with tempfile.TemporaryDirectory() as top:
        with open(os.path.join(top, "a.c"), "w") as f:
            f.write(f"static int look(void)\n{{\n}}\n\nint fits(void)\n{body}")
            f.write(f"int few({parameters})\n{{\n}}\n")
        with open(os.path.join(top, "b.c"), "w") as f:
            f.write("static int look(int (*f)(int, int), int n)\n{\n}\n\n")
            f.write(f"int tall(void)\n{body.replace('{', '{' + chr(10), 1)}")
            f.write(f"int broad({parameters},\n\t  int more)\n{{\n}}\n")
            f.write(
                "int use(void)\n{\n\treturn x_find(1,\n\t\tf(2))->n + (x_find(1) ? 1 : 0);\n}\n"
            )
        found = functions(top, ["a.c", "b.c"])
        used = [text[-3:] for text in unchecked(top, ["a.c", "b.c"])]
    return list(several(found)), list(long(found)), list(wide(found)), used


def table(found):
    print("| room | functions | median lines | longest | most parameters |\n|---|---|---|---|---|")
    sizes = {}
    for path, _, _, n, parameters in found:
        sizes.setdefault(rooms.room_of(path), []).append((n, parameters))
    for room, of in sorted(sizes.items(), key=lambda x: -len(x[1])):
        lengths = sorted(n for n, _ in of)
        print(
            f"| {room}/ | {len(of):,} | {lengths[len(lengths) // 2]} | {lengths[-1]}"
            f" | {max(p for _, p in of)} |"
        )


def main():
    if not shutil.which("ctags"):
        # in a repository ctags is required: contrib/install-deps installs it
        if os.path.exists(os.path.join(rooms.SOURCE, ".git")):
            print("not ok 1 - universal-ctags is installed\n1..1")
            return 1
        print("1..0 # SKIP no ctags: install universal-ctags")
        return 0
    found = functions(rooms.SOURCE, files())
    if sys.argv[1:] == ["--list"]:
        for offenders in (several(found), long(found), wide(found)):
            print("\n".join(offenders.values()))
        return 0
    if sys.argv[1:] == ["--table"]:
        table(found)
        return 0
    checks = [
        ("the sources are found", [] if len(found) > 1000 else [f"{len(found)} functions"]),
        ("ctags sees every function", unseen(rooms.SOURCE, found)),
        ("no name is defined in two files", list(several(found).values())),
        (f"no function has more than {MAX_LINES} lines", list(long(found).values())),
        (
            f"no function has more than {MAX_PARAMETERS} parameters",
            list(wide(found).values()),
        ),
        ("results of NAME_find() are checked before use", unchecked(rooms.SOURCE, files())),
        # the check must find the planted faults, and no others
        (
            "the check finds one planted offender of each kind",
            (
                []
                if plant() == (["look"], ["b.c:tall"], ["b.c:broad"], [")->"])
                else [f"found: {plant()}"]
            ),
        ),
    ]
    return rooms.report(checks)


if __name__ == "__main__":
    sys.exit(main())
