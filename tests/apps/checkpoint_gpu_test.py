#!/usr/bin/env python3
"""Runs that begin on CPUs and go on on a GPU, and the other way, end with the bits of one that ran through, for every stencil.

usage: checkpoint_gpu_test.py AMRBENCH MPIEXEC [unittest arguments]
Exit status 77: no GPU can be used, or the program has no checkpoints; its line says why.
"""
import json
import os
import sys
import tempfile
import unittest

import program

STEPS = 30
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs/two.toml")


def answer(folder):
    """What no back end may change."""
    with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
        record = json.load(file)
    return record["valid"], record["mesh_crc_hex"], record["fields"], record["config"]["device"]["backend"]


def run(*args):
    status, out, err = program.run("run", *args, "--quiet", ranks=1)
    return status, "\n".join(program.error_lines(out + err)) or err


class AcrossBackEnds(unittest.TestCase):
    def check(self, stencil, variables):
        with tempfile.TemporaryDirectory() as folder:
            def started(out, backend, steps, *more):
                status, says = run(CONFIG, "--set", f'run.stencil="{stencil}"', "--set", f"fields.variables={variables}", "--set",
                                   f"run.steps={steps}", "--set", f'device.backend="{backend}"', "--out", os.path.join(folder, out),
                                   *more)
                self.assertEqual(status, 0, says)
                return os.path.join(folder, out)

            whole = answer(started("whole", "cpu", STEPS))
            self.assertTrue(whole[0])
            for first, second in (("cpu", "cuda"), ("cuda", "cpu"), ("cuda", "cuda")):
                with self.subTest(stencil=stencil, first=first, second=second):
                    begun = started(f"{first}-{second}", first, STEPS // 2, "--set", f"output.checkpoint={STEPS // 4}")
                    out = os.path.join(folder, f"{first}-{second}-on")
                    status, says = run("--restart", begun, "--set", f"run.steps={STEPS}", "--set", f'device.backend="{second}"',
                                       "--out", out)
                    self.assertEqual(status, 0, says)
                    self.assertEqual(answer(out), (*whole[:3], second))

    def test_average7(self):
        self.check("average7", 3)

    def test_average27(self):
        self.check("average27", 5)

    def test_mixed(self):
        self.check("mixed", 9)


if __name__ == "__main__":
    program.take_arguments()
    with tempfile.TemporaryDirectory() as probe:
        refused, why = run(CONFIG, "--set", "run.steps=1", "--set", 'device.backend="cuda"', "--set",
                           "output.checkpoint=1", "--out", os.path.join(probe, "out"))
    if refused == 2 and ("device.backend" in why or "this build has no checkpoints" in why):
        print(f"skipped: {why}")
        sys.exit(77)
    unittest.main()
