# SPDX-License-Identifier: GPL-2.0-or-later
"""What the outputs of guest.sh must be. Each line of the plan has its checks, so an output that is
missing is a failure."""

import re

from boot import ok, same

KINDS = ("dyn", "pie", "static")
PAGES = 200  # huge pages of the guest
MISSING = ("", -1, "")
# tests that functions of guest.sh compare, beside those whose lines of the plan name them
COMPARED = {
    "scripts": ("script", "second-script", "file-limit", "masked", "shell"),
    "core_dump": ("core",),
    "last_pages": ("last-pages",),
    "gigabyte": ("memory-1g",),
    "gromacs": ("gromacs", "gromacs-results"),
}
MUST_SUCCEED = re.compile(r"gromacs|gromacs-results|numpy|openmp|cg")
NO_RESULT = (-1, 124, 126, 127, 137, 143)  # missing, late, not executed, or killed
# line of the plan, name, status and a part of the reason
REFUSALS = (
    ("refusals", "setuid", 126, "programs that get other rights"),
    ("refusals", "setuid-later", 126, "programs that get other rights"),
    ("refusals", "elf32", 126, "32-bit"),
    ("refusals", "not-found", 127, "not found in PATH"),
    ("refusals", "too-small", 125, "not a multiple"),
    ("refusals", "no-1g", 125, "needs 1 free huge pages of 1 GiB, and there are 0"),
    ("refusals", "loose", 0, "/hello.static runs outside (--loose)"),
    ("refusals", "user", 125, "group kvm"),
    ("smartmap", "smartmap-twice", 125, "another process is rank 0"),
    ("smartmap", "smartmap-no-rank", 125, "no rank of a step"),
    ("without_kvm", "without-kvm", 125, "this kernel has no KVM"),
    ("few_pages", "few-pages", 125, "only a part of its 8 huge pages"),
    ("no_pages", "no-pages", 125, "free huge pages of 2 MiB, and there are 0"),
)


def compared_names(plan):
    """The tests of PLAN that run natively and inside."""
    names = []
    for word, *rest in (line.split() for line in plan):
        if word in ("compare", "in_root", "ranks"):
            names.append(rest[0])
        if word == "without_paging":
            names += [f"npt0-{program}" for program in rest]
        names += COMPARED.get(word, ())
    return names


def messages_of(err):
    """The lines of stderr without those of --counts, which hide the reason of a failure."""
    return [line for line in err.splitlines() if not re.match(r"nodeos-lwk: [^:]+: \w+$", line)]


def judge_equal(g, plan):
    names = compared_names(plan)
    for name in names:
        native, inside = (g.parts.get((part, name), MISSING) for part in ("native", "inside"))
        detail = f"native {native[1]}:\n{native[0]}\ninside {inside[1]}:\n{inside[0]}{inside[2]}"
        detail = "\n".join([*messages_of(inside[2]), detail])
        good = native[1] not in NO_RESULT and native[:2] == inside[:2]
        good = good and (native[1] == 0 or not MUST_SUCCEED.fullmatch(name))
        ok(good, f"{name}: runs inside as it does natively", detail)
    # names with a colon are tests of suites.py
    more = {name for part, name in g.parts if part == "native" and ":" not in name} - set(names)
    if more:
        ok(False, "each comparison is in the plan", sorted(more))


def judge_counts(g):
    for name in (f"hello.{kind}" for kind in KINDS):
        ok(0 < g.count(name, "exits for system calls") < 200, f"{name}: system calls are counted")
        faults = g.count(name, "page faults of the host")
        ok(0 <= faults < 20, f"{name}: the host has few page faults", faults)
        outside = g.count(name, "private mappings outside")
        same(outside, 0, f"{name}: no private mapping outside of the extent")


def judge_shared(g, plan):
    """Page faults that memory.c has in a mapping of 1 MiB."""
    for name in (line.split()[1] for line in plan if line.startswith("compare memory.")):
        err = g.parts.get(("inside", name), MISSING)[2]
        found = re.search(r"^memory: page faults in shared memory (\d+)$", err, re.M)
        faults = int(found[1]) if found else -1
        ok(0 <= faults <= 2, f"{name}: no page faults in shared memory", faults)


def counters(g):
    """What KVM's counters of a machine that computes have grown by: {name: number}."""
    found = re.findall(r"(\S+)=(\d+)", g.said("counters"))
    return {name: int(n) for name, n in found}


# interrupts between the looks at two counters, which are not made at the same moment
BETWEEN = 2


def judge_outside(g):
    exits = g.said("outside kvm yes")
    ok(exits.isdigit() and int(exits) > 0, "KVM's debugfs counts exits of the process", exits)
    seen = counters(g)
    others = seen.get("exits", 0) - seen.get("irq_exits", 0)
    good = "exits" in seen and abs(others) <= BETWEEN
    ok(good, "a program that computes leaves its machine for interrupts only", seen)
    before, after = (g.said("outside minflt") or "0 1").split()
    same(after, before, "a program that computes has no page fault")
    same(g.said("outside comm"), "compute.dyn", "/proc/PID/comm has the program's name")
    pages = re.search(r"extent (\d+) runs (\d+) private (\d+)", g.said("outside pages"))
    extent, runs, private = map(int, pages.groups()) if pages else (0, 0, 1)
    same(extent, 32 << 8, "all pages of the extent are present")
    ok(private * 99 <= extent, "99 % of the private pages are in the extent", (extent, private))
    ok(0 < runs <= 16, "page frames of the extent are contiguous in 2 MiB at least", runs)
    same(g.said("outside tables"), "1 0", "the machine's own tables are in the extent")
    same(g.said("outside free"), str(PAGES - 16), "the process has 16 huge pages")
    same(g.said("outside end"), f"0 {PAGES}", "all huge pages are free after the program")
    same(g.said("outside state"), "\tT (stopped)", "SIGSTOP stops the program")
    same(g.said("outside TERM"), f"143 {PAGES}", "SIGTERM ends the program, and its pages are free")
    same(g.said("outside KILL"), f"137 {PAGES}", "SIGKILL ends the program, and its pages are free")


def judge_refusals(g, plan):
    for line, name, status, words in REFUSALS:
        if line in plan:
            _, got, err = g.parts.get(("inside", name), MISSING)
            good = got == status and words in err
            ok(good, f"{name}: ends with status {status} and the reason", (got, err))


def judge_smartmap(g):
    """Ranks that map each other's extents: messages without system calls, and refusals."""
    for rank in (0, 1):
        few, many = f"smartmap-1-{rank}", f"smartmap-9-{rank}"
        got = g.parts.get(("inside", many), MISSING)[:2]
        same(
            got,
            (f"rank {rank}: 9 messages, 0 wrong\n", 0),
            f"rank {rank}: messages of 1 MiB arrive",
        )
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
        out, status, err = g.parts.get(("inside", f"smartmap-{name}"), MISSING)
        what = f"smartmap attach, case {name}: prints {want}"
        ok((out, status) == (f"{want}\n", 0), what, (out, status, err))


def judge_fuzz(g):
    """Random code in ranks that begin with it, and in forks of one rank."""
    for name in ("fuzz", "fuzz-forks"):
        out, status, err = g.parts.get(("inside", name), MISSING)
        print("\n".join(f"# {line}" for line in err.splitlines()))
        same((out, status), ("fuzz: all ended\n", 0), f"{name}: random code ends its rank alone")


def judge_gigabyte(g):
    pages = re.search(r"extent (\d+) runs (\d+)", g.said("gigabyte outside pages"))
    found = tuple(map(int, pages.groups())) if pages else ()
    same(found, (1 << 18, 1), "an extent of 1 GiB is one run of page frames")
    same(g.said("gigabyte free"), "1", "the page of 1 GiB is free after the program")


def judge_ranks(g, plan):
    """Page faults of ranks while they exchange messages, which the ranks print on stderr."""
    for _, name, *_, count in (line.split() for line in plan if line.startswith("ranks ")):
        for part in ("native", "inside"):
            err = g.parts.get((part, name), MISSING)[2]
            faults = re.findall(r"^mpi: rank \d+ page faults (\d+)$", err, re.M)
            what = f"{name}, {part}: each rank reports page faults in MPI: {' '.join(faults)}"
            ok(len(faults) == int(count), what, err)


def judge_kept(g):
    """A machine is kept all the time: without one, QEMU ends some guests early (keep.c)."""
    kept = g.said("a machine is kept:")
    ok(kept.isdigit(), "a machine of another process is there all the time", kept)


def judge_plan(g, plan):
    """Judge what each line of PLAN (for guest.sh) must give; suites.py judges the suites."""
    judge_equal(g, plan)
    if all(any(line.startswith(f"compare hello.{k} ") for line in plan) for k in KINDS):
        judge_counts(g)
    if "outside" in plan:
        judge_outside(g)
    judge_shared(g, plan)
    judge_refusals(g, plan)
    if any(line.startswith("without_paging ") for line in plan):
        same(g.said("without paging:"), "N", "nested paging is switched off in the tests npt0")
    if "smartmap" in plan:
        judge_smartmap(g)
    if any(line.startswith("fuzz ") for line in plan):
        judge_fuzz(g)
    if "gigabyte" in plan:
        judge_gigabyte(g)
    judge_ranks(g, plan)
