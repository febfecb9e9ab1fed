#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of bench/run and bench/lib: tables, statistics, marks, options, kept results, the commands
of guests, and the commands in pages and READMEs. Prints TAP."""

import contextlib
import glob
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import types

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
sys.dont_write_bytecode = True
from bench.lib import context, guests, job, marks, options, tables
from bench.lib.options import Option
from bench.lib.tables import Table, number, spread
from bench.lib.tap import Tests, Verdict, plan

t = Tests()


def bench(*arguments):
    return subprocess.run([f"{TOP}/bench/run", *arguments], capture_output=True, text=True)


def made_up(*given, run=lambda context: {"n": 1}):
    """An experiment for tests."""
    return types.SimpleNamespace(
        __name__="made-up",
        __doc__="Made up.",
        TITLE="made up",
        MINUTES={"quick": 1, "full": 2},
        INPUTS=["README"],
        OPTIONS=given,
        run=run,
    )


def test_tables():
    table = Table(
        ["arm", "runs", "of it"],
        [
            ["plain", 1234, number(0.5, 2)],
            ["best", number(12, bold=True), spread([3, 1, 2], 1)],
            ["none", number(None), ""],
        ],
        "What it is.",
        ["A note."],
    )
    want = """What it is.

| arm | runs | of it |
|---|---|---|
| plain | 1,234 | 0.50 |
| best | **12** | 2.0 (1.0 to 3.0) |
| none |  |  |

A note."""
    t.same(tables.written([table]), want, "tables: a table as Markdown")
    want = """What it is.

arm    runs   of it
-----  -----  ----------------
plain  1,234  0.50
best   12     2.0 (1.0 to 3.0)
none

A note."""
    t.same(
        tables.written([table], "text"), want, "tables: a table in text form has aligned columns"
    )
    want = [
        {
            "title": "What it is.",
            "head": ["arm", "runs", "of it"],
            "rows": [
                ["plain", 1234, 0.5],
                ["best", 12, {"median": 2, "smallest": 1, "largest": 3}],
                ["none", None, ""],
            ],
            "notes": ["A note."],
        }
    ]
    t.same(
        json.loads(tables.written([table], "json")),
        want,
        "tables: a table as JSON has the values of cells",
    )
    notes = Table([], [], notes=["Only", "notes."])
    t.same(
        tables.written([notes, notes]),
        "Only\n\nnotes.\n\nOnly\n\nnotes.",
        "tables: a table without rows has only its title and notes",
    )


def test_numbers():
    def texts(*cells):
        return [c.text for c in cells]

    t.same(
        [tables.short(n) for n in (0, 1234567, 0.125, 9.994, 12.34, 999.94, 1234.5, -3.5)],
        ["0", "1,234,567", "0.12", "9.99", "12.3", "999.9", "1,234", "-3.50"],
        "tables: short() gives numbers about three digits, and whole numbers all digits",
    )
    t.same(
        texts(number(1234.5, 1), number(3, 1, sign="+"), number(0.041, 3), number(7, after=" %")),
        ["1,234.5", "+3.0", "0.041", "7 %"],
        "tables: cells have decimals, sign and unit",
    )
    t.same(
        texts(
            spread([4, 1, 9, 2], 0),
            spread([4, 1, 9, 2], 1),
            spread([5, 5], 0),
            spread([], 0),
            spread([2_500_000, 1_000_000, 12_000_000], unit=1e6),
            spread([1, 2]),
            spread([0.5, 0.25, 1], 2, after=" %"),
        ),
        [
            "3 (1 to 9)",
            "3.0 (1.0 to 9.0)",
            "5",
            "",
            "2.50 (1.00 to 12.0)",
            "2 (1 to 2)",
            "0.50 % (0.25 to 1.00)",
        ],
        "tables: spread() gives median, minimum and maximum, or one number if all are equal",
    )


def test_marks(directory):
    path = f"{directory}/marks"
    context.store(path, "1 5 10 20\n2 6 11 25\n1 0 0 0\n")
    found = marks.rows(path)
    t.same(
        marks.pair(found, 0),
        ([1, 5, 10, 20], [2, 6, 11, 25]),
        "marks: pair() returns the two markers of a program",
    )
    t.raises(
        context.Failed,
        "2 and 1",
        "marks: markers in the wrong order are an error",
        marks.pair,
        found,
        1,
    )
    t.raises(
        context.Failed,
        "at least 4 were expected",
        "marks: a missing marker is an error",
        marks.pair,
        found,
        2,
    )
    t.raises(
        context.Failed,
        "used only 2",
        "marks: a surplus marker is an error",
        marks.explained,
        found,
        2,
    )


def test_options():
    experiment = made_up(
        Option("size", "N", "of it", 20, 2, options.positive),
        Option("arms", "A+A", "arms", ["a", "b"], None, options.words("a", "b", "c")),
        Option("deep", "", "a switch"),
    )

    def parsed(*argv):
        p = options.parsed("made-up", experiment, "out", argv)
        return p.size, p.arms, p.deep, p.out

    t.same(
        parsed(),
        (20, ["a", "b"], False, "out"),
        "options: without arguments an experiment uses its full sizes",
    )
    t.same(
        parsed("--quick"),
        (2, ["a", "b"], False, "out"),
        "options: --quick chooses small sizes for options that have them",
    )
    t.same(
        parsed("--quick", "--size=7", "--arms=c+a", "--deep", "--out=x"),
        (7, ["c", "a"], True, "x"),
        "options: values on the command line take precedence over --quick",
    )
    refused = (
        (options.positive, "0", "above 0"),
        (options.positive, "-1", "above 0"),
        (options.whole, "1.5", "whole number"),
        (options.interval, "5-1", "FIRST-LAST"),
        (options.interval, "5", "FIRST-LAST"),
        (options.words("a", "b"), "a+x", "a, b"),
        (options.words("a", "b"), "a+a", "a, b"),
        (options.words("a", "b"), "", "a, b"),
        (options.one("a", "b"), "a+b", "one of a, b"),
        (options.directory_with("run"), "/", "a directory with run"),
    )
    for read, text, words in refused:
        t.raises(ValueError, words, f'"{text}" is refused with the message: {words}', read, text)
    t.same(
        [
            options.interval("3-30"),
            options.whole("0"),
            options.directory_with("run")(TOP + "/bench"),
        ],
        ["3-30", 0, TOP + "/bench"],
        "options: an interval, 0 and a directory are accepted",
    )
    t.same(
        [options.help_of(o) for o in experiment.OPTIONS],
        ["of it (default 20; 2 with --quick)", "arms (default a+b)", "a switch"],
        "options: help texts name the defaults",
    )


def values(experiment, out, *argv):
    return context.Context("made-up", options.parsed("made-up", experiment, out, argv))


def test_kept(directory):
    """Test that a result is kept, and is measured again if an input, an option or the size has
    changed, or with --again."""
    done = []

    def run(here):
        done.append(here.options.n)
        return {"n": len(done), "pair": (1, 2)}

    context.Context.say = lambda self, text: None
    experiment = made_up(Option("n", "N", "number", 1, None, options.whole), run=run)
    found = []
    for argv in ([], [], ["--n=2"], ["--n=2", "--again"], ["--n=2"], ["--n=2", "--quick"]):
        here = values(experiment, f"{directory}/kept", *argv)
        found.append(context.measured(here, experiment)["n"])
    experiment.INPUTS = ["README", "NEWS"]
    raw = context.measured(values(experiment, f"{directory}/kept", "--n=2"), experiment)
    t.same(
        [*found, raw["n"]],
        [1, 1, 2, 3, 3, 4, 5],
        "measured: a result is kept until an input, an option or the size changes",
    )
    t.same(raw["pair"], [1, 2], "measured: a new result passes through JSON, like a kept one")
    experiment.INPUTS = ["no such file"]
    here = values(experiment, f"{directory}/kept")
    words = "missing: no such file"
    t.raises(
        context.Failed,
        words,
        "measured: a missing input is an error",
        context.measured,
        here,
        experiment,
    )
    part = here.part("below", experiment, n=5)
    t.same(
        (part.out, part.options.n, part.options.quick, part.options.again),
        (f"{here.out}/below", 5, False, False),
        "part: the folder of a part is in the folder of its experiment",
    )


def test_commands(directory):
    experiment = made_up()
    here = values(experiment, f"{directory}/commands")
    here.run("sh", "-c", "echo seen")
    t.same(
        context.read(f"{here.out}/log"),
        "== sh -c echo seen\nseen\n",
        "run: a command and its output are logged",
    )
    command = ["sh", "-c", "echo why; exit 3"]
    t.raises(
        context.Failed,
        "why",
        "run: the error of a failed command shows the end of its log",
        here.run,
        *command,
    )
    t.same(here.run(*command, check=False), 3, "run: check=False returns the exit code")
    t.same(
        here.path_of("printf", "building\\n/a/path\\n"),
        "/a/path",
        "path_of: the last line is the path",
    )
    t.raises(
        context.Failed, "exit 1", "path_of: a failed script is an error", here.path_of, "false"
    )
    late = types.SimpleNamespace(out=here.out)
    try:
        context.Context.run(late, "sleep", "5", timeout=0.1)
        t.same("no error", "an error", "run: a command that exceeds its time")
    except context.Failed as e:
        t.same(
            "did not end in 0.1 s" in str(e),
            True,
            "run: a command that runs into its timeout is an error",
        )
    words = "apt-get install no-such-package"
    t.raises(
        context.Failed, words, "tools", context.need_tools, "sh", "no-such-tool:no-such-package"
    )
    bad = [experiment, f"{directory}/a b"]
    t.raises(
        context.Failed,
        "must not have a blank",
        "--out: a path with a blank is refused",
        values,
        *bad,
    )


def test_guests(directory):
    t.same(
        " ".join(guests.two_sockets(8, 2, 1)),
        "-m 2G -smp 8,sockets=2,cores=2,threads=2 -object memory-backend-ram,id=m0,size=1G"
        " -numa node,nodeid=0,memdev=m0,cpus=0-3 -object memory-backend-ram,id=m1,size=1G"
        " -numa node,nodeid=1,memdev=m1,cpus=4-7 -numa dist,src=0,dst=1,val=21",
        "guests: two_sockets() gives QEMU's arguments for a machine of two sockets",
    )
    context.store(f"{directory}/x.marks", "of another run")
    word = guests.plugged("p.so", f"{directory}/x.marks", ",ranks=7")
    t.same(
        (word, os.path.exists(f"{directory}/x.marks")),
        (f"p.so,out={directory}/x.marks,ranks=7", False),
        "guests: the marks of an earlier run are removed",
    )
    here, ran = values(made_up(), f"{directory}/guest"), []

    def run(*command, log=None, **more):
        ran.append(list(command))
        if log:
            context.store(log, "boot\r\n/x: exit 0\r\n")

    here.run = run
    guests.boot(here, "one", "bzImage", ["-m", "1G"], "do=x", "/x: exit 0")
    t.same(
        (ran[0][0], ran[0][-2:], f"{guests.APPEND} do=x" in ran[0]),
        ("qemu-system-x86_64", ["-m", "1G"], True),
        "guests: QEMU gets the machine's options and the kernel's command line",
    )
    t.same(
        context.read(f"{here.out}/one.log"),
        "boot\n/x: exit 0\n",
        "guests: the log of a guest is its console without CR",
    )
    bad = [here, "one", "bzImage", [], "", "/x: exit"]
    t.raises(
        context.Failed,
        "did not print",
        "guests: a guest that ends without its last line is an error",
        guests.boot,
        *bad,
    )
    guests.cluster(here, ["a", "b"], ["./a", "1"], ["--memory", "9"], "left")
    t.same(
        " ".join(ran[-1]).removeprefix(TOP),
        "/test/guest/run --put a --put b --nodes 1 --timeout 7200 --share"
        f" {here.out}/left --memory 9 -- ./a 1",
        "guests: a command in the virtual cluster gets its files and options",
    )


def test_job(directory):
    job.manifest(f"{directory}/m.json", sim={"container": {"cpus": 2}, "dimmap": {"size": "1M"}})
    isolators = [
        {"name": "container", "value": {"cpus": 2}},
        {"name": "dimmap", "value": {"size": "1M"}},
    ]
    t.same(
        context.load(f"{directory}/m.json"),
        {
            "acKind": "PodManifest",
            "acVersion": "0.8.11",
            "apps": [{"name": "sim", "app": {"isolators": isolators}}],
        },
        "job: manifest() writes a manifest with its isolators",
    )
    context.store(f"{directory}/gmx", "#!/bin/sh\necho $3 >>ran\n")
    os.chmod(f"{directory}/gmx", 0o755)
    environ = os.environ | {"PATH": f"{directory}:{os.environ['PATH']}"}
    command = [f"{TOP}/bench/lib/water.sh", "20", "nstxout = 2"]
    subprocess.run(command, cwd=directory, env=environ, check=True)
    lines = context.read(f"{directory}/md.mdp").splitlines()
    t.same(
        ("nsteps = 20" in lines, lines[-1], context.read(f"{directory}/ran")),
        (True, "nstxout = 2", "solvate\ngrompp\n"),
        "water.sh: the input has the requested steps and lines",
    )


def test_tap():
    verdicts = [Verdict(True, "one"), Verdict(False, "two"), Verdict(True, "three", "why")]
    want = "ok 1 - one\nnot ok 2 - two\nok 3 - three # SKIP why\n1..3"
    t.same(plan(verdicts), want, "tap: verdicts become lines of TAP")
    loader = importlib.machinery.SourceFileLoader("driver", f"{TOP}/bench/run")
    driver = importlib.util.module_from_spec(importlib.util.spec_from_loader("driver", loader))
    loader.exec_module(driver)

    def judged(*arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            return driver.shown(*arguments), out.getvalue()

    t.same(
        judged(verdicts, True),
        (1, want + "\n"),
        "bench/run --check: prints TAP and exits with 1 when a verdict does not hold",
    )
    t.same(
        judged(verdicts, False),
        (1, "does not hold: two\n1 of 2 verdicts hold, 1 were not judged\n"),
        "bench/run without --check: verdicts that do not hold are named",
    )
    t.same(
        judged(verdicts[:1], False),
        (0, "1 of 1 verdicts hold\n"),
        "bench/run: exits with 0 if all verdicts hold",
    )
    t.same(
        judged([], False), (0, ""), "bench/run --check: an experiment without verdicts is refused"
    )


def test_driver():
    names = bench("--list").stdout.split()
    folders = {n for n in os.listdir(f"{TOP}/bench") if os.path.isfile(f"{TOP}/bench/{n}/table.py")}
    t.same(set(names), folders, "bench/run --list: has all folders with a table")
    text = " ".join(bench("--help").stdout.split())
    for name in names:
        readme = context.read(f"{TOP}/bench/{name}/README")
        claim, _, rest = readme.partition("\n\n")
        t.same(
            (claim.startswith("Claim: "), " ".join(claim.split())[7:] in text),
            (True, True),
            f"{name}: README begins with the claim of --help",
        )
        experiment = importlib.import_module(f"bench.{name}.run")
        if getattr(experiment, "KEPT", True):
            key = context.key_of(experiment, options.parsed(name, experiment, "out", []))
            t.same(len(key), 64, f"{name}: its input files exist")
        missing = [k for k in ("Shows:", "Paper:", "Command:") if f"\n{k}" not in f"\n{rest}"]
        t.same(missing, [], f"{name}: README names number, paper and command")
    t.same(bench("no-such").returncode, 2, "bench/run: an unknown experiment is refused")
    t.same(bench().returncode, 2, "bench/run: a call without an experiment is refused")
    r = bench(names[0], "--no-such")
    t.same(
        ("unrecognized" in r.stderr, r.returncode),
        (True, 2),
        "bench/run: an unknown option is refused",
    )


def test_pages():
    """Test that experiments accept all their commands in pages and READMEs."""
    paths = ["doc/benchmarks.md", "doc/evaluation.md", "doc/virtual-cluster.md", "README"]
    paths += [f"bench/{name}/README" for name in bench("--list").stdout.split()]
    wrong = []
    for path in paths:
        for line in re.findall(r"bench/run ([a-z][^`\n]*)", context.read(f"{TOP}/{path}")):
            # a word in capitals stands for a path that the reader chooses
            name, *argv = [TOP if w.isupper() else w for w in shlex.split(line)]
            try:
                experiment = importlib.import_module(f"bench.{name}.run")
                given = [w for w in argv if w.startswith("--")]
                known = {"--" + o.name.replace("_", "-") for o in experiment.OPTIONS} | {
                    "--quick",
                    "--check",
                }
                if set(given) - known:
                    wrong.append(f"{path}: {line}")
                elif TOP not in argv:
                    options.parsed(name, experiment, "out", argv)
            except (ImportError, SystemExit):
                wrong.append(f"{path}: {line}")
    t.same(wrong, [], "pages and READMEs: every bench/run command in them is accepted")


def test_programs():
    """Compile the guests' programs, which no other test of "make check" does. MPI programs are left
    out, since a build machine may have no compiler for them; test/guest/lwk.py compiles them."""
    if not shutil.which("gcc"):
        t.skip("programs for guests", "no gcc")
        return
    paths = sorted(glob.glob(f"{TOP}/bench/**/*.c", recursive=True))
    paths = [p for p in paths if "/lib/" not in p and not p.endswith("/planner.c")]
    paths = [p for p in paths if "#include <mpi.h>" not in context.read(p)]
    for path in [*paths, f"{TOP}/bench/lib/mark.c"]:
        r = subprocess.run(["gcc", "-fsyntax-only", *guests.STRICT, path], capture_output=True)
        t.same((r.returncode, r.stderr), (0, b""), f"{os.path.relpath(path, TOP)} compiles")


def main():
    with tempfile.TemporaryDirectory() as directory:
        test_tables()
        test_numbers()
        test_marks(directory)
        test_options()
        test_commands(directory)
        test_kept(directory)
        test_guests(directory)
        test_job(directory)
    test_tap()
    test_driver()
    test_pages()
    test_programs()
    sys.exit(t.end())


main()
