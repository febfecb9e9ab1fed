#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run nodeosctl contention advise on directories of reports, some hostile, with stand-ins for
Slurm's programs. Check its text, its printed commands, and its JSON against the schema. On random
sites of 16 nodes with 40 containers, check each proposal by the rule of advice_oracle.py. Prints
TAP. NODEOS_BUILD: the build tree; NODEOS_ADVISE_SITES: number of random sites (20)."""

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(os.path.dirname(__file__), "../..")
sys.path.insert(0, os.path.join(SOURCE, "test"))
sys.path.insert(0, os.path.join(SOURCE, "advice/test"))
import advice_oracle as oracle  # noqa: E402
from manpages import BUILD, done, ok, skip  # noqa: E402

TOOL = os.path.abspath(os.path.join(BUILD, "nodeosctl"))
SITES = int(os.environ.get("NODEOS_ADVISE_SITES", "20"))
CLASSES = ("unknown", "turtles", "semi_devils", "devils")
COUNTS = dict.fromkeys(CLASSES, 0)
STANDIN = """#!/bin/sh
case "$*" in
*Extra*) shift 5; cat "$TOP/extra.$1" 2>/dev/null || echo ;;
*) cat "$TOP/${0##*/}.out" ;;
esac
"""


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}", f"want: {want}")


class Site:
    def __init__(self, top):
        self.top = tempfile.mkdtemp(dir=top)
        self.now = int(time.time())
        for name in ("reports", "bin"):
            os.mkdir(f"{self.top}/{name}", 0o755)
        for name in ("squeue", "sinfo"):
            self.put(f"bin/{name}", STANDIN, 0o755)
        self.put("nodeos.conf", "contention_report_dir = /var/lib/reports\n")
        self.nodes, self.jobs = [], {}

    def put(self, name, text, mode=0o644):
        with open(f"{self.top}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(f"{self.top}/{name}", mode)

    def node(self, name, cpus, allocated, state="mix", partition="batch"):
        self.nodes.append(f"{name}|{partition}|{allocated}/{cpus - allocated}/0/{cpus}|{state}")

    def report(self, job, host, *containers, partition="batch", **more):
        """Write HOST's report on JOB. A container: {class: ranks, "cpus":, "traffic":, "name":}."""
        containers = [COUNTS | {"name": None, "traffic": None} | c for c in containers]
        totals = {k: sum(c[k] for c in containers) for k in CLASSES}
        self.jobs[job] = f"{job}|{job}|R|{self.now - 7200}|N/A|{partition}"
        os.makedirs(f"{self.top}/reports/{job}", mode=0o755, exist_ok=True)
        document = {
            "nodeos_contention": 1,
            "host": host,
            "job": job,
            "inode": 7,
            "time": self.now,
            "ended": False,
            "class": "devil",
            "ranks": sum(totals.values()),
            **totals,
            "rate": 48.1,
            "cpu": 2.5,
            "changes": 0,
            "source": "perf",
            "quality": "A",
            "simulated": False,
            "containers": containers,
        }
        self.put(f"reports/{job}/{host}.json", json.dumps(document | more))

    def advise(self, *options):
        self.put("squeue.out", "".join(f"{line}\n" for line in self.jobs.values()))
        self.put("sinfo.out", "".join(f"{line}\n" for line in self.nodes))
        return subprocess.run(
            [
                TOOL,
                "contention",
                "advise",
                f"--conf={self.top}/nodeos.conf",
                f"--dir={self.top}/reports",
                *options,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PATH": f"{self.top}/bin:{os.environ['PATH']}", "TOP": self.top},
        )


def two_devils(top):
    s = Site(top)
    s.node("n1", 8, 8)
    s.node("n2", 8, 4)
    s.node("n3", 8, 0, "idle")
    s.node("n4", 8, 0, "drain")
    s.report(41, "n1", {"name": "sim", "devils": 4, "cpus": 4, "traffic": 12.5})
    s.report(42, "n1", {"name": "vda", "devils": 2, "turtles": 2, "cpus": 4})
    s.report(43, "n2", {"turtles": 4, "cpus": 4})
    return s


def test_site(top):
    s = two_devils(top)
    r = s.advise()
    same(
        (r.returncode, r.stderr, r.stdout.splitlines()),
        (
            0,
            "",
            [
                "1. move container sim of job 41 (4 CPUs, 4 of 4 ranks are devils, 12.5 bytes of"
                " traffic for 10,000 instructions) from n1 to n3",
                "   gain 4.00: devils +4.00",
                "   why: n1 has 2 devils; n3 is idle",
                # two devils cost 4, four powered nodes 1 each
                "cost 8.00, afterwards 4.00",
            ],
        ),
        "advice moves one of two devils to the idle node, with gain and reason",
    )
    s.put("extra.n1", '{"rack":"it\'s 7","nodeos_devils":6}\n')
    r = s.advise("--print=extra")
    lines = [shlex.split(line) for line in r.stdout.splitlines()]
    same(
        lines,
        [
            ["scontrol", "update", f"nodename={node}", f"extra={extra}"]
            for node, extra in (
                (
                    "n1",
                    '{"rack":"it\'s 7","nodeos_devils":6,"nodeos_devils_leave":1,'
                    '"nodeos_devils_come":0}',
                ),
                ("n3", '{"nodeos_devils_leave":0,"nodeos_devils_come":1}'),
            )
        ],
        "--print=extra keeps other members, quoted for a shell",
    )
    s.put("extra.n1", "rack 7\n")
    r = s.advise("--print=extra")
    ok(
        r.returncode == 1 and "n1: its Extra is no JSON" in r.stderr,
        "Extra that is no JSON is refused",
        r.stderr,
    )
    r = s.advise("--print=requeue")
    same(
        r.stdout,
        "scontrol requeuehold 41 && scontrol update jobid=41 excnodelist=n1 &&"
        " scontrol release 41\n",
        "--print=requeue prints the command that requeues job 41 away from n1",
    )
    r = s.advise("--weights=0,1,2")
    same(
        r.stdout.splitlines()[0][:13],
        "nothing to do",
        "no devil moves if pairs of devils have weight 0",
    )


def test_wrong(top):
    s = two_devils(top)
    for words in (
        ["--print=x"],
        ["--weights=1,2"],
        ["--weights=1,2,3,4"],
        ["--weights=1,2,9999999"],
        ["x"],
        ["--json", "--print=extra"],
    ):
        r = s.advise(*words)
        ok(r.returncode == 2 and r.stderr, f"{' '.join(words)} is refused as wrong usage", r.stderr)


def test_hostile(top):
    s = two_devils(top)
    s.report(41, "n2", {"name": "\x1b[2J\nx", "semi_devils": 1, "cpus": 4})
    s.report(44, "nowhere", {"devils": 1, "cpus": 1})
    s.report(45, "n3", {"devils": 1, "cpus": 9})
    s.report(46, "n3", {"devils": 1, "cpus": 1}, time=s.now - 700)
    s.report(47, "n3", {"devils": 1, "cpus": 1}, ended=True)
    s.report(48, "n3", *[{"devils": 1, "cpus": 1}] * 17)
    s.report(49, "n3", {"devils": 1, "cpus": -1})
    s.report(50, "n3", containers=[7])
    s.report(51, "n3", {"devils": 1, "cpus": 1, "traffic": 1e12})
    s.report(52, "n3", {"devils": 1, "cpus": 1})
    del s.jobs[52]  # the job has ended, or is of another cluster
    s.put("reports/41/\x1b[7m.json", "{")
    os.symlink("/etc/passwd", f"{s.top}/reports/41/n9.json")
    os.mkfifo(f"{s.top}/reports/41/n8.json")
    s.put("reports/41/n7.json", "{" * 5000)
    s.put("reports/41/n6.json", "{}", 0o666)
    r = s.advise()
    ok(
        r.returncode == 0 and " to n3\n" in r.stdout,
        "advice is given on the readable reports",
        r.stdout,
        r.stderr,
    )
    left = [line for line in r.stderr.splitlines() if "left out" in line]
    for file in ("44/nowhere", "job 45 on n3", "46/n3", "48/n3", "49/n3", "50/n3", "51/n3"):
        ok(sum(file in line for line in left) == 1, f"{file} is left out and named", r.stderr)
    for file in "n9", "n8", "n7", "n6":
        ok(sum(f"41/{file}" in line for line in left) == 1, f"41/{file} is left out", r.stderr)
    ok("\x1b" not in r.stderr + r.stdout, "no control character of a name is printed")
    for i in range(100, 200):
        s.report(i, "n3", {"devils": 1, "cpus": -1})
    r = s.advise()
    ok(
        "are left out" in r.stderr.splitlines()[-1],
        "the last message gives the number of messages after the 50th",
    )
    ok(len(r.stderr.splitlines()) < 60, "messages after the 50th are not printed")


def random_reports(top, rng):
    """Make a random site and reports on it. Return the oracle's site (None if reports cannot
    express it), the Site with the reports, and the index of each container by its name."""
    site, s, index = oracle.random_site(rng, 16, 40), Site(top), {}
    # each container has a partition: reports cannot express a container without one
    site = oracle.Site(site.weights, site.nodes, [(*c[:5], c[5] or 3) for c in site.containers])
    jobs = {}
    for i, (klass, node, cpus, job, traffic, groups) in enumerate(site.containers):
        # a job has one partition
        job = 1000 * groups + job
        counts = {CLASSES[klass]: cpus}
        container = {"name": f"c{i}", "cpus": cpus, **counts}
        container["traffic"] = None if traffic == oracle.UNKNOWN_TRAFFIC else traffic / 1000
        jobs.setdefault((job, node, groups), []).append(container)
        index[f"c{i}"] = i
    site = oracle.Site(
        site.weights,
        site.nodes,
        [(*c[:3], 1000 * c[5] + c[3], *c[4:]) for c in site.containers],
    )
    fits = all(len(v) <= 16 for v in jobs.values())
    for i, (cpus, taken, powered, is_open, groups) in enumerate(site.nodes):
        state = "idle" if i not in site.where and not taken else "mix"
        state = state + ("" if powered else "~") if is_open else "drain"
        for bit in (1, 2):
            if groups & bit:
                s.node(f"n{i}", cpus, site.used(site.where, i), state, f"p{bit}")
    for (job, node, groups), containers in jobs.items():
        s.report(job, f"n{node}", *containers, partition=f"p{groups}" if groups < 3 else "")
    return site if fits else None, s, index


def test_random(top):
    try:
        sys.path.insert(0, os.path.join(SOURCE, "test/guest"))
        import schema
    except ImportError as e:
        skip("the schema of advice", str(e))
        return
    check = schema.Checker(os.path.join(SOURCE, "doc/nodeos-advice.schema.json"))
    rng, wrong, proposals = random.Random(40), [], 0
    for number in range(SITES):
        site, s, index = random_reports(top, rng)
        if not site:
            continue
        # sinfo has no state for a drained node that is powered down
        nodes = [(c, t, p or not o, o, g) for c, t, p, o, g in site.nodes]
        site = oracle.Site(site.weights, nodes, site.containers)
        r = s.advise("--json", "--weights={},{},{}".format(*site.weights))
        if r.returncode or r.stderr:
            wrong.append(f"site {number}: {r.stderr}")
            continue
        advice = json.loads(r.stdout)
        words = [int(advice["exact"]), advice["before"], advice["after"]]
        for p in advice["proposals"]:
            words += [p["kind"], index[p["devil"]["container"]], p["from"][1:], p["to"][1:]]
            words += [p[k] for k in ("gain", "gain_devils", "gain_power", "gain_parting")]
            words += [*(index[t["container"]] for t in p["turtles"]), ";"]
        proposals += len(advice["proposals"])
        why = oracle.faults(site, " ".join(map(str, words)))
        problems = check.problems(advice)
        if why or problems:
            wrong.append(f"site {number}: {why} {problems}")
    ok(
        not wrong,
        f"{SITES} random sites read from reports: each proposal follows the oracle's rule",
        *wrong[:3],
    )
    ok(proposals > SITES, f"the random sites get {proposals} proposals, more than one each")


def main():
    if not os.access(TOOL, os.X_OK):
        skip("advice by reports", "no nodeosctl in the build tree")
        return done()
    with tempfile.TemporaryDirectory() as top:
        test_site(top)
        test_wrong(top)
        test_hostile(top)
        test_random(top)
    return done()


sys.exit(main())
