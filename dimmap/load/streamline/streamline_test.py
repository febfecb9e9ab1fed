#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of nodeos-streamline as a program: equal results of all layouts, the check,
traces beside another calculation and beside what the kernel shows, JSON, wrong calls. TAP."""

import json
import math
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from iotest import PAGE, Program, Split, done, ok, read_trace, same, touches, workdir  # noqa: E402

streamline = Program("nodeos-streamline")


def files(work):
    found = {}
    for layout in ("row", "brick:4", "brick:16", "brick:64"):
        f = found[layout] = f"{work}/field.{layout.replace(':', '')}"
        r = streamline("generate", "--grid=64", "--layout", layout, f)
        same(
            (r.returncode, os.path.getsize(f)),
            (0, 4096 + 12 * 64**3),
            f"{layout}: a file of 12 bytes a point",
        )
    return found


def equal_everywhere(found):
    results = set()
    for f in found.values():
        for more in ([], ["--threads=3"], ["--madvise=random", "--pin=cores", "--threads=2"]):
            r = streamline("trace", "--seeds=50", "--steps=200", "--json", *more, f)
            got = json.loads(r.stdout)
            results.add((got["checksum"], got["steps"], r.returncode))
    same(
        (len(results), {r[1:] for r in results}),
        (1, {(10000, 0)}),
        "one checksum for four layouts, three numbers of threads, and both kinds of mapping",
    )
    r = streamline("trace", "--seeds=50", "--steps=200", "--seed=2", "--json", found["row"])
    ok(
        json.loads(r.stdout)["checksum"] not in {c for c, _, _ in results},
        "another seed has another one",
    )


def check(found, work):
    r = streamline("trace", "--seeds=50", "--steps=200", "--check", "--json", found["brick:16"])
    got = json.loads(r.stdout)["check"]
    # the bound, as the manual page has it
    a, b, c, n = math.sqrt(3), math.sqrt(2), 1, 64
    speed = math.sqrt((a + c) ** 2 + (b + a) ** 2 + (c + b) ** 2)
    e = speed * ((2 * math.pi / n) ** 2 / 8 + 2**-24)
    lipschitz = math.sqrt(a * a + b * b + c * c)
    step = 0.5 * 2 * math.pi / n / speed
    bound = e / lipschitz * math.expm1(lipschitz * got["steps"] * step)
    after = e / lipschitz * math.expm1(lipschitz * (got["steps"] + 1) * step)
    ok(
        r.returncode == 0 and got["passed"] and 0 < got["furthest"] <= got["allowed"],
        "--check",
        got,
    )
    ok(
        abs(got["allowed"] - bound) < 1e-8 and bound <= math.pi / n < after,
        "within the bound that theory gives, as long as it is below half a cell",
        got,
        bound,
        after,
    )
    damaged = f"{work}/damaged"
    with open(found["brick:16"], "rb") as f:
        data = f.read()
    with open(damaged, "wb") as f:
        f.write(
            data[:PAGE]
            + bytes(len(data) // 2 // PAGE * PAGE)
            + data[PAGE + len(data) // 2 // PAGE * PAGE :]
        )
    r = streamline("trace", "--seeds=50", "--steps=200", "--check", damaged)
    ok(
        r.returncode == 1 and "FAILED" in r.stdout,
        "half of the field is zero: the check fails",
        r.returncode,
        *r.stdout.splitlines(),
    )
    os.unlink(damaged)


# ----------------------------------------------------- the same lines, another time


class Field:
    """Nothing of the file but the places of its points."""

    def __init__(self, n, brick):
        self.n, self.brick = n, brick or n
        self.pages = []

    def touch(self, x, y, z):
        n, b = self.n, self.brick
        x, y, z = x % n, y % n, z % n
        brick = (z // b * (n // b) + y // b) * (n // b) + x // b
        within = (z % b * b + y % b) * b + x % b
        at = 4096 + 12 * (brick * b**3 + within)
        for page in range(at // PAGE, (at + 11) // PAGE + 1):
            if self.pages[-1:] != [page]:
                self.pages.append(page)

    def point(self, x, y, z):
        self.touch(x, y, z)
        a, b, c = math.sqrt(3), math.sqrt(2), 1
        x, y, z = (2 * math.pi * (i % self.n) / self.n for i in (x, y, z))
        values = (
            a * math.sin(z) + c * math.cos(y),
            b * math.sin(x) + a * math.cos(z),
            c * math.sin(y) + b * math.cos(x),
        )
        return struct.unpack("3f", struct.pack("3f", *values))

    def velocity(self, p):
        at = [c * self.n / (2 * math.pi) for c in p]
        cell = [math.floor(c) for c in at]
        share = [c - i for c, i in zip(at, cell)]
        v = [0, 0, 0]
        for z in (0, 1):
            for y in (0, 1):
                for x in (0, 1):
                    weight = math.prod(s if up else 1 - s for s, up in zip(share, (x, y, z)))
                    v = [
                        old + weight * new
                        for old, new in zip(v, self.point(cell[0] + x, cell[1] + y, cell[2] + z))
                    ]
        return v

    def step(self, p, h):
        def ahead(v, share):
            return [a + h * share * b for a, b in zip(p, v)]

        k1 = self.velocity(p)
        k2 = self.velocity(ahead(k1, 0.5))
        k3 = self.velocity(ahead(k2, 0.5))
        k4 = self.velocity(ahead(k3, 1))
        return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(p, k1, k2, k3, k4)]


def traces(found, work):
    t = f"{work}/trace"
    a, b, c = math.sqrt(3), math.sqrt(2), 1
    h = 2 * 2 * math.pi / 64 / math.sqrt((a + c) ** 2 + (b + a) ** 2 + (c + b) ** 2)
    for layout, brick in (("row", 0), ("brick:4", 4), ("brick:16", 16)):
        for threads in (1, 2):
            streamline(
                "trace",
                "--seeds=6",
                "--steps=25",
                "--step=2",
                "--seed=3",
                "--threads",
                threads,
                "--trace",
                t,
                found[layout],
            )
            head, records = read_trace(t)
            same(
                head,
                {"pages": 769, "threads": threads, "merged": 1},
                f"{layout}: a trace of {threads} threads",
            )
            for thread in range(threads):
                field = Field(64, brick)
                for i in range(6 * thread // threads, 6 * (thread + 1) // threads):
                    split = Split(3 + (i << 32))
                    p = [2 * math.pi * ((split.next() >> 11) / 2**53) for _ in range(3)]
                    for _ in range(25):
                        p = field.step(p, h)
                same(
                    [r for r in records if r[1] == thread],
                    [(page, thread, 0) for page in field.pages],
                    f"the {len(field.pages)} pages that its lines cross",
                )


def beside_kernel(found, work):
    t = f"{work}/trace"
    for layout in ("row", "brick:16"):
        f = found[layout]
        touches(
            f,
            t,
            lambda f=f: streamline(
                "trace", "--madvise=random", "--seeds=3", "--steps=50", "--trace", t, f
            ),
            f"{layout}: the pages in the trace are those that the kernel has read",
            more=[0],
        )


def output(found):
    r = streamline("trace", "--seeds=10", "--steps=10", found["row"])
    lines = r.stdout.splitlines()
    ok(
        r.returncode == 0
        and len(lines) == 2
        and lines[0].split()[:2] == ["lines", "steps"]
        and lines[1].split()[:2] == ["10", "100"],
        "a table",
        *lines,
    )
    got = json.loads(
        streamline("trace", "--seeds=10", "--steps=10", "--check", "--json", found["row"]).stdout
    )
    same(
        list(got),
        [
            "schema",
            "file",
            "grid",
            "layout",
            "bytes",
            "seeds",
            "steps",
            "threads",
            "seconds",
            "steps_per_second",
            "majflt",
            "minflt",
            "voluntary",
            "involuntary",
            "checksum",
            "check",
        ],
        "the members of JSON",
    )
    ok(abs(got["steps_per_second"] * got["seconds"] - 100) < 0.01, "a rate is a number by a time")
    same(
        (got["grid"], got["layout"], got["bytes"]),
        (64, "row", 4096 + 12 * 64**3),
        "what the file is",
    )


def refusals(found, work):
    f = found["row"]
    for args, words in (
        ([], "expected generate or trace"),
        (["draw"], "expected generate or trace"),
        (["trace"], "no FILE"),
        (["generate"], "no FILE"),
        (["trace", f, f], "unexpected"),
        (["trace", "--grid=8", f], '"--grid=8": no such option'),
        (["generate", "--seeds=8", f], '"--seeds=8": no such option'),
        (["trace", f, "--steps"], '"--steps" needs a value'),
        (["generate", "--grid=3", f], '--grid="3": expected a number from 4 to 16384'),
        (["generate", "--layout=column", f], '--layout="column": expected row, or brick:B'),
        (["generate", "--layout=brick:1", f], '--layout="brick:1": expected row, or brick:B'),
        (["generate", "--layout=brick:7", f], "--layout=brick:7: does not divide --grid=64"),
        (["generate", "--flow=1,2", f], '--flow="1,2": expected three numbers'),
        (["generate", "--flow=1,2,3,4", f], '--flow="1,2,3,4": expected three numbers'),
        (["generate", "--flow=1,x,3", f], '--flow="1,x,3": expected three numbers'),
        (["generate", "--flow=" + "1" * 200, f], "expected three numbers"),
        (["trace", "--seeds=0", f], '--seeds="0": expected a number from 1 to 4294967295'),
        (["trace", "--steps=-1", f], '--steps="-1": expected a number from 1'),
        (["trace", "--step=0", f], '--step="0": expected cells, from 0.001 to 100'),
        (["trace", "--threads=300", f], '--threads="300": expected a number from 1 to 256'),
        (["trace", "--madvise=often", f], '--madvise="often": expected random or normal'),
        (["trace", "--pin=x", f], '--pin="x": expected cores or none'),
    ):
        streamline.refuses(args, words)
    with open(f, "rb") as file:
        head = file.read(PAGE)
    bad = f"{work}/bad"

    def put(data):
        with open(bad, "wb") as file:
            file.write(data)

    for data, words in (
        (b"", "no vector field"),
        (b"NODEOSGR" + head[8:], "no vector field"),
        (head[:8] + b"\2\0\0\0" + head[12:], "another version"),
        (head[:8] + b"\0\0\0\1" + head[12:], "another byte order"),
        (head[:12] + b"\xff\xff\xff\xff" + head[16:], "its head is damaged"),
        (head[:16] + b"\7\0\0\0" + head[20:], "its head is damaged"),
        (head[:24] + struct.pack("d", math.nan) + head[32:], "its head is damaged"),
        (head + bytes(1000), "has 5096 bytes, 3149824 belong to it"),
    ):
        put(data)
        streamline.refuses(["trace", bad], words, 1)
    streamline.refuses(["trace", "/nonexistent/x"], "/nonexistent/x: No such file or directory", 1)
    streamline.refuses(
        ["generate", "/nonexistent/x"], "/nonexistent/x: No such file or directory", 1
    )
    streamline.refuses(
        ["trace", "--trace=/nonexistent/t", f], "/nonexistent/t: No such file or directory", 1
    )
    if os.path.exists("/dev/full"):
        streamline.refuses(["generate", "/dev/full"], "/dev/full: No space left on device", 1)
        streamline.refuses(
            ["trace", "--trace=/dev/full", "--seeds=1", f], "/dev/full: No space left on device", 1
        )


def main():
    with workdir() as work:
        found = files(work)
        equal_everywhere(found)
        check(found, work)
        traces(found, work)
        beside_kernel(found, work)
        output(found)
        refusals(found, work)
    streamline.documented("dimmap/load/streamline/streamline.c", ["generate_longs", "trace_longs"])
    done()


main()
