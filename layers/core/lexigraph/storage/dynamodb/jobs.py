"""Jobs and their events in a table.

The events of one call are one item, whose sort key is the number of its last event: who asks for what is over ``after``
finds all of them by one comparison. It is put in one transaction with the number up to which the job has counted, so there
are no gaps, and nobody sees an event before those with smaller numbers.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from lexigraph.model.errors import Conflict, InvalidInput
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import check_limit, no_job, now_text
from lexigraph.storage.dynamodb.bodies import HEAD, read_whole, stamp, sweep, with_body
from lexigraph.storage.dynamodb.items import (
    Item,
    Key,
    Outdated,
    Table,
    bounded,
    delete,
    pack,
    put,
    unpack,
    update,
)
from lexigraph.storage.protocols import JobEvent, JobRecord, JobStatus

RUNNING = "system#running"
_EVENT, _AFTER_EVENTS = "event#", "event#~"
_EVENTS_BYTES = 300_000
_TOLD = ("id", "kind", "status", "created_at", "updated_at")  # in the head


class DynamoJobs:
    """The jobs of a registry, over its ``_table``."""

    _table: Table

    def start_job(self, tenant: Tenant, kind: str, request: Mapping[str, Any], *, job_id: str = "") -> JobRecord:
        now, job_id = now_text(), job_id or secrets.token_hex(16)
        order = f"{time.time_ns():020d}#{job_id}"
        body = {"request": request, "result": {}, "reason": ""}
        pk, _ = key = _job_key(tenant, job_id)
        plain = {"pk": pk, "sk": HEAD, "stamp": stamp(), "order": order, "seq": 0}
        plain |= dict(zip(_TOLD, (job_id, kind, "RUNNING", now, now), strict=True))
        head, parts = with_body(plain, pack(body, "request of a job"))
        self._table.write_many(parts)
        listed = {"sk": order, "id": job_id}
        # outdated: an earlier try had been carried out, and its reply was lost, or the caller has created it before
        with suppress(Outdated):
            self._table.transact(
                [
                    put(head, "attribute_not_exists(pk)"),
                    put({"pk": _list_pk(tenant), **listed}),
                    put({"pk": RUNNING, "tenant": tenant, **listed}),
                    update((f"t#{tenant}#meta", "meta"), "ADD #jobs :one", one=1),
                ]
            )
        return _job(*read_whole(self._table, [key])[key])

    def job(self, tenant: Tenant, job_id: str) -> JobRecord:
        found = read_whole(self._table, [_job_key(tenant, job_id)])
        if not found:
            raise no_job(job_id)
        return next(_job(head, body) for head, body in found.values())

    def jobs(self, tenant: Tenant, *, limit: int = 50) -> list[JobRecord]:
        check_limit(limit)
        keys: list[Key] = []
        for item in self._table.query(_list_pk(tenant), newest=True, limit=limit):
            keys.append(_job_key(tenant, item["id"]))
            if len(keys) == limit:
                break
        found = read_whole(self._table, keys)
        return [_job(*found[key]) for key in keys]

    def unfinished(self) -> list[tuple[Tenant, JobRecord]]:
        listed = [(Tenant(item["tenant"]), item["id"]) for item in self._table.query(RUNNING)]
        found = read_whole(self._table, [_job_key(*one) for one in listed])
        running = [(tenant, _job(*found[_job_key(tenant, i)])) for tenant, i in listed if _job_key(tenant, i) in found]
        return [(tenant, job) for tenant, job in running if job.status == "RUNNING"]

    def add_events(self, tenant: Tenant, job_id: str, events: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        key = _job_key(tenant, job_id)
        prepared = list(_batches(events))
        if not prepared and not self._table.get_many([key], ["sk"]):
            raise no_job(job_id)
        for count, told in prepared:
            self._append(key, job_id, count, told)

    def _append(self, key: Key, job_id: str, count: int, told: bytes) -> None:
        batch, known = secrets.token_hex(8), -1
        for _ in self._table.tries():
            head = self._table.get_many([key], ["seq", "at"]).get(key)
            if head is None:
                raise no_job(job_id)
            if known >= 0 and head["seq"] != known and self._is_there(key, known + count, batch):
                return  # an earlier try had been carried out, and its reply was lost
            known = head["seq"]
            at = max(now_text(), head.get("at", ""))  # grows with seq, whoever writes
            item = {"pk": key[0], "sk": f"{_EVENT}{known + count:012d}", "batch": batch, "count": count, "at": at}
            counted = update(key, "SET #seq = :new, #at = :at", "#seq = :old", new=known + count, old=known, at=at)
            try:
                self._table.transact([counted, put({**item, "body": told})])
            except Outdated:
                continue
            return
        raise Conflict(f"job {job_id!r}: too many events at once; try again")

    def _is_there(self, key: Key, last: int, batch: str) -> bool:
        return (self._table.get((key[0], f"{_EVENT}{last:012d}")) or {}).get("batch") == batch

    def events(self, tenant: Tenant, job_id: str, *, after: int = 0) -> list[JobEvent]:
        pk, _ = _job_key(tenant, job_id)
        found = []
        for item in self._table.query(pk, f"{_EVENT}{max(after, 0) + 1:012d}", _AFTER_EVENTS):
            first = int(item["sk"].removeprefix(_EVENT)) - item["count"] + 1
            found += [JobEvent(n, stage, item["at"], data) for n, (stage, data) in enumerate(unpack(item["body"]), first)]
        return [event for event in found if event.seq > after]

    def finish_job(
        self, tenant: Tenant, job_id: str, status: JobStatus, result: Mapping[str, Any], reason: str = ""
    ) -> None:
        key, new, now = _job_key(tenant, job_id), stamp(), now_text()
        for _ in self._table.tries():
            found = read_whole(self._table, [key]).get(key)
            if found is None:
                raise no_job(job_id)
            head, body = found
            if head["stamp"] == new:
                return  # an earlier try had been carried out, and its reply was lost
            told = pack({**unpack(body), "result": result, "reason": reason}, "result of a job")
            made, parts = with_body({"pk": key[0], "stamp": new, "status": status, "updated_at": now}, told)
            self._table.write_many(parts)
            values = {name: value for name, value in made.items() if name != "pk"}
            setting = (
                "SET " + ", ".join(f"#{name} = :{name}" for name in values) + ("" if "body" in made else " REMOVE #body")
            )
            changed = update(key, setting, "#stamp = :old", old=head["stamp"], **values)
            try:
                self._table.transact([changed, delete((RUNNING, head["order"]))])
            except Outdated:
                continue
            if head["parts"]:
                sweep(self._table, key[0], head["stamp"])
            return
        raise Conflict(f"job {job_id!r}: another process keeps finishing it; try again")


def _batches(events: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[int, bytes]]:
    """Return the events as (count, packed), as few of them as fit into items."""
    if not events:
        return []
    for stage, data in events:
        pack(data, f"event {stage!r}")  # so that an error names the event
    packed = pack(list(events), "events")
    if len(packed) <= _EVENTS_BYTES:
        return [(len(events), packed)]
    if len(events) == 1:
        raise InvalidInput(f"event {events[0][0]!r} is too large: at most {_EVENTS_BYTES} bytes compressed")
    half = len(events) // 2
    return _batches(events[:half]) + _batches(events[half:])


def _job(head: Item, body: bytes) -> JobRecord:
    return JobRecord(**{name: head[name] for name in _TOLD}, **unpack(body), seq=int(head["seq"]))


def _job_key(tenant: Tenant, job_id: str) -> Key:
    return f"t#{tenant}#job#{bounded(job_id)}", HEAD


def _list_pk(tenant: Tenant) -> str:
    return f"t#{tenant}#jobs"
