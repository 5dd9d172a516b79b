"""The statistics of comparisons against published tables, brute force, and what they promise about errors."""
import itertools
import math
import pathlib
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from studies import statistics  # noqa: E402


def samples_with_u(m, n, u):
    """Two samples without ties, of m and n values, whose U is u: the m are the lowest, then the top ones move up."""
    places = list(range(m))
    for k in range(m - 1, -1, -1):
        step = min(u, n)
        places[k] += step
        u -= step
    assert u == 0
    return places, [x for x in range(m + n) if x not in places]


# One-sided P(U <= u) for equal sizes, from the tables of Mann and Whitney (1947), 3 decimals.
MANN_WHITNEY_1947 = {3: [.050, .100, .200, .350, .500], 4: [.014, .029, .057, .100, .171, .243, .343],
                     5: [.004, .008, .016, .028, .048, .075, .111, .155],
                     6: [.001, .002, .004, .008, .013, .021, .032, .047]}
# Largest U that is significant at 0.05 on two sides; the table found in most textbooks.
CRITICAL_U = {(4, 4): 0, (3, 5): 0, (5, 5): 2, (4, 7): 3, (6, 6): 5, (5, 8): 6, (7, 7): 8, (8, 8): 13, (5, 10): 8,
              (9, 9): 17,
              (10, 10): 23, (12, 12): 37, (15, 15): 64, (10, 20): 55, (20, 20): 127}
# The same for the smaller sum of signed ranks.
CRITICAL_W = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 20: 52, 25: 89}


@pytest.mark.parametrize("size", MANN_WHITNEY_1947)
def test_mann_whitney_table(size):
    for u, p in enumerate(MANN_WHITNEY_1947[size]):
        assert statistics.mann_whitney_p(*samples_with_u(size, size, u)) / 2 == pytest.approx(p, abs=0.0006)


@pytest.mark.parametrize("sizes", CRITICAL_U)
def test_mann_whitney_critical_values(sizes):
    u = CRITICAL_U[sizes]
    assert statistics.mann_whitney_p(*samples_with_u(*sizes, u)) <= 0.05
    assert statistics.mann_whitney_p(*samples_with_u(*sizes, u + 1)) > 0.05


@pytest.mark.parametrize("count", CRITICAL_W)
def test_signed_rank_critical_values(count):
    def with_sum(w):
        negative = set()
        for rank in range(count, 0, -1):
            if rank <= w:
                negative.add(rank)
                w -= rank
        return [-rank if rank in negative else rank for rank in range(1, count + 1)]
    assert statistics.signed_rank_p(with_sum(CRITICAL_W[count]), capped=False) <= 0.05
    assert statistics.signed_rank_p(with_sum(CRITICAL_W[count] + 1), capped=False) > 0.05


few = st.lists(st.integers(0, 6), min_size=1, max_size=6)


@given(few, few)
def test_mann_whitney_is_a_count_of_all_assignments(a, b):
    values, size = a + b, len(a) + len(b)

    def away(chosen):
        """Twice U of the chosen values, from its definition, less its mean."""
        rest = [values[k] for k in range(size) if k not in chosen]
        wins = sum(2 * (values[k] > y) + (values[k] == y) for k in chosen for y in rest)
        return abs(wins - len(a) * len(b))
    all_ways = [away(chosen) for chosen in itertools.combinations(range(size), len(a))]
    as_far = sum(one >= away(tuple(range(len(a)))) for one in all_ways)
    assert statistics.mann_whitney_p(a, b) == pytest.approx(as_far / math.comb(size, len(a)), abs=1e-12)
    assert statistics.mann_whitney_p(b, a) == pytest.approx(statistics.mann_whitney_p(a, b), abs=1e-12)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.booleans())
def test_signed_rank_is_a_count_of_all_signs(differences, capped):
    kept = [d for d in differences if d]
    sizes = sorted(map(abs, kept))
    ranks = [sizes.index(abs(d)) + 1 + (sizes.count(abs(d)) - 1) / 2 for d in kept]

    if capped:
        ranks = [min(rank, (len(kept) + 1) / 2) for rank in ranks]

    def away(signs):
        return abs(sum(s * r for s, r in zip(signs, ranks)))
    seen = away([1 if d > 0 else -1 for d in kept])
    ways = [away(signs) >= seen for signs in itertools.product((-1, 1), repeat=len(kept))]
    assert statistics.signed_rank_p(differences, capped) == pytest.approx(sum(ways) / len(ways), abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.3, 0.5, 0.8])
def test_many_values_come_near_the_exact_count(ties, shift, monkeypatch):
    generator = numpy.random.default_rng(7)
    a, b, d = generator.normal(0, 1, 30), generator.normal(shift, 1, 30), generator.normal(shift / 2, 1, 40)
    if ties:
        a, b, d = a.round(1), b.round(1), d.round(1)
    exact = statistics.mann_whitney_p(a, b), statistics.signed_rank_p(d)
    monkeypatch.setattr(statistics, "EXACT", 10)
    assert statistics.mann_whitney_p(a, b) == pytest.approx(exact[0], abs=0.003)
    assert statistics.signed_rank_p(d) == pytest.approx(exact[1], abs=0.006)


def test_outliers_hide_less_where_ranks_are_capped():
    differences = [5, 5.1, 4.9, 5.2, 4.8, 5.3, 4.7, 5.4, 4.6, -50]
    assert statistics.signed_rank_p(differences) < 0.05 < statistics.signed_rank_p(differences, capped=False)


def test_no_difference_and_nothing_to_compare():
    assert statistics.mann_whitney_p([5, 5, 5], [5, 5, 5]) == 1
    assert statistics.mann_whitney_p([1] * 40, [1] * 40) == 1  # beyond the exact count
    assert statistics.mann_whitney_p([], [1, 2]) == 1
    assert statistics.signed_rank_p([0, 0]) == 1
    assert statistics.median_ratio([0, 0], [0, 0]) == 1
    assert statistics.median_ratio([0, 0], [3, 3]) == math.inf


def test_holm():
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.holm([0.9, 0.8]) == [1, 1]
    assert statistics.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_keeps_the_order_and_lies_between_none_and_bonferroni(ps):
    corrected = statistics.holm(ps)
    assert all(p <= c <= min(1, len(ps) * p) + 1e-12 for p, c in zip(ps, corrected))
    order = sorted(range(len(ps)), key=lambda k: ps[k])
    assert all(corrected[x] <= corrected[y] for x, y in zip(order, order[1:]))


@given(st.integers(1, 300), st.booleans())
def test_repetitions_needed_is_the_fewest(tests, paired):
    count = statistics.repetitions_needed(tests, paired)
    ends = (range(count), range(count, 2 * count))
    p = statistics.signed_rank_p([y - x + k / 10 for k, (x, y) in enumerate(zip(*ends))]) if paired else \
        statistics.mann_whitney_p(*ends)
    assert p * tests < 0.05
    assert statistics.least_p(count - 1, count - 1, paired) * tests >= 0.05
    assert p == pytest.approx(statistics.least_p(count, count, paired))


positive = st.lists(st.floats(0.1, 10), min_size=2, max_size=12)


@settings(deadline=None, max_examples=40)
@given(positive, positive, st.floats(0.1, 10))
def test_intervals_hold_the_ratio_and_know_no_unit(a, b, unit):
    low, high = statistics.ratio_interval(a, b)
    assert min(b) / max(a) * 0.999 <= low <= high <= max(b) / min(a) * 1.001
    assert statistics.ratio_interval(a, b) == (low, high)  # the same each time
    scaled = statistics.ratio_interval([unit * x for x in a], [unit * x for x in b])
    assert scaled == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("paired", [False, True])
def test_intervals_hold_the_truth_as_often_as_they_say(paired):
    generator = numpy.random.default_rng(11)
    hits = 0
    for _ in range(300):
        drift = generator.normal(1, 0.2, 10) if paired else 1.0  # of the machine, common to a pair
        a, b = drift * generator.normal(100, 1, 10), drift * generator.normal(105, 1, 10)
        low, high = statistics.ratio_interval(a, b, paired)
        hits += low <= 1.05 <= high
    assert hits >= 0.9 * 300, hits


@pytest.mark.parametrize("test", ["mann_whitney", "signed_rank"])
def test_false_alarms_are_as_rare_as_the_level(test):
    generator = numpy.random.default_rng(5)
    trials, alarms = 2000, 0
    for _ in range(trials):
        a, b = generator.standard_t(1.5, 10), generator.standard_t(1.5, 10)  # heavy tails, no variance
        p = statistics.mann_whitney_p(a, b) if test == "mann_whitney" else statistics.signed_rank_p(b - a)
        alarms += p < 0.05
    assert alarms <= 0.05 * trials + 3 * math.sqrt(0.05 * 0.95 * trials), alarms
    assert alarms >= 0.02 * trials, alarms  # and it does not sleep
