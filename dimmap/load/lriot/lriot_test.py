#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of nodeos-lriot as a program: damaged files, traces beside what the file and the kernel
show, JSON, wrong calls. TAP."""

import json
import math
import os
import re
import struct
import sys
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from iotest import (
    PAGE,
    Program,
    Random,
    done,
    drop,
    mix,
    ok,
    read_trace,
    same,
    skip,
    touches,
    workdir,
)  # noqa: E402

lriot = Program("nodeos-lriot")


def stamp(data, offset):
    """(epoch, writer, the 16 bits that are always the same) of the 8 bytes at an offset"""
    plain = struct.unpack_from("<Q", data, offset)[0] ^ mix(offset // 8 + 0x6C72696F74)
    return plain & 0xFFFFFFFF, plain >> 32 & 0xFFFF, plain >> 48


def epochs(path):
    """Of the first word of each page; None: no stamp."""
    data = open(path, "rb").read()
    found = [stamp(data, at) for at in range(0, len(data), PAGE)]
    return [epoch if always == 0xD1AA else None for epoch, _, always in found]


def contents(f):
    r = lriot("--file", f, "--create", "--size=1M", "--ops=0")
    same(r.returncode, 0, "--create")
    same(os.path.getsize(f), 1 << 20, "as large as asked for")
    data = open(f, "rb").read()
    same(
        {stamp(data, i) for i in range(0, len(data), 8)},
        {(0, 0, 0xD1AA)},
        "each of its words is a stamp of epoch 0",
    )


def damage(f, page, how):
    with open(f, "rb+") as file:
        file.seek(page * PAGE)
        old = file.read(PAGE)
        file.seek(page * PAGE)
        file.write(how(old, file))


def other_page(old, file):
    file.seek(5 * PAGE)
    data = file.read(PAGE)
    file.seek(17 * PAGE)
    return data


def damages(f):
    """A page that is not what it was, by each mode and in each way that a page may be lost."""

    def flip(old, _):
        return old[:2040] + bytes([old[2040] ^ 1]) + old[2041:]

    def zero(old, _):
        return bytes(len(old))

    def first_half_zero(old, _):
        return bytes(2048) + old[2048:]

    for mode in ("mmap", "mmap-rand", "mmap-seq", "std", "direct"):
        for name, how, byte in (
            ("a bit", flip, 2040),
            ("a hole", zero, 0),
            ("half of it", first_half_zero, 0),
            ("another page", other_page, 0),
        ):
            # written before, by two threads, so that a page of epoch 0 is not right by itself
            r = lriot(
                "--file",
                f,
                "--create",
                "--size=256K",
                "--verify",
                "--ops=300",
                "--threads=2",
                "--read-percent=0",
                "--mode",
                mode,
            )
            if r.returncode == 1 and "direct I/O" in r.stderr:
                skip(f"{mode}: {name}", "no direct I/O on this file system")
                continue
            same((r.returncode, r.stderr), (0, ""), f"{mode}: nothing wrong yet")
            damage(f, 17, how)
            r = lriot("--file", f, "--verify", "--ops=10", "--mode", mode, "--json")
            found = json.loads(r.stdout)
            first = found["verify"]["first"]
            same(
                (
                    r.returncode,
                    found["ran"],
                    found["verify"]["wrong"],
                    first[0]["page"],
                    first[0]["byte"],
                ),
                (1, False, 1, 17, 17 * PAGE + byte // 8 * 8),
                f"{mode}: {name} is found",
            )
    r = lriot("--file", f, "--verify", "--ops=10")
    ok(
        r.returncode == 1
        and re.search(
            r"^  page 17, byte 69632: expected epoch \d+, found no stamp of this place"
            r" \(0x[0-9a-f]{16}\)$",
            r.stdout,
            re.M,
        ),
        "and said in words",
        *r.stdout.splitlines(),
    )


def old_page(f):
    """A page goes back to what it was: no word of it is wrong by itself,
    but its epoch is less than another's that was written as often."""
    lriot("--file", f, "--create", "--size=64K", "--ops=0")
    before = open(f, "rb").read()
    # each page once, in one word of each 512
    r = lriot("--file", f, "--verify", "--pattern=seq", "--ops=16", "--read-percent=0")
    same((r.returncode, epochs(f)), (0, [1] * 16), "each page is written once")
    with open(f, "rb+") as file:
        file.seek(9 * PAGE + 1024)
        file.write(before[9 * PAGE + 1024 : 9 * PAGE + 1536])
    r = lriot("--file", f, "--verify", "--ops=0", "--json")
    first = json.loads(r.stdout)["verify"]["first"]
    same(
        (
            r.returncode,
            len(first),
            first[0]["byte"],
            first[0]["expected_least"],
            first[0]["found_epoch"],
        ),
        (1, 1, 9 * PAGE + 1024, 1, 0),
        "512 old bytes in a page",
    )


def behind_the_touched(f):
    """What is not touched must be a stamp, too, and not newer than what is."""
    lriot("--file", f, "--create", "--size=64K", "--ops=0")
    r = lriot(
        "--file", f, "--verify", "--ops=16", "--pattern=seq", "--touch=512", "--read-percent=0"
    )
    same((r.returncode, epochs(f)), (0, [1] * 16), "the first 512 bytes of each page are written")
    for offset, value, what in ((2048, 0, "no stamp"), (2048, 5, "a newer one")):
        with open(f, "rb+") as file:
            file.seek(3 * PAGE + offset)
            old = file.read(8)
            file.seek(3 * PAGE + offset)
            file.write(
                bytes(8) if value == 0 else struct.pack("<Q", struct.unpack("<Q", old)[0] ^ value)
            )
            file.flush()
            r = lriot("--file", f, "--verify", "--ops=0", "--touch=512", "--json")
            same(
                (r.returncode, json.loads(r.stdout)["verify"]["first"][0]["byte"]),
                (1, 3 * PAGE + offset),
                f"behind them {what} is found",
            )
            file.seek(3 * PAGE + offset)
            file.write(old)
    r = lriot("--file", f, "--verify", "--ops=0", "--touch=512")
    same(r.returncode, 0, "and an older one is right")


def expected_trace(blocks, ops, seed, thread, threads, pattern, read_percent):
    """As the manual page describes the patterns."""
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


def traces(f, t):
    lriot("--file", f, "--create", "--size=4M", "--ops=0")
    blocks = 1024
    for pattern in ("uniform", "seq", "stride:100"):
        for share in (100, 60, 0):
            r = lriot(
                "--file",
                f,
                "--ops=3000",
                "--seed=5",
                "--pattern",
                pattern,
                "--read-percent",
                share,
                "--trace",
                t,
            )
            head, records = read_trace(t)
            same(
                (r.returncode, head),
                (0, {"pages": blocks, "threads": 1, "merged": 0}),
                f"{pattern}, {share} % reads: a trace",
            )
            same(
                records,
                expected_trace(blocks, 3000, 5, 0, 1, pattern, share),
                "of the accesses that follow from the seed",
            )
    lriot("--file", f, "--ops=3000", "--seed=6", "--threads=3", "--trace", t)
    records = read_trace(t)[1]
    for thread in range(3):
        same(
            [r for r in records if r[1] == thread],
            expected_trace(blocks, 3000, 6, thread, 3, "uniform", 100),
            f"thread {thread} of three",
        )
    lriot(
        "--file",
        f,
        "--ops=200",
        "--seed=7",
        "--pattern=seq",
        "--bs=16K",
        "--touch=5000",
        "--trace",
        t,
    )
    same(
        [r[0] for r in read_trace(t)[1]],
        [p for i in range(200) for p in (i * 4, i * 4 + 1)],
        "blocks of four pages, of which two are touched",
    )
    lriot("--file", f, "--ops=100", "--pattern=seq", "--bs=512", "--trace", t)
    same([r[0] for r in read_trace(t)[1]], [i // 8 for i in range(100)], "eight blocks in a page")
    lriot("--file", f, "--ops=5000", "--seed=8", "--pattern=zipf:1.1", "--trace", t)
    first = open(t, "rb").read()
    lriot("--file", f, "--ops=5000", "--seed=8", "--pattern=zipf:1.1", "--trace", t)
    ok(open(t, "rb").read() == first, "zipf: the same seed, the same trace")
    lriot("--file", f, "--ops=5000", "--seed=9", "--pattern=zipf:1.1", "--trace", t)
    ok(open(t, "rb").read() != first, "another seed, another trace")


def zipf_shares(f, t):
    """How often the hottest pages come, whichever they are, beside the law: each within five
    standard deviations of what its rank must have; ranks that lie close may have changed places, by
    which it can only come nearer to the rank's share.
    """
    n = 100000
    lriot("--file", f, "--ops", n, "--pattern=zipf:0.99", "--trace", t)
    counts = sorted(Counter(page for page, _, _ in read_trace(t)[1]).values(), reverse=True)
    law = [k**-0.99 for k in range(1, 1025)]
    for rank in (1, 2, 3, 5, 10, 50):
        share = law[rank - 1] / sum(law)
        bound = 5 * math.sqrt(n * share * (1 - share))
        ok(
            abs(counts[rank - 1] - n * share) <= bound,
            f"zipf:0.99: rank {rank} came {counts[rank - 1]} times, {n * share:.0f} within"
            f" {bound:.0f} expected",
        )


def trace_beside_file(f, t):
    """What was written is in the file: how often, page by page."""
    for mode in ("mmap", "std"):
        lriot("--file", f, "--create", "--size=1M", "--ops=0")
        r = lriot(
            "--file",
            f,
            "--verify",
            "--ops=2000",
            "--read-percent=50",
            "--pattern=zipf:0.8",
            "--mode",
            mode,
            "--trace",
            t,
        )
        written = Counter(page for page, _, write in read_trace(t)[1] if write)
        same(
            (r.returncode, epochs(f)),
            (0, [written[page] for page in range(256)]),
            f"{mode}: the epochs in the file are the writes in the trace",
        )


def trace_beside_kernel(f, t):
    lriot("--file", f, "--create", "--size=16M", "--ops=0")
    touches(
        f,
        t,
        lambda: lriot("--file", f, "--ops=800", "--mode=mmap-rand", "--trace", t),
        "the pages in the trace are those that the kernel has read",
    )
    touches(
        f,
        t,
        lambda: lriot(
            "--file",
            f,
            "--ops=300",
            "--mode=mmap-rand",
            "--bs=8K",
            "--touch=8K",
            "--pattern=stride:5",
            "--trace",
            t,
        ),
        "with blocks of two pages, too",
    )


def major_faults(f):
    lriot("--file", f, "--create", "--size=16M", "--ops=0")
    what = "MADV_RANDOM, one access to each of 4096 pages: as many major faults"
    if drop(f):
        same(
            json.loads(
                lriot(
                    "--file", f, "--ops=4096", "--mode=mmap-rand", "--pattern=seq", "--json"
                ).stdout
            )["majflt"],
            4096,
            what,
        )
    else:
        skip(what, "the file system keeps its files in memory")


MEMBERS = [
    "schema",
    "mode",
    "file",
    "size",
    "block",
    "touch",
    "processes",
    "threads",
    "pattern",
    "read_percent",
    "seed",
    "ran",
    "seconds",
    "reads",
    "writes",
    "syncs",
    "accesses_per_second",
    "latency_ns",
    "majflt",
    "minflt",
    "voluntary",
    "involuntary",
    "errors",
    "meanwhile",
    "verify",
]


def output(work):
    f = f'{work}/a "name" \\ with\ttricks'
    r = lriot(
        "--file",
        f,
        "--create",
        "--size=1M",
        "--verify",
        "--ops=1000",
        "--threads=2",
        "--procs=2",
        "--read-percent=75",
        "--sync=50",
        "--sample=1",
        "--pin=cores",
        "--json",
    )
    got = json.loads(r.stdout)
    same(r.returncode, 0, "--json")
    same(list(got), MEMBERS, "its members")
    same(got["file"], f, "a name with quotes")
    same(got["reads"] + got["writes"], 4000, "four threads, 1000 accesses each")
    same(got["latency_ns"]["samples"], 4000, "--sample=1 takes the time of each")
    times = [got["latency_ns"][k] for k in ("p50", "p99", "p999", "max")]
    ok(0 < times[0] and times == sorted(times), "percentiles grow", times)
    ok(abs(got["accesses_per_second"] * got["seconds"] - 4000) < 1, "a rate is a number by a time")
    # each thread of the 4 has sync'ed once for each 50 of its writes
    ok(0 <= got["writes"] / 50 - got["syncs"] < 4, "--sync=50", got["writes"], got["syncs"])
    r = lriot("--file", f, "--secs=0.5", "--json")
    ok(0.5 <= json.loads(r.stdout)["seconds"] < 5, "--secs=0.5")
    r = lriot("--file", f, "--ops=1000")
    lines = r.stdout.splitlines()
    ok(
        r.returncode == 0
        and len(lines) == 4
        and lines[1].split()[:2] == ["reads", "writes"]
        and lines[2].split()[:2] == ["1000", "0"],
        "a table",
        *lines,
    )
    os.truncate(f, 512 << 10)
    r = lriot("--file", f, "--size=1M", "--ops=10")
    ok(
        r.returncode == 1 and "has 524288 bytes, --size wants 1048576" in r.stderr,
        "a file that is too small",
        r.stderr,
    )


def refusals(f):
    for args, words in (
        ([], "no --file"),
        (["--file", f, "--frobnicate"], '"--frobnicate": no such option'),
        (["--file", f, "--secs"], '"--secs" needs a value'),
        (["--file", f, "more"], 'unexpected "more"'),
        (
            ["--file", f, "--mode=mmpa"],
            '--mode="mmpa": expected mmap, mmap-rand, mmap-seq, std or direct',
        ),
        (["--file", f, "--size=12Q"], '--size="12Q": expected bytes'),
        (["--file", f, "--create"], "--create needs --size"),
        (["--file", f, "--procs=0"], '--procs="0": expected a number from 1 to 256'),
        (["--file", f, "--threads=257"], '--threads="257": expected a number from 1 to 256'),
        (["--file", f, "--threads=20", "--procs=20"], "at most 256 threads in all"),
        (["--file", f, "--pattern=zipf:-1"], '--pattern="zipf:-1": expected uniform, zipf:A'),
        (
            ["--file", f, "--read-percent=101"],
            '--read-percent="101": expected a number from 0 to 100',
        ),
        (["--file", f, "--bs=1000"], "--bs=1000: expected a multiple of 512"),
        (["--file", f, "--bs=2M"], '--bs="2M": expected a multiple of 512 from 512 to 1M'),
        (["--file", f, "--touch=12"], "--touch=12: expected a multiple of 8"),
        (
            ["--file", f, "--touch=8192"],
            "--touch=8192: expected a multiple of 8, from 8 to --bs (4096)",
        ),
        (["--file", f, "--mode=std", "--touch=8"], "--touch is for mmap modes"),
        (
            ["--file", f, "--mode=direct", "--fork"],
            "--mprotect, --fork and --remap are for mmap modes",
        ),
        (["--file", f, "--ops=5", "--secs=5"], "--ops and --secs"),
        (["--file", f, "--secs=never"], '--secs="never": expected seconds'),
        (["--file", f, "--trace=x"], "--trace needs --ops"),
        (["--file", f, "--trace=x", "--ops=5", "--procs=2"], "and one process"),
        (["--file", f, "--trace=x", "--ops=5", "--fork"], "--trace and --fork"),
        (["--file", f, "--sync=5"], "--sync counts writes"),
        (["--file", f, "--pin=sockets"], '--pin="sockets": expected cores or none'),
        (
            ["--file", f, "--verify=yes"],
            '"--verify=yes": no such option, several of them, or one that takes no value',
        ),
    ):
        lriot.refuses(args, words)
    for args, words in (
        (
            ["--file=/nonexistent/x", "--ops=1"],
            "/nonexistent/x: No such file or directory: --create makes it",
        ),
        (["--file=/", "--ops=1"], "neither a regular file nor a block device"),
        (["--file", f, "--ops=1", "--pattern=stride:4000"], "the file has 256 blocks only"),
        (
            ["--file", f, "--ops=1", "--trace=/nonexistent/t"],
            "--trace: /nonexistent/t: No such file or directory",
        ),
    ):
        lriot.refuses(args, words, 1)


def main():
    with workdir() as work:
        f, t = f"{work}/data", f"{work}/trace"
        contents(f)
        refusals(f)
        damages(f)
        old_page(f)
        behind_the_touched(f)
        traces(f, t)
        zipf_shares(f, t)
        trace_beside_file(f, t)
        trace_beside_kernel(f, t)
        major_faults(f)
        output(work)
    lriot.documented("dimmap/load/lriot/options.c", ["longs"])
    done()


main()
