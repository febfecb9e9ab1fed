# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for the suites contention and placing: steps of programs/load.c in the background, the
documents that nodeos-contend writes about them, and the daemon's settings."""

import json
import os
import signal
import subprocess
import sys
import time

import cluster
from cluster import all_idle, note, ok, run

LOAD = "/usr/libexec/nodeos/test/load"
HOLD = "/usr/libexec/nodeos/test/hold"
UNIT = "nodeos-contend"
TRACING = "/sys/kernel/tracing"
KNOWN = ("turtle", "semi-devil", "devil")


def root(command, timeout=180):
    return run(command, user="root", timeout=timeout)


class Load:
    """A step of load.c that runs in the background, and its documents."""

    def __init__(self, seconds, specs, options="", command="srun", program=LOAD, user="alice"):
        self.specs = specs.split(",")
        line = f"{command} {options} {program} {seconds} {specs}"
        argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "bash", "-c"]
        self.before = cluster.last_job()
        self.p = subprocess.Popen(
            [*argv, f"exec {line}"],
            env=cluster.clean_env(user),
            cwd=f"/shared/home/{user}",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.job = self.number = 0
        end = time.time() + 60
        while not self.job and time.time() < end and self.p.poll() is None:
            last = cluster.last_job()
            self.job = last if last > self.before else 0
            time.sleep(0.3)

    def documents(self, user="alice"):
        r = run(f"nodeosctl contention -j {self.job} --json", user=user)
        return json.loads(r.out) if r.code == 0 and r.out.strip() else []

    def document(self):
        """Return the step's document with the most ranks, or {} if there is none yet."""
        found = self.documents()
        return max(found, key=lambda d: len(d["ranks"])) if found else {}

    def wait(self, good, limit=90):
        """Wait for a document for which GOOD() is true. Returns it, or the last document after
        LIMIT seconds."""
        end = time.time() + limit
        d = {}
        while time.time() < end:
            d = self.document() or d
            if d and good(d):
                break
            if self.p.poll() is not None:
                break
            time.sleep(1)
        return d

    def classified(self, n=None, limit=90):
        """Return a document in which N ranks have a class. Wait so long that no sample is from the
        start of a rank."""
        n = n or len(self.specs)
        self.wait(
            lambda d: sum(r["class"] in KNOWN for r in d["ranks"]) >= n,
            limit,
        )
        time.sleep(14)
        return self.document()

    def end(self):
        """Wait until the step ends, and return its output. Cancels the step after 180 s."""
        try:
            out, _ = self.p.communicate(timeout=180)
        except subprocess.TimeoutExpired:
            root(f"scancel {self.job}")
            out, _ = self.p.communicate(timeout=60)
        return out

    def cancel(self):
        root(f"scancel {self.job}")
        self.p.communicate(timeout=60)


def by_rank(d):
    return {r["rank"]: r for r in d.get("ranks", []) if r["rank"] is not None}


def configure(**keys):
    """Set contention_KEY in nodeos.conf, or remove it if its value is None, and restart the
    daemon."""
    for key, value in keys.items():
        root(f"sed -i '/^contention_{key} *=/d' /etc/nodeos/nodeos.conf")
        if value is not None:
            cluster.site(f"contention_{key} = {value}", ("n0",))
    root(f"systemctl restart {UNIT}")


def unit_pids():
    """Return the processes in the daemon's cgroup."""
    with open(f"/sys/fs/cgroup/system.slice/{UNIT}.service/cgroup.procs") as f:
        return [int(n) for n in f.read().split()]


def main_pid():
    """Return the daemon's pid, or 0 if systemd has not started it. This is faster than
    systemctl."""
    try:
        for pid in unit_pids():
            with open(f"/proc/{pid}/status") as f:
                if "\nPPid:\t1\n" in f.read():
                    return pid
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def kill_pid(pid):
    """Kill process PID. Returns False if there is no such process, or PID is 0."""
    try:
        os.kill(pid or sys.maxsize, signal.SIGKILL)
    except (ProcessLookupError, OverflowError):
        return False
    return True


class Trace:
    """Trace calls of kernel functions during record(). FUNCTIONS has their names, with blanks
    between them. Use it in a "with" statement, which ends the tracing. KB is the size of each CPU's
    buffer in kilobytes; None is the kernel's default."""

    def __init__(self, functions, kb=None):
        self.functions, self.size = functions, f"echo {kb} >buffer_size_kb &&" if kb else ""

    def __enter__(self):
        r = root(
            f"cd {TRACING} && echo 0 >tracing_on && {self.size}"
            f" echo {self.functions} >set_ftrace_filter && echo function >current_tracer &&"
            " echo >trace"
        )
        ok(r.code == 0, f"the kernel can trace {self.functions}", r.text)
        return self

    def record(self, action):
        root(f"echo 1 >{TRACING}/tracing_on")
        action()
        root(f"echo 0 >{TRACING}/tracing_on")

    def lines(self):
        """Return a line for each call."""
        return root(f"grep -v '^#' {TRACING}/trace").out.splitlines()

    def __exit__(self, *_):
        root(f"cd {TRACING} && echo nop >current_tracer && echo >set_ftrace_filter && echo >trace")


def run_suite(name, groups):
    """Run the groups that the command line names, or all of GROUPS, and print the daemon's log."""
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(groups)
    cluster.patient()
    # Count only user code, to which the calculated rates apply. Under emulation, a load executes so
    # few instructions a second that the kernel's ticks would matter.
    configure(count="user")
    r = root(f"systemctl is-active {UNIT}")
    ok(r.code == 0, "nodeos-contend starts", r.text + root(f"journalctl -u {UNIT} | tail").out)
    cluster.run_groups(groups, names, broken=lambda: root("scancel -u alice; pkill -x load"))
    log = root(f"journalctl -u {UNIT} -o cat | tail -n 40").out
    note("the daemon's log:\n#   " + log.replace("\n", "\n#   "))
    all_idle(f"{name}: the node is idle at the end")
    cluster.done()
