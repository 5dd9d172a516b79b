"""Runs a study: every case, every repetition, into a result set that survives being killed (docs/studies.md)."""
import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from studies import cases as expansion
from studies import machine as machines
from studies.execute import Launcher
from studies.expressions import ExpressionError, compile_condition
from studies.progress import Expectation, progress, size, span
from studies.runner import Runner, interleave
from studies.speedup import report as report_speedup
from studies.store import Store, StoreError, read_runs
from studies.study import Case, Study, StudyError, load


class Interrupted(Exception):
    """Ctrl-C or a request to end, once the runs under way have been ended."""


@dataclass
class Plan:
    """A study, ready to run here."""
    study: Study
    launcher: Launcher
    cases: list[Case]
    memory: list[int | None]
    out: Path


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", default="", help="result set; default results/<name of the study>")
    parser.add_argument("--amrbench", metavar="PROGRAM", default="", help="default build/release/amrbench")
    parser.add_argument("--miniamr", metavar="PROGRAM", default="", help="run miniAMR in turn with amrbench")
    parser.add_argument("--launcher", choices=("mpirun", "srun", "none"), help="what starts ranks; default mpirun")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="of all cases (repeatable)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="instead of the study's")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds a run may take, instead of the study's")
    bounds = parser.add_mutually_exclusive_group()
    for form in ("quick", "smoke"):
        bounds.add_argument(f"--{form}", dest="bounds", action="store_const", const=form, default="",
                            help=f"the study's [{form}] form")
    parser.add_argument("--only", metavar="EXPR", default="",
                        help='cases that meet a condition: "mesh.block == 8 and ranks > 1"')
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="cases side by side, as far as cores reach (1)")
    parser.add_argument("--resume", action="store_true", help="go on where an earlier call ended (always so)")
    parser.add_argument("--rerun-failed", action="store_true", help="do failed, invalid and timed-out runs again")
    parser.add_argument("--dry-run", action="store_true", help="cases, memory and time expected; run nothing")
    parser.add_argument("--list", action="store_true",
                        help="cases, what is done of each, and command lines; run nothing")


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """--set KEY=VALUE as a table; values as in TOML, strings with or without quotes."""
    settings = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals and text):
            raise StudyError(f"--set must be KEY=VALUE, not '{word}'")
        try:
            settings[key.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            settings[key.strip()] = text.strip()
    return settings


def overrides_of(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line changes of the study's top level."""
    changes: dict[str, Any] = {"set": settings_of(options.set)} if options.set else {}
    miniamr = options.miniamr and os.path.abspath(options.miniamr)
    for key, value in (("repetitions", options.repetitions), ("time_limit_s", options.time_limit),
                       ("launcher", options.launcher), ("miniamr", miniamr)):
        if value not in (None, ""):
            changes[key] = value
    if options.jobs < 1:
        raise StudyError(f"--jobs must be a whole number from 1, not {options.jobs}")
    return changes


def make_plan(study: Study, options: argparse.Namespace, here: bool = True) -> Plan:
    """Expands the study and lets the program check every case. `here`: it will be run on this machine."""
    program = machines.find_program(options.amrbench)
    if not program:
        raise StudyError(f"{options.amrbench or 'build/release/amrbench'}: no such program; scripts/run builds it, "
                         "--amrbench names another")
    out = Path(options.out or Path("results") / study.name)
    machine = machines.this_machine()
    how = "mpirun" if study.launcher == "auto" else study.launcher
    all_cases = expansion.expand(study, machine.cores)
    launched = study.command == "run" or any(case.ranks > 1 for case in all_cases)
    if here and launched and how != "none" and not shutil.which(how):
        raise StudyError(f"{how} is not to be found; it starts the ranks")
    miniamr = ""
    if study.miniamr:
        miniamr = machines.find_program(str(Path(study.path).parent / study.miniamr)) or ""
        if not miniamr:
            raise StudyError(f"miniamr: {study.miniamr}: no program that can be run")
    launcher = Launcher(study, program, machine, how, miniamr, traces=str(out / "traces"))
    return Plan(study, launcher, all_cases, launcher.identify(all_cases), out)


def selected(plan: Plan, only: str) -> list[Case]:
    if not only:
        return plan.cases
    condition = compile_condition(only, plan.cases[0].names())
    chosen = [case for case in plan.cases if condition(case.names())]
    if not chosen:
        raise StudyError(f'--only "{only}": no case of {len(plan.cases)} meets it')
    return chosen


def entry_of(case: Case, launcher: Launcher, jobs: int = 1) -> dict:
    """The case as study.json has it, without its runs."""
    return {"id": case.id, "label": case.label, "values": case.values,
            "command_line": launcher.command_line(case, confined=jobs > 1), "ranks": case.ranks,
            "threads": case.threads, "gpus": case.gpus}


def head_of(plan: Plan, started: str = "") -> dict:
    """study.json without its cases. `started`: when the set was begun; now unless given."""
    study, machine, program = plan.study, plan.launcher.machine, plan.launcher.program
    provenance = {"program": os.path.basename(program), **machines.program_facts(program),
                  "sha256": machines.content_hash(program), **machine.identity(), "python": platform.python_version(),
                  "started": started or datetime.now(timezone.utc).isoformat(timespec="seconds")}
    return {"schema": 1, "kind": "study", "name": study.name, "title": study.title, "question": study.question,
            "command": study.command, "scaling": study.scaling, "axes": list(study.axes), "provenance": provenance,
            "repetitions": study.repetitions, "finished": False}


def likeness(entry: dict) -> str:
    return json.dumps([entry["values"], entry["ranks"], entry["threads"], entry["gpus"]], sort_keys=True)


def expectation(plan: Plan) -> Expectation:
    """Seconds of earlier runs: of the same cases, else of cases alike in sets that were put aside."""
    sets = [read_runs(plan.out), *(read_runs(path.parent) for path in sorted((plan.out / ".aside").glob("*/cases")))]
    by_likeness: dict[str, list[float]] = {}
    for found in reversed(sets):  # the present set wins
        for entry in found.values():
            seconds = [run["seconds"] for run in entry["runs"].values() if run["status"] == "done"]
            if seconds:
                by_likeness[likeness(entry["case"])] = seconds
    return Expectation({case.id: by_likeness.get(likeness(entry_of(case, plan.launcher)), []) for case in plan.cases})


def show_list(plan: Plan, chosen: list[Case]) -> None:
    found = read_runs(plan.out)
    for case in chosen:
        statuses = [run["status"] for run in found.get(case.id, {}).get("runs", {}).values()]
        counts = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)) or "not run"
        print(f"{case.id}  {case.label}  ({counts})\n    {' '.join(map(quoted, plan.launcher.command_line(case)))}")


def quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def show_dry_run(plan: Plan, chosen: list[Case], wanted) -> None:
    expected = expectation(plan)
    memory = {case.id: bytes_ for case, bytes_ in zip(plan.cases, plan.memory)}
    width = max(len(case.label) for case in chosen)
    print(f"{'case':16}  {'label':{width}}  runs  memory at most  time a run")
    ids = []
    for case in chosen:
        runs = [case.id for repetition in range(plan.study.repetitions) if wanted(case.id, repetition)]
        print(f"{case.id}  {case.label:{width}}  {len(runs):4}  {size(memory[case.id]):>14}  "
              f"{span(expected.of(case.id)):>10}")
        ids += runs
    known = sum(1 for case in chosen if expected.of(case.id) is not None)
    time = span(expected.total(ids) if known else None)
    if 0 < known < len(chosen):
        time += f", from {known} of {len(chosen)} cases measured before"
    print(f"{len(chosen)} cases, {len(ids)} runs to do in {plan.out}; time expected: {time}")


def check_gpus(plan: Plan, chosen: list[Case]) -> None:
    most, there = max(case.gpus for case in chosen), len(plan.launcher.machine.gpus)
    if most > there:
        raise StudyError(f'{plan.study.path}: cases want up to {most} GPUs, and this machine has {there}'
                         + (f'; --only "gpus <= {there}" leaves the others out' if there else ""))


def run_plan(plan: Plan, options: argparse.Namespace) -> tuple[dict, list[dict]]:
    """Runs what is missing. Returns study.json and the runs of the chosen cases."""
    chosen = selected(plan, options.only)
    check_gpus(plan, chosen)
    with Store(plan.out) as store:
        old = store.old_study() or {}
        kept = any(case.id in store.found for case in plan.cases)
        head = head_of(plan, old.get("provenance", {}).get("started", "") if kept else "")
        said = store.begin(head, [entry_of(case, plan.launcher, options.jobs) for case in plan.cases], plan.study.text)
        if said:
            print(f"sweep: {said}", file=sys.stderr)
        entries = {case["id"]: case for case in store.cases}
        tasks = interleave([(case, entries[case.id]) for case in chosen], plan.study.repetitions,
                           wanted_by(store.runs, options.rerun_failed))
        there = len(chosen) * plan.study.repetitions - len(tasks)
        if there:
            print(f"sweep: {there} of {there + len(tasks)} runs are there already", file=sys.stderr)
        try:
            with progress(len(tasks)) as shown:
                Runner(store, plan.launcher, plan.study.time_limit_s, options.jobs, shown, expectation(plan)).run(tasks)
        except KeyboardInterrupt:
            left = sum(1 for task in tasks if task.repetition not in store.runs(task.case.id))
            raise Interrupted(f"interrupted with {left} of {there + len(tasks)} runs left; "
                              "the same command goes on from here") from None
        finally:
            store.write(csv_too=True)
        return store.study(), [run for case in chosen for run in store.runs(case.id).values()]


def wanted_by(runs, rerun_failed: bool):
    """Which runs are to be done: those that are missing, and failed ones where asked for."""
    def wanted(id: str, repetition: int) -> bool:
        run = runs(id).get(repetition)
        return run is None or (rerun_failed and run["status"] != "done")
    return wanted


def execute_study(study: Study, options: argparse.Namespace, after=None) -> int:
    """What sweeps and scaling share. `after(study record, folder)` prints what comes before the last line."""
    plan = make_plan(study, options)
    if options.list or options.dry_run:
        chosen = selected(plan, options.only)
        found = read_runs(plan.out)
        if options.list:
            show_list(plan, chosen)
        else:
            show_dry_run(plan, chosen, wanted_by(lambda id: found.get(id, {}).get("runs", {}), options.rerun_failed))
        return 0
    record, runs = run_plan(plan, options)
    if after:
        after(record, plan.out)
    bad = sum(1 for run in runs if run["status"] != "done")
    if bad:
        print(f"{bad} of {len(runs)} runs failed: {plan.out / 'runs.csv'} says why; --rerun-failed does them again")
        return 1
    print(plan.out)
    return 0


def guarded(me: str, work) -> int:
    """Runs work() and turns what users cause into one line and the right status."""
    def end(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, end)
    try:
        return work()
    except (StudyError, StoreError, ExpressionError) as error:
        print(f"{me}: {error}", file=sys.stderr)
        return 2
    except Interrupted as error:
        print(f"{me}: {error}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(f"{me}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads any more: `--list | head`
        return 0
    except OSError as error:
        print(f"{me}: {error.filename or 'cannot go on'}: {error.strerror}", file=sys.stderr)
        return 1


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/sweep.py", description=__doc__, allow_abbrev=False,
                                     epilog="Exit status: 0 all done, 1 a run failed, 2 bad input, 130 interrupted.")
    parser.add_argument("study", metavar="STUDY.toml", nargs="?", default="", help="docs/studies.md explains every key")
    parser.add_argument("--again", metavar="RUN", help="run one case once more: its run.json, or its id with --out DIR")
    add_options(parser)
    options = parser.parse_args(argv)

    def work() -> int:
        if options.again:
            from studies.again import again
            return again(options)
        if not options.study:
            raise StudyError("give a STUDY.toml; configs/studies has some that are ready")
        study = load(options.study, overrides_of(options), options.bounds)
        return execute_study(study, options, report_speedup if study.scaling else None)

    return guarded("sweep", work)
