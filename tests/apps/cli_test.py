#!/usr/bin/env python3
"""The program's behaviour as its user sees it: exit status, standard output, standard error, files.

usage: cli_test.py AMRBENCH MPIEXEC SOURCE_DIR
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

import program
from program import command, environment, run

SOURCE = ""


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="amrbench-cli-")
        self.addCleanup(self.folder.cleanup)

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def refused(self, *args, says, ranks=0, env=None):
        """Exit 2; exactly one line of ours; nothing on standard output."""
        status, out, err = run(*args, ranks=ranks, cwd=self.folder.name, env=env)
        self.assertEqual(status, 2, err)
        self.assertEqual(out, "")
        lines = program.error_lines(err)
        self.assertEqual(len(lines), 1, err)
        self.assertIn(says, lines[0])
        self.assertTrue(err.startswith("amrbench: "), err)
        if not ranks:
            self.assertEqual([line for line in err.splitlines() if not line.startswith("amrbench: ")], [])

    def test_no_gpu_is_one_line(self):
        """With every GPU hidden: refused before a result folder is made."""
        config = self.write("g.toml", "[device]\nbackend = \"cuda\"\n")
        for ranks in (0, 2):
            self.refused("run", config, ranks=ranks, says="device.backend", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertFalse(os.path.exists(self.path("results")))

    def test_version_and_help(self):
        status, out, err = run("--version")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^amrbench \d+\.\d+\.\d+\n$")
        for args in (["--help"], ["-h"], ["run", "--help"], ["run", "-h"], ["list", "--help"], ["info", "--help"]):
            status, out, err = run(*args)
            self.assertEqual((status, err), (0, ""), args)
            self.assertIn("Usage: amrbench", out)
        for flag in ("--miniamr", "--set", "--threads", "--out", "--dry-run", "CONFIG"):
            self.assertIn(flag, run("run", "--help")[1])

    def test_list_names_every_strategy(self):
        status, out, err = run("list")
        self.assertEqual((status, err), (0, ""))
        names = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
        self.assertLessEqual({"morton", "hilbert", "never", "every", "threshold", "average7", "average27", "mixed",
                              "random", "ones", "sphere", "rectangle", "cylinder_z", "cpu"}, names)
        for line in out.splitlines():
            if line.startswith("  "):
                self.assertGreater(len(line.split()), 3, line)

    def test_info_tells_build_and_machine(self):
        status, out, err = run("info")
        self.assertEqual((status, err), (0, ""))
        for word in ("commit", "compiler", "flags", "MPI", "OpenMP", "processor", "cores", "memory", "cuda"):
            self.assertIn("\n  " + word + " ", out)
        self.assertIn("-ffp-contract=off", out)

    def test_only_run_needs_mpi(self):
        broken = {"OMPI_MCA_btl": "none-such", "OMPI_MCA_pml": "none-such"}
        for args in (["list"], ["info"], ["run", "--help"], ["--version"]):
            status, out, err = run(*args, env=broken)
            self.assertEqual((status, err), (0, ""), args)

    def test_one_process_needs_no_folder_of_mpi(self):
        # Open MPI's would be removed by whichever of two commands ends first, while the other one begins.
        status, out, err = run("partition", "--input", "grid:4x4x4", "--parts", "2", "--method", "morton",
                               env={"TMPDIR": "/dev/null/none"})
        self.assertEqual((status, err), (0, ""), out)

    def test_bad_command_lines(self):
        self.refused(says="A subcommand is required")
        self.refused("rnu", says="rnu: unknown subcommand; did you mean run?")
        self.refused("--bogus", says="--bogus: unknown option; see amrbench --help")
        self.refused("--verison", says="did you mean --version?")
        self.refused("run", says="give a configuration file (TOML), or --miniamr")
        self.refused("run", "a.toml", "--bogus", says="--bogus")
        self.refused("run", "a.toml", "b.toml", says="b.toml")
        self.refused("run", "a.toml", "--threads", "x", says="--threads")
        self.refused("run", "a.toml", "--threads", "-1", says="--threads")
        self.refused("run", "a.toml", "--progress", "loud", says="--progress")
        self.refused("run", "a.toml", "--miniamr", "--nx 4", says="not both")
        self.refused("run", "--miniamr", says="--miniamr")

    def test_bad_files(self):
        self.refused("run", "none.toml", says="none.toml: no such configuration file")
        self.refused("run", ".", says="is a folder")
        self.refused("run", self.write("a.toml", "[mesh]\nblok = 8\n"), says="a.toml:2: mesh.blok: unknown key")
        self.refused("run", self.write("b.toml", "[mesh\n"), says="b.toml:1: not TOML")
        self.refused("run", self.write("c.toml", "#" * (1 << 20) + "\n"), says="at most 1048576 bytes")
        self.refused("run", self.write("d.toml", "a" + ".a" * 400000 + " = 1\n"), says="dotted parts")
        self.refused("run", self.write("e.toml", "[mesh]\ndim = 2\n"), says="mesh.dim = 2")
        self.refused("run", "e.toml", "--set", "mesh.dim=3", "--set", "device.backend=gpu", says="device.backend")
        self.refused("run", "e.toml", "--set", "mesh.dim=3", "--set", "mesh.blck=4", says="did you mean mesh.block?")
        self.assertFalse(os.path.exists(self.path("results")))

    def test_cases_drawn_for_comparisons_are_taken(self):
        sys.path.insert(0, os.path.join(SOURCE, "scripts"))
        self.addCleanup(sys.path.pop, 0)
        import compare_cases
        seed = random.SystemRandom().randrange(10**6)
        rng = random.Random(seed)
        for number in range(8):
            options = compare_cases.draw_case(rng)
            status, out, err = run("run", "--miniamr", options, "--dry-run", ranks=2)
            self.assertEqual(status, 0, f"seed {seed}, case {number}: {options}\n{err}")
            self.assertIn(options.split("--num_vars ")[1].split()[0], re.findall(r"variables = (\d+)", out))

    def test_bad_miniamr_lines(self):
        self.refused("run", "--miniamr", "--nx", says="--nx lacks its value")
        self.refused("run", "--miniamr", "--num_objects 1 --object 2 0 1 2 3 4 5 6 7 8 9 10 11",
                     says="must have 14 numbers")
        self.refused("run", "--miniamr", "--warp 9", says="--warp is no option of miniAMR")
        self.refused("run", "--miniamr", "", "--set", "mesh.max_level=40", says="mesh.max_level must be")

    def test_one_line_whatever_the_ranks(self):
        self.refused("run", "none.toml", ranks=3, says="none.toml: no such configuration file")
        self.refused("run", "--bogus", ranks=3, says="--bogus")
        self.refused("run", self.write("a.toml", "[mesh]\nblok = 8\n"), ranks=3, says="mesh.blok")
        self.write("file", "")
        self.refused("run", "--miniamr", "--morton", "--out", "file/out", ranks=3, says="file is a file")

    def test_dry_run_prints_a_configuration_that_reads_back(self):
        for name in ("quickstart", "sphere", "expand", "two", "miniamr-one-sphere"):
            config = os.path.join(SOURCE, "configs", name + ".toml")
            status, out, err = run("run", config, "--dry-run", cwd=self.folder.name)
            self.assertEqual((status, err), (0, ""), name)
            self.assertIn("# root mesh: 8 blocks, ", out)
            again = run("run", self.write(name + ".toml", out), "--dry-run", cwd=self.folder.name)
            self.assertEqual(again, (0, out, ""))
        self.assertFalse(os.path.exists(self.path("results")))

    def test_dry_run_applies_settings_in_order(self):
        config = os.path.join(SOURCE, "configs", "two.toml")
        status, out, _ = run("run", "--set", "mesh.block=6", config, "--set", "mesh.block=16", "--threads", "3",
                             "--set", "object.1.size=[1,2,3]", "--out", "here", "--dry-run", cwd=self.folder.name)
        self.assertEqual(status, 0)
        for line in ("block = [16, 16, 16]", "threads = 3", "size = [1.0, 2.0, 3.0]", 'dir = "here"'):
            self.assertIn("\n" + line + "\n", out)
        self.assertFalse(os.path.exists(self.path("here")))

    def test_dry_run_of_a_miniamr_line(self):
        line = "--num_refine 2 --max_blocks 9 --num_objects 1 --object 2 0 -1 -1 -1 .1 .1 .1 1.7 1.7 1.7 0 0 0"
        status, out, err = run("run", "--miniamr", line, "--set", "fields.initial=ones", "--dry-run", ranks=2)
        self.assertEqual(status, 0)
        self.assertIn('\ninitial = "ones"\n', out)
        self.assertEqual(out.count("[mesh]"), 1)
        self.assertIn("on 2 ranks", out)
        self.assertEqual(err.count("amrbench: note: --max_blocks has no effect here"), 1)
        self.assertEqual(run("run", "--miniamr", line, "--quiet", "--dry-run")[2], "")

    def test_result_folders_are_never_overwritten(self):
        os.mkdir(self.path("out"))
        self.write("out/run.json", "mine")
        self.refused("run", "--miniamr", "--morton", "--out", "out", says="already holds run.json")
        with open(self.path("out/run.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(os.listdir(self.path("out")), ["run.json"])
        self.refused("run", "--miniamr", "--morton", "--out", "/proc/nowhere", says="/proc/nowhere")

    def orb_says(self, *args, ranks=0):
        """What `amrbench orb` prints but for times."""
        status, out, err = run("orb", *args, ranks=ranks, cwd=self.folder.name)
        self.assertEqual((status, err), (0, ""))
        lines = [line for line in out.splitlines() if not line.startswith(("time ", "on "))]
        self.assertEqual(len(lines), 6, out)
        return lines

    ORB_INPUTS = (("--input", "uniform:20001:1", "--float", "--leaves", "509"),
                  ("--input", "plummer:30000:7", "--dim", "2", "--leaves", "64"),
                  ("--input", "cluster:40000:3", "--leaves", "100", "--weights", "random:3"))

    def test_threads_are_a_ranks_share_of_the_cores(self):
        """Ranks that nobody binds: `orb` takes as many threads as `partition`, and together not more than there are cores."""
        free = environment()
        del free["OMP_NUM_THREADS"]
        threads = []
        for words in (["orb", "--leaves", "8"], ["partition", "--parts", "8", "--method", "morton"]):
            done = subprocess.run(command(*words, "--input", "uniform:1000:1", "--json", words[0] + ".json", ranks=2), env=free,
                                  cwd=self.folder.name, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(self.folder.name, words[0] + ".json"), encoding="utf-8") as file:
                threads.append(json.load(file)["provenance"]["threads"])
        self.assertEqual(threads[0], threads[1])
        self.assertLessEqual(threads[0], max(1, len(os.sched_getaffinity(0)) // 2))

    def test_orb_on_ranks_is_as_on_one(self):
        for words in self.ORB_INPUTS:
            one = self.orb_says(*words)
            if "--weights" not in words:
                least, most = re.fullmatch(r"points a leaf (\d+) to (\d+)", one[2]).groups()
                self.assertLessEqual(int(most) - int(least), 1)
            for ranks in (2, 3):
                with self.subTest(words=words, ranks=ranks):
                    self.assertEqual(self.orb_says(*words, ranks=ranks), one)

    def test_orb_on_gpus_is_as_on_cpus(self):
        back_end = next(line for line in run("info")[1].splitlines() if line.startswith("  cuda "))
        if "built with" not in back_end or "unusable: " in back_end:
            self.skipTest("no usable GPU")
        for words in self.ORB_INPUTS:
            on_cpu = self.orb_says(*words)
            for ranks in (0, 1, 2, 3):
                with self.subTest(words=words, ranks=ranks):
                    self.assertEqual(self.orb_says(*words, "--backend", "cuda", ranks=ranks), on_cpu)

    def test_orb_record(self):
        words = ("--input", "uniform:3000:2", "--leaves", "7", "--weights", "random:1", "--json", "orb.json")
        says = self.orb_says(*words, ranks=2)
        with open(self.path("orb.json"), encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual([record[key] for key in ("n", "leaves", "ranks", "backend")], [3000, 7, 2, "cpu"])
        self.assertEqual(says[2], f"points a leaf {record['count_min']} to {record['count_max']}")
        self.assertEqual(says[3], f"weight a leaf {record['weight_min']:.6g} to {record['weight_max']:.6g}")
        self.assertTrue(says[4].endswith(record["tree_hash"]) and says[5].endswith(record["labels_hash"]), says)

    def test_orb_takes_the_inputs_of_partition(self):
        with open(self.path("p.csv"), "w", encoding="utf-8") as file:
            file.write("weight;x;y\n" + "".join(f"{k % 3 + 1};{k * 7 % 31};{k * k % 29}\n" for k in range(400)))
        cases = (("--input", f"file:{self.path('p.csv')}"), ("--input", "grid:20x30"), ("--input", "corner:500:2:7"),
                 ("--input", "cluster:500", "--dim", "2"))
        for words in cases:
            with self.subTest(words=words):
                one = self.orb_says(*words, "--leaves", "9", "--json", "i.json", "--force")
                with open(self.path("i.json"), encoding="utf-8") as file:
                    record = json.load(file)
                self.assertEqual((record["dim"], record["weights"]), (2, "input" if "p.csv" in words[1] else ""))
                self.assertEqual(self.orb_says(*words, "--leaves", "9", ranks=3), one)
        # Three numbers give the dimension, two leave it to --dim.
        self.assertEqual(self.orb_says("--input", "field:300:2:5", "--leaves", "4"),
                         self.orb_says("--input", "field:300:5", "--dim", "2", "--leaves", "4"))

    def test_bad_orb_lines(self):
        line = ("orb", "--input", "uniform:1000:1", "--leaves", "8")
        self.refused("orb", "--input", "uniform:7:1", "--leaves", "8", says="there are only 7 points")
        self.refused("orb", "--input", "uniform:9:5:1", "--leaves", "2", says="5 dimensions; orb cuts points of 2 or 3")
        self.refused("orb", "--input", "uniform:9:2:1", "--dim", "3", "--leaves", "2", says="has 2 dimensions, but --dim is 3")
        self.refused(*line, "--weights", "random:x", says="the seed must be a whole number")
        self.refused(*line, "--method", "seed-level", ranks=2, says="several ranks have one method")
        self.refused(*line, "--permutation", "p", ranks=2, says="only on one rank")
        self.refused(*line, "--backend", "cuda", "--labels", "l", ranks=2, says="only on one rank")
        self.refused(*line, "--backend", "cuda", "--roofline", says="--roofline: only with --backend cpu")
        self.refused(*line, "--backend", "cuda", "--method", "sort", says="there are auto, multiway, seed-cells")
        self.refused(*line, "--backend", "cuda", "--method", "seed-warp", "--weights", "random:1",
                     says="--method seed-warp: takes no weights")
        for ranks in (0, 2):
            self.refused(*line, "--backend", "cuda", ranks=ranks, says="--backend cuda: ",
                         env={"CUDA_VISIBLE_DEVICES": ""})


if __name__ == "__main__":
    SOURCE, = program.take_arguments(3)
    unittest.main()
