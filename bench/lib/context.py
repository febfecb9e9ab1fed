# SPDX-License-Identifier: GPL-2.0-or-later
"""The context of an experiment: its options, its folder, the log of its commands, and its results,
which are kept until an input changes."""

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
    """Raised if the experiment cannot continue. The text is for the user."""


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def store(path, text):
    """Write the file completely or not at all."""
    with open(f"{path}.new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(f"{path}.new", path)


class Context:
    """options: the experiment's options by name; out: its folder, which contains "build"."""

    def __init__(self, name, options, out=None):
        self.name, self.options = name, options
        self.out = os.path.realpath(out or options.out)
        if re.search(r"[\s,]", self.out):
            raise Failed(
                f"--out {self.out}: the path must not have a blank or a comma, since it is a part"
                " of QEMU's options"
            )
        self.build = f"{self.out}/build"
        os.makedirs(self.build, exist_ok=True)

    def part(self, name, experiment, **given):
        """Return the context of an experiment that is a part of this one. GIVEN has some of the
        part's options; the others have their defaults."""
        values = argparse.Namespace(**dict.fromkeys(o.name for o in experiment.OPTIONS))
        for option in ("quick", "again", "header"):
            setattr(values, option, getattr(self.options, option))
        vars(values).update(given)
        return Context(name, filled(values, experiment.OPTIONS), f"{self.out}/{name}")

    def say(self, text):
        print(f"{time.strftime('%H:%M:%S')} {self.name}: {text}", file=sys.stderr, flush=True)

    def run(self, *command, log=None, env=None, timeout=None, check=True):
        """Run a command. Its output goes to LOG, or to the experiment's log. If the command fails,
        raise Failed with the end of the log. Return the exit code."""
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
        """Run COMMAND, a script that builds a file if the file is missing, shows its progress, and
        prints the file's path last. Return the path."""
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
    """Fail if one of TOOLS is not installed. A tool is COMMAND[:PACKAGE]."""
    missing = [t.rpartition(":")[2] for t in tools if not shutil.which(t.partition(":")[0])]
    if missing:
        names = " ".join(missing)
        raise Failed(f"not installed: {names}; try: apt-get install {names}")


def key_of(experiment, options):
    """Return a key that changes if an option or the content of an input changes."""
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
    """Return the result in PATH if it has this key, else None."""
    try:
        result = load(path)
    except (OSError, ValueError):
        return None
    return result if result.get("key") == key else None


def measured(context, experiment):
    """Return the result of EXPERIMENT's run(), from result.json if its inputs are the same, or
    measured now. A new result is converted to JSON and back, too."""
    path, options = f"{context.out}/result.json", context.options
    key = key_of(experiment, options)
    result = None if options.again else kept(path, key)
    if result:
        context.say(
            f"using the result of an earlier run, whose inputs were the same ({path}; --again"
            " measures)"
        )
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
