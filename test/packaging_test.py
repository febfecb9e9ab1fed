#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the file lists of the Debian packages and of the RPMs with what "make install" installs:
each file is in one package, each listed file exists, and both kinds of packages have the same
files. TAP. NODEOS_SOURCE is the source tree, NODEOS_BUILD the build tree."""

import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), ".."
)
BUILD = os.environ.get("NODEOS_BUILD") or SOURCE
PACKAGING = os.path.join(SOURCE, "contrib/packaging")
# directories as debian/rules and the spec configure them
PLACES = {
    "prefix": "/usr",
    "exec_prefix": "/usr",
    "sysconfdir": "/etc",
    "libdir": "/usr/lib/any",
    "libexecdir": "/usr/libexec",
    "slurmplugindir": "/usr/lib/any/slurm",
    "datarootdir": "/usr/share",
    "mandir": "/usr/share/man",
    "docdir": "/usr/share/doc/nodeos-tools",
    "systemdsystemunitdir": "/usr/lib/systemd/system",
}
MACROS = {
    "_sysconfdir": "/etc",
    "_bindir": "/usr/bin",
    "_sbindir": "/usr/sbin",
    "_libexecdir": "/usr/libexec",
    "_mandir": "/usr/share/man",
    "_docdir": "/usr/share/doc",
    "_datadir": "/usr/share",
    "_unitdir": "/usr/lib/systemd/system",
    "_tmpfilesdir": "/usr/lib/tmpfiles.d",
    "slurm_plugindir": "/usr/lib/any/slurm",
    "_usrsrc": "/usr/src",
    "_libdir": "/usr/lib/any",
    "_includedir": "/usr/include",
}

number = failures = 0


def ok(good, what, *detail):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    for line in detail if not good else ():
        print(f"#   {line}")


def read(*name):
    with open(os.path.join(*name), encoding="utf-8") as f:
        return f.read()


def installed():
    with tempfile.TemporaryDirectory() as dest:
        env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
        r = subprocess.run(
            ["make", "-C", BUILD, "install", f"DESTDIR={dest}"]
            + [f"{k}={v}" for k, v in PLACES.items()],
            capture_output=True,
            text=True,
            env=env,
        )
        ok(r.returncode == 0, "make install succeeds", *(r.stdout + r.stderr).splitlines()[-20:])
        return {
            os.path.join(d, f)[len(dest) :]
            for d, _, files in os.walk(dest)
            for f in files
            if not os.path.join(d, f)[len(dest) :].startswith("/usr/libexec/nodeos/test/")
        }


def matches(path, pattern):
    """Return whether PATTERN matches the path, like in a shell: * does not match a slash."""
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def debian():
    """Return {package: patterns} and {package: patterns of files that are left out of it}."""
    lists = {}
    rules = read(PACKAGING, "debian/rules")
    without = {
        package: [f"*{word}*" for word in re.findall(r"-X(\S+)", words)]
        for package, words in re.findall(r"dh_install -p(\S+)((?: -X\S+)+)", rules)
    }
    for name in glob.glob(os.path.join(PACKAGING, "debian/*.install")):
        lists[os.path.basename(name)[: -len(".install")]] = [
            "/" + line.split()[0] for line in read(name).splitlines()
        ]
    return lists, without


def rpm():
    """Return {package: patterns} and {package: patterns of files that are left out of it}."""
    lists, without = {}, {}
    text = read(PACKAGING, "nodeos.spec.in")
    for package, body in re.findall(
        r"^%files -n (\S+)\n(.*?)(?=^%files|^%changelog)", text, re.M | re.S
    ):
        lists[package] = []
        for line in body.splitlines():
            words = [w for w in line.split() if not w.startswith(("%doc", "%config", "%license"))]
            to = without.setdefault(package, []) if "%exclude" in words else lists[package]
            words = [w for w in words if w != "%exclude"]
            path = (
                re.sub(r"%\{(\w+)\}", lambda m: MACROS.get(m.group(1), m.group(0)), words[0])
                if words
                else ""
            )
            # Skip relative paths, which are in the source tree, and sources of a kernel module:
            # "make install" does not install these.
            if path.startswith("/") and "%dir" not in words and "/usr/src/" not in path:
                to.append(path)
    return {k: v for k, v in lists.items() if v}, without


def covered(what, files, lists, without):
    """Check that each of FILES is in exactly one of LISTS, {package: patterns}. WITHOUT has
    patterns of files that a package leaves out. Returns {file: package}."""
    owner = {}
    for package, patterns in lists.items():
        for pattern in patterns:
            left_out = without.get(package, ())
            found = [
                f
                for f in files
                if matches(f, pattern) and not any(fnmatch.fnmatchcase(f, x) for x in left_out)
            ]
            if not found:
                ok(False, f"{what}: {package} names existing files", pattern)
            for f in found:
                owner.setdefault(f, set()).add(package)
    ok(
        sorted(owner) == sorted(files),
        f"{what}: every file is in a package",
        *sorted(files - set(owner)),
    )
    twice = {f: p for f, p in owner.items() if len(p) > 1}
    ok(not twice, f"{what}: no file is in two packages", twice)
    return {f: min(p) for f, p in owner.items()}


def test_versions():
    version = re.search(r"AC_INIT\(\[nodeos\], \[([^\]]*)\]", read(SOURCE, "configure.ac")).group(1)
    ok(
        f"nodeos ({version}-1)" in read(PACKAGING, "debian/changelog").splitlines()[0],
        "debian/changelog has the version of configure.ac",
    )
    ok(
        f'PACKAGE_VERSION="{version}"' in read(SOURCE, "dimmap/dkms.conf"),
        "dkms.conf has the version of configure.ac",
    )


def test_module():
    """Check that dimmap-dkms has all files that Kbuild and the module's #include lines name."""
    have = {os.path.basename(f) for f in glob.glob(os.path.join(SOURCE, "dimmap/module/*"))} | {
        "dimmap_ioctl.h"
    }
    for text in (read(PACKAGING, "debian/rules"), read(PACKAGING, "nodeos.spec.in")):
        have_here = have | set(re.findall(r"dimmap/policy/(\S+)", text))
        named = set()
        for f in glob.glob(os.path.join(SOURCE, "dimmap/module/*")):
            named |= {os.path.basename(n) for n in re.findall(r'#include "([^"]*)"', read(f))}
        named |= {
            n + ".c" for n in re.findall(r"\b([a-z]+)\.o\b", read(SOURCE, "dimmap/module/Kbuild"))
        } - {"dimmapfs.c"}
        ok(
            named and named <= have_here,
            "dimmap-dkms has all sources of the module",
            sorted(named - have_here),
        )


def test_units():
    """Check that a removal of the packages stops each unit. debhelper stops only units without
    --no-start."""
    rules = read(PACKAGING, "debian/rules").replace("\\\n", " ")
    prerm = read(PACKAGING, "debian/nodeos-tools.prerm").replace("\\\n", " ")
    stopped = set(" ".join(re.findall(r"deb-systemd-invoke stop (.*?)>", prerm)).split())
    left = set()
    for line in re.findall(r"^\s*dh_installsystemd (.*)$", rules, re.M):
        words = line.split()
        units = {w for w in words if re.match(r"nodeos[a-z-]*\.(service|timer|socket)$", w)}
        if "--no-start" in words or "--no-stop-on-upgrade" in words:
            left |= units
    # nothing to stop: this service runs one command that ends
    left.discard("nodeos-discover.service")
    ok(
        len(left) == 4 and left <= stopped,
        "a removal of nodeos-tools stops each unit that debhelper does not stop",
        sorted(left - stopped),
    )
    ok(
        re.search(
            r"^\s*dh_installsystemd -pnodeos-tools --no-enable nodeos-contend.service$", rules, re.M
        ),
        "an installation does not enable nodeos-contend, and an upgrade restarts it where it runs",
    )


files = installed()
ok(
    "/usr/lib/any/slurm/nodeos.so" in files and "/usr/bin/nodeosctl" in files,
    "make install installs the plugin and nodeosctl",
    sorted(files),
)
with open(os.path.join(BUILD, ".libs/nodeos.so"), "rb") as f:
    told = re.findall(rb"nodeos\.so was built for Slurm (0x[0-9a-f]+)\0", f.read())
headers = json.loads(
    subprocess.run(
        [os.path.join(BUILD, "nodeosctl"), "features", "--json"], capture_output=True, text=True
    ).stdout
)["slurm-headers"]
ok(
    [f"{int(n, 16) >> 16}.{int(n, 16) >> 8 & 255:02}" for n in told] == [headers],
    "the plugin has the Slurm version that nodeosctl features prints",
    told,
    headers,
)
by_deb = covered("deb", files, *debian())
by_rpm = {f: re.sub("-devel$", "-dev", p) for f, p in covered("rpm", files, *rpm()).items()}
ok(
    by_deb == by_rpm,
    "Debian packages and RPMs have the same files in the same packages",
    *[
        f"{f}: {by_deb.get(f)}, {by_rpm.get(f)}"
        for f in sorted(files)
        if by_deb.get(f) != by_rpm.get(f)
    ],
)
test_versions()
test_module()
test_units()
print(f"1..{number}")
sys.exit(failures > 0)
