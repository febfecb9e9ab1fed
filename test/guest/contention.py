# SPDX-License-Identifier: GPL-2.0-or-later
# The CPU's identity chooses the row of events.d; the counts come from a simulated
# cache of each socket.
# boot: nodes=1 numa=2 memory=1536 llc=size=4M qemu="-cpu EPYC-Milan"
# run: ci limit=600 classes
# run: deep limit=2400
# rooms: contention contend host launch tools
"""Test the classes of ranks that Slurm or MPI starts, by the misses of a simulated last-level
cache. Rates must be those calculated from the loads' assembler code (programs/load.c). Other groups
test domains, ranks that fork, exec, sleep or change, a daemon that is killed, and users who may not
read documents.

contention.py [GROUP...]"""

import os
import re
import shutil
import subprocess
import threading
import time

import cluster
from cluster import HOME, ok, run, same
from containers import pod, write
from loads import HOLD, LOAD, UNIT, Load, by_rank, configure, kill_pid, root, run_suite

# Cache lines read from memory for 10,000 instructions, by the assembler of
# test/simllc/test/kinds.h.
RATE = {"muladd": 1e4 / 304, "scan": 1e4 / 32, "triad": 1e4 * 3 / 56, "chase": 1e4 / 3}
CLASS = {"loop": "turtle", "muladd": "semi-devil", "scan": "devil", "triad": "devil"}
CLASS["chase"] = "devil"
PROCS = f"/sys/fs/cgroup/system.slice/{UNIT}.service/cgroup.procs"
KILLS = 100  # number of times that the daemon is killed


def kind(spec):
    return re.split("[/+]", spec)[0]


def judge_rate(rank, spec, what):
    """Check that the rate of RANK is within 10 % of the calculated rate, and that RANK has the
    class of the calculated rate."""
    want = RATE.get(kind(spec), 0)
    got = rank.get("rate")
    good = got is not None and (0.9 * want <= got <= 1.1 * want if want else got < 3)
    ok(
        good,
        f"{what}: a rank with {spec} has {want:.1f} misses for 10,000 instructions",
        f"{got}\n{rank}",
    )
    same(
        rank.get("class"),
        CLASS[kind(spec)] if want else "turtle",
        f"{what}: a rank with {spec} has the class of its rate",
    )


def group_classes():
    """Test that six ranks on two sockets have the calculated rates, though they share caches."""
    specs = "muladd/16M,scan/16M,triad/8M,chase/16M,loop/1M,scan/1M"
    step = Load(60, specs, "-n6 -c2 -m block:block --nodeos-contention=observe")
    d = step.classified()
    ranks = by_rank(d)
    same(sorted(ranks), list(range(6)), "the document has one row for each of six ranks")
    for n, spec in enumerate(step.specs[:5]):
        judge_rate(ranks.get(n, {}), spec, "ranks on two sockets")
    inside = ranks.get(5, {})
    same(
        inside.get("class"), "turtle", "a rank whose 1 MiB fits into its socket's cache is a turtle"
    )
    source = d.get("source", {})
    same(
        tuple(source.get(key) for key in ("provider", "row", "simulated", "user_only")),
        ("perf", "amdzen3", True, True),
        "the document names the counters and their row, and says that they are simulated and"
        " count user code",
    )
    domains = {x["domain"]: x for x in d.get("domains", [])}
    same(len(domains), 2, "the document has a domain for each of two sockets")
    same(
        sorted((x["devils"], x["semi_devils"], x["turtles"]) for x in domains.values()),
        [(0, 0, 2), (3, 1, 0)],
        "each domain has the number of its ranks in each class",
    )
    r = run(f"nodeosctl contention -j {step.job}")
    ok(
        r.code == 0 and "semi-devil" in r.out and "SIMULATED cache" in r.out,
        "nodeosctl contention prints a table",
        r.text,
    )
    r = run(f"nodeosctl contention -j {step.job}", user="bob")
    ok(
        r.code != 0 and str(step.job) in r.err,
        "nodeosctl contention refuses the job of another user",
        r.text,
    )
    run(f"nodeosctl contention -j {step.job} --svg classes.svg")
    out = step.end()
    same(out.count("load "), 6, "all six ranks end without an error")
    text = open(f"{HOME}/classes.svg").read() if os.path.exists(f"{HOME}/classes.svg") else ""
    ok(text.count("devil") and "</svg>" in text, "the picture of the step shows devils", text[:300])


def group_pair():
    """Test that two scans of 3 MiB evict each other in one cache of 4 MiB, but not in two caches,
    and that children of mpirun have classes."""
    for way, where, want in (("0,2", "one socket", "devil"), ("0,8", "two sockets", "turtle")):
        bind = f"--exclusive --cpu-bind=map_cpu:{way}"
        step = Load(50, "scan/3M,scan/3M", f"-n2 -c8 {bind} --nodeos-contention=observe")
        ranks = by_rank(step.classified())
        same(
            (len({r["domain"] for r in ranks.values()}), [r["class"] for r in ranks.values()]),
            (1 if want == "devil" else 2, [want] * 2),
            f"of two scans of 3 MiB on {where}, each is a {want}",
        )
        step.cancel()
    write(
        "pair.sh",
        f"#!/bin/bash\nmpirun --bind-to core -n 2 {LOAD}-mpi 40 loop/1M,scan/16M\n",
    )
    r = run("sbatch --parsable -N1 -n2 -c2 --nodeos-contention=observe pair.sh")
    step = Load.__new__(Load)
    step.job, step.specs, step.p = int(r.out or 0), [1, 1], subprocess.Popen(["sleep", "60"])
    ranks = step.classified().get("ranks", [])
    same(
        sorted((x["command"], x["class"]) for x in ranks if x["kind"] == "child"),
        [("load-mpi", "devil"), ("load-mpi", "turtle")],
        "the two children of mpirun in a batch job are ranks with their own classes",
    )
    step.p.kill()
    cluster.wait_idle()


def group_shared():
    """Test that two ranks that share a CPU have their own rates, that a rank that hardly computes
    is no devil, and that the class of a rank changes with its load."""
    step = Load(50, "loop/1M,scan/16M", "-n2 -O --cpu-bind=map_cpu:0,0 --nodeos-contention=observe")
    ranks = by_rank(step.classified())
    for n, spec in enumerate(step.specs):
        judge_rate(ranks.get(n, {}), spec, "two ranks share a CPU")
    step.end()
    step = Load(60, "io/1,loop/1M+scan/16M", "-n2 -c2 --nodeos-contention=observe")
    step.classified(1)
    d = step.wait(lambda d: by_rank(d).get(1, {}).get("class") == "devil", 60)
    ranks = by_rank(d)
    idle, changed = ranks.get(0, {}), ranks.get(1, {})
    ok(
        idle.get("cpu_percent", 100) < 10 and idle.get("class") in ("unknown", "turtle"),
        "a rank that writes files and sleeps is no devil",
        idle,
    )
    same(idle.get("idle"), True, "a rank that hardly computes is reported as idle")
    ok(
        changed.get("class") == "devil" and changed.get("changes", 0) >= 1,
        "a rank that changes from a loop to a scan becomes a devil",
        changed,
    )
    step.end()


def group_none():
    """Test that without counters the class is unknown, with the reason, and that the step runs as
    usual."""
    root(f"systemctl stop {UNIT}; rmmod simllc")
    root(f"systemctl start {UNIT}")
    step = Load(20, "scan/16M", "-n1 --nodeos-contention=observe")
    d = step.wait(lambda d: d.get("ranks") and d["ranks"][0]["cpu_percent"] not in (None, 0), 30)
    rank = (d.get("ranks") or [{}])[0]
    same(
        (d.get("source", {}).get("provider"), rank.get("class"), rank.get("instructions")),
        ("none", "unknown", None),
        "without the PMU, the class is unknown and there are no counts",
    )
    r = run(f"nodeosctl contention -j {step.job}")
    ok(
        "unknown" in r.out and "cannot open event" in r.out,
        "without the PMU, the table has the reason for the unknown class",
        r.text,
    )
    same(step.end().count("load "), 1, "without the PMU, the step ends without an error")
    root(f"systemctl stop {UNIT}")
    step = Load(3, "loop/1M", "-n1 --nodeos-contention=observe")
    same(step.end().count("load "), 1, "without the daemon, a step that requests observation runs")
    r = run("nodeosctl contention")
    ok(
        r.code != 0 and UNIT in r.err,
        "without the daemon, nodeosctl contention says how to start it",
        r.text,
    )
    root(f"insmod /shared/.nodeos/simllc.ko; systemctl start {UNIT}")


def group_kinds():
    """Test that the misses of a rank are also counted in its children, in its threads, and after an
    exec."""
    for how in ("fork", "thread", "exec"):
        step = Load(50, f"scan/16M/{how}", "-n1 -c2 --nodeos-contention=observe")
        ranks = by_rank(step.classified())
        judge_rate(ranks.get(0, {}), step.specs[0], how)
        step.cancel()
    m = write(
        "two.json",
        pod(
            sim={"container": {"cpus": 4}, "contention": {"policy": "observe"}},
            vda={"container": {"cpus": 4}},
        ),
    )
    step = Load(
        40,
        "scan/16M,loop/1M",
        f"-n2 -c4 --nodeos-manifest={m} --nodeos-container=sim:0,vda:1",
    )
    d = step.classified(1)
    same(
        sorted((r["container"], r["class"]) for r in d.get("ranks", [])),
        [("sim", "devil")],
        "of a manifest's containers, only the one that requests it is observed",
    )
    step.cancel()
    cluster.site("contention = observe", ("n0",))
    configure(steps="all")
    step = Load(40, "scan/16M", "-n1")
    same(
        [r["class"] for r in step.classified(1).get("ranks", [])],
        ["devil"],
        "contention_steps = all: a step without a container is observed",
    )
    step.cancel()
    root("sed -i '/^contention = observe/d' /etc/nodeos/nodeos.conf")
    configure(steps=None)


def group_resize():
    """Test that the ranks of a container keep their rows when it is resized, and that the rows get
    the new CPUs."""
    step = Load(120, "scan/16M,loop/1M", "-n2 -c4 --nodeos-cpus=8 --nodeos-contention=observe")
    before = by_rank(step.classified())
    r = run(f"nodeosctl resize --step={step.job}.0 step --cpus=4")
    same(r.code, 0, "a container whose ranks are observed can be resized")
    time.sleep(14)
    after = by_rank(step.document())
    same(
        [[len(cluster.cpus(x[n]["cpus"])) for n in sorted(x)] for x in (before, after)],
        [[4, 4], [2, 2]],
        "after a resize, the rows of the ranks have the new CPUs",
    )
    same(
        [after[n]["pid"] for n in sorted(after)],
        [before[n]["pid"] for n in sorted(before)],
        "after a resize, the rows are of the same processes",
    )
    for n, spec in enumerate(step.specs):
        judge_rate(after.get(n, {}), spec, "resized")
    step.cancel()


def group_suspend():
    """Test that a suspended rank keeps its class."""
    step = Load(90, "scan/16M", "-n1 -c2 --nodeos-contention=observe")
    step.classified()
    root(f"scontrol suspend {step.job}")
    time.sleep(15)
    rank = by_rank(step.document()).get(0, {})
    same(
        rank.get("class"),
        "devil",
        "a rank that is suspended for 15 s keeps its class",
    )
    root(f"scontrol resume {step.job}")
    time.sleep(8)
    judge_rate(by_rank(step.document()).get(0, {}), "scan/16M", "resumed")
    step.cancel()


def text_of(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def write_unit(text):
    """Replace the test's drop-in of the daemon's unit, or remove it if TEXT is None. Does not
    restart the daemon."""
    path = f"/run/systemd/system/{UNIT}.service.d"
    shutil.rmtree(path, ignore_errors=True)
    if text:
        os.makedirs(path)
        with open(f"{path}/test.conf", "w") as f:
            f.write(text)
    root("systemctl daemon-reload")


def kill_next(n, last):
    """Wait until systemd has started another daemon than pid LAST, and kill it while it starts or
    later. Returns its pid, or 0."""
    pid, end = 0, time.time() + 60
    while not pid and time.time() < end:
        time.sleep(0.05)
        found = [int(p) for p in text_of(PROCS).split() if int(p) != last]
        # the lowest pid is that of the daemon; its children have higher pids
        pid = min(found, default=0)
    time.sleep(n % 10 * 0.3)
    return pid if kill_pid(pid) else 0


def launch_until(stop, codes):
    """Run observed steps one after the other until STOP is set, and append their exit codes to
    CODES."""
    while not stop.is_set():
        r = run(f"srun -n1 --nodeos-contention=observe {LOAD} 1 loop/1M", timeout=120)
        codes.append(r.code)


def group_kills():
    """Test that killing the daemon at any time affects no rank and no launch."""
    write_unit("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\n")
    # only one rank, since starts of the daemon and launches need the CPUs of the host
    step = Load(60 + 10 * KILLS, "scan/16M", "-n1 -c2 --nodeos-contention=observe")
    before = by_rank(step.classified())
    stop, codes = threading.Event(), []
    launches = threading.Thread(target=launch_until, args=(stop, codes))
    launches.start()
    killed = [0]
    while len(killed) <= KILLS and len(codes) < 10 * KILLS:
        killed += filter(None, [kill_next(len(killed), killed[-1])])
    stop.set()
    launches.join()
    write_unit(None)
    ok(
        len(set(killed)) > KILLS and len(codes) >= 10 and not any(codes),
        f"all launches succeed while the daemon is killed {KILLS} times",
        (killed, codes),
    )
    ranks = by_rank(step.classified(limit=60))
    same(
        [(ranks[n]["pid"], ranks[n]["changes"]) for n in sorted(ranks)],
        [(before[n]["pid"], before[n]["changes"]) for n in sorted(before)],
        f"after {KILLS} kills of the daemon, the rows are of the same ranks, with the same classes",
    )
    ok(
        all(ranks[n]["instructions"] > before[n]["instructions"] for n in before),
        "the totals of ranks continue across kills of the daemon",
        (before, ranks),
    )
    for n, spec in enumerate(step.specs):
        judge_rate(ranks.get(n, {}), spec, f"after {KILLS} kills")
    step.cancel()
    cluster.wait_idle()


def group_held():
    """Test that a rank whose file server blocks its address space delays neither the daemon nor the
    command."""
    held = Load(60, "", "-n1 -c2 --nodeos-contention=observe", program=HOLD)
    step = Load(40, "scan/16M", "-n1 -c2 --nodeos-contention=observe")
    judge_rate(
        by_rank(step.classified()).get(0, {}),
        "scan/16M",
        "beside a rank whose address space is blocked",
    )
    r = run("nodeosctl contention", timeout=10)
    ok(
        r.code == 0 and r.seconds < 5,
        "nodeosctl contention answers within 5 s beside a rank whose address space is blocked",
        r.text,
    )
    text = root(f"cat /proc/$(systemctl show -P MainPID {UNIT})/wchan; ps -o stat= -C {UNIT}").out
    ok(
        " D" not in text,
        "the daemon is in no uninterruptible wait beside a blocked address space",
        text,
    )
    step.end()
    held.cancel()


def group_interrupts():
    """Test that ranks on quiet CPUs are read every contention_interval_quiet seconds. The
    interrupts are counted."""
    configure(interval_quiet=10)
    step = Load(
        45,
        "scan/16M,scan/16M",
        "-n2 -c2 --nodeos-cpus=4 --nodeos-sched=hpc --nodeos-contention=observe",
    )
    d = step.wait(lambda d: len(d.get("ranks", [])) == 2, 30)
    time.sleep(25)
    d = step.document()
    ranks = by_rank(d)
    ok(
        all(r["quiet"] for r in ranks.values()) and ranks,
        "ranks of policy hpc are on quiet CPUs",
        d,
    )
    ok(
        all(1 <= (r["our_interrupts"] or 0) <= 5 for r in ranks.values()),
        "reading the counters every 10 s causes one to five interrupts in 25 s",
        [r["our_interrupts"] for r in ranks.values()],
    )
    step.end()
    configure(interval_quiet=None)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


run_suite("contention", GROUPS)
