"""Runs clang-tidy on the sources of a build folder, in parallel: clang_tidy.py BUILD [--jobs N] [--all]

BUILD is configured (preset tidy), not built. A header is checked with the sources that include it, and sources that CMake
compiles together are checked together. What passed is not checked again until its text, that of a header of ours which it
includes, its command, .clang-tidy or clang-tidy itself changes: an empty file named by a hash of all these is kept in
${XDG_CACHE_HOME:-~/.cache}/amrbench/tidy. Paths count from the checkout, so that another checkout of the same sources finds
them; what was not used for 30 days goes. Micro-benchmarks (bench/) are checked with --all alone. Status 1 on findings.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLANG_TIDY = ["clang-tidy-14", "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
KEPT_DAYS = 30


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "amrbench" / "tidy"


@functools.cache
def read(path):
    return path.read_bytes()


@functools.cache
def direct_includes(path):
    """The files of ours that a file names; they stand below the checkout or beside it."""
    found = []
    for name in INCLUDE.findall(read(path)):
        for folder in (ROOT, ROOT / "tests", path.parent):
            candidate = folder / name.decode()
            if candidate.is_file():
                found.append(candidate)
                break
    return found


def files_of(source):
    """The source and every file of ours that it includes."""
    found = {source}
    todo = [source]
    while todo:
        for path in direct_includes(todo.pop()):
            if path not in found:
                found.add(path)
                todo.append(path)
    return sorted(found)


def fingerprint(entry, build, version):
    def relative(text):
        return text.replace(str(build), "BUILD").replace(str(ROOT), "ROOT").encode() + b"\0"

    digest = hashlib.sha256(relative(" ".join([version, *CLANG_TIDY])))
    digest.update(relative(entry["command"]))
    digest.update(read(ROOT / ".clang-tidy"))
    for path in files_of(pathlib.Path(entry["file"])):
        digest.update(relative(str(path)))
        # CMake's own files, which include several sources, name them by absolute paths.
        digest.update(relative(read(path).decode()) if path.is_relative_to(build) else read(path))
    return digest.hexdigest()


def check(build, source, passed):
    """Findings of one source as text, empty when there are none."""
    answer = subprocess.run([*CLANG_TIDY, "-p", build, source], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if answer.returncode == 0:
        passed.touch()
        return ""
    return answer.stdout or f"clang-tidy failed on {source}:\n{answer.stderr}"


def drop_old(cache):
    oldest = time.time() - KEPT_DAYS * 24 * 3600
    for path in cache.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="check also what passed before, and bench/")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    drop_old(cache)

    version = subprocess.run([CLANG_TIDY[0], "--version"], check=True, capture_output=True, text=True).stdout
    todo = []
    # CUDA sources are left out: nvcc's command lines are not clang's, and clang-tidy 14 does not know the toolkit.
    # A source of several programs (the tests' main) is checked once: clang-tidy goes through all its commands itself.
    entries = list({entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())
                    if not entry["file"].endswith(".cu")
                    and (arguments.all or not entry["file"].startswith(f"{ROOT}/bench/"))}.values())
    for entry in entries:
        passed = cache / fingerprint(entry, build, version)
        if arguments.all or not passed.exists():
            todo.append((entry["file"], passed))
        else:
            passed.touch()  # what is used stays
    # Largest first, so that the last one to end is short.
    todo.sort(key=lambda item: -sum(len(read(path)) for path in files_of(pathlib.Path(item[0]))))

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        reports = [report for report in pool.map(lambda item: check(build, *item), todo) if report]
    print("\n".join(dict.fromkeys(reports)), end="", file=sys.stderr)
    print(f"clang-tidy: {len(entries)} sources, {len(todo)} checked, {len(reports)} with findings")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
