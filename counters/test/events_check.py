#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare each row of events.d with two independent sources: the tables of Linux
(tools/perf/pmu-events/arch: names of events, and mapfile.csv for processors) and libpfm4. The
check must also fail for copies of events.d that have one wrong digit each. TAP.

usage: events_check.py [--all]

NODEOS_KERNEL_TREE: Linux's source; by default the newest tree of kernel/build.
NODEOS_LIBPFM: libraries of libpfm4 besides this machine's, separated by ":". Rows that neither
source knows are skipped; with --all they fail (test/run: see fetch-libpfm beside this file)."""

import csv
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import libpfm

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.abspath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
)
BUILD = os.environ.get("NODEOS_BUILD", ".")
DRIVER = os.path.join(BUILD, "counters/test/events_driver")
ARCH = "tools/perf/pmu-events/arch"
EVERYTHING = "--all" in sys.argv[1:]

count = failed = 0


def ok(wrong, what):
    """Print a check that passes if WRONG, a list of faults, is empty."""
    global count, failed
    count += 1
    failed += bool(wrong)
    print(f"{'not ' if wrong else ''}ok {count} - {what}")
    for line in wrong:
        print(f"# {line}")


def skip(what, why):
    global count
    if EVERYTHING:
        ok([why], what)
        return
    count += 1
    print(f"ok {count} - {what} # SKIP {why}")


# ------------------------------------------------------------------------ our rows


class OurEvent:
    def __init__(self, clause, words):
        self.clause = clause
        # the name of another PMU than the processor's; "": the processor's
        self.pmu = "" if words[0].startswith("0x") else words[0].partition("/")[0]
        config, _, config1 = words[0].removeprefix(f"{self.pmu}/").partition("/")
        self.code = int(config, 16), int(config1 or "0", 16)
        self.source = words[1] if len(words) > 1 else ""
        name, _, differs = (words[2] if len(words) > 2 else "").partition("=")
        self.libpfm = name
        config, _, config1 = differs.partition("/")
        # libpfm4's values for the name, if they differ from Linux's
        self.differs = (int(config, 16), int(config1 or "0", 16)) if differs else None
        self.directory, _, self.names = self.source.rpartition("/")

    def __str__(self):
        return f"{self.clause} {show(self.code)}"


class Row:
    def __init__(self, line):
        self.line = line
        head, *clauses = line.split("; ")
        self.match, self.name, self.quality = head.split()
        split = [c.split() for c in clauses]
        self.events = [OurEvent(c, words) for c, *words in split if c != "note"]

    def pmu(self):
        """Return libpfm4's name of the row's PMU; "" if libpfm4 has no name for its events."""
        named = [e.libpfm.partition("::")[0] for e in self.events if "::" in e.libpfm]
        return named[0] if named else ""


def show(code):
    return f"0x{code[0]:x}/0x{code[1]:x}" if code[1] else f"0x{code[0]:x}"


def drive(*arguments):
    return subprocess.run([DRIVER, *arguments], capture_output=True, text=True, check=False)


def files():
    return sorted(glob.glob(os.path.join(SOURCE, "counters/events.d/*.tab")))


def rows_of(paths):
    """Return the rows of files from the parser; raise ValueError with its message."""
    r = drive(*paths)
    if r.returncode:
        raise ValueError(r.stderr.strip())
    return [Row(line) for line in r.stdout.splitlines()]


# ------------------------------------------------------------------------ Linux


def find_tree():
    cache = os.environ.get("NODEOS_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nodeos"
    )
    trees = [os.environ["NODEOS_KERNEL_TREE"]] if os.environ.get("NODEOS_KERNEL_TREE") else []
    trees += sorted(glob.glob(f"{cache}/kernel/tree-*"), key=os.path.getmtime, reverse=True)
    return next((t for t in trees if os.path.exists(f"{t}/{ARCH}/x86/mapfile.csv")), None)


class Linux:
    """Events by the rules of perf's jevents.py: the first of several codes, config1 from the
    MSR."""

    FIELDS = (("UMask", 8), ("EdgeDetect", 18), ("AnyThread", 21), ("Invert", 23))
    OFFCORE_MSRS = (0x1A6, 0x1A7)

    def __init__(self, tree):
        self.arch = f"{tree}/{ARCH}"
        self.tables = {}
        self.standard = {}
        for name in ("common-and-microarch", "recommended"):
            for event in self.read(f"{self.arch}/arm64/{name}.json"):
                self.standard[event["EventName"]] = event

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def table(self, directory):
        """Return the events of a core by name, without those of other units (L3, memory)."""
        if directory not in self.tables:
            where = "arm64" if "/" in directory else "x86"
            found = {}
            for path in glob.glob(f"{self.arch}/{where}/{directory}/*.json"):
                for event in self.read(path):
                    if isinstance(event, dict) and not event.get("Unit"):
                        event = {**self.standard.get(event.get("ArchStdEvent"), {}), **event}
                        found[event.get("EventName", "")] = event
            self.tables[directory] = {k.lower(): v for k, v in found.items()}
        return self.tables[directory]

    def encode_one(self, directory, name):
        event = self.table(directory).get(name.lower())
        if event is None:
            raise ValueError(f"{directory} has no event {name}")
        if event.get("Deprecated") == "1":
            raise ValueError(f"{directory}/{name} is deprecated")
        code = int(event["EventCode"].split(",")[0], 0)
        config = code & 0xFF | (code >> 8) << (32 if directory.startswith("amd") else 8)
        for field, bit in self.FIELDS:
            config |= int(event.get(field, "0"), 0) << bit
        config |= int(event.get("CounterMask", "0"), 0) << 24
        config1 = 0
        if "MSRIndex" in event and int(event["MSRIndex"].split(",")[0], 0):
            if int(event["MSRIndex"].split(",")[0], 0) not in self.OFFCORE_MSRS:
                raise ValueError(f"{directory}/{name}: MSR {event['MSRIndex']}")
            config1 = int(event["MSRValue"], 0)
        for field in ("UMaskExt", "ExtSel", "ConfigCode", "Filter"):
            if event.get(field) not in (None, "0", "0x0", "0x00"):
                raise ValueError(f"{directory}/{name}: {field} is not known here")
        return config, config1

    def encode_flags(self, event):
        """Encode "PMU/FLAG+FLAG" by the driver of IBS, whose events the tables do not have."""
        config = 0
        with open(f"{self.arch[: -len(ARCH)]}arch/x86/events/amd/ibs.c", encoding="utf-8") as f:
            text = f.read()
        for flag in event.names.split("+"):
            bit = re.search(rf'\({flag}, \w*op\w*{flag},\s*"config:(\d+)"\)', text)
            bit = bit or re.search(rf'\({flag},\s*"config:(\d+)"\)', text)
            if not bit or f'perf_ibs_pmu_init(&perf_ibs_op, "{event.pmu}")' not in text:
                raise ValueError(f"{event.pmu} has no {flag}")
            config |= 1 << int(bit[1])
        return config, 0

    def encode(self, event):
        """Encode "a.b+c" as the masks of a.b and a.c together."""
        if event.pmu:
            return self.encode_flags(event)
        first, *others = event.names.split("+")
        if event.clause == "sample":
            listed = self.table(event.directory).get(first.lower(), {})
            if listed.get("Data_LA") != "1" or listed.get("PEBS") != "1" or others:
                raise ValueError(f"{event.source}: samples of it have no addresses")
        config, config1 = self.encode_one(event.directory, first)
        for other in others:
            more = self.encode_one(event.directory, f"{first.rpartition('.')[0]}.{other}")
            if more[0] & 0xFF != config & 0xFF:
                raise ValueError(f"{event.source}: two events, not two masks of one")
            config, config1 = config | more[0], config1 | more[1]
        return config, config1

    def mapfile(self, arch):
        with open(f"{self.arch}/{arch}/mapfile.csv", encoding="utf-8") as f:
            for row in csv.reader(line for line in f if not line.startswith("#")):
                if len(row) == 4 and row[3] == "core" and not row[0].startswith("Family"):
                    yield row[0], row[2]

    def directory_of(self, identity):
        """Choose as perf does: the first matching pattern; a pattern without a stepping matches
        all."""
        for pattern, directory in self.mapfile("x86"):
            regex = pattern.replace("[:xdigit:]", "0-9A-F")
            full = re.sub(r"\[[^]]*\]", "", pattern).count("-") == 3
            text = identity if full else identity.rpartition("-")[0]
            if re.fullmatch(regex, text):
                return directory
        return None


def wrong_for_linux(linux, row):
    wrong = []
    for event in row.events:
        try:
            has = linux.encode(event)
        except ValueError as error:
            wrong.append(f"{event}: {error}")
            continue
        if has != event.code:
            wrong.append(f"{event}: {event.source} is {show(has)}")
    return wrong


def wrong_processors(linux, rows, paths):
    """Return faults: identities whose row is not of the directory that Linux chooses for them."""
    directory = {r.name: r.events[0].directory for r in rows}
    ours = set(directory.values())
    models = [f"{m:X}-{s:X}" for m in range(256) for s in range(16)]
    ids = [
        f"{family}-{model}"
        for family in ("GenuineIntel-6", "AuthenticAMD-23", "AuthenticAMD-25", "AuthenticAMD-26")
        for model in models
    ]
    wanted = []
    cached = {}
    for identity in ids:
        # only the patterns of a few models depend on the stepping
        key = identity if "-55-" in identity else identity.rpartition("-")[0]
        if key not in cached:
            cached[key] = linux.directory_of(identity)
        wanted.append(cached[key])
    ids += ["GenuineIntel-15-6A-0", "AuthenticAMD-24-1-0", "AuthenticAMD-6-6A-0"]
    wanted += [None, None, None]
    for midr, name in linux.mapfile("arm64"):
        ids += [midr, f"0x{int(midr, 16) | 0x300001:x}"]
        wanted += [name, name]
    r = drive("--find", *ids, "--", *paths)
    if r.returncode:
        return [r.stderr.strip()]
    wrong = []
    for identity, name, want in zip(ids, r.stdout.split(), wanted):
        has = directory.get(name)
        if has != (want if want in ours else None):
            wrong.append(f"{identity}: {name}, which is {has}; Linux has {want}")
    return wrong


# ------------------------------------------------------------------------ libpfm4


def wrong_for_libpfm(libraries, row):
    """Return the wrong events of ROW; None if no library knows this processor."""
    known = [lib for lib in libraries if row.pmu() in lib.pmus]
    if not row.pmu():
        # libpfm4 calls sapphirerapids "Intel SapphireRapid"
        named = [p for lib in libraries for p in lib.processors()]
        alike = [p for p in named if row.name.rstrip("s") in p.lower().replace(" ", "")]
        return [f"libpfm4 has {p}: name its events" for p in alike] if libraries else None
    if not known:
        return None
    lib, wrong = known[0], []
    for event in (e for e in row.events if not e.pmu):
        if event.libpfm == "-":
            names = lib.names_of(row.pmu(), *event.code)
            if names:
                wrong.append(f"{event}: libpfm4 has a name for it: {':'.join(names)}")
            continue
        try:
            has = lib.encode(event.libpfm)
        except ValueError as error:
            wrong.append(f"{event}: {error}")
            continue
        if has != (event.differs or event.code):
            wrong.append(f"{event}: {event.libpfm} is {show(has)}")
        if event.differs == event.code:
            wrong.append(f'{event}: libpfm4 has the same code, so the row needs no "="')
    return wrong


def unconfirmed(rows):
    """Return the events that only Linux has in this form."""
    return [
        f"{row.name}: {e}: libpfm4 has {show(e.differs) if e.differs else 'no name for it'}"
        for row in rows
        for e in row.events
        if not e.pmu and (e.differs or e.libpfm == "-")
    ]


# ------------------------------------------------------------------------ our own rules


def wrong_by_rule(row):
    wrong = []
    if any(not e.source or not e.libpfm for e in row.events):
        wrong.append(f'{row.name}: each event needs a name of Linux and one of libpfm4, or "-"')
    if len({e.directory for e in row.events if not e.pmu}) != 1:
        wrong.append(f"{row.name}: all events must be of one directory of Linux")
    if len({e.code[1] for e in row.events if e.code[1]}) > 2:
        wrong.append(f"{row.name}: a core of Intel counts at most two offcore responses")
    if row.quality in ("A", "B") and unconfirmed([row]):
        wrong.append(f"{row.name}: quality {row.quality}, but libpfm4 does not confirm an event")
    return wrong


def processors(match):
    """Return the processors of a row: (vendor and family, model, stepping), or MIDRs."""
    if match.startswith("0x"):
        return set(match.split(","))

    def span(text):
        first, _, last = text.partition("..")
        return range(int(first, 16), int(last or first, 16) + 1)

    vendor, family, models, steppings = (match.split("-") + ["0..F"])[:4]
    return {
        (f"{vendor}-{family}", m, s)
        for part in models.split(",")
        for m in span(part)
        for s in span(steppings)
    }


def overlaps(rows):
    seen, wrong = {}, []
    for row in rows:
        for cpu in processors(row.match):
            if seen.setdefault(cpu, row.name) != row.name:
                wrong.append(f"{seen[cpu]} and {row.name} are both for {cpu}")
    return wrong[:5]


def flips():
    """Yield (what, text of all files) with one hexadecimal digit of one event, or of one processor,
    changed: a random digit of each number."""
    rng = random.Random(12)
    texts = {}
    for path in files():
        with open(path, encoding="utf-8") as f:
            texts[path] = f.read()
    number = re.compile(
        r"^\t(?:instructions|misses|remote|sample) (?:\w+/)?0x([0-9a-f]+)(?:/0x([0-9a-f]+))?|"
        r"^(?:[A-Z]\w+-\d+-|0x)([0-9A-Fa-f]+)",
        re.M,
    )
    for path, text in texts.items():
        for found in number.finditer(text):
            for group in (g for g in (1, 2, 3) if found[g]):
                at = rng.randrange(found.start(group), found.end(group))
                digit = rng.choice([d for d in "0123456789abcdef" if d != text[at].lower()])
                line = text.count("\n", 0, at) + 1
                yield (
                    f"{os.path.basename(path)}:{line}: {text[at]} to {digit} in {found[0].strip()}",
                    {**texts, path: text[:at] + digit + text[at + 1 :]},
                )


def is_found(linux, libraries, texts, folder):
    """Return whether a check fails for these texts."""
    paths = []
    for path, text in texts.items():
        paths.append(os.path.join(folder, os.path.basename(path)))
        with open(paths[-1], "w", encoding="utf-8") as f:
            f.write(text)
    try:
        rows = rows_of(paths)
    except ValueError:
        return True
    if overlaps(rows) or (linux and any(wrong_for_linux(linux, r) for r in rows)):
        return True
    if any(wrong_for_libpfm(libraries, r) for r in rows):
        return True
    return bool(linux) and bool(wrong_processors(linux, rows, paths))


def wrong_examples(rows):
    """Return faults of the examples in nodeos-events(5): each must parse, and the first must be
    one of our rows."""
    with open(os.path.join(SOURCE, "doc/nodeos-events.5"), encoding="utf-8") as f:
        section = f.read().partition(".Sh EXAMPLES")[2].partition(".Sh ")[0]
    examples = re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", section, re.M | re.S)
    wrong = [] if len(examples) > 1 else ["there are none"]
    for i, example in enumerate(examples):
        with tempfile.NamedTemporaryFile("w", suffix=".tab") as f:
            f.write(example)
            f.flush()
            r = drive(f.name)
        if r.returncode:
            wrong.append(r.stderr.strip())
        elif i == 0 and r.stdout.strip() not in {row.line for row in rows}:
            wrong.append(f"no row of events.d is {r.stdout.strip()}")
    return wrong


def main():
    paths = files()
    tree, given = find_tree(), [p for p in os.environ.get("NODEOS_LIBPFM", "").split(":") if p]
    libraries = libpfm.load_all(given)
    linux = Linux(tree) if tree else None
    try:
        rows = rows_of(paths)
    except ValueError as error:
        rows = []
        ok([str(error)], "the files of events.d are read")
    print(f"# Linux: {tree or 'none'}; libraries of libpfm4: {len(libraries)}")
    ok([] if len(rows) >= 16 else [f"{len(rows)} rows"], "events.d has rows for all vendors")
    ok([w for r in rows for w in wrong_by_rule(r)], "the rows keep the rules of counters/README")
    ok(overlaps(rows), "no processor has two rows")
    ok(wrong_examples(rows), "the examples of nodeos-events(5) are rows")
    no_tree = "no source of Linux here (kernel/build --tree makes one)"
    for row in rows:
        what = f"{row.name}: Linux has the same events"
        if linux:
            ok(wrong_for_linux(linux, row), what)
        else:
            skip(what, no_tree)
    what = "processors of Linux's mapfile.csv, and no others, have the row of their directory"
    if linux:
        ok(wrong_processors(linux, rows, paths), what)
    else:
        skip(what, no_tree)
    for row in rows:
        wrong = wrong_for_libpfm(libraries, row)
        what = f"{row.name}: libpfm4 has the same events"
        if wrong is None:
            why = f"does not know {row.pmu()}" if libraries else "is not installed"
            skip(what, f"libpfm4 {why}")
        else:
            ok(wrong, what)
    for line in unconfirmed(rows):
        print(f"# Linux alone: {line}")
    what = "the check finds a wrong digit"
    if linux:
        with tempfile.TemporaryDirectory() as folder:
            tried = list(flips())
            unseen = [w for w, texts in tried if not is_found(linux, libraries, texts, folder)]
        ok(unseen, f"{what}, in each of {len(tried)} numbers")
    else:
        skip(what, no_tree)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
