"""What a report is made from: records in groups of cases, medians over repetitions, axes along which cases differ.

A group is a result set of a sweep, a file of GPU runs, or all run records that stand alone. Repetitions of a case are
summed up by their median. Records of other kinds are kept as they are, with the label of their case.
"""
import collections
import dataclasses
import functools
import math
import os
import pathlib
import statistics
from typing import Any, Iterable, Sequence

from . import page, records

# Along which runs that no study describes may differ, with the short name of each.
AXES = {
    "config.run.name": "name", "config.run.stencil": "stencil", "config.mesh.block": "block",
    "config.mesh.max_level": "max_level", "config.fields.variables": "variables",
    "config.run.refine_every": "refine_every", "config.partition.method": "partition",
    "config.partition.slices": "slices", "config.balance.policy": "policy", "config.balance.weights": "weights",
    "device.backend": "backend", "provenance.ranks": "ranks", "provenance.threads": "threads", "device.gpus": "gpus"
}
STRATEGY = {
    "config.balance.policy": "policy", "config.partition.method": "partition", "config.partition.slices": "slices",
    "config.balance.weights": "weights"
}
RATE, TIME, SHARE = "rates.cell_updates_per_s", "totals.time_s", "rates.roofline_fraction"
TEXT_MAX = 65536  # bytes of a note
TAIL = 3000  # characters kept of a failed run's output


@dataclasses.dataclass
class Run:
    """A repetition of a case; `flat` is its record as a row, empty when there is none."""

    status: str  # done, failed, timeout, invalid
    seconds: float
    message: str = ""
    repetition: int = 0
    flat: dict[str, Any] = dataclasses.field(default_factory=dict)
    series: list[dict] = dataclasses.field(default_factory=list)
    output: str = ""
    folder: pathlib.Path | None = None  # of its record


@dataclasses.dataclass
class Case:
    label: str
    values: dict[str, str]
    ranks: int
    threads: int
    gpus: int
    runs: list[Run]
    command: str = ""
    brief: str = ""  # for figures: the values of the axes alone

    @property
    def flats(self) -> list[dict[str, Any]]:
        """Records of valid repetitions."""
        return [run.flat for run in self.runs if run.flat and run.status == "done"]

    def numbers(self, name: str) -> list[float]:
        found = [flat.get(name) for flat in self.flats]
        return [x for x in found if isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)]

    def median(self, name: str) -> float | None:
        found = self.numbers(name)
        return statistics.median(found) if found else None

    def first(self, name: str, other: Any = None) -> Any:
        return next((flat[name] for flat in self.flats if flat.get(name) is not None), other)

    def series(self) -> list[dict]:
        return next((run.series for run in self.runs if run.series and run.status == "done"), [])


@dataclasses.dataclass
class Group:
    """Cases that belong together. `axes`: names of what differs between them, in the order in which they were given."""

    name: str
    title: str
    question: str
    path: pathlib.Path
    kind: str  # study, gpu_runs, run
    axes: list[str]
    cases: list[Case]
    scaling: str | None = None
    finished: bool = True
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)
    repetitions: int = 0
    command: str = "run"

    def __post_init__(self):
        briefs = [_brief(case, self.axes) if self.kind == "study" else case.label for case in self.cases]
        count = collections.Counter(briefs)
        for case, brief in zip(self.cases, briefs):
            case.brief = brief if brief and count[brief] == 1 else case.label

    @functools.cached_property
    def unique(self) -> bool:
        """Whether the values of the axes tell each case from all others."""
        values = {tuple(case.values.get(axis) for axis in self.axes) for case in self.cases}
        return self.kind == "study" and len(values) == len(self.cases)

    def told(self) -> list[str]:
        """Axes that a case's label and machine do not tell already."""
        silent = {"config.run.name", "provenance.ranks", "provenance.threads", "device.gpus"}
        return [axis for axis in self.axes if axis not in silent]

    def swept(self) -> list[str]:
        """Axes over which it makes sense to sum cases up."""
        axes = self.axes if self.kind == "study" else [] if self.kind == "gpu_runs" else self.told()
        return [axis for axis in axes if 1 < len({case.values.get(axis) for case in self.cases}) <= 12]

    def measured(self) -> list[Case]:
        """Cases with a time and a rate."""
        return [case for case in self.cases if case.median(RATE) and case.median(TIME)]

    def counts(self) -> dict[str, int]:
        """Repetitions by status."""
        found = dict.fromkeys(records.STATUSES, 0)
        for run in (run for case in self.cases for run in case.runs):
            found[run.status] += 1
        return found


@dataclasses.dataclass
class Material:
    """All that was found. `others`: by kind, (label, record)."""

    groups: list[Group]
    others: dict[str, list[tuple[str, records.Record]]]
    sources: list[records.Record]
    texts: list[tuple[pathlib.Path, str]]
    skipped: list[tuple[pathlib.Path, str]]

    def runs(self) -> list[Group]:
        return [group for group in self.groups if group.command == "run"]

    def empty(self) -> bool:
        return not (self.groups or self.others)


def short(axis: str) -> str:
    """`mesh.block` and `config.mesh.block` are shown as `block`."""
    return axis.rsplit(".", 1)[-1]


def shown(value: Any) -> str:
    """A configuration's value as a label: `8;8;8` and [8, 8, 8] are 8³."""
    if isinstance(value, list):
        value = ";".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    parts = str(value).split(";")
    return f"{parts[0]}³" if len(parts) == 3 and len(set(parts)) == 1 and parts[0].isdigit() else page.clean(value)


def by_value(values: Iterable[str]) -> list[str]:
    """Each once, numbers by size before words in the order in which they came."""
    return sorted(dict.fromkeys(values),
                  key=lambda text: (0, float(text.rstrip("³"))) if _is_number(text) else (1, 0.0))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text.rstrip("³")))
    except ValueError:
        return False


def _brief(case: Case, axes: Sequence[str]) -> str:
    values = [(short(axis), case.values.get(axis, "–")) for axis in axes]
    return ", ".join(value if not _is_number(value) and value not in ("true", "false", "–") else f"{name} {value}"
                     for name, value in values)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


# --- Gathering -------------------------------------------------------------------------------------------------------


def gather(paths: Sequence[str]) -> Material:
    """Reads all records below the paths. Files that are no records are in `skipped`, with the reason."""
    found, skipped = records.find_records(paths)
    by_path = {os.path.realpath(record.path): record for record in found}
    groups, others, taken = [], {}, set()
    for record in found:
        if record.kind == "study":
            groups.append(_study(record, by_path, taken, others, skipped))
    inside = [os.path.realpath(record.path.parent) + os.sep for record in found if record.kind == "study"]
    alone = []
    for real, record in by_path.items():
        if record.kind == "study" or real in taken:
            continue
        if any(real.startswith(folder) for folder in inside):
            skipped.append((record.path, "inside a result set, but its study.json does not name it"))
        elif record.kind == "run":
            alone.append(record)
        elif record.kind == "gpu_runs":
            groups.append(_collection(record))
        else:
            others.setdefault(record.kind, []).append(("", record))
    if alone:
        groups.append(_alone(alone))
    texts = _texts([record for real, record in by_path.items() if real not in taken])
    sources = [record for real, record in by_path.items() if real not in taken]
    return Material(groups, others, sources, texts, sorted(skipped, key=lambda one: str(one[0])))


def _run(record: records.Record | None, status: str, seconds: float, **more: Any) -> Run:
    if record is None or record.kind not in ("run", "miniamr"):
        return Run(status, seconds, **more)
    if record.kind == "miniamr":
        return Run(status, seconds, flat=records.flatten(record), **more)
    series = record.data.get("series")
    rows = [row for row in series if isinstance(row, dict)] if isinstance(series, list) else []
    if status == "done" and not record.data["valid"]:
        status = "invalid"
    return Run(status, seconds, flat=records.flatten(record), series=rows, folder=record.path.parent, **more)


def _study(record: records.Record, by_path: dict, taken: set, others: dict, skipped: list) -> Group:
    data, folder = record.data, record.path.parent
    cases = []
    for case in data["cases"]:
        runs = []
        for run in sorted(case["runs"], key=lambda one: one["repetition"]):
            one = None
            if run.get("record"):
                real = os.path.realpath(folder / page.clean(run["record"]))
                if real not in by_path:
                    try:
                        by_path[real] = records.read_record(folder / page.clean(run["record"]))
                    except records.RecordError as error:
                        if not any(os.path.realpath(path) == real for path, _ in skipped):
                            skipped.append((error.path, error.reason))
                one = by_path.get(real)
                taken.add(real)
            elif run["status"] == "done":
                one = _miniamr(folder / "cases" / case["id"] / str(run["repetition"]))
            output = _tail(folder / "cases" / case["id"] / str(run["repetition"]) /
                           "output.txt") if run["status"] != "done" else ""
            runs.append(
                _run(one,
                     run["status"],
                     run["seconds"],
                     message=run["message"],
                     repetition=run["repetition"],
                     output=output))
            if one is not None and one.kind not in ("run", "miniamr"):
                others.setdefault(one.kind, []).append((case["label"], one))
        values = {name: shown(value) for name, value in case["values"].items()}
        cases.append(
            Case(page.clean(case["label"]), values, case["ranks"], case["threads"], case["gpus"], runs,
                 " ".join(case["command_line"])))
    return Group(data["name"], data["title"] or data["name"], data["question"], record.path, "study",
                 [axis for axis in data["axes"] if len({case.values.get(axis) for case in cases}) > 1], cases,
                 data.get("scaling"), data["finished"], data["provenance"], data["repetitions"], data["command"])


def _miniamr(folder: pathlib.Path) -> records.Record | None:
    """What a sweep keeps of a run of miniAMR; study.json does not name it."""
    try:
        return records.read_record(folder / ".miniamr.json")
    except records.RecordError:
        return None


def _tail(path: pathlib.Path) -> str:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return ("…" if size > TAIL else "") + text.strip()


def _collection(record: records.Record) -> Group:
    cases = []
    for run, one in zip(record.data["runs"], records.members(record)):
        flat = records.flatten(one)
        gpus = run["gpus"]
        cases.append(
            Case(f"{page.clean(run['case'])}, {page.plural(gpus, 'GPU')}", {}, flat["provenance.ranks"],
                 flat["provenance.threads"], gpus, [_run(one, "done", flat[TIME])],
                 flat.get("provenance.launch") or ""))
    return _with_axes(
        Group(record.path.stem,
              f"GPU runs: {record.path.parent.name}/{record.path.name}",
              "",
              record.path,
              "gpu_runs", [],
              cases,
              provenance=record.data["runs"][0]["record"]["provenance"]))


def _alone(found: Sequence[records.Record]) -> Group:
    cases = []
    for record in found:
        flat = records.flatten(record)
        cases.append(
            Case(page.clean(record.case), {}, flat["provenance.ranks"], flat["provenance.threads"],
                 int(flat.get("device.gpus") or 0), [_run(record, "done", flat[TIME])],
                 flat.get("provenance.launch") or ""))
    group = _with_axes(
        Group("runs", "Runs", "", found[0].path.parent, "run", [], cases, provenance=found[0].data["provenance"]))
    for case, record in zip(group.cases, found):
        told = [f"{short(axis)} {case.values[axis]}" for axis in group.axes if axis != "config.run.name"]
        case.label = ", ".join([case.label, *told])
    labels = [case.label for case in group.cases]
    for case, record in zip(group.cases, found):  # the same once more: by their folders
        if labels.count(case.label) > 1:
            case.label = f"{case.label} ({record.path.parent.name})"
        case.brief = case.label
    return group


def _with_axes(group: Group) -> Group:
    """The known names whose values differ, as axes and as values of each case, valid or not."""
    flats = [case.runs[0].flat for case in group.cases]
    group.axes = [name for name in AXES if len({str(flat.get(name)) for flat in flats}) > 1]
    for case, flat in zip(group.cases, flats):
        case.values = {name: shown(flat.get(name, "–")) for name in group.axes}
    return group


def _texts(found: Sequence[records.Record]) -> list[tuple[pathlib.Path, str]]:
    """Notes (*.txt) beside records; not what runs printed."""
    closed = [record.path.parent for record in found if record.kind in ("study", "run")]
    notes = []
    for folder in sorted({record.path.parent for record in found if record.kind not in ("study", "run")}):
        if any(folder.is_relative_to(one) for one in closed):
            continue
        for path in sorted(folder.glob("[!.]*.txt")):
            try:
                if 0 < path.stat().st_size < TEXT_MAX:
                    notes.append((path, path.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError):
                continue
    return notes
