#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeosctl guest with a stand-in for QEMU (stand_in.py): list, console, save, restore, gdb, and
what other users and broken connections can do. Part of make check."""

import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "../../test"))

import watch_test  # noqa: E402
from manpages import BUILD, done, ok, skip  # noqa: E402
from watch_test import CPUS, GUEST, Guest, start_inside  # noqa: E402

TOOL = os.path.join(BUILD, "nodeosctl")


def tool(*words, text="", **more):
    r = subprocess.run(
        [TOOL, "guest", *map(str, words)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **more,
    )
    return r.returncode, r.stdout, r.stderr


def start(words, *options):
    """Start a guest and wait for its first line: then it has begun."""
    guest = Guest(f"print=up\\n {words}", *options)
    guest.wait_for_line()
    return guest


def own(guest):
    """Wait until GUEST is in the list. Returns its object in the list."""
    for _ in range(500):
        listed = json.loads(tool("list", "--json")[1])
        found = [g for g in listed if g["guest"] == guest.process.pid]
        if found:
            return found[0]
        time.sleep(0.02)
    return None


def restored(file, *options, **more):
    """Restore the guest of FILE, with pipes for its console."""
    guest = Guest.__new__(Guest)
    guest.process = subprocess.Popen(
        [
            TOOL,
            "guest",
            "restore",
            f"--program={GUEST}",
            file,
            f"--qemu={os.path.abspath('qemu')}",
            *options,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )
    return guest


def ask(guest, line):
    guest.process.stdin.write(line.encode() + b"\n")
    guest.process.stdin.flush()
    return guest.wait_for_line()


def test_list():
    guest = start("", f"--cpus={CPUS[-1]}")
    seen = own(guest)
    (qemu,) = watch_test.children(guest.process.pid)
    ok(
        (seen["cpus"], seen["qemu"], seen["ranks"], seen["emulated"], seen["disk"], seen["job"])
        == ([CPUS[-1]], qemu, 0, True, False, None),
        "the list has the guest's CPUs and QEMU's process",
        seen,
    )
    ok(
        sum(n["bytes"] for n in seen["nodes"]) == 64 << 20
        and seen["page"] == os.sysconf("SC_PAGESIZE"),
        "the list has the guest's memory and pages",
        seen,
    )
    ok(seen["counts"] == {"exits": 21, "io_exits": 4}, "the list has KVM's counts", seen["counts"])
    code, out, err = tool("list")
    ok(
        (code, err) == (0, "")
        and [f"{guest.process.pid}", "-", "image", f"{CPUS[-1]}", "64M", "4K", "21"]
        in [line.split()[:4] + line.split()[5:] for line in out.splitlines()],
        "the list without --json has the same facts",
        out,
    )
    mode = os.stat(f"/proc/{guest.process.pid}/fd").st_mode & 0o777
    ok(mode == 0o500, "other users cannot see the descriptors of a guest's process", oct(mode))
    guest.process.terminate()
    guest.end()
    ok(own_ended(guest), "a guest that has ended is not in the list")


def alone(guest=None):
    """Return whether this user has no guest but GUEST on this host, for example of another test."""
    pids = [g["guest"] for g in json.loads(tool("list", "--json")[1])]
    return pids == ([guest.process.pid] if guest else [])


def own_ended(guest):
    listed = json.loads(tool("list", "--json")[1])
    return guest.process.pid not in [g["guest"] for g in listed]


def test_step():
    guest = Guest("print=up\\n nocounts", env=dict(os.environ, SLURM_JOB_ID="7", SLURM_STEP_ID="0"))
    guest.wait_for_line()
    seen = own(guest)
    ok(
        (seen["job"], seen["step"], seen["counts"]) == ("7", "0", None),
        "the list has the job and step, and null for counts that QEMU does not have",
        seen,
    )
    out = tool("list")[1]
    ok(f"\n{guest.process.pid}" in out and " 7.0 " in out, "the list names the step", out)
    guest.process.kill()
    guest.process.wait()


def test_console():
    guest = start("count poweroff")
    pid = guest.process.pid
    own(guest)
    first = subprocess.Popen(
        [TOOL, "guest", "console", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    ok(
        first.stdout.readline() == "up\n",
        "nodeosctl guest console prints the last lines of the console",
    )
    first.stdin.write("next\n")
    first.stdin.flush()
    ok(
        first.stdout.readline() == "number 1\n",
        "a line typed to nodeosctl guest console reaches the guest",
    )
    ok(
        guest.wait_for_line() == "number 1\n",
        "the output of nodeos-guest goes on beside nodeosctl guest console",
    )
    first.stdin.close()
    guest.process.stdin.write(b"next\n")
    guest.process.stdin.flush()
    ok(
        first.stdout.readline() == "number 2\n",
        "nodeosctl guest console prints output after the end of its standard input",
    )
    guest.process.stdin.write(b"end\n")
    guest.process.stdin.flush()
    ok(first.wait(timeout=60) == 0, "nodeosctl guest console ends with 0 when the guest ends")
    code, out, err = guest.end()
    ok(code == 0, "a guest with a second console ends with 0", (code, out, err))


def test_save():
    guest = start("count poweroff")
    own(guest)
    ok(ask(guest, "next") == "number 1\n", "a new guest counts from 1")
    code, out, err = tool("save", "--continue", guest.process.pid, "first")
    ok(
        (code, out, err) == (0, "", ""),
        "nodeosctl guest save --continue ends with 0, without a message",
        (code, out, err),
    )
    mode = os.stat("first").st_mode & 0o777
    ok(mode == 0o600, "the file of a saved guest has mode 0600", oct(mode))
    ok(ask(guest, "next") == "number 2\n", "a guest that was saved with --continue goes on")
    code, _, err = tool("save", guest.process.pid, "first")
    ok(
        (code, err) == (1, "nodeosctl: guest: first: File exists\n"),
        "a save to an existing file is refused",
        err,
    )
    if alone(guest):
        code, _, err = tool("save", "second")
        ok((code, err) == (0, ""), "nodeosctl guest save without GUEST saves the only guest", err)
    else:
        skip(
            "nodeosctl guest save without GUEST saves the only guest",
            "this user has other guests on this host",
        )
        tool("save", guest.process.pid, "second")
    code, out, err = guest.end()
    ok(
        (code, err) == (0, "nodeos-guest: the guest is saved, and has ended here\n"),
        "a guest that is saved without --continue ends with 0 and a message",
        (code, err),
    )
    for file, number in (("first", 2), ("second", 3), ("first", 2)):
        guest = restored(file)
        ok(
            ask(guest, "next") == f"number {number}\n",
            f"the guest restored from {file} goes on from its saved number",
        )
        code, _, err = guest.end(b"end\n")
        ok((code, err) == (0, ""), "a restored guest ends with 0, without a message", (code, err))


def test_refusals():
    guest = start("nosave count poweroff")
    own(guest)
    code, _, err = tool("save", guest.process.pid, "third")
    ok(
        (code, err) == (1, "nodeosctl: guest: QEMU could not write the whole guest\n"),
        "a save that QEMU fails to write ends with 1 and a message",
        (code, err),
    )
    ok(not os.path.exists("third"), "a save that fails leaves no file")
    ok(ask(guest, "next") == "number 1\n", "the guest goes on after a save that fails")
    guest.end(b"end\n")
    guest = start("slowsave count poweroff")
    own(guest)
    saver = subprocess.Popen(
        [TOOL, "guest", "save", str(guest.process.pid), "fourth"], stderr=subprocess.PIPE
    )
    while not os.path.exists("fourth"):
        time.sleep(0.02)
    time.sleep(0.5)
    code, _, err = tool("save", guest.process.pid, "fifth")
    ok(
        (code, err) == (1, "nodeosctl: guest: another command is saving this guest\n"),
        "a second save of a guest is refused during the first",
        (code, err),
    )
    saver.kill()
    saver.wait()
    ok(ask(guest, "next") == "number 1\n", "the guest goes on if its save is killed")
    code, _, err = restored("fourth").end()
    ok(
        (code, err)
        == (125, "nodeos-guest: fourth: no saved guest, or one whose save was interrupted\n"),
        "the file of an interrupted save is refused",
        (code, err),
    )
    guest.end(b"end\n")
    guest = start_inside(["wait"])
    guest.wait_for_line()
    (keeper,) = watch_test.children(guest.process.pid)
    while f"{keeper} " not in tool("list")[1]:
        time.sleep(0.02)
    code, _, err = tool("save", keeper, "sixth")
    ok(
        code == 1
        and err
        == "nodeosctl: guest: a guest that runs programs cannot be saved: their files, input and"
        " output are the host's\n",
        "a save of a guest that runs programs is refused",
        (code, err),
    )
    guest.process.send_signal(signal.SIGUSR1)
    guest.end()
    if not alone():
        skip("a user without guests", "this user has other guests on this host")
        return
    code, _, err = tool("console")
    ok(
        (code, err) == (1, "nodeosctl: guest: you have no guest on this host\n"),
        "nodeosctl guest console is refused without a guest",
        (code, err),
    )
    code, out, _ = tool("list")
    ok((code, out) == (0, "you have no guest on this host\n"), "an empty list is a message")


def test_other_places():
    """A guest is restored only where it sees the same machine, QEMU and files as before."""
    env = dict(os.environ, STAND_IN_QEMU="7.2")
    code, _, err = restored("first", env=env).end()
    ok(
        code == 125
        and err
        == "nodeos-guest: the guest was saved by QEMU 10.0, and this is 7.2: restore it where the"
        " former is\n",
        "a restore with another version of QEMU is refused",
        (code, err),
    )
    if len(CPUS) > 1:
        code, _, err = restored("first", f"--cpus={CPUS[0]}").end()
        ok(
            code == 125 and "restore it on as many CPUs and memory nodes" in err,
            "a restore on fewer CPUs is refused",
            (code, err),
        )
    with open("first", "rb") as f:
        whole = f.read()
    with open("cut", "wb") as f:
        f.write(whole[: 128 << 10])
    code, _, err = restored("cut").end()
    ok(
        code == 125 and "QEMU cannot load the saved guest" in err,
        "a file without QEMU's part is refused",
        (code, err),
    )
    with open("disk", "wb") as f:
        f.write(bytes(1 << 20))
    with open("k.json", "w", encoding="utf-8") as f:
        json.dump({"kernel": "k", "append": "print=up\\n count", "disk": "disk"}, f)
    guest = Guest.__new__(Guest)
    words = [GUEST, "--image=k.json", "--emulate", "--memory=64M", "--qemu=./qemu"]
    pipe = subprocess.PIPE
    guest.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe)
    guest.wait_for_line()
    own(guest)
    code, _, err = tool("save", "--continue", guest.process.pid, "disked")
    ok(
        code == 1 and "--continue is not for a guest with a disk" in err,
        "save --continue is refused for a guest with a disk",
        (code, err),
    )
    code, _, err = tool("save", guest.process.pid, "disked")
    ok((code, guest.end()[0]) == (0, 0), "a guest with a disk is saved, and ends with 0", err)
    guest = restored("disked")
    ok(
        ask(guest, "next") == "number 1\n",
        "a guest with a disk is restored if the disk is unchanged",
    )
    guest.process.kill()
    guest.process.wait()
    with open("disk", "r+b") as f:
        f.write(b"changed")
    code, _, err = restored("disked").end()
    ok(
        code == 125 and "has changed since the guest was saved" in err,
        "a restore is refused if the guest's disk has changed",
        (code, err),
    )


def test_gdb():
    guest = start("")
    own(guest)
    for _ in range(2):
        code, out, err = tool("gdb", "--pipe", guest.process.pid, text="$g#67")
        ok(
            (code, out.startswith("+$serves#00"), err) == (0, True, ""),
            "gdb --pipe connects its standard input and output with QEMU's gdb server",
            (code, out, err),
        )
    os.makedirs("bin", exist_ok=True)
    with open("bin/gdb", "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nprintf "<%s>" "$@"\n')
    os.chmod("bin/gdb", 0o755)
    env = dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])
    code, out, err = tool("gdb", guest.process.pid, "vmlinux", env=env)
    want = f"<-ex><target remote | '{os.path.realpath(TOOL)}' guest gdb --pipe {guest.process.pid}>"
    ok(
        (code, out) == (0, want + "<vmlinux>"),
        "gdb is started with the guest as its target",
        (out, err),
    )
    guest.process.kill()
    guest.process.wait()


def test_strangers():
    """Wrong lines in the pipe, words without their sockets, and a console that does not read."""
    guest = start("count poweroff")
    pid = guest.process.pid
    own(guest)
    pipes = [
        fd
        for fd in os.listdir(f"/proc/{pid}/fd")
        if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("pipe:") and int(fd) > 2
    ]
    with tempfile.TemporaryDirectory(prefix="nodeos-guest.", dir="/tmp") as d:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(f"{d}/socket")
        s.listen()
        lines = [b"1 /tmp/../etc", b"\0" * 128, b"x" * 128, f"{os.getpid()} {d}x".encode()]
        lines += [f"{os.getpid()} {d}".encode()]
        for line in lines:
            for fd in pipes:
                try:
                    out = os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    continue
                os.write(out, line.ljust(128, b"\0")[:128])
                os.close(out)
        s.settimeout(20)
        peer, _ = s.accept()
        for word in (b"x" * 5000, b"save", b"end", b"continue", b"gdb", b"console"):
            peer.send(word)
            ok(
                peer.recv(1000).startswith(b"no "),
                f"the message {word[:8]} without a socket is refused",
            )
        peer.close()
        s.close()
    ok(ask(guest, "next") == "number 1\n", "a guest goes on after wrong lines in its pipe")
    deaf = subprocess.Popen([TOOL, "guest", "console", str(pid)], stdin=-1, stdout=-1)
    time.sleep(0.3)
    deaf.send_signal(signal.SIGSTOP)
    for _ in range(2, 400):
        ask(guest, "next")
    ok(ask(guest, "next") == "number 400\n", "a console that does not read delays nothing")
    deaf.kill()
    deaf.wait()
    if os.getuid() == 0:
        code, out, err = tool("console", pid, user=65534, group=65534, extra_groups=[])
        ok(
            code == 1 and f"you have no guest {pid} on this host" in err,
            "nodeosctl guest console of another user does not find the guest",
            (code, out, err),
        )
    guest.end(b"end\n")
    left = glob.glob("/tmp/nodeos-guest.*/socket")
    ok(not left, "no socket of the commands is left in /tmp", left)


def test_usage():
    for words, code, text in (
        ([], 2, "Usage: nodeosctl guest list"),
        (["nothing"], 2, 'unknown command "nothing"'),
        (["save"], 2, 'FILE is missing after "save"'),
        (["save", "1", "2", "3"], 2, 'unexpected "3"'),
        (["console", "x"], 1, '"x" is not the number of a guest'),
        (["list", "--continue"], 2, '--continue is not for "list"'),
        (["save", "--json", "f"], 2, '--json is not for "save"'),
        (["--json", "list"], 2, "must come before"),
        (["restore", "/nonexistent", "--cpus=0"], 1, "nodeos-guest: No such file"),
    ):
        got, out, err = tool(*words)
        ok(
            (got, text in err) == (code, True),
            f"nodeosctl guest {' '.join(words)}: exit status {code}, with {text}",
            err,
        )
    code, out, err = tool("restore", f"--program={GUEST}", "/nonexistent")
    ok(
        (code, err) == (125, "nodeos-guest: /nonexistent: No such file or directory\n"),
        "a restore of a missing file is refused",
        err,
    )


def main():
    with tempfile.TemporaryDirectory(prefix="nodeos-guest.") as work:
        os.chdir(work)
        watch_test.prepare()
        test_usage()
        test_list()
        test_step()
        test_console()
        test_save()
        test_refusals()
        test_other_places()
        test_gdb()
        test_strangers()
        os.chdir("/")
    done()


if __name__ == "__main__":
    main()
