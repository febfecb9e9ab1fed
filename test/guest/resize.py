#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=900 cpus api
# run: deep limit=14400 --times 500
# run: deep kernel=debian limit=7200
# rooms: control topology container
"""Resize containers while their ranks run, and check every thread and page by the kernel's files.
Run as root on n0: resize.py [GROUP...] [--times N] [--seed N]"""

import argparse
import concurrent.futures
import glob
import json
import os
import random
import re
import time

import cluster
from cluster import HOME, Machine, all_idle, cpus, note, ok, run, same
from containers import pod, write
from livejob import HOG, PAIR, Job, delete, pages_on, resize, threads_of


def group_cpus(machine):
    """Test a container that shrinks and a neighbour that takes the CPUs."""
    job = Job()
    before = job.containers()
    job.check("before the first change")
    same(
        (len(before["sim"][0]), len(before["vda"][0])),
        (8, 4),
        "before a resize, sim has 8 CPUs and vda has 4",
    )
    bound = {t: {tid: c for tid, c in threads_of(t).items() if len(c) == 1} for t in job.tasks()}
    same(
        sorted(map(len, bound.values())),
        [1, 2, 2],
        "before a resize, each pinned thread is bound to one CPU",
    )
    r, told = resize("sim --cpus=-4")
    ok(
        r.code == 0 and len(cpus(told["cpus"]["after"])) == 4,
        "resize sim --cpus=-4: sim gives up four CPUs",
        r.text,
    )
    job.check("after resize sim --cpus=-4")
    now = job.containers()
    ok(
        now["sim"][0] < before["sim"][0],
        "resize sim --cpus=-4: sim keeps some of its CPUs and gets no others",
        (before, now),
    )
    same(now["vda"], before["vda"], "resize sim --cpus=-4: vda is unchanged")
    ranks = [set().union(*threads_of(t).values()) for t in job.tasks("sim")]
    ok(
        not ranks[0] & ranks[1] and all(machine.whole_cores(c) and len(c) == 2 for c in ranks),
        "resize sim --cpus=-4: each rank of sim has a core of its own",
        ranks,
    )
    ok(
        all(
            tid in threads_of(t) and len(threads_of(t)[tid]) == 1 for t in bound for tid in bound[t]
        ),
        "resize sim --cpus=-4: each pinned thread is still bound to one CPU",
        bound,
    )
    given = before["sim"][0] - now["sim"][0]
    r, told = resize(f"--job={job.id} vda --cpus=12")
    ok(r.code == 0, "resize vda --cpus=12 succeeds", r.text)
    job.check("after resize vda --cpus=12")
    now = job.containers()
    ok(
        given <= now["vda"][0] and len(now["vda"][0]) == 12,
        "resize vda --cpus=12: vda has the CPUs that sim gave up",
        now,
    )
    r = run(
        f"srun --jobid={job.id} --overlap --mpi=none -n1 --nodeos-container=vda grep"
        " Cpus_allowed_list /proc/self/status",
        user="alice",
    )
    ok(
        "no such" not in r.text,
        "after resizes, a step from outside of the job can join vda",
        r.text,
    )
    r, _ = resize("sim --cpus=+2")
    ok(
        r.code == 1 and "has 4 threads and can have 4 at most here" in r.err,
        "resize sim --cpus=+2 is refused, since no CPU is free",
        r.text,
    )
    r, _ = resize("vda --cpus=4")
    ok(r.code == 0, "resize vda --cpus=4 succeeds", r.text)
    r, _ = resize("sim --cpus=8")
    job.check("after resizes to the first sizes")
    same(
        {n: len(c) for n, (c, _) in job.containers().items()},
        {"sim": 8, "vda": 4},
        "both containers have their first sizes again",
    )
    same(
        job.containers()["vda"],
        before["vda"],
        "after resizes to the first sizes, vda has its first CPUs",
    )
    text = run(f"nodeosctl show --job={job.id}").out
    ok("resized from 4 threads to 8" in text, "nodeosctl show has the history of resizes", text)
    r = run("nodeosctl resize sim --cpus=6")
    ok(
        r.code == 0
        and re.search(r"container sim of job \d+: cpus \S+ -> \S+", r.out)
        and re.search(r", rank \d: cpus", r.out),
        "resize prints the CPUs of the container and of its ranks as text",
        r.text,
    )
    text = run(f"nodeosctl show --job={job.id}").out
    ok(
        "cpus: 6 given after a resize" in text,
        "nodeosctl show reports fewer CPUs than requested after a resize",
        text,
    )
    job.end()


def by_step(job):
    """Resize the containers of JOB's steps 0 and 1, which have the same name, from outside of the
    steps. The user must then name the step."""

    def have():
        """Return the CPUs of each step's rank, by the ledger, the rank's cgroup and its threads."""
        shown = json.loads(run(f"nodeosctl show --json --job={job}").out)["jobs"][0]["containers"]
        tasks = [
            glob.glob(
                f"/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job}/step_{i}/user/task_0"
            )[0]
            for i in (0, 1)
        ]
        return [
            {
                tuple(sorted(c))
                for c in (
                    cpus(shown[i]["cpus"]),
                    cpus(open(f"{t}/cpuset.cpus").read().strip()),
                    *threads_of(t).values(),
                )
            }
            for i, t in enumerate(tasks)
        ]

    before = have()
    same(
        [[len(c) for c in s] for s in before],
        [[2], [4]],
        "before a resize, the rank of each step is in the step's container",
    )
    both = (
        f"several steps have a container step of their own here ({job}.0, {job}.1): name one"
        " (--step=JOB.STEP)"
    )
    for command, words in (
        ("resize step --cpus=2", both),
        (f"resize --job={job} step --cpus=2", both),
        ("exec step true", both),
        (
            "resize --step=9 step --cpus=2",
            (f"step 9 is in no container step on this node (steps that are: {job}.0, {job}.1)"),
        ),
        (
            f"exec --step={int(job) + 1}.0 step true",
            "you have no step in a container step on this node",
        ),
        ("resize --step=0 sim --cpus=2", "you have no step in a container sim on this node"),
        (
            "delete step",
            (
                "container step belongs only to its step and ends with it: scancel that step"
                f" ({job}.0, {job}.1)"
            ),
        ),
    ):
        r = run(f"nodeosctl {command}")
        ok(r.code == 1 and words in r.err, f"nodeosctl {command} is refused", r.text)
    r, _ = resize(f"--step={job}.0 step --cpus=2", user="bob")
    ok(
        r.code == 1 and "you have no step in a container" in r.err,
        "resize --step by another user is refused",
        r.text,
    )
    same(have(), before, "refused calls leave both steps' containers unchanged")
    r, told = resize(f"--step={job}.1 step --cpus=2")
    after = have()
    ok(
        r.code == 0 and [x["step"] for x in told["ranks"]] == ["1"],
        "resize --step of the second step: the answer has only the rank of this step",
        r.text,
    )
    ok(
        len(after[1]) == 1 and set(*after[1]) < set(*before[1]) and len(*after[1]) == 2,
        "resize --step of the second step: the container of this step keeps two of its CPUs",
        (before, after),
    )
    same(
        after[0],
        before[0],
        "resize --step of the second step: the first step's container is unchanged",
    )
    r, _ = resize("--step=0 step --cpus=+2")
    last = have()
    ok(
        r.code == 0
        and len(last[0]) == 1
        and set(*last[0]) > set(*before[0])
        and len(*last[0]) == 4,
        "resize --step of the first step: the container of this step has two more CPUs",
        (r.text, last),
    )
    same(
        last[1],
        after[1],
        "resize --step of the first step: the second step's container is unchanged",
    )
    r = run(f"nodeosctl exec --step={job}.1 step true")
    ok(
        r.code == 1
        and (
            f"container step was made by the options of step {job}.1, and Slurm starts nothing"
            " beside the ranks of that step"
        )
        in r.err,
        "exec in the own container of a step is refused with the reason",
        r.text,
    )


def group_own(machine):
    """Two steps have containers by their own options, both named \"step\". One step resizes its own
    container."""
    script = write(
        "own.sh",
        "#!/bin/bash\nrm -f first second own.*\nsrun -n1 --overlap --mpi=none --nodeos-cpus=4 bash"
        " -c 'touch first; until [ -e second ]; do sleep 0.5; done; nodeosctl resize step --cpus=2"
        " >own.out 2>&1; nodeosctl show --json >own.json; touch done; until [ -e finish ]; do sleep"
        " 0.5; done' &\nuntil [ -e first ]; do sleep 0.5; done\nsrun -n1 --overlap --mpi=none"
        " --nodeos-cpus=4 bash -c 'touch second; until [ -e finish ]; do sleep 0.5; done'; wait\n",
    )
    run(f"rm -f {HOME}/done {HOME}/finish")
    r = run(f"sbatch --parsable -N1 -w n0 --exclusive -o own.log {script}")
    for _ in range(240):
        if os.path.exists(f"{HOME}/done"):
            break
        time.sleep(0.5)
    shown = (
        json.loads(open(f"{HOME}/own.json").read() or '{"jobs": [{"containers": []}]}')["jobs"][0][
            "containers"
        ]
        if os.path.exists(f"{HOME}/own.json")
        else []
    )
    same(
        [(c["name"], len(cpus(c["cpus"]))) for c in shown],
        [("step", 2), ("step", 4)],
        f"a step resizes its own container to 2 CPUs, and the other step's container is unchanged:"
        f" {r.text[-500:]}",
    )
    listed = json.loads(run("nodeosctl list --json", user="root").out)["containers"]
    ok(
        listed and all(c["name"] == "step" and c["steps"] == 1 for c in listed),
        "nodeosctl list has two containers of the same name with one step each",
        listed,
    )
    by_step(r.out.strip())
    write("finish", "")
    ok(
        os.path.exists(f"{HOME}/own.out")
        and re.match(r"container step of job \d+: cpus ", open(f"{HOME}/own.out").read()),
        "a step that resizes its own container gets the new CPUs as text",
    )
    all_idle("resize, own: all nodes are idle at the end")


def group_meanwhile(machine):
    """While pages of a step's container are moved, another step starts whose container has the same
    name. The resize must finish on the container of the first step."""
    hog = write("hog.py", HOG.format(mib=96, processes=80))
    script = write(
        "meanwhile.sh",
        "#!/bin/bash\nrm -f second\nsrun -n1 --overlap --mpi=none --nodeos-cpus=4 --nodeos-mems=2"
        f" python3 {hog} &\nuntil [ -e second ]; do sleep 0.1; done\nsrun -n1 --overlap --mpi=none"
        " --nodeos-cpus=4 --nodeos-mems=1 sleep 1000\n",
    )
    job = run(
        f"sbatch --parsable -N1 -w n0 --exclusive --mem=1200 -o meanwhile.log {script}"
    ).out.strip()

    def have():
        return [
            (cpus(c["cpus"]), cpus(c["mems"]))
            for j in json.loads(run("nodeosctl show --json").out)["jobs"]
            for c in j["containers"]
        ]

    def rank(step):
        return glob.glob(
            f"/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job}/step_{step}/user/task_0"
        )

    def settled():
        """Return whether all processes of the job exist and sleep."""
        states = (
            run(f"xargs -r ps -o stat= -p < {rank(0)[0]}/cgroup.procs", user="root").out.split()
            if rank(0)
            else []
        )
        return len(states) == 80 and all(s.startswith("S") for s in states)

    def wait_for(condition, seconds):
        end = time.time() + seconds
        while not (good := condition()) and time.time() < end:
            time.sleep(0.2)
        return good

    ok(
        wait_for(settled, 300) and wait_for(settled, 10),
        "all 80 processes of the first step have read their shared memory",
        run("cat meanwhile.log").out,
    )
    before = have()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        start = time.monotonic()
        asked = pool.submit(resize, "step --cpus=2 --mems=1")
        time.sleep(0.3)
        write("second", "")
        came = wait_for(lambda: rank(1), 60)
        # wait for the rank of the second step: the ledger entry exists before the rank does
        after, during = time.monotonic() - start, not asked.done()
        r, _ = asked.result()
    ok(
        came and during,
        f"the second step starts during the resize: after {after:.1f} of"
        f" {time.monotonic() - start:.1f} s",
        have(),
    )
    (first, second), (was, *_) = have(), before
    ok(
        r.code == 0
        and len(first[0]) == 2
        and first[0] < was[0]
        and len(first[1]) == 1
        and first[1] < was[1],
        "after the resize, the container of the first step has the requested size",
        r.text,
    )
    ok(
        len(second[0]) == 4 and len(second[1]) == 1 and not second[0] & first[0],
        "after the resize, the container of the second step has its old size",
        (first, second),
    )
    r = run("nodeosctl verify", user="root")
    ok(r.code == 0, "verify finds no difference after a resize beside a new step", r.text)
    run(f"scancel {job}", user="root")
    all_idle("resize, meanwhile: all nodes are idle at the end")


def group_mems(machine):
    """Test that the pages of a container move when its memory nodes change."""
    job = Job()
    before = job.containers()["sim"][1]
    same(len(before), 2, "before a resize, sim has two memory nodes")
    r, told = resize("sim --mems=1")
    after = job.containers()["sim"][1]
    gone = before - after
    ok(
        r.code == 0 and after < before and len(after) == 1,
        "resize sim --mems=1: sim keeps one of its memory nodes",
        r.text,
    )
    for task in job.tasks("sim"):
        same(
            {n: p for n, p in pages_on(task).items() if n not in after},
            {},
            f"resize sim --mems=1: no page of {task[-6:]} is on the node that sim gave up",
        )
        ok(
            sum(pages_on(task).values()) >= 48 * 256,
            f"resize sim --mems=1: {task[-6:]} still has all its pages",
            pages_on(task),
        )
        same(
            cpus(open(f"{task}/cpuset.mems").read().strip()),
            after,
            f"resize sim --mems=1: cpuset.mems of {task[-6:]} has the node that sim keeps",
        )
    same(told["memory"]["left"], 0, "resize sim --mems=1: the answer reports no memory left behind")
    ok(
        cpus(told["mems"]["before"]) - cpus(told["mems"]["after"]) == gone,
        "resize sim --mems=1: the answer has the node that sim gave up",
        told,
    )
    job.check("after resize sim --mems=1")
    ok(
        "mems: 1 given after a resize" in run(f"nodeosctl show --job={job.id}").out,
        "nodeosctl show reports fewer memory nodes than requested after a resize",
    )
    r, told = resize("sim --mems=+1 --cpus=-4")
    ok(
        r.code == 0
        and len(job.containers()["sim"][1]) == 2
        and len(job.containers()["sim"][0]) == 4,
        "resize sim --mems=+1 --cpus=-4: both change at once",
        r.text,
    )
    ok(
        told["memory"]["programs_keep_policy"],
        "resize sim --mems=+1: the answer warns that running programs keep their memory policy",
        told,
    )
    job.check("after resize sim --mems=+1")
    r = run("nodeosctl resize vda --mems=2", user="alice")
    ok(
        r.code == 0 and "until they bind themselves again" in r.out,
        "resize vda --mems=2: the text warns that running programs keep their memory policy",
        r.text,
    )
    r = run("nodeosctl resize vda --mems=5")
    ok(
        r.code == 1 and "has 2 memory nodes and can have 4 at most here" in r.err,
        "resize vda --mems=5 is refused, since there are fewer nodes",
        r.text,
    )
    r = run("nodeosctl resize vda --mems=100G")
    ok(
        r.code == 1 and "MiB at most here" in r.err,
        "resize vda --mems=100G is refused, since there is less memory",
        r.text,
    )
    job.end()


def group_api(machine):
    """A program gives up CPUs between its phases by libnodeos, and a neighbour takes them. The
    program's result is the same as without resizes."""
    phases = "/usr/libexec/nodeos/test/phases"
    manifest = write("pair.json", pod(**PAIR))
    taker = (
        "for i in {1..300}; do nodeosctl resize vda --cpus=8 >>took.txt 2>&1 && break; sleep 0.3;"
        " done; nodeosctl show >during.txt;nodeosctl resize vda --cpus=4 >>took.txt 2>&1"
    )
    script = write(
        "phases.sh",
        "#!/bin/bash\nexport OMP_PROC_BIND=false\nsrun --mpi=none -n1 --nodeos-container=sim"
        f" {phases} 8 4 &\nsim=$!\nsrun --mpi=none -n1 --overlap --nodeos-container=vda bash -c"
        f" '{taker}' &\nwait $sim; wait\nOMP_PROC_BIND=false srun --mpi=none -n1"
        f" --nodeos-container=sim {phases} 8 4 --alone\n",
    )
    run(f"rm -f {HOME}/took.txt {HOME}/during.txt")
    r = cluster.sbatch(
        f"-N1 -w n0 --exclusive --nodeos-manifest={manifest} -o phases.out {script}", timeout=600
    )
    out = open(f"{HOME}/phases.out").read()
    sums = re.findall(r"^sum (\w+)$", out, re.M)
    ok(
        r.code == 0 and len(sums) == 2 and sums[0] == sums[1],
        "phases: the program's sum is the same as without resizes",
        out,
    )
    sizes = [len(cpus(c)) for c in re.findall(r"^phase \d+: CPUs ([\d,-]+)$", out, re.M)]
    ok(
        len(sizes) == 8 and all(n == 4 for n in sizes[1::2]) and sizes[0] == 8,
        "phases: every second phase has four CPUs",
        out,
    )
    took = open(f"{HOME}/took.txt").read()
    ok(
        "container vda" in took and "-> " in took,
        "phases: the neighbour takes the CPUs that the program gives up",
        took,
    )
    ok(
        "on with" not in out or sizes[-2] in (4, 8),
        "phases: the program continues without the CPUs that the neighbour has",
        out,
    )
    r = run(f"srun -N1 -n1 --mpi=none --nodeos=off {phases} 2 2")
    ok(
        r.code == 1 and "phases: this process is in no container" in r.err,
        "phases: outside of containers, the program fails with the reason",
        r.text,
    )
    all_idle("resize, api: all nodes are idle at the end")


def told(job):
    """Return the containers as nodeosctl show reports them, without used memory and
    interference."""
    return [
        {k: v for k, v in c.items() if k not in ("memory", "noise")}
        for c in job.show()["containers"]
    ]


def group_refused(machine):
    """Test that resizes by other users and to impossible sizes are refused and change nothing."""
    job = Job(sim="-n4")
    before, threads = told(job), {t: threads_of(t) for t in job.tasks()}
    for user, arguments, code, words in (
        ("bob", "sim --cpus=-2", 1, "you have no container sim on this node"),
        ("bob", f"--job={job.id} sim --cpus=-2", 1, "you have no container sim on this node"),
        ("alice", "nothing --cpus=2", 1, "you have no container nothing"),
        ("alice", "sim --cpus=6", 1, "container sim: 4 ranks do not fit on 3 cores"),
        ("alice", "sim --cpus=-8", 1, "8 fewer would leave none"),
        ("alice", "sim --cpus=100", 1, "can have 12 at most here (100 requested)"),
        ("alice", "sim --mems=-2", 1, "2 fewer would leave none"),
        ("alice", "sim --mems=9", 1, "can have 4 at most here"),
        ("alice", "sim --cpus=0", 2, "expected a number"),
        ("alice", "sim --cpus=-", 2, "expected a number"),
        ("alice", "sim --mems=-4G", 2, "expected a number"),
        ("alice", "sim", 2, "no size given"),
        ("alice", "--cpus=2", 2, "no CONTAINER given"),
        ("alice", "../sim --cpus=2", 2, "../sim"),
        (
            "alice",
            f"--step={job.id}.77 sim --cpus=2",
            1,
            "step 77 is in no container sim on this node",
        ),
        ("alice", "--step=x sim --cpus=2", 2, "expected the number of a step"),
        ("alice", f"--job=1 --step={job.id}.0 sim --cpus=2", 2, "name different jobs"),
        ("alice", "--job=0 sim --cpus=2", 2, "expected the number of a job"),
    ):
        r = run(f"nodeosctl resize {arguments}", user=user)
        ok(
            r.code == code and words in r.err and not r.out.strip().startswith("container"),
            f"{user}: resize {arguments} is refused",
            r.text,
        )
    same(told(job), before, "refused resizes leave containers unchanged")
    same(
        {t: {tid: c for tid, c in threads_of(t).items() if tid in threads[t]} for t in threads},
        {t: {tid: c for tid, c in threads[t].items() if tid in threads_of(t)} for t in threads},
        "refused resizes leave every thread unchanged",
    )
    job.check("after refused resizes")
    ok(resize("sim --cpus=+4", user="root")[0].code == 0, "root can resize a user's container")
    job.check("after a resize by root")
    job.end()


def group_deleted(machine):
    """Test that a deleted container returns its CPUs to the job, and that only --kill kills its
    ranks."""
    job = Job(rest="-n1")
    job.check("before the first change")
    before, steps = job.containers(), {s["container"]: s["step"] for s in job.show()["steps"]}
    for user, arguments, code, words in (
        ("bob", f"--job={job.id} vda --kill", 1, "you have no container vda on this node"),
        ("alice", "other", 1, "you have no container other"),
        ("alice", "vda", 1, f"container vda has 1 rank here, of step {steps['vda']}"),
        ("alice", "sim", 1, f"container sim has 2 ranks here, of step {steps['sim']}"),
        ("alice", "", 2, "no CONTAINER given"),
        ("alice", "sim vda", 2, "more than one CONTAINER given"),
        ("alice", "../vda", 2, "../vda"),
    ):
        r, _ = delete(arguments, user)
        ok(r.code == code and words in r.err, f"{user}: delete {arguments} is refused", r.text)
    same(job.containers(), before, "refused deletions leave containers unchanged")
    run(f"scancel {job.id}.{steps['vda']}")
    end = time.time() + 60
    while job.tasks("vda") and time.time() < end:
        time.sleep(0.5)
    r, told = delete("vda")
    ok(
        r.code == 0
        and told.get("deleted")
        and cpus(told["cpus"]["before"]) == before["vda"][0]
        and not cpus(told["cpus"]["after"]),
        "delete vda succeeds after the step in vda has ended",
        r.text,
    )
    same(
        {
            (x["in_container"], before["vda"][0] <= cpus(x["cpus"]["after"]))
            for x in told.get("ranks", [])
        },
        {(False, True)},
        "delete vda: the rank outside of containers and the job's script get the CPUs of vda",
    )
    same(job.containers(), {"sim": before["sim"]}, "delete vda: only sim is left, and is unchanged")
    same(job.show()["deleted"], ["vda"], "delete vda: show --json lists vda as deleted")
    ok(
        "container vda: deleted" in run("nodeosctl show").out,
        "delete vda: show lists vda as deleted",
    )
    job.check("after delete vda")
    r = job.inside("srun -n1 --overlap --mpi=none --nodeos-container=vda true")
    ok(
        "container vda of this job was deleted on this node" in r,
        "delete vda: no step can join vda",
        r,
    )
    r = job.inside(
        "srun -n1 --overlap --mpi=none --nodeos-container=sim bash -c 'echo in $NODEOS_CONTAINER'"
    )
    ok("in sim" in r, "delete vda: a step can still join sim", r)
    r, _ = resize("vda --cpus=2")
    ok(
        r.code == 1 and f"container vda of job {job.id} was deleted on this node" in r.err,
        "delete vda: vda cannot be resized afterwards",
        r.text,
    )
    ok(run("nodeosctl exec vda true").code == 1, "delete vda: exec cannot run a command in vda")
    r, _ = resize("sim --cpus=+4")
    ok(
        r.code == 0
        and before["vda"][0]
        <= job.containers()["sim"][0] | (set(range(16)) - job.containers()["sim"][0])
        and len(job.containers()["sim"][0]) == 12,
        "delete vda: sim can take four of the CPUs that vda had",
        r.text,
    )
    job.check("after resize sim to 12 threads")
    gone = job.tasks("sim")
    r = run("nodeosctl delete sim --kill", timeout=120)
    ok(
        r.code == 0 and "container sim of job" in r.out and "deleted" in r.out,
        "delete sim --kill: sim is deleted",
        r.text,
    )
    same(
        [t for t in gone if os.path.exists(t) and open(f"{t}/cgroup.procs").read()],
        [],
        "delete sim --kill: no process of sim is left",
    )
    job.check("after delete sim --kill")
    same(job.containers(), {}, "delete sim --kill: no container is left")
    same(
        [set().union(*threads_of(t).values()) for t in job.tasks()],
        [set(range(os.cpu_count()))],
        "delete sim --kill: the rank outside of containers may run on all CPUs",
    )
    r, _ = delete("sim")
    ok(
        r.code == 1 and "was deleted on this node" in r.err,
        "delete sim: a second call is refused",
        r.text,
    )
    ok(
        "in none"
        in job.inside("srun -n1 --overlap --mpi=none bash -c 'echo in ${NODEOS_CONTAINER:-none}'"),
        "delete sim --kill: the job can still start a step",
    )
    job.end(steps=("rest",))


def group_killed(machine, times=25):
    """Kill nodeosd at a random time of a resize. Repeating the call must finish the resize."""
    job = Job()
    rng = random.Random(11)
    late = 0
    for i in range(times):
        size = rng.choice((4, 6, 8, 10))
        run(
            f"setpriv --reuid=alice --regid=alice --init-groups nodeosctl resize sim --cpus={size}"
            f" --mems={rng.choice((1, 2, 3))} >/dev/null 2>&1 &sleep {rng.random() * 0.6:.3f};"
            " pkill -9 -x nodeosd; wait",
            user="root",
        )
        have = job.containers()
        held = set().union(*(c for c, _ in have.values()))
        out = [
            (t, tid, c) for t in job.tasks() for tid, c in threads_of(t).items() if not c <= held
        ]
        late += bool(out)
        r, _ = resize(f"sim --cpus={size}")
        if r.code != 0:
            ok(False, f"kill {i} of nodeosd: the repeated resize succeeds", r.text)
    same(
        late,
        0,
        f"after {times} kills of nodeosd, all threads are on CPUs that the ledger gives them",
    )
    job.check("after the last killed resize")
    job.end()


def group_slurmd(machine, times=6):
    """Kill slurmd at a random time of a resize, and restart it. The resize must finish, and slurmd
    must find its steps again."""
    job = Job()
    rng = random.Random(13)
    refused = []
    for _ in range(times):
        size = rng.choice((4, 6, 8, 10))
        r = run(
            f"setpriv --reuid=alice --regid=alice --init-groups nodeosctl resize sim --cpus={size}"
            f" --mems={rng.choice((1, 2, 3))} & resize=$!;sleep {rng.random():.3f}; pkill -9 -x"
            " slurmd; wait $resize; code=$?; systemctl start slurmd; exit $code",
            user="root",
        )
        if r.code or len(job.containers()["sim"][0]) != size:
            refused.append(r.text)
    same(refused, [], f"{times} resizes finish although slurmd is killed during each")
    job.check("after the last kill of slurmd")
    r = job.inside(
        "srun -n1 --overlap --mpi=none --nodeos-container=sim bash -c 'echo in $NODEOS_CONTAINER"
        " $NODEOS_CPUS'"
    )
    words = r.split()
    ok(
        words[:2] == ["in", "sim"]
        and len(words) == 3
        and cpus(words[2]) <= job.containers()["sim"][0],
        "after kills of slurmd, a new step gets the present CPUs of sim",
        r,
    )
    job.end()


def group_stepd(machine):
    """Kill the slurmstepd of a step during a resize of its container. What is left of the step must
    stay in the container or be removed, and other containers must not change."""
    job = Job()
    step = {s["container"]: s["step"] for s in job.show()["steps"]}["vda"]
    before = job.containers()
    daemon = run(f"pgrep -f 'slurmstepd: \\[{job.id}[.]{step}\\]'", user="root").out.split()
    same(len(daemon), 1, "the step in vda has one slurmstepd")
    r = run(
        "setpriv --reuid=alice --regid=alice --init-groups nodeosctl resize vda --cpus=2 --mems=2"
        f" >/dev/null 2>&1 & sleep 0.4; kill -9 {daemon[0]}; wait",
        user="root",
    )
    note(f"the interrupted resize took {r.seconds:.0f} s")
    job.check("slurmstepd of vda's step killed")
    same(
        job.containers()["sim"], before["sim"], "slurmstepd of vda's step killed: sim is unchanged"
    )
    r, _ = resize("vda --cpus=2 --mems=2")
    ok(
        r.code == 0 and [len(x) for x in job.containers()["vda"]] == [2, 2],
        "slurmstepd of vda's step killed: vda can be resized again",
        r.text,
    )
    r, _ = resize("sim --cpus=+4")
    ok(r.code == 0, "slurmstepd of vda's step killed: sim can grow", r.text)
    job.check("slurmstepd of vda's step killed, sim larger")
    r = job.inside(
        "srun -n1 --overlap --mpi=none --nodeos-container=vda bash -c 'echo in $NODEOS_CONTAINER'"
    )
    ok("in vda" in r, "slurmstepd of vda's step killed: another step can join vda", r)
    r, _ = delete("vda --kill")
    ok(r.code == 0, "slurmstepd of vda's step killed: vda can be deleted", r.text)
    same(
        [
            pid
            for pid in run("pgrep -x threads", user="root").out.split()
            if "step_%s/" % step in open(f"/proc/{pid}/cgroup").read()
        ],
        [],
        "slurmstepd of vda's step killed: after delete --kill, no process of the step is left",
    )
    job.check("after delete vda")
    job.end(steps=("sim",))
    same(
        cluster.leftovers(),
        "",
        "slurmstepd of vda's step killed: the ledger is empty after the job",
    )


def group_random(machine, times=25, seed=5):
    """Resize two containers at random while their ranks run."""
    job = Job()
    rng = random.Random(seed)
    done = refused = 0
    for i in range(times):
        name = rng.choice(("sim", "vda"))
        arguments = rng.choice(
            (
                f"--cpus={rng.randint(2, 12)}",
                f"--cpus={rng.choice('+-')}{rng.randint(1, 6)}",
                f"--mems={rng.randint(1, 3)}",
                f"--cpus={rng.randint(2, 12)} --mems={rng.randint(1, 4)}",
            )
        )
        r, _ = resize(f"{name} {arguments}")
        if r.code == 0:
            done += 1
        elif "at most here" in r.err or "would leave none" in r.err or "do not fit" in r.err:
            refused += 1
        else:
            ok(
                False,
                f"random {i}: resize {name} {arguments} succeeds or is refused for lack of room",
                r.text,
            )
        if i % max(1, times // 10) == 0:
            job.check(f"after {i + 1}")
        have = job.containers()
        for t in job.tasks("sim"):
            stray = {n: p for n, p in pages_on(t).items() if n not in have["sim"][1]}
            if stray:
                ok(
                    False,
                    f"random {i}: no page of sim is on a node that sim gave up",
                    (stray, have),
                )
    ok(
        done > times // 3,
        f"more than a third of {times} random resizes succeed (seed {seed}): {done} done, {refused}"
        " refused",
    )
    job.check("after the last random resize")
    job.end()


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", nargs="*")
    parser.add_argument(
        "--times", type=int, default=25, help="repetitions of the groups killed and random"
    )
    parser.add_argument("--seed", type=int, default=5, help="seed of the group random")
    args = parser.parse_args()
    GROUPS["killed"] = lambda machine: group_killed(machine, args.times)
    GROUPS["random"] = lambda machine: group_random(machine, args.times, args.seed)
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    machine = Machine()
    cluster.patient()
    cluster.site("resize_mems = yes")
    note(
        f"machine: {len(machine.cpus)} CPUs, {len(machine.core)} cores, {len(machine.mems)} memory"
        " nodes"
    )
    cluster.run_groups(GROUPS, args.group or list(GROUPS), machine)
    cluster.done()


main()
