#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the tables, pictures and errors of "nodeosctl contention" with documents that are written
here. Prints TAP. NODEOS_BUILD is the build tree."""

import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(os.path.dirname(__file__), "../..")
sys.path.insert(0, os.path.join(SOURCE, "test"))
from manpages import BUILD, done, ok, skip  # noqa: E402

TOOL = os.path.abspath(os.path.join(BUILD, "nodeosctl"))
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '\x1b[2J</text><&"\u009b'
SUM = dict.fromkeys(
    "name rate cpu_percent memory_bytes sent_bytes received_bytes read_bytes written_bytes"
    " instructions misses remote".split()
)
NOW = time.time()


def rank(number, command, klass, rate, domain, **more):
    return {
        "rank": number,
        "kind": "task",
        "pid": 5300,
        "command": command,
        "container": "sim",
        "cpus": "0",
        "domain": domain,
        "cpu_percent": 99.8,
        "rate": rate,
        "class": klass,
        "class_since": NOW - 180,
        "history": [[NOW - 60, 3.1, "t"], [NOW - 30, rate, klass[0]]],
    } | more


def document(job, step, *ranks, **more):
    return {
        "schema": 1,
        "kind": "contention",
        "host": "n1",
        "job": job,
        "step": step,
        "uid": 1000,
        "started": NOW - 60,
        "time": NOW,
        "ended": False,
        "interval_s": 1.0,
        "source": {"provider": "perf", "row": "amdzen4", "quality": "A", "simulated": True},
        "bounds": {"turtle": 30, "devil": 45},
        "containers": [
            SUM
            | {"name": "sim", "class": "devil", "devils": 1, "turtles": 1, "memory_bytes": 3 << 19}
        ],
        "ranks": list(ranks),
        "placings": [
            {
                "container": "sim",
                "policy": "dino",
                "why": "nothing to do: one domain\x1b[2J",
                "pages": "task_0: 16 MiB followed, 3 % lie elsewhere (enough)",
                "units": "task_0: 2 processes move as one",
                "moves": 2,
                "drains": 12,
            }
        ],
        "domains": [
            {
                "domain": 0,
                "cpus": "0-3",
                "mems": "0",
                "devils": 1,
                "turtles": 1,
                "misses_per_second": 12000000,
                "peak_misses_per_second": 25000000,
                "calibrated": True,
            },
            {"domain": 1, "cpus": "4-7", "mems": "1", "misses_per_second": None},
        ],
    } | more


EXAMPLE = document(
    41,
    "0",
    rank(
        0,
        "scan",
        "devil",
        100.0,
        0,
        pages_moved_bytes=4 << 20,
        pages_of_bytes=16 << 20,
        pages_chosen="sampled",
    ),
    rank(1, "loop", "turtle", 1.0, 0, cpu_percent=None, idle=True),
    rank(
        None,
        HOSTILE,
        "unknown",
        None,
        None,
        class_since=None,
        history=[[NOW - 60, None, "u"]],
        why="2 of the 5 samples\x1b",
    ),
)


def put(folder, d, name=None):
    path = os.path.join(folder, name or f"{d['job']}.{d['step']}.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(d, f)
    return path


def run(*words, **kw):
    r = subprocess.run([TOOL, "contention", *words], capture_output=True, timeout=60, **kw)
    return r.returncode, r.stdout.decode("utf-8", "strict"), r.stderr.decode("utf-8", "strict")


def line_with(text, word):
    return next((line for line in text.splitlines() if word in line), "")


def test_table(folder):
    status, out, err = run("--from", folder)
    ok(status == 0 and not err, "the documents of a directory are shown", err)
    # a factor of 10 is six characters, from 0.1 on: 100 ends at 18, 1 at 6; bounds are at 14 and 15
    scan, loop = line_with(out, " scan "), line_with(out, " loop ")
    ok(
        " ##############||## " in scan and " devil for 3 min" in scan,
        "a rank's bar is logarithmic, and has marks at the bounds",
        scan,
    )
    ok(
        scan.endswith("devil for 3 min, 4.0 MiB of 16.0 MiB followed (sampled)")
        and "followed" not in loop,
        "the line of a rank has the bytes that followed the rank, all its bytes, and the method",
        scan,
    )
    ok(" 100.0 " in scan and " 99.8 " in scan, "the table has a rank's rate and CPU", scan)
    ok(
        " ------        || " in loop and " ? " in loop and "turtle for 3 min, idle" in loop,
        'the line of an idle turtle has "idle", and ? for its unknown CPU time',
        loop,
    )
    hostile = line_with(out, "(5300)")
    ok(
        "\x1b" not in out and "\x9b" not in out and '?[2J</text><&"?' in hostile,
        "control characters of a hostile name are replaced",
        repr(hostile),
    )
    ok(
        hostile.endswith("unknown: 2 of the 5 samples?"),
        "a rank without a class is unknown, with the reason",
        hostile,
    )
    ok("of a SIMULATED cache" in out, "the head of a step says that the cache is simulated")
    ok(
        "placed by dino: container sim: 2 moves; nothing to do: one domain?[2J" in out
        and "pages: task_0: 16 MiB followed, 3 % lie elsewhere (enough)"
        " (CPUs of other jobs drained their LRU lists 12 times"
        in out
        and "\n  task_0: 2 processes move as one\n" in out,
        "the lines of a placed container have policy, moves, reason, units and pages",
        out,
    )
    ok(
        "memory 1.5 MiB, sent ?," in line_with(out, "container sim:"),
        "the line of a container has its numbers, and ? for unknown ones",
        line_with(out, "container sim:"),
    )
    ok(
        "48 % [##########          ] 1 devil, 1 turtle" in out,
        "a domain's load is shown against its peak",
    )
    ok(
        "seen for 60 s" in out and "written" not in out.splitlines()[1],
        "the head of a step has the step's age",
    )


def test_select(folder):
    put(folder, document(41, "batch", rank(0, "bash", "turtle", 0.5, 1)))
    put(folder, document(7, "10", rank(0, "ten", "turtle", 0.5, 1)))
    put(folder, document(7, "9", rank(0, "nine", "turtle", 0.5, 1)))
    status, out, _ = run("--from", folder)
    order = [line.split()[1:4:2] for line in out.splitlines() if line.startswith("job ")]
    ok(
        order == [["7", "9"], ["7", "10"], ["41", "0"], ["41", "batch"]],
        "steps are listed in the order of their numbers",
        order,
    )
    got = json.loads(run("--from", folder, "-j", "41.batch", "--json")[1])
    ok([d["step"] for d in got] == ["batch"], "--job=41.batch selects one step", got)
    got = json.loads(run("--from", folder, "--job=41", "--json")[1])
    ok(got[0] == EXAMPLE, "--json prints the documents unchanged")
    saved = put(folder, got, "saved")
    ok(run("--from", saved)[1].count("job 41 ") == 2, "--from shows a file that --json wrote")
    for wrong in ("x", "41.", "41.x", "-1", "41.0.0", "99999999999"):
        status, _, err = run(f"--job={wrong}")
        ok(status == 2 and "JOB.STEP" in err, f"--job={wrong} is refused", err)
    for words in (
        ("5",),
        ("--watch", "0"),
        ("--watch", "x"),
        ("--json", "--watch"),
        ("--force",),
        ("--calibrate", "--watch"),
        ("--calibrate", "-j", "41"),
        ("--calibrate", "--from", folder),
    ):
        status, _, err = run(*words)
        ok(status == 2, f"{' '.join(words)} is wrong usage", err)


def test_errors(folder):
    status, _, err = run("--from", folder, "-j", "99")
    ok(status == 1 and "no such document" in err, "a job without a document is an error", err)
    status, _, err = run("--from", os.path.join(folder, "none"))
    ok(status == 1 and "No such file" in err, "a missing directory is an error", err)
    for text in ("", "{", "[1]", '{"kind": "plan"}', '{"kind": 1, "ranks": 7}'):
        path = os.path.join(folder, "wrong")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        status, _, err = run("--from", path)
        ok(
            status == 1 and err.count("\n") == 1,
            f"a file with {text or 'nothing'} is refused as a document",
            err,
        )
    # the kind is right, and all other members have wrong types
    odd = {"kind": "contention", "ranks": [3, {"history": [[1], 2], "rank": "x"}], "domains": {}}
    path = put(folder, odd, "odd")
    ok(
        run("--from", path)[0] == 0 and run("--from", path, "--svg=-")[0] == 0,
        "members of wrong types count as unknown",
    )
    if os.path.isdir("/run/nodeos-contend/steps"):
        skip("a node without the daemon", "the daemon runs here")
    else:
        status, _, err = run()
        ok(
            status == 1 and "nodeos-contend does not run" in err and "systemctl" in err,
            "without the daemon, the message names the unit to start",
            err,
        )
    if os.geteuid() != 0:
        skip("a document of another user", "for root only")
        return
    os.chmod(folder, 0o755)
    path = put(folder, document(50, "0"))
    os.chmod(path, 0o600)
    drop = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        status, _, err = run("--from", folder, "-j", "50", **drop)
    except PermissionError:
        skip("a document of another user", "the build tree is root's alone")
        return
    ok(
        status == 1 and "no such" not in err and "another user" in err,
        "another user's job is refused",
        err,
    )
    os.remove(path)


def test_calibrate_rights(folder):
    drop = {}
    if os.geteuid() == 0:
        os.chmod(folder, 0o755)
        drop = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        status, out, err = run("--calibrate", **drop)
    except PermissionError:
        skip("a calibration by a user", "the build tree is root's alone")
        return
    ok(
        status == 1 and not out and err.endswith("only root calibrates a node\n"),
        "a calibration by a user is refused",
        err,
    )


def test_watch(folder):
    path = put(folder, EXAMPLE | {"ended": True}, "ended")
    status, out, _ = run("--from", path, "--watch")
    ok(
        status == 0 and out.count("job 41 ") == 1 and ": ended" in out,
        "--watch ends at once if the step has ended",
    )
    put(folder, EXAMPLE, "live")
    p = subprocess.Popen(
        [TOOL, "contention", "--from", os.path.join(folder, "live"), "--watch", "1"],
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(1.5)
    put(folder, EXAMPLE | {"ended": True}, "next")
    os.rename(os.path.join(folder, "next"), os.path.join(folder, "live"))
    out, _ = p.communicate(timeout=30)
    ok(
        p.returncode == 0 and out.count("job 41 ") >= 2 and out.count(": ended") == 1,
        "--watch prints a step repeatedly until it has ended",
    )


def test_picture(folder):
    path = os.path.join(folder, "a.svg")
    status, _, err = run("--from", folder, "-j", "41.0", "--svg", path)
    ok(status == 0, "--svg writes a picture", err)
    root = tree.parse(path).getroot()
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    ok(root.tag == f"{SVG}svg", "the picture is well-formed XML with the root svg")
    for word in (
        "Domain 0",
        "41.0 rank 0",
        "41.0 rank 1",
        "41.0 process 5300",
        "CPUs of several domains",
        "devil: above 45",
        "turtle: to 30",
    ):
        ok(word in texts, f"the picture has the text {word}", texts)
    ok("Domain 1" not in texts, "a domain without ranks of the job has no panel in the picture")
    ok(any("SIMULATED" in t for t in texts), "the picture says that the cache is simulated")
    ok(
        any('?[2J</text><&"?' in t for t in texts),
        "markup in a rank's name is drawn as text",
        texts,
    )
    strips = {
        c: [
            r
            for r in root.iter(f"{SVG}rect")
            if r.get("class") == c and float(r.get("height")) > 20
        ]
        for c in ("turtle", "devil", "unknown")
    }
    # the first rank is a turtle for half of the time, then a devil
    widths = [float(r.get("width")) for r in strips["devil"]]
    left = [float(r.get("width")) for r in strips["turtle"]]
    ok(
        len(widths) == 1
        and len(left) == 2
        and abs(widths[0] - left[0]) < 2
        and abs(left[1] - 2 * left[0]) < 2,
        "one strip is half devil and half turtle, the other is all turtle",
        widths,
        left,
    )
    ok(len(strips["unknown"]) == 1, "the strip of a rank without counters has the unknown class")


def test_moves(folder):
    """A devil and a turtle exchange their domains after 30 s; after 45 s the devil becomes a
    turtle."""
    scan = [[NOW - 60, 300.0, "d", 0], [NOW - 30, 300.0, "d", 1], [NOW - 15, 2.0, "t", 1]]
    loop = [[NOW - 60, 0.2, "t", 1], [NOW - 30, 0.2, "t", 0]]
    saved = put(
        folder,
        document(
            43,
            "0",
            rank(0, "scan", "turtle", 2.0, 1, history=scan, moves=1, pages_moved_bytes=48 << 20),
            rank(1, "loop", "turtle", 0.2, 0, history=loop, moves=1, pages_moved_bytes=0),
        ),
        "moves",
    )
    status, svg, err = run("--from", saved, "--svg=-")
    root = tree.fromstring(svg) if status == 0 else tree.Element("none")
    ok(status == 0, "--svg draws ranks that were moved", err)
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    ok(
        texts.count("43.0 rank 0") == 2 and texts.count("43.0 rank 1") == 2,
        "a rank that was moved has a strip in each domain where it was",
        texts,
    )
    ok(
        "now in domain 1" in texts and "now in domain 0" in texts,
        "the strip of a domain that the rank has left names the rank's present domain",
        texts,
    )
    ok(
        any("moves of ranks: 2, memory that followed: 48 MiB" in t for t in texts),
        "the picture has the number of moves and the amount of memory that followed",
        texts,
    )
    high = [r for r in root.iter(f"{SVG}rect") if float(r.get("height", 0)) > 20]
    strips = [
        (r.get("class"), float(r.get("x")), float(r.get("width")), float(r.get("y")))
        for r in high
        if r.get("class") in ("turtle", "devil")
    ]
    whole = max((float(r.get("width")) for r in high if r.get("class") == "empty"), default=0)
    left = min((s[1] for s in strips), default=0)
    got = sorted((c, round(4 * (x - left) / whole), round(4 * w / whole)) for c, x, w, _ in strips)
    # (class, start, length) in quarters of the time
    want = [("devil", 0, 2), ("devil", 2, 1), ("turtle", 0, 2), ("turtle", 2, 2), ("turtle", 3, 1)]
    ok(got == want, "each strip shows only the times when the rank was in the strip's domain", got)
    tops = {c: [y for k, x, _, y in strips if k == c] for c in ("turtle", "devil")}
    ok(len(set(tops["devil"])) == 2, "the devil's strips are in two panels", tops)
    arrows = [p for p in root.iter(f"{SVG}path") if p.get("class") == "move"]
    places = sorted(
        round(4 * (float(p.get("d")[1:].split()[0]) - left) / whole) for p in arrows[:2]
    )
    ok(
        (len(arrows), places) == (3, [2, 2]),
        "the picture has an arrow in the middle for each of two moves, and one in the legend",
        places,
    )
    picture = run("--from", folder, "-j", "41.0", "--svg=-")[1]
    ok(
        'class="move"' not in picture,
        "a picture without moves has no arrow, not even in the legend",
    )


def main():
    if not os.access(TOOL, os.X_OK):
        skip("nodeosctl contention", "nodeosctl is not built")
        return done()
    with tempfile.TemporaryDirectory() as folder:
        put(folder, EXAMPLE)
        test_table(folder)
        test_picture(folder)
        test_moves(folder)
        test_select(folder)
        test_watch(folder)
        test_errors(folder)
        test_calibrate_rights(folder)
    return done()


sys.exit(main())
