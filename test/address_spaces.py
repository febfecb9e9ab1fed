#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the last table of doc/HACKING.md with the sources. Each function that changes a cgroup,
or may wait for a process's address space or execve(), must have a row with the reason why this is
safe. Each row must have such a function."""

import os
import re
import sys

from rooms import INSTALLED

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
RISKS = re.compile(
    r"\bcgroup_write(_set|_mems)? ?\(|\bservice_item_set ?\(|\"[^\"]*cgroup\.procs\","
    r" O_WRONLY|\"[^\"]*/cgroup\.procs\"|"
    r"SYS_(migrate_pages|move_pages|process_vm_readv|process_vm_writev)|\bptrace"
    r" ?\(|\bprocess_vm_|\bmigrate_pages ?\(|\bmove_pages ?\(\)|"
    r"\"/?proc/%[^\"]*/(task/[^\"]*/)?"
    r"(maps|smaps|smaps_rollup|numa_maps|pagemap|clear_refs|environ|cmdline|mem|auxv|"
    r"stat|io|wchan|stack|syscall|personality|exe|cwd|root)\"|\bproc_read_file ?\(|"
    r"\bopenat ?\([^;]*\"(maps|smaps|smaps_rollup|numa_maps|pagemap|clear_refs|environ|cmdline"
    r"|mem)\"|"
    r"/memory/memory|memory[0-9%u]*/(online|state)|cgroup\.freeze"
)
FUNCTION = re.compile(r"^[a-z_][\w \*]*?\**(\w+) ?\([^;]*$")


def sources(room):
    """Return the paths of the C files of ROOM and of its folders except test."""
    paths = []
    for folder, folders, names in os.walk(os.path.join(TOP, room)):
        folders[:] = [f for f in folders if f != "test"]
        paths += [os.path.relpath(os.path.join(folder, n), TOP) for n in names if n.endswith(".c")]
    return sorted(paths)


def places():
    """Return (file, function) of each match in code. Comments, declarations and the heads of the
    matched functions themselves are left out."""
    found = {}
    for room in INSTALLED:
        for path in sources(room):
            function = ""
            for number, line in enumerate(open(os.path.join(TOP, path)), 1):
                head = FUNCTION.match(line)
                if head:
                    function = head.group(1)
                code = re.sub(r"/\*.*?\*/", "", line)
                if not head and not re.match(r"\s*(/?\*|//)", code) and RISKS.search(code):
                    found.setdefault((path, function), number)
    return found


def rows():
    """Return (file, function) of each row, and whether the row has a reason."""
    table = {}
    for line in open(os.path.join(TOP, "doc/HACKING.md")):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"\S+\.c: \w+", cells[0]):
            path, function = cells[0].split(": ")
            table[path, function] = bool(cells[1] and cells[2])
    return table


def main():
    found, table = places(), rows()
    count = failed = 0
    for place in sorted(found.keys() | table.keys()):
        count += 1
        why = ""
        if place not in table:
            why = (
                f"{place[0]}:{found[place]}: {place[1]}() changes a cgroup, or may wait for an"
                " address space or an execve(): add a row to doc/HACKING.md"
            )
        elif place not in found:
            why = (
                f"doc/HACKING.md: {place[0]}: {place[1]}() no longer changes a cgroup or waits:"
                " remove its row"
            )
        elif not table[place]:
            why = f"doc/HACKING.md: {place[0]}: {place[1]}(): the row gives no reason"
        failed += bool(why)
        print(f"{'not ok' if why else 'ok'} {count} - {place[0]}: {place[1]}")
        if why:
            print(f"# {why}")
    print(f"1..{count}")
    return failed > 0 or count < 10


sys.exit(main())
