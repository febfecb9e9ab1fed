#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel with nodeos-guest, emulated, and look at it from both sides: its CPUs and memory
nodes, the threads of its monitor, and its ends.
Usage: boot.py KERNEL TREE BUILD [VIRTIOFSD], with KERNEL and TREE of kernel/build --variant debian.
Needs QEMU, cpio and a static libc; for programs inside, virtiofsd (in Debian from 13 on). Prints
TAP; boots six times, 10 to 45 seconds each."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test"))

from manpages import done, ok, skip  # noqa: E402

LIMIT = 180  # seconds of one boot, on a busy machine


class Guest:
    """A guest whose first process is programs/init.c; its console's lines come as they are read."""

    def __init__(self, build, *options, image=True, words=(), **more):
        self.begin = time.monotonic()
        own = ["--emulate", *(["--image=image.json"] if image else []), *options]
        self.process = subprocess.Popen(
            [*words, *options] if words else [f"{build}/nodeos-guest", *own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            **more,
        )
        self.timer = threading.Timer(LIMIT, self.process.kill)
        self.timer.start()
        self.lines = []

    def wait_for(self, pattern):
        for line in self.process.stdout:
            self.lines.append(line.strip())
            found = re.search(pattern, line)
            if found:
                return found
        return None

    def write(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self):
        """Exit code, standard error, seconds since the start."""
        out, err = self.process.communicate()
        self.timer.cancel()
        self.lines += [line.strip() for line in out.splitlines()]
        return self.process.returncode, err, time.monotonic() - self.begin


def make_image(kernel):
    subprocess.run(
        ["gcc", "-O1", "-static", "-o", "init", f"{HERE}/programs/init.c"],
        check=True,
    )
    with open("initrd", "wb") as f:
        subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"],
            input=b"init",
            stdout=f,
            check=True,
        )
    with open("image.json", "w", encoding="utf-8") as f:
        json.dump(
            {
                "kernel": os.path.abspath(kernel),
                "initrd": "initrd",
                "append": "console=ttyS0 panic=-1 quiet no_timer_check",
            },
            f,
        )


def threads(pid):
    """{name of a thread of QEMU: its CPUs}."""
    (qemu,) = open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()
    out = {}
    for thread in os.listdir(f"/proc/{qemu}/task"):
        name = open(f"/proc/{qemu}/task/{thread}/comm", encoding="ascii").read().strip()
        out[name] = sorted(os.sched_getaffinity(int(thread)))
    return qemu, out


def test_life(build, cpus):
    guest = Guest(build, "--memory=256M")
    found = guest.wait_for(r"^cpus (\S+)")
    want = "0" if len(cpus) == 1 else f"0-{len(cpus) - 1}"
    ok(found and found[1] == want, "the guest has as many CPUs as this process may use", found)
    found = guest.wait_for(r"^nodes (\S+)")
    ok(found and found[1] == "0", "the guest has a memory node", found)
    guest.wait_for("^ready")
    qemu, seen = threads(guest.process.pid)
    for i, cpu in enumerate(cpus):
        ok(
            seen.get(f"CPU {i}/TCG") == [cpu],
            f"the thread of CPU {i} of the guest is bound to CPU {cpu}",
            seen,
        )
    rest = [v for k, v in seen.items() if not k.startswith("CPU ")]
    ok(rest and all(v == cpus for v in rest), "QEMU's other threads are bound to the rest", seen)
    status = open(f"/proc/{qemu}/status", encoding="ascii").read()
    ok("\nSeccomp:\t2\n" in status, "QEMU's sandbox is on")
    guest.write("say")
    ok(guest.wait_for("^got say"), "a line of standard input reaches the guest")
    guest.write("poweroff")
    code, err, took = guest.end()
    ok(code == 0 and not err, "a guest that powers off ends with 0", (code, err, guest.lines[-9:]))
    ok(took < LIMIT, f"a guest starts and ends within {LIMIT} s: {took:.0f} s")


def test_panic(build, cpus):
    guest = Guest(build, "--memory=128M", f"--cpus={cpus[0]}")
    found = guest.wait_for(r"^cpus (\S+)")
    ok(found and found[1] == "0", "a guest on one of two CPUs has one CPU", guest.lines[-9:])
    guest.wait_for("^ready")
    guest.write("panic")
    code, err, _ = guest.end()
    ok(
        code == 1 and "Attempted to kill init" in err,
        "a guest that panics ends with 1 and prints its last lines",
        (code, err),
    )


def test_stop(build):
    guest = Guest(build, "--memory=128M", "--grace=4")
    guest.wait_for("^ready")
    guest.process.send_signal(signal.SIGTERM)
    code, err, _ = guest.end()
    ok(code == 143, "a guest that ignores its power button is ended", (code, err))


def tool(build, *words):
    r = subprocess.run(
        [f"{build}/nodeosctl", "guest", *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return r.returncode, r.stdout, r.stderr


def test_saved(build, cpus):
    """A saved and restored guest goes on counting, on as many CPUs as before."""
    guest = Guest(build, "--memory=128M")
    guest.wait_for("^ready")
    guest.write("next")
    guest.wait_for("^number 1")
    pid = guest.process.pid
    listed = [g for g in json.loads(tool(build, "list", "--json")[1]) if g["guest"] == pid]
    ok(
        len(listed) == 1 and listed[0]["cpus"] == cpus and listed[0]["emulated"],
        "nodeosctl guest list has the guest and its CPUs",
        listed,
    )
    begin = time.monotonic()
    code, _, err = tool(build, "save", "--continue", pid, "running")
    took = time.monotonic() - begin
    ok((code, err) == (0, ""), f"a running guest is saved ({took:.1f} s)", err)
    guest.write("next")
    ok(guest.wait_for(r"^number 2"), "a guest that was saved with --continue goes on")
    if shutil.which("gdb"):
        gdb = [
            "gdb",
            "-nx",
            "-batch",
            "-ex",
            f"target remote | {build}/nodeosctl guest gdb --pipe {pid}",
        ]
        gdb += ["-ex", "info registers rip", "-ex", "detach"]
        r = subprocess.run(gdb, capture_output=True, text=True, timeout=LIMIT)
        ok(
            re.search(r"^rip +0x[0-9a-f]+", r.stdout, re.M),
            "gdb reads a register of the guest",
            r.stdout,
            r.stderr,
        )
        guest.write("say")
        ok(guest.wait_for("^got say"), "the guest goes on after gdb", guest.lines[-9:])
    else:
        skip("gdb", "no gdb here")
    code, _, err = tool(build, "save", pid, "ended")
    ok((code, err) == (0, ""), "a guest that was saved is saved once more", err)
    code, err, _ = guest.end()
    ok(
        (code, err) == (0, "nodeos-guest: the guest is saved, and has ended here\n"),
        "a guest that is saved without --continue ends with 0",
        (code, err),
    )
    restore = [f"{build}/nodeosctl", "guest", "restore", f"--program={build}/nodeos-guest"]
    for file, number in (("ended", 3), ("running", 2)):
        guest = Guest(build, words=[*restore, file])
        guest.write("next")
        found = guest.wait_for(r"^number (\d+)")
        ok(
            found and found[1] == str(number),
            f"a guest restored from {file} goes on counting from its saved number",
            guest.lines[-9:],
        )
        _, seen = threads(guest.process.pid)
        ok(
            [seen.get(f"CPU {i}/TCG") for i in range(len(cpus))] == [[c] for c in cpus],
            f"the CPUs of the guest restored from {file} are bound",
            seen,
        )
        guest.write("poweroff")
        code, err, took = guest.end()
        ok(
            (code, err) == (0, ""),
            f"the guest restored from {file} ends with 0 ({took:.0f} s)",
            (code, err),
        )
    if len(cpus) > 1:
        guest = Guest(build, words=[*restore, "ended", f"--cpus={cpus[0]}"])
        code, err, _ = guest.end()
        ok(
            code == 125 and "restore it on as many CPUs" in err,
            f"a restore on one CPU instead of {len(cpus)} is refused",
            (code, err),
        )


SCRIPT = r"""
echo in $(pwd) $(id -u) $(id -g) $(nproc)
uname -r; hostname; cat; echo wrong >&2
echo made > made
awk '$2 == "/" { split($4, option, ",") } END { print "root is " option[1] }' /proc/mounts
exit 7
"""
WAITS = r"""trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.1; done"""


def test_program(build, files, cpus):
    """A program with the host's files, with the rights of another user if this one is root."""
    user = {"user": 1000, "group": 1000, "extra_groups": []} if os.getuid() == 0 else {}
    uid = 1000 if user else os.getuid()
    os.makedirs("work")
    if user:
        os.chown("work", 1000, 1000)
    options = [f"--kernel={os.path.abspath('kernel')}", f"--modules={os.getcwd()}"]
    options += [f"--agent={os.path.abspath('agent')}", f"--virtiofsd={files}", "--memory=384M"]
    guest = Guest(build, *options, "sh", "-c", SCRIPT, image=False, cwd="work", **user)
    guest.write("typed")
    code, err, took = guest.end()
    want = [f"in {os.getcwd()}/work {uid} {1000 if user else os.getgid()} {len(cpus)}"]
    ok(
        guest.lines[:1] == want,
        "a program inside has the directory, the user and the CPUs",
        guest.lines,
    )
    ok(guest.lines[2:3] == [os.uname().nodename], "a program inside sees the host's name")
    ok(guest.lines[3:4] == ["typed"], "a program inside reads standard input", guest.lines)
    ok(
        "wrong" in err.splitlines(),
        "standard error of a program inside is that of nodeos-guest",
        err,
    )
    ok(guest.lines[-1:] == ["root is ro"], "the host's root is mounted read-only", guest.lines)
    ok(
        open("work/made", encoding="ascii").read() == "made\n"
        and os.stat("work/made").st_uid == uid,
        "a program inside writes in its working directory, as its user",
    )
    ok(code == 7, "the exit code of a program inside is that of nodeos-guest", (code, err))
    ok(took < LIMIT, f"a program inside starts and ends within {LIMIT} s: {took:.0f} s")
    guest = Guest(build, *options, "sh", "-c", WAITS, image=False, cwd="work", **user)
    guest.wait_for("^ready")
    guest.process.send_signal(signal.SIGTERM)
    code, err, _ = guest.end()
    ok(
        (code, guest.lines) == (3, ["ready", "got it"]),
        "SIGTERM goes to the program inside",
        (code, err),
    )


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    kernel, tree, build, files = (
        os.path.abspath(a) for a in [*sys.argv[1:], "/usr/libexec/virtiofsd"][:4]
    )
    if not shutil.which("qemu-system-x86_64"):
        skip("guests of nodeos-guest", "no qemu-system-x86_64 here")
        done()
        return
    with tempfile.TemporaryDirectory(prefix="nodeos-guest.") as work:
        os.chdir(work)
        make_image(kernel)
        cpus = sorted(os.sched_getaffinity(0))
        test_life(build, cpus)
        test_panic(build, cpus)
        test_stop(build)
        test_saved(build, cpus)
        if os.access(files, os.X_OK):
            os.chmod(work, 0o755)
            (builtin,) = glob.glob(f"{tree}/lib/modules/*/modules.builtin")
            shutil.copy(builtin, "modules.builtin")
            shutil.copy(kernel, "kernel")
            shutil.copy(f"{build}/nodeos-guest-init", "agent")
            test_program(build, files, cpus)
        else:
            skip("a program inside a guest", f"no {files} here")
        os.chdir("/")
    done()


if __name__ == "__main__":
    main()
