#!/usr/bin/env python3
"""Times amrbench and Mantevo miniAMR in turn on this machine and writes a record.

usage: scripts/compare_miniamr.py --miniamr PROGRAM [--amrbench PROGRAM] [--repetitions N] [--json FILE]
                                  [--only-amrbench] [--cells N] [--steps N]

The case is miniAMR's README example "one sphere" on 2 ranks and 2 x 2 x 2 root blocks. PROGRAM is a miniAMR executable
built by you for this machine (github.com/Mantevo/miniAMR, folder ref). Each repetition runs miniAMR, then amrbench;
times are the slowest rank's, memory the largest rank's peak. Only ratios of one record mean anything: absolute times
drift with whatever else the machine does. Exit status: 0 done, 1 a run failed, 2 bad input.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

CASE = ("--num_refine 4 --num_vars 40 --stages_per_ts 20 --num_objects 1 "
        "--object 2 0 -1.71 -1.71 -1.71 0.04 0.04 0.04 1.7 1.7 1.7 0 0 0 --checksum_freq 1 "
        "--npx 2 --npy 1 --npz 1 --init_x 1 --init_y 2 --init_z 2")
MAX_BLOCKS = 5000  # a rank; miniAMR allocates them all
PHASES = ("stencil", "communication", "checksum", "refinement")


def fail(status, text):
    print(f"compare_miniamr: {text}", file=sys.stderr)
    sys.exit(status)


class Failed(SystemExit):
    """A program did not end well. Who does not catch it ends with status 1 and its line."""


def run(command):
    env = dict(os.environ, OMP_NUM_THREADS="1")
    if os.getuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"compare_miniamr: {command[0]} ... failed ({done.returncode}): "
                     f"{(done.stdout + done.stderr).strip()[-400:]}")
    return done.stdout + done.stderr


def run_miniamr(program, options, limit_s=None):
    """Total and phases (s, slowest rank) and peak memory (bytes, largest rank) of one run."""
    # Each rank watches its own time: ranks outlive a launcher that is killed. Status 124 then.
    watched = ["timeout", str(limit_s), program] if limit_s else [program]
    # Into a file: what a process says at its very end mpirun may lose.
    with tempfile.NamedTemporaryFile(mode="r", prefix="compare-") as said:
        text = run(["mpirun", "-n", "2", "/usr/bin/time", "-a", "-o", said.name, "-f", "%M", *watched, *options.split(),
                    "--max_blocks", str(MAX_BLOCKS), "--report_perf", "4"])
        peak = max(int(kib) for kib in said.read().split()) * 1024
    total = re.search(r"Total time for test: ave, std, min, max \(sec\): +\S+ \S+ \S+ (\S+)", text)
    if total is None:
        raise Failed(f"compare_miniamr: {program} ... printed no total time: is it miniAMR?")
    total = float(total.group(1))
    times = re.findall(r"^ +Time: ave, stddev, min, max \(sec\): +\S+ \S+ \S+ (\S+)", text, re.M)
    return {"total_s": total, "memory_bytes_max_rank": peak, **dict(zip(PHASES, map(float, times)))}


def run_amrbench(program, options, *more):
    folder = tempfile.mkdtemp(prefix="compare-")
    out = os.path.join(folder, "run")
    try:
        run(["mpirun", "-n", "2", program, "run", "--miniamr", options, "--threads", "1", "--quiet", "--out", out,
             *more])
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            record = json.load(file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    phase = {name: entry["max_s"] for name, entry in record["phases"].items()}
    return {"total_s": record["totals"]["time_s"],
            "memory_bytes_max_rank": record["totals"]["memory_bytes_max_rank"],
            "stencil": phase["stencil"], "communication": phase["halo"], "checksum": phase["checksum"],
            "refinement": phase["refine"] + phase["balance"] + phase["migrate"],
            "roofline_fraction": record["rates"]["roofline_fraction"],
            "copy_bandwidth_bytes_per_s": record["rates"]["copy_bandwidth_bytes_per_s"],
            "cell_updates_per_s": record["rates"]["cell_updates_per_s"],
            "block_stages": record["totals"]["block_stages"], "blocks_max": record["totals"]["blocks_max"],
            "cell_updates": record["totals"]["cell_updates"], "valid": record["valid"],
            "provenance": record["provenance"]}


def medians(runs):
    return {key: statistics.median(r[key] for r in runs)
            for key, value in runs[0].items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--miniamr", default="")
    parser.add_argument("--amrbench", default=os.path.join(os.path.dirname(__file__), "../build/release/amrbench"))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", default="")
    parser.add_argument("--only-amrbench", action="store_true")
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        fail(2, "--repetitions must be at least 1")
    for name in ("amrbench",) if arguments.only_amrbench else ("amrbench", "miniamr"):
        if not os.access(getattr(arguments, name), os.X_OK):
            fail(2, f"--{name}: '{getattr(arguments, name)}' is no program that can be run")
    if arguments.json and os.path.exists(arguments.json):
        fail(2, f"--json: {arguments.json} exists; nothing is overwritten")
    n = arguments.cells
    options = f"{CASE} --nx {n} --ny {n} --nz {n} --num_tsteps {arguments.steps}"
    runs = {"miniAMR": [], "amrbench": []}
    for k in range(arguments.repetitions):
        if not arguments.only_amrbench:
            runs["miniAMR"].append(run_miniamr(os.path.abspath(arguments.miniamr), options))
            print(f"{k + 1}: miniAMR  {runs['miniAMR'][-1]['total_s']:8.2f} s", flush=True)
        runs["amrbench"].append(run_amrbench(os.path.abspath(arguments.amrbench), options))
        print(f"{k + 1}: amrbench {runs['amrbench'][-1]['total_s']:8.2f} s, roofline fraction "
              f"{runs['amrbench'][-1]['roofline_fraction']:.3f}", flush=True)
    middle = {name: medians(list_) for name, list_ in runs.items() if list_}
    ratios = {}
    if not arguments.only_amrbench:
        ratios = {key: middle["miniAMR"][key] / middle["amrbench"][key]
                  for key in ("total_s", "memory_bytes_max_rank", *PHASES)}
        print("miniAMR / amrbench: " + ", ".join(f"{key} {value:.2f}" for key, value in ratios.items()))
    provenance = runs["amrbench"][-1]["provenance"]
    provenance.pop("launch", None)  # it names folders of this machine; `case` says all there is to say
    for r in runs["amrbench"]:
        r.pop("provenance")
    record = {"case": options, "ranks": 2, "threads": 1, "repetitions": arguments.repetitions, "runs": runs,
              "medians": middle, "ratios_miniamr_over_amrbench": ratios, "provenance": provenance,
              "repeat": "scripts/compare_miniamr.py --miniamr PROGRAM" if ratios else
                        f"scripts/compare_miniamr.py --only-amrbench --cells {n} --steps {arguments.steps}"}
    if arguments.json:
        with open(arguments.json, "x", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    return 0 if all(r["valid"] for r in runs["amrbench"]) else 1


if __name__ == "__main__":
    sys.exit(main())
