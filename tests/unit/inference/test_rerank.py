"""The tf-idf reranker: what it puts first, and what it never does."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.inference.rerank import TfidfReranker

RERANKER = TfidfReranker()
STATEMENTS = [
    "Storage: Aurora stores six copies of the data in three zones.",
    "Storage: Neptune is a graph database.",
    "Search: OpenSearch finds text with BM25.",
    "Search: The index is refreshed every ten seconds.",
    "Billing: Prices differ by region.",
]
TEXTS = st.lists(st.text(max_size=30), max_size=8)


def order(queries, texts):
    scores = RERANKER.score(queries, texts)
    return [text for _, text in sorted(zip(scores, texts, strict=True), key=lambda pair: -pair[0])]


def test_the_statement_that_answers_comes_first():
    assert order(["Which graph database is there?"], STATEMENTS)[0] == STATEMENTS[1]


def test_inflected_and_compound_words_are_found():
    assert order(["indexes refreshing"], STATEMENTS)[0] == STATEMENTS[3]
    assert order(["Datenbankverwaltung"], ["Ein Schiff", "Die Datenbanken", "Das Wetter"])[0] == "Die Datenbanken"


def test_a_rare_word_weighs_more_than_one_in_every_statement():
    texts = ["the service keeps logs", "the service keeps metrics", "the service keeps traces", "a vault"]
    assert order(["the service keeps a vault"], [*texts])[0] == "a vault"


def test_a_further_name_lifts_its_statement_but_less_than_the_question():
    plain = RERANKER.score(["text search"], STATEMENTS)
    named = RERANKER.score(["text search", "Neptune"], STATEMENTS)
    assert named[1] > plain[1]
    assert named.index(max(named)) == plain.index(max(plain)) == 2


def test_equal_names_count_once():
    assert RERANKER.score(["a storm", "Neptune", "Neptune"], STATEMENTS) == RERANKER.score(
        ["a storm", "Neptune"], STATEMENTS
    )


def test_a_long_statement_does_not_lose_to_a_fragment():
    long = "Aurora stores six copies of the data in three zones and repairs a damaged copy by itself."
    assert order(["how many copies does Aurora store in how many zones"], [long, "Aurora", "x y z"])[0] == long


def test_case_punctuation_and_width_make_no_difference():
    assert RERANKER.score(["NEPTUNE?!"], STATEMENTS) == RERANKER.score(["neptune"], STATEMENTS)
    assert RERANKER.score(["ＮＥＰＴＵＮＥ"], STATEMENTS) == RERANKER.score(["neptune"], STATEMENTS)


@pytest.mark.parametrize(("queries", "texts"), [([], ["a b c"]), (["a b c"], []), (["?"], ["abc"]), (["abc"], ["?", ""])])
def test_nothing_to_compare_scores_zero(queries, texts):
    assert RERANKER.score(queries, texts) == [0.0] * len(texts)


def test_a_statement_without_a_common_trigram_scores_zero():
    assert RERANKER.score(["zzz"], ["abc", "zzz"])[0] == 0.0


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=20), min_size=1, max_size=3), TEXTS, st.randoms())
def test_scores_belong_to_texts_not_to_places(queries, texts, chance: random.Random):
    scores = RERANKER.score(queries, texts)
    places = list(range(len(texts)))
    chance.shuffle(places)
    moved = RERANKER.score(queries, [texts[at] for at in places])
    assert moved == pytest.approx([scores[at] for at in places], rel=1e-12)
    assert all(score >= 0 for score in scores)


def test_no_trigram_spans_two_statements():
    assert RERANKER.score(["abcd"], ["xab", "cdx", "zzz"]) == pytest.approx([0, 0, 0])
