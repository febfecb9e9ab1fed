#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the manual pages, README and other texts with the tables in the C sources and with the
built nodeosctl. Prints TAP. NODEOS_SOURCE is the source tree (default: this one), NODEOS_BUILD a
build tree; if it has a nodeosctl, that is run."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

from manpages import (
    BUILD,
    COMMANDS,
    PAGES,
    SOURCE,
    c_array,
    c_strings,
    command_page,
    done,
    items,
    makefile,
    ok,
    page,
    rank_numbers,
    read,
    same_set,
    section,
    skip,
    srun_options,
)
from rooms import ALLOWED

TOOL = os.path.abspath(os.path.join(BUILD, "nodeosctl"))
TEXTS = [
    "README",
    "NEWS",
    "doc/contention.md",
    "doc/install.md",
    "doc/status.md",
    "doc/HACKING.md",
]

# ------------------------------------------------------------------ the pages


def test_options():
    table = srun_options()
    documented = {}
    for line in items(section(page("nodeos-spank.8"), "OPTIONS")):
        found = re.match(r"Fl -(nodeos[a-z-]*) Ns = Ns (.*)", line)
        ok(found, f'nodeos-spank(8): ".It {line}" is an option with a value')
        if found:
            documented[found.group(1)] = found.group(2)
    same_set(documented, table, "nodeos-spank(8) has the options of spank/options.c")
    for name, values in table.items():
        words = re.findall(r"\w+", documented.get(name, ""))
        ok(
            all(v in words for v in re.findall(r"\w+", values)),
            f"nodeos-spank(8): --{name} has the values {values}",
            documented.get(name),
        )
    for file in TEXTS + [f"doc/{p}" for p in PAGES]:
        used = set(
            re.findall(r"--(nodeos[a-z-]*)", read(file).replace("\\-", "-").replace("Fl -", "--"))
        )
        used -= {"nodeos-"}  # --nodeos-NAME
        ok(
            used <= set(table),
            f"{file} names only options that exist",
            sorted(used - set(table)),
        )


def test_environment():
    text = page("nodeos.7")
    documented = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", section(text, "ENVIRONMENT")))
    source = read("launch/enter.c")
    expected = set(c_strings(c_array("launch/enter.c", "own_variable")))
    expected |= set(c_strings(c_array("launch/enter.c", "slurm_variable")))
    expected |= set(
        re.findall(r'(?:set_default\(env|set_list\(env|env->set\(env->arg), "(\w+)"', source)
    )
    for file in glob.glob(f"{SOURCE}/container/isolator_*.c"):
        expected |= set(re.findall(r'\.variable = "(\w+)"', read(os.path.relpath(file, SOURCE))))
    expected |= set(c_strings(c_array("container/isolator_mems.c", "kind_variable")))
    expected |= set(re.findall(r'strcmp\(name, "(\w+)"\)', source))
    same_set(documented, expected, "nodeos(7) has the variables that are set and removed for ranks")
    variables = read("launch/variables.h")
    travelling = re.findall(r'#define ENV_\w+ "(SLURM_SPANK_NODEOS_\w+)"', variables)
    documented = re.findall(r"^\.It Ev (SLURM_SPANK_NODEOS_\w+)$", page("nodeos-spank.8"), re.M)
    same_set(documented, travelling, "nodeos-spank(8) has the variables that carry the request")


def test_hooks():
    code = read("spank/dispatch.c")
    listed = " ".join(items(section(page("nodeos-spank.8"), "HOOKS")))
    same_set(
        re.findall(r"slurm_spank_\w+", listed),
        re.findall(r"^int (slurm_spank_\w+)\(", code, re.M),
        "nodeos-spank(8) has the hooks of spank/dispatch.c",
    )
    ok(
        "conf=" in section(page("nodeos-spank.8"), "SYNOPSIS")
        and '"conf=/"' in read("spank/plugstack.c"),
        "nodeos-spank(8) has the argument conf= of the plugin",
    )


def test_conf():
    # host/test/conf_test compares etc/nodeos.conf with the rows of host/conf_keys.c
    keys = re.findall(r"^#([a-z_]+) = ", read("etc/nodeos.conf"), re.M)
    text = page("nodeos.conf.5")
    same_set(
        re.findall(r"^\.It Ic (\w+)$", text, re.M),
        keys,
        "nodeos.conf(5) has the keys of etc/nodeos.conf",
    )
    every = set(keys)
    for name in PAGES:
        used = set(re.findall(r"^\.Ic (\w+)", page(name), re.M))
        ok(used <= every, f"{name} names only keys that exist", sorted(used - every))


def test_manifest():
    table = c_strings(c_array("manifest/request_ignored.c", "request_ignored_name"))
    text = page("nodeos-manifest.5")
    missing = [n for n in table if not re.search(rf"(?<![\w/-]){re.escape(n)}(?![\w/-])", text)]
    ok(table and not missing, "nodeos-manifest(5) names every ignored isolator", missing)


def tool_file(command):
    if command == "vnode":
        return "vnode/command.c"
    if command == "guest":
        return "guest/control/command.c"
    return (
        "tools/"
        + {"unprovision": "provision", "support-bundle": "support_bundle"}.get(command, command)
        + ".c"
    )


def tool_code(command):
    """Return the source of COMMAND. unprovision has the source of provision, but only the options
    in few[]."""
    code = read(tool_file(command))
    found = re.search(r"(.*)(\n\tstatic const struct option few\[\].*)", code, re.S)
    return (
        code
        if not found
        else (
            found.group(2)
            if command == "unprovision"
            else found.group(1) + found.group(2)[found.group(2).index("};") :]
        )
    )


def tool_options(command):
    """Return the long options of COMMAND with their short forms, from its table and its getopt
    call."""
    code = tool_code(command)
    if (
        command == "vnode"
        # "vnode move" is a separate program. In its table, options without a short form have
        # capitals.
    ):
        code += read("move/move_main.c")
    longs = re.findall(r'\{\s*"([a-z-]+)",\s*(?:no|required)_argument,\s*NULL,\s*\'(\w)\'', code)
    loop = read("tools/node_args.c") if "tool_node_options(" in code else code
    shorts = re.search(
        r'getopt\w*\(argc, argv, (?:(?:all|verbose) \? )?"([^"]*)"(?: : "([^"]*)")?', loop
    )
    letters = shorts.group(2 if command == "unprovision" else 1).replace(":", "") if shorts else ""
    return {name: letter if letter in letters else "" for name, letter in longs}


def test_tool():
    text = page("nodeosctl.1")
    same_set(
        re.findall(r"^\.It Xr nodeosctl-([\w-]+) 1$", section(text, "COMMANDS"), re.M),
        COMMANDS,
        "nodeosctl(1) has the commands of tools/nodeosctl.c",
    )
    general = section(text, "DESCRIPTION")
    ok(
        all(word in general for word in (".Fl \\-help\n.Pq Fl h", ".Fl \\-version\n.Pq Fl V")),
        "nodeosctl(1) has --help and --version",
    )
    for command in COMMANDS:
        text = command_page(command)
        ok(
            f".Dt NODEOSCTL-{command.upper()} 1\n" in text
            and f".Nm nodeosctl-{command}\n" in section(text, "NAME")
            and ".Xr nodeosctl 1" in section(text, "SEE ALSO"),
            f"nodeosctl-{command}(1) is the page of {command} and refers to nodeosctl(1)",
        )
        same_set(
            re.findall(r"^\.Nm nodeosctl\n\.Cm ([\w-]+)$", section(text, "SYNOPSIS"), re.M),
            [command],
            f"nodeosctl-{command}(1): the synopsis names {command}",
        )
        documented = {}
        for line in items(section(text, "OPTIONS")):
            found = re.match(r"Fl (?:(\w) , Fl )?-([a-z-]+)", line)
            if found:
                documented[found.group(2)] = found.group(1) or ""
        expected = tool_options(command)
        ok(expected.pop("help", None) == "h", f"{command} takes --help and -h")
        same_set(
            [f"{n} {s}" for n, s in documented.items()] or ["none"],
            [f"{n} {s}" for n, s in expected.items()] or ["none"],
            f"nodeosctl-{command}(1) has the options of {command}",
        )
        source = read(tool_file(command))
        usage = "".join(
            c_strings(
                re.search(
                    rf"static const char (?:usage\w*|{command}_usage)\[\] =(.*?);\n", source, re.S
                ).group(1)
            )
        )
        used = set(re.findall(r"--([a-z-]+)", usage)) - {"help"}
        ok(
            used <= set(documented),
            f"the usage text of {command} has no undocumented options",
            sorted(used - set(documented)),
        )


# ---------------------------------------------------------------------- JSON


def json_members():
    found = set()
    isolators = [
        os.path.relpath(f, SOURCE)[:-2] for f in glob.glob(f"{SOURCE}/container/isolator*.c")
    ]
    for file in isolators + [
        "container/container_json",
        "container/outcome",
        "launch/step_report",
        "hugepages/rank_report",
        "tools/check",
        "tools/list",
        "tools/plan",
        "report/node_report",
        "report/node_container",
        "report/merged_text",
        "tools/verify",
        "tools/features",
        "tools/provision",
        "report/kernel_cmdline",
        "serviceos/checklist",
    ]:
        code = read(f"{file}.c")
        found |= set(re.findall(r'jout_(?!raw)\w+\([^,"]*, "([^"]+)"', code))
        for table in re.findall(r"\bwanted\[\] = \{(.*?)\};", code, re.S):
            if file.startswith("container/isolator"):
                found |= {key for _, key in re.findall(r'\{ "(\w+)", "(\w+)" \}', table)}
        for either in re.findall(r'jout_\w+\([^,"]*, [^,"]* \? "([^"]+)" : "([^"]+)"', code):
            found |= set(either)
        found |= set(re.findall(r'\bprint_fact\(f, "([^"]+)"', code))
    for call in re.findall(
        r"json_object_object_add\(([^;]*?)json_object_new|json_object_object_add\(([^;]*)\)",
        read("report/merged_text.c"),
    ):
        found |= set(c_strings("".join(call)))
    guest = read("guest/control/facts.c") + read("guest/control/list.c")
    found |= set(re.findall(r'json_object_object_add\(\w+, "(\w+)"', guest)) - {"pipe"}
    found |= set(c_strings(c_array("guest/control/counts.c", "counted")))
    return found | {member for _, member in rank_numbers()}


def documented_members():
    words = set()
    text = section(page("nodeos-report.5"), "MEMBERS") + section(
        page("nodeos-report.5"), "DESCRIPTION"
    )
    text += "".join(section(command_page(c), "JSON") for c in COMMANDS)
    for line in re.findall(r"^\.(?:It )?Cm (.*)$", text, re.M):
        words |= set(re.split(r"[ ,]+", line))
    return {word for word in words if word[:1].isalpha()}


def schema_members(schema):
    """Return the names of all members in a JSON Schema."""
    if isinstance(schema, list):
        return set().union(*map(schema_members, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    own = (
        set(schema["properties"])
        if schema.get("type") == "object" and "properties" in schema
        else set()
    )
    return own.union(*map(schema_members, schema.values()))


def members_of(value):
    if isinstance(value, list):
        return set().union(*map(members_of, value)) if value else set()
    if isinstance(value, dict):
        return set(value).union(*map(members_of, value.values()))
    return set()


def test_json():
    same_set(
        documented_members(),
        json_members(),
        "the manual pages have the members of every JSON document",
    )
    same_set(
        sorted(
            schema_members(json.loads(read("doc/nodeos-report.schema.json"))) - documented_members()
        )
        or ["none"],
        ["none"],
        "the manual pages have the members of doc/nodeos-report.schema.json",
    )
    same_set(
        re.findall(r"^\.It Cm (\w+)$", section(page("nodeos-contention.5"), "MEMBERS"), re.M),
        schema_members(json.loads(read("doc/nodeos-contention.schema.json"))),
        "nodeos-contention(5) has the members of its schema",
    )
    step = read("launch/step_report.c")
    kinds = c_strings(re.search(r"part_word\(.*?\n\}", step, re.S).group(0))
    ok(
        kinds and all(f".Ql {k} " in page("nodeos-report.5") for k in kinds),
        "nodeos-report(5) has the words of part_word()",
        kinds,
    )
    found = re.search(r"name\[\] = \{(.*?)\};", read("container/outcome.c"))
    words = c_strings(found.group(1)) if found else []
    same_set(
        re.findall(r"^\.It Ql (\w+)$", section(page("nodeos.7"), "OUTCOMES"), re.M),
        words,
        "nodeos(7) has the outcomes of container/outcome.c",
    )


# ---------------------------------------------------------------- the built tool


def run(words, **kw):
    return subprocess.run([TOOL] + words, capture_output=True, text=True, timeout=120, **kw)


def test_built_tool():
    if not os.access(TOOL, os.X_OK):
        skip("output of the built nodeosctl", "no nodeosctl in the build tree")
        return
    examples = os.path.join(SOURCE, "etc/examples")
    r = run(["--help"])
    same_set(
        re.findall(r"^  ([\w-]+)", r.stdout, re.M),
        COMMANDS,
        "nodeosctl --help lists the commands",
    )
    ok(run(["help"]).stdout == r.stdout, "nodeosctl help prints the same as nodeosctl --help")
    h = run(["help", "help"])
    ok(
        (h.returncode, h.stdout) == (0, r.stdout),
        "nodeosctl help help prints the same as nodeosctl --help",
        h.stderr,
    )
    for command in COMMANDS:
        r = run([command, "--help"])
        ok(
            r.returncode == 0
            and f"nodeosctl {command}" in r.stdout
            and r.stdout.endswith(f"\nManual page: man nodeosctl-{command}\n"),
            f"nodeosctl {command} --help names its manual page",
            r.stdout,
            r.stderr,
        )
        helped = run(["help", command])
        ok(
            (helped.returncode, helped.stdout) == (0, r.stdout),
            f"nodeosctl help {command} prints the same as --help",
            helped.stdout,
            helped.stderr,
        )
    for words, says in (
        (["chek"], 'unknown command "chek", did you mean "check"? (see nodeosctl --help)'),
        (["help", "chek"], 'unknown command "chek", did you mean "check"? (see nodeosctl --help)'),
        (["help", "plan", "run"], "help: expected one COMMAND (see nodeosctl --help)"),
        (["--json"], 'unknown option "--json": a command comes first (see nodeosctl --help)'),
        (["delete"], "delete: no CONTAINER given (see nodeosctl delete --help)"),
        (["exec", "sim"], "exec: no COMMAND to run (see nodeosctl exec --help)"),
        (
            ["resize", "--cpus=2", "--step=-1", "sim"],
            "resize: --step=-1: expected the number of a step of srun, from 0 on, or JOB.STEP",
        ),
        (
            ["resize", "--step=7.", "sim"],
            "resize: --step=7.: expected the number of a step of srun, from 0 on, or JOB.STEP",
        ),
        (
            ["exec", "--step=.0", "sim", "true"],
            "exec: --step=.0: expected the number of a step of srun, from 0 on, or JOB.STEP",
        ),
        (
            ["exec", "--step=0.0", "sim", "true"],
            "exec: --step=0.0: expected the number of a step of srun, from 0 on, or JOB.STEP",
        ),
        (
            ["exec", "--job=7", "--step=8.0", "sim", "true"],
            "exec: --job and --step name different jobs, 7 and 8",
        ),
        (
            ["resize", "--step=8.0", "--job=7", "sim"],
            "resize: --job and --step name different jobs, 8 and 7",
        ),
        (["list", "x"], 'list: unexpected argument "x" (see nodeosctl list --help)'),
        (
            ["verify", "--al"],
            "verify: unrecognized option '--al'\nnodeosctl: see nodeosctl verify --help",
        ),
    ):
        r = run(words)
        ok(
            (r.returncode, r.stdout, r.stderr) == (2, "", f"nodeosctl: {says}\n"),
            f"nodeosctl {' '.join(words)}: the error is one line, not the whole usage",
            r.stderr,
        )
    known = documented_members()
    for words in (
        ["plan", "--json", "-t", "numa:4 core:2 pu:2", "-n", "1", "coupled.json"],
        ["plan", "-j", "-t", "core:8 pu:2", "rest.json"],
        ["check", "--json", "argo.json", "rest.json", "figure3.json", "nothing.json"],
        ["features", "--json"],
    ):
        r = run(words, cwd=examples)
        got = members_of(json.loads(r.stdout or "{}"))
        ok(
            got and got <= known,
            f"nodeosctl {' '.join(words)}: every member is documented",
            sorted(got - known),
            r.stderr,
        )
    every = "".join(command_page(c) for c in COMMANDS)
    blocks = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", every, re.M | re.S)
    ok(
        sum(b.startswith("$ nodeosctl") for b in blocks) >= 3,
        "the manual pages have at least three examples of nodeosctl",
    )
    for block in blocks:
        for command, wanted in re.findall(
            r"^\$ nodeosctl ([^\n]*)\n((?:(?!\$ ).*\n)*)", block, re.M
        ):
            r = subprocess.run(
                f"'{TOOL}' {command}",
                shell=True,
                cwd=examples,
                capture_output=True,
                text=True,
                timeout=120,
            )
            ok(
                r.stdout == wanted,
                f"nodeosctl {command} prints what the example in its page shows",
                *r.stdout.splitlines(),
                r.stderr,
            )
    shown = re.search(r"^    (\{ \"acKind\".*?)\n\n", read("README"), re.M | re.S)
    r = run(["check", "--request", "-"], input=shown.group(1) if shown else "")
    want = run(["check", "--request", os.path.join(examples, "coupled.json")])
    ok(
        r.returncode == 0 and r.stdout == want.stdout,
        "README's manifest gives the request of etc/examples/coupled.json",
        r.stdout,
        r.stderr,
    )
    commands = re.findall(r"^    \S*/nodeosctl (.*)$", read("README"), re.M)
    ok(len(commands) >= 2, "README has at least two commands of nodeosctl")
    for command in commands:
        r = subprocess.run(
            f"'{TOOL}' {command}",
            shell=True,
            cwd=SOURCE,
            capture_output=True,
            text=True,
            timeout=120,
        )
        ok(r.returncode == 0 and r.stdout, f'README\'s "nodeosctl {command}" works', r.stderr)


# ----------------------------------------------------------------- references

TOP = tuple(ALLOWED)
FILES = ("AUTHORS", "CONTRIBUTING", "COPYING", "NEWS", "README", "SECURITY")


def exists(name):
    """Return whether NAME is a file, or a test program that has a source."""
    path = os.path.join(SOURCE, name)
    return os.path.exists(path) or "/test/" in name and os.path.exists(f"{path}.c")


def references(text):
    """Yield the names of this tree's files in TEXT. These are words in backquotes, and commands on
    their own lines."""
    words = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^ +(\./\S+)$", text, re.M)
    for word in words:
        word = word.split()[0]
        if (
            word in ("./configure",) or "NAME" in word
        ):  # autoreconf makes configure, and NAME is a placeholder
            continue
        if word.startswith("./") or word.split("/")[0] in TOP or word in FILES:
            yield word[2:] if word.startswith("./") else word
    yield from re.findall(r"^    ([a-z]+/) ", text, re.M)


def test_references():
    for file in sorted(set(TEXTS) - {"NEWS"}) + ["CONTRIBUTING", "SECURITY"]:
        named = set(references(read(file)))
        missing = sorted(n for n in named if not exists(n))
        least = 10 if file == "README" else 3
        ok(
            len(named) > least and not missing,
            f"the {len(named)} files that {file} names exist",
            missing,
        )
    listed = re.findall(r"^    ([a-z]+)/ ", read("README"), re.M)
    same_set(listed, ALLOWED, "README's tree has all rooms")
    for file in TEXTS + ["SECURITY"]:
        pages = set(re.findall(r"\b(nodeos[a-z.-]*)\((\d)\)", read(file)))
        ok(
            pages and all(f"{n}.{s}" in PAGES for n, s in pages),
            f"the manual pages that {file} names exist",
            sorted(pages),
        )
    ok(all(f"doc/{p}" in makefile() for p in PAGES), "Makefile.am installs every manual page")
    same_set(
        [os.path.basename(p) for p in glob.glob(os.path.join(SOURCE, "doc/*.[1-8]"))],
        PAGES,
        "Makefile.am's list of manual pages is complete",
    )
    for name in PAGES:
        found = re.findall(r"^\.Xr (nodeos\S*) (\d)", page(name), re.M)
        ok(
            all(f"{n}.{s}" in PAGES and f"{n}.{s}" != name for n, s in found),
            f"{name} refers to pages that exist",
            found,
        )


def test_status():
    """Check the tables of doc/status.md: each row has all columns, and each cell is short."""
    parts = re.split(r"^## ", read("doc/status.md"), flags=re.M)
    tables = [re.findall(r"^\|(.*)\|$", part, re.M) for part in parts]
    for part, columns, least in ((1, 4, 40), (2, 7, 4), (3, 3, 5), (4, 7, 10)):
        rows = [[c.strip() for c in row.split("|")] for row in tables[part][2:]]
        title = parts[part].splitlines()[0]
        wrong = [r for r in rows if len(r) != columns or not all(r[:2])]
        ok(len(rows) >= least and not wrong, f"{title}: {columns} columns in each row", *wrong)
        wide = [c for r in rows for c in r if len(c) > 80]
        ok(not wide, f"{title}: no cell above 80 characters", *wide)
    lines = len(read("README").splitlines())
    ok(lines <= 130, "README has at most 130 lines", lines)


def test_lint():
    if not shutil.which("mandoc"):
        skip("mandoc finds nothing", "mandoc is not installed")
        return
    for name in PAGES:
        r = subprocess.run(
            ["mandoc", "-Tlint", "-W", "warning", os.path.join(SOURCE, "doc", name)],
            capture_output=True,
            text=True,
        )
        ok(
            r.returncode == 0 and not r.stdout,
            f"mandoc finds nothing in {name}",
            *r.stdout.splitlines(),
        )


for test in (
    test_lint,
    test_options,
    test_environment,
    test_hooks,
    test_conf,
    test_manifest,
    test_tool,
    test_json,
    test_built_tool,
    test_status,
    test_references,
):
    test()
sys.exit(done())
