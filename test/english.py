#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that comments, messages, pages and test names are in plain technical English: one check for
each room. CONTRIBUTING has all rules, RULES those that a program can check. A test name stands
alone in a log, so it must not begin in the middle of a sentence."""

import io
import os
import re
import subprocess
import sys
import tokenize

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES = (
    (
        re.compile(r"(?<!user )(?<![\"`])\b(some|no|every|any)body\b", re.I),
        "name the subject: the user, a process, a job",
    ),
    (re.compile(r"\b(tells?|told|telling)\b", re.I), "say, show, report, print"),
    (
        re.compile(
            r"\b(to|for|of|by|from|with|than|but|as|and|or|where|if) who\b|\bwho asks\b", re.I
        ),
        'name the subject: "the caller", "users that"',
    ),
)
BEGINS = re.compile(r"(and|it|its|with|nor|but|which|also|so)\b.* ")
C_TOKEN = re.compile(
    r'/\*(?P<comment>.*?)\*/|"(?P<text>(?:\\.|[^"\\\n])*)"|//(?P<line>[^\n]*)|'
    r"'(?:\\.|[^'\\\n])+'",
    re.S,
)
# files with text of others, or with the words that this check looks for
NOT_OURS = re.compile(
    r"COPYING|kernel/patches/|/corpus/|topology/test/machines/|test/english\.py|\.svg$"
)


def c_pieces(source):
    """Yield (line, text, is a string) of comments and strings. Strings side by side count as
    one."""
    end, last = 0, None
    for m in C_TOKEN.finditer(source):
        line = source.count("\n", 0, m.start()) + 1
        if m["text"] is not None:
            if last and not source[end : m.start()].strip():
                last[1] += m["text"]
            else:
                if last:
                    yield tuple(last)
                last = [line, m["text"], True]
            end = m.end()
        elif m["comment"] is not None or m["line"] is not None:
            yield line, re.sub(r"\s*\n[\s*]*", " ", m["comment"] or m["line"]), False
    if last:
        yield tuple(last)


def python_pieces(source):
    for t in tokenize.generate_tokens(io.StringIO(source).readline):
        if t.type == tokenize.STRING or t.type == getattr(tokenize, "FSTRING_MIDDLE", -1):
            yield t.start[0], t.string.lstrip("fbrFBR").strip("\"'"), True
        elif t.type == tokenize.COMMENT:
            yield t.start[0], t.string, False


def pieces(path, source):
    if path.endswith((".c", ".h")):
        return c_pieces(source)
    if path.endswith(".py") or re.match(r"#!.*python", source):
        return python_pieces(source)
    # of pages and scripts, every line is checked
    return ((i, line, False) for i, line in enumerate(source.split("\n"), 1))


def is_test(path):
    return "/test/" in f"/{path}" or path.endswith(("_test.py", "_test.c"))


def read():
    """Return {path: [(line, text, is a string), ...]} of the tree."""
    out = {}
    names = subprocess.run(
        ["git", "-C", TOP, "ls-files"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\n")
    for path in names:
        if NOT_OURS.search(path) or not os.path.isfile(f"{TOP}/{path}"):
            continue
        with open(f"{TOP}/{path}", "rb") as f:
            source = f.read()
        if re.search(r"\.([ch]|py|md|[1-8])$", path) or source.startswith(b"#!") or "." not in path:
            try:
                out[path] = list(pieces(path, source.decode()))
            except UnicodeDecodeError:
                pass  # no text
    return out


def problems(path, found, product):
    """Yield the lines of PATH that break a rule. PRODUCT has all strings outside of tests."""
    for line, text, string in found:
        for rule, advice in RULES:
            m = rule.search(text)
            if m:
                yield f'{path}:{line}: "{m[0]}": {advice}'
        if string and is_test(path) and BEGINS.match(text) and text not in product:
            yield f'{path}:{line}: "{text[:60]}": a test\'s name stands alone'


def self_test():
    """Does the check find three planted faults?"""
    source = '/* nobody\'s */ ok(x, "and " "back again"); is(y, "told"); /* fine */ call("whole");'
    found = list(problems("base/test/x.c", list(c_pieces(source)), "and no more"))
    return len(found) == 3 and '"nobody"' in found[0] + found[1] + found[2]


def main():
    if not os.path.exists(f"{TOP}/.git"):
        print("ok 1 - English # skip no repository: the names of its files are not known\n1..1")
        return 0
    found = read()
    product = "\n".join(
        text for path, all_ in found.items() if not is_test(path) for _, text, s in all_ if s
    )
    rooms, failed = {}, 0
    for path, all_ in found.items():
        room = path.split("/")[0] if "/" in path else "top level"
        rooms.setdefault(room, []).extend(problems(path, all_, product))
    checks = [("the check sees words and names that break a rule", [] if self_test() else ["no"])]
    checks += [(f"{room}: plain English", lines) for room, lines in sorted(rooms.items())]
    for number, (name, lines) in enumerate(checks, 1):
        failed += bool(lines)
        print(f"{'not ' if lines else ''}ok {number} - {name}")
        for line in lines:
            print(f"# {line}")
    print(f"1..{len(checks)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
