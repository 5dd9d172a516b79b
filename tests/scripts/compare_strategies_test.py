"""scripts/compare_strategies.py on a tiny case: its tables, its figures where matplotlib is there, and bad input.

usage: compare_strategies_test.py AMRBENCH
"""
import csv
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

AMRBENCH = ""
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "compare_strategies.py"
FIGURES = ["times.svg", "regret.svg", "cuts.svg"]
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
POLICIES = ["every", "auto", "never"]
CONFIG = """
[mesh]
root = [2, 2, 2]
block = 4
max_level = 2
[fields]
variables = 1
[run]
name = "tiny"
steps = 6
stages_per_step = 2
refine_every = 2
[[object]]
center = [0.4, 0.5, 0.5]
size = [0.2, 0.2, 0.2]
velocity = [0.05, 0.0, 0.0]
"""


def call(*arguments, **environment):
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


def read(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="amrbench-compare-")
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.config = self.dir / "tiny.toml"
        self.config.write_text(CONFIG)
        self.out = self.dir / "out"

    def compare(self, *arguments, case=None, **environment):
        return call(str(case or self.config), "--amrbench", AMRBENCH, "--out", str(self.out), *arguments, **environment)


class Replays(Case):
    def compared(self, *arguments, **keywords):
        answer = self.compare("--ranks", "2,4", "--policy", ",".join(POLICIES), *arguments, **keywords)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout.splitlines()[-1], str(self.out))
        return answer

    def test_tables_and_figures(self):
        answer = self.compared()
        rows = read(self.out / "strategies.csv")
        self.assertEqual([(row["ranks"], row["policy"]) for row in rows], [(n, p) for n in "24" for p in POLICIES])
        for row in rows:
            self.assertEqual((row["partition"], row["slices"], row["weights"]), ("hilbert", "midpoint", "uniform"))
            phases = sum(float(row[name]) for name in ("stencil_s", "halo_s", "refine_s", "balance_s", "migrate_s"))
            self.assertAlmostEqual(float(row["time_s"]), phases, delta=1e-9)
            self.assertAlmostEqual(float(row["regret"]), float(row["time_s"]) / float(row["optimum_s"]) - 1, delta=1e-9)
            self.assertEqual(row["rebalances"] == "0", row["policy"] == "never")
        series = read(self.out / "series.csv")
        self.assertEqual(list(series[0]), ["ranks", "partition", "slices", "policy", "weights", "levels", "step", "blocks",
                                           "imbalance", "cut", "segment_s", "balancing_s"])
        for count in "24":
            of_never = [row for row in series if (row["ranks"], row["policy"]) == (count, "never")]
            of_every = [row for row in series if (row["ranks"], row["policy"]) == (count, "every")]
            self.assertEqual({row["cut"] for row in of_never}, {"0"})
            self.assertIn("1", {row["cut"] for row in of_every})
            self.assertEqual([(row["step"], row["blocks"]) for row in of_never],
                             [(row["step"], row["blocks"]) for row in of_every])
        self.check_figures(answer)

    def check_figures(self, answer):
        if not HAS_MATPLOTLIB:
            self.assertIn("matplotlib", answer.stderr)
            self.assertFalse(any((self.out / name).exists() for name in FIGURES))
            return
        self.assertEqual(answer.stderr, "")
        for name in FIGURES:
            self.assertTrue(ElementTree.parse(self.out / name).getroot().tag.endswith("svg"), name)
        # The legend stands to the right of the bars: its box begins where the last axes' box ends.
        groups = {node.get("id"): node for node in ElementTree.parse(self.out / "times.svg").iter() if node.get("id")}
        self.assertIn("axes_2", groups)
        self.assertGreaterEqual(min(self.across(groups["legend_1"])), max(self.across(groups["axes_2"])))

    @staticmethod
    def across(group):
        """Where the first box in a group of an SVG begins and ends."""
        path = next(node for node in group.iter() if node.tag.endswith("path"))
        return [float(x) for x in re.findall(r"[ML] (-?[\d.]+) ", path.get("d"))]

    def test_without_matplotlib(self):
        (self.dir / "matplotlib.py").write_text("raise ImportError('not here')\n")
        answer = self.compared(PYTHONPATH=str(self.dir))
        self.assertEqual(answer.stderr, "compare_strategies: no figures: matplotlib is not installed (python3-matplotlib)\n")
        self.assertEqual(sorted(os.listdir(self.out)), ["case.trace", "series.csv", "strategies.csv"])

    def test_settings_change_the_case_and_traces_are_taken_as_they_are(self):
        self.compared("--no-optimum", "--set", "run.steps=2", "--partition", "hilbert,gensfc", PYTHONPATH=self.no_figures())
        rows = read(self.out / "strategies.csv")
        self.assertEqual(len(rows), 2 * 2 * len(POLICIES))
        self.assertEqual({row["regret"] for row in rows}, {""})
        self.assertLessEqual({row["step"] for row in read(self.out / "series.csv")}, {"0", "2"})
        trace = self.dir / "kept.trace"
        (self.out / "case.trace").rename(trace)
        self.out = self.dir / "again"
        self.compared("--no-optimum", "--partition", "hilbert,gensfc", case=trace, PYTHONPATH=self.no_figures())
        self.assertEqual(read(self.out / "strategies.csv"), rows)

    def no_figures(self):
        (self.dir / "matplotlib.py").write_text("raise ImportError('not here')\n")
        return str(self.dir)


class BadInput(Case):
    def refused(self, *arguments, names, **keywords):
        answer = self.compare(*arguments, **keywords)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertEqual(answer.stdout, "")
        self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)
        self.assertTrue(answer.stderr.startswith("compare_strategies: "), answer.stderr)
        for name in names:
            self.assertIn(name, answer.stderr)
        self.assertFalse((self.out / "strategies.csv").exists())

    def test_values(self):
        for ranks in ("", "2,", "0", "2.5"):
            with self.subTest(ranks):
                self.refused(f"--ranks={ranks}", names=["--ranks"])
        self.refused("--ranks", "2", "--policy", "sometimes", names=["sometimes", "every"])
        self.refused("--ranks", "2", "--partition", "peano", names=["peano", "hilbert"])
        self.refused("--ranks", "2", "--set", "run.stepps=3", names=["stepps"])
        self.refused("--ranks", "2", "--run", "--machine", "m.toml", names=["--machine m.toml"])

    def test_files(self):
        self.refused("--ranks", "2", case=self.dir / "none.toml", names=["none.toml: no such file"])
        self.refused("--ranks", "2", "--machine", str(self.dir / "none.toml"), names=["none.toml"])
        self.refused("--ranks", "2", "--amrbench", str(self.config), names=["tiny.toml: no such program"])
        trace = self.dir / "a.trace"
        trace.write_text("amrbench-trace 1\n")
        self.refused("--ranks", "2", "--set", "run.steps=2", case=trace, names=["--set run.steps=2", "a.trace is a trace"])
        self.refused("--ranks", "2", "--run", case=trace, names=["a.trace: a trace cannot be run"])
        self.refused("--ranks", "2", case=trace, names=["a.trace"])
        self.out = self.dir / "file"
        self.out.write_text("a file\n")
        self.refused("--ranks", "2", names=[f"--out {self.out}"])

    def test_nothing_is_overwritten(self):
        self.out.mkdir()
        table = self.out / "strategies.csv"
        table.write_text("mine\n")
        answer = self.compare("--ranks", "2")
        self.assertEqual((answer.returncode, table.read_text()), (2, "mine\n"))
        self.assertIn("nothing is overwritten", answer.stderr)


if __name__ == "__main__":
    AMRBENCH = sys.argv.pop(1)
    unittest.main()
