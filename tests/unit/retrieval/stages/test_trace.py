"""What a trace notes of the searches of one question."""

import numpy as np
import pytest

from lexigraph.retrieval.stages.trace import Trace
from lexigraph.storage.protocols import Hit, SearchRequest

QUESTION, OTHER = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)


def hits(**scores):
    return [Hit(id_, score, "", "", "") for id_, score in scores.items()]


def test_cosines_are_those_of_the_questions_own_vector():
    trace = Trace()
    trace.compare(
        [SearchRequest("chunk", text="words"), SearchRequest("chunk", vector=QUESTION)], [hits(a=9.1), hits(b=0.5)]
    )
    trace.compare([SearchRequest("chunk", vector=OTHER)], [hits(b=0.9, c=0.9)])
    assert trace.cosines == {"b": 0.5}
    assert trace.nearest == 0.5


def test_the_nearest_is_a_chunk_or_a_statement_where_no_chunks_were_compared():
    trace = Trace()
    trace.compare([SearchRequest("topic", vector=QUESTION)], [hits(t=0.99)])
    assert trace.nearest is None
    trace.compare([SearchRequest("statement", vector=QUESTION)], [hits(s=0.8)])
    assert trace.nearest == 0.8
    trace.compare([SearchRequest("chunk", vector=QUESTION)], [hits(c=0.6, d=0.4)])
    assert (trace.nearest, trace.cosines) == (0.6, {"s": 0.8, "c": 0.6, "d": 0.4})


def test_ranks_are_places_in_the_first_search_of_everything_for_the_question_itself():
    trace = Trace()
    trace.compare(
        [
            SearchRequest("chunk", vector=QUESTION),
            SearchRequest("chunk", text="words"),
            SearchRequest("topic", vector=QUESTION),
        ],
        [hits(a=0.9, b=0.5), hits(b=7.0), hits(t=0.9)],
    )
    trace.compare(
        [
            SearchRequest("chunk", vector=QUESTION, ids=("b", "c")),
            SearchRequest("chunk", text="other words"),
            SearchRequest("chunk", vector=OTHER),
            SearchRequest("chunk", text="words"),
        ],
        [hits(c=0.4, b=0.3), hits(d=3.0), hits(e=0.8), hits(f=8.0, b=7.0)],
    )
    assert trace.ranks == {"a": {"vector": 1}, "b": {"vector": 2, "bm25": 1}, "f": {"bm25": 1}}


@pytest.mark.parametrize("found", [[], hits(c=-0.2)])
def test_a_search_that_finds_nothing_alike_is_a_comparison_all_the_same(found):
    trace = Trace()
    trace.compare([SearchRequest("chunk", vector=QUESTION)], [found])
    assert trace.nearest == (-0.2 if found else -1.0)
