"""One run of a case: its command line, its id, the process and what became of it."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from studies.machine import Machine, content_hash, launch_line, mpi_environment
from studies.study import Case, Study, StudyError

RECORDS = {"run": "run.json", "partition": "partition.json", "orb": "orb.json", "replay": "replay.json"}
OUT = "OUT"  # stands for the result folder in the command lines that are kept
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50}
GRACE_S = 3.0  # from the request to end to the end by force


def toml_value(value) -> str:
    """A value as --set takes it: strings bare where they can be."""
    if isinstance(value, str):
        bare = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:/-]*", value) and value not in ("true", "false", "inf", "nan")
        return value if bare else json.dumps(value)
    return json.dumps(value)


@dataclass
class Launcher:
    """How cases become command lines here: program, machine, what starts ranks, and where inputs are."""
    study: Study
    program: str
    machine: Machine
    launcher: str  # mpirun, srun or none
    miniamr: str = ""
    configs: dict[str, str] = field(default_factory=dict)  # another place of a base file (job scripts)
    traces: str = ""  # folder of traces made for replays

    def arguments(self, case: Case, checking: bool = False) -> list[str]:
        """Words after the program's name, without those that place the results. `checking`: no GPU need be here."""
        if self.study.command == "run":
            if case.base.is_miniamr:
                words = ["run", "--miniamr", case.base.text]
            else:
                words = ["run", self.configs.get(case.base.text, case.base.text)]
            for key, value in case.settings.items():
                words += ["--set", f"{key}={toml_value(value)}"]
            words += ["--set", "device.backend=cuda"] if case.gpus and not checking else []
            return words + ["--threads", str(case.threads)]
        words = [self.study.command]
        if self.study.command == "replay":
            words.append(self.trace(case))
        for key, value in case.settings.items():
            if "." in key:
                continue  # of the trace
            option = "--" + key.replace("_", "-")
            if value is not False:
                words += [option] if value is True else [option, self.located(value)]
        if self.study.command == "orb" and case.gpus:
            words += ["--backend", "cuda"]
        return words + ["--threads", str(case.threads)]

    def located(self, value) -> str:
        """An option's value; a file that begins with ./ or ../ counts from the study's folder, as bases do."""
        kind, path = file_in(value)
        return kind + os.path.abspath(Path(self.study.path).parent / path) if path.startswith(".") else str(value)

    def identity_of(self, value):
        """What an option's value puts into an id: of a file its content."""
        kind, path = file_in(self.located(value))
        if os.path.isfile(path):
            return kind + content_hash(path)
        if path.startswith("/"):
            raise StudyError(f"{value}: no such file; ./ and ../ count from the folder of the study")
        return value

    def trace(self, case: Case) -> str:
        """The trace that a replay follows: the base, or what is made of it."""
        with open(case.base.text, "rb") as file:
            if file.read(15) == b"amrbench-trace ":
                return case.base.text
        settings = {key: value for key, value in case.settings.items() if "." in key}
        made_of = [content_hash(self.program), content_hash(case.base.text), settings]
        return os.path.join(self.traces, f"{case.base.label}-{digest(made_of)}.trace")

    def make_trace(self, case: Case) -> None:
        """Makes the trace of a replay where it is missing; whole or absent."""
        path = self.trace(case)
        if os.path.exists(path):
            return
        os.makedirs(self.traces, exist_ok=True)
        settings = [word for k, v in case.settings.items() if "." in k for word in ("--set", f"{k}={toml_value(v)}")]
        call([self.program, "trace", case.base.text, "-o", path + ".part", "--force", *settings])
        os.replace(path + ".part", path)

    def command_line(self, case: Case, out: str = OUT, confined: bool = False) -> list[str]:
        alone = self.study.command != "run" and case.ranks == 1
        launch = launch_line("none" if alone else self.launcher, case.ranks, case.threads, self.machine.cores, confined)
        if case.program == "miniamr":
            return [*launch, self.miniamr, *case.base.text.split()]
        words = [*launch, self.program, *self.arguments(case)]
        if self.study.command == "run":
            return [*words, "--progress", "none", "--out", out]
        return [*words, "--json", os.path.join(out, RECORDS[self.study.command])]

    def resolve(self, case: Case) -> tuple[str, int | None]:
        """What the case's id is made of, and the memory it takes at most (bytes, all ranks). StudyError if refused."""
        if case.program == "miniamr":
            return json.dumps([case.base.text, content_hash(self.miniamr)]), None
        if self.study.command == "run":
            text = call([self.program, *self.arguments(case, checking=True), "--dry-run"], case.label)
            return "\n".join(line for line in text.splitlines() if not line.startswith("#")), memory_of(text)
        base = content_hash(case.base.text) if case.base else None
        return json.dumps([base, sorted((key, self.identity_of(value)) for key, value in case.settings.items())]), None

    def identify(self, cases: list[Case]) -> list[int | None]:
        """Gives every case its id; returns the memory of each. StudyError where two are the same."""
        from concurrent.futures import ThreadPoolExecutor  # slow to load, and not needed for --help or a wrong key
        with ThreadPoolExecutor(max_workers=max(1, min(8, self.machine.cores))) as pool:
            resolved = list(pool.map(self.resolve, cases))
        where = self.machine.identity()
        binary = content_hash(self.program)
        seen: dict[str, str] = {}
        for case, (text, _) in zip(cases, resolved):
            placed = [case.ranks, case.threads, case.gpus]
            case.id = digest([self.study.command, text, binary, where, *placed, case.program])
            if case.id in seen:
                raise StudyError(f"{self.study.path}: '{seen[case.id]}' and '{case.label}' are the same case")
            seen[case.id] = case.label
        return [memory for _, memory in resolved]


def digest(value) -> str:
    """16 hex digits that stand for a value that JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def call(command: list[str], what: str = "") -> str:
    """Standard output of a command that must succeed; StudyError with its last line else."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=mpi_environment())
    except OSError as error:
        raise StudyError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise StudyError(f"{what + ': ' if what else ''}{error_line(done.stderr) or f'{command[0]} failed'}")
    return done.stdout


def error_line(text: str) -> str:
    """The line that says why: the program's error, else the last one that says anything."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
    errors = [line for line in lines if line.startswith("amrbench: error: ")]
    return (errors[0].removeprefix("amrbench: error: ") if errors else lines[-1] if lines else "")[:300]


def memory_of(text: str) -> int | None:
    """Bytes of all blocks of all ranks with every block refined, from the comments of a dry run."""
    found = re.search(r"^# .*refined to max_level: \d+ blocks, ([0-9.]+) (\w+)", text, re.M)
    return int(float(found.group(1)) * UNITS[found.group(2)]) if found and found.group(2) in UNITS else None


def file_in(value) -> tuple[str, str]:
    """(prefix, path) of a value such as ../machine.toml or file:/points.csv; the path is "" where it is none."""
    found = re.fullmatch(r"((?:file|blocks):)?((?:/|\.\.?/)[^:]+)", value) if isinstance(value, str) else None
    return (found.group(1) or "", found.group(2)) if found else ("", "")


class Running:
    """A process under way, under a leader of its own (setsid), with its output in output.txt."""

    def __init__(self, case: Case, repetition: int, order: int, folder: Path, command: list[str], limit_s: float,
                 cores: tuple[int, ...] = (), gpus: tuple[str, ...] = ()):
        self.case, self.repetition, self.order, self.folder = case, repetition, order, folder
        self.cores, self.gpus, self.command = cores, gpus, command
        environment = dict(mpi_environment(), OMP_NUM_THREADS=str(case.threads), AMRBENCH_TERMINAL="0")
        if gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
        # Should the sweep die, mpirun is asked to end, and ends its ranks.
        guard = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        self.started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self.begin = time.monotonic()
        self.deadline = self.begin + limit_s
        with open(folder / "output.txt", "wb") as output:
            self.process = subprocess.Popen([*guard, *command], stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, env=environment, start_new_session=True)

    def kill(self) -> None:
        """Ends all its processes: first by request, so that mpirun can end its ranks, then by force."""
        signal_run(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            pass
        signal_run(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def finish(self, command: str, timed_out: bool) -> dict:
        """The run's entry in study.json but for `record`'s folder, once the process has ended."""
        seconds = time.monotonic() - self.begin
        status = self.process.wait()
        # Ranks that outlive their mpirun would disturb whatever comes next.
        signal_run(self.process.pid, signal.SIGKILL)
        status = 128 - status if status < 0 else status
        name = RECORDS[command] if self.case.program == "amrbench" else "miniamr.json"
        if self.case.program == "miniamr" and status == 0 and not timed_out:
            keep_miniamr(self.folder)
        state, record, message = judge(self.folder, name, status, timed_out, seconds)
        return {"repetition": self.repetition, "order": self.order, "status": state, "exit_status": status,
                "started": self.started, "seconds": round(seconds, 6), "record": record, "message": message}


def leader_of(pid: str) -> int | None:
    """The process that called setsid above this one; None where there is no such process any more."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[3])
    except (OSError, IndexError, ValueError):
        return None


def signal_run(leader: int, number: int) -> None:
    """Signals all that a run started: ranks have process groups of their own, but the leader that setsid made."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if leader_of(pid) == leader:
            try:
                os.kill(int(pid), number)
            except (ProcessLookupError, PermissionError):
                pass


def judge(folder: Path, name: str, status: int, timed_out: bool, seconds: float) -> tuple[str, str | None, str]:
    """Status of a run, its record's name or None, and one line that says what was wrong."""
    record, valid = None, True
    try:
        with open(folder / name, encoding="utf-8") as file:
            data = json.load(file)
        record, valid = (name, data.get("valid", True)) if isinstance(data, dict) else (None, True)
    except (OSError, ValueError):
        pass
    said = ""
    try:
        said = error_line((folder / "output.txt").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        pass
    if timed_out:
        return "timeout", record, f"ended after {seconds:.0f} s, the limit"
    if record and valid is False:
        return "invalid", record, said or "the run's own checks failed"
    if status:
        return "failed", record, said or f"exit status {status}"
    return ("done", record, "") if record else ("failed", None, f"exit status 0, but no readable {name}")


def keep_miniamr(folder: Path) -> None:
    """miniamr.json: total and phases (s, slowest rank) as miniAMR prints them, under the names of the run record."""
    text = (folder / "output.txt").read_text(encoding="utf-8", errors="replace")
    total = re.search(r"Total time for test: ave, std, min, max \(sec\): +\S+ \S+ \S+ (\S+)", text)
    if not total:
        return
    times = re.findall(r"^ +Time: ave, stddev, min, max \(sec\): +\S+ \S+ \S+ (\S+)", text, re.M)
    phases = dict(zip(("stencil", "halo", "checksum", "refine"), map(float, times)))
    data = {"program": "miniAMR", "totals": {"time_s": float(total.group(1))},
            "phases": {name: {"max_s": seconds} for name, seconds in phases.items()}}
    (folder / "miniamr.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
