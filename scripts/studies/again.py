"""`sweep.py --again`: one run once more from its record, with what differs from then said beforehand."""
import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from studies import machine as machines
from studies.execute import RECORDS, Running
from studies.progress import span
from studies.store import free_name, read_json, read_runs
from studies.study import Case, StudyError


def again(options: argparse.Namespace) -> int:
    """Runs it into results/again-<name>, or --out where that is not the set that an id is looked up in."""
    path, command_line, where = find_run(options)
    record = read_json(path)
    if record is None:
        raise StudyError(f"{path}: is no whole record")
    if "config" not in record or "provenance" not in record:
        raise StudyError(f"{path}: no record of amrbench run; others are repeated by their command line: "
                         + (" ".join(command_line) or "see study.json"))
    program = machines.find_program(options.amrbench)
    if not program:
        raise StudyError(f"{options.amrbench or 'build/release/amrbench'}: no such program")
    machine = machines.this_machine()
    then = record["provenance"]
    ranks, threads = then.get("ranks", 1), then.get("threads", 1)
    for line in differences(then, where, program, machine):
        print(f"sweep: differs: {line}", file=sys.stderr)
    out = free_name(Path("results") / f"again-{record['config'].get('run', {}).get('name', 'run')}")
    out.mkdir(parents=True)
    (out / "given.toml").write_text(config_text(record["config"]), encoding="utf-8")
    how = options.launcher or "mpirun"
    if how != "none" and not shutil.which(how):
        raise StudyError(f"{how} is not to be found; it starts the ranks")
    command = [*machines.launch_line(how, ranks, threads, machine.cores), program, "run", str(out / "given.toml"),
               "--threads", str(threads), "--progress", "none", "--out", str(out)]
    case = Case({}, {}, None, ranks, threads, len(machine.gpus) and record.get("device", {}).get("gpus", 0))
    running = Running(case, 0, 0, out, command, options.time_limit or 1e8)
    try:
        running.process.wait()
    except KeyboardInterrupt:
        running.kill()
        raise
    run = running.finish("run", False)
    if run["status"] != "done":
        print(f"{run['status']}: {run['message']}; {out / 'output.txt'} has its output")
        return 1
    return 0 if tell(record, read_json(out / RECORDS["run"]) or {}, out) else 1


def find_run(options: argparse.Namespace) -> tuple[Path, list[str], dict]:
    """The record's path, its command line and the study's provenance where it lies in a result set."""
    given = Path(options.again)
    if given.is_dir():
        given = given / "run.json"
    if given.is_file():
        study = read_json(given.absolute().parents[3] / "study.json") if len(given.absolute().parents) > 3 else None
        mine = [case for case in (study or {}).get("cases", []) if case["id"] == given.absolute().parents[1].name]
        return given, mine[0]["command_line"] if mine else [], (study or {}).get("provenance", {})
    sets = [Path(options.out)] if options.out else sorted(path.parent for path in Path("results").glob("*/study.json"))
    for folder in sets:
        entry = read_runs(folder).get(options.again, {"runs": {}})
        kept = [run for run in entry["runs"].values() if run["record"]]
        if kept:
            study = read_json(folder / "study.json") or {}
            return folder / kept[0]["record"], entry["case"]["command_line"], study.get("provenance", {})
    raise StudyError(f"--again: {options.again}: neither a run.json nor the id of a case with a record in "
                     f"{options.out or 'results/*'}")


def differences(then: dict, where: dict, program: str, machine: machines.Machine) -> list[str]:
    """What is not as it was: the program, how it was built, the machine."""
    now = machines.program_facts(program)
    pairs = [("version", then.get("version"), now["version"]),
             ("commit", then.get("commit"), now["commit"]),
             ("compiler", then.get("compiler"), now["compiler"]), ("build", then.get("build_type"), now["build"]),
             ("cpu", then.get("cpu"), machine.cpu)]
    if where:
        pairs += [(name, where.get(name), value) for name, value in machine.identity().items() if name != "cpu"]
        pairs.append(("binary", where.get("sha256", "")[:12], machines.content_hash(program)[:12]))
    ranks, threads = then.get("ranks", 1), then.get("threads", 1)
    lines = [f"{name}: {show(old)} then, {show(new)} now" for name, old, new in pairs
             if old not in (None, "") and old != new]
    if ranks * threads > machine.cores:
        lines.append(f"room: {ranks} ranks of {threads} threads on {machine.cores} cores, so ranks are not bound")
    return lines


def show(value: Any) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def config_text(config: dict) -> str:
    """A configuration as a run record has it, as TOML; without the places of its results."""
    lines = []
    for name, content in config.items():
        for table in content if isinstance(content, list) else [content]:
            lines.append(f"[[{name}]]" if isinstance(content, list) else f"[{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in table.items()
                      if value is not None and (name, key) not in (("output", "dir"), ("output", "trace"))]
            lines.append("")
    return "\n".join(lines)


def tell(then: dict, now: dict, out: Path) -> bool:
    """Times of both, and whether the answer is the same; prints the folder last."""
    answers = [[record.get("mesh_crc_hex"), *(field.get("checksum_hex") for field in record.get("fields", []))]
               for record in (then, now)]
    same = answers[0] == answers[1]
    old, new = then["totals"]["time_s"], now["totals"]["time_s"]
    print(f"time: {span(old)} then, {span(new)} now, {new / old:.3f} times; "
          f"mesh and fields are {'the same' if same else 'NOT the same'}")
    print(out)
    return same
