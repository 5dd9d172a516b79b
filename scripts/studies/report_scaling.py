"""Section of a report about scaling: one curve a case over GPUs or cores, with the ideal, and its efficiency.

Efficiency is the rate over that of the curve's first point, over the ratio of the resources: with equal work (strong
scaling) the speed-up over the ideal one, with work in proportion (weak scaling) the first time over the time. Outside
studies a curve whose whole work is constant within 10 % is strong, one whose work a core or GPU is constant is weak.
"""
import dataclasses

from . import figures, page
from .album import Album
from .page import Details, Figures, Section, Table, Text, cell
from .report_data import RATE, TIME, Case, Group, Material, short
from .report_runs import MANY, by_group

RESOURCES = {
    "ranks", "threads", "gpus", "provenance.ranks", "provenance.threads", "device.gpus", "mesh.root", "config.mesh.root"
}
TOLERANCE = 0.1  # of the work


@dataclasses.dataclass
class Curve:
    label: str
    kind: str  # strong, weak, other
    resource: str  # GPUs or cores
    points: list[tuple[int, Case]]  # by resource

    def ideal(self, count: int) -> float:
        return self.points[0][1].median(RATE) * count / self.points[0][0]

    def efficiency(self, count: int, case: Case) -> float:
        return case.median(RATE) / self.ideal(count)


def scaling(material: Material, album: Album) -> Section | None:
    blocks = by_group(material, _scaling, album)
    if not blocks:
        return None
    lead = Text(
        "Strong: the same work on more cores or GPUs. Weak: work in proportion to them. Efficiency: cell updates a "
        "second a core or "
        "GPU over those of the first point of the curve. Dotted: ideal.")
    return Section("scaling", "Scaling", [lead, *blocks])


def curves(group: Group) -> list[Curve]:
    """Cases that differ in ranks, threads or GPUs alone (and in the root grid, which weak scaling stretches)."""
    if group.kind == "study" and not group.scaling:
        return []
    found: dict[tuple, list[Case]] = {}
    for case in group.measured():
        rest = tuple(f"{short(axis)} {value}" if axis != "config.run.name" else value
                     for axis, value in case.values.items() if axis not in RESOURCES)
        found.setdefault(rest, []).append(case)
    made = []
    named = [rest[0] for rest in found if rest and group.kind != "study"]
    if len(set(named)) == len(found):  # the name tells the rest
        found = {rest[:1]: cases for rest, cases in found.items()}
    for rest, cases in found.items():
        on_gpus = all(case.gpus for case in cases)
        points = sorted(((case.gpus if on_gpus else case.ranks * case.threads, case) for case in cases),
                        key=lambda point: point[0])
        counts = [count for count, _ in points]
        if len(set(counts)) < len(counts):
            points = _fastest(points)
        if len(points) > 1:
            made.append(
                Curve(", ".join(rest) or group.name, _kind(group, points), "GPUs" if on_gpus else "cores", points))
    return made


def _fastest(points: list[tuple[int, Case]]) -> list[tuple[int, Case]]:
    """Of several ways to use as many cores (ranks or threads) the fastest."""
    best: dict[int, Case] = {}
    for count, case in points:
        if count not in best or case.median(RATE) > best[count].median(RATE):
            best[count] = case
    return sorted(best.items())


def _kind(group: Group, points: list[tuple[int, Case]]) -> str:
    if group.scaling in ("weak", "strong"):
        return group.scaling
    work = [case.median("totals.cell_updates") or 0 for _, case in points]
    share = [w / count for w, (count, _) in zip(work, points)]
    for values, kind in ((work, "strong"), (share, "weak")):
        if max(values) <= (1 + TOLERANCE) * min(values):
            return kind
    return "other"


def _scaling(group: Group, album: Album) -> list:
    found = curves(group)
    if not found:
        return []
    made = []
    for kind in ("strong", "weak", "other"):
        for resource in ("GPUs", "cores"):
            some = [curve for curve in found if curve.kind == kind and curve.resource == resource]
            for k in range(0, len(some), figures.SERIES_MAX):
                made += _pair(group, some[k:k + figures.SERIES_MAX], kind, resource, album)
    titles = {"strong": "strong", "weak": "weak", "other": "work neither constant nor in proportion"}
    rows = [[
        curve.label, titles[curve.kind], f"{count} {curve.resource if count > 1 else curve.resource[:-1]}",
        str(case.ranks),
        str(case.threads),
        cell(case.median(TIME), page.seconds),
        cell(case.median(RATE)),
        cell(case.median(RATE) / curve.points[0][1].median(RATE), lambda v: f"{v:.2f}"),
        cell(curve.efficiency(count, case), page.percent)
    ] for curve in found for count, case in curve.points]
    table = Table("Scaling, point by point. Speed-up: cell updates a second over those of the curve's first point.",
                  [("curve", False), ("kind", False), ("on", False), ("ranks", True), ("threads", True), ("time", True),
                   ("cell updates/s", True), ("speed-up", True), ("efficiency", True)], rows)
    return [Figures(made), table if len(rows) <= MANY else Details(f"All {len(rows)} points in figures", [table])]


def _pair(group: Group, some: list[Curve], kind: str, resource: str, album: Album) -> list[page.Figure]:
    """Rate with the ideal, and efficiency."""
    header = ["curve", resource, "cell_updates_per_s", "ideal", "efficiency", "time_s"]
    data = [(curve.label, count, case.median(RATE), curve.ideal(count), curve.efficiency(count,
                                                                                         case), case.median(TIME))
            for curve in some for count, case in curve.points]
    words = {
        "strong": "Strong scaling", "weak": "Weak scaling",
        "other": "Scaling with work that grows less than in proportion"
    }[kind]
    last = [
        f"{curve.label} {page.percent(curve.efficiency(*curve.points[-1]), 0)} on {curve.points[-1][0]} {resource}"
        for curve in some
    ]
    rates = [
        figures.Series(curve.label, [n for n, _ in curve.points], [case.median(RATE) for _, case in curve.points],
                       [min(case.numbers(RATE))
                        for _, case in curve.points], [max(case.numbers(RATE)) for _, case in curve.points])
        for curve in some
    ]
    ideal = [
        figures.Series("ideal", [n for n, _ in curve.points], [curve.ideal(n) for n, _ in curve.points])
        for curve in some
    ]
    shares = [
        figures.Series(curve.label, [n for n, _ in curve.points],
                       [100 * curve.efficiency(n, case) for n, case in curve.points]) for curve in some
    ]
    every = sorted({n for curve in some for n, _ in curve.points})
    return [
        album.add(lambda: figures.lines(rates, resource, "cell updates/s", logx=True, logy=True, ideal=ideal),
                  f"{group.name} {kind} {resource}", f"{words}: cell updates a second over {resource}.",
                  f"Lines on logarithmic axes, each with its ideal. Efficiency at the end: {'; '.join(last)}.", header,
                  data),
        album.add(
            lambda: figures.lines(shares,
                                  resource,
                                  "efficiency (%)",
                                  logx=True,
                                  bottom=0,
                                  top=105,
                                  ideal=[figures.Series("ideal", every, [100] * len(every))]),
            f"{group.name} {kind} {resource} efficiency", f"{words}: efficiency over {resource}.",
            f"Lines. At the end: {'; '.join(last)}.", header, data)
    ]
