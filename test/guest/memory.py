#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# two sockets with DRAM, and a node of fast memory without CPUs beside the first one (HMAT)
# boot: nodes=1 numa=2 memory=768 qemu="-machine hmat=on -m 2048M
#   -object memory-backend-ram,id=fast,size=512M -numa node,nodeid=2,memdev=fast,initiator=0
#   -numa dist,src=0,dst=2,val=15 -numa dist,src=1,dst=2,val=25
#   -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=1,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=50G
#   -numa hmat-lb,initiator=0,target=2,hierarchy=memory,data-type=access-bandwidth,bandwidth=200G"
# run: ci limit=600
# run: deep kernel=debian limit=1800
# rooms: limits container jobplan topology manifest launch spank
"""Limits of containers: memory.max, io.max and huge pages, as the kernel's files show them.
memory.py GROUP...: these groups only."""

import glob
import os
import re
import shlex
import sys

import cluster
from cluster import HOME, all_idle, ok, run, same
from containers import pod, write

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
