"""The cases of a study: product of the axes, zipped ones together, less what is excluded; meshes of weak scaling."""
import itertools
import math
import re
import tomllib
from pathlib import PurePath
from typing import Any

from studies.expressions import ExpressionError, compile_condition
from studies.study import MINIAMR_EDGES, MOST_CASES, PLACES, Base, Case, Study, StudyError, flatten, show


def expand(study: Study, cores: int = 1) -> list[Case]:
    """All cases in the order of the axes, the last one varying fastest. threads = 0 is a rank's share of the cores."""
    try:
        cases = points(study, cores)
        if study.scaling == "weak" and study.grow != "none":
            grow_meshes(cases)
    except (StudyError, ExpressionError) as error:
        raise StudyError(f"{study.path}: {error}") from None
    name_cases(study, cases)
    return cases


def points(study: Study, cores: int) -> list[Case]:
    """The product of the axes less what is excluded."""
    groups = grouped(study)
    total = math.prod(len(points) for points in groups)
    if total > MOST_CASES:
        raise StudyError(f"{total} cases; {MOST_CASES} are the most")
    cases = []
    bases = {base.label: base for base in study.bases}
    rules = [exclusion(rule, study) for rule in study.exclude]
    for point in itertools.product(*groups):
        unordered = {name: value for part in point for name, value in part.items()}
        values = {name: unordered[name] for name in study.axes}
        case = make_case(study, values, bases, cores)
        if not any(rule(case.names()) for rule in rules):
            cases.append(case)
    if not cases:
        raise StudyError(f"no case is left: exclude takes all {total} away")
    return cases


def grouped(study: Study) -> list[list[dict[str, Any]]]:
    """A list of points for each axis, or group of zipped axes, in the order of its first axis."""
    groups, done = [], set()
    for name, values in study.axes.items():
        if name in done:
            continue
        names = next((group for group in study.zips if name in group), [name])
        groups.append([dict(zip(names, row)) for row in zip(*(study.axes[other] for other in names))])
        done.update(names)
    return groups


def make_case(study: Study, values: dict[str, Any], bases: dict[str, Base], cores: int) -> Case:
    place = {name: values.get(name, study.places.get(name)) for name in PLACES}
    gpus = place["gpus"] or 0
    ranks = place["ranks"] or gpus or 1  # one rank a GPU unless it is said otherwise
    settings = {**study.fixed, **{k: v for k, v in values.items() if k not in (*PLACES, "base", "program")}}
    if study.command == "replay":
        if "ranks" in values:
            settings["ranks"] = values["ranks"]
        ranks = 1
    threads = 1 if place["threads"] is None else place["threads"]
    base = bases[values["base"]] if "base" in values else study.bases[0] if study.bases else None
    return Case(values=values, settings=settings, base=base, ranks=ranks, gpus=gpus,
                threads=threads or max(1, cores // ranks), program=values.get("program", "amrbench"))


def exclusion(rule: str | dict, study: Study):
    if isinstance(rule, str):
        return compile_condition(rule, [*study.axes, *(place for place in PLACES if place not in study.axes)])
    wanted = flatten(rule)

    def fits(value: Any, allowed: Any) -> bool:
        return value in allowed if isinstance(allowed, list) and not isinstance(value, list) else value == allowed

    return lambda names: all(fits(names[name], allowed) for name, allowed in wanted.items())


def root_of(case: Case) -> list[int]:
    """Root blocks of the case's mesh before it grows."""
    root: Any = case.settings.get("mesh.root")
    if root is None and case.base.is_miniamr:
        words = case.base.text.split()
        given = dict(zip(words, words[1:]))
        try:
            root = [int(given.get(np, 1)) * int(given.get(init, 1)) for np, init in MINIAMR_EDGES]
        except ValueError:
            root = "no numbers"
    elif root is None:
        try:
            with open(case.base.text, "rb") as file:
                root = tomllib.load(file).get("mesh", {}).get("root", [2, 2, 2])
        except tomllib.TOMLDecodeError as error:
            raise StudyError(f"{case.base.text}: {error}") from None
    if not (isinstance(root, list) and len(root) == 3 and all(isinstance(n, int) and n > 0 for n in root)):
        raise StudyError(f"mesh.root of {case.base.label} must be 3 whole numbers, not {show(root)}")
    return root


def grow_root(root: list[int], factor: int) -> list[int]:
    """The grid factor times as large: prime factors, largest first, each on the shortest edge, z before y before x."""
    grown = list(root)
    primes, rest, prime = [], factor, 2
    while rest > 1:
        while rest % prime == 0:
            primes.append(prime)
            rest //= prime
        prime += 1
    for prime in reversed(primes):
        shortest = max(range(3), key=lambda axis: (-grown[axis], axis))
        grown[shortest] *= prime
    return grown


def series_key(case: Case) -> str:
    """What cases of one scaling series share: every value but where it runs."""
    return show({name: value for name, value in case.values.items() if name not in PLACES})


def grow_meshes(cases: list[Case]) -> None:
    least: dict[str, int] = {}
    for case in cases:
        least[series_key(case)] = min(least.get(series_key(case), case.workers), case.workers)
    for case in cases:
        few = least[series_key(case)]
        if case.workers % few:
            raise StudyError(f"weak scaling grows the mesh by whole factors, and {case.workers} (ranks {case.ranks}, "
                             f"threads {case.threads}) is no multiple of {few}, the fewest")
        case.settings["mesh.root"] = grow_root(root_of(case), case.workers // few)


def short(name: str, value: Any, full: bool) -> str:
    if isinstance(value, bool):
        text = "on" if value else "off"
    elif isinstance(value, list):
        text = "x".join(str(part) for part in value)
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = str(value)
    if name in PLACES:
        return f"{text} {name if value != 1 else name[:-1]}"
    if isinstance(value, str) and not full:
        return PurePath(text).stem if re.search(r"(^|:)\.{0,2}/", text) else text
    return f"{name if full else name.split('.')[-1].replace('_', ' ')} {text}"


def name_cases(study: Study, cases: list[Case]) -> None:
    """Labels: the shortest form that tells all cases apart; of zipped axes the first alone where that will do."""
    follow = {name for group in study.zips for name in group[1:]}
    for full, skipped in ((False, follow), (False, set()), (True, set())):
        for case in cases:
            shown = [short(name, value, full) for name, value in case.values.items() if name not in skipped]
            case.label = ", ".join(shown) or study.name
        if len({case.label for case in cases}) == len(cases):
            return
