# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of nodeos-lriot, nodeos-streamline and nodeos-bfs share: TAP, the programs,
page traces, the page cache, and random numbers as dimmap/load/random.h describes them, written from
that description."""

import ctypes
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../.."
)
BUILD = os.environ.get("NODEOS_BUILD") or SOURCE
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


class Program:
    def __init__(self, name):
        self.path = os.path.abspath(os.path.join(BUILD, name))
        self.name = name
        if not os.access(self.path, os.X_OK):
            print(f"1..0 # SKIP {self.path} is not built")
            sys.exit(0)

    def __call__(self, *args):
        return subprocess.run(
            [self.path, *map(str, args)], capture_output=True, text=True, timeout=300
        )

    def refuses(self, args, words, code=2):
        """One line that has WORDS, and CODE."""
        r = self(*args)
        ok(
            r.returncode == code and words in r.stderr.splitlines()[0] and r.stdout == "",
            f"{' '.join(map(str, args)) or 'nothing'}: {words}",
            f"exit {r.returncode}",
            *r.stderr.splitlines(),
        )

    def documented(self, source, tables):
        """The tables of options in SOURCE, the usage text and the manual page
        have the same options."""
        code = read(source)
        found = set()
        for table in tables:
            body = re.search(rf"struct option {table}\[\] = \{{(.*?)\n\}};", code, re.S).group(1)
            found |= set(re.findall(r"\{ \"([a-z-]+)\", \w+, NULL, '(\w)' \}", body))
        page = set(re.findall(r"^\.It Fl (\w) , Fl \\-([a-z-]+)", read(f"doc/{self.name}.1"), re.M))
        same(
            sorted(page),
            sorted((short, name) for name, short in found),
            f"{self.name}(1) has its options",
        )
        usage = self("--help")
        same((usage.returncode, usage.stderr), (0, ""), "--help")
        same(
            sorted(set(re.findall(r"^  -(\w), --([a-z-]+)", usage.stdout, re.M))),
            sorted((short, name) for name, short in found),
            "--help has its options",
        )


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return f.read()


def workdir():
    return tempfile.TemporaryDirectory(prefix="nodeos-iotest.")


# ----------------------------------------------------------------- page traces


def read_trace(path):
    """head, [(page, thread, write)]"""
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
    """The pages of a file that are in memory, as the kernel says."""
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
    """Take a file out of memory. False: it cannot be, as on tmpfs,
    or this machine has other pages."""
    with open(path, "rb+") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return mmap.PAGESIZE == PAGE and not resident(path)


def touches(path, trace, run, what, more=()):
    """RUN a program with MADV_RANDOM from a cold start: what the kernel then has in memory is what
    the TRACE says, and MORE."""
    for _ in range(3):
        if not drop(path):
            skip(what, "the file system keeps its files in memory")
            return
        run()
        pages = {page for page, _, _ in read_trace(trace)[1]}
        there = resident(path) - set(more)
        if not there < pages - set(more):
            break  # else a busy machine may have needed the memory of one
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
    """xoshiro256**, of a thread"""

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
