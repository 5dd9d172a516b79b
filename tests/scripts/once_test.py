"""tests/once.py leaves out a test only when the same test has passed before. Standard library only."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]


class Once(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)
        self.program = self.dir / "program"
        self.write("exit 0")

    def write(self, body):
        self.program.write_text(f'#!/bin/sh\necho run >> "{self.dir}/runs"\n{body}\n')
        self.program.chmod(0o755)

    def call(self, *arguments, passed=True, **environment):
        """The exit status, and whether the program was run."""
        (self.dir / "runs").unlink(missing_ok=True)
        environment = {**os.environ, **environment}
        environment.pop("AMRBENCH_PASSED", None)
        if passed:
            environment["AMRBENCH_PASSED"] = str(self.dir / "passed")
        answer = subprocess.run([sys.executable, TESTS / "once.py", str(self.program), *arguments], env=environment,
                                capture_output=True)
        return answer.returncode, (self.dir / "runs").exists()

    def test_a_passed_test_is_not_run_again(self):
        self.assertEqual(self.call("--source=a.cpp"), (0, True))
        self.assertEqual(self.call("--source=a.cpp"), (0, False))

    def test_whatever_changes_it_is_run_again(self):
        self.call("--source=a.cpp")
        self.assertEqual(self.call("--source=b.cpp"), (0, True))
        self.assertEqual(self.call("--source=a.cpp", ASAN_OPTIONS="detect_leaks=0"), (0, True))
        self.assertEqual(self.call("--source=a.cpp", OMP_NUM_THREADS="7"), (0, True))
        self.write("exit 0 # other bytes")
        self.assertEqual(self.call("--source=a.cpp"), (0, True))

    def test_a_failed_test_is_run_again(self):
        self.write("exit 3")
        self.assertEqual(self.call(), (3, True))
        self.assertEqual(self.call(), (3, True))

    def test_without_a_folder_every_test_is_run(self):
        self.assertEqual(self.call(passed=False), (0, True))
        self.assertEqual(self.call(passed=False), (0, True))

    def test_a_signal_is_a_failure(self):
        self.write("kill -SEGV $$")
        self.assertEqual(self.call()[0], 139)


if __name__ == "__main__":
    unittest.main()
