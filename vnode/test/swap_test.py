#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeosctl vnode swap with a stand-in for ssh, which notes each command and ends as the case says:
the moves that are made, and the exit code. Part of make check."""

import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("NODEOS_BUILD") or "."
SSH = """#!/bin/sh
echo "$*" >>{top}/calls
exit $(sed -n "$(wc -l <{top}/calls)p" {top}/codes)
"""
FIRST = "a nodeosctl vnode move v1 b"
SECOND = "b nodeosctl vnode move v2 a"
UNDO = "b nodeosctl vnode move v1 a"
# exit codes of the moves, the moves that must be made, exit code, words of the message
CASES = [
    ((0, 0), [FIRST, SECOND], 0, ""),
    ((1,), [FIRST], 1, "v1 stays on a, and v2 on b"),
    ((3,), [FIRST], 3, "move --recover v1 on a"),
    ((255,), [FIRST], 3, "move --recover v1 on a"),
    ((0, 1, 0), [FIRST, SECOND, UNDO], 1, "v2 stays on b, so v1 is on a again"),
    ((0, 3), [FIRST, SECOND], 3, "move --recover v2 on b"),
    ((0, 255), [FIRST, SECOND], 3, "move --recover v2 on b"),
    ((0, 1, 1), [FIRST, SECOND, UNDO], 3, "both vnodes are on b"),
    ((0, 1, 3), [FIRST, SECOND, UNDO], 3, "move --recover v1 on b"),
]
REFUSED = ["v1 a v2", "v1 a v1 b", "v1 a v2 a", "v1 -oX v2 b", "V1 a v2 b", "v1 a v2 b extra"]
number = failed = 0


def ok(good, what, detail=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {number} - {what}", flush=True)
    if not good:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="", flush=True)


def swap(words, top):
    argv = [f"{BUILD}/nodeosctl", "vnode", "swap", f"--command={top}/ssh", *words.split()]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


def main():
    with tempfile.TemporaryDirectory(prefix="nodeos-swap-") as top:
        with open(f"{top}/ssh", "w") as f:
            f.write(SSH.format(top=top))
        os.chmod(f"{top}/ssh", 0o755)
        for codes, moves, code, words in CASES:
            open(f"{top}/calls", "w").close()
            with open(f"{top}/codes", "w") as f:
                f.writelines(f"{c}\n" for c in codes)
            r = swap("v1 a v2 b", top)
            with open(f"{top}/calls") as f:
                calls = f.read().splitlines()
            what = f"swap whose moves end with {' '.join(map(str, codes))}"
            ok(calls == moves, f"{what}: these moves are made, and no other", calls)
            ok(r.returncode == code, f"{what}: exit code {code}", r)
            ok(words in r.stderr and bool(words) == bool(r.stderr), f"{what}: message", r.stderr)
        for words in REFUSED:
            open(f"{top}/calls", "w").close()
            r = swap(words, top)
            with open(f"{top}/calls") as f:
                ok(r.returncode == 2 and not f.read(), f"swap {words} is refused", r)
        argv = [
            f"{BUILD}/nodeosctl",
            "vnode",
            "swap",
            "--command=/nonexistent",
            *"v1 a v2 b".split(),
        ]
        r = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        ok(r.returncode == 1, "without the program that runs commands, nothing has changed", r)
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
