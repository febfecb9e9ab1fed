#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeos-guest with a stand-in for QEMU (stand_in.py): ends of guests, signals, the console, places
of threads, what is left after a kill. Part of make check."""

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(SOURCE, "test"))

from manpages import BUILD, done, ok  # noqa: E402


GUEST = os.path.abspath(os.path.join(BUILD, "nodeos-guest"))
CPUS = sorted(os.sched_getaffinity(0))


class Guest:
    """A nodeos-guest whose stand-in does WORDS."""

    def __init__(self, words, *options, **more):
        with open("k.json", "w", encoding="utf-8") as f:
            json.dump({"kernel": "k", "append": words}, f)
        self.process = subprocess.Popen(
            [
                *more.pop("before", []),
                GUEST,
                "--image=k.json",
                "--emulate",
                "--memory=64M",
                f"--qemu={os.path.abspath('qemu')}",
                *options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def end(self, text=b"", limit=60):
        out, err = self.process.communicate(text, timeout=limit)
        return self.process.returncode, out.decode(), err.decode()

    def wait_for_line(self):
        return self.process.stdout.readline().decode()


def test_ends():
    code, out, err = Guest("print=up\\n poweroff").end()
    ok((code, out, err) == (0, "up\n", ""), "a guest that powers off ends with 0", (code, out, err))
    code, out, err = Guest("print=one\\ntwo\\x1b[2J\\n panic").end()
    ok(code == 1, "a guest that panics ends with 1", code)
    ok(
        err == "nodeos-guest: the guest panicked; the last lines of its console:\n"
        "nodeos-guest: | one\nnodeos-guest: | two?[2J\n",
        "the last lines of a guest that panics are printed, without control characters",
        err,
    )
    code, _, err = Guest("reset").end()
    ok(
        code == 1 and err.startswith("nodeos-guest: the guest wanted to boot again;"),
        "a guest that boots again ends with 1",
        (code, err),
    )
    code, _, err = Guest("die").end()
    ok(
        code == 1
        and err.startswith("nodeos-guest: QEMU ended with code 7, not by the guest's power;"),
        "a monitor that ends by itself is a failure",
        (code, err),
    )


def run_inside(words, text=b"", *options, **more):
    return start_inside(words, *options, **more).end(text)


def start_inside(words, *options, **more):
    """A nodeos-guest with a program; its kernel and its server of files are stand-ins."""
    guest = Guest.__new__(Guest)
    common = ["--kernel=bz", "--modules=.", "--agent=k", "--virtiofsd=./files"]
    guest.process = subprocess.Popen(
        [GUEST, "--emulate", "--memory=64M", "--qemu=./qemu", *common, *options, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )
    return guest


def make_kernel():
    """The head of a bzImage (Documentation/arch/x86/boot.rst), and what is built in."""
    head = bytearray(4096)
    head[0x202:0x206] = b"HdrS"
    head[0x20E:0x210] = (0x100).to_bytes(2, "little")
    head[0x300:0x30C] = b"6.1-x (a) #1"
    with open("bz", "wb") as f:
        f.write(head)
    with open("modules.builtin", "w", encoding="ascii") as f:
        f.write("kernel/virtio_pci.ko\nkernel/virtiofs.ko\nkernel/virtio-console.ko\n")
    with open("files", "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec sleep 1000\n")
    os.chmod("files", 0o755)


def test_inside():
    code, out, err = run_inside(["show", "exit=7"], preexec_fn=lambda: os.umask(0o27))
    ok(
        (code, out, err) == (7, f"{os.getuid()} {os.getgid()} 27 {os.getcwd()}\n", "an error\n"),
        "a program inside has this process's ids, umask and directory, and gives its exit code",
        (code, out, err),
    )
    code, _, _ = run_inside(["signal=11"])
    ok(code == -11, "a program that a signal kills ends nodeos-guest by that signal", code)
    code, _, err = run_inside(["fail"])
    ok(
        (code, err) == (125, "nodeos-guest: in the guest: no?program\n"),
        "the reason is printed why a program does not begin",
        (code, err),
    )
    data = os.urandom(300000).hex().encode()
    code, out, _ = run_inside(["cat", "exit=0"], data)
    ok(code == 0 and out.encode() == data, "600,000 bytes go through standard input and output")
    guest = start_inside(["wait"])
    guest.wait_for_line()
    guest.process.send_signal(signal.SIGUSR1)
    code, _, _ = guest.end()
    ok(code == signal.SIGUSR1, "a signal goes to the program", code)
    code, out, _ = run_inside(["limit=7", "exit=0"])
    limits = " ".join(map(str, resource.getrlimit(resource.RLIMIT_NOFILE)))
    ok(out == limits, "a program inside has this process's limits", (out, limits))
    code, out, _ = run_inside(["cpus", "exit=0"], b"", f"--cpus={CPUS[-1]}")
    ok(out == "0 ", "a program inside may use the guest's CPUs for those of this process", out)
    code, _, err = run_inside(["off"])
    ok(
        code == 1 and err.startswith("nodeos-guest: QEMU ended with code 0,"),
        "a guest that ends before its program is a failure",
        (code, err),
    )
    code, _, err = run_inside(["x"], b"", "--virtiofsd=/nonexistent")
    ok(
        (code, err)
        == (
            125,
            "nodeos-guest: /nonexistent: No such file or directory (Debian's package virtiofsd, "
            "from 13 on)\n",
        ),
        "without virtiofsd the reason is given",
        (code, err),
    )
    with open("modules.builtin", "w", encoding="ascii") as f:
        f.write("kernel/virtio_pci.ko\n")
    with open("modules.dep", "w", encoding="ascii") as f:
        f.write("a/fuse.ko:\na/virtiofs.ko.xz: a/fuse.ko\n")
    code, _, err = run_inside(["x"])
    ok(
        (code, err)
        == (
            125,
            "nodeos-guest: kernel 6.1-x (bz) has virtio_console neither built in nor as a module\n",
        ),
        "a kernel without a driver is refused",
        (code, err),
    )
    with open("modules.dep", "a", encoding="ascii") as f:
        f.write("a/virtio-console.ko:\n")
    os.makedirs("a", exist_ok=True)
    for name in ("fuse.ko", "virtiofs.ko.xz", "virtio-console.ko"):
        with open(f"a/{name}", "w", encoding="ascii") as f:
            f.write(f"<{name}>")
    code, out, err = run_inside(["initrd", "exit=0"])
    found = re.findall(r"modules/(\d+)|<([a-z.-]+)>", out)
    ok(
        (code, found)
        == (
            0,
            [
                ("00", ""),
                ("", "fuse.ko"),
                ("01", ""),
                ("", "virtiofs.ko.xz"),
                ("02", ""),
                ("", "virtio-console.ko"),
            ],
        ),
        "drivers that are modules are in the initrd, in the order of their needs",
        (code, out, err),
    )
    code, _, err = run_inside(["x"], b"", "--kernel=k")
    ok(
        (code, err) == (125, "nodeos-guest: kernel k: not a bzImage of Linux\n"),
        "a file that is no kernel is refused",
        (code, err),
    )


def test_ranks():
    """Three ranks in one guest, which lives as long as the last of them."""
    keeper, rank = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = (["names", "exit=3"], ["wait"], ["show", "exit=5"])
    guests = []
    for i, program in enumerate(words):
        fds = [rank.fileno(), *([keeper.fileno()] if i == 0 else [])]
        own = f"--rank={i},3,{fds[0]},{fds[1] if i == 0 else -1}"
        guests.append(start_inside([*program], own, pass_fds=fds))
    keeper.close()
    rank.close()
    code, out, _ = guests[0].end()
    names = " ".join(f"nodeos.agent.{i}.3" for i in range(3))
    ok((code, out) == (3, names), "the first of three ranks ends before the others", (code, out))
    code, out, _ = guests[2].end()
    ok(
        code == 5 and out.startswith(f"{os.getuid()} "),
        "the last of three ranks ends before the second",
        (code, out),
    )
    guests[1].wait_for_line()
    guests[1].process.send_signal(signal.SIGUSR2)
    code, _, _ = guests[1].end()
    ok(
        code == signal.SIGUSR2,
        "the second rank still gets its signal when the others have ended",
        code,
    )


def test_lost_ranks():
    """A rank that is killed leaves the guest to the others; the end of the guest is that of all."""
    keeper, rank = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fds = [rank.fileno(), keeper.fileno()]
    first = start_inside(["wait"], f"--rank=0,2,{fds[0]},{fds[1]}", pass_fds=fds)
    second = start_inside(["wait"], f"--rank=1,2,{fds[0]},-1", pass_fds=fds[:1])
    keeper.close()
    rank.close()
    first.wait_for_line()
    second.wait_for_line()
    (child,) = children(first.process.pid)
    first.process.kill()
    first.process.wait()
    ok(alive(child), "a rank that is killed leaves the guest to the other")
    second.process.send_signal(signal.SIGUSR1)
    code, _, _ = second.end()
    ok(code == signal.SIGUSR1, "the rank that is left goes on", code)
    for _ in range(500):
        if not alive(child):
            break
        time.sleep(0.02)
    ok(not alive(child), "the guest ends with its last rank")
    keeper, rank = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fds = [rank.fileno(), keeper.fileno()]
    first = start_inside(["x"], f"--rank=0,2,{fds[0]},{fds[1]}", pass_fds=fds)
    while not children(first.process.pid):
        time.sleep(0.02)
    (child,) = children(first.process.pid)
    first.process.send_signal(signal.SIGTERM)
    code, _, _ = first.end()
    ok(code == -15, "a rank that waits for another one ends by SIGTERM", code)
    for _ in range(500):
        if not alive(child):
            break
        time.sleep(0.02)
    ok(not alive(child), "the process that waits to run the guest ends with that rank")
    guest = start_inside(["wait"])
    guest.wait_for_line()
    (child,) = children(guest.process.pid)
    rest = children(child)
    os.kill(child, signal.SIGKILL)
    code, _, err = guest.end()
    ok(
        (code, err) == (1, "nodeos-guest: the process that runs QEMU was killed\n"),
        "a rank fails if the process that runs QEMU is killed",
        (code, err),
    )
    for _ in range(500):
        if not any(map(alive, rest)):
            break
        time.sleep(0.02)
    ok(
        len(rest) == 2 and not any(map(alive, rest)),
        "QEMU and virtiofsd end with the process that runs them",
        rest,
    )


def test_refusals():
    code, _, err = Guest("refuse").end()
    ok(
        (code, err) == (125, "nodeos-guest: cont: QEMU: not now\n"),
        "a guest that QEMU does not start ends with 125 and QEMU's reason",
        (code, err),
    )
    code, _, err = Guest("poweroff", "--qemu=/nonexistent/qemu").end()
    ok(
        (code, err) == (125, "nodeos-guest: /nonexistent/qemu: No such file or directory\n"),
        "without QEMU the reason is given",
        (code, err),
    )
    code, _, err = Guest("poweroff", "--qemu=/bin/true").end()
    ok(
        (code, err) == (125, "nodeos-guest: QEMU has ended before the guest began\n"),
        "a program that is not QEMU is refused",
        (code, err),
    )
    code, _, err = Guest("poweroff", "--cpus=4000").end()
    ok(
        (code, err) == (125, "nodeos-guest: --cpus: this process may not use CPUs 4000\n"),
        "CPUs outside of the container are refused",
        (code, err),
    )
    code, _, err = Guest("poweroff", "--memory=33M").end()
    ok(
        (code, err)
        == (125, "nodeos-guest: 34603008 bytes of memory are not a multiple of 8388608\n"),
        "memory that is no whole number of units is refused",
        (code, err),
    )


def test_console():
    code, out, _ = Guest("echo poweroff").end(b"hello\n")
    ok((code, out) == (0, "hello\n"), "standard input goes to the console, and back", (code, out))
    code, out, _ = Guest("pause poweroff").end()
    ok(code == 0, "the end of standard input does not end the guest", code)


def test_places():
    one = str(CPUS[0])
    _, out, _ = Guest("places poweroff", f"--cpus={one}").end()
    rest = CPUS[1:] or CPUS
    ok(
        json.loads(out) == [[CPUS[0]], rest],
        "the guest's CPU is bound to one CPU, and QEMU's first thread to the other CPUs",
        out,
    )
    _, out, _ = Guest("places poweroff").end()
    ok(
        json.loads(out) == [[c] for c in CPUS] + [CPUS],
        "without other CPUs, QEMU's first thread may use all CPUs of the guest",
        out,
    )


def test_profile():
    """Idle CPUs keep the host's CPUs only where QEMU's other threads do not need them."""
    command = [GUEST, "--image=k.json", "--memory=64M", "--qemu=./qemu", "--dry-run"]
    for options, want in (([], False), ([f"--cpus={CPUS[0]}"], len(CPUS) > 1)):
        r = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        ok(
            r.returncode == 0
            and ("cpu-pm=on" in r.stdout, "kvm-hint-dedicated=on" in r.stdout) == (want, want),
            f"idle CPUs of a guest {'sleep in it' if want else 'leave it'}: {options}",
            r.stdout,
            r.stderr,
        )


def stopped(words, number, *options):
    guest = Guest(f"print=up\\n {words}", *options)
    guest.wait_for_line()
    begin = time.monotonic()
    guest.process.send_signal(number)
    code, _, err = guest.end()
    return code, err, time.monotonic() - begin


def test_signals():
    code, err, _ = stopped("", signal.SIGTERM)
    ok((code, err) == (0, ""), "SIGTERM presses the power button", (code, err))
    code, err, took = stopped("deaf", signal.SIGINT, "--grace=2")
    ok(
        (code, err) == (130, "") and 0.9 < took < 20,
        "QEMU is asked to end after half of the time",
        (code, err, took),
    )
    code, err, took = stopped("stubborn", signal.SIGTERM, "--grace=2")
    ok(
        code == 143 and took >= 1.9,
        "a monitor that does not end is killed at the end of the time",
        (code, err, took),
    )


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def test_kill():
    guest = Guest("print=up\\n")
    guest.wait_for_line()
    (qemu,) = children(guest.process.pid)
    ok(alive(qemu), "QEMU is a child of nodeos-guest")
    guest.process.kill()
    guest.process.wait()
    for _ in range(500):
        if not alive(qemu):
            break
        time.sleep(0.02)
    ok(not alive(qemu), "QEMU ends with a nodeos-guest that is killed")


def prepare():
    """The files that a guest of this test needs."""
    with open("k", "w", encoding="ascii"):
        pass
    with open("qemu", "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nexec {sys.executable} {HERE}/stand_in.py "$@"\n')
    os.chmod("qemu", 0o755)
    make_kernel()


def main():
    with tempfile.TemporaryDirectory(prefix="nodeos-guest.") as work:
        os.chdir(work)
        prepare()
        test_ends()
        test_refusals()
        test_console()
        test_places()
        test_profile()
        test_signals()
        test_kill()
        test_ranks()
        test_lost_ranks()
        test_inside()
        os.chdir("/")
    done()


if __name__ == "__main__":
    main()
