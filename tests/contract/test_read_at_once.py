"""Reads that carry much in one round trip: hits with their vectors, records of many documents."""

import numpy as np
import pytest

from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Registry, SearchRequest, VectorRecord, VectorStore
from tests.contract.test_registry import record, stored
from tests.contract.vector_fixtures import random_units, unit

A, B = Tenant("a"), Tenant("b")


def test_hits_bring_their_vectors_in_place_of_their_texts_when_asked(vector_store: VectorStore) -> None:
    vectors = random_units(5, seed=7)
    rows = [VectorRecord(f"c{n}", f"text {n}", "s", f"c{n}", vector) for n, vector in enumerate(vectors)]
    vector_store.upsert(A, {"chunk": rows, "entity": [VectorRecord("e", "text of a name")]})
    requests = [
        SearchRequest("chunk", vector=unit(1), k=3),
        SearchRequest("chunk", vector=unit(1), ids=("c4", "c0", "none")),
        SearchRequest("chunk", text="text", k=3),
        SearchRequest("entity", text="text", k=3),
    ]

    plain = vector_store.search_many(A, requests)
    bare = vector_store.search_many(
        A, [SearchRequest(r.index, r.vector, r.text, r.k, r.ids, vectors=True) for r in requests]
    )

    assert [[h[:5] for h in hits] for hits in bare] == [[h[:5] for h in hits] for hits in plain], "all but the vectors"
    for hit in (hit for hits in bare[:3] for hit in hits):
        assert hit.vector is not None
        assert np.array_equal(hit.vector, vectors[int(hit.id[1:])])
    assert bare[3] == plain[3], "a name has no vector to bring"
    assert all(hit.vector is None and hit.text for hits in plain for hit in hits)


@pytest.mark.requirement("W-09")
def test_records_of_many_documents_come_at_once(registry: Registry) -> None:
    one, two, other = record("one", words=12), record("two", words=7), record("one", tenant=B)
    registry.save(A, [one, two])
    registry.save(B, [other])

    found = registry.records(A, [one.source_id, two.source_id, other.source_id, "source:none"])

    assert {i: r.words for i, r in found.items()} == {one.source_id: 12, two.source_id: 7}
    assert stored(registry, one).words == 12
    assert registry.records(A, []) == {}
