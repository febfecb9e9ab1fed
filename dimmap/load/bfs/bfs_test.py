#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of nodeos-bfs as a program: results and traces beside another search of the same file,
the check, JSON, wrong calls. TAP."""

import json
import os
import struct
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from iotest import (
    MASK,
    PAGE,
    Program,
    done,
    mix,
    ok,
    read_trace,
    same,
    touches,
    workdir,
)  # noqa: E402

bfs = Program("nodeos-bfs")


class Graph:
    """As graph.h describes the file."""

    def __init__(self, path):
        data = open(path, "rb").read()
        self.magic, self.version, self.scale, self.factor, _, self.seed, arcs = struct.unpack_from(
            "=8sIIIIQQ", data
        )
        self.n = 1 << self.scale
        self.first = struct.unpack_from(f"={self.n + 1}Q", data, 4096)
        self.targets = (4096 + (self.n + 1) * 8 + 4095) // 4096 * 4096
        self.target = struct.unpack_from(f"={arcs}I", data, self.targets)
        self.size = len(data)

    def search(self, root):
        """levels, and the pages touched"""
        level, now, pages = {root: 0}, [root], []

        def touch(at, size):
            for page in range(at // PAGE, (at + size - 1) // PAGE + 1):
                if pages[-1:] != [page]:
                    pages.append(page)

        while now:
            found = []
            for v in now:
                a, b = self.first[v], self.first[v + 1]
                touch(4096 + 8 * v, 16)
                if a < b:
                    touch(self.targets + 4 * a, 4 * (b - a))
                for w in self.target[a:b]:
                    if w not in level:
                        level[w] = level[v] + 1
                        found.append(w)
            now = found
        return level, pages


def a_file(f):
    r = bfs("generate", "--scale=12", "--edge-factor=8", "--seed=4", f)
    same(r.returncode, 0, "generate")
    g = Graph(f)
    same(
        (g.magic, g.version, g.scale, g.factor, g.seed, g.size),
        (b"NODEOSGR", 1, 12, 8, 4, g.targets + 4 * len(g.target)),
        "its head",
    )
    ok(
        g.first[0] == 0
        and list(g.first) == sorted(g.first)
        and g.first[-1] == len(g.target)
        and len(g.target) <= 2 * 8 * 4096,
        "vertices have the arcs one behind the other",
    )
    arcs = Counter((v, w) for v in range(g.n) for w in g.target[g.first[v] : g.first[v + 1]])
    ok(
        all(n == arcs[w, v] for (v, w), n in arcs.items()) and all(v != w for v, w in arcs),
        "each arc has one back, and none is to itself",
    )
    again = f + ".again"
    bfs("generate", "--scale=12", "--edge-factor=8", "--seed=4", again)
    with open(f, "rb") as a, open(again, "rb") as b:
        ok(a.read() == b.read(), "the same seed makes the same file")
    os.unlink(again)
    return g


def results(f, g, t):
    hub = max(range(g.n), key=lambda v: g.first[v + 1] - g.first[v])
    same(
        json.loads(bfs("run", "--json", f).stdout)["root"],
        hub,
        "it begins at the vertex with most arcs",
    )
    for root in (hub, 0, 17):
        level, pages = g.search(root)
        want = {
            "root": root,
            "reached": len(level),
            "depth": max(level.values()),
            "arcs_followed": sum(g.first[v + 1] - g.first[v] for v in level),
            "checksum": f"{sum(mix(v << 32 | n) for v, n in level.items()) & MASK:016x}",
            "check_passed": True,
        }
        for threads in (1, 4):
            r = bfs(
                "run", "--root", root, "--threads", threads, "--check", "--json", "--trace", t, f
            )
            got = json.loads(r.stdout)
            same(
                (r.returncode, {k: got[k] for k in want}),
                (0, want),
                f"from {root} with {threads} threads",
            )
            head, records = read_trace(t)
            same(
                head,
                {"pages": (g.size + PAGE - 1) // PAGE, "threads": threads, "merged": 1},
                "a trace",
            )
            if threads == 1:
                same(
                    records,
                    [(page, 0, 0) for page in pages],
                    f"of the {len(pages)} pages that it goes through",
                )
            else:
                same({page for page, _, _ in records}, set(pages), "of the same pages")


def check(f, g):
    """An arc that is not where the edges say: first of the root's, to itself."""
    with open(f, "rb") as file:
        data = bytearray(file.read())
    root = json.loads(bfs("run", "--json", f).stdout)["root"]
    # all that lead to a vertex of the first level with one arc back lead to the root itself
    lonely = next(
        v for v in range(g.n) if g.first[v + 1] - g.first[v] == 1 and g.target[g.first[v]] == root
    )
    for i, w in enumerate(g.target):
        if w == lonely:
            struct.pack_into("=I", data, g.targets + 4 * i, root)
    bad = f + ".bad"
    with open(bad, "wb") as file:
        file.write(data)
    r = bfs("run", "--check", bad)
    ok(
        r.returncode == 1
        and f"vertex {lonely}: level -1 was found, 1 is right" in r.stderr
        and "FAILED" in r.stdout,
        "--check finds a vertex that the file has lost",
        r.stdout,
        r.stderr,
    )
    os.unlink(bad)


def beside_kernel(f, t):
    bfs("generate", "--scale=15", "--edge-factor=4", f)
    # few levels of a small part: the search from a vertex without arcs, and a whole one
    g = Graph(f)
    alone = next(v for v in range(g.n) if g.first[v + 1] == g.first[v])
    touches(
        f,
        t,
        lambda: bfs("run", "--madvise=random", "--root", alone, "--trace", t, f),
        "a vertex that stands alone: one page",
        more=[0],
    )
    touches(
        f,
        t,
        lambda: bfs("run", "--madvise=random", "--trace", t, f),
        "the pages in the trace are those that the kernel has read",
        more=[0],
    )


def output(f):
    r = bfs("run", f)
    lines = r.stdout.splitlines()
    ok(
        r.returncode == 0
        and len(lines) == 2
        and lines[0].split()[:3] == ["root", "reached", "depth"],
        "a table",
        *lines,
    )
    got = json.loads(bfs("run", "--json", f).stdout)
    same(
        list(got),
        [
            "schema",
            "file",
            "scale",
            "edge_factor",
            "bytes",
            "vertices",
            "arcs",
            "threads",
            "root",
            "reached",
            "depth",
            "arcs_followed",
            "seconds",
            "arcs_per_second",
            "majflt",
            "minflt",
            "voluntary",
            "involuntary",
            "checksum",
        ],
        "the members of JSON",
    )
    got = json.loads(bfs("generate", "--scale=4", "--json", f).stdout)
    same(
        (got["scale"], got["edge_factor"], got["bytes"]),
        (4, 16, os.path.getsize(f)),
        "generate has JSON, too",
    )


def refusals(f):
    for args, words in (
        ([], "expected generate or run"),
        (["search"], "expected generate or run"),
        (["run"], "no FILE"),
        (["run", f, f], "unexpected"),
        (["run", "--scale=8", f], '"--scale=8": no such option'),
        (["generate", "--check", f], '"--check": no such option'),
        (["generate", f, "--scale"], '"--scale" needs a value'),
        (["generate", "--scale=1", f], '--scale="1": expected a number from 2 to 31'),
        (["generate", "--scale=32", f], '--scale="32": expected a number from 2 to 31'),
        (["generate", "--edge-factor=0", f], '--edge-factor="0": expected a number from 1 to 1024'),
        (["generate", "--seed=one", f], '--seed="one": expected a number from 0'),
        (["run", "--root=-1", f], '--root="-1": expected a number from 0 to 4294967295'),
        (["run", "--threads=0", f], '--threads="0": expected a number from 1 to 256'),
        (["run", "--madvise=yes", f], '--madvise="yes": expected random or normal'),
        (["run", "--pin=yes", f], '--pin="yes": expected cores or none'),
    ):
        bfs.refuses(args, words)
    bfs("generate", "--scale=4", f)
    for args, words in (
        (["run", "/nonexistent/x"], "/nonexistent/x: No such file or directory"),
        (["run", "--root=16", f], "--root=16: the graph has the vertices 0 to 15"),
        (["run", "--trace=/nonexistent/t", f], "/nonexistent/t: No such file or directory"),
        (["run", bfs.path], "no graph: nodeos-bfs generate makes one"),
        (["generate", "/nonexistent/x"], "/nonexistent/x: No such file or directory"),
    ):
        bfs.refuses(args, words, 1)


def main():
    with workdir() as work:
        f, t = f"{work}/graph", f"{work}/trace"
        g = a_file(f)
        results(f, g, t)
        check(f, g)
        output(f)
        beside_kernel(f, t)
        refusals(f)
    bfs.documented("dimmap/load/bfs/bfs.c", ["generate_longs", "run_longs"])
    done()


main()
