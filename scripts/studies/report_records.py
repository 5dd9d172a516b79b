"""Sections of a report about records that are no runs: replays, partitions, bisection, miniAMR beside us, micro-benchmarks."""
import pathlib
import re
import statistics
from typing import Any, Sequence

from . import figures, page, records, report_runs
from .page import Cell, Details, Figures, Part, Section, Table, Text, cell, compact
from .report_data import TIME, Group, Material, by_value
from .report_runs import ENDS, FEW, MANY, _ranking, _series, share_map

COUNTERS = ("items_per_second", "bytes_per_second")  # of Google Benchmark: what a benchmark is about, in this order


def where(record: records.Record) -> str:
    """The last folder and the name of a record's file."""
    return str(pathlib.PurePath(*record.path.absolute().parts[-2:]))


def folded(table: Table, what: str) -> Table | Details:
    table = compact(table)
    return table if len(table.rows) <= MANY else Details(f"{what} ({len(table.rows)} rows)", [table])


def strategies(material: Material, groups: Sequence[Group], album: figures.Album) -> Section | None:
    """Of runs and of replays."""
    blocks = report_runs.by_group(groups, report_runs.strategies, album) + _replays(material, album)
    return Section("strategies", "Strategies", blocks) if blocks else None


# --- Replays ---------------------------------------------------------------------------------------------------------


def _replays(material: Material, album: figures.Album) -> list:
    """Regret of each replay record."""
    made = []
    for label, record in material.others.get("replay", []):
        rows = record.data["rows"]
        if not rows:
            continue
        name = label or record.case
        machine = ", ".join(sorted({str(row.get("machine", "")) for row in rows} - {""}))
        blocks: list = [Text(f"{where(record)}: the meshes of {record.data['trace']} replayed"
                             + (f" on the model of a machine “{machine}”" if machine else "")
                             + ". Regret: time over that of the best schedule of cuts for the same partition and weights, minus 1.")]
        figures_ = (_regret(name, rows, album) if any(_is(row.get("regret")) for row in rows) else []) + _modelled(name, rows, album)
        columns = ["ranks", "partition", "slices", "policy", "weights"]
        numbers = [("time_s", page.seconds), ("regret", page.percent), ("stencil_s", page.seconds), ("halo_s", page.seconds),
                   ("refine_s", page.seconds), ("balance_s", page.seconds), ("migrate_s", page.seconds), ("rebalances", page.number),
                   ("imbalance_mean", page.percent)]
        table = Table("All combinations", [(column, column == "ranks") for column in columns]
                      + [(name_.removesuffix("_s").replace("_", " "), True) for name_, _ in numbers],
                      [[cell(row["ranks"], lambda v: f"{v:,}"), *(str(row.get(c, "")) for c in columns[1:])]
                       + [cell(row.get(n), show) for n, show in numbers] for row in rows])
        made.append(Part(f"Replay: {name}", blocks + [Figures(figures_), Details(f"All {len(rows)} combinations", [compact(table)])]))
    return made


def _modelled(name: str, rows: list[dict], album: figures.Album) -> list[page.Figure]:
    """Parts of the time at the largest number of ranks."""
    most = max(row["ranks"] for row in rows)
    last = sorted((row for row in rows if row["ranks"] == most and row["time_s"] > 0), key=lambda row: row["time_s"])[:FEW]
    varied = [key for key in ("partition", "slices", "policy", "weights") if len({str(row.get(key)) for row in last}) > 1] or ["policy"]
    bars = []
    for row in last:
        shares = {part: (row.get(f"{part}_s") or 0.0) / row["time_s"] for part in ("stencil", "halo", "refine", "balance", "migrate")}
        bars.append((f"{', '.join(str(row.get(key)) for key in varied)}: {page.seconds(row['time_s'])}",
                     {part: shares.get(part, 0.0) for part in figures.PHASES}))
    return [report_runs.bars(f"{name} parts", f"Where the time of the model goes on {most:,} ranks, the fastest first.", bars, album)]


def _is(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _regret(name: str, rows: list[dict], album: figures.Album) -> list[page.Figure]:
    """By policy, a mark for each number of ranks; of several partitions a heat map at the largest number of ranks."""
    def where_(row: dict) -> str:
        return ", ".join(str(row[key]) for key in ("partition", "slices", "weights")
                         if len({str(one.get(key)) for one in rows}) > 1 and key in row)

    rows = [row for row in rows if _is(row.get("regret"))]
    ranks = sorted({row["ranks"] for row in rows})
    policies = sorted({row["policy"] for row in rows}, key=lambda p: min(r["regret"] for r in rows if r["policy"] == p))
    made = []
    pick = ranks[-6:]
    first = where_(rows[0])
    some = [row for row in rows if where_(row) == first]
    floor = 1e-4
    series = [figures.Series(f"{count:,} ranks",
                             [100 * max(row["regret"], floor) for row in some if row["ranks"] == count],
                             [policies.index(row["policy"]) for row in some if row["ranks"] == count]) for count in pick]
    data = [(row["policy"], row["ranks"], where_(row), row["regret"]) for row in rows]
    best = min(some, key=lambda row: row["regret"])
    worst = max(some, key=lambda row: row["regret"])
    made.append(album.add(lambda: figures.dots(policies, series, "regret (%)", log=True), f"{name} regret",
                          f"Regret of each policy by number of ranks{', ' + first if first else ''}; logarithmic, at least 0.01 %.",
                          f"Dot plot, {len(policies)} policies. Least: {best['policy']} with {page.percent(best['regret'])} on "
                          f"{best['ranks']} ranks; most: {worst['policy']} with {page.percent(worst['regret'])} on {worst['ranks']} ranks.",
                          ["policy", "ranks", "partition", "regret"], data))
    last = [row for row in rows if row["ranks"] == ranks[-1]]
    wheres = by_value(where_(row) for row in last)
    if 1 < len(wheres) <= FEW and len(policies) <= 12:
        known = {(where_(row), row["policy"]): row["regret"] for row in last}
        values = [[None if (w, p) not in known else max(known[w, p], floor) for p in policies] for w in wheres]
        made.append(album.add(lambda: figures.heat_map(policies, wheres, values, "policy", "partition", "regret, %",
                                                       lambda v: page.number(100 * v, 2), log=True, reverse=True), f"{name} regret grid",
                              f"Regret on {ranks[-1]:,} ranks. Each row is measured against its own best schedule.",
                              f"Heat map of {len(wheres)} partitions by {len(policies)} policies.", ["partition", *policies],
                              [(w, *line) for w, line in zip(wheres, values)]))
    return made


# --- Partitions ------------------------------------------------------------------------------------------------------


def partitions(material: Material, album: figures.Album) -> Section | None:
    blocks: list = []
    rows: dict[str, list[dict]] = {}
    for label, record in material.others.get("partition", []):
        for row in record.data["rows"]:
            input_ = record.data["input"]["name"]
            rows.setdefault(f"{input_}, {page.plural(record.data['provenance']['threads'], 'thread')}", []).append(
                {**row, "label": label, "record": where(record)})
    for name, some in rows.items():
        blocks.append(Part(name, _partition(name, some, album)))
    for _, record in material.others.get("partition_tables", []):
        blocks.append(Part(f"Beside {record.data['source']}", _published(record.data["grids"], album)))
    if not blocks:
        return None
    lead = Text("Largest edge cut: edges from one part to others, of the part with most. Load: heaviest part over the mean.")
    return Section("partitions", "Quality of partitions", [lead, *blocks])


def _partition(name: str, rows: list[dict], album: figures.Album) -> list:
    made = []
    for measure, title in (("edge_cut_max", "largest edge cut"), ("time_s", "time (s)")):
        known = [row for row in rows if _is(row.get(measure)) and row[measure] > 0]
        methods = list(dict.fromkeys(row["method"] for row in known))
        counts = sorted({row["parts"] for row in known})
        if len(methods) < 2 and len(counts) < 2:
            continue
        if len(counts) > 1:
            made.append(_over_parts(f"{name} {measure}", title, [(row["method"], row["parts"], row[measure]) for row in known],
                                    f"{title.capitalize()} by number of parts.", album))
        else:
            data = [(row["method"], row[measure], row[measure], row[measure]) for row in sorted(known, key=lambda row: row[measure])][:FEW]
            made.append(album.add(lambda: figures.dots([row[0] for row in data], [_series("", data)], title, log=measure == "time_s"),
                                  f"{name} {measure}", f"{title.capitalize()} of each method, {counts[0]:,} parts.",
                                  _ranking(data, ""), ["method", measure, "least", "most"], data))
    columns = [("method", False), ("parts", True), ("time", True), ("load over mean", True), ("empty parts", True), ("largest cut", True),
               ("all cut edges", True), ("most neighbours", True), ("memory", True), ("record", False)]
    table = Table("Each method and number of parts", columns, [
        [row["method"], cell(row["parts"], lambda v: f"{v:,}"), cell(row["time_s"], page.seconds),
         cell(row.get("imbalance"), lambda v: f"{v:.4f}"), cell(row.get("empty_parts")), cell(row.get("edge_cut_max"), lambda v: f"{v:,}"),
         cell(row.get("edge_cut_total"), lambda v: f"{v:,}"), cell(row.get("degree_max")), cell(row.get("memory_bytes"), page.bytes_),
         row["record"]] for row in rows])
    return ([Figures(made)] if made else []) + [folded(table, "Each method and number of parts")]


def _over_parts(name: str, title: str, data: list[tuple[str, int, float]], caption: str, album: figures.Album) -> page.Figure:
    methods = list(dict.fromkeys(row[0] for row in data))[:figures.SERIES_MAX]
    series = []
    for method in methods:
        points = sorted((x, statistics.median(y for m, c, y in data if m == method and c == x)) for x in {r[1] for r in data if r[0] == method})
        series.append(figures.Series(method, [x for x, _ in points], [y for _, y in points]))
    most = max(row[1] for row in data)
    ends = [f"{one.name} {page.number(one.y[-1])}" for one in series if one.x[-1] == most]
    return album.add(lambda: figures.lines(series, "parts", title, logx=True, logy=True), name, caption,
                     f"Lines on logarithmic axes, {len(series)} methods. With {most:,} parts: {', '.join(ends)}.",
                     ["method", "parts", title], data)


def _published(grids: dict[str, dict], album: figures.Album) -> list:
    """Ours beside a dissertation's numbers, and what the project holds against them."""
    made, claims, full = [], [], []
    for grid, table in grids.items():
        rows = [row for row in table["rows"] if isinstance(row.get("ours"), dict)]
        data = [(row["method"], row["parts"], row["ours"]["edge_cut_max"] / min(
            r["ours"]["edge_cut_max"] for r in rows if r["parts"] == row["parts"])) for row in rows if row["ours"].get("edge_cut_max")]
        made += [_over_best(grid, data, album)] if data else []
        for text, found in table.get("verdicts", {}).items():
            bad = len(found["fail"])
            claims.append([Cell("does not hold" if bad else "holds", bad, "bad" if bad else "good"), grid, text, cell(found["hold"]),
                           cell(bad), "; ".join(found["fail"])])
        lines = [[cell(row["parts"], lambda v: f"{v:,}"), row["method"],
                  *(cell(value, lambda v: f"{v:,.0f}") for measure in ("edge_cut_max", "degree_max", "load_max")
                    for value in (row["ours"].get(measure), (row.get("seed") or {}).get(measure))),
                  cell(row["ours"].get("time_s"), page.seconds)] for row in rows]
        full.append(Details(f"{grid}: all {len(rows)} rows", [Text(table["note"])] * bool(table.get("note")) + [
            Table("Ours and the text's: largest cut, most neighbours, heaviest part",
                  [("parts", True), ("method", False), ("cut", True), ("text", True), ("neighbours", True), ("text", True),
                   ("load", True), ("text", True), ("time", True)], lines)]))
    table = Table("What is claimed, grid by grid", [("verdict", False), ("grid", False), ("claim", False), ("rows that hold", True),
                                                    ("rows that do not", True), ("which (parts: figures)", False)], claims)
    return [Figures(made)] * bool(made) + [table] * bool(claims) + full


def _over_best(grid: str, data: list[tuple[str, int, float]], album: figures.Album) -> page.Figure:
    methods = list(dict.fromkeys(row[0] for row in data))[:figures.SERIES_MAX]
    series = [figures.Series(m, *zip(*sorted((x, y) for name, x, y in data if name == m))) for m in methods]
    mean = [f"{m} {statistics.fmean(y for name, _, y in data if name == m):.2f}" for m in methods]
    return album.add(lambda: figures.lines(series, "parts", "largest cut over the least", logx=True), f"{grid} cuts",
                     f"Grid of {grid} cells: largest edge cut over that of the best method with as many parts.",
                     f"Lines, {len(methods)} methods. Means: {', '.join(mean)}.", ["method", "parts", "largest cut over the least"], data)


# --- Bisection -------------------------------------------------------------------------------------------------------


def orb(material: Material, album: figures.Album) -> Section | None:
    """Time of orthogonal recursive bisection: program, micro-benchmarks on GPUs, Zoltan."""
    found = []
    for label, record in material.others.get("orb", []) + material.others.get("orb_list", []):
        for one in records.members(record):
            d = one.data
            kind = d["input"].split(":")[0]
            where_ = f"{d['provenance']['cpu']}, {d['provenance']['ranks']} × {d['provenance']['threads']}"
            found.append((label or kind, d["method"], d["n"], d["leaves"], where_, d["time_s"], d.get("weights") or "", where(record)))
    for _, record in material.others.get("orb_bench", []) + material.others.get("orb_zoltan", []):
        d = record.data
        for row in d["rows"]:
            gpus = row.get("gpus")
            where_ = (f"{d['gpu']}{f' × {gpus}' if gpus and gpus > 1 else ''}" if "gpu" in d else
                      f"{d['provenance']['cpu']}, {row.get('ranks', 1)} × {row.get('threads') or 'all'}")
            weights = str(row.get("weights") or "").replace("none", "")
            narrow = "not wide" if row.get("wide") is False else ""
            what = ", ".join(word for word in (str(row.get("method", "orb")), str(row.get("outputs", "")), str(row.get("mode", "")), narrow)
                             if word)
            found.append((str(row.get("input", "uniform")), what, row.get("n"), row.get("leaves"), where_, row["time_s"], weights,
                          where(record)))
    if not found:
        return None
    made = []
    by_place: dict[str, dict[str, dict[int, list[float]]]] = {}
    for kind, method, n, leaves, place, time, weights, _ in found:
        if _is(n) and _is(time) and n > 0 and time > 0:
            name = f"{kind}, {method}" + (f", weights {weights}" if weights else "")
            by_place.setdefault(place, {}).setdefault(name, {}).setdefault(n, []).append(time)
    for place, methods in by_place.items():
        some = {name: points for name, points in methods.items() if len(points) > 1}
        if not some:
            continue
        longest = sorted(some, key=lambda name: -len(some[name]))[:7]
        series = [figures.Series(name, sorted(some[name]), [statistics.median(some[name][n]) for n in sorted(some[name])])
                  for name in some if name in longest]
        data = [(name, n, statistics.median(times)) for name, points in some.items() for n, times in sorted(points.items())]
        top = [f"{one.name}: {page.number(one.x[-1])} points in {page.seconds(one.y[-1])}" for one in series]
        made.append(album.add(lambda: figures.lines(series, "points", "time (s)", logx=True, logy=True), f"orb {place}",
                              f"Time of bisection over points: {place}.", f"Lines on logarithmic axes. {'; '.join(top)}.",
                              ["input and method", "points", "time_s"], data))
    table = Table("Time of each bisection", [("points of", False), ("method", False), ("points", True), ("leaves", True), ("time", True),
                                             ("points a second", True), ("weights", False), ("on", False), ("record", False)],
                  [[kind, method, cell(n), cell(leaves, lambda v: f"{v:,}"), cell(time, page.seconds), cell(n / time if n and time else None),
                    weights, place, from_] for kind, method, n, leaves, place, time, weights, from_ in found])
    return Section("orb", "Bisection of points (ORB)", ([Figures(made)] if made else []) + [folded(table, "Each bisection")])


# --- miniAMR ---------------------------------------------------------------------------------------------------------


PARTS = {"total_s": "whole run", "stencil": "stencil", "communication": "communication", "checksum": "checksum",
         "refinement": "refinement"}


def miniamr(material: Material, album: figures.Album) -> Section | None:
    """Ratios where both ran in turn, and all of amrbench's own runs of the case."""
    made, ratios, ours, commands = [], [], [], []
    for group in material.groups:
        found = _in_turn(group)
        if found:
            rows_ = [(label, them, us) for label, them, us in found][:FEW]
            series_ = [figures.Series(who, [row[k] for row in rows_], range(len(rows_))) for k, who in ((1, "miniAMR"), (2, "amrbench"))]
            made.append(album.add(lambda: figures.dots([row[0] for row in rows_], series_, "time (s)", log=True),
                                  f"miniamr {group.name}", f"{group.title}: time of a whole run, medians, logarithmic.",
                                  "Dot plot. " + "; ".join(f"{r[0]}: miniAMR {page.seconds(r[1])}, amrbench {page.seconds(r[2])}"
                                                           for r in rows_) + ".", ["case", "miniAMR s", "amrbench s"], found))
            ratios += [[group.title, label, cell(them, page.seconds), cell(us, page.seconds), cell(them / us, lambda v: f"{v:.1f}")]
                       for label, them, us in found]
    for _, record in material.others.get("miniamr_runs", []):
        data, name = record.data, where(record)
        medians = data["medians"]
        us, them = medians.get("amrbench", {}), medians.get("miniAMR", {})
        both = [part for part in PARTS if part in us and part in them]
        if both:
            series = [figures.Series(who, [medians[who][part] for part in both], range(len(both))) for who in ("miniAMR", "amrbench")]
            rows = [(PARTS[part], them[part], us[part]) for part in both]
            made.append(album.add(
                lambda: figures.dots([row[0] for row in rows], series, "time (s)", log=True), f"miniamr {name}",
                f"{name}: time of the slowest rank by part of the run, medians, logarithmic.",
                "Dot plot. " + "; ".join(f"{r[0]}: miniAMR {page.seconds(r[1])}, amrbench {page.seconds(r[2])}" for r in rows) + ".",
                ["part", "miniAMR s", "amrbench s"], rows))
            ratios += [[name, part, cell(a, page.seconds), cell(b, page.seconds), cell(a / b, lambda v: f"{v:.1f}")] for part, a, b in rows]
            a, b = them.get("memory_bytes_max_rank"), us.get("memory_bytes_max_rank")
            if a and b:
                ratios.append([name, "peak memory of a rank", cell(a, page.bytes_), cell(b, page.bytes_), cell(a / b, lambda v: f"{v:.1f}")])
        ours.append([name, str(data["ranks"]), cell(data.get("repetitions")), *(cell(us.get(part), page.seconds) for part in PARTS),
                     cell(us.get("memory_bytes_max_rank"), page.bytes_), cell(us.get("roofline_fraction"), page.percent)])
        commands.append([name, data["case"]])
    if not ours and not ratios:
        return None
    blocks: list = [Text("miniAMR and amrbench on one machine, run in turn; ratios within a record count, absolute times drift.")] * bool(made)
    blocks += [Figures(made)] * bool(made) + [Table("Medians of both, and miniAMR over amrbench", [
        ("record", False), ("part", False), ("miniAMR", True), ("amrbench", True), ("ratio", True)], ratios)] * bool(ratios)
    if ours:
        blocks += [Table("amrbench on this case, medians", [("record", False), ("ranks", True), ("repetitions", True),
                                                            *((title, True) for title in PARTS.values()), ("memory of a rank", True),
                                                            ("share of copy bandwidth", True)], ours),
                   Details("Command lines of miniAMR", [Table("The case of each record", [("record", False), ("options", False)], commands)])]
    return Section("miniamr", "Beside miniAMR", blocks)


def _in_turn(group: Group) -> list[tuple[str, float, float]]:
    """Of a study of both programs: (case, time of miniAMR, time of amrbench), medians."""
    pairs: dict[str, dict[str, float]] = {}
    for case in group.cases:
        if case.values.get("program") and case.median(TIME):
            rest = ", ".join(value for axis, value in case.values.items() if axis != "program" and axis in group.axes) or "whole run"
            pairs.setdefault(rest, {})[case.values["program"]] = case.median(TIME)
    return [(label, both["miniamr"], both["amrbench"]) for label, both in pairs.items() if {"miniamr", "amrbench"} <= both.keys()]


# --- Micro-benchmarks ------------------------------------------------------------------------------------------------


def benchmarks(material: Material, album: figures.Album) -> Section | None:
    blocks = []
    for _, record in material.others.get("benchmark", []) + material.others.get("benchmark_medians", []):
        context = record.data["context"]
        rows = [row for row in record.data.get("benchmarks", record.data.get("medians", [])) if _wanted(row, record)]
        told = [f"{key}: {context[key]}" for key in ("date", "commit", "gpu_0", "num_cpus", "mhz_per_cpu") if context.get(key) not in (None, "")]
        parts: list = [Text("; ".join(map(str, told)))]
        parts += _shares(record, rows, album)
        counters = [name for name in COUNTERS if any(_is(row.get(name)) for row in rows)]
        share = any(_is(row.get("copy_share")) for row in rows)
        table = Table("Benchmarks", [("benchmark", False), ("time", True), *((name.replace("_per_second", "/s"), True) for name in counters),
                                     *([("share of copy bandwidth", True)] if share else []), ("iterations", True)],
                      [[row["name"], cell(row["real_time"] * records.TIME_UNITS.get(row.get("time_unit"), 1), page.seconds),
                        *(cell(row.get(name) if _is(row.get(name)) else None) for name in counters),
                        *([cell(row.get("copy_share"), page.percent)] if share else []),
                        cell(row.get("iterations"), lambda v: f"{v:,.0f}")] for row in rows])
        table = compact(table)
        parts.append(table if len(rows) <= ENDS else Details(f"All {len(rows)} benchmarks", [table]))
        blocks.append(Part(where(record), parts))
    return Section("benchmarks", "Micro-benchmarks", blocks) if blocks else None


def _wanted(row: dict, record: records.Record) -> bool:
    """Of repeated benchmarks the medians alone, when there are any."""
    if row.get("error_occurred") or not _is(row.get("real_time")):
        return False
    medians = {r.get("run_name") for r in record.data.get("benchmarks", []) if r.get("aggregate_name") == "median"}
    return row.get("aggregate_name") == "median" if row.get("run_name") in medians and medians else row.get("run_type") != "aggregate"


def _shares(record: records.Record, rows: list[dict], album: figures.Album) -> list:
    """Heat map of benchmarks whose names tell block edge and variables and that count a share of the copy bandwidth."""
    cells: dict[tuple[str, str], float] = {}
    for row in rows:
        found = re.search(r"/edge:(\d+)/variables:(\d+)", row["name"])
        if found and _is(row.get("copy_share")):
            where_ = f"{found[1]}³", found[2]
            cells[where_] = max(cells.get(where_, 0.0), row["copy_share"])
    if len(cells) < 3:
        return []
    blocks, variables = by_value(key[0] for key in cells), by_value(key[1] for key in cells)
    values = [[cells.get((b, v)) for v in variables] for b in blocks]
    known = sorted((share, f"{b} cells, {v} variables") for (b, v), share in cells.items())
    return [Figures([share_map(album, f"{where(record)} share", "Share of the copy bandwidth, the best setting of each block size and number "
                               "of variables.", variables, blocks, values, known)])]
