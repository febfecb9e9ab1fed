#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of nodeos-sched-count: its parsers on texts of /proc, and a run of known tasks. TAP."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = f"{HERE}/nodeos-sched-count"
count = failed = 0


def same(got, want, what):
    global count, failed
    count += 1
    failed += got != want
    print(f"{'' if got == want else 'not '}ok {count} - {what}", flush=True)
    if got != want:
        print(f"#   got:  {got}\n#   want: {want}")


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("sched_count", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sched_count", loader))
    loader.exec_module(module)
    return module


INTERRUPTS = """           CPU0       CPU2
  0:         46          0   IO-APIC    2-edge      timer
LOC:     100234     200456   Local timer interrupts
RES:          7          9   Rescheduling interrupts
ERR:          0
MIS:          0
"""
SOFTIRQS = """                    CPU0       CPU2
          HI:          0          1
       TIMER:       5000       6000
"""
SCHEDSTAT = """version 16
timestamp 4295216042
cpu0 0 0 1200 300 400 200 1 2 600
domain0 3 1 2 3
cpu2 0 0 2200 300 400 200 1 2 600
"""


def parsers(s):
    same(s.cpu_list("0-2,5\n"), [0, 1, 2, 5], "a list of CPUs")
    same(s.cpu_list(""), [], "an empty one")
    table = s.per_cpu_table(INTERRUPTS)
    same(sorted(table), ["0", "LOC", "RES"], "interrupts: rows with a number for each CPU")
    same(table["LOC"], {0: 100234, 2: 200456}, "by the CPUs in the head, which need not be all")
    same(s.per_cpu_table(SOFTIRQS)["TIMER"], {0: 5000, 2: 6000}, "softirqs")
    same(s.per_cpu_table(""), {}, "a file that cannot be read")
    same(s.switches_of_cpus(SCHEDSTAT), {0: 1200, 2: 2200}, "calls of schedule()")
    same(
        s.switches_of_cpus(SCHEDSTAT.replace("1200", "0").replace("2200", "0")),
        {},
        "not counted on this kernel: nothing, not 0",
    )


def differences(s):
    before = {
        "interrupts": {"LOC": {0: 10, 2: 20}},
        "softirqs": {"TIMER": {0: 1, 2: 1}},
        "switches": {0: 5, 2: 5},
        "kworkers": {0: 9, 2: 4},
    }
    after = {
        "interrupts": {"LOC": {0: 110, 2: 20}, "NEW": {0: 3, 2: 0}},
        "softirqs": {"TIMER": {0: 1, 2: 8}},
        "switches": {0: 25, 2: 6},
        "kworkers": {0: 2, 2: 7},
    }
    found = s.difference(before, after, [0, 2])
    same(
        found[0],
        {"switches": 20, "kworkers": 0, "interrupts": {"LOC": 100, "NEW": 3}, "softirqs": {}},
        "CPU 0; a worker that has gone is no negative count",
    )
    same(
        found[2],
        {"switches": 1, "kworkers": 3, "interrupts": {}, "softirqs": {"TIMER": 7}},
        "CPU 2",
    )
    same(
        s.difference(before, {**after, "switches": {}}, [0])[0]["switches"],
        None,
        "no number of switches where there is none",
    )


def runs():
    with tempfile.TemporaryDirectory() as work:
        out, picture = f"{work}/r%r.json", f"{work}/r%r.svg"
        # a shell that sleeps 20 times: its children's switches are voluntary
        r = subprocess.run(
            [
                PROGRAM,
                "-i",
                "0.02",
                "-j",
                out,
                "-p",
                picture,
                "--",
                "sh",
                "-c",
                "for i in $(seq 20); do sleep 0.05; done; exit 3",
            ],
            env={**os.environ, "SLURM_PROCID": "7"},
            capture_output=True,
            text=True,
        )
        same(r.returncode, 3, "the exit status is the command's")
        result = json.load(open(f"{work}/r7.json"))
        same((result["rank"], result["exit"]), (7, 3), "the rank, in the name of the file, too")
        names = {t["name"] for t in result["tasks"]}
        same(
            ({"sh", "sleep"} <= names, names - {"sh", "sleep", "seq"}),
            (True, set()),
            "its tasks, children included",
        )
        same(
            15 <= len(result["tasks"]) <= 24,
            True,
            f"as many as it started, as far as they were seen: {len(result['tasks'])}",
        )
        # some are seen only before they sleep
        same(
            sum(t["voluntary"] >= 1 for t in result["tasks"] if t["name"] == "sleep") >= 10,
            True,
            "who sleeps gives the CPU away",
        )
        same(
            sorted(map(int, result["cpus"])),
            sorted(os.sched_getaffinity(0)),
            "the CPUs that it may use",
        )
        same(open(f"{work}/r7.svg").read().count("<rect") >= 4, True, "a picture")
        r = subprocess.run(
            [PROGRAM, "--merge", f"{work}/r7.json", f"{work}/r7.json"],
            capture_output=True,
            text=True,
        )
        same((r.returncode, r.stdout.count("\n7 ") >= 2), (0, True), "one table of several ranks")
        r = subprocess.run([PROGRAM, "-j", "-", "true"], capture_output=True, text=True)
        same(json.loads(r.stdout)["command"], ["true"], "JSON alone on standard output")
    for args, words in (
        (["--merge", "/nonexistent"], "No such file"),
        ([], "no COMMAND"),
        (["-i", "0", "true"], "above 0"),
        (["/nonexistent/x"], "No such file"),
    ):
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True)
        same(
            (r.returncode != 0, words in r.stderr, "Traceback" in r.stderr),
            (True, True, False),
            f"{' '.join(args) or 'nothing'}: {words}",
        )


def main():
    s = load()
    parsers(s)
    differences(s)
    runs()
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
