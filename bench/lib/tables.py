# SPDX-License-Identifier: GPL-2.0-or-later
"""The table writer: tables of cells as text, Markdown or JSON."""

import json
import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A cell: VALUE is for JSON, TEXT for people."""

    value: object
    text: str
    bold: bool = False


@dataclass
class Table:
    """A table. TITLE stands above the rows, and NOTES below them; a cell is a Cell, a number or
    text."""

    head: list
    rows: list
    title: str = ""
    notes: list = field(default_factory=list)


def short(value):
    """Format with about three digits: 0.14, 69.0, 1,197; a whole number keeps all its digits."""
    if isinstance(value, int):
        return f"{value:,}"
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 1000
        else (f"{value:,.0f}")
    )


def number(value, digits=0, sign="", after="", bold=False):
    """A cell with a number of DIGITS decimals; None gives an empty cell."""
    if value is None:
        return Cell(None, "")
    return Cell(value, f"{value:{sign},.{digits}f}{after}", bold)


def spread(values, digits=None, unit=1, after="", bold=False):
    """A cell with "MEDIAN (SMALLEST to LARGEST)" of VALUES in units of UNIT, or only the median if
    all are equal; without values, an empty cell. The numbers have DIGITS decimals, or as many as
    short() gives."""
    values = sorted(v / unit for v in values) if unit != 1 else sorted(values)
    if not values:
        return Cell(None, "")
    middle = statistics.median(values)
    if digits is None and isinstance(values[0], int):
        middle = round(middle)
    one, low, high = (
        short(v) if digits is None else f"{v:,.{digits}f}" for v in (middle, values[0], values[-1])
    )
    ends = "" if values[0] == values[-1] else f" ({low} to {high})"
    value = {"median": middle, "smallest": values[0], "largest": values[-1]}
    return Cell(value, f"{one}{after}{ends}", bold)


def cell_text(cell):
    if isinstance(cell, Cell):
        return cell.text
    if isinstance(cell, (int, float)):
        return short(cell)
    return "" if cell is None else str(cell)


def cell_value(cell):
    return cell.value if isinstance(cell, Cell) else cell


def markdown_cell(cell):
    text = cell_text(cell)
    return f"**{text}**" if text and isinstance(cell, Cell) and cell.bold else text


def paragraphs(table, body):
    """The title, the lines of BODY if the table has rows, and the notes, with empty lines between
    them."""
    parts = [table.title] if table.title else []
    parts += ["\n".join(body)] if table.rows else []
    return "\n\n".join(parts + list(table.notes))


def markdown(table):
    rows = [[markdown_cell(c) for c in row] for row in table.rows]
    lines = ["| " + " | ".join(row) + " |" for row in [table.head, *rows]]
    return paragraphs(table, [lines[0], "|" + "---|" * len(table.head), *lines[1:]])


def text(table):
    rows = [table.head, *([cell_text(c) for c in row] for row in table.rows)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(table.head))]
    rows.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows]
    return paragraphs(table, lines)


def data(table):
    """The table as data for JSON."""
    rows = [[cell_value(c) for c in row] for row in table.rows]
    return {"title": table.title, "head": table.head, "rows": rows, "notes": list(table.notes)}


def written(tables, form="markdown"):
    """All of TABLES in one format of FORMATS."""
    if form == "json":
        return json.dumps([data(t) for t in tables], indent=1, ensure_ascii=False)
    return "\n\n".join((markdown if form == "markdown" else text)(t) for t in tables)


FORMATS = ("markdown", "text", "json")
