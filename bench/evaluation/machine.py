# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine read from hwloc's XML without any code of the planner, to judge placements and to apply
mpibind's rules."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree

CACHES = {f"L{n}Cache" for n in range(1, 6)}
MEMORY = ("NUMANode", "MemCache")


def cpuset(text):
    """Convert "0x00000001,0x0000000f" to {0, 1, 2, 3, 32}: 32 bits a word; empty words are 0."""
    found, words = set(), (text or "").split(",")
    for place, word in enumerate(reversed(words)):
        if word == "0xf...f":
            raise ValueError(f"an infinite set: {text}")
        bits = int(word, 16) if word else 0
        found |= {32 * place + bit for bit in range(32) if bits >> bit & 1}
    return found


def cpulist(text):
    """ "0-3,8" -> {0, 1, 2, 3, 8}"""
    found = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


class Object:
    def __init__(self, element, parent):
        self.type, self.parent = element.get("type"), parent
        self.index = int(element.get("os_index") or 0)
        self.cpus = cpuset(element.get("cpuset"))
        # groups of different depths are different levels
        self.level = (self.type, element.get("depth") if self.type == "Group" else None)
        self.depth = 0 if parent is None else parent.depth + 1
        below = [
            Object(e, self)
            for e in element
            if e.tag == "object" and e.get("type") not in ("Bridge", "PCIDev", "OSDev", "Misc")
        ]
        self.memory = [o for o in below if o.type in MEMORY]
        self.children = [o for o in below if o.type not in MEMORY]

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()

    def numa_nodes(self):
        """Memory nodes of this object itself, each with the object that it is attached to."""
        found = []
        for o in self.memory:
            found += [o] if o.type == "NUMANode" else o.numa_nodes()
        return found


class Machine:
    """name; xml: the path of a file that hwloc's tools read; cores: sets of CPUs; numa: sets of
    CPUs, one for each locality that has memory; caches: sets of CPUs, one for each outermost cache
    that several cores share (for each package, if the machine has no such cache).
    """

    def __init__(self, name, source, xml):
        self.name, self.xml = name, xml
        subprocess.run(
            ["lstopo-no-graphics", "-i", source, "--of", "xml", "-f", xml],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.root = Object(ElementTree.parse(xml).getroot().find("object"), None)
        every = list(self.root.walk())
        self.pus = {o.index for o in every if o.type == "PU"}
        self.cores = [o.cpus for o in every if o.type == "Core"] or [
            o.cpus for o in every if o.type == "PU"
        ]
        self.core_of = {cpu: n for n, core in enumerate(self.cores) for cpu in core}
        self.threads = max(len(core) for core in self.cores)
        # nodes in hwloc's order, in which mpibind visits them, each with the object that it is
        # attached to
        self.nodes = [(node, o) for o in every for node in o.numa_nodes() if o.cpus]
        self.numa = [set(s) for s in dict.fromkeys(frozenset(o.cpus) for _, o in self.nodes)]
        # if all cores near a large memory node also have smaller memory nodes, the smaller nodes
        # are the localities
        self.numa = [
            s for s in self.numa if set().union(*(other for other in self.numa if other < s)) != s
        ] or [set(self.pus)]
        self.caches = []
        for o in every:
            if (
                o.type in CACHES
                and not any(o.cpus <= c for c in self.caches)
                and len(self.cores_in(o.cpus)) > 1
            ):
                self.caches.append(o.cpus)
        self.packages = [o.cpus for o in every if o.type == "Package"] or [self.pus]
        if not self.caches:
            self.caches = self.packages

    def cores_in(self, cpus):
        return {self.core_of[cpu] for cpu in cpus if cpu in self.core_of}

    def levels(self):
        """The levels of a machine from the outside in, each a list of objects of one kind."""
        order = []
        for o in self.root.walk():
            if o.level not in order:
                # insert it after its parent's level, before the levels of its parent's other
                # children
                above = order.index(o.parent.level) if o.parent else -1
                order.insert(above + 1, o.level)
        return [[o for o in self.root.walk() if o.level == level] for level in order]


def from_text(name, description, directory):
    """The machine of a synthetic description or of an XML file."""
    return Machine(name, description, f"{directory}/{re.sub('[^A-Za-z0-9]+', '-', name)}.xml")
