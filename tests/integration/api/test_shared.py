"""What server processes remember together: seen by all, bounded, forgotten by all, and never another tenant's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lexigraph.api.shared import Shared


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_what_one_remembers_another_knows_until_it_is_too_old(tmp_path: Path) -> None:
    clock = Clock()
    here, there = (Shared(tmp_path, clock) for _ in range(2))
    vector = np.array([0.25, -1.0, 3.5], np.float32)
    here.embeddings(10, 50).put(("a", "model", "Who?"), vector)
    here.answers(10, 20).put(("a", "1", "x"), {"answer": "Mira"})
    known = there.embeddings(10, 50).get(("a", "model", "Who?"))
    assert known is not None
    assert (known.dtype, known.tolist()) == (vector.dtype, vector.tolist())
    answers = there.answers(10, 20)
    assert answers.get(("a", "1", "x")) == {"answer": "Mira"}
    assert answers.get(("a", "2", "x")) is None, "of another revision of the documents"
    clock.now += 21
    assert answers.get(("a", "1", "x")) is None
    assert answers.count("a") == 0
    assert there.embeddings(10, 50).count("a") == 1


def test_what_a_tenant_clears_is_gone_for_all_and_nothing_else_is(tmp_path: Path) -> None:
    here, there = (Shared(tmp_path).answers(10, 50) for _ in range(2))
    for tenant in ("a", "b"):
        here.put((tenant, "1", "x"), {"of": tenant})
    assert (there.count("a"), there.count("c")) == (1, 0)
    there.clear("a")
    assert here.get(("a", "1", "x")) is None
    assert here.get(("b", "1", "x")) == {"of": "b"}


def test_the_oldest_make_room(tmp_path: Path) -> None:
    clock = Clock()
    answers = Shared(tmp_path, clock).answers(3, 50)
    for number in range(5):
        clock.now += 1
        answers.put(("a", str(number)), number)
    assert [answers.get(("a", str(number))) for number in range(5)] == [None, None, 2, 3, 4]


def test_a_key_has_one_bucket_for_all_processes(tmp_path: Path) -> None:
    clock = Clock()
    here, there = (Shared(tmp_path, clock) for _ in range(2))
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda n: (here, there)[n % 2].wait("k", 60), range(70)))
    assert sorted(waits) == [0.0] * 60 + [1.0] * 10
    clock.now += 1.5
    assert here.wait("k", 60) == 0.0
    assert there.wait("k", 60) == pytest.approx(0.5)
    assert here.wait("k", 0) == there.wait("other", 60) == 0.0
