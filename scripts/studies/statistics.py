"""Comparing two sets of repetitions: median ratios with bootstrap intervals, exact rank tests, many cases at once.

All is written for few repetitions (2 to 30) of times whose noise is skewed and has outliers, so nothing assumes a
normal distribution. Sources:
  H. B. Mann, D. R. Whitney, Ann. Math. Stat. 18 (1947) 50-60      the test of two sets, by counting
  F. Wilcoxon, Biometrics Bull. 1 (1945) 80-83                     the test of pairs
  B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993) percentile intervals, chapter 13
  S. Holm, Scand. J. Stat. 6 (1979) 65-70                          many tests at once
Ties get mid-ranks, and p-values stay exact: all assignments of the ranks that were seen are counted.
"""
import functools
import math
from typing import Sequence

import numpy

RESAMPLES = 2000  # of a bootstrap; medians of few values take few values, so more change little
EXACT = 60  # values of both sets together up to which p-values are counted; counts then fit into 64 bits


def doubled_ranks(values: Sequence[float]) -> numpy.ndarray:
    """Twice the mid-rank of each value, as integers: 2, 4, 6, ... without ties."""
    ordered = numpy.sort(numpy.asarray(values, float))
    return (numpy.searchsorted(ordered, values, "left") + numpy.searchsorted(ordered, values, "right") + 1).astype(int)


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided p-value that a and b come from one distribution.

    Exact up to EXACT values, ties included: the share of all ways to choose len(a) of the ranks whose sum is as far
    from its mean as the one seen. Ways are counted one rank after another: a way with k ranks and sum s either leaves
    the next rank r out, or is one with k - 1 ranks and sum s - r. Beyond, the normal approximation with ties and
    continuity.
    """
    if not len(a) or not len(b):
        return 1.0
    ranks = doubled_ranks([*a, *b])
    total, size = int(ranks.sum()), len(ranks)
    if size > EXACT:
        return _normal_p(ranks, len(a))
    ways = numpy.zeros((len(a) + 1, total + 1), numpy.int64)
    ways[0, 0] = 1
    for r in ranks:
        ways[1:, r:] += ways[:-1, :-r].copy()
    away = numpy.abs(size * numpy.arange(total + 1) - len(a) * total)  # size times the distance from the mean
    seen = abs(size * int(ranks[: len(a)].sum()) - len(a) * total)
    return float(ways[-1, away >= seen].sum() / math.comb(size, len(a)))


def _normal_p(ranks: numpy.ndarray, count: int) -> float:
    size = len(ranks)
    _, tied = numpy.unique(ranks, return_counts=True)
    spread = count * (size - count) / 12 * (size + 1 - float((tied**3 - tied).sum()) / (size * (size - 1)))
    if spread <= 0:
        return 1.0
    away = abs(float(ranks[:count].sum()) / 2 - count * (size + 1) / 2) - 0.5
    return math.erfc(max(0.0, away) / math.sqrt(2 * spread))


def signed_rank_p(differences: Sequence[float], capped: bool = True) -> float:
    """Two-sided p-value that differences of pairs lie symmetrically about 0; exact up to EXACT pairs.

    Wilcoxon's test, but that ranks above the middle one count as that one: it then finds nearly as much in normal
    noise, and more where now and then a run is much too slow (docs/comparing.md has figures). `capped` = False is
    Wilcoxon's own. Zeros are left out. Counted are the 2^n choices of signs for the ranks that were seen.
    """
    kept = numpy.asarray([d for d in differences if d != 0], float)
    if not len(kept):
        return 1.0
    ranks = doubled_ranks(numpy.abs(kept))
    if capped:
        ranks = numpy.minimum(ranks, len(kept) + 1)
    total = int(ranks.sum())
    seen = abs(2 * int(ranks[kept > 0].sum()) - total)
    if len(kept) > EXACT:
        return math.erfc(max(0, seen - 2) / math.sqrt(2 * float((ranks.astype(float) ** 2).sum())))
    ways = numpy.zeros(total + 1, numpy.int64)
    ways[0] = 1
    for r in ranks:
        ways[r:] += ways[:-r].copy()
    return float(ways[numpy.abs(2 * numpy.arange(total + 1) - total) >= seen].sum() / 2 ** len(kept))


def least_p(count_a: int, count_b: int, paired: bool) -> float:
    """The smallest p-value that so many repetitions can give."""
    return min(1.0, 2.0 ** (1 - min(count_a, count_b)) if paired else 2 / math.comb(count_a + count_b, count_a))


def repetitions_needed(tests: int, paired: bool, level: float = 0.05) -> int:
    """Repetitions of each set from which on one difference among so many tests can be told at this level."""
    count = 1
    while least_p(count, count, paired) * max(1, tests) >= level:
        count += 1
    return count


def median_ratio(a: Sequence[float], b: Sequence[float], paired: bool = False) -> float:
    """Median of b over median of a; of pairs the median of their ratios. 0 / 0 is 1."""
    if paired:
        return float(numpy.median(_over(numpy.asarray(b, float), numpy.asarray(a, float))))
    return float(_over(numpy.median(b), numpy.median(a)))


def _over(b: numpy.ndarray, a: numpy.ndarray) -> numpy.ndarray:
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(a == b, 1.0, numpy.divide(b, a))


@functools.lru_cache(maxsize=64)
def _draws(count: int, stream: int) -> numpy.ndarray:
    """Numbers of the values that each resample holds: RESAMPLES rows, the same each time."""
    return numpy.random.default_rng(stream).integers(0, count, (RESAMPLES, count))


def ratio_interval(a: Sequence[float], b: Sequence[float], paired: bool = False,
                   level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of median_ratio(a, b, paired) by percentiles; pairs are drawn together.

    The same input gives the same interval. With few repetitions it is too narrow (three: it spans what was seen, which
    holds the truth three times in four), so that it never decides without a test.
    """
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    if paired:
        drawn = numpy.median(_over(b, a)[_draws(len(a), 1)], axis=1)
    else:
        drawn = _over(numpy.median(b[_draws(len(b), 2)], axis=1), numpy.median(a[_draws(len(a), 1)], axis=1))
    ordered = numpy.sort(drawn)
    cut = int((1 - level) / 2 * RESAMPLES)
    return float(ordered[cut]), float(ordered[RESAMPLES - 1 - cut])


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected after Holm: calling all below 0.05 different errs at all in at most 5 of 100 sets of tests."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for k, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - k) * p_values[index]))
        corrected[index] = largest
    return corrected
