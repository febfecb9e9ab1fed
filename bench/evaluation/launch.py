# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of a launch on 1 node to many nodes. The nodes are slurmds in one guest, and QEMU counts
all instructions."""

import json
import statistics

from bench.lib import guests, marks, plot
from bench.lib.context import TOP, Failed, read
from bench.lib.tables import Table, number, spread

TITLE = "Launch cost over simulated nodes"
MINUTES = {"quick": 10, "full": 40}
OPTIONS = ()
INPUTS = ["bench/evaluation/launch*", "bench/evaluation/pair.json", *guests.CLUSTER]
ARMS = {
    "stock": "without the plugin",
    "plain": "plugin, no option",
    "container": "one container",
    "manifest": "manifest of two",
}
HEAD = [
    "nodes",
    *(f"{name}: user M" for name in ARMS.values()),
    "container of plugin, no option (user)",
    "plugin, no option, of without (user)",
    "container: user and kernel M",
]
SIZES = {
    "quick": ["16", "1:2", "4:1", "16:1"],
    "full": ["64", "1:5", "2:3", "4:3", "8:2", "16:2", "32:1", "64:1"],
}


def launches(lines, marks):
    """Return [{arm, nodes, user, kernel, seconds, helpers}] from LINES, the lines of
    launches.jsonl, and MARKS, three for each launch. The instructions of an idle guest in the same
    time are subtracted."""
    rows, idle = [], None
    if len(marks) < 3 * len(lines):
        raise Failed(f"{len(lines)} launches, but {len(marks)} marks (expected: three per launch)")
    for n, row in enumerate(lines):
        first, _, last = marks[3 * n : 3 * n + 3]
        if (first[0], last[0]) != (10, 12):
            raise Failed(f"launch {n}: its marks have the IDs {first[0]} and {last[0]}")
        if row["code"]:
            raise Failed(f"launch {n}, {row['arm']} on {row['nodes']} nodes: exit {row['code']}")
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
    plugin, here = guests.plugin(context, "insn-count"), f"{TOP}/bench/evaluation"
    puts = [f"{here}/launch-guest", f"{here}/pair.json", guests.mark(context)]
    counted = f"{context.out}/marks"
    more = ["--memory", "3072", "--qemu", f"-plugin {guests.plugged(plugin, counted)}"]
    command = ["./launch-guest", *SIZES["quick" if context.options.quick else "full"]]
    left = guests.cluster(context, puts, command, more, clock="tcg", limit=14400)
    lines = read(f"{left}/launches.jsonl").splitlines()
    return {"rows": launches([json.loads(line) for line in lines], marks.rows(counted))}


def of(raw, arm, nodes, what):
    """Return the values of WHAT in all rounds, in millions."""
    return [
        (r["user"] + r["kernel"] if what == "both" else r[what]) / 1e6
        for r in raw["rows"]
        if (r["arm"], r["nodes"]) == (arm, nodes)
    ]


def sizes(raw):
    return sorted({r["nodes"] for r in raw["rows"] if r["arm"] in ARMS})


def ratio(raw, a, b, nodes):
    """Return the median of A's user instructions divided by the median of B's, or None if A or B
    was not measured."""
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
    rows = []
    for nodes in sizes(raw):
        rows.append(
            [
                nodes,
                *(spread(of(raw, arm, nodes, "user"), 0) for arm in ARMS),
                number(ratio(raw, "container", "plain", nodes), 2, bold=True),
                number(ratio(raw, "plain", "stock", nodes), 2),
                spread(of(raw, "container", nodes, "both"), 0),
            ]
        )
    helpers = [
        f"{r['helpers']} on {r['nodes']} nodes ({r['arm'].removeprefix('helpers-')})"
        for r in raw["rows"]
        if r["arm"].startswith("helpers-")
    ]
    text = "Runs of the helper nodeos-plan in one launch of four ranks a node: "
    return [Table(HEAD, rows, notes=[f"{text}{', '.join(helpers)}."] if helpers else [])]


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
