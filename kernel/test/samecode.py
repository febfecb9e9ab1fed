#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the code and data of the object files in two trees of directories.

samecode.py [--cross PREFIX] OLD NEW [FILE:NAME]...: FILE may differ between the trees, but only in
the functions and variables NAME. Line numbers are not compared: they are in debugging sections and
in the table of warnings. Prints how many objects are equal, and the differences of each other
object. Exits 1 if an object differs in more than its NAMEs. Needs binutils.
"""

import os
import re
import struct
import subprocess
import sys
import tempfile

SHF_ALLOC, SHF_EXEC, SHF_STRINGS = 0x2, 0x4, 0x20
SHT_NOBITS, SHT_SYMTAB, SHT_RELA = 8, 2, 4
STT_OBJECT, STT_SECTION = 1, 3
# these sections have line numbers or addresses in the code, and are left out; code is compared
# function by function instead
INDEXES = re.compile(
    r"__bug_table|\.orc_|__ex_table|__jump_table|__patchable|\.altinstr|\.smp_locks|\.parainstr|"
    r"__mcount_loc|\.retpoline|\.return_sites|\.call_sites|\.static_call|__tracepoint|\.ibt|"
    r"\.discard|\.note|\.comment|\.debug|\.init\.calls|\.initcall|\.eh_frame"
)


class Elf:
    """The compared parts of a relocatable ELF file of a 64-bit little-endian machine."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        assert self.data[:6] == b"\x7fELF\x02\x01", path
        (start,) = struct.unpack_from("<Q", self.data, 40)
        size, number, names = struct.unpack_from("<HHH", self.data, 58)
        raw = [
            struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * size) for i in range(number)
        ]
        self.sections = [
            {
                "name": self.word(raw[names][4] + r[0]),
                "type": r[1],
                "flags": r[2],
                "at": r[4],
                "size": r[5],
                "link": r[6],
                "info": r[7],
            }
            for r in raw
        ]
        self.symbols = []
        for s in (s for s in self.sections if s["type"] == SHT_SYMTAB):
            strings = self.sections[s["link"]]["at"]
            for at in range(s["at"], s["at"] + s["size"], 24):
                name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self.data, at)
                self.symbols.append(
                    {
                        "name": self.word(strings + name),
                        "type": info & 15,
                        "section": section,
                        "value": value,
                        "size": length,
                    }
                )
        self.by_section = {s["name"]: i for i, s in enumerate(self.sections)}

    def word(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode(errors="backslashreplace")

    def body(self, section, start=0, size=None):
        s = self.sections[section]
        if s["type"] == SHT_NOBITS:
            return b""
        return self.data[s["at"] + start : s["at"] + (s["size"] if size is None else start + size)]

    def place(self, section, offset):
        """Return a place in a section as a symbol's name instead of an address."""
        s = self.sections[section]
        if s["flags"] & SHF_STRINGS:
            return repr(self.word(s["at"] + offset)) if offset < s["size"] else s["name"]
        for symbol in self.symbols:
            if (
                symbol["section"] == section
                and symbol["type"] != STT_SECTION
                and symbol["size"]
                and 0 <= offset - symbol["value"] < symbol["size"]
            ):
                return f"{plain(symbol['name'])}+{offset - symbol['value']:#x}"
        return s["name"]

    def variables(self):
        """Return a map of each variable's name to a list of (section, size, bytes, references).
        Static variables of one name share a list."""
        refer = {}
        for s in (s for s in self.sections if s["type"] == SHT_RELA):
            for at in range(s["at"], s["at"] + s["size"], 24):
                where, info, addend = struct.unpack_from("<QQq", self.data, at)
                symbol = self.symbols[info >> 32]
                what = (
                    self.place(symbol["section"], addend)
                    if symbol["type"] == STT_SECTION
                    else f"{symbol['name']}+{addend:#x}"
                )
                refer.setdefault(s["info"], []).append((where, what))
        found = {}
        for symbol in self.symbols:
            if (
                symbol["type"] != STT_OBJECT
                or not 0 < symbol["section"] < len(self.sections)
                or INDEXES.match(self.sections[symbol["section"]]["name"])
            ):
                continue
            start, size = symbol["value"], symbol["size"]
            inside = sorted(
                (at - start, what)
                for at, what in refer.get(symbol["section"], [])
                if start <= at < start + size
            )
            found.setdefault(plain(symbol["name"]), []).append(
                (
                    self.sections[symbol["section"]]["name"],
                    size,
                    self.body(symbol["section"], start, size),
                    inside,
                )
            )
        return {name: sorted(value) for name, value in found.items()}


def plain(name):
    """Return NAME without the number that the compiler adds to static variables of one name."""
    return re.sub(r"\.\d+$", "", name)


def functions(path, elf):
    """Return a map of function names to instructions. Addresses in them are written by name."""

    def target(match):
        kind, section, offset = match.group(1), match.group(2), int(match.group(3) or "0", 16)
        if section not in elf.by_section:
            return match.group(0)
        if re.search("_PC32|_PLT32", kind):
            offset += 4  # a relative offset counts from the end of its field
        return f"{kind} {elf.place(elf.by_section[section], offset)}"

    text = subprocess.run(
        [CROSS + "objdump", "-dr", "--no-addresses", "--no-show-raw-insn", path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found, name = {}, None
    for line in text.splitlines():
        header = re.fullmatch(r"<(.+)>:", line)
        if header:
            name = header.group(1)
            if re.search(r"-0x[0-9a-f]+$", name):
                name = None  # padding for tracing before the first function
                continue
            found.setdefault(name, [])
        elif name and line.strip():
            if re.match(r"\s*R_", line) and found[name]:
                # the operand is arbitrary until the linker fills it in
                found[name][-1] = re.sub(r"<[^<>]*>", "<>", found[name][-1])
            found[name].append(
                re.sub(r"(R_\w+)\s+(\.[\w.]+)(?:\+(0x[0-9a-f]+))?$", target, line.strip())
            )
    for body in found.values():
        while body and re.match(r"(data16 |cs )*nop|xchg +%ax,%ax|int3", body[-1]):
            body.pop()  # alignment of the next function
    return found


def strip(path, out):
    subprocess.run(
        [
            CROSS + "objcopy",
            "-g",
            "-x",
            "-R",
            "__bug_table",
            "-R",
            ".rela__bug_table",
            "-R",
            ".comment",
            path,
            out,
        ],
        check=True,
    )
    with open(out, "rb") as f:
        return f.read()


def layout(elf):
    """Return an object's sections by name, as (size, contents). The contents are None for code;
    sections with places in the code are left out."""
    return {
        s["name"]: (s["size"], None if s["flags"] & SHF_EXEC else elf.body(i))
        for i, s in enumerate(elf.sections)
        if s["flags"] & SHF_ALLOC and not INDEXES.search(s["name"])
    }


def differences(old, new):
    """Return the names of functions and variables in which two objects differ."""
    with open(old, "rb") as a, open(new, "rb") as b:
        if a.read() == b.read():
            return set()
    with tempfile.TemporaryDirectory() as d:
        if strip(old, f"{d}/old") == strip(new, f"{d}/new"):
            return set()
    elf = Elf(old), Elf(new)
    code = functions(old, elf[0]), functions(new, elf[1])
    data = elf[0].variables(), elf[1].variables()
    names = {
        n
        for pair in (code, data)
        for n in set(pair[0]) | set(pair[1])
        if pair[0].get(n) != pair[1].get(n)
    }
    # a function and its cold part count as one
    names = {re.sub(r"\.(cold|part\.\d+|isra\.\d+|constprop\.\d+)+$", "", n) for n in names}
    if not names and layout(elf[0]) == layout(elf[1]):
        return set()  # the compiler has only changed the order of functions
    return names or {"(something other than code and variables)"}


def objects(top):
    return {
        os.path.relpath(os.path.join(d, f), top)
        for d, _, files in os.walk(top)
        for f in files
        if f.endswith(".o") and not f.startswith(".")
    }


def main():
    global CROSS
    args, CROSS = sys.argv[1:], ""
    if args[:1] == ["--cross"]:
        CROSS, args = args[1], args[2:]
    if len(args) < 2:
        sys.exit(__doc__)
    old, new, named = args[0], args[1], {}
    for word in args[2:]:
        file, _, name = word.partition(":")
        named.setdefault(file, set()).add(name)
    both, bad, alike = objects(old) & objects(new), 0, 0
    for file in sorted(objects(old) ^ objects(new)):
        print(f"{file}: only in {'the old' if file in objects(old) else 'the new'} directory")
        bad += 1
    for file in sorted(both):
        names = differences(f"{old}/{file}", f"{new}/{file}")
        more = names - named.get(file, set())
        if names:
            print(
                f"{file} differs in {', '.join(sorted(names))}"
                + (f": NOT ALLOWED: {', '.join(sorted(more))}" if more else ", as expected")
            )
        else:
            alike += 1
        bad += bool(more)
    print(f"{alike} of {len(both)} objects alike")
    return bool(bad) or not both


if __name__ == "__main__":
    sys.exit(main())
