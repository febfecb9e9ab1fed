#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of task-counts, with a command whose tasks are known. Prints TAP."""

import json
import os
import subprocess
import sys
import tempfile

EVALUATION = f"{os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}/evaluation"
count = failed = 0


def same(got, want, what):
    global count, failed
    count += 1
    failed += got != want
    print(f"{'' if got == want else 'not '}ok {count} - {what}", flush=True)
    if got != want:
        print(f"#   got:  {got}\n#   want: {want}")


def main():
    with tempfile.TemporaryDirectory() as work:
        out = f"{work}/tasks.json"
        # the shell's child sleeps 100 times in 2 seconds; each sleep is a voluntary switch
        code = "import time; [time.sleep(0.02) for _ in range(100)]"
        script = f'{sys.executable} -c "{code}"; exit 3'
        r = subprocess.run([f"{EVALUATION}/task-counts", out, "sh", "-c", script], timeout=60)
        same(r.returncode, 3, "task-counts exits with the command's status")
        with open(out, encoding="utf-8") as f:
            tasks = json.load(f)
    same(
        [t["name"] for t in tasks],
        ["sh", os.path.basename(sys.executable)[:15]],
        "the output has the command's task and its child's task",
    )
    sleeps = tasks[-1]["voluntary"]
    same(
        30 <= sleeps <= 200,
        True,
        f"a child that sleeps 100 times has 30 to 200 voluntary switches: {sleeps}",
    )
    same(
        tasks[0]["involuntary"] >= 0,
        True,
        "the output has the number of involuntary switches of each task",
    )
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
