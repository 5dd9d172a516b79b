"""Speed-up and efficiency of a scaling study, from its result set (docs/studies.md).

Speed-up is against the case with the fewest workers (GPUs, else threads of all ranks) of its series, that is of the
cases that differ only in where they run; medians over repetitions. Strong: S = t0 / t, efficiency = S / (workers /
workers0). Weak: cell updates a second over those of the first, divided by workers / workers0 for the efficiency; where
the work a worker is the same this is Gustafson's t0 / t, and where a mesh grows by a little more or less it stays fair.
"""
import csv
import io
import statistics
from pathlib import Path
from typing import Any

from studies.store import read_json, write_whole
from studies.study import PLACES

PHASES = ("stencil", "halo", "refine", "balance", "migrate", "checksum", "output", "checkpoint", "other")


def time_of(folder: Path, run: dict) -> tuple[float, dict]:
    """Seconds of a run and its record: totals.time_s of `amrbench run`, else the process's."""
    record = (read_json(folder / run["record"]) if run["record"] else None) or {}
    return record.get("totals", {}).get("time_s", run["seconds"]), record


def median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def measured(study: dict, folder: Path) -> list[dict[str, Any]]:
    """A row a case with a finished run."""
    rows = []
    for case in study["cases"]:
        runs = [time_of(folder, run) for run in case["runs"] if run["status"] == "done"]
        if not runs:
            continue
        times = [time for time, _ in runs]
        rates = [record["rates"]["cell_updates_per_s"] for _, record in runs if record.get("rates")]
        series = {name: value for name, value in case["values"].items() if name not in PLACES}
        row = {"series": ", ".join(f"{name.split('.')[-1]} {value}" for name, value in series.items()),
               "ranks": case["ranks"], "threads": case["threads"], "gpus": case["gpus"],
               "workers": case["gpus"] or case["ranks"] * case["threads"], "runs": len(runs), "time_s": median(times),
               "time_min_s": min(times), "time_max_s": max(times), "cell_updates_per_s": median(rates)}
        for phase in PHASES:
            row[f"phases.{phase}.max_s"] = median([record["phases"][phase]["max_s"] for _, record in runs
                                                   if phase in record.get("phases", {})])
        rows.append(row)
    return rows


def table(study: dict, folder: Path) -> list[dict[str, Any]]:
    """The rows with speed-up and efficiency, series by series, fewest workers first."""
    rows = measured(study, folder)
    order = list(dict.fromkeys(row["series"] for row in rows))
    rows.sort(key=lambda row: (order.index(row["series"]), row["workers"], row["ranks"]))
    first: dict[str, dict] = {}
    for row in rows:
        base = first.setdefault(row["series"], row)
        times = row["workers"] / base["workers"]
        if study["scaling"] == "weak" and row["cell_updates_per_s"] and base["cell_updates_per_s"]:
            row["speedup"] = row["cell_updates_per_s"] / base["cell_updates_per_s"]
        else:
            row["speedup"] = base["time_s"] / row["time_s"] * (times if study["scaling"] == "weak" else 1)
        row["speedup_ideal"] = times
        row["efficiency"] = row["speedup"] / times
    return rows


def report(study: dict, folder: Path) -> None:
    """Prints the table and writes DIR/scaling.csv."""
    rows = table(study, folder)
    if not rows:
        return
    text = io.StringIO()
    names = sorted(rows[0], key=lambda name: name.startswith("phases."))  # these last, else as they are
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "scaling.csv", text.getvalue())
    print(f"{study['scaling']} scaling, medians; speed-up against the fewest workers of a series")
    series = None
    for row in rows:
        if row["series"] != series:
            series = row["series"]
            if series:
                print(series)
            print(" ranks threads  gpus  runs      time s  updates/s  speed-up  ideal  efficiency")
        rate = f"{row['cell_updates_per_s']:.3g}" if row["cell_updates_per_s"] else "-"
        print(f"{row['ranks']:6} {row['threads']:7} {row['gpus']:5} {row['runs']:5} {row['time_s']:11.4g} {rate:>10} "
              f"{row['speedup']:9.2f} {row['speedup_ideal']:6.3g} {100 * row['efficiency']:9.1f} %")
