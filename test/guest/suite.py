#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=1200 plain inherit policy allow
# run: deep limit=2400
# rooms: spank launch container host topology manifest report tools
"""Test placements in the virtual cluster: compare the place of every rank with the kernel's state.
Run by test/guest/run as root on n0; "suite.py GROUP..." runs only these groups."""

import json
import os
import re
import shlex
import sys
import time
from xml.etree import ElementTree

import cluster
import schema
from containers import COUPLED, SCHED, check_ranks, pod, write
from cluster import (
    HOME,
    WHEREAMI,
    WHEREAMI_MPI,
    Machine,
    all_idle,
    cpus,
    last_job,
    leftovers,
    note,
    ok,
    plan,
    ranks,
    run,
    same,
    sbatch,
    wait_idle,
)


def group_site(machine):
    for node in ("n0", "n1"):
        r = run("nodeosctl features --site", user="root", node=node)
        same(r.code, 0, f"features --site finds no problem on {node}")
        ok(
            "\nnodeosd              listens\n" in r.out,
            f"features --site reports that nodeosd listens on {node}",
            r.text,
        )
    r = run(
        "chmod 0755 /usr/libexec/nodeos/nodeos-script; nodeosctl features --site; e=$?; chmod 0711"
        " /usr/libexec/nodeos/nodeos-script; exit $e",
        user="root",
    )
    ok(
        r.code == 3 and "chmod 0711" in r.err,
        "features --site reports a helper that users may trace",
        r.text,
    )
    r = run(
        "scontrol update PartitionName=main OverSubscribe=FORCE:2; nodeosctl features --site; e=$?;"
        " scontrol update PartitionName=main OverSubscribe=NO; exit $e",
        user="root",
    )
    ok(
        r.code == 3 and "partition main has OverSubscribe=FORCE:2" in r.err,
        "features --site reports a partition in which NodeOS refuses policy hpc",
        r.text,
    )
    r = run("nodeosctl features --json --site", user="root")
    facts = json.loads(r.out)
    ok(
        facts["slurm"].startswith(facts["plugin-series"])
        and "cpuset" in facts["cgroup-controllers"],
        "features --json --site has Slurm's version and the cgroup controllers",
        r.out,
    )
    run(
        "cp /etc/nodeos/nodeos.conf /tmp/keep; echo 'colour = red' >> /etc/nodeos/nodeos.conf",
        user="root",
    )
    r = run("nodeosctl features --site", user="root")
    ok(
        r.code == 3 and "colour" in r.err,
        "features --site reports a broken nodeos.conf, and exits with 3",
        r.text,
    )
    r = run(f"srun -N1 -n1 {WHEREAMI}")
    ok(r.code == 0 and ranks(r), "a broken nodeos.conf: a job without NodeOS runs", r.text)
    r = run(f"srun -N1 -n1 --nodeos-cpus=2 {WHEREAMI}")
    ok(
        r.code != 0 and "colour" in r.err,
        "a broken nodeos.conf: a job with NodeOS fails, and the message has the line and the key",
        r.text,
    )
    run("cp /tmp/keep /etc/nodeos/nodeos.conf", user="root")
    run(
        'for n in n0 n1; do ssh -o StrictHostKeyChecking=no $n "sed -i.keep'
        " 's/^PrologFlags=Contain/#&/' /etc/slurm/slurm.conf\"; done; scontrol reconfigure;"
        " sleep 3",
        user="root",
    )
    r = run("nodeosctl features --site", user="root")
    ok(
        r.code == 3 and "PrologFlags" in r.err,
        "features --site reports a missing PrologFlags=Contain",
        r.text,
    )
    one = write("one.json", pod(sim={"container": {"cpus": 2}}))
    r = run(f"salloc -N1 -n1 --nodeos-manifest={one} srun {WHEREAMI}")
    ok(
        r.code != 0 and "PrologFlags=Contain" in r.err,
        "without PrologFlags=Contain, a job plan is refused",
        r.text,
    )
    run(
        "for n in n0 n1; do ssh $n mv /etc/slurm/slurm.conf.keep /etc/slurm/slurm.conf; done;"
        " scontrol reconfigure; sleep 3",
        user="root",
    )
    r = run(f"salloc -N1 -n1 --nodeos-manifest={one} srun {WHEREAMI}")
    ok(r.code == 0 and ranks(r), "a job plan runs after PrologFlags=Contain is restored", r.text)
    wait_idle()


def group_plain(machine):
    r = run(f"srun -N2 -n4 {WHEREAMI}")
    found = ranks(r)
    same(len(found), 4, "an srun without NodeOS's options runs")
    ok(
        not any(k.startswith("NODEOS") for x in found for k in x["env"]),
        "an srun without NodeOS's options: the ranks' environment has no variable of NodeOS",
    )
    ok(
        all("task_" in x["cgroup"] and x["cgroup_cpus"] == "" for x in found),
        "an srun without NodeOS's options: the ranks' cgroups have no cpuset",
        [x["cgroup_cpus"] for x in found],
    )
    r = run("srun --nodeos=help")
    ok(r.code == 0 and "--nodeos-manifest=FILE" in r.out, "--nodeos=help prints help", r.text)
    r = run("sbatch --help | grep -A1 nodeos-")
    ok("--nodeos-manifest" in r.out, "sbatch --help has NodeOS's options", r.text)
    r = run("srun --nodeos=maybe true")
    ok(r.code != 0 and "expected off or help" in r.err, "--nodeos=maybe is refused", r.text)


def group_step(machine):
    """Check containers that srun's options request for the step."""
    manifest = write("step8.json", pod(step={"container": {"cpus": 8, "mems": 2}}))
    want = plan(manifest)["step"]
    r = run(f"srun -N1 -n4 -c4 --nodeos-cpus=8 --nodeos-mems=2 {WHEREAMI}")
    (
        check_ranks(ranks(r), want, "srun -n4 -c4 --nodeos-cpus=8 --nodeos-mems=2", machine)
        if r.code == 0
        else ok(0, "srun -n4 -c4 --nodeos-cpus=8 --nodeos-mems=2 runs", r.text)
    )
    r = run(f"srun -N1 -n1 --nodeos-cpus=2 {WHEREAMI}")
    found = ranks(r)
    ok(
        r.code == 0
        and len(found) == 1
        and len(cpus(found[0]["cpus"])) == 2
        and machine.cores(cpus(found[0]["cpus"])) == 1,
        "--nodeos-cpus=2: one rank has the two threads of one core",
        r.text,
    )
    r = run(f"srun -N2 -n16 --ntasks-per-node=8 --exclusive --nodeos-sched=batch {WHEREAMI}")
    found = ranks(r)
    ok(
        len(found) == 16 and all(x["policy"] == SCHED["batch"] for x in found),
        "--nodeos-sched=batch: 16 ranks on two nodes have policy batch",
        r.text,
    )
    for host in ("n0", "n1"):
        sets = [cpus(x["cpus"]) for x in found if x["host"] == host]
        ok(
            len(sets) == 8 and len(set().union(*sets)) == sum(map(len, sets)),
            f"--nodeos-sched=batch: the 8 ranks on {host} have disjoint CPUs",
            sets,
        )
    r = run(f"srun -N1 -n1 -c4 --nodeos-cpus=3 --nodeos-report={HOME}/odd.%j.%s.%N.json {WHEREAMI}")
    found = ranks(r)
    name = next((f for f in os.listdir(HOME) if f.startswith("odd.")), None)
    report = json.load(open(f"{HOME}/{name}")) if name else {}
    ok(
        r.code == 0 and len(cpus(found[0]["cpus"])) == 4,
        "--nodeos-cpus=3: the container has 4 threads, two whole cores",
        r.text,
    )
    ok(
        report
        and report["containers"][0]["isolators"][0]["outcome"] == "modified"
        and "3 asked, 4 given" in report["containers"][0]["isolators"][0]["reason"],
        "--nodeos-cpus=3: the report has the requested and the given number of CPUs",
        json.dumps(report)[:800],
    )
    ok(
        report and os.stat(f"{HOME}/{name}").st_uid == 1000,
        "--nodeos-report: the file belongs to the user",
    )
    ok(
        report and report["ranks"][0]["kernel"]["cpus"] == found[0]["cpus"],
        "--nodeos-report: the kernel's values equal those of whereami",
    )
    r = run(f"srun -N1 -n2 -c4 --nodeos-cpus=8 {WHEREAMI}")
    found = ranks(r)
    ok(
        r.code == 0 and [len(cpus(x["cpus"])) for x in found] == [4, 4],
        "srun -n2 -c4 --nodeos-cpus=8: each rank has four threads",
        r.text,
    )
    r = run(f"srun -N1 -n4 -c2 --nodeos-cpus=4 {WHEREAMI}")
    ok(
        r.code != 0 and "4 ranks" in r.err and "-O" in r.err,
        "more ranks than cores are refused without -O",
        r.text,
    )
    r = run(f"srun -N1 -n4 --exclusive -O --nodeos-cpus=4 {WHEREAMI}")
    ok(r.code == 0 and len(ranks(r)) == 4, "more ranks than cores run with -O", r.text)
    r = run(f"OMP_PLACES=threads srun -N1 -n1 -c4 --nodeos-cpus=4 {WHEREAMI}")
    found = ranks(r)
    ok(
        found
        and found[0]["env"].get("OMP_PLACES") == "threads"
        and "OMP_PROC_BIND" not in found[0]["env"],
        "a container does not change the user's OMP_PLACES",
    )
    r = run(f"srun -N1 -n1 --nodeos-sched=idle {WHEREAMI}")
    ok(
        r.code == 0 and ranks(r)[0]["policy"] == SCHED["idle"],
        "--nodeos-sched=idle: the rank has policy idle",
        r.text,
    )
    all_idle("suite, step: all nodes become idle at the end")


def script_coupled():
    return f"""#!/bin/bash
{WHEREAMI}
srun -N2 -n8 --nodeos-container=sim {WHEREAMI} 12 > sim.out 2> sim.err &
srun -N2 -n2 --nodeos-container=vda {WHEREAMI} 6 > vda.out 2> vda.err &
wait -n && wait -n
code=$?
srun -N2 -n2 --overlap {WHEREAMI} > rest.out 2> rest.err
exit $code
"""


def group_batch(machine):
    """Check jobs of sbatch --nodeos-manifest: the batch script, two concurrent steps on two nodes,
    and a step without a container."""
    manifest = write("coupled.json", pod(**COUPLED))
    script = write("coupled.sh", script_coupled())
    want = plan(manifest)
    whole = set().union(*(cpus(c["reserved"]) for c in want.values()))
    same(
        sum(len(cpus(c["cpus"])) for c in want.values()),
        14,
        "the plan of the coupled job has 14 threads, 12 for sim and 2 for vda",
    )
    ok(
        not cpus(want["sim"]["cpus"]) & cpus(want["vda"]["cpus"])
        and all(machine.whole_cores(cpus(c["cpus"])) for c in want.values()),
        "the plan of the coupled job gives each container whole cores of its own",
    )
    r = sbatch(f"-N2 --exclusive --nodeos-manifest={manifest} -o job.out {script}", timeout=300)
    out = {
        n: ranks(
            cluster.Result(
                0,
                open(f"{HOME}/{n}.out").read() if os.path.exists(f"{HOME}/{n}.out") else "",
                "",
                0,
            )
        )
        for n in ("job", "sim", "vda", "rest")
    }
    errors = "".join(
        open(f"{HOME}/{n}.err").read()
        for n in ("sim", "vda", "rest")
        if os.path.exists(f"{HOME}/{n}.err")
    )
    same(r.code, 0, "sbatch --wait of the coupled job succeeds")
    if r.code:
        ok(
            0,
            "the coupled job: no step fails",
            r.text + errors + open(f"{HOME}/job.out").read(),
        )
        return
    check_ranks(out["sim"], want["sim"], "the coupled job, container sim", machine)
    same(len(out["sim"]), 8, "the coupled job: sim has 8 ranks")
    check_ranks(out["vda"], want["vda"], "the coupled job, container vda", machine)
    same(
        {x["host"] for x in out["vda"]},
        {"n0", "n1"},
        "the coupled job: vda has ranks on both nodes",
    )
    rest = machine.cpus - whole
    ok(
        len(out["rest"]) == 2 and all(cpus(x["cpus"]) <= rest for x in out["rest"]),
        f"the coupled job: a step without a container gets the other CPUs ({sorted(rest)})",
        [x["cpus"] for x in out["rest"]],
    )
    ok(
        cpus(out["job"][0]["cpus"]) <= rest,
        "the coupled job: the batch script gets the CPUs that are in no container",
        out["job"][0]["cpus"],
    )
    all_idle("the coupled job: all nodes become idle at the end")
    same(leftovers(), "", "the coupled job leaves no file in /run/nodeos")
    # a job with an #SBATCH line instead of the option
    script = write(
        "line.sh",
        f"#!/bin/bash\n#SBATCH --nodeos-manifest={manifest}\nsrun --nodeos-container=vda -n1"
        f" {WHEREAMI}\n",
    )
    r = sbatch(f"-N1 --exclusive -o line.out {script}")
    found = ranks(cluster.Result(0, open(f"{HOME}/line.out").read(), "", 0))
    ok(
        r.code == 0 and len(found) == 1 and cpus(found[0]["cpus"]) == cpus(want["vda"]["cpus"]),
        "#SBATCH --nodeos-manifest= gives a step the container of the manifest",
        r.text + open(f"{HOME}/line.out").read(),
    )
    # in a job with one container, each step and the batch script run in this container by default
    one = write("one.json", pod(sim={"container": {"cpus": 8, "mems": 2}}))
    want = plan(one)["sim"]
    script = write(
        "one.sh",
        f"#!/bin/bash\n{WHEREAMI} >one.batch\nsrun -n4 {WHEREAMI} >one.step\nsrun -n1"
        f" --nodeos-container=none {WHEREAMI} >one.none\nsrun -n1 --nodeos=off {WHEREAMI}"
        f" >one.off\nsrun -n2 --exact -c2 {WHEREAMI} 6 >one.exact1 &\nsleep 3; srun -n2 --exact -c2"
        f" {WHEREAMI} >one.exact2\nwait\nfor i in 1 2 3; do srun -n1 -c2 --exact -o one.lone$i"
        f" {WHEREAMI} 12 & done; wait; cat one.lone? >one.lone\nsrun -n4 --mpi=pmix {WHEREAMI_MPI}"
        f" >one.mpi\nmpirun -n 4 {WHEREAMI_MPI} >one.mpirun\n",
    )
    r = sbatch(f"-N1 --exclusive --nodeos-manifest={one} -o one.out {script}", timeout=300)
    text = open(f"{HOME}/one.out").read()
    out = {
        n: ranks(cluster.Result(0, open(f"{HOME}/one.{n}").read(), "", 0))
        for n in ("lone", "batch", "step", "none", "off", "exact1", "exact2", "mpi", "mpirun")
        if os.path.exists(f"{HOME}/one.{n}")
    }
    same(r.code, 0, "a job with one container succeeds")
    check_ranks(out["batch"], want, "the batch script in a job with one container", machine)
    check_ranks(
        out["step"], want, "a step without --nodeos-container in a job with one container", machine
    )
    same(
        cpus(out["none"][0]["cpus"]),
        machine.cpus,
        "--nodeos-container=none: the rank may use all CPUs",
    )
    ok(
        "NODEOS_CONTAINER" not in out["none"][0]["env"],
        "--nodeos-container=none: NODEOS_CONTAINER is not set",
    )
    same(cpus(out["off"][0]["cpus"]), machine.cpus, "--nodeos=off: the rank may use all CPUs")
    ok(
        "NODEOS_CONTAINER" not in out["off"][0]["env"],
        "--nodeos=off: NODEOS_CONTAINER is not set",
    )
    both = [cpus(x["cpus"]) for x in out["exact1"] + out["exact2"]]
    ok(
        len(both) == 4
        and len(set().union(*both)) == sum(map(len, both))
        and set().union(*both) <= cpus(want["cpus"]),
        "two concurrent steps with --exact -c2 have different cores of the container",
        both,
    )
    lone = [cpus(x["cpus"]) for x in out["lone"]]
    ok(
        [len(s) for s in lone] == [2, 2, 2]
        and len(set().union(*lone)) == 6
        and set().union(*lone) <= cpus(want["cpus"]),
        "three concurrent steps with --exact -n1 -c2 have one core of the container each",
        lone,
    )
    check_ranks(out["mpi"], want, "Open MPI by srun --mpi=pmix in the container", machine)
    ok(
        len(out["mpi"]) == 4 and all(x["sum"] == 6 for x in out["mpi"]),
        "Open MPI by srun --mpi=pmix: the ranks form one MPI job",
        text,
    )
    ok(
        len(out["mpirun"]) == 4
        and all(cpus(x["cpus"]) <= cpus(want["cpus"]) for x in out["mpirun"]),
        "Open MPI's mpirun: the ranks are inside of the container",
        [x["cpus"] for x in out["mpirun"]] or text,
    )
    all_idle("suite, batch: all nodes become idle at the end")


def group_salloc(machine):
    manifest = write("coupled.json", pod(**COUPLED))
    want = plan(manifest)
    r = run(
        f"salloc -N2 --exclusive --nodeos-manifest={manifest} bash -c 'srun -N2 -n8"
        f" --nodeos-container=sim {WHEREAMI} >salloc.sim; srun -N2 -n2 --nodeos-container=vda"
        f" {WHEREAMI} >salloc.vda'"
    )
    out = {
        n: ranks(cluster.Result(0, open(f"{HOME}/salloc.{n}").read(), "", 0))
        for n in ("sim", "vda")
    }
    same(r.code, 0, "salloc with two containers on two nodes succeeds")
    check_ranks(out["sim"], want["sim"], "salloc, container sim", machine)
    check_ranks(out["vda"], want["vda"], "salloc, container vda", machine)
    # a job on half a node: its containers share the job's CPUs
    small = write("half.json", pod(a={"container": {"cpus": 4}}, b={"container": {"cpus": 4}}))
    r = run(
        f"salloc -N1 -n4 -c2 --nodeos-manifest={small} bash -c '"
        f"srun --nodeos=off -n1 --overlap {WHEREAMI}; srun -n2 --nodeos-container=a {WHEREAMI}; "
        f"srun -n2 --nodeos-container=b {WHEREAMI}'"
    )
    found = ranks(r)
    ok(
        r.code == 0 and len(found) == 5,
        "a job on half a node: its step without NodeOS and the steps in its two containers run",
        r.text,
    )
    if len(found) == 5:
        by = {x["env"].get("NODEOS_CONTAINER", ""): set() for x in found}
        for x in found:
            by[x["env"].get("NODEOS_CONTAINER", "")] |= cpus(x["cpus"])
        a, b = by.get("a", set()), by.get("b", set())
        ok(
            len(a) == 4
            and len(b) == 4
            and not a & b
            and machine.whole_cores(a)
            and machine.whole_cores(b),
            "a job on half a node: each container has two whole cores of its own",
            by,
        )
        r = run("scontrol show node n0 | grep -o CPUTot=[0-9]*", user="root")
    # containers of two concurrent steps of a job
    r = run(
        "salloc -N1 --exclusive bash -c 'for i in 1 2; do srun -n1 -c4 --exact --nodeos-cpus=4"
        f" --nodeos-mems=1 -o mem.$i {WHEREAMI} 10 & sleep 4; done; wait; cat mem.1 mem.2'"
    )
    found = ranks(r)
    ok(
        len(found) == 2
        and found[0]["mems"] != found[1]["mems"]
        and not cpus(found[0]["cpus"]) & cpus(found[1]["cpus"]),
        "containers of two concurrent steps of a job have different cores and memory nodes",
        [(x["cpus"], x["mems"]) for x in found] or r.text,
    )
    # two concurrent jobs on one node
    r = run(
        f"for i in 1 2; do srun -N1 -w n0 -n2 -c2 --nodeos-cpus=4 -o side.$i {WHEREAMI} 8 & done;"
        " wait; cat side.1 side.2"
    )
    sets = [cpus(x["cpus"]) for x in ranks(r)]
    ok(
        len(sets) == 4 and len(set().union(*sets)) == 8,
        "two concurrent jobs on one node have disjoint CPUs",
        r.text,
    )
    all_idle("suite, salloc: all nodes become idle at the end")


def group_inherit(machine):
    """Check that a script cannot change its job's request, and that a job that the script submits
    does not get this request."""
    run("mkdir -p a elsewhere")
    write("a/f.json", pod(sim={"container": {"cpus": 4, "mems": 1}}))
    want = plan(f"{HOME}/a/f.json")["sim"]
    script = write(
        "inherit.sh",
        f"""#!/bin/bash
cd {HOME}/elsewhere
echo '{{ broken' > {HOME}/a/f.json
srun -n2 {WHEREAMI} > edited
rm {HOME}/a/f.json
srun -n2 {WHEREAMI} > deleted
srun -n2 --nodeos-manifest=f.json {WHEREAMI} > again
sbatch --wait -N1 -n1 -w n1 -o nested --wrap "{WHEREAMI}; srun -n1 {WHEREAMI}"
srun -n1 --nodeos-cpus=2 true > second 2>&1
echo $? >> second
""",
    )
    r = sbatch(
        f"-N1 -w n0 --exclusive --nodeos-manifest=f.json -o {HOME}/inherit.out {script}",
        cwd=f"{HOME}/a",
    )

    def get(n):
        return ranks(cluster.Result(0, open(f"{HOME}/elsewhere/{n}").read(), "", 0))

    text = r.text + open(f"{HOME}/inherit.out").read()
    check_ranks(get("edited"), want, "a script that edits the manifest", machine)
    check_ranks(
        get("deleted"),
        want,
        "a script that deletes the manifest and changes the directory",
        machine,
    )
    check_ranks(get("again"), want, "a script that repeats the option --nodeos-manifest", machine)
    nested = get("nested")
    ok(
        len(nested) == 2 and not any("NODEOS_CONTAINER" in x["env"] for x in nested),
        "a job submitted by a script does not have the request of the script's job",
        [x["env"] for x in nested] or text,
    )
    second = open(f"{HOME}/elsewhere/second").read()
    ok(
        "--nodeos-cpus" in second
        and "sbatch or salloc has already given this job its containers" in second
        and second.strip().endswith("1"),
        "a second request in a job that has containers is refused",
        second,
    )
    all_idle("suite, inherit: all nodes become idle at the end")


def group_mistakes(machine):
    """Check that sbatch and srun report mistakes in manifests and options, and submit no job."""
    good = write("good.json", pod(sim={"container": {"cpus": 4}}))
    bad = {
        "unknown key": (
            '{"acKind": "ImageManifest",\n "acVersion": "0.6.0", "name": "x", "colour": 1}',
            ":2:",
        ),
        "bad JSON": ('{"acKind": "ImageManifest"', ":1:"),
        "bad value": (pod(sim={"container": {"cpus": "many"}}), ":1:"),
        "empty": ("", ":1:"),
        "1 MiB of garbage": ("[" * (1 << 20), ":1:"),
    }
    before = last_job()
    for what, (text, place) in bad.items():
        f = write("bad.json", text)
        r = run(f"sbatch --nodeos-manifest={f} --wrap true")
        lines = [x for x in r.err.splitlines() if x.startswith(f)]
        ok(
            r.code != 0 and len(lines) == 1 and place in lines[0],
            f"sbatch with a bad manifest ({what}): one message, with the file and the line",
            r.text,
        )
    r = run(f"srun --nodeos-manifest={f} true")
    ok(r.code != 0 and f in r.err, "srun refuses a bad manifest", r.text)
    for args, words in (
        ("--nodeos-manifest=/nonexistent", "/nonexistent"),
        (f"--nodeos-manifest={HOME}", "director"),
        (f"--nodeos-manifest={good} --nodeos-container=vda", "no such container"),
        ("--nodeos-sched=fifo", "not allowed"),
        ("--nodeos-sched=warp", "expected POLICY"),
        ("--nodeos-cpus=0", "expected a number"),
        ("--nodeos-cpus=-1", "expected a number"),
        ("--nodeos-mems=lots", "nodeos-mems"),
        (f"--nodeos-manifest={good} --nodeos-cpus=2", "or these options"),
        ("--nodeos-container=sim", "no containers"),
        (f"--nodeos-report=x --nodeos-manifest={good}", "%N"),
    ):
        for command in (f"sbatch {args} --wrap true", f"srun -n1 {args} true"):
            r = run(command)
            ok(
                r.code != 0 and words in r.err,
                f'{command.split()[0]} {args.replace(HOME, "~")}: the message has "{words}"',
                r.text,
            )
    same(last_job(), before, "commands with mistakes submit no job")


def fails_on_nodes(command, words, what, nodes=2, env=None):
    start = time.time()
    r = run(command, env=env)
    lines = [x for x in (r.err + r.out).splitlines() if "error: nodeos:" in x]
    # The first node that fails ends the step. This may kill the rank of the other node before the
    # other node has printed its message.
    killed = len(re.findall(r"^srun: error: n\d: task \d: Killed$", r.err, re.M))
    ok(
        r.code != 0
        and 0 < len(lines) <= nodes
        and len(lines) + killed >= nodes
        and all(words in x for x in lines),
        f"{what}: the step fails, and each node whose ranks were not killed prints one message",
        r.text,
    )
    ok(
        time.time() - start < 60,
        f"{what}: the step ends in less than 60 s ({time.time() - start:.0f} s)",
    )
    all_idle(f"{what}: all nodes become idle")


def group_node_errors(machine):
    """Check errors that only the nodes can find: they end the step on all nodes before its ranks
    run, and drain no node."""
    fails_on_nodes(
        f"srun -N2 -n4 --nodeos-cpus=64 {WHEREAMI}", "largest request that fits", "too many cpus"
    )
    fails_on_nodes(f"srun -N2 -n4 --nodeos-mems=9 {WHEREAMI}", "memory", "too many memory nodes")
    fails_on_nodes(f"srun -N2 -n2 --nodeos-mems=900G {WHEREAMI}", "memory", "too much memory")
    if not cluster.has_hpc():
        fails_on_nodes(
            f"srun -N2 -n2 --nodeos-sched=hpc {WHEREAMI}",
            "no such scheduling class",
            "policy hpc without the kernel's class",
        )
    for text, words in (
        ("nodeos 1;c=sim cpus=9999999999;", "not valid"),
        ("x" * 70000, "not valid"),
        ("nodeos 2;c=sim;", "not valid"),
        ("nodeos 1;c=../../etc cpus=1;", "not valid"),
        ("nodeos 1;c=sim policy=fifo prio=99;", "not allowed"),
    ):
        fails_on_nodes(
            'salloc -N2 -n2 bash -c \'SLURM_SPANK_NODEOS_REQUEST="$FORGED" srun -N2 -n2'
            f" {WHEREAMI}'",
            words,
            f"forged request {text[:30]!r}",
            env={"FORGED": text},
        )
    r = run(
        f"srun -N1 -n1 {WHEREAMI}", env={"SLURM_SPANK_NODEOS_REQUEST": "nodeos 1;c=sim cpus=2;"}
    )
    found = ranks(r)
    ok(
        r.code == 0 and len(found) == 1 and "NODEOS_CONTAINER" not in found[0]["env"],
        "an srun outside of jobs does not use a request in its environment",
        r.text,
    )
    manifest = write("two.json", pod(sim={"container": {"cpus": 4}}))
    script = write(
        "forge.sh",
        f"""#!/bin/bash
env -u SLURM_SPANK_NODEOS_REQUEST srun -N2 -n2 {WHEREAMI} > missing 2>&1; echo "code $?" >> missing
SLURM_SPANK_NODEOS_REQUEST='nodeos 1;c=sim cpus=16;' \
srun -N1 -w n0 -n1 {WHEREAMI} > forged 2>&1; echo "code $?" >> forged
env -i PATH=$PATH SLURM_JOB_ID=$SLURM_JOB_ID \
srun -N1 -w n0 -n1 {WHEREAMI} > bare 2>&1; echo "code $?" >> bare
""",
    )
    r = sbatch(f"-N2 --exclusive --nodeos-manifest={manifest} -o forge.out {script}")
    missing, forged, bare = (open(f"{HOME}/{n}").read() for n in ("missing", "forged", "bare"))
    # the first node has the plan in its ledger, since the batch script started there; the other
    # node does not have the plan yet
    ok(
        missing.count("is missing in this step") == 1 and "code 0" not in missing,
        "a step fails if the script has removed the request from the environment",
        missing,
    )
    ok(
        "differs from that of the job" in forged and "code 0" not in forged,
        "a step fails if the script has replaced the request in the environment",
        forged,
    )
    ok(
        bare.count("nodeos: note:") == 1 and "code 0" in bare,
        "a step runs, with a note, if the script has removed the whole environment",
        bare,
    )
    all_idle("suite, node errors: all nodes become idle at the end")
    script = write("big.sh", "#!/bin/bash\n#SBATCH --nodeos-cpus=64\necho alive\n")
    r = run(f"sbatch --wait -N2 -o big.out {script}")
    text = open(f"{HOME}/big.out").read()
    ok(
        r.code != 0 and "largest request that fits" in text and "alive" not in text,
        "sbatch --wait of a script with an impossible request fails, and the reason is printed",
        r.text + text,
    )
    all_idle("sbatch of a script with an impossible request drains no node")
    same(leftovers(), "", "steps that fail leave no file in /run/nodeos")


def picture_cpus(svg):
    """Return {text of the legend: the CPUs that the picture draws in that text's colour}."""
    root = ElementTree.fromstring(svg)
    fill = {
        e.get("id")[: -len("_rect")]: e.get("fill")
        for e in root.iter("{http://www.w3.org/2000/svg}rect")
        if e.get("id")
    }
    text = {
        e.get("id")[: -len("_text")]: e.text
        for e in root.iter("{http://www.w3.org/2000/svg}text")
        if e.get("id")
    }
    legend = {fill[box]: words for box, words in text.items() if box.startswith("Misc_")}
    found = {}
    for box, words in text.items():
        if box.startswith("PU_"):
            found.setdefault(legend.get(fill[box], "?").split(":")[0], set()).add(
                int(words.split("#")[1])
            )
    return found


# A program that prints the interrupts that have a handler, and the kernel threads that are bound to
# CPUs: {"irqs": {number: CPUs}, "threads": {pid: [name, CPUs]}}
READ_PROC = """
import glob, json, os, re
irqs, threads = {}, {}
for d in glob.glob("/proc/irq/[0-9]*"):
    if any(os.path.isdir(f"{d}/{f}") for f in os.listdir(d)):
        for f in ("smp_affinity_list", "effective_affinity_list"):
            irqs[int(os.path.basename(d))] = open(f"{d}/{f}").read().strip() \
or irqs.get(int(os.path.basename(d)))
for d in glob.glob("/proc/[0-9]*"):
    try:
        stat = open(f"{d}/stat").read()
        allowed = re.search(r"^Cpus_allowed_list:\\s*(\\S+)", \
open(f"{d}/status").read(), re.M).group(1)
    except OSError:
        continue
    if int(stat[stat.rindex(")") + 2:].split()[6]) & 0x04200000 == 0x04200000:
        threads[int(os.path.basename(d))] = [stat[stat.index("(") + 1:stat.rindex(")")], allowed]
print(json.dumps({"irqs": irqs, "threads": threads}))
"""


SCHEMA = "/usr/share/nodeos/nodeos-report.schema.json"


def described(document, what):
    """Check that the installed schema accepts a document."""
    problems = schema.Checker(SCHEMA).problems(document)
    return ok(
        not problems,
        f"{what} fits {os.path.basename(SCHEMA)}",
        "\n".join(problems[:20]),
    )


def check_now(containers, node):
    """Compare the containers' interference and memory in a report with /proc and /sys."""
    r = run(f"python3 -c '{READ_PROC}'", user="root", node=node)
    seen = json.loads(r.out) if r.code == 0 else {"irqs": {}, "threads": {}}
    ok(len(seen["irqs"]) > 3 and len(seen["threads"]) > 32, f"/proc of {node} can be read", r.text)
    for c in containers:
        mine = cpus(c["reserved"])
        noise = c["noise"]
        irqs = {int(i): cpus(on) & mine for i, on in seen["irqs"].items() if cpus(on) & mine}
        same(
            {i["irq"]: cpus(i["cpus"]) for i in noise["irq_names"]},
            {i: irqs[i] for i in sorted(irqs)[:32]},
            f"report on {node}: {c['name']} has the IRQs of /proc",
        )
        same(
            noise["irqs"],
            len(irqs),
            f"report on {node}: {c['name']} has the number of IRQs of /proc",
        )
        # only per-CPU threads: workers come and go between the two readings
        for name in ("ksoftirqd", "migration", "cpuhp"):
            got = [
                (t["count"], cpus(t["cpus"])) for t in noise["thread_names"] if t["name"] == name
            ]
            want = {
                next(iter(cpus(on)))
                for comm, on in seen["threads"].values()
                if comm.startswith(name + "/") and cpus(on) <= mine
            }
            same(
                got,
                [(len(mine), mine)] if want == mine else None,
                f"report on {node}: {c['name']} has {name} on each CPU",
            )
        bound = sum(cpus(on) <= mine for _, on in seen["threads"].values())
        ok(
            abs(noise["threads"] - bound) <= 2 * len(mine),
            f"report on {node}: {noise['threads']} threads are bound to the CPUs of {c['name']}"
            f" (/proc: {bound})",
        )
        same(cpus(noise["tick"]), mine, f"report on {node}: {c['name']} has a tick on all CPUs")
        sizes = {m["mem"]: m["total_bytes"] for m in c["memory"]}
        want = {
            n: (
                int(
                    run(
                        f"awk '/MemTotal/ {{ print $4 }}' /sys/devices/system/node/node{n}/meminfo",
                        user="root",
                        node=node,
                    ).out
                    or 0
                )
                << 10
            )
            for n in cpus(c["mems"])
        }
        same(sizes, want, f"report on {node}: {c['name']} has its memory nodes with their sizes")
        ok(
            all(0 < m["used_bytes"] < m["total_bytes"] for m in c["memory"]),
            f"report on {node}: each memory node of {c['name']} has used and free memory",
            c["memory"],
        )
        if c["name"] == "sim":
            ok(
                c["effective"]["processes"] >= 2
                and cpus(c["effective"]["cpus"]) <= cpus(c["cpus"])
                and cpus(c["effective"]["mems"]) == cpus(c["mems"])
                and c["effective"]["policies"] == ["other"],
                f"report on {node}: sim has the CPUs, memory nodes and policy of its ranks",
                c["effective"],
            )


def kept(document):
    """Return {(node, job, name): container}, without members that change between two reports."""
    return {
        (d["node"], j["job"], c["name"]): {
            k: c[k] for k in ("asked", "cpus", "reserved", "mems", "policy", "isolators", "why")
        }
        for d in document["nodes"]
        for j in (d["jobs"] if d["kind"] == "node" else [d])
        for c in j["containers"]
    }


def check_all_nodes(job, want):
    """Check report --all-nodes of a job on two nodes, as the job's user, root and another user, and
    report --merge of saved reports."""
    want = {(n, job, name): c["cpus"] for n in ("n0", "n1") for name, c in want.items()}
    r = run(f"nodeosctl report --all-nodes --job={job} --json", timeout=240)
    whole = json.loads(r.out or '{"nodes": []}')
    ok(
        r.code == 0 and whole.get("missing") == [],
        "report --all-nodes of a user's own job succeeds, and no node is missing",
        r.text[-1500:],
    )
    described(whole, "report --all-nodes --json")
    same(
        {k: c["cpus"] for k, c in kept(whole).items()},
        want,
        "report --all-nodes has the containers of both nodes as planned",
    )
    same(whole.get("differences"), [], "report --all-nodes finds no difference between the nodes")
    for d in whole["nodes"]:
        same(
            {cpu for part in d["machine"] for core in part["cores"] for cpu in cpus(core)},
            set(range(os.cpu_count())),
            f"report --all-nodes: the cores of {d['node']} have all CPUs",
        )
    r = run(f"nodeosctl report --all-nodes --job={job}", user="root", timeout=240)
    found = [re.split("  +", line) for line in r.out.splitlines()[1:]]
    same(
        [(f[0], int(f[1]), f[2], f[4]) for f in found if len(f) > 5],
        [(*k, v) for k, v in sorted(want.items())],
        "report --all-nodes as root prints the containers as text",
    )
    ok(
        "the same on all 2 nodes" in r.out,
        "report --all-nodes as text has no difference between the nodes",
        r.text,
    )
    r = run(f"nodeosctl report --all-nodes --job={job}", user="bob", timeout=240)
    ok(r.code != 0 and "sim" not in r.out, "report --all-nodes as another user is refused", r.text)
    r = run(f"nodeosctl report --all-nodes --job={job} --svg=all.svg", timeout=240)
    root = (
        ElementTree.parse(f"{HOME}/all.svg").getroot()
        if r.code == 0
        else ElementTree.fromstring("<svg/>")
    )
    same(
        [t.text for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("class") == "name"],
        ["n0", "n1"],
        "report --all-nodes --svg draws both nodes",
    )
    run("mkdir -p /shared/out; cp /shared/home/alice/all.svg /shared/out", user="root")
    run("systemctl stop nodeosd.socket", user="root", node="n1")
    r = run(f"nodeosctl report --all-nodes --job={job} --json", timeout=240)
    left = json.loads(r.out or '{"nodes": []}')
    ok(
        r.code == 1
        and [d["node"] for d in left["nodes"]] == ["n0"]
        and [m["node"] for m in left["missing"]] == ["n1"]
        and "n1" in r.err
        and "nodeosd" in r.err,
        "report --all-nodes lists a node without nodeosd as missing, and has the other nodes",
        r.text[-1500:],
    )
    run("systemctl start nodeosd.socket", user="root", node="n1")
    for node in ("n0", "n1"):
        run(
            f"nodeosctl report --json --job={job} >/shared/home/alice/kept.{node}.json",
            user="root",
            node=node,
        )
    r = run("nodeosctl report --merge --json kept.n1.json kept.n0.json")
    same(
        kept(json.loads(r.out or '{"nodes": []}')),
        kept(whole),
        f"report --merge of root's reports has the containers of report --all-nodes {r.err}",
    )


def group_report(machine):
    manifest = write("coupled.json", pod(**COUPLED))
    want = plan(manifest)
    script = write("long.sh", f"#!/bin/bash\nsrun -N2 -n4 --nodeos-container=sim {WHEREAMI} 400\n")
    r = run(
        f"sbatch --parsable -N2 --exclusive --nodeos-manifest={manifest}"
        f" --nodeos-report={HOME}/rep.%s.%N.json -o long.out {script}"
    )
    job = int(r.out.strip() or 0)
    for _ in range(60):
        try:  # the report may be incomplete
            if len(ranks(cluster.Result(0, open(f"{HOME}/long.out").read(), "", 0))) == 4:
                break
        except (OSError, ValueError):
            pass
        time.sleep(1)
    for node in ("n0", "n1"):
        report = json.loads(
            run(f"nodeosctl report --json --job={job}", user="root", node=node).out or "{}"
        )
        jobs = report.get("jobs", [])
        described(report, f"report --json on {node}")
        ok(
            report.get("schema") == 1 and len(jobs) == 1 and jobs[0]["user"] == "alice",
            f"report --json on {node} has only alice's job",
            report,
        )
        if not jobs:
            continue
        got = {c["name"]: c["cpus"] for c in jobs[0]["containers"]}
        same(
            got,
            {n: c["cpus"] for n, c in want.items()},
            f"report on {node}: the containers are as planned",
        )
        # in this cluster Slurm limits the memory of jobs, and other jobs may use these memory nodes
        same(
            {c["mems_guarantee"] for c in jobs[0]["containers"] if c["mems_confined"]},
            {"amount"},
            f"report on {node}: mems_guarantee is amount",
        )
        check_now(jobs[0]["containers"], node)
        step = [s for s in jobs[0]["steps"] if s["container"] == "sim"]
        procs = [p for s in step for t in s["tasks"] for p in t["processes"]]
        ok(
            len(procs) == 2 and all(cpus(p["cpus"]) <= cpus(want["sim"]["cpus"]) for p in procs),
            f"report on {node}: the two ranks have CPUs of sim",
            procs,
        )
    r = run("nodeosctl report; nodeosctl list; nodeosctl list --json", user="root")
    ok(
        "container sim: cpus" in r.out and "why:" in r.out and "kernel shows" in r.out,
        "report, list and list --json have the container sim",
        r.text,
    )
    ok(
        re.search(
            r"container sim: cpus \S+ mems \S+ .*policy other\n    asked: cpus=12 mems=3\n", r.out
        )
        and re.search(
            r"effective: \d+ processes on cpus .* policy other\n    memory node 0: \d+ of \d+ MiB"
            r" in use\n",
            r.out,
        )
        and re.search(
            r"noise left: \d+ IRQs?.*; \d+ kernel threads that cannot be moved \(.*ksoftirqd.*\);"
            r" tick on ",
            r.out,
        ),
        "the text of report has the request, the choice, the effective state, memory and noise",
        r.text,
    )
    for command in ("list --json", f"plan --json {manifest}"):
        described(json.loads(run(f"nodeosctl {command}", user="root").out or "{}"), command)
    r = run("nodeosctl report --svg=-", user="root")
    drawn = picture_cpus(r.out) if r.code == 0 else {}
    same(
        {n: drawn.get(f"{n} of job {job} (alice)") for n in want},
        {n: cpus(c["cpus"]) for n, c in want.items()},
        f"report --svg has each container's CPUs {r.err}",
    )
    check_all_nodes(job, want)
    for command in ("report", "list"):
        r = run(f"nodeosctl {command}", user="bob")
        ok(
            r.code == 1 and "root" in r.err and "sim" not in r.out,
            f"{command} as another user is refused",
            r.text,
        )
    r = run("ls /run/nodeos; cat /run/nodeos/job-*", user="bob")
    ok(r.code != 0 and "sim" not in r.out, "other users cannot read the ledger", r.text)
    run(f"scancel {job}", user="alice")
    all_idle("suite, report: all nodes become idle after scancel")
    names = sorted(f for f in os.listdir(HOME) if f.startswith("rep."))
    same(
        names,
        ["rep.0.n0.json", "rep.0.n1.json", "rep.batch.n0.json"],
        "--nodeos-report of sbatch writes a file for each step on each node",
    )
    for name in names:
        described(json.load(open(f"{HOME}/{name}")), name)
    r = run("nodeosctl report --merge --json " + " ".join(names))
    merged = json.loads(r.out or '{"nodes": []}')
    described(merged, "report --merge of the steps' reports")
    same(
        {k: c["cpus"] for k, c in kept(merged).items()},
        {(n, job, name): c["cpus"] for n in ("n0", "n1") for name, c in want.items()},
        f"report --merge of the steps' reports has the planned containers of both nodes {r.err}",
    )
    r = run("nodeosctl report --merge " + " ".join(names))
    ok(
        len(r.out.splitlines()) == 1 + 2 * len(want) + 1,
        "report --merge of the steps' reports as text has each container once per node",
        r.text,
    )
    same(leftovers(), "", "suite, report: the jobs leave no file in /run/nodeos")


def seen_on(nodes, what):
    """Wait until alice has containers on each of NODES, and return the numbers of their jobs."""
    for _ in range(100):
        found = [
            json.loads(run("nodeosctl show --json", node=n).out or "{}").get("jobs") or []
            for n in nodes
        ]
        if all(any(s["tasks"] for j in jobs for s in j["steps"]) for jobs in found):
            break
        time.sleep(1)
    ok(all(found), f"{what} has containers on {','.join(nodes)}", found)
    return sorted(j["job"] for jobs in found for j in jobs)


def group_parts(machine):
    """Check report --all-nodes of a heterogeneous job and of an array's tasks."""
    manifest = write("coupled.json", pod(**COUPLED))

    def nodes_of(r):
        whole = json.loads(r.out or '{"nodes": []}')
        return [(d["node"], j["job"]) for d in whole["nodes"] for j in d["jobs"]], [
            m["node"] for m in whole.get("missing", [])
        ]

    script = write(
        "het.sh", "#!/bin/bash\nsrun --het-group=0,1 -n1 --nodeos-container=sim sleep 600\n"
    )
    job = int(
        run(
            f"sbatch --parsable -N1 -w n0 --exclusive --nodeos-manifest={manifest} -o het.out : -N1"
            f" -w n1 --exclusive {script}"
        ).out.strip()
        or 0
    )
    same(
        seen_on(("n0", "n1"), "a heterogeneous job"),
        [job, job + 1],
        "a heterogeneous job: show has each component with the component's number",
    )
    for user in ("alice", "root"):
        r = run(f"nodeosctl report --all-nodes --job={job} --json", user=user, timeout=400)
        same(
            (r.code, *nodes_of(r)),
            (0, [("n0", job), ("n1", job + 1)], []),
            f"report --all-nodes of a heterogeneous job as {user} has both components"
            f" {r.err[-500:]}",
        )
    r = run(f"nodeosctl report --all-nodes --job={job + 1} --json", timeout=400)
    same(
        (r.code, *nodes_of(r)),
        (0, [("n1", job + 1)], []),
        f"report --all-nodes of one component has only the component's node {r.err[-500:]}",
    )
    run(f"scancel {job}")
    all_idle("suite, parts: all nodes become idle after the heterogeneous job")
    # a name that contains other fields of the job: nodeosctl must not read these fields
    script = write(
        "array.sh",
        "#!/bin/bash\nsrun -n1 --overlap --nodeos-container=sim sleep 600 &\nuntil [ -e ask ]; do"
        " sleep 1; done\nnodeosctl report --all-nodes --json >inside.$SLURM_ARRAY_TASK_ID.json"
        " 2>inside.err; wait\n",
    )
    run(f"rm -f {HOME}/ask {HOME}/inside.*")
    job = int(
        run(
            "sbatch --parsable --array=0-1 -J 'x UserId=bob(1001) GroupId=root(0) NodeList=n9' -N1"
            f" --exclusive --nodeos-manifest={manifest} -o array.%a.out {script}"
        ).out.strip()
        or 0
    )
    numbers = seen_on(("n0", "n1"), "an array")
    ok(
        len(numbers) == 2 and job in numbers,
        "an array: show has a job for each task, and one job has the array's number",
        (job, numbers),
    )
    r = run(f"nodeosctl report --all-nodes --job={job}", timeout=400)
    ok(
        r.code == 1
        and f"job {job} is an array of which 2 tasks run: name one, such as --job={job}_" in r.err,
        "report --all-nodes of an array of which two tasks run is refused",
        r.text,
    )
    got = []
    for task in (0, 1):
        r = run(
            f"nodeosctl report --all-nodes --job={job}_{task} --json",
            user=("alice", "root")[task],
            timeout=400,
        )
        found, missing = nodes_of(r)
        got += found
        ok(
            r.code == 0 and len(found) == 1 and not missing,
            f"report --all-nodes of task {task} has one node",
            r.text[-1500:],
        )
    same(
        (sorted(n for n, _ in got), sorted(j for _, j in got)),
        (["n0", "n1"], numbers),
        "report --all-nodes of each task: the tasks have different nodes and numbers",
    )
    write("ask", "")
    for _ in range(120):
        kept = [
            (
                open(f"{HOME}/inside.{t}.json").read()
                if os.path.exists(f"{HOME}/inside.{t}.json")
                else ""
            )
            for t in (0, 1)
        ]
        if all(kept):
            break
        time.sleep(1)
    same(
        [nodes_of(cluster.Result(0, k, "", 0))[0] for k in kept],
        [[g] for g in got],
        "report --all-nodes, run by a task of an array, has that task",
    )
    run(f"scancel {job}")
    all_idle("suite, parts: all nodes become idle at the end")
    same(leftovers(), "", "suite, parts: the jobs leave no file in /run/nodeos")


def group_show(machine):
    """Check nodeosctl exec, and that nodeosd shows users only their own jobs."""
    manifest = write("coupled.json", pod(**COUPLED))
    want = plan(manifest)
    script = write(
        "long.sh", "#!/bin/bash\nsrun -N2 -n4 --nodeos-container=sim sleep 600 &\nwait\n"
    )
    r = run("nodeosctl show", user="bob")
    ok(
        r.code == 0 and "0 jobs of yours" in r.out,
        "show as a user without jobs: 0 jobs",
        r.text,
    )
    job = run(
        f"sbatch --parsable -N2 --exclusive --nodeos-manifest={manifest} -o /dev/null {script}"
    ).out.strip()
    for _ in range(100):
        report = json.loads(run("nodeosctl show --json").out or "{}")
        tasks = [
            t
            for s in (report.get("jobs") or [{"steps": []}])[0]["steps"]
            if s["container"] == "sim"
            for t in s["tasks"]
        ]
        if len({p["cpus"] for t in tasks for p in t["processes"]}) == 2:
            break
        time.sleep(0.5)
    got = {c["name"]: c["cpus"] for c in report["jobs"][0]["containers"]}
    same(got, {n: c["cpus"] for n, c in want.items()}, "show has the user's containers as planned")
    ok("free" not in report, "show does not have the node's free CPUs", sorted(report))
    described(report, "show --json")
    whole = json.loads(run(f"nodeosctl report --json --job={job}", user="root").out)
    for j in (
        report["jobs"] + whole["jobs"]
    ):  # processes of the script and kernel threads may start and end between the two readings
        j["steps"] = [s for s in j["steps"] if s["step"] != "batch"]
        for c in j["containers"]:
            ok(
                c.pop("noise")["irqs"] >= 0
                and c.pop("effective")["processes"] >= (2 if c["name"] == "sim" else 0),
                f"show has the interference and processes of {c['name']}",
            )
            c["memory"] = [m["mem"] for m in c["memory"]]
    same(report["jobs"], whole["jobs"], "show has the same facts of the job as root's report")
    r = run(f"nodeosctl show --job={job}")
    ok(
        r.code == 0 and f"job {job} of alice" in r.out and "kernel shows cpus" in r.out,
        "show --job as text has the job and the kernel's CPUs",
        r.text,
    )
    same(
        run(f"nodeosctl show --job={job} --json", user="root").code,
        0,
        "show --job --json as root has the job",
    )
    for command in ("show", "show --json"):
        r = run(f"nodeosctl {command}", user="bob")
        ok(
            r.code == 0 and "sim" not in r.out and "alice" not in r.out,
            f"{command} as another user has nothing of the job",
            r.text,
        )
    # run commands in a container that has ranks
    show_place = (
        "nodeosctl exec sim -- bash -c 'taskset -cp $$; grep ^Mems_allowed_list /proc/self/status;"
        " numactl --show | grep ^policy; cat /proc/self/cgroup; env | grep ^NODEOS | sort'"
    )
    for node in ("n0", "n1"):
        r = run(
            f"su alice -c {shlex.quote('cd; ' + show_place)}" if node != "n0" else show_place,
            node=node,
        )
        ok(
            r.code == 0
            and cpus(re.search(r"list: (\S+)", r.out).group(1)) <= cpus(want["sim"]["cpus"]),
            f"exec on {node}: the command has CPUs of the container",
            r.text,
        )
        ok(
            f"Mems_allowed_list:\t{want['sim']['mems']}\n" in r.out and "policy: bind" in r.out,
            f"exec on {node}: the command has the container's memory nodes",
            r.text,
        )
        ok(
            f"job_{job}/step_" in r.out and "NODEOS_CONTAINER=sim" in r.out,
            f"exec on {node}: the command is in a step of the job, with the container's variables",
            r.text,
        )
    same(
        run("nodeosctl exec sim -- bash -c 'exit 7'").code,
        7,
        "exec returns the command's exit status",
    )
    r = run("nodeosctl exec sim /nonexistent")
    ok(
        r.code not in (0, 124) and "/nonexistent" in r.err,
        "exec of a missing command fails",
        r.text,
    )
    r = run("nodeosctl exec --dry-run --pty sim gdb 'a b'")
    same(
        r.out,
        f"srun --jobid={job} --overlap --nodes=1 --ntasks=1 --nodelist=n0 --nodeos-container=sim"
        " --mpi=none --pty -- gdb 'a b'\n",
        "exec --dry-run prints the srun line",
    )
    same(
        run("nodeosctl exec vda -- bash -c 'echo $NODEOS_CONTAINER'").out,
        "vda\n",
        "exec runs in a container without ranks",
    )
    r = run(
        "SLURM_EXCLUSIVE=1 SLURM_EXACT=1 SLURM_CPUS_PER_TASK=64 SLURM_NTASKS_PER_NODE=64 nodeosctl"
        " exec vda -- bash -c 'echo $NODEOS_CONTAINER'"
    )
    same(r.out, "vda\n", f"exec ignores Slurm's variables for the size of a step {r.text}")
    # Let Slurm's name of the node differ from the host's name. nodeosd knows Slurm's name only if
    # each slurmd has a scope of its own.
    if run(
        "ls -d /sys/fs/cgroup/system.slice/n0_slurmstepd.scope 2>/dev/null", user="root"
    ).out.strip():
        run("hostname other", user="root")
        r = run("nodeosctl exec --dry-run sim true")
        run("hostname n0", user="root")
        ok(
            "--nodelist=n0 " in r.out,
            "exec uses Slurm's name of a node whose host has another name",
            r.text,
        )
    same(
        run(
            f"srun --jobid={job} --overlap -N1 -n1 --mpi=none --nodeos=off nodeosctl exec sim --"
            " bash -c 'echo $NODEOS_CONTAINER'"
        ).out,
        "sim\n",
        "exec works in a step outside of containers",
    )
    for command, user, what, words in (
        (
            f"exec --job={job} sim true",
            "bob",
            "another user's container",
            "you have no container sim on this node",
        ),
        (
            "exec nothing true",
            "alice",
            "a missing container",
            "you have no container nothing on this node",
        ),
    ):
        r = run(f"nodeosctl {command}", user=user)
        ok(r.code == 1 and words in r.err, f"exec in {what} is refused", r.text)
    run("nodeosctl exec sim sleep 1000 >/dev/null 2>&1 & sleep 15; echo", user="alice")
    same(run("pgrep -xc sleep").out.strip() >= "3", True, "exec: a program runs until the job ends")
    r = run(f"nodeosctl show --job={job}", user="bob")
    ok(
        r.code == 1
        and r.err == f"nodeosctl: show: you have no job {job} with containers on this node\n",
        "show --job of another user's job is refused",
        r.text,
    )
    talk = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect('/run/nodeosd.socket');"
        " s.sendall(eval(sys.argv[1])); print(s.recv(500))"
    )
    for what, line in (
        ("nothing", "b'\\n'"),
        ("a user id in the request", "b'nodeos 1 show uid=0\\n'"),
        ("a zero byte", "b'nodeos 1 show\\0\\n'"),
        ("two lines", "b'nodeos 1 show\\nnodeos 1 show\\n'"),
        ("100,000 bytes", "b'nodeos 1 show ' + b'x' * 100000 + b'\\n'"),
        ("bytes that are no text", "bytes(range(128, 256)) + b'\\n'"),
    ):
        r = run(f'python3 -c "{talk}" "{line}" 2>&1 || true', user="bob")
        ok(
            "error request: " in r.out or "Broken pipe" in r.out or "reset by peer" in r.out,
            f"nodeosd refuses {what}",
            r.text,
        )
    hold = (
        "import socket,time; s=[socket.socket(socket.AF_UNIX) for i in range(15)];"
        " [x.connect('/run/nodeosd.socket') for x in s]; print('held', flush=True); time.sleep(30)"
    )
    run(
        f'python3 -c "{hold}" >/tmp/held 2>&1 & for i in 1 2 3 4 5 6 7 8 9; do grep -q held'
        " /tmp/held && break; sleep 1; done",
        user="bob",
    )
    r = run("nodeosctl show")
    ok(
        r.code == 0 and f"job {job}" in r.out,
        "15 connections of a user that send nothing do not delay another user's show",
        r.text,
    )
    r = run("for i in $(seq 25); do nodeosctl show >/tmp/many || exit 1; done")
    same(r.code, 0, "25 runs of show, one after another, succeed")
    # Make more connections at once than one user may have (MaxConnectionsPerSource=). The ranks of
    # a program do so, too.
    crowd = (
        "rm -f /tmp/crowd.*; for i in $(seq 40); do { nodeosctl show >/dev/null 2>>/tmp/crowd.err"
        " || echo $i; } & done >/tmp/crowd.failed; wait; cat /tmp/crowd.failed"
    )
    r = run(crowd, timeout=300)
    same(
        r.out, "", f"forty runs of show at once all succeed {run('cat /tmp/crowd.err').out[-600:]}"
    )
    run("pkill -f nodeosd.socke[t]", user="bob")
    run("systemctl stop nodeosd.socket", user="root")
    r = run("nodeosctl show")
    ok(
        r.code == 1 and "nodeosd does not listen on this node" in r.err,
        "show without nodeosd fails, and the reason is printed",
        r.text,
    )
    run("systemctl start nodeosd.socket", user="root")
    run(f"scancel {job}")
    all_idle("suite, show: all nodes become idle at the end")
    same(run("pgrep -x sleep").out, "", "programs that exec runs end with the job")
    time.sleep(12)
    same(
        run("systemctl --failed --no-legend | grep -c nodeos", user="root").out.strip(),
        "0",
        "suite, show: no systemd unit of NodeOS has failed",
    )
    same(leftovers(), "", "suite, show: the jobs leave no file in /run/nodeos")


def group_nolibs(machine):
    """Check that commands without NodeOS's options need none of NodeOS's libraries. Debian's slurmd
    and slurmstepd need hwloc, so the test hides hwloc only on the node that submits, and json-c on
    both nodes."""
    lib = "/usr/lib/x86_64-linux-gnu/"
    names = {"n0": f"{lib}libjson-c.so.5 {lib}libhwloc.so.15", "n1": f"{lib}libjson-c.so.5"}
    for node, files in names.items():
        run(f"for f in {files}; do mv $f $f.hidden; done", user="root", node=node)
    try:
        r = run("nodeosctl --version")
        ok(r.code != 0, "nodeosctl fails without its libraries", r.text)
        r = run(
            "ldd /usr/bin/srun /usr/bin/sbatch /usr/lib/x86_64-linux-gnu/slurm-wlm/nodeos.so | grep"
            " -c 'not found'"
        )
        same(r.out.strip(), "0", "srun, sbatch and the plugin find all their libraries")
        r = run(f"srun -w n1 -n2 --mpi=none {WHEREAMI}")
        ok(r.code == 0 and len(ranks(r)) == 2, "srun runs without json-c and hwloc", r.text)
        r = sbatch(f"-w n1 -o nolibs.out --wrap '{WHEREAMI}; srun --mpi=none {WHEREAMI}'")
        ok(
            r.code == 0
            and len(ranks(cluster.Result(0, open(f"{HOME}/nolibs.out").read(), "", 0))) == 2,
            "sbatch runs without json-c and hwloc",
            r.text,
        )
        r = run(f"srun -w n1 -n1 --mpi=none --nodeos-cpus=2 {WHEREAMI}")
        ok(
            r.code == 0 and len(cpus(ranks(r)[0]["cpus"])) == 2,
            "a container starts on a node without json-c, since the planner needs only hwloc",
            r.text,
        )
        run("mv /usr/libexec/nodeos/nodeos-plan /usr/libexec/nodeos/hidden", user="root", node="n1")
        r = run(f"srun -w n1 -n1 --mpi=none --nodeos-cpus=2 {WHEREAMI}")
        run("mv /usr/libexec/nodeos/hidden /usr/libexec/nodeos/nodeos-plan", user="root", node="n1")
        ok(
            r.code != 0
            and "error: nodeos: n1" in r.err
            and "nodeos-plan" in r.err
            and "not installed" in r.err,
            "a container on a node without nodeos-plan fails with a message",
            r.text,
        )
        good = write("good.json", pod(sim={"container": {"cpus": 2}}))
        r = run(f"sbatch --nodeos-manifest={good} --wrap true")
        ok(
            r.code != 0 and "nodeosctl" in r.err,
            "sbatch with a manifest fails without json-c, and the message names nodeosctl",
            r.text,
        )
    finally:
        for node, files in names.items():
            run(f"for f in {files}; do mv $f.hidden $f; done", user="root", node=node)
    all_idle("suite, nolibs: all nodes become idle at the end")


def group_policy(machine):
    conf = "/etc/nodeos/nodeos.conf"
    for node in ("n0", "n1"):
        run(
            f"cp {conf} /tmp/keep; printf 'allow_policies ="
            f" other,batch,idle,fifo,rr\\nmax_rt_priority = 20\\nhelper_timeout = 60\\n' > {conf}",
            user="root",
            node=node,
        )
    r = run(f"srun -N1 -n2 -c4 --nodeos-cpus=4 --nodeos-sched=fifo:10 {WHEREAMI}")
    found = ranks(r)
    ok(
        r.code == 0 and [(x["policy"], x["priority"]) for x in found] == [(1, 10)] * 2,
        "--nodeos-sched=fifo:10 is applied if nodeos.conf allows fifo",
        r.text,
    )
    r = run(f"srun -N1 -n1 -c4 --nodeos-cpus=4 --nodeos-sched=rr:21 {WHEREAMI}")
    ok(r.code != 0 and "limit 20" in r.err, "a priority above max_rt_priority is refused", r.text)
    r = run(f"srun -N1 -n1 -c16 --nodeos-sched=rr {WHEREAMI}")
    ok(
        r.code != 0 and "leave one core" in r.err,
        "real-time ranks on all cores of the node are refused",
        r.text,
    )
    r = run(
        f"salloc -N1 -n1 -c8 bash -c 'srun -n1 -c4 --exact --nodeos-sched=fifo {WHEREAMI} 10 &"
        f" sleep 5;srun -n1 -c4 --exact --nodeos-sched=fifo {WHEREAMI}; wait'"
    )
    ok(
        "leave one core" in r.err and len(ranks(r)) == 1,
        "real-time ranks of two steps that have all cores together are refused",
        r.text,
    )
    r = run(
        "salloc -w n0 -N1 -n1 -c8 bash -c '(sleep 6; exec srun -n1 -c4 --exact --nodeos-cpus=2"
        " --nodeos-sched=fifo sleep 100) & srun -n1 -c4 --exact --nodeos-sched=fifo sleep 100 & for"
        " i in {1..60}; do nodeosctl resize --step=$SLURM_JOB_ID.1 step --cpus=2 2>/dev/null &&"
        " break; sleep 1; done; nodeosctl resize --step=$SLURM_JOB_ID.1 step --cpus=4; echo resized"
        " $?; scancel $SLURM_JOB_ID.0; sleep 3; nodeosctl resize --step=$SLURM_JOB_ID.1 step"
        " --cpus=4; echo resized $?; scancel $SLURM_JOB_ID.1; wait'"
    )
    ok(
        "leave one core" in r.err and re.findall(r"resized (\d)", r.out) == ["1", "0"],
        "a resize that puts real-time ranks on all cores is refused until the other step ends",
        r.text,
    )
    for node in ("n0", "n1"):
        run(f"cp /tmp/keep {conf}", user="root", node=node)
    all_idle("suite, policy: all nodes become idle at the end")


def group_allow(machine):
    """Check the key debug and the keys allow_ISOLATOR. For the latter, slurmctld gives the job's
    user and partition."""
    conf = "/etc/nodeos/nodeos.conf"
    log = "/var/log/slurm/slurmd.log"

    def site(*lines):
        text = "\\n".join(("helper_timeout = 60", *lines))
        for node in ("n0", "n1"):
            run(
                f"[ -e /tmp/keep ] || cp {conf} /tmp/keep; printf '{text}\\n' > {conf}",
                user="root",
                node=node,
            )

    def srun(options="--nodeos-sched=batch"):
        return run(f"srun -w n0 -n1 -c2 --nodeos-cpus=2 {options} {WHEREAMI}")

    run("rm -f /tmp/keep", user="root")
    run("rm -f /tmp/keep", user="root", node="n1")
    site("allow_sched = users: bob")
    r = srun()
    ok(
        r.code != 0 and "allow_sched" in r.err,
        "allow_sched = users: bob: a scheduling policy is refused to alice",
        r.text,
    )
    ok(srun("").code == 0, "allow_sched = users: bob: a container without a scheduling policy runs")
    site("allow_sched = partitions: main")
    r = srun()
    ok(
        r.code == 0 and len(ranks(r)) == 1,
        "allow_sched = partitions: main: a job in main gets a scheduling policy",
        r.text,
    )
    r = run(f"SLURM_JOB_PARTITION=other srun -w n0 -n1 -c2 --nodeos-sched=batch {WHEREAMI}")
    ok(
        r.code == 0 or "other" in r.err,
        "allow_sched: SLURM_JOB_PARTITION in the environment does not change the job's partition",
        r.text,
    )
    site("allow_sched = partitions: other")
    r = run(
        "salloc -w n0 -n1 -c2 bash -c 'SLURM_JOB_PARTITION=other srun -n1 --nodeos-sched=batch"
        f" {WHEREAMI}'"
    )
    ok(
        r.code != 0 and "allow_sched" in r.err and "error: nodeos: n0" in r.err,
        "allow_sched = partitions: other: a policy is refused to a job in main that sets the"
        " variable",
        r.text,
    )
    manifest = write("oom.json", pod(sim={"container": {"cpus": 8}, "os/linux/oom-score-adj": 300}))
    r = run(
        f"srun -w n0 -n2 -c4 --nodeos-manifest={manifest} cat /proc/self/oom_score_adj;"
        " srun -w n0 -n1 cat /proc/self/oom_score_adj"
    )
    ok(
        r.out.split() == ["300", "300", "0"],
        "only ranks in a container have the manifest's oom_score_adj",
        r.text,
    )
    site("allow_sched = no", "debug = yes")
    r = srun()
    ok(
        r.code != 0 and "allow_sched" in r.err,
        "allow_sched = no: a scheduling policy is refused",
        r.text,
    )
    run(f"truncate -s 0 {log}", user="root")
    ok(srun("").code == 0, "allow_sched = no: a container without a scheduling policy runs")
    text = run(f"grep -a 'nodeos: ' {log}", user="root").out
    ok(
        all(f"nodeos: {phase}: step " in text for phase in ("request", "plan", "choose", "end")),
        "debug = yes: slurmd's log has the decisions",
        text,
    )
    for node in ("n0", "n1"):
        run(f"cp /tmp/keep {conf}", user="root", node=node)
    run(f"truncate -s 0 {log}", user="root")
    ok(
        srun("").code == 0 and "nodeos: " not in run(f"grep -a 'nodeos: ' {log}", user="root").out,
        "without debug = yes, slurmd's log has no decisions",
    )
    all_idle("suite, allow: all nodes become idle at the end")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    wanted = sys.argv[1:] or list(GROUPS)
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    machine = Machine()
    # emulated nodes on a busy host are slow; the tests must not fail for this reason
    cluster.patient()
    note(
        f"machine: {len(machine.cpus)} CPUs, {len(machine.core)} cores, {len(machine.mems)} memory"
        " nodes"
    )
    cluster.run_groups(GROUPS, wanted, machine)
    cluster.done()


main()
