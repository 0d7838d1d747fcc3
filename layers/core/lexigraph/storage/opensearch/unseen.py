"""What this process has written and searches may not show yet.

A collection shows a write after up to a minute. Whoever wrote need not wait to know what it wrote: which version of a
record is the last, which records of a source there are, which tags it has.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import NamedTuple

from lexigraph.model.graph import Metadata
from lexigraph.model.tenant import Tenant

_SECONDS = 120.0  # twice what the service takes at most
_MOST = 50_000

Versions = dict[int, Metadata]


class Write(NamedTuple):
    """The last write to a record, ``edition`` 0 for a deletion; ``versions`` is for the tags of a source only."""

    edition: int
    source_id: str = ""
    versions: Versions | None = None


class Unseen:
    """Remembers writes for two minutes. May be shared by threads."""

    def __init__(self) -> None:
        self._writes: OrderedDict[tuple[str, str, str], tuple[float, Write]] = OrderedDict()
        self._edition, self._lock = 0, Lock()

    def next_edition(self) -> int:
        """Return a number higher than any before, in other processes too as far as their clocks agree."""
        with self._lock:
            self._edition = max(self._edition + 1, time.time_ns() // 1_000)
            return self._edition

    def note(self, index: str, tenant: Tenant, key: str, write: Write) -> None:
        """Remember a write; it takes the place of an earlier one."""
        now = time.monotonic()
        with self._lock:
            self._writes.pop((index, str(tenant), key), None)
            self._writes[index, str(tenant), key] = now, write
            while len(self._writes) > _MOST or next(iter(self._writes.values()))[0] < now - _SECONDS:
                self._writes.popitem(last=False)

    def last(self, index: str, tenant: Tenant, key: str) -> Write | None:
        """Return the last write to a record, None when there was none lately."""
        with self._lock:
            known = self._writes.get((index, str(tenant), key))
        return known[1] if known and known[0] >= time.monotonic() - _SECONDS else None

    def of_sources(self, index: str, tenant: Tenant, sources: Iterable[str]) -> dict[str, str]:
        """Return the source of each record of these that was written lately."""
        wanted = set(sources)
        with self._lock:
            writes = [(key, w) for (i, t, key), (_, w) in self._writes.items() if (i, t) == (index, str(tenant))]
        return {key: w.source_id for key, w in writes if w.edition and w.source_id in wanted}
