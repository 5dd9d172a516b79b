#!/usr/bin/env python3
"""Measures orthogonal recursive bisection and draws time against N: orb_records.py [options]

Runs `amrbench orb` (3-D, float, uniform points, 4096 leaves) for sizes from --least to --most and every method that takes
less than --patience seconds at the size before, then the other inputs and random weights at --most. Writes OUT/orb.json: the
runs' records, one after another. With --gpu FILE (the JSON of orb_cuda_bench) its rows go into the figure too.

With --ranks the largest size runs on one thread of one rank and on two ranks too: OUT/ranks.json.
With --zoltan PROGRAM (orb_zoltan_bench) the largest size runs beside Zoltan's RCB too, on one rank and on two: OUT/zoltan.json.

The figure, OUT/orb.svg, needs matplotlib. In it stand the two times of document 000 (N = 2^30, cuts only: 38.46 s on 12
CPU cores, 6.84 s on one P100), and the byte floors: one read and one write of every coordinate for each of two rounds, at the
copy bandwidth measured beside the runs.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

LEAVES = 4096
BYTES_A_POINT = 2 * 2 * 12  # two rounds, read and written, three floats
SEED = [("document, 12 CPU cores (cuts only)", 38.46), ("document, P100 (cuts only)", 6.84)]


def run(program, words, threads, ranks=1):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "orb.json"
        command = [program, "orb", "--float", "--leaves", str(LEAVES), "--json", str(path), *words]
        if threads:
            command += ["--threads", str(threads)]
        if ranks > 1:
            command = ["mpiexec", "-n", str(ranks), *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        record = json.loads(path.read_text())
    record["provenance"]["launch"] = record["provenance"]["launch"].replace(str(path), "orb.json")
    print(f"{record['input']:28} {record['method']:10} weights {record['weights'] or '-':9} {record['time_s']:9.4f} s",
          flush=True)
    return record


def measure(options):
    records = []
    for method in ("multiway", "bisection", "sort"):
        last = 0.0
        for log in range(options.least, options.most + 1, 2):
            if last > options.patience:
                break
            words = ["--input", f"uniform:{2**log}:1", "--method", method, "--repeat", "5"]
            records.append(run(options.program, words + ["--roofline"], options.threads))
            last = records[-1]["time_s"]
    for kind in ("cluster", "plummer", "field"):
        words = ["--input", f"{kind}:{2**options.most}:1", "--method", "multiway", "--repeat", "5"]
        records.append(run(options.program, words, options.threads))
    words = ["--input", f"uniform:{2**options.most}:1", "--weights", "random:1", "--method", "multiway", "--repeat", "5"]
    records.append(run(options.program, words, options.threads))
    return records


def measure_ranks(options):
    words = ["--input", f"uniform:{2**options.most}:1", "--repeat", "5"]
    return [run(options.program, words, 1), run(options.program, words, 0, ranks=2)]


def measure_zoltan(options, provenance):
    rows = []
    for ranks in (1, 2):
        words = [options.zoltan, str(2**options.most), str(LEAVES), "2"]
        command = words if ranks == 1 else ["mpiexec", "-n", str(ranks), *words]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows += [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    for row in rows:
        print(row, flush=True)
    words = " ".join(["orb_zoltan_bench", str(2**options.most), str(LEAVES), "2"])
    provenance = provenance | {"launch": f"{words}; mpiexec -n 2 {words}"}
    return {"program": "orb_zoltan_bench", "coordinates": "double", "rows": rows, "provenance": provenance}


def draw(records, gpu, path):
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no figure: matplotlib is not installed", file=sys.stderr)
        return
    figure, axes = pyplot.subplots(figsize=(8, 5.5))
    lines = {}
    for record in records:
        if record["input"].startswith("uniform") and not record["weights"]:
            name = f"{record['method']}, {record['provenance']['threads']} CPU threads"
            lines.setdefault(name, []).append((record["n"], record["time_s"]))
    for row in (gpu or {}).get("rows", []):
        if row["input"] == "uniform" and not row["method"].startswith("CPU"):
            lines.setdefault(f"{row['method']} ({row['outputs']}), {gpu['gpu']}", []).append((row["n"], row["time_s"]))
    for name, points in sorted(lines.items()):
        axes.plot(*zip(*sorted(points)), marker="o", markersize=4, label=name)
    for name, seconds in SEED:
        axes.plot([2**30], [seconds], marker="*", linestyle="", markersize=11, label=name)
    sizes = [record["n"] for record in records] + [2**30]
    floors = [("CPU", max((r["copy_bandwidth_bytes_per_s"] for r in records), default=0))]
    if gpu:
        floors.append((gpu["gpu"], gpu["copy_bandwidth_bytes_per_s"]))
    for name, bandwidth in floors:
        if bandwidth:
            ends = [min(sizes), max(sizes)]
            axes.plot(ends, [n * BYTES_A_POINT / bandwidth for n in ends], linestyle=":", color="grey")
            axes.annotate(f"byte floor, {name}", (ends[0], ends[0] * BYTES_A_POINT / bandwidth), fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="points", ylabel="seconds", title=f"ORB, 3-D float, {LEAVES} leaves")
    axes.set_xscale("log", base=2)
    axes.legend(fontsize=8)
    axes.grid(True, which="major", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/amrbench", help="the program (build/release/amrbench)")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write into")
    parser.add_argument("--least", type=int, default=20, help="log2 of the smallest number of points (20)")
    parser.add_argument("--most", type=int, default=26, help="log2 of the largest (26)")
    parser.add_argument("--threads", type=int, default=0, help="threads (0: all)")
    parser.add_argument("--patience", type=float, default=3.0, help="seconds after which a method is given up (3)")
    parser.add_argument("--gpu", type=pathlib.Path, help="JSON of orb_cuda_bench")
    parser.add_argument("--ranks", action="store_true", help="measure one and two ranks too")
    parser.add_argument("--ranks-only", action="store_true", help="keep OUT/orb.json, measure one and two ranks")
    parser.add_argument("--zoltan", help="orb_zoltan_bench, to run beside Zoltan")
    parser.add_argument("--zoltan-only", action="store_true", help="keep OUT/orb.json, run beside Zoltan")
    parser.add_argument("--draw-only", action="store_true", help="draw OUT/orb.json again")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "orb.json"
    kept = options.draw_only or options.zoltan_only or options.ranks_only
    records = json.loads(path.read_text()) if kept else measure(options)
    if not kept:
        path.write_text(json.dumps(records, indent=1) + "\n")
    if (options.ranks or options.ranks_only) and not options.draw_only:
        (options.out / "ranks.json").write_text(json.dumps(measure_ranks(options), indent=1) + "\n")
    if options.zoltan and not options.draw_only:
        beside = measure_zoltan(options, records[0]["provenance"])
        (options.out / "zoltan.json").write_text(json.dumps(beside, indent=1) + "\n")
    gpu = json.loads(options.gpu.read_text()) if options.gpu else None
    draw(records, gpu, options.out / "orb.svg")


if __name__ == "__main__":
    main()
