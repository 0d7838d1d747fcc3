"""Documents of a collection by the keys of records."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock

from lexigraph.model.batches import batched
from lexigraph.model.errors import Misconfigured
from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.connection import Action, Collection, Json, Refused, Search
from lexigraph.storage.opensearch.queries import AT_ONCE, MOST_FOUND, of_tenant
from lexigraph.storage.opensearch.schema import (
    FORMAT,
    TAGS,
    WORDS,
    Names,
    document_id,
    index_body,
    share_of,
    words_key,
    words_mapping,
)
from lexigraph.storage.protocols import VECTOR_INDEXES, IndexName

_PAGE = 2_000
_NO_MORE_FIELDS = "Limit of total fields"
# what a Classic collection says to ids of ours, and an old one to our mapping
_OF_CLASSIC = ("Document ID is not supported", "unknown parameter")


class Documents:
    """Writes documents and finds them again. May be shared by threads."""

    def __init__(self, collection: Collection, label: str, dimension: int) -> None:
        self._collection, self._label, self._dimension = collection, label, dimension
        self._words: dict[str, set[str]] = {}  # by index, the fields of tenants that it is known to have
        self._count: int | None = None  # indexes of a kind, once the collection told
        self._lock = Lock()

    # ------------------------------------------------------------ indexes

    def names(self, tenant: Tenant, *, writing: bool = False) -> Names:
        """Return the names of a tenant's indexes; what is about to be written needs to know them for good.

        Raise ``Misconfigured`` where the collection has another number of indexes than the connection says.
        """
        with self._lock:
            if writing:
                self._open(TAGS, None)
            elif self._count is None and (mapping := self._collection.mapping(TAGS)) is not None:
                self._note_count(mapping)
            count = self._count or self._collection.place.indexes or 1
        return Names(self._label, self._dimension, share_of(tenant.whole, count))

    def _note_count(self, mapping: Json) -> None:
        place = self._collection.place
        has = mapping.get("_meta", {}).get("indexes", 1)
        if place.indexes not in (None, has):
            raise Misconfigured(
                f"{place.host}: has {has} indexes of a kind, the connection says indexes={place.indexes}; say indexes={has} "
                "or use a new collection: the number is fixed when the first is made"
            )
        self._count = has

    def _open(self, name: str, index: IndexName | None) -> None:
        """Make the index unless it is there, and learn which fields it has."""
        if name in self._words:
            return
        mapping = self._collection.mapping(name)
        if mapping is None:
            count = self._count or self._collection.place.indexes or 1
            mapping = self._collection.create(name, index_body(index, self._label, self._dimension, count))
        self._check(name, index, mapping.get("_meta", {}))
        if name == TAGS:
            self._note_count(mapping)
        self._words[name] = {*mapping.get("properties", {}).get(WORDS, {}).get("properties", ())}

    def _ensure(self, name: str, index: IndexName | None, tenant: Tenant) -> None:
        """Make the index, and the tenant's field in it, unless they are there."""
        with self._lock:
            self._open(name, index)
            if index is not None and words_key(tenant) not in self._words[name]:
                self._add_words(name, index, tenant)

    def _add_words(self, name: str, index: IndexName, tenant: Tenant) -> None:
        try:
            self._collection.put_mapping(name, words_mapping(index, tenant))
        except Refused as error:
            if _NO_MORE_FIELDS not in error.reason:
                raise
            raise Misconfigured(
                f"{name}: has a field for each tenant and takes no more of them; use a new collection with more indexes of "
                "each kind (indexes=N in the connection), or another one for further tenants"
            ) from None
        self._words[name].add(words_key(tenant))

    def _check(self, name: str, index: IndexName | None, meta: Json) -> None:
        ours = {"format": FORMAT, "label": self._label, "dimension": self._dimension}
        if index not in VECTOR_INDEXES:
            ours = {"format": FORMAT}
        if any(meta.get(name_, value) != value for name_, value in ours.items()):
            has = ", ".join(f"{name_} {meta.get(name_)}" for name_ in ours)
            raise Misconfigured(
                f"{name}: was made by another release or for another embedding ({has}); use another collection"
            )

    def _classic(self, name: str) -> Misconfigured:
        return Misconfigured(
            f"{self._collection.place.host}: {name} is in a Classic collection, which takes no document ids of ours; make a "
            "NextGen vector search collection and ingest into it"
        )

    # ------------------------------------------------------------ writing

    def put(self, name: str, index: IndexName | None, tenant: Tenant, bodies: Mapping[str, Json]) -> None:
        """Write documents by key. Raise ``Misconfigured`` over a collection of the Classic generation."""
        try:
            self._ensure(name, index, tenant)
            self._collection.bulk([Action("index", name, document_id(tenant, key), body) for key, body in bodies.items()])
        except Refused as error:
            with self._lock:
                self._words.pop(name, None)  # it may be another index by now
            if any(sign in error.reason for sign in _OF_CLASSIC):
                raise self._classic(name) from None
            raise

    def update(self, changes: Mapping[tuple[str, str], Json]) -> None:
        """Change some fields of documents, by index and id; those that are gone are passed over."""
        self._collection.bulk([Action("update", index, id_, change) for (index, id_), change in changes.items()])

    def remove(self, name: str, elsewhere: str, tenant: Tenant, keys: Sequence[str]) -> None:
        """Remove documents, those too that searches find under the pattern ``elsewhere``. Unknown keys are passed over."""
        searches = [
            Search(elsewhere, {"query": of_tenant(tenant, doc_key=part), "size": MOST_FOUND, "_source": ["doc_key"]})
            for part in batched(keys, AT_ONCE)
        ]
        found = {(row["_index"], row["_id"]) for f in self._collection.search(searches) for row in f["hits"]}
        gone = found | {(name, document_id(tenant, key)) for key in keys}
        self._collection.bulk([Action("delete", index, id_) for index, id_ in sorted(gone)])

    # ------------------------------------------------------------ reading

    def all(
        self, name: str, query: Json, fields: Sequence[str], *, after: str = "", size: int | None = None
    ) -> Iterator[Json]:
        """Yield all that matches after a key, by key; it is asked for ``size`` at a time."""
        most = _PAGE if size is None else min(size, _PAGE)
        sort = [{"doc_key": "asc"}, {"edition": "desc"}]
        body = {"query": query, "size": most, "_source": list(fields), "sort": sort}
        beyond: Json = {"search_after": [after, 0]} if after else {}  # no edition is below 0: they go down
        while True:
            (found,) = self._collection.search([Search(name, {**body, **beyond})])
            yield from found["hits"]
            if len(found["hits"]) < most:
                return
            beyond = {"search_after": found["hits"][-1]["sort"]}
