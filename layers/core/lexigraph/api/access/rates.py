"""How often a key may ask: a token bucket a key."""

import time
from collections.abc import Callable
from threading import Lock

Bucket = tuple[float, float]  # tokens that were left, and when


def take_token(bucket: Bucket | None, rate: int, now: float) -> tuple[Bucket, float]:
    """Return the bucket without the token that was taken, and 0.0; the seconds until there is one when there is none.

    A bucket holds at most ``rate`` tokens, which come back within a minute; one that was not used yet (None) is full.
    """
    each = rate / 60
    left, since = bucket or (float(rate), now)
    left = min(float(rate), left + (now - since) * each)
    return ((left - 1, now), 0.0) if left >= 1 else ((left, now), (1 - left) / each)


class RateLimit:
    """A token bucket a key: ``rate`` requests a minute, as many at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._lock = Lock()

    def wait(self, key: str, rate: int) -> float:
        """Take a token; return 0.0, or the seconds until there is one. A ``rate`` of 0 has no limit."""
        if rate <= 0:
            return 0.0
        now = self._clock()
        with self._lock:
            if len(self._buckets) > 10_000:
                self._buckets = {k: b for k, b in self._buckets.items() if now - b[1] < 60}
            self._buckets[key], wait = take_token(self._buckets.get(key), rate, now)
            return wait
