"""Compares two result sets case by case and says what got better and what got worse.

docs/comparing.md says what a set is, which cases belong together, and the rules; statistics.py has the methods.
"""
import argparse
import csv
import dataclasses
import io
import math
import os
import sys
from typing import Iterable, Sequence

from studies import matching, statistics
from studies.matching import Case, ResultSet, SetError
from studies.metrics import direction, default_metrics, is_measured

LEVEL = 0.05  # of the tests
VERDICTS = ("worse", "improved", "undecided", "same")


@dataclasses.dataclass
class Row:
    """One metric of one case in both sets. Percentages are of the baseline."""

    metric: str
    case: str
    higher_is_better: bool
    measured: bool  # a time, or what follows from one: differs from repetition to repetition
    of: tuple = ()  # the same for all metrics of one case and row
    a: list[float] = dataclasses.field(default_factory=list)
    b: list[float] = dataclasses.field(default_factory=list)
    paired: bool = False
    ratio: float = math.nan
    interval: tuple[float, float] | None = None
    p: float | None = None  # None: no test, for the values do not vary
    p_corrected: float | None = None
    verdict: str = "undecided"
    note: str = ""

    @property
    def percent(self) -> float:
        return 100 * (self.ratio - 1)


# --- Rows ------------------------------------------------------------------------------------------------------------


def make_rows(a: Case, b: Case, metrics: Sequence[tuple[str, bool]], force_pairs: bool, defaults: bool) -> list[Row]:
    """The rows of one matched pair of cases, not yet judged. Failures are rows of the metric `status`."""
    label = joint_label(a.label, b.label)
    rows = failure_rows(a, b, label)
    names = list(dict.fromkeys([*a.rows(), *b.rows()]))
    single = len(a.rows()) == len(b.rows()) == 1
    for name in names[:1] if single else names:
        # A single row of each belongs together even where its name holds what --baseline and --candidate tell apart.
        places = (a.rows()[0], b.rows()[0]) if single else (name, name)
        many = len(names) > 1 and not single
        shown = (name or label) if a.kind == "benchmark" else f"{label}: {name}" if many else label
        for metric, higher in metrics:
            numbers = a.numbers(places[0], metric), b.numbers(places[1], metric)
            if not all(numbers):
                both = places[0] in a.rows() and places[1] in b.rows()
                if any(numbers) and both and not defaults:
                    side = "baseline" if numbers[0] else "candidate"
                    rows.append(Row(metric, shown, higher, True, note=f"only the {side} has it"))
                continue
            row = Row(metric, shown, higher, is_measured(metric, a.kind), (id(a), name))
            common = sorted(numbers[0].keys() & numbers[1].keys())
            if force_pairs and (len(common) < len(numbers[0]) or len(common) < len(numbers[1])):
                raise SetError(f"--paired: {label}: {len(numbers[0])} and {len(numbers[1])} repetitions do not pair")
            row.paired = len(common) > 1 and (force_pairs or matching.interleaved(a, b))
            row.a, row.b = (([n[k] for k in common] if row.paired else list(n.values())) for n in numbers)
            rows.append(row)
    return rows


def joint_label(a: str, b: str) -> str:
    """Both labels, what they share once: "block 8, morton | hilbert"."""
    parts = a.split(", "), b.split(", ")
    if len(parts[0]) != len(parts[1]):
        return f"{a} | {b}"
    return ", ".join(one if one == other else f"{one} | {other}" for one, other in zip(*parts))


def failure_rows(a: Case, b: Case, label: str) -> list[Row]:
    failed = a.failures(), b.failures()
    if not any(failed):
        return []
    row = Row("status", label, False, False, (id(a),), [len(failed[0]) / len(a.runs)] if a.runs else [],
              [len(failed[1]) / len(b.runs)] if b.runs else [])
    row.note = "; ".join(f"{len(runs)} of {len(case.runs)} {runs[0].status} in the {side}"
                         + (f" ({runs[0].message})" if runs[0].message else "")
                         for runs, case, side in zip(failed, (a, b), ("baseline", "candidate")) if runs)
    share = [row.a[0] if row.a else 0.0, row.b[0] if row.b else 0.0]
    # A run that fails is no noise: one failure where there was none is worse.
    row.verdict = "same" if share[0] == share[1] else "worse" if share[1] > share[0] else "improved"
    return [row]


def analyse(rows: Iterable[Row], threshold: float) -> None:
    """Fills in ratios, intervals, corrected p-values and verdicts of all rows of a comparison."""
    rows = [row for row in rows if row.a and row.b and row.metric != "status"]
    tests: dict[tuple, float] = {}
    keys: list[tuple | None] = []
    for row in rows:
        row.ratio = statistics.median_ratio(row.a, row.b, row.paired)
        if not row.measured and len(set(row.a)) == len(set(row.b)) == 1:
            keys.append(None)
            continue
        if min(len(row.a), len(row.b)) > 1:
            row.interval = statistics.ratio_interval(row.a, row.b, row.paired)
        if row.paired:
            row.p = statistics.signed_rank_p([y - x for x, y in zip(row.a, row.b)] if 0 in row.a or 0 in row.b
                                             else [math.log(y / x) for x, y in zip(row.a, row.b)])
        else:
            row.p = statistics.mann_whitney_p(row.a, row.b)
        # Metrics of a case that put its runs in one order (time, and updates a second) are one test, not two.
        ranks = tuple(statistics.doubled_ranks(row.a + row.b).tolist())
        keys.append((row.of, min(ranks, tuple(2 * len(ranks) + 2 - r for r in ranks)), row.paired))
        tests[keys[-1]] = min(row.p, tests.get(keys[-1], 1.0))
    corrected = dict(zip(tests, statistics.holm(list(tests.values()))))
    for row, key in zip(rows, keys):
        row.p_corrected = None if key is None else corrected[key]
        judge(row, threshold)
    needed(rows, len(tests))


def judge(row: Row, threshold: float) -> None:
    """The verdict of one row; `threshold` is a share of the baseline. See docs/comparing.md, "Rules"."""
    change = row.ratio - 1
    if row.p_corrected is None:  # exact values
        far = abs(change) > threshold
    else:
        ends = row.interval
        far = abs(change) > threshold and row.p_corrected < LEVEL and ends is not None and (ends[0] > 1 or ends[1] < 1)
        enough = statistics.least_p(len(row.a), len(row.b), row.paired) < LEVEL
        within = ends is not None and enough and ends[0] >= 1 - threshold and ends[1] <= 1 + threshold
        if not far and not within:
            row.verdict = "undecided"
            return
    row.verdict = ("improved" if (change > 0) == row.higher_is_better else "worse") if far else "same"


def needed(rows: list[Row], tests: int) -> None:
    """Notes at undecided rows that had too few repetitions for any difference to be told."""
    for row in rows:
        if row.verdict == "undecided" and row.p is not None:
            if statistics.least_p(len(row.a), len(row.b), row.paired) * tests >= LEVEL:
                count = statistics.repetitions_needed(tests, row.paired)
                row.note = "; ".join(part for part in (row.note, f"too few repetitions, take {count}") if part)


# --- Comparing -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Comparison:
    rows: list[Row]
    notes: list[str]
    refusals: list[str]
    unmatched: list[tuple[str, str]]  # (set's path, case)


def compare(a: ResultSet, b: ResultSet, metrics: Sequence[tuple[str, bool]] = (), threshold: float = 0.02,
            paired: bool = False, allow: Sequence[str] = (), ignored: Sequence[str] = ()) -> Comparison:
    """Compares two sets. Refusals name what makes them incomparable; the rows are then not to be used. SetError."""
    pairs, left, right = matching.match(a.cases, b.cases, ignored)
    if not pairs:
        raise SetError(f"no case of {a.path} ({_some(a.cases)}) is in {b.path} ({_some(b.cases)})")
    unmatched = [(a.path, case.label) for case in left] + [(b.path, case.label) for case in right]
    rows: list[Row] = []
    for one, other in pairs:
        chosen = metrics or [(name, bool(direction(name))) for name in default_metrics(one.kind)]
        rows += make_rows(one, other, chosen, paired, not metrics)
        ours, theirs = one.rows(), other.rows()
        if not ours or not theirs or len(ours) == len(theirs) == 1:
            continue
        if not set(ours) & set(theirs):
            raise SetError(f"{one.label}: the two records have no row in common")
        unmatched += [(a.path, f"{one.label}: {name}") for name in ours if name not in theirs]
        unmatched += [(b.path, f"{other.label}: {name}") for name in theirs if name not in ours]
    if metrics:
        _check_metrics(metrics, rows, [case for pair in pairs for case in pair])
    if not rows:
        raise SetError(f"{a.path} and {b.path} have no default metric in common; name one with --metric")
    analyse(rows, threshold)
    refusals, notes = provenance(pairs, allow, ignored, any(row.measured for row in rows))
    return Comparison(rows, notes, refusals, unmatched)


def _some(cases: list[Case]) -> str:
    labels = [case.label for case in cases]
    return "; ".join(labels[:3]) + (f"; and {len(labels) - 3} more" if len(labels) > 3 else "")


def _check_metrics(metrics: Sequence[tuple[str, bool]], rows: list[Row], cases: list[Case]) -> None:
    for metric, _ in metrics:
        if any(row.metric == metric for row in rows):
            continue
        names = sorted({name for case in cases for run in case.done() for row in run.rows.values() for name in row})
        near = [name for name in names if metric.rsplit(".", 1)[-1] in name] or names
        raise SetError(f"--metric {metric}: in none of the records; there are {', '.join(near[:12])}"
                       f"{' ...' if len(near) > 12 else ''}")


def provenance(pairs: list[tuple[Case, Case]], allow: Sequence[str], ignored: Sequence[str],
               measured: bool) -> tuple[list[str], list[str]]:
    """(refusals, notes): what differs between the sets in a way that makes times, or the cases, incomparable."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    for a, b in pairs:
        differences = dict(matching.differing(a, b, ignored))
        if measured:
            differences.update(matching.other_machine(a, b))
        for name, values in differences.items():
            table = found.setdefault(name, {})
            table[values] = table.get(values, 0) + 1
    refusals, notes = [], []
    for name, table in found.items():
        values, _ = max(table.items(), key=lambda item: item[1])
        left, right = _words_that_differ(*values) if name == "flags" else values
        line = f"{name} differs: {left or 'none'} | {right or 'none'} ({sum(table.values())} of {len(pairs)} cases)"
        if name in allow:
            notes.append(line)
        else:
            refusals.append(f"{line}; --allow {name} compares all the same")
    return refusals, notes


def _words_that_differ(a: str, b: str) -> tuple[str, str]:
    words = a.split(), b.split()
    return tuple(" ".join(word for word in one if word not in other) for one, other in (words, words[::-1]))


# --- Output ----------------------------------------------------------------------------------------------------------

HEADS = ("Benchmark", "Baseline", "Candidate", "Difference", "% Difference", "95 % interval", "p", "n", "Verdict")


def table(rows: list[Row]) -> str:
    """A table a metric, as text."""
    text = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        cells = [HEADS] + [cells_of(row) for row in mine]
        wide = [max(len(line[k]) for line in cells) for k in range(len(HEADS))]
        if metric != "status":
            text.append(f"{metric} ({'higher' if mine[0].higher_is_better else 'lower'} is better)")
        else:
            text.append("status (share of failed runs)")
        for k, line in enumerate(cells):
            middle = [cell.rjust(w) for cell, w in zip(line[1:-1], wide[1:-1])]
            text.append("  ".join([line[0].ljust(wide[0]), *middle, line[-1]]))
            if k == 0:
                text.append("  ".join("-" * w for w in wide))
        text.append("")
    return "\n".join(text)


def cells_of(row: Row) -> tuple[str, ...]:
    a, b = (statistics.numpy.median(side) if side else math.nan for side in (row.a, row.b))
    difference = float(statistics.numpy.median([y - x for x, y in zip(row.a, row.b)])) if row.paired else b - a
    low, high = row.interval or (math.nan, math.nan)
    p = "-" if row.p is None else "< 0.0001" if (row.p_corrected or 0) < 1e-4 else f"{row.p_corrected:.4f}"
    verdict = row.verdict + (f" ({row.note})" if row.note else "")
    return (row.case, _number(a), _number(b), _number(difference, "+"), _number(row.percent, "+", ".2f"),
            f"[{100 * (low - 1):+.2f}, {100 * (high - 1):+.2f}]" if row.interval else "-", p,
            f"{len(row.a)} pairs" if row.paired else f"{len(row.a)}, {len(row.b)}", verdict)


def _number(value: float, sign: str = "", form: str = ".5g") -> str:
    return "-" if math.isnan(value) else format(float(value), sign + form)


def to_csv(rows: list[Row]) -> str:
    """One line a row; ratios and intervals as shares of the baseline, p-values as tested and as corrected."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["metric", "case", "higher_is_better", "baseline", "candidate", "ratio", "ratio_low", "ratio_high",
                     "p", "p_corrected", "repetitions_baseline", "repetitions_candidate", "paired", "verdict", "note"])
    for row in rows:
        median = [float(statistics.numpy.median(side)) if side else "" for side in (row.a, row.b)]
        writer.writerow([row.metric, row.case, row.higher_is_better, *median,
                         "" if math.isnan(row.ratio) else row.ratio, *(row.interval or ("", "")), row.p,
                         row.p_corrected, len(row.a), len(row.b), row.paired, row.verdict, row.note])
    return file.getvalue()


def describe(side: str, result: ResultSet, cases: list[Case]) -> str:
    """One line on a set: where it is, how large, of which program and day."""
    runs = [run for case in cases for run in case.runs]
    commits = sorted({run.provenance.get("commit", "unknown")[:12] + ("+changes" if run.provenance.get("dirty") else "")
                      for run in runs if run.provenance})
    hosts = sorted({run.provenance["host"] for run in runs if run.provenance.get("host")})
    days = sorted({run.provenance["time_utc"] for run in runs if run.provenance.get("time_utc")})
    when = "" if not days else f", {days[0]}" + (f" to {days[-1]}" if days[-1] != days[0] else "")
    shown = " and ".join(commits[:3]) + (f" and {len(commits) - 3} more" if len(commits) > 3 else "")
    return (f"{side}: {result.path}: cases {len(cases)}, runs {len(runs)}, commit {shown or 'unknown'}"
            f"{' on ' + ' and '.join(hosts) if hosts else ''}{when}")


def changes(rows: list[Row]) -> list[str]:
    """A line for each row that is worse or improved, so that none drowns in a long table."""
    return [f"{row.verdict}: {row.case}: {row.metric}: {row.note if math.isnan(row.ratio) else f'{row.percent:+.2f} %'}"
            for word in ("improved", "worse") for row in rows if row.verdict == word]


def verdict_line(comparison: Comparison) -> str:
    count = {name: sum(row.verdict == name for row in comparison.rows) for name in VERDICTS}
    word = next((name for name in ("worse", "improved") if count[name]), "undecided" if count["undecided"] else "same")
    return (f"VERDICT: {word}: " + ", ".join(f"{count[name]} {name}" for name in VERDICTS)
            + f" of {len(comparison.rows)} rows; {len(comparison.unmatched)} unmatched")


# --- The command -----------------------------------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/compare.py", allow_abbrev=False,
        description="Compares two result sets case by case (docs/comparing.md).",
        epilog="Exit status: 0 no case worse, 1 some worse, 2 bad input or sets that cannot be compared.")
    parser.add_argument("a", metavar="A",
                        help="baseline: a folder of a sweep or of records, a record, or Google Benchmark's JSON")
    parser.add_argument("b", metavar="B", nargs="?", help="candidate; left out: A, split by --baseline and --candidate")
    parser.add_argument("--metric", action="append", default=[], metavar="NAME",
                        help="what to compare, as the docs name it; NAME:lower or NAME:higher says which is better. "
                             "Default: total time and figure of merit")
    parser.add_argument("--threshold", type=_percent, default=0.02, metavar="PERCENT",
                        help="differences up to this are the same (2)")
    parser.add_argument("--paired", action="store_true", help="repetition k of A belongs to repetition k of B")
    parser.add_argument("--allow", action="append", default=[], metavar="KEY",
                        help="compare although KEY differs; repeatable")
    for option, side in (("--baseline", "A"), ("--candidate", "B")):
        parser.add_argument(option, action="append", default=[], metavar="KEY=VALUE",
                            help=f"of {side} only the cases with this value; repeatable")
    parser.add_argument("--csv", metavar="OUT", help="write the rows as CSV")
    parser.add_argument("--force", action="store_true", help="--csv may replace a file")
    return parser.parse_args(arguments)


def _percent(text: str) -> float:
    try:
        value = float(text.strip().rstrip("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < 100:
        raise argparse.ArgumentTypeError(f"'{text}': give a percentage from 0 to 100")
    return value / 100


def chosen_metrics(given: list[str]) -> list[tuple[str, bool]]:
    """(name, higher is better) of each --metric."""
    metrics = []
    for text in given:
        name, _, better = text.partition(":")
        known = {"higher": True, "lower": False, "": direction(name)}.get(better)
        if known is None:
            ask = "give" if better else "say which is better:"
            raise SetError(f"--metric {text}: {ask} {name}:lower or {name}:higher")
        metrics.append((name, known))
    return metrics


def selectors(option: str, given: list[str]) -> dict[str, str]:
    for text in given:
        if "=" not in text or text.startswith("="):
            raise SetError(f"{option} {text}: give KEY=VALUE")
    return dict(text.split("=", 1) for text in given)


def run(arguments: argparse.Namespace) -> int:
    wanted = selectors("--baseline", arguments.baseline), selectors("--candidate", arguments.candidate)
    if not arguments.b and not any(wanted):
        raise SetError("give a second set, or --baseline KEY=VALUE and --candidate KEY=VALUE to split the one")
    if arguments.csv and os.path.exists(arguments.csv) and not arguments.force:
        raise SetError(f"--csv {arguments.csv}: exists already; --force replaces it")
    metrics = chosen_metrics(arguments.metric)
    a = matching.read_set(arguments.a)
    b = matching.read_set(arguments.b) if arguments.b else dataclasses.replace(a)
    a.cases, b.cases = (matching.select(one.cases, only, option) for one, only, option in
                        zip((a, b), wanted, ("--baseline", "--candidate")))
    allow = [key for text in arguments.allow for key in text.split(",")]
    comparison = compare(a, b, metrics, arguments.threshold, arguments.paired, allow, [*wanted[0], *wanted[1]])
    for path, reason in dict.fromkeys(a.skipped + b.skipped):
        print(f"compare: skipped {path}: {reason}", file=sys.stderr)
    print(describe("Baseline", a, a.cases))
    print(describe("Candidate", b, b.cases))
    for note in comparison.notes:
        print(f"note: {note}")
    for path, label in comparison.unmatched:
        print(f"unmatched, only in {path}: {label}")
    if comparison.refusals:
        for line in comparison.refusals:
            print(f"compare: {line}", file=sys.stderr)
        print("VERDICT: incomparable: " + ", ".join(line.split(" differs")[0] for line in comparison.refusals))
        return 2
    print()
    print(table(comparison.rows))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            file.write(to_csv(comparison.rows))
    print("\n".join([*changes(comparison.rows), verdict_line(comparison)]))
    return 1 if any(row.verdict == "worse" for row in comparison.rows) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    try:
        return run(parse(arguments))
    except (SetError, OSError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
