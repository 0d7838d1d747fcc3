"""The order in which statements go into a result: each for what it adds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.retrieval.stages.packing import Worth, packed
from lexigraph.retrieval.stages.ranking import WEIGHTS


def worth(*statements: tuple[str, float], chunk: list[int] | None = None, added: list[float] | None = None) -> Worth:
    """Statements by text and worth, each of a chunk and a topic of its own if nothing else is said."""
    size = len(statements)
    chunk = chunk or list(range(size))
    return Worth(
        own=np.array([value for _, value in statements]),
        added=np.array(added or [0.0] * size),
        chunk=chunk,
        topic=chunk,
        asked=np.zeros((max(chunk, default=-1) + 1, 1)),
        texts=[text for text, _ in statements],
    )


def order(given: Worth, diversity: float = 0.3) -> list[int]:
    return [at for at, _ in packed(given, diversity, WEIGHTS)]


SAID = ("The mill grinds barley.", 1.0), ("The mill grinds barley, too.", 0.9), ("Wheat comes by boat.", 0.75)


def test_what_was_said_before_makes_room_for_what_was_not():
    assert order(worth(*SAID)) == [0, 2, 1]


def test_without_diversity_worth_alone_decides():
    assert order(worth(*SAID), diversity=0.0) == [0, 1, 2]


def test_a_question_that_names_two_things_gets_both():
    given = worth(("One is tall.", 1.0), ("Another is small.", 0.9), ("That is old.", 0.8))
    asked = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    both = Worth(given.own, given.added, given.chunk, given.topic, asked, given.texts)
    assert order(both) == [0, 2, 1]


def test_what_a_link_brings_is_not_lost_for_words_that_were_said():
    again = worth(*SAID, added=[0.0, 0.3, 0.0])
    assert order(again)[0] == 1
    assert order(again).index(1) < order(worth(*SAID)).index(1)


def test_a_chunk_that_was_heard_lets_others_speak():
    near = worth(("Barley is ground.", 1.0), ("Wheat comes by boat.", 0.99), ("Rye grows.", 0.95), chunk=[0, 0, 1])
    assert order(near, diversity=0.0) == [0, 2, 1]


def test_a_long_document_does_not_lose_for_its_length_but_a_topic_heard_does():
    def of(topics: list[int]) -> list[int]:
        one = worth(("Barley is ground.", 1.0), ("Wheat comes by boat.", 0.97), ("Rye grows.", 0.95))
        return order(Worth(one.own, one.added, one.chunk, topics, one.asked, one.texts), diversity=0.0)

    assert of([0, 1, 2]) == [0, 1, 2]
    assert of([0, 0, 1]) == [0, 2, 1]


def test_nothing_found_is_nothing_packed():
    assert order(worth()) == []


words = st.lists(st.sampled_from("barley mill wheat boat rye 12 sea".split()), max_size=4).map(" ".join)


@given(
    st.lists(st.tuples(words, st.floats(0, 1), st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=12),
    st.floats(0, 0.9),
)
def test_each_comes_once_and_scores_never_rise(statements, diversity):
    given = worth(
        *((text, own) for text, own, _, _ in statements),
        chunk=[chunk for _, _, chunk, _ in statements],
        added=[added for _, _, _, added in statements],
    )
    found = list(packed(given, diversity, WEIGHTS))
    assert sorted(at for at, _ in found) == list(range(len(statements)))
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    for at, value in found:
        assert -1e-6 <= value <= given.own[at] + given.added[at] + 1e-6


@pytest.mark.parametrize("diversity", [0.0, 0.3, 0.9])
def test_the_first_are_the_same_however_many_are_read(diversity: float):
    stream = packed(worth(*SAID), diversity, WEIGHTS)
    assert [next(stream)[0], next(stream)[0]] == order(worth(*SAID), diversity)[:2]
