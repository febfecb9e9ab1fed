#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=900 words
# run: deep limit=3600
# run: deep slurm=22.05 limit=3600
# run: deep slurm=newest limit=3600
# rooms: spank launch
"""Test plain Slurm beside containers: command lines that NodeOS must ignore, steps that are started
from outside of a job, exit codes, and names of nodes. "plain.py GROUP..." runs only these
groups."""

import os
import sys
import time

import cluster
from cluster import (
    HOME,
    WHEREAMI,
    Machine,
    all_idle,
    cpus,
    leftovers,
    ok,
    ranks,
    run,
    same,
    wait_idle,
)
from containers import check_ranks, pod, write

MANIFEST = {"sim": {"container": {"cpus": 4}}, "vda": {"container": {"cpus": 2}}}
LINE = "/etc/slurm/plugstack.conf.d/nodeos.conf"
CONF = "/etc/nodeos/nodeos.conf"


def on(node, command):
    return run(command, user="root", node=node)


def executable(name, text):
    path = write(name, text)
    os.chmod(path, 0o755)
    return path


def series():
    """Return the series of Slurm as numbers, such as (24, 11)."""
    return tuple(int(x) for x in run("srun --version").out.split()[1].split(".")[:2])


def group_words():
    """Test that NodeOS treats only those files as manifests that the user passes as such."""
    executable("app", "#!/bin/sh\necho app $*\n")
    executable("script.json", "#!/bin/sh\necho script $*\n")
    write("input.json", '{"no": "manifest"}\n')
    write("list.json", "[1]\n")
    write("map.json", f"0 {HOME}/app zero\n1 {HOME}/app one\n")
    write("good.sh", "#!/bin/bash\n# good\ntrue\n")
    write("bad.sh", "#!/bin/bash\n#NODEOS {broken\ntrue\n")
    run("mkdir -p sub; cp bad.sh job.sh; cp good.sh sub/job.sh")
    for options in (
        "--bcast",
        "--preserve-env",
        "--immediate",
        "--unbuff",
        "--comment script.json",
        "-J input.json",
        "--no-kill",
    ):
        if options == "--immediate":
            wait_idle()  # the previous job may not have ended yet
        r = run(f"srun -w n0 {options} ./app input.json")
        ok(
            r.code == 0 and "app input.json" in r.out and "nodeos" not in r.err,
            f"srun {options} ./app input.json runs the program with its argument",
            r.text,
        )
    r = run("srun --test-only ./app input.json")
    ok(r.code == 0 and "nodeos" not in r.err, "srun --test-only ./app input.json succeeds", r.text)
    r = run("srun -w n0 ./script.json input.json")
    ok(
        r.code == 0 and r.out == "script input.json\n",
        "srun ./script.json: an executable file runs as a program",
        r.text,
    )
    r = run("PATH=$PWD:$PATH srun -w n0 script.json x")
    ok(
        r.code == 0 and r.out == "script x\n",
        "srun script.json: an executable file in PATH runs as a program",
        r.text,
    )
    r = run("srun -w n0 -n2 --multi-prog map.json")
    same(
        (r.code, sorted(r.out.split("\n"))),
        (0, ["", "app one", "app zero"]),
        "srun --multi-prog map.json runs both programs",
    )
    r = run("srun -w n0 ./list.json")
    ok(
        r.code != 0 and "nodeos" not in r.err,
        "srun ./list.json: Slurm, not NodeOS, refuses a file without a JSON object",
        r.text,
    )
    r = run("srun -w n0 ./nothing.json")
    ok(
        r.code != 0 and "nodeos" not in r.err,
        "srun ./nothing.json: Slurm, not NodeOS, refuses a missing file",
        r.text,
    )
    r = run("srun -w n0 ./input.json")
    ok(
        r.code != 0 and "nodeos" not in r.err,
        "srun ./input.json: Slurm, not NodeOS, refuses a JSON object without an acKind",
        r.text,
    )
    write("broken.json", '{"acKind": "PodManifest"}\n')
    r = run("srun -w n0 ./broken.json")
    ok(
        r.code != 0 and "not a valid manifest" in r.err,
        "srun ./broken.json: NodeOS refuses an invalid manifest, a JSON object with an acKind",
        r.text,
    )
    r = run("sbatch -w n0 -o /dev/null bad.sh")
    ok(
        r.code != 0 and "bad.sh" in r.err,
        "sbatch refuses a script with a wrong #NODEOS line",
        r.text,
    )
    for line in (
        "--comment bad.sh good.sh",
        "-J bad.sh --wrap true",
        "good.sh bad.sh",
        "-D sub job.sh",
        "--chdir=sub job.sh",
        "-w n0 -n1 : --comment bad.sh good.sh",
    ):
        r = run(f"sbatch -w n0 -o /dev/null {line}")
        ok(
            r.code == 0 and "nodeos" not in r.err,
            f"sbatch {line}: no file but the script is checked",
            r.text,
        )
    r = run("sbatch -w n0 -o /dev/null -n1 : -w n1 -n1 bad.sh")
    ok(
        r.code != 0 and "bad.sh" in r.err,
        "sbatch refuses the script of a heterogeneous job with a wrong #NODEOS line",
        r.text,
    )
    all_idle("plain, words: all nodes are idle at the end")


def job(options, script):
    """Submit a job of alice, and wait until its script has made the file "ready". Returns the job's
    number."""
    run("rm -f ready go")
    path = write("login.sh", "#!/bin/bash\n" + script)
    number = run(f"sbatch --parsable -o login.log {options} {path}").out.strip()
    for _ in range(300):
        if os.path.exists(f"{HOME}/ready"):
            return number
        time.sleep(0.3)
    raise RuntimeError(f"job {number} is not ready: " + run("cat login.log; squeue").out)


def planned_job(options=""):
    manifest = write("login.json", pod(**MANIFEST))
    return job(
        f"-N2 --ntasks-per-node=4 -c2 {options} --nodeos-manifest={manifest}",
        f"srun -N2 -n2 --nodeos-container=sim bash -c 'touch ready; while [ ! -e {HOME}/go ]; do"
        " sleep 0.5; done'\n",
    )


def taken(node):
    """Return the containers on NODE by name, as nodeosctl report shows them."""
    import json

    report = json.loads(on(node, "nodeosctl report --json").out)
    return {c["name"]: c for j in report["jobs"] for c in j["containers"]}


def group_login():
    """Test steps of a job with containers that a shell outside of the job starts."""
    number = planned_job()
    machine = Machine()
    srun = f"srun --jobid={number} --overlap"
    r = run(f"{srun} -N2 --ntasks-per-node=1 {WHEREAMI}")
    found = ranks(r)
    plan = {node: taken(node) for node in ("n0", "n1")}
    ok(r.code == 0 and len(found) == 2, "srun --jobid: a plain step runs on both nodes", r.text)
    ok(
        all(
            not cpus(x["cpus"])
            & (cpus(plan[x["host"]]["sim"]["cpus"]) | cpus(plan[x["host"]]["vda"]["cpus"]))
            for x in found
        ),
        "srun --jobid: a plain step is on CPUs that the containers leave",
        [x["cpus"] for x in found],
    )
    ok(
        r.err.count("nodeos: note:") == 1 and "sim vda" in r.err,
        "srun --jobid: the user of a plain step gets one note, which names the containers",
        r.err,
    )
    for name in ("sim", "vda"):
        r = run(f"{srun} -N2 --ntasks-per-node=1 --nodeos-container={name} {WHEREAMI}")
        ok(
            r.code == 0 and "nodeos" not in r.err,
            f"srun --jobid: a step joins {name} on both nodes",
            r.text,
        )
        for node in ("n0", "n1"):
            check_ranks(
                [x for x in ranks(r) if x["host"] == node],
                plan[node][name],
                f"{name} on {node}",
                machine,
                pinned=False,
            )
    r = run(
        f"script -qec '{srun} -w n1 -N1 -n1 --pty --nodeos-container=vda grep Cpus_allowed_list"
        " /proc/self/status' /dev/null"
    )
    same(
        cpus(r.out.split()[-1] if r.out.split() else ""),
        cpus(plan["n1"]["vda"]["cpus"]),
        "srun --jobid --pty: a step joins vda",
    )
    r = run(f"{srun} -w n0 -N1 -n1 --nodeos-container=vda srun --overlap -w n0 -N1 -n1 {WHEREAMI}")
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        ["vda"],
        "srun in a rank that srun --jobid has started: the new step is in the rank's container",
    )
    r = run(f"{srun} -N1 -n1 --nodeos-container=none grep -c Cpus_allowed_list /proc/self/status")
    ok(
        r.code == 0 and "nodeos" not in r.err,
        "srun --jobid --nodeos-container=none: the step runs without a note",
        r.text,
    )
    r = run(f"{srun} -N1 -n1 --nodeos=off hostname")
    ok(
        r.code == 0 and "nodeos" not in r.err,
        "srun --jobid --nodeos=off: the step runs without a note",
        r.text,
    )
    r = run(f"{srun} -w n0 -N1 -n1 --nodeos-container=viz hostname")
    ok(
        r.code != 0 and "sim" in r.err and "vda" in r.err and "viz" in r.err and r.out == "",
        "srun --jobid with an unknown name: the message has the existing names",
        r.text,
    )
    r = run(f"{srun} -w n0 -N1 -n1 --nodeos-cpus=1 hostname")
    ok(
        r.code != 0 and "second manifest" in r.err,
        "srun --jobid with --nodeos-cpus in a job with containers is refused",
        r.text,
    )
    # srun runs in another job with containers, whose request must not apply to this job
    other = write("other.json", pod(own={"container": {"cpus": 2}}))
    for options, want in (("--nodeos-container=vda", "vda"), ("", None)):
        r = run(
            f"salloc -w n0 -n2 -c2 --nodeos-manifest={other} srun -n1 --nodeos-container=own {srun}"
            f" -w n0 -N1 -n1 {options} {WHEREAMI}"
        )
        same(
            [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
            [want],
            f"srun --jobid {options} from within another job: the container is {want}",
        )
    # the options of the other job must not apply either: then no guard stops a plain step on a node
    # without the plugin
    inside = f"salloc -w n0 -n2 -c2 --nodeos-manifest={other} --nodeos-container=own"
    r = run(f"{inside} {srun} -w n1 -N1 -n1 {WHEREAMI} --nodeos-container=own")
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        [None],
        "srun --jobid from a job that names a container: a plain step is in none",
    )
    on("n1", f"mv {LINE} {LINE}.off")
    r = run(f"{inside} {srun} -w n1 -N1 -n1 echo alive")
    same(
        (r.code, r.out),
        (0, "alive\n"),
        "srun --jobid from a job that names a container: a plain step runs on a node without the"
        " plugin",
    )
    on("n1", f"mv {LINE}.off {LINE}")
    r = run(
        f"salloc -w n0 -n2 -c2 --nodeos=off {srun} -w n0 -N1 -n1 --nodeos-container=vda {WHEREAMI}"
    )
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        ["vda"],
        "srun --jobid from within a job with --nodeos=off: the step joins vda",
    )
    run(f"touch {HOME}/go")
    all_idle("plain, login: all nodes are idle at the end")
    # a job without containers, but with one step that has a container of its own
    number = job(
        "-w n0 -n4 -c2",
        f"srun -n1 -c2 --overlap --nodeos-cpus=2 bash -c 'touch ready; while [ ! -e {HOME}/go ]; do"
        " sleep 0.5; done'\n",
    )
    r = run(f"srun --jobid={number} --overlap -n1 --nodeos-container=step hostname")
    ok(
        r.code != 0 and "step 0's own container" in r.err and r.out == "",
        "srun --jobid: joining the own container of another step is refused with the reason",
        r.text,
    )
    r = run(f"srun --jobid={number} --overlap -n1 --nodeos-container=sim hostname")
    ok(
        r.code != 0 and "has no containers" in r.err and r.out == "",
        "srun --jobid: a container name in a job without containers is refused",
        r.text,
    )
    r = run(f"srun --jobid={number} --overlap -n1 hostname")
    ok(
        r.code == 0 and "nodeos" not in r.err,
        "srun --jobid: a plain step in a job without containers runs",
        r.text,
    )
    run(f"touch {HOME}/go")
    r = run("srun -n1 --nodeos-container=sim hostname")
    ok(
        r.code != 0 and "has no containers" in r.err,
        "srun: a container name in a job without containers is refused",
        r.text,
    )
    all_idle("plain, login: all nodes are idle at the end")
    same(leftovers(), "", "plain, login: the ledger is empty")


def group_exits():
    """Test that Slurm alone decides what happens when a rank ends with an exit code."""
    farm = "'if [ $SLURM_PROCID = 0 ]; then exit 3; fi; sleep 6; echo alive'"
    r = run(f"srun -N2 -n2 -c2 --nodeos-cpus=2 bash -c {farm}")
    ok(
        r.code == 3 and r.out == "alive\n",
        "when one rank exits with 3, the others continue, and srun exits with 3",
        r.text,
    )
    r = run(f"srun -N2 -n2 -c2 -K --nodeos-cpus=2 bash -c {farm}")
    ok(r.code != 0 and r.out == "", "srun -K: when one rank fails, the others are killed", r.text)
    cluster.both(
        f"cp -p {CONF} {CONF}.keep; sed -i 's/^#kill_on_bad_exit = .*/kill_on_bad_exit = yes/'"
        f" {CONF}"
    )
    r = run(f"srun -N2 -n2 -c2 --nodeos-cpus=2 bash -c {farm}")
    ok(
        r.code != 0 and r.out == "",
        "kill_on_bad_exit = yes: when one rank fails, the others are killed",
        r.text,
    )
    r = run(f"srun -N2 -n2 -c2 -K0 --nodeos-cpus=2 bash -c {farm}")
    ok(
        r.code == 3 and r.out == "alive\n",
        "kill_on_bad_exit = yes, srun -K0: when one rank fails, the others continue",
        r.text,
    )
    r = run(f"srun -N2 -n2 -c2 bash -c {farm}")
    ok(
        r.code == 3 and r.out == "alive\n",
        "kill_on_bad_exit = yes: in a step without containers, the other ranks continue",
        r.text,
    )
    cluster.both(f"mv {CONF}.keep {CONF}")
    # an error of NodeOS always ends the step on all nodes
    cluster.both(f"cp -p {CONF} {CONF}.keep")
    on("n1", f"echo 'colour = red' >>{CONF}")
    start = time.time()
    r = run("srun -N2 -n2 -c2 --nodeos-cpus=2 bash -c 'sleep 60; echo alive'")
    ok(
        r.code != 0 and "colour" in r.err and r.out == "" and time.time() - start < 45,
        "if one of two nodes cannot make the container, the step ends on both",
        r.text,
    )
    cluster.both(f"mv {CONF}.keep {CONF}")
    # nodeos.conf may be a symbolic link that root owns, as in some images
    cluster.both(f"mv {CONF} {CONF}.real; ln -s nodeos.conf.real {CONF}")
    r = run("srun -N2 -n2 -c2 --nodeos-cpus=2 hostname")
    ok(
        r.code == 0 and sorted(r.out.split()) == ["n0", "n1"],
        "a container starts with a nodeos.conf that is a symbolic link of root",
        r.text,
    )
    cluster.both(f"mv {CONF}.real {CONF}")
    all_idle("plain, exits: all nodes are idle at the end")


def group_async():
    """Test srun --async of Slurm 26.05 and newer, which calls fewer hooks."""
    if series() < (26, 5):
        cluster.note("this Slurm has no srun --async")
        return
    number = planned_job("--stepmgr")  # the stepmgr launches these steps
    machine = Machine()
    plan = taken("n1")
    lines = f"{HOME}/async.out"

    def step(options, program, job_id=number, inside=""):
        if os.path.exists(lines):
            os.unlink(lines)
        r = run(
            f"{inside} srun --jobid={job_id} --async --overlap -w n1 -N1 -n1 -o {lines} {options}"
            f" {program}"
        )
        for _ in range(100):
            time.sleep(0.3)
            if (
                os.path.exists(lines)
                and not run(
                    f"squeue -h -s -j {job_id} | grep -v -e batch -e extern | tail -n +2"
                ).out.strip()
            ):
                break
        time.sleep(1)
        r.out = open(lines).read() if os.path.exists(lines) else ""
        return r

    r = step("--nodeos-container=vda", WHEREAMI)
    found = ranks(r)
    ok(len(found) == 1, "srun --async: the step's rank runs", r.text)
    check_ranks(found, plan["vda"], "srun --async", machine, pinned=False)
    ok(
        not any(
            "TASK_PROLOG" in k or "GUARD" in k or "SAVED" in k for x in found for k in x["env"]
        ),
        "srun --async: the rank has no variables of the guard",
    )
    r = step("--nodeos-container=viz", "echo alive")
    ok(
        "alive" not in r.out,
        "srun --async: a step that names an unknown container does not run",
        r.text,
    )
    on("n1", f"mv {LINE} {LINE}.off")
    r = step("--nodeos-container=vda", "echo alive")
    ok(
        "alive" not in r.out,
        "srun --async: a step in a container does not run on a node without the plugin",
        r.text,
    )
    r = step("", "echo alive")
    ok("alive" in r.out, "srun --async: a plain step runs on a node without the plugin", r.text)
    r = step("", "echo alive --nodeos-cpus=2")
    ok(
        "alive --nodeos-cpus=2" in r.out,
        "srun --async: a program with the argument --nodeos-cpus runs on a node without the plugin",
        r.text,
    )
    on("n1", f"mv {LINE}.off {LINE}")
    # srun in a job with containers starts a step of a job without containers: the step has its own
    # request
    other = write("other.json", pod(own={"container": {"cpus": 2}}))
    inside = f"salloc -w n0 -n2 -c2 --nodeos-manifest={other}"
    bare = job(
        "-w n1 -n1 -c4 --stepmgr", f"touch ready; while [ ! -e {HOME}/go ]; do sleep 0.5; done\n"
    )
    r = step("--nodeos-cpus=2", WHEREAMI, bare, inside)
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        ["step"],
        "srun --async --jobid from within another job: a step has its own request",
    )
    r = step("", WHEREAMI, bare, inside)
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        [None],
        "srun --async --jobid from within another job: a plain step has no container",
    )
    r = step("--nodeos-container=vda", WHEREAMI, number, inside)
    same(
        [x["env"].get("NODEOS_CONTAINER") for x in ranks(r)],
        ["vda"],
        "srun --async --jobid from within another job: a step joins the container of its job",
    )
    r = step("--nodeos-cpus=2", "echo alive", number, inside)
    ok(
        "alive" not in r.out,
        "srun --async: --nodeos-cpus in a job with containers is refused by the node",
        r.text,
    )
    run(f"touch {HOME}/go")
    all_idle("plain, async: all nodes are idle at the end")


def group_names():
    """Test a node whose host name differs from its name in Slurm."""
    on("n1", "hostname other")
    run("rm -f name.*")
    r = run("srun -w n1 -N1 -n1 -c2 --nodeos-cpus=2 --nodeos-report=name.%s.%N.json hostname")
    ok(
        r.code == 0 and r.out == "other\n",
        "a rank runs on a node whose host name is not Slurm's name",
        r.text,
    )
    same(
        run("ls name.*").out,
        "name.0.n1.json\n",
        "%N in --nodeos-report is Slurm's name of the node",
    )
    r = run("srun -w n1 -N1 -n1 -c2 --nodeos-cpus=64 hostname")
    ok(
        r.code != 0 and "error: nodeos: n1:" in r.err,
        "error messages have Slurm's name of the node",
        r.text,
    )
    on("n1", "hostname n1")
    all_idle("plain, names: all nodes are idle at the end")


GROUPS = {
    "words": group_words,
    "login": group_login,
    "exits": group_exits,
    "async": group_async,
    "names": group_names,
}


def main():
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or list(GROUPS))
    cluster.done()


main()
