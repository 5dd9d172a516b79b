"""The program under test, as the tests of this folder start it: alone or on ranks, with nothing of the caller's MPI."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

FULL = os.environ.get("AMRBENCH_FULL") == "1"  # tests in their full size
AMRBENCH, MPIEXEC = "", ""


def take_arguments(count=2):
    """Takes the first `count` words of the command line, as absolute paths: AMRBENCH, MPIEXEC and the test's own, which are
    returned. The others are left to unittest."""
    global AMRBENCH, MPIEXEC
    if len(sys.argv) <= count:
        sys.exit(f"{sys.argv[0]}: {count} arguments are needed; the head of the file names them")
    paths = [os.path.abspath(word) for word in sys.argv[1:1 + count]]
    del sys.argv[1:1 + count]
    AMRBENCH, MPIEXEC = os.path.realpath(paths[0]), paths[1]
    return paths[2:]


def on_ranks(ranks, *options):
    """What stands before the program's name; nothing for 0 ranks: then it is started without mpiexec."""
    return [MPIEXEC, *options, "-n", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks else []


def command(*args, ranks=0):
    return [*on_ranks(ranks), AMRBENCH, *args]


def environment(threads=1, **more):
    """More ranks than cores: ranks that wait give their core away."""
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                OMP_WAIT_POLICY="passive", OMP_NUM_THREADS=str(threads), **more)


# Sanitizers take address space for themselves, and their time.
SANITIZED = any(name in os.environ for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"))


def limit(memory):
    """What a process does first that may have so many bytes of address space; 0: nothing, as where it is sanitized."""
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory and not SANITIZED else None


def call(words, threads=1, cwd=None, env=None, memory=0, timeout=200):
    """(status, standard output, standard error) of a command."""
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", errors="surrogateescape", timeout=timeout,
                          cwd=cwd, env=environment(threads, **(env or {})), stdin=subprocess.DEVNULL, preexec_fn=limit(memory),
                          check=False)
    return done.returncode, done.stdout, done.stderr


def run(*args, ranks=0, **how):
    """call() of the program; memory: bytes of address space that it may have, 0: all."""
    return call(command(*args, ranks=ranks), **how)


def error_lines(text):
    """The program's own lines of error among what mpiexec says."""
    return [line for line in text.splitlines() if line.startswith("amrbench: error: ")]


class FolderCase(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="amrbench-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def load(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)
