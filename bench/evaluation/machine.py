# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine read from hwloc's XML without any code of the planner, to judge placements and to apply
mpibind's rules."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree

CACHES = {f"L{n}Cache" for n in range(1, 6)}
MEMORY = ("NUMANode", "MemCache")


def cpuset(text):
    """Convert hwloc's "0x00000001,0x0000000f" to {0, 1, 2, 3, 32}. A word has 32 bits; an empty
    word is 0."""
    found, words = set(), (text or "").split(",")
    for place, word in enumerate(reversed(words)):
        if word == "0xf...f":
            raise ValueError(f"the cpuset {text} is infinite")
        bits = int(word, 16) if word else 0
        found |= {32 * place + bit for bit in range(32) if bits >> bit & 1}
    return found


def cpulist(text):
    """Convert "0-3,8" to {0, 1, 2, 3, 8}."""
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
        # each depth of groups is a level of its own
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
        """Return the memory nodes that are attached to this object, directly or through memory
        caches."""
        found = []
        for o in self.memory:
            found += [o] if o.type == "NUMANode" else o.numa_nodes()
        return found


class Machine:
    """A machine: its name, the path xml of a file that hwloc's tools read, and lists of sets of
    CPUs: cores, numa (the localities that have memory) and caches (the outermost caches that
    several cores share, or the packages if there is no such cache).
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
        # (memory node, object to which it is attached), in hwloc's order: mpibind uses this order
        self.nodes = [(node, o) for o in every for node in o.numa_nodes() if o.cpus]
        self.numa = [set(s) for s in dict.fromkeys(frozenset(o.cpus) for _, o in self.nodes)]
        # drop a memory node if smaller nodes together are near all of its CPUs: these are the
        # localities
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
        """Return the levels of the machine from the outside in. A level is a list of objects of one
        kind."""
        order = []
        for o in self.root.walk():
            if o.level not in order:
                # insert the level after its parent's level, before the levels of the parent's other
                # children
                above = order.index(o.parent.level) if o.parent else -1
                order.insert(above + 1, o.level)
        return [[o for o in self.root.walk() if o.level == level] for level in order]


def from_text(name, description, directory):
    """Return the machine of DESCRIPTION, a synthetic description or the path of an XML file."""
    return Machine(name, description, f"{directory}/{re.sub('[^A-Za-z0-9]+', '-', name)}.xml")
