"""Documents of a collection by the keys of records, whoever makes their ids.

Where we choose the id, it follows from tenant and key: writing twice is one document. Where the service chooses
(``server`` mode), a registry tells which document holds which record; a document that a crash left out of it is found by
its key as soon as searches show it, and taken over. Until then a record may have two documents: readers take the newer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from lexigraph.model.errors import Misconfigured, StoreUnavailable
from lexigraph.model.ids import content_hash
from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.connection import Action, Collection, IdMode, Json, Refused, Search
from lexigraph.storage.opensearch.ids import IdRegistry, KnownId
from lexigraph.storage.opensearch.queries import MOST_FOUND, of_tenant
from lexigraph.storage.opensearch.schema import FORMAT, WORDS, document_id, index_body, words_key, words_mapping
from lexigraph.storage.protocols import VECTOR_INDEXES, IndexName

_AT_ONCE = 1_000
_PAGE = 2_000
_NO_CUSTOM_IDS, _NO_MORE_FIELDS = "Document ID is not supported", "Limit of total fields"


@dataclass(frozen=True, slots=True)
class Found:
    """Where a document is: its index, its id, and the key of its record."""

    index: str
    id: str
    key: str


class Documents:
    """Writes documents and finds them again. May be shared by threads."""

    def __init__(self, collection: Collection, label: str, dimension: int, ids: IdRegistry | None) -> None:
        self._collection, self._label, self._dimension, self._ids = collection, label, dimension, ids
        self._modes: dict[str, IdMode] = {}
        self._words: dict[str, set[str]] = {}  # by index, the fields of tenants that it is known to have
        self._lock = Lock()

    # ------------------------------------------------------------ indexes

    def ensure(self, name: str, index: IndexName | None, tenant: Tenant) -> IdMode:
        """Make the index, and the tenant's field in it, unless they are there; return who makes ids in it."""
        with self._lock:
            mode = self._modes.get(name)
            if mode is None:
                mapping = self._collection.mapping(name)
                if mapping is None:
                    self._create(name, index)
                self._words[name] = {*(mapping or {}).get("properties", {}).get(WORDS, {}).get("properties", ())}
                mode = self._modes[name] = self._mode(name, index, mapping or {})
            if index is not None and words_key(tenant) not in self._words[name]:
                self._add_words(name, index, tenant)
        if mode == "server" and self._ids is None:
            raise Misconfigured(
                f"vector connection: {name} is in a collection that makes document ids itself; add registry=TABLE, the "
                "DynamoDB table in which they are kept"
            )
        return mode

    def _add_words(self, name: str, index: IndexName, tenant: Tenant) -> None:
        try:
            self._collection.put_mapping(name, words_mapping(index, tenant))
        except Refused as error:
            if _NO_MORE_FIELDS not in error.reason:
                raise
            raise Misconfigured(
                f"{name}: has a field for each tenant and takes no more of them; use another collection for further tenants"
            ) from None
        self._words[name].add(words_key(tenant))

    def _mode(self, name: str, index: IndexName | None, mapping: Json) -> IdMode:
        meta = mapping.get("_meta", {})
        ours = {"format": FORMAT, "label": self._label, "dimension": self._dimension}
        if index not in VECTOR_INDEXES:
            ours = {"format": FORMAT}
        if any(meta.get(name_, value) != value for name_, value in ours.items()):
            has = ", ".join(f"{name_} {meta.get(name_)}" for name_ in ours)
            raise Misconfigured(
                f"{name}: was made by another release or for another embedding ({has}); use another collection"
            )
        kept: IdMode | None = meta.get("document_ids") or self._collection.place.mode
        mode = kept or self._probed(name)
        if meta.get("document_ids") != mode:
            # kept for the next process, which then need not probe
            told = index_body(index, self._label, self._dimension, mode, precise=False)["mappings"]["_meta"]
            with suppress(Refused):  # then that one probes too
                self._collection.put_mapping(name, {"_meta": told})
        return mode

    def _create(self, name: str, index: IndexName | None) -> None:
        """Create an index as the collection takes it: a Classic one compresses nothing, a NextGen one chooses the engine."""
        mode, asked = self._collection.place.mode, {"compression": True, "engine": True}
        while True:
            precise, engine = asked["compression"], asked["engine"]
            body = index_body(index, self._label, self._dimension, mode, precise=precise, engine=engine)
            try:
                self._collection.create(name, body)
            except Refused as error:
                unknown = [word for word, is_asked in asked.items() if is_asked and word in error.reason]
                if not unknown:
                    raise
                asked[unknown[0]] = False
            else:
                return

    def _probed(self, name: str) -> IdMode:
        """Write a document of no tenant under an id of ours, and take it away again."""
        probe = "lexigraph-probe"
        try:
            self._collection.put_document(name, probe, {"doc_key": probe, "tenant": ""})
        except Refused as error:
            if _NO_CUSTOM_IDS not in error.reason:
                raise
            return "server"
        self._collection.bulk([Action("delete", name, probe)])
        return "client"

    # ------------------------------------------------------------ writing

    def put(self, name: str, index: IndexName | None, tenant: Tenant, bodies: Mapping[str, Json]) -> list[str]:
        """Write documents by key; return the keys of those that were written: what is there already may be left alone."""
        if self.ensure(name, index, tenant) == "client":
            self._collection.bulk([Action("index", name, document_id(tenant, key), body) for key, body in bodies.items()])
            return list(bodies)
        return self._put_by_registry(name, tenant, bodies)

    def _put_by_registry(self, name: str, tenant: Tenant, bodies: Mapping[str, Json]) -> list[str]:
        ids = self._registry()
        known = ids.known(name, tenant, list(bodies))
        content = {key: _content(body) for key, body in bodies.items()}
        changed = [key for key in bodies if key not in known or known[key].content != content[key]]
        strays = {f.key: f.id for f in self.find(name, tenant, [key for key in changed if key not in known])}
        at = {key: known[key].id if key in known else strays.get(key) for key in changed}
        written = dict(zip(changed, self._collection.bulk([_put(name, at[k], bodies[k]) for k in changed]), strict=True))
        # what the registry knew and the index does not hold any more
        lost = [key for key, id_ in written.items() if not id_]
        written |= dict(zip(lost, self._collection.bulk([_put(name, None, bodies[k]) for k in lost]), strict=True))
        ids.note(name, tenant, {key: KnownId(id_, content[key]) for key, id_ in written.items()})
        return changed

    def update(self, documents: Sequence[Found], change: Mapping[str, Json]) -> None:
        """Change some fields of documents, by key; those that are gone are passed over."""
        self._collection.bulk([Action("update", d.index, d.id, change[d.key]) for d in documents])

    def remove(self, name: str, elsewhere: str, tenant: Tenant, keys: Sequence[str]) -> None:
        """Remove documents, those too that searches find under the pattern ``elsewhere``. Unknown keys are passed over."""
        gone = {(f.index, f.id) for f in self.find(elsewhere, tenant, keys)}
        gone |= {(f.index, f.id) for f in self.written(name, tenant, keys)}
        self._collection.bulk([Action("delete", index, id_) for index, id_ in sorted(gone)])
        if self._ids is not None:
            for holder in {name, *(index for index, _ in gone)}:
                self._ids.forget(holder, tenant, keys)

    # ------------------------------------------------------------ finding

    def written(self, name: str, tenant: Tenant, keys: Sequence[str]) -> list[Found]:
        """Return where documents of an index are, or would be, as far as that is known without a search."""
        with self._lock:
            mode = self._modes.get(name)
        if mode is None:
            mapping = self._collection.mapping(name)
            if mapping is None:
                return []
            likely: IdMode = "client" if self._ids is None else "server"
            mode = mapping.get("_meta", {}).get("document_ids") or self._collection.place.mode or likely
        if mode == "server" and self._ids is not None:
            return [Found(name, known.id, key) for key, known in self._ids.known(name, tenant, keys).items()]
        return [Found(name, document_id(tenant, key), key) for key in keys]

    def find(self, indexes: str, tenant: Tenant, keys: Sequence[str]) -> list[Found]:
        """Return where searches find documents."""
        parts = [list(keys[at : at + _AT_ONCE]) for at in range(0, len(keys), _AT_ONCE)]
        searches = [
            Search(indexes, {"query": of_tenant(tenant, doc_key=part), "size": MOST_FOUND, "_source": ["doc_key"]})
            for part in parts
        ]
        rows = [row for found in self._collection.search(searches) for row in found["hits"]] if searches else []
        return [Found(row["_index"], row["_id"], row["_source"]["doc_key"]) for row in rows]

    def pages(
        self, name: str, query: Json, fields: Sequence[str], *, after: str = "", size: int | None = None
    ) -> Iterator[list[Json]]:
        """Yield all that matches after a key, by key, a page of ``size`` at a time."""
        most = _PAGE if size is None else min(size, _PAGE)
        beyond: Json = {"search_after": [after, 0]} if after else {}  # no edition is below 0: they go down
        while True:
            body = {
                "query": query,
                "size": most,
                "_source": list(fields),
                "sort": [{"doc_key": "asc"}, {"edition": "desc"}],
            }
            (found,) = self._collection.search([Search(name, {**body, **beyond})])
            if found["hits"]:
                yield found["hits"]
            if len(found["hits"]) < most:
                return
            beyond = {"search_after": found["hits"][-1]["sort"]}

    def _registry(self) -> IdRegistry:
        if self._ids is None:
            raise StoreUnavailable("the registry of document ids is missing")
        return self._ids


def _put(name: str, id_: str | None, body: Json) -> Action:
    return Action("index" if id_ is None else "update", name, id_, body)


def _content(body: Json) -> str:
    fields = sorted((field, repr(value)) for field, value in body.items() if field not in ("edition", "vector"))
    return content_hash(*(part for pair in fields for part in pair))
