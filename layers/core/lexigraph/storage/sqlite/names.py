"""The names of what a view sees, searched as the index ``entity`` of a vector store is.

That index holds a name for each entity of a whole tenant, of no source: neither which there are, nor how they are
written, nor how rare their words are, may show in a view. So the names that a view sees are read from the graph and searched
apart, in memory, by the code of the embedded store.
"""

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Lock

from lexigraph.model.tenant import View
from lexigraph.storage.protocols import Hit, SearchRequest, VectorRecord
from lexigraph.storage.sqlite import ledger
from lexigraph.storage.sqlite.vector import partitions
from lexigraph.storage.sqlite.vector.search import Known, Search
from lexigraph.storage.sqlite.vector.sidecar import Sidecars

_MOST = 16  # views whose names are kept
_QUICK = 0.25  # seconds in which names are read anew whenever they have changed
_TIMES = 20  # where that takes longer: when as many times as long have passed

Read = Callable[[], Iterable[tuple[str, str]]]


class Names:
    """The names of views, by view. Threads may share one; what it holds is bounded."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[View, _OfView] = OrderedDict()

    def search(self, view: View, state: int, read: Read, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Answer requests by the names that ``read`` returns, by id, as they were in about this ``state`` of the graph."""
        with self._lock:
            of_view = self._kept.setdefault(view, _OfView(view))
            self._kept.move_to_end(view)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return of_view.search(state, read, requests)


class _OfView:
    """The names of one view, in a database in memory."""

    def __init__(self, view: View) -> None:
        self._view, self._lock, self._known = view, Lock(), Known()
        self._connection: sqlite3.Connection | None = None
        self._state, self._until = 0, 0.0

    def search(self, state: int, read: Read, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        with self._lock:
            if self._connection is None or (state != self._state and time.monotonic() > self._until):
                began = time.monotonic()
                self._fill(read())
                took = time.monotonic() - began
                self._state, self._until = state, began + (_TIMES * took if took > _QUICK else 0.0)
            if self._connection is None:
                return [[] for _ in requests]
            tenant = self._view.whole
            known = {p.name: p for p in partitions.partitions_of(self._connection, tenant)}
            # there are no vectors, and so no files of them
            search = Search(self._connection, Sidecars(Path()), self._known, tenant, known, patient=True)
            return search.answer(requests)

    def _fill(self, names: Iterable[tuple[str, str]]) -> None:
        self._known = Known()
        if self._connection is not None:
            self._connection.close()
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        ledger.Changes(connection)  # its tables are watched as those of a file are
        connection.executescript(f"{partitions.SCHEMA};{ledger.SCHEMA}")
        connection.execute("BEGIN")
        partition = partitions.create(connection, self._view.whole, "entity", "", 0)
        partitions.put(connection, partition, {id_: VectorRecord(id_, name) for id_, name in names})
        connection.execute("COMMIT")
        self._connection = connection
