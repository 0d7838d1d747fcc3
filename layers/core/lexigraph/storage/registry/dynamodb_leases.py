"""Leases in a table: an item a key, with the token of its holder and the time at which it is free again.

A holder renews its leases from a thread of its own, four times a term. When it dies, they are free after their term at the
latest; clocks may differ by :data:`SKEW_SECONDS`. A holder that was stopped for longer than a term (a frozen function, a
network that was cut) may have lost them. It is told in two ways: what it saves under a lease is saved in one transaction
with a look at that lease, so a write that comes too late fails with ``Conflict``; and so does the end of its block.
"""

import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from lexigraph.model.errors import Conflict, LexigraphError, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.registry.dynamodb_items import Item, Key, Outdated, Table, bounded, check, in_parallel

LEASE_SECONDS = 60.0
SKEW_SECONDS = 2.0
_RENEWALS = 4
_KEPT_SECONDS = (
    86_400  # its item stays for a day, so that a late holder, or one whose reply was lost, sees what became of it
)
_FREE = "attribute_not_exists(#holder) OR #until < :now OR #holder = :token"
_MINE = "#holder = :token"
_GIVE_BACK = "SET #released = :token REMOVE #holder"
logger = logging.getLogger(__name__)


class DynamoLeases:
    """The leases of a registry, over its ``_table``."""

    _table: Table
    _lease_seconds: float

    def _begin_leases(self, seconds: float) -> None:
        self._lease_seconds = seconds
        self._held: dict[tuple[int, Key], str] = {}  # by process: a forked child holds nothing

    @contextmanager
    def lease(self, tenant: Tenant, keys: Sequence[str]) -> Iterator[frozenset[str]]:
        places = {_lease_key(tenant, key): key for key in keys}
        token, process = secrets.token_hex(16), os.getpid()
        term = _Term(self._table, token, self._lease_seconds)
        try:
            term.take(list(places))
            self._held |= dict.fromkeys(((process, place) for place in term.held), token)
            yield frozenset(places[place] for place in term.held)
        except BaseException:
            self._give_back(term, process)
            raise
        if lost := self._give_back(term, process):
            names = ", ".join(sorted(places[place] for place in lost)[:3])
            raise Conflict(f"the lease of {names} ran out while it was held, and another took it; run again")

    def _give_back(self, term: "_Term", process: int) -> frozenset[Key]:
        """Return the keys that were lost. A forked child has nothing to give back."""
        if os.getpid() != process:
            return frozenset()
        for place in term.held:
            if self._held.get((process, place)) == term.token:
                del self._held[process, place]
        return term.end()

    def _fence(self, tenant: Tenant, keys: Sequence[str]) -> list[Item]:
        """Return the checks that writes under these keys travel with: that what this registry holds is still its own."""
        held = {place: self._held.get((os.getpid(), place)) for place in (_lease_key(tenant, key) for key in keys)}
        return [check(place, _MINE, token=token) for place, token in held.items() if token]


class _Term:
    """What one holder holds, from :meth:`take` to :meth:`end`."""

    def __init__(self, table: Table, token: str, seconds: float) -> None:
        self.token, self.held = token, frozenset[Key]()
        self._table, self._seconds = table, seconds
        self._lost: set[Key] = set()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, places: Sequence[Key]) -> None:
        """Take those that are free, and begin to renew them. None is held after an error."""
        taken: list[Key] = []

        def take(place: Key) -> None:
            now = time.time()
            with suppress(Outdated):
                self._table.put(self._item(place, now), _FREE, now=now - SKEW_SECONDS, token=self.token)
                taken.append(place)

        try:
            in_parallel(take, places)
        except BaseException:
            self.held = frozenset(taken)
            self.end()
            raise
        self.held = frozenset(taken)
        if taken:
            self._thread = threading.Thread(target=self._renew, name="lexigraph-leases", daemon=True)
            self._thread.start()

    def end(self) -> frozenset[Key]:
        """Give back what is held; return the keys that were lost before. Nothing is raised: a term ends by itself, too."""
        self._over.set()
        if self._thread:
            self._thread.join()

        def give_back(place: Key) -> None:
            try:
                self._table.update(place, _GIVE_BACK, _MINE, token=self.token)
            except Outdated:
                if (self._table.get(place) or {}).get("released") != self.token:
                    self._lost.add(place)
            except LexigraphError as error:
                logger.warning("a lease could not be given back and ends with its term: %s", error)

        in_parallel(give_back, sorted(self.held - self._lost))
        return frozenset(self._lost)

    def _renew(self) -> None:
        while not self._over.wait(self._seconds / _RENEWALS):
            with suppress(StoreUnavailable):  # the next turn, or the end, finds out
                in_parallel(self._renew_one, sorted(self.held - self._lost))

    def _renew_one(self, place: Key) -> None:
        item = self._item(place, time.time())
        try:
            self._table.put(item, _MINE, token=self.token)
        except Outdated:
            if not self._over.is_set():
                self._lost.add(place)
                logger.warning("a lease was lost while it was held: its holder was stopped for longer than its term")

    def _item(self, place: Key, now: float) -> Item:
        until = now + self._seconds
        return {"pk": place[0], "sk": place[1], "holder": self.token, "until": until, "expires": int(until) + _KEPT_SECONDS}


def _lease_key(tenant: Tenant, key: str) -> Key:
    return f"t#{tenant}#lease#{bounded(key)}", "lease"
