"""Short questions to services, whether they are there: remembered for some seconds, and never waited for long."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, TypeVar

from lexigraph.model.errors import LexigraphError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Asked:
    at: float
    answer: Future[Any]


class Probes:
    """Asks each question at most every ``remembered`` seconds; one that failed is asked again. Safe between threads."""

    def __init__(self, remembered: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._remembered, self._clock = remembered, clock
        self._asked: dict[str, _Asked] = {}
        self._lock = Lock()

    def ask(self, name: str, question: Callable[[], T], seconds: float) -> T | None:
        """Return the answer, None when it does not come within so many seconds. Raise our own errors of the question."""
        with self._lock:
            known = self._asked.get(name)
            if known is None or self._is_over(known):
                known = self._asked[name] = _Asked(self._clock(), _begun(question))
        try:
            answer: T = known.answer.result(seconds)
        except TimeoutError:
            return None
        return answer

    def _is_over(self, known: _Asked) -> bool:
        """Whether to ask again; what is still being asked is not asked twice."""
        answer = known.answer
        return answer.done() and (bool(answer.exception()) or self._clock() - known.at >= self._remembered)


def _begun(question: Callable[[], T]) -> Future[T]:
    """Ask in a thread of its own, which keeps no server from ending."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(question())
        except LexigraphError as error:
            answer.set_exception(error)
        except Exception as error:  # noqa: BLE001  # nobody else would hear of it
            answer.set_exception(LexigraphError(type(error).__name__))

    Thread(target=work, name="probe", daemon=True).start()
    return answer
