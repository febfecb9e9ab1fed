# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs MPI programs on a real cluster, in Slurm jobs of one whole node each. The arms, in turns:

    native on Linux
    partition  in a container that is a root partition, as in all further arms
    locked     with huge pages for malloc(), and with mlockall() (HPCC: only huge pages)
    lwk2m      in machines of nodeos-lwk, with huge pages of 2 MiB
    lwk1g      with huge pages of 1 GiB

The programs: detour (a rank that only reads the clock), triad, cg and large-cg (conjugate gradients
in 1 MiB and in much of the memory), pingpong and large-pingpong (8 KiB and 4 MiB), and hpcc where
HPCC is installed. The folder of the results (--out) must be on a file system that all nodes have.
The site must allow partitions (allow_partitions in nodeos.conf) and the use of nodeos-lwk."""

import json
import os
import re
import shlex
import shutil

from bench.lib import options
from bench.lib.context import TOP, Failed, need_tools, read, store
from bench.lib.options import Option

TITLE = "Ranks on this cluster"
MINUTES = {"quick": 10, "full": 90}
INPUTS = ["bench/site/*.c", "bench/site/run.py"]
ARMS = ("native", "partition", "locked", "lwk2m", "lwk1g")
PAGES = {"lwk2m": "2M", "lwk1g": "1G"}
PROGRAMS = ("detour", "triad", "cg", "large-cg", "pingpong", "large-pingpong", "hpcc")
# {line of hpccoutf.txt: name of the figure}
HPCC = ("HPL_Tflops", "StarSTREAM_Triad", "StarRandomAccess_GUPs", "MPIFFT_Gflops")
HPCC += ("MaxPingPongLatency_usec", "PTRANS_GBs")
FIGURE = re.compile(r"figure (\w+) (\S+)")


def size_of(text):
    """MiB or GiB"""
    found = re.fullmatch(r"([1-9][0-9]*)([MG])", text)
    if not found:
        raise ValueError("a size such as 512M or 4G")
    return text


OPTIONS = (
    Option("ranks", "N", "ranks of a node", 4, read=options.positive),
    Option("cpus", "N", "number of Slurm's CPUs for each rank", 1, read=options.positive),
    Option("options", "WORDS", "more options for salloc, such as '-p batch -A project'"),
    Option("runs", "N", "number of runs of each arm", 10, 2, options.positive),
    Option("arms", "A+A", "arms, see above", list(ARMS), read=options.words(*ARMS)),
    Option("programs", "P+P", "programs, see above", list(PROGRAMS), read=options.words(*PROGRAMS)),
    Option(
        "memory",
        "SIZE",
        "memory of each rank; in nodeos-lwk the extent of its machine",
        "2G",
        "1G",
        size_of,
    ),
    Option("seconds", "N", "duration of each program", 10, 2, options.positive),
)


def mib(text):
    return int(text[:-1]) * (1024 if text[-1] == "G" else 1)


def manifest(context, arm):
    """Write the manifest of ARM. Return its path."""
    given = context.options
    container = {"cpus": given.ranks * given.cpus, "partition": "root"}
    isolators = [{"name": "container", "value": container}]
    if arm in PAGES:
        value = {"memory": given.memory, "page": PAGES[arm]}
        isolators.append({"name": "lwk", "value": value})
    app = {"name": "ranks", "app": {"isolators": isolators}}
    path = f"{context.out}/{arm}.json"
    store(path, json.dumps({"acKind": "PodManifest", "acVersion": "0.6.0", "apps": [app]}))
    return path


def sizes(memory):
    """Return {program: (its name in site.c, SIZE)} for ranks with MEMORY MiB each. Vectors get a
    quarter of this memory."""
    part = memory // 4
    return {
        "detour": ("detour", 0),
        "triad": ("triad", part * 1024 // 3),
        "cg": ("cg", 64),
        "large-cg": ("cg", part * 64),  # a row is 4 KiB, and there are four vectors
        "pingpong": ("pingpong", 8),
        "large-pingpong": ("pingpong", 4096),
    }


def hpcc_input(ranks, memory):
    """Return HPCC's input for RANKS ranks of MEMORY MiB each. The matrix takes an eighth of all
    memory."""
    rows = int((ranks * memory * 2**20 / 8 / 8) ** 0.5) // 64 * 64
    high = max(n for n in range(1, ranks + 1) if ranks % n == 0 and n * n <= ranks)
    lines = ["HPCC", "bench/run site", "HPL.out", 8, 1, rows, 1, 64, 0, 1, high, ranks // high]
    lines += [16.0, 1, 2, 1, 4, 1, 2, 1, 1, 1, 0, 1, 0, 2, 64, 0, 0, 1, 8, "#", 0, 0, 0, 0]
    return "".join(f"{line}\n" for line in lines)


def steps(context, arm, run):
    """Return the script of a job, with a step for each program."""
    given = context.options
    step = f"srun -N1 -n{given.ranks} -c{given.cpus} --cpu-bind=cores"
    if arm != "native":
        step += " --nodeos-container=ranks"
    huge = "export GLIBC_TUNABLES=glibc.malloc.hugetlb=2" if arm == "locked" else ""
    locked = " locked" if arm == "locked" else ""
    lines = ["set -eu", f"cd {shlex.quote(context.out)}", huge]
    for program in given.programs:
        to = f"runs/{arm}.{program}.{run}"
        if program == "hpcc":
            lines.append(f"mkdir -p {to}.d && cp hpccinf.txt {to}.d && cd {to}.d")
            lines.append(f"rm -f hpccoutf.txt && {step} hpcc && cp hpccoutf.txt ../../{to}")
            lines.append("cd ../..")
        else:
            name, size = sizes(mib(given.memory))[program]
            words = f"build/site {name} {size} {given.seconds}{locked}"
            lines.append(f"{step} {words} >{to}.new && mv {to}.new {to}")
    return "\n".join(lines) + "\n"


def figures(text, program):
    """Return the figures in the output of a program, as {name: value}."""
    found = {m[1]: float(m[2]) for m in map(FIGURE.fullmatch, text.splitlines()) if m}
    for name in HPCC if program == "hpcc" else ():
        if m := re.search(f"^{name}=(\\S+)$", text, re.M):
            found[name] = float(m[1])
    if not found:
        raise Failed(f"{program} has printed no figure; the end of its output:\n{text[-500:]}")
    return {f"{program}: {name}": value for name, value in found.items()}


def refused(values):
    if values.ranks < 2 and {"pingpong", "large-pingpong"} & set(values.programs):
        return (
            "--ranks 1: pingpong and large-pingpong need two ranks; leave them out with --programs"
        )
    return None


def run(context):
    given = context.options
    need_tools("mpicc:libopenmpi-dev", "salloc:slurm-client", "srun:slurm-client")
    if "hpcc" in given.programs and not shutil.which("hpcc"):
        context.say("hpcc is left out: it is not installed (Debian's package: hpcc)")
        given.programs = [p for p in given.programs if p != "hpcc"]
    context.run("mpicc", "-O2", "-o", f"{context.build}/site", f"{TOP}/bench/site/site.c", "-lm")
    os.makedirs(f"{context.out}/runs", exist_ok=True)
    store(f"{context.out}/hpccinf.txt", hpcc_input(given.ranks, mib(given.memory)))
    job = ["salloc", "-N1", "--exclusive", f"-n{given.ranks}", f"-c{given.cpus}"]
    job += shlex.split(given.options or "")
    found = []
    for n in range(given.runs):
        for k in range(len(given.arms)):
            arm = given.arms[(n + k) % len(given.arms)]
            words = [] if arm == "native" else [f"--nodeos-manifest={manifest(context, arm)}"]
            script = f"{context.out}/{arm}.sh"
            store(script, steps(context, arm, n))
            context.say(f"run {n + 1} of {given.runs}, {arm}")
            context.run(*job, *words, "sh", script)
            values = {}
            for program in given.programs:
                values |= figures(read(f"{context.out}/runs/{arm}.{program}.{n}"), program)
            found.append({"arm": arm, "run": n, "figures": values})
    return {"ranks": given.ranks, "runs": found}
