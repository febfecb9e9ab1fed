# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts as TAP, for measurements and for the tests of bench/."""

from typing import NamedTuple


class Verdict(NamedTuple):
    good: bool
    what: str
    skip: str = ""  # why there is no verdict


def plan(verdicts):
    """The lines of a whole test."""
    lines = []
    for n, v in enumerate(verdicts, 1):
        skip = f" # SKIP {v.skip}" if v.skip else ""
        lines.append(f"{'' if v.good else 'not '}ok {n} - {v.what}{skip}")
    return "\n".join([*lines, f"1..{len(verdicts)}"])


class Tests:
    """Unit tests: same() and skip() print one line each; end() returns the exit code."""

    def __init__(self):
        self.count = self.failed = 0

    def same(self, got, want, what):
        self.count += 1
        self.failed += got != want
        print(f"{'' if got == want else 'not '}ok {self.count} - {what}", flush=True)
        if got != want:
            print(f"#   got:  {got}\n#   want: {want}")

    def raises(self, error, words, what, function, *arguments):
        """Check that FUNCTION raises ERROR with WORDS in its message."""
        try:
            got = f"no error, but {function(*arguments)}"
        except error as e:
            got = str(e)
        self.same(words in got or got, True, what)

    def skip(self, what, why):
        self.count += 1
        print(f"ok {self.count} - {what} # SKIP {why}")

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0
