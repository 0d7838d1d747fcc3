"""How many texts an embedding model is given at once."""

import pytest

from lexigraph.ingestion.models import next_slice


@pytest.mark.parametrize(
    ("seconds_a_text", "sizes"),
    [(0.001, [32, 128, 256, 256]), (0.05, [32, 32, 32, 32]), (1.0, [32, 8, 2, 2]), (60.0, [32, 8, 2, 1])],
)
def test_a_fast_model_gets_many_texts_at_once_and_a_slow_one_so_few_that_it_is_heard_of(
    seconds_a_text: float, sizes: list[int]
) -> None:
    given = [32]
    for _ in sizes[1:]:
        given.append(next_slice(given[-1], given[-1] * seconds_a_text))
    assert given == sizes
