# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for scripts that run jobs of user alice in a guest. This file is copied beside these
scripts."""

import json
import os
import subprocess
import sys

HOME = "/shared/home/alice"
DEVICE = "/dev/nullb0"


def read(path):
    """Return the text of a file, or "" if there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def alice(command, cwd=HOME, show=()):
    """Run a shell command as alice, and return its output. If the command fails, exit with its
    output and the last 2,000 characters of the files SHOW in CWD."""
    environ = {k: v for k, v in os.environ.items() if k.startswith("OMPI_MCA_")}
    environ |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "USER": "alice"}
    done = subprocess.run(
        ["setpriv", "--reuid=alice", "--regid=alice", "--init-groups", "bash", "-c", command],
        cwd=cwd,
        env=environ | {"LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        files = "".join(f"{name}:\n{read(f'{cwd}/{name}')[-2000:]}" for name in show)
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{files}")
    return done.stdout


def manifest(path, **apps):
    """Write a manifest with APPS ({name: {isolator: value}}). Return its path."""
    pods = [
        {"name": app, "app": {"isolators": [{"name": n, "value": v} for n, v in values.items()]}}
        for app, values in apps.items()
    ]
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"acKind": "PodManifest", "acVersion": "0.8.11", "apps": pods}, f)
    return path


def root(command):
    """Run a shell command, and return its output."""
    return subprocess.run(
        ["bash", "-c", command], check=True, capture_output=True, text=True
    ).stdout


def null_device(mib, latency):
    """Make a null_blk device with memory, which completes requests by a timer. No container is
    charged for its memory."""
    root("mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config")
    path = "/sys/kernel/config/nullb/nullb0"
    if not os.path.isdir(path):
        root(
            "rmmod null_blk 2>/dev/null || true; modprobe null_blk nr_devices=0 2>/dev/null ||"
            " true; mkdir " + path
        )
    for key, value in {
        "memory_backed": 1,
        "size": mib,
        "irqmode": 2,
        "completion_nsec": latency,
        "submit_queues": 4,
        "power": 1,
    }.items():
        root(f"echo {value} >{path}/{key}")
    root(f"udevadm settle; chown alice {DEVICE}")
