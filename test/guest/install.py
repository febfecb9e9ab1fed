# SPDX-License-Identifier: GPL-2.0-or-later
# dpkg installs the plugin
# boot: plugin=no put=debs
# run: deep limit=5400
# rooms: contrib
"""Test the Debian packages in a cluster without NodeOS. Their installation must not affect what
runs, an upgrade must not affect running jobs and starting steps, and after a removal no file of
Slurm may require the missing plugin. Expected values come from dpkg, systemctl, Slurm and /proc.
Needs nodes without the plugin, and debs/1/*.deb and debs/2/*.deb.

install.py [GROUP...]: each group needs the state in which the previous one leaves the nodes."""

import glob
import json
import os
import random
import sys
import threading
import time

import cluster
from cluster import HOME, all_idle, cpus, ok, run, same
from containers import pod, write

TOP, OWN = "/etc/slurm/plugstack.conf", "/etc/slurm/plugstack.conf.d/nodeos.conf"
CONF = "/etc/nodeos/nodeos.conf"
MARK = "# disabled by nodeos-plugstack: "
DEBS = os.path.abspath("debs")


def debs(revision):
    return " ".join(
        f
        for name in ("nodeos-tools", "slurm-nodeos-plugin")
        for f in glob.glob(f"{DEBS}/{revision}/{name}_*.deb")
    )


def root(command, node=None, timeout=180):
    return run(command, user="root", node=node, timeout=timeout)


def on_both(command, what):
    """Run COMMAND on both nodes at once. Under emulation, the Perl scripts of packages take
    minutes."""
    results = {}

    def one(node):
        results[node] = root(command, node=node, timeout=900)

    threads = [threading.Thread(target=one, args=(node,)) for node in ("n0", "n1")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return ok(
        {r.code for r in results.values()} == {0}, what, "\n".join(r.text for r in results.values())
    )


def told(command, node=None):
    return root(command, node=node).out.strip()


def version(package, node=None):
    return told(
        f"dpkg-query -W -f '${{db:Status-Status}} ${{Version}}' {package} 2>/dev/null", node
    )


def plain(what):
    """Check that plain Slurm works on both nodes."""
    r = run("srun -N2 hostname")
    same((r.code, sorted(r.out.split())), (0, ["n0", "n1"]), what)


def active():
    """Return the lines of plugstack files, except comments, that name nodeos."""
    return [
        line
        for node in ("n0", "n1")
        for line in told(
            f"grep -rhE '^[^#]*nodeos' {TOP} /etc/slurm/plugstack.conf.d", node
        ).splitlines()
        if "include" not in line
    ]


def beats(name):
    try:
        with open(f"{HOME}/{name}") as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def wait_for(name, lines, limit=120):
    end = time.time() + limit
    while len(beats(name)) < lines and time.time() < end:
        time.sleep(0.2)
    return len(beats(name)) >= lines


def group_install():
    """Install the packages, which must only add tools. Then enable the plugin, and start
    containers."""
    plain("before the install, Slurm runs without NodeOS")
    on_both(f"dpkg -i {debs(1)}", "the packages install on both nodes")
    same(active(), [], "after the install, no line loads the plugin")
    plain("after the install, Slurm runs as before")
    ok(
        run("srun --nodeos-cpus=2 true").code != 0,
        "after the install, srun does not yet know the plugin's options",
    )
    units = (
        "nodeos-discover.service",
        "nodeosd.socket",
        "nodeos-provision.service",
        "nodeos-provision.timer",
        "nodeos-contend.service",
        "nodeos-collect.timer",
    )
    same(
        [told(f"systemctl is-enabled {u}") + " " + told(f"systemctl is-active {u}") for u in units],
        ["enabled active"] * 2 + ["disabled inactive"] * 4,
        "after the install, only discovery and nodeosd's socket are enabled",
    )
    same(
        told(
            "stat -c '%a %U' /run/nodeos /run/nodeos-dimmap /usr/libexec/nodeos/nodeos-plan"
            " /usr/libexec/nodeos/nodeos-script"
        ).split("\n"),
        ["700 root", "711 root", "711 root", "711 root"],
        "after the install, directories and helpers have the right owner and mode",
    )
    ok(os.path.getsize("/run/nodeos/machine.xml") > 1000, "the install records the topology")
    so = told("dpkg -L slurm-nodeos-plugin | grep 'nodeos.so$'")
    plugindir = told("scontrol show config | sed -n 's/^PluginDir *= //p'")
    same(os.path.dirname(so), plugindir, "the plugin is in Slurm's plugin directory")
    series = ".".join(told("scontrol --version").split()[1].split(".")[:2])
    depends = told("dpkg-query -W -f '${Depends}' slurm-nodeos-plugin")
    ok(
        f"slurm-wlm-basic-plugins (>= {series})" in depends
        and "slurm-wlm-basic-plugins (<<" in depends,
        "the package of the plugin depends on this series of Slurm",
        depends,
    )
    on_both("nodeos-plugstack enable", "nodeos-plugstack enable works on both nodes")
    same(
        [told(f"cat {OWN}", n) for n in ("n0", "n1")],
        ["required nodeos.so"] * 2,
        "enable writes a file that plugstack.conf of Debian's Slurm includes",
    )
    on_both("systemctl restart slurmd", "slurmd starts with the plugin")
    cluster.patient()
    all_idle("both nodes are idle with the plugin")
    r = run(
        "srun -N2 -n2 -c4 --nodeos-cpus=4 bash -c 'echo $NODEOS_CPUS $(grep -h Cpus_allowed_list"
        " /proc/self/status)'"
    )
    lines = [line.split() for line in r.out.splitlines()]
    ok(
        r.code == 0
        and len(lines) == 2
        and all(len(x) == 3 and cpus(x[0]) == cpus(x[2]) and len(cpus(x[0])) == 4 for x in lines),
        "after the install, ranks start in containers",
        r.text,
    )
    same(root("nodeosctl features").code, 0, "nodeosctl features finds the plugin")


JOB = f"""#!/bin/bash
srun --nodeos-container=sim --nodeos-contention=observe -N2 -n2 bash -c '
	while [ ! -e {HOME}/end ]; do
		echo "$NODEOS_CPUS $(sed -n "s/^Cpus_allowed_list:\\t//p" /proc/self/status)" \
>>{HOME}/beat.$SLURM_PROCID
		sleep 0.5
	done' & sim=$!
while [ ! -e {HOME}/go ]; do sleep 0.3; done
srun --nodeos-container=vda -N2 -n2 bash -c '\
echo "$NODEOS_CONTAINER $NODEOS_CPUS \
$(sed -n "s/^Cpus_allowed_list:\\t//p" /proc/self/status)"' \
>{HOME}/late 2>&1
echo "late $?" >>{HOME}/late
wait $sim
echo "sim $?" >{HOME}/ended
"""


def start_job():
    root(f"rm -f {HOME}/beat.* {HOME}/go {HOME}/end {HOME}/late {HOME}/ended")
    m = write(
        "job.json",
        pod(
            sim={"container": {"cpus": "4", "mems": "1"}},
            vda={"container": {"cpus": "2", "mems": "1"}},
        ),
    )
    write("job.sh", JOB)
    r = run(
        f"sbatch --parsable -N2 --ntasks-per-node=1 -c6 --mem=600M -o {HOME}/job.out"
        f" --nodeos-manifest={m} {HOME}/job.sh"
    )
    ok(
        r.code == 0 and wait_for("beat.0", 3) and wait_for("beat.1", 3),
        "a job runs in its containers on both nodes",
        r.text + told(f"cat {HOME}/job.out"),
    )
    return r.out.strip()


def goes_on(what):
    before = [len(beats(f"beat.{i}")) for i in (0, 1)]
    ok(
        all(wait_for(f"beat.{i}", before[i] + 2, 60) for i in (0, 1)),
        f"the job's step continues {what}",
        told(f"cat {HOME}/job.out"),
    )
    for i in (0, 1):
        # the kernel's list is NODEOS_CPUS in all lines
        lines = beats(f"beat.{i}")[:-1]
        same(
            (set(lines) == {lines[0]}, cpus(lines[0].split()[0]), len(lines[0].split())),
            (True, cpus(lines[0].split()[1]), 2),
            f"rank {i} of the job's step keeps its CPUs",
        )


def start_daemon():
    """Start nodeos-contend on both nodes, as an admin does."""
    on_both("systemctl start nodeos-contend", "nodeos-contend starts on both nodes")


def daemon(node=None):
    """Return the state and the process id of nodeos-contend."""
    lines = told("systemctl show -p ActiveState -p MainPID nodeos-contend", node).splitlines()
    shown = dict(line.split("=", 1) for line in lines)  # systemd prints them in any order
    return [shown.get("ActiveState"), shown.get("MainPID")]


def document(job):
    """Return for each observed step of JOB on n0: the time when the step was first seen, the time
    of the document, and the classes of the ranks, which are unknown, since guests have no
    counters."""
    r = root(f"nodeosctl contention -j {job} --json")
    steps = json.loads(r.out) if r.out.startswith("[") else []
    return [(d["started"], d["time"], [x["class"] for x in d["ranks"]]) for d in steps]


def observed(job, what, after=0.0):
    """Wait for a document of JOB's only observed step that was written after the time AFTER."""
    end = time.time() + 60
    found = []
    while time.time() < end:
        found = document(job)
        if found and found[0][1] > after and found[0][2]:
            break
        time.sleep(0.5)
    ok(
        len(found) == 1 and found[0][1] > after and found[0][2] == ["unknown"],
        what,
        f"{found}\n" + told("journalctl -u nodeos-contend | tail"),
    )
    return found[0] if found else (0, 0, [])


class Launches(threading.Thread):
    """A thread that starts steps with containers, one after the other, until it is stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stop, self.results = False, []

    def run(self):
        while not self.stop:
            self.results.append(
                run("srun -n1 -c2 --mem=50M --nodeos-cpus=2 bash -c 'echo $NODEOS_CPUS'")
            )


def group_upgrade():
    """Install a higher version while jobs run and nodeos-contend observes them."""
    start_daemon()
    job = start_job()
    seen, before = observed(job, "nodeos-contend observes the job's step"), daemon()
    so = told("dpkg -L slurm-nodeos-plugin | grep 'nodeos.so$'")
    inode, conf, sums = os.stat(so).st_ino, told(f"cat {CONF}"), told(f"md5sum {TOP} {OWN}")
    launches = Launches()
    launches.start()
    on_both(f"dpkg -i {debs(2)}", "the next version installs beside the running job")
    n = len(launches.results)
    while len(launches.results) < n + 2 and launches.is_alive():
        time.sleep(0.2)
    launches.stop = True
    launches.join()
    bad = [r.text for r in launches.results if r.code or not r.out.strip()]
    ok(
        not bad,
        f"all {len(launches.results)} steps that start during the upgrade are in containers",
        "\n".join(bad),
    )
    same(
        {
            version(p, n).split("+")[0]
            for p in ("nodeos-tools", "slurm-nodeos-plugin")
            for n in ("n0", "n1")
        },
        {"installed 0.1.0-2"},
        "the next version is installed",
    )
    ok(os.stat(so).st_ino != inode, "the upgrade replaces the plugin's file")
    same(
        (told(f"cat {CONF}"), told(f"md5sum {TOP} {OWN}")),
        (conf, sums),
        "the upgrade keeps the site's nodeos.conf and the plugin's line",
    )
    goes_on("after the upgrade")
    after = daemon()
    ok(
        before[0] == after[0] == "active" and before[1] != after[1],
        "the upgrade restarts a running nodeos-contend",
        (before, after),
    )
    again = observed(job, "after the upgrade, nodeos-contend observes the step", after=time.time())
    same(
        again[0],
        seen[0],
        "after the upgrade, the document keeps the time when the step was first seen",
    )
    write("go", "")
    ok(
        wait_for("late", 3),
        "after the upgrade, the job starts another step",
        told(f"cat {HOME}/job.out"),
    )
    late = [line.split() for line in beats("late")]
    ok(
        late[-1] == ["late", "0"]
        and len(late) == 3
        and all(
            x[0] == "vda" and cpus(x[1]) == cpus(x[2]) and len(cpus(x[1])) == 2 for x in late[:2]
        ),
        "after the upgrade, the job's new step is in the container that it names",
        late,
    )
    write("end", "")
    ok(
        wait_for("ended", 1) and beats("ended") == ["sim 0"],
        "after the upgrade, the job's first step ends with success",
        beats("ended"),
    )
    all_idle("both nodes are idle after the upgraded job")
    same(cluster.leftovers(), "", "the upgraded job leaves no ledger entry")


def interrupted(command, seconds):
    """Run COMMAND on n0, and kill it with all its children after SECONDS. Returns whether COMMAND
    still ran."""
    return (
        root(
            f"setsid {command} >/tmp/dpkg.log 2>&1 & sleep {seconds:.2f}; kill -9 -- -$!"
            " 2>/dev/null"
        ).code
        == 0
    )


def lines_have_plugins(what):
    """Check that each line that Slurm reads has its plugin, and that srun works."""
    so = told("find / -xdev -name nodeos.so")
    ok(
        so or not told(f"grep -rhE '^[^#]*nodeos[.]so' {TOP} /etc/slurm/plugstack.conf.d"),
        f"{what}: no line requires a missing plugin",
        told("tail -n 3 /tmp/dpkg.log"),
    )
    plain(f"{what}: Slurm runs")


def group_interrupted(times=6):
    """Test that Slurm works after dpkg was killed at a random time of an upgrade or removal, and
    that the next run of dpkg finishes."""
    rng = random.Random(17)
    took = {}
    for what, command in (
        ("upgrade", f"dpkg -i {debs(2)}"),
        ("removal", "dpkg -r slurm-nodeos-plugin"),
    ):
        took[what] = root(command, timeout=900).seconds
    ok(
        root(f"dpkg -i {debs(1)} && nodeos-plugstack enable", timeout=900).code == 0,
        f"packages install again after upgrade ({took['upgrade']:.0f} s), removal"
        f" ({took['removal']:.0f} s)",
    )
    killed = 0
    for i in range(times):
        revision = 2 - i % 2
        killed += interrupted(f"dpkg -i {debs(revision)}", rng.random() * took["upgrade"])
        lines_have_plugins(f"upgrade {i}")
        r = root(f"dpkg --configure -a; dpkg -i {debs(revision)}", timeout=900)
        same(
            (r.code, version("slurm-nodeos-plugin").split("+")[0], len(active())),
            (0, f"installed 0.1.0-{revision}", 2),
            f"interrupted upgrade {i}: the second attempt finishes",
        )
        same(
            run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code,
            0,
            f"after interrupted upgrade {i}, a container starts",
        )
    for i in range(times // 2):
        killed += interrupted("dpkg -r slurm-nodeos-plugin", rng.random() * took["removal"])
        lines_have_plugins(f"removal {i}")
        r = root("dpkg --configure -a; dpkg -r slurm-nodeos-plugin", timeout=900)
        ok(
            not version("slurm-nodeos-plugin").startswith("installed"),
            f"interrupted removal {i}: the second attempt finishes",
            r.text,
        )
        lines_have_plugins(f"removed {i}")
        r = root(f"dpkg -i {debs(2)} && nodeos-plugstack enable", timeout=900)
        same(
            (r.code, run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code),
            (0, 0),
            f"after removal {i} and a new installation, a container starts",
        )
    ok(
        killed > times // 2,
        f"over a third of the runs of dpkg are killed before their end: {killed} of"
        f" {times + times // 2}",
    )
    all_idle("no node is drained by killed runs of dpkg")


def group_remove():
    """Remove the packages while a job runs, then install, remove and purge them again. Slurm always
    works."""
    start_daemon()
    observed(start_job(), "nodeos-contend observes the job's step")
    root(f"printf 'required nodeos.so conf={CONF}\\n' >>{TOP}; rm {OWN}", node="n1")
    ok(
        root("dpkg -r nodeos-tools").code != 0 and version("nodeos-tools").startswith("installed"),
        "dpkg refuses to remove the tools while the plugin needs them",
    )
    root("mkdir -p /run/slurm/conf && echo 'required nodeos.so' >/run/slurm/conf/plugstack.conf")
    r = root("dpkg -r slurm-nodeos-plugin", timeout=900)
    ok(
        r.code != 0
        and "scontrol reconfigure" in r.text
        and version("slurm-nodeos-plugin").startswith("installed"),
        "dpkg refuses to remove the plugin while a file from slurmctld's host requires it",
        r.text,
    )
    plain("Slurm works after the refused removal")
    root("rm -r /run/slurm/conf")
    on_both("dpkg -r slurm-nodeos-plugin", "the plugin is removed on both nodes while a job runs")
    same(active(), [], "after the removal, no active line names nodeos")
    same(
        (told(f"cat {OWN}"), told(f"tail -n 1 {TOP}", "n1")),
        (f"{MARK}required nodeos.so", f"{MARK}required nodeos.so conf={CONF}"),
        "the removal turns both lines into comments",
    )
    same(told("find / -xdev -name nodeos.so"), "", "the removal deletes the plugin")
    plain("after the removal, srun works")
    r = run("srun --nodeos-cpus=2 true")
    ok(
        r.code != 0 and "nodeos" in r.err,
        "after the removal, srun does not know the plugin's options",
        r.text,
    )
    goes_on("after the removal")
    write("go", "")
    write("end", "")
    ok(
        wait_for("ended", 1) and beats("ended") == ["sim 0"],
        "after the removal, the job's step ends with success",
        (beats("ended"), told(f"cat {HOME}/job.out")),
    )
    all_idle("no node is drained by the removal")
    ok(os.path.isdir("/run/nodeos"), "the removal keeps /run/nodeos until the next boot")
    on_both(
        f"dpkg -i {debs(2)} && nodeos-plugstack enable",
        "after the removal, the plugin can be installed and enabled again",
    )
    same(
        told(f"tail -n 1 {TOP}", "n1"),
        f"required nodeos.so conf={CONF}",
        "nodeos-plugstack enable restores the arguments of the line",
    )
    same(
        run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code, 0, "installed again: a container starts"
    )
    on_both("systemctl restart slurmd", "installed again: slurmd starts with the plugin")
    same(daemon()[0], "active", "nodeos-contend runs as long as its package is installed")
    root("mkdir -p /var/lib/nodeos && touch /var/lib/nodeos/contention-peaks")
    on_both("dpkg -P slurm-nodeos-plugin nodeos-tools", "both packages are purged")
    same(
        [daemon(n)[0] + told("pgrep -x nodeos-contend", n) for n in ("n0", "n1")],
        ["inactive"] * 2,
        "after the purge, no nodeos-contend runs",
    )
    same(active(), [], "after the purge, no active line names nodeos")
    left = (
        "ls -d /etc/nodeos /etc/slurm/plugstack.conf.d/nodeos.conf /usr/libexec/nodeos"
        " /usr/bin/nodeosctl /usr/lib/systemd/system/nodeosd.socket /run/nodeos-contend"
        " /var/lib/nodeos /usr/share/nodeos"
    )
    same(
        [told(left + " 2>/dev/null", n) for n in ("n0", "n1")],
        ["", ""],
        "after the purge, no file of the packages is left",
    )
    same(
        told("systemctl is-active nodeosd.socket"),
        "inactive",
        "after the purge, nodeosd's socket is inactive",
    )
    same(
        told("find /etc/systemd -name 'nodeos*' -xtype l"),
        "",
        "after the purge, no link to a unit is left",
    )
    plain("after the purge, srun works")
    on_both("systemctl restart slurmd", "after the purge, slurmd starts without the plugin")
    all_idle("after the purge, both nodes are idle")
    r = run(f"sbatch --parsable --wait -N2 -o {HOME}/plain.out --wrap 'srun hostname'")
    same(
        (r.code, sorted(beats("plain.out"))), (0, ["n0", "n1"]), "after the purge, a batch job runs"
    )


def rpms(revision):
    return " ".join(
        f
        for name in ("nodeos-tools", "libnodeos0", "slurm-nodeos-plugin")
        for f in glob.glob(f"{DEBS}/{revision}/{name}-0*.rpm")
    )


# let rpm ignore dependencies, which dpkg has installed
RPM = "rpm --nodeps"


def group_rpm():
    """Install, upgrade and remove the RPMs on nodes without NodeOS while a job runs."""
    same(
        told("ls /usr/bin/nodeosctl /etc/nodeos 2>/dev/null"),
        "",
        "before the RPMs, the nodes have no file of NodeOS",
    )
    r = on_both(f"{RPM} -i {rpms(1)}", "the RPMs install on both nodes")
    if not r:
        return
    same(
        told(
            "rpm -q --qf '%{NAME} %{RELEASE}\n' nodeos-tools slurm-nodeos-plugin | sed"
            " 's/[.]slurm.*//'"
        ).split("\n"),
        ["nodeos-tools 1", "slurm-nodeos-plugin 1"],
        "RPMs: rpm lists both packages with release 1",
    )
    so = told("rpm -ql slurm-nodeos-plugin | grep 'nodeos.so$'")
    same(
        os.path.dirname(so),
        told("scontrol show config | sed -n 's/^PluginDir *= //p'"),
        "RPMs: the plugin is in Slurm's plugin directory",
    )
    same(
        (active(), told("rpm -V --nodeps nodeos-tools slurm-nodeos-plugin libnodeos0")),
        ([], ""),
        "RPMs: no line loads the plugin, and all files are as packed",
    )
    plain("RPMs: Slurm runs as before")
    # do what the presets of an RPM distribution would do
    on_both(
        "systemd-tmpfiles --create nodeos.conf && systemctl daemon-reload && systemctl enable --now"
        " nodeos-discover.service nodeosd.socket && nodeos-plugstack enable && systemctl restart"
        " slurmd",
        "RPMs: units and plugin are enabled",
    )
    all_idle("RPMs: both nodes are idle with the plugin")
    start_job()
    inode = os.stat(so).st_ino
    root(f"sed -i 's/^#helper_timeout = .*/helper_timeout = 45/' {CONF}")
    conf, line = told(f"cat {CONF}"), told(f"cat {OWN}")
    ok("\nhelper_timeout = 45" in conf, "RPMs: the test has changed nodeos.conf")
    on_both(f"{RPM} -U {rpms(2)}", "RPMs: the next version installs beside the running job")
    same(
        told(
            "rpm -qa --qf '%{NAME} %{RELEASE}\n' 'nodeos*' 'slurm-nodeos*' | sed 's/[.]slurm.*//' |"
            " sort"
        ).split("\n"),
        ["nodeos-tools 2", "slurm-nodeos-plugin 2"],
        "RPMs: only the next version is installed",
    )
    ok(os.stat(so).st_ino != inode, "RPMs: the upgrade replaces the plugin's file")
    same(
        (told(f"cat {CONF}"), told(f"cat {OWN}")),
        (conf, line),
        "RPMs: the upgrade keeps nodeos.conf and the plugin's line",
    )
    goes_on("after the upgrade")
    write("go", "")
    ok(
        wait_for("late", 3)
        and beats("late")[-1] == "late 0"
        and all(x.startswith("vda ") for x in beats("late")[:2]),
        "RPMs: after the upgrade, the job starts a step in the container that it names",
        beats("late"),
    )
    on_both(
        f"{RPM} -e slurm-nodeos-plugin",
        "RPMs: the plugin is removed on both nodes while a job runs",
    )
    same(
        (active(), told(f"cat {OWN}"), told("find / -xdev -name nodeos.so")),
        ([], MARK + line, ""),
        "RPMs: the removal deletes the plugin and comments out its line",
    )
    plain("RPMs: after the removal of the plugin, srun works")
    goes_on("after the removal")
    write("end", "")
    ok(
        wait_for("ended", 1) and beats("ended") == ["sim 0"],
        "RPMs: after the removal, the job's step ends with success",
        (beats("ended"), told(f"cat {HOME}/job.out")),
    )
    on_both(
        "systemctl disable --now nodeosd.socket nodeos-discover.service && "
        + f"{RPM} -e nodeos-tools libnodeos0",
        "RPMs: all packages are removed",
    )
    same(
        told(
            "ls -d /usr/libexec/nodeos /usr/bin/nodeosctl /usr/lib/systemd/system/nodeosd.socket"
            " 2>/dev/null; cat /etc/nodeos/nodeos.conf.rpmsave | grep -c '^helper_timeout = 45'"
        ),
        "1",
        "RPMs: after the removal, only the site's nodeos.conf is left, as .rpmsave",
    )
    on_both("systemctl restart slurmd", "RPMs: after the removal, slurmd starts without the plugin")
    all_idle("RPMs: no node is drained by the removal")
    plain("RPMs: after the removal of all packages, srun works")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    cluster.run_groups(GROUPS, sys.argv[1:] or list(GROUPS))
    cluster.done()


main()
