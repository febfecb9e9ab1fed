#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare doc/nodeos-report.schema.json and nodeos-contention.schema.json with documents of the
built programs, in both directions: a schema describes every member of the documents, and rejects a
document if a member is missing, added or of another type. TAP. NODEOS_SOURCE and NODEOS_BUILD are
as in docs_test.py."""

import copy
import json
import os
import subprocess
import sys
import tempfile

from manpages import BUILD, SOURCE, done, ok, same_set, skip

sys.path.insert(0, os.path.join(SOURCE, "test/guest"))
try:
    import schema
except ImportError as e:
    skip(
        "documents as nodeos-report.schema.json describes them", f"{e} (Debian: python3-jsonschema)"
    )
    sys.exit(done())

CHECK = schema.Checker(os.path.join(SOURCE, "doc/nodeos-report.schema.json"))
EXAMPLES = os.path.join(SOURCE, "etc/examples")
# Optional members of documents, written by hand. All other members are required.
OPTIONAL = {
    "asked": "smt mems mems_bytes policy priority quantum_ms partition dimmap oom_score_adj "
    "guest_mib contention cores mems_wants mems_policy memory_limit_bytes block_bandwidth "
    "block_iops thp lwk",
    "asked/lwk": "memory_bytes page loose",
    "containers/lwk": "memory_bytes page loose",
    "mems_wants": "count bytes",
    "asked/dimmap": "policy fill_bytes",
    "containers": "mems_kinds mems_guarantee mems_usable_bytes placement quantum_ms dimmap "
    "oom_score_adj guest_mib contention noise memory_limit_bytes block_bandwidth block_iops thp "
    "lwk",
    "noise": "irqs irq_names threads thread_names",
    "jobs": "share_mems",
    "blocks": "special",
    "": "blocks free machine memory",
}


def output(*words):
    program = os.path.join(BUILD, words[0])
    r = subprocess.run(
        [program, *words[1:]], cwd=EXAMPLES, capture_output=True, text=True, timeout=120
    )
    if r.returncode:
        print(f"# {' '.join(words)}: {r.stderr}")
    return json.loads(r.stdout) if r.returncode == 0 else {}


def places(x, path=()):
    """Yield the path of each object of a document. Only one object of an array is visited."""
    if isinstance(x, dict):
        yield path
        for key, value in x.items():
            yield from places(value, path + (key,))
    elif isinstance(x, list):
        for i, value in enumerate(x):
            yield from places(value, path + (i,))


def kind_of(path):
    return "/".join(p for p in path if isinstance(p, str))


def may_lack(path, key):
    where = kind_of(path)
    return any(
        key in words.split()
        for end, words in OPTIONAL.items()
        if where == end or (end and where.endswith("/" + end))
    )


def changed(document, path, change):
    out = copy.deepcopy(document)
    x = out
    for p in path:
        x = x[p]
    change(x)
    return out


def rename(x, key):
    x["not_" + key] = x.pop(key)


def retype(x, key):
    """Replace an object by a number, and any other value by an object. Null would not be a mistake:
    it can stand for an unknown value."""
    x[key] = {"x": 1} if not isinstance(x[key], dict) else 1


def mutate(name, document, check=CHECK):
    """Check that DOCUMENT does not fit the schema if a member has another name or type, or if a
    required member is missing."""
    seen, quiet = set(), []
    for path in places(document):
        x = document
        for p in path:
            x = x[p]
        for key in x:
            if (kind_of(path), key) in seen:
                continue
            seen.add((kind_of(path), key))
            tried = [("renamed", rename), ("of another type", retype)]
            if not may_lack(path, key):
                tried.append(("missing", lambda y, k: y.pop(k)))
            quiet += [
                f"{kind_of(path)}/{key} {what}"
                for what, change in tried
                if not check.problems(changed(document, path, lambda y, c=change, k=key: c(y, k)))
            ]
    ok(
        len(seen) > 20 and not quiet,
        f"{name}: the schema refuses the document with any of its {len(seen)} members changed",
        *quiet,
    )
    return seen


def members(x):
    if isinstance(x, dict):
        own = (
            set(x["properties"])
            if isinstance(x.get("properties"), dict) and x.get("type") == "object"
            else set()
        )
        return own.union(*map(members, x.values()))
    return set().union(*map(members, x)) if isinstance(x, list) else set()


def undescribed(x, where=""):
    """Return the paths of members without a description."""
    if isinstance(x, list):
        return [u for i, v in enumerate(x) for u in undescribed(v, where)]
    if not isinstance(x, dict):
        return []
    out = []
    for key, value in (
        x.get("properties", {}).items() if isinstance(x.get("properties"), dict) else ()
    ):
        if not {"description", "$ref", "const"} & set(value):
            out.append(f"{where}/{key}")
    for key, value in x.items():
        out += undescribed(value, f"{where}/{key}")
    return out


# a request for memory by kind, for a machine with half a MiB of HBM
BY_KIND = {
    "acKind": "PodManifest",
    "acVersion": "0.8.11",
    "apps": [
        {
            "name": "sim",
            "app": {
                "isolators": [
                    {
                        "name": "container",
                        "value": {
                            "cpus": 1,
                            "mems": [
                                {"kind": "dram", "size": "512M"},
                                {"kind": "hbm", "count": 1},
                            ],
                            "mems_policy": "bind",
                        },
                    }
                ]
            },
        }
    ],
}


def plan_by_kind():
    machine = os.path.join(SOURCE, "topology/test/corpus/topology/hbm.xml")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(BY_KIND, f)
        f.flush()
        return output("nodeosctl", "plan", "--json", "-t", machine, f.name)


def test_documents():
    machine = "package:2 numa:2(memory=4294967296) core:4 pu:2"
    documents = {
        "plan": output("nodeosctl", "plan", "--json", "-t", machine, "-n", "1", "coupled.json"),
        "plan of hpc": output(
            "nodeosctl", "plan", "--json", "-t", machine, "--serviceos=1/node", "coupled-hpc.json"
        ),
        "plan with a buffer": output(
            "nodeosctl", "plan", "--json", "-t", machine, "outofcore.json"
        ),
        "plan with every key": output(
            "nodeosctl", "plan", "--json", "-t", "numa:1 core:2 pu:2", "every-key.json"
        ),
        "plan by kind": plan_by_kind(),
        "plan of the rest": output("nodeosctl", "plan", "--json", "-t", machine, "rest.json"),
        "node": output("report/test/report_driver", "json", "n0", "coupled", "step"),
        "node with blocks": output(
            "report/test/report_driver", "json", "n0", "coupled", "step", "blocks"
        ),
        "a user's node": output("report/test/report_driver", "json", "n0", "step", "own"),
        "node without jobs": output("report/test/report_driver", "json", "n0"),
    }
    seen = set()
    for name, document in documents.items():
        problems = CHECK.problems(document)
        ok(document and not problems, f"{name}: the document fits the schema", *problems)
        if document and not problems:
            seen |= {key for _, key in mutate(name, document)} if "without" not in name else set()
    job = (documents["node"].get("jobs") or [{}])[0]
    sim, vda = job.get("containers") or [{}, {}]
    ok(
        [c.get("effective", {}).get("processes") for c in (sim, vda)] == [1, 1],
        "node: two ranks of a step are in two containers, one in each",
        sim.get("effective"),
        vda.get("effective"),
    )
    ok(
        vda.get("noise", {}).get("tick", "").startswith("4"),
        "node: the noise of a container includes that of reserved CPUs",
        vda.get("noise"),
    )
    ok(
        "free" not in documents["a user's node"] and "free" in documents["node"],
        "a user's node does not have the free CPUs, which node has",
    )
    # The tests in the guest check members that need a buffer in use, a real launch, or another kind
    # of document.
    live = (
        members(CHECK.schema["$defs"]["buffer"])
        | members(CHECK.schema["$defs"]["step_report"])
        | members(CHECK.schema["$defs"]["list"])
        | members(CHECK.schema["$defs"]["nodes"])
    )
    # the kernel of the build host may show no interrupts and no threads on these CPUs
    live |= {"irq", "irqs", "irq_names", "threads", "thread_names", "count"}
    same_set(
        sorted(members(CHECK.schema) - live - seen) or ["none"],
        ["none"],
        "the documents have every member that the schema describes",
    )


def test_contention():
    """Check documents of nodeos-contend with nodeos-contention.schema.json."""
    check = schema.Checker(os.path.join(SOURCE, "doc/nodeos-contention.schema.json"))
    seen = set()
    for name, what in (("a step", "41"), ("a batch step", "42"), ("an uncounted step", "unknown")):
        document = output("contend/test/documents_driver", what)
        problems = check.problems(document)
        ok(
            document and not problems,
            f"contention of {name}: the document fits the schema",
            *problems,
        )
        if document and not problems:
            seen |= {key for _, key in mutate(name, document, check)}
    same_set(
        seen,
        members(check.schema),
        "contention: the documents have every member that the schema describes",
    )
    problems = undescribed(check.schema["$defs"])
    ok(not problems, "the contention schema describes every member", *problems)


def test_schema():
    problems = undescribed(CHECK.schema["$defs"])
    ok(not problems, "the schema describes every member", *problems)
    for wrong in (
        {},
        [],
        {"schema": 1},
        {"schema": 2, "kind": "plan"},
        {"schema": 1, "kind": "plans"},
        {"schema": "1", "kind": "list", "containers": []},
    ):
        ok(CHECK.problems(wrong), f"{json.dumps(wrong)} does not fit the schema")
    for good in ("", "0", "0-3,8", "1,3,5-7"):
        ok(
            not CHECK.problems(
                {
                    "schema": 1,
                    "kind": "plan",
                    "containers": [],
                    "free": {"cpus": good, "mems": ""},
                    "serviceos": {"cpus": "", "mems": "", "own_mems": False},
                }
            ),
            f'"{good}" is a valid set',
        )
    for bad in ("-", "3-", "0 1", "0,", "a"):
        ok(
            CHECK.problems(
                {
                    "schema": 1,
                    "kind": "plan",
                    "containers": [],
                    "free": {"cpus": bad, "mems": ""},
                    "serviceos": {"cpus": "", "mems": "", "own_mems": False},
                }
            ),
            f'"{bad}" is no valid set',
        )


if not os.access(os.path.join(BUILD, "nodeosctl"), os.X_OK):
    skip("documents as nodeos-report.schema.json describes them", "no nodeosctl in the build tree")
else:
    test_documents()
if not os.access(os.path.join(BUILD, "contend/test/documents_driver"), os.X_OK):
    skip("documents as nodeos-contention.schema.json describes them", "no driver in the build tree")
else:
    test_contention()
test_schema()
sys.exit(done())
