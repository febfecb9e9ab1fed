# SPDX-License-Identifier: GPL-2.0-or-later
# if the kernel has blocks of memory, launches must not move sessions off the blocks' home nodes
# boot: nodes=1 numa=2 memory=4096 append=fgmn=all:6x192M qemu="-machine max-ram-below-4g=1G"
# run: ci limit=900 --times 2 exec launch
# run: deep limit=3600
# run: deep kernel=debian limit=3600
# rooms: control launch container serviceos host
"""Check that a user's process with a locked address space (test/guest/programs/hold.c) delays
neither other users' jobs nor processes of the host, whatever the user requests from NodeOS. Run as
root on n0: spaces.py [--times N] [GROUP...]"""

import argparse
import glob
import os
import re
import signal
import subprocess
import time

import cluster
from cluster import HOME, all_idle, note, ok, run, same
from containers import pod, write

HOLD = "/usr/libexec/nodeos/test/hold"
CONF = "/etc/nodeos/nodeos.conf"
SECONDS = 2  # other processes may be delayed by this many seconds
times = 20


class Hold:
    """A process of alice that holds its mmap_lock; below, its address space is "held". Root moves
    the process into cgroup INTO before the process takes the lock."""

    def __init__(self, into=None, user="alice", scope=False):
        """If SCOPE, the process is in a scope of systemd, like a session."""
        run_in = "systemd-run --quiet --scope --slice=user-1000.slice" if scope else ""
        self.p = subprocess.Popen(
            [
                "bash",
                "-c",
                (
                    f"read go; exec {run_in} setpriv --reuid={user} --regid={user} --init-groups"
                    f" {HOLD}"
                ),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=cluster.clean_env(user),
            cwd="/",
            start_new_session=True,
        )
        if into:
            with open(f"{into}/cgroup.procs", "w") as f:
                f.write(str(self.p.pid))
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        self.held = self.p.stdout.readline() == "held\n"

    def __enter__(self):
        if not self.held:
            raise RuntimeError("programs/hold did not report that it holds its mmap_lock")
        return self

    def __exit__(self, *_):
        run(f"pkill -9 -s {self.p.pid}", user="root")
        self.p.wait()


def stuck():
    """Return the threads in uninterruptible sleep, except those of hold."""
    r = run("ps -eLo state=,pid=,comm=,wchan=", user="root", timeout=20)
    return sorted(
        line for line in r.out.splitlines() if line.startswith("D") and " hold " not in line
    )


def nothing_stuck(what):
    """Check that no thread stays in uninterruptible sleep. A thread that only waits for a disk is
    not in all samples."""
    end, found = time.time() + 15, stuck()
    while found and time.time() < end:
        time.sleep(0.5)
        found = sorted(set(found) & set(stuck()))
    same(found, [], f"{what}: no process is stuck in the kernel")


def machine_state():
    """Return the CPUs of interrupts, of workqueues and of the root cgroup: {file: text}."""
    files = sorted(
        glob.glob("/proc/irq/*/smp_affinity_list")
        + glob.glob("/sys/devices/virtual/workqueue/*/cpumask")
        + ["/sys/fs/cgroup/cpuset.cpus.effective", "/sys/fs/cgroup/cpuset.mems.effective"]
    )
    return {f: open(f).read() for f in files if os.path.exists(f)}


class Others:
    """The times of actions of root and bob, without and with a held address space of alice."""

    def __init__(self, like=None):
        """If LIKE, another object, is given, its times without a held address space are used."""
        self.srun, self.forks, self.errors = [], [], []
        if like:
            self.plain, self.fork = like.plain, like.fork
            return
        self.plain = sorted(self.bob().seconds for _ in range(3))[1]
        self.fork = max(self.root() for _ in range(3))
        note(f"bob's srun takes {self.plain:.1f} s, a process of root {self.fork:.2f} s")

    @staticmethod
    def bob():
        return run(
            "srun -N1 -w n0 -n1 -c1 --mem=50 --mpi=none true", user="bob", cwd="/", timeout=60
        )

    @staticmethod
    def root():
        """Start a process and move it to another cgroup; the kernel takes the critical locks for
        this move. Returns the seconds."""
        start = time.time()
        r = run(
            "mkdir -p /sys/fs/cgroup/spaces && echo $$ >/sys/fs/cgroup/spaces/cgroup.procs && echo"
            " $$ >/sys/fs/cgroup/cgroup.procs",
            user="root",
            timeout=60,
        )
        return time.time() - start if r.code == 0 else 60.0

    def measure(self, srun=True):
        self.forks.append(self.root())
        if srun:
            r = self.bob()
            self.srun.append(r.seconds)
            if r.code:
                self.errors.append(r.text)

    def check(self, what):
        same(self.errors, [], f"{what}: all jobs of bob run")
        ok(
            max(self.forks) <= self.fork + SECONDS,
            f"{what}: root's processes are not delayed: {max(self.forks) - self.fork:.2f} s at"
            " most",
            self.forks,
        )
        if self.srun:
            late = sorted(self.srun)[len(self.srun) // 2] - self.plain
            ok(
                late <= SECONDS,
                f"{what}: bob's srun is not delayed: {late:.1f} s",
                (self.plain, self.srun),
            )


def small_job(script="sleep 1000"):
    """Submit a job of alice on a part of n0 with a rank in the container "own". Returns its number
    and its cgroup."""
    manifest = write("own.json", pod(own={"container": {"cpus": "4", "mems": "1"}}))
    path = write(
        "own.sh", f"#!/bin/bash\nsrun -n1 --overlap --mpi=none --nodeos-container=own {script}\n"
    )
    job = run(
        f"sbatch --parsable -N1 -w n0 -n1 -c6 --mem=600 --nodeos-manifest={manifest} -o own.out"
        f" {path}"
    ).out.strip()
    for _ in range(120):
        found = glob.glob(f"/sys/fs/cgroup/system.slice/*/job_{job}/step_0/user/task_0")
        if found and open(f"{found[0]}/cgroup.procs").read():
            time.sleep(1)
            return job, found[0].split("/step_0")[0]
        time.sleep(0.5)
    raise RuntimeError(run("squeue; cat own.out").text)


def end(job):
    run(f"scancel {job}", user="root")
    all_idle("spaces: all nodes are idle at the end")


def group_exec():
    """Test that nodeosd never moves its caller into a container, while an address space of the user
    is held."""
    job, where = small_job()
    before, others, answers = machine_state(), Others(), []
    ask = (
        "import socket; s=socket.socket(socket.AF_UNIX); s.settimeout(30);"
        " s.connect('/run/nodeosd.socket'); s.sendall(b'nodeos 1 {} container=own\\n');"
        " print(s.recv(500).decode())"
    )
    for i in range(times):
        with Hold():
            r = run(f'python3 -c "{ask.format("exec" if i % 2 else "find")}"', timeout=60)
            answers.append(r.out.strip())
            others.measure(srun=i % 5 == 0)
    same(
        {a.splitlines()[0] for a in answers[1::2]},
        {
            'error request: "exec" is not an operation (allowed: show, query, resize, delete,'
            " find): is nodeosd of an older version?"
        },
        "nodeosd refuses the operation exec of earlier releases",
    )
    same(
        {a for a in answers[0::2]},
        {f"ok\njob {job}\nnode n0"},
        "nodeosd answers the operation find with the job and the node",
    )
    others.check("exec")
    nothing_stuck("exec")
    # nodeosctl exec, while the address space of a rank in the container is held
    with Hold(into=f"{where}/step_0/user/task_0"):
        r = run("nodeosctl exec own grep Cpus_allowed_list /proc/self/status", timeout=120)
        ok(
            r.code == 0 and "Cpus_allowed_list" in r.out,
            "nodeosctl exec runs a command beside a rank whose address space is held",
            r.text,
        )
        others.measure()
    others.check("exec beside a held rank")
    same(machine_state(), before, "exec: interrupts, workqueues and cpusets are unchanged")
    end(job)
    nothing_stuck("exec")


def group_resize():
    """Resize and delete a container in which the address space of a rank is held."""
    job, where = small_job()
    before, others = machine_state(), Others()
    refused = []
    with Hold(into=f"{where}/step_0/user/task_0"):
        for i in range(times):
            refused.append(run(f"nodeosctl resize own --mems={1 + i % 2}", timeout=60).text)
            others.measure(srun=i % 5 == 0)
        same(
            {t for t in refused if "cannot be changed at this site (resize_mems in" not in t},
            set(),
            "resize --mems is refused while the site does not allow it",
        )
        r = run("nodeosctl resize own --cpus=2", timeout=60)
        ok(
            r.code == 0,
            "resize --cpus succeeds although the address space of a rank is held",
            r.text,
        )
        others.check("resize")
        nothing_stuck("resize")
        # If the site allows changes of memory nodes, nodeosd first tests each process with the
        # user's rights, while the ledger is unlocked.
        run(f"echo 'resize_mems = yes' >>{CONF}", user="root")
        p = subprocess.Popen(
            [
                "setpriv",
                "--reuid=alice",
                "--regid=alice",
                "--init-groups",
                "nodeosctl",
                "resize",
                "own",
                "--mems=2",
            ],
            env=cluster.clean_env("alice"),
            cwd=HOME,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        late = Others(like=others)
        while p.poll() is None:
            late.measure()
        text = p.stderr.read()
        ok(
            p.returncode == 1 and "cannot be read or moved (not finished within 20 s)" in text,
            "resize --mems is refused if the address space of a rank is held",
            text,
        )
        late.check("resize_mems = yes")
    # a resize also changes the memory nodes of the step's processes that are no ranks
    beside = f"{where}/step_0/user/task_special"
    os.makedirs(beside, exist_ok=True)
    with Hold(into=beside):
        r = run("nodeosctl resize own --mems=2", timeout=120)
        ok(
            r.code == 1 and "cannot be read or moved (not finished within 20 s)" in r.text,
            "resize --mems is refused if the address space of a process beside the ranks is held",
            r.text,
        )
        others.check("resize beside a held process")
        nothing_stuck("resize")
    with Hold(into=f"{where}/step_0/user/task_0"):
        run(f"sed -i '/^resize_mems/d' {CONF}", user="root")
        nothing_stuck("resize")
        r = run("nodeosctl delete own --kill", timeout=120)
        ok(
            r.code == 0,
            "delete --kill succeeds although the address space of a rank is held",
            r.text,
        )
    same(machine_state(), before, "resize: interrupts, workqueues and cpusets are unchanged")
    end(job)
    nothing_stuck("resize")


def group_launch():
    """Start steps while the address space of a session in the job's extern step is held."""
    script = write(
        "steps.sh",
        "#!/bin/bash\nrm -f go stop\nwhile ! [ -e stop ]; do if [ -e go ]; then rm go; srun -n1"
        " --overlap --mpi=none --nodeos-container=own true; srun -n1 --overlap --mpi=none"
        " --nodeos=off true; echo $? >>steps.done; fi; sleep 0.2; done\n",
    )
    manifest = write("own.json", pod(own={"container": {"cpus": "4", "mems": "1"}}))
    run("rm -f steps.done")
    job = run(
        f"sbatch --parsable -N1 -w n0 -n1 -c6 --mem=600 --nodeos-manifest={manifest} -o steps.out"
        f" {script}"
    ).out.strip()
    for _ in range(120):
        found = glob.glob(f"/sys/fs/cgroup/system.slice/*/job_{job}/step_batch/user/task_0")
        if found:
            break
        time.sleep(0.5)
    extern = found[0].split("/step_batch")[0] + "/step_extern"
    os.makedirs(
        f"{extern}/user/task_special", exist_ok=True
    )  # the directory that Slurm makes for pam_slurm_adopt
    # a kernel without blocks ignores fgmn= and has only the two nodes of the machine
    blocks = len(glob.glob("/sys/devices/system/node/node[0-9]*")) > 2
    mems = open(f"{extern}/user/cpuset.mems.effective").read().strip()
    before, others = machine_state(), Others()
    with Hold(into=f"{extern}/user/task_special"):
        for i in range(times):
            run("touch go")
            others.measure(srun=i % 5 == 0)
            limit = time.time() + 120
            while time.time() < limit and (
                not os.path.exists(f"{HOME}/steps.done")
                or len(open(f"{HOME}/steps.done").readlines()) <= i
            ):
                others.measure(srun=False)
                time.sleep(0.5)
        done = (
            open(f"{HOME}/steps.done").read().split()
            if os.path.exists(f"{HOME}/steps.done")
            else []
        )
        same(done, ["0"] * times, "each step runs although the address space of a session is held")
        same(
            open(f"{extern}/user/cpuset.mems.effective").read().strip(),
            mems,
            "launches do not change the memory nodes of a session whose address space is held",
        )
        others.check("launch")
        nothing_stuck("launch")
    if blocks:
        ok(
            mems != open("/sys/fs/cgroup/cpuset.mems.effective").read().strip(),
            f"on a node with blocks, a session may use only the blocks' home nodes: {mems}",
        )
    run("touch stop")
    same(machine_state(), before, "launch: interrupts, workqueues and cpusets are unchanged")
    end(job)
    nothing_stuck("launch")


def allowed(pid):
    """Return the CPUs and memory nodes that process PID may use."""
    status = open(f"/proc/{pid}/status").read()
    return re.findall(r"^(?:Cpus|Mems)_allowed_list:\t(.*)", status, re.M)


def own_manager():
    """Check the limits of alice's systemd manager, whose cgroup she owns."""
    manager = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service"
    r = run("systemctl start user@1000.service", user="root", timeout=60)
    ok(
        r.code == 0 and os.stat(manager).st_uid == 1000,
        "alice has a systemd manager of her own",
        r.text,
    )
    there = open(f"{manager}/cgroup.controllers").read().split()
    ok(
        "memory" in there and "cpuset" not in there,
        "alice's manager has the memory controller and no cpuset controller",
        there,
    )
    r = run(f"mkdir {manager}/mine && echo +cpuset >{manager}/cgroup.subtree_control", user="alice")
    ok(
        r.code != 0 and os.path.isdir(f"{manager}/mine"),
        "alice cannot enable the cpuset controller in the cgroup of her manager",
        r.text,
    )
    pid = run("systemctl show -P MainPID user@1000.service", user="root").out.strip()
    same(
        allowed(pid),
        ["0-1", "0"],
        "alice's manager has only the CPUs and memory nodes of the ServiceOS",
    )
    slice_ = "/sys/fs/cgroup/user.slice/cpuset."
    same(
        [open(slice_ + f).read().strip() for f in ("cpus", "mems")],
        ["0-1", "0"],
        "user.slice has the CPUs and memory nodes of the ServiceOS",
    )
    r = run(f"taskset -cp 3 {pid}", user="root")
    ok(r.code != 0, "alice's manager cannot be bound to a CPU outside of the ServiceOS", r.text)
    run(f"rmdir {manager}/mine; systemctl stop user@1000.service", user="root", timeout=60)


def group_provision():
    """Provision the node while the address space of a session outside of jobs is held."""
    session = "/sys/fs/cgroup/user.slice/user-1000.slice/session-1.scope"
    run(
        f"mkdir -p {session}; echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control; for d in"
        " user.slice user.slice/user-1000.slice; do echo +cpuset"
        " >/sys/fs/cgroup/$d/cgroup.subtree_control; done",
        user="root",
    )
    run(f"printf 'serviceos = 1/node\\nserviceos_mems = 0\\n' >>{CONF}", user="root")
    others = Others()
    with Hold(into=session):
        mems = open(f"{session}/cpuset.mems.effective").read()
        r = run("timeout 300 nodeosctl provision --verbose", user="root", timeout=320)
        ok(
            r.code == 0 and "users' processes are running" in r.err and "of uid 1000" in r.out,
            "provision reports that users' processes delay changes of memory nodes, and names the"
            " user",
            r.text,
        )
        same(
            open(f"{session}/cpuset.mems.effective").read(),
            mems,
            "provision does not change the memory nodes of a session whose address space is held",
        )
        ok(
            "AllowedMemoryNodes"
            not in run("cat /run/systemd/system/scope.d/*nodeos*", user="root").out,
            "provision writes no memory nodes that a reload of systemd would apply",
        )
        run("systemctl daemon-reload", user="root", timeout=60)
        others.measure()
        r = run("timeout 300 nodeosctl unprovision", user="root", timeout=320)
        ok(
            r.code == 0,
            "unprovision succeeds although the address space of a session is held",
            r.text,
        )
        others.measure()
    r = run("timeout 300 nodeosctl provision --verbose", user="root", timeout=320)
    ok(
        r.code == 0 and "users' processes" not in r.text,
        "without users' processes, provision makes all changes",
        r.text,
    )
    same(
        open("/sys/fs/cgroup/system.slice/munge.service/cpuset.mems.effective").read().strip(),
        "0",
        "after provision, a service has the memory node of the ServiceOS",
    )
    own_manager()
    with Hold(scope=True) as h:
        where = open(f"/proc/{h.p.pid}/cgroup").read()
        cpus = allowed(h.p.pid)[0]
        ok(
            "user-1000.slice" in where and cpus == "0-1",
            "after provision, a new session has the CPUs of the ServiceOS",
            (where, cpus),
        )
        r = run("timeout 300 nodeosctl unprovision", user="root", timeout=320)
        ok(
            r.code == 1 and "users' processes keep their memory nodes" in r.err,
            "unprovision does not change the memory nodes of a user's processes, and fails",
            r.text,
        )
        others.measure()
    r = run("timeout 300 nodeosctl unprovision", user="root", timeout=320)
    ok(r.code == 0, "without users' processes, unprovision restores everything", r.text)
    others.check("provision")
    run(f"sed -i '/^serviceos/d' {CONF}", user="root")
    nothing_stuck("provision")


GROUPS = {
    "exec": group_exec,
    "resize": group_resize,
    "launch": group_launch,
    "provision": group_provision,
}


def main():
    global times
    p = argparse.ArgumentParser()
    p.add_argument("--times", type=int, default=20)
    p.add_argument("groups", nargs="*", choices=[[], *GROUPS], default=[])
    a = p.parse_args()
    times = a.times
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    run(
        "[ -e /dev/fuse ] || modprobe fuse; chmod 0666 /dev/fuse", user="root"
    )  # on other systems, a rule of udev does this
    # like cluster.patient(), but for this node only
    run(f"sed -i 's/^#helper_timeout = .*/helper_timeout = 60/' {CONF}", user="root")
    cluster.run_groups(GROUPS, a.groups or list(GROUPS))
    cluster.done()


if __name__ == "__main__":
    main()
