"""Stems are the same however many threads ask for them at once."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest

from lexigraph.retrieval.stages.text import stem

WORDS = [
    "".join(parts)
    for parts in product(("na", "hope", "govern", "rela", "gener", "happi"), ("tion", "ful", "al"), ("ly", "ity", "ness"))
]


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_stem_at_the_same_time_do_not_disturb_each_other() -> None:
    stem.cache_clear()
    alone = {word: stem(word) for word in WORDS}
    together = Barrier(8)

    def work(first: int) -> list[str]:
        together.wait(30)
        # not from memory: each begins at another word
        return [word for word in WORDS[first:] + WORDS[:first] if stem.__wrapped__(word) != alone[word]]

    with ThreadPoolExecutor(8) as pool:
        wrong = [word for found in pool.map(work, range(0, 40, 5)) for word in found]
    assert wrong == []
