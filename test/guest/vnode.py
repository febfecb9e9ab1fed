# SPDX-License-Identifier: GPL-2.0-or-later
# boot: nodes=1 numa=2 cpus=4 memory=1000
# run: deep limit=2400
# run: deep kernel=debian limit=2400
# rooms: vnode base host topology launch contention
"""Test two vnodes on one host; they are Slurm's only nodes. The groups test how the vnodes divide
the host, what they cannot reach, jobs of MPI, what create refuses, and that the vnodes leave
nothing on the host. vnode.py [GROUP...]"""

import json
import os
import sys
import time

import cluster
import vnodes
from cluster import cpus, note, ok, run, same
from vnodes import inside, pid_of, processes, record, root, states

NAMES = ("vnode7", "vnode8")
BEFORE = ""  # vnodes.traces() of the host before the first vnode is created
NAMESPACES = ("pid", "net", "mnt", "uts", "ipc", "time")


def refused(command, words, what):
    r = root(f"nodeosctl vnode {command}")
    ok(r.code == 1 and words in r.err and r.err.count("\n") == 1, what, r.text)


def group_refused():
    """Check that create refuses requests with one line, and leaves nothing on the host."""
    refused(
        "create vnode7",
        "vnodes are not allowed on this host (key vnode in",
        "create is refused by default (vnode = no)",
    )
    cluster.site("vnode = yes", ("n0",))
    refused(
        "create vnode7",
        "there is no vnode vnode7",
        "create of a vnode without a file in vnode.d is refused",
    )
    vnodes.configure("vnode7", bridge="br9")
    refused("create vnode7", "br9", "create of a vnode with a missing bridge is refused")
    vnodes.make_bridge()
    vnodes.configure("vnode7", hosts="n5 n6")
    refused(
        "create vnode7",
        "may not run on this host",
        "create of a vnode whose hosts do not include this host is refused",
    )
    vnodes.configure("vnode7", mounts="/opt")
    refused(
        "create vnode7",
        "/opt: no file system is mounted there",
        "create of a vnode with a mount on which no file system is mounted is refused",
    )
    vnodes.configure("vnode7", devices="/dev/nothing")
    refused("create vnode7", "/dev/nothing", "create of a vnode with a missing device is refused")
    for name in NAMES:
        vnodes.configure(name)
    vnodes.configure("vnode9", address="10.77.0.7/24")
    refused(
        "create vnode7",
        "has the address of vnode vnode9",
        "create of a vnode with the address of another vnode is refused",
    )
    os.unlink(f"{vnodes.CONF_DIR}/vnode9.conf")
    refused(
        "create vnode7",
        "ProctrackType = proctrack/cgroup",
        "create is refused with ProctrackType = proctrack/cgroup",
    )
    vnodes.start_slurm(NAMES)
    before = vnodes.traces()
    write_node = "echo 'NodeName=n0 CPUs=16 State=UNKNOWN' >>/etc/slurm/slurm.conf"
    root(f"{write_node}; systemctl restart slurmctld; sleep 3")
    refused(
        "create vnode7",
        "another node on the CPUs of this host: n0",
        "create is refused if Slurm has another node on the host's CPUs",
    )
    root("sed -i /NodeName=n0/d /etc/slurm/slurm.conf; systemctl restart slurmctld; sleep 3")
    same(vnodes.traces(), before, "creates that are refused leave nothing on the host")


def share_of(name):
    """Return the CPUs and memory nodes of the vnode's first process, as the kernel shows them."""
    with open(f"/proc/{pid_of(name)}/status") as f:
        words = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    return cpus(words["Cpus_allowed_list"].strip()), words["Mems_allowed_list"].strip()


def check_shares(names, what):
    """Check that the vnodes NAMES together have all CPUs of the host, and that each vnode has whole
    cores, and equally many at each memory node."""
    machine = cluster.Machine()
    shares = [share_of(name) for name in names]
    same(
        set().union(*(s for s, _ in shares)),
        machine.cpus,
        f"{what}: the vnodes together have all CPUs",
    )
    same(sum(len(s) for s, _ in shares), len(machine.cpus), f"{what}: no CPU belongs to two vnodes")
    for name, (share, mems) in zip(names, shares):
        ok(machine.whole_cores(share), f"{what}: {name} has whole cores", share)
        same(cpus(mems), machine.mems, f"{what}: {name} has all memory nodes")
        count = [
            machine.cores({c for c in share if machine.node_of[c] == node})
            for node in sorted(machine.mems)
        ]
        all_of = [
            machine.cores({c for c in machine.cpus if machine.node_of[c] == node})
            for node in sorted(machine.mems)
        ]
        same(
            count,
            [n // len(names) for n in all_of],
            f"{what}: {name} has an equal share of the cores of each memory node",
        )


def group_start():
    """Create and start two vnodes: Slurm must have both, each with its share of the host."""
    for name in NAMES:
        r = root(f"nodeosctl vnode create {name}")
        ok(r.code == 0, f"create {name} succeeds", r.text)
        same(record(name).get("phase"), "created", f"the host has a record of {name}")
    r = root("nodeosctl vnode start vnode7")
    ok(r.code == 0, "start vnode7 succeeds", r.text + root("journalctl -u nodeos-vnode@vnode7").out)
    check_shares(NAMES[:1], "one vnode")
    r = root("nodeosctl vnode start vnode8")
    ok(r.code == 0, "start vnode8 succeeds", r.text + root("journalctl -u nodeos-vnode@vnode8").out)
    check_shares(NAMES, "two vnodes")
    want = {name: "idle" for name in NAMES}
    if not same(vnodes.wait_for(want), want, "both vnodes are idle nodes of Slurm"):
        for name in NAMES:
            vnodes.explain(name)
    r = root("nodeosctl vnode list")
    ok(r.out.count("running") == 2, "nodeosctl vnode list shows that both vnodes run", r.text)
    r = root("nodeosctl vnode show vnode7")
    ok(
        f"pid: {pid_of('vnode7')}\n" in r.out,
        "nodeosctl vnode show has the pid of the vnode's first process",
        r.text,
    )
    refused("create vnode7", "is here already: running", "create of a running vnode is refused")
    r = root("stat -c '%a %u' /run/nodeos-vnode")
    same(r.out.strip(), "700 0", "only root can read the directory of records")


def group_border():
    """Check what only a vnode itself has, and what it cannot reach."""
    for kind in NAMESPACES:
        links = {os.readlink(f"/proc/{pid}/ns/{kind}") for pid in [1, *map(pid_of, NAMES)]}
        same(len(links), 3, f"the host and each vnode have different {kind} namespaces")
    r = inside("vnode7", "hostname; cat /run/nodeos/vnode")
    same(
        r.out,
        "vnode7\nvnode7",
        "inside of a vnode, the host name and /run/nodeos/vnode are the vnode's name",
    )
    r = inside("vnode7", "touch /etc/x /usr/x; echo 1 >/sys/kernel/mm/ksm/run")
    same(
        r.err.count("Read-only file system"),
        3,
        "inside of a vnode, the host's root directory and /sys are read-only",
    )
    r = inside("vnode7", "cd /shared/home/alice && touch vnode7 && ls vnode7 && rm vnode7")
    ok(r.code == 0, "a vnode can write to its mounts", r.text)
    r = inside("vnode7", "ls /dev | sort | tr '\\n' ' '")
    same(
        r.out.strip(),
        "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero",
        "inside of a vnode, /dev has the standard devices only",
    )
    r = inside("vnode7", "mknod /tmp/mem c 1 1 || mknod /tmp/disk b 254 0")
    ok(
        r.code and r.err.count("not permitted") == 2,
        "inside of a vnode, root cannot create other devices",
        r.text,
    )
    root(f"mknod -m 666 /proc/{pid_of('vnode7')}/root/tmp/zero c 1 5")
    root(f"mknod -m 666 /proc/{pid_of('vnode7')}/root/tmp/kmsg c 1 11")
    group = f"/sys/fs/cgroup/{record('vnode7')['cgroup']}/cgroup.procs"
    there = f"/proc/{pid_of('vnode7')}/root/tmp"
    for name, code in (("zero", 0), ("kmsg", 1)):
        r = root(f"echo $$ >{group}; head -c 1 {there}/{name} | wc -c")
        same(
            r.out.strip(),
            str(1 - code),
            f"the device filter of a vnode's cgroup {'refuses' if code else 'allows'} {name}",
        )
    inside("vnode7", "rm -f /tmp/zero /tmp/kmsg /tmp/mem /tmp/disk")
    r = inside("vnode7", "awk '{ print $5 }' /proc/self/mountinfo | sort | tr '\\n' ' '")
    same(
        r.out.strip(),
        "/ /dev /dev/pts /dev/shm /proc /run /shared /sys /tmp /var/spool/slurmd",
        "a vnode has only its own mounts",
    )
    r = inside("vnode7", "ip -4 -o addr show eth0; cat /sys/class/net/eth0/address")
    ok(
        "10.77.0.7/24" in r.out and "02:4e:0a:4d:00:07" in r.out,
        "inside of a vnode, eth0 has the vnode's addresses",
        r.text,
    )
    for pid in processes("vnode7"):
        crossing = [
            link
            for fd in os.listdir(f"/proc/{pid}/fd")
            for link in [os.readlink(f"/proc/{pid}/fd/{fd}")]
            if "perf_event" in link or "kvm" in link
        ]
        same(crossing, [], f"process {pid} of a vnode has no descriptor that cannot be moved")


def group_jobs():
    """Check jobs on both vnodes, and that containers are refused there."""
    r = run("srun -N2 -n4 --mpi=none hostname")
    same(
        sorted(r.out.split()),
        ["vnode7"] * 2 + ["vnode8"] * 2,
        "srun -N2 -n4 runs two ranks on each vnode",
    )
    r = run(f"{vnodes.MPI} srun -N2 -n4 --mpi=pmix {vnodes.RING} 5 1", timeout=240)
    lines = sorted(line.split() for line in r.out.splitlines() if line.startswith("ring "))
    ok(
        r.code == 0 and [x[1] for x in lines] == ["0", "1", "2", "3"],
        "a job of MPI runs on both vnodes",
        r.text,
    )
    same([x[4] for x in lines], ["0"] * 4, "a job of MPI: each number arrives as it was sent")
    same({x[2] for x in lines}, set(NAMES), "a job of MPI: ranks are on both vnodes")
    note(f"rounds, longest round in ms: {[(x[3], x[5]) for x in lines]}")
    r = run("srun -N1 -n1 --mpi=none sh -c 'exit 3'")
    same(r.code, 3, "srun on a vnode returns the exit status of the rank")
    r = run("srun -N1 -n1 --mpi=none --nodeos-cpus=2 hostname")
    ok(
        r.code and "containers do not run in a vnode" in r.err,
        "a container in a vnode is refused, and the message has the reason",
        r.text,
    )
    same(
        vnodes.wait_for(dict.fromkeys(NAMES, "idle")),
        dict.fromkeys(NAMES, "idle"),
        "a refused container does not drain the vnodes",
    )


def group_contend():
    """Test that nodeos-contend finds the ranks of a step on both vnodes, in one document."""
    cluster.site("contention = observe", ("n0",))
    cluster.site("contention_steps = all", ("n0",))
    cluster.site("contention_source = none", ("n0",))
    r = root("systemctl restart nodeos-contend")
    ok(r.code == 0, "nodeos-contend runs beside vnodes", r.text)
    # the shell stays the rank, and its child sleep is no rank
    job = run(
        "sbatch --parsable -N2 -n4 -o /dev/null --wrap 'srun --mpi=none sh -c \"sleep 99; :\"'"
    )
    path = f"/run/nodeos-contend/steps/{job.out.strip()}.0.json"
    seen, end = [], time.time() + 90
    while time.time() < end and len(seen) != 4:
        time.sleep(2)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                seen = json.load(f)["ranks"]
    children = {
        int(pid): name
        for name in NAMES
        for stepd in processes(name)
        if root(f"cat /proc/{stepd}/cmdline").out.startswith(f"slurmstepd: [{job.out.strip()}.0]")
        for pid in root(f"pgrep -P {stepd} -x sh").out.split()
    }
    same(
        sorted(r["pid"] for r in seen),
        sorted(children),
        "the document of the step has the programs that slurmstepd started on both vnodes",
    )
    same(sorted(children.values()), sorted(NAMES * 2), "the step has two ranks on each vnode")
    ok(
        all(
            cpus(r["cpus"]) == share_of(children[r["pid"]])[0] for r in seen if r["pid"] in children
        ),
        "the ranks have the CPUs of their vnodes",
        seen,
    )
    user = run(f"cat {path}")
    ok(user.code == 0, "the user of the step can read the document", user.text)
    run("scancel --user=alice")
    root("systemctl stop nodeos-contend; sed -i '/^contention/d' /etc/nodeos/nodeos.conf")
    vnodes.wait_for(dict.fromkeys(NAMES, "idle"))


def group_undone():
    """Check that a start of vnode8 that fails leaves nothing of it, and that vnode7 gets the CPUs
    back."""
    r = root("nodeosctl vnode stop vnode8")
    ok(r.code == 0, "stop vnode8 succeeds", r.text)
    check_shares(NAMES[:1], "after the stop of vnode8")
    before = vnodes.traces()
    # ip(8) refuses this route after the link, the cgroup and the process have been made
    vnodes.configure("vnode8", gateway="10.99.0.1")
    r = root("nodeosctl vnode start vnode8")
    ok(r.code == 1 and "journalctl" in r.err, "start of a vnode with a wrong gateway fails", r.text)
    r = root("journalctl -o cat -u nodeos-vnode@vnode8 | grep 'in the vnode: ip:'")
    ok(
        r.code == 0,
        "start of a vnode with a wrong gateway: the journal has the reason",
        root("journalctl -u nodeos-vnode@vnode8").out,
    )
    same(vnodes.traces(), before, "a start that fails leaves nothing of the vnode")
    check_shares(NAMES[:1], "after the other vnode's start has failed")
    vnodes.configure("vnode8")
    r = root("nodeosctl vnode start vnode8")
    ok(r.code == 0, "start vnode8 with the right gateway succeeds", r.text)
    check_shares(NAMES, "two vnodes after the failed start")


def group_killed():
    """Kill a vnode's supervisor: the vnode's first process must end, and systemd must start the
    vnode again."""
    pid = int(root("systemctl show -P MainPID nodeos-vnode@vnode8").out)
    old = pid_of("vnode8")
    root(f"kill -9 {pid}")
    end = time.time() + 90
    while time.time() < end and pid_of("vnode8") in (0, old):
        time.sleep(1)
    ok(
        pid_of("vnode8") not in (0, old),
        "a vnode whose supervisor is killed runs again",
        root("nodeosctl vnode list").out,
    )
    ok(
        not os.path.exists(f"/proc/{old}"),
        "a vnode's first process ends when the supervisor is killed",
    )
    want = dict.fromkeys(NAMES, "idle")
    same(vnodes.wait_for(want), want, "both vnodes are idle after a supervisor was killed")


def group_stop():
    """Stop the vnodes while one of them runs a job: they must leave nothing on the host."""
    root("nodeosctl vnode start vnode8")
    vnodes.wait_for(dict.fromkeys(NAMES, "idle"))
    run("sbatch -N1 -w vnode7 -o /dev/null --wrap 'sleep 300'")
    end = time.time() + 30
    while time.time() < end and states().get("vnode7") not in ("mixed", "allocated"):
        time.sleep(1)
    for name in NAMES:
        r = root(f"nodeosctl vnode stop {name}")
        ok(
            r.code == 0 and r.seconds < 60,
            f"stop {name} takes less than a minute",
            (r.seconds, r.text),
        )
        same(processes(name), [], f"stop {name} leaves no process")
    same(vnodes.traces(), BEFORE, "stopped vnodes leave no link, mount, cgroup, file or process")
    r = root("nodeosctl vnode list")
    ok(r.out.count("absent") == 2, "nodeosctl vnode list shows both vnodes as absent", r.text)


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def prepare(names):
    """Prepare the state that group_refused leaves, if NAMES do not include that group."""
    global BEFORE
    if "refused" not in names:
        cluster.site("vnode = yes", ("n0",))
        vnodes.make_bridge()
        for name in NAMES:
            vnodes.configure(name)
        vnodes.start_slurm(NAMES)
        BEFORE = vnodes.traces()


def main():
    global BEFORE
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(GROUPS)
    vnodes.fresh_host()
    prepare(names)
    for name in names:
        cluster.run_groups(GROUPS, [name], broken=lambda: [vnodes.explain(n) for n in NAMES])
        BEFORE = BEFORE or vnodes.traces()
    cluster.done()


main()
