# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules by which mpibind (E. A. Leon, "mpibind: A Memory-Driven Mapping Algorithm", MEMSYS
2017, and its documentation) maps tasks to CPUs, implemented from these descriptions. Devices are
left out, since the machines here have none.

0. Of memory nodes that have CPUs in common, only one is used (here: the first one of those with
   the fewest CPUs).
1. Tasks are divided among memory nodes in proportion to the number of CPUs near each node.
   Remaining tasks go to the nodes with the largest remainders.
2. Near one node, there are TASKS * THREADS workers. The outermost level that has at least one
   object per worker is used, or the level of the cores if no level has. Its objects are divided
   among the tasks in order.
3. On a level above the cores, or if there is a core for each worker, one hardware thread of each
   object is used. Otherwise as few threads of each core are used as are enough.
4. If there are fewer tasks than memory nodes, the nodes are divided among the tasks. Each task gets
   all CPUs of its nodes ("greedy", the default).
"""


def shares(what, among):
    """Divide WHAT into AMONG shares that are as even as possible, larger shares first."""
    return [what // among + (n < what % among) for n in range(among)]


def dealt(elements, hands):
    """Divide the elements in order into HANDS lists. If there are fewer elements than lists,
    several lists get the same element."""
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
    """Return a set of CPUs for each task, near the memory that is attached to PLACE."""
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
    """Return the set of CPUs of each task on the whole MACHINE. THREADS is the number of threads of
    a task; 0 means a thread for each core."""
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
