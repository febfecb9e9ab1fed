#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: deep limit=3600
# rooms: spank
"""Test NodeOS beside other parts of Slurm: the subjects of Slurm's own tests of affinity,
distribution and SPANK, with and without the plugin; a second SPANK plugin; private /tmp; jobs from
slurmrestd. Run as root on n0. "stack.py GROUP..." runs only these groups."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

import cluster
from cluster import (
    HOME,
    WHEREAMI_MPI,
    Machine,
    Result,
    all_idle,
    both,
    cpus,
    leftovers,
    note,
    ok,
    plan,
    ranks,
    run,
    same,
    slurm_conf,
    wait_idle,
)
from cluster import WHEREAMI as W
from containers import check_ranks, pod, write

CONF = "/etc/slurm/plugstack.conf.d"
PROBE = "/usr/libexec/nodeos/test/probe_spank.so"
LOG = "/run/probe.log"
DIR = f"{HOME}/stack"
NODES = ("n0", "n1")
REMOTE = {
    "init",
    "init_post_opt",
    "user_init",
    "task_init_privileged",
    "task_post_fork",
    "task_init",
    "task_exit",
    "exit",
}
TWO = {"sim": {"container": {"cpus": 8, "mems": 2}}, "vda": {"container": {"cpus": 4, "mems": 1}}}
REQUEST = "nodeos 1;c=sim cpus=8 mems=2;c=vda cpus=4 mems=1;"


def plugstack(nodeos=True, probe=None, restart=False):
    """Set the lines of plugstack.conf on both nodes. If NODEOS, the file has NodeOS's line. PROBE
    says whether the probe plugin has a line, and whether this line is before or after NodeOS's
    line."""
    line = {
        None: "true",
        "before": f"echo 'required {PROBE} {LOG}' >a-probe.conf",
        "after": f"echo 'required {PROBE} {LOG}' >z-probe.conf",
    }
    both(
        f"cd {CONF}; rm -f a-probe.conf z-probe.conf; [ ! -e nodeos.conf.off ] || mv"
        f" nodeos.conf.off nodeos.conf; {'true' if nodeos else 'mv nodeos.conf nodeos.conf.off'};"
        f" {line[probe]}; : >{LOG}; chmod 0666 {LOG};"
        f" {'systemctl restart slurmd' if restart else 'true'}"
    )
    if restart:
        wait_idle()


def probe_log(nodes=("n0",)):
    """Return the hooks of the probe plugin that were called since the last call of this function,
    each as a dict."""
    out = []
    for node in nodes:
        for line in run(f"cat {LOG}; : >{LOG}", user="root", node=node).out.splitlines():
            line, _, argv = line.partition("argv=")
            context, hook, *rest = line.split()
            out.append(
                {"node": node, "context": context, "hook": hook, "argv": argv}
                | dict(w.partition("=")[::2] for w in rest)
            )
    return out


def jobs():
    """Return {job number: values of slurmctld}."""
    out = {}
    for line in run("scontrol show jobs --oneliner", user="root").out.splitlines():
        words = dict(w.partition("=")[::2] for w in line.split())
        if words.get("JobId", "").isdigit():
            out[int(words["JobId"])] = words
    return out


def settle(before, marks=(), limit=600):
    """Wait until all jobs with numbers above BEFORE have ended, and return them. First wait for the
    files MARKS, which the scripts make at the end: polling files costs less than polling Slurm."""
    end = time.time() + limit
    while time.time() < end and not all(os.path.exists(mark) for mark in marks):
        time.sleep(0.1)
    while True:
        mine = {n: words for n, words in jobs().items() if n > before}
        if time.time() > end or not any(
            w["JobState"] in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
            for w in mine.values()
        ):
            return mine
        time.sleep(1)


def fresh(*names):
    """Remove the files NAMES from DIR."""
    for name in names:
        if os.path.exists(f"{DIR}/{name}"):
            os.unlink(f"{DIR}/{name}")


def read(name):
    try:
        with open(f"{DIR}/{name}", errors="replace") as f:
            return f.read().replace("\0", "")
    except OSError:
        return ""


def found_in(name):
    return ranks(Result(0, read(name), "", 0))


# ------------------------------- subjects of Slurm's own tests, with and without NodeOS


class Pass:
    """The results of one run of all subjects. The runs with and without NodeOS must have equal
    results."""

    def __init__(self, name):
        self.name, self.seen = name, {}
        self.dir = name.replace(" ", "-")

    def check(self, subject, what, good, seen, detail=""):
        ok(good, f"{subject}, {self.name}: {what}", f"{seen}\n{detail}")
        self.seen.setdefault(subject, []).append((what, bool(good), seen))


def compare(stock, ours):
    for subject, a in stock.seen.items():
        b = ours.seen.get(subject, [])
        diff = [f"stock {x}\nours  {y}" for x, y in zip(a, b) if x != y]
        ok(
            len(a) == len(b) and not diff,
            f"{subject}: {len(a)} verdicts and their data are the same with and without the plugin",
            "\n".join(diff) or f"{len(a)} and {len(b)}",
        )


PLACE = ("rank", "host", "cpus", "mems", "mempolicy", "mempolicy_nodes")


def plain(text, job):
    """Return the lines of messages, sorted, without the numbers of this job and its processes."""
    text = re.sub(r"\[\d+\]", "[PID]", re.sub(rf"(StepId=|JobId=|job ){job}(?!\d)", r"\1JOB", text))
    return sorted(line for line in text.splitlines() if line)


class Lane:
    """Steps that a job runs in order. Each has its own output files and a check."""

    def __init__(self, p, name, arguments):
        self.p, self.name, self.arguments, self.steps = p, name, arguments, []

    def add(self, subject, what, command, good, code=0, seen=None):
        """GOOD is a function of the ranks, in order, and of the text on standard error."""
        self.steps.append((subject, what, command, good, code, seen))

    def submit(self):
        text = f"#!/bin/bash\ncd {DIR}/{self.p.dir}\n"
        for i, (_, _, command, *_) in enumerate(self.steps):
            at = f"{self.name}{i}"
            text += f"{{ {command} ; }} >{at}.out 2>{at}.err; echo $? >{at}.rc\n"
        self.mark = f"{DIR}/{self.p.dir}/{self.name}.done"
        script = write(f"stack/{self.p.dir}/{self.name}.sh", text + f"touch {self.mark}\n")
        self.job = int(
            run(
                f"sbatch --parsable {self.arguments} -o {DIR}/{self.p.dir}/{self.name}.log {script}"
            ).out.strip()
            or 0
        )

    def check(self):
        for i, (subject, what, command, good, code, seen) in enumerate(self.steps):
            at = f"{self.p.dir}/{self.name}{i}"
            found, err, got = found_in(f"{at}.out"), read(f"{at}.err"), read(f"{at}.rc").strip()
            right = (got == "0" if code == 0 else got not in ("", "0")) and good(found, err)
            placed = seen(found) if seen else [[r[k] for k in PLACE] for r in found]
            self.p.check(
                subject,
                what,
                right,
                (got, placed, plain(err, self.job)),
                f"{command}\n{read(f'{at}.out')[-300:]}\n{err[-600:]}",
            )


def masks(found):
    return [cpus(r["cpus"]) for r in found]


def memory(found):
    return [cpus(r["mempolicy_nodes"]) for r in found]


def apart(sets, n):
    """N sets, disjoint."""
    return len(sets) == n and sum(map(len, sets)) == len(set().union(*sets))


# three orders of n ids: ascending; descending; the odd ids descending, then the even ids ascending
def orders(n):
    up = list(range(n))
    return (
        ("forward", "map", up),
        ("reverse", "mask", up[::-1]),
        ("alternating", "map", up[1::2][::-1] + up[::2]),
    )


def as_option(kind, order):
    return ",".join(str(i) if kind == "map" else hex(1 << i) for i in order)


def cpu_affinity(lane, m):
    """Subjects of Slurm's test 1.89: each way to name the CPU of a rank."""

    def add(what, options, good, **kw):
        lane.add("1.89", what, f"srun {options} {W}", good, **kw)

    # --cpu-bind=rank is obsolete: Slurm binds ranks to threads or cores
    add(
        "rank: no two ranks share a CPU",
        "-n8 --cpu-bind=rank",
        lambda f, e: apart(masks(f), 8),
    )
    for value in ("map_cpu:NaN", "map_cpu:0x0", "mask_cpu:NaN"):
        bad = value.partition(":")[2]
        add(
            f"{value} is refused, since it is no number",
            f"-n1 --cpu-bind=verbose,{value}",
            lambda f, e, bad=bad: not f and f"Failed to validate number: {bad}" in e,
            code=1,
        )
    add(
        "verbose,map_cpu:0: all ranks are on CPU 0, with a line for each",
        "-n4 --cpu-bind=verbose,map_cpu:0",
        lambda f, e: masks(f) == [{0}] * 4 and len(re.findall(r"cpu-bind\S*=MAP", e)) == 4,
    )
    for name, kind, order in orders(4):
        add(
            f"{kind}_cpu, {name}",
            f"-n4 --cpu-bind={kind}_cpu:{as_option(kind, order)}",
            lambda f, e, order=order: masks(f) == [{c} for c in order],
        )
    add(
        "map_cpu with fewer CPUs than ranks: the CPUs are given in turn",
        "-n5 --cpu-bind=map_cpu:2,4",
        lambda f, e: masks(f) == [{2}, {4}, {2}, {4}, {2}],
    )
    sockets = [set().union(*(c for (s, _), c in m.core.items() if s == at)) for at in (0, 1)]
    add(
        "sockets: each rank has a whole socket",
        "-n2 --ntasks-per-socket=1 --cpu-bind=sockets",
        lambda f, e: sorted(masks(f), key=min) == sockets,
    )


def within_node(lane, m):
    """Subjects of Slurm's test 1.91: -B, -c and -m on the levels of one node."""

    def add(what, options, good):
        lane.add("1.91", what, f"SLURM_CPU_BIND=verbose srun {options} {W}", good)

    first = {min(c) for c in m.core.values()}
    add(
        "threads: no two ranks share a hardware thread",
        "-c1 -n8 --cpu-bind=threads",
        lambda f, e: apart(masks(f), 8) and all(len(s) == 1 for s in masks(f)),
    )
    add(
        "-B 1:1:1: ranks have one thread of each core",
        "-c1 -n4 -B 1:1:1",
        lambda f, e: apart(masks(f), 4) and all(len(s) == 1 and s <= first for s in masks(f)),
    )
    for b, tasks in (("1-1:4:2", 8), ("2:1-1:2", 4)):
        add(
            f"-B {b}: {tasks} ranks run on {tasks} CPUs",
            f"-B {b}",
            lambda f, e, tasks=tasks: len(f) == tasks and sum(map(len, masks(f))) == tasks,
        )
    add(
        "-c3 -B 1:1:1: one rank has three CPUs",
        "-c3 -B 1:1:1",
        lambda f, e: len(f) == 1 and len(masks(f)[0]) == 3,
    )
    add(
        "-m plane=4: each rank may use the whole node",
        "-n4 -m plane=4",
        lambda f, e: set().union(*masks(f)) == m.cpus,
    )
    cores = sorted(m.core.values(), key=min)
    for how, order in (("block:block", [0, 1, 2, 3]), ("block:cyclic", [0, 4, 1, 5])):
        add(
            f"-m {how}: ranks are on cores {order}",
            f"-n4 -c2 -m {how} --cpu-bind=cores",
            lambda f, e, order=order: masks(f) == [cores[c] for c in order],
        )


def memory_affinity(lane, m):
    """Subjects of Slurm's test 1.90: the memory node of each rank."""
    n = len(m.mems)

    def add(what, options, good):
        lane.add(
            "1.90",
            what,
            f"srun -n{n} {options} {W}",
            lambda f, e: good(f, e) and all(cpus(r["mems"]) == m.mems for r in f),
        )

    where = [min(c for c in m.cpus if m.node_of[c] == node) for node in range(n)]
    add("rank", "--mem-bind=rank", lambda f, e: memory(f) == [{i} for i in range(n)])
    add(
        "local: a rank has the memory node of its CPU",
        f"--cpu-bind=map_cpu:{as_option('map', where)} --mem-bind=local",
        lambda f, e: (
            memory(f) == [{m.node_of[min(s)]} for s in masks(f)] == [{i} for i in range(n)]
        ),
    )
    add(
        "verbose,map_mem:0: all ranks are on node 0, with a line for each",
        "--mem-bind=verbose,map_mem:0",
        lambda f, e: memory(f) == [{0}] * n and len(re.findall(r"mem-bind\S*=MAP", e)) == n,
    )
    for name, kind, order in orders(n)[1:]:
        add(
            f"{kind}_mem, {name}",
            f"--mem-bind={kind}_mem:{as_option(kind, order)}",
            lambda f, e, order=order: memory(f) == [{i} for i in order],
        )


def several(lane):
    """Cases that Slurm's tests do not have: ranks that mpirun starts, and two steps at once."""
    lane.add(
        "1.93",
        "mpirun: three ranks communicate, and share no CPU",
        f"mpirun -n 3 --bind-to hwthread --map-by hwthread {WHEREAMI_MPI}",
        lambda f, e: apart(masks(f), 3) and all(r["sum"] == 3 for r in f),
        seen=lambda f: [(r["rank"], r["cpus"], r["mems"]) for r in f],
    )
    lane.add(
        "1.93",
        "two steps at once share no CPU",
        f"srun --exact -n2 -c2 {W} 4 & srun --exact -n2 -c2 {W} 4 & wait",
        lambda f, e: len({r["step"] for r in f}) == 2 and apart(masks(f), 4),
        seen=lambda f: sorted(r["cpus"] for r in f),
    )


def across_nodes(lane):
    """Subjects of Slurm's test 1.92: the node of each rank."""

    def add(options, want, env=""):
        lane.add(
            "1.92",
            options,
            f"{env}srun -n{len(want)} {options} {W}",
            lambda f, e: (
                [int(r["host"][1:]) for r in f] == want
                and all(
                    int(r["env"]["SLURM_LOCALID"]) == want[:i].count(want[i])
                    for i, r in enumerate(f)
                )
            ),
        )

    add("-m block", [0, 0, 0, 1, 1, 1])
    add("-m cyclic", [0, 1, 0, 1, 0, 1])
    add("-m plane=2", [0, 0, 1, 1, 0])
    write("stack/hosts", "n1\nn0\nn1\nn1\n")
    add("-m arbitrary", [1, 0, 1, 1], f"SLURM_HOSTFILE={DIR}/hosts ")


def default_binding(p):
    """Subject of Slurm's test 1.93: the default binding of a node and of a partition."""

    def set_to(a, b, partition):
        run(
            f"scontrol update nodename=n0 cpubind={a}; scontrol update nodename=n1 cpubind={b};"
            f" scontrol update partitionname=main cpubind={partition}",
            user="root",
        )

    set_to("core", "thread", "socket")
    r = run(
        f"cd {DIR}/{p.dir}; for n in n0 n0,n1; do srun -v -w $n -c1 {W} >bind.$n.out 2>bind.$n.err"
        " & done; wait"
    )
    for nodes, want in (("n0", "cores"), ("n0,n1", "sockets")):
        err, found = read(f"{p.dir}/bind.{nodes}.err"), found_in(f"{p.dir}/bind.{nodes}.out")
        said = re.findall(r"CpuBindType=(\S+)", err)
        p.check(
            "1.93",
            f"srun on {nodes} binds ranks to {want} by default",
            len(said) == 1 and want in said[0],
            (said, [len(s) for s in masks(found)]),
            r.text + err,
        )
    set_to("off", "off", "off")


def affinity(p, m):
    before = cluster.last_job()
    one, other, two = (
        Lane(p, name, at)
        for name, at in (
            ("one", "-N1 -w n0 --exclusive"),
            ("other", "-N1 -w n1 --exclusive"),
            ("two", "-N2 --ntasks-per-node=3"),
        )
    )
    cpu_affinity(one, m)
    memory_affinity(one, m)
    within_node(other, m)
    several(other)
    across_nodes(two)
    for lane in (one, other, two):
        lane.submit()
    settle(before, [lane.mark for lane in (one, other, two)])
    for lane in (one, other, two):
        lane.check()
    default_binding(p)


def hooks(log, *keys):
    return sorted(tuple(x.get(k, "") for k in ("context", "hook", *keys)) for x in log)


def option(p):
    """Subjects of Slurm's tests 7.11 and 7.21: the option and variables of another plugin, and what
    the plugin can read about the job."""
    probe_log()
    r = run("for c in srun sbatch salloc; do $c --help | grep -c -e --probe=WORD; done")
    p.check(
        "7.11",
        "--help of srun, sbatch and salloc has the option of the probe",
        r.out.split() == ["1"] * 3,
        r.out,
    )
    before = cluster.last_job()
    r = run(
        "srun --probe=bad -n1 true; echo $?; sbatch --probe=bad --wrap true; echo $?; salloc"
        " --probe=bad true; echo $?"
    )
    p.check(
        "7.11",
        "srun, sbatch and salloc fail if the callback of the option refuses the value",
        "0" not in r.out.split()
        and len(r.out.split()) == 3
        and r.err.count("this word is refused") == 3
        and cluster.last_job() == before,
        (r.out, plain(r.err, 0)),
    )
    probe_log()
    script = write(
        f"stack/{p.dir}/option.sh",
        "#!/bin/bash\necho $SLURM_SPANK_PROBE_JOB $SLURM_PROBE_SEEN\n"
        f"srun -n1 {W} 0\nsrun -n1 --probe=five {W} 0\ntouch {DIR}/{p.dir}/option.done\n",
    )
    r = run(
        "PROBE_LOAD=1 sbatch --parsable --probe=four --array=7 -w n0 -n1 -o"
        f" {DIR}/{p.dir}/option.out {script}"
    )
    job = r.out.strip()
    done = settle(before, [f"{DIR}/{p.dir}/option.done"])
    log = probe_log()
    text = read(f"{p.dir}/option.out")
    p.check(
        "7.11",
        "the job with the probe's option ends with success",
        [w["JobState"] for w in done.values()] == ["COMPLETED"],
        r.code,
        r.text + text,
    )
    words = hooks(
        [x for x in log if x["hook"] in ("init_post_opt", "task_init", "local_user_init", "exit")],
        "step",
        "word",
        "uid",
    )
    want = [("allocator", "four", "1000"), ("local", "four", "1000"), ("local", "five", "1000")]
    p.check(
        "7.11",
        "the callback of --probe runs in sbatch, the batch script, srun, and srun --probe",
        all((c, "init_post_opt", "-1", word, uid) in words for c, word, uid in want)
        and all(
            ("remote", "task_init", step, word, "1000") in words
            for step, word in (("-5", "four"), ("0", "four"), ("1", "five"))
        )
        and all(
            ("remote", "exit", step, word, "0") in words
            for step, word in (("-5", "four"), ("-4", "-"), ("0", "four"), ("1", "five"))
        ),
        words,
    )
    argv = [x["argv"] for x in log if x["hook"] == "task_init" and x["step"] == "0"]
    p.check("7.11", "task_init has the rank's arguments", argv == [f"{W}|0|"], argv)
    p.check(
        "7.11",
        "every hook of the probe runs on the node",
        {x["hook"] for x in log if x["context"] == "remote"} == REMOTE,
        hooks(log, "step", "task", "uid", "euid", "word"),
    )
    p.check(
        "7.21",
        "a control variable is in the job's environment, and a variable of user_init is in the"
        " script's",
        text.splitlines()[:1] == ["four four"],
        text.splitlines()[:1],
    )
    seen = sorted(str(r["env"].get("SLURM_PROBE_SEEN")) for r in ranks(Result(0, text, "", 0)))
    p.check(
        "7.21",
        "a variable of user_init is in the ranks' environment",
        seen == ["five", "four"],
        seen,
    )
    epilog = [(x["control"], x["uid"]) for x in log if x["hook"] == "job_epilog"]
    p.check(
        "7.21",
        "a control variable is in the epilog's environment",
        epilog == [("four", "0")],
        epilog,
    )
    task = sorted(
        {
            tuple(x[k].replace(f"{job}_", "JOB_") for k in ("array", "ctld"))
            for x in log
            if x["hook"] == "task_init"
        }
    )
    p.check(
        "7.21",
        "task_init has the array task that slurmctld reports",
        task == [("JOB_7", "JOB_7")],
        task,
    )


# Rules of Slurm 24.11 if a hook of a required plugin fails: {launcher: {context:hook: (exit code,
# whether the job fails)}}. The second value is None if the command has no job of its own. None
# instead of the pair means that Slurm has no rule.
MATRIX = {
    "srun": {
        "local:init": (1, None),
        "local:init_post_opt": (1, None),
        "local:local_user_init": (1, True),
        "remote:user_init": (1, True),
        "remote:task_post_fork": (1, True),
    },
    "step": {
        "local:init": (1, None),
        "local:local_user_init": (1, None),
        "remote:user_init": (1, None),
        "remote:task_init_privileged": (1, None),
        "remote:task_post_fork": (1, None),
        "remote:task_init": (1, None),
        "remote:task_exit": (0, None),
        "local:exit": (0, None),
        "remote:init_post_opt": None,
    },
    "salloc": {
        "allocator:init": (1, None),
        "allocator:init_post_opt": (1, None),
        "allocator:exit": (0, False),
    },
    "sbatch": {
        "allocator:init": (1, None),
        "allocator:init_post_opt": (1, None),
        "allocator:exit": (0, False),
        "local:local_user_init": (0, True),
        "remote:task_init_privileged": (0, True),
        "remote:task_init": (0, True),
        "remote:task_exit": (0, False),
    },
}
# More rules for sbatch: these failures drain the node, so only two of these jobs run at a time.
DRAINS = (
    {"remote:user_init": (0, True, True), "remote:task_post_fork": (0, True, True)},
    {"remote:init": None, "remote:init_post_opt": None},
)


def drained():
    return {node: "drain" in state for node, state in cluster.node_states().items()}


def resume():
    run(
        "for n in n0 n1; do if scontrol show node $n | grep -q DRAIN; then scontrol update"
        " nodename=$n state=resume; fi; done",
        user="root",
    )


LAUNCH = {
    "srun": ("srun -K -W10 -n1 -c1", "true"),
    "step": ("srun -K -W10 --exact -N1 -n1 -c1", "true"),
    "salloc": ("salloc -n1 -c1", "true"),
    "sbatch": ("sbatch --no-requeue -n1 -c1 -o /dev/null", "--wrap 'srun true'"),
}


def case_lines(launcher, cases):
    """Return shell lines that run all CASES of a launcher at once, and keep their output and exit
    codes."""
    command, program = LAUNCH[launcher]
    out = ""
    for i, case in enumerate(cases):
        tag = f"{launcher}/{case}"
        out += (
            f"{{ PROBE_FAIL={tag} {command} -w n{i % 2} -J {tag} {program} >{tag}.out 2>&1; echo $?"
            f" >{tag}.rc; }} &\n"
        )
    return out


def judge(p, launcher, cases, ended, log, bad):
    """Check for each case that the hook failed, and that Slurm's rules give the command's exit code
    and the states of its job and node."""
    for i, (case, want) in enumerate(cases.items()):
        tag, node = f"{launcher}/{case}", bad[f"n{i % 2}"]
        code, state = read(f"{p.dir}/{tag}.rc").strip(), ended.get(tag, {}).get("JobState")
        failed = state in ("FAILED", "CANCELLED") if state else None
        did = [
            f"{x['context']}:{x['hook']}"
            for x in log
            if x["fails"] == launcher and f"{x['context']}:{x['hook']}" == case
        ]
        good = did and (want is None or want == (int(code or -1), failed, node)[: len(want)])
        p.check("7.24", tag, good, (code, state, node, len(did)), read(f"{p.dir}/{tag}.out"))


def failing_hooks(p):
    """Subject of Slurm's test 7.24: the command, the job and the node after a hook fails."""

    def go(matrix):
        before = cluster.last_job()
        text = "".join(
            case_lines(launcher, cases) for launcher, cases in matrix.items() if launcher != "step"
        )
        if "step" in matrix:
            text += f"salloc -N2 -n{len(matrix['step']) + 1} -c2 bash steps.sh\n"
        run(text + "wait\n", cwd=f"{DIR}/{p.dir}", timeout=500)
        ended = {w["JobName"]: w for w in settle(before).values()}
        log, bad = probe_log(NODES), drained()
        for launcher, cases in matrix.items():
            judge(p, launcher, cases, ended, log, bad)
        return bad

    run(f"mkdir -p {' '.join(LAUNCH)}", cwd=f"{DIR}/{p.dir}")
    write(f"stack/{p.dir}/steps.sh", case_lines("step", MATRIX["step"]) + "wait\n")
    probe_log(NODES)
    bad = go(MATRIX)
    p.check(
        "7.24",
        "hooks whose failures must not drain a node do not drain it when they fail",
        not any(bad.values()),
        bad,
        run("sinfo -R", user="root").out,
    )
    resume()
    for cases in DRAINS:
        go({"sbatch": cases})
        resume()
    wait_idle()


def absent(p):
    """Check that no process of Slurm loads NodeOS without its line, although slurmd was not
    restarted."""
    r = run("srun --nodeos=help")
    ok(
        r.code != 0 and "unrecognized option" in r.err,
        f"{p.name}: srun does not know --nodeos",
        r.text,
    )
    r = run(f"srun -w n1 -n1 -c4 {W}", env={"SLURM_SPANK_NODEOS_STEP": "nodeos 1;c=step cpus=2;"})
    ok(
        [len(s) for s in masks(ranks(r))] == [4] and "NODEOS_CONTAINER" not in r.text,
        f"{p.name}: slurmstepd makes no container",
        r.text,
    )


def group_slurmtests(m):
    done = []
    for name, there in (("stock", False), ("NodeOS", True)):
        p = Pass(name)
        shutil.rmtree(f"{DIR}/{p.dir}", ignore_errors=True)
        run(f"mkdir -p {DIR}/{p.dir}")
        plugstack(nodeos=there)
        if not there:
            absent(p)
        affinity(p, m)
        note(f"{name}: with the probe plugin")
        plugstack(nodeos=there, probe="after")
        option(p)
        note(f"{name}: failing hooks")
        failing_hooks(p)
        done.append(p)
    plugstack()
    compare(*done)
    all_idle("all nodes are idle after the subjects of Slurm's tests")


# ----------------------------------------------------------------------------- a second plugin


def two_containers(what, submit, want, m, script="", names=("sim", "vda")):
    """Run a job with the containers of TWO, and a step in each of NAMES. SUBMIT is a function that
    submits the text of the job, which begins with SCRIPT. Returns the ranks of the steps."""
    fresh("two.log", "two.done", *(f"{name}.{end}" for name in names for end in ("out", "err")))
    text = "".join(
        f"srun -N2 -n4 --nodeos-container={name} {W} >{name}.out 2>{name}.err & {name}=$!\n"
        for name in names
    )
    before = cluster.last_job()
    waits = " && ".join(f"wait ${name}" for name in names)
    said = submit(
        f"#!/bin/bash\n{script}cd {DIR}\n{text}{waits}\nend=$?\ntouch two.done\nexit $end\n"
    )
    states = [w["JobState"] for w in settle(before, [f"{DIR}/two.done"], 300).values()]
    ok(
        states == ["COMPLETED"],
        f"{what}: the job completes",
        f"{said}\n{states}\n{read('two.log')}{read('sim.err')}{read('vda.err')}",
    )
    out = []
    for name in names:
        found = found_in(f"{name}.out")
        same([x["host"] for x in found], ["n0", "n0", "n1", "n1"], f"{what}: 4 ranks are in {name}")
        check_ranks(found, want[name], f"{what}, {name}", m)
        out += found
    return out


def by_sbatch(options):
    def submit(text):
        write("stack/two.sh", text)
        return run(
            f"sbatch -N2 --exclusive --nodeos-manifest={HOME}/two.json {options} -o {DIR}/two.log"
            f" {DIR}/two.sh"
        ).text

    return submit


STEP = f"srun -N2 -n4 --ntasks-per-node=2 -c8 --nodeos-cpus=8 --nodeos-mems=2 {W}"


def step_container(what, r, m):
    """Check the output of STEP, an srun with a container of its own. Returns its ranks."""
    found = ranks(r)
    same(
        [x["host"] for x in found],
        ["n0", "n0", "n1", "n1"],
        f"{what}: an srun with a container of its own has 4 ranks",
    ) or note(r.text[-1000:])
    check_ranks(
        found,
        plan(write("eight.json", pod(step={"container": {"cpus": 8, "mems": 2}})))["step"],
        f"{what}, srun",
        m,
    )
    return found


def second_plugin(what, order, m):
    """Run a job without containers: one step has its own container, and in the other steps a hook
    of the probe plugin fails."""
    fail = ("init_post_opt", "user_init", "task_post_fork", "task_init")
    text = (
        f"{STEP}\n"
        + "".join(
            f"PROBE_FAIL={order}/remote:{hook} srun -K --exact -N1 -n1 -c2 -w n{i % 2}"
            " --nodeos-cpus=2 echo alive &\n"
            for i, hook in enumerate(fail)
        )
        + "wait\n"
    )
    r = run(f"salloc -N2 --exclusive --probe=blue bash {write('stack/second.sh', text)}")
    found = step_container(what, r, m)
    ok(
        all(x["env"].get("SLURM_PROBE_SEEN") == "blue" for x in found),
        f"{what}: every rank has the probe's variable",
    )
    ok("alive" not in r.out, f"{what}: steps with a failing probe do not run", r.text)
    wait_idle()
    log = probe_log(NODES)
    step = [x for x in log if x["context"] == "remote" and x["step"] == "0"]
    same(
        {x["word"] for x in log if x["hook"] == "init_post_opt" and x["step"] != "-4"},
        {"blue"},
        f"{what}: salloc, srun and slurmstepd have the probe's option",
    )
    # NodeOS sets the container of a rank in task_init
    same(
        {x["container"] for x in step if x["hook"] == "task_init"},
        {"step" if order == "after" else ""},
        f"{what}: the plugins run in the order of plugstack.conf",
    )
    for node in NODES:
        mine = [x for x in step if x["node"] == node]
        same({x["hook"] for x in mine}, REMOTE, f"{what}: all hooks of the probe run on {node}")
        same(
            sorted(
                (x["hook"], x["uid"], x["euid"])
                for x in mine
                if x["hook"] in ("user_init", "task_post_fork", "task_init")
            ),
            [("task_init", "1000", "1000")] * 2
            + [("task_post_fork", "0", "0")] * 2
            + [("user_init", "0", "1000")],
            f"{what}: on {node}, each hook of the probe runs as often as expected, and as the"
            " expected user",
        )
        same(
            {
                (x["hook"], x["uid"], x["control"])
                for x in log
                if x["node"] == node and x["context"] == "job_script"
            },
            {("job_prolog", "0", "blue"), ("job_epilog", "0", "blue")},
            f"{what}: prolog and epilog have the probe's control variable on {node}",
        )
    same(
        {x["hook"] for x in log if x["fails"] == order},
        set(fail),
        f"{what}: only the selected hooks of the probe fail",
    )
    all_idle(f"{what}: all nodes become idle")
    same(leftovers(), "", f"{what}: the ledger is empty")


def group_stacked(m):
    plugstack(
        probe="before", restart=True
    )  # slurmd looks for plugins with a prolog only when it starts
    second_plugin("probe before nodeos", "before", m)
    plugstack(probe="after")
    second_plugin("probe after nodeos", "after", m)
    found = two_containers(
        "a job's containers", by_sbatch("--probe=red"), plan(write("two.json", pod(**TWO))), m
    )
    ok(
        found and all(r["env"].get("SLURM_PROBE_SEEN") == "red" for r in found),
        "all ranks in containers have the word of the probe's option",
    )
    plugstack()
    all_idle("all nodes are idle after the tests of the second plugin")
    same(leftovers(), "", "second plugin: the ledger is empty on both nodes")


# ---------------------------------------------------------------------------------- private /tmp


def group_tmpfs(m):
    want = plan(write("two.json", pod(**TWO)))
    private = "JobContainerType=job_container/tmpfs"
    for what, lines in (
        ("private /tmp", [private]),
        ("private /tmp, contain_spank", [private, "SlurmdParameters=contain_spank"]),
    ):
        slurm_conf(lines)
        r = run("scontrol show config", user="root")
        ok(
            all(re.search(line.replace("=", r"\s*=\s*"), r.out) for line in lines),
            f"{what}: scontrol shows this configuration",
            r.out,
        )
        step_container(what, run(STEP), m)
        two_containers(
            what,
            by_sbatch(""),
            want,
            m,
            "touch /tmp/mark; srun -N2 -n2 --nodeos-container=none ls /tmp\n",
        )
        ok(
            "mark" in read("two.log").split() and not os.path.exists("/tmp/mark"),
            f"{what}: the job has a /tmp of its own",
            read("two.log"),
        )
        all_idle(f"{what}: nodes are idle")
        same(leftovers(), "", f"{what}: the ledger is empty on both nodes")
    slurm_conf([])
    both("rm -f /etc/slurm/job_container.conf /etc/slurm/slurm.conf.keep")
    r = run(f"srun -w n1 -n1 {W}")
    ok(r.code == 0 and ranks(r), "after job_container.conf is removed, a step runs", r.text)


# ------------------------------------------------------------------------------------ slurmrestd

SOCKET = "/tmp/rest.sock"
POST = """
import http.client, json, socket, sys
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
c = Local("localhost", timeout=100)
c.request("POST", sys.argv[2], \
sys.stdin.read() if len(sys.argv) < 4 else open(sys.argv[3]).read(), \
{"Content-Type": "application/json"})
print(c.getresponse().read().decode())
"""


def by_rest(version, environment):
    def submit(text):
        job = {
            "name": "rest",
            "script": text,
            "nodes": "2",
            "shared": ["none"],
            "current_working_directory": DIR,
            "standard_output": f"{DIR}/two.log",
            "environment": ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={HOME}"] + environment,
        }
        write("stack/job.json", json.dumps({"job": job}))
        r = run(f"python3 {HOME}/stack/post.py {SOCKET} /slurm/{version}/job/submit {DIR}/job.json")
        ok(
            r.code == 0 and re.search(r'"job_id": *[1-9]', r.out),
            "slurmrestd accepts the job",
            r.text,
        )
        return r.text

    return submit


def group_rest(m):
    found = re.findall(r"v0\.0\.\d+", run("slurmrestd -d list").text)
    if not found:
        ok(True, "slurmrestd has no data parsers here # SKIP")
        cluster.skipped += 1
        return
    version = max(found, key=lambda v: int(v.split(".")[2]))
    want = plan(write("two.json", pod(**TWO)))
    write("stack/post.py", POST)
    daemon = subprocess.Popen(
        [
            "setpriv",
            "--reuid=alice",
            "--regid=alice",
            "--init-groups",
            "slurmrestd",
            "-a",
            "rest_auth/local",
            "-s",
            "openapi/slurmctld",
            f"unix:{SOCKET}",
        ],
        stdin=subprocess.DEVNULL,
        cwd="/tmp",
        stdout=open(f"{DIR}/slurmrestd.log", "w"),
        stderr=subprocess.STDOUT,
    )
    for _ in range(150):
        if os.path.exists(SOCKET):
            break
        time.sleep(0.2)
    try:
        by_environment = by_rest(version, [f"SLURM_SPANK_NODEOS_REQUEST={REQUEST}"])
        two_containers(f"slurmrestd {version}, request in the environment", by_environment, want, m)
        marked = "".join(
            f"#NODEOS {line}\n"
            for line in json.dumps(json.loads(pod(**TWO)), indent=1).splitlines()
        )
        two_containers(
            f"slurmrestd {version}, #NODEOS lines", by_rest(version, []), want, m, marked, ["vda"]
        )
    finally:
        daemon.terminate()
        daemon.wait()
        if cluster.failed:
            note(read("slurmrestd.log")[-1500:])
    all_idle("all nodes are idle after the jobs of slurmrestd")
    same(leftovers(), "", "slurmrestd: the ledger is empty on both nodes")


GROUPS = {
    "slurmtests": group_slurmtests,
    "stacked": group_stacked,
    "tmpfs": group_tmpfs,
    "rest": group_rest,
}


def main():
    with open(
        "/root/.ssh/config", "a"
    ) as f:  # all commands share one ssh connection, since a new connection takes seconds
        f.write("Host *\n\tControlMaster auto\n\tControlPath /run/ssh-%h\n\tControlPersist yes\n")
    os.makedirs(DIR, exist_ok=True)
    for where in (HOME, DIR):
        os.chown(where, 1000, 1000)
    cluster.patient()
    m = Machine()
    for name in sys.argv[1:] or GROUPS:
        note(f"group {name}")
        start = time.time()
        try:
            GROUPS[name](m)
        except Exception as e:
            ok(False, f"group {name} runs without an exception: {e}", traceback.format_exc())
        note(f"group {name} took {time.time() - start:.0f} s")
    cluster.done()


main()
