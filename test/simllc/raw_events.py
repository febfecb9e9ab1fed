#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generate the raw events of the guest's module from Linux's own lists of events. raw_events.py
ARCH, where ARCH is tools/perf/pmu-events/arch/x86 of a kernel tree, prints C source that
module/simllc.c includes. The lists say which processor has which events, and their numbers. Only
MEANINGS is written by hand: it says which events count which counters of the simulated cache. An
event of hardware that the simulated processor does not have (the prefetcher of an L2) counts 0.
Events of what the guest does but what is not simulated (instruction fetches, hits in other caches)
are left out, so that they are refused."""

import csv
import functools
import json
import os
import re
import sys

# counters and bits of abi.h
INSTRUCTIONS, REFERENCES, FILLS, PREFETCH = 1 << 0, 1 << 1, 3, 4
READ, WRITE = (0,), (2,)
LOCAL, REMOTE = (0,), (1,)


def fills(prefetch, access, place):
    """Return the counters of lines with these properties, as bits. PREFETCH has 0 for lines for
    which accesses wait, and 4 for lines that the prefetcher fetches."""
    return sum(1 << (FILLS + (p | a | r)) for p in prefetch for a in access for r in place)


DEMAND, PREFETCHED = (0,), (PREFETCH,)
BOTH, ANY, EITHER = DEMAND + PREFETCHED, READ + WRITE, LOCAL + REMOTE

# Intel: OCR.REQUEST.PLACE or OFFCORE_RESPONSE.REQUEST.PLACE. The simulated prefetcher counts as
# that of the "L3" or "LLC"; the simulated cores have no prefetchers.
REQUESTS = {
    "READS_TO_CORE": (DEMAND, ANY),
    "DEMAND_DATA_RD": (DEMAND, READ),
    "DEMAND_RFO": (DEMAND, WRITE),
    "ALL_READS": (BOTH, ANY),
    "ALL_DATA_RD": (BOTH, READ),
    "ALL_RFO": (BOTH, WRITE),
    "HWPF_L3": (PREFETCHED, ANY),
    "PF_L(3|LC)_DATA_RD": (PREFETCHED, READ),
    "PF_L(3|LC)_RFO": (PREFETCHED, WRITE),
    "ALL_PF_DATA_RD": (PREFETCHED, READ),
    "ALL_PF_RFO": (PREFETCHED, WRITE),
    "(HW)?PF_L2_(DATA_RD|RFO)": ((), ()),
    "PF_L1D_AND_SW|HWPF_L1D_AND_SWPF": ((), ()),
}
PLACES = {
    r"DRAM|L(3|LC)_MISS(\.ANY_(SNOOP|RESPONSE|DRAM)|\.DRAM)?": EITHER,
    r"LOCAL_DRAM|L3_MISS_LOCAL(_DRAM\.ANY_SNOOP)?|L(3|LC)_MISS(\.LOCAL_DRAM|_LOCAL\.DRAM)": LOCAL,
    r"REMOTE_DRAM|L3_MISS_REMOTE_HOP1_DRAM\.ANY_SNOOP|LLC_MISS\.REMOTE_DRAM": REMOTE,
}
# AMD: lines that accesses of a core fetch, by source. The simulated prefetcher counts as the L2's.
NEAR = r"mem_io_local|dram_io_near|ls_mabresp_lcl_dram"
FAR = r"mem_io_remote|dram_io_far|ls_mabresp_rmt_dram"
MEANINGS = {
    r"INST_RETIRED\.ANY(_P)?|ex_ret_instr": INSTRUCTIONS,
    r"LONGEST_LAT_CACHE\.REFERENCE": REFERENCES,
    r"LONGEST_LAT_CACHE\.MISS": fills(DEMAND, ANY, EITHER),
    r"MEM_LOAD_RETIRED\.L3_MISS": fills(DEMAND, READ, EITHER),
    rf"ls_(any_fills|dmnd_fills|refills)_from_sys\.({NEAR})": fills(DEMAND, ANY, LOCAL),
    rf"ls_(any_fills|dmnd_fills|refills)_from_sys\.({FAR})": fills(DEMAND, ANY, REMOTE),
    r"ls_any_fills_from_sys\.(dram_io_all|all_dram_io)": fills(DEMAND, ANY, EITHER),
    rf"ls_(hw|sw)_pf_dc_fills?\.({NEAR}|{FAR})": 0,
    r"l2_pf_miss_l2_l3(\.(all|l2_next_line|l2_hwpf|l1_dc_l2_hwpf))?": fills(
        PREFETCHED, ANY, EITHER
    ),
    r"l2_pf_miss_l2_l3\.(l1_dc_hwpf|l[12]_(stream|up_down|burst|stride|region))": 0,
} | {
    rf"(OCR|OFFCORE_RESPONSE)\.({request})\.({place})": fills(*REQUESTS[request], PLACES[place])
    for request in REQUESTS
    for place in PLACES
}
# The lists give no code for events of fixed counters. In other counters, these are their codes.
ARCHITECTURAL = {"INST_RETIRED.ANY": "0xc0", "INST_RETIRED.ANY_P": "0xc0"}
MSR = {"0x1a6", "0x1a7"}  # OFFCORE_RSP_0 and 1; the kernel writes config1 to them


@functools.cache
def meaning(name):
    """Return the counters that the event NAME counts, as bits, or None if the event is refused."""
    found = [bits for pattern, bits in MEANINGS.items() if re.fullmatch(pattern, name, re.I)]
    assert len(found) < 2, f"{name} has two meanings"
    return found[0] if found else None


def numbers(text):
    return [int(word, 0) for word in str(text or "0").split(",") if word.strip()]


def configs(event):
    """Return the pairs (config, config1) of an event in a list."""
    code = ARCHITECTURAL.get(event["EventName"].upper()) or event["EventCode"]
    umask = 0 if event["EventName"].upper() in ARCHITECTURAL else numbers(event.get("UMask"))[0]
    msr = {hex(n) for n in numbers(event.get("MSRIndex"))} & MSR
    config1 = numbers(event.get("MSRValue"))[0] if msr else 0
    return [((c & 0xFF) | umask << 8 | (c >> 8) << 32, config1) for c in numbers(code)]


def unions(events):
    """Return the events and all combinations of their unit masks: AMD's counters count what any bit
    of a unit mask selects."""
    out = dict(events)
    for _ in range(8):
        out |= {
            (a | b, 0): out[a, 0] | out[b, 0]
            for a, _ in list(out)
            for b, _ in events
            if (a ^ b) & ~0xFF00 == 0 and (a | b, 0) not in out
        }
    return out


def table(folder, amd):
    """Return the events of a list: {(config, config1): counters}."""
    out = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json") or name.startswith("uncore"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            listed = json.load(f)
        for event in listed:
            # an event with a unit does not count in cores, or only in one of several kinds of cores
            if not isinstance(event, dict) or "EventName" not in event or "Unit" in event:
                continue
            bits = meaning(event["EventName"])
            if bits is None:
                continue
            for config in configs(event):
                # lists of processors for single sockets have the same numbers for "local" and "any"
                out[config] = out.get(config, 0) | bits
    return unions(out) if amd else out


def processors(path):
    """Yield the rows of mapfile.csv, (pattern, list), in order. The first matching row is used."""
    with open(path, encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["EventType"] == "core":
                pattern = row["Family-model"].replace("[[:xdigit:]]", "[0-9A-F]")
                yield re.compile(pattern), row["Filename"]


def models(rows):
    """Return rows (list, vendor, family, first model, last model, steppings as bits) for the
    processors that the patterns match. A kernel module cannot match patterns itself."""
    rows = list(rows)
    families = sorted({tuple(p.pattern.split("-")[:2]) for p, _ in rows})
    out = []
    for vendor, family in families:
        for model in range(256):
            steppings = {}
            for stepping in range(16):
                short = f"{vendor}-{family}-{model:X}"
                for pattern, name in rows:
                    full = pattern.pattern.count("-") == 3
                    if pattern.fullmatch(f"{short}-{stepping:X}" if full else short):
                        steppings[name] = steppings.get(name, 0) | 1 << stepping
                        break
            for name, bits in steppings.items():
                last = next((r for r in reversed(out) if r[0] == name), None)
                if last and last[1:3] == [vendor, int(family)] and last[4] == model - 1:
                    if last[5] == bits:
                        last[4] = model
                        continue
                out.append([name, vendor, int(family), model, model, bits])
    return out


def identifier(name):
    return re.sub(r"\W", "_", name)


def main():
    arch = sys.argv[1]
    rows = models(processors(os.path.join(arch, "mapfile.csv")))
    tables = {
        name: table(os.path.join(arch, name), vendor == "AuthenticAMD") for name, vendor, *_ in rows
    }
    print("/* Generated by raw_events.py from tools/perf/pmu-events/arch/x86. */")
    for name, events in tables.items():
        if events:
            print(f"static const struct simllc_raw {identifier(name)}_raw[] = {{")
            for (config, config1), bits in sorted(events.items()):
                print(f"\t{{ {config:#x}, {config1:#x}, {bits:#x} }},")
            print("};\n")
    print("static const struct simllc_processor simllc_processors[] = {")
    for name, vendor, family, first, last, steppings in rows:
        if tables[name]:
            to = f"{identifier(name)}_raw"
            print(f'\t{{ "{name}", "{vendor}", {family}, {first:#x}, {last:#x}, {steppings:#x},')
            print(f"\t  {to}, ARRAY_SIZE({to}) }},")
    print("};")


if __name__ == "__main__":
    main()
