#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What reads and runs the guide's blocks. TAP."""

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
        "a marker's words",
        b.__dict__,
    )
    ok(
        (b.section, b.line, b.text) == ("One", 4, "true\n"),
        "its section, line and text",
        b.__dict__,
    )
    b = block("user")
    ok(
        (b.kind, b.nodes, b.exit, b.retry, b.expect) == ("user", ["n0"], 0, False, []),
        "what a short marker means",
        b.__dict__,
    )
    b = block("file a.json")
    ok((b.kind, b.name) == ("file", "a.json"), "a file", b.__dict__)
    b = block("lines of /etc/slurm/slurm.conf")
    ok((b.kind, b.name) == ("lines", "/etc/slurm/slurm.conf"), "lines of a file", b.__dict__)
    b = block("skip: it reboots, twice")
    ok((b.kind, b.reason) == ("skip", "it reboots, twice"), "what is not run", b.__dict__)
    found = blocks(
        "## A\n<!-- test: user -->\n```sh\n# no heading\n    indented\n```\ntext\n## B\n<!-- test:"
        " tree -->\n```\nx\n```\n"
    )
    ok(
        [(f.section, f.kind) for f in found] == [("A", "user"), ("B", "tree")],
        "blocks of two sections",
        found,
    )
    refused(
        "a block without a marker", "# A\n```sh\ntrue\n```\n", "line 2: a block without a marker"
    )
    refused(
        "a marker without a block",
        "<!-- test: user -->\n\n```sh\ntrue\n```\n",
        "line 2: a marker without a block",
    )
    refused(
        "a marker without an end",
        "<!-- test: user\n```sh\ntrue\n```\n",
        "line 1: a marker without its end",
    )
    refused("a block without an end", "<!-- test: user -->\n```sh\ntrue\n", "no end")
    refused("an indented block", "a:\n\n    srun true\n", "line 3: an indented block")
    refused("no such kind", "<!-- test: alice -->\n```\nx\n```\n", '"alice"')
    refused("no such word", "<!-- test: user, often -->\n```\nx\n```\n", '"often"')
    refused("no such node", "<!-- test: user on n7 -->\n```\nx\n```\n", '"user on n7"')
    refused("no reason", "<!-- test: skip: -->\n```\nx\n```\n", '"skip:"')
    refused(
        "an expectation that is no regular expression",
        "<!-- test: user, expect: ( -->\n```\nx\n```\n",
        "expect: (",
    )
    refused("output of nothing", "<!-- test: output -->\n```\nx\n```\n", "of which commands")
    refused(
        "expectations of a file",
        "<!-- test: file a, expect: x -->\n```\nx\n```\n",
        "no words of commands",
    )


def test_judging():
    b = block("user, exit 1, expect: ^sim: cpus\n expect: free")
    ok(b.complaints(1, "x\nsim: cpus 0-11\nfree: 2\n") == [], "all as expected")
    ok(b.complaints(0, "sim: cpus 0-11\nfree\n") == ["exit 0, not 1"], "another exit status")
    ok(
        b.complaints(1, "a sim: cpus 0-11\nfree\n") == ["nothing matches ^sim: cpus"],
        "one that does not match",
    )
    ok(len(b.complaints(2, "")) == 3, "nothing as expected")
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
            f"shown output {'fits' if good else 'does not fit'} {text!r}",
            shown,
        )


def test_running(scratch):
    shell = Shell(["bash"], {"PATH": os.environ["PATH"]}, scratch, scratch)
    ok(
        shell.run("a=3; mkdir -p d; cd d; echo out; echo err >&2", 10) == (0, "out\nerr\n"),
        "both streams",
    )
    ok(
        shell.run("echo $a; pwd; (exit 7)", 10) == (7, f"3\n{scratch}/d\n"),
        "variables and the directory stay; its exit status",
    )
    ok(shell.run("cat; echo end", 10) == (0, "end\n"), "there is nothing to read")
    ok(shell.run("echo gone; exit 4", 10) == (4, "gone\n"), "a block that exits")
    ok(
        shell.run('echo "${a:-nothing}"; pwd', 10) == (0, f"nothing\n{scratch}\n"),
        "a new shell after that",
    )
    start = time.time()
    code, out = shell.run("echo begun; sleep 60", 1)
    ok(
        (code, out) == (124, "begun\n") and time.time() - start < 20,
        "one that takes too long",
        code,
        out,
    )
    wrong, out = try_block(
        block("user, retry, expect: ^xxx$", "printf x >>n; cat n; echo\n"), shell, 10, pause=0.01
    )
    ok(wrong == [] and out == "xxx\n", "again until it fits", wrong, out)
    wrong, out = try_block(
        block("user, retry, expect: never", "echo x\n"), shell, 10, limit=0.3, pause=0.1
    )
    ok(wrong == ["nothing matches never"], "not for ever", wrong)
    wrong, out = try_block(block("user, expect: ^xxxxx$", "printf x >>n; cat n; echo\n"), shell, 10)
    ok(wrong == ["nothing matches ^xxxxx$"], "once without retry", wrong, out)
    shell.end()


test_reading()
test_judging()
with tempfile.TemporaryDirectory() as directory:
    test_running(os.path.realpath(directory))
sys.exit(done())
