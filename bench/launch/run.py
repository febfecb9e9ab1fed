# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots one emulated node three times. In the first boot, QEMU counts the instructions of the whole
guest during launches as user alice, in turns:

    plain       srun -n4 -c2 true
    container   srun -n4 -c2 --nodeos-cpus=8 true
    stock       as plain, but without the plugin's line in plugstack.conf

then during steps of one existing job, and during runs of the helper nodeos-plan by hand. In the
second boot, with KVM in the guest, QEMU counts during steps in a partition, which in turns are
native and in machines of nodeos-lwk. In the third boot, strace counts the system calls of srun, of
slurmd and of all processes that slurmd starts."""

from bench.launch import calls
from bench.lib import guests, marks
from bench.lib.context import TOP, need_tools
from bench.lib.options import Option, whole, words

TITLE = "What a launch costs with a container and without"
MINUTES = {"quick": 15, "full": 45}
INPUTS = [*guests.CLUSTER, "bench/launch/*"]
PARTS = ("counts", "machines", "traces")
OPTIONS = (
    Option("pairs", "N", "number of counted launches of each kind", 20, 2, whole),
    Option("step_pairs", "N", "number of counted steps of each kind, in one job", 10, 2, whole),
    Option("traced", "N", "number of traced launches of each kind", 4, 1, whole),
    Option("settle", "S", "count until S seconds after the end of srun", 2, None, whole),
    Option(
        "only",
        "P+P",
        "parts to run, of counts, machines and traces",
        list(PARTS),
        None,
        words(*PARTS),
    ),
)


def run(context):
    need_tools("gcc", "qemu-system-x86_64:qemu-system-x86")
    given, found = context.options, {}
    guest = f"{TOP}/bench/launch/guest"
    stage = ["--stage", context.path_of(f"{TOP}/test/guest/stage")]  # one build for all boots
    if "counts" in given.only:
        counted = f"{context.out}/marks"
        plugin = guests.plugged(guests.plugin(context, "insn-count"), counted)
        puts, more = [guest, guests.mark(context)], [*stage, "--qemu", f"-plugin {plugin}"]
        sizes = map(str, (given.pairs, given.step_pairs, given.settle))
        guests.cluster(context, puts, ["./guest", "count", *sizes], more, "counts", "tcg")
        found["counts"] = marks.rows(counted)
    if "machines" in given.only:
        counted = f"{context.out}/machines.marks"
        plugin = guests.plugged(guests.plugin(context, "insn-count"), counted)
        puts, more = [guest, guests.mark(context)], [*stage, "--kernel", "debian", "--kvm"]
        more += ["--qemu", f"-plugin {plugin}"]
        sizes = map(str, (given.step_pairs, given.settle))
        guests.cluster(context, puts, ["./guest", "machines", *sizes], more, "machines", "tcg")
        found["machines"] = marks.rows(counted)
    if "traces" in given.only:
        sizes = map(str, (given.traced, given.settle))
        to = guests.cluster(context, [guest], ["./guest", "trace", *sizes], stage, "traces")
        found["traces"] = calls.all_of(to)
    return found
