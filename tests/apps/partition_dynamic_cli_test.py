#!/usr/bin/env python3
"""`amrbench partition --dynamic` as its user sees it: exit status, output, files, the same rows on any ranks and threads.

usage: partition_dynamic_cli_test.py AMRBENCH MPIEXEC
"""
import csv
import unittest

import program
from partition_case import PartitionCase


class PartitionDynamic(PartitionCase):
    # Times, and room taken by threads.
    VARYING = {"erase_s", "insert_s", "move_s", "adjust_s", "rebuild_s", "cut_s", "updates_per_s", "new_tree_s", "memory_bytes"}

    def dynamic_study(self, name, *more, **how):
        out = self.done("--input", "cluster:3000:3:2", "--method", "gensfc", "--parts", "8", "--splitter", "selection",
                        "--bucket", "16", "--dynamic", "12", "--batch", "0.1", "--shift", "0.05", "--csv", name, *more, **how)
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return out, list(csv.DictReader(file))

    def test_a_row_a_round(self):
        out, rows = self.dynamic_study("a.csv", "--compare", "--cut-every", "4")
        self.assertEqual([row["round"] for row in rows], [str(i) for i in range(13)])
        for row in rows[1:]:
            self.assertEqual((row["erased"], row["inserted"], row["moved"]), ("300", "300", "300"))
            self.assertLessEqual(int(row["depth"]), int(row["depth_bound"]))
            self.assertEqual(float(row["load_mean"]), 375)
            for load in (row["load_max"], row["new_load_max"]):  # a part exceeds the mean by a leaf at most
                self.assertLessEqual(float(load), 375 + 16)
            self.assertEqual(row["edge_cut_max"] != "", int(row["round"]) % 4 == 0)
            self.assertEqual(row["new_edge_cut_max"] != "", int(row["round"]) % 4 == 0)
            self.assertGreater(int(row["moved_weight"]), 0)
        self.assertGreater(sum(int(row["splits"]) for row in rows[1:]), 0)
        self.assertIn("of 12 rounds compared", out)
        self.assertIn("mean of 3 rounds", out)

    def test_json_holds_the_rows_of_the_csv(self):
        _, rows = self.dynamic_study("j.csv", "--json", "j.json", "--compare", "--cut-every", "4")
        record = self.load("j.json")
        self.assertEqual((record["schema"], record["command"]), (1, "partition --dynamic"))
        self.assertEqual(record["input"], {"name": "cluster:3000:3:2", "points": 3000, "dim": 3})
        self.assertEqual((record["options"]["method"], record["options"]["parts"], record["options"]["rounds"]),
                         ("gensfc", 8, 12))
        self.assertEqual(len(record["rows"]), len(rows))
        for line, row in zip(record["rows"], rows):
            self.assertEqual(list(line), list(row))
            for name, value in line.items():
                self.assertEqual(row[name] == "", value is None)
                if value is not None:
                    self.assertEqual(float(row[name]), value)
        self.refused("--input", "uniform:500", "--method", "hilbert", "--parts", "4", "--dynamic", "2", "--json", "j.json",
                     says="j.json: exists")

    def test_picture_shows_the_last_round(self):
        pictures = []
        for ranks in (2, 3):
            self.done("--input", "cluster:2000:2:1", "--method", "hilbert", "--parts", "9", "--splitter", "selection",
                      "--dynamic", "3", "--picture", f"p{ranks}.png", "--pixels", "200", ranks=ranks)
            with open(self.path(f"p{ranks}.png"), "rb") as file:
                pictures.append(file.read())
        self.assertEqual(pictures[0][:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(pictures[0], pictures[1])

    def test_is_the_same_on_any_threads(self):
        kept = []
        for threads in ("1", "3"):
            _, rows = self.dynamic_study(f"t{threads}.csv", "--threads", threads, "--cut-every", "5")
            kept.append([{key: row[key] for key in row if key not in self.VARYING} for row in rows])
        self.assertEqual(kept[0], kept[1])

    def test_over_ranks_a_row_a_round_and_the_same_on_any(self):
        kept = []
        for ranks in (2, 3):
            out, rows = self.dynamic_study(f"r{ranks}.csv", "--compare", "--cut-every", "5", ranks=ranks)
            self.assertEqual([row["round"] for row in rows], [str(i) for i in range(13)])
            for row in rows[1:]:
                self.assertEqual((row["erased"], row["inserted"], row["moved"]), ("300", "300", "300"))
                self.assertLessEqual(int(row["depth"]), int(row["depth_bound"]))
                for load in (row["load_max"], row["new_load_max"]):
                    self.assertLessEqual(float(load), 375 + 16)
            self.assertIn("of 12 rounds compared", out)
            kept.append([{key: row[key] for key in row if key not in self.VARYING} for row in rows])
        self.assertEqual(kept[0], kept[1])

    def test_over_ranks_keeps_the_tree_of_one(self):
        """Nodes and leaves are those of one rank, and along Morton's curve parts are."""
        same = ("erased", "moved", "splits", "merges", "lifts", "rebuilds", "rebuilt_points", "depth", "leaves")
        for method, columns in (("gensfc", same), ("morton", same + ("load_max", "moved_weight"))):
            kept = []
            for ranks in (0, 2):
                self.done("--input", "cluster:3000:3:2", "--method", method, "--parts", "8", "--splitter", "selection", "--bucket", "16",
                          "--dynamic", "12", "--batch", "0.1", "--shift", "0.05", "--csv", "k.csv", "--force", ranks=ranks)
                with open(self.path("k.csv"), newline="", encoding="utf-8") as file:
                    kept.append([[row[name] for name in columns] for row in csv.DictReader(file)][1:])
            self.assertEqual(kept[0], kept[1])

    def test_refuses_what_does_not_go_with_it(self):
        base = ("--input", "uniform:500", "--method", "hilbert", "--parts", "4", "--dynamic", "2")
        self.refused(*base, "--picture", "x.png", says="has 3 dimensions; with --dynamic pictures show 2")
        self.refused(*base, "--picture", "x.png", "--draw", "curve", says="--draw curve does not go with --dynamic")
        self.refused(*base, "--vtk", "x.vtk", says="--vtk does not go with --dynamic")
        self.refused(*base, "--weights", "random:1", says="--weights does not go with --dynamic")
        self.refused(*base, "--splitter", "sampled_median", says="takes midpoint, median or selection")
        self.refused("--input", "uniform:500", "--method", "orb", "--parts", "4", "--dynamic", "2",
                     says="--method must be morton, hilbert or gensfc")
        self.refused("--input", "uniform:500", "--method", "morton", "--parts", "4,5", "--dynamic", "2",
                     says="one part count")
        self.write("w.csv", "x,y,weight\n0,0,1\n1,1,2\n")
        self.refused("--input", "file:w.csv", "--method", "morton", "--parts", "2", "--dynamic", "2", says="has weights")


if __name__ == "__main__":
    program.take_arguments()
    unittest.main()
