#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare counters/classify.c (through classify_driver), on random traces, with the rules of
counters/README, written here with lists and fractions. TAP. NODEOS_CLASSIFY_TRACES: number of
traces (100,000)."""

import os
import random
import subprocess
import sys
from fractions import Fraction
from math import ceil

BUILD = os.environ.get("NODEOS_BUILD", ".")
TRACES = int(os.environ.get("NODEOS_CLASSIFY_TRACES", "100000"))
BATCH = 5000
UNKNOWN, TURTLE, SEMI, DEVIL = range(4)
COUNTED, SCALED, MISSING, NO_COUNTER = range(4)
U64 = 2**64
RATE_MAX = 200000000


class Conf:
    def __init__(self, turtle, devil, delta, window, majority, running_min, cpu_min):
        self.values = (turtle, devil, delta, window, majority, running_min, cpu_min)
        self.turtle, self.devil, self.delta = (1000 * v for v in (turtle, devil, delta))
        self.window, self.majority = window, majority
        self.running_min, self.cpu_min = Fraction(running_min, 100), Fraction(cpu_min, 100)

    def class_of(self, rate):
        return TURTLE if rate <= self.turtle else SEMI if rate <= self.devil else DEVIL


def round_up(rate):
    """Round up to a whole number: rates are in thousandths of a miss."""
    return ceil(rate)


class Rank:
    """The classes of one rank by the rules."""

    def __init__(self, conf):
        self.conf = conf
        self.ring = []  # the last intervals: (rate, scaled), or None for a missing sample
        self.adopted = None
        self.shown, self.held, self.changes, self.idle = UNKNOWN, 0, 0, False
        self.last = None

    def become(self, shown):
        if shown != self.shown:
            self.shown, self.held, self.changes = shown, 0, self.changes + 1

    def forget(self):
        self.ring, self.adopted = [], None
        self.become(UNKNOWN)

    def sample(self, now):
        """Return (kind, rate, instructions, misses) of the interval that ends with NOW."""
        nothing = (MISSING, 0, 0, 0)
        gained = [b - a for a, b in zip(self.last, now)]
        instructions, misses, enabled, running = gained
        if instructions <= 0 or misses < 0 or enabled <= 0 or running <= 0:
            return nothing
        share = min(Fraction(running, enabled), Fraction(1))
        if share < self.conf.running_min:
            return nothing
        rate = min(round_up(Fraction(misses * 10000 * 1000, instructions)), RATE_MAX)
        return (
            SCALED if share < 1 else COUNTED,
            rate,
            min(int(instructions / share), U64 - 1),
            min(int(misses / share), U64 - 1),
        )

    def add(self, kind, rate, milliseconds, cpu):
        conf = self.conf
        self.held += milliseconds
        self.idle = Fraction(cpu, 1000) < conf.cpu_min
        if kind == NO_COUNTER:
            self.forget()
            return
        if self.idle:
            return
        self.ring.append(None if kind == MISSING else (rate, kind == SCALED))
        self.ring = self.ring[-conf.window :]
        rates = [s[0] for s in self.ring if s]
        if not rates:
            self.forget()
            return
        mean = Fraction(sum(rates), len(rates))
        if self.adopted is None:
            adopt = len(rates) >= conf.majority
        else:
            others = [r for r in rates if conf.class_of(r) != self.shown]
            adopt = len(others) >= conf.majority and abs(mean - self.adopted) > conf.delta
        if adopt:
            self.adopted = round_up(mean)
            self.become(conf.class_of(self.adopted))

    def line(self, kind, rate, instructions, misses):
        rates = [s[0] for s in self.ring if s]
        mean = round_up(Fraction(sum(rates), len(rates))) if rates else 0
        placed = TURTLE if self.idle else self.shown
        values = (
            kind,
            rate,
            instructions,
            misses,
            self.shown,
            self.adopted or 0,
            mean,
            sum(1 for s in self.ring if s and s[1]),
            self.held,
            self.changes,
            placed,
        )
        return " ".join(map(str, values))


def random_conf(rng):
    if rng.random() < 0.6:
        return Conf(30, 45, 10, 10, 5, 25, 10)
    turtle = rng.choice([0, 15, 20, 30, 100, 99999])
    window = rng.choice([1, 2, 3, 5, 10, 31, 32])
    return Conf(
        turtle,
        rng.choice([b for b in (1, 16, 45, 500, 1000, 100000) if b > turtle]),
        rng.choice([0, 1, 10, 30, 100000]),
        window,
        rng.randint(1, window),
        rng.choice([1, 25, 50, 100]),
        rng.choice([0, 10, 100]),
    )


def random_rates(rng, conf, steps):
    """Make rates per 10,000 instructions, as (misses, instructions), for each step of a trace."""
    turtle, devil, delta = conf.values[:3]
    edges = [turtle, devil, turtle + delta, 0, 45, 90]
    kind = rng.choice(["edge", "edge", "step", "oscillation", "wild", "walk"])
    level, other = rng.choice(edges), rng.choice(edges)
    for i in range(steps):
        if kind == "wild":
            yield (
                rng.randrange(10 ** rng.randint(1, 18)),
                1 + rng.randrange(10 ** rng.randint(1, 18)),
            )
            continue
        if kind == "edge":
            level = rng.choice(edges)
        elif kind == "step" and rng.random() < 0.15:
            level, other = other, level
        elif kind == "oscillation" and i % rng.choice([1, 1, 1, 2]) == 0:
            level, other = other, level
        elif kind == "walk":
            level = max(0, level + rng.randint(-12, 12))
        # exactly at the bound, or, with 10^7 instructions or more, one miss above or below it
        many = rng.choice([1, 7, 10**3, 10**6])
        misses = level * many + (rng.choice([-1, 0, 0, 0, 1]) if many >= 10**3 else 0)
        yield max(0, misses), 10000 * many


def make_trace(rng, counts):
    """Make the input lines of one trace, and the expected output lines."""
    conf = random_conf(rng)
    rank = Rank(conf)
    lines, wanted = ["c " + " ".join(map(str, conf.values))], []
    totals = [rng.choice([0, 0, 10**12, U64 - 10**11]) for _ in range(2)] + [10**9, 10**9]
    bad = rng.choice([0, 0, 0.1, 0.4])
    rank.last = None
    for misses, instructions in random_rates(rng, conf, rng.randint(2, 26)):
        ms = rng.choice([1000, 1000, 1003, 30000])
        cpu = rng.choice([1000, 1000, 990, 4000, 100, 99, 10, 0] if rng.random() < 0.4 else [1000])
        enabled = ms * 10**6
        running = enabled
        fault = rng.choice(FAULTS) if rng.random() < bad else None
        if fault == "mux":
            percent = rng.choice([24, 25, 26, 50, 99])
            running = enabled * percent // 100 - rng.choice([0, 0, 1])
        elif fault == "longer":
            running = enabled + 1
        elif fault == "not running":
            running = 0
        elif fault == "no time":
            enabled = 0
        elif fault == "no instruction":
            instructions = 0
        elif fault == "no counter":
            counts["no counter"] = counts.get("no counter", 0) + 1
            rank.last = None
            rank.add(NO_COUNTER, None, ms, cpu)
            lines.append(f"n {ms} {cpu}")
            wanted.append(rank.line(NO_COUNTER, 0, 0, 0))
            continue
        totals = [a + b for a, b in zip(totals, (instructions, misses, enabled, running))]
        if fault == "backwards":
            totals[rng.randrange(4)] //= 2
        wrapped = any(t >= U64 for t in totals)
        totals = [t % U64 for t in totals]
        for name, there in ((fault, fault), ("wrap", wrapped)):
            if there:
                counts[name] = counts.get(name, 0) + 1
        lines.append("r " + " ".join(map(str, totals)) + f" {ms} {cpu}")
        if rank.last:
            kind, rate, n, m = rank.sample(totals)
            rank.add(kind, rate, ms, cpu)
            wanted.append(rank.line(kind, rate, n, m))
            counts[rank.shown] = counts.get(rank.shown, 0) + 1
            counts["idle"] = counts.get("idle", 0) + rank.idle
        rank.last = totals
    counts["changes"] = counts.get("changes", 0) + max(0, rank.changes - 1)
    return lines, wanted


FAULTS = [
    "mux",
    "mux",
    "longer",
    "not running",
    "no time",
    "no instruction",
    "no counter",
    "backwards",
]


def first_difference(traces, got):
    """Return a description of the first of the traces that differs from GOT. A trace is a pair of
    input lines and wanted lines."""
    at = 0
    for lines, wanted in traces:
        have = got[at : at + len(wanted)]
        if have != wanted:
            n = next((i for i, w in enumerate(wanted) if i >= len(have) or have[i] != w), 0)
            return [
                *lines,
                f"step {n}: wanted {wanted[n]}",
                f"step {n}: got    {have[n] if n < len(have) else 'nothing'}",
            ]
        at += len(wanted)
    return ["more lines than wanted"] if len(got) > at else []


def main():
    driver = os.path.join(BUILD, "counters/test/classify_driver")
    rng = random.Random(32)
    counts, different, steps = {}, [], 0
    for start in range(0, TRACES, BATCH):
        traces = [make_trace(rng, counts) for _ in range(min(BATCH, TRACES - start))]
        text = "".join(f"{line}\n" for lines, _ in traces for line in lines)
        r = subprocess.run([driver], input=text, capture_output=True, text=True, check=False)
        steps += sum(len(w) for _, w in traces)
        different = first_difference(traces, r.stdout.splitlines()) or r.stderr.splitlines()
        if r.returncode or different:
            break
    good = not different
    print(f"{'' if good else 'not '}ok 1 - {TRACES} random traces have the classes of the oracle")
    for line in different:
        print(f"# {line}")
    least = TRACES // 50
    wanted = [*set(FAULTS), "wrap", "idle", "changes", UNKNOWN, TURTLE, SEMI, DEVIL]
    rare = [f"{w}: {counts.get(w, 0)}" for w in wanted if counts.get(w, 0) < least]
    print(f"{'not ' if rare else ''}ok 2 - the traces have each fault, class and change often")
    for line in rare:
        print(f"# {line}, wanted {least}")
    print(f"# {steps} samples: {counts}")
    print("1..2")
    return 1 if rare or not good else 0


if __name__ == "__main__":
    sys.exit(main())
