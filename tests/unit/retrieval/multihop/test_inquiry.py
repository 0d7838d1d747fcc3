"""How far chunks answer a question at the end of a chain: the same for many seeds at once as for each by itself."""

import numpy as np
import pytest

from lexigraph.retrieval.multihop.inquiry import LIKENESS, Inquiry
from tests.processor import soon

WORDS = ("brackford", "ledger", "mill", "signs", "tidewater")


def directions(rng: np.random.Generator, number: int, size: int = 384) -> np.ndarray:
    drawn = rng.normal(size=(number, size))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def test_each_seed_mixes_its_vector_and_what_it_has_said_into_the_question_as_far_as_the_edge_is_specific() -> None:
    rng = np.random.default_rng(1)
    question, *seeds = directions(rng, 4)
    chunks, held = directions(rng, 6), rng.integers(0, 2, (6, len(WORDS))).astype(float)
    specific, said = rng.random((3, 6)), rng.random((3, len(WORDS)))
    inquiry = Inquiry(" ".join(WORDS), question)
    inquiry.weigh(held, [])
    rarity = np.log(1 + (6 - held.sum(axis=0) + 0.5) / (held.sum(axis=0) + 0.5))

    answers = inquiry.answers(chunks, held, specific, np.array(seeds), said)

    for row, seed in enumerate(seeds):
        for at, chunk in enumerate(chunks):
            asked = question + specific[row, at] * seed
            cosine = chunk @ asked / np.linalg.norm(asked)
            reached = np.maximum(held[at], specific[row, at] * said[row])
            assert answers.likeness[row, at] == pytest.approx(LIKENESS * (1 + cosine) / 2)
            assert answers.words[row, at] == pytest.approx((1 - LIKENESS) * reached @ rarity / rarity.sum())


def test_two_hundred_seeds_over_thousands_of_chunks_and_a_question_of_hundreds_of_words_take_no_seconds() -> None:
    rng = np.random.default_rng(2)
    text = " ".join(f"{a}{b}rn{c}l" for a in "bdfglm" for b in "aeiou" for c in "aeioubdfgklmnprst")
    inquiry = Inquiry(text, directions(rng, 1)[0])
    held = inquiry.held(["nothing of it"] * 3_000)
    assert held.shape[1] > 400
    specific, said = rng.random((200, 3_000)), rng.random((200, held.shape[1]))
    chunks, seeds = directions(rng, 3_000), directions(rng, 200)
    # a seed at a time it took eighteen
    assert soon(lambda: inquiry.answers(chunks, held, specific, seeds, said), seconds=4)
