# SPDX-License-Identifier: GPL-2.0-or-later
"""Manifests, and checks of a container's ranks, for the tests in the virtual cluster."""

import json
import os

from cluster import HOME, cpus, ok

MPOL_DEFAULT, MPOL_BIND = 0, 2
SCHED = {"other": 0, "fifo": 1, "rr": 2, "batch": 3, "idle": 5}


def write(name, text):
    path = f"{HOME}/{name}"
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o755)
    os.chown(path, 1000, 1000)
    return path


def pod(**containers):
    """Return a PodManifest. Each container is given as a dict of its isolators."""
    return json.dumps(
        {
            "acKind": "PodManifest",
            "acVersion": "0.6.0",
            "apps": [
                {
                    "name": name,
                    "app": {"isolators": [{"name": k, "value": v} for k, v in isolators.items()]},
                }
                for name, isolators in containers.items()
            ],
        }
    )


COUPLED = {
    "sim": {"container": {"cpus": "12", "mems": "3"}},
    "vda": {"container": {"cpus": "2", "mems": "1"}},
}


def check_ranks(found, container, what, machine, policy="other", pinned=True):
    """Check that every rank of FOUND is in CONTAINER as planned: its CPUs, memory nodes, policies
    and environment."""
    inside, mems = cpus(container["cpus"]), cpus(container["mems"])
    ok(
        found and all(cpus(r["cpus"]) <= inside for r in found),
        f"{what}: every rank runs on CPUs of {container['cpus']}",
        [r["cpus"] for r in found],
    )
    ok(
        all(cpus(r["cgroup_cpus"]) == inside for r in found),
        f"{what}: cpuset.cpus has the container's CPUs",
        [r["cgroup_cpus"] for r in found],
    )
    if container["mems_confined"]:
        ok(
            all(cpus(r["mems"]) == mems and cpus(r["cgroup_mems"]) == mems for r in found),
            f"{what}: the ranks' memory nodes are {container['mems']}",
            [(r["mems"], r["cgroup_mems"]) for r in found],
        )
        ok(
            all(r["mempolicy"] == MPOL_BIND and cpus(r["mempolicy_nodes"]) == mems for r in found),
            f"{what}: the ranks' memory is bound to their nodes",
            [(r["mempolicy"], r["mempolicy_nodes"]) for r in found],
        )
    else:
        ok(
            all(r["mempolicy"] == MPOL_DEFAULT for r in found),
            f"{what}: the ranks' memory is not bound",
        )
    ok(
        all(r["policy"] == SCHED[policy] for r in found),
        f"{what}: the ranks have policy {policy}",
        [r["policy"] for r in found],
    )
    ok(
        all(
            r["env"].get("NODEOS_CONTAINER") == container["name"]
            and r["env"].get("AC_APP_NAME") == container["name"]
            and r["env"].get("NODEOS_CPUS") == r["cpus"]
            and cpus(r["env"].get("NODEOS_MEMS", "")) == mems
            and r["env"].get("NODEOS_POLICY") == policy
            for r in found
        ),
        f"{what}: the ranks' environment has the container's values",
        [{k: v for k, v in r["env"].items() if k.startswith("NODEOS")} for r in found],
    )
    ok(
        not any(
            k in r["env"]
            for r in found
            for k in (
                "SLURM_CPU_BIND",
                "SLURM_CPU_BIND_LIST",
                "SLURM_OVERLAP",
                "SLURM_SPANK_NODEOS_STEP",
                "SLURM_KILL_BAD_EXIT",
            )
        ),
        f"{what}: the ranks have no stale Slurm variables",
        [sorted(r["env"]) for r in found][:1],
    )
    if pinned:
        for host in {r["host"] for r in found}:
            sets = [cpus(r["cpus"]) for r in found if r["host"] == host]
            ok(
                len(set().union(*sets)) == sum(len(s) for s in sets)
                and all(machine.whole_cores(s) for s in sets),
                f"{what}: the ranks on {host} have whole cores, and share none",
                sets,
            )
