# SPDX-License-Identifier: GPL-2.0-or-later
# The CPU's identity chooses the row of events.d; the counts come from a simulated
# cache of each socket.
# boot: nodes=1 numa=2 memory=1536 llc=size=4M qemu="-cpu EPYC-Milan"
# run: ci limit=600 part
# run: deep limit=3600
# rooms: migration placement contend contention host launch spank tools
"""Ranks are placed over the caches of a node by their classes, and their pages follow: through
Slurm, with a simulated last-level cache on each of two sockets.

placing.py [GROUP...]"""

import os
import re
import subprocess
import threading
import time

import cluster
from cluster import note, ok, run, same
from containers import pod, write
from loads import (
    HOLD,
    LOAD,
    UNIT,
    Load,
    Trace,
    by_rank,
    configure,
    daemon_pid,
    kill_pid,
    root,
    run_suite,
)

# Sockets of the guest, as sets of CPUs.
SOCKETS = [set(range(0, 8)), set(range(8, 16))]
# srun deals ranks to the sockets in turn, so both devils are on one and both turtles on the other
BAD = "triad/16M,loop/1M,triad/16M,loop/1M"
DEVILS = (0, 2)
JOURNAL = "/run/nodeos-contend/moving"  # the daemon's journal of unfinished moves
KILLS = 100  # how often group_kills() kills the daemon
ROUNDS = 12  # number of these kills that are aimed at unfinished moves


def socket_of(cpus):
    """0 or 1; None: the CPUs are of both."""
    found = [i for i, s in enumerate(SOCKETS) if cluster.cpus(cpus) <= s]
    return found[0] if found else None


def allowed(pid):
    """Sockets that the kernel lets the threads of PID run on."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as f:
            text = f.read()
        found.add(socket_of(re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.M).group(1)))
    return found


def where(d):
    """The socket of each rank, by the kernel."""
    return [sorted(allowed(r["pid"]), key=str) for _, r in sorted(by_rank(d).items())]


def cpuset_of(pid):
    """CPUs of PID's cpuset, which is that of its container."""
    with open(f"/proc/{pid}/cgroup") as f:
        path = f.read().split("::", 1)[1].strip()
    with open(f"/sys/fs/cgroup{path}/cpuset.cpus.effective") as f:
        return cluster.cpus(f.read().strip())


def pages(pid):
    """Anonymous pages of PID on each memory node."""
    count = [0, 0]
    with open(f"/proc/{pid}/numa_maps") as f:
        for line in f:
            if "anon=" in line and "file=" not in line:
                for node, n in re.findall(r" N(\d)=(\d+)", line):
                    count[int(node)] += int(n)
    return count


def elsewhere(pid, socket):
    """Percent of its anonymous pages that are not on its socket's memory node."""
    count = pages(pid)
    return 100 * count[1 - socket] / max(1, sum(count))


def moves(d):
    return [r["moves"] for _, r in sorted(by_rank(d).items())]


def parted(d):
    """Is one devil, and one turtle, on each socket?"""
    at = where(d)
    return len(at) == 4 and at[0] != at[2] and at[1] != at[3] and all(len(a) == 1 for a in at)


def group_part():
    """Two devils on one socket and two turtles on the other: one of each moves, with its pages, and
    none later."""
    root("sysctl -w kernel.numa_balancing=0")  # else the kernel itself moves pages
    step = Load(125, BAD, "-n4 -c4 --nodeos-contention=dino")
    d = step.wait(lambda d: len(by_rank(d)) == 4, 40)
    same(where(d), [[0], [1], [0], [1]], "Slurm's order puts both devils on one socket")
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 90)
    placed = time.time()
    ok(parted(d), "dino: each socket has a devil and a turtle, as the kernel shows", where(d))
    same(
        sorted(moves(d)),
        [0, 0, 1, 1],
        "dino: two ranks have moved once, and no other rank has moved",
    )
    placing = d.get("placings", [{}])[0]
    same(
        (placing.get("policy"), placing.get("moves")),
        ("dino", 2),
        "the document has the policy and the number of moves",
    )
    moved = [n for n, r in by_rank(d).items() if r["moves"]]
    follow = [n for n in moved if n in DEVILS]
    end = time.time() + 60
    at = {n: socket_of(r["cpus"]) for n, r in by_rank(d).items()}
    while time.time() < end and any(elsewhere(by_rank(d)[n]["pid"], at[n]) >= 10 for n in follow):
        time.sleep(1)
    left = {n: elsewhere(by_rank(d)[n]["pid"], at[n]) for n in follow}
    ok(
        follow and all(x < 10 for x in left.values()),
        "the devil's pages have followed it: less than 10 % lie elsewhere",
        (left, step.document().get("placings")),
    )
    r = run(f"nodeosctl contention -j {step.job}")
    ok("placed by dino" in r.out, "nodeosctl contention names the policy", r.text)
    r = root(f"nodeosctl report --job={step.job}")
    ok(r.code == 0 and "placed by dino" in r.out, "the report has the policy", r.text)
    r = root(f"nodeosctl verify --job={step.job}")
    ok(r.code == 0, "nodeosctl verify agrees with ranks that were moved", r.text)
    time.sleep(max(0, placed + 60 - time.time()))
    same(moves(step.document()), moves(d), "60 s later, no rank has moved again")
    same(step.end().count("load "), 4, "all ranks end by themselves")


def group_words():
    """Ranks that are not moved, each with the reason."""
    for options, what, want in (
        ("--nodeos-contention=observe", "observe", None),
        ("--nodeos-contention=dino --nodeos-container=none", "no container", None),
        ("--nodeos-contention=dino --nodeos-cpus=8", "a container on one socket", "one domain"),
    ):
        step = Load(40, "triad/8M,triad/8M", f"-n2 -c4 {options}")
        d = step.wait(lambda d: all(r["class"] == "devil" for r in d["ranks"]), 30)
        before = where(d)
        time.sleep(8)
        d = step.document()
        same(where(d), before, f"{what}: no rank moves")
        why = " ".join(p["why"] for p in d.get("placings", []))
        ok((want or "") in why if want else not why, f"{what}: the document gives the reason", why)
        step.cancel()
    bind = write(
        "bind.sh",
        "#!/bin/bash\nmine=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')\n"
        f'exec taskset -c "$mine" {LOAD} "$@"\n',
    )
    step = Load(40, BAD, "-n4 -c4 --nodeos-contention=dino", program=f"bash {bind}")
    d = step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 30)
    before = where(d)
    time.sleep(10)
    d = step.document()
    same(where(d), before, "ranks that have bound themselves to a CPU stay")
    why = " ".join(p["why"] for p in d.get("placings", []))
    ok("each rank is bound by its user" in why, "the reason names the user's binding", why)
    step.cancel()
    cluster.wait_idle()


def group_two():
    """Two steps of one job with dino at once: each has its own CPUs, or says why it has none."""
    write(
        "two.sh",
        f"#!/bin/bash\nsrun -n2 -c4 --exact {LOAD} 20 loop/1M,loop/1M &\n"
        f"srun -n2 -c4 --exact {LOAD} 20 loop/1M,loop/1M &\nwait\n",
    )
    r = run("sbatch --wait -o two.out -N1 -n4 -c4 --nodeos-contention=dino two.sh", timeout=120)
    text = open(f"{cluster.HOME}/two.out").read()
    ok(
        text.count("load ") == 4,
        "two steps of a job with --nodeos-contention=dino run beside each other",
        (r.text, text),
    )


def group_resize():
    """Ranks are resized, suspended and moved at once: none leaves its container."""
    step = Load(120, BAD, "-n4 -c4 --nodeos-cpus=16 --nodeos-contention=dino")
    step.wait(lambda d: sum(moves(d)), 60)
    for cpus in (8, 16, 12, 16):
        r = run(f"nodeosctl resize --step={step.job}.0 step --cpus={cpus}")
        ok(r.code == 0, f"a container that is placed is resized to {cpus} CPUs", r.text)
        time.sleep(3)
        r = root(f"nodeosctl verify --job={step.job}")
        ok(r.code == 0, "nodeosctl verify agrees with the resized container", r.text)
    root(f"scontrol suspend {step.job}")
    time.sleep(5)
    root(f"scontrol resume {step.job}")
    time.sleep(12)
    d = step.document()
    ok(all(len(a) == 1 for a in where(d)), "each rank is on one socket again", where(d))
    same(step.end().count("load "), 4, "all ranks end by themselves")


# Two ranks whose 3 MiB fit into a cache of 4 MiB alone, and not together.
WORST = "scan/3M,loop/1M,scan/3M,loop/1M"
BEST = "scan/3M,scan/3M,loop/1M,loop/1M"
ARMS = (
    ("worst by hand", WORST, "observe", 0),
    ("worst, numa_balancing", WORST, "observe", 1),
    ("dino", WORST, "dino", 0),
    ("dino, numa_balancing", WORST, "dino", 1),
    ("best by hand", BEST, "observe", 0),
)


def counts(d, specs):
    """Instructions, misses and remote misses of the scans together."""
    scans = [r for n, r in by_rank(d).items() if specs.split(",")[n].startswith("scan")]
    return [sum(r[k] or 0 for r in scans) for k in ("instructions", "misses", "remote")]


def measure(specs, policy, balancing):
    """Measure the two scans for 20 s, from half a minute after the classes are known: misses for
    10,000 instructions, the percentage of remote misses, and moves."""
    root(f"sysctl -w kernel.numa_balancing={balancing}")
    step = Load(110, specs, f"-n4 -c4 --nodeos-contention={policy}")
    step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 40)
    time.sleep(30)
    first = step.document()
    time.sleep(20)
    last = step.document()
    instructions, misses, remote = (
        b - a for a, b in zip(counts(first, specs), counts(last, specs))
    )
    moved = sum(moves(last)), sum(moves(last)) - sum(moves(first))
    step.cancel()
    return 1e4 * misses / max(1, instructions), 100 * remote / max(1, misses), *moved


def group_arms():
    """Two scans are devils on one socket and turtles on two sockets: dino turns the bad placement
    into one as good as the placement by hand, and keeps it. The rate of a turtle depends on the
    physical pages of the rank (12 to 20 with the same placement), so rates are compared with the
    bounds of the classes."""
    got = {}
    for arm, specs, policy, balancing in ARMS:
        got[arm] = measure(specs, policy, balancing)
        rate, remote, moved, late = got[arm]
        note(f"{arm:24} {rate:8.2f} misses, {remote:5.1f} % remote, {moved} moves, {late} late")
    worst, best = got["worst by hand"][0], got["best by hand"][0]
    ok(worst > 45, "both scans on one socket are devils", got)
    ok(best <= 30, "a scan on each socket is a turtle", got)
    for arm in ("dino", "dino, numa_balancing"):
        ok(
            got[arm][0] <= 30 and got[arm][0] < worst / 8,
            f"{arm}: the scans are turtles, as with the good placement by hand",
            got,
        )
        same(got[arm][2:], (2, 0), f"{arm}: two moves, and none in the last 20 s")
    root("sysctl -w kernel.numa_balancing=1")


def kill_moving(n, stop, killed):
    """Kill the daemon when moves have begun: up to 40 ms after its journal appears, by N."""
    pid = daemon_pid()
    while not stop.is_set():
        if not os.path.exists(JOURNAL):
            time.sleep(0.001)
            continue
        time.sleep(n % 6 * 0.008)
        if kill_pid(pid):
            killed.append(os.path.exists(JOURNAL))
        return


def judge_kills(step, what):
    """Check that each rank is on one socket, and that ledger and journal agree with the ranks."""
    end = time.time() + 30
    while os.path.exists(JOURNAL) and time.time() < end:
        time.sleep(0.5)
    d = step.document()
    at = where(d)
    good = len(at) == 4 and all(len(a) == 1 and a[0] is not None for a in at)
    ok(good, f"{what}: each rank is on one socket", at)
    r = root(f"nodeosctl verify --job={step.job}")
    ok(r.code == 0, f"{what}: nodeosctl verify finds no difference", r.text)
    ok(not os.path.exists(JOURNAL), f"{what}: no move is left unfinished")


def group_kills():
    """The daemon is killed 100 times, sometimes during moves: in the end, ranks are on the CPUs
    that the ledger gives them."""
    path = f"/run/systemd/system/{UNIT}.service.d"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/kills.conf", "w") as f:
        f.write("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\n")
    root("systemctl daemon-reload")
    configure(when="always", min_move=1)
    within, total = 0, 0
    for n in range(ROUNDS):
        step = Load(90, BAD, "-n4 -c4 --nodeos-contention=dino")
        step.wait(lambda d: len(by_rank(d)) == 4, 40)
        stop, killed = threading.Event(), []
        thread = threading.Thread(target=kill_moving, args=(n, stop, killed))
        thread.start()
        d = step.wait(parted, 60)
        stop.set()
        thread.join()
        total, within = total + len(killed), within + sum(killed)
        ok(
            parted(d),
            f"round {n}: after the kill, each socket has a devil and a turtle",
            (where(d), killed),
        )
        judge_kills(step, f"round {n}")
        step.cancel()
        cluster.wait_idle()
    ok(within >= ROUNDS // 3, f"at least {ROUNDS // 3} kills hit unfinished moves", (within, total))
    step = Load(60 + 10 * KILLS, BAD, "-n4 -c4 --nodeos-contention=dino")
    step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 40)
    # a kill takes 6 s on a busy machine
    end = time.time() + 10 * KILLS
    while total < KILLS and time.time() < end:
        total += kill_pid(daemon_pid())
        # the daemon may begin a move 2 to 7 s after its start
        time.sleep(0.5 + 0.7 * (total % 8))
    same(total, KILLS, f"the daemon was killed {KILLS} times")
    step.wait(parted, 60)
    judge_kills(step, f"after {total} kills")
    step.cancel()
    os.unlink(f"{path}/kills.conf")
    root("systemctl daemon-reload")
    configure(when=None, min_move=None)


def daemon_waits():
    """Is a process of the daemon in a wait that cannot be killed?"""
    with open(f"/sys/fs/cgroup/system.slice/{UNIT}.service/cgroup.procs") as f:
        pids = f.read().split()
    states = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as f:
                states += re.findall(r"^State:\s+(\S)", f.read(), re.M)
        except FileNotFoundError:
            pass
    return "D" in states


def kernel_waits():
    """Workers of the kernel in a wait that cannot be killed (ps would wait for a held rank)."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as f:
                text = f.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if re.search(r"^Name:\s+kworker", text, re.M) and re.search(r"^State:\s+D", text, re.M):
            found.append(text.splitlines()[0])
    return found


def drains(action):
    """Run ACTION; return the CPU of each drain of the kernel's lists of pages (LRU) meanwhile."""
    with Trace("lru_add_drain_per_cpu") as trace:
        trace.record(action)
        return [int(n) for n in re.findall(r"\[(\d+)\]", "\n".join(trace.lines()))]


def drain_all():
    """Run a program that has the kernel drain the lists of all CPUs, and waits for the drains."""
    return root("python3 -c 'import ctypes; ctypes.CDLL(None).mlockall(1)'", timeout=60)


def judge_host(pages_follow):
    """While an address space is held, nothing on the host waits, and no CPU drains endlessly."""
    idle = drains(lambda: time.sleep(15))
    ok(
        pages_follow and len(idle) <= 2,
        "when the pages have followed, at most 2 drains run in 15 s",
        idle,
    )
    r = []
    seen = drains(lambda: r.append(drain_all()))
    ok(seen and r[0].code == 0, "a program that drains the lists of all CPUs is seen", (seen, r[0]))
    # the address space is held for at least a minute; Python needs some seconds to start
    ok(
        r[0].seconds < 20,
        "a drain of all CPUs does not wait for a held address space",
        r[0].seconds,
    )
    waits = kernel_waits()
    time.sleep(1)
    same(
        sorted(set(waits) & set(kernel_waits())),
        [],
        "no worker of the kernel is in a wait that cannot be killed",
    )


def group_held():
    """A rank whose address space is held by its own file server, in a container that is placed:
    other ranks are moved, and their pages follow."""
    root("sysctl -w kernel.numa_balancing=0")
    held = Load(140, "", "-n1 -c4 --nodeos-contention=dino", program=HOLD)
    step = Load(120, BAD, "-n4 -c2 --nodeos-contention=dino")
    same(
        where(step.wait(lambda d: len(by_rank(d)) == 4, 40)),
        [[0], [1], [0], [1]],
        "both steps start, in Slurm's order",
    )
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 60)
    ok(parted(d), "beside a held address space a devil and a turtle are on each socket", where(d))
    follow = [n for n in DEVILS if by_rank(d)[n]["moves"]]
    at = {n: socket_of(r["cpus"]) for n, r in by_rank(d).items()}
    end = time.time() + 30
    while time.time() < end and any(elsewhere(by_rank(d)[n]["pid"], at[n]) >= 10 for n in follow):
        time.sleep(1)
    left = {n: elsewhere(by_rank(d)[n]["pid"], at[n]) for n in follow}
    ok(
        follow and all(x < 10 for x in left.values()),
        "the pages of another rank follow within 30 s",
        (left, step.document().get("placings")),
    )
    ok(not daemon_waits(), "no process of the daemon is in a wait that cannot be killed")
    judge_host(all(x < 10 for x in left.values()))
    r = run("nodeosctl contention", timeout=10)
    ok(r.code == 0 and r.seconds < 5, "the command answers at once", r.text)
    same(step.end().count("load "), 4, "all ranks end by themselves")
    held.cancel()


def group_manifest():
    """Only the container whose manifest names a policy is placed."""
    m = write(
        "two.json",
        pod(
            sim={"container": {"cpus": 12}, "contention": {"policy": "dino"}},
            vda={"container": {"cpus": 4}, "contention": {"policy": "observe"}},
        ),
    )
    step = Load(
        60,
        "triad/8M,triad/8M,loop/1M,loop/1M",
        f"-n4 -c4 --nodeos-manifest={m} --nodeos-container=sim:0-2,vda:3",
    )
    d = step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 40)
    d = step.wait(lambda d: d.get("placings"), 20)
    same([p["container"] for p in d["placings"]], ["sim"], "the container with dino is placed")
    step.cancel()
    cluster.wait_idle()


def group_exchange():
    """Two containers of a job, packed on a socket each, one of devils and one of turtles, exchange
    cores; the job's next step has the new cores at once."""
    root("sysctl -w kernel.numa_balancing=0")
    m = write(
        "two.json",
        pod(
            a={"container": {"cpus": 8, "mems": 2}, "contention": {"policy": "dino"}},
            b={"container": {"cpus": 8, "mems": 2}, "contention": {"policy": "dino"}},
        ),
    )
    specs = ",".join(["triad/8M"] * 4 + ["loop/1M"] * 4)
    line = "srun -n8 -c2 --nodeos-container=a:0-3,b:4-7"
    write(
        "exchange.sh",
        f"#!/bin/bash\n{line} {LOAD} 110 {specs}\n{line} {LOAD} 20 {specs}\n",
    )
    r = run(f"sbatch --parsable -N1 -n8 -c2 --nodeos-manifest={m} exchange.sh")
    step = Load.__new__(Load)
    step.job, step.specs, step.p = int(r.out or 0), [1] * 8, subprocess.Popen(["sleep", "250"])
    d = step.wait(lambda d: len(by_rank(d)) == 8, 40)
    same(where(d), [[0]] * 4 + [[1]] * 4, "the planner packs each container into a socket")
    d = step.wait(lambda d: sum(moves(d)), 90)
    time.sleep(2)
    at = where(d)
    same(
        (sorted(at[:4]), sorted(at[4:])),
        ([[0], [0], [1], [1]],) * 2,
        "two devils and two turtles are on each socket",
    )
    same(sum(moves(d)), 4, "four ranks have moved")
    sets = [cpuset_of(r["pid"]) for _, r in sorted(by_rank(d).items())]
    ok(
        all(a == sets[0] for a in sets[:4]) and all(b == sets[4] for b in sets[4:]),
        "ranks of a container share a cpuset",
        sets,
    )
    same(sorted(sets[0] | sets[4]), list(range(16)), "the two containers have all CPUs")
    same(sorted(sets[0] & sets[4]), [], "after the exchange, no CPU is in both cpusets")
    r = root(f"nodeosctl verify --job={step.job}")
    ok(r.code == 0, "nodeosctl verify agrees with containers that exchanged cores", r.text)
    end = time.time() + 60
    left = [100]
    while time.time() < end and max(left) >= 10:
        time.sleep(2)
        left = [elsewhere(r["pid"], at[n][0]) for n, r in sorted(by_rank(d).items())[:4]]
    placings = step.document().get("placings")
    ok(max(left) < 10, "the devils' pages are on their sockets", (left, placings))
    second, end = {}, time.time() + 120
    while time.time() < end and len(second.get("ranks", [])) < 8:
        time.sleep(1)
        second = next((x for x in step.documents() if x["step"] == "1"), {})
    at = where(second)
    same(
        (sorted(at[:4]), sorted(at[4:])),
        ([[0], [0], [1], [1]],) * 2,
        "the job's next step has two devils on each socket at once",
    )
    step.p.kill()
    root(f"scancel {step.job}")
    cluster.wait_idle()


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


run_suite("placing", GROUPS)
