#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeos-guest with a stand-in for QEMU (stand_in.py): ends of guests, signals, the console, places
of threads, what is left after a kill. Part of make check."""

import json
import os
import signal
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
    """A nodeos-guest with a program, of a kernel and a server of files that only look so."""
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
    make_kernel()
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
        "a program that does not begin: its reason is printed",
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
    code, _, err = run_inside(["x"])
    ok(
        (code, err) == (125, "nodeos-guest: kernel 6.1-x (bz) does not have virtiofs built in\n"),
        "a kernel with its file system in a module is refused",
        (code, err),
    )
    code, _, err = run_inside(["x"], b"", "--kernel=k")
    ok(
        (code, err) == (125, "nodeos-guest: kernel k: not a bzImage of Linux\n"),
        "a file that is no kernel is refused",
        (code, err),
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
        "the guest's CPU has its CPU of the host, QEMU's first thread the others",
        out,
    )
    _, out, _ = Guest("places poweroff").end()
    ok(
        json.loads(out) == [[c] for c in CPUS] + [CPUS],
        "each CPU of the guest has one of the host, and QEMU's first thread what there is",
        out,
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


def test_kill():
    guest = Guest("print=up\\n")
    guest.wait_for_line()
    with open(f"/proc/{guest.process.pid}/task/{guest.process.pid}/children") as f:
        (qemu,) = [int(p) for p in f.read().split()]
    ok(alive(qemu), "QEMU is a child of nodeos-guest")
    guest.process.kill()
    guest.process.wait()
    for _ in range(500):
        if not alive(qemu):
            break
        time.sleep(0.02)
    ok(not alive(qemu), "QEMU ends with a nodeos-guest that is killed")


def main():
    with tempfile.TemporaryDirectory(prefix="nodeos-guest.") as work:
        os.chdir(work)
        with open("k", "w", encoding="ascii"):
            pass
        with open("qemu", "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nexec {sys.executable} {HERE}/stand_in.py "$@"\n')
        os.chmod("qemu", 0o755)
        test_ends()
        test_refusals()
        test_console()
        test_places()
        test_signals()
        test_kill()
        test_inside()
        os.chdir("/")
    done()


if __name__ == "__main__":
    main()
