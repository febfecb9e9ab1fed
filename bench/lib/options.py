# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of experiments: the kinds of values, the options that all experiments have, and the
parser."""

import argparse
import re
from typing import Any, Callable, NamedTuple

from bench.lib.tables import FORMATS


class Option(NamedTuple):
    """An option --NAME METAVAR. Its default is FULL, or QUICK with --quick. READ converts a text to
    the value; for a wrong text it raises ValueError with what is allowed. An option without METAVAR
    is a switch."""

    name: str
    metavar: str
    help: str
    full: Any = None
    quick: Any = None
    read: Callable = str


def whole(text):
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError("a whole number")
    return int(text)


def positive(text):
    if not re.fullmatch(r"0*[1-9][0-9]*", text):
        raise ValueError("a whole number above 0")
    return int(text)


def interval(text):
    """A-B"""
    found = re.fullmatch(r"([0-9]+)-([0-9]+)", text)
    if not found or int(found[1]) > int(found[2]):
        raise ValueError("FIRST-LAST")
    return text


def words(*allowed):
    """Return a reader of a list of words from ALLOWED, with "+" between them."""

    def read(text):
        found = text.split("+")
        if not set(found) <= set(allowed) or len(set(found)) < len(found):
            raise ValueError(f"words of {', '.join(allowed)} with + between them")
        return found

    return read


def one(*allowed):
    """One of ALLOWED."""

    def read(text):
        if text not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text

    return read


def directory_with(path):
    """Return a reader for the name of a directory that must contain the file PATH."""

    def read(text):
        try:
            with open(f"{text}/{path}"):
                return text
        except OSError as e:
            raise ValueError(f"a directory with {path}") from e

    return read


def argument(read):
    """Wrap READ for argparse, whose own message for a ValueError would be "invalid read value"."""

    def convert(text):
        try:
            return read(text)
        except ValueError as e:
            raise argparse.ArgumentTypeError(f"{text}: {e}") from e

    return convert


def shown(value):
    return "+".join(value) if isinstance(value, list) else str(value)


def help_of(option):
    if option.full is None:
        return option.help
    quick = "" if option.quick is None else f"; {shown(option.quick)} with --quick"
    return f"{option.help} (default {shown(option.full)}{quick})"


def filled(values, given):
    """Set the options that were not given to their QUICK or FULL values."""
    for option in given:
        if getattr(values, option.name) is None:
            quick = values.quick and option.quick is not None
            setattr(values, option.name, option.quick if quick else option.full)
    return values


def parsed(name, experiment, out, argv):
    """Parse ARGV for the module EXPERIMENT, which has OPTIONS."""
    minutes = experiment.MINUTES
    p = argparse.ArgumentParser(
        prog=f"bench/run {name}",
        description=experiment.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"About {minutes['full']} minutes on two processors with nothing else to do,"
        f" {minutes['quick']} with --quick.",
        allow_abbrev=False,
    )
    for option in experiment.OPTIONS:
        if option.metavar:
            kind = {"metavar": option.metavar, "type": argument(option.read)}
        else:
            kind = {"action": "store_true"}
        flag = "--" + option.name.replace("_", "-")
        p.add_argument(flag, help=help_of(option), **kind)
    p.add_argument(
        "--quick", action="store_true", help="small sizes, which only test the experiment"
    )
    p.add_argument(
        "--again",
        action="store_true",
        help="measure again, even if a result of the same inputs exists",
    )
    p.add_argument("--check", action="store_true", help="print the verdicts as TAP, too")
    p.add_argument("--format", choices=FORMATS, default="markdown", help="format of the tables")
    p.add_argument(
        "--out", metavar="DIR", default=out, help=f"directory for the results (default {out})"
    )
    p.add_argument(
        "--header",
        metavar="FILE",
        help="qemu-plugin.h of the installed QEMU, instead of the one in Debian's source package",
    )
    values = filled(p.parse_args(argv), experiment.OPTIONS)
    why = experiment.refused(values) if hasattr(experiment, "refused") else None
    if why:
        p.error(why)
    return values
