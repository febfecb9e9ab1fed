# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/run fgmn."""

import statistics

from bench.fgmn.run import BOOTS, VARIANTS
from bench.lib.tables import Table, number, spread

# {scene with blocks: scene of the stock kernel with memory that is as near and as confined}
LIKE = {
    "cpuset=2": "cpuset=0",
    "cpuset=24": "cpuset=0",
    "cpuset=2-24": "cpuset=0",
    "full=2-24": "cpuset=0",
    "cpuset=47": "cpuset=1",
    "bind=2": "bind=0",
    "bind=47": "bind=1",
}
FAULTS = ["smallest, relative to stock", "median, relative to stock"]
HEAD = ["kernel", "scene", "4 KiB: median (smallest to largest)", *FAULTS]
HEAD += ["2 MiB: median (smallest to largest)", *FAULTS]
NEIGHBOUR = [
    "arm",
    "deaths beside it",
    "instructions of a round, median (smallest to largest)",
    "median, relative to alone",
    "mean, relative to alone's median",
    "counters that moved",
]


def faults(found):
    each = {
        (variant, row["scene"], row["kind"]): row["each"]
        for variant in VARIANTS
        for row in found[variant]
    }
    rows = []
    for variant, scene in dict.fromkeys(key[:2] for key in each):
        row = [variant, scene]
        for kind in ("4K", "2M"):
            of, base = each.get((variant, scene, kind)), ["stock", LIKE.get(scene, scene), kind]
            row.append(spread(of or [], 0))
            for middle in (min, statistics.median):
                row.append(number(middle(of) / middle(each[*base]) if of else None, 3))
        rows.append(row)
    return Table(HEAD, rows)


def neighbour(found):
    alone = statistics.median(found[0]["rounds"])
    rows = [
        [
            arm["arm"],
            arm["kills"],
            spread(arm["rounds"], 0),
            number(statistics.median(arm["rounds"]) / alone, 4),
            number(statistics.mean(arm["rounds"]) / alone, 4),
            "; ".join(f"{name} {a} to {b}" for name, a, b in arm["moved"]) or "none",
        ]
        for arm in found
    ]
    return Table(NEIGHBOUR, rows)


def memory(boots, cpus, thp):
    here = {b["variant"]: b["sizes"] for b in boots if (b["cpus"], b["thp"]) == (cpus, thp)}
    rows, groups = [], here["stock"]["groups"]
    for name in here["stock"]:
        if name == "groups":
            continue
        unit, digits, what = 1024, 1, f"{name}, MiB"
        if name.startswith("groups"):
            unit, what = groups, f"{name}, KiB per cgroup"
        elif name.endswith("_threads"):
            unit, digits, what = 1, 0, name
        sizes = [here[variant][name] / unit for variant in VARIANTS]
        more = number(sizes[2] - sizes[0], digits, sign="+")
        rows.append([what, *(number(size, digits) for size in sizes), more])
    title = f"{cpus} CPUs, transparent_hugepage={thp}"
    return Table(["", *VARIANTS, "on against stock"], rows, title)


def blocks(found):
    def mib(what):
        return f"{min(found[what]) / 1024:.1f} to {max(found[what]) / 1024:.1f} MiB"

    return [
        f"{len(found['total'])} blocks: MemTotal {mib('total')}, MemFree {mib('free')}; watermarks"
        f" when init ran: min {mib('min')}, low {mib('low')}"
    ]


def tables(raw):
    out = [faults(raw["faults"])] if "faults" in raw else []
    out += [neighbour(raw["neighbour"])] if "neighbour" in raw else []
    if "memory" in raw:
        out += [memory(raw["memory"]["boots"], *boot) for boot in BOOTS]
        out[-1].notes = blocks(raw["memory"]["blocks"])
    return out
