# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules by which mpibind (E. A. Leon, "mpibind: A Memory-Driven Mapping Algorithm", MEMSYS
2017, and its documentation) maps tasks to CPUs, written down anew; without devices, which the
machines here have none of:

0. of memory nodes that have CPUs in common, one is taken
   (here: the first one of the smallest localities);
1. tasks go to memory nodes, to each in proportion to the CPUs that it has near, what is left over
   to those with the largest remainder;
2. within a node, tasks times threads are the workers, and the outermost level of the machine is
   taken that has as many objects as there are workers, or that of the cores; the tasks divide its
   objects in order;
3. above the cores and where each worker has a core, one hardware thread of an object is used, else
   as few of each as are enough;
4. with fewer tasks than memory nodes, the tasks divide the nodes, and have all CPUs of theirs
   ("greedy", the default).
"""


def shares(what, among):
    """How many of WHAT each of AMONG has: as even as can be, more for the first ones."""
    return [what // among + (n < what % among) for n in range(among)]


def dealt(elements, hands):
    """The elements in order in so many hands; with fewer elements than hands one is in several."""
    elements = list(elements)
    if len(elements) >= hands:
        out, at = [], 0
        for n in shares(len(elements), hands):
            out.append(elements[at : at + n])
            at += n
        return out
    return [
        [element] for element, n in zip(elements, shares(hands, len(elements))) for _ in range(n)
    ]


def proportional(tasks, weights):
    total = sum(weights)
    got = [tasks * w // total for w in weights]
    by_rest = sorted(range(len(weights)), key=lambda n: -(tasks * weights[n] % total))
    for n in by_rest[: tasks - sum(got)]:
        got[n] += 1
    return got


def inside(machine, place, tasks, threads):
    """One set of CPUs for each task, near memory that hangs on PLACE."""
    levels = machine.levels()
    cores = [n for n, level in enumerate(levels) if level[0].type == "Core"]
    last = cores[0] if cores else len(levels) - 1
    first = next(n for n, level in enumerate(levels) if place in level)
    within = [[o for o in level if o.cpus and o.cpus <= place.cpus] for level in levels]
    if threads <= 0:
        threads = max(1, len(within[last]) // tasks)
    workers = tasks * threads
    depth = next((n for n in range(first, last) if len(within[n]) >= workers), last)
    objects = within[depth]
    each = 1
    if depth == last:
        each = next(
            (n for n in range(1, machine.threads) if len(objects) * n >= workers), machine.threads
        )
    used = [sorted(o.cpus)[:each] for o in objects]
    if len(used) < tasks:
        return [
            set(cpus)
            for one, n in zip(used, shares(tasks, len(used)))
            if n
            for cpus in dealt(one, n)
        ]
    return [set().union(*hand) for hand in dealt(used, tasks)]


def mapped(machine, tasks, threads=1):
    """The CPUs of each task on the whole of MACHINE;
    threads: of each task, 0: as many as there are cores for."""
    nodes = []
    for node, place in sorted(machine.nodes, key=lambda pair: len(pair[1].cpus)):
        if not any(place.cpus & other.cpus for _, other in nodes):
            nodes.append((node, place))
    nodes.sort(key=machine.nodes.index)
    if tasks < len(nodes):
        return [set().union(*(place.cpus for _, place in hand)) for hand in dealt(nodes, tasks)]
    out = []
    for (_, place), n in zip(nodes, proportional(tasks, [len(place.cpus) for _, place in nodes])):
        if n:
            out += inside(machine, place, n, threads)
    return out
