# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules by which mpibind (E. A. Leon, "mpibind: A Memory-Driven Mapping Algorithm", MEMSYS
2017, and its documentation) maps tasks to CPUs, implemented from their descriptions, without
devices, which the machines here lack:

0. only one of several memory nodes that have CPUs in common is used
   (here: the first one of the smallest localities);
1. tasks are divided among memory nodes in proportion to the CPUs near each; remaining tasks go to
   the nodes with the largest remainders;
2. within a node there are TASKS * THREADS workers; the outermost level of the machine that has at
   least one object for each worker is used, or else the level of the cores; the tasks divide the
   level's objects in order;
3. above the level of the cores, and if each worker has a core, one hardware thread of each object
   is used; otherwise as few threads of each object as are enough;
4. with fewer tasks than memory nodes, the tasks divide the nodes, and each has all CPUs of its own
   nodes ("greedy", the default).
"""


def shares(what, among):
    """Divide WHAT into AMONG shares that are as even as possible, larger shares first."""
    return [what // among + (n < what % among) for n in range(among)]


def dealt(elements, hands):
    """Divide the elements in order among HANDS hands. If there are fewer elements than hands,
    several hands get the same element."""
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
    """One set of CPUs for each task, near the memory that is attached to PLACE."""
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
    """The CPUs of each task on the whole of MACHINE. THREADS: number of threads of a task; 0: as
    many as there are cores."""
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
