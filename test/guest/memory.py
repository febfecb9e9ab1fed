#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# two sockets with DRAM, and a node of fast memory without CPUs beside the first one (HMAT)
# boot: nodes=1 numa=2 memory=1216 qemu="-machine hmat=on -m 2944M
#   -object memory-backend-ram,id=fast,size=512M -numa node,nodeid=2,memdev=fast,initiator=0
#   -numa dist,src=0,dst=2,val=15 -numa dist,src=1,dst=2,val=25
#   -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=1,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=0,target=2,hierarchy=memory,data-type=access-bandwidth,bandwidth=200G"
# run: ci limit=600 kinds policies
# run: deep limit=1800
# run: deep kernel=debian limit=1800
# rooms: limits container jobplan topology manifest launch spank control
"""Test the memory of containers: kinds of memory by name, policies over nodes, and limits
(memory.max, io.max, transparent huge pages). Expected values come from the kernel's files.
"memory.py GROUP..." runs only these groups."""

import glob
import json
import os
import re
import shlex
import sys
import time

import cluster
from cluster import HOME, all_idle, ok, run, same
from containers import pod, write

WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"
EAT = "/usr/libexec/nodeos/test/eat"
CGROUP = "/sys/fs/cgroup"
SHOW = (
    "d=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup);"
    " for f in $d/{name} $d/../{name} $d/../../{name}; do"
    " echo $(basename $(dirname $(realpath $f))) $(tr '\\n' ' ' <$f 2>/dev/null); done"
)


def manifest(name, **isolators):
    return write(f"{name}.json", pod(**isolators))


def srun(options, command, timeout=180):
    return run(f"srun -n1 -c4 --mpi=none {options} {command}", timeout=timeout)


def shown(name, options):
    """Return the values of the cgroup file NAME in a rank's directory, in "user" and in the step's
    directory, as {directory: value}, and the result of the command."""
    r = srun(options, f"bash -c {shlex.quote(SHOW.format(name=name))}")
    return {
        words[0]: " ".join(words[1:]) for words in (line.split() for line in r.out.splitlines())
    }, r


def reported(options):
    """Return the report of a step with OPTIONS, and the result of the command."""
    where = f"{HOME}/reports"
    run(f"rm -rf {where}; mkdir {where}")
    r = srun(f"{options} --nodeos-report={where}/%j.%s.%N.json", "true")
    return "".join(open(f).read() for f in glob.glob(f"{where}/*")), r


def job_directories():
    return glob.glob(f"{CGROUP}/**/job_*", recursive=True)


def group_memory():
    path = manifest("limit", sim={"container": {"cpus": 4}, "resource/memory": {"limit": "128Mi"}})
    values, r = shown("memory.max", f"--nodeos-manifest={path}")
    same(
        values.get("user"),
        str(128 << 20),
        'memory: memory.max of the step\'s directory "user" is the limit',
    )
    r = srun(f"--nodeos-manifest={path}", f"{EAT} 64 anon")
    ok(r.code == 0, "memory: a rank below the limit ends without an error", r.text)
    r = srun(f"--nodeos-manifest={path}", f"{EAT} 256 anon")
    ok(r.code != 0, "memory: the kernel kills a rank above the limit", r.text)
    values, r = shown("memory.max", "--nodeos-limits=memory:64M")
    same(values.get("user"), str(64 << 20), "memory: --nodeos-limits=memory:64M sets memory.max")
    values, r = shown("memory.max", "")
    ok(
        values.get("user") not in (str(64 << 20), str(128 << 20)),
        "memory: a later step without a container has none of these limits",
        r.text,
    )
    end = time.time() + 60
    while job_directories() and time.time() < end:
        time.sleep(1)
    same(job_directories(), [], "memory: no cgroup of a job is left")
    text, r = reported("--nodeos-limits=memory:64G")
    ok(
        r.code == 0 and "limit of" in text and "is lower" in text,
        "memory: with a limit above Slurm's, the step runs, and the report says that Slurm's is"
        " lower",
        r.text + text,
    )
    both = manifest(
        "both",
        a={"container": {"cpus": 4}, "resource/memory": {"limit": "64Mi"}},
        b={"container": {"cpus": 4}},
    )
    r = run(
        f"srun -n3 -c4 --mpi=none --nodeos-manifest={both} --nodeos-container=a:0-1,b:2 bash -c"
        " 'echo $NODEOS_CONTAINER $(cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/memory.max)'"
    )
    same(
        sorted(r.out.split("\n")[:-1]),
        [f"a {32 << 20}", f"a {32 << 20}", "b max"],
        "memory: in a step with several containers, the ranks of a container divide its limit",
    )


# A program that allocates MIB MiB and prints its policy, its pages by node, and the nodes of two
# kinds of memory: "policy bind:0,2 pages 0=512 2=2048", then "kinds 0 2"
PAGES = """
import mmap, os, re, sys
m = mmap.mmap(-1, {mib} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(15)
for i in range(0, len(m), 4096): m[i] = 1
big = max((l for l in open("/proc/self/numa_maps") if " anon=" in l),
          key=lambda l: int(re.search(r"anon=(\\d+)", l)[1]))
print("policy", big.split("anon=")[0].split(None, 1)[1], "pages",
      *re.findall(r" N(\\d+=\\d+)", big))
print("kinds", os.environ.get("NODEOS_MEMS_DRAM"), os.environ.get("NODEOS_MEMS_HBM"))
"""


def pages(options, mib):
    """Return on which nodes a rank's new pages are, {node: number}, and the result of the
    command."""
    path = write("pages.py", PAGES.format(mib=mib))
    r = srun(options, f"python3 {path}")
    found = re.search(r"^policy .* pages(.*)$", r.out, re.M)
    return {int(n): int(c) for n, c in re.findall(r"(\d+)=(\d+)", found[1] if found else "")}, r


def uses_no_fast(options):
    where, r = pages(options, 16)
    ok(where and 2 not in where, f"a container with {options} uses no fast memory", r.text)


def group_kinds():
    r = run("nodeosctl features", user="root")
    same(
        re.search(r"^memory-kinds +(.*)$", r.out, re.M)[1],
        "dram 0-1, hbm 2",
        "kinds: nodeosctl features lists the kinds of the host",
    )
    uses_no_fast("--nodeos-cpus=4 --nodeos-mems=1")
    where, r = pages("--nodeos-mems=hbm:256M", 16)
    ok(
        set(where) == {2} and "kinds None 2" in r.out,
        "kinds: a container with hbm:256M uses only fast memory",
        r.text,
    )
    r = srun("--nodeos-mems=nvm:1", "true")
    ok(
        r.code != 0 and "this machine has no nvm memory node to give" in r.err and "hbm 2" in r.err,
        "kinds: a kind that the node lacks is refused, and the message has the kinds of the node",
        r.text,
    )


def group_wants():
    uses_no_fast("--nodeos-cpus=4 --nodeos-mems=256M")
    path = manifest(
        "both",
        sim={
            "container": {
                "cpus": 4,
                "mems": [{"kind": "dram", "count": 1}, {"kind": "hbm", "count": 1}],
            }
        },
    )
    where, r = pages(f"--nodeos-manifest={path}", 64)
    ok(
        re.search(r"^kinds [01] 2$", r.out, re.M) and set(where) <= {0, 1, 2},
        "wants: a list of two kinds gives both, and the environment has the nodes of each",
        r.text,
    )
    r = srun("--nodeos-mems=hbm:8G", "true")
    ok(
        r.code != 0 and "of hbm memory" in r.err,
        "wants: 8G of hbm is refused, since there is less",
        r.text,
    )


def mems_of_rank(job):
    """Return cpuset.mems of the first rank of step 0, or "" before there is one."""
    for path in glob.glob(f"{CGROUP}/system.slice/*scope/job_{job}/step_0/user/task_0/cpuset.mems"):
        return open(path).read().strip()
    return ""


def group_resize():
    """Test that a resize changes one kind of memory at a time, and that the ledger stays
    readable."""
    cluster.site("resize_mems = yes", ("n0",))
    wants = [{"kind": "dram", "count": 1}, {"kind": "hbm", "count": 1}]
    path = manifest("kinds", sim={"container": {"cpus": 4, "mems": wants}})
    job = run(
        f"sbatch --parsable -n1 -c4 --nodeos-manifest={path} --wrap 'srun --mpi=none sleep 1000'"
    ).out.strip()
    end = time.time() + 90
    while mems_of_rank(job) not in ("0,2", "1-2") and time.time() < end:
        time.sleep(1)
    before = mems_of_rank(job)
    ok(before in ("0,2", "1-2"), "resize: a rank has a node of each kind", before)
    for size, mems, says in (
        ("2", before, "by kinds (dram,hbm): name the kind"),
        ("hbm:+1", before, "has 1 hbm memory nodes and can have 1 at most"),
        ("nvm:1", before, "has 0 nvm memory nodes and can have 0 at most"),
        ("dram:+1", "0-2", "adds memory nodes"),
        ("dram:-1", before, "gives up memory nodes"),
    ):
        r = run(f"nodeosctl resize sim --job={job} --mems={size}")
        ok(
            (r.code == 0) == (says.split()[1] in ("memory", "up")) and says in r.text,
            f"resize: the answer to --mems={size} has: {says}",
            r.text,
        )
        same(
            mems_of_rank(job),
            mems,
            f"resize: after --mems={size}, cpuset.mems of the rank is {mems}",
        )
    r = run("nodeosctl verify", user="root")
    same(r.code, 0, f"resize: nodeosctl verify finds no difference {r.text if r.code else ''}")
    run(f"scancel {job}")
    cluster.wait_idle()


def group_policies():
    where, r = pages("--nodeos-mems=dram:1,hbm:1,policy:weighted-interleave", 100)
    share = where.get(2, 0) / max(1, sum(where.values()))
    ok(
        0.78 < share < 0.82,
        "policies: weighted-interleave puts 4 of 5 pages into memory of four times the bandwidth"
        f" ({share:.3f})",
        r.text + run(f"grep . {WEIGHTS}/*", user="root").out,
    )
    where, r = pages("--nodeos-mems=hbm:1,policy:preferred-many", 64)
    ok(
        set(where) == {2} and "prefer (many)" in r.out,
        "policies: preferred-many uses the preferred kind while it has free memory",
        r.text,
    )
    where, r = pages("--mem=1500M --nodeos-mems=hbm:1,policy:preferred-many", 600)
    ok(
        r.code == 0 and where.get(2) and sum(where.values()) > where[2],
        "policies: preferred-many uses other memory when the preferred kind is full",
        r.text,
    )


def outcomes(text):
    """Return the outcome of each isolator in TEXT, the report of a step with one container."""
    report = json.loads(text) if text else {"containers": [{"isolators": []}]}
    return {i["name"]: i["outcome"] for i in report["containers"][0]["isolators"]}


def write_blocks(size, count):
    """Return a command that writes COUNT blocks of SIZE with direct I/O."""
    return f"dd if=/dev/zero of=/var/tmp/io.test bs={size} count={count} oflag=direct"


def seconds_of(r):
    """Return the seconds that dd needed, or 0 if it failed."""
    found = re.search(r", ([0-9.]+) s, ", r.err)
    return float(found[1]) if r.code == 0 and found else 0


def throttles():
    """Return whether the kernel has io.max."""
    return bool(glob.glob(f"{CGROUP}/system.slice/io.max"))


def group_io():
    options = "--nodeos-limits=bandwidth:1M,iops:100"
    if not throttles():
        text, r = reported(options)
        ok(
            r.code == 0 and '"modified"' in text and "io.max" in text,
            "io: without io.max in the kernel, the step runs, and the report says modified",
            r.text + text,
        )
        return
    values, r = shown("io.max", options)
    lines = values.get("user", "")
    ok(
        lines.count("rbps=1048576 wbps=1048576 riops=100 wiops=100")
        == len([d for d in glob.glob("/sys/block/*/size") if int(open(d).read())]),
        "io: io.max of the step's directory has the limits for each block device",
        r.text,
    )
    text, r = reported(options)
    same(
        {i: outcome for i, outcome in outcomes(text).items() if "block" in i},
        {"resource/block-bandwidth": "enforced", "resource/block-iops": "enforced"},
        "io: the report says that both limits are enforced",
    )
    seconds = [
        seconds_of(srun(options, command))
        for options, command in (
            ("--nodeos-limits=bandwidth:1M", write_blocks("64K", 64)),
            ("--nodeos-cpus=4", write_blocks("64K", 64)),
            ("--nodeos-limits=iops:25", write_blocks("4K", 100)),
            ("--nodeos-cpus=4", write_blocks("4K", 100)),
        )
    ]
    ok(
        seconds[0] > 3 and seconds[0] > 2 * seconds[1],
        f"io: writing 4 MiB takes about 4 s with bandwidth:1M, and less without it ({seconds[:2]})",
    )
    ok(
        seconds[2] > 3 and seconds[2] > 2 * seconds[3],
        f"io: 100 writes take about 4 s with iops:25, and less without it ({seconds[2:]})",
    )
    run("rm -f /var/tmp/io.test")
    values, r = shown("io.max", "")
    ok(
        "rbps=" not in " ".join(values.values()),
        "io: a later step without limits has none",
        r.text,
    )
    io_is_unlimited()


def io_is_unlimited():
    """Check that no cgroup has a limit of block devices after all jobs have ended."""
    end = time.time() + 60
    while job_directories() and time.time() < end:
        time.sleep(1)
    limited = [f for f in glob.glob(f"{CGROUP}/**/io.max", recursive=True) if open(f).read()]
    same(limited, [], "io: after the jobs, no cgroup has a limit")


def group_thp():
    show = "grep THP_enabled /proc/self/status"
    for options, want in (
        ("--nodeos-limits=thp:never", "0"),
        ("--nodeos-limits=thp:always", "1"),
        ("--nodeos-cpus=4", "1"),
    ):
        r = srun(options, show)
        same(r.out.split()[-1:], [want], f"thp: THP_enabled of a rank with {options} is {want}")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    os.chown(HOME, 1000, 1000)
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or GROUPS)
    all_idle("memory: all nodes are idle at the end")
    cluster.done()


main()
