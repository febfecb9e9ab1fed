#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random hosts: placements of placement/place.c (through place_driver) against the rules of
placement/place.h, restated here with lists and an exhaustive search. TAP. NODEOS_PLACE_HOSTS:
number of hosts (10,000; test/run --deep: 100,000)."""

import os
import random
import subprocess
import sys
from collections import Counter
from functools import lru_cache

BUILD = os.environ.get("NODEOS_BUILD", ".")
HOSTS = int(os.environ.get("NODEOS_PLACE_HOSTS", "10000"))
BATCH = 5000
UNKNOWN, TURTLE, SEMI, DEVIL = range(4)
ORDER = {DEVIL: 0, SEMI: 1, TURTLE: 2, UNKNOWN: 2}


class Host:
    """Domains' cores; units as (class, rate, cores, domain, fixed)."""

    def __init__(self, cores, units):
        self.cores, self.units = cores, units

    def line(self, policy):
        words = [policy, len(self.cores), *self.cores, len(self.units)]
        for unit in self.units:
            words += [int(x) for x in unit]
        return " ".join(map(str, words))

    def moved(self, to):
        return Host(self.cores, [(c, r, n, d, f) for (c, r, n, _, f), d in zip(self.units, to)])


def random_host(rng):
    domains = rng.randint(1, 8)
    if rng.random() < 0.7:
        cores = [rng.randint(1, 24)] * domains
    else:
        cores = [rng.randint(1, 24) for _ in range(domains)]
    room, units = list(cores), []
    widths = [1] if rng.random() < 0.6 else rng.choice([[2], [1, 2], [1, 2, 4], [3, 4]])
    fixed = rng.choice([0, 0, 0, 0.1, 0.5])
    for _ in range(rng.randint(1, 128)):
        width, d = rng.choice(widths), rng.randrange(domains)
        if room[d] >= width:
            room[d] -= width
            units.append((rng.randrange(4), rng.randrange(1000), width, d, rng.random() < fixed))
    return Host(cores, units)


def snake(host, key):
    """Deal the units, in the order of KEY, to the domains in turns, back and forth. Returns a
    Counter of (order, cores) for each domain, or None: a unit fits nowhere."""
    n = len(host.cores)
    room = list(host.cores)
    for u in host.units:
        if u[4]:
            room[u[3]] -= u[2]
    load, laid, parts = [0] * n, 0, [Counter() for _ in range(n)]
    for order in sorted({key(u) for u in host.units}):
        mine = [u for u in host.units if key(u) == order]
        for u in mine:
            if u[4]:
                load[u[3]] += u[2]
                laid += 1
        for cores in sorted((u[2] for u in mine if not u[4]), reverse=True):
            row = list(range(n)) if laid // n % 2 == 0 else list(range(n))[::-1]
            open_ones = [d for d in row if room[d] >= cores]
            if not open_ones:
                return None
            d = min(open_ones, key=lambda x: (load[x], row.index(x)))
            room[d] -= cores
            load[d] += cores
            laid += 1
            parts[d][order, cores] += 1
    return parts


def counts(host, key, to=None):
    """For each domain, the number of its movable units by (order, cores)."""
    out = [Counter() for _ in host.cores]
    for i, u in enumerate(host.units):
        if not u[4]:
            out[u[3] if to is None else to[i]][key(u), u[2]] += 1
    return out


def least_cost(host, parts, present):
    """The fewest cores that move over all ways to give the parts to equal domains."""
    n = len(parts)
    frozen = {u[3] for u in host.units if u[4]}

    def cost(part, d):
        return sum(k[1] * max(0, q - present[d][k]) for k, q in parts[part].items())

    def may(part, d):
        return part == d or (
            part not in frozen and d not in frozen and host.cores[part] == host.cores[d]
        )

    table = [[cost(p, d) if may(p, d) else None for d in range(n)] for p in range(n)]

    @lru_cache(None)
    def best(part, taken):
        if part == n:
            return 0
        found = [
            table[part][d] + best(part + 1, taken | 1 << d)
            for d in range(n)
            if not taken >> d & 1 and table[part][d] is not None
        ]
        return min(found, default=10**9)

    return best(0, 0)


def unevenness(host, key, to):
    """Three sums of squares of the cores that units use in each domain: units of order 0; of orders
    0 and 1; all units."""
    cores = [[0] * len(host.cores) for _ in range(3)]
    for u, d in zip(host.units, to):
        for order in range(key(u), 3):
            cores[order][d] += u[2]
    return [sum(c * c for c in row) for row in cores]


def layout_unevenness(host, key, parts):
    """What unevenness() returns, for the snake's layout. Exchanged parts do not change the sums,
    because only equal domains exchange parts."""
    cores = [[0] * len(host.cores) for _ in range(3)]
    fixed = [((key(u), u[2]), u[3]) for u in host.units if u[4]]
    laid = [(k, d) for d, part in enumerate(parts) for k, n in part.items() for _ in range(n)]
    for (first, width), d in fixed + laid:
        for order in range(first, 3):
            cores[order][d] += width
    return [sum(c * c for c in row) for row in cores]


def needless(host, key, to):
    """A move that can be left out, or two that exchange domains; None if every move is needed."""
    now = unevenness(host, key, to)
    here = [u[3] for u in host.units]
    moving, seen = [i for i, u in enumerate(host.units) if to[i] != u[3]], set()
    singles = [(i,) for i in moving]
    pairs = [
        (i, j) for i in moving for j in moving if i < j and (here[i], to[i]) == (to[j], here[j])
    ]
    for left_out in singles + pairs:
        kind = tuple((key(host.units[i]), host.units[i][2], here[i], to[i]) for i in left_out)
        if kind in seen:
            continue
        seen.add(kind)
        other = list(to)
        for i in left_out:
            other[i] = here[i]
        used = Counter()
        for u, d in zip(host.units, other):
            used[d] += u[2]
        fits = all(used[d] <= most for d, most in enumerate(host.cores))
        if fits and unevenness(host, key, other) <= now:
            return left_out
    return None


def judge_moves(host, to, key, parts):
    """What is wrong with the moves, or None."""
    here = [u[3] for u in host.units]
    before, after = unevenness(host, key, here), unevenness(host, key, to)
    laid = layout_unevenness(host, key, parts)
    if before <= laid:
        return (
            None
            if to == here
            else f"units move from a placement of {before}, which is as even as the layout, {laid}"
        )
    if after > laid:
        return f"less even than the layout: {after}, not {laid}"
    found = needless(host, key, to)
    return f"units {found} need not move" if found else None


def judge_groups(host, to, key):
    """What is wrong with a placement by groups, or None."""
    parts = snake(host, key)
    if parts is None:
        return "a placement that does not fit"
    before, after = counts(host, key), counts(host, key, to)
    problem = judge_moves(host, to, key, parts)
    if problem:
        return problem
    for i, u in enumerate(host.units):
        if u[4] and to[i] != u[3]:
            return f"unit {i} is fixed and moved"
    cores = [0] * len(host.cores)
    for i, u in enumerate(host.units):
        cores[to[i]] += u[2]
    if any(c > most for c, most in zip(cores, host.cores)):
        return "a domain has more units than cores"
    moved = sum(u[2] for i, u in enumerate(host.units) if to[i] != u[3])
    most = least_cost(host, parts, before)
    if moved > most:
        return f"{moved} cores move, but the layout needs moves of {most}"
    for d in range(len(host.cores)):
        left = Counter((key(u), u[2]) for i, u in enumerate(host.units) if u[3] == d != to[i])
        came = Counter((key(u), u[2]) for i, u in enumerate(host.units) if to[i] == d != u[3])
        if left & came:
            return f"domain {d}: units of one class change places"
    if not any(u[4] or u[2] != 1 for u in host.units) and len(set(host.cores)) == 1:
        for order in range(3):
            prefix = [sum(n for k, n in p.items() if k[0] <= order) for p in after]
            if max(prefix) - min(prefix) > 1:
                return f"classes up to {order} are uneven: {prefix}"
    return None


def judge_rates(host, to):
    """The policy di, restated: it does not try to leave units where they are."""
    n, room, load = len(host.cores), list(host.cores), [0] * len(host.cores)
    for u in host.units:
        if u[4]:
            room[u[3]] -= u[2]
    by_rate = sorted(range(len(host.units)), key=lambda i: (-host.units[i][1], i))
    for laid, i in enumerate(by_rate):
        cores, d = host.units[i][2], host.units[i][3]
        if not host.units[i][4]:
            row = list(range(n)) if laid // n % 2 == 0 else list(range(n))[::-1]
            open_ones = [d for d in row if room[d] >= cores]
            if not open_ones:
                return "a placement that does not fit"
            d = min(open_ones, key=lambda x: (load[x], row.index(x)))
            room[d] -= cores
        load[d] += cores
        if to[i] != d:
            return f"unit {i} in domain {to[i]}, not {d}"
    return None


KEYS = {"dino": lambda u: ORDER[u[0]], "spread": lambda _: 0}


def judge(policy, host, moves, to):
    here = [u[3] for u in host.units]
    if moves < 0:
        if to != here:
            return "a failed call that moves units"
        found = judge_rates(host, to) if policy == "di" else snake(host, KEYS[policy])
        fits = found is not None and found != "a placement that does not fit"
        return "a placement that fits is refused" if fits and policy != "di" else None
    if moves != sum(a != b for a, b in zip(here, to)):
        return "a wrong number of moves"
    if policy == "none":
        return "moves" if moves else None
    if policy == "di":
        return judge_rates(host, to)
    return judge_groups(host, to, KEYS[policy])


def place(lines):
    done = subprocess.run(
        [f"{BUILD}/placement/test/place_driver"],
        input="\n".join(lines) + "\n",
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return [[int(w) for w in line.split()] for line in done.stdout.splitlines()]


def main():
    rng, count, failed, moved, refused = random.Random(11), 0, 0, 0, 0
    for policy, share in (("dino", 0.7), ("spread", 0.1), ("di", 0.15), ("none", 0.05)):
        wrong, again, left = [], [], int(HOSTS * share)
        while left > 0:
            hosts = [random_host(rng) for _ in range(min(BATCH, left))]
            left -= len(hosts)
            placed = place([h.line(policy) for h in hosts])
            if len(placed) != len(hosts):
                sys.exit("place_driver: too few lines")
            for host, (moves, *to) in zip(hosts, placed):
                problem = judge(policy, host, moves, to)
                if problem:
                    wrong.append(f"{problem}: {host.line(policy)}: {to}")
                moved += max(moves, 0)
                refused += moves < 0
            second = place([h.moved(to).line(policy) for h, (_, *to) in zip(hosts, placed)])
            again += [
                h.line(policy)
                for h, first, (moves, *_) in zip(hosts, placed, second)
                if moves > 0 and first[0] >= 0
            ]
        for what, found in (
            (f"{policy}: {int(HOSTS * share)} random hosts are placed by the rules", wrong),
            (f"{policy}: a second call moves nothing", again),
        ):
            count += 1
            failed += bool(found)
            print(f"{'not ' if found else ''}ok {count} - {what}")
            for line in found[:3]:
                print(f"#   {line}")
    count += 1
    some = moved > 0 and refused < HOSTS / 4
    failed += not some
    what = f"units move, and few hosts are refused (units: {moved}, hosts: {refused})"
    print(f"{'' if some else 'not '}ok {count} - {what}")
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
