"""Job scripts for Slurm that run a study's cases, one job a number of nodes; what they leave becomes a result set."""
import argparse
import json
import math
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from string import Template

from studies import sweep
from studies.execute import RECORDS, judge
from studies.store import Store, StoreError, read_json, read_runs, write_whole
from studies.study import Case, Study, StudyError

TEMPLATE = Path(__file__).with_name("job.sh.template")


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("with --slurm")
    group.add_argument("--cores-per-node", type=int, metavar="N", help="default: those of this machine")
    group.add_argument("--gpus-per-node", type=int, metavar="N", help="default: those of this machine")
    group.add_argument("--job-time", metavar="H:MM:SS", default="", help="limit of a job; default: of all its runs")
    group.add_argument("--directive", metavar="TEXT", action="append", default=[],
                       help='a line "#SBATCH TEXT" of every job: --directive=--account=abc (repeatable)')
    group.add_argument("--template", metavar="FILE", default="", help=f"instead of scripts/studies/{TEMPLATE.name}")


def nodes_of(case: Case, cores: int, gpus: int) -> int:
    if case.threads > cores:
        raise StudyError(f"{case.label}: {case.threads} threads a rank do not fit into a node of {cores} cores "
                         "(--cores-per-node)")
    if case.gpus and not gpus:
        raise StudyError(f"{case.label}: wants GPUs; say --gpus-per-node")
    ranks_a_node = cores // case.threads
    return max(math.ceil(case.ranks / ranks_a_node), math.ceil(case.gpus / gpus) if case.gpus else 1)


def write_jobs(me: str, study: Study, options: argparse.Namespace) -> int:
    """DIR/job-NODES.sh for every number of nodes, beside a result set without runs."""
    folder = Path(os.path.abspath(options.slurm))
    study.launcher = "srun"
    options.out = str(folder)
    plan = sweep.make_plan(study, options, here=False)
    chosen = sweep.selected(plan, options.only)
    cores = options.cores_per_node or plan.launcher.machine.cores
    gpus = options.gpus_per_node or len(plan.launcher.machine.gpus)
    try:
        template = Template(Path(options.template or TEMPLATE).read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{options.template}: {error.strerror}") from None
    by_nodes: dict[int, list[Case]] = {}
    for case in chosen:
        by_nodes.setdefault(nodes_of(case, cores, gpus), []).append(case)
    with Store(folder) as store:
        if store.found or list(folder.glob("cases/*/*")):
            raise StoreError(f"{folder}: has runs already; collect takes them in, and new jobs want a new folder")
        (folder / "configs").mkdir(exist_ok=True)
        for base in study.bases:
            if not base.is_miniamr:
                copy = folder / "configs" / f"{base.label}.toml"
                shutil.copyfile(base.text, copy)
                plan.launcher.configs[base.text] = str(copy)
        entries = [sweep.entry_of(case, plan.launcher) for case in chosen]
        store.begin(sweep.head_of(plan), entries, study.text)
        for nodes, cases in sorted(by_nodes.items()):
            text = job_text(me, plan, template, nodes, cases, options)
            path = folder / f"job-{nodes}.sh"
            write_whole(path, text)
            path.chmod(0o755)
            print(f"sbatch {path}    # {len(cases)} cases on {nodes} nodes")
    print(f"then: scripts/{me}.py collect {folder}")
    return 0


def job_text(me: str, plan: sweep.Plan, template: Template, nodes: int, cases: list[Case],
             options: argparse.Namespace) -> str:
    limit = max(1, round(plan.study.time_limit_s))
    commands, order = [], 0
    for repetition in range(plan.study.repetitions):
        for case in cases if repetition % 2 == 0 else reversed(cases):
            words = plan.launcher.command_line(case, "@OUT@")
            if words[0] == "srun":
                words[1:1] = [f"--nodes={nodes}", *(["--gpus-per-task=1"] if case.gpus else [])]
            commands.append(f"run {case.id} {repetition} {order} {limit} {' '.join(map(shlex.quote, words))}")
            order += 1
    seconds = limit * len(commands)
    time = options.job_time or f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    values = {"name": plan.study.name, "nodes": nodes, "time": time, "folder": shlex.quote(str(plan.out)),
              "cases": len(cases), "repetitions": plan.study.repetitions, "commands": "\n".join(commands),
              "collect": f"scripts/{me}.py collect {plan.out}",
              "directives": "\n".join(f"#SBATCH {directive}" for directive in options.directive)}
    try:
        return template.substitute(values)
    except (KeyError, ValueError) as error:
        raise StudyError(f"{options.template or TEMPLATE}: {error}; the template knows {', '.join(values)}") from None


def collect(folder: Path, report: Callable[[dict, Path], None]) -> int:
    """Makes DIR the result set of what its jobs have finished so far; may be repeated."""
    study = read_json(folder / "study.json")
    if study is None:
        raise StudyError(f"{folder}: no result set here; --slurm DIR writes one with its jobs")
    with Store(folder, keep_running=True) as store:
        entries = {case["id"]: {k: v for k, v in case.items() if k != "runs"} for case in study["cases"]}
        for path in sorted(folder.glob("cases/*/*/.job")):
            id, repetition = path.parts[-3], path.parts[-2]
            if id in entries and repetition.isdigit() and not (path.parent / ".status.json").exists():
                take_in(path, entries[id], int(repetition), study["command"])
        store.found = read_runs(folder)
        head = {key: value for key, value in study.items() if key not in ("cases", "finished")}
        head["provenance"] = dict(head["provenance"], **provenance_of(folder, store.found))
        store.head, store.cases = head, list(entries.values())
        store.write(csv_too=True)
        record = store.study()
    report(record, folder)
    runs = [run for case in record["cases"] for run in case["runs"]]
    bad = sum(1 for run in runs if run["status"] != "done")
    missing = len(record["cases"]) * record["repetitions"] - len(runs)
    if missing:
        print(f"collect: {missing} of {missing + len(runs)} runs are not there yet", file=sys.stderr)
    if bad:
        print(f"{bad} of {len(runs)} runs failed: {folder / 'runs.csv'} says why")
        return 1
    print(folder)
    return 0


def take_in(path: Path, entry: dict, repetition: int, command: str) -> None:
    """.status.json of one run from the line that its job left: order, exit status, start, seconds since 1970 twice."""
    try:
        order, status, started, begin, end = path.read_text(encoding="utf-8").split()
        run = {"repetition": repetition, "order": int(order), "exit_status": int(status), "started": started,
               "seconds": float(end) - float(begin)}
    except (OSError, ValueError):
        print(f"collect: {path}: damaged; the run is left out", file=sys.stderr)
        return
    state, record, message = judge(path.parent, RECORDS[command], run["exit_status"], run["exit_status"] in (124, 137),
                                   run["seconds"])
    run.update(status=state, message=message, record=f"cases/{entry['id']}/{repetition}/{record}" if record else None)
    write_whole(path.with_name(".status.json"), json.dumps({"case": entry, "run": run}, indent=1) + "\n")


def provenance_of(folder: Path, found: dict[str, dict]) -> dict:
    """Where the jobs ran, as their records say: that machine, not the one that wrote the jobs."""
    runs = [run for entry in found.values() for run in entry["runs"].values() if run["record"]]
    for run in sorted(runs, key=lambda run: run["started"]):
        there = (read_json(folder / run["record"]) or {}).get("provenance", {})
        if there:
            gpu = there.get("gpu", "none")
            return {"hostname": "slurm", "cpu": there.get("cpu", "unknown"), "cores": there.get("cores_node", 0),
                    "gpus": [] if gpu == "none" else [gpu], "started": min(run["started"] for run in runs)}
    return {}
