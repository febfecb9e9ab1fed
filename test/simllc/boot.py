#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot small guests with the simulated last-level cache, and compare the counts of
perf_event_open() there with the known counts of loads in assembler (test/simllc/test/loads.c).
Usage: boot.py [--short] [--only GUEST] KERNEL TREE WORKDIR, with KERNEL and TREE as kernel/build
makes them; --short boots only the first guest, in less than a minute. Needs QEMU and cpio. Prints
TAP. All counts are those of a simulated cache."""

import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/kernel/test")

import boot  # noqa: E402
from boot import Boot, Machine, ok, same  # noqa: E402

MIB = 1 << 20
NODE = 256  # MiB
# lines from memory for each instruction, by the assembler of test/simllc/test/kinds.h
RATE = {"scan": 1 / 32, "muladd": 1 / 304, "triad": 3 / 56, "chase": 1 / 3, "write": 1 / 32}
INSN, REFS, STALL = "simllc/1/0/u", "simllc/2/0/u", "simllc/4/0/"
MISS, REMOTE, PREFETCH, FILLS = (f"simllc/{bits}/0/u" for bits in ("78", "50", "780", "7f8"))
TURTLE, DEVIL = 30, 45  # bounds of the classes, in misses for 10,000 instructions


class Guest:
    """A guest that has run NAME.plan, and its output. The guest has two sockets, each with two CPUs
    and a memory node."""

    def __init__(self, name, llc, cpu=None, plugin=True):
        self.name = name
        machine = Machine(f"two sockets: {name}", [NODE, NODE], cpus=[2, 2])
        counters = f"{boot.WORK}/{name}.llc"
        if plugin:
            words = [f"file={PLUGIN}", f"out={counters}", "share=2", "nodecpus=2"]
            words += [f"nodes={NODE}M+{NODE}M", *([llc] if llc else [])]
            machine.args += ["-plugin", ",".join(words)]
        # added after the nodes: the plugin assumes that the nodes come first in QEMU's RAM
        file = f"memory-backend-file,id=llc,size=1M,share=on,mem-path={counters}"
        machine.args += ["-object", file, "-device", "ivshmem-plain,memdev=llc"]
        machine.args += ["-cpu", cpu] if cpu else []
        more = ",run:/provider" if name in PROVIDED else ""
        b = Boot(machine, f"do=run:/loads:/{name}.plan{more}", limit=900)
        self.text = b.after
        ended = "loads: end" in b.after and not b.complaints
        ended = ended and (not more or "provider: end" in b.after)
        ok(ended, f"{name}: the guest ran to its end", b.after[-3000:] or b.text[-3000:])
        self.counts, self.passes = {}, {}
        number = r"(\d+) (\S+) (\d+) (\d+) (\d+)$"
        for what, load, event, *values in re.findall(rf"^count (\S+) {number}", b.after, re.M):
            self.counts[what, int(load), event] = tuple(map(int, values))
        for what, load, n, ns in re.findall(r"^passes (\S+) (\d+) (\d+) (\d+)$", b.after, re.M):
            self.passes[what, int(load)] = (int(n), int(ns))

    def value(self, what, event, load=0):
        return self.counts.get((what, load, event), (-1, 0, 0))[0]

    def rate(self, what, load=0, event=MISS, of=INSN):
        """Return the count of EVENT for 10,000 instructions, or -1 if it was not counted."""
        insn = self.value(what, of, load)
        return 1e4 * self.value(what, event, load) / insn if insn > 0 else -1

    def said(self, words):
        """Return the rest of the line that begins with WORDS, or None."""
        found = re.search(rf"^{re.escape(words)} (.*)$", self.text, re.M)
        return found and found[1]


def near(got, want, what, share=0.1):
    return ok(abs(got - want) <= share * want, f"{what} = {want:.5g}, as calculated", f"got {got}")


def below(got, limit, what):
    return ok(0 <= got < limit, f"{what} < {limit}", f"got {got}")


def counted(name, events, *loads):
    return f"count {name} {events} {' '.join(loads)}"


def plan_plain():
    pair, big = f"{INSN}+{MISS}", 8 * MIB
    lines = ["insmod /simllc.ko"]
    lines += [counted(f"cpu{n}", pair, f"loop/{big}/2/{n}") for n in range(4)]
    lines += [counted("inside", f"{pair},{REFS}", f"scan/{MIB}/20/0")]
    lines += [counted(load, pair, f"{load}/{big}/2/0") for load in RATE]
    lines += [counted("turns", pair, f"loop/{big}/100000/1", f"scan/{big}/3/1")]
    lines += [
        counted(what, pair, *(f"scan/{3 * MIB}/12/{cpu}" for cpu in cpus))
        for what, cpus in (("together", (0, 1)), ("apart", (0, 2)))
    ]
    kinds = ",".join(f"simllc/78/0/{flags}" for flags in ("u", "k", ""))
    lines += [counted("modes", kinds, f"kernel/{big}/2/0")]
    lines += [counted("user-mode", kinds, f"scan/{big}/2/0")]
    where = f"{MISS},{REMOTE}"
    for what, place in (("near", "0/0"), ("far", "0/1"), ("far2", "2/0"), ("moved", "0/1/0")):
        lines += [counted(what, where, f"scan/{big}/2/{place}")]
    lines += [counted("child", pair, f"+scan/{big}/2/0")]
    generic = "hardware/1/0/u,hardware/2/0/u,hardware/3/0/u,cache/10002/0/u,cache/10102/0/u"
    generic += ",cache/6/0/u,cache/10006/0/u"
    lines += [counted("generic", generic, f"write/{big}/2/0/1")]
    lines += [counted("reads", generic, f"scan/{big}/2/0/1")]
    lines += [
        "open sampling simllc/1/0/s",
        "open frequency simllc/78/0/f",
        "open unknown simllc/800/0/u",
    ]
    lines += ["open nothing simllc/0/0/u", "open raw raw/c0/0/u", "rmmod simllc"]
    lines += ["open gone simllc/1/0/u", "insmod /simllc.ko processor=none"]
    lines += ["insmod /simllc.ko counters=1 processor=amdzen4"]
    lines += [counted("turn-taking", f"{INSN},{MISS}", f"scan/{big}/6/0")]
    lines += [counted("too-many", pair, f"scan/{big}/1/0")]
    lines += ["open named raw/4844/0/u"]
    return lines


def judge_rates(g):
    for n in range(4):
        near(g.value(f"cpu{n}", INSN), 2 * 4 * MIB, f"instructions of CPU {n}", 0.01)
    for n in range(4):
        below(
            g.rate(f"cpu{n}"),
            1,
            f"a loop without memory on CPU {n}: misses for 10,000 instructions",
        )
    below(g.rate("inside"), 1, "scan of 1 MiB: misses for 10,000 instructions")
    near(
        g.rate("inside", event=REFS), 1e4 / 32, "scan of 1 MiB: references for 10,000 instructions"
    )
    for load, rate in RATE.items():
        near(g.rate(load), 1e4 * rate, f"{load}: misses for 10,000 instructions")


def judge_tasks(g):
    below(
        g.rate("turns", 0),
        1,
        "a loop that shares its CPU with a scan: misses for 10,000 instructions",
    )
    near(
        g.rate("turns", 1),
        1e4 / 32,
        "a scan that shares its CPU with a loop: misses for 10,000 instructions",
    )
    for n in (0, 1):
        rate = g.rate("together", n)
        ok(rate > DEVIL, f"two scans of 3 MiB in one cache of 4 MiB: scan {n} is a devil", rate)
        below(
            g.rate("apart", n),
            TURTLE,
            f"two scans in two caches: misses of scan {n}, a turtle, for 10,000 instructions",
        )
    near(
        g.rate("child"),
        1e4 / 32,
        "counters of a process whose child scans: misses for 10,000 instructions",
    )
    lines = 2 * 8 * MIB // 64
    user, kernel, both = (g.value("modes", f"simllc/78/0/{flags}") for flags in ("u", "k", ""))
    near(kernel, lines, "lines that the kernel writes: misses of the kernel")
    below(user, lines / 100, "lines that the kernel writes: misses of user code")
    near(
        both,
        kernel + user,
        "lines that the kernel writes: misses of user code and kernel together",
        0.02,
    )
    user, kernel = (g.value("user-mode", f"simllc/78/0/{flags}") for flags in ("u", "k"))
    near(user, lines, "lines that user code reads: misses of user code")
    below(kernel, lines / 10, "lines that user code reads: misses of the kernel")


def judge_nodes(g):
    lines = 2 * 8 * MIB // 64
    for what, remote in (("near", False), ("far", True), ("far2", True), ("moved", False)):
        near(g.value(what, MISS), lines, f"scan, memory {what}: misses")
        if remote:
            near(
                g.value(what, REMOTE),
                g.value(what, MISS),
                f"scan, memory {what}: remote misses",
                0.01,
            )
        else:
            below(g.value(what, REMOTE), lines / 100, f"scan, memory {what}: remote misses")


def judge_generic(g):
    lines = 2 * 8 * MIB // 64
    for what, read, write in (("generic", 0, lines), ("reads", lines, 0)):
        near(g.value(what, "hardware/1/0/u"), 32 * lines, f"{what}: instructions", 0.01)
        near(g.value(what, "hardware/2/0/u"), lines, f"{what}: cache-references")
        near(g.value(what, "hardware/3/0/u"), lines, f"{what}: cache-misses")
        for event, want in (
            ("cache/10002", read),  # LLC-load-misses
            ("cache/10102", write),  # LLC-store-misses
            ("cache/6", read),  # node-loads
            ("cache/10006", read),  # node-load-misses, since the memory is on the other node
        ):
            got = g.value(what, f"{event}/0/u")
            if want:
                near(got, want, f"{what}: {event}")
            else:
                below(got, lines / 100, f"{what}: {event}")


def judge_plain(g):
    judge_rates(g)
    judge_tasks(g)
    judge_nodes(g)
    judge_generic(g)
    same(g.said("open sampling"), "EOPNOTSUPP", "samples of instructions are refused")
    same(g.said("open frequency"), "EOPNOTSUPP", "samples of misses by frequency are refused")
    same(g.said("open unknown"), "EINVAL", "an unknown counter is refused")
    same(g.said("open nothing"), "EINVAL", "an event without a counter is refused")
    same(
        g.said("open raw"),
        "ENOENT",
        "a raw event is refused if Linux has no list for the processor",
    )
    same(g.said("rmmod"), "0", "the module can be unloaded")
    same(g.said("open gone"), "ENOENT", "no event can be opened after the module is unloaded")
    same(g.said("insmod processor=none"), "Invalid argument", "processor=none is refused")
    same(
        g.said("open named"), "0", "processor=amdzen4: a raw event of that processor can be opened"
    )
    total = 0
    for event, want in ((INSN, 6 * 4 * MIB), (MISS, 6 * MIB / 8)):
        value, enabled, running = g.counts.get(("turn-taking", 0, event), (-1, 1, 1))
        total += running / enabled
        near(
            value * enabled / max(running, 1),
            want,
            f"counters=1: scaled count of {event}, which is counted in turns",
            0.3,
        )
    ok(0.5 < total < 1.1, "counters=1: two events are counted in turns", total)
    same(
        [g.counts.get(("too-many", 0, e), (0, 0, 1))[2] for e in (INSN, MISS)],
        [0, 0],
        "counters=1: a group of two events is never counted",
    )


# Numbers of events from Intel's documents. LONGEST_LAT_CACHE.MISS is architectural.
# OFFCORE_RESPONSE of Skylake-SP is 0xb7 or 0xbb; the MSR has the requests (all data reads, or all
# reads for ownership, with prefetches) and "L3 miss".
SKYLAKE = {
    "misses": "raw/412e/0/u",
    "references": "raw/4f2e/0/u",
    "reads": "raw/1b7/3fbc000491/u",
    "writes": "raw/1bb/3fbc000122/u",
    "instructions": "raw/c0/0/u",
}


def plan_skylake():
    events = ",".join(SKYLAKE.values())
    more = ",".join((MISS, PREFETCH, FILLS))
    lines = ["insmod /simllc.ko"]
    for load in ("scan", "write"):
        lines += [counted(load, events, f"{load}/{8 * MIB}/2/0")]
        lines += [counted(f"{load}-named", more, f"{load}/{8 * MIB}/2/0")]
    return [*lines, "open zen raw/4844/0/u", "open other-msr raw/1b7/1/u"]


def judge_skylake(g):
    lines = 2 * 8 * MIB // 64
    for load, mine, other in (("scan", "reads", "writes"), ("write", "writes", "reads")):
        near(
            g.value(f"{load}-named", MISS),
            lines / 2,
            f"prefetch=next, {load}: misses, which are half of the lines",
        )
        near(
            g.value(f"{load}-named", PREFETCH),
            lines / 2,
            f"prefetch=next, {load}: prefetches, which are the other lines",
        )
        near(
            g.value(f"{load}-named", FILLS), lines, f"prefetch=next, {load}: misses and prefetches"
        )
        near(
            g.value(load, SKYLAKE["instructions"]),
            32 * lines,
            f"raw events, {load}: instructions",
            0.01,
        )
        near(g.value(load, SKYLAKE["misses"]), lines / 2, f"raw events, {load}: misses")
        near(g.value(load, SKYLAKE["references"]), lines, f"raw events, {load}: references")
        near(g.value(load, SKYLAKE[mine]), lines, f"raw events, {load}: {mine} and prefetches")
        below(g.value(load, SKYLAKE[other]), lines / 100, f"raw events, {load}: {other}")
    same(g.said("open zen"), "ENOENT", "a raw event of AMD is refused on an Intel processor")
    same(g.said("open other-msr"), "ENOENT", "a raw event with another value of the MSR is refused")
    judge_provider(g)


# AMD's numbers of events: PMC 0x44 counts fills of the data cache by source. Bit 3 stands for the
# memory of this node, bit 6 for the memory of another node. PMC 0x72 counts L2 prefetches that miss
# the L3.
MILAN = {"all": "raw/4844/0/u", "far": "raw/4044/0/u", "near": "raw/844/0/u"}


def plan_milan():
    events = ",".join((*MILAN.values(), "raw/ff72/0/u", "raw/c0/0/u"))
    lines = ["insmod /simllc.ko"]
    lines += [counted(f"node{n}", events, f"scan/{8 * MIB}/2/0/{n}") for n in (0, 1)]
    lines += [counted("inside", f"{INSN}+{MISS}", f"scan/{MIB}/20/0")]
    return [*lines, "open intel raw/412e/0/u"]


def judge_milan(g):
    lines = 2 * 8 * MIB // 64
    for n, mine, other in ((0, "near", "far"), (1, "far", "near")):
        near(
            g.value(f"node{n}", "raw/c0/0/u"), 32 * lines, f"memory on node {n}: instructions", 0.01
        )
        near(
            g.value(f"node{n}", MILAN["all"]),
            lines,
            f"memory on node {n}: fills (1 of 8 lines is simulated)",
        )
        near(g.value(f"node{n}", MILAN[mine]), lines, f"memory on node {n}: {mine} fills")
        below(g.value(f"node{n}", MILAN[other]), lines / 100, f"memory on node {n}: {other} fills")
        below(g.value(f"node{n}", "raw/ff72/0/u"), 1, f"memory on node {n}: prefetches")
    below(
        g.rate("inside"), 1, "1 of 8 lines simulated, scan of 1 MiB: misses for 10,000 instructions"
    )
    same(g.said("open intel"), "ENOENT", "a raw event of Intel is refused on an AMD processor")
    judge_provider(g)


# The row of events.d for each guest's processor. The row amdzen3 has four events, and one of them
# is remote misses.
PROVIDED = {"milan": "amdzen3 A-", "skylake": "skylakex A-"}


def judge_samples(g):
    """Check the samples of a scan of 8 MiB: the row's event gives one for each 10,000 misses."""
    said = g.said("provider samples") or ""
    if g.name == "milan":
        ok(
            "no event gives addresses" in said,
            "samples: the row of this processor has no event for samples",
            said,
        )
        return
    n, misses, span, others, lost = map(int, said.split()) if said[:1].isdigit() else [0] * 5
    # The row also counts prefetched lines. With prefetch=next, half of the lines are prefetched,
    # and these give no samples.
    half = 2
    near(half * n * 1e4, misses, "samples: their number x 20,000", 0.2)
    ok(
        n > 20 and 0.8 * 8 * MIB < span < 8 * MIB,
        "samples: the addresses are in all parts of the scan's memory",
        said,
    )
    same((others, lost), (0, 0), "samples: all are of the scan's process, and none is lost")


def judge_provider(g):
    """Check the counts of the provider in counters/, which uses the row of the guest's
    processor."""
    row = PROVIDED[g.name]
    remote = {"milan": 1, "skylake": 0}[g.name]
    same(g.said("provider about all"), f"perf {row} {remote} 1 ", f"provider: row {row}")
    numbers = re.findall(r"^provider (early|late|three|one) (\w+) ([\d ]+)$", g.text, re.M)
    got = {(what, load): list(map(int, values.split())) for what, load, values in numbers}
    for load in ("loop", "scan", "triad", "chase"):
        for what in ("early", "late"):
            insn, miss, _, enabled, running, _ = got.get((what, load), [1, -1, 0, 1, 0, 0])
            name = f"provider, {what}, {load}: misses for 10,000 instructions"
            if load == "loop":
                below(1e4 * miss / insn, 1, name)
            elif load == "chase" and g.name == "skylake":
                # a miss also brings the next line, but the cache may replace it before the chase
                # needs it
                ok(
                    RATE[load] < miss / insn < 2 * RATE[load],
                    f"{name} are 1 to 2 times as many as without prefetches",
                    miss / insn,
                )
            else:
                near(1e4 * miss / insn, 1e4 * RATE[load], name)
            near(
                running,
                enabled,
                f"provider, {what}, {load}: time in which the events count",
                0.01,
            )
    insn, miss, *_ = got.get(("three", "scan"), [1, -1])
    near(
        1e4 * miss / insn,
        1e4 * RATE["scan"],
        "provider, three counters, scan: misses for 10,000 instructions",
    )
    about = g.said("provider about three")
    same(about, f"perf {row} 0 1 ", "provider, three counters: remote misses are left out")
    insn, miss, _, enabled, running, _ = got.get(("one", "scan"), [1, -1, 0, 1, 1, 0])
    near(
        1e4 * miss / insn,
        1e4 * RATE["scan"],
        "provider, events in turns, scan: misses for 10,000 instructions",
        0.3,
    )
    share = running / enabled
    ok(
        0.1 < share < 0.7,
        "provider, events in turns: each event is counted for a part of the time",
        share,
    )
    counted, calls = map(int, (g.said("provider interrupts") or "0 0").split())
    ok(
        45 <= counted <= 50,
        "provider: 45 to 50 interrupts are counted, one for each read of a running rank",
        counted,
    )
    near(calls, counted, "provider: number of interrupts in the kernel", 0.3)
    judge_samples(g)
    for n in (0, 1):
        ok(int(g.said(f"provider peak {n}") or 0) > 0, f"calibration: domain {n} has a peak")
    table = re.findall(r"^  (loop|scan|triad) +([\d.]+) +([\d.]+)(.*)$", g.text, re.M)
    same(
        [row[0] for row in table],
        ["loop", "scan", "triad"] * 2,
        "calibration: each of the two domains has the three loads",
    )
    for domain, (load, _, rate, said) in zip("000111", table):
        what = f"calibration of domain {domain}, {load}: misses for 10,000 instructions"
        want = {"loop": 0, "scan": 2500, "triad": 1e4 * RATE["triad"]}[load]
        if want:
            near(float(rate), want, what)
        else:
            below(float(rate), 1, what)
        ok("differs" not in said, f"{what} agree with the expected rate", said)
    gone = g.said("provider gone") or ""
    ok("No such file" in gone, "provider without a PMU: the error has the kernel's reason", g.text)
    gone = g.said("provider about gone") or ""
    ok(gone.startswith("none"), "provider without a PMU: the source is none", g.text)


def plan_time():
    size, events = MIB, f"{INSN},{STALL}"
    lines = ["insmod /simllc.ko"]
    for what, places in (
        ("alone", ["0/0"]),
        ("remote", ["0/1"]),
        ("together", ["0/0", "1/0"]),
        ("apart", ["0/0", "2/1"]),
    ):
        lines += [counted(what, events, *(f"scan/{size}/2/{place}" for place in places))]
    return lines


def judge_time(g):
    """Check the model of time. A pass reads 16,384 lines. A controller needs 100 us for each line,
    so a pass keeps it busy for 1.64 s, whichever vCPU requests the lines. The host may delay a
    vCPU, and the queue is then shorter. So the time in a queue has only an upper bound."""
    pass_s = MIB // 64 * 100e-6

    def stall(what, load=0):
        """Return the time for which the model stopped the vCPU in a pass, in units of 1.64 s."""
        passes = max(1, g.passes.get((what, load), (0, 0))[0])
        return g.value(what, STALL, load) / 1e9 / passes / pass_s

    near(
        stall("remote"),
        2,
        "time model: stall for lines from the other node, in times of near lines",
    )
    for what, load in (("alone", 0), ("apart", 0), ("apart", 1)):
        got = stall(what, load)
        ok(
            0.3 < got < 1.05,
            f"time model, {what}: scan {load} waits only for its own lines",
            got,
        )
    got = stall("together", 0) + stall("together", 1)
    ok(
        2.2 < got < 4.2,
        "time model: two scans at one controller also wait for each other's lines",
        got,
    )
    for what, loads in (("alone", 1), ("together", 2)):
        passes = [g.passes.get((what, n), (0, 1)) for n in range(loads)]
        served = sum(n for n, _ in passes) * pass_s * 1e9 / max(ns for _, ns in passes)
        ok(
            0 < served < 1.02,
            f"time model, {what}: scans are not faster than the controller",
            served,
        )


def plan_strange():
    return ["insmod /simllc.ko", f"open none {INSN}", "open generic hardware/1/0/u"]


def judge_strange(g):
    same(
        g.said("open none"),
        "ENOENT",
        "without the plugin's magic number in shared memory, there is no PMU",
    )
    same(
        g.said("open generic"),
        "ENOENT",
        "without the plugin's magic number in shared memory, there are no generic events",
    )


GUESTS = {
    "plain": (plan_plain, judge_plain, {"llc": "size=4M,ways=16"}),
    "skylake": (
        plan_skylake,
        judge_skylake,
        {"llc": "size=4M,prefetch=next", "cpu": "Skylake-Server"},
    ),
    "milan": (plan_milan, judge_milan, {"llc": "size=4M,sample=3", "cpu": "EPYC-Milan"}),
    "time": (plan_time, judge_time, {"llc": "size=512K,node_ns=100000,remote_ns=200000"}),
    "strange": (plan_strange, judge_strange, {"llc": "", "plugin": False}),
}


def built(*arguments):
    """Run the script build, and return the path that it prints."""
    done = subprocess.run([f"{HERE}/build", *arguments], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().split()[-1]


def build_provider():
    """Build counters/test/provider_guest.c with the units of NodeOS that it tests. Returns the path
    of the program."""
    out = f"{boot.WORK}/provider"
    units = ["classify", "calibrate", "calibrate_load", "counters", "counters_none"]
    units += ["counters_perf", "counters_replay", "events", "events_load", "events_scan"]
    units += ["miss_ring", "sampling"]
    sources = [f"counters/{unit}.c" for unit in (*units, "peaks")]
    units = ["call_limit", "errbuf", "fileio", "idset", "owned_file", "trusted_open", "words"]
    sources += [f"base/{unit}.c" for unit in units]
    sources += ["host/cpu_identity.c", "counters/test/provider_guest.c"]
    macros = ["-D_GNU_SOURCE", '-DNODEOS_EVENTS_ETC="/etc"', '-DNODEOS_EVENTS_DIR="/usr"']
    command = [
        "gcc",
        "-std=gnu11",
        "-static",
        "-O1",
        "-pthread",
        f"-I{TOP}",
        f"-I{HERE}/test",
        *macros,
        "-o",
        out,
    ]
    subprocess.run([*command, *(f"{TOP}/{source}" for source in sources)], check=True)
    return out


def main():
    global PLUGIN
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", choices=GUESTS)
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    args = parser.parse_args()
    boot.WORK, boot.KERNEL = os.path.abspath(args.work), args.kernel
    os.makedirs(boot.WORK, exist_ok=True)
    PLUGIN = built("plugin")
    names = [args.only] if args.only else ["plain"] if args.short else list(GUESTS)
    files = []
    for name in names:
        files.append(f"{boot.WORK}/{name}.plan")
        with open(files[-1], "w", encoding="utf-8") as f:
            f.write("\n".join(GUESTS[name][0]()) + "\n")
    module = f"{boot.WORK}/simllc.ko"
    subprocess.run(["cp", built("module", "--in", args.tree), module], check=True)
    tables = [f"{TOP}/counters/events.d/{name}.tab" for name in ("amd", "intel")]
    files += [module, build_provider(), *tables]
    boot.initramfs(boot.WORK, {"loads": f"{HERE}/test/loads.c"}, files)
    for name in names:
        GUESTS[name][1](Guest(name, **GUESTS[name][2]))
    print(f"1..{boot.count}")
    print(f"{boot.count - boot.failed} passed, {boot.failed} failed, 0 skipped")
    return boot.failed != 0


if __name__ == "__main__":
    sys.exit(main())
