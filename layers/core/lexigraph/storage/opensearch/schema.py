"""Indexes of an OpenSearch collection: their names, what they hold, and how text becomes words."""

import re
from hashlib import blake2b

from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.connection import Json
from lexigraph.storage.protocols import VECTOR_INDEXES, IndexName

TAGS = "lexigraph-tag"
EVERY = "lexigraph-*"
FORMAT = 2
WORDS = "words"  # the texts, in a field of each tenant
_STORED_ONLY = {"type": "keyword", "index": False, "doc_values": False}


def index_name(index: IndexName, label: str, dimension: int) -> str:
    """Return the name of an index: that of one with vectors carries label and dimension of the embedding."""
    if index not in VECTOR_INDEXES:
        return f"lexigraph-{index}"
    name = re.sub(r"[^a-z0-9_-]+", "-", label.lower())
    if name != label:  # two labels never share an index
        name += "-" + blake2b(label.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"lexigraph-{index}-{name}" + ("" if name.endswith(f"-{dimension}") else f"-{dimension}")


def every_embedding(index: IndexName) -> str:
    """Return the pattern of the indexes of this kind, whatever their embedding."""
    return f"lexigraph-{index}-*" if index in VECTOR_INDEXES else f"lexigraph-{index}"


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


def index_body(index: IndexName | None, label: str, dimension: int) -> Json:
    """Return settings and mapping of an index, None being that of the tags.

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
        # vectors are normalised, so that the inner product is the cosine; unless asked for 1x, 1 bit is kept of a number
        method = {"name": "hnsw", "parameters": {"m": 16, "ef_construction": 128}}
        space = {"space_type": "innerproduct", "compression_level": "1x", "method": method}
        properties["vector"] = {"type": "knn_vector", "dimension": dimension, **space}
        settings["index"] = {"knn": True}
    meta = {"format": FORMAT, "label": label, "dimension": dimension}
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
