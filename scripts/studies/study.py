"""STUDY.toml: what is varied, and the cases that come of it. docs/studies.md explains every key.

A study is read and checked here without the program; the program itself checks each case's configuration later.
"""
import json
import math
import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.expressions import ExpressionError, nearest

KEYS = ("name", "title", "question", "command", "base", "miniamr", "kind", "grow", "ranks", "threads", "gpus",
        "repetitions", "time_limit_s", "launcher", "zip", "exclude", "set", "parameters", "quick", "smoke")
BOUND_KEYS = ("base", "ranks", "threads", "gpus", "repetitions", "time_limit_s", "set", "parameters")
COMMANDS = ("run", "partition", "orb", "replay")
PLACES = ("ranks", "threads", "gpus")
# What a sweep sets itself: (key or option, what to use instead).
OURS = {"device.threads": "threads", "device.backend": "gpus", "output.dir": "--out", "json": "--out", "csv": "--out"}
MOST_CASES = 20000
MINIAMR_EDGES = (("--npx", "--init_x"), ("--npy", "--init_y"), ("--npz", "--init_z"))


class StudyError(ValueError):
    """One line that names the key, file or value and what would be right."""


@dataclass(frozen=True)
class Base:
    """What a case starts from: a configuration or trace, or a line of miniAMR's options."""
    label: str
    text: str  # absolute path, or the line

    @property
    def is_miniamr(self) -> bool:
        return self.text.startswith("-")


@dataclass
class Case:
    """One point of the study. `values` holds the axes; `settings` every key that is set, in order."""
    values: dict[str, Any]
    settings: dict[str, Any]
    base: Base | None
    ranks: int
    threads: int
    gpus: int
    label: str = ""
    program: str = "amrbench"  # or miniamr
    id: str = ""

    @property
    def workers(self) -> int:
        """What scaling counts: GPUs where there are any, else threads of all ranks."""
        return self.gpus or self.ranks * self.threads

    def names(self) -> dict[str, Any]:
        """What a condition may look at."""
        return {**{place: getattr(self, place) for place in PLACES}, **self.values, "label": self.label, "id": self.id}


@dataclass
class Study:
    path: str
    text: str
    name: str
    title: str = ""
    question: str = ""
    command: str = "run"
    scaling: str | None = None
    grow: str = "mesh.root"
    repetitions: int = 3
    time_limit_s: float = 600.0
    launcher: str = "auto"
    miniamr: str = ""
    axes: dict[str, list[Any]] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)
    bases: list[Base] = field(default_factory=list)
    zips: list[list[str]] = field(default_factory=list)
    exclude: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)  # ranks, threads, gpus where they are no axis


def load(path: str | os.PathLike, overrides: dict[str, Any] | None = None, bounds: str = "") -> Study:
    """The study in a file. overrides: top-level keys, and a table `set`, that win; bounds: "", "quick" or "smoke"."""
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
        return parse(data.decode(), str(path), overrides, bounds)
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StudyError(f"{path}: is no text") from None


def parse(text: str, path: str, overrides: dict[str, Any] | None = None, bounds: str = "") -> Study:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{path}: {error}") from None
    try:
        check_keys(document, KEYS, "key")
        for name in ("quick", "smoke"):
            check_keys(table(document, name), BOUND_KEYS, f"key of [{name}]")
        if bounds and bounds not in document:
            raise StudyError(f"has no table [{bounds}]")
        return build(merge(document, bounds, overrides or {}), text, path, bounds)
    except (StudyError, ExpressionError) as error:
        raise StudyError(f"{path}: {error}") from None


def check_keys(given: dict, known: tuple[str, ...], what: str) -> None:
    for key in given:
        if key not in known:
            raise StudyError(f"unknown {what} '{key}'; {nearest(key, known)}")


def table(document: dict, key: str) -> dict:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise StudyError(f"{key} must be a table, not {show(value)}")
    return value


def merge(document: dict, bounds: str, overrides: dict[str, Any]) -> dict:
    """The document with the values of [quick] or [smoke] in place of its own, then those of the command line."""
    merged = dict(document)
    for changes in (table(document, bounds) if bounds else {}, overrides):
        for key, value in changes.items():
            if key not in ("set", "parameters"):
                merged[key] = value
                continue
            old, new = flatten(table(merged, key)), flatten(value)
            if key == "parameters":
                for name in new:
                    if name not in old:
                        raise StudyError(f"[{bounds}]: {name} is not among [parameters]; {nearest(name, old)}")
            merged[key] = {**old, **new}
    return merged


def flatten(tree: dict, prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys; a range stays a value."""
    flat = {}
    for key, value in tree.items():
        if isinstance(value, dict) and "from" not in value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def show(value: Any) -> str:
    return json.dumps(value, default=str)


def string(document: dict, key: str, default: str, choices: tuple[str, ...] = ()) -> str:
    value = document.get(key, default)
    if not isinstance(value, str) or (choices and value not in choices):
        wanted = f"one of {', '.join(choices)}" if choices else "a string"
        raise StudyError(f"{key} must be {wanted}, not {show(value)}")
    return value


def build(document: dict, text: str, path: str, bounds: str) -> Study:
    study = Study(path=path, text=text, name=string(document, "name", Path(path).stem))
    if not re.fullmatch(r"[A-Za-z0-9._-]+", study.name) or study.name.startswith("."):
        raise StudyError(f"name must be made of letters, digits, '.', '-' and '_', not {show(study.name)}")
    study.name += f"-{bounds}" if bounds else ""
    study.title = string(document, "title", study.name)
    study.question = string(document, "question", "")
    study.command = string(document, "command", "run", COMMANDS)
    study.scaling = string(document, "kind", "", ("", "weak", "strong")) or None
    study.grow = string(document, "grow", "mesh.root", ("mesh.root", "none"))
    study.launcher = string(document, "launcher", "auto", ("auto", "mpirun", "srun", "none"))
    study.miniamr = string(document, "miniamr", "")
    study.repetitions = whole(document.get("repetitions", 3), "repetitions", 1)
    study.time_limit_s = document.get("time_limit_s", 600)
    if not is_number(study.time_limit_s) or not 0 < study.time_limit_s < 1e9:
        raise StudyError(f"time_limit_s must be a number of seconds above 0, not {show(study.time_limit_s)}")
    study.fixed = flatten(table(document, "set"))
    for name, value in study.fixed.items():
        check_plain(value, f"[set] {name}")
    for key in document:  # axes in the order in which they are given
        if key == "base":
            study.bases = bases(document[key], Path(path).parent, study.command)
            if len(study.bases) > 1:
                study.axes["base"] = [base.label for base in study.bases]
        elif key in PLACES:
            least = 1 if key == "ranks" else 0
            if isinstance(document[key], (list, dict)):
                study.axes[key] = [whole(value, key, least) for value in values_of(document[key], key)]
            else:
                study.places[key] = whole(document[key], key, least)
        elif key == "parameters":
            for name, value in flatten(table(document, key)).items():
                study.axes[name] = values_of(value, f"[parameters] {name}")
    if study.miniamr:
        study.axes["program"] = ["amrbench", "miniamr"]
    study.zips = document.get("zip", [])
    study.exclude = document.get("exclude", [])
    check_study(study)
    return study


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value: Any, name: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= 1 << 20:
        raise StudyError(f"{name} must be a whole number from {least}, not {show(value)}")
    return value


def bases(given: Any, folder: Path, command: str) -> list[Base]:
    if command not in ("run", "replay"):
        raise StudyError(f"base is for run and replay; {command} has its input under [set] or [parameters]")
    if isinstance(given, dict):
        named = list(given.items())
    else:
        named = [("", text) for text in (given if isinstance(given, list) else [given])]
    found = []
    for number, (label, text) in enumerate(named):
        if not isinstance(text, str) or not text:
            raise StudyError(f"base must be a file, miniAMR's options, a list or a table of them, not {show(text)}")
        if text.startswith("-"):
            if command != "run":
                raise StudyError("base: a line of miniAMR's options is for the command run")
            found.append(Base(label or ("miniamr" if len(named) == 1 else f"miniamr-{number + 1}"), text))
            continue
        file = Path(os.path.abspath(folder / text))
        if not file.is_file():
            raise StudyError(f"base: {file}: no such file; the path counts from the folder of the study")
        found.append(Base(label or file.stem, str(file)))
    labels = [base.label for base in found]
    if not found or len(set(labels)) < len(labels):
        raise StudyError(f"base: {'two have the label ' + repeated(labels) if found else 'is empty'}")
    return found


def repeated(items: list) -> str:
    return next(str(item) for number, item in enumerate(items) if item in items[:number])


def values_of(given: Any, name: str) -> list[Any]:
    """A list of values, a range {from, to, step | factor | count [, spacing]}, or one value."""
    values = span(given, name) if isinstance(given, dict) else given if isinstance(given, list) else [given]
    if not values:
        raise StudyError(f"{name} is empty")
    seen = set()
    for value in values:
        check_plain(value, name)
        key = (isinstance(value, bool), tuple(value) if isinstance(value, list) else value)
        if key in seen:
            raise StudyError(f"{name} has {show(value)} twice")
        seen.add(key)
    return values


def check_plain(value: Any, name: str) -> None:
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, (bool, int, float, str)):
            raise StudyError(f"{name}: {show(value)} is neither a number, a string, true, false nor a list of them")


def span(given: dict, name: str) -> list[int | float]:
    form = "{from, to, step}, {from, to, factor} or {from, to, count, spacing}"
    check_keys(given, ("from", "to", "step", "factor", "count", "spacing"), f"key of the range {name}:")
    first, last = given.get("from"), given.get("to")
    ways = [way for way in ("step", "factor", "count") if way in given]
    ends = [given.get(key) for key in ("from", "to", *ways)]
    if len(ways) != 1 or not all(is_number(value) and math.isfinite(value) for value in ends):
        raise StudyError(f"{name}: a range is {form}, with numbers")
    way, amount = ways[0], given[ways[0]]
    integers = all(isinstance(given[key], int) for key in ("from", "to", way))
    spacing = string(given, "spacing", "linear", ("linear", "geometric"))
    if way == "count":
        amount = whole(amount, f"{name}: count", 2)
        if spacing == "geometric" and not (first > 0 and last > 0):
            raise StudyError(f"{name}: a geometric range needs from and to above 0")
        shares = [k / (amount - 1) for k in range(min(amount, MOST_CASES + 1))]
        exact = [first * (last / first) ** s if spacing == "geometric" else first + s * (last - first) for s in shares]
        return [round(value) for value in exact] if integers else [*exact[:-1], float(last)]
    if (way == "step" and amount <= 0) or (way == "factor" and (amount <= 1 or first <= 0)) or last < first:
        raise StudyError(f"{name}: a range goes from smaller to larger, by a step above 0 or a factor above 1")
    values: list[int | float] = []
    for k in range(MOST_CASES + 1):
        value = first + k * amount if way == "step" else first * amount ** k
        if value > last + (0 if integers else 1e-9 * abs(last)):
            break
        values.append(value)
    return values


def check_study(study: Study) -> None:
    if study.command in ("run", "replay") and not study.bases:
        line = " or miniAMR line" if study.command == "run" else ""
        raise StudyError(f"base is missing: the file{line} to start from")
    for key in study.fixed:
        if key in study.axes:
            raise StudyError(f"{key} is both under [set] and an axis of the study")
    for key in [*study.fixed, *study.axes]:
        if key in OURS and (key not in PLACES):
            raise StudyError(f"{key} is not for a study to set; use {OURS[key]}")
    if study.command != "run" and study.scaling == "weak" and study.grow != "none":
        raise StudyError('kind = "weak" grows the mesh of runs; else say grow = "none" and zip inputs with ranks')
    if study.command == "replay" and ("ranks" in study.places or "gpus" in {*study.places, *study.axes}):
        raise StudyError("a replay is one process: give the ranks it follows as a list, and no gpus")
    if study.miniamr and not (study.command == "run" and all(base.is_miniamr for base in study.bases)):
        raise StudyError("miniamr: comparing with miniAMR needs bases that are lines of its options")
    check_zips(study)
    if not isinstance(study.exclude, list):
        raise StudyError(f"exclude must be a list of conditions and tables, not {show(study.exclude)}")
    for rule in study.exclude:
        if isinstance(rule, dict):
            for name, value in flatten(rule).items():
                check_plain(value if not isinstance(value, list) else [], f"exclude: {name}")
                if name not in {*study.axes, *PLACES}:
                    raise StudyError(f"exclude: {name} is no axis; {nearest(name, study.axes)}")
        elif not isinstance(rule, str):
            raise StudyError(f"exclude: {show(rule)} is neither a condition nor a table of values")


def check_zips(study: Study) -> None:
    if not isinstance(study.zips, list) or not all(isinstance(group, list) and len(group) > 1 for group in study.zips):
        raise StudyError(f'zip must be a list of lists of axes, such as [["ranks", "threads"]], not {show(study.zips)}')
    names = [name for group in study.zips for name in group]
    for name in names:
        if not isinstance(name, str) or name not in study.axes:
            raise StudyError(f"zip: {name} is no axis; {nearest(str(name), study.axes)}")
    if len(set(names)) < len(names):
        raise StudyError(f"zip: {repeated(names)} stands in it twice")
    for group in study.zips:
        lengths = {name: len(study.axes[name]) for name in group}
        if len(set(lengths.values())) > 1:
            raise StudyError("zip: axes of different lengths: " + ", ".join(f"{n} has {k}" for n, k in lengths.items()))
