"""Records: every kind is read and described, damaged and foreign files are named, planted errors are found."""
import concurrent.futures
import copy
import json
import os
import pathlib
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from studies import compare, matching, records, schema, strict_json  # noqa: E402

REFERENCE = sorted((ROOT / "results/reference").rglob("*.json"))
CASE = "0123456789abcdef"


def study_record():
    run = {"repetition": 0, "order": 0, "status": "done", "exit_status": 0, "started": "2026-11-23T00:00:00+00:00",
           "seconds": 1.5, "record": f"cases/{CASE}/0/run.json", "message": ""}
    return {"schema": 1, "kind": "study", "name": "blocks", "title": "Blocks", "question": "Which block size?",
            "command": "run",
            "scaling": None, "axes": ["mesh.block"], "repetitions": 2, "finished": False,
            "provenance": {"program": "amrbench", "version": "0.1.0", "commit": "unknown", "build": "Release",
                           "compiler": "GNU 12.2.0", "mpi": "Open MPI v4.1.4", "sha256": "0" * 64, "hostname": "here",
                           "cpu": "a processor", "cores": 2, "gpus": [], "python": "3.11.2",
                           "started": "2026-11-23T00:00:00+00:00"},
            "cases": [{"id": CASE, "label": "block 8", "values": {"mesh.block": 8},
                       "command_line": ["mpirun", "-n", "2", "amrbench", "run", "a.toml"], "ranks": 2, "threads": 1,
                       "gpus": 0,
                       "runs": [run, dict(run, repetition=1, order=1, status="failed", exit_status=1, record=None,
                                          message="no memory")]}]}


def miniamr_record():
    return {"program": "miniAMR", "totals": {"time_s": 2.0},
            "phases": {"stencil": {"max_s": 1.0}, "halo": {"max_s": 0.5}}}


def run_record():
    scaling = json.loads((ROOT / "results/reference/h200/scaling.json").read_text())
    record = scaling["runs"][0]["record"]
    # What today's program writes besides.
    record["config"]["partition"].update(splitter="octree", bucket=1, slices="midpoint", side_tolerance=0.14,
                                         rename=False)
    record["config"]["balance"].update(every=4, weights="uniform")
    record["config"]["object"] = [{"shape": "sphere", "volume": False, "center": [0.5, 0.5, 0.5],
                                   "velocity": [0.0, 0.0, 0.0],
                                   "size": [0.1, 0.1, 0.1], "growth": [0.0, 0.0, 0.0], "bounce": "none"}]
    record["series"] = [{"step": 0, "refinements": 1, "stage_s": 0.0, "blocks": 8, "blocks_by_level": [0, 8], "imbalance": 0.5, "decision": "full",
                         "imbalance_after": 0.0, "blocks_migrated": 3, "refine_s": 0.01, "balance_s": 0.02}]
    return record


def examples():
    """A record of every kind, by kind."""
    found = {"run": run_record(), "study": study_record(), "miniamr": miniamr_record()}
    for path in REFERENCE:
        record = records.read_record(path)
        for one in [record, *records.members(record)]:
            if one.kind not in found:
                found[one.kind] = shortened(one.data)
    return found


def shortened(data):
    """Of lists of objects and of grids the first ones, so that checks of every place stay quick."""
    if isinstance(data, dict):
        kept = list(data.items())[:1] if "768x1152" in data else data.items()
        return {name: shortened(value) for name, value in kept}
    if isinstance(data, list) and any(isinstance(one, dict) for one in data):
        return [shortened(one) for one in data[:2]]
    return data


EXAMPLES = examples()


def write(folder, data, name="record.json"):
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


# --- Reading ---------------------------------------------------------------------------------------------------------


def test_every_reference_record_is_read_and_as_described():
    found, skipped = records.find_records([ROOT / "results/reference"])
    assert not skipped
    assert sorted(record.path for record in found) == sorted(REFERENCE)
    for record in found:
        assert schema.errors(record.kind, record.data) == [], record.path
        assert records.rows(record), record.path
    assert {record.kind for record in found} >= set(records.KINDS) - {"run", "orb", "study", "miniamr"}
    assert len(records.frame(found)) == sum(len(records.rows(record)) for record in found)


def test_there_is_an_example_of_every_kind():
    assert set(EXAMPLES) == set(records.KINDS)


@pytest.mark.parametrize("kind", records.KINDS)
def test_kinds_are_told_by_content(kind, tmp_path):
    record = records.read_record(write(tmp_path, EXAMPLES[kind]))
    assert record.kind == kind
    assert schema.errors(kind, record.data) == []
    assert all(isinstance(value, (str, int, float, type(None))) for value in records.flatten(record).values())


def test_names_are_those_of_run_csv(tmp_path):
    flat = records.flatten(records.read_record(write(tmp_path, run_record())))
    assert flat["totals.time_s"] > 0 and flat["phases.stencil.max_s"] > 0
    assert flat["config.mesh.block"] == "8;8;8" and flat["config.object.count"] == 1 and flat["series.count"] == 1
    assert flat["config.mesh.uniform"] is False and flat["fields.count"] == 10
    assert flat["fields.0.checksum_hex"] and "fields.1.sum" not in flat


def test_a_single_row_stands_under_its_own_names(tmp_path):
    record = copy.deepcopy(EXAMPLES["partition"])
    record["rows"] = record["rows"][:1]
    flat = records.flatten(records.read_record(write(tmp_path, record)))
    assert flat["rows.count"] == 1 and flat["method"] == "gensfc" and flat["time_s"] > 0
    record["rows"] *= 2
    record["refused"] = []
    assert records.flatten(records.read_record(write(tmp_path, record)))["refused.count"] == 0
    record["refused"] = [{"method": "metis_kway", "parts": 8, "reason": "points without a graph"}]
    assert schema.errors("partition", record) == []
    flat = records.flatten(records.read_record(write(tmp_path, record)))
    assert flat["rows.count"] == 2 and "method" not in flat


def test_benchmark_times_come_in_seconds_too(tmp_path):
    rows = records.rows(records.read_record(write(tmp_path, EXAMPLES["benchmark"])))
    assert rows[0]["time_unit"] == "ms" and rows[0]["real_time_s"] == pytest.approx(rows[0]["real_time"] / 1000)


DAMAGED = {
    "empty.json": ("", "empty"), "blank.json": (" \n", "empty"), "text.json": ("hello", "not JSON"),
    "cut.json": (json.dumps(EXAMPLES["run"])[:2000], "cut off"), "cut_name.json": ('{"schema": 1, "prog', "cut off"),
    "nan.json": (json.dumps(EXAMPLES["run"]).replace('"time_s": 5', '"time_s": NaN, "x": 5', 1), "NaN"),
    "huge.json": ('{"schema": 1e999}', "1e999"), "twice.json": ('{"schema": 1, "schema": 1}', "twice"),
    "deep.json": ("[" * 100000, "nested too deep"), "digits.json": ('{"a": ' + "9" * 5000 + "}", "digits"),
    "list.json": ("[]", "no record of amrbench"),
    "package.json": ('{"name": "x", "version": "1"}', "no record of amrbench"),
    "number.json": ("7", "no record of amrbench"),
    "older.json": (json.dumps(dict(EXAMPLES["run"], schema=0)), "schema 0; schema 1 is read"),
    "newer.json": (json.dumps(dict(EXAMPLES["orb"], schema=2)), "schema 2; schema 1 is read"),
    "without.json": (json.dumps({k: v for k, v in EXAMPLES["replay"].items() if k != "schema"}), "without schema"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_empty_foreign_and_older_files_are_named_and_skipped(name, tmp_path):
    text, reason = DAMAGED[name]
    path = write(tmp_path, text, name)
    good = write(tmp_path, EXAMPLES["partition"], "good.json")
    with pytest.raises(records.RecordError) as error:
        records.read_record(path)
    assert str(path) in str(error.value) and reason in str(error.value) and "\n" not in str(error.value)
    found, skipped = records.find_records([tmp_path])
    assert [record.path for record in found] == [good]
    assert len(skipped) == 1 and skipped[0][0] == path and reason in skipped[0][1]


def test_what_is_not_utf_8_missing_or_no_file_is_named(tmp_path):
    (tmp_path / "bytes.json").write_bytes(b'{"a": "\xff"}')
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    for name in ("bytes.json", "folder.json", "loop.json", "none.json"):
        with pytest.raises(records.RecordError, match=name):
            records.read_record(tmp_path / name)
    _, skipped = records.find_records([tmp_path, tmp_path / "none"])
    assert [path.name for path, _ in skipped] == ["bytes.json", "loop.json", "none"]


@pytest.mark.parametrize("kind, place, value, said", [
    ("run", "totals.time_s", None, "totals.time_s is null"), ("run", "totals.time_s", "1", "totals.time_s is \"1\""),
    ("run", "valid", 1, "valid is 1"), ("partition", "rows.0.time_s", None, "rows[0].time_s is null"),
    ("partition", "rows", 5, "without rows"), ("orb", "times_s.1", None, "times_s[1] is null"),
    ("replay", "rows.1.policy", None, "rows[1].policy is null"),
    ("study", "cases.0.runs.0.status", "fine", "status fine"),
    ("study", "cases.0.runs.0.record", "../../secret.json", "inside the result set"),
    ("study", "cases.0.runs.1.repetition", 0, "twice"),
    ("benchmark", "benchmarks.1.real_time", None, "real_time must be a number"),
    ("benchmark", "benchmarks.1.time_unit", "min", "time_unit must be one of"),
    ("gpu_runs", "runs.1.record.totals.time_s", None, "totals.time_s is null"),
    ("gpu_runs", "runs.1.record.schema", 3, "schema 3"),
    ("miniamr_runs", "runs.amrbench", 1, "amrbench: must be a list of rows")])
def test_values_that_readers_rely_on_are_checked(kind, place, value, said, tmp_path):
    data = planted(EXAMPLES[kind], place.split("."), value)
    with pytest.raises(records.RecordError) as error:
        records.read_record(write(tmp_path, data))
    assert said in str(error.value)


def planted(data, place, value):
    """A copy with a value put at a place."""
    data = copy.deepcopy(data)
    inner = data
    for name in place[:-1]:
        inner = inner[int(name) if isinstance(inner, list) else name]
    inner[int(place[-1]) if isinstance(inner, list) else place[-1]] = value
    return data


def leaves(data, place=()):
    """Every place in a record, objects and lists included; of lists the first element."""
    yield place, data
    inner = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for name, value in inner:
        yield from leaves(value, (*place, name))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(records.KINDS), data=st.data())
def test_whatever_stands_in_a_record_readers_do_not_fall_over(kind, data, tmp_path):
    place, _ = data.draw(st.sampled_from(list(leaves(EXAMPLES[kind]))[1:]))
    value = data.draw(st.sampled_from([None, True, -1, 1.5, "x", [], {}, [1], [{}], {"a": 1}, [[1]]]))
    path = write(tmp_path, planted(EXAMPLES[kind], [str(name) for name in place], value))
    try:
        record = records.read_record(path)
    except records.RecordError as error:
        assert "\n" not in str(error)
        return
    records.rows(record)
    records.flatten(record)
    for one in records.members(record):
        records.flatten(one)
    try:
        compare.compare(matching.read_set(path), matching.read_set(path))
    except matching.SetError as error:
        assert "\n" not in str(error)


def test_google_benchmark_with_errors_and_fits(tmp_path):
    data = copy.deepcopy(EXAMPLES["benchmark"])
    data["benchmarks"] += [
        {"name": "broken", "run_type": "iteration", "error_occurred": True, "error_message": "no GPU"},
        {"name": "sort_BigO", "run_name": "sort", "run_type": "aggregate", "aggregate_name": "BigO",
         "aggregate_unit": "time",
         "cpu_coefficient": 1.0, "real_coefficient": 1.0, "big_o": "N", "time_unit": "ns"},
        {"name": "sort_RMS", "run_name": "sort", "run_type": "aggregate", "aggregate_name": "RMS",
         "aggregate_unit": "percentage", "rms": 0.01}]
    record = records.read_record(write(tmp_path, data))
    assert schema.errors("benchmark", data) == []
    assert [row["name"] for row in records.rows(record)][-3:] == ["broken", "sort_BigO", "sort_RMS"]
    assert "real_time_s" not in records.rows(record)[-1]
    del data["benchmarks"][-3]["error_occurred"]
    assert schema.errors("benchmark", data)


def test_result_sets(tmp_path):
    study, folder = study_record(), tmp_path / "set"
    (folder / "cases" / CASE / "0").mkdir(parents=True)
    write(folder, study, "study.json")
    write(folder / "cases" / CASE / "0", run_record(), "run.json")
    write(folder / "cases" / CASE / "0", {"case": {}, "run": {}}, "status.json")
    (folder / "aside").mkdir()
    (folder / ".running").mkdir()
    write(folder / "aside", run_record())
    write(folder / ".running", run_record())
    assert records.read_study(folder) == records.read_study(folder / "study.json") == study
    found, skipped = records.find_records([folder, folder / "study.json"])
    assert [(record.kind, record.case) for record in found] == [("study", "blocks"), ("run", CASE)] and not skipped
    assert [row["status"] for row in records.rows(found[0])] == ["done", "failed"]
    with pytest.raises(records.RecordError, match="no study.json here"):
        records.read_study(tmp_path)
    with pytest.raises(records.RecordError, match="not a study"):
        records.read_study(folder / "cases" / CASE / "0" / "run.json")


# --- The schemas -----------------------------------------------------------------------------------------------------

FREE = ("values", "context", "tuning", "machine")  # objects whose names are somebody else's


@pytest.mark.parametrize("path", sorted(schema.FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_schemas_describe_every_field(path):
    text = json.loads(path.read_text())
    schema.jsonschema.Draft202012Validator.check_schema(text)
    assert path.stem in (*records.KINDS, "common")

    def visit(part):
        if isinstance(part, dict):
            for name, one in part.get("properties", {}).items():
                assert one.get("description"), name
            for name, one in part.items():
                if name == "properties":
                    visit(list(one.values()))  # a field may be called properties
                elif name != "if":
                    visit(one)
        elif isinstance(part, list):
            for one in part:
                visit(one)
    visit(text)


def test_every_kind_has_a_schema():
    assert {path.stem for path in schema.FOLDER.glob("*.json")} == {*records.KINDS, "common"}


@pytest.mark.parametrize("kind", records.KINDS)
def test_planted_errors_are_found(kind):
    """Everywhere in a record: a value of another type, a name nobody knows, a number below what can be."""
    example, missed = EXAMPLES[kind], []
    seen = {"type": 0, "foreign": 0, "negative": 0}
    for place, value in leaves(example):
        names = [str(name) for name in place]
        if "record" in names[:-1]:
            continue  # a run record, which has its own turn
        free = any(name in FREE for name in names)
        if place and not free:
            seen["type"] += 1
            if not schema.errors(kind, planted(example, names, {"not": {"this": 1}})):
                missed.append(("type", place))
        if isinstance(value, dict) and not free:
            seen["foreign"] += 1
            inside = {**value, "unknown_name": {"a": 1}}
            if not schema.errors(kind, planted(example, names, inside) if place else inside):
                missed.append(("foreign", place))
        known = names and names[-1].endswith(("_s", "ranks", "threads", "cores", "cores_node", "_bytes", "repetitions",
                                              "parts",
                                                    "real_time", "cpu_time"))
        if known and not free and isinstance(value, (int, float)) and not isinstance(value, bool):
            seen["negative"] += 1
            if not schema.errors(kind, planted(example, names, -5)):
                missed.append(("negative", place))
    assert not missed
    assert seen["type"] > 3 and seen["foreign"] > 0 and seen["negative"] > 0, seen


@pytest.mark.parametrize("kind, gone", [
    ("run", "totals"), ("run", "mesh_crc_hex"), ("partition", "options"), ("dynamic", "rows"), ("orb", "tree_hash"), ("replay", "seconds"),
    ("study", "finished"), ("benchmark", "context"), ("benchmark_medians", "context"), ("gpu_runs", "repeat"),
    ("miniamr_runs", "medians"), ("miniamr", "totals"), ("orb_bench", "rows"), ("orb_zoltan", "rows"),
    ("partition_tables", "grids")])
def test_missing_names_are_found(kind, gone):
    said = schema.errors(kind, {name: value for name, value in EXAMPLES[kind].items() if name != gone})
    assert any(gone in line for line in said), said


def test_older_records_may_lack_what_came_later():
    record = run_record()
    del record["series"], record["config"]["partition"]["splitter"]
    assert schema.errors("run", record) == []
    del record["config"]["partition"]["method"]
    assert schema.errors("run", record) == ["config.partition: 'method' is a required property"]


def test_the_check_of_files(tmp_path, capsys):
    good = write(tmp_path, EXAMPLES["orb"], "good.json")
    bad = write(tmp_path, dict(EXAMPLES["orb"], leaves=0), "bad.json")
    assert schema.main([str(good)]) == 0
    assert schema.main([str(good), str(bad), str(tmp_path / "none.json")]) == 2
    said = capsys.readouterr().out
    assert "good.json: orb, as described" in said and "bad.json: leaves: 0 is less than the minimum of 1" in said
    assert "none.json: No such file" in said


# --- The program -----------------------------------------------------------------------------------------------------


def program():
    builds = os.environ.get("AMRBENCH_BUILD_ROOT", str(ROOT / "build"))
    for path in (os.environ.get("AMRBENCH"), f"{builds}/release/amrbench", f"{builds}/test/amrbench"):
        if path and os.access(path, os.X_OK):
            return os.path.abspath(path)
    return None


SMALL = """[mesh]
root = [1, 1, 1]
block = 4
max_level = 2
[fields]
variables = 2
[run]
steps = 2
stages_per_step = 2
refine_every = 1
[[object]]
center = [0.3, 0.3, 0.3]
size = [0.2, 0.2, 0.2]
velocity = [0.05, 0.0, 0.0]
"""


@pytest.mark.skipif(program() is None, reason="amrbench is not built; AMRBENCH names a program")
def test_what_the_program_writes_is_as_described(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    subprocess.run([program(), "trace", "small.toml", "-o", "small.trace"], cwd=tmp_path, check=True,
                   capture_output=True)
    calls = {"run/run.json": "run small.toml --quiet --threads 1 --out run",
             "mini/run.json": "run --miniamr|--num_refine 1 --num_vars 2 --num_tsteps 1 --stages_per_ts 2 --nx 4 "
                              "--ny 4 --nz 4|--quiet --threads 1 --out mini",
             "grid.json": "partition --input grid:12x12:5 --method gensfc,linear --parts 4,9 --nodes 2 "
                          "--json grid.json",
             "points.json": "partition --input uniform:500:1 --method gensfc,orb --parts 5 --weights random:2 "
                            "--json points.json",
             "dynamic.json": "partition --dynamic 3 --input uniform:500:1 --method gensfc --parts 5 --splitter selection "
                             "--bucket 8 --compare --cut-every 2 --json dynamic.json",
             "orb.json": "orb --input cluster:3000:2:1 --leaves 16 --weights random:2 --roofline --repeat 3 "
                         "--json orb.json",
             "replay.json": "replay small.trace --ranks 2,4 --partition hilbert --policy every,never "
                            "--json replay.json",
             "short.json": "replay small.trace --ranks 3 --partition orb --policy auto --no-optimum --json short.json"}

    def call(line):
        words = [word for k, part in enumerate(line.split("|")) for word in ([part] if k % 2 else part.split())]
        return subprocess.run([program(), *words], cwd=tmp_path, capture_output=True, text=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in pool.map(call, calls.values()):
            assert done.returncode == 0, done.stderr
    found, skipped = records.find_records([tmp_path])
    assert not skipped
    assert sorted(str(record.path.relative_to(tmp_path)) for record in found) == sorted(calls)
    for record in found:
        assert schema.errors(record.kind, record.data) == [], record.path
    with open(tmp_path / "run/run.csv", encoding="utf-8") as file:
        header = file.readline().strip().split(",")
    assert [name for name in header
            if name not in records.flatten(records.read_record(tmp_path / "run/run.json"))] == []


@settings(deadline=None, max_examples=30)
@given(st.recursive(
    st.none() | st.booleans() | st.integers(-10**12, 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6))
def test_strict_json_reads_what_is_json_and_nothing_cut_off(value):
    text = json.dumps(value, ensure_ascii=False)
    assert strict_json.parse(text.encode()) == value
    if isinstance(value, (dict, list)):
        with pytest.raises(ValueError):
            strict_json.parse(text[:-1].encode())
