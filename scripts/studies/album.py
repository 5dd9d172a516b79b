"""Keeps the figures of a report: as inline SVG that follows the page's colours, and as files (CSV, SVG, PNG) beside the page.

Text, axes and lines are drawn in colours that stand for CSS variables; inline they are replaced by these, so that one
drawing serves light, dark and print. Files keep the colours, on white.
"""
import csv
import io
import os
import re
import warnings
from typing import Callable, Iterable, Sequence

import matplotlib
from matplotlib.figure import Figure

from . import page
from .figures import GRID, INK, LINES, STYLE


class Album:
    """Takes figures: gives each a number, writes its files into `folder` (None: no files), returns its block."""

    def __init__(self, folder: str | None, link: str = ""):
        self.folder = folder
        self.link = link
        self.names: list[str] = []

    def add(self, draw: Callable[[], Figure], name: str, caption: str, alt: str, header: Sequence[str],
            rows: Iterable[Sequence]) -> page.Figure:
        """`header` and `rows` are what the figure shows, for its CSV; `alt` says in words what one sees."""
        name = f"{len(self.names) + 1:02d}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')[:48]}"
        self.names.append(name)
        alt = page.clean(alt)
        with matplotlib.rc_context(STYLE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # glyphs that a font lacks: the browser's fonts draw the text anyway
            figure = draw()
            _fit(figure)
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
            if self.folder:
                self._write(figure, name, buffer.getvalue(), alt, header, rows)
        files = [f"{self.link}/{name}.{kind}" for kind in ("csv", "svg", "png")] if self.folder else []
        return page.Figure(name, caption, alt, _inline(buffer.getvalue(), f"f{len(self.names)}", alt), files)

    def _write(self, figure: Figure, name: str, svg: str, alt: str, header: Sequence[str], rows: Iterable[Sequence]):
        base = os.path.join(self.folder, name)
        with open(f"{base}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(map(page.clean, header))
            writer.writerows([[page.clean(cell) for cell in row] for row in rows])
        start = svg.index("<svg")
        body = svg.index(">", start) + 1
        with open(f"{base}.svg", "w", encoding="utf-8") as file:
            file.write(f"{svg[:body]}\n <title>{page.escape(alt)}</title>\n <rect width=\"100%\" height=\"100%\" "
                       f"fill=\"#ffffff\"/>{svg[body:]}")
        figure.savefig(f"{base}.png", dpi=150, facecolor="white", metadata={"Software": None, "Description": alt})


def _fit(figure: Figure, pad: float = 4.0) -> None:
    """Moves the sides of the axes so that all that belongs to them fills the figure up to a margin, in points."""
    axes, = figure.axes
    inside, outside = axes.get_window_extent(), axes.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.bbox.width, figure.bbox.height
    axes.set_position([(pad + inside.x0 - outside.x0) / width, (pad + inside.y0 - outside.y0) / height,
                       (width - 2 * pad - outside.width + inside.width) / width,
                       (height - 2 * pad - outside.height + inside.height) / height])


def _inline(svg: str, prefix: str, alt: str) -> str:
    """The SVG as part of a page: no declarations, ids of its own, colours of the page, a description, two decimals."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r"\n\s*", "\n", svg)
    svg = re.sub(
        r' id="(?:patch|text|line2d|axes|matplotlib\.axis|xtick|ytick|figure|legend|LineCollection|QuadMesh)_\d+"', "",
        svg)
    svg = re.sub(r'( id="|href="#|url\(#)', lambda found: f"{found.group(1)}{prefix}-", svg)
    svg = re.sub(r' (d|x|y|transform|points)="([^"]*)"', lambda found: f' {found[1]}="{_rounded(found[2])}"', svg)
    svg = svg.replace("'DejaVu Sans'", "system-ui, sans-serif")
    for colour, name in [(INK, "currentColor"),
                         (GRID, "var(--grid)")] + [(c, f"var(--line{k})") for k, c in enumerate(LINES)]:
        svg = re.sub(rf"(fill|stroke): {colour}", rf"\1: {name}", svg, flags=re.I)
    box = re.search(r'viewBox="([^"]*)"', svg).group(1)
    width, height = (float(number) for number in box.split()[2:])
    body = svg[svg.index(">") + 1:]
    return (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{prefix}-desc" '
        f'style="aspect-ratio:{width:.0f}/{height:.0f}">'
        f'<desc id="{prefix}-desc">{page.escape(alt)}</desc>{body}')


def _rounded(text: str) -> str:
    return re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), text)
