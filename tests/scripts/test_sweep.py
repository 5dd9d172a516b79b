"""scripts/sweep.py as its user sees it, with a program that stands in for amrbench: statuses, resume, kills, locks."""
import csv
import json
import os
import random
import shutil
import signal
import time

import pytest
from conftest import ROOT

from studies.machine import this_machine

STUDY = """
name = "s"
base = "base.toml"
repetitions = 2
time_limit_s = 30
[parameters]
mesh.block = [4, 8, 16]
fake.way = ["good", "fail"]
"""


def record(folder):
    return json.loads((folder / "study.json").read_text())


def statuses(folder):
    """What is left of a result set when times are left out."""
    return {(case["label"], run["repetition"]): (run["status"], run["exit_status"], run["message"], run["record"])
            for case in record(folder)["cases"] for run in case["runs"]}


def started(tmp_path):
    path = tmp_path / "log"
    return len(path.read_text().splitlines()) if path.exists() else 0


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids):
    """Whether all of them end within a few seconds."""
    for _ in range(100):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.05)
    return False


def test_every_outcome_is_a_row_and_the_sweep_goes_on(sweep, tmp_path):
    text = STUDY.replace('"good", "fail"', '"good", "fail", "invalid", "nothing", "hang"').replace("[4, 8, 16]", "[4]")
    answer = sweep(text.replace("time_limit_s = 30", "time_limit_s = 0.5"), "--repetitions", "1")
    assert answer.returncode == 1, answer.stderr
    assert answer.stdout.splitlines()[-1].startswith("4 of 5 runs failed: ")
    got = {label.split(", ")[1]: entry for (label, _), entry in statuses(tmp_path / "out").items()}
    assert got["good"][:3] == ("done", 0, "")
    assert got["fail"][:3] == ("failed", 1, "planted failure")
    assert got["invalid"][0] == "invalid" and got["invalid"][3].endswith("/0/run.json")
    assert got["nothing"][:3] == ("failed", 0, "exit status 0, but no readable run.json")
    assert got["hang"][0] == "timeout" and "the limit" in got["hang"][2]
    # The child had a process group of its own, and is ended as well.
    assert gone([json.loads(line)[0] for line in (tmp_path / "log").read_text().splitlines()])
    for case in record(tmp_path / "out")["cases"]:
        folder = tmp_path / "out" / "cases" / case["id"] / "0"
        assert case["label"].endswith("hang") or "notes go here" in (folder / "output.txt").read_text()
    rows = list(csv.DictReader((tmp_path / "out" / "runs.csv").open()))
    assert [row["status"] for row in rows] == ["done", "failed", "invalid", "failed", "timeout"]
    assert float(rows[0]["totals.time_s"]) == 0.25 and rows[1]["totals.time_s"] == "" and rows[0]["mesh.block"] == "4"
    assert [name for name in os.listdir(tmp_path / "out") if name.startswith(".running")] == []


def test_repetitions_are_interleaved_and_their_order_is_kept(sweep, tmp_path):
    assert sweep(STUDY.replace(', "fail"', ""), "--repetitions", "3").returncode == 0
    orders = [[run["order"] for run in case["runs"]] for case in record(tmp_path / "out")["cases"]]
    assert orders == [[0, 5, 6], [1, 4, 7], [2, 3, 8]]
    study = record(tmp_path / "out")
    assert study["finished"] is True and study["repetitions"] == 3 and study["axes"] == ["mesh.block", "fake.way"]
    assert study["provenance"]["commit"] == "0123abc" and study["provenance"]["program"] == "amrbench"
    assert study["provenance"]["dirty"] is False
    assert (tmp_path / "out" / "study.toml").read_text() == (tmp_path / "study.toml").read_text()


def test_a_program_of_changed_files_is_told_from_its_commit(sweep, stand_in, tmp_path):
    stand_in.write_text(stand_in.read_text().replace("0123abc\\n  type", "0123abc+changes\\n  type"))
    assert sweep(STUDY, "--only", "fake.way == 'good'").returncode == 0
    provenance = record(tmp_path / "out")["provenance"]
    assert (provenance["commit"], provenance["dirty"]) == ("0123abc", True)


def test_a_second_call_does_only_what_is_missing(sweep, tmp_path):
    assert sweep(STUDY, "--only", "mesh.block < 16 and fake.way == 'good'").returncode == 0
    assert started(tmp_path) == 4 and record(tmp_path / "out")["finished"] is False
    answer = sweep(STUDY, "--resume")
    assert started(tmp_path) == 12 and "4 of 12 runs are there already" in answer.stderr and answer.returncode == 1
    # Failed ones are rows, and are done again when that is asked for alone.
    answer = sweep(STUDY, "--rerun-failed")
    assert started(tmp_path) == 18 and answer.returncode == 1
    assert len(os.listdir(tmp_path / "out" / ".aside" / "repeated")) == 6
    assert sweep(STUDY, "--repetitions", "3", "--only", "fake.way == 'good'").returncode == 0
    assert started(tmp_path) == 21


def test_another_binary_keeps_the_old_cases_aside_and_the_first_takes_its_own_back(sweep, tmp_path, stand_in):
    only = ("--only", "fake.way == 'good'")
    sweep(STUDY, *only)
    before = statuses(tmp_path / "out")
    program = stand_in.read_text()
    stand_in.write_text(program + "# other bytes\n")
    answer = sweep(STUDY, *only)
    lines = answer.stderr.splitlines()
    assert "6 finished runs of 3 cases are of another binary: kept in " in lines[0] and started(tmp_path) == 12
    (aside,) = (tmp_path / "out" / ".aside").iterdir()
    assert statuses(aside) == before and (aside / "study.toml").exists()
    for entry in statuses(aside).values():
        assert (aside / entry[3]).is_file()
    stand_in.write_text(program)
    answer = sweep(STUDY, *only)
    assert "3 cases measured before" in answer.stderr and started(tmp_path) == 12
    assert statuses(tmp_path / "out") == before


def test_a_changed_study_runs_only_what_differs(sweep, tmp_path):
    sweep(STUDY.replace(', "fail"', ""))
    answer = sweep(STUDY.replace(', "fail"', "").replace("[4, 8, 16]", "[8, 16, 32]"))
    assert started(tmp_path) == 6 + 2
    assert "2 finished runs of 1 cases are of another text of the study" in answer.stderr
    assert {label for label, _ in statuses(tmp_path / "out")} == {f"block {n}, good" for n in (8, 16, 32)}


def test_killed_at_20_random_moments_the_table_is_that_of_a_sweep_that_was_not(sweep, tmp_path):
    seed = int(os.environ.get("AMRBENCH_SEED") or random.randrange(2**32))
    print(f"seed: AMRBENCH_SEED={seed}")
    generator = random.Random(seed)
    text = STUDY.replace("[4, 8, 16]", "[2, 4, 8, 16, 32]") + "fake.sleep = [0.02]\n"
    out, kills, limits = tmp_path / "out", 0, (0.02, 0.35)
    assert sweep(text).returncode == 1
    wanted, total = statuses(out), started(tmp_path)
    assert total == 20 == len(wanted)
    while kills < 20:
        shutil.rmtree(out)
        (tmp_path / "log").unlink()
        finished, killed = {}, 0
        while True:
            process = sweep(text, wait=False)
            deadline = time.monotonic() + generator.uniform(*limits)
            while kills < 20 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            if kills == 20 or process.poll() is not None:
                process.wait()
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills, killed = kills + 1, killed + 1
            # As time goes by kills come later, so that they hit all of a sweep.
            limits = (0.02, 0.35 + 0.03 * kills)
            now = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in out.glob("cases/*/*/.status.json")}
            assert finished.items() <= now.items(), "a finished run was lost or done again"
            finished = now
            if (out / "study.json").exists():
                json.loads((out / "study.json").read_text())
        assert statuses(out) == wanted
        assert finished.items() <= {path: (path.stat().st_ino, path.stat().st_mtime_ns)
                                    for path in out.glob("cases/*/*/.status.json")}.items()
        assert started(tmp_path) <= total + killed, "a kill loses at most the run under way"
        assert record(out)["finished"] is True and len(list(csv.DictReader((out / "runs.csv").open()))) == total


def test_nothing_runs_on_when_the_sweep_is_killed(sweep, tmp_path):
    process = sweep(STUDY.replace('"good", "fail"', '"hang"'), wait=False)
    for _ in range(200):
        if started(tmp_path) >= 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert gone([json.loads(line)[0] for line in (tmp_path / "log").read_text().splitlines()][:1])
    for line in (tmp_path / "log").read_text().splitlines():  # a child that ignores its parent's end is ours to end
        if alive(json.loads(line)[0]):
            os.kill(json.loads(line)[0], signal.SIGKILL)


def test_interruption_ends_runs_and_says_how_to_go_on(sweep, tmp_path):
    process = sweep(STUDY.replace('"good", "fail"', '"hang"'), wait=False)
    for _ in range(200):
        if started(tmp_path) >= 2:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert gone([json.loads(line)[0] for line in (tmp_path / "log").read_text().splitlines()])
    assert statuses(tmp_path / "out") == {} and not (tmp_path / "out" / ".running").exists()


def test_two_sweeps_in_one_folder_are_refused(sweep, tmp_path):
    process = sweep(STUDY.replace('"good", "fail"', '"hang"'), wait=False)
    try:
        for _ in range(200):
            if started(tmp_path):
                break
            time.sleep(0.05)
        answer = sweep(STUDY)
        assert answer.returncode == 2 and f"process {process.pid}" in answer.stderr and answer.stderr.count("\n") == 1
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 130


@pytest.mark.skipif(this_machine().cores < 2, reason="needs two cores")
def test_side_by_side_each_on_cores_of_its_own(sweep, tmp_path):
    text = STUDY.replace(', "fail"', "").replace("[4, 8, 16]", "[4, 8]") + "fake.sleep = [1.0]\n"
    assert sweep(text, "--jobs", "2", "--repetitions", "1").returncode == 0
    # One after the other both would have had the same core.
    outputs = [path.read_text().split("cores ")[1].strip() for path in tmp_path.glob("out/cases/*/0/output.txt")]
    assert len(set(outputs)) == 2 and all(len(json.loads(cores)) == 1 for cores in outputs)
    assert sorted(run["order"] for case in record(tmp_path / "out")["cases"] for run in case["runs"]) == [0, 1]


def test_miniamr_runs_in_turn(sweep, tmp_path):
    program = tmp_path / "ma"
    program.write_text('#!/bin/sh\necho "$@"\necho "Total time for test: ave, std, min, max (sec): 1.0 0.1 0.9 1.5"\n'
                       'echo " Time: ave, stddev, min, max (sec): 0.5 0.1 0.4 0.75"\n')
    program.chmod(0o755)
    assert sweep('base = "--nx 4 --npx 1"\nrepetitions = 2', "--miniamr", str(program)).returncode == 0
    got = {case["label"]: case for case in record(tmp_path / "out")["cases"]}
    assert [run["order"] for run in got["amrbench"]["runs"]] == [0, 3]
    assert [run["order"] for run in got["miniamr"]["runs"]] == [1, 2]
    rows = list(csv.DictReader((tmp_path / "out" / "runs.csv").open()))
    assert [row["totals.time_s"] for row in rows] == ["0.125", "0.125", "1.5", "1.5"]
    assert rows[2]["phases.stencil.max_s"] == "0.75"
    output = tmp_path / "out" / "cases" / got["miniamr"]["id"] / "0" / "output.txt"
    assert output.read_text().startswith("--nx 4 --npx 1\n")


def test_a_trace_is_made_once_and_one_that_cannot_be_is_a_row(sweep, tmp_path, stand_in):
    stand_in.write_text(stand_in.read_text().replace('if words[0] == "trace":', 'if words[0] == "trace":\n'
                        '    if "mesh.max_level=9" in words: sys.exit("amrbench: error: too deep")'))
    answer = sweep('command = "replay"\nbase = "base.toml"\nrepetitions = 1\n'
                   '[parameters]\nmesh.max_level = [1, 9]\npolicy = ["every", "auto"]')
    assert answer.returncode == 1 and len(list((tmp_path / "out" / "traces").iterdir())) == 1
    got = {label: entry[:3] for (label, _), entry in statuses(tmp_path / "out").items()}
    assert got["max level 9, auto"] == ("failed", 1, "too deep")
    assert got["max level 1, auto"][0] == "failed"  # the stand-in knows no replay


def test_the_study_record_is_as_its_schema_says(sweep, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    sweep(STUDY)
    schemas = {path.name: json.loads(path.read_text()) for path in (ROOT / "docs" / "schema").glob("*.json")}
    jsonschema.Draft202012Validator(schemas["study.json"]).validate(record(tmp_path / "out"))


@pytest.mark.parametrize("options, words", [
    (["--only", "mesh.blok == 8"], ["mesh.blok", "did you mean mesh.block?"]),
    (["--only", "mesh.block == 9"], ["no case of 6"]),
    (["--only", "__import__('os')"], ["not allowed"]),
    (["--set", "mesh.block=3"], ["mesh.block", "both"]),
    (["--set", "mesh"], ["--set must be KEY=VALUE"]),
    (["--set", "bad.key=1"], ["bad.key", "did you mean good.key?"]),
    (["--repetitions", "0"], ["repetitions"]), (["--jobs", "0"], ["--jobs"]), (["--quick"], ["[quick]"]),
    (["--amrbench", "/nonexistent"], ["/nonexistent", "no such program"]),
    (["--miniamr", "/bin/true"], ["miniamr", "lines"])])
def test_bad_input_is_one_line_and_leaves_nothing(sweep, tmp_path, options, words):
    answer = sweep(STUDY, *options)
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1 and answer.stdout == "", answer.stderr
    for word in words:
        assert word in answer.stderr
    assert not (tmp_path / "out").exists()


def test_folders_of_others_are_left_alone(sweep, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    answer = sweep(STUDY)
    assert answer.returncode == 2 and "holds other files" in answer.stderr
    assert os.listdir(tmp_path / "out") == ["thesis.txt"]
    shutil.rmtree(tmp_path / "out")
    sweep(STUDY, "--repetitions", "1")
    answer = sweep(STUDY.replace('"s"', '"t"'))
    assert answer.returncode == 2 and "holds the study 's', not 't'" in answer.stderr
    assert len(statuses(tmp_path / "out")) == 6


def test_one_case_given_twice_is_refused(sweep):
    # The stand-in's resolved configuration has no labels of bases, as the program's has none.
    answer = sweep('base = {a = "base.toml", b = "base.toml"}')
    assert answer.returncode == 2 and "'a' and 'b' are the same case" in answer.stderr


def test_list_and_dry_run_run_nothing(sweep, tmp_path):
    answer = sweep(STUDY, "--dry-run")
    assert answer.returncode == 0 and started(tmp_path) == 0 and not (tmp_path / "out").exists()
    for words in ("6 cases, 12 runs to do", "time expected: unknown", "640 KiB"):
        assert words in answer.stdout
    sweep(STUDY, "--only", "fake.way == 'good'")
    answer = sweep(STUDY, "--dry-run")
    assert "6 runs to do" in answer.stdout and "from 3 of 6 cases measured before" in answer.stdout
    answer = sweep(STUDY, "--list")
    assert answer.stdout.count("(2 done)") == 3 and answer.stdout.count("(not run)") == 3
    assert "--set mesh.block=16" in answer.stdout


def test_again_says_what_differs(sweep, tmp_path, stand_in):
    sweep(STUDY, "--only", "mesh.block == 8 and fake.way == 'good'")
    path = tmp_path / "out" / record(tmp_path / "out")["cases"][2]["runs"][0]["record"]
    answer = sweep(STUDY, "--again", str(path))
    assert answer.returncode == 0 and "mesh and fields are the same" in answer.stdout, answer.stderr
    # The record says "cpu": "none", which no machine has.
    assert answer.stderr.count("differs: ") == 1 == answer.stderr.count("\n") and "cpu: none then" in answer.stderr
    stand_in.write_text(stand_in.read_text() + "# other bytes\n")
    answer = sweep(STUDY, "--again", path.parts[-3])
    assert "differs: binary: " in answer.stderr and answer.stdout.splitlines()[-1].endswith("-2")
    answer = sweep(STUDY, "--again", "fedcba9876543210")
    assert answer.returncode == 2 and answer.stderr.count("\n") == 1
