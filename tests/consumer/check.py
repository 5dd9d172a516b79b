"""Another project finds amrbench, in a build tree or in an install tree, and uses it.

usage: check.py build|install BUILD_FOLDER CMAKE GENERATOR CXX_COMPILER MPIEXEC

Nothing of amrbench is built here. The install tree is made in a temporary folder and moved before it is used, and must
name neither the checkout nor the build folder. Exit status 0: it works; 1 with what went wrong.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RANKS = (1, 3)
# Curves ask for no MPI; other versions and unknown components are refused.
REFUSALS = """cmake_minimum_required(VERSION 3.25)
project(refusals LANGUAGES CXX)
foreach(wrong "0.0" "0.2" "1.0" "0.1;COMPONENTS;curves")
  find_package(amrbench ${wrong} QUIET)
  if(amrbench_FOUND)
    message(FATAL_ERROR "find_package(amrbench ${wrong}) was not refused")
  endif()
endforeach()
find_package(amrbench 0.1 REQUIRED COMPONENTS sfc)
if(NOT TARGET amrbench::sfc OR TARGET amrbench::support OR TARGET MPI::MPI_CXX)
  message(FATAL_ERROR "COMPONENTS sfc brings something else")
endif()
"""


def call(*command: object, cwd: pathlib.Path | None = None) -> str:
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120, cwd=cwd)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def install(build: pathlib.Path, cmake: str, folder: pathlib.Path) -> pathlib.Path:
    """The install tree, moved from where it was installed; what it must have, and must not say."""
    call(cmake, "--install", build, "--prefix", folder / "staged")
    prefix = (folder / "staged").rename(folder / "prefix")
    cache = (build / "CMakeCache.txt").read_text()
    source = next(line.partition("=")[2] for line in cache.splitlines() if line.startswith("CMAKE_HOME_DIRECTORY:"))
    packages = list(prefix.glob("**/cmake/amrbench/*.cmake"))
    if len(packages) < 9:
        sys.exit(f"CMake files are missing in the install tree: {packages}")
    for file in packages:
        for folder_of_ours in (source, str(build), "staged"):
            if folder_of_ours in file.read_text():
                sys.exit(f"{file.name} of the install tree names {folder_of_ours}")
    version = call(prefix / "bin" / "amrbench", "--version")
    if not version.startswith("amrbench "):
        sys.exit(f"the installed program says {version!r}")
    return prefix


def check_flags(folder: pathlib.Path) -> None:
    """No warnings and no processor of ours; no fused contraction."""
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        unwanted = [word for word in words if word.startswith(("-W", "-march", "-mtune", "-O1"))]
        if unwanted or "-ffp-contract=off" not in words:
            sys.exit(f"{entry['file']} is compiled with {words}")


def main() -> None:
    tree, build, cmake, generator, compiler, mpiexec = sys.argv[1:]
    env = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
               OMP_NUM_THREADS="1")
    os.environ.update(env)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = pathlib.Path(build) if tree == "build" else install(pathlib.Path(build), cmake, folder)
        (folder / "refusals").mkdir()
        (folder / "refusals" / "CMakeLists.txt").write_text(REFUSALS)
        common = ["-G", generator, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF",
                  f"-DCMAKE_CXX_COMPILER={compiler}"]
        call(cmake, "-S", folder / "refusals", "-B", folder / "refusals" / "build", *common)
        page = (HERE.parents[1] / "docs" / "using-as-a-library.md").read_text()
        (folder / "example.cpp").write_text(re.search(r"```cpp\n(.*?)```", page, re.DOTALL)[1])
        call(cmake, "-S", HERE, "-B", folder / "build", *common, "-DCMAKE_BUILD_TYPE=Release",
             f"-DEXAMPLE={folder}/example.cpp", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        call(cmake, "--build", folder / "build")
        check_flags(folder / "build")
        for ranks in RANKS:
            text = call(mpiexec, "-n", ranks, "--oversubscribe", "--bind-to", "none", folder / "build" / "consumer")
            if f"consumer: passed on {ranks} ranks" not in text:
                sys.exit(f"the consumer on {ranks} ranks says {text!r}")
        text = call(folder / "build" / "example")
        if not re.fullmatch(r"level 3, key [0-9a-f]+\npart [0-7], full\n", text):
            sys.exit(f"the example says {text!r}")


if __name__ == "__main__":
    main()
