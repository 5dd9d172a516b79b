"""Sections of a report about runs: cases, phases, strategies."""
import pathlib
import statistics
from typing import Any, Callable, Iterable, Sequence

from . import figures, page
from .album import Album
from .page import Cell, Details, Figures, Part, Section, Table, Text, cell, compact
from .report_data import RATE, SHARE, STRATEGY, TIME, Case, Group, Material, by_value, geometric_mean, short, shown

FEW = 30  # cases that are shown one by one in a figure
MANY = 16  # rows of a table that stay unfolded
ENDS = 10  # of more cases: so many from the top and from the bottom


def guarded(material: Material, path: pathlib.Path, make: Callable, *arguments: Any) -> list:
    """Blocks that `make` makes; of a record whose values are not what its kind promises none, and it is skipped."""
    try:
        return make(*arguments)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        material.skipped.append((path, page.shorten(f"cannot be shown whole: {type(error).__name__}: {error}", 200)))
        return []


def by_group(material: Material, make: Callable, album: Album) -> list:
    """Blocks of each group of runs; under its title when several groups have some."""
    groups = material.runs()
    made = [(group, blocks) for group in groups if (blocks := guarded(material, group.path, make, group, album))]
    if len(groups) == 1 and made:
        return made[0][1]
    return [Part(group.title, blocks) for group, blocks in made]


def ordered(cases: Iterable[Case]) -> list[Case]:
    """The fastest first."""
    return sorted(cases, key=lambda case: -case.median(RATE))


def unit_of(group: Group) -> str:
    """What a mark stands for: the valid repetitions that are there, in an unfinished study fewer than asked for."""
    counts = sorted({len(case.numbers(RATE)) for case in group.measured()})
    if not counts or counts == [1]:
        return "one run each"
    if len(counts) == 1:
        return "each of " + page.plural(counts[0], "repetition")
    return f"each of {counts[0]} to {counts[-1]} repetitions"


# --- Cases -----------------------------------------------------------------------------------------------------------


def cases(material: Material, album: Album) -> Section | None:
    if sum(len(group.cases) for group in material.runs()) < 2:
        return None  # the head of the page tells all
    blocks = by_group(material, _cases, album)
    return Section("cases", "Cases", blocks) if blocks else None


def _cases(group: Group, album: Album) -> list:
    if not group.cases:
        return []
    measured = ordered(group.measured())
    blocks: list = []
    if len(measured) > 1:
        blocks.append(Figures(_rates(group, measured, album)))
    rows = {id(case): _row(group, case) for case in group.cases}
    rest = [case for case in group.cases if case not in measured]
    columns = [
        *([] if group.unique else [("case", False)]),
        *((short(axis), _numeric(group, axis)) for axis in group.told()), ("ranks × threads", False), ("time", True),
        ("spread", True), ("cell updates/s", True), ("share of copy bandwidth", True), ("imbalance", True),
        ("blocks at most", True), ("memory of a rank", True), ("runs", False)
    ]
    caption = "The fastest first." if group.repetitions <= 1 else (
        "Medians over valid repetitions, the fastest first. Spread: from the "
        "least to the largest time, over the median.")
    table = compact(Table(caption, columns, [rows[id(case)] for case in measured + rest]))
    if len(group.cases) <= MANY:
        return blocks + [table]
    if len(measured) > FEW:
        blocks.append(
            compact(
                Table(f"The {ENDS} fastest and the {ENDS} slowest of {len(measured)} cases", columns,
                      [rows[id(case)] for case in measured[:ENDS] + measured[-ENDS:]])))
    return blocks + [Details(f"All {len(group.cases)} cases in figures", [table])]


def _numeric(group: Group, axis: str) -> bool:
    return all(case.values.get(axis, "").rstrip("³").replace(".", "").isdigit() for case in group.cases)


def _row(group: Group, case: Case) -> list[Cell | str]:
    times = case.numbers(TIME)
    good = sum(run.status == "done" for run in case.runs)
    bad = [
        f"{sum(run.status == status for run in case.runs)} {status}" for status in ("failed", "timeout", "invalid")
        if any(run.status == status for run in case.runs)
    ]
    what = Cell("" if good and not bad else ", ".join(([f"{good} valid"] if good else []) + bad) or "not run yet", good,
                "bad" if bad else "")
    machine = f"{case.ranks} × {case.threads}" + (f", {page.plural(case.gpus, 'GPU')}" if case.gpus else "")
    machine = machine.replace(" ", "\u00a0")
    values = [Cell(case.values.get(axis, ""), case.values.get(axis, "").rstrip("³")) for axis in group.told()]
    spread = (max(times) -
              min(times)) / statistics.median(times) if len(times) > 1 and statistics.median(times) else None
    return [
        *([] if group.unique else [case.label]), *values, machine,
        cell(case.median(TIME), page.seconds),
        cell(spread, page.percent),
        cell(case.median(RATE)),
        cell(case.median(SHARE), page.percent),
        cell(case.median("balance.imbalance_mean"), page.percent),
        cell(case.median("totals.blocks_max"), lambda v: page.number(v, 4)),
        cell(case.median("totals.memory_bytes_max_rank"), page.bytes_), what
    ]


def _rates(group: Group, measured: list[Case], album: Album) -> list:
    header = ["case", "cell_updates_per_s median", "least", "most"]
    made = []
    if len(measured) <= FEW:
        data = [(case.brief, case.median(RATE), min(case.numbers(RATE)), max(case.numbers(RATE))) for case in measured]
        made.append(
            album.add(
                lambda: figures.dots([row[0] for row in data], [row_series("", data)], "cell updates/s"),
                f"{group.name} rates",
                f"Cell updates a second of each case, the fastest first. Mark: median; line: least to most "
                f"({unit_of(group)}).",
                ranking(data, "cell updates/s"), header, data))
        data_ = [(case.brief, 100 * case.median(SHARE), 100 * min(case.numbers(SHARE)), 100 * max(case.numbers(SHARE)))
                 for case in measured if case.median(SHARE) is not None]
        if data_:
            made.append(
                album.add(
                    lambda: figures.dots([row[0] for row in data_], [row_series("", data_)], "% of the copy bandwidth"),
                    f"{group.name} shares",
                    "Share of the copy bandwidth that was measured beside each run, in the same order.",
                    ranking(data_, "%"), ["case", "roofline_fraction median, %", "least", "most"], data_))
    else:
        ranked = [(k + 1, case.median(RATE), case.label) for k, case in enumerate(measured)]
        made.append(
            album.add(
                lambda: figures.lines([figures.Series("", [row[0] for row in ranked], [row[1] for row in ranked])],
                                      "case, by its rate",
                                      "cell updates/s",
                                      bottom=0,
                                      whole_x=True), f"{group.name} ranked",
                f"Median cell updates a second of all {len(measured)} cases, the fastest first.",
                f"Falling line from {page.number(ranked[0][1])} to {page.number(ranked[-1][1])} cell updates/s; half "
                "of the cases reach "
                f"{page.number(ranked[len(ranked) // 2][1])}.", ["place", "cell_updates_per_s", "case"], ranked))
    axes = group.swept()
    if len(measured) > 6 and axes:
        data = []
        for axis in axes:
            for value in by_value(case.values.get(axis, "–") for case in group.cases):
                rates = [case.median(RATE) for case in measured if case.values.get(axis, "–") == value]
                if rates:
                    data.append((f"{short(axis)} {value}", geometric_mean(rates), min(rates), max(rates), len(rates)))
        made.append(
            album.add(
                lambda: figures.dots(
                    [f"{row[0]} ({row[4]})"
                     for row in data], [row_series("", data)], "cell updates/s", log=True), f"{group.name} axes",
                "What each axis does: geometric mean of the cell updates a second of all cases with a value. "
                "Line: the slowest to the fastest of them; in brackets: how many.", ranking(data, "cell updates/s"),
                [*header, "cases"], data))
    return made


def row_series(name: str, data: Sequence[tuple]) -> figures.Series:
    return figures.Series(name, [row[1] for row in data], range(len(data)), [row[2] for row in data],
                          [row[3] for row in data])


def ranking(data: Sequence[tuple], unit: str) -> str:
    top, last = max(data, key=lambda row: row[1]), min(data, key=lambda row: row[1])
    return (
        f"Dot plot with {page.plural(len(data), 'row')}. Highest: {top[0]}, {page.number(top[1])} {unit}; lowest: "
        f"{last[0]}, "
        f"{page.number(last[1])} {unit}.")


# --- Phases ----------------------------------------------------------------------------------------------------------


def phases(material: Material, album: Album) -> Section | None:
    blocks = by_group(material, _phases, album)
    if not blocks:
        return None
    lead = Text(
        "Shares of the run's time. On CPUs: phases, means over ranks. On GPUs: GPU time of the slowest rank, by "
        "events; "
        "“between stages” is what refinement, balancing, checks and output cost as far as stages do not hide it.")
    return Section("phases", "Where the time goes", [lead, *blocks])


def _shares(case: Case) -> dict[str, float]:
    """By phase; empty where a record lacks them."""
    if on_gpu(case):
        total = case.median(TIME)
        times = {
            name: case.median(f"device.{key}_s") or 0.0
            for name, key in (("stencil", "stencil"), ("faces", "faces"), ("waiting", "wait"), ("between stages",
                                                                                                "between"))
        }
        times["other"] = max(0.0, total - sum(times.values()))
    else:
        times = {name: case.median(f"phases.{name}.mean_s") or 0.0 for name in figures.PHASES}
    total = sum(times.values())
    return {name: time / total for name, time in times.items()} if total > 0 else {}


def on_gpu(case: Case) -> bool:
    return case.first("device.backend") == "cuda" and bool(case.median("device.stencil_s"))


def bars(name: str, caption: str, rows: list[tuple[str, dict[str, float]]], album: Album) -> page.Figure:
    parts_ = figures.PHASES if all(name in figures.PHASES for name in rows[0][1]) else figures.GPU_PHASES
    names = [name for name in parts_ if any(parts[name] > 0 for _, parts in rows)]
    spans = [
        f"{name} {page.percent(min(parts[name] for _, parts in rows), 0)} to "
        f"{page.percent(max(parts[name] for _, parts in rows), 0)}" for name in names
    ]
    return album.add(
        lambda: figures.stacked_bars(rows, parts_), name, caption,
        f"Stacked horizontal bars, {page.plural(len(rows), 'row')}; shares of the run's time: {', '.join(spans)}.",
        ["case", *(f"{name} share" for name in names)], [(label, *(parts[name] for name in names))
                                                         for label, parts in rows])


def _phases(group: Group, album: Album) -> list:
    known = [(case, shares) for case in ordered(group.measured()) if (shares := _shares(case))]
    kinds = [[one for one in known if on_gpu(one[0]) == gpu] for gpu in (False, True)]
    return [block for some in kinds if some for block in _phases_of(group, some, album)]


def _ranks(case: Case) -> Table:

    def value(name: str, key: str) -> float | None:
        return case.median(f"phases.{name}.{key}")

    return Table("Phases over ranks",
                 [("phase", False), ("least", True), ("mean", True), ("most", True), ("calls", True)], [[
                     name, *(cell(value(name, key), page.seconds) for key in ("min_s", "mean_s", "max_s")),
                     cell(value(name, "calls"))
                 ] for name in figures.PHASES if value(name, "mean_s") is not None])


def _phases_of(group: Group, known: list[tuple[Case, dict]], album: Album) -> list:
    """Cases of one kind: all on CPUs or all on GPUs."""

    def row(case: Case, shares: dict) -> tuple[str, dict]:
        return f"{page.seconds(case.median(TIME))}: {case.brief}", shares

    if len(known) <= FEW:
        if len(group.cases) == 1 and not on_gpu(known[0][0]):
            return [Figures([bars("phases", "Phases of the run.", [row(*known[0])], album)]), _ranks(known[0][0])]
        half = (len(known) + 1) // 2 if len(known) > 10 else len(known)
        parts = [known[:half], known[half:]] if half < len(known) else [known]
        return [
            Figures([
                bars(
                    f"{group.name} phases", "Phases of each case, the fastest first; its time before its name" +
                    (f" ({k + 1} of {len(parts)})." if len(parts) > 1 else "."), [row(*one) for one in part], album)
                for k, part in enumerate(parts)
            ])
        ]
    names = list(known[0][1])
    mean = []
    for axis in group.swept():
        for value in by_value(case.values.get(axis, "–") for case in group.cases):
            some = [shares for case, shares in known if case.values.get(axis, "–") == value]
            if not some:
                continue
            mean.append((f"{short(axis)} {value}: {page.plural(len(some), 'case')}",
                         {name: statistics.fmean(shares[name] for shares in some) for name in names}))
    made = [
        bars(f"{group.name} phases by axis", "Mean of the shares of all cases with a value of an axis.",
             mean[k:k + FEW], album) for k in range(0, len(mean), FEW)
    ]
    for some, which in ((known[:ENDS], "fastest"), (known[-ENDS:], "slowest")):
        made.append(
            bars(f"{group.name} phases {which}", f"Phases of the {ENDS} {which} cases, the fastest first.",
                 [row(*one) for one in some], album))
    table = Table(
        "Share of the run's time by phase, median over repetitions",
        [("case", False), ("time", True), *((name, True) for name in names)],
        [[case.label,
          cell(case.median(TIME), page.seconds), *(cell(shares[name], page.percent) for name in names)]
         for case, shares in known])
    return [Figures(made), Details(f"Phases of all {len(known)} cases", [table])]


# --- Strategies ------------------------------------------------------------------------------------------------------


def strategies(group: Group, album: Album) -> list:
    """Policies, partitioners, slices and weights: each case over the fastest that differs in these alone."""
    found = _over_best(group)
    if len(found) < 2:
        return []
    rows = sorted(((label, geometric_mean(over), min(over), max(over), len(over), sum(x == 1 for x in over))
                   for label, over in found.items()),
                  key=lambda row: row[1])
    pick = rows if len(rows) <= FEW else rows[:ENDS] + rows[-ENDS:]
    header = ["strategy", "time over the best (geometric mean)", "least", "most", "comparisons", "times best"]
    what = "all" if pick is rows else f"the {ENDS} best and the {ENDS} worst"
    made = [
        album.add(
            lambda: figures.dots([row[0] for row in pick], [row_series("", pick)],
                                 "time over the fastest strategy's",
                                 ideal=1,
                                 log=max(row[3] for row in pick) > 4), f"{group.name} strategies",
            "Time over that of the fastest strategy on the same case (1: the fastest): geometric "
            f"mean over cases; line: least to most; {what} of {page.plural(len(rows), 'strategy', 'strategies')}.",
            ranking(pick, "times the best"), header, rows)
    ]
    grid = _grid(group, album)
    table = Table(
        "Strategies, the best first", [(title, k > 0) for k, title in enumerate(header)],
        [[row[0], *(cell(x, lambda v: f"{v:.3f}") for x in row[1:4]),
          cell(row[4]), cell(row[5])] for row in rows])
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


def _grid(group: Group, album: Album) -> list:
    """Policy by partition and slices, when both differ."""
    cells: dict[tuple[str, str], list[float]] = {}
    for some in _contexts(group).values():
        best = max(case.median(RATE) for case in some)
        slices = len({case.first("config.partition.slices") for case in some}) > 1
        for case in some:
            where = shown(case.first("config.partition.method", "–"))
            if slices:
                where += f", {case.first('config.partition.slices', '–')}"
            cells.setdefault((where, shown(case.first("config.balance.policy", "–"))),
                             []).append(best / case.median(RATE))
    wheres, policies = by_value(key[0] for key in cells), by_value(key[1] for key in cells)
    if len(wheres) < 2 or len(policies) < 2 or len(wheres) > FEW or len(policies) > 12:
        return []
    values = [[geometric_mean(cells[where, policy]) if (where, policy) in cells else None for policy in policies]
              for where in wheres]
    worst = max(
        (value, where, policy) for where, line in zip(wheres, values) for policy, value in zip(policies, line) if value)
    return [
        album.add(
            lambda: figures.heat_map(policies,
                                     wheres,
                                     values,
                                     "balance.policy",
                                     "partition",
                                     "time over the best",
                                     lambda v: f"{v:.2f}",
                                     log=True,
                                     reverse=True), f"{group.name} strategies grid",
            "Time over that of the fastest strategy on the same case, geometric mean over cases.",
            f"Heat map of {len(wheres)} partitions by {len(policies)} policies; the worst is {worst[1]} with "
            f"{worst[2]}, "
            f"{worst[0]:.2f} times the best.", ["partition", *policies], [(w, *line)
                                                                          for w, line in zip(wheres, values)])
    ]
