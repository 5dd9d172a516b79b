"""The result set of a study on disk: what is done, kept so that no moment of a kill loses a finished run.

    DIR/cases/<id>/<repetition>/   one finished run: its record, output.txt and .status.json {"case", "run"}
    DIR/study.json, runs.csv       summaries, written anew from those folders
    DIR/study.toml                 the study as given
    DIR/.running/                  runs under way; emptied when a sweep begins
    DIR/.aside/<key>/               result sets of what was there before: another binary, machine or study text
    DIR/.aside/repeated/            failed runs that were done again

A run is made in .running/ and renamed when it is over, so cases/ holds whole runs only and is all the state there is.
"""
import csv
import fcntl
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.execute import digest

Flatten = Callable[[Path], dict[str, Any]]


class StoreError(Exception):
    """One line that names the folder and what is wrong with it."""


def write_whole(path: Path, text: str) -> None:
    """The file with this text or as it was, whatever happens meanwhile."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> dict | None:
    """The object in a file; None where it is absent or damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def read_runs(folder: Path) -> dict[str, dict]:
    """Finished runs below folder/cases: {id: {"case": ..., "runs": {repetition: entry}}}."""
    found: dict[str, dict] = {}
    for path in sorted((folder / "cases").glob("*/*/.status.json")):
        data = read_json(path)
        id, repetition = path.parts[-3:-1]
        if data and isinstance(data.get("case"), dict) and isinstance(data.get("run"), dict) and repetition.isdigit():
            found.setdefault(id, {"case": data["case"], "runs": {}})["runs"][int(repetition)] = data["run"]
    return found


def flatten_record(path: Path) -> dict[str, Any]:
    """The columns of a record; none where it cannot be read."""
    from studies import records
    try:
        return records.flatten(records.read_record(path))
    except records.RecordError:
        return {}


class Store:
    """A result set held by this process alone. Use as a context: the lock goes when it ends."""

    def __init__(self, folder: str | os.PathLike, flatten: Flatten = flatten_record, keep_running: bool = False):
        """keep_running: runs under way belong to others (jobs on other machines) and are left alone."""
        self.folder = Path(folder)
        self.keep_running = keep_running
        self.flatten = flatten
        self.found: dict[str, dict] = {}
        self.columns: dict[tuple[str, int], dict] = {}
        self.head: dict[str, Any] = {}
        self.cases: list[dict] = []
        self.csv_written = 0.0

    def __enter__(self) -> "Store":
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder}: is no folder")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            ours = {"study.json", "cases", ".lock", ".running", ".aside"}
            there = set(os.listdir(self.folder))
            if there and not there & ours:
                raise StoreError(f"{self.folder}: holds other files and no result set; give an empty or new folder")
            self.lock = open(self.folder / ".lock", "a+", encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{self.folder}: {error.strerror}") from None
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.seek(0)
            owner = self.lock.read().strip()
            self.lock.close()
            raise StoreError(f"{self.folder}: another sweep is at work there (process {owner or 'unknown'})") from None
        except OSError as error:
            self.lock.close()
            raise StoreError(f"{self.folder}: cannot be locked ({error.strerror}); take another file system") from None
        self.lock.truncate(0)
        self.lock.write(str(os.getpid()))
        self.lock.flush()
        if not self.keep_running:
            shutil.rmtree(self.folder / ".running", ignore_errors=True)
            (self.folder / ".running").mkdir(exist_ok=True)
        self.found = read_runs(self.folder)
        return self

    def __exit__(self, *_) -> None:
        if not self.keep_running:
            shutil.rmtree(self.folder / ".running", ignore_errors=True)
        self.lock.close()

    def old_study(self) -> dict | None:
        return read_json(self.folder / "study.json")

    def begin(self, head: dict, cases: list[dict], text: str) -> str:
        """Makes it the set of these cases. Returns one line on what was put aside and taken back; "" where nothing was.

        head: study.json without cases; a case: its entry without runs; text: the study's own.
        """
        old = self.old_study()
        if old and old.get("name") != head["name"]:
            raise StoreError(f"{self.folder}: holds the study '{old.get('name')}', not '{head['name']}'; "
                             "give another --out")
        self.head, self.cases = head, cases
        said = "; ".join(filter(None, (self.put_aside(old, text), self.take_back())))
        write_whole(self.folder / "study.toml", text)
        self.write(csv_too=True)
        return said

    def put_aside(self, old: dict | None, text: str) -> str:
        wanted = {case["id"] for case in self.cases}
        others = {id: entry for id, entry in self.found.items() if id not in wanted}
        if not others:
            return ""
        old = old or dict(self.head, cases=[])
        then, now = old.get("provenance", {}), self.head["provenance"]
        old_text = text
        try:
            old_text = (self.folder / "study.toml").read_text(encoding="utf-8")
        except OSError:
            pass
        reasons = [what for what, differs in (
            ("another binary", then.get("sha256") != now.get("sha256")),
            ("another machine", any(then.get(key) != now.get(key) for key in ("hostname", "cpu", "cores", "gpus"))),
            ("another text of the study", old_text != text)) if differs] or ["other options"]
        # The name is that of what was there, so that a second try after a kill goes on in the same folder.
        aside = self.folder / ".aside" / digest([then, old_text])[:8]
        (aside / "cases").mkdir(parents=True, exist_ok=True)
        write_whole(aside / "study.toml", old_text)
        count = 0
        for id, entry in others.items():
            if (aside / "cases" / id).exists():
                self.keep(aside / "cases" / id, id)
            os.rename(self.folder / "cases" / id, aside / "cases" / id)
            count += len(entry["runs"])
            del self.found[id]
        summarize(aside, old)
        return (f"{count} finished runs of {len(others)} cases are of {' and '.join(reasons)}: kept in {aside}, "
                f"and run anew where they are still asked for")

    def take_back(self) -> str:
        """Cases wanted now that an earlier change put aside."""
        count = 0
        for aside in sorted((self.folder / ".aside").glob("*/study.json")):
            taken = False
            for case in self.cases:
                source = aside.parent / "cases" / case["id"]
                if case["id"] not in self.found and source.is_dir():
                    (self.folder / "cases").mkdir(exist_ok=True)
                    os.rename(source, self.folder / "cases" / case["id"])
                    taken, count = True, count + 1
            if taken:
                summarize(aside.parent, read_json(aside) or dict(self.head, cases=[]))
        if count:
            self.found = read_runs(self.folder)
        if not count:
            return ""
        return f"{count} cases measured before with the same binary, machine and configuration are taken back"

    def runs(self, id: str) -> dict[int, dict]:
        return self.found.get(id, {}).get("runs", {})

    def next_order(self) -> int:
        return 1 + max((run["order"] for entry in self.found.values() for run in entry["runs"].values()), default=-1)

    def start(self, id: str, repetition: int) -> Path:
        """An empty folder for a run."""
        folder = self.folder / ".running" / f"{id}-{repetition}"
        folder.mkdir()
        return folder

    def drop(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)

    def finish(self, case: dict, folder: Path, run: dict) -> None:
        """Takes a finished run in: from here on it is never lost or done again."""
        final = self.folder / "cases" / case["id"] / str(run["repetition"])
        if run["record"]:
            run["record"] = f"cases/{case['id']}/{run['repetition']}/{run['record']}"
        write_whole(folder / ".status.json", json.dumps({"case": case, "run": run}, indent=1) + "\n")
        for name in os.listdir(folder):
            if (folder / name).is_file():
                with open(folder / name, "rb") as file:
                    os.fsync(file.fileno())
        sync_folder(folder)
        final.parent.mkdir(parents=True, exist_ok=True)
        if final.exists():
            self.keep(final, f"{case['id']}-{run['repetition']}")
        os.rename(folder, final)
        sync_folder(final.parent)
        self.found.setdefault(case["id"], {"case": case, "runs": {}})["runs"][run["repetition"]] = run
        self.columns.pop((case["id"], run["repetition"]), None)
        self.write(csv_too=time.monotonic() - self.csv_written > 30)

    def keep(self, path: Path, name: str) -> None:
        """Moves a folder whose place is needed to where nothing is lost."""
        repeated = self.folder / ".aside" / "repeated"
        repeated.mkdir(parents=True, exist_ok=True)
        os.rename(path, free_name(repeated / name))

    def study(self) -> dict:
        """study.json as it is now."""
        cases = [dict(case, runs=in_order(self.runs(case["id"]))) for case in self.cases]
        finished = all(len(case["runs"]) >= self.head["repetitions"] for case in cases)
        return dict(self.head, finished=finished, cases=cases)

    def write(self, csv_too: bool) -> None:
        write_whole(self.folder / "study.json", json.dumps(self.study(), indent=1) + "\n")
        if csv_too:
            self.write_csv()

    def write_csv(self) -> None:
        self.csv_written = time.monotonic()
        write_whole(self.folder / "runs.csv", self.csv_text())

    def csv_text(self) -> str:
        study = self.study()
        rows = []
        for case in study["cases"]:
            for run in case["runs"]:
                row = {"case": case["id"], "label": case["label"],
                       **{name: cell(case["values"].get(name)) for name in study["axes"]},
                       **{key: run[key] for key in ("repetition", "order", "status", "seconds", "message")}}
                for name, value in self.columns_of(case, run).items():
                    row.setdefault(name, cell(value))
                rows.append(row)
        names = list(dict.fromkeys(["case", "label", *study["axes"], "repetition", "order", "status", "seconds",
                                    "message", *(name for row in rows for name in row)]))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def columns_of(self, case: dict, run: dict) -> dict:
        key = (case["id"], run["repetition"])
        if key not in self.columns:
            self.columns[key] = self.flatten(self.folder / run["record"]) if run["record"] else {}
        return self.columns[key]


def in_order(runs: dict[int, dict]) -> list[dict]:
    return [runs[repetition] for repetition in sorted(runs)]


def free_name(path: Path) -> Path:
    """The path, with -2, -3 ... where it is taken."""
    number, free = 2, path
    while free.exists():
        free, number = path.with_name(f"{path.name}-{number}"), number + 1
    return free


def summarize(folder: Path, head: dict) -> None:
    """study.json of a set that was put aside, from its folders; the folder goes where nothing is left in it."""
    found = read_runs(folder)
    if not found:
        shutil.rmtree(folder)
        return
    cases = [dict(entry["case"], runs=in_order(entry["runs"])) for entry in found.values()]
    write_whole(folder / "study.json", json.dumps(dict(head, cases=cases), indent=1) + "\n")


def cell(value: Any) -> Any:
    """A value as one cell of one line: lists with semicolons, as in run.csv."""
    if isinstance(value, list):
        return ";".join(map(str, value))
    return "" if value is None else value.strip().replace("\n", "; ") if isinstance(value, str) else value
