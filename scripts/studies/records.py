"""Finds, reads, checks and flattens what the program and the project's scripts write as JSON.

A record is one JSON file. Its kind is told by its content, never by its name:

  run, partition, orb, replay   written by `amrbench` (docs/run-record.md, partition-command.md, orb.md, replay.md)
  study                         study.json of a result set of scripts/sweep.py
  miniamr                       what a sweep keeps of a run of miniAMR
  benchmark                     Google Benchmark's JSON; benchmark_medians: the same, cut down to medians
  gpu_runs, orb_list            several runs (scripts/gpu_runs.py) or ORB records (scripts/orb_records.py) in one file
  miniamr_runs                  miniAMR and amrbench in turn (scripts/compare_miniamr.py)
  orb_bench, orb_zoltan         rows of the ORB micro-benchmarks (bench/)
  partition_tables              a dissertation's tables beside ours (scripts/partition_tables.py)

docs/schema describes every field. Reading checks less than that: that the file is whole, that every number is finite,
and that what the tables below name is there, which is what all readers rely on. Units are in the names, as in the docs.
"""
import dataclasses
import json
import os
import pathlib
from typing import Any, Iterable, Iterator, Sequence

from studies import strict_json

SCHEMA = 1  # of all records that carry `schema`
STATUSES = ("done", "failed", "timeout", "invalid")  # of a run of a study
# Lists of objects even where they are empty.
OF_OBJECTS = ("fields", "findings", "config.object", "config.work", "series", "levels", "refused")
TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}  # of Google Benchmark

Value = str | int | float | bool | None


class RecordError(ValueError):
    """A file that is no record that can be used; one line that names the file and says why."""

    def __init__(self, path: str | os.PathLike, reason: str):
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.path = pathlib.Path(path)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class Record:
    """One record. `data` is its JSON as read."""

    path: pathlib.Path
    kind: str
    case: str  # in a result set of a sweep the case's id, elsewhere what the record calls its case
    data: Any
    note: str = ""  # what a reader of its figures should know; one line, often empty


# What readers rely on: a dotted name ([] is every element of a list) and what must stand there.
_PROVENANCE = {"provenance.commit": str, "provenance.compiler": str, "provenance.cpu": str, "provenance.ranks": int,
               "provenance.threads": int}
_NEEDED: dict[str, dict[str, type]] = {
    "run": {"valid": bool, "config": dict, **_PROVENANCE, "totals.time_s": float, "totals.cell_updates": int,
            "totals.blocks_by_level": list, "phases": dict, "rates.cell_updates_per_s": float,
            "rates.roofline_fraction": float, "balance.policy": str, "partition.method": str, "fields": list,
            "mesh_crc_hex": str},
    "partition": {"input.name": str, "options": dict, **_PROVENANCE, "rows[].method": str, "rows[].parts": int,
                  "rows[].load_max": float, "rows[].time_s": float},
    "dynamic": {"input.name": str, "options": dict, **_PROVENANCE, "rows[].round": int, "rows[].updates_per_s": float},
    "orb": {"input": str, "method": str, "n": int, "leaves": int, "time_s": float, "times_s[]": float,
            "copy_bandwidth_bytes_per_s": float, "levels": list, **_PROVENANCE},
    "replay": {"trace": str, "options": dict, **_PROVENANCE, "rows[].ranks": int, "rows[].partition": str,
               "rows[].policy": str, "rows[].time_s": float},
    "study": {"name": str, "title": str, "question": str, "command": str, "axes[]": str, "provenance": dict,
              "repetitions": int, "finished": bool, "cases[].id": str, "cases[].label": str, "cases[].values": dict,
              "cases[].command_line[]": str, "cases[].ranks": int, "cases[].threads": int, "cases[].gpus": int,
              "cases[].runs[].repetition": int, "cases[].runs[].order": int, "cases[].runs[].status": str,
              "cases[].runs[].seconds": float, "cases[].runs[].message": str},
    "miniamr": {"totals.time_s": float, "phases": dict},
    "benchmark": {"context": dict, "benchmarks[].name": str},
    "benchmark_medians": {"context": dict, "medians[].name": str, "medians[].real_time": float,
                          "medians[].cpu_time": float, "medians[].time_unit": str},
    "gpu_runs": {"runs[].case": str, "runs[].gpus": int, "runs[].times_s[]": float, "runs[].record": dict},
    "orb_list": {},
    "miniamr_runs": {"case": str, "ranks": int, "threads": int, "runs": dict, "medians": dict, **_PROVENANCE},
    "orb_bench": {"gpu": str, "checks_passed": bool, "commit": str, "rows[].input": str, "rows[].time_s": float},
    "orb_zoltan": {"rows[].method": str, "rows[].n": int, "rows[].time_s": float, **_PROVENANCE},
    "partition_tables": {"source": str, "methods[]": str, "grids": dict},
}
KINDS = tuple(_NEEDED)


def read_record(path: str | os.PathLike) -> Record:
    """The record in a file. RecordError for one that is damaged, empty, foreign, or of another schema."""
    path = pathlib.Path(path)
    data = _load(path)
    kind = _kind(path, data)
    _check(path, kind, data)
    return Record(path, kind, _case(path, kind, data), data, _note(data))


def find_records(paths: Iterable[str | os.PathLike]) -> tuple[list[Record], list[tuple[pathlib.Path, str]]]:
    """Every record in the files and folders given, each once, and what was skipped: (path, reason).

    Of folders all *.json below are tried in the order of their names. Not looked at are hidden files and folders, and
    what a sweep keeps for itself: status.json of a run, and the folder `aside` of replaced runs.
    """
    records: list[Record] = []
    skipped: list[tuple[pathlib.Path, str]] = []
    seen: set[str] = set()
    for given in map(pathlib.Path, paths):
        if not given.exists():
            skipped.append((given, "no such file or folder"))
            continue
        for path in _json_files(given) if given.is_dir() else [given]:
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            try:
                records.append(read_record(path))
            except RecordError as error:
                skipped.append((path, error.reason))
    return records, skipped


def read_study(folder: str | os.PathLike) -> dict:
    """The study record of a result set, checked. `folder`: the set's folder, or its study.json. RecordError."""
    path = pathlib.Path(folder)
    if path.is_dir():
        path = path / "study.json"
        if not path.exists():
            raise RecordError(path.parent, "no study.json here; scripts/sweep.py writes one")
    record = read_record(path)
    if record.kind != "study":
        raise RecordError(path, f"a {record.kind} record, not a study")
    return record.data


def members(record: Record) -> list[Record]:
    """The records inside a collection (gpu_runs, orb_list); any other record alone."""
    if record.kind == "orb_list":
        return [dataclasses.replace(record, kind="orb", case=_orb_case(one), data=one, note=_note(one))
                for one in record.data]
    if record.kind == "gpu_runs":
        note = "of {} repetitions the one with the median time"
        return [dataclasses.replace(record, kind="run", case=f"{run['case']}, GPUs {run['gpus']}", data=run["record"],
                                    note=note.format(len(run["times_s"])) if len(run["times_s"]) > 1 else "")
                for run in record.data["runs"]]
    return [record]


def flatten(record: Record) -> dict[str, Value]:
    """The record as one row, named as in the docs: objects with dots (`totals.time_s`), as run.csv has them.

    A list of plain values is one text with semicolons; of a list of objects only its length is kept (`rows.count`), of
    `fields` the first one's values too (`fields.0.sum`). A record with a single row (partition, replay) has that row's
    values under their own names (`method`, `time_s`).
    """
    if isinstance(record.data, list):
        return {"count": len(record.data)}
    row = dict(_flat("", {name: value for name, value in record.data.items() if name != "rows"}))
    rows_inside = record.data.get("rows")
    if isinstance(rows_inside, list):
        row["rows.count"] = len(rows_inside)
        if len(rows_inside) == 1:
            row.update(_flat("", rows_inside[0]))
    return row


def rows(record: Record) -> list[dict[str, Value]]:
    """The record as rows: one a run, method and part count, combination, benchmark, or repetition.

    What holds for all rows of a record (input, options, provenance) stands in each, under its dotted name.
    """
    if record.kind in ("gpu_runs", "orb_list"):
        return [flatten(one) for one in members(record)]
    data = record.data
    if record.kind in ("partition", "dynamic", "replay", "orb_bench", "orb_zoltan"):
        header = dict(_flat("", {name: value for name, value in data.items() if name != "rows"}))
        return [{**header, **dict(_flat("", row))} for row in data["rows"]]
    if record.kind in ("benchmark", "benchmark_medians"):
        return [_benchmark_row(data["context"], row) for row in data.get("benchmarks", data.get("medians"))]
    if record.kind == "miniamr_runs":
        shared = dict(_flat("", {name: data[name] for name in ("ranks", "threads", "provenance")}))
        return [{**shared, "program": program, "repetition": k, **dict(_flat("", run))}
                for program, runs in data["runs"].items() for k, run in enumerate(runs)]
    if record.kind == "partition_tables":
        return [{"grid": grid, **dict(_flat("", row))}
                for grid, table in data["grids"].items() for row in table["rows"]]
    if record.kind == "study":
        return [{**{name: case[name] for name in ("id", "label", "ranks", "threads", "gpus")},
                 **dict(_flat("values", case["values"])), **run} for case in data["cases"] for run in case["runs"]]
    return [flatten(record)]


def frame(records: Sequence[Record]) -> "pandas.DataFrame":  # noqa: F821, pandas is needed here only
    """The rows of all records as a table with the columns `path`, `kind`, `case`, `note` first. Needs pandas."""
    import pandas

    lines = [{"path": str(one.path), "kind": one.kind, "case": one.case, "note": one.note, **row}
             for record in records for one in members(record) for row in rows(one)]
    return pandas.DataFrame(lines, columns=None if lines else ["path", "kind", "case", "note"])


# --- Reading ---------------------------------------------------------------------------------------------------------


def _json_files(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    for here, folders, names in os.walk(folder):
        aside = "aside" if "study.json" in names else ""  # there a sweep keeps what it replaced
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != aside)
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith(".") and name != "status.json":  # a sweep's own
                yield pathlib.Path(here, name)


def _load(path: pathlib.Path) -> Any:
    try:
        return strict_json.parse(path.read_bytes())
    except OSError as error:
        raise RecordError(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise RecordError(path, str(error)) from None


def _kind(path: pathlib.Path, data: Any) -> str:
    kind = _kind_of(data)
    if not kind:
        raise RecordError(path, "no record of amrbench")
    for one in data if kind == "orb_list" else [data]:
        schema = one.get("schema", SCHEMA)
        if isinstance(schema, bool) or schema != SCHEMA:
            raise RecordError(path, f"a {kind} record of schema {schema}; schema {SCHEMA} is read")
    if kind in ("run", "partition", "dynamic", "orb", "replay", "study") and "schema" not in data:
        raise RecordError(path, f"a {kind} record without schema; schema {SCHEMA} is read")
    return kind


def _kind_of(data: Any) -> str:
    if isinstance(data, list):
        return "orb_list" if data and all(_kind_of(one) == "orb" for one in data) else ""
    if not isinstance(data, dict):
        return ""
    program, command = data.get("program"), data.get("command")
    if data.get("kind") == "study":
        return "study"
    if program == "amrbench" and command == "partition --dynamic":
        return "dynamic"
    if program == "amrbench":
        return command if command in ("partition", "replay") else "run" if {"totals", "config"} & data.keys() else ""
    if program in ("amrbench orb", "miniAMR"):
        return "orb" if program == "amrbench orb" else "miniamr"
    if program in ("orb_cuda_bench", "orb_weighted_cuda_bench", "orb_gpus_bench"):
        return "orb_bench"
    if program == "orb_zoltan_bench":
        return "orb_zoltan"
    if isinstance(data.get("context"), dict):
        return "benchmark" if "benchmarks" in data else "benchmark_medians" if "medians" in data else ""
    if {"case", "runs", "ratios_miniamr_over_amrbench"} <= data.keys():
        return "miniamr_runs"
    if {"methods", "grids", "source"} <= data.keys():
        return "partition_tables"
    runs = data.get("runs")
    if isinstance(runs, list) and runs and all(isinstance(run, dict) and {"case", "record"} <= run.keys()
                                               for run in runs):
        return "gpu_runs"
    return ""


# --- Checking --------------------------------------------------------------------------------------------------------

_WORDS = {str: "a text", int: "an integer", float: "a number", bool: "true or false", list: "a list", dict: "an object"}


def _check(path: pathlib.Path, kind: str, data: Any) -> None:
    for name, needed in _NEEDED[kind].items():
        for where, value, there in _values(data, name.split("."), ""):
            if not there:
                raise RecordError(path, f"a {kind} record without {where}")
            if not _is(value, needed):
                shown = json.dumps(value)
                raise RecordError(path, f"{where} is {shown if len(shown) < 40 else 'something else'}; "
                                        f"must be {_WORDS[needed]}")
    if kind == "orb_list":
        for one in data:
            _check(path, "orb", one)
    elif kind == "gpu_runs":
        for run in data["runs"]:
            if _kind(path, run["record"]) != "run":
                raise RecordError(path, f"the record of case {run['case']} is no run record")
            _check(path, "run", run["record"])
    elif kind == "benchmark":
        _check_benchmarks(path, data["benchmarks"])
    elif kind in ("miniamr_runs", "partition_tables"):
        tables = data["runs"] if kind == "miniamr_runs" else {
            name: grid.get("rows") if isinstance(grid, dict) else None for name, grid in data["grids"].items()}
        for name, lines in tables.items():
            if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
                raise RecordError(path, f"{name}: must be a list of rows")
    elif kind == "study":
        _check_study(path, data)


def _is(value: Any, needed: type) -> bool:
    if needed in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if needed is float else needed)


def _values(value: Any, names: list[str], where: str) -> Iterator[tuple[str, Any, bool]]:
    """(place, value, whether it is there) for a dotted name, once for each element of the lists on the way."""
    if not names:
        yield where, value, True
        return
    name, listed = names[0].removesuffix("[]"), names[0].endswith("[]")
    place = f"{where}.{name}" if where else name
    if not isinstance(value, dict) or name not in value:
        yield place, None, False
    elif not listed:
        yield from _values(value[name], names[1:], place)
    elif not isinstance(value[name], list):
        yield place, None, False
    else:
        for k, one in enumerate(value[name]):
            yield from _values(one, names[1:], f"{place}[{k}]")


def _check_benchmarks(path: pathlib.Path, benchmarks: list[dict]) -> None:
    for row in benchmarks:
        if row.get("error_occurred") or row.get("skipped") or row.get("aggregate_name") in ("BigO", "RMS"):
            continue
        for name in ("real_time", "cpu_time"):
            if not _is(row.get(name), float):
                raise RecordError(path, f"benchmark {row['name']}: {name} must be a number")
        percent = row.get("aggregate_unit") == "percentage"
        if not percent and row.get("time_unit") not in tuple(TIME_UNITS):
            raise RecordError(path, f"benchmark {row['name']}: time_unit must be one of {', '.join(TIME_UNITS)}")


def _check_study(path: pathlib.Path, data: dict) -> None:
    ids = [case["id"] for case in data["cases"]]
    if len(set(ids)) < len(ids):
        raise RecordError(path, f"case {next(one for one in ids if ids.count(one) > 1)} stands twice")
    for case in data["cases"]:
        repetitions = [run["repetition"] for run in case["runs"]]
        if len(set(repetitions)) < len(repetitions):
            raise RecordError(path, f"case {case['id']}: a repetition stands twice")
        for run in case["runs"]:
            if run["status"] not in STATUSES:
                raise RecordError(path, f"case {case['id']}: status {run['status']} is none of {', '.join(STATUSES)}")
            file = run.get("record")
            if file is not None and (not isinstance(file, str) or os.path.isabs(file) or ".." in file.split("/")):
                raise RecordError(path, f"case {case['id']}: record must be null or a path inside the result set")


# --- Naming and flattening -------------------------------------------------------------------------------------------


def _case(path: pathlib.Path, kind: str, data: Any) -> str:
    parents = path.absolute().parents
    if kind in ("run", "partition", "orb", "replay", "miniamr") and len(parents) > 3 and parents[2].name == "cases":
        return parents[1].name
    if kind == "run":
        settings = data["config"].get("run")
        return str(settings.get("name", "run")) if isinstance(settings, dict) else "run"
    if kind == "orb":
        return _orb_case(data)
    names = {"partition": lambda: data["input"]["name"], "replay": lambda: pathlib.PurePath(data["trace"]).stem,
             "study": lambda: data["name"]}
    return names[kind]() if kind in names else path.stem


def _orb_case(data: dict) -> str:
    words = [data["input"], data["method"], f"{data['leaves']} leaves"]
    return ", ".join(words + ([f"weights {data['weights']}"] if data.get("weights") else []))


def _note(data: Any) -> str:
    provenance = data.get("provenance") if isinstance(data, dict) else None
    notes = provenance.get("notes") if isinstance(provenance, dict) else None
    return "; ".join(map(str, notes)).replace("\n", " ") if isinstance(notes, list) else ""


def _text(value: Any) -> str:
    """A plain value inside a list, as run.csv writes it."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else key, inner)
    elif not isinstance(value, list):
        yield name, value
    elif name in OF_OBJECTS or any(isinstance(one, (dict, list)) for one in value):
        yield f"{name}.count", len(value)
        if name == "fields" and value:
            yield from _flat("fields.0", value[0])
    else:
        yield name, ";".join(map(_text, value))


def _benchmark_row(context: dict, row: dict) -> dict[str, Value]:
    """A benchmark's row; its times in seconds too, as real_time_s and cpu_time_s."""
    flat = {**dict(_flat("context", context)), **dict(_flat("", row))}
    unit = TIME_UNITS.get(str(row.get("time_unit")))
    if unit is not None and row.get("aggregate_unit") != "percentage":
        flat.update({f"{name}_s": row[name] * unit for name in ("real_time", "cpu_time") if _is(row.get(name), float)})
    return flat
