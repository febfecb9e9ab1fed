#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the pure functions of hugepages/ (through pages_driver) on random hosts: plans by their
rules, runs of frames by a set, and the pools of two steps, the site and programs with huge pages
in a model of Linux's set_max_huge_pages() (mm/hugetlb.c), of 6.12 and from before 6.7, where each
change may be interrupted. TAP. NODEOS_PAGES_HOSTS: number of hosts (2,000)."""

import os
import random
import subprocess

BUILD = os.environ.get("NODEOS_BUILD", ".")
HOSTS = int(os.environ.get("NODEOS_PAGES_HOSTS", "2000"))
STABLE, RAISING, LOWERING = range(3)


class Driver:
    def __init__(self):
        self.process = subprocess.Popen(
            [f"{BUILD}/hugepages/test/pages_driver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()


class Node:
    def __init__(self, memory, pages, used):
        self.memory, self.pages, self.used = memory, pages, used  # pages that could still be added
        self.surplus = 0


class Kernel:
    """The kernel's pools of one page size. Programs reserve no pages in advance."""

    def __init__(self, rng):
        self.old = rng.random() < 0.5  # before 6.7
        self.nodes = []
        for _ in range(rng.randint(1, 3)):
            pages = rng.randint(0, 6)
            self.nodes.append(Node(rng.randint(0, 20), pages, rng.randint(0, pages)))

    def total(self):
        return sum(n.pages for n in self.nodes)

    def all_surplus(self):
        return sum(n.surplus for n in self.nodes)

    def write(self, at, value, stop=10**9):
        """Do as set_max_huge_pages() for one node. Memory is short after STOP allocations."""
        node = self.nodes[at]

        def persistent():
            return self.total() - self.all_surplus()

        count = value + persistent() - (node.pages - node.surplus)
        if self.old:
            count = value + self.total() - node.pages
        while self.all_surplus() and count > persistent() and node.surplus:
            node.surplus -= 1
        while count > persistent() and node.memory and stop:
            node.pages += 1
            node.memory -= 1
            stop -= 1
        least = max(count, self.total() - sum(n.pages - n.used for n in self.nodes))
        while least < persistent() and node.pages > node.used:
            node.pages -= 1
            node.memory += 1
        while count < persistent() and node.surplus < node.pages:
            node.surplus += 1

    def use(self, at, pages):
        self.nodes[at].used += pages

    def free(self, at, pages):
        """Do as free_huge_folio(): a surplus page leaves the pool."""
        node = self.nodes[at]
        for _ in range(pages):
            node.used -= 1
            if node.surplus:
                node.surplus -= 1
                node.pages -= 1
                node.memory += 1

    def state(self, at):
        n = self.nodes[at]
        return n.pages, n.pages - n.used, n.surplus, self.all_surplus() if self.old else n.surplus

    def persistent(self, at):
        return self.nodes[at].pages - self.nodes[at].surplus


class Step:
    """A step that does with one pool what reserve.c does."""

    def __init__(self, driver, kernel, at):
        self.driver, self.kernel, self.at = driver, kernel, at
        self.change, self.before, self.pages, self.taken = STABLE, 0, 0, 0

    def settle(self):
        now = self.kernel.persistent(self.at)
        answer = self.driver.ask("settle", self.change, self.before, self.pages, now)
        self.pages, self.change = int(answer[0]), STABLE

    def start(self, pages, stop, killed):
        """Add PAGES, and return whether the step has its pages."""
        state = self.kernel.state(self.at)
        answer = self.driver.ask("raise", *state, pages)
        if answer == ["no"]:
            return False
        self.change, self.before = RAISING, self.kernel.persistent(self.at)
        self.pages = pages + state[2]
        if killed == "before":
            return False
        self.kernel.write(self.at, int(answer[0]), stop)
        if killed:
            return False
        self.settle()
        if self.kernel.state(self.at)[1] < state[1] + pages:
            return False
        self.kernel.use(self.at, pages)
        self.taken = pages
        return True

    def end(self, killed):
        self.settle()
        answer = self.driver.ask("lower", *self.kernel.state(self.at), self.pages)
        if not self.pages or answer == ["no"]:
            return
        self.change, self.before = LOWERING, self.kernel.persistent(self.at)
        if killed != "before":
            self.kernel.write(self.at, int(answer[0]))
        if not killed:
            self.settle()

    def exit(self):
        self.kernel.free(self.at, self.taken)
        self.taken = 0


def check_pools(driver, rng):
    """Play a random history of two steps on a host. Returns what is wrong, or None."""
    kernel = Kernel(rng)
    site = [n.pages for n in kernel.nodes]
    others = [n.used for n in kernel.nodes]
    steps = [Step(driver, kernel, rng.randrange(len(kernel.nodes))) for _ in range(2)]
    for step in steps + steps:
        for each in steps:
            each.settle()  # each process that opens the journal does this
        kill = rng.choice([None, None, "before", "after"])
        if step.pages or step.change != STABLE:
            if rng.random() < 0.5:
                step.exit()  # or its ranks still run when the pool is lowered
            step.end(kill)
        else:
            had = kernel.state(step.at)[1]
            pages, stop = rng.randint(1, 8), rng.choice([10**9, 2])
            memory = kernel.nodes[step.at].memory
            begun = step.start(pages, stop, kill)
            enough = stop > pages and memory >= pages and step.change == STABLE
            if step.pages and enough and not begun:
                return "a step does not get the pages that there are"
            if begun and kernel.state(step.at)[1] < had:
                return "a step took pages that were free before"
        if rng.random() < 0.3 and not kernel.all_surplus():
            # the site changes its own number, but not while a step changes a pool
            if all(s.change == STABLE for s in steps):
                at = rng.randrange(len(kernel.nodes))
                before = kernel.persistent(at)
                kernel.write(at, kernel.nodes[at].pages + 1)
                site[at] += kernel.persistent(at) - before
    for step in steps:
        step.exit()
    for _ in range(3):
        for step in steps:
            for each in steps:
                each.settle()
            step.end(None)
    if [kernel.persistent(i) for i in range(len(site))] != site:
        return f"pools {[n.pages for n in kernel.nodes]}, not {site}"
    # a surplus page may be left; Linux frees it when a program gives one back
    if [n.used for n in kernel.nodes] != others:
        return "other programs' pages changed"
    return None if not any(s.pages for s in steps) else "a step still counts pages"


def check_plan(driver, rng):
    page = rng.choice([2 << 20, 1 << 30])
    rooms = [rng.randint(0, 40) * (page // 2) for _ in range(rng.randint(1, 8))]
    ranks, pages = rng.randint(1, 12), rng.randint(1, 12)
    got = driver.ask("plan", ranks, page, pages, len(rooms), *rooms)
    fits = sum(r // page for r in rooms) >= ranks * pages
    if got == ["refused"] or not fits:
        return None if (got == ["refused"]) != fits else "refused, or not, against the sum"
    pieces = [tuple(map(int, got[i : i + 3])) for i in range(0, len(got), 3)]
    of_rank = [sum(p for r, _, p in pieces if r == k) for k in range(ranks)]
    of_node = [sum(p for _, n, p in pieces if n == k) for k in range(len(rooms))]
    if of_rank != [pages] * ranks or any(p == 0 for _, _, p in pieces):
        return f"pages of ranks: {of_rank}"
    if any(n * page > room for n, room in zip(of_node, rooms)):
        return "a node gives more than its room"
    if len(pieces) > ranks + len(rooms) or [r for r, _, _ in pieces] != sorted(
        r for r, _, _ in pieces
    ):
        return "order or number of pieces"
    # if each node has room for all ranks, each rank has one node, in the order of the ranks
    if all(room // page >= ranks * pages for room in rooms):
        if [n for _, n, _ in pieces] != [r * len(rooms) // ranks for r in range(ranks)]:
            return "ranks are not spread over the nodes"
    return None


def check_runs(driver, rng):
    step = rng.choice([512, 262144])
    frames, at = [], step * rng.randint(1, 50)
    for _ in range(rng.randint(1, 60)):
        frames.append(at)
        at = at + step if rng.random() < 0.7 else step * rng.randint(1, 500)
    lengths = []
    for i, f in enumerate(frames):
        if i and f - frames[i - 1] == step:
            lengths[-1] += 1
        else:
            lengths.append(1)
    want = [len(lengths), max(lengths), min(lengths)]
    got = [int(x) for x in driver.ask("runs", step, len(frames), *frames)]
    return None if got == want else f"{frames}: {got}, not {want}"


def main():
    driver = Driver()
    checks = (
        (check_plan, "pages_plan: each rank gets its pages within the nodes' rooms"),
        (check_pools, "pools are as the site left them after two steps, with interruptions"),
        (check_runs, "page_runs_count: as counted by hand"),
    )
    print(f"1..{len(checks)}")
    for number, (check, name) in enumerate(checks, 1):
        wrong = None
        for seed in range(HOSTS):
            wrong = check(driver, random.Random(seed))
            if wrong:
                wrong = f"seed {seed}: {wrong}"
                break
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}: {HOSTS} hosts")
        if wrong:
            print(f"# {wrong}")


main()
