#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the C planner (through plan_driver) with oracle.py on random small machines and
requests. TAP.

usage: compare.py DRIVER [--machines N] [--first N] [--seed N] [--keep DIR]

A machine has up to 16 threads. It may have packages, groups in or around them, L3 caches above or
below NUMA, fake NUMA, memory of all kinds (by name, place, distance or bandwidth), huge pages,
empty nodes, blocks, cores without memory, offline threads, threads of other jobs, interleaved
numbers, distances and CPU kinds. The plans must have the same ids. The reasons in the planner's
explanations ("takes 1: the tightest fit by packages") must equal those that oracle.py finds.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only

from oracle import KINDS, Ask, Failure, Machine, Node, Obj, Planner

GIB = 1 << 30


def hexset(ids):
    v = sum(1 << i for i in ids)
    words = []
    while True:
        words.append(v & 0xFFFFFFFF)
        v >>= 32
        if not v:
            return ",".join(f"0x{w:08x}" for w in reversed(words))


def ranges(ids):
    out, ids = [], sorted(ids)
    for i in ids:
        if out and out[-1][1] == i - 1:
            out[-1][1] = i
        else:
            out.append([i, i])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out) or "-"


class Generator:
    """One random machine."""

    def __init__(self, rng):
        self.rng = rng
        self.even = rng.random() < 0.4  # all cores have equally many threads
        self.threads = rng.choice([1, 2, 2, 2, 4])
        self.cores_left = rng.randint(min(4, 16 // self.threads), min(11, 16 // self.threads))
        if not self.even:
            self.cores_left = rng.randint(5, 11)
        self.pus_left = 16
        self.offline = 0 if rng.random() < 0.5 else 0.15
        self.root = Obj("Machine")
        self.around = rng.random() < 0.15  # groups of cores exist only around packages
        types = ["Group", "Package"] if self.around else ["Package", "Group", "L3Cache", "L2Cache"]
        self.root.children = self.level(self.root, types)
        if not self.root.children:
            self.root.children = [self.core()]
        self.number()
        self.memory()

    def core(self):
        self.cores_left -= 1
        n = self.threads if self.even else self.rng.choice([1, 2, 2, 2, 4])
        n = max(1, min(n, self.pus_left))
        self.pus_left -= n
        pus = [Obj("PU", online=self.rng.random() >= self.offline) for _ in range(n)]
        pus[0].online = True
        return Obj("Core", pus) if n > 1 or self.rng.random() < 0.7 else pus[0]

    def level(self, parent, types):
        """Return children of PARENT, whose types are some of TYPES, the outermost first."""
        rng = self.rng
        if self.cores_left <= 0 or self.pus_left <= 0:
            return []
        if not types:
            most = 2 if self.around else 4
            return [
                self.core()
                for _ in range(rng.randint(1, most))
                if self.cores_left > 0 and self.pus_left > 0
            ]
        if not self.around and rng.random() < 0.35:
            return self.level(parent, types[1:])
        out = []
        for _ in range(2 if self.around else rng.choice([2, 2, 3])):
            obj = Obj(types[0])
            obj.children = self.level(obj, types[1:])
            if obj.children:
                out.append(obj)
        if out and rng.random() < 0.1 and self.cores_left > 0 and self.pus_left > 0:
            out.append(self.core())  # a core outside the level
        if types[0] == "Group" and len(out) < 2:  # hwloc would merge such a group with its parent
            return [c for o in out for c in (o.children if o.type == "Group" else [o])]
        return out

    def number(self):
        pus = [o for o in self.root.walk() if o.type == "PU"]
        ids = list(range(len(pus)))
        how = self.rng.choice(["straight", "interleaved", "random"])
        if how == "random":
            self.rng.shuffle(ids)
        if how == "interleaved":  # the first threads of all cores come first
            first = [
                p for o in self.root.walk() for p in ([o.children[0]] if o.type == "Core" else [])
            ]
            pus = first + [p for p in pus if not any(p is f for f in first)]
        for pu, i in zip(pus, ids):
            pu.os = i

        def sort(obj):
            for c in obj.children:
                sort(c)
            obj.children.sort(key=lambda c: min(c.pus(offline=True)))

        sort(self.root)

    def memory(self):
        rng = self.rng
        places = [o for o in self.root.walk() if o.type in ("Package", "Group", "L3Cache")]
        types = sorted({o.type for o in places})
        owners = []
        if types and rng.random() < 0.8:
            chosen = rng.choice(types)
            owners = [o for o in places if o.type == chosen and rng.random() < 0.85]
            if rng.random() < 0.15:
                owners += [o for o in places if o.type != chosen and rng.random() < 0.4]
        # the machine object has all the memory, or nodes without CPUs
        if not owners or rng.random() < 0.2:
            owners.append(self.root)
        fake = rng.choice([1, 1, 1, 2, 3])
        special, only, unsized = (
            rng.random() < 0.5,
            rng.choice([None] * 7 + ["HBM"]),
            rng.random() < 0.05,
        )
        rates = rng.choice([(0,), (0,), (100, 100, 199, 200, 201, 400), (0, 50, 100, 101)])
        for o in owners:
            n = rng.randint(1, fake) if rng.random() < 0.3 else fake
            if special and o is not self.root and rng.random() < 0.3:
                n = 0  # the object has only the memory of a GPU or an expander
            o.nodes = [Node(0, rng.choice([0, 1, 2, 4, 4]) * GIB, only or "") for _ in range(n)]
            for _ in range(rng.choice([1, 1, 2, 4]) if special and rng.random() < 0.8 else 0):
                o.nodes.append(self.special())
        if not any(o.nodes for o in owners):
            owners[-1].nodes = [Node(0, GIB)]
        for n in (n for o in owners for n in o.nodes):
            n.bytes = 0 if unsized else n.bytes
            n.huge = rng.choice([0] * 6 + [n.bytes // 2, n.bytes]) if n.bytes else 0
            n.bandwidth = rng.choice(rates)
        nodes = [n for o in self.root.walk() for n in o.nodes]
        ids = list(range(len(nodes)))
        if rng.random() < 0.5:
            rng.shuffle(ids)
        note = rng.random() < 0.3
        for n, i in zip(nodes, ids):
            n.os = i
            if note and rng.random() < 0.8:
                n.noted = rng.choice(
                    [0, n.bytes // 2, n.bytes * 9 // 10, n.bytes - 4096, n.bytes + GIB]
                    if n.bytes
                    else [0, GIB]
                )
        for n in nodes if rng.random() < 0.15 else []:
            n.home = rng.choice([-1, n.os, rng.choice(ids), ids[0]])
        for o in owners:
            o.nodes.sort(key=lambda n: n.os)

    def special(self):
        """Return a memory node that is always special, or that is special if certain other nodes
        exist."""
        rng = self.rng
        names = [
            "MCDRAM",
            "HBM",
            "NVM",
            "DRAM",
            "GPUMemory",
            "SPM",
            "CXL-DRAM",
            "CXL-NVM",
            "CXL-GPUMemory",
            "Odd",
            "",
            "",
            "",
        ]
        n = Node(0, rng.choice([0, 2, 2, 4]) * GIB, rng.choice(names))
        if rng.random() < 0.25:
            n.infos = dict(
                [
                    rng.choice(
                        [
                            ("PCIBusID", "0000:01:00.0"),
                            ("CXLDevice", "0000:02:00.0"),
                            ("DAXType", "NVM"),
                            ("DAXType", "SPM"),
                            ("DAXDevice", "dax0.0"),
                        ]
                    )
                ]
            )
        return n

    def latency(self):
        nodes = [n.os for o in self.root.walk() for n in o.nodes]
        if len(nodes) < 2 or self.rng.random() < 0.5:
            return None
        lat = {(a, a): 10 for a in nodes}
        for i, a in enumerate(nodes):
            for b in nodes[:i]:
                lat[a, b] = lat[b, a] = self.rng.choice([11, 16, 20, 20, 22, 32])
        for o in self.root.walk():  # equal nodes, as numa=fake= makes them
            for a in (n.os for n in o.nodes):
                for b in (n.os for n in o.nodes):
                    if a < b and self.rng.random() < 0.5:
                        lat[a, b] = lat[b, a] = 10
        return lat

    def kinds(self):
        if self.rng.random() < 0.8:
            return []
        cores = {
            frozenset(o.pus()) for o in self.root.walk() if o.type in ("Core", "PU") and o.pus()
        }
        cores = sorted(
            (c for c in cores if not any(c < d for d in cores)), key=min
        )  # leave out the PUs of Cores
        kinds = [set(), set()]
        for c in cores:
            self.rng.choice(kinds).update(c)
        return [k for k in kinds if k]


def write_xml(path, root, latency, kinds):
    gp, rates = [0], []
    all_nodes = {n.os for o in root.walk() for n in o.nodes}

    def sets(obj, nodes):
        c, cc, ns = hexset(obj.pus()), hexset(obj.pus(offline=True)), hexset(nodes)
        return f'cpuset="{c}" complete_cpuset="{cc}" nodeset="{ns}" complete_nodeset="{ns}"'

    def emit(obj, above, f):
        if obj.type == "PU" and not obj.online:
            return
        gp[0] += 1
        own = above | {n.os for n in obj.nodes}
        below = {n.os for o in obj.walk() for n in o.nodes}
        attr = ""
        if obj.type == "Machine":
            attr = f' allowed_cpuset="{hexset(obj.pus())}" allowed_nodeset="{hexset(all_nodes)}"'
        if obj.type.endswith("Cache"):
            attr = (
                f' cache_size="{1 << 20}" depth="{obj.type[1]}" cache_linesize="64"'
                ' cache_associativity="8" cache_type="0"'
            )
        f.write(
            f'<object type="{obj.type}" os_index="{obj.os if obj.type == "PU" else gp[0]}" '
            f'{sets(obj, own | below)} gp_index="{gp[0]}"{attr}>\n'
        )
        for n in obj.nodes:
            gp[0] += 1
            sub = f' subtype="{n.subtype}"' if n.subtype else ""
            mem = f' local_memory="{n.bytes}"' if n.bytes else ""
            infos = {
                **n.infos,
                **({"NodeOSUsableBytes": n.noted} if n.noted >= 0 else {}),
                **({"NodeOSPhysicalNode": n.home} if n.home >= 0 else {}),
            }
            info = "".join(f'<info name="{k}" value="{v}"/>' for k, v in infos.items())
            if n.huge:
                info += (
                    f'<page_type size="4096" count="{(n.bytes - n.huge) // 4096}"/><page_type'
                    f' size="2097152" count="{n.huge // 2097152}"/>'
                )
            if n.bandwidth and obj.pus():
                rates.append((gp[0], n.bandwidth, hexset(obj.pus())))
            f.write(
                f'<object type="NUMANode" os_index="{n.os}" {sets(obj, {n.os})}'
                f' gp_index="{gp[0]}"{sub}{mem}>{info}</object>\n'
            )
        for c in obj.children:
            emit(c, own, f)
        f.write("</object>\n")

    with open(path, "w", encoding="ascii") as f:
        f.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM'
            ' "hwloc2.dtd">\n<topology version="2.0">\n'
        )
        emit(root, set(), f)
        if latency:
            ids = sorted({a for a, _ in latency})
            text = " ".join(map(str, ids)) + " "
            values = " ".join(str(latency[a, b]) for a in ids for b in ids) + " "
            f.write(
                f'<distances2 type="NUMANode" nbobjs="{len(ids)}" kind="5" name="NUMALatency"'
                f' indexing="os">\n<indexes length="{len(text)}">{text}</indexes>\n<u64values'
                f' length="{len(values)}">{values}</u64values>\n</distances2>\n'
            )
        if rates:
            f.write(
                '<memattr name="Bandwidth" flags="5">\n'
                + "".join(
                    f'<memattr_value target_obj_type="NUMANode" target_obj_gp_index="{g}"'
                    f' value="{v}" initiator_cpuset="{c}"/>\n'
                    for g, v, c in rates
                )
                + "</memattr>\n"
            )
        for i, k in enumerate(kinds):
            f.write(
                f'<cpukind cpuset="{hexset(k)}" forced_efficiency="{i}"><info name="CoreType"'
                f' value="kind{i}"/></cpukind>\n'
            )
        f.write("</topology>\n")


PLACEMENTS = ["pack"] * 4 + ["unset"] * 3 + ["spread", "spread:package", "spread:numa", "spread:l3"]


def random_wants(rng, planner):
    """Return random requests for one to three kinds of memory, in the order of KINDS. Most kinds
    exist on the machine."""
    there = sorted({planner.m.memory[n] for n in planner.mems})
    kinds = {
        rng.choice(there if there and rng.random() < 0.9 else KINDS)
        for _ in range(rng.randint(1, 3))
    }
    wants = []
    for kind in sorted(kinds, key=KINDS.index):
        nodes = [n for n, _, _ in planner.m.nodes if n.os in planner.nodes_of(kind)]
        have = sum(n.usable for n in nodes)
        if rng.random() < 0.5:
            wants.append((kind, False, rng.randint(1, max(1, len(nodes)))))
        else:
            wants.append(
                (kind, True, rng.randint(1, max(1, int(rng.choice([0.5, 1, 1.02]) * have))))
            )
    return wants


def ask_line(a):
    mems = a.mems
    if a.kind == "wants":
        mems = ",".join(f"{k}:{n}{'b' if sized else ''}" for k, sized, n in mems)
    return f"ask {a.name} {a.cpus} {a.smt} {a.kind} {mems} {a.placement} {a.cores}"


def random_asks(rng, planner):
    """Return random requests: most fit, many need nearly all cores, and some are too large."""
    left, asks = len(planner.cpus), []
    mems = len(planner.ordinary) + (rng.random() < 0.1)
    for i in range(rng.choice([1, 2, 2, 3, 3, 4])):
        smt = rng.choice([0, 0, 0, 0, 1, 2])
        cpus = rng.randint(1, max(1, rng.choice([left, left, left // 2, left // 3])))
        if rng.random() < 0.95:
            left = max(1, left - (2 * cpus if smt else cpus + 1))
        kind = rng.choice(["none", "none", "count", "size"])
        size = {
            "none": 0,
            "count": rng.randint(1, max(1, rng.choice([mems, mems // 2]))),
            "size": rng.randint(1, max(1, int(rng.choice([0.1, 0.5, 1, 1.02]) * planner.bytes))),
        }[kind]
        ask = Ask(f"c{i}", cpus, smt, kind, size)
        if rng.random() < 0.25:
            ask.kind, ask.mems = "wants", random_wants(rng, planner)
        ask.placement = rng.choice(PLACEMENTS)
        ask.cores = rng.choice(["unset", "unset", "any", "fast", "efficient"])
        asks.append(ask)
    if rng.random() < 0.1:
        rng.choice(asks).cpus = 0
    return asks


def show(result):
    containers, cpus, mems = result
    lines = [
        f"cpus {ranges(c)} reserved {ranges(r)} mems {ranges(m)} given {g} confined {int(k)} shared"
        f" {int(s)}"
        for c, r, m, g, k, s in containers
    ]
    return lines + [f"free {ranges(cpus)} {ranges(mems)}"]


class Driver:
    def __init__(self, path):
        self.proc = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, *lines):
        self.proc.stdin.write("".join(l + "\n" for l in lines))
        self.proc.stdin.flush()

    def line(self):
        text = self.proc.stdout.readline()
        if not text:
            raise SystemExit(f"Bail out! the driver died: exit code {self.proc.wait()}")
        return text.rstrip("\n")

    def why(self):
        """Return the reasons of the last plan: {container's number: {level: (number, words)}}."""
        self.say("why")
        out, containers = {}, -1
        while (text := self.line()) != "end":
            containers += text.startswith("requests ")
            taken = re.match(r"(package|NUMA locality|L3): .*; takes (\d+): (.*)", text)
            if taken:
                out.setdefault(containers, {})[taken[1]] = int(taken[2]), taken[3]
        return out

    def plan(self, asks):
        self.say(*map(ask_line, asks), "plan")
        out = []
        while True:
            text = self.line()
            if text.startswith("error"):
                return [text]
            out.append(text if text.startswith("free") else text.split(" ", 2)[2])
            if text.startswith("free"):
                return out


def expected(planner, asks):
    try:
        return show(planner.plan(asks))
    except Failure as e:
        return [f"error:{e.args[0]}"]


def agrees(want, got):
    if want[0].startswith("error:"):
        words = {"cpus": ("threads", "thread"), "mems": ("memory",)}[want[0][6:]]
        return got[0].startswith("error") and any(w in got[0] for w in words)
    return want == got


def wrong_reason(planner, asks, told):
    """Return the lines to print about the first wrong explanation, or []."""
    for i, levels in sorted(told.items()):
        want = planner.reasons[asks[i].name]()
        for level, got in levels.items():
            if want.get(level) != got:
                return [f"oracle: {asks[i].name}: {level}: {want.get(level)}", f"planner: {got}"]
    return []


def take_names(path, root):
    """Give the nodes with DAXType SPM the subtypes that hwloc shows. hwloc calls some of these
    nodes HBM, by their bandwidths, and versions of hwloc do so by different rules."""
    nodes = {n.os: n for o in root.walk() for n in o.nodes}
    unnamed = [n for n in nodes.values() if n.infos.get("DAXType") == "SPM" and not n.subtype]
    if not unnamed:
        return
    text = subprocess.run(
        ["lstopo-no-graphics", "-i", path, "--of", "xml"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ).stdout
    for line in re.findall(r'<object type="NUMANode"[^>]*>', text):
        subtype = re.search(r' subtype="([^"]*)"', line)
        if subtype:
            nodes[int(re.search(r' os_index="(\d+)"', line)[1])].subtype = subtype[1]


def one_machine(driver, rng, path, count):
    """Compare several plans on one random machine. Returns the text of the first difference."""
    gen = Generator(rng)
    latency, kinds = gen.latency(), gen.kinds()
    write_xml(path, gen.root, latency, kinds)
    take_names(path, gen.root)
    machine = Machine(gen.root, latency, kinds)
    driver.say(f"machine {path}")
    answer = driver.line()
    if answer != "ok":
        return f"the machine does not load: {answer}"
    pus = gen.root.pus()
    nodes = [n.os for o in gen.root.walk() for n in o.nodes]
    for _ in range(4):
        lost = rng.choice([0, 0, 0, 0.1, 0.3])
        cpus = [p for p in pus if rng.random() >= lost] or pus
        mems = [n for n in nodes if rng.random() >= rng.choice([0, 0, 0.2])] or nodes
        taken = [n for n in mems if rng.random() < rng.choice([0, 0, 0.3])]
        default = rng.choice(["all", "local", "ordinary"])
        planner = Planner(machine, cpus, mems, taken, default)
        planner.bytes = sum(
            n.usable for o in gen.root.walk() for n in o.nodes if n.os in planner.ordinary
        )
        asks = random_asks(rng, planner)
        opts = f"opts {ranges(cpus)} {ranges(mems)} {ranges(taken)} {default}"
        driver.say(opts)
        got, want = driver.plan(asks), expected(planner, asks)
        count["plans"] += 1
        count["failures"] += want[0].startswith("error")
        reasons = [] if not agrees(want, got) or got[0].startswith("error") else driver.why()
        wrong = wrong_reason(planner, asks, reasons) if reasons else []
        count["reasons"] += sum(map(len, reasons.values())) if reasons else 0
        if wrong or not agrees(want, got):
            text = [f"machine {path}", opts] + [ask_line(a) for a in asks]
            return "\n".join(text + ["plan"] + (wrong or ["oracle:"] + want + ["planner:"] + got))
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "driver",
        nargs="?",
        default=os.environ.get("NODEOS_BUILD", ".") + "/topology/test/plan_driver",
    )
    parser.add_argument(
        "--machines", type=int, default=int(os.environ.get("NODEOS_ORACLE_MACHINES", 500))
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="directory in which to keep the machines")
    args = parser.parse_args()
    driver, bad = Driver(args.driver), 0
    count = {"plans": 0, "failures": 0, "reasons": 0}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        print(f"# seed {args.seed}")
        print(f"1..{args.machines}")
        for number in range(args.machines):
            i = args.first + number
            rng = random.Random(f"{args.seed}/{i}")
            problem = one_machine(driver, rng, os.path.join(folder, f"m{i}.xml"), count)
            print(f"{'not ok' if problem else 'ok'} {number + 1} - machine {i}")
            if problem:
                bad += 1
                print("\n".join("# " + l for l in problem.split("\n")))
    print(
        f"# {count['plans']} plans compared, {count['failures']} of them refusals; "
        f"{count['reasons']} reasons"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
