# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of doc/guide.md, and shells to run them, for guide_build.py and guest/guide.py.
A marker, which is a comment directly before each fenced block, gives the kind of the block:

    <!-- test: user, expect: REGEX -->         commands; their output must match; their exit status
                                               must be 0
    <!-- test: root on n1, exit 3, expect: REGEX
         expect: ANOTHER -->                   the same with another exit status; each regular
                                               expression must match somewhere
    <!-- test: user, retry, expect: REGEX -->  repeated until the output fits: a job may wait, a
                                               file may not exist yet
    <!-- test: output -->                      output of the commands before; "..." is any text, a
                                               line of it any lines, 1234 a number
    <!-- test: file NAME -->                   a file of the user
    <!-- test: lines of PATH -->               PATH on the nodes has these lines
    <!-- test: tree -->                        commands in the source tree: their files and options
                                               exist
    <!-- test: skip: REASON -->                a guest cannot run it

The first word of a marker of commands is user, root, or anywhere: a user who needs no Slurm, on any
machine. Commands run on n0, or on the nodes of "on n1" or "on both". Variables and the directory
stay from block to block with the same first word on one node."""

import os
import re
import shlex
import signal
import subprocess
import time

COMMANDS = ("user", "root", "anywhere")


class Mistake(Exception):
    pass


class Block:
    """A block: its TEXT, the contents of its MARKER, and its place. SECTION is the heading above
    the block, LINE the line number of its fence."""

    def __init__(self, marker, text, section, line):
        self.text, self.section, self.line = text, section, line
        self.kind = self.name = self.reason = ""
        self.nodes, self.exit, self.retry, self.expect = ["n0"], 0, False, []
        self.read(marker)

    def read(self, marker):
        first, *more = re.split(r"(?:,|\n)\s*expect: ", marker.strip())
        self.expect = [e.strip() for e in more]
        for e in self.expect:
            try:
                re.compile(e)
            except re.error as error:
                self.refuse(f"expect: {e}: {error}")
        if first.startswith("skip: ") and first[6:].strip():
            self.kind, self.reason = "skip", first[6:].strip()
            return
        who, *words = [w.strip() for w in first.split(",")]
        found = re.fullmatch(r"(\w+)(?: on (n0|n1|both))?|(file|lines of) (\S+)", who)
        if found and found[3]:
            self.kind, self.name = found[3].split()[0], found[4]
        elif (
            found
            and found[1] in COMMANDS + ("tree", "output")
            and (not found[2] or found[1] in ("user", "root"))
        ):
            self.kind = found[1]
            self.nodes = ["n0", "n1"] if found[2] == "both" else [found[2] or "n0"]
        else:
            self.refuse(
                f'"{who}" (user, root, anywhere, tree, output, file NAME, lines of PATH, skip:'
                " REASON)"
            )
        for word in words:
            if word == "retry":
                self.retry = True
            elif re.fullmatch(r"exit \d+", word):
                self.exit = int(word[5:])
            else:
                self.refuse(f'"{word}" (retry, exit N, expect: REGEX)')
        if self.kind not in COMMANDS and (words or self.expect):
            self.refuse(f"{self.kind} cannot have retry, exit or expect")

    def refuse(self, what):
        raise Mistake(f"line {self.line}: {what}")

    @property
    def title(self):
        first = self.text.strip().splitlines()[0] if self.text.strip() else ""
        return f"line {self.line}: {self.name or first}"

    def pattern(self):
        """Return the regular expression that the output must match, for an output block."""
        lines = []
        for line in self.text.splitlines():
            if line.strip() == "...":
                lines.append(r"(?:.*\n)*?")
                continue
            words = re.sub(r"\s+", " ", line.strip())
            escaped = re.escape(words).replace(r"\.\.\.", ".*?").replace(r"\ ", r"[ \t]+")
            lines.append(r"[ \t]*" + re.sub(r"\b1234\b", r"\\d+", escaped) + r"[ \t]*\n")
        return "^" + "".join(lines)

    def complaints(self, code, out):
        """Return how a command's exit status CODE and output OUT differ from the marker."""
        found = [f"exit {code}, not {self.exit}"] if code != self.exit else []
        return found + [f"nothing matches {e}" for e in self.expect if not re.search(e, out, re.M)]


def blocks(text):
    """Return the blocks of the guide's TEXT, in order. Raises Mistake for a block without a marker,
    or a marker without a block."""
    found, section, marker, body, lines = [], "", None, None, text.split("\n")
    start = 0
    i = 0
    while i < len(lines):
        line, where = lines[i], i + 1
        if body is not None:
            if line.startswith("```"):
                found.append(Block(marker, "".join(b + "\n" for b in body), section, start))
                marker = body = None
            else:
                body.append(line)
        elif line.startswith("```"):
            if marker is None:
                raise Mistake(f"line {where}: a block without a marker")
            body, start = [], where
        elif marker is not None:
            raise Mistake(f"line {where}: a marker without a block below it")
        elif line.startswith("<!-- test: "):
            marker = line
            while not marker.endswith("-->"):
                i += 1
                if i == len(lines) or lines[i].startswith("```"):
                    raise Mistake(f"line {where}: a marker without its end")
                marker += "\n" + lines[i]
            marker = marker[len("<!-- test: ") : -len("-->")]
        elif re.match(r" {4}|\t", line):
            raise Mistake(f"line {where}: an indented block: use a fence and a marker")
        elif line.startswith("#"):
            section = line.lstrip("# ")
        i += 1
    if body is not None or marker is not None:
        raise Mistake("the last block has no end")
    before = None
    for b in found:
        if b.kind == "output" and (before is None or before.kind not in COMMANDS + ("output",)):
            b.refuse("output without commands before it")
        before = b
    return found


class Shell:
    """A shell: ARGV starts a bash in the directory CWD. Its files are in the directory SCRATCH."""

    def __init__(self, argv, env, cwd, scratch):
        self.argv, self.env, self.cwd, self.scratch = argv, env, cwd, scratch
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.argv,
            env=self.env,
            cwd=self.cwd,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.process.stdin.write(f"cd {shlex.quote(self.cwd)}\n")

    def run(self, text, timeout):
        """Run TEXT. Returns its exit status (124 if it is killed after TIMEOUT seconds) and
        output."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        block, out, code = (
            os.path.join(self.scratch, f"{id(self)}.{what}") for what in ("block", "out", "code")
        )
        for old in (out, code):
            if os.path.exists(old):
                os.unlink(old)
        with open(block, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(block, 0o644)
        self.process.stdin.write(
            f". {block} </dev/null >{out} 2>&1; echo $? >{code}.new; mv {code}.new {code}\n"
        )
        self.process.stdin.flush()
        end = time.time() + timeout
        while not os.path.exists(code) and self.process.poll() is None and time.time() < end:
            time.sleep(0.05)
        if os.path.exists(code):
            with open(code, encoding="utf-8") as f:
                status = int(f.read())
        elif self.process.poll() is not None:
            # the block has ended the shell by "exit"
            status = self.process.returncode
        else:
            status = 124
            self.end()
        with open(out, encoding="utf-8", errors="replace") as f:
            return status, f.read()

    def end(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process:
            self.process.stdin.close()
            self.process = None


def try_block(block, shell, timeout, limit=300, pause=1):
    """Run BLOCK. With retry, repeat it until the output fits or LIMIT seconds are over. Returns a
    list of complaints, and the output."""
    end = time.time() + limit
    while True:
        code, out = shell.run(block.text, timeout)
        wrong = block.complaints(code, out)
        if not wrong or not block.retry or time.time() > end:
            return wrong, out
        time.sleep(pause)
