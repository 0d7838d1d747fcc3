"""Vectors and full text: records by index, and searches that travel together."""

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
    """One search: by cosine when ``vector`` is given, else by BM25 over the words of ``text``.

    ``ids``: score exactly these (``k`` is ignored; ids without a score are left out). ``prefix``: the last word of
    ``text`` may be the beginning of a word. ``vectors``: hits bring their vectors, too, where they have any. Without
    ``texts`` cosines of given ``ids`` come alone: of such a hit all but id and score is empty.
    Scores are rounded to 6 digits, ties go by id.
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
        """Whether hits bring nothing but their ids and cosines."""
        return not self.texts and self.ids is not None and self.vector is not None


class Hit(NamedTuple):
    """A record found, best first in its list. Cosine -1..1, or BM25 >= 0.

    ``vector`` is there only when asked for; hits that bring vectors are not to be compared.
    """

    id: str
    score: float
    text: str
    source_id: str
    chunk_id: str
    vector: FloatArray | None = None


@runtime_checkable
class VectorStore(Protocol):
    """Vectors and full text. Made for one embedding (``label`` like ``minilm-384``), which names its vector indexes.

    A store holds the vectors of several embeddings side by side; text without vectors and tags are common to them, and what
    is deleted is deleted of all. Where a tenant has vectors of other embeddings only, writing and searching are refused,
    unless the store was opened ``beside`` them to write what is missing.

    Of a view :meth:`search_many`, :meth:`fetch` and :meth:`stats` tell of the records of the sources that it sees. It sees
    none of the index ``entity``, whose records are of no source (``GraphStore.names``).
    """

    label: str
    dimension: int

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        """Add or replace records. Atomic over all indexes given, unless the store is a service that cannot be: then each
        record is replaced as a whole, and repeating the call after a failure does the rest.
        """

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        """Note what filters see of the sources in this version; earlier versions still match until untagged."""

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        """Forget the sources' tags but those of version ``keep[source_id]``."""

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        """Delete records; unknown ids are passed over. Atomic as :meth:`upsert` is."""

    def drop(self, tenant: Tenant) -> None:
        """Delete all records that have vectors of this embedding; those of others stay. May be repeated."""

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Answer all requests in one round trip.

        Raise ``InvalidInput`` when the store holds vectors of another embedding only.
        """

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        """Return the records that exist, with their vectors."""

    def visible(
        self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]], *, tagged: Mapping[str, int] | None = None
    ) -> bool:
        """Tell, in one round trip, whether searches see all of these records yet, and the tags of sources ``tagged`` in
        these versions.
        """

    def ids(
        self, tenant: Tenant, index: IndexName, source_id: str | None = None, *, after: str = "", limit: int | None = None
    ) -> list[str]:
        """Return the ids in an index, of one source or of all, sorted: those ``after`` an id, at most ``limit``."""

    def sources(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Return sources that have records, of whatever embedding, or tags: the next ones after an id, sorted.

        About as many as ``limit``, perhaps fewer; none only when there are no more.
        """

    def stats(self, tenant: Tenant) -> dict[str, int]:
        """Return the number of records by index."""

    def close(self) -> None:
        """Release connections and mapped files."""
