# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the tests of the manual pages share: TAP, sections and items of mdoc, and tables
in C sources."""

import os
import re
import subprocess

SOURCE = os.path.abspath(
    os.environ.get("NODEOS_SOURCE")
    or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
)
BUILD = os.path.abspath(os.environ.get("NODEOS_BUILD") or SOURCE)

number = failures = 0


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return f.read()


def c_array(file, name):
    """Return the text between the braces of the initializer of the array NAME."""
    found = re.search(rf"\b{name}\[[^\]]*\]\s*=\s*\{{(.*?)\n\}};", read(file), re.S)
    return found.group(1) if found else ""


# commands of nodeosctl; each must have a page
COMMANDS = re.findall(
    r'\{\s*"([a-z-]+)",\s*(?:guest|tool|vnode)_', c_array("tools/nodeosctl.c", "command")
)
PAGES = (
    "dimmapfs.5",
    "nodeosctl.1",
    *(f"nodeosctl-{command}.1" for command in COMMANDS),
    "nodeos-contention.5",
    "nodeosctl-contention-advise.1",
    "nodeosctl-contention-collect.1",
    "nodeos-dimsim.1",
    "nodeos-diagnostics.7",
    "nodeos-events.5",
    "nodeos-guest.1",
    "nodeos-lwk.1",
    "nodeos-mpirun.1",
    "nodeos-noise.1",
    "nodeos.conf.5",
    "vnode.d.5",
    "nodeos-manifest.5",
    "nodeos-report.5",
    "nodeos.3",
    "nodeos.7",
    "nodeos-contend.8",
    "nodeos-plugstack.8",
    "nodeos-spank.8",
)


def makefile():
    """Return Makefile.am with the parts of all rooms, the room's name for %D%, and continued lines
    joined."""
    text = read("Makefile.am") + "".join(
        read(f"{room}/Makefile-room.am").replace("%D%", room)
        for room in re.findall(r"^include (\w+)/", read("Makefile.am"), re.M)
    )
    return text.replace("\\\n\t", " ")


def ok(good, what, *detail):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    for line in detail if not good else ():
        print(f"#   {line}")


def skip(what, why):
    global number
    number += 1
    print(f"ok {number} - {what} # SKIP {why}")


def same_set(documented, expected, what):
    """Check that both sets are equal. EXPECTED must not be empty: an empty set means that the test
    did not understand the C source."""
    documented, expected = set(documented), set(expected)
    ok(
        expected and documented == expected,
        what,
        f"not documented: {sorted(expected - documented)}",
        f"documented, but missing in the sources: {sorted(documented - expected)}",
        f"{len(expected)} found in the sources",
    )


def srun_options():
    """Return the options that the plugin registers for srun, sbatch and salloc: {option:
    argument}."""
    driver = os.path.join(BUILD, "spank/test/options_driver")
    r = subprocess.run([driver], capture_output=True, text=True, timeout=60, check=True)
    return dict(line.split("\t")[:2] for line in r.stdout.splitlines())


def page(name):
    return "\n".join(
        line for line in read(f"doc/{name}").splitlines() if not line.startswith('.\\"')
    )


def command_page(command):
    return page(f"nodeosctl-{command}.1")


def section(text, title, mark=".Sh"):
    """Return the lines below the heading TITLE, up to the next heading of the same or a higher
    level."""
    found = re.search(
        rf"^\{mark} \"?{re.escape(title)}\"?\n(.*?)(?=^\.Sh |^\{mark} |\Z)", text, re.M | re.S
    )
    return found.group(1) if found else ""


def items(text):
    """Return the .It lines of TEXT, without mdoc's escapes."""
    return [
        line[4:].replace("\\-", "-").replace("\\&", "")
        for line in text.splitlines()
        if line.startswith(".It ")
    ]


def rank_numbers():
    """Return the name in manifests and the name in reports of each row of RANK_NUMBERS."""
    return re.findall(r'\tX\(\w+, \w+, "([^"]+)", "(\w+)"', read("manifest/isolator_name.h"))


def c_strings(text):
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


def c_unescape(text):
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\t", "\t").replace("\\\\", "\\")


def done():
    print(f"1..{number}")
    return failures > 0
