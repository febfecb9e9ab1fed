# SPDX-License-Identifier: GPL-2.0-or-later
# boot: put=chrt
# run: ci limit=900 words sixteen turns
# run: deep limit=3600
# run: deep kernel=debian limit=1800
# rooms: host launch kernel
"""SCHED_HPC through Slurm, on a kernel that has it: policies, placement and quantum of ranks and
their threads, the CPU that stays outside, more ranks than CPUs, busy neighbours, scancel. Judged
by sched_getscheduler, getcpu and rusage in the ranks (programs/whereami.c, programs/spin.c), and
lscpu.

hpc.py [GROUP...]"""

import json
import os
import re
import sys
import time

import cluster
from cluster import HOME, WHEREAMI, all_idle, cpus, ok, ranks, run, same
from containers import pod, write
from livejob import Job, resize, threads_of

SPIN = "/usr/libexec/nodeos/test/spin"
CHRT = os.path.abspath("chrt")
HPC = 48
CONF = "/etc/nodeos/nodeos.conf"
PLACEMENT = {"user": 0, "rr": 1, "topo": 2}
machine = cluster.Machine()


def root(command, timeout=180, node=None):
    return run(command, user="root", timeout=timeout, node=node)


class Thread:
    """A thread's line of spin.c."""

    def __init__(self, words):
        (
            self.rank,
            self.number,
            self.cpu,
            self.moves,
            self.policy,
            self.priority,
            self.involuntary,
        ) = (int(w) for w in words)


def threads(r):
    return [
        Thread(line.split()[1:])
        for line in r.out.splitlines()
        if re.fullmatch(r"spin( \d+){7}", line)
    ]


def report(name):
    """The only report with this name: that of the step on n0."""
    files = [f for f in os.listdir(HOME) if f.startswith(f"{name}.")]
    if len(files) != 1:
        return {}
    with open(f"{HOME}/{files[0]}") as f:
        return json.load(f)


def group_words():
    """The ranks and the report have the policy of the option and the manifest."""
    for i, (word, placement, quantum) in enumerate(
        (
            ("hpc", "topo", 10),
            ("hpc:user", "user", 10),
            ("hpc:rr,quantum:20", "rr", 20),
            ("hpc:2,quantum:0", "topo", 0),
        )
    ):
        r = run(
            f"srun -w n0 -N1 -n2 -c4 --nodeos-cpus=8 --nodeos-sched={word}"
            f" --nodeos-report=word{i}.%j.%s.%N {WHEREAMI}"
        )
        same(
            (
                r.code,
                [(x["policy"], x["priority"], x["env"].get("NODEOS_POLICY")) for x in ranks(r)],
            ),
            (0, [(HPC, PLACEMENT[placement], "hpc")] * 2),
            f"--nodeos-sched={word}",
        )
        told = report(f"word{i}")
        kernel = [
            (x["kernel"]["policy"], x["kernel"].get("placement"), x["kernel"].get("quantum_ms"))
            for x in told.get("ranks", [])
        ]
        same(
            (told.get("outcome"), kernel),
            ("enforced", [("hpc", placement, quantum)] * 2),
            f"{word}: the report has the kernel's policy, placement and quantum",
        )
    m = write(
        "hpc.json",
        pod(
            sim={
                "container": {"cpus": 4},
                "scheduler": {"policy": "SCHED_HPC", "priority": "1", "quantum": "30"},
            },
            vda={"container": {"cpus": 2}},
        ),
    )
    r = run(
        f"srun -w n0 -N1 -n2 -c4 --nodeos-manifest={m} --nodeos-container=sim:0,vda:1 {WHEREAMI}"
    )
    same(
        (r.code, [(x["policy"], x["priority"]) for x in ranks(r)]),
        (0, [(HPC, 1), (0, 0)]),
        "a manifest: one container has the class, the other the default",
    )
    r = run(f"nodeosctl run --sched=hpc -- {SPIN} 1 1", user="root")
    same(
        [(t.policy, t.priority) for t in threads(r)],
        [(HPC, 2)],
        "nodeosctl run --sched=hpc works as root",
    )
    r = run(f"nodeosctl run --sched=hpc -- {SPIN} 1 1")
    ok(
        r.code == 1 and "RLIMIT_RTPRIO" in r.err,
        "nodeosctl run --sched=hpc fails for a user without the right",
        r.text,
    )


def group_sixteen():
    """16 ranks on two nodes, with one more thread each: all have the policy, and are on the CPUs
    planned for the rank."""
    r = run(
        f"srun -N2 -n16 -c2 --nodeos-sched=hpc --nodeos-report=sixteen.%j.%s.%N {SPIN} 2 20",
        timeout=300,
    )
    found = threads(r)
    ok(
        (r.code, len(found), {t.policy for t in found}) == (0, 32, {HPC}),
        "16 ranks of two threads have the policy",
        r.text,
    )
    told = [f for f in os.listdir(HOME) if f.startswith("sixteen.")]
    planned = {}
    for name in told:
        with open(f"{HOME}/{name}") as f:
            planned |= {x["rank"]: cpus(x["cpus"]) for x in json.load(f)["ranks"]}
    same(
        (len(told), sorted(planned)),
        (2, list(range(16))),
        "the reports of both nodes have the 16 ranks",
    )
    same(
        [t.rank for t in found if t.cpu not in planned.get(t.rank, ())],
        [],
        "each thread is on a CPU of its rank's plan",
    )
    same(sum(t.moves for t in found), 0, "no thread of the 16 ranks moves")


def group_chrt():
    """util-linux's chrt with contrib/patches' patch, as root and as a user without the right."""
    for placement in (0, 1, 2):
        r = root(f"{CHRT} --hpc {placement} {SPIN} 1 1")
        same(
            [(t.policy, t.priority) for t in threads(r)],
            [(HPC, placement)],
            f"chrt --hpc {placement} sets policy and placement",
        )
    r = root(f"{CHRT} --hpc --sched-runtime 20000000 1 {CHRT} --pid 0")
    same(
        [line.split(": ")[-1] for line in r.out.splitlines()],
        ["SCHED_HPC", "1", "20000000"],
        "chrt --pid shows policy, placement and quantum",
    )
    r = root(f"{CHRT} --max")
    ok(
        "SCHED_HPC min/max priority\t: 0/2" in r.out,
        "chrt --max shows the range of SCHED_HPC",
        r.text,
    )
    r = run(f"{CHRT} --hpc 0 {SPIN} 1 1")
    ok(r.code != 0 and not threads(r), "chrt --hpc fails for a user without the right", r.text)


def group_threads():
    """Threads start where the placement says, stay there, and share no CPU."""
    r = run(f"srun -w n0 -N1 -n2 -c4 --nodeos-cpus=8 --nodeos-sched=hpc {SPIN} 4 40 1", timeout=300)
    found = threads(r)
    ok(
        r.code == 0 and len(found) == 8 and all(t.policy == HPC for t in found),
        "8 threads of two ranks have the policy",
        r.text,
    )
    same(
        sorted(len({t.cpu for t in found if t.rank == k}) for k in (0, 1)),
        [4, 4],
        "four threads of a rank are on four CPUs",
    )
    same(sum(t.moves for t in found), 0, "no thread of two ranks moves")
    # the guard gives the waiting fair tasks of a CPU 50 ms a second
    ok(
        all(t.involuntary <= 10 for t in found),
        "only the guard interrupts the threads of two ranks",
        [t.involuntary for t in found],
    )
    r = run(f"srun -w n0 -N1 -n1 -c8 --nodeos-cpus=8 --nodeos-sched=hpc {SPIN} 4 40", timeout=300)
    cores = [next(c for c, s in machine.core.items() if t.cpu in s) for t in threads(r)]
    same(
        (len(cores), len(set(cores))),
        (4, 4),
        "topo: four threads on eight threads of four cores have a core each",
    )
    r = run(
        f"srun -w n0 -N1 -n1 -c8 --nodeos-cpus=8 --nodeos-sched=hpc:user {SPIN} 3 30", timeout=300
    )
    found = threads(r)
    same(
        (r.code, len(found), len({t.cpu for t in found})),
        (0, 3, 1),
        "user: three threads that do not bind themselves stay on their parent's CPU, and take"
        " turns",
    )


def group_turns():
    """Ranks or threads wait for each other on fewer CPUs: the quantum lets them end, and the report
    shows the quantum."""
    r = run(
        "srun -w n0 -N1 -n4 -O --nodeos-cpus=2 --nodeos-sched=hpc --nodeos-report=turns.%j.%s.%N"
        f" {SPIN} 1 1 1",
        timeout=300,
    )
    ok(r.code == 0 and len(threads(r)) == 4, "four ranks on two CPUs end", r.text)
    told = report("turns")
    ok(
        told.get("outcome") == "modified" and "turns of 10 ms" in (told.get("reason") or ""),
        "four ranks on two CPUs: the report says modified, because the ranks take turns",
        (told.get("outcome"), told.get("reason")),
    )
    r = run(
        "srun -w n0 -N1 -n4 -O --nodeos-cpus=2 --nodeos-sched=hpc,quantum:0"
        f" --nodeos-report=none.%j.%s.%N {SPIN} 1 1",
        timeout=300,
    )
    told = report("none")
    ok(
        r.code == 0
        and told.get("outcome") == "modified"
        and "another blocks" in (told.get("reason") or ""),
        "four ranks on two CPUs without a quantum: the report says modified",
        (r.text, told.get("outcome"), told.get("reason")),
    )
    r = run(f"srun -w n0 -N1 -n1 -c2 --nodeos-cpus=2 --nodeos-sched=hpc {SPIN} 6 60", timeout=300)
    same(
        (r.code, len(threads(r))),
        (0, 6),
        "six threads on two CPUs that spin and wait for each other end",
    )


def group_outside():
    """One CPU of the node runs no rank of SCHED_HPC."""
    every = ",".join(map(str, sorted(machine.cpus)))
    all_of_it = f"srun -w n0 -N1 -n1 -c{len(machine.cpus)} --exclusive"
    r = run(f"{all_of_it} --nodeos-sched=hpc {WHEREAMI}")
    found = ranks(r)
    same(
        (r.code, len(machine.cpus - cpus(found[0]["cgroup_cpus"])) if found else r.text),
        (0, 1),
        f"a container of all CPUs leaves one of {every} CPUs outside",
    )
    r = run(f"{all_of_it} --nodeos-cpus={len(machine.cpus)} --nodeos-sched=hpc {WHEREAMI}")
    ok(
        r.code != 0 and "one CPU of the node stays outside" in r.err,
        "a container of every CPU is refused, with the reason",
        r.text,
    )
    m = write(
        "mixed.json",
        pod(
            sim={"container": {"cpus": len(machine.cpus) - 2}, "scheduler": {"policy": "hpc"}},
            vda={"container": {"cpus": 2}},
        ),
    )
    r = run(f"{all_of_it} --nodeos-manifest={m} --nodeos-container=sim {WHEREAMI}")
    found = ranks(r)
    same(
        (r.code, len(cpus(found[0]["cgroup_cpus"])) if found else 0),
        (0, len(machine.cpus) - 2),
        "beside a container of another policy, the class needs no further CPU outside",
    )
    half = len(machine.cpus) // 2
    r = run(
        f"salloc -w n0 -N1 -n{len(machine.cpus)} --exclusive bash -c 'srun -n1 -c{half} --exact"
        f" --nodeos-sched=hpc {WHEREAMI} 20 & sleep 8;srun -n1 -c{half} --exact --nodeos-sched=hpc"
        f" {WHEREAMI}; wait'",
        timeout=300,
    )
    sets = [cpus(x["cgroup_cpus"]) for x in ranks(r)]
    ok(
        len(sets) == 2
        and not sets[0] & sets[1]
        and len(sets[0] | sets[1]) == len(machine.cpus) - 1,
        "two steps together leave one CPU outside",
        r.text,
    )


def group_resized():
    """Resize a live container of SCHED_HPC: its threads keep the class, and one CPU of the node
    stays outside."""
    job = Job(
        {
            "sim": {"container": {"cpus": 8}, "scheduler": {"policy": "hpc"}},
            "vda": {"container": {"cpus": 4}},
        },
        sim="-n2",
    )
    if not ok(
        len(job.tasks("sim")) == 2 and len(job.tasks("vda")) == 1,
        "a job with ranks in both containers runs",
        root(f"cat {HOME}/*.out").text,
    ):
        return

    def others():
        """Threads of sim's ranks in another class. Short-lived ones may have ended."""
        found = []
        for task in job.tasks("sim"):
            for tid in threads_of(task):
                try:
                    found += [tid] if os.sched_getscheduler(tid) != HPC else []
                except ProcessLookupError:
                    pass
        return found

    same(others(), [], "all of sim's threads are in the class")
    for size in (4, 8, 12):
        r, told = resize(f"sim --cpus={size}")
        ok(
            r.code == 0 and len(cpus(told["cpus"]["after"])) == size,
            f"resize sim --cpus={size} gives it {size} threads",
            r.text,
        )
        job.check(f"sim with {size}")
        same(others(), [], f"sim with {size}: all of its threads are in the class")
    r, _ = resize("sim --cpus=4")
    ok(r.code == 0, "resize sim --cpus=4 works again", r.text)
    job.end()
    job = Job({"sim": {"container": {"cpus": 8}, "scheduler": {"policy": "hpc"}}}, vda="")
    before = job.containers()
    r, _ = resize(f"sim --cpus={len(machine.cpus)}")
    ok(
        r.code == 1
        and "no CPU of this node would be left outside of policy" in r.err
        and job.containers() == before,
        "resize sim to every CPU of the node is refused, with the reason",
        r.text,
    )
    r, _ = resize(f"sim --cpus={len(machine.cpus) - 2}")
    ok(
        r.code == 0 and len(job.containers()["sim"][0]) == len(machine.cpus) - 2,
        "resize sim to all but one core works",
        r.text,
    )
    job.end(steps=("sim",))


def group_neighbours():
    """Fair tasks that may run anywhere stay off the ranks' CPUs."""
    hogs = "for i in $(seq 12); do (exec -a hog sh -c 'while :; do :; done') & done"
    root(f"({hogs}) >/dev/null 2>&1 </dev/null &")
    time.sleep(3)
    r = run(f"srun -w n0 -N1 -n4 -c2 --nodeos-cpus=8 --nodeos-sched=hpc {SPIN} 1 1 4", timeout=300)
    found = threads(r)
    alive = int(root("pgrep -fc '^hog '").out or 0)
    root("pkill -f 'while :'")
    ok(
        (r.code, len(found), sum(t.moves for t in found)) == (0, 4, 0),
        "four ranks beside twelve busy programs are never moved",
        r.text,
    )
    # the guard takes the CPU once or twice a second; CFS would switch every 3 ms
    ok(
        all(t.involuntary <= 20 for t in found),
        "four ranks beside twelve busy programs lose their CPUs only to the guard",
        [t.involuntary for t in found],
    )
    ok(alive == 12, "the twelve busy programs survive", alive)


def cancelled(options, number, nodes, policy, what):
    """Seconds until NUMBER spinning ranks on NODES end when their job is cancelled. The loops that
    look for the ranks run on the nodes, as a command from outside would wait for the spinning CPUs.
    """
    each = number // len(nodes)
    job = run(
        f"sbatch --parsable -o {HOME}/cancelled -n{number} -c2 {options} --wrap 'srun -n{number}"
        f" -c2 --nodeos-sched={policy} {SPIN} 1 1 100000'"
    ).out.strip()
    alive = [
        root(
            f"for i in $(seq 300); do n=$(pgrep -xc spin); [ $n -ge {each} ] && break; sleep 0.3;"
            " done; echo $n",
            node=node,
        ).out.strip()
        for node in nodes
    ]
    r = root(
        f"s=$(date +%s%N); scancel {job}; while pgrep -x spin >/dev/null; do sleep 0.1; done;"
        " e=$(date +%s%N); echo took $(( (e - s) / 1000000 ))"
    )
    took = int((re.search(r"took (\d+)", r.out) or [0, 99999])[1]) / 1000
    left = [root("pgrep -xc spin", node=node).out.strip() for node in nodes]
    with open(f"{HOME}/cancelled") as f:
        ok(
            alive == [str(each)] * len(nodes) and set(left) == {"0"},
            f"scancel of {number} spinning ranks of policy {policy}, {what}: gone after"
            f" {took:.1f} s",
            (alive, left, f.read()),
        )
    all_idle("scancel of spinning ranks: the nodes are idle")
    return took


def group_ends():
    """Ranks that spin for ever end when they are cancelled: in 5 s, or, if the host lacks
    processors for the spinning ranks, as soon as ranks of the default class end."""
    for options, number, nodes, what in (
        ("-N2 --exclusive", 16, ["n0", "n1"], "on two nodes"),
        ("-w n0 -N1", 4, ["n0"], "on all CPUs of their job, including that of slurmstepd"),
    ):
        fair, hpc = (cancelled(options, number, nodes, policy, what) for policy in ("other", "hpc"))
        ok(
            hpc < max(5, 1.5 * fair),
            f"ranks of hpc end in {hpc:.1f} s: below 5 s, or as soon as fair ranks ({fair:.1f} s)",
            (fair, hpc),
        )
    # a task that waits behind a spinning task on the same CPU dies, too, before it runs
    spin = f"nodeosctl run --sched=hpc,quantum:0 -- taskset -c 3 {SPIN} 1 1 60"
    r = root(
        f"{spin} & a=$!; sleep 2; {spin} & b=$!; sleep 2; for p in $a $b; do echo on $p $(cut -d' '"
        " -f14,15,39 /proc/$p/stat); done; s=$(date +%s%N); kill -9 $b; wait $b; e=$(date +%s%N);"
        " kill -9 $a; wait $a; echo took $(( (e - s) / 1000000 ))"
    )
    took = int((re.search(r"took (\d+)", r.out) or [0, 99999])[1])
    ok(
        took < 1000 and len(re.findall(r"^on \d+ \d+ \d+ 3$", r.out, re.M)) == 2,
        f"SIGKILL of a task that waits behind a spinning one: {took} ms",
        r.text,
    )


def group_jobs():
    """Two jobs divide a node, and together leave one CPU outside; a request that is too large for
    its half is refused."""
    half = len(machine.cpus) // 2
    r = run(
        f"srun -w n0 -N1 -n1 -c{half} --nodeos-sched=hpc {WHEREAMI} 25 & sleep 10; srun -w n0 -N1"
        f" -n1 -c{half} --nodeos-sched=hpc {WHEREAMI}; wait",
        timeout=300,
    )
    sets = [cpus(x["cgroup_cpus"]) for x in ranks(r)]
    same(
        (len(sets), len(set.union(*sets)) if sets else r.text, sum(map(len, sets))),
        (2, 2 * half - 1, 2 * half - 1),
        "two jobs with half of the node each leave one CPU outside",
    )
    m = write("rest.json", pod(sim={"container": {"cpus": half}, "scheduler": {"policy": "hpc"}}))
    r = run(
        f"srun -w n0 -N1 -n1 -c{half} --nodeos-sched=hpc {WHEREAMI} 25 & sleep 10; srun -w n0 -N1"
        f" -n1 -c{half} --nodeos-manifest={m} --nodeos-container=sim {WHEREAMI}; wait",
        timeout=300,
    )
    ok(
        len(ranks(r)) == 1 and "stays outside of policy" in r.err,
        "a job that requests all of its half is refused, with the reason",
        r.text,
    )


def configure(**keys):
    for node in ("n0", "n1"):
        for key, value in keys.items():
            root(
                f"sed -i '/^{key} = /d' {CONF}"
                + (f"; echo '{key} = {value}' >>{CONF}" if value else ""),
                node=node,
            )


def group_without():
    """On a kernel without the class: the step is refused or gets the site's fallback, never in
    silence."""
    step = f"srun -w n0 -N1 -n1 --nodeos-sched=hpc --nodeos-report=%s.%%j.%%s.%%N {WHEREAMI}"
    configure(hpc_fallback="none")
    r = run(step % "strict")
    ok(
        r.code != 0 and "no such scheduling class" in r.err and "--constraint=sched_hpc" in r.err,
        "strict: the step fails, and names nodes where it would run",
        r.text,
    )
    configure(strict="no")
    r = run(step % "lax")
    same(
        (r.code, [x["policy"] for x in ranks(r)], report("lax").get("outcome")),
        (0, [0], "failed"),
        "strict = no: the step runs, and its report says failed",
    )
    configure(strict=None, hpc_fallback="batch")
    r = run(step % "instead")
    same(
        (r.code, [x["policy"] for x in ranks(r)], report("instead").get("outcome")),
        (0, [3], "modified"),
        "hpc_fallback: the step gets another policy, and its report says modified",
    )
    ok(
        "hpc_fallback" in (report("instead").get("reason") or ""),
        "hpc_fallback: the report has the reason",
        report("instead").get("reason"),
    )
    configure(hpc_fallback="none", default_policy="hpc")
    r = run(f"srun -w n0 -N1 -n1 --nodeos-cpus=2 {WHEREAMI}")
    ok(
        r.code != 0 and "no such scheduling class" in r.err,
        "default_policy = hpc: the step fails with the reason",
        r.text,
    )
    configure(hpc_fallback=None, default_policy=None)


# of the step's directory "user": kind of partition, and its CPUs by the kernel
PARTITION = (
    "d=/sys/fs/cgroup$(dirname $(sed s/^0::// /proc/self/cgroup)); for i in $(seq 100); do"
    " grep -qx root $d/cpuset.cpus.partition && break; sleep 0.1; done;"
    " echo kernel $SLURM_PROCID $(cat $d/cpuset.cpus.partition $d/cpuset.cpus.effective)"
    " $(taskset -cp $$ | cut -d: -f2)"
)


def partition_of(r):
    """[(kind, CPUs of the partition, CPUs of the rank)] of ranks that ran PARTITION."""
    found = re.findall(r"^kernel \d+ (\w+) (\S+) (\S+)$", r.out, re.M)
    return [(kind, cpus(all_cpus), cpus(own)) for kind, all_cpus, own in found]


def group_stock():
    """On a kernel without the class, with nothing configured: the step is a root partition."""
    effective = "cat /sys/fs/cgroup/cpuset.cpus.effective"
    before = root(effective, node="n0").out
    step = "srun -w n0 -N1 --nodeos-sched=hpc --nodeos-report=%s.%%j.%%s.%%N %s bash -c '%s'"
    r = run(step % ("stock", "--exclusive -n7 -c2", PARTITION))
    found = partition_of(r)
    same((r.code, len(found)), (0, 7), "hpc on a stock kernel: the step runs")
    ok(
        all(kind == "root" and own <= whole for kind, whole, own in found),
        "hpc on a stock kernel: the kernel shows a root partition with all ranks in it",
        r.text,
    )
    ok(
        sum(len(own) for _, _, own in found) == len(set().union(*(own for _, _, own in found))),
        "hpc on a stock kernel: no rank has a CPU of another",
        r.text,
    )
    told = report("stock")
    reasons = [o.get("reason") for c in told.get("containers", []) for o in c.get("isolators", [])]
    ok(
        told.get("outcome") == "enforced" and any("by partition" in (x or "") for x in reasons),
        "hpc on a stock kernel: the report says enforced, by partition",
        (told.get("outcome"), told.get("reason"), reasons),
    )
    r = run(step % ("whole", "-n2 -c2", "taskset -cp $$"))
    told = report("whole")
    ok(
        r.code == 0
        and told.get("outcome") == "modified"
        and "the job's last core" in (told.get("reason") or ""),
        "hpc with all CPUs of the job: it runs without a partition, and its report says why",
        (r.text, told.get("outcome"), told.get("reason")),
    )
    script = write(
        "stock.sh",
        f"""#!/bin/bash
cd {HOME}
srun -n4 -c2 --nodeos-sched=hpc --nodeos-cpus=8 bash -c '{PARTITION}; sleep 15' >stock.out &
for i in $(seq 100); do grep -q ^kernel stock.out && break; sleep 0.2; done
srun --overlap -n1 --nodeos-container=none bash -c 'taskset -cp $$' >stock.beside
echo $? >stock.code
wait
cat stock.out
""",
    )
    r = cluster.sbatch(f"-w n0 -N1 --exclusive -o {HOME}/stock.log {script}")
    with open(f"{HOME}/stock.log") as f:
        found = partition_of(cluster.Result(0, f.read(), "", 0))
    with open(f"{HOME}/stock.code") as f:
        code = f.read().strip()
    with open(f"{HOME}/stock.beside") as f:
        beside = cpus(f.read().split(": ")[-1].strip())
    ok(
        r.code == 0 and len(found) == 4 and all(kind == "root" for kind, _, _ in found),
        "a step of a batch job with CPUs of its own is a partition",
        found,
    )
    ok(
        code == "0" and found and beside and not beside & found[0][1],
        "a plain step beside it starts, on other CPUs",
        (code, beside, found),
    )
    all_idle("stock: the nodes are idle")
    same(root(effective, node="n0").out, before, "all CPUs are the system's again")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


STOCK = {"without", "stock"}


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or [
        g for g in GROUPS if (g in STOCK) != cluster.has_hpc()
    ]
    cluster.patient()
    same(
        cluster.has_hpc(),
        not set(names) <= STOCK,
        "the kernel has SCHED_HPC, except for the groups of stock kernels",
    )
    cluster.run_groups(GROUPS, names, broken=lambda: root("pkill -x spin; pkill -f 'while :'"))
    all_idle("hpc: all nodes are idle at the end")
    same(cluster.leftovers(), "", "no ledger entry is left")
    cluster.done()


main()
