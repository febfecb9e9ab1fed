#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for QEMU. It greets, answers commands, and does what the words of -append say, in
their order:
  poweroff, reset, panic  end as QEMU does for such a guest
  die          end with code 7
  echo         send a line of the console back
  pause        wait 0.2 s
  print=TEXT   print TEXT on the console
  count        answer each line "next" of the console with a number, one more than the last; any
               other line ends the count
Other words apply from the start:
  refuse       answer "cont" with an error
  deaf         ignore the power button; stubborn: ignore "quit", too
  places       print the CPUs of the threads first
  nosave, slowsave  fail to save; save without end
  nocounts     do not know query-stats
If no word ends it, it waits. The state that it saves is the number of "count". The environment
variable STAND_IN_QEMU is its version.

With ports of the agent it is also the agent, and does what the words of each program say: exit=N,
signal=N, fail, wait (for a signal, whose number becomes the exit code), cat, show (the program),
cpus, limit=N (the program's limit N), names (of the ports), initrd, off (the guest's power)."""

import json
import os
import socket
import struct
import sys
import threading
import time


def value(option, prefix=""):
    words = sys.argv
    for i, word in enumerate(words):
        if word == option and words[i + 1].startswith(prefix):
            return words[i + 1]
    return ""


def descriptor(name):
    return int(value("-chardev", f"socket,id={name},").rpartition("=")[2])


class Agent(threading.Thread):
    """The other side of agent/frames.h, written from its text alone."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port

    def take(self):
        head = self.port.recv(8, socket.MSG_WAITALL)
        kind, length = struct.unpack("<II", head)
        return kind, self.port.recv(length, socket.MSG_WAITALL) if length else b""

    def give(self, kind, data):
        self.port.sendall(struct.pack("<II", kind, len(data)) + data)

    def run(self):
        kind, data = self.take()
        uid, gid, umask, groups, args, variables = struct.unpack_from("<6I", data)
        texts = data[24 + 4 * groups :].split(b"\0")[:-1]
        words = [w.decode() for w in texts[4 : 4 + args]]
        assert kind == 1 and len(texts) == 4 + args + variables
        for word in words:
            what, _, value = word.partition("=")
            if what == "show":
                self.give(16, f"{uid} {gid} {umask:o} {texts[1].decode()}\n".encode())
                self.give(17, b"an error\n")
            elif what == "cpus":
                self.give(16, texts[2])
            elif what == "limit":
                limits = texts[3].split()
                limits = dict(zip(limits[::3], zip(limits[1::3], limits[2::3])))
                self.give(16, b" ".join(limits[value.encode()]))
            elif what == "initrd":
                with open(sys.argv[sys.argv.index("-initrd") + 1], "rb") as f:
                    self.give(16, f.read().replace(b"\0", b""))
            elif what == "names":
                ports = [w for w in sys.argv if w.startswith("virtserialport,")]
                self.give(16, " ".join(p.partition("name=")[2] for p in ports).encode())
            elif what == "cat":
                while (frame := self.take())[1]:
                    self.give(16, frame[1])
                    self.give(18, struct.pack("<I", len(frame[1])))
            elif what == "wait":
                self.give(16, b"waits\n")
                kind, data = self.take()
                while kind != 3:
                    kind, data = self.take()
                self.give(19, struct.pack("<I", data[0] << 8))
            elif what == "exit":
                self.give(19, struct.pack("<I", int(value) << 8))
            elif what == "signal":
                self.give(19, struct.pack("<I", int(value)))
            elif what == "fail":
                self.give(20, b"no\nprogram")
            elif what == "off":
                os._exit(0)


class StandIn:
    def __init__(self):
        ports = int(value("-device", "virtserialport,").rpartition(".")[2] or 0)
        self.agents = [Agent(socket.socket(fileno=descriptor(f"agent{i}"))) for i in range(ports)]
        self.qmp = socket.socket(fileno=descriptor("qmp"))
        self.console = socket.socket(fileno=descriptor("console"))
        self.words = value("-append").split()
        self.threads = []
        self.given = {}  # descriptors that getfd has named
        self.gdb = {}
        self.number = 0
        self.status = "prelaunch"
        incoming = value("-incoming").rpartition(":")[2]
        if incoming:
            # the guest has printed these texts before the save
            self.words = [w for w in self.words if not w.startswith("print=")]
            self.status = "inmigrate"
            threading.Thread(target=self.load, args=(int(incoming),), daemon=True).start()

    def load(self, fd):
        time.sleep(0.2)
        with open(fd, "rb") as f:
            text = f.read()
        if not text.startswith(b"number "):
            os._exit(1)
        self.number = int(text.split()[1])
        self.status = "paused"

    def migrate(self, fd):
        for status in ("setup", "active"):
            self.say({"event": "MIGRATION", "data": {"status": status}})
        if "slowsave" in self.words:
            time.sleep(1000)
        os.write(fd, f"number {self.number}".encode() + b" " * 100000)
        os.close(fd)
        end = "failed" if "nosave" in self.words else "completed"
        self.say({"event": "MIGRATION", "data": {"status": end}})

    def serve_gdb(self, port):
        port.sendall(b"+$serves#00")
        port.sendall(port.recv(100))
        port.close()

    def say(self, message):
        self.qmp.sendall(json.dumps(message).encode() + b"\r\n")

    def start_cpus(self):
        """Start a thread for each CPU. query-cpus-fast gives the threads' ids."""
        for i in range(int(value("-smp").split(",")[0])):
            known = threading.Event()

            def live(i=i, known=known):
                self.threads.append((i, threading.get_native_id()))
                known.set()
                threading.Event().wait()

            threading.Thread(target=live, daemon=True).start()
            known.wait()

    def cpus(self):
        return [{"cpu-index": i, "thread-id": t, "props": {"core-id": i}} for i, t in self.threads]

    def shutdown(self, reason):
        self.say({"event": "SHUTDOWN", "data": {"guest": True, "reason": reason}})
        os._exit(0)

    def act(self):
        for word in self.words:
            if word == "poweroff":
                self.shutdown("guest-shutdown")
            elif word == "reset":
                self.shutdown("guest-reset")
            elif word == "panic":
                self.say({"event": "GUEST_PANICKED", "data": {"action": "shutdown"}})
                self.shutdown("guest-panic")
            elif word == "die":
                os._exit(7)
            elif word == "echo":
                self.console.sendall(self.console.recv(1024))
            elif word == "count":
                while self.console.recv(1024).decode().strip() == "next":
                    self.number += 1
                    self.console.sendall(f"number {self.number}\n".encode())
            elif word == "pause":
                time.sleep(0.2)
            elif word.startswith("print="):
                self.console.sendall(word[6:].encode("latin-1").decode("unicode_escape").encode())

    def show_places(self):
        """Print the CPUs of the threads of the guest's CPUs, then those of the first thread."""
        own = [sorted(os.sched_getaffinity(t)) for _, t in self.threads] + [
            sorted(os.sched_getaffinity(0))
        ]
        self.console.sendall(json.dumps(own).encode() + b"\n")

    def answer_of(self, command, arguments):
        """Return QEMU's answer; a text is an error, except for human-monitor-command."""
        if command == "cont" and "refuse" in self.words:
            return "not now"
        if command == "query-cpus-fast":
            return self.cpus()
        if command == "query-status":
            return {"status": self.status, "running": self.status == "running"}
        if command == "query-stats":
            stats = [{"name": "exits", "value": 21}, {"name": "io_exits", "value": 4}]
            stats.append({"name": "halt_wait_hist", "value": [1, 2]})
            if "nocounts" in self.words:
                return "no such command"
            return [{"provider": "kvm", "qom-path": "x", "stats": stats} for _ in self.threads]
        if command == "chardev-add":
            backend = arguments["backend"]["data"]
            assert backend["addr"]["type"] == "fd" and backend["server"] is False
            fd = self.given.pop(backend["addr"]["data"]["str"])
            self.gdb[arguments["id"]] = socket.socket(fileno=fd)
        if command == "human-monitor-command":
            name = arguments["command-line"].removeprefix("gdbserver chardev:")
            port = self.gdb[name]
            threading.Thread(target=self.serve_gdb, args=(port,), daemon=True).start()
            return f"Waiting for gdb connection on device 'chardev:{name}'\r\n"
        return {}

    def execute(self, command, arguments, more):
        answer = self.answer_of(command, arguments)
        if isinstance(answer, str) and command != "human-monitor-command":
            self.say({"error": {"class": "GenericError", "desc": answer}, **more})
            return
        if command in ("cont", "stop"):
            before, self.status = self.status, {"cont": "running", "stop": "paused"}[command]
            self.say({"event": "RESUME" if command == "cont" else "STOP"})
        self.say({"return": answer, **more})
        if command == "cont" and before in ("prelaunch", "paused") and not self.started:
            self.start()
        elif command == "migrate":
            fd = self.given.pop(arguments["uri"].removeprefix("fd:"))
            threading.Thread(target=self.migrate, args=(fd,), daemon=True).start()
        elif command == "system_powerdown" and not {"deaf", "stubborn"} & set(self.words):
            self.shutdown("guest-shutdown")
        elif command == "quit" and "stubborn" not in self.words:
            self.say({"event": "SHUTDOWN", "data": {"guest": False, "reason": "host-qmp-quit"}})
            os._exit(0)

    started = False

    def start(self):
        self.started = True
        if "places" in self.words:
            self.show_places()
        threading.Thread(target=self.act, daemon=True).start()
        for agent in self.agents:
            agent.start()

    def version(self):
        major, minor = os.environ.get("STAND_IN_QEMU", "10.0").split(".")
        return {"qemu": {"micro": 3, "minor": int(minor), "major": int(major)}, "package": ""}

    def run(self):
        self.start_cpus()
        self.say({"QMP": {"version": self.version(), "capabilities": []}})
        text, fds = b"", []
        while True:
            data, more, _, _ = socket.recv_fds(self.qmp, 65536, 4)
            if not data:
                return
            text += data
            fds += more
            while b"\n" in text:
                line, _, text = text.partition(b"\n")
                message = json.loads(line)
                arguments = message.get("arguments", {})
                if message["execute"] == "getfd":
                    self.given[arguments["fdname"]] = fds.pop(0)
                tail = {"id": message["id"]} if "id" in message else {}
                self.execute(message["execute"], arguments, tail)


if __name__ == "__main__":
    StandIn().run()
