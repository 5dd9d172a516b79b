"""Runs clang-tidy on every source of a build folder, in parallel: clang_tidy.py BUILD [--jobs N]

A header is checked with the sources that include it. A source that passed is not checked again until its text, that of a
header of ours which it includes, its compile command or .clang-tidy changes: BUILD/tidy/ keeps an empty file named by a hash
of all these. The build must be up to date, since the includes come from ninja's log of dependencies. Status 1 on findings.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLANG_TIDY = ["clang-tidy-14", "--quiet", "--extra-arg=-Wno-unknown-warning-option"]


def dependencies(build):
    """Object file -> the files of ours it was compiled from."""
    found = {}
    current = []
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        if line.startswith("    "):
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                current.append(path)
        elif ": #deps" in line:
            current = found.setdefault(line.split(": #deps")[0], [])
    return found


def object_file(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def fingerprint(entry, files):
    digest = hashlib.sha256(" ".join(CLANG_TIDY).encode())
    digest.update(entry["command"].encode())
    digest.update((ROOT / ".clang-tidy").read_bytes())
    for path in sorted(set(files)):
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check(build, source, passed):
    """Findings of one source as text, empty when there are none."""
    answer = subprocess.run([*CLANG_TIDY, "-p", build, source], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if answer.returncode == 0:
        passed.touch()
        return ""
    return answer.stdout or f"clang-tidy failed on {source}:\n{answer.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    cache = build / "tidy"
    cache.mkdir(exist_ok=True)

    includes = dependencies(build)
    todo = []
    kept = set()
    # CUDA sources are left out: nvcc's command lines are not clang's, and clang-tidy 14 does not know the toolkit.
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if not entry["file"].endswith(".cu")]
    for entry in entries:
        files = includes.get(object_file(entry), []) + [pathlib.Path(entry["file"])]
        passed = cache / fingerprint(entry, files)
        kept.add(passed)
        if not passed.exists():
            todo.append((entry["file"], passed))
    for old in set(cache.iterdir()) - kept:
        old.unlink()
    # Largest first, so that the last one to end is short.
    todo.sort(key=lambda item: -pathlib.Path(item[0]).stat().st_size)

    reports = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        reports = [report for report in pool.map(lambda item: check(build, *item), todo) if report]
    print("\n".join(dict.fromkeys(reports)), end="", file=sys.stderr)
    print(f"{len(entries)} sources, {len(todo)} checked, {len(reports)} with findings")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
