# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the planner with hwloc-distrib and mpibind by what containers share and where their ranks
are. This part runs on any machine, without a guest."""

import glob
import json
import os
import statistics
import subprocess
import tempfile

from bench.evaluation import machine, mpibind
from bench.lib import job, plot
from bench.lib.context import TOP
from bench.lib.options import Option
from bench.lib.tables import Table, number

TITLE = "The planner beside hwloc-distrib and mpibind"
MINUTES = {"quick": 1, "full": 2}
OPTIONS = (
    Option("nodeosctl", "FILE", "nodeosctl whose planner is measured, instead of a new build"),
)
INPUTS = [
    "bench/evaluation/planner.py",
    "bench/evaluation/machine.py",
    "bench/evaluation/mpibind.py",
    "topology/*.c",
    "topology/*.h",
    "topology/test/machines.txt",
    "tools/plan.c",
]

# The machines of the papers on GROMACS, on the scheduling class and on DI-MMAP, and a present
# many-core node. As on Linux, all second threads of cores have higher numbers than all first
# threads.
PAPERS = {
    "2 x 12 cores, SMT (GROMACS)": "package:2 numa:1 l3:1 core:12 pu:2(indexes=core:package)",
    "2 x 16 cores (HPC_SCHED)": "package:2 numa:2 l3:1 core:8 pu:1",
    "4 x 10 cores, SMT (DI-MMAP)": "package:4 numa:1 l3:1 core:10 pu:2(indexes=core:package)",
    "2 x 64 cores, 8 NUMA": "package:2 numa:4 l3:2 core:8 pu:2(indexes=core:l3:numa:package)",
}
METHODS = {
    "nodeos": "NodeOS's planner",
    "first": "first free ids, hwloc-distrib inside",
    "distrib": "hwloc-distrib of all ranks",
    "mpibind": "mpibind of all ranks",
    "steps": "mpibind, step by step",
}
MEASURES = {
    "cores": "cores of two containers",
    "caches": "caches of two containers",
    "numa": "memory localities of two containers",
    "span": "localities more than a container needs",
    "neighbours": "neighbouring ranks apart",
}


def requests(cores):
    """Return typical requests for containers on a machine with CORES cores, as {name: numbers of
    cores}."""
    found = {
        "all but one, one": (cores - 1, 1),
        "seven eighths, an eighth": (cores - cores // 8, cores // 8),
        "two halves": (cores // 2, cores // 2),
        "a half less one, a quarter and one": (cores // 2 - 1, cores // 4 + 1),
        "a quarter alone": (cores // 4,),
        "half, quarter, one": (cores // 2, cores // 4, 1),
        "four eighths": (cores // 8,) * 4,
    }
    return {name: sizes for name, sizes in found.items() if min(sizes) > 0}


def containers_of(sizes, maps):
    """Return for each container of SIZES its ranks: the next ones of MAPS in order."""
    out, at = [], 0
    for size in sizes:
        out.append(maps[at : at + size])
        at += size
    return out


def distrib(m, n, within=None):
    """Run hwloc-distrib N. Return its N sets of CPUs."""
    command = ["hwloc-distrib", "-i", m.xml, "--taskset"]
    if within is not None:
        mask = sum(1 << cpu for cpu in within)
        command += [
            "--restrict",
            ",".join(
                f"0x{mask >> 32 * n & 0xFFFFFFFF:08x}" for n in range(max(within) // 32, -1, -1)
            ),
        ]
    lines = subprocess.run(
        command + [str(n)], check=True, capture_output=True, text=True
    ).stdout.split()
    return [
        {bit for bit in range(int(line, 16).bit_length()) if int(line, 16) >> bit & 1}
        for line in lines
    ]


def nodeos(tool, m, sizes, threads, directory):
    """Return the sets of CPUs of each container's ranks, or None if the planner refuses."""
    apps = {f"c{n}": {"container": {"cpus": size * threads}} for n, size in enumerate(sizes)}
    path = job.manifest(f"{directory}/manifest.json", **apps)
    ranks = ",".join(f"c{n}={size}" for n, size in enumerate(sizes))
    got = subprocess.run(
        [tool, "plan", "--json", f"--topology={m.xml}", f"--ntasks={ranks}", path],
        capture_output=True,
        text=True,
    )
    if got.returncode:
        return None
    return [
        [machine.cpulist(rank["cpus"]) for rank in c["ranks"]]
        for c in json.loads(got.stdout)["containers"]
    ]


def first_free(m, sizes, threads):
    """Place like Argo's public code: each container gets the next CPUs in numerical order, and
    hwloc-distrib distributes its ranks over these CPUs."""
    free, out = sorted(m.pus), []
    for size in sizes:
        mine, free = free[: size * threads], free[size * threads :]
        out.append(distrib(m, size, mine))
    return out


def least(domains, cores):
    """Return how many domains CORES cores need at least. DOMAINS has the number of cores of each
    domain."""
    n = 0
    for size in sorted(domains, reverse=True):
        if cores <= 0:
            break
        cores -= size
        n += 1
    return n


def measure(m, placed):
    """Return the MEASURES of a placement. PLACED has for each container the sets of its ranks'
    CPUs."""
    of = [set().union(*ranks) for ranks in placed]
    cores = [m.cores_in(cpus) for cpus in of]

    def shared(domains):
        return sum(1 for d in domains if sum(1 for cpus in of if cpus & d) > 1)

    def numa(cpus):
        return {n for n, d in enumerate(m.numa) if cpus & d}

    sizes = [len(m.cores_in(d)) for d in m.numa]
    # cores that are near no memory are in no locality
    near = m.cores_in(set().union(*m.numa))
    return {
        "cores": shared([set(core) for core in m.cores]),
        "caches": shared(m.caches),
        "numa": shared(m.numa),
        "span": sum(
            len(numa(cpus)) - least(sizes, len(own & near)) for cpus, own in zip(of, cores)
        ),
        "neighbours": sum(
            1 for ranks in placed for a, b in zip(ranks, ranks[1:]) if not numa(a) & numa(b)
        ),
        "reach": len(numa(of[0])) / len(m.numa),
    }


def machines(directory):
    """Yield (group, Machine) for the machines of the papers, those of the planner's tests, and
    recorded machines if there are any."""
    for name, text in PAPERS.items():
        yield "papers", machine.from_text(name, text, directory)
    with open(f"{TOP}/topology/test/machines.txt") as f:
        for n, text in enumerate(
            line.strip() for line in f if line.strip() and not line.startswith("#")
        ):
            yield "synthetic", machine.from_text(f"{n}: {text}", text, directory)
    folder = os.environ.get("NODEOS_TOPOLOGIES", f"{TOP}/../shared/topologies")
    for path in sorted(glob.glob(f"{folder}/*.xml")):
        yield (
            "recorded",
            machine.from_text(os.path.basename(path).removesuffix(".xml"), path, directory),
        )


def run(context):
    rows = []
    tool = context.options.nodeosctl or context.programs("nodeosctl")[0]
    with tempfile.TemporaryDirectory() as directory:
        for group, m in machines(directory):
            for request, sizes in requests(len(m.cores)).items():
                threads = m.threads if len({len(core) for core in m.cores}) == 1 else None
                # if cores have different numbers of threads, use the mean, so that the request fits
                width = threads or max(1, len(m.pus) // len(m.cores))
                total = sum(sizes)
                placed = {
                    "nodeos": nodeos(tool, m, sizes, width, directory),
                    "first": first_free(m, sizes, width),
                    "distrib": containers_of(sizes, distrib(m, total)),
                    "mpibind": containers_of(sizes, mpibind.mapped(m, total)),
                    "steps": [mpibind.mapped(m, size) for size in sizes],
                }
                if placed["nodeos"] is None:
                    continue
                for method, where in placed.items():
                    rows.append(
                        {
                            "group": group,
                            "machine": m.name,
                            "request": request,
                            "sizes": sizes,
                            "method": method,
                            **measure(m, where),
                        }
                    )
    return {"rows": rows}


def total(rows, method, what):
    return sum(r[what] for r in rows if r["method"] == method)


def quantities(raw):
    found = {}
    for group in ("papers", "synthetic", "recorded"):
        rows = [r for r in raw["rows"] if r["group"] == group]
        if not rows:
            continue
        found[f"planner.{group}.requests"] = sum(1 for r in rows if r["method"] == "nodeos")
        for method in METHODS:
            for what in MEASURES:
                found[f"planner.{group}.{method}.{what}"] = total(rows, method, what)
            found[f"planner.{group}.{method}.reach"] = round(
                100 * statistics.mean(r["reach"] for r in rows if r["method"] == method), 1
            )
    return found


def tables(raw):
    out = []
    titles = {
        "papers": "Machines of the papers, and one of today",
        "synthetic": "The machines of the planner's tests",
        "recorded": "Machines recorded by the hwloc project",
    }
    reach = "localities that the first container's ranks reach, % of all"
    for group, title in titles.items():
        found = [r for r in raw["rows"] if r["group"] == group]
        if not found:
            continue
        machines = len({r["machine"] for r in found})
        asked = sum(1 for r in found if r["method"] == "nodeos")
        rows = []
        for method, name in METHODS.items():
            mean = statistics.mean(r["reach"] for r in found if r["method"] == method)
            totals = [total(found, method, what) for what in MEASURES]
            name = f"**{name}**" if method == "nodeos" else name
            rows.append([name, *totals, number(100 * mean)])
        head = ["placed by", *MEASURES.values(), reach]
        out.append(Table(head, rows, f"{title}: {machines} machines, {asked} requests"))
    return out


def plots(raw):
    rows = [r for r in raw["rows"] if r["group"] == "papers"]
    asked = sum(1 for r in rows if r["method"] == "nodeos")
    panels = [
        (name, "", [plot.Value(total(rows, method, what)) for method in METHODS])
        for what, name in {
            "cores": "Cores shared by two containers",
            "caches": "Last caches shared by two",
            "numa": "Localities shared by two",
            "span": "Localities too many",
            "neighbours": "Neighbour ranks apart",
        }.items()
    ]
    text = plot.panels(
        "What containers get in each other's way",
        f"{asked} requests on four machines; fewer is better; containers should reach zero",
        list(METHODS.values()),
        panels,
        highlight=0,
    )
    return {"planner.svg": text}
