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
sys.path[0:1] = [f"{TOP}/kernel/test", HERE]

import boot  # noqa: E402
import suites  # noqa: E402
from boot import Boot, Machine, ok, same  # noqa: E402

PROGRAMS = (
    "hello",
    "memory",
    "threads",
    "signals",
    "processes",
    "compute",
    "shoot",
    "crash",
    "smartmap",
)
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
        found = glob.glob(f"{tree}/lib/modules/*/kernel/**/{name}.ko*", recursive=True)
        if not found:
            continue  # built in
        made.append(f"{boot.WORK}/{n}-{name}.ko")
        with open(made[-1], "wb") as f:
            subprocess.run(["xz", "-dcf", found[0]], check=True, stdout=f)  # or copy
    return made


PERL = "$s += $_ for map { $_ * 2 } 1 .. 9; print qq($s\\n); print sort qx(echo b; echo a)"


def make_mpi_plan():
    """Ranks with copies through shared memory, with process_vm_readv(), and over TCP."""
    ways = (("sm", "self,sm", "none"), ("cma", "self,sm", "cma"), ("tcp", "self,tcp", "none"))
    lines = [f"ranks mpi-{name} {btl} {copy} 2" for name, btl, copy in ways]
    four = (f"ranks mpi-{name}-four {btl} {copy} 4" for name, btl, copy in ways)
    return ["LIMIT=400", "smartmap", *lines, *four]


NUMPY = (
    "import numpy as n; a = n.arange(40000.).reshape(200, 200) / 4e4 + n.eye(200);"
    " print(repr(n.linalg.det(a @ a.T)), repr(n.fft.fft(a[3])[7]), n.linalg.eigvalsh(a + a.T)[:3])"
)


def make_program_plan():
    """Programs of the kinds that ranks are, and an extent in a page of 1 GiB."""
    return [
        "LIMIT=900",
        "compare openmp 32M openmp",
        "compare cg 32M /cg 4096 40",
        "gigabyte",
        f"in_root numpy 256M /usr/bin/python3 -c '{NUMPY}'",
        "gromacs",
    ]


def make_plan(short, fuzz):
    """Lines for guest.sh; FUZZ: seconds of random instructions and calls."""
    lines = [f"compare hello.{kind} 16M /hello.{kind} x" for kind in KINDS]
    programs = (("memory", 48), ("threads", 32), ("processes", 16), ("signals", 16))
    if short:
        kinds = ("dyn", "pie", "static", "dyn")
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for (n, size), k in zip(programs, kinds)]
    else:
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for n, size in programs for k in KINDS]
        lines += ["LIMIT=900", "compare many-threads 192M /threads.dyn 512 20"]
        lines += ["compare storm 16M /signals.pie 10000", "compare shoot 32M /shoot.dyn"]
        lines += [f"compare perl 32M perl -e '{PERL}'", "core_dump", "refusals"]
        lines += [f"fuzz {fuzz // 2}"]
    lines += ["smartmap"] if not short else []
    lines += ["scripts", "outside", "end_all", "no_pages", "without_paging", "without_kvm"]
    return lines


CALLS = ("getppid()", "getpid()", "clock_gettime()", "read(), 1 byte")
SIZES = ("0 B", "16 B", "64 KiB", "1 MiB")
ARMS = ("native", "locked", "inside")
REPEATS, MESSAGES = 1000, 16  # of programs/calls.c and messages.c


class Marks:
    """The plugin's lines, taken in the order in which the programs execute markers."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.rows = [[int(word) for word in line.split()] for line in f]

    def take(self, *ids):
        """Rows of the next markers, which must have these numbers; instructions of each."""
        rows, self.rows = self.rows[: len(ids)], self.rows[len(ids) :]
        if tuple(row[0] for row in rows) != ids:
            raise ValueError(f"markers {[row[0] for row in rows]}, expected {ids}")
        return [row[2] + row[3] for row in rows]

    def calls(self):
        """Instructions of a call of each of CALLS."""
        for _ in range(2):
            rows = self.take(*range(10, 16))
        spent = [b - a for a, b in zip(rows, rows[1:])]
        return [(n - spent[0]) / REPEATS for n in spent[1:]]

    def messages(self):
        """Instructions of a message of each of SIZES."""
        found = []
        for _ in range(2 * len(SIZES)):
            r = self.take(1, 2, 3, 4, 5, 6)
            found.append((r[1] - r[0] + r[3] - r[2] + r[5] - r[4]) / MESSAGES)
        return found[len(SIZES) :]

    def copies(self):
        """Instructions of a copy of the two larger sizes out of another rank's memory."""
        found = [self.take(3, 4) for _ in range(2)]
        return [(b - a) / MESSAGES for a, b in found]


def print_row(what, cells):
    """A row of Markdown, which says so when the arm inside is no better than the one before."""
    cells = [f"{cell:,.0f}" if isinstance(cell, float) else str(cell) for cell in cells]
    locked, inside = (sum(map(int, re.findall(r"\d+", c.replace(",", "")))) for c in cells[1:])
    note = "nothing over locked" if "0" <= cells[1][:1] <= "9" and inside >= locked else ""
    print(f"# | {what} | {' | '.join(cells)} | {note} |")


def print_faults(g):
    for column, what in enumerate(("in fresh memory", "in MPI")):
        cells = []
        for arm in ARMS:
            err = g.parts.get(("inside", f"messages-{arm}"), ("", -1, ""))[2]
            found = re.findall(r"MPI_Init: (\d+) in memory, (\d+) in MPI", err)
            cells.append(" + ".join(row[column] for row in found))
        print_row(f"page faults of two ranks after MPI_Init, {what}", cells)


def print_numbers(g, path):
    """The table of doc/lwk.md."""
    marks = Marks(path)
    print_row("instructions of", ARMS)
    for what, *cells in zip(CALLS, *(marks.calls() for _ in ARMS)):
        print_row(what, cells)
    found = [marks.messages() for _ in ARMS]
    for what, *cells in zip(SIZES, *found):
        print_row(f"a message, {what}", cells)
    for what, cell in zip(SIZES[2:], marks.copies()):
        print_row(f"a message, {what}, by SMARTMAP", ["-", "-", cell])
    print_faults(g)
    print_row("ticks in 10 s of computing", [g.said(f"ticks compute-{arm}") for arm in ARMS])
    exits, calls = (
        g.count("compute-inside", what)
        for what in ("exits of the processor", "exits for system calls")
    )
    print_row("exits but for calls in 10 s of computing", ["-", "-", exits - calls])
    for name in ("messages-inside", "compute-inside"):
        print(g.parts.get(("inside", name), ("", -1, "missing"))[2])


# On a busy machine the timer's interrupts can take all that a guest gets of a CPU, as each is an
# exit; not so when QEMU's clock counts instructions.
MULTI = ("-accel", "tcg,thread=multi")
COUNTED = ("-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off")


class Guest:
    """What a guest printed for each test: {(part, name): (output, status, errors)}."""

    def __init__(self, machine, append="", accel=MULTI, limit=3000):
        do = f"do=pages:{PAGES},run:/busybox:sh:/guest.sh"
        self.boot = Boot(
            machine, f"clocksource=tsc mitigations=off {append} {do}", accel=accel, limit=limit
        )
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
        if part != "native" or ":" in name:  # those with a colon: suites.py
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
        ("smartmap-twice", 125, "another process is rank 0"),
        ("smartmap-no-rank", 125, "no rank of a step"),
        ("without-kvm", 125, "this kernel has no KVM"),
        ("no-pages", 125, "free huge pages of 2 MiB, and there are 0"),
    ):
        if ("inside", name) not in g.parts and short:
            continue
        out, got, err = g.parts.get(("inside", name), ("", -1, ""))
        ok(got == status and words in err, f"{name}: status {status} and the reason", (got, err))


def judge_smartmap(g):
    """Ranks that map each other's extents: messages without system calls, and refusals."""
    for rank in (0, 1):
        few, many = f"smartmap-1-{rank}", f"smartmap-9-{rank}"
        out = g.parts.get(("inside", many), ("", -1, ""))[0]
        same(out, f"rank {rank}: 9 messages, 0 wrong\n", f"rank {rank}: messages of 1 MiB arrive")
        calls = [g.count(name, "exits for system calls") for name in (few, many)]
        ok(calls[0] == calls[1] > 0, f"rank {rank}: a message of 1 MiB needs no call", calls)
    for name, want in (
        ("rank", "Success"),
        ("none", "No such process"),
        ("large", "Numerical result out of range"),
        ("step", "No such process"),
        ("same-cgroup", "Success"),
        ("other-cgroup", "Permission denied"),
        ("user", "Permission denied"),
        ("off", "Function not implemented"),
    ):
        out, status, err = g.parts.get(("inside", f"smartmap-{name}"), ("", -1, ""))
        ok((out, status) == (f"{want}\n", 0), f"attach, {name}: {want}", (out, status, err))


def judge_fuzz(g):
    """Ranks that begin with the random part, and forks of one rank."""
    for name in ("fuzz", "fuzz-forks"):
        out, status, err = g.parts.get(("inside", name), ("", -1, ""))
        print("\n".join(f"# {line}" for line in err.splitlines()))
        same((out, status), ("fuzz: all ended\n", 0), f"{name}: random code ends its rank alone")


def judge_gigabyte(g):
    pages = re.search(r"extent (\d+) runs (\d+)", g.said("gigabyte outside pages"))
    found = tuple(map(int, pages.groups())) if pages else ()
    same(found, (1 << 18, 1), "an extent of 1 GiB is one run of page frames")
    same(g.said("gigabyte free"), "1", "the page of 1 GiB is free after it")


def judge_ranks(g):
    """Page faults of ranks while they exchange messages, which the ranks print on stderr."""
    for part, name in g.parts:
        faults = re.findall(r"^mpi: rank \d+ page faults (\d+)$", g.parts[part, name][2], re.M)
        print(f"# {name}, {part}: page faults of ranks in MPI: {' '.join(faults)}")


def pack(files, lines, commands=()):
    """Make the initramfs."""
    plan = f"{boot.WORK}/plan"
    with open(plan, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    # a dynamic program, for the libraries that it needs
    needs = [f"{boot.WORK}/signals.dyn", "/usr/bin/perl", *commands]
    alone = {name: f"{HERE}/programs/{name}.c" for name in ("pages", "fuzz")}
    boot.initramfs(boot.WORK, alone, [*files, plan], needs)


def compile_mpi(root, name):
    """A program of ranks, for the libraries below ROOT."""
    lib = f"{root}/usr/lib/x86_64-linux-gnu"
    made = f"{boot.WORK}/{name}"
    command = ["gcc", f"--sysroot={root}", "-O1", f"-I{lib}/openmpi/include", f"-I{TOP}"]
    command += ["-D_GNU_SOURCE", "-o", made]
    libraries = [f"-L{lib}/openmpi/lib", f"-L{lib}", "-lmpi"]
    subprocess.run([*command, f"{HERE}/programs/{name}.c", *libraries], check=True)
    return made


def prepare_numbers(root, machine):
    """Let a plugin count instructions; returns the programs that mark what is counted."""
    counted, calls = f"{boot.WORK}/marks", f"{boot.WORK}/calls"
    plugin = [f"{TOP}/bench/lib/plugin", f"{TOP}/bench/lib/insn-count.c", boot.WORK]
    subprocess.run(plugin, check=True)
    if os.path.exists(counted):
        os.unlink(counted)
    machine.args += ["-plugin", f"{boot.WORK}/insn-count.so,out={counted}"]
    command = ["gcc", "-O1", "-D_GNU_SOURCE", f"-I{TOP}", "-o", calls]
    subprocess.run([*command, f"{HERE}/programs/calls.c"], check=True)
    return [calls, compile_mpi(root, "messages")]


def compile_openmp():
    made = f"{boot.WORK}/openmp"
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", made, f"{HERE}/programs/openmp.c"], check=True)
    return [made]


def prepare_programs(root):
    """A solver, and a box of water for GROMACS, which the root's own gmx makes here."""
    made = [f"{boot.WORK}/cg", f"{boot.WORK}/topol.tpr"]
    command = ["gcc", "-O2", "-static", f"-I{TOP}", "-o", made[0], f"{TOP}/bench/pairs/cg.c"]
    subprocess.run([*command, "-lm"], check=True)
    lib = f"{root}/usr/lib/x86_64-linux-gnu"
    with open(f"{boot.WORK}/gmx", "w", encoding="utf-8") as f:
        f.write(
            f"#!/bin/sh\nexport GMXLIB={root}/usr/share/gromacs/top\n"
            f"exec {root}/usr/lib64/ld-linux-x86-64.so.2 --library-path"
            f' {lib}:{lib}/blas:{lib}/lapack {root}/usr/bin/gmx "$@"\n'
        )
    os.chmod(f"{boot.WORK}/gmx", 0o755)
    path = f"{boot.WORK}:{os.environ['PATH']}"
    command = ["bash", f"{TOP}/bench/lib/water.sh", "20", "nstenergy = 1"]
    with open(f"{boot.WORK}/gmx.log", "w", encoding="utf-8") as f:
        env = os.environ | {"PATH": path}
        subprocess.run(command, check=True, cwd=boot.WORK, env=env, stdout=f, stderr=f)
    return made


def finish(g):
    ok(not g.boot.complaints, "the kernel's log has no complaint", g.boot.complaints)
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--long", dest="short", action="store_false")
    parser.add_argument(
        "--root", help="root file system with Open MPI (root-* of test/guest/image's cache)"
    )
    parser.add_argument(
        "--programs",
        action="store_true",
        help="other programs of --root: OpenMP, a solver, GROMACS, numpy, a page of 1 GiB",
    )
    parser.add_argument(
        "--numbers", action="store_true", help="print the table of doc/lwk.md, with --root"
    )
    parser.add_argument(
        "--only", metavar="REGEX", help="of the tests that compare, those whose line matches"
    )
    parser.add_argument("--icount", action="store_true", help="count instructions as time")
    parser.add_argument(
        "--fuzz", metavar="SECONDS", type=int, default=600, help="of random code, in all [600]"
    )
    parser.add_argument(
        "--suites", metavar="ARCHIVE", help="tests of others, of fetch-suites; suites.list has them"
    )
    parser.add_argument("--cpu", default="EPYC", help="QEMU's name of the processor [EPYC]")
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("lwk")
    parser.add_argument("work")
    return parser.parse_args()


def prepare(args, machine):
    """The lines for guest.sh, the files and commands that they need, and the kernel's options."""
    if not args.root:
        plan = suites.make_suite_plan(args.short) if args.suites else []
        return plan + make_plan(args.short, args.fuzz), [], [], ""
    share = f"local,path={args.root},mount_tag=root,security_model=none,readonly=on"
    machine.args += ["-virtfs", f"{share},multidevs=remap"]
    plan, files, commands = [], [], []
    if args.numbers:
        plan += ["LIMIT=900", "cost_of_calls", "cost_of_messages", "cost_of_computing"]
        files += prepare_numbers(args.root, machine)
    if args.programs:
        plan += make_program_plan()
        files += prepare_programs(args.root)
        commands += compile_openmp()
    if plan:
        return plan, files, commands, "nohz_full=1 rcu_nocbs=1 hugepagesz=1G hugepages=1"
    return make_mpi_plan(), [compile_mpi(args.root, "mpi")], [], ""


def main():
    args = parse_options()
    boot.WORK, boot.KERNEL = os.path.abspath(args.work), args.kernel
    os.makedirs(boot.WORK, exist_ok=True)
    files = [*compile_programs(), *unpack_modules(args.tree), f"{HERE}/guest.sh"]
    files += ["/bin/busybox", os.path.abspath(args.lwk)]
    machine = Machine(
        "two CPUs with SVM", [4096 if args.programs or args.numbers else 1536], cpus=[2], slit=False
    )
    machine.args += ["-cpu", f"{args.cpu},+svm,+npt,+invtsc"]
    plan, more, commands, append = prepare(args, machine)
    if args.only:
        plan = [line for line in plan if re.search(args.only, line)]
    pack([*files, *more], plan, commands)
    if args.suites:
        suites.append_archive(f"{boot.WORK}/test.cpio.gz", args.suites)
    g = Guest(machine, append, COUNTED if args.icount else MULTI, 5400 + args.fuzz)
    ok("free at the end" in g.boot.after, "the guest ran to its end", g.boot.text[-3000:])
    judge_equal(g)
    if args.numbers:
        try:
            print_numbers(g, f"{boot.WORK}/marks")
        except ValueError as e:
            ok(False, "all markers are there", e)
    if args.programs:
        judge_gigabyte(g)
    if args.root and not args.numbers and not args.programs:
        judge_ranks(g)
        if not args.only or re.search(args.only, "smartmap"):
            judge_smartmap(g)
    if any(line.startswith("suite ") for line in plan):
        suites.judge_suites(g, args.short, args.only)
    if any(line.startswith("fuzz ") for line in plan):
        judge_fuzz(g)
    if args.root or args.only:
        return finish(g)
    judge_counts(g)
    judge_outside(g)
    judge_refusals(g, args.short)
    if not args.short:
        judge_smartmap(g)
    return finish(g)


if __name__ == "__main__":
    sys.exit(main())
