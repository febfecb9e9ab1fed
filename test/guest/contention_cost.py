# SPDX-License-Identifier: GPL-2.0-or-later
# boot: nodes=1 numa=2 memory=1536 llc=size=4M qemu="-cpu EPYC-Milan"
# run: deep limit=1800
# rooms: contend counters
"""Measure what the observation of ranks costs: instructions of the daemon and of launches, calls of
the PMU when the kernel switches tasks, and interrupts of quiet CPUs. The simulated PMU
(test/simllc) counts each instruction of a task. The printed notes are the numbers of
doc/benchmarks.md.

contention_cost.py [GROUP...]"""

import ctypes
import errno
import json
import math
import os
import statistics
import struct
import subprocess
import sys
import time

import cluster
from cluster import HOME, all_idle, note, ok, run
from containers import write
from loads import LOAD, UNIT, Trace, root

THREADS = f"/sys/fs/cgroup/system.slice/{UNIT}.service/cgroup.threads"
PMU = "/sys/bus/event_source/devices/simllc"
INHERIT, NO_USER, NO_KERNEL = 1 << 1, 1 << 4, 1 << 5  # bits of struct perf_event_attr
PERF_EVENT_OPEN = 298  # of x86-64
KINDS = {"user": NO_KERNEL, "kernel": NO_USER}
libc = ctypes.CDLL(None, use_errno=True)


def text_of(path):
    with open(path) as f:
        return f.read()


class Instructions:
    """Counters of the instructions of tasks, and of all tasks that these start later, for each of
    KINDS."""

    def __init__(self, tids):
        event = int(text_of(f"{PMU}/events/instructions").partition("=")[2], 16)
        self.fds = {kind: [] for kind in KINDS}
        for kind, flags in KINDS.items():
            attr = struct.pack(
                "=IIQQQQQIIQ",
                int(text_of(f"{PMU}/type")),
                64,
                event,
                0,
                0,
                0,
                INHERIT | flags,
                0,
                0,
                0,
            )
            for tid in tids:
                fd = libc.syscall(PERF_EVENT_OPEN, attr, tid, -1, -1, 8)
                if fd < 0 and ctypes.get_errno() == errno.ESRCH:
                    continue  # the thread has ended: slurmd has a thread for each request
                if fd < 0:
                    raise OSError(ctypes.get_errno(), f"perf_event_open of task {tid}")
                self.fds[kind].append(fd)

    def read(self):
        return {
            kind: sum(struct.unpack("=Q", os.read(fd, 8))[0] for fd in fds)
            for kind, fds in self.fds.items()
        }

    def close(self):
        for fd in sum(self.fds.values(), []):
            os.close(fd)


def counted(tids, action):
    """Return how many million instructions TIDS and their children execute during ACTION, by
    kind."""
    count = Instructions(tids)
    before = count.read()
    action()
    after = count.read()
    count.close()
    return {kind: (after[kind] - before[kind]) / 1e6 for kind in KINDS}


def documents(job):
    r = run(f"nodeosctl contention -j {job} --json")
    return json.loads(r.out) if r.code == 0 and r.out.strip() else []


def start(line):
    """Start a command of a job in the background, as alice."""
    argv = ["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "bash", "-c"]
    return subprocess.Popen(
        [*argv, f"exec {line}"],
        env=cluster.clean_env("alice"),
        cwd=HOME,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def end_all(process=None):
    root("scancel -u alice")
    if process:
        process.wait(60)
    cluster.wait_idle()


def group_daemon():
    """Count the daemon's instructions per second for 4, 64 and 256 ranks that sleep."""
    seconds, found = 20, {}
    for ranks in (4, 64, 256):
        write("many.sh", f"#!/bin/bash\nmpirun --oversubscribe -n {ranks} sleep 900\n")
        job = run("sbatch --parsable -N1 -n1 --nodeos-contention=observe many.sh").out.strip()
        seen, end = 0, time.time() + 180
        while seen < ranks and time.time() < end:
            seen = max((len(d["ranks"]) for d in documents(job)), default=0)
            time.sleep(2)
        ok(seen == ranks, f"{ranks} ranks are observed", seen)
        time.sleep(10)
        tids = [int(t) for t in text_of(THREADS).split()]
        m = counted(tids, lambda: time.sleep(seconds))
        found[ranks] = {kind: m[kind] / seconds for kind in m}
        note(
            f"{ranks} ranks: daemon, M instructions a second: user {found[ranks]['user']:.3f},"
            f" kernel {found[ranks]['kernel']:.3f}"
        )
        end_all()
    ok(
        sum(found[256].values()) < 10,
        "observing 256 ranks takes less than 10 M instructions a second",
        found,
    )


def switches(job_step):
    """Return how often the kernel has switched from ranks of a step to other tasks, and the ranks'
    pids."""
    pids = [
        p
        for path in root(f"find /sys/fs/cgroup -path '*{job_step}*' -name cgroup.procs").out.split()
        for p in text_of(path).split()
        if text_of(f"/proc/{p}/comm").strip() == "load"
    ]
    total = 0
    for p in pids:
        for line in text_of(f"/proc/{p}/status").splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total, pids


def trace_calls(seconds, job_step):
    """Return the number of calls of the simulated PMU and of switches of the ranks in SECONDS, and
    the ranks' pids."""
    with Trace("simllc_add simllc_del", kb=65536) as trace:
        before, pids = switches(job_step)
        trace.record(lambda: time.sleep(seconds))
        after, _ = switches(job_step)
        return len(trace.lines()), after - before, pids


def group_switches():
    """Count calls of the PMU when the kernel switches between two ranks that share a CPU."""
    for policy in ("observe", "off"):
        before = cluster.last_job()
        p = start(
            f"srun -n2 -O --cpu-bind=map_cpu:0,0 --nodeos-contention={policy} {LOAD} 90"
            " loop/1M,loop/1M"
        )
        end, pids = time.time() + 60, []
        while len(pids) < 2 and time.time() < end:
            time.sleep(2)
            job = cluster.last_job()
            pids = switches(f"job_{job}/step_0")[1] if job > before else []
        time.sleep(8)
        calls, changed, pids = trace_calls(10, f"job_{job}/step_0")
        note(
            f"{policy}: {changed} switches of {len(pids)} ranks, {calls} calls of the PMU to begin"
            f" or end an event: {calls / max(changed, 1):.2f} a switch"
        )
        if policy == "off":
            ok(
                calls == 0 and changed > 0,
                "a switch between ranks that are not observed does not call the PMU",
                calls,
            )
        else:
            ok(
                changed > 0 and 4 <= calls / changed <= 12,
                "a switch between observed ranks calls the PMU 4 to 12 times",
                (calls, changed),
            )
        end_all(p)


def slurmstepds():
    """Return the pids of all slurmstepd processes."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == "slurmstepd":
                    found.add(pid)
        except OSError:
            pass
    return found


def launched(options, slurmd, before):
    """Return the instructions of launching a step of four ranks in an existing job: those of srun,
    and those of slurmd and its children until the step's slurmstepd has ended."""
    srun = subprocess.Popen(
        ["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "bash", "-c"]
        + [f"echo; read; exec srun {options} -n4 --overlap true >/dev/null"],
        env=cluster.clean_env("alice"),
        cwd=HOME,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    srun.stdout.readline()  # do not count what bash executes before this

    def launch():
        srun.communicate(b"\n", timeout=60)
        end = time.time() + 30
        while slurmstepds() - before and time.time() < end:
            time.sleep(0.1)

    m = counted([srun.pid, *(int(t) for t in os.listdir(f"/proc/{slurmd}/task"))], launch)
    return m if srun.returncode == 0 else None


def middle_of(values):
    """Return the median of VALUES, and the bounds of its 95 % confidence interval by order
    statistics."""
    v, n = sorted(values), len(values)
    tail, k = math.comb(n, 0) / 2**n, 0
    while tail + math.comb(n, k + 1) / 2**n <= 0.025:
        k += 1
        tail += math.comb(n, k) / 2**n
    return statistics.median(v), v[k], v[n - 1 - k]


def group_launch():
    """Compare the instructions of launches with and without observation, in pairs whose order
    alternates."""
    slurmd = root("systemctl show -P MainPID slurmd").out.strip()
    job = run("sbatch --parsable -N1 -n4 --wrap 'sleep 900'").out.strip()
    first, end = time.time(), time.time() + 60
    while run(f"squeue -h -o %T -j {job}").out.strip() != "RUNNING" and time.time() < end:
        time.sleep(1)
    time.sleep(5)
    before = slurmstepds()
    arms = {"without": f"--jobid={job}", "observe": f"--jobid={job} --nodeos-contention=observe"}
    pairs, failed, n = [], 0, 0
    while n < 42 and time.time() < first + 240:
        order = sorted(arms, reverse=n % 2 == 0)
        pair = {arm: launched(arms[arm], slurmd, before) for arm in order}
        failed += None in pair.values()
        if n >= 2 and None not in pair.values():  # the first runs fill the page cache
            pairs.append(pair)
        n += 1
    ok(
        failed == 0 and len(pairs) >= 6,
        "at least six pairs of steps with and without observation run without an error",
        (n, failed),
    )
    for kind in KINDS if pairs else ():
        middle = {arm: statistics.median(p[arm][kind] for p in pairs) for arm in arms}
        ratio, low, high = middle_of([p["observe"][kind] / p["without"][kind] for p in pairs])
        note(
            f"launch, {kind}, {len(pairs)} pairs: without {middle['without']:.2f} M, observe"
            f" {middle['observe']:.2f} M, ratio {ratio:.4f} (95 %: {low:.4f} to {high:.4f})"
        )
        if kind == "user":
            ok(
                ratio <= 1.01,
                "an observed launch takes at most 1 % more user instructions",
                (ratio, low, high),
            )
    end_all()


def calls_of(cpus):
    """Return the number of interrupts by which other CPUs have called functions on CPUS."""
    line = next(x for x in text_of("/proc/interrupts").splitlines() if x.strip().startswith("CAL"))
    return sum(int(line.split()[1 + cpu]) for cpu in cpus)


def group_quiet():
    """Count interrupts of quiet CPUs with ranks, with and without observation."""
    for policy in ("off", "observe"):
        before = cluster.last_job()
        p = start(
            f"srun -n2 -c2 --nodeos-cpus=4 --nodeos-sched=hpc --nodeos-contention={policy} {LOAD}"
            " 120 loop/1M"
        )
        time.sleep(20)
        job = cluster.last_job()
        ok(job > before, f"the job with --nodeos-contention={policy} runs")
        cpus = set()
        for pid in switches(f"job_{job}/step_0")[1]:
            for line in text_of(f"/proc/{pid}/status").splitlines():
                if line.startswith("Cpus_allowed_list"):
                    cpus |= cluster.cpus(line.split()[1])
        first = calls_of(cpus)
        time.sleep(75)
        calls = calls_of(cpus) - first
        ours = [r["our_interrupts"] for d in documents(job) for r in d["ranks"]]
        note(f"{policy}: 75 s, CPUs {sorted(cpus)}: {calls} calls from other CPUs; ours: {ours}")
        if policy == "observe":
            ok(
                len(ours) == 2 and all(n is not None and 1 <= n <= 5 for n in ours),
                "reading the counters every 30 s interrupts a rank one to five times in 95 s",
                ours,
            )
        end_all(p)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(GROUPS)
    cluster.patient()
    r = root(f"systemctl start {UNIT}; systemctl is-active {UNIT}")
    ok(r.code == 0, "nodeos-contend can be started", r.text)
    cluster.run_groups(GROUPS, names, broken=end_all)
    all_idle("cost: the node is idle at the end")
    cluster.done()


main()
