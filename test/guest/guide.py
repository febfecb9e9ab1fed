# SPDX-License-Identifier: GPL-2.0-or-later
# boot: plugin=no put=debs,dimmapfs,doc/guide.md,test/guide_blocks.py
# run: deep limit=3600
# rooms: contrib tools
"""Run every command of doc/guide.md in order, as the user and on the host that the guide names, and
compare the output with the guide's text. The nodes begin without NodeOS, get its packages, and end
with their removal. ./guide.md is the guide, debs/1 and debs/2 are the packages of two versions,
dimmapfs.ko is the module.

guide.py [SECTION...]: run only the commands of sections whose titles begin with SECTION, and write
all files of the guide. These sections must not depend on others.
"""

import os
import re
import shlex
import shutil
import sys
import threading
import time

import cluster
from cluster import HOME, both, note, ok
from guide_blocks import COMMANDS, Shell, blocks, try_block

WORK = f"{HOME}/guide"
PACKAGES = "/shared/packages"


def prepare():
    """Prepare what the guide assumes: packages in a shared directory, and a directory of the
    user."""
    for name, revision in (("", "1"), ("/new", "2")):
        shutil.copytree(f"debs/{revision}", PACKAGES + name, dirs_exist_ok=True)
    # let dpkg install documentation and examples, which guests leave out
    both("rm -f /etc/dpkg/dpkg.cfg.d/*")
    os.makedirs(WORK, exist_ok=True)
    for path in (HOME, WORK):
        os.chown(path, 1000, 1000)
    if os.path.exists("dimmapfs.ko"):
        # install the module, as DKMS would
        both(
            "mkdir -p /lib/modules/$(uname -r) && cp /shared/here/dimmapfs.ko /lib/modules/$(uname"
            " -r)/ && depmod"
        )


class Shells:
    """The shells: one for each user on each node."""

    def __init__(self):
        self.known = {}

    def of(self, who, node):
        key = ("root" if who == "root" else "alice", node)
        if key not in self.known:
            user, scratch = key[0], f"/shared/guide.{key[0]}.{node}"
            os.makedirs(scratch, exist_ok=True)
            if user == "alice":
                os.chown(scratch, 1000, 1000)
            env = cluster.clean_env(user) | {"DEBIAN_FRONTEND": "noninteractive"}
            argv = (
                []
                if user == "root"
                else ["setpriv", "--reuid=alice", "--regid=alice", "--init-groups"]
            )
            argv += ["env", "-i"] + [f"{k}={v}" for k, v in env.items()] + ["bash"]
            if node != "n0":
                argv = [
                    "ssh",
                    "-o",
                    "StrictHostKeyChecking=no",
                    "-o",
                    "LogLevel=ERROR",
                    node,
                    shlex.join(argv),
                ]
            # all shells are started by root on n0
            self.known[key] = Shell(
                argv, cluster.clean_env("root"), WORK if user == "alice" else PACKAGES, scratch
            )
        return self.known[key]


def run_block(block, shells):
    """Run BLOCK on all its nodes at the same time. Return what is wrong, and the output."""
    results = {}

    def run_on_node(node):
        # under emulation, the Perl scripts of packages take minutes
        results[node] = try_block(
            block, shells.of(block.kind, node), 900 if block.kind == "root" else 300, limit=240
        )

    threads = [threading.Thread(target=run_on_node, args=(node,)) for node in block.nodes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [f"{node}: {w}" for node in block.nodes for w in results[node][0]], "".join(
        results[node][1] for node in block.nodes
    )


def save(block):
    path = f"{WORK}/{block.name}"
    with open(path, "w", encoding="utf-8") as f:
        f.write(block.text)
    os.chmod(path, 0o755 if block.text.startswith("#!") else 0o644)
    os.chown(path, 1000, 1000)


def has_lines(block):
    with open(block.name, encoding="utf-8") as f:
        have = {re.sub(r"\s", "", line) for line in f}
    return [
        line
        for line in block.text.splitlines()
        if line.strip() and not line.startswith("#") and re.sub(r"\s", "", line) not in have
    ]


def main():
    wanted = sys.argv[1:]
    shells, section, printed, patient = Shells(), "", "", False
    prepare()
    with open("guide.md", encoding="utf-8") as f:
        found = blocks(f.read())
    count = 0
    for block in found:
        if block.section != section:
            section = block.section
            note(section)
            start = time.time()
        if block.kind == "file":
            save(block)
        elif wanted and not section.startswith(tuple(wanted)):
            continue
        elif block.kind == "lines":
            ok(
                not has_lines(block),
                f"{section}: {block.name} has the lines of the guide",
                has_lines(block),
            )
        elif block.kind == "output":
            ok(
                re.search(block.pattern(), printed, re.M),
                f"{section}: the output at line {block.line} of the guide is as printed there",
                printed,
            )
        elif block.kind in COMMANDS:
            wrong, printed = run_block(block, shells)
            count += 1
            ok(
                not wrong,
                f"{section}: the commands work: {block.title}",
                "\n".join(wrong) + "\n" + printed,
            )
            # write the output to the log, for the authors of the guide
            note(
                f"{time.time() - start:.0f} s in this section\n# | "
                + printed.rstrip().replace("\n", "\n# | ")
            )
            if not patient and os.path.exists("/etc/nodeos/nodeos.conf"):
                cluster.patient()
                patient = True
    ok(count > 0, f"the guide has blocks of commands: {count} were run")
    cluster.done()


main()
