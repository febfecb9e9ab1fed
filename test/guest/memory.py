#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# two sockets with DRAM, and a node of fast memory without CPUs beside the first one (HMAT)
# boot: nodes=1 numa=2 memory=768 qemu="-machine hmat=on -m 2048M
#   -object memory-backend-ram,id=fast,size=512M -numa node,nodeid=2,memdev=fast,initiator=0
#   -numa dist,src=0,dst=2,val=15 -numa dist,src=1,dst=2,val=25
#   -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=1,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=0,target=2,hierarchy=memory,data-type=access-bandwidth,bandwidth=200G"
# run: deep limit=1800
# run: deep kernel=debian limit=1800
# rooms: limits container jobplan topology manifest launch spank
"""Memory of containers: kinds by name, policies over nodes, and limits (memory.max, io.max, huge
pages), as the kernel's files show them. memory.py GROUP...: these groups only."""

import glob
import os
import re
import shlex
import sys

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
    """The lines "DIRECTORY VALUE" of the cgroup file NAME: of a rank, of "user" and of the step."""
    r = srun(options, f"bash -c {shlex.quote(SHOW.format(name=name))}")
    return {
        words[0]: " ".join(words[1:]) for words in (line.split() for line in r.out.splitlines())
    }, r


def group_memory():
    path = manifest("limit", sim={"container": {"cpus": 4}, "resource/memory": {"limit": "128Mi"}})
    values, r = shown("memory.max", f"--nodeos-manifest={path}")
    same(values.get("user"), str(128 << 20), "memory: the step's directory has the limit")
    r = srun(f"--nodeos-manifest={path}", f"{EAT} 64 anon")
    ok(r.code == 0, "memory: a rank below the limit ends well", r.text)
    r = srun(f"--nodeos-manifest={path}", f"{EAT} 256 anon")
    ok(r.code != 0, "memory: the kernel kills a rank above the limit", r.text)
    values, r = shown("memory.max", "--nodeos-limits=memory:64M")
    same(values.get("user"), str(64 << 20), "memory: --nodeos-limits gives the same")
    values, r = shown("memory.max", "")
    ok(
        values.get("user") not in (str(64 << 20), str(128 << 20)),
        "memory: a step without a container has no such limit",
        r.text,
    )
    same(glob.glob(f"{CGROUP}/**/job_*", recursive=True), [], "memory: no directory is left")
    report = f"{HOME}/limit.%j.json"
    r = srun(f"--nodeos-limits=memory:64G --nodeos-report={report} -J high", "true")
    text = "".join(open(f).read() for f in glob.glob(f"{HOME}/limit.*.json"))
    ok(
        r.code == 0 and ("limit of" in text and "is lower" in text or "memory.max" not in text),
        "memory: a limit above Slurm's own is no failure",
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
        "memory: ranks of a container divide its limit in a step with several containers",
    )


# pages of this process by node, after it has touched MIB of new memory: "0=512 2=2048"
PAGES = """
import mmap, os, re, sys
m = mmap.mmap(-1, {mib} << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.madvise(15)
for i in range(0, len(m), 4096): m[i] = 1
big = max((l for l in open("/proc/self/numa_maps") if " anon=" in l),
          key=lambda l: int(re.search(r"anon=(\\d+)", l)[1]))
print("policy", big.split()[1], "pages", *re.findall(r" N(\\d+=\\d+)", big))
print("kinds", os.environ.get("NODEOS_MEMS_DRAM"), os.environ.get("NODEOS_MEMS_HBM"))
"""


def pages(options, mib):
    """Where the pages of a rank lie: {node: number}, and the command's result."""
    path = write("pages.py", PAGES.format(mib=mib))
    r = srun(options, f"python3 {path}")
    found = re.search(r"^policy .* pages(.*)$", r.out, re.M)
    return {int(n): int(c) for n, c in re.findall(r"(\d+)=(\d+)", found[1] if found else "")}, r


def group_kinds():
    r = run("nodeosctl features", user="root")
    same(
        re.search(r"^memory-kinds +(.*)$", r.out, re.M)[1],
        "dram 0-1, hbm 2",
        "kinds: nodeosctl features lists the kinds of the host",
    )
    for options in ("--nodeos-cpus=4 --nodeos-mems=1", "--nodeos-cpus=4 --nodeos-mems=256M"):
        where, r = pages(options, 64)
        ok(where and 2 not in where, f"kinds: {options} uses no fast memory", r.text)
    where, r = pages("--nodeos-mems=hbm:256M", 64)
    ok(set(where) == {2} and "kinds None 2" in r.out, "kinds: hbm:256M uses fast memory", r.text)
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
        "kinds: a list of wants gives both, and names the nodes of each kind",
        r.text,
    )
    r = srun("--nodeos-mems=nvm:1", "true")
    ok(
        r.code != 0 and "no nvm memory node may be given" in r.err and "hbm 2" in r.err,
        "kinds: a kind that is not there is refused, with what there is",
        r.text,
    )
    r = srun("--nodeos-mems=hbm:8G", "true")
    ok(r.code != 0 and "of hbm memory" in r.err, "kinds: a size beyond is refused", r.text)


def group_policies():
    where, r = pages("--nodeos-mems=dram:1,hbm:1,policy:weighted-interleave", 100)
    share = where.get(2, 0) / max(1, sum(where.values()))
    ok(
        0.78 < share < 0.82,
        f"policies: four of five pages are in memory of four times the bandwidth ({share:.3f})",
        r.text + run(f"grep . {WEIGHTS}/*", user="root").out,
    )
    where, r = pages("--nodeos-mems=hbm:1,policy:preferred-many", 64)
    ok(
        set(where) == {2} and "prefer (many)" in r.out,
        "policies: preferred-many uses the preferred memory first",
        r.text,
    )
    where, r = pages("--nodeos-mems=hbm:1,policy:preferred-many", 600)
    ok(
        r.code == 0 and where.get(2) and sum(where.values()) > where[2],
        "policies: preferred-many uses other memory when the preferred is full",
        r.text,
    )


def throttles():
    """Whether the kernel has io.max."""
    return bool(glob.glob(f"{CGROUP}/system.slice/io.max"))


def group_io():
    options = "--nodeos-limits=bandwidth:1M,iops:100"
    report = f"{HOME}/io.json"
    values, r = shown("io.max", f"{options} --nodeos-report={report}")
    if not throttles():
        text = open(report).read()
        ok(
            r.code == 0 and '"modified"' in text and "io.max" in text,
            "io: a kernel without io.max runs the step and says so",
            r.text + text,
        )
        return
    lines = values.get("user", "")
    ok(
        lines.count("rbps=1048576 wbps=1048576 riops=100 wiops=100")
        == len([d for d in glob.glob("/sys/block/*/size") if int(open(d).read())]),
        "io: the step's directory has the limit for each block device",
        r.text,
    )
    write_mib = "dd if=/dev/zero of=/var/tmp/io.{} bs=64K count=64 oflag=direct"
    limited = srun(options, write_mib.format("a"))
    free = srun("--nodeos-cpus=4", write_mib.format("b"))
    took = [
        float(re.search(r", ([0-9.]+) s, ", r.err).group(1)) if r.code == 0 else 0
        for r in (limited, free)
    ]
    ok(
        took[0] > 3 and took[0] > 2 * took[1],
        f"io: 4 MiB at 1 MiB a second take four seconds, without a limit less ({took})",
        limited.text + free.text,
    )
    run("rm -f /var/tmp/io.*")
    values, r = shown("io.max", "")
    ok(
        "rbps=" not in " ".join(values.values()),
        "io: a step without a limit has none afterwards",
        r.text,
    )


def group_thp():
    show = "grep THP_enabled /proc/self/status"
    for options, want in (
        ("--nodeos-limits=thp:never", "0"),
        ("--nodeos-limits=thp:always", "1"),
        ("--nodeos-cpus=4", "1"),
    ):
        r = srun(options, show)
        same(r.out.split()[-1:], [want], f"thp: THP_enabled of a rank with {options}")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    os.chown(HOME, 1000, 1000)
    cluster.patient()
    cluster.run_groups(GROUPS, sys.argv[1:] or GROUPS)
    all_idle("memory: nodes are idle at the end")
    cluster.done()


main()
