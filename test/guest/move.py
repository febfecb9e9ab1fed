# SPDX-License-Identifier: GPL-2.0-or-later
# boot: nodes=1 numa=2 cpus=4 memory=1000 kernel=debian
# run: ci limit=900 moves
# run: deep limit=7200 --moves=20 moves refused saved both swap reboots
# run: deep limit=7200 --kills=5 killed
# rooms: move vnode
"""Move a vnode between two hosts while it runs two of the three ranks of an MPI step. The hosts are
network namespaces of one node with joined bridges. The vnodes are Slurm's only nodes. Moves are
also refused, attacked by a user, and interrupted at each transition. The same MPI step runs all the
time: if a rank loses or changes a number, all later numbers are wrong.

move.py [--moves=3] [--swaps=20] [--kills=5] [GROUP...]: moves, refused, saved, both, swap,
killed, reboots
move.py --relay FILE COMMAND...: run the receiver COMMAND. At the request "go", make FILE, and pass
"go" to COMMAND only after FILE is removed"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import cluster
import vnodes
from cluster import cpus, note, ok, run, same
from vnodes import root, write

LIBEXEC = "/usr/libexec/nodeos"
MOVING = f"{LIBEXEC}/test/moving"
NAME, OTHER, ADDRESS = "vnode7", "vnode8", "10.77.0.7"
HOSTS = {"A": "10.77.0.2", "B": "10.77.0.3"}
HOME = cluster.HOME
# /shared cannot be mapped for writing, so the vnode has another shared file system
SCRATCH = "/scratch"
STOP, DATA, LOG = f"{HOME}/stop", f"{SCRATCH}/alice/data", f"{HOME}/log"
UNIT = "nodeos-vnode-{}@{}.service"
IDLE = {NAME: "idle", OTHER: "idle"}
SAVED = "/var/tmp/saved-vnodes"
HANDED = "/run/test-handed"
SECRET = f"{SCRATCH}/secret"  # only root can read it
TIMES = {"moves": 3, "swaps": 20, "kills": 5}
# A peer that waits for an acknowledgement sends again after pauses that double up to this number of
# seconds (TCP_RTO_MAX of Linux). So it may notice the end of a move this much later.
RTO_MAX = 120


def wait_until(what, limit=120):
    end = time.time() + limit
    while not what() and time.time() < end:
        time.sleep(0.02)
    return what()


def run_dir(host):
    return f"/run/vnode-{host}"


def in_host(host, command, timeout=300):
    words = command.replace("'", "'\\''")
    return root(f"nsenter --net=/run/netns/{host} bash -c '{words}'", timeout)


def make_units(host):
    """Write the unit of vnodes for the network namespace HOST."""
    path = "lib/systemd/system/nodeos-vnode@.service"
    path = next(p for p in (f"/usr/{path}", f"/usr/local/{path}") if os.path.exists(p))
    with open(path) as f:
        unit = f.read()
    unit = unit.replace("/nodeos-vnode run", f"/nodeos-vnode --run-dir={run_dir(host)} run")
    unit = unit.replace("/nodeos-vnode clear", f"/nodeos-vnode --run-dir={run_dir(host)} clear")
    unit = unit.replace("[Service]", f"[Service]\nNetworkNamespacePath=/run/netns/{host}")
    write(f"/run/systemd/system/{UNIT.format(host, '')}", unit)


def setup():
    """Make two hosts beside the host of slurmctld, and start a vnode on each."""
    vnodes.fresh_host()
    cluster.site("vnode = yes", ("n0",))
    vnodes.make_bridge()
    for host, address in HOSTS.items():
        r = root(
            f"ip netns add {host}; ip -n {host} link set lo up;"
            f" ip -n {host} link add {vnodes.BRIDGE} type bridge;"
            f" ip -n {host} addr add {address}/24 dev {vnodes.BRIDGE};"
            f" ip -n {host} link set {vnodes.BRIDGE} up;"
            f" ip link add trunk{host} type veth peer name trunk netns {host};"
            f" ip link set trunk{host} master {vnodes.BRIDGE} up;"
            f" ip -n {host} link set trunk master {vnodes.BRIDGE} up"
        )
        ok(r.code == 0, f"the test can make host {host}", r.text)
        make_units(host)
    root("systemctl daemon-reload")
    r = root(
        f"mkdir -p {SCRATCH}; mountpoint -q {SCRATCH} || mount -t tmpfs -o size=64M,mode=755"
        f" scratch {SCRATCH}; install -d -o alice -g alice {SCRATCH}/alice"
    )
    ok(r.code == 0, "the hosts have a further shared file system", r.text)
    for name in IDLE:
        vnodes.configure(name, cpus=4, mounts=f"/shared {SCRATCH}")
    vnodes.start_slurm(list(IDLE))
    for host, name in (("A", NAME), ("B", OTHER)):
        r = root(f"systemctl start {UNIT.format(host, name)}")
        ok(r.code == 0, f"{name} starts on host {host}", r.text)
    if not same(vnodes.wait_for(IDLE), IDLE, "both vnodes are idle nodes of Slurm"):
        explain()


def record(host, name=NAME):
    try:
        with open(f"{run_dir(host)}/{name}/state") as f:
            return {k: v.strip() for k, _, v in (line.partition(" = ") for line in f)}
    except FileNotFoundError:
        return {}


def first_process(host, name=NAME):
    """Return the pid of the vnode's first process on HOST, or 0."""
    pid = int(record(host, name).get("pid", 0))
    return pid if pid and os.path.exists(f"/proc/{pid}/ns/pid") else 0


def here():
    """Return the hosts on which the vnode runs."""
    return [host for host in HOSTS if first_process(host)]


def group_file(host, name):
    with open(f"/sys/fs/cgroup/{record(host)['cgroup']}/{name}") as f:
        return f.read().split()


def ranks(host):
    """Return the pids of the MPI step's ranks on HOST."""
    out = []
    for pid in group_file(host, "cgroup.procs"):
        try:
            with open(f"/proc/{pid}/comm") as f:
                if f.read().strip() == os.path.basename(vnodes.RING):
                    out.append(int(pid))
        except OSError:
            pass
    return out


def status_of(pid, key):
    with open(f"/proc/{pid}/status") as f:
        return next(line.split()[1] for line in f if line.startswith(key))


def entries(host):
    """Return the journal of the vnode's moves on HOST: (state, token) of each transition."""
    try:
        with open(f"/var/lib/vnode-{host}/{NAME}.move") as f:
            return [tuple(line.split()[:2]) for line in f if line.endswith("\n")]
    except FileNotFoundError:
        return []


def token(host):
    """Return the token of HOST's last move, or ""."""
    return (entries(host) or [("", "")])[-1][1]


def journal(host, before=None):
    """Return the states of HOST's last move, or none if its token is still BEFORE."""
    last = token(host)
    return [] if last == before else [state for state, t in entries(host) if t == last]


def places(host):
    return f"--run {run_dir(host)} --state /var/lib/vnode-{host}"


def saver(host, name=NAME):
    """Return the command that saves a vnode of HOST."""
    return f"nsenter --net=/run/netns/{host} nodeosctl vnode save {places(host)} {name} {SAVED}"


def restorer(host, name=NAME):
    """Return the command that restores the saved vnode on HOST."""
    receive = (
        f"/usr/bin/nsenter --net=/run/netns/{host} {LIBEXEC}/nodeos-vnode-receive"
        f" --unit {UNIT.format(host, name)} {places(host)} {name}"
    )
    return f'nodeosctl vnode restore --command "{receive}" {name} {SAVED}'


def mover(source, dest, words="", relay=""):
    """Return the command that moves the vnode from SOURCE to DEST. RELAY is put before the command
    of the receiver."""
    receive = (
        f"{relay}/usr/bin/nsenter --net=/run/netns/{dest} {LIBEXEC}/nodeos-vnode-receive"
        f" --unit {UNIT.format(dest, NAME)} {places(dest)} {NAME}"
    )
    target = NAME if "--recover" in words else f"{NAME} host{dest}"
    return (
        f"exec nsenter --net=/run/netns/{source} nodeosctl vnode move {places(source)}"
        f' --command "{receive}" {words} {target}'
    )


def move(source, dest, words=""):
    r = root(mover(source, dest, words), timeout=900)
    note(f"{source} to {dest} {words}: {r.seconds:.1f} s, exit {r.code}")
    for line in r.text.splitlines()[1:]:
        note(line)
    return r


def traces(host):
    """Return what is left of the vnode and its moves on HOST, or "" if nothing is left."""
    unit = UNIT.format(host, NAME)
    return root(
        f"ip -n {host} -o link | grep -o vn-{NAME}; ip netns exec {host} nft list tables;"
        f" grep -o '^nodeos [^ ]*{run_dir(host)}[^ ]*' /proc/mounts;"
        f" find /sys/fs/cgroup -path '*{unit}*' -type d; ls -d {run_dir(host)}/{NAME}/*"
    ).out


def left_of_moves(what):
    """Check that nothing of a move is left on either host except the vnode."""
    mounts = root("grep '^nodeos ' /proc/mounts").out
    same(mounts, "", f"{what}: no image of the vnode is left")
    tables = "".join(root(f"ip netns exec {h} nft list tables").out for h in HOSTS)
    pids = [h for h in HOSTS if first_process(h)]
    tables += "".join(root(f"nsenter -n -t {first_process(h)} nft list tables").out for h in pids)
    same(tables, "", f"{what}: no nftables table of the move is left")
    r = root("pgrep -x criu; pgrep -x nodeos-vnode-ga; pgrep -x nodeos-vnode-re | wc -l")
    gone = wait_until(lambda: root("pgrep -x criu || pgrep -x nodeos-vnode-ga").code == 1, 30)
    ok(gone, f"{what}: no process of the move is left", r.text)


def explain():
    for host in HOSTS:
        r = root(
            f"journalctl -o cat -u '{UNIT.format(host, '*')}' | tail -n 20;"
            f" tail -n 20 /proc/{first_process(host) or 1}/root/run/slurmd.log"
        )
        for line in [*r.text.splitlines(), f"journal {journal(host)}", f"{record(host)}"]:
            note(f"{host}: {line}")


class Step:
    """The steps during moves: the MPI step, and on the vnode a step of processes with other kinds
    of state ("tree")."""

    def __init__(self):
        run(f"rm -f {STOP} {DATA} {LOG}")
        words = f"srun -N2 -n3 --mpi=pmix {vnodes.RING} 6000 1 {STOP}"
        self.ring = self.start(f"{vnodes.MPI} {words}")
        tree = self.start(f"srun -N1 -n1 -w {NAME} --mpi=none {MOVING} tree {LOG} {DATA} 0")
        self.tree = tree
        two = wait_until(lambda: len(here()) == 1 and len(ranks(here()[0])) == 2, 240)
        ok(
            two,
            "two of the three MPI ranks are on the vnode",
            run("squeue -s; squeue", user="root").text,
        )
        listens = f"nsenter -n -t {first_process(here()[0])} ss -ltn | grep -q :5000"
        ok(wait_until(lambda: root(listens).code == 0), "the tree of processes listens on its port")
        self.ask = subprocess.Popen(
            [MOVING, "ask", ADDRESS, "1000000", "20"], stdout=subprocess.PIPE, text=True
        )
        time.sleep(1)
        self.answers("before the moves")
        bound = ranks(here()[0])[0]
        one = min(cpus(status_of(bound, "Cpus_allowed_list")))
        root(f"taskset -a -p -c {one} {bound}")
        time.sleep(2)

    @staticmethod
    def start(command):
        code = "import cluster, sys; r = cluster.run(sys.argv[1], timeout=7000); print(r.text)"
        return subprocess.Popen(
            [sys.executable, "-c", code, command], stdout=subprocess.PIPE, text=True
        )

    def goes_on(self, what):
        """Check that both steps run, and that the tree answers."""
        r = run("squeue -h -s -t RUNNING -o '%i %j'", user="root")
        names = [line.split()[1] for line in r.out.splitlines() if len(line.split()) == 2]
        both = sorted(n for n in names if n in ("moving", os.path.basename(vnodes.RING)))
        same(both, ["moving", os.path.basename(vnodes.RING)], f"{what}: both steps still run")
        self.answers(what)

    def answers(self, what):
        """Check that the tree of processes answers: it notes each number that it gets in DATA."""
        with open(DATA, "rb") as f:
            last = f.read(8)

        def more():
            with open(DATA, "rb") as f:
                return f.read(8) != last

        good = wait_until(more, RTO_MAX + 30) and self.ask.poll() is None
        ok(
            good,
            f"{what}: the connection to the tree of processes still works",
            (self.ask.poll(), run(f"cat {LOG}").text),
        )

    def finish(self):
        """End both steps, and check that all their data was right."""
        self.ask.send_signal(signal.SIGINT)
        asked = self.ask.communicate(timeout=60)[0]
        ok(
            re.fullmatch(r"ask: \d+ answers, longest [\d.]+ s\n", asked),
            "all answers of the tree of processes are right",
            asked,
        )
        note(asked.strip())
        wait_until(lambda: "first:" in run(f"cat {LOG}").out, 60)
        text = run(f"cat {LOG}").out
        ok(
            "wrong 0, event 7, clock ahead" in text,
            "memory, files and clock of the tree of processes are right",
            text,
        )
        run(f"touch {STOP}")
        text = self.ring.communicate(timeout=300)[0]
        lines = sorted(line.split() for line in text.splitlines() if line.startswith("ring "))
        ok(text.startswith("exit 0\n"), "the MPI step ends with exit code 0", text)
        same(
            [line[4] for line in lines],
            ["0"] * 3,
            "each number of the MPI step has arrived as it was sent",
        )
        note(f"rounds, longest round in ms: {[(x[3], x[5]) for x in lines]}")
        run("scancel --name=moving", user="root")
        self.tree.communicate(timeout=120)


def private_pages(pid):
    """Return the memory node of a bound process's CPU, and {node: number of pages that only
    this process maps}."""
    pages = dict.fromkeys(cluster.Machine().mems, 0)
    with open(f"/proc/{pid}/numa_maps") as f:
        for line in f:
            words = line.split()
            if any(w.startswith("anon=") for w in words) and "mapmax=" not in line:
                for node, _, number in (w[1:].partition("=") for w in words[2:] if w[0] == "N"):
                    pages[int(node)] += int(number)
    cpu = min(cpus(status_of(pid, "Cpus_allowed_list")))
    return cluster.Machine().node_of[cpu], pages


def check_host(step, source, dest, what):
    """Check that the vnode is on DEST, within its share of CPUs and memory nodes, and that nothing
    of it is left on SOURCE."""
    same(here(), [dest], f"{what}: the vnode is on {dest} only")
    # systemd removes the unit's cgroup when its last program has ended
    wait_until(lambda: traces(source) == "", 30)
    same(traces(source), "", f"{what}: nothing of the vnode is left on {source}")
    share = cpus(group_file(dest, "cpuset.cpus.effective")[0])
    allowed = [cpus(status_of(pid, "Cpus_allowed_list")) for pid in ranks(dest)]
    ok(
        len(allowed) == 2 and all(a and a <= share for a in allowed),
        f"{what}: the ranks have only CPUs of the vnode's share",
        (allowed, share),
    )
    same(
        sorted(map(len, allowed)),
        sorted({1, len(share)}),
        f"{what}: the rank that was bound to one CPU still is",
    )
    maps = "".join(open(f"/proc/{pid}/numa_maps").read() for pid in ranks(dest))
    nodes = {word.split("=")[0][1:] for word in maps.split() if word[0] == "N" and "=" in word}
    mems = {str(n) for n in cpus(group_file(dest, "cpuset.mems.effective")[0])}
    ok(nodes <= mems, f"{what}: the ranks' pages are on the vnode's memory nodes", (nodes, mems))
    home, pages = private_pages(ranks(dest)[allowed.index(min(allowed, key=len))])
    ok(
        sum(pages.values()) > 1000 and pages[home] >= 0.9 * sum(pages.values()),
        f"{what}: the memory of the rank that is bound to a CPU is on the CPU's memory node",
        (home, pages),
    )
    step.goes_on(what)


def group_moves(step):
    """Move the vnode from host to host and back."""
    for i in range(TIMES["moves"]):
        source, dest = here()[0], "B" if here()[0] == "A" else "A"
        what = f"move {i + 1}"
        r = move(source, dest)
        if not ok(r.code == 0, f"{what}: the vnode moves from {source} to {dest}", r.text):
            explain()
            return
        check_host(step, source, dest, what)
        left_of_moves(what)
    r = run(f"srun -w {NAME} -n1 --mpi=none hostname", timeout=300)
    same((r.code, r.out), (0, f"{NAME}\n"), "the moved slurmd runs a new step")
    r = run(f"srun -w {NAME} -n1 --mpi=none sh -c 'exit 3'", timeout=300)
    same(r.code, 3, "after moves, srun gets the exit code of a rank")


def refused(step, words, what):
    """Check that a move is refused before any process of the vnode is stopped."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    r = move(source, dest)
    ok(r.code == 1 and words in r.err, f"a move with {what} is refused", r.text)
    same(
        journal(source),
        ["preflight", "back"],
        f"a move with {what} is refused in the preflight",
    )
    same(here(), [source], f"after the refusal of {what}, the vnode is still on its host")
    step.goes_on(what)


def with_process(step, code, words, what):
    """Check that a move is refused while a process of the vnode runs CODE."""
    ready = f"{DATA}.ready"
    run(f"rm -f {ready}")
    code = f"import ctypes, os, time; {code}; open('{ready}', 'w').close(); time.sleep(600)"
    p = Step.start(f'srun --job-name=guest -w {NAME} -n1 --mpi=none python3 -c "{code}"')
    ok(wait_until(lambda: os.path.exists(ready), 120), f"a process of the vnode has {what}")
    refused(step, words, what)
    run("scancel --name=guest", user="root")
    p.communicate(timeout=120)


def group_refused(step):
    """Test moves that are refused before any process is stopped."""
    ring = "b = ctypes.create_string_buffer(256); ctypes.CDLL(None).syscall(425, 4, b)"
    with_process(step, ring, "io_uring cannot be moved", "an io_uring")
    gone = f"f = open('{DATA}.gone', 'w'); os.unlink('{DATA}.gone')"
    with_process(step, gone, "removed or renamed", "a removed file")
    dest = "B" if here()[0] == "A" else "A"
    root(f"ip -n {dest} link set {vnodes.BRIDGE} name br9")
    refused(step, "br0", "a destination without the bridge")
    root(f"ip -n {dest} link set br9 name {vnodes.BRIDGE}; ip -n {dest} link set br0 up")
    left_of_moves("after refusals")


def group_saved(step):
    """Save the vnode, and restore it on the other host, while its peers wait."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    r = root(saver(source), timeout=600)
    ok(r.code == 0, f"the vnode is saved on {source}", r.text)
    same(here(), [], "a saved vnode is on no host")
    wait_until(lambda: traces(source) == "", 30)
    same(traces(source), "", f"nothing of a saved vnode is left on {source}")
    r = run(f"ls {SAVED}/{NAME}.image")
    ok(r.code, "a user cannot read the image", r.text)
    r = root(restorer(dest), timeout=600)
    ok(r.code == 0, f"the saved vnode is restored on {dest}", r.text)
    same(here(), [dest], f"the restored vnode is on {dest}")
    same(root(f"ls {SAVED}").out.split(), [f"{NAME}.lock", f"{NAME}.move"], "the image is removed")
    step.goes_on("after save and restore")
    r = root(restorer(source), timeout=600)
    ok(
        r.code == 1 and "restored before" in r.err,
        "a saved vnode cannot be restored a second time",
        r.text,
    )
    left_of_moves("after save and restore")


def group_both(step):
    """Save all vnodes of the MPI step, one after the other, and restore them. In between, no
    rank of the step is on a host."""
    source = here()[0]
    for host, name in ((source, NAME), ("B", OTHER)):
        r = root(saver(host, name), timeout=600)
        ok(r.code == 0, f"all vnodes of a step: {name} is saved", r.text)
    same([first_process(h, n) for h in HOSTS for n in IDLE], [0] * 4, "no vnode is on a host")
    for host, name in (("B", OTHER), (source, NAME)):
        r = root(restorer(host, name), timeout=600)
        ok(r.code == 0, f"all vnodes of a step: {name} is restored", r.text)
    step.goes_on("after all vnodes of a step were saved")
    left_of_moves("after all vnodes of a step were saved")


def begin_move(source, dest, relay=""):
    """Start a move in the background. Its messages go to a pipe."""
    return subprocess.Popen(
        ["bash", "-c", mover(source, dest, relay=relay)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def swap(path, make, what):
    """During a move, let the file's user replace the open file PATH by a file that the command MAKE
    makes."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    before = token(source)
    p = begin_move(source, dest)
    wait_until(lambda: "dumped" in journal(source, before) or p.poll() is not None)
    r = run(f"mv {path} {path}.kept && {make} {path}")
    err = p.communicate(timeout=900)[1]
    os.rename(f"{path}.kept", path)
    swapped = r.code == 0 and "sent" in journal(source, before) and "live" not in journal(dest)
    ok(
        p.returncode == 1 and path[1:] in err and swapped,
        f"{what}: the move is refused after the dump, with the path",
        (err, journal(source)),
    )
    same(here(), [source], f"{what}: the vnode is where it was")
    note(err.strip())


def group_swap(step):
    """Replace files of a user by links to a file of root's of equal size and mode, and by pipes."""
    size, mode = os.stat(DATA).st_size, os.stat(DATA).st_mode & 0o777
    write(SECRET, ("secret" * size)[:size])
    os.chmod(SECRET, mode)
    r = run(f"cat {SECRET}")
    ok(r.code, "the user cannot read the file of root's", r.text)
    for i in range(TIMES["swaps"]):
        swap(DATA, f"ln -s {SECRET}", f"link {i + 1}")
    swap(DATA, f"mkfifo -m {mode:o}", "pipe in place of a file")
    step.goes_on("after the attack")
    left_of_moves("after the attack")


def relay_requests(file, command):
    """Run the receiver COMMAND between this process's input and output, until it ends. The mover
    sends the request "go" alone after "handed". Then make FILE, and pass "go" on after FILE is
    removed."""
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    ends, kept = {0: p.stdin.fileno(), p.stdout.fileno(): 1}, b""
    while True:
        if kept and not os.path.exists(file):
            os.write(p.stdin.fileno(), kept)
            kept = b""
        for end in select.select(list(ends), [], [], 0.05)[0]:
            data = os.read(end, 1 << 16)
            if end == 0 and re.fullmatch(rb"go [0-9a-f]+\n", data):
                write(file, "")
                kept = data
            elif not data and end == 0:
                del ends[0]
                p.stdin.close()
            elif not data:
                return
            while data and not kept:
                data = data[os.write(ends[end], data) :]


def begin_held_move(source, dest):
    """Begin a move. It stops when the source's journal is at "handed" and the destination's journal
    at "restored", until HANDED is removed. Returns the mover."""
    root(f"rm -f {HANDED}")
    relay = f"/usr/bin/python3 {os.path.abspath(__file__)} --relay {HANDED} "
    p = begin_move(source, dest, relay)
    wait_until(lambda: os.path.exists(HANDED) or p.poll() is not None, 600)
    ok(
        journal(source)[-1:] == ["handed"] and journal(dest)[-1:] == ["restored"],
        "a move can be stopped at handed",
        (journal(source), journal(dest)),
    )
    return p


# names in /proc/PID/comm are cut to 15 bytes; both ends of a move have a gate and CRIU
NAMES = {
    "mover": "nodeos-vnode-mo",
    "receiver": "nodeos-vnode-re",
    "gate": "nodeos-vnode-ga",
    "criu": "criu",
}


def processes_of(victim, host=None):
    """Return the pids of processes of moves: VICTIM is a key of NAMES; None: on any host."""
    out = []
    for pid in root(f"pgrep -x {NAMES[victim]}").out.split():
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                line = f.read()
            with open(f"/proc/{pid}/environ") as f:
                words = f.read()
        except OSError:
            continue
        if victim == "receiver" and "-receive" not in line.split("\0")[0]:
            continue
        # the command line of the mover names its own host before the other host
        found = re.search(r"/var/lib/vnode-(\w+)", f"{words if 'NODEOS_MOVE' in words else line}")
        if not host or (found and found[1] == host):
            out.append(int(pid))
    return out


def kill(pids, number=signal.SIGKILL):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def kill_at(step, victim, state, host):
    """Kill the VICTIM of a move when the journal of HOST has STATE, then recover."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    watched = source if host == "source" else dest
    what = f"{victim} killed at {state}"
    before = token(watched)
    # hold the move at "restored": this state is too short to find a process meanwhile
    p = (begin_held_move if state == "restored" else begin_move)(source, dest)
    wait_until(lambda: state in journal(watched, before) or p.poll() is not None, 300)
    ok(state in journal(watched, before), f"{what}: the move reaches {state}", p.poll())
    victims = processes_of(victim, watched)
    kill(victims)
    ok(victims, f"{what}: there was a {victim}")
    root(f"rm -f {HANDED}")
    err = p.communicate(timeout=900)[1]
    note(f"{what}: {err.strip()}")
    r = move(source, dest, "--recover")
    settled = wait_until(lambda: len(here()) == 1 and not any(map(processes_of, NAMES)), 120)
    ok(
        r.code == 0 and settled,
        f"{what}: after the recovery, the vnode runs on one host",
        (r.text, here()),
    )
    if not settled:
        explain()
    note(f"{what}: on {here()}, {json.dumps([journal(h) for h in HOSTS])}")
    step.goes_on(what)


def kill_gate_at_live(step):
    """Kill the destination's gate after it has written "live" and before the tree runs. A program
    in the gate's place does this: it dies after the gate has ended."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    gate, place = f"{LIBEXEC}/nodeos-vnode-gate", "/var/tmp/test-gate"
    write(
        place,
        f'#!/bin/sh\n{place}.real; code=$?\n[ "$CRTOOLS_SCRIPT_ACTION" = post-restore ] &&'
        " kill -9 $$\nexit $code\n",
    )
    os.chmod(place, 0o755)
    root(f"cp {gate} {place}.real; mount --bind {place} {gate}")
    r = move(source, dest)
    root(f"umount {gate}; rm {place} {place}.real")
    what = "gate killed at live"
    ok(r.code == 1 and "live" in journal(dest), f"{what}: the move is undone", r.text)
    ends = journal(source)[-1], journal(dest)[-1]
    same(ends, ("back", "aborted"), f"{what}: the journals' ends")
    same(here(), [source], f"{what}: the vnode is where it was")
    step.goes_on(what)


def group_killed(step):
    """Kill each process of a move at each transition."""
    kill_gate_at_live(step)
    for i in range(TIMES["kills"]):
        note(f"kills, round {i + 1}")
        for state in ("preflight", "freeze", "dumped", "sent", "handed"):
            kill_at(step, "mover", state, "source")
        for state in ("offered", "received", "restored"):
            kill_at(step, "receiver", state, "dest")
        for state in ("dumped", "sent", "handed"):
            kill_at(step, "gate", state, "source")
        kill_at(step, "gate", "restored", "dest")
    left_of_moves("after kills")


def reboot(host):
    """Do to HOST what a reboot does: end all processes of its vnode and of moves, and remove the
    vnode's link, its cgroup, and its files in /run. The journal, which is on a disk, stays."""
    unit, group = UNIT.format(host, NAME), record(host).get("cgroup")
    for victim in ("mover", "receiver", "gate", "criu"):
        kill(processes_of(victim, host))
    root(
        f"echo 1 >/sys/fs/cgroup/{group}/cgroup.kill; systemctl kill -s KILL {unit};"
        f" systemctl stop {unit}; systemctl reset-failed {unit};"
        f" umount -l {run_dir(host)}/{NAME}/image; rm -rf {run_dir(host)}/{NAME};"
        f" ip -n {host} link del vn-{NAME}"
    )


def group_reboots(step):
    """Reboot a host when the journal of the source is at "handed"."""
    source, dest = here()[0], "B" if here()[0] == "A" else "A"
    p = begin_held_move(source, dest)
    reboot(dest)
    err = p.communicate(timeout=300)[1]
    ok(p.returncode == 1, "the destination reboots at handed: the move is undone", err)
    same(here(), [source], "the destination reboots at handed: the vnode is still on the source")
    same(
        journal(source)[-1],
        "back",
        "the destination reboots at handed: the journal has the state back",
    )
    step.goes_on("after a reboot of the destination")
    p = begin_held_move(source, dest)
    reboot(source)
    # after the mover, which would abort the move
    kill(processes_of("receiver", dest))
    p.communicate(timeout=300)
    r = move(source, dest, "--recover")
    ok(r.code == 0, "the source reboots at handed: the recovery succeeds", r.text)
    settled = wait_until(lambda: here() == [dest], 60)
    ok(settled, "the source reboots at handed: the vnode continues on the destination", here())
    ends = journal(source)[-1], journal(dest)[-1]
    same(
        ends, ("done", "live"), "the source reboots at handed: both journals have their last states"
    )
    step.goes_on("after a reboot of the source")
    left_of_moves("after reboots")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    names = []
    if sys.argv[1:2] == ["--relay"]:
        relay_requests(sys.argv[2], sys.argv[3:])
        return
    for word in sys.argv[1:]:
        key, equals, number = word.removeprefix("--").partition("=")
        if equals:
            TIMES[key] = int(number)
        else:
            names.append(word)
    setup()
    step = Step()
    cluster.run_groups(GROUPS, names or list(GROUPS), step, broken=explain)
    step.finish()
    for host, name in (("A", NAME), ("B", NAME), ("B", OTHER)):
        root(f"systemctl stop {UNIT.format(host, name)}")
    same(traces("A") + traces("B"), "", "nothing of the vnode is left after it has stopped")
    cluster.done()


main()
