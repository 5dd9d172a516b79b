"""Tables 2.1 to 2.13 of A. Sasidharan's dissertation (2018), on building trees and sorting, beside records of ours.

`scripts/partition_tables.py --trees` calls this. It runs nothing: it reads google benchmark's JSON of bench/kd_tree_bench,
the lines of bench/sort_bench, and records of `amrbench partition` over ranks, as they lie in results/reference.
"""
import json
import os
import re

# (threads, seconds of the top nodes, seconds of the rest), KNL nodes of Stampede2; leaves of 32 points, of 128 for 100m.
STATIC = {
    "2.1": ("uniform, midpoint", "midpoint", {
        "1m_3D": [(64, 0.278551, 0.194691), (128, 0.436313, 0.25911), (256, 0.916542, 0.389991)],
        "1m_10D": [(64, 0.45169, 0.209525), (128, 0.800992, 0.266701), (256, 1.71579, 0.415911)],
        "10m_3D": [(64, 0.859855, 2.82839), (128, 0.957406, 3.76726), (256, 1.42395, 2.87436)]}),
    "2.2": ("uniform, exact median", "median", {
        "1m_3D": [(64, 232.826, 0.133796), (128, 233.806, 0.103972), (256, 237.594, 0.116932)],
        "1m_10D": [(64, 690.08, 0.185988), (128, 690.469, 0.219978), (256, 717.584, 0.364945)]}),
    "2.3": ("uniform, approximate median", "sampled_median", {
        "1m_3D": [(64, 94.9519, 0.179216), (128, 111.763, 0.298883), (256, 296.208, 0.358957)],
        "1m_10D": [(64, 111.630, 0.251025), (128, 201.437, 0.395938), (256, 609.889, 0.482809)],
        "10m_3D": [(64, 143.848, 3.28883), (128, 162.102, 3.0292), (256, 356.121, 2.26295)]}),
    "2.4": ("cluster, midpoint", "midpoint_cluster", {
        "10m_3D": [(64, 1.04578, 47.5189), (128, 1.12306, 64.9748), (256, 1.67447, 91.5091)]}),
    "2.5": ("cluster, approximate median", "sampled_median_cluster", {
        "10m_3D": [(64, 142.893, 3.46236), (128, 179.098, 2.94797), (256, 184.944, 3.26594)]}),
    "2.6": ("cluster, median selection", "selection_cluster", {
        "10m_3D": [(64, 1.74959, 4.085286), (128, 1.647036, 2.881918), (256, 2.563302, 2.875)]}),
    "2.9": ("linear tree, cluster, midpoint", "midpoint_cluster", {
        "10m_3D": [(64, 1.190618, 27.34488), (128, 0.865415, 31.8203), (256, 1.534156, 57.12622)]}),
    "2.10": ("linear tree, cluster, median selection", "selection_cluster", {
        "10m_3D": [(64, 2.108454, 1.778088), (128, 2.121596, 0.8367502), (256, 5.654932, 0.5720838)]}),
}
POINTS = {"1m": 1_000_000, "10m": 10_000_000}
# 10^9 uniform points in 3-D: ranks, threads a rank, seconds of each stage.
STAGES = [(16, 64, 9.63115, 0.000856329, 3.986062, 61.9971158), (100, 64, 1.983095, 0.001199494, 0.9691276, 2.813082),
          (16, 128, 6.174555, 0.001240974, 6.510466, 48.8319268), (100, 128, 2.7942025, 0.001428744, 2.227704, 2.7292164),
          (256, 64, 1.696865, 0.001835986, 6.03519, 1.8342938), (256, 256, 2.5727175, 0.003032592, 6.224126, 2.286735)]
COLUMNS = ("top_nodes_s", "balancing_s", "transfer_s", "subtrees_s", "traversal_s", "return_s")
# Parallel quicksort: points, (threads, seconds of the top, seconds of the rest). Its rows of 10^6 stand there twice.
SORT = {10_000_000: [(64, 0.9890994, 21.646294), (128, 0.8240288, 21.078394), (256, 0.9782016, 39.97772)]}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fastest(rows):
    return min(((top + rest, threads) for threads, top, rest in rows))


def static(folder):
    times = {}
    for run in json.loads(read(os.path.join(folder, "cpu-2cores/partition/kd_tree_bench.json")))["benchmarks"]:
        times[run["name"]] = run["real_time"] * {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9}[run["time_unit"]]
    lines = ["## Trees on one machine (2.1 to 2.6, 2.9, 2.10)", "",
             "Seconds. The text's is its fastest thread count on one KNL node, top nodes and the rest together; ours 2 cores, leaves of",
             "at most 32 points. Ours is breadth first in any case, as the text's linear tree. The text's clusters are Poisson's, ours",
             "uniform in a corner.", "", "| table | points | text, threads | text | ours, 1 thread | ours, 2 threads |", "|---|---|--:|--:|--:|--:|"]
    for table, (what, splitter, sizes) in STATIC.items():
        for size, rows in sizes.items():
            count, dim = size.split("_")
            seconds, threads = fastest(rows)
            name = f"build_double/{splitter}/n:{POINTS[count]}/dim:{dim[:-1]}/bucket:32/threads:{{}}/real_time"
            ours = [f"{times[name.format(t)]:.3g}" if name.format(t) in times else "" for t in (1, 2)]
            lines.append(f"| {table} {what} | {size} | {threads} | {seconds:.3g} | {ours[0]} | {ours[1]} |")
    return lines


def stages(paths):
    lines = ["## By stage, over ranks (2.12)", "",
             "Seconds, slowest rank of each stage. The text has 10^9 uniform points and its top stage stops at 256 nodes; `subtrees` of the",
             "text hold all that is local. Ours walks a curve and returns each point's place and part besides.", "",
             "| | points | ranks x threads | message bytes | rounds | " + " | ".join(c[:-2].replace("_", " ") for c in COLUMNS) + " | whole |",
             "|---|--:|--:|--:|--:|" + "--:|" * (len(COLUMNS) + 1)]
    for ranks, threads, *seconds in STAGES:
        lines.append(f"| text | 10^9 | {ranks} x {threads} | 10000 a thread | | " + " | ".join(f"{s:.3g}" for s in seconds) +
                     f" | | | {sum(seconds):.3g} |")
    for path in paths:
        record = json.loads(read(path))
        ranks, threads = record["provenance"]["ranks"], record["options"]["threads"]
        for row in record["rows"]:
            known = [row.get(c) for c in COLUMNS]
            if None in known:
                continue
            lines.append(f"| {row['method']} | {record['input']['points']} | {ranks} x {threads} | {record['options']['message_bytes']} | "
                         f"{row['transfer_rounds']} | " + " | ".join(f"{s:.3g}" for s in known) + f" | {row['time_s']:.3g} |")
    return lines


def sorting(folder):
    lines = ["## Sorting (2.13)", "", "Seconds for 10^7 keys. Ours: pairs of a double's bits and an index (`results/reference/h200/sort_host.txt`), 2 threads;",
             "the text's parallel quicksort, its fastest thread count on one KNL node.", "", "| keys | text, threads | text | radix sort | block_indirect_sort |",
             "|--:|--:|--:|--:|--:|"]
    text = read(os.path.join(folder, "h200/sort_host.txt"))
    for count, rows in SORT.items():
        seconds, threads = fastest(rows)
        ours = []
        for name in ("radix_sort", "block_indirect_sort"):
            found = re.search(rf"^{name}/n:{count}/threads:2/keys:1\s+([0-9.]+) ms", text, re.MULTILINE)
            ours.append(f"{float(found.group(1)) / 1e3:.3g}" if found else "")
        lines.append(f"| {count} | {threads} | {seconds:.3g} | {ours[0]} | {ours[1]} |")
    return lines


def markdown(folder, stage_records):
    """All tables. folder: results/reference; stage_records: JSON records of `amrbench partition` over ranks."""
    head = ["Tables of chapter 2 of A. Sasidharan's dissertation (2018) beside ours; made by scripts/partition_tables.py --trees.",
            "The machines differ, so ratios say little; the shapes of the tables do. Of 2.11 (trees that change) ours are in",
            "`dynamic_tree.txt` and `dynamic_ranks.txt`: the text's times are of 1000 iterations whose batches it does not tell.", ""]
    return "\n".join(head + static(folder) + [""] + stages(stage_records) + [""] + sorting(folder)) + "\n"
