"""Comparisons of result sets: what is matched, what is found, what is refused, and how rarely it errs."""
import copy
import csv
import hashlib
import json
import pathlib
import random
import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from studies import compare, matching, metrics  # noqa: E402
from studies.matching import Case, ResultSet, Run, SetError  # noqa: E402

TEMPLATE = json.loads((ROOT / "results/reference/h200/scaling.json").read_text())["runs"][0]["record"]
PARTITION = ROOT / "results/reference/cpu-2cores/partition/grid_100_1000_parts_1_thread.json"
BENCHMARK = ROOT / "results/reference/cpu-2cores/partition/kd_tree_bench.json"


# --- Result sets made here -------------------------------------------------------------------------------------------


def run_record(seconds, changes=(), **provenance):
    record = copy.deepcopy(TEMPLATE)
    record["totals"]["time_s"] = seconds
    record["rates"]["cell_updates_per_s"] = record["totals"]["cell_updates"] / seconds
    record["provenance"].update(provenance)
    for key, value in dict(changes).items():
        table, name = key.split(".")
        record["config"][table][name] = value
    return record


def write_study(folder, cases, name="study", salt="", interleave=True, hostname="here", launcher=("mpirun",),
                **provenance):
    """A result set. cases: {(axis, value, ...): [seconds or (status, message) a repetition]}."""
    study = {"schema": 1, "kind": "study", "name": name, "title": "", "question": "", "command": "run", "scaling": None,
             "axes": [], "repetitions": 0, "finished": True, "cases": [],
             "provenance": {"program": "amrbench", "version": "0.1.0", "commit": "unknown", "compiler": "GNU",
                            "mpi": "MPI",
                            "hostname": hostname, "cpu": "cpu", "cores": 2, "gpus": [],
                            "started": "2026-11-23T00:00:00"}}
    for number, (point, repetitions) in enumerate(cases.items()):
        values = dict(zip(point[::2], point[1::2]))
        id = hashlib.sha256(f"{salt}{point}".encode()).hexdigest()[:16]
        runs = []
        for k, one in enumerate(repetitions):
            order = k * len(cases) + number if interleave else number * len(repetitions) + k
            run = {"repetition": k, "order": order, "status": "done", "exit_status": 0,
                   "started": "2026-11-23T00:00:00",
                   "seconds": 1.0, "record": f"cases/{id}/{k}/run.json", "message": ""}
            if isinstance(one, tuple):
                run.update(status=one[0], message=one[1], record=None, exit_status=1)
            else:
                (folder / "cases" / id / str(k)).mkdir(parents=True)
                settings = {key: value for key, value in values.items() if "." in key}
                (folder / run["record"]).write_text(json.dumps(run_record(one, settings, **provenance)))
            runs.append(run)
        study["cases"].append({"id": id, "label": ", ".join(map(str, point[1::2])), "values": values, "ranks": 1,
                               "threads": 12,
                               "gpus": 1, "command_line": [*launcher, "amrbench", "run"], "runs": runs})
    folder.mkdir(exist_ok=True)
    (folder / "study.json").write_text(json.dumps(study))
    return folder


def set_of(cases, name="set", study=""):
    """A result set in memory. cases: {label: seconds of each repetition}."""
    return ResultSet(name, [Case("run", "", {"name": label}, label=label, study=study, runs=[
        Run(k, k, "done", rows={"": {"totals.time_s": float(one)}}) for k, one in enumerate(times)])
        for label, times in cases.items()], [])


def verdicts(comparison):
    return {row.case: row.verdict for row in comparison.rows}


def call(capsys, *arguments):
    """(exit status, standard output, standard error) of the command."""
    status = compare.main([str(word) for word in arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def noise(generator, kind, count):
    """Factors around 1 of one per cent: normal, or with heavy tails, and now and then a run half as long again."""
    if kind == "normal":
        return generator.normal(1, 0.01, count)
    return 1 + 0.01 * numpy.abs(generator.standard_t(2, count)) + 0.5 * (generator.random(count) < 0.05)


# --- What is found, and how rarely it errs ---------------------------------------------------------------------------

TIME = [("totals.time_s", False)]


@pytest.mark.parametrize("kind", ["normal", "heavy"])
@pytest.mark.parametrize("paired", [False, True])
def test_a_slow_down_of_five_per_cent_is_found(kind, paired):
    generator, found, improved = numpy.random.default_rng(1), 0, 0
    for _ in range(100):
        a, b = (set_of({"case": scale * noise(generator, kind, 10)}) for scale in (100, 105))
        found += verdicts(compare.compare(a, b, TIME, paired=paired))["case"] == "worse"
        improved += verdicts(compare.compare(b, a, TIME, paired=paired))["case"] == "improved"
    needed = 95 if kind == "normal" else 80  # with such tails two sets of ten may well not tell
    assert found >= needed and improved >= needed, (found, improved)


@pytest.mark.parametrize("kind", ["normal", "heavy"])
@pytest.mark.parametrize("paired", [False, True])
def test_equal_sets_give_few_false_alarms(kind, paired):
    """100 comparisons, each of one case: at most 5 call it different."""
    generator, alarms = numpy.random.default_rng(2), 0
    for _ in range(100):
        a, b = (set_of({"case": 100 * noise(generator, kind, 10)}) for _ in range(2))
        alarms += verdicts(compare.compare(a, b, TIME, paired=paired))["case"] in ("worse", "improved")
    assert alarms <= 5, alarms


@pytest.mark.parametrize("kind", ["normal", "heavy"])
def test_equal_sets_of_many_cases_give_few_false_alarms(kind):
    """10 comparisons of 40 cases, no threshold: without the correction some 20 rows would be called different."""
    generator, sets, alarms = numpy.random.default_rng(3), 0, 0
    for _ in range(10):
        a, b = (set_of({f"case {k}": 100 * noise(generator, kind, 8) for k in range(40)}) for _ in range(2))
        said = verdicts(compare.compare(a, b, TIME, threshold=0.0))
        wrong = sum(one in ("worse", "improved") for one in said.values())
        alarms += wrong
        sets += wrong > 0
    assert sets <= 2 and alarms <= 5, (sets, alarms)


def test_one_slow_case_among_fifty_is_found():
    generator = numpy.random.default_rng(4)
    a, b = (set_of({f"case {k}": (slow if k == 7 else 100) * noise(generator, "normal", 10) for k in range(50)})
            for slow in (100, 105))
    said = verdicts(compare.compare(a, b, TIME))
    assert said["case 7"] == "worse"
    assert set(said.values()) <= {"worse", "same", "undecided"} and list(said.values()).count("worse") == 1
    assert list(said.values()).count("same") >= 40


def test_a_drift_of_the_machine_is_cancelled_where_repetitions_were_interleaved():
    generator = numpy.random.default_rng(6)
    drift = numpy.linspace(1, 1.4, 10)
    times = {"x": drift * 100 * noise(generator, "normal", 10), "y": drift * 105 * noise(generator, "normal", 10)}
    a, b = (set_of({"case": times[side]}, study="study.json") for side in ("x", "y"))
    for place, side in enumerate((a, b)):
        for run in side.cases[0].runs:
            run.order = 2 * run.repetition + place
    row = compare.compare(a, b, TIME).rows[0]
    assert row.paired and row.verdict == "worse" and row.ratio == pytest.approx(1.05, abs=0.01)
    for run in b.cases[0].runs:  # the same times, measured one set after another
        run.order += 100
    row = compare.compare(a, b, TIME).rows[0]
    assert not row.paired and row.verdict == "undecided"


@pytest.mark.parametrize("repetitions, verdict", [(1, "undecided"), (2, "undecided"), (3, "undecided"), (4, "worse"),
                                                  (5, "worse")])
def test_few_repetitions_decide_nothing(repetitions, verdict):
    a, b = (set_of({"case": [scale + k / 10 for k in range(repetitions)]}) for scale in (100, 150))
    row = compare.compare(a, b, TIME).rows[0]
    assert row.verdict == verdict
    assert ("take 4" in row.note) == (verdict == "undecided")


def test_same_is_said_only_where_the_interval_says_so():
    a = set_of({"case": [100, 100.5, 99.5, 100.2, 99.8]})
    near = set_of({"case": [100.1, 100.6, 99.4, 100.3, 99.9]})
    wide = set_of({"case": [80, 100.5, 120, 90, 112]})
    assert verdicts(compare.compare(a, near, TIME))["case"] == "same"
    assert verdicts(compare.compare(a, wide, TIME))["case"] == "undecided"
    slightly = set_of({"case": [101, 101.5, 100.9, 101.2, 100.8]})  # told apart, but less than the threshold
    row = compare.compare(a, slightly, TIME).rows[0]
    assert row.p < 0.05 and row.verdict == "same"
    assert compare.compare(a, slightly, TIME, threshold=0.005).rows[0].verdict == "worse"


def test_metrics_that_order_runs_alike_are_one_test():
    times = [[100 + k for k in range(4)], [150 + k for k in range(4)]]
    sets = [set_of({"case": side}) for side in times]
    for one in sets:
        for run in one.cases[0].runs:
            run.rows[""]["rates.cell_updates_per_s"] = 1e9 / run.rows[""]["totals.time_s"]
    rows = compare.compare(*sets, [("totals.time_s", False), ("rates.cell_updates_per_s", True)]).rows
    assert [row.verdict for row in rows] == ["worse", "worse"]
    assert [row.p_corrected for row in rows] == pytest.approx([2 / 70, 2 / 70])


def test_counts_are_compared_as_they_are():
    sets = [ResultSet(str(cut), [Case("partition", "", {"input": "x"}, runs=[Run(0, None, "done", rows={"": {
        "edge_cut_total": cut, "pieces_max": pieces}})])], []) for cut, pieces in ((1000.0, 0.0), (1030.0, 1.0))]
    known = [("edge_cut_total", False), ("pieces_max", False)]
    rows = compare.compare(*sets, known).rows
    assert [(row.p, row.verdict) for row in rows] == [(None, "worse"), (None, "worse")]
    assert [row.verdict for row in compare.compare(*sets[::-1], known).rows] == ["improved", "improved"]
    assert compare.compare(*sets, known[:1], threshold=0.05).rows[0].verdict == "same"


@pytest.mark.parametrize("name, higher", [
    ("totals.time_s", False), ("rates.cell_updates_per_s", True), ("rates.roofline_fraction", True),
    ("items_per_second", True),
    ("totals.memory_bytes_max_rank", False), ("memory_bytes", False), ("edge_cut_total", False),
    ("balance.imbalance_max", False),
    ("phases.halo.max_s", False), ("copy_bandwidth_bytes_per_s", True), ("regret", False), ("GB", None),
    ("totals.steps", None)])
def test_names_say_which_way_is_better(name, higher):
    assert metrics.direction(name) is higher


# --- Matching --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(points=st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["morton", "hilbert", "orb"])), min_size=1,
                       max_size=12,
                       unique=True), seed=st.integers(0, 2**16), lost=st.integers(0, 3))
def test_cases_are_matched_by_values_in_any_order(points, seed, lost):
    def side(shift):
        return [Case("run", "", {"seed": str(seed)}, {"block": str(block), "method": method}, f"{block} {method}", [
            Run(0, 0, "done", rows={"": {"totals.time_s": block + shift}})]) for block, method in points]
    a, b = side(1), side(2)[lost:]
    random.Random(seed).shuffle(b)
    pairs, left, right = matching.match(a, b)
    assert sorted(one.label for one, _ in pairs) == sorted(case.label for case in b)
    assert all(one.label == other.label for one, other in pairs)
    assert [case.label for case in left] == [f"{block} {method}" for block, method in points[:lost]] and not right


def test_a_study_is_matched_though_binary_and_machine_change_all_ids(tmp_path, capsys):
    points = {("mesh.block", 8): [10.0, 10.1, 10.2, 10.3, 10.4, 10.1],
              ("mesh.block", 16): [20.0, 20.1, 20.2, 20.3, 20.4, 20.5]}
    slower = {key: [1.1 * t for t in times] if key[1] == 8 else list(times) for key, times in reversed(points.items())}
    a = write_study(tmp_path / "a", points, salt="old")
    b = write_study(tmp_path / "b", slower, salt="new", hostname="there")
    status, out, err = call(capsys, a, b)
    assert status == 1 and err == ""
    assert out.splitlines()[-3:-1] == ["worse: 8: totals.time_s: +10.00 %",
                                       "worse: 8: rates.cell_updates_per_s: -9.09 %"]
    assert "VERDICT: worse: 2 worse, 0 improved, 0 undecided, 2 same of 4 rows; 0 unmatched" in out.splitlines()[-1]
    assert "on here" in out and "on there" in out
    status, out, _ = call(capsys, b, a)
    assert status == 0 and "VERDICT: improved: 0 worse, 2 improved" in out


def test_one_set_is_split_by_an_axis_and_paired(tmp_path, capsys):
    rounds = numpy.linspace(10, 14, 8)
    noisy = {block: block * rounds * numpy.random.default_rng(block).normal(1, 0.002, 8) for block in (8, 16)}
    points = {("partition.method", method, "mesh.block", block): list(factor * noisy[block])
              for method, factor in (("morton", 1), ("hilbert", 1.06)) for block in (8, 16)}
    folder = write_study(tmp_path / "set", points)
    split = ("--baseline", "partition.method=morton", "--candidate", "partition.method=hilbert")
    status, out, err = call(capsys, folder, *split)
    assert (status, err) == (1, "") and "8 pairs" in out and "VERDICT: worse: 4 worse" in out and "0 unmatched" in out
    folder = write_study(tmp_path / "blocks", points, interleave=False)
    status, out, _ = call(capsys, folder, folder, *split)
    assert status == 0 and "8, 8" in out and "VERDICT: undecided" in out  # the drift hides it
    status, out, err = call(capsys, folder, "--baseline", "partition.method=orb")
    assert status == 2 and "no case has partition.method = orb; there are hilbert, morton" in err
    status, _, err = call(capsys, folder, "--baseline", "partition.methods=orb")
    assert status == 2 and "no case has partition.methods; there are " in err


def test_unmatched_cases_are_listed(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("mesh.block", block): [1.0] * 4 for block in (4, 8, 16)})
    b = write_study(tmp_path / "b", {("mesh.block", block): [1.0] * 4 for block in (8, 16, 32)})
    status, out, _ = call(capsys, a, b)
    assert status == 0 and f"only in {a}: 4\n" in out and f"only in {b}: 32\n" in out
    assert "VERDICT: same: 0 worse, 0 improved, 0 undecided, 4 same of 4 rows; 2 unmatched" in out


def test_cases_of_an_unfinished_sweep_are_unmatched(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4, ("x", 2): [1.0] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4, ("x", 2): []})
    status, out, _ = call(capsys, a, b)
    assert status == 0 and f"only in {a}: 2\n" in out and "2 same of 2 rows; 1 unmatched" in out


def test_failures_are_rows(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4, ("x", 2): [1.0] * 4,
                                     ("x", 3): [("timeout", "ended after 60 s")] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4, ("x", 2): [1.0, 1.0, ("failed", "no memory"), 1.0],
                                     ("x", 3): [("timeout", "")] * 4})
    status, out, _ = call(capsys, a, b)
    assert status == 1 and "1 of 4 failed in the candidate (no memory)" in out and "VERDICT: worse: 1 worse" in out
    assert "4 of 4 timeout in the baseline (ended after 60 s)" in out
    status, out, _ = call(capsys, b, a)
    assert status == 0 and "VERDICT: improved: 0 worse, 1 improved" in out


def test_a_damaged_record_of_a_sweep_is_a_failure_and_named(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4})
    damaged = sorted(b.rglob("run.json"))[2]
    damaged.write_text(damaged.read_text()[:500])
    status, out, err = call(capsys, a, b)
    assert status == 1 and f"skipped {damaged}: cut off" in err and "is missing or damaged" in out


def test_records_alone_are_matched_by_configuration(tmp_path, capsys):
    for side, shift in (("a", 0), ("b", 0.5)):
        for k in range(6):
            for block in (8, 16):
                folder = tmp_path / side / f"{block}-{k}"
                folder.mkdir(parents=True)
                record = run_record(block + shift + k / 100, {"mesh.block": [block] * 3, "output.dir": f"{side}{k}"})
                if side == "a":
                    record["config"]["partition"].pop("splitter", None)
                else:
                    record["config"]["partition"]["splitter"] = "octree"  # older records lack it
                (folder / "run.json").write_text(json.dumps(record))
    (tmp_path / "b" / "notes.json").write_text("{}")
    status, out, err = call(capsys, tmp_path / "a", tmp_path / "b")
    assert status == 1 and "mesh.block [8, 8, 8]" in out and "6, 6" in out and "VERDICT: worse: 4 worse" in out
    assert "notes.json: no record of amrbench" in err


def test_two_single_records_name_what_differs(tmp_path, capsys):
    for name, method in (("a", "morton"), ("b", "orb")):
        (tmp_path / f"{name}.json").write_text(json.dumps(run_record(1.0, {"partition.method": method})))
    status, out, err = call(capsys, tmp_path / "a.json", tmp_path / "b.json")
    assert status == 2 and "partition.method differs: morton | orb" in err and "--allow partition.method" in err
    assert out.splitlines()[-1] == "VERDICT: incomparable: partition.method"
    status, out, _ = call(capsys, tmp_path / "a.json", tmp_path / "b.json", "--allow", "partition.method")
    assert status == 0 and "note: partition.method differs" in out and "VERDICT: undecided" in out


# --- Provenance ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key, value", [("cpu", "another"), ("compiler", "Clang 16"), ("flags", "-O2"),
                                        ("mpi", "MPICH"),
                                        ("cores_node", 7), ("gpu", "none"), ("build_type", "Debug"), ("cuda", "none")])
def test_times_of_other_machines_and_builds_are_refused(tmp_path, capsys, key, value):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4}, **{key: value})
    status, out, err = call(capsys, a, b)
    assert status == 2 and f"{key} differs" in err and f"VERDICT: incomparable: {key}" in out
    status, out, err = call(capsys, a, b, "--allow", f"nodes,{key}")
    assert status == 0 and err == "" and f"note: {key} differs" in out and "VERDICT: same" in out
    # What is counted does not depend on the machine.
    status, out, _ = call(capsys, a, b, "--metric", "balance.blocks_migrated")
    assert status == 0 and "VERDICT: same" in out


def test_commit_version_day_and_host_may_differ(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4}, hostname="other", commit="0" * 40, version="9.0.0",
                    dirty=True,
                    time_utc="2030-01-01T00:00:00Z", memory_node_bytes=1, launch="other", notes=["a note"])
    status, out, err = call(capsys, a, b)
    assert (status, err) == (0, "") and "000000000000+changes" in out and "2030-01-01" in out


def test_other_launchers_are_refused(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4}, launcher=("mpirun", "--bind-to", "core"))
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4}, launcher=("mpirun", "--bind-to", "none"))
    status, _, err = call(capsys, a, b)
    assert status == 2 and "launcher differs: mpirun --bind-to core | mpirun --bind-to none" in err


def test_flags_show_the_words_that_differ(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 4}, flags="-O3 -Wall -march=native")
    b = write_study(tmp_path / "b", {("x", 1): [1.0] * 4}, flags="-O3 -Wall")
    assert "flags differs: -march=native | none" in call(capsys, a, b)[2]


# --- Other records, and the command ----------------------------------------------------------------------------------


def test_partitions_row_by_row(tmp_path, capsys):
    record = json.loads(PARTITION.read_text())
    record["rows"][1]["edge_cut_total"] = int(1.1 * record["rows"][1]["edge_cut_total"])
    removed = record["rows"].pop(2)["method"]
    (tmp_path / "b.json").write_text(json.dumps(record))
    status, out, _ = call(capsys, PARTITION, tmp_path / "b.json", "--metric", "edge_cut_total", "--metric",
                          "degree_max")
    assert status == 1 and "VERDICT: worse: 1 worse, 0 improved, 0 undecided, 5 same of 6 rows; 1 unmatched" in out
    assert f"only in {PARTITION}: grid:100x100x100:7: {removed}, parts 1000" in out


def test_google_benchmark(tmp_path, capsys):
    def file(name, slow, count):
        rows = [{"name": f"sort/{n}/real_time", "run_name": f"sort/{n}/real_time", "run_type": "iteration",
                 "repetition_index": k,
                 "repetitions": count, "threads": 1, "iterations": 10, "real_time": slow * n + k, "cpu_time": 1.0,
                 "time_unit": "us"} for n in (100, 1000) for k in range(count)]
        rows += [dict(rows[0], name="sort/100_mean", run_type="aggregate", aggregate_name="mean", real_time=1e9)]
        path = tmp_path / name
        path.write_text(json.dumps({"context": {"date": "2026-11-23T00:00:00+00:00", "num_cpus": 2},
                                    "benchmarks": rows}))
        return path
    status, out, _ = call(capsys, file("old.json", 1, 6), file("new.json", 2, 6))
    assert status == 1 and "VERDICT: worse: 2 worse" in out and "sort/1000 " in out and "0.0010025" in out
    status, out, _ = call(capsys, file("old.json", 1, 3), file("new.json", 2, 3))
    assert status == 0 and "take 5" in out
    status, out, _ = call(capsys, BENCHMARK, BENCHMARK, "--metric", "levels:lower")
    assert status == 0 and "VERDICT: same" in out


@pytest.mark.parametrize("path", sorted((ROOT / "results/reference").rglob("*.json")),
                         ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_reference_record_is_the_same_as_itself(path, capsys):
    status, out, err = call(capsys, path, path)
    assert status == 0 and err == "" and "0 worse, 0 improved" in out and "0 unmatched" in out


def test_csv(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0, 1.1, 1.2, 1.3], ("x", 2): [1.0] * 4})
    b = write_study(tmp_path / "b", {("x", 1): [2.0, 2.1, 2.2, 2.3], ("x", 2): [("failed", "a, b")] + [1.0] * 3})
    out = tmp_path / "out.csv"
    assert call(capsys, a, b, "--csv", out)[0] == 1
    with open(out, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["case"], row["metric"]) for row in rows] == [
        ("1", "totals.time_s"), ("1", "rates.cell_updates_per_s"), ("2", "status"), ("2", "totals.time_s"),
        ("2", "rates.cell_updates_per_s")]
    assert float(rows[0]["ratio"]) == pytest.approx(2.15 / 1.15) and rows[0]["repetitions_candidate"] == "4"
    assert float(rows[0]["ratio_low"]) <= float(rows[0]["ratio"]) <= float(rows[0]["ratio_high"])
    status, _, err = call(capsys, a, b, "--csv", out)
    assert status == 2 and "exists already; --force replaces it" in err
    assert call(capsys, a, b, "--csv", out, "--force")[0] == 1


def test_bad_input_is_one_line_and_status_2(tmp_path, capsys):
    a = write_study(tmp_path / "a", {("x", 1): [1.0] * 3})
    other = write_study(tmp_path / "other", {("mesh.block", 4): [1.0], ("mesh.block", 16): [1.0]})
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "nothing").mkdir()
    for arguments, said in [
            ((a, tmp_path / "none"), "none: no records that can be compared; "),
            ((a, tmp_path / "empty.json"), "empty.json: empty"),
            ((a, tmp_path / "nothing"), "no records that can be compared"), ((a, other), "no case of"),
            ((a,), "give a second set"),
            ((a, a, "--metric", "totals.tims_s"), "--metric totals.tims_s: in none of the records"),
            ((a, a, "--metric", "totals.steps"), "totals.steps:lower or totals.steps:higher"),
            ((a, a, "--metric", "totals.steps:up"), "totals.steps:lower or totals.steps:higher"),
            ((a, a, "--baseline", "x"), "--baseline x: give KEY=VALUE"),
            ((a, write_study(tmp_path / "few", {("x", 1): [1.0] * 2}), "--paired"), "do not pair")]:
        status, out, err = call(capsys, *arguments)
        assert status == 2 and said in err and err.count("\n") == 1, (arguments, err)
        assert "VERDICT" not in out
    for arguments in ((a, a, "--threshold", "much"), (a, a, "--threshold", "-1"), (a, a, "--no-such")):
        with pytest.raises(SystemExit) as error:
            call(capsys, *arguments)
        assert error.value.code == 2


def test_the_script_itself(tmp_path):
    script = [sys.executable, str(ROOT / "scripts/compare.py")]
    done = subprocess.run([*script, str(PARTITION), str(PARTITION), "--metric", "edge_cut_total"], capture_output=True,
                          text=True,
                          cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.splitlines()[-1].startswith("VERDICT: same: ")
    done = subprocess.run([*script, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--threshold PERCENT" in done.stdout
    # Another Python, without the packages that the methods need: one line, not a traceback.
    done = subprocess.run([sys.executable, "-S", *script[1:], "a", "b"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "scripts/install-packages studies" in done.stderr


def test_cases_that_cannot_be_told_apart_are_refused():
    cases = [Case("run", "", {}, {"block": "8", "method": method}, method) for method in ("morton", "orb")]
    with pytest.raises(SetError, match="'morton' and 'orb' of one set ask for the same"):
        matching.match(cases, cases[:1], ignored=["method"])
