# SPDX-License-Identifier: GPL-2.0-or-later
"""What experiments in guests share: QEMU's plugins, and a guest whose instructions they count."""

import os
import shutil

INPUTS = [
    "bench/evaluation/guest.py",
    "bench/lib/block.h",
    "bench/lib/mark.c",
    "bench/lib/plugin",
    "test/guest/run",
    "test/guest/packages",
]
# what is installed in the guest
PROJECT = [
    "spank/*.c",
    "base/*.c",
    "topology/*.c",
    "manifest/*.c",
    "host/*.c",
    "container/*.c",
    "launch/*.c",
    "etc/nodeos.conf",
    "kernel/patches/*/series",
]


def build(context, plugin):
    """The plugin, and mark; returns their directory."""
    directory = f"{context.out}/build"
    os.makedirs(directory, exist_ok=True)
    context.run(
        f"{context.top}/bench/lib/plugin",
        f"{context.top}/bench/lib/{plugin}.c",
        directory,
    )
    context.run(
        "gcc",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-static",
        "-nostdlib",
        "-fno-pie",
        "-no-pie",
        "-fno-stack-protector",
        "-Wl,-z,noexecstack",
        "-o",
        f"{directory}/mark",
        f"{context.top}/bench/lib/mark.c",
    )
    return directory


def boot(context, plugin, puts, command, memory=1024, limit=7200, clock="icount"):
    """Runs COMMAND in a guest of one node; returns (directory that it left, path of what the plugin
    wrote). CLOCK is "icount" where the counts hang on how programs run beside each other, "tcg"
    where it is work that they have to do anyway: all of the machine's processors emulate then.
    """
    share, marks = f"{context.out}/share", f"{context.out}/marks"
    shutil.rmtree(share, ignore_errors=True)
    if os.path.exists(marks):
        os.remove(marks)
    options = [word for file in puts for word in ("--put", file)]
    path, _, more = plugin.partition(",")
    context.run(
        f"{context.top}/test/guest/run",
        "--nodes",
        "1",
        "--timeout",
        str(limit),
        "--memory",
        str(memory),
        *options,
        "--share",
        share,
        "--qemu",
        f"-plugin {path},out={marks}" + (f",{more}" if more else ""),
        "--",
        *command,
        env={"NODEOS_ACCEL": clock},
    )
    return share, marks
