#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run suites of test/guest in the virtual cluster.
The first lines of a suite give its needs:

  # boot: KEY=VALUE...           the machine: nodes, numa, cpus, memory, nvme, append, llc, qemu,
                                 kernel, slurm, plugin=no, accounting=yes, kvm=yes, and put=NAME
  # run: ci KEY=VALUE... GROUP...    run by test/run (limit in seconds; no group: all);
                                     keys of boot are allowed, too
  # run: deep KEY=VALUE... GROUP...  run by test/run --deep; several lines are several runs
  (boot and run may continue on lines that begin with "#   ")
  # rooms: ROOM...               rooms whose changes make test/run --changed run it

Runs of ci with the same machine share one boot."""

import argparse
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("NODEOS_BUILD_DIR") or f"{TOP}/build"
GUEST = f"{TOP}/test/guest"
# files that are copied to the guest with every suite
SHARED = [
    f"{GUEST}/{name}.py"
    for name in ("cluster", "schema", "containers", "livejob", "loads", "vnodes")
] + [f"{TOP}/etc/examples"]
BOOT = (
    "nodes",
    "numa",
    "cpus",
    "memory",
    "nvme",
    "append",
    "llc",
    "qemu",
    "kernel",
    "slurm",
    "plugin",
    "kvm",
)
BOOT += ("accounting", "put")
MACHINE = {"nodes": "2", "slurm": "24.11"}


class Run:
    """One run of a suite, with its groups, limit, machine, kind (ci or deep) and rooms."""

    def __init__(self, suite, when, words, machine, rooms):
        self.suite, self.when, self.rooms = suite, when, rooms
        self.machine, self.limit, self.groups = dict(machine), 1800, []
        for word in words:
            key, equals, value = word.partition("=")
            if equals and key == "limit":
                self.limit = int(value)
            elif equals and key in BOOT:
                self.machine[key] = value
            else:
                self.groups.append(word)

    def name(self):
        """Return the name for logs and messages, such as launch, launch-22.05 or launch-debian."""
        parts = [self.suite]
        if self.machine["slurm"] != MACHINE["slurm"]:
            parts.append(self.machine["slurm"])
        if self.machine.get("kernel"):
            parts.append(self.machine["kernel"])
        return "-".join(parts)


def joined(head):
    """Return the lines HEAD, each joined with its continuations ("#   more")."""
    out = []
    for line in head:
        if out and re.match(r"#   +\S", line) and re.match(r"# (boot|run):", out[-1]):
            out[-1] += line[1:]
        else:
            out.append(line)
    return out


def runs():
    """Return all runs that the suites name, ordered by the suites' names."""
    out = []
    for path in sorted(glob.glob(f"{GUEST}/*.py")):
        suite = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as f:
            head = [line.rstrip("\n") for _, line in zip(range(40), f)]
        machine, rooms, found = dict(MACHINE), [], []
        for line in joined(head):
            m = re.match(r"# (boot|run|rooms): (.*)", line)
            if not m:
                if re.match(r"# .*\b(boot|run|rooms):( |$)", line):
                    sys.exit(
                        f"{path}: boot:, run: and rooms: must be at the start of a line: {line}"
                    )
                continue
            words = shlex.split(m[2])
            if m[1] == "boot":
                machine.update(w.split("=", 1) for w in words)
            elif m[1] == "rooms":
                rooms = words
            else:
                found.append(words)
        out += [Run(suite, words[0], words[1:], machine, rooms) for words in found]
    return out


def output(*command):
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.splitlines()[-1]


def made(name, machine):
    """Build what a suite needs (put=NAME). Returns options of test/guest/run."""

    def keep(path, to):
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
        return ["--put", to]

    if name == "chrt":  # util-linux's chrt with the patch in contrib/patches
        return keep(output(f"{GUEST}/chrt"), f"{BUILD}/tools/chrt")
    if name == "debian-kernel":  # Debian's kernel and drivers, for guests that run in the nodes
        tree = output(f"{TOP}/kernel/build", "--variant", "debian", "--tree")
        (release,) = os.listdir(f"{tree}/usr/lib/modules")
        modules = f"usr/lib/modules/{release}"
        drivers = [f"drivers/net/{name}" for name in ("virtio_net", "net_failover")]
        files = [f"{modules}/kernel/{name}.ko.xz" for name in (*drivers, "net/core/failover")]
        files += [os.path.relpath(p, tree) for p in glob.glob(f"{tree}/{modules}/modules.*")]
        tar = f"{BUILD}/tools/debian-kernel.tar"
        os.makedirs(os.path.dirname(tar), exist_ok=True)
        kernel = f"boot/vmlinuz-{release}"
        subprocess.run(["tar", "cf", tar, "-C", tree, kernel, *files], check=True)
        return ["--put", tar]
    if name == "guest-initrd":  # initramfs of guest/test/programs/init.c, for guests with an image
        work = f"{BUILD}/tools/guest-initrd"
        os.makedirs(work, exist_ok=True)
        source = f"{TOP}/guest/test/programs/init.c"
        subprocess.run(["gcc", "-O1", "-static", "-o", f"{work}/init", source], check=True)
        with open(f"{work}/initrd.guest", "wb") as f:
            command = ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"]
            subprocess.run(command, input=b"init", stdout=f, check=True, cwd=work)
        return ["--put", f"{work}/initrd.guest"]
    if name == "dimmapfs":
        return keep(output(f"{TOP}/dimmap/build"), f"{BUILD}/dimmap/dimmapfs.ko")
    if name == "stage":  # the files that this tree installs, as a tar file
        return keep(output(f"{GUEST}/stage"), f"{BUILD}/tools/now.tar")
    if name.startswith("release-"):  # the files that an earlier commit installs
        tree = f"{BUILD}/{name}"
        if not os.path.exists(tree):
            subprocess.run(["git", "clone", "-q", "--shared", TOP, tree], check=True)
            commit = name.partition("-")[2]
            subprocess.run(["git", "-C", tree, "checkout", "-q", commit], check=True)
        return keep(output(f"{tree}/test/guest/stage"), f"{BUILD}/tools/release.tar")
    if name == "debs":
        debs = output(f"{GUEST}/debs", "--slurm", machine["slurm"])
        shutil.rmtree(f"{BUILD}/debs", ignore_errors=True)
        shutil.copytree(debs, f"{BUILD}/debs", symlinks=True)
        return ["--put", f"{BUILD}/debs"]
    return ["--put", f"{TOP}/{name}"]


def options(machine):
    """Return the options of test/guest/run for a machine."""
    out = []
    for key in (
        "nodes",
        "numa",
        "cpus",
        "memory",
        "nvme",
        "kernel",
        "slurm",
        "append",
        "llc",
        "qemu",
    ):
        if machine.get(key):
            out += [f"--{key}", machine[key]]
    if machine.get("plugin") == "no":
        out.append("--no-plugin")
    for key in ("accounting", "kvm"):
        if machine.get(key) == "yes":
            out.append(f"--{key}")
    for name in machine.get("put", "").split(","):
        if name:
            out += made(name, machine)
    return out


def together(a, b):
    """Return one machine on which both runs can run, or None. Additional devices, kernel arguments
    and files harm no suite."""
    if any(
        a.get(key) != b.get(key)
        for key in ("nodes", "numa", "cpus", "memory", "llc", "qemu", "kernel", "slurm", "plugin")
        + ("accounting", "kvm")
    ):
        return None
    divides = any(re.search("fgmn=|numa=", m.get("append", "")) for m in (a, b))
    if divides and a.get("append") != b.get("append"):
        return None
    out = {**a, **b}
    for key, between in (("append", " "), ("put", ",")):
        out[key] = between.join(dict.fromkeys(m[key] for m in (a, b) if m.get(key)))
    return out


def boots(chosen, share):
    """Return the runs by boots: [(machine, [run...])...]. If SHARE, runs share boots, and runs that
    kill daemons come last."""
    out = []
    for run in sorted(chosen, key=lambda r: r.suite == "failures") if share else chosen:
        for group in out:
            both = together(group[0], run.machine) if share else None
            if both:
                group[0] = both
                group[1].append(run)
                break
        else:
            out.append([run.machine, [run]])
    return out


def say(text):
    print(f"# {time.strftime('%H:%M:%S')} {text}", flush=True)


def script(group):
    """Return the command that n0 runs: the suites in order, each with its limit. The command exits
    with the status of the last suite that failed, or 0."""
    lines = ["worst=0"]
    for run in group:
        command = " ".join(
            map(shlex.quote, ["timeout", str(run.limit), "python3", f"{run.suite}.py", *run.groups])
        )
        lines.append(
            f"echo '# suite {run.suite}'; {command}; code=$?; echo;"
            f' echo "# suite {run.suite} ended with'
            ' $code"; [ $code -eq 0 ] || worst=$code'
        )
    return "\n".join([*lines, "exit $worst"])


class Tally:
    """Counts of a suite's TAP lines."""

    def __init__(self, suite):
        self.suite, self.start = suite, time.time()
        self.passed, self.failed, self.skipped = 0, 0, 0

    def add(self, line):
        if re.match(r"ok .*# skip", line, re.IGNORECASE):
            self.skipped += 1
        elif line.startswith("ok "):
            self.passed += 1
        elif line.startswith("not ok "):
            self.failed += 1

    def end(self, code):
        """End the suite. If it failed without a "not ok" line, print such a line. Returns whether
        all tests passed."""
        if code and not self.failed:
            fail(f"suite {self.suite} ended with {code}{' (its limit)' if code == 124 else ''}")
        elif not code and not self.passed + self.failed + self.skipped:
            fail(f"suite {self.suite} ran no test")
            code = 1
        say(
            f"suite {self.suite}: {self.passed} passed, {self.failed} failed,"
            f" {self.skipped} skipped, {time.time() - self.start:.0f} s"
        )
        return code == 0


def fail(text):
    print(f"not ok - {text}", flush=True)


def follow(lines, log):
    """Copy the output of a boot's suites to stdout and LOG. Returns whether all suites that ended
    passed, and the suite that did not end, or None."""
    good, current, tally = True, None, Tally("")
    for line in lines:
        log.write(line)
        log.flush()
        m = re.match(r"# suite (\w+)(?: ended with (\d+))?$", line)
        if not m:
            tally.add(line)
            sys.stdout.write(line)
            sys.stdout.flush()
        elif m[2]:
            tally.suite = m[1]
            good, current = tally.end(int(m[2])) and good, None
        else:
            current, tally = m[1], Tally(m[1])
    return good, current


def boot(machine, group):
    """Boot one cluster, and run the suites of GROUP there with their output on stdout. Returns
    whether all passed."""
    names = " ".join(run.name() for run in group)
    say(f"booting for {names}")
    out = f"{BUILD}/out/{group[0].name()}"
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(f"{BUILD}/logs", exist_ok=True)
    try:
        command = [f"{GUEST}/run", *options(machine)]
    except (OSError, IndexError, subprocess.CalledProcessError) as e:
        fail(f"{names}: a build for these suites failed: {e}")
        return False
    command += ["--timeout", str(sum(r.limit for r in group) + 300), "--share", out]
    if os.environ.get("QEMU"):
        command += ["--qemu", os.environ["QEMU"]]
    for path in [f"{GUEST}/{r.suite}.py" for r in group] + SHARED:
        command += ["--put", path]
    command += ["--", "bash", "-c", script(group)]
    with open(f"{BUILD}/logs/guest-{group[0].name()}.tap", "w", encoding="utf-8") as log:
        p = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        try:
            good, current = follow(p.stdout, log)
        except BaseException:
            p.terminate()
            p.wait()
            raise
        code = p.wait()
    if code and (good or current):
        fail(
            f"{names}: test/guest/run ended with {code}{f' while {current} ran' if current else ''}"
        )
    return good and code == 0


def changed_since(base):
    """Return the rooms and the files that differ from the commit BASE, or None if all suites must
    run."""
    names = []
    for command in (["diff", "--name-only", base], ["ls-files", "-o", "--exclude-standard"]):
        names += subprocess.run(
            ["git", "-C", TOP, *command], check=True, stdout=subprocess.PIPE, text=True
        ).stdout.splitlines()
    suites = {f"test/guest/{run.suite}.py" for run in runs()}
    rooms = {name.split("/")[0] for name in names if name not in suites}
    # all suites depend on these rooms
    if rooms & {"base", "test", "etc", "configure.ac", "Makefile.am", "m4"}:
        return None
    return rooms, set(names)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the runs and boot no cluster")
    parser.add_argument(
        "--changed", metavar="COMMIT", help="run only the suites of rooms that differ from COMMIT"
    )
    parser.add_argument(
        "--kernel", help="use this kernel instead of the suite's (debian, stock, nodeos-debug)"
    )
    parser.add_argument("--slurm", help="use this series of Slurm instead of the suite's")
    parser.add_argument("--limit", type=int, help="seconds")
    parser.add_argument(
        "what",
        metavar="ci|deep|SUITE",
        help="all suites of test/run, all suites of test/run --deep, or one suite",
    )
    parser.add_argument(
        "groups",
        metavar="GROUP",
        nargs=argparse.REMAINDER,
        help="groups of the suite (default: all)",
    )
    a = parser.parse_args()
    known = runs()
    if a.what in ("ci", "deep"):
        chosen = [r for r in known if r.when == a.what]
    else:
        # use the machine of the run that has these groups, or else of the first run
        chosen = [r for r in known if r.suite == a.what]
        chosen = [r for r in chosen if r.machine.get("kernel") == a.kernel] or chosen
        chosen = [r for r in chosen if set(a.groups) <= set(r.groups)][:1] or chosen[:1]
        if not chosen:
            parser.error(
                f"there is no suite {a.what}; suites are"
                f" {', '.join(sorted({r.suite for r in known}))}"
            )
        chosen[0].groups, chosen[0].limit = a.groups, a.limit or 7200
    if a.changed:
        changed = changed_since(a.changed)
        if changed:
            rooms, files = changed
            chosen = [
                r for r in chosen if rooms & set(r.rooms) or f"test/guest/{r.suite}.py" in files
            ]
    for r in chosen:
        if a.kernel:
            r.machine["kernel"] = a.kernel
        if a.slurm:
            r.machine["slurm"] = a.slurm
    # if a signal ends this process, end the guests, too
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(143))
    good = True
    for machine, group in boots(chosen, share=a.what == "ci"):
        if a.list:
            print(" | ".join(f"{r.name()} {' '.join(r.groups)}".rstrip() for r in group))
        else:
            good = boot(machine, group) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
