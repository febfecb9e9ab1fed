#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# run: ci limit=900 one examples
# run: ci kernel=debian limit=600 one
# run: deep limit=5400
# run: deep slurm=22.05 limit=5400
# run: deep slurm=newest limit=5400
# run: deep kernel=debian limit=5400
# rooms: spank launch manifest
"""Launch ranks in every way, and compare the plan of every rank with what the kernel shows. Writes
/shared/out/launch-paths.SERIES.json (launch path: verdict), from which doc/launch-paths.md is made.
"""

import contextlib
import glob
import json
import os
import shutil
import sys

import cluster
from cluster import (
    HOME,
    WHEREAMI,
    WHEREAMI_MPI,
    Machine,
    all_idle,
    cpus,
    leftovers,
    note,
    ok,
    plan,
    ranks,
    run,
    same,
    sbatch,
)
from containers import pod, write

# the containers of the Argo paper's example: a simulation and its analysis. Its daemon is in
# neither.
PAPER = {"sim": {"container": {"cpus": 8, "mems": 2}}, "vda": {"container": {"cpus": 4, "mems": 1}}}
DIR = f"{HOME}/lp"
verdict = {}


@contextlib.contextmanager
def path(name):
    failed, count = cluster.failed, cluster.count
    try:
        yield
    except Exception as e:  # an exception must not prevent the other launch paths
        ok(False, f"{name} runs without an exception: {type(e).__name__}: {e}")
    good = cluster.failed == failed and cluster.count > count and verdict.get(name) != "failed"
    verdict[name] = "passed" if good else "failed"


def paper(sim_exec=None):
    """Return PAPER as a manifest. SIM_EXEC is the command of its app "sim"."""
    text = json.loads(pod(**PAPER))
    if sim_exec:
        text["apps"][0]["app"]["exec"] = sim_exec
        text["apps"][0]["app"]["environment"] = [{"name": "NODEOS_TEST_FOO", "value": "b a r"}]
    return json.dumps(text)


class World:
    """The machine, and the CPUs of PAPER's containers on it."""

    def __init__(self):
        self.machine = Machine()
        self.manifest = write("paper.json", paper([WHEREAMI]))
        self.want = plan(self.manifest)
        held = set().union(*(cpus(c["reserved"]) for c in self.want.values()))
        self.place = {n: cpus(c["cpus"]) for n, c in self.want.items()}
        self.place |= {"none": self.machine.cpus, "rest": self.machine.cpus - held}

    def inside(self, found, where, what, n=None, apart=True):
        """Check that N ranks were found, each in its place. WHERE is the place of all ranks, or a
        list with the place of each."""
        names = [where] * len(found) if isinstance(where, str) else where
        if not ok(
            len(found) == (n or len(names)) and found,
            f"{what}: {n or len(names)} ranks run",
            f"found {len(found)}",
        ):
            return
        for name in sorted(set(names)):
            mine = [r for r, at in zip(found, names) if at == name]
            good = all(
                (
                    cpus(r["cpus"]) == self.place[name]
                    if name == "none"
                    else cpus(r["cpus"]) <= self.place[name]
                )
                for r in mine
            )
            ok(
                good,
                f"{what}: {len(mine)} ranks are in {name}",
                [(r["rank"], r["cpus"]) for r in mine],
            )
            if name not in self.want:
                ok(
                    all("NODEOS_CONTAINER" not in r["env"] for r in mine),
                    f"{what}: ranks in {name} have no container in their environment",
                )
                continue
            mems = cpus(self.want[name]["mems"])
            ok(
                all(cpus(r["mems"]) == mems for r in mine),
                f"{what}: the ranks have the memory nodes of {name}",
                [r["mems"] for r in mine],
            )
            ok(
                all(r["env"].get("NODEOS_CONTAINER") == name for r in mine),
                f"{what}: the environment names {name}",
            )
            for host in {r["host"] for r in mine} if apart else ():
                sets = [cpus(r["cpus"]) for r in mine if r["host"] == host]
                ok(
                    len(set().union(*sets)) == sum(map(len, sets)),
                    f"{what}: no two ranks in {name} on {host} share a CPU",
                    sets,
                )


def read(name):
    try:
        with open(f"{DIR}/{name}") as f:
            return (
                f.read().replace("\0", "").replace("^@@", "@")
            )  # script(1) adds this at the end of its input
    except OSError:
        return ""


def found_in(name):
    return ranks(cluster.Result(0, read(f"{name}.out"), "", 0))


def text_of(name):
    return (
        "exit"
        f" {read(name + '.rc').strip()}\n{read(name + '.out')[-600:]}\n"
        f"{read(name + '.err')[-1500:]}"
    )


class Steps:
    """Commands that a job runs in order. Each has its own output files and a check."""

    def __init__(self, tag):
        self.tag, self.list = tag, []

    def add(self, name, command, check, code=0, background=False):
        self.list.append((name, f"{self.tag}{len(self.list)}", command, check, code, background))

    def lines(self):
        out = f"mkdir -p {DIR}; cd {DIR}\n"
        for _, file, command, _, _, background in self.list:
            line = f"{{ {command} ; }} >{file}.out 2>{file}.err; echo $? >{file}.rc"
            out += f"{{ {line} ; }} &\n" if background else line + "\n"
        return out + "wait\n"

    def check(self):
        for name, file, command, check, code, _ in self.list:
            with path(name):
                got = read(f"{file}.rc").strip()
                if code is not None and not ok(
                    got == str(code),
                    f"{name}: the exit code is {code}",
                    f"{command}\n{text_of(file)}",
                ):
                    continue
                check(file)


# ------------------------------------------------------------------------- paths inside one job


def by_rank(w):
    """Write the file of --multi-prog for 14 ranks, 0-6 on n0 and 7-13 on n1. Returns the place of
    each rank."""
    write("lp/mp.conf", f"0-4,7-11 {WHEREAMI}\n5,12 {WHEREAMI}\n6,13 {WHEREAMI}\n")
    return ["sim"] * 4 + ["rest", "vda", "none"] + ["sim"] * 4 + ["rest", "vda", "none"]


def in_job(w):
    """Run steps of many kinds in a job with PAPER's containers on two whole nodes."""
    s = Steps("a")
    W = WHEREAMI

    def at(where, n=None, apart=True):
        return lambda file: w.inside(found_in(file), where, f"{names[file]}", n, apart)

    names = {}

    def add(name, command, check, **kw):
        names[f"a{len(s.list)}"] = name
        s.add(name, command, check, **kw)

    def refused(part):
        # the exit code may be of another rank, which was killed when the failing rank ended
        return lambda file: ok(
            part in read(f"{file}.err")
            and read(f"{file}.rc").strip() != "0"
            and not read(f"{file}.out").count("@"),
            f"{names[file]}: the step is refused with the reason",
            text_of(file),
        )

    add("batch script among several containers", W, at("rest", 1))
    add("srun --nodeos-container", f"srun -N2 -n8 --nodeos-container=sim {W}", at("sim", 8))
    add("srun without --nodeos-container", f"srun -N2 -n2 {W}", at("rest", 2))
    add("srun --nodeos-container=none", f"srun -N2 -n2 --nodeos-container=none {W}", at("none", 2))
    add(
        "several containers in one step",
        "srun -N2 -n14 -O -m block --ntasks-per-node=7 --multi-prog "
        "--nodeos-container=sim:0-3,7-10,vda:5,12,none:6,13 mp.conf",
        at(by_rank(w)),
    )
    add(
        "several containers in one step",
        "srun -N1 -n3 --nodeos-container=sim:0,vda:5 hostname",
        refused("there is no such rank"),
        code=None,
    )
    add(
        "srun manifest.json in a job",
        f"srun -N2 -n4 --nodeos-container=sim {w.manifest}",
        at("sim", 4),
    )
    add("srun --overlap", f"srun --overlap -N2 -n4 --nodeos-container=vda {W}", at("vda", 4))
    add("srun --exact", f"srun --exact -N1 -n2 -c2 --nodeos-container=vda {W}", at("vda", 2))
    add(
        "srun --exclusive", f"srun --exclusive -N1 -n2 -c2 --nodeos-container=sim {W}", at("sim", 2)
    )
    add(
        "srun --pty",
        f"script -qec 'srun --pty -N1 -n1 --nodeos-container=vda {W}' /dev/null",
        at("vda", 1),
    )
    add(
        "nested srun",
        f"srun -N1 -n1 --nodeos-container=vda srun -N2 -n4 --nodeos-container=sim {W}",
        at("sim", 4),
    )
    add(
        "nested srun",
        f"srun -N1 -n1 --nodeos-container=vda srun -N1 -n1 --overlap {W}",
        at("vda", 1),
    )
    add(
        "nested srun",
        "srun -N1 -n2 --nodeos-container=vda:0,sim:1 bash -c 'if [ $SLURM_PROCID = 1 ]; then srun"
        f" -N1 -n2 --overlap {W}; fi'",
        at("sim", 2),
    )
    add(
        "mpirun inside a rank",
        "srun -N1 -n1 --mpi=none --nodeos-container=sim mpirun --map-by :OVERSUBSCRIBE -n 2"
        f" {WHEREAMI_MPI}",
        at("sim", 2, apart=False),
    )
    add(
        "mpirun among several containers", f"mpirun -N 2 {WHEREAMI_MPI}", at("rest", 4, apart=False)
    )
    add(
        "nodeos-mpirun, two at once",
        f"nodeos-mpirun sim mpirun -N 4 {WHEREAMI_MPI} 10",
        at("sim", 8, apart=False),
        background=True,
    )
    add(
        "nodeos-mpirun, two at once",
        f"nodeos-mpirun vda mpirun -N 2 {WHEREAMI_MPI} 10",
        at("vda", 4, apart=False),
        background=True,
    )
    # wait for both: while their steps run, stock Slurm 24.11 refuses every second "--overlap -N1
    # -n2" ("Memory required by task")
    add(
        "nodeos-mpirun, two at once",
        "wait; sleep 4",
        lambda file: ok(True, "both nodeos-mpiruns end"),
    )
    if not glob.glob("/usr/lib/*/slurm-wlm/mpi_pmix.so"):
        verdict["Open MPI by srun --mpi=pmix"] = "Slurm has no mpi/pmix"
    else:
        add(
            "Open MPI by srun --mpi=pmix",
            f"srun -N2 -n8 --mpi=pmix --nodeos-container=sim {WHEREAMI_MPI}",
            at("sim", 8),
        )
    add(
        "srun --export=NONE", f"srun --export=NONE -N1 -n2 --nodeos-container=vda {W}", at("vda", 2)
    )
    for option, wanted in (
        ("--cpu-bind=none", "whole"),
        ("--cpu-bind=threads", 1),
        ("--cpu-bind=cores", 2),
        ("--cpu-bind=sockets", 2),
        ("--cpu-bind=ldoms", 2),
        ("--cpu-bind=map_cpu:3,1", 1),
        ("--cpu-bind=mask_cpu:0xf0,0x0f", 2),
        ("--hint=nomultithread", 1),
        ("--hint=multithread", 1),
        ("--hint=memory_bound", 1),
        ("--hint=compute_bound", 1),
        ("--threads-per-core=1", 1),
        ("-c 2", 2),
    ):

        def sizes(file, wanted=wanted):
            found = found_in(file)
            w.inside(found, "vda", names[file], 2, apart=wanted != "whole")
            want = len(w.place["vda"]) if wanted == "whole" else wanted
            ok(
                all(len(cpus(r["cpus"])) == want for r in found),
                f"{names[file]}: each rank has {want} CPUs",
                [r["cpus"] for r in found],
            )

        add(
            f"srun {option.split('=')[0].split()[0]}",
            f"srun -N1 -n2 --nodeos-container=vda {option} {W}",
            sizes,
        )
    add(
        "srun --cpu-bind",
        f"srun -N1 -n4 --nodeos-container=vda --cpu-bind=threads {W}",
        at("vda", 4),
    )
    add(
        "srun -c",
        f"srun -N1 -n2 -c4 --nodeos-container=vda --nodeos-report=fewer.%s.%N.json {W}",
        lambda file: (
            w.inside(found_in(file), "vda", "-c 4", 2),
            ok(
                any(
                    "-c 4 does not fit" in read(f) and '"modified"' in read(f)
                    for f in os.listdir(DIR)
                    if f.startswith("fewer.")
                ),
                "srun -c with more CPUs than fit is reported as modified",
            ),
        ),
    )
    for order, firsts in (("block:block", [0, 1, 2, 3]), ("block:cyclic", [0, 2, 1, 3])):

        def ordered(file, firsts=firsts):
            found = found_in(file)
            w.inside(found, "sim", names[file], 4)
            cores = sorted({min(c) for c in w.machine.core.values() if c & w.place["sim"]})
            # Slurm gives the four ranks disjoint CPUs of the job: the ranks must keep the order of
            # these CPUs
            ok(
                [cores.index(min(cpus(r["cpus"]))) for r in found] == firsts,
                f"{names[file]}: the ranks are in the order of Slurm's distribution",
                [r["cpus"] for r in found],
            )

        add(
            "srun -m",
            f"srun -N1 -n4 -c2 -m {order} --cpu-bind=cores --exact --nodeos-container=sim {W}",
            ordered,
        )
    for option, wanted in (("local", None), ("rank", None), ("map_mem:0,1", [{0}, {1}])):

        def bound(file, wanted=wanted):
            found = found_in(file)
            w.inside(found, "sim", names[file], 2)
            nodes = [cpus(r["mempolicy_nodes"]) for r in found]
            good = (
                nodes == wanted
                if wanted
                else all(n and n <= cpus(w.want["sim"]["mems"]) for n in nodes)
            )
            ok(good, f"{names[file]}: the ranks are bound to the expected memory nodes", nodes)

        add(
            "srun --mem-bind", f"srun -N1 -n2 --nodeos-container=sim --mem-bind={option} {W}", bound
        )
    add(
        "srun --mem-bind",
        f"srun -N1 -n2 --nodeos-container=vda --mem-bind=map_mem:0,1 {W}",
        refused("outside of container vda"),
        code=None,
    )
    write("lp/job.sh", "#!/bin/bash\n" + s.lines())
    r = sbatch(
        f"-N2 --exclusive --nodeos-manifest={w.manifest} -o {DIR}/job.out {DIR}/job.sh", timeout=900
    )
    with path("sbatch --nodeos-manifest"):
        same(r.code, 0, "the job of many steps ends with success")
        w.inside(found_in("a1"), "sim", "sbatch --nodeos-manifest", 8)
    s.check()


def in_one(w):
    """Run steps in a job of one container, which is the default of all its steps."""
    manifest = write("lp/one.json", pod(sim=PAPER["sim"]))
    w.place["one"] = cpus(plan(manifest)["sim"]["cpus"])
    s = Steps("b")

    def here(n, apart=True):
        def check(file):
            found = found_in(file)
            ok(
                len(found) == n and all(cpus(r["cpus"]) <= w.place["one"] for r in found),
                f"{file}: {n} ranks are in the only container",
                [(r["host"], r["cpus"]) for r in found] or text_of(file),
            )
            if apart:
                for host in {r["host"] for r in found}:
                    sets = [cpus(r["cpus"]) for r in found if r["host"] == host]
                    ok(
                        len(set().union(*sets)) == sum(map(len, sets)),
                        f"{file}: no two ranks on {host} share a CPU",
                        sets,
                    )

        return check

    s.add("batch script in the default container", WHEREAMI, here(1))
    s.add(
        "mpirun on one node",
        f"mpirun --host $(hostname):4 -n 4 --bind-to core {WHEREAMI_MPI}",
        here(4),
    )
    s.add("mpirun on two nodes", f"mpirun -N 4 --bind-to core {WHEREAMI_MPI}", here(8))
    # Set SLURM_OVERLAP for both: without it, the daemons of the second mpirun would wait for the
    # end of the first. With it for the second mpirun only, stepmgr of 24.11 refuses the step
    # ("step_layout_create: no usable CPUs").
    first = f"b{len(s.list)}.out"
    s.add(
        "two mpiruns at once: the second is reported modified",
        f"SLURM_OVERLAP=1 mpirun -N 1 {WHEREAMI_MPI} 60",
        here(2, apart=False),
        background=True,
    )
    s.add(
        "two mpiruns at once: the second is reported modified",
        f"for i in $(seq 60); do grep -q @ {first} && break; sleep 1; done; SLURM_OVERLAP=1 mpirun"
        f" -N 1 {WHEREAMI_MPI}",
        here(2, apart=False),
        background=True,
    )
    write("lp/one.sh", "#!/bin/bash\n" + s.lines())
    r = sbatch(
        f"-N2 --exclusive --nodeos-manifest={manifest} --nodeos-report={DIR}/second.%s.%N.json -o"
        f" {DIR}/one.out {DIR}/one.sh",
        timeout=600,
    )
    with path("mpirun on two nodes"):
        same(r.code, 0, "the job of one container ends with success")
    s.check()
    with path("the daemons of launchers may use all CPUs of the container"):
        reports = [
            json.loads(read(f))
            for f in sorted(os.listdir(DIR))
            if f.startswith("second.") and ".n1." in f
        ]
        daemons = [x for x in reports if x["step"] != "batch"]
        ok(
            daemons and all(cpus(r["cpus"]) == w.place["one"] for x in daemons for r in x["ranks"]),
            "the daemons of launchers are not bound to a part of the container",
            [x["ranks"] for x in daemons],
        )
    with path("two mpiruns at once: the second is reported modified"):
        modified = [x for x in daemons if x["outcome"] == "modified"]
        ok(
            len(modified) == 1 and "same CPUs" in modified[0]["reason"],
            "the report says modified for one of two concurrent mpiruns",
            [(x["step"], x["outcome"], x.get("reason")) for x in daemons],
        )


# ----------------------------------------------------------------------- other ways to get a job


def lines_of_script(w):
    with path("#SBATCH --nodeos-manifest"):
        script = write(
            "lp/line.sh",
            f"#!/bin/bash\n#SBATCH -N2 --exclusive --nodeos-manifest={w.manifest} -o"
            f" {DIR}/line.out\nsrun -N2 -n2 --nodeos-container=vda {WHEREAMI}\n",
        )
        same(sbatch(script).code, 0, "#SBATCH --nodeos-manifest: the job ends with success")
        w.inside(found_in("line"), "vda", "#SBATCH", 2)
    with path("#NODEOS lines"):
        marked = "".join(
            f"#NODEOS {line}\n" for line in json.dumps(json.loads(paper()), indent=1).splitlines()
        )
        text = (
            f"#!/bin/bash\n#SBATCH -N2 --exclusive -o {DIR}/marked.out\n{marked}srun -N2 -n2"
            f" --nodeos-container=vda {WHEREAMI}\n"
        )
        script = write("lp/marked.sh", text)
        same(sbatch(script).code, 0, "#NODEOS lines: the job ends with success")
        w.inside(found_in("marked"), "vda", "#NODEOS", 2)
        bad = text.replace('"cpus": 4', '"cpus": "x"')
        line = 1 + bad.splitlines().index(next(x for x in bad.splitlines() if '"x"' in x))
        r = run(f"sbatch {write('lp/bad.sh', bad)}")
        ok(
            r.code == 1 and f"bad.sh:{line}:" in r.err,
            "##NODEOS with a mistake: sbatch refuses the script and names the line",
            r.text,
        )
        r = sbatch(f"<{DIR}/bad.sh")
        ok(
            r.code == 1 and f"job script:{line}:" in read("marked.out"),
            "##NODEOS with a mistake in a script on standard input: the node refuses it",
            r.text + read("marked.out"),
        )


def examples(w):
    """Run examples that README shows, unchanged from etc/examples."""
    shutil.copytree("/shared/here/examples", f"{DIR}/examples", dirs_exist_ok=True)
    with path("#NODEOS lines"):
        r = sbatch(f"-o {DIR}/embedded.out {DIR}/examples/embedded.sh")
        same(r.code, 0, "etc/examples/embedded.sh: the exit code is 0")
        found = sorted(line.split(",")[0] for line in read("embedded.out").splitlines())
        same(
            found,
            [
                "sim: rank 0",
                "sim: rank 0",
                "sim: rank 1",
                "sim: rank 1",
                "vda: rank 0",
                "vda: rank 2",
            ],
            "etc/examples/embedded.sh: the ranks are in the script's containers",
        )
        write("lp/late.sh", "#!/bin/bash\ntrue\n#NODEOS {}\n")
        r = run(f"sbatch --test-only {DIR}/late.sh")
        ok(
            "late.sh:3: this line is ignored" in r.err,
            "a #NODEOS line that comes too late gives a warning",
            r.text,
        )
    with path("srun manifest.json outside of a job"):
        r = run(f"srun -N 1 -n 2 -c 4 {DIR}/examples/exec.json")
        ok(
            r.code == 0 and r.out.count("hello from rank") == 2,
            "etc/examples/exec.json: srun runs the manifest's command in two ranks",
            r.text,
        )
    with path("nodeos-mpirun under sbatch --export=NONE"):
        script = write(
            "lp/exn.sh", f"#!/bin/bash -l\nnodeos-mpirun sim mpirun -N 2 {WHEREAMI_MPI}\n"
        )
        r = sbatch(
            f"-N2 --exclusive --export=NONE --nodeos-manifest={w.manifest} -o {DIR}/exn.out"
            f" {script}"
        )
        same(r.code, 0, "nodeos-mpirun under --export=NONE: the exit code is 0") or note(
            read("exn.out")[-1500:]
        )
        w.inside(found_in("exn"), "sim", "nodeos-mpirun under --export=NONE", 4, apart=False)


def allocations(w):
    with path("salloc"):
        r = run(
            f"salloc -N2 --exclusive --nodeos-manifest={w.manifest} srun -N2 -n8"
            f" --nodeos-container=sim {WHEREAMI}"
        )
        w.inside(ranks(r), "sim", "salloc", 8)
    with path("srun --nodeos-manifest outside of a job"):
        r = run(
            f"srun -N2 -n8 --ntasks-per-node=4 -c4 --nodeos-manifest={w.manifest}"
            f" --nodeos-container=sim {WHEREAMI}"
        )
        w.inside(ranks(r), "sim", "srun outside of a job", 8)
    with path("srun manifest.json outside of a job"):
        r = run(f"srun -N2 -n4 --ntasks-per-node=2 -c8 --nodeos-container=sim {w.manifest} 0")
        w.inside(ranks(r), "sim", "srun manifest.json", 4)
        ok(
            all(x["env"].get("NODEOS_TEST_FOO") == "b a r" for x in ranks(r)),
            "srun manifest.json: ranks have the manifest's environment",
            r.text[-500:],
        )
        r = run(f"srun -N1 -n1 --nodeos-container=vda {w.manifest}")
        ok(
            r.code == 1 and "has no app.exec" in r.err,
            "srun manifest.json refuses an app without a command",
            r.text,
        )
    with path("job array"):
        r = run(
            f"sbatch --parsable --array=0-2 -N1 --exclusive --nodeos-manifest={w.manifest} -o"
            f" {DIR}/array.%a.out --wrap 'srun -n2 --nodeos-container=vda {WHEREAMI}'"
        )
        same(r.code, 0, "sbatch accepts a job array with a manifest")
        cluster.wait_idle(240)
        for i in range(3):
            w.inside(found_in(f"array.{i}"), "vda", f"array task {i}", 2)
    with path("heterogeneous job"):
        script = write(
            "lp/het.sh",
            f"#!/bin/bash\nsrun --het-group=0 -n2 --nodeos-container=sim {WHEREAMI}\nsrun"
            f" --het-group=1 -n2 --nodeos-container=vda {WHEREAMI} >{DIR}/het1.out\nsrun"
            f" --het-group=0,1 -n1 --nodeos-container=sim {WHEREAMI} >{DIR}/het2.out\nsrun -n2"
            f" --nodeos-container=sim:0-2,vda:3 {WHEREAMI} : -n2 --nodeos-container=sim:0-2,vda:3"
            f" {WHEREAMI} >{DIR}/het3.out\n",
        )
        r = sbatch(
            f"-N1 --exclusive --nodeos-manifest={w.manifest} -o {DIR}/het0.out : -N1 --exclusive"
            f" {script}"
        )
        same(r.code, 0, "a heterogeneous job ends with success")
        ok(
            r.code == 0, "a heterogeneous job ends with success", read("het0.out")[-1500:]
        ) if r.code else None
        w.inside(found_in("het0"), "sim", "het group 0", 2)
        w.inside(found_in("het1"), "vda", "het group 1", 2)
        w.inside(found_in("het2"), "sim", "both groups", 2)
        w.inside(found_in("het3"), ["sim", "sim", "sim", "vda"], "ranks over both groups", 4)


def paper_by_every_launcher(w):
    """Run the paper's whole example with each launcher: simulation, analysis, and a daemon outside
    of containers."""
    command = (
        "srun -N2 -n14 -O -m block --ntasks-per-node=7 {options} --multi-prog"
        f" --nodeos-container=sim:0-3,7-10,vda:5,12,none:6,13 {DIR}/mp.conf"
    )
    where = by_rank(w)
    by = {
        "salloc": (
            f"salloc -N2 --exclusive --nodeos-manifest={w.manifest} {command.format(options='')}"
        ),
        "srun outside of a job": command.format(
            options=f"--exclusive --nodeos-manifest={w.manifest}"
        ),
    }
    for name, line in by.items():
        with path(f"sim, vda and a daemon by {name}"):
            w.inside(ranks(run(line)), where, f"sim, vda and a daemon by {name}")
    with path("sim, vda and a daemon by mpirun"):
        # the step of the daemon names the container "none"
        script = write(
            "lp/all.sh",
            f"#!/bin/bash\ncd {DIR}\nnodeos-mpirun sim mpirun -N 4 {WHEREAMI_MPI} 10 >all.sim.out"
            f" &\nnodeos-mpirun vda mpirun -N 1 {WHEREAMI_MPI} 10 >all.vda.out &\nsrun -N2 -n2"
            f" --overlap --nodeos-container=none {WHEREAMI} 10 >all.none.out &\nwait\n",
        )
        same(
            sbatch(
                f"-N2 --exclusive --nodeos-manifest={w.manifest} -o {DIR}/all.out {script}"
            ).code,
            0,
            "the job of two mpiruns and a daemon ends with success",
        )
        for name, n in (("sim", 8), ("vda", 2), ("none", 2)):
            w.inside(found_in(f"all.{name}"), name, "by mpirun", n, apart=False)


def gres(w):
    """Tiles 0 and 1 are near the first socket, 2 and 3 near the second. A rank must stay near the
    tile that Slurm gives it."""
    with path("GRES with Cores="):
        manifest = write("lp/gres.json", pod(big={"container": {"cpus": 14}}))
        inside = cpus(plan(manifest)["big"]["cpus"])
        steps = "".join(
            f"srun -n1 -c2 --exact --mem=100 --gres=tile:{n} {off} {WHEREAMI} {stay}"
            f" >tile.{name}.out 2>tile.{name}.err & for i in $(seq 60); do grep -q @"
            f" tile.{name}.out && break; sleep 0.2; done\n"
            for name, n, off, stay in (
                ("a", 2, "", 600),
                ("b", 1, "", 0),
                ("stock", 1, "--nodeos=off", 0),
            )
        )
        script = write(
            "lp/gres.sh",
            f"#!/bin/bash\ncd {DIR}\n{steps}wait %2 %3; scancel $SLURM_JOB_ID.0; wait; true\n",
        )
        r = sbatch(
            f"-N1 --exclusive --gres=tile:4 --nodeos-manifest={manifest} -o {DIR}/gres.out {script}"
        )
        same(r.code, 0, "the job with GRES ends with success")
        a, b, stock = (found_in(f"tile.{n}") for n in ("a", "b", "stock"))
        if ok(
            len(a) == len(b) == len(stock) == 1,
            "GRES: each of three steps has a rank",
            text_of("tile.a") + text_of("tile.b") + text_of("gres"),
        ):
            node_of = w.machine.node_of
            ok(
                cpus(b[0]["cpus"]) <= inside,
                "GRES: the rank of the second step is in the container",
                b[0]["cpus"],
            )
            ok(
                {node_of[c] // 2 for c in cpus(b[0]["cpus"])}
                == {node_of[c] // 2 for c in cpus(stock[0]["cpus"])},
                "GRES: the rank is on the socket where Slurm put it",
                (b[0]["cpus"], stock[0]["cpus"]),
            )


def asynchronous(w):
    """Run srun --async of Slurm 26.05 and newer, where slurmctld launches the ranks."""
    name = "srun --async"
    if tuple(int(x) for x in run("srun --version").out.split()[1].split(".")[:2]) < (26, 5):
        verdict[name] = "Slurm has no srun --async"
        return
    with path(name):
        script = write(
            "lp/async.sh",
            f"#!/bin/bash\ncd {DIR}\nrm -f async.out\nsrun --async -N2 -n4 --nodeos-container=sim"
            f" -o {DIR}/async.out {WHEREAMI}\nfor i in $(seq 300); do [ $(squeue -h -s -j"
            " $SLURM_JOB_ID -o %i | grep -c '[.][0-9]') = 0 ] && [ -s async.out ] && break; sleep"
            " 0.3; done\n",
        )
        r = sbatch(
            f"-N2 --exclusive --stepmgr --nodeos-manifest={w.manifest} -o {DIR}/async.log {script}"
        )
        same(r.code, 0, "the job with an srun --async ends with success")
        w.inside(found_in("async"), "sim", name, 4)


def save(series):
    os.makedirs("/shared/out", exist_ok=True)
    with open(f"/shared/out/launch-paths.{series}.json", "w") as f:
        json.dump({"series": series, "paths": verdict}, f, indent=1)


GROUPS = {
    "job": in_job,
    "one": in_one,
    "lines": lines_of_script,
    "examples": examples,
    "allocations": allocations,
    "paper": paper_by_every_launcher,
    "gres": gres,
    "async": asynchronous,
}


def main():
    os.makedirs(DIR, exist_ok=True)
    os.chown(HOME, 1000, 1000)
    os.chown(DIR, 1000, 1000)
    cluster.patient()
    series = run("slurmctld -V", user="root").out.split()[-1]
    w = World()
    cluster.run_groups(GROUPS, sys.argv[1:] or GROUPS, w)
    all_idle("launch: all nodes are idle at the end")
    same(leftovers(), "", "launch: the ledger is empty on both nodes")
    save(series)
    cluster.done()


main()
