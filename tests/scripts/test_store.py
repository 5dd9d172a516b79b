"""The result set on disk: whole or absent, from folders alone; damaged parts; what is put aside and taken back."""
import csv
import json
import shutil

import pytest
from hypothesis import given, settings, strategies as st

from studies.progress import Expectation, size, span
from studies.runner import interleave
from studies.store import Store, StoreError, read_runs, write_whole

HEAD = {"schema": 1, "kind": "study", "name": "s", "axes": ["a"], "repetitions": 2, "provenance": {"sha256": "1"}}


def entries(*values):
    return [{"id": f"{value:016x}", "label": f"a {value}", "values": {"a": value}} for value in values]


def columns(path):
    return {"totals.time_s": json.loads(path.read_text())["t"]}


def do(store, case, repetition, status="done"):
    folder = store.start(case["id"], repetition)
    (folder / "run.json").write_text('{"t": 0.5}')
    store.finish(case, folder, {"repetition": repetition, "order": store.next_order(), "status": status,
                                "exit_status": 0, "started": "then", "seconds": 1.5, "record": "run.json",
                                "message": ""})


def test_what_is_finished_is_found_again_without_study_json(tmp_path):
    cases = entries(1, 2)
    with Store(tmp_path / "s", columns) as store:
        store.begin(HEAD, cases, "text")
        do(store, cases[0], 0)
        do(store, cases[1], 0, "failed")
        store.start(cases[0]["id"], 1)  # under way when the process dies
        before = store.study()
    (tmp_path / "s" / "study.json").write_text("{ damaged")
    (tmp_path / "s" / "cases" / cases[0]["id"] / "1").mkdir()  # no state: as if it were not there
    with Store(tmp_path / "s", columns) as store:
        assert store.begin(HEAD, cases, "text") == "" and store.study() == before and store.next_order() == 2
        do(store, cases[0], 1)
        assert sorted(store.runs(cases[0]["id"])) == [0, 1]
        store.write(csv_too=True)
    rows = list(csv.DictReader((tmp_path / "s" / "runs.csv").open()))
    names = ("label", "a", "repetition", "order", "status", "totals.time_s")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("a 1", "1", "0", "0", "done", "0.5"), ("a 1", "1", "1", "2", "done", "0.5"),
        ("a 2", "2", "0", "1", "failed", "0.5")]
    assert [path.name for path in (tmp_path / "s" / ".aside" / "repeated").iterdir()] == [f"{cases[0]['id']}-1"]


@settings(max_examples=20)  # each does dozens of runs' worth of fsync
@given(st.lists(st.sets(st.integers(1, 5), min_size=1), min_size=2, max_size=5))
def test_no_change_of_the_study_loses_or_repeats_a_run(tmp_path_factory, generations):
    """Each generation asks for other cases; whatever was done once is found whenever it is asked for again."""
    folder = tmp_path_factory.mktemp("store") / "s"
    done = 0
    ever = set()
    for number, wanted in enumerate(generations):
        cases = entries(*sorted(wanted))
        with Store(folder, columns) as store:
            store.begin(HEAD, cases, f"text {number}")
            for case in cases:
                assert bool(store.runs(case["id"])) == (case["id"] in ever)
                if not store.runs(case["id"]):
                    do(store, case, 0)
                    done += 1
                    ever.add(case["id"])
            assert {case["id"] for case in store.study()["cases"]} == {case["id"] for case in cases} == set(store.found)
        kept = [id for path in (folder, *folder.glob(".aside/*")) for id in read_runs(path)]
        assert sorted(kept) == sorted(ever) and done == len(ever)
    shutil.rmtree(folder)


def test_one_at_a_time_and_only_in_its_own_folders(tmp_path):
    with Store(tmp_path / "s", columns):
        with pytest.raises(StoreError, match="another sweep"):
            Store(tmp_path / "s", columns).__enter__()
    with Store(tmp_path / "s", columns):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="no folder"):
        Store(tmp_path / "file", columns).__enter__()


def test_a_file_is_written_whole_or_left_as_it_was(tmp_path, monkeypatch):
    write_whole(tmp_path / "f", "old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError):
        write_whole(tmp_path / "f", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["f"] and (tmp_path / "f").read_text() == "old"


@given(st.integers(1, 6), st.integers(1, 5), st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4))))
def test_repetitions_are_interleaved_forwards_and_backwards(count, repetitions, there):
    class One:
        def __init__(self, id):
            self.id = id
    cases = [(One(number), {}) for number in range(count)]
    tasks = interleave(cases, repetitions, lambda id, repetition: (id, repetition) not in there)
    got = [(task.repetition, task.case.id) for task in tasks]
    assert sorted(got) == sorted((r, id) for r in range(repetitions) for id in range(count) if (id, r) not in there)
    assert [r for r, _ in got] == sorted(r for r, _ in got)
    for repetition in range(repetitions):
        order = [id for r, id in got if r == repetition]
        assert order == sorted(order, reverse=repetition % 2 == 1)


def test_time_expected():
    expected = Expectation({"a": [1.0, 9.0, 2.0], "b": []})
    assert expected.of("a") == 2 and expected.of("b") is None and expected.total(["a", "b", "b"]) == 6
    expected.add("b", 4.0)
    assert expected.total(["a", "b"]) == 6 and expected.total([]) == 0 and Expectation({}).total(["a"]) is None
    assert [span(s) for s in (None, 0.0123, 12.34, 600)] == ["unknown", "0.0123 s", "12.3 s", "10 min"]
    assert span(9000) == "2 h 30 min"
    assert [size(b) for b in (None, 10, 2048, 3 << 40)] == ["unknown", "10 B", "2 KiB", "3 TiB"]
