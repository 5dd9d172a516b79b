"""This machine and the program: what identifies a measurement, and how processes are bound to cores here."""
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    hostname: str
    cpu: str
    cores: int  # physical ones that this process may use
    processors: tuple[int, ...]  # one logical processor of each of them
    gpus: tuple[str, ...]  # their names
    gpu_ids: tuple[str, ...] = ()  # as CUDA_VISIBLE_DEVICES has them

    def identity(self) -> dict:
        """The part of a case's id that the machine gives."""
        return {"hostname": self.hostname, "cpu": self.cpu, "cores": self.cores, "gpus": list(self.gpus)}


def output_of(*command: str) -> str:
    """Standard output of a short command; empty where it fails or is missing."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def this_machine() -> Machine:
    allowed = os.sched_getaffinity(0)
    cpu = platform.machine()
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
        cpu = found.group(1).strip() if found else cpu
    except OSError:
        pass
    by_core: dict[str, int] = {}
    for line in output_of("lscpu", "-p=CPU,CORE,SOCKET").splitlines():
        if not line.startswith("#"):
            processor, core = line.split(",", 1)
            if int(processor) in allowed:
                by_core.setdefault(core, int(processor))
    processors = tuple(by_core.values()) or tuple(sorted(allowed))
    names = [line.split(":", 1)[1].split("(UUID")[0].strip() for line in output_of("nvidia-smi", "-L").splitlines()
             if line.startswith("GPU ")]
    ids = visible_gpus(len(names))
    gpus = tuple(names[int(id)] if id.isdigit() and int(id) < len(names) else id for id in ids)
    return Machine(platform.node(), cpu, len(processors), processors, gpus, ids)


def visible_gpus(count: int) -> tuple[str, ...]:
    """Those of `count` GPUs that may be used: all, or what CUDA_VISIBLE_DEVICES leaves."""
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if allowed is None or not count:
        return tuple(map(str, range(count)))
    return tuple(word.strip() for word in allowed.split(",") if word.strip())


@functools.cache
def content_hash(path: str) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def program_facts(program: str) -> dict[str, str | bool]:
    """version, commit, whether files had changed since (dirty), build, compiler and mpi as `amrbench info` has them."""
    text = output_of(program, "info")

    def line(name: str) -> str:
        found = re.search(rf"^  {name} +(.+)$", text, re.M)
        return found.group(1).strip() if found else "unknown"

    version = re.match(r"amrbench (\S+)", text)
    return {"version": version.group(1) if version else "unknown", "commit": line("commit").removesuffix("+changes"),
            "dirty": line("commit").endswith("+changes"), "build": line("type"), "compiler": line("compiler"),
            "mpi": line("MPI")}


def find_program(given: str) -> str | None:
    """The program's absolute path: the one given, else that of the release build; None where there is none."""
    build = os.environ.get("AMRBENCH_BUILD_ROOT") or Path(__file__).resolve().parents[2] / "build"
    path = given if given else str(Path(build) / "release" / "amrbench")
    if given and os.sep not in given:
        path = shutil.which(given) or given
    return os.path.abspath(path) if os.path.isfile(path) and os.access(path, os.X_OK) else None


@functools.cache
def binding_works() -> bool:
    """Whether Open MPI can bind here; in some containers it cannot."""
    command = ["mpirun", "--quiet", "-n", "1", "--map-by", "slot:PE=1", "--bind-to", "core", "true"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
                              env=mpi_environment())
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and not (done.stdout + done.stderr).strip()


def mpi_environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment.setdefault("OMPI_MCA_btl_base_warn_component_unused", "0")
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return environment


def launch_line(launcher: str, ranks: int, threads: int, cores: int, confined: bool = False) -> list[str]:
    """The words that start `ranks` ranks of `threads` threads, each bound to as many cores as it has threads.

    Ranks that outnumber the cores are not bound, nor are those that taskset confines to some of them (`confined`).
    """
    if launcher == "none":
        return []
    if launcher == "srun":
        return ["srun", f"--ntasks={ranks}", f"--cpus-per-task={threads}", "--cpu-bind=cores"]
    words = ["mpirun", "--quiet", "-n", str(ranks)]
    if os.environ.get("AMRBENCH_MPIRUN_FLAGS"):
        return words + os.environ["AMRBENCH_MPIRUN_FLAGS"].split()
    if ranks * threads > cores:
        return words + ["--oversubscribe", "--bind-to", "none"]
    if confined or not binding_works():
        return words + ["--oversubscribe", "--bind-to", "none"]
    return words + ["--map-by", f"slot:PE={threads}", "--bind-to", "core",
                    "-x", "OMP_PROC_BIND=close", "-x", "OMP_PLACES=cores"]
