"""Tables 2.1 to 2.13, 4.11 and 4.13 of A. Sasidharan's dissertation (2018), on building trees, walking them, trees that
change and sorting, beside records of ours.

`scripts/partition_tables.py --trees` calls this. It runs nothing: it reads google benchmark's JSON of bench/kd_tree_bench
and bench/traversal_bench, the lines of bench/sort_bench, and records of `amrbench partition` over ranks and with
--dynamic, as they lie in results/reference.
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


# 8 * 10^9 points, leaves of 200: ranks, threads a rank, seconds of the top nodes, balancing and transfer, subtrees, the curve.
CURVE_STAGES = [(32, 64, 13.5496, 18.3857, 815.362, 277.092), (100, 64, 4.942162, 9.04777, 131.481, 5.76071),
                (256, 64, 2.785552, 26.79584, 36.38254, 0.38015788), (32, 128, 23.155, 27.7989, 616.395, 129.759),
                (256, 128, 5.237004, 34.56682, 19.73738, 0.50309744), (32, 256, 16.358, 53.4606, 236.004, 59.9075),
                (256, 256, 3.862756, 36.50002, 11.40896, 0.219206)]
# Midpoints, uniform points in 3-D: {threads: (seconds of the top nodes, of the rest, of both)}, means of runs, and ours by
# name: points, leaves.
SCALING = {
    "2.7": (100_000_000, 128, {8: (28.21122, 151.9588, 183.653025), 16: (17.3582, 107.08134, 120.130375),
                               32: (22.07462, 82.28648, 104.825325), 64: (9.758814, 71.98786, 79.758045),
                               128: (6.212152, 35.40592, 42.642715), 256: (4.53673, 27.07604, 31.715255)}),
    "2.8": (10_000_000, 32, {8: (2.829174, 12.009516, 14.83869), 16: (1.80409, 9.56192, 11.36601),
                             32: (2.307998, 6.024164, 8.332162), 64: (1.232224, 4.73545, 5.830922),
                             128: (1.027945, 3.049212, 4.077157), 256: (1.483622, 3.626692, 5.110314)}),
}
# 10^7 points, leaves of 32: {threads: (seconds of the tree, of the walk along GenSFC)}.
CURVE = {8: (8.05007, 0.25999), 16: (8.08956, 0.14347), 32: (4.71578, 0.0935593), 64: (2.48088, 0.148985),
         128: (1.58521, 0.105974), 256: (2.86065, 0.11795)}
# Trees that change, midpoints, uniform points: (points, dimensions, leaves, threads, seconds of building, adding, deleting,
# adjusting).
CHANGING = [(1_000_000, 3, 32, 64, 1.0326, 0.25673, 0.901217, 3.9307441), (1_000_000, 3, 32, 128, 1.60241, 1.39667, 0.185382, 0.714679),
            (1_000_000, 10, 32, 64, 3.35145, 1.13261, 0.230857, 0.850745), (1_000_000, 10, 32, 128, 3.97817, 1.32123, 0.162733, 0.71896),
            (10_000_000, 3, 100, 64, 24.6541, 15.1704, 3.61651, 16.9726), (10_000_000, 3, 100, 128, 20.3154, 17.6134, 2.22621, 15.591),
            (10_000_000, 10, 100, 64, 52.9961, 15.7457, 4.19934, 18.4795), (10_000_000, 10, 100, 128, 58.2669, 20.1613, 2.85784, 14.8437)]
UNIT = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def fastest(rows):
    return min(((top + rest, threads) for threads, top, rest in rows))


def bench_times(folder, *names):
    """{name: seconds} of google benchmark's records; of repetitions the median."""
    times = {}
    for name in names:
        for run in json.loads(read(os.path.join(folder, "cpu-2cores/partition", name)))["benchmarks"]:
            if run.get("aggregate_name", "median") == "median":
                times[run.get("run_name", run["name"])] = run["real_time"] * UNIT[run["time_unit"]]
    return times


def static(folder):
    times = bench_times(folder, "kd_tree_bench.json")
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


def scaling(folder):
    """Building with more and more threads."""
    times = bench_times(folder, "kd_tree_bench.json", "kd_tree_scaling.json")
    lines = ["## More threads (2.7, 2.8)", "",
             "Seconds of building a tree of uniform points in 3-D at midpoints, and how many times the first row's speed. The text's on one KNL",
             "node (68 cores), ours on 2 cores, one call each; the one with one thread touches its memory first.", "",
             "| table | points | leaves of | | threads | top nodes | rest | whole | speed |", "|---|--:|--:|---|--:|--:|--:|--:|--:|"]
    for table, (points, bucket, rows) in SCALING.items():
        first = rows[min(rows)][2]
        for threads, (top, rest, whole) in rows.items():
            lines.append(f"| {table} | {points} | {bucket} | text | {threads} | {top:.3g} | {rest:.3g} | {whole:.3g} | {first / whole:.3g} |")
        name = f"build_double/midpoint/n:{points}/dim:3/bucket:{bucket}/threads:{{}}/real_time"
        ours = {t: times[name.format(t)] for t in (1, 2) if name.format(t) in times}
        for threads, whole in ours.items():
            lines.append(f"| {table} | {points} | {bucket} | ours | {threads} | | | {whole:.3g} | {ours[1] / whole:.3g} |")
    return lines


def walking(folder):
    """The curve beside the tree."""
    trees, walks = bench_times(folder, "kd_tree_bench.json"), bench_times(folder, "traversal_bench.json")
    lines = ["## Curves through trees (4.11)", "",
             "Seconds for 10^7 uniform points in 3-D, leaves of at most 32, midpoints and GenSFC, and the walk as a share of both.", "",
             "| | threads | tree | walk | walk / both |", "|---|--:|--:|--:|--:|"]
    for threads, (tree, walk) in CURVE.items():
        lines.append(f"| text | {threads} | {tree:.3g} | {walk:.3g} | {walk / (tree + walk):.2g} |")
    for threads in (1, 2):
        tree = trees[f"build_double/midpoint/n:10000000/dim:3/bucket:32/threads:{threads}/real_time"]
        walk = walks[f"traverse/gensfc/n:10000000/dim:3/bucket:32/threads:{threads}/real_time"]
        lines.append(f"| ours | {threads} | {tree:.3g} | {walk:.3g} | {walk / (tree + walk):.2g} |")
    return lines


def changing(folder):
    """Trees whose points come and go."""
    lines = ["## Trees that change (2.11)", "",
             "Seconds, uniform points, midpoints. The text adds and takes points every 100 of 1000 iterations and adjusts every 500; how many it",
             "does not tell. Ours, 2 threads: ten rounds, each of which takes 1 % of the points away, puts as many in, and adjusts; besides it moves",
             "1 %, which the text does not. Sums of the ten. Ours has no row of 10^7 points in 10-D.", "",
             "| | points | dimensions | leaves of | threads | building | adding | deleting | adjusting | adding / building | adjusting / building |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]

    def line(who, points, dim, bucket, threads, build, add, delete, adjust):
        return (f"| {who} | {points} | {dim} | {bucket} | {threads} | {build:.3g} | {add:.3g} | {delete:.3g} | {adjust:.3g} | "
                f"{add / build:.2g} | {adjust / build:.2g} |")

    for row in CHANGING:
        lines.append(line("text", *row))
    for name in ("dynamic_1m_3d", "dynamic_1m_10d", "dynamic_10m_3d"):
        record = json.loads(read(os.path.join(folder, f"cpu-2cores/partition/{name}.json")))
        first, *rounds = record["rows"]
        sums = [sum(row[f"{what}_s"] for row in rounds) for what in ("insert", "erase", "adjust")]
        lines.append(line("ours", record["input"]["points"], record["input"]["dim"], record["options"]["bucket"],
                          record["options"]["threads"], first["insert_s"] + first["adjust_s"], *sums))
    return lines


def curve_stages(folder):
    """The stages of a curve over ranks."""
    lines = ["## Curves over ranks (4.13)", "",
             "Seconds of the slowest rank. The text has 8 * 10^9 points, ours 8 * 10^6; leaves of at most 200, midpoints, GenSFC.",
             "`moving` holds balancing; ours returns places and parts besides.", "",
             "| | points | ranks x threads | top nodes | moving | subtrees | curve | subtrees / all four |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for ranks, threads, *seconds in CURVE_STAGES:
        lines.append(f"| text | 8 * 10^9 | {ranks} x {threads} | " + " | ".join(f"{s:.3g}" for s in seconds) +
                     f" | {seconds[2] / sum(seconds):.2g} |")
    for name in ("curve_2_ranks",):
        path = os.path.join(folder, f"cpu-2cores/partition/{name}.json")
        record = json.loads(read(path))
        row = record["rows"][0]
        seconds = [row["top_nodes_s"], row["balancing_s"] + row["transfer_s"], row["subtrees_s"], row["traversal_s"]]
        lines.append(f"| ours | {record['input']['points']} | {record['provenance']['ranks']} x {record['options']['threads']} | " +
                     " | ".join(f"{s:.3g}" for s in seconds) + f" | {seconds[2] / sum(seconds):.2g} |")
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
    head = ["Tables of A. Sasidharan's dissertation (2018) on trees beside ours; made by scripts/partition_tables.py --trees.",
            "The machines differ, so ratios say little; the shapes of the tables do. Other work ran beside our rows of 2.11, 2.12 and 4.13.", ""]
    tables = [static(folder), scaling(folder), changing(folder), stages(stage_records), sorting(folder), walking(folder),
              curve_stages(folder)]
    return "\n".join(head) + "\n" + "\n\n".join("\n".join(table) for table in tables) + "\n"
