"""How far a run is, told at every step and every second in between: one call of a model may take long."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread

from lexigraph import telemetry
from lexigraph.ingestion.events import Event, Listener

_TICK = 1.0


@contextmanager
def repeating(again: Callable[[], None], every: float | None = None) -> Iterator[None]:
    """Call ``again`` in a thread of its own until the block is over; raise then what it raised.

    ``every`` is the number of seconds between two calls, by default one.
    """
    over, raised = Signal(), list[BaseException]()

    def tick() -> None:
        while not over.wait(every or _TICK):
            try:
                again()
            except BaseException as error:  # noqa: BLE001  # whoever listens may want to end the run
                raised.append(error)
                return

    thread = Thread(target=telemetry.carried(tick), name="pace", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if raised:
        raise raised[0]


class Pace:
    """Counts the chunks of a run that are extracted, of those that are known so far, and tells of it.

    ``share`` is the part of the run's files that was read; with less than all of them the whole is a guess (``expected``).
    Events have ``failed``, ``per_second`` and ``seconds_left`` (None before there is a rate).
    """

    def __init__(self, tell: Listener) -> None:
        self.share = 1.0
        self._tell = tell
        self._done = self._known = self._before = self._failed = 0
        self._seconds = 0.0  # spent on extraction by groups of documents before
        self._began = 0.0

    @contextmanager
    def extracting(self) -> Iterator[None]:
        """Tell every second how far it is while a group of documents is extracted."""
        self._before, self._began = self._done, time.monotonic()
        with repeating(self._say):
            yield
        self._seconds += time.monotonic() - self._began

    def advance(self, done: int, total: int) -> None:
        """Count that of ``total`` chunks of this group so many are extracted."""
        self._done, self._known = self._before + done, self._before + total
        self._say()

    def fail(self, uri: str, reason: str) -> None:
        """Count a chunk that could not be extracted, and tell which and why."""
        self._failed += 1
        self._tell(Event("warning", {"path": uri, "reason": reason, "chunk": True}))

    def _say(self) -> None:
        if not self._known:
            return
        spent = self._seconds + time.monotonic() - self._began
        rate = self._done / spent if spent > 0 else 0.0
        expected = max(self._known, round(self._known / self.share))
        detail = {
            "failed": self._failed,
            "per_second": round(rate, 2),
            "seconds_left": round((expected - self._done) / rate) if rate else None,
            "expected": expected,
        }
        self._tell(Event("entity_extraction", detail, self._done, self._known))
