"""What fits into a number of tokens, worked out by hand."""

import pytest

from lexigraph.evaluation.room import Handed, filling, gold_within, handed_over, parse_budgets, within
from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Source
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults
from lexigraph.retrieval.catalogue import RETRIEVERS, check_parameters

HANDED = (Handed("a", "One, two."), Handed("b", "Three four"), Handed("a", "five"), Handed("c", "six"))


def test_words_and_punctuation_marks_count_and_the_last_text_is_cut() -> None:
    assert within(HANDED, 4) == [Handed("a", "One, two.")]
    assert within(HANDED, 5) == [Handed("a", "One, two."), Handed("b", "Three")]
    assert within(HANDED, 100) == list(HANDED)


def test_a_text_without_a_token_is_not_handed_over() -> None:
    assert within([Handed("a", "  "), Handed("b", "x")], 1) == [Handed("b", "x")]


def test_a_gold_document_counts_from_its_first_token_on() -> None:
    assert gold_within(HANDED, ["b", "c"], [4, 5, 7, 8]) == (0.0, 0.5, 0.5, 1.0)
    assert gold_within((), ["b"], [300]) == (0.0,)


def test_texts_come_best_first_whatever_results_group_them_with_the_id_of_their_document() -> None:
    def statement(text: str, score: float) -> ScoredStatement:
        return ScoredStatement(text, text, score, "chunk", "chunk:1", 0, 1)

    with_id = Source("source:1", "file:///x#1", "default", "", {"id": "p1"})
    without = Source("source:2", "file:///y", "default", "")
    results = SearchResults(
        "?",
        (
            SearchResult(with_id, "t", (statement("A.", 0.9), statement("B.", 0.5)), 0.9),
            SearchResult(without, "t", (statement("C.", 0.8), statement("D.", 0.5)), 0.8),
        ),
    )
    assert handed_over(results) == (
        Handed("p1", "A."),
        Handed("file:///y", "C."),
        Handed("p1", "B."),
        Handed("file:///y", "D."),
    )


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_takes_the_parameters_it_is_measured_with(name: str) -> None:
    assert filling(name, 2000) == {}
    check_parameters(name, filling(name, 5000))
    assert filling(name, 5000) == {"max_context_tokens": 5000}


def test_budgets_are_read_in_any_order() -> None:
    assert parse_budgets("2000, 300,300") == (300, 2000)


@pytest.mark.parametrize("text", ["", "300,", "0", "-1", "1.5", "many", "100001", "³"])
def test_what_is_no_budget_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"--budgets .*expected numbers of tokens from 1 to 100,000: 300,1000,2000"):
        parse_budgets(text)
