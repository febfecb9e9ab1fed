#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Mover, receiver and gate with a stand-in for CRIU, which stops, kills and starts a process where
CRIU would: a move, refusals, and the end of the mover and of the receiver at each transition. At
every end one copy of the process runs. CRIU itself is tested in guests (test/guest/move.py).
Part of make check; needs root and pid namespaces."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("NODEOS_BUILD") or "."
NAME = "vnode7"
number = failed = 0

# The stand-in: "criu dump" and "criu restore", with their action script.
CRIU = """#!{python}
import os, signal, subprocess, sys, time
if "--version" in sys.argv:
    print("Version: 4.2")
    sys.exit(0)
def word(name):
    return sys.argv[sys.argv.index(name) + 1]
def script(action, pid):
    return subprocess.call(
        ["{gate}"], env=dict(os.environ, CRTOOLS_SCRIPT_ACTION=action, CRTOOLS_INIT_PID=str(pid))
    )
images = word("--images-dir")
if sys.argv[1] == "dump":
    pid = int(word("--tree"))
    os.kill(pid, signal.SIGSTOP)
    with open(images + "/files.img", "wb") as f:
        f.write(bytes([0x19, 0x43, 0x56, 0x54, 0x38, 0x31, 0x30, 0x56]))
    with open(images + "/pages-1.img", "wb") as f:
        f.write(os.urandom(3 << 20))
    code = script("post-dump", pid)
    os.kill(pid, signal.SIGKILL if code == 0 else signal.SIGCONT)
    sys.exit(1 if code else 0)
outer = subprocess.Popen({tree}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
pid = 0
while not pid or os.readlink("/proc/%d/exe" % pid) != "{sleep}":
    children = open("/proc/%d/task/%d/children" % (outer.pid, outer.pid)).read().split()
    pid = int(children[0]) if children else 0
time.sleep(0.3)  # its libraries are loaded
os.kill(pid, signal.SIGSTOP)
# with FAIL, the gate has been killed at the last moment, after it has written "live"
if script("post-restore", pid) != 0 or os.path.exists("{fail}"):
    os.kill(pid, signal.SIGKILL)
    sys.exit(1)
script("pre-resume", pid)
os.kill(pid, signal.SIGCONT)
"""


def ok(good, what, detail=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {number} - {what}", flush=True)
    if not good:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()), end="", flush=True)


def drop_image(run_dir):
    subprocess.call(["umount", "-l", f"{run_dir}/{NAME}/image"], stderr=subprocess.DEVNULL)


class Site:
    """Two hosts: directories of one machine."""

    def __init__(self, top):
        self.top = top
        self.sleep = shutil.which("sleep")
        # without random addresses, so that the second process has the mappings of the first one
        self.tree = [
            "unshare",
            "-p",
            "-f",
            "setarch",
            "-R",
            "env",
            "-i",
            self.sleep,
            f"77777.{os.getpid()}",
        ]
        for d in ("bin", "conf"):
            os.makedirs(f"{top}/{d}", mode=0o755)
        self.write(
            "conf/vnode7.conf", "address = 10.0.0.7/24\nbridge = br0\ncpus = 1\nmemory = 128M\n"
        )
        gate = os.path.abspath(f"{BUILD}/nodeos-vnode-gate")
        self.write(
            "bin/criu",
            CRIU.format(
                python=os.path.realpath(sys.executable),
                gate=gate,
                tree=self.tree,
                sleep=self.sleep,
                fail=f"{top}/fail",
            ),
            0o755,
        )
        self.first = None

    def write(self, name, text, mode=0o644):
        with open(f"{self.top}/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{self.top}/{name}", mode)

    def start(self):
        """Start the process on host a, and write the record that vnode/ would write."""
        for d in ("run-a", "run-b", "state-a", "state-b", "saved"):
            drop_image(f"{self.top}/{d}")
            shutil.rmtree(f"{self.top}/{d}", ignore_errors=True)
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self.first = subprocess.Popen(self.tree, cwd="/", start_new_session=True, **quiet)
        while not self.copies():
            time.sleep(0.01)
        time.sleep(0.3)  # its libraries are loaded
        pid = self.copies()[0][0]
        number = os.fstat(os.pidfd_open(pid)).st_ino
        with open("/proc/sys/kernel/random/boot_id") as f:
            boot = f.read()
        os.makedirs(f"{self.top}/run-a/{NAME}", mode=0o700)
        os.chmod(f"{self.top}/run-a", 0o700)
        self.write(
            f"run-a/{NAME}/state",
            f"phase = running\nboot = {boot}pid = {pid}\n"
            f"number = {number}\nsupervisor = 0\n"
            "supervisor_number = 0\ncgroup = \nlink = \n",
        )

    def copies(self):
        """(pid, state) of all processes of the tree."""
        out = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as f:
                    words = f.read().split("\0")
                with open(f"/proc/{pid}/status") as f:
                    state = f.read().split("State:\t")[1][0]
            except OSError:
                continue
            if words[:2] == self.tree[-2:] and state != "Z":
                out.append((int(pid), state))
        return out

    def running(self):
        return [pid for pid, state in self.copies() if state not in "Tt"]

    def journal(self, host):
        path = "saved" if host == "saved" else f"state-{host}"
        try:
            with open(f"{self.top}/{path}/{NAME}.move") as f:
                return [line.split()[0] for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def places(self, host):
        top = self.top
        return f"--run {top}/run-{host} --state {top}/state-{host} --conf {top}/conf"

    def begin(self, recover=False, verb="move"):
        build, saved = os.path.abspath(BUILD), f"{self.top}/saved"
        host = "a" if verb == "restore" else "b"
        other = f"{build}/nodeos-vnode-receive --bare {self.places(host)} {NAME}"
        if verb == "save":
            other = f"{build}/nodeos-vnode-keep {saved} {NAME}"
        words = [verb, *self.places("a").split(), "--command", other, "--no-slurm"]
        words += ["--recover", NAME] if recover else [NAME, "b" if verb == "move" else saved]
        env = dict(os.environ, PATH=f"{self.top}/bin:{os.environ['PATH']}")
        return subprocess.Popen(
            words,
            executable=f"{BUILD}/nodeos-vnode-move",
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def move(self, recover=False, verb="move"):
        p = self.begin(recover, verb)
        text = p.communicate(timeout=120)[0]
        return p.returncode, text

    def end(self):
        for pid, _ in self.copies():
            os.kill(pid, signal.SIGKILL)
        if self.first:
            self.first.wait()

    def image(self):
        """Return the files of the saved vnode."""
        try:
            return os.listdir(f"{self.top}/saved/{NAME}.image")
        except FileNotFoundError:
            return []

    def settled(self, limit=20, saved=False):
        """Wait until one copy runs and no other is there, or, if SAVED, an image in its place."""
        end = time.time() + limit
        while time.time() < end:
            if len(self.copies()) == len(self.running()) == 1 and not (saved and self.image()):
                return True
            if saved and not self.copies() and "files.img" in self.image():
                return True
            time.sleep(0.05)
        return False


def plain(site):
    site.start()
    before = site.copies()
    code, text = site.move()
    ok(code == 0, "a move succeeds", text)
    after = site.copies()
    ok(
        len(after) == 1 and after != before,
        "after a move one copy is left, which is a new process",
        f"{before} {after}",
    )
    ok(
        site.journal("a")[-1] == "done" and site.journal("b")[-1] == "live",
        "after a move the journals end in done and live",
    )
    with open(f"{site.top}/run-b/{NAME}/state") as f:
        ok(f"pid = {after[0][0]}\n" in f.read(), "the destination's record has the first process")
    ok(
        not os.path.exists(f"{site.top}/run-a/{NAME}/state"),
        "the source has no record of a moved vnode",
    )
    with open("/proc/mounts") as f:
        ok(site.top not in f.read(), "after a move no image is left")
    code, text = site.move()
    ok(
        code == 1 and "does not run on this host" in text,
        "a move of a vnode that is not on this host is refused",
        text,
    )
    site.end()


def refused(site):
    site.start()
    conf = "address = 10.0.0.7/24\nbridge = br0\ncpus = 1\nmemory = 128M\n"
    site.write("conf/vnode7.conf", conf + "hosts = elsewhere\n")
    code, text = site.move()
    ok(code == 1 and "hosts" in text, "a host that vnode.d does not name is refused", text)
    ok(
        site.journal("a") == ["preflight", "back"],
        "a refused host stops nothing",
        site.journal("a"),
    )
    site.write("conf/vnode7.conf", conf)
    p = site.begin()
    while len(site.journal("a")) < 3:
        time.sleep(0.01)
    code, text = site.move()
    ok(code == 1 and "another move" in text, "a second mover is refused", text)
    ok(p.wait(60) == 0 and site.settled(), "a second mover does not disturb the first one")
    p.stdout.close()
    site.end()


def pids_of(pattern):
    words = ["pgrep", "-f", pattern]
    out = subprocess.run(words, capture_output=True, text=True).stdout
    return [int(pid) for pid in out.split()]


def kill_at(site, victim, host, state):
    site.start()
    p = site.begin()
    end = time.time() + 60
    while state not in site.journal(host) and time.time() < end:
        time.sleep(0.002)
    if victim == "mover":
        p.kill()
    else:
        for pid in pids_of(f"^/[^ ]*/nodeos-vnode-receive --run {site.top}"):
            os.kill(pid, signal.SIGKILL)
    p.communicate(timeout=120)
    end = time.time() + 10  # the stand-in's restored process runs for a moment
    while len(site.running()) > 1 and time.time() < end:
        time.sleep(0.05)
    ok(
        len(site.running()) <= 1,
        f"{victim} killed at {state}: at most one copy runs",
        site.copies(),
    )
    code, text = site.move(recover=True)
    ok(
        site.settled(),
        f"{victim} killed at {state}: one copy runs after recovery",
        f"{site.copies()} {site.journal('a')} {site.journal('b')}\n{text}",
    )
    site.end()


def save(site):
    site.start()
    first = site.copies()
    code, text = site.move(verb="save")
    ok(code == 0 and not site.copies(), "a save succeeds, and ends the process", text)
    image = {"files.img", "pages-1.img", "nodeos-record", "nodeos-offer", "nodeos-flags"}
    ok(image == set(site.image()), "a save leaves the image, and nothing else", site.image())
    modes = {os.stat(f"{site.top}/saved/{NAME}.image/{f}").st_mode & 0o777 for f in image}
    ok(modes == {0o600}, "only root can read the image")
    ok(
        site.journal("a")[-1] == "done" and site.journal("saved")[-1] == "live",
        "after a save the journals end in done and live",
    )
    code, text = site.move(verb="restore")
    ok(code == 0 and site.settled(saved=True), "a saved vnode is restored", text)
    ok(site.copies() != first, "the restored process is a new one")
    ok(site.journal("saved")[-1] == "done", "after a restore the journal of the directory ends")
    with open("/proc/mounts") as f:
        ok(site.top not in f.read(), "after a restore no image is left in memory")
    code, text = site.move(verb="restore")
    ok(
        code == 1 and "restored before" in text and len(site.running()) == 1,
        "a saved vnode is restored once",
        text,
    )
    site.end()


def kill_save_at(site, state, verb):
    """Kill the mover of a save, or of a restore, at STATE; then recover, or restore again."""
    site.start()
    if verb == "restore":
        site.move(verb="save")
    host = "a" if verb == "save" else "saved"
    seen = site.journal(host).count(state)
    p = site.begin(verb=verb)
    end = time.time() + 60
    while site.journal(host).count(state) == seen and time.time() < end:
        time.sleep(0.002)
    p.kill()
    p.communicate(timeout=120)
    code, text = site.move(recover=verb == "save", verb=verb)
    ok(
        code == 0 or "restored before" in text,
        f"{verb} killed at {state}: the next attempt succeeds",
        text,
    )
    ok(
        site.settled(saved=True),
        f"{verb} killed at {state}: there is one copy, or one image",
        f"{site.copies()} {site.image()} {site.journal('a')} {site.journal('saved')}\n{text}",
    )
    if verb == "restore":
        ok(len(site.running()) == 1, f"restore killed at {state}: the vnode runs in the end")
    site.end()


def fail_gate(site):
    """The destination's gate is killed when it has written "live" and the tree has not run."""
    site.start()
    before = site.copies()
    site.write("fail", "")
    code, text = site.move()
    os.unlink(f"{site.top}/fail")
    ok("live" in site.journal("b"), "the gate is killed after it has written live")
    ok(
        code == 1 and site.settled() and [pid for pid, _ in before] == site.running(),
        "gate killed at live: the process goes on at the source",
        f"{before} {site.copies()} {site.journal('a')} {site.journal('b')}\n{text}",
    )
    ok(
        site.journal("a")[-1] == "back" and site.journal("b")[-1] == "aborted",
        "gate killed at live: the journals end in back and aborted",
    )
    code, text = site.move()
    ok(code == 0 and site.settled(), "gate killed at live: a later move succeeds", text)
    site.end()


def fail_source(site):
    """The source host fails when the destination has the whole image: all that it ran ends."""
    site.start()
    p = site.begin()
    end = time.time() + 60
    while "received" not in site.journal("b") and time.time() < end:
        time.sleep(0.002)
    p.send_signal(signal.SIGSTOP)
    dump = pids_of(f"{site.top}/bin/criu dump")
    gates = [int(w) for d in dump for w in open(f"/proc/{d}/task/{d}/children").read().split()]
    here = [pid for pid, _ in site.copies() if os.getpgid(pid) == os.getpgid(site.first.pid)]
    for pid in [*gates, *dump, *here, p.pid]:
        os.kill(pid, signal.SIGKILL)
    p.communicate(timeout=120)
    while any(os.path.exists(f"/proc/{pid}") for pid in here):
        site.first.poll()
        time.sleep(0.05)
    ok(not {"handed", "back"} & set(site.journal("a")), "the source fails before it hands over")
    code, text = site.move(recover=True)
    detail = f"{site.copies()} {site.journal('a')} {site.journal('b')}\n{text}"
    ok(
        code == 0 and site.settled(),
        "after the source has failed, the destination's image is restored",
        detail,
    )
    ok(
        site.journal("a")[-1] == "done" and site.journal("b")[-1] == "live",
        "after the source has failed, the journals end in done and live",
        detail,
    )
    site.end()


def main():
    needs = ["unshare", "-p", "-f", "setarch", "-R", "true"]
    if os.geteuid() != 0 or subprocess.call(needs, stderr=subprocess.DEVNULL) != 0:
        print("1..0 # SKIP needs root and pid namespaces")
        return 0
    with tempfile.TemporaryDirectory(prefix="nodeos-move-") as top:
        os.chmod(top, 0o755)
        site = Site(top)
        try:
            plain(site)
            refused(site)
            for state in ("preflight", "freeze", "dumped", "sent", "handed"):
                kill_at(site, "mover", "a", state)
            for state in ("offered", "received", "restored"):
                kill_at(site, "receiver", "b", state)
            fail_gate(site)
            fail_source(site)
            save(site)
            for state in ("preflight", "freeze", "dumped", "sent", "handed"):
                kill_save_at(site, state, "save")
            for state in ("preflight", "sent", "handed"):
                kill_save_at(site, state, "restore")
        finally:
            site.end()
            for d in ("run-a", "run-b"):
                drop_image(f"{top}/{d}")
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
