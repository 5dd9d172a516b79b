"""Result sets as cases with repetitions, and the cases of two sets matched.

A set is a folder of a sweep, a folder of records, or one record. A case is what was asked for: the values of a study's
axes and the configuration, never the case id, which hashes the binary and the machine. A record of many rows (methods,
part counts, combinations, benchmarks) is one case with as many rows.
"""
import dataclasses
import json
import os
import pathlib
from typing import Any, Callable, Iterable

from studies import records
from studies.records import Record

# Where a run took place or what built it: what makes two times incomparable when it differs. The rest of the provenance
# (commit, version, host name, memory, day) may differ: that is what comparisons are for.
MACHINE = ("cpu", "gpu", "cores_node", "nodes", "compiler", "flags", "build_type", "mpi", "cuda", "launcher",
           "library_build_type")
BENCHMARK_MACHINE = {"num_cpus": "cores_node", "library_build_type": "library_build_type", "compiler": "compiler",
                     "flags": "flags", "gpu_0": "gpu", "omp_threads": "threads"}
ROW_NAMES = {"partition": ("method", "parts"), "dynamic": ("round",),
             "replay": ("ranks", "partition", "slices", "policy", "weights", "machine"),
             "orb_bench": ("mode", "input", "weights", "method", "outputs", "n", "leaves", "side_tolerance", "tuning",
                           "tuning.first_round", "tuning.samples", "ranks", "gpus", "transport"),
             "orb_zoltan": ("method", "n", "leaves", "ranks", "threads", "first"),
             "partition_tables": ("grid", "method", "parts")}
NOT_ASKED = ("output.", "run.name", "device.threads")  # of a configuration: no part of what is computed


class SetError(ValueError):
    """One line: a set that cannot be read or matched."""


@dataclasses.dataclass
class Run:
    """One repetition. `rows`: for each row of its record (name "" where there is one only) the numbers in it."""

    repetition: int
    order: int | None  # in the whole sweep; None outside of one
    status: str  # records.STATUSES
    message: str = ""
    rows: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    samples: dict[str, list[float]] = dataclasses.field(default_factory=dict)  # repetitions within the one process
    provenance: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Case:
    kind: str
    name: str  # of what is not settings: the benchmark program
    settings: dict[str, str]  # flat, values as texts
    values: dict[str, str] | None = None  # a study's axes
    label: str = ""
    runs: list[Run] = dataclasses.field(default_factory=list)
    study: str = ""  # the study's file, "" outside of one

    def done(self) -> list[Run]:
        return [run for run in self.runs if run.status == "done"]

    def failures(self) -> list[Run]:
        return [run for run in self.runs if run.status != "done"]

    def rows(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.done() for name in run.rows))

    def numbers(self, row: str, metric: str) -> dict[int, float]:
        """The metric of each repetition; of a single process that timed itself several times, each of those."""
        done = [run for run in self.done() if metric in run.rows.get(row, {})]
        if len(done) == 1 and len(done[0].samples.get(metric, [])) > 1:
            return dict(enumerate(done[0].samples[metric]))
        return {run.repetition: run.rows[row][metric] for run in done}


@dataclasses.dataclass
class ResultSet:
    path: str
    cases: list[Case]
    skipped: list[tuple[pathlib.Path, str]]


def read_set(path: str | os.PathLike) -> ResultSet:
    """All cases of a folder or file. SetError where nothing in it can be compared."""
    found, skipped = records.find_records([path])
    by_path = {os.path.realpath(record.path): record for record in found}
    studies = [record for record in found if record.kind == "study"]
    inside = tuple(os.path.realpath(study.path.parent) + os.sep for study in studies)
    cases = [case for study in studies for case in _study_cases(study, by_path)]
    alone: dict[Any, Case] = {}
    for record in found:
        if record.kind == "study" or os.path.realpath(record.path).startswith(inside):
            continue
        for case in _record_cases(record):
            key = (case.kind, case.name, frozenset(case.settings.items()))
            known = alone.setdefault(key, case)
            if known is not case:
                first = len(known.runs)
                known.runs += [dataclasses.replace(run, repetition=first + k) for k, run in enumerate(case.runs)]
    cases += _labelled(list(alone.values()))
    if not cases:
        reason = f"; {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
        raise SetError(f"{os.fspath(path)}: no records that can be compared{reason}")
    return ResultSet(os.fspath(path), cases, skipped)


# --- Records to cases ------------------------------------------------------------------------------------------------


def _deep(name: str, value: Any) -> Iterable[tuple[str, str]]:
    """Every plain value with its place, objects in lists by their number (object.0.size)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _deep(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for k, inner in enumerate(value):
            yield from _deep(f"{name}.{k}", inner)
    else:
        yield name, text_of(value)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _row_name(kind: str, row: dict[str, Any]) -> str:
    if kind in ("benchmark", "benchmark_medians"):
        return row.get("run_name", row["name"]).removesuffix("/real_time")
    return ", ".join(f"{name} {row[name]}" if isinstance(row[name], (int, float)) else str(row[name])
                     for name in ROW_NAMES.get(kind, ()) if row.get(name) not in (None, ""))


def _table(data: Any, name: str) -> dict[str, Any]:
    """A copy of a table that a record may lack."""
    inner = data.get(name) if isinstance(data, dict) else None
    return dict(inner) if isinstance(inner, dict) else {}


def _settings(record: Record) -> dict[str, str]:
    data, kind = record.data, record.kind
    where = _table(data, "provenance")
    place = {name: where[name] for name in ("ranks", "threads") if name in where}
    if kind == "run":
        flat = {name: text for name, text in _deep("", data["config"]) if not name.startswith(NOT_ASKED)}
        return {**flat, **dict(_deep("", {**place, "gpus": _table(data, "device").get("gpus", 0)}))}
    if kind in ("partition", "dynamic"):
        options = {name: value for name, value in data["options"].items() if name not in ("threads", "repetitions")}
        cut = {name: data["input"].get(name) for name in ("name", "weights")}
        return dict(_deep("", {"input": cut, "options": options, **place}))
    if kind == "orb":
        names = ("input", "dim", "coordinates", "weights", "backend", "method", "side_tolerance", "n", "leaves")
        return dict(_deep("", {**{name: data[name] for name in names if name in data}, **place}))
    if kind == "replay":  # the model's seconds know nothing of where the replay ran
        return dict(_deep("", {"trace": pathlib.PurePath(data["trace"]).name, "options": data["options"]}))
    return {}


def _rows(record: Record) -> dict[str, dict[str, float]]:
    return {_row_name(record.kind, row): _numbers(row) for row in records.rows(record)}


def _run(record: Record, repetition: int = 0, order: int | None = None) -> Run:
    data = record.data
    where = _table(data, "provenance")
    if record.kind == "orb_bench":
        where = {"gpu": data["gpu"], "commit": data.get("commit", "unknown")}
    status = "invalid" if record.kind == "run" and not data["valid"] else "done"
    run = Run(repetition, order, status, "the run's own checks failed" if status == "invalid" else "", _rows(record),
              provenance=where)
    if record.kind == "orb":
        run.samples["time_s"] = [float(one) for one in data["times_s"]]
    return run


def _record_cases(record: Record) -> list[Case]:
    if record.kind in ("benchmark", "benchmark_medians"):
        return [_benchmark_case(record)]
    if record.kind == "miniamr_runs":
        return _miniamr_cases(record)
    cases = []
    times = [run["times_s"] for run in record.data["runs"]] if record.kind == "gpu_runs" else []
    for k, one in enumerate(records.members(record)):
        case = Case(one.kind, record.path.stem if one.kind in ("orb_bench", "orb_zoltan", "partition_tables") else "",
                    _settings(one), label=one.case, runs=[_run(one)])
        if times:
            updates = one.data["totals"]["cell_updates"]
            case.runs[0].samples = {"totals.time_s": times[k],
                                    "rates.cell_updates_per_s": [updates / t for t in times[k] if t]}
        cases.append(case)
    return cases


def _benchmark_case(record: Record) -> Case:
    """Repetitions of a benchmark are runs; aggregates count only where the repetitions themselves were not kept."""
    context = record.data["context"]
    all_rows = list(zip(record.data.get("benchmarks", record.data.get("medians")), records.rows(record)))
    single = [both for both in all_rows if both[0].get("run_type", "iteration") == "iteration"]
    kept = single or [both for both in all_rows if both[0].get("aggregate_name") == "median"]
    where = {BENCHMARK_MACHINE[name]: value for name, value in context.items() if name in BENCHMARK_MACHINE}
    where.update(commit=context.get("commit", "unknown"), time_utc=context.get("date", ""))
    runs: dict[int, Run] = {}
    seen: dict[str, int] = {}
    failed: list[Run] = []
    for row, flat in kept:
        name = _row_name(record.kind, row)
        if row.get("error_occurred"):
            failed.append(Run(0, None, "failed", f"{name}: {row.get('error_message', 'failed')}", provenance=where))
            continue
        k = seen[name] = seen.get(name, -1) + 1
        runs.setdefault(k, Run(k, None, "done", provenance=where)).rows[name] = _numbers(flat)
    program = pathlib.PurePath(str(context.get("executable", record.path.stem))).name
    return Case("benchmark", program, {}, label=program, runs=[*runs.values(), *failed])


def _miniamr_cases(record: Record) -> list[Case]:
    data = record.data
    cases = []
    for program, runs in data["runs"].items():
        settings = dict(_deep("", {"program": program, **{name: data[name] for name in ("case", "ranks", "threads")}}))
        case = Case(record.kind, "", settings, label=program)
        for k, row in enumerate(runs):
            status = "done" if row.get("valid", True) else "invalid"
            case.runs.append(Run(k, None, status, "", {"": _numbers(row)}, provenance=data["provenance"]))
        cases += [case] if runs else []
    return cases


def _study_cases(study: Record, by_path: dict[str, Record]) -> list[Case]:
    data, folder = study.data, study.path.parent
    cases = []
    for one in data["cases"]:
        values = {name: text_of(value) for name, value in one["values"].items()}
        place = {name: text_of(one[name]) for name in ("ranks", "threads", "gpus")}
        case = Case(data["command"], "", {}, {**place, **values}, one["label"], study=os.path.realpath(study.path))
        for entry in one["runs"]:
            run = Run(entry["repetition"], entry["order"], entry["status"], entry["message"])
            # What miniAMR leaves beside our records is no record of the study.
            file = entry.get("record") or f"cases/{one['id']}/{entry['repetition']}/miniamr.json"
            record = by_path.get(os.path.realpath(folder / file))
            if run.status == "done" and record is None:
                run.status, run.message = "failed", f"{file} is missing or damaged"
            elif run.status == "done":
                run = _run(record, run.repetition, run.order)
                run.provenance.update(host=data["provenance"].get("hostname", ""),
                                      launcher=_launcher(one, data["provenance"]))
                case.settings = case.settings or _settings(record)
            case.runs.append(run)
        cases += [case] if case.runs else []  # one that has not been run yet is in no set
    return cases


def _launcher(case: dict, provenance: dict) -> str:
    """What starts the program, binding included; its number of ranks is the case's."""
    words, program = case["command_line"], os.path.basename(str(provenance.get("program", "")))
    ends = [k for k, word in enumerate(words) if os.path.basename(word) in (program, "amrbench", "miniAMR.x")]
    return " ".join(words[: ends[0]]) if ends else ""


def _labelled(cases: list[Case]) -> list[Case]:
    """Labels of cases that stand alone: their names, with the settings that tell cases of one name apart."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.kind, case.label), []).append(case)
    for twins in groups.values():
        names = [name for name in twins[0].settings if len({other.settings.get(name) for other in twins}) > 1]
        for case in twins:
            case.label += "".join(f", {name} {case.settings.get(name, '-')}" for name in names)
    return cases


# --- Matching --------------------------------------------------------------------------------------------------------


def select(cases: list[Case], wanted: dict[str, str], where: str) -> list[Case]:
    """The cases with these axis values or settings. SetError where a name or value is in none."""
    for name, value in wanted.items():
        having = [{**case.settings, **(case.values or {})}.get(name) for case in cases]
        if not any(one is not None for one in having):
            names = sorted({key for case in cases for key in {**case.settings, **(case.values or {})}})
            shown = ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
            raise SetError(f"{where}: no case has {name}; there are {shown}")
        cases = [case for case, one in zip(cases, having) if one == value]
        if not cases:
            shown = ", ".join(sorted({one for one in having if one is not None})[:12])
            raise SetError(f"{where}: no case has {name} = {value}; there are {shown}")
    return cases


def match(a: list[Case], b: list[Case],
          ignored: Iterable[str] = ()) -> tuple[list[tuple[Case, Case]], list[Case], list[Case]]:
    """Pairs of cases, and the unmatched ones of each side. `ignored`: names that may differ within a pair.

    First by axis values and place, then by configuration, then by what both configurations say (older records lack
    keys); at last a single case of each side, so that what differs between the two can be named.
    """
    ignored = set(ignored)

    def asked(table: dict[str, str]) -> frozenset:
        return frozenset(item for item in table.items() if item[0] not in ignored)

    keys: list[Callable[[Case], Any]] = [
        lambda case: (case.kind, asked(case.values)) if case.values is not None else None,
        lambda case: (case.kind, case.name, asked(case.settings)) if case.settings or case.values is None else None]
    pairs: list[tuple[Case, Case]] = []
    for key in keys:
        left, right = _by_key(a, key), _by_key(b, key)
        for k in left.keys() & right.keys():
            if len(left[k]) > 1 or len(right[k]) > 1:
                first, second = (left[k] if len(left[k]) > 1 else right[k])[:2]
                raise SetError(f"'{first.label}' and '{second.label}' of one set ask for the same; compare fewer with "
                               "--baseline or --candidate KEY=VALUE")
        pairs += [(left[k][0], right[k][0]) for k in left if k in right]
        a = [case for case in a if not any(case is one for one, _ in pairs)]
        b = [case for case in b if not any(case is one for _, one in pairs)]
    for one in list(a):
        near = [other for other in b if (other.kind, other.name) == (one.kind, one.name)
                and one.settings and other.settings and not differing(one, other, ignored)]
        if len(near) == 1:
            pairs.append((one, near[0]))
            a, b = [case for case in a if case is not one], [case for case in b if case is not near[0]]
    if not pairs and len(a) == len(b) == 1 and a[0].kind == b[0].kind:
        return [(a[0], b[0])], [], []
    return pairs, a, b


def _by_key(cases: list[Case], key: Callable[[Case], Any]) -> dict[Any, list[Case]]:
    table: dict[Any, list[Case]] = {}
    for case in cases:
        if (k := key(case)) is not None:
            table.setdefault(k, []).append(case)
    return table


def differing(a: Case, b: Case, ignored: Iterable[str] = ()) -> dict[str, tuple[str, str]]:
    """Settings that both cases have with different values."""
    return {name: (a.settings[name], b.settings[name]) for name in a.settings
            if name in b.settings and name not in ignored and a.settings[name] != b.settings[name]}


def other_machine(a: Case, b: Case) -> dict[str, tuple[str, str]]:
    """Provenance, of MACHINE, that is not the same for all runs of both cases: the values of each side."""
    found = {}
    for name in MACHINE:
        sides = [sorted({text_of(run.provenance[name]) for run in case.runs if name in run.provenance})
                 for case in (a, b)]
        if all(sides) and len({*sides[0], *sides[1]}) > 1:
            found[name] = (" and ".join(sides[0]), " and ".join(sides[1]))
    return found


def interleaved(a: Case, b: Case) -> bool:
    """Both were measured by one sweep, every repetition of either before the next repetition of the other."""
    if not a.study or a.study != b.study:
        return False
    orders = [{run.repetition: run.order for run in case.done()} for case in (a, b)]
    rounds = [(orders[0][k], orders[1][k]) for k in sorted(orders[0].keys() & orders[1].keys())]
    return len(rounds) > 1 and all(max(one) < min(later) for one, later in zip(rounds, rounds[1:]))
