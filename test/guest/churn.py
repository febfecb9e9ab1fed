#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: deep limit=9000 1000
# rooms: launch container
"""Start, cancel and kill steps of every launch path at random: first without the plugin, then with
the plugin and the same random numbers. What is left on the nodes must be the same after both runs.
churn.py [STEPS [SEED]]. STEPS is the number of steps that launches would start without
interruptions: a job script counts as a step, and so does each srun in it."""

import json
import os
import random
import re
import sys
import time

import cluster
from cluster import HOME, all_idle, leftovers, note, ok, run, same, wait_idle
from containers import pod

LINE = "/etc/slurm/plugstack.conf.d/nodeos.conf"


def write(name, text):
    with open(f"{HOME}/{name}", "w") as f:
        f.write(text)
    os.chown(f"{HOME}/{name}", 1000, 1000)
    return f"{HOME}/{name}"


def plugin(there):
    for node in ("n0", "n1"):
        run(
            f"if [ -e {LINE}.off ]; then mv {LINE}.off {LINE}; fi;"
            f" {'true' if there else f'mv {LINE} {LINE}.off'}; systemctl restart slurmd",
            user="root",
            node=node,
        )
    wait_idle()


def kill_stepds(node, killed):
    """Kill every slurmstepd of NODE's jobs with SIGKILL, and add these jobs to killed[node]."""
    r = run(
        "pgrep -a -f '^slurmstepd: \\[[0-9]*\\.'; pkill -9 -f '^slurmstepd: \\[[0-9]*\\.[0-9]*\\]'",
        user="root",
        node=node,
    )
    killed[node] |= set(re.findall(r"slurmstepd: \[(\d+)\.", r.out))


def behind(killed):
    """Return what is left on each node after all jobs: cgroups of jobs, cpusets of slurmd's slice
    and scope, processes of the user, and the node's state."""
    out = {}
    time.sleep(15)  # ranks of a killed slurmstepd sleep for up to 6 s
    for node in ("n0", "n1"):
        cg = "/sys/fs/cgroup/system.slice"
        out[node] = {
            "killed": sorted(killed[node]),
            "jobs": re.findall(
                r"job_(\d+)", run(f"ls -d {cg}/*slurmstepd.scope/job_*", user="root", node=node).out
            ),
            "cpusets": (
                run(
                    f"cat {cg}/cpuset.cpus* {cg}/*slurmstepd.scope/cpuset.cpus* | tr '\\n' ' '",
                    user="root",
                    node=node,
                ).out
            ),
            "processes": (
                run(
                    "ps -u alice -o pid=,etimes=,stat=,wchan:24=,args:100=,cgroup=",
                    user="root",
                    node=node,
                ).out.splitlines()
            ),
            "state": cluster.node_states().get(node),
        }
    return out


BURST = 8  # steps that start together, so that they also compete for the ledger


def scripts():
    """Write the job scripts of the launch paths, in a form for NodeOS and one for stock Slurm. In
    the bodies, "X" stands for --nodeos-container, which stock Slurm does not know."""
    write("churn.json", pod(sim={"container": {"cpus": 4}}, vda={"container": {"cpus": 2}}))
    write(
        "churn.iso.json",
        pod(
            sim={"container": {"cpus": 4, "partition": "isolated"}}, vda={"container": {"cpus": 2}}
        ),
    )
    write(
        "churn.app.json",
        json.dumps(
            {
                "acKind": "ImageManifest",
                "acVersion": "0.8.11",
                "name": "app",
                "app": {
                    "exec": ["sleep"],
                    "user": "0",
                    "group": "0",
                    "isolators": [{"name": "container", "value": {"cpus": 2}}],
                },
            }
        ),
    )
    body = {  # number of steps (the script itself is one) and script
        "two": (
            4,
            (
                "srun -n2 --overlap Xsim sleep {s} & srun -n1 --overlap Xvda sleep {s} & srun -n1"
                " --overlap sleep {s} & wait"
            ),
        ),
        "ranks": (2, "srun -n3 Xsim:0-1,vda:2 sleep {s}"),
        "nested": (3, "srun -n1 Xvda srun -n1 --overlap Xsim sleep {s}"),
        "mpirun": (1, "mpirun -n 2 sleep {s}"),
        "wrapper": (1, "Wsim mpirun -n 2 sleep {s}"),
        "off": (2, "srun -n2 Osleep {s}"),
    }
    for name, (_, line) in body.items():
        for half, words in (
            ("ours", ("--nodeos-container=", "nodeos-mpirun ", "--nodeos=off ")),
            ("stock", ("", "", "")),
        ):
            text = line
            for mark, word in zip("XWO", words):
                # the form for stock Slurm does not have the word with the container's name
                if half == "stock" and mark in "XW":
                    text = " ".join(w for w in text.split(" ") if not w.startswith(mark))
                else:
                    text = text.replace(mark, word)
            write(f"churn.{name}.{half}.sh", f"#!/bin/bash\n{text.replace('{s}', '${1:-1}')}\n")
    return {name: n for name, (n, _) in sorted(body.items())}


def command(rng, options, names):
    """Return the number of steps of a random launch, and its command. The same random numbers are
    drawn with and without the plugin, so that the same steps are cancelled or killed."""
    nodes, per, seconds = *rng.choice([(1, 1), (1, 2), (2, 1), (2, 2)]), rng.randint(1, 6)
    kind = rng.choice(["srun"] * 4 + ["manifest"] + ["sbatch"] * 5 + ["salloc", "array", "het"])
    extra = rng.choice(
        [
            "",
            "--nodeos-cpus=2",
            "--nodeos-cpus=4 --nodeos-mems=1",
            "--nodeos-sched=batch",
            "--nodeos-cpus=64",
        ]
    )
    name = rng.choice(list(names))
    plan = rng.choice(["churn.json", "churn.json", "churn.iso.json"])
    half = "ours" if options else "stock"
    extra = extra if options else ""
    plan = f"--nodeos-manifest={plan}" if options else ""
    job = f"-N{nodes} -n4 -c2 --job-name=churn {plan}"
    steps = {
        "srun": 1,
        "manifest": 1,
        "sbatch": names[name],
        "salloc": names[name] - 1,
        "array": 2 * names[name],
        "het": names["two"],
    }[kind]
    return (
        steps,
        {
            "srun": f"srun -N{nodes} -n{per * nodes} -c4 --job-name=churn {extra} sleep {seconds}",
            "manifest": (
                f"srun -N{nodes} -n{nodes} -c4 --job-name=churn"
                f" {'./churn.app.json' if options else 'sleep'} {seconds}"
            ),
            "sbatch": f"sbatch {job} -o /dev/null churn.{name}.{half}.sh {seconds}",
            "salloc": f"salloc {job} bash churn.{name}.{half}.sh {seconds}",
            "array": f"sbatch {job} --array=0-1 -o /dev/null churn.{name}.{half}.sh {seconds}",
            "het": (
                f"sbatch -N1 -n4 -c2 --job-name=churn {plan} -o /dev/null : -N1 -n2 -c2"
                f" churn.two.{half}.sh {seconds}"
            ),
        }[kind],
    )


def burst(rng, options, names, killed):
    """Start some launches at once, then let them finish, cancel them, or kill a part of Slurm or
    the ranks, at random."""
    what = rng.choice(["finish", "cancel", "stepd", "slurmd", "ranks", "cancel and stepd"])
    launches = [command(rng, options, names) for _ in range(BURST)]
    lines = [f"{line} >/dev/null 2>&1 </dev/null &" for _, line in launches]
    delay, node = rng.uniform(0.2, 5), rng.choice(["n0", "n1"])
    run("\n".join(lines) + "\ndisown -a", user="alice", timeout=30)
    time.sleep(delay)
    if "cancel" in what:
        run("scancel --name=churn", user="alice")
    if "stepd" in what:
        kill_stepds(node, killed)
    if what == "slurmd":
        run("systemctl restart slurmd", user="root", node=node)
    if what == "ranks":
        run("pkill -9 -u alice sleep", user="root", node=node)
    return sum(n for n, _ in launches)


def churn(steps, seed, options):
    rng = random.Random(seed)
    names = scripts()
    started = i = 0
    killed = {"n0": set(), "n1": set()}
    while started < steps:
        if i % 5 == 0:
            note(
                f"{'with' if options else 'without'} the plugin: step {started} of {steps}, launch"
                f" {i * BURST}"
            )
        started += burst(rng, options, names, killed)
        i += 1
        if i % 3 == 0:
            run("scancel --name=churn", user="alice")
            wait_idle(120)
    run("scancel --name=churn", user="alice")
    wait_idle(180)
    return behind(killed)


def main():
    steps, seed = (int(word) for word in sys.argv[1:] + ["200", "1"][len(sys.argv) - 1 :])
    os.makedirs(HOME, exist_ok=True)
    note(f"{steps} steps, seed {seed}")
    for node in ("n0", "n1"):
        run(
            "echo 'allow_partitions = member, isolated' >>/etc/nodeos/nodeos.conf",
            user="root",
            node=node,
        )
    plugin(False)
    stock = churn(steps, seed, False)
    note(f"stock leaves {json.dumps(stock)}")
    for node in ("n0", "n1"):  # remove what the run without the plugin has left on the nodes
        run(
            "rmdir $(find /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_* -depth -type d)"
            " 2>/dev/null; true",
            user="root",
            node=node,
        )
    plugin(True)
    ours = churn(steps, seed, True)
    note(f"NodeOS leaves {json.dumps(ours)}")
    for half, what in ((stock, "stock"), (ours, "NodeOS")):
        for node in ("n0", "n1"):
            left = half[node]
            ok(
                set(left["jobs"]) <= set(left["killed"]),
                f"{what}, {node}: {len(left['jobs'])} cgroups are left, all of jobs whose"
                f" slurmstepd was killed ({len(left['killed'])})",
                left,
            )
            orphans = [
                line
                for line in left["processes"]
                if not set(re.findall(r"/job_(\d+)/", line)) & set(left["killed"])
            ]
            same(
                orphans,
                [],
                f"{what}, {node}: {len(left['processes'])} processes are left, all of jobs whose"
                " slurmstepd was killed",
            )
            same(
                [line for line in left["processes"] if line.split()[2].startswith("D")],
                [],
                f"{what}, {node}: no process that is left hangs in the kernel",
            )
    for node in ("n0", "n1"):
        same(
            ours[node]["cpusets"],
            stock[node]["cpusets"],
            f"{node}: NodeOS leaves the cpusets of slice and scope as stock does",
        )
        same(ours[node]["state"], "idle", f"{node} is idle, not drained, after the run with NodeOS")
    r = run("srun -N2 -n2 -c2 --nodeos-cpus=2 true", user="alice")
    same(r.code, 0, "a container can start after the churn")
    wait_idle()
    entries = leftovers().split()
    alive = ours["n0"]["jobs"] + ours["n1"]["jobs"]
    ok(len(entries) <= len(alive), "there are no more ledger entries than cgroups of jobs", entries)
    all_idle("churn: all nodes are idle at the end")
    cluster.done()


main()
