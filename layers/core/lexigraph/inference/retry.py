"""Trying again when a model is busy: exponential back-off with full jitter."""

import logging
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how long to try. Sleeps are drawn from 0 to ``base * 2**n`` seconds, at most ``cap`` (full jitter).

    ``attempts`` counts the first try; none is begun later than ``seconds`` after the first. ``sleep``, ``draw`` (0 to 1)
    and ``clock`` are there to be replaced by a test.
    """

    attempts: int = 6
    seconds: float = math.inf
    base: float = 0.5
    cap: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def call(self, action: Callable[[], T], wait: Callable[[Exception], float | None]) -> T:
        """Return what ``action`` returns, or raise its last error.

        ``wait`` judges an error: None means that another try is useless, a number is the least wait in seconds (a
        server's ``Retry-After``), to which the jitter is added.
        """
        begin = self.clock()
        attempt = 1
        while True:
            try:
                return action()
            except Exception as error:
                least = wait(error)
                if least is None or attempt >= self.attempts:
                    raise
                delay = least + self.draw() * min(self.cap, self.base * 2 ** (attempt - 1))
                if self.clock() - begin + delay > self.seconds:
                    raise
                attempt += 1
                logger.info("model busy (%s): try %d of %d in %.1f s", type(error).__name__, attempt, self.attempts, delay)
                self.sleep(delay)
