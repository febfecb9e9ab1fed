# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for the suites that test vnodes: the bridge and the files of vnodes, and a Slurm whose
only nodes are vnodes."""

import os
import re
import time

from cluster import note, ok, run

CONF_DIR = "/etc/nodeos/vnode.d"
RING = "/usr/libexec/nodeos/test/ring-mpi"
BRIDGE, HOST = "br0", "10.77.0.1"
# Open MPI's settings for vnodes: TCP and shared memory, and no other transport.
MPI = (
    "OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp OMPI_MCA_btl_tcp_if_include=eth0"
    " OMPI_MCA_osc=^ucx PMIX_MCA_gds=hash"
)
# files below /etc that suites of vnodes change, and the directory where fresh_host() saves them
CHANGED = ("slurm/slurm.conf", "slurm/cgroup.conf", "slurm/gres.conf", "nodeos/nodeos.conf")
KEPT = "/var/tmp/kept-for-vnodes"
# settings of the guests' slurm.conf that start_slurm() replaces
REPLACED = (
    "ProctrackType TaskPlugin JobAcctGather PrologFlags GresTypes NodeName PartitionName"
    " SlurmctldHost SlurmdPidFile SlurmdSpoolDir SlurmdParameters DefMemPerCPU"
).split()


def root(command, timeout=180):
    return run(command, user="root", timeout=timeout)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def configure(name, **keys):
    """Write vnode.d/NAME.conf. KEYS replace values below; None removes a key."""
    number = int(re.sub(r"\D", "", name))
    values = {
        "address": f"10.77.0.{number}/24",
        "bridge": BRIDGE,
        "cpus": os.cpu_count() // 2,
        "memory": "500M",
        "mounts": "/shared",
    } | keys
    os.makedirs(CONF_DIR, exist_ok=True)
    lines = [f"{k} = {v}\n" for k, v in values.items() if v is not None]
    write(f"{CONF_DIR}/{name}.conf", "".join(lines))


def fresh_host():
    """Restore the node's slurmctld and nodeos.conf as at its boot, and remove vnodes and bridges:
    an earlier suite of this boot may have changed them. slurmd stays off."""
    if not os.path.isdir(KEPT):
        root(f"mkdir {KEPT}; cd /etc && cp -a --parents {' '.join(CHANGED)} {KEPT}")
        return
    root(
        f"cp -a {KEPT}/. /etc/; rm -rf {CONF_DIR}; ip link del {BRIDGE};"
        " for n in $(ip netns list | cut -d' ' -f1); do ip netns del $n; done;"
    )
    start_slurmctld()


def start_slurmctld():
    """Start slurmctld without its saved state of jobs and nodes, and wait until it answers."""
    root("systemctl stop slurmctld; rm -rf /var/spool/slurmctld/*; systemctl start slurmctld")
    end = time.time() + 60
    while time.time() < end and root("scontrol show config").code:
        time.sleep(1)


def make_bridge():
    r = root(
        f"ip link add {BRIDGE} type bridge && ip addr add {HOST}/24 dev {BRIDGE} &&"
        f" ip link set {BRIDGE} up"
    )
    ok(r.code == 0, "the host has a bridge", r.text)


def start_slurm(names):
    """Replace the guest's Slurm by one whose only nodes are the vnodes NAMES."""
    root("systemctl stop slurmd slurmctld")
    kept = [
        line
        for line in open("/etc/slurm/slurm.conf")
        if not any(line.startswith(word) for word in REPLACED)
    ]
    slurm, cgroup = root("nodeosctl vnode slurm-conf").out.split("# cgroup.conf\n")
    write(
        "/etc/slurm/slurm.conf",
        "".join(kept) + slurm + f"SlurmctldHost=n0({HOST})\nDefMemPerCPU=50\n"
        f"PartitionName=main Nodes={','.join(names)} Default=YES State=UP\n",
    )
    write("/etc/slurm/cgroup.conf", cgroup)
    write("/etc/slurm/gres.conf", "")
    start_slurmctld()


def states():
    """Return {node: state} from Slurm."""
    out = root("sinfo -h -N -o '%N %T'").out.split("\n")
    return dict(line.split() for line in out if line.strip())


def wait_for(want, limit=90):
    """Wait until Slurm's states of nodes are WANT, {node: state}, and return the last states."""
    end = time.time() + limit
    while time.time() < end and states() != want:
        time.sleep(1)
    return states()


def record(name):
    """Return the host's record of the vnode, {key: value}."""
    try:
        with open(f"/run/nodeos-vnode/{name}/state") as f:
            return {k: v.strip() for k, _, v in (line.partition(" = ") for line in f)}
    except FileNotFoundError:
        return {}


def pid_of(name):
    """Return the pid of the vnode's first process on the host, or 0."""
    return int(record(name).get("pid", 0))


def inside(name, command):
    """Run a shell command as root in the vnode's namespaces and cgroup."""
    words = command.replace("'", "'\\''")
    group = f"/sys/fs/cgroup/{record(name).get('cgroup')}/cgroup.procs"
    return root(f"echo $$ >{group}; nsenter -t {pid_of(name)} -m -n -u -i -p sh -c '{words}'")


def processes(name):
    """Return the pids in the vnode's cgroup."""
    path = record(name).get("cgroup")
    try:
        with open(f"/sys/fs/cgroup/{path}/cgroup.procs") as f:
            return [int(pid) for pid in f]
    except FileNotFoundError:
        return []


def traces():
    """Return, as text, everything that vnodes may leave on a host. The text must be the same before
    vnodes are created and after they have stopped."""
    return root(
        "ip -o link | sed 's/^[0-9]*: //' | cut -d: -f1 | sort; nft list tables;"
        " sed 's/^[0-9]* [0-9]* //' /proc/self/mountinfo | sort;"
        " find /sys/fs/cgroup -path '*nodeos-vnode*' -type d; find /run/nodeos-vnode -mindepth 1;"
        " lsns -n -o TYPE,COMMAND -t time | grep -i vnode;"
        " pgrep -l 'nodeos-vnode|munged|slurmd' | cut -d' ' -f2 | sort;"
        " find /tmp /run /dev/shm -name '*vnode*' ! -path /run/nodeos-vnode"
    ).out


def explain(name):
    """Write the logs of a vnode to the log, as TAP comments."""
    r = root(
        f"journalctl -u nodeos-vnode@{name} -o cat | tail -n 15; f=/proc/{pid_of(name)}/root/run;"
        " tail -n 15 $f/vnode.log $f/slurmd.log $f/munge/munged.log"
    )
    for line in r.text.splitlines():
        note(f"{name}: {line}")
