"""The vector store of AWS: records, vectors and full text in a collection of OpenSearch Serverless.

Tenants share indexes (opensearch_schema.py), every query names the one of its tenant, and each has its texts in a field of
its own, so that BM25 counts no words of others. All searches of a call travel in one multi-search
(opensearch_queries.py). What filters see of a source is kept in an index of its own and copied to each of its records as
words (opensearch_tags.py), so that a filter needs no second round trip. Searches show a write after 10 seconds to a minute:
``visible`` asks them, and what this process wrote itself it remembers (opensearch_unseen.py).
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice

from lexigraph.model.batches import batched
from lexigraph.model.errors import InvalidInput, Misconfigured
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.vector_checks import INDEXES, check_embedding, check_index, check_records, check_requests
from lexigraph.storage.opensearch.connection import Collection, Json, Search, parse_place
from lexigraph.storage.opensearch.documents import Documents
from lexigraph.storage.opensearch.queries import (
    AT_ONCE,
    Query,
    cut_in_a_tie,
    hits,
    of_tenant,
    queries,
    record_body,
    record_of,
)
from lexigraph.storage.opensearch.schema import TAGS, WORDS, document_id
from lexigraph.storage.opensearch.seen import Term, count_query, is_scored, scored, terms_of, wider
from lexigraph.storage.opensearch.tags import tag_words
from lexigraph.storage.opensearch.unseen import Unseen, Versions, Write
from lexigraph.storage.protocols import VECTOR_INDEXES, Hit, IndexName, SearchRequest, VectorRecord

_RECORD = ("doc_key", "source_id", "chunk_id", WORDS, "packed")
_TIE_FACTOR = 4


class OpenSearchVectorStore:
    """The :class:`~lexigraph.storage.protocols.VectorStore` of ``aoss://https://HOST``.

    Differs from the protocol in what the service cannot do: a write is not atomic over records and indexes (it may be
    repeated, and the graph decides what readers see). Reads tell what searches find; :meth:`visible` asks them for what
    this process wrote last.
    """

    def __init__(
        self,
        connection: str,
        *,
        label: str,
        dimension: int,
        patience: float = 60.0,
        beside: bool = False,
    ) -> None:
        """Make the store for the embedding ``label``; nothing is sent yet.

        ``patience``: seconds for which a request is repeated while the collection wakes, is busy or has not heard of our
        rights yet. ``beside``: also where a tenant has vectors of other embeddings only.
        """
        check_embedding(label, dimension)
        self.label = label
        self.dimension = dimension
        self._collection = Collection(parse_place(connection), patience=patience)
        self._documents = Documents(self._collection, label, dimension)
        self._unseen = Unseen()
        self._beside = beside
        self._ours: set[Tenant] = set()  # tenants known to have vectors of this embedding

    # ------------------------------------------------------------ writing

    def upsert(self, tenant: Tenant, records: Mapping[IndexName, Sequence[VectorRecord]]) -> None:
        check_records(records, self.label, self.dimension)
        for index, rows in records.items():
            for row in rows:
                _check_text(index, row)
        wanted = {index: {row.id: row for row in rows} for index, rows in records.items() if rows}
        if any(index in VECTOR_INDEXES for index in wanted):
            self._refuse_other_embedding(tenant)
        sources = {row.source_id for rows in wanted.values() for row in rows.values()}
        # a record belongs to the version that is being written, which is the last one tagged
        tags = {source: tag_words([v[max(v)]]) for source, v in self._versions(tenant, sources).items()}
        for index, unique in wanted.items():
            self._put(tenant, index, unique, tags)
            if index in VECTOR_INDEXES:
                self._ours.add(tenant)

    def _put(
        self, tenant: Tenant, index: IndexName, rows: Mapping[str, VectorRecord], tags: Mapping[str, list[str]]
    ) -> None:
        name, edition = self._documents.names(tenant, writing=True).of(index), self._unseen.next_edition()
        label = self.label if index in VECTOR_INDEXES else ""
        bodies = {
            key: record_body(tenant, row, index in VECTOR_INDEXES)
            | {"label": label, "edition": edition, "tags": tags.get(row.source_id, [])}
            for key, row in rows.items()
        }
        self._documents.put(name, index, tenant, bodies)
        for key, row in rows.items():
            self._unseen.note(name, tenant, key, Write(edition, row.source_id))

    def tag(self, tenant: Tenant, sources: Sequence[Source]) -> None:
        known = self._versions(tenant, {s.id for s in sources})
        new: dict[str, Versions] = {}
        for s in sources:
            new[s.id] = {**new.get(s.id, known.get(s.id, {})), s.version: s.filterable}
        self._retag(tenant, known, new)

    def untag(self, tenant: Tenant, source_ids: Sequence[str], *, keep: Mapping[str, int] | None = None) -> None:
        known = self._versions(tenant, set(source_ids))
        kept = keep or {}
        new = {source: {v: m for v, m in known[source].items() if v == kept.get(source)} for source in known}
        self._retag(tenant, known, new)

    def _retag(self, tenant: Tenant, known: Mapping[str, Versions], new: Mapping[str, Versions]) -> None:
        """Write tags of sources, first on their records: who fails half way finds the same to do again."""
        after = {source: _words(versions) for source, versions in new.items()}
        changed = {source: words for source, words in after.items() if words != _words(known.get(source, {}))}
        if changed:
            for index in INDEXES:
                self._retag_records(tenant, index, changed)
        written = {s: v for s, v in new.items() if v and v != known.get(s)}
        edition = self._unseen.next_edition()
        shared = {"tenant": str(tenant), "label": "", "edition": edition}
        bodies: dict[str, Json] = {
            s: {**shared, "doc_key": s, "payload": json.dumps(sorted(v.items()))} for s, v in written.items()
        }
        if bodies:
            self._documents.put(TAGS, None, tenant, bodies)
        for source, versions in written.items():
            self._unseen.note(TAGS, tenant, source, Write(edition, source, versions))
        if gone := [s for s, v in new.items() if not v and known.get(s)]:
            self._documents.remove(TAGS, TAGS, tenant, gone)
        for source in gone:
            self._unseen.note(TAGS, tenant, source, Write(0, source, {}))

    def _retag_records(self, tenant: Tenant, index: IndexName, tags: Mapping[str, list[str]]) -> None:
        """Write the words of sources on their records, of every embedding: those found, and those that we wrote just now."""
        names = self._documents.names(tenant)
        name = names.of(index)
        edition = self._unseen.next_edition()
        lately = self._unseen.of_sources(name, tenant, tags)
        places = {(name, document_id(tenant, key)): key for key in lately}
        source_of = dict(lately)
        of_sources = of_tenant(tenant, source_id=sorted(tags))
        searches = [(name, of_sources)]
        if index in VECTOR_INDEXES:
            others = {"bool": {"filter": [of_sources], "must_not": [{"term": {"label": self.label}}]}}
            searches.append((names.of_every_embedding(index), others))
        for where, query in searches:
            for row in self._documents.all(where, query, ["doc_key", "source_id"]):
                key = places[row["_index"], row["_id"]] = row["_source"]["doc_key"]
                source_of.setdefault(key, row["_source"]["source_id"])
        # what was rewritten just now as a record of another source has its tags already
        current = {at: key for at, key in places.items() if self._source_lately(name, tenant, key, source_of[key]) in tags}
        self._documents.update({at: {"tags": tags[source_of[key]], "edition": edition} for at, key in current.items()})
        for key in current.values():
            self._unseen.note(name, tenant, key, Write(edition, source_of[key]))

    def _source_lately(self, name: str, tenant: Tenant, key: str, found: str) -> str | None:
        write = self._unseen.last(name, tenant, key)
        if write is None:
            return found
        return write.source_id if write.edition else None

    def delete(self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]]) -> None:
        for index in ids:
            check_index(index)
        for index, unique in ((index, list(dict.fromkeys(keys))) for index, keys in ids.items() if keys):
            names = self._documents.names(tenant)
            self._documents.remove(names.of(index), names.of_every_embedding(index), tenant, unique)
            for key in unique:
                self._unseen.note(names.of(index), tenant, key, Write(0))

    def drop(self, tenant: Tenant) -> None:
        """Delete all records that have vectors of this embedding, those that searches show."""
        for index in VECTOR_INDEXES:
            name = self._documents.names(tenant).of(index)
            for part in batched(self.ids(tenant, index), AT_ONCE):
                self._documents.remove(name, name, tenant, part)
                for key in part:
                    self._unseen.note(name, tenant, key, Write(0))
        self._ours.discard(tenant)

    # ------------------------------------------------------------ reading

    def search_many(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Answer all requests in one multi-search; once more only where hundreds of records tie at the edge of a list.

        Of a view words are counted before, in one more.
        """
        check_requests(requests, self.label, self.dimension)
        if isinstance(tenant, View) and any(map(is_scored, requests)):
            return self._scored(tenant, requests)
        return self._found(tenant, requests)

    def _scored(self, view: View, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        """Answer requests of a view, some of them by words."""
        terms = [terms_of(request, view) if is_scored(request) else [] for request in requests]
        asked = {(r.index, term.name): term for r, of in zip(requests, terms, strict=True) for term in of}
        every: list[tuple[IndexName, Term | None]] = [(index, term) for (index, _), term in asked.items()]
        every += [(index, None) for index in dict.fromkeys(index for index, _ in asked)]
        names = self._documents.names(view)
        searches = [Search(names.of(index), count_query(view, term)) for index, term in every]
        totals = [found.get("total", {}).get("value", 0) for found in self._collection.search(searches)]
        counts: dict[IndexName, dict[str, int]] = {index: {} for index, _ in every}
        for (index, term), total in zip(every, totals, strict=True):
            counts[index][term.name if term else ""] = total
        found = self._found(view, [wider(r) if is_scored(r) else r for r in requests])
        return [
            scored(r, hits, of, counts[r.index]) if of else hits for r, hits, of in zip(requests, found, terms, strict=True)
        ]

    def _found(self, tenant: Tenant, requests: Sequence[SearchRequest]) -> list[list[Hit]]:
        answers: list[list[Hit]] = [[] for _ in requests]
        asked = [(at, query) for at, request in enumerate(requests) for query in queries(request, tenant)]
        names = self._documents.names(tenant)
        found_some = False
        while asked:
            searches = [Search(names.of(query.request.index), query.body) for _, query in asked]
            again: list[tuple[int, Query]] = []
            for (at, query), found in zip(asked, self._collection.search(searches), strict=True):
                ranked = hits(query.request, found["hits"])
                found_some |= bool(ranked) and query.request.index in VECTOR_INDEXES
                if cut_in_a_tie(query, found["hits"], ranked):
                    again += [(at, wider) for wider in queries(query.request, tenant, query.size * _TIE_FACTOR)]
                elif query.request.ids is None:
                    answers[at] = ranked[: query.request.k]
                else:
                    answers[at] = sorted([*answers[at], *ranked], key=lambda hit: (-hit.score, hit.id))
            asked = again
        if found_some:
            self._ours.add(tenant.whole)
        elif any(request.index in VECTOR_INDEXES for request in requests):
            self._refuse_other_embedding(tenant.whole)
        return answers

    def fetch(self, tenant: Tenant, index: IndexName, ids: Sequence[str]) -> dict[str, VectorRecord]:
        check_index(index)
        name = self._documents.names(tenant).of(index)
        searches = [_of_keys(name, tenant, part, _RECORD) for part in batched(dict.fromkeys(ids), AT_ONCE)]
        found = self._collection.search(searches)
        return {row["_source"]["doc_key"]: record_of(row["_source"]) for f in found for row in f["hits"]}

    def visible(
        self, tenant: Tenant, ids: Mapping[IndexName, Sequence[str]], *, tagged: Mapping[str, int] | None = None
    ) -> bool:
        for index in ids:
            check_index(index)
        names = self._documents.names(tenant)
        wanted = {names.of(index): list(dict.fromkeys(keys)) for index, keys in ids.items() if keys}
        if tagged:
            wanted[TAGS] = list(tagged)
        fields = ("doc_key", "edition", "payload")
        searches = [_of_keys(name, tenant, part, fields) for name, keys in wanted.items() for part in batched(keys, AT_ONCE)]
        rows: dict[str, dict[str, Json]] = {name: {} for name in wanted}
        for search, answer in zip(searches, self._collection.search(searches), strict=True):
            rows[search.index] |= {row["_source"]["doc_key"]: row["_source"] for row in answer["hits"]}
        for name, keys in wanted.items():
            for key in keys:
                write = self._unseen.last(name, tenant, key)
                if key not in rows[name] or (write is not None and rows[name][key]["edition"] < write.edition):
                    return False
        return all(version in _tagged(rows[TAGS][source]) for source, version in (tagged or {}).items())

    def ids(
        self, tenant: Tenant, index: IndexName, source_id: str | None = None, *, after: str = "", limit: int | None = None
    ) -> list[str]:
        check_index(index)
        query = of_tenant(tenant) if source_id is None else of_tenant(tenant, source_id=source_id)
        rows = self._documents.all(self._documents.names(tenant).of(index), query, ["doc_key"], after=after, size=limit)
        return [row["_source"]["doc_key"] for row in islice(rows, limit)]

    def sources(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        names = self._documents.names(tenant)
        places = [(names.of_every_embedding(index), "source_id") for index in INDEXES] + [(TAGS, "doc_key")]
        body = {"query": of_tenant(tenant), "size": limit, "search_after": [after]}
        searches = [Search(name, {**body, "sort": [{by: "asc"}], "_source": [by]}) for name, by in places]
        lists = [
            [row["_source"][by] for row in found["hits"]]
            for (_, by), found in zip(places, self._collection.search(searches), strict=True)
        ]
        # where a list was cut, others may go on beyond it: what lies there is for the next call
        end = min((found[-1] for found in lists if len(found) == limit), default=None)
        return sorted({source for found in lists for source in found if end is None or source <= end})

    def stats(self, tenant: Tenant) -> dict[str, int]:
        body = {"query": of_tenant(tenant), "size": 0, "track_total_hits": True}
        names = self._documents.names(tenant)
        found = self._collection.search([Search(names.of(index), body) for index in INDEXES])
        return {index: f.get("total", {}).get("value", 0) for index, f in zip(INDEXES, found, strict=True)}

    def close(self) -> None:
        self._collection.close()

    # ------------------------------------------------------------ private

    def _versions(self, tenant: Tenant, sources: set[str]) -> dict[str, Versions]:
        """Return the tags of sources by version: those that we wrote just now, else those that searches find."""
        lately = {s: w.versions for s in sources if (w := self._unseen.last(TAGS, tenant, s)) and w.versions is not None}
        known: dict[str, Versions] = {}
        for part in batched(sorted(sources - lately.keys() - {""}), AT_ONCE):
            (found,) = self._collection.search([_of_keys(TAGS, tenant, part, ("doc_key", "payload"))])
            known |= {row["_source"]["doc_key"]: _tagged(row["_source"]) for row in found["hits"]}
        return known | {source: versions for source, versions in lately.items() if versions}

    def _refuse_other_embedding(self, tenant: Tenant) -> None:
        """Raise when the tenant has vectors, but none of this embedding."""
        if tenant in self._ours or self._beside:
            return
        ours, others = {"term": {"label": self.label}}, {"terms": {"label": ["", self.label]}}
        bodies = [
            {"query": {"bool": {"filter": [of_tenant(tenant), ours]}}, "size": 1, "_source": ["label"]},
            {"query": {"bool": {"filter": [of_tenant(tenant)], "must_not": [others]}}, "size": 1, "_source": ["label"]},
        ]
        every = self._documents.names(tenant).every
        own, other = self._collection.search([Search(every, body) for body in bodies])
        if own["hits"]:
            self._ours.add(tenant)
        elif other["hits"]:
            raise Misconfigured(
                f"{self._collection.place.host}: holds vectors of {other['hits'][0]['_source']['label']}, not of "
                f"{self.label}: set LEXIGRAPH_EMBEDDING_MODEL to the model they were made with, run `lexigraph reembed`, "
                "or ingest into a new collection"
            )


def _of_keys(name: str, tenant: Tenant, keys: Sequence[str], fields: Sequence[str]) -> Search:
    return Search(name, {"query": of_tenant(tenant, doc_key=list(keys)), "size": len(keys), "_source": list(fields)})


def _tagged(source: Json) -> Versions:
    return {int(v): metadata for v, metadata in json.loads(source["payload"])}


def _words(versions: Versions) -> list[str]:
    return tag_words([versions[v] for v in sorted(versions)])


def _check_text(index: IndexName, record: VectorRecord) -> None:
    try:
        for text in (record.id, record.text, record.source_id, record.chunk_id):
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"record in {index}: the text contains a lone surrogate, which is not a valid character"
        ) from error
