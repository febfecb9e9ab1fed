# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots as SVG, without any library. Equal numbers give equal files. panels() draws bars with their
spread: a panel for each measure, a row for each arm. lines() draws curves over a logarithmic axis.
paths() draws curves that begin at zero and end at different times."""

import math
from dataclasses import dataclass
from html import escape

FONT = "'DejaVu Sans', 'Helvetica Neue', Arial, sans-serif"
INK, SOFT, RULE, PAPER = "#1f2933", "#61707f", "#dde3e9", "#ffffff"
ACCENT, REST = "#0b7285", "#a9b7c4"
SERIES = ["#0b7285", "#e8890c", "#7048a8", "#8a97a3", "#c2255c"]


@dataclass
class Value:
    """The median, the smallest and the largest of several measurements."""

    middle: float
    low: float = None
    high: float = None


def of(values):
    """Return the Value of several measurements."""
    values = sorted(values)
    n = len(values)
    return Value((values[(n - 1) // 2] + values[n // 2]) / 2, values[0], values[-1])


def short(number):
    """Format a number for a plot."""
    if number == 0:
        return "0"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= limit:
            part = number / {"G": 1e9, "M": 1e6, "k": 1e3}[unit]
            return f"{part:.0f}{unit}" if part >= 100 else f"{part:.1f}{unit}".replace(".0", "")
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10 else f"{number:.2f}"


def wide(text, size):
    """Return the approximate width of a text in pixels, in DejaVu Sans. This is one of the widest
    fonts, so texts do not overlap in other fonts."""
    return (
        sum(0.36 if c in " .,:;'|!ilIjtf()[]" else 0.95 if c in "mwMW%@" else 0.64 for c in text)
        * size
    )


def wrapped(text, width, size):
    """Divide the text into lines of this width. Bold letters are a little wider."""
    out = [""]
    for word in text.split():
        if out[-1] and 1.08 * wide(f"{out[-1]} {word}", size) > width:
            out.append("")
        out[-1] = f"{out[-1]} {word}".strip()
    return out


class Canvas:
    def __init__(self, width, height, title, subtitle):
        self.width, self.height, self.title = width, height, title
        self.parts = []
        self.text(24, 34, title, 17, INK, weight="bold")
        self.text(24, 55, subtitle, 12, SOFT)

    def text(self, x, y, text, size, colour=INK, anchor="start", weight="normal"):
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"'
            f' text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
        )

    def line(self, x1, y1, x2, y2, colour=RULE, width=1.0, dash=""):
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
            f' stroke-width="{width}"{dash}/>'
        )

    def bar(self, x, y, width, height, colour):
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}"'
            f' rx="2" fill="{colour}"/>'
        )

    def dot(self, x, y, radius, colour):
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}" stroke="{PAPER}"'
            ' stroke-width="1.5"/>'
        )

    def shape(self, points, colour, opacity):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polygon points="{text}" fill="{colour}" fill-opacity="{opacity}"/>')

    def path(self, points, colour, width=2.2):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{width}"'
            ' stroke-linejoin="round" stroke-linecap="round"/>'
        )

    def done(self):
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
            f' viewBox="0 0 {self.width} {self.height}" font-family="{FONT}" role="img"'
            f' aria-label="{escape(self.title, quote=True)}">'
        )
        return "\n".join(
            [
                head,
                f'<rect width="{self.width}" height="{self.height}" fill="{PAPER}"/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )


def panels(title, subtitle, rows, measures, highlight=None, note="", width=980):
    """Draw bars: a row for each of ROWS, a panel for each of MEASURES. A measure is (name, unit,
    list with a Value for each row); None means not measured. Every panel has its own scale, which
    begins at zero. HIGHLIGHT has the index or indexes of the rows that the plot is about."""
    marked = {highlight} if isinstance(highlight, int) else set(highlight or ())
    label = 24 + 1.08 * max(wide(r, 12) for r in rows) + 14
    gap, step, top = 22, 30, 124
    each = (width - label - 24 - gap * (len(measures) - 1)) / len(measures)
    height = top + step * len(rows) + (46 if note else 22)
    c = Canvas(width, height, title, subtitle)
    for n, row in enumerate(rows):
        y = top + step * n
        if n:
            c.line(24, y - 3, width - 24, y - 3, RULE, 0.7)
        c.text(24, y + 16, row, 12, INK, weight="bold" if n in marked else "normal")
    for p, (name, unit, values) in enumerate(measures):
        x = label + p * (each + gap)
        for n, part in enumerate(reversed(wrapped(name, each, 12))):
            c.text(x, top - 25 - 15 * n, part, 12, INK, weight="bold")
        c.text(x, top - 10, unit, 10.5, SOFT)
        c.line(x, top - 3, x, top + step * len(rows) - 3, SOFT, 1)
        known = [v for v in values if v]
        top_value = max([v.high if v.high is not None else v.middle for v in known] + [0]) or 1
        room = max(each - max((wide(short(v.middle), 11) for v in known), default=0) - 12, 20)
        for n, v in enumerate(values):
            y = top + step * n
            if v is None:
                c.text(x + 6, y + 16, "not measured", 10.5, SOFT)
                continue
            end = x + room * v.middle / top_value
            c.bar(x, y + 4, end - x, 16, ACCENT if n in marked else REST)
            text_at = end
            if v.low is not None and v.high > v.low:
                a, b = x + room * v.low / top_value, x + room * v.high / top_value
                c.line(a, y + 12, b, y + 12, INK, 1.2)
                for at in (a, b):
                    c.line(at, y + 8, at, y + 16, INK, 1.2)
                text_at = max(end, b)
            c.text(
                text_at + 6,
                y + 16,
                short(v.middle),
                11,
                INK if v.middle else SOFT,
                weight="bold" if n in marked else "normal",
            )
    if note:
        c.text(24, height - 16, note, 10.5, SOFT)
    return c.done()


def ticks(low, high):
    """Return round numbers for an axis from LOW to HIGH."""
    raw = (high - low) / 5
    unit = 10 ** math.floor(math.log10(raw))
    step = next(s * unit for s in (1, 2, 2.5, 5, 10) if s * unit >= raw)
    at = math.ceil(low / step - 1e-9) * step
    found = []
    while at <= high + step * 1e-9:
        found.append(round(at, 10))
        at += step
    return found


def lines(
    title,
    subtitle,
    x_name,
    y_name,
    series,
    x_values,
    logarithmic=False,
    note="",
    width=980,
    height=460,
    low=None,
):
    """Draw SERIES, a list of (name, {x: Value}). The axis of x has powers of two. The axis of y
    begins at LOW, or is logarithmic if LOGARITHMIC. The name of a curve is at its end."""
    c = Canvas(width, height, title, subtitle)
    right = width - 36 - max(wide(name, 12) for name, _ in series)
    left, top, bottom = 76, 84, height - (74 if note else 54)
    every = [v for _, points in series for v in points.values()]
    smallest = min(v.low if v.low is not None else v.middle for v in every)
    largest = max(v.high if v.high is not None else v.middle for v in every)

    def x_of(x):
        first, last = math.log2(x_values[0]), math.log2(x_values[-1])
        return left + (right - left) * (math.log2(x) - first) / (last - first)

    if logarithmic:
        first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(largest))
        marks = [10**n for n in range(first, last + 1)]

        def y_of(y):
            return bottom - (bottom - top) * (math.log10(y) - first) / (last - first)

    else:
        marks = ticks(0 if low is None else low, largest * 1.04)
        begin, end = marks[0], max(largest * 1.04, marks[-1])

        def y_of(y):
            return bottom - (bottom - top) * (y - begin) / (end - begin)

    for mark in marks:
        c.line(left, y_of(mark), right, y_of(mark), RULE)
        c.text(left - 8, y_of(mark) + 4, short(mark), 11, SOFT, "end")
    for x in x_values:
        c.line(x_of(x), bottom, x_of(x), bottom + 5, SOFT)
        c.text(x_of(x), bottom + 19, short(x), 11, SOFT, "middle")
    c.text((left + right) / 2, bottom + 38, x_name, 11.5, SOFT, "middle")
    c.text(24, top - 10, y_name, 11.5, SOFT)
    ends = []
    for n, (name, points) in enumerate(series):
        colour = SERIES[n % len(SERIES)]
        xs = sorted(points)
        if any(points[x].low is not None for x in xs):
            upper = [
                (x_of(x), y_of(points[x].high if points[x].high is not None else points[x].middle))
                for x in xs
            ]
            lower = [
                (x_of(x), y_of(points[x].low if points[x].low is not None else points[x].middle))
                for x in xs
            ]
            c.shape(upper + lower[::-1], colour, 0.13)
        c.path([(x_of(x), y_of(points[x].middle)) for x in xs], colour)
        for x in xs:
            c.dot(x_of(x), y_of(points[x].middle), 3.6, colour)
        ends.append([x_of(xs[-1]), y_of(points[xs[-1]].middle), name, colour])
    for x in sorted({end[0] for end in ends}):
        # move the names of these curves apart, so that they do not overlap
        here = sorted(end for end in ends if end[0] == x)
        for a, b in zip(here, here[1:]):
            b[1] = max(b[1], a[1] + 16)
        over = max(here[-1][1] + 10 - bottom, 0)
        for _, y, name, colour in here:
            c.text(x + 10, y + 4 - over, name, 12, colour, weight="bold")
    if note:
        c.text(24, height - 14, note, 10.5, SOFT)
    return c.done()


def paths(title, subtitle, x_name, y_name, series, note="", width=980, height=440):
    """Draw SERIES, a list of (name, [curve...]). A curve is a list of (x, y) that begins at (0, 0).
    Axes begin at 0. The names are on the right, with the spread of the curves' ends."""
    c = Canvas(width, height, title, subtitle)
    names = [(name, of([curve[-1][0] for curve in curves])) for name, curves in series]
    texts = [
        (name, f"ends at {short(v.middle)} ({short(v.low)} to {short(v.high)})")
        for name, v in names
    ]
    right = width - 64 - max(1.08 * wide(text, 12) for pair in texts for text in pair)
    left, top, bottom = 64, 96, height - (74 if note else 54)
    points = [p for _, curves in series for curve in curves for p in curve]
    x_end, y_end = (max(p[n] for p in points) for n in (0, 1))

    def place(x, y):
        return left + (right - left) * x / x_end, bottom - (bottom - top) * y / y_end

    for mark in ticks(0, y_end):
        c.line(left, place(0, mark)[1], right, place(0, mark)[1], RULE)
        c.text(left - 8, place(0, mark)[1] + 4, short(mark), 11, SOFT, "end")
    for mark in ticks(0, x_end):
        c.line(place(mark, 0)[0], bottom, place(mark, 0)[0], bottom + 5, SOFT)
        c.text(place(mark, 0)[0], bottom + 19, short(mark), 11, SOFT, "middle")
    c.text((left + right) / 2, bottom + 38, x_name, 11.5, SOFT, "middle")
    c.text(24, top - 14, y_name, 11.5, SOFT)
    for n, ((name, curves), (_, ends)) in enumerate(zip(series, texts)):
        colour = SERIES[n % len(SERIES)]
        for curve in curves:
            c.path([place(x, y) for x, y in curve], colour, 1.4)
            c.dot(*place(*curve[-1]), 3.6, colour)
        y = top + 12 + 46 * n
        c.line(right + 24, y - 4, right + 40, y - 4, colour, 3)
        c.text(right + 48, y, name, 12, colour, weight="bold")
        c.text(right + 48, y + 17, ends, 11, SOFT)
    if note:
        c.text(24, height - 14, note, 10.5, SOFT)
    return c.done()
