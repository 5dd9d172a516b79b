"""scripts/report.py: one HTML file that shows what records say, and the figures' data and pictures beside it.

A report loads nothing from anywhere. It never replaces a file that is not a report itself, nor writes into a folder
that no report made, unless it is told to. Files that are no records are named on the page.
"""
import argparse
import ctypes
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Sequence

LIST = "files.txt"  # in the folder of figures: what the report wrote there


class ReportError(Exception):
    """Why there is no report; one line. `status`: 1 it could not be written, 2 bad input."""

    def __init__(self, text: str, status: int = 2):
        super().__init__(text)
        self.status = status


def main(arguments: Sequence[str]) -> int:
    """The command line. Exit status: 0 done, 1 could not be written, 2 bad input; with --of-run the command's."""
    if list(arguments[:1]) == ["--of-run"] and len(arguments) > 1:
        return of_run(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="scripts/report.py",
        description="One HTML file that shows what records say.",
        usage="scripts/report.py [-h] [-o FILE] [--title TITLE] [--no-files] [--force] RESULTS...\n"
        "       scripts/report.py --of-run COMMAND...",
        epilog="--of-run runs COMMAND, whose last line names a run's result folder, and leaves report.html "
        "there; that is what scripts/run does. Exit status: 0 done, 1 could not be written, 2 bad input.")
    parser.add_argument("results",
                        nargs="+",
                        metavar="RESULTS",
                        help="result sets, run folders, records, or folders of these")
    parser.add_argument("-o",
                        "--out",
                        default="report.html",
                        metavar="FILE",
                        help="the page (default: report.html); figures' files "
                        "go into a folder beside it")
    parser.add_argument("--title", default="", help="its title")
    parser.add_argument("--no-files", action="store_true", help="only the page: no CSV, SVG and PNG beside it")
    parser.add_argument("--force", action="store_true", help="replace FILE even when it is no report")
    given = parser.parse_args(arguments)
    try:
        skipped = make(given.results, given.out, given.title, not given.no_files, given.force)
    except ReportError as error:
        print(f"report: {error}", file=sys.stderr)
        return error.status
    for path, reason in skipped[:5]:
        print(f"report: skipped {path}: {reason}", file=sys.stderr)
    if len(skipped) > 5:
        print(f"report: skipped {len(skipped) - 5} more files, named on the page", file=sys.stderr)
    print(given.out)
    return 0


def single_run_report(run_folder: str | os.PathLike) -> str:
    """A report of one run as `report.html` in its folder, without files beside it; its path. ReportError."""
    out = os.path.join(run_folder, "report.html")
    make([os.path.join(run_folder, "run.json")], out, "", False, False)
    return out


def of_run(command: Sequence[str]) -> int:
    """Runs a command, its output passed on as it comes, then makes the report of the run whose folder it names last.

    What becomes of the report changes neither output nor exit status. Signals that end this process go to the command.
    """
    child = subprocess.Popen(command,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM))  # PR_SET_PDEATHSIG

    def late(number: int, _: object) -> None:  # a terminal's Ctrl-C has reached the command itself
        threading.Timer(2, child.send_signal, [number]).start()

    signal.signal(signal.SIGINT, late)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    tail = b""
    while piece := os.read(child.stdout.fileno(), 65536):
        tail = (tail + piece)[-8192:]
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    status = child.wait()
    lines = tail.decode("utf-8", "replace").split()
    folder = tail.decode("utf-8", "replace").rstrip("\r\n").replace("\r", "\n").rsplit("\n", 1)[-1] if lines else ""
    if folder and os.path.isfile(os.path.join(folder, "run.json")):
        try:
            print(f"report: {single_run_report(folder)}", file=sys.stderr)
        except Exception as error:  # a run is good without its report
            print(f"report: none made: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
                  file=sys.stderr)
    return 128 - status if status < 0 else status


def make(paths: Sequence[str], out: str, title: str, files: bool, force: bool) -> list[tuple[pathlib.Path, str]]:
    """Writes the report; what was skipped. ReportError when nothing can be shown or written."""
    _check_packages()
    from . import report_data

    out = os.path.abspath(out)
    folder = os.path.splitext(out)[0] + "_files"
    _check_target(out, folder if files else None, force)
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise ReportError(f"{missing[0]}: no such file or folder")
    material = report_data.gather(paths)
    if material.empty():
        reason = f"; {material.skipped[0][0]}: {material.skipped[0][1]}" if material.skipped else ""
        raise ReportError(f"nothing to show: no record in {', '.join(map(str, paths))}{reason}")
    from . import page, report_head, report_points, report_records, report_runs, report_scaling, report_series, report_water
    from .album import Album

    try:
        with tempfile.TemporaryDirectory(prefix=".report-", dir=os.path.dirname(out)) as scratch:
            work = os.path.join(scratch, "files")
            os.mkdir(work)
            album = Album(work if files else None, os.path.basename(folder))
            sections = [
                report_head.failures(material),
                report_records.miniamr(material, album),
                report_water.floods(material, album),
                report_runs.cases(material, album),
                report_runs.phases(material, album),
                report_records.strategies(material, album),
                report_series.over_time(material, album),
                report_scaling.scaling(material, album),
                report_series.roofline(material, album),
                report_points.partitions(material, album),
                report_points.orb(material, album),
                report_records.benchmarks(material, album),
                report_head.notes(material),
                report_head.sources(material),
                report_head.skipped(material)
            ]
            text = page.render(title or report_head.title(material, paths), report_head.lead(material),
                               [section for section in sections if section],
                               os.path.basename(folder) if files else "")
            _write(text, out, scratch)
            if files:
                _write_files(album.names, work, folder)
    except OSError as error:
        raise ReportError(f"cannot write {error.filename or out}: {error.strerror}", 1) from None
    return material.skipped


def _check_packages() -> None:
    for name in ("jinja2", "matplotlib"):
        if importlib.util.find_spec(name) is None:
            raise ReportError(f"{sys.executable} has no {name}; scripts/install-packages studies installs it for "
                              "/usr/bin/python3")


def _check_target(out: str, folder: str | None, force: bool) -> None:
    from . import page

    if os.path.isdir(out):
        raise ReportError(f"{out} is a folder; -o must name a file")
    if not os.path.isdir(os.path.dirname(out)):
        raise ReportError(f"{os.path.dirname(out)}: no such folder")
    if force:
        return
    if os.path.exists(out) and not page.is_report(out):
        raise ReportError(f"{out} exists and is no report of amrbench; --force replaces it")
    if folder and os.path.lexists(folder) and _listed(folder) is None and (not os.path.isdir(folder)
                                                                           or os.listdir(folder)):
        raise ReportError(f"{folder} exists and was not made by a report; --force writes into it")


def _listed(folder: str) -> list[str] | None:
    """Names of files that a report wrote into the folder, or nothing when none did."""
    try:
        with open(os.path.join(folder, LIST), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return [name for name in lines[1:] if name == os.path.basename(name)] if lines[:1] == ["amrbench report"] else None


def _write(text: str, out: str, scratch: str) -> None:
    path = os.path.join(scratch, "page.html")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path, out)


def _write_files(names: Sequence[str], work: str, folder: str) -> None:
    """The figures' files take the place of those that the last report left; other files stay."""
    os.makedirs(folder, exist_ok=True)
    for name in _listed(folder) or []:
        pathlib.Path(folder, name).unlink(missing_ok=True)
    made = [f"{name}.{kind}" for name in names for kind in ("csv", "svg", "png")]
    for name in made:
        shutil.move(os.path.join(work, name), os.path.join(folder, name))
    with open(os.path.join(folder, LIST), "w", encoding="utf-8") as file:
        file.write("\n".join(["amrbench report", *made]) + "\n")
