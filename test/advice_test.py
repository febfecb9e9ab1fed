#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeosctl plan appends advice to a refusal: about CPUs if there are too few CPUs, about memory
nodes if there are too few memory nodes, and none to other refusals. Prints TAP."""

import json
import os
import subprocess

from manpages import BUILD, done, ok

MACHINE = "package:2 numa:1 core:2 pu:1"
ALL_HPC = ("--serviceos=none",)  # with policy hpc, one CPU of the node stays free
SERVICE = ("--serviceos=1/node", "--serviceos-mems=0")

KEPT_ONE = '(one CPU of the node stays outside of policy "hpc"'
SERVICE_CPUS = "(1 threads, CPUs 0, are kept for the ServiceOS)"
SERVICE_MEMS = "(memory nodes 0 are kept for the ServiceOS)"
LEFT_OUT_CPUS = "(--cpus leaves out CPUs 3)"
LEFT_OUT_MEMS = "(--mems leaves out memory nodes 1)"
ADVICE = (KEPT_ONE, SERVICE_CPUS, SERVICE_MEMS, LEFT_OUT_CPUS, LEFT_OUT_MEMS)

# {what is refused: (options, requests of the containers, advice that the refusal must have)}
CASES = (
    ("too many CPUs", ALL_HPC, ({"cpus": 4},), (KEPT_ONE,)),
    ("too many memory nodes", ALL_HPC, ({"cpus": 1, "mems": 3},), ()),
    ("two containers of all CPUs", ALL_HPC, ({}, {}), ()),
    ("more ranks than cores", (*ALL_HPC, "-n4"), ({},), (KEPT_ONE,)),
    ("more ranks than the limit", (*ALL_HPC, "-n99999"), ({},), ()),
    ("CPUs of the ServiceOS", SERVICE, ({"cpus": 4},), (SERVICE_CPUS,)),
    ("memory nodes of the ServiceOS", SERVICE, ({"cpus": 1, "mems": 2},), (SERVICE_MEMS,)),
    ("two containers of all that the ServiceOS leaves", SERVICE, ({}, {}), ()),
    ("more CPUs than --cpus has", (*ALL_HPC, "-c0-2", "-m0"), ({"cpus": 4},), (LEFT_OUT_CPUS,)),
    (
        "more memory nodes than --mems has",
        (*ALL_HPC, "-c0-2", "-m0"),
        ({"cpus": 1, "mems": 2},),
        (LEFT_OUT_MEMS,),
    ),
    (
        "two containers of all that --cpus and --mems leave",
        (*ALL_HPC, "-c0-2", "-m0"),
        ({}, {}),
        (),
    ),
)


def manifest(asks):
    policy = {"name": "scheduler", "value": {"policy": "hpc"}}
    apps = [
        # names of containers have words of the advice, to catch code that searches messages for
        # words
        {
            "name": f"thread-mems-{i}",
            "app": {"isolators": [{"name": "container", "value": ask}, policy]},
        }
        for i, ask in enumerate(asks)
    ]
    return json.dumps({"acKind": "PodManifest", "acVersion": "0.8.11", "apps": apps})


def main():
    for what, options, asks, advice in CASES:
        r = subprocess.run(
            [os.path.join(BUILD, "nodeosctl"), "plan", "-t", MACHINE, *options, "-"],
            input=manifest(asks),
            capture_output=True,
            text=True,
            timeout=60,
        )
        ok(r.returncode == 1, f"a plan with {what} is refused", r.stdout, r.stderr)
        got = tuple(a for a in ADVICE if a in r.stderr)
        ok(
            got == advice,
            f"the refusal of {what} has the right advice",
            f"got {got}",
            f"expected {advice}",
            r.stderr,
        )
    return done()


if __name__ == "__main__":
    raise SystemExit(main())
