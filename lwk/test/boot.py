#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a small guest whose emulated processor has SVM, load KVM there, and run programs natively
and with nodeos-lwk: outputs and exit statuses must be equal.
Usage: boot.py [--short|--long] KERNEL TREE LWK WORKDIR, with KERNEL and TREE of kernel/build
--variant debian; --short: fewer programs, in less than two minutes. Needs QEMU, cpio and
busybox-static. Prints TAP."""

import argparse
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/kernel/test")

import boot  # noqa: E402
from boot import Boot, Machine, ok, same  # noqa: E402

PROGRAMS = ("hello", "memory", "threads", "signals", "processes", "compute")
KINDS = {
    "dyn": ["-fPIE", "-pie"],
    "pie": ["-fPIE", "-static-pie"],
    "static": ["-fno-pie", "-no-pie", "-static"],
}
MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd")
PAGES = 200  # huge pages of the guest


def compile_programs():
    """Each program in three kinds of linking; returns their paths."""
    made = []
    for name in PROGRAMS:
        for kind, flags in KINDS.items():
            made.append(f"{boot.WORK}/{name}.{kind}")
            command = ["gcc", "-O1", "-pthread", "-D_GNU_SOURCE", *flags, "-o", made[-1]]
            subprocess.run([*command, f"{HERE}/programs/{name}.c", "-lm"], check=True)
    return made


def unpack_modules(tree):
    """KVM and what it needs, in the order of loading."""
    made = []
    for n, name in enumerate(MODULES):
        found = glob.glob(f"{tree}/lib/modules/*/kernel/**/{name}.ko.xz", recursive=True)
        if not found:
            continue  # built in
        made.append(f"{boot.WORK}/{n}-{name}.ko")
        with open(made[-1], "wb") as f:
            subprocess.run(["xz", "-dc", found[0]], check=True, stdout=f)
    return made


def make_plan(short):
    """Lines for guest.sh."""
    kinds = list(KINDS)
    lines = []
    for name, size in (("hello", 16), ("memory", 48), ("threads", 32), ("processes", 16)):
        lines += [f"compare {name}.{kind} {size}M /{name}.{kind}" for kind in kinds]
    lines += [f"compare signals.{k} 16M /signals.{k}" for k in (kinds[:1] if short else kinds)]
    lines += ["outside"]
    lines += ["without_kvm", "no_pages"]
    return lines


class Guest:
    """What a guest printed for each test: {(part, name): (output, status, errors)}."""

    def __init__(self, machine, append=""):
        do = f"do=pages:{PAGES},run:/busybox:sh:/guest.sh"
        self.boot = Boot(machine, f"clocksource=tsc mitigations=off {append} {do}", limit=900)
        self.parts = {}
        found = r"^=== (native|inside) (\S+)\n(.*?)^=== status (\d+)\n(.*?)^=== \.$"
        for part, name, out, status, err in re.findall(found, self.boot.after, re.M | re.S):
            self.parts[part, name] = (out, int(status), err)

    def said(self, words):
        found = re.search(rf"^{re.escape(words)} ?(.*)$", self.boot.after, re.M)
        return found[1] if found else ""

    def count(self, name, what):
        """A line of --counts, -1: it is not there."""
        found = re.search(rf"^nodeos-lwk: {what}: (\d+)$", self.parts["inside", name][2], re.M)
        return int(found[1]) if found else -1


def judge_equal(g):
    for part, name in g.parts:
        if part != "native":
            continue
        native, inside = g.parts["native", name], g.parts.get(("inside", name), ("", -1, ""))
        detail = f"native {native[1]}:\n{native[0]}\ninside {inside[1]}:\n{inside[0]}{inside[2]}"
        ok(native[:2] == inside[:2], f"{name}: inside as native", detail)


def judge_counts(g):
    for kind in KINDS:
        name = f"hello.{kind}"
        ok(0 < g.count(name, "exits for system calls") < 200, f"{name}: system calls are counted")
        same(g.count(name, "page faults of the host") < 20, True, f"{name}: few faults of the host")
        outside = g.count(name, "private mappings outside")
        same(outside, 0, f"{name}: no private mapping outside of the extent")


def judge_outside(g):
    exits = g.said("outside kvm yes")
    ok(exits.isdigit() and int(exits) > 0, "KVM's debugfs has the process, with exits", exits)
    before, after = (g.said("outside minflt") or "0 1").split()
    same(after, before, "no page fault while it computes")
    same(g.said("outside comm"), "compute.dyn", "/proc/PID/comm has the program's name")
    pages = re.search(r"extent (\d+) runs (\d+) private (\d+)", g.said("outside pages"))
    extent, runs, private = map(int, pages.groups()) if pages else (0, 0, 1)
    same(extent, 32 << 8, "the extent is all there")
    ok(private * 99 <= extent, "of private pages, 99 % are in the extent", (extent, private))
    ok(0 < runs <= 16, "page frames of the extent are contiguous in 2 MiB at least", runs)
    same(g.said("outside free"), str(PAGES - 16), "the process has 16 huge pages")
    same(g.said("outside end"), f"0 {PAGES}", "all huge pages are free after it")
    same(g.said("outside state"), "\tT (stopped)", "SIGSTOP stops it")
    same(g.said("outside TERM"), f"143 {PAGES}", "SIGTERM ends it, and its pages are free")
    same(g.said("outside KILL"), f"137 {PAGES}", "SIGKILL ends it, and its pages are free")


def judge_refusals(g):
    for name, status, words in (
        ("without-kvm", 125, "this kernel has no KVM"),
        ("no-pages", 125, "this kernel has no KVM"),
    ):
        out, got, err = g.parts.get(("inside", name), ("", -1, ""))
        ok(got == status and words in err, f"{name}: status {status} and the reason", err)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--long", dest="short", action="store_false")
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("lwk")
    parser.add_argument("work")
    args = parser.parse_args()
    boot.WORK, boot.KERNEL = os.path.abspath(args.work), args.kernel
    os.makedirs(boot.WORK, exist_ok=True)
    plan = f"{boot.WORK}/plan"
    with open(plan, "w", encoding="utf-8") as f:
        f.write("\n".join(make_plan(args.short)) + "\n")
    files = [*compile_programs(), *unpack_modules(args.tree), plan, f"{HERE}/guest.sh"]
    files += ["/bin/busybox", os.path.abspath(args.lwk)]
    # a dynamic program, for the libraries that it needs
    needs = [f"{boot.WORK}/signals.dyn"]
    boot.initramfs(boot.WORK, {"pages": f"{HERE}/programs/pages.c"}, files, needs)
    machine = Machine("two CPUs with SVM", [1536], cpus=[2], slit=False)
    machine.args += ["-cpu", "EPYC,+svm,+npt,+invtsc"]
    g = Guest(machine)
    ok("free at the end" in g.boot.after, "the guest ran to its end", g.boot.text[-3000:])
    judge_equal(g)
    judge_counts(g)
    judge_outside(g)
    judge_refusals(g)
    ok(not g.boot.complaints, "the kernel's log has no complaint", g.boot.complaints)
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


if __name__ == "__main__":
    sys.exit(main())
