#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: accounting=yes
# run: deep limit=2400
# run: deep accounting=no limit=600 daemons
# rooms: collect contend
"""Test the records of contention that nodeosctl contention collect makes in slurmctld and, with
slurmdbd and MariaDB, in the database. In the groups "daemons", "again" and "advise", nodeos-contend
of both nodes writes the reports, with counts from a trace; in the other groups, report() writes
them as the daemon's user. Run as root on n0: collect.py [GROUP...]"""

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
UNIT = "nodeos-contend"
TRACE = "/etc/nodeos/trace"
INTERVAL = 10  # seconds of contention_report_interval
OFTEN = 5  # seconds between two runs of the timer here
TURN = 30  # samples after which a rank on n0 is a devil


def has_database():
    return "slurmdbd" in run("scontrol show config", user="root").out


def setup():
    """Make the directory of reports, set the keys of nodeos.conf, and install wrappers of scontrol
    and sacctmgr that log each change."""
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
    """Replace the report of HOST on JOB, as the daemon does."""
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
    ok(os.waitpid(child, 0)[1] == 0, f"the test can write a report of job {job}")


def turtle(job, host="n0", **changes):
    report(job, host, **{"class": "turtle", "turtles": 1, "devils": 0, "rate": 0.2} | changes)


def collect(*options, code=0):
    r = run(
        f"PATH={WRAPPERS}:$PATH {AS_SLURM} nodeosctl contention collect --json {' '.join(options)}",
        user="root",
    )
    same(r.code, code, f"contention collect exits with {code}")
    if r.err:
        print("".join(f"# {line}\n" for line in r.err.splitlines()), end="", flush=True)
    return json.loads(r.out) if r.out.startswith("{") else {}


def changes():
    """Return the changes that collect has requested from Slurm since the last call of this
    function."""
    with open(LOG, encoding="utf-8") as f:
        lines = f.read().splitlines()
    with open(LOG, "w", encoding="utf-8"):
        pass
    return lines


def twice(what):
    """Check that another run of collect changes nothing in Slurm."""
    changes()
    collect()
    same(changes(), [], f"{what}: another run of collect changes nothing in Slurm")


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
    ok(False, f"job {job} becomes {' or '.join(states)}", state)
    return state


def admin_comment(job):
    text = run(f"scontrol show job {job}", user="root").out
    found = re.search(r"AdminComment=(.*)", text)
    return found[1].strip() if found else ""


def accounted(job, more=""):
    """Return [job, SystemComment] for each job or task of JOB, as sacct prints them."""
    out = run(f"sacct -X -n -P {more} -j {job} -o jobid,systemcomment", user="root").out
    return [line.split("|", 1) for line in out.splitlines()]


def end(*jobs):
    """Cancel jobs, and wait until slurmctld and the database have recorded their ends."""
    run(f"scancel {' '.join(jobs)}", user="root")
    limit = time.time() + 120
    while time.time() < limit:
        if not has_database():
            left = run(f"squeue -h -j {','.join(jobs)} -t PD,R,S,CG", user="root").out
            if not left:
                return
            time.sleep(0.5)
            continue
        states = run(f"sacct -X -n -P -j {','.join(jobs)} -o state", user="root").out.split()
        left = run(f"squeue -h -j {','.join(jobs)} -t PD,R,S,CG", user="root").out
        if states and not {"RUNNING", "PENDING"} & set(states) and not left:
            return
        time.sleep(1)
    ok(False, "the database has recorded the ends of the jobs", states)


def group_running():
    """Test that the AdminComment of a running job follows the reports on the job, and that a
    comment of the site stays."""
    job, other, plain = submit(), submit(), submit()
    for j in (job, other, plain):
        wait_state(j, "RUNNING")
    run(f"scontrol update jobid={other} admincomment='of the site'", user="root")
    turtle(job)
    report(other)
    r = run(f"PATH={WRAPPERS}:$PATH {AS_SLURM} nodeosctl contention collect -n", user="root")
    ok(r.code == 0 and "class=turtle" in r.out, "collect --dry-run prints the record", r.text)
    same((changes(), admin_comment(job)), ([], ""), "collect --dry-run changes nothing")
    collect()
    text = (
        "nodeos1 class=turtle ranks=1 turtles=1 rate=0.2 quality=a source=perf hosts=1"
        " simulated=yes"
    )
    same(admin_comment(job), text, "scontrol shows the record of a running job")
    same(admin_comment(other), "of the site", "an AdminComment of the site is kept")
    same(admin_comment(plain), "", "a job without a report gets no comment")
    twice("running")
    report(job, changes=1)
    collect()
    same(
        admin_comment(job),
        "nodeos1 class=devil ranks=1 devils=1 rate=311.5 quality=a source=perf hosts=1 changes=1"
        " simulated=yes",
        "the record in AdminComment changes with the class",
    )
    report(job, "n1", changes=1)
    collect()
    ok(
        "ranks=2 devils=2 " in admin_comment(job),
        "the report of a second host is merged into the record",
        admin_comment(job),
    )
    run(f"scontrol suspend {job}", user="root")
    turtle(job, "n1")
    collect()
    ok(
        "turtles=1" in admin_comment(job),
        "the record of a suspended job follows its reports",
        admin_comment(job),
    )
    run(f"scontrol resume {job}", user="root")
    r = run(
        "systemctl start nodeos-collect.service; systemctl is-failed nodeos-collect.service",
        user="root",
    )
    ok(
        "inactive" in r.out,
        "nodeos-collect.service succeeds",
        r.text + run("journalctl -u nodeos-collect -n 20 --no-pager", user="root").out,
    )
    end(job, other, plain)
    all_idle("running: all nodes are idle at the end")


def group_ended():
    """Test that each ended job has one record in the database: single jobs, tasks of an array,
    components of a heterogeneous job."""
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
        "one of the two tasks of an array has the job number of the array",
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
            f"task {n} of an array has a record of its own in AdminComment",
            admin_comment(f"{array}_{n}"),
        )
        ok(
            f"rate={n + 12}.0" in admin_comment(f"{het}+{n}"),
            f"component {n} of a heterogeneous job has a record of its own in AdminComment",
            admin_comment(f"{het}+{n}"),
        )
    twice("before the end")
    end(job, other, plain, array, het)
    collect()
    same(
        accounted(job),
        [[job, ""]],
        "an ended job has no record in the database before its last report",
    )
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
        "each task of an array has a record of its own in the database",
    )
    same(
        sorted(accounted(het)),
        [[f"{het}+{n}", text % (n + 12)] for n in (0, 1)],
        "each component of a heterogeneous job has a record of its own in the database",
    )
    twice("after the end")
    collect("--keep=0")
    ok(not os.path.exists(f"{DIR}/{job}"), "directories of finished jobs are removed")
    same(changes(), [], "removing the directories of finished jobs changes nothing in Slurm")
    all_idle("ended: all nodes are idle at the end")


def group_requeue():
    job = submit("--requeue")
    wait_state(job, "RUNNING")
    report(job)
    collect()
    ok(
        "class=devil" in admin_comment(job),
        "the first run of a requeued job has a record",
        admin_comment(job),
    )
    run(f"scontrol requeue {job}", user="root")
    wait_state(job, "PENDING")
    report(job, ended=True)
    twice("requeued")
    # Slurm starts the job again only after the credential of the first run has expired: 2 minutes
    wait_state(job, "RUNNING", limit=300)
    changes()
    collect()
    same(changes(), [], "the last report of the first run makes no record for the second run")
    turtle(job, inode=2)
    collect()
    ok(
        "class=turtle" in admin_comment(job),
        "the second run of a requeued job has a record of its own",
        admin_comment(job),
    )
    end(job)
    turtle(job, inode=2, ended=True)
    collect()
    comments = [comment for _, comment in accounted(job, "-D")]
    ok(
        len(comments) == 2 and comments[0] == "" and "class=turtle" in comments[1],
        "the database has a record of the last run only",
        comments,
    )
    twice("requeue")
    all_idle("requeue: all nodes are idle at the end")


def group_site():
    """Test that a SystemComment of the site is kept."""
    job = submit()
    wait_state(job, "RUNNING")
    report(job)
    end(job)
    run(f"sacctmgr -i modify job where jobid={job} set systemcomment='of the site'", user="root")
    report(job, ended=True)
    collect()
    same(accounted(job), [[job, "of the site"]], "a SystemComment of the site is kept")
    with open(f"{DIR}/{job}/record.json", encoding="utf-8") as f:
        r = json.load(f)
    ok(
        r["final"] and r["where"] == "file",
        "if the site uses SystemComment, the record is in record.json",
        r,
    )
    twice("site")


def group_user():
    """Test that nothing that a job's user writes changes a record."""
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
        ok(
            run(command).code != 0,
            f"a user's change of the report directory is refused: {command.split()[0]}",
        )
    # make the directories writable, as a site may do by mistake
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
    same(admin_comment(job), before, "files of a user in the report directory change no record")
    run(
        f"mkdir -p {HOME}/own/{job}; sed s/n1/n0/ {HOME}/n1.json >{HOME}/own/{job}/n0.json;"
        f" echo contention_record = yes >{HOME}/own.conf;"
        f" echo contention_report_dir = /srv/x >>{HOME}/own.conf"
    )
    r = run(f"nodeosctl contention collect --dir={HOME}/own --conf={HOME}/own.conf")
    ok(
        r.code == 1 and "scontrol failed" in r.err,
        "Slurm refuses the changes of collect that a user runs",
        r.text,
    )
    same(admin_comment(job), before, "collect that a user runs changes no comment")
    r = run("nodeosctl contention collect", user="root")
    ok(
        r.code == 1 and "run it as slurm" in r.err,
        "collect refuses to run as root, with advice",
        r.text,
    )
    run(f"rm -rf {DIR}/8; chmod 755 {DIR}", user="root")
    end(job)
    turtle(job, ended=True)
    collect()
    all_idle("user: all nodes are idle at the end")


def extra(node):
    return run(f"sinfo -h -N -n {node} -O Extra:1000", user="root").out.split("\n")[0].strip()


def wait_minute():
    """Wait for a minute, in which collect does not change a node's Extra again."""
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
        "the number of devils is merged into the site's JSON in Extra",
    )
    same(extra("n1"), "rack 7", "an Extra that is not JSON is kept")
    twice("extra")
    # with extra_constraints, Slurm accepts only JSON in Extra
    run("scontrol update nodename=n1 extra=", user="root")
    cluster.both("sed -i 's/^SchedulerParameters=.*/&,extra_constraints/' /etc/slurm/slurm.conf")
    run("scontrol reconfigure; sleep 5", user="root")
    turtle(job[1], "n1")
    collect()
    same(
        extra("n1"),
        '{"nodeos_devils":0,"nodeos_semi_devils":0}',
        "an empty Extra of a node without devils gets the number 0",
    )
    for constraint, node in (
        ("nodeos_devils<1", "n1"),
        ("nodeos_devils>0", "n0"),
        ("rack=7", "n0"),
    ):
        r = run(f"srun --mpi=none -n1 --extra='{constraint}' printenv SLURMD_NODENAME", timeout=120)
        same(r.out.strip(), node, f"srun --extra='{constraint}' runs on {node}")
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
        "after the jobs, the Extra of both nodes has 0 devils",
    )
    twice("extra, ended")
    run("sed -i '/^contention_node_extra/d' /etc/nodeos/nodeos.conf", user="root")
    collect()
    same(
        (extra("n0"), extra("n1")),
        ('{"rack":7}', "(null)"),
        "without contention_node_extra, collect leaves only the site's own Extra",
    )
    all_idle("extra: all nodes are idle at the end")


def trace(turn):
    """Return a trace of ranks that execute 2e9 instructions a second. They have 0.2 misses for
    10,000 instructions up to sample TURN, and 300 afterwards."""
    lines = []
    for rank in range(8):
        misses = 0
        for n in range(1, 401):
            misses += 40_000 if n <= turn else 60_000_000
            lines.append(f"{rank} {n * 2_000_000_000} {misses} - {n * 10**9} {n * 10**9}")
    return "\n".join(lines) + "\n"


def start_daemons():
    """Start the daemons of both nodes with traces: each rank on n0 becomes a devil, and each on n1
    stays a turtle."""
    for node, turn in (("n0", TURN), ("n1", 400)):
        name = f"/shared/trace.{node}"
        with open(name, "w", encoding="utf-8") as f:
            f.write(trace(turn))
        lines = [f"contention_source = replay:{TRACE}", f"contention_report_interval = {INTERVAL}"]
        if node != "n0":
            lines += [f"contention_report_dir = {DIR}", "contention_report_user = slurm"]
        more = "\n".join(lines)
        r = run(
            f"cp {name} {TRACE} && printf '%s\n' '{more}' >>/etc/nodeos/nodeos.conf &&"
            f" systemctl restart {UNIT}",
            user="root",
            node=node,
        )
        ok(r.code == 0, f"nodeos-contend starts on {node}", r.text)


def stop_daemons():
    for node, keys in (("n0", "(source|report_interval)"), ("n1", "")):
        run(
            f"systemctl stop {UNIT}; sed -i -E '/^contention_{keys}/d' /etc/nodeos/nodeos.conf",
            user="root",
            node=node,
        )


def start_timer():
    """Start the timer of the package, with a shorter interval."""
    folder = "/run/systemd/system/nodeos-collect.timer.d"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/often.conf", "w", encoding="utf-8") as f:
        f.write(
            "[Timer]\n# an empty one removes all\nOnActiveSec=\nOnActiveSec=1s\n"
            f"OnUnitInactiveSec={OFTEN}s\nAccuracySec=1s\n"
        )
    r = run("systemctl daemon-reload; systemctl start nodeos-collect.timer", user="root")
    ok(r.code == 0, "the timer of collect starts", r.text)


def stop_timer():
    """Stop the timer, and wait until no run is active."""
    run(
        "systemctl stop nodeos-collect.timer; while systemctl is-active -q nodeos-collect.service;"
        " do sleep 0.2; done",
        user="root",
    )


def wait_for(good, limit):
    """Wait until GOOD() is true. Returns the seconds that this took, or None after LIMIT
    seconds."""
    begin = time.time()
    while not good():
        if time.time() > begin + limit:
            return None
        time.sleep(0.5)
    return time.time() - begin


def own_class(job):
    """Return the class of the job's first rank in the document of n0."""
    r = run(f"nodeosctl contention -j {job} --json")
    steps = json.loads(r.out) if r.out.startswith("[") else []
    return steps[0]["ranks"][0]["class"] if steps and steps[0]["ranks"] else ""


def reported(job, host, *words):
    """Return whether the report of HOST on JOB has all of WORDS."""
    try:
        with open(f"{DIR}/{job}/{host}.json", encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return False
    return all(w in text for w in words)


def last_report(job, host, what):
    """Check that the daemon of HOST writes the last report on JOB after Slurm has removed the job's
    cgroup."""
    begin = time.time()
    cgroups = f"find /sys/fs/cgroup/system.slice -maxdepth 4 -type d -path '*job_{job}*'"
    wait_for(lambda: not run(cgroups, user="root", node=host).out.strip(), 180)
    gone = time.time() - begin
    seconds = wait_for(lambda: reported(job, host, '"ended":true'), 60)
    left = run(f"{cgroups}; journalctl -u {UNIT} -n 5 -o cat", user="root", node=host).text
    ok(seconds is not None, what, f"{gone:.0f} s until the cgroup is gone; {left}")
    cluster.note(f"{host}: cgroup gone after {gone:.0f} s, last report after {seconds} s more")


def follow(job, old, new, more=""):
    """Check that the document of JOB changes from class OLD to NEW, and that AdminComment then has
    NEW and MORE."""
    seconds = wait_for(lambda: own_class(job) == new, 60 + TURN * 2)
    ok(seconds is not None, f"a rank of job {job} changes from {old} to {new}", own_class(job))
    seconds = wait_for(lambda: f"class={new} " in admin_comment(job), 60)
    # on an emulated machine, one run of collect takes some seconds
    ok(
        seconds is not None and seconds <= 2 * INTERVAL + 5 and more in admin_comment(job),
        f"within two intervals, scontrol shows the class {new}",
        f"{seconds} s: {admin_comment(job)}",
    )
    cluster.note(f"AdminComment has {new} after {seconds} s")


def final_record(job):
    """Return the stored record of an ended job: from SystemComment, or from record.json if there is
    no database."""
    with open(f"{DIR}/{job}/record.json", encoding="utf-8") as f:
        r = json.load(f)
    ok(r["final"], f"the record of job {job} is final", r)
    if not has_database():
        return r["record"]
    return accounted(job)[0][1]


def rewrite_copies(job):
    """Try to forge reports as the user of JOB: writes to the real reports must fail, and copies
    must have no effect."""
    own = f"{HOME}/copies"
    for command in (
        f"echo x >/run/nodeos-contend/steps/{job}.0.json",
        f"echo x >{DIR}/{job}/n0.json",
    ):
        ok(run(command).code != 0, f"a user's write is refused: {command}")
    run(
        f"mkdir -p {own}/{job}; nodeosctl contention -j {job} --json | sed s/devil/turtle/g"
        f" >{own}/{job}.0.json; sed s/devil/turtle/g {DIR}/{job}/n0.json >{own}/{job}/n0.json"
    )


def group_daemons():
    """Test that the daemons' reports of two nodes become records in Slurm, by the timer and the
    unit of collect."""
    start_daemons()
    start_timer()
    observed = "srun --mpi=none --nodeos-contention=observe"
    job = submit("-N2 -n2", f"{observed} -N2 -n2 sleep 3000")
    other = submit("-w n1", f"{observed} -n1 sleep 3000")
    plain = submit("-w n1", "srun --mpi=none -n1 sleep 3000")
    follow(job, "unknown", "turtle")
    follow(job, "turtle", "devil", " ranks=2 devils=1 turtles=1 ")
    stop_timer()
    for host, name in (("n0", "devil"), ("n1", "turtle")):
        ok(
            wait_for(lambda h=host, c=name: reported(job, h, f'"class":"{c}"'), 60) is not None,
            f"{host} reports its rank as a {name}",
        )
    # stop the daemons, so that the reports do not change
    cluster.both(f"systemctl kill -s STOP {UNIT}")
    collect()
    ok(
        "class=devil ranks=2 devils=1 turtles=1 " in admin_comment(job)
        and " hosts=2 " in admin_comment(job) + " ",
        "the record of a job has the ranks of both nodes",
        admin_comment(job),
    )
    ok(
        "class=turtle ranks=1 turtles=1 " in admin_comment(other),
        "a second job has a record of its own",
        admin_comment(other),
    )
    same(admin_comment(plain), "", "a job that is not observed gets no comment")
    before = admin_comment(job)
    rewrite_copies(job)
    twice("daemons")
    same(admin_comment(job), before, "forged copies of a user change no record")
    cluster.both(f"systemctl kill -s CONT {UNIT}")
    end(job, other, plain)
    for j, host in ((job, "n0"), (job, "n1"), (other, "n1")):
        last_report(j, host, f"{host} writes the last report of job {j}")
    collect()
    ok(
        "class=devil ranks=2 devils=1 turtles=1 " in final_record(job),
        "the final record of the first job has both ranks",
    )
    ok(
        "class=turtle ranks=1 " in final_record(other),
        "the final record of the second job has its rank",
    )
    ok(not os.path.exists(f"{DIR}/{plain}"), "a job that is not observed has no report directory")
    twice("daemons, ended")
    stop_daemons()
    all_idle("daemons: all nodes are idle at the end")


def group_again():
    """Test that the daemons' reports on a requeued job become one record, the record of the last
    run."""
    start_daemons()
    job = submit("--requeue -w n0", "srun --mpi=none --nodeos-contention=observe -n1 sleep 3000")
    ok(
        wait_for(lambda: reported(job, "n0", '"class":"devil"'), 120) is not None,
        "the first run's rank is reported as a devil",
    )
    collect()
    ok(
        "class=devil" in admin_comment(job),
        "daemons: the first run has a record",
        admin_comment(job),
    )
    run(f"scontrol requeue {job}", user="root")
    last_report(job, "n0", "the daemon writes the last report of the first run")
    collect()
    # Slurm starts the job again only after the credential of the first run has expired: 2 minutes
    wait_state(job, "RUNNING", limit=300)
    ok(
        wait_for(lambda: reported(job, "n0", '"class":"turtle"', '"ended":false'), 60) is not None,
        "the daemon begins a new report for the second run",
    )
    collect()
    ok(
        "class=turtle" in admin_comment(job),
        "daemons: the second run has a record of its own",
        admin_comment(job),
    )
    end(job)
    last_report(job, "n0", "the daemon writes the last report of the second run")
    collect()
    comments = [comment for _, comment in accounted(job, "-D")]
    ok(
        len(comments) == 2 and comments[0] == "" and "ranks=1" in comments[1],
        "daemons: the database has a record of the last run only",
        comments,
    )
    twice("again")
    stop_daemons()
    all_idle("again: all nodes are idle at the end")


def advise(*options):
    return run(f"{AS_SLURM} nodeosctl contention advise {' '.join(options)}", user="root")


def group_advise():
    """Test advise: the daemon of n0 reports two devils, advise proposes to move one to n1, and the
    printed commands do so."""
    start_daemons()
    step = "srun --mpi=none --nodeos-contention=observe -n1 sleep 3000"
    # drain n1 rather than naming n0: the requeued job must be free to run on another node
    run("scontrol update nodename=n1 state=drain reason=advise", user="root")
    jobs = [submit("--requeue", step) for _ in range(2)]
    for job in jobs:
        wait_state(job, "RUNNING")
    run("scontrol update nodename=n1 state=resume", user="root")
    for job in jobs:
        ok(
            wait_for(lambda j=job: reported(j, "n0", '"class":"devil"'), 120) is not None,
            "the rank of each of two jobs is reported as a devil",
        )
    r = advise("--json")
    found = json.loads(r.out).get("proposals", []) if r.code == 0 else []
    same(len(found), 1, "for two devils on one node and an idle node, advise makes one proposal")
    r = advise()
    ok(
        re.search(r"^1\. move .* from n0 to n1$", r.out, re.M),
        "the text advises a move from n0 to n1",
        r.text,
    )
    r = run(advise("--print=extra").out, user="root")
    ok(
        r.code == 0 and re.search(r'"nodeos_devils_leave": *1\b', extra("n0")),
        "the commands of advise --print=extra write the advice into Extra",
        (extra("n0"), r.text),
    )
    commands = advise("--print=requeue").out
    r = run(commands, user="root")
    ok(
        r.code == 0,
        "slurmctld accepts the printed commands, which requeue a job",
        (commands, r.text),
    )
    moved = [j for j in jobs if re.search(rf"\b{j}\b", commands)]
    same(len(moved), 1, "the commands that requeue name one job")
    for job in moved:
        # Slurm starts the job again only after the credential of the first run has expired: 2
        # minutes
        wait_state(job, "RUNNING", limit=300)
        same(run(f"squeue -h -o %N -j {job}").out.strip(), "n1", "the requeued job runs on n1")
        ok(
            wait_for(lambda j=job: reported(j, "n1", '"ended":false'), 90) is not None,
            "n1 reports on the requeued job",
        )
    r = advise("--json")
    ok(
        r.code == 0 and json.loads(r.out)["proposals"] == [],
        "after the move, advise makes no proposal",
        r.text,
    )
    end(*jobs)
    stop_daemons()
    run("scontrol update nodename=n0 extra=; scontrol update nodename=n1 extra=", user="root")
    # the jobs' records would become final some minutes later, during another group
    for job in jobs:
        run(f"rm -rf {DIR}/{job}", user="root")
    all_idle("advise: all nodes are idle at the end")


GROUPS = {
    "advise": group_advise,
    "daemons": group_daemons,
    "running": group_running,
    "ended": group_ended,
    "site": group_site,
    "user": group_user,
    "extra": group_extra,
    "requeue": group_requeue,
    "again": group_again,
}

if __name__ == "__main__":
    setup()
    run_groups(GROUPS, sys.argv[1:] or GROUPS)
    # restore nodeos.conf for other suites
    cluster.both("sed -i '/^contention_/d' /etc/nodeos/nodeos.conf")
    cluster.done()
