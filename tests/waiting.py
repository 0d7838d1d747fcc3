"""Waiting for what another thread or process does: asked again and again, and no longer than a test may take."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(ask: Callable[[], T], good: Callable[[T], object] = bool, *, seconds: float = 120.0) -> T:
    """Ask again until the answer is good, by default true, and return it."""
    deadline = time.monotonic() + seconds
    while not good(answer := ask()):
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)
    return answer
