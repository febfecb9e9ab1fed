#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps started, cancelled and killed at random, first with the plugin line removed, then with
it, both from one seed: what stays behind must be the same. churn.py [STEPS [SEED]]."""
import json
import os
import random
import sys
import time

import cluster
from cluster import HOME, all_idle, leftovers, note, ok, run, same, wait_idle

LINE = "/etc/slurm/plugstack.conf.d/nodeos.conf"


def write(name, text):
    with open(f"{HOME}/{name}", "w") as f:
        f.write(text)
    os.chown(f"{HOME}/{name}", 1000, 1000)
    return f"{HOME}/{name}"


def plugin(there):
    for node in ("n0", "n1"):
        run(f"if [ -e {LINE}.off ]; then mv {LINE}.off {LINE}; fi; {'true' if there else f'mv {LINE} {LINE}.off'};"
            " systemctl restart slurmd", user="root", node=node)
    wait_idle()


def behind():
    """What a node keeps after all jobs: job directories, the scope's cpusets, processes of the user, state."""
    out = {}
    for node in ("n0", "n1"):
        cg = "/sys/fs/cgroup/system.slice"
        out[node] = {
            "jobs": len(run(f"ls -d {cg}/*slurmstepd.scope/job_* 2>/dev/null", user="root", node=node).out.split()),
            "cpusets": run(f"cat {cg}/cpuset.cpus {cg}/*slurmstepd.scope/cpuset.cpus* | tr '\\n' ' '", user="root", node=node).out,
            "processes": run("pgrep -u alice -c .", user="root", node=node).out.strip(),
            "state": cluster.node_states().get(node),
        }
    return out


BURST = 5  # steps that are started together, so that they also meet in the ledger


def burst(rng, options):
    """Some steps at once, and what happens to them."""
    what = rng.choice(["finish", "cancel", "stepd", "slurmd", "ranks", "cancel and stepd"])
    lines = []
    for _ in range(BURST):
        nodes, per = rng.choice([(1, 1), (1, 2), (2, 1), (2, 2)])
        # drawn in both halves, so that the same things happen to the same steps
        extra = rng.choice(["", "--nodeos-cpus=2 ", "--nodeos-cpus=4 --nodeos-mems=1 ", "--nodeos-sched=batch ",
                            "--nodeos-cpus=64 "])
        lines.append(f"srun -N{nodes} -n{per * nodes} -c4 --job-name=churn {extra if options else ''}"
                     f"sleep {rng.randint(1, 6)} >/dev/null 2>&1 </dev/null &")
    delay, node = rng.uniform(0.2, 5), rng.choice(["n0", "n1"])
    run("\n".join(lines) + "\ndisown -a", user="alice", timeout=30)
    time.sleep(delay)
    if "cancel" in what:
        run("scancel --name=churn", user="alice")
    if "stepd" in what:
        run("pkill -9 -f 'slurmstepd: \\[[0-9]*\\.[0-9]*\\]'", user="root", node=node)
    if what == "slurmd":
        run("systemctl restart slurmd", user="root", node=node)
    if what == "ranks":
        run("pkill -9 -u alice sleep", user="root", node=node)


def churn(steps, seed, options):
    rng = random.Random(seed)
    for i in range(0, steps, BURST):
        if i % 25 == 0:
            note(f"{'with' if options else 'without'} the plugin: step {i} of {steps}")
        burst(rng, options)
        if i % 20 == 15:
            run("scancel --name=churn", user="alice")
            wait_idle(120)
    run("scancel --name=churn", user="alice")
    wait_idle(180)
    return behind()


def main():
    steps, seed = int((sys.argv + ["200"])[1]), int((sys.argv + ["", "1"])[2])
    os.makedirs(HOME, exist_ok=True)
    note(f"{steps} steps, seed {seed}")
    plugin(False)
    stock = churn(steps, seed, False)
    note(f"stock leaves {json.dumps(stock)}")
    for node in ("n0", "n1"):  # a clean start for the second half
        run("rmdir $(find /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_* -depth -type d) 2>/dev/null; true",
            user="root", node=node)
    plugin(True)
    ours = churn(steps, seed, True)
    note(f"with the plugin: {json.dumps(ours)}")
    for node in ("n0", "n1"):
        ok(ours[node]["jobs"] <= stock[node]["jobs"], f"{node}: no more cgroups left than stock's {stock[node]['jobs']}",
           ours[node])
        same(ours[node]["cpusets"], stock[node]["cpusets"], f"{node}: slice and scope cpusets as stock leaves them")
        same(ours[node]["processes"], stock[node]["processes"], f"{node}: no process of the user is left")
        same(ours[node]["state"], "idle", f"{node} is idle, not drained")
    r = run("srun -N2 -n2 -c2 --nodeos-cpus=2 true", user="alice")
    same(r.code, 0, "a container can be made after it all")
    wait_idle()
    entries = leftovers().split()
    alive = stock["n0"]["jobs"] + stock["n1"]["jobs"]
    ok(len(entries) <= alive, "no ledger entry without a cgroup", entries)
    all_idle("all nodes are idle")
    cluster.done()


main()
