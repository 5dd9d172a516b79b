"""Charts of a report, drawn with matplotlib.

A figure is 4.5 inches wide, so that its text can still be read on a phone. Colours: Okabe and Ito, "Color Universal
Design", 2008; lines in darker shades of them on white; heat maps in cividis (Nunez, Anderton, Renslow, 2018). Series
differ by marks and dashes too, neighbours in a bar by hatches.
"""
import dataclasses
import logging
import math
from typing import Callable, Sequence

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of caches that it cannot write
import matplotlib  # noqa: E402

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator  # noqa: E402

from . import page  # noqa: E402

WIDTH = 4.5  # inches
INK, GRID = "#1a1b1c", "#cfd0d1"  # stand for currentColor and --grid
LINES = ["#0068a8", "#c44d00", "#007f5c", "#a84d86", "#8a6100", "#2b7fb8", "#5c5d5e"]  # stand for --line0 and so on
FILLS = {
    "blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "purple": "#CC79A7", "vermillion": "#D55E00",
    "sky": "#56B4E9", "yellow": "#F0E442", "grey": "#999999"
}
PHASES = {
    "stencil": ("blue", ""), "halo": ("orange", "//"), "refine": ("green", ""), "balance": ("purple", "xx"),
    "migrate": ("vermillion", ".."), "checksum": ("sky", ""), "output": ("yellow", "--"), "checkpoint": ("blue", "oo"),
    "other": ("grey", "\\\\")
}
GPU_PHASES = {
    "stencil": ("blue", ""), "faces": ("orange", "//"), "waiting": ("yellow", "--"), "between stages": ("green", ""),
    "other": ("grey", "\\\\")
}  # device.stencil_s, faces_s, wait_s, between_s
MARKS = "os^DvPX*"
DASHES = ["-", "--", "-.", ":"]
SERIES_MAX = 8
BESIDE = 24  # characters: labels up to this length stand beside their row, longer ones above it

SLANTED = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}  # labels that would run into each other

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.7,
    "hatch.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "svg.fonttype": "none",
    "svg.hashsalt": "amrbench",
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.unicode_minus": True,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}


@dataclasses.dataclass(frozen=True)
class Series:
    """A line: points in order of x; `low` and `high` a range around each, or nothing."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


# --- Pieces ----------------------------------------------------------------------------------------------------------


def canvas(height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), dpi=72)
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def legend(axes: Axes, handles: Sequence, labels: Sequence[str]) -> None:
    """Above the axes, in as many columns as fit."""
    labels = [page.shorten(label, 50) for label in labels]
    columns = max(1, min(len(labels), 52 // (max(map(len, labels)) + 5)))
    axes.legend(handles,
                labels,
                loc="lower left",
                bbox_to_anchor=(0, 1.0),
                ncol=columns,
                borderaxespad=0.3,
                handlelength=2.0,
                columnspacing=1.3)


def log_ticks(axis, values: Sequence[float], most: int = 7) -> None:
    """Ticks of a logarithmic axis: the values themselves when few and apart, else round numbers, as many as fit."""
    wanted = sorted(set(values))
    low, high = wanted[0], wanted[-1]
    apart = all(b / a > (high / low) ** (1 / 9) for a, b in zip(wanted, wanted[1:]))
    if len(wanted) > most or not apart or high == low or any(value != float(f"{value:.3g}") for value in wanted):
        decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
        for steps in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, )):
            wanted = [
                step * 10.0 ** k for k in decades for step in steps if low / 1.1 <= step * 10.0 ** k <= high * 1.1
            ]
            if len(wanted) <= most:
                break
        while len(wanted) > most + 2:
            wanted = wanted[::2]
    axis.set_major_locator(FixedLocator(wanted))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: page.number(value)))


def _plain_axis(axis) -> None:
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: page.number(value)))


def line_style(k: int) -> dict:
    return {
        "color": LINES[k % len(LINES)], "marker": MARKS[k % len(MARKS)], "linestyle": DASHES[(k // 2) % len(DASHES)],
        "markerfacecolor": LINES[k % len(LINES)] if k % 2 == 0 else "none", "markeredgewidth": 1.2
    }


# --- Charts ----------------------------------------------------------------------------------------------------------


def stacked_bars(rows: Sequence[tuple[str, dict[str, float]]], parts_: dict[str, tuple[str, str]]) -> Figure:
    """A bar a row, of shares that add up to 1, in colours and hatches of `parts_`; the label stands above its bar."""
    names = [name for name in parts_ if any(parts.get(name, 0) > 0 for _, parts in rows)]
    figure, axes = canvas(1.0 + 0.42 * len(rows))
    handles = {}
    for k, (label, parts) in enumerate(rows):
        left = 0.0
        for name in names:
            colour, hatch = parts_[name]
            width = 100 * parts.get(name, 0)
            handles[name] = axes.barh(k,
                                      width,
                                      0.46,
                                      left,
                                      color=FILLS[colour],
                                      hatch=hatch,
                                      edgecolor="#000000",
                                      linewidth=0.4)
            if width >= 9:
                inside = "#ffffff" if colour == "blue" else "#000000"
                plate = {"boxstyle": "round,pad=0.12", "facecolor": FILLS[colour], "edgecolor": "none"
                         } if hatch else None
                axes.text(left + width / 2,
                          k,
                          f"{width:.0f} %",
                          ha="center",
                          va="center_baseline",
                          fontsize=7.5,
                          color=inside,
                          bbox=plate)
            left += width
        axes.text(0, k - 0.29, page.shorten(label, 56), ha="left", va="bottom", fontsize=8.5)
    axes.set(xlim=(0, 100), ylim=(len(rows) - 0.6, -0.85), xlabel="share of the run's time (%)", yticks=[])
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    legend(axes, [handles[name] for name in names], names)
    return figure


def dots(labels: Sequence[str],
         series: Sequence[Series],
         xlabel: str,
         log: bool = False,
         ideal: float | None = None,
         ranges: bool = True) -> Figure:
    """A row a label with a mark for each series: x of a series are values, y the numbers of their rows."""
    beside = max(map(len, labels)) <= BESIDE
    figure, axes = canvas((1.0 + 0.23 * len(labels) if beside else 1.15 + 0.36 * len(labels)) + 0.18 *
                          (len(series) > 1))
    if log:
        axes.set_xscale("log")
    handles = []
    for k, one in enumerate(series):
        shift = 0.13 * (k - (len(series) - 1) / 2) if len(series) <= 5 else 0
        rows = [y + shift for y in one.y]
        style = line_style(k)
        if ranges and len(one.low):
            axes.hlines(rows, one.low, one.high, color=style["color"], linewidth=1.2, zorder=2)
        handles += axes.plot(one.x, rows, **{**style, "linestyle": "none"}, zorder=3)
    if beside:
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(axis="y", length=0)
    else:
        axes.set_yticks([])
        for k, label in enumerate(labels):
            axes.text(0.0,
                      k - 0.27,
                      page.shorten(label, 56),
                      ha="left",
                      va="bottom",
                      fontsize=8.5,
                      transform=axes.get_yaxis_transform())
    values = [x for one in series for x in (*one.x, *one.low, *one.high) if not log or x > 0]
    if log and max(values) < 4 * min(values) and ideal is None:
        axes.set_xscale("linear")
        log = False
    if log:
        axes.set_xlim(min(values) / 1.25, max(values) * 1.25)
        log_ticks(axes.xaxis, values)
    else:
        top = max(values) if values else 1
        axes.set_xlim(min(0, *values) if values else 0, top * 1.06 or 1)
        _plain_axis(axes.xaxis)
    if ideal is not None:
        axes.axvline(ideal, color=INK, linestyle=":", linewidth=1)
    axes.set(ylim=(len(labels) - 0.5, -0.5 if beside else -0.8), xlabel=xlabel)
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    axes.hlines(range(len(labels)), 0, 1, transform=axes.get_yaxis_transform(), color=GRID, linewidth=0.6, zorder=1)
    if len(series) > 1:
        legend(axes, handles, [one.name for one in series])
    return figure


def lines(series: Sequence[Series],
          xlabel: str,
          ylabel: str,
          logx: bool = False,
          logy: bool = False,
          ideal: Sequence[Series] = (),
          bottom: float | None = None,
          steps: bool = False,
          top: float | None = None,
          whole_x: bool = False) -> Figure:
    """Lines with marks; `ideal` ones dotted under the name of the first; `steps`: values hold until the next."""
    figure, axes = canvas(3.0 + 0.17 * max(0, len(series) - 2))
    handles, labels = [], []
    for k, one in enumerate(series[:SERIES_MAX]):
        style = line_style(k)
        if steps or len(one.x) > 40:
            style["marker"] = ""
        if steps and len(one.x) > 1:  # the last value holds as long as the one before it
            one = dataclasses.replace(one, x=[*one.x, 2 * one.x[-1] - one.x[-2]], y=[*one.y, one.y[-1]])
        handles += axes.plot(one.x, one.y, drawstyle="steps-post" if steps else "default", **style)
        labels.append(one.name)
        if len(one.low):
            axes.vlines(one.x, one.low, one.high, color=style["color"], linewidth=1)
    for k, one in enumerate(ideal):
        drawn = axes.plot(one.x, one.y, color=INK, linestyle=(0, (1, 2)), linewidth=1.1)
        if k == 0:
            handles += drawn
            labels.append(one.name)
    everything = [*series[:SERIES_MAX], *ideal]
    if logx:
        axes.set_xscale("log")
        log_ticks(axes.xaxis, [x for one in everything for x in one.x if x > 0])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=whole_x))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: page.number(value)))
    if logy:
        axes.set_yscale("log")
        log_ticks(axes.yaxis, [y for one in everything for y in one.y if y > 0])
    else:
        _plain_axis(axes.yaxis)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    if bottom is not None:
        axes.set_ylim(bottom=bottom)
    if top is not None and max((y for one in everything for y in one.y), default=0) < top:
        axes.set_ylim(top=top)
    if len(handles) > 1:
        legend(axes, handles, labels)
    return figure


def stacked_steps(x: Sequence[float], layers: dict[str, Sequence[float]], xlabel: str, ylabel: str) -> Figure:
    """Layers on top of each other that hold from one x to the next, the lowest first; cividis from dark to bright."""
    figure, axes = canvas(3.0 + 0.17 * (len(layers) > 5))
    shades = matplotlib.colormaps.get_cmap("cividis")
    last = x[-1] + (x[-1] - x[-2] if len(x) > 1 else 1)
    edges = [*x, last]
    below = [0.0] * len(edges)
    handles = []
    for k, values in enumerate(layers.values()):
        above = [low + value for low, value in zip(below, [*values, values[-1]])]
        handles.append(
            axes.fill_between(edges,
                              below,
                              above,
                              step="post",
                              facecolor=shades(0.08 + 0.87 * k / max(1,
                                                                     len(layers) - 1)),
                              edgecolor="#000000",
                              linewidth=0.3,
                              hatch=("", "//", "", "..")[k % 4]))
        below = above
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    _plain_axis(axes.yaxis)
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(x[0], last), ylim=(0, max(below) * 1.04 or 1))
    legend(axes, handles[::-1], list(layers)[::-1])
    return figure


def heat_map(columns: Sequence[str],
             rows: Sequence[str],
             values: Sequence[Sequence[float | None]],
             xlabel: str,
             ylabel: str,
             unit: str,
             show: Callable[[float], str],
             log: bool = False,
             reverse: bool = False,
             span: tuple[float, float] | None = None) -> Figure:
    """A cell a row and column with its value in it; what is missing stays empty. `reverse`: small values are bright;
    `span`: the values of the darkest and the brightest colour."""
    height = 1.3 + 0.36 * len(rows)
    figure, axes = canvas(height)
    known = [value for line in values for value in line if value is not None]
    scale = (lambda v: math.log(max(v, 1e-12))) if log else (lambda v: v)
    low, high = span or (min(map(scale, known)), max(map(scale, known)))
    shades = matplotlib.colormaps.get_cmap("cividis_r" if reverse else "cividis")
    size = 8.5 if len(columns) <= 8 else 7
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if value is None:
                axes.text(x + 0.5, y + 0.5, "–", ha="center", va="center", fontsize=size)
                continue
            red, green, blue, _ = colour = shades((scale(value) - low) / (high - low) if high > low else 0.6)
            axes.add_patch(Rectangle((x + 0.02, y + 0.03), 0.96, 0.94, facecolor=colour, linewidth=0))
            dark = 0.2126 * red ** 2.2 + 0.7152 * green ** 2.2 + 0.0722 * blue ** 2.2 > 0.18
            axes.text(x + 0.5,
                      y + 0.5,
                      show(value),
                      ha="center",
                      va="center_baseline",
                      fontsize=size,
                      color="#000000" if dark else "#ffffff")
    longest = max((len(str(text)) for text in columns), default=0)
    axes.set_xticks([k + 0.5 for k in range(len(columns))], [page.shorten(text, 22) for text in columns],
                    **(SLANTED if longest * len(columns) > 45 else {}))
    axes.set_yticks([k + 0.5 for k in range(len(rows))], [page.shorten(text, 28) for text in rows])
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0), xlabel=f"{xlabel}  (cells: {unit})", ylabel=ylabel)
    axes.grid(False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure
