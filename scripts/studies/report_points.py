"""Sections of a report about points: quality of partitions, ours beside published ones, and time of bisection."""
import statistics

from . import figures, page, records
from .album import Album
from .page import Cell, Details, Figures, Part, Section, Table, Text, cell
from .report_data import Material
from .report_records import folded, is_number, where
from .report_runs import FEW, guarded, ranking, row_series

# --- Partitions ------------------------------------------------------------------------------------------------------


def partitions(material: Material, album: Album) -> Section | None:
    found: dict[str, list[tuple[str, records.Record]]] = {}
    for label, record in material.others.get("partition", []):
        threads = page.plural(record.data["provenance"]["threads"], "thread")
        found.setdefault(f"{record.data['input']['name']}, {threads}", []).append((label, record))
    blocks: list = []
    for name, some in found.items():
        made = guarded(material, some[0][1].path, _partition, name, [{**row, "label": label, "record": where(record)}
                                                                     for label, record in some
                                                                     for row in record.data["rows"]], album)
        refused = [
            f"{one['method']} into {one['parts']} parts refused: {one['reason']}." for _, record in some
            for one in record.data.get("refused", [])
        ]
        made += [Text(" ".join(refused))] if refused else []
        blocks += [Part(name, made)] if made else []
    for _, record in material.others.get("partition_tables", []):
        made = guarded(material, record.path, _published, record.data["grids"], album)
        blocks += [Part(f"Beside {record.data['source']}", made)] if made else []
    if not blocks:
        return None
    lead = Text(
        "Largest edge cut: edges from one part to others, of the part with most. Load: heaviest part over the mean.")
    return Section("partitions", "Quality of partitions", [lead, *blocks])


MEASURES = {"edge_cut_max": "largest edge cut", "imbalance": "heaviest part over the mean", "time_s": "time (s)"}


def _partition(name: str, rows: list[dict], album: Album) -> list:
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row["method"], set()).add(row["label"])
    made = []
    for measure, title in MEASURES.items():
        data = [(row["method"] if len(labels[row["method"]]) == 1 else f"{row['method']}: {row['label']}", row["parts"],
                 row[measure]) for row in rows if is_number(row.get(measure)) and row[measure] > 0]
        methods, counts = {row[0] for row in data}, sorted({row[1] for row in data})
        if (len(methods) < 2 and len(counts) < 2) or (measure == "imbalance" and max(row[2] for row in data) < 1.001):
            continue
        if len(counts) > 1:
            made.append(_over_parts(f"{name} {measure}", title, data, album))
        else:
            made.append(_each_method(f"{name} {measure}", title, data, album))
    columns = [("method", False), ("parts", True), ("time", True), ("load over mean", True), ("empty parts", True),
               ("largest cut", True), ("all cut edges", True), ("most neighbours", True), ("memory", True),
               ("record", False)]
    columns = [("case", False), *columns]
    table = Table("Each method and number of parts", columns, [[
        row["label"], row["method"],
        cell(row["parts"], lambda v: f"{v:,}"),
        cell(row["time_s"], page.seconds),
        cell(row.get("imbalance"), lambda v: f"{v:.4f}"),
        cell(row.get("empty_parts")),
        cell(row.get("edge_cut_max"), lambda v: f"{v:,}"),
        cell(row.get("edge_cut_total"), lambda v: f"{v:,}"),
        cell(row.get("degree_max")),
        cell(row.get("memory_bytes"), page.bytes_), row["record"]
    ] for row in rows])
    return ([Figures(made)] if made else []) + ([folded(table, "Each method and number of parts")] if rows else [])


def _each_method(name: str, title: str, data: list[tuple[str, int, float]], album: Album) -> page.Figure:
    """A dot a method, for one number of parts; medians of repetitions."""
    values: dict[str, list[float]] = {}
    for method, _, value in data:
        values.setdefault(method, []).append(value)
    rows = sorted(((method, statistics.median(some), min(some), max(some)) for method, some in values.items()),
                  key=lambda row: row[1])[:FEW]
    return album.add(lambda: figures.dots([row[0] for row in rows], [row_series("", rows)], title, log="(s)" in title),
                     name, f"{title.capitalize()} of each method, {data[0][1]:,} parts.", ranking(rows, ""),
                     ["method", title, "least", "most"], rows)


def _over_parts(name: str, title: str, data: list[tuple[str, int, float]], album: Album) -> page.Figure:
    """A line a method; medians of repetitions. Of many methods those with the least values at the most parts."""
    points: dict[str, dict[int, list[float]]] = {}
    for method, parts, value in data:
        points.setdefault(method, {}).setdefault(parts, []).append(value)
    series = [
        figures.Series(method, sorted(some), [statistics.median(some[parts]) for parts in sorted(some)])
        for method, some in points.items()
    ]
    if len(series) > figures.SERIES_MAX:
        series = sorted(series, key=lambda one: (-one.x[-1], one.y[-1]))[:figures.SERIES_MAX]
    most = max(row[1] for row in data)
    ends = [f"{one.name} {page.number(one.y[-1])}" for one in series if one.x[-1] == most]
    which = f"; the best {len(series)} of {len(points)} methods" if len(series) < len(points) else ""
    return album.add(lambda: figures.lines(series, "parts", title, logx=True, logy=True), name,
                     f"{title.capitalize()} by number of parts{which}.",
                     f"Lines on logarithmic axes, {len(series)} methods. With {most:,} parts: {', '.join(ends)}.",
                     ["method", "parts", title], data)


def _published(grids: dict[str, dict], album: Album) -> list:
    """Ours beside a dissertation's numbers, and what the project holds against them."""
    made, claims, full = [], [], []
    for grid, table in grids.items():
        rows = [row for row in table["rows"] if isinstance(row.get("ours"), dict)]
        data = [(row["method"], row["parts"],
                 row["ours"]["edge_cut_max"] / min(r["ours"]["edge_cut_max"]
                                                   for r in rows if r["parts"] == row["parts"])) for row in rows
                if row["ours"].get("edge_cut_max")]
        made += [_over_best(grid, data, album)] if data else []
        for text, found in table.get("verdicts", {}).items():
            bad = len(found["fail"])
            claims.append([
                Cell("does not hold" if bad else "holds", bad, "bad" if bad else "good"), grid, text,
                cell(found["hold"]),
                cell(bad), "; ".join(found["fail"])
            ])
        lines = [[
            cell(row["parts"], lambda v: f"{v:,}"), row["method"],
            *(cell(value, lambda v: f"{v:,.0f}") for measure in ("edge_cut_max", "degree_max", "load_max")
              for value in (row["ours"].get(measure), (row.get("seed") or {}).get(measure))),
            cell(row["ours"].get("time_s"), page.seconds)
        ] for row in rows]
        full.append(
            Details(f"{grid}: all {len(rows)} rows", [Text(table["note"])] * bool(table.get("note")) + [
                Table("Ours and the text's: largest cut, most neighbours, heaviest part", [("parts", True),
                                                                                           ("method", False),
                                                                                           ("cut", True),
                                                                                           ("text", True),
                                                                                           ("neighbours", True),
                                                                                           ("text", True),
                                                                                           ("load", True),
                                                                                           ("text", True),
                                                                                           ("time", True)], lines)
            ]))
    table = Table("What is claimed, grid by grid", [("verdict", False), ("grid", False), ("claim", False),
                                                    ("rows that hold", True), ("rows that do not", True),
                                                    ("which (parts: figures)", False)], claims)
    return [Figures(made)] * bool(made) + [table] * bool(claims) + full


def _over_best(grid: str, data: list[tuple[str, int, float]], album: Album) -> page.Figure:
    methods = list(dict.fromkeys(row[0] for row in data))[:figures.SERIES_MAX]
    series = [figures.Series(m, *zip(*sorted((x, y) for name, x, y in data if name == m))) for m in methods]
    mean = [f"{m} {statistics.fmean(y for name, _, y in data if name == m):.2f}" for m in methods]
    return album.add(lambda: figures.lines(series, "parts", "largest cut over the least", logx=True), f"{grid} cuts",
                     f"Grid of {grid} cells: largest edge cut over that of the best method with as many parts.",
                     f"Lines, {len(methods)} methods. Means: {', '.join(mean)}.",
                     ["method", "parts", "largest cut over the least"], data)


# --- Bisection -------------------------------------------------------------------------------------------------------


def orb(material: Material, album: Album) -> Section | None:
    """Time of orthogonal recursive bisection: program, micro-benchmarks on GPUs, Zoltan."""
    found = []
    for kind in ("orb", "orb_list", "orb_bench", "orb_zoltan"):
        for label, record in material.others.get(kind, []):
            found += guarded(material, record.path, _bisections, label, record)
    if not found:
        return None
    return Section("orb", "Bisection of points (ORB)", _orb(found, album))


def _bisections(label: str, record: records.Record) -> list[tuple]:
    """Input, method, points, leaves, machine, seconds, weights and file of each bisection in a record."""
    if record.kind in ("orb", "orb_list"):
        made = []
        for d in (one.data for one in records.members(record)):
            place = f"{d['provenance']['cpu']}, {d['provenance']['ranks']} × {d['provenance']['threads']}"
            made.append((label or d["input"].split(":")[0], d["method"], d["n"], d["leaves"], place, d["time_s"],
                         str(d.get("weights") or ""), where(record)))
        return made
    made = []
    for row in record.data["rows"]:
        gpus = row.get("gpus")
        place = (f"{record.data['gpu']}{f' × {gpus}' if gpus and gpus > 1 else ''}" if "gpu" in record.data else
                 f"{record.data['provenance']['cpu']}, {row.get('ranks', 1)} × {row.get('threads') or 'all'}")
        words = [
            str(row.get("method", "orb")),
            str(row.get("outputs", "")),
            str(row.get("mode", "")), "no first round" if row.get("first_round") is False else ""
        ]
        made.append((str(row.get("input", "uniform")), ", ".join(word for word in words if word), row.get("n"),
                     row.get("leaves"), place, row["time_s"], str(row.get("weights") or "").replace("none",
                                                                                                    ""), where(record)))
    return made


def _orb(found: list[tuple], album: Album) -> list:
    made = []
    by_place: dict[str, dict[str, dict[int, list[float]]]] = {}
    for kind, method, n, leaves, place, time, weights, _ in found:
        if is_number(n) and is_number(time) and n > 0 and time > 0:
            name = f"{kind}, {method}" + (f", weights {weights}" if weights else "")
            by_place.setdefault(place, {}).setdefault(name, {}).setdefault(n, []).append(time)
    for place, methods in by_place.items():
        some = {name: points for name, points in methods.items() if len(points) > 1}
        if not some:
            continue
        longest = sorted(some, key=lambda name: -len(some[name]))[:7]
        series = [
            figures.Series(name, sorted(some[name]), [statistics.median(some[name][n]) for n in sorted(some[name])])
            for name in some if name in longest
        ]
        data = [(name, n, statistics.median(times)) for name, points in some.items()
                for n, times in sorted(points.items())]
        top = [f"{one.name}: {page.number(one.x[-1])} points in {page.seconds(one.y[-1])}" for one in series]
        made.append(
            album.add(lambda: figures.lines(series, "points", "time (s)", logx=True, logy=True), f"orb {place}",
                      f"Time of bisection over points: {place}.", f"Lines on logarithmic axes. {'; '.join(top)}.",
                      ["input and method", "points", "time_s"], data))
    table = Table("Time of each bisection",
                  [("points of", False), ("method", False), ("points", True), ("leaves", True), ("time", True),
                   ("points a second", True), ("weights", False), ("on", False), ("record", False)], [[
                       kind, method,
                       cell(n),
                       cell(leaves, lambda v: f"{v:,}"),
                       cell(time, page.seconds),
                       cell(n / time if is_number(n) and is_number(time) and time > 0 else None), weights, place, from_
                   ] for kind, method, n, leaves, place, time, weights, from_ in found])
    return [Figures(made)] * bool(made) + [folded(table, "Each bisection")]
