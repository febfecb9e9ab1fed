#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: nodes=1 numa=2 cpus=4 memory=1024 kernel=debian kvm=yes
# run: ci limit=900 main
# run: deep limit=3600 main inside program multi coupled steps partition users exec refused pools
#   killed outcomes bad
# run: deep limit=9000 thousand
# run: deep nodes=2 limit=1800 hosts
# run: deep put=bench limit=1800 site
# rooms: lwk hugepages container launch spank manifest
"""Ranks of srun in machines of nodeos-lwk (--nodeos-lwk), as KVM's debugfs, the kernel's pools of
huge pages and Slurm show them. lwk.py GROUP...: these groups only."""

import glob
import json
import os
import random
import re
import sys
import time

import cluster
from cluster import HOME, all_idle, ok, run, same
from containers import pod, write

KVM = "/sys/kernel/debug/kvm"
TRACE = "/sys/kernel/tracing"
SMALL = "/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/{}"
STATE = "/run/nodeos-hugepages"
FRESH = "/usr/libexec/nodeos/test/fresh-mpi"


def srun(options, command, timeout=240, **more):
    return run(f"srun -c1 --mpi=none {options} {command}", timeout=timeout, **more)


def pool(name="nr_hugepages"):
    """Return the number of huge pages of 2 MiB of each node."""
    out = []
    for node in (0, 1):
        with open(SMALL.format(node, name)) as f:
            out.append(int(f.read()))
    return out


def set_pool(node, number):
    with open(SMALL.format(node, "nr_hugepages"), "w") as f:
        f.write(str(number))


def machines():
    """Return the processes that have a machine, as the names of KVM's directories show them."""
    return {int(os.path.basename(p).split("-")[0]) for p in glob.glob(f"{KVM}/[0-9]*-*")}


def ranks_of(name):
    """Return the processes of alice with this name."""
    return {int(p) for p in run(f"pgrep -u alice -x {name}", user="root").out.split()}


def wait_until(what, limit=60):
    end = time.time() + limit
    while not what() and time.time() < end:
        time.sleep(1)  # poll seldom: each poll takes CPU time from the ranks
    return what()


def clean(what, pages=(0, 0)):
    """Check that nothing is left after a step."""
    ok(wait_until(lambda: pool() == list(pages)), f"{what}: the pools are as before", pool())
    same(machines(), set(), f"{what}: no machine is left")
    same(os.listdir(STATE) if os.path.isdir(STATE) else [], [], f"{what}: no record is left")


def start(options, command):
    """Start a step that runs until it is cancelled. Return its job when its ranks run."""
    name = command.split()[0]
    run(f"srun -c1 --mpi=none {options} {command} >/tmp/step.out 2>&1 & sleep 0.1")
    wait_until(lambda: len(ranks_of(name)) >= 2, 120)
    return run("squeue -h -o %i", user="root").out.strip()


def begin(options, limit=240, command=f"{FRESH} 600"):
    """Start MPI ranks that fill new memory again and again. Return their processes once all do
    so."""
    command = f"srun --mpi=pmix {options} {command} >/tmp/step.out 2>&1"
    run(f"({command}; echo ended $? >>/tmp/step.out) >/dev/null 2>&1 & sleep 0.1")
    output = "cat /tmp/step.out"
    wait_until(lambda: re.search("begins|ended", run(output, user="root").out), limit)
    time.sleep(3)
    ranks = ranks_of("fresh-mpi")
    if not ranks:
        cluster.note(run(output, user="root").text)
    return ranks


def minor_faults(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[7])


def fault_growth(pids, seconds=5):
    """Return how many page faults the kernel handles for each process in this time."""
    before = {p: minor_faults(p) for p in pids}
    time.sleep(seconds)
    return sorted(minor_faults(p) - before[p] for p in pids)


def mappings(pid):
    """(first address, address behind it, what /proc/PID/maps calls it) of each mapping."""
    found = []
    for line in run(f"cat /proc/{pid}/maps", user="root").out.splitlines():
        words = line.split(None, 5)
        first, last = (int(x, 16) for x in words[0].split("-"))
        found.append((first, last, f"{words[1]} {(words + ['private memory'])[5]}"))
    return found


def faults_seen(pids, seconds=5):
    """Return where these processes have page faults in this time: {mapping: (process, offset,
    flags)}. A probe at the kernel's function for page faults also sees those that KVM causes."""

    def trace(path, text):
        to = os.open(f"{TRACE}/{path}", os.O_WRONLY | os.O_APPEND * (path == "kprobe_events"))
        os.write(to, text.encode())
        os.close(to)

    trace("kprobe_events", "p:nodeos/fault handle_mm_fault address=%si flags=%dx:x32\n")
    trace("options/record-tgid", "1")
    open(f"{TRACE}/trace", "w").close()
    trace("events/nodeos/fault/enable", "1")
    time.sleep(seconds)
    trace("events/nodeos/fault/enable", "0")
    with open(f"{TRACE}/trace") as f:
        text = f.read()
    trace("kprobe_events", "-:nodeos/fault\n")
    maps = {p: mappings(p) for p in pids}
    found = {}
    for m in re.finditer(r"\( *(\d+)\) \[.*address=0x(\w+) flags=(\w+)", text):
        pid, address = int(m[1]), int(m[2], 16)
        for first, behind, name in maps.get(pid, []):
            if first <= address < behind:
                found.setdefault(name, []).append((pid, hex(address - first), m[3]))
    return found


def exits_of(pid):
    """Return the number of exits of a process's machine, as KVM counts them."""
    total = 0
    for path in glob.glob(f"{KVM}/{pid}-*/exits"):
        with open(path) as f:
            total += int(f.read())
    return total


def extent_of(pid):
    """(bytes, contiguous parts, nodes) of the process's extent, by its page frame numbers and
    numa_maps."""
    nodes = None
    memfds = [m[:2] for m in mappings(pid) if m[2].startswith("rw") and " /memfd:" in m[2]]
    if not memfds:
        return 0, 0, set()
    found = max(memfds, key=lambda m: m[1] - m[0])
    parts, last = 0, None
    with open(f"/proc/{pid}/pagemap", "rb") as f:
        for at in range(found[0], found[1], 2 << 20):
            f.seek(at // 4096 * 8)
            frame = int.from_bytes(f.read(8), "little") & (1 << 55) - 1
            parts += last is None or frame != last + 512
            last = frame
    for line in run(f"cat /proc/{pid}/numa_maps", user="root").out.splitlines():
        if line.startswith(f"{found[0]:x} "):
            nodes = set(map(int, re.findall(r" N(\d+)=", line)))
    return found[1] - found[0], parts, nodes


def private_share(pid):
    """Return the share of the process's private writable memory that is in huge pages of
    hugetlb."""
    huge = other = 0
    for line in run(f"cat /proc/{pid}/smaps", user="root").out.splitlines():
        m = re.match(r"(Private_Dirty|Shared_Hugetlb|Private_Hugetlb): +(\d+)", line)
        if m and m[1] == "Private_Dirty":
            other += int(m[2])
        elif m:
            huge += int(m[2])
    return huge / ((huge + other) or 1)


def memory_limit(pid):
    """Return memory.max of the cgroup directory of the step's ranks, in bytes; 0: no limit."""
    with open(f"/proc/{pid}/cgroup") as f:
        path = f.read().strip().partition("::")[2]
    with open(f"/sys/fs/cgroup{os.path.dirname(path)}/memory.max") as f:
        text = f.read().strip()
    return int(text) if text.isdigit() else 0


def group_main():
    """srun --nodeos-lwk -n 4 ./mpi, seen from outside, beside the same without the option."""
    native = begin("-n4 -c1 --mem=1000")
    same(len(native), 4, "main: four native ranks run")
    growth = fault_growth(native)
    ok(growth and min(growth) > 1000, "main: native ranks have page faults in new memory", growth)
    ok(
        all(not exits_of(p) and private_share(p) == 0 for p in native),
        "main: native ranks have no machine and no huge pages",
    )
    ok(faults_seen(native, 1), "main: a probe in the kernel sees the page faults of native ranks")
    limit = memory_limit(min(native)) if native else 0
    run("scancel -u alice")
    all_idle("main: the node becomes idle after the native ranks")
    report = f"{HOME}/main.%j.%s.%N.json"
    ranks = begin(f"-n4 -c1 --mem=1000 --nodeos-lwk --nodeos-report={report}", 400)
    same(len(ranks), 4, "main: four ranks run with --nodeos-lwk")
    same(ranks, machines() & ranks, "main: KVM shows a machine for each of the four ranks")
    before = {p: exits_of(p) for p in ranks}
    for _ in range(3):  # wait until each rank has executed all parts of its program
        where = faults_seen(ranks)
        if not where:
            break
        cluster.note(f"page faults: {where}")
    same(where, {}, "main: a probe sees no page fault of ranks in machines in 5 s")
    growth = fault_growth(ranks)
    same(growth, [0] * 4, "main: /proc/PID/stat counts no page fault of ranks in machines in 5 s")
    ok(
        all(exits_of(p) > before[p] > 0 for p in ranks),
        "main: KVM counts exits of the ranks' machines",
    )
    shares = [private_share(p) for p in ranks]
    ok(
        shares and min(shares) > 0.9,
        "main: the private memory of ranks in machines is in huge pages",
        shares,
    )
    (path,) = glob.glob(f"{HOME}/main.*.json")
    with open(path) as f:
        document = json.load(f)
    extents = {r["pid"]: r["lwk"] for r in document["ranks"]}
    seen = {p: extent_of(p) for p in ranks}
    cluster.note(f"{shares} {seen} {list(extents.values())[:1]}")
    same(
        {p: e["memory_bytes"] for p, e in extents.items()},
        {p: s[0] for p, s in seen.items()},
        "main: the report has the bytes of the ranks' extents",
    )
    same(
        {p: e["extents"] for p, e in extents.items()},
        {p: s[1] for p, s in seen.items()},
        "main: the report has the number of contiguous parts of each extent, by frame numbers",
    )
    ok(
        all("at most" not in e["summary"] for e in extents.values()),
        "main: the report has the proof of each rank's extent",
        extents,
    )
    same(
        sum(pool("free_hugepages")),
        0,
        "main: no page of the ranks' pools is free for other processes",
    )
    same(
        limit - (memory_limit(min(ranks)) if ranks else 0),
        sum(e["memory_bytes"] for e in extents.values()),
        "main: the step's memory limit is lower by the ranks' extents",
    )
    run("scancel -u alice")
    all_idle("main: the node becomes idle after scancel")
    clean("main")
    with open(path) as f:
        document = json.load(f)
    counts = [r["lwk"].get("counts") for r in document["ranks"]]
    ok(
        all(c and c["exits"]["calls"] > 100 and len(c["calls"]) == 5 for c in counts),
        "main: the report has the counts of calls and exits of each machine until it was killed",
        counts,
    )


def group_inside():
    before = machines()
    report = f"{HOME}/lwk.%j.%s.%N.json"
    job = start(f"-n2 --nodeos-lwk=64M --nodeos-report={report}", "sleep 300")
    ranks = ranks_of("sleep")
    same(len(ranks), 2, "inside: two ranks run")
    ok(
        ranks and ranks <= machines() - before,
        "inside: KVM shows a machine for each rank",
        f"{ranks} {machines()}\n" + run("cat /tmp/step.out; ls -l /dev/kvm", user="root").text,
    )
    same(sum(pool()), 64, "inside: the pools have 2 x 32 more pages of 2 MiB")
    same(sum(pool("free_hugepages")), 0, "inside: no added page is free for other processes")
    documents = [json.load(open(p)) for p in glob.glob(f"{HOME}/lwk.{job}.*.json")]
    extents = [r.get("lwk") for d in documents for r in d["ranks"]]
    ok(
        len(extents) == 2 and all(e and e["memory_bytes"] == 64 << 20 for e in extents),
        "inside: the report has the extent of each rank",
        documents,
    )
    ok(
        all(e and 1 <= e["extents"] <= 32 and e["shortest_bytes"] >= 2 << 20 for e in extents),
        "inside: the report has how contiguous each extent is",
        extents,
    )
    run(f"scancel {job}")
    all_idle("inside: the node becomes idle after scancel")
    clean("inside")
    run("srun -n2 --mpi=none sleep 300 >/dev/null 2>&1 & sleep 0.1")
    wait_until(lambda: len(ranks_of("sleep")) >= 2)
    same(machines(), set(), "inside: ranks without the option have no machine")
    run("scancel -u alice")
    all_idle("inside: the node becomes idle")


def group_program():
    for command in ("sh -c 'echo $0 $1; exit 7' a b", "printenv SLURM_PROCID", "false"):
        native, inside = srun("-n2", command), srun("-n2 --nodeos-lwk=32M", command)
        same(
            (inside.code, sorted(inside.out.split())),
            (native.code, sorted(native.out.split())),
            f"program: {command} has the same exit status and output as without a machine",
        )
    same(
        srun("-n1 --nodeos-lwk=32M", "nothing").code, 127, "program: a missing program is not found"
    )
    r = run("echo words | srun -n1 --mpi=none --nodeos-lwk=32M cat")
    same((r.code, r.out), (0, "words\n"), "program: a program in a machine reads standard input")
    r = srun("-n1 --nodeos-lwk=32M", "printenv")
    ok(
        "NODEOS_LWK" not in r.out,
        "program: the environment of a program in a machine has no variable of nodeos-lwk",
        r.text,
    )
    count = "grep -c nodeos-lwk /proc/self/maps"
    r = cluster.sbatch(
        f"-n1 -c1 --mem=300 -o {HOME}/batch.out --nodeos-lwk"
        f" --wrap='{count}; srun --mpi=none -n1 {count}'"
    )
    with open(f"{HOME}/batch.out") as f:
        lines = f.read().splitlines()
    ok(
        r.code == 0 and len(lines) == 2 and lines[0] == "0" and int(lines[1]) > 0,
        "program: in a batch job, the ranks of srun have machines, and the script has none",
        f"{r.text}\n{lines}",
    )
    clean("program")


def group_multi():
    """Test an MPI job whose ranks 0 and 1 are in machines, and whose ranks 2 and 3 are not."""
    two = {"container": {"cpus": "2"}}
    pods = pod(sim={**two, "lwk": {"memory": "128M"}}, vda=two)
    manifest = write("multi.json", pods)
    conf = write("multi.conf", f"0-1 {FRESH} 600\n2-3 {FRESH} 600\n")
    ranks = begin(
        f"-n4 -c1 --mem=1000 --nodeos-manifest={manifest} --nodeos-container=sim:0-1,vda:2-3"
        f" --multi-prog {conf}",
        400,
        "",
    )
    same(len(ranks), 4, "multi: four ranks of --multi-prog run")
    by_number = {}
    for p in ranks:
        words = run(f"tr '\\0' '\\n' </proc/{p}/environ", user="root").out.splitlines()
        by_number[dict(w.split("=", 1) for w in words if "=" in w)["SLURM_PROCID"]] = p
    inside = {n for n, p in by_number.items() if p in machines()}
    same(
        inside, {"0", "1"}, "multi: the ranks in container sim have machines, the others have none"
    )
    same(sum(pool()), 128, "multi: the pools have pages for two extents")
    run("scancel -u alice")
    all_idle("multi: the node becomes idle")
    clean("multi")


def group_coupled():
    """Test a simulation in machines and its analysis outside: each rank's number must reach all
    others."""
    two = {"container": {"cpus": "2"}}
    manifest = write("coupled.json", pod(sim={**two, "lwk": {"memory": "128M"}}, vda=two))
    conf = write("coupled.conf", f"0-1 {FRESH} 5\n2-3 {FRESH} 5\n")
    for how, name in (("sm,self", "shared memory"), ("tcp,self", "TCP")):
        r = run(
            f"srun --mpi=pmix -n4 -c1 --mem=1000 --nodeos-manifest={manifest}"
            f" --nodeos-container=sim:0-1,vda:2-3 --multi-prog {conf}",
            timeout=400,
            env={"OMPI_MCA_btl": how},
        )
        found = sorted(re.findall(r"^fresh (\d) of 4 \d+ rounds (\d+)$", r.out, re.M))
        same(
            (r.code, found),
            (0, [(str(n), "6") for n in range(4)]),
            f"coupled: ranks in machines and outside add their numbers over {name}",
        )
    clean("coupled")


def group_steps():
    """Test a terminal, -K, a time limit and the tasks of an array: all work as without machines."""
    lwk = "--nodeos-lwk=32M"
    for option in ("", lwk):
        r = run(f"script -qec 'srun -n1 -c1 --mpi=none --pty {option} tty' /dev/null", timeout=240)
        ok(
            r.code == 0 and re.search(r"/dev/pts/\d", r.out),
            f"steps: a rank has a terminal with --pty {option}",
            r.text,
        )
    ends = "sh -c 'test $SLURM_PROCID = 0 && exit 3; exec sleep 300'"
    native, inside = srun("-K1 -n2", ends), srun(f"-K1 -n2 {lwk}", ends)
    same(
        inside.code,
        native.code,
        "steps: with -K, a rank that fails ends the step with its exit code",
    )
    ok(
        inside.seconds < 120,
        "steps: with -K, the other rank, which sleeps for 300 s, ends, too",
        inside.seconds,
    )
    r = srun(f"-t1 -n2 {lwk}", "sleep 300")
    ok(r.code != 0 and "TIME LIMIT" in r.err, "steps: a step ends at its time limit", r.text)
    ok(r.seconds < 150, "steps: a step with a time limit of a minute ends within 150 s", r.seconds)
    r = run(
        f"sbatch --array=0-1 -n1 -c1 --mem=300 -o {HOME}/array.%a.out --nodeos-lwk"
        " --wrap='srun --mpi=none -n1 grep -c nodeos-lwk /proc/self/maps'"
    )
    wait_until(lambda: not run("squeue -h").out, 240)
    texts = [open(f"{HOME}/array.{n}.out").read() for n in (0, 1)]
    ok(
        r.code == 0 and all(t.strip().isdigit() and int(t) > 0 for t in texts),
        "steps: the ranks of each task of an array have machines",
        (r.text, texts),
    )
    all_idle("steps: the node becomes idle")
    clean("steps")


def group_hosts():
    """Test an MPI job with four ranks in machines on each of two nodes."""
    for how in ("", "--nodeos-lwk"):
        r = run(
            f"srun --mpi=pmix -N2 -n8 --ntasks-per-node=4 -c1 --mem=1000 {how} {FRESH} 5",
            timeout=400,
        )
        found = sorted(re.findall(r"^fresh (\d) of 8 \d+ rounds (\d+)$", r.out, re.M))
        ok(
            (r.code, found) == (0, [(str(n), "28") for n in range(8)]),
            f"hosts: eight ranks on two nodes add their numbers {how}",
            r.text,
        )
    begin("-N2 -n8 --ntasks-per-node=4 -c1 --mem=1000 --nodeos-lwk", 400)
    seen = cluster.both(f"ls {KVM} | grep -c '^[0-9]*-'; pgrep -c -x fresh-mpi")
    same(
        {n: r.out.split() for n, r in seen.items()},
        {"n0": ["4", "4"], "n1": ["4", "4"]},
        "hosts: KVM shows four machines on each node",
    )
    run("scancel -u alice", user="root")
    all_idle("hosts: the nodes become idle")
    clean("hosts")
    same(
        run(f"cat {SMALL.format('*', 'nr_hugepages')}", user="root", node="n1").out.split(),
        ["0", "0"],
        "hosts: the pools of the other node have as many pages as before",
    )


def group_partition():
    """Test that the ranks' step is a root partition if the site allows it and a core stays
    outside."""
    cluster.site("allow_partitions = member,root", ["n0"])
    kinds = "cat $(find /sys/fs/cgroup -path '*step_0/user/cpuset.cpus.partition')"
    for cpus, want in ((4, "root"), (2, "member")):
        command = "srun -n2 -c1 --mpi=none --nodeos-lwk=32M sleep 300"
        run(f"salloc -n{cpus} -c1 {command} >/tmp/step.out 2>&1 & sleep 0.1")
        wait_until(lambda: len(ranks_of("sleep")) == 2 and ranks_of("sleep") <= machines(), 120)
        # a step becomes a partition when its launch has ended
        wait_until(lambda want=want: run(kinds, user="root").out.split() == [want], 30)
        same(
            run(kinds, user="root").out.split(),
            [want],
            f"partition: the step of two ranks in a job of {cpus} CPUs is {want}",
        )
        run("scancel -u alice", user="root")
        all_idle("partition: the node becomes idle")
        clean("partition")
    run("sed -i '/^allow_partitions/d' /etc/nodeos/nodeos.conf", user="root")


def group_site():
    """Test bench/run site, by which a site compares ranks in machines with other ranks."""
    cluster.site("allow_partitions = member,root", ["n0"])
    to = f"{HOME}/site"
    r = run(
        "/shared/here/bench/run site --quick --ranks 2 --memory 64M --seconds 1 --format json"
        " --arms native+partition+locked+lwk2m --programs detour+triad+cg+pingpong"
        f" --out {to}",
        timeout=1500,
    )
    ok(r.code == 0, "site: bench/run site succeeds", r.text)
    (table,) = json.loads(r.out) if r.code == 0 else [{"head": [], "rows": []}]
    same(
        table["head"][2:],
        ["native", "partition", "locked", "lwk2m"],
        "site: the table has a column for each arm",
    )
    figures = {row[0]: row[2:] for row in table["rows"]}
    same(
        sorted(figures),
        [
            "cg: cg_iterations_a_second",
            "detour: detours_a_second",
            "detour: detours_percent",
            "detour: longest_detour_us",
            "pingpong: message_us",
            "triad: triad_GB_a_second",
        ],
        "site: the table has a row for each figure",
    )
    means = [cell["mean"] for row in figures.values() for cell in row]
    ok(means and min(means) > 0, "site: all means are above 0", means)
    ok(os.path.exists(f"{to}/site.svg"), "site: there is a plot")
    run("sed -i '/^allow_partitions/d' /etc/nodeos/nodeos.conf", user="root")
    all_idle("site: the node becomes idle")
    clean("site")


FOREIGN = """
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, at, fds = int(sys.argv[1]), int(sys.argv[2], 16), [int(n) for n in sys.argv[3:]]
own = ctypes.create_string_buffer(b"x" * 16, 16)
ours, theirs = struct.pack("PN", ctypes.addressof(own), 16), struct.pack("PN", at, 16)

def show(what, function):
    try:
        print(what, function())
    except OSError as e:
        print(what, os.strerror(e.errno))

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return "done"

def take():
    handle = libc.syscall(434, pid, 0)  # pidfd_open
    checked(handle)
    for fd in fds:
        checked(libc.syscall(438, handle, fd, 0))  # pidfd_getfd
    return "done"

show("read", lambda: checked(libc.process_vm_readv(pid, ours, 1, theirs, 1, 0)))
show("write", lambda: checked(libc.process_vm_writev(pid, ours, 1, theirs, 1, 0)))
show("mem", lambda: open(f"/proc/{pid}/mem", "r+b") and "done")
show("map", lambda: os.listdir(f"/proc/{pid}/map_files") and "done")
show("take", take)
huge = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000  # MAP_HUGETLB
show("fill", lambda: mmap.mmap(-1, 2 << 20, huge).write(b"x") and "done")
"""


def check_foreign(what, pid):
    """What bob tries with the extent and the files of PID, a rank of alice: each way has to fail,
    and each but the last one has to work for alice herself."""
    found = [m[0] for m in mappings(pid) if " /memfd:" in m[2]]
    fds = run(f"ls /proc/{pid}/fd", user="root").out.split()
    with open("/tmp/foreign.py", "w") as f:
        f.write(FOREIGN)
    run("sysctl kernel.yama.ptrace_scope=0", user="root")
    command = f"python3 /tmp/foreign.py {pid} {found[0] if found else 0:x} {' '.join(fds)}"
    denied = "Operation not permitted"
    seen = dict(line.split(" ", 1) for line in run(command, "bob").out.splitlines() if " " in line)
    want = {"read": denied, "write": denied, "mem": "Permission denied", "take": denied}
    want |= {"map": "Permission denied", "fill": "Cannot allocate memory"}
    same(seen, want, f"{what}: bob neither reads, writes nor takes what alice's rank has")
    seen = set(run(command).out.splitlines())
    ok(
        {"read done", "write done", "mem done", "take done"} <= seen,
        f"{what}: alice, who may, does so in the same ways",
        seen,
    )


def group_users():
    """Test steps of two users that enlarge and shrink the same pools."""
    for user in ("alice", "bob"):
        run("srun -n1 -c1 --mpi=none --nodeos-lwk=64M sleep 300 >/dev/null 2>&1 & sleep 0.1", user)
    pids = {}
    for user in ("alice", "bob"):
        find = f"pgrep -u {user} -x sleep"
        wait_until(lambda find=find: run(find, user="root").out, 120)
        pids[user] = run(find, user="root").out.strip()
    wait_until(lambda: len(machines()) == 2)
    same(sum(pool()), 64, "users: the pools have the pages of both users' steps")
    r = run(f"ls -l /proc/{pids['alice']}/fd", "bob")
    ok(r.code != 0, "users: bob does not see the files of alice's rank", r.text)
    check_foreign("users", int(pids["alice"]))
    run("scancel -u alice", user="root")
    ok(
        wait_until(lambda: sum(pool()) == 32),
        "users: the pages of alice's step go back to the kernel at its end",
        pool(),
    )
    ok(int(pids["bob"]) in machines(), "users: bob's rank continues")
    run("scancel -u bob", user="root")
    all_idle("users: the node becomes idle")
    clean("users")


def group_exec():
    """Test programs that a rank executes."""
    r = srun("-n1 --nodeos-lwk=32M", "sh -c 'exec sh -c \"exec printenv SLURM_PROCID\"'")
    same(
        (r.code, r.out),
        (0, "0\n"),
        "exec: the third program that a rank executes has the rank's extent",
    )
    r = srun("-n1 --nodeos-lwk=32M", "sh -c 'echo $(echo forked); true; exit 3'")
    same((r.code, r.out), (3, "forked\n"), "exec: a rank forks, and its child executes a program")
    r = srun("-n1 --nodeos-lwk=32M,loose", "sh -c 'exec ls -l /proc/self/fd'")
    ok(
        r.code == 0 and "runs outside" in r.err and not re.search("kvm|memfd", r.out),
        "exec: with loose, a program outside of machines has no file of the machine",
        r.text,
    )
    for option, want in (("", False), (",loose", True)):
        r = srun(f"-n1 --nodeos-lwk=32M{option}", "sh -c 'exec numactl --show'")
        same(
            "policy: default" in r.out,
            want,
            f"exec: a program has the default memory policy only outside of machines: 32M{option}",
        )
    run("srun -n1 -c1 --mpi=none --nodeos-lwk=64M sh -c 'exec sleep 300' >/dev/null 2>&1 & sleep 1")
    ok(
        wait_until(lambda: ranks_of("sleep") and ranks_of("sleep") <= machines(), 120),
        "exec: a program that a script executes has a machine",
        f"{ranks_of('sleep')} {machines()}",
    )
    (pid,) = ranks_of("sleep") or [0]
    seen = extent_of(pid) if pid else (0, 0, 0)
    same(seen[0], 64 << 20, "exec: a program that a script executes has all of the rank's extent")
    same(
        sum(pool()), 32, "exec: a program that a script executes needs no more pages than the rank"
    )
    run("scancel -u alice")
    all_idle("exec: the node becomes idle")
    clean("exec")


def group_refused():
    r = srun("-n2 --nodeos-lwk=4G", "echo started")
    ok(
        r.code != 0 and "started" not in r.out and "4096 MiB" in r.err,
        "refused: extents that exceed the node's memory are refused before any rank starts",
        r.text,
    )
    clean("refused")
    os.chmod("/dev/kvm", 0o600)
    r = srun("-n2 --nodeos-lwk=32M", "echo started")
    ok(
        r.code != 0 and "started" not in r.out and "/dev/kvm" in r.err,
        "refused: a step of a user who may not open /dev/kvm is refused",
        r.text,
    )
    cluster.site("lwk_fallback = native", ["n0"])
    r = srun("-n2 --nodeos-lwk=32M", "echo started")
    same(
        (r.code, r.out),
        (0, "started\n" * 2),
        "refused: with lwk_fallback = native, this user's step runs without machines",
    )
    run("sed -i '/^lwk_fallback/d' /etc/nodeos/nodeos.conf", user="root")
    cluster.site("lwk = yes", ["n0"])
    job = start("-n2 --nodeos-lwk=32M", "sleep 300")
    ok(
        ranks_of("sleep") and ranks_of("sleep") <= machines(),
        "refused: with lwk = yes, root opens /dev/kvm for the ranks",
        run("cat /tmp/step.out", user="root").text,
    )
    check_foreign("refused", min(ranks_of("sleep") or {0}))
    for user in ("alice", "bob"):
        r = run("exec 3<>/dev/kvm", user)
        ok(r.code != 0, f"refused: {user} cannot open /dev/kvm, which the site closed", r.text)
    run(f"scancel {job}")
    all_idle("refused: the node becomes idle")
    run("sed -i '/^lwk = /d' /etc/nodeos/nodeos.conf", user="root")
    os.chmod("/dev/kvm", 0o666)
    clean("refused")


def group_pools():
    """Test that the site may change a pool while a step has pages in it."""
    set_pool(0, 3)
    job = start("-n2 --nodeos-lwk=32M", "sleep 300")
    same(sum(pool()), 35, "pools: the pool has the site's pages and those of the step")
    set_pool(1, pool()[1] + 4)
    run(f"scancel {job}")
    all_idle("pools: the node becomes idle")
    clean("pools", (3, 4))
    set_pool(0, 0)
    set_pool(1, 0)


def group_killed():
    job = start("-n2 --nodeos-lwk=32M", "sleep 300")
    run(f"kill -9 {min(ranks_of('sleep'))}", user="root")
    run(f"scancel {job}")
    all_idle("killed: the node is idle after a rank was killed")
    clean("killed: a rank")
    job = start("-n2 --nodeos-lwk=32M", "sleep 300")
    run(f"pkill -9 -f 'slurmstepd: \\[{job}.0\\]'", user="root")
    run("pkill -9 -u alice -x sleep", user="root")
    run(f"scancel {job}")
    all_idle("killed: the node is idle after slurmstepd was killed")
    r = srun("-n2 --nodeos-lwk=32M", "true")
    same(r.code, 0, "killed: the next step runs")
    clean("killed: slurmstepd")


def outcome_of(options, command="sleep 3"):
    """Return the outcome, the reason and the ranks' interrupts per second in the report of a step
    that has ended."""
    run(f"rm -f {HOME}/outcome.*.json")
    r = srun(f"-n2 {options} --nodeos-report={HOME}/outcome.%j.%s.%N.json", command)
    for path in glob.glob(f"{HOME}/outcome.*.json"):
        with open(path) as f:
            document = json.load(f)
        rates = [
            r["lwk"]["counts"]["interrupts_per_second"] for r in document["ranks"] if "lwk" in r
        ]
        return document["outcome"], document["reason"], rates
    return "no report", r.text, []


def group_outcomes():
    """Test the outcomes of steps, and the reasons."""
    nohz, faked = "/sys/devices/system/cpu/nohz_full", "/tmp/nohz"
    count = "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'"
    outcome, reason, rates = outcome_of("--nodeos-lwk=32M", count)
    found = re.fullmatch(
        r"lwk: ranks get ticks: Linux was booted without nohz_full=CPUS; (\d+) interrupts a second",
        reason or "",
    )
    ok(
        outcome == "modified" and found and len(rates) == 2,
        "outcomes: without nohz_full=, the outcome is modified, and the reason has the ticks",
        (outcome, reason, rates),
    )
    rate = int(found[1]) if found else -1
    ok(
        rates and min(rates) <= rate <= max(rates) + 1 and rate > 10,
        "outcomes: the reason has as many interrupts per second as the ranks counted",
        (rate, rates),
    )
    outcome, reason, _ = outcome_of("--nodeos-lwk=share,page=1G")
    ok(
        outcome == "modified" and "lwk: 2M pages" in (reason or ""),
        "outcomes: with pages of 2M instead of 1G, the outcome is modified",
        (outcome, reason),
    )
    # let the file be as after a boot with nohz_full=0-3
    run(f"echo 0-3 >{faked}; mount --bind {faked} {nohz}", user="root")
    outcome, reason, _ = outcome_of("--nodeos-lwk=32M")
    same(
        (outcome, reason), ("enforced", None), "outcomes: with nohz_full=, the outcome is enforced"
    )
    run(f"umount {nohz}", user="root")
    os.chmod("/dev/kvm", 0o600)
    cluster.site("lwk_fallback = native", ["n0"])
    outcome, reason, _ = outcome_of("--nodeos-lwk=32M")
    same(
        (outcome, reason),
        ("modified", "lwk: no KVM here: the ranks run natively"),
        "outcomes: with lwk_fallback = native and without KVM, the outcome is modified",
    )
    run("sed -i '/^lwk_fallback/d' /etc/nodeos/nodeos.conf", user="root")
    os.chmod("/dev/kvm", 0o666)
    all_idle("outcomes: the node becomes idle")
    clean("outcomes")


HOG = """
import mmap, time
end = time.time() + 60
while time.time() < end:
    try:
        m = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
        m.write(b"x")
        time.sleep(0.02)
        m.close()
    except OSError:
        time.sleep(0.002)
"""


def check_hog():
    """Test alice's steps while bob takes each huge page that is free for a moment."""
    with open("/tmp/hog.py", "w") as f:
        f.write(HOG)
    run("python3 /tmp/hog.py >/dev/null 2>&1 & sleep 0.5", "bob")
    results = [srun("-n2 --nodeos-lwk=32M", "echo ran") for _ in range(6)]
    said = re.compile("other programs have (reserved|taken) the added huge pages|is fragmented")
    ok(
        all(
            r.out == "ran\n" * 2 if r.code == 0 else not r.out and said.search(r.err)
            for r in results
        ),
        "bad: beside a program that takes huge pages, a step runs, or is refused with the reason",
        [r.text for r in results],
    )
    cluster.note(f"{sum(r.code == 0 for r in results)} of {len(results)} steps ran beside the hog")
    run("pkill -u bob -f hog.py", user="root")
    all_idle("bad: the node becomes idle after the steps beside the hog")
    left = [n - s for n, s in zip(pool(), pool("surplus_hugepages"))]
    same(left, [0, 0], "bad: the steps beside the hog leave no page in the pools")
    r = srun("-n2 --nodeos-lwk=32M", "true")
    same((r.code, r.err), (0, ""), "bad: a step runs after the hog")
    # Linux can leave a free page as surplus; the end of the next step removes it
    clean("bad: a neighbour that takes huge pages")


def check_suspend():
    loop = "sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done; echo counted $i'"
    run(f"srun -n2 -c1 --mpi=none --nodeos-lwk=32M {loop} >/tmp/step.out 2>&1 & sleep 0.1")
    wait_until(lambda: len(machines()) == 2, 120)
    job = run("squeue -h -o %i", user="root").out.strip()
    run(f"scontrol suspend {job}", user="root")
    time.sleep(3)
    stopped = {p: exits_of(p) for p in machines()}
    time.sleep(3)
    same(
        {p: exits_of(p) for p in machines()},
        stopped,
        "bad: machines of a suspended job do not run",
    )
    ok(len(stopped) == 2, "bad: the suspended job has two machines", stopped)
    run(f"scontrol resume {job}", user="root")
    wait_until(lambda: not run("squeue -h").out, 240)
    same(
        run("cat /tmp/step.out").out,
        "counted 150000\n" * 2,
        "bad: resumed machines run to their end",
    )
    clean("bad: a suspended job")


def group_bad():
    """Test cases in which a step cannot begin, or ends early."""
    check_suspend()
    check_hog()
    fill = "sh -c 'dd if=/dev/zero of=/dev/shm/filled bs=1M count=600; echo survived'"
    r = srun("-n2 --mem=200 --nodeos-lwk=32M", fill)
    run("rm -f /dev/shm/filled")
    ok(
        r.code != 0 and re.search("oom|out.of.memory", r.err, re.I),
        "bad: the kernel kills a step that exceeds its memory limit",
        r.text,
    )
    all_idle("bad: the node becomes idle after a step out of memory")
    clean("bad: a step out of memory")
    with open("/proc/meminfo") as f:
        free = int(re.search(r"MemFree: +(\d+) kB", f.read())[1]) >> 10
    size = free // 4 * 2  # with the watermarks' pages there is less for two
    r = srun(f"-n2 --mem=0 --nodeos-lwk={size}M", "echo started")
    ok(
        r.code != 0
        and "started" not in r.out
        and re.search(r"memory node 1 has \d+ MiB free", r.err)
        and f"{size} MiB" in r.err
        and "ask for smaller" in r.err,
        "bad: too little free memory: no rank starts, and the message has sizes, node and advice",
        r.text,
    )
    clean("bad: too little free memory")
    run("mkdir -p /run/nodeos; touch /run/nodeos/vnode", user="root")
    r = srun("-n1 --nodeos-lwk=32M", "echo started")
    run("rm /run/nodeos/vnode", user="root")
    ok(
        r.code != 0 and "started" not in r.out and "vnode" in r.err,
        "bad: a rank in a vnode is refused with the reason",
        r.text,
    )
    run("modprobe -r kvm-amd", user="root")
    r = srun("-n2 --nodeos-lwk=32M", "echo started")
    run("modprobe kvm-amd; chmod 666 /dev/kvm", user="root")
    ok(
        r.code != 0 and "started" not in r.out and "module is not loaded" in r.err,
        "bad: a step is refused with the reason if KVM's module is not loaded",
        r.text,
    )
    same(
        srun("-n2 --nodeos-lwk=32M", "true").code,
        0,
        "bad: a step runs after KVM's module is loaded",
    )
    all_idle("bad: the node becomes idle at the end")
    clean("bad")


def steps_of(job):
    """Return the slurmstepd of each running step of srun: {step: pid}."""
    found = {}
    for p in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(p) as f:
                m = re.match(rf"slurmstepd: \[{job}\.(\d+)\]", f.read())
        except OSError:
            continue
        if m:
            found[int(m[1])] = int(p.split("/")[2])
    return found


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def parts_of(job):
    """Return the parts of JOB's steps that exist now: {name: function that kills the part}."""

    def kill(pids):
        return lambda rng: os.kill(rng.choice(pids), 9)

    def named(words):
        found = []
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(f"{path}/comm") as f:
                    is_one = re.match(words, f.read()) and os.stat(path).st_uid == 1000
            except OSError:
                continue
            found += [int(os.path.basename(path))] if is_one else []
        return found

    steps = steps_of(job)
    children = []
    for pid in steps.values():
        try:
            children += children_of(pid)
        except OSError:
            continue
    found = {
        "a rank": named("sleep|nodeos-lwk"),
        "slurmstepd": list(steps.values()),
        "a child of slurmstepd": children,
        "srun": named("srun"),
    }
    found = {name: kill(pids) for name, pids in found.items() if pids}
    if steps:
        found["a step, by scancel"] = lambda rng: run(f"scancel {job}.{rng.choice(sorted(steps))}")
    found["slurmd"] = lambda rng: run(
        "systemctl kill -s KILL slurmd; sleep 0.5; systemctl restart slurmd", user="root"
    )
    return found


def kill_part(job, rng):
    """Kill a part of JOB's steps at a random time. Returns the part's name, or None if the part had
    just ended."""
    time.sleep(rng.choice((0, 0.1, 0.3, 0.6, 1, 2)))
    parts = parts_of(job)
    name = rng.choice([p for p in PARTS if p in parts])
    try:
        parts[name](rng)
    except ProcessLookupError:
        return None
    return name


PARTS = (
    *("a rank", "slurmstepd", "a child of slurmstepd", "srun", "a step, by scancel") * 3,
    "slurmd",
)
AT_ONCE, WAVES = 2, 5  # number of steps at once; number of times per job


def partitions():
    found = []
    for path, _, files in os.walk("/sys/fs/cgroup/system.slice"):
        if "cpuset.cpus.partition" in files:
            with open(f"{path}/cpuset.cpus.partition") as f:
                found += [path] if f.read().strip() != "member" else []
    return found


def descriptors():
    found = []
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            to = os.readlink(path)
        except OSError:
            continue
        if to.startswith(("/dev/kvm", "/memfd:nodeos", "anon_inode:kvm")):
            found.append(f"{path} {to}")
    return found


def left_behind(others):
    """Return what a step has left on the node; {} means nothing. OTHERS are the ledger entries of
    other jobs."""
    found = {
        "pages": [p for p in pool() if p],
        "machines": sorted(machines()),
        "records": os.listdir(STATE) if os.path.isdir(STATE) else [],
        "ledger": sorted(set(cluster.leftovers(["n0"]).split()) - others),
        "partitions": partitions(),
        "descriptors": descriptors(),
    }
    return {k: v for k, v in found.items() if v}


def what_is_left(others, limit=30):
    """Return left_behind() when it is empty, or after LIMIT seconds."""
    end = time.time() + limit
    while (rest := left_behind(others)) and time.time() < end:
        time.sleep(0.5)
    return rest


def settings_of(pid):
    """Return a process's CPUs and policy, and the settings of its cgroup and the parent cgroup."""
    with open(f"/proc/{pid}/cgroup") as f:
        path = "/sys/fs/cgroup" + f.read().strip().partition("::")[2]
    found = {"cpus": os.sched_getaffinity(pid), "policy": os.sched_getscheduler(pid)}
    for where in (path, os.path.dirname(path)):
        for name in ("cpuset.cpus.effective", "cpuset.mems.effective", "memory.max"):
            with open(f"{where}/{name}") as f:
                found[f"{where}/{name}"] = f.read()
    return found


def kill_wave(job, rng, check):
    """Start AT_ONCE steps of JOB, call kill_part() as many times, and end the steps. Calls CHECK
    after each kill. Returns the names of the killed parts."""
    step = f"srun --jobid={job} --overlap -n1 -c1 --mpi=none --nodeos-lwk=16M sleep 300"
    run(f"for i in {' '.join('1' * AT_ONCE)}; do {step} >>/tmp/steps.out 2>&1 & done; sleep 0.1")
    end = time.time() + 30
    while not steps_of(job) and time.time() < end:
        time.sleep(0.1)
    killed = []
    for _ in range(AT_ONCE):
        name = kill_part(job, rng)
        killed += [name] if name else []
        check(name)
    run("pkill -9 -u alice -x 'sleep|srun'", user="root")
    return killed


def kill_steps(number):
    """Kill parts of steps NUMBER times, at random, beside another user's job, which must not
    change."""
    rng = random.Random(35)
    cluster.site("allow_partitions = member,root", ["n0"])
    run("srun -n1 -c1 --mpi=none sleep 100000 >/dev/null 2>&1 & sleep 0.1", "bob")
    wait_until(lambda: run("pgrep -u bob -x sleep", user="root").out)
    other = int(run("pgrep -u bob -x sleep", user="root").out)
    before, others = settings_of(other), set(cluster.leftovers(["n0"]).split())
    left, changed, killed, rounds = [], [], [], 0
    begin = time.time()

    def check(name):
        if settings_of(other) != before:
            changed.append((len(killed), name, settings_of(other)))

    while len(killed) < number and rounds < number:
        rounds += 1
        # one core for the ranks, and one core outside of their partition
        r = run("salloc --no-shell -n3 -c1 --mem=300")
        job = re.search(r"allocation (\d+)", r.text)[1]
        for _ in range(WAVES):
            killed += kill_wave(job, rng, check)
        run(f"scancel {job}")
        wait_until(lambda job=job: not run(f"squeue -h -j {job}").out, 90)
        rest = what_is_left(others)
        if rest:
            left.append((rounds, killed[-AT_ONCE * WAVES :], rest))
            cluster.note(left[-1])
    counts = {name: killed.count(name) for name in sorted(set(PARTS))}
    cluster.note(f"{rounds} jobs, {time.time() - begin:.0f} s, killed: {counts}")
    ok(len(killed) >= number, f"kills: {number} kills hit a process", counts)
    ok(all(counts.values()), "kills: each kind of part was killed", counts)
    same(left, [], f"kills: {rounds} jobs leave nothing")
    same(changed, [], "kills: the settings of another user's job are the same all the time")
    r = srun("-n2 --nodeos-lwk=32M", "true")
    same(r.code, 0, "kills: the next step runs")
    run("scancel -u bob", user="root")
    all_idle("kills: the node becomes idle")
    clean("kills")
    run("sed -i '/^allow_partitions/d' /etc/nodeos/nodeos.conf", user="root")


def group_kills():
    kill_steps(100)


def group_thousand():
    kill_steps(1000)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    os.chown(HOME, 1000, 1000)
    for node in cluster.nodes():
        prepare = "modprobe kvm-amd; mount -t debugfs none /sys/kernel/debug; chmod 666 /dev/kvm"
        run(prepare, user="root", node=node)
    set_pool(0, 0)
    set_pool(1, 0)
    cluster.note(run("free -m; cat /sys/module/kvm_amd/parameters/npt", user="root").text)
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or GROUPS)
    all_idle("lwk: all nodes are idle at the end")
    match = re.search(r"error.*nodeos.*", run("cat /var/log/slurm/slurmd.log", user="root").out)
    cluster.note(match[0] if match else "slurmd's log has no error of NodeOS")
    cluster.done()


main()
