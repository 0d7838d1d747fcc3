"""Indexes of an OpenSearch collection: their names, what they hold, and how text becomes words.

A collection has one index of each kind, or several among which tenants are divided: an index holds at most 1 TiB and 1,000
fields, of which each tenant takes one. How many is settled when the first is made, and noted in the index of tags, which
stays one: it has no fields of tenants.
"""

import re
from hashlib import blake2b
from typing import NamedTuple

from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.connection import Json
from lexigraph.storage.protocols import VECTOR_INDEXES, IndexName

TAGS = "lexigraph-tag"
FORMAT = 2
# the most that keeps 95 % of the best, measured: 4.6 kB of memory become 0.7 (1,024 dimensions); see queries.py
COMPRESSION = "8x"
WORDS = "words"  # the texts, in a field of each tenant
_STORED_ONLY = {"type": "keyword", "index": False, "doc_values": False}


class Names(NamedTuple):
    """The names of indexes for an embedding. ``share`` tells the part of the tenants, empty where all are in one."""

    label: str
    dimension: int
    share: str = ""

    @property
    def every(self) -> str:
        """The pattern of all of them."""
        return f"lexigraph-{self.share}*"

    def of(self, index: IndexName) -> str:
        """Return the name of an index: that of one with vectors carries label and dimension of the embedding."""
        begin = f"lexigraph-{self.share}{index}"
        if index not in VECTOR_INDEXES:
            return begin
        name = re.sub(r"[^a-z0-9_-]+", "-", self.label.lower())
        if name != self.label:  # two labels never share an index
            name += "-" + blake2b(self.label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{begin}-{name}" + ("" if name.endswith(f"-{self.dimension}") else f"-{self.dimension}")

    def of_every_embedding(self, index: IndexName) -> str:
        """Return the pattern of the indexes of this kind, whatever their embedding."""
        return f"lexigraph-{self.share}{index}" + ("-*" if index in VECTOR_INDEXES else "")


def share_of(tenant: Tenant, count: int) -> str:
    """Return what the names of a tenant's indexes begin with in a collection that has ``count`` of each kind."""
    return "" if count == 1 else f"{int(words_key(tenant), 16) % count:02}-"


def document_id(tenant: Tenant, key: str) -> str:
    """Return the id of a document: the same for the same record, always, so that writing twice is one document."""
    owner, own = str(tenant).encode(), key.encode("utf-8", "surrogatepass")
    return blake2b(len(owner).to_bytes(8, "big") + owner + own, digest_size=16).hexdigest()


def words_key(tenant: Tenant) -> str:
    """Return the name of a tenant's own field of text: Lucene counts words, texts and lengths by field."""
    return blake2b(str(tenant).encode(), digest_size=8).hexdigest()


def words_mapping(index: IndexName, tenant: Tenant) -> Json:
    """Return what a tenant's own field adds to the mapping of an index."""
    text = {"type": "text", "analyzer": "lexigraph_names" if index == "entity" else "lexigraph_text"}
    return {"properties": {WORDS: {"properties": {words_key(tenant): text}}}}


def index_body(index: IndexName | None, label: str, dimension: int, count: int) -> Json:
    """Return settings and mapping of an index, None being that of the tags, which notes how many there are of a kind.

    Text is split where SQLite's FTS5 splits it and stemmed by the same algorithm; stop words are left out of questions, not
    out of texts, so that a question of stop words alone finds something. Names are not stemmed.
    """
    keywords = ("doc_key", "tenant", "source_id", "chunk_id", "label", "tags")
    properties: Json = {name: {"type": "keyword"} for name in keywords}
    properties |= {"edition": {"type": "long"}, "payload": _STORED_ONLY}
    settings: Json = {}
    if index is not None:
        properties[WORDS] = {"type": "object"}  # a field for each tenant is added when it first writes
        settings = {"analysis": _ANALYSIS}
    if index in VECTOR_INDEXES:
        properties["packed"] = _STORED_ONLY
        # vectors are normalised, so that the inner product is the cosine
        method = {"name": "hnsw", "parameters": {"m": 16, "ef_construction": 128}}
        space = {"space_type": "innerproduct", "compression_level": COMPRESSION, "method": method}
        properties["vector"] = {"type": "knn_vector", "dimension": dimension, **space}
        settings["index"] = {"knn": True}
    meta = {"format": FORMAT, "label": label, "dimension": dimension, "indexes": count}
    return {"settings": settings, "mappings": {"dynamic": "strict", "_meta": meta, "properties": properties}}


_FOLDED = ["lowercase", "asciifolding", "lexigraph_cut"]
_ANALYSIS: Json = {
    "tokenizer": {"lexigraph_words": {"type": "pattern", "pattern": r"[^\p{L}\p{N}]+"}},
    # OpenSearch takes no word over 32,766 bytes
    "filter": {"lexigraph_cut": {"type": "truncate", "length": 200}},
    "analyzer": {
        "lexigraph_text": {"type": "custom", "tokenizer": "lexigraph_words", "filter": [*_FOLDED, "porter_stem"]},
        "lexigraph_names": {"type": "custom", "tokenizer": "lexigraph_words", "filter": _FOLDED},
    },
}
