#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Summarise the coupled workflow in summary.json and a table. The judgements compare what reports
say about the kernel with lscpu and GROMACS's own output. The exit status is 1 if a judgement is
false."""

import glob
import json
import sys

out, steps = sys.argv[1], int(sys.argv[2])


def cpus(text):
    found = set()
    for part in text.split(","):
        if part:
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return found


def cores(node):
    table = {}
    for line in open(f"{out}/lscpu.{node}"):
        if not line.startswith("#"):
            cpu, core, socket, _ = (int(x or 0) for x in line.split(","))
            table.setdefault((socket, core), set()).add(cpu)
    return list(table.values())


def homes_and_blocks(node):
    """The homes of divided memory nodes, and the blocks, from the kernel's files physical_node."""
    home = {}
    for line in open(f"{out}/physical_node.{node}"):
        name, _, physical = line.strip().partition("/physical_node:")
        home[int(name[4:])] = int(physical)
    return {h for n, h in home.items() if n != h}, {n for n, h in home.items() if n != h}


def energies(run):
    return [line.split() for line in open(f"{out}/energy.{run}.xvg") if line[0] not in "#@"]


def passes(rank):
    """For each pass of the analysis: (frames, whether the simulation had finished)."""
    found = []
    for line in open(f"{out}/analysis.{rank}.log"):
        words = line.split()
        if len(words) >= 4 and words[1].isdigit():
            found.append((int(words[1]), words[3] == "yes"))
    return found


def main():
    nodes = {}
    for name in sorted(glob.glob(f"{out}/reports/*.json")):
        report = json.load(open(name))
        node = nodes.setdefault(report["node"], {"containers": {}})
        for c in report.get("containers", []):
            node["containers"].setdefault(
                c["name"],
                {
                    "asked": c["asked"],
                    "cpus": c["cpus"],
                    "mems": c["mems"],
                    "mems_guarantee": c.get("mems_guarantee"),
                    "isolators": c["isolators"],
                    "why": c["why"],
                    "ranks": [],
                },
            )
        if report["container"] in node["containers"]:
            for r in report["ranks"]:
                node["containers"][report["container"]]["ranks"].append(
                    {"rank": r["rank"], **r.get("kernel", {})}
                )
    checks = {}
    checks["two_nodes"] = sorted(nodes) == ["n0", "n1"]
    for node, what in nodes.items():
        sets = {n: cpus(c["cpus"]) for n, c in what["containers"].items()}
        checks[f"{node}_disjoint"] = set(sets) == {"sim", "vda"} and not sets["sim"] & sets["vda"]
        checks[f"{node}_whole_cores"] = all(
            c <= s or not c & s for s in sets.values() for c in cores(node)
        )
        checks[f"{node}_ranks_inside"] = all(
            c["ranks"]
            and all(
                cpus(r["cpus"]) <= sets[n]
                and cpus(r["mems"]) == cpus(c["mems"])
                and r["mempolicy"] == "bind"
                for r in c["ranks"]
            )
            for n, c in what["containers"].items()
        )
        checks[f"{node}_simulation_under_SCHED_HPC"] = {
            n: {r["policy"] for r in c["ranks"]} for n, c in what["containers"].items()
        } == {"sim": {"hpc"}, "vda": {"other"}}
        system = json.load(open(f"{out}/report.{node}.json"))["serviceos"]
        homes, blocks = homes_and_blocks(node)
        mems = {n: cpus(c["mems"]) for n, c in what["containers"].items()}
        checks[f"{node}_memory_on_blocks_of_their_own"] = (
            set().union(*mems.values()) <= blocks
            and not mems["sim"] & mems["vda"]
            and all(c["mems_guarantee"] == "physical" for c in what["containers"].values())
        )
        checks[f"{node}_system_apart"] = (
            cpus(system["mems"]) == homes
            and bool(cpus(system["cpus"]))
            and not cpus(system["cpus"]) & (sets["sim"] | sets["vda"])
        )
    frames = steps // 10 + 1
    analysis = {rank: passes(rank) for rank in (0, 1)}
    checks["analysis_saw_it_grow"] = any(
        0 < n < frames and not end for p in analysis.values() for n, end in p
    )
    checks["analysis_complete"] = all(p and p[-1] == (frames, True) for p in analysis.values())
    coupled, plain, other = (energies(run) for run in ("coupled", "plain", "other-seed"))
    checks["workflow_finished"] = len(coupled) == frames
    checks["energies_identical"] = coupled == plain
    checks["other_seed_differs"] = other != plain and len(other) == len(plain)
    good = all(checks.values())
    with open(f"{out}/summary.json", "w") as f:
        json.dump(
            {
                "schema": 1,
                "ok": good,
                "steps": steps,
                "checks": checks,
                "nodes": nodes,
                "analysis_passes": analysis,
                "last_energies": {
                    "coupled": coupled[-1],
                    "plain": plain[-1],
                    "other-seed": other[-1],
                },
            },
            f,
            indent=2,
        )
        f.write("\n")
    for node in sorted(nodes):
        system = json.load(open(f"{out}/report.{node}.json"))["serviceos"]
        print(
            f"{node}: ServiceOS on cpus {system['cpus']}, memory nodes {system['mems']}; blocks for"
            f" containers: {', '.join(map(str, sorted(homes_and_blocks(node)[1])))}"
        )
    print(
        f"\n{'node':5} {'container':10} {'asked':40} {'chosen':26} what the kernel showed at launch"
    )
    for node, what in sorted(nodes.items()):
        for name, c in what["containers"].items():
            asked = ", ".join(
                f"{v} {k}" if k in ("cpus", "mems") else f"{k} {v}" for k, v in c["asked"].items()
            )
            chosen = f"cpus {c['cpus']} mems {c['mems']}"
            for i, r in enumerate(sorted(c["ranks"], key=lambda r: r["rank"])):
                kernel = (
                    f"rank {r['rank']}: cpus {r['cpus']} mems {r['mems']} {r['policy']}, memory"
                    f" {r['mempolicy']} {r['mempolicy_nodes']}"
                )
                print(
                    f"{node if not i else '':5} {name if not i else '':10}"
                    f" {asked if not i else '':40} {chosen if not i else '':26} {kernel}"
                )
    print()
    for name, value in checks.items():
        print(f"  {'yes' if value else 'NO ':4} {name.replace('_', ' ')}")
    print(
        f"\nenergies after {steps} steps (potential, kJ/mol): in containers {coupled[-1][1]},"
        f" without {plain[-1][1]}, other seed {other[-1][1]}"
    )
    return 0 if good else 1


sys.exit(main())
