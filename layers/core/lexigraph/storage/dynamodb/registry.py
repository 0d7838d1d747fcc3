"""The registry in one DynamoDB table. What deploys the table: :mod:`lexigraph.storage.dynamodb.table`.

=============================  =======================  ==========================================================
pk                             sk                       what
=============================  =======================  ==========================================================
t#TENANT#meta                  meta                     revision, documents by state, jobs, cleared, sums of counts
t#TENANT#doc#SOURCE            head                     a document: what queries ask for, and a short body
t#TENANT#doc#SOURCE            part#STAMP#N             the rest of a long body, of the version that the head names
t#TENANT#uris                  URI 0 0 SOURCE           the tenant's documents in order
t#TENANT#uris-of#NAMESPACE     URI 0 0 SOURCE           those of a namespace
t#TENANT#job#JOB               head, part#STAMP#N       a job: status, number of events; request and result
t#TENANT#job#JOB               event#LAST               events of one call, the last of them numbered LAST
t#TENANT#jobs                  TIME#JOB                 the tenant's jobs in order
system#running                 TIME#JOB                 jobs of all tenants that are not over
t#TENANT#lease#KEY             lease                    holder and end of its term; expires
system#late                    TENANT#TIME#CHANCE       whose lease was taken before it was given back; expires
t#TENANT#claim#KEY             claim                    the newest state of a file, and who brings it in
t#TENANT#keys                  TIME#KEY                 the tenant's keys in order
system#key#DIGEST              key                      an API key
system#keyid#KEY               key                      whose it is, and its digest
t#TENANT#session#SESSION       session                  number of recalls; expires
t#TENANT#session#SESSION       recall#CHANCE            what one recall returned; expires
t#TENANT#ordinals#NAMESPACE    count, source#SOURCE     places in a namespace
t#TENANT#entry#..., and more   ...                      :mod:`lexigraph.storage.dynamodb.cache`
=============================  =======================  ==========================================================

There is no secondary index, and every read is strong. A record is saved or forgotten in one transaction with its places in
the lists, the revision and the counts, under the condition that nobody changed it since it was looked at.

A transaction holds 100 items: 99 documents that exist already, 33 new ones, half of that under leases. :meth:`save` and
:meth:`forget` of more are several transactions in the order given, each document whole in one of them; an interruption
leaves the first of them done, and repeating the call does the rest. All records are checked before the first is written.
Changes of one tenant's documents share the item with the revision: they take turns, some dozens of transactions a second.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from lexigraph.model.batches import packed
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import check_limit, columns_of, document_of, now_text, rest_of
from lexigraph.storage.common.views import seen_by_views
from lexigraph.storage.dynamodb.access import DynamoAccess
from lexigraph.storage.dynamodb.bodies import HEAD, read_whole, stamp, sweep, with_body
from lexigraph.storage.dynamodb.items import (
    TRANSACTION_ITEMS,
    Item,
    Key,
    Outdated,
    Table,
    bounded,
    delete,
    encoded,
    in_parallel,
    pack,
    put,
    unpack,
    update,
)
from lexigraph.storage.dynamodb.jobs import DynamoJobs
from lexigraph.storage.dynamodb.leases import LEASE_SECONDS, DynamoLeases
from lexigraph.storage.protocols import DocumentRecord, DocumentState

_LOOK = ("source_id", "uri", "namespace", "state", "stamp", "parts", "counts")
_SAME, _NEW = "#stamp = :old", "attribute_not_exists(pk)"
_URI_BYTES, _ID_BYTES = 470, 80  # a sort key has 1,024; bytes of a uri that are no ASCII take two
_SUM = "sum_"  # of a count over all documents, in the item of the tenant
_END, _AFTER = "\0\0", "\0\1"  # what follows a uri in a sort key, and what comes after all that do


@dataclass(frozen=True, slots=True)
class _Change:
    """What belongs into one transaction for one document; its states before and after, where there is one.

    ``more`` is by how much the sums of what readers see of documents change.
    """

    actions: Sequence[Item]
    before: str = ""
    after: str = ""
    more: Mapping[str, int] = field(default_factory=dict)


@seen_by_views
class DynamoDBRegistry(DynamoLeases, DynamoJobs, DynamoAccess):
    """A :class:`~lexigraph.storage.protocols.Registry` in the table of ``dynamodb://TABLE[?region=REGION&endpoint=URL]``.

    Safe between threads, processes and forked children.
    """

    keeps_counts = True

    def __init__(self, connection: str, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Raise ``Misconfigured`` for a connection that cannot be used; the table is first asked when used.

        ``lease_seconds``: the term after which the leases of a dead holder are free.
        """
        self._table = Table(connection)
        self._begin_leases(lease_seconds)

    def document(self, tenant: Tenant, source_id: str) -> DocumentRecord | None:
        return self.records(tenant, [source_id]).get(source_id)

    def documents(
        self, tenant: Tenant, *, namespace: str | None = None, after: str = "", limit: int = 1_000
    ) -> list[DocumentRecord]:
        check_limit(limit)
        pk, found = _list_pk(tenant, namespace), list[DocumentRecord]()
        while (wanted := limit - len(found)) > 0:
            listed = self._listed(pk, after, wanted)
            records = self.records(tenant, [source_id for _, source_id in listed])
            found += [records[source_id] for _, source_id in listed if source_id in records]
            if len(listed) < wanted:
                break
            after = listed[-1][0]  # goes on when some were forgotten meanwhile: a short page would look like the last
        return found

    def _listed(self, pk: str, after: str, limit: int) -> list[tuple[str, str]]:
        """Return the next (uri, id), in order; more than ``limit`` rather than part those whose (cut) uris are equal."""
        begin = _cut(after)
        low = begin if not after or len(begin) == _URI_BYTES else begin + _AFTER
        found: list[tuple[str, str]] = []
        for item in self._table.query(pk, low, names=("uri", "source_id"), limit=limit + 1):
            if len(found) >= limit and _cut(item["uri"]) != _cut(found[-1][0]):
                break
            if item["uri"] > after or not after:
                found.append((item["uri"], item["source_id"]))
        return sorted(found)

    def records(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, DocumentRecord]:
        found = read_whole(self._table, [_key(tenant, source_id) for source_id in source_ids])
        return {head["source_id"]: document_of(head, unpack(body)) for head, body in found.values()}

    def fingerprints(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, tuple[DocumentState, str]]:
        found = self._table.get_many([_key(tenant, i) for i in source_ids], ("source_id", "state", "fingerprint"))
        return {head["source_id"]: (head["state"], head["fingerprint"]) for head in found.values()}

    def save(self, tenant: Tenant, records: Sequence[DocumentRecord]) -> None:
        now = now_text()
        heads: dict[str, Item] = {}
        parts: list[Item] = []
        for r in {r.source_id: r for r in records}.values():
            pk, sk = _key(tenant, r.source_id)
            columns = columns_of(r, now)
            encoded("".join(columns.values()))  # or the first of several transactions would be through before it fails
            body = pack(rest_of(r), f"document {r.uri!r}")
            head = {"pk": pk, "sk": sk, "stamp": stamp(), **columns, "counts": json.dumps(dict(r.counts))}
            heads[r.source_id], its_parts = with_body(head, body)
            parts += its_parts
        self._table.write_many(parts)

        def saved(source_id: str, before: Item | None) -> _Change | None:
            head = heads[source_id]
            if before is None:
                listed = [put(place | _named(head)) for place in _places(tenant, head)]
                return _Change([put(head, _NEW), *listed], after=head["state"], more=_more({}, head))
            if before["stamp"] == head["stamp"]:
                return None  # by an earlier try, whose reply was lost
            new, old = _places(tenant, head), _places(tenant, before)
            listed = [put(place | _named(head)) for place in new if place not in old]
            listed += [delete((place["pk"], place["sk"])) for place in old if place not in new]
            put_head = put(head, _SAME, old=before["stamp"])
            return _Change([put_head, *listed], before["state"], head["state"], _more(before, head))

        replaced = self._change(tenant, list(heads), saved)
        in_parallel(lambda old: sweep(self._table, old["pk"], old["stamp"]), [old for old in replaced if old["parts"]])

    def forget(self, tenant: Tenant, source_ids: Sequence[str]) -> None:
        def forgotten(_: str, before: Item | None) -> _Change | None:
            if before is None:
                return None
            head = delete((before["pk"], before["sk"]), _SAME, old=before["stamp"])
            listed = [delete((place["pk"], place["sk"])) for place in _places(tenant, before)]
            return _Change([head, *listed], before=before["state"], more=_more(before, {}))

        unique = list(dict.fromkeys(source_ids))
        self._change(tenant, unique, forgotten)
        # of unknown ones too: an earlier call may have been interrupted here
        in_parallel(lambda i: sweep(self._table, _key(tenant, i)[0], everything=True), unique)

    def stats(self, tenant: Tenant) -> dict[str, int]:
        found = self._table.get(_meta(tenant)) or {}
        return {name: int(found.get(name, 0)) for name in (*get_args(DocumentState), "jobs")}

    def counts(self, tenant: Tenant) -> dict[str, int]:
        found = self._table.get(_meta(tenant)) or {}
        return {name.removeprefix(_SUM): int(value) for name, value in found.items() if name.startswith(_SUM)}

    def close(self) -> None:
        self._table.close()

    def _change(
        self, tenant: Tenant, source_ids: Sequence[str], change: Callable[[str, Item | None], _Change | None]
    ) -> list[Item]:
        """Carry out a change of each document, in transactions; return the heads that were there before.

        ``change`` is asked with the head as it is, again when somebody changed that meanwhile; None is nothing to do.
        """
        replaced: dict[str, Item] = {}
        for _ in self._table.tries():
            heads = self._table.get_many([_key(tenant, i) for i in source_ids], _LOOK)
            known = {head["source_id"]: head for head in heads.values()}
            changes = {i: made for i in source_ids if (made := change(i, known.get(i)))}
            replaced |= {i: known[i] for i in changes if i in known}
            fenced = (replace(c, actions=[*c.actions, *self._fence(tenant, [i])]) for i, c in changes.items())
            try:
                for group in packed(fenced, lambda c: len(c.actions), TRANSACTION_ITEMS - 1):  # one is for the counts
                    self._transact(tenant, group)
            except Outdated:
                continue
            return list(replaced.values())
        raise Conflict("other processes keep changing these documents; try again")

    def _transact(self, tenant: Tenant, group: Sequence[_Change]) -> None:
        counts = {"revision": 1}
        for state, step in [(c.before, -1) for c in group] + [(c.after, 1) for c in group]:
            if state:
                counts[state] = counts.get(state, 0) + step
        for kind, step in ((kind, step) for change in group for kind, step in change.more.items()):
            counts[_SUM + kind] = counts.get(_SUM + kind, 0) + step
        counting = update(_meta(tenant), "ADD " + ", ".join(f"#{name} :{name}" for name in counts), "", **counts)
        actions = [*(action for change in group for action in change.actions), counting]
        try:
            self._table.transact(actions)
        except Outdated as error:
            if any("ConditionCheck" in actions[n] for n in error.failed):
                raise Conflict("the lease of a document expired and another process took it; run again") from None
            raise


def _key(tenant: Tenant, source_id: str) -> Key:
    return f"t#{tenant}#doc#{bounded(source_id)}", HEAD


def _meta(tenant: Tenant) -> Key:
    return f"t#{tenant}#meta", "meta"


def _list_pk(tenant: Tenant, namespace: str | None) -> str:
    return f"t#{tenant}#uris" if namespace is None else f"t#{tenant}#uris-of#{bounded(namespace)}"


def _places(tenant: Tenant, head: Item) -> list[Item]:
    """Return the keys of a document's items in the lists."""
    sk = _cut(head["uri"]) + _END + bounded(head["source_id"], _ID_BYTES)
    return [{"pk": _list_pk(tenant, namespace), "sk": sk} for namespace in (None, head["namespace"])]


def _more(before: Item, after: Item) -> dict[str, int]:
    """Return by how much the counts of a document change; a head of an earlier release has none."""
    old, new = (json.loads(head.get("counts", "{}")) for head in (before, after))
    more = {kind: new.get(kind, 0) - old.get(kind, 0) for kind in {**old, **new}}
    return {kind: step for kind, step in more.items() if step}


def _named(head: Item) -> Item:
    return {"uri": head["uri"], "source_id": head["source_id"]}


def _cut(uri: str) -> str:
    """Return the beginning of a uri, one character a byte: in the order of whole uris, and never with ``_END`` in it."""
    return encoded(uri).replace(b"\0", _AFTER.encode())[:_URI_BYTES].decode("latin-1")
