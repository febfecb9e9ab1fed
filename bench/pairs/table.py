# SPDX-License-Identifier: GPL-2.0-or-later
"""Table and verdicts of bench/run pairs. All counts and times are those of a simulated cache and a
model of memory."""

from bench.lib.tables import Table, number
from bench.lib.tap import Verdict

HEAD = [
    "pair",
    "program",
    "classes",
    "misses for 10,000 instructions, observed",
    "dino",
    "seconds, observed",
    "dino",
    "dino's of observed",
    "moves",
]
NAMES = {"t": "turtle", "s": "semi-devil", "d": "devil"}
# The class of a program if two of its ranks share a cache. BOUNDS are misses per 10,000
# instructions. HPCC has no single class, since its phases differ. Gains and losses by dino are
# shown, but not judged.
EXPECTED = {"gromacs": "t", "lriot": "s", "cg": "d", "scan": "d"}
BOUNDS = {"t": (0, 30), "s": (30, 45), "d": (45, 10000)}


def of(runs, pair, policy):
    return next(r for r in runs if r["pair"] == pair and r["policy"] == policy)


def rate(run, program):
    """Return the misses of both ranks of a program per 10,000 instructions."""
    ranks = [r for r in run["ranks"] if r["program"] == program]
    return 1e4 * sum(r["misses"] for r in ranks) / sum(r["instructions"] for r in ranks)


def seconds(run, program):
    """Return the seconds from the start of a program's first rank to the end of its last rank."""
    ranks = [r for r in run["ranks"] if r["program"] == program]
    return max(r["end"] for r in ranks) - min(r["begin"] for r in ranks)


def classes(run, program):
    """Return the classes that a program's ranks have had. Ranks that are not in the last document
    are left out."""
    numbers = [str(r["rank"]) for r in run["ranks"] if r["program"] == program]
    texts = {
        ", then ".join(NAMES[c] for c in run["classes"][n])
        for n in numbers
        if run["classes"].get(n)
    }
    return " or ".join(sorted(texts)) or "?"


def tables(raw):
    runs, rows = raw["runs"], []
    for pair in [r["pair"] for r in runs if r["policy"] == "observe"]:
        plain, dino = (of(runs, pair, policy) for policy in ("observe", "dino"))
        for program in pair:
            before, after = seconds(plain, program), seconds(dino, program)
            rows.append(
                [
                    " and ".join(pair) if program == pair[0] else "",
                    program,
                    classes(plain, program),
                    number(rate(plain, program), 1),
                    number(rate(dino, program), 1),
                    number(before, 1),
                    number(after, 1),
                    number(after / before, 2, bold=abs(after / before - 1) > 0.1),
                    number(dino["moves"]) if program == pair[0] else "",
                ]
            )
    title = "*Simulated* caches: two ranks of each program of a pair, one run of each"
    return [Table(HEAD, rows, title)]


def judge(raw):
    return [
        verdict
        for run in raw["runs"]
        if run["policy"] == "observe"
        for program in run["pair"]
        if program in EXPECTED
        for verdict in verdicts(run, program)
    ]


def verdicts(run, program):
    """Yield verdicts on whether each program that is only observed has the expected class: by its
    misses, and by the last class that nodeos-contend gave to each rank."""
    want = EXPECTED[program]
    least, most = BOUNDS[want]
    misses = rate(run, program)
    what = f"{' and '.join(run['pair'])}: {program}"
    text = f"{misses:.1f} misses per 10,000 instructions make it a {NAMES[want]}"
    yield Verdict(least <= misses <= most, f"{what}: {text}")
    numbers = [str(r["rank"]) for r in run["ranks"] if r["program"] == program]
    last = [run["classes"][n][-1] for n in numbers if run["classes"].get(n)]
    yield Verdict(
        all(c == want for c in last),
        f"{what}: the last class of each rank is {NAMES[want]}",
        "" if last else "the step's last document has no rank with a class",
    )
