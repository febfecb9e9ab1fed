#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the manual pages with the options, isolators, keys, variables, files and messages of the
sources and of the built programs. Each of these must be documented, and everything that is
documented must exist. Prints TAP. docs_test.py has other tests of the manual pages.
"""

import glob
import os
import re
import subprocess
import sys

from manpages import (
    BUILD,
    COMMANDS,
    PAGES,
    SOURCE,
    c_array,
    c_strings,
    c_unescape,
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
)
from rooms import INSTALLED

# Programs with a page: the source of their options, and their command in a build tree.
PROGRAMS = {
    "nodeos-dimsim": ("dimmap/sim/options.c", [f"{BUILD}/nodeos-dimsim"]),
    "nodeos-guest": ("guest/options.c", [f"{BUILD}/nodeos-guest"]),
    "nodeos-lwk": ("lwk/options.c", [f"{BUILD}/nodeos-lwk"]),
    "nodeos-noise": ("tools/noise/noise.c", [f"{BUILD}/nodeos-noise"]),
    "nodeos-mpirun": ("spank/nodeos-mpirun", ["sh", f"{SOURCE}/spank/nodeos-mpirun"]),
}
TOOL = f"{BUILD}/nodeosctl"


def printed(argv):
    return subprocess.run(argv + ["--help"], capture_output=True, text=True, timeout=60).stdout


def sources(*patterns):
    """Return the C files that match the patterns, without tests."""
    found = [f for p in patterns for f in glob.glob(os.path.join(SOURCE, p), recursive=True)]
    return [
        f
        for f in sorted(found)
        if "/test/" not in f and not f.endswith("_test.c") and "fuzz" not in f
    ]


def content(files):
    return "\n".join(open(f, encoding="utf-8").read() for f in files)


# ------------------------------------------------------------------- options


def table_options(file):
    """Return the options of a source as "-s --long=", where = stands for a value and [=] for an
    optional value."""
    text = read(file)
    value = {"no": "", "required": "=", "optional": "[=]"}
    found = {
        f"-{short} --{name}{value[kind]}"
        for name, kind, short in re.findall(
            r'\{\s*"([a-z-]+)",\s*(no|required|optional)_argument,\s*NULL,\s*\'(\w)\'', text
        )
    }
    for short, name, rest in re.findall(
        r'add_argument\(\s*"-(\w)",\s*"--([a-z-]+)"((?:[^()]|\([^()]*\))*)', text
    ):  # argparse
        found.add(f"-{short} --{name}" + ("" if "store_true" in rest else "="))
    found |= {
        f"-{short} --{name}" for short, name in re.findall(r"^-(\w) \| --([a-z-]+)\)", text, re.M)
    }  # options in patterns of "case" in a shell script
    return found | ({"-h --help"} if "argparse" in text else set())


def page_options(text):
    """Return the options of .It lines, in the form of table_options()."""
    found = set()
    for line in items(text):
        m = re.match(r"Fl (\w)(?: Ns Oo Ar \w+ Oc)? , Fl -([a-z-]+)(?: Ns (Op )?=)?", line)
        if m:
            found.add(
                f"-{m.group(1)} --{m.group(2)}"
                + (
                    ""
                    if "= Ns" not in line and " Op =" not in line
                    else "[=]"
                    if m.group(3)
                    else "="
                )
            )
    return found


def help_options(text):
    """Return the options of a usage text, in the form of table_options()."""
    found = set()
    for short, name, value in re.findall(
        r"^ +-(\w)(?: [A-Z]\S*)?, --([a-z-]+)(\[=|=| [A-Z])?", text, re.M
    ):
        found.add(f"-{short} --{name}" + {"": "", "[=": "[=]"}.get(value, "="))
    return found


def test_programs():
    for name, (file, argv) in PROGRAMS.items():
        text, table = page(f"{name}.1"), table_options(file)
        if name == "nodeos-mpirun":
            same_set(
                re.findall(r"^\.Fl (\w) \| \\-([a-z]+)$", text, re.M),
                [("h", "help")],
                "nodeos-mpirun(1) has --help and -h",
            )
            same_set(table, ["-h --help"], "nodeos-mpirun has only the options --help and -h")
            ok(
                "--help (-h)" in printed(argv),
                "nodeos-mpirun prints its option --help (-h)",
                printed(argv),
            )
            continue
        same_set(
            page_options(text),
            table,
            f"{name}(1) has the options of {file}, with and without values",
        )
        flags = re.sub(r"\.Fl \\-\n|Fl \\-$", "", section(text, "SYNOPSIS"), flags=re.M)
        known = {option[1] for option in table}
        used = set("".join(re.findall(r"\bFl (\w+)", flags)))
        ok(
            used <= known,
            f"{name}(1): the synopsis has options of {file} only",
            sorted(used - known),
        )
        if os.access(argv[-1], os.R_OK):
            same_set(help_options(printed(argv)), table, f"{name} --help has the options of {file}")
        else:
            skip(f"{name} --help", "the program is not built")
    same_set(
        [p[:-2] for p in PAGES if p.endswith(".1") and not p.startswith("nodeosctl")],
        PROGRAMS,
        "this test has every page of section 1",
    )
    built = re.findall(r"^bin_PROGRAMS \+= (.*)$", makefile(), re.M) + [
        os.path.basename(w) for w in re.findall(r"^dist_bin_SCRIPTS \+= (.*)$", makefile(), re.M)
    ]
    same_set(
        " ".join(built).split(),
        # not these two, which are helpers; an admin can also run them by hand
        [p for p in PROGRAMS if p not in ("nodeos-guest", "nodeos-lwk")] + ["nodeosctl"],
        "this test has every program that is installed for users",
    )


def test_nodeosctl():
    """Compare the options, with their values, in the page, the synopsis and the usage text of each
    command. docs_test.py compares the names of options with the sources."""
    if not os.access(TOOL, os.X_OK):
        skip("output of nodeosctl's commands", "no nodeosctl in the build tree")
        return
    for command in re.findall(r"^  ([\w-]+)", printed([TOOL]), re.M):
        text, documented, shorts = command_page(command), set(), {}
        for line in items(section(text, "OPTIONS")):
            m = re.match(r"Fl (?:(\w) , Fl )?-([a-z-]+)( Ns = Ns)?", line)
            if m:
                documented.add(f"--{m.group(2)}" + ("=" if m.group(3) else ""))
                shorts[m.group(1)] = m.group(2)
        usage = printed([TOOL, command])
        table = {
            f"--{name}" + ("=" if value else "")
            for name, value in re.findall(r"^ +(?:-\w, |    )?--([a-z-]+)(=)?", usage, re.M)
        } - {"--help"}
        same_set(
            documented or {"none"},
            table or {"none"},
            f"nodeosctl-{command}(1) and --help have the same options and values",
        )
        flags = section(text, "SYNOPSIS")
        used = set(re.findall(r"Fl (?:[^\n]*\| )?\\-([a-z][a-z-]+)", flags))
        for group in re.findall(r"Fl (\w+)", flags):
            used |= {shorts.get(letter, f"-{letter}?") for letter in group}
        same_set(
            used or {"none"},
            {o.strip("-=") if o != "none" else o for o in documented} or {"none"},
            f"nodeosctl-{command}(1): the synopsis has the same options",
        )
    for file in ["README", "NEWS", "doc/install.md", "doc/HACKING.md"] + [
        f"doc/{p}" for p in PAGES
    ]:
        # a command is in mdoc's quotes, in backquotes, or at the start of an example's line
        words = set(
            re.findall(
                r"(?:^\.Q[lq] |`|^ +(?:\S+/)?|[$#] )nodeosctl ([a-z-]+)",
                read(file).replace("\\-", "-"),
                re.M,
            )
        )
        unknown = words - {"help", *COMMANDS}
        ok(not unknown, f"{file} names only commands of nodeosctl that exist", sorted(unknown))


def test_helpers():
    """Check that programs which the plugin starts have a help text, and that nodeos-script prints
    its own name."""
    for name in ("nodeos-plan", "nodeos-script"):
        path = f"{BUILD}/{name}"
        if not os.access(path, os.X_OK):
            skip(f"{name} --help", f"{name} is not built")
            continue
        ok(printed([path]).startswith(f"Usage: {name}"), f"{name} --help names {name}")
        wrong = subprocess.run([path, "--none"], capture_output=True, text=True, timeout=60)
        ok(
            wrong.returncode == 2 and name in wrong.stderr and "nodeosctl: " not in wrong.stderr,
            f"{name} with a wrong option exits with 2, and the message names {name}",
            wrong.stderr,
        )
    for name in ("nodeos-noise", "nodeos-dimsim"):
        path = f"{BUILD}/{name}"
        if not os.access(path, os.X_OK):
            skip(f"{name} --version", f"{name} is not built")
            continue
        got = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
        version = re.search(r"AC_INIT\(\[nodeos\], \[([^\]]*)\]", read("configure.ac"))[1]
        ok(
            (got.returncode, got.stdout) == (0, f"{name} {version}\n"),
            f"{name} --version prints {name} and the version",
            got.stdout,
            got.stderr,
        )


def test_daemon():
    if not os.access(f"{BUILD}/nodeosd", os.X_OK):
        skip("nodeosd --help", "nodeosd is not built")
        return
    usage = printed([f"{BUILD}/nodeosd"])
    same_set(
        re.findall(r"^  (-\w, --[a-z]+)", usage, re.M),
        ["-h, --help", "-V, --version"],
        "nodeosd --help has the options of nodeosd",
    )
    served = re.findall(r'\[ASK_\w+\] = "([a-z]+)"', read("control/protocol.c"))
    # only libnodeos sends query, and no command has this name
    ok("ASK_QUERY" in read("control/libnodeos.c"), "libnodeos sends query")
    served.remove("query")
    # exec sends find, and then runs srun
    served[served.index("find")] = "exec"
    same_set(
        re.findall(r"nodeosctl ([a-z, ]+)[);]", usage)[0].split(", "),
        served,
        "nodeosd --help names the commands that send requests to nodeosd",
    )
    asks = [c for c in COMMANDS if re.search(r"^\.Nm nodeosd", command_page(c), re.M)]
    same_set(asks, served, "the pages of these commands, and of no others, name nodeosd")


# ------------------------------------------------------------------ manifest


def test_library():
    """Check that the header, the manual page, the map and the built library of libnodeos have the
    same functions, and that each exported function has a version."""
    declared = set(re.findall(r"\b(nodeos_\w+)\(", read("control/nodeos.h")))
    named = re.findall(r"^\t\t(\w+);", read("control/libnodeos.map"), re.M)
    same_set(set(named), declared, "libnodeos: the map and the header have the same functions")
    same_set(
        set(re.findall(r"^\.Fn (nodeos_\w+) ", section(page("nodeos.3"), "SYNOPSIS"), re.M)),
        declared,
        "libnodeos: nodeos(3) and the header have the same functions",
    )
    built = glob.glob(f"{BUILD}/.libs/libnodeos.so.?")
    if not built:
        skip("the built libnodeos has its functions, with versions", "libnodeos is not built")
        return
    out = subprocess.run(
        ["nm", "-D", "--defined-only", built[0]], capture_output=True, text=True, timeout=60
    ).stdout
    has = {m[0]: m[1] for m in re.findall(r" T (\w+)(@@NODEOS_[\d.]+)?$", out, re.M)}
    same_set(
        set(has), declared, "libnodeos: the built library exports exactly the header's functions"
    )
    ok(
        all(has.values()),
        "libnodeos: each exported function has a version",
        *(n for n, v in has.items() if not v),
    )


def tree(text):
    """Return the .It lines of nested lists as (depth, line)."""
    depth, out = 0, []
    for line in text.splitlines():
        depth += line.startswith(".Bl") - line.startswith(".El")
        if line.startswith(".It "):
            out.append((depth, line[4:]))
    return out


def members(line):
    return re.split(r" , ", line[3:]) if line.startswith("Cm ") else []


def test_isolators():
    text = section(page("nodeos-manifest.5"), "Isolators", ".Ss")
    rows = c_array("manifest/manifest_keys.c", "manifest_isolators")
    # NodeOS refuses partition, with advice
    known = re.findall(r'\{ "([a-z]+)", ', rows) + ["partition"]
    ignored = c_strings(c_array("manifest/request_ignored.c", "request_ignored_name"))
    # keys_test.py compares isolators that are one number
    ignored = [name for name in ignored if name not in dict(rank_numbers())]
    documented, inner, at = [], {}, None
    for depth, line in tree(text):
        if depth == 1:
            documented += [w for w in members(line) if "*" not in w]
            at = members(line)[0] if members(line) else None
        elif depth == 2:
            inner.setdefault(at, []).extend(members(line))
    documented += re.findall(r"^\.Cm ((?:resource|os)/[\w/-]+)", text, re.M)
    same_set(
        documented,
        known + ignored,
        "nodeos-manifest(5) has the isolators of manifest/manifest_keys.c and request_ignored.c",
    )
    for name, array in (
        ("container", "container_keys"),
        ("scheduler", "scheduler_keys"),
        ("dimmap", "dimmap_keys"),
    ):
        table = re.findall(r'\.name = "([a-z_]+)"', c_array("manifest/manifest_keys.c", array))
        same_set(inner.get(name, []), table, f"nodeos-manifest(5) has the members of {name}")
    for title, array in (
        ("Fields of an ImageManifest", "image_manifest_fields"),
        ("Fields of a PodManifest", "pod_manifest_fields"),
    ):
        table = re.findall(r'\{ "(\w+)", &', c_array("manifest/appc.c", array))
        part = section(page("nodeos-manifest.5"), title, ".Ss")
        same_set(
            [m for _, line in tree(part) for m in members(line)],
            table,
            f"nodeos-manifest(5): {title} are those of manifest/appc.c",
        )
    text = page("nodeos-manifest.5")
    for start, array, what in (
        (r"\.It Cm app", "app_fields", "of an app"),
        (r"\.It Cm apps", "pod_app_fields", "of a pod's app"),
    ):
        same_set(
            re.findall(r"^\.Cm (\w+)", cut(text, start, r"^\.It "), re.M),
            re.findall(r'\{ "(\w+)", &', c_array("manifest/appc.c", array)),
            f"nodeos-manifest(5) has the fields {what}",
        )


def cut(text, start, end):
    """Return the text between the line START and END of an mdoc page, or "" if there is none."""
    found = re.search(rf"^{start}\n(.*?){end}", text, re.M | re.S)
    return found.group(1) if found else ""


def cm_words(text):
    """Return the words of .Cm and .Ql lines; "a , b" are two words."""
    return re.findall(r"[a-z0-9]+", " ".join(re.findall(r"^\.(?:Cm|Ql) (.*)$", text, re.M)))


def test_words():
    """Check the words that can be values: policies, partitions, and policies of buffers."""
    manifest, conf = page("nodeos-manifest.5"), page("nodeos.conf.5")
    scheduler, buffer = (
        manifest[manifest.index(".It Cm scheduler") :],
        manifest[manifest.index(".It Cm dimmap") :],
    )
    policies = re.findall(r'\[POLICY_\w+\] = \{ "([a-z]+)"', read("manifest/policy_name.c"))
    same_set(
        cm_words(cut(scheduler, r"\.It Cm policy", "also as")),
        policies,
        "nodeos-manifest(5) has the policies of manifest/policy_name.c",
    )
    same_set(
        cm_words(cut(conf, r"\.It Ic allow_policies", "AppC's")),
        policies,
        "nodeos.conf(5) has the policies of manifest/policy_name.c",
    )
    same_set(
        cm_words(cut(conf, r"The other words are policies:", "of the latter")),
        set(policies) - {"hpc"},
        "nodeos.conf(5) has the policies that can replace hpc",
    )
    places = re.findall(r'\[HPC_\w+\] = "([a-z]+)"', read("manifest/policy_name.c"))
    same_set(
        cm_words(cut(scheduler, r"\.It Cm priority", "without it"))[1:],
        places,
        "nodeos-manifest(5) has the placements of hpc",
    )
    partitions = re.findall(r'\[PARTITION_\w+\] = "([a-z]+)"', read("manifest/partition_name.c"))
    same_set(
        cm_words(cut(manifest, r"\.It Cm partition", "the cpuset partition")),
        partitions,
        "nodeos-manifest(5) has the partitions of manifest/partition_name.c",
    )
    same_set(
        cm_words(cut(conf, r"\.It Ic allow_partitions", "with\n")),
        partitions,
        "nodeos.conf(5) has the partitions of manifest/partition_name.c",
    )
    kept = re.findall(r'^\t\.name = "([a-z0-9]+)"', read("dimmap/policy/policies.c"), re.M)
    same_set(
        cm_words(cut(buffer, r"\.It Cm policy", r"^\.It")),
        kept,
        "nodeos-manifest(5) has the policies of dimmap/policy/policies.c",
    )
    same_set(
        cm_words(cut(page("dimmapfs.5"), r"\.It Cm policy", ";\n")),
        kept,
        "dimmapfs(5) has the policies of dimmap/policy/policies.c",
    )


def test_dimmapfs():
    table = re.findall(r'fsparam_\w+\("(\w+)"', read("dimmap/module/fs.c"))
    found = [w for _, line in tree(section(page("dimmapfs.5"), "OPTIONS")) for w in members(line)]
    same_set(found, table, "dimmapfs(5) has the mount options of dimmap/module/fs.c")
    stats = c_strings(content(sources("dimmap/module/*.c", "dimmap/module/*.h")))
    named = re.findall(
        r"^\.Cm (\w+)$",
        re.search(r"^\.It Pa \.stats\n(.*?)^\.It", page("dimmapfs.5"), re.M | re.S).group(1),
        re.M,
    )
    ok(
        named and set(named) <= set(stats),
        "dimmapfs(5) names only counters that the module has",
        sorted(set(named) - set(stats)),
    )
    calls = re.findall(r"#define (DIMMAP_IOC_\w+)\s+_IO", read("dimmap/dimmap_ioctl.h"))
    same_set(
        re.findall(r"Dv (DIMMAP_IOC_\w+)", page("dimmapfs.5")),
        calls,
        "dimmapfs(5) has the calls of dimmap/dimmap_ioctl.h",
    )


# ------------------------------------------------- nodeos.conf, variables, files


def test_defaults():
    shipped = dict(re.findall(r"^#?([a-z_]+) = (.*)$", read("etc/nodeos.conf"), re.M))
    for key, default in shipped.items():
        found = re.search(
            rf"^\.It Ic {key}\n(.*?)(?=^\.It Ic |\Z)", page("nodeos.conf.5"), re.M | re.S
        )
        told = re.findall(
            r"^Default:\n\.(?:Cm|Ql|Pa) (.*?)(?: \.)?$|^Default: (\S+?)[.,](?: .*)?$",
            found.group(1) if found else "",
            re.M,
        )
        ok(
            [(a or b) for a, b in told] == [default],
            f"nodeos.conf(5): the default of {key} is that of etc/nodeos.conf",
            told,
            default,
        )


def test_variables():
    """Check NodeOS's variables, and other variables that programs read."""
    code = content(sources(*(f"{room}/*.[ch]" for room in INSTALLED))) + read("spank/nodeos-mpirun")
    ours = set(re.findall(r'"((?:NODEOS|SLURM_SPANK_NODEOS)_[A-Z_]+)"', code))
    # The pages have one word for several names. They do not have the names that
    # spank_job_control_setenv() sets: Slurm prefixes these with SPANK_.
    ours = {re.sub(r"^(SLURM_SPANK_NODEOS_SAVED_).*", r"\1*", name) for name in ours} - set(
        re.findall(r'spank_job_control_setenv\(sp, "(\w+)"', code)
    )
    told = set()
    for name in ("nodeos.7", "nodeos-spank.8"):
        told |= {
            w
            for line in items(page(name))
            if line.startswith("Ev ")
            for w in re.split(r" , ", line[3:])
            if w.startswith(("NODEOS_", "SLURM_SPANK_NODEOS_"))
        }
    same_set(
        told, ours, "nodeos(7) and nodeos-spank(8) have every variable of NodeOS in the sources"
    )
    read_by = {
        "nodeosctl.1": (
            sources("tools/*.c", "base/hostname.c", "base/program.c"),
            r'getenv\("(\w+)"\)',
        ),
        "nodeos-noise.1": (sources("tools/noise/noise.c"), r'getenv\("(\w+)"\)'),
        "nodeos-mpirun.1": (
            [os.path.join(SOURCE, "spank/nodeos-mpirun")],
            r'^\t"?([A-Z_]+)=(?!\$)',
        ),
    }
    for name, (files, pattern) in read_by.items():
        text = section(page(name), "ENVIRONMENT")
        found = set(re.findall(r"^\.(?:It )?Ev ([A-Z_]+)", text, re.M))
        if name == "nodeos-mpirun.1":
            ok(
                found
                == set(re.findall(r"\b(SLURM_OVERLAP|SLURM_EXPORT_ENV)=(?:1|ALL)", content(files))),
                f"{name}: the page has the variables that the program sets",
                sorted(found),
            )
            continue
        expected = set(re.findall(pattern, content(files)))
        same_set(
            found - {"HWLOC_XMLFILE"},
            expected,
            f"{name}: the page has the variables that the program reads",
        )


def test_files():
    """Check that FILES of the pages are files that the build installs or that programs create, and
    that installed files are in a page."""
    make = makefile()
    known = {
        "/etc/nodeos/nodeos.conf",
        "/etc/slurm/plugstack.conf.d/nodeos.conf",
        "/run/systemd/system",
        "data",
        ".stats",
        "/sys/fs/dimmapfs/",
    }
    ok(
        "confdir = $(sysconfdir)/nodeos" in make
        and "examplesdir = $(docdir)/examples" in make
        and "etc/plugstack.conf.d/nodeos.conf" in make,
        "Makefile.am has the directories that the pages name",
    )
    known |= {
        re.search(r'#define ASK_SOCKET "(.*)"', read("control/protocol.h")).group(1),
        re.search(r"^#?state_dir = (.*)$", read("etc/nodeos.conf"), re.M).group(1),
    }
    known.add(re.search(r'#define PUBLISH_DIR "(.*)"', read("contend/publish.h")).group(1))
    known.add(re.search(r'#define CHANGES_FILE "(.*)"', read("control/changes.h")).group(1))
    run_dir = re.search(r'#define CONTEND_RUN_DIR "(.*)"', read("contend/loop.h")).group(1)
    state = re.search(r'#define SAVED_FILE "(.*)"', read("contend/saved.h")).group(1)
    socket = re.search(r'#define CONTENTION_SOCKET "(.*)"', read("host/contention_message.h"))
    known |= {f"{run_dir}/{state}", socket.group(1)}
    vnode = read("vnode/state.h") + read("vnode/init.h") + read("host/vnode_mark.h")
    words = dict(re.findall(r'#define VNODE_(\w+) "(.*)"', vnode))
    known |= {words["LOG"], words["MARK"], f"{words['RUN_DIR']}/NAME/{words['STATE_FILE']}"}
    journals = re.search(r'#define MOVE_STATE_DIR "(.*)"', read("move/site.h")).group(1)
    known.add(f"{journals}/NAME.move")
    peaks = read("counters/peaks.h")
    known.add("/".join(re.findall(r'#define PEAKS_(?:DIR|FILE) "(.*)"', peaks)))
    known |= {
        f"/usr/libexec/nodeos/{p}"
        for line in re.findall(r"^pkglibexec_PROGRAMS \+= (.*)$", make, re.M)
        for p in line.split()
    }
    known |= {
        "/usr/share/bash-completion/completions/" + os.path.basename(f)
        for f in re.search(r"^dist_bashcompletion_DATA = (.*)$", make, re.M).group(1).split()
    }
    known |= {
        "/usr/share/nodeos/" + os.path.basename(f)
        for f in re.search(r"^dist_schema_DATA = (.*)$", make, re.M).group(1).split()
    }
    known |= {
        "/usr/share/nodeos/events.d/" + os.path.basename(f)
        for f in re.search(r"^dist_events_DATA = (.*)$", make, re.M).group(1).split()
    }
    known |= {
        "/etc/bash_completion.d/" + os.path.basename(f)
        for f in re.search(r"^dist_bashstart_DATA = (.*)$", make, re.M).group(1).split()
    }
    # the packages' directories
    docdir = re.search(r"--docdir=(\S+)", read("contrib/packaging/debian/rules")).group(1)
    known |= {docdir + "/examples"} | {
        f"{docdir}/{os.path.basename(f)}.gz"
        for f in read("contrib/packaging/debian/nodeos-tools.docs").split()
    }
    for name in PAGES:
        told = {
            line.split()[1]
            for line in items(section(page(name), "FILES"))
            if line.startswith("Pa ")
        }
        ok(told <= known, f"{name}: all FILES of the page exist", sorted(told - known))
    everything = "\n".join(page(p) for p in PAGES).replace("\\-", "-")
    installed = {
        p
        for line in re.findall(r"^pkglibexec_PROGRAMS \+= (.*)$", make, re.M)
        for p in line.split()
    }
    units = [
        w
        for line in re.findall(r"^systemd(?:_made|systemunit_DATA) = (.*)$", make, re.M)
        for w in line.split()
    ]
    installed |= {os.path.basename(w) for w in units if not w.startswith("$")}
    missing = [f for f in sorted(installed) if f.replace("@.service", "") not in everything]
    ok(
        len(installed) > 6 and not missing,
        "every helper and unit that is installed is in a page",
        missing,
    )
    units = set(re.findall(r"\b(nodeos[a-z-]*@?\.(?:service|timer|socket))", everything))
    ok(
        units <= installed | {"nodeosd@.service"},
        "the systemd units that the pages name exist",
        sorted(units - installed),
    )


# ------------------------------------------------------------------ messages


def formats():
    """Yield each string of the sources, with adjacent literals joined, and the messages of the
    script nodeos-plugstack."""
    code = re.sub(
        r"/\*.*?\*/",
        "",
        content(sources(*(f"{room}/*.c" for room in INSTALLED), "dimmap/policy/*.c")),
        flags=re.S,
    )
    for group in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"[\s]*(?:PRI\w+\s*)?)+', code):
        yield c_unescape("".join(c_strings(group)))
    for text in re.findall(
        r'\b(?:die|say)(?: \\\n\s*)? ?"([^"]*)', read("spank/nodeos-plugstack.in")
    ):
        yield re.sub(r"\$\w+", " ", text)


def pairs(text):
    """Return the words of TEXT, without conversions of printf(), and each pair of adjacent
    words."""
    words = re.findall(
        r"[A-Za-z]+",
        re.sub(
            r"%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j)?[a-zA-Z]", " ", text.replace("%%", "")
        ),
    )
    return words, list(zip(words, words[1:]))


def test_messages():
    """Check that most words of each message in nodeos-diagnostics(7) are, in this order, in formats
    of the sources."""
    known = {
        t
        for text in list(formats()) + [os.strerror(e) for e in range(1, 134)]
        for t in pairs(text)[1]
    }
    elsewhere = [p for p in PAGES if ".Sh DIAGNOSTICS\n" in page(p)]
    ok(not elsewhere, "only nodeos-diagnostics(7) has messages", elsewhere)
    messages = [line.strip() for line in items(page("nodeos-diagnostics.7"))]
    ok(
        len(messages) > 100 and all(m[0] == m[-1] == '"' for m in messages),
        "nodeos-diagnostics(7): each message is in quotes",
    )
    for text in messages:
        message = text[1:-1].replace('""', '"')
        # formats do not contain values in quotes, files, and words of tables
        fixed = re.sub(
            r'^nodeosctl: [a-z-]+: |"[^"]*"|\(allowed: [^)]*\)?|\S*[/.\[]\w\S*|-?\b(container'
            r" \w+|job_\w+)|=\S+|%|\b[A-Z]{4,}\b",
            " ",
            message,
        )
        words, rows = pairs(fixed)
        found = {at + k for at, row in enumerate(rows) if row in known for k in range(2)}
        ok(
            len(words) - len(found) <= max(2, 0.3 * len(words)),
            f'the sources have the message "{message[:70]}"',
            "not in the sources: " + " ".join(w for at, w in enumerate(words) if at not in found),
        )


for test in (
    test_programs,
    test_nodeosctl,
    test_helpers,
    test_daemon,
    test_library,
    test_isolators,
    test_words,
    test_dimmapfs,
    test_defaults,
    test_variables,
    test_files,
    test_messages,
):
    test()
sys.exit(done())
