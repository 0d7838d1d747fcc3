"""How texts for users count."""

import pytest

from lexigraph.model.numbers import counted


@pytest.mark.parametrize(
    ("number", "words", "told"),
    [
        (0, ("node",), "0 nodes"),
        (1, ("node",), "1 node"),
        (1_204, ("node",), "1,204 nodes"),
        (1, ("job is", "jobs are"), "1 job is"),
        (2, ("entity", "entities"), "2 entities"),
    ],
)
def test_one_of_a_thing_is_counted_in_the_singular(number: int, words: tuple[str, ...], told: str) -> None:
    assert counted(number, *words) == told
