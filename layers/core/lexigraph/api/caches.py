"""What a process remembers: vectors of questions and whole answers, by tenant, bounded and short-lived."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
Key = tuple[str, ...]


class Memory(Protocol[T]):
    """What is remembered by key, the tenant first: by this process, or by several together."""

    def get(self, key: Key) -> T | None:
        """Return the value, None when it is not known any more."""

    def put(self, key: Key, value: T) -> None:
        """Remember a value."""

    def count(self, tenant: str) -> int:
        """Return how many values are remembered for a tenant."""

    def clear(self, tenant: str) -> None:
        """Forget all that belongs to a tenant."""


class Remembered(Generic[T]):
    """The ``most`` values used last, each for at most ``seconds``. Safe between threads."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._kept: OrderedDict[Key, tuple[float, T]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> T | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None or found[0] < self._clock():
                self._kept.pop(key, None)
                return None
            self._kept.move_to_end(key)
            return found[1]

    def put(self, key: Key, value: T) -> None:
        with self._lock:
            self._kept[key] = (self._clock() + self._seconds, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def count(self, tenant: str) -> int:
        with self._lock:
            return sum(key[0] == tenant and until >= self._clock() for key, (until, _) in self._kept.items())

    def clear(self, tenant: str) -> None:
        with self._lock:
            self._kept = OrderedDict((key, kept) for key, kept in self._kept.items() if key[0] != tenant)


class Clearings:
    """How often each tenant had been cleared when the registry was last asked, which all processes ask.

    What it said holds for ``seconds``. ``alone``: nobody else knows what this process remembers. Safe between threads.
    """

    def __init__(self, seconds: float, *, alone: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._alone, self._clock = seconds, alone, clock
        self._known: dict[str, tuple[float, int | None]] = {}
        self._lock = Lock()

    def note(self, tenant: str, cleared: int) -> bool:
        """Note what the registry said; tell whether what was remembered before is to be forgotten."""
        with self._lock:
            _, before = self._known.get(tenant, (0.0, None))
            self._known[tenant] = self._clock() + self._seconds, cleared
            return self._alone if before is None else before != cleared

    def due(self, tenant: str) -> bool:
        """Whether the registry has to be asked again: True once, then not for as many seconds."""
        with self._lock:
            until, before = self._known.get(tenant, (-math.inf, None))
            if self._clock() < until:
                return False
            self._known[tenant] = self._clock() + self._seconds, before
            return True
