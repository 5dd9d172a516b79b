"""Head and end of a report: what was run and where, verdicts, what failed, sources, notes, skipped files."""
import os
import pathlib
import re
from typing import Any, Sequence

from . import page, records
from .page import Cell, Details, Facts, Output, Section, Table, Text
from .report_data import RATE, SHARE, TIME, Case, Group, Material

SHOWN_FAILURES = 30
SHOWN_SOURCES = 25


def title(material: Material, paths: Sequence[str]) -> str:
    if len(material.groups) == 1 and not material.others:
        group = material.groups[0]
        return group.title if group.kind == "study" or len(group.cases) != 1 else f"Run: {group.cases[0].label}"
    studies = [group.title for group in material.groups if group.kind == "study"]
    if studies:
        return page.shorten(", ".join(studies), 100)
    return "amrbench: " + page.shorten(", ".join(os.path.basename(os.path.normpath(path)) for path in paths), 80)


def lead(material: Material) -> list:
    """Verdict, what was run, where."""
    blocks: list = [_verdict(material)]
    for group in material.groups:
        if group.kind == "study":
            blocks.append(Text(_study(group)))
    if len(material.groups) == 1 and len(material.groups[0].cases) == 1 and material.groups[0].measured():
        blocks.append(Facts(_single(material.groups[0].cases[0])))
    machines = _machines(material)
    if len(machines) == 1:
        blocks.append(Facts([(name, value) for name, value in machines[0].items() if value and name != "records"]))
    elif machines:
        names = list(machines[0])
        rows = [[machine[name] for name in names] for machine in machines]
        table = Table("Where it was run; newest first", [(name, name == "records") for name in names], rows)
        blocks.append(table if len(rows) <=
                      6 else Details(f"Where it was run: {len(rows)} machines, builds and commits", [table]))
    return blocks


def _verdict(material: Material) -> Text:
    counts = dict.fromkeys(records.STATUSES, 0)
    waiting = 0
    for group in material.groups:
        for status, count in group.counts().items():
            counts[status] += count
        waiting += sum(not case.runs for case in group.cases)
    total = sum(counts.values())
    if not total:
        named = ", ".join(f"{page.plural(len(found), 'record')} of kind {kind}"
                          for kind, found in sorted(material.others.items()))
        return Text(f"No runs; {named or 'nothing has been run yet'}.", "verdict")
    later = f" {page.plural(waiting, 'case')} not run yet." if waiting else ""
    if counts["done"] == total:
        what = "passed its checks" if total == 1 else "passed their checks"
        return Text(f"VALIDATION: PASSED. {page.plural(total, 'run')} {what}.{later}", "verdict good")
    bad = ", ".join(f"{counts[status]} {words}"
                    for status, words in (("failed", "failed"), ("timeout", "ran out of time"),
                                          ("invalid", "not valid")) if counts[status])
    return Text(f"VALIDATION: FAILED. Of {page.plural(total, 'run')} {bad}; {counts['done']} passed.{later}",
                "verdict bad")


def _study(group: Group) -> str:
    runs = sum(len(case.runs) for case in group.cases)
    axes = f" over {', '.join(group.axes)}" if group.axes else ""
    asked = group.repetitions * len(group.cases)
    state = "" if group.finished else f" It is not finished: {runs} of {asked} runs are there."
    question = f"{group.question} " if group.question else ""
    return (
        f"{question}Study “{group.name}”: {page.plural(len(group.cases), 'case')}{axes}, "
        f"{page.plural(group.repetitions, 'repetition')} each, {page.plural(runs, 'run')} of "
        f"“amrbench {group.command}”.{state}"
    )


def _single(case: Case) -> list[tuple[str, str]]:
    return [("time", page.seconds(case.median(TIME))),
            ("figure of merit", f"{page.number(case.median(RATE))} cell updates/s"),
            ("share of copy bandwidth", f"{page.percent(case.median(SHARE))} of "
             f"{page.bytes_(case.median('rates.copy_bandwidth_bytes_per_s'))}/s"),
            ("steps, stages, refinements",
             " / ".join(page.number(case.median(f"totals.{name}"), 6) for name in ("steps", "stages", "refine_steps"))),
            ("blocks: mean, at most, at the end",
             " / ".join(page.number(case.median(f"totals.blocks_{name}"), 4) for name in ("mean", "max", "final"))),
            ("imbalance: mean, at most",
             " / ".join(page.percent(case.median(f"balance.imbalance_{name}")) for name in ("mean", "max"))),
            ("placed anew, blocks moved",
             " / ".join(page.number(case.median(f"balance.{name}"), 6) for name in ("rebalances", "blocks_migrated"))),
            ("memory of a rank", page.bytes_(case.median("totals.memory_bytes_max_rank"))),
            ("checksum of variable 0, of the mesh",
             f"{case.first('fields.0.checksum_hex', '–')} / {case.first('mesh_crc_hex', '–')}")]


# --- Where -----------------------------------------------------------------------------------------------------------


def _provenances(record: records.Record) -> list[dict[str, Any]]:
    """Provenance of each record inside; of micro-benchmarks what their context tells."""
    data = record.data
    if record.kind == "study":
        p = data["provenance"]
        return [{
            **p, "cores_node": p.get("cores"), "gpu": p.get("gpus"), "build_type": p.get("build"),
            "time_utc": p.get("started")
        }]
    if record.kind in ("gpu_runs", "orb_list"):
        return [one.data["provenance"] for one in records.members(record)]
    if record.kind in ("benchmark", "benchmark_medians"):
        context = data["context"]
        return [{
            "commit": context.get("commit"), "compiler": context.get("compiler"), "gpu": context.get("gpu_0"),
            "cores_node": context.get("num_cpus"), "time_utc": context.get("date")
        }]
    if record.kind == "orb_bench":
        return [{"gpu": data["gpu"], "commit": data["commit"], "time_utc": data.get("date")}]
    provenance = data.get("provenance")
    return [provenance] if isinstance(provenance, dict) else []


def _machines(material: Material) -> list[dict[str, str]]:
    """Every machine, build and commit once, the newest first."""
    found: dict[tuple, dict] = {}
    for record in material.sources:
        for p in _provenances(record):
            row = _machine(p)
            row["binding"] = _binding(material, record)
            entry = found.setdefault(tuple(row.values()), {**row, "records": 0, "time": ""})
            entry["records"] += 1
            entry["time"] = max(entry["time"], str(p.get("time_utc") or ""))
    rows = sorted(found.values(), key=lambda row: row["time"], reverse=True)
    return [{
        **{
            name: value for name, value in row.items() if name not in ("records", "time")
        }, "latest run": row["time"][:16].replace("T", " "), "records": str(row["records"])
    } for row in rows]


def _known(value: Any) -> str:
    return "" if value in (None, "", "none", "unknown", []) else str(value)


def _machine(p: dict[str, Any]) -> dict[str, str]:
    gpu = p.get("gpu")
    gpu = ", ".join(map(str, gpu)) if isinstance(gpu, list) else _known(gpu)
    cores = f"{p['cores_node']} cores" if p.get("cores_node") else ""
    commit = _known(p.get("commit"))[:10] + ("+changes" if p.get("dirty") else "")
    build = " ".join(word for word in (_known(p.get("compiler")), _known(p.get("build_type"))) if word)
    nodes = f"{p['nodes']} nodes × " if p.get("nodes", 1) not in (None, 1) else ""
    cuda = _known(p.get("cuda"))
    return {
        "machine": nodes + ", ".join(word for word in (_known(p.get("cpu")), cores, _known(p.get("hostname"))) if word),
        "GPUs": gpu, "compiler": build, "MPI": _known(p.get("mpi")), "CUDA": cuda,
        "version, commit": f"{_known(p.get('version'))} {commit}".strip(),
        "ranks × threads": f"{p['ranks']} × {p['threads']}" if p.get("ranks") and p.get("threads") else ""
    }


def _binding(material: Material, record: records.Record) -> str:
    """How ranks were tied to cores: what the record tells, else options of mpirun on the command lines."""
    told = record.data.get("provenance", {}).get("binding") if isinstance(record.data, dict) else None
    if told:
        return page.shorten(told, 80)
    lines = [case.command for group in material.groups if group.path == record.path for case in group.cases]
    options = [" ".join(re.findall(r"--(?:bind-to|map-by|cpu-set|cpu-bind|rank-by)[ =]\S+", line)) for line in lines]
    return page.shorten("; ".join(sorted({option for option in options if option})), 120)


# --- What failed -----------------------------------------------------------------------------------------------------


def failures(material: Material) -> Section | None:
    bad = [(group, case, run) for group in material.groups for case in group.cases for run in case.runs
           if run.status != "done"]
    if not bad:
        return None
    table = Table(f"{page.plural(len(bad), 'run')} without a valid result", [("case", False), ("repetition", True),
                                                                             ("status", False), ("after", True),
                                                                             ("message", False)],
                  [[
                      case.label,
                      str(run.repetition),
                      Cell(run.status, run.status, "bad"),
                      page.cell(run.seconds, page.seconds), run.message or
                      ("a check of the run failed" if run.status == "invalid" else "")
                  ] for _, case, run in bad])
    blocks: list = [table if len(bad) <= SHOWN_FAILURES else Details(f"All {len(bad)} runs", [table])]
    for _, case, run in [one for one in bad if one[2].output][:SHOWN_FAILURES]:
        blocks.append(
            Details(f"Output of {case.label}, repetition {run.repetition}",
                    [Text(case.command), Output(run.output, f"Output of {case.label}")]))
    return Section("failed", "What failed", blocks)


# --- Sources ---------------------------------------------------------------------------------------------------------


def _command(record: records.Record) -> str:
    """How to repeat it, as the record tells."""
    data = record.data
    if isinstance(data, list):
        return data[0]["provenance"].get("launch", "")
    context = data.get("context", {})
    for told in (data.get("repeat"), context.get("repeat"), context.get("command"), (data.get("provenance")
                                                                                     or {}).get("launch")):
        if isinstance(told, str) and told:
            return told
    return "scripts/sweep.py study.toml" if record.kind == "study" else ""


def sources(material: Material) -> Section | None:
    rows = []
    for record in material.sources:
        where = [_machine(p) for p in _provenances(record)]
        machine = sorted({", ".join(word for word in (m["GPUs"], m["machine"]) if word) for m in where})
        commits = sorted({m["version, commit"] for m in where} - {""})
        rows.append([
            str(record.path),
            record.kind.replace("_", " "), "; ".join(machine[:3]), ", ".join(commits[:3]),
            _command(record),
            page.shorten(record.note, 200)
        ])
    table = page.compact(
        Table("Every record: what it is, where it comes from, how to repeat it", [("file", False), ("kind", False),
                                                                                  ("machine", False),
                                                                                  ("version, commit", False),
                                                                                  ("command", False), ("note", False)],
              rows))
    commands = [
        Details(f"Command lines of {group.title}", [
            Table("The first run of each case", [("case", False), ("command", False)], [[case.label, case.command]
                                                                                        for case in group.cases])
        ]) for group in material.groups if group.kind == "study" and any(case.command for case in group.cases)
    ]
    return Section("records", "Records",
                   ([table] if len(rows) <= SHOWN_SOURCES else [Details(f"All {len(rows)} records", [table])]) +
                   commands)


def notes(material: Material) -> Section | None:
    if not material.texts:
        return None
    return Section("notes", "Notes in words", [Text("Measurements that are kept as text beside the records.")] + [
        Details(f"{pathlib.PurePath(*path.absolute().parts[-2:])}: {page.shorten(text.split(chr(10) * 2)[0], 110)}",
                [Output(text, f"Text of {path.name}")]) for path, text in material.texts
    ])


def skipped(material: Material) -> Section | None:
    if not material.skipped:
        return None
    table = Table("Files that are no records of amrbench, or damaged", [("file", False), ("why", False)],
                  [[str(path), reason] for path, reason in material.skipped])
    return Section("skipped", "Skipped files",
                   [table if len(material.skipped) <= 40 else Details(f"All {len(material.skipped)} files", [table])])
