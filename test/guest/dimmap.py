# SPDX-License-Identifier: GPL-2.0-or-later
# boot: put=dimmapfs nvme=256M append="brd.rd_size=262144 brd.rd_nr=2"
# run: ci limit=900 job refused
# run: deep limit=3600
# run: deep kernel=stock limit=1800 without
# rooms: dimmap host
"""Test buffers of dimmapfs through Slurm. The isolator dimmap makes a buffer for a container. The
ranks map a file or a device through the buffer, which is removed with the job. Expected values are
from /proc/mounts, stat, the module's counters and the device itself.

dimmap.py [GROUP...]. The group "without" needs nodes without the module; the others load
./dimmapfs.ko."""

import hashlib
import json
import os
import re
import sys
import time

import cluster
from cluster import HOME, all_idle, both, cpus, ok, run, same, sbatch, slurm_conf
from containers import pod, write

CONF = "/etc/nodeos/nodeos.conf"
DEVICE = "/dev/nvme0n1"
MIB = 1 << 20
LOAD = "/usr/libexec/nodeos/test/dimmap-load"
MODULE = os.path.abspath("dimmapfs.ko")


def root(command, timeout=180, node=None):
    return run(command, user="root", timeout=timeout, node=node)


def configure(**keys):
    """Set keys of nodeos.conf on both nodes."""
    for key, value in keys.items():
        both(f"sed -i '/^{key} = /d' {CONF}; echo '{key} = {value}' >>{CONF}")


def buffer(size="64M", source=DEVICE, **more):
    return {"size": size, "source": source, **more}


def manifest(name, **containers):
    return write(name, pod(**containers))


def one(name, cpus="4", mems="1", **more):
    """Write a manifest NAME of one container, sim, with a buffer. Returns the path."""
    return manifest(name, sim={"container": {"cpus": cpus, "mems": mems}, "dimmap": buffer(**more)})


def mounts(node=None):
    return [
        line
        for line in root("cat /proc/mounts", node=node).out.splitlines()
        if " dimmapfs " in line
    ]


def gone(what, node=None):
    """Check that no buffer is left on NODE: no mount, no directory, and none in the module."""
    for _ in range(50):
        left = root(
            "grep dimmapfs /proc/mounts; ls /run/nodeos-dimmap; ls /sys/fs/dimmapfs", node=node
        ).out.split()
        if not left:
            break
        time.sleep(0.2)
    return same(left, [], what)


SHOW = """d=$NODEOS_DIMMAP; echo "path $d"; stat -c 'dir %U %a' $d; \
stat -c 'file %U %a %s' $d/data; grep " $d " /proc/mounts | sed 's/^/mount /'
echo "mems $NODEOS_MEMS"; cat $d/.stats | sed 's/^/stat /'; """


def told(r):
    """Return the lines "WORD REST" of a job's output as {WORD: [REST, ...]}."""
    found = {}
    for line in r.out.splitlines():
        word, _, rest = line.partition(" ")
        found.setdefault(word, []).append(rest)
    return found


def group_device():
    """Test that ranks see the data of a device, that their writes reach the device, and that no
    buffer is left."""
    size = int(root(f"blockdev --getsize64 {DEVICE}").out)
    m = one("device.json", policy="sieve", fill="16K")
    r = run(
        f"srun -w n0 -N1 -n2 -c2 --nodeos-manifest={m} --nodeos-report=device.%j.%s.%N bash -c"
        f" '{SHOW.replace(chr(39), chr(34))}'"
    )
    t = told(r)
    same(
        (r.code, len(set(t.get("path", []))), t.get("dir"), t.get("file")),
        (0, 1, ["alice 700"] * 2, [f"alice 600 {size}"] * 2),
        "both ranks see a buffer that belongs to their user",
    )
    options = (
        dict(w.partition("=")[::2] for w in t.get("mount", [" "])[0].split()[3].split(","))
        if t.get("mount")
        else {}
    )
    same(
        (options.get("nodes"), options.get("size"), options.get("policy"), options.get("fill")),
        (t.get("mems", [None])[0], "65536K", "sieve", "16K"),
        "the mount options of the buffer are those of the manifest and the container",
    )
    with open(
        f"{HOME}/"
        f"{[f for f in os.listdir(HOME) if f.startswith('device.') and f.endswith('.n0')][0]}"
    ) as f:
        c = json.load(f)["containers"][0]
    same(
        (c["asked"].get("dimmap"), [i["outcome"] for i in c["isolators"] if i["name"] == "dimmap"]),
        (
            {
                "size_bytes": 64 * MIB,
                "source": DEVICE,
                "policy": "sieve",
                "fill_bytes": 16384,
                "access": "rw",
            },
            ["enforced"],
        ),
        "the step's report has the buffer",
    )
    gone("the buffer of a step's container is removed with the step")
    r = run(
        f"srun -w n0 -N1 -n1 -c4 --nodeos-manifest={one('check.json')} bash -c '{LOAD} lriot"
        f" generate --size=200M $NODEOS_DIMMAP/data && {LOAD} lriot run --size=200M --threads=8"
        " --ops=2000 --read-percent=70 --check $NODEOS_DIMMAP/data || exit 1;"
        " cat $NODEOS_DIMMAP/.stats; md5sum <$NODEOS_DIMMAP/data'",
        timeout=600,
    )
    stat = dict(line.split() for line in r.out.splitlines() if re.fullmatch(r"\w+ \d+", line))
    ok(
        r.code == 0 and int(stat.get("evicted", 0)) > 30000 and stat.get("lost") == "0",
        "a rank uses 200 MiB through a buffer of 64 MiB, and all pages are right",
        r.text,
    )
    want = root(f"md5sum <{DEVICE}", timeout=300).out
    ok(
        want.split() and want.split()[0] in r.out,
        "the device has the data that the rank saw last",
        (want, r.out[-300:]),
    )


def group_job():
    """Test that the buffer of a container in the job's plan lives as long as the job, and that only
    the job's user can use it."""
    m = one("job.json")
    write(
        "job.sh",
        f"""#!/bin/bash
srun -n1 bash -c 'cat $NODEOS_DIMMAP/data | head -c 8M >/dev/null; \
grep -E "pages_read|minor" $NODEOS_DIMMAP/.stats; echo path $NODEOS_DIMMAP'
srun -n1 bash -c 'cat $NODEOS_DIMMAP/data | head -c 8M >/dev/null; \
grep -E "pages_read|minor" $NODEOS_DIMMAP/.stats; echo path $NODEOS_DIMMAP'
echo batch $NODEOS_DIMMAP
touch {HOME}/job.ready
for i in $(seq 300); do [ ! -e {HOME}/job.go ] || exit 0; sleep 0.2; done
""",
    )
    root(f"rm -f {HOME}/job.ready {HOME}/job.go")
    r = run(
        f"sbatch --parsable -w n0 -N1 -n1 -c4 -o {HOME}/job.out --nodeos-manifest={m} {HOME}/job.sh"
    )
    for _ in range(300):
        if os.path.exists(f"{HOME}/job.ready"):
            break
        time.sleep(0.2)
    with open(f"{HOME}/job.out") as f:
        lines = f.read().split("\n")
    read = [int(line.split()[1]) for line in lines if line.startswith("pages_read ")]
    paths = {
        line.split()[1]
        for line in lines
        if line.split()[:1] in (["path"], ["batch"]) and len(line.split()) == 2
    }
    ok(
        len(read) == 2 and read[0] >= 2048 and read[0] == read[1],
        "the second step of a job finds the pages in the buffer that the first step read",
        lines,
    )
    same(len(paths), 1, "both steps and the batch script have the same buffer")
    path = paths.pop() if paths else "/none"
    r = run(f"ls {path}; cat {path}/data | head -c 1; cat {path}/.stats", user="bob")
    same((r.code != 0, r.out), (True, ""), "another user can neither list nor read the buffer")
    r = run("ls /run/nodeos-dimmap", user="bob")
    ok(r.code != 0, "another user cannot list the directory of buffers", r.text)
    j = json.loads(root("nodeosctl report --json").out)
    d = j["jobs"][0]["containers"][0].get("dimmap", {}) if j.get("jobs") else {}
    ok(
        d.get("path") == path
        and d.get("pages") == 64 * MIB // 4096
        and d.get("pages_read") == read[-1]
        and d.get("pages_lost") == 0,
        "nodeosctl report --json has the buffer's counters",
        d,
    )
    ok(
        f"buffer of {DEVICE}: 64 MiB at {path}" in root("nodeosctl report").out,
        "nodeosctl report has the buffer",
        root("nodeosctl report").out,
    )
    r = run(f"srun -w n0 -N1 -n1 -c2 --nodeos-manifest={one('second.json', cpus='2')} true")
    ok(
        r.code != 0 and "in use" in r.err,
        "a second job cannot use the same device, and its user gets the reason",
        r.text,
    )
    write("job.go", "")
    all_idle("dimmap: a job with a buffer ends")
    gone("the buffer is removed when its job ends")
    r = root(
        f"dd if={DEVICE} of=/dev/null bs=4k count=1 iflag=direct && blockdev --rereadpt {DEVICE}"
    )
    same(r.code, 0, "after the job, the device can be reopened exclusively")


def group_two():
    """Test that the buffers of two jobs on one node have separate memory nodes and pages."""
    root(
        "mkfs.ext4 -q -F -b 4096 /dev/ram0 && mkdir -p /scratch && mount /dev/ram0 /scratch &&"
        " install -d -o bob -m 700 /scratch/bob"
    )
    run(
        "head -c 100M /dev/urandom >/scratch/bob/data && sync /scratch/bob/data",
        user="bob",
        timeout=300,
    )
    with open("/scratch/bob/data", "rb") as f:
        want = hashlib.md5(f.read()).hexdigest()
    first = one("first.json", cpus="4")
    second = manifest(
        "second.json",
        sim={"container": {"cpus": "4", "mems": "1"}, "dimmap": buffer("32M", "/scratch/bob/data")},
    )
    root(
        f"cp {second} /shared/home/bob/second.json; chown bob /shared/home/bob/second.json; rm -f"
        f" {HOME}/go {HOME}/first.out"
    )
    script = (
        "cat $NODEOS_DIMMAP/data | head -c 48M >/dev/null; echo mems $NODEOS_MEMS; cat"
        " $NODEOS_DIMMAP/.stats; touch $HOME/ready; while [ ! -e "
        + HOME
        + "/go ]; do sleep 0.2; done; echo end; cat $NODEOS_DIMMAP/.stats"
    )
    write("loop.sh", f"#!/bin/bash\n{script}\n")
    root(f"rm -f {HOME}/ready /shared/home/bob/ready")
    a = run(
        f"sbatch --parsable -w n0 -N1 -n1 -c4 --mem=400M -o {HOME}/first.out"
        f" --nodeos-manifest={first} {HOME}/loop.sh"
    )
    for _ in range(300):
        if os.path.exists(f"{HOME}/ready"):
            break
        time.sleep(0.2)
    r = run(
        "srun -w n0 -N1 -n1 -c4 --mem=300M --nodeos-manifest=second.json bash -c 'md5sum"
        " <$NODEOS_DIMMAP/data; echo mems $NODEOS_MEMS; cat $NODEOS_DIMMAP/.stats'",
        user="bob",
        timeout=300,
    )
    ok(r.code == 0 and want in r.out, "bob's job reads his file through his buffer", r.text)
    his = told(r)
    write("go", "")
    all_idle("dimmap: both jobs with buffers end")
    with open(f"{HOME}/first.out") as f:
        text = f.read()
    before, _, after = text.partition("end\n")
    mine = dict(line.split(" ", 1) for line in before.splitlines() if " " in line)
    ok(int(mine.get("pages_read", 0)) > 10000, "alice's job reads her file", text[:300])
    same(
        dict(line.split(" ", 1) for line in after.splitlines() if " " in line),
        {k: v for k, v in mine.items() if k != "mems"},
        "no counter of alice's buffer changes while bob's job runs",
    )
    ok(
        int(his.get("evicted", ["0"])[0]) > 10000,
        "bob's buffer evicts pages",
        his.get("evicted"),
    )
    ok(
        a.code == 0 and not cpus(mine.get("mems", "0")) & cpus(his.get("mems", ["0"])[0]),
        "the buffers of two jobs are on separate memory nodes",
        (mine.get("mems"), his.get("mems"), text[:300]),
    )
    r = run(f"srun -w n0 -N1 -n1 -c4 --nodeos-manifest={second} true")
    ok(
        r.code != 0
        and (
            "/scratch/bob/data: cannot be opened for reading and writing by its user"
            " (uid 1000): Permission denied"
        )
        in r.err,
        "alice cannot get a buffer of bob's file",
        r.text,
    )
    gone("both users' jobs leave no buffer")
    root("umount /scratch")


def group_refused():
    """Test that a refused buffer gives one message, and that the step does not run."""
    for what, options, text in (
        (
            "a device that the site does not name",
            {"source": "/dev/ram0"},
            "buffers of that device are not allowed at this site",
        ),
        ("a missing file", {"source": "/scratch/none"}, "No such file or directory"),
        (
            "a file that is not of ext4 or XFS",
            {"source": "/run/nodeos-test"},
            "it is neither a block device nor a file of ext4 or XFS",
        ),
        ("more than the site's limit", {"size": "300M"}, "above this site's limit"),
        ("more memory than the job has", {"size": "200M"}, "do not fit in the job's memory"),
        ("a file with a hole", {"source": "/sparse/hole"}, "nothing is stored at byte 4096"),
    ):
        r = run(
            f"srun -w n0 -N1 -n2 -c2 --mem=150M --nodeos-manifest={one('refused.json', **options)}"
            " echo ran"
        )
        ok(
            r.code != 0 and text in r.err and "ran" not in r.out,
            f"a buffer with {what} is refused",
            r.text,
        )
        ok(
            len(re.findall("error: nodeos: ", r.err)) == 1 and r.err.count("\n") <= 8,
            f"a buffer with {what}: the user gets one message",
            r.err,
        )
    all_idle("no refused buffer drains a node")
    gone("refused buffers leave nothing")


def group_ends():
    """Test that a job's buffer is removed and its writes reach the device, however the job ends."""
    m = one("ends.json")
    for what, kill in (
        ("scancel", "scancel {job}"),
        ("scancel --signal=KILL", "scancel --full --signal=KILL {job}"),
        ("slurmstepds killed", "pkill -9 -f 'slurmstepd: \\[{job}'"),
    ):
        root(f"rm -f {HOME}/written {HOME}/ends.out")
        write(
            "ends.sh",
            f"""#!/bin/bash
printf '%s' "{what}" | dd of=$NODEOS_DIMMAP/data bs=4096 seek=100 conv=notrunc status=none
touch {HOME}/written
sleep 600
""",
        )
        job = run(
            f"sbatch --parsable -w n0 -N1 -n1 -c4 -o {HOME}/ends.out --nodeos-manifest={m}"
            f" {HOME}/ends.sh"
        ).out.strip()
        for _ in range(300):
            if os.path.exists(f"{HOME}/written"):
                break
            time.sleep(0.2)
        same(len(mounts()), 1, f"{what}: the job has a buffer")
        root(kill.format(job=job))
        if "killed" in what:
            time.sleep(2)
            root(f"scancel {job}")
        all_idle(f"{what}: the node becomes idle")
        gone(f"{what}: the buffer of the job is removed")
        r = root(
            f"dd if={DEVICE} bs=4096 skip=100 count=1 iflag=direct status=none | head -c"
            f" {len(what)}"
        )
        same(r.out, what, f"{what}: the written data is on the device")


def group_deleted():
    """nodeosctl delete removes the container's buffer at once, and the writes reach the device. The
    buffer of another container stays."""
    root(
        f"rm -f {HOME}/written {HOME}/deleted.out; mkfs.ext4 -q -F -b 4096 /dev/ram0 && mkdir -p"
        " /scratch && mount /dev/ram0 /scratch && install -d -o alice -m 700 /scratch/alice"
    )
    run("head -c 1M /dev/zero >/scratch/alice/own && sync /scratch/alice/own")
    m = manifest(
        "deleted.json",
        sim={"container": {"cpus": "4", "mems": "1"}, "dimmap": buffer()},
        vda={
            "container": {"cpus": "2", "mems": "1"},
            "dimmap": buffer("16M", "/scratch/alice/own"),
        },
    )
    write(
        "deleted.sh",
        f"""#!/bin/bash
srun -n1 -c2 --overlap --nodeos-container=vda sleep 600 &
srun -n1 -c4 --overlap --nodeos-container=sim bash -c 'printf "given back" | \
dd of=$NODEOS_DIMMAP/data bs=4096 seek=101 conv=notrunc status=none'
touch {HOME}/written
wait
""",
    )
    r = run(
        f"sbatch --parsable -w n0 -N1 -n1 -c8 --mem=400M -o {HOME}/deleted.out"
        f" --nodeos-manifest={m} {HOME}/deleted.sh"
    )
    for _ in range(600):
        if os.path.exists(f"{HOME}/written") and len(mounts()) == 2:
            break
        time.sleep(0.2)
    same(len(mounts()), 2, "each of two containers has a buffer")
    d = run("nodeosctl delete vda")
    same(
        (d.code, "has 1 rank here" in d.err, len(mounts())),
        (1, True, 2),
        "delete refuses a container with a rank, and its buffer stays",
    )
    d = run("nodeosctl delete sim")
    ok(
        d.code == 0 and "container sim of job" in d.out,
        "a container without ranks is deleted",
        d.text + root(f"cat {HOME}/deleted.out").out,
    )
    left = mounts()
    ok(
        len(left) == 1 and left[0].split()[1].split("/")[-2].endswith(".1"),
        "delete removes the container's buffer, and no other",
        left,
    )
    r2 = root(f"dd if={DEVICE} bs=4096 skip=101 count=1 iflag=direct status=none | head -c 10")
    same(r2.out, "given back", "delete: the written data is on the device")
    run(f"scancel {r.out.strip()}")
    all_idle("the job with the deleted container ends")
    gone("the job with the deleted container leaves no buffer")
    root("umount /scratch")


def group_again():
    """Test buffers with a umask, with a device that has writes in flight, after a killed
    slurmstepd, and with a descriptor that stays open."""
    root("rm -rf /run/nodeos-dimmap")
    m = one("again.json", cpus="2")
    look = 'stat -c "data %U" $NODEOS_DIMMAP/data'
    r = run(f"umask 077; srun -w n0 -N1 -n1 -c2 --nodeos-manifest={m} bash -c '{look}'")
    same(r.out, "data alice\n", "a job with a umask of 077 can use its buffer")
    gone("the buffer of the job with a umask is removed")
    root(f"cp {m} /shared/home/bob/again.json; chown bob /shared/home/bob/again.json")
    r = run(f"srun -w n0 -N1 -n1 -c2 --nodeos-manifest=again.json bash -c '{look}'", user="bob")
    same(
        (r.out, r.err), ("data bob\n", ""), "the next job, of another user, can use its buffer, too"
    )
    write(
        "again.sh",
        f"""#!/bin/bash
for i in 1 2 3 4; do
	srun -n1 -c2 --nodeos-manifest={m} bash -c "\
dd if=/dev/zero of=\\$NODEOS_DIMMAP/data bs=1M count=40 conv=notrunc status=none \
&& echo done $i" || exit
done
""",
    )
    r = sbatch(f"-w n0 -N1 -n1 -c2 -o {HOME}/again.out --mem=400M {HOME}/again.sh")
    with open(f"{HOME}/again.out") as f:
        text = f.read()
    same(
        (r.code, text),
        (0, "done 1\ndone 2\ndone 3\ndone 4\n"),
        "four steps of a job use the device one after the other, while writes are still in flight",
    )
    gone("no buffer of steps in a row is left")
    # kill all processes of the step, so that none is left that could remove the buffer
    write(
        "killed.sh",
        f"#!/bin/bash\nsrun -n1 -c2 --nodeos-manifest={m} bash -c 'touch {HOME}/killed.ready; exec"
        " sleep 1000'\nsleep 1000\n",
    )
    root(f"rm -f {HOME}/killed.ready")
    job = run(
        f"sbatch --parsable -w n0 -N1 -n1 -c2 -o {HOME}/killed.out {HOME}/killed.sh"
    ).out.strip()
    for _ in range(300):
        if os.path.exists(f"{HOME}/killed.ready"):
            break
        time.sleep(0.2)
    same(len(mounts()), 1, "the container of a step has a buffer")
    root(
        f"pkill -9 -f 'slurmstepd: \\[{job}.0'; sleep 1; pkill -9 -u alice -x sleep; sleep 1;"
        f" scancel {job}"
    )
    all_idle("slurmstepd and ranks killed, job cancelled: the node becomes idle")
    gone("slurmstepd and ranks killed: the buffer is removed")
    r = run(f"srun -w n0 -N1 -n1 -c2 --nodeos-manifest={m} bash -c '{look}'")
    same(r.out, "data alice\n", "slurmstepd and ranks killed: the next job can use the device")
    gone("slurmstepd and ranks killed: the buffer of the next job is removed")
    # a process outside of the job keeps a descriptor of the buffer open
    root(f"rm -f {HOME}/killed.ready")
    job = run(
        f"sbatch --parsable -w n0 -N1 -n1 -c2 -o {HOME}/killed.out {HOME}/killed.sh"
    ).out.strip()
    for _ in range(300):
        if os.path.exists(f"{HOME}/killed.ready"):
            break
        time.sleep(0.2)
    where = (mounts() or ["- none"])[0].split()[1]
    root(
        f"(exec 8<>{where}/data; exec sleep 987) >/dev/null 2>&1 </dev/null & sleep 1; scancel"
        f" {job}"
    )
    all_idle("a job ends although another process has its buffer open")
    r = run(f"srun -w n0 -N1 -n1 -c2 --nodeos-manifest={m} bash -c '{look}'")
    same((r.code, r.out), (0, "data alice\n"), "buffer still open: the next job can use the device")
    ok(
        len(root("ls /sys/fs/dimmapfs").out.split()) <= 2,
        "buffer still open: the next job has a buffer of its own",
    )
    same(
        root("dd if=/proc/$(pgrep -xf 'sleep 987')/fd/8 of=/dev/null bs=4096 count=1").code != 0,
        True,
        "buffer still open: the process that has it open cannot read it",
    )
    root("pkill -9 -xf 'sleep 987'; sleep 1")
    gone("buffer still open: the buffer is removed when that process closes it")


def group_private():
    """Test that jobs with mount namespaces of their own see their buffers."""
    private = "JobContainerType=job_container/tmpfs"
    for what, lines in (
        ("private /tmp", [private]),
        ("private /tmp, contain_spank", [private, "SlurmdParameters=contain_spank"]),
    ):
        slurm_conf(lines)
        m = one("private.json")
        r = run(
            f"srun -w n0 -N1 -n2 -c2 --nodeos-manifest={m} bash -c"
            f" '{SHOW.replace(chr(39), chr(34))}'"
        )
        t = told(r)
        same(
            (r.code, t.get("dir")),
            (0, ["alice 700"] * 2),
            f"{what}: both ranks of a step see the buffer of the step's container",
        )
        gone(f"{what}: the buffer of the step is removed")
        write(
            "private.sh",
            "#!/bin/bash\nsrun -n2 bash -c 'stat -c \"dir %U %a\" $NODEOS_DIMMAP'\nsrun -n1 stat -c"
            " 'dir %U %a' $NODEOS_DIMMAP\n",
        )
        r = sbatch(
            f"-w n0 -N1 -n2 -c2 -o {HOME}/private.out --nodeos-manifest={m} {HOME}/private.sh"
        )
        with open(f"{HOME}/private.out") as f:
            text = f.read()
        same(
            (r.code, text),
            (0, "dir alice 700\n" * 3),
            f"{what}: the steps of a job see the buffer of the job's container",
        )
        all_idle(f"{what}: all nodes become idle")
        gone(f"{what}: the buffer of the job is removed")
    slurm_conf([])
    both("rm -f /etc/slurm/job_container.conf /etc/slurm/slurm.conf.keep")


def group_nodes():
    """Test that each of a job's two nodes has a buffer of its own."""
    m = one("nodes.json", cpus="2")
    r = run(
        f"srun -N2 -n2 -c2 --nodeos-manifest={m} bash -c 'hostname | dd of=$NODEOS_DIMMAP/data"
        " bs=4096 seek=7 conv=notrunc,fsync status=none; echo done'"
    )
    same((r.code, r.out), (0, "done\ndone\n"), "a step with a buffer runs on two nodes")
    for node in ("n0", "n1"):
        same(
            root(
                f"dd if={DEVICE} bs=4096 skip=7 count=1 iflag=direct status=none | head -c 3",
                node=node,
            ).out,
            f"{node}\n",
            f"{node}: the node's device has what the rank on this node wrote",
        )
        gone(f"{node}: no buffer is left", node)


def group_mpi():
    """Test that MPI sends from and receives into a buffer, on one node and on two nodes. MPI-IO
    writes a buffer to
    a file of the node and to a file of the shared file system. The shared file system has no cache,
    so its I/O is direct, and fails with EFAULT as dimmapfs(5) says."""
    m = one("mpi.json", cpus="4")
    sizes = [1 << (10 + 2 * i) for i in range(8)]
    messages = [(what, size) for what in ("to", "from", "both") for size in sizes]
    messages += [("both", sizes[-1])]
    for what, where, file in (
        ("one node", "-w n0 -N1 -n2 -c2", "/var/tmp/mpi.io"),
        ("two nodes", "-N2 -n2 -c4", f"{HOME}/mpi.io"),
    ):
        r = run(
            f"srun {where} --mpi=pmix --nodeos-manifest={m} bash -c"
            f" '/usr/libexec/nodeos/test/mapped-mpi $NODEOS_DIMMAP/data {file}'",
            timeout=600,
        )
        direct = file.startswith(HOME)
        want = sorted(
            [(w, n, "ok") for w, n in messages] + [("file", 1 << 20, "wrong" if direct else "ok")]
        )
        found = re.findall(r"^mapped (\w+) (\d+) (\w+)$", r.out, re.M)
        ok(
            r.code == 0 and sorted((w, int(n), word) for w, n, word in found) == want,
            f"{what}: messages of 1 KiB to 16 MiB and a file without direct I/O are right",
            r.text,
        )
        ok(
            ("Bad address" in r.text) == direct,
            f"{what}: only direct I/O between a mapping and a file is refused",
            r.text,
        )
    all_idle("dimmap, mpi: all nodes are idle at the end")
    gone("MPI jobs leave no buffer")


def group_without():
    """Test that a step with a buffer fails on a node without the module."""
    r = run(f"srun -w n0 -N1 -n2 -c2 --nodeos-manifest={one('without.json')} echo ran")
    ok(
        r.code != 0 and "this node's kernel has no dimmapfs" in r.err and "ran" not in r.out,
        "without dimmapfs, the step fails with the reason",
        r.text,
    )
    all_idle("the node without dimmapfs is not drained")


GROUPS = {
    name.removeprefix("group_"): f
    for name, f in list(globals().items())
    if name.startswith("group_")
}


def prepare():
    """Load the module on both nodes. Make a file with a hole, and one on a file system without
    blocks."""
    root(f"cp {MODULE} /shared/dimmapfs.ko")
    same(
        [r.text for r in both("insmod /shared/dimmapfs.ko").values()],
        ["exit 0\n"] * 2,
        "dimmapfs is loaded on both nodes",
    )
    r = root(
        "echo x >/run/nodeos-test; chmod 666 /run/nodeos-test; mkdir -p /sparse /scratch; mkfs.ext4"
        " -q -F -b 4096 /dev/ram1 && mount /dev/ram1 /sparse && echo x >/sparse/hole && truncate -s"
        " 64K /sparse/hole && chmod 666 /sparse/hole"
    )
    same(r.text, "exit 0\n", "the test can make the files for refusals")


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or [
        name for name in GROUPS if name != "without"
    ]
    cluster.patient()
    configure(dimmap_devices=DEVICE, dimmap_files="yes", dimmap_max="256M")
    if names != ["without"]:
        prepare()
    cluster.run_groups(GROUPS, names)
    all_idle("dimmap: all nodes are idle at the end")
    same(cluster.leftovers(), "", "dimmap: no ledger entry is left")
    cluster.done()


main()
