#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run nodeos-contend on a test's tree of /proc, /sys and cgroups, with counters from a trace. Test
launches, hostile messages, documents and their readers, new settings, and kills. Prints TAP.

daemon_test.py --cost [RANKS...] prints as JSON, for each number of ranks, the time until a launch
is answered, the share of a CPU, and the calls of read and write per second."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.abspath(
    os.environ.get("NODEOS_SOURCE")
    or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
)
sys.path.insert(0, os.path.join(SOURCE, "test"))
from manpages import BUILD, done, ok, skip  # noqa: E402

DAEMON = os.path.join(BUILD, "nodeos-contend")
SCOPE = "system.slice/slurmstepd.scope"
USER, OTHER = 1234, 65534
# misses per 10,000 instructions of ranks 0, 1, 2, ... in turn, and their classes by default bounds
RATES = (100, 10, 40)
CLASSES = ("devil", "turtle", "semi-devil")
FIRST_PID = 5000
READINGS = 60  # number of readings of each rank in a trace
# 1: 20 kills, as in test/run --deep; otherwise 7
EVERY = int(os.environ.get("NODEOS_TEST_EVERY", "7"))
KILLS = 20 if EVERY == 1 else 7
STOPPED = 3  # readings in which a rank runs before it is stopped


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Host:
    """A tree in place of "/": two caches of four CPUs, and a job of one step."""

    def __init__(self, ranks, job=41, trace=None):
        self.top = tempfile.mkdtemp(prefix="nodeos-contend.")
        os.chmod(self.top, 0o755)
        self.ranks, self.job = ranks, job
        self.run = f"{self.top}/run"
        self.conf = f"{self.top}/nodeos.conf"
        self.log = f"{self.top}/log"
        self.process, self.begun = None, time.time()
        for cpu in range(8):
            cache = f"{self.top}/sys/devices/system/cpu/cpu{cpu}/cache/index3"
            write(f"{cache}/level", "3\n")
            write(f"{cache}/type", "Unified\n")
            write(f"{cache}/shared_cpu_list", "0-3\n" if cpu < 4 else "4-7\n")
            write(f"{cache}/id", f"{cpu // 4}\n")
        write(f"{self.top}/sys/devices/system/cpu/online", "0-7\n")
        write(f"{self.top}/sys/devices/system/node/online", "0\n")
        write(f"{self.top}/sys/devices/system/node/node0/cpulist", "0-7\n")
        os.makedirs(f"{self.top}/proc")
        os.makedirs(f"{self.top}/ledger", 0o700)
        for rank in range(ranks):
            self.add_rank(rank)
        self.write_trace(trace or self.steady)
        self.configure()

    def cgroup(self, rank=None):
        step = f"{self.top}/sys/fs/cgroup/{SCOPE}/job_{self.job}/step_0"
        return step if rank is None else f"{step}/user/task_{rank}"

    def add_rank(self, rank):
        here, pid = self.cgroup(rank), FIRST_PID + rank
        write(f"{here}/cgroup.procs", f"{pid}\n")
        write(f"{here}/cgroup.events", "populated 1\nfrozen 0\n")
        write(f"{here}/cpu.stat", "usage_usec 1000000\n")
        write(f"{here}/memory.current", "4096000\n")
        write(f"{here}/cpuset.cpus.effective", f"{rank % 8}\n")
        proc = f"{self.top}/proc/{pid}"
        where = self.cgroup(rank).split("/fs/cgroup")[1]
        write(f"{proc}/cgroup", f"0::{where}\n")
        fields = [str(pid), "(a ) T)", "R", "1"] + ["0"] * 48
        fields[21] = str(7000 + rank)
        write(f"{proc}/stat", " ".join(fields) + "\n")
        self.set_state(rank, "R")

    def set_state(self, rank, letter):
        """Write the process's status with state LETTER; "T" is stopped."""
        pid = FIRST_PID + rank
        write(
            f"{self.top}/proc/{pid}/status",
            f"Name:\ta.out\nState:\t{letter} (some)\nPid:\t{pid}\nPPid:\t1\n"
            f"Uid:\t{USER}\t{USER}\t{USER}\t{USER}\nGid:\t{USER}\t{USER}\t{USER}\t{USER}\n"
            f"VmRSS:\t400 kB\nThreads:\t1\nCpus_allowed_list:\t{rank % 8}\n",
        )

    @staticmethod
    def steady(rank, reading):
        """Totals of RANK at its reading 1, 2, ...: the rank uses a whole CPU and has its rate of
        misses."""
        instructions = 10_000_000 * reading
        return instructions, instructions * RATES[rank % 3] // 10_000, 10**9 * reading

    def write_trace(self, totals):
        """Write the trace. The daemon first opens counters in the order of the directory."""
        lines = []
        for place, name in enumerate(os.listdir(f"{self.cgroup()}/user")):
            rank = int(name.removeprefix("task_"))
            for reading in range(1, READINGS + 1):
                instructions, misses, ran = totals(rank, reading)
                lines.append(f"{place} {instructions} {misses} - {ran} {ran}\n")
        write(f"{self.top}/trace", "".join(lines))

    def configure(self, more=""):
        write(
            self.conf,
            f"state_dir = {self.top}/ledger\ncontention = observe\ncontention_steps = all\n"
            f"contention_source = replay:{self.top}/trace\n{more}",
        )

    def command(self, *more):
        return [DAEMON, "--root", self.top, "--run-dir", self.run, "--conf", self.conf, *more]

    def start(self, wait=True):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command(), stderr=log, env=self.environment())
        end = time.time() + 10
        while wait and time.time() < end and not self.answers():
            if self.process.poll() is not None:
                raise RuntimeError(self.logged())
            time.sleep(0.01)
        return self.process

    @staticmethod
    def environment():
        return {**os.environ, "SLURMD_NODENAME": "n7"}

    def answers(self):
        """Return whether the daemon answers a message."""
        return bool(self.ask(b"?"))

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(timeout=20)

    def ask(self, message, seconds=2.0):
        """Send a message as slurmstepd does; returns the answer, "" for none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.settimeout(seconds)
            if os.geteuid() == 0:
                s.setsockopt(socket.SOL_SOCKET, 32, 1 << 20)  # SO_SNDBUFFORCE
            s.bind("")
            try:
                s.sendto(message, f"{self.run}/launch")
                return s.recv(1000).decode()
            except OSError:
                return ""

    def launch(self, ranks=None, job=None):
        ranks = range(self.ranks) if ranks is None else ranks
        words = ",".join(f"{r}:{FIRST_PID + r}:-" for r in ranks)
        return self.ask(
            f"nodeos-contend 1 job={job or self.job} step=0 uid={USER} gid={USER} het=0"
            f" ranks={words}\n".encode()
        )

    def document(self):
        try:
            with open(f"{self.run}/steps/{self.job}.0.json", encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            return None

    def classes(self):
        document = self.document()
        return tuple(r["class"] for r in document["ranks"]) if document else ()

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def remove(self):
        if self.process and self.process.poll() is None:
            self.end(signal.SIGKILL)
        shutil.rmtree(self.top)


def until(what, seconds=10.0):
    """Wait until WHAT() is true. Return its last value."""
    end = time.time() + seconds
    while time.time() < end:
        got = what()
        if got:
            return got
        time.sleep(0.05)
    return what()


def as_user(uid, function):
    """Run FUNCTION() in a process of UID. Return its result as text."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            text = str(function())
        except OSError as e:
            text = e.strerror
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return text


# ------------------------------------------------------------------ messages

HOSTILE = {
    "an empty message": b"",
    "bytes that are no text": bytes(range(256)) * 4,
    "a message of another protocol": b"nodeos 1;c=sim cpus=12;",
    "a message without ranks": b"nodeos-contend 1 job=41 step=0 uid=1 gid=1 het=0\n",
    "a negative pid": b"nodeos-contend 1 job=41 step=0 uid=1 gid=1 het=0 ranks=0:-1:-\n",
    "a pid that is no number": b"nodeos-contend 1 job=41 step=0 uid=1 gid=1 het=0 ranks=0:x:-\n",
    "a container with a path": b"nodeos-contend 1 job=41 step=0 uid=1 gid=1 het=0 ranks=0:1:../x\n",
    "a message of 300 KiB": b"nodeos-contend 1 job=41 step=0 ranks=" + b"0:5000:-," * 34000,
}


def test_messages(host):
    answer = host.launch()
    ok(answer == "ok 3", "the message of a step is answered with the number of its ranks", answer)
    for what, message in HOSTILE.items():
        answer = host.ask(message)
        ok(answer.startswith("no "), f"{what} is refused", repr(answer))
        ok(
            len(answer) < 256 and answer.isprintable(),
            f"the answer to {what} is a short line",
            repr(answer),
        )
    answer = host.launch(ranks=[0], job=42)
    ok(
        answer.startswith(("ok", "no")) and not os.path.exists(f"{host.run}/steps/42.0.json"),
        "a rank in another job's directory makes no document",
        answer,
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        for _ in range(20):
            s.sendto(b"garbage without an address", f"{host.run}/launch")
    ok(
        host.ask(b"?").startswith("no "),
        "the daemon still answers after a message from a sender without an address",
    )
    ok(as_user(USER, lambda: host.ask(b"?")) == "", "a user cannot send to the socket")
    os.chmod(f"{host.run}/launch", 0o666)
    answer = as_user(USER, lambda: host.ask(b"?"))
    ok(
        answer == "no not root",
        "a user's message is refused even if the mode of the socket's file allows it",
        answer,
    )
    os.chmod(f"{host.run}/launch", 0o600)


def modes(host):
    paths = (host.run, f"{host.run}/steps", f"{host.run}/launch", f"{host.run}/state")
    return [oct(stat.S_IMODE(os.stat(p).st_mode)) for p in paths]


# ----------------------------------------------------------------- documents


def test_documents(host):
    document = until(host.document, 4)
    ok(document is not None, "a step has a document within four seconds")
    ok(
        host.classes() == ("unknown",) * 3,
        "classes are unknown before there are five samples",
        host.classes(),
    )
    loads = []

    def classed():
        loads.append(host.document()["domains"][0]["misses_per_second"])
        return host.classes() == CLASSES

    ok(until(classed, 12), "classes of ranks follow from the rates in the trace", host.classes())
    time.sleep(0.2)
    classed()
    while loads and not loads[0]:
        loads.pop(0)
    ok(
        loads and all(loads),
        "documents never show a load of 0 for a domain after its first load",
        loads,
    )
    rates = [r["rate"] for r in host.document()["ranks"]]
    ok(rates == list(RATES), "rates in the document equal those of the trace", rates)
    path = f"{host.run}/steps/{host.job}.0.json"

    def read():
        with open(path, encoding="utf-8") as f:
            return len(f.read()) > 100

    ok(as_user(USER, read) == "True", "the step's user can read its document")
    got = as_user(OTHER, read)
    ok(got == "Permission denied", "another user cannot read the document", got)

    def change():
        with open(path, "a", encoding="utf-8") as f:
            f.write("x")

    got = as_user(USER, change)
    ok(got == "Permission denied", "the step's user cannot change the document", got)


def test_stopped(host):
    """The third rank of this trace runs for three readings and never again. The status of all ranks
    says that they are stopped; the daemon does not read the status of ranks that run."""
    got = until(lambda: host.classes() == CLASSES, 12)
    ok(got, "the third rank has a class before it is stopped", host.classes())
    time.sleep(max(0.0, STOPPED + 3 - (time.time() - host.begun)))
    rank = host.document()["ranks"][2]
    ok(
        rank["class"] == CLASSES[2] and not rank["idle"],
        "a stopped rank keeps its class and is not idle",
        rank,
    )
    for number in range(host.ranks):
        host.set_state(number, "S")
    got = until(lambda: host.document()["ranks"][2]["idle"], 8)
    ok(got, "a rank that waits and is not stopped is idle", host.document()["ranks"][2])
    ok(host.classes()[2] == CLASSES[2], "an idle rank keeps its class", host.classes())


def test_cpus(host):
    """The CPUs of the second cache go offline and then online again."""

    def domains():
        return [d["cpus"] for d in host.document()["domains"]]

    same = domains()
    ok(len(same) == 2, "documents have two domains while all CPUs are online", same)
    write(f"{host.top}/sys/devices/system/cpu/online", "0-3\n")
    got = until(lambda: len(domains()) == 1, 12)
    ok(got, "the domains are read again when CPUs go offline", domains())
    write(f"{host.top}/sys/devices/system/cpu/online", "0-7\n")
    got = until(lambda: domains() == same, 12)
    ok(got, "the domains are read again when CPUs come back", domains())
    got = until(lambda: host.classes() == CLASSES, 12)
    ok(got, "classes are kept when the domains are read again", host.classes())


# ---------------------------------------------------------------- settings


def test_settings(host):
    before = host.process
    host.configure("contention_turtle = 50\ncontention_devil = 40\n")
    before.send_signal(signal.SIGHUP)
    got = until(lambda: "the old settings stay" in host.logged(), 5)
    ok(got, "the log says that the old settings stay if nodeos.conf is faulty", host.logged())
    ok("contention_" in host.logged(), "the log names the faulty key of nodeos.conf", host.logged())
    ok(
        host.classes() == CLASSES,
        "classes stay after a faulty nodeos.conf was read",
        host.classes(),
    )
    host.configure("contention_report_interval = 10\n")
    opened = host.logged().count("source replay")
    before.send_signal(signal.SIGHUP)
    got = until(lambda: host.logged().count("source replay") > opened, 5)
    ok(
        got and host.ask(b"?").startswith("no "),
        "the daemon continues after it has read new settings",
        host.logged(),
    )
    got = host.classes()
    ok(got == CLASSES, "classes stay after new settings were read", got)


def test_kills(host, times=KILLS):
    """Kill the daemon while it starts, answers or writes."""
    damaged, answered, classes = [], 0, set()
    for i in range(times):
        host.start(wait=i % 3 != 0)
        if i % 3:
            answered += host.launch().startswith("ok")
        time.sleep(0.01 * (i % 7))
        host.end(signal.SIGKILL)
        try:
            classes.add(host.classes())
        except ValueError as e:
            damaged.append(e)
    ok(not damaged, f"every document is complete after each of {times} kills", damaged)
    ok(answered == times - len(range(0, times, 3)), "each new daemon answers launches", answered)
    ok(classes == {CLASSES}, "classes stay after kills", classes)
    host.start()
    left = [f for f in os.listdir(f"{host.run}/steps") if f.startswith(".")]
    ok(len(left) <= 1, "kills leave at most one temporary file", left)
    host.end(signal.SIGKILL)
    write(f"{host.run}/state", "damaged" * 1000)
    host.start()
    ok(
        "of the earlier daemon are lost" in host.logged() and host.launch() == "ok 3",
        "the daemon starts without the old state if its file is damaged",
        host.logged(),
    )


def test_end(host, reports):
    shutil.rmtree(f"{host.top}/sys/fs/cgroup/{SCOPE}/job_{host.job}")
    document = until(lambda: host.document()["ended"] and host.document(), 12)
    ok(
        document and len(document["ranks"]) == 3,
        "the last document of a step has its ranks, and says that the step has ended",
    )
    path = f"{reports}/{host.job}/n7.json"

    def record():
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    got = until(lambda: (record() or {}).get("ended"), 12)
    ok(got, "the last record of a job is written", record(), host.logged())
    ok(
        os.path.exists(path) and os.stat(path).st_uid == OTHER,
        "records belong to contention_report_user",
    )
    ok(host.end() == 0, "SIGTERM ends the daemon")


# ------------------------------------------------------------------- its cost


def spent(pid):
    """Return the nanoseconds of CPU time and the calls of read and write so far."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        ran = int(f.read().split()[0])
    with open(f"/proc/{pid}/io", encoding="ascii") as f:
        io = dict(line.split(": ") for line in f.read().splitlines())
    return ran, int(io["syscr"]) + int(io["syscw"])


class Costs:
    """Measure, for each number of ranks, the milliseconds until a launch is answered, and CPU time
    and calls of read and write per second."""

    def __init__(self, sizes):
        self.hosts = [Host(n) for n in sizes]
        self.found, self.before = [], []
        for host in self.hosts:
            host.start()
            begun = time.monotonic()
            answer = host.launch()
            took = round((time.monotonic() - begun) * 1000, 2)
            self.found.append({"ranks": host.ranks, "answer": answer, "answered_ms": took})

    def begin(self):
        self.before = [(time.monotonic(), *spent(h.process.pid)) for h in self.hosts]

    def end(self):
        for o, host, (begun, ran, calls) in zip(self.found, self.hosts, self.before):
            took = time.monotonic() - begun
            now = spent(host.process.pid)
            o["cpu_percent"] = round((now[0] - ran) / took / 1e7, 3)
            o["calls"] = round((now[1] - calls) / took, 1)
        self.remove()
        return self.found

    def remove(self):
        for host in self.hosts:
            host.remove()
        self.hosts = []


def test_costs(costs):
    for o in costs.end():
        print(f"# {json.dumps(o)}")
        ok(o["answer"] == f"ok {o['ranks']}", f"{o['ranks']} ranks are counted at their launch", o)
        ok(
            o["calls"] < 20 + 3 * o["ranks"],
            f"for {o['ranks']} ranks, the daemon makes fewer calls a second than 20 and 3 a rank",
            o,
        )


# ----------------------------------------------------------------------- once


def once(host):
    return subprocess.run(
        host.command("--once"), capture_output=True, text=True, timeout=20, check=False
    )


def test_once():
    host = Host(3)
    try:
        r = once(host)
        ok(r.returncode == 0, "--once scans and ends", r.stderr)
        document = host.document()
        ok(
            document and len(document["ranks"]) == 3,
            "--once writes the documents of steps that it finds",
            document,
        )
        host.configure("contention_window = 0\n")
        r = once(host)
        ok(
            r.returncode == 1 and "contention_window" in r.stderr and len(r.stderr) < 600,
            "the daemon does not start with a faulty nodeos.conf",
            r.stderr,
        )
    finally:
        host.remove()


def test_descriptors():
    """With too few descriptors, classes are unknown, and nothing else changes."""
    host = Host(64)
    try:
        with open(host.log, "a", encoding="utf-8") as log:
            host.process = subprocess.Popen(
                ["prlimit", "--nofile=40:40", *host.command()],
                stderr=log,
                env=host.environment(),
            )
        until(host.answers)
        answer = host.launch()
        ok(answer.startswith("ok"), "a launch is answered when descriptors run out", answer)
        until(host.document, 7)
        ok(
            host.process.poll() is None,
            "the daemon continues when descriptors run out",
            host.logged(),
        )
    finally:
        host.remove()


def test_two(host):
    """Start a second daemon for the same directory."""
    r = once(host)
    ok(
        r.returncode == 1 and "another nodeos-contend" in r.stderr,
        "a second daemon for the same directory ends with a message",
        r.stderr,
    )
    ok(
        host.launch() == "ok 3",
        "the first daemon still gets launches after a second daemon has ended",
    )


def unit_exposure():
    """Return the exposure of the unit by systemd-analyze, or None if it is unknown."""
    if not shutil.which("systemd-analyze"):
        return None
    with open(f"{SOURCE}/etc/systemd/nodeos-contend.service.in", encoding="utf-8") as f:
        text = re.sub(r"@pkglibexecdir@/nodeos-contend", "/bin/true", f.read())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/nodeos-contend.service"
        write(path, text)
        r = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", path],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    found = re.search(r"exposure level for \S+: ([0-9.]+)", r.stdout)
    return float(found[1]) if found else None


def test_unit():
    exposure = unit_exposure()
    if exposure is None:
        skip("the unit's exposure is 3.4 at most", "systemd-analyze cannot judge it here")
    else:
        ok(exposure <= 3.4, "the unit's exposure is 3.4 at most", exposure)


def test_failing(reports):
    """The log names a file that cannot be written once, until it can be written again."""
    host = Host(1, job=77)
    host.configure(f"contention_report_dir = {reports}\ncontention_report_user = {OTHER}\n")
    block = f"{host.run}/steps/.{host.job}.0.json.new"
    os.makedirs(block)
    os.mkdir(f"{reports}/{host.job}")
    try:
        host.start()
        until(lambda: "File exists" in host.logged())
        time.sleep(6)
        ok(
            host.logged().count("output: ") == 1,
            "a document that cannot be written is named once",
            host.logged(),
        )
        os.rmdir(block)
        until(lambda: "belongs to user 0" in host.logged())
        time.sleep(3)
        ok(
            host.logged().count("output: ") == 2 and host.document(),
            "a record that cannot be written is named after documents are written again",
            host.logged(),
        )
        os.rmdir(f"{reports}/{host.job}")
        until(lambda: "works again" in host.logged(), 15)
        ok(
            host.logged().count("output: works again") == 1
            and os.path.exists(f"{reports}/{host.job}/n7.json"),
            "the log says when a record is written again",
            host.logged(),
        )
    finally:
        host.remove()


def stopped_trace(rank, reading):
    return Host.steady(rank, min(reading, STOPPED) if rank == 2 else reading)


def main():
    if os.geteuid() != 0 or not os.access(DAEMON, os.X_OK):
        print("1..0 # SKIP needs root and nodeos-contend")
        return 0
    if sys.argv[1:2] == ["--cost"]:
        costs = Costs([int(n) for n in sys.argv[2:]] or (4, 64, 256))
        time.sleep(2)
        costs.begin()
        time.sleep(30)
        for o in costs.end():
            print(json.dumps(o))
        return 0
    costs = Costs((4, 64, 256))
    stopped = Host(3, trace=stopped_trace)
    # ranks get a class after two samples instead of five
    stopped.configure("contention_majority = 2\n")
    host = Host(3)
    # the daemon refuses a directory below /tmp
    reports = tempfile.mkdtemp(prefix="nodeos-contend.", dir="/run")
    os.chown(reports, OTHER, OTHER)
    try:
        for number in range(stopped.ranks):
            stopped.set_state(number, "T")
        stopped.start()
        host.start()
        test_once()
        test_unit()
        costs.begin()
        ok(
            modes(host) == ["0o755", "0o755", "0o600", "0o600"],
            "the daemon's files have the expected modes",
            modes(host),
        )
        test_messages(host)
        test_two(host)
        test_documents(host)
        test_stopped(stopped)
        test_costs(costs)
        test_cpus(host)
        test_settings(host)
        host.end(signal.SIGKILL)
        host.configure(f"contention_report_dir = {reports}\ncontention_report_user = {OTHER}\n")
        test_kills(host)
        test_descriptors()
        test_end(host, reports)
        test_failing(reports)
    finally:
        for h in (costs, host, stopped):
            h.remove()
        shutil.rmtree(reports)
    return done()


if __name__ == "__main__":
    sys.exit(main())
