# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of bench/run dimmap."""

from bench.lib.tables import Table, number

MMAP = ("default", "random", "mglru", "mglru-random", "free-default", "free-random")
HEAD = [
    "threads",
    "writes",
    "",
    "kernel instructions per fault that reads",
    "relative to the best mmap",
    "without the device's",
    "relative to the best mmap",
    "interrupts per fault",
    "pages read per fault",
]


def of_threads(n):
    return f"{n} thread{'s' * (n != 1)}"


def per_read(scene, what="kernel"):
    """Return WHAT per access of a scene without a mapping, or per major fault of a scene with a
    mapping."""
    reads = scene["accesses"] if scene["arm"] == "direct" else scene["major"]
    return scene[what] / max(reads, 1)


def killed(scenes):
    """Return a list with one note on the scenes that the kernel has killed, or an empty list."""
    names = [
        f"{s['arm']}, {of_threads(s['threads'])}, {s['writes']} % writes, {s['times']} times"
        for s in scenes
        if s["killed"]
    ]
    text = f"Killed, as the cgroup's memory did not suffice: {'; '.join(names)}."
    return [text] if names else []


def faults(scenes):
    alive = [s for s in scenes if not s["killed"]]
    direct = {s["threads"]: per_read(s) for s in alive if s["arm"] == "direct"}
    mapped = [s for s in alive if s["arm"] != "direct"]
    rows = []
    for threads, writes in dict.fromkeys((s["threads"], s["writes"]) for s in mapped):
        of = [s for s in mapped if (s["threads"], s["writes"]) == (threads, writes)]
        best = min(per_read(s) for s in of if s["arm"] in MMAP)
        device = direct[threads]
        for s in sorted(of, key=per_read):
            each = per_read(s)
            rows.append(
                [
                    threads,
                    f"{writes} %",
                    s["arm"],
                    number(each),
                    number(each / best, 2),
                    number(each - device),
                    number((each - device) / (best - device), 2),
                    number(per_read(s, "interrupts"), 3),
                    number(per_read(s, "pages"), 2),
                ]
            )
    reads = ", ".join(f"{each:,.0f} with {of_threads(n)}" for n, each in direct.items())
    note = f"O_DIRECT reads of a page, with their system call: {reads}"
    return Table(HEAD, rows, notes=[*killed(scenes), note])


def throughput(scenes):
    """Make the table of accesses per second: a row for each arm, a column for each number of
    threads. Numbers in brackets are relative to the best arm of mmap."""
    rate = {
        (s["times"], s["writes"], s["arm"], s["threads"]): s["accesses"] / s["nanoseconds"] * 1e6
        for s in scenes
        if not s["killed"]
    }
    threads = sorted({key[3] for key in rate})
    rows = []
    for times, writes, arm in dict.fromkeys(key[:3] for key in rate):
        row = [times, f"{writes} %", arm]
        for n in threads:
            best = max(rate.get((times, writes, other, n), 0) for other in MMAP)
            here = rate.get((times, writes, arm, n))
            of_best = f" ({here / best:.2f})" if here is not None and best else ""
            row.append(number(here, 1, after=of_best))
        rows.append(row)
    head = ["file, of the buffer", "writes", "thousand accesses a second, with threads:"]
    notes = ["In brackets: relative to the best mmap.", *killed(scenes)]
    return Table([*head, *map(str, threads)], rows, notes=notes)


def tables(raw):
    return [faults(raw["counted"]) if "counted" in raw else throughput(raw["timed"])]
