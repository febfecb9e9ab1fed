# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON documents against nodeos-report.schema.json. The schema lets documents of later
versions have more members; ours have none but those that it describes, which is what problems()
looks for."""

import copy
import json

from jsonschema import Draft202012Validator


def load(path):
    schema = json.load(open(path))
    Draft202012Validator.check_schema(schema)
    return schema


def strict(schema):
    """The same, without other members than those described."""

    def close(x):
        if isinstance(x, dict):
            if "properties" in x and x.get("type") == "object":
                x["additionalProperties"] = False
            for value in x.values():
                close(value)
        elif isinstance(x, list):
            for value in x:
                close(value)

    out = copy.deepcopy(schema)
    close(out["$defs"])
    return out


class Checker:
    def __init__(self, path):
        self.schema = load(path)
        self.validator = Draft202012Validator(strict(self.schema))

    def problems(self, document):
        """What is wrong with it, a line each; empty: nothing."""
        return sorted(
            {
                f"/{'/'.join(str(p) for p in e.absolute_path)}: {e.message[:300]}"
                for e in self.validator.iter_errors(document)
            }
        )
