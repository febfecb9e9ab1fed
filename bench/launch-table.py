#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/launch, in Markdown, from what the guest left.

usage: launch-table.py counts MARKS        MARKS: lines of insn-count.c
       launch-table.py traces DIRECTORY    of strace's files slurmd.KIND.N and srun.KIND.N
"""

import os
import re
import statistics
import sys

PLAIN, CONTAINED, STOCK = "plain", "container", "stock"
KINDS = {20: PLAIN, 30: CONTAINED, 40: STOCK, 50: "plain step", 60: "container step"}
HELPER = {
    70: "`true`, for comparison",
    80: "helper, no input: loaded and ended",
    90: "helper, with its input",
    100: "helper, with its input, HWLOC_PLUGINS_PATH=/var/empty",
}


def number(x):
    if isinstance(x, int):
        return f"{x:,}"
    return f"{x:.2f}" if abs(x) < 10 else f"{x:.1f}" if abs(x) < 1000 else f"{x:,.0f}"


def spread(values, unit=None):
    """median (smallest to largest)"""
    v = sorted(x / unit for x in values) if unit else sorted(values)
    middle = statistics.median(v)
    if isinstance(v[0], int):
        middle = round(middle)
    return f"{number(middle)} ({number(v[0])} to {number(v[-1])})"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


# ------------------------------------------------------------------ instructions


class Mark:
    def __init__(self, line):
        self.id, ns, self.user, self.kernel, self.rep = (int(x) for x in line.split()[:5])
        self.seconds = ns / 1e9


def read_marks(path):
    """{id: [(start, returned, settled or None), ...]} in the order of the runs"""
    with open(path) as f:
        marks = [Mark(line) for line in f]
    out = {}
    for i, m in enumerate(marks[:-1]):
        if m.id % 10 == 0 and marks[i + 1].id == m.id + 1:
            settled = marks[i + 2] if i + 2 < len(marks) and marks[i + 2].id == m.id + 2 else None
            out.setdefault(m.id, []).append((m, marks[i + 1], settled))
    return out


def idle_rate(runs):
    """Instructions per second of an idle guest: user, kernel."""
    seconds = sum(s.seconds - b.seconds for b, _, s in runs)
    return (
        sum(s.user - b.user for b, _, s in runs) / seconds,
        sum(s.kernel - b.kernel for b, _, s in runs) / seconds,
    )


class Launch:
    def __init__(self, marks, rate):
        start, back, end = marks
        self.wall = back.seconds - start.seconds
        seconds = end.seconds - start.seconds
        self.raw = end.user - start.user + end.kernel - start.kernel
        self.after = end.user - back.user - rate[0] * (end.seconds - back.seconds)
        self.user = end.user - start.user - rate[0] * seconds
        self.kernel = end.kernel - start.kernel - rate[1] * seconds
        self.total = self.user + self.kernel


def compare(name, runs, base, other):
    """Pairs OTHER - BASE, run by run."""
    pairs = list(zip(runs[base], runs[other]))
    row = [name]
    for what in ("user", "kernel", "total"):
        row.append(spread([getattr(b, what) - getattr(a, what) for a, b in pairs], 1e6))
    row.append(spread([b.total / a.total for a, b in pairs]))
    row.append(spread([b.wall / a.wall for a, b in pairs]))
    return row


def counts(path):
    marks = read_marks(path)
    rate = idle_rate(marks[10])
    runs = {KINDS[i]: [Launch(m, rate) for m in marks[i] if m[2]] for i in KINDS if i in marks}
    print(
        f"Idle guest: {rate[0] / 1e6:.2f} user and {rate[1] / 1e6:.2f} kernel M instructions per"
        f" second ({len(marks[10])} samples), taken off below.\n"
    )
    if runs:
        table(
            [
                "launch",
                "runs",
                "user M",
                "of it after srun",
                "kernel M",
                "both M",
                "both M, idle not taken off",
                "srun's wall s",
            ],
            [
                [
                    kind,
                    str(len(r)),
                    spread([x.user for x in r], 1e6),
                    spread([x.after for x in r], 1e6),
                    spread([x.kernel for x in r], 1e6),
                    spread([x.total for x in r], 1e6),
                    spread([x.raw for x in r], 1e6),
                    spread([x.wall for x in r]),
                ]
                for kind, r in runs.items()
            ],
        )
    rows = [
        compare(f"{b} against {a}", runs, a, b)
        for a, b in (
            (PLAIN, CONTAINED),
            (STOCK, PLAIN),
            (STOCK, CONTAINED),
            ("plain step", "container step"),
        )
        if a in runs and b in runs
    ]
    if rows:
        table(
            [
                "pair by pair",
                "user M more",
                "kernel M more",
                "both M more",
                "ratio, both",
                "ratio, wall",
            ],
            rows,
        )
    rows = []
    for i, name in HELPER.items():
        if i in marks:
            rows.append(
                [
                    name,
                    str(len(marks[i])),
                    spread([e.user - b.user for b, e, _ in marks[i]], 1e6),
                    spread([e.kernel - b.kernel for b, e, _ in marks[i]], 1e6),
                ]
            )
    if rows:
        table(["by hand", "runs", "user M", "kernel M, whole guest"], rows)


# ------------------------------------------------------------------ system calls

LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((.*))$")
RESULT = re.compile(r"= (-?\d+)[^=]*$")
PATH = re.compile(r'^"([^"]*)", \[([^\]]*)\]')


class Process:
    def __init__(self, parent=None):
        self.parent = parent
        self.execs = []  # (line, program, arguments)
        self.thread = False


def read_trace(path):
    """Lines as (pid, call, first half?), and processes with their parents and programs."""
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
                # the call itself still belongs to what was there before
                p.execs.append(
                    (
                        len(lines),
                        os.path.basename(name[1]) if name else "?",
                        name[2] if name else "",
                    )
                )
    return lines, procs


def program_of(procs, pid, line):
    """(program, the process that executed it) as of this line;
    inherited from the parent before an exec."""
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
    """Whose system call this is; None: the user's program, which does not count."""
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


def analyse(path):
    lines, procs = read_trace(path)
    steps = set()
    for p in procs.values():
        for line, name, _ in p.execs:
            if name == "true" and p.parent is not None:
                steps.add(program_of(procs, p.parent, line)[1])
    out, calls = {}, {}
    for pid, call, line in lines:
        who = role(procs, pid, line, steps)
        if who:
            out[who] = out.get(who, 0) + 1
            calls.setdefault(who, {})
            calls[who][call] = calls[who].get(call, 0) + 1
    return out, calls


STEP_PARTS = (
    "slurmstepd of the step",
    "slurmstepd's forks, until their exec of `true`",
    "fork for the helper, until its exec",
    "helper nodeos-plan",
)
STEP = "together: slurmstepd of the step, its forks, the helper"
ALL = "together: everything above"


def median_calls(all_calls, who):
    names = {n for c in all_calls for n in c.get(who, {})}
    return {n: statistics.median([c.get(who, {}).get(n, 0) for c in all_calls]) for n in names}


def traces(directory):
    kinds = ("stock", "plain", "contained")
    found, calls, sums = {}, {}, {}
    for name in sorted(os.listdir(directory)):
        m = re.match(r"^(slurmd|srun)\.(\w+)\.\d+$", name)
        if not m:
            continue
        if m[1] == "srun":
            lines, _ = read_trace(os.path.join(directory, name))
            c = {}
            for _, call, _ in lines:
                c[call] = c.get(call, 0) + 1
            out, c = {"srun": len(lines)}, {"srun": c}
        else:
            out, c = analyse(os.path.join(directory, name))
        both = sums.setdefault((m[2], name.rsplit(".", 1)[1]), {STEP: 0, ALL: 0})
        for who, n in out.items():
            both[ALL] += n
            both[STEP] += n if who in STEP_PARTS else 0
            found.setdefault(who, {}).setdefault(m[2], []).append(n)
        calls.setdefault(m[2], {}).setdefault(m[1], []).append(c)
    for (kind, _), both in sorted(sums.items()):
        for who, n in both.items():
            found.setdefault(who, {}).setdefault(kind, []).append(n)
    order = sorted(
        found,
        key=lambda w: (
            w in (STEP, ALL),
            w != "srun",
            not w.startswith("slurmstepd"),
            "helper" not in w,
            w,
        ),
    )
    table(
        ["system calls of", "stock", "plain", "container"],
        [
            [who, *(spread(found[who][k]) if k in found[who] else "none" for k in kinds)]
            for who in order
        ],
    )
    for base, other in (("plain", "contained"), ("stock", "plain")):
        if base not in calls or other not in calls:
            continue
        for who in (
            "srun",
            "slurmstepd of the step",
            "slurmstepd of the extern step",
            "slurmstepd's forks, until their exec of `true`",
        ):
            a, b = (
                median_calls(calls[k]["srun" if who == "srun" else "slurmd"], who)
                for k in (base, other)
            )
            more = sorted(
                ((b.get(n, 0) - a.get(n, 0), n) for n in set(a) | set(b)),
                key=lambda x: (-abs(x[0]), x[1]),
            )
            text = ", ".join(f"{n} {d:+g}" for d, n in more[:14] if d)
            print(f"{who}, {other} against {base}, medians: {text or 'the same'}\n")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("counts", "traces"):
        sys.exit(__doc__)
    (counts if sys.argv[1] == "counts" else traces)(sys.argv[2])


if __name__ == "__main__":
    main()
