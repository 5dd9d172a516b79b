#!/usr/bin/env python3
"""Hostile input of `amrbench`: numbers, sizes, files and names that must cost one line, not a file, a hang or the memory.

usage: hostile_cli_test.py AMRBENCH MPIEXEC
"""
import array
import json
import os
import stat
import struct
import time
import unittest
import zlib

import program
from program import run

GIB = 1 << 30


def trace_file(root, frames):
    header = {"root": root, "max_level": 0, "block": [2, 2, 2], "variables": 1, "steps": 0, "name": "x"}
    data = b"amrbench-trace 1\n" + json.dumps(header).encode() + b"\n"
    for kind, payload in frames:
        packed = zlib.compress(payload)
        data += kind + struct.pack("<III", len(payload), len(packed), zlib.crc32(packed)) + packed
    return data


class Hostile(program.FolderCase):
    def done(self, *args, ranks=0):
        status, out, err = run(*args, ranks=ranks, cwd=self.folder)
        self.assertEqual(status, 0, err)
        return out, err

    def refused(self, *args, says, ranks=0, seconds=10):
        """Exit 2, one line of ours, nothing on standard output, at once and without taking memory."""
        start = time.monotonic()
        status, out, err = run(*args, ranks=ranks, cwd=self.folder, memory=0 if ranks else 8 * GIB)
        self.assertEqual((status, out), (2, ""), err)
        self.assertLess(time.monotonic() - start, seconds * (6 if program.SANITIZED else 1))
        lines = program.error_lines(err)
        self.assertEqual(len(lines), 1, err)
        self.assertIn(says, lines[0])

    ORB = ("orb", "--input", "uniform:100", "--leaves", "4")
    LINEAR = ("partition", "--input", "uniform:100", "--method", "linear", "--parts", "4")

    def test_only_regular_files_are_replaced(self):
        self.write("target", "mine")
        os.symlink("target", self.path("link"))
        os.symlink("nowhere", self.path("dangling"))
        os.mkfifo(self.path("pipe"))
        for name, kind in (("link", "symbolic link"), ("pipe", "pipe"), ("/dev/null", "device"), (".", "folder")):
            self.refused(*self.ORB, "--json", name, "--force", says=f"--json {name}: is a {kind}")
        for name, kind in (("dangling", "symbolic link"), ("/dev/null", "device")):
            self.refused(*self.LINEAR, "--json", name, "--force", says=f"--json {name}: is a {kind}")
        self.assertTrue(os.path.islink(self.path("link")) and os.path.islink(self.path("dangling")))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode))
        with open(self.path("target"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_orb_loses_no_file(self):
        self.refused(*self.ORB, "--json", "k", "--labels", "k", says="--labels k: another option writes this file")
        self.refused(*self.ORB, "--labels", "./k", "--permutation", "k", says="another option writes this file")
        self.write("p.csv", "1,2\n3,4\n")
        self.refused("orb", "--input", "file:p.csv", "--leaves", "2", "--json", "p.csv", "--force",
                     says="--json p.csv: another option reads this file")
        self.write("old", "mine")
        self.refused(*self.ORB, "--json", "old", says="--json old: exists; --force replaces it")
        self.refused(*self.ORB, "--labels", "no/such", says="--labels no/such: there is no folder no")
        self.refused(*self.ORB, "--permutation", "/proc/x", says="--permutation /proc/x: cannot write")
        self.refused(*self.ORB, "--json", "old", ranks=2, says="exists")
        self.done(*self.ORB, "--json", "old", "--force")
        self.assertEqual(self.load("old")["n"], 100)
        self.assertEqual(sorted(os.listdir(self.folder)), ["old", "p.csv"])

    def test_columns_mean_the_same_everywhere(self):
        """A column of weights in any case, a first row that is no header, files without points."""
        self.write("w.csv", "x,y,Weight\n1,2,3\n4,5,6\n7,8,9\n")
        self.write("s.csv", "1 2\n4 5\n7 8\n")
        out, _ = self.done("orb", "--input", "file:w.csv", "--leaves", "3")
        self.assertIn("weight a leaf 3 to 9", out)
        self.done("partition", "--input", "file:w.csv", "--method", "linear", "--parts", "1", "--json", "w.json")
        self.assertEqual((self.load("w.json")["input"]["dim"], self.load("w.json")["rows"][0]["load_max"]), (2, 18))
        self.assertIn("points        3\n", self.done("orb", "--input", "file:s.csv", "--leaves", "3")[0])
        self.done("partition", "--input", "file:s.csv", "--method", "linear", "--parts", "3", "--json", "s.json")
        self.assertEqual(self.load("s.json")["input"]["points"], 3)
        self.write("n.csv", "x,y,Weights\n1,2,3\n")
        self.refused("orb", "--input", "file:n.csv", "--leaves", "1", says="a column of weights must be called weight")
        self.write("z.graph", "0 0\n")
        self.refused("partition", "--input", "file:z.graph", "--method", "linear", "--parts", "1", says="no vertices in it")
        for name, content in (("h.csv", "x,y\n"), ("e.csv", ""), ("c.csv", "# none\n\n"), ("e.bin", "")):
            self.write(name, content)
            command = ("orb", "--leaves", "1") if name == "h.csv" else ("partition", "--method", "linear", "--parts", "1")
            self.refused(*command, "--input", "file:" + name, says=f"{name}: no points in it")

    def test_names_that_are_not_utf8(self):
        name = os.fsdecode(b"p\xff.csv")
        self.write(name, "1,2\n3,4\n")
        self.done("orb", "--input", "file:" + name, "--leaves", "2", "--json", "o.json")
        self.assertEqual(self.load("o.json")["input"], "file:p\ufffd.csv")
        self.done("partition", "--input", "file:" + name, "--method", "linear", "--parts", "2", "--json",
                  os.fsdecode(b"\xfe.json"))
        self.refused("run", "--miniamr", "", "--trace", os.fsdecode(b"\xff.trace"), says="output.trace (--trace): must be")
        self.refused("run", "--miniamr", "", "--out", os.fsdecode(b"\xff"), says="output.dir (--out): must be")
        self.refused("partition", "--input", "file:\x1b[2J\n.csv", "--method", "linear", "--parts", "2",
                     says="?[2J .csv: no such file")

    def test_folders_and_pipes_as_input(self):
        os.mkdir(self.path("d"))
        os.mkdir(self.path("d.csv"))
        os.mkfifo(self.path("p"))
        points = ("partition", "--method", "linear", "--parts", "1", "--input")
        replay = ("--ranks", "2", "--partition", "morton", "--policy", "every")
        pipe = "p: is a pipe or a device"
        self.refused(*points, "file:d.csv", says="d.csv: is a folder")
        self.refused(*points, "file:d", says="d: is a folder")
        self.refused(*points, "uniform:4", "--weights", "p", says=pipe)
        self.refused(*points, "uniform:4", "--graph", "p", says=pipe)
        self.refused(*points, "uniform:4", "--previous", "p", says=pipe)
        self.refused("run", "p", says=pipe)
        self.refused("trace", "p", "-o", "t", says=pipe)
        self.refused("replay", "p", *replay, says="trace " + pipe)
        self.refused("replay", "d", *replay, says="trace d: is a folder")
        self.refused("replay", "t", *replay, "--machine", "p", says=pipe)

    def test_sizes_are_checked_before_memory_is_taken(self):
        self.refused(*self.LINEAR[:-1], "1000000000", says="--parts 1000000000: there are 100 points; at most 1048576")
        self.refused("partition", "--input", "grid:10x10", "--method", "linear", "--parts", "2", "--nodes", "1000000000",
                     says="--nodes 1000000000: there are 100 points")
        self.refused(*self.ORB[:-1], "1000000000", says="--leaves 1000000000: there are only 100 points")
        self.refused(*self.ORB[:-1], "4294967296", says="--leaves: must be a whole number from 1 to 4294967295")
        self.refused("orb", "--input", "uniform:4294967296", "--leaves", "2", says="one process takes at most 2^32 - 1")
        if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 64 * GIB:
            memory = "share of the node's memory"
            self.refused("orb", "--input", "uniform:4294967295", "--leaves", "2", says=memory)
            self.refused("orb", "--input", "uniform:4294967296", "--leaves", "2", ranks=2, says=memory)
            # The points fit on a larger machine; what is measured of them does not.
            self.refused("partition", "--input", "grid:1000x1000x1000", "--method", "linear", "--parts", "2", says=memory)
            self.refused("partition", "--input", "uniform:1200000000", "--method", "linear", "--parts", "1000000000",
                         says=memory)
            self.refused("run", "--miniamr", "", "--set", "mesh.root=[1290,1290,1290]", "--set", "mesh.max_level=0",
                         says="mesh.root = [1290, 1290, 1290]: takes")
            self.refused("run", "--miniamr", "", "--set", "device.preallocated_blocks=2000000000",
                         says="device.preallocated_blocks = 2000000000: takes")
            self.assertFalse(os.path.exists(self.path("results")))
        self.refused(*self.LINEAR, "--weights", self.write("w.txt", "1\n" * 101), says="w.txt:101: there are only 100 points")
        self.refused("partition", "--input", "file:" + self.write("g.graph", "100 1000000\n"), "--method", "linear",
                     "--parts", "2", says="do not fit into a file of 12 bytes")

    def test_traces_do_not_exhaust_their_reader(self):
        replay = ("--ranks", "2", "--partition", "morton", "--policy", "every")
        self.write("a", trace_file([1 << 20, 1 << 20, 1], [(b"E", bytes(3))]))
        self.refused("replay", "a", *replay, says="trace a: its header is wrong: root has 1099511627776 cells")
        self.write("a", trace_file([2047, 1024, 1024], [(b"E", bytes(3))]))
        self.refused("replay", "a", *replay, says="a mesh of 2146435072 blocks: takes")
        self.write("b", trace_file([1 << 32 | 1, 1, 1], [(b"E", bytes(3))]))
        self.refused("replay", "b", *replay, says="4294967297 is no whole number, or a too large one")
        # Half a gigabyte of zeros in half a megabyte: read, and refused at its first two bytes.
        self.write("c", trace_file([1, 1, 1], [(b"R", bytes(1 << 24))]))
        self.refused("replay", "c", *replay, says="is damaged after refinement 0")

    def test_weights_out_of_range(self):
        def weighted(command, values, *more):
            self.write("w.txt", "".join(f"{value}\n" for value in values))
            return (*command, "--weights", "w.txt", *more)

        orb = ("orb", "--input", "grid:4x1", "--leaves", "2")
        linear = ("partition", "--input", "grid:4x1", "--method", "linear", "--parts", "2")
        for command in (orb, linear):
            self.refused(*weighted(command, [1e308] * 4), says="sums of 4 such weights may overflow")
            self.refused(*weighted(command, [1e-310, 2e-310, 0, 0]), says="must be at least 1.2e-271")
            _, err = self.done(*weighted(command, [1e300, 1e-300, 0, 1e-300]))
            self.assertIn("amrbench: note: 2 of 4 weights count as 0 when parts are made", err)
            _, err = self.done(*weighted(command, [0, 0, 0, 0]))
            self.assertEqual(err, "")
        self.done(*weighted(linear, [3 * 2.0**990, 2.0**990, 2.0**991, 0], "--json", "w.json"))
        row = self.load("w.json")["rows"][0]
        self.assertEqual((row["load_mean"], row["load_max"]), (3 * 2.0**990, 3 * 2.0**990))
        out, _ = self.done(*weighted(orb, [3e-260, 1e-260, 2e-260, 0]))
        self.assertIn("weight a leaf 3e-260 to 3e-260", out)

    def test_coordinates_out_of_range(self):
        for value in ("1e200", "-1.7e308"):
            self.write("far.csv", f"0,0\n1,{value}\n")
            for command in (("orb", "--leaves", "2"), ("partition", "--method", "morton", "--parts", "2")):
                self.refused(*command, "--input", "file:far.csv", says="far.csv:2: coordinate 1 of point 1 is")
        with open(self.path("far"), "wb") as file:
            array.array("d", [0, 1e100]).tofile(file)
        self.refused("orb", "--leaves", "1", "--float", "--input", "file:far:2", says="in single precision")

    def test_numbers_are_decimal_and_whole(self):
        for value in ("-1", "", "0", "1e2", "+4", "0x4", "99999999999999999999"):
            self.refused(*self.ORB[:-1], value, says=f"--leaves: must be a whole number from 1 to 4294967295, not '{value}'")
        for option, value in (("--parts", "2,0x10"), ("--repetitions", "010"), ("--bucket", "-1"), ("--threads", ""), ("--pixels", "1e3"), ("--nodes", "1x")):
            self.refused(*self.LINEAR, option, value, says=f"{option}: must be a whole number from")
        for value in ("nan", "", "0,1"):
            self.refused(*self.ORB, "--side-tolerance", value, says="--side-tolerance: must be a number from 0 to 0.999")
        for option in ("--json", "--weights"):
            self.refused(*self.LINEAR, option, "", says=f"{option}: must not be empty")

    def test_names_of_methods_are_checked(self):
        self.refused("partition", "--input", "uniform:100", "--parts", "4", "--method", "orb", "--splitter", "foo",
                     says="foo: unknown; there are midpoint")
        self.refused(*self.ORB, "--method", "foo", says="method foo: unknown")
        self.write("g.graph", "3 2\n2\n1 3\n2\n")
        for method in ("orb", "morton"):
            self.refused("partition", "--input", "file:g.graph", "--method", method, "--parts", "2",
                         says=f"method {method} works on points, and file:g.graph has none")

    def test_a_method_that_refuses_costs_the_others_nothing(self):
        self.write("g.graph", "3 2\n2\n1 3\n2\n")
        for ranks in (0, 2):
            status, out, err = run("partition", "--input", "file:g.graph", "--method", "linear,morton,orb", "--parts", "2,3",
                                   "--json", "r.json", "--csv", "r.csv", "--force", ranks=ranks, cwd=self.folder)
            self.assertEqual(status, 2, err)
            self.assertEqual([line.split()[:2] for line in out.splitlines()[1:]], [["linear", "2"], ["linear", "3"]])
            self.assertEqual(err.count("amrbench: error: method morton works on points"), 2, err)
            record = self.load("r.json")
            self.assertEqual([(row["method"], row["parts"]) for row in record["rows"]], [("linear", 2), ("linear", 3)])
            self.assertEqual([(row["method"], row["parts"]) for row in record["refused"]],
                             [("morton", 2), ("morton", 3), ("orb", 2), ("orb", 3)])
            with open(self.path("r.csv"), encoding="utf-8") as file:
                self.assertEqual(len(file.readlines()), 3)
            os.remove(self.path("r.json"))
        status, _, err = run("partition", "--input", "file:g.graph", "--method", "morton,orb", "--parts", "2", "--json", "n.json",
                             cwd=self.folder)
        self.assertEqual((status, err.count("amrbench: error: ")), (2, 2), err)
        self.assertFalse(os.path.exists(self.path("n.json")))

    def test_threads_of_ranks_are_those_that_are_used(self):
        self.done(*self.ORB, "--threads", "3", "--json", "o.json", ranks=2)
        self.assertEqual(self.load("o.json")["provenance"]["threads"], 3)

    def test_endless_runs_are_refused(self):
        config = self.write("c.toml", "[run]\ntime = 1e300\n[[object]]\nvelocity = [0.1, 0, 0]\n")
        for command in (("run", config, "--out", "o"), ("trace", config, "-o", "t")):
            self.refused(*command, says="run.time = 1e+300: more than 2^52 steps")
        self.refused("run", config, "--set", "run.time=0", "--set", "run.steps=9223372036854775807",
                     says="more than 2^62 stages")
        self.assertEqual(os.listdir(self.folder), ["c.toml"])

    def test_a_message_is_one_line_of_sensible_length(self):
        for text in ("[mesh]\nblock = \"" + "x" * 500000 + "\"\n", "[" + "y" * 500000 + "]\n"):
            status, _, err = run("run", self.write("l.toml", text), cwd=self.folder)
            self.assertEqual((status, err.count("\n")), (2, 1))
            self.assertLess(len(err), 2200)


if __name__ == "__main__":
    program.take_arguments()
    unittest.main()
