"""Reports: self-contained pages with captions and alt texts, sections by what is there, nothing of a record read as
markup, limits of weight, what is damaged named, nothing of others replaced, and the report that scripts/run makes."""
import csv
import html.parser
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import xml.etree.ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(pathlib.Path(__file__).parent)]
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
import report_sets  # noqa: E402
from studies import album, figures, page, report, report_data, report_scaling  # noqa: E402

VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = ('<script>alert(1)</script><img src=x onerror=alert(2)> "quoted" \'one\' & {{ 7 * 7 }} $\\frac{1}$ ]]> é 漢 '
           "\u202e\x1b[31m")

PIECES = st.sampled_from(["<b", "<", "</td>", '"', "'>", "&lt;", "{{", "%}", "]]>", "a "]) | st.text(max_size=3)
MARKUP = st.lists(PIECES).map("".join)


class Page(html.parser.HTMLParser):
    """A page taken apart; fails on tags that do not match."""

    def __init__(self, path):
        super().__init__()
        self.text = pathlib.Path(path).read_text(encoding="utf-8")
        self.open, self.ids, self.links, self.headings = [], [], [], []
        self.figures, self.tables, self.tags = [], [], []
        self.shown = []
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given_ = dict(attributes)
        self.tags.append((tag, given_))
        self.ids += [given_["id"]] if "id" in given_ else []
        self.links += [
            given_[name] for name in ("href", "src", "xlink:href", "srcset", "data", "action") if name in given_
        ]
        if tag == "figure":
            self.figures.append({"desc": "", "figcaption": "", "svg": {}})
        if tag == "table":
            self.tables.append({"caption": ""})
        if tag == "svg" and self.figures and "figure" in self.open:
            self.figures[-1]["svg"] = given_
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([tag, ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> after <{self.open[-1:]}>, line {self.getpos()}"
        self.open.pop()

    def handle_data(self, data):
        self.shown.append(data)
        if self.open and self.open[-1] in ("desc", "figcaption") and self.figures:
            self.figures[-1][self.open[-1]] += data
        if self.open and self.open[-1] == "caption":
            self.tables[-1]["caption"] += data
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings[-1][1] += data

    def titles(self):
        return [text for _, text in self.headings]


def make(folder, *results, options=()):
    """A page, taken apart, and checked for what holds for all of them."""
    out = folder / "report.html"
    assert report.main([*map(str, results), "-o", str(out), *options]) == 0
    found = Page(out)
    assert len(found.ids) == len(set(found.ids)), sorted(i for i in found.ids if found.ids.count(i) > 1)[:3]
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.ids, link
        else:
            assert re.fullmatch(r"report_files/[\w-]+\.(csv|svg|png)", link), link
            assert (folder / link).is_file(), link
    assert not re.search(r"@import|@font-face|https?://|url\((?!#)",
                         re.sub(r"(?s)<(td|th|dd|pre|p|desc|title|h1)\b.*?</\1>", "", found.text))
    assert not [tag for tag, _ in found.tags if tag in ("link", "iframe", "object", "embed", "img", "base", "form")]
    for name in re.findall(r"url\(#([^)]+)\)", found.text):
        assert name in found.ids, name
    levels = [int(tag[1]) for tag, _ in found.headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:]))
    for figure in found.figures:
        assert len(figure["desc"]) > 30 and len(figure["figcaption"].strip()) > 15, figure
        assert figure["svg"]["role"] == "img" and figure["svg"]["aria-labelledby"] in found.ids
    drawn = "".join(re.findall(r"(?s)<svg.*?</svg>", found.text))  # in colours that the page sets, for light and dark
    assert not re.search("(?i)" + "|".join([figures.INK, figures.GRID, *figures.LINES]), drawn)
    assert "currentColor" in drawn or not found.figures
    for table in found.tables:
        assert len(table["caption"]) > 5
    return found


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of 12 cases with a failed and an invalid run, and its page."""
    folder = tmp_path_factory.mktemp("small")
    report_sets.study(folder / "set", 12, bad={3: "failed", 5: "invalid", 7: "timeout"})
    return folder, make(folder, folder / "set")


def test_study_page(small):
    folder, found = small
    assert found.titles()[0] == "A model of a sweep"
    assert found.titles()[1:] == ["What failed", "Cases", "Where the time goes", "Strategies", "Over time", "Records"]
    text = " ".join(" ".join(found.shown).split())
    assert "VALIDATION: FAILED. Of 24 runs 1 failed, 1 ran out of time, 1 not valid; 21 passed." in text
    assert "12 cases over balance.policy, partition.method, partition.slices" in text
    for told in ("A processor, 2 cores, here", "GNU 12.2.0 Release", "Open MPI v4.1.4", "--bind-to core",
                 "0.1.0 0123456789"):
        assert told in text
    assert "amrbench: error: it broke" in text
    assert (folder / "report.html").stat().st_size < 3e6


def test_files_beside_the_page(small):
    folder, found = small
    names = sorted(path.name for path in (folder / "report_files").iterdir())
    figures = {name.rsplit(".", 1)[0] for name in names if name != "files.txt"}
    assert len(figures) == len(found.figures) > 4
    for figure in figures:
        with open(folder / "report_files" / f"{figure}.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) > 1 and len({len(row) for row in rows}) == 1
        assert (folder / "report_files" / f"{figure}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        xml.etree.ElementTree.parse(folder / "report_files" / f"{figure}.svg")
    rates = next(figure for figure in figures if figure.endswith("model-rates"))
    with open(folder / "report_files" / f"{rates}.csv", newline="", encoding="utf-8") as file:
        written = {row["case"]: float(row["cell_updates_per_s median"]) for row in csv.DictReader(file)}
    study = json.loads((folder / "set/study.json").read_text())
    first = study["cases"][0]
    measured = [
        json.loads((folder / "set" / run["record"]).read_text())["rates"]["cell_updates_per_s"] for run in first["runs"]
    ]
    assert written["every, hilbert, midpoint"] == pytest.approx(sum(measured) / 2, rel=1e-12)


def test_sections_appear_by_what_is_there(tmp_path):
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}, series=False))
    found = make(tmp_path, tmp_path / "one")
    assert found.titles() == ["Run: model", "Where the time goes", "Records"]
    assert "VALIDATION: PASSED. 1 run passed its checks." in found.text
    assert make(tmp_path, tmp_path / "one").text == found.text  # nothing of the time at which it was made
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}))
    assert "Over time" in make(tmp_path, tmp_path / "one").titles()
    others = tmp_path / "others"
    report_sets.write(others / "p.json", report_sets.partition_record())
    report_sets.write(others / "r.json", report_sets.replay_record(("hilbert", "orb")))
    report_sets.write(others / "orb1.json", report_sets.orb_record(1000, 0.01))
    report_sets.write(others / "orb2.json", report_sets.orb_record(1000000, 0.2))
    report_sets.write(others / "b.json", report_sets.benchmark_record())
    (others / "words.txt").write_text("What was seen\n\nIn words.")
    found = make(tmp_path, others)
    assert [text for tag, text in found.headings if tag == "h2"] == [
        "Strategies", "Quality of partitions", "Bisection of points (ORB)", "Micro-benchmarks", "Notes in words",
        "Records"
    ]
    assert len(found.figures) == 8  # regret, its grid, the model's parts, cut, balance, time, ORB, shares


def scaling_of(tmp_path, *results):
    """Captions of the section on scaling of a folder, and the rows of its CSV files by name."""
    (tmp_path / "files").mkdir(exist_ok=True)
    section = report_scaling.scaling(
        report_data.gather(list(map(str, results))), album.Album(str(tmp_path / "files")))
    blocks = [block for part in section.blocks for block in (part.blocks if part.kind == "part" else [part])]
    captions = [figure.caption for block in blocks if block.kind == "figures" for figure in block.figures]
    tables = {}
    for path in sorted((tmp_path / "files").glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            tables[path.stem[3:]] = list(csv.DictReader(file))
    return captions, tables


def test_a_run_that_is_not_valid(tmp_path):
    report_sets.write(tmp_path / "one" / "run.json", {**report_sets.run_record({}), "valid": False})
    found = make(tmp_path, tmp_path / "one")
    assert found.titles() == ["Run: model", "What failed", "Records"]
    text = " ".join(found.shown)
    assert "VALIDATION: FAILED. Of 1 run 1 not valid; 0 passed." in text and "a check of the run failed" in text
    assert not found.figures


def test_scaling(tmp_path):
    strong = [{"ranks": ranks, "balance.policy": policy} for policy in ("every", "never") for ranks in (1, 2, 4)]
    report_sets.study(tmp_path / "strong", strong, scaling="strong", name="strong")
    report_sets.study(tmp_path / "weak", [{"ranks": ranks} for ranks in (1, 2, 4)], scaling="weak", name="weak")
    report_sets.study(tmp_path / "sweep", [{"ranks": ranks} for ranks in (1, 2)], name="sweep")
    captions, tables = scaling_of(tmp_path, tmp_path / "strong", tmp_path / "weak", tmp_path / "sweep")
    assert [caption.split(":")[0] for caption in captions] == ["Strong scaling"] * 2 + ["Weak scaling"] * 2
    rows = tables["weak-weak-cores"]
    assert [int(row["cores"]) for row in rows] == [1, 2, 4]
    assert float(rows[0]["efficiency"]) == 1
    rates = [float(row["cell_updates_per_s"]) for row in rows]
    assert float(rows[2]["efficiency"]) == pytest.approx(rates[2] / rates[0] / 4)
    assert float(rows[2]["ideal"]) == pytest.approx(4 * rates[0])
    assert len({row["curve"] for row in tables["strong-strong-cores"]}) == 2


def test_scaling_of_runs_that_no_study_describes(tmp_path):
    runs = [{
        "case": name, "gpus": gpus, "times_s": [1.0],
        "record": report_sets.run_record({"run.name": name},
                                         gpus,
                                         12,
                                         gpus=gpus,
                                         work={"strong": 1, "weak": gpus, "neither": gpus ** 0.5}[name])
    } for name in ("strong", "weak", "neither") for gpus in (1, 2, 4)]
    report_sets.write(tmp_path / "gpu" / "scaling.json",
                      {"date": "2026-11-22", "commit": "0", "repeat": "scripts/gpu_runs.py", "runs": runs})
    captions, tables = scaling_of(tmp_path, tmp_path / "gpu")
    assert [caption.split(":")[0] for caption in captions[::2]
            ] == ["Strong scaling", "Weak scaling", "Scaling with work that grows less than in proportion"]
    assert {row["curve"] for row in tables["scaling-weak-gpus"]} == {"weak"}


def test_hostile_names(tmp_path):
    cases = [{"balance.policy": HOSTILE}, {"balance.policy": "every"}]
    options = {"name": HOSTILE, "title": HOSTILE, "bad": {1: "failed"}, "repetitions": 1, "series": False}
    report_sets.study(tmp_path / "set", cases, **options)
    (tmp_path / "set" / "<b>bold.json").write_text("{")
    report_sets.write(tmp_path / "set2" / "p.json", report_sets.partition_record(counts=(8, ), methods=(HOSTILE, "b")))
    for output in (tmp_path / "set").glob("cases/*/0/output.txt"):
        output.write_text(HOSTILE, encoding="utf-8")
    found = make(tmp_path, tmp_path / "set", tmp_path / "set2")
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert not [name for _, given_ in found.tags for name in given_ if name.startswith("on")]
    assert found.titles()[0].startswith("<script>alert(1)</script>")
    assert "{{ 7 * 7 }}" in " ".join(found.shown)
    assert "\x1b" not in found.text and "\u202e" not in found.text
    for path in (tmp_path / "report_files").glob("*.svg"):
        xml.etree.ElementTree.parse(path)


@settings(max_examples=30, deadline=None, print_blob=True)
@given(MARKUP, MARKUP)
def test_any_text_is_shown_as_text(text, name):
    made = page.render(text, [page.Text(text), page.Facts([(name, text)])], [
        page.Section("s", text, [
            page.Table(name, [(name, False), ("n", True)], [[text, page.cell(1.0)]]),
            page.Output(text, name),
            page.Details(text, [])
        ])
    ], "")
    made.encode("utf-8")

    class Reader(html.parser.HTMLParser):
        tags = 0

        def handle_starttag(self, tag, attributes):
            self.tags += 1

    reader, plain = Reader(), Reader()
    reader.feed(made)
    plain.feed(
        page.render("t", [page.Text("t"), page.Facts([("n", "t")])], [
            page.Section("s", "t", [
                page.Table("n", [("n", False), ("n", True)], [["t", page.cell(1.0)]]),
                page.Output("t", "n"),
                page.Details("t", [])
            ])
        ], ""))
    assert reader.tags == plain.tags


def test_damaged_files_are_named(tmp_path, capsys):
    report_sets.study(tmp_path / "set", 2, series=False)
    (tmp_path / "set" / "foreign.json").write_text('{"a": 1}')
    (tmp_path / "set" / "empty.json").write_text("")
    broken = next((tmp_path / "set/cases").glob("*/0/run.json"))
    broken.write_text(broken.read_text()[:700])
    found = make(tmp_path, tmp_path / "set")
    assert "Skipped files" in found.titles()
    text = " ".join(found.shown)
    for name in ("foreign.json", "empty.json", str(broken.relative_to(tmp_path))):
        assert name in text
    assert "VALIDATION: PASSED" in text  # the other repetition of that case and all others
    assert "skipped" in capsys.readouterr().err


def test_many_replays_make_one_map(tmp_path):
    for k in range(4):
        report_sets.write(tmp_path / "some" / f"case{k}.json", report_sets.replay_record())
    found = make(tmp_path, tmp_path / "some")
    assert "Replays: some" in found.titles() and len(found.figures) == 1
    with open(next(tmp_path.glob("report_files/*some-regret.csv")), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and float(rows[0]["auto"]) == 0.011 and list(rows[0]) == ["replay", "auto", "every", "never"]


def test_methods_that_refused(tmp_path):
    record = report_sets.partition_record(counts=(8,))
    record["refused"] = [{"method": "octree", "parts": 8, "reason": "no blocks"}]
    report_sets.write(tmp_path / "p.json", record)
    assert "octree into 8 parts refused: no blocks." in make(tmp_path, tmp_path / "p.json").text


def test_values_of_the_wrong_kind(tmp_path):
    wrong, right = report_sets.replay_record(), report_sets.replay_record()
    wrong["rows"][-1]["stencil_s"] = "long"
    report_sets.write(tmp_path / "wrong.json", wrong)
    report_sets.write(tmp_path / "right.json", right)
    run = report_sets.run_record({})
    run["series"][1] = {"step": "first", "blocks_by_level": [None]}
    run["phases"]["halo"] = {"mean_s": None}
    run["config"]["mesh"]["block"] = {"x": 8}
    report_sets.write(tmp_path / "one" / "run.json", run)
    found = make(tmp_path, tmp_path)
    assert "Replay: explosion" in found.titles()
    skipped = " ".join(found.shown).rsplit("Skipped files", 1)[1]
    assert "wrong.json" in skipped and "cannot be shown whole: TypeError" in skipped and "right.json" not in skipped
    assert "VALIDATION: PASSED. 1 run passed its checks." in found.text


def test_records_that_a_study_does_not_name(tmp_path):
    folder = report_sets.study(tmp_path / "set", 2)
    report_sets.write(folder / "cases/0123456789abcdef/0/run.json", report_sets.run_record({}))
    (path, reason), = report_data.gather([str(folder)]).skipped
    assert path.parent.parent.name == "0123456789abcdef" and "its study.json does not name it" in reason


def test_nothing_to_show(tmp_path, capsys):
    (tmp_path / "foreign.json").write_text('{"a": 1}')
    for given_ in (tmp_path / "foreign.json", tmp_path, tmp_path / "nowhere"):
        assert report.main([str(given_), "-o", str(tmp_path / "r.html")]) == 2
        error = capsys.readouterr().err
        assert error.startswith("report: ") and error.count("\n") == 1, error
    assert not (tmp_path / "r.html").exists()


def test_nothing_of_others_is_replaced(tmp_path, capsys):
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}, series=False))
    run, out = str(tmp_path / "one"), tmp_path / "r.html"
    out.write_text("mine")
    assert report.main([run, "-o", str(out)]) == 2 and "no report of amrbench; --force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert report.main([run, "-o", str(out), "--force"]) == 0
    assert report.main([run, "-o", str(out)]) == 0  # its own
    (tmp_path / "r_files" / "mine.txt").write_text("mine")
    assert report.main([run, "-o", str(out)]) == 0
    assert (tmp_path / "r_files" / "mine.txt").read_text() == "mine"
    other = tmp_path / "o_files"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    assert report.main([run, "-o", str(tmp_path / "o.html")]) == 2
    assert "was not made by a report" in capsys.readouterr().err
    assert report.main([run, "-o", str(tmp_path / "o.html"), "--no-files"]) == 0
    assert report.main([run, "-o", str(tmp_path / "nowhere/o.html")]) == 2
    assert report.main([run, "-o", str(tmp_path)]) == 2


def test_files_of_an_earlier_report_go(tmp_path):
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}))
    assert len(make(tmp_path, tmp_path / "one").figures) == 3
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}, series=False))
    make(tmp_path, tmp_path / "one")
    assert sorted(path.suffix for path in (tmp_path / "report_files").iterdir()) == [".csv", ".png", ".svg", ".txt"]


def test_weight_of_500_cases(tmp_path):
    report_sets.study(tmp_path / "set", 500, repetitions=1, bad={499: "failed"}, series=False)
    found = make(tmp_path, tmp_path / "set", options=["--no-files"])
    assert len(found.text.encode()) < 10e6
    assert "All 500 cases in figures" in found.text and "The 10 fastest and the 10 slowest of 499 cases" in found.text
    assert all(text.count("\n") < 3 for text in found.shown if "VALIDATION" in text)


def test_reference_records(tmp_path):
    """The project's own records make one page, none is skipped."""
    found = make(tmp_path, ROOT / "results/reference", options=["--no-files"])
    for title in ("Beside miniAMR", "Strategies", "Scaling", "Quality of partitions", "Bisection of points (ORB)",
                  "Micro-benchmarks"):
        assert title in found.titles()
    assert "Skipped files" not in found.titles()
    assert len(found.text.encode()) < 3e6
    text = " ".join(found.shown)
    for path in (ROOT / "results/reference").rglob("*.json"):
        assert path.name in text, path


@pytest.mark.parametrize("value,shown", [(0, "0"), (1234, "1234"), (12345, "12.3 k"), (1.684e9, "1.68 G"),
                                         (0.05, "0.05"), (9.999, "10"), (999999, "1 M"), (1e-7, "1e-07"), (None, "–"),
                                         (float("nan"), "–"), (-2.5e6, "-2.5 M")])
def test_numbers(value, shown):
    assert page.number(value) == shown


@given(st.floats(min_value=1e-3, max_value=1e14))
def test_numbers_are_near(value):
    text = page.number(value).replace(" ", "")
    factor = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1], 1.0)
    assert float(text.rstrip("kMGT")) * factor == pytest.approx(value, rel=6e-3)


def test_scripts_run_makes_a_report(tmp_path):
    """With a program that stands in for mpirun: output and status are its own, the report lies in the result folder."""
    result = tmp_path / "results" / "a run"
    report_sets.write(tmp_path / "record.json", report_sets.run_record({}, series=False))
    stand_in = tmp_path / "mpirun"
    stand_in.write_text(
        f"#!/bin/sh\nmkdir -p '{result}'\ncp '{tmp_path}/record.json' '{result}/run.json'\nprintf 'one\\rtwo\\n'\n"
        f"echo to stderr >&2\necho '{result}'\nexit $1\n")
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    for status in (1, ):
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        done = subprocess.run([sys.executable, ROOT / "scripts/report.py", "--of-run", stand_in,
                               str(status)],
                              capture_output=True,
                              cwd=tmp_path)
        assert done.returncode == status
        assert done.stdout == f"one\rtwo\n{result}\n".encode()
        assert done.stderr.decode() == f"to stderr\nreport: {result}/report.html\n"
        assert "Run: model" in Page(result / "report.html").titles()
    (tmp_path / "record.json").write_text("{}")
    shutil.rmtree(result)
    done = subprocess.run([sys.executable, ROOT / "scripts/report.py", "--of-run", stand_in, "0"],
                          capture_output=True,
                          text=True,
                          cwd=tmp_path)
    assert done.returncode == 0 and "report: none made: nothing to show" in done.stderr


def test_scripts_run_itself(tmp_path):
    """The last line of its output stays the result folder's name; --dry-run and AMRBENCH_REPORT=OFF make no report."""
    import arguments_test
    scripts = arguments_test.StandIns("test_defaults")
    scripts.setUp()
    try:
        report_sets.write(tmp_path / "record.json", report_sets.run_record({}, series=False))
        make_record = f'cat "{tmp_path}/record.json" > "{tmp_path}/out/run.json"; echo VALIDATION; echo "{tmp_path}/out"'
        scripts.stand_in("mpirun", f'[[ ${{!#}} == true ]] || {{ mkdir -p "{tmp_path}/out"; {make_record}; }}')
        (scripts.bin / "python3").symlink_to(sys.executable)
        page_ = tmp_path / "out" / "report.html"
        for setting, options in (("OFF", []), ("ON", ["--dry-run"]), ("ON", [])):
            scripts.environment = {"AMRBENCH_REPORT": setting}
            answer = scripts.script("run", "a config.toml", *options)
            assert answer.returncode == 0, answer.stderr
            assert answer.stdout == f"VALIDATION\n{tmp_path}/out\n"
            assert page_.exists() == (setting == "ON" and not options)
        assert answer.stderr.endswith(f"report: {page_}\n")
        scripts.environment = {"AMRBENCH_REPORT": "yes"}
        answer = scripts.script("run", "a config.toml")
        assert answer.returncode == 2 and answer.stderr.count("\n") == 1 and "use ON or OFF" in answer.stderr
    finally:
        scripts.doCleanups()


def test_signals_reach_the_run(tmp_path):
    script = "trap 'echo ended; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    child = subprocess.Popen([sys.executable, ROOT / "scripts/report.py", "--of-run", "sh", "-c", script],
                             stdout=subprocess.PIPE,
                             text=True,
                             env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert child.stdout.readline() == "ready\n"
    child.terminate()
    assert child.communicate(timeout=20)[0] == "ended\n"
    assert child.returncode == 7


def test_axes_of_runs_alone(tmp_path):
    for block in (4, 8):
        report_sets.write(tmp_path / f"b{block}" / "run.json", report_sets.run_record({"mesh.block": block}))
    material = report_data.gather([str(tmp_path)])
    assert material.groups[0].axes == ["config.mesh.block"]
    assert [case.label for case in material.groups[0].cases] == ["model, block 4³", "model, block 8³"]
