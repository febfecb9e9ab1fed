#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: accounting=yes
# run: deep limit=1800
# rooms: collect
"""Records of contention in slurmctld and in the database: nodeosctl contention collect with
slurmdbd and MariaDB. The reports come from a writer of this file, which runs as their user. Run by
test/guest/run as root on n0; collect.py [GROUP...]"""

import json
import os
import re
import sys
import time

import cluster
from cluster import HOME, all_idle, ok, run, run_groups, same

DIR = "/shared/reports"
LOG = "/run/collect.log"
WRAPPERS = "/run/collect-bin"
AS_SLURM = "setpriv --reuid=slurm --regid=slurm --clear-groups"


def setup():
    """The directory of reports, the keys, and programs that log changes before they make them."""
    os.makedirs(DIR, exist_ok=True)
    run(f"chown slurm:slurm {DIR}; touch {LOG}; chown slurm {LOG}", user="root")
    for line in (
        f"contention_report_dir = {DIR}",
        "contention_report_user = slurm",
        "contention_record = yes",
    ):
        cluster.site(line, ("n0",))
    os.makedirs(WRAPPERS, exist_ok=True)
    for name, word in (("scontrol", "update"), ("sacctmgr", "modify")):
        path = f"{WRAPPERS}/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(
                f'#!/bin/sh\ncase " $* " in *" {word} "*) echo {name} "$@" >>{LOG} ;; esac\n'
                f'exec /usr/bin/{name} "$@"\n'
            )
        os.chmod(path, 0o755)


def report(job, host="n0", **changes):
    """Replace the report of HOST as the daemon does."""
    r = {
        "nodeos_contention": 1,
        "host": host,
        "job": int(job),
        "time": time.time(),
        "ended": False,
        "class": "devil",
        "ranks": 1,
        "turtles": 0,
        "semi_devils": 0,
        "devils": 1,
        "unknown": 0,
        "rate": 311.5,
        "quality": "A",
        "source": "perf",
        "simulated": True,
        "changes": 0,
        "inode": 1,
    }
    r.update(changes)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            uid = int(run("id -u slurm", user="root").out)
            os.setgroups([])
            os.setgid(int(run("id -g slurm", user="root").out))
            os.setuid(uid)
            os.makedirs(f"{DIR}/{job}", exist_ok=True)
            with open(f"{DIR}/{job}/.{host}.json.new", "w", encoding="utf-8") as f:
                f.write(json.dumps(r) + "\n")
            os.rename(f"{DIR}/{job}/.{host}.json.new", f"{DIR}/{job}/{host}.json")
            code = 0
        finally:
            os._exit(code)
    ok(os.waitpid(child, 0)[1] == 0, f"a report of job {job} is written")


def turtle(job, host="n0", **changes):
    report(job, host, **{"class": "turtle", "turtles": 1, "devils": 0, "rate": 0.2} | changes)


def collect(*options, code=0):
    r = run(
        f"PATH={WRAPPERS}:$PATH {AS_SLURM} nodeosctl contention collect --json {' '.join(options)}",
        user="root",
    )
    same(r.code, code, f"collect exits with {code}")
    if r.err:
        print("".join(f"# {line}\n" for line in r.err.splitlines()), end="", flush=True)
    return json.loads(r.out) if r.out.startswith("{") else {}


def changes():
    """What collect has asked Slurm to change since the last call."""
    with open(LOG, encoding="utf-8") as f:
        lines = f.read().splitlines()
    with open(LOG, "w", encoding="utf-8"):
        pass
    return lines


def twice(what):
    """A further run changes nothing in Slurm."""
    changes()
    collect()
    same(changes(), [], f"{what}: a further run changes nothing")


def submit(arguments="", command="sleep 3000"):
    return run(
        f"sbatch --parsable -n1 -o /dev/null {arguments} --wrap '{command}'", cwd=HOME
    ).out.strip()


def wait_state(job, *states, limit=240):
    end = time.time() + limit
    state = ""
    while time.time() < end:
        state = run(f"squeue -h -t all -j {job} -o %T", user="root").out.strip()
        if state.split("\n")[0] in states:
            return state
        time.sleep(0.5)
    ok(False, f"job {job} is {' or '.join(states)}", state)
    return state


def admin_comment(job):
    text = run(f"scontrol show job {job}", user="root").out
    found = re.search(r"AdminComment=(.*)", text)
    return found[1].strip() if found else ""


def accounted(job, more=""):
    """SystemComment by job, of sacct."""
    out = run(f"sacct -X -n -P {more} -j {job} -o jobid,systemcomment", user="root").out
    return [line.split("|", 1) for line in out.splitlines()]


def end(*jobs):
    """End jobs, and wait until slurmctld and the database have that."""
    run(f"scancel {' '.join(jobs)}", user="root")
    limit = time.time() + 120
    while time.time() < limit:
        states = run(f"sacct -X -n -P -j {','.join(jobs)} -o state", user="root").out.split()
        left = run(f"squeue -h -j {','.join(jobs)} -t PD,R,S,CG", user="root").out
        if states and not {"RUNNING", "PENDING"} & set(states) and not left:
            return
        time.sleep(1)
    ok(False, "the database has the ends of jobs", states)


def group_running():
    """AdminComment of a running job follows its reports; the site's stays."""
    job, other, plain = submit(), submit(), submit()
    for j in (job, other, plain):
        wait_state(j, "RUNNING")
    run(f"scontrol update jobid={other} admincomment='of the site'", user="root")
    turtle(job)
    report(other)
    r = run(f"PATH={WRAPPERS}:$PATH {AS_SLURM} nodeosctl contention collect -n", user="root")
    ok(r.code == 0 and "class=turtle" in r.out, "a dry run prints the record", r.text)
    same((changes(), admin_comment(job)), ([], ""), "a dry run changes nothing")
    collect()
    text = (
        "nodeos1 class=turtle ranks=1 turtles=1 rate=0.2 quality=a source=perf hosts=1"
        " simulated=yes"
    )
    same(admin_comment(job), text, "scontrol shows the record of a running job")
    same(admin_comment(other), "of the site", "the site's comment stays")
    same(admin_comment(plain), "", "a job without report has no comment")
    twice("running")
    report(job, changes=1)
    collect()
    same(
        admin_comment(job),
        "nodeos1 class=devil ranks=1 devils=1 rate=311.5 quality=a source=perf hosts=1 changes=1"
        " simulated=yes",
        "the record changes with the class",
    )
    report(job, "n1", changes=1)
    collect()
    ok("ranks=2 devils=2 " in admin_comment(job), "a second host is merged", admin_comment(job))
    run(f"scontrol suspend {job}", user="root")
    turtle(job, "n1")
    collect()
    ok("turtles=1" in admin_comment(job), "a suspended job has its record", admin_comment(job))
    run(f"scontrol resume {job}", user="root")
    r = run(
        "systemctl start nodeos-collect.service; systemctl is-failed nodeos-collect.service",
        user="root",
    )
    ok(
        "inactive" in r.out,
        "the unit runs",
        r.text + run("journalctl -u nodeos-collect -n 20 --no-pager", user="root").out,
    )
    end(job, other, plain)
    all_idle("running: all nodes are idle at the end")


def group_ended():
    """One record a job in the database: a plain one, tasks of an array, a heterogeneous job."""
    job, other, plain = submit(), submit(), submit()
    array, het = submit("--array=0-1"), submit(": -n1")
    wait_state(array, "RUNNING")
    time.sleep(5)
    raw = dict(
        reversed(line.split()) for line in run("squeue -h -o '%A %i'", user="root").out.splitlines()
    )
    same(
        sorted(raw[f"{array}_{n}"] == array for n in (0, 1)),
        [False, True],
        "an array's last task has the array's number",
    )
    task = [raw[f"{array}_{n}"] for n in (0, 1)]
    component = [raw[f"{het}+{n}"] for n in (0, 1)]
    turtle(job)
    report(other)
    for n, j in enumerate(task + component):
        turtle(j, rate=n + 10)
    collect()
    for n in (0, 1):
        ok(
            f"rate={n + 10}.0" in admin_comment(f"{array}_{n}"),
            f"task {n} has its own record",
            admin_comment(f"{array}_{n}"),
        )
        ok(
            f"rate={n + 12}.0" in admin_comment(f"{het}+{n}"),
            f"component {n} has its own record",
            admin_comment(f"{het}+{n}"),
        )
    twice("before the end")
    end(job, other, plain, array, het)
    collect()
    same(accounted(job), [[job, ""]], "the record waits for the last report")
    turtle(job, ended=True)
    report(other, ended=True)
    for n, j in enumerate(task + component):
        turtle(j, rate=n + 10, ended=True)
    collect()
    one = "quality=a source=perf hosts=1 simulated=yes"
    same(
        accounted(job),
        [[job, f"nodeos1 class=turtle ranks=1 turtles=1 rate=0.2 {one}"]],
        "sacct shows the record of an ended job",
    )
    same(
        accounted(other),
        [[other, f"nodeos1 class=devil ranks=1 devils=1 rate=311.5 {one}"]],
        "sacct shows the record of another ended job",
    )
    same(accounted(plain), [[plain, ""]], "a job without a report has no record")
    text = f"nodeos1 class=turtle ranks=1 turtles=1 rate=%d.0 {one}"
    same(
        sorted(accounted(array)),
        [[f"{array}_{n}", text % (n + 10)] for n in (0, 1)],
        "each task of an array has its own",
    )
    same(
        sorted(accounted(het)),
        [[f"{het}+{n}", text % (n + 12)] for n in (0, 1)],
        "each component of a heterogeneous job has its own",
    )
    twice("after the end")
    collect("--keep=0")
    ok(not os.path.exists(f"{DIR}/{job}"), "directories of finished jobs are removed")
    same(changes(), [], "removing changes nothing in Slurm")
    all_idle("ended: all nodes are idle at the end")


def group_requeue():
    job = submit("--requeue")
    wait_state(job, "RUNNING")
    report(job)
    collect()
    ok("class=devil" in admin_comment(job), "the first run has a record", admin_comment(job))
    run(f"scontrol requeue {job}", user="root")
    wait_state(job, "PENDING")
    report(job, ended=True)
    twice("requeued")
    # the credential of the first run must end first: two minutes
    wait_state(job, "RUNNING", limit=300)
    changes()
    collect()
    same(changes(), [], "the report of the first run does not count for the second one")
    turtle(job, inode=2)
    collect()
    ok(
        "class=turtle" in admin_comment(job),
        "the second run has a record of its own",
        admin_comment(job),
    )
    end(job)
    turtle(job, inode=2, ended=True)
    collect()
    comments = [comment for _, comment in accounted(job, "-D")]
    ok(
        len(comments) == 2 and comments[0] == "" and "class=turtle" in comments[1],
        "one record in the database, of the last run",
        comments,
    )
    twice("requeue")
    all_idle("requeue: all nodes are idle at the end")


def group_site():
    """A SystemComment of the site stays."""
    job = submit()
    wait_state(job, "RUNNING")
    report(job)
    end(job)
    run(f"sacctmgr -i modify job where jobid={job} set systemcomment='of the site'", user="root")
    report(job, ended=True)
    collect()
    same(accounted(job), [[job, "of the site"]], "the site's SystemComment stays")
    with open(f"{DIR}/{job}/record.json", encoding="utf-8") as f:
        r = json.load(f)
    ok(
        r["final"] and r["where"] == "file",
        "the record is in record.json beside a site's comment",
        r,
    )
    twice("site")


def group_user():
    """What a job's user writes changes nothing."""
    job = submit()
    wait_state(job, "RUNNING")
    turtle(job)
    collect()
    before = admin_comment(job)
    forged = json.dumps({"nodeos_contention": 1, "host": "n1", "job": int(job)})
    for command in (
        f"echo '{forged}' >{DIR}/{job}/n1.json",
        f"echo x >{DIR}/{job}/n0.json",
        f"mv {DIR}/{job} {DIR}/old",
        f"mkdir {DIR}/7",
        f"rm -f {DIR}/{job}/record.json",
    ):
        ok(run(command).code != 0, f"a user cannot: {command.split()[0]}")
    # where a site has opened the directories by mistake
    run(f"chmod 1777 {DIR} {DIR}/{job}", user="root")
    with open(f"{DIR}/{job}/n0.json", encoding="utf-8") as f:
        own = json.load(f)
    for host, text in (("n1", json.dumps(own | {"host": "n1", "class": "devil"})), ("n2", "x")):
        with open(f"{HOME}/{host}.json", "w", encoding="utf-8") as f:
            f.write(text)
    run(
        f"cp {HOME}/n1.json {DIR}/{job}/n1.json; ln -s {HOME}/n1.json {DIR}/{job}/n3.json;"
        f" mkfifo {DIR}/{job}/n4.json; mkdir -p {DIR}/8; cp {HOME}/n1.json {DIR}/8/n1.json"
    )
    twice("user")
    same(admin_comment(job), before, "files of a user change no record")
    run(
        f"mkdir -p {HOME}/own/{job}; sed s/n1/n0/ {HOME}/n1.json >{HOME}/own/{job}/n0.json;"
        f" echo contention_record = yes >{HOME}/own.conf;"
        f" echo contention_report_dir = /srv/x >>{HOME}/own.conf"
    )
    r = run(f"nodeosctl contention collect --dir={HOME}/own --conf={HOME}/own.conf")
    ok(r.code == 1 and "scontrol failed" in r.err, "a user's own run is refused by Slurm", r.text)
    same(admin_comment(job), before, "the run of a user changes no comment")
    r = run("nodeosctl contention collect", user="root")
    ok(r.code == 1 and "run it as slurm" in r.err, "root's run is refused, with advice", r.text)
    run(f"rm -rf {DIR}/8; chmod 755 {DIR}", user="root")
    end(job)
    turtle(job, ended=True)
    collect()
    all_idle("user: all nodes are idle at the end")


def extra(node):
    return run(f"sinfo -h -N -n {node} -O Extra:1000", user="root").out.split("\n")[0].strip()


def wait_minute():
    """Wait until nodes may be changed again."""
    time.sleep(62)


def group_extra():
    cluster.site("contention_node_extra = yes", ("n0",))
    run("scontrol update nodename=n0 extra='{\"rack\":7}'", user="root")
    run("scontrol update nodename=n1 extra='rack 7'", user="root")
    job = submit("-w n0"), submit("-w n1")
    for j in job:
        wait_state(j, "RUNNING")
    report(job[0])
    report(job[1], "n1")
    collect()
    same(
        extra("n0"),
        '{"rack":7,"nodeos_devils":1,"nodeos_semi_devils":0}',
        "the ranks are merged into the site's Extra",
    )
    same(extra("n1"), "rack 7", "Extra that is no JSON stays")
    twice("extra")
    # with this parameter Slurm takes no other text any more
    run("scontrol update nodename=n1 extra=", user="root")
    cluster.both("sed -i 's/^SchedulerParameters=.*/&,extra_constraints/' /etc/slurm/slurm.conf")
    run("scontrol reconfigure; sleep 5", user="root")
    turtle(job[1], "n1")
    collect()
    same(extra("n1"), '{"nodeos_devils":0,"nodeos_semi_devils":0}', "a node without devils")
    for constraint, node in (
        ("nodeos_devils<1", "n1"),
        ("nodeos_devils>0", "n0"),
        ("rack=7", "n0"),
    ):
        r = run(f"srun --mpi=none -n1 --extra='{constraint}' printenv SLURMD_NODENAME", timeout=120)
        same(r.out.strip(), node, f"srun --extra='{constraint}' takes {node}")
    run(f"scancel {' '.join(job)}", user="root")
    wait_state(job[0], "CANCELLED")
    report(job[0], ended=True)
    turtle(job[1], "n1", ended=True)
    wait_minute()
    collect()
    none = '"nodeos_devils":0,"nodeos_semi_devils":0}'
    same(
        (extra("n0"), extra("n1")),
        ('{"rack":7,' + none, "{" + none),
        "without jobs a node has no devils",
    )
    twice("extra, ended")
    run("sed -i '/^contention_node_extra/d' /etc/nodeos/nodeos.conf", user="root")
    collect()
    same(
        (extra("n0"), extra("n1")),
        ('{"rack":7}', "(null)"),
        "without contention_node_extra a node has the site's own Extra",
    )
    all_idle("extra: all nodes are idle at the end")


GROUPS = {
    "running": group_running,
    "ended": group_ended,
    "site": group_site,
    "user": group_user,
    "extra": group_extra,
    "requeue": group_requeue,
}

if __name__ == "__main__":
    setup()
    run_groups(GROUPS, sys.argv[1:] or GROUPS)
    cluster.done()
