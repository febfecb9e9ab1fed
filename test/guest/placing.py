# SPDX-License-Identifier: GPL-2.0-or-later
# The CPU's identity chooses the row of events.d; the counts come from a simulated
# cache of each socket.
# boot: nodes=1 numa=2 memory=1536 llc=size=4M qemu="-cpu EPYC-Milan"
# run: ci limit=600 part
# run: deep limit=3600
# rooms: migration placement contend contention host launch spank tools
"""Test that ranks are placed over the caches of a node by their classes, and that their pages
follow. The ranks are Slurm's; each of two sockets has a simulated last-level cache.

placing.py [GROUP...]"""

import os
import re
import signal
import statistics
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
    kill_pid,
    main_pid,
    root,
    run_suite,
    unit_pids,
)

# the sockets of the guest, as sets of CPUs
SOCKETS = [set(range(0, 8)), set(range(8, 16))]
# srun puts ranks on the sockets in turn, so both devils are on one socket and both turtles on the
# other
BAD = "triad/16M,loop/1M,triad/16M,loop/1M"
DEVILS = (0, 2)
# the row amdzen3 of events.d, with samples of the simulated cache
SAMPLED = (
    "AuthenticAMD-25-0..F sampled A-; instructions 0xc0; misses 0x4844; misses 0xff72;"
    " remote 0x4044; sample simllc/0x78"
)
JOURNAL = "/run/nodeos-contend/moving"  # the daemon's journal of unfinished moves
KILLS = 100  # number of times that group_kills() kills the daemon
ROUNDS = 8  # number of steps in which the kills aim at unfinished moves
ONE_MOVE = 6  # largest number of kills during one move


def socket_of(cpus):
    """Return the socket of CPUS, 0 or 1, or None if they are of both."""
    found = [i for i, s in enumerate(SOCKETS) if cluster.cpus(cpus) <= s]
    return found[0] if found else None


def allowed_lists(pid):
    """Return the different lists of CPUs on which threads of PID may run."""
    found = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as f:
            text = f.read()
        found.add(re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.M).group(1))
    return found


def allowed(pid):
    """Return the sockets on which threads of PID may run."""
    return {socket_of(text) for text in allowed_lists(pid)}


def threads(d):
    """Return for each rank the different sets of CPUs on which its threads may run."""
    return [
        [cluster.cpus(text) for text in sorted(allowed_lists(r["pid"]))]
        for _, r in sorted(by_rank(d).items())
    ]


def where(d):
    """Return the socket of each rank, as the kernel shows it."""
    return [sorted(allowed(r["pid"]), key=str) for _, r in sorted(by_rank(d).items())]


def cpuset_of(pid):
    """Return the CPUs of PID's cpuset, which is that of its container."""
    with open(f"/proc/{pid}/cgroup") as f:
        path = f.read().split("::", 1)[1].strip()
    with open(f"/sys/fs/cgroup{path}/cpuset.cpus.effective") as f:
        return cluster.cpus(f.read().strip())


def pages(pid):
    """Return the number of anonymous pages of PID on each memory node."""
    count = [0, 0]
    with open(f"/proc/{pid}/numa_maps") as f:
        for line in f:
            if "anon=" in line and "file=" not in line:
                for node, n in re.findall(r" N(\d)=(\d+)", line):
                    count[int(node)] += int(n)
    return count


def elsewhere(pid, socket):
    """Return the percentage of anonymous pages that are not on the memory node of the rank's
    socket."""
    count = pages(pid)
    return 100 * count[1 - socket] / max(1, sum(count))


def moves(d):
    return [r["moves"] for _, r in sorted(by_rank(d).items())]


def parted(d):
    """Return whether one devil and one turtle are on each socket."""
    at = where(d)
    return len(at) == 4 and at[0] != at[2] and at[1] != at[3] and all(len(a) == 1 for a in at)


def calls(functions, action):
    """Run ACTION. Return (process, CPU, function) for each call of FUNCTIONS meanwhile."""
    with Trace(functions) as trace:
        trace.record(action)
        lines = trace.lines()
    found = [re.match(r"\s*(.+)-\d+\s+\[0*(\d+)\].*: (\w+)", line) for line in lines]
    return [m.groups() for m in found if m]


def bindings(action):
    """Run ACTION. Return how often NodeOS has written to a cpuset and bound a thread meanwhile."""
    write, bind = "cpuset_write_resmask", "sched_setaffinity"
    called = [f for name, _, f in calls(f"{write} {bind}", action) if name.startswith("nodeos")]
    return called.count(write), called.count(bind)


def start_bad():
    """Start a step that is placed badly. Return the step, and its document when it is placed
    well."""
    step = Load(130, BAD, "-n4 -c4 --nodeos-contention=dino")
    d = step.wait(lambda d: len(by_rank(d)) == 4, 40)
    same(where(d), [[0], [1], [0], [1]], "Slurm puts both devils on one socket")
    return step, step.wait(lambda d: sum(moves(d)) and parted(d), 90)


def group_part():
    """Test two devils on one socket and two turtles on the other: one devil and one turtle move,
    with their pages, and no rank moves later."""
    # NUMA balancing is off: otherwise the kernel itself moves pages
    root("sysctl -w kernel.numa_balancing=0")
    begun = []
    bound = bindings(lambda: begun.append(start_bad()))
    step, d = begun[0]
    placed = time.time()
    ok(parted(d), "dino: each socket has a devil and a turtle, as the kernel shows", where(d))
    # a move first widens the cpuset of a rank, which has one thread
    same(bound, (4, 2), "dino: the kernel's trace shows the cpusets and threads of two ranks")
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
        "the devil's pages have followed it: less than 10 % are on the other node",
        (left, step.document().get("placings")),
    )
    r = run(f"nodeosctl contention -j {step.job}")
    ok("placed by dino" in r.out, "nodeosctl contention names the policy", r.text)
    r = root(f"nodeosctl report --job={step.job}")
    ok(r.code == 0 and "placed by dino" in r.out, "the report has the policy", r.text)
    r = root(f"nodeosctl verify --job={step.job}")
    ok(r.code == 0, "nodeosctl verify agrees with ranks that were moved", r.text)
    bound = bindings(lambda: time.sleep(max(0, placed + 62 - time.time())))
    same(moves(step.document()), moves(d), "60 s later, no rank has moved again")
    same(bound, (0, 0), "after the pages have moved, NodeOS writes no cpuset and binds no thread")
    same(step.end().count("load "), 4, "all ranks end by themselves")


def group_openmp():
    """Test ranks of two threads that OpenMP binds, as NodeOS asks it to do: the threads of a rank
    move together, each to a core of its own."""
    spec = ",".join(s + "/omp" for s in BAD.split(","))
    options = "-n4 -c4 --nodeos-contention=dino"
    step = Load(75, spec, options, program=LOAD + "-omp")
    d = step.wait(lambda d: [len(a) for a in threads(d)] == [2, 2, 2, 2], 40)
    same(where(d), [[0], [1], [0], [1]], "OpenMP: Slurm puts both devils on one socket")
    same(
        [len(a) for a in threads(d)],
        [2, 2, 2, 2],
        "OpenMP: each rank has two threads, bound to different CPUs",
    )
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 60)
    ok(parted(d), "OpenMP: each socket has a devil and a turtle, as the kernel shows", where(d))
    same(sorted(moves(d)), [0, 0, 1, 1], "OpenMP: two ranks have moved once")
    why = " ".join(p["why"] for p in d.get("placings", []))
    ok("bound by its user" not in why, "threads that OpenMP binds are not the user's binding", why)
    ok(
        all(len(a) == 2 and not a[0] & a[1] for a in threads(d)),
        "OpenMP: the two threads of a rank share no CPU after the move",
        threads(d),
    )
    same(step.end().count("load "), 4, "OpenMP: all ranks end by themselves")


def group_words():
    """Test ranks that are not moved, each with its reason."""
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
    configure(when="always")  # otherwise a higher peak of an earlier step would be a reason, too
    step = Load(60, BAD, "-n4 -c4 --nodeos-contention=dino", program=f"bash {bind}")
    d = step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 30)
    before = where(d)
    bound = "each rank is bound by its user"
    d = step.wait(lambda d: any(bound in p["why"] for p in d.get("placings", [])), 20)
    ranks = [(r["class"], r["cpus"]) for r in d["ranks"]]
    why = " ".join(p["why"] for p in d.get("placings", []))
    ok(bound in why, "the reason names the user's binding", (why, ranks))
    time.sleep(10)
    same(where(step.document()), before, "ranks that have bound themselves to a CPU stay")
    step.cancel()
    configure(when=None)
    cluster.wait_idle()


def group_two():
    """Test two steps of one job with dino at the same time: each has CPUs of its own, or says why
    it has none."""
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
    """Test that no rank leaves its container if it is resized, suspended and moved at the same
    time."""
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


# Two ranks of 3 MiB each: one fits into a cache of 4 MiB, both do not.
WORST = "scan/3M,loop/1M,scan/3M,loop/1M"
BEST = "scan/3M,scan/3M,loop/1M,loop/1M"
ARMS = (
    ("worst by hand", WORST, "observe", 0),
    ("worst, numa_balancing", WORST, "observe", 1),
    ("dino", WORST, "dino", 0),
    ("dino, numa_balancing", WORST, "dino", 1),
    ("best by hand", BEST, "observe", 0),
)


def counts(d, specs, kind):
    """(Instructions, misses, remote misses) of each rank whose spec begins with KIND."""
    found = [r for n, r in sorted(by_rank(d).items()) if specs.split(",")[n].startswith(kind)]
    return [[r[k] or 0 for k in ("instructions", "misses", "remote")] for r in found]


def measure(specs, policy, balancing, kind="scan"):
    """Measure the ranks of a KIND for 20 s, beginning 20 s after their classes are known or their
    moves are made. Return their misses per 10,000 instructions, the percentage of remote misses,
    and the number of moves. The misses are the mean of the ranks' own rates, since the number of
    instructions of a rank depends on the host."""
    root(f"sysctl -w kernel.numa_balancing={balancing}")
    step = Load(190, specs, f"-n4 -c4 --nodeos-contention={policy}")
    step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 40)
    if policy != "observe":
        step.wait(lambda d: sum(moves(d)) and parted(d), 90)
    time.sleep(20)
    first = step.document()
    time.sleep(20)
    last = step.document()
    ranks = [
        [b - a for a, b in zip(*both)]
        for both in zip(counts(first, specs, kind), counts(last, specs, kind))
    ]
    misses, remote = (sum(r[k] for r in ranks) for k in (1, 2))
    moved = sum(moves(last)), sum(moves(last)) - sum(moves(first))
    step.cancel()
    rates = [1e4 * misses / max(1, instructions) for instructions, misses, _ in ranks]
    return sum(rates) / max(1, len(rates)), 100 * remote / max(1, misses), *moved


def group_arms():
    """Test two scans, which are devils on one socket and turtles on two sockets: dino must make the
    bad placement as good as the placement by hand, and keep it so. The rate of a turtle depends on
    the physical pages of the rank (12 to 20 with the same placement), so rates are compared with
    the bounds of the classes."""
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


# Random lines of 6 MiB. A cache of 4 MiB holds 2/3 of the lines of one rank, or 1/3 for each of two
# ranks. This hardly depends on the physical pages, since nearly all sets have more lines than ways.
# A line is read every nine instructions.
RANDOM = "random/6M,loop/1M,random/6M,loop/1M"
ALONE, TOGETHER = 1e4 / 9 / 3, 1e4 / 9 * 2 / 3  # misses for 10,000 instructions
SAME_RUNS = 3


def group_same():
    """Test two devils and two turtles: after dino's moves, the devils must miss as often as in the
    same placement by hand. Compares medians of alternating runs."""
    arms = {
        "bad": ("bad placement by hand", RANDOM, "observe"),
        "dino": ("dino", RANDOM, "dino"),
        "good": ("good placement by hand", "random/6M,random/6M,loop/1M,loop/1M", "observe"),
    }
    got = {arm: [] for arm in arms}
    for arm in ["bad", *["dino", "good"] * SAME_RUNS]:
        name, specs, policy = arms[arm]
        got[arm].append(measure(specs, policy, 0, kind="random"))
        rate, remote, moved, late = got[arm][-1]
        note(f"{name:24} {rate:8.2f} misses, {remote:5.1f} % remote, {moved} moves, {late} late")
    bad, dino, hand = (statistics.median(r[0] for r in got[arm]) for arm in arms)
    same(
        [r[2:] for r in got["dino"]],
        [(2, 0)] * SAME_RUNS,
        "dino: two moves in each run, and none in the last 20 s",
    )
    ok(
        abs(bad / TOGETHER - 1) < 0.1 and abs(hand / ALONE - 1) < 0.1,
        f"by hand, devils have the misses that are calculated: {TOGETHER:.0f} for 10,000"
        f" instructions with one cache for both, {ALONE:.0f} with one for each",
        got,
    )
    ok(
        abs(dino / hand - 1) < 0.05,
        "after dino's moves, devils miss as often as in the same placement by hand, within 5 %",
        (dino, hand, got),
    )
    ok(all(r[1] < 10 for r in got["dino"]), "less than 10 % of the misses are remote", got)
    root("sysctl -w kernel.numa_balancing=1")


def follow(row, around):
    """Run two scans of 16 of their 48 MiB, and two turtles, which are placed badly. Return the
    number of the scan that dino moves, its rank and that of the turtle in the last document, and
    the percentage of remote misses of the scan in 15 s after its pages have followed."""
    configure(events=row, pages_around=around)
    specs = BAD.replace("triad", "scan")
    step = Load(120, specs, "-n4 -c4 --nodeos-contention=dino")
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 90)
    scan = next((n for n, r in by_rank(d).items() if r["moves"] and n in DEVILS), 0)
    step.wait(lambda d: by_rank(d)[scan]["pages_chosen"], 40)
    time.sleep(12)  # wait until no repetition of the move moves a page
    first = by_rank(step.document())[scan]
    time.sleep(15)
    d = step.document()
    last = by_rank(d)[scan]
    misses, remote = (last[k] - first[k] for k in ("misses", "remote"))
    turtle = next((r for n, r in by_rank(d).items() if r["moves"] and n not in DEVILS), {})
    table = run(f"nodeosctl contention -j {step.job}").out
    note(f"around {around}: {last['pages_moved_bytes'] >> 20} MiB, {d['placings'][0]['pages']}")
    left = elsewhere(last["pid"], socket_of(last["cpus"]))
    step.cancel()
    return {
        "chosen": last["pages_chosen"],
        "moved": last["pages_moved_bytes"] >> 20,
        "of": (last["pages_of_bytes"] or 0) >> 20,
        "turtle": turtle.get("pages_moved_bytes"),
        "elsewhere": left,
        "remote": 100 * remote / max(1, misses),
        "misses": misses,
        "table": [line for line in table.splitlines() if "followed (" in line],
    }


def group_around():
    """Test a rank that reads a third of its memory: only the pages around its sampled misses follow
    it, and its misses are local. Without samples, all of its pages follow."""
    root("sysctl -w kernel.numa_balancing=0")
    got = follow(SAMPLED, 256)
    same(got["chosen"], "sampled", "pages around sampled misses are chosen")
    ok(
        15 <= got["moved"] <= 20 and 48 <= got["of"] <= 60,
        "the 16 MiB that the rank reads have followed it, and few other pages of its 48 MiB",
        got,
    )
    ok(60 < got["elsewhere"] < 75, "the pages that the rank does not read have stayed", got)
    ok(
        got["misses"] > 1e5 and got["remote"] < 10,
        "less than 10 % of the rank's misses are remote",
        got,
    )
    same(got["turtle"], 0, "the pages of a turtle without misses stay")
    ok(
        any("followed (sampled)" in line for line in got["table"]),
        "nodeosctl contention shows how many of the pages moved, and that samples selected them",
        got,
    )
    got = follow(None, 256)
    same(got["chosen"], "whole", "the installed row has no event of samples: all pages are chosen")
    ok(got["moved"] >= 44 and got["elsewhere"] < 10, "all pages have followed the rank", got)
    ok(
        got["misses"] > 1e5 and got["remote"] < 10,
        "less than 10 % of the rank's misses are remote",
        got,
    )
    log = root(f"journalctl -u {UNIT} -o cat | grep contention_pages_around").out
    ok("row amdzen3: no event" in log, "the daemon's log has the reason", log)
    configure(events=None, pages_around=None)
    root("sysctl -w kernel.numa_balancing=1")


def group_later():
    """Test two small step containers that are packed into one socket. Both have devils, so each of
    the job's next two steps must begin with a container on each socket."""
    small = {"container": {"cpus": 4}, "contention": {"policy": "dino"}}
    m = write("small.json", pod(a=small, b=small))
    # the step has all CPUs of the job: if it had fewer, Slurm would take them from both sockets
    line = f"srun -n4 -c4 --nodeos-manifest={m} --nodeos-container=a:0-1,b:2-3 {LOAD}"
    both = ",".join(["triad/8M"] * 4)
    write("later.sh", f"#!/bin/bash\n{line} 40 {both}\n{line} 25 {both}\n{line} 5 loop/1M\n")
    r = run("sbatch --parsable -N1 -n4 -c4 -o later.out later.sh")
    step = Load.__new__(Load)
    step.job, step.specs, step.p = int(r.out or 0), [1] * 4, subprocess.Popen(["sleep", "250"])
    d = step.wait(lambda d: len(by_rank(d)) == 4, 40)
    same(where(d), [[0]] * 4, "the planner packs both containers of the first step")
    d = step.wait(lambda d: all(r["class"] == "devil" for r in d["ranks"]), 40)
    same([r["class"] for r in d["ranks"]], ["devil"] * 4, "both containers have devils")
    for number in ("1", "2"):
        d, end = {}, time.time() + 90
        while time.time() < end and len(d.get("ranks", [])) < 4:
            time.sleep(0.5)
            d = next((x for x in step.documents() if x["step"] == number), {})
        at = where(d)
        ok(
            at in ([[0], [0], [1], [1]], [[1], [1], [0], [0]]),
            f"step {number} has a container on each socket from its start",
            at,
        )
        r = root(f"nodeosctl report --job={step.job}")
        ok(
            r.out.count("had devils in an earlier step, so it shares no cache with another") >= 2,
            f"the report of step {number} has the reason",
            r.text,
        )
    step.p.kill()
    root(f"scancel {step.job}")
    cluster.wait_idle()


def kill_moving(n, stop, killed):
    """Kill the daemon when moves have begun: up to 40 ms after its journal appears, depending on N.
    Then kill the daemons that systemd starts, up to 2 s after their start, until one has repeated
    the move."""
    last = main_pid()
    while not stop.is_set() and not os.path.exists(JOURNAL):
        time.sleep(0.001)
    wait = n % 6 * 0.008
    while os.path.exists(JOURNAL) and len(killed) < ONE_MOVE and not stop.is_set():
        time.sleep(wait)
        if kill_pid(last):
            killed.append(os.path.exists(JOURNAL))
        wait = (3 * n + 5 * len(killed)) % 9 * 0.25
        before, end = last, time.time() + 10
        while last in (0, before) and time.time() < end:
            time.sleep(0.01)
            last = main_pid()


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
    """Kill the daemon 100 times, sometimes during moves. At the end, ranks must be on the CPUs that
    the ledger gives them."""
    path = f"/run/systemd/system/{UNIT}.service.d"
    os.makedirs(path, exist_ok=True)
    with open(f"{path}/kills.conf", "w") as f:
        f.write("[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestartSec=100ms\n")
    root("systemctl daemon-reload")
    configure(when="always", min_move=1)
    files = sorted(os.listdir(os.path.dirname(JOURNAL)))
    within, total = 0, 0
    for n in range(ROUNDS):
        step = Load(120, BAD, "-n4 -c4 --nodeos-contention=dino")
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
            f"round {n}: after {len(killed)} kills, each socket has a devil and a turtle",
            (where(d), killed),
        )
        judge_kills(step, f"round {n}")
        step.cancel()
        cluster.wait_idle()
    ok(within >= ROUNDS // 3, f"at least {ROUNDS // 3} kills hit unfinished moves", (within, total))
    note(f"{total} kills in {ROUNDS} steps, {within} of them while a move was unfinished")
    left = max(0, KILLS - total)
    step = Load(60 + 10 * left, BAD, "-n4 -c4 --nodeos-contention=dino")
    step.wait(lambda d: all(r["class"] != "unknown" for r in d["ranks"]), 40)
    # a kill takes 6 s on a busy machine
    end = time.time() + 10 * left
    while total < KILLS and time.time() < end:
        total += kill_pid(main_pid())
        # the daemon may begin a move 2 to 7 s after its start
        time.sleep(0.5 + 0.7 * (total % 8))
    ok(total >= KILLS, f"the daemon was killed {KILLS} times", total)
    step.wait(parted, 60)
    judge_kills(step, f"after {total} kills")
    step.cancel()
    cluster.wait_idle()
    judge_leftovers(files)
    os.unlink(f"{path}/kills.conf")
    root("systemctl daemon-reload")
    configure(when=None, min_move=None)


def judge_leftovers(files):
    """Check that after the kills and the end of all steps, the daemon has one reader at most, no
    perf event, and no other FILES than before."""
    time.sleep(10)
    pids = unit_pids()
    names = [open(f"/proc/{pid}/comm").read().strip() for pid in pids]
    # one process is the daemon, the other reads /proc/PID/io
    ok(
        sorted(names) in (["nodeos-contend"], ["nodeos-contend", "nodeos-io"]),
        "after the kills, there is one daemon with one reader at most",
        names,
    )
    daemon = main_pid()
    events = [os.readlink(f"/proc/{daemon}/fd/{n}") for n in os.listdir(f"/proc/{daemon}/fd")]
    events = [e for e in events if "perf_event" in e]
    same(events, [], "after the end of all steps, the daemon has no event open")
    same(
        sorted(os.listdir(os.path.dirname(JOURNAL))),
        files,
        "after the kills, the daemon's directory has the files that it had before",
    )
    r = run("pgrep -x nodeos-contend", user="root")
    same(len(r.out.split()), 1, "after the kills, no process of an earlier daemon is left")


def waiting(name):
    """Return the processes whose names begin with NAME and that are in a wait that only SIGKILL or
    nothing ends. (ps would itself wait for a held rank.)"""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as f:
                text = f.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if re.search(rf"^Name:\s+{name}", text, re.M) and re.search(r"^State:\s+D", text, re.M):
            found.append(f"{text.splitlines()[0]} {pid}")
    return found


def drains(action):
    """Run ACTION. Return the names of the processes for which the kernel has drained the lists of
    pages (LRU) of all CPUs meanwhile, and the CPUs that have drained their lists."""
    work = "lru_add_drain_per_cpu"
    called = calls(f"lru_add_drain_all lru_cache_disable {work}", action)
    cpus = [int(cpu) for _, cpu, function in called if function == work]
    return [name for name, _, function in called if function != work], cpus


# A page that one CPU has read is in that CPU's list. If another CPU drops the file, the page is in
# use, and the kernel drains the lists of all CPUs (mm/fadvise.c).
DRAIN = """
import os
cpus = sorted(os.sched_getaffinity(0))
f = os.open("/var/tmp/drain", os.O_RDWR | os.O_CREAT)
os.write(f, b"x" * 4096)
os.fsync(f)
for i in range(4):
    os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
    os.sched_setaffinity(0, {cpus[i % 2]})
    os.pread(f, 4096, 0)
    os.sched_setaffinity(0, {cpus[-1]})
os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)
"""


def drain_all():
    """Run a program that makes the kernel drain the lists of all CPUs, and waits for this."""
    with open(f"{cluster.HOME}/drain.py", "w") as f:
        f.write(DRAIN)
    return root(f"python3 {cluster.HOME}/drain.py", timeout=60)


def judge_host():
    """Test that nothing on the host waits while an address space is held, and that NodeOS drains no
    CPU."""
    idle, _ = drains(lambda: time.sleep(15))
    note(f"these processes make the kernel drain all CPUs in 15 s: {idle}")
    same(
        [name for name in idle if name.startswith("nodeos")],
        [],
        "after the pages have followed, NodeOS makes the kernel drain no other CPU in 15 s",
    )
    r = []
    _, seen = drains(lambda: r.append(drain_all()))
    ok(
        seen and r[0].code == 0,
        "the test sees a program that makes the kernel drain the lists of all CPUs",
        (seen, r[0]),
    )
    # the address space is held for minutes; Python needs some seconds to start
    ok(
        r[0].seconds < 20,
        "a drain of all CPUs does not wait for a held address space",
        r[0].seconds,
    )
    for name, what in (("nodeos-contend", "process of the daemon"), ("kworker", "kernel worker")):
        found = waiting(name)
        time.sleep(1)
        same(
            sorted(set(found) & set(waiting(name))),
            [],
            f"no {what} is in a wait that cannot be killed",
        )


# The rank's memory is on the other socket's node, so the daemon wants it to follow the rank, at the
# time when it is about to move ranks of a step that starts after this one.
AWAY = f"""#!/bin/bash
sleep 15
first=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/self/status)
exec numactl --preferred=$((first < 8)) {HOLD} "$@"
"""
HELD = 200  # seconds
UNANSWERED = "the address space did not respond in time"


def pages_note(d):
    return " ".join(p.get("pages") or "" for p in d.get("placings", []))


def group_held():
    """Test a rank whose FUSE server never answers a fault of the rank. So the rank's mmap_lock is
    held when its pages are to follow. Ranks of another step must be moved, and their pages must
    follow."""
    root("sysctl -w kernel.numa_balancing=0")
    away = write("away.sh", AWAY)
    both_nodes = {"cpus": 4, "mems": 2, "placement": "pack"}
    m = write("held.json", pod(a={"container": both_nodes, "contention": {"policy": "dino"}}))
    begun = time.time()
    held = Load(HELD, "write", f"-n1 -c4 --nodeos-manifest={m}", program=away)
    step = Load(150, BAD, "-n4 -c2 --nodeos-contention=dino")
    same(
        where(step.wait(lambda d: len(by_rank(d)) == 4, 40)),
        [[0], [1], [0], [1]],
        "both steps start with the placement of Slurm",
    )
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 90)
    placed = time.time()
    ok(parted(d), "beside a held address space, each socket gets a devil and a turtle", where(d))
    follow = [n for n in DEVILS if by_rank(d)[n]["moves"]]
    at = {n: socket_of(r["cpus"]) for n, r in by_rank(d).items()}
    left = {0: 100}
    while time.time() < placed + 30 and any(x >= 10 for x in left.values()):
        time.sleep(0.5)
        left = {n: elsewhere(by_rank(d)[n]["pid"], at[n]) for n in follow}
    seconds = time.time() - placed
    ok(
        follow and all(x < 10 for x in left.values()),
        "beside a held address space, the pages of another rank follow within 30 s",
        (left, step.document().get("placings")),
    )
    note(
        f"moved {placed - begun:.0f} s after the start of the held step, pages {seconds:.0f} s"
        " later"
    )
    text = pages_note(held.wait(lambda d: UNANSWERED in pages_note(d), 60))
    ok(
        UNANSWERED in text,
        "the daemon has tried to move the pages of the held rank, and has given up",
        text,
    )
    judge_host()
    r = run("nodeosctl contention", timeout=10)
    ok(
        r.code == 0 and r.seconds < 5,
        "beside a held address space, the command answers at once",
        r.text,
    )
    ok(
        time.time() < begun + HELD - 10 and held.p.poll() is None,
        "the address space was held until the end of the test",
        time.time() - begun,
    )
    same(step.end().count("load "), 4, "all ranks end by themselves")
    held.cancel()


def group_manifest():
    """Test that only the container for which the manifest names a policy is placed."""
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
    """Test that two containers of a job exchange cores. Each is packed into a socket; one has
    devils, the other turtles. The job's next step must have the new cores from its start."""
    root("sysctl -w kernel.numa_balancing=0")
    half = {"cpus": 8, "mems": 2, "placement": "pack"}
    m = write(
        "two.json",
        pod(
            # without this, a request for two memory nodes would spread each container over both
            # sockets
            a={"container": half, "contention": {"policy": "dino"}},
            b={"container": half, "contention": {"policy": "dino"}},
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
    before = counts(step.document(), specs, "loop")
    time.sleep(10)
    after = counts(step.document(), specs, "loop")
    rates = [1e4 * (b[1] - a[1]) / max(1, b[0] - a[0]) for a, b in zip(before, after)]
    ok(max(rates) < 1, "turtles beside devils have no more misses than before", rates)
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
        "the job's next step has two devils on each socket from its start",
    )
    step.p.kill()
    root(f"scancel {step.job}")
    cluster.wait_idle()


# a devil has 192 MiB, so that moving its pages takes three calls of move_pages()
SLOW = BAD.replace("16M", "64M")


def moves_slowly(step):
    """Wait until dino has moved ranks of STEP. Return a document, and the devil that has moved."""
    d = step.wait(lambda d: sum(moves(d)) and parted(d), 90)
    return d, next((r for n, r in by_rank(d).items() if n in DEVILS and r["moves"]), {})


def has_executed(pid):
    with open(f"/proc/{pid}/environ", "rb") as f:
        return b"LOAD_AGAIN=" in f.read()


def begin_move(devil):
    """Wait until a tenth of a rank's pages has been moved. Return the percentage that is still to
    be moved."""
    end = time.time() + 60
    while time.time() < end and elsewhere(devil["pid"], socket_of(devil["cpus"])) > 90:
        time.sleep(0.5)
    return elsewhere(devil["pid"], socket_of(devil["cpus"]))


def judge_daemon(what):
    """Check that the daemon works, and that it has no hanging and no superfluous process."""
    r = root(f"systemctl show -P NRestarts {UNIT}")
    names = [open(f"/proc/{pid}/comm").read().strip() for pid in unit_pids()]
    ok(
        r.out.strip() == "0" and names.count("nodeos-contend") == 1,
        f"{what}: the daemon is at work, with no process too many",
        (r.text, names),
    )
    same(waiting("nodeos-contend"), [], f"{what}: no process of the daemon hangs")


def group_ends():
    """Test ranks that fork, execute a program and end while their pages are being moved, at 2
    MiB/s."""
    root("sysctl -w kernel.numa_balancing=0")
    configure(when="always", page_rate=2)
    specs = SLOW.replace("64M", "64M/exec").replace("loop/1M", "loop/1M/fork")
    step = Load(150, specs, "-n4 -c4 --nodeos-contention=dino")
    d, devil = moves_slowly(step)
    ok(parted(d), "ranks that fork and execute: dino places them", where(d))
    left = begin_move(devil)
    os.kill(devil["pid"], signal.SIGUSR1)
    end = time.time() + 30
    while time.time() < end:
        now = elsewhere(devil["pid"], socket_of(devil["cpus"]))
        if has_executed(devil["pid"]):
            break
        left = now
        time.sleep(0.5)
    ok(
        10 < left < 90 and has_executed(devil["pid"]),
        "the devil executes a program while its pages are being moved",
        left,
    )
    time.sleep(15)
    d = step.document()
    ok(parted(d), "after a rank's execve(), each rank is on one socket, as before", where(d))
    r = root(f"nodeosctl verify --job={step.job}")
    ok(r.code == 0, "after a rank's execve(), nodeosctl verify finds no difference", r.text)
    same(step.end().count("load "), 4, "ranks that fork and execute end by themselves")
    cluster.wait_idle()
    judge_daemon("after a rank's execve()")
    step = Load(150, SLOW, "-n4 -c4 --nodeos-contention=dino")
    d, devil = moves_slowly(step)
    left = begin_move(devil)
    step.cancel()
    cluster.wait_idle()
    ok(10 < left < 90, "the step is cancelled while the devil's pages are being moved", left)
    judge_daemon("after the end of a rank")
    configure(when=None, page_rate=None)
    root("sysctl -w kernel.numa_balancing=1")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


run_suite("placing", GROUPS)
