#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: deep limit=3600
# run: deep limit=5400 options
# run: deep slurm=22.05 limit=5400 options
# run: deep slurm=newest limit=5400 options
# rooms: spank launch
"""Check that command lines without options of NodeOS give the same results with and without the
plugin: masks, memory policy, cgroup files, limits, environment, output, exit code. Values that
differ between two runs of stock Slurm are not compared. "noharm.py [PATTERN]" runs only the lines
that match. "noharm.py options [PATTERN]" tries every option of srun --help, long, short and
abbreviated, before a program whose argument ends in .json."""

import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cluster
from cluster import HOME, all_idle, note, ok, run, wait_idle

LINE = "/etc/slurm/plugstack.conf.d/nodeos.conf"
TOP = f"{HOME}/nh"
# first job number: so large that no other number can be mistaken for a job number
FIRST_JOB = 700000
SNAPSHOT = "/usr/libexec/nodeos/test/snapshot"

S = "srun -w n0"  # always the same node
LINES = [
    # affinity
    f"{S} -n4 P",
    f"{S} -n4 --cpu-bind=none P",
    f"{S} -n4 --cpu-bind=cores P",
    f"{S} -n4 --cpu-bind=threads P",
    f"{S} -n4 --cpu-bind=sockets P",
    f"{S} -n4 --cpu-bind=ldoms P",
    f"{S} -n4 --exclusive --cpu-bind=map_cpu:0,2,4,6 P",
    f"{S} -n4 --exclusive --cpu-bind=mask_cpu:0x3,0xc,0x30,0xc0 P",
    f"{S} -n4 --exclusive --cpu-bind=map_ldom:0,1,2,3 P",
    f"{S} -n2 --cpu-bind=verbose,cores P",
    f"{S} -n2 --cpu-bind=quiet,threads P",
    f"{S} -n2 --cpu-bind=map_cpu:77 P",
    f"{S} -n2 --hint=nomultithread P",
    f"{S} -n2 --hint=multithread P",
    f"{S} -n2 --hint=compute_bound P",
    f"{S} -n2 --hint=memory_bound P",
    f"{S} -n2 -c2 P",
    f"{S} -n2 -c3 P",
    f"{S} -n1 -c16 P",
    f"{S} -n2 --threads-per-core=1 P",
    f"{S} -n2 --ntasks-per-core=1 P",
    f"{S} -n4 --ntasks-per-socket=2 P",
    f"{S} -n4 --cores-per-socket=2 P",
    "srun -N2 --ntasks-per-node=2 P",
    "srun -N2 -n5 -l P",
    f"SLURM_CPU_BIND=cores {S} -n2 P",
    # distribution
    "srun -N2 -n8 -m block P",
    "srun -N2 -n8 -m cyclic P",
    "srun -N2 -n8 -m plane=2 P",
    "srun -N2 -n8 -m block:block P",
    "srun -N2 -n8 -m block:cyclic P",
    "srun -N2 -n8 -m cyclic:cyclic P",
    "srun -N2 -n8 -m block:fcyclic P",
    "srun -N2 -n8 -m cyclic:block:block P",
    # memory
    f"{S} -n2 --mem-bind=local P",
    f"{S} -n2 --mem-bind=rank P",
    f"{S} -n2 --mem-bind=map_mem:0,1 P",
    f"{S} -n2 --mem-bind=mask_mem:0x1,0x2 P",
    f"{S} -n2 --mem-bind=none P",
    f"{S} -n2 --mem-bind=verbose,prefer,local P",
    f"{S} -n2 --mem=100 P",
    f"{S} -n2 --mem-per-cpu=50 P",
    f"{S} -n2 --mem-bind=map_mem:9 P",
    # input, output and exit codes of steps
    f"{S} -n2 --export=NONE P",
    f"{S} -n2 --export=ALL,X=1 P",
    f"{S} -n2 -l P",
    f"{S} -n2 -o out.%t P",
    f"{S} -n1 -i /etc/hostname cat",
    f"{S} -n2 --task-prolog=$PWD/prolog.sh P",
    f"{S} -n1 -D /tmp P",
    f"{S} -n2 P 3",
    f"{S} -n1 P -9",
    f"{S} -n2 -K P 4",
    f"{S} -n2 -W 3 P",
    f"{S} -n1 no-such-program",
    f"{S} -n1 --nice=5 P",
    f"{S} -n1 --propagate=NOFILE P",
    f"{S} -n2 -u P",
    f"{S} -n2 -O P",
    f"{S} -n40 -O hostname",
    f"{S} -n1 --bcast=/tmp/nh.bcast {SNAPSHOT} DIR",
    f"{S} -n3 --multi-prog mp.conf",
    f"script -qec '{S} -n1 --pty P' /dev/null",
    f"{S} --no-such-option P",
    f"{S} -n1 srun --overlap -n1 P",
    "sbatch --no-such-option x",
    # jobs
    "BATCH -w n0 --wrap 'P'",
    "BATCH -w n0 -n4 steps.sh a 'b c'",
    "BATCH -N2 --exclusive two.sh",
    "BATCH -w n0 --export=NONE --wrap 'P'",
    "BATCH -w n0 --array=0-1 --wrap 'P'",
    "BATCH -w n0 -c2 --wrap 'srun P'",
    "BATCH -w n0 --wrap 'exit 5'",
    "BATCH -w n0 -n1 : -w n1 -n1 het.sh",
    "BATCH -w n0 --mem=200 --wrap 'P'",
    "salloc -w n0 -n2 srun P",
    "salloc -w n0 -n2 bash -c 'P; exit 3'",
    (
        "J=$(salloc -w n0 -n2 --no-shell 2>&1 | sed -n 's/.*Granted job allocation //p'); srun"
        " --jobid=$J P; scancel $J"
    ),
    "BATCH -w n0 -n4 --wrap 'mpirun P'",
    "BATCH -N2 --ntasks-per-node=2 --wrap 'mpirun P'",
    "BATCH -w n0 -n4 --wrap 'srun --mpi=pmix P'",
    f"{S} -n2 --gres=tile:1 P",
    f"{S} -n4 --exclusive --gres=tile:2 P",
    (
        "BATCH -w n0 -n2 --gres=tile:2 --wrap 'srun --exact -n1 --gres=tile:1 P & srun --exact -n1"
        " --gres=tile:1 P & wait'"
    ),
]
SCRIPTS = {
    "prolog.sh": "#!/bin/sh\necho export FROM_PROLOG=1\necho print hello from the prolog\n",
    "mp.conf": "0 P\n1-2 P\n",
    "steps.sh": (
        "#!/bin/bash\nP\nsrun P\nsrun -n1 --overlap P\nsrun -n1 --exact P & srun -n1 --exact P &"
        " wait\nsrun -n2 --exclusive P\n"
    ),
    "two.sh": (
        "#!/bin/bash\nP\nsrun -N2 -n2 P\nsrun -N1 -w n1 -n3 -c2 P\nsrun -N2 -n4"
        " --distribution=cyclic P\n"
    ),
    "het.sh": (
        "#!/bin/bash\nP\nsrun --het-group=0 P\nsrun --het-group=1 P\nsrun --het-group=0,1 P\n"
    ),
}


def plugin(there):
    for node in ("n0", "n1"):
        run(
            f"if [ -e {LINE}.off ]; then mv {LINE}.off {LINE}; fi;"
            f" {'true' if there else f'mv {LINE} {LINE}.off'}; systemctl restart slurmd",
            user="root",
            node=node,
        )
    wait_idle()


def normal(text, jobs):
    """Return TEXT with job numbers, process numbers and times replaced by words."""
    text = text.replace("\0", "").replace("\r", "")
    for job in jobs:
        text = re.sub(rf"(?<![\w.]){job}(?!\d)", "JOB", text)
        text = text.replace(f"job_{job}", "job_JOB").replace(f"job{int(job):05d}", "jobJOB")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", text)
    return re.sub(r"(?<=\[)\d+(?=\])", "PID", text)


def records(where, jobs):
    """Return the records that the ranks have written, sorted, since ranks of several steps have no
    order."""
    out = []
    for name in sorted(os.listdir(where)):
        if re.fullmatch(r"(\d+|x)\.n\d\.\d+", name):
            with open(f"{where}/{name}") as f:
                out.append((name.rsplit(".", 1)[0], tuple(normal(f.read(), jobs).splitlines())))
    return sorted(out)


def once(line, where):
    """Run one command line. Returns its exit code, its output and the records of its ranks."""
    os.makedirs(where)
    os.chown(where, 1000, 1000)
    probe = f"{SNAPSHOT} {where}"
    for name, text in SCRIPTS.items():
        with open(f"{where}/{name}", "w") as f:
            f.write(re.sub(r"\bP\b", probe, text))
        os.chmod(f"{where}/{name}", 0o755)
    batch = line.startswith("BATCH")
    command = re.sub(r"\bP\b", probe, line).replace("DIR", where)
    if batch:
        command = command.replace("BATCH", "sbatch --wait -o job.%a.out", 1)
    before = cluster.last_job()
    r = run(command, cwd=where, timeout=240)
    jobs = [str(j) for j in range(max(before + 1, FIRST_JOB), cluster.last_job() + 1)]
    files = ""
    for name in sorted(os.listdir(where)):
        if name.startswith(("job.", "out.")):
            with open(f"{where}/{name}", errors="replace") as f:
                files += f"{name.replace('4294967294', 'NONE')}: {''.join(sorted(f.readlines()))}\n"
    lines = (
        sorted(normal(r.out, jobs).splitlines())
        + sorted(normal(r.err, jobs).splitlines())
        + normal(files, jobs).splitlines()
    )
    return {
        "code": r.code,
        "text": [x.replace(where, "DIR") for x in lines],
        "ranks": [
            (n, tuple(x.replace(where, "DIR") for x in rec)) for n, rec in records(where, jobs)
        ],
    }


def key(line):
    """Return the name in a line of a record, such as a variable or a cgroup file. Values are left
    out of the comparison by name."""
    word, _, rest = line.partition(" ")
    if word == "env":
        return f"env {rest.partition('=')[0]}"
    return " ".join(line.split()[:3]) if word == "cgroup" else line


def unstable(a, b):
    """Return the names whose values differ between two runs of stock Slurm."""
    out = set()
    for (_, x), (_, y) in zip(a["ranks"], b["ranks"]):
        out |= {key(line) for line in set(x) ^ set(y)}
    return out


def stable(result, drop):
    return [
        (n, sorted(line for line in rec if key(line) not in drop)) for n, rec in result["ranks"]
    ]


def differences(a, b):
    out = []
    for (n, x), (m, y) in zip(a, b):
        if n != m:
            out.append(f"rank {n} against {m}")
        out += [f"{n}: stock {line}" for line in x if line not in y] + [
            f"{m}: ours  {line}" for line in y if line not in x
        ]
    return "\n".join(out) or f"{len(a)} records without the plugin, {len(b)} with it"


def sweep(lines, name):
    shutil.rmtree(f"{TOP}/{name}", ignore_errors=True)
    out = []
    for i, line in enumerate(lines):
        if i % 20 == 0:
            note(f"{name}: line {i} of {len(lines)}")
        out.append(once(line, f"{TOP}/{name}/{i:02d}"))
    wait_idle()
    return out


def compare(lines, a, b, ours):
    dropped = set()
    for line, x, y, z in zip(lines, a, b, ours):
        drop = unstable(x, y)
        dropped |= drop
        ok(
            z["code"] == x["code"] or z["code"] == y["code"],
            f"{line}: the exit code is as without the plugin: {x['code']}",
            f"exit code {z['code']}\n" + "\n".join(z["text"]),
        )
        ok(
            z["text"] in (x["text"], y["text"])
            or set(z["text"]) <= set(x["text"]) | set(y["text"]),
            f"{line}: the output is as without the plugin",
            "\n".join(f"stock {t}" for t in x["text"] if t not in z["text"])
            + "\n"
            + "\n".join(f"ours  {t}" for t in z["text"] if t not in x["text"]),
        )
        # the records may equal those of either run of stock Slurm, since the order of ranks may
        # vary
        ok(
            stable(z, drop) in (stable(x, drop), stable(y, drop)),
            f"{line}: the records of {len(x['ranks'])} ranks are as without the plugin",
            differences(stable(x, drop), stable(z, drop)),
        )
    note(
        f"left out, because they differ between two runs of stock Slurm:"
        f" {', '.join(sorted(dropped))}"
    )


# ------------------------------------------------------------------ options
AT_ONCE = 6
# {option: value with which the program runs}, for options for which "1" is not such a value
VALUES = {
    "account": "",
    "begin": "now",
    "bcast": "",
    "chdir": "/tmp",
    "cluster-constraint": "",
    "clusters": "",
    "comment": "out.json",
    "constraint": "",
    "container": "",
    "container-id": "",
    "cpu-bind": "none",
    "cpu-freq": "",
    "deadline": "",
    "dependency": "",
    "distribution": "block",
    "error": "err.txt",
    "exclude": "n1",
    "export": "ALL",
    "extra": "x.json",
    "input": "/dev/null",
    "job-name": "x.json",
    "jobid": "",
    "kill-on-bad-exit": "0",
    "mail-type": "NONE",
    "mail-user": "alice",
    "mem-bind": "local",
    "mpi": "none",
    "nodefile": "hosts.txt",
    "nodelist": "n0",
    "output": "out.txt",
    "open-mode": "append",
    "partition": "",
    "prefer": "",
    "propagate": "NOFILE",
    "task-epilog": "/bin/true",
    "task-prolog": "/bin/true",
    "time": "5",
    "time-min": "1",
    "prolog": "/bin/true",
    "epilog": "/bin/true",
    "wckey": "",
    "tmp": "0",
    "slurmd-debug": "error",
    "hint": "compute_bound",
}


def option_words(text):
    """Return every option of srun --help except those of NodeOS: (long name, short letter or None,
    whether it takes a value)."""
    out = {}
    for line in text.splitlines():
        m = re.match(r"\s+(?:-(\w)(?:, |  ?))?\s*--([a-z0-9][a-z0-9-]*)(\[?[=\[<])?", line)
        if m and not m[2].startswith("nodeos"):
            out[m[2]] = (m[1], (m[3] or "").startswith(("=", "<")))
            continue
        m = re.match(r"\s+-(\w),? ?(?:\S+ )?", line)
        if m:
            out.setdefault(f"-{m[1]}", (m[1], False))
    return [(name, short, value) for name, (short, value) in sorted(out.items())]


def shortest(name, names):
    """Return the shortest unambiguous abbreviation of NAME."""
    for n in range(1, len(name)):
        if not any(other.startswith(name[:n]) for other in names if other != name):
            return name[:n]
    return name


def option_lines(text):
    """Return (option as it is written, command line) for every form of every option."""
    options = option_words(text)
    names = [name for name, _, _ in options]
    out = []
    for name, short, value in options:
        if name in ("help", "usage", "version") or name.startswith("-"):
            continue
        word = VALUES.get(name, "1")
        forms = [f"--{name} {word}"] if value and word else [f"--{name}"]
        forms.append(f"--{shortest(name, names)}" + (f"={word}" if value and word else ""))
        if short:
            forms.append(f"-{short} {word}" if value and word else f"-{short}")
        out += [
            (form, f"timeout -s INT -k 5 60 srun -n1 --overlap {form} ./app input.json --exclusive")
            for form in dict.fromkeys(forms)
        ]
    return out


def try_option(line, where, job):
    """Run LINE as a step of JOB. Returns its exit code and its output without job numbers, times
    and waits."""
    os.makedirs(where)
    os.chown(where, 1000, 1000)
    for name, text in (
        ("app", "#!/bin/sh\necho app $*\n"),
        ("input.json", '{"no": "manifest"}\n'),
        ("hosts.txt", "n0\n"),
    ):
        with open(f"{where}/{name}", "w") as f:
            f.write(text)
        os.chmod(f"{where}/{name}", 0o755 if name == "app" else 0o644)
    r = run(line, cwd=where, timeout=120, env={"SLURM_JOB_ID": job})
    text = re.sub(r"\d+", "N", r.out + r.err)
    skip = (
        "queued and waiting",
        "has been allocated",
        "step creation",
        "Step created",
        "interrupt",
        "Interrupt",
        "forcing",
        "aborted",
        "CANCELLED",
    )
    files = sorted(re.sub(r"bcast_\d+\.\d+", "bcast_N", name) for name in os.listdir(where))
    return r.code, sorted(x for x in text.splitlines() if not any(s in x for s in skip)), files


def sweep_options(lines, name):
    """Run LINES, {number: command line}, in one job. Returns {number: result}."""
    shutil.rmtree(f"{TOP}/{name}", ignore_errors=True)
    os.makedirs(f"{TOP}/{name}")
    note(f"{name}: {len(lines)} command lines")
    job = re.search(r"job allocation (\d+)", run("salloc -w n0 --exclusive --no-shell").err)[1]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        out = dict(
            zip(lines, pool.map(lambda i: try_option(lines[i], f"{TOP}/{name}/{i}", job), lines))
        )
    run("scancel -u alice", user="root")
    wait_idle()
    return out


def options(pattern):
    plugin(False)
    text = run("srun --help").out
    forms = [x for x in option_lines(text) if re.search(pattern, x[0])]
    ok(
        len(forms) > 200 or pattern,
        f"srun --help gives more than 200 command lines: {len(forms)}",
        text,
    )
    lines = dict(enumerate(line for _, line in forms))
    stock = sweep_options(lines, "stock")
    plugin(True)
    ours = sweep_options(lines, "ours")
    # a difference may be due to timing: run these lines again with and without the plugin
    again = {i: lines[i] for i in lines if stock[i] != ours[i]}
    if again:
        ours.update(sweep_options(again, "ours2"))
        plugin(False)
        stock.update(sweep_options(again, "stock2"))
        plugin(True)
    for i, (form, line) in enumerate(forms):
        ok(
            stock[i] == ours[i],
            f"srun {form}: exit code and output are as without the plugin: {stock[i][0]}",
            f"{line}\nstock {stock[i]}\nours  {ours[i]}",
        )
    ran = sum(x[0] == 0 and "app input.json --exclusive" in x[1] for x in stock.values())
    ok(
        pattern or ran > len(lines) // 3,
        f"the program runs in more than a third of the command lines: {ran} of {len(lines)}",
    )


def main():
    os.makedirs(TOP, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    if sys.argv[1:2] == ["options"]:
        start = time.time()
        options(sys.argv[2] if len(sys.argv) > 2 else "")
        note(f"took {time.time() - start:.0f} s")
        all_idle("noharm: all nodes are idle at the end")
        cluster.done()
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    lines = [line for line in LINES if re.search(pattern, line)]
    note(f"{len(lines)} command lines")
    for node in ("n0", "n1"):
        run(
            f"echo FirstJobId={FIRST_JOB} >>/etc/slurm/slurm.conf; [ {node} != n0 ] || systemctl"
            " restart slurmctld",
            user="root",
            node=node,
        )
    plugin(False)
    a, b = sweep(lines, "a"), sweep(lines, "b")
    plugin(True)
    ours = sweep(lines, "c")
    compare(lines, a, b, ours)
    seen = sum(len(x["ranks"]) for x in a)
    ok(seen > 2 * len(lines), f"the records of more than two ranks a line are compared: {seen}")
    ok(cluster.last_job() > FIRST_JOB, "job numbers begin above FirstJobId")
    all_idle("noharm: all nodes are idle at the end")
    cluster.done()


main()
