#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=900 kills
# run: deep limit=3600
# run: deep qemu="-action reboot=reset" limit=1200 reset
# run: deep kernel=debian limit=3600
# rooms: spank launch container
"""Test failures on a node, with srun, sbatch and salloc: the ranks do not run, the user gets the
message, the step ends on all nodes, no node is drained, and other users are not affected.
"failures.py GROUP..." runs only these groups."""

import os
import random
import sys
import time

import cluster
from cluster import HOME, WHEREAMI, all_idle, cpus, leftovers, ok, ranks, run, same
from containers import pod, write

LINE = "/etc/slurm/plugstack.conf.d/nodeos.conf"
LAUNCHERS = {
    "srun": "srun -N2 -n2 {options} bash -c {program}",
    "sbatch": "sbatch --wait -N2 -n2 {options} -o {log} --wrap 'srun -N2 -n2 bash -c {program}'",
    "salloc": "salloc -N2 -n2 {options} srun -N2 -n2 bash -c {program}",
}


def on(node, command):
    return run(command, user="root", node=node)


def slurmd_lines(node):
    """Return the lines with errors of NodeOS in the log of NODE. Each byte that is not printable
    ASCII is replaced by the byte 1."""
    log = on(
        node,
        r"LC_ALL=C grep -a 'error: nodeos' /var/log/slurm/slurmd.log | LC_ALL=C tr -c '\n -~'"
        r" '\001'",
    )
    return log.out.split("\n")[:-1]


def launch(launcher, options, program='"hostname; sleep 20; echo alive"'):
    log = f"{HOME}/fail.out"
    if os.path.exists(log):
        os.unlink(log)
    r = run(LAUNCHERS[launcher].format(options=options, program=program, log=log), timeout=120)
    text = r.text + (open(log).read() if os.path.exists(log) else "")
    return r.code, text


def refused(launcher, options, words, what, nodes=None):
    code, text = launch(launcher, options)
    ok(
        code != 0 and words in text and "alive" not in text,
        f"{what}, {launcher}: the step is refused with a message",
        text[-1500:],
    )
    for node in nodes or ():
        ok(
            f"error: nodeos: {node}:" in text,
            f"{what}, {launcher}: the message names {node}",
            text[-1500:],
        )


def group_matrix():
    """Test requests that do not fit, and faults of one node. Slurm would drain a node for an error
    in most hooks, so NodeOS reports all errors in the rank."""
    # errors on both nodes; with sbatch, the step of the batch script reports them first
    for options, words, what in (
        ("--nodeos-cpus=64", "largest request that fits", "too many cpus"),
        ("--nodeos-mems=9", "memory", "too many memory nodes"),
        ("--nodeos-mems=900G", "memory", "too much memory"),
    ):
        for launcher in LAUNCHERS:
            refused(launcher, options, words, what)
    all_idle("no node is drained by requests that do not fit")
    # if one of two nodes refuses, the step ends on both
    breakage = {
        "a broken nodeos.conf": (
            "echo 'colour = red' >> /etc/nodeos/nodeos.conf",
            "sed -i '/^colour/d' /etc/nodeos/nodeos.conf",
            "colour",
        ),
        "no planner": (
            (
                "chmod 0 /usr/libexec/nodeos/nodeos-plan; mv /usr/libexec/nodeos/nodeos-plan"
                " /usr/libexec/nodeos/plan.off"
            ),
            (
                "mv /usr/libexec/nodeos/plan.off /usr/libexec/nodeos/nodeos-plan; chmod 0711"
                " /usr/libexec/nodeos/nodeos-plan"
            ),
            "not installed",
        ),
        "a full /run": (
            (
                "mkdir -p /run/nodeos; mount -t tmpfs -o size=4k,mode=0700 none /run/nodeos; head"
                " -c 8192 /dev/zero >/run/nodeos/fill 2>/dev/null"
            ),
            "umount /run/nodeos",
            "No space left",
        ),
        "a state directory that all may write": (
            "chmod 0777 /run/nodeos",
            "chmod 0700 /run/nodeos",
            "/run/nodeos",
        ),
        "a damaged machine.xml": (
            "cp /run/nodeos/machine.xml /tmp/keep.xml; echo nonsense >/run/nodeos/machine.xml",
            "mv /tmp/keep.xml /run/nodeos/machine.xml",
            "machine.xml",
        ),
    }
    for what, (hurt, mend, words) in breakage.items():
        on("n1", hurt)
        for launcher in LAUNCHERS:
            refused(launcher, "--nodeos-cpus=2", words, f"{what} on one node", ["n1"])
        code, text = launch("srun", "", '"hostname"')
        ok(
            code == 0 and "n1" in text,
            f"{what}: a job without NodeOS still runs on that node",
            text[-800:],
        )
        on("n1", mend)
        code, text = launch("srun", "--nodeos-cpus=2", '"hostname"')
        ok(code == 0, f"{what}, repaired: a container starts again", text[-800:])
    all_idle("no node is drained by faults of one node")
    same(leftovers(), "", "faults of one node: the ledger is empty on both nodes")


def without_plugin(user="alice"):
    """Return the environment of an srun that loads no plugin. Any user can make it. Then the node
    is the first to check the request."""
    run(
        "mkdir -p own; sed 's/^PlugStackConfig=.*/PlugStackConfig=\\/dev\\/null/'"
        " /etc/slurm/slurm.conf >own/slurm.conf",
        user=user,
    )
    return {
        "SLURM_CONF": f"/shared/home/{user}/own/slurm.conf",
        "SLURM_SPANK_NODEOS_STEP": "nodeos 1;c=step cpus=2;",
    }


def group_absent():
    """Test that a node without the plugin refuses the ranks of a job with containers."""
    on("n1", f"mv {LINE} {LINE}.off; systemctl restart slurmd")
    cluster.wait_idle()
    reason = "this node has no NodeOS plugin"
    code, text = launch("srun", "--nodeos-cpus=2", '"echo alive on $(hostname)"')
    ok(
        code != 0 and reason in text and "alive on n1" not in text,
        "no plugin on one node: that node's ranks do not run",
        text[-1500:],
    )
    # with kill_on_bad_exit, the ranks on the other node end, too
    on(
        "n0",
        "cp -p /etc/nodeos/nodeos.conf /tmp/keep.conf; echo 'kill_on_bad_exit = yes'"
        " >>/etc/nodeos/nodeos.conf",
    )
    for launcher in LAUNCHERS:
        refused(
            launcher, "--nodeos-cpus=2", reason, "no plugin on one node, kill_on_bad_exit = yes"
        )
    on("n0", "mv /tmp/keep.conf /etc/nodeos/nodeos.conf")
    manifest = write("absent.json", pod(sim={"container": {"cpus": 4}}))
    log = f"{HOME}/absent.out"
    script = write(
        "absent.sh", "#!/bin/bash\necho alive\n"
    )  # --wrap would make a script of /bin/sh (nodeos(7))
    r = run(f"sbatch --wait -w n1 -n4 --nodeos-manifest={manifest} -o {log} {script}")
    text = open(log).read()
    ok(
        r.code != 0 and reason in text and "alive" not in text,
        "a batch script of bash does not run on a node without the plugin",
        r.text + text,
    )
    script = write(
        "absent.py",
        "#!/usr/bin/python3\nimport os, sys\nsys.exit(os.system('srun -n1 echo alive') >> 8)\n",
    )
    r = run(f"sbatch --wait -w n1 -n4 --nodeos-manifest={manifest} -o {log} {script}")
    text = open(log).read()
    ok(
        r.code != 0 and reason in text and "alive" not in text,
        "srun in a Python script does not run its ranks on a node without the plugin",
        r.text + text,
    )
    r = run(
        f"sbatch --wait -N2 --exclusive --nodeos-manifest={manifest} -o {log} --wrap 'mpirun -N 1"
        " echo alive on $(hostname)'"
    )
    ok(
        r.code != 0,
        "mpirun fails if one of its nodes is without the plugin",
        r.text + open(log).read(),
    )
    code, text = launch("srun", "", '"hostname"')
    ok(
        code == 0 and "n1" in text,
        "no plugin on one node: a job without NodeOS runs on that node",
        text,
    )
    code, text = launch("srun", "--nodeos=off", '"hostname"')
    ok(
        code == 0 and "n1" in text,
        "no plugin on one node: a job with --nodeos=off runs on that node",
        text,
    )
    on("n1", f"mv {LINE}.off {LINE}; systemctl restart slurmd")
    cluster.wait_idle()
    # pretend that the submitting host has a newer plugin than the node
    r = run("srun -N1 -n1 -c2 echo alive", env=without_plugin() | {"SLURM_SPANK_NODEOS_GUARD": "3"})
    ok(
        r.code != 0 and "another version of the NodeOS plugin" in r.text and "alive" not in r.out,
        "a node refuses a request of a newer plugin",
        r.text,
    )
    # with the plugin on the node, the guard's variables and limits are removed
    probe = "'ulimit -v; ulimit -c; env | grep -e GUARD -e SAVED -e BASH_ENV -e TASK_PROLOG; true'"
    plain = run(f"srun -n1 bash -c {probe}")
    ours = run(f"srun -n1 -c2 --nodeos-cpus=2 bash -c {probe}")
    same(
        (ours.code, ours.out),
        (plain.code, plain.out),
        "a rank has the same limits and environment in a container as outside of one",
    )
    run(
        f"BASH_ENV=/dev/null sbatch --wait -n1 -c2 --nodeos-cpus=2 -o {log} --wrap 'echo"
        " BASH_ENV=$BASH_ENV; env | grep -e GUARD -e SAVED -e TASK_PROLOG'"
    )
    same(open(log).read(), "BASH_ENV=/dev/null\n", "a batch script gets the user's own BASH_ENV")
    all_idle("no node is drained by a missing plugin")


def group_upgrade():
    """Test a plugin that is replaced while a job runs, is built for another series of Slurm, or is
    older than the request."""
    so = on("n0", "find /usr/lib -name nodeos.so").out.strip()
    manifest = write("upgrade.json", pod(sim={"container": {"cpus": 4}}))
    for name in ("ready", "go", "second.out", "second.err"):
        run(f"rm -f {name}")
    run(
        f"salloc -N2 -n8 --ntasks-per-node=4 -c2 --nodeos-manifest={manifest} bash -c 'srun -n2"
        f" {WHEREAMI} >first.out; touch ready; while [ ! -e go ]; do sleep 0.3; done; srun -N2 -n2"
        f" {WHEREAMI} >second.out 2>second.err' >salloc.out 2>&1 </dev/null & disown -a",
        timeout=20,
    )
    for _ in range(200):
        if os.path.exists(f"{HOME}/ready"):
            break
        time.sleep(0.3)
    for node in ("n0", "n1"):
        on(node, f"cp {so} {so}.new && mv {so}.new {so} && systemctl restart slurmd")
    run("touch go")
    cluster.wait_idle()
    found = ranks(cluster.Result(0, open(f"{HOME}/second.out").read(), "", 0))
    ok(
        len(found) == 2 and all(len(cpus(r["cpus"])) <= 4 for r in found),
        "the plugin is replaced while a job runs: the job's next step is in its container",
        open(f"{HOME}/second.err").read(),
    )
    # the plugin has the series of Slurm as a number; Slurm does not load one of another series
    patch = (
        "python3 -c 'import sys, struct, subprocess; p = sys.argv[1]; d = bytearray(open(p,"
        ' "rb").read()); v = subprocess.run(["slurmd", "-V"], capture_output=True,'
        ' text=True).stdout.split()[-1].split("-")[0].split("."); old = struct.pack("<I", int(v[0])'
        " << 16 | int(v[1]) << 8 | int(v[2])); assert d.count(old) >= 1; d = d.replace(old,"
        ' struct.pack("<I", 0x170204)); open(p, "wb").write(d)\' '
    )
    on(
        "n1",
        f"cp {so} {so}.keep; cp {so} {so}.new; {patch} {so}.new && mv {so}.new {so}; sed -i"
        f" s/required/optional/ {LINE}; systemctl restart slurmd",
    )
    cluster.wait_idle()
    code, text = launch("srun", "", '"hostname"')
    ok(
        code == 0 and "n1" in text,
        "an optional plugin of another series: jobs without NodeOS run",
        text,
    )
    on(
        "n0",
        "cp -p /etc/nodeos/nodeos.conf /tmp/keep.conf; echo 'kill_on_bad_exit = yes'"
        " >>/etc/nodeos/nodeos.conf",
    )
    for launcher in LAUNCHERS:
        refused(
            launcher,
            "--nodeos-cpus=2",
            "this node has no NodeOS plugin",
            "a plugin of another series, kill_on_bad_exit = yes",
        )
    on("n0", "mv /tmp/keep.conf /etc/nodeos/nodeos.conf")
    on("n1", f"mv {so}.keep {so}; sed -i s/optional/required/ {LINE}; systemctl restart slurmd")
    cluster.wait_idle()
    code, text = launch("srun", "--nodeos-cpus=2", '"hostname"')
    ok(code == 0 and "n1" in text, "after the right plugin is back, a container starts", text)
    r = run(
        "srun -w n1 -N1 -n1 -c2 echo alive",
        env=without_plugin() | {"SLURM_SPANK_NODEOS_STEP": "nodeos 2;c=step cpus=2;"},
    )
    ok(
        r.code != 0 and "alive" not in r.out and "nodeos 1" in r.text,
        "a node refuses a request of a newer version",
        r.text,
    )
    all_idle("no node is drained by a plugin of another version")
    same(leftovers(), "", "other plugins: the ledger is empty on both nodes")


def group_reset():
    """Test a reset of a node during a step. Needs a guest that may reset (QEMU's -action
    reboot=reset)."""
    manifest = write("reset.json", pod(sim={"container": {"cpus": 4}}))
    r = run(
        "sbatch --parsable --no-requeue -N2 -n8 --ntasks-per-node=4 -c2"
        f" --nodeos-manifest={manifest} -o reset.out --wrap 'srun -N2 -n4 {WHEREAMI} 3000'"
    )
    job = r.out.strip()
    for _ in range(200):
        if (
            os.path.exists(f"{HOME}/reset.out")
            and open(f"{HOME}/reset.out").read().count("@n1") > 1
        ):
            break
        time.sleep(0.3)
    run("ssh n1 'echo b >/proc/sysrq-trigger' & sleep 3; kill %1", user="root", timeout=30)
    state = ""
    for _ in range(240):
        state = run(
            f"scontrol show job {job} --oneliner | grep -o 'JobState=[A-Z_]*'; sinfo -h -N -o"
            " '%N %T'",
            user="root",
        ).out
        if "RUNNING" not in state and "n1 idle" in state:
            break
        time.sleep(1)
    ok(
        "NODE_FAIL" in state or "FAILED" in state or "CANCELLED" in state,
        "the job of a node that is reset ends",
        state,
    )
    run(f"scancel {job}", user="root")
    cluster.wait_idle(240)
    code, text = launch("srun", "--nodeos-cpus=2", '"hostname"')
    ok(code == 0 and "n1" in text, "a container starts on a node that was reset", text)
    same(leftovers(), "", "a reset: the ledger is empty on both nodes")
    all_idle("no node is drained by a reset")


def group_kills():
    """Test that later steps start, however a step dies."""
    rng = random.Random(3)
    for what in ("stepd", "slurmd", "freeze", "helper", "stepd", "oom", "scancel"):
        node = rng.choice(["n0", "n1"])
        if what == "oom":
            r = run(
                "srun -N1 -n1 -c2 --mem=64 --nodeos-cpus=2 python3 -c 'x = bytearray(900 << 20)'"
            )
            ok(r.code != 0, "a step that exhausts its memory fails", r.text)
            continue
        run(
            "srun -N2 -n4 -c2 --nodeos-cpus=4 sleep 12 >/dev/null 2>&1 </dev/null & disown -a",
            timeout=20,
        )
        time.sleep(rng.uniform(0.3, 4))
        if what == "stepd":
            on(node, "pkill -9 -f 'slurmstepd: \\[[0-9]*\\.[0-9]*\\]'")
        elif what == "slurmd":
            on(node, "systemctl restart slurmd")
        elif what == "helper":
            on(node, "for i in $(seq 40); do pkill -9 nodeos-plan && break; sleep 0.05; done")
        elif what == "freeze":
            on(
                node,
                "for f in $(find /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_* -name"
                " cgroup.freeze -path '*step_0/user/*' | head -1); do echo 1 >$f; sleep 3; echo 0"
                " >$f; done",
            )
        run("scancel -u alice")
        cluster.wait_idle()
        code, text = launch("srun", "--nodeos-cpus=2", '"hostname"')
        ok(code == 0, f'after the kill "{what}" on {node}, the next container starts', text)
    all_idle("no node is drained by steps that die")


def group_state():
    """Test damaged entries of the ledger, and a wrong clock."""
    manifest = write("state.json", pod(sim={"container": {"cpus": 4}}))
    program = (
        f"salloc -N1 -w n0 -n4 -c2 --nodeos-manifest={manifest} bash -c 'srun -n1 {WHEREAMI}"
        f" >first.out; touch ready; while [ ! -e go ]; do sleep 0.3; done; srun -n1 {WHEREAMI}"
        " >second.out 2>second.err'"
    )
    for name in ("ready", "go", "second.out", "second.err"):
        if os.path.exists(f"{HOME}/{name}"):
            os.unlink(f"{HOME}/{name}")
    run(f"{program} >salloc.out 2>&1 </dev/null & disown -a", timeout=20)
    for _ in range(200):
        if os.path.exists(f"{HOME}/ready"):
            break
        time.sleep(0.3)
    on("n0", "for f in /run/nodeos/job-*; do head -c 40 /dev/urandom >$f; done")
    r = run("srun -N1 -w n0 -n1 -c2 --nodeos-cpus=2 echo alive")
    ok(
        r.code == 0 and "alive" in r.out,
        "a damaged ledger entry of one job: the container of another job starts",
        r.text,
    )
    run("touch go")
    cluster.wait_idle()
    text = open(f"{HOME}/second.out").read() + open(f"{HOME}/second.err").read()
    ok(
        "error: nodeos: n0:" in text and "@n0" not in text,
        "a damaged ledger entry: the next step of its job fails with a message",
        text,
    )
    listed = on("n0", "nodeosctl list")
    ok(
        "job-" in listed.text and "ledger" in listed.text,
        "a damaged ledger entry: the entry is kept, and nodeosctl list names it",
        listed.text,
    )
    on("n0", "rm /run/nodeos/job-*")
    on("n1", "date -s '+40 seconds'")
    code, text = launch("srun", "--nodeos-cpus=2", '"hostname"')
    ok(code == 0, "a container starts on a node whose clock is 40 s ahead", text)
    on("n1", "date -s '-40 seconds'")
    all_idle("no node is drained by a damaged ledger")


# ------------------------------------------------------------------------------ the second user


def forged(variable, value):
    """Return a command and an environment with which bob forges VARIABLE in a job of his own. No
    client checks the value, so the node must."""
    return f"salloc -w n0 -n2 bash -c '{variable}=\"$FORGED\" srun -n1 echo alive'", {
        "FORGED": value
    }


def hostile_list():
    """Yield (name, command, environment, place of the refusal: client, node, or nowhere)."""
    request, step = "SLURM_SPANK_NODEOS_REQUEST", "SLURM_SPANK_NODEOS_STEP"
    bad = {
        "a request of a newer version": "nodeos 2;c=sim cpus=2;",
        "a request that is too long": "nodeos 1;" + "c=a;" * 20000,
        "a request just below the limit": "nodeos 1;" + "c=a;" * 16000,
        "a request with control characters": "nodeos 1;c=si\x1b[2Jm cpus=2;",
        "a request with a line break": "nodeos 1;c=sim cpus=2;\nerror: nodeos: n0: forged",
        "a request with 65 containers": "nodeos 1;" + "".join(f"c=a{i} cpus=1;" for i in range(65)),
        "a request with a path for a name": "nodeos 1;c=../../etc/passwd cpus=1;",
        "a request with a negative count": "nodeos 1;c=sim cpus=-1;",
        "a request that overflows": "nodeos 1;c=sim cpus=18446744073709551617;",
        "a request with a name twice": "nodeos 1;c=sim cpus=1;c=sim cpus=1;",
        "a request for a forbidden policy": "nodeos 1;c=sim cpus=2 policy=fifo prio=99;",
        "a request for no memory node": "nodeos 1;c=sim cpus=2 mems=0;",
        "a request for all memory": "nodeos 1;c=sim cpus=2 mems=1152921504606846976b;",
        "an empty request": "",
        "a request of blanks": " " * 4000,
        "a request that is not canonical": "nodeos 1; c=sim  cpus=02;",
        "a request with percent signs": "nodeos 1;c=%s%n%s%n cpus=1;",
    }
    for what, text in bad.items():
        yield (what, *forged(request, text), "node")
    own = without_plugin("bob")
    yield (
        "a nonsensical step request",
        "srun -w n0 -n1 -c2 echo alive",
        own | {step: "zzz"},
        "node",
    )
    yield (
        "another user's container",
        "srun -w n0 -n1 --nodeos-container=sim echo alive",
        {},
        "client",
    )
    yield (
        "a container that is a path",
        "srun -w n0 -n1 --nodeos-cpus=1 --nodeos-container=../../x echo alive",
        {},
        "client",
    )
    yield (
        "a container's name of 4,000 letters",
        f"srun -w n0 -n1 --nodeos-cpus=1 --nodeos-container={'a' * 4000} echo alive",
        {},
        "client",
    )
    yield (
        "1,000 ranges of ranks",
        (
            "srun -w n0 -n1 --nodeos-cpus=1"
            f" --nodeos-container=step:{','.join(map(str, range(800)))} echo alive"
        ),
        {},
        "client",
    )
    yield (
        "another user's job",
        "srun --jobid=$VICTIM --overlap -n1 echo alive",
        {},
        "client",
    )
    yield (
        "the number of another user's job",
        (
            "SLURM_JOB_ID=$VICTIM SLURM_JOBID=$VICTIM srun --overlap -n1 --nodeos-container=sim"
            " echo alive"
        ),
        {},
        "client",
    )
    yield (
        "a manifest that is a link to /etc/shadow",
        "ln -sf /etc/shadow s.json; srun -n1 --nodeos-manifest=s.json echo alive",
        {},
        "client",
    )
    yield (
        "a manifest that is /dev/zero",
        "srun -n1 --nodeos-manifest=/dev/zero echo alive",
        {},
        "client",
    )
    yield (
        "a manifest of 2 MiB",
        (
            "head -c 2097152 /dev/zero | tr '\\0' '[' >big.json; srun -n1"
            " --nodeos-manifest=big.json echo alive"
        ),
        {},
        "client",
    )
    yield (
        "a report over /etc/passwd",
        "srun -w n0 -n1 -c2 --nodeos-cpus=2 --nodeos-report=/etc/%s%N/../passwd echo alive",
        {},
        "nowhere",
    )
    yield (
        "a report into the ledger",
        "srun -w n0 -n1 -c2 --nodeos-cpus=2 --nodeos-report=/run/nodeos/job-%s-%N echo alive",
        {},
        "nowhere",
    )
    yield (
        "a report by a link to alice's file",
        (
            "ln -sf /shared/home/alice/victim.txt 0.n0; srun -w n0 -n1 -c2 --nodeos-cpus=2"
            " --nodeos-report=%s.%N echo alive"
        ),
        {},
        "nowhere",
    )
    yield (
        "a damaged command",
        "srun -w n0 -n1 -c2 echo alive",
        own | {"SLURM_SPANK_NODEOS_EXEC": "%%%"},
        "node",
    )
    yield (
        "a guard of another version",
        "srun -w n0 -n1 -c2 echo alive",
        own | {"SLURM_SPANK_NODEOS_GUARD": "99999999"},
        "node",
    )
    yield (
        "reading the ledger",
        "cat /run/nodeos/job-* /run/nodeos/lock && echo alive",
        {},
        "client",
    )
    yield ("writing a ledger entry", "echo x >/run/nodeos/job-1 && echo alive", {}, "client")
    yield (
        "twenty steps at once",
        (
            "for i in $(seq 20); do srun -w n0 -n1 -c2 --overlap --nodeos-cpus=2 true & done; wait;"
            " echo alive"
        ),
        {},
        "nowhere",
    )
    yield (
        "a stopped planner",
        (
            "srun -w n0 -n1 -c2 --nodeos-cpus=2 echo alive & for i in $(seq 60); do pkill -STOP -u"
            " bob nodeos-plan && break; sleep 0.05; done; sleep 1; pkill -CONT -u bob nodeos-plan;"
            " wait"
        ),
        {},
        "nowhere",
    )


def group_hostile():
    """Test hostile commands of bob beside alice's job: the ranks, the ledger entry and the files of
    alice must not change."""
    manifest = write("victim.json", pod(sim={"container": {"cpus": 4}}))
    write("victim.txt", "alice's own\n")
    for name in ("victim.out",):
        if os.path.exists(f"{HOME}/{name}"):
            os.unlink(f"{HOME}/{name}")
    r = run(
        f"sbatch --parsable -w n0 -n4 -c2 --nodeos-manifest={manifest} -o victim.log --wrap 'srun"
        f" -n2 --nodeos-container=sim {WHEREAMI} 3000 >victim.out'"
    )
    victim = r.out.strip()
    for _ in range(200):
        if os.path.exists(f"{HOME}/victim.out") and len(open(f"{HOME}/victim.out").read()) > 500:
            break
        time.sleep(0.3)
    pids = on("n0", "pgrep -u alice -x whereami").out.split()

    def state():
        return on(
            "n0",
            f"for p in {' '.join(pids)}; do grep -e Cpus_allowed_list -e Mems_allowed_list"
            f" /proc/$p/status; cat /proc/$p/cgroup; done; f=$(grep -l '^job {victim} '"
            " /run/nodeos/job-*); echo $f; cat $f; stat -c '%a %U' /run/nodeos; cat"
            f" {HOME}/victim.txt; md5sum /etc/passwd",
        ).out

    before = state()
    ok(
        len(pids) == 2 and victim in before,
        "alice's job runs before the hostile submissions",
        before,
    )
    n = 0
    for what, command, env, where in hostile_list():
        n += 1
        logged = len(slurmd_lines("n0"))
        r = run(command, user="bob", env=env | {"VICTIM": victim}, timeout=150)
        if where == "nowhere":
            ok("alive" in r.out, f"{what}: the step of bob runs", r.text[-600:])
        else:
            ok("alive" not in r.out, f"{what}: no rank of bob runs", r.text[-600:])
        if where == "node":
            time.sleep(0.3)
            more = slurmd_lines("n0")[logged:]
            ok(
                len(more) == 1 and all(" " <= c <= "~" for c in more[0]),
                f"{what}: the node's log has one printable line",
                more or r.text[-600:],
            )
    same(
        state(),
        before,
        f"after {n} hostile submissions, alice's ranks, ledger entry and files are unchanged",
    )
    run("scancel -u alice; scancel -u bob", user="root")
    all_idle("no node is drained by hostile submissions")
    same(leftovers(), "", "hostile submissions: the ledger is empty at the end")


GROUPS = {
    "matrix": group_matrix,
    "absent": group_absent,
    "upgrade": group_upgrade,
    "kills": group_kills,
    "state": group_state,
    "hostile": group_hostile,
    "reset": group_reset,
}


def main():
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or [g for g in GROUPS if g != "reset"])
    cluster.done()


main()
