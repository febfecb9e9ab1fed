# SPDX-License-Identifier: GPL-2.0-or-later
# two sockets, and a hole in memory below 4 GiB; deep: the 48 memory nodes of the paper, but smaller
# boot: nodes=1 numa=2 memory=4096 append=fgmn=all:6x192M qemu="-machine max-ram-below-4g=1G"
# run: ci limit=900 containers
# run: deep limit=7200 append=fgmn=all:23x128M --runs=20
# run: deep kernel=debian limit=5400 memory=2048 qemu= append=numa=fake=4U --manifests=200 site
#   containers jobs pressure manifests
# rooms: host topology container kernel
"""Test containers on blocks. The kernel of the only node divides memory nodes into homes and blocks
(fgmn=, or numa=fake=NU on a stock kernel). Expected values come from the kernel's files (zoneinfo,
meminfo, numa_maps, memory.events), numactl and hwloc.

fgmn.py [--runs=N] [--manifests=N] [--seed=N] [GROUP...]"""

import json
import os
import random
import re
import subprocess
import sys
import time

import cluster
from cluster import HOME, WHEREAMI, cpus, note, ok, ranks, run, same, wait_idle
from containers import check_ranks, pod, write
from livejob import Job, delete, pages_on, resize

EAT = "/usr/libexec/nodeos/test/eat"
NODE = "/sys/devices/system/node"
CONF = "/etc/nodeos/nodeos.conf"
MIB = 1 << 20
RUNS = 3
MANIFESTS = 5
SEED = 37
machine = cluster.Machine()


def root(command, timeout=180):
    return run(command, user="root", timeout=timeout)


def read(path):
    with open(path) as f:
        return f.read().strip()


def listed(nodes):
    """{4, 5, 8} -> "4-5,8" """
    nodes, out = sorted(nodes), []
    for n in nodes:
        if out and out[-1][1] == n - 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


class Blocks:
    """The blocks, homes and usable bytes as the kernel shows them. The usable bytes of a node are
    its managed bytes minus the high watermarks of its zones."""

    def __init__(self):
        nodes = cpus(read(f"{NODE}/has_memory"))
        self.fake = not os.path.exists(f"{NODE}/node0/physical_node")
        if self.fake:  # equal parts of a physical node have the same CPUs
            on = {n: read(f"{NODE}/node{n}/cpulist") for n in nodes}
            self.home = {n: min(k for k in nodes if on[k] == on[n]) for n in nodes}
            self.made_by = re.search(r"numa=fake=\S+", read("/proc/cmdline")).group(0)
        else:
            self.home = {n: int(read(f"{NODE}/node{n}/physical_node")) for n in nodes}
            self.made_by = "fgmn=" + read("/sys/kernel/mm/fgmn/spec")
        self.guarantee = "uniform" if self.fake else "physical"
        self.outcome = "modified" if self.fake else "enforced"
        self.homes = {h for n, h in self.home.items() if n != h}
        self.blocks = set(self.home) - self.homes
        self.usable = dict.fromkeys(self.home, 0)
        node = high = None
        for line in read("/proc/zoneinfo").splitlines():
            word = line.split()
            if line.startswith("Node") and "zone" in word:
                node = int(word[1].rstrip(","))
            elif word[:1] == ["high"]:
                high = int(word[1])
            elif word[:1] == ["managed"]:
                self.usable[node] += max(0, int(word[1]) - high) * 4096

    def near(self, some):
        """Return the blocks of those physical nodes that have a CPU of SOME."""
        return {n for n in self.blocks if cpus(read(f"{NODE}/node{self.home[n]}/cpulist")) & some}

    def bytes(self, nodes):
        return sum(self.usable[n] for n in nodes)


kernel = Blocks()


def meminfo(node, field):
    return int(re.search(rf"{field}:\s+(\d+)", read(f"{NODE}/node{node}/meminfo")).group(1)) * 1024


def configure(**keys):
    for key, value in (
        {
            "serviceos": "1/node",
            "serviceos_mems": "homes",
            "unmanaged_mems": None,
            "resize_mems": "yes",
        }
        | keys
    ).items():
        root(
            f"sed -i '/^{key} = /d' {CONF}"
            + (f"; echo '{key} = {value}' >>{CONF}" if value else "")
        )


def ledger():
    """Return which containers have which blocks, from the ledger: {(job, container): nodes}."""
    out = {}
    for name in os.listdir("/run/nodeos"):
        if not name.startswith("job-"):
            continue
        try:
            text = read(f"/run/nodeos/{name}")
        except OSError:
            continue
        job = re.search(r"\njob (\d+)", text).group(1)
        for c in re.finditer(
            r"\ncontainer (\S+) cpus \S+ reserved \S+ mems (\S+) asked \d+ confined 1", text
        ):
            out[job, f"{c.group(1)}@{c.start()}"] = cpus(c.group(2))
        share = re.search(r"\nshare (\S+)", text)
        if share:
            out[job, "share"] = cpus(share.group(1))
    return out


class Background:
    """A command that runs as USER in the background and writes its output to a file."""

    number = 0

    def __init__(self, command, user="alice"):
        Background.number += 1
        self.path = f"{HOME}/bg.{Background.number}"
        home = "/root" if user == "root" else f"/shared/home/{user}"
        argv = (
            []
            if user == "root"
            else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        )
        self.process = subprocess.Popen(
            argv + ["bash", "-c", command],
            cwd=home,
            env=cluster.clean_env(user),
            stdin=subprocess.DEVNULL,
            stdout=open(self.path, "w"),
            stderr=subprocess.STDOUT,
        )

    @property
    def text(self):
        with open(self.path, errors="replace") as f:
            return f.read()

    def wait_for(self, pattern, limit=300):
        end = time.time() + limit
        while time.time() < end:
            m = re.search(pattern, self.text)
            if m or self.process.poll() is not None:
                return m
            time.sleep(0.2)
        return None

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def pages(pid):
    """Return the anonymous, shared and tmpfs pages of a process from numa_maps: {node: pages}.
    Pages of program files do not count."""
    out = {}
    try:
        text = read(f"/proc/{pid}/numa_maps")
    except OSError:
        return {}
    for line in text.splitlines():
        if "file=" in line and not re.search(r"file=(/dev/zero|/dev/shm|/SYSV|/memfd)", line):
            continue
        size = int((re.search(r"kernelpagesize_kB=(\d+)", line) or [0, 4])[1]) // 4
        for n, count in re.findall(r" N(\d+)=(\d+)", line):
            out[int(n)] = out.get(int(n), 0) + int(count) * size
    return out


def enough(mems, least):
    """Return the MiB of --mem that a container of MEMS blocks needs (blocks_by_memory), at least
    LEAST."""
    return max(least, kernel.bytes(sorted(kernel.blocks)[:mems]) // MIB + 10)


def group_site():
    """Test what discovery, provision, features and report show of the blocks."""
    same(
        len(kernel.home) if kernel.fake else int(read("/sys/kernel/mm/fgmn/enabled")),
        8 if kernel.fake else 1,
        f"the kernel divides {len(kernel.homes)} nodes into {len(kernel.blocks)} blocks",
    )
    saved = {
        int(m[1]): (int(m[2]), int(m[3]))
        for m in re.finditer(r"node (\d+) home (\d+) usable (\d+)", read("/run/nodeos/blocks"))
    }
    same(
        saved,
        {n: (kernel.home[n], kernel.usable[n]) for n in kernel.home},
        "discovery at boot stores every node's home and usable bytes",
    )
    xml = read("/run/nodeos/machine.xml")
    same(
        xml.count('name="NodeOSUsableBytes"'),
        len(kernel.home),
        "the machine's XML has every node's usable bytes",
    )
    text = root("nodeosctl provision --cmdline").out
    count = re.search(r"NodeName=n0 .*Features=fgmn\S* Gres=fgmn:(\d+)", text)
    same(
        int(count.group(1)) if count else None,
        len(kernel.blocks),
        "provision --cmdline offers the blocks to Slurm as a GRES and a feature",
    )
    total = sum(meminfo(n, "MemTotal") for n in kernel.home)
    limit = int(re.search(r"MemSpecLimit=(\d+)", text).group(1))
    ok(
        abs(limit - (total - kernel.bytes(kernel.blocks)) / MIB) <= 1,
        f"provision --cmdline reserves the memory that no job can use: {limit} MiB",
        text,
    )
    ok(
        re.search(r"irqaffinity=\S+ " + re.escape(kernel.made_by), text),
        "provision --cmdline keeps the boot parameter that makes the blocks",
        text,
    )
    facts = run("nodeosctl features").out
    ok(
        f"{len(kernel.blocks)} of {kernel.bytes(kernel.blocks) // MIB} MiB usable,"
        f" homes (what is left of divided nodes): {len(kernel.homes)}" in facts,
        "features shows the number of blocks to every user",
        facts,
    )
    more = json.loads(root("nodeosctl provision --cmdline --json").out)
    same(
        (more["blocks"], more["gres.conf"]),
        (len(kernel.blocks), f"NodeName=n0 Name=fgmn Count={len(kernel.blocks)} Flags=CountOnly"),
        "provision --cmdline --json has the blocks and the line of gres.conf",
    )
    whole = root("nodeosctl report").out
    ok(
        f"blocks of memory: {listed(kernel.blocks)} ({kernel.bytes(kernel.blocks) // MIB} MiB"
        f" usable), homes (what is left of divided memory nodes): {listed(kernel.homes)}" in whole,
        "report shows blocks, their usable memory and the homes",
        whole,
    )


def group_containers():
    """Test that containers get blocks by number and by size, and that tools in a rank show these
    blocks."""
    some = sorted(kernel.blocks)
    for mems in (1, 2, 3):
        m = write(f"f{mems}.json", pod(sim={"container": {"cpus": 4, "mems": mems}}))
        want = cluster.plan(m, cpu_list="2-15")["sim"]
        r = run(
            f"srun -n2 -c2 --mem={enough(mems, 400)} --nodeos-report=f{mems}.%j.%s.%N.rep"
            f" --nodeos-manifest={m} {WHEREAMI}"
        )
        found = ranks(r)
        if not ok(len(found) == 2, f"mems {mems}: two ranks run in the container", r.text):
            continue
        mine = cpus(found[0]["mems"])
        same(
            len(mine), mems, f"mems {mems}: the container has the requested number of memory nodes"
        )
        all_cpus = set().union(*(cpus(x["cpus"]) for x in found))
        ok(
            mine <= kernel.blocks
            and (mine <= kernel.near(all_cpus) or len(kernel.near(all_cpus)) < mems),
            f"mems {mems}: the blocks {listed(mine)} are near the container's CPUs"
            f" {listed(all_cpus)}",
            kernel.near(all_cpus),
        )
        check_ranks(
            found,
            want | {"mems": listed(mine), "cpus": found[0]["cgroup_cpus"]},
            f"mems {mems}",
            machine,
        )
        report = json.loads(root(f"cat {HOME}/f{mems}.*.rep").out)
        c = report["containers"][0]
        same(
            (report["outcome"], c["mems_guarantee"], c["mems_usable_bytes"]),
            (kernel.outcome, kernel.guarantee, kernel.bytes(mine)),
            f"mems {mems}: the report says {kernel.outcome} and {kernel.guarantee}, and has the"
            " kernel's usable bytes",
        )
    # a size gets enough usable bytes, and no more blocks than needed
    size = kernel.bytes(some[:2]) // MIB * MIB + 10 * MIB
    r = run(f"srun -n1 --mem={enough(3, 500)} --nodeos-mems={size // MIB}M {WHEREAMI}")
    mine = cpus(ranks(r)[0]["mems"]) if ranks(r) else set()
    ok(
        mine <= kernel.blocks
        and kernel.bytes(mine) >= size
        and kernel.bytes(mine) - max(kernel.usable[n] for n in mine or {some[0]}) < size,
        "a request by size gets enough usable bytes, and no more blocks than needed:"
        f" {listed(mine)}",
        r.text,
    )
    # what tools print in a rank
    tools = write(
        "tools.sh",
        "#!/bin/bash\ngrep Mems_allowed_list /proc/self/status; numactl --show | grep -E"
        " '^(policy|membind|nodebind)'; numactl --hardware | grep -E '^node [0-9]+ (cpus|size)';"
        " lstopo-no-graphics -p --only numanode; echo; hwloc-bind --get-last-cpu-location; cat"
        " /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/../memory.max\n",
    )
    r = run(f"srun -n1 -c2 --mem={enough(2, 700)} --nodeos-mems=2 {tools}")
    mine = cpus((re.search(r"Mems_allowed_list:\s+(\S+)", r.out) or [0, ""])[1])
    ok(len(mine) == 2 and mine <= kernel.blocks, "a rank with mems=2 has two blocks", r.text)
    same(
        cpus(",".join((re.search(r"membind:(.*)", r.out) or [0, ""])[1].split())),
        mine,
        "numactl in a rank shows that it is bound to its blocks",
    )
    sizes = {int(m[1]): int(m[2]) for m in re.finditer(r"node (\d+) size: (\d+) MB", r.out)}
    ok(
        all(abs(sizes.get(n, 0) - meminfo(n, "MemTotal") // MIB) <= 1 for n in mine),
        "numactl shows the sizes of the blocks",
        sizes,
    )
    empty = {int(m[1]) for m in re.finditer(r"node (\d+) cpus:\s*$", r.out, re.M)}
    ok(
        (not empty) if kernel.fake else (mine <= empty and not kernel.homes & empty),
        "numactl shows CPUs at homes and none at blocks, or CPUs at all equal parts",
        r.text,
    )
    same(
        {int(x) for x in re.findall(r"NUMANode P#(\d+)", r.out)},
        mine,
        "hwloc in a rank shows only the blocks of the rank",
    )
    limit = int(r.out.split()[-1]) if r.out.split()[-1:] and r.out.split()[-1].isdigit() else None
    ok(
        limit and kernel.bytes(mine) * 0.9 < limit <= kernel.bytes(mine),
        f"memory.max of a container ({limit}) is below the usable bytes of its blocks"
        f" ({kernel.bytes(mine)})",
        r.text,
    )
    limit_mem = kernel.bytes(some[:2]) // MIB - 60
    r = run(
        f"srun -n1 --mem={limit_mem} --nodeos-mems=2 bash -c 'cat /sys/fs/cgroup$(cut -d: -f3"
        " /proc/self/cgroup)/../memory.max'"
    )
    same(
        r.out.strip(),
        str(limit_mem * MIB),
        "memory.max of a container is Slurm's limit if that is lower",
    )
    # to libnuma, the node of a CPU is the home
    r = run(
        f"srun -n1 -c2 --mem={enough(1, 120)} --nodeos-mems=1 python3 -c 'import ctypes,os;"
        ' n=ctypes.CDLL("libnuma.so.1"); c=sorted(os.sched_getaffinity(0)); print(c[0],'
        " n.numa_node_of_cpu(c[0]), n.numa_num_configured_nodes())'"
    )
    word = [int(x) for x in r.out.split()] if r.code == 0 else [0, 0, 0]
    same(
        word[1:],
        [word[1] if kernel.fake else machine.node_of[word[0]], len(kernel.home)],
        "libnuma in a rank gives the home (or an equal part) as a CPU's node, and counts all nodes",
    )
    r = run(
        f"nodeosctl plan --topology /run/nodeos/machine.xml --cpus 2-15 --json {HOME}/f2.json",
        user="root",
    )
    c = json.loads(r.out)["containers"][0]
    ok(
        cpus(c["mems"]) <= kernel.blocks
        and c["mems_guarantee"] == kernel.guarantee
        and c["mems_usable_bytes"] == kernel.bytes(cpus(c["mems"])),
        "nodeosctl plan gives blocks, with their guarantee and usable bytes",
        r.text,
    )


def group_jobs():
    """Test several jobs: no block has two containers, jobs without containers get the other blocks,
    and requests that are too large are refused."""
    jobs = [
        Background(f"srun -n1 -c2 --mem=400 --nodeos-mems={n} sleep 300", user)
        for n, user in ((2, "alice"), (1, "bob"), (3, "alice"))
    ]  # the node has 7 cores
    plain = [
        Background(
            "srun -n1 -c2 --mem=150 bash -c 'grep Mems_allowed_list /proc/self/status; sleep 300'",
            user,
        )
        for user in ("alice", "bob")
    ]
    end = time.time() + 60
    held = {}
    while time.time() < end and len(held) < 5:
        held = ledger()
        time.sleep(0.5)
    flat = [n for key, nodes in held.items() for n in nodes if key[1] != "share"]
    shares = set().union(*(nodes for key, nodes in held.items() if key[1] == "share"))
    ok(
        len(held) == 5
        and len(flat) == len(set(flat))
        and not shares & set(flat)
        and set(flat) | shares <= kernel.blocks,
        "no block of three containers and two plain jobs has two containers",
        held,
    )
    flat = list(set(flat) | shares)
    same(
        sorted(len(v) for k, v in held.items() if k[1] != "share"),
        [1, 2, 3],
        "each container has as many blocks as requested",
    )
    for p in plain:
        p.wait_for("Mems_allowed_list")
        mine = cpus((re.search(r"Mems_allowed_list:\s+(\S+)", p.text) or [0, ""])[1])
        ok(
            mine in [v for k, v in held.items() if k[1] == "share"]
            and kernel.bytes(mine)
            >= 150 * MIB
            > kernel.bytes(mine) - kernel.usable[max(mine or {0}, default=0)],
            f"a plain job of 150 MiB is confined to as many blocks as it needs: {listed(mine)}",
            p.text,
        )
    # small jobs share a block: compare their memory nodes, since they would also run without
    # sharing
    little = [
        Background(
            "srun -n1 -c1 --mem=20 bash -c 'grep Mems_allowed_list /proc/self/status; sleep 300'",
            user,
        )
        for user in ("alice", "bob")
    ]
    for p in little:
        p.wait_for("Mems_allowed_list")
    sets = [cpus((re.search(r"Mems_allowed_list:\s+(\S+)", p.text) or [0, ""])[1]) for p in little]
    ok(
        all(len(x) == 1 and x <= kernel.blocks - set(flat) | shares for x in sets)
        and (sets[0] == sets[1] or sets[0] | sets[1] <= shares),
        f"two plain jobs of 20 MiB share a block: {sets}",
        [p.text for p in little],
    )
    for b in little:  # the steps below need the last core
        b.stop()
    whole = root("nodeosctl report; nodeosctl list; nodeosctl verify")
    ok("0 differ" in whole.out, "verify finds no difference after several jobs", whole.text)
    free = len(kernel.blocks - set(flat))
    r = run("srun -n1 -c1 --mem=50 --nodeos-mems=3 true")
    least = re.search(
        r"blocks \S+ hold \d+ MiB, and Slurm has given this job 50 MiB here: ask for --mem=(\d+)M"
        r" or more",
        r.err,
    )
    ok(
        r.code != 0 and least,
        "three blocks with --mem=50 are refused, and the message names a sufficient --mem",
        r.text,
    )
    r = run(f"srun -n1 -c1 --mem={least.group(1) if least else 1}M --nodeos-mems=3 true")
    ok(
        r.code == 0,
        f"three blocks are given with the --mem that the message names: {least and least.group(1)}"
        " MiB",
        r.text,
    )
    root(f"echo 'blocks_by_memory = no' >>{CONF}")
    r = run(f"srun -n1 -c1 --mem=50 --nodeos-mems={free + 1} true")
    root(f"sed -i '/^blocks_by_memory/d' {CONF}")
    ok(
        r.code != 0
        and f"needs {free + 1} memory nodes, {free} may be given" in r.err
        and "belong to other jobs: with --gres=fgmn:N" in r.err,
        "a request for one block more than is free is refused, with the free blocks and advice",
        r.text,
    )
    ok(
        "drain" not in cluster.node_states()["n0"],
        "a request for too many blocks does not drain the node",
        cluster.node_states(),
    )
    for b in jobs + plain:
        b.stop()
    cluster.wait_idle()
    same(ledger(), {}, "all blocks are free after the jobs")
    # in one job: the script, a step in a container, and steps outside of containers
    m = write(
        "two.json",
        pod(sim={"container": {"cpus": 4, "mems": 2}}, vda={"container": {"cpus": 2, "mems": 1}}),
    )
    show = "grep -h Mems_allowed_list /proc/self/status"
    script = write(
        "two.sh",
        f"#!/bin/bash\n{show}\nsrun -n1 --nodeos-container=sim {show}\nsrun -n1"
        f" --nodeos-container=none {show}\nsrun -n1 --nodeos=off {show}\ncat /sys/fs/cgroup$(cut"
        " -d: -f3 /proc/self/cgroup)/../../../step_extern/user/cpuset.mems.effective\n",
    )
    memory = (
        3 * max(kernel.usable[n] for n in kernel.blocks) // MIB + 60
    )  # one block more than the containers have
    r = cluster.sbatch(
        f"-N1 --exclusive --mem={memory} --nodeos-manifest={m} -o {HOME}/two.out {script}"
    )
    text = read(f"{HOME}/two.out")
    sets = [
        cpus(x.split()[-1]) for x in text.splitlines() if re.search(r"Mems_allowed_list:|^[0-9]", x)
    ]
    ok(
        r.code == 0 and len(sets) == 5,
        "a job of two containers: the script and three steps run",
        r.text + text,
    )
    if len(sets) == 5:
        ok(
            len(sets[1]) == 2 and sets[1] <= kernel.blocks,
            f"a job of two containers: the step in sim has the two blocks {listed(sets[1])}",
            text,
        )
        ok(
            sets[0] == sets[2] == sets[3] and sets[0] <= kernel.blocks and not sets[0] & sets[1],
            f"a job of two containers: the script and steps outside share {listed(sets[0])}, none"
            " of"
            " the containers'",
            text,
        )
        same(
            sets[4],
            set(kernel.homes),
            "the cgroup for sessions by ssh is confined to the homes before the first session",
        )
    # a site may allow plain jobs to use all memory nodes
    configure(unmanaged_mems="all")
    r = run(f"srun -n1 --mem=100 {show}")
    same(
        cpus(r.out.split()[-1]) if r.code == 0 else r.text,
        set(kernel.home),
        "unmanaged_mems = all: a job without containers has every memory node",
    )
    root(f"echo 'no such key' >>{CONF}")
    r = run(f"srun -n1 --mem=100 {show}")
    same(
        (r.code, r.err),
        (0, ""),
        "nodeos.conf is broken: a job without containers runs without a message to its user",
    )
    ok(
        "may be on memory nodes of containers" in root("tail -n 40 /var/log/slurm/slurmd.log").out,
        "nodeos.conf is broken: slurmd's log has a message for the admin",
    )
    root(f"sed -i '/^no such key/d' {CONF}")
    configure()
    for what, spoil, mend in (
        (
            "a damaged file of blocks",
            "cp /run/nodeos/blocks /run/blocks.good; echo damaged >/run/nodeos/blocks",
            "mv /run/blocks.good /run/nodeos/blocks",
        ),
        ("an open state directory", "chmod 755 /run/nodeos", "chmod 700 /run/nodeos"),
    ):
        root(spoil)
        r = run(f"srun -n2 -c1 --mem=100 {show}")
        same((r.code, len(r.out.splitlines()), r.err), (0, 2, ""), f"{what}: a plain job runs")
        root(mend)
    # the next job does not get a block with files that a job has left in /dev/shm
    r = run(
        "srun -n1 -c2 --mem=200 --nodeos-mems=1 bash -c 'grep Mems_allowed_list /proc/self/status;"
        " head -c 60M /dev/zero >/dev/shm/left'"
    )
    dirty = cpus(r.out.split()[-1]) if r.code == 0 else set()
    r = run("srun -n1 -c2 --mem=200 --nodeos-mems=1 grep Mems_allowed_list /proc/self/status")
    mine = cpus(r.out.split()[-1]) if r.code == 0 else set()
    ok(
        dirty and mine and not dirty & mine,
        f"block {listed(dirty)} with files of an ended job is not given to the next job:"
        f" {listed(mine)}",
        r.text,
    )
    root("rm -f /dev/shm/left")


def limit_of(task):
    """Return memory.max of a rank's cgroup, or of the nearest cgroup above that has a limit."""
    while read(f"{task}/memory.max").strip() == "max":
        task = os.path.dirname(task)
    return int(read(f"{task}/memory.max"))


def group_resize():
    """Test that blocks are empty when a container gives them up and when another container gets
    them, and that a deleted container gives up all its blocks."""
    job = Job(
        {
            "sim": {"container": {"cpus": 4, "mems": 3}},
            "vda": {"container": {"cpus": 2, "mems": 1}},
            "any": {"container": {"cpus": 2}},
        },
        mib=30,
        more="-n1 -c10 --mem=1200",
    )
    before = job.containers()
    job.check("before the first resize")
    ok(
        len(before["sim"][1]) == 3
        and len(before["vda"][1]) == 1
        and not before["sim"][1] & before["vda"][1],
        "before a resize, sim has three blocks and vda has another one",
        before,
    )
    for words in ("--mems=1", "--mems=+1", "--mems=-1 --cpus=1"):
        r, _ = resize(f"any {words}")
        ok(
            r.code == 1
            and "container any has no memory nodes of its own" in r.err
            and job.containers() == before,
            f"resize any {words}: a container that requested no memory nodes is refused",
            r.text,
        )
    r, told = resize("sim --mems=1")
    now = job.containers()
    gone = before["sim"][1] - now["sim"][1]
    ok(
        r.code == 0 and len(now["sim"][1]) == 1 and len(gone) == 2,
        "resize sim --mems=1: sim keeps one block",
        r.text,
    )
    for task in job.tasks("sim"):
        found = pages_on(task)
        ok(
            set(found) <= now["sim"][1] and sum(found.values()) >= 30 * 256,
            f"resize sim --mems=1: all memory of {task[-6:]} is on the block that stays",
            found,
        )
        ok(
            limit_of(task) <= kernel.bytes(now["sim"][1]),
            f"resize sim --mems=1: the memory limit of {task[-6:]} is below the block's usable"
            " bytes",
            limit_of(task),
        )
    same(
        told.get("memory", {}).get("left"),
        0,
        "resize sim --mems=1: the answer reports no memory left behind",
    )
    same(
        set().union(*(n for (j, _), n in ledger().items() if j == job.id)) & gone,
        set(),
        "resize sim --mems=1: no container of the job has the two blocks in the ledger",
    )
    job.check("after resize sim --mems=1")
    # another job can get a block that sim has given up
    other = run(f"srun -n1 -c1 --mem=300 --nodeos-mems=2 {WHEREAMI}")
    mine = cpus(ranks(other)[0]["mems"]) if ranks(other) else set()
    ok(
        len(mine) == 2 and not mine & (now["sim"][1] | now["vda"][1]),
        "another job gets two blocks that sim and vda do not have",
        other.text,
    )
    r, _ = resize("vda --mems=+2")
    after = job.containers()
    ok(
        r.code == 0 and len(after["vda"][1]) == 3 and not after["vda"][1] & after["sim"][1],
        "resize vda --mems=+2: vda gets two more blocks",
        r.text,
    )
    ok(
        all(limit_of(t) > kernel.bytes(before["vda"][1]) for t in job.tasks("vda")),
        "resize vda --mems=+2: the memory limit of vda grows with its blocks",
        [limit_of(t) for t in job.tasks("vda")],
    )
    job.check("after resize vda --mems=+2")
    r, _ = resize("sim --mems=40G")
    ok(
        r.code == 1 and "at most here" in r.err,
        "resize sim --mems=40G is refused, since the machine has less",
        r.text,
    )
    r, _ = resize(f"sim --mems={len(kernel.blocks)}")
    ok(
        r.code == 1 and "at most here" in r.err and job.containers() == after,
        "resize of sim to all blocks is refused, since other containers have some",
        r.text,
    )
    run("pkill -TERM -x threads; sleep 2", user="root")
    r, told = delete("vda")
    ok(
        r.code == 0 and told.get("deleted") and cpus(told["mems"]["before"]) == after["vda"][1],
        "delete vda: the answer names the blocks of vda",
        r.text,
    )
    same(
        set().union(*(n for (j, _), n in ledger().items() if j == job.id)),
        after["sim"][1] | ledger().get((job.id, "share"), set()),
        "delete vda: no container has the blocks of vda in the ledger",
    )
    run(f"scancel {job.id}")
    wait_idle()


# A program that has memory which the kernel cannot move (buffers of io_uring) on each of its memory
# nodes.
PIN = """
import ctypes, mmap, re, time
libc = ctypes.CDLL(None, use_errno=True)
nodes = []
for part in re.search(r"Mems_allowed_list:\\s*(\\S+)", \
open("/proc/self/status").read()).group(1).split(","):
    low, _, high = part.partition("-")
    nodes += range(int(low), int(high or low) + 1)
buffers = []
for node in nodes:
    mask = (ctypes.c_ulong * 16)()
    mask[node // 64] = 1 << node % 64
    assert libc.syscall(238, 2, mask, 1025) == 0, "set_mempolicy"
    buffers.append(mmap.mmap(-1, 65536, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    buffers[-1].write(b"x" * 65536)
ring = libc.syscall(425, 4, (ctypes.c_char * 120)())
vectors = (ctypes.c_ulong * (2 * len(buffers)))()
for i, b in enumerate(buffers):
    vectors[2 * i], vectors[2 * i + 1] = ctypes.addressof(ctypes.c_char.from_buffer(b)), 65536
assert ring >= 0 and libc.syscall(427, ring, 0, vectors, len(buffers)) == 0, \
("io_uring", ring, ctypes.get_errno())
print("pinned on", nodes, flush=True)
time.sleep(600)
"""


def group_pinned():
    """Test that the whole resize is refused, also its change of CPUs, if memory cannot be moved off
    a block."""
    manifest = write(
        "pinned.json",
        pod(sim={"container": {"cpus": 4, "mems": 2}}, vda={"container": {"cpus": 2, "mems": 1}}),
    )
    write("pin.py", PIN)
    script = write(
        "pinned.sh", "#!/bin/bash\nsrun -n1 --mpi=none --nodeos-container=sim python3 pin.py\n"
    )
    job = run(
        f"sbatch --parsable -N1 -n1 -c8 --mem=1000 --nodeos-manifest={manifest} -o pinned.out"
        f" {script}"
    ).out.strip()

    def containers():
        return {
            c["name"]: (cpus(c["cpus"]), cpus(c["mems"]))
            for c in json.loads(run(f"nodeosctl show --json --job={job}").out)["jobs"][0][
                "containers"
            ]
        }

    for _ in range(120):
        if "pinned on" in (
            read(f"{HOME}/pinned.out") if os.path.exists(f"{HOME}/pinned.out") else ""
        ):
            break
        time.sleep(0.5)
    before = containers()
    same(
        (len(before["sim"][0]), len(before["sim"][1])),
        (4, 2),
        f"sim has four CPUs and two blocks: {read(f'{HOME}/pinned.out')[-300:]}",
    )
    times = int(read("/run/nodeosd.changes") or 0) if os.path.exists("/run/nodeosd.changes") else 0
    for words in ("--mems=1", "--mems=1 --cpus=2", "--mems=1 --cpus=6"):
        r = run(f"nodeosctl resize sim {words}", timeout=300)
        ok(
            r.code == 1
            and "cannot be moved off memory nodes" in r.err
            and "are changed" not in r.err,
            f"resize {words} is refused because of pinned memory",
            r.text,
        )
        same(
            containers(),
            before,
            f"resize {words} with pinned memory leaves CPUs and memory nodes unchanged",
        )
        same(
            root("nodeosctl verify").code,
            0,
            f"after resize {words} with pinned memory, verify finds no difference",
        )
    same(
        int(read("/run/nodeosd.changes")) - times,
        3,
        "three refused resizes count as three changes for watchers",
    )
    r = run("nodeosctl resize sim --cpus=2")
    ok(
        r.code == 0
        and len(containers()["sim"][0]) == 2
        and containers()["sim"][1] == before["sim"][1],
        "resize --cpus=2 with pinned memory shrinks the CPUs alone",
        r.text,
    )
    run(f"scancel {job}")
    wait_idle()


def eater(pattern="eat"):
    return {int(p) for p in root(f"pgrep -x {pattern}").out.split()}


def tasks_of(text):
    """Return {pid: MiB} of the lines "eat PID KIND N of M" in TEXT."""
    return {int(p): int(n) for p, n in re.findall(r"eat (\d+) \S+ (\d+) of", text)}


def group_pressure():
    """Test that the kernel kills the ranks of a container that needs more memory than its blocks
    have, and no other processes."""
    two = sorted(kernel.near(set(range(2, 16))))[:2]
    usable = kernel.bytes(two) // MIB
    big = (
        usable * 5 // 4
    )  # MiB of a daemon: more than the blocks of a container have, but little compared with a home
    daemon = Background(
        f"exec systemd-run --quiet --wait --collect --unit=bigdaemon {EAT} {big} anon 3000", "root"
    )
    # a larger job of bob without a container, and a container that only computes
    bob = Background(f"srun -n1 -c2 --mem={2 * usable + 100} {EAT} {2 * usable} anon 3000", "bob")
    ok(
        bob.wait_for(rf"{2 * usable} of {2 * usable}"),
        f"a plain job of a second user has {2 * usable} MiB",
        bob.text,
    )
    near = Background(
        "srun -n2 -c2 --mem=300 --nodeos-mems=2 bash -c 'cat /proc/self/cgroup; while :; do :;"
        " done'",
        "bob",
    )
    place = near.wait_for(r"0::(/\S+)/task_\d+")
    ok(place, "a neighbour's container runs a loop", near.text)
    time.sleep(2)
    neighbour = "/sys/fs/cgroup" + place.group(1) if place else "/sys/fs/cgroup"
    nodes = cpus(read(f"{neighbour}/cpuset.mems.effective"))
    ok(
        daemon.process.poll() is None and len(eater()) == 2,
        f"a daemon of the system has {big} MiB",
        root("pgrep -a eat").out,
    )
    alive = eater()

    def free_mib():
        return {n: meminfo(n, "MemFree") // MIB for n in sorted(nodes | kernel.homes)}

    def counters():
        stat = dict(line.split() for line in read(f"{neighbour}/memory.stat").splitlines())
        vm = dict(line.split() for line in read("/proc/vmstat").splitlines())
        out = {
            k: int(stat[k])
            for k in (
                "pgscan",
                "pgsteal",
                "pgscan_direct",
                "pgscan_kswapd",
                "workingset_refault_file",
                "pgmajfault",
            )
            if k in stat
        }
        out |= {
            k: int(v) for k, v in vm.items() if k.startswith("allocstall") or k == "oom_kill_global"
        }
        out["stall"] = read(f"{neighbour}/memory.pressure")
        out["stall"] = [int(x) for x in re.findall(r"total=(\d+)", out["stall"])]
        for n in nodes:
            out |= {
                f"{k}@{n}": int(v)
                for k, v in (line.split() for line in read(f"{NODE}/node{n}/numastat").splitlines())
                if k in ("numa_miss", "numa_foreign")
            }
        return out

    def places():
        """Return the neighbour's anonymous and file pages of 4 KiB: {node: pages}."""
        found = {}
        for line in read(f"{neighbour}/memory.numa_stat").splitlines():
            for n, number in (
                re.findall(r" N(\d+)=(\d+)", line) if line.startswith(("anon ", "file ")) else ()
            ):
                if int(number):
                    found.setdefault(int(n), {})[line.split()[0]] = int(number) // 4096
        return found

    note(
        f"the neighbour's blocks are {listed(nodes)}, its pages of 4 KiB by node {places()}, free"
        f" MiB {free_mib()}"
    )
    before = counters()
    free = {n: meminfo(n, "MemFree") for n in nodes}
    died = outside = looked = by_limit = 0
    strange = []
    for i in range(RUNS):
        kind = ("anon", "shm", "/dev/shm/eaten")[i % 3]
        root("dmesg -C")
        r = Background(f"srun -n2 -c2 --mem={3 * usable} --nodeos-mems=2 {EAT} {usable} {kind} 60")
        seen = {}
        end = time.time() + 90
        while r.process.poll() is None and time.time() < end:
            for pid in eater() - alive:
                for n, count in pages(pid).items():
                    seen[n] = max(seen.get(n, 0), count)
            time.sleep(0.3)
        code = r.stop()
        kills = re.findall(
            r"oom-kill:constraint=(\w+),.*?task_memcg=(\S+?),task=(\S+?),pid=(\d+)",
            root("dmesg").out,
        )
        good = (
            code != 0
            and kills
            and all(
                k[0] in ("CONSTRAINT_MEMCG", "CONSTRAINT_MEMORY_POLICY")
                and k[2] == "eat"
                and int(k[3]) not in alive
                for k in kills
            )
            and alive <= eater()
        )
        died += bool(good)
        # some MiB of a block may be in the per-CPU lists of free pages: then the block is full
        # below the limit, and the kernel kills only tasks of these blocks
        by_limit += all(k[0] == "CONSTRAINT_MEMCG" for k in kills)
        mine = {n for n in seen if seen[n]}
        outside += len(mine) > 2 or not mine <= kernel.blocks
        looked += bool(mine)
        if not good or len(mine) > 2 or not mine <= kernel.blocks:
            strange.append((kind, code, kills, sorted(eater()), seen, r.text[-600:]))
    same(
        died,
        RUNS,
        f"each of {RUNS} containers that need twice their blocks loses its own ranks and no others"
        f" ({by_limit} by their own limit alone)",
    )
    ok(
        outside == 0 and looked >= RUNS * 2 // 3,
        f"no container has anonymous, shared or tmpfs pages outside of its two blocks ({looked} of "
        f"{RUNS} containers live long enough to be read)",
        (outside, looked),
    )
    for s in strange[:3]:
        note(s)
    same(
        alive <= eater() and daemon.process.poll() is None,
        True,
        "the daemon and the job of the second user survive the kills",
    )
    after = counters()
    moved = {k: (before[k], after[k]) for k in before if before[k] != after[k]}
    note(f"neighbour's pages now {places()}, free MiB {free_mib()}")
    note(
        "of the neighbour's pgscan, pgsteal, refaults, major faults, pressure, numa_miss and the"
        f" node's allocstall, these have changed: {moved or 'none'}"
    )
    # leave out allocstall, which counts for the whole node: the dying containers reclaim memory of
    # their own blocks
    own = {k: v for k, v in moved.items() if not k.startswith("allocstall")}
    if RUNS >= 20:
        same(
            own,
            {},
            "the neighbour's pgscan, pgsteal, refaults, major faults, pressure and numa_miss stay"
            " unchanged",
        )
    bob.stop()
    # a plain job that needs more memory than --mem
    hungry = Background(f"srun -n1 -c2 --mem=1800 {EAT} 2400 anon 0", "alice")
    hungry.process.wait(600)
    moved = {n: abs(meminfo(n, "MemFree") - free[n]) // MIB for n in nodes}
    ok(
        hungry.process.returncode != 0 and max(moved.values()) <= 16,
        "a plain job that exceeds its memory dies, and the free memory of no block changes by more"
        f" than 16 MiB: {moved}",
        hungry.text,
    )
    note(f"the plain job reached {max(tasks_of(hungry.text).values(), default=0)} of 2400 MiB")
    near.stop()
    root("systemctl stop bigdaemon")
    daemon.stop()
    cluster.wait_idle()


def group_gres():
    """Test that Slurm lets jobs wait for free blocks if it has them as a GRES and a feature."""
    text = root("nodeosctl provision --cmdline").out
    line = re.search(r"NodeName=n0 (CpuSpecList=.*)", text).group(1)
    gres = re.search(r"(NodeName=n0 Name=fgmn .*)", text).group(1)
    root(
        "cp /etc/slurm/slurm.conf /root/slurm.conf.before; cp /etc/slurm/gres.conf"
        " /root/gres.conf.before; systemctl stop slurmd; sed -i -E '/^NodeName/s/ Gres=tile:4/"
        f" {line.replace('Gres=', 'Gres=tile:4,')}/; /^GresTypes/s/$/,fgmn/' /etc/slurm/slurm.conf;"
        f" echo '{gres}' >>/etc/slurm/gres.conf; systemctl restart slurmctld; systemctl start"
        " slurmd; sleep 3; scontrol update NodeName=n0 State=RESUME"
    )
    states = wait_idle()
    ok(
        set(states.values()) == {"idle"},
        "Slurm accepts the lines of provision --cmdline",
        root("scontrol show node n0; tail -n 5 /shared/.nodeos/log/slurmctld.log").out,
    )
    ok(
        f"fgmn:{len(kernel.blocks)}" in root("scontrol show node n0").out,
        "Slurm has the blocks as a GRES",
        root("scontrol show node n0").out,
    )
    whole = root("nodeosctl verify")
    ok(
        whole.code == 0 and "0 differ" in whole.out,
        "verify finds no difference between the blocks and Slurm's GRES",
        whole.text,
    )
    most = (
        len(kernel.blocks) // 3 + 1
    )  # there is enough memory for three such jobs, but not enough blocks
    memory = (most - 1) * max(kernel.usable[n] for n in kernel.blocks) // MIB + 5
    script = write(
        "gres.sh", "#!/bin/bash\nsrun -n1 grep -h Mems_allowed_list /proc/self/status\nsleep 8\n"
    )
    jobs = [
        run(
            f"sbatch --parsable -C fgmn --gres=fgmn:{most} -n1 -c2 --mem={memory}"
            f" --nodeos-mems={most} -o g{i}.out {script}"
        ).out.strip()
        for i in range(3)
    ]
    waits = ""
    end = time.time() + 60
    # slurmctld gives the reason after it has tried to start the job
    while time.time() < end and ("PENDING" not in waits or "Reason=None" in waits):
        waits = root(f"scontrol show job {jobs[2]} | grep -E 'JobState|Reason'").out
        time.sleep(0.3)
    ok(
        "PENDING" in waits and "Resources" in waits,
        "of three jobs that request over a third of the blocks each, the third waits",
        waits,
    )
    end = time.time() + 120
    while time.time() < end and run("squeue -h").out.strip():
        time.sleep(1)
    got = [read(f"{HOME}/g{i}.out") for i in range(3)]
    ok(
        all(len(cpus(g.split()[-1])) == most for g in got),
        "three jobs that each request over a third of the blocks all get their blocks in the end",
        got,
    )
    root(
        "systemctl stop slurmd; cp /root/slurm.conf.before /etc/slurm/slurm.conf; cp"
        " /root/gres.conf.before /etc/slurm/gres.conf; systemctl restart slurmctld; systemctl start"
        " slurmd; sleep 3; scontrol update NodeName=n0 State=RESUME"
    )
    wait_idle()


class Random:
    """A random manifest that fits on the node. Each rank fills a part of its container's blocks."""

    def __init__(self, rng, number):
        self.containers, self.ranks, isolators = {}, [], {}
        cores, blocks = 7, len(kernel.blocks)
        least = min(kernel.usable[n] for n in kernel.blocks)
        for i in range(rng.randint(1, 3)):
            have = rng.randint(1, min(3, cores - 2 + i))
            count = rng.randint(1, min(3, blocks - 2 + i - self.count()))
            cores -= have
            size = rng.randrange(least * (count - 1) // MIB + 1, least * count // MIB + 1)
            mems = rng.choice((count, f"{size}M"))
            name = f"c{i}"
            self.containers[name] = mems, count
            isolators[name] = {"container": {"cpus": 2 * have, "mems": mems}}
            tasks = rng.randint(1, have)
            for _ in range(tasks):
                part = int(size * rng.uniform(0.3, 0.8) / tasks)
                kind = rng.choice(("anon", "shm", "/dev/shm/eaten"))
                self.ranks.append((name, max(1, part), kind))
        self.manifest = write(f"r{number}.json", pod(**isolators))

    def count(self):
        return sum(count for _, count in self.containers.values())

    def command(self, number):
        """Return a command: srun in an allocation of the manifest, all containers in one step."""
        where = ",".join(f"{name}:{i}" for i, (name, _, _) in enumerate(self.ranks))
        case = "".join(
            f"{i}) exec {EAT} {mib} {kind} 600;;\n" for i, (_, mib, kind) in enumerate(self.ranks)
        )
        script = write(f"r{number}.sh", f"#!/bin/bash\ncase $SLURM_PROCID in\n{case}esac\n")
        return (
            f"exec salloc -N1 -n{len(self.ranks)} --exclusive --mem={enough(self.count(), 100)}"
            f" --nodeos-manifest={self.manifest} srun -n{len(self.ranks)}"
            f" --nodeos-container={where} {script}"
        )

    def judge(self, text):
        """Return the faults of the ranks whose output is TEXT."""
        wrong, held = [], {}
        for pid, mib in tasks_of(text).items():
            path = "/sys/fs/cgroup" + read(f"/proc/{pid}/cgroup").split("::")[1]
            env = read(f"/proc/{pid}/environ").split("\0")
            name = next(e.split("=")[1] for e in env if e.startswith("NODEOS_CONTAINER="))
            mine = cpus(read(f"{path}/cpuset.mems.effective"))
            if held.setdefault(name, mine) != mine:
                wrong.append((name, "ranks have different blocks", held[name], mine))
            found = pages(pid)
            if not found.keys() <= mine:
                wrong.append((name, "pages outside of its blocks", mine, found))
            if sum(found.values()) < mib * 256:
                wrong.append((name, f"fewer pages than {mib} MiB", found))
        for name, (mems, _) in self.containers.items():
            mine = held.pop(name, set())
            if isinstance(mems, int):
                good = len(mine) == mems
            else:
                size = int(mems[:-1]) * MIB
                largest = max((kernel.usable[n] for n in mine), default=0)
                good = size <= kernel.bytes(mine) < size + largest
            if not (good and mine <= kernel.blocks):
                wrong.append((name, f"blocks for {mems}", mine))
            if any(mine & other for other in held.values()):
                wrong.append((name, "another container has one of its blocks", mine, held))
        return wrong


def group_manifests():
    """Test with random manifests that all pages of ranks are in their container's blocks."""
    rng = random.Random(SEED)
    wrong, filled = [], 0
    for i in range(MANIFESTS):
        m = Random(rng, i)
        r = Background(m.command(i))
        want = sum(mib for _, mib, _ in m.ranks)
        end = time.time() + 120
        while time.time() < end and r.process.poll() is None:
            if sum(tasks_of(r.text).values()) == want:
                break
            time.sleep(0.2)
        if sum(tasks_of(r.text).values()) == want:
            filled += 1
            wrong += [(i, *w) for w in m.judge(r.text)]
        else:
            wrong.append((i, "the ranks did not fill their memory", m.ranks, r.text[-600:]))
        r.stop()
        wait_idle()
        if len(wrong) > 5:
            break
    same(filled, MANIFESTS, f"{MANIFESTS} random manifests of seed {SEED}: all ranks fill memory")
    same(
        wrong,
        [],
        f"{MANIFESTS} random manifests: each container has as many blocks as it asked for, none has"
        " two containers, and no page of a rank is outside of its blocks",
    )


GROUPS = {name[6:]: fn for name, fn in list(globals().items()) if name.startswith("group_")}


def main():
    global RUNS, MANIFESTS, SEED
    wanted = []
    for arg in sys.argv[1:]:
        if arg.startswith("--runs="):
            RUNS = int(arg[7:])
        elif arg.startswith("--manifests="):
            MANIFESTS = int(arg[12:])
        elif arg.startswith("--seed="):
            SEED = int(arg[7:])
        else:
            wanted.append(arg)
    cluster.patient()
    # slurm.conf of the guests has 768 MiB for each node
    total = int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")).group(1)) // 1024 - 100
    root(
        f"systemctl stop slurmd; sed -i 's/RealMemory=[0-9]*/RealMemory={total}/'"
        " /etc/slurm/slurm.conf; systemctl restart slurmctld; systemctl start slurmd; sleep 2"
    )
    configure()
    r = root("nodeosctl provision", 300)
    ok(r.code == 0, "nodeosctl provision gives the homes to the ServiceOS", r.text)
    # add the cores of the ServiceOS to slurm.conf
    line = re.search(
        r"NodeName=n0 (CpuSpecList=\S+)", root("nodeosctl provision --cmdline").out
    ).group(1)
    root(
        f"systemctl stop slurmd; sed -i '/^NodeName/s/$/ {line}/' /etc/slurm/slurm.conf; systemctl"
        " restart slurmctld; systemctl start slurmd; sleep 3; scontrol update NodeName=n0"
        " State=RESUME"
    )
    wait_idle()
    note(
        f"machine: {len(machine.cpus)} CPUs, homes {listed(kernel.homes)}, blocks"
        f" {listed(kernel.blocks)}, {kernel.bytes(kernel.blocks) // MIB} MiB usable"
    )
    cluster.run_groups(GROUPS, wanted or GROUPS)
    ok(root("nodeosctl unprovision", 300).code == 0, "nodeosctl unprovision succeeds")
    cluster.done()


main()
