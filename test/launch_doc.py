#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write doc/launch-paths.md from the results of test/guest/launch.py: launch_doc.py DIRECTORY FILE.
A series without new results keeps its cells of the present FILE."""

import glob
import json
import re
import sys

HEAD = """# Launch paths

`test/run` writes this page from the verdicts of `test/guest/launch.py`, \
which compares every rank of every path with the
kernel's state. A path passes when all its ranks agree; "-" is a path that was not run with this \
series.

"""


def read_table(path):
    """Return the verdicts of the table in the file PATH: {series: {launch path: verdict}}."""
    try:
        with open(path) as f:
            rows = [
                re.split(r" *\| *", line.strip().strip("|").strip())
                for line in f
                if line.startswith("|")
            ]
    except OSError:
        return {}
    if len(rows) < 3:
        return {}
    series = [name.replace("Slurm ", "") for name in rows[0][1:]]
    return {
        s: {row[0]: row[i + 1] for row in rows[2:] if row[i + 1] != "-"}
        for i, s in enumerate(series)
    }


def main():
    where, path = sys.argv[1:3]
    table = read_table(path)
    files = glob.glob(f"{where}/launch-paths.*.json")
    for name in files:
        with open(name) as f:
            result = json.load(f)
        table[result["series"]] = result["paths"]
    names = list(dict.fromkeys(p for s in table.values() for p in s))
    series = sorted(table, key=lambda s: [int(n) for n in re.findall(r"\d+", s)])
    with open(path, "w") as f:
        f.write(HEAD)
        f.write("| path | " + " | ".join(f"Slurm {s}" for s in series) + " |\n")
        f.write("|---|" + "---|" * len(series) + "\n")
        for p in names:
            f.write(f"| {p} | " + " | ".join(table[s].get(p, "-") for s in series) + " |\n")
    failed = [f"{p} ({s})" for s in series for p in names if table[s].get(p) == "failed"]
    print(
        f"{path}: {len(names)} paths, {len(series)} series, failed: {', '.join(failed) or 'none'}"
    )
    sys.exit(1 if failed or not files else 0)


main()
