"""The part of the DynamoDB registry beside documents and jobs: keys, sessions, places, claims, and the revision.

A recall is one small item, whatever the session has seen before: it is written with the session's count in one transaction,
and a session is read by one query of its partition. What is old is deleted by time to live.
"""

import math
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from lexigraph.model.curation import Decision
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import (
    decision_json,
    decision_of,
    key_columns,
    key_exists,
    key_of,
    no_key,
    now_text,
)
from lexigraph.storage.dynamodb.bodies import stamp
from lexigraph.storage.dynamodb.items import (
    TRANSACTION_ITEMS,
    Item,
    Key,
    Outdated,
    Table,
    bounded,
    pack,
    put,
    unpack,
    update,
)
from lexigraph.storage.protocols import ApiKey, Claim, Freshness, Session, seen_at

_RECALL, _SESSION = "recall#", "session"
_KEY = "key"
_ANY_KEY: Key = ("system#keys", "made")


class DynamoAccess:
    """Keys, sessions, ordinals, claims and the revision, over the registry's ``_table``."""

    _table: Table

    def revision(self, tenant: Tenant) -> int:
        return self.freshness(tenant).revision

    def freshness(self, tenant: Tenant) -> Freshness:
        found = self._table.get(_meta_key(tenant)) or {}
        return Freshness(int(found.get("revision", 0)), int(found.get("cleared", 0)))

    def clear(self, tenant: Tenant) -> int:
        return int(self._table.update(_meta_key(tenant), "ADD #cleared :one", one=1)["cleared"])

    # -- places in namespaces

    def ordinals(self, tenant: Tenant, namespace: str, source_ids: Sequence[str]) -> dict[str, int]:
        pk = f"t#{tenant}#ordinals#{bounded(namespace)}"
        keys = {i: (pk, f"source#{bounded(i)}") for i in source_ids}
        count: Key = (pk, "count")
        for _ in self._table.tries():
            found = self._table.get_many([count, *keys.values()]) if keys else {}
            new = [i for i, key in keys.items() if key not in found][: TRANSACTION_ITEMS - 1]
            if not new:
                return {i: int(found[key]["ordinal"]) for i, key in keys.items()}
            # the last place given is the first of a full list: nobody else counts from there
            taken = int(found.get(count, {"number": 0})["number"])
            numbered = [{"pk": pk, "sk": keys[i][1], "ordinal": n} for n, i in enumerate(new, taken)]
            unchanged = "#number = :old" if taken else "attribute_not_exists(pk)"
            old = {"old": taken} if taken else {}
            counted = update(count, "SET #number = :new", unchanged, new=taken + len(new), **old)
            try:
                self._table.transact([counted, *(put(item, "attribute_not_exists(pk)") for item in numbered)])
            except Outdated:
                continue
        raise Conflict("too many documents are added to this namespace at once; try again")

    # -- claims

    def claim(self, tenant: Tenant, key: str, order: str, holder: str) -> Claim:
        place = _claim_key(tenant, key)
        with suppress(Outdated):
            newer = "attribute_not_exists(pk) OR #order < :order"
            return _claim(
                self._table.update(place, "SET #order = :order, #holder = :holder", newer, order=order, holder=holder)
            )
        return next(_claim(item) for item in self._table.get_many([place]).values())

    def claimed(self, tenant: Tenant, key: str) -> Claim | None:
        found = self._table.get(_claim_key(tenant, key))
        return _claim(found) if found else None

    # -- keys

    def add_key(self, key: ApiKey) -> None:
        made = stamp()
        of_digest, of_id = _digest_key(key.digest), _id_key(key.id)
        item = _at(of_digest) | key_columns(key) | {"stamp": made}
        order = f"{time.time_ns():020d}#{bounded(key.id)}"
        try:
            self._table.transact(
                [
                    put(item, "attribute_not_exists(pk)"),
                    put(_at(of_id) | {"tenant": key.tenant, "digest": key.digest}, "attribute_not_exists(pk)"),
                    put({"pk": f"t#{key.tenant}#keys", "sk": order, "digest": key.digest}),
                    put(_at(_ANY_KEY)),
                ]
            )
        except Outdated:
            if (self._table.get(of_digest) or {}).get("stamp") == made:
                return  # an earlier try had been carried out, and its reply was lost
            raise key_exists(key.id) from None

    def key(self, digest: str) -> ApiKey | None:
        found = self._table.get(_digest_key(digest))
        return key_of(found) if found and not found["revoked_at"] else None

    def signer(self, digest: str) -> ApiKey | None:
        found = self._table.query(_digest_key(f"{digest}#")[0])
        held = (item for item in found if item["digest"] == f"{digest}#{item['id']}" and not item["revoked_at"])
        oldest = min(held, key=lambda item: str(item["created_at"]), default=None)
        return key_of(oldest) if oldest else None

    def keys(self, tenant: Tenant) -> list[ApiKey]:
        listed = [_digest_key(item["digest"]) for item in self._table.query(f"t#{tenant}#keys")]
        found = self._table.get_many(listed)
        return [key_of(found[key]) for key in listed]

    def any_key(self) -> bool:
        return self._table.get(_ANY_KEY) is not None

    def revoke_key(self, tenant: Tenant, key_id: str) -> ApiKey:
        known = self._table.get(_id_key(key_id))
        if known is None or known["tenant"] != tenant:
            raise no_key(key_id)
        where = _digest_key(known["digest"])
        try:
            return key_of(
                self._table.update(where, "SET #revoked_at = :now", "#revoked_at = :none", now=now_text(), none="")
            )
        except Outdated:
            return next(key_of(item) for item in self._table.get_many([where]).values())

    # -- curation

    def decide(self, tenant: Tenant, decision: Decision) -> None:
        place = {"pk": _curation_pk(tenant), "sk": decision.id}
        self._table.write_many([place | {"record": decision_json(decision)}])

    def decisions(self, tenant: Tenant) -> list[Decision]:
        return [decision_of(item["record"]) for item in self._table.query(_curation_pk(tenant))]

    # -- sessions

    def session(self, tenant: Tenant, session_id: str, *, since: float, awake_since: float | None = None) -> Session:
        recalls, seen = 0, dict[str, float]()
        for item in self._table.query(_session_pk(tenant, session_id)):
            if item["sk"] == _SESSION:
                recalls = int(item["recalls"]) if item["at"] >= (since if awake_since is None else awake_since) else 0
            elif item["at"] >= since:
                for node, at in seen_at(unpack(item["body"]), float(item["at"])).items():
                    seen[node] = max(at, seen.get(node, -math.inf))
        return Session(recalls, {node: at for node, at in seen.items() if at >= since})

    def touch(
        self,
        tenant: Tenant,
        session_id: str,
        nodes: Sequence[str],
        at: float,
        *,
        keep_seconds: float,
        idle_seconds: float | None = None,
    ) -> None:
        at = float(at)
        pk, expires = _session_pk(tenant, session_id), math.ceil(at + keep_seconds)
        since = at - (keep_seconds if idle_seconds is None else idle_seconds)
        head: Key = (pk, _SESSION)
        recall: Key = (pk, f"{_RECALL}{secrets.token_hex(16)}")
        told = {"at": at, "expires": expires, "body": pack(list(nodes), "nodes of a recall")}
        noted = put(_at(recall) | told, "attribute_not_exists(pk)")
        if self._gone_on(head, noted, at, since, expires):
            return
        for _ in self._table.tries():
            found = self._table.get_many([head, recall])
            if recall in found:
                return  # an earlier try had been carried out, and its reply was lost
            before = found.get(head)
            goes_on = before is not None and before["at"] >= since
            values = {
                "recalls": 1 + (int(before["recalls"]) if before and goes_on else 0),
                "at": max(at, float(before["at"]) if before and goes_on else at),
                "expires": max(expires, int(before["expires"]) if before and goes_on else 0),
            }
            unchanged = "#stamp = :old" if before else "attribute_not_exists(pk)"
            old = {"old": before["stamp"]} if before else {}
            try:
                self._table.transact([put(_at(head) | values | {"stamp": stamp()}, unchanged, **old), noted])
            except Outdated:
                continue
            return
        raise Conflict("too many recalls of this session at once; try again")

    def _gone_on(self, head: Key, recall: Mapping[str, Any], at: float, since: float, expires: int) -> bool:
        """Note a recall without reading what was before, if the session is new or goes on; otherwise return False."""
        goes_on = "attribute_not_exists(pk) OR (#at >= :since AND #at <= :at AND #expires <= :expires)"
        change = "SET #at = :at, #expires = :expires, #stamp = :stamp ADD #recalls :one"
        new = update(head, change, goes_on, at=at, since=since, expires=expires, stamp=stamp(), one=1)
        try:
            self._table.transact([new, recall])
        except Outdated:
            return False
        return True


def _at(key: Key) -> Item:
    return {"pk": key[0], "sk": key[1]}


def _meta_key(tenant: Tenant) -> Key:
    return f"t#{tenant}#meta", "meta"


def _digest_key(digest: str) -> Key:
    # the keys of a signer lie together, and are told apart by their ids
    signer, parted, key_id = digest.rpartition("#")
    return (f"system#key#{bounded(signer)}", key_id) if parted else (f"system#key#{bounded(digest)}", _KEY)


def _id_key(key_id: str) -> Key:
    return f"system#keyid#{bounded(key_id)}", _KEY


def _curation_pk(tenant: Tenant) -> str:
    return f"t#{tenant}#curation"


def _session_pk(tenant: Tenant, session_id: str) -> str:
    return f"t#{tenant}#session#{bounded(session_id)}"


def _claim_key(tenant: Tenant, key: str) -> Key:
    return f"t#{tenant}#claim#{bounded(key)}", "claim"


def _claim(item: Item) -> Claim:
    return Claim(item["order"], item["holder"])
