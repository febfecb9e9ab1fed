#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the advice of advice/advice.c (through advice_driver) on random sites with its rule,
which is written here a second time from advice/README. For sites of up to 6 nodes, search every
layout that allowed moves reach; for 16 nodes with 40 containers, check each proposal. Prints TAP.
NODEOS_ADVICE_SITES: number of sites (2,000; test/run --deep: 10,000). advice_oracle.py --differ
prints how much less the two searches of larger sites gain than a search of all layouts."""

import itertools
import os
import random
import subprocess
import sys
from collections import Counter

BUILD = os.environ.get("NODEOS_BUILD", ".")
SITES = int(os.environ.get("NODEOS_ADVICE_SITES", "2000"))
SMALL = max(200, SITES // 10)  # fewer might have no swap with several turtles
TURTLE, SEMI, DEVIL = 1, 2, 3
UNKNOWN_TRAFFIC = 2**32 - 1
SWAP_MAX = 4  # turtles
LAYOUTS_MAX = 20000  # a site with more layouts is replaced by another random site
# values of struct advice_search. GREEDY: judge each step with the step after it; PLAIN: by itself
DEFAULT, GREEDY, PLAIN = (16, 200000, 64), (0, 0, 64), (0, 0, 0)


class Site:
    """Nodes as (cpus, taken, powered, open, groups), containers as (class, node, cpus, job,
    traffic, groups), weights as (devils, power, parting)."""

    def __init__(self, weights, nodes, containers):
        self.weights, self.nodes, self.containers = weights, nodes, containers
        self.pairs = [
            (i, j, min(1000, a[4] // 1000, b[4] // 1000))
            for (i, a), (j, b) in itertools.combinations(enumerate(containers), 2)
            if a[3] == b[3] and UNKNOWN_TRAFFIC not in (a[4], b[4])
        ]
        self.pairs = [p for p in self.pairs if p[2]]
        self.where = tuple(c[1] for c in containers)

    def line(self, search):
        words = [*self.weights, *search, len(self.nodes)]
        for row in self.nodes:
            words += [int(x) for x in row]
        words.append(len(self.containers))
        for row in self.containers:
            words += row
        return " ".join(map(str, words))

    def on(self, where, node):
        return [i for i, n in enumerate(where) if n == node]

    def used(self, where, node):
        return self.nodes[node][1] + sum(self.containers[i][2] for i in self.on(where, node))

    def parts(self, where):
        """The three parts of the cost, in thousandths."""
        devils, power, parting = self.weights
        pairs = 0
        for node in range(len(self.nodes)):
            n = sum(self.containers[i][0] == DEVIL for i in self.on(where, node))
            pairs += n * (n - 1) // 2
        up = sum(n[2] or i in where for i, n in enumerate(self.nodes))
        apart = sum(w for i, j, w in self.pairs if where[i] != where[j])
        return 1000 * devils * pairs, 1000 * power * up, parting * apart

    def cost(self, where):
        return sum(self.parts(where))

    def may_go(self, container, node):
        return self.nodes[node][3] and self.nodes[node][4] & self.containers[container][5]

    def after(self, where, devil, to, turtles):
        """The layout after an allowed move, or None."""
        source = where[devil]
        others = [i for i in self.on(where, source) if self.containers[i][0] == DEVIL]
        if self.containers[devil][0] != DEVIL or len(others) < 2 or to == source:
            return None
        if not self.may_go(devil, to) or len(turtles) > SWAP_MAX:
            return None
        if any(
            where[t] != to or self.containers[t][0] != TURTLE or not self.may_go(t, source)
            for t in turtles
        ):
            return None
        out = list(where)
        out[devil] = to
        for t in turtles:
            out[t] = source
        if any(self.used(out, n) > self.nodes[n][0] for n in (source, to)):
            return None
        # each turtle must be needed: without its move the devil does not fit
        for t in turtles:
            out[t] = to
            if self.used(out, to) <= self.nodes[to][0]:
                return None
            out[t] = source
        out = tuple(out)
        return out if self.cost(out) < self.cost(where) else None

    def neighbours(self, where):
        for devil, container in enumerate(self.containers):
            if container[0] != DEVIL:
                continue
            for to in range(len(self.nodes)):
                turtles = [i for i in self.on(where, to) if self.containers[i][0] == TURTLE]
                for n in range(min(len(turtles), SWAP_MAX) + 1):
                    for chosen in itertools.combinations(turtles, n):
                        out = self.after(where, devil, to, chosen)
                        if out:
                            yield out

    def best(self, most=LAYOUTS_MAX):
        """The least cost of all layouts that moves reach, or None if there are more than MOST."""
        seen, todo = {self.where}, [self.where]
        least = self.cost(self.where)
        while todo:
            for out in self.neighbours(todo.pop()):
                if out in seen:
                    continue
                seen.add(out)
                if len(seen) > most:
                    return None
                todo.append(out)
                least = min(least, self.cost(out))
        return least


def random_site(rng, n_nodes, n_containers):
    cpus = rng.choice([2, 4, 8, 16])
    plain = rng.random() < 0.5
    nodes = [
        [
            cpus if plain else rng.choice([cpus, 2 * cpus]),
            0 if plain or rng.random() < 0.8 else rng.randint(1, cpus // 2),
            rng.random() < 0.8,
            plain or rng.random() < 0.9,
            1 if plain else rng.choice([1, 1, 1, 2, 3]),
        ]
        for _ in range(n_nodes)
    ]
    idle = rng.sample(range(n_nodes), rng.choice([0, 0, rng.randint(0, n_nodes // 2)]))
    jobs = rng.choice([n_containers, max(1, n_containers // 3)])
    containers = []
    for _ in range(50 * n_containers):
        if len(containers) == n_containers:
            break
        node = rng.randrange(n_nodes)
        klass = rng.choice([0, TURTLE, TURTLE, TURTLE, SEMI, DEVIL, DEVIL, DEVIL])
        width = max(1, rng.choice([cpus // 4, cpus // 4, cpus // 2, cpus // 2, cpus]))
        if klass == DEVIL:
            width = max(1, cpus // 2)
        if not plain and rng.random() < 0.3:
            width = rng.randint(1, cpus)
        room = nodes[node][0] - nodes[node][1] - sum(c[2] for c in containers if c[1] == node)
        if node in idle or width > room:
            continue
        traffic = rng.choice([UNKNOWN_TRAFFIC, 0, rng.randint(0, 2000000), 5000000])
        groups = 1 if plain else rng.choice([0, 1, 1, 1, 2, 3])
        containers.append((klass, node, width, 1 + rng.randrange(jobs), traffic, groups))
    for node in nodes:
        node[2] |= node[1] > 0
    for _, node, *_ in containers:
        nodes[node][2] = True
    weights = rng.choice([(4, 1, 2), (4, 1, 2), (1, 0, 0), (1, 3, 1), (2, 1, 5)])
    return Site(weights, [tuple(n) for n in nodes], containers)


def ask(sites, search):
    r = subprocess.run(
        [os.path.join(BUILD, "advice/test/advice_driver")],
        input="\n".join(s.line(search) for s in sites) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return r.stdout.splitlines()


def parse(line):
    words = line.split()
    steps, step = [], []
    for w in words[3:]:
        if w == ";":
            steps.append(step)
            step = []
        else:
            step.append(w if not step else int(w))
    return words[0] == "1", int(words[1]), int(words[2]), steps


def faults(site, line):
    """The first mistake in an answer, found by carrying out its proposals; "" if there is none."""
    if line == "refused":
        return "refused"
    _, before, after, steps = parse(line)
    where = site.where
    if before != site.cost(where):
        return f"the cost before is {site.cost(where)}"
    for kind, devil, source, to, gain, devils, power, parting, *turtles in steps:
        idle = to not in where and site.nodes[to][1] == 0
        out = site.after(where, devil, to, turtles) if where[devil] == source else None
        if not out:
            return f"container {devil} may not go from {source} to {to} with {turtles}"
        if kind != ("idle" if idle else "swap" if turtles else "room"):
            return f"container {devil} to {to} is no {kind}"
        change = [a - b for a, b in zip(site.parts(where), site.parts(out))]
        if change != [devils, power, parting] or sum(change) != gain:
            return f"container {devil} to {to}: its gain is {change}"
        where = out
    return "" if after == site.cost(where) else f"the cost after is {site.cost(where)}"


number = failures = 0


def ok(wrong, what):
    global number, failures
    number += 1
    failures += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {number} - {what}")
    for w in wrong[:5]:
        print(f"#   {w}")


def small_sites(rng):
    """Yield sites with few enough layouts to search all here, each with its least cost."""
    while True:
        site = random_site(rng, rng.choice([1, 2, 3, 3, 4, 4, 5, 6]), rng.randint(2, 14))
        best = site.best()
        if best is not None:
            yield site, best


def test_best():
    sites = list(itertools.islice(small_sites(random.Random(33)), SMALL))
    lines = ask([s for s, _ in sites], DEFAULT)
    wrong = [
        f"best {best}: {line} of {site.line(DEFAULT)}"
        for (site, best), line in zip(sites, lines, strict=True)
        if faults(site, line) or parse(line)[2] != best or not parse(line)[0]
    ]
    ok(
        wrong,
        f"{len(sites)} sites of up to 6 nodes: advice reaches the least cost of all layouts",
    )
    kinds = Counter(step[0] for line in lines for step in parse(line)[3])
    few = [k for k in ("idle", "room", "swap") if kinds[k] < SMALL // 20]
    ok(few, f"the advice on these sites has proposals of each kind: {dict(kinds)}")
    several = sum(len(step) > 9 for line in lines for step in parse(line)[3])
    ok([] if several else ["none"], f"at least one swap moves several turtles: {several} do")
    return [(s, b) for (s, b) in sites if s.cost(s.where) != b]


def test_large():
    rng = random.Random(16)
    sites = [random_site(rng, 16, 40) for _ in range(SITES)]
    for name, search in (("together with the step after it", GREEDY), ("by itself", PLAIN)):
        lines = ask(sites, search)
        wrong = [
            f"{why}: {line} of {site.line(search)}"
            for site, line in zip(sites, lines, strict=True)
            if (why := faults(site, line))
        ]
        ok(
            wrong,
            f"{len(sites)} sites of 16 nodes: proposals chosen {name} obey the rule",
        )
    # the same sites with semi-devils in place of devils: no container may move
    still = [
        Site(s.weights, s.nodes, [(min(c[0], SEMI), *c[1:]) for c in s.containers])
        for s in sites[:1000]
    ]
    wrong = [line for line in ask(still, GREEDY) if parse(line)[3]]
    ok(wrong, "sites without devils get no proposal")


def differ():
    """Print by how much the gains of the two searches of single steps fall short of the largest
    possible gain."""
    rng, sites, best = random.Random(5), [], []
    for _ in range(int(os.environ.get("NODEOS_ADVICE_SITES", "300"))):
        site = random_site(rng, 16, 40)
        line = ask([site], (16, 1000000, 64))[0]
        if parse(line)[0]:
            sites.append(site)
            best.append(parse(line)[1] - parse(line)[2])
    print(f"{len(sites)} sites of 16 nodes and 40 containers that can be searched in full")
    for name, search in (("together with the step after it", GREEDY), ("by itself", PLAIN)):
        got = [parse(line)[1] - parse(line)[2] for line in ask(sites, search)]
        lost = [1 - g / b for g, b in zip(got, best) if b]
        print(
            f"each step chosen {name}: {sum(x > 0 for x in lost)} of {len(lost)} gain less,"
            f" {100 * sum(lost) / len(lost):.2f} % on the average, {100 * max(lost):.0f} % at most"
        )
    return 0


def main():
    if sys.argv[1:] == ["--differ"]:
        return differ()
    test_best()
    test_large()
    print(f"1..{number}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
