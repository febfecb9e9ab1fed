#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test the program dimmap-load: compare each load's result and page trace with a second calculation
and with the kernel's page cache. Test damaged files, JSON and wrong arguments. TAP."""

import json
import math
import os
import struct
from collections import Counter

from iotest import (
    MASK,
    PAGE,
    Random,
    Split,
    done,
    drop,
    load,
    mix,
    ok,
    read_trace,
    refuses,
    result,
    same,
    skip,
    touches,
    workdir,
)

TIME = ["majflt", "minflt", "voluntary", "involuntary"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def put(path, offset, data):
    with open(path, "rb+") as f:
        f.seek(offset)
        f.write(data)


# -------------------------------------------------------------------------------- lriot


def stamp(data, offset):
    """Return (epoch, writer, the 16 constant bits) of the 8 bytes at an offset."""
    plain = struct.unpack_from("<Q", data, offset)[0] ^ mix(offset // 8 + 0x6C72696F74)
    return plain & 0xFFFFFFFF, plain >> 32 & 0xFFFF, plain >> 48


def epochs(path):
    """Return the epoch in the first word of each page, or None for a word that is not a stamp."""
    data = read(path)
    found = [stamp(data, at) for at in range(0, len(data), PAGE)]
    return [epoch if always == 0xD1AA else None for epoch, _, always in found]


def lriot_contents(f):
    r = result("lriot generate --size=1M", f)
    same((r["bytes"], os.path.getsize(f)), (1 << 20, 1 << 20), "lriot: a file of 1 MiB")
    data = read(f)
    same(
        {stamp(data, i) for i in range(0, len(data), 8)},
        {(0, 0, 0xD1AA)},
        "lriot: each word of a generated file is a stamp of epoch 0",
    )


def lriot_damages(f):
    """Test the check: damage a page in each way in which writes may be lost."""
    at = 17 * PAGE
    for name, offset, new in (
        ("a bit", 2040, lambda old: bytes([old[at + 2040] ^ 1])),
        ("a hole", 0, lambda old: bytes(PAGE)),
        ("a half", 0, lambda old: bytes(PAGE // 2)),
        ("another page", 0, lambda old: old[5 * PAGE : 6 * PAGE]),
    ):
        result("lriot generate --size=256K", f)
        # two threads write first, so that epoch 0 is too old for a page
        r = result("lriot run --check --ops=300 --threads=2 --read-percent=0", f)
        same(
            (r["writes"], r["check"]["wrong"]),
            (600, 0),
            f"lriot: the check passes before the damage: {name}",
        )
        put(f, at + offset, new(read(f)))
        r = load("lriot run --check --ops=10", f)
        found = json.loads(r.stdout)
        same(
            (r.returncode, found["ran"], found["check"]["wrong"]),
            (1, False, 1),
            f"lriot: the check before the run finds {name}",
        )
        first = found["check"]["first"][0]
        ok(
            first.startswith(f"page 17, byte {at + offset // 8 * 8}: expected epoch "),
            f"lriot: the error names the place of {name}",
            first,
        )


def lriot_old_page(f):
    """Test the check: restore 512 old bytes of a page. Each word is a valid stamp, but the epoch of
    these is below that of the others."""
    result("lriot generate --size=64K", f)
    before = read(f)
    result("lriot run --check --pattern=seq --ops=16 --read-percent=0", f)
    same(epochs(f), [1] * 16, "lriot: each page is written once")
    at = 9 * PAGE + 1024
    put(f, at, before[at : at + 512])
    r = load("lriot run --check --ops=0", f)
    first = json.loads(r.stdout)["check"]["first"]
    ok(
        r.returncode == 1
        and len(first) == 1
        and first[0].startswith(f"page 9, byte {at}: expected epoch 1, found epoch 0 by thread 0"),
        "lriot: 512 old bytes in a page are found",
        first,
    )


def expected_trace(blocks, ops, seed, thread, threads, pattern, read_percent):
    """Return the trace of one thread, by the description in pattern.h and random.h."""
    random = Random(seed, thread)
    step = int(pattern[7:]) if pattern.startswith("stride:") else 1
    at = blocks * thread // threads
    lane = at % step
    trace = []
    for _ in range(ops):
        block = random.below(blocks) if pattern == "uniform" else at
        at += step
        if at >= blocks:
            lane = (lane + 1) % step
            at = lane
        trace.append((block, thread, int(random.below(100) >= read_percent)))
    return trace


def lriot_traces(f, t):
    result("lriot generate --size=4M", f)
    for pattern in ("uniform", "seq", "stride:100"):
        for share in (100, 60, 0):
            words = f"lriot run --ops=3000 --seed=5 --pattern={pattern} --read-percent={share}"
            result(words, "--trace", t, f)
            head, records = read_trace(t)
            same(
                head,
                {"pages": 1024, "threads": 1, "merged": 0},
                f"lriot: --pattern={pattern} writes a trace",
            )
            same(
                records,
                expected_trace(1024, 3000, 5, 0, 1, pattern, share),
                f"lriot: {pattern}, {share} % reads: the trace has the accesses that the seed"
                " determines",
            )
    result("lriot run --ops=3000 --seed=6 --threads=3", "--trace", t, f)
    records = read_trace(t)[1]
    for thread in range(3):
        same(
            [r for r in records if r[1] == thread],
            expected_trace(1024, 3000, 6, thread, 3, "uniform", 100),
            f"lriot: thread {thread} of three makes the accesses that the seed determines",
        )
    traces = []
    for seed in (8, 8, 9):
        result("lriot run --ops=5000 --pattern=zipf:1.1", f"--seed={seed}", "--trace", t, f)
        traces.append(read(t))
    ok(
        traces[0] == traces[1] != traces[2],
        "lriot: zipf: equal seeds give equal traces, and different seeds different traces",
    )


def lriot_zipf(f, t):
    """Compare the counts of the most frequent pages with Zipf's law. Each must be within five
    standard deviations of the expected count of its rank. Pages of neighbouring ranks may change
    places, which only makes the differences smaller."""
    n = 100000
    result("lriot run --pattern=zipf:0.99", f"--ops={n}", "--trace", t, f)
    counts = sorted(Counter(page for page, _, _ in read_trace(t)[1]).values(), reverse=True)
    law = [k**-0.99 for k in range(1, 1025)]
    for rank in (1, 2, 3, 5, 10, 50):
        share = law[rank - 1] / sum(law)
        bound = 5 * math.sqrt(n * share * (1 - share))
        ok(
            abs(counts[rank - 1] - n * share) <= bound,
            f"lriot: zipf:0.99: rank {rank} is drawn {counts[rank - 1]} times, expected"
            f" {n * share:.0f} within"
            f" {bound:.0f} expected",
        )


def lriot_kernel(f, t):
    result("lriot generate --size=1M", f)
    words = "lriot run --check --ops=2000 --read-percent=50 --pattern=zipf:0.8"
    result(words, "--trace", t, f)
    written = Counter(page for page, _, write in read_trace(t)[1] if write)
    same(
        epochs(f),
        [written[page] for page in range(256)],
        "lriot: the epochs in the file equal the numbers of writes in the trace",
    )
    result("lriot generate --size=16M", f)
    touches(
        f,
        t,
        lambda: result("lriot run --ops=800 --madvise=random", "--trace", t, f),
        "lriot: the trace has exactly the pages that the kernel has read",
    )
    what = "lriot: with MADV_RANDOM, one access to each of 4096 pages makes 4096 major faults"
    if drop(f):
        r = result("lriot run --ops=4096 --madvise=random --pattern=seq", f)
        same(r["majflt"], 4096, what)
    else:
        skip(what, "the file system keeps its files in memory")


def lriot_output(work):
    f = f'{work}/a "name" \\ with\ttricks'
    result("lriot generate --size=1M", f)
    r = result("lriot run --check --ops=1000 --threads=4 --read-percent=75 --pin=cores", f)
    members = "schema load file size pattern read_percent seed threads ran reads writes seconds"
    same(
        list(r),
        [*members.split(), "accesses_per_second", *TIME, "latency_ns", "check"],
        "lriot: the JSON has exactly the documented members",
    )
    same(r["file"], f, "lriot: the JSON quotes a file name with quotes and a tab")
    same(r["reads"] + r["writes"], 4000, "lriot: four threads make 1000 accesses each")
    same(r["check"]["reads"], r["reads"], "lriot: each read is checked")
    same(r["latency_ns"]["samples"], 500, "lriot: every eighth access is timed")
    times = [r["latency_ns"][k] for k in ("p50", "p99", "p999", "max")]
    ok(0 < times[0] and times == sorted(times), "lriot: percentiles do not decrease", times)
    ok(
        abs(r["accesses_per_second"] * r["seconds"] - 4000) < 1,
        "lriot: the rate is the number of accesses divided by the time",
    )
    ok(
        0.5 <= result("lriot run --secs=0.5", f)["seconds"] < 5,
        "lriot: --secs=0.5 runs for half a second",
    )


# ---------------------------------------------------------------------------------- bfs


class Graph:
    """A reader of the graph file that follows graph.h, not the program's code."""

    def __init__(self, path):
        data = read(path)
        head = struct.unpack_from("=8sIIIIQQ", data)
        self.magic, self.version, self.scale, self.factor, _, self.seed, arcs = head
        self.n = 1 << self.scale
        self.first = struct.unpack_from(f"={self.n + 1}Q", data, 4096)
        self.targets = (4096 + (self.n + 1) * 8 + 4095) // 4096 * 4096
        self.target = struct.unpack_from(f"={arcs}I", data, self.targets)
        self.size = len(data)

    def search(self, root):
        """Return the levels of all vertices and the pages that the search touches."""
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


def bfs_file(f):
    result("bfs generate --scale=12 --edge-factor=8 --seed=4", f)
    g = Graph(f)
    same(
        (g.magic, g.version, g.scale, g.factor, g.seed, g.size),
        (b"NODEOSGR", 1, 12, 8, 4, g.targets + 4 * len(g.target)),
        "bfs: the file has the header that graph.h describes",
    )
    ok(
        g.first[0] == 0
        and list(g.first) == sorted(g.first)
        and g.first[-1] == len(g.target)
        and len(g.target) <= 2 * 8 * 4096,
        "bfs: the arcs of all vertices follow each other without gaps",
    )
    arcs = Counter((v, w) for v in range(g.n) for w in g.target[g.first[v] : g.first[v + 1]])
    ok(
        all(n == arcs[w, v] for (v, w), n in arcs.items()) and all(v != w for v, w in arcs),
        "bfs: each arc has its reverse arc, and no arc joins a vertex to itself",
    )
    first = read(f)
    result("bfs generate --scale=12 --edge-factor=8 --seed=4", f)
    ok(read(f) == first, "bfs: the same seed makes the same file")
    return g


def bfs_results(f, g, t):
    hub = max(range(g.n), key=lambda v: g.first[v + 1] - g.first[v])
    same(
        result("bfs run", f)["root"], hub, "bfs: the search begins at the vertex with the most arcs"
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
            name = f"bfs: search from {root} with {threads} threads"
            r = result(f"bfs run --root={root} --threads={threads} --check", "--trace", t, f)
            same({k: r[k] for k in want}, want, name)
            head, records = read_trace(t)
            size = (g.size + PAGE - 1) // PAGE
            same(
                head,
                {"pages": size, "threads": threads, "merged": 1},
                f"{name}: a trace is written",
            )
            if threads == 1:
                same(
                    records,
                    [(page, 0, 0) for page in pages],
                    f"{name}: the trace has {len(pages)} pages",
                )
            else:
                same(
                    {page for page, _, _ in records},
                    set(pages),
                    f"{name}: the trace has the pages of the second calculation",
                )


def bfs_check(f, g):
    """Test the check: choose a vertex whose only arc leads to the root, and redirect all arcs to
    this vertex to the root."""
    root = result("bfs run", f)["root"]
    lonely = next(
        v for v in range(g.n) if g.first[v + 1] - g.first[v] == 1 and g.target[g.first[v]] == root
    )
    for i, w in enumerate(g.target):
        if w == lonely:
            put(f, g.targets + 4 * i, struct.pack("=I", root))
    r = load("bfs run --check", f)
    ok(
        r.returncode == 1
        and f"vertex {lonely}: level -1 was found, 1 is right" in r.stderr
        and json.loads(r.stdout)["check_passed"] is False,
        "bfs: --check finds a vertex to which no arc of the file leads any more",
        r.stdout,
        r.stderr,
    )


def bfs_kernel(f, t):
    r = result("bfs generate --scale=15 --edge-factor=4", f)
    same(
        (r["scale"], r["edge_factor"], r["bytes"]),
        (15, 4, os.path.getsize(f)),
        "bfs: generate prints the vertices, arcs and seed",
    )
    g = Graph(f)
    alone = next(v for v in range(g.n) if g.first[v + 1] == g.first[v])
    for more, what in (
        ([f"--root={alone}"], "bfs: a search from a vertex without arcs touches one page"),
        ([], "bfs: the trace has exactly the pages that the kernel has read"),
    ):
        touches(
            f,
            t,
            lambda more=more: result("bfs run --madvise=random", *more, "--trace", t, f),
            what,
            more=[0],
        )
    members = "schema load file scale edge_factor seed bytes vertices arcs threads root reached"
    same(
        list(result("bfs run", f)),
        [*members.split(), "depth", "arcs_followed", "seconds", "arcs_per_second", *TIME]
        + ["checksum"],
        "bfs: the JSON has exactly the documented members",
    )


# --------------------------------------------------------------------------- streamline


def streamline_files(work):
    found = {}
    for layout in ("row", "brick:4", "brick:16", "brick:64"):
        f = found[layout] = f"{work}/field.{layout.replace(':', '')}"
        r = result(f"streamline generate --grid=64 --layout={layout}", f)
        same(
            (os.path.getsize(f), r["bytes"], r["layout"]),
            (4096 + 12 * 64**3, 4096 + 12 * 64**3, layout),
            f"streamline: {layout}: the file has 12 bytes for each point",
        )
    return found


def streamline_results(found):
    sums = set()
    for f in found.values():
        for more in ("", "--threads=3", "--madvise=random --pin=cores --threads=2"):
            r = result(f"streamline run --seeds=50 --steps=200 {more}", f)
            sums.add((r["checksum"], r["steps"]))
    same(
        (len(sums), {s[1] for s in sums}),
        (1, {10000}),
        "streamline: four layouts, three numbers of threads and both mappings give one checksum",
    )
    r = result("streamline run --seeds=50 --steps=200 --seed=2", found["row"])
    ok((r["checksum"], 10000) not in sums, "streamline: another seed gives another checksum")


def streamline_check(f):
    r = result("streamline run --seeds=50 --steps=200 --check", f)
    members = "schema load file grid layout bytes seeds steps threads seconds steps_per_second"
    same(
        list(r),
        [*members.split(), *TIME, "checksum", "check"],
        "streamline: the JSON has exactly the documented members",
    )
    ok(
        abs(r["steps_per_second"] * r["seconds"] - 10000) < 0.01,
        "streamline: the rate is the number of steps divided by the time",
    )
    got = r["check"]
    # calculate the bound that flow.h and field.h describe
    a, b, c, n = math.sqrt(3), math.sqrt(2), 1, 64
    speed = math.sqrt((a + c) ** 2 + (b + a) ** 2 + (c + b) ** 2)
    e = speed * ((2 * math.pi / n) ** 2 / 8 + 2**-24)
    lipschitz = math.sqrt(a * a + b * b + c * c)
    step = 0.5 * 2 * math.pi / n / speed
    bound = e / lipschitz * math.expm1(lipschitz * got["steps"] * step)
    after = e / lipschitz * math.expm1(lipschitz * (got["steps"] + 1) * step)
    ok(got["passed"] and 0 < got["furthest"] <= got["allowed"], "streamline: --check passes", got)
    ok(
        abs(got["allowed"] - bound) < 1e-8 and bound <= math.pi / n < after,
        "streamline: the reported bound equals the theoretical bound, and is below half a cell",
        got,
        bound,
        after,
    )
    middle = os.path.getsize(f) // 2 // PAGE * PAGE
    put(f, PAGE, bytes(middle))
    r = load("streamline run --seeds=50 --steps=200 --check", f)
    ok(
        r.returncode == 1 and json.loads(r.stdout)["check"]["passed"] is False,
        "streamline: --check fails when half of the field is zero",
        r.returncode,
        r.stdout,
    )


class Field:
    """The pages of a field file: where each point is, without its data."""

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
        for corner in range(8):
            up = [corner >> axis & 1 for axis in range(3)]
            weight = math.prod(s if u else 1 - s for s, u in zip(share, up))
            point = self.point(*(c + u for c, u in zip(cell, up)))
            v = [old + weight * new for old, new in zip(v, point)]
        return v

    def step(self, p, h):
        def ahead(v, share):
            return [a + h * share * b for a, b in zip(p, v)]

        k1 = self.velocity(p)
        k2 = self.velocity(ahead(k1, 0.5))
        k3 = self.velocity(ahead(k2, 0.5))
        k4 = self.velocity(ahead(k3, 1))
        return [a + h / 6 * (b + 2 * c + 2 * d + e) for a, b, c, d, e in zip(p, k1, k2, k3, k4)]


def streamline_traces(found, t):
    a, b, c = math.sqrt(3), math.sqrt(2), 1
    h = 2 * 2 * math.pi / 64 / math.sqrt((a + c) ** 2 + (b + a) ** 2 + (c + b) ** 2)
    for layout, brick in (("row", 0), ("brick:4", 4), ("brick:16", 16)):
        for threads in (1, 2):
            name = f"streamline: layout {layout}, {threads} threads"
            words = f"streamline run --seeds=6 --steps=25 --step=2 --seed=3 --threads={threads}"
            result(words, "--trace", t, found[layout])
            head, records = read_trace(t)
            same(
                head, {"pages": 769, "threads": threads, "merged": 1}, f"{name}: a trace is written"
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
                    f"{name}: thread {thread} touches the {len(field.pages)} pages of its lines",
                )
    for layout in ("row", "brick:16"):
        f = found[layout]
        words = "streamline run --madvise=random --seeds=3 --steps=50"
        touches(
            f,
            t,
            lambda f=f, words=words: result(words, "--trace", t, f),
            f"streamline: {layout}: the trace has exactly the pages that the kernel has read",
            more=[0],
        )


# -------------------------------------------------------------------------- wrong calls


def refusals(f):
    for words, says in (
        ("", "expected a load, then generate or run"),
        ("bfs", "expected a load, then generate or run"),
        ("bfs search", "expected a load, then generate or run"),
        ("lriot run", "no FILE"),
        ("lriot run FILE more", 'unexpected "more"'),
        ("lriot run FILE --frobnicate", '"--frobnicate": unknown or ambiguous option'),
        ("lriot run FILE --secs", '"--secs" needs a value'),
        ("lriot run --size=12Q FILE", '--size="12Q": expected bytes, with K, M, G or T'),
        ("lriot run --threads=257 FILE", '--threads="257": expected a number from 1 to 256'),
        ("lriot run --threads=0 FILE", '--threads="0": expected a number from 1 to 256'),
        ("lriot run --pattern=zipf:-1 FILE", '--pattern="zipf:-1": expected uniform, zipf:A'),
        ("lriot run --read-percent=101 FILE", '"101": expected a number from 0 to 100'),
        ("lriot run --secs=never FILE", '--secs="never": expected seconds'),
        ("lriot run --pin=sockets FILE", '--pin="sockets": expected cores or none'),
        ("lriot run --madvise=often FILE", '--madvise="often": expected random or normal'),
        ("lriot run --check=yes FILE", '"--check=yes": unknown or ambiguous option, or one'),
        ("bfs run --scale=8 FILE", '"--scale=8": unknown or ambiguous option'),
        ("bfs generate --check FILE", '"--check": unknown or ambiguous option'),
        ("bfs generate --scale=1 FILE", '--scale="1": expected a number from 2 to 31'),
        ("bfs generate --edge-factor=0 FILE", '"0": expected a number from 1 to 1024'),
        ("bfs run --root=-1 FILE", '--root="-1": expected a number from 0 to 4294967295'),
        ("streamline generate --grid=3 FILE", '--grid="3": expected a number from 4 to 16384'),
        ("streamline generate --layout=brick:1 FILE", '"brick:1": expected row, or brick:B'),
        ("streamline run --seeds=0 FILE", '--seeds="0": expected a number from 1 to 4294967295'),
        ("streamline run --step=0 FILE", '--step="0": expected cells, from 0.001 to 100'),
    ):
        refuses(words.replace("FILE", f), says=says)
    result("lriot generate --size=512K", f)
    for words, says in (
        ("lriot run /nonexistent/x", "/nonexistent/x: No such file or directory"),
        ("lriot run /", "neither a regular file nor a block device"),
        ("lriot run --size=1M FILE", "is 524288 bytes long, expected 1048576"),
        ("lriot run --pattern=stride:4000 FILE", "the file has only 128 blocks"),
        ("lriot run --trace=/nonexistent/t FILE", "/nonexistent/t: No such file or directory"),
        ("lriot run --trace=/dev/full FILE", "/dev/full: No space left on device"),
        ("lriot generate /nonexistent/x", "/nonexistent/x: No such file or directory"),
        ("bfs generate /", "/: Is a directory"),
        ("bfs run FILE", "not a graph (make one with the action generate)"),
        ("streamline run FILE", "not a vector field (make one with the action generate)"),
        ("streamline generate --layout=brick:7 FILE", "does not divide --grid=64"),
    ):
        refuses(words.replace("FILE", f), says=says, code=1)
    result("bfs generate --scale=4", f)
    refuses("bfs run --root=16", f, says="the graph has the vertices 0 to 15", code=1)


def streamline_heads(f):
    result("streamline generate --grid=64", f)
    head = read(f)[:PAGE]
    for data, says in (
        (b"", "not a vector field"),
        (b"NODEOSGR" + head[8:], "not a vector field"),
        (head[:8] + b"\2\0\0\0" + head[12:], "another version"),
        (head[:8] + b"\0\0\0\1" + head[12:], "another byte order"),
        (head[:12] + b"\xff\xff\xff\xff" + head[16:], "header is damaged"),
        (head[:16] + b"\7\0\0\0" + head[20:], "header is damaged"),
        (head[:24] + struct.pack("d", math.nan) + head[32:], "header is damaged"),
        (head + bytes(1000), "is 5096 bytes long, expected 3149824"),
    ):
        with open(f, "wb") as file:
            file.write(data)
        refuses("streamline run", f, says=says, code=1)


def main():
    with workdir() as work:
        f, t = f"{work}/data", f"{work}/trace"
        lriot_contents(f)
        lriot_damages(f)
        lriot_old_page(f)
        lriot_traces(f, t)
        lriot_zipf(f, t)
        lriot_kernel(f, t)
        lriot_output(work)
        g = bfs_file(f)
        bfs_results(f, g, t)
        bfs_check(f, g)
        bfs_kernel(f, t)
        found = streamline_files(work)
        streamline_results(found)
        streamline_traces(found, t)
        streamline_check(found["brick:16"])
        streamline_heads(f)
        refusals(f)
    r = load("--help")
    ok(
        r.returncode == 0 and "bfs run: search a graph" in r.stdout and not r.stderr,
        "--help lists the loads and their actions",
    )
    done()


main()
