# SPDX-License-Identifier: GPL-2.0-or-later
"""A planner that finds the best plan by trying all subsets of the free cores. It was written from
doc/planner.md, not from the C code, and is simple but slow. A machine is a tree of Obj; compare.py
makes such trees, and writes them as hwloc's XML, too.
"""

import math
from dataclasses import dataclass, field


@dataclass
class Node:
    os: int
    bytes: int
    subtype: str = ""
    noted: int = -1  # usable bytes by the XML; -1: the XML does not give them
    infos: dict = field(default_factory=dict)
    huge: int = 0  # bytes in huge pages
    bandwidth: int = 0  # to the CPUs of the object that has the node; 0: unknown
    home: int = -1  # home node, if this node is a block; otherwise -1

    @property
    def usable(self):
        left = max(self.bytes - self.huge, 0)
        return left if self.noted < 0 else min(self.noted, left)

    @property
    def added(self):
        """Return whether a driver has added the node."""
        return bool({"DAXType", "DAXDevice"} & set(self.infos))

    @property
    def name(self):
        """Return the node's kind according to its name and its driver."""
        if "PCIBusID" in self.infos:
            return "gpu"
        if "CXLDevice" in self.infos:
            return "cxl"
        if self.infos.get("DAXType") == "NVM":
            return "nvm"
        if self.subtype:
            names = {
                "DRAM": "dram",
                "HBM": "hbm",
                "MCDRAM": "hbm",
                "GPUMemory": "gpu",
                "CXL-GPUMemory": "gpu",
                "NVM": "nvm",
                "SPM": "spm",
            }
            return names.get(self.subtype, "cxl" if self.subtype.startswith("CXL") else "unknown")
        if self.infos.get("DAXType") == "SPM":
            return "spm"
        return "unknown" if self.added else "dram"


@dataclass
class Obj:
    type: str
    children: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    os: int = 0
    online: bool = True  # used for PUs only

    def pus(self, offline=False):
        if self.type == "PU":
            return [self.os] if self.online or offline else []
        return [p for c in self.children for p in c.pus(offline)]

    def walk(self):
        yield self
        for c in self.children:
            yield from c.walk()


@dataclass
class Ask:
    name: str
    cpus: int
    smt: int = 0
    kind: str = "none"  # none, count, size or wants
    mems: object = 0  # a number; for kind wants, a list of (kind, sized, amount)
    placement: str = "pack"  # or unset, spread, spread:package, spread:numa, spread:l3
    cores: str = "unset"  # or fast, efficient, any

    def wants(self):
        """Return the requests for memory: [(kind or None for ordinary memory, sized, amount)]."""
        if self.kind == "wants":
            return self.mems
        return [] if self.kind == "none" else [(None, self.kind == "size", self.mems)]


KINDS = ("dram", "hbm", "spm", "unknown", "cxl", "nvm", "gpu")


class Machine:
    def __init__(self, root, latency=None, kinds=()):
        self.root, self.latency = root, latency  # latency: {(from os, to os): value}
        self.cores = []  # of each core: (online PUs in logical order, all PUs)
        self.domains = {"Package": [], "NUMA": [], "L3Cache": []}
        # (Node, set of local cores' indexes, packages of the object that has the node)
        self.nodes = []
        self._cores(root)
        core_of = {p: i for i, (pus, _) in enumerate(self.cores) for p in pus}

        def in_cores(obj):
            return {core_of[p] for p in obj.pus()}

        for obj in root.walk():
            if obj.type in ("Package", "L3Cache") and obj.pus():
                self.domains[obj.type].append(in_cores(obj))
            if obj.nodes and obj.pus() and not self._inner(obj) and obj.type not in ("Core", "PU"):
                self.domains["NUMA"].append(in_cores(obj))
        sized = any(n.bytes for o in root.walk() for n in o.nodes)
        self.empty = {n.os for o in root.walk() for n in o.nodes if sized and not n.bytes}
        self._nodes(root, in_cores)
        self.memory = self._kinds()
        there = [n for n, _, _ in self.nodes if n.os not in self.empty]
        by_os = {n.os: n for n, _, _ in self.nodes}
        blocks = {n.os for n in by_os.values() if n.home >= 0 and n.home != n.os}

        def added(n):  # a block has the kind of its home
            return (
                by_os[n.home].added
                if n.os in blocks and n.home in by_os and n.home not in blocks
                else n.added
            )

        there = {n.os for n in [n for n in there if not added(n)] or there}
        have = {self.memory[n] for n in there}
        best = next(k for k in KINDS if k in have)
        self.ordinary, self.best = {n for n in there if self.memory[n] == best}, best
        self.kind = [0] * len(self.cores)
        for k, cpus in enumerate(kinds):
            for i, (pus, _) in enumerate(self.cores):
                if pus[0] in cpus:
                    self.kind[i] = k + 1
        self.ranked = len(kinds) > 1 and min(self.kind) > 0

    def _cores(self, obj):
        if obj.type in ("Core", "PU"):
            if obj.pus():
                self.cores.append((obj.pus(), set(obj.pus(offline=True))))
            return
        for c in obj.children:
            self._cores(c)

    @staticmethod
    def _inner(obj):
        """Return whether any object below OBJ has both CPUs and memory nodes."""
        return any(o is not obj and o.nodes and o.pus() for o in obj.walk())

    def _nodes(self, obj, in_cores):
        for c in obj.children:
            self._nodes(c, in_cores)
        for n in obj.nodes:  # hwloc numbers nodes of OBJ after those of its children
            nobody = obj is self.root and any(
                o is not obj
                and o.pus()
                and any(
                    n.name in ("dram", "hbm") and not n.added and n.os not in self.empty
                    for n in o.nodes
                )
                for o in obj.walk()
            )
            cores = set() if nobody else in_cores(obj)
            self.nodes.append(
                (n, cores, {i for i, d in enumerate(self.domains["Package"]) if d & cores})
            )

    def _kinds(self):
        """Return {os index: kind} of all nodes."""
        local = {n.os for n, cores, _ in self.nodes if cores}
        found = {n.os: n.name for n, _, _ in self.nodes}
        blocks = {n.os: n.home for n, _, _ in self.nodes if n.home >= 0 and n.home != n.os}
        for obj in self.root.walk():
            there = [n for n in obj.nodes if n.os in local]
            own = min(
                (
                    n
                    for n in there
                    if n.name in KINDS[:4] and n.os not in self.empty and n.os not in blocks
                ),
                key=lambda n: n.os,
                default=None,
            )
            for n in obj.nodes:
                if n.name != "dram":
                    continue
                if n.os not in local:
                    found[n.os] = "unknown"
                elif own and own is not n:
                    found[n.os] = self._beside(own, n)
        for block, home in blocks.items():
            if home in found and home not in blocks:
                found[block] = found[home]
        return found

    def _beside(self, own, n):
        both = own.bandwidth and n.bandwidth and own.name == "dram"
        if both and n.bandwidth > 2 * own.bandwidth:
            return "hbm"
        if both and own.bandwidth > 2 * n.bandwidth:
            return "unknown"
        if (
            self.latency
            and self.latency.get((own.os, n.os), math.inf) < math.inf
            and self.latency[own.os, n.os] > self.latency[own.os, own.os]
        ):
            return "unknown"
        return "dram"


class Failure(Exception):
    pass


class Planner:
    def __init__(self, machine, cpus, mems, taken, default):
        self.m, self.cpus, self.mems = machine, set(cpus), set(mems) - machine.empty
        self.taken, self.default = set(taken) & self.mems, default
        self.ordinary = self.mems & machine.ordinary
        self.threads = [[p for p in pus if p in self.cpus] for pus, _ in machine.cores]

    def width(self, ask, core):
        t = len(self.threads[core])
        return min(ask.smt, t) if ask.smt else t

    def half(self, core):
        return not self.m.cores[core][1] <= self.cpus

    def plan(self, asks):
        """Return [(cpus, reserved, mems, given, confined, shared)] for the requests ASKS. Raises
        Failure."""
        if not self.mems:
            raise Failure("mems")
        widest = max(range(len(self.threads)), key=lambda c: len(self.threads[c]))
        order = sorted(
            range(len(asks)), key=lambda i: -math.ceil(asks[i].cpus / self.width(asks[i], widest))
        )
        try:
            return self.place(asks, order, thrift=False)
        except Failure as e:
            if e.args[0] != "cpus":
                raise
        return self.place(asks, order, thrift=True)

    def place(self, asks, order, thrift):
        free = [c for c, t in enumerate(self.threads) if t]
        used = set(self.taken)
        cores, mems, confined = {}, {}, {}
        self.reasons = {}
        for i in order:
            offered = self.offered(asks[i], free, thrift)
            cores[i], with_memory = self.choose(asks[i], offered, used, thrift)
            before = set(offered), set(used), thrift, with_memory
            self.reasons[asks[i].name] = lambda i=i, before=before: self.why(
                asks[i], cores[i], *before
            )
            free = [c for c in free if c not in cores[i]]
            if asks[i].kind != "none":
                mems[i], confined[i] = self.choose_mems(asks[i], cores[i], used), True
                used |= mems[i]
        for i in order:
            if asks[i].kind == "none":
                confined[i] = self.default == "local"
                mems[i] = self.local_mems(cores[i], used) if confined[i] else self.unconfined()
                if confined[i]:
                    used |= mems[i]
        out = []
        for i, ask in enumerate(asks):
            cpus = {p for c in cores[i] for p in self.threads[c][: self.width(ask, c)]}
            shared = confined[i] and bool(
                mems[i] & self.taken
                or any(mems[i] & mems[j] for j in range(len(asks)) if j != i and confined[j])
            )
            out.append(
                (
                    cpus,
                    {p for c in cores[i] for p in self.threads[c]},
                    mems[i],
                    len(cpus),
                    confined[i],
                    shared,
                )
            )
        return out, self.cpus - set().union(*(o[1] for o in out)), self.mems - used

    # ---- cores

    def count_domains(self, level, picked):
        domains = self.m.domains[level]
        if not domains:
            return 0
        outside = picked - set().union(*domains)
        return sum(1 for d in domains if d & picked) + len(outside)

    def room(self, level, picked, free):
        domains = self.m.domains[level]
        if not domains:
            return 0
        outside = picked - set().union(*domains)
        return sum(len(d & free) for d in domains if d & picked) + len(outside)

    def nodes_of(self, kind):
        """Return the nodes that a request for memory of KIND may get."""
        if kind is None or kind == self.m.best:
            return self.ordinary
        return {n for n in self.mems if self.m.memory[n] == kind}

    def untaken_local(self, want, picked, used):
        """Return the amounts of the unused nodes that WANT may get and that are local to PICKED."""
        kind, sized, _ = want
        nodes = self.nodes_of(kind) - used
        return [
            (n.usable if sized else 1)
            for n, local, _ in self.m.nodes
            if n.os in nodes and local & picked
        ]

    def worth(self, ask, picked, used):
        """Return the amount of unused local memory. A node of a named kind counts as the share, in
        thousandths, of the request that it meets."""
        total = 0
        for want in ask.wants():
            for amount in self.untaken_local(want, picked, used):
                total += amount if want[0] is None else min(1000, amount * 1000 // want[2])
        return total

    def offered(self, ask, free, thrift):
        """Return the cores of FREE that ASK may get according to their CPU kinds."""
        kind = self.m.kind
        if not self.m.ranked or ask.cores == "any":
            return free
        fastest = max(kind)
        if ask.cores != "unset":
            return [c for c in free if (kind[c] == fastest) == (ask.cores == "fast")]
        for k in range(fastest, 0, -1) if ask.cpus and not thrift else ():
            if sum(self.width(ask, c) for c in free if kind[c] == k) >= ask.cpus:
                return [c for c in free if kind[c] == k]
        return free

    def key(self, ask, picked, free, used, thrift, with_memory):
        half = sum(1 for c in picked if self.half(c))
        spans = tuple(self.count_domains(l, picked) for l in ("Package", "NUMA", "L3Cache"))
        kinds = len({self.m.kind[c] for c in picked}) > 1
        memory = -self.worth(ask, picked, used) if with_memory else 0
        waste = (
            sum(self.width(ask, c) for c in picked),
            sum(len(self.threads[c]) for c in picked),
            len(picked),
        )
        fit = tuple(self.room(l, picked, free) for l in ("Package", "NUMA", "L3Cache"))
        lowest = tuple(0 if c in picked else 1 for c in range(len(self.threads)))
        if thrift:
            return waste, half, spans, kinds, memory, fit, lowest
        return half, spans, kinds, memory, waste, fit, lowest

    def choose(self, ask, free, used, thrift):
        if sum(self.width(ask, c) for c in free) < max(ask.cpus, 1):
            raise Failure("cpus")
        if not ask.cpus:
            return set(free), False
        all_free, sets = set(free), self.sets(ask, free)
        best = min(sets, key=lambda p: self.key(ask, p, all_free, used, thrift, False))
        enough = all(sum(self.untaken_local(w, best, used)) >= w[2] for w in ask.wants())
        if not enough:
            best = min(sets, key=lambda p: self.key(ask, p, all_free, used, thrift, True))
        if ask.placement not in ("pack", "unset"):
            best = self.spread(ask, free, self.level(ask.placement, free), used, thrift)
        elif ask.placement == "unset" and not thrift and self.needs_spread(ask, free, best):
            best = self.spread(ask, free, "NUMA", used, thrift)
        return best, not enough

    def with_free(self, level, free):
        return sum(1 for d in self.m.domains[level] if d & set(free))

    def level(self, word, free):
        named = {"spread:package": "Package", "spread:numa": "NUMA", "spread:l3": "L3Cache"}
        if word in named:
            return named[word]
        several = (l for l in ("Package", "NUMA") if self.with_free(l, free) > 1)
        return next(several, "L3Cache")

    def needs_spread(self, ask, free, packed):
        """Return whether all cores of PACKED are in one package that has less memory than ASK
        requests."""
        packages = [d for d in self.m.domains["Package"] if d & packed]
        if len(packages) != 1 or self.with_free("Package", free) < 2:
            return False
        for kind, sized, amount in ask.wants():
            nodes = self.nodes_of(kind)
            beside = sum(
                (n.usable if sized else 1)
                for n, local, _ in self.m.nodes
                if n.os in nodes and local & packages[0]
            )
            if 0 < beside < amount:
                return True
        return False

    def spread(self, ask, free, level, used, thrift):
        """Return cores for ASK that are divided evenly among the domains of LEVEL."""
        groups = {}
        for c in free:
            domain = next((i for i, d in enumerate(self.m.domains[level]) if c in d), None)
            groups.setdefault(domain, []).append(c)
        groups = list(groups.values())
        given, taken, total = [0] * len(groups), [0] * len(groups), 0
        while total < ask.cpus:
            open_groups = [g for g in range(len(groups)) if taken[g] < len(groups[g])]
            g = min(open_groups, key=lambda g: given[g])
            width = self.width(ask, groups[g][taken[g]])
            given[g] += min(width, ask.cpus - total)
            taken[g] += 1
            total += width
        out = set()
        for group, need in zip(groups, given):
            if need:
                out |= min(
                    self.sets(ask, group, need),
                    key=lambda p: self.key(ask, p, set(group), used, thrift, False),
                )
        return out

    def sets(self, ask, free, need=None):
        """Return all sets of cores of FREE that are large enough."""
        need = ask.cpus if need is None else need
        n, widths = len(free), [self.width(ask, c) for c in free]
        sums, sets = [0] * (1 << n), []
        for s in range(1, 1 << n):
            low = (s & -s).bit_length() - 1
            sums[s] = sums[s & (s - 1)] + widths[low]
            if sums[s] >= need:
                sets.append({free[i] for i in range(n) if s >> i & 1})
        return sets

    # ---- why

    def rules(self, ask, picked, free, used, thrift, with_memory):
        """Return the key as a list of (words of the explanation, value)."""
        half, spans, kinds, memory, waste, fit, _ = self.key(
            ask, picked, free, used, False, with_memory
        )
        levels = "packages", "NUMA localities", "L3 domains"
        place = [("fewer half cores", half)] + [(f"fewer {l}", n) for l, n in zip(levels, spans)]
        place += [("CPU kinds not mixed", kinds), ("more local memory free", memory)]
        spent = [("fewer threads beyond the request", waste[0])]
        spent += [("fewer threads reserved or fewer cores", waste[1:])]
        tight = [(f"the tightest fit by {l}", n) for l, n in zip(levels, fit)]
        return (spent + place if thrift else place + spent) + tight

    def why(self, ask, picked, free, used, thrift, with_memory):
        """Return {level: (number, words)} for each level at which the plan has one domain. The
        words say why the plan prefers this domain to others that are large enough."""
        before, out, view = (free, used, thrift, with_memory), {}, set(range(len(self.threads)))
        mine = self.rules(ask, picked, *before)
        for level, name in (("Package", "package"), ("NUMA", "NUMA locality"), ("L3Cache", "L3")):
            own = [(k, d) for k, d in enumerate(self.m.domains[level]) if d <= view and picked <= d]
            if not ask.cpus or len(own) != 1:
                continue
            words = set()
            for d in self.m.domains[level]:
                sets = self.sets(ask, sorted(d & free)) if d <= view and not d & own[0][1] else []
                if sets:
                    rival = min(
                        (self.rules(ask, s, *before) for s in sets), key=lambda r: [v for _, v in r]
                    )
                    differ = (w for (w, a), (_, b) in zip(mine, rival) if a != b)
                    words.add(next(differ, "the lowest number"))
            listed = [w for w, _ in mine if w in words] + sorted(words & {"the lowest number"})
            if listed == ["the lowest number"]:
                listed = ["equal otherwise, the lowest number"]
            out[name] = own[0][0], ", then ".join(listed) or "no other domain fits"
            view = own[0][1]
        return out

    # ---- memory nodes

    def distance(self, index, picked):
        own = [n.os for n, local, _ in self.m.nodes if local & picked]
        if self.m.latency and own:
            to = self.m.nodes[index][0].os
            return min(self.m.latency.get((o, to), math.inf) for o in own)
        packages = {i for i, d in enumerate(self.m.domains["Package"]) if d & picked}
        return 1 if self.m.nodes[index][2] & packages else 2

    def sorted_mems(self, picked, used, nodes=None):
        nodes = self.ordinary if nodes is None else nodes

        def key(i):
            n, local, _ = self.m.nodes[i]
            near = bool(local & picked)
            place = (0, i) if near else (self.distance(i, picked), n.os)
            return n.os in used, not near, place

        return sorted(
            (i for i in range(len(self.m.nodes)) if self.m.nodes[i][0].os in nodes), key=key
        )

    def choose_mems(self, ask, picked, used):
        chosen = set()
        for kind, sized, amount in ask.wants():
            total = 0
            for i in self.sorted_mems(picked, used, self.nodes_of(kind)):
                node = self.m.nodes[i][0]
                has = node.usable if sized else 1
                if has and total < amount:
                    chosen.add(node.os)
                    total += has
            if total < amount:
                raise Failure("mems")
        return chosen

    def unconfined(self):
        if self.default == "ordinary" and not self.ordinary:
            raise Failure("mems")
        return set(self.ordinary if self.default == "ordinary" else self.mems)

    def local_mems(self, picked, used):
        if not self.ordinary:
            raise Failure("mems")
        local = {n.os for n, cores, _ in self.m.nodes if cores & picked and n.os in self.ordinary}
        nearest = self.m.nodes[self.sorted_mems(picked, used)[0]][0].os
        return local - used or local or {nearest}
