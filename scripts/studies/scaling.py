"""Weak and strong scaling: a study over ranks, threads and GPUs, here or as jobs; speedup.py makes its table
(docs/studies.md)."""
import argparse
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from studies import slurm, sweep
from studies.machine import this_machine
from studies.speedup import report
from studies.study import PLACES, Study, StudyError, load, parse


def numbers(text: str, option: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise StudyError(f"{option} must be whole numbers with commas, such as 1,2,4, not '{text}'") from None


def study_for(kind: str, options: argparse.Namespace) -> Study:
    """The study in FILE, or one made for the configuration in FILE."""
    changes = sweep.overrides_of(options)
    for place in PLACES:
        if getattr(options, place):
            changes[place] = numbers(getattr(options, place), f"--{place}")
    try:
        with open(options.file, "rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise StudyError(f"{options.file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{options.file}: {error}") from None
    if "base" in document or "parameters" in document:
        if document.get("kind", kind) != kind:
            other = document["kind"]
            raise StudyError(f"{options.file}: kind is {other}; scripts/{other}_scaling.py is for it")
        return load(options.file, {**changes, "kind": kind}, options.bounds)
    base = Path(options.file).resolve()
    if not {"ranks", "gpus"} & set(changes):
        cores = this_machine().cores
        changes["ranks"] = [1 << k for k in range(cores.bit_length())]
    lists = "".join(f"{place} = {changes.pop(place)}\n" for place in PLACES if place in changes)
    name, title = f"{base.stem}-{kind}", f"{kind.capitalize()} scaling of {base.stem}"
    text = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in (
        ("name", name), ("title", title), ("kind", kind), ("base", str(base)))) + lists
    return parse(text, f"{name}.toml", changes, options.bounds)


def main(kind: str, argv: Sequence[str]) -> int:
    me = f"{kind}_scaling"
    if argv and argv[0] == "collect":
        parser = argparse.ArgumentParser(prog=f"scripts/{me}.py collect", description="Takes in what jobs left.")
        parser.add_argument("folder", metavar="DIR")
        folder = parser.parse_args(argv[1:]).folder
        return sweep.guarded(me, lambda: slurm.collect(Path(folder), report))
    parser = argparse.ArgumentParser(
        prog=f"scripts/{me}.py", allow_abbrev=False,
        description=f"{kind.capitalize()} scaling of a configuration or a study (docs/studies.md).",
        epilog=f"`scripts/{me}.py collect DIR` takes in what the jobs of --slurm DIR left. Exit status: 0 all done, "
               "1 a run failed, 2 bad input, 130 interrupted.")
    parser.add_argument("file", metavar="FILE", help="configuration or STUDY.toml")
    for place in PLACES:
        parser.add_argument(f"--{place}", metavar="LIST", default="", help=f"numbers of {place}, with commas")
    parser.add_argument("--slurm", metavar="DIR", default="", help="write job scripts there and run nothing")
    slurm.add_options(parser)
    sweep.add_options(parser)
    options = parser.parse_args(argv)

    def work() -> int:
        study = study_for(kind, options)
        if options.slurm:
            return slurm.write_jobs(me, study, options)
        return sweep.execute_study(study, options, report)

    return sweep.guarded(me, work)
