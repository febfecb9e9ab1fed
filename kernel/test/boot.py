#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with fgmn= in small guests of one, two and four nodes, and check their /proc and
/sys.

boot.py [--stock KERNEL] [--more KERNEL] KERNEL TREE WORKDIR [NUMBER [SEED]]: KERNEL and TREE of
kernel/build; NUMBER random specifications (default 10). --stock: the unpatched kernel, to show what
each patch changes. --more: the patched kernel built with kernel/test/more.config, for features that
kernel/config leaves out: memory added to a running machine, KASLR, CMA.

The configuration in TREE decides what is expected: a kernel without the patches must ignore fgmn=,
and a debug kernel must report bugs that the test triggers. No other complaint may be in a kernel's
log. Needs QEMU and cpio; TAP on stdout."""

import argparse
import glob
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
count = failed = skipped = 0
# messages with which a kernel reports bugs in itself
COMPLAINT = re.compile(
    r"BUG:|WARNING:|KASAN:|UBSAN:|INFO: (possible|suspicious|trying|task|lockdep)|Oops|general"
    r" protection fault|Kernel panic|Unable to handle"
    r"|scheduling while atomic|sleeping function|DEBUG_LOCKS_WARN_ON|turning off the"
    r" locking|refcount_t:|corruption|Bad page"
    r"|rcu\w* (self-)?detected"
)
RACE = re.compile(r"BUG: KCSAN: (?:data-race|assert: race) in (.*)")


def ok(good, what, detail=None):
    global count, failed
    count += 1
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    if not good:
        failed += 1
        print("\n".join(f"# {line}"[:1000] for line in str(detail).splitlines()), flush=True)
    return good


def skip(what):
    global count, skipped
    count += 1
    skipped += 1
    print(f"ok {count} - {what} # SKIP", flush=True)


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}\nwant: {want}")


def nodes_in(words):
    """Return the set of numbers in a list such as "0,2-5"."""
    found = set()
    for word in words.split(","):
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def boot_again(boot, what):
    """Call BOOT, which runs a guest and returns its output. Call it up to twice more if a bug of
    QEMU has killed the guest's kernel: when a CPU replaces a breakpoint by code, QEMU 7.2 may still
    run the breakpoint in another thread (Red Hat's bug 2216496). WHAT names the guest."""
    for _ in range(3):
        text = boot()
        if not re.search(r"Oops: int3: 0000 .*SMP", text):
            break
        at = re.search(r"RIP: 0010:(\S+)", text)
        print(
            "# booted again: QEMU ran a removed breakpoint"
            f" at {at[1] if at else 'an unknown place'}: {what}",
            flush=True,
        )
    return text


class Machine:
    """QEMU's machine q35. MEMORY and CPUS list the MiB and the CPUs of each node. LOW MiB of all
    memory are below 4 GiB. DIST is the matrix of distances between nodes, or None. THREADS is per
    core."""

    def __init__(
        self, name, memory, low=1024, dist=None, cpus=None, slit=True, extra=(), threads=1
    ):
        self.name, self.memory, self.low, self.hmat = name, memory, low, "hmat" in extra
        self.cpus = cpus or [1] * len(memory)
        n = len(memory)
        self.dist = dist or [[10 if i == j else 21 for j in range(n)] for i in range(n)]
        self.args = [
            "-machine",
            f"q35,max-ram-below-4g={low}M,hmat={'on' if 'hmat' in extra else 'off'}",
            "-m",
            f"{sum(memory)}M",
            "-smp",
            (
                f"{sum(self.cpus)},sockets={sum(1 for c in self.cpus if c)}"
                f",cores={max(self.cpus) // threads},threads={threads}"
            ),
        ]
        cpu = 0
        for i, size in enumerate(memory if slit else []):
            word = f"node,nodeid={i},memdev=m{i}"
            if self.cpus[i]:
                word += f",cpus={cpu}-{cpu + self.cpus[i] - 1}"
                cpu += self.cpus[i]
            if "hmat" in extra:
                word += f",initiator={self.near(i)}"
            self.args += ["-object", f"memory-backend-ram,id=m{i},size={size}M", "-numa", word]
        for i in range(n if slit else 0):
            for j in range(n):
                if i != j:
                    self.args += ["-numa", f"dist,src={i},dst={j},val={self.dist[i][j]}"]
        if "hmat" in extra:
            for i in range(n):
                for j in range(n):
                    if self.cpus[i]:
                        for what, value in (
                            ("latency", f"latency={8 * self.dist[i][j]}"),
                            ("bandwidth", f"bandwidth={1000 // self.dist[i][j]}G"),
                        ):
                            self.args += [
                                "-numa",
                                (
                                    f"hmat-lb,initiator={i},target={j},hierarchy=memory"
                                    f",data-type=access-{what},{value}"
                                ),
                            ]

    def near(self, node):
        """Return the nearest node with CPUs."""
        return (
            node
            if self.cpus[node]
            else min((i for i, c in enumerate(self.cpus) if c), key=lambda i: self.dist[node][i])
        )


TWO = Machine("two sockets", [4096, 4096])
TWO_EACH = Machine("two sockets of two CPUs", [2048, 2048], cpus=[2, 2])
ODD = Machine("two sockets that do not meet at a GiB", [2304, 2560])
ONE = Machine("no SRAT", [4096], slit=False)
# Without an SRAT, the kernel puts an AMD CPU, such as QEMU's, on the node whose number is that of
# the CPU's last-level cache
PACKAGES = Machine("no SRAT, two packages", [4096], slit=False, cpus=[1, 1])
FOUR = Machine(
    "four nodes as with SNC",
    [2048, 1024, 1536, 1024],
    cpus=[1, 1, 1, 1],
    dist=[[10, 11, 21, 21], [11, 10, 21, 21], [21, 21, 10, 11], [21, 21, 11, 10]],
)
CXL = Machine(
    "a node without CPUs",
    [3072, 2048, 1024],
    cpus=[2, 2, 0],
    dist=[[10, 21, 28], [21, 10, 17], [28, 17, 10]],
    extra=("hmat",),
)
FAR = Machine(
    "a node without CPUs, and no HMAT",
    [2048, 1024, 1024],
    cpus=[1, 1, 0],
    dist=[[10, 21, 28], [21, 10, 17], [28, 17, 10]],
)
UNTOLD = Machine("two sockets without a SLIT", [2048, 2048])
UNTOLD.args = [
    a
    for i, a in enumerate(UNTOLD.args)
    if not a.startswith("dist,") and not (UNTOLD.args + [""])[i + 1].startswith("dist,")
]
UNTOLD.dist = [[10, 20], [20, 10]]
SMT = Machine("two threads a core", [2048, 2048], cpus=[2, 2], threads=2)


class Boot:
    """A guest's output. MISTAKES is true if the guest makes its kernel complain on purpose. WHEN is
    a line to wait for, and the commands that QEMU's monitor gets after this line. ACCEL replaces
    QEMU's arguments for one thread per processor. The guest is killed after LIMIT seconds."""

    all = []

    def __init__(
        self,
        machine,
        append,
        kernel=None,
        when=None,
        mistakes=False,
        accel=("-accel", "tcg,thread=multi"),
        limit=600,
    ):
        self.machine, self.append, self.mistakes = machine, append, mistakes
        # la57=off: the stock kernel's identify_cpu() clears all CPU features for a moment. With
        # five levels of page tables, an interrupt at this moment would make KASAN report a wild
        # access.
        args = [
            "qemu-system-x86_64",
            *accel,
            "-cpu",
            "max,la57=off",
            "-nographic",
            "-no-reboot",
            "-nodefaults",
            "-serial",
            "stdio",
            "-kernel",
            kernel or KERNEL,
            "-initrd",
            f"{WORK}/test.cpio.gz",
            "-append",
            (
                "console=ttyS0 panic=-1 tsc=reliable lpj=4000000 no_timer_check"
                f" rcupdate.rcu_cpu_stall_suppress=1 {append}"
            ),
        ]
        self.text = boot_again(
            lambda: self.run(args + machine.args, when, limit), f"{machine.name}: {append}"
        )
        self.races, self.complaints = [], []
        for line in self.text.splitlines():
            race = RACE.search(line)
            if race:
                self.races.append(race.group(1))
            if COMPLAINT.search(line) and (not race or "fgmn" in race.group(1)):
                self.complaints.append(line)
        Boot.all.append(self)
        self.text, _, rest = self.text.partition("=== complaints\n")
        self.ended = rest.endswith("=== end\n") or "\n=== end\n" in rest
        self.log, _, rest = self.text.partition("=== /sys/kernel/mm/fgmn/enabled\n")
        first, _, self.after = rest.partition("=== done\n")
        self.file = {}
        for part in ("=== /sys/kernel/mm/fgmn/enabled\n" + first).split("=== ")[1:]:
            name, _, body = part.partition("\n")
            self.file[name] = body
        self.nodes = self.read_nodes(self.file)
        self.zones = {}
        for nid, zone, body in re.findall(
            r"^Node (\d+), zone +(\w+)\n((?:  .*\n)*)", self.file.get("/proc/zoneinfo", ""), re.M
        ):
            number = {
                key: int(value)
                for key, value in re.findall(r"^ +(spanned|present|managed) +(\d+)$", body, re.M)
            }
            start = re.search(r"start_pfn: +(\d+)", body)
            if number.get("present"):
                self.zones.setdefault(int(nid), []).append(
                    (
                        zone,
                        int(start.group(1)),
                        number["spanned"],
                        number["present"],
                        number["managed"],
                    )
                )
        self.tiers = [
            nodes_in(words)
            for words in re.findall(
                r"^memory_tier\d+ (\S+)$",
                self.file.get("/sys/devices/virtual/memory_tiering", ""),
                re.M,
            )
        ]
        self.blocks = [
            (int(n), int(h), int(s, 16), int(e, 16) + 1, int(m))
            for n, h, s, e, m in re.findall(
                r"fgmn: node (\d+): home (\d+) \[mem (0x\w+)-(0x\w+)\] (\d+)M", self.log
            )
        ]

    @staticmethod
    def run(args, when=None, limit=600):
        """Return the output of QEMU until QEMU ended or was killed."""
        monitor, log = f"{WORK}/monitor", f"{WORK}/last-{threading.get_ident()}.log"
        if when:
            args = [*args, "-monitor", f"unix:{monitor},server=on,wait=off"]
        with (
            open(log, "wb") as f,
            subprocess.Popen(
                args, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT
            ) as qemu,
        ):
            end = time.monotonic() + limit
            while qemu.poll() is None and time.monotonic() < end:
                if when and when[0] in Boot.read(log):
                    Boot.command(monitor, when[1])
                    when = None
                time.sleep(0.1)
            qemu.kill()
        return Boot.read(log)

    @staticmethod
    def read(log):
        with open(log, errors="replace") as f:
            return f.read().replace("\r", "")

    @staticmethod
    def command(monitor, lines):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(monitor)
            for line in lines:
                s.sendall(line.encode() + b"\n")
                time.sleep(0.2)

    @staticmethod
    def read_nodes(file):
        nodes = {}
        for name, body in file.items():
            found = re.fullmatch(r"/sys/devices/system/node/node(\d+)/(.+)", name)
            if found:
                nodes.setdefault(int(found.group(1)), {})[found.group(2)] = body.strip()
        return nodes

    def fgmn(self, name):
        return self.file.get(f"/sys/kernel/mm/fgmn/{name}", "none").strip()

    def free(self, nid, nodes=None):
        """Free MiB of a node."""
        return (
            int(re.search(r"MemFree: +(\d+) kB", (nodes or self.nodes)[nid]["meminfo"]).group(1))
            // 1024
        )

    def after_nodes(self):
        return self.read_nodes(
            {n: t for n, _, t in (part.partition("\n") for part in self.after.split("=== ")[1:])}
        )

    def node_at(self, address):
        return next(
            (
                nid
                for nid, zones in self.zones.items()
                for z in zones
                if z[1] << 12 <= address < (z[1] + z[2]) << 12
            ),
            None,
        )

    def initiator(self, home, access):
        """Return the initiator node of a home and its blocks for access class ACCESS: node 0 in
        class 1 if only CPU 0 is online, otherwise the initiator in the firmware's tables."""
        return (
            0
            if access == 1 and self.machine.hmat and "maxcpus=1" in self.append
            else self.machine.near(home)
        )

    def home_of(self, nid):
        return next((h for n, h, *_ in self.blocks if n == nid), nid)

    def crash_nodes(self):
        """Return the nodes of the memory that crashkernel= has reserved."""
        return [
            self.node_at(int(a, 16))
            for a in re.findall(r"^ *(\w+)-\w+ : Crash kernel$", self.file["/proc/iomem"], re.M)
        ]

    def pools(self):
        """Return the number of huge pages of each node that has some."""
        pages = {
            n: int(re.search(r"HugePages_Total: +(\d+)", v["meminfo"]).group(1))
            for n, v in self.nodes.items()
        }
        return {n: c for n, c in pages.items() if c}

    def total(self, nid, nodes=None):
        return (
            int(re.search(r"MemTotal: +(\d+) kB", (nodes or self.nodes)[nid]["meminfo"]).group(1))
            // 1024
        )


PLAIN = {}


def plain(machine):
    """Return a Boot of the machine without fgmn=. It shows the memory before any division."""
    if machine.name not in PLAIN:
        PLAIN[machine.name] = Boot(machine, "quiet")
    return PLAIN[machine.name]


def boots(jobs):
    """Yield a Boot for each of JOBS. A job begins with its machine and command line. Two boots run
    at a time, since each keeps little more than one CPU busy."""
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda job: Boot(*job[:2]), jobs)


def ram(boot):
    """Return the ranges of System RAM in /proc/iomem."""
    return [
        (int(a, 16), int(b, 16) + 1)
        for a, b in re.findall(r"^(\w+)-(\w+) : System RAM$", boot.file["/proc/iomem"], re.M)
    ]


def judge(b, want):
    """Return the rules that boot B breaks. Compares B's /proc and /sys with those of a boot without
    fgmn=. WANT maps each home to the sizes of its blocks in MiB, in any order."""
    p, wrong = plain(b.machine), []
    if not b.ended:
        return ["the guest did not end", *b.text.splitlines()[-20:]]
    homes = sorted(p.nodes)

    def check(good, what):
        if not good:
            wrong.append(what)

    check(
        b.ended and b.fgmn("enabled") == "1" and b.fgmn("error") == "",
        f"enabled {b.fgmn('enabled')} error {b.fgmn('error')}",
    )
    check(not b.complaints, f"complaints: {b.complaints}")
    for home in homes:
        sizes = sorted(m for _, h, _, _, m in b.blocks if h == home)
        check(
            sizes == sorted(want.get(home, [])),
            f"blocks of {home}: {sizes}, asked {sorted(want.get(home, []))}",
        )
    check(
        [n for n, *_ in b.blocks] == list(range(max(homes) + 1, max(homes) + 1 + len(b.blocks))),
        "the numbers of the blocks do not follow those of the homes",
    )
    check(
        sorted(b.nodes) == homes + [n for n, *_ in b.blocks],
        f"nodes {sorted(b.nodes)} are not homes and blocks",
    )
    order = [(h, s) for _, h, s, _, _ in b.blocks]
    check(order == sorted(order), "blocks are not in the order of home and address")
    for nid, home, start, end, mib in b.blocks:
        zones = b.zones.get(nid, [])
        low, high = (
            min(z[1] for z in zones) << 12 if zones else 0,
            (max(z[1] + z[2] for z in zones) << 12 if zones else 0),
        )
        check(
            (low, high) == (start, end) and end - start == mib * MIB,
            f"node {nid}: zoneinfo has {low:#x}-{high:#x}, the log {start:#x}-{end:#x}",
        )
        # /proc/iomem lists small reserved pieces of RAM under other names
        inside = sum(max(0, min(end, y) - max(start, x)) for x, y in ram(b))
        check(
            inside >= end - start - MIB,
            f"node {nid}: only {inside >> 20} of {mib} MiB are System RAM in /proc/iomem",
        )
        check(
            start % (32 * MIB) == 0 and end % (32 * MIB) == 0 and start >= 4 << 30,
            f"node {nid}: its start {start:#x} is not aligned, or is below 4 GiB",
        )
        check(
            b.nodes[nid]["physical_node"] == str(home) and b.nodes[nid]["cpulist"] == "",
            f"node {nid}: its physical_node is not {home}, or it has CPUs",
        )
        for access in 0, 1:
            got = b.nodes[nid][f"access{access}/initiators"]
            check(
                got == f"node{b.initiator(home, access)}",
                f"node {nid}: access{access}/initiators {got}",
            )
        # KASLR places the kernel before blocks exist: a block may contain the kernel's image and
        # memory that the boot allocates beside it
        image = re.search(r"^ *(\w+)-\w+ : Kernel code$", b.file["/proc/iomem"], re.M)
        room = USABLE * mib - (40 if image and start <= int(image.group(1), 16) < end else 0)
        # KASAN allocates the shadow of a range of RAM on the node where the range begins
        room -= sum(
            (y - x) // 8 // MIB for x, y in ram(b) if x == start and "CONFIG_KASAN=y" in CONFIG
        )
        check(b.free(nid) >= room, f"node {nid}: {b.free(nid)} of {mib} MiB free after the boot")
    for home in homes:
        check(b.nodes[home]["physical_node"] == str(home), f"home {home}: wrong physical_node")
        check(
            b.nodes[home]["cpulist"] == p.nodes[home]["cpulist"] or "maxcpus" in b.append,
            f"home {home}: its CPUs changed",
        )
        was = sum(z[3] for z in p.zones[home])
        now = sum(
            z[3]
            for n in [home] + [n for n, h, *_ in b.blocks if h == home]
            for z in b.zones.get(n, [])
        )
        check(was == now, f"home {home}: {was} pages before, {now} with its blocks")
        # blocks have no memory below 4 GiB
        dma = [sum(z[3] for z in boot.zones[home] if z[0].startswith("DMA")) for boot in (p, b)]
        check(dma[0] == dma[1], f"home {home}: {dma} pages of DMA zones")
    of = {n: n for n in homes} | {n: h for n, h, *_ in b.blocks}
    for n in sorted(b.nodes):
        row = [int(d) for d in b.nodes[n]["distance"].split()]
        check(
            row
            == [
                10 if n == m else 11 if of[n] == of[m] else b.machine.dist[of[n]][of[m]]
                for m in sorted(b.nodes)
            ],
            f"distances of {n}",
        )
    for nid, home, *_ in b.blocks:
        for access in (0, 1) if b.machine.hmat else ():
            speed = {
                name.rpartition("/")[2]: [b.nodes[n].get(name) for n in (nid, home)]
                for name in (
                    f"access{access}/initiators/{rw}_{what}"
                    for rw in ("read", "write")
                    for what in ("latency", "bandwidth")
                )
            }
            # the values of the home in the HMAT, with the rounding of QEMU and the kernel
            near = b.machine.dist[b.initiator(home, access)][home]
            want = {"latency": str(8 * near), "bandwidth": str(1000 // near * 1024)}
            check(
                b.nodes[nid][f"access{access}/initiators"]
                == b.nodes[home][f"access{access}/initiators"],
                f"node {nid}, access{access}: not the initiators of {home}",
            )
            check(
                all(v == [want[name.partition("_")[2]]] * 2 for name, v in speed.items()),
                f"node {nid}, access{access}: {speed}, not {want}",
            )
        check(
            sum(nid in tier and home in tier for tier in b.tiers) == 1,
            f"node {nid} is not in the memory tier of {home}: {b.tiers}",
        )
    for node, text in re.findall(r"Fallback order for Node (\d+): ([\d ]+)", b.log):
        rest = [int(n) for n in text.split()][1:]
        kinds = [of[n] != n for n in rest]
        check(kinds == sorted(kinds), f"node {node} falls back to a block before a home: {text}")
        siblings = [of[n] == of[int(node)] for n in rest if of[n] != n]
        check(
            siblings == sorted(siblings, reverse=True),
            f"node {node}: blocks of another home first: {text}",
        )
    check(b.file["/proc/sys/kernel/numa_balancing"].strip() == "0", "NUMA balancing is on")
    return wrong


def group_refused():
    """Test that wrong parameters give the documented messages and leave the nodes undivided."""
    low = sum(
        max(0, (min(end, 4 << 30) >> 20) - -(-start >> 20)) for start, end in ram(plain(TWO))
    )  # MiB of the ranges below 4 GiB, each rounded inwards to whole MiB
    refused = (
        ("fgmn=0:2.6G", "@3: decimals are not supported, use 2662M"),
        ("fgmn=0:22x", "@5: size expected after 'x'"),
        ("fgmn=5:1G", "@0: node 5 has no memory (nodes with memory: 0-1)"),
        ("fgmn=0:1G/0:2G", "@5: node 0 specified twice"),
        ("fgmn=0:16M", "@2: 16M is below the minimum of 32M"),
        ("fgmn=1:30x4G", "node 1: needs 122880M, has 3584M after home=512M"),
        ("fgmn=all:600x64M", "1202 nodes needed, kernel supports 128 (CONFIG_NODES_SHIFT)"),
        (
            "fgmn=0:home=512M,maxx1G",
            f"node 0: home must cover {low}M below 4G (or fgmn_opt=lowmem:split)",
        ),
        ("fgmn=0:1G!z", "@5: unknown flag 'z' (known: c m)"),
        ("fgmn=1:home=128M,2G!c", "node 1: no 1G-aligned contiguous 2048M (largest 1024M)"),
        ("fgmn=", "@0: empty specification"),
        ("fgmn=0:", "@0: empty specification"),
        ("fgmn=all:1G numa=fake=4", "numa=fake is active, fgmn= ignored"),
        ("fgmn=all:1G numa=off", "NUMA is off, fgmn= ignored"),
        (
            "fgmn=all:1G kernelcore=1G",
            "kernelcore= and movablecore= cannot be used with fgmn=, which has '!m'",
        ),
        (
            "fgmn=all:1G fgmn_opt=dist:40",
            "dist:40 is more than the distance of two physical nodes, 21",
        ),
        (
            "fgmn=all:512M fgmn_opt=dist:21",
            "dist:21 is more than the distance of two physical nodes, 20",
        ),
        ("fgmn=all:1G fgmn_opt=strict,best", "fgmn_opt= @7: 'strict' or 'best' is given twice"),
        (
            "fgmn=all:1G fgmn_opt=cpus:all",
            (
                "fgmn_opt= @0: unknown option (known: dist: align: home: lowmem:keep lowmem:split"
                " strict best)"
            ),
        ),
    )
    jobs = [
        (ODD if "!c" in append else UNTOLD if "dist:21" in append else TWO, append)
        for append, _ in refused
    ]
    for machine, _ in jobs:
        plain(machine)
    for (append, message), (machine, _), b in zip(refused, jobs, boots(jobs)):
        p = plain(machine)
        same(
            (b.ended, b.fgmn("enabled"), b.fgmn("error"), b.fgmn("spec")),
            (True, "0", message, append.split("fgmn=")[1].split(" ")[0]),
            f"{append}: {message}",
        )
        ok(
            f"fgmn: {message}\n" in b.log
            and "fgmn: disabled, booting with physical nodes\n" in b.log,
            f"{append}: the log has the message, too",
            b.log[-2000:],
        )
        if "numa=" not in append:
            same(
                {n: v["distance"] for n, v in b.nodes.items()},
                {n: v["distance"] for n, v in p.nodes.items()},
                f"{append}: the kernel has only the physical nodes",
            )


def group_layouts():
    """Test specifications whose layouts are known."""
    layouts = (
        (TWO, "fgmn=all:23x128M", {0: [128] * 23, 1: [128] * 23}),
        (TWO, "fgmn=0:4x512M/1:home=1G,6xrest", {0: [512] * 4, 1: [512] * 6}),
        (ONE, "fgmn=0:home=1500M,maxx512M", {0: [512] * 5}),
        (PACKAGES, "fgmn=0:4x512M", {0: [512] * 4}),
        (FOUR, "fgmn=all:2x128M", {n: [128] * 2 for n in range(4)}),
        (UNTOLD, "fgmn=all:2x256M", {0: [256] * 2, 1: [256] * 2}),
        (CXL, "fgmn=0:512M/2:home=128M,2xrest", {0: [512], 2: [448, 448]}),
        (TWO, "fgmn=all:4x512M crashkernel=256M,high hugepages=128", {0: [512] * 4, 1: [512] * 4}),
    )
    for (machine, append, want), b in zip(layouts, boots(layouts)):
        same(judge(b, want), [], f"{machine.name}: {append}")
        if machine is CXL:
            same(
                [{2, 4, 5} & tier for tier in b.tiers if tier & {2, 4, 5}],
                [{2, 4, 5}],
                "slow memory and its blocks are one memory tier",
            )
            ok(len(b.tiers) == 2, "the machine's other memory is a second memory tier", b.tiers)
    # on any kernel, the threads that allocate few huge pages do not reach further nodes
    same(
        (sum(b.pools().values()), list(b.pools())),
        (128, [0, 1]),
        "hugepages= allocates on homes only",
    )
    same(len(b.crash_nodes()), 2, "crashkernel= reserves its two ranges")
    same(
        [b.home_of(n) for n in b.crash_nodes()],
        b.crash_nodes(),
        "crashkernel= reserves both ranges on homes",
    )
    b = Boot(TWO, "fgmn=all:23x128M do=filter,show:/proc/vmallocinfo")
    packs = re.findall(r"^0x\S+ +(\d+) bpf_(?:prog_pack_alloc|jit_alloc_exec)", b.after, re.M)
    same(
        max(int(size) >> 20 for size in packs or [0]),
        4,
        "a pack of BPF programs has 2 MiB for each home",
    )
    levels = [re.findall(r"Timer migration: .*", log) for log in (Boot(TWO, "").log, b.log)]
    ok(
        levels[0] and levels[0] == levels[1],
        "the hierarchy of timer migration is that of the physical nodes",
        levels,
    )


def group_full():
    """Test that a page fault costs no more when all blocks of a cpuset are full except the last
    one, and that memory which becomes free is used again. The guest's clock counts instructions."""
    b = Boot(
        TWO,
        "fgmn=all:23x128M transparent_hugepage=never do=fill:2-24",
        accel=("-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off"),
    )
    costs = re.findall(r"^fault: (\d+) in the last block, (\d+) when", b.after, re.M)
    alone, full = map(int, costs[0]) if costs else (0, 0)
    ok(
        0 < full <= 1.1 * alone,
        "a fault costs the same when the other 22 blocks of its cpuset are full",
        f"{alone} in a cpuset of one block, {full} with 22 full ones\n{b.after[-2000:]}",
    )
    print(f"# a fault: {alone} ticks in a cpuset of one block, {full} with 22 full ones before it")
    same(
        re.findall(r"^freed: (\d+) of 16 MiB", b.after, re.M),
        ["16"],
        "a block that was full is used again when it has room",
    )


def group_random(number, seed):
    """Test random specifications that fit, each on one of four machines."""
    rng, jobs = random.Random(seed), []
    while len(jobs) < number:
        machine = rng.choice((TWO, ONE, FOUR, CXL))
        p, words, want = plain(machine), [], {}
        nodes = [n for n in sorted(p.nodes) if rng.random() < 0.8] or [sorted(p.nodes)[-1]]
        for n in nodes:
            pages = p.zones[n]
            room = sum(z[3] for z in pages if not z[0].startswith("DMA")) >> 8
            home = 128 + 32 * rng.randrange(0, max(1, room // 200))
            low = sum(z[3] for z in pages if z[0].startswith("DMA")) >> 8
            left, sizes = (room - home) // 32 * 32 - 32, []
            while left >= 64 and len(sizes) < 12 and rng.random() < 0.9:
                sizes.append(32 * rng.randrange(2, max(3, min(left, 1024) // 32 + 1)))
                left -= sizes[-1]
            if not sizes:
                continue
            want[n] = sizes
            words.append(f"{n}:home={low + home}M," + ",".join(f"{s}M" for s in sizes))
        if not words:
            continue
        jobs.append(
            (
                machine,
                "fgmn="
                + "/".join(words)
                + rng.choice(("", " nokaslr", " crashkernel=128M", " maxcpus=1")),
                want,
            )
        )
    for i, ((machine, append, want), b) in enumerate(zip(jobs, boots(jobs))):
        same(judge(b, want), [], f"random {i}, {machine.name}: {append}")


def group_work():
    """Work on blocks: huge pages, exhausted nodes, pools, the kernel's own selftest and KUnit."""
    b = Boot(
        TWO,
        "fgmn=all:4x512M transparent_hugepage=always"
        " do=thp:2,oom:0:2:700,starve:3:512,drag:0:3,drag:0:1,pages:64,run:/fgmn",
    )
    ok(b.ended, "the guest ends", b.text[-3000:])
    same(
        re.findall(r"^huge (\S+) (\d+)$", b.after, re.M),
        [("2", "65536")],
        "a task that may use only a block gets huge pages",
    )
    same(
        re.findall(r"^(hungry|large|sleeping) (\w+)$", b.after, re.M)[:2],
        [("hungry", "killed"), ("large", "lives")],
        "a task that exhausts a block is killed, and a larger task outside of the block lives",
    )
    same(
        re.findall(r"^(hungry|large|sleeping) (\w+)$", b.after, re.M)[2:],
        [("hungry", "lives"), ("sleeping", "killed")],
        "the larger of two tasks on an exhausted block is killed, and the smaller one continues",
    )
    same(
        re.findall(r"^dragged: own page on (\d+), shared page on (\d+)$", b.after, re.M),
        [("3", "0"), ("1", "1")],
        "a task that moves to a block takes its private pages along, and shared pages only to"
        " another home",
    )
    after = b.after_nodes()
    same(
        {n: 64 // 2 for n in (0, 1)},
        {
            n: int(c)
            for n, v in after.items()
            if (c := re.search(r"HugePages_Total: +(\d+)", v["meminfo"]).group(1)) != "0"
        },
        "nr_hugepages allocates on homes only",
    )
    ok(
        all(b.free(n, after) >= USABLE * 512 for n, h, *_ in b.blocks),
        "the memory of all blocks is free after the work",
        {n: b.free(n, after) for n, *_ in b.blocks},
    )
    passed = re.findall(r"^(ok|not ok) \d+ (.*)$", b.after, re.M)
    ok(
        len(passed) == 5 and all(word == "ok" for word, _ in passed) and "/fgmn: exit 0" in b.after,
        "the kernel's selftest passes",
        b.after[:3000],
    )
    b = Boot(FAR, "fgmn=2:home=128M,2xrest do=run:/fgmn")
    same(
        re.findall(r"^(ok|not ok) \d+ .*homes as initiators$", b.after, re.M),
        ["ok"],
        "blocks of a node without CPUs have the nearest node with CPUs as initiator",
    )
    b = Boot(TWO, "fgmn=0:1G!m,512M movable_node")
    movable = {
        int(n)
        for n, managed in re.findall(
            r"^Node (\d+), zone +Movable\n(?: .*\n)*? +managed +(\d+)", b.text, re.M
        )
        if managed != "0"
    }
    same(
        movable,
        {nid for nid, _, _, _, mib in b.blocks if mib == 1024},
        "only the block with the flag m is movable memory",
    )
    kept = re.findall(r"^Node 0, zone +Normal\n(?: .*\n)*? +protection: \((.*)\)", b.text, re.M)
    same(
        [set(words.split(", ")) for words in kept],
        [{"0"}],
        "a movable block adds no protection to its home's Normal zone",
    )
    b = Boot(TWO, "kunit.enable=1 kunit.filter_glob=fgmn*")
    cases = re.findall(r"\] +(ok|not ok) \d+ (test_\w+)", b.text)
    ok(
        len(cases) == 7 and all(word == "ok" for word, _ in cases),
        "the KUnit tests of fgmn= pass",
        "\n".join(
            line for line in b.text.splitlines() if "KTAP" in line or "ok" in line or "#" in line
        ),
    )


def group_without():
    """Test that a kernel without the patches has the machine's nodes with any fgmn=."""
    for machine in TWO, CXL:
        for append in "", "fgmn=all:4x256M":
            b = Boot(machine, append)
            n = len(machine.memory)
            same(
                (
                    b.ended,
                    b.fgmn("enabled"),
                    {nid: [int(d) for d in v["distance"].split()] for nid, v in b.nodes.items()},
                ),
                (True, "", dict(enumerate(machine.dist))),
                f"{machine.name}, {append or 'nothing'} on the command line: {n} nodes",
            )
            wrong = {
                nid: b.total(nid)
                for nid in b.nodes
                if not 0.8 * machine.memory[nid] <= b.total(nid) <= machine.memory[nid]
            }
            ok(
                not wrong,
                f"{machine.name}, {append or 'no fgmn='}: each node has its memory",
                wrong,
            )
            if append:
                ok(
                    re.search(f"Unknown kernel command line parameters .*{append}", b.log),
                    f"{append}: the log says that the parameter is unknown",
                    b.log[-2000:],
                )


def group_checks():
    """Test the checks and schedulers of the debug variants."""
    if "CONFIG_LKDTM=y" in CONFIG:
        for mistake, report in (
            ("WARNING", "WARNING: .*lkdtm_WARNING"),
            (
                "SLAB_LINEAR_OVERFLOW",
                "BUG: KASAN: slab-out-of-bounds in lkdtm_SLAB_LINEAR_OVERFLOW",
            ),
        ):
            b = Boot(ONE, f"do=mistake:{mistake}", mistakes=True)
            ok(
                b.ended and any(re.search(report, line) for line in b.complaints),
                f"the kernel reports the provoked bug {mistake}",
                b.text[-2000:] + "\n".join(b.complaints),
            )
    if "CONFIG_PROVE_LOCKING=y" in CONFIG:
        stats = Boot(TWO, "do=show:/proc/lockdep_stats").after
        ok(re.search(r"debug_locks: +1$", stats, re.M), "lockdep is still on at the end", stats)
    if "CONFIG_KCSAN=y" in CONFIG:
        b = Boot(TWO, "fgmn=all:4x512M")
        ok(
            re.search(r"kcsan: selftest: (\d+)/\1 tests passed", b.log)
            and "kcsan: enabled early" in b.log,
            "KCSAN is on, and passes its selftest",
            b.log[:3000],
        )
    if "CONFIG_SCHED_CLASS_EXT=y" in CONFIG:
        b = Boot(SMT, "do=show:/sys/kernel/sched_ext/state,core")
        ok(
            "=== /sys/kernel/sched_ext/state\ndisabled\n" in b.after,
            "sched_ext is built in, without a scheduler loaded",
            b.after[:2000],
        )
        ok(
            "core scheduling 0\n" in b.after,
            "a task may have a cookie for core scheduling",
            b.after[:2000],
        )


def thread_cpus(b, name):
    """Return a map of each node to the CPUs that the node's kernel thread NAME may use."""
    return {
        int(nid): cpus for nid, cpus in re.findall(rf"^thread {name} (\d+) (\S+)$", b.after, re.M)
    }


def group_cpus():
    """Test CPUs that go offline and come back: CPUs belong to homes, the kernel threads of a block
    run on its home's CPUs, and the CPUs' lists of free pages of a block do not grow."""
    b = Boot(TWO_EACH, "fgmn=all:2x512M do=threads")
    at_home = {0: "0-1", 1: "2-3", 2: "0-1", 3: "0-1", 4: "2-3", 5: "2-3"}
    for name in "kswapd", "kcompactd":
        same(thread_cpus(b, name), at_home, f"{name} of a block runs on the CPUs of its home")
    b = Boot(
        TWO_EACH,
        "fgmn=all:2x512M transparent_hugepage=never"
        " do=lists:5:300,cpus:0,cpus:1,lists:5:300,threads",
    )
    pages = [int(n) for n in re.findall(r"^list of node 5: (-?\d+) pages$", b.after, re.M)]
    # the limit of each CPU's list: an eighth of the node, divided by the number of online CPUs
    most = 512 * 256 // 8 // 4
    ok(
        len(pages) == 2 and most / 2 < pages[0] <= most and most / 2 < pages[1] <= most,
        "a CPU's list of a block's free pages is near its limit before CPUs go offline and after"
        " they come back",
        f"before, after: {pages}, at most {most}",
    )
    # kswapd is not compared: no kernel moves it back
    same(
        thread_cpus(b, "kcompactd"),
        at_home,
        "kcompactd of a block runs on the CPUs of its home after CPUs came back",
    )
    b = Boot(TWO_EACH, "fgmn=all:2x512M maxcpus=1 do=cpus:1")
    same(
        judge(b, {0: [512] * 2, 1: [512] * 2}), [], "maxcpus=1: the nodes and blocks keep all rules"
    )
    same(
        {n: v["cpulist"] for n, v in b.after_nodes().items()},
        {0: "0-1", 1: "2-3", 2: "", 3: "", 4: "", 5: ""},
        "maxcpus=1, the other CPUs turned on: all CPUs belong to homes",
    )
    b = Boot(TWO_EACH, "fgmn=all:2x512M do=cpus:0")
    after = b.after_nodes()
    same(
        {n: v["cpulist"] for n, v in after.items()},
        {0: "0", 1: "", 2: "", 3: "", 4: "", 5: ""},
        "all CPUs except the first turned off: homes keep their CPUs, blocks have none",
    )
    same(
        [after[n]["access0/initiators"] for n in range(2, 6)],
        ["node0"] * 2 + ["node1"] * 2,
        "all CPUs except the first turned off: blocks keep their initiators",
    )


# numa=fake=<N>U needs the memory of a node in one piece
PIECES = Machine("two sockets, the first below 4 GiB", [2048, 2048], low=2048)


def scenes(b):
    """Return what the patches change in boot B apart from the division: {subject: words or
    numbers}."""
    found = {}
    found["NUMA balancing"] = b.file["/proc/sys/kernel/numa_balancing"].strip()
    found["hugepages=128"] = [sum(b.pools().values()), *b.pools()]
    found["crashkernel=256M,high"] = sorted(set(b.crash_nodes()))
    # khugepaged may have made one or two huge pages
    found["huge pages in a cpuset without the CPU's node"] = [
        "all" if int(kib) == 65536 else "none" if int(kib) <= 4096 else kib
        for kib in re.findall(r"^huge \S+ (\d+)$", b.after, re.M)
    ]
    found["the task that dies"] = [
        who
        for who, what in re.findall(r"^(hungry|large) (\w+)$", b.after, re.M)
        if what == "killed"
    ]
    found["shared pages, when a task gets other nodes"] = [
        "go along" if own == shared else "stay"
        for own, shared in re.findall(
            r"^dragged: own page on (\d+), shared page on (\d+)$", b.after, re.M
        )
    ]
    of = (
        {n: n // 4 * 4 for n in b.nodes}
        if "numa=fake" in b.append
        else {n: b.home_of(n) for n in b.nodes}
    )
    found["memory of an unbound task, when the local node is full"] = [
        (
            "of its own siblings"
            if of[int(to)] == of[int(at)]
            else "of the other socket's home"
            if of[int(to)] == int(to)
            else "of a block"
        )
        for at, to in re.findall(r"^spill from (\d+) to (\d+)$", b.after, re.M)
    ]
    beside = [
        n for n in b.nodes if b.nodes[n]["cpulist"] == "" or "numa=fake" in b.append and n % 4
    ]
    used = sum(b.total(n) - b.free(n) - 2 * b.pools().get(n, 0) for n in beside)
    found["memory that the boot uses on nodes without CPUs"] = (
        "tens of MiB" if used >= 20 else "nothing" if used < 2 else "little"
    )
    return found, used


def group_before_after():
    """Compare the results of scenes() for three boots: the stock kernel with numa=fake=, the
    patched kernel with numa=fake=, and the patched kernel with blocks."""
    common = "transparent_hugepage=always hugepages=128 crashkernel=256M,high"
    fake = f"numa=fake=4U {common} do=thp:1,oom:4-7:1:700,drag:4:1,spill"
    (stock, s), (off, o), (on, u) = (
        scenes(Boot(machine, append, kernel))
        for machine, append, kernel in (
            (PIECES, fake, STOCK),
            (PIECES, fake, None),
            (TWO, f"fgmn=all:4x512M {common} do=thp:2,oom:0:2:700,drag:0:2,spill", None),
        )
    )
    every = [128, 0, 1, 2, 3, 4, 5, 6, 7]
    for what, a, b, c in (
        ("NUMA balancing", "1", "1", "0"),
        ("hugepages=128", every, every, [128, 0, 1]),
        ("crashkernel=256M,high", [3, 7], [3, 7], [0]),
        (
            "memory that the boot uses on nodes without CPUs",
            "tens of MiB",
            "tens of MiB",
            "nothing",
        ),
        ("huge pages in a cpuset without the CPU's node", ["none"], ["all"], ["all"]),
        ("shared pages, when a task gets other nodes", ["go along"], ["go along"], ["stay"]),
        ("the task that dies", ["hungry", "large"], ["hungry"], ["hungry"]),
        (
            "memory of an unbound task, when the local node is full",
            ["of its own siblings"],
            ["of its own siblings"],
            ["of the other socket's home"],
        ),
    ):
        same(
            (stock[what], off[what], on[what]),
            (a, b, c),
            f"{what}: {a} stock, {b} off, {c} with blocks",
        )
    print(
        f"# the boot used this memory of nodes without CPUs: {s} MiB stock, {o} off, {u} with"
        " blocks"
    )


# Domains 2 and 3 have neither memory nor CPUs when the machine starts. QEMU's SRAT assigns the
# range for added memory to the last domain, 3, which becomes node 2. The SRAT lacks domain 2, so
# any kernel puts memory that is added to domain 2 on node 0.
GROW = Machine("two sockets, memory to be added", [2048, 2048])
GROW.args[GROW.args.index("-m") + 1] += ",slots=2,maxmem=8G"
GROW.args += ["-numa", "node,nodeid=2", "-numa", "node,nodeid=3"]
for pair in ((i, j) for i in range(4) for j in range(4) if i != j and max(i, j) > 1):
    GROW.args += ["-numa", "dist,src=%d,dst=%d,val=28" % pair]


def group_more(boots):
    """Test features that kernel/config leaves out: memory added to a running system, CMA, and KASLR
    (BOOTS boots)."""
    for domain, size, want in ((3, 1024, [2]), (1, 512, [1]), (2, 1024, [0])):
        add = [
            f"object_add memory-backend-ram,id=h0,size={size}M",
            f"device_add pc-dimm,id=d0,memdev=h0,node={domain}",
        ]
        grown = []
        for append in ("", "fgmn=all:2x512M"):
            b = Boot(GROW, f"{append} do=memory", MORE, when=("waiting for memory", add))
            after = b.after_nodes()
            grown.append(
                [
                    n
                    for n in after
                    if b.total(n, after) - (b.total(n) if n in b.nodes else 0) >= size // 2
                ]
            )
        same(
            grown,
            [want, want],
            f"memory added to domain {domain} goes to node {want}, without blocks and with blocks",
        )
        ok(
            b.ended and len(b.blocks) == 4 and not b.complaints,
            f"memory added to domain {domain}: the guest runs to its end",
            "\n".join([*b.complaints, b.text[-3000:]]),
        )
        same(
            {n: v["physical_node"] for n, v in after.items()},
            {0: "0", 1: "1", 3: "0", 4: "0", 5: "1", 6: "1"} | ({2: "2"} if want == [2] else {}),
            f"memory added to domain {domain}: no two nodes have the same number",
        )
    b = Boot(TWO, "fgmn=all:2x512M hugetlb_cma=2G", MORE)
    same(
        re.findall(r"hugetlb_cma: reserved (\d+) MiB on node (\d+)", b.log),
        [("1024", "0"), ("1024", "1")],
        "hugetlb_cma= reserves on homes only",
    )
    b = Boot(ONE, "fgmn=0:home=1G,4xrest cma=256M", MORE)
    areas = [int(at, 16) for at in re.findall(r"cma: Reserved 256 MiB at (0x\w+)", b.log)]
    ok(
        len(b.blocks) == 4
        and areas
        and not any(s <= at < e for at in areas for _, _, s, e, _ in b.blocks),
        "cma= reserves in the home even if the home has room only below 4 GiB",
        (areas, b.blocks),
    )
    places = set()
    for i in range(boots):
        b = Boot(TWO, "fgmn=all:8x256M", MORE)
        same(judge(b, {0: [256] * 8, 1: [256] * 8}), [], f"KASLR, boot {i}")
        places |= set(
            re.findall(r"^ *(\w+)-\w+ : Kernel code$", b.file.get("/proc/iomem", ""), re.M)
        )
    ok(len(places) > boots // 2, "KASLR puts the kernel at many places", places)


def initramfs(work, programs, files=(), commands=()):
    """Make the guests' initramfs. It has init.c, the other PROGRAMS ({name: source}), FILES
    unchanged, and COMMANDS of this system in /bin, with their libraries."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(
            [
                "gcc",
                "-static",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-o",
                f"{root}/init",
                f"{HERE}/init.c",
            ],
            check=True,
        )
        for name, source in programs.items():
            subprocess.run(
                ["gcc", "-static", "-O1", "-pthread", "-o", f"{root}/{name}", source], check=True
            )
        for file in files:
            shutil.copy(file, root)
        for command in commands:
            needs = subprocess.run(
                ["ldd", command], check=True, capture_output=True, text=True
            ).stdout
            for file, where in (
                (command, f"{root}/bin"),
                *(
                    (lib, f"{root}{os.path.dirname(lib)}")
                    for lib in re.findall(r"(/\S+) \(", needs)
                ),
            ):
                os.makedirs(where, exist_ok=True)
                shutil.copy(file, where)
        subprocess.run(
            f"find . -mindepth 1 | cpio -o -H newc --quiet | gzip >{work}/test.cpio.gz",
            shell=True,
            cwd=root,
            check=True,
        )


def main():
    global KERNEL, STOCK, MORE, WORK, CONFIG, USABLE
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stock", metavar="KERNEL")
    parser.add_argument("--more", metavar="KERNEL")
    parser.add_argument(
        "--only",
        metavar="GROUP",
        choices=[
            "checks",
            "refused",
            "layouts",
            "work",
            "full",
            "cpus",
            "before_after",
            "more",
            "random",
            "without",
        ],
        help="one group of tests: %(choices)s",
    )
    parser.add_argument("kernel")
    parser.add_argument("tree")
    parser.add_argument("work")
    parser.add_argument(
        "number", type=int, nargs="?", default=10, help="random specifications to boot (10)"
    )
    parser.add_argument("seed", type=int, nargs="?", default=1, help="of these (1)")
    args = parser.parse_args()
    KERNEL, STOCK, MORE, WORK = args.kernel, args.stock, args.more, args.work
    os.makedirs(WORK, exist_ok=True)
    found = (
        [f"{args.tree}/.config"]
        if os.path.exists(f"{args.tree}/.config")
        else glob.glob(f"{args.tree}/boot/config-*")
    )
    with open(found[0]) as f:
        CONFIG = set(f.read().splitlines())
    # an eighth of each node is KASAN's shadow
    USABLE = 0.9 - (0.125 if "CONFIG_KASAN=y" in CONFIG else 0)
    patched = "CONFIG_NUMA_FGMN=y" in CONFIG
    initramfs(WORK, {"fgmn": f"{args.tree}/tools/testing/selftests/mm/fgmn.c"} if patched else {})
    groups = {"checks": group_checks}
    if patched:
        groups |= {
            "refused": group_refused,
            "layouts": group_layouts,
            "work": group_work,
            "full": group_full,
            "cpus": group_cpus,
        }
        if args.stock:
            groups["before_after"] = group_before_after
        if args.more:
            groups["more"] = lambda: group_more(max(3, args.number // 10))
        groups["random"] = lambda: group_random(args.number, args.seed)
    else:
        groups["without"] = group_without
    for name, group in groups.items():
        if args.only in (None, name):
            group()
    wrong = {
        f"{b.machine.name}: {b.append}": b.complaints
        for b in Boot.all
        if b.complaints and not b.mistakes
    }
    ok(
        not wrong,
        f"the kernel logs of all {len(Boot.all)} guests have no complaint",
        "\n".join(f"{boot}: {line}" for boot, lines in wrong.items() for line in lines),
    )
    for race in sorted({race for b in Boot.all for race in b.races}):
        print(f"# KCSAN, outside of fgmn: {race}" if "fgmn" not in race else f"# KCSAN: {race}")
    print(f"1..{count}")
    print(f"{count - failed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
