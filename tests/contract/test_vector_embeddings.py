"""Vectors of two embeddings side by side in one store."""

import pytest

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import parse_expression
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import VECTOR_INDEXES, SearchRequest, VectorRecord, VectorStore
from tests.contract.vector_fixtures import Opener, unit

A, B = Tenant("a"), Tenant("b")
INDEXES = VECTOR_INDEXES


def filled(store: VectorStore, tenant: Tenant = A) -> VectorStore:
    """Write records x and y of the sources s and t."""
    vector = unit(1, 2)[: store.dimension]
    vector = vector / (vector @ vector) ** 0.5
    for name, source in (("x", "s"), ("y", "t")):
        rows = [VectorRecord(name, f"text {name}", source, vector=vector)]
        store.upsert(tenant, {"chunk": rows, "statement": rows, "topic": rows})
    return store


@pytest.fixture
def both(open_vector_store: Opener) -> tuple[VectorStore, VectorStore]:
    return filled(open_vector_store("old-8", 8)), filled(open_vector_store("new-4", 4, beside=True))


def test_each_embedding_has_its_own_records_and_both_find_their_own(both: tuple[VectorStore, VectorStore]) -> None:
    for store in both:
        assert [store.ids(A, index) for index in INDEXES] == [["x", "y"]] * 3
        record = store.fetch(A, "chunk", ["x"])["x"]
        assert record.vector is not None and record.vector.shape == (store.dimension,)
        (hits,) = store.search_many(A, [SearchRequest("chunk", vector=record.vector)])
        assert [(hit.id, hit.score) for hit in hits] == [("x", 1.0), ("y", 1.0)]


def test_what_is_deleted_is_deleted_of_every_embedding(both: tuple[VectorStore, VectorStore]) -> None:
    old, new = both
    old.delete(A, {"chunk": ["x"], "statement": ["x"], "topic": ["x"]})
    new.delete(A, {"chunk": ["y"]})
    for store in both:
        assert [store.ids(A, index) for index in INDEXES] == [[], ["y"], ["y"]]


def test_a_record_deleted_through_the_other_embedding_can_be_written_again(both: tuple[VectorStore, VectorStore]) -> None:
    old, new = both
    old.delete(A, {"chunk": ["x", "y"]})
    assert new.ids(A, "chunk") == []
    filled(new)
    assert new.ids(A, "chunk") == ["x", "y"]


def test_filters_of_every_embedding_see_a_new_tag(both: tuple[VectorStore, VectorStore]) -> None:
    for version, topic in enumerate(("sea", "land"), 1):
        both[0].tag(A, [Source("s", "u", "default", "S", {"topic": topic}, version)])
        both[0].untag(A, ["s"], keep={"s": version})
    for store in both:
        for topic, found in (("sea", []), ("land", ["x"])):
            request = SearchRequest("chunk", text="text", filters=parse_expression(f"topic == {topic}"))
            assert [hit.id for hit in store.search_many(A, [request])[0]] == found


def test_dropping_an_embedding_leaves_the_other_other_tenants_and_what_has_no_vectors(
    open_vector_store: Opener, both: tuple[VectorStore, VectorStore]
) -> None:
    old, new = both
    filled(old, B)
    old.upsert(A, {"entity": [VectorRecord("e", "Name")]})
    old.drop(A)
    old.drop(A)
    assert [old.ids(A, index) for index in INDEXES] == [[]] * 3
    assert [new.ids(A, index) for index in INDEXES] == [["x", "y"]] * 3
    assert old.ids(B, "chunk") == ["x", "y"] and new.ids(A, "entity") == ["e"]
    later = open_vector_store("old-8", 8)
    with pytest.raises(InvalidInput, match=r"new-4, not of old-8.*lexigraph reembed"):
        later.search_many(A, [SearchRequest("chunk", text="text")])
    assert filled(open_vector_store("old-8", 8, beside=True)).ids(A, "chunk") == ["x", "y"]


def test_beside_is_needed_for_the_first_record_only(open_vector_store: Opener) -> None:
    filled(open_vector_store("old-8", 8))
    with pytest.raises(InvalidInput, match="holds vectors of old-8, not of new-4"):
        filled(open_vector_store("new-4", 4))
    filled(open_vector_store("new-4", 4, beside=True))
    assert filled(open_vector_store("new-4", 4)).ids(A, "chunk") == ["x", "y"]
