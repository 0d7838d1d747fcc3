"""The order in which statements go into a result: each for what it adds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.retrieval.stages.packing import Worth, packed
from lexigraph.retrieval.stages.ranking import WEIGHTS
from lexigraph.retrieval.stages.text import words as words_of


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


def in_full(given: Worth, diversity: float) -> list[tuple[int, float]]:
    """The order by its definition: each time all words of all statements are looked at."""
    held = [list(dict.fromkeys(words_of(text))) for text in given.texts]
    every = list(dict.fromkeys(word for of_text in held for word in of_text))
    said_by = np.array([[float(word in of_text) for of_text in held] for word in every]).reshape(len(every), len(held))
    df = said_by.sum(axis=1, keepdims=True)
    said_by *= np.log(1 + (len(held) - df + 0.5) / (df + 0.5))
    size, chunk, topic = np.maximum(said_by.sum(axis=0), 1e-9), np.array(given.chunk), np.array(given.topic)
    left, again, found = list(range(len(held))), np.ones(len(held)), list[tuple[int, float]]()
    while left:
        before = [at for at, _ in found]
        said = np.isin(every, [word for at in before for word in held[at]])
        repeated = (said_by * said[:, np.newaxis]).sum(axis=0)
        heard = (given.asked[chunk[before]] > 0).any(axis=0) if before else np.zeros(given.asked.shape[1], bool)
        asked_again = ((given.asked * heard).sum(axis=1) / np.maximum(given.asked.sum(axis=1), 1e-9))[chunk]
        new = 1 - np.minimum(WEIGHTS.said_again * diversity * repeated / size, 1.0)
        values = (given.own * new * (1 - WEIGHTS.asked_again * diversity * asked_again) + given.added) * again
        best = max(left, key=lambda at: (round(float(values[at]), 6), -at))
        if chunk[best] not in chunk[before]:
            again[(topic == topic[best]) & (chunk != chunk[best])] *= WEIGHTS.same_topic
        again[chunk == chunk[best]] *= WEIGHTS.repeat
        left.remove(best)
        found.append((best, float(values[best])))
    return found


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(1, 25), st.floats(0, 0.9))
def test_the_order_is_that_of_the_full_computation(rng, count, diversity):
    told = [" ".join(rng.choices("barley mill wheat boat rye 12 sea".split(), k=rng.randrange(8))) for _ in range(count)]
    chunk = [rng.randrange(6) for _ in range(count)]
    asked = np.array([[rng.choice([0.0, rng.random()]) for _ in range(4)] for _ in range(max(chunk) + 1)])
    own, added = (np.array([rng.random() for _ in range(count)]) for _ in range(2))
    given = Worth(own, added, chunk, [of % 3 for of in chunk], asked, told)
    found, expected = list(packed(given, diversity, WEIGHTS)), in_full(given, diversity)
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], abs=2e-6)
    assert [at for at, _ in found] == [at for at, _ in expected]
