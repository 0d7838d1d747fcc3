"""Protocol of the vector store: vectors and full text by index, and batched searches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lexigraph.model.filters import Filter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant

FloatArray = NDArray[np.float32]
# of text only: entity (names) and relation (the labels of the facts that a chunk tells, under the id of the chunk)
IndexName = Literal["chunk", "statement", "topic", "entity", "relation"]
VECTOR_INDEXES: tuple[IndexName, ...] = ("chunk", "statement", "topic")


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """An entry of an index; ``vector`` is L2-normalised float32, None in text-only indexes (entity, relation)."""

    id: str
    text: str
    source_id: str = ""
    chunk_id: str = ""
    vector: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search: by cosine similarity if ``vector`` is given, else by BM25 over the words of ``text``.

    ``ids``: score exactly these records and ignore ``k``; records without a score are left out. ``prefix``: match the last
    word of ``text`` as a prefix. ``vectors``: return vectors with the hits. ``texts`` False, with ``vector`` and ``ids``:
    return only id and score. Scores are rounded to 6 digits; ties are ordered by id.
    """

    index: IndexName
    vector: FloatArray | None = None
    text: str = ""
    k: int = 10
    ids: tuple[str, ...] | None = None
    prefix: bool = False
    filters: Filter | None = None
    vectors: bool = False
    texts: bool = True

    @property
    def cosines_alone(self) -> bool:
        """Whether hits hold only ids and cosine similarities."""
        return not self.texts and self.ids is not None and self.vector is not None


class Hit(NamedTuple):
    """A search hit. ``score`` is cosine similarity, -1 to 1, or BM25, 0 or more.

    ``vector`` is set only if requested; hits with vectors cannot be compared for equality.
    """

    id: str
    score: float
    text: str
    source_id: str
    chunk_id: str
    vector: FloatArray | None = None


@runtime_checkable
class VectorStore(Protocol):
    """Stores vectors and full text. An object is opened for one embedding model, whose ``label`` (``minilm-384``) names its
    vector indexes.

    A store can hold vectors of several embedding models; text-only records and tags are shared, and deletions apply to all.
    If a tenant has vectors of other models only, writing and searching raise ``InvalidInput``, unless the store was opened
    ``beside`` them.

    For a view, :meth:`search_many`, :meth:`fetch` and :meth:`stats` cover the records of the sources in the view. Records of
    the index ``entity`` belong to no source and are not visible in a view; use ``GraphStore.names``.
    """

    label: str
    dimension: int

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        """Add or replace records. Atomic over all indexes if the backend supports it; otherwise each record is replaced
        atomically, and repeating a failed call completes it.
        """

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        """Store the metadata that filters match for these versions; earlier versions match until untagged."""

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        """Delete the sources' tags except those of version ``keep[source_id]``."""

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        """Delete records; ignore unknown ids. Atomic as :meth:`upsert` is."""

    def drop(self, tenant: Tenant) -> None:
        """Delete all records with vectors of this embedding model; those of other models are kept."""

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Run all searches in one round trip and return the hits of each, best first.

        Raise ``InvalidInput`` if the store only holds vectors of other embedding models.
        """

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        """Return the records that exist, with their vectors."""

    def visible(
        self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]], *, tagged: Mapping[str, int] | None = None
    ) -> bool:
        """Return whether searches already see all of these records, and the tags of these versions of the sources."""

    def ids(
        self, tenant: Tenant, index: IndexName, source_id: str | None = None, *, after: str = "", limit: int | None = None
    ) -> list[str]:
        """Return up to ``limit`` ids of an index after ``after``, sorted; of one source or of all."""

    def sources(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return a page of ids of sources with records (of any embedding model) or tags, after ``after``, sorted.

        A page has about ``limit`` ids; it is empty only at the end.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of records by index."""

    def close(self) -> None:
        """Release connections and mapped files."""
