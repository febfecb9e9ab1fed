#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=900 snapshot
# run: deep limit=3600 append="trace_event=sched:sched_switch trace_buf_size=64k" snapshot
#   mistakes changes jobs mems hotplug trace
# run: deep append="trace_event=sched:sched_switch trace_buf_size=64k" limit=7200 --seconds=600
#   --kills=50 --daemons=102 daemons trace kills
# run: deep qemu="-action reboot=reset" limit=1800 boot
# run: deep slurm=22.05 append="trace_event=sched:sched_switch trace_buf_size=64k" limit=3600
# run: deep slurm=newest append="trace_event=sched:sched_switch trace_buf_size=64k" limit=3600
# rooms: serviceos host
"""Test the ServiceOS of a node: provision, processes in it and exceptions outside of it, jobs
beside it, and unprovision. "serviceos.py [--seconds=N] [--kills=N] [--daemons=N] GROUP..." runs
only these groups."""

import json
import os
import random
import re
import subprocess
import sys
import time

import cluster
from cluster import HOME, Machine, all_idle, cpus, leftovers, note, ok, ranks, run, same, wait_idle
from containers import check_ranks, pod, write

CONF = "/etc/nodeos/nodeos.conf"
SERVICE, SECOND = (
    {0, 1},
    {2, 3},
)  # the CPUs of "serviceos = 1/node", and the CPUs of a second ServiceOS, which a list gives
WHEREAMI = "/usr/libexec/nodeos/test/whereami"
SECONDS, KILLS, DAEMONS = 60, 4, 36
SYSTEMD = int(
    subprocess.run(["systemctl", "--version"], capture_output=True, text=True).stdout.split()[1]
)


def on(node, command, timeout=180):
    return run(command, user="root", node=node, timeout=timeout)


def here(command, timeout=180):
    return on("n0", command, timeout)


def configure(node="n0", **keys):
    """Set KEYS in nodeos.conf of NODE. A key of the ServiceOS that is None or missing in KEYS gets
    its default."""
    for key, value in (
        {"serviceos": None, "serviceos_mems": None, "serviceos_except": None} | keys
    ).items():
        on(
            node,
            f"sed -i '/^{key} = /d' {CONF}"
            + (f"; echo '{key} = {value}' >>{CONF}" if value else ""),
        )


def slurm_knows(there=True, by_core=False):
    """If THERE, write CpuSpecList and MemSpecLimit of nodeosctl provision --cmdline into slurm.conf
    on both nodes. Otherwise remove both from slurm.conf."""
    words = ""
    if there:
        lines = here("nodeosctl provision --cmdline").out
        listed, limit = re.search(
            r"NodeName=n0 CpuSpecList=(\S+) (MemSpecLimit=\S+)", lines
        ).groups()
        if cluster.has_hpc():
            limit += re.search(r" Features=\S*sched_hpc\b", lines).group()
        if by_core:
            listed = (
                re.search(r"counts cores: CpuSpecList=([0-9,-]+)\)", lines).group(1) + " CPUs=8"
            )
        words = f"CpuSpecList={listed} {limit}"
    # stop slurmd first: slurmctld drains a node whose slurmd has other values ("CoreSpec differ")
    for node in ("n0", "n1"):
        on(
            node,
            "systemctl stop slurmd; sed -i -E '/^NodeName/s/ CpuSpecList=[^ ]+( CPUs=8)?"
            " MemSpecLimit=[^ ]+( Features=[^ ]+)?//"
            + (f"; /^NodeName/s/$/ {words}/" if there else "")
            + "' /etc/slurm/slurm.conf",
        )
    here("systemctl restart slurmctld")
    for node in ("n0", "n1"):
        on(node, "systemctl start slurmd")
    here("sleep 3; scontrol update NodeName=n[0-1] State=RESUME")
    wait_idle()


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except OSError:
        return None


def lines(command):
    return here(command).out.split("\n")[:-1]


def threads():
    """Return all threads: {(tid, start): name, flags, CPUs, memory nodes, cgroup and present
    CPU}."""
    out = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            cgroup = read(f"/proc/{pid}/cgroup") or ""
            for tid in os.listdir(f"/proc/{pid}/task"):
                stat = read(f"/proc/{pid}/task/{tid}/stat")
                status = dict(
                    line.split(":\t", 1)
                    for line in (read(f"/proc/{pid}/task/{tid}/status") or "").split("\n")
                    if ":\t" in line
                )
                if not stat or "Cpus_allowed_list" not in status:
                    continue
                field = stat[stat.rindex(")") + 2 :].split()
                out[(int(tid), int(field[19]))] = {
                    "comm": stat[stat.index("(") + 1 : stat.rindex(")")],
                    "kernel": bool(int(field[6]) & 0x200000),
                    "bound": bool(int(field[6]) & 0x4000000),
                    "cpus": status["Cpus_allowed_list"].strip(),
                    "mems": status["Mems_allowed_list"].strip(),
                    "cgroup": cgroup.replace("0::", ""),
                    "on": int(field[36]),
                    "runs": field[0] == "R",
                    "pid": int(pid),
                }
        except (OSError, ValueError, IndexError):
            continue
    return out


def files():
    """Return the contents of the kernel's masks, and the hashes of the system's configuration
    files: {path: text}."""
    out = {}
    for path in lines(
        "find /sys/fs/cgroup \\( -name cpuset.cpus -o -name cpuset.mems -o -name"
        " cpuset.cpus.partition \\) -not -path '*slurmstepd.scope/*'; ls"
        " /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity"
        " /sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/workqueue/*/cpumask"
        " /sys/class/net/*/queues/rx-*/rps_cpus /proc/sys/kernel/watchdog_cpumask"
        " /proc/sys/kernel/timer_migration /proc/sys/vm/stat_interval 2>/dev/null"
    ):
        out[path] = read(path)
    for line in lines(
        "find /etc /run/systemd -type f -not -path '/run/systemd/*/invocation*' -not -path"
        " '/run/systemd/journal/*' -not -path '/run/systemd/transient/*' -exec md5sum {} +"
    ):
        out[line[34:]] = line[:32]
    for path in lines("find /etc /run/systemd -type d -not -path '/run/systemd/transient*'"):
        out[path] = "directory"
    return out


def snapshot():
    return files(), {key: t["cpus"] for key, t in threads().items()}


def same_cpuset(path, before, after):
    """Return whether an empty cpuset became the list of all CPUs or nodes. This counts as restored:
    the kernel refuses to empty the cpuset of a cgroup with processes."""
    return path.startswith("/sys/fs/cgroup") and before == "" and after in ("0-15", "0-3")


def differences(before, after, written=SYSTEMD != 257):
    """Return the differences between two snapshots. If WRITTEN, systemd may have written new lists
    for running units: systemd of Debian 12 and of unstable does so at a reload, and version 257
    does so when the list of another unit is set."""
    out = [
        f"{path}: {text} -> {after[0].get(path)}"
        for path, text in before[0].items()
        if after[0].get(path) != text
        and not (written and same_cpuset(path, text, after[0].get(path)))
    ]
    out += [
        f"{path}: new"
        for path in after[0]
        if path not in before[0] and not path.startswith("/sys/fs/cgroup")
    ]
    out += [
        f"thread {key}: {text} -> {after[1][key]}"
        for key, text in before[1].items()
        if key in after[1] and after[1][key] != text
    ]
    return out


def outside(service, mems=None):
    """Return the threads of the system that may run or allocate outside of the ServiceOS, except
    threads that the kernel binds."""
    out = []
    for key, t in threads().items():
        if "slurmstepd.scope" in t["cgroup"] or t["bound"]:
            continue
        if not cpus(t["cpus"]) <= service or (
            mems and not t["kernel"] and not cpus(t["mems"]) <= mems
        ):
            out.append(f"{key[0]} {t['comm']} {t['cgroup']}: cpus {t['cpus']} mems {t['mems']}")
    return out


def verify(code, what, node="n0"):
    r = on(node, "nodeosctl verify --json")
    got = json.loads(r.out or "{}")
    wrong = [c for c in got.get("checks", []) if not c["ok"]]
    ok(r.code == code, f"{what}: verify exits with {code}", wrong or r.text[-1500:])
    return got


def provisioned(what, arguments=""):
    r = here(f"nodeosctl provision {arguments}")
    ok(r.code == 0 and "changes" in r.out, what, r.text)
    return int((re.search(r"(\d+) change", r.out) or [0, -1])[1])


def undone(before, what, written=SYSTEMD != 257):
    r = here("nodeosctl unprovision")
    ok(r.code == 0, f"{what}: unprovision succeeds", r.text)
    same(differences(before, snapshot(), written), [], f"{what}: unprovision restores everything")


# --------------------------------------------------------------------------- groups


def group_snapshot():
    """Test that unprovision undoes all changes of provision, and that repeated calls change
    nothing."""
    configure(serviceos="1/node")
    slurm_knows()
    before = snapshot()
    r = here("nodeosctl provision --dry-run")
    ok(
        r.code == 0
        and "0-15 -> 0-1" in r.out
        and "unbound workqueues: 0-15 -> 0-1" in r.out
        and "write /run/systemd/system/service.d/" in r.out
        and "process 1 (systemd): 0-15 -> 0-1" in r.out,
        "provision --dry-run shows the changes",
        r.text[-1500:],
    )
    would = int(re.search(r"(\d+) changes to make", r.out).group(1))
    same(differences(before, snapshot()), [], "provision --dry-run changes nothing")
    j = json.loads(here("nodeosctl provision --dry-run --json").out)
    ok(
        j["serviceos"]["cpus"] == "0-1"
        and len(j["changes"]) == j["changed"]
        and abs(j["changed"] - would) < 20
        and j["dry_run"],
        "provision --dry-run --json has the changes",
        j["serviceos"],
    )
    did = provisioned("provision")
    ok(
        abs(did - would) < 40 or (SYSTEMD != 257 and 20 < did < would),
        f"provision makes about as many changes ({did}) as the dry run shows ({would})",
    )
    same(
        outside(SERVICE),
        [],
        "after provision, every process and movable kernel thread is limited to the ServiceOS",
    )
    got = verify(0, "provisioned")
    ok(
        got["serviceos"]["cpus"] == "0-1"
        and any("migration/" in c["what"] for c in got["cannot_move"]),
        "verify lists threads and interrupts that this kernel cannot move",
        got["cannot_move"][:5],
    )
    same(
        [
            c["what"]
            for c in got["cannot_move"]
            if not re.match(r"kthread (\S+/\d+(:\d+H?)?(-.*)?|kworker/R-.*), pid|IRQ ", c["what"])
        ],
        [],
        "verify lists only threads of one CPU, rescuers and managed interrupts as immovable",
    )
    same(provisioned("a second provision succeeds"), 0, "a second provision changes nothing")
    undone(before, "after provision")
    r = here("nodeosctl unprovision")
    ok(r.code == 0 and "nothing to do" in r.out, "a second unprovision changes nothing", r.text)
    verify(3, "not provisioned, although nodeos.conf requests it")
    configure()
    verify(0, "unprovisioned")
    slurm_knows(False)


def group_mistakes():
    """Test that a refused call of provision prints a message and changes nothing."""
    before = snapshot()
    machine = Machine()
    for keys, words in (
        ({}, "serviceos is none"),
        ({"serviceos": "0"}, "not whole cores: write 0-1, with all threads of these cores"),
        ({"serviceos": "0-15"}, "none would be left for containers"),
        ({"serviceos": "16-17"}, "this machine has 0-15"),
        ({"serviceos": "8/node"}, "none would be left"),
        ({"serviceos": "9/node"}, "9/node: this machine has 8 cores"),
        ({"serviceos": "many"}, "allowed: none, N/node or N/socket cores"),
        (
            {"serviceos": "1/node", "serviceos_mems": "9"},
            "memory nodes 9: this machine has memory in 0-3",
        ),
        ({"serviceos": "1/node", "serviceos_except": "../x"}, "a list of full names of units"),
    ):
        configure(**keys)
        r = here("nodeosctl provision")
        ok(
            r.code == 1 and words in r.err and r.err.count("\n") == 1,
            f"provision with {keys} is refused",
            r.text,
        )
    same(
        differences(before, snapshot())[:20],
        [f"{CONF}: {before[0][CONF]} -> {files()[CONF]}"],
        "refused calls of provision change nothing",
    )
    configure(serviceos="1/node")
    r = run("nodeosctl provision")
    ok(r.code == 1 and "only root" in r.err, "provision refuses alice", r.text)
    r = run("nodeosctl provision --cmdline")
    ok(
        r.code == 0
        and "nohz_full=2-15 rcu_nocbs=2-15 irqaffinity=0-1" in r.out
        and "CpuSpecList=0-1" in r.out,
        "provision --cmdline works for alice",
        r.text,
    )
    # live containers
    slurm_knows(False)
    job = run(
        "sbatch --parsable -N1 -w n0 -n8 -c2 --nodeos-cpus=2 -o /dev/null --wrap 'sleep 100'"
    ).out.strip()
    for _ in range(100):
        if f"job {job} " in here("nodeosctl report").out:
            break
        time.sleep(0.3)
    held = cpus(re.search(r"container \S+: cpus (\S+)", here("nodeosctl report").out).group(1))
    core = next(c for c in machine.core.values() if c & held)
    configure(serviceos=",".join(map(str, sorted(core))))
    r = here("nodeosctl provision")
    ok(
        r.code == 1 and f"containers of job {job}" in r.err,
        "provision refuses CPUs of a live container",
        r.text,
    )
    other = next(c for c in machine.core.values() if not c & held)
    configure(serviceos=",".join(map(str, sorted(other))), serviceos_mems="0")
    r = here("nodeosctl provision")
    ok(
        r.code == 1 and f"containers of job {job} may have memory on nodes 0" in r.err,
        "provision refuses memory nodes of a live container",
        r.text,
    )
    run(f"scancel {job}", user="root")
    wait_idle()
    configure()


def group_changes():
    """Test changes of nodeos.conf and of systemd units while the ServiceOS is in force."""

    def beside_slurmd():  # slurmd may run on all CPUs, since slurm.conf has no CpuSpecList here
        return [t for t in outside(SERVICE | SECOND) if "/slurmd.service" not in t]

    before = snapshot()
    configure(serviceos="1/node")
    provisioned("provision")
    configure(serviceos="2/node")
    r = here("nodeosctl provision --dry-run")
    found = re.search(
        r"(\d+) changes to make, after (\d+) to put back the ServiceOS that is in force", r.out
    )
    would = [int(n) for n in found.groups()] if found else []
    r = here("nodeosctl provision")
    found = re.search(
        r"(\d+) changes, after (\d+) to put back the ServiceOS that was in force", r.out
    )
    did = [int(n) for n in found.groups()] if found else []
    # the numbers may differ: threads come and go, and systemd may make some of the changes itself
    ok(
        len(would) == len(did) == 2
        and all(20 < d <= w + 20 for w, d in zip(would, did))
        and (SYSTEMD != 257 or would[0] - did[0] <= 20),
        "a larger ServiceOS: the dry run shows at least as many changes as are made",
        (would, did, r.text),
    )
    same(beside_slurmd(), [], "a larger ServiceOS: the system is limited to it")
    configure()
    r = here("nodeosctl provision")
    ok(
        r.code == 1
        and "is none in" in r.err
        and "this node is provisioned (CPUs 0-3): run nodeosctl unprovision" in r.err,
        "serviceos = none: provision fails and names unprovision",
        r.text,
    )
    got = verify(3, "serviceos = none on a provisioned node")
    ok(
        [c["remedy"] for c in got["checks"] if c.get("what") == "nodeos.conf"]
        == ["nodeosctl unprovision"],
        "serviceos = none: verify names unprovision as the remedy",
        got["checks"],
    )
    configure(serviceos="2/node")
    here("systemctl set-property --runtime munge.service AllowedCPUs=4-7")
    r = here("nodeosctl provision")
    ok(
        r.code == 0
        and "1 process stays outside of the ServiceOS, in a systemd unit that has CPUs of its own"
        in r.err,
        "provision warns of a unit with CPUs of its own",
        r.text,
    )
    got = verify(3, "a unit with CPUs of its own")
    ok(
        any(
            "munged" in c["what"] and "serviceos_except" in c["remedy"]
            for c in got["checks"]
            if not c["ok"]
        ),
        "a unit with CPUs of its own: verify names the remedy",
        got["checks"],
    )
    here(
        "rm -r /run/systemd/system.control/munge.service.d; rmdir /run/systemd/system.control;"
        " systemctl daemon-reload; systemctl restart munge"
    )
    here("nodeosctl provision")
    same(
        beside_slurmd(),
        [],
        "after the unit's own CPUs are removed, the system is limited to the ServiceOS",
    )
    configure(serviceos="2/node", serviceos_except="typo.service")
    r = here("nodeosctl provision")
    ok(
        r.code == 0 and "systemd does not know the unit typo.service" in r.err,
        "provision warns of an unknown unit in serviceos_except",
        r.text,
    )
    configure(serviceos="2/node")
    here("systemctl start nodeos-provision.timer")
    r = here("nodeosctl unprovision")
    ok(
        r.code == 0 and "nodeos-provision.timer is active" in r.err,
        "unprovision warns that nodeos-provision.timer is active",
        r.text,
    )
    here("systemctl stop nodeos-provision.timer nodeos-provision.service")
    configure()
    undone(before, "at the end", True)


# a program that reads its memory again and again; every tenth process never sleeps
HOG = (
    "python3 -c 'import os, time; x = bytearray(16 << 20)\nwhile True: sum(x[::4096]); time.sleep(0"
    " if os.getpid() % 10 == 0 else 0.5)'"
)


def start_daemons(n):
    """Start N services, timers, scopes and logins, each of which uses memory and CPU time."""
    with open("/run/hog.sh", "w") as f:
        f.write(f"#!/bin/sh\nexec {HOG}\n")
    os.chmod("/run/hog.sh", 0o755)
    script = []
    for i in range(n):
        kind = [
            "--unit=hog{i}",
            "--unit=hog{i} --on-active=2s",
            "--scope --unit=hog{i}",
            "--unit=hog{i} --uid=alice -p PAMName=login",
            "--unit=hog{i} --slice=machine.slice",
            "--unit=hog{i} --slice=other.slice",
        ][i % 6].format(i=i)
        script.append(
            f"systemd-run -q --collect {kind} /run/hog.sh {'&' if 'scope' in kind else ''}"
        )
    subprocess.run(
        ["bash", "-c", "\n".join(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )


def watch(seconds, service, mems=None):
    """For SECONDS, sample where threads of the system run and may run. Returns those that are
    outside of SERVICE or MEMS, and the cgroups of the daemons that were seen."""
    wrong, seen = set(), set()
    end = time.time() + seconds
    while time.time() < end:
        for t in threads().values():
            if "slurmstepd.scope" in t["cgroup"] or t["bound"]:
                continue
            if "hog" in t["cgroup"] or "session" in t["cgroup"]:
                seen.add(t["cgroup"])
            if (
                not cpus(t["cpus"]) <= service
                or (t["runs"] and t["on"] not in service)
                or (
                    mems
                    and not t["kernel"]
                    and "/slurmd.service" not in t["cgroup"]
                    and not cpus(t["mems"]) <= mems
                )
            ):
                wrong.add(
                    f"{t['comm']} {t['cgroup']} on {t['on']} cpus {t['cpus']} mems {t['mems']}"
                )
        time.sleep(1)
    return wrong, seen


def group_daemons():
    """Test that all processes that start after provision are in the ServiceOS and stay there."""
    configure(serviceos="1/node")
    before = snapshot()
    slurm_knows()
    provisioned("provision")
    start_daemons(DAEMONS)
    wrong, seen = watch(40, SERVICE)
    same(
        sorted(wrong),
        [],
        f"none of {DAEMONS} services, timers, scopes and logins runs outside of the ServiceOS",
    )
    ok(
        len(seen) >= DAEMONS * 3 // 4,
        f"at least three quarters of the daemons were seen: {len(seen)} of {DAEMONS}",
    )
    ok(
        any("user.slice" in c for c in seen)
        and any("machine.slice" in c for c in seen)
        and any("other.slice" in c for c in seen),
        "daemons are seen in user.slice, machine.slice and another slice",
        sorted(seen)[:9],
    )
    here("systemctl stop 'hog*'; pkill -f bytearray", 300)
    here(
        "systemctl daemon-reload; systemctl restart munge ssh.socket dbus; systemctl restart slurmd"
    )
    wait_idle()
    same(
        outside(SERVICE),
        [],
        "after daemon-reload and restarts of services, the system is limited to the ServiceOS",
    )
    verify(0, "after restarts")
    here("systemctl daemon-reexec; sleep 2")
    same(
        outside(SERVICE),
        [],
        "after daemon-reexec, as in an upgrade of systemd, the system is limited to the ServiceOS",
    )
    here("systemctl unmask irqbalance; systemctl start irqbalance; sleep 25")
    ok(
        here("systemctl is-active irqbalance").out.strip() == "active",
        "the test can start irqbalance",
    )
    verify(0, "after irqbalance has run")
    here("systemctl stop irqbalance; systemctl mask irqbalance")
    # a trigger of cpu.pressure starts a kernel thread ("psimon")
    with open("/sys/fs/cgroup/system.slice/munge.service/cpu.pressure", "r+") as trigger:
        trigger.write("some 500000 1000000")
        trigger.flush()
        late = outside(SERVICE)
        note(f"kernel threads outside of the ServiceOS after the trigger: {late}")
        provisioned("provision works after new kernel threads")
        same(
            outside(SERVICE),
            [],
            f"another provision moves {len(late)} new kernel threads into the ServiceOS",
        )
    r = here("nodeosctl unprovision")
    same(r.code, 0, "unprovision succeeds after an upgrade of systemd")
    slurm_knows(False)
    everywhere = {key: t["cpus"] for key, t in threads().items()}
    left = [
        d
        for d in differences(before, snapshot())
        if not d.startswith("/sys/fs/cgroup")
        and "/etc/slurm/slurm.conf" not in d
        and "/run/systemd" not in d
        and "irqbalance" not in d
    ]
    same(
        left,
        [],
        "unprovision restores everything except cpusets that systemd itself wrote at its upgrade",
    )
    at_first = sum(c == "0-15" for c in before[1].values())
    ok(
        sum(c == "0-15" for c in everywhere.values()) >= at_first - 5 > 20,
        f"after unprovision, as many threads as before ({at_first}) may run on all CPUs",
        everywhere,
    )
    same(
        [
            f"{p}: {read(p)}"
            for p in lines(
                "find /sys/fs/cgroup -name cpuset.cpus.effective -not -path '*slurmstepd.scope/*'"
            )
            if read(p) != "0-15"
        ],
        [],
        "after unprovision, the effective CPUs of every cgroup are all CPUs",
    )


def group_hotplug():
    """Test CPUs of a container and of the ServiceOS that go offline and come online again."""
    configure(serviceos="2-3")
    before = snapshot()
    slurm_knows()
    provisioned("provision")
    same(outside(SECOND), [], "serviceos = 2-3: the system is limited to CPUs 2-3")
    here("echo 0 >/sys/devices/system/cpu/cpu9/online; sleep 2")
    same(
        outside(SECOND),
        [],
        "while a CPU of containers is offline, the system is limited to the ServiceOS",
    )
    here("echo 1 >/sys/devices/system/cpu/cpu9/online; sleep 2")
    provisioned("after a CPU of containers is online again, provision succeeds")
    same(
        outside(SECOND), [], "after a CPU of containers is online again, the system does not use it"
    )
    verify(0, "a container's CPU is back")
    here(
        "echo 0 >/sys/devices/system/cpu/cpu2/online; echo 0 >/sys/devices/system/cpu/cpu3/online;"
        " sleep 2"
    )
    verify(3, "the ServiceOS's CPUs are offline")
    ok(
        here("systemd-run -q --wait true").code == 0,
        "while the CPUs of the ServiceOS are offline, the system runs on others",
    )
    here(
        "echo 1 >/sys/devices/system/cpu/cpu2/online; echo 1 >/sys/devices/system/cpu/cpu3/online;"
        " sleep 2"
    )
    provisioned("after the CPUs of the ServiceOS are online again, provision succeeds")
    same(
        outside(SECOND),
        [],
        "after the CPUs of the ServiceOS are online again, the system is limited to them",
    )
    verify(0, "the ServiceOS's CPUs back")
    here("nodeosctl unprovision")
    slurm_knows(False)
    gone = [
        t
        for t in threads().values()
        if not t["bound"]
        and not t["kernel"]
        and "slurmstepd.scope" not in t["cgroup"]
        and cpus(t["cpus"]) <= SECOND
    ]
    same(gone, [], "after unprovision, no thread is limited to CPUs 2-3")
    left = [
        d
        for d in differences(before, snapshot())
        if d.startswith("/proc") or d.startswith("/sys/dev")
    ]
    same(
        [d for d in left if "smp_affinity_list" not in d],
        [],
        "after unprovision, the kernel's masks are restored",
    )
    configure()


def group_mems():
    """Test memory nodes that only the system may use."""
    configure(serviceos="1/node", serviceos_mems="0")
    for node in ("n1",):
        configure(node, serviceos="1/node", serviceos_mems="0")
        on(node, "nodeosctl provision")
    slurm_knows()
    provisioned("provision")
    start_daemons(12)
    wrong, seen = watch(20, SERVICE, {0})
    same(
        sorted(wrong),
        [],
        "daemons that use memory have only the CPUs and memory nodes of the ServiceOS",
    )
    ok(len(seen) >= 9, f"at least nine daemons that use memory were seen: {len(seen)}")
    # check anonymous pages only: pages of files may have been in memory before
    pages = here(
        "for p in $(pgrep -f bytearray); do grep -h ' anon=' /proc/$p/numa_maps | grep -v file=;"
        " done"
    ).out
    elsewhere = [line for line in pages.split("\n") if re.search(r" N[1-3]=\d", line)]
    ok(
        len(pages) > 1000 and not elsewhere,
        "all anonymous pages of daemons are on memory node 0",
        elsewhere[:5],
    )
    here("systemctl stop 'hog*'; pkill -f bytearray", 300)
    verify(0, "provisioned with memory")
    # containers get the other memory nodes
    r = run(f"srun -N2 -n4 --ntasks-per-node=2 --exclusive -c2 --nodeos-cpus=4 {WHEREAMI}")
    found = ranks(r)
    ok(
        len(found) == 4
        and all(cpus(x["mems"]) == {1, 2, 3} and not cpus(x["cpus"]) & SERVICE for x in found),
        "a container without requested memory nodes has all except those of the ServiceOS",
        r.text[-1000:],
    )
    r = run(f"srun -N1 -n1 --nodeos-mems=4 {WHEREAMI}")
    ok(
        r.code != 0 and "4 memory nodes" in r.text,
        "a request for all four memory nodes of the machine is refused",
        r.text[-600:],
    )
    # the layouts of the paper's figures 4a (one container) and 4b (two), on two nodes of 16 threads
    # and 4 memory nodes
    machine = Machine()
    one = write("figure4a.json", pod(simulation={"container": {"cpus": 14, "mems": 3}}))
    two = write(
        "figure4b.json",
        pod(
            simulation={"container": {"cpus": 12, "mems": 2}},
            vda={"container": {"cpus": 2, "mems": 1}},
        ),
    )
    for name, manifest, steps in (
        ("4a", one, {"simulation": 6}),
        ("4b", two, {"simulation": 5, "vda": 1}),
    ):
        made = {
            c["name"]: c
            for c in json.loads(here(f"nodeosctl plan --json {manifest}").out)["containers"]
        }
        for container, n in steps.items():
            r = run(
                f"salloc -Q -N2 --exclusive -n14 --nodeos-manifest={manifest} srun -N2 -n{2 * n}"
                f" --ntasks-per-node={n} -c2 --nodeos-container={container} {WHEREAMI}"
            )
            found = ranks(r)
            ok(
                len(found) == 2 * n,
                f"figure {name}, {container}: {n} ranks run on each node",
                r.text[-800:],
            )
            check_ranks(
                found,
                made[container] | {"mems_confined": True},
                f"figure {name}, {container}",
                machine,
            )
            ok(
                all(not cpus(x["cpus"]) & SERVICE and 0 not in cpus(x["mems"]) for x in found),
                f"figure {name}, {container}: no rank has CPUs or memory nodes of the ServiceOS",
            )
    nodes = (
        "[numa(memory=2852126720)] " * 24
    )  # the paper's node: 48 threads, 48 memory nodes of 2720 MB
    for name, want in (
        ("figure4a", {"simulation": ("2-47", "1-23,25-47")}),
        ("figure4b", {"simulation": ("2-45", "1-23,25-45"), "vda": ("46-47", "46-47")}),
    ):
        r = run(
            f"nodeosctl plan --json --topology='package:2 {nodes}core:12 pu:2' --serviceos=1/node"
            " --serviceos-mems=0,24"
            f" --ntasks={'simulation=21' + (',vda=1' if 'vda' in want else '')}"
            f" {os.getcwd()}/examples/{name}.json"
        )
        got = json.loads(r.out)
        same(
            {c["name"]: (c["cpus"], c["mems"]) for c in got["containers"]},
            want,
            f"{name}.json on the paper's node: the plan has the expected CPUs and memory nodes",
        )
        same(
            (got["serviceos"]["cpus"], got["serviceos"]["mems"]),
            ("0-1", "0,24"),
            f"{name}.json on the paper's node: the system keeps a core and two memory nodes",
        )
    for node in ("n0", "n1"):
        r = on(node, "nodeosctl unprovision")
        same(r.code, 0, f"{node}: unprovision succeeds")
        configure(node)
    same(
        [
            f"{p}: {read(p)}"
            for p in lines(
                "find /sys/fs/cgroup -name cpuset.mems.effective -not -path '*slurmstepd.scope/*'"
            )
            if read(p) != "0-3"
        ],
        [],
        "after unprovision, every cgroup has all memory nodes",
    )
    slurm_knows(False)


def group_jobs():
    """Test that Slurm and the plugin keep jobs off the ServiceOS."""
    configure(serviceos="1/node")
    configure("n1", serviceos="1/node")
    for node in ("n0", "n1"):
        on(node, "nodeosctl provision")
    verify(3, "slurm.conf without the ServiceOS")
    r = run(f"srun -N2 -n2 -c16 --nodeos-cpus=14 {WHEREAMI}")
    ok(
        r.code == 0 and not any(cpus(x["cpus"]) & SERVICE for x in ranks(r)),
        "without CpuSpecList in slurm.conf, no container gets CPUs of the ServiceOS",
        r.text[-800:],
    )
    slurm_knows()
    for node in ("n0", "n1"):
        verify(0, f"slurm.conf with the ServiceOS, {node}", node)
    ok(
        cpus(
            here(
                "cat /proc/$(pgrep -x slurmd)/status | sed -n 's/^Cpus_allowed_list:.//p'"
            ).out.strip()
        )
        == SERVICE,
        "slurmd runs on the CPUs of CpuSpecList",
    )
    r = run(f"srun -N2 --exclusive -n28 {WHEREAMI}")
    found = ranks(r)
    ok(
        len(found) == 28 and not any(cpus(x["cpus"]) & SERVICE for x in found),
        "a job that requests every thread has no CPU of the ServiceOS",
        r.text[-500:],
    )
    for line, hint in (
        ("sbatch -N1 -n16 --wrap true", True),
        ("srun -N1 -n1 -c16 true", True),
        ("salloc -Q -N1 --exclusive -n15 true", True),
        ("srun -w n0 -N1 -n17 true", True),
        ("sbatch --nodelist=n7 --wrap true", False),
    ):
        r = run(line)
        want = (
            "nodeos: hint: 2 nodes of 16 threads keep 2 for the system (ServiceOS): the largest"
            " request for such a node is 14 threads"
        )
        ok(
            r.code != 0 and (want in r.err) == hint,
            f"{line}: {'a hint with the largest request' if hint else 'no hint'}",
            r.text,
        )
    r = run("srun -N1 --exclusive -n14 --nodeos-cpus=16 true")
    ok(
        r.code != 0
        and "the largest request that fits now is cpus=14" in r.text
        and "2 threads of this node, CPUs 0-1, are kept for the ServiceOS" in r.text,
        "a container of all threads is refused; the message has the ServiceOS's CPUs and the"
        " largest request",
        r.text[-800:],
    )
    script = write(
        "service.sh",
        "#!/bin/bash\nsrun -N2 -n4 -c2 --nodeos-container=sim sleep 20 & srun -N2 -n2"
        " --nodeos-container=vda true; wait\n",
    )
    manifest = write(
        "service.json", pod(sim={"container": {"cpus": 8}}, vda={"container": {"cpus": 2}})
    )
    job = run(
        f"sbatch --parsable -N2 --exclusive -n14 --nodeos-manifest={manifest}"
        f" --nodeos-report={HOME}/service.%s.%N.json -o /dev/null {script}"
    ).out.strip()
    for _ in range(150):
        report = json.loads(here("nodeosctl report --json").out)
        if (
            report["jobs"]
            and len(report["jobs"][0]["steps"]) > 1
            and os.path.exists(f"{HOME}/service.0.n0.json")
        ):
            break
        time.sleep(0.3)
    same(
        report["serviceos"],
        {"cpus": "0-1", "mems": "0-3", "own_mems": False},
        "nodeosctl report --json has the ServiceOS",
    )
    ok(
        not cpus(report["free"]["cpus"]) & SERVICE,
        "the free CPUs in nodeosctl report --json are not CPUs of the ServiceOS",
        report["free"],
    )
    step = json.loads(read(f"{HOME}/service.0.n0.json") or "{}")
    same(step.get("serviceos"), report["serviceos"], "the report of a step has the ServiceOS")
    ok("ServiceOS: cpus 0-1" in here("nodeosctl report").out, "nodeosctl report has the ServiceOS")
    verify(0, "while a job with containers runs")
    run(f"scancel {job}", user="root")
    wait_idle()
    same(leftovers(), "", "serviceos, jobs: the ledger is empty")
    slurm_knows(by_core=True)
    verify(0, "slurm.conf that counts cores")
    found = ranks(run(f"srun -N1 --exclusive -n7 {WHEREAMI}"))
    ok(
        len(found) == 7 and not any(cpus(x["cpus"]) & SERVICE for x in found),
        "if slurm.conf counts cores, a job of every core has no CPU of the ServiceOS",
        found,
    )
    all_idle("no node is drained beside a ServiceOS")
    for node in ("n0", "n1"):
        on(node, "nodeosctl unprovision")
        configure(node)
    slurm_knows(False)


def group_trace():
    """Find which tasks run on CPUs of containers, by sched_switch events."""
    configure(serviceos="1/node")
    slurm_knows()
    provisioned("provision")
    tracing = "/sys/kernel/tracing"
    here(f"mountpoint -q {tracing} || mount -t tracefs tracefs {tracing}")
    # The event is on since boot (trace_event=). Turning it on now would patch __schedule() while 16
    # virtual CPUs run it; QEMU's TCG sometimes executes the breakpoint of text_poke_bp() after the
    # kernel has removed it ("int3: 0000", panic).
    same(
        here(f"cat {tracing}/events/sched/sched_switch/enable").out.strip(),
        "1",
        "sched_switch is traced since boot",
    )
    here(
        f"echo 0 >{tracing}/tracing_on; echo fffc >{tracing}/tracing_cpumask; echo 8192"
        f" >{tracing}/buffer_size_kb; echo 'next_pid != 0'"
        f" >{tracing}/events/sched/sched_switch/filter; echo >{tracing}/trace; echo 1"
        f" >{tracing}/tracing_on"
    )
    reader = subprocess.Popen(["sh", "-c", f"exec cat {tracing}/trace_pipe >/run/trace.out"])
    start_daemons(DAEMONS)
    time.sleep(SECONDS)
    here(f"echo 0 >{tracing}/tracing_on")
    time.sleep(2)
    reader.kill()
    here(
        f"echo 0 >{tracing}/events/sched/sched_switch/filter; echo ffff >{tracing}/tracing_cpumask;"
        f" echo 64 >{tracing}/buffer_size_kb"
    )
    counts, lost, placed = {}, 0, set()
    with open("/run/trace.out", errors="replace") as f:
        for line in f:
            m = re.search(r"\[(\d+)\].*next_comm=(.*) next_pid=\d+ next_prio", line)
            if m:
                counts[m.group(2)] = counts.get(m.group(2), 0) + 1
                placed.add(int(m.group(1)))
            elif "LOST" in line:
                lost += 1
    here("systemctl stop 'hog*'; pkill -f bytearray", 300)
    for name, n in sorted(counts.items(), key=lambda item: -item[1]):
        note(f"on the containers' CPUs in {SECONDS} s: {name} {n}")
    same(lost, 0, "no sched_switch event is lost")
    ok(
        counts and not placed & SERVICE,
        f"the trace has switches on CPUs 2-15 only: {sum(counts.values())}, to {len(counts)} tasks",
        sorted(placed),
    )
    strange = [
        name
        for name in counts
        if not re.fullmatch(
            r"(migration|ksoftirqd|cpuhp|rcuc|idle_inject|irq_work)/\d+|kworker/\d+:.*", name
        )
    ]
    same(
        strange, [], "all tasks on CPUs of containers are kernel threads that are bound to one CPU"
    )
    here("nodeosctl unprovision; rm -f /run/trace.out")
    configure()
    slurm_knows(False)


def group_kills():
    """Kill provision and unprovision at random times. The next run must complete the change."""
    rng = random.Random(5)
    configure(serviceos="1/node")
    slurm_knows()
    before = snapshot()
    start = time.time()
    provisioned("provision")
    length = time.time() - start
    undone(before, "before the kills")
    done = {"provision": 0, "unprovision": 0}
    for i in range(KILLS):
        verb = ["provision", "unprovision"][i % 2]
        if verb == "unprovision":
            here("nodeosctl provision")
        delay = rng.uniform(0, length) if i % 4 < 2 else rng.uniform(0, length / 8)
        p = subprocess.Popen(
            ["nodeosctl", verb],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        p.kill()
        done[verb] += p.wait() == -9
        if i % 5 == 0:  # a job beside a half-done provision
            r = run("srun -N2 -n2 -c2 true")
            same(r.code, 0, f"{verb} killed after {delay:.2f} s: a job runs")
        r = here("nodeosctl provision")
        ok(r.code == 0, f"{verb} killed after {delay:.2f} s: provision succeeds", r.text)
        same(
            outside(SERVICE),
            [],
            f"{verb} killed after {delay:.2f} s: after provision, the system is limited to the"
            " ServiceOS",
        )
        p = subprocess.Popen(
            ["nodeosctl", "unprovision"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0, length))
        p.kill()
        p.wait()
        undone(before, f"{verb} killed after {delay:.2f} s")
    ok(
        done["provision"] and done["unprovision"],
        f"provision and unprovision were both killed at least once before their end: {done}",
    )
    slurm_knows(False)
    configure()
    all_idle("no node is drained by killed provisions")


def group_boot():
    """Reset the node during provision: the systemd unit must provision the node at boot. Needs
    QEMU's -action reboot=reset."""
    configure("n1", serviceos="1/node")
    configure(serviceos="1/node")
    slurm_knows()
    on("n1", "systemctl enable nodeos-provision.service; sync")
    for i, delay in enumerate((0.5, 2.5)):
        on(
            "n1",
            f"(nodeosctl provision & sleep {delay}; sync; echo b >/proc/sysrq-trigger) >/dev/null"
            " 2>&1 &",
            timeout=30,
        )
        time.sleep(delay + 5)
        for _ in range(240):
            if on(
                "n1", "systemctl is-active nodeos-provision.timer; cat /proc/uptime", timeout=20
            ).out.startswith("active"):
                break
            time.sleep(1)
        cluster.wait_idle(240)
        verify(0, f"reset {i + 1}: the node boots, and the systemd unit provisions the node", "n1")
        r = run(f"srun -w n1 -N1 --exclusive -n7 -c2 --nodeos-cpus=14 {WHEREAMI}")
        ok(
            r.code == 0 and not any(cpus(x["cpus"]) & SERVICE for x in ranks(r)),
            f"reset {i + 1}: the node runs a job outside of the ServiceOS",
            r.text[-500:],
        )
    on(
        "n1",
        "systemctl disable --now nodeos-provision.timer nodeos-provision.service; nodeosctl"
        " unprovision",
    )
    configure("n1")
    configure()
    slurm_knows(False)
    all_idle("no node is drained by resets")


GROUPS = {
    "snapshot": group_snapshot,
    "mistakes": group_mistakes,
    "changes": group_changes,
    "jobs": group_jobs,
    "mems": group_mems,
    "daemons": group_daemons,
    "hotplug": group_hotplug,
    "trace": group_trace,
    "kills": group_kills,
    "boot": group_boot,
}


def unprovision():
    for node in ("n0", "n1"):
        on(node, "nodeosctl unprovision")
        configure(node)


def main():
    global SECONDS, KILLS, DAEMONS
    os.makedirs(HOME, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    cluster.patient()
    names = []
    for word in sys.argv[1:]:
        if word.startswith("--seconds="):
            SECONDS = int(word[10:])
        elif word.startswith("--kills="):
            KILLS = int(word[8:])
        elif word.startswith("--daemons="):
            DAEMONS = int(word[10:])
        else:
            names.append(word)
    cluster.run_groups(GROUPS, names or [g for g in GROUPS if g != "boot"], broken=unprovision)
    cluster.done()


main()
