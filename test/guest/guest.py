#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: nodes=1 numa=2 cpus=4 memory=1536 kvm=yes put=debian-kernel,guest-initrd
# run: deep limit=3600 main memory places ranks mpi control
# run: deep limit=3600 kills
# run: deep limit=3600 append=nohz_full=1-3 exits
# run: deep limit=3600 nodes=2 cpus=2 saved
# rooms: guest hugepages container launch spank manifest
"""Ranks of srun in whole guests (--nodeos-guest), as the nodes' kernel, KVM and Slurm show them.
guest.py GROUP...: these groups only."""

import glob
import json
import os
import random
import re
import sys
import time
from xml.etree import ElementTree

import cluster
from cluster import HOME, all_idle, ok, run, same

KVM = "/sys/kernel/debug/kvm"
PARTS = "qemu-system-x86|virtiofsd|nodeos-guest"
GUEST = "--nodeos-guest=384M"
SMALL = "/sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages"
STATE = "/run/nodeos-hugepages"
CPUS = os.cpu_count()
KILLS = 20  # number of kills of a part of a guest
KEYS = "/tmp/keys"
MINUTE = 60
RUNNER = "/usr/libexec/nodeos/nodeos-guest"
FRESH = "/usr/libexec/nodeos/test/fresh-mpi"


def again(step):
    """Run a step, up to three times. Under emulation by several threads, a guest's kernel that
    changes its own code may run a breakpoint that it has removed (test/guest/run, tcg_thread)."""
    for _ in range(2):
        out = step()
        if "Oops: int3" not in str(out):
            return out
        cluster.note("the guest's kernel ran a removed breakpoint: the step is repeated")
    return step()


def srun(options, command, timeout=240, mpi="none", **more):
    command = f"srun --mem=1200 --mpi={mpi} {options} {command}"
    text = []

    def step():
        text[:] = [run(command, timeout=timeout, **more)]
        return text[0].text

    again(step)
    return text[0]


def pool():
    """Return the number of huge pages of 2 MiB of each node."""
    out = []
    for path in sorted(glob.glob(SMALL)):
        with open(path, encoding="ascii") as f:
            out.append(int(f.read()))
    return out


def parts():
    """Return the processes of guests on this node, as 'PID NAME'."""
    return run(f"pgrep -l '{PARTS}'", user="root").out.splitlines()


def wait_until(what, limit=60):
    end = time.time() + limit
    while not what() and time.time() < end:
        time.sleep(1)  # poll seldom: each poll takes CPU time from the ranks
    return what()


def left_behind():
    """Return what a guest has left on the node; {} means nothing."""
    found = {
        "processes": parts(),
        "machines": glob.glob(f"{KVM}/[0-9]*-*"),
        "files": glob.glob("/tmp/nodeos-guest*"),
        "pages": [p for p in pool() if p],
        "records": os.listdir(STATE) if os.path.isdir(STATE) else [],
        "ledger": cluster.leftovers(["n0"]).split(),
        "descriptors": run(
            "find /proc/[0-9]*/fd -lname /dev/kvm -o -lname '/memfd:nodeos*'", user="root"
        ).out.split(),
    }
    return {k: v for k, v in found.items() if v}


def clean(what):
    """Check that nothing is left after a step."""
    wait_until(lambda: not left_behind())
    same(left_behind(), {}, f"{what}: nothing is left on the node")


def begin(options, script, limit=240):
    """Start a step whose ranks run SCRIPT in guests and print "begins". Return its job."""
    with open(f"{HOME}/script.sh", "w", encoding="ascii") as f:
        f.write(script)
    command = f"srun --mem=1200 --mpi=none {options} sh script.sh >{HOME}/step.out 2>&1"
    output = f"cat {HOME}/step.out"

    def step():
        run(f"{command} & sleep 0.1")
        wait_until(lambda: re.search("begins|error", run(output, user="root").out), limit)
        return run(output, user="root").out

    start = time.time()
    seen = again(step)
    cluster.note(f"{options}: it begins after {time.time() - start:.0f} s")
    job = run("squeue -h -o %i", user="root").out.strip()
    if not job:
        cluster.note(seen)
    return job


def group_main():
    (kernel,) = glob.glob("/boot/vmlinuz-*deb*")
    r = srun(f"-n1 -c1 {GUEST}", "sh -c 'hostname; uname -r; id -un; pwd; echo wrong >&2'")
    same(
        (r.code, r.out.split(), r.err),
        (0, ["n0", kernel.partition("-")[2], "alice", HOME], "wrong\n"),
        "main: a program in a guest has the node's name, the guest's kernel, and the user and"
        " directory of its job",
    )
    cluster.note(f"main: the step took {r.seconds:.0f} s")
    clean("main")
    r = srun(f"-n1 -c1 {GUEST}", "sh -c 'exit 7'")
    same(r.code, 7, "main: srun ends with the exit code of the program in the guest")
    r = run(f"echo words | srun -n1 -c1 --mem=1200 --mpi=none {GUEST} cat", timeout=240)
    same((r.code, r.out), (0, "words\n"), "main: a program in a guest reads standard input")
    r = srun(f"-n1 -c1 {GUEST}", "sh -c 'kill -SEGV $$'")
    ok(
        r.code == 139 and "Segmentation fault" in r.err,
        "main: Slurm sees the signal that has ended a program in a guest",
        r.text,
    )
    job = begin(
        f"-n1 -c1 {GUEST}",
        "trap 'echo got TERM >term; exit 3' TERM; echo begins; while :; do sleep 0.2; done",
    )
    seen = {line.split()[1] for line in parts()}
    same(
        seen,
        {"qemu-system-x86", "virtiofsd", "nodeos-guest"},
        "main: the processes of the guest run on the node",
    )
    ok(glob.glob(f"{KVM}/[0-9]*-*"), "main: the guest's processor is KVM's")
    run(f"scancel {job}")
    all_idle("main: the node is idle after scancel")
    with open(f"{HOME}/term", encoding="ascii") as f:
        same(f.read(), "got TERM\n", "main: scancel sends SIGTERM to the program in the guest")
    clean("main: scancel")


def qemu():
    """Return the process of QEMU, or None."""
    found = run("pgrep -x qemu-system-x86", user="root").out.split()
    return int(found[0]) if len(found) == 1 else None


def frames(pid):
    """Return [(first address, [page frame number of each page of 4 KiB])] of the memory of the
    guest's nodes, in their order. The memory's files are those in QEMU's command line."""
    words = run(f"tr '\\0' '\\n' </proc/{pid}/cmdline", user="root").out
    fds = re.findall(r"mem-path=/proc/self/fd/(\d+),id=mem\d", words)
    inodes = [os.stat(f"/proc/{pid}/fd/{fd}").st_ino for fd in fds]
    found = {}
    for line in run(f"cat /proc/{pid}/maps", user="root").out.splitlines():
        words = line.split(None, 5)
        if int(words[4]) not in inodes:
            continue
        first, behind = (int(x, 16) for x in words[0].split("-"))
        with open(f"/proc/{pid}/pagemap", "rb") as f:
            f.seek(first // 4096 * 8)
            data = f.read((behind - first) // 4096 * 8)
        values = (int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8))
        pages = [v & (1 << 55) - 1 if v >> 63 else None for v in values]
        found[int(words[4])] = (first, pages)
    return [found[inode] for inode in inodes]


def runs(pages):
    """Return the lengths in bytes of the contiguous parts of a list of frames."""
    out, last = [], None
    for frame in pages:
        if last is not None and frame == last + 1:
            out[-1] += 4096
        else:
            out.append(4096)
        last = frame
    return out


def nodes_of(pid, first):
    """Return how many pages of the mapping at an address are on each memory node."""
    for line in run(f"cat /proc/{pid}/numa_maps", user="root").out.splitlines():
        if line.startswith(f"{first:x} "):
            return dict(re.findall(r" N(\d+)=(\d+)", line))
    return {}


def group_memory():
    """Compare where the guest's memory is, by the kernel's page map, with the report."""
    pattern = f"{HOME}/memory.%j.%s.%N.json"
    options = f"-n1 -c{CPUS} --nodeos-cpus={CPUS} --nodeos-mems=2 {GUEST} --nodeos-report={pattern}"
    job = begin(
        f"{options} --nodeos-sched=batch", "cat /proc/meminfo | head -1; echo begins; sleep 300"
    )
    pid = qemu()
    seen = frames(pid) if pid else []
    same(
        [len(p) * 4096 >> 20 for _, p in seen],
        [192, 192],
        "memory: the guest has 192 MiB for each node",
    )
    ok(
        all(None not in p for _, p in seen),
        "memory: all pages of the guest's memory exist from the start",
    )
    parts = [r for _, p in seen for r in runs(p)]
    ok(
        parts and min(parts) >= 2 << 20 and all(p[0] % 512 == 0 for _, p in seen),
        "memory: by page frame numbers, the guest's memory is in extents of at least 2 MiB",
        parts,
    )
    same(
        [sorted(nodes_of(pid, first)) for first, _ in seen],
        [["0"], ["1"]],
        "memory: the guest's first node is on node 0, the second one on node 1",
    )
    (path,) = glob.glob(f"{HOME}/memory.{job}.*.json")
    with open(path, encoding="utf-8") as f:
        report = json.load(f)["ranks"][0]["guest"]
    same(
        (report["memory_bytes"], report["shortest_bytes"], report["mems"], report["ranks"]),
        (sum(parts), min(parts), "0-1", 1),
        "memory: the report has the same memory as the kernel shows",
    )
    threads = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as f:
            name = f.read().strip()
        policy = os.sched_getscheduler(int(thread))
        threads[name] = (sorted(os.sched_getaffinity(int(thread))), policy)
    same(
        {n: t for n, t in threads.items() if n.startswith("CPU ")},
        {f"CPU {i}/KVM": ([i], os.SCHED_BATCH) for i in range(CPUS)},
        "memory: the thread of each CPU of the guest is bound to its CPU, with the policy",
    )
    others = [t for n, t in threads.items() if not n.startswith("CPU ")]
    ok(
        others and all(p == os.SCHED_OTHER for _, p in others),
        "memory: QEMU's other threads have the ordinary policy",
        threads,
    )
    run("scancel -u alice")
    all_idle("memory: the node becomes idle")
    clean("memory")


def places(text):
    """Return what lstopo's XML says of a machine, without ids: a list of packages; a package is a
    list of last-level caches, a cache is a list of cores, and a core is its number of threads.
    Then, for each memory node, which threads are near it, as positions among all threads; and the
    distances."""
    root = ElementTree.fromstring(text)
    order = [p.get("os_index") for p in root.iter("object") if p.get("type") == "PU"]

    def inside(parent, kind):
        return [o for o in parent.iter("object") if o.get("type") == kind]

    packages = [
        [
            [len(inside(core, "PU")) for core in inside(cache, "Core")]
            for cache in inside(package, "L3Cache") or [package]
        ]
        for package in inside(root, "Package")
        # a part of the host may have a memory node that is near another part
        if inside(package, "PU")
    ]
    near = []
    for node in inside(root, "NUMANode"):
        mask = int(node.get("cpuset").replace(",0x", "").replace("0x", ""), 16)
        near.append([i for i, pu in enumerate(order) if mask >> int(pu) & 1])
    distances = [
        d.findtext("u64values").split()
        for d in root.iter("distances2")
        if d.get("type") == "NUMANode" and d.get("name") == "NUMALatency"
    ]
    return packages, near, distances


def group_places():
    """Test that lstopo in a guest shows the container's packages, caches, cores, memory nodes and
    distances."""
    for wish, mask, nodes in (
        (f"-c{CPUS} --nodeos-cpus={CPUS} --nodeos-mems=2", hex((1 << CPUS) - 1), "0x3"),
        (
            f"-c{CPUS // 2} --nodeos-cpus={CPUS // 2} --nodeos-mems=1",
            hex((1 << CPUS // 2) - 1),
            "0x1",
        ),
    ):
        r = srun(f"-n1 {wish} {GUEST}", "lstopo-no-graphics --of xml -")
        host = run(f"lstopo-no-graphics --restrict {mask} --of xml -").out
        restricted = run(
            f"lstopo-no-graphics --restrict {nodes} --restrict-flags bynodeset --of xml -"
        )
        want = places(host)
        if nodes == "0x1":
            want = (want[0], places(restricted.out)[1], [])
        got = places(r.out) if r.code == 0 else r.text
        cluster.note(f"places: {got}")
        same(
            got, want, f"places: {wish}: lstopo in the guest shows the container's part of the host"
        )
    clean("places")


def group_ranks():
    """Test several ranks of one host in one guest."""
    r = srun(
        f"-n{CPUS} -c1 {GUEST}",
        "sh -c 'echo $SLURM_PROCID $(cat /proc/sys/kernel/random/boot_id)"
        " $(grep Cpus_allowed_list /proc/self/status)'",
    )
    lines = sorted(line.split() for line in r.out.splitlines())
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        own = f.read().strip()
    numbers = [str(i) for i in range(CPUS)]
    same((r.code, [x[0] for x in lines]), (0, numbers), f"ranks: {CPUS} ranks run")
    ok(
        len({x[1] for x in lines}) == 1 and lines[0][1] != own,
        "ranks: all ranks run in one guest",
        r.text,
    )
    same(sorted(x[3] for x in lines), numbers, "ranks: each rank is on a CPU of its own")
    clean("ranks")
    r = srun(f"-n{CPUS} -c1 -K0 {GUEST}", "sh -c 'sleep $SLURM_PROCID; exit $((SLURM_PROCID + 3))'")
    same(
        (r.code, sorted(re.findall(r"task (\d): Exited with exit code (\d)", r.err))),
        (CPUS + 2, [(str(i), str(i + 3)) for i in range(CPUS)]),
        "ranks: Slurm gets the exit code of each rank",
    )
    clean("ranks: exits")


def group_mpi():
    r = srun(f"-n{CPUS} -c1 {GUEST}", f"{FRESH} 5", timeout=500, mpi="pmix")
    found = sorted(re.findall(rf"^fresh (\d) of {CPUS} \d+ rounds (\d+)$", r.out, re.M))
    ok(
        (r.code, found) == (0, [(str(n), str(sum(range(CPUS)))) for n in range(CPUS)]),
        f"mpi: each of {CPUS} ranks in one guest gets the numbers of all ranks",
        r.text,
    )
    cluster.note(f"mpi: the step took {r.seconds:.0f} s")
    clean("mpi")


def vm_exits(pid):
    """Return the number of exits of all CPUs of process PID's machine, by KVM's debugfs."""
    total = 0
    for path in glob.glob(f"{KVM}/{pid}-*/vcpu*/exits") or glob.glob(f"{KVM}/{pid}-*/exits"):
        with open(path, encoding="ascii") as f:
            total += int(f.read())
    return total


def group_control():
    """Test nodeosctl guest with a step's guest: list it, reach it only as its user, refuse to save
    it."""
    job = begin(f"-n2 -c1 {GUEST}", "echo begins; sleep 300")
    pid = qemu()
    before = vm_exits(pid)
    r = run("nodeosctl guest list --json")
    after = vm_exits(pid)
    listed = json.loads(r.out) if r.code == 0 else []
    ok(len(listed) == 1, "control: the list has one guest", r.text)
    own = listed[0] if listed else {}
    same(
        [own.get(key) for key in ("job", "step", "ranks", "qemu", "emulated", "disk")],
        [job, "0", 2, pid, False, False],
        "control: the list has the guest's step, ranks and process",
    )
    threads = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as f:
            threads[f.read().strip()] = sorted(os.sched_getaffinity(int(thread)))
    same(
        {f"CPU {i}/KVM": [cpu] for i, cpu in enumerate(own.get("cpus", []))},
        {name: cpus for name, cpus in threads.items() if name.startswith("CPU ")},
        "control: the listed CPUs are those to which the guest's threads are bound",
    )
    same(
        (sum(n["bytes"] for n in own.get("nodes", [])), own.get("page")),
        (384 << 20, 2 << 20),
        "control: the list has the guest's memory in pages of 2 MiB",
    )
    exits = (own.get("counts") or {}).get("exits", -1)
    ok(
        0 < before <= exits <= after,
        "control: the list has as many exits as KVM's debugfs",
        f"{before} <= {exits} <= {after}",
    )
    r = run(
        "srun --overlap --jobid=$(squeue -h -o %i) -n1 --mem=0 --nodeos=off nodeosctl guest list"
    )
    ok(
        re.search(rf"^\d+ +{job}\.0 +ranks ", r.out, re.M),
        "control: another step of the job lists the guest, too",
        r.text,
    )
    r = run("nodeosctl guest save /tmp/saved.guest")
    ok(
        r.code == 1 and "a guest that runs programs cannot be saved" in r.err,
        "control: a guest of ranks is not saved",
        r.text,
    )
    for user in ("bob", "root"):
        r = run(
            f"nodeosctl guest list; nodeosctl guest console {own.get('guest')}", user=user, cwd="/"
        )
        ok(
            r.code == 1
            and r.out == "you have no guest on this host\n"
            and "you have no guest" in r.err,
            f"control: {user} does not reach the guest",
            r.text,
        )
    run(f"scancel {job}")
    all_idle("control: the node becomes idle after scancel")
    clean("control")


def image_of(append):
    """Make an image of Debian's kernel and guest/test/programs/init.c. Returns its name in HOME."""
    (kernel,) = glob.glob("/boot/vmlinuz-*deb*")
    run(
        f"cp {kernel} {HOME}/k; cp {os.getcwd()}/initrd.guest {HOME}/i; chmod 644 k i",
        user="root",
        cwd=HOME,
    )
    with open(f"{HOME}/image.json", "w", encoding="ascii") as f:
        json.dump({"kernel": "k", "initrd": "i", "append": f"console=ttyS0 quiet {append}"}, f)
    return "image.json"


def image_step(options, command):
    """Start a step with a guest. type_line() types on its console, and step.out gets the output."""
    run(f"[ -p {KEYS} ] || mkfifo {KEYS}; rm -f {HOME}/step.out")
    step = f"srun --mem=800 --mpi=none -n1 {options} {command}"
    run(f"{step} 0<>{KEYS} >{HOME}/step.out 2>&1 & sleep 1")


def console():
    return run(f"cat {HOME}/step.out", user="root").out


def type_line(word, pattern, limit=240):
    """Type WORD on the console. Returns the match of PATTERN in the new output."""
    old = len(console())
    run(f"echo {word} >{KEYS}")
    wait_until(lambda: re.search(pattern, console()[old:]), limit)
    return re.search(pattern, console()[old:])


def on(node, command):
    """Run COMMAND as alice on NODE."""
    if node == "n0":
        return run(command)
    return run(f"cd {HOME} && runuser -u alice -- {command}", user="root", node=node)


def group_saved():
    """Test that a counter in a guest continues after the guest is saved and is restored on the last
    node."""
    first, last = cluster.nodes()[0], cluster.nodes()[-1]
    image = image_of("no_timer_check")
    image_step(f"-w {first} -c2", f"{RUNNER} --image={image} --memory=256M")
    found = type_line("next", r"number (\d+)")
    ok(found and found[1] == "1", "saved: a guest counts", console())
    r = on(first, "nodeosctl guest save counter.guest")
    same((r.code, r.err), (0, ""), f"saved: nodeosctl guest save succeeds in {r.seconds:.1f} s")
    all_idle("saved: the step of the saved guest ends")
    ok(
        "the guest is saved" in console(),
        "saved: the step prints that the guest is saved",
        console(),
    )
    clean("saved")
    image_step(f"-w {last} -c2", f"{RUNNER} --restore=counter.guest")
    found = type_line("next", r"number (\d+)")
    ok(found and found[1] == "2", f"saved: the counter continues on {last}", console())
    type_line("poweroff", "got poweroff")
    all_idle("saved: the step of the restored guest ends after poweroff")
    same(
        re.findall("error.*|nodeos-guest: .*", console()),
        [],
        "saved: the restored guest ends without an error",
    )
    r = run(f"srun --mem=800 -n1 -c1 {RUNNER} --restore=counter.guest", timeout=120)
    ok(
        r.code == 125 and "restore it on as many CPUs" in r.err,
        "saved: a restore on one CPU instead of two is refused",
        r.text,
    )
    run("rm counter.guest")
    clean("saved: at the end")


def count_exits(name, command, load):
    """Return the number of exits in a minute of a machine that COMMAND starts in a step, by KVM's
    count."""
    image_step(f"-c{CPUS}", command)
    wait_until(lambda: "ready" in console(), 240)
    if load:
        type_line(load, f"got {load}")
    time.sleep(5)
    pid = qemu()
    before = vm_exits(pid)
    time.sleep(MINUTE)
    exits = vm_exits(pid) - before
    cluster.note(f"exits: {name} {load or 'idle'}: {exits} in {MINUTE} s")
    run("scancel -u alice")
    all_idle(f"exits: {name}: the node becomes idle")
    return exits


def group_exits():
    """Compare the exits of a guest with the default profile and of QEMU with only -m and -smp. All
    CPUs of the node except the first have no ticks, as on a node that is prepared for guests."""
    guests = CPUS - 1
    quiet = f" nohz_full=1-{guests - 1} rcu_nocbs=1-{guests - 1}"  # like guest/inside.c
    plain = (
        f"qemu-system-x86_64 -accel kvm -cpu host -m 256 -smp {guests} -nodefaults -display none"
        " -serial stdio -kernel k -initrd i -append 'console=ttyS0 quiet no_timer_check'"
    )
    for load in ("", "compute"):
        image_of("no_timer_check")
        rest = count_exits("plain", plain, load)
        image = image_of(f"no_timer_check{quiet}")
        command = f"{RUNNER} --image={image} --memory=256M --cpus=1-{guests}"
        own = count_exits("guest", command, load)
        ok(
            rest > 0 and own * 10 <= rest,
            f"exits: {load or 'idle'}: the guest has at most a tenth of plain QEMU's exits",
            f"{own} of {rest}",
        )
    clean("exits")


def kill_part(job, rng):
    """Kill a part of a guest at a random time of its launch or life. Return its name."""
    keeper = "pgrep -P $(pgrep -o -u alice -x nodeos-guest) -x nodeos-guest"
    commands = {
        "QEMU": "pkill -9 -x qemu-system-x86",
        "virtiofsd": "pkill -9 -o -x virtiofsd",
        "the first rank": "pkill -9 -o -u alice -x nodeos-guest",
        "the last rank": "pkill -9 -n -u alice -x nodeos-guest",
        "the keeper": f"kill -9 $({keeper})",
        "slurmstepd": f"pkill -9 -f 'slurmstepd: \\[{job}.0\\]'",
        "srun": "pkill -9 -u alice -x srun",
        "nothing": f"scancel {job}",
    }
    name = rng.choice(list(commands))
    time.sleep(rng.choice((0, 1, 2, 4, 8, 16)))
    r = run(commands[name], user="root")
    return name if r.code == 0 else f"{name} (not there yet)"


def group_kills():
    """Kill parts of guests at random."""
    rng = random.Random(39)
    left = []
    for n in range(KILLS):
        run(f"srun --mem=1200 --mpi=none -n2 -c1 {GUEST} sleep 300 >/tmp/step.out 2>&1 & sleep 0.1")
        wait_until(lambda: run("squeue -h -u alice -t R -o %i").out, 60)
        job = run("squeue -h -u alice -o %i").out.strip()
        name = kill_part(job, rng)
        cluster.note(f"kills: {n}: {name}")
        run("scancel -u alice; sleep 1; pkill -9 -u alice -x srun", user="root")
        wait_until(lambda: not run("squeue -h -u alice").out, 120)
        wait_until(lambda: not left_behind(), 30)
        rest = left_behind()
        if rest:
            left.append((n, name, rest))
            cluster.note(left[-1])
    same(left, [], f"kills: {KILLS} steps leave nothing")
    r = srun(f"-n2 -c1 {GUEST}", "true")
    same(r.code, 0, "kills: the next step runs")
    all_idle("kills: the node is idle")
    clean("kills")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    os.chown(HOME, 1000, 1000)
    for node in cluster.nodes():
        # guests run Debian's kernel: the cluster's own kernel has no virtiofs
        prepare = (
            "mount -t debugfs none /sys/kernel/debug; chmod 666 /dev/kvm; tar -C / -xf"
            f" {os.getcwd()}/debian-kernel.tar; cd /boot; ln -sf vmlinuz-*deb* vmlinuz-$(uname -r)"
        )
        cluster.note(run(prepare, user="root", node=node).text)
    for path in glob.glob(SMALL):
        with open(path, "w", encoding="ascii") as f:
            f.write("0")
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or GROUPS)
    all_idle("guest: all nodes are idle at the end")
    match = re.search(r"error.*nodeos.*", run("cat /var/log/slurm/slurmd.log", user="root").out)
    cluster.note(match[0] if match else "slurmd's log has no error of NodeOS")
    cluster.done()


main()
