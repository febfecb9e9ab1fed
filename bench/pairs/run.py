# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots a node of the virtual cluster with two sockets, each with a *simulated* last-level cache of
4 MiB, and with simulated times of memory (test/simllc). Runs pairs of programs there, two ranks of
each program: GROMACS (a box of water), HPCC (each rank alone), dimmap-load's lriot (reads of a file
of 12 MiB at random), a solver by conjugate gradients (3 MiB) and a scan (3 MiB). Slurm puts the two
ranks of a program on one socket. Each pair runs twice: only observed, and placed by dino. The
experiment follows Series A of the evaluation of Clavis-HPC, with other programs. Misses and times
are those of a model and an emulator."""

import itertools
import re

from bench.contention.run import INPUTS as CONTENTION
from bench.contention.run import MEMORY, SIMULATED
from bench.lib import guests
from bench.lib.context import TOP, Failed, load
from bench.lib.options import Option, words

TITLE = "Contention: programs in pairs"
MINUTES = {"quick": 4, "full": 9}
PROGRAMS = ("gromacs", "hpcc", "lriot", "cg", "scan")
PAIRS = [f"{a}:{b}" for a, b in itertools.combinations(PROGRAMS, 2)]
OPTIONS = (
    Option(
        "pairs",
        "A:B+A:B",
        "pairs of programs",
        PAIRS,
        ["gromacs:lriot", "gromacs:cg"],
        words(*PAIRS),
    ),
    Option(
        "sizes",
        "N+N+N+N+N",
        "GROMACS's steps, LRIOT's reads, cg's iterations, passes of a scan, HPCC's rows",
        "20+200000+60+100+300",
    ),
    *SIMULATED,
)
INPUTS = [
    *CONTENTION,
    "bench/pairs/guest",
    "bench/pairs/cg.c",
    "bench/caches/counted.c",
    "bench/lib/water.sh",
    "dimmap/load/lriot/*.c",
]
POLICIES = ("observe", "dino")
RANK = re.compile(r"rank (\d+) (\w+) begin ([\d.]+) end ([\d.]+) ((?:[a-z-]+ \d+ ?)+)")


def run(context):
    """Run all pairs. Return {runs: [{pair, policy, moves, ranks: [{rank, program, seconds, misses,
    ..., class}]}]}."""
    given, here = context.options, f"{TOP}/bench"
    build = context.build
    puts = [f"{here}/pairs/guest", f"{here}/lib/job.py", f"{here}/lib/water.sh"]
    for name, source, more in (
        ("rank", "contention/rank.c", ()),
        ("cg", "pairs/cg.c", ("-lm",)),
        ("counted", "caches/counted.c", ()),
    ):
        puts.append(guests.program(context, f"{build}/{name}", f"{here}/{source}", *more))
    more = ["--llc", f"size={given.llc},{given.time}", "--numa", "2", "--memory", str(MEMORY)]
    more += ["--qemu", "-cpu EPYC-Milan"]
    command = ["./guest", "+".join(given.pairs), "+".join(POLICIES), given.sizes]
    left = guests.cluster(context, puts, command, more, clock="tcg")
    return {"runs": [run_of(one) for one in load(f"{left}/runs.json")]}


def run_of(one):
    """Convert a step as the script guest has written it to a run."""
    ranks, document = [], one["document"]
    what = f"{':'.join(one['pair'])}, {one['policy']}"
    if not document:
        raise Failed(f"{what}: nodeos-contend has written no document")
    for line in one["text"].splitlines():
        if m := RANK.fullmatch(line):
            counts = m[5].split()
            ranks.append(
                {"rank": int(m[1]), "program": m[2], "begin": float(m[3]), "end": float(m[4])}
                | dict(zip(counts[::2], map(int, counts[1::2])))
            )
        elif line.startswith("rank "):
            raise Failed(f"{what}: cannot parse the line of a rank: {line}")
    if len(ranks) != 4:
        raise Failed(f"{what}: {len(ranks)} ranks have printed a line, not 4:\n{one['text']}")
    return {
        "pair": one["pair"],
        "policy": one["policy"],
        "moves": sum(p["moves"] for p in document["placings"]),
        "ranks": ranks,
        # the document does not have ranks that ended before the others
        "classes": {str(r["rank"]): seen_classes(r) for r in document["ranks"]},
    }


def seen_classes(rank):
    """Return the classes that a rank has had, in order, without the time when its class was
    unknown."""
    found = []
    for point in rank["history"]:
        if point[2] != "u" and found[-1:] != [point[2]]:
            found.append(point[2])
    return found
