"""Probes of registry, cache and buckets, under keys of a tenant of their own."""

import secrets
import time
from contextlib import closing
from dataclasses import replace

from functions.probes.report import ProbeFailed, Report
from functions.probes.sample import TENANT, sample
from functions.settings import settings
from lexigraph.storage.common.aws import Refused
from lexigraph.storage.dynamodb.items import Table, delete, put
from lexigraph.storage.factory import CacheFactory, DocumentStoreFactory, RegistryFactory
from lexigraph.storage.protocols import DocumentRecord, Registry

_KIND, _KEY, _OWNER = "probe", "lexigraph-probe", "chunk:probe"
_NOT_READ = "report it with the log of the function: what was written is not what is read"
_DENIED = ("AccessDeniedException", "AccessDenied")


def _registry() -> "closing[Registry]":
    return closing(RegistryFactory.for_registry(settings().connections["registry"]))


def registry_read(report: Report) -> None:
    """Read the registry."""
    with report.part("registry.read", "reads and queries of the registry"), _registry() as registry:
        registry.revision(TENANT)
        registry.documents(TENANT, limit=1)
        registry.records(TENANT, [source.id for source in sample(1).sources])


def registry_write(report: Report) -> None:
    """Write records of documents under leases, in transactions, as `build` does, and forget them."""
    with report.part("registry.transaction", "records saved under leases, in transactions"), _registry() as registry:
        records = [
            DocumentRecord(source.id, source.uri, source.namespace, source.title, "BUILDING") for source in sample(1).sources
        ]
        keys = [record.source_id for record in records]
        with registry.lease(TENANT, keys) as held:
            if held != frozenset(keys):
                raise ProbeFailed("its leases are held by another", "wait a minute: another smoke test runs")
            registry.save(TENANT, records)
            registry.save(TENANT, [replace(record, state="READY", version=1) for record in records])
            states = {record.state for record in registry.records(TENANT, keys).values()}
            registry.forget(TENANT, keys)
        if states != {"READY"} or registry.records(TENANT, keys):
            raise ProbeFailed("records are not read as they were written", _NOT_READ)


def registry_session(report: Report) -> None:
    """Note what a session has seen, as `query` does; it goes by itself within a minute."""
    with report.part("registry.session", "a session's recall noted and read"), _registry() as registry:
        session, now = secrets.token_hex(8), time.time()
        registry.touch(TENANT, session, ["probe"], now, keep_seconds=60)
        if "probe" not in registry.session(TENANT, session, since=now - 60).seen:
            raise ProbeFailed("a recall is not read as it was noted", _NOT_READ)


def registry_keys(report: Report) -> None:
    """Try to write an API key inside a transaction, which no function may: IAM has to refuse the whole."""
    name, what = "registry.refused", "a transaction that also names an API key is refused"
    at = settings().connections["registry"]
    if not at.startswith("dynamodb:"):
        return report.skip(name, what, "the registry is in SQLite")
    with report.part(name, what), closing(Table(at)) as table:
        _try_to_write_a_key(table)
    return None


def _try_to_write_a_key(table: Table) -> None:
    ours, keys = (f"t#{TENANT}#claim#probe", "probe"), (f"system#key#{_KEY}", "probe")
    try:
        table.transact([put({"pk": pk, "sk": sk}) for pk, sk in (ours, keys)])
    except Refused as error:
        if error.code in _DENIED:
            return
        raise
    table.transact([delete(ours), delete(keys)])
    raise ProbeFailed(
        "IAM let a function write a key of the API",
        "take the deployment down: the condition on dynamodb:LeadingKeys does not hold in transactions; report it",
    )


def cache(report: Report, *, owned: bool) -> None:
    """Put results of models and read them; ``owned``: take them over and let them go, as `build` does."""
    with closing(CacheFactory.for_cache(settings().connections["cache"])) as cache:
        with report.part("registry.cache", "results of models put and read"):
            cache.put_many(TENANT, _KIND, {_KEY: b"probe"})
            if cache.get_many(TENANT, _KIND, [_KEY]) != {_KEY: b"probe"}:
                raise ProbeFailed("an entry is not read as it was put", _NOT_READ)
        if owned:
            with report.part("registry.owners", "results taken over and let go"):
                cache.own(TENANT, {_OWNER: [(_KIND, _KEY)]})
                cache.disown(TENANT, [_OWNER])
                if cache.get_many(TENANT, _KIND, [_KEY]):
                    raise ProbeFailed("an entry that nobody uses is still there", _NOT_READ)


def objects(report: Report, *, documents: bool) -> None:
    """Put, list, read and delete an object that the key of the deployment encrypts."""
    places = {"artefacts": settings().artefacts}
    if documents:
        places["documents"] = settings().connections["documents"]
    source = sample(1).sources[0].id
    for name, place in places.items():
        with report.part(f"objects.{name}", "an object put, listed, read and deleted"):
            store = DocumentStoreFactory.for_document_store(place)
            store.put(TENANT, source, "probe.txt", b"probe")
            if store.get(TENANT, source, "probe.txt") != b"probe" or store.names(TENANT, source) != ["probe.txt"]:
                raise ProbeFailed("an object is not read as it was put", _NOT_READ)
            store.delete(TENANT, source)
            if store.names(TENANT, source):
                raise ProbeFailed("an object that was deleted is still listed", _NOT_READ)
