"""How retrievers compare over the same questions, against figures worked out by hand."""

import pytest

from lexigraph.evaluation.comparison import BASELINES, Compared, compare, rivals
from lexigraph.evaluation.metrics import Estimate
from lexigraph.model.errors import InvalidInput


def test_traversal_must_not_be_worse_than_any_other_and_no_retriever_is_its_own_rival() -> None:
    assert rivals("traversal") == (*BASELINES, "semantic-guided")
    assert rivals("hybrid") == BASELINES
    assert rivals("fused") == ("vector", "bm25")


def test_the_difference_is_paired_with_the_rival_that_is_best() -> None:
    found = compare({"traversal": [0.5, 1.0], "fused": [0.5, 0.5], "bm25": [0.0, 0.5]}, ["x", "y"])["traversal"]
    assert (found.mean.mean, found.rival) == (0.75, "fused")
    assert found.difference == found.differences["fused"] == Estimate(0.25, 0.0, 0.5)
    assert found.differences["bm25"] == Estimate(0.5, 0.5, 0.5)
    assert found.by_type == {"x": (0.5, 1), "y": (1.0, 1)}


def test_what_gains_the_same_on_every_question_gains_that_for_sure_however_questions_differ() -> None:
    easy_and_hard = [0.1, 0.9, 0.5, 0.3] * 5
    found = compare({"hybrid": [v + 0.1 for v in easy_and_hard], "fused": easy_and_hard})["hybrid"]
    assert found.difference is not None
    assert (found.difference.low, found.difference.high) == pytest.approx((0.1, 0.1))
    assert found.mean.high - found.mean.low > 0.1


def test_one_retriever_alone_has_nothing_to_be_compared_with() -> None:
    assert compare({"fused": [1.0]}) == {"fused": Compared(Estimate(1.0, 1.0, 1.0), "", {}, {})}


def test_no_question_cannot_be_compared_over() -> None:
    with pytest.raises(InvalidInput, match="no question"):
        compare({"fused": []})
