#!/usr/bin/env python3
"""`amrbench trace` and `amrbench replay` as their user sees them, and the Python reader of traces.

usage: replay_cli_test.py AMRBENCH MPIEXEC SOURCE_DIR
"""
import csv
import json
import os
import sys
import tempfile
import unittest

import program
from program import run

SOURCE = ""
COLUMNS = ["ranks", "partition", "slices", "policy", "weights", "machine", "levels", "nodes", "time_s", "stencil_s", "halo_s", "refine_s",
           "balance_s", "migrate_s", "stencil_max_s", "halo_max_s", "rebalances", "blocks_migrated", "bytes_migrated",
           "bytes_migrated_least", "imbalance_mean", "imbalance_max", "degree_max", "edge_cut_max", "comm_bytes_max",
           "node_degree_max", "node_messages_max", "node_edge_cut_max", "node_edge_cut_total", "node_comm_bytes_max",
           "node_comm_bytes_total", "halo_bytes", "node_halo_bytes", "ideal_s", "optimum_s", "optimum_cuts",
           "optimum_exact", "regret"]
CONFIG = """
[mesh]
root = [2, 1, 3]
block = 4
max_level = 3
[fields]
variables = 2
[run]
name = "small"
steps = 9
stages_per_step = 2
refine_every = 2
[[object]]
center = [0.4, 0.5, 0.5]
size = [0.2, 0.2, 0.2]
velocity = [0.03, 0.0, 0.02]
[partition]
method = "hilbert"
"""
WATER = """
[mesh]
dim = 2
root = [4, 4, 1]
block = 8
max_level = 2
frozen = {}
[run]
name = "water"
workload = "shallow_water"
steps = 60
refine_every = 6
[shallow_water]
problem = "walled_dam_break"
refine_above = 0.05
coarsen_below = 0.01
[partition]
method = "slabs"
[balance]
policy = "every"
weights = "workload"
"""


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="amrbench-replay-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.config = self.path("small.toml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG)

    def path(self, name):
        return os.path.join(self.folder, name)

    def trace(self):
        trace = self.path("mesh.trace")
        status, _, err = run("trace", self.config, "-o", trace)
        self.assertEqual((status, err), (0, ""))
        return trace

    def refused(self, *args, says, ranks=0):
        status, out, err = run(*args, ranks=ranks)
        self.assertEqual(status, 2, err)
        self.assertEqual(out, "")
        lines = [line for line in err.splitlines() if line.startswith("amrbench: error: ")]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(says, lines[0])

    def test_run_and_mesh_alone_write_the_same_and_python_reads_it(self):
        trace, out = self.trace(), self.path("out")
        status, _, err = run("run", self.config, "--trace", self.path("run.trace"), "--out", out, "--quiet", ranks=3)
        self.assertEqual(status, 0, err)
        with open(trace, "rb") as a, open(self.path("run.trace"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            totals = json.load(file)["totals"]
        sys.path.insert(0, os.path.join(SOURCE, "scripts"))
        import amrbench_trace
        with open(trace, "rb") as file:
            reader = amrbench_trace.Trace(file)
            self.assertEqual(reader.header["root"], [2, 1, 3])
            sizes = [len(blocks) for _, blocks in reader.meshes()]
        self.assertEqual(sizes[-1], totals["blocks_final"])
        self.assertEqual(max(sizes), totals["blocks_max"])
        self.assertEqual(len(sizes), totals["refine_steps"])

    def test_water_is_traced_with_what_its_blocks_cost(self):
        """Alone and on ranks alike, and replayed as it ran, on a mesh that stays too."""
        names = ["rebalances", "blocks_migrated", "bytes_migrated", "imbalance_mean", "imbalance_max"]
        for frozen in ("false", "true"):
            config, trace, out = (self.path(f"{name}-{frozen}") for name in ("water.toml", "trace", "out"))
            with open(config, "w", encoding="utf-8") as file:
                file.write(WATER.format(frozen))
            status, _, err = run("trace", config, "-o", trace)
            self.assertEqual(status, 0, err)
            status, _, err = run("run", config, "--trace", trace + "-run", "--out", out, "--quiet", ranks=3)
            self.assertEqual(status, 0, err)
            with open(trace, "rb") as a, open(trace + "-run", "rb") as b:
                self.assertEqual(a.read(), b.read())
            with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
                record = json.load(file)
            sys.path.insert(0, os.path.join(SOURCE, "scripts"))
            import amrbench_trace
            with open(trace, "rb") as file:
                reader = amrbench_trace.Trace(file)
                self.assertEqual((reader.header["dim"], reader.header["root"]), (2, [4, 4]))
                for refinement, blocks in reader.meshes():
                    costs = refinement.costs_after if refinement.passes else refinement.costs
                    self.assertEqual(sum(count for count, _ in costs), len(blocks))
                    self.assertEqual({cost for _, cost in costs} | {1.0}, {0.03, 1.0})
            self.assertEqual(len(blocks), record["totals"]["blocks_final"])
            status, _, err = run("replay", trace, "--ranks", "3", "--partition", "slabs", "--policy", "every", "--weights",
                                 "workload", "--json", self.path(f"r-{frozen}.json"))
            self.assertEqual((status, err), (0, ""))
            with open(self.path(f"r-{frozen}.json"), encoding="utf-8") as file:
                row, = json.load(file)["rows"]
            self.assertEqual({name: row[name] for name in names}, {name: record["balance"][name] for name in names})
            self.assertGreater(row["rebalances"], 1)
            self.assertGreaterEqual(row["regret"], -1e-9)
            status, out, err = run("replay", trace, "--ranks", "3", "--partition", "slabs", "--policy", "every", "--export", "lbaf",
                                   self.path(f"data-{frozen}"))
            self.assertEqual((status, err), (0, ""))

    def test_a_run_overwrites_no_trace(self):
        trace, out = self.trace(), self.path("out")
        self.refused("run", self.config, "--trace", trace, "--out", out, says="exists; nothing is overwritten")
        self.refused("run", self.config, "--trace", self.path("no/t"), "--out", out, says="there is no folder")
        self.assertFalse(os.path.exists(out))

    def expect_agreement(self, ranks, case, partition, slices, policy, weights):
        """A run on so many ranks and the replay of its trace; returns what both say."""
        folder = tempfile.mkdtemp(dir=self.folder)
        trace, out, record = (os.path.join(folder, name) for name in ("t", "out", "r.json"))
        settings = case[1:] + [f"partition.method={partition}", f"partition.slices={slices}",
                               f"balance.policy={policy}", f"balance.weights={weights}"]
        status, _, err = run("run", case[0] or self.config, "--quiet", "--trace", trace, "--out", out,
                             *[word for setting in settings for word in ("--set", setting)], ranks=ranks)
        self.assertEqual(status, 0, err)
        status, _, err = run("replay", trace, "--ranks", str(ranks), "--partition", partition, "--slices", slices,
                             "--policy", policy, "--weights", weights, "--no-optimum", "--json", record)
        self.assertEqual((status, err), (0, ""))
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            balance = json.load(file)["balance"]
        with open(record, encoding="utf-8") as file:
            row = json.load(file)["rows"][0]
        names = ["rebalances", "blocks_migrated", "bytes_migrated", "bytes_migrated_least", "imbalance_mean", "imbalance_max"]
        self.assertEqual({name: row[name] for name in names}, {name: balance[name] for name in names})
        return balance

    def test_a_replay_agrees_with_the_run(self):
        """On 2, 8 and 16 ranks of document 001's cases, made small, with AMRBENCH_FULL=1; else one run on 4."""
        strategies = [("hilbert", "midpoint", "every", "uniform"), ("gensfc", "exact", "threshold", "level"),
                      ("orb", "midpoint", "every_n", "level"), ("morton", "midpoint", "every", "level")]
        if not program.FULL:
            self.assertGreater(self.expect_agreement(4, [""], *strategies[0])["blocks_migrated"], 0)
            return
        shape = ["run.stages_per_step=2"]
        cases = [["case_moving_sphere", "mesh.max_level=3", "run.steps=12"], ["case_explosion", "run.steps=40"],
                 ["case_dense_sphere", "mesh.max_level=2", "run.steps=30"]]
        for case in cases:
            config = os.path.join(SOURCE, "configs", case[0] + ".toml")
            for ranks in (2, 8, 16):
                for strategy in strategies:
                    with self.subTest(case=case[0], ranks=ranks, strategy=strategy):
                        balance = self.expect_agreement(ranks, [config, *case[1:], *shape], *strategy)
                        print(case[0], ranks, *strategy, balance["rebalances"], balance["blocks_migrated"],
                              round(balance["imbalance_mean"], 4), file=sys.stderr)

    def test_nodes_of_a_replay_are_those_of_a_run(self):
        """Blocks placed over 2 nodes of 2 ranks: the same traffic between them in the run's record and its replay."""
        names = ["degree_max", "edge_cut_max", "comm_bytes_max", "nodes", "node_degree_max", "node_messages_max",
                 "node_edge_cut_max", "node_edge_cut_total", "node_comm_bytes_max", "node_comm_bytes_total"]
        trace, digests = self.path("run.trace"), set()
        for nodes in (0, 2, -1):
            out = self.path(f"out{nodes}")
            status, _, err = run("run", self.config, "--quiet", "--out", out, "--set", "partition.method=orb", "--set",
                                 f"partition.nodes={nodes}", "--set", "run.steps=2", "--set", "run.refine_every=0",
                                 *(() if os.path.exists(trace) else ("--trace", trace)), ranks=4)
            self.assertEqual(status, 0, err)
            with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
                record = json.load(file)
            self.assertEqual(record["config"]["partition"]["nodes"], nodes)
            digests.add((record["mesh_crc_hex"], tuple(field["checksum_hex"] for field in record["fields"])))
            if nodes == 2:
                # The mesh never changes after the first refinement, so its halo is the largest of any segment.
                status, _, err = run("replay", trace, "--ranks", "4", "--partition", "orb", "--policy", "every", "--nodes",
                                     "2", "--json", self.path("nodes.json"))
                self.assertEqual((status, err), (0, ""))
                with open(self.path("nodes.json"), encoding="utf-8") as file:
                    row, = json.load(file)["rows"]
                self.assertEqual({name: row[name] for name in names}, {name: record["partition"][name] for name in names})
                self.assertEqual((row["levels"], row["nodes"]), (2, 2))
                self.assertGreater(row["node_comm_bytes_total"], 0)
                self.assertLess(row["node_halo_bytes"], row["halo_bytes"])
        self.assertEqual(len(digests), 1)
        for nodes, says in ((3, "partition.nodes = 3: does not divide the 4 ranks"), (8, "more than the 4 ranks"),
                            (-2, "partition.nodes must be")):
            self.refused("run", self.config, "--quiet", "--out", self.path("none"), "--set", f"partition.nodes={nodes}",
                         ranks=4, says=says)
        self.assertFalse(os.path.exists(self.path("none")))
        status, _, err = run("run", self.config, "--out", self.path("keys"), "--set", "partition.nodes=2", ranks=2)
        self.assertEqual(status, 0, err)
        self.assertIn("note: partition.nodes = 2: parts are slices of the keys", err)

    def test_levels_of_a_replay(self):
        trace = self.trace()
        words = ("replay", trace, "--ranks", "12", "--partition", "orb,hilbert", "--policy", "every", "--no-optimum")
        status, _, err = run(*words, "--nodes", "0,-1,3", "--ranks-per-node", "4", "--csv", self.path("n.csv"), "--series",
                             self.path("s.csv"))
        self.assertEqual((status, err), (0, ""))
        with open(self.path("n.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["partition"], row["levels"], row["nodes"]) for row in rows],
                         [(name, levels, "3") for name in ("orb", "hilbert") for levels in "122"])
        for k in (1, 4):  # the machine's nodes are the three that were asked for
            self.assertEqual(rows[k], rows[k + 1])
        one, two = ({name: value for name, value in row.items() if name != "levels"} for row in rows[3:5])
        self.assertEqual(one, two, "slices of keys are as they are without nodes")
        with open(self.path("s.csv"), encoding="utf-8") as file:
            self.assertEqual({row["levels"] for row in csv.DictReader(file)}, {"1", "2"})
        self.refused(*words, "--nodes", "5", says="5 nodes do not divide 12 ranks")
        self.refused(*words, "--nodes", "-1", "--ranks-per-node", "5", says="12 ranks, 5 on a node of the machine")
        self.refused(*words, "--nodes", "-2", says="--nodes")
        self.refused(*words, "--ranks-per-node", "0", says="--ranks-per-node")

    def test_rows_have_their_columns_and_follow_from_the_model(self):
        trace = self.trace()
        status, out, err = run("replay", trace, "--ranks", "3,40", "--partition", "morton,orb", "--policy",
                               "every,never,auto", "--slices", "midpoint,exact", "--machine",
                               os.path.join(SOURCE, "configs", "machines", "stampede-like.toml"), "--json",
                               self.path("r.json"), "--csv", self.path("r.csv"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn("regret", out)
        with open(self.path("r.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        with open(self.path("r.csv"), encoding="utf-8") as file:
            lines = list(csv.reader(file))
        self.assertEqual(lines[0], COLUMNS)
        self.assertEqual(len(lines), len(rows) + 1)
        self.assertEqual(len(rows), 2 * 2 * 2 * 3)
        for row in rows:
            self.assertEqual(list(row), COLUMNS)
            self.assertEqual(row["machine"], "stampede-like")
            parts = sum(row[name] for name in ("stencil_s", "halo_s", "refine_s", "balance_s", "migrate_s"))
            self.assertAlmostEqual(row["time_s"] / parts, 1.0)
            self.assertGreaterEqual(row["regret"], -1e-9)
            self.assertGreaterEqual(row["optimum_s"], row["ideal_s"])
            if row["policy"] == "never" and row["partition"] == "morton":
                self.assertEqual(row["rebalances"], 0)

    def test_export_for_lbaf(self):
        trace, prefix = self.trace(), self.path("data")
        usual = ("replay", trace, "--partition", "hilbert", "--policy", "every")
        status, out, err = run(*usual, "--ranks", "3", "--export", "lbaf", prefix)
        self.assertEqual((status, err), (0, ""))
        ranks = []
        for rank in range(3):
            with open(f"{prefix}.{rank}.json", encoding="utf-8") as file:
                ranks.append(json.load(file))
            self.assertEqual(ranks[-1]["metadata"], {"type": "LBDatafile", "rank": rank})
        self.assertEqual({len(rank["phases"]) for rank in ranks}, {int(out.split()[0])})
        sent = [0, 0, 0]
        for k, phases in enumerate(zip(*(rank["phases"] for rank in ranks))):
            owner = {}
            for rank, phase in enumerate(phases):
                self.assertEqual(phase["id"], k)
                for task in phase["tasks"]:
                    self.assertGreater(task["time"], 0)
                    self.assertIsNone(owner.setdefault(task["entity"]["seq_id"], None))
                    owner[task["entity"]["seq_id"]] = rank
            pairs = {}
            for rank, phase in enumerate(phases):
                for edge in phase["communications"]:
                    a, b = edge["from"]["seq_id"], edge["to"]["seq_id"]
                    self.assertEqual(owner[a], rank)
                    pairs[a, b] = edge["bytes"]
                    sent[rank] += edge["bytes"] if owner[b] != rank else 0
            self.assertEqual({(b, a): size for (a, b), size in pairs.items()}, pairs)  # faces go both ways
        self.assertGreater(min(sent), 0)
        self.refused(*usual, "--ranks", "3", "--export", "lbaf", prefix, says="exists")
        self.refused(*usual, "--ranks", "3,4", "--export", "lbaf", self.path("x"), says="one combination")
        self.refused(*usual, "--ranks", "3", "--export", "csv", self.path("x"), says="unknown format")

    def test_bad_input_is_one_line(self):
        trace = self.trace()
        usual = ("--ranks", "4", "--partition", "hilbert", "--policy", "every")
        self.refused("replay", self.path("none"), *usual, says="no such file")
        self.refused("replay", self.config, *usual, says="is no trace of amrbench")
        self.refused("replay", trace, "--ranks", "0", *usual[2:], says="--ranks")
        self.refused("replay", trace, *usual[:3], "hilbrt", *usual[4:], says="did you mean hilbert?")
        self.refused("replay", trace, *usual[:5], "evry", says="did you mean every?")
        self.refused("replay", trace, *usual, "--weights", "heavy", says="heavy")
        self.refused("replay", trace, *usual, "--slices", "thick", says="thick")
        self.refused("replay", trace, *usual, "--json", self.folder, says="is a folder")
        self.refused("replay", trace, *usual, "--csv", trace, says="another option reads this file")
        self.refused("replay", trace, *usual, ranks=2, says="without mpiexec")
        self.refused("trace", self.config, "-o", trace, says="exists")
        self.refused("trace", self.path("none"), "-o", self.path("t"), says="no such configuration")
        machine = self.path("m.toml")
        for text, says in (("updates_s = 1\n", "did you mean update_s?"), ("update_s = -1\n", "m.toml:1: update_s"),
                           ("update_s = 'x'\n", "a finite number"), ("byte_s = 1e300\n", "from 0 to 1000000"), ("overlap = 1\n", "true or false"),
                           ("ranks_per_node = 0\n", "ranks_per_node"), ("a = [\n", "not TOML")):
            with open(machine, "w", encoding="utf-8") as file:
                file.write(text)
            self.refused("replay", trace, *usual, "--machine", machine, says=says)

    def test_a_cut_off_trace_is_refused(self):
        trace = self.trace()
        with open(trace, "rb") as file:
            data = file.read()
        with open(trace, "wb") as file:
            file.write(data[:-5])
        self.refused("replay", trace, "--ranks", "4", "--partition", "hilbert", "--policy", "every", says="cut off")


if __name__ == "__main__":
    SOURCE, = program.take_arguments(3)
    unittest.main()
