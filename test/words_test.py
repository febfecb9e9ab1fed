#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Nothing is decided by the words of a message or of a request: no comparison or search looks into
the text of an errbuf, or into a request's. Codes (base/errbuf.h) and parsed requests
(manifest/request.h) are there for that. TAP."""

import glob
import re

from rooms import INSTALLED, SOURCE

SEARCH = r"\b(?:str(?:case)?str|strn?(?:case)?cmp|strspn|strcspn|memmem|fnmatch|sscanf)"
# the text of an error, by the names that errors have here; a request's text
MESSAGE = r"(?:\w+(?:->|\.))*(?:err|why|bad|ignored|reason|more|note|warning)(?:->|\.)text"
REQUEST = (
    r"(?:\w+(?:->|\.|\[\w+\]\.?))*(?:job_request|step_request|request_text|request)\b(?!->|\.)"
)
FOUND = re.compile(rf"{SEARCH}\(\s*(?:{MESSAGE}|{REQUEST})\s*,[^;]*")
# Is a text equal to another whole one: no word of it is looked at.
WHOLE = re.compile(rf"strcmp\(\s*{REQUEST}\s*,\s*{REQUEST}\s*\)")

count = failed = 0


def ok(good, what, detail=()):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    for line in detail:
        print(f"# {line}")


def searches(code):
    """Places in C code where words decide: [(line, text)...]."""
    return [
        (code.count("\n", 0, m.start()) + 1, re.sub(r"\s+", " ", m[0])[:80])
        for m in FOUND.finditer(code)
        if not WHOLE.match(m[0])
    ]


def main():
    planted = (
        'if (strstr(err->text, " thread"))',
        'if (strncmp(err.text, "container ", 10) == 0)',
        'job->request && strstr(job->request, " partition=")',
        'strstr(job->step[i].request, " dimmap=")',
        "if (strcasestr(v->o.why.text,\n\t\tword))",
    )
    for text in planted:
        ok(len(searches(text)) == 1, f"found where it is planted: {text!r}")
    for text in ("strcmp(s->in.job_request, job->request) != 0", 'strstr(line, " anon=")'):
        ok(not searches(text), f"not taken for one: {text!r}")
    for room in INSTALLED:
        found = []
        for file in sorted(glob.glob(f"{SOURCE}/{room}/*.c")):
            with open(file, encoding="utf-8") as f:
                name = file[len(SOURCE) + 1 :]
                found += [f"{name}:{line}: {text}" for line, text in searches(f.read())]
        ok(not found, f"{room}: no words of messages or requests decide anything", found)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
