# SPDX-License-Identifier: GPL-2.0-or-later
"""Get libpfm4's codes for names of events, for events_check.py: from a library of this machine's
architecture by its functions, from one of arm64 by the tables in its file, as that cannot run
here."""

import ctypes
import os
import struct

PFM_PLM3 = 8  # user mode
PFM_OS_PERF_EVENT = 1
PFM_PMU_MAX = 1024
PFM_ATTR_UMASK = 1
PERF_TYPE_RAW = 4
EM_AARCH64 = 183
R_AARCH64_RELATIVE = 1027


class Pmu(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("pmu", ctypes.c_int),
        ("type", ctypes.c_int),
        ("nevents", ctypes.c_int),
        ("first_event", ctypes.c_int),
        ("max_encoding", ctypes.c_int),
        ("num_cntrs", ctypes.c_int),
        ("num_fixed_cntrs", ctypes.c_int),
        ("flags", ctypes.c_uint),
    ]


class Event(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("pmu", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("nattrs", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("flags", ctypes.c_uint),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("ctrl", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("default", ctypes.c_uint64 * 2),
    ]


class Encoding(ctypes.Structure):
    _fields_ = [
        ("attr", ctypes.c_void_p),
        ("fstr", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("idx", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("pad", ctypes.c_int),
    ]


class Native:
    """A library that this Python can load."""

    def __init__(self, path):
        os.environ["LIBPFM_ENCODE_INACTIVE"] = "1"  # include events of other processors
        self.lib = ctypes.CDLL(path)
        self.lib.pfm_strerror.restype = ctypes.c_char_p
        if self.lib.pfm_initialize():
            raise OSError(f"{path}: pfm_initialize() fails")
        self.pmus = {}
        for number in range(PFM_PMU_MAX):
            pmu = Pmu(size=ctypes.sizeof(Pmu))
            if not self.lib.pfm_get_pmu_info(number, ctypes.byref(pmu)):
                self.pmus[pmu.name.decode()] = pmu

    def encode(self, name):
        """Return (config, config1) of an event; ValueError if libpfm4 refuses the name."""
        attr = ctypes.create_string_buffer(256)  # struct perf_event_attr
        arg = Encoding(attr=ctypes.addressof(attr), size=ctypes.sizeof(Encoding))
        rc = self.lib.pfm_get_os_event_encoding(
            name.encode(), PFM_PLM3, PFM_OS_PERF_EVENT, ctypes.byref(arg)
        )
        if rc:
            raise ValueError(f"{name}: {self.lib.pfm_strerror(rc).decode()}")
        if struct.unpack_from("=I", attr, 0)[0] != PERF_TYPE_RAW:
            raise ValueError(f"{name}: this is no raw event")
        return struct.unpack_from("=Q", attr, 8)[0], struct.unpack_from("=Q", attr, 56)[0]

    def processors(self):
        return [p.desc.decode() for p in self.pmus.values()]

    def names_of(self, pmu, config, config1):
        """Return names of PMU's events and masks that together give CONFIG and CONFIG1; none if no
        combination does."""
        number = self.pmus[pmu].first_event
        wanted = config1 or config >> 8
        while number != -1:
            event = Event(size=ctypes.sizeof(Event))
            if self.lib.pfm_get_event_info(number, 0, ctypes.byref(event)):
                break
            if event.code & 0xFF == config & 0xFF:
                masks = list(self.masks(number, event.nattrs, wanted))
                together = 0
                for _, code in masks:
                    together |= code
                if together == wanted:
                    return [event.name.decode(), *(n for n, _ in masks)]
            number = self.lib.pfm_get_event_next(number)
        return []

    def masks(self, number, attributes, within):
        for i in range(attributes):
            mask = Attribute(size=ctypes.sizeof(Attribute))
            if (
                not self.lib.pfm_get_event_attr_info(number, i, 0, ctypes.byref(mask))
                and mask.type == PFM_ATTR_UMASK
                and mask.code & ~within == 0
            ):
                yield mask.name.decode(), mask.code


class Arm64:
    """The tables of a libpfm.so of arm64: struct arm_entry_t, and pfmlib_pmu_t that points to them.
    The file's relocations give the pointers their values."""

    ENTRY = struct.Struct("<QQQII")  # name, desc, equiv, code, modifiers

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:4] != b"\x7fELF" or struct.unpack_from("<H", self.data, 18)[0] != EM_AARCH64:
            raise OSError(f"{path}: no shared object of arm64")
        self.load, self.pointer = self.segments(), self.relocations()
        self.tables = {}
        for place in sorted(self.pointer):
            desc, name = self.text(place), self.text(place + 8)
            if desc and name and name.startswith("arm_") and place + 96 in self.pointer:
                count = struct.unpack_from("<I", self.data, self.offset(place + 60))[0]
                self.tables[name] = (desc, dict(self.entries(self.pointer[place + 96], count)))

    def segments(self):
        (start,) = struct.unpack_from("<Q", self.data, 32)
        (count,) = struct.unpack_from("<H", self.data, 56)
        out = []
        for i in range(count):
            kind, _, offset, address, _, size = struct.unpack_from(
                "<IIQQQQ", self.data, start + 56 * i
            )
            if kind == 1:  # PT_LOAD
                out.append((address, offset, size))
        return out

    def relocations(self):
        (start,) = struct.unpack_from("<Q", self.data, 40)
        (count,) = struct.unpack_from("<H", self.data, 60)
        out = {}
        for i in range(count):
            kind, offset, size = struct.unpack_from("<4xI16xQQ", self.data, start + 64 * i)
            if kind != 4:  # SHT_RELA
                continue
            for place, info, addend in struct.iter_unpack(
                "<QQq", self.data[offset : offset + size]
            ):
                if info & 0xFFFFFFFF == R_AARCH64_RELATIVE:
                    out[place] = addend
        return out

    def offset(self, address):
        return next((o + address - a for a, o, n in self.load if a <= address < a + n), None)

    def text(self, place):
        """Return the string to which the pointer at PLACE points, or None."""
        at = self.offset(self.pointer.get(place, -1))
        if at is None:
            return None
        raw = self.data[at : self.data.find(b"\0", at)]
        return raw.decode() if raw and all(32 <= c < 127 for c in raw) else None

    def entries(self, table, count):
        for i in range(count):
            place = table + i * self.ENTRY.size
            name = self.text(place)
            if not name:
                raise OSError(f"the table of {count} events has no name at {i}")
            yield name, self.ENTRY.unpack_from(self.data, self.offset(place))[3]

    @property
    def pmus(self):
        return self.tables

    def encode(self, name):
        pmu, event = name.split("::")
        if event not in self.tables[pmu][1]:
            raise ValueError(f"{name}: event not found")
        return self.tables[pmu][1][event], 0

    def processors(self):
        return [desc for desc, _ in self.tables.values()]

    def names_of(self, pmu, config, config1):
        return [n for n, code in self.tables[pmu][1].items() if (code, 0) == (config, config1)]


def load_all(paths):
    """Return the libraries at PATHS, and after them this machine's if it has one."""
    out = []
    for path in paths:
        with open(path, "rb") as f:
            machine = struct.unpack_from("<H", f.read(20), 18)[0]
        out.append(Arm64(path) if machine == EM_AARCH64 else Native(path))
    try:
        out.append(Native("libpfm.so.4"))
    except OSError:
        pass
    return out
