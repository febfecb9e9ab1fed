#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare around.c with the same rules on sets of pages: around each miss, half of the pages below
its page; pages that follow each other are one range; of too many ranges those with the most
misses. TAP."""

import os
import random
import subprocess
import sys

PAGE, RANGES = 4096, 512
DRIVER = os.path.join(os.environ.get("NODEOS_BUILD", "."), "migration/test/around_driver")
CASES = 400


def pages_around(address, pages):
    """Numbers of the pages around an address."""
    at = address // PAGE
    return range(max(0, at - pages // 2), at + max(1, pages - pages // 2))


def expected(pages, misses):
    """The ranges for (process, address) pairs, as the driver prints them."""
    found = []
    for pid in sorted({p for p, _ in misses}):
        mine = [a for p, a in misses if p == pid]
        chosen = sorted(set().union(*(pages_around(a, pages) for a in mine)))
        runs = []
        for page in chosen:
            if runs and runs[-1][1] == page:
                runs[-1][1] = page + 1
            else:
                runs.append([page, page + 1])
        for first, end in runs:
            inside = sum(first <= a // PAGE < end for a in mine)
            found.append((pid, first * PAGE, end * PAGE, inside))
    best = sorted(found, key=lambda r: -r[3])[:RANGES]  # a stable sort: of equal ones the first
    return " ".join(f"{p}:{a:x}-{b:x}:{n}" for p, a, b, n in found if (p, a, b, n) in best)


def random_case(rng):
    """Pages around a miss, and misses: close to each other, or far apart, so that there are more
    ranges than may be chosen."""
    pages = rng.choice([1, 2, 3, 16, 17])
    spread = rng.choice([20, 2000, 100000])
    return pages, [
        (rng.choice([7, 8, 4000000]), rng.randrange(spread * PAGE) + rng.choice([0, 1 << 46]))
        for _ in range(rng.choice([0, 1, 5, 60, 1500]))
    ]


def main():
    rng = random.Random(33)
    cases = [random_case(rng) for _ in range(CASES)]
    text = "".join(
        " ".join([str(n * PAGE), *(f"{p}:{a}" for p, a in misses)]) + "\n" for n, misses in cases
    )
    done = subprocess.run([DRIVER], input=text, capture_output=True, text=True, check=False)
    got = done.stdout.split("\n")[:-1]
    want = [expected(*case) for case in cases]
    wrong = [i for i, w in enumerate(want) if i >= len(got) or got[i] != w]
    full = sum(w.count(":") == 2 * RANGES for w in want)
    what = f"{CASES} random sets of misses give the expected ranges"
    print(f"{'not ' if wrong or not full else ''}ok 1 - {what}")
    print(f"# {full} cases have more than {RANGES} ranges; wrong: {wrong[:5]}")
    print("1..1")
    return 1 if wrong or not full else 0


if __name__ == "__main__":
    sys.exit(main())
