"""A bounded look at the texts of nodes: which of them a pattern is found in."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from lexigraph.storage.protocols import TextPattern

Key = TypeVar("Key")
LOOKED_AT = 200_000  # texts of a kind
SECONDS = 2.0  # for all texts of one search; 10^5 of them take a third of a second unless the pattern is hard
_LOOK_AT_CLOCK = 64


class Look:
    """A search through texts for a pattern, which ends in time. ``complete``: nothing was left out so far."""

    def __init__(self, pattern: TextPattern, most: int) -> None:
        self.complete = True
        self._pattern, self._most, self._until = pattern, most, time.monotonic() + SECONDS

    def best(self, rows: Iterable[tuple[Key, bytes | str, str]]) -> list[Key]:
        """Return the keys of the rows (key, what ties go by, text) whose text matches, the largest share of it first."""
        found = sorted(self._found(rows), key=lambda match: match[:2])
        self.complete = self.complete and len(found) <= self._most
        return [key for _, _, key in found[: self._most]]

    def _found(self, rows: Iterable[tuple[Key, bytes | str, str]]) -> Iterator[tuple[float, bytes | str, Key]]:
        for number, (key, tie, text) in enumerate(rows):
            if number == LOOKED_AT or (number % _LOOK_AT_CLOCK == 0 and time.monotonic() > self._until):
                self.complete = False
                return
            share = self._pattern.share(text)
            if share > 0:
                yield -share, tie, key
