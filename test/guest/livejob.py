# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs whose ranks are busy while their containers change, and checks of their threads and pages by
the kernel's files."""

import glob
import json
import os
import re
import time

from cluster import HOME, all_idle, cpus, ok, run, same
from containers import pod, write

THREADS = "/usr/libexec/nodeos/test/threads"
PAIR = {
    "sim": {"container": {"cpus": "8", "mems": "2"}},
    "vda": {"container": {"cpus": "4", "mems": "1"}},
}


# A program of several processes that share memory. The kernel takes long to move it.
HOG = """import mmap, os, time
m = mmap.mmap(-1, {mib} << 20)
for i in range(0, len(m), 4096): m[i] = 1
for p in range({processes} - 1):
    if os.fork() == 0: break
sum(m[i] for i in range(0, len(m), 4096))
time.sleep(1000)
"""


def threads_of(task):
    """Return the threads in the cgroup directory TASK, with their CPUs: {tid: CPUs}."""
    out = {}
    for tid in open(f"{task}/cgroup.threads").read().split():
        try:
            text = open(f"/proc/{tid}/status").read()
            out[int(tid)] = cpus(re.search(r"^Cpus_allowed_list:\s*(\S*)$", text, re.M).group(1))
        except (OSError, AttributeError):
            pass  # the thread has ended
    return out


def pages_on(task):
    """Return the pages of the processes in cgroup TASK: {node: number}. Mappings of files without
    private copies do not count."""
    out = {}
    for pid in open(f"{task}/cgroup.procs").read().split():
        try:
            for line in open(f"/proc/{pid}/numa_maps"):
                if "file=" not in line or "anon=" in line:
                    for node, n in re.findall(r" N(\d+)=(\d+)", line):
                        out[int(node)] = out.get(int(node), 0) + int(n)
        except OSError:
            pass
    return out


class Job:
    """A job of alice on n0 with busy ranks in the containers of PAIR or in others."""

    def __init__(self, containers=None, sim="-n2", vda="-n1", rest="", mib=48, more="--exclusive"):
        """SIM, VDA and REST are srun's option -n of the steps in sim, in vda and outside of
        containers; "": no step. MORE are options of sbatch."""
        manifest = write("pair.json", pod(**(containers or PAIR)))
        steps = "".join(
            f"srun {n} --overlap --mpi=none {where} {THREADS} 2 {pinned} {mib} >{name}.out 2>&1 &\n"
            for name, n, pinned, where in (
                ("sim", sim, 2, "--nodeos-container=sim"),
                ("vda", vda, 1, "--nodeos-container=vda"),
                ("rest", rest, 1, ""),
            )
            if n
        )
        # the script runs commands that inside() writes to the file "next"
        script = write(
            "pair.sh",
            f"#!/bin/bash\nrm -f *.out next\n{steps}while sleep 1; do if [ -e next ]; then bash"
            " next >next.out 2>&1; rm next; fi; done\n",
        )
        self.id = run(
            f"sbatch --parsable -N1 -w n0 {more} --nodeos-manifest={manifest} -o pair.log {script}"
        ).out.strip()
        self.dir = None
        want = sum(int(n[2:]) for n in (sim, vda, rest) if n)
        for _ in range(200):
            found = glob.glob(f"/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_{self.id}")
            self.dir = found[0] if found else None
            # wait until all threads of all ranks run
            if (
                self.dir
                and len(self.tasks()) == want
                and all(len(threads_of(t)) >= 5 for t in self.tasks())
            ):
                break
            time.sleep(0.5)
        time.sleep(1)

    def tasks(self, name=None):
        """Return the cgroups of all ranks, or of the ranks in the container NAME."""
        steps = (
            [s["step"] for s in self.show()["steps"] if s["container"] == name]
            if name
            else ["[0-9]*"]
        )
        found = [t for step in steps for t in glob.glob(f"{self.dir}/step_{step}/user/task_[0-9]*")]
        return sorted(t for t in found if open(f"{t}/cgroup.procs").read())

    def show(self):
        return json.loads(run(f"nodeosctl show --json --job={self.id}").out)["jobs"][0]

    def containers(self):
        return {c["name"]: (cpus(c["cpus"]), cpus(c["mems"])) for c in self.show()["containers"]}

    def check(self, what, rest=True):
        """Check by the kernel's files that every thread is in its place, that no two containers
        share a CPU, and that ranks use all CPUs of their container."""
        have = self.containers()
        sets = [c for c, _ in have.values()]
        ok(
            len(set().union(*sets)) == sum(map(len, sets)),
            f"{what}: no two containers share a CPU",
            have,
        )
        left = set(range(os.cpu_count())) - set().union(*sets)
        wrong, seen = [], {}
        for step in self.show()["steps"]:
            place = step["container"]
            where = have[place][0] if place in have else (left or set(range(os.cpu_count())))
            for task in glob.glob(f"{self.dir}/step_{step['step']}/user/task_[0-9]*"):
                found = threads_of(task)
                wrong += [(task, tid, c, place) for tid, c in found.items() if not c <= where]
                if found:
                    seen.setdefault(place, set()).update(*found.values())
                if place in have and cpus(open(f"{task}/cpuset.cpus").read().strip()) != where:
                    wrong.append((task, "cpuset.cpus", open(f"{task}/cpuset.cpus").read(), place))
        same(
            wrong,
            [],
            f"{what}: every thread is in its container, or on CPUs outside of all containers",
        )
        for name, (c, _) in have.items():
            if name in seen:
                same(seen[name], c, f"{what}: the ranks of {name} may use all its CPUs")
        r = run("nodeosctl verify", user="root")
        same(
            r.code,
            0,
            f"{what}: verify finds no difference"
            if r.code == 0
            else f"{what}: verify finds no difference: {r.text}",
        )

    def inside(self, command):
        """Run COMMAND in the job's script. Returns its output."""
        write("next.new", command + "\n")
        os.rename(f"{HOME}/next.new", f"{HOME}/next")
        for _ in range(240):
            if not os.path.exists(f"{HOME}/next"):
                return open(f"{HOME}/next.out").read()
            time.sleep(0.5)
        return "the command has not run"

    def end(self, steps=("sim", "vda")):
        run(f"pkill -TERM -x threads; sleep 2; scancel {self.id}", user="root")
        for name in steps:
            text = open(f"{HOME}/{name}.out").read()
            ok(
                "all good" in text and "not as it was" not in text,
                f"{name}: the ranks' pages keep their contents",
                text,
            )
        all_idle("livejob: all nodes are idle at the end")


def resize(arguments, user="alice"):
    r = run(f"nodeosctl resize {arguments} --json", user=user, timeout=300)
    return r, (json.loads(r.out) if r.code == 0 else {})


def delete(arguments, user="alice"):
    r = run(f"nodeosctl delete {arguments} --json", user=user, timeout=120)
    return r, (json.loads(r.out) if r.code == 0 else {})
