"""Leases in a table: an item a key, with the token of its holder and the time at which it is free again.

A holder renews its leases from a thread of its own, four times a term. When it dies, they are free after their term at the
latest; clocks may differ by :data:`SKEW_SECONDS`. A holder that was stopped for longer than a term (a frozen function, a
network that was cut) may have lost them. It is told in two ways: what it saves under a lease is saved in one transaction
with a look at that lease, so a write that comes too late fails with ``Conflict``; and so does the end of its block. Other
stores know no leases: whoever writes there asks :meth:`DynamoLeases.fence` before. As long as its term runs by its own clock
a lease is certain, and asking costs no request.

Whoever takes a lease that was never given back notes in the same transaction that its former holder may be alive, and may
carry out yet what it has begun: what it leaves has to be looked for later (:meth:`DynamoLeases.late_writers`).
"""

import logging
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from lexigraph.model.errors import Conflict, LexigraphError, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.dynamodb.items import Item, Key, Outdated, Table, bounded, check, in_parallel, moment, put
from lexigraph.storage.protocols import LateWriter

LEASE_SECONDS = 60.0
SKEW_SECONDS = 2.0
_RENEWALS = 4
# its item stays for a day, so that a late holder, or one whose reply was lost, sees what became of it
_KEPT_SECONDS = 86_400
_LATE_SECONDS = 30 * 86_400  # for which a late writer is noted, if nobody looks after what it left
_LATE = "system#late"
_FREE = "attribute_not_exists(#holder) OR #holder = :token"
_LEFT = "#until < :now OR #holder = :token"
_MINE = "#holder = :token"
_GIVE_BACK = "SET #released = :token REMOVE #holder"
logger = logging.getLogger(__name__)


class DynamoLeases:
    """The leases of a registry, over its ``_table``."""

    _table: Table
    _lease_seconds: float

    def _begin_leases(self, seconds: float) -> None:
        self._lease_seconds = seconds
        self._held: dict[tuple[int, Key], _Term] = {}  # by process: a forked child holds nothing

    @contextmanager
    def lease(self, tenant: Tenant, keys: Sequence[str]) -> Iterator[frozenset[str]]:
        places = {_lease_key(tenant, key): key for key in keys}
        token, process = secrets.token_hex(16), os.getpid()
        term = _Term(self._table, tenant, token, self._lease_seconds)
        try:
            term.take(places)
            self._held |= dict.fromkeys(((process, place) for place in term.held), term)
            yield frozenset(places[place] for place in term.held)
        except BaseException:
            self._give_back(term, process)
            raise
        if lost := self._give_back(term, process):
            names = ", ".join(sorted(places[place] for place in lost)[:3])
            raise Conflict(f"the lease of {names} expired and another process took it; run again")

    def _give_back(self, term: "_Term", process: int) -> frozenset[Key]:
        """Return the keys that were lost. A forked child has nothing to give back."""
        if os.getpid() != process:
            return frozenset()
        for place in term.held:
            if self._held.get((process, place)) is term:
                del self._held[process, place]
        return term.end()

    def _fence(self, tenant: Tenant, keys: Sequence[str]) -> list[Item]:
        """Return the checks that writes under these keys travel with: that what this registry holds is still its own."""
        return [check(place, _MINE, token=term.token) for place, term in self._mine(tenant, keys).items()]

    def fence(self, tenant: Tenant, keys: Sequence[str]) -> None:
        for place, term in self._mine(tenant, keys).items():
            term.check(place)

    def late_writers(self, tenant: Tenant, *, since: float) -> list[LateWriter]:
        found = self._table.query(_LATE, f"{tenant}#", f"{tenant}#{moment(time.time() - since)}")
        return [LateWriter(item["sk"].removeprefix(f"{tenant}#"), item["key"]) for item in found]

    def late_tenants(self, *, since: float) -> list[Tenant]:
        latest = moment(time.time() - since)
        noted = (item["sk"].split("#") for item in self._table.query(_LATE, names=("sk",)))
        return [Tenant(name) for name in dict.fromkeys(tenant for tenant, at, _ in noted if at <= latest)]

    def dismiss(self, tenant: Tenant, late: Sequence[LateWriter]) -> None:
        self._table.write_many(delete=[(_LATE, f"{tenant}#{one.id}") for one in late])

    def _mine(self, tenant: Tenant, keys: Sequence[str]) -> "dict[Key, _Term]":
        terms = {place: self._held.get((os.getpid(), place)) for place in (_lease_key(tenant, key) for key in keys)}
        return {place: term for place, term in terms.items() if term}


class _Term:
    """What one holder holds, from :meth:`take` to :meth:`end`."""

    def __init__(self, table: Table, tenant: Tenant, token: str, seconds: float) -> None:
        self.token, self.held = token, frozenset[Key]()
        self._table, self._tenant, self._seconds = table, tenant, seconds
        self._lost: set[Key] = set()
        self._until: dict[Key, float] = {}  # by our clock; whoever takes it then allows for clocks that differ
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, places: Mapping[Key, str]) -> None:
        """Take those that are free, by place and key, and begin to renew them. None is held after an error."""
        taken: list[Key] = []

        def take(place: Key) -> None:
            item = self._item(place, time.time())
            with suppress(Outdated):
                try:
                    self._table.put(item, _FREE, token=self.token)
                except Outdated as held:
                    if held.item.get("until", 0) >= time.time() - SKEW_SECONDS:
                        raise  # its term is not over: many who wait ask once each, and change nothing
                    self._take_over(item, places[place])
                self._until[place] = item["until"]
                taken.append(place)

        try:
            in_parallel(take, list(places))
        except BaseException:
            self.held = frozenset(taken)
            self.end()
            raise
        self.held = frozenset(taken)
        if taken:
            self._thread = threading.Thread(target=self._renew, name="lexigraph-leases", daemon=True)
            self._thread.start()

    def _take_over(self, item: Item, key: str) -> None:
        """Take a lease whose term is over, and note its holder. Raise :class:`Outdated` when the term is not over."""
        now = time.time()
        sk = f"{self._tenant}#{moment(now)}#{self.token}"
        late = {"pk": _LATE, "sk": sk, "key": key, "expires": int(now) + _LATE_SECONDS}
        self._table.transact([put(item, _LEFT, now=now - SKEW_SECONDS, token=self.token), put(late)])

    def check(self, place: Key) -> None:
        """Raise ``Conflict`` when a lease was lost; ask only when its term may be over."""
        if place not in self._lost and time.time() >= self._until[place]:
            self._renew_one(place)
        if place in self._lost:
            raise Conflict("the lease of a document expired and another process took it; run again")

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
            self._until[place] = item["until"]
        except Outdated:
            if not self._over.is_set():
                self._lost.add(place)
                logger.warning("a lease was lost while it was held: its holder was stopped for longer than its term")

    def _item(self, place: Key, now: float) -> Item:
        until = now + self._seconds
        return {"pk": place[0], "sk": place[1], "holder": self.token, "until": until, "expires": int(until) + _KEPT_SECONDS}


def _lease_key(tenant: Tenant, key: str) -> Key:
    return f"t#{tenant}#lease#{bounded(key)}", "lease"
