#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that no decision depends on the words of a message or of a request: nothing compares or
searches the text of an errbuf or a request. Decisions should use codes (base/errbuf.h) and parsed
requests (manifest/request.h). Also check that no message goes to a log or a terminal unfiltered:
it may contain bytes from a user (base/printable.h). This test does not find a text that is copied
to another name first. TAP."""

import glob
import re

from rooms import INSTALLED, SOURCE

SEARCH = r"\b(?:str(?:case)?str|strn?(?:case)?cmp|strspn|strcspn|memmem|fnmatch|sscanf)"
RAW = r"\b(?:slurm_(?:error|info|verbose|debug\d?|spank_log)|f(?:printf|puts)\((?=[^;]*\bstderr\b))"
PATH = r"(?<![\w.>])(?:\w+(?:\[\w*\])?(?:->|\.))*"
REQUEST = rf"{PATH}(?:job_request|step_request|request_text|request)\b(?!->|\.|\[)"
# other arguments before the errbuf or request in a call, even with nested calls
BEFORE = r"(?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))*?"
# Comparisons of whole texts are allowed: they do not depend on single words.
WHOLE = re.compile(r'strcmp\([^"]*\)')
# declarations of errbufs, but not of functions, such as: struct errbuf *NAME(
DECLARED = re.compile(r"\bstruct errbuf\s+([^;()]+)(?![^;)]*\()")
NAME = re.compile(r"(?:const\s+)?\*?\s*(?:const\s+)?(\w+)(?:\[\w*\])?\s*(?:=.*)?", re.DOTALL)

count = failed = 0


def ok(good, what, detail=()):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {what}")
    for line in detail:
        print(f"# {line}")


def without_words(code):
    """Return the source without comments and with empty string literals; lines keep their
    numbers."""
    token = r'/\*.*?\*/|//[^\n]*|\'(?:\\.|[^\'\\])+\'|"(?:\\.|[^"\\])*"'

    def empty(m):
        return '""' if m[0][0] == '"' else m[0] if m[0][0] == "'" else "\n" * m[0].count("\n")

    return re.sub(token, empty, code, flags=re.DOTALL)


def names_of(code):
    """Return the names that errbufs have in C code."""
    names = set()
    for declared in DECLARED.findall(code):
        # stop at the first name that cannot be an errbuf: this name belongs to the next parameter
        for part in re.sub(r"\{[^}]*\}", "", declared).split(","):
            name = NAME.fullmatch(part.strip())
            if not name:
                break
            names.add(name[1])
    return names


def searches(code, names):
    """Return the places in C code where words decide, as [(line, text)...]."""
    code = without_words(code)
    message = rf"{PATH}(?:{'|'.join(sorted(names))})(?:\[\w*\])?(?:->|\.)text\b"
    found = re.compile(rf"{SEARCH}\({BEFORE}(?:{message}|{REQUEST})[^;]*")
    return [
        (code.count("\n", 0, m.start()) + 1, re.sub(r"\s+", " ", m[0])[:80])
        for m in found.finditer(code)
        if not WHOLE.match(first_call(m[0])) or re.search(message, first_call(m[0]))
    ]


def raw_messages(code, names):
    """Return the places in C code that print a message's text unfiltered, as [(line, text)...]."""
    code = without_words(code)
    message = rf"{PATH}(?:{'|'.join(sorted(names))})(?:\[\w*\])?(?:->|\.)text\b"
    return [
        (code.count("\n", 0, m.start()) + 1, re.sub(r"\s+", " ", m[0])[:80])
        for m in re.finditer(rf"{RAW}[^;]*;", code)
        if re.search(message, re.sub(rf"\bprintable\({BEFORE}{message}\)", "", m[0]))
    ]


def first_call(code):
    depth = 0
    for i, c in enumerate(code):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return code[: i + 1]
    return code


def planted(found, name):
    """Check that FOUND has exactly one place, the mistake that is made for this test."""
    ok(len(found) == 1, name, () if found else ["not seen"])


def self_test():
    names = names_of(
        "int f(const char *a, struct errbuf *err, int b);\n"
        "struct errbuf why = { 0 }, more = { 0 };\n"
        "static int g(const struct errbuf *from, char *c)\n{\n\tstruct errbuf bad[2];\n}\n"
        "struct errbuf *function(int d);\n"
    )
    want = {"err", "why", "more", "from", "bad"}
    ok(
        names == want,
        "the check finds names of errbufs",
        () if names == want else [f"got {sorted(names)}"],
    )
    for text in (
        'if (strstr(err->text, " thread"))',
        'if (strncmp(err.text, "container ", 10) == 0)',
        'if (strcmp("no memory", err->text) == 0)',
        "if (strcmp(word, more.text) == 0)",
        "if (strncmp(words[i], v->o.why.text, strlen(words[i])) == 0)",
        'if (strncasecmp(bad[0].text, "no", 2) == 0)',
        "if (strcasestr(v->o.why.text,\n\t\tword))",
        'job->request && strstr(job->request, " partition=")',
        'strstr(job->step[i].request, " dimmap=")',
        'strcmp(r.text, "") == 0 && strcasecmp(s->in.job_request, "x") == 0',
        'strcmp(request_text, "nodeos 1;") == 0',
    ):
        planted(searches(text, names), f"the check finds a decision by words: {text!r}")
    for text in (
        "strcmp(s->in.job_request, job->request) != 0",
        "strcmp(text, job_request) == 0",
        "strcmp(name, v->request->container[i].name) == 0",
        'strstr(line, " anon=")',
        'strstr(head, "\\nrequest ")',
        "/* strstr(err->text, word) */",
        'strcmp(word, "a") != 0 ? errprintf(err, "%s", why.text) : 0',
        'printf("%s: strstr(err.text, word)\\n", err.text)',
    ):
        found = searches(text, names)
        ok(not found, f"the check accepts: {text!r}", [f"found {t}" for _, t in found])
    for text in (
        'slurm_error("nodeos: %s", err.text);',
        'slurm_spank_log("%s",\n\terr->text);',
        'fprintf(stderr, "%s: %s\\n", printable(line, sizeof(line), name), why.text);',
        "fputs(err.text, stderr);",
    ):
        planted(raw_messages(text, names), f"the check finds unfiltered printing: {text!r}")
    for text in (
        'log_error("nodeos: %s", err.text);',
        'fprintf(stderr, "%s\\n", printable(line, sizeof(line), why.text));',
        'fprintf(f, "error %s\\n", err->text);',
        'slurm_error("nodeos: %m");\nerrprintf(err, "%s", why.text);',
    ):
        found = raw_messages(text, names)
        ok(not found, f"the check accepts as filtered: {text!r}", [f"found {t}" for _, t in found])


def main():
    code = {}
    self_test()
    for room in INSTALLED:
        for file in sorted(glob.glob(f"{SOURCE}/{room}/**/*.[ch]", recursive=True)):
            name = file[len(SOURCE) + 1 :]
            if not name.startswith(f"{room}/test/"):
                with open(file, encoding="utf-8") as f:
                    code[name] = f.read()
    names = set().union(*(names_of(without_words(text)) for text in code.values()))
    for room in INSTALLED:
        found = [
            f"{name}:{line}: {text}"
            for name in code
            if name.startswith(f"{room}/")
            for line, text in searches(code[name], names)
        ]
        ok(not found, f"{room}: no decision depends on words of messages or requests", found)
    found = [
        f"{name}:{line}: {text}" for name in code for line, text in raw_messages(code[name], names)
    ]
    ok(not found, "no message goes to a log or a terminal unfiltered", found)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
