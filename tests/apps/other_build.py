#!/usr/bin/env python3
"""Another build of the program (another MPI, nothing optional) gives this one's answers: scripts/test --full calls it.

usage: other_build.py AMRBENCH MPIEXEC OTHER_AMRBENCH OTHER_MPIEXEC [unittest arguments]
"""
import json
import os
import sys
import tempfile
import unittest

import program

TWO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../configs/two.toml")
OTHER = []


def answer(amrbench, mpiexec, stencil, variables, ranks):
    """Of a run on ranks; the numbers that no build may change."""
    program.AMRBENCH, program.MPIEXEC = amrbench, mpiexec
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        options = [] if "mpich" in os.path.basename(mpiexec) else ["--oversubscribe"]
        command = [mpiexec, *options, "-n", str(ranks), amrbench, "run", TWO, "--quiet", "--threads", "1", "--out", out]
        for key, value in (("run.steps", 20), ("run.stencil", f'"{stencil}"'), ("fields.variables", variables)):
            command += ["--set", f"{key}={value}"]
        status, said, error = program.call(command)
        if status != 0:
            raise AssertionError(f"{command[0]} {amrbench}: status {status}: {said[-300:]} {error[-300:]}")
        with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
            record = json.load(file)
    return record["valid"], record["mesh_crc_hex"], record["fields"], record["totals"]["blocks_final"]


class OtherBuild(unittest.TestCase):
    def test_answers_are_the_same(self):
        this = (program.AMRBENCH, program.MPIEXEC)
        for stencil, variables in (("average7", 3), ("average27", 5), ("mixed", 9)):
            for ranks in (1, 2):
                with self.subTest(stencil=stencil, ranks=ranks):
                    expected = answer(*this, stencil, variables, ranks)
                    self.assertTrue(expected[0])
                    self.assertEqual(answer(*OTHER, stencil, variables, ranks), expected)


if __name__ == "__main__":
    OTHER = program.take_arguments(4)
    unittest.main()
