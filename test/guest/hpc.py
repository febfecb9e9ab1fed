# SPDX-License-Identifier: GPL-2.0-or-later
# boot: put=chrt
# run: ci limit=900 words sixteen turns
# run: ci kernel=debian limit=600 stock
# run: deep limit=3600
# run: deep kernel=debian limit=1800
# rooms: host launch kernel
"""Test SCHED_HPC through Slurm on a kernel that has it: policy, placement and quantum of ranks and
their threads, the CPU that no container gets, more ranks than CPUs, busy neighbours, and scancel.
Expected values come from sched_getscheduler, getcpu and rusage in the ranks (programs/whereami.c,
programs/spin.c), and from lscpu.

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
    """A thread, from its line in the output of spin.c."""

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
    """Return the report of the step on n0, the only one whose name begins with NAME."""
    files = [f for f in os.listdir(HOME) if f.startswith(f"{name}.")]
    if len(files) != 1:
        return {}
    with open(f"{HOME}/{files[0]}") as f:
        return json.load(f)


def group_words():
    """Test that the ranks and the report have the policy that the option or the manifest
    requests."""
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
            f"--nodeos-sched={word}: the report has the kernel's policy, placement and quantum",
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
        "of two containers of a manifest, only the one that requests SCHED_HPC has it",
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
    """Test 16 ranks of two threads on two nodes: all threads have the policy and are on the CPUs
    planned for their rank."""
    r = run(
        f"srun -N2 -n16 -c2 --nodeos-sched=hpc --nodeos-report=sixteen.%j.%s.%N {SPIN} 2 20",
        timeout=300,
    )
    found = threads(r)
    ok(
        (r.code, len(found), {t.policy for t in found}) == (0, 32, {HPC}),
        "all threads of 16 ranks have the policy hpc",
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
        "each thread of 16 ranks is on a CPU planned for its rank",
    )
    same(sum(t.moves for t in found), 0, "no thread of 16 ranks moves to another CPU")


def group_chrt():
    """Test chrt of util-linux with the patch of contrib/patches, as root and as a user without the
    right."""
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
    """Test that threads start on the CPUs that the placement chooses, stay there, and share no
    CPU."""
    r = run(f"srun -w n0 -N1 -n2 -c4 --nodeos-cpus=8 --nodeos-sched=hpc {SPIN} 4 40 1", timeout=300)
    found = threads(r)
    ok(
        r.code == 0 and len(found) == 8 and all(t.policy == HPC for t in found),
        "8 threads of two ranks have the policy hpc",
        r.text,
    )
    same(
        sorted(len({t.cpu for t in found if t.rank == k}) for k in (0, 1)),
        [4, 4],
        "the four threads of each rank are on four CPUs",
    )
    same(sum(t.moves for t in found), 0, "no thread of two ranks moves to another CPU")
    # the kernel's guard gives waiting fair tasks of a CPU 50 ms a second
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
        "hpc:topo: four threads of a rank with four cores have a core each",
    )
    r = run(
        f"srun -w n0 -N1 -n1 -c8 --nodeos-cpus=8 --nodeos-sched=hpc:user {SPIN} 3 30", timeout=300
    )
    found = threads(r)
    same(
        (r.code, len(found), len({t.cpu for t in found})),
        (0, 3, 1),
        "hpc:user: three threads that do not bind themselves take turns on their parent's CPU",
    )


def group_turns():
    """Test that ranks or threads that spin and wait for each other on fewer CPUs end, thanks to the
    quantum, and that the report shows the quantum."""
    r = run(
        "srun -w n0 -N1 -n4 -O --nodeos-cpus=2 --nodeos-sched=hpc --nodeos-report=turns.%j.%s.%N"
        f" {SPIN} 1 1 1",
        timeout=300,
    )
    ok(r.code == 0 and len(threads(r)) == 4, "four ranks on two CPUs end", r.text)
    told = report("turns")
    ok(
        told.get("outcome") == "modified" and "turns of 10 ms" in (told.get("reason") or ""),
        "four ranks on two CPUs: the report says modified, since the ranks take turns",
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
    """Test that one CPU of the node gets no rank of SCHED_HPC."""
    every = ",".join(map(str, sorted(machine.cpus)))
    all_of_it = f"srun -w n0 -N1 -n1 -c{len(machine.cpus)} --exclusive"
    r = run(f"{all_of_it} --nodeos-sched=hpc {WHEREAMI}")
    found = ranks(r)
    same(
        (r.code, len(machine.cpus - cpus(found[0]["cgroup_cpus"])) if found else r.text),
        (0, 1),
        f"a container with policy hpc that takes all CPUs leaves out one of {every}",
    )
    r = run(f"{all_of_it} --nodeos-cpus={len(machine.cpus)} --nodeos-sched=hpc {WHEREAMI}")
    ok(
        r.code != 0 and "one CPU of the node stays outside" in r.err,
        "a container with policy hpc that requests every CPU is refused with the reason",
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
        "beside a container of another policy, a container with policy hpc leaves out no CPU",
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
        "two steps with policy hpc together leave out one CPU",
        r.text,
    )


def group_resized():
    """Test that the threads of a live container with policy hpc keep the class when it is resized,
    and that one CPU of the node is left out."""
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
        """Return the threads of sim's ranks that are in another class. A thread that has ended is
        ignored."""
        found = []
        for task in job.tasks("sim"):
            for tid in threads_of(task):
                try:
                    found += [tid] if os.sched_getscheduler(tid) != HPC else []
                except ProcessLookupError:
                    pass
        return found

    same(others(), [], "before a resize, all threads of sim have SCHED_HPC")
    for size in (4, 8, 12):
        r, told = resize(f"sim --cpus={size}")
        ok(
            r.code == 0 and len(cpus(told["cpus"]["after"])) == size,
            f"resize sim --cpus={size} gives sim {size} hardware threads",
            r.text,
        )
        job.check(f"sim with {size}")
        same(others(), [], f"after resize sim --cpus={size}, all threads of sim have SCHED_HPC")
    r, _ = resize("sim --cpus=4")
    ok(r.code == 0, "resize sim --cpus=4 succeeds after sim had 12 CPUs", r.text)
    job.end()
    job = Job({"sim": {"container": {"cpus": 8}, "scheduler": {"policy": "hpc"}}}, vda="")
    before = job.containers()
    r, _ = resize(f"sim --cpus={len(machine.cpus)}")
    ok(
        r.code == 1
        and "no CPU of this node would be left outside of policy" in r.err
        and job.containers() == before,
        "resize of sim to every CPU of the node is refused with the reason",
        r.text,
    )
    r, _ = resize(f"sim --cpus={len(machine.cpus) - 2}")
    ok(
        r.code == 0 and len(job.containers()["sim"][0]) == len(machine.cpus) - 2,
        "resize of sim to all cores but one succeeds",
        r.text,
    )
    job.end(steps=("sim",))


def group_neighbours():
    """Test that fair tasks that may run on all CPUs stay off the CPUs of the ranks."""
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
    # the kernel's guard takes the CPU once or twice a second; CFS would switch every 3 ms
    ok(
        all(t.involuntary <= 20 for t in found),
        "four ranks beside twelve busy programs lose their CPUs only to the guard",
        [t.involuntary for t in found],
    )
    ok(alive == 12, "the twelve busy programs still run in the end", alive)


def cancelled(options, number, nodes, policy, what):
    """Cancel a job of NUMBER spinning ranks on NODES. Returns the seconds until all ranks have
    ended. Loops on the nodes look for the ranks, since each command from outside would wait for
    busy CPUs.
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
            f"scancel ends {number} spinning ranks of policy {policy} {what} after {took:.1f} s",
            (alive, left, f.read()),
        )
    all_idle("scancel of spinning ranks: the nodes become idle")
    return took


def group_ends():
    """Test that cancelled ranks that spin for ever end within 5 s, or as soon as ranks of the
    default class if the host has too few processors for them."""
    for options, number, nodes, what in (
        ("-N2 --exclusive", 16, ["n0", "n1"], "on two nodes"),
        ("-w n0 -N1", 4, ["n0"], "on all CPUs of their job"),
    ):
        fair, hpc = (cancelled(options, number, nodes, policy, what) for policy in ("other", "hpc"))
        ok(
            hpc < max(5, 1.5 * fair),
            f"cancelled ranks of policy hpc end in 5 s, or as soon as fair ones: {hpc:.1f} s,"
            f" {fair:.1f} s",
            (fair, hpc),
        )
    # a task that waits behind a spinning task on the same CPU can be killed, too
    spin = f"nodeosctl run --sched=hpc,quantum:0 -- taskset -c 3 {SPIN} 1 1 60"
    r = root(
        f"{spin} & a=$!; sleep 2; {spin} & b=$!; sleep 2; for p in $a $b; do echo on $p $(cut -d' '"
        " -f14,15,39 /proc/$p/stat); done; s=$(date +%s%N); kill -9 $b; wait $b; e=$(date +%s%N);"
        " kill -9 $a; wait $a; echo took $(( (e - s) / 1000000 ))"
    )
    took = int((re.search(r"took (\d+)", r.out) or [0, 99999])[1])
    ok(
        took < 1000 and len(re.findall(r"^on \d+ \d+ \d+ 3$", r.out, re.M)) == 2,
        f"SIGKILL ends a task that waits behind a spinning one within 1 s: {took} ms",
        r.text,
    )


def group_jobs():
    """Test that two jobs with policy hpc on half a node each leave out one CPU together, and that a
    request that is too large for its half is refused."""
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
        "two jobs with policy hpc on half of the node each leave out one CPU",
    )
    m = write("rest.json", pod(sim={"container": {"cpus": half}, "scheduler": {"policy": "hpc"}}))
    r = run(
        f"srun -w n0 -N1 -n1 -c{half} --nodeos-sched=hpc {WHEREAMI} 25 & sleep 10; srun -w n0 -N1"
        f" -n1 -c{half} --nodeos-manifest={m} --nodeos-container=sim {WHEREAMI}; wait",
        timeout=300,
    )
    ok(
        len(ranks(r)) == 1 and "stays outside of policy" in r.err,
        "the second job's container of half of the node is refused with the reason",
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
    """Test a kernel without SCHED_HPC: a step with policy hpc is refused with a message, or gets
    the site's fallback, which its report shows."""
    step = f"srun -w n0 -N1 -n1 --nodeos-sched=hpc --nodeos-report=%s.%%j.%%s.%%N {WHEREAMI}"
    configure(hpc_fallback="none")
    r = run(step % "strict")
    ok(
        r.code != 0 and "no such scheduling class" in r.err and "--constraint=sched_hpc" in r.err,
        "strict = yes: the step fails, and the message says how to get nodes with SCHED_HPC",
        r.text,
    )
    configure(strict="no")
    r = run(step % "lax")
    same(
        (r.code, [x["policy"] for x in ranks(r)], report("lax").get("outcome")),
        (0, [0], "failed"),
        "strict = no: the step runs with another policy, and its report says failed",
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
        "hpc_fallback: the report names hpc_fallback as the reason",
        report("instead").get("reason"),
    )
    configure(hpc_fallback="none", default_policy="hpc")
    r = run(f"srun -w n0 -N1 -n1 --nodeos-cpus=2 {WHEREAMI}")
    ok(
        r.code != 0 and "no such scheduling class" in r.err,
        "default_policy = hpc: a step on a kernel without SCHED_HPC fails with the reason",
        r.text,
    )
    configure(hpc_fallback=None, default_policy=None)


# shell commands that print the kind of partition of the step's cgroup "user", its CPUs, and the
# CPUs of the rank
PARTITION = (
    "d=/sys/fs/cgroup$(dirname $(sed s/^0::// /proc/self/cgroup)); for i in $(seq 100); do"
    " grep -qx root $d/cpuset.cpus.partition && break; sleep 0.1; done;"
    " echo kernel $SLURM_PROCID $(cat $d/cpuset.cpus.partition $d/cpuset.cpus.effective)"
    " $(taskset -cp $$ | cut -d: -f2)"
)


def partition_of(r):
    """Return [(kind, CPUs of the partition, CPUs of the rank)] of the ranks that ran PARTITION."""
    found = re.findall(r"^kernel \d+ (\w+) (\S+) (\S+)$", r.out, re.M)
    return [(kind, cpus(all_cpus), cpus(own)) for kind, all_cpus, own in found]


def group_stock():
    """Test that a step with policy hpc is a root partition on a kernel without SCHED_HPC, with the
    default nodeos.conf."""
    effective = "cat /sys/fs/cgroup/cpuset.cpus.effective"
    before = root(effective, node="n0").out
    step = "srun -w n0 -N1 --nodeos-sched=hpc --nodeos-report=%s.%%j.%%s.%%N %s bash -c '%s'"
    r = run(step % ("stock", "--exclusive -n7 -c2", PARTITION))
    found = partition_of(r)
    same((r.code, len(found)), (0, 7), "hpc on a stock kernel: all seven ranks run")
    ok(
        all(kind == "root" and own <= whole for kind, whole, own in found),
        "hpc on a stock kernel: the kernel shows a root partition with all ranks in it",
        r.text,
    )
    ok(
        sum(len(own) for _, _, own in found) == len(set().union(*(own for _, _, own in found))),
        "hpc on a stock kernel: no two ranks share a CPU",
        r.text,
    )
    told = report("stock")
    waits = told.get("waits", {})
    ok(
        0 <= waits.get("waited_us", -1) and waits.get("ran_us", 0) > 0,
        "hpc on a stock kernel: the report has the time that ranks waited for CPUs",
        waits,
    )
    reasons = [o.get("reason") for c in told.get("containers", []) for o in c.get("isolators", [])]
    ok(
        told.get("outcome") == "enforced"
        and any("by partition" in (x or "") and "missing: placement topo" in x for x in reasons),
        "hpc on a stock kernel: the report says enforced, by partition, and what is missing",
        (told.get("outcome"), told.get("reason"), reasons),
    )
    hogs = "for i in $(seq 16); do timeout 60 sh -c 'while :; do :; done' & done"
    root(f"({hogs}) >/dev/null 2>&1 </dev/null &")
    r = run(step % ("whole", "-n2 -c2", 'timeout 4 sh -c "while :; do :; done"; true'))
    root("pkill -f 'while :'")
    told = report("whole")
    waits = told.get("waits", {})
    ok(
        waits.get("waited_us", 0) > 1000,
        "hpc with all CPUs of the job, beside busy programs: the report has the time that ranks"
        " waited",
        waits,
    )
    ok(
        r.code == 0
        and told.get("outcome") == "modified"
        and "the job's last core" in (told.get("reason") or ""),
        "hpc with all CPUs of the job: the step runs without a partition, and its report says why",
        (r.text, told.get("outcome"), told.get("reason")),
    )
    m = write("all.json", pod(sim={"container": {}, "scheduler": {"policy": "hpc"}}))
    script = write(
        "all.sh",
        f"#!/bin/bash\ncd {HOME}\nsrun -n7 bash -c '{PARTITION}'\n"
        "srun -n8 -c2 bash -c 'echo all $(taskset -cp $$ | cut -d: -f2)'\n",
    )
    r = cluster.sbatch(
        f"-w n0 -N1 --exclusive -n16 --nodeos-manifest={m} -o {HOME}/all.log {script}"
    )
    with open(f"{HOME}/all.log") as f:
        text = f.read()
    found = partition_of(cluster.Result(0, text, "", 0))
    ok(
        len(found) == 7
        and all(
            kind == "root" and own <= whole and whole == machine.cpus - {min(machine.cpus)}
            for kind, whole, own in found
        ),
        "a container of all CPUs of a batch job: a step of seven ranks is a partition without the"
        " first CPU",
        text,
    )
    same(
        len(re.findall(r"^all [\d,-]+$", text, re.M)),
        8,
        "a container of all CPUs of a batch job: a step of all CPUs runs without a partition",
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
        "a plain step beside the partition of a batch job's step runs on other CPUs",
        (code, beside, found),
    )
    all_idle("stock: the nodes become idle")
    same(
        root(effective, node="n0").out,
        before,
        "after the partitions, the root cgroup has all its CPUs again",
    )


# shell commands that print every setting that partition_quiet changes, as FILE:VALUE or THREAD:CPUS
SETTINGS = (
    "cd /; grep . proc/irq/*/smp_affinity_list proc/irq/default_smp_affinity"
    " proc/sys/kernel/numa_balancing proc/sys/vm/compaction_proactiveness"
    " sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"
    " sys/devices/virtual/workqueue/cpumask_requested; for t in khugepaged kswapd0 kcompactd0; do"
    " echo $t:$(taskset -cp $(pgrep -x $t) | cut -d: -f2); done"
)


def settings():
    lines = root(SETTINGS, node="n0").out.splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def quiet_step(name, end):
    """Run a step with partition_quiet, and end it by END(job). Returns the settings during the
    step, and the CPUs of the partition."""
    m = write(f"{name}.json", pod(sim={"container": {"cpus": 8}, "scheduler": {"policy": "hpc"}}))
    job = run(
        f"sbatch --parsable -o {HOME}/{name}.log -w n0 -N1 --exclusive -n16 --nodeos-manifest={m}"
        f" --wrap 'srun -n4 -c2 {SPIN} 1 1 1000'"
    ).out.strip()
    root(
        "for i in $(seq 200); do n=$(pgrep -xc spin); [ $n -ge 4 ] && break; sleep 0.3; done;"
        " sleep 3",
        node="n0",
    )
    during = settings()
    taken = cpus(
        root(
            "cat $(dirname $(find /sys/fs/cgroup -path '*step_0/user/cpuset.cpus.partition'))"
            "/cpuset.cpus.effective",
            node="n0",
        ).out.strip()
    )
    end(job)
    all_idle(f"{name}: the nodes become idle after the step")
    return during, taken


def killed_step(job):
    """Kill the slurmstepd of the job's step 0 and its ranks, then cancel the job."""
    root(f"pkill -9 -f '^slurmstepd: \\[{job}\\.0\\]'; pkill -9 -x spin; sleep 1", node="n0")
    root(f"scancel {job}")


def group_quiet():
    """Test partition_quiet: while a partition lives, settings keep the kernel's work off its CPUs.
    Afterwards all settings are as before, also after a kill of slurmstepd."""
    configure(partition_quiet="irqs, kthreads, memory, idle")
    before = settings()
    during, taken = quiet_step("quiet", lambda job: root(f"scancel {job}"))
    after = settings()
    irqs = [k for k in during if k.startswith("proc/irq/") and k.endswith("_list")]
    busy = [k for k in irqs if cpus(during[k]) & taken]
    fixed = [k for k in irqs if during[k] == before.get(k)]
    ok(
        len(taken) == 8 and len(irqs) > len(busy) and set(busy) <= set(fixed),
        f"partition_quiet: all movable interrupts are off the partition: {len(irqs) - len(busy)}"
        f" of {len(irqs)}",
        (taken, busy, during),
    )
    ok(
        not any(cpus(during[t].strip()) & taken for t in ("khugepaged", "kcompactd0")),
        "partition_quiet: kernel threads that can be moved are off the partition",
        during,
    )
    same(
        [
            during.get(f"proc/sys/{k}", "0")
            for k in ("kernel/numa_balancing", "vm/compaction_proactiveness")
        ],
        ["0", "0"],
        "partition_quiet: NUMA balancing and proactive compaction are off",
    )
    latency = "sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us"
    same(
        [k for k in machine.cpus if during.get(latency % k) == "10"],
        sorted(taken),
        "partition_quiet: only CPUs of the partition stay out of deep idle states",
    )
    mask = int(during["sys/devices/virtual/workqueue/cpumask_requested"].replace(",", ""), 16)
    same(
        [c for c in taken if mask >> c & 1],
        [],
        "partition_quiet: unbound workqueues are off the partition's CPUs",
    )
    same(after, before, "partition_quiet: after the step all settings are as before")
    during, _ = quiet_step("killed", killed_step)
    ok(during != before, "partition_quiet: a second step changes the settings again", during)
    same(
        settings(), before, "partition_quiet: after a kill of slurmstepd all settings are as before"
    )
    same(
        root("ls /run/nodeos | grep -c undo", node="n0").out.strip(),
        "0",
        "partition_quiet: no journal of changes is left in /run/nodeos",
    )
    configure(partition_quiet=None)


# a program that prints "NAME: SECONDS" for each kind of work that the kernel does on every CPU
WORK = """
import ctypes, os, subprocess, time
def put(path, text):
    with open(path, "w") as f:
        f.write(text)
def fsync():
    fd = os.open("/var/tmp/waits", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x" * 4096)
    os.fsync(fd)
    os.close(fd)
def module():
    subprocess.run("modprobe -r dummy; modprobe dummy", shell=True, check=True)
libc = ctypes.CDLL(None)
WORK = {
    "a kworker on each CPU": lambda: put("/proc/sys/vm/stat_refresh", "1"),
    "an RCU grace period": lambda: libc.syscall(324, 1, 0, 0),
    "lru_add_drain_all": lambda: put("/proc/sys/vm/compact_memory", "1"),
    "an fsync": fsync,
}
if subprocess.run("modprobe dummy", shell=True, stderr=subprocess.DEVNULL).returncode == 0:
    WORK["a module load"] = module
for name, work in WORK.items():
    times = []
    for i in range(3):
        start = time.monotonic()
        work()
        times.append(time.monotonic() - start)
    print(f"{name}: {max(times):.2f}", flush=True)
"""


def kernel_work():
    """Return how many seconds each kind of WORK takes on n0 now: {name: the longest of three}."""
    with open(f"{HOME}/work.py", "w") as f:
        f.write(WORK)
    # run Python on a CPU outside of the partition, so that only the kernel's work waits
    rest = "$(sed 's/.*[-,]//' /sys/fs/cgroup/cpuset.cpus.effective)"
    r = root(f"taskset -c {rest} python3 {HOME}/work.py", timeout=300, node="n0")
    return {k: float(v) for k, v in re.findall(r"^(.*): ([\d.]+)$", r.out, re.M)}


def work_beside(options, what):
    """Return the times of the kernel's work while ranks spin on all CPUs except the first core."""
    number = (len(machine.cpus) - 2) // 2  # one rank a core, with a thread on each CPU
    job = run(
        f"sbatch --parsable -o {HOME}/beside.log -w n0 -N1 --exclusive -n{len(machine.cpus)}"
        f" --wrap 'srun -n{number} -c2 {options} {SPIN} 2 1 1000'"
    ).out.strip()
    alive = root(
        f"for i in $(seq 200); do n=$(pgrep -xc spin); [ $n -ge {number} ] && break; sleep 0.3;"
        " done; sleep 2; echo $n; cat /sys/fs/cgroup/cpuset.cpus.effective",
        node="n0",
    ).out.split()
    times = kernel_work()
    root(f"scancel {job}")
    all_idle(f"{what}: the nodes become idle afterwards")
    cluster.note(f"{what}: {times}")
    ok(
        len(alive) == 2 and alive[0] == str(number) and len(times) >= 4,
        f"{what}: {number} ranks spin while the kernel's work is timed",
        (alive, times, root(f"cat {HOME}/beside.log").text),
    )
    return times


def group_waits():
    """Test that policy hpc does not keep kernel threads waiting: while ranks spin in their
    partition, the kernel's work on each of their CPUs takes less than a second longer than without
    ranks. Runs only if named."""
    alone = kernel_work()
    cluster.note(f"the kernel's work without ranks: {alone}")
    beside = work_beside("--nodeos-sched=hpc", "ranks of policy hpc")
    for name, seconds in beside.items():
        ok(
            seconds < alone.get(name, 0) + 1,
            f"{name} takes less than a second longer beside ranks of policy hpc",
            (alone.get(name), seconds),
        )


def group_fifo():
    """Print the times of the kernel's work beside ranks of SCHED_FIFO in a partition. They show why
    policy hpc is not SCHED_FIFO on a stock kernel. Runs only if named."""
    configure(allow_policies="other, batch, idle, hpc, fifo", allow_partitions="member, root")
    m = write(
        "fifo.json",
        pod(
            sim={
                "container": {"cpus": len(machine.cpus) - 2, "partition": "root"},
                "scheduler": {"policy": "fifo", "priority": "1"},
            }
        ),
    )
    work_beside(f"--nodeos-manifest={m}", "ranks of SCHED_FIFO 1")
    configure(allow_policies=None, allow_partitions=None)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


STOCK = {"without", "stock", "quiet"}
BY_NAME = {"waits", "fifo"}


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or [
        g for g in GROUPS if (g in STOCK) != cluster.has_hpc() and g not in BY_NAME
    ]
    cluster.patient()
    same(
        cluster.has_hpc(),
        not set(names) <= STOCK | BY_NAME,
        "the kernel has SCHED_HPC exactly if the named groups need it",
    )
    cluster.run_groups(GROUPS, names, broken=lambda: root("pkill -x spin; pkill -f 'while :'"))
    all_idle("hpc: all nodes are idle at the end")
    same(cluster.leftovers(), "", "hpc: no ledger entry is left")
    cluster.done()


main()
