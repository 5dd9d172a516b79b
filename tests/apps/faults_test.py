#!/usr/bin/env python3
"""Faults of one rank, and the ending that is promised for each (docs/promises.md): within 30 s, one line that names rank,
phase and step, an exit status that is not 0, no result marked valid, files whole or absent; and whatever was left goes on
from its last good checkpoint, or begins, to the result of a run without faults.

usage: faults_test.py AMRBENCH MPIEXEC FAULT_SHIM [K/N]

Prints a table: fault, seconds, exit status, line. AMRBENCH_FULL=1 tries each of the first 300 allocations and more places
of the others; K/N: only every N-th case, from the K-th, counted from 0. tests/faults/fault_shim.cpp says what the faults are.
"""
import concurrent.futures
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import program
from program import FULL

LIMIT_S = 30
PLACE = re.compile(r"^amrbench: error: rank (\d+), phase (\w+), step (\d+): (.+)$")
CONFIG = """[mesh]
root = [2, 2, 2]
block = 4
max_level = 2
[fields]
variables = 2
[run]
steps = 6
stages_per_step = 2
refine_every = 2
checksum_every = 2
hang_after = 4
[output]
plotfile = 3
CHECKPOINT
[[object]]
center = [0.3, 0.3, 0.3]
size = [0.2, 0.2, 0.2]
velocity = [0.05, 0.0, 0.0]
"""
# All blocks refine, to 168 MB; the first mesh takes 3 MB.
LARGE = ["--set", "mesh.block=8", "--set", "fields.variables=40", "--set", "object.0.volume=true", "--set",
         "object.0.size=[2,2,2]"]
SHIM, CHECKPOINT = "", "checkpoint = 2"


def start(folder, ranks, fault, rank=0, at=1, inside=""):
    """Runs the program with a fault; (seconds, status, standard output, standard error). Nothing of it is left behind."""
    with open(os.path.join(folder, "c.toml"), "w", encoding="utf-8") as file:
        file.write(CONFIG.replace("CHECKPOINT", CHECKPOINT))
    environment = program.environment(FAULT=fault, FAULT_RANK=str(rank), FAULT_AT=str(at), FAULT_IN=inside)
    command = [*program.on_ranks(ranks, "-q"), "-x", f"LD_PRELOAD={SHIM}", "-x",
               "FAULT", "-x", "FAULT_RANK", "-x", "FAULT_AT", "-x", "FAULT_IN", program.AMRBENCH, "run", "c.toml", "--progress",
               "none", "--out", "o"]
    command += LARGE if fault == "memory" else []
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=2 * LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        out, err = process.communicate()
        return time.monotonic() - begin, "never", out, err
    return time.monotonic() - begin, process.returncode, out, err


def record_of(folder):
    path = os.path.join(folder, "o", "run.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)  # whole, else this fails


def unfinished(folder):
    """Files under their final names that are not whole."""
    found = []
    top = os.path.join(folder, "o")
    for name in os.listdir(top) if os.path.isdir(top) else ():
        path = os.path.join(top, name)
        if name.startswith("plt") and not (os.path.exists(os.path.join(path, "Header")) and whole_plotfile(path)):
            found.append(name)
        if name == "config.toml":
            with open(path, encoding="utf-8") as file:
                if "hang_after" not in file.read():
                    found.append(name)
    return found


def whole_plotfile(path):
    """Does every level have its header, and each file that it names all bytes that it says?"""
    levels = [name for name in os.listdir(path) if name.startswith("Level_")]
    for level in levels:
        header = os.path.join(path, level, "Cell_H")
        if not os.path.exists(header):
            return False
        with open(header, encoding="utf-8") as file:
            places = re.findall(r"FabOnDisk: (\S+) (\d+)", file.read())
        if any(os.path.getsize(os.path.join(path, level, name)) <= int(offset) for name, offset in places):
            return False
    return bool(levels)


def values_of(record):
    return [field["checksum_hex"] for field in record["fields"]], record["mesh_crc_hex"]


def judge(case, answer, folder, reference):
    """What is wrong with an ending, as a list of words; and the line of the table."""
    fault, ranks, rank, _, _ = case
    seconds, status, out, err = answer
    wrong = [f"takes {seconds:.0f} s"] if seconds > LIMIT_S else []
    record = record_of(folder)
    wrong += [f"{name} is not whole" for name in unfinished(folder)]
    lines = program.error_lines(err)
    said = lines[-1] if lines else ""
    if fault == "delay" or (fault == "alloc" and status == 0):
        # A library may have lived with it: then the result is the right one.
        good = status == 0 and record and record["valid"] and values_of(record) == reference and not lines
        return wrong + ([] if good else ["no right result"]), "the same result as without"
    if status in (0, "never"):
        wrong.append(f"exit status {status}")
    late = "phase end" in said
    if record and record["valid"] and not (late and values_of(record) == reference):
        wrong.append("a result marked valid")  # once it is written, whole and right, a rank may still die
    if fault in ("nan", "short") and not lines:
        # Nothing failed but the answer: the run's own checks say so, last of all.
        words = out.splitlines()
        if len(words) < 3 or words[-2:] != ["VALIDATION: FAILED", "o"] or not re.search(r"after step \d+", words[-3]):
            wrong.append("no verdict")
        return wrong, words[-3] if len(words) >= 3 else ""
    if status == 2:
        return wrong + ([] if len(lines) == 1 and "No space left" in said and "o/" in said else ["no line"]), said
    if len(lines) != 1:
        wrong.append(f"{len(lines)} lines")
    if said and err.rstrip().splitlines()[-1] != said:
        wrong.append("the line is not the last")
    place = PLACE.match(said)
    if not place:
        wrong.append("no place")
    elif fault == "memory" and (place.group(2) != "refine" or "a refinement makes 448 blocks more" not in said):
        wrong.append("not before the refinement")
    elif fault in ("kill", "stop", "hang", "alloc", "fail", "disk") and int(place.group(1)) != rank and ranks > 1:
        wrong.append(f"names rank {place.group(1)}")
    return wrong, said


def going_on(folder, reference):
    """What is wrong with a restart in what a run left."""
    if not CHECKPOINT or os.path.exists(os.path.join(folder, "o", "run.csv")):
        return []
    status, out, err = program.run("run", "c.toml", "--out", "o", "--restart", "auto", "--quiet", cwd=folder)
    record = record_of(folder) if status == 0 else None
    good = record and record["valid"] and values_of(record) == reference
    return [] if good else [f"a restart ends with {status}: {out} {err}"]


def cases(counts):
    """(fault, ranks, rank, at, file) of this tier; counts: what a run without faults does."""
    allocations, calls, writes = counts
    spread = lambda most, n: sorted({1 + (most - 1) * k // max(1, n - 1) for k in range(n)})  # noqa: E731
    found = [("alloc", 2, 1, at, "") for at in (range(1, 301) if FULL else (1, 200))]
    found += [("alloc", 2, 0, at, "") for at in spread(allocations, 20 if FULL else 2)]
    found += [("alloc", 1, 0, at, "") for at in spread(allocations, 10 if FULL else 1)]
    # Ranks watch each other from their fourth exchange on.
    found += [("kill", 2, 1, max(8, at), "") for at in spread(calls, 20 if FULL else 2)]
    found += [("kill", 3, 0, max(8, at), "") for at in spread(calls * 2 // 3, 5 if FULL else 1)]
    found += [("stop", 2, 1, at, "") for at in (spread(calls, 7)[1:6] if FULL else (calls // 2,))]
    found += [("hang", 2, at % 2, at, "") for at in (spread(calls, 14)[1:13] if FULL else (calls // 2 | 1,))]
    found += [("fail", 2, 1, at, "") for at in spread(calls, 25 if FULL else 2)]
    found += [("delay", 2, 1, calls // 2, "")]
    found += [(fault, 2, 1, calls // 2, "") for fault in ("nan", "short", "long")]
    found += [("disk", 2, 0, at, "/o/") for at in spread(writes, 40 if FULL else 4)]
    found += [("disk", 2, 1, 1, "/o/"), ("memory", 2, 0, 100000, "")]
    return found


def one(case, reference):
    fault, ranks, rank, at, inside = case
    folder = tempfile.mkdtemp(prefix="amrbench-faults-")
    try:
        answer = start(folder, ranks, fault, rank, at, inside)
        wrong, said = judge(case, answer, folder, reference)
        if fault not in ("nan", "short", "memory"):  # the first two damage values, the last is another problem
            wrong += going_on(folder, reference)
        return case, answer, wrong, said
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    global CHECKPOINT
    folder = tempfile.mkdtemp(prefix="amrbench-faults-")
    try:
        _, status, out, err = start(folder, 2, "count", 0, 1, "/o/")
        if "this build has no checkpoints" in err:
            CHECKPOINT = ""
            _, status, out, err = start(folder, 2, "count", 0, 1, "/o/")
        found = re.search(r"counted: (\d+) allocations, (\d+) calls, (\d+) writes", err)
        if status != 0 or not found:
            print(out, err)
            return "the run without a fault fails"
        counts = [int(number) for number in found.groups()]
        reference = values_of(record_of(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if min(counts) < 5:
        return f"counted {counts}: the shim is not in the program"
    print(f"{'fault':<6} {'ranks':>5} {'rank':>4} {'at':>6} {'seconds':>8} {'status':>6}  last line")
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(3 if FULL else 2) as pool:
        for case, answer, wrong, said in pool.map(lambda case: one(case, reference), cases(counts)[PART::PARTS]):
            fault, ranks, rank, at, _ = case
            print(f"{fault:<6} {ranks:>5} {rank:>4} {at:>6} {answer[0]:>8.1f} {answer[1]:>6}  {said[:150]}", flush=True)
            if wrong:
                bad += 1
                print(f"  WRONG: {'; '.join(wrong)}\n{answer[2]}{answer[3]}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{bad} endings are not as promised; {used.ru_utime + used.ru_stime:.0f} s of processor time")
    return 1 if bad else 0


if __name__ == "__main__":
    SHIM, = program.take_arguments(3)
    PART, PARTS = map(int, sys.argv[1].split("/")) if len(sys.argv) > 1 else (0, 1)
    sys.exit(main())
