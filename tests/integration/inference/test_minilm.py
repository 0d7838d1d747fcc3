"""MiniLM for real: weights and tokenizer from their packages, on this processor."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lexigraph.inference.minilm import MiniLM
from lexigraph.inference.protocols import Embedder

SENTENCES = [
    "Neptune is a graph database.",
    "Which service stores graphs?",
    "The weather in Lisbon is mild in winter.",
    "",
    "Zażółć gęślą jaźń 漢字 🙂 \x00",
    "Aurora keeps six copies of the data in three zones. " * 60,
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(threads=2)


@pytest.fixture(scope="module")
def alone(model: MiniLM) -> np.ndarray:
    return np.concatenate([model.embed_passages([text]) for text in SENTENCES])


def test_vectors_have_the_promised_shape_and_length(model, alone):
    assert isinstance(model, Embedder)
    assert (alone.shape, alone.dtype) == ((len(SENTENCES), model.dimension), np.float32)
    assert np.linalg.norm(alone, axis=1) == pytest.approx(np.ones(len(SENTENCES)), abs=1e-6)
    assert model.embed_passages([]).shape == (0, 384)


def test_the_vector_of_a_text_does_not_depend_on_the_texts_beside_it(model, alone):
    together = model.embed_passages(SENTENCES[::-1] + SENTENCES[:1])
    assert np.abs(together[: len(SENTENCES)][::-1] - alone).max() < 1e-6
    assert np.array_equal(together[-1], together[len(SENTENCES) - 1])


@pytest.mark.slow
def test_texts_of_equal_length_are_embedded_together_and_get_the_vectors_that_they_get_alone(model):
    words = ["graph", "store", "river", "music", "chalk", "paper", "light", "stone"]
    texts = [" ".join([first, second, *words[:length]]) for first in words for second in words for length in (0, 3, 7)]
    alone = np.concatenate([model.embed_passages([text]) for text in texts])
    assert np.abs(model.embed_passages(texts) - alone).max() < 1e-6
    assert np.abs(model.embed_passages(texts[7:90]) - alone[7:90]).max() < 1e-6


def test_the_number_of_threads_changes_nothing(alone):
    assert np.abs(MiniLM(threads=1).embed_passages(SENTENCES) - alone).max() < 1e-6


def test_questions_and_passages_are_embedded_alike(model, alone):
    assert np.abs(model.embed_questions([SENTENCES[1]])[0] - alone[1]).max() < 1e-6


def test_a_question_is_nearer_to_its_answer_than_to_the_weather(alone):
    answer, question, weather = alone[0], alone[1], alone[2]
    assert question @ answer > question @ weather + 0.3


def test_what_lies_beyond_256_tokens_is_not_read(model):
    long = "graph " * 300
    beyond = model.embed_passages([long, long + "weather " * 50, "graph " * 200])
    assert np.abs(beyond[0] - beyond[1]).max() < 1e-6
    assert np.abs(beyond[0] - beyond[2]).max() > 1e-4


def test_many_threads_may_share_one_model_that_is_not_loaded_yet(alone):
    shared = MiniLM(threads=1)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda at: shared.embed_questions([SENTENCES[at % 4]])[0], range(16)))
    assert all(np.abs(row - alone[at % 4]).max() < 1e-6 for at, row in enumerate(rows))
