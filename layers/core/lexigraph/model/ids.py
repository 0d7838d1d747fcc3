"""Deterministic ids: the same thing has the same id on every machine, in every order of ingestion.

An id is ``<kind>:`` and 128 bits of BLAKE2b in hexadecimal over the length-prefixed tenant and key parts. The lengths
keep ``("ab", "c")`` and ``("a", "bc")`` apart; the tenant keeps two tenants' equal documents apart.
"""

from hashlib import blake2b
from typing import Literal

from lexigraph.model.errors import InvalidInput
from lexigraph.model.normalise import entity_key, statement_key, text_key
from lexigraph.model.tenant import Tenant

Kind = Literal["source", "chunk", "topic", "statement", "fact", "entity", "relation"]


def _digest(parts: tuple[str, ...], size: int) -> str:
    raws = [part.encode("utf-8", "surrogatepass") for part in parts]
    return blake2b(b"".join([len(raw).to_bytes(8, "big") + raw for raw in raws]), digest_size=size).hexdigest()


def node_id(kind: Kind, tenant: str, *parts: str) -> str:
    """Return the id of a node of this kind whose natural key is ``parts``; the same in every view of the tenant."""
    owner = tenant.whole if isinstance(tenant, Tenant) else tenant
    return f"{kind}:{_digest((owner, kind, *parts), 16)}"


def number_of(node: str) -> int:
    """Return 60 bits of a node's id, for those who note very many."""
    return int(node.rpartition(":")[2][:15], 16)


def content_hash(*parts: str) -> str:
    """Return a hash of content (64 hex digits) that does not depend on the tenant: key of caches and change detection."""
    return _digest(parts, 32)


def source_id(tenant: str, namespace: str, uri: str) -> str:
    """Return the id of a source: one document, whatever its version."""
    return node_id("source", tenant, namespace, uri)


def chunk_id(tenant: str, source: str, chunk_hash: str, ordinal: int, extraction_hash: str) -> str:
    """Return the id of a chunk: its content, its order among chunks of equal content in one source, and what it yielded.

    So a chunk that is extracted anew with another result is another chunk, and replaces the old one like any change.
    """
    return node_id("chunk", tenant, source, chunk_hash, str(ordinal), extraction_hash)


def topic_id(tenant: str, source: str, title: str) -> str:
    """Return the id of a topic: a title within one source."""
    return node_id("topic", tenant, source, text_key(title))


def statement_id(tenant: str, topic: str, text: str, kind: str = "prose") -> str:
    """Return the id of a statement: a text within one topic, and its kind unless that is prose."""
    kinds = () if kind == "prose" else (kind,)
    return node_id("statement", tenant, topic, statement_key(text, kind), *kinds)


def fact_id(tenant: str, subject: str, predicate: str, object_: str) -> str:
    """Return the id of a fact: subject, predicate and object, shared by all sources of a tenant."""
    return node_id("fact", tenant, text_key(subject), text_key(predicate), text_key(object_))


def entity_id(tenant: str, name: str) -> str:
    """Return the id of an entity; one name is one node whatever its class. Raise ``InvalidInput`` for an empty name."""
    key = entity_key(name)
    if not key:
        raise InvalidInput(f"entity name {name[:80]!r} must contain a letter or digit")
    return node_id("entity", tenant, key)
