#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which memory nodes containers get on hybrid machines, from nodeosctl plan and provision. TAP.

usage: memory_test.py [FOLDER|FILE.xml]...

First machines whose right values are known from what they are; then, on these and on every recorded machine (XML) of the
arguments or of the folder NODEOS_TOPOLOGIES: no container gets a special or an empty node unasked, whatever it asks for.
Which nodes these are is read from the XML here, by rules of this file.
"""
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
    """AppC: (name, cpus, mems), mems None: not asked."""
    apps = [{"name": name, "app": {"isolators": [{"name": "container", "value": {"cpus": cpus, **({"mems": mems} if mems else {})}}]}}
            for name, cpus, mems in containers]
    return json.dumps({"acKind": "PodManifest", "acVersion": "0.8.11", "apps": apps})


def tool(*words, text=None):
    return subprocess.run([TOOL, *words], input=text, capture_output=True, text=True, timeout=120)


def plan(machine, containers, *options):
    r = tool("plan", "--json", "-t", machine, *options, "-", text=manifest(*containers))
    return json.loads(r.stdout) if r.returncode == 0 else r.stderr.strip()


def ids(text):
    return {i for part in text.split(",") if part for a, _, b in [part.partition("-")] for i in range(int(a), int(b or a) + 1)}


def same(got, want, what):
    ok(got == want, what, f"got {got}", f"expected {want}")


def judged(container):
    return next((i["outcome"], i["reason"]) for i in container["isolators"] if i["name"] == "container")


def nodes_of(p):
    return [c["mems"] for c in p["containers"]] if isinstance(p, dict) else p


def aurora(path):
    """Two packages of 52 cores with two threads each, 512 GiB of DRAM and 64 GiB of HBM, flat."""
    packages = []
    for p in range(2):
        cores = [Obj("Core", [Obj("PU", os=c), Obj("PU", os=c + 104)]) for c in range(52 * p, 52 * p + 52)]
        packages.append(Obj("Package", cores, [Node(p, 512 * GIB, "DRAM"), Node(p + 2, 64 * GIB, "HBM")]))
    latency = {(a, b): 10 if a == b else 13 if a % 2 == b % 2 else 21 if b < 2 else 23 for a in range(4) for b in range(4)}
    write_xml(path, Obj("Machine", packages), latency, [])
    return path


def one_package(path, nodes, latency=None, cores=8):
    write_xml(path, Obj("Machine", [Obj("Package", [Obj("Core", [Obj("PU", os=c)]) for c in range(cores)], nodes)]), latency, [])
    return path


def test_gh200():
    xml = os.path.join(MACHINES, "gh200.xml")
    three = [(name, 4, 1) for name in ("sim", "vda", "io")]
    p = plan(xml, three)
    same(nodes_of(p), ["0", "0", "0"], "GH200: three containers have the CPU's memory, never the GPU's nor an empty node")
    same([judged(c)[0] for c in p["containers"][1:]], ["modified"] * 2, "the second and the third are modified")
    ok(all("shared" in judged(c)[1] and "dram" in judged(c)[1] for c in p["containers"][1:]), "shared is the reason, with the kind", p["containers"][1]["isolators"])
    same([c["mems_kinds"] for c in p["containers"]], [["dram"]] * 3, "the kind stands in JSON")
    same([(m["kind"], m["mems"], m["ordinary"]) for m in p["memory"]], [("dram", "0", True), ("gpu", "1", False)], "and what the machine has, without empty nodes")
    text = tool("plan", "-t", xml, "-", text=manifest(*three)).stdout
    ok("node 0 (dram)" in text and "gpu 1" in text, "and in text", text)
    error = plan(xml, [("sim", 4, 2)])
    ok(isinstance(error, str) and "1 may be given" in error and "gpu 1" in error and "mems=1" in error, "two nodes: refused, with what is special", error)
    ok(isinstance(plan(xml, [("sim", 4, "481GiB")]), str), "a size counts ordinary nodes only")
    same(nodes_of(plan(xml, [("sim", 4, "470GiB")])), ["0"], "which one of them holds")
    same(nodes_of(plan(xml, [("sim", 4, "100GiB"), ("vda", 4, "100GiB")])), ["0", "0"], "and sizes share it")
    r = tool("provision", "--cmdline", "--conf", conf("serviceos = 1/node"), "-t", xml)
    ok(f"MemSpecLimit={480 * 1024 // 20} " in r.stdout + " " or f"MemSpecLimit={480 * 1024 // 20}\n" in r.stdout, "provision withholds 5 % of the ordinary memory", r.stdout, r.stderr)


def test_aurora():
    xml = aurora(os.path.join(scratch, "aurora.xml"))
    cpus = "1-51,53-103,105-155,157-207"
    p = plan(xml, [("sim", 180, 2), ("vda", 20, 1), ("io", 4, 1)], "-c", cpus)
    got = [ids(m) for m in nodes_of(p)] if isinstance(p, dict) else p
    ok(got[0] == {0, 1} and all(len(m) == 1 and m < {0, 1} for m in got[1:]), "flat HBM: DRAM for all three, the third shares", got)
    same(judged(p["containers"][2])[0], "modified", "which is said")
    same(sorted(nodes_of(plan(xml, [("sim", 20, 1), ("vda", 20, 1)], "-c", cpus))), ["0", "1"], "two containers of a node: one DRAM each")
    ok(isinstance(plan(xml, [("sim", 20, 3)]), str), "three nodes are refused")
    same([c["mems_kinds"] for c in plan(xml, [("sim", 20, "600GiB")])["containers"]], [["dram"]], "600 GiB are two nodes of DRAM, not one with HBM")
    r = tool("provision", "--cmdline", "--conf", conf("serviceos = 1/node"), "-t", xml)
    ok(f"MemSpecLimit={-(-1024 * 1024 // 20)}" in r.stdout, "provision: 5 % of 1 TiB", r.stdout, r.stderr)
    r = tool("provision", "--cmdline", "--conf", conf("serviceos = 1/node", "serviceos_mems = 0,2"), "-t", xml)
    ok(f"MemSpecLimit={512 * 1024}" in r.stdout, "provision: of the system's own nodes, those of DRAM", r.stdout, r.stderr)


def test_root():
    xml = os.path.join(MACHINES, "cxlroot.xml")
    p = plan(xml, [(name, 4, 1) for name in ("sim", "vda", "io")])
    got = nodes_of(p)
    ok(got[:2] == ["0", "1"] and got[2] in ("0", "1"), "an expander at the machine: never given", got)
    third = p["containers"][2]
    ok(ids(third["cpus"]) <= (set(range(16)) if got[2] == "0" else set(range(16, 32))), "the third shares DRAM that is local to it", third["cpus"], got[2])
    same(judged(third)[0], "modified", "which is said")


def test_empty():
    xml = os.path.join(MACHINES, "memoryless-nps4.xml")
    ok(nodes_of(plan(xml, [("sim", 12, 1)])) in (["1"], ["2"]), "a node of 0 bytes counts nowhere", nodes_of(plan(xml, [("sim", 12, 1)])))
    ok(isinstance(plan(xml, [("sim", 12, 3)]), str), "three of four nodes, two being empty, are refused")
    ok(not ids(plan(xml, [("sim", 12, None)])["containers"][0]["mems"]) & {0, 3}, "nor are they among those of a container that is not confined")
    ok(isinstance(plan(xml, [("sim", 12, 1)], "-m", "0"), str), "nor can they be offered")


def test_small():
    """Machines of one package that say less, or have one kind."""
    near = {(a, b): 10 if a == b else 17 for a in range(2) for b in range(2)}
    equal = {(a, b): 10 for a in range(2) for b in range(2)}
    table = [
        ("HBM alone is ordinary", [Node(0, 64 * GIB, "HBM")], None, 1, {0}, ["hbm"]),
        ("two equal nodes (numa=fake=) are both ordinary", [Node(0, 8 * GIB), Node(1, 8 * GIB)], equal, 2, {0, 1}, ["dram"]),
        ("a node that is farther than the CPUs' own is special", [Node(0, 8 * GIB), Node(1, 64 * GIB)], near, 1, {0}, ["dram"]),
        ("whatever it is called", [Node(0, 8 * GIB, "HBM"), Node(1, 64 * GIB, "DRAM")], near, 1, {0}, ["hbm"]),
        ("twice the bandwidth and more is HBM", [Node(0, 8 * GIB, bandwidth=100), Node(1, 8 * GIB, bandwidth=250)], None, 1, {0}, ["dram"]),
        ("as much is not", [Node(0, 8 * GIB, bandwidth=100), Node(1, 8 * GIB, bandwidth=110)], None, 2, {0, 1}, ["dram"]),
        ("half of it is an expander", [Node(0, 8 * GIB, bandwidth=204), Node(1, 8 * GIB, bandwidth=51)], None, 1, {0}, ["dram"]),
        ("MCDRAM", [Node(0, 96 * GIB), Node(1, 16 * GIB, "MCDRAM")], None, 1, {0}, ["dram"]),
        ("persistent memory of a driver", [Node(0, 8 * GIB), Node(1, 512 * GIB, infos={"DAXType": "NVM", "DAXDevice": "dax0.0"})], equal, 1, {0}, ["dram"]),
        ("an expander's device", [Node(0, 8 * GIB), Node(1, 8 * GIB, infos={"CXLDevice": "0000:35:00.0"})], equal, 1, {0}, ["dram"]),
        ("a block of the kernel's is what its home is", [Node(0, 8 * GIB, home=0), Node(1, 8 * GIB, home=0)], {(a, b): 10 if a == b else 11 for a in range(2) for b in range(2)},
         1, {1}, ["dram"]),
    ]
    for name, nodes, latency, count, want, kinds in table:
        p = plan(one_package(os.path.join(scratch, "small.xml"), nodes, latency), [("sim", 2, count)])
        ok(isinstance(p, dict) and ids(p["containers"][0]["mems"]) == want and p["containers"][0]["mems_kinds"] == kinds, name, p if isinstance(p, str) else p["containers"][0])
        error = plan(os.path.join(scratch, "small.xml"), [("sim", 2, count + 1)])
        ok(isinstance(error, str), f"{name}: {count + 1} are refused", error)
    huge = one_package(os.path.join(scratch, "huge.xml"), [Node(0, 8 * GIB, huge=6 * GIB), Node(1, 8 * GIB, huge=1 * GIB)], equal)
    same(nodes_of(plan(huge, [("sim", 2, "9GiB")])), ["0-1"], "9 GiB are there beside huge pages")
    ok(isinstance(plan(huge, [("sim", 2, "10GiB")]), str), "10 GiB are not")


def conf(*lines):
    path = os.path.join(scratch, "nodeos.conf")
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")
    os.chmod(path, 0o644)
    return path


def words(bitmap):
    return [int(w, 16) for w in bitmap.split(",") if w]


def look(path):
    """Of a machine's XML: (nodes, those that no container may get unasked, CPUs)."""
    found = []
    root = tree.parse(path).getroot().find("object")
    for n in root.iter("object"):
        if n.get("type") in ("NUMANode", "Node"):
            found.append((int(n.get("os_index")), int(n.get("local_memory", 0)), n.get("subtype", ""), words(n.get("cpuset"))))
    whole = words(root.get("cpuset"))
    sized = any(size for _, size, _, _ in found)
    named = {os for os, _, sub, _ in found if sub in ("HBM", "MCDRAM", "GPUMemory", "NVM", "SPM") or sub.startswith("CXL")}
    empty = {os for os, size, _, _ in found if sized and not size}
    nobody = {os for os, _, _, cpus in found
              if not any(cpus) or (cpus == whole and any(c != whole and any(c) and other not in named | empty for other, _, _, c in found))}
    every = {os for os, _, _, _ in found}
    return every, named | empty | nobody if every - (named | empty | nobody) else empty, [p for p in root.iter("object") if p.get("type") == "PU"]


def invariant(path):
    every, never, cpus = look(path)
    n, wrong, plans = len(cpus), [], 0
    asks = [[("a", max(1, n // 4), 1), ("b", max(1, n // 8), 1), ("c", 1, 1)], [("a", 1, None), ("b", 1, 1)]]
    asks += [[("a", max(1, n // 2), k)] for k in range(1, len(every) + 2)]
    asks += [[("a", 1, f"{g}GiB"), ("b", 1, f"{g}GiB")] for g in (1, 5, 40, 100, 300, 500, 700)]
    for default in ("all", "local"):
        for ask in asks:
            p = plan(path, ask, "--conf", conf(f"default_mems = {default}"))
            if isinstance(p, str):
                if "cannot load" in p:
                    return skip(f"{os.path.basename(path)}: only ordinary memory", p[-120:])
                continue
            plans += 1
            wrong += [f"{ask}: {c['name']} has {c['mems']}" for c in p["containers"]
                      if (c["mems_confined"] and ids(c["mems"]) & never) or not ids(c["mems"]) <= every]
    return ok(plans > 0 and not wrong, f"{os.path.basename(path)}: {plans} plans with ordinary memory only (never: {sorted(never) or 'none'})", *wrong[:5])


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
    test_root()
    test_empty()
    test_small()
    known = recorded([MACHINES]) + [os.path.join(scratch, "aurora.xml")]
    folder = os.environ.get("NODEOS_TOPOLOGIES", "")
    for xml_file in known + recorded(sys.argv[1:] or ([folder] if os.path.isdir(folder) else [])):
        invariant(xml_file)
    if not sys.argv[1:] and not os.path.isdir(folder):
        skip("recorded machines", f"NODEOS_TOPOLOGIES is {folder or 'not set'}")
sys.exit(done())
