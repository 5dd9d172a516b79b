#!/usr/bin/env python3
"""Policies, partitioners and rules of slices on one case: replayed at any number of ranks, or run; one CSV, and figures.

usage: scripts/compare_strategies.py CASE --ranks LIST [--policy LIST] [--partition LIST] [--slices LIST] [--weights LIST]
                                     [--machine FILE] [--run] [--set KEY=VALUE]... [--no-optimum] [--amrbench PROGRAM] --out DIR

CASE is a configuration (TOML) or a trace. Without --run the case's mesh is traced once and all combinations are replayed
(docs/replay.md); with it each combination is run under mpiexec, and there is no regret. DIR gets:
  strategies.csv   a row a combination
  series.csv       a row a combination and refinement (replays)
  times.svg        time split into stencil, halo, refine, balance, migrate
  regret.svg       time over that of the best schedule, by policy and number of ranks (replays)
  cuts.svg         imbalance over the steps, and when each policy placed blocks anew (replays; the largest number of ranks)
Figures need matplotlib (Debian: python3-matplotlib) and are left out without it.
Exit status: 0 done, 1 a run failed, 2 bad input.
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PHASES = ["stencil_s", "halo_s", "refine_s", "balance_s", "migrate_s"]
POLICIES = "every,threshold,amortized,menon,menon_baseline,boulmier,anticipate,auto,never"


def fail(status, text):
    print(f"compare_strategies: {text}", file=sys.stderr)
    sys.exit(status)


def find_program(given):
    for candidate in [given] if given else ["build/release/amrbench", "build/test/amrbench"]:
        path = candidate if given else os.path.join(HERE, "..", candidate)
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
    fail(2, f"{given or 'build/release/amrbench'}: no such program; scripts/run builds it, --amrbench names another")


def call(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("amrbench: error: ")]
        fail(done.returncode if done.returncode in (1, 2) else 1, errors[0] if errors else done.stderr.strip()[-300:])
    return done.stdout


def is_trace(path):
    with open(path, "rb") as file:
        return file.read(15) == b"amrbench-trace "


def check(arguments):
    """What the program would not be asked about, or only after some of the work."""
    for count in arguments.ranks.split(","):
        if not (count.isascii() and count.isdigit() and int(count) > 0):
            fail(2, f"--ranks {arguments.ranks}: not whole numbers above 0, with commas")
    if is_trace(arguments.case):
        if arguments.set:
            fail(2, f"--set {arguments.set[0]}: {arguments.case} is a trace, whose mesh is what it is; give its configuration")
        if arguments.run:
            fail(2, f"{arguments.case}: a trace cannot be run; give its configuration")
    if arguments.run and arguments.machine:
        fail(2, f"--machine {arguments.machine}: of replays; --run measures")


def replay(program, arguments, folder):
    """Rows and series of the replays; a file each in the folder."""
    trace = arguments.case
    if not is_trace(trace):
        trace = os.path.join(folder, "case.trace")
        settings = [word for setting in arguments.set for word in ("--set", setting)]
        call([program, "trace", arguments.case, "-o", trace, "--force", *settings])
    command = [program, "replay", trace, "--csv", os.path.join(folder, "strategies.csv"), "--series",
               os.path.join(folder, "series.csv"), "--force"]
    for name in ("ranks", "policy", "partition", "slices", "weights"):
        command += [f"--{name}", getattr(arguments, name)]
    if arguments.machine:
        command += ["--machine", arguments.machine]
    if arguments.no_optimum:
        command.append("--no-optimum")
    print(call(command).strip().split("\n", 1)[-1])


def run_all(program, arguments, folder):
    """The same by running; strategies.csv has the columns that a run knows."""
    environment = dict(os.environ)
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    rows = []
    lists = [getattr(arguments, name).split(",") for name in ("ranks", "partition", "slices", "policy", "weights")]
    for ranks in lists[0]:
        for partition in lists[1]:
            for slices in lists[2]:
                for weights in lists[4]:
                    for policy in lists[3]:
                        rows.append(run_one(program, arguments, environment, ranks, partition, slices, policy, weights))
                        print(f"{ranks} ranks, {partition}, {slices}, {policy}, {weights}: {rows[-1]['time_s']:.3f} s", flush=True)
    with open(os.path.join(folder, "strategies.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def run_one(program, arguments, environment, ranks, partition, slices, policy, weights):
    settings = {"partition.method": partition, "partition.slices": slices, "balance.policy": policy,
                "balance.weights": weights}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        command = ["mpiexec", "-n", ranks]
        if int(ranks) > (os.cpu_count() or 1):
            command.append("--oversubscribe")
        command += [program, "run", arguments.case, "--quiet", "--out", out]
        for setting in [f"{key}={value}" for key, value in settings.items()] + arguments.set:
            command += ["--set", setting]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("amrbench: error: ")]
            fail(done.returncode if done.returncode in (1, 2) else 1, errors[0] if errors else done.stderr.strip()[-300:])
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            record = json.load(file)
    row = {"ranks": ranks, "partition": partition, "slices": slices, "policy": policy, "weights": weights,
           "machine": "run", "time_s": record["totals"]["time_s"]}
    row.update({phase: record["phases"][phase[:-2]]["max_s"] for phase in PHASES})
    row.update({name: record["balance"][name] for name in (
        "rebalances", "blocks_migrated", "bytes_migrated", "bytes_migrated_least", "imbalance_mean",
        "imbalance_max")})
    return row


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def label(row, rows):
    """What tells the row from the others of its number of ranks."""
    names = [name for name in ("partition", "slices", "weights") if len({r[name] for r in rows}) > 1]
    return " ".join([row[name] for name in names] + [row["policy"]])


def draw(folder, replayed):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("compare_strategies: no figures: matplotlib is not installed (python3-matplotlib)", file=sys.stderr)
        return
    rows = read_csv(os.path.join(folder, "strategies.csv"))
    ranks = sorted({int(row["ranks"]) for row in rows})
    draw_times(pyplot, folder, rows, ranks)
    if replayed and rows[0]["regret"]:
        draw_regret(pyplot, folder, rows, ranks)
    if replayed:
        draw_cuts(pyplot, folder, read_csv(os.path.join(folder, "series.csv")), ranks[-1])


def draw_times(pyplot, folder, rows, ranks):
    figure, axes = pyplot.subplots(1, len(ranks), figsize=(3 + 4 * len(ranks), 1.5 + 0.28 * len(rows) / len(ranks)),
                                   squeeze=False, constrained_layout=True)
    for axis, count in zip(axes[0], ranks):
        mine = [row for row in rows if int(row["ranks"]) == count]
        # A policy that never cuts may take hundreds of times as long: the scale is that of the others.
        times = sorted(float(row["time_s"]) for row in mine)
        left = [0.0] * len(mine)
        for phase in PHASES:
            values = [float(row[phase]) for row in mine]
            axis.barh([label(row, rows) for row in mine], values, left=left, label=phase[:-2])
            left = [a + b for a, b in zip(left, values)]
        end = min(times[-1], 3 * times[len(times) // 2]) * 1.02
        axis.set_xlim(0, end)
        for at, time in enumerate(left):
            if time > end:
                axis.text(end, at, f"{time:.4g} s ", ha="right", va="center", color="white", fontsize="small")
        axis.invert_yaxis()
        axis.set_xlabel("time (s)")
        axis.set_title(f"{count} ranks")
    # Beside the bars: any of them may be as long as the axis.
    axes[0][-1].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(os.path.join(folder, "times.svg"))


def draw_regret(pyplot, folder, rows, ranks):
    figure, axis = pyplot.subplots(figsize=(8, 4.5), constrained_layout=True)
    names = list(dict.fromkeys(label(row, rows) for row in rows))
    width = 0.8 / len(ranks)
    for k, count in enumerate(ranks):
        values = {label(row, rows): 100 * float(row["regret"]) for row in rows if int(row["ranks"]) == count}
        axis.bar([i + k * width for i in range(len(names))], [max(values[name], 1e-2) for name in names], width,
                 label=f"{count} ranks")
    axis.set_yscale("log")
    axis.set_ylabel("time over the best schedule's (%)")
    axis.set_xticks([i + 0.4 - width / 2 for i in range(len(names))], names, rotation=40, ha="right")
    axis.legend()
    figure.savefig(os.path.join(folder, "regret.svg"))


def draw_cuts(pyplot, folder, series, count):
    mine = [row for row in series if int(row["ranks"]) == count]
    names = list(dict.fromkeys(label(row, mine) for row in mine))
    figure, axes = pyplot.subplots(len(names), 1, figsize=(9, 1.1 * len(names) + 1), sharex=True, squeeze=False,
                                   constrained_layout=True)
    for axis, name in zip(axes[:, 0], names):
        points = [row for row in mine if label(row, mine) == name]
        steps = [int(row["step"]) for row in points]
        imbalance = [float(row["imbalance"]) for row in points]
        axis.plot(steps, imbalance, linewidth=1)
        cuts = [(s, i) for s, i, row in zip(steps, imbalance, points) if row["cut"] == "1"]
        axis.plot([s for s, _ in cuts], [i for _, i in cuts], "|", color="black", markersize=5)
        axis.set_ylabel(name, rotation=0, ha="right", fontsize="small")
    axes[-1][0].set_xlabel("step")
    figure.suptitle(f"max / mean - 1 of the loads after each refinement, {count} ranks; bars: blocks placed anew")
    figure.savefig(os.path.join(folder, "cuts.svg"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("case", metavar="CASE", help="configuration or trace")
    parser.add_argument("--ranks", required=True, metavar="LIST")
    parser.add_argument("--policy", default=POLICIES, metavar="LIST", help=f"default {POLICIES}")
    parser.add_argument("--partition", default="hilbert", metavar="LIST")
    parser.add_argument("--slices", default="midpoint", metavar="LIST")
    parser.add_argument("--weights", default="uniform", metavar="LIST")
    parser.add_argument("--machine", metavar="FILE", help="model of a machine (docs/replay.md)")
    parser.add_argument("--run", action="store_true", help="run instead of replaying")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--no-optimum", action="store_true", help="do not search the best schedule")
    parser.add_argument("--amrbench", metavar="PROGRAM")
    parser.add_argument("--out", required=True, metavar="DIR")
    arguments = parser.parse_args()
    if not os.path.isfile(arguments.case):
        fail(2, f"{arguments.case}: no such file")
    check(arguments)
    program = find_program(arguments.amrbench)
    if arguments.run and not shutil.which("mpiexec"):
        fail(2, "mpiexec is not to be found")
    if os.path.exists(os.path.join(arguments.out, "strategies.csv")):
        fail(2, f"--out {arguments.out}: holds strategies.csv already, and nothing is overwritten")
    try:
        os.makedirs(arguments.out, exist_ok=True)
    except OSError as error:
        fail(2, f"--out {arguments.out}: {error.strerror}")
    (run_all if arguments.run else replay)(program, arguments, arguments.out)
    draw(arguments.out, not arguments.run)
    print(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
