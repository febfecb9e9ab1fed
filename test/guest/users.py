# SPDX-License-Identifier: GPL-2.0-or-later
# run: deep limit=7200
# run: deep kernel=debian limit=7200
# rooms: control container
"""Test attacks of a user, through NodeOS's interfaces, on the other users of a node and on root's
helpers. Also test accidents, such as a full disk. Run by test/guest/run as root on n0; "users.py
GROUP..." runs only these groups."""

import argparse
import fcntl
import glob
import os
import re
import signal
import socket
import subprocess
import threading
import time

import cluster
from cluster import HOME, Machine, all_idle, cpus, note, ok, run, same
from containers import pod, write
from livejob import HOG, Job, delete, resize

LOCK = "/run/nodeos/lock"
CHANGES = "/run/nodeosd.changes"
SMALL = {"own": {"container": {"cpus": "4", "mems": "1"}}}
BOB = "/shared/home/bob"


def small_job(user, command="sleep 1000", more="-n1 -c6 --mem=600", containers=None):
    """Submit a job on a part of n0 whose container "own" runs COMMAND. Returns the job's number
    once the container has ranks."""
    home = HOME if user == "alice" else BOB
    os.makedirs(home, exist_ok=True)
    for name, text in (
        ("own.json", pod(**(containers or SMALL))),
        (
            "own.sh",
            f"#!/bin/bash\nsrun -n1 --overlap --mpi=none --nodeos-container=own {command}\n",
        ),
    ):
        path = write(name, text)
        if user != "alice":
            run(f"mv {path} {home}/{name} && chown -R {user} {home}", user="root")
    job = run(
        f"sbatch --parsable -N1 -w n0 {more} --nodeos-manifest={home}/own.json -o {home}/own.out"
        f" {home}/own.sh",
        user=user,
        cwd=home,
    ).out.strip()
    for _ in range(120):
        r = run("nodeosctl show", user=user)
        if (
            r.code == 0
            and re.search(r"container own.*\n(.*\n)*.*(rank|processes|step)", r.out)
            and glob.glob(f"/sys/fs/cgroup/system.slice/*/job_{job}/step_0/user/task_0")
        ):
            break
        time.sleep(0.5)
    time.sleep(1)
    return job


def end(*jobs):
    run(f"scancel {' '.join(jobs)}", user="root")
    all_idle("users: all nodes become idle at the end")


class Background:
    """A shell command that USER runs during a with block; its session is killed at the end."""

    def __init__(self, user, command):
        self.p = subprocess.Popen(
            [
                "setpriv",
                f"--reuid={user}",
                f"--regid={user}",
                "--init-groups",
                "bash",
                "-c",
                command,
            ],
            env=cluster.clean_env(user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def __enter__(self):
        time.sleep(1)
        return self

    def __exit__(self, *_):
        run(f"pkill -9 -s {self.p.pid}", user="root")
        self.p.wait()


class Held:
    """Measure, during a with block, the longest time in seconds for which the ledger is locked."""

    def __init__(self):
        self.longest, self.stop = 0.0, False
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        since = None
        with open(LOCK, "rb") as f:
            while not self.stop:
                try:
                    fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    fcntl.flock(f, fcntl.LOCK_UN)
                    since = None
                except OSError:
                    since = since or time.monotonic()
                    self.longest = max(self.longest, time.monotonic() - since)
                time.sleep(0.003)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        self.thread.join()


def group_changes(machine):
    """Check that a lock on the file of changes delays no resize. Every user may read this file, and
    so can lock it."""
    job = small_job("alice")
    resize("own --cpus=2")
    ok(os.path.exists(CHANGES), "a resize creates the file of changes")
    before = open(CHANGES).read()
    with Background("bob", f"exec 3<{CHANGES}; flock -x 3; sleep 300"):
        r = run("timeout 60 nodeosctl resize own --cpus=4")
        ok(r.code == 0, "while bob locks the file of changes, alice's resize succeeds", r.text)
        ok(
            int(open(CHANGES).read()) == int(before or 0) + 1,
            "while bob locks the file of changes, the file counts alice's resize",
            (before, open(CHANGES).read()),
        )
    end(job)


def group_stopped(machine):
    """Check that a user who stops the planner stops only the user's own requests: the planner runs
    with the user's rights."""
    jobs = small_job("alice"), small_job("bob")
    with Background("alice", "while :; do pkill -STOP -u alice -x nodeos-plan; sleep 0.02; done"):
        with Background(
            "alice",
            "while :; do nodeosctl resize own --cpus=2; nodeosctl resize own --cpus=4; done",
        ):
            time.sleep(3)
            r = run("timeout 50 nodeosctl resize own --cpus=2", user="bob")
            ok(r.code == 0, "while alice stops her planner, bob's resize succeeds", r.text)
            r = run("timeout 50 nodeosctl delete own --kill", user="bob")
            ok(r.code == 0, "while alice stops her planner, bob's delete succeeds", r.text)
    end(*jobs)


def group_ledger(machine):
    """Check that launches can lock the ledger while the memory of a container with many processes
    moves."""
    hog = write("hog.py", HOG.format(mib=24, processes=80))
    job = small_job(
        "alice",
        f"python3 {hog}",
        more="-n1 -c6 --mem=1200",
        containers={"own": {"container": {"cpus": "4", "mems": "2"}}},
    )
    time.sleep(30)
    for mems in ("1", "2", "1"):
        start = time.monotonic()
        with Held() as h:
            r = run(f"nodeosctl resize own --mems={mems}", timeout=600)
        took = time.monotonic() - start
        note(f"to {mems}: {took:.1f} s, with the ledger locked for {h.longest:.2f} s")
        # A resize to more nodes moves no page: it only waits for the kernel's walk over the
        # processes.
        ok(
            r.code == 0 and (mems == "2" or h.longest < max(1.0, took / 6)),
            f"other processes can lock the ledger while pages move (to {mems})",
            f"{r.text}\nheld {h.longest:.2f} of {took:.1f} s",
        )
    end(job)


def group_entering(machine):
    """Check that steps succeed while their container is resized, even if the resize comes before
    their ranks run."""
    probe = write("probe.sh", "#!/bin/bash\nsleep 0.3\ngrep Cpus_allowed_list /proc/self/status\n")
    times = 20
    text = (
        "#!/bin/bash\nsrun -n1 --overlap --mpi=none --nodeos-container=own sleep 1000 &\nsleep"
        f" 5\nfor i in {{1..{times}}}; do srun -n2 --overlap --mpi=none --nodeos-container=own"
        f" {probe} || echo failed $i; done\necho finished\nsleep 1000\n"
    )
    write("own.json", pod(own={"container": {"cpus": "8", "mems": "2"}}))
    job = run(
        "rm -f own.out; sbatch --parsable -N1 -w n0 --exclusive --nodeos-manifest=own.json -o"
        f" own.out {write('many.sh', text)}"
    ).out.strip()
    done = 0
    until = time.time() + 600
    while time.time() < until and not (
        os.path.exists(f"{HOME}/own.out") and "finished" in open(f"{HOME}/own.out").read()
    ):
        done += run(f"nodeosctl resize own --cpus={4 + done % 2 * 4}").code == 0
    out = open(f"{HOME}/own.out").read()
    ok(
        "finished" in out and "failed" not in out and out.count("Cpus_allowed_list") == 2 * times,
        f"{times} steps succeed while their container is resized {done} times",
        out,
    )
    end(job)


def ask(data, wait=20, user_close=True):
    """Send DATA to nodeosd as root, and return the answer."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(wait)
    s.connect("/run/nodeosd.socket")
    try:
        s.sendall(data)
        if user_close:
            s.shutdown(socket.SHUT_WR)
        out = b""
        while chunk := s.recv(65536):
            out += chunk
        return out.decode(errors="replace")
    except OSError as e:
        return f"({e})"
    finally:
        s.close()


def group_requests(machine):
    """Check that nodeosd refuses malformed requests and requests for another user's containers, and
    that programs which exec runs end with the job."""
    for data in (
        b"",
        b"\n",
        b"\0\n",
        b"nodeos 1 show",
        b"nodeos 1 show\nnodeos 1 show\n",
        b"nodeos 2 show\n",
        b"nodeos 1 find container=../x\n",
        b"nodeos 1 exec container=own\n",
        b"x" * 600 + b"\n",
        b"nodeos 1 resize container=own cpus=99999999999999999999\n",
        b"nodeos 1 resize container=own cpus=-0\n",
        b"nodeos 1 show job=4294967296\n",
        b"nodeos 1 delete container=own kill kill\n",
        b"nodeos 1 find container=own json\n",
        b"nodeos 1 query job=1\n",
        b"nodeos 1 show \x1b[2J\n",
        b"\xff\xfe\n",
    ):
        text = ask(data)
        # unread bytes make the kernel reset the connection
        ok(
            len(data) > 512
            or text.startswith("error ")
            and text.count("\n") == 1
            and "\x1b" not in text,
            f"request {data[:40]!r}: nodeosd answers with one line, an error",
            repr(text),
        )
    job = small_job("alice")
    for user, command, code, words in (
        ("bob", "nodeosctl exec own true", 1, "you have no container own"),
        ("bob", f"nodeosctl exec --job={job} own true", 1, "you have no container own"),
        ("bob", f"nodeosctl delete --job={job} own --kill", 1, "you have no container own"),
        ("bob", f"nodeosctl show --job={job}", 1, "no job"),
    ):
        r = run(command, user=user)
        ok(r.code == code and words in r.text, f"{command} as {user} is refused", r.text)
    # A program that exec runs is a step of the job. The program and all its children must end with
    # the job, even children that the program tries to hide.
    run(
        "setsid nodeosctl exec own bash -c 'setsid setsid sleep 4242 & disown; sleep 4243'"
        " >/dev/null 2>&1 & sleep 15; true"
    )
    found = run("pgrep -x sleep -u alice -a", user="root").out
    ok("4242" in found and "4243" in found, "exec starts a command with children", found)
    pid = next(
        (line.split()[0] for line in found.splitlines() if line.endswith("sleep 4242")), "none"
    )
    place = run(f"cat /proc/{pid}/cgroup", user="root").out
    ok(
        f"job_{job}/step_1/user/task_0" in place,
        "children of a program that exec runs are in a step of the job",
        place,
    )
    with Background(
        "alice",
        "python3 -c 'import socket,time\nl=[]\nfor i in range(200):\n"
        ' s=socket.socket(1);s.settimeout(1)\n try: s.connect("/run/nodeosd.socket");'
        " l.append(s)\n except OSError: pass\ntime.sleep(100)'",
    ):
        time.sleep(3)
        r = run("timeout 100 nodeosctl show", user="bob")
        ok(r.code == 0, "while alice has 200 connections to nodeosd, bob's show succeeds", r.text)
        note(f"bob's answer took {r.seconds:.1f} s")
    run(f"scancel {job}", user="root")
    time.sleep(5)
    found = run("pgrep -x sleep -u alice -a", user="root").out
    ok(
        "4242" not in found and "4243" not in found,
        "children of a program that exec runs end with the job",
        found,
    )
    all_idle("users, requests: all nodes become idle at the end")


def group_accidents(machine):
    """Check that a full file system, a damaged file or a missing CPU causes a message and no
    incomplete change, and that the node works afterwards."""
    job = small_job("alice")
    run(
        "dd if=/dev/zero of=/run/fill bs=64k 2>/dev/null; dd if=/dev/zero of=/run/fill2 bs=1"
        " count=4096 2>/dev/null",
        user="root",
    )
    r = run("timeout 60 nodeosctl resize own --cpus=2")
    ok(
        r.code == 1 and "No space left" in r.err,
        "/run is full: resize fails, and the message has the reason",
        r.text,
    )
    note(run("nodeosctl show").text)
    r = run("timeout 60 nodeosctl delete own --kill")
    note(f"delete on a full /run: {r.text}")
    run("rm -f /run/fill /run/fill2", user="root")
    ok(
        not glob.glob("/run/nodeos/.*.new"),
        "/run is full: resize and delete leave no temporary file",
        glob.glob("/run/nodeos/.*"),
    )
    if "container own" in run("nodeosctl show").out and r.code != 0:
        r = run("timeout 60 nodeosctl resize own --cpus=2")
        ok(
            r.code == 0 or "no rank" in r.text,
            "/run has space again: the container can be resized",
            r.text,
        )
    run(f"scancel {job}", user="root")
    all_idle("users, accidents: all nodes become idle after /run was full")
    job = small_job("alice")
    entry = glob.glob("/run/nodeos/job-*")[0]
    whole = open(entry).read()
    for what, text in (
        ("cut", whole[: len(whole) // 2]),
        ("empty", ""),
        ("another version's", whole.replace("nodeos-ledger 1", "nodeos-ledger 9")),
        ("all zeros", "\0" * 300),
        ("wrong in a rank's directory", whole.replace(" task_0 ", " task_/../../x ", 1)),
    ):
        with open(entry, "w") as f:
            f.write(text)
        for command in (
            "nodeosctl resize own --cpus=2",
            "nodeosctl delete own --kill",
            "nodeosctl exec own true",
            "nodeosctl show",
        ):
            r = run(f"timeout 60 {command}")
            # a damaged line of a rank does not affect a new step
            harmless = command.endswith("show") or "rank" in what and " exec " in command
            ok(
                r.code == 1 or harmless and r.code == 0,
                f"the ledger's entry is {what}: {command} is refused or unaffected",
                r.text,
            )
        ok(
            os.path.exists(entry),
            f"the ledger's entry is {what}: the commands do not remove the entry",
        )
        b = run("srun -N1 -w n0 -n1 -c1 --mem=100 --mpi=none true", user="bob", cwd="/")
        ok(b.code == 0, f"the ledger's entry is {what}: another user's job runs", b.text)
    with open(entry, "w") as f:
        f.write(whole)
    ok(
        run("nodeosctl resize own --cpus=2").code == 0,
        "the ledger's entry is repaired: the container can be resized",
    )
    run("chmod 755 /run/nodeos", user="root")
    r = run("nodeosctl show")
    ok(
        r.code == 1 and "must belong to" in r.err,
        "show refuses a state directory that other users can read",
        r.text,
    )
    run("chmod 700 /run/nodeos", user="root")
    # a CPU of the container goes offline
    run("nodeosctl resize own --cpus=4")
    gone = max(cpus(re.search(r"container own: cpus (\S+)", run("nodeosctl show").out).group(1)))
    run(f"echo 0 >/sys/devices/system/cpu/cpu{gone}/online", user="root")
    for command in (
        "nodeosctl show",
        "nodeosctl resize own --cpus=2",
        "nodeosctl resize own --cpus=4",
    ):
        r = run(f"timeout 60 {command}")
        note(f"CPU {gone} is off: {command}: {r.text.strip()[:300]}")
        ok(
            r.code in (0, 1),
            f"a CPU of the container is offline: {command} works or is refused",
            r.text,
        )
    run(f"echo 1 >/sys/devices/system/cpu/cpu{gone}/online", user="root")
    # nodeosd finishes a resize whose caller is killed
    run("(nodeosctl resize own --cpus=4 & p=$!; sleep 0.1; kill -9 $p); sleep 5")
    r = run("nodeosctl verify", user="root")
    note(f"verify: {r.text.strip()[:600]}")
    run(f"scontrol requeue {job}; sleep 1", user="root")
    r = run("nodeosctl resize own --cpus=2")
    note(f"requeued: {r.text.strip()[:300]}")
    end(job)
    same(cluster.leftovers(), "", "users, accidents: the jobs leave no file in /run/nodeos")


class Full:
    """Fill the file system of PATH, also for root, until the with block ends or release() is
    called."""

    def __init__(self, path):
        self.path, self.file = path, f"{path}/.fill"
        self.kind, self.size = run(
            f"findmnt -no FSTYPE,SIZE -b --target {path}", user="root"
        ).out.split()

    def __enter__(self):
        # do not fill the memory: shrink a tmpfs to its contents
        if self.kind == "tmpfs":
            used = int(run(f"findmnt -no USED -b --target {self.path}", user="root").out)
            run(f"mount -o remount,size={used + 65536} {self.path}", user="root")
        else:
            run(
                f"fallocate -l $(findmnt -no AVAIL -b --target {self.path}) {self.file}",
                user="root",
            )
        run(
            f"cat /dev/zero >>{self.file}; cat /dev/zero >{self.file}2; dd if=/dev/zero"
            f" of={self.file}3 bs=1 count=5000",
            user="root",
        )
        left = run(f"echo x >{self.file}4; echo $?", user="root").out.strip()
        ok(left != "0", f"{self.path} is full ({self.kind})", left)
        return self

    def release(self):
        run(
            f"rm -f {self.file}*"
            + (f"; mount -o remount,size={self.size} {self.path}" if self.kind == "tmpfs" else ""),
            user="root",
        )

    def __exit__(self, *_):
        self.release()


WORDS = "No space left on device"


def told_once(r, path, what, code=1):
    """Check that the command of R failed with one line, which names PATH and has the reason."""
    lines = [line for line in r.err.splitlines() if "nodeos" in line]
    return ok(
        r.code == code and len(lines) == 1 and path in lines[0] and WORDS in lines[0],
        f"{what} on a full file system: one message names {path}",
        r.text,
    )


def here(command, user="alice"):
    """Run a command with a time limit."""
    return run(f"timeout 500 {command}", user=user, timeout=510)


def as_it_is(job):
    """Return what a failure must not change: the ledger, the job's cgroups and its ranks."""
    return run(
        f"cat /run/nodeos/job-*; cd /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job} && grep"
        " -r . --include=cpuset.cpus --include=cpuset.mems step_0/user; cat"
        " step_0/user/task_0/cgroup.procs",
        user="root",
    ).out


def group_full(machine):
    """Check each command on a full file system: it must succeed, or fail with one message and
    change nothing. It must work when there is space again."""
    scratch = f"{HOME}/scratch"
    run(f"rm -rf {scratch}; mkdir {scratch}")
    job = small_job("alice")
    small = "srun -w n0 -n1 -c2 --mem=50 --mpi=none"

    def works(what):
        for command, user in (
            (f"{small} --nodeos-cpus=2 true", "bob"),
            ("nodeosctl resize own --cpus=2", "alice"),
            ("nodeosctl resize own --cpus=4", "alice"),
            ("nodeosctl verify", "root"),
            ("nodeosctl discover", "root"),
            ("nodeosctl show", "alice"),
            ("nodeosctl report", "root"),
        ):
            r = run(command, user=user, cwd="/")
            ok(r.code == 0, f"{what}: {command} works", r.text)

    works("before the file systems are full")
    with Full("/run"):
        before, xml = as_it_is(job), open("/run/nodeos/machine.xml").read()
        r = run(f"{small} --nodeos-cpus=2 echo alive", user="bob", cwd="/")
        told = [line for line in r.err.splitlines() if "error: nodeos:" in line]
        ok(
            r.code != 0
            and "alive" not in r.out
            and len(told) == 1
            and "/run/nodeos/job-" in told[0]
            and WORDS in told[0],
            "/run is full: a step with a container fails, and one message names the file",
            r.text,
        )
        r = run(f"{small} echo alive", user="bob", cwd="/")
        ok(
            r.code == 0 and "nodeos" not in r.err,
            "/run is full: a step without a container runs",
            r.text,
        )
        for command in ("resize own --cpus=2", "resize own --mems=2", "delete own --kill"):
            told_once(here(f"nodeosctl {command}"), "/run/nodeos/job-", f"/run: {command}")
        told_once(here("nodeosctl discover", "root"), "/run/nodeos/", "/run: discover")
        # exec starts a step, which needs an entry in the ledger
        r = here("nodeosctl exec own true")
        told = [line for line in r.err.splitlines() if "error: nodeos:" in line]
        ok(
            r.code != 0 and len(told) == 1 and "/run/nodeos/job-" in told[0] and WORDS in told[0],
            "/run is full: exec fails, and one message names the file",
            r.text,
        )
        for command, user in (
            ("show", "alice"),
            ("show --json", "alice"),
            ("report", "root"),
            ("report --json", "root"),
            ("list", "root"),
            ("verify", "root"),
        ):
            r = here(f"nodeosctl {command}", user)
            ok(r.code == 0, f"/run is full: {command} needs no space", r.text)
        same(as_it_is(job), before, "/run is full: ledger, cgroups and ranks are unchanged")
        same(open("/run/nodeos/machine.xml").read(), xml, "/run is full: the topology is unchanged")
        left = glob.glob("/run/nodeos/.*")
        same(left, [], "/run is full: the commands leave no incomplete file")
    works("/run has space again")
    # a job begins and ends while /run is full
    with Full("/run"):
        run(f"{small} echo alive", user="bob", cwd="/")
        run(f"scancel {job}", user="root")
        all_idle("/run is full: all nodes become idle after a job")
    same(cluster.leftovers(), "", "/run is full: a job that ends leaves no file in /run/nodeos")
    job = small_job("alice")
    with Full("/tmp"):
        for command, user in (
            (f"{small} --nodeos-cpus=2 true", "bob"),
            ("nodeosctl resize own --cpus=2", "alice"),
            ("nodeosctl resize own --cpus=4", "alice"),
        ):
            r = run(command, user=user, cwd="/")
            ok(r.code == 0, f"/tmp is full: {command} needs no space", r.text)
        r = run(
            f"{small} --nodeos-cpus=2 --nodeos-report=/tmp/r.%s.%N.json echo alive",
            user="bob",
            cwd="/",
        )
        ok(r.code == 0, "/tmp is full: a step whose report belongs in /tmp runs", r.text)
        told_report(r.out, r.err, "/tmp")
        told_files("/tmp", scratch)
    works("/tmp has space again")
    files_work("/tmp")
    end(job)


def told_report(out, err, path):
    told = [line for line in err.splitlines() if "nodeos" in line]
    ok(
        "alive" in out
        and len(told) == 1
        and "warning" in told[0]
        and f"{path}/r." in told[0]
        and WORDS in told[0],
        f"{path} is full: one warning for the report of a step",
        out + err,
    )
    same(run(f"cat {path}/r.*").out, "", f"{path} is full: no incomplete report is left")


PICTURE = "report --svg={}/n0.svg"


def told_files(path, scratch):
    """Check commands that write files below PATH, which is on a full file system. SCRATCH is on
    another file system."""
    told_once(
        here(f"nodeosctl discover --output={path}/m.xml", "root"),
        f"{path}/m.xml",
        f"{path}: discover --output",
    )
    told_once(
        here(f"nodeosctl {PICTURE.format(path)}", "root"), f"{path}/n0.svg", f"{path}: report --svg"
    )
    told_once(
        here(f"bash -c 'nodeosctl report --json >{path}/n0.json'", "root"),
        "standard output",
        f"{path}: report --json >FILE",
    )
    told_once(
        here(f"bash -c 'nodeosctl show >{path}/show.txt'"),
        "standard output",
        f"{path}: show >FILE",
    )
    left = [
        f
        for where in (path, scratch, "/dev/shm")
        for name in ("nodeos-*", "*.xml", "*.svg")
        for f in glob.glob(f"{where}/{name}")
    ]
    same(left, [], f"{path} is full: commands that fail leave no file")


def files_work(path):
    for command in (
        f"discover --output={path}/m.xml",
        PICTURE.format(path),
    ):
        r = here(f"env TMPDIR={path} nodeosctl {command}", "root")
        ok(r.code == 0, f"{path} has space again: nodeosctl {command} works", r.text)
    run(
        f"rm -f {path}/*.json {path}/*.txt {path}/*.xml {path}/*.svg",
        user="root",
    )


def group_var(machine):
    """Check that jobs continue and can change their containers while /var is full. Slurm drains
    such a node."""
    scratch = f"{HOME}/scratch"
    run(f"rm -rf {scratch}; mkdir {scratch}")
    job = Job()
    with Full("/var/tmp"):
        same(
            run("findmnt -no TARGET --target /var/spool/slurmd", user="root").out,
            run("findmnt -no TARGET --target /var/tmp", user="root").out,
            "slurmd's spool directory is on the full file system",
        )
        for arguments in (
            "sim --cpus=4 --mems=1",
            "vda --cpus=8",
            "vda --cpus=4",
            "sim --cpus=8 --mems=2",
        ):
            r, _ = resize(arguments)
            ok(r.code == 0, f"/var is full: resize {arguments} needs no space", r.text)
            job.check(f"/var is full, resize {arguments}")
        # TEXT has both stdout and stderr; one of them has the warning for the report
        text = job.inside(
            "srun -n1 --overlap --mpi=none --nodeos-container=vda"
            " --nodeos-report=/var/tmp/r.%s.%N.json echo alive"
        )
        told_report(text, text, "/var/tmp")
        told_files("/var/tmp", scratch)
        r, _ = delete("vda --kill")
        ok(r.code == 0, "/var is full: delete needs no space", r.text)
        job.check("/var is full, delete vda")
    files_work("/var/tmp")
    # Slurm checks from time to time whether its spool directory is full
    reason = run("sinfo -h -N -n n0 -o %E", user="root").out.strip()
    ok(
        reason in ("none", "SlurmdSpoolDir is full"),
        "/var is full: only Slurm drains the node",
        reason,
    )
    run("scontrol update node=n0 state=resume", user="root")
    job.end(steps=("sim",))
    r = run("srun -w n0 -n1 -c2 --mpi=none --nodeos-cpus=2 true")
    ok(r.code == 0, "/var has space again: a job with a container runs", r.text)
    same(cluster.leftovers(), "", "users, var: the jobs leave no file in /run/nodeos")


def pid_of(name):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if open(f"/proc/{pid}/comm").read() == name + "\n":
                return int(pid)
        except OSError:
            pass  # the process has ended since
    return None


def group_filling(machine):
    """Check that a resize during which /run becomes full fails and leaves no incomplete change."""
    hog = write("hog.py", HOG.format(mib=24, processes=80))

    def shown():
        text = run("nodeosctl show").out
        return re.search(r"container own: cpus (\S+) +mems (\S+)", text).groups()

    for cpus_too in ("", " --cpus=2"):
        # a new job whose pages are on both of its memory nodes
        job = small_job(
            "alice",
            f"python3 {hog}",
            more="-n1 -c6 --mem=1200",
            containers={"own": {"container": {"cpus": "4", "mems": "2"}}},
        )
        time.sleep(30)
        entry = glob.glob("/run/nodeos/job-*")[0]
        before, inode = shown(), os.stat(entry).st_ino
        results = []
        asks = threading.Thread(
            target=lambda: results.append(
                run(f"nodeosctl resize own --mems=1{cpus_too}", timeout=600)
            )
        )
        asks.start()
        daemon = None
        while not daemon and asks.is_alive():
            daemon = pid_of("nodeosd")
        # nodeosd writes the ledger's entry twice before the pages move, and once afterwards
        seen = {inode}
        while len(seen) < 3 and asks.is_alive():
            seen.add(os.stat(entry).st_ino)
        os.kill(daemon, signal.SIGSTOP)
        with Full("/run"):
            same(
                len(seen),
                3,
                "nodeosd writes the ledger's entry twice before the pages move",
            )
            os.kill(daemon, signal.SIGCONT)
            asks.join()
            r = results[0]
            told_once(r, "/run/nodeos/job-", f"resize --mems=1{cpus_too}")
            after = shown()
            same(
                after[1],
                before[1],
                f"resize --mems=1{cpus_too} on a full /run: show has the old memory nodes",
            )
            same(
                run(
                    f"cat /sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{job}"
                    "/step_0/user/task_0/cpuset.mems"
                ).out.strip(),
                before[1],
                f"resize --mems=1{cpus_too} on a full /run: the kernel has the old memory nodes",
            )
            r = run("nodeosctl verify", user="root")
            ok(
                r.code == 0,
                f"resize --mems=1{cpus_too} on a full /run: verify finds no difference",
                r.text,
            )
        r = run("nodeosctl resize own --mems=1 --cpus=4", timeout=600)
        ok(r.code == 0, "resize --mems=1 --cpus=4 succeeds when /run has space again", r.text)
        r = run("nodeosctl verify", user="root")
        ok(
            r.code == 0,
            "resize --mems=1 --cpus=4 when /run has space again: verify finds no difference",
            r.text,
        )
        r = run("nodeosctl resize own --mems=2", timeout=600)
        ok(
            r.code == 0 and run("nodeosctl verify", user="root").code == 0,
            "resize --mems=2 when /run has space again: succeeds, and verify finds no difference",
            r.text,
        )
        end(job)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", nargs="*")
    args = parser.parse_args()
    for home, uid in ((HOME, 1000), (BOB, None)):
        os.makedirs(home, exist_ok=True)
        if uid:
            os.chown(home, uid, uid)
    run(f"chown bob {BOB}", user="root", cwd="/")
    machine = Machine()
    cluster.patient()
    cluster.site("resize_mems = yes")
    cluster.run_groups(GROUPS, args.group or list(GROUPS), machine)
    cluster.done()


main()
