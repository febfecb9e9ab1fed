# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the guest tests share: commands as a user, TAP, sets of CPUs, and the machine as
lscpu shows it, without NodeOS's code."""

import json
import os
import subprocess
import sys
import threading
import time
import traceback

WHEREAMI = "/usr/libexec/nodeos/test/whereami"
WHEREAMI_MPI = WHEREAMI + "-mpi"
HOME = "/shared/home/alice"

count = failed = skipped = 0


def ok(good, what, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    if not good and detail:
        for line in str(detail).splitlines()[-30:]:
            print("#   " + line, flush=True)
    return good


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}\nwant: {want}")


def note(text):
    print(f"# {time.strftime('%H:%M:%S')} {text}", flush=True)


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    @property
    def text(self):
        return f"exit {self.code}\n{self.out}{self.err}"


def diagnose(what):
    """Write to the log, as TAP comments, what Slurm's processes wait for. For a test that hangs."""
    note(f"diagnosis: {what}")
    for node in ("n0", "n1"):
        r = run(
            "squeue; sinfo -N -l; ls -la /run/nodeos; find /sys/fs/cgroup/system.slice -name"
            " 'job_*';ps -eo pid,ppid,stat,etimes,wchan:32,args | grep -i -e slurm -e nodeos | grep"
            " -v grep;for p in $(pgrep -f 'slurmstepd|nodeos-plan'); do echo == $p; cat"
            " /proc/$p/task/*/stack | head -40; ls -l /proc/$p/fd | tail -n +2; done; tail -n 5"
            " /var/log/slurm/slurmd.log",
            user="root",
            node=node,
            timeout=60,
        )
        for line in r.text.splitlines()[:150]:
            print(f"#   {node}: {line}", flush=True)


def clean_env(user):
    """Return the environment of a user's commands, without variables of the test's own shell."""
    mpi = {
        k: v for k, v in os.environ.items() if k.startswith("OMPI_MCA_")
    }  # settings for the emulated network
    return mpi | {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": HOME if user == "alice" else f"/shared/home/{user}" if user != "root" else "/root",
        "USER": user,
        "LOGNAME": user,
        "LANG": "C.UTF-8",
    }


def run(command, user="alice", timeout=180, env=None, cwd=None, node=None):
    """Run a shell command as USER, or as root on another NODE by ssh."""
    environ = clean_env(user)
    environ.update(env or {})
    argv = ["bash", "-c", command]
    if node and node != "n0":
        argv = ["ssh", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR", node, command]
    elif user != "root":
        argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] + argv
    start = time.time()
    try:
        p = subprocess.run(
            argv,
            env=environ,
            cwd=cwd or (environ["HOME"]),
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return Result(p.returncode, p.stdout, p.stderr, time.time() - start)
    except subprocess.TimeoutExpired as e:
        out = (e.stdout or b"").decode() if isinstance(e.stdout, bytes) else e.stdout or ""
        if "diagnosis" not in command and timeout > 60:
            diagnose(command)
        return Result(124, out, f"timed out after {timeout} s\n", timeout)


def both(command):
    """Run a command as root on both nodes at the same time. Returns {node: Result}."""
    out = {}

    def one(node):
        out[node] = run(command, user="root", node=node)

    threads = [threading.Thread(target=one, args=(node,)) for node in ("n0", "n1")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


def has_hpc():
    """Return whether the kernel has SCHED_HPC."""
    try:
        return os.sched_get_priority_max(48) >= 0
    except OSError:
        return False


def nodes():
    """Return the names of the cluster's nodes. A test that names a missing node waits for two
    minutes."""
    r = run("scontrol show hostnames $(sinfo -h -o %N)", user="root")
    return r.out.split()


def patient():
    """Raise helper_timeout on all nodes: under emulation on a busy host, the planner may need more
    time than a site would allow."""
    for node in nodes():
        run(
            "sed -i 's/^#helper_timeout = .*/helper_timeout = 60/' /etc/nodeos/nodeos.conf",
            user="root",
            node=node,
        )


def site(line, nodes=("n0", "n1")):
    """Append LINE to nodeos.conf of NODES."""
    for node in nodes:
        run(f"echo '{line}' >>/etc/nodeos/nodeos.conf", user="root", node=node)


def sbatch(arguments, timeout=300, cwd=None):
    """Submit a job and wait for its end. The result has the job's exit code. (sbatch --wait polls
    only every 30 s.)"""
    r = run(f"sbatch --parsable {arguments}", cwd=cwd)
    job = r.out.strip()
    end = time.time() + timeout
    while r.code == 0 and time.time() < end:
        show = run(f"scontrol show job {job} --oneliner", user="root").out
        words = dict(w.split("=", 1) for w in show.split() if "=" in w)
        if words.get("JobState") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
            code, _, signal = words.get("ExitCode", "1:0").partition(":")
            r.code = int(code) or int(signal or 0)
            r.err += f"job {job}: {words.get('JobState')}\n"
            return r
        time.sleep(0.5)
    r.code = r.code or 124
    return r


def cpus(text):
    """ "0-3,8" -> {0, 1, 2, 3, 8}"""
    out = set()
    for part in text.split(","):
        if part:
            first, _, last = part.partition("-")
            out.update(range(int(first), int(last or first) + 1))
    return out


def ranks(result):
    """Return the output of whereami, sorted by rank. Lines of different ranks may be mixed in
    RESULT."""
    pieces = {}
    for line in result.out.splitlines():
        if line.startswith("@"):
            who, _, piece = line.partition(" ")
            pieces[who] = pieces.get(who, "") + piece
    return sorted((json.loads(text) for text in pieces.values()), key=lambda r: r["rank"])


class Machine:
    """The cores and memory nodes of a node, with their CPUs, from lscpu."""

    def __init__(self, node="n0"):
        text = run("lscpu -p=CPU,CORE,SOCKET,NODE", user="root", node=node).out
        self.core, self.node_of = {}, {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                cpu, core, socket, numa = (int(x or 0) for x in line.split(","))
                self.core.setdefault((socket, core), set()).add(cpu)
                self.node_of[cpu] = numa
        self.cpus = set(self.node_of)
        self.mems = set(self.node_of.values())

    def whole_cores(self, some):
        return all(c <= some or not c & some for c in self.core.values())

    def cores(self, some):
        return sum(1 for c in self.core.values() if c & some)


def plan(manifest, cpu_list=None, node="n0"):
    """Return {name: container} of a manifest, as nodeosctl plan shows it for NODE's topology."""
    arg = f"--cpus={cpu_list}" if cpu_list else ""
    r = run(
        f"nodeosctl plan --json --topology /run/nodeos/machine.xml {arg} {manifest}",
        user="root",
        node=node,
    )
    if r.code:
        raise RuntimeError(r.text)
    return {c["name"]: c for c in json.loads(r.out)["containers"]}


def node_states():
    out = run("sinfo -h -N -o '%N %T'", user="root").out.split("\n")
    return dict(line.split() for line in out if line.strip())


def wait_idle(limit=90):
    """Wait until all nodes are idle and no job is left, for LIMIT seconds at most. Returns the
    states."""
    end = time.time() + limit
    states = {}
    while time.time() < end:
        states = node_states()
        if set(states.values()) == {"idle"} and not run("squeue -h", user="root").out.strip():
            return states
        time.sleep(1)
    diagnose("nodes do not become idle")
    return states


def slurm_conf(lines):
    """Append LINES to slurm.conf on both nodes, in place of the lines of the last call, and restart
    Slurm."""
    text = "".join(line + "\n" for line in lines)
    both(
        "cd /etc/slurm; [ -e slurm.conf.keep ] || cp slurm.conf slurm.conf.keep; cp"
        f" slurm.conf.keep slurm.conf; printf '{text}' >>slurm.conf; printf"
        " 'AutoBasePath=true\nBasePath=/var/tmp/jc\n' >job_container.conf; systemctl restart $(["
        " $(hostname) != n0 ] || echo slurmctld) slurmd"
    )
    wait_idle()


def all_idle(what):
    states = wait_idle()
    return ok(
        set(states.values()) == {"idle"},
        what,
        f"{states}\n" + run("squeue; sinfo -R", user="root").out,
    )


def leftovers(on=("n0", "n1")):
    """Return the names of files of jobs in /run/nodeos on these nodes; "" if there are none."""
    out = ""
    for node in on:
        out += run(
            "ls /run/nodeos 2>/dev/null | grep -v -e '^lock$' -e '^resize.lock$' -e '^machine.xml$'"
            " -e '^blocks$' -e '^serviceos' -e '^irqbalance.env$'",
            user="root",
            node=node,
        ).out
    return out.strip()


def last_job():
    r = run(
        "scontrol show jobs --oneliner 2>/dev/null | sed -n 's/^JobId=\\([0-9]*\\) .*/\\1/p' | sort"
        " -n | tail -n 1",
        user="root",
    )
    return int(r.out.strip() or 0)


def run_groups(groups, names, *args, before=None, broken=None):
    """For each name, call before() and then groups[name](*ARGS). If a group raises an exception,
    report a failure, call broken(), and continue with the next group."""
    for name in names:
        note(f"group {name}")
        start = time.time()
        if before:
            before()
        try:
            groups[name](*args)
        except Exception as e:
            ok(False, f"group {name} runs without an exception: {e}", traceback.format_exc())
            if broken:
                broken()
        note(f"group {name} took {time.time() - start:.0f} s")


def done():
    print(f"1..{count}")
    print(f"{count - failed - skipped} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(1 if failed else 0)
