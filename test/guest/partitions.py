#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=600 made left
# run: deep limit=3600
# rooms: container host launch control
"""Test containers that are cpuset partitions: their state in the kernel, steps of every kind beside
them, refusals, and that nothing is left. "partitions.py GROUP..." runs only these groups."""

import json
import os
import sys
import time

import cluster
from cluster import HOME, WHEREAMI, all_idle, cpus, leftovers, ok, plan, ranks, run, same, sbatch
from containers import pod, write
from livejob import Job, delete, resize

CONF = "/etc/nodeos/nodeos.conf"
DIR = f"{HOME}/part"
ISO = {
    "iso": {"container": {"cpus": 4, "partition": "isolated"}},
    "own": {"container": {"cpus": 4, "partition": "root"}},
    "plain": {"container": {"cpus": 4}},
}
SMALL = {"iso": ISO["iso"], "plain": ISO["plain"]}
# a rank that writes its cgroup to a file, prints its place, and stays for some seconds
SHOW = (
    f"bash -c 'cut -d: -f3 /proc/self/cgroup >{DIR}/$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURMD_NODENAME;"
    f" exec {WHEREAMI} {{stay}}'"
)


def on(node, command):
    return run(command, user="root", node=node)


def exclusive(node="n0"):
    """Return the exclusive CPUs of the cgroups above all jobs."""
    return on(
        node,
        "for f in $(find /sys/fs/cgroup -path '*job_*' -prune -o -name cpuset.cpus.exclusive"
        " -print); do cat $f; done",
    ).out.strip()


WORKQUEUES = "/sys/devices/virtual/workqueue/cpumask_requested"


def isolated(node="n0"):
    return cpus(on(node, "cat /sys/fs/cgroup/cpuset.cpus.isolated").out.strip())


def clean(what):
    all_idle(f"{what}: all nodes become idle")
    same(leftovers(), "", f"{what}: the ledger is empty")
    same([exclusive(n) for n in ("n0", "n1")], ["", ""], f"{what}: no exclusive CPUs are left")
    same([isolated(n) for n in ("n0", "n1")], [set(), set()], f"{what}: no isolated CPUs are left")
    same(
        [on(n, f"cat {WORKQUEUES}").out.strip() for n in ("n0", "n1")],
        ["ffff", "ffff"],
        f"{what}: the kernel's workqueues have all CPUs again",
    )


def read(name):
    try:
        with open(f"{DIR}/{name}") as f:
            return f.read()
    except OSError:
        return ""


def group_made():
    """Test that an isolated container on two nodes is a partition on each node, by the kernel's
    files."""
    manifest = write("part/iso.json", pod(**ISO))
    want = plan(manifest)
    script = write(
        "part/made.sh",
        f"""#!/bin/bash
cd {DIR}
srun -N2 -n4 --nodeos-container=iso --nodeos-report=made.%s.%N.json \
{SHOW.format(stay=600)} >made.out &
for i in $(seq 100); do [ $(grep -c '^@' made.out) -ge 4 ] && break; sleep 0.2; done
for n in n0 n1; do
  srun -N1 -n1 -w $n --overlap bash -c '\
d=/sys/fs/cgroup$(dirname $(cat $SLURM_JOB_ID.0.$SLURMD_NODENAME))
  for i in $(seq 40); do grep -qx isolated $d/cpuset.cpus.partition && break; sleep 0.1; done
  echo $SLURMD_NODENAME $(cat $d/cpuset.cpus.partition) $(cat $d/cpuset.cpus.effective) \
$(cat /sys/fs/cgroup/cpuset.cpus.isolated) $(cat {WORKQUEUES})' \
>>made.kernel
done
scancel $SLURM_JOB_ID.0
wait
true
""",
    )
    r = sbatch(f"-N2 --exclusive --nodeos-manifest={manifest} -o {DIR}/made.log {script}")
    same(r.code, 0, "a job with an isolated container ends with success")
    found = ranks(cluster.Result(0, read("made.out"), "", 0))
    ok(
        len(found) == 4 and all(cpus(x["cpus"]) <= cpus(want["iso"]["cpus"]) for x in found),
        "the ranks of an isolated container are on its CPUs",
        read("made.log") + read("made.out")[-400:],
    )
    lines = [line.split() for line in read("made.kernel").splitlines()]
    ok(
        [x[:2] for x in lines] == [["n0", "isolated"], ["n1", "isolated"]]
        and all(cpus(x[2]) == cpus(want["iso"]["reserved"]) == cpus(x[3]) for x in lines),
        "the kernel shows an isolated partition with exactly the container's CPUs",
        read("made.kernel") + read("made.log"),
    )
    ok(
        all(
            {i for i in range(16) if int(x[4], 16) >> i & 1} == set(range(16)) - cpus(x[3])
            for x in lines
        ),
        "the kernel's workqueues do not use the CPUs of the partition",
        read("made.kernel"),
    )
    reports = [
        json.loads(read(f))
        for f in sorted(os.listdir(DIR))
        if f.startswith("made.") and f.endswith(".json")
    ]
    ok(
        len(reports) == 2
        and all(x["outcome"] == "enforced" for x in reports)
        and all(
            {c["name"]: c["partition"] for c in x["containers"]}
            == {"iso": "isolated", "own": "root", "plain": "member"}
            for x in reports
        ),
        "the reports have the kind of partition of each container",
        [(x["outcome"], x.get("reason"), x.get("error")) for x in reports],
    )
    clean("one partition")


SIBLINGS = {
    "-c 2": (f"srun -n1 -c2 --overlap --nodeos-container=plain {WHEREAMI}", "plain"),
    "--exact": (f"srun -n2 -c1 --exact --overlap --nodeos-container=plain {WHEREAMI}", "plain"),
    "--overlap": (f"srun -n2 --overlap --nodeos-container=plain {WHEREAMI}", "plain"),
    "none": (f"srun -n1 --overlap --nodeos-container=none {WHEREAMI}", None),
    "rest": (f"srun -n2 --overlap {WHEREAMI}", None),
    "nodeos off": (f"srun -n2 --overlap --nodeos=off {WHEREAMI}", None),
    "bound by Slurm": (f"srun -n8 --overlap --nodeos=off --cpu-bind=cores {WHEREAMI}", None),
    "another partition": (f"srun -n2 --overlap --nodeos-container=own {WHEREAMI}", "own"),
}


def beside(tag, options, manifest, want):
    """Start sibling steps of every kind beside a live partition: none fails, and after each the
    partition is valid again."""
    steps = "".join(
        f"{command} >{tag}.{i}.out 2>{tag}.{i}.err; echo $? >{tag}.{i}.rc\nfor k in $(seq 50); do"
        " grep -qx isolated $d/cpuset.cpus.partition && break; sleep 0.1; done; cat"
        f" $d/cpuset.cpus.partition >{tag}.{i}.state\n"
        for i, (command, _) in enumerate(SIBLINGS.values())
    )
    script = write(
        f"part/{tag}.sh",
        f"""#!/bin/bash
cd {DIR}
srun -n2 --overlap --nodeos-container=iso {SHOW.format(stay=600)} >{tag}.iso.out 2>{tag}.iso.err &
for i in $(seq 200); do [ $(grep -c '^@' {tag}.iso.out) -ge 2 ] && break; sleep 0.2; done
d=/sys/fs/cgroup$(dirname $(cat $SLURM_JOB_ID.0.$SLURMD_NODENAME))
{steps}
srun -n1 --overlap --nodeos-container=iso hostname >{tag}.again 2>&1; echo $? >>{tag}.again
scancel $SLURM_JOB_ID.0
wait
true
""",
    )
    r = sbatch(f"{options} --nodeos-manifest={manifest} -o {DIR}/{tag}.log {script}")
    same(r.code, 0, f"{tag}: the job ends with success")
    for i, (what, (_, where)) in enumerate(SIBLINGS.items()):
        got = ranks(cluster.Result(0, read(f"{tag}.{i}.out"), "", 0))
        ok(
            read(f"{tag}.{i}.rc").strip() == "0" and got,
            f'{tag}: the sibling step "{what}" runs',
            read(f"{tag}.{i}.err") + read(f"{tag}.log"),
        )
        if where:
            ok(
                all(cpus(x["cpus"]) <= cpus(want[where]["cpus"]) for x in got),
                f'{tag}: the sibling step "{what}" is in its container',
                [x["cpus"] for x in got],
            )
        same(
            read(f"{tag}.{i}.state").strip(),
            "isolated",
            f'{tag}: after the sibling step "{what}", the partition is isolated again',
        )
    ok(
        "one step at a time" in read(f"{tag}.again") and read(f"{tag}.again").strip().endswith("1"),
        f"{tag}: a second step in the partition is refused",
        read(f"{tag}.again"),
    )
    clean(tag)


def group_beside():
    manifest = write("part/iso.json", pod(**ISO))
    beside("whole", "-N1 -w n0 --exclusive", manifest, plan(manifest))


def group_half():
    # let another job have the first half of the node
    r = run("sbatch --parsable -w n0 -n4 -c2 --wrap 'sleep 900'")
    half(write("part/small.json", pod(**SMALL)))
    run(f"scancel {r.out.strip()}")
    clean("half a node")


def half(manifest):
    """Test a live partition in half of a node, beside another job: sibling steps run, and the ranks
    are on the CPUs that the report has."""
    script = write(
        "part/half.sh",
        f"""#!/bin/bash
cd {DIR}
srun -n2 --overlap --nodeos-container=iso --nodeos-report=half.%s.%N.json \
{SHOW.format(stay=600)} >half.iso.out 2>half.iso.err &
for i in $(seq 200); do [ $(grep -c '^@' half.iso.out) -ge 2 ] && break; sleep 0.2; done
d=/sys/fs/cgroup$(dirname $(cat $SLURM_JOB_ID.0.$SLURMD_NODENAME))
for o in '-c2 --nodeos-container=plain' '--exact --nodeos-container=plain' \
'--nodeos=off' '--nodeos=off --cpu-bind=cores'; do
  srun -n1 --overlap $o {WHEREAMI} >>half.out 2>>half.err; echo $? >>half.rc
  for k in $(seq 50); do grep -qx isolated $d/cpuset.cpus.partition && break; sleep 0.1; done; \
cat $d/cpuset.cpus.partition >>half.state
done
scancel $SLURM_JOB_ID.0
wait
true
""",
    )
    r = sbatch(f"-N1 -w n0 -n4 -c2 --nodeos-manifest={manifest} -o {DIR}/half.log {script}")
    same(r.code, 0, "half: the job ends with success")
    ok(
        read("half.rc").split() == ["0"] * 4,
        "half: every sibling step runs",
        read("half.err")[-900:],
    )
    same(
        read("half.state").split(),
        ["isolated"] * 4,
        "half: the partition is isolated again after every sibling step",
    )
    found = ranks(cluster.Result(0, read("half.iso.out"), "", 0))
    chosen = {
        c["name"]: c for c in json.loads(read("half.0.n0.json") or "{}").get("containers", [])
    }
    ok(
        found and chosen and all(cpus(x["cpus"]) <= cpus(chosen["iso"]["cpus"]) for x in found),
        "half: the ranks of the partition are on the CPUs that the report has",
        read("half.iso.err")[-900:],
    )


def group_ended():
    """Test steps with containers of their own that follow each other: srun returns before
    slurmstepd has removed the partition."""
    iso = write("part/own.json", pod(iso={"container": {"cpus": 2, "partition": "isolated"}}))
    steps = (
        f"srun -n1 -c4 --overlap --nodeos-manifest={iso} {WHEREAMI}; srun -n1 -c1 --overlap"
        f" --nodeos-cpus=1 {WHEREAMI}\n"
    )
    r = run(f"salloc -w n0 -N1 -n1 -c4 bash {write('part/ended.sh', steps * 5)}", timeout=300)
    ok(
        r.code == 0 and len(ranks(r)) == 10,
        "ten steps in a row run in containers of their own; every second container is a partition",
        r.text[-900:],
    )
    clean("steps that follow each other")
    # two steps may have containers of the same name
    both = (
        f"srun -n1 -c4 --exact --nodeos-manifest={iso} {WHEREAMI} 4 & srun -n1 -c4 --exact"
        f" --nodeos-manifest={iso} {WHEREAMI} 4 & wait\n"
    )
    r = run(f"salloc -w n0 -N1 -n2 -c4 bash {write('part/same.sh', both)}")
    ok(
        len(ranks(r)) == 2,
        "two steps whose containers have the same name, and are partitions, run at the same time",
        r.text[-900:],
    )
    clean("two step containers of one name")


def group_left():
    """Test that a leftover cgroup of an ended job prevents a partition, with a message."""
    whole = write("part/four.json", pod(iso=ISO["iso"], plain=ISO["plain"]))
    first = min(cpus(plan(whole)["iso"]["reserved"]))
    on(
        "n0",
        "d=$(dirname $(find /sys/fs/cgroup -maxdepth 4 -name system -path '*slurmstepd*')); mkdir"
        f" $d/job_4444; echo {first} >$d/job_4444/cpuset.cpus",
    )
    step = (
        f"srun -w n0 --exclusive -N1 -n1 -c16 --nodeos-manifest={whole} --nodeos-container=iso"
        f" {WHEREAMI}"
    )
    r = run(step)
    ok(
        r.code != 0 and "job_4444" in r.text and "left by an ended job" in r.text,
        "a partition that needs CPUs of a leftover cgroup is refused, and the message names the"
        " cgroup",
        r.text[-600:],
    )
    on("n0", "rmdir $(find /sys/fs/cgroup -name job_4444)")
    r = run(step)
    ok(
        r.code == 0 and len(ranks(r)) == 1,
        "after the leftover cgroup is removed, the partition starts",
        r.text[-600:],
    )
    # an unreadable entry of the ledger must not prevent the removal of partitions
    on("n0", "echo nonsense >/run/nodeos/job-4444")
    run(step)
    on("n0", "rm /run/nodeos/job-4444")
    clean("leftovers")


def group_refused():
    manifest = write("part/iso.json", pod(**ISO))
    everything = write("part/all.json", pod(all={"container": {"partition": "isolated"}}))
    small = write("part/small.json", pod(**SMALL))
    r = run(f"srun -w n0 --exclusive -N1 -n1 -c16 --nodeos-manifest={everything} echo alive")
    ok(
        r.code == 1 and "leave one core out" in r.text and "alive" not in r.out,
        "a partition of the whole job is refused",
        r.text,
    )
    r = run(
        f"srun -w n0 --exclusive -N1 -n2 -c8 --nodeos-manifest={manifest}"
        " --nodeos-container=iso:0,own:1 echo alive"
    )
    ok(
        r.code == 1 and "start a step whose ranks are" in r.text and "alive" not in r.out,
        "two partitions in one step are refused",
        r.text,
    )
    r = run(f"srun -w n0 -N1 -n1 -c8 --nodeos-manifest={small} --nodeos-container=iso {WHEREAMI}")
    ok(
        r.code == 0 and len(ranks(r)) == 1,
        "a step whose container is a partition runs in a job of half a node",
        r.text[-800:],
    )
    for node in ("n0", "n1"):
        on(node, f"sed -i '/^allow_partitions/d' {CONF}")
    r = run(
        f"srun -w n0 --exclusive -N1 -n1 --nodeos-manifest={manifest} --nodeos-container=plain echo"
        " alive"
    )
    ok(
        r.code == 1 and "is not allowed at this site" in r.text,
        "allow_partitions = member: srun refuses partitions before the submission",
        r.text,
    )
    allow()
    clean("refusals")


def group_resized():
    """Test that a container cannot be changed while it is a partition of a running step, and that
    its neighbour can be changed."""
    job = Job({"sim": ISO["iso"], "vda": ISO["plain"]})
    if not ok(
        len(job.tasks("sim")) == 2 and len(job.tasks("vda")) == 1,
        "a job has ranks in an isolated container and in a plain one",
        on("n0", f"cat {HOME}/*.out").text,
    ):
        return
    before, step = job.containers(), {s["container"]: s["step"] for s in job.show()["steps"]}["sim"]
    same(isolated(), before["sim"][0], "the kernel shows the live partition")
    for what, words in (
        (resize, "sim --cpus=2"),
        (resize, "sim --cpus=+2"),
        (delete, "sim"),
        (delete, "sim --kill"),
    ):
        r, _ = what(words)
        ok(
            r.code == 1
            and (
                f"is a partition (isolated) of step {step}: it can be changed when that step"
                " has ended"
            )
            in r.err,
            f"{what.__name__} {words} is refused while the partition's step runs",
            r.text,
        )
    same(
        (job.containers(), isolated()),
        (before, before["sim"][0]),
        "refused calls of resize and delete change no container",
    )
    r, _ = resize("vda --cpus=+4")
    now = job.containers()
    ok(
        r.code == 0 and len(now["vda"][0]) == 8 and not now["vda"][0] & before["sim"][0],
        "a plain container can grow beside a partition",
        r.text,
    )
    job.check("beside a partition")
    run(f"scancel {job.id}.{step}")
    end = time.time() + 60
    while isolated() and time.time() < end:
        time.sleep(0.5)
    r, _ = resize("sim --cpus=2")
    ok(
        r.code == 0 and len(job.containers()["sim"][0]) == 2,
        "after its step has ended, the container of a partition can be resized",
        r.text,
    )
    r = job.inside(f"srun -n1 --overlap --mpi=none --nodeos-container=sim {WHEREAMI}")
    ok(
        [len(cpus(x["cgroup_cpus"])) for x in ranks(cluster.Result(0, r, "", 0))] == [2],
        "the next step is in the resized container of the partition",
        r,
    )
    r, _ = delete("sim")
    ok(r.code == 0, "after its step has ended, the container of a partition can be deleted", r.text)
    run(f"scancel {job.id}")
    clean("resized")


def verified(tag):
    """Check that nodeosctl verify accepts a valid partition, and finds an invalid one."""
    pid = on("n0", "pgrep -u alice -x whereami | head -1").out.strip()
    task = f"/sys/fs/cgroup$(cut -d: -f3 /proc/{pid}/cgroup)"
    file = f"$(dirname {task})/cpuset.cpus.partition"
    r = on("n0", "nodeosctl verify --json")
    found = json.loads(r.out or "{}")
    ok(
        r.code == 0
        and found.get("ok")
        and any(
            "partition of CPUs" in c["what"] and c["found"] == "isolated" for c in found["checks"]
        )
        and sum("rank" in c["what"] for c in found["checks"]) >= 2,
        f"{tag}: verify finds no difference in a valid partition",
        r.text,
    )
    on("n0", f"echo member >{file}")
    r = on("n0", "nodeosctl verify")
    ok(
        r.code == 3 and "should be isolated, the kernel shows member" in r.out,
        f"{tag}: verify finds an invalid partition",
        r.text,
    )
    # move a rank out of its container, as root may do
    on("n0", f"echo 0-15 >$(dirname {task})/cpuset.cpus; echo 15 >{task}/cpuset.cpus")
    r = on("n0", "nodeosctl verify")
    ok(
        r.code == 3 and "DIFFERS" in r.out and "within the container" in r.out,
        f"{tag}: verify finds a rank outside of its container",
        r.text,
    )


def group_killed():
    """Kill slurmstepd while its step is a partition. The next launch must remove what is left;
    meanwhile this must not harm other jobs. (srun of stock Slurm would wait for ever.)"""
    manifest = write("part/iso.json", pod(**ISO))
    for signal in ("9", "15"):
        for name in ("killed.out", "next.out"):
            if os.path.exists(f"{DIR}/{name}"):
                os.unlink(f"{DIR}/{name}")
        script = write(
            "part/killed.sh",
            f"""#!/bin/bash
cd {DIR}
srun -n2 --overlap --nodeos-container=iso {SHOW.format(stay=600)} >killed.out 2>killed.err
srun -n2 --overlap --nodeos-container=iso {WHEREAMI} >next.out 2>next.err
""",
        )
        run(
            f"sbatch -N1 -w n0 --exclusive --nodeos-manifest={manifest} -o {DIR}/killed.log"
            f" {script}"
        )
        for _ in range(150):
            if read("killed.out").count("@") >= 2 and isolated():
                break
            time.sleep(0.2)
        ok(isolated(), "the partition exists before slurmstepd dies")
        on(
            "n0",
            "systemctl restart slurmd; for i in $(seq 50); do scontrol show slurmd >/dev/null 2>&1"
            " && break; sleep 0.2; done",
        )
        ok(isolated(), "the partition survives a restart of slurmd")
        verified(signal)
        on(
            "n0",
            f"pkill -{signal} -f 'slurmstepd: \\[[0-9]*\\.0\\]'; sleep 1; pkill -9 -u alice -x"
            " whereami; pkill -9 -u alice -x srun",
        )
        cluster.wait_idle()
        got = ranks(cluster.Result(0, read("next.out"), "", 0))
        ok(
            len(got) == 2,
            f"after signal {signal} to slurmstepd, the next step in the same container runs",
            read("next.err") + read("killed.err"),
        )
        run("srun -w n0 -n1 -c2 --nodeos-cpus=2 true")
        clean(f"signal {signal}")


def allow():
    for node in ("n0", "n1"):
        on(
            node,
            f"sed -i '/^allow_partitions/d' {CONF}; echo 'allow_partitions = member, root,"
            f" isolated' >>{CONF}",
        )


GROUPS = {
    "made": group_made,
    "beside": group_beside,
    "half": group_half,
    "ended": group_ended,
    "left": group_left,
    "refused": group_refused,
    "resized": group_resized,
    "killed": group_killed,
}


def main():
    os.makedirs(DIR, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    os.chown(DIR, 1000, 1000)
    cluster.patient()
    allow()
    cluster.run_groups(
        GROUPS, sys.argv[1:] or GROUPS, before=lambda: run(f"rm -f {DIR}/*.kernel {DIR}/half.*")
    )
    for node in ("n0", "n1"):
        on(node, f"sed -i '/^allow_partitions/d' {CONF}")
    cluster.done()


main()
