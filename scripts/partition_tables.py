#!/usr/bin/env python3
"""Cuts the grids of Sasidharan's tables with `amrbench partition` and puts her numbers beside ours.

usage: scripts/partition_tables.py [--amrbench PROGRAM] [--methods NAMES] [--grids NAMES] [--without METHOD:GRID[:PARTS],...]
                                   [--threads N] [--work DIR] [--seconds N] [--json FILE] [--markdown FILE]
       scripts/partition_tables.py --trees [RECORD...] [--reference DIR] [--markdown FILE]

The tables are those of A. Sasidharan's dissertation (2018) on structured grids: 3.1 to 3.5 (768x1152, 9 points) and 4.1
to 4.7 (100^3, 200^3 and 200x100x150, 7 points). A run of the program takes one grid, one method and one part count, or
all counts where the method is quick. The record of each count stays in DIR (default build/partition_tables) and is not
made again as long as it lies there and is newer than the program; with --seconds no run is started after N seconds, and
the next call goes on. A method that the build lacks is named and left out.

With --trees it runs nothing: it puts her tables 2.1 to 2.13, 4.11 and 4.13, of trees and sorting, beside the records in --reference
(default results/reference), and 2.12 beside RECORDs of `mpiexec -n N amrbench partition ... --json RECORD`, which have stages.

"Worse" marks a row where our largest degree or edge cut is above the number of her table for the same method. Exit
status: 0 done, 1 a run failed, 2 bad input, 3 out of --seconds with runs left.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import tree_tables

QUICK = ("morton", "hilbert", "gensfc", "kd_parts")  # one run for all counts of a grid
METHODS = ("morton", "hilbert", "gensfc", "kd_parts", "metis_kway", "scotch")
TREE = "kd_parts"
TOLERANCE = 1.05  # of METIS's largest cut, for the parts-aware tree where the count is no power of two

# By grid: the input, and for each table its number, its lines in the plain text of the dissertation, our method,
# and rows {parts: (largest load, largest degree, largest cut)}. On the 9-point grid the text counts one byte an edge, so
# its "communication volume" is the edge cut.
GRIDS = {
    "768x1152": {
        "input": "grid:768x1152:9",
        "tables": [
            {"table": "3.1", "lines": "1435-1446", "method": "morton", "rows": {
                256: (3456, 13, 1140), 512: (1728, 13, 804), 1024: (864, 14, 564), 1500: (590, 13, 464),
                2048: (432, 14, 396), 3000: (295, 14, 320), 4096: (216, 14, 276), 6000: (148, 14, 226),
                8192: (108, 14, 192)}},
            {"table": "3.2", "lines": "1448-1459", "method": "hilbert", "rows": {
                256: (3456, 9, 1092), 512: (1728, 9, 710), 1024: (864, 9, 540), 1500: (590, 9, 464),
                2048: (432, 9, 350), 3000: (295, 10, 324), 4096: (216, 9, 264), 6000: (148, 9, 222),
                8192: (108, 9, 170)}},
            {"table": "3.3", "lines": "1461-1472", "method": "gensfc", "rows": {
                256: (3456, 8, 716), 512: (1728, 9, 572), 1024: (864, 8, 356), 1500: (590, 9, 464),
                2048: (432, 9, 284), 3000: (295, 10, 326), 4096: (216, 8, 176), 6000: (148, 9, 226),
                8192: (108, 9, 140)}},
            {"table": "3.4", "lines": "1478-1491", "method": "metis_kway", "rows": {
                128: (5164, 8, 684), 180: (3679, 8, 588), 256: (2592, 8, 504), 380: (1767, 9, 434),
                512: (1308, 8, 350), 750: (900, 9, 308), 1024: (659, 11, 298), 1500: (450, 9, 204),
                2048: (329, 9, 188), 3000: (225, 9, 144), 4096: (164, 9, 134)}},
            {"table": "3.5", "lines": "1497-1510", "method": "scotch", "rows": {
                128: (5160, 8, 760), 180: (3677, 9, 656), 256: (2583, 8, 506), 380: (1738, 10, 462),
                512: (1292, 8, 388), 750: (881, 10, 330), 1024: (646, 10, 290), 1500: (441, 11, 258),
                2048: (323, 10, 210), 3000: (221, 11, 166), 4096: (162, 10, 152)}},
        ],
    },
    "100x100x100": {
        "input": "grid:100x100x100:7",
        "tables": [
            {"table": "4.1", "lines": "1998-2011", "method": "metis_kway", "rows": {
                512: (1954, 20, 1286), 1000: (1030, 20, 842), 1024: (1005, 20, 838), 2000: (515, 24, 554),
                2048: (502, 21, 542), 4096: (251, 21, 334), 5000: (206, 22, 302), 6000: (171, 23, 262),
                8192: (125, 23, 216), 16384: (62, 23, 142), 32768: (31, 22, 91)}},
            {"table": "4.2", "lines": "2013-2026", "method": "morton", "rows": {
                512: (1954, 15, 1380), 1000: (1001, 17, 892), 1024: (977, 16, 884), 2000: (501, 16, 574),
                2048: (489, 17, 566), 4096: (245, 17, 314), 5000: (201, 17, 314), 6000: (167, 18, 282),
                8192: (123, 19, 232), 16384: (62, 18, 150), 32768: (31, 18, 92)}},
            {"table": "4.3", "lines": "2028-2041", "method": "gensfc", "rows": {
                512: (1954, 12, 1218), 1000: (1001, 15, 828), 1024: (977, 14, 800), 2000: (501, 15, 536),
                2048: (489, 15, 516), 4096: (245, 15, 354), 5000: (201, 16, 310), 6000: (167, 15, 270),
                8192: (123, 15, 214), 16384: (62, 16, 150), 32768: (31, 16, 96)}},
        ],
    },
    "200x200x200": {
        "input": "grid:200x200x200:7",
        "tables": [
            {"table": "4.4", "lines": "2047-2063", "method": "morton", "rows": {
                1000: (8001, 15, 3508), 1024: (7813, 17, 3468), 2000: (4001, 15, 2260), 2048: (3907, 16, 2240),
                4096: (1954, 17, 1400), 5000: (1601, 17, 1194), 6000: (1334, 18, 1072), 8192: (977, 17, 892),
                16384: (489, 17, 568), 32768: (245, 17, 360), 65535: (123, 18, 232), 131070: (62, 19, 150)}},
            {"table": "4.5", "lines": "2071-2085", "method": "gensfc", "rows": {
                1000: (8001, 15, 3316), 1024: (7813, 12, 2718), 2000: (4001, 15, 2128), 2048: (3907, 12, 1920),
                4096: (1954, 13, 1224), 5000: (1601, 16, 1192), 6000: (1334, 16, 1038), 8192: (977, 16, 800),
                16384: (489, 16, 516), 32768: (245, 16, 354), 65535: (123, 18, 214), 131070: (62, 17, 150)}},
        ],
    },
    "200x100x150": {
        "input": "grid:200x100x150:7",
        "tables": [
            {"table": "4.6", "lines": "2087-2100", "method": "morton", "rows": {
                1000: (3001, 15, 1994), 1024: (2930, 15, 1990), 2000: (1501, 16, 1284), 2048: (1465, 16, 1264),
                4096: (733, 16, 780), 5000: (601, 17, 698), 6000: (501, 18, 596), 8192: (367, 17, 520),
                16384: (184, 17, 342), 32768: (92, 18, 208), 65535: (46, 18, 134)}},
            {"table": "4.7", "lines": "2102-2115", "method": "gensfc", "rows": {
                1000: (3001, 16, 1832), 1024: (2930, 15, 1796), 2000: (1501, 17, 1164), 2048: (1465, 16, 1152),
                4096: (733, 16, 720), 5000: (601, 17, 622), 6000: (501, 18, 560), 8192: (367, 17, 458),
                16384: (184, 17, 302), 32768: (92, 18, 190), 65535: (46, 18, 120)}},
        ],
    },
}
NOTES = {
    "768x1152": "Tables 3.4 and 3.5 are not of this grid: their largest loads lie below its mean load (256 parts: 2592 "
                "and 2583, the mean is 3456), and their rows are those of tables 3.9 and 3.10, a mesh of the sphere. They "
                "are kept, but nothing is compared with them.",
}
MEASURES = ("load_max", "degree_max", "edge_cut_max")


def fail(status, text):
    print(f"partition_tables: {text}", file=sys.stderr)
    sys.exit(status)


def cells(name):
    product = 1
    for extent in name.split("x"):
        product *= int(extent)
    return product


def comparable(name, row, parts):
    """A largest load below the mean cannot be of this grid."""
    return row[0] * parts >= cells(name)


def seed_row(name, method, parts):
    """(table, row) of the text, or nothing."""
    for table in GRIDS[name]["tables"]:
        if table["method"] == method and parts in table["rows"]:
            return table["table"], table["rows"][parts]
    return None


def part_counts(name):
    """Counts of the rows that are of this grid."""
    return sorted({parts for table in GRIDS[name]["tables"] for parts, row in table["rows"].items()
                   if comparable(name, row, parts)})


def call(command):
    env = dict(os.environ)
    if os.getuid() == 0:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        fail(1, f"{' '.join(command[:8])} ... failed ({done.returncode}): {done.stderr.strip()[-400:]}")
    return done.stdout


def known_methods(program):
    text = call([program, "list"])
    if "Partitioners" not in text:
        fail(2, f"--amrbench: '{program}' knows no partitioners")
    return [line.split()[0] for line in text[text.index("Partitioners"):].splitlines()[1:] if line.startswith("  ")]


class Runner:
    """Runs the program once a case, or takes the record of an earlier call."""

    def __init__(self, arguments):
        self.program = arguments.amrbench
        self.threads = arguments.threads
        self.folder = arguments.work
        self.deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
        self.built = os.path.getmtime(self.program)
        self.left = 0
        self.provenance = {}
        os.makedirs(self.folder, exist_ok=True)

    def path(self, name, method, parts):
        return os.path.join(self.folder, f"{name}-{method}-{parts}.json")

    def fresh(self, path):
        return os.path.exists(path) and os.path.getmtime(path) >= self.built

    def run(self, name, method, counts):
        """Runs the program once for these counts and keeps a record a count."""
        if self.deadline and time.monotonic() > self.deadline:
            self.left += len(counts)
            return
        path = os.path.join(self.folder, "last.json")
        call([self.program, "partition", "--input", GRIDS[name]["input"], "--method", method, "--parts",
              ",".join(map(str, counts)), "--threads", str(self.threads), "--json", path, "--force"])
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        for row in record["rows"]:
            with open(self.path(name, method, row["parts"]), "w", encoding="utf-8") as file:
                json.dump({"rows": [row], "provenance": record["provenance"]}, file)

    def rows(self, name, method, counts):
        """(parts, row) of all counts that there is time for."""
        missing = [parts for parts in counts if not self.fresh(self.path(name, method, parts))]
        for group in [missing] if method in QUICK and missing else [[parts] for parts in missing]:
            self.run(name, method, group)
        for parts in counts:
            if self.fresh(self.path(name, method, parts)):
                with open(self.path(name, method, parts), encoding="utf-8") as file:
                    record = json.load(file)
                self.provenance = record["provenance"]
                yield parts, {**record["rows"][0], "commit": record["provenance"]["commit"]}


def compare(name, method, parts, ours):
    """One row of the record: ours, the text's, and what is worse."""
    found = seed_row(name, method, parts)
    row = {"parts": parts, "method": method, "ours": ours, "table": None, "seed": None, "worse": []}
    if found and comparable(name, found[1], parts):
        row["table"] = found[0]
        row["seed"] = dict(zip(MEASURES, found[1]))
        row["worse"] = [m for m in ("degree_max", "edge_cut_max") if ours[m] > row["seed"][m]]
    return row


def verdicts(name, rows):
    """What the project promises, counted: rows that hold and rows that do not."""
    by = {(row["method"], row["parts"]): row for row in rows}
    result = {}

    def check(key, parts, holds, text):
        entry = result.setdefault(key, {"hold": 0, "fail": []})
        if holds:
            entry["hold"] += 1
        else:
            entry["fail"].append(f"{parts}: {text}")

    for parts in sorted({row["parts"] for row in rows}):
        gensfc, metis, tree = (by.get((m, parts)) for m in ("gensfc", "metis_kway", TREE))
        if gensfc and gensfc["seed"]:
            seed, ours = gensfc["seed"], gensfc["ours"]
            for measure in ("edge_cut_max", "degree_max"):
                check(f"gensfc no worse than the text's in {measure}", parts, ours[measure] <= seed[measure],
                      f"{ours[measure]} against {seed[measure]}")
        if not metis:
            continue
        cut = metis["ours"]["edge_cut_max"]
        power = parts & (parts - 1) == 0
        if gensfc and power:
            ours = gensfc["ours"]["edge_cut_max"]
            check("gensfc at powers of two no worse than metis_kway here in edge_cut_max", parts, ours <= cut,
                  f"{ours} against {cut}")
        if tree and not power:
            ours = tree["ours"]["edge_cut_max"]
            check(f"{TREE} at other counts within 5 % of metis_kway here in edge_cut_max", parts, ours <= TOLERANCE * cut,
                  f"{ours} against {cut} ({100 * (ours / cut - 1):+.1f} %)")
            load = tree["ours"]["load_max"]
            best = -(-cells(name) // parts)
            check(f"{TREE} balances perfectly", parts, load <= best, f"largest load {load:.0f}, best {best}")
    return result


def markdown(record):
    lines = ["Each cell: largest cut / largest degree / largest load; `text` columns are the dissertation's. **Bold**: worse",
             "than the text in cut or degree.", ""]
    for name, grid in record["grids"].items():
        lines += [f"## {name}, {grid['input'].rsplit(':', 1)[1]} points", ""]
        if grid["note"]:
            lines += [grid["note"], ""]
        methods = [m for m in record["methods"] if any(row["method"] == m for row in grid["rows"])]
        with_text = [m for m in methods if any(row["method"] == m and row["seed"] for row in grid["rows"])]
        columns = [column for m in methods for column in ([f"{m} text", m] if m in with_text else [m])]
        lines += ["| parts | " + " | ".join(columns) + " |", "|--:|" + "--:|" * len(columns)]
        by = {(row["method"], row["parts"]): row for row in grid["rows"]}
        for parts in sorted({row["parts"] for row in grid["rows"]}):
            texts = []
            for m in methods:
                row = by.get((m, parts))
                if m in with_text:
                    texts.append(cell(row["seed"]) if row and row["seed"] else "")
                bold = "**" if row and row["worse"] else ""
                texts.append(bold + cell(row["ours"]) + bold if row else "")
            lines.append(f"| {parts} | " + " | ".join(texts) + " |")
        lines.append("")
        for promise, entry in grid["verdicts"].items():
            total = entry["hold"] + len(entry["fail"])
            lines.append(f"- {promise}: {entry['hold']} of {total}" + (f"; not {'; '.join(entry['fail'])}" if entry["fail"] else ""))
        lines.append("")
    return "\n".join(lines)


def cell(values):
    return f"{values['edge_cut_max']} / {values['degree_max']} / {values['load_max']:.0f}"


def parse():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--amrbench", default=os.path.join(here, "../build/release/amrbench"))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--grids", default=",".join(GRIDS))
    parser.add_argument("--parts", default="", help="only these counts, with commas")
    parser.add_argument("--without", default="", help="METHOD:GRID or METHOD:GRID:PARTS to leave out, with commas")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--work", default=os.path.join(here, "../build/partition_tables"))
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--json", default="")
    parser.add_argument("--markdown", default="")
    parser.add_argument("--trees", nargs="*", metavar="RECORD")
    parser.add_argument("--reference", default=os.path.join(here, "../results/reference"))
    arguments = parser.parse_args()
    arguments.methods = arguments.methods.split(",")
    arguments.grids = arguments.grids.split(",")
    arguments.without = [word for word in arguments.without.split(",") if word]
    for grid in arguments.grids:
        if grid not in GRIDS:
            fail(2, f"--grids: '{grid}' is none of {', '.join(GRIDS)}")
    try:
        arguments.parts = {int(word) for word in arguments.parts.split(",") if word}
    except ValueError:
        fail(2, f"--parts: '{arguments.parts}' must be whole numbers with commas between")
    if arguments.trees is None and not os.access(arguments.amrbench, os.X_OK):
        fail(2, f"--amrbench: '{arguments.amrbench}' is no program that can be run")
    for option in ("json", "markdown"):
        path = getattr(arguments, option)
        if path and os.path.exists(path):
            fail(2, f"--{option}: {path} exists; nothing is overwritten")
    return arguments


def write_trees(arguments):
    for record in arguments.trees:
        if not os.path.isfile(record):
            fail(2, f"--trees: {record}: no such record")
    text = tree_tables.markdown(arguments.reference, arguments.trees)
    if arguments.markdown:
        with open(arguments.markdown, "x", encoding="utf-8") as file:
            file.write(text)
    print(text)
    return 0


def main():
    arguments = parse()
    if arguments.trees is not None:
        return write_trees(arguments)
    known = known_methods(arguments.amrbench)
    missing = [m for m in arguments.methods if m not in known]
    if missing:
        print(f"partition_tables: not in this build, left out: {', '.join(missing)}", file=sys.stderr)
    methods = [m for m in arguments.methods if m in known]
    runner = Runner(arguments)
    grids = {}
    for name in arguments.grids:
        rows = []
        for method in methods:
            if f"{method}:{name}" in arguments.without:
                continue
            counts = [parts for parts in part_counts(name) if (not arguments.parts or parts in arguments.parts)
                      and f"{method}:{name}:{parts}" not in arguments.without]
            for parts, ours in runner.rows(name, method, counts):
                rows.append(compare(name, method, parts, ours))
                seed = rows[-1]["seed"]
                print(f"{name:<12} {method:<11} {parts:>6}  {cell(ours):<22}" + (f" text {cell(seed)}" if seed else "") +
                      ("  worse" if rows[-1]["worse"] else ""), flush=True)
        grids[name] = {"input": GRIDS[name]["input"], "note": NOTES.get(name, ""), "rows": rows,
                       "verdicts": verdicts(name, rows),
                       "text": [{**table, "comparable": all(comparable(name, row, parts)
                                                            for parts, row in table["rows"].items())}
                                for table in GRIDS[name]["tables"]]}
    if runner.left:
        print(f"partition_tables: out of time, {runner.left} runs left; call again", file=sys.stderr)
        return 3
    runner.provenance.pop("launch", None)  # it names folders of this machine
    record = {"source": "A. Sasidharan, dissertation, 2018, tables 3.1-3.5 and 4.1-4.7", "methods": methods,
              "missing_methods": missing, "left_out": arguments.without, "grids": grids, "provenance": runner.provenance,
              "repeat": "scripts/partition_tables.py" + (f" --without {','.join(arguments.without)}" if arguments.without else "")}
    text = markdown(record)
    for path, content in ((arguments.json, json.dumps(record, indent=1) + "\n"), (arguments.markdown, text + "\n")):
        if path:
            with open(path, "x", encoding="utf-8") as file:
                file.write(content)
    print("\n" + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
