#!/usr/bin/env python3
"""`amrbench partition` as its user sees it: exit status, output, files.

usage: partition_cli_test.py AMRBENCH MPIEXEC
"""
import array
import csv
import os
import unittest

import program
from partition_case import PartitionCase, run

COLUMNS = {"method", "parts", "load_max", "load_mean", "degree_max", "edge_cut_max", "edge_cut_total", "comm_volume_max",
           "time_s", "memory_bytes"}


def listed():
    """Names of the partitioners of this build, by `amrbench list`."""
    text = run("list")[1]
    section = text[text.index("Partitioners"):].splitlines()[1:]
    return [line.split()[0] for line in section if line.startswith("  ")]


class Partition(PartitionCase):
    def test_record(self):
        out = self.done("--input", "grid:20x10x15:7", "--method", "linear", "--parts", "10,24", "--json", "a.json",
                        "--csv", "a.csv", "--repetitions", "3", "--nodes", "5", "--threads", "2")
        self.assertEqual(len(out.splitlines()), 3)
        record = self.load("a.json")
        self.assertEqual(record["schema"], 1)
        self.assertEqual(record["input"], {"name": "grid:20x10x15:7", "points": 3000, "dim": 3, "extent": [20, 10, 15],
                                           "stencil": 7, "edges": 19 * 150 + 9 * 300 + 14 * 200, "weights": "unit"})
        self.assertEqual(record["options"]["threads"], 2)
        self.assertEqual((record["options"]["side_tolerance"], record["options"]["dim"]), (0.14, None))
        for name in ("commit", "compiler", "flags", "cpu", "threads", "launch", "time_utc"):
            self.assertIn(name, record["provenance"])
        self.assertEqual([row["parts"] for row in record["rows"]], [10, 24])
        for row in record["rows"]:
            self.assertLessEqual(COLUMNS, set(row))
            self.assertEqual(row["repetitions"], 3)
        # 10 slabs of one plane and a half of 20 x 10 cells.
        row = record["rows"][0]
        self.assertEqual((row["load_max"], row["load_mean"], row["nodes"]), (300, 300, 5))
        # 5 nodes of three planes each: 200 edges to either side.
        self.assertEqual((row["node_edge_cut_max"], row["node_edge_cut_total"], row["node_degree_max"]), (400, 800, 2))
        with open(self.path("a.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["parts"] for r in rows], ["10", "24"])
        self.assertEqual(set(rows[0]), set(record["rows"][0]))
        self.assertEqual(int(rows[1]["edge_cut_max"]), record["rows"][1]["edge_cut_max"])

    def test_every_method(self):
        names = listed()
        self.assertIn("linear", names)
        self.done("--input", "grid:24x24:9", "--method", ",".join(names), "--parts", "9", "--json", "all.json")
        record = self.load("all.json")
        self.assertEqual([row["method"] for row in record["rows"]], names)
        for row in record["rows"]:
            self.assertEqual(row["load_mean"], 64)
            self.assertLessEqual(row["load_max"], 68, row["method"])
            self.assertGreater(row["edge_cut_max"], 0)
            self.assertLessEqual(row["edge_cut_max"], 2 * row["edge_cut_total"])

    def test_threads_change_nothing(self):
        texts = []
        for threads in ("1", "2", "3"):
            self.done("--input", "cluster:5000:2:7", "--weights", "random:3", "--method", "linear", "--parts", "13",
                      "--threads", threads, "--parts-file", "p" + threads)
            with open(self.path("p" + threads), encoding="utf-8") as file:
                texts.append(file.read())
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertEqual(len(texts[0].splitlines()), 5000)

    def test_exact_slices_are_lighter(self):
        self.write("w.txt", "".join(f"{1 << (k * 7 % 11)}\n" for k in range(300)))
        loads = []
        for rule in ("midpoint", "exact"):
            self.done("--input", "grid:300x1", "--method", "linear", "--parts", "40", "--weights", "w.txt", "--slices", rule,
                      "--json", rule + ".json")
            self.assertEqual(self.load(rule + ".json")["options"]["slices"], rule)
            loads.append(self.load(rule + ".json")["rows"][0]["load_max"])
        self.assertLess(loads[1], loads[0])

    def test_points_without_a_graph_have_loads_only(self):
        self.done("--input", "uniform:1000:3:1", "--method", "linear", "--parts", "8", "--json", "u.json")
        row = self.load("u.json")["rows"][0]
        self.assertEqual((row["load_max"], row["load_mean"]), (125, 125))
        for name in ("degree_max", "edge_cut_max", "edge_cut_total", "comm_volume_max"):
            self.assertIsNone(row[name])

    def test_files(self):
        points = array.array("d", [float(k) for k in range(12)])
        self.write("p.bin", points.tobytes())
        self.write("p.csv", "x,y,weight\n0,0,1\n1,0,2\n2,0,3\n3,0,6\n")
        self.write("path.graph", "4 3\n2\n1 3\n2 4\n3\n")
        self.done("--input", "file:p.bin:3", "--method", "linear", "--parts", "2", "--json", "1.json")
        self.assertEqual(self.load("1.json")["rows"][0]["load_max"], 2)
        self.done("--input", "file:p.csv", "--graph", "path.graph", "--method", "linear", "--parts", "2", "--json", "2.json")
        row = self.load("2.json")["rows"][0]
        self.assertEqual((row["load_max"], row["load_mean"], row["edge_cut_total"]), (6, 6, 1))
        self.done("--input", "file:path.graph", "--method", "linear", "--parts", "4", "--json", "3.json")
        row = self.load("3.json")["rows"][0]
        self.assertEqual((row["edge_cut_max"], row["edge_cut_total"], row["comm_volume_max"], row["degree_max"]), (2, 3, 2, 2))

    def test_previous_parts(self):
        self.done("--input", "grid:10x10:5", "--method", "linear", "--parts", "4", "--parts-file", "before")
        self.done("--input", "grid:10x10:5", "--method", "linear", "--parts", "4,5", "--previous", "before", "--json", "m.json")
        self.assertEqual([row["moved_weight"] for row in self.load("m.json")["rows"]], [0, 50])
        self.refused("--input", "grid:10x11:5", "--method", "linear", "--parts", "4", "--previous", "before",
                     says="100 parts for 110 points")

    def test_pictures(self):
        self.done("--input", "grid:30x20:5", "--method", "linear", "--parts", "6", "--vtk", "a.vtk", "--picture", "a.png")
        with open(self.path("a.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        with open(self.path("a.vtk"), "rb") as file:
            self.assertTrue(file.read().startswith(b"# vtk DataFile Version 3.0\n"))
        self.done("--input", "uniform:100:3:5", "--method", "linear", "--parts", "6", "--vtk", "b.vtk", "--draw", "curve")
        self.refused("--input", "uniform:100:3:5", "--method", "linear", "--parts", "6", "--picture", "b.png",
                     says="has 3 dimensions; pictures show 2")
        self.refused("--input", "grid:4x4", "--method", "linear", "--parts", "2,3", "--picture", "c.png",
                     says="--picture shows one partition")
        self.assertFalse(os.path.exists(self.path("b.png")))

    def test_meshes(self):
        self.done("--input", "sphere:4", "--method", "gensfc,kd_parts", "--parts", "8,13", "--chart", "hemispheres",
                  "--json", "s.json")
        record = self.load("s.json")
        self.assertEqual(record["options"]["chart"], "hemispheres")
        self.assertEqual(record["input"]["edges"], 7680)
        for row in record["rows"]:
            self.assertLessEqual(row["load_max"] - row["load_min"], 2)
            self.assertGreater(row["edge_cut_max"], 0)
        self.done("--input", "sphere:4", "--method", "gensfc,kd_compact", "--parts", "7,24", "--chart", "conformal",
                  "--splitter", "compact_parts", "--json", "c.json")
        rows = self.load("c.json")["rows"]
        for curve, tree in zip(rows[:2], rows[2:]):
            for column in ("parts", "load_max", "edge_cut_max", "edge_cut_total", "degree_max"):
                self.assertEqual(curve[column], tree[column])
        self.done("--input", "sphere:4", "--method", "kd_parts", "--parts", "8", "--picture", "s.png")
        self.done("--input", "tetrahedra:300", "--method", "gensfc", "--parts", "4", "--json", "t.json")
        self.assertIsNotNone(self.load("t.json")["rows"][0]["edge_cut_max"])
        self.refused("--input", "grid:4x4", "--method", "gensfc", "--parts", "2", "--chart", "hemispheres",
                     says="points of 2 dimensions")
        self.refused("--input", "sphere:2", "--method", "gensfc", "--parts", "2", "--splitter", "part",
                     says="octree, parts, compact_parts, or TOP:LEVELS:BELOW")
        self.refused("--input", "uniform:9", "--method", "gensfc", "--parts", "2", "--chart", "hemispheres",
                     says="all must lie on one sphere")
        self.refused("--input", "sphere:2", "--method", "gensfc", "--parts", "2", "--chart", "mercator",
                     says="--chart mercator: must be none, hemispheres or conformal")
        self.refused("--input", "tetrahedra:300", "--method", "gensfc", "--parts", "4", "--picture", "t.png",
                     says="has 3 dimensions")

    def test_nothing_is_overwritten_without_force(self):
        args = ["--input", "grid:4x4", "--method", "linear", "--parts", "2"]
        self.write("mine.json", "mine")
        self.refused(*args, "--json", "mine.json", says="mine.json: exists; --force replaces it")
        with open(self.path("mine.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.done(*args, "--json", "mine.json", "--force")
        self.assertEqual(self.load("mine.json")["schema"], 1)
        self.refused(*args, "--csv", "x", "--json", "./x", says="another option writes this file")
        self.refused(*args, "--json", "no/such/x.json", says="there is no folder no/such")
        self.refused(*args, "--json", ".", says="is a folder")

    def test_bad_input(self):
        ok = ["--method", "linear", "--parts", "2"]
        self.refused(says="--input is required")
        self.refused("--input", "grid:4x4", "--parts", "2", says="--method is required")
        self.refused("--input", "grid:4x4", "--method", "linear", says="--parts is required")
        self.refused("--input", "grid:4x4", "--method", "metis_kwya", "--parts", "2", says="method metis_kwya: unknown")
        for parts in ("0", "-3", "1.5", "x", "2,0", "9999999999"):
            self.refused("--input", "grid:4x4", "--method", "linear", "--parts", parts, says="--parts")
        for text in ("grid:4x4:8", "grid:0x4", "uniform:5:3:1:1", "cluster:5:99:1", "plummer:5:4:1", "spheroid:5", "sphere:11",
                     "sphere-adaptive:10", "tetrahedra:3", "file:none.ele"):
            self.refused("--input", text, *ok, says=text.split(":")[0])
        self.refused("--input", "file:none.csv", *ok, says="none.csv: no such file")
        self.refused("--input", "file:none.graph", *ok, says="none.graph: no such file")
        nan = array.array("d", [0, 1, 2, 3, 4, float("nan"), 6, 7, 8])
        self.write("nan.bin", nan.tobytes())
        self.refused("--input", "file:nan.bin:3", *ok, says="coordinate 2 of point 1 is nan")
        self.write("nan.csv", "1,2\ninf,3\n")
        self.refused("--input", "file:nan.csv", *ok, says="nan.csv:2: coordinate 0 of point 1 is inf")
        self.write("w.txt", "1\n-1\n1\n1\n")
        self.refused("--input", "grid:2x2", *ok, "--weights", "w.txt", says="w.txt:2: the weight -1")
        self.refused("--input", "grid:2x3", *ok, "--weights", "random:", says="--weights random:")
        self.refused("--input", "uniform:9:3:1", *ok, "--nodes", "2", says="--nodes measures edges")
        self.refused("--input", "grid:4x4", *ok, "--draw", "lines", says="--draw")
        self.refused("--input", "grid:4x4", *ok, "--threads", "-1", says="--threads")
        self.refused("--input", "grid:4x4", *ok, "--bogus", says="--bogus")
        if "metis_kway" in listed():
            self.refused("--input", "uniform:9:3:1", "--method", "metis_kway", "--parts", "2", says="cuts a graph")
        if "zoltan_rcb" in listed():
            self.write("g.graph", "2 1\n2\n1\n")
            self.refused("--input", "file:g.graph", "--method", "zoltan_rcb", "--parts", "2", says="works on points")
        self.refused("--input", "uniform:5:2:1", "--dim", "3", *ok, says="has 2 dimensions, but --dim is 3")
        if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 2**38:
            self.refused("--input", "uniform:4294967295:16:1", *ok, says="share of the node's memory")
        self.refused("--input", "uniform:4294967296:2:1", *ok, says="at most 2^32 - 1 points")
        self.refused("--input", "file:nan.csv", *ok, ranks=3, says="nan.csv:2: coordinate 0 of point 1 is inf")
        self.refused("--input", "grid:2x2", *ok, "--weights", "w.txt", ranks=2, says="w.txt:2: the weight -1")
        self.refused("--input", "blocks:nan.csv", *ok, ranks=2, says="nan.csv: the first line does not tell the mesh")
        self.refused("--input", "grid:4x4", *ok, "--side-tolerance", "1", says="--side-tolerance")
        self.refused("--input", "grid:4x4", *ok, "--slices", "exat", says="--slices exat: unknown; there are midpoint, exact")
        self.refused("--input", "uniform:9:3:1", *ok, "--splitter", "octre", says="octre: unknown; there are midpoint")
        self.refused("--input", "uniform:9:3:1", "--method", "morton", "--parts", "2", "--splitter", "octree",
                     says="octree needs")
        self.write("h.graph", "2 1\n2\n1\n")
        self.refused("--input", "file:h.graph", "--method", "morton", "--parts", "2", ranks=2, says="works on points")

    def test_over_ranks(self):
        """The same rows, parts and curve on any number of ranks."""
        measures = ("parts", "load_max", "load_min", "degree_max", "edge_cut_max", "edge_cut_total", "pieces_max",
                    "moved_weight", "curve_length", "curve_jumps")
        for method in ("morton", "gensfc", "kd_parts"):
            records, parts = [], []
            for ranks in (1, 2, 3):
                name = f"{method}-{ranks}"
                status, out, err = run("partition", "--input", "grid:20x10x15:7", "--method", method, "--parts", "11",
                                       "--weights", "random:5", "--threads", "1", "--json", name + ".json",
                                       "--parts-file", name + ".txt", ranks=ranks, cwd=self.folder)
                # A heading, a row, and the seconds of its stages where there are several ranks.
                self.assertEqual((status, len(out.splitlines())), (0, 2 if ranks == 1 else 3), err)
                records.append(self.load(name + ".json"))
                with open(self.path(name + ".txt"), encoding="utf-8") as file:
                    parts.append(file.read())
                self.assertEqual(records[-1]["provenance"]["ranks"], ranks)
                self.assertEqual(parts[-1], parts[0])
                for measure in measures:
                    self.assertEqual(records[-1]["rows"][0][measure], records[0]["rows"][0][measure], (name, measure))

    def test_refinement(self):
        """Cuts before and after; never worse; the same over ranks and threads."""
        seen = []
        for ranks, threads in ((0, "1"), (0, "2"), (3, "1")):
            words = ("--input", "grid:24x18x10:7", "--method", "morton", "--parts", "11", "--refine", "4", "--force",
                     "--json", "r.json", "--parts-file", "r.txt", "--threads", threads, "--refine-tolerance", "0.02")
            status, _, err = run("partition", *words, ranks=ranks, cwd=self.folder)
            self.assertEqual(status, 0, err)
            record = self.load("r.json")
            self.assertEqual([record["options"][k] for k in ("refine", "refine_goal", "refine_tolerance")], [4, "cut", 0.02])
            row = record["rows"][0]
            self.assertGreater(row["refine_moves"], 0)
            self.assertLess(row["edge_cut_total"], row["unrefined_edge_cut_total"])
            self.assertLessEqual(row["edge_cut_max"], row["unrefined_edge_cut_max"])
            self.assertLessEqual(row["load_max"], 1.02 * row["load_mean"] + 1)
            self.assertIsNone(row["unrefined_comm_volume_max"])
            with open(self.path("r.txt"), encoding="utf-8") as file:
                seen.append((file.read(), row["edge_cut_max"], row["edge_cut_total"], row["refine_moves"]))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])
        self.done("--input", "grid:24x18x10:7", "--method", "linear", "--parts", "5", "--refine", "2", "--refine-goal",
                  "volume", "--json", "v.json")
        row = self.load("v.json")["rows"][0]
        self.assertLessEqual(row["comm_volume_max"], row["unrefined_comm_volume_max"])
        self.assertLessEqual(row["comm_volume_total"], row["unrefined_comm_volume_total"])
        self.refused("--input", "uniform:90:3:1", "--method", "linear", "--parts", "3", "--refine", "1",
                     says="--refine lowers cuts of a graph")
        self.refused("--input", "grid:4x4", "--method", "linear", "--parts", "3", "--refine", "1", "--refine-goal", "all",
                     says="--refine-goal")

    def test_parts_in_two_levels(self):
        methods = [name for name in ("kd_parts", "linear", "metis_kway", "scotch_map") if name in listed()]
        self.done("--input", "grid:24x18x10:7", "--method", ",".join(methods), "--parts", "6x4,24", "--json", "t.json")
        rows = self.load("t.json")["rows"]
        self.assertEqual(len(rows), 2 * len(methods))
        for row, flat in zip(rows[::2], rows[1::2]):
            self.assertEqual((row["parts"], row["nodes"], row["empty_parts"]), (24, 6, 0), row["method"])
            self.assertIsNone(flat["nodes"])
            self.assertGreater(row["edge_cut_total"], row["node_edge_cut_total"])
        seen = []
        for ranks in (0, 3):
            words = ("--input", "grid:24x18x10:7", "--method", "kd_parts", "--parts", "5x3", "--refine", "3", "--force",
                     "--json", "n.json", "--parts-file", "n.txt", "--refine-tolerance", "0.03")
            status, _, err = run("partition", *words, ranks=ranks, cwd=self.folder)
            self.assertEqual(status, 0, err)
            self.assertEqual(ranks > 1, "all points are gathered on rank 0" in err, err)
            with open(self.path("n.txt"), encoding="utf-8") as file:
                seen.append((file.read(), self.load("n.json")["rows"][0]["node_edge_cut_total"]))
        self.assertEqual(seen[0], seen[1])
        # Methods that work on ranks do both levels there, with the parts and the curve of one rank.
        for name in ("kd_parts", "hilbert", "linear", "orb"):
            seen = []
            for ranks in (0, 2, 3):
                words = ("--input", "grid:24x18x10:7", "--method", name, "--parts", "5x3", "--force", "--json", "n.json",
                         "--parts-file", "n.txt", "--weights", "random:4")
                status, _, err = run("partition", *words, ranks=ranks, cwd=self.folder)
                self.assertEqual((status, "gathered" in err), (0, False), err)
                with open(self.path("n.txt"), encoding="utf-8") as file:
                    row = self.load("n.json")["rows"][0]
                    seen.append((file.read(), row["node_edge_cut_total"], round(row["curve_length"], 6)))
            self.assertEqual(seen[1:], seen[:1] * 2, name)
        ok = ("--input", "grid:24x18x10:7", "--method", "linear")
        self.refused(*ok, "--parts", "6x4", "--nodes", "5", says="--nodes 5: --parts 6x4 has 6 nodes")
        for wrong in ("6x", "x4", "6x4x2", "6x0", "40000x40000"):
            self.refused(*ok, "--parts", wrong, says="--parts")

    def test_stages_and_messages_over_ranks(self):
        """Stages stand where a tree is built over ranks; shorter messages take more rounds and give the same parts."""
        names = ("top_nodes_s", "balancing_s", "transfer_s", "subtrees_s", "traversal_s", "return_s", "transfer_rounds")
        seen = {}
        for ranks, size in ((0, 1 << 20), (2, 1 << 20), (2, 4096), (3, 64)):
            words = ("--input", "uniform:4000:3:2", "--method", "hilbert", "--parts", "7", "--force", "--json", "s.json",
                     "--parts-file", "s.txt", "--message-bytes", str(size), "--repetitions", "3")
            status, out, err = run("partition", *words, ranks=ranks, cwd=self.folder)
            self.assertEqual(status, 0, err)
            record = self.load("s.json")
            row = record["rows"][0]
            self.assertEqual(record["options"]["message_bytes"], size)
            with open(self.path("s.txt"), encoding="utf-8") as file:
                seen[ranks, size] = (file.read(), row["transfer_rounds"])
            self.assertEqual([row[name] is None for name in names], [ranks == 0] * len(names))
            self.assertEqual("top nodes" in out, ranks > 0)
            if ranks > 0:
                self.assertLess(sum(row[name] for name in names[:-1]), 6 * row["time_max_s"])
        self.assertEqual(len({parts for parts, _ in seen.values()}), 1)
        self.assertEqual(seen[2, 1 << 20][1], 1)
        self.assertGreater(seen[2, 4096][1], 5)
        self.refused("--input", "grid:4x4", "--method", "linear", "--parts", "3", "--message-bytes", "0",
                     says="--message-bytes")

    def test_costs_of_a_model(self):
        self.write("m.toml", "update_s = 2.0\nlatency_s = 100.0\nbyte_s = 3.0\n")
        words = ("--input", "grid:8x1:5", "--method", "linear", "--parts", "4")
        self.done(*words, "--machine", "m.toml", "--edge-bytes", "5", "--phases", "4,2,3", "--json", "c.json")
        row = self.load("c.json")["rows"][0]  # 2 cells a part, 2 neighbours across an edge each
        self.assertEqual([row[f"model_{name}_s"] for name in ("comp", "comm", "bsp", "overlap", "total")],
                         [4.0, 230.0, 476.0, 690.0, 1166.0])
        self.assertIsNone(row["model_threads_s"])
        self.done(*words, "--json", "d.json")
        self.assertIsNone(self.load("d.json")["rows"][0]["model_comp_s"])
        self.write("t.toml", "update_s = 2.0\ncache_bytes = 8\n")
        self.done(*words, "--machine", "t.toml", "--thread-costs", "2,7,10,3,0.5", "--json", "t.json")
        # 1 cell a thread, 7 bytes in a share of 4: two fills; 3 waits of 2 threads
        self.assertEqual(self.load("t.json")["rows"][0]["model_threads_s"], 2 + 2 * 10 + 3 * 2 * 0.5)
        self.refused(*words, "--thread-costs", "2,7,10,3,0.5", says="give --machine FILE")
        self.refused(*words, "--machine", "m.toml", "--thread-costs", "2,7,10,3,0.5", says="needs its cache_bytes")
        self.refused(*words, "--machine", "t.toml", "--thread-costs", "0,7,10,3,0.5", says="must be an integer from 1")
        self.refused("--input", "uniform:9:2:1", "--method", "linear", "--parts", "3", "--machine", "m.toml",
                     says="--machine models what edges")
        self.refused(*words, "--machine", "none.toml", says="none.toml")
        self.refused(*words, "--machine", "m.toml", "--phases", "1,2", says="--phases")

    def test_methods_of_one_rank_over_ranks(self):
        """Their points are gathered, which a note says; parts and measures are those of one rank."""
        self.write("p.csv", "# points\nweight x y\n" + "".join(f"{k % 4 + 1} {k * 7 % 31} {k * k % 29}\n" for k in range(301)))
        self.write("path.graph", "6 5\n2\n1 3\n2 4\n3 5\n4 6\n5\n")
        cases = [("linear", "grid:12x9"), ("linear", "file:p.csv"), ("linear", "file:path.graph"),
                 ("hilbert --splitter sampled_median", "file:p.csv")]
        cases += [(name, "grid:12x9") for name in ("metis_kway", "scotch", "zoltan_rcb") if name in listed()]
        for method, text in cases:
            with self.subTest(method=method, text=text):
                seen = []
                for ranks in (1, 2, 3):
                    words = ("--input", text, "--method", *method.split(), "--parts", "5", "--force", "--json", "g.json",
                             "--parts-file", "g.txt")
                    status, _, err = run("partition", *words, ranks=ranks, cwd=self.folder)
                    self.assertEqual(status, 0, err)
                    if method != "linear":
                        self.assertEqual(ranks > 1, "all points are gathered on rank 0" in err, err)
                    row = self.load("g.json")["rows"][0]
                    with open(self.path("g.txt"), encoding="utf-8") as file:
                        seen.append((file.read(), [row[name] for name in ("load_max", "load_mean", "load_min",
                                                                           "edge_cut_total", "pieces_max")]))
                self.assertEqual(seen[1], seen[0])
                self.assertEqual(seen[2], seen[0])

    def test_every_rank_takes_its_own_stretch(self):
        """Files, weights, previous parts and pictures over ranks are those of one rank."""
        self.write("p.csv", "x,Weight,y\n" + "".join(f"{k * 7 % 31},{k % 4 + 1},{k * k % 29}\n" for k in range(301)))
        self.write("w.txt", "".join(f"{k % 5}\n" for k in range(301)))
        self.write("before", "".join(f"{k % 3}\n" for k in range(301)))
        for more in ((), ("--weights", "w.txt"), ("--weights", "random:2", "--previous", "before")):
            seen = []
            for ranks in (1, 2, 3):
                status, _, err = run("partition", "--input", "file:p.csv", "--method", "kd_parts", "--parts", "7", "--force",
                                     "--json", "s.json", "--vtk", "s.vtk", "--parts-file", "s.txt", *more, ranks=ranks,
                                     cwd=self.folder)
                self.assertEqual((status, err), (0, ""))
                row = self.load("s.json")["rows"][0]
                with open(self.path("s.vtk"), "rb") as picture, open(self.path("s.txt"), "rb") as parts:
                    seen.append((picture.read(), parts.read(), [row[name] for name in (
                        "load_max", "load_mean", "load_min", "empty_parts", "moved_weight", "curve_length")]))
            self.assertEqual(seen[1], seen[0])
            self.assertEqual(seen[2], seen[0])

    def test_help(self):
        status, out, err = run("partition", "--help")
        self.assertEqual((status, err), (0, ""))
        for flag in ("--input", "--method", "--parts", "--weights", "--previous", "--nodes", "--refine", "--json", "--csv", "--picture",
                     "--vtk", "--threads", "--repetitions", "--splitter", "--bucket", "--force", "--dim", "--side-tolerance", "--slices",
                     "--dynamic"):
            self.assertIn(flag, out)


if __name__ == "__main__":
    program.take_arguments()
    unittest.main()
