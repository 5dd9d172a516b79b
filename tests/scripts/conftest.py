"""What the tests of scripts/studies share: the package on the path, hypothesis without a folder of its own, a program
that stands in for amrbench where a test is about what happens around runs."""
import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
hypothesis.settings.register_profile("checks", database=None, deadline=None, print_blob=True)
hypothesis.settings.load_profile("checks")

# Its configuration is what is given with --set, of which its run record is a function; fake.* say how it behaves.
STAND_IN = r'''#!{python} -IS
import json, os, sys, time
words = sys.argv[1:]
if words[0] == "info":
    print("amrbench 9.9.9\n\nBuild\n  commit  0123abc\n  type  Release\n  compiler  GNU 12\n  MPI  none")
    sys.exit(0)
if words[0] == "trace":
    open(words[words.index("-o") + 1], "w").write("amrbench-trace 1")
    sys.exit(0)
settings = dict(word.split("=", 1) for before, word in zip(words, words[1:]) if before == "--set")
if settings.pop("bad.key", None):
    sys.exit("amrbench: error: --set bad.key: unknown key; did you mean good.key?")
if "--dry-run" in words:
    print(words[1].rsplit("/", 1)[-1], json.dumps(settings, sort_keys=True))
    print("# at most, all refined to max_level: 8 blocks, 640 KiB; 640 KiB a rank")
    sys.exit(0)
if os.environ.get("FAKE_LOG"):
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(json.dumps([os.getpid(), settings]) + "\n")
time.sleep(float(settings.get("fake.sleep", "0")))
behaviour = settings.get("fake.way", "good")
if behaviour == "hang":
    if os.fork() == 0:
        os.setpgid(0, 0)  # as the ranks of mpirun
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(json.dumps([os.getpid(), "child"]) + "\n")
    time.sleep(100)
print("notes go here, cores", sorted(os.sched_getaffinity(0)))
if behaviour == "fail":
    sys.exit("amrbench: error: planted failure")
if behaviour == "nothing":
    sys.exit(0)
size = int(settings.get("mesh.block", "8"))
launched = int(words[words.index("--threads") + 1])
record = {{"schema": 1, "program": "amrbench", "version": "9.9.9", "valid": behaviour != "invalid",
          "config": {{"run": {{"name": "fake"}}, "mesh": {{"block": [size] * 3}}}},
          "provenance": {{"commit": "0123abc", "compiler": "GNU 12", "cpu": "none", "ranks": 1, "threads": launched}},
          "totals": {{"time_s": 1.0 / size, "cell_updates": size ** 3, "blocks_by_level": [8]}},
          "phases": {{"stencil": {{"min_s": 0.1, "mean_s": 0.2, "max_s": 0.3, "calls": 4}}}},
          "rates": {{"cell_updates_per_s": 1.0 * size ** 4, "roofline_fraction": 0.5}},
          "balance": {{"policy": "every"}}, "partition": {{"method": "morton"}}, "fields": [], "mesh_crc_hex": "00"}}
with open(os.path.join(words[words.index("--out") + 1], "run.json"), "w") as file:
    json.dump(record, file)
sys.exit(1 if behaviour == "invalid" else 0)
'''


@pytest.fixture
def stand_in(tmp_path) -> Path:
    path = tmp_path / "amrbench"
    path.write_text(STAND_IN.format(python=sys.executable))
    path.chmod(0o755)
    (tmp_path / "base.toml").write_text("[mesh]\nroot = [2, 2, 2]\n")
    return path


@pytest.fixture
def sweep(tmp_path, stand_in):
    """sweep(text, *options): scripts/sweep.py on a study with that text, which starts programs without mpirun."""
    def call(text: str, *options: str, script: str = "sweep", wait: bool = True):
        (tmp_path / "study.toml").write_text(text)
        command = [sys.executable, str(ROOT / "scripts" / f"{script}.py"), str(tmp_path / "study.toml"),
                   "--amrbench", str(stand_in), "--launcher", "none", "--out", str(tmp_path / "out"), *options]
        settings = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, "text": True,
                    "env": dict(os.environ, FAKE_LOG=str(tmp_path / "log"))}
        if wait:
            return subprocess.run(command, capture_output=True, timeout=60, **settings)
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
    return call
