# SPDX-License-Identifier: GPL-2.0-or-later
"""The guests of the experiments, their programs, and QEMU's plugins. A guest is a kernel with an
initramfs, or a node of the virtual cluster."""

import os
import re
import shutil

from bench.lib.context import TOP, Failed, read

LIB = f"{TOP}/bench/lib"
# INPUTS: files that influence the results of any guest; CLUSTER: files that influence the results
# of the virtual cluster
# inputs of guests with the simulated cache
CACHE = ["test/simllc/*.[ch]", "test/simllc/module/*.c"]
INPUTS = ["bench/lib/guests.py", "bench/lib/plugin", "bench/lib/*.[ch]", "kernel/patches/*/series"]
CLUSTER = [
    *INPUTS,
    *(
        f"{room}/*.c"
        for room in ("spank", "base", "topology", "ranks", "manifest", "host", "container")
    ),
    "launch/*.c",
    "etc/nodeos.conf",
    "test/guest/run",
    "test/guest/packages",
]
STRICT = ("-O2", "-Wall", "-Wextra", "-Werror", f"-I{TOP}")
APPEND = "console=ttyS0 quiet panic=-1 nokaslr tsc=reliable lpj=4000000 no_timer_check"
COUNTED = ["-accel", "tcg,thread=single", "-icount"]  # and its options


def kernel(context, *arguments):
    return context.path_of(f"{TOP}/kernel/build", *arguments)


def plugin(context, name):
    """Build NAME.c as a plugin of the installed QEMU. Return its path."""
    header = context.options.header
    command = [f"{LIB}/plugin", f"{LIB}/{name}.c", context.build, *([header] if header else [])]
    context.run(*command)
    return f"{context.build}/{name}.so"


def program(context, to, source, *flags):
    """Build a static program. FLAGS may be for any stage of the compiler. Return the program's
    path."""
    context.run("gcc", "-static", *STRICT, "-o", to, source, *flags)
    return to


def mark(context):
    """Build the program that executes markers (mark.c). It has no libc: its instructions would be
    counted."""
    plain = ("-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector", "-Wl,-z,noexecstack")
    return program(context, f"{context.build}/mark", f"{LIB}/mark.c", *plain)


def root(context):
    """Make an empty directory for the files of an initramfs. Return its path."""
    path = f"{context.build}/root"
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def initramfs(context):
    to = f"{context.build}/guest.cpio.gz"
    pack = 'cd "$0" && find . -mindepth 1 | cpio -o -H newc --quiet | gzip -n >"$1"'
    context.run("bash", "-o", "pipefail", "-c", pack, f"{context.build}/root", to)
    return to


def two_sockets(cpus, threads, gib):
    """Return QEMU's arguments for a machine of two sockets with GIB GiB each."""
    half, words = cpus // 2, []
    for n in (0, 1):
        words += ["-object", f"memory-backend-ram,id=m{n},size={gib}G"]
        words += ["-numa", f"node,nodeid={n},memdev=m{n},cpus={n * half}-{n * half + half - 1}"]
    smp = f"{cpus},sockets=2,cores={half // threads},threads={threads}"
    return ["-m", f"{2 * gib}G", "-smp", smp, *words, "-numa", "dist,src=0,dst=1,val=21"]


def simulated_cache(context, name, mib, cpus, given):
    """Return QEMU's arguments for the simulated caches (test/simllc) of two sockets with MIB MiB of
    memory each. They must come after the arguments of the nodes. GIVEN has more options of the
    caches."""
    plugin = context.path_of(f"{TOP}/test/simllc/build", "plugin")
    counters, half = f"{context.out}/{name}.llc", cpus // 2
    place = f"out={counters},nodes={mib}M+{mib}M,nodecpus={half},share={half},{given}"
    memory = f"memory-backend-file,id=llc,size=1M,share=on,mem-path={counters}"
    device = ["-object", memory, "-device", "ivshmem-plain,memdev=llc"]
    return ["-plugin", f"file={plugin},{place}", *device]


def plugged(plugin, marks, more=""):
    """Return QEMU's argument for a plugin that appends to the file MARKS. Removes MARKS of an
    earlier run."""
    if os.path.exists(marks):
        os.remove(marks)
    return f"{plugin},out={marks}{more}"


def boot(context, name, kernel, machine, append, ended, timeout=3000, model="q35"):
    """Run a guest with the initramfs until it ends. NAME.log gets its console's output, and must
    have the line ENDED."""
    log = f"{context.out}/{name}.log"
    context.say(f"{name}: console in {log}")
    command = ["qemu-system-x86_64", "-machine", model, "-cpu", "max", "-nographic", "-no-reboot"]
    command += ["-nodefaults", "-serial", "stdio", "-kernel", kernel]
    command += ["-initrd", f"{context.build}/guest.cpio.gz", "-append", f"{APPEND} {append}"]
    context.run(*command, *machine, log=log, timeout=timeout, check=False)
    text = read(log).replace("\r", "")
    with open(log, "w", encoding="utf-8") as f:
        f.write(text)
    if not re.search(f"^{re.escape(ended)}$", text, re.M):
        raise Failed(f'the guest did not print "{ended}"; see {log}')


def cluster(context, puts, command, more=(), share="share", clock=None, limit=7200):
    """Run COMMAND as root in a guest with one Slurm node and the files PUTS. Return the directory
    of its output. CLOCK must be "icount" if the counts depend on how programs run beside each
    other. CLOCK may be "tcg" if the counted work is always the same: then all processors of the
    host emulate."""
    to = f"{context.out}/{share}"
    shutil.rmtree(to, ignore_errors=True)
    words = [word for file in puts for word in ("--put", file)]
    words += ["--nodes", "1", "--timeout", str(limit), "--share", to, *more, "--", *command]
    env = {"NODEOS_ACCEL": clock} if clock else None
    context.run(f"{TOP}/test/guest/run", *words, env=env)
    return to
