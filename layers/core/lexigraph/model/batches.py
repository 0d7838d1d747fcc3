"""Many values a few at a time: so many, or as many as together are not too large."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the values, so many at a time."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def packed(values: Iterable[T], measure: Callable[[T], int], largest: int, most: int | None = None) -> Iterator[list[T]]:
    """Yield the values, one at least and ``most`` at most at a time, which measure no more than ``largest`` together."""
    batch: list[T] = []
    size = 0
    for value in values:
        more = measure(value)
        if batch and (size + more > largest or len(batch) == most):
            yield batch
            batch, size = [], 0
        batch.append(value)
        size += more
    if batch:
        yield batch
