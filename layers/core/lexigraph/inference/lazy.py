"""A value made when it is first needed: model files and clients cost seconds to load, objects that hold them nothing."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Calls ``make`` once, at the first use, whatever the number of threads; a failing ``make`` is tried again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: tuple[T] | None = None

    @property
    def is_made(self) -> bool:
        """Whether the value exists already."""
        return self._made is not None

    def __call__(self) -> T:
        """Return the value."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]
