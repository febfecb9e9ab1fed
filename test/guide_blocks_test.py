#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the code that reads and runs the guide's blocks. TAP."""

import os
import re
import sys
import tempfile
import time

from guide_blocks import Mistake, Shell, blocks, try_block
from manpages import done, ok


def block(marker, text="true\n", before=""):
    return blocks(f"# One\n{before}<!-- test: {marker} -->\n```sh\n{text}```\n")[-1]


def refused(what, text, words):
    try:
        found = blocks(text)
        ok(False, what, [b.__dict__ for b in found])
    except Mistake as e:
        ok(words in str(e), what, e)


def test_reading():
    b = block("root on both, exit 3, retry, expect: a, b\n     expect: ^c$")
    ok(
        (b.kind, b.nodes, b.exit, b.retry, b.expect)
        == ("root", ["n0", "n1"], 3, True, ["a, b", "^c$"]),
        "parse: a block has all that its marker gives",
        b.__dict__,
    )
    ok(
        (b.section, b.line, b.text) == ("One", 4, "true\n"),
        "parse: a block has its section, line and text",
        b.__dict__,
    )
    b = block("user")
    ok(
        (b.kind, b.nodes, b.exit, b.retry, b.expect) == ("user", ["n0"], 0, False, []),
        "parse: a block whose marker gives only the user has the default values",
        b.__dict__,
    )
    b = block("file a.json")
    ok(
        (b.kind, b.name) == ("file", "a.json"),
        "parse: a marker can say that the block is a file",
        b.__dict__,
    )
    b = block("lines of /etc/slurm/slurm.conf")
    ok(
        (b.kind, b.name) == ("lines", "/etc/slurm/slurm.conf"),
        "parse: a marker can say that the block is lines of a file",
        b.__dict__,
    )
    b = block("skip: a reboot, twice")
    ok(
        (b.kind, b.reason) == ("skip", "a reboot, twice"),
        "parse: a skipped block has its reason",
        b.__dict__,
    )
    found = blocks(
        "## A\n<!-- test: user -->\n```sh\n# no heading\n    indented\n```\ntext\n## B\n<!-- test:"
        " tree -->\n```\nx\n```\n"
    )
    ok(
        [(f.section, f.kind) for f in found] == [("A", "user"), ("B", "tree")],
        "parse: blocks of two sections have their sections",
        found,
    )
    refused(
        "parse: a block without a marker is refused",
        "# A\n```sh\ntrue\n```\n",
        "line 2: a block without a marker",
    )
    refused(
        "parse: a marker without a block is refused",
        "<!-- test: user -->\n\n```sh\ntrue\n```\n",
        "line 2: a marker without a block",
    )
    refused(
        "parse: a marker without an end is refused",
        "<!-- test: user\n```sh\ntrue\n```\n",
        "line 1: a marker without its end",
    )
    refused(
        "parse: a block without an end is refused", "<!-- test: user -->\n```sh\ntrue\n", "no end"
    )
    refused(
        "parse: an indented block is refused", "a:\n\n    srun true\n", "line 3: an indented block"
    )
    refused("parse: an unknown kind is refused", "<!-- test: alice -->\n```\nx\n```\n", '"alice"')
    refused(
        "parse: an unknown word is refused", "<!-- test: user, often -->\n```\nx\n```\n", '"often"'
    )
    refused(
        "parse: an unknown node is refused",
        "<!-- test: user on n7 -->\n```\nx\n```\n",
        '"user on n7"',
    )
    refused(
        "parse: skip without a reason is refused",
        "<!-- test: skip: -->\n```\nx\n```\n",
        '"skip:"',
    )
    refused(
        "parse: an expectation that is no regular expression is refused",
        "<!-- test: user, expect: ( -->\n```\nx\n```\n",
        "expect: (",
    )
    refused(
        "parse: an output block without commands before it is refused",
        "<!-- test: output -->\n```\nx\n```\n",
        "output without commands",
    )
    refused(
        "parse: expect in the marker of a file is refused",
        "<!-- test: file a, expect: x -->\n```\nx\n```\n",
        "cannot have retry, exit or expect",
    )


def test_judging():
    b = block("user, exit 1, expect: ^sim: cpus\n expect: free")
    ok(
        b.complaints(1, "x\nsim: cpus 0-11\nfree: 2\n") == [],
        "complaints: no complaint about the expected exit status and output",
    )
    ok(
        b.complaints(0, "sim: cpus 0-11\nfree\n") == ["exit 0, not 1"],
        "complaints: one complaint about another exit status",
    )
    ok(
        b.complaints(1, "a sim: cpus 0-11\nfree\n") == ["nothing matches ^sim: cpus"],
        "complaints: one complaint about an expectation that nothing matches",
    )
    ok(
        len(b.complaints(2, "")) == 3,
        "complaints: one complaint about the exit status and one about each expectation",
    )
    shown = block(
        "output",
        "job 1234 of alice\n...\n  sim: cpus ... mems 0-2\n",
        "<!-- test: user -->\n```\nx\n```\n",
    ).pattern()
    for good, text in (
        (True, "before\njob 77 of alice\nsim: cpus 0-11 mems 0-2\n"),
        (True, "job 1 of alice\nx\ny\n sim:  cpus 3 mems 0-2\nafter\n"),
        (False, "job 77 of bob\nsim: cpus 0-11 mems 0-2\n"),
        (False, "job 77 of alice\nsim: cpus 0-11 mems 0-3\n"),
        (False, "sim: cpus 0-11 mems 0-2\njob 77 of alice\n"),
        (False, "job 77 of alice\nsim: cpus 0-11 mems 0-2 more\n"),
    ):
        ok(
            bool(re.search(shown, text, re.M)) == good,
            f"pattern: an output block {'matches' if good else 'does not match'} {text!r}",
            shown,
        )


def test_running(scratch):
    shell = Shell(["bash"], {"PATH": os.environ["PATH"]}, scratch, scratch)
    ok(
        shell.run("a=3; mkdir -p d; cd d; echo out; echo err >&2", 10) == (0, "out\nerr\n"),
        "run: the output includes standard error",
    )
    ok(
        shell.run("echo $a; pwd; (exit 7)", 10) == (7, f"3\n{scratch}/d\n"),
        "run: variables and the directory stay for the next block, and the exit status is returned",
    )
    ok(shell.run("cat; echo end", 10) == (0, "end\n"), "run: stdin is empty")
    ok(
        shell.run("echo gone; exit 4", 10) == (4, "gone\n"),
        "run: the exit status of a block that exits is returned",
    )
    ok(
        shell.run('echo "${a:-nothing}"; pwd', 10) == (0, f"nothing\n{scratch}\n"),
        "run: a new shell starts after a block has exited",
    )
    start = time.time()
    code, out = shell.run("echo begun; sleep 60", 1)
    ok(
        (code, out) == (124, "begun\n") and time.time() - start < 20,
        "run: a block that takes too long is killed",
        code,
        out,
    )
    wrong, out = try_block(
        block("user, retry, expect: ^xxx$", "printf x >>n; cat n; echo\n"), shell, 10, pause=0.01
    )
    ok(
        wrong == [] and out == "xxx\n",
        "try_block: a block with retry is repeated until the output fits",
        wrong,
        out,
    )
    wrong, out = try_block(
        block("user, retry, expect: never", "echo x\n"), shell, 10, limit=0.3, pause=0.1
    )
    ok(
        wrong == ["nothing matches never"],
        "try_block: a block with retry is not repeated after the limit",
        wrong,
    )
    wrong, out = try_block(block("user, expect: ^xxxxx$", "printf x >>n; cat n; echo\n"), shell, 10)
    ok(
        wrong == ["nothing matches ^xxxxx$"],
        "try_block: a block without retry runs once",
        wrong,
        out,
    )
    shell.end()


test_reading()
test_judging()
with tempfile.TemporaryDirectory() as directory:
    test_running(os.path.realpath(directory))
sys.exit(done())
