#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: put=release-729764e,stage
# run: deep limit=3600
# rooms: container
"""Check that this release can report, resize and sweep live steps that an older release has
launched, and vice versa. release.tar has the files that the commit in the line "boot" installs, and
now.tar those of this tree. Slurm and its jobs continue to run while files are replaced. release.py
[GROUP...]"""

import glob
import json
import os
import sys
import time

import cluster
from cluster import HOME, Machine, all_idle, note, ok, run, same
from containers import pod, write
from livejob import Job, delete, resize


def install(name):
    """Install the files of NAME on both nodes. Running programs keep their old files."""
    for result in cluster.both(f"tar -C / --no-same-owner -xf {os.path.abspath(name)}").values():
        ok(result.code == 0, f"the files of {name} can be installed", result.text)
    cluster.patient()
    cluster.site("resize_mems = yes")


def reported(job, what):
    r = run("nodeosctl report --json", user="root")
    jobs = json.loads(r.out)["jobs"] if r.code == 0 else []
    mine = [j for j in jobs if str(j["job"]) == job.id]
    ok(
        len(mine) == 1 and {c["name"] for c in mine[0]["containers"]} == {"sim", "vda"},
        f"{what}: nodeosctl report has its job",
        r.text,
    )
    r = run("nodeosctl list", user="root")
    ok(r.code == 0 and job.id in r.out, f"{what}: nodeosctl list has its job", r.text)


def killed(job, what):
    """Kill the slurmstepd of a step. The next process that opens the ledger must remove the step
    from it."""
    before = len(job.show()["steps"])
    run(
        f"pkill -KILL -f 'slurmstepd: \\[{job.id}\\.0\\]'; sleep 1;"
        f" for f in /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job.id}/step_0/cgroup.kill;"
        " do echo 1 >$f; done; sleep 2",
        user="root",
    )
    r = run(
        f"srun --jobid={job.id} --overlap --mpi=none -n1 -N1 --nodeos-container=vda true",
        timeout=300,
    )
    ok(r.code == 0, f"{what}: another step starts after slurmstepd of this step was killed", r.text)
    ok(
        len(job.show()["steps"]) < before,
        f"{what}: after slurmstepd was killed, the step is removed from the ledger",
        job.show()["steps"],
    )


def upgrade_beside_job(first, second, what):
    """Launch a job with the files of FIRST installed, then install those of SECOND and use the
    job's containers."""
    install(first)
    job = Job(rest="-n1")
    job.check(f"{what}: before")
    install(second)
    reported(job, what)
    r, told = resize("sim --cpus=-4")
    ok(
        r.code == 0 and told["cpus"]["after"] != told["cpus"]["before"],
        f"{what}: resize shrinks sim",
        r.text,
    )
    job.check(f"{what}: after sim shrinks")
    r, _ = resize(f"--job={job.id} vda --cpus=8")
    ok(r.code == 0, f"{what}: resize grows vda", r.text)
    job.check(f"{what}: after vda grows")
    killed(job, what)
    run(f"scancel {job.id}", user="root")
    all_idle("release: all nodes are idle at the end")
    same(cluster.leftovers(), "", f"{what}: no ledger entry is left")


def group_older(machine):
    upgrade_beside_job("release.tar", "now.tar", "an older release's step")


def group_newer(machine):
    upgrade_beside_job("now.tar", "release.tar", "a newer release's step")


# 240 lines "rank task_N LONG CPUS" need more than the 16 KiB that an entry may have for ranks
LONG = "c" * 63
RANKS = 240


def many_ranks():
    """Start a job of alice on n0 with RANKS ranks in the container LONG. Returns the job's number,
    and its ledger entry after all ranks are placed, or "" if the job ends earlier or after 15
    minutes."""
    script = write(
        "many.sh",
        f"#!/bin/bash\nsrun -n{RANKS} --overcommit --mpi=none --nodeos-container={LONG}"
        " sleep 3000\n",
    )
    manifest = write("many.json", pod(**{LONG: {"container": {"cpus": "8", "mems": "1"}}}))
    job = run(
        f"sbatch --parsable -N1 -w n0 --exclusive --nodeos-manifest={manifest} -o many.log {script}"
    ).out.strip()
    end = time.time() + 900
    while time.time() < end and run(f"squeue -h -j {job}").out.strip():
        for path in glob.glob("/run/nodeos/job-*"):
            with open(path, encoding="utf-8") as f:
                entry = f.read()
            if f"\njob {job} " in entry and "\nlaunching no " in entry:
                return job, entry
        time.sleep(2)
    return job, ""


def group_many(machine):
    """Test a step with more ranks than an entry can have lines for: the older release must keep all
    of them, and refuse changes."""
    install("now.tar")
    job, entry = many_ranks()
    if not ok(entry, f"all {RANKS} ranks of a step are placed", run("cat many.log").text):
        run(f"scancel {job}", user="root")
        all_idle("release, many: all nodes are idle at the end")
        return
    ok(
        entry.count(f" {LONG} ") < RANKS,
        "the ledger entry of many ranks has runs of ranks in place of single lines",
        entry[:2000],
    )
    ok(len(entry) < 16384, f"the ledger entry of many ranks is below 16 KiB: {len(entry)} bytes")
    r, _ = resize(f"--job={job} {LONG} --cpus=-2")
    ok(r.code == 0, "this release resizes the container of many ranks", r.text)
    install("release.tar")
    r = run("nodeosctl list", user="root")
    ok(r.code == 0 and job in r.out, "the older release lists the job of many ranks", r.text)
    r, _ = resize(f"--job={job} {LONG} --cpus=-2")
    ok(
        r.code != 0 and "launched" in r.err,
        "the older release does not resize the container of many ranks",
        r.text,
    )
    r, _ = delete(f"--job={job} {LONG}")
    ok(r.code != 0, "the older release does not delete the container of many ranks", r.text)
    run(f"scancel {job}", user="root")
    all_idle("release, many: all nodes are idle at the end")
    same(cluster.leftovers(), "", "no ledger entry of the job of many ranks is left")
    install("now.tar")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    machine = Machine()
    note(f"machine: {len(machine.cpus)} CPUs")
    cluster.run_groups(GROUPS, sys.argv[1:] or list(GROUPS), machine)
    install("now.tar")
    cluster.done()


main()
