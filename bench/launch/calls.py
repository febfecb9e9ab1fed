# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the system calls of a launch by the role of the caller, from strace's files."""

import os
import re

LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((.*))$")
RESULT = re.compile(r"= (-?\d+)[^=]*$")
PATH = re.compile(r'^"([^"]*)", \[([^\]]*)\]')


class Process:
    def __init__(self, parent=None):
        self.parent = parent
        self.execs = []  # (line, program, arguments)
        self.thread = False


def read_trace(path):
    """Read the trace PATH. Return its calls as [(pid, call, number of the call)], and its processes
    as {pid: Process}."""
    lines, procs, pending = [], {}, {}
    with open(path, errors="replace") as f:
        for text in f:
            m = LINE.match(text.rstrip("\n"))
            if not m:
                continue
            pid = int(m[1])
            call, rest = m[2] or m[4], m[3] if m[2] else m[5]
            p = procs.setdefault(pid, Process())
            if not m[2]:
                lines.append((pid, call, len(lines)))
                pending[pid] = rest
            whole = pending.get(pid, "") if m[2] else rest
            if rest.endswith("<unfinished ...>"):
                continue
            result = RESULT.search(rest)
            value = int(result[1]) if result else -1
            if call in ("clone", "clone3", "fork", "vfork") and value > 0:
                child = procs.setdefault(value, Process())
                child.parent, child.thread = pid, "CLONE_THREAD" in whole
            if call == "execve" and value == 0:
                name = PATH.match(whole)
                # the execve itself is a call of the old program
                p.execs.append(
                    (
                        len(lines),
                        os.path.basename(name[1]) if name else "?",
                        name[2] if name else "",
                    )
                )
    return lines, procs


def program_of(procs, pid, line):
    """Return the program that PID runs at LINE, and the process that has executed it. Before its
    first exec, a process runs its parent's program."""
    seen = 0
    while seen < 100:
        p = procs[pid]
        done = [e for e in p.execs if e[0] <= line]
        if done:
            return done[-1], pid
        if p.parent is None:
            return None, pid
        pid, seen = p.parent, seen + 1
    return None, pid


def leader(procs, pid):
    while procs[pid].thread:
        pid = procs[pid].parent
    return pid


def role(procs, pid, line, steps):
    """Return the role of the process that makes the call at LINE, or None for the user's program,
    whose calls are not counted."""
    me = leader(procs, pid)
    later = [e[1] for e in procs[me].execs if e[0] > line]
    done, owner = program_of(procs, me, line)
    name = done[1] if done else "slurmd"
    if name == "true":
        return None
    if name == "nodeos-plan":
        return "helper nodeos-plan"
    if later and later[0] == "nodeos-plan":
        return "fork for the helper, until its exec"
    if name == "slurmstepd":
        if later and later[0] == "true":
            return "slurmstepd's forks, until their exec of `true`"
        if owner in steps:
            return "slurmstepd of the step"
        return "slurmstepd of the epilog" if "spank" in done[2] else "slurmstepd of the extern step"
    if name == "slurmd":
        return "slurmd, and its forks until slurmstepd's exec"
    return "others (extern step's sleep)"


def of_slurmd(path):
    """Count slurmd's calls: {role: {call: count}}."""
    lines, procs = read_trace(path)
    steps = set()
    for p in procs.values():
        for line, name, _ in p.execs:
            if name == "true" and p.parent is not None:
                steps.add(program_of(procs, p.parent, line)[1])
    calls = {}
    for pid, call, line in lines:
        who = role(procs, pid, line, steps)
        if who:
            one = calls.setdefault(who, {})
            one[call] = one.get(call, 0) + 1
    return calls


def of_srun(path):
    """Count srun's own calls: {"srun": {call: count}}."""
    calls = {}
    for _, call, _ in read_trace(path)[0]:
        calls[call] = calls.get(call, 0) + 1
    return {"srun": calls}


def all_of(directory):
    """Read slurmd.KIND.RUN and srun.KIND.RUN: [{kind, run, calls: {role: {call: count}}}]."""
    found = {}
    for name in sorted(os.listdir(directory)):
        m = re.fullmatch(r"(slurmd|srun)\.(\w+)\.(\d+)", name)
        if m:
            one = found.setdefault((m[2], int(m[3])), {})
            one |= (of_srun if m[1] == "srun" else of_slurmd)(f"{directory}/{name}")
    return [{"kind": kind, "run": run, "calls": calls} for (kind, run), calls in found.items()]
