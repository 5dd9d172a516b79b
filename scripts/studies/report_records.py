"""Sections of a report about records that are no runs of ours: replays, miniAMR beside us, micro-benchmarks."""
import pathlib
import re
import statistics
from typing import Any

from . import figures, page, records, report_runs
from .album import Album
from .page import Details, Figures, Part, Section, Table, Text, cell, compact
from .report_data import TIME, Group, Material, by_value
from .report_runs import ENDS, FEW, MANY, guarded
from .report_series import share_map

REPLAYS_MAX = 3  # records that have figures of their own
FLOOR = 1e-4  # of regret, for logarithmic axes
REGRET = "Regret: time over that of the best schedule of cuts for the same partition and weights, minus 1."
COUNTERS = ("items_per_second", "bytes_per_second")  # of Google Benchmark: what a benchmark is about, in this order


def where(record: records.Record) -> str:
    """The last folder and the name of a record's file."""
    return str(pathlib.PurePath(*record.path.absolute().parts[-2:]))


def folded(table: Table, what: str) -> Table | Details:
    table = compact(table)
    return table if len(table.rows) <= MANY else Details(f"{what} ({len(table.rows)} rows)", [table])


def strategies(material: Material, album: Album) -> Section | None:
    """Of runs and of replays."""
    blocks = report_runs.by_group(material, report_runs.strategies, album) + _replays(material, album)
    return Section("strategies", "Strategies", blocks) if blocks else None


# --- Replays ---------------------------------------------------------------------------------------------------------


def _replays(material: Material, album: Album) -> list:
    """Each record on its own, or of many a folder's records together."""
    found = [(label or record.case, record) for label, record in material.others.get("replay", [])]
    if len(found) <= REPLAYS_MAX:
        return [
            block for name, record in found for block in guarded(material, record.path, _replay, name, record, album)
        ]
    folders: dict[pathlib.Path, list[tuple[str, records.Record]]] = {}
    for label, record in material.others["replay"]:
        folders.setdefault(record.path.parent, []).append((label or record.path.stem, record))
    return [
        block for folder, some in folders.items()
        for block in guarded(material, folder, _replays_together, folder.name, some, album)
    ]


def _replay(name: str, record: records.Record, album: Album) -> list:
    """Regret by policy, and where the time goes."""
    rows = record.data["rows"]
    if not rows:
        return []
    made = (_regret(name, rows, album) if any(is_number(row.get("regret")) for row in rows) else [])
    text = f"{where(record)}: the meshes of {record.data['trace']} replayed{_machines(rows)}. {REGRET}"
    table = _combinations([("", row) for row in rows])
    return [
        Part(f"Replay: {name}", [
            Text(text),
            Figures(made + _modelled(name, rows, album)),
            Details(f"All {len(rows)} combinations", [table])
        ])
    ]


def _replays_together(folder: str, some: list[tuple[str, records.Record]], album: Album) -> list:
    """A heat map of regret, a row each record, number of ranks and partition, a column a policy."""
    lines = [(name, row) for name, record in some for row in record.data["rows"]]
    known: dict[str, dict[str, float]] = {}
    for name, record in some:
        rows = record.data["rows"]
        varied = [key for key in ("partition", "slices", "weights") if len({str(row.get(key)) for row in rows}) > 1]
        for row in rows:
            if is_number(row.get("regret")):
                label = ", ".join(
                    [name.removesuffix(f"_{row['ranks']}"), *(str(row[key]) for key in varied), f"{row['ranks']:,}"])
                known.setdefault(label, {})[row["policy"]] = max(row["regret"], FLOOR)
    policies = list(dict.fromkeys(policy for line in known.values() for policy in line))
    policies.sort(key=lambda policy: statistics.median(line[policy] for line in known.values() if policy in line))
    made = []
    for k in range(0, len(known), FEW):
        labels = list(known)[k:k + FEW]
        values = [[known[label].get(policy) for policy in policies] for label in labels]
        best = [min(line, key=line.get) for line in (known[label] for label in labels)]
        made.append(
            album.add(
                lambda: figures.heat_map(policies,
                                         labels,
                                         values,
                                         "balance.policy",
                                         "",
                                         "regret, %",
                                         lambda v: page.number(100 * v, 2),
                                         log=True,
                                         reverse=True), f"{folder} regret",
                f"Regret of each policy, in percent, by record and number of ranks. Folder {folder}.",
                f"Heat map of {len(labels)} replays by {len(policies)} policies. Least regret: " +
                "; ".join(f"{label}: {policy}" for label, policy in zip(labels, best)) + ".", ["replay", *policies],
                [(label, *line) for label, line in zip(labels, values)]))
    text = f"{page.plural(len(some), 'record')}{_machines([row for _, row in lines])}. {REGRET if known else ''}"
    return [
        Part(f"Replays: {folder}", [
            Text(text), *([Figures(made)] if made else []),
            Details(f"All {len(lines)} combinations", [_combinations(lines)])
        ])
    ]


def _machines(rows: list[dict]) -> str:
    names = sorted({str(row.get("machine", "")) for row in rows} - {""})
    return f" on the model of a machine “{', '.join(names)}”" if names else ""


def _combinations(lines: list[tuple[str, dict]]) -> Table:
    columns = ["ranks", "partition", "slices", "policy", "weights"]
    numbers = [("time_s", page.seconds), ("regret", page.percent), ("stencil_s", page.seconds),
               ("halo_s", page.seconds), ("refine_s", page.seconds), ("balance_s", page.seconds),
               ("migrate_s", page.seconds), ("rebalances", page.number), ("imbalance_mean", page.percent)]
    titles = [(name.removesuffix("_s").replace("_", " "), True) for name, _ in numbers]
    return compact(
        Table("All combinations", [("replay", False), *((c, c == "ranks") for c in columns), *titles], [[
            name,
            cell(row["ranks"], lambda v: f"{v:,}"), *(str(row.get(c, ""))
                                                      for c in columns[1:]), *(cell(row.get(key), show)
                                                                               for key, show in numbers)
        ] for name, row in lines]))


def _modelled(name: str, rows: list[dict], album: Album) -> list[page.Figure]:
    """Parts of the time at the largest number of ranks."""
    most = max(row["ranks"] for row in rows)
    last = sorted((row for row in rows if row["ranks"] == most and row["time_s"] > 0),
                  key=lambda row: row["time_s"])[:FEW]
    varied = [
        key for key in ("partition", "slices", "policy", "weights") if len({str(row.get(key)) for row in last}) > 1
    ] or ["policy"]
    bars = []
    for row in last:
        shares = {
            part: (row.get(f"{part}_s") or 0.0) / row["time_s"]
            for part in ("stencil", "halo", "refine", "balance", "migrate")
        }
        bars.append((f"{', '.join(str(row.get(key)) for key in varied)}: {page.seconds(row['time_s'])}",
                     {part: shares.get(part, 0.0) for part in figures.PHASES}))
    return [
        report_runs.bars(f"{name} parts", f"Where the time of the model goes on {most:,} ranks, the fastest first.",
                         bars, album)
    ]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _regret(name: str, rows: list[dict], album: Album) -> list[page.Figure]:
    """By policy, a mark for each number of ranks; of several partitions a heat map at the largest number of ranks."""

    def where_(row: dict) -> str:
        return ", ".join(
            str(row[key]) for key in ("partition", "slices", "weights")
            if len({str(one.get(key)) for one in rows}) > 1 and key in row)

    rows = [row for row in rows if is_number(row.get("regret"))]
    ranks = sorted({row["ranks"] for row in rows})
    policies = sorted({row["policy"] for row in rows}, key=lambda p: min(r["regret"] for r in rows if r["policy"] == p))
    made = []
    pick = ranks[-6:]
    first = where_(rows[0])
    some = [row for row in rows if where_(row) == first]
    series = [
        figures.Series(f"{count:,} ranks", [100 * max(row["regret"], FLOOR) for row in some if row["ranks"] == count],
                       [policies.index(row["policy"]) for row in some if row["ranks"] == count]) for count in pick
    ]
    data = [(row["policy"], row["ranks"], where_(row), row["regret"]) for row in rows]
    best = min(some, key=lambda row: row["regret"])
    worst = max(some, key=lambda row: row["regret"])
    made.append(
        album.add(
            lambda: figures.dots(policies, series, "regret (%)", log=True), f"{name} regret",
            f"Regret of each policy by number of ranks{', ' + first if first else ''}; logarithmic, at least 0.01 %.",
            f"Dot plot, {len(policies)} policies. Least: {best['policy']} with {page.percent(best['regret'])} on "
            f"{best['ranks']} ranks; most: {worst['policy']} with {page.percent(worst['regret'])} on {worst['ranks']} "
            "ranks.", ["policy", "ranks", "partition", "regret"], data))
    last = [row for row in rows if row["ranks"] == ranks[-1]]
    wheres = by_value(where_(row) for row in last)
    if 1 < len(wheres) <= FEW and len(policies) <= 12:
        known = {(where_(row), row["policy"]): row["regret"] for row in last}
        values = [[None if (w, p) not in known else max(known[w, p], FLOOR) for p in policies] for w in wheres]
        made.append(
            album.add(
                lambda: figures.heat_map(policies,
                                         wheres,
                                         values,
                                         "policy",
                                         "partition",
                                         "regret, %",
                                         lambda v: page.number(100 * v, 2),
                                         log=True,
                                         reverse=True), f"{name} regret grid",
                f"Regret on {ranks[-1]:,} ranks. Each row is measured against its own best schedule.",
                f"Heat map of {len(wheres)} partitions by {len(policies)} policies.", ["partition", *policies],
                [(w, *line) for w, line in zip(wheres, values)]))
    return made


# --- miniAMR ---------------------------------------------------------------------------------------------------------

PARTS = {
    "total_s": "whole run", "stencil": "stencil", "communication": "communication", "checksum": "checksum",
    "refinement": "refinement"
}


def miniamr(material: Material, album: Album) -> Section | None:
    """Ratios where both ran in turn, and all of amrbench's own runs of the case."""
    made, ratios, ours, commands = [], [], [], []
    for group in material.groups:
        found = _in_turn(group)
        if found:
            rows_ = [(label, them, us) for label, them, us in found][:FEW]
            series_ = [
                figures.Series(who, [row[k] for row in rows_], range(len(rows_)))
                for k, who in ((1, "miniAMR"), (2, "amrbench"))
            ]
            made.append(
                album.add(
                    lambda: figures.dots([row[0] for row in rows_], series_, "time (s)", log=True),
                    f"miniamr {group.name}", f"{group.title}: time of a whole run, medians, logarithmic.",
                    "Dot plot. " + "; ".join(f"{r[0]}: miniAMR {page.seconds(r[1])}, amrbench {page.seconds(r[2])}"
                                             for r in rows_) + ".", ["case", "miniAMR s", "amrbench s"], found))
            ratios += [[
                group.title, label,
                cell(them, page.seconds),
                cell(us, page.seconds),
                cell(them / us, lambda v: f"{v:.1f}")
            ] for label, them, us in found]
    for _, record in material.others.get("miniamr_runs", []):
        for drawn, compared, own in guarded(material, record.path, _one_sphere, record, album):
            made += drawn
            ratios += compared
            ours.append(own)
            commands.append([where(record), record.data["case"]])
    if not ours and not ratios:
        return None
    blocks: list = [
        Text("miniAMR and amrbench on one machine, run in turn; ratios within a record count, absolute times drift.")
    ] * bool(made)
    blocks += [Figures(made)] * bool(made) + [
        Table("Medians of both, and miniAMR over amrbench", [("record", False), ("part", False), ("miniAMR", True),
                                                             ("amrbench", True), ("ratio", True)], ratios)
    ] * bool(ratios)
    if ours:
        blocks += [
            Table("amrbench on this case, medians",
                  [("record", False), ("ranks", True),
                   ("repetitions", True), *((title, True) for title in PARTS.values()), ("memory of a rank", True),
                   ("share of copy bandwidth", True)], ours),
            Details("Command lines of miniAMR",
                    [Table("The case of each record", [("record", False), ("options", False)], commands)])
        ]
    return Section("miniamr", "Beside miniAMR", blocks)


def _one_sphere(record: records.Record, album: Album) -> list[tuple[list[page.Figure], list[list], list]]:
    """Of a record of scripts/compare_miniamr.py, once: the figure, rows of both programs, the row of amrbench alone."""
    data, name, made, compared = record.data, where(record), [], []
    us, them = data["medians"]["amrbench"], data["medians"].get("miniAMR", {})
    rows = [(PARTS[part], them[part], us[part]) for part in PARTS if part in us and part in them]
    if rows:
        series = [
            figures.Series(who, [row[k] for row in rows], range(len(rows)))
            for k, who in ((1, "miniAMR"), (2, "amrbench"))
        ]
        made.append(
            album.add(
                lambda: figures.dots([row[0] for row in rows], series, "time (s)", log=True), f"miniamr {name}",
                f"{name}: time of the slowest rank by part of the run, medians, logarithmic.",
                "Dot plot. " + "; ".join(f"{r[0]}: miniAMR {page.seconds(r[1])}, amrbench {page.seconds(r[2])}"
                                         for r in rows) + ".", ["part", "miniAMR s", "amrbench s"], rows))
        memory = [side.get("memory_bytes_max_rank") for side in (them, us)]
        for title, a, b, show in [(*row, page.seconds)
                                  for row in rows] + [("peak memory of a rank", *memory, page.bytes_)]:
            compared.append(
                [name, title,
                 cell(a, show),
                 cell(b, show),
                 cell(a / b if a and b else None, lambda v: f"{v:.1f}")])
    own = [
        name,
        str(data["ranks"]),
        cell(data.get("repetitions")), *(cell(us.get(part), page.seconds) for part in PARTS),
        cell(us.get("memory_bytes_max_rank"), page.bytes_),
        cell(us.get("roofline_fraction"), page.percent)
    ]
    return [(made, compared, own)]


def _in_turn(group: Group) -> list[tuple[str, float, float]]:
    """Of a study of both programs: (case, time of miniAMR, time of amrbench), medians."""
    pairs: dict[str, dict[str, float]] = {}
    for case in group.cases:
        if case.values.get("program") and case.median(TIME):
            rest = ", ".join(
                value for axis, value in case.values.items() if axis != "program" and axis in group.axes) or "whole run"
            pairs.setdefault(rest, {})[case.values["program"]] = case.median(TIME)
    return [(label, both["miniamr"], both["amrbench"]) for label, both in pairs.items()
            if {"miniamr", "amrbench"} <= both.keys()]


# --- Micro-benchmarks ------------------------------------------------------------------------------------------------


def benchmarks(material: Material, album: Album) -> Section | None:
    found = material.others.get("benchmark", []) + material.others.get("benchmark_medians", [])
    blocks = [block for _, record in found for block in guarded(material, record.path, _benchmarks, record, album)]
    return Section("benchmarks", "Micro-benchmarks", blocks) if blocks else None


def _benchmarks(record: records.Record, album: Album) -> list:
    context = record.data["context"]
    rows = [row for row in record.data.get("benchmarks", record.data.get("medians", [])) if _wanted(row, record)]
    told = [
        f"{key}: {context[key]}" for key in ("date", "commit", "gpu_0", "num_cpus", "mhz_per_cpu")
        if context.get(key) not in (None, "")
    ]
    parts: list = [Text("; ".join(map(str, told)))]
    parts += _shares(record, rows, album)
    counters = [name for name in COUNTERS if any(is_number(row.get(name)) for row in rows)]
    share = any(is_number(row.get("copy_share")) for row in rows)
    table = Table("Benchmarks",
                  [("benchmark", False),
                   ("time", True), *((name.replace("_per_second", "/s"), True)
                                     for name in counters), *([("share of copy bandwidth", True)] if share else []),
                   ("iterations", True)], [[
                       row["name"],
                       cell(row["real_time"] * records.TIME_UNITS.get(row.get("time_unit"), 1), page.seconds),
                       *(cell(row.get(name) if is_number(row.get(name)) else None)
                         for name in counters), *([cell(row.get("copy_share"), page.percent)] if share else []),
                       cell(row.get("iterations"), lambda v: f"{v:,.0f}")
                   ] for row in rows])
    table = compact(table)
    parts.append(table if len(rows) <= ENDS else Details(f"All {len(rows)} benchmarks", [table]))
    return [Part(where(record), parts)]


def _wanted(row: dict, record: records.Record) -> bool:
    """Of repeated benchmarks the medians alone, when there are any."""
    if row.get("error_occurred") or not is_number(row.get("real_time")):
        return False
    medians = {r.get("run_name") for r in record.data.get("benchmarks", []) if r.get("aggregate_name") == "median"}
    return row.get("aggregate_name") == "median" if row.get("run_name") in medians and medians else row.get(
        "run_type") != "aggregate"


def _shares(record: records.Record, rows: list[dict], album: Album) -> list:
    """Heat map of benchmarks whose names tell block edge and variables and that count a share of the copy bandwidth."""
    cells: dict[tuple[str, str], float] = {}
    for row in rows:
        found = re.search(r"/edge:(\d+)/variables:(\d+)", row["name"])
        if found and is_number(row.get("copy_share")):
            where_ = f"{found[1]}³", found[2]
            cells[where_] = max(cells.get(where_, 0.0), row["copy_share"])
    if len(cells) < 3:
        return []
    blocks, variables = by_value(key[0] for key in cells), by_value(key[1] for key in cells)
    values = [[cells.get((b, v)) for v in variables] for b in blocks]
    known = sorted((share, f"{b} cells, {v} variables") for (b, v), share in cells.items())
    return [
        Figures([
            share_map(album, f"{where(record)} share",
                      "Share of the copy bandwidth, the best setting of each block size and number "
                      "of variables.", variables, blocks, values, known)
        ])
    ]
