# SPDX-License-Identifier: GPL-2.0-or-later
# dpkg puts the plugin there
# boot: plugin=no put=debs
# run: deep limit=5400
# rooms: contrib
"""The Debian packages in a cluster that has never seen NodeOS: installing changes nothing that
runs, an upgrade leaves live jobs and steps that start meanwhile alone, and after removing no line
of Slurm's files asks for a plugin that is gone. What is expected is what dpkg, systemctl, Slurm and
/proc tell. Runs in nodes without the plugin, with debs/1/*.deb and debs/2/*.deb.

install.py [GROUP...]: they go on from what the one before has left"""

import glob
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
    """Both nodes at once; the packages' scripts are minutes of emulated Perl."""
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
    """Slurm works as it would without us, on both nodes."""
    r = run("srun -N2 hostname")
    same((r.code, sorted(r.out.split())), (0, ["n0", "n1"]), what)


def active():
    """Lines that Slurm would read: what no comment is and has our name."""
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
    """Nothing changes but that the tools are there; then the line, and containers."""
    plain("Slurm runs, without NodeOS")
    on_both(f"dpkg -i {debs(1)}", "the packages install on both nodes")
    same(active(), [], "no line loads the plugin")
    plain("Slurm runs as before")
    ok(run("srun --nodeos-cpus=2 true").code != 0, "srun does not know our options yet")
    units = (
        "nodeos-discover.service",
        "nodeosd.socket",
        "nodeos-provision.service",
        "nodeos-provision.timer",
    )
    same(
        [told(f"systemctl is-enabled {u}") + " " + told(f"systemctl is-active {u}") for u in units],
        ["enabled active", "enabled active", "disabled inactive", "disabled inactive"],
        "the topology is kept and users may ask; what takes cores from jobs is for the admin to"
        " enable",
    )
    same(
        told(
            "stat -c '%a %U' /run/nodeos /run/nodeos-dimmap /usr/libexec/nodeos/nodeos-plan"
            " /usr/libexec/nodeos/nodeos-script"
        ).split("\n"),
        ["700 root", "711 root", "711 root", "711 root"],
        "directories and helpers have their modes",
    )
    ok(os.path.getsize("/run/nodeos/machine.xml") > 1000, "the topology is there")
    so = told("dpkg -L slurm-nodeos-plugin | grep 'nodeos.so$'")
    plugindir = told("scontrol show config | sed -n 's/^PluginDir *= //p'")
    same(os.path.dirname(so), plugindir, "the plugin is where Slurm looks")
    series = ".".join(told("scontrol --version").split()[1].split(".")[:2])
    depends = told("dpkg-query -W -f '${Depends}' slurm-nodeos-plugin")
    ok(
        f"slurm-wlm-basic-plugins (>= {series})" in depends
        and "slurm-wlm-basic-plugins (<<" in depends,
        "it depends on this series of Slurm",
        depends,
    )
    on_both("nodeos-plugstack enable", "one command enables it")
    same(
        [told(f"cat {OWN}", n) for n in ("n0", "n1")],
        ["required nodeos.so"] * 2,
        "by a file that plugstack.conf of Debian's Slurm includes",
    )
    on_both("systemctl restart slurmd", "slurmd starts with it")
    cluster.patient()
    all_idle("both nodes come back")
    r = run(
        "srun -N2 -n2 -c4 --nodeos-cpus=4 bash -c 'echo $NODEOS_CPUS $(grep -h Cpus_allowed_list"
        " /proc/self/status)'"
    )
    lines = [line.split() for line in r.out.splitlines()]
    ok(
        r.code == 0
        and len(lines) == 2
        and all(len(x) == 3 and cpus(x[0]) == cpus(x[2]) and len(cpus(x[0])) == 4 for x in lines),
        "ranks start in containers",
        r.text,
    )
    same(root("nodeosctl features").code, 0, "nodeosctl knows the plugin")


JOB = f"""#!/bin/bash
srun --nodeos-container=sim -N2 -n2 bash -c '
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
        f"its step goes on {what}",
        told(f"cat {HOME}/job.out"),
    )
    for i in (0, 1):
        # the kernel's list is the same set; nothing has moved since the first
        lines = beats(f"beat.{i}")[:-1]
        same(
            (set(lines) == {lines[0]}, cpus(lines[0].split()[0]), len(lines[0].split())),
            (True, cpus(lines[0].split()[1]), 2),
            f"on the same CPUs, rank {i}",
        )


class Launches(threading.Thread):
    """Steps with containers, one after the other, until told to stop."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stop, self.results = False, []

    def run(self):
        while not self.stop:
            self.results.append(
                run("srun -n1 -c2 --mem=50M --nodeos-cpus=2 bash -c 'echo $NODEOS_CPUS'")
            )


def group_upgrade():
    """A higher version over live jobs."""
    start_job()
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
        f"{len(launches.results)} steps were started meanwhile, all in containers",
        "\n".join(bad),
    )
    same(
        {
            version(p, n).split("+")[0]
            for p in ("nodeos-tools", "slurm-nodeos-plugin")
            for n in ("n0", "n1")
        },
        {"installed 0.1.0-2"},
        "it is installed",
    )
    ok(os.stat(so).st_ino != inode, "the plugin is another file")
    same(
        (told(f"cat {CONF}"), told(f"md5sum {TOP} {OWN}")),
        (conf, sums),
        "nodeos.conf, which the site has changed, and the line are as they were",
    )
    goes_on("after the upgrade")
    write("go", "")
    ok(wait_for("late", 3), "the job starts another step", told(f"cat {HOME}/job.out"))
    late = [line.split() for line in beats("late")]
    ok(
        late[-1] == ["late", "0"]
        and len(late) == 3
        and all(
            x[0] == "vda" and cpus(x[1]) == cpus(x[2]) and len(cpus(x[1])) == 2 for x in late[:2]
        ),
        "in its other container",
        late,
    )
    write("end", "")
    ok(wait_for("ended", 1) and beats("ended") == ["sim 0"], "and ends well", beats("ended"))
    all_idle("both nodes are idle again")
    same(cluster.leftovers(), "", "nothing of it is left in the ledger")


def interrupted(command, seconds):
    """COMMAND of dpkg on n0, killed with all that it has started after so many seconds.
    Was it still running?"""
    return (
        root(
            f"setsid {command} >/tmp/dpkg.log 2>&1 & sleep {seconds:.2f}; kill -9 -- -$!"
            " 2>/dev/null"
        ).code
        == 0
    )


def lines_have_plugins(what):
    """A line that Slurm would read has its plugin, and srun works."""
    so = told("find / -xdev -name nodeos.so")
    ok(
        so or not told(f"grep -rhE '^[^#]*nodeos[.]so' {TOP} /etc/slurm/plugstack.conf.d"),
        f"{what}: no line asks for a plugin that is gone",
        told("tail -n 3 /tmp/dpkg.log"),
    )
    plain(f"{what}: Slurm runs")


def group_interrupted(times=6):
    """dpkg killed at random moments of upgrades and removals:
    Slurm runs, and dpkg finishes when it is asked again."""
    rng = random.Random(17)
    took = {}
    for what, command in (
        ("upgrade", f"dpkg -i {debs(2)}"),
        ("removal", "dpkg -r slurm-nodeos-plugin"),
    ):
        took[what] = root(command, timeout=900).seconds
    ok(
        root(f"dpkg -i {debs(1)} && nodeos-plugstack enable", timeout=900).code == 0,
        f"upgraded in {took['upgrade']:.0f} s, removed in {took['removal']:.0f} s, and back again",
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
            f"upgrade {i}: asked again, it is done",
        )
        same(
            run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code,
            0,
            f"upgrade {i}: containers are made",
        )
    for i in range(times // 2):
        killed += interrupted("dpkg -r slurm-nodeos-plugin", rng.random() * took["removal"])
        lines_have_plugins(f"removal {i}")
        r = root("dpkg --configure -a; dpkg -r slurm-nodeos-plugin", timeout=900)
        ok(
            not version("slurm-nodeos-plugin").startswith("installed"),
            f"removal {i}: asked again, it is done",
            r.text,
        )
        lines_have_plugins(f"removed {i}")
        r = root(f"dpkg -i {debs(2)} && nodeos-plugstack enable", timeout=900)
        same(
            (r.code, run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code),
            (0, 0),
            f"removal {i}: and back again",
        )
    ok(killed > times // 2, f"{killed} of {times + times // 2} were killed before their end")
    all_idle("no node is drained")


def group_remove():
    """Removed beside a live job, put back, removed again and purged: Slurm works all the time."""
    start_job()
    root(f"printf 'required nodeos.so conf={CONF}\\n' >>{TOP}; rm {OWN}", node="n1")
    ok(
        root("dpkg -r nodeos-tools").code != 0 and version("nodeos-tools").startswith("installed"),
        "the tools stay while the plugin needs them",
    )
    root("mkdir -p /run/slurm/conf && echo 'required nodeos.so' >/run/slurm/conf/plugstack.conf")
    r = root("dpkg -r slurm-nodeos-plugin", timeout=900)
    ok(
        r.code != 0
        and "scontrol reconfigure" in r.text
        and version("slurm-nodeos-plugin").startswith("installed"),
        "it stays where a line of it is in a file from slurmctld's host, and says so",
        r.text,
    )
    plain("and Slurm works")
    root("rm -r /run/slurm/conf")
    on_both("dpkg -r slurm-nodeos-plugin", "the plugin is removed on both nodes, beside the job")
    same(active(), [], "no line of ours is left")
    same(
        (told(f"cat {OWN}"), told(f"tail -n 1 {TOP}", "n1")),
        (f"{MARK}required nodeos.so", f"{MARK}required nodeos.so conf={CONF}"),
        "both lines are comments now",
    )
    same(told("find / -xdev -name nodeos.so"), "", "the plugin is gone")
    plain("srun works")
    r = run("srun --nodeos-cpus=2 true")
    ok(r.code != 0 and "nodeos" in r.err, "but does not know our options", r.text)
    goes_on("after the removal")
    write("go", "")
    write("end", "")
    ok(
        wait_for("ended", 1) and beats("ended") == ["sim 0"],
        "its step ends well",
        (beats("ended"), told(f"cat {HOME}/job.out")),
    )
    all_idle("no node is drained")
    ok(os.path.isdir("/run/nodeos"), "/run/nodeos stays until the next boot")
    on_both(
        f"dpkg -i {debs(2)} && nodeos-plugstack enable", "it can be installed again, and enabled"
    )
    same(
        told(f"tail -n 1 {TOP}", "n1"),
        f"required nodeos.so conf={CONF}",
        "with the arguments that the line had",
    )
    same(run("srun -N2 -n2 -c2 --nodeos-cpus=2 true").code, 0, "containers are made again")
    on_both("systemctl restart slurmd", "slurmd starts with it")
    on_both("dpkg -P slurm-nodeos-plugin nodeos-tools", "both are purged")
    same(active(), [], "no line of ours is left")
    left = (
        "ls -d /etc/nodeos /etc/slurm/plugstack.conf.d/nodeos.conf /usr/libexec/nodeos"
        " /usr/bin/nodeosctl /usr/lib/systemd/system/nodeosd.socket"
    )
    same(
        [told(left + " 2>/dev/null", n) for n in ("n0", "n1")],
        ["", ""],
        "nor a file of theirs, in /etc neither",
    )
    same(told("systemctl is-active nodeosd.socket"), "inactive", "nobody listens")
    same(
        told("find /etc/systemd -name 'nodeosd*' -o -name 'nodeos-disc*' -o -name 'nodeos-prov*'"),
        "",
        "no link to a unit is left",
    )
    plain("srun works")
    on_both("systemctl restart slurmd", "slurmd starts without it")
    all_idle("both nodes come back")
    r = run(f"sbatch --parsable --wait -N2 -o {HOME}/plain.out --wrap 'srun hostname'")
    same((r.code, sorted(beats("plain.out"))), (0, ["n0", "n1"]), "and a batch job runs")


def rpms(revision):
    return " ".join(
        f
        for name in ("nodeos-tools", "libnodeos0", "slurm-nodeos-plugin")
        for f in glob.glob(f"{DEBS}/{revision}/{name}-0*.rpm")
    )


# RPM's own view: dependencies are packages that dpkg has installed
RPM = "rpm --nodeps"


def group_rpm():
    """The RPMs on nodes that have nothing of NodeOS: install,
    upgrade and removal beside a live job."""
    same(told("ls /usr/bin/nodeosctl /etc/nodeos 2>/dev/null"), "", "nothing of NodeOS is here")
    r = on_both(f"{RPM} -i {rpms(1)}", "the RPMs install on both nodes")
    if not r:
        return
    same(
        told(
            "rpm -q --qf '%{NAME} %{RELEASE}\n' nodeos-tools slurm-nodeos-plugin | sed"
            " 's/[.]slurm.*//'"
        ).split("\n"),
        ["nodeos-tools 1", "slurm-nodeos-plugin 1"],
        "rpm has them",
    )
    so = told("rpm -ql slurm-nodeos-plugin | grep 'nodeos.so$'")
    same(
        os.path.dirname(so),
        told("scontrol show config | sed -n 's/^PluginDir *= //p'"),
        "the plugin is where Slurm looks",
    )
    same(
        (active(), told("rpm -V --nodeps nodeos-tools slurm-nodeos-plugin libnodeos0")),
        ([], ""),
        "no line loads it, and all files are as they were packed",
    )
    plain("Slurm runs as before")
    # what the distribution's presets say there
    on_both(
        "systemd-tmpfiles --create nodeos.conf && systemctl daemon-reload && systemctl enable --now"
        " nodeos-discover.service nodeosd.socket && nodeos-plugstack enable && systemctl restart"
        " slurmd",
        "it is enabled",
    )
    all_idle("both nodes come back")
    start_job()
    inode = os.stat(so).st_ino
    root(f"sed -i 's/^#helper_timeout = .*/helper_timeout = 45/' {CONF}")
    conf, line = told(f"cat {CONF}"), told(f"cat {OWN}")
    ok("\nhelper_timeout = 45" in conf, "the site changes nodeos.conf")
    on_both(f"{RPM} -U {rpms(2)}", "the next version replaces it beside the running job")
    same(
        told(
            "rpm -qa --qf '%{NAME} %{RELEASE}\n' 'nodeos*' 'slurm-nodeos*' | sed 's/[.]slurm.*//' |"
            " sort"
        ).split("\n"),
        ["nodeos-tools 2", "slurm-nodeos-plugin 2"],
        "only it is there",
    )
    ok(os.stat(so).st_ino != inode, "the plugin is another file")
    same(
        (told(f"cat {CONF}"), told(f"cat {OWN}")),
        (conf, line),
        "nodeos.conf and the line are as they were",
    )
    goes_on("after the upgrade")
    write("go", "")
    ok(
        wait_for("late", 3)
        and beats("late")[-1] == "late 0"
        and all(x.startswith("vda ") for x in beats("late")[:2]),
        "the job starts a step in its other container",
        beats("late"),
    )
    on_both(f"{RPM} -e slurm-nodeos-plugin", "the plugin is removed on both nodes, beside the job")
    same(
        (active(), told(f"cat {OWN}"), told("find / -xdev -name nodeos.so")),
        ([], MARK + line, ""),
        "it and its line are gone",
    )
    plain("srun works")
    goes_on("after the removal")
    write("end", "")
    ok(
        wait_for("ended", 1) and beats("ended") == ["sim 0"],
        "its step ends well",
        (beats("ended"), told(f"cat {HOME}/job.out")),
    )
    on_both(
        "systemctl disable --now nodeosd.socket nodeos-discover.service && "
        + f"{RPM} -e nodeos-tools libnodeos0",
        "all are removed",
    )
    same(
        told(
            "ls -d /usr/libexec/nodeos /usr/bin/nodeosctl /usr/lib/systemd/system/nodeosd.socket"
            " 2>/dev/null; cat /etc/nodeos/nodeos.conf.rpmsave | grep -c '^helper_timeout = 45'"
        ),
        "1",
        "nothing of them is left but the site's nodeos.conf, put aside",
    )
    on_both("systemctl restart slurmd", "slurmd starts without it")
    all_idle("no node is drained")
    plain("srun works")


GROUPS = {name[6:]: f for name, f in list(globals().items()) if name.startswith("group_")}


def main():
    cluster.run_groups(GROUPS, sys.argv[1:] or list(GROUPS))
    cluster.done()


main()
