# SPDX-License-Identifier: GPL-2.0-or-later
"""A plugin of sos (sos report --only-plugins nodeos). It collects the data that are needed to
understand a problem of NodeOS on a node, but no environments and commands of jobs, and no scripts,
manifests and files of users."""

import re

from sos.report.plugins import DebianPlugin, Plugin, RedHatPlugin, UbuntuPlugin

# make install replaces these paths by the configured ones
NODEOSCTL = "/usr/bin/nodeosctl"
NODEOS_CONF = "/etc/nodeos/nodeos.conf"
SLURM_CONF = "/etc/slurm/slurm.conf"

MASK = "(masked)"
NAME = r"[\w.-]*(?:pass|key|secret|token|jwt|authorization)[\w.-]*"
# the rest of a line, and its continuation lines
REST = r"(?=\S)(?:[^\n]*\\[ \t\r]*\n)*[^\n]*"
# Each match is replaced by its first group and MASK. Slurm's files may contain passwords and paths
# of keys; addresses may contain a user and a password.
SECRETS = (
    rf"(?i)((?<![\w.-])(?:{NAME}|AuthAltParameters)[\"']?[ \t]*(?:[+*/-]?=|:(?!//))[ \t]*){REST}",
    rf"(?i)((?<![\w.-])--{NAME}[ \t]+)(?![-=]){REST}",
    r"(://)[^\s/\"]+(?=@)",
)


class NodeOS(Plugin, RedHatPlugin, DebianPlugin, UbuntuPlugin):
    """NodeOS for Slurm"""

    short_desc = "NodeOS for Slurm: containers, configuration and logs of a node"
    plugin_name = "nodeos"
    profiles = ("system", "cluster")
    files = (NODEOSCTL,)

    def setup(self):
        shown = self.exec_cmd("scontrol show config").get("output") or ""
        found = re.search(r"^SLURM_CONF\s*=\s*(\S+)", shown, re.M)
        slurm = (found[1] if found else SLURM_CONF).rpartition("/")[0]
        # copy files before commands run: list, report and verify remove leftovers of ended jobs
        # from the ledger
        self.add_copy_spec(
            [
                NODEOS_CONF,
                "/run/nodeos",
                "/proc/cmdline",
                *(f"{slurm}/{name}.conf*" for name in ("slurm", "cgroup", "gres", "plugstack")),
            ]
        )
        commands = ["features", "features --site", "list", "verify --verbose", "report"]
        self.add_cmd_output([f"{NODEOSCTL} {c}" for c in (*commands, "report --json")])
        self.add_cmd_output(["scontrol show config", "scontrol show node"])
        self.add_journal(units=["slurmd*", "nodeos*"], since="-1h")

    def postproc(self):
        for secret in SECRETS:
            # mask all files: a link's target may be anywhere
            self.do_path_regex_sub("/", secret, r"\1" + MASK)
            for command in ("scontrol", "journalctl"):
                self.do_cmd_output_sub(command, secret, r"\1" + MASK)
