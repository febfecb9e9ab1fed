#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run nodeosctl contention collect on a directory with hostile files, with stand-ins for Slurm's
programs, which log their commands. test/guest/collect.py tests in the virtual cluster what Slurm
itself does with these commands. Prints TAP. NODEOS_BUILD: the build tree."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("NODEOS_BUILD", "build/san")
TOOL = os.path.join(os.path.abspath(BUILD), "nodeosctl")
OTHER = 65534

STANDIN = """#!/usr/bin/env python3
import os, sys
top, name, args = os.environ["STANDIN"], os.path.basename(sys.argv[0]), sys.argv[1:]
def text(file):
    try:
        return open(os.path.join(top, file)).read()
    except FileNotFoundError:
        return ""
def put(file, value):
    open(os.path.join(top, file), "w").write(value)
def after(word):
    return [a[len(word):] for a in args if a.startswith(word)]
if os.path.exists(os.path.join(top, name + ".fails")) or "SQUEUE_PARTITION" in os.environ:
    print(name + ": error: no access", file=sys.stderr)
    sys.exit(1)
if name == "squeue" and "--jobs" in args:
    job = args[args.index("--jobs") + 1]
    print(f"{job:12}{text('admin.' + job):1023}" if "admin_comment" in args[-1] else job)
elif name == "squeue":
    print(text("jobs"), end="")
elif name == "sacct":
    print(text("account." + args[args.index("--jobs") + 1]), end="")
elif name == "sinfo":
    node = args[args.index("--nodes") + 1]
    if node not in text("gone").split():
        print(f"{text('extra.' + node):8192}")
elif name == "scontrol" and args[0] == "show":
    print("Configuration data as of now\\nAccountingStorageHost  = n0\\n" + text("config"))
else:
    with open(os.path.join(top, "log"), "a") as f:
        f.write(" ".join([name] + args) + "\\n")
    if name == "scontrol" and after("jobid="):
        put("admin." + after("jobid=")[0].split("_")[0], after("admincomment=")[0])
    elif name == "scontrol":
        put("extra." + after("nodename=")[0], after("extra=")[0])
    else:
        job = after("jobid=")[0]
        put("account." + job, text("account." + job).rstrip("\\n") + after("SystemComment=")[0])
"""

count = failed = 0


def ok(good, what, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    if not good and detail:
        for line in str(detail).splitlines()[-20:]:
            print("#   " + line)
    return good


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}\nwant: {want}")


class Site:
    """A report directory and stand-ins for one test."""

    def __init__(self, top, keys=("contention_record = yes",)):
        self.top = tempfile.mkdtemp(dir=top)
        self.dir = f"{self.top}/reports"
        self.bin = f"{self.top}/bin"
        os.mkdir(self.dir, 0o755)
        os.mkdir(self.bin)
        for name in ("squeue", "scontrol", "sacct", "sacctmgr", "sinfo"):
            self.put(f"bin/{name}", STANDIN)
            os.chmod(f"{self.bin}/{name}", 0o755)
        self.put("config", "AccountingStorageType  = accounting_storage/slurmdbd\n")
        # the key needs an absolute path below directories that only root can write
        self.put("nodeos.conf", "contention_report_dir = /var/lib/reports\n" + "\n".join(keys))
        os.chmod(f"{self.top}/nodeos.conf", 0o644)
        self.now = int(time.time())

    def put(self, name, text):
        with open(f"{self.top}/{name}", "w", encoding="utf-8") as f:
            f.write(text)

    def get(self, name):
        try:
            with open(f"{self.top}/{name}", encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def jobs(self, *lines):
        self.put("jobs", "".join(line + "\n" for line in lines))

    def report(self, directory, name, **changes):
        os.makedirs(f"{self.dir}/{directory}", mode=0o755, exist_ok=True)
        r = {
            "nodeos_contention": 1,
            "host": name,
            "job": directory,
            "time": self.now,
            "ended": False,
            "class": "devil",
            "ranks": 4,
            "turtles": 1,
            "semi_devils": 0,
            "devils": 3,
            "unknown": 0,
            "rate": 48.1,
            "quality": "A",
            "source": "perf",
            "simulated": False,
            "changes": 0,
            "inode": 7,
        }
        r.update(changes)
        self.put(f"reports/{directory}/{name}.json", json.dumps(r) + "\n")
        os.chmod(f"{self.dir}/{directory}/{name}.json", 0o644)

    def collect(self, *options, tool=("contention", "collect")):
        return subprocess.run(
            [TOOL, *tool, f"--conf={self.top}/nodeos.conf", f"--dir={self.dir}", *options],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "STANDIN": self.top}
            | {"SQUEUE_PARTITION": "other", "SQUEUE_FORMAT": "%j"},
        )

    def changes(self):
        """Return the commands that changed something since the last call."""
        out = self.get("log").splitlines()
        self.put("log", "")
        return out


ONE = "nodeos1 class=devil ranks=4 devils=3 turtles=1 rate=48.1 quality=a source=perf hosts=1"
RUNNING = "41|41|R|{start}|N/A"
ENDED = "41|41|CD|{start}|{end}"


def test_running(top):
    s = Site(top)
    s.jobs("7|7|PD|N/A|N/A", RUNNING.format(start=s.now - 60), "42|42|R|5|N/A")
    s.report(41, "n0")
    r = s.collect("--dry-run")
    same((r.returncode, s.changes()), (0, []), "a dry run changes nothing")
    ok(ONE in r.stdout and "would be" in r.stdout, "a dry run prints the record", r.stdout)
    same(sorted(os.listdir(f"{s.dir}/41")), ["n0.json"], "a dry run leaves no file")
    r = s.collect()
    same(r.returncode, 0, "collect exits with 0 after the record of a running job")
    same(
        s.changes(),
        [f"scontrol update jobid=41 admincomment={ONE}"],
        "the record of a running job goes to AdminComment",
    )
    r = s.collect()
    same((r.returncode, r.stdout, r.stderr), (0, "", ""), "a second run prints nothing")
    same(s.changes(), [], "a second run changes nothing")
    s.report(41, "n0", rate=49.5, time=s.now + 1)
    s.collect()
    same(s.changes(), [], "a rate of misses that rises by less than a tenth changes nothing")
    s.report(41, "n0", rate=60, time=s.now + 2)
    s.collect()
    same(len(s.changes()), 1, "a rate of misses that rises by a tenth or more changes the record")
    s.report(41, "n1", **{"class": "turtle", "devils": 0, "turtles": 4, "rate": 0})
    s.collect("--json")
    same(
        s.changes(),
        [
            "scontrol update jobid=41 admincomment=nodeos1 class=devil ranks=8 devils=3 turtles=5"
            " rate=30.0 quality=a source=perf hosts=2"
        ],
        "the report of a second host is merged",
    )
    r = s.collect("--json")
    j = json.loads(r.stdout)
    same(
        (j["kind"], [(x["job"], x["action"], x["where"]) for x in j["jobs"]]),
        ("collect", [(41, "unchanged", "admin_comment")]),
        "--json reports a record in AdminComment as unchanged",
    )


def test_comment(top):
    s = Site(top)
    s.jobs(RUNNING.format(start=s.now - 60))
    s.report(41, "n0")
    s.put("admin.41", "of the site")
    r = s.collect()
    same((r.returncode, s.changes()), (0, []), "the site's own AdminComment is kept")
    same(
        json.loads(s.get("reports/41/record.json"))["where"],
        "file",
        "if the site has a comment, the record is only in a file",
    )
    s.collect()
    same(s.changes(), [], "a second run keeps the site's own AdminComment")
    s = Site(top)
    s.jobs("41|30_2|R|5|N/A")
    s.report(41, "n0")
    s.put("admin.41", "nodeos1 older")
    s.collect()
    same(
        s.changes(),
        [f"scontrol update jobid=30_2 admincomment={ONE}"],
        "an array task is changed by its own number, and its older record is replaced",
    )
    s = Site(top, ())
    s.jobs(RUNNING.format(start=s.now - 60))
    s.report(41, "n0")
    s.collect()
    same(s.changes(), [], "contention_record = no changes nothing in Slurm")
    same(
        json.loads(s.get("reports/41/record.json"))["record"],
        ONE,
        "contention_record = no writes the record to its file",
    )


def test_ended(top):
    s = Site(top)
    account = f"41|41|COMPLETED|{s.now - 60}|{s.now}|"
    s.jobs(ENDED.format(start=s.now - 60, end=s.now))
    s.report(41, "n0")
    s.put("account.41", account)
    s.collect()
    same(s.changes(), [], "an ended job is not recorded before its last report")
    s.report(41, "n0", ended=True)
    s.put("account.41", f"41|41|RUNNING|{s.now - 60}|Unknown|")
    s.collect()
    same(s.changes(), [], "an ended job is not recorded before the database has it")
    s.put("account.41", account)
    s.collect()
    same(
        s.changes(),
        [f"sacctmgr --immediate modify job where jobid=41 set SystemComment={ONE}"],
        "the record of an ended job goes to SystemComment",
    )
    s.collect()
    s.jobs()
    s.collect()
    same(s.changes(), [], "a final record stays unchanged when slurmctld forgets the job")
    ok(os.path.exists(f"{s.dir}/41"), "the directory of an ended job stays")
    ok(json.loads(s.get("reports/collect.json"))["finished"], "finished jobs are remembered")
    os.rename(f"{s.dir}/41/record.json", f"{s.top}/away")
    s.collect()
    ok(
        not s.changes() and not os.path.exists(f"{s.dir}/41/record.json"),
        "the files of a remembered job are not read",
    )
    os.rename(f"{s.top}/away", f"{s.dir}/41/record.json")
    s.collect("--keep=0", "--dry-run")
    ok(os.path.exists(f"{s.dir}/41"), "a dry run removes nothing")
    s.collect("--keep=0")
    ok(not os.path.exists(f"{s.dir}/41"), "the directory of an ended job is removed after --keep")

    # the last task of an array and the first component of a heterogeneous job
    for number in ("41_7", "41+0"):
        s = Site(top)
        s.jobs(f"41|{number}|CD|{s.now - 60}|{s.now}")
        s.report(41, "n0", ended=True)
        s.put(
            "account.41",
            f"40|41_6|COMPLETED|{s.now - 60}|{s.now}|of the site\n"
            f"41|{number}|COMPLETED|{s.now - 60}|{s.now}|",
        )
        s.collect()
        same(
            s.changes(),
            [f"sacctmgr --immediate modify job where jobid={number} set SystemComment={ONE}"],
            f"the record of {number} changes this job alone, although 41 has others",
        )

    s = Site(top)
    s.jobs(ENDED.format(start=s.now - 60, end=s.now))
    s.report(41, "n0", ended=True)
    account = f"41|41|COMPLETED|{s.now - 60}|{s.now}|"
    s.put("account.41", account + "of the site")
    s.collect()
    same(s.changes(), [], "the site's own SystemComment is kept")
    same(
        json.loads(s.get("reports/41/record.json"))["final"],
        True,
        "if the site has a SystemComment, the final record is only in a file",
    )

    s = Site(top)
    s.put("config", "AccountingStorageType  = (null)\n")
    # a second job, which slurmctld no longer knows
    s.jobs(ENDED.format(start=s.now - 60, end=s.now))
    s.report(41, "n0", ended=True)
    s.report(42, "n0", ended=True)
    r = s.collect()
    ok(
        r.returncode == 0
        and r.stderr.count("AccountingStorageType") == 1
        and os.path.exists(f"{s.dir}/42/record.json")
        and not s.changes(),
        "without slurmdbd the records of two jobs are only in files, and one message says so",
        r.stderr,
    )
    s.report(43, "n0", ended=True)
    s.jobs("43|43|F|5|6", ENDED.format(start=s.now - 60, end=s.now))
    same(s.collect().stderr, "", "a second run does not repeat the message about slurmdbd")


def test_requeue(top):
    s = Site(top)
    s.jobs(RUNNING.format(start=s.now - 1000))
    s.report(41, "n0", time=s.now - 900)
    s.collect()
    s.changes()
    s.jobs("41|41|PD|N/A|N/A")
    s.collect()
    same(s.changes(), [], "a requeued job that has not started again is not changed")
    s.jobs(RUNNING.format(start=s.now - 100))
    s.collect()
    same(s.changes(), [], "reports of the earlier run do not count")
    s.report(41, "n1", inode=8, devils=0, turtles=4, **{"class": "turtle"})
    s.collect()
    same(
        s.changes(),
        [
            "scontrol update jobid=41 admincomment=nodeos1 class=turtle ranks=4 turtles=4"
            " rate=48.1 quality=a source=perf hosts=1"
        ],
        "the new run has its own record",
    )
    start = s.now - 100
    s.report(41, "n1", inode=8, ended=True, devils=0, turtles=4, **{"class": "turtle"})
    s.jobs(ENDED.format(start=start, end=s.now))
    s.put("account.41", f"41|41|COMPLETED|{start}|{s.now}|")
    s.collect()
    s.collect()
    same(len(s.changes()), 1, "the end of the requeued job is recorded")
    s.jobs(RUNNING.format(start=s.now - 5))
    s.report(41, "n1", inode=9)
    s.collect()
    same(
        s.changes(),
        [f"scontrol update jobid=41 admincomment={ONE}"],
        "a job that is requeued after its final record has a new one",
    )


def test_hostile(top):
    s = Site(top)
    job = f"{s.dir}/41"
    s.jobs(RUNNING.format(start=s.now - 60))
    s.report(41, "n0")
    s.report(41, "n1", host="n2")
    s.report(41, "n3", job=42)
    s.report(41, "n4")
    s.put("elsewhere.json", s.get("reports/41/n4.json").replace('"n4"', '"n5"'))
    os.symlink(f"{s.top}/elsewhere.json", f"{job}/n5.json")
    os.mkfifo(f"{job}/n6.json")
    os.mkdir(f"{job}/n7.json")
    s.put("reports/41/n8.json", s.get("reports/41/n4.json")[:100])
    s.put("reports/41/n9.json", " " * 10_000_000)
    s.put("reports/41/a\033\n.json", "{}")
    s.put("reports/41/notes.txt", "x")
    s.put("reports/41/.n0.json.new", "{")
    os.chmod(f"{job}/n4.json", 0o666)
    os.symlink(job, f"{s.dir}/44")
    s.put("reports/45", "x")
    os.mkdir(f"{s.dir}/0041")
    os.mkdir(f"{s.dir}/99999999999")
    left_out = ["n1", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "a??"]
    if os.geteuid() == 0:
        s.report(41, "n10")
        os.chown(f"{job}/n10.json", OTHER, OTHER)
        left_out.append("n10")
        s.report(46, "n0")
        os.chown(f"{s.dir}/46", OTHER, OTHER)
    r = s.collect()
    same(r.returncode, 0, "collect exits with 0 despite hostile files")
    same(
        s.changes(),
        [f"scontrol update jobid=41 admincomment={ONE}"],
        "only the valid report counts",
    )
    for name in left_out:
        ok(f"/41/{name}.json is left out: " in r.stderr, f"{name}.json is left out", r.stderr)
    ok("\033" not in r.stderr, "no ESC reaches the terminal")
    for name in ("44", "45"):
        ok(f"/{name} is left out: " in r.stderr, f"the entry {name} is left out", r.stderr)
    same(s.collect().stderr, "", "a second run does not repeat messages on files")
    if os.geteuid() == 0:
        ok(
            "/46 is left out: " in r.stderr,
            "a job's directory of another user is left out",
            r.stderr,
        )
        os.chown(s.dir, OTHER, OTHER)
        r = s.collect()
        ok(
            r.returncode == 1 and f"run it as {pwd.getpwuid(OTHER).pw_name}" in r.stderr,
            "a report directory of another user is refused",
            r.stderr,
        )
        os.chown(s.dir, 0, 0)
    os.chmod(s.dir, 0o777)
    r = s.collect()
    ok(
        r.returncode == 1 and "chmod go-w" in r.stderr,
        "a report directory that all users may write to is refused",
        r.stderr,
    )
    os.chmod(s.dir, 0o1777)
    same(s.collect().returncode, 0, "a sticky report directory is accepted")


def test_broken(top):
    s = Site(top)
    s.jobs(RUNNING.format(start=s.now - 60))
    s.report(41, "n0")
    for text in ("", "{", "[]", '{"start":"x","record":7}'):
        s.put("reports/41/record.json", text)
        s.put("reports/collect.json", text)
        s.collect()
        ok(len(s.changes()) <= 1, f"files of collect that have {text!r} cause at most one change")
        same(
            json.loads(s.get("reports/41/record.json"))["record"],
            ONE,
            "a run replaces its own broken files",
        )
    for name in ("squeue", "scontrol"):
        s.report(41, "n0", rate=99)
        s.put(f"{name}.fails", "")
        r = s.collect()
        ok(r.returncode == 1 and name in r.stderr, f"{name} fails", r.stderr)
        os.unlink(f"{s.top}/{name}.fails")
    for options, code in ((["--keep=x"], 2), (["more"], 2), (["--help"], 0), (["--conf=/x/y"], 1)):
        same(s.collect(*options).returncode, code, f"{options[0]} exits with {code}")


def test_nodes(top):
    s = Site(top, ("contention_node_extra = yes",))
    s.jobs(RUNNING.format(start=s.now - 60), f"43|43|R|{s.now - 60}|N/A")
    s.put("extra.n0", '{"rack":7}')
    s.put("extra.n1", "rack=7")
    s.report(41, "n0")
    s.report(43, "n0", semi_devils=2, ranks=6)
    s.report(41, "n1")
    r = s.collect()
    same(
        s.changes(),
        ['scontrol update nodename=n0 extra={"rack":7,"nodeos_devils":6,"nodeos_semi_devils":2}'],
        "Extra that is JSON is merged; other Extra is not changed",
    )
    ok("node n1: " in r.stderr, "a message names the node whose Extra is no JSON", r.stderr)
    r = s.collect()
    same((s.changes(), r.stderr), ([], ""), "a second run changes and prints nothing")
    s.report(41, "n0", devils=0, turtles=4)
    s.collect()
    same(s.changes(), [], "a node is changed once a minute at most")
    state = json.loads(s.get("reports/collect.json"))
    state["nodes"]["n0"]["time"] -= 61
    s.put("reports/collect.json", json.dumps(state))
    s.collect()
    same(
        s.changes(),
        ['scontrol update nodename=n0 extra={"rack":7,"nodeos_devils":3,"nodeos_semi_devils":2}'],
        "after a minute a node is changed again",
    )
    state = json.loads(s.get("reports/collect.json"))
    state["nodes"]["n0"]["time"] -= 61
    s.put("reports/collect.json", json.dumps(state))
    s.jobs()
    s.put("extra.n0", s.get("extra.n0").replace("7", "8"))
    s.collect()
    same(
        s.changes(),
        ['scontrol update nodename=n0 extra={"rack":8,"nodeos_devils":0,"nodeos_semi_devils":0}'],
        "a node without jobs has no devils",
    )
    s.collect()
    same(s.changes(), [], "a node without jobs is not changed again")
    s.put("nodeos.conf", "")
    s.collect()
    same(
        s.changes(),
        ['scontrol update nodename=n0 extra={"rack":8}'],
        "contention_node_extra = no leaves only the site's own Extra",
    )
    s.collect()
    same(s.changes(), [], "without contention_node_extra no node is changed")


def test_database_gone(top):
    s = Site(top)
    ended = range(1, 8)
    for job in ended:
        s.report(job, "n0", ended=True)
        s.put(f"account.{job}", f"{job}|{job}|COMPLETED|{s.now - 600}|{s.now - 500}|")
    s.report(41, "n1")
    s.jobs(
        *(f"{job}|{job}|CD|{s.now - 600}|{s.now - 500}" for job in ended),
        RUNNING.format(start=s.now - 60),
    )
    s.put("sacct.fails", "")
    r = s.collect()
    same(
        s.changes(),
        [f"scontrol update jobid=41 admincomment={ONE}"],
        "a running job is recorded although slurmdbd does not answer for seven ended ones",
    )
    ok(
        r.returncode == 1 and r.stderr.count("is slurmdbd up?") == 1,
        "one message says that slurmdbd does not answer",
        r.stderr,
    )
    os.unlink(f"{s.top}/sacct.fails")
    s.collect()
    same(len(s.changes()), 7, "the ended jobs are recorded when slurmdbd answers")


def test_no_report(top):
    s = Site(top)
    s.jobs()
    end = s.now - 7200
    s.report(41, "n0", time=end - 3600)
    s.put("account.41", f"41|41|COMPLETED|{end - 60}|{end}|")
    s.collect("--keep=0")
    ok(
        not os.path.exists(f"{s.dir}/41/record.json"),
        "a new directory without a report on the last run gets no record yet",
    )
    os.utime(f"{s.dir}/41", (end, end))
    r = s.collect("--keep=0")
    same(
        (r.returncode, s.changes(), r.stdout, '"final":true' in s.get("reports/41/record.json")),
        (0, [], "", True),
        "a directory without a report on the last run is final an hour after the job's end",
    )
    s.collect("--keep=0")
    ok(
        not os.path.exists(f"{s.dir}/41"),
        "a directory without a report on the last run is removed after --keep",
    )
    s.jobs(RUNNING.format(start=end))
    s.report(41, "n0", time=end - 3600)
    os.utime(f"{s.dir}/41", (end, end))
    s.collect("--keep=0")
    ok(
        not os.path.exists(f"{s.dir}/41/record.json"),
        "a running job without a report on this run is left alone",
    )
    s.jobs(ENDED.format(start=s.now - 9000, end=end))
    s.put("account.41", f"41|41|COMPLETED|{s.now - 9000}|{end}|")
    s.report(41, "n0", time=s.now + 86400)
    s.collect()
    same(len(s.changes()), 1, "an ended job does not wait for a report from the future")


def test_lost_state(top):
    s = Site(top, ("contention_node_extra = yes",))
    s.jobs(RUNNING.format(start=s.now - 60))
    s.report(41, "n0")
    os.mkdir(f"{s.dir}/.collect.json.new")
    r = s.collect()
    same(
        (r.returncode, s.changes()),
        (1, []),
        "a run that cannot write its state changes no node",
    )
    shutil.rmtree(f"{s.dir}/.collect.json.new", ignore_errors=True)
    # this scontrol makes the last write of the state fail, as a full disk or a kill would
    scontrol = s.get("bin/scontrol")
    new = f"{s.dir}/.collect.json.new"
    s.put("bin/scontrol", scontrol.replace("import os, sys", f"import os, sys; os.mkdir({new!r})"))
    s.collect()
    same(len(s.changes()), 1, "the run that cannot write its last state has changed a node")
    s.put("bin/scontrol", scontrol)
    shutil.rmtree(new, ignore_errors=True)
    s.jobs()
    s.collect()
    same(
        s.changes(),
        ['scontrol update nodename=n0 extra={"nodeos_devils":0,"nodeos_semi_devils":0}'],
        "the next run sets the node's numbers again, although no job is left there",
    )
    s.collect()
    same(s.changes(), [], "a third run does not change the node again")


def test_unknown_nodes(top):
    s = Site(top, ("contention_node_extra = yes",))
    s.jobs(RUNNING.format(start=s.now - 60))
    for i in range(7):
        s.report(41, f"n{i}")
    s.collect()
    same(len(s.changes()), 7, "seven nodes get numbers")
    s.put("gone", "n0 n1 n2 n3 n4 n5")
    state = json.loads(s.get("reports/collect.json"))
    for node in state["nodes"].values():
        node["time"] -= 61
    s.put("reports/collect.json", json.dumps(state))
    s.jobs()
    r = s.collect()
    same(
        (r.returncode, s.changes()),
        (0, ['scontrol update nodename=n6 extra={"nodeos_devils":0,"nodeos_semi_devils":0}']),
        "a node gets its numbers although six other nodes were removed from Slurm",
    )
    same(
        r.stderr.count("sinfo knows no node"),
        6,
        "a message names each node that was removed from Slurm",
    )
    r = s.collect()
    same(
        (r.returncode, r.stderr),
        (0, ""),
        "the next run forgets the nodes that were removed from Slurm",
    )


def main():
    if not os.access(TOOL, os.X_OK):
        print("1..0 # SKIP no nodeosctl in the build tree")
        return 0
    top = tempfile.mkdtemp(prefix="nodeos-collect.")
    os.chmod(top, 0o755)
    try:
        for test in (
            test_running,
            test_comment,
            test_ended,
            test_requeue,
            test_hostile,
            test_broken,
            test_nodes,
            test_database_gone,
            test_no_report,
            test_lost_state,
            test_unknown_nodes,
        ):
            test(top)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
