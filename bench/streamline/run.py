# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots one Slurm node whose memory is divided into nodes of 64 MiB. The container vda has one of
these nodes, and follows streamlines through a field that is four times as large: by mmap, by mmap
with MADV_RANDOM, and by the container's buffer (isolator dimmap). It runs alone, and while GROMACS
runs in the container sim of the same job. All threads that follow lines share one CPU, and GROMACS
has another CPU, so that under emulation each of the two CPUs has a processor of the host. A request
to the device (null_blk) takes --latency. The experiment measures steps per second, CPU time, major
faults and pages read, each three times. Under emulation, only the ratios between arms have a
meaning."""

import shutil

from bench.lib import guests
from bench.lib.context import TOP, load, need_tools
from bench.lib.options import Option, positive

TITLE = "Streamlines out of core beside a simulation"
MINUTES = {"quick": 12, "full": 30}
INPUTS = [
    *guests.CLUSTER,
    "bench/streamline/*",
    "bench/lib/job.py",
    "bench/lib/water.sh",
    "dimmap/load/streamline/*.c",
    "dimmap/module/*.c",
    "dimmap/policy/*.c",
]
OPTIONS = (
    Option(
        "grid", "N", "points of the field in each direction; 270 are 225 MiB", 270, None, positive
    ),
    Option("seeds", "N", "number of streamlines", 200, 50, positive),
    Option("steps", "N", "steps of each streamline", 200, 100, positive),
    Option("latency", "NS", "latency of the device", 200000, None, positive),
)


def run(context):
    need_tools("qemu-system-x86_64:qemu-system-x86")
    module = f"{context.build}/dimmapfs.ko"
    shutil.copy(context.path_of(f"{TOP}/dimmap/build"), module)
    puts = [f"{TOP}/bench/streamline/guest", f"{TOP}/bench/lib/job.py"]
    puts += [f"{TOP}/bench/lib/water.sh", module]
    sizes = [str(getattr(context.options, o.name)) for o in OPTIONS]
    more = ["--numa", "2", "--memory", "4096", "--qemu", "-machine max-ram-below-4g=1G"]
    more += ["--append", "fgmn=all:6x64M null_blk.nr_devices=0"]
    left = guests.cluster(context, puts, ["./guest", *sizes], more)
    return load(f"{left}/runs.json")["runs"]
