"""The page of a report: blocks (text, tables, figures, folded parts), numbers as people read them, and the HTML of it.

The HTML is one file that loads nothing: styles, script and figures stand in it (templates/). All text is escaped;
whatever a record says is shown as text.
"""
import dataclasses
import functools
import html
import math
import os
import re
from typing import Any, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "<!-- amrbench report: this file may be replaced by another report -->"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
_PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]


def clean(value: Any) -> str:
    """As text without control characters, lone surrogates and marks that turn the direction of writing."""
    return "" if value is None else _CONTROLS.sub("\ufffd", str(value))


def escape(text: Any) -> str:
    return html.escape(clean(text))


def shorten(text: Any, most: int) -> str:
    """One line of at most `most` characters."""
    text = " ".join(clean(text).split())
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


# --- Numbers ---------------------------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 3) -> str:
    """Three digits that count, thousands as k, M, G, T; small values as they are."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(float(f"{value:.{digits}g}"))
    if size >= 1e15 or size < 1e-4:
        return f"{value:.{digits}g}"
    factor, prefix = next(((f, p) for f, p in _PREFIXES if size >= f), (1.0, ""))
    if size < 1e4 and float(value).is_integer():
        return f"{value:.0f}"
    scaled = value / factor
    places = max(0, digits - 1 - math.floor(math.log10(abs(float(f"{scaled:.{digits}g}")))))
    text = f"{scaled:.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + (f" {prefix}" if prefix else "")


def seconds(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= factor:
            digits = max(0, 2 - math.floor(math.log10(abs(value) / factor)))
            return f"{value / factor:.{digits}f} {unit}"
    return "0 s" if value == 0 else f"{value * 1e9:.3g} ns"


def percent(value: float | None, places: int = 1) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.{places}f} %"


def bytes_(value: float | None) -> str:
    text = number(value)
    return text if text == "–" else f"{text}B" if " " in text else f"{text} B"


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


# --- Blocks ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell of a table; `sort` is what its column is sorted by, `mood` good, bad or nothing."""

    text: str
    sort: float | str | None = None
    mood: str = ""


def cell(value: float | None, show=number) -> Cell:
    """A number, shown by `show`, sorted by its value; a dash for what is none."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return Cell(show(value), value) if known else Cell("–")


@dataclasses.dataclass(frozen=True)
class Table:
    """`columns`: (title, whether it holds numbers); rows of Cell or plain text."""

    caption: str
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Cell | str]]
    kind: str = "table"


def compact(table: Table) -> Table:
    """Without the columns in which no row has anything."""

    def empty(text: str) -> bool:
        return text in ("", "–")

    keep = [
        k for k in range(len(table.columns))
        if not all(empty(c.text if isinstance(c, Cell) else c) for c in (r[k] for r in table.rows))
    ]
    return dataclasses.replace(table,
                               columns=[table.columns[k] for k in keep],
                               rows=[[row[k] for k in keep] for row in table.rows])


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    caption: str
    alt: str
    svg: str
    files: Sequence[str]
    kind: str = "figure"


@dataclasses.dataclass(frozen=True)
class Text:
    text: str
    mood: str = ""
    kind: str = "text"


@dataclasses.dataclass(frozen=True)
class Output:
    """What a program printed, as it is."""

    text: str
    label: str
    kind: str = "output"


@dataclasses.dataclass(frozen=True)
class Facts:
    rows: Sequence[tuple[str, str]]
    kind: str = "facts"


@dataclasses.dataclass(frozen=True)
class Figures:
    """Figures beside each other where there is room."""

    figures: Sequence[Figure]
    kind: str = "figures"


@dataclasses.dataclass(frozen=True)
class Details:
    """Folded until somebody opens it."""

    summary: str
    blocks: Sequence[Any]
    kind: str = "details"


@dataclasses.dataclass(frozen=True)
class Part:
    """A heading below a section's, with what belongs to it."""

    title: str
    blocks: Sequence[Any]
    kind: str = "part"


@dataclasses.dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    blocks: Sequence[Any]


# --- The page --------------------------------------------------------------------------------------------------------


def _finish(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


@functools.cache
def _template() -> Any:
    import jinja2

    return jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")),
                              autoescape=True,
                              trim_blocks=True,
                              lstrip_blocks=True,
                              undefined=jinja2.StrictUndefined,
                              finalize=_finish).get_template("report.html")


def render(title: str, lead: Sequence[Any], sections: Sequence[Section], files: str) -> str:
    """The whole HTML. `files`: name of the folder with the figures' files, or nothing."""
    return _template().render(title=title, lead=lead, sections=sections, files=files, mark=MARK)


def is_report(path: str) -> bool:
    """Whether a file is a report made here."""
    with open(path, "rb") as file:
        return MARK.encode() in file.read(1000)
