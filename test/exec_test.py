#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test the srun command and the messages of nodeosctl exec on a host without nodeosd. Prints
TAP."""

import os
import subprocess
import sys
import tempfile

from manpages import BUILD, done, ok, skip

TOOL = os.path.join(BUILD, "nodeosctl")

# variables of a job's shell that srun must not get when it starts one task beside the job's ranks
SIZES = (
    "SLURM_EXCLUSIVE",
    "SLURM_EXACT",
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NODELIST",
    "SLURM_GPUS",
    "SLURM_TRES_PER_TASK",
    "SLURM_DISTRIBUTION",
    "SLURM_CPU_BIND",
    "SLURM_HOSTFILE",
)


def tool(folder, *words):
    env = {
        **os.environ,
        **{name: "1" for name in SIZES},
        "SLURM_LABELIO": "1",
        "PATH": f"{folder}:{os.environ['PATH']}",
    }
    return subprocess.run(
        [TOOL, "exec", *words], env=env, capture_output=True, text=True, timeout=60
    )


def with_srun(folder):
    srun = os.path.join(folder, "srun")
    with open(srun, "w") as f:
        f.write('#!/bin/sh\necho "$@"\nenv\n')
    os.chmod(srun, 0o755)
    r = tool(folder, "--job=7", "sim", "--", "gdb", "a b")
    line, _, env = r.stdout.partition("\n")
    names = {x.split("=")[0] for x in env.splitlines()}
    ok(
        line
        == "--jobid=7 --overlap --nodes=1 --ntasks=1 --nodeos-container=sim --mpi=none -- gdb a b",
        "on a login node, exec runs srun with the job, container and command",
        r,
    )
    for name in SIZES:
        ok(name not in names, f"exec runs srun without {name} in the environment")
    ok(
        "SLURM_LABELIO" in names,
        "srun gets those variables of the caller that do not set the size of a step",
    )


def without_a_job(folder):
    r = tool(folder, "sim", "true")
    ok(
        r.returncode == 1 and "--job=ID" in r.stderr and "squeue" in r.stderr,
        "without nodeosd, exec needs --job",
        r,
    )
    for words in (("--step=3",), ("--step=7.3",), ("--job=7", "--step=3")):
        r = tool(folder, *words, "sim", "true")
        ok(
            r.returncode == 1 and "step" in r.stderr and "nodeosd on the step's node" in r.stderr,
            f"without nodeosd, exec refuses {' '.join(words)}",
            r,
        )


def main():
    if os.path.exists("/run/nodeosd.socket"):
        skip("nodeosctl exec", "nodeosd listens on this host")
        return done()
    with tempfile.TemporaryDirectory() as folder:
        with_srun(folder)
        without_a_job(folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
