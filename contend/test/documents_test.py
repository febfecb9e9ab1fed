#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check documents and metrics of the example against values calculated by hand from example.h. The
text parser of Prometheus' client for Python checks the syntax of the metrics. Prints TAP."""

import json
import os
import subprocess
import sys

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(os.path.dirname(__file__), "../..")
sys.path.insert(0, os.path.join(SOURCE, "test"))
from manpages import BUILD, done, ok, same_set, skip  # noqa: E402

DRIVER = os.path.join(BUILD, "contend/test/documents_driver")


def printed(what):
    return subprocess.run([DRIVER, what], capture_output=True, check=True, timeout=60).stdout


def is_same(got, want, what):
    ok(got == want, what, f"got {got}", f"expected {want}")


def test_step():
    d = json.loads(printed("41").decode("utf-8", "strict"))
    ranks = d["ranks"]
    child = ranks[3]
    is_same(
        [(r["rank"], r["class"], r["rate"], r["cpu_percent"], r["domain"]) for r in ranks],
        [
            (0, "devil", 311.6, 99.8, 0),
            (1, "semi-devil", 32.001, 99.1, 0),
            (2, "turtle", 0.1, 198.0, 1),
            (None, "unknown", None, None, None),
        ],
        "each rank has its class, its rate for 10,000 instructions, percent of a CPU and domain",
    )
    ok(
        printed("reversed") == printed("41"),
        "ranks in a document are in the order of their numbers, however they were found",
    )
    unknown = {k for k, v in child.items() if v is None}
    same_set(
        unknown,
        "rank domain cpu_percent memory_bytes sent_bytes received_bytes read_bytes written_bytes"
        " instructions misses remote rate class_since pages_of_bytes pages_chosen".split(),
        "unknown values of a rank are null",
    )
    is_same(
        [r["why"] for r in ranks],
        [None, None, None, "no counters yet"],
        "a rank of unknown class has the reason",
    )
    nothing = json.loads(printed("unknown"))
    is_same(
        (d["source"]["why"], nothing["source"]["why"], nothing["ranks"][0]["why"]),
        (None, "switched off", "switched off"),
        "without counters, source and ranks have the reason",
    )
    is_same(child["command"], '?[2J"\\?<&?ü', "a hostile name is made printable")
    total = d["total"]
    is_same(
        [total[k] for k in ("turtles", "semi_devils", "devils", "unknown", "class")],
        [1, 1, 1, 1, "devil"],
        "a step has the number of ranks of each class, and the worst class",
    )
    # (1 * 311.6 + 2 * 32.001 + 3 * 0.1) / 6
    is_same(total["rate"], 62.65, "a step's rate is weighted by instructions")
    is_same(total["instructions"], None, "a sum with an unknown number is null")
    is_same(
        (d["source"]["simulated"], d["source"]["user_only"], d["bounds"], d["het_job"]),
        (True, True, {"turtle": 30, "devil": 45}, None),
        "the source has the bounds, and shows a simulated cache and counts of user code",
    )
    is_same(
        [d["domains"][1][k] for k in ("cache", "misses_per_second", "peak_misses_per_second")],
        [8, None, None],
        "a domain without a rate and a peak has null for both",
    )
    is_same(
        d["placings"],
        [
            {
                "container": "sim",
                "policy": "dino",
                "why": "ranks move",
                "pages": None,
                "units": "task_0: 2 processes move as one",
                "moves": 2,
                "drains": 0,
                "numa_balancing": False,
            }
        ],
        "a placed container has policy, reason, units and number of moves",
    )
    is_same(
        [
            [r[k] for k in ("moves", "pages_moved_bytes", "pages_of_bytes", "pages_chosen")]
            for r in ranks[1:3]
        ],
        [[0, 0, None, None], [2, 33554432, 134217728, "sampled"]],
        "a moved rank has the numbers of moves and bytes, and how its pages were chosen",
    )
    history = ranks[0]["history"]
    is_same(
        (len(history), history[0][1:], history[30][1:], history[29][2]),
        (91, [4.0, "t", 0], [303.6, "d", 0], "t"),
        "ninety seconds are 91 points, and the rank becomes a devil in the thirtieth",
    )
    ok(ranks[1]["history"][0][1] is None, "the rate of a point of unknown class is null")
    is_same(
        [[p[3] for p in ranks[n]["history"]] for n in (2, 3)],
        [[0] * 40 + [1] * 51, [None] * 91],
        "each point has the rank's domain, or null if the rank is in several",
    )
    batch = json.loads(printed("42"))
    is_same(
        (batch["step"], batch["het_job"], batch["containers"][0]["name"], len(batch["ranks"])),
        ("batch", 40, None, 1),
        "a batch step without container has one sum without a name, and only its own ranks",
    )


def test_metrics():
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError as e:
        skip("Prometheus can read the metrics", f"{e} (Debian: python3-prometheus-client)")
        return
    text = printed("metrics").decode("utf-8", "strict")
    families = {f.name: f for f in text_string_to_metric_families(text)}
    samples = [s for f in families.values() for s in f.samples]
    same_set({f.type for f in families.values()}, ["counter", "gauge"], "each family has its type")
    ok(all(f.documentation for f in families.values()), "each family has a help text")
    keys = [(s.name, tuple(sorted(s.labels.items()))) for s in samples]
    ok(len(set(keys)) == len(keys), "no two samples have the same name and labels")

    def value(name, **labels):
        found = [s.value for s in samples if s.name == name and labels.items() <= s.labels.items()]
        return found[0] if len(found) == 1 else found

    scan = {"jobid": "41", "step": "0", "task": "0", "container": "sim"}
    is_same(
        [
            value("nodeos_rank_instructions_total", **scan),
            value("nodeos_rank_llc_misses_total", **scan),
            value("nodeos_rank_remote_misses_total", **scan),
            value("nodeos_rank_class", **scan, **{"class": "devil"}),
            value("nodeos_rank_cpu_ratio", **scan),
        ],
        [1e9, 31160000, 7790000, 1, 0.998],
        "a rank has the labels of jobstats and its numbers",
    )
    child = {"jobid": "41", "task": "", "pid": "5399"}
    is_same(
        (
            value("nodeos_rank_class", **child, **{"class": "unknown"}),
            value("nodeos_rank_instructions_total", **child),
        ),
        (1, []),
        "a process that is no task has its pid, and no sample for unknown values",
    )
    is_same(
        [
            value("nodeos_domain_ranks", domain="1", **{"class": c})
            for c in ("unknown", "turtle", "semi-devil", "devil")
        ],
        [0, 1, 0, 1],
        "a domain's ranks are counted by class",
    )
    is_same(
        (
            value("nodeos_domain_misses_per_second", domain="0"),
            value("nodeos_domain_misses_per_second", domain="1"),
        ),
        (12e6, []),
        "an unknown rate of a domain is left out",
    )
    is_same(
        value("nodeos_source_info", provider="perf", row="amdzen4", quality="A", simulated="true"),
        1,
        "the source is marked as simulated",
    )


def test_many():
    lines = printed("many").decode().splitlines()
    ranks = [line for line in lines if line.startswith("nodeos_rank_memory_bytes{")]
    classes = [line for line in lines if line.startswith("nodeos_rank_class{")]
    is_same((len(ranks), len(classes)), (2048, 2048), "at most 2,048 ranks have metrics")
    ok(
        "nodeos_ranks_left_out 1" in lines,
        "the metrics give the number of ranks that they leave out",
    )
    ok(
        "nodeos_ranks_left_out 0" in printed("metrics").decode(),
        "the metrics give 0 if they leave out no rank",
    )


def test_record():
    text = printed("record")
    ok(
        len(text) < 1024 and text.endswith(b"}\n") and text.count(b"\n") == 1,
        "a record is a line below 1 KiB",
    )
    record = json.loads(text)
    is_same(
        (record["nodeos_contention"], record["job"], record["inode"], record["rate"]),
        (1, 41, 4700, 62.651),
        "a record is JSON",
    )


if not os.access(DRIVER, os.X_OK):
    skip("the example's documents", "no documents_driver in the build tree")
else:
    test_step()
    test_metrics()
    test_many()
    test_record()
sys.exit(done())
