# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of glibc, busybox and perl, natively and inside: the lines of suites.list for guest.sh, and
what they must give."""

import os
import re

from boot import ok

HERE = os.path.dirname(os.path.abspath(__file__))


def read_list(short):
    """[(suite and test, reason why it differs or "")]"""
    tests = []
    with open(f"{HERE}/suites.list", encoding="utf-8") as f:
        for line in f:
            found = re.fullmatch(r"(\w+ \S+)( \+)?(?: differs: (.+))?\n", line)
            if found and (found[2] or not short):
                tests.append((found[1], found[3] or ""))
    return tests


def make_suite_plan(short):
    return [f"suite {test}" for test, _ in read_list(short)]


def append_archive(initramfs, archive):
    """Append ARCHIVE to INITRAMFS at a multiple of 512 bytes, where the kernel expects it."""
    with open(initramfs, "ab") as to, open(archive, "rb") as suites:
        to.write(b"\0" * (-to.tell() % 512))
        to.write(suites.read())


# seconds: a native test that takes longer may exceed its limit inside on a slow machine
SLOW = 6
LATE = (124, 143)  # statuses of a test that has exceeded its limit


def judge_suites(g, short, only=None):
    """G: class Guest. Prints the verdicts that differ."""
    equal, ran, late = 0, 0, 0
    for test, reason in read_list(short):
        name = test.replace(" ", ":")
        if only and not re.search(only, f"suite {test}"):
            continue
        native, inside = (g.parts.get((part, name), ("", -1, "")) for part in ("native", "inside"))
        seconds = (g.said(f"seconds of {name}:") or "0 0").split()
        ran += 1
        agree = native[:2] == inside[:2] and native[1] not in (-1, *LATE)
        equal += agree
        detail = f"native: {native[1]} {native[0]}inside: {inside[1]} {inside[0]}{inside[2]}"
        if -1 in (native[1], inside[1]):
            ok(False, f"{name}: has run", detail)
        elif inside[1] in LATE and int(seconds[0]) >= SLOW:
            late += 1
            print(f"# {name}: no verdict, as this machine is slow: {' and '.join(seconds)} s")
        elif agree == bool(reason):
            as_listed = "no longer differs" if reason else "runs inside as natively"
            ok(False, f"{name}: {as_listed}", detail)
        elif reason:
            print(f"# {name} differs: {reason}")
    text = f"tests of glibc, busybox and perl: {equal} of {ran} as natively, {late} late"
    ok(ran > 0 and late * 2 < ran, text, "too many are late")
