#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run raw_events.py on a small tree of lists in Linux's format. Part of make check."""

import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "raw_events.py")
count = failed = 0

MAPFILE = """Family-model,Version,Filename,EventType
GenuineIntel-6-55-[01234],v1,server,core
GenuineIntel-6-55-[56789ABCDEF],v1,later,core
GenuineIntel-6-56,v1,server,core
GenuineIntel-6-(8E|9E),v1,client,core
AuthenticAMD-25-([24][[:xdigit:]]|[[:xdigit:]]),v1,zen,core
AuthenticAMD-25-[[:xdigit:]]+,v1,bigzen,core
"""
INSTRUCTIONS = {"EventName": "INST_RETIRED.ANY", "UMask": "0x1"}
MISS = {"EventName": "LONGEST_LAT_CACHE.MISS", "EventCode": "0x2E", "UMask": "0x41"}
LISTS = {
    "server": [
        INSTRUCTIONS,
        MISS,
        {
            "EventName": "OFFCORE_RESPONSE.ALL_RFO.L3_MISS.ANY_SNOOP",
            "EventCode": "0xB7, 0xBB",
            "UMask": "0x1",
            "MSRIndex": "0x1a6,0x1a7",
            "MSRValue": "0x3FBC000122",
        },
        {"EventName": "OFFCORE_RESPONSE.ALL_CODE_RD.L3_MISS.ANY_SNOOP", "EventCode": "0xB7"},
        {"EventName": "ICACHE_64B.IFTAG_MISS", "EventCode": "0x83", "UMask": "0x2"},
        {"MetricName": "CPI", "MetricExpr": "1"},
    ],
    "later": [MISS | {"Unit": "cpu_atom"}, INSTRUCTIONS],
    "client": [
        {
            "EventName": f"OCR.DEMAND_DATA_RD.{place}",
            "EventCode": "0xB7,0xBB",
            "UMask": "0x1",
            "MSRIndex": "0x1a6,0x1a7",
            "MSRValue": "0x184000001",
        }
        for place in ("DRAM", "LOCAL_DRAM")
    ],
    "zen": [
        {"EventName": "ex_ret_instr", "EventCode": "0xc0"},
        {"EventName": "ls_any_fills_from_sys.mem_io_local", "EventCode": "0x44", "UMask": "0x08"},
        {"EventName": "ls_any_fills_from_sys.mem_io_remote", "EventCode": "0x44", "UMask": "0x40"},
        {"EventName": "ls_any_fills_from_sys.int_cache", "EventCode": "0x44", "UMask": "0x02"},
    ],
    "bigzen": [
        {"EventName": "l2_pf_miss_l2_l3.l2_next_line", "EventCode": "0x172", "UMask": "0x02"},
        {"EventName": "l2_pf_miss_l2_l3.l2_stream", "EventCode": "0x172", "UMask": "0x01"},
    ],
}
# Bits of abi.h. 1: instructions. Lines: 8 for a load, 0x10 for a load from another node, 0x20 for a
# store, 0x40 for a store from another node. 16 times these values: prefetched lines.
WANT = {
    "server": {
        (0xC0, 0): 1,
        (0x412E, 0): 0x78,
        (0x1B7, 0x3FBC000122): 0x660,
        (0x1BB, 0x3FBC000122): 0x660,
    },
    "later": {(0xC0, 0): 1},
    "client": {(0x1B7, 0x184000001): 0x18, (0x1BB, 0x184000001): 0x18},
    "zen": {(0xC0, 0): 1, (0x844, 0): 0x28, (0x4044, 0): 0x50, (0x4844, 0): 0x78},
    # bits 8 to 11 of an event's code are bits 32 to 35 of config
    "bigzen": {(0x100000172, 0): 0, (0x100000272, 0): 0x780, (0x100000372, 0): 0x780},
}
PROCESSORS = [
    ("zen", "AuthenticAMD", 25, 0x0, 0xF, 0xFFFF),
    ("bigzen", "AuthenticAMD", 25, 0x10, 0x1F, 0xFFFF),
    ("zen", "AuthenticAMD", 25, 0x20, 0x2F, 0xFFFF),
    ("bigzen", "AuthenticAMD", 25, 0x30, 0x3F, 0xFFFF),
    ("zen", "AuthenticAMD", 25, 0x40, 0x4F, 0xFFFF),
    ("bigzen", "AuthenticAMD", 25, 0x50, 0xFF, 0xFFFF),
    ("server", "GenuineIntel", 6, 0x55, 0x55, 0x001F),
    ("later", "GenuineIntel", 6, 0x55, 0x55, 0xFFE0),
    ("server", "GenuineIntel", 6, 0x56, 0x56, 0xFFFF),
    ("client", "GenuineIntel", 6, 0x8E, 0x8E, 0xFFFF),
    ("client", "GenuineIntel", 6, 0x9E, 0x9E, 0xFFFF),
]


def same(got, want, what):
    global count, failed
    count += 1
    failed += got != want
    print(f"{'ok' if got == want else 'not ok'} {count} - {what}")
    if got != want:
        print(f"# got:  {got}\n# want: {want}")


def main():
    with tempfile.TemporaryDirectory() as arch:
        with open(f"{arch}/mapfile.csv", "w", encoding="utf-8") as f:
            f.write(MAPFILE)
        for name, events in LISTS.items():
            os.mkdir(f"{arch}/{name}")
            with open(f"{arch}/{name}/cache.json", "w", encoding="utf-8") as f:
                json.dump(events, f)
        with open(f"{arch}/server/uncore-cache.json", "w", encoding="utf-8") as f:
            json.dump([MISS | {"EventCode": "0x99"}], f)
        text = subprocess.run(
            [sys.executable, SCRIPT, arch], check=True, capture_output=True, text=True
        ).stdout
    found = {}
    for name, body in re.findall(r"simllc_raw (\w+)_raw\[\] = \{\n(.*?)\};", text, re.DOTALL):
        rows = re.findall(r"\{ (\w+), (\w+), (\w+) \}", body)
        found[name] = {(int(a, 0), int(b, 0)): int(c, 0) for a, b, c in rows}
    for name, want in WANT.items():
        same(found.get(name), want, f"raw_events.py prints the raw events of the list {name}")
    rows = re.findall(r'\{ "(\w+)", "(\w+)", (\w+), (\w+), (\w+), (\w+),', text)
    same(
        [(n, v, *(int(x, 0) for x in numbers)) for n, v, *numbers in rows],
        PROCESSORS,
        "raw_events.py prints the processors of each list, as models and steppings",
    )
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
