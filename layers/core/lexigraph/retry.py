"""Trying again what may pass: exponential back-off with full jitter, within a budget of tries and seconds.

https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
"""

import logging
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


def kind_of(error: BaseException) -> str:
    """Return the name of an error's class: its text may quote a document or a prompt."""
    return type(error).__name__


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long to try. Sleeps are drawn from 0 to ``base * 2**n`` seconds, at most ``cap`` (full jitter).

    ``attempts`` counts the first try; none is begun later than ``seconds`` after the first. ``sleep``, ``draw`` (0 to 1)
    and ``clock`` are there to be replaced by a test.
    """

    attempts: float = 6
    seconds: float = math.inf
    base: float = 0.5
    cap: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def begin(self) -> "Tries":
        """Return the tries of a request that begins now."""
        return Tries(self)

    def call(self, action: Callable[[], T], wait: Callable[[Exception], float | None], what: str) -> T:
        """Begin, and call ``action`` as :meth:`Tries.call` does."""
        return self.begin().call(action, wait, what)


class Tries:
    """The tries of one request: how many there were, and how much of the time is left."""

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._restart()

    @property
    def left(self) -> float:
        """What is left of the seconds, from which a try may take its own deadline."""
        return self._end - self._retry.clock()

    def call(
        self,
        action: Callable[[], T],
        wait: Callable[[Exception], float | None],
        what: str,
        *,
        shrink: Callable[[Exception], bool] = lambda _: False,
        kind: Callable[[Exception], str] = kind_of,
    ) -> T:
        """Return what ``action`` returns, or raise its last error.

        ``wait`` judges an error: None means that another try is useless, a number is the least wait in seconds (a
        server's ``Retry-After``), to which the jitter is added. ``shrink`` may see to it that the next try asks for less;
        True means that this is another request, which begins at once, with a budget of its own. ``what`` and ``kind`` (of
        an error) name the request in the log.
        """
        while True:
            try:
                return action()
            except Exception as error:
                if shrink(error):
                    self._restart()
                    continue
                least = wait(error)
                if least is None or not self.again(least, f"{what} ({kind(error)})"):
                    raise

    def again(self, least: float = 0.0, what: str = "") -> bool:
        """Sleep until the next try, and log ``what`` it is of, if given. Return False, at once, when there is none."""
        delay = least + self._retry.draw() * min(self._retry.cap, self._retry.base * 2 ** (self._number - 1))
        if self._number >= self._retry.attempts or delay >= self.left:
            return False
        self._number += 1
        if what:
            logger.info("%s: try %d in %.2f s", what, self._number, delay)
        self._retry.sleep(delay)
        return True

    def __iter__(self) -> Iterator[int]:
        """Yield the number of each try, and sleep between them; end when there is none."""
        yield self._number
        while self.again():
            yield self._number

    def _restart(self) -> None:
        self._number, self._end = 1, self._retry.clock() + self._retry.seconds
