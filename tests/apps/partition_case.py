"""What the tests of `amrbench partition` have in common: a folder of their own, runs in it, refusals."""
import re

import program


def run(*args, ranks=0, cwd=None):
    status, out, err = program.run(*args, ranks=ranks, threads=2, cwd=cwd)
    # What is said about this machine's cores is no matter of these tests (tests/support/cores_test.cpp).
    return status, out, re.sub(r"(?m)^amrbench: note: \d+ threads of a rank .*\n", "", err)


class PartitionCase(program.FolderCase):
    def done(self, *args, ranks=0):
        status, out, err = run("partition", *args, ranks=ranks, cwd=self.folder)
        self.assertEqual((status, err), (0, ""))
        return out

    def refused(self, *args, says, ranks=0):
        """Exit 2, exactly one line of ours, nothing on standard output."""
        status, out, err = run("partition", *args, ranks=ranks, cwd=self.folder)
        self.assertEqual((status, out), (2, ""), err)
        lines = program.error_lines(err)
        self.assertEqual(len(lines), 1, err)
        self.assertIn(says, lines[0])
        if not ranks:
            self.assertEqual(len(err.splitlines()), 1, err)
