"""Reports of bad records and in bad places: nothing of a record read as markup, what is damaged named, nothing of
others replaced, limits of weight; the report that scripts/run makes changes nothing else."""
import html.parser
import os
import pathlib
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
from report_pages import Page, make  # noqa: E402
from studies import page, report, report_data  # noqa: E402

HOSTILE = ('<script>alert(1)</script><img src=x onerror=alert(2)> "quoted" \'one\' & {{ 7 * 7 }} $\\frac{1}$ ]]> é 漢 '
           "\u202e\x1b[31m")

PIECES = st.sampled_from(["<b", "<", "</td>", '"', "'>", "&lt;", "{{", "%}", "]]>", "a "]) | st.text(max_size=3)
MARKUP = st.lists(PIECES).map("".join)


def test_hostile_names(tmp_path):
    cases = [{"balance.policy": HOSTILE}, {"balance.policy": "every"}]
    options = {"name": HOSTILE, "title": HOSTILE, "bad": {1: "failed"}, "repetitions": 1, "series": False}
    report_sets.study(tmp_path / "set", cases, **options)
    (tmp_path / "set" / "<b>bold.json").write_text("{")
    report_sets.write(tmp_path / "set2" / "p.json", report_sets.partition_record(counts=(8, ), methods=(HOSTILE, "b")))
    for output in (tmp_path / "set").glob("cases/*/0/output.txt"):
        output.write_text(HOSTILE, encoding="utf-8")
    found = make(tmp_path, tmp_path / "set", tmp_path / "set2", files=True)
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
    assert len(make(tmp_path, tmp_path / "one", files=True).figures) == 3
    report_sets.write(tmp_path / "one" / "run.json", report_sets.run_record({}, series=False))
    make(tmp_path, tmp_path / "one", files=True)
    assert sorted(path.suffix for path in (tmp_path / "report_files").iterdir()) == [".csv", ".png", ".svg", ".txt"]


def test_weight_of_500_cases(tmp_path):
    report_sets.study(tmp_path / "set", 500, repetitions=1, bad={499: "failed"}, series=False)
    found = make(tmp_path, tmp_path / "set")
    assert len(found.text.encode()) < 10e6
    assert "All 500 cases in figures" in found.text and "The 10 fastest and the 10 slowest of 499 cases" in found.text
    assert all(text.count("\n") < 3 for text in found.shown if "VALIDATION" in text)


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
        out = f"{tmp_path}/out"
        make_record = f'cat "{tmp_path}/record.json" > "{out}/run.json"; echo VALIDATION; echo "{out}"'
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
