"""Section of a report about water: what gauges saw, and pictures of the deepest water over the bed and of its coming.

From the files that a run of the shallow-water equations leaves beside its record: gauges.csv, and bed.asc,
largest_depth.asc and arrival_time.asc where it kept maps (docs/shallow-water.md).
"""
import csv
import dataclasses
import math
import pathlib

import matplotlib
import numpy
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from . import figures, page
from .album import Album
from .page import Figures, Part, Section, Text
from .report_data import Case, Group, Material
from .report_runs import guarded

CASES = 4  # that are shown
CELLS = 400  # a picture's longer side
THIN = 400  # points of a line
BYTES_MAX = 200 << 20  # of a raster


@dataclasses.dataclass
class Raster:
    """Rows from the north; NaN: no data. `box`: west, east, south, north, m."""

    cells: numpy.ndarray
    box: tuple[float, float, float, float]

    def thinned(self) -> numpy.ndarray:
        stride = -(-max(self.cells.shape) // CELLS)
        return self.cells[::stride, ::stride]


def floods(material: Material, album: Album) -> Section | None:
    """Of the first cases that have such files."""
    found = [(group, case, folder) for group in material.runs() for case in group.cases
             for folder in _folders(case)[:1]]
    parts = []
    for group, case, folder in found[:CASES]:
        blocks = guarded(material, folder, _flood, group, case, folder, album)
        if blocks:
            parts.append((case, blocks))
    if not parts:
        return None
    more = [Text(f"The first {len(parts)} of {len(found)} runs with such files.")] if len(found) > len(parts) else []
    if len(parts) == 1:
        return Section("water", "Water", more + parts[0][1])
    return Section("water", "Water", more + [Part(case.label, blocks) for case, blocks in parts])


def _folders(case: Case) -> list[pathlib.Path]:
    return [
        run.folder for run in case.runs
        if run.folder and ((run.folder / "gauges.csv").is_file() or (run.folder / "largest_depth.asc").is_file())
    ]


def _flood(group: Group, case: Case, folder: pathlib.Path, album: Album) -> list:
    name = case.label if len(group.cases) > 1 else group.name
    made = []
    if (folder / "largest_depth.asc").is_file():
        made += _maps(name, folder, album)
    if (folder / "gauges.csv").is_file():
        made += _gauges(name, folder / "gauges.csv", album)
    return [Figures(made)] if made else []


# --- Gauges ----------------------------------------------------------------------------------------------------------


def read_gauges(path: pathlib.Path) -> dict[str, list[tuple[float, float, float]]]:
    """By gauge: time [s], depth [m], speed [m/s]."""
    gauges: dict[str, list[tuple[float, float, float]]] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            speed = math.hypot(float(row["velocity_x_m_s"]), float(row["velocity_y_m_s"]))
            gauges.setdefault(row["gauge"], []).append((float(row["time_s"]), float(row["depth_m"]), speed))
    return gauges


def _gauges(name: str, path: pathlib.Path, album: Album) -> list:
    gauges = read_gauges(path)
    last = max((rows[-1][0] for rows in gauges.values()), default=0.0)
    if last <= 0.0:
        return []
    unit, size = ("h", 3600.0) if last > 7200 else ("min", 60.0) if last > 300 else ("s", 1.0)
    shown = dict(list(gauges.items())[:figures.SERIES_MAX])
    made = []
    for which, (what, axis) in enumerate((("depth", "depth (m)"), ("speed", "speed (m/s)")), start=1):
        series = []
        for gauge, rows in shown.items():
            thin = rows[::-(-len(rows) // THIN)]
            series.append(figures.Series(f"gauge {gauge}", [row[0] / size for row in thin], [row[which] for row in thin]))
        peaks = "; ".join(f"gauge {gauge} at most {max(row[which] for row in rows):.3g}" for gauge, rows in shown.items())
        made.append(
            album.add(lambda: figures.lines(series, f"time ({unit})", axis, bottom=0), f"{name} {what}s",
                      f"Water at the gauges: {what} over time." +
                      (f" The first {len(shown)} of {len(gauges)}." if len(gauges) > len(shown) else ""),
                      f"A line a gauge over time. {peaks} {'m' if which == 1 else 'm/s'}.",
                      ["gauge", "time_s", f"{what}_{'m' if which == 1 else 'm_s'}"],
                      [(gauge, row[0], row[which]) for gauge, rows in gauges.items() for row in rows]))
    return made


# --- Maps ------------------------------------------------------------------------------------------------------------


def read_raster(path: pathlib.Path) -> Raster:
    """An ESRI ASCII grid as amrbench writes it. ValueError for anything else."""
    if path.stat().st_size > BYTES_MAX:
        raise ValueError(f"{path.name} is larger than {BYTES_MAX >> 20} MiB")
    header: dict[str, float] = {}
    with open(path, encoding="ascii") as file:
        line = file.readline()
        while line and line.split()[:1] and line.split()[0][0].isalpha() and line.split()[0].lower() != "nan":
            key, value = line.split()
            header[key.lower()] = float(value)
            line = file.readline()
        cells = numpy.array((line + file.read()).split(), float)
    columns, rows = int(header["ncols"]), int(header["nrows"])
    cells = cells.reshape(rows, columns)
    cells[cells == header.get("nodata_value", -9999.0)] = numpy.nan
    west, south = header["xllcorner"], header["yllcorner"]
    dx, dy = header.get("cellsize", header.get("dx")), header.get("cellsize", header.get("dy"))
    return Raster(cells, (west, west + columns * dx, south, south + rows * dy))


def _classes(values: numpy.ndarray) -> list[float]:
    """Bounds of at most seven classes of round numbers that hold all values."""
    high = float(numpy.nanmax(values))
    step = next((unit * 10.0 ** power for power in range(-9, 12) for unit in (1, 2, 5)
                 if high / (unit * 10.0 ** power) <= 7), high)
    return [k * step for k in range(max(1, math.ceil(high / step - 1e-9)) + 1)]


def picture(raster: Raster, bed: Raster, unit: str, shades: str) -> Figure:
    """Classes of a raster over the bed, which is lit from the north-west."""
    west, east, south, north = raster.box
    aspect = (north - south) / (east - west)
    height = min(6.0, max(1.8, 0.8 * figures.WIDTH * aspect)) + 0.7
    figure, axes = figures.canvas(height)
    ground = bed.thinned()
    axes.imshow(_lit(ground), extent=bed.box, cmap="Greys_r", vmin=-0.6, vmax=1.2, interpolation="nearest")
    cells = raster.thinned()
    handles, labels = [], []
    if numpy.isfinite(cells).any():
        bounds = _classes(raster.cells)
        colours = matplotlib.colormaps.get_cmap(shades).resampled(len(bounds) - 1)
        axes.imshow(cells, extent=raster.box, cmap=colours, norm=BoundaryNorm(bounds, len(bounds) - 1),
                    interpolation="nearest", alpha=0.85)
        for k, (low, high) in enumerate(zip(bounds, bounds[1:])):
            handles.append(Patch(facecolor=colours(k), alpha=0.85))
            labels.append(f"{low:g} to {high:g} {unit}")
    axes.set(xlim=(west, east), ylim=(south, north), xlabel="x (m)", ylabel="y (m)")
    axes.set_aspect("equal")
    axes.grid(False)
    if handles:
        figures.legend(axes, handles, labels)
    return figure


def _lit(ground: numpy.ndarray) -> numpy.ndarray:
    """Shades of slopes, about 0.5 where it is flat."""
    filled = numpy.where(numpy.isfinite(ground), ground, numpy.nanmax(ground))
    if min(filled.shape) < 2:
        return numpy.full(filled.shape, 0.5)
    down, right = numpy.gradient(filled)
    steepest = float(numpy.max(numpy.hypot(down, right)))
    return 0.5 + 0.35 * (down + right) / steepest if steepest > 0 else numpy.full(filled.shape, 0.5)


def _maps(name: str, folder: pathlib.Path, album: Album) -> list:
    bed = read_raster(folder / "bed.asc")
    made = []
    for file, what, unit, shades, size in (("largest_depth.asc", "largest depth", "m", "cividis_r", 1.0),
                                           ("arrival_time.asc", "arrival time", "min", "cividis", 1 / 60)):
        if not (folder / file).is_file():
            continue
        raster = read_raster(folder / file)
        raster.cells *= size
        there = numpy.isfinite(raster.cells)
        share = float(there.mean())
        most = f"at most {float(numpy.nanmax(raster.cells)):.3g} {unit}" if there.any() else "none"
        cells = raster.thinned()
        sketch = cells[::max(1, -(-max(cells.shape) // 60)), ::max(1, -(-max(cells.shape) // 60))]
        made.append(
            album.add(lambda: picture(raster, bed, unit, shades), f"{name} {what}",
                      f"{what.capitalize()} of the water in each place, over the bed. North is up.",
                      f"A map. Water came to {page.percent(share)} of the domain; {what} {most}.",
                      ["row from the north", "column from the west", f"{what}, {unit}"],
                      [(row, column, float(value)) for (row, column), value in numpy.ndenumerate(sketch)
                       if math.isfinite(value)]))
    return made
