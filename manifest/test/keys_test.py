#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that doc has the texts that the program manifest/test/keys generates from the tables of
isolators and keys (manifest/manifest_keys.c, isolator_name.h): parts of nodeos-manifest(5), of
nodeos-report(5) and of nodeos-report.schema.json, and all of nodeos-manifest.schema.json. With
--write, write these texts into doc. TAP. NODEOS_SOURCE, NODEOS_BUILD: as in docs_test.py."""

import difflib
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test"))
from manpages import BUILD, SOURCE, c_array, done, ok, page, read, same_set, section, skip

PROGRAM = os.path.join(BUILD, "manifest/test/keys")
PAGE = "doc/nodeos-manifest.5"
SCHEMA = "doc/nodeos-manifest.schema.json"


def between(name):
    """Return the pattern of a page's generated part: the text between two comment lines."""
    return re.compile(rf'(?<=^\.\\" {name} begin\n).*?(?=^\.\\" {name} end$)', re.M | re.S)


# Generated texts: the file, the place in it, the argument of keys.
MADE = (
    (PAGE, between("keys"), "mdoc"),
    (PAGE, between("ignored"), "ignored"),
    ("doc/nodeos-report.5", between("numbers"), "members"),
    (
        "doc/nodeos-report.schema.json",
        re.compile(r'(?:^ +"\w+": .*"The value of the ranks, as \S+"},\n)+', re.M),
        "report",
    ),
    (SCHEMA, re.compile(r"\A.*\Z", re.S), "schema"),
)


def printed(form):
    return subprocess.run(
        [PROGRAM, form], capture_output=True, text=True, timeout=60, check=True
    ).stdout


def write():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"{PROGRAM} is missing: make {os.path.relpath(PROGRAM, BUILD)}")
    for name, place, form in MADE:
        text = place.sub(lambda found: printed(form), read(name))
        with open(os.path.join(SOURCE, name), "w", encoding="utf-8") as f:
            f.write(text)


def same_text(has, expected, what):
    lines = difflib.unified_diff(
        has.splitlines(), expected.splitlines(), "the file", "the rows", lineterm="", n=0
    )
    ok(has == expected, what, *lines, "manifest/test/keys_test.py --write writes it again")


def test_made():
    for name, place, form in MADE:
        found = place.findall(read(name)) or [""]
        for text in found:
            same_text(text, printed(form), f"{name} has the output of keys {form}")
    ok(
        len(MADE[3][1].findall(read(MADE[3][0]))) == 2,
        "nodeos-report.schema.json has the numbers of a request and of a container",
    )


def image(**app):
    return {"acKind": "ImageManifest", "acVersion": "0.8.11", "name": "a", "app": app}


def container(**value):
    return {"isolators": [{"name": "container", "value": value}]}


WRONG = {
    "an unknown key": image(**container(cpu=4)),
    "a number out of its range": image(**container(cpus=0)),
    "a word that is not allowed": image(**container(partition="exclusive")),
    "a negative oom_score_adj": image(
        isolators=[
            *container()["isolators"],
            {"name": "os/linux/oom-score-adj", "value": -1},
        ]
    ),
    "no isolator container": image(isolators=[]),
    "a buffer without a source": image(
        isolators=[*container()["isolators"], {"name": "dimmap", "value": {"size": "1G"}}]
    ),
    "an unknown isolator": image(isolators=[*container()["isolators"], {"name": "x", "value": {}}]),
    "an unknown field of an app": image(**container(), execute=["true"]),
    "no name": {k: v for k, v in image(**container()).items() if k != "name"},
}


def test_manifests():
    sys.path.insert(0, os.path.join(SOURCE, "test/guest"))
    try:
        import schema
    except ImportError as e:
        skip("manifests by nodeos-manifest.schema.json", f"{e} (Debian: python3-jsonschema)")
        return
    check = schema.Checker(os.path.join(SOURCE, SCHEMA))
    for name, manifest in examples().items():
        problems = check.problems(manifest)
        ok(not problems, f"{name} is valid by nodeos-manifest.schema.json", *problems)
    ok(
        not check.problems(image(**container())),
        "the smallest manifest is valid by nodeos-manifest.schema.json",
    )
    hpc = {"name": "scheduler", "value": {"policy": "sched_Hpc"}}
    mixed = image(isolators=[*container()["isolators"], hpc])
    ok(not check.problems(mixed), "a policy of AppC is valid in any letter case")
    problems = [f"{f}: {p}" for f, m in corpus().items() for p in check.problems(m)]
    ok(not problems, "each manifest of the corpus that nodeosctl accepts is valid", *problems)
    for what, manifest in WRONG.items():
        ok(
            check.problems(manifest),
            f"a manifest with {what} is refused by nodeos-manifest.schema.json",
            json.dumps(manifest),
        )


def corpus():
    """Return the manifests of the corpus that the built nodeosctl accepts."""
    tool = os.path.join(BUILD, "nodeosctl")
    return {
        os.path.basename(f): json.load(open(f, encoding="utf-8"))
        for f in sorted(glob.glob(f"{SOURCE}/manifest/test/corpus/manifest/*.json"))
        if os.access(tool, os.X_OK)
        and subprocess.run([tool, "check", f], capture_output=True, timeout=60).returncode == 0
    }


def examples():
    return {
        os.path.relpath(f, SOURCE): json.load(open(f, encoding="utf-8"))
        for f in sorted(glob.glob(f"{SOURCE}/etc/examples/*.json"))
    }


def rows(definitions):
    """Return the isolators with their keys; an isolator whose value is a number has no keys."""
    names = [
        pair["if"]["properties"]["name"]["enum"][0] for pair in definitions["isolator"]["allOf"]
    ]
    return {
        n: list(definitions[n]["properties"])
        for n in names
        if "properties" in definitions.get(n, {})
    }


def used_keys(manifest):
    """ISOLATOR.KEY of a manifest."""
    apps = [a["app"] for a in manifest.get("apps", [])] or [manifest["app"]]
    return {
        f"{i['name'].removeprefix('argo/')}.{key}"
        for app in apps
        for i in app["isolators"]
        if isinstance(i["value"], dict)
        for key in i["value"]
    }


def test_keys():
    definitions = json.loads(printed("schema"))["$defs"]
    every = {f"{name}.{key}" for name, keys in rows(definitions).items() for key in keys}
    text = section(page("nodeos-manifest.5"), "Isolators", ".Ss")
    missing = {k for k in every if not re.search(rf"^\.It Cm {k.split('.')[1]}$", text, re.M)}
    ok(every and not missing, "Isolators of nodeos-manifest(5) explains each key", sorted(missing))
    used = set().union(*map(used_keys, examples().values()))
    ok(every and every <= used, "each key is in a manifest of etc/examples", sorted(every - used))
    for name, array in (
        ("image_manifest", "image_manifest_fields"),
        ("pod_manifest", "pod_manifest_fields"),
        ("app", "app_fields"),
        ("pod_app", "pod_app_fields"),
    ):
        table = re.findall(r'\{ "(\w+)", &\w+, (\w+)', c_array("manifest/appc.c", array))
        same_set(
            definitions[name]["properties"],
            [field for field, _ in table],
            f"the schema's {name} has the fields of manifest/appc.c",
        )
        same_set(
            definitions[name]["required"],
            [field for field, required in table if required == "true"],
            f"the schema's {name} requires the fields that manifest/appc.c requires",
        )


def test_isolator_names():
    names = re.findall(r"\tX\([A-Z]+, (\w+)\)", read("manifest/isolator_name.h"))
    told = re.findall(r"^\.Ic allow_(\w+)", page("nodeos-manifest.5"), re.M)
    missing = [name for name in names if name not in told]
    ok(
        names and not missing,
        "nodeos-manifest(5) has each isolator of manifest/isolator_name.h, by its allow_NAME",
        missing,
    )


if sys.argv[1:] == ["--write"]:
    write()
    sys.exit(0)
if not os.access(PROGRAM, os.X_OK):
    skip("texts generated from the table of keys", "manifest/test/keys is not built")
else:
    test_made()
    test_keys()
test_manifests()
test_isolator_names()
sys.exit(done())
