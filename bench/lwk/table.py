# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables, plots and verdicts of bench/run lwk. Each boot has a table and a plot."""

import statistics

from bench.lib import plot
from bench.lib.tables import Table, spread
from bench.lib.tap import Verdict

NAMES = {
    "native": "native",
    "partition": "partition",
    "locked": "partition, locked",
    "lwk2m": "lwk, 2 MiB",
    "lwk1g": "lwk, 1 GiB",
}
INSIDE = ("lwk2m", "lwk1g")
HEAD = [
    "node",
    "arm",
    "page faults of a rank",
    "exits",
    "interrupts a second on a rank's CPU",
    "foreign instructions per own",
    "times out of the program",
    "longest, thousand instructions",
    "involuntary switches",
]


def chosen(runs, arm, load):
    return [r for r in runs if (r["arm"], r["load"]) == (arm, load)]


def there(runs):
    """Return the pairs (load, arm) of RUNS, in the order of the tables."""
    return [(load, arm) for load in ("idle", "noisy") for arm in NAMES if chosen(runs, arm, load)]


def interrupts(run):
    return run["interrupts"] / run["seconds"] / len(run["faults"])


def foreign(run):
    """Return the instructions of the kernel and of other programs per 100 instructions of the
    program."""
    return 100 * (run["kernel"] + run["other"]) / run["own"]


def row(runs, load, arm):
    of = chosen(runs, arm, load)
    return [
        load,
        NAMES[arm],
        spread([n for r in of for n in r["faults"]], 0),
        spread([r["exits"] for r in of], 0),
        spread([interrupts(r) for r in of], 1),
        spread([foreign(r) for r in of], 3, after=" %"),
        spread([sum(r["stretches"]) for r in of], 0),
        spread([r["longest"] / 1000 for r in of], 1),
        spread([r["involuntary"] for r in of], 0),
    ]


def tables(raw):
    out = []
    for boot, runs in raw.items():
        seeds = sorted({r["seed"] for r in runs})
        seconds = statistics.median(r["seconds"] for r in runs)
        title = (
            f"Boot {boot}: {len(runs[0]['faults'])} ranks, {len(seeds)} seeds, {seconds:.1f}"
            " seconds of QEMU's clock; median (smallest to largest)"
        )
        out.append(Table(HEAD, [row(runs, *pair) for pair in there(runs)], title))
    return out


def longer(runs):
    """Return {N: Value} for N = 4**k: how many stretches of foreign instructions of a run have N
    instructions or more. The curve ends where no stretch is that long."""
    found = {}
    for k in range(4, len(runs[0]["stretches"])):
        # stretches[k] is the number of stretches from 4**k to below 4**(k + 1) instructions
        value = plot.of([sum(r["stretches"][k:]) for r in runs])
        if value.middle < 1:
            break
        found[4**k] = plot.Value(value.middle, max(value.low, 1), value.high)
    return found


def plots(raw):
    """{file: SVG}"""
    out = {}
    for boot, runs in raw.items():
        load = there(runs)[-1][0]
        of = {NAMES[arm]: chosen(runs, arm, load) for arm in NAMES}
        series = {name: longer(found) for name, found in of.items() if found}
        series = {name: points for name, points in series.items() if points}
        ends = {n for points in series.values() for n in points}
        if len(ends) < 2:
            continue
        out[f"lwk-{boot}.svg"] = plot.lines(
            f"How long ranks are out of their program, {load} machine",
            f"Three ranks, boot {boot}; median, smallest and largest of the seeds",
            "instructions on the rank's CPU that are not the rank's, at least",
            "times that a rank is out for so long or longer",
            list(series.items()),
            [4**k for k in range(4, max(ends).bit_length() // 2 + 1)],
            logarithmic=True,
            note="Counted by QEMU: instructions, not time.",
        )
    return out


def of_inside(boot, runs, load, arm):
    of, beside = chosen(runs, arm, load), chosen(runs, "partition", load)
    what = f"{boot}, {load}: {NAMES[arm]}"
    faults = max(n for r in of for n in r["faults"])
    yield Verdict(faults == 0, f"{what}: ranks have no page fault: {faults}")
    yield Verdict(
        min(r["exits"] for r in of) > 0,
        f"{what}: the ranks' machines have exits, so they run in KVM",
    )
    if not beside:
        return
    # the ticks come at other times in each run, so the partition's largest rate is the limit
    rate, limit = statistics.median(map(interrupts, of)), max(map(interrupts, beside))
    text = f"{what}: {rate:.1f} interrupts a second on a rank's CPU, at most the partition's"
    text = f"{text} {limit:.1f}"
    yield Verdict(rate <= limit, text)
    longest, limit = (statistics.median(r["longest"] for r in found) for found in (of, beside))
    text = (
        f"{what}: longest time out of the program {longest:,.0f} instructions, below the"
        f" partition's {limit:,.0f}"
    )
    yield Verdict(longest < limit, text)


def judge(raw):
    out = []
    for boot, runs in raw.items():
        for load, arm in there(runs):
            if arm in INSIDE:
                out += of_inside(boot, runs, load, arm)
            else:
                exits = max(r["exits"] for r in chosen(runs, arm, load))
                text = f"{boot}, {load}: {NAMES[arm]}: no machine has an exit: {exits}"
                out.append(Verdict(exits == 0, text))
    return out
