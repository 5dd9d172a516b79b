"""Sections of a report about runs: cases, phases, strategies, time series, scaling, share of the copy bandwidth."""
import statistics
from typing import Iterable, Sequence

from . import figures, page
from .page import Cell, Details, Figures, Part, Section, Table, Text, cell, compact
from .report_data import RATE, SHARE, STRATEGY, TIME, Case, Group, by_value, geometric_mean, short, shown

FEW = 30  # cases that are shown one by one in a figure
MANY = 16  # rows of a table that stay unfolded
ENDS = 10  # of more cases: so many from the top and from the bottom
THIN = 400  # points of a time series that are drawn


def by_group(groups: Sequence[Group], make, *arguments) -> list:
    """Blocks of each group; under its title when several groups have some."""
    made = [(group, blocks) for group in groups if (blocks := make(group, *arguments))]
    if len(groups) == 1 and made:
        return made[0][1]
    return [Part(group.title, blocks) for group, blocks in made]


def ordered(cases: Iterable[Case]) -> list[Case]:
    """The fastest first."""
    return sorted(cases, key=lambda case: -case.median(RATE))


def unit_of(group: Group) -> str:
    return "each of " + page.plural(group.repetitions, "repetition") if group.repetitions > 1 else "one run each"


# --- Cases -----------------------------------------------------------------------------------------------------------


def cases(groups: Sequence[Group], album: figures.Album) -> Section | None:
    if sum(len(group.cases) for group in groups) < 2:
        return None  # the head of the page tells all
    blocks = by_group(groups, _cases, album)
    return Section("cases", "Cases", blocks) if blocks else None


def _cases(group: Group, album: figures.Album) -> list:
    if not group.cases:
        return []
    measured = ordered(group.measured())
    blocks: list = []
    if len(measured) > 1:
        blocks.append(Figures(_rates(group, measured, album)))
    rows = {id(case): _row(group, case) for case in group.cases}
    rest = [case for case in group.cases if case not in measured]
    columns = [*([] if group.unique() else [("case", False)]), *((short(axis), _numeric(group, axis)) for axis in group.told()), ("ranks × threads", False),
               ("time", True), ("spread", True), ("cell updates/s", True), ("share of copy bandwidth", True), ("imbalance", True),
               ("blocks at most", True), ("memory of a rank", True), ("runs", False)]
    caption = "The fastest first." if group.repetitions <= 1 else ("Medians over valid repetitions, the fastest first. Spread: from the "
                                                                   "least to the largest time, over the median.")
    table = compact(Table(caption, columns, [rows[id(case)] for case in measured + rest]))
    if len(group.cases) <= MANY:
        return blocks + [table]
    if len(measured) > FEW:
        blocks.append(compact(Table(f"The {ENDS} fastest and the {ENDS} slowest of {len(measured)} cases", columns,
                                    [rows[id(case)] for case in measured[:ENDS] + measured[-ENDS:]])))
    return blocks + [Details(f"All {len(group.cases)} cases in figures", [table])]


def _numeric(group: Group, axis: str) -> bool:
    return all(case.values.get(axis, "").rstrip("³").replace(".", "").isdigit() for case in group.cases)


def _row(group: Group, case: Case) -> list[Cell | str]:
    times = case.numbers(TIME)
    good = sum(run.status == "done" for run in case.runs)
    bad = [f"{sum(run.status == status for run in case.runs)} {status}" for status in ("failed", "timeout", "invalid")
           if any(run.status == status for run in case.runs)]
    what = Cell("" if good and not bad else ", ".join(([f"{good} valid"] if good else []) + bad) or "not run yet", good, "bad" if bad else "")
    machine = f"{case.ranks} × {case.threads}" + (f", {page.plural(case.gpus, 'GPU')}" if case.gpus else "")
    machine = machine.replace(" ", "\u00a0")
    values = [Cell(case.values.get(axis, ""), case.values.get(axis, "").rstrip("³")) for axis in group.told()]
    spread = (max(times) - min(times)) / statistics.median(times) if len(times) > 1 and statistics.median(times) else None
    return [*([] if group.unique() else [case.label]), *values, machine, cell(case.median(TIME), page.seconds), cell(spread, page.percent),
            cell(case.median(RATE)), cell(case.median(SHARE), page.percent), cell(case.median("balance.imbalance_mean"), page.percent),
            cell(case.median("totals.blocks_max"), lambda v: page.number(v, 4)),
            cell(case.median("totals.memory_bytes_max_rank"), page.bytes_), what]


def _rates(group: Group, measured: list[Case], album: figures.Album) -> list:
    header = ["case", "cell_updates_per_s median", "least", "most"]
    made = []
    if len(measured) <= FEW:
        data = [(case.brief, case.median(RATE), min(case.numbers(RATE)), max(case.numbers(RATE))) for case in measured]
        made.append(album.add(
            lambda: figures.dots([row[0] for row in data], [_series("", data)], "cell updates/s"), f"{group.name} rates",
            f"Cell updates a second of each case, the fastest first. Mark: median; line: least to most ({unit_of(group)}).",
            _ranking(data, "cell updates/s"), header, data))
        data_ = [(case.brief, 100 * case.median(SHARE), 100 * min(case.numbers(SHARE)), 100 * max(case.numbers(SHARE)))
                 for case in measured if case.median(SHARE) is not None]
        if data_:
            made.append(album.add(
                lambda: figures.dots([row[0] for row in data_], [_series("", data_)], "% of the copy bandwidth"), f"{group.name} shares",
                "Share of the copy bandwidth that was measured beside each run, in the same order.", _ranking(data_, "%"),
                ["case", "roofline_fraction median, %", "least", "most"], data_))
    else:
        ranked = [(k + 1, case.median(RATE), case.label) for k, case in enumerate(measured)]
        made.append(album.add(
            lambda: figures.lines([figures.Series("", [row[0] for row in ranked], [row[1] for row in ranked])], "case, by its rate",
                                  "cell updates/s", bottom=0, whole_x=True), f"{group.name} ranked",
            f"Median cell updates a second of all {len(measured)} cases, the fastest first.",
            f"Falling line from {page.number(ranked[0][1])} to {page.number(ranked[-1][1])} cell updates/s; half of the cases reach "
            f"{page.number(ranked[len(ranked) // 2][1])}.", ["place", "cell_updates_per_s", "case"], ranked))
    axes = group.swept()
    if len(measured) > 6 and axes:
        data = []
        for axis in axes:
            for value in by_value(case.values.get(axis, "–") for case in measured):
                rates = [case.median(RATE) for case in measured if case.values.get(axis, "–") == value]
                data.append((f"{short(axis)} {value}", geometric_mean(rates), min(rates), max(rates), len(rates)))
        made.append(album.add(
            lambda: figures.dots([f"{row[0]} ({row[4]})" for row in data], [_series("", data)],
                                 "cell updates/s", log=True),
            f"{group.name} axes", "What each axis does: geometric mean of the cell updates a second of all cases with a value. "
            "Line: the slowest to the fastest of them; in brackets: how many.", _ranking(data, "cell updates/s"), [*header, "cases"], data))
    return made


def _series(name: str, data: Sequence[tuple]) -> figures.Series:
    return figures.Series(name, [row[1] for row in data], range(len(data)), [row[2] for row in data], [row[3] for row in data])


def _ranking(data: Sequence[tuple], unit: str) -> str:
    top, last = max(data, key=lambda row: row[1]), min(data, key=lambda row: row[1])
    return (f"Dot plot with {page.plural(len(data), 'row')}. Highest: {top[0]}, {page.number(top[1])} {unit}; lowest: {last[0]}, "
            f"{page.number(last[1])} {unit}.")


# --- Phases ----------------------------------------------------------------------------------------------------------


def phases(groups: Sequence[Group], album: figures.Album) -> Section | None:
    blocks = by_group(groups, _phases, album)
    if not blocks:
        return None
    lead = Text("Shares of the run's time. On CPUs: phases, means over ranks. On GPUs: GPU time of the slowest rank, by events; "
                "“between stages” is what refinement, balancing, checks and output cost as far as stages do not hide it.")
    return Section("phases", "Where the time goes", [lead, *blocks])


def _shares(case: Case) -> dict[str, float]:
    """By phase; empty where a record lacks them."""
    if on_gpu(case):
        total = case.median(TIME)
        times = {name: case.median(f"device.{key}_s") or 0.0 for name, key in
                 (("stencil", "stencil"), ("faces", "faces"), ("waiting", "wait"), ("between stages", "between"))}
        times["other"] = max(0.0, total - sum(times.values()))
    else:
        times = {name: case.median(f"phases.{name}.mean_s") or 0.0 for name in figures.PHASES}
    total = sum(times.values())
    return {name: time / total for name, time in times.items()} if total > 0 else {}


def on_gpu(case: Case) -> bool:
    return case.first("device.backend") == "cuda" and bool(case.median("device.stencil_s"))


def bars(name: str, caption: str, rows: list[tuple[str, dict[str, float]]], album: figures.Album) -> page.Figure:
    parts_ = figures.PHASES if all(name in figures.PHASES for name in rows[0][1]) else figures.GPU_PHASES
    names = [name for name in parts_ if any(parts[name] > 0 for _, parts in rows)]
    spans = [f"{name} {page.percent(min(parts[name] for _, parts in rows), 0)} to "
             f"{page.percent(max(parts[name] for _, parts in rows), 0)}" for name in names]
    return album.add(lambda: figures.stacked_bars(rows, parts_), name, caption,
                     f"Stacked horizontal bars, {page.plural(len(rows), 'row')}; shares of the run's time: {', '.join(spans)}.",
                     ["case", *(f"{name} share" for name in names)], [(label, *(parts[name] for name in names)) for label, parts in rows])


def _phases(group: Group, album: figures.Album) -> list:
    known = [(case, shares) for case in ordered(group.measured()) if (shares := _shares(case))]
    kinds = [[one for one in known if on_gpu(one[0]) == gpu] for gpu in (False, True)]
    return [block for some in kinds if some for block in _phases_of(group, some, album)]


def _ranks(case: Case) -> Table:
    def value(name: str, key: str) -> float | None:
        return case.median(f"phases.{name}.{key}")

    return Table("Phases over ranks", [("phase", False), ("least", True), ("mean", True), ("most", True), ("calls", True)],
                 [[name, *(cell(value(name, key), page.seconds) for key in ("min_s", "mean_s", "max_s")), cell(value(name, "calls"))]
                  for name in figures.PHASES if value(name, "mean_s") is not None])


def _phases_of(group: Group, known: list[tuple[Case, dict]], album: figures.Album) -> list:
    """Cases of one kind: all on CPUs or all on GPUs."""
    def row(case: Case, shares: dict) -> tuple[str, dict]:
        return f"{page.seconds(case.median(TIME))}: {case.brief}", shares

    if len(known) <= FEW:
        if len(group.cases) == 1 and not on_gpu(known[0][0]):
            return [Figures([bars("phases", "Phases of the run.", [row(*known[0])], album)]), _ranks(known[0][0])]
        half = (len(known) + 1) // 2 if len(known) > 10 else len(known)
        parts = [known[:half], known[half:]] if half < len(known) else [known]
        return [Figures([bars(f"{group.name} phases", "Phases of each case, the fastest first; its time before its name"
                               + (f" ({k + 1} of {len(parts)})." if len(parts) > 1 else "."),
                               [row(*one) for one in part], album) for k, part in enumerate(parts)])]
    names = list(known[0][1])
    mean = []
    for axis in group.swept():
        for value in by_value(case.values.get(axis, "–") for case, _ in known):
            some = [shares for case, shares in known if case.values.get(axis, "–") == value]
            mean.append((f"{short(axis)} {value}: {page.plural(len(some), 'case')}",
                         {name: statistics.fmean(shares[name] for shares in some) for name in names}))
    made = [bars(f"{group.name} phases by axis", "Mean of the shares of all cases with a value of an axis.", mean[k:k + FEW], album)
            for k in range(0, len(mean), FEW)]
    for some, which in ((known[:ENDS], "fastest"), (known[-ENDS:], "slowest")):
        made.append(bars(f"{group.name} phases {which}", f"Phases of the {ENDS} {which} cases, the fastest first.",
                          [row(*one) for one in some], album))
    table = Table("Share of the run's time by phase, median over repetitions",
                  [("case", False), ("time", True), *((name, True) for name in names)],
                  [[case.label, cell(case.median(TIME), page.seconds), *(cell(shares[name], page.percent) for name in names)]
                   for case, shares in known])
    return [Figures(made), Details(f"Phases of all {len(known)} cases", [table])]


# --- Strategies ------------------------------------------------------------------------------------------------------


def strategies(group: Group, album: figures.Album) -> list:
    """Policies, partitioners, slices and weights: each case over the fastest one that differs from it in these alone."""
    found = _over_best(group)
    if len(found) < 2:
        return []
    rows = sorted(((label, geometric_mean(over), min(over), max(over), len(over), sum(x == 1 for x in over))
                   for label, over in found.items()), key=lambda row: row[1])
    pick = rows if len(rows) <= FEW else rows[:ENDS] + rows[-ENDS:]
    header = ["strategy", "time over the best (geometric mean)", "least", "most", "comparisons", "times best"]
    what = "all" if pick is rows else f"the {ENDS} best and the {ENDS} worst"
    made = [album.add(lambda: figures.dots([row[0] for row in pick], [_series("", pick)], "time over the fastest strategy's", ideal=1,
                                           log=max(row[3] for row in pick) > 4),
                      f"{group.name} strategies", "Time over that of the fastest strategy on the same case (1: the fastest): geometric "
                      f"mean over cases; line: least to most; {what} of {page.plural(len(rows), 'strategy', 'strategies')}.",
                      _ranking(pick, "times the best"), header, rows)]
    grid = _grid(group, album)
    table = Table("Strategies, the best first", [(title, k > 0) for k, title in enumerate(header)],
                  [[row[0], *(cell(x, lambda v: f"{v:.3f}") for x in row[1:4]), cell(row[4]), cell(row[5])] for row in rows])
    return [Figures(made + grid), table if len(rows) <= MANY else Details(f"All {len(rows)} strategies", [table])]


def _strategy(case: Case, names: Iterable[str]) -> dict[str, str]:
    return {name: shown(case.first(name, "–")) for name in names}


def _contexts(group: Group) -> dict[tuple, list[Case]]:
    """Cases that differ in strategy only, by all else."""
    found: dict[tuple, list[Case]] = {}
    for case in group.measured():
        rest = tuple(value for axis, value in case.values.items()
                     if axis not in STRATEGY and f"config.{axis}" not in STRATEGY)
        found.setdefault((rest, case.ranks, case.threads, case.gpus), []).append(case)
    return {key: some for key, some in found.items() if len(some) > 1}


def _over_best(group: Group) -> dict[str, list[float]]:
    contexts = _contexts(group)
    everything = [case for some in contexts.values() for case in some]
    varied = [name for name in STRATEGY if len({case.first(name) for case in everything}) > 1]
    found: dict[str, list[float]] = {}
    for some in contexts.values():
        labels = [", ".join(_strategy(case, varied).values()) for case in some]
        if len(set(labels)) < 2:
            continue
        best = max(case.median(RATE) for case in some)
        for case, label in zip(some, labels):
            found.setdefault(label, []).append(best / case.median(RATE))
    return found


def _grid(group: Group, album: figures.Album) -> list:
    """Policy by partition and slices, when both differ."""
    cells: dict[tuple[str, str], list[float]] = {}
    for some in _contexts(group).values():
        best = max(case.median(RATE) for case in some)
        slices = len({case.first("config.partition.slices") for case in some}) > 1
        for case in some:
            where = shown(case.first("config.partition.method", "–"))
            if slices:
                where += f", {case.first('config.partition.slices', '–')}"
            cells.setdefault((where, shown(case.first("config.balance.policy", "–"))), []).append(best / case.median(RATE))
    wheres, policies = by_value(key[0] for key in cells), by_value(key[1] for key in cells)
    if len(wheres) < 2 or len(policies) < 2 or len(wheres) > FEW or len(policies) > 12:
        return []
    values = [[geometric_mean(cells[where, policy]) if (where, policy) in cells else None for policy in policies] for where in wheres]
    worst = max((value, where, policy) for where, line in zip(wheres, values) for policy, value in zip(policies, line) if value)
    return [album.add(lambda: figures.heat_map(policies, wheres, values, "balance.policy", "partition", "time over the best",
                                               lambda v: f"{v:.2f}", log=True, reverse=True),
                      f"{group.name} strategies grid", "Time over that of the fastest strategy on the same case, geometric mean over cases.",
                      f"Heat map of {len(wheres)} partitions by {len(policies)} policies; the worst is {worst[1]} with {worst[2]}, "
                      f"{worst[0]:.2f} times the best.", ["partition", *policies], [(w, *line) for w, line in zip(wheres, values)])]


# --- Over time -------------------------------------------------------------------------------------------------------


def over_time(groups: Sequence[Group], album: figures.Album) -> Section | None:
    blocks = by_group(groups, _over_time, album)
    if not blocks:
        return None
    lead = Text("At each refinement: the largest load of a rank over the mean, minus 1, and the blocks of the mesh by level.")
    return Section("time", "Over time", [lead, *blocks])


def _thin(rows: list[dict]) -> list[dict]:
    stride = -(-len(rows) // THIN)
    return rows[::stride]


def _values(rows: list[dict], name: str) -> list[float]:
    return [row[name] if isinstance(row.get(name), (int, float)) else float("nan") for row in rows]


def _over_time(group: Group, album: figures.Album) -> list:
    known = [(case, rows) for case in group.cases if len(rows := [r for r in case.series() if isinstance(r.get("step"), (int, float))]) > 1]
    if not known:
        return []
    made = []
    with_load = sorted((one for one in known if any(isinstance(row.get("imbalance"), (int, float)) for row in one[1])),
                       key=lambda one: one[0].median("balance.imbalance_mean") or 0)
    if with_load:
        most = 6 if len(with_load) <= 6 else 5
        picked = [with_load[round(k * (len(with_load) - 1) / max(1, most - 1))] for k in range(min(most, len(with_load)))]
        made.append(_imbalance(group, picked, len(with_load), album))
    meshes: dict[str, tuple[Case, list[dict]]] = {}
    for case, rows in known:
        if all(isinstance(row.get("blocks_by_level"), list) and row["blocks_by_level"] for row in rows):
            meshes.setdefault(str([row["blocks_by_level"] for row in rows]), (case, rows))
    chosen = list(meshes.values())
    chosen = chosen if len(chosen) <= 4 else [chosen[round(k * (len(chosen) - 1) / 3)] for k in range(4)]
    made += [_levels(group, case, rows, len(meshes), album) for case, rows in chosen]
    return [Figures(made), *([_decisions(with_load)] if with_load else [])] if made else []


def _imbalance(group: Group, picked: list, total: int, album: figures.Album) -> page.Figure:
    data = [(case.label, row["step"], row.get("imbalance"), row.get("imbalance_after"), row.get("decision", "")) for case, rows in picked
            for row in rows]
    series = []
    for case, rows in picked:
        thin = _thin(rows)
        name = case.brief if len(picked) > 1 else "as refinement left it"
        series.append(figures.Series(name, _values(thin, "step"), [100 * x for x in _values(thin, "imbalance")]))
        if len(picked) == 1 and any("imbalance_after" in row for row in rows):
            series.append(figures.Series("after the decision", _values(thin, "step"), [100 * x for x in _values(thin, "imbalance_after")]))
    which = "" if total == len(picked) else f" {len(picked)} of {total} cases, spread from the least to the most imbalanced."
    peaks = [f"{case.brief} at most {page.percent(max(x for x in _values(rows, 'imbalance') if x == x))}" for case, rows in picked]
    return album.add(lambda: figures.lines(series, "time step", "imbalance (%)", steps=True, bottom=0, whole_x=True),
                     f"{group.name} imbalance", f"Imbalance after each refinement, before blocks were placed anew.{which}",
                     f"Stepped lines over time steps. {'; '.join(peaks)}.",
                     ["case", "step", "imbalance", "imbalance_after", "decision"], data)


def _decisions(known: list) -> Table | Details:
    """How often each case placed blocks anew, and what imbalance it had."""
    rows = []
    for case, lines in known:
        loads = [x for x in _values(lines, "imbalance") if x == x]
        after = [x for x in _values(lines, "imbalance_after") if x == x]
        count = {name: sum(row.get("decision") == name for row in lines) for name in ("leave", "incremental", "full")}
        rows.append([case.brief, cell(len(lines)), *(cell(n) for n in count.values()),
                     cell(sum(loads) / len(loads) if loads else None, page.percent), cell(max(loads, default=None), page.percent),
                     cell(sum(after) / len(after) if after else None, page.percent),
                     cell(sum(x for x in _values(lines, "blocks_migrated") if x == x), page.number)])
    table = compact(Table("Decisions at refinements, and imbalance before and after them", [
        ("case", False), ("refinements", True), ("left", True), ("incremental", True), ("full", True), ("imbalance, mean", True),
        ("at most", True), ("mean after", True), ("blocks moved", True)], rows))
    return table if len(rows) <= MANY else Details(f"Decisions of all {len(rows)} cases", [table])


def _levels(group: Group, case: Case, rows: list[dict], meshes: int, album: figures.Album) -> page.Figure:
    depth = max(len(row["blocks_by_level"]) for row in rows)
    levels = [[*row["blocks_by_level"], *[0] * (depth - len(row["blocks_by_level"]))] for row in rows]
    thin = _thin(list(zip(_values(rows, "step"), levels)))
    layers = {f"level {k}": [line[k] for _, line in thin] for k in range(depth) if any(line[k] for _, line in thin)}
    totals = [sum(line) for line in levels]
    same = f" One of {meshes} different meshes." if meshes > 1 else ""
    return album.add(lambda: figures.stacked_steps([step for step, _ in thin], layers, "time step", "blocks"), f"{group.name} levels",
                     f"Blocks by level: {case.brief}.{same}",
                     f"Stacked areas over time steps, {len(layers)} levels; from {page.number(totals[0], 4)} blocks at the start to "
                     f"{page.number(totals[-1], 4)} at the end, {page.number(max(totals), 4)} at most.",
                     ["step", *(f"level {k}" for k in range(depth))], [(row["step"], *line) for row, line in zip(rows, levels)])


# --- Share of the copy bandwidth -------------------------------------------------------------------------------------


def roofline(groups: Sequence[Group], album: figures.Album) -> Section | None:
    blocks = by_group(groups, _roofline, album)
    if not blocks:
        return None
    lead = Text("One read and one write of a value for each update, over the run's whole time, refinement and exchange included, as a share "
                "of the copy bandwidth measured beside the run. Median over the cases of a cell.")
    return Section("roofline", "Share of the copy bandwidth", [lead, *blocks])


def _roofline(group: Group, album: figures.Album) -> list:
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
        if len(cells) < 3 or len(blocks) > 16 or len(variables) > 16:
            continue
        values = [[statistics.median(cells[b, v]) if (b, v) in cells else None for v in variables] for b in blocks]
        known = sorted((value, f"{b} cells, {v} variables") for b, line in zip(blocks, values) for v, value in zip(variables, line)
                       if value is not None)
        made.append(share_map(album, f"{group.name} roofline", f"Share of the copy bandwidth by block size and variables: {what}.",
                              variables, blocks, values, known))
    return [Figures(made)] if made else []


def share_map(album: figures.Album, name: str, caption: str, variables: list[str], blocks: list[str], values: list, known: list) -> page.Figure:
    return album.add(lambda: figures.heat_map(variables, blocks, values, "variables", "block (cells)", "% of copy bandwidth",
                                              lambda v: f"{100 * v:.0f}", span=(0, max(1, known[-1][0]))), name, caption,
                     f"Heat map of {len(blocks)} block sizes by {len(variables)} numbers of variables. Highest: {known[-1][1]}, "
                     f"{page.percent(known[-1][0], 0)}; lowest: {known[0][1]}, {page.percent(known[0][0], 0)}.",
                     ["block", *(f"{v} variables" for v in variables)], [(b, *line) for b, line in zip(blocks, values)])
