# SPDX-License-Identifier: GPL-2.0-or-later
"""Check JSON documents against nodeos-report.schema.json. The schema allows further members, for
documents of later versions; problems() allows only the members that the schema describes."""

import copy
import json

from jsonschema import Draft202012Validator


def load(path):
    schema = json.load(open(path))
    Draft202012Validator.check_schema(schema)
    return schema


def strict(schema):
    """Return SCHEMA with further members forbidden."""

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
        """Return the violations of the schema in DOCUMENT, a line each; empty: none."""
        return sorted(
            {
                f"/{'/'.join(str(p) for p in e.absolute_path)}: {e.message[:300]}"
                for e in self.validator.iter_errors(document)
            }
        )
