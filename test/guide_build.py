#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of doc/guide.md that need no cluster: each block has a marker; commands that need no Slurm
run with the built nodeosctl; manifests and scripts are valid; commands of the source tree, options,
keys, manual pages, links and files that the guide names exist. TAP.
The other blocks are run by guest/guide.py."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from guide_blocks import COMMANDS, Shell, blocks, try_block
from manpages import BUILD, PAGES, SOURCE, c_strings, done, ok, read, skip, srun_options
from rooms import INSTALLED

TOOL = os.path.join(BUILD, "nodeosctl")
TEXT = read("doc/guide.md")
BLOCKS = blocks(TEXT)
PROSE = re.sub(r"^(?:<!--.*?-->\n)?```.*?^```$", "", TEXT, flags=re.M | re.S)
EXAMPLES = "/usr/share/doc/nodeos-tools/examples/"
# programs in tree blocks that have no help text, and their allowed arguments
MAKERS = {
    "autoreconf": [],
    "make": ["install"],
    "mkdir": ["-p", "build/plain"],
    "cd": ["build/plain"],
}


def run(argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, **kw)


def commands():
    """Yield (block, words) for each simple command in all blocks of commands. The words only
    approximate those of a shell."""
    for block in BLOCKS:
        if (
            block.kind not in COMMANDS + ("tree", "skip", "file")
            or block.kind == "file"
            and not block.text.startswith("#!")
        ):
            continue
        for line in re.sub(
            r"<<(\w+)\n.*?^\1$", "", block.text.replace("\\\n", " "), flags=re.M | re.S
        ).splitlines():
            for part in re.split(
                r"\s(?:&&|\|\||[|;&])(?:\s|$)",
                (
                    line.removeprefix("#SBATCH").join(["sbatch ", ""])
                    if line.startswith("#SBATCH")
                    else line
                ),
            ):
                try:
                    words = shlex.split(part, comments=True)
                except ValueError:
                    # PART is one line of a quoted text of several lines
                    words = part.replace("'", " ").replace('"', " ").split()
                if words:
                    yield block, words


def test_kinds():
    kinds = {
        k: sum(b.kind == k for b in BLOCKS) for k in COMMANDS + ("tree", "file", "output", "skip")
    }
    ok(min(kinds.values()) > 0, "the guide has blocks of all kinds", kinds)
    run_ones = [b for b in BLOCKS if b.kind in COMMANDS]
    ok(
        sum(bool(b.expect) for b in run_ones) > len(run_ones) / 2,
        "the guide: more than half of the blocks of commands have an expectation",
    )
    for b in BLOCKS:
        if b.kind == "skip":
            print(f"# not run, line {b.line}: {b.reason}")


def test_files(directory):
    for b in BLOCKS:
        if b.kind != "file":
            continue
        path = os.path.join(directory, b.name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(b.text)
        if b.name.endswith(".json"):
            r = run([TOOL, "check", path])
            ok(
                r.returncode == 0 and ": ok: " in r.stdout,
                f"guide: {b.name} is a valid manifest",
                r.stderr,
            )
        elif b.text.startswith("#!"):
            os.chmod(path, 0o755)
            r = run(["bash", "-n", path])
            ok(r.returncode == 0, f"guide: {b.name} is a valid shell script", r.stderr)
        elif b.name.endswith(".c"):
            r = run(
                [
                    "cc",
                    "-fsyntax-only",
                    "-x",
                    "c",
                    "-Wall",
                    "-Wextra",
                    "-Wno-unused-parameter",
                    "-fopenmp",
                    "-I",
                    directory,
                    "-",
                ],
                input=b.text.replace(
                    "#include <mpi.h>",
                    "int MPI_Init(int *, char ***), MPI_Comm_rank(int, int *),"
                    " MPI_Finalize(void);\n#define MPI_COMM_WORLD 0",
                ),
            )
            ok(r.returncode == 0 and not r.stderr, f"guide: {b.name} is valid C", r.stderr)
    want = run([TOOL, "check", "--request", os.path.join(SOURCE, "etc/examples/coupled.json")])
    got = run([TOOL, "check", "--request", os.path.join(directory, "coupled.json")])
    ok(
        got.stdout and got.stdout == want.stdout,
        "guide: coupled.json is the example of the same name",
        got.stdout,
        want.stdout,
    )
    parts = re.findall(r"`(\{ \"name\": .*?\} \})`", PROSE)
    ok(parts, "the guide's text shows isolators")
    for part in parts:
        m = (
            '{"acKind": "ImageManifest", "acVersion": "0.8.11", "name": "x", "app": {"isolators":'
            ' [{"name": "container", "value": {}}, %s]}}' % part
        )
        r = run([TOOL, "check", "-"], input=m)
        ok(r.returncode == 0, f"guide: {part} is a valid isolator", r.stderr)


def test_anywhere(directory):
    env = {
        "PATH": f"{BUILD}:/usr/bin:/bin",
        "HOME": directory,
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
    }
    shell = Shell(["bash"], env, directory, directory)
    printed = ""
    before = None
    for b in BLOCKS:
        if b.kind == "anywhere":
            if "--svg" in b.text and not shutil.which("lstopo-no-graphics"):
                skip(b.title, "lstopo-no-graphics (hwloc-nox) is not installed")
                continue
            wrong, printed = try_block(b, shell, 60)
            ok(not wrong, b.title, *wrong, *printed.splitlines())
        elif b.kind == "output" and before and before.kind == "anywhere":
            ok(
                re.search(b.pattern(), printed, re.M),
                f"guide, line {b.line}: the commands print this output",
                *printed.splitlines(),
            )
        before = b
    shell.end()


def options_in(words):
    return {w.split("=")[0] for w in words if re.match(r"--[a-z]", w)}


def test_tree():
    """Check that the options of commands in tree blocks are in the commands' help texts."""
    seen = 0
    for block, words in commands():
        if block.kind != "tree":
            continue
        seen += 1
        program, rest = words[0], words[1:]
        if program in MAKERS:
            ok(
                all(w in MAKERS[program] or w == "-i" for w in rest),
                f"guide, line {block.line}: {' '.join(words)} has only allowed arguments",
            )
            continue
        path = os.path.normpath(os.path.join(SOURCE, "build/plain", program))
        if program != "../../configure":
            path = os.path.join(SOURCE, program)
        if program == "../../configure":
            helped = run([path, "--help"], cwd=SOURCE).stdout if os.path.exists(path) else None
        else:
            helped = run([path, "--help"]).stdout if os.access(path, os.X_OK) else None
        ok(helped, f"guide, line {block.line}: {program} exists and has a help text")
        unknown = [o for o in options_in(rest) if not re.search(rf"{o}\b", helped or "")]
        ok(
            not unknown,
            f"guide, line {block.line}: the options of {' '.join(words)} exist",
            unknown,
        )
    ok(seen > 5, "the guide has commands of the source tree")
    made = set(re.findall(r"^Package: (\S+)$", read("contrib/packaging/debian/control"), re.M))
    named = set(
        re.findall(
            r"/(?:packages/)?((?:slurm-|lib)?nodeos[a-z0-9-]*|dimmap-dkms)_\*\.deb|apt-get"
            r" (?:remove|install) -y ([^/.\n]*)$",
            TEXT,
            re.M,
        )
    )
    names = {w for pair in named for part in pair for w in part.split()} - {
        "dkms",
        "linux-headers-amd64",
    }
    ok(
        len(names) > 3 and names <= made,
        "packages that the guide names are built",
        sorted(names - made),
    )
    listed = re.search(r"leaves (`[^.]*) in `/shared/packages`", TEXT)
    ok(
        listed and set(re.findall(r"`([^`]+)`", listed[1])) == made,
        "the guide lists all packages that are built",
        sorted(made),
    )


def test_options():
    table = set(srun_options())
    used = set(re.findall(r"--(nodeos[a-z-]*)", TEXT)) - {"nodeos-"}
    ok(table and used <= table, "options of srun that the guide names exist", sorted(used - table))
    ok(table <= used, "the guide names every option that NodeOS adds to srun", sorted(table - used))
    helps, seen = {}, 0
    for block, words in commands():
        for i, word in enumerate(words):
            if word != "nodeosctl" or i + 1 == len(words):
                continue
            command, rest = words[i + 1], words[i + 2 :]
            if command not in helps:
                helps[command] = run([TOOL, command, "--help"])
            r = helps[command]
            ok(
                r.returncode == 0,
                f"guide, line {block.line}: nodeosctl {command} has a help text",
                r.stderr,
            )
            unknown = [
                o
                for o in options_in([w.rstrip(",") for w in rest] if command != "exec" else [])
                if not re.search(rf"{o}\b", r.stdout)
            ]
            short = [w for w in rest if re.fullmatch(r"-[a-z]", w)] if command != "exec" else []
            ok(
                not unknown,
                f"guide, line {block.line}: the options of nodeosctl {command} exist",
                unknown,
            )
            ok(
                all(re.search(rf"(?<!\S)[\[]?{s}\b", r.stdout) for s in short),
                f"guide, line {block.line}: the short options of nodeosctl {command} exist",
                short,
            )
            seen += 1
    ok(seen > 10 and len(helps) > 8, "the guide has commands of nodeosctl", seen, sorted(helps))
    keys = set(re.findall(r"^#([a-z_]+) = ", read("etc/nodeos.conf"), re.M))
    used = set(re.findall(r"(?:^|[`'/^])([a-z_]+) = ", TEXT, re.M)) | set(
        re.findall(r"`([a-z]+_[a-z_]+)`", PROSE)
    )
    ok(
        len(used) > 4 and used <= keys,
        "keys of nodeos.conf that the guide names exist",
        sorted(used - keys),
    )
    units = {
        os.path.basename(f).removesuffix(".in")
        for f in glob.glob(os.path.join(SOURCE, "etc/systemd/*"))
    }
    named = set(re.findall(r"\bnodeos[a-z-]*\.(?:service|socket|timer)", TEXT))
    ok(named and named <= units, "systemd units that the guide names exist", sorted(named - units))


def test_messages():
    """Check that messages which the guide quotes are in the sources or in a manual page."""
    sources = "".join(
        read(os.path.relpath(f, SOURCE))
        for d in INSTALLED
        for f in glob.glob(os.path.join(SOURCE, d, "*.[ch]"))
    )
    sources = re.sub(r'"\s*\n?\s*"', "", sources).replace('\\"', '"') + read(
        "etc/examples/phases.c"
    )
    sources += "".join(read(f"doc/{p}") for p in PAGES)
    quoted = re.findall(r"^(?:- |\| |When it goes wrong: )?`([^`]+)`[^`\n]*(?::| \|)", PROSE, re.M)
    messages = [
        q
        for q in quoted
        if " " in q
        and not q.startswith(("sbatch:", "srun ", "error: nodeos:", "not enough", "--", "{"))
    ]
    ok(len(messages) > 6, "the guide quotes messages", messages)
    for message in messages:
        # for a number or a quoted name in the guide, the sources have a conversion of printf()
        parts = [
            p for p in re.split(r"\.\.\.|\d+(?:\.\d+)*|\"[^\"]*\"", message) if len(p.strip()) > 5
        ]
        missing = [
            p
            for p in parts
            if not re.search(re.escape(p.strip()).replace(r"\ ", r"(?: |%s |%u )"), sources)
        ]
        ok(
            parts and not missing,
            f"the sources or manual pages have the guide's message: {message}",
            missing,
        )


def test_references():
    pages = set(re.findall(r"\b((?:nodeos|dimmapfs)[a-z.-]*)\((\d)\)", TEXT))
    ok(
        len(pages) > 6 and all(f"{n}.{s}" in PAGES for n, s in pages),
        "manual pages that the guide names exist",
        sorted(pages),
    )
    for title, name in re.findall(
        r"([A-Z]{4,}(?: OF MEMORY)?|Upgrading) in `(nodeos[a-z-]*\(\d\))`", PROSE
    ):
        text = read("doc/" + name.replace("(", ".").rstrip(")"))
        ok(
            re.search(rf"^\.S[hs] \"?{title}\"?$", text, re.M),
            f"{name} has the section {title}, which the guide names",
        )
    heads = {
        re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-")
        for h in re.findall(r"^#+ (.*)$", PROSE, re.M)
    }
    links = re.findall(r"\]\(([^)]+)\)", PROSE)
    bad = [
        t
        for t in links
        if t.startswith("#")
        and t[1:] not in heads
        or not t.startswith("#")
        and not os.path.exists(os.path.join(SOURCE, "doc", t))
    ]
    ok(len(links) > 4 and not bad, "the guide's links have targets", bad, sorted(heads))
    files = re.findall(re.escape(EXAMPLES) + r"([\w.-]+)", TEXT)
    ok(
        files and all(os.path.exists(os.path.join(SOURCE, "etc/examples", f)) for f in files),
        "examples that the guide names exist",
        files,
    )
    shipped = c_strings(
        '"'
        + '" "'.join(
            re.findall(
                r"usr/share/doc/nodeos-tools/examples/(\S+)",
                " ".join(
                    read(os.path.relpath(f, SOURCE))
                    for f in glob.glob(os.path.join(SOURCE, "contrib/packaging/debian/*.install"))
                ),
            )
        )
        + '"'
    )
    ok(
        all(
            any(re.fullmatch(s.replace(".", r"\.").replace("*", ".*"), f) for s in shipped)
            for f in files
        ),
        "packages have the examples that the guide names",
        files,
        shipped,
    )
    paths = set(re.findall(r"`((?:kernel|contrib|etc|doc)/[\w./-]+)`", PROSE))
    ok(
        paths and all(os.path.exists(os.path.join(SOURCE, p)) for p in paths),
        "files of the source tree that the guide names exist",
        sorted(paths),
    )


test_kinds()
with tempfile.TemporaryDirectory() as scratch:
    scratch = os.path.realpath(scratch)
    if os.access(TOOL, os.X_OK):
        test_files(scratch)
        test_anywhere(scratch)
        test_options()
    else:
        skip("output of the built nodeosctl", "no nodeosctl in the build tree")
test_tree()
test_messages()
test_references()
sys.exit(done())
