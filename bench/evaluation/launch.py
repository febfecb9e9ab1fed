# SPDX-License-Identifier: GPL-2.0-or-later
"""What a launch costs over more and more nodes: several slurmd in one guest,
every instruction counted."""

import json
import statistics

import guest
import plot

TITLE = "Launch cost over simulated nodes"
MINUTES = {"quick": 10, "full": 40}
INPUTS = [
    "bench/evaluation/launch.py",
    "bench/evaluation/launch-guest",
    "bench/evaluation/pair.json",
    "bench/lib/insn-count.c",
    *guest.INPUTS,
    *guest.PROJECT,
]
ARMS = {
    "stock": "without the plugin",
    "plain": "plugin, no option",
    "container": "one container",
    "manifest": "manifest of two",
}
SIZES = {
    "quick": ["16", "1:2", "4:1", "16:1"],
    "full": ["64", "1:5", "2:3", "4:3", "8:2", "16:2", "32:1", "64:1"],
}


def launches(lines, marks):
    """[{arm, nodes, user, kernel, seconds, helpers}] of launches.jsonl and of three marks for each:
    what an idle machine executes meanwhile is off."""
    rows, idle = [], None
    if len(marks) < 3 * len(lines):
        raise RuntimeError(f"{len(lines)} launches, but {len(marks)} marks")
    for n, row in enumerate(lines):
        first, _, last = marks[3 * n : 3 * n + 3]
        if (first[0], last[0]) != (10, 12):
            raise RuntimeError(f"launch {n}: marks {first[0]}, {last[0]}")
        if row["code"]:
            raise RuntimeError(
                f"launch {n}, {row['arm']} on {row['nodes']} nodes: exit {row['code']}"
            )
        got = {
            **row,
            "seconds": row["ended"] - row["begun"],
            "user": last[2] - first[2],
            "kernel": last[3] - first[3],
        }
        if row["arm"] == "idle":
            idle = {k: got[k] / got["seconds"] for k in ("user", "kernel")}
        rows.append(got)
        if idle and row["arm"] != "idle":
            for k in ("user", "kernel"):
                got[k] -= idle[k] * got["seconds"]
    return rows


def run(context):
    build = guest.build(context, "insn-count")
    here = f"{context.top}/bench/evaluation"
    share, marks = guest.boot(
        context,
        f"{build}/insn-count.so",
        [f"{here}/launch-guest", f"{here}/pair.json", f"{build}/mark"],
        ["./launch-guest", *SIZES["quick" if context.quick else "full"]],
        memory=3072,
        limit=14400,
        clock="tcg",
    )
    return read(f"{share}/launches.jsonl", marks)


def read(path, marks):
    with open(path, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with open(marks, encoding="utf-8") as f:
        marks = [[int(n) for n in line.split()] for line in f]
    return {"rows": launches(lines, marks)}


def of(raw, arm, nodes, what):
    """Values of all rounds, in M."""
    return [
        (r["user"] + r["kernel"] if what == "both" else r[what]) / 1e6
        for r in raw["rows"]
        if (r["arm"], r["nodes"]) == (arm, nodes)
    ]


def sizes(raw):
    return sorted({r["nodes"] for r in raw["rows"] if r["arm"] in ARMS})


def ratio(raw, a, b, nodes):
    """Of what user programs execute."""
    values = [of(raw, arm, nodes, "user") for arm in (a, b)]
    return statistics.median(values[0]) / statistics.median(values[1]) if all(values) else None


def quantities(raw):
    found = {}
    for nodes in sizes(raw):
        for arm in ARMS:
            if of(raw, arm, nodes, "user"):
                found[f"launch.user.{arm}.{nodes}"] = round(
                    statistics.median(of(raw, arm, nodes, "user")) / nodes, 1
                )
        for a, b in (("container", "plain"), ("plain", "stock"), ("manifest", "plain")):
            if ratio(raw, a, b, nodes):
                found[f"launch.ratio.{a}-{b}.{nodes}"] = round(ratio(raw, a, b, nodes), 3)
    for r in raw["rows"]:
        if r["arm"].startswith("helpers-"):
            found[f"launch.{r['arm']}"] = r["helpers"] / r["nodes"]
    return found


def tables(raw):
    def cell(arm, nodes, what):
        values = of(raw, arm, nodes, what)
        if not values:
            return ""
        low, high = min(values), max(values)
        text = f"{statistics.median(values):,.0f}"
        return text if len(values) == 1 else f"{text} ({low:,.0f} to {high:,.0f})"

    def times(a, b, nodes):
        r = ratio(raw, a, b, nodes)
        return f"{r:.2f}" if r else ""

    out = [
        "| nodes | "
        + " | ".join(f"{name}: user M" for name in ARMS.values())
        + " | container of plugin, no option (user) | plugin, no option, of without (user) |"
        " container: user and kernel M |",
        "|" + "---|" * (len(ARMS) + 4),
    ]
    for nodes in sizes(raw):
        out.append(
            f"| {nodes} | "
            + " | ".join(cell(arm, nodes, "user") for arm in ARMS)
            + f" | **{times('container', 'plain', nodes)}** | {times('plain', 'stock', nodes)} |"
            f" {cell('container', nodes, 'both')} |"
        )
    helpers = [
        f"{r['helpers']} on {r['nodes']} nodes ({r['arm'].removeprefix('helpers-')})"
        for r in raw["rows"]
        if r["arm"].startswith("helpers-")
    ]
    if helpers:
        out += [
            "",
            "Runs of the helper nodeos-plan in one launch of four ranks a node: "
            + ", ".join(helpers)
            + ".",
        ]
    return "\n".join(out)


def plots(raw):
    xs = sizes(raw)
    series = []
    for arm, name in ARMS.items():
        points = {}
        for nodes in xs:
            values = [v / nodes for v in of(raw, arm, nodes, "user")]
            if values:
                points[nodes] = plot.of(values)
        if points:
            series.append((name, points))
    return {
        "launch.svg": plot.lines(
            "What a launch costs each node",
            "Instructions of all user programs (srun, Slurm's daemons, the plugin, ranks) by nodes"
            " of the launch; four ranks a node",
            "nodes of the launch, each with a slurmd of its own in one guest",
            "million instructions a node",
            series,
            xs,
        )
    }
