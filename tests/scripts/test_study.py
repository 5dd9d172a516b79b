"""STUDY.toml: what is refused and how, ranges, expansion against a plain product, growth of meshes, ids."""
import datetime
import itertools
import json
import math

import pytest
from conftest import ROOT
from hypothesis import given, strategies as st

from studies import cases, expressions, study
from studies.execute import Launcher, digest
from studies.machine import Machine

AXES = ["mesh.block", "fields.variables", "run.steps", "partition.method", "run.overlap"]
MACHINE = Machine("host", "cpu", 4, (0, 1, 2, 3), ())


def parse(text, overrides=None, bounds=""):
    return study.parse('command = "orb"\n' + text, "s.toml", overrides, bounds)


def refused(text, *words, **options):
    with pytest.raises(study.StudyError) as error:
        cases.expand(parse(text, **options))
    line = str(error.value)
    assert line.startswith("s.toml: ") and "\n" not in line
    for word in words:
        assert word in line, line


@pytest.mark.parametrize("text, words", [
    ("nam = 'x'", ["'nam'", "did you mean name?"]),
    ("[parametres]\nleaves = [1]", ["'parametres'", "did you mean parameters?"]),
    ("[quick]\nrepetition = 1", ["'repetition'", "[quick]", "repetitions"]),
    ("command = 'fly'", ["Cannot overwrite"]),
    ("name = '../x'", ["name must be"]),
    ("name = 3", ["name must be", "3"]),
    ("repetitions = 0", ["repetitions", "from 1", "0"]),
    ("repetitions = true", ["repetitions", "true"]),
    ("time_limit_s = 0", ["time_limit_s"]),
    ("time_limit_s = inf", ["time_limit_s"]),
    ("ranks = [1, 1]", ["ranks", "1 twice"]),
    ("ranks = [0]", ["ranks", "from 1"]),
    ("ranks = 2.0", ["ranks", "2.0"]),
    ("kind = 'middling'", ["kind must be one of", "weak"]),
    ("kind = 'weak'", ["grow"]),
    ("base = 'x.toml'", ["base", "[parameters]"]),
    ("miniamr = 'x'", ["miniamr", "lines"]),
    ("[parameters]\nleaves = []", ["leaves", "empty"]),
    ("[parameters]\nleaves = [1, 2, 1]", ["leaves", "1 twice"]),
    ("[parameters]\nleaves = [1, 1.0]", ["leaves", "1.0 twice"]),
    ("[parameters]\nleaves = [{}]", ["leaves", "neither"]),
    ("[parameters]\nleaves = {from = 1, to = 2}", ["leaves", "a range is"]),
    ("[parameters]\nleaves = {from = 1, to = 2, stp = 1}", ["stp", "did you mean step?"]),
    ("[parameters]\nleaves = {from = 3, to = 2, step = 1}", ["leaves", "smaller"]),
    ("[parameters]\nleaves = {from = 0, to = 2, factor = 2}", ["leaves", "factor above 1"]),
    ("[parameters]\nleaves = {from = 1, to = 2, count = 9}", ["leaves", "twice"]),
    ("[parameters]\nleaves = {from = -1.0, to = 2, count = 9, spacing = 'geometric'}", ["leaves", "above 0"]),
    ("[parameters]\nleaves = {from = 1, to = 9000000000, step = 1}", ["cases", "the most"]),
    ("[set]\nleaves = 1\n[parameters]\nleaves = [1]", ["leaves", "both"]),
    ("[set]\njson = 'x'", ["json", "--out"]),
    ("zip = ['leaves']", ["zip must be"]),
    ("zip = [['leaves', 'leafs']]\n[parameters]\nleaves = [1]", ["leafs", "did you mean leaves?"]),
    ("zip = [['a', 'b']]\n[parameters]\na = [1]\nb = [1, 2]", ["a has 1, b has 2"]),
    ("zip = [['a', 'b'], ['b', 'a']]\n[parameters]\na = [1]\nb = [2]", ["twice"]),
    ("exclude = 'a'", ["exclude must be"]),
    ("exclude = [1]", ["exclude", "1"]),
    ("exclude = ['b == 1']\n[parameters]\na = [1]", ["b is no value"]),
    ("exclude = [{b = 1}]\n[parameters]\na = [1]", ["b is no axis"]),
    ("exclude = ['a == 1']\n[parameters]\na = [1]", ["no case is left"]),
    ("exclude = ['a < 1']\n[parameters]\na = ['x']", ["a < 1"]),
    ("x = ", ["s.toml"]),
])
def test_refused_with_one_line(text, words):
    refused(text, *words)


def test_other_commands_and_bases_are_checked(tmp_path):
    def line(text, **options):
        with pytest.raises(study.StudyError) as error:
            cases.expand(study.parse(text, str(tmp_path / "s.toml"), **options))
        return str(error.value)
    (tmp_path / "a.toml").write_text("[mesh]\nroot = 3\n")
    assert "base is missing" in line("")
    assert "no such file" in line("base = 'b.toml'")
    assert "label a" in line("base = ['a.toml', './a.toml']")
    assert "use threads" in line("base = 'a.toml'\n[parameters]\ndevice.threads = [1]")
    assert "mesh.root of a" in line("base = 'a.toml'\nkind = 'weak'\nranks = [1, 2]")
    assert "has no table [quick]" in line("base = 'a.toml'", bounds="quick")
    assert "no such file" in line("command = 'replay'\nbase = 'gone.trace'")
    assert "one process" in line("command = 'replay'\nbase = 'a.toml'\nranks = 4")
    assert "miniAMR's options" in line("command = 'replay'\nbase = '--nx 4'")
    with pytest.raises(study.StudyError, match="No such file"):
        study.load(tmp_path / "gone.toml")


@pytest.mark.parametrize("text, values", [
    ("{from = 1, to = 7, step = 2}", [1, 3, 5, 7]), ("{from = 1, to = 8, step = 3}", [1, 4, 7]),
    ("{from = 4, to = 32, factor = 2}", [4, 8, 16, 32]), ("{from = 0.1, to = 0.3, step = 0.1}", [0.1, 0.2, 0.3]),
    ("{from = 0.0, to = 1.0, count = 5}", [0, 0.25, 0.5, 0.75, 1]), ("{from = 1, to = 10, count = 4}", [1, 4, 7, 10]),
    ("{from = 1, to = 1000, count = 4, spacing = 'geometric'}", [1, 10, 100, 1000]), ("5", [5]),
    ("[[8, 8, 8], [4, 4, 16]]", [[8, 8, 8], [4, 4, 16]])])
def test_lists_and_ranges(text, values):
    got = parse(f"[parameters]\nx = {text}").axes["x"]
    assert got == pytest.approx(values) if isinstance(values[0], (int, float)) else got == values
    assert [type(value) for value in got if isinstance(value, int)] == [int] * sum(isinstance(v, int) for v in got)


@st.composite
def studies(draw):
    """Axes with their values, zipped groups of equal length, and rules that exclude some values together."""
    names = draw(st.lists(st.sampled_from(AXES), min_size=1, max_size=4, unique=True))
    axes = {name: draw(st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)) for name in names}
    equal = [pair for pair in itertools.combinations(names, 2) if len(axes[pair[0]]) == len(axes[pair[1]])]
    zips = [list(draw(st.sampled_from(equal)))] if equal and draw(st.booleans()) else []
    value = st.tuples(st.sampled_from(names), st.integers(0, 9))
    rules = [(*a, *b) for a, b in draw(st.lists(st.tuples(value, value), max_size=2))]
    return axes, zips, rules


@given(studies(), st.booleans())
def test_expansion_is_the_product_with_zips_less_exclusions(drawn, as_text):
    axes, zips, rules = drawn
    wanted = []
    for point in itertools.product(*axes.values()):
        values = dict(zip(axes, point))
        together = all(axes[a].index(values[a]) == axes[b].index(values[b]) for a, b in zips)
        out = any(values[a] == x and values[b] == y for a, x, b, y in rules if a != b or x == y)
        if together and not out:
            wanted.append(values)
    rules = [rule for rule in rules if rule[0] != rule[2] or rule[1] == rule[3]]
    exclude = [f"{a} == {x} and {b} == {y}" if as_text else {a: x, b: y} for a, x, b, y in rules]
    one = study.Study("s.toml", "", "s", command="orb", axes=axes, zips=zips, exclude=exclude)
    if not wanted:
        with pytest.raises(study.StudyError, match="no case is left"):
            cases.expand(one)
        return
    got = cases.expand(one)
    assert sorted(map(str, (case.values for case in got))) == sorted(map(str, wanted))
    assert len({case.label for case in got}) == len(got)
    assert all(case.settings == case.values for case in got)


def test_the_page_names_every_key_and_its_example_is_a_study(tmp_path):
    page = (ROOT / "docs" / "studies.md").read_text()
    for key in study.KEYS:
        assert f"`{key}`" in page or f"`[{key}]`" in page, key
    example = page.split("```toml\n")[1].split("```")[0]
    got = cases.expand(study.parse(example, str(ROOT / "configs" / "studies" / "example.toml")))
    assert len(got) == 2 * 4 * 3 - 2 - 3 and got[0].label == "1 rank, block 8, variables 1"


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value) if isinstance(value, (bool, str)) else repr(value)


WORDS = st.sampled_from("a|b|mesh.block|ranks|from|to|step|run|weak|a == 1|--npx 2||sphere.toml".split("|"))
VALUES = st.recursive(st.booleans() | st.integers(-3, 40) | st.floats() | WORDS | st.just(datetime.date(2000, 1, 1)),
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
                      max_leaves=8)


@given(st.dictionaries(st.sampled_from(study.KEYS), VALUES, min_size=1, max_size=2), st.booleans())
def test_any_document_is_a_study_or_is_refused_with_one_line(changes, run):
    document = {"ranks": [1, 2], "parameters": {"a": [1, 2], "b": ["x", "y"]},
                **({"base": "sphere.toml"} if run else {"command": "orb"}), **changes}
    bounds = "quick" if "quick" in changes else ""
    text = "\n".join(f"{key} = {toml(value)}" for key, value in document.items())
    try:
        got = cases.expand(study.parse(text, str(ROOT / "configs" / "s.toml"), bounds=bounds))
    except study.StudyError as error:
        assert "\n" not in str(error)
    else:
        assert got and json.dumps([case.settings for case in got])


def test_order_of_axes_and_what_is_no_axis():
    got = parse("ranks = [1, 2]\nthreads = 0\n[set]\nc = 7\n[parameters]\nb = ['x', 'y']\na.d = [1, 2]")
    assert list(got.axes) == ["ranks", "b", "a.d"]
    all_cases = cases.expand(got, cores=4)
    assert [case.values for case in all_cases[:3]] == [
        {"ranks": 1, "b": "x", "a.d": 1}, {"ranks": 1, "b": "x", "a.d": 2}, {"ranks": 1, "b": "y", "a.d": 1}]
    assert all_cases[0].settings == {"c": 7, "b": "x", "a.d": 1}
    assert [case.threads for case in all_cases[::4]] == [4, 2]  # a rank's share of the cores
    assert all_cases[5].label == "2 ranks, x, d 2"


def test_bounds_and_overrides():
    text = ("ranks = [1, 2]\n[set]\nc = 7\n[parameters]\na = [1, 2, 3]\n"
            "[smoke]\nrepetitions = 1\nranks = 1\nset = {d = 1}\nparameters = {a = [1]}")
    got = parse(text, {"repetitions": 5, "set": {"c": 8}}, "smoke")
    assert (got.name, got.repetitions, got.axes, got.fixed) == ("s-smoke", 5, {"a": [1]}, {"c": 8, "d": 1})
    refused(text.replace("{a = [1]}", "{b = [1]}"), "b", "not among", bounds="smoke")


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(1, 512))
def test_a_grown_mesh_has_as_many_times_the_blocks(root, factor):
    grown = cases.grow_root(root, factor)
    assert math.prod(grown) == factor * math.prod(root)
    assert all(new % old == 0 for new, old in zip(grown, root))


def test_weak_scaling_grows_each_series_from_its_fewest_workers(tmp_path):
    (tmp_path / "a.toml").write_text("")
    text = "kind = 'weak'\nranks = [2, 4, 8]\nbase = {one = 'a.toml', two = '--npx 4 --init_y 3'}"
    got = cases.expand(study.parse(text, str(tmp_path / "s.toml")))
    roots = {(case.values["base"], case.ranks): case.settings["mesh.root"] for case in got}
    assert roots == {("one", 2): [2, 2, 2], ("one", 4): [2, 2, 4], ("one", 8): [2, 4, 4],
                     ("two", 2): [4, 3, 1], ("two", 4): [4, 3, 2], ("two", 8): [4, 3, 4]}
    with pytest.raises(study.StudyError, match="3 .*no multiple of 2"):
        cases.expand(study.parse("kind = 'weak'\nranks = [2, 3]\nbase = 'a.toml'", str(tmp_path / "s.toml")))


numbers = st.integers(-5, 5).map(lambda n: (str(n), n)) | st.just(("a.b", 3)) | st.just(("c", -2))


@st.composite
def conditions(draw, depth=3):
    """A condition as text and its truth for a.b = 3, c = -2, worked out beside it."""
    if depth == 0 or draw(st.booleans()):
        (left, x), (right, y) = draw(numbers), draw(numbers)
        op = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
        truth = {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
        return f"{left} {op} {right}", truth[op]
    (left, p), (right, q) = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    return draw(st.sampled_from([(f"({left}) and ({right})", p and q), (f"({left}) or ({right})", p or q),
                                 (f"not ({left})", not p)]))


@given(conditions())
def test_conditions_mean_what_they_say(drawn):
    text, truth = drawn
    assert expressions.compile_condition(text, ["a.b", "c"])({"a.b": 3, "c": -2}) is truth


@pytest.mark.parametrize("text", [
    "__import__('os')", "a.__class__", "a.b()", "[x for x in c]", "lambda: 1", "c if c else c", "c[0]", "", "c ==",
    "a.x == 1", "(c := 1)", "f'{c}'", "c ** 9999", "x", "b'c' == c", "{1: 2}", "c\nc"])
def test_nothing_but_conditions_is_taken(text):
    with pytest.raises(expressions.ExpressionError):
        expressions.compile_condition(text, ["a.b", "c"])


def test_conditions_know_lists_strings_and_sums():
    holds = lambda text: expressions.compile_condition(text, ["m", "n"])({"m": [8, 8, 8], "n": "orb"})  # noqa: E731
    assert holds("m == [8, 8, 8] and n in ['orb', 'linear'] and not n == 'x'")
    assert holds("2 * 3 + 1 == 7 and 1 < 2 < 3 and 'r' in n")
    with pytest.raises(expressions.ExpressionError, match="needs numbers"):
        holds("n * 1000000 == 'x'")
    with pytest.raises(expressions.ExpressionError):
        holds("m < 3")


def identified(tmp_path, monkeypatch, text="ranks = [1, 2]\n[parameters]\na = [1, 2]", program=b"x", machine=MACHINE):
    (tmp_path / f"p{digest(program.hex())}").write_bytes(program)
    launcher = Launcher(parse(text), str(tmp_path / f"p{digest(program.hex())}"), machine, "none")
    all_cases = cases.expand(launcher.study)
    launcher.identify(all_cases)
    return {case.label: case.id for case in all_cases}


def test_ids_follow_configuration_binary_and_machine(tmp_path, monkeypatch):
    def ids(**change):
        return identified(tmp_path, monkeypatch, **change)
    first = ids()
    assert len(set(first.values())) == 4 and all(len(id) == 16 for id in first.values())
    assert ids() == first
    longer = ids(text="title = 'other words'\nrepetitions = 9\nranks = [2, 1]\n[parameters]\na = [2, 1, 3]")
    assert longer.items() >= first.items()
    for change in ({"program": b"y"}, {"machine": Machine("other", "cpu", 4, (0, 1, 2, 3), ())},
                   {"machine": Machine("host", "cpu", 4, (0, 1, 2, 3), ("H200",))},
                   {"text": "ranks = [1, 2]\n[set]\nb = 1\n[parameters]\na = [1, 2]"}):
        assert not set(ids(**change).values()) & set(first.values()), change


def test_files_among_the_options_count_by_content(tmp_path, monkeypatch):
    points = tmp_path / "points.csv"
    points.write_text("1,2\n")
    text = f"[set]\ninput = 'file:{points}'\n[parameters]\nleaves = [2]"
    before = identified(tmp_path, monkeypatch, text=text)
    from studies.machine import content_hash
    content_hash.cache_clear()
    points.write_text("1,3\n")
    assert identified(tmp_path, monkeypatch, text=text) != before
