"""Weak and strong scaling: the figures of the table, job scripts run by a stand-in for srun and taken in, binding."""
import csv
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from hypothesis import given, strategies as st

from studies import machine, slurm, speedup
from studies.study import Case, StudyError

STRONG = """
name = "s"
kind = "strong"
base = "base.toml"
ranks = [1, 2]
repetitions = 2
[parameters]
mesh.block = [4, 8]
"""


def study_of(folder, kind, points):
    """A result set with one series: (workers, seconds, cell updates a second) of each case."""
    entries = []
    for number, (ranks, times, rate) in enumerate(points):
        runs = []
        for repetition, seconds in enumerate(times):
            path = folder / f"{number}-{repetition}.json"
            path.write_text(json.dumps({"totals": {"time_s": seconds}, "rates": {"cell_updates_per_s": rate},
                                        "phases": {"stencil": {"max_s": seconds / 2}}}))
            runs.append({"status": "done", "record": path.name, "seconds": 99.0})
        runs.append({"status": "failed", "record": None, "seconds": 0.001})
        entries.append({"values": {"ranks": ranks}, "ranks": ranks, "threads": 1, "gpus": 0, "runs": runs})
    return {"scaling": kind, "cases": entries}


def test_strong_scaling_is_time_over_time(tmp_path):
    points = [(4, [3.0, 2.0, 2.5], 1e9), (2, [4.0, 9.0, 5.0], 5e8), (8, [1.25], 2e9)]
    rows = speedup.table(study_of(tmp_path, "strong", points), tmp_path)
    assert [(row["workers"], row["runs"], row["time_s"], row["time_min_s"], row["time_max_s"]) for row in rows] == [
        (2, 3, 5.0, 4.0, 9.0), (4, 3, 2.5, 2.0, 3.0), (8, 1, 1.25, 1.25, 1.25)]
    assert [row["speedup"] for row in rows] == [1, 2, 4]
    assert [row["efficiency"] for row in rows] == [1, 1, 1]
    assert rows[1]["phases.stencil.max_s"] == 1.25 and rows[1]["phases.halo.max_s"] is None


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.integers(1, 64), st.integers(2, 64))
def test_weak_efficiency_is_the_rate_a_worker_keeps(first, then, workers, times):
    rows = [{"series": "", "ranks": n, "workers": n, "time_s": t, "cell_updates_per_s": n / t} for n, t in
            ((workers, first), (workers * times, then))]
    original, speedup.measured = speedup.measured, lambda *_: rows
    try:
        got = speedup.table({"scaling": "weak"}, None)
    finally:
        speedup.measured = original
    # As much work for each worker: Gustafson's t0 / t.
    assert got[1]["efficiency"] == pytest.approx(first / then)
    assert got[1]["speedup"] == pytest.approx(times * first / then)
    assert got[1]["speedup_ideal"] == times


def test_a_strong_study_ends_with_its_table(sweep, tmp_path):
    answer = sweep(STRONG, script="strong_scaling")
    assert answer.returncode == 0, answer.stderr
    rows = list(csv.DictReader((tmp_path / "out" / "scaling.csv").open()))
    assert [(row["series"], row["ranks"], row["runs"]) for row in rows] == [
        ("block 4", "1", "2"), ("block 4", "2", "2"), ("block 8", "1", "2"), ("block 8", "2", "2")]
    assert [float(row["efficiency"]) for row in rows] == [1, 0.5, 1, 0.5]  # the stand-in takes as long on any ranks
    assert "strong scaling" in answer.stdout and answer.stdout.count("50.0 %") == 2
    assert sweep(STRONG).stdout == answer.stdout  # a study of this kind may be given to sweep.py as well
    answer = sweep(STRONG, script="weak_scaling")
    assert answer.returncode == 2 and "kind is strong; scripts/strong_scaling.py" in answer.stderr


def test_a_configuration_alone_is_scaled(sweep, tmp_path):
    answer = sweep("[mesh]\nroot = [2, 2, 2]\n", "--ranks", "1,2,4", "--repetitions", "1", script="weak_scaling")
    assert answer.returncode == 0, answer.stderr
    study = json.loads((tmp_path / "out" / "study.json").read_text())
    assert study["scaling"] == "weak" and [case["ranks"] for case in study["cases"]] == [1, 2, 4]
    roots = [word for case in study["cases"] for word in case["command_line"] if word.startswith("mesh.root=")]
    assert roots == ["mesh.root=[2, 2, 2]", "mesh.root=[2, 2, 4]", "mesh.root=[2, 4, 4]"]
    answer = sweep("[mesh]\n", "--ranks", "1,x", script="weak_scaling")
    assert answer.returncode == 2 and "--ranks" in answer.stderr and answer.stderr.count("\n") == 1


def test_jobs_are_written_run_and_collected(sweep, tmp_path):
    jobs = tmp_path / "jobs"
    text = STRONG.replace("[1, 2]", "[1, 2, 8]") + 'fake.way = ["good", "fail"]\n'
    write = ("--slurm", str(jobs), "--cores-per-node", "4", "--directive=--account=abc")
    answer = sweep(text, *write, script="strong_scaling")
    assert answer.returncode == 0, answer.stderr
    scripts = sorted(path.name for path in jobs.glob("job-*.sh"))
    assert scripts == ["job-1.sh", "job-2.sh"] and not (tmp_path / "log").exists()
    lines = (jobs / "job-2.sh").read_text().splitlines()
    assert {"#SBATCH --nodes=2", "#SBATCH --account=abc", "#SBATCH --exclusive"} <= set(lines)
    commands = [line for line in lines if line.startswith("run ")]
    start = "srun --nodes=2 --ntasks=8 --cpus-per-task=1 --cpu-bind=cores "
    assert len(commands) == 8 and all(start in line for line in commands)
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\nwhile case $1 in --*) true;; *) false;; esac; do shift; done\nexec "$@"\n')
    srun.chmod(0o755)
    environment = dict(os.environ, PATH=f"{srun.parent}:{os.environ['PATH']}", FAKE_LOG=str(tmp_path / "log"))

    def submit(name):
        subprocess.run(["bash", str(jobs / name)], env=environment, check=True, timeout=60, stdin=subprocess.DEVNULL)

    def collect():
        command = [sys.executable, str(ROOT / "scripts" / "strong_scaling.py"), "collect", str(jobs)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    submit("job-1.sh")
    answer = collect()
    assert answer.returncode == 1 and "8 of 24 runs are not there yet" in answer.stderr, answer.stderr
    submit("job-2.sh")
    submit("job-2.sh")  # again: nothing is done twice
    assert len((tmp_path / "log").read_text().splitlines()) == 24
    answer = collect()
    assert answer.stdout.splitlines()[-1].startswith("12 of 24 runs failed")
    study = json.loads((jobs / "study.json").read_text())
    assert study["finished"] is True
    assert study["provenance"]["hostname"] == "slurm" and study["provenance"]["cpu"] == "none"
    for case in study["cases"]:
        wanted = "done" if case["values"]["fake.way"] == "good" else "failed"
        assert [run["status"] for run in case["runs"]] == [wanted, wanted]
    assert len(list(csv.DictReader((jobs / "scaling.csv").open()))) == 6
    answer = sweep(text, *write, script="strong_scaling")
    assert answer.returncode == 2 and "has runs already" in answer.stderr


def test_nodes_by_cores_and_gpus():
    def nodes(ranks, threads, gpus, cores=8, a_node=4):
        return slurm.nodes_of(Case({}, {}, None, ranks, threads, gpus), cores, a_node)
    assert (nodes(8, 1, 0), nodes(9, 1, 0), nodes(3, 3, 0), nodes(8, 1, 8), nodes(2, 8, 2)) == (1, 2, 2, 2, 2)
    with pytest.raises(StudyError, match="do not fit"):
        nodes(1, 9, 0)
    with pytest.raises(StudyError, match="--gpus-per-node"):
        nodes(1, 1, 1, a_node=0)


def test_gpus_are_those_that_may_be_used(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert machine.visible_gpus(2) == ("0", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 1")
    assert machine.visible_gpus(4) == ("3", "1") and machine.visible_gpus(0) == ()


def test_binding_is_by_threads_and_left_out_where_ranks_outnumber_cores(monkeypatch):
    monkeypatch.delenv("AMRBENCH_MPIRUN_FLAGS", raising=False)
    monkeypatch.setattr(machine, "binding_works", lambda: True)
    line = lambda *arguments: " ".join(machine.launch_line(*arguments))  # noqa: E731
    assert line("mpirun", 4, 2, 8).startswith("mpirun --quiet -n 4 --map-by slot:PE=2 --bind-to core")
    assert line("mpirun", 4, 2, 7) == "mpirun --quiet -n 4 --oversubscribe --bind-to none"
    assert line("mpirun", 1, 1, 8, True) == "mpirun --quiet -n 1 --oversubscribe --bind-to none"
    assert line("srun", 4, 2, 1) == "srun --ntasks=4 --cpus-per-task=2 --cpu-bind=cores"
    assert line("none", 4, 2, 8) == ""
    monkeypatch.setenv("AMRBENCH_MPIRUN_FLAGS", "--host a,b --map-by node")
    assert line("mpirun", 4, 2, 8) == "mpirun --quiet -n 4 --host a,b --map-by node"
    monkeypatch.delenv("AMRBENCH_MPIRUN_FLAGS")
    monkeypatch.setattr(machine, "binding_works", lambda: False)
    assert line("mpirun", 4, 2, 8) == "mpirun --quiet -n 4 --oversubscribe --bind-to none"
