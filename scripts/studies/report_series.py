"""Sections of a report about what a run does over time (its record's `series`) and its share of the copy bandwidth."""
import statistics

from . import figures, page
from .album import Album
from .page import Details, Figures, Section, Table, Text, cell, compact
from .report_data import SHARE, Case, Group, Material, by_value, shown
from .report_runs import MANY, by_group

THIN = 400  # points of a time series that are drawn

# --- Over time -------------------------------------------------------------------------------------------------------


def over_time(material: Material, album: Album) -> Section | None:
    blocks = by_group(material, _over_time, album)
    if not blocks:
        return None
    lead = Text(
        "At each refinement: the largest load of a rank over the mean, minus 1, and the blocks of the mesh by level.")
    return Section("time", "Over time", [lead, *blocks])


def _thin(rows: list[dict]) -> list[dict]:
    stride = -(-len(rows) // THIN)
    return rows[::stride]


def _values(rows: list[dict], name: str) -> list[float]:
    return [row[name] if isinstance(row.get(name), (int, float)) else float("nan") for row in rows]


def _over_time(group: Group, album: Album) -> list:
    known = [(case, rows) for case in group.cases
             if len(rows := [r for r in case.series() if isinstance(r.get("step"), (int, float))]) > 1]
    if not known:
        return []
    made = []
    with_load = sorted((one for one in known if any(isinstance(row.get("imbalance"), (int, float)) for row in one[1])),
                       key=lambda one: one[0].median("balance.imbalance_mean") or 0)
    if with_load:
        most = 6 if len(with_load) <= 6 else 5
        picked = [
            with_load[round(k * (len(with_load) - 1) / max(1, most - 1))] for k in range(min(most, len(with_load)))
        ]
        made.append(_imbalance(group, picked, len(with_load), album))
    meshes: dict[str, tuple[Case, list[dict]]] = {}
    for case, rows in known:
        if all(isinstance(row.get("blocks_by_level"), list) and row["blocks_by_level"] for row in rows):
            meshes.setdefault(str([row["blocks_by_level"] for row in rows]), (case, rows))
    chosen = list(meshes.values())
    chosen = chosen if len(chosen) <= 4 else [chosen[round(k * (len(chosen) - 1) / 3)] for k in range(4)]
    made += [_levels(group, case, rows, len(meshes), album) for case, rows in chosen]
    return [Figures(made), *([_decisions(with_load)] if with_load else [])] if made else []


def _imbalance(group: Group, picked: list, total: int, album: Album) -> page.Figure:
    data = [(case.label, row["step"], row.get("imbalance"), row.get("imbalance_after"), row.get("decision", ""))
            for case, rows in picked for row in rows]
    series = []
    for case, rows in picked:
        thin = _thin(rows)
        name = case.brief if len(picked) > 1 else "as refinement left it"
        series.append(figures.Series(name, _values(thin, "step"), [100 * x for x in _values(thin, "imbalance")]))
        if len(picked) == 1 and any("imbalance_after" in row for row in rows):
            series.append(
                figures.Series("after the decision", _values(thin, "step"),
                               [100 * x for x in _values(thin, "imbalance_after")]))
    which = "" if total == len(
        picked) else f" {len(picked)} of {total} cases, spread from the least to the most imbalanced."
    peaks = [
        f"{case.brief} at most {page.percent(max(x for x in _values(rows, 'imbalance') if x == x))}"
        for case, rows in picked
    ]
    return album.add(lambda: figures.lines(series, "time step", "imbalance (%)", steps=True, bottom=0, whole_x=True),
                     f"{group.name} imbalance",
                     f"Imbalance after each refinement, before blocks were placed anew.{which}",
                     f"Stepped lines over time steps. {'; '.join(peaks)}.",
                     ["case", "step", "imbalance", "imbalance_after", "decision"], data)


def _decisions(known: list) -> Table | Details:
    """How often each case placed blocks anew, and what imbalance it had."""
    rows = []
    for case, lines in known:
        loads = [x for x in _values(lines, "imbalance") if x == x]
        after = [x for x in _values(lines, "imbalance_after") if x == x]
        count = {name: sum(row.get("decision") == name for row in lines) for name in ("leave", "incremental", "full")}
        rows.append([
            case.brief,
            cell(len(lines)), *(cell(n) for n in count.values()),
            cell(sum(loads) / len(loads) if loads else None, page.percent),
            cell(max(loads, default=None), page.percent),
            cell(sum(after) / len(after) if after else None, page.percent),
            cell(sum(x for x in _values(lines, "blocks_migrated") if x == x), page.number)
        ])
    table = compact(
        Table("Decisions at refinements, and imbalance before and after them", [("case", False), ("refinements", True),
                                                                                ("left", True), ("incremental", True),
                                                                                ("full", True),
                                                                                ("imbalance, mean", True),
                                                                                ("at most", True), ("mean after", True),
                                                                                ("blocks moved", True)], rows))
    return table if len(rows) <= MANY else Details(f"Decisions of all {len(rows)} cases", [table])


def _levels(group: Group, case: Case, rows: list[dict], meshes: int, album: Album) -> page.Figure:
    depth = max(len(row["blocks_by_level"]) for row in rows)
    levels = [[*row["blocks_by_level"], *[0] * (depth - len(row["blocks_by_level"]))] for row in rows]
    thin = _thin(list(zip(_values(rows, "step"), levels)))
    layers = {f"level {k}": [line[k] for _, line in thin] for k in range(depth) if any(line[k] for _, line in thin)}
    totals = [sum(line) for line in levels]
    same = f" One of {meshes} different meshes." if meshes > 1 else ""
    return album.add(
        lambda: figures.stacked_steps([step for step, _ in thin], layers, "time step", "blocks"),
        f"{group.name} levels", f"Blocks by level: {case.brief}.{same}",
        f"Stacked areas over time steps, {len(layers)} levels; from {page.number(totals[0], 4)} blocks at the start to "
        f"{page.number(totals[-1], 4)} at the end, {page.number(max(totals), 4)} at most.",
        ["step", *(f"level {k}" for k in range(depth))], [(row["step"], *line) for row, line in zip(rows, levels)])


# --- Share of the copy bandwidth -------------------------------------------------------------------------------------


def roofline(material: Material, album: Album) -> Section | None:
    blocks = by_group(material, _roofline, album)
    if not blocks:
        return None
    lead = Text(
        "One read and one write of a value for each update, over the run's whole time, refinement and exchange "
        "included, as a share "
        "of the copy bandwidth measured beside the run. Median over the cases of a cell.")
    return Section("roofline", "Share of the copy bandwidth", [lead, *blocks])


def _roofline(group: Group, album: Album) -> list:
    maps: dict[str, dict[tuple[str, str], list[float]]] = {}
    for case in group.measured():
        if case.median(SHARE) is None:
            continue
        what = f"{case.first('config.run.stencil', '')} on {case.first('device.backend', 'cpu')}"
        where = shown(case.first("config.mesh.block", "–")), shown(case.first("config.fields.variables", "–"))
        maps.setdefault(what, {}).setdefault(where, []).append(case.median(SHARE))
    made = []
    for what, cells in maps.items():
        blocks, variables = by_value(key[0] for key in cells), by_value(key[1] for key in cells)
        if not (2 <= len(blocks) <= 16 and 2 <= len(variables) <= 16):
            continue
        values = [[statistics.median(cells[b, v]) if (b, v) in cells else None for v in variables] for b in blocks]
        known = sorted((value, f"{b} cells, {v} variables") for b, line in zip(blocks, values)
                       for v, value in zip(variables, line) if value is not None)
        made.append(
            share_map(album, f"{group.name} roofline",
                      f"Share of the copy bandwidth by block size and variables: {what}.", variables, blocks, values,
                      known))
    return [Figures(made)] if made else []


def share_map(album: Album, name: str, caption: str, variables: list[str], blocks: list[str], values: list,
              known: list) -> page.Figure:
    return album.add(
        lambda: figures.heat_map(variables,
                                 blocks,
                                 values,
                                 "variables",
                                 "block (cells)",
                                 "% of copy bandwidth",
                                 lambda v: f"{100 * v:.0f}",
                                 span=(0, max(1, known[-1][0]))), name, caption,
        f"Heat map of {len(blocks)} block sizes by {len(variables)} numbers of variables. Highest: {known[-1][1]}, "
        f"{page.percent(known[-1][0], 0)}; lowest: {known[0][1]}, {page.percent(known[0][0], 0)}.",
        ["block", *(f"{v} variables" for v in variables)], [(b, *line) for b, line in zip(blocks, values)])
