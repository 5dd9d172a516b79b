#!/usr/bin/env python3
"""Times whole runs on GPUs and writes a record: uniform meshes, adaptive meshes, weak and strong scaling.

usage: scripts/gpu_runs.py [--amrbench PROGRAM] [--gpus LIST] [--cases NAMES] [--repetitions N] [--json FILE]

Cases, each on as many ranks as GPUs of LIST (1):
  uniform_<edge>x<variables>   a uniform mesh of 4.3 to 16.6 GB a copy of the fields
  moving_8, moving_16          a moving sphere, refinement every 10 steps of one stage
  expanding_8, expanding_16    a growing sphere, the same
  base_8, base_16              uniform meshes with as many blocks as the moving sphere has at most
  strong_8, strong_16          a uniform mesh of 16.1 GB a copy, whose sides powers of two divide; 10 variables
  weak, weak_orb               a cube of 64^3 blocks of 8^3 x 10 a GPU; placed by recursive bisection
  weak_ragged                  58 x 58 x 60 of them, which Morton's curve does not cut evenly
  moving_stretched             moving_8 in a domain as many times as large as there are GPUs; the sphere stretches with it
Threads are those that a run takes by itself. OMP_WAIT_POLICY is best left unset:
threads then spin between the short loops of a refinement, and sleep beside stages. Of several repetitions the one with
the median time is kept, with the times of all. Figures printed: share of the copy bandwidth measured in the run; between,
the share of the time from the first stage to the last that passed between stages (device.between_s). FILE is added to
when it exists.
Exit status: 0 done, 1 a run failed, 2 bad input.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGS = os.path.join(HERE, "../configs")
SIXTEEN = {"mesh.root": "[4,4,4]", "mesh.block": "16", "mesh.max_level": "5"}
# 16^3 blocks weigh eight times as much, so their spheres are smaller.
CASES = {
    "uniform_4x40": ("gpu_uniform", {"mesh.root": "[60,60,56]", "mesh.block": "4", "fields.variables": "40"}),
    "uniform_8x10": ("gpu_uniform", {}),
    "uniform_8x40": ("gpu_uniform", {"mesh.root": "[32,32,32]", "fields.variables": "40"}),
    "uniform_16x10": ("gpu_uniform", {"mesh.root": "[37,37,37]", "mesh.block": "16"}),
    "uniform_16x40": ("gpu_uniform", {"mesh.root": "[16,16,13]", "mesh.block": "16", "fields.variables": "40"}),
    "moving_8": ("gpu_moving", {}),
    "moving_16": ("gpu_moving", {**SIXTEEN, "object.size": "[0.42,0.42,0.42]"}),
    "expanding_8": ("gpu_expanding", {}),
    "expanding_16": ("gpu_expanding", {**SIXTEEN, "object.size": "[0.22,0.22,0.22]"}),
    "base_8": ("gpu_uniform", {"mesh.root": "[103,103,104]", "run.steps": "10"}),
    "base_16": ("gpu_uniform", {"mesh.root": "[52,53,53]", "mesh.block": "16", "run.steps": "10"}),
    "strong_8": ("gpu_uniform", {"mesh.root": "[64,64,96]"}),
    "strong_16": ("gpu_uniform", {"mesh.root": "[32,32,48]", "mesh.block": "16"}),
    "weak": ("gpu_uniform", {"run.steps": "40"}),
    "weak_orb": ("gpu_uniform", {"run.steps": "40"}),
    "weak_ragged": ("gpu_uniform", {"run.steps": "50"}),
    "moving_stretched": ("gpu_moving", {}),
}
WEAK_ROOTS = {1: "[64,64,64]", 2: "[64,64,128]", 4: "[64,128,128]", 8: "[128,128,128]"}
RAGGED_ROOTS = {1: "[58,58,60]", 2: "[58,58,120]", 4: "[58,116,120]", 8: "[116,116,120]"}
STRETCHED_ROOTS = {1: "[5,5,5]", 2: "[5,5,10]", 4: "[5,10,10]", 8: "[10,10,10]"}
ROOTS = {"weak": WEAK_ROOTS, "weak_orb": WEAK_ROOTS, "weak_ragged": RAGGED_ROOTS, "moving_stretched": STRETCHED_ROOTS}
SETTINGS = {"weak_orb": ["partition.method=orb"]}


def fail(status, text):
    print(f"gpu_runs: {text}", file=sys.stderr)
    sys.exit(status)


def write_config(name, case, gpus, folder):
    """The case's file: that of configs/ with the case's values in place of its own."""
    base, changes = CASES[case]
    changes = {**changes, "run.name": f'"{name}"'}
    if case in ROOTS:
        changes["mesh.root"] = ROOTS[case][gpus]
    with open(os.path.join(CONFIGS, base + ".toml"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    table, text = "", []
    for line in lines:
        if line.startswith("["):
            table = line.strip("[]")
        key = f"{table}.{line.split('=')[0].strip()}"
        text.append(f"{line.split('=')[0].strip()} = {changes.pop(key)}" if "=" in line and key in changes else line)
    if changes:
        fail(1, f"{base}.toml has no {', '.join(changes)}")
    path = os.path.join(folder, name + ".toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    return path


def run(program, case, gpus):
    """The run record of one run."""
    folder = tempfile.mkdtemp(prefix="gpu-runs-")
    env = dict(os.environ)
    if os.getuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    try:
        out = os.path.join(folder, "out")
        command = ["mpirun", "-n", str(gpus), "--bind-to", "none", program, "run", write_config(case, case, gpus, folder),
                   "--set", "device.backend=cuda", "--quiet", "--out", out]
        command += [word for setting in SETTINGS.get(case, []) for word in ("--set", setting)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            fail(1, f"{case} on {gpus} GPUs failed ({done.returncode}): {(done.stdout + done.stderr).strip()[-400:]}")
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            return json.load(file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def summary(record):
    device, totals, rates = record["device"], record["totals"], record["rates"]
    stages = device["stencil_s"] + device["faces_s"] + device["wait_s"]
    return {"time_s": totals["time_s"], "blocks_max": totals["blocks_max"],
            "cell_updates_per_s": rates["cell_updates_per_s"], "roofline_fraction": rates["roofline_fraction"],
            "between": device["between_s"] / max(1e-9, stages + device["between_s"]),
            "faces": device["faces_s"] / max(1e-9, stages)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--amrbench", default=os.path.join(HERE, "../build/release/amrbench"))
    parser.add_argument("--gpus", default="1", help="counts with commas: 1, 2, 4, 8")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    if not os.access(arguments.amrbench, os.X_OK):
        fail(2, f"--amrbench: {arguments.amrbench} is no program; build the preset release first")
    counts = arguments.gpus.split(",")
    if not all(n in ("1", "2", "4", "8") for n in counts):
        fail(2, f'--gpus "{arguments.gpus}": give counts out of 1, 2, 4, 8 with commas')
    for case in arguments.cases.split(","):
        if case not in CASES:
            fail(2, f'--cases: "{case}" is none of {", ".join(CASES)}')
    if arguments.repetitions < 1:
        fail(2, "--repetitions: at least 1")
    runs = []
    if arguments.json and os.path.exists(arguments.json):
        with open(arguments.json, encoding="utf-8") as file:
            runs = json.load(file)["runs"]
    for gpus in map(int, counts):
        for case in arguments.cases.split(","):
            records = sorted((run(arguments.amrbench, case, gpus) for _ in range(arguments.repetitions)),
                             key=lambda record: record["totals"]["time_s"])
            record = records[(len(records) - 1) // 2]
            runs = [r for r in runs if (r["case"], r["gpus"]) != (case, gpus)]
            runs.append({"case": case, "gpus": gpus, "times_s": [r["totals"]["time_s"] for r in records],
                         "summary": summary(record), "record": record})
            figures = summary(record)
            print(f"{case:14} {gpus} GPUs  {figures['time_s']:.3f} s, {figures['cell_updates_per_s']:.4g} updates/s, "
                  f"{100 * figures['roofline_fraction']:.1f} % of copy, between {100 * figures['between']:.1f} %, "
                  f"blocks {figures['blocks_max']}", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"repeat": "scripts/gpu_runs.py --gpus 1 (and 2,4) --json FILE", "runs": runs}, file, indent=1)


if __name__ == "__main__":
    main()
