#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test the plugin of sos with the built nodeosctl: a whole sos report of this plugin alone, the
masked secrets, and the message of nodeosctl support-bundle. Needs sos; the report needs root.
Prints TAP."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(os.path.dirname(__file__), "../..")
TOOL = os.path.abspath(os.path.join(os.environ.get("NODEOS_BUILD") or SOURCE, "nodeosctl"))
PYTHON = "/usr/bin/python3"  # sos is installed for the system's Python
# (a case, the text of a file or a log, the text with its secrets masked)
MASKED = (
    ("an ordinary line", "ClusterName=blue\n", "ClusterName=blue\n"),
    ("a password", "StoragePass=hunter2\nNext=1\n", "StoragePass=(masked)\nNext=1\n"),
    ("the form of scontrol", "StoragePass  = hunter2 x\nA = b", "StoragePass  = (masked)\nA = b"),
    ("AuthAltParameters", "AuthAltParameters=jwt_file=/x,y\n", "AuthAltParameters=(masked)\n"),
    ("another letter case", "authAltparameters = a\nB\n", "authAltparameters = (masked)\nB\n"),
    ("a key of a key", "P=SSL_KEY=/etc/k.pem,SSL_CA=/etc/ca\n", "P=SSL_KEY=(masked)\n"),
    ("a word before the name", "Nodes=n0 AuthToken=a State=UP\n", "Nodes=n0 AuthToken=(masked)\n"),
    ("a comment", "# StoragePass=old\n", "# StoragePass=(masked)\n"),
    ("quotes with a blank", 'StoragePass="one two"\n', "StoragePass=(masked)\n"),
    ("JSON", '{ "client_secret": "x",\n "a": 1 }\n', '{ "client_secret": (masked)\n "a": 1 }\n'),
    ("a line with continuation lines", "Key=one\\\ntwo\\\nthree\nA=1\n", "Key=(masked)\nA=1\n"),
    ("blanks after the \\", "Key=one\\ \t\ntwo\nA=1\n", "Key=(masked)\nA=1\n"),
    ("a continued line without a secret", "A=one\\\ntwo\n", "A=one\\\ntwo\n"),
    ("line ends of other systems", "Key=one\\\r\ntwo\r\nA=1\r\n", "Key=(masked)\nA=1\r\n"),
    ("no value", "StoragePass=\nKey\nkeys are here\n", "StoragePass=\nKey\nkeys are here\n"),
    ("an addition", "Pass += one\nKey-=two\na+b=c\n", "Pass += (masked)\nKey-=(masked)\na+b=c\n"),
    ("the word in a value", "Name=passage\nPath=/etc/key/x\n", "Name=passage\nPath=/etc/key/x\n"),
    ("a command line", "root=/dev/vda\nrd.luks.key=abc\n", "root=/dev/vda\nrd.luks.key=(masked)\n"),
    ("an address", "Host=https://me:pw@db:80/x more\n", "Host=https://(masked)@db:80/x more\n"),
    ("two addresses", "a://b:c@d e://f g://h@i\n", "a://(masked)@d e://f g://(masked)@i\n"),
    ("an @ after the host", "u=http://h/a@b\n", "u=http://h/a@b\n"),
    ("a password with @", "u=http://n:p@q@h/\n", "u=http://(masked)@h/\n"),
    ("an address of keys", "see keys://me:pw@h\n", "see keys://(masked)@h\n"),
    ("a log", "12:00 slurmd: token: abc\n", "12:00 slurmd: token: (masked)\n"),
    ("a web token", "SLURM_JWT=eyJhbGciOi.x.y\nmore\n", "SLURM_JWT=(masked)\nmore\n"),
    ("a header", "> Authorization: Bearer eyJhbGciOi\n", "> Authorization: (masked)\n"),
    ("an option", "db --password hunter2 --port 5\nx --pass-file=y\n",
     "db --password (masked)\nx --pass-file=(masked)\n"),
    ("an option without a value", "tool --passive --no-key -v\n--token\n",
     "tool --passive --no-key -v\n--token\n"),
)  # fmt: skip

count = failed = 0


def ok(good, what, *detail):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}", flush=True)
    for line in "\n".join(map(str, detail)).splitlines() if not good else ():
        print(f"#   {line}")


def done():
    print(f"1..{count}")
    sys.exit(failed != 0)


def run(argv, **kw):
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, **kw)


def wrapper():
    r = run([TOOL, "support-bundle", "--output=x.tar.gz"])
    ok(r.returncode == 1 and not r.stdout, "support-bundle gathers nothing, and prints that", r)
    ok("sos/nodeos.py" in r.stderr, "nodeosctl support-bundle names the plugin of sos", r.stderr)
    command = "sos report --batch --only-plugins nodeos"
    ok(
        command in r.stderr if shutil.which("sos") else "sos is not installed" in r.stderr,
        "support-bundle prints sos's command, or that sos is not installed",
        r.stderr,
    )
    r = run([TOOL, "support-bundle", "--help"])
    ok(
        r.returncode == 0 and "sos(1)" in r.stdout and not r.stderr,
        "the help of support-bundle names sos",
        r,
    )


def plugin(work):
    """Copy sos and the plugin, whose paths are changed to paths below WORK. Return the plugin's
    text."""
    found = run([PYTHON, "-c", "import sos; print(sos.__path__[0])"])
    if found.returncode:
        return None
    shutil.copytree(found.stdout.strip(), f"{work}/lib/sos")
    with open(f"{SOURCE}/contrib/sos/nodeos.py", encoding="utf-8") as f:
        text = f.read()
    for old, new in (
        ("/usr/bin/nodeosctl", TOOL),
        ("/etc/nodeos/nodeos.conf", f"{work}/nodeos.conf"),
        ("/etc/slurm/slurm.conf", f"{work}/slurm/slurm.conf"),
    ):
        ok(text.count(f'"{old}"') == 1, f"the plugin has {old} in one place")
        text = text.replace(old, new)
    with open(f"{work}/lib/sos/report/plugins/nodeos.py", "w", encoding="utf-8") as f:
        f.write(text)
    return text


def masks(text):
    part = text[text.index('MASK = "') : text.index("class NodeOS")]
    known = {}
    exec(part, known)  # without importing sos, which this Python may not have
    for what, given, want in MASKED:
        got = given
        for secret in known["SECRETS"]:
            got = re.sub(secret, r"\1" + known["MASK"], got)
        ok(
            got == want,
            f"the plugin masks only secrets in: {what}",
            f"got:  {got!r}",
            f"want: {want!r}",
        )


def report(work):
    """Make a report, and return its files and their contents."""
    os.makedirs(f"{work}/slurm")
    files = {
        "nodeos.conf": "debug = no\n",
        "elsewhere": "ClusterName=blue\nAccountingStoragePass=storage-hunter2\n",
        "slurm/gres.conf": "Name=gpu Count=1\n# Token=gres-hunter2\n",
    }
    for name, content in files.items():
        with open(f"{work}/{name}", "w", encoding="utf-8") as f:
            f.write(content)
    os.symlink(f"{work}/elsewhere", f"{work}/slurm/slurm.conf")
    r = run(
        [PYTHON, shutil.which("sos"), "report", "--batch", "--only-plugins", "nodeos"]
        + ["--tmp-dir", work],
        env={**os.environ, "PYTHONPATH": f"{work}/lib", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    archives = glob.glob(f"{work}/sosreport-*.tar.*z*")
    archives = [a for a in archives if not a.endswith((".md5", ".sha256"))]
    ok(r.returncode == 0 and len(archives) == 1, "sos report packs an archive", r.stdout, r.stderr)
    if len(archives) != 1:
        return {}
    with tarfile.open(archives[0]) as t:
        return {
            m.name.split("/", 1)[1]: t.extractfile(m).read().decode(errors="replace")
            for m in t
            if m.isfile()
        }


def contents(work):
    found = report(work)
    commands = {
        name.rsplit("nodeosctl_", 1)[1]: text
        for name, text in found.items()
        if name.startswith("sos_commands/nodeos/") and "nodeosctl_" in name
    }
    names = "features features_--site list report report_--json verify_--verbose"
    ok(
        sorted(commands) == names.split(),
        "the report has the commands of nodeosctl",
        sorted(commands),
    )
    for name in ("features", "list", "report_--json"):
        r = run([TOOL, *name.split("_")], env={**os.environ, "LC_ALL": "C"})
        # numbers may change between two calls, but their labels do not
        ok(
            re.sub(r"\d+", "N", commands.get(name, "")).split()
            == re.sub(r"\d+", "N", r.stdout + r.stderr).split(),
            f"the report has the output of nodeosctl {name}",
            commands.get(name),
            r,
        )
    ok(
        found.get(f"{work}/nodeos.conf"[1:]) == "debug = no\n",
        "the report has nodeos.conf",
        sorted(found),
    )
    ok(
        found.get(f"{work}/elsewhere"[1:]) == "ClusterName=blue\nAccountingStoragePass=(masked)\n",
        "the report has the target of the link slurm.conf, with its secrets masked",
        found.get(f"{work}/elsewhere"[1:]),
    )
    ok(
        found.get(f"{work}/slurm/gres.conf"[1:]) == "Name=gpu Count=1\n# Token=(masked)\n",
        "the report has gres.conf, with its secrets masked",
        found.get(f"{work}/slurm/gres.conf"[1:]),
    )
    ok(
        not [name for name, text in found.items() if "hunter2" in text],
        "no file of the report has a secret",
        [name for name, text in found.items() if "hunter2" in text],
    )


def main():
    if not os.access(TOOL, os.X_OK):
        print("1..0 # SKIP nodeosctl is not built")
        return
    wrapper()
    with tempfile.TemporaryDirectory(prefix="nodeos-sos.") as work:
        text = plugin(work) if shutil.which("sos") else None
        if text is None:
            ok(True, "the plugin # SKIP no sos (package sosreport)")
            done()
        masks(text)
        if os.geteuid() == 0:
            contents(work)
        else:
            ok(True, "a report # SKIP only root may run sos")
    done()


main()
