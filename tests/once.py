"""once.py COMMAND...: runs a test, unless the same test has passed before.

The same: the same words, the same bytes of every file among them, the same environment of sanitizers, OpenMP and MPI, and the
same suppressions. A passed test leaves an empty file in $AMRBENCH_PASSED; without that variable every test is run.
The exit status is the test's.
"""

import hashlib
import os
import pathlib
import subprocess
import sys

ENVIRONMENT = ("ASAN_", "LSAN_", "UBSAN_", "TSAN_", "OMP_", "OMPI_", "AMRBENCH_")
SANITIZERS = pathlib.Path(__file__).resolve().parent / "sanitizers"


def fingerprint(words):
    root = str(pathlib.Path(__file__).resolve().parents[1])
    digest = hashlib.sha256()
    for word in words:
        path = pathlib.Path(word)
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        else:
            digest.update(word.encode() + b"\0")
    for name in sorted(os.environ):
        if name.startswith(ENVIRONMENT) and name != "AMRBENCH_PASSED":
            digest.update(f"{name}={os.environ[name]}".replace(root, "").encode() + b"\0")
    for path in sorted(SANITIZERS.glob("*.supp")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main():
    words = sys.argv[1:]
    passed = None
    if os.environ.get("AMRBENCH_PASSED"):
        passed = pathlib.Path(os.environ["AMRBENCH_PASSED"]) / fingerprint(words)
        if passed.exists():
            passed.touch()  # what is used stays
            print("passed before: the same program, arguments and environment")
            return 0
    status = subprocess.run(words).returncode
    if status == 0 and passed:
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.touch()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
