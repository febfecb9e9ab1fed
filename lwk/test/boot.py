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

PROGRAMS = ("hello", "memory", "threads", "signals", "processes", "compute", "shoot", "crash")
KINDS = {
    "dyn": ["-fPIE", "-pie"],
    "pie": ["-fPIE", "-static-pie"],
    "static": ["-fno-pie", "-no-pie", "-static"],
}
MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd", "netfs", "9pnet", "9pnet_virtio", "9p")
PAGES = 200  # huge pages of the guest


def compile_programs():
    """Each program in three kinds of linking; returns their paths."""
    made = []
    for name in PROGRAMS:
        for kind, flags in KINDS.items():
            source = f"{HERE}/programs/{name}.c"
            made.append(f"{boot.WORK}/{name}.{kind}")
            if os.path.exists(made[-1]) and os.path.getmtime(made[-1]) > os.path.getmtime(source):
                continue
            command = ["gcc", "-O1", "-pthread", "-D_GNU_SOURCE", *flags, "-o", made[-1]]
            subprocess.run([*command, source, "-lm"], check=True)
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


PERL = "$s += $_ for map { $_ * 2 } 1 .. 9; print qq($s\\n); print sort qx(echo b; echo a)"


def make_mpi_plan():
    """Ranks with copies through shared memory, with process_vm_readv(), and over TCP."""
    ways = (("sm", "self,sm", "none"), ("cma", "self,sm", "cma"), ("tcp", "self,tcp", "none"))
    lines = [f"ranks mpi-{name} {btl} {copy} 2" for name, btl, copy in ways]
    return ["LIMIT=300", *lines, "ranks mpi-four self,sm none 4"]


def make_plan(short):
    """Lines for guest.sh."""
    lines = [f"compare hello.{kind} 16M /hello.{kind} x" for kind in KINDS]
    programs = (("memory", 48), ("threads", 32), ("processes", 16), ("signals", 16))
    if short:
        kinds = ("dyn", "pie", "static", "dyn")
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for (n, size), k in zip(programs, kinds)]
    else:
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for n, size in programs for k in KINDS]
        lines += ["LIMIT=400", "compare many-threads 192M /threads.dyn 512 20"]
        lines += ["compare storm 16M /signals.pie 10000", "compare shoot 32M /shoot.dyn"]
        lines += [f"compare perl 32M perl -e '{PERL}'", "core_dump", "refusals"]
        lines += ["inside fuzz nodeos-lwk --memory=16M /fuzz 240 $(date +%s)"]
    lines += ["scripts", "outside", "end_all", "no_pages", "without_paging", "without_kvm"]
    return lines


class Guest:
    """What a guest printed for each test: {(part, name): (output, status, errors)}."""

    def __init__(self, machine, append=""):
        do = f"do=pages:{PAGES},run:/busybox:sh:/guest.sh"
        self.boot = Boot(machine, f"clocksource=tsc mitigations=off {append} {do}", limit=1800)
        self.parts = {}
        found = r"^=== (native|inside) (\S+)\n(.*?)^=== status (\d+)\n(.*?)^=== \.$"
        for part, name, out, status, err in re.findall(found, self.boot.after, re.M | re.S):
            self.parts[part, name] = (out, int(status), err)

    def said(self, words):
        found = re.search(rf"^{re.escape(words)} ?(.*)$", self.boot.after, re.M)
        return found[1] if found else ""

    def count(self, name, what):
        """The value of a line of --counts; -1: the line is missing."""
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


def judge_refusals(g, short):
    for name, status, words in (
        ("setuid", 126, "programs with other rights"),
        ("setuid-later", 126, "programs with other rights"),
        ("elf32", 126, "32-bit"),
        ("not-found", 127, "not found in PATH"),
        ("too-small", 125, "not a multiple"),
        ("no-1g", 125, "needs 1 free huge pages of 1 GiB, and there are 0"),
        ("loose", 0, "/hello.static runs outside (--loose)"),
        ("user", 125, "group kvm"),
        ("npt0", 125, "nested paging switched off"),
        ("without-kvm", 125, "this kernel has no KVM"),
        ("no-pages", 125, "free huge pages of 2 MiB, and there are 0"),
    ):
        if ("inside", name) not in g.parts and short:
            continue
        out, got, err = g.parts.get(("inside", name), ("", -1, ""))
        ok(got == status and words in err, f"{name}: status {status} and the reason", (got, err))


def judge_fuzz(g):
    out, status, err = g.parts.get(("inside", "fuzz"), ("", -1, ""))
    print(f"# {err.strip()}")
    same((out, status), ("fuzz: all ended\n", 0), "random instructions and calls end their rank")


def judge_ranks(g):
    """Page faults of ranks while they exchange messages, which the ranks print on stderr."""
    for part, name in g.parts:
        faults = re.findall(r"^mpi: rank \d+ page faults (\d+)$", g.parts[part, name][2], re.M)
        print(f"# {name}, {part}: page faults of ranks in MPI: {' '.join(faults)}")


def pack(files, lines):
    """Make the initramfs."""
    plan = f"{boot.WORK}/plan"
    with open(plan, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    # a dynamic program, for the libraries that it needs
    needs = [f"{boot.WORK}/signals.dyn", "/usr/bin/perl"]
    alone = {name: f"{HERE}/programs/{name}.c" for name in ("pages", "fuzz")}
    boot.initramfs(boot.WORK, alone, [*files, plan], needs)


def compile_mpi(root):
    """The program of ranks, for the libraries below ROOT."""
    lib = f"{root}/usr/lib/x86_64-linux-gnu"
    made = f"{boot.WORK}/mpi"
    command = ["gcc", f"--sysroot={root}", "-O1", f"-I{lib}/openmpi/include", "-o", made]
    libraries = [f"-L{lib}/openmpi/lib", f"-L{lib}", "-lmpi"]
    subprocess.run([*command, f"{HERE}/programs/mpi.c", *libraries], check=True)
    return made


def finish(g):
    ok(not g.boot.complaints, "the kernel's log has no complaint", g.boot.complaints)
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--long", dest="short", action="store_false")
    parser.add_argument(
        "--root", help="root file system with Open MPI (root-* of test/guest/image's cache)"
    )
    parser.add_argument(
        "--only", metavar="REGEX", help="of the tests that compare, those whose line matches"
    )
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("lwk")
    parser.add_argument("work")
    args = parser.parse_args()
    boot.WORK, boot.KERNEL = os.path.abspath(args.work), args.kernel
    os.makedirs(boot.WORK, exist_ok=True)
    files = [*compile_programs(), *unpack_modules(args.tree), f"{HERE}/guest.sh"]
    files += ["/bin/busybox", os.path.abspath(args.lwk)]
    machine = Machine("two CPUs with SVM", [1536], cpus=[2], slit=False)
    machine.args += ["-cpu", "EPYC,+svm,+npt,+invtsc"]
    if args.root:
        files.append(compile_mpi(args.root))
        share = f"local,path={args.root},mount_tag=root,security_model=none,readonly=on"
        machine.args += ["-virtfs", f"{share},multidevs=remap"]
    plan = make_mpi_plan() if args.root else make_plan(args.short)
    if args.only:
        plan = [line for line in plan if re.search(args.only, line)]
    pack(files, plan)
    g = Guest(machine)
    ok("free at the end" in g.boot.after, "the guest ran to its end", g.boot.text[-3000:])
    judge_equal(g)
    if args.root:
        judge_ranks(g)
    if args.root or args.only:
        return finish(g)
    judge_counts(g)
    judge_outside(g)
    judge_refusals(g, args.short)
    if not args.short:
        judge_fuzz(g)
    return finish(g)


if __name__ == "__main__":
    sys.exit(main())
