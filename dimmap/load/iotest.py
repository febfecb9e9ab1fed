# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers of load_test.py: TAP, runs of dimmap-load, page traces, the page cache, and the random
numbers of dimmap/load/random.h. The random numbers follow the description in that file, not its
code."""

import ctypes
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile

BUILD = os.environ.get("NODEOS_BUILD") or os.path.join(os.path.dirname(__file__), "../..")
PAGE = 4096
MASK = (1 << 64) - 1
count = failed = 0


def ok(good, what, *detail):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for line in detail if not good else ():
        print(f"#   {line}")
    return good


def same(got, want, what):
    return ok(got == want, what, f"got:  {got}", f"want: {want}")


def skip(what, why):
    global count
    count += 1
    print(f"ok {count} - {what} # SKIP {why}", flush=True)


def done():
    print(f"1..{count}")
    sys.exit(failed != 0)


PROGRAM = os.path.abspath(os.path.join(BUILD, "dimmap-load"))
if not os.access(PROGRAM, os.X_OK):
    print(f"1..0 # SKIP {PROGRAM} is not built")
    sys.exit(0)


def load(words, *more):
    """Run dimmap-load with the arguments in WORDS, which is split at blanks, and MORE."""
    return subprocess.run(
        [PROGRAM, *words.split(), *map(str, more)], capture_output=True, text=True, timeout=300
    )


def result(words, *more):
    """Run dimmap-load, which must succeed. Return its JSON."""
    r = load(words, *more)
    assert (r.returncode, r.stderr) == (0, ""), r
    return json.loads(r.stdout)


def refuses(words, *more, says, code=2):
    """Check that the run prints one line of error that contains SAYS, and exits with CODE."""
    r = load(words, *more)
    ok(
        r.returncode == code and says in r.stderr and r.stderr.count("\n") == 1 and not r.stdout,
        f"dimmap-load {words} is refused: {says}",
        f"exit {r.returncode}",
        *r.stderr.splitlines(),
    )


def workdir():
    return tempfile.TemporaryDirectory(prefix="nodeos-iotest.")


# ----------------------------------------------------------------- page traces


def read_trace(path):
    """Return the header of a trace, and its records as [(page, thread, write)]."""
    data = open(path, "rb").read()
    magic, version, page, pages, threads, merged = struct.unpack_from("<8sIIQII", data)
    records = struct.unpack(f"<{(len(data) - 32) // 8}Q", data[32:])
    assert (magic, version, page, len(data) % 8) == (b"NODEOSPT", 1, PAGE, 0), (
        magic,
        version,
        page,
        len(data),
    )
    return {"pages": pages, "threads": threads, "merged": merged}, [
        (r & (1 << 40) - 1, r >> 40 & 0xFFFF, r >> 63) for r in records
    ]


# ---------------------------------------------------------------- the page cache


def resident(path):
    """Return the pages of a file that are in memory, as mincore() reports."""
    size = os.path.getsize(path)
    pages = (size + PAGE - 1) // PAGE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    with open(path, "rb") as f:
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, f.fileno(), 0)
        found = ctypes.create_string_buffer(pages)
        if libc.mincore(at, size, found) < 0:
            raise OSError(ctypes.get_errno(), "mincore")
        libc.munmap(at, size)
    return {i for i, byte in enumerate(found.raw[:pages]) if byte & 1}


def drop(path):
    """Drop a file from the page cache. Return False if that is impossible, such as on tmpfs, or if
    pages are not 4096 bytes."""
    with open(path, "rb+") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return mmap.PAGESIZE == PAGE and not resident(path)


def touches(path, trace, run, what, more=()):
    """Drop the file from memory, and call RUN, which runs a program with MADV_RANDOM. Check that
    exactly the pages in TRACE and MORE are then in memory."""
    for _ in range(3):
        if not drop(path):
            skip(what, "the file system keeps its files in memory")
            return
        run()
        pages = {page for page, _, _ in read_trace(trace)[1]}
        there = resident(path) - set(more)
        if not there < pages - set(more):
            break  # try again: a busy machine may have reclaimed a page
    ok(
        there == pages - set(more),
        what,
        f"{len(pages)} pages in the trace, {len(there)} in memory",
        f"not in memory: {sorted(pages - there)[:10]}",
        f"not in the trace: {sorted(there - pages)[:10]}",
    )


# ---------------------------------------------------------------- random numbers


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


class Split:
    """splitmix64"""

    def __init__(self, state):
        self.state = state & MASK

    def next(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        return mix(self.state)


class Random:
    """The generator xoshiro256** of one thread."""

    def __init__(self, seed, thread):
        split = Split(seed + (thread << 32))
        self.s = [split.next() for _ in range(4)]

    def next(self):
        s = self.s
        x = s[1] * 5 & MASK
        x = (x << 7 | x >> 57) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = (s[3] << 45 | s[3] >> 19) & MASK
        return x * 9 & MASK

    def below(self, n):
        bits = max((n - 1).bit_length(), 1)
        while True:
            x = self.next() >> 64 - bits
            if x < n:
                return x
