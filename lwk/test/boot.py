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
import judges  # noqa: E402
import suites  # noqa: E402
from boot import Boot, Machine, ok  # noqa: E402

PROGRAMS = (
    "hello",
    "memory",
    "threads",
    "signals",
    "processes",
    "corners",
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


def compile_programs():
    """Compile each program in three kinds of linking; return their paths."""
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
    """Unpack the modules of KVM and those that it needs; return their paths in the order of
    loading."""
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
    """Lines for ranks that copy messages through shared memory, with process_vm_readv(), and over
    TCP."""
    ways = (("sm", "self,sm", "none"), ("cma", "self,sm", "cma"), ("tcp", "self,tcp", "none"))
    lines = [f"ranks mpi-{name} {btl} {copy} 2" for name, btl, copy in ways]
    four = (f"ranks mpi-{name}-four {btl} {copy} 4" for name, btl, copy in ways)
    return ["LIMIT=400", "smartmap", *lines, *four]


NUMPY = (
    "import numpy as n; a = n.arange(40000.).reshape(200, 200) / 4e4 + n.eye(200);"
    " print(repr(n.linalg.det(a @ a.T)), repr(n.fft.fft(a[3])[7]), n.linalg.eigvalsh(a + a.T)[:3])"
)


def make_program_plan():
    """Lines for programs of the kinds that ranks run, and for an extent in a page of 1 GiB."""
    return [
        "LIMIT=900",
        "compare openmp 32M openmp",
        "compare cg 32M /cg 4096 40",
        "gigabyte",
        f"in_root numpy 256M /usr/bin/python3 -c '{NUMPY}'",
        "gromacs",
    ]


def make_plan(short, fuzz, modules):
    """Lines for guest.sh. FUZZ: seconds of random instructions and calls, or "Nx": N children;
    MODULES: KVM is one."""
    lines = [f"compare hello.{kind} 16M /hello.{kind} x" for kind in KINDS]
    programs = (
        ("memory", 48),
        ("threads", 32),
        ("processes", 16),
        ("signals", 16),
        ("corners", 32),
    )
    if short:
        kinds = ("dyn", "pie", "static", "dyn", "dyn")
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for (n, size), k in zip(programs, kinds)]
    else:
        lines += [f"compare {n}.{k} {size}M /{n}.{k}" for n, size in programs for k in KINDS]
        lines += ["LIMIT=900", "compare many-threads 192M /threads.dyn 512 20"]
        lines += ["compare storm 16M /signals.pie 10000", "compare shoot 32M /shoot.dyn"]
        lines += [f"compare perl 32M perl -e '{PERL}'", "core_dump", "refusals", "last_pages"]
        lines += [f"fuzz {int(fuzz.rstrip('x')) // 2}{'x' * fuzz.endswith('x')}"]
    lines += ["smartmap"] if not short else []
    lines += ["scripts", "few_pages", "outside", "end_all"]
    if modules:
        few = ("memory.dyn",)
        more = ("threads.dyn", "signals.dyn", "processes.dyn", "shoot.dyn")
        lines += [f"without_paging {' '.join(few if short else few + more)}", "end_all"]
    lines += ["no_pages"]
    return lines + (["without_kvm"] if modules else [])


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
    """Print a row of Markdown; a note says when the arm inside is no better than the one before."""
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


FEW, MORE = 20, 120  # steps of guest.sh


def print_gromacs(g, _):
    """Print rows for a step of GROMACS: the difference of runs with few and with more steps."""

    def a_step(arm, words):
        found = []
        for steps in (FEW, MORE):
            name = f"gromacs-{arm}-{steps}"
            err = g.parts.get(("inside", name), ("", -1, ""))[2]
            row = re.search(rf"{re.escape(words)}: (\d+)", f"{err}\ncalls: {calls.get(name)}\n")
            found.append(int(row[1]) if row else float("nan"))
        return (found[1] - found[0]) / (MORE - FEW)

    calls = dict(re.findall(r"^calls of (\S+) (\d+)$", g.boot.after, re.M))
    cells = [f"{a_step(arm, 'calls'):.2f}" for arm in ARMS[:2]]
    answered = a_step("inside", "system calls without an exit")
    cells.append(f"{a_step('inside', 'exits for system calls') + answered:.2f} ({answered:.2f})")
    print(f"# | system calls of a step of GROMACS (answered by the stub) | {' | '.join(cells)} | |")
    for words in ("exits of the processor", "exits by interrupts of the host"):
        print(f"# | {words} in a step | - | - | {a_step('inside', words):.2f} | |")
    cells = [f"{a_step(arm, 'page faults'):.2f}" for arm in ARMS]
    print(f"# | page faults of a step | {' | '.join(cells)} | |")


def print_calls(_, marks):
    for what, *cells in zip(CALLS, *(marks.calls() for _ in ARMS)):
        print_row(what, cells)


def print_messages(g, marks):
    found = [marks.messages() for _ in ARMS]
    for what, *cells in zip(SIZES, *found):
        print_row(f"a message, {what}", cells)
    for what, cell in zip(SIZES[2:], marks.copies()):
        print_row(f"a message, {what}, by SMARTMAP", ["-", "-", cell])
    print_faults(g)


def print_computing(g, _):
    print_row("ticks in 10 s of computing", [g.said(f"ticks compute-{arm}") for arm in ARMS])
    exits, calls = (
        g.count("compute-inside", what)
        for what in ("exits of the processor", "exits for system calls")
    )
    print_row("exits but for calls, with the start", ["-", "-", exits - calls])
    for name, n in judges.counters(g).items():
        print(f"# | {name} of a machine in 10 s that computes | - | - | {n} | |")


def print_collectives(g, _):
    cells = []
    for arm in ARMS:
        err = g.parts.get(("inside", f"collectives-{arm}"), ("", -1, ""))[2]
        cells.append(" + ".join(re.findall(r"mpi: rank \d+ page faults (\d+)", err)))
    print_row("page faults of two ranks in messages and collectives", cells)


# lines of the plan, in this order, for the order of the markers
NUMBERS = {
    "cost_of_calls": print_calls,
    "cost_of_messages": print_messages,
    "cost_of_computing": print_computing,
    "cost_of_collectives": print_collectives,
    "cost_of_gromacs": print_gromacs,
}


def print_numbers(g, plan, path):
    """Print the table of doc/lwk.md, as far as PLAN has its lines."""
    marks = Marks(path)
    print_row("instructions of", ARMS)
    for line in (line for line in NUMBERS if line in plan):
        try:
            NUMBERS[line](g, marks)
        except ValueError as e:
            ok(False, f"{line}: all markers are there", e)
    for name in ("messages-inside", "compute-inside"):
        print(g.parts.get(("inside", name), ("", -1, "missing"))[2])


# On a busy machine the timer's interrupts, each an exit, can take all the time that a guest gets on
# a CPU. This does not happen when QEMU's clock counts instructions.
MULTI = ("-accel", "tcg,thread=multi")
COUNTED = ("-accel", "tcg,thread=single", "-icount", "shift=4,sleep=off")


class Guest:
    """What a guest printed for each test: {(part, name): (output, status, errors)}."""

    def __init__(self, machine, append="", accel=MULTI, limit=3000):
        do = f"do=pages:{judges.PAGES},run:/busybox:sh:/guest.sh"
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
        err = self.parts.get(("inside", name), judges.MISSING)[2]
        found = re.search(rf"^nodeos-lwk: {what}: (\d+)$", err, re.M)
        return int(found[1]) if found else -1


def pack(files, lines, commands=()):
    """Make the initramfs."""
    plan = f"{boot.WORK}/plan"
    with open(plan, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    # a dynamic program, for the libraries that it needs
    needs = [f"{boot.WORK}/signals.dyn", "/usr/bin/perl", *commands]
    alone = {name: f"{HERE}/programs/{name}.c" for name in ("pages", "fuzz", "keep")}
    boot.initramfs(boot.WORK, alone, [*files, plan], needs)


def compile_mpi(root, name):
    """Compile a program of ranks for the libraries below ROOT."""
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
    lock = f"{boot.WORK}/lock.so"
    command = ["gcc", "-O1", "-shared", "-fPIC", "-o", lock]
    subprocess.run([*command, f"{HERE}/programs/lock.c"], check=True)
    return [calls, lock, compile_mpi(root, "messages"), compile_mpi(root, "mpi")]


def compile_openmp():
    made = f"{boot.WORK}/openmp"
    subprocess.run(["gcc", "-O1", "-fopenmp", "-o", made, f"{HERE}/programs/openmp.c"], check=True)
    return [made]


def prepare_programs(root):
    """Compile a solver, and let the root's own gmx make a box of water for GROMACS."""
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
    if os.path.exists(made[1]):
        return made
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
        "--only",
        metavar="REGEX",
        help="of the tests that compare, run only those whose line matches",
    )
    parser.add_argument("--icount", action="store_true", help="count instructions as time")
    parser.add_argument(
        "--fuzz",
        metavar="AMOUNT",
        default="600",
        help="total seconds of random code, or the number of its children, as 1000x [600]",
    )
    parser.add_argument(
        "--suites",
        metavar="ARCHIVE",
        help="archive of fetch-suites: tests of glibc, busybox and perl",
    )
    parser.add_argument("--cpu", default="EPYC", help="QEMU's name of the processor [EPYC]")
    parser.add_argument("--cpus", type=int, default=2, help="CPUs of the guest [2]")
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("lwk")
    parser.add_argument("work")
    return parser.parse_args()


def prepare(args, machine, modules):
    """Return the lines for guest.sh, the files and commands that they need, and the kernel's
    options. MODULES: KVM is one."""
    if not args.root:
        plan = suites.make_suite_plan(args.short) if args.suites else []
        return plan + make_plan(args.short, args.fuzz, modules), [], [], ""
    share = f"local,path={args.root},mount_tag=root,security_model=none,readonly=on"
    machine.args += ["-virtfs", f"{share},multidevs=remap"]
    plan, files, commands = [], [], []
    if args.numbers:
        plan += ["LIMIT=900", *NUMBERS]
        files += prepare_numbers(args.root, machine)
    if args.programs:
        plan += make_program_plan()
    if plan:
        files += prepare_programs(args.root)
        commands += compile_openmp()
    if plan:
        return plan, files, commands, "nohz_full=1 rcu_nocbs=1 hugepagesz=1G hugepages=1"
    return make_mpi_plan(), [compile_mpi(args.root, "mpi")], [], ""


def main():
    args = parse_options()
    boot.WORK, boot.KERNEL = os.path.abspath(args.work), args.kernel
    os.makedirs(boot.WORK, exist_ok=True)
    modules = unpack_modules(args.tree)
    files = [*compile_programs(), *modules, f"{HERE}/guest.sh"]
    files += ["/bin/busybox", os.path.abspath(args.lwk)]
    memory = 4096 if args.programs or args.numbers else 1536
    machine = Machine(f"{args.cpus} CPUs with SVM", [memory], cpus=[args.cpus], slit=False)
    machine.args += ["-cpu", f"{args.cpu},+svm,+npt,+invtsc"]
    loaded = any(path.endswith("-kvm-amd.ko") for path in modules)
    plan, more, commands, append = prepare(args, machine, loaded)
    if args.only:
        plan = [line for line in plan if re.search(args.only, line)]
    pack([*files, *more], plan, commands)
    if args.suites:
        suites.append_archive(f"{boot.WORK}/test.cpio.gz", args.suites)
    limit = 5400 + int(args.fuzz.rstrip("x"))
    g = Guest(machine, append, COUNTED if args.icount else MULTI, limit)
    ok("free at the end" in g.boot.after, "the guest ran to its end", g.boot.text[-3000:])
    judges.judge_kept(g)
    judges.judge_plan(g, plan)
    if args.numbers:
        print_numbers(g, plan, f"{boot.WORK}/marks")
    if any(line.startswith("suite ") for line in plan):
        suites.judge_suites(g, args.short, args.only)
    return finish(g)


if __name__ == "__main__":
    sys.exit(main())
