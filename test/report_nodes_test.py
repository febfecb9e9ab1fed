#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test nodeosctl report --merge and --all-nodes with valid and hostile reports of several nodes,
all made here. Scripts replace srun, squeue and scontrol. Prints TAP. NODEOS_SOURCE and NODEOS_BUILD
are as in docs_test.py.
"""

import copy
import json
import os
import pty
import re
import stat
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

from manpages import BUILD, SOURCE, done, ok, skip

TOOL = os.path.join(BUILD, "nodeosctl")
SCRATCH = tempfile.mkdtemp(prefix="nodeos-test.")
SVG = "{http://www.w3.org/2000/svg}"
ASKED = {"cpus": 8, "mems": 2, "policy": "batch"}


def run(*words, env=None, stdin=None):
    return subprocess.run(
        [TOOL, "report", *words],
        cwd=SCRATCH,
        capture_output=True,
        text=True,
        timeout=600,  # a busy machine runs the sanitizers' build for minutes
        input=stdin,
        env={**os.environ, **(env or {})},
    )


def write(name, document):
    with open(os.path.join(SCRATCH, name), "w") as f:
        f.write(document if isinstance(document, str) else json.dumps(document, indent=1))
    return name


def container(name, cpus, mems, **more):
    return {
        "name": name,
        "asked": ASKED,
        "cpus": cpus,
        "reserved": cpus,
        "mems": mems,
        "mems_confined": True,
        "policy": "batch",
        "priority": 0,
        "partition": "member",
        "effective": {"processes": 3, "cpus": cpus, "mems": mems, "policies": ["batch"]},
        "memory": [
            {"mem": int(m), "total_bytes": 1 << 30, "used_bytes": 256 << 20}
            for m in re.findall(r"\d+", mems)
        ],
        "noise": {
            "irqs": 1,
            "irq_names": [{"irq": 24, "name": "ahci", "cpus": cpus[:1]}],
            "threads": 12,
            "thread_names": [],
            "tick": cpus,
        },
        "isolators": [
            {"name": "container", "outcome": "enforced", "reason": ""},
            {"name": "scheduler", "outcome": "modified", "reason": "so"},
        ],
        "why": [],
        **more,
    }


def node(name, *containers):
    """Return the report of a node that has two packages of four cores with two threads each; the
    last core belongs to the ServiceOS."""
    cores = [f"{c}-{c + 1}" for c in range(0, 16, 2)]
    return {
        "schema": 1,
        "kind": "node",
        "node": name,
        "jobs": [
            {
                "job": 7,
                "uid": 1000,
                "user": "alice",
                "request": "x",
                "containers": list(containers),
                "deleted": [],
                "steps": [],
            }
        ],
        "serviceos": {"cpus": "14-15", "mems": "", "own_mems": False},
        "machine": [
            {"package": 0, "mems": "0", "cores": cores[:4]},
            {"package": 1, "mems": "1", "cores": cores[4:]},
        ],
        "free": {"cpus": ""},
        "problem": None,
    }


def step(name, number, *containers):
    return {
        "schema": 1,
        "kind": "step",
        "node": name,
        "job": 7,
        "step": number,
        "uid": 1000,
        "outcome": "enforced",
        "error": None,
        "reason": None,
        "container": "sim",
        "ranks": [
            {"rank": r, "pid": 5, "container": "sim", "slurm_cpus": "0", "cpus": "0"}
            for r in range(2)
        ],
        "request": "x",
        "containers": [
            {k: v for k, v in c.items() if k not in ("effective", "memory", "noise")}
            for c in containers
        ],
        "serviceos": {"cpus": "", "mems": "", "own_mems": False},
        "free": {"cpus": ""},
    }


SIM, VDA = container("sim", "0-7", "0-1"), container("vda", "8-9", "1")


def rows(text):
    return [
        re.split(r"  +", line)
        for line in text.splitlines()
        if line and not line.startswith(("differs", "missing", "the same"))
    ]


def test_table():
    write("n10.json", node("n10", SIM, VDA))
    write("n2.json", node("n2", SIM, VDA))
    r = run("--merge", "n10.json", "n2.json")
    want = [
        [
            "NODE",
            "JOB",
            "CONTAINER",
            "ASKED",
            "CPUS",
            "MEMS",
            "POLICY",
            "OUTCOME",
            "PROCESSES",
            "IRQS/KTHREADS",
            "MEMORY",
        ]
    ] + [
        [
            n,
            "7",
            c,
            "cpus=8 mems=2 policy=batch",
            cpus,
            mems,
            "batch",
            "modified",
            "3",
            "1/12",
            memory,
        ]
        for n in ("n2", "n10")
        for c, cpus, mems, memory in (
            ("sim", "0-7", "0-1", "512 of 2048 MiB"),
            ("vda", "8-9", "1", "256 of 1024 MiB"),
        )
    ]
    ok(
        r.returncode == 0 and rows(r.stdout) == want,
        "--merge prints a line for each container of each node, ordered by the nodes' numbers",
        *r.stdout.splitlines(),
        r.stderr,
    )
    ok(
        "the same on all 2 nodes" in r.stdout and "differs" not in r.stdout,
        "--merge prints no difference between equal nodes",
        r.stdout,
    )
    odd = container(
        "sim",
        "0-5",
        "0",
        policy="other",
        asked={
            **ASKED,
            "cpus": "all that is left",
            "dimmap": {"size_bytes": 64 << 20, "source": "/x", "access": "rw"},
        },
    )
    write("n3.json", node("n3", odd))
    r = run("--merge", "n2.json", "n3.json", "n10.json")
    told = [line for line in r.stdout.splitlines() if line.startswith("differs: ")]
    ok(
        told
        == [
            (
                "differs: container sim of job 7: asked cpus=8 mems=2 policy=batch on n2,n10;"
                " cpus=rest mems=2 policy=batch dimmap=64M on n3"
            ),
            "differs: container sim of job 7: cpus 0-7 on n2,n10; 0-5 on n3",
            "differs: container sim of job 7: mems 0-1 on n2,n10; 0 on n3",
            "differs: container sim of job 7: policy batch on n2,n10; other on n3",
            "differs: container vda of job 7: not on n3",
        ],
        "--merge prints each difference with the nodes",
        *told,
    )
    r = run("--merge", "n2.json", "n2.json", "n2.json")
    ok(
        len(rows(r.stdout)) == 3,
        "--merge of one report given three times prints one node",
        r.stdout,
    )
    write("idle.json", {**node("n4"), "jobs": []})
    r = run("--merge", "idle.json", "n2.json")
    ok(
        "n4  (no containers)" in r.stdout and "differs" not in r.stdout,
        "--merge prints a line for a node without containers",
        r.stdout,
    )
    r = run("--merge", "-", stdin=json.dumps(node("n5", SIM)))
    ok(
        r.returncode == 0 and rows(r.stdout)[1][:3] == ["n5", "7", "sim"],
        "--merge - reads a report from standard input",
        r.stdout,
        r.stderr,
    )


def test_steps():
    write("s0.json", step("n0", "0", SIM, VDA))
    write("s1.json", step("n1", "0", SIM, VDA))
    write("sb.json", step("n0", "batch", SIM, VDA))
    write(
        "sf.json",
        {
            k: v
            for k, v in step("n9", "3").items()
            if k not in ("containers", "request", "serviceos", "free")
        },
    )
    r = run("--merge", "s0.json", "sb.json", "s1.json")
    ok(
        [row[:3] + row[8:] for row in rows(r.stdout)[1:]]
        == [
            [n, "7", c, p, "-", "-"] for n in ("n0", "n1") for c, p in (("sim", "2"), ("vda", "0"))
        ],
        "--merge of steps' reports: each container has one line with the number of its ranks",
        *r.stdout.splitlines(),
        r.stderr,
    )
    r = run("--merge", "s0.json", "n2.json", "sf.json")
    ok(
        r.returncode == 0
        and [row[0] for row in rows(r.stdout)[1:]] == ["n0", "n0", "n2", "n2", "n9"],
        "--merge accepts reports of a node, of a step and of a failed step together",
        r.stdout,
        r.stderr,
    )
    # A live report has more data than the report that a step writes at its start.
    write("live.json", node("n0", SIM, VDA))
    for order in (("s0.json", "live.json"), ("live.json", "s0.json")):
        r = run("--merge", *order)
        ok(
            [row[8:] for row in rows(r.stdout)[1:]]
            == [["3", "1/12", "512 of 2048 MiB"], ["3", "1/12", "256 of 1024 MiB"]],
            "--merge of a live report and a step's report of one node: the live report is shown",
            r.stdout,
        )


def test_json():
    r = run("--merge", "--json", "n10.json", "n2.json", "n3.json")
    all_nodes = json.loads(r.stdout or "{}")
    ok(
        {k: v for k, v in all_nodes.items() if k not in ("nodes", "differences")}
        == {"schema": 1, "kind": "nodes", "missing": []},
        "--merge --json prints a document of the kind nodes",
        r.stdout[:500],
    )
    given = [json.load(open(os.path.join(SCRATCH, f"{n}.json"))) for n in ("n2", "n3", "n10")]
    ok(all_nodes.get("nodes") == given, "--merge --json has the unchanged reports, ordered by node")
    ok(
        len(all_nodes.get("differences", [])) == 5
        and all_nodes["differences"][-1] == "container vda of job 7: not on n3",
        "--merge --json has the differences",
        all_nodes.get("differences"),
    )
    write("all.json", {**all_nodes, "missing": [{"node": "n77", "reason": "the switch is off"}]})
    r = run("--merge", "all.json")
    ok(
        r.returncode == 1
        and "missing: n77: the switch is off" in r.stdout
        and "n77" in r.stderr
        and r.stdout.count("differs") == 5,
        "--merge of a merged report: missing nodes stay missing",
        *r.stdout.splitlines(),
        r.stderr,
    )
    try:
        sys.path.insert(0, os.path.join(SOURCE, "test/guest"))
        import schema

        problems = schema.Checker(os.path.join(SOURCE, "doc/nodeos-report.schema.json")).problems(
            all_nodes
        )
        ok(not problems, "--merge --json fits nodeos-report.schema.json", *problems)
    except ImportError as e:
        skip("--merge --json fits nodeos-report.schema.json", f"{e} (Debian: python3-jsonschema)")


def test_picture():
    r = run("--merge", "--svg=-", "n10.json", "n2.json")
    root = ElementTree.fromstring(r.stdout)
    width, height = float(root.get("width")), float(root.get("height"))
    texts = [t.text for t in root.iter(SVG + "text")]
    ok(
        [t for t in texts if t in ("n2", "n10")] == ["n2", "n10"],
        "--merge --svg: each node has a panel",
        texts,
    )
    ok(
        sum("sim of job 7 (alice)" in (t or "") for t in texts) == 1
        and sum("vda of job 7" in (t or "") for t in texts) == 1,
        "--merge --svg: the picture has one legend",
        texts,
    )
    # in the SVG, the number of a CPU comes after the CPU's cell
    found, last = {}, None
    for e in root.iter():
        if e.tag == SVG + "rect" and e.get("fill"):
            last = e
        if e.tag == SVG + "text" and (e.get("class") or "").startswith("cpu") and e.text.isdigit():
            found.setdefault(last.get("fill"), []).append(int(e.text))
    ok(
        sorted(map(sorted, found.values()))
        == [
            sorted(list(range(8)) * 2),
            [8, 8, 9, 9],
            [10, 10, 11, 11, 12, 12, 13, 13],
            [14, 14, 15, 15],
        ],
        "--merge --svg: each CPU has its container's colour on both nodes",
        found,
    )
    ok(
        len([e for e in root.iter(SVG + "circle")]) == 2 * 2 + 1,
        "--merge --svg: dots mark interrupts, and the legend has a dot",
    )
    boxes = [
        (float(e.get("x", 0)), float(e.get("y", 0)), float(e.get("width")), float(e.get("height")))
        for e in root.iter(SVG + "rect")
    ]
    ok(
        all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in boxes),
        "--merge --svg: all boxes are inside of the picture",
    )
    ok(
        all(float(t.get("y")) < height for t in root.iter(SVG + "text")),
        "--merge --svg: no text is below the picture",
    )
    panels = [b for b, e in zip(boxes, root.iter(SVG + "rect")) if e.get("class") == "node"]
    ok(
        len(panels) == 2
        and (
            panels[0][0] + panels[0][2] <= panels[1][0]
            or panels[0][1] + panels[0][3] <= panels[1][1]
        ),
        "--merge --svg: panels do not overlap",
        panels,
    )
    many = [write(f"m{i}.json", node(f"m{i}", SIM, VDA)) for i in range(30)]
    r = run("--merge", "--svg=many.svg", *many)
    root = (
        ElementTree.parse(os.path.join(SCRATCH, "many.svg")).getroot()
        if r.returncode == 0
        else ElementTree.fromstring("<svg/>")
    )
    ok(
        sum(e.get("class") == "node" for e in root.iter(SVG + "rect")) == 30
        and 0.5 < float(root.get("width", 1)) / float(root.get("height", 9)) < 3,
        "--merge --svg: the picture of thirty nodes is neither very wide nor very high",
        r.stderr,
    )
    r = run("--merge", "--svg=-", "s0.json", "s1.json")
    numbers = [
        t.text
        for t in ElementTree.fromstring(r.stdout).iter(SVG + "text")
        if (t.get("class") or "").startswith("cpu") and t.text.isdigit()
    ]
    ok(
        sorted(map(int, numbers)) == sorted(list(range(10)) * 2),
        "--merge --svg of steps' reports: the picture has the CPUs of containers",
        numbers,
        r.stderr,
    )
    write("evil.json", node('n0"><script>', container("a&b<c", "0", "0")))
    root = ElementTree.fromstring(run("--merge", "--svg=-", "evil.json").stdout)
    ok(
        not list(root.iter(SVG + "script"))
        and 'n0"><script>' in [t.text for t in root.iter(SVG + "text")],
        "--merge --svg: names from reports cannot add elements to the picture",
    )
    r = run("--merge", "--svg=/nonexistent/x.svg", "n2.json")
    ok(
        r.returncode == 1 and "/nonexistent/x.svg: No such file or directory" in r.stderr,
        "--merge --svg fails if the file cannot be written",
        r.stderr,
    )


def edited(change):
    document = copy.deepcopy(node("n2", SIM))
    change(document)
    return document


def test_hostile():
    first = "jobs[0].containers[0]"
    cases = [
        ("", "the text is empty"),
        ("[1, 2", "expected"),
        ("nonsense", "expected a value"),
        ("[]", "expected an object, found an array"),
        ("7", "expected an object"),
        ("{}", '"schema" is missing'),
        ({"schema": 2, "kind": "node"}, "this nodeosctl knows schema 1"),
        ({"schema": 1}, '"kind" is missing'),
        (
            {"schema": 1, "kind": "plan", "containers": []},
            '"plan" is not the report of a node or step',
        ),
        ({"schema": 1, "kind": "node"}, '"node" is missing'),
        ({"schema": 1, "kind": "nodes"}, '"nodes" is missing'),
        (
            {"schema": 1, "kind": "nodes", "nodes": [{"schema": 1, "kind": "nodes", "nodes": []}]},
            'nodes[0].kind: "nodes" is not the report of a node or step',
        ),
        ('{"schema": 1, "schema": 1}', "a second time"),
        ("[" * 100, "nested more than 32 deep"),
        ('{"schema": 99999999999999999999}', "too large"),
        (edited(lambda d: d.update(node="")), "not empty"),
        (edited(lambda d: d.update(node=7)), "node: expected a string, found a number"),
        (edited(lambda d: d.update(jobs={})), "jobs: expected an array"),
        (edited(lambda d: d["jobs"][0].pop("job")), 'jobs[0]: "job" is missing'),
        (edited(lambda d: d["jobs"][0].update(job=-1)), "jobs[0].job: expected a whole number"),
        (edited(lambda d: d["jobs"][0].update(job=1.5)), "expected a whole number"),
        (edited(lambda d: d["jobs"][0].update(containers=[7])), f"{first}: expected an object"),
        (edited(lambda d: d["jobs"][0]["containers"][0].update(cpus="0-")), f"{first}.cpus: "),
        (edited(lambda d: d["jobs"][0]["containers"][0].update(cpus="5000")), f"{first}.cpus: "),
        (
            edited(lambda d: d["jobs"][0]["containers"][0].update(mems_confined="yes")),
            f"{first}.mems_confined: expected",
        ),
        (
            edited(lambda d: d["jobs"][0]["containers"][0]["isolators"][0].update(outcome="great")),
            "isolators[0].outcome: expected enforced, modified, ignored or failed",
        ),
        (
            edited(lambda d: d["jobs"][0]["containers"][0]["noise"].update(irqs="many")),
            f"{first}.noise.irqs: expected a number",
        ),
        (
            edited(lambda d: d["machine"][0].update(cores=["0", 1])),
            "machine[0].cores[1]: expected a string",
        ),
        (edited(lambda d: d["machine"].append(None)), "machine[2]: expected an object"),
    ]
    for document, message in cases:
        write("bad.json", document)
        r = run("--merge", "n2.json", "bad.json")
        lines = r.stderr.splitlines()
        good = (
            r.returncode == 1
            and not r.stdout
            and len(lines) == 1
            and message in lines[0]
            and re.match(r"nodeosctl: report: bad\.json:\d+:\d+: ", lines[0])
        )
        ok(
            good,
            f"--merge refuses a bad report, and the message has the place: {message}",
            f"exit {r.returncode}",
            *lines[:4],
        )
    write(
        "bad.json",
        edited(lambda d: d["jobs"][0]["containers"][0].update(cpus="\033]0;x\007\x9b2J")),
    )
    r = run("--merge", "bad.json")
    ok(
        r.returncode == 1
        and '"?]0;x???2J" is not a list of ids' in r.stderr
        and not set("\033\007\x9b") & set(r.stderr),
        "--merge prints control characters in a refusal as '?'",
        repr(r.stderr),
    )
    r = run("--merge", "none.json")
    ok(
        r.returncode == 1 and "none.json: No such file" in r.stderr,
        "--merge refuses a missing file",
        r.stderr,
    )
    r = run("--merge", ".")
    ok(r.returncode == 1 and "Is a directory" in r.stderr, "--merge refuses a directory", r.stderr)
    write("escape.json", node("n0\033[2J", container("x\033]0;y\007", "0", "0")))
    r = run("--merge", "escape.json")
    ok(
        r.returncode == 0
        and "\033" not in r.stdout
        and "\007" not in r.stdout
        and "n0?[2J" in r.stdout,
        "--merge prints control characters of a report as '?'",
        repr(r.stdout),
    )
    odd = {**node("n0", SIM), "more": "a\x7fb\x9b2Jc\u00e9\u4e2d"}
    write("c1.json", json.dumps(odd, ensure_ascii=False))
    r = run("--merge", "--json", "c1.json")
    ok(
        r.returncode == 0
        and json.loads(r.stdout)["nodes"] == [odd]
        and not set("\x7f\x9b") & set(r.stdout),
        "--merge --json prints control characters as escapes",
        repr(r.stdout[-300:]),
    )
    write("many.json", node("n0", *({**SIM, "name": f"c{i}"} for i in range(4097))))
    r = run("--merge", "many.json")
    ok(
        r.returncode == 1
        and "jobs[0].containers[4096]: more than 4096 containers on one node" in r.stderr,
        "--merge refuses more containers than a node can have",
        r.stderr,
    )
    with open(os.path.join(SCRATCH, "large.json"), "w") as f:
        f.write(" " * (65 << 20))
    r = run("--merge", "large.json")
    ok(
        r.returncode == 1 and "large.json: too large (67108864 bytes or more)" in r.stderr,
        "--merge refuses a very large file",
        r.stderr,
    )
    os.unlink(os.path.join(SCRATCH, "large.json"))


def test_usage():
    for words in (
        ["--merge"],
        ["--merge", "--all-nodes", "x"],
        ["--merge", "--job=7", "x"],
        ["--json", "--svg=x"],
        ["--job=0"],
        ["--job=x"],
        ["x"],
    ):
        r = run(*words)
        ok(
            r.returncode == 2 and r.stderr and not r.stdout,
            f"report {' '.join(words)} is refused as wrong usage",
            r.stderr,
        )
    r = run("--all-nodes", env={"SLURM_JOB_ID": ""})
    ok(
        r.returncode == 2 and "--job=ID" in r.stderr,
        "--all-nodes without --job is refused outside of a job",
        r.stderr,
    )


# ------------------------------------------------------------------------------ srun


def script(name, text):
    path = os.path.join(SCRATCH, "bin", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def parcel(name, document, size):
    text = json.dumps(document)
    return [f"+{name} {text[i : i + size]}" for i in range(0, len(text), size)] + [
        f"={name} {len(text)}"
    ]


def mixed(*parcels):
    """Return the lines of all parcels, interleaved."""
    out, left = [], [list(p) for p in parcels]
    while any(left):
        out += [p.pop(0) for p in left if p]
    return "\n".join(out) + "\n"


def all_nodes(*words, env=None):
    return run(
        "--all-nodes",
        *words,
        env={
            "PATH": os.path.join(SCRATCH, "bin") + ":" + os.environ["PATH"],
            "SLURM_CPU_BIND": "none",
            "SLURM_NTASKS": "99",
            "SLURM_CONF": "/keep",
            "SRUN_DEBUG": "3",
            **(env or {}),
        },
    )


def in_terminal(*words, env):
    """Run nodeosctl at a terminal. Returns its exit status and the terminal's output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.dup2(0, 9)
        os.chdir(SCRATCH)
        os.execve(
            TOOL,
            [TOOL, "report", *words],
            {"PATH": os.path.join(SCRATCH, "bin") + ":" + os.environ["PATH"], **env},
        )
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass  # the program has ended
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode(errors="replace")


# squeue gets these arguments
FIELDS = "--noheader --states=all --jobs {} --format=%A|%i|%T|%U|%G|%N"


def slurm(jobs, hosts):
    """Write scripts that replace squeue and scontrol. JOBS is {job's number: lines of squeue},
    HOSTS {list of hosts: names}. scontrol shows a job with a hostile name."""
    script(
        "squeue",
        f"env >'{SCRATCH}/squeue.env'; case \"$*\" in\n"
        + "".join(
            f'"{FIELDS.format(j)}") cat <<\\END ;;\n' + "\n".join(lines) + "\nEND\n"
            for j, lines in jobs.items()
        )
        + '*) echo "Invalid job id specified" >&2; exit 1 ;;\nesac\n',
    )
    script(
        "scontrol",
        'case "$*" in\n'
        + "".join(f'"show hostnames {h}") printf "%s\\n" {n} ;;\n' for h, n in hosts.items())
        + '"show job 7") echo "JobId=7 JobName=x UserId=daemon(1) GroupId=root(0) JobState=RUNNING'
        f' NodeList=n9"; echo "   UserId=alice({os.getuid()})" ;;\n*) echo "no such" >&2; exit 1'
        " ;;\nesac\n",
    )


def test_parts():
    """Check heterogeneous jobs and arrays: squeue prints a line for each component or task."""
    me, gid = os.getuid(), os.getgid()
    job = {"0": 20, "1": 21, "2": 22}
    het = [f"2{k}|20+{k}|RUNNING|{me}|{gid}|{n}" for k, n in ((0, "n[0-1]"), (1, "n2"), (2, "n3"))]
    array = [
        f"30|30_[4-5%2]|PENDING|{me}|{gid}|",
        f"31|30_0|RUNNING|{me}|{gid}|n0",
        f"32|30_1|COMPLETED|{me}|{gid}|n1",
        f"33|30_2|RUNNING|{me}|{gid}|n2",
    ]
    last = [
        f"40|40_7|RUNNING|{me}|{gid}|n3",
        f"47|40_1|RUNNING|{me}|{gid}|n1",
        f"48|40_2|COMPLETED|{me}|{gid}|n0",
    ]
    one = [f"50|50_[3-9]|PENDING|{me}|{gid}|", f"51|50_2|RUNNING|{me}|{gid}|n1"]
    slurm(
        {
            "20": het,
            "21": het[1:2],
            "30": array,
            "30_2": array[3:],
            "30_1": array[2:3],
            "31": array[1:2],
            "40": last,
            "50": one,
            "60": [f"60|60+0|RUNNING|{me}|{gid}|n0", f"61|60+1|COMPLETED|{me}|{gid}|n1"],
        },
        {"n[0-1]": "n0 n1", "n0": "n0", "n1": "n1", "n2": "n2", "n3": "n3"},
    )
    # srun prints the parcels of all nodes' reports
    script("srun", f"echo \"$*\" >>'{SCRATCH}/srun.calls'; cat '{SCRATCH}/parcels'\n")

    def calls(*words, env=None):
        write("srun.calls", "")
        r = all_nodes(*words, env=env)
        return r, [
            line for line in open(os.path.join(SCRATCH, "srun.calls")).read().splitlines() if line
        ]

    def answer(names, number):
        docs = {n: node(n, SIM) for n in names}
        for d in docs.values():
            d["jobs"][0]["job"] = number
        write("parcels", mixed(*(parcel(n, d, 90) for n, d in docs.items())))

    answer(["n0", "n1", "n2", "n3"], 20)
    r, called = calls("--job=20")
    ok(
        r.returncode == 0 and [row[0] for row in rows(r.stdout)[1:]] == ["n0", "n1", "n2", "n3"],
        "--all-nodes of a heterogeneous job: the report has the nodes of all components",
        r.stdout,
        r.stderr,
    )
    ok(
        len(called) == 3
        and all(
            f"--jobid=20 --het-group={k} --nodes={2 if k == 0 else 1} " in c
            and c.endswith(f"--job={job[str(k)]}")
            for k, c in enumerate(called)
        ),
        "--all-nodes of a heterogeneous job: one srun for each component, with the component's"
        " number",
        *called,
    )
    r, called = calls("--job=21")
    ok(
        r.returncode == 0 and len(called) == 1 and "--jobid=20 --het-group=1 " in called[0],
        "--all-nodes of one component: one srun, for that component",
        r.stderr,
        *called,
    )
    r, called = calls("--job=60")
    ok(
        r.returncode == 0 and len(called) == 1 and "--het-group=0 " in called[0],
        "--all-nodes of a heterogeneous job with an ended component: one srun, for the other"
        " component",
        r.stderr,
        *called,
    )
    r, called = calls("--job=30")
    ok(
        r.returncode == 1
        and not called
        and "job 30 is an array of which 2 tasks run: name one, such as --job=30_0 (running: 0 2)"
        in r.stderr,
        "--all-nodes of an array with two running tasks is refused",
        r.stderr,
        *called,
    )
    r, called = calls("--job=30_2")
    ok(
        r.returncode == 0
        and [row[0] for row in rows(r.stdout)[1:]] == ["n2"]
        and "--jobid=33 --nodes=1" in called[0]
        and "--het" not in called[0],
        "--all-nodes of a task by its number in the array: one srun, for that task",
        r.stderr,
        *called,
    )
    r, called = calls("--job=30_1")
    ok(
        r.returncode == 1 and not called and "job 30_1 is COMPLETED" in r.stderr,
        "--all-nodes of a task that has ended is refused",
        r.stderr,
    )
    r, called = calls("--job=31")
    ok(
        r.returncode == 0 and "--jobid=31 " in called[0],
        "--all-nodes of a task by its job number: one srun, for that task",
        r.stderr,
        *called,
    )
    r, called = calls("--job=50")
    ok(
        r.returncode == 0 and len(called) == 1 and "--jobid=51 " in called[0],
        "--all-nodes of an array with one running task: one srun, for that task",
        r.stderr,
        *called,
    )
    r, called = calls("--job=40")
    ok(
        r.returncode == 1 and "running: 7 1" in r.stderr,
        "--all-nodes of an array's number, which is also a task's job number, is refused outside"
        " of the"
        " array",
        r.stderr,
        *called,
    )
    r, called = calls(env={"SLURM_JOB_ID": "40", "SLURM_ARRAY_JOB_ID": "40"})
    ok(
        r.returncode == 0
        and len(called) == 1
        and "--jobid=40 " in called[0]
        and [row[0] for row in rows(r.stdout)[1:]] == ["n3"],
        "--all-nodes inside of a task whose job number is the array's: the report has that task",
        r.stderr,
        *called,
    )
    r, called = calls("--job=30_2x")
    ok(r.returncode == 2 and not called, "--job=30_2x is refused as wrong usage", r.stderr)
    r = run("--job=30_2")
    ok(
        r.returncode == 2 and "--all-nodes" in r.stderr,
        "--job=30_2 without --all-nodes is refused",
        r.stderr,
    )
    calls("--job=31", env={"SQUEUE_STATES": "PENDING", "SQUEUE_FORMAT": "%j"})
    env = open(os.path.join(SCRATCH, "squeue.env")).read()
    ok(
        "SLURM_CONF=/keep" in env and "SQUEUE_" not in env,
        "--all-nodes: squeue does not get SQUEUE_ variables of the user",
        env,
    )


def test_srun():
    me = os.getuid()
    slurm(
        {
            "7": [f"7|7|RUNNING|{me}|{os.getgid()}|n[0-2]"],
            "8": [f"8|8|COMPLETED|{me}|1|n0"],
            "6": [f"6|6|PENDING|{me}|1|"],
            "5": ["5 what"],
        },
        {"n[0-2]": "n0 n1 n2"},
    )
    script(
        "srun",
        f"echo \"$*\" >'{SCRATCH}/srun.args'; env >'{SCRATCH}/srun.env'; cat '{SCRATCH}/parcels';"
        f" exit $(cat '{SCRATCH}/srun.code')\n",
    )

    def answers(text, code):
        write("parcels", text)
        write("srun.code", str(code))

    nodes = {n: node(n, SIM, VDA) for n in ("n0", "n1", "n2")}
    answers(mixed(*(parcel(n, d, 37) for n, d in nodes.items())), 0)
    r = all_nodes("--json", "--job=7")
    got = json.loads(r.stdout or "{}")
    ok(
        r.returncode == 0
        and got.get("nodes") == list(nodes.values())
        and got["missing"] == []
        and not r.stderr,
        "--all-nodes: nodeosctl reads the reports of three nodes from interleaved lines",
        r.stderr,
        r.stdout[:300],
    )
    words = open(os.path.join(SCRATCH, "srun.args")).read()
    ok(
        all(
            w in words.split()
            for w in (
                "--jobid=7",
                "--overlap",
                "--nodes=3",
                "--ntasks=3",
                "--ntasks-per-node=1",
                "--nodeos=off",
            )
        )
        and re.search(r"/nodeosctl show --parcel --job=7$", words.strip()),
        "--all-nodes: srun starts one task on each node",
        words,
    )
    env = open(os.path.join(SCRATCH, "srun.env")).read()
    ok(
        "SLURM_CONF=/keep" in env
        and not re.search(r"^(SLURM_CPU_BIND|SLURM_NTASKS|SRUN_DEBUG|SLURM_JOB_ID)=", env, re.M),
        "--all-nodes: srun gets no variable of the calling step",
        env,
    )
    r = all_nodes(env={"SLURM_JOB_ID": "7"})
    ok(
        r.returncode == 0
        and [row[0] for row in rows(r.stdout)[1:]] == ["n0", "n0", "n1", "n1", "n2", "n2"],
        "--all-nodes without --job: the report has the job in which nodeosctl runs",
        r.stdout,
        r.stderr,
    )
    half = parcel("n1", nodes["n1"], 100)
    for broken, what in (
        (half[:3], "ends too early"),
        (half[:-1], "has no end"),
        (half[:2] + half[3:], "lacks a line"),
        (parcel("n1", {"schema": 7}, 50), "has another version"),
        (
            parcel("n1", node("n1", SIM, {**VDA, "cpus": "x"}), 50),
            "is broken after its first container",
        ),
        ([], "is missing"),
    ):
        answers(mixed(parcel("n0", nodes["n0"], 37), broken, parcel("n2", nodes["n2"], 400)), 1)
        r = all_nodes("--job=7", "--json")
        got = json.loads(r.stdout or "{}")
        table = all_nodes("--job=7").stdout
        ok(
            "\nn1" not in table and table.count("missing: n1: ") == 1,
            f"--all-nodes: a node whose answer {what} is in the table only as missing",
            table,
        )
        ok(
            r.returncode == 1
            and [d["node"] for d in got.get("nodes", [])] == ["n0", "n2"]
            and [m["node"] for m in got["missing"]] == ["n1"]
            and "n1: " in r.stderr,
            f"--all-nodes: a node whose answer {what} is missing, and the other nodes are reported",
            r.stderr,
            r.stdout[:200],
        )
    answers("srun: hello\n=\n+\n+n0\n=n0 x\n=n0 0\n=n2 18446744073709551615\n+n1 {\n", 1)
    r = all_nodes("--job=7")
    ok(
        r.returncode == 1 and r.stdout.count("missing: ") == 3 and "no answer: srun" in r.stdout,
        "--all-nodes: all nodes are missing if no answer is valid",
        r.stdout,
        r.stderr,
    )
    r = all_nodes("--job=8")
    ok(
        r.returncode == 1 and "job 8 is COMPLETED" in r.stderr and "--merge" in r.stderr,
        "--all-nodes: an ended job is refused",
        r.stderr,
    )
    r = all_nodes("--job=6")
    ok(
        r.returncode == 1 and "job 6 is PENDING" in r.stderr,
        "--all-nodes: a pending job is refused",
        r.stderr,
    )
    r = all_nodes("--job=5")
    ok(
        r.returncode == 1
        and "job 5: nodeosctl does not understand this line of squeue" in r.stderr,
        "--all-nodes: a line of squeue that nodeosctl does not understand is an error",
        r.stderr,
    )
    r = all_nodes("--job=9")
    ok(
        r.returncode == 1 and "job 9: " in r.stderr,
        "--all-nodes: an unknown job is refused",
        r.stderr,
    )
    r = all_nodes("--job=7", "--svg=srun.svg")
    ok(
        r.returncode == 1 and "missing: n0" in open(os.path.join(SCRATCH, "srun.svg")).read(),
        "--all-nodes --svg: the picture names the missing nodes",
    )
    if me == 0:
        slurm({"7": ["7|7|RUNNING|65534|65534|n0"]}, {"n0": "n0"})
        script(
            "setpriv",
            f'echo "$*" >\'{SCRATCH}/setpriv.args\'; while [ "$1" != -- ]; do shift; done; shift;'
            ' exec "$@"\n',
        )
        answers(mixed(parcel("n0", nodes["n0"], 37)), 0)
        script(
            "srun",
            f"env >'{SCRATCH}/srun.env'; tty <&2 >'{SCRATCH}/srun.tty'; (exec 5<>/dev/tty)"
            f" 2>/dev/null && echo /dev/tty >>'{SCRATCH}/srun.tty'; ls /proc/self/fd"
            f" >'{SCRATCH}/srun.fds';printf 'srun: \\033]0;x\\007 hello\\n' >&2; cat"
            f" '{SCRATCH}/parcels'\n",
        )
        status, shown = in_terminal(
            "--all-nodes",
            "--job=7",
            env={
                "SLURM_JWT": "root's",
                "TOP_SECRET": "root's",
                "A" * 300: "root's",
                "SLURM_CONF": "/keep",
            },
        )
        words = open(os.path.join(SCRATCH, "setpriv.args")).read() if status == 0 else shown
        ok(
            words.startswith("--reuid=65534 --regid=65534 --init-groups -- ")
            and "/srun --jobid=7" in words,
            "--all-nodes as root: srun runs as the job's user",
            words,
        )
        env = open(os.path.join(SCRATCH, "srun.env")).read()
        ok(
            "root's" not in env and "SLURM_CONF=/keep" in env and re.search(r"^PATH=", env, re.M),
            "--all-nodes as root: srun does not get root's environment",
            env,
        )
        tty = open(os.path.join(SCRATCH, "srun.tty")).read()
        ok("/dev/" not in tty, "--all-nodes as root: srun does not have root's terminal", tty)
        fds = open(os.path.join(SCRATCH, "srun.fds")).read().split()
        ok(
            set(fds) <= {"0", "1", "2", "3"},
            "--all-nodes as root: srun does not have open files of root's shell",
            fds,
        )
        ok(
            "srun: ?]0;x? hello" in shown and "n0" in shown,
            "--all-nodes as root: srun's messages are printed, with control characters as '?'",
            repr(shown),
        )
    else:
        skip("--all-nodes as root: srun runs as the job's user", "not root")


if not os.access(TOOL, os.X_OK):
    skip("reports of several nodes", "no nodeosctl in the build tree")
else:
    for test in (
        test_table,
        test_steps,
        test_json,
        test_picture,
        test_hostile,
        test_usage,
        test_srun,
        test_parts,
    ):
        test()
subprocess.run(["rm", "-rf", SCRATCH], check=True)
sys.exit(done())
