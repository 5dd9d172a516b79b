#!/usr/bin/env python3
"""A checkpoint's time beside that of dd writing as many bytes with fsync to the same disk, in turn.

usage: scripts/checkpoint_speed.py PROGRAM [--ranks N] [--root N] [--repetitions K] [--folder DIR]

PROGRAM is an amrbench with checkpoints. Each repetition is a run of one step on N ranks that writes one checkpoint of
root^3 blocks of 8^3 cells and 40 variables (phase `checkpoint`, the slowest rank; it ends when all is flushed), then dd of
as many bytes from /dev/zero, conv=fsync. Both write below DIR (default: the current folder). The table goes to standard
output, with the medians and the quotient in each repetition. Exit status 0; 2 for bad arguments.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(program: str, ranks: int, root: int, folder: Path) -> tuple[int, float]:
    """(bytes, seconds) of its checkpoint."""
    config = folder.with_name("speed.toml")
    config.touch()
    command = [
        "mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", program, "run", str(config), "--quiet",
        "--out", str(folder), "--threads", "1"
    ]
    settings = (f"mesh.root=[{root},{root},{root}]", "mesh.max_level=0", "run.steps=1", "run.stages_per_step=1",
                "run.checksum_every=0", "output.checkpoint=1")
    for setting in settings:
        command += ["--set", setting]
    root_allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, **root_allowed))
    record = json.loads((folder / "run.json").read_text())
    return record["checkpoint"]["bytes"], record["phases"]["checkpoint"]["max_s"]


def dd(size: int, file: Path) -> float:
    """Seconds."""
    start = time.monotonic()
    subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=8M", "iflag=count_bytes", f"count={size}", "conv=fsync"],
                   check=True, capture_output=True)
    return time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--root", type=int, default=16)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=Path("."))
    given = parser.parse_args()
    if not os.access(given.program, os.X_OK) or not given.folder.is_dir():
        parser.error(f"{given.program} must be a program and {given.folder} a folder")
    if min(given.ranks, given.root, given.repetitions) < 1:
        parser.error("--ranks, --root and --repetitions must be 1 or more")
    print("repetition      bytes   checkpoint_s   GB/s      dd_s   GB/s   checkpoint / dd", flush=True)
    rows = []
    for repetition in range(1, given.repetitions + 1):
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="checkpoint-speed-") as name:
            size, seconds = run(given.program, given.ranks, given.root, Path(name) / "run")
        with tempfile.TemporaryDirectory(dir=given.folder, prefix="checkpoint-speed-") as name:
            dd_seconds = dd(size, Path(name) / "zeros")
        rows.append((seconds, dd_seconds, seconds / dd_seconds))
        print(f"{repetition:10}  {size:>9}  {seconds:13.3f}  {size / seconds / 1e9:5.2f}  {dd_seconds:8.3f}  "
              f"{size / dd_seconds / 1e9:5.2f}  {seconds / dd_seconds:16.2f}", flush=True)
    checkpoint, other, ratio = (statistics.median(column) for column in zip(*rows))
    print(f"median                 {checkpoint:13.3f}         {other:8.3f}         {ratio:16.2f}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"scripts/checkpoint_speed.py: {error}")
