"""The figures of an evaluation, against hand-computed values and an independent, slow calculation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.evaluation.metrics import MEASURES, Estimate, estimates, measure
from lexigraph.model.errors import InvalidInput


def figures(ranked: list[str], gold: list[str]) -> dict[str, float]:
    return dict(zip(MEASURES, measure(ranked, gold), strict=True))


def test_figures_of_a_ranking_worked_out_by_hand() -> None:
    ranked = ["x", "a", "y", "b", "z", "c", "u", "v", "w", "t", "d"]
    assert figures(ranked, ["a", "b", "c", "d"]) == {
        "recall@2": 1 / 4,
        "recall@5": 2 / 4,
        "recall@10": 3 / 4,
        "all-gold@5": 0.0,
        "MRR": 1 / 2,
    }


def test_all_gold_documents_among_the_first_five_count_as_all() -> None:
    found = figures(["x", "y", "b", "z", "a"], ["a", "b"])
    assert (found["recall@2"], found["recall@5"], found["all-gold@5"], found["MRR"]) == (0.0, 1.0, 1.0, 1 / 3)


def test_the_sixth_document_is_not_among_the_first_five() -> None:
    found = figures(["x", "y", "b", "z", "u", "a"], ["a", "b"])
    assert (found["recall@5"], found["recall@10"], found["all-gold@5"]) == (0.5, 1.0, 0.0)


def test_a_document_ranked_twice_takes_one_place_its_best() -> None:
    assert figures(["x", "x", "a"], ["a"])["recall@2"] == 1.0


def test_nothing_found_is_zero_in_every_measure() -> None:
    assert measure([], ["a"]) == (0.0,) * len(MEASURES)


def slowly(ranked: list[str], gold: list[str]) -> list[float]:
    """The same measures, place by place."""
    place: dict[str, int] = {}
    for document in ranked:
        if document not in place:
            place[document] = len(place) + 1
    places = [place.get(document, 10**9) for document in gold]
    recall = [sum(1 for p in places if p <= k) / len(places) for k in (2, 5, 10)]
    return [*recall, 1.0 if max(places) <= 5 else 0.0, 1 / min(places) if min(places) < 10**9 else 0.0]


documents = st.sampled_from("abcdefghijklmnopqr")


@given(st.lists(documents, max_size=25), st.lists(documents, min_size=1, max_size=5, unique=True))
def test_figures_equal_a_slow_calculation(ranked: list[str], gold: list[str]) -> None:
    assert list(measure(ranked, gold)) == pytest.approx(slowly(ranked, gold))


def test_the_mean_of_rows_and_an_interval_around_it() -> None:
    (of_half, of_one) = estimates([(0.0, 1.0), (1.0, 1.0)] * 50)
    assert of_one == Estimate(1.0, 1.0, 1.0)
    assert of_half.mean == 0.5
    # 100 coins: 95 % of the means lie within 1.96 * 0.5 / 10 of a half
    assert of_half.low == pytest.approx(0.402, abs=0.02)
    assert of_half.high == pytest.approx(0.598, abs=0.02)


def test_the_interval_equals_a_bootstrap_with_another_generator() -> None:
    values = [((7 * i) % 11) / 10 for i in range(60)]
    coin = random.Random(3)
    means = sorted(sum(coin.choices(values, k=60)) / 60 for _ in range(20_000))
    (found,) = estimates([(v,) for v in values])
    assert (found.low, found.high) == pytest.approx((means[500], means[19_500]), abs=0.015)


def test_the_interval_is_the_same_every_time() -> None:
    rows = [(i**0.5,) for i in range(40)]
    assert estimates(rows) == estimates(rows)


def test_no_question_has_no_mean() -> None:
    with pytest.raises(InvalidInput, match="no question"):
        estimates([])
