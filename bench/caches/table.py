# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables and verdicts of bench/run caches: all counts are those of a simulated cache."""

import statistics

from bench.lib.tables import Table, number, spread
from bench.lib.tap import Verdict

CLASSES = {
    "cfs": "CFS",
    "pinned": "CFS, pinned",
    "rr": "SCHED_HPC rr",
    "topo": "SCHED_HPC topo",
}
PLACES = {"unplaced": "unplaced", "by hand": "numactl, by hand", "container": "container"}
# not rr: it places all ranks on the first CPUs, which are in one socket
COMPARED = ("pinned", "topo")
MEDIA = {"mmap": "page cache", "buffer": "buffer"}
HPC = ("rr", "topo")
PLACED = [
    "KiB of a rank",
    "arm",
    "simulated misses for 10,000 instructions",
    "of CFS's",
    "of them remote, for 10,000 instructions",
    "migrations, all ranks",
    "fewest ranks of a socket, at the end",
]
READS = [
    "through",
    "threads and memory",
    "simulated misses a read",
    "of them remote",
    "remote, % of the misses",
    "migrations",
]
SHARE = 1024  # KiB: each of a socket's four ranks has this part of its cache of 4 MiB
NEAR = 2  # largest allowed % of remote misses of a placed program; only its start has some
# largest allowed ratio of the remote misses of a placed program, including its start, to those of
# an unplaced one
OF_UNPLACED = 0.1


def rate(run, what):
    """Return the sum of WHAT over all ranks, per 10,000 instructions."""
    ranks = run["ranks"]
    return 1e4 * sum(r[what] for r in ranks) / sum(r["instructions"] for r in ranks)


def emptier(run, half):
    """Return the number of ranks on the socket that has fewer ranks. The second socket begins with
    CPU HALF."""
    second = sum(r["cpus"][1] >= half for r in run["ranks"])
    return min(second, len(run["ranks"]) - second)


def chosen(runs, **which):
    return [r for r in runs if all(r[k] == v for k, v in which.items())]


def rates(runs, size, arm, what):
    return [rate(r, what) for r in chosen(runs, size=size, arm=arm)]


def of_cfs(runs, size, arm):
    """Return the ratio of ARM's misses to those of CFS, for each boot that has both arms."""
    cfs, own = (
        {r["seed"]: rate(r, "misses") for r in chosen(runs, size=size, arm=a)} for a in ("cfs", arm)
    )
    return [own[seed] / cfs[seed] for seed in own if cfs.get(seed)]


def arms(runs):
    """Return the pairs (size, arm) of RUNS, in the order of the tables."""
    there = {(r["size"], r["arm"]) for r in runs}
    sizes = sorted({size for size, _ in there})
    return [(size, arm) for size in sizes for arm in CLASSES if (size, arm) in there]


def placement(runs):
    rows = []
    for size, arm in arms(runs):
        here = chosen(runs, size=size, arm=arm)
        rows.append(
            [
                size,
                f"**{CLASSES[arm]}**" if arm in HPC else CLASSES[arm],
                spread(rates(runs, size, arm, "misses"), 1),
                spread(of_cfs(runs, size, arm), 2),
                spread(rates(runs, size, arm, "remote"), 1),
                spread([sum(r["moves"] for r in one["ranks"]) for one in here], 0),
                spread([emptier(one, 8) for one in here], 0),
            ]
        )
    seeds = sorted({r["seed"] for r in runs})
    title = (
        f"*Simulated* caches, placement: {len(runs[0]['ranks'])} ranks beside six other programs,"
        f" seeds {', '.join(map(str, seeds))}, a boot each; median (smallest to largest)"
    )
    return Table(PLACED, rows, title)


def a_read(run, what):
    return run[what] / run["reads"]


def remote_share(runs, arm, medium):
    """Return the median % of remote misses among the misses of user code."""
    of = chosen(runs, arm=arm, medium=medium)
    return statistics.median(100 * r["remote"] / max(r["misses"], 1) for r in of)


def lriot(runs):
    rows = []
    for medium, through in MEDIA.items():
        for arm, name in PLACES.items():
            of = chosen(runs, arm=arm, medium=medium)
            cells = [spread([a_read(r, what) for r in of], 3) for what in ("misses", "remote")]
            cells.append(number(remote_share(runs, arm, medium), 1))
            cells.append(spread([r["moves"] for r in of], 0))
            rows.append([through, f"**{name}**" if arm == "container" else name, *cells])
    rounds = len({r["round"] for r in runs})
    title = (
        f"*Simulated* caches, LRIOT: eight threads, {runs[0]['reads']:,} reads at random, {rounds}"
        " rounds in one boot; median (smallest to largest)"
    )
    return Table(READS, rows, title)


def tables(raw):
    out = [lriot(raw["lriot"])] if "lriot" in raw else []
    return out + ([placement(raw["placement"])] if "placement" in raw else [])


def judge_lriot(runs):
    for medium, through in MEDIA.items():
        what = f"LRIOT, {through}"
        share = remote_share(runs, "container", medium)
        text = f"{what}, container: {share:.1f} % of the misses are remote, at most {NEAR}"
        yield Verdict(share <= NEAR, text)
        remote = {
            arm: statistics.median(
                a_read(r, "remote") for r in chosen(runs, arm=arm, medium=medium)
            )
            for arm in PLACES
        }
        for arm in ("by hand", "container"):
            own, other = remote[arm], remote["unplaced"]
            text = f"{what}, {PLACES[arm]}: {own:.3f} remote misses a read, {other:.3f} unplaced"
            yield Verdict(own <= OF_UNPLACED * other, text)


def judge_placement(runs):
    for size, arm in arms(runs):
        if arm == "cfs":
            continue
        what = f"{size} KiB, {CLASSES[arm]}"
        misses, remote = (
            statistics.median(rates(runs, size, arm, w)) for w in ("misses", "remote")
        )
        share = 100 * remote / misses if misses else 0
        text = f"{what}: {share:.1f} % of the misses are remote, at most {NEAR}"
        yield Verdict(share <= NEAR, text)
        ratios = of_cfs(runs, size, arm)
        # larger data do not fit in the caches in any arm
        if ratios and arm in COMPARED and size < SHARE:
            ratio = statistics.median(ratios)
            yield Verdict(ratio <= 1, f"{what}: {ratio:.2f} times CFS's misses, at most 1")


def judge(raw):
    out = list(judge_lriot(raw["lriot"])) if "lriot" in raw else []
    return out + (list(judge_placement(raw["placement"])) if "placement" in raw else [])
