#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""judges.py and suites.py: what they accept of a guest's output, and what they must refuse. Part of
make check."""

import contextlib
import io
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0:1] = [os.path.dirname(os.path.dirname(HERE)) + "/kernel/test", HERE]

import boot  # noqa: E402
import judges  # noqa: E402
import suites  # noqa: E402

failed = number = 0


class Fake:
    """Stands for boot.py's Guest, with given outputs."""

    def __init__(self, parts, after=""):
        self.parts, self.after = parts, after

    def said(self, words):
        found = re.search(rf"^{re.escape(words)} ?(.*)$", self.after, re.M)
        return found[1] if found else ""

    def count(self, name, what):
        part = self.parts.get(("inside", name), judges.MISSING)
        found = re.search(rf"^nodeos-lwk: {what}: (\d+)$", part[2], re.M)
        return int(found[1]) if found else -1


def failures(judge, *args):
    """Failed checks of a judge."""
    before = boot.failed
    with contextlib.redirect_stdout(io.StringIO()):
        judge(*args)
    return boot.failed - before


def expect(want, got, what):
    global failed, number
    number += 1
    print(f"{'ok' if got == want else 'not ok'} {number} - {what}")
    if got != want:
        print(f"#   {got} failures, expected {want}")
        failed += 1


def both(native, inside):
    return Fake({("native", "a"): native, ("inside", "a"): inside})


def test_equal():
    plan = ["compare a 16M /a"]
    good = ("out\n", 7, "")
    for want, what, native, inside in (
        (0, "equal outputs and statuses pass", good, good),
        (0, "words on stderr may differ", good, ("out\n", 7, "counts")),
        (1, "another output fails", good, ("other\n", 7, "")),
        (1, "another status fails", good, ("out\n", 0, "")),
        (1, "two programs that are late fail", ("", 124, ""), ("", 124, "")),
        (1, "two programs that are killed as late fail", ("", 143, ""), ("", 143, "")),
        (1, "two programs that are not found fail", ("", 127, ""), ("", 127, "")),
    ):
        expect(want, failures(judges.judge_equal, both(native, inside), plan), what)
    two = Fake({("native", "cg"): good, ("inside", "cg"): good})
    found = failures(judges.judge_equal, two, ["compare cg 16M /cg"])
    expect(1, found, "a solver that fails natively, too, fails")
    one = Fake({("inside", "a"): good})
    expect(1, failures(judges.judge_equal, one, plan), "a missing native part fails")
    one = Fake({("native", "a"): good})
    expect(1, failures(judges.judge_equal, one, plan), "a missing part inside fails")
    expect(1, failures(judges.judge_equal, both(good, good), []), "a test without a line fails")
    found = failures(judges.judge_equal, Fake({}), ["scripts", "core_dump", "gromacs", "gigabyte"])
    expect(9, found, "each comparison of a function fails when it is missing")


def test_counts():
    def guest(calls, faults, outside):
        text = (
            f"nodeos-lwk: exits for system calls: {calls}\n"
            f"nodeos-lwk: page faults of the host: {faults}\n"
            f"nodeos-lwk: private mappings outside: {outside}\n"
        )
        return Fake({("inside", f"hello.{kind}"): ("", 7, text) for kind in judges.KINDS})

    expect(0, failures(judges.judge_counts, guest(37, 1, 0)), "usual counts pass")
    expect(3, failures(judges.judge_counts, guest(0, 1, 0)), "no system call at all fails")
    expect(3, failures(judges.judge_counts, guest(37, 20, 0)), "20 page faults fail")
    expect(3, failures(judges.judge_counts, guest(37, 1, 1)), "a mapping outside fails")
    expect(9, failures(judges.judge_counts, Fake({})), "each count fails when it is missing")


def test_refusals():
    part = {("inside", "no-pages"): ("", 125, "needs 16 free huge pages of 2 MiB, and there are 0")}
    expect(0, failures(judges.judge_refusals, Fake(part), ["no_pages"]), "a refusal passes")
    part = {("inside", "no-pages"): ("", 125, "another reason")}
    expect(1, failures(judges.judge_refusals, Fake(part), ["no_pages"]), "another reason fails")
    expect(
        1,
        failures(judges.judge_refusals, Fake({}), ["no_pages"]),
        "a refusal that is missing fails",
    )
    expect(
        8,
        failures(judges.judge_refusals, Fake({}), ["refusals"]),
        "each refusal of the long run fails when it is missing",
    )
    plan = ["outside", "smartmap", "fuzz 5", "gigabyte", "ranks a sm none 2"]
    found = failures(judges.judge_plan, Fake({}), plan)
    # of outside 13, smartmap 12 and 2 refusals, fuzz 2, gigabyte 3, ranks 3
    expect(35, found, "all that the lines of a plan must give fails when it is missing")
    for seen, bad in (("exits=500 irq_exits=499", 12), ("exits=540 irq_exits=500 pf_taken=40", 13)):
        found = failures(judges.judge_outside, Fake({}, f"counters {seen}\n"))
        expect(bad, found, f"a program that computes with counters {seen}")
    found = failures(judges.judge_plan, Fake({}), ["compare memory.pie 48M /memory.pie"])
    expect(2, found, "a comparison, and faults in shared memory, fail when missing")
    found = failures(judges.judge_plan, Fake({}), ["without_paging memory.dyn corners.dyn"])
    expect(
        3, found, "programs without nested paging, and the line that it is off, fail when missing"
    )


def test_boots():
    """The emulator's own mistake makes a guest boot again, and no other end does."""
    removed = "[ 1.0] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\nRIP: 0010:__schedule+0x432/0xbe0\n"
    for texts, boots, what in (
        (["=== end"], 1, "a guest that ends is booted once"),
        ([removed, "=== end"], 2, "a guest whose kernel met a removed breakpoint is booted again"),
        ([removed] * 3, 3, "a guest is booted three times at most"),
        (["[ 1.0] Oops: 0000 [#1] PREEMPT SMP NOPTI\n"], 1, "another oops is the kernel's own"),
    ):
        left, said = list(texts), io.StringIO()
        with contextlib.redirect_stdout(said):
            last = boot.boot_again(lambda left=left: left.pop(0), "a guest")
        expect((boots, texts[boots - 1]), (len(texts) - len(left), last), what)
        again = said.getvalue().count("at __schedule+0x432/0xbe0: a guest\n")
        expect(texts.count(removed), again, f"{what}; each is reported")


def test_kept():
    kept = "a machine is kept: 117\n"
    expect(0, failures(judges.judge_kept, Fake({}, kept)), "a kept machine passes")
    none = "a machine is kept: no\n"
    expect(1, failures(judges.judge_kept, Fake({}, none)), "no kept machine fails")
    expect(1, failures(judges.judge_kept, Fake({})), "a missing line of the kept machine fails")


def test_suites():
    with contextlib.redirect_stdout(io.StringIO()):
        listed = suites.read_list(True)
    found = failures(suites.judge_suites, Fake({}), True)
    expect((True, len(listed)), (found > 0, found), "each missing test of the suites fails")


def main():
    test_equal()
    test_counts()
    test_refusals()
    test_boots()
    test_kept()
    test_suites()
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
