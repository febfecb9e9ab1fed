# SPDX-License-Identifier: GPL-2.0-or-later
"""The context of an experiment: its options and folder, commands with a log, and results that are
kept until an input changes."""

import argparse
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

from bench.lib.options import filled

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failed(RuntimeError):
    """The experiment cannot continue; the exception's text is for the user."""


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def store(path, text):
    """Write the file as a whole or not at all."""
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(f"{path}.new", path)


class Context:
    """options: the options of the experiment, by name; out: its folder, which contains "build"."""

    def __init__(self, name, options, out=None):
        self.name, self.options = name, options
        self.out = os.path.realpath(out or options.out)
        if re.search(r"[\s,]", self.out):
            raise Failed(f"--out {self.out}: QEMU's command line allows no blank and no comma")
        self.build = f"{self.out}/build"
        os.makedirs(self.build, exist_ok=True)

    def part(self, name, experiment, **given):
        """The context of an experiment that is a part of this one. GIVEN has some of its options;
        the others have their defaults."""
        values = argparse.Namespace(**dict.fromkeys(o.name for o in experiment.OPTIONS))
        for option in ("quick", "again", "header"):
            setattr(values, option, getattr(self.options, option))
        vars(values).update(given)
        return Context(name, filled(values, experiment.OPTIONS), f"{self.out}/{name}")

    def say(self, text):
        print(f"{time.strftime('%H:%M:%S')} {self.name}: {text}", file=sys.stderr, flush=True)

    def run(self, *command, log=None, env=None, timeout=None, check=True):
        """Run a command with its output in LOG, or in the experiment's own log. If the command
        fails, the error has the end of the log. Returns the exit code."""
        path = log or f"{self.out}/log"
        with open(path, "w" if log else "a", encoding="utf-8") as f:
            if not log:
                print(f"== {' '.join(command)}", file=f, flush=True)
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=f,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **(env or {})},
                    timeout=timeout,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired as e:
                raise Failed(f"{command[0]} did not end in {timeout} s; see {path}") from e
        if code and check:
            end = "\n".join(read(path).splitlines()[-15:])
            raise Failed(f"exit {code} of {' '.join(command[:3])} ...; {path} ends:\n{end}")
        return code

    def path_of(self, *command):
        """Run COMMAND, a script that builds a file if it is missing and prints the file's path
        last. Returns the path. The script's progress is shown."""
        got = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if got.returncode or not got.stdout.strip():
            raise Failed(f"exit {got.returncode} of {' '.join(command)}")
        return got.stdout.splitlines()[-1]

    def programs(self, *names):
        """Build programs of the project, and return their paths."""
        build = f"{self.build}/nodeos"
        self.say(f"building {', '.join(names)}")
        os.makedirs(build, exist_ok=True)
        if not os.path.exists(f"{TOP}/configure"):
            self.run("sh", "-c", f"cd '{TOP}' && autoreconf -i")
        if not os.path.exists(f"{build}/Makefile"):
            self.run("sh", "-c", f"cd '{build}' && '{TOP}/configure' --disable-shared")
        self.run("make", "-s", "-C", build, *names)
        return [f"{build}/{name}" for name in names]


def need_tools(*tools):
    """Fail unless each of TOOLS, COMMAND[:PACKAGE], exists."""
    missing = [t.rpartition(":")[2] for t in tools if not shutil.which(t.partition(":")[0])]
    if missing:
        names = " ".join(missing)
        raise Failed(f"not installed: {names}; try: apt-get install {names}")


def key_of(experiment, options):
    """A key that changes when an option or the content of an input changes."""
    values = {o.name: getattr(options, o.name) for o in experiment.OPTIONS}
    digest = hashlib.sha256(json.dumps([options.quick, values], sort_keys=True).encode())
    for pattern in experiment.INPUTS:
        found = sorted(glob.glob(f"{TOP}/{pattern}", recursive=True))
        if not found:
            raise Failed(f"an input of {experiment.__name__} is missing: {pattern}")
        for path in found:
            with open(path, "rb") as f:
                content = hashlib.sha256(f.read()).digest()
            digest.update(os.path.relpath(path, TOP).encode() + b"\0" + content)
    return digest.hexdigest()


def kept(path, key):
    """The result in PATH if it has the same inputs, or None."""
    try:
        result = load(path)
    except (OSError, ValueError):
        return None
    return result if result.get("key") == key else None


def measured(context, experiment):
    """The result of EXPERIMENT's run(), kept in result.json or measured now. It is always converted
    to JSON and back."""
    path, options = f"{context.out}/result.json", context.options
    key = key_of(experiment, options)
    result = None if options.again else kept(path, key)
    if result:
        context.say(f"as measured before ({path})")
        return result["raw"]
    size = "quick" if options.quick else "full"
    minutes = experiment.MINUTES[size]
    context.say(f"{experiment.TITLE}, {size}: about {minutes} min; log: {context.out}/log")
    start = time.time()
    raw = json.loads(json.dumps(experiment.run(context)))
    seconds = round(time.time() - start)
    store(path, json.dumps({"key": key, "seconds": seconds, "raw": raw}, indent=1) + "\n")
    context.say(f"measured in {seconds} s")
    return raw
