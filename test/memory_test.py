#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the memory nodes that nodeosctl plan and provision choose on hybrid machines. TAP.
usage: memory_test.py [FOLDER|FILE.xml]...
The first tests have machines for which the right answers are known. Then, on these machines and on
recorded ones (XML files of the arguments, or in the folder NODEOS_TOPOLOGIES), no container may get
a special or an empty node without a request for it. This file has rules of its own to find such
nodes in the XML."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

from manpages import BUILD, SOURCE, done, ok, skip

sys.path.insert(0, os.path.join(SOURCE, "test/oracle"))
from compare import write_xml  # noqa: E402
from oracle import Node, Obj  # noqa: E402

TOOL = os.path.join(BUILD, "nodeosctl")
MACHINES = os.path.join(SOURCE, "topology/test/machines")
GIB = 1 << 30


def manifest(*containers):
    """Return a manifest of CONTAINERS, each (name, cpus, mems). Without a request for memory, mems
    is None."""
    values = [
        (name, {"cpus": cpus, **({"mems": mems} if mems else {})})
        for name, cpus, mems in containers
    ]
    apps = [
        {"name": name, "app": {"isolators": [{"name": "container", "value": v}]}}
        for name, v in values
    ]
    return json.dumps({"acKind": "PodManifest", "acVersion": "0.8.11", "apps": apps})


def tool(*words, text=None):
    return subprocess.run([TOOL, *words], input=text, capture_output=True, text=True, timeout=120)


def plan(machine, containers, *options):
    r = tool("plan", "--json", "-t", machine, *options, "-", text=manifest(*containers))
    return json.loads(r.stdout) if r.returncode == 0 else r.stderr.strip()


def ids(text):
    ends = [part.partition("-") for part in text.split(",") if part]
    return {i for a, _, b in ends for i in range(int(a), int(b or a) + 1)}


def same(got, want, what):
    ok(got == want, what, f"got {got}", f"expected {want}")


def judged(container):
    own = [i for i in container["isolators"] if i["name"] == "container"]
    return own[0]["outcome"], own[0]["reason"]


def nodes_of(p):
    return [c["mems"] for c in p["containers"]] if isinstance(p, dict) else p


def cores(numbers, siblings=0):
    return [
        Obj("Core", [Obj("PU", os=c)] + ([Obj("PU", os=c + siblings)] if siblings else []))
        for c in numbers
    ]


def aurora(path):
    """Write the XML of a machine of two packages, each of which has 52 cores with two threads, 512
    GiB of DRAM and 64 GiB of HBM, as separate nodes."""
    packages = []
    for p in range(2):
        nodes = [Node(p, 512 * GIB, "DRAM"), Node(p + 2, 64 * GIB, "HBM")]
        packages.append(Obj("Package", cores(range(52 * p, 52 * p + 52), 104), nodes))
    latency = {
        (a, b): 10 if a == b else 13 if a % 2 == b % 2 else 21 if b < 2 else 23
        for a in range(4)
        for b in range(4)
    }
    write_xml(path, Obj("Machine", packages), latency, [])
    return path


def one_package(path, nodes, latency=None):
    write_xml(path, Obj("Machine", [Obj("Package", cores(range(8)), nodes)]), latency, [])
    return path


def refused(answer, what, *words):
    ok(isinstance(answer, str) and all(w in answer for w in words), what, answer)


def withheld(lines, xml, mib, what):
    """Check MemSpecLimit in the output of provision --cmdline, with these LINES in nodeos.conf."""
    r = tool("provision", "--cmdline", "--conf", conf(*lines), "-t", xml)
    ok(f"MemSpecLimit={mib}" in r.stdout.split(), what, r.stdout, r.stderr)


def test_gh200():
    xml = os.path.join(MACHINES, "gh200.xml")
    three = [(name, 4, 1) for name in ("sim", "vda", "io")]
    p = plan(xml, three)
    same(nodes_of(p), ["0", "0", "0"], "GH200: three containers have only the CPU's memory")
    later = [judged(c) for c in p["containers"][1:]]
    same(
        [o for o, _ in later],
        ["modified"] * 2,
        "GH200: the second and third container are modified",
    )
    ok(
        all("shared" in r and "dram" in r for _, r in later),
        "GH200: the reason for 'modified' is that dram is shared",
        later,
    )
    same(
        [c["mems_kinds"] for c in p["containers"]],
        [["dram"]] * 3,
        "GH200: JSON has the kind of the containers' memory",
    )
    same(
        [(m["kind"], m["mems"], m["ordinary"]) for m in p["memory"]],
        [("dram", "0", True), ("gpu", "1", False)],
        "GH200: JSON has the machine's memory nodes, except for empty ones",
    )
    text = tool("plan", "-t", xml, "-", text=manifest(*three)).stdout
    ok(
        "node 0 (dram)" in text and "gpu 1" in text,
        "GH200: the text of plan has the kinds of memory",
        text,
    )
    refused(
        plan(xml, [("sim", 4, 2)]),
        "GH200: two nodes are refused, and the message names the special memory",
        "1 may be given",
        "gpu 1",
        "mems=1",
    )
    refused(
        plan(xml, [("sim", 4, "481GiB")]),
        "GH200: a request for more memory than the ordinary node has is refused",
    )
    same(
        nodes_of(plan(xml, [("sim", 4, "470GiB")])),
        ["0"],
        "GH200: a request for a size that the ordinary node has gets that node",
    )
    two = [("sim", 4, "100GiB"), ("vda", 4, "100GiB")]
    same(
        nodes_of(plan(xml, two)),
        ["0", "0"],
        "GH200: two containers with requests for sizes share the ordinary node",
    )
    withheld(
        ["serviceos = 1/node"],
        xml,
        480 * 1024 // 20,
        "GH200: provision withholds 5 % of the ordinary memory",
    )


def test_aurora():
    xml = aurora(os.path.join(scratch, "aurora.xml"))
    cpus = "1-51,53-103,105-155,157-207"
    p = plan(xml, [("sim", 180, 2), ("vda", 20, 1), ("io", 4, 1)], "-c", cpus)
    got = [ids(m) for m in nodes_of(p)] if isinstance(p, dict) else p
    ok(
        got[0] == {0, 1} and all(len(m) == 1 and m < {0, 1} for m in got[1:]),
        "flat HBM: all three containers have only DRAM",
        got,
    )
    same(judged(p["containers"][2])[0], "modified", "flat HBM: the third container is modified")
    two = plan(xml, [("sim", 20, 1), ("vda", 20, 1)], "-c", cpus)
    same(
        sorted(nodes_of(two)),
        ["0", "1"],
        "flat HBM: two containers with one node each have different nodes of DRAM",
    )
    refused(plan(xml, [("sim", 20, 3)]), "flat HBM: three nodes are refused")
    same(
        nodes_of(plan(xml, [("sim", 20, "550GiB")])),
        ["0-1"],
        "flat HBM: a request for 550 GiB gets two nodes of DRAM",
    )
    withheld(
        ["serviceos = 1/node"],
        xml,
        -(-1024 * 1024 // 20),
        "flat HBM: provision withholds 5 % of 1 TiB",
    )
    withheld(
        ["serviceos = 1/node", "serviceos_mems = 0,2"],
        xml,
        512 * 1024,
        "flat HBM: provision withholds the DRAM of the ServiceOS's nodes, and not the HBM",
    )


def test_service():
    """Check plans with a ServiceOS, and with the options --mems and --cpus."""
    xml = os.path.join(MACHINES, "gh200.xml")
    options = ["--serviceos=1/node", "--serviceos-mems=0"]
    refused(
        plan(xml, [("sim", 4, None)], *options),
        "a ServiceOS that leaves only a GPU's memory is refused",
        "serviceos_mems",
        "only special memory (1)",
        "at least one of 0",
        '"all"',
    )
    path = conf("serviceos = 1/node", "serviceos_mems = 0")
    r = tool("provision", "--cmdline", "--conf", path, "-t", xml)
    ok(
        r.returncode == 1
        and f"{path}: serviceos_mems" in r.stderr
        and "only special memory" in r.stderr,
        "provision refuses a ServiceOS that leaves only a GPU's memory, and names the file",
        r.stdout,
        r.stderr,
    )
    xml = os.path.join(scratch, "aurora.xml")
    for ask in (None, 1):
        p = plan(xml, [("sim", 4, ask)], *options)
        same(
            ids(p["containers"][0]["mems"]) if isinstance(p, dict) else p,
            {1},
            f"ServiceOS with node 0: a container with mems {ask} gets the other ordinary node",
        )
    p = plan(xml, [("sim", 4, None)], "--serviceos=1/node")
    same(
        ids(p["containers"][0]["mems"]),
        {0, 1, 2, 3},
        "ServiceOS without memory nodes of its own: a container gets all nodes",
    )
    refused(
        plan(xml, [("sim", 4, 2)], *options),
        "ServiceOS with node 0: two nodes are refused, and the message names the ServiceOS's node",
        "mems=1",
        "memory nodes 0 are kept for the ServiceOS",
    )
    lacking = plan(xml, [("sim", 4, 2)], "-m", "1-3")
    refused(
        lacking,
        "--mems with one ordinary node: two nodes are refused, and the message names the option",
        "mems=1",
        "--mems leaves out memory nodes 0",
    )
    ok(
        "CPUs" not in lacking and "ServiceOS" not in lacking,
        "--mems with one ordinary node: the refusal of two nodes names neither CPUs nor the"
        " ServiceOS",
        lacking,
    )
    lacking = plan(xml, [("sim", 300, None)], "-c", "0-99")
    refused(
        lacking,
        "--cpus: too many CPUs are refused, and the message names the CPUs that --cpus leaves out",
        "--cpus leaves out CPUs 100-207",
    )


def test_options():
    for option in ("--cpus", "--mems"):
        answer = plan("package:1 core:4 pu:1", [("sim", 1, None)], f"{option}=")
        refused(
            answer,
            f"{option}: an empty list is refused",
            f"{option}=: the list is empty",
            "this machine has",
        )
    answer = plan("package:1 core:4 pu:1", [("sim", 1, None)], "--mems=")
    ok(
        "ServiceOS" not in answer,
        "--mems: the refusal of an empty list does not name the ServiceOS",
        answer,
    )
    xml = os.path.join(MACHINES, "memoryless-nps4.xml")
    refused(
        plan(xml, [("sim", 12, 1)], "-m", "0-3"),
        "--mems with an empty node is refused",
        "this machine has memory in 1-2",
    )


def test_kinds():
    """Check a machine on which a driver has added DRAM."""
    near = {(a, b): 10 for a in range(2) for b in range(2)}
    added = Node(1, 8 * GIB, "DRAM", infos={"DAXDevice": "dax0.0"})
    xml = one_package(os.path.join(scratch, "added.xml"), [Node(0, 8 * GIB, "DRAM"), added], near)
    p = plan(xml, [("sim", 2, 1)])
    same(
        [(m["kind"], m["mems"], m["ordinary"]) for m in p["memory"]],
        [("dram", "0", True), ("dram", "1", False)],
        "DRAM that a driver has added is not ordinary",
    )
    refused(
        plan(xml, [("sim", 2, 2)]),
        "DRAM that a driver has added is not given to a container",
        "dram 1",
    )


def test_reasons():
    xml = os.path.join(MACHINES, "memoryless-nps4.xml")
    text = tool("plan", "-t", xml, "-", text=manifest(("sim", 12, 1))).stdout
    ok(
        "takes 1: more local memory free, then the lowest number" in text,
        "the plan explains that it takes the second locality because the first has no memory",
        text,
    )


def test_root():
    xml = os.path.join(MACHINES, "cxlroot.xml")
    p = plan(xml, [(name, 4, 1) for name in ("sim", "vda", "io")])
    got = nodes_of(p)
    ok(
        got[:2] == ["0", "1"] and got[2] in ("0", "1"),
        "an expander attached to the machine is not given to containers",
        got,
    )
    third = p["containers"][2]
    near = range(16) if got[2] == "0" else range(16, 32)
    ok(
        ids(third["cpus"]) <= set(near),
        "an expander attached to the machine: the third container has the DRAM near its CPUs",
        third["cpus"],
        got,
    )
    same(
        judged(third)[0],
        "modified",
        "an expander attached to the machine: the third container is modified",
    )


def test_empty():
    xml = os.path.join(MACHINES, "memoryless-nps4.xml")
    got = nodes_of(plan(xml, [("sim", 12, 1)]))
    ok(got in (["1"], ["2"]), "a container with one node does not get a node of 0 bytes", got)
    refused(
        plan(xml, [("sim", 12, 3)]),
        "a request for three nodes is refused if two of the four nodes are empty",
    )
    same(
        nodes_of(plan(xml, [("sim", 12, None)])),
        ["1-2"],
        "a container without a request for memory gets no empty nodes",
    )
    refused(plan(xml, [("sim", 12, 1)], "-m", "0"), "--mems=0 is refused if node 0 is empty")


def test_small():
    """Check machines of one package whose XML has little information, or one kind of memory."""
    near = {(a, b): 10 if a == b else 17 for a in range(2) for b in range(2)}
    equal = {(a, b): 10 for a in range(2) for b in range(2)}
    block = {(a, b): 10 if a == b else 11 for a in range(2) for b in range(2)}
    dram = Node(0, 8 * GIB)
    spm = {"DAXType": "SPM", "DAXDevice": "dax1.0"}
    nvm = {"DAXType": "NVM", "DAXDevice": "dax0.0"}
    table = [
        (
            "HBM is ordinary if there is no other memory",
            [Node(0, 64 * GIB, "HBM")],
            None,
            {0},
            "hbm",
        ),
        (
            "two equal nodes (numa=fake=) are ordinary",
            [dram, Node(1, 8 * GIB)],
            equal,
            {0, 1},
            "dram",
        ),
        (
            "a node that is farther than the CPUs' own is special",
            [dram, Node(1, 64 * GIB)],
            near,
            {0},
            "dram",
        ),
        (
            "a node that is farther than the CPUs' own is special, whatever hwloc calls it",
            [Node(0, 8 * GIB, "HBM"), Node(1, 64 * GIB, "DRAM")],
            near,
            {0},
            "hbm",
        ),
        (
            "a node with more than twice the bandwidth of the other is HBM",
            [Node(0, GIB, bandwidth=100), Node(1, GIB, bandwidth=201)],
            None,
            {0},
            "dram",
        ),
        (
            "a node with twice the bandwidth of the other is ordinary",
            [Node(0, GIB, bandwidth=100), Node(1, GIB, bandwidth=200)],
            None,
            {0, 1},
            "dram",
        ),
        (
            "a node with a quarter of the bandwidth of the other is an expander",
            [Node(0, GIB, bandwidth=204), Node(1, GIB, bandwidth=51)],
            None,
            {0},
            "dram",
        ),
        ("MCDRAM is special", [Node(0, 96 * GIB), Node(1, 16 * GIB, "MCDRAM")], None, {0}, "dram"),
        (
            "persistent memory of a driver is special",
            [dram, Node(1, 512 * GIB, infos=nvm)],
            equal,
            {0},
            "dram",
        ),
        (
            "HBM that a driver has added to HBM is special",
            [Node(0, 8 * GIB, "HBM"), Node(1, GIB, "HBM", infos=spm)],
            equal,
            {0},
            "hbm",
        ),
        (
            "a node with a CXL device is special",
            [dram, Node(1, GIB, infos={"CXLDevice": "0:35:0.0"})],
            equal,
            {0},
            "dram",
        ),
        (
            "a block has the kind of the node that is its home",
            [Node(0, GIB, home=0), Node(1, GIB, home=0)],
            block,
            {1},
            "dram",
        ),
    ]
    for name, nodes, latency, want, kind in table:
        xml = one_package(os.path.join(scratch, "small.xml"), nodes, latency)
        p = plan(xml, [("sim", 2, len(want))])
        got = (
            p
            if isinstance(p, str)
            else [(ids(c["mems"]), c["mems_kinds"]) for c in p["containers"]]
        )
        same(got, [(want, [kind])], name)
        refused(
            plan(xml, [("sim", 2, len(want) + 1)]),
            f"{name}: a request for {len(want) + 1} nodes is refused",
        )
    gpu = Obj("Package", cores(range(4)), [Node(1, 96 * GIB, "GPUMemory")])
    uma = os.path.join(scratch, "uma.xml")
    write_xml(uma, Obj("Machine", [gpu, Obj("Package", cores(range(4, 8)))], [dram]), None, [])
    same(
        nodes_of(plan(uma, [("sim", 2, 1), ("vda", 2, 1)])),
        ["0", "0"],
        "memory attached to the machine is ordinary if only a GPU has memory of its own",
    )
    pages = [Node(0, 8 * GIB, huge=6 * GIB), Node(1, 8 * GIB, huge=1 * GIB)]
    huge = one_package(os.path.join(scratch, "huge.xml"), pages, equal)
    same(nodes_of(plan(huge, [("sim", 2, "9GiB")])), ["0-1"], "huge pages: 9 GiB are given")
    refused(plan(huge, [("sim", 2, "10GiB")]), "huge pages: 10 GiB are refused")


def conf(*lines):
    path = os.path.join(scratch, "nodeos.conf")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    os.chmod(path, 0o644)
    return path


def words(bitmap):
    return [int(w, 16) for w in bitmap.split(",") if w]


def read_machine(path):
    """Return, from a machine's XML: its nodes, the nodes that no container may get without a
    request, and its CPUs."""
    found = []
    root = tree.parse(path).getroot().find("object")
    for n in root.iter("object"):
        if n.get("type") in ("NUMANode", "Node"):
            found.append(
                (
                    int(n.get("os_index")),
                    int(n.get("local_memory", 0)),
                    n.get("subtype", ""),
                    words(n.get("cpuset")),
                )
            )
    whole = words(root.get("cpuset"))
    every = {os for os, _, _, _ in found}
    empty = (
        {os for os, size, _, _ in found if not size}
        if any(size for _, size, _, _ in found)
        else set()
    )
    special = {
        os
        for os, _, sub, _ in found
        if sub in ("HBM", "MCDRAM", "GPUMemory", "NVM", "SPM") or sub.startswith("CXL")
    }
    parts = [
        os for os, _, _, cpus in found if cpus != whole and any(cpus) and os not in special | empty
    ]
    special |= {os for os, _, _, cpus in found if not any(cpus) or (cpus == whole and parts)}
    if not every - special - empty:
        special = set()  # there is no ordinary memory, so all memory counts as ordinary
    return every, special | empty, [p for p in root.iter("object") if p.get("type") == "PU"]


def requests_for(cpus, nodes):
    quarter, few = max(1, cpus // 4), sorted({1, 2, nodes - 1, nodes, nodes + 1} - {0})
    yield [("a", quarter, 1), ("b", max(1, cpus // 8), 1), ("c", 1, 1)]
    yield [("a", 1, None), ("b", 1, 1)]
    for k in few:
        yield [("a", max(1, cpus // 2), k)]
    for gib in (1, 40, 300, 700):
        yield [("a", 1, f"{gib}GiB"), ("b", 1, f"{gib}GiB")]


def check_invariant(path):
    every, never, cpus = read_machine(path)
    name, wrong, plans = os.path.basename(path), [], 0
    if not every:
        return skip(f"{name}: containers have only ordinary memory", "the XML has no memory node")
    for ask in requests_for(len(cpus), len(every)):
        p = plan(path, ask, "--conf", conf("default_mems = local"))
        if isinstance(p, str) and "cannot load" in p:
            return skip(f"{name}: containers have only ordinary memory", p[-120:])
        for c in p["containers"] if isinstance(p, dict) else ():
            plans += 1
            if not c["mems_confined"] or ids(c["mems"]) & never or not ids(c["mems"]) <= every:
                wrong.append(f"{ask}: {c['name']} has {c['mems']}")
    return ok(
        plans and not wrong,
        f"{name}: {plans} containers have only ordinary memory (special or empty nodes:"
        f" {sorted(never) or 'none'})",
        *wrong[:5],
    )


def recorded(arguments):
    files = []
    for a in arguments:
        files += sorted(glob.glob(os.path.join(a, "*.xml"))) if os.path.isdir(a) else [a]
    return files


if not os.access(TOOL, os.X_OK):
    skip("memory nodes of hybrid machines", "no nodeosctl in the build tree")
    sys.exit(done())
with tempfile.TemporaryDirectory() as scratch:
    test_gh200()
    test_aurora()
    test_service()
    test_options()
    test_kinds()
    test_reasons()
    test_root()
    test_empty()
    test_small()
    known = recorded([MACHINES]) + [os.path.join(scratch, "aurora.xml")]
    folder = os.environ.get("NODEOS_TOPOLOGIES", "")
    for xml_file in known + recorded(sys.argv[1:] or ([folder] if os.path.isdir(folder) else [])):
        check_invariant(xml_file)
    if not sys.argv[1:] and not os.path.isdir(folder):
        skip("recorded machines", f"NODEOS_TOPOLOGIES is {folder or 'not set'}")
sys.exit(done())
