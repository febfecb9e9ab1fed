#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a small guest whose emulated processor has SVM, and do there, without Slurm, what slurmstepd
does for a step of two ranks in machines: add pages, hand over extents, execute nodeos-lwk-start,
remove the pages. /dev/kvm is open to users, closed to them, and opened by root for the ranks.
Usage: boot.py KERNEL TREE BUILD WORKDIR, with KERNEL and TREE of kernel/build --variant debian, and
a built tree. Needs QEMU, cpio and busybox-static; two minutes. Prints TAP."""

import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{TOP}/kernel/test")

from boot import boot_again  # noqa: E402

MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd")
SOURCES = (
    "hugepages/reserve hugepages/borrow hugepages/extent_file hugepages/kvm_probe"
    " hugepages/lwk_facts hugepages/page_runs hugepages/pages_plan"
    " hugepages/pool hugepages/pool_journal base/errbuf base/fileio base/idset base/proc"
    " base/printable host/apart host/cgroup"
)
INIT = """#!/busybox sh
/busybox mkdir -p /bin /proc /sys /dev /run
/busybox --install -s /bin
export PATH=/bin:/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /run
mount -t debugfs debug /sys/kernel/debug
for m in /[0-9]*.ko; do insmod $m; done
export KEPT=$(/keep)
chmod 666 /dev/kvm
echo "=== open"
/step
chmod 600 /dev/kvm
echo "=== closed"
/step
echo "=== handed over"
/step kvm
echo "=== facts"
/step facts
echo "=== end"
poweroff -f
"""
count = failed = 0


def same(got, want, what):
    global count, failed
    count += 1
    failed += got != want
    print(f"{'ok' if got == want else 'not ok'} {count} - {what}", flush=True)
    if got != want:
        print(f"# got:  {got}\n# want: {want}", flush=True)


def compile_one(output, sources, *flags):
    command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-static", *flags]
    subprocess.run([*command, "-o", output, *sources], check=True)


def prepare(tree, build, work):
    """Make the cpio archive of the guest's files."""
    root = f"{work}/root"
    with open(f"{build}/config.status") as f:
        prefix = re.search(r'S\["prefix"\]="(.*)"', f.read())[1]
    libexec = f"{prefix}/libexec/nodeos"
    os.makedirs(f"{root}{libexec}", exist_ok=True)
    for name in ("nodeos-lwk", "nodeos-lwk-start"):
        subprocess.run(["cp", f"{build}/{name}", f"{root}{libexec}/"], check=True)
    subprocess.run(["cp", "/bin/busybox", root], check=True)
    sources = [f"{HERE}/programs/step.c", *(f"{TOP}/{s}.c" for s in SOURCES.split())]
    flags = (f"-I{TOP}", f"-I{build}", f'-DNODEOS_LIBEXECDIR="{libexec}"')
    compile_one(f"{root}/step", sources, *flags)
    compile_one(f"{root}/rank.static", [f"{HERE}/programs/rank.c"])
    compile_one(f"{root}/keep", [f"{TOP}/lwk/test/programs/keep.c"])
    for n, name in enumerate(MODULES):
        found = glob.glob(f"{tree}/**/modules/*/kernel/**/{name}.ko*", recursive=True)
        if found:  # else built in
            with open(f"{root}/{n}-{name}.ko", "wb") as f:
                subprocess.run(["xz", "-dcf", found[0]], check=True, stdout=f)
    with open(f"{root}/init", "w") as f:
        f.write(INIT)
    os.chmod(f"{root}/init", 0o755)
    command = "find . | cpio -o -H newc --quiet | gzip -1 >../test.cpio.gz"
    subprocess.run(["sh", "-c", command], cwd=root, check=True)


def boot(kernel, work):
    args = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "EPYC,+svm,+npt,+invtsc"]
    args += "-nographic -no-reboot -nodefaults -serial stdio -machine q35 -m 1024".split()
    args += "-smp 2,sockets=2".split()
    for node in (0, 1):
        args += ["-object", f"memory-backend-ram,id=m{node},size=512M"]
        args += ["-numa", f"node,nodeid={node},cpus={node},memdev=m{node}"]
    append = "console=ttyS0 panic=-1 tsc=reliable lpj=4000000 no_timer_check loglevel=4"
    append += " rdinit=/init rcupdate.rcu_cpu_stall_suppress=1"
    args += ["-kernel", kernel, "-initrd", f"{work}/test.cpio.gz", "-append", append]
    command = ["timeout", "600", *args]

    def run():
        p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        return p.stdout.replace("\r", "")

    return boot_again(run, "two sockets with SVM")


def judge(text, what, machines, status):
    part = text.partition(f"=== {what}\n")[2].partition("=== ")[0]
    during = re.findall("^during: (.*)$", part, re.M)
    same(during, ["16 16 free 0 0"], f"{what}: each node has the 16 pages of a rank, none is free")
    found = re.findall("^machines: (.*)$", part, re.M)
    same(found, [str(machines)], f"{what}: KVM has {machines} machines")
    want = [f"rank {r}: user 1000, clean, 2" for r in range(2)] if machines else []
    found = sorted(re.findall("^rank .*$", part, re.M))
    same(found, want, f"{what}: {len(want)} ranks print that their memory is clean")
    found = re.findall("^status (.*)$", part, re.M)
    same(found, [str(status)] * 2, f"{what}: both ranks end with status {status}")
    found = re.findall("^after: (.*)$", part, re.M)
    same(found, ["0 0 records 0"], f"{what}: no page and no record is left")


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    kernel, tree, build, work = map(os.path.abspath, sys.argv[1:])
    prepare(tree, build, work)
    text = boot(kernel, work)
    judge(text, "open", 2, 7)
    judge(text, "closed", 0, 125)
    judge(text, "handed over", 2, 7)
    same(
        re.findall(r"^facts: a machine runs;.* node 0: \d+ MiB for extents", text, re.M) != [],
        True,
        "facts: a machine runs, and node 0 has memory for extents",
    )
    if "=== end" not in text or failed:
        print("".join(f"# {line}\n" for line in text.splitlines()[-60:]))
    print(f"1..{count}")
    return failed > 0 or "=== end" not in text


if __name__ == "__main__":
    sys.exit(main())
