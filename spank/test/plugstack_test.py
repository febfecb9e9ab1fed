#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nodeos-plugstack, and the packages' scripts of removal, on sample files of Slurm below a root
directory of their own. TAP. NODEOS_SOURCE: the source tree; NODEOS_BUILD: the build tree."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("NODEOS_SOURCE") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", ".."
)
BUILD = os.environ.get("NODEOS_BUILD") or SOURCE
TOOL = os.path.abspath(os.path.join(BUILD, "spank/nodeos-plugstack"))
DEBIAN = os.path.join(SOURCE, "contrib/packaging/debian")
TOP, OWN = "etc/slurm/plugstack.conf", "etc/slurm/plugstack.conf.d/nodeos.conf"
INCLUDE = "include /etc/slurm/plugstack.conf.d/*.conf\n"
MARK = "# disabled by nodeos-plugstack: "

number = failures = 0


def ok(good, what, *detail):
    global number, failures
    number += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    for line in detail if not good else ():
        print(f"#   {line}")


def same(got, want, what):
    ok(got == want, what, f"got:  {got!r}", f"want: {want!r}")


class Root:
    """A root directory for sample files, with the plugin where nodeos-plugstack expects it."""

    def __init__(self, plugin=True):
        self.dir = tempfile.mkdtemp(prefix="nodeos plugstack.")
        with open(TOOL, encoding="utf-8") as f:
            self.plugin = re.search(r"^PLUGIN=(.*)$", f.read(), re.M).group(1)
        if plugin:
            self.write(self.plugin, "")
        os.makedirs(self.path("etc/slurm/plugstack.conf.d"))

    def path(self, name):
        return os.path.join(self.dir, name.lstrip("/"))

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def tool(self, command, **env):
        return subprocess.run(
            [TOOL, "--root", self.dir, command],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"]} | env,
        )

    def script(self, name, *arguments):
        """A maintainer script, as dpkg --root runs it."""
        os.makedirs(self.path("usr/sbin"), exist_ok=True)
        shutil.copy(TOOL, self.path("usr/sbin/nodeos-plugstack"))
        return subprocess.run(
            ["sh", os.path.join(DEBIAN, f"slurm-nodeos-plugin.{name}"), *arguments],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "DPKG_ROOT": self.dir},
        )

    def active(self):
        return self.tool("status").returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)


def test_enable():
    with Root() as r:
        r.write(TOP, INCLUDE)
        same(r.tool("status").returncode, 1, "status: exits 1 without a line")
        p = r.tool("enable")
        same(
            (p.returncode, r.read(OWN), r.read(TOP)),
            (0, "required nodeos.so\n", INCLUDE),
            "enable writes an included file",
        )
        same(r.tool("status").stdout, f"/{OWN}:1: required nodeos.so\n", "status shows the line")
        p = r.tool("enable")
        same(
            (p.returncode, r.read(OWN)), (0, "required nodeos.so\n"), "enable again changes nothing"
        )
    with Root() as r:
        r.write(TOP, "# none\noptional other.so x")
        same(
            (r.tool("enable").returncode, r.read(OWN), r.read(TOP)),
            (0, None, "# none\noptional other.so x\nrequired nodeos.so\n"),
            "enable writes to plugstack.conf if nothing includes the directory",
        )
    with Root() as r:
        same(
            (r.tool("enable").returncode, r.read(TOP)),
            (0, "required nodeos.so\n"),
            "enable makes a missing plugstack.conf",
        )
        same(
            stat.S_IMODE(os.stat(r.path(TOP)).st_mode),
            0o644,
            "a new plugstack.conf is readable by all users",
        )
    with Root(plugin=False) as r:
        r.write(TOP, INCLUDE)
        p = r.tool("enable")
        same((p.returncode, r.active()), (1, False), "enable is refused without the plugin")
        r.write(OWN, "required nodeos.so\n")
        p = r.tool("status")
        same(
            (
                p.returncode,
                p.stdout,
                "is missing" in p.stderr and "nodeos-plugstack disable" in p.stderr,
            ),
            (0, f"/{OWN}:1: required nodeos.so\n", True),
            "status reports a line that loads a missing plugin",
        )
    with Root() as r:
        r.write(TOP, INCLUDE)
        os.makedirs(os.path.dirname(r.path(OWN)), exist_ok=True)
        os.symlink("/nowhere/nodeos.conf", r.path(OWN))
        p = r.tool("enable")
        same(
            (p.returncode, p.stderr.splitlines()[-1]),
            (1, f"nodeos-plugstack: cannot write /{OWN}"),
            "enable names the file that it cannot write",
        )
    with Root() as r:
        p = r.tool("enabel")
        same(
            (p.returncode, p.stderr.splitlines()[0]),
            (2, 'nodeos-plugstack: "enabel": expected status, enable or disable'),
            "a wrong command is named, with the allowed ones",
        )
    with Root() as r:
        r.write("run/slurm/conf/plugstack.conf", "")
        same(
            (r.tool("enable").returncode, r.read(TOP)),
            (1, None),
            "enable fails on a node with files from slurmctld's host",
        )


def test_series():
    """nodeosctl and scontrol are stand-ins, and the plugin is missing, so that no line is added."""
    with Root() as r:
        with open(TOOL, encoding="utf-8") as f:
            r.write(
                "bin/tool", f.read().replace(f"PLUGIN={r.plugin}", f"PLUGIN='{r.path('nowhere')}'")
            )
        r.write(
            "bin/nodeosctl",
            "#!/bin/sh\necho 'plugin               /x/nodeos.so\nplugin-series        22.05'\n",
        )
        for version, refused in (
            ("slurm-wlm 24.11.5", True),
            ("slurm 22.05.8", False),
            ("slurm 22.5.8", True),
            ("", False),
        ):
            r.write("bin/scontrol", f"#!/bin/sh\necho '{version}'\n")
            for name in ("nodeosctl", "scontrol"):
                os.chmod(r.path(f"bin/{name}"), 0o755)
            p = subprocess.run(
                ["sh", r.path("bin/tool"), "enable"],
                capture_output=True,
                text=True,
                env={
                    "PATH": r.path("bin") + ":" + os.environ["PATH"],
                    "SLURM_CONF": r.path("etc/slurm/slurm.conf"),
                },
            )
            same(
                (p.returncode, "was built for Slurm 22.05, and this is" in p.stderr, r.read(TOP)),
                (1, refused, None),
                f'a plugin for 22.05 beside "{version}" is {"refused" if refused else "accepted"}',
            )


LINES = """# required nodeos.so
required nodeos.so conf=/etc/x
\trequired\tnodeos.so # ours
optional nodeos.so
required nodeos.soo
required other.so nodeos.so
#required nodeos.so
required /opt/other/nodeos.so
required /gone/nodeos.so
required {plugin} a
"""


def test_disable():
    with Root() as r:
        text = LINES.format(plugin=r.plugin)
        r.write("/opt/other/nodeos.so", "").write(TOP, text)
        os.chmod(r.path(TOP), 0o640)
        p = r.tool("disable")
        want = [
            MARK + line if i in (1, 2, 3, 8, 9) else line
            for i, line in enumerate(text.splitlines())
        ]
        same(
            (p.returncode, r.read(TOP).splitlines()),
            (0, want),
            "disable turns our lines into comments, and no others",
        )
        same(
            (stat.S_IMODE(os.stat(r.path(TOP)).st_mode), sorted(os.listdir(r.path("etc/slurm")))),
            (0o640, ["plugstack.conf", "plugstack.conf.d"]),
            "disable keeps the file's mode, and leaves nothing beside it",
        )
        same(r.active(), False, "disable leaves no line that loads the plugin")
    with Root() as r:
        r.write(TOP, INCLUDE).write(OWN, "required nodeos.so conf=/etc/y\n")
        r.tool("disable")
        same(
            (r.read(OWN), r.read(TOP)),
            (MARK + "required nodeos.so conf=/etc/y\n", INCLUDE),
            "disable edits an included file",
        )
        same(
            (r.tool("enable").returncode, r.read(OWN)),
            (0, "required nodeos.so conf=/etc/y\n"),
            "enable restores a disabled line with its arguments",
        )
    with Root() as r:
        r.write(TOP, "include more/[ab].conf\ninclude /etc/slurm/top.conf\n").write(
            "etc/slurm/more/a.conf", "include deep/*\n"
        )
        r.write("etc/slurm/more/deep/x y", "required nodeos.so\n").write(
            "etc/slurm/more/c.conf", "required nodeos.so\n"
        )
        r.write("etc/slurm/top.conf", "include top.conf\nrequired nodeos.so\n")
        r.tool("disable")
        same(
            (
                r.read("etc/slurm/more/deep/x y"),
                r.read("etc/slurm/more/c.conf"),
                r.read("etc/slurm/top.conf"),
            ),
            (
                MARK + "required nodeos.so\n",
                "required nodeos.so\n",
                "include top.conf\n" + MARK + "required nodeos.so\n",
            ),
            "disable follows nested relative patterns, and a file that includes itself",
        )
    with Root() as r:
        r.write(
            "etc/slurm/slurm.conf", "ClusterName=x\n plugstackconfig = /etc/spank/stack # here\n"
        ).write("etc/spank/stack", "required nodeos.so\n")
        r.tool("disable")
        same(
            r.read("etc/spank/stack"),
            MARK + "required nodeos.so\n",
            "disable follows PlugStackConfig of slurm.conf",
        )
    for text in (
        "ClusterName=x PlugStackConfig=/etc/spank/stack\n",
        "Include more.conf\n",
        "include /etc/slurm/more.conf # there\n",
    ):
        with Root() as r:
            r.write("etc/slurm/slurm.conf", text).write(
                "etc/slurm/more.conf", "include more.conf\nPLUGSTACKCONFIG=/etc/spank/stack\n"
            )
            r.write("etc/spank/stack", "required nodeos.so\n")
            r.tool("disable")
            same(
                r.read("etc/spank/stack"),
                MARK + "required nodeos.so\n",
                f"disable follows {text.strip()!r}",
            )
    with Root() as r:
        r.write("/opt/etc/plugstack.conf", "required nodeos.so")
        same(
            (
                r.tool("disable", SLURM_CONF="/opt/etc/slurm.conf").returncode,
                r.read("/opt/etc/plugstack.conf"),
            ),
            (0, MARK + "required nodeos.so"),
            "disable edits plugstack.conf beside $SLURM_CONF",
        )
    with Root() as r:
        other = "required /opt/slurm/lib/other_nodeos.so\n"
        r.write(TOP, other + "  optional\t/opt/slurm/lib/nodeos.so conf=/x\n")
        r.script("postrm", "remove")
        same(
            r.read(TOP),
            other + MARK + "  optional\t/opt/slurm/lib/nodeos.so conf=/x\n",
            "postrm disables our line with a path, and no other plugin's",
        )
    with Root() as r:
        r.write("/opt/slurm/lib/nodeos.so", "").write(
            TOP,
            "required /opt/slurm/lib/nodeos.so\nrequired nodeos.so\nrequired /gone/nodeos.so x\n",
        )
        r.script("postrm", "remove")
        same(
            r.read(TOP),
            "required /opt/slurm/lib/nodeos.so\n"
            + MARK
            + "required nodeos.so\n"
            + MARK
            + "required /gone/nodeos.so x\n",
            "postrm keeps the line of the site's own plugin, which exists",
        )
    with Root() as r:
        r.write("etc/real.conf", "required nodeos.so\n")
        os.symlink("../real.conf", r.path(TOP))
        r.tool("disable")
        same(
            (os.path.islink(r.path(TOP)), r.read("etc/real.conf")),
            (True, MARK + "required nodeos.so\n"),
            "disable keeps a symbolic link",
        )
    with Root() as r:
        same(r.tool("disable").returncode, 0, "disable succeeds if no file has the line")
    with Root() as r:
        r.write("run/slurm/conf/plugstack.conf", "required nodeos.so\n")
        p = r.tool("disable")
        ok(
            p.returncode == 1
            and "scontrol reconfigure" in p.stderr
            and r.read("run/slurm/conf/plugstack.conf") == "required nodeos.so\n",
            "disable fails for a file from slurmctld's host, and leaves it",
            p.stdout,
            p.stderr,
        )


def test_maintainer_scripts():
    with Root() as r:
        r.write(TOP, INCLUDE).write(OWN, "required nodeos.so\n")
        for how in ("upgrade", "failed-upgrade", "deconfigure"):
            r.script("prerm", how, "2.0")
        same(r.read(OWN), "required nodeos.so\n", "prerm keeps the line in an upgrade")
        same(
            (r.script("prerm", "remove").returncode, r.active()),
            (0, False),
            "prerm remove disables the line",
        )
        r.script("postrm", "remove")
        same(r.read(OWN), MARK + "required nodeos.so\n", "postrm remove keeps a disabled line")
        r.script("postrm", "purge")
        same(
            (r.read(OWN), r.read(TOP)),
            (None, INCLUDE),
            "postrm purge removes the file of nodeos-plugstack only",
        )
    with Root() as r:
        r.write(TOP, INCLUDE).write(OWN, "# the site's words\n" + MARK + "required nodeos.so\n")
        r.script("postrm", "purge")
        ok(r.read(OWN), "postrm purge keeps a file of nodeos-plugstack that the site has edited")
    with Root() as r:
        r.write(TOP, "required nodeos.so\n")
        r.script("postrm", "upgrade", "2.0")
        same(r.read(TOP), "required nodeos.so\n", "postrm keeps the line in an upgrade")
        r.script("postrm", "remove")
        same(
            (r.read(TOP), r.active()),
            (MARK + "required nodeos.so\n", False),
            "postrm disables the line if prerm did not run",
        )
    with Root() as r:
        r.write("etc/real.conf", "required nodeos.so\n")
        os.symlink("../real.conf", r.path(TOP))
        r.script("postrm", "remove")
        same(
            (os.path.islink(r.path(TOP)), r.read("etc/real.conf")),
            (True, MARK + "required nodeos.so\n"),
            "postrm keeps a symbolic link",
        )
    with Root() as r:
        r.write("run/slurm/conf/plugstack.conf", "required nodeos.so\n")
        ok(
            r.script("prerm", "remove").returncode != 0,
            "prerm refuses the removal if a plugstack.conf of slurmctld loads the plugin",
        )


def test_usage():
    p = subprocess.run([TOOL, "--root"], capture_output=True, text=True)
    ok(
        p.returncode == 2 and "--root needs a DIR" in p.stderr,
        "--root without a value is wrong usage with a message of its own",
        p.stderr,
    )


for test in (test_usage, test_enable, test_series, test_disable, test_maintainer_scripts):
    test()
print(f"1..{number}")
sys.exit(failures > 0)
