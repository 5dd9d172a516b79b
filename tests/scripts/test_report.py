"""Reports: what is on a page, by what is there: verdicts, sections, figures with their files, scaling, the records of
this project, numbers as people read them."""
import csv
import json
import pathlib
import sys
import xml.etree.ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(pathlib.Path(__file__).parent)]
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
import report_sets  # noqa: E402
from report_pages import make  # noqa: E402
from studies import album, page, report_data, report_scaling  # noqa: E402


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study of 12 cases with a failed and an invalid run, and its page."""
    folder = tmp_path_factory.mktemp("small")
    report_sets.study(folder / "set", 12, bad={3: "failed", 5: "invalid", 7: "timeout"})
    return folder, make(folder, folder / "set", files=True)


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


@pytest.mark.parametrize("left, said", [([1] * 4, "one run each"), ([2] * 4, "each of 2 repetitions"),
                                        ([3, 3, 2, 1], "each of 1 to 3 repetitions")])
def test_an_unfinished_study_tells_how_many_runs_there_are(tmp_path, left, said):
    report_sets.study(tmp_path / "set", 4, repetitions=3)
    study = json.loads((tmp_path / "set/study.json").read_text())
    for case, count in zip(study["cases"], left):
        case["runs"] = case["runs"][:count]
    study.update(finished=False)
    study["provenance"]["dirty"] = True
    (tmp_path / "set/study.json").write_text(json.dumps(study))
    found = make(tmp_path, tmp_path / "set")
    text = " ".join(" ".join(found.shown).split())
    assert f"It is not finished: {sum(left)} of 12 runs are there." in text and "0123456789+changes" in text
    assert f"line: least to most ({said})." in text


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
    section = report_scaling.scaling(report_data.gather(list(map(str, results))), album.Album(str(tmp_path / "files")))
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


def test_many_replays_make_one_map(tmp_path):
    for k in range(4):
        report_sets.write(tmp_path / "some" / f"case{k}.json", report_sets.replay_record())
    found = make(tmp_path, tmp_path / "some", files=True)
    assert "Replays: some" in found.titles() and len(found.figures) == 1
    with open(next(tmp_path.glob("report_files/*some-regret.csv")), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 and float(rows[0]["auto"]) == 0.011 and list(rows[0]) == ["replay", "auto", "every", "never"]


def test_methods_that_refused(tmp_path):
    record = report_sets.partition_record(counts=(8, ))
    record["refused"] = [{"method": "octree", "parts": 8, "reason": "no blocks"}]
    report_sets.write(tmp_path / "p.json", record)
    assert "octree into 8 parts refused: no blocks." in make(tmp_path, tmp_path / "p.json").text


def test_reference_records(tmp_path):
    """The project's own records make one page, none is skipped."""
    found = make(tmp_path, ROOT / "results/reference")
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


def test_axes_of_runs_alone(tmp_path):
    for block in (4, 8):
        report_sets.write(tmp_path / f"b{block}" / "run.json", report_sets.run_record({"mesh.block": block}))
    material = report_data.gather([str(tmp_path)])
    assert material.groups[0].axes == ["config.mesh.block"]
    assert [case.label for case in material.groups[0].cases] == ["model, block 4³", "model, block 8³"]
