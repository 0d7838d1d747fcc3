"""The store over a collection that is asleep, busy or late, and what it sends."""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import opensearchpy
import pytest

from lexigraph.api.app import create_app
from lexigraph.model.errors import InvalidInput, Misconfigured, StoreUnavailable
from lexigraph.model.filters import parse_expression
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.opensearch.schema import index_body
from lexigraph.storage.opensearch.store import OpenSearchVectorStore
from lexigraph.storage.protocols import IndexName, SearchRequest, VectorRecord
from tests.contract.vector_fixtures import DIMENSION, LABEL, random_units, unit
from tests.contract.vector_waiting import WaitingVectorStore
from tests.laptop import CLOCK, laptop, open_laptop, write_pages
from tests.models import WordEmbedder
from tests.server import Api, LaptopService, serving
from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.opensearch import MOST_OF_A_REQUEST, Fault, OpenSearchServer
from tests.standins.opensearch_index import Index
from tests.vector_dump import dump_vectors

A, B = Tenant("a"), Tenant("b")
EAST, NORTH = unit(1), unit(0, 1)
CHUNKS = f"lexigraph-chunk-{LABEL}"
Opener = Callable[..., OpenSearchVectorStore]


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSearchServer]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with OpenSearchServer() as server:
        yield server


@pytest.fixture
def classic(collection: OpenSearchServer) -> Iterator[OpenSearchServer]:  # which sets the environment
    with OpenSearchServer("classic") as server:
        yield server


@pytest.fixture
def opened() -> Iterator[Opener]:
    stores: list[OpenSearchVectorStore] = []

    def opener(server: OpenSearchServer, more: str = "", **options: Any) -> OpenSearchVectorStore:
        options = {"label": LABEL, "dimension": DIMENSION, "patience": 20.0, **options}
        stores.append(OpenSearchVectorStore(server.connection + more, **options))
        return stores[-1]

    yield opener
    for store in stores:
        store.close()


def record(id_: str, text: str = "some text", vector: Any = EAST, source: str = "s") -> VectorRecord:
    return VectorRecord(id_, text, source, "c", vector)


def texts(store: OpenSearchVectorStore, word: str = "text") -> dict[str, str]:
    return {hit.id: hit.text for hit in store.search_many(A, [SearchRequest("chunk", text=word, k=100)])[0]}


# -- what is sent


def test_all_searches_of_a_call_are_one_request_and_all_of_one_tenant(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection)
    rows = [record(f"r{n}", f"word{n} text", v) for n, v in enumerate(random_units(200, seed=1))]
    store.tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 2020})])
    store.upsert(A, {"chunk": rows, "statement": rows, "entity": [VectorRecord("e", "Name")]})
    before = len(collection.requests)
    answers = store.search_many(
        A,
        [
            SearchRequest("chunk", vector=EAST, k=100),
            SearchRequest("statement", vector=NORTH, k=5, filters=parse_expression("year >= 2000")),
            SearchRequest("chunk", text="word7 text", k=5),
            SearchRequest("chunk", vector=EAST, ids=("r1", "r9")),
            SearchRequest("statement", text="text", ids=("r1", "r9")),
            SearchRequest("entity", text="na", prefix=True),
            SearchRequest("statement", vector=EAST, k=3, vectors=True),
        ],
    )
    assert [len(hits) for hits in answers] == [100, 5, 5, 2, 2, 1, 3]
    (request,) = collection.requests[before:]
    assert request["path"] == "/_msearch" and len(request["lines"]) == 2 * 7
    for body in request["lines"][1::2]:
        query = body["query"]
        filters = query["knn"]["vector"]["filter"] if "knn" in query else query
        assert {"term": {"tenant": "a"}} in filters["bool"]["filter"]
    assert store.search_many(A, [SearchRequest("chunk", vector=EAST, k=0), SearchRequest("topic", text="?")]) == [[], []]


def test_a_tie_beyond_what_was_found_costs_a_second_request_not_the_order(
    collection: OpenSearchServer, opened: Opener
) -> None:
    store = opened(collection)
    store.upsert(A, {"chunk": [record(f"r{n:03}", "same text") for n in reversed(range(300))]})
    before = len(collection.asked("/_msearch"))
    (hits,) = store.search_many(A, [SearchRequest("chunk", vector=EAST, k=20)])
    assert [hit.id for hit in hits] == [f"r{n:03}" for n in range(20)]
    assert 2 <= len(collection.asked("/_msearch")) - before <= 4
    (hits,) = store.search_many(A, [SearchRequest("chunk", text="same", k=20)])
    assert [hit.id for hit in hits] == [f"r{n:03}" for n in range(20)]


def test_indexes_have_an_explicit_mapping(collection: OpenSearchServer, opened: Opener) -> None:
    opened(collection).upsert(A, {"chunk": [record("a")], "entity": [VectorRecord("e", "Name")]})
    assert set(collection.indexes) == {CHUNKS, "lexigraph-entity", "lexigraph-tag"}
    mapping = collection.indexes[CHUNKS].mappings
    vector = mapping["properties"]["vector"]
    assert (mapping["dynamic"], vector["dimension"], vector["space_type"]) == ("strict", DIMENSION, "innerproduct")
    # the service compresses unless told otherwise, and lets nobody name the engine
    assert (vector["compression_level"], vector["method"].get("engine")) == ("8x", None)
    assert "vector" not in collection.indexes["lexigraph-entity"].mappings["properties"]


def test_large_writes_are_cut_into_requests_that_the_service_takes(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection)
    store.upsert(A, {"chunk": [record(f"r{n}", f"text {n} " + "x" * 1_500_000) for n in range(16)]})
    sizes = [request["bytes"] for request in collection.asked("/_bulk")]
    assert sum(sizes) > 2 * MOST_OF_A_REQUEST and max(sizes) <= MOST_OF_A_REQUEST
    assert store.stats(A)["chunk"] == 16
    with pytest.raises(InvalidInput, match="at most"):
        store.upsert(A, {"chunk": [record("huge", "x" * MOST_OF_A_REQUEST)]})


def test_deleting_goes_by_id_also_before_anything_is_visible(collection: OpenSearchServer, opened: Opener) -> None:
    collection.delay = 4
    store = opened(collection)
    store.upsert(A, {"chunk": [record("a"), record("b")]})
    store.delete(A, {"chunk": ["a", "unknown"]})
    assert set(collection.indexes[CHUNKS].live) != set()
    assert len(collection.indexes[CHUNKS].live) == 1
    waiting = WaitingVectorStore(store)
    waiting.upsert(A, {"chunk": [record("c")]})
    assert set(texts(store)) == {"b", "c"}
    assert not [r for r in collection.requests if "query" in r["path"] or "refresh" in r["path"]]


# -- late


def test_a_write_is_visible_when_searches_show_it_in_its_last_form(collection: OpenSearchServer, opened: Opener) -> None:
    collection.delay = 3
    store = opened(collection)

    def asked_until_visible() -> int:
        for times in range(1, 20):
            if store.visible(A, {"chunk": ["a"]}):
                return times
        raise AssertionError("never visible")

    store.upsert(A, {"chunk": [record("a", "old text")]})
    assert not store.visible(A, {"chunk": ["a"]})
    assert asked_until_visible() > 1
    assert texts(store) == {"a": "old text"}
    store.upsert(A, {"chunk": [record("a", "new text")]})
    assert texts(store) == {"a": "old text"} and not store.visible(A, {"chunk": ["a"]})
    assert asked_until_visible() >= 1
    assert texts(store) == {"a": "new text"}
    assert opened(collection).visible(A, {"chunk": ["a"]})


def test_a_version_is_shown_when_searches_see_all_that_it_wrote(collection: OpenSearchServer, tmp_path: Path) -> None:
    collection.slower = {"lexigraph-statement": 2, "lexigraph-topic": 1, "lexigraph-relation": 3, "lexigraph-tag": 4}
    vectors = OpenSearchVectorStore(collection.connection, label=WordEmbedder.label, dimension=WordEmbedder.dimension)
    stores = replace(open_laptop(tmp_path / "data"), vectors=vectors)
    pages = write_pages(tmp_path / "pages", {"Tidewater": "Tidewater runs on Granite.\n\nMira Holm built Tidewater."})
    laptop(tmp_path / "data", stores).ingest([pages])

    found, there = vectors.stats(Tenant()), stores.graph.stats(Tenant())
    assert found["statement"] == there["statements"] == 2
    assert found["chunk"] == found["relation"] == there["chunks"]
    assert found["topic"] == there["topics"]
    vectors.close()


def test_a_question_to_a_collection_that_does_not_answer_is_told_so_within_the_deadline(
    collection: OpenSearchServer, tmp_path: Path
) -> None:
    collection.faults.extend([Fault(status=503)] * 1_000)
    made = Settings(
        data=tmp_path,
        vector_store=collection.connection,
        embedding_model="words",
        embedding_dimension=WordEmbedder.dimension,
        api_deadline=1.5,
    )
    service = LaptopService(made, embedder=WordEmbedder())
    with serving(create_app(made, service)) as url:
        api = Api(url, service.stores)
        reply = api.client().post("/retrieve/traversal", json={"question": "Who built Tidewater?"})
        api.close()
    assert (reply.status_code, reply.json()["error"]) == (503, "store_unavailable"), reply.text
    assert int(reply.headers["retry-after"]) > 0
    assert len(collection.requests) > 1
    service.close()


def test_records_that_nobody_sees_yet_are_tagged_too(collection: OpenSearchServer, opened: Opener) -> None:
    collection.delay = 5
    store = opened(collection)
    store.tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 1990})])
    store.upsert(A, {"chunk": [record("a"), record("b", source="other")]})
    store.tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 2020}, 2)])
    store.untag(A, ["s"], keep={"s": 2})
    while not store.visible(A, {"chunk": ["a", "b"]}):
        assert len(collection.requests) < 100
    found = store.search_many(
        A, [SearchRequest("chunk", vector=EAST, filters=parse_expression(f"year == {y}")) for y in (1990, 2020)]
    )
    assert [[hit.id for hit in hits] for hits in found] == [[], ["a"]]


def test_a_version_that_tells_the_same_of_a_source_rewrites_none_of_its_records(
    collection: OpenSearchServer, opened: Opener
) -> None:
    store = opened(collection)
    store.tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 1990}, 1)])
    store.upsert(A, {"chunk": [record(f"r{n}") for n in range(5)]})
    before = len(collection.requests)
    store.tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 1990}, 2)])
    store.untag(A, ["s"], keep={"s": 2})
    written = [line for r in collection.requests[before:] if r["path"] == "/_bulk" for line in r["lines"]]
    assert {line["index"]["_index"] for line in written if "index" in line} == {"lexigraph-tag"}
    assert not [line for line in written if "update" in line]
    (hits,) = store.search_many(A, [SearchRequest("chunk", vector=EAST, filters=parse_expression("year == 1990"))])
    assert len(hits) == 5


# -- faults


@pytest.mark.parametrize(
    "faults",
    [
        [Fault("_msearch", 429)],
        [Fault("_msearch", 503)] * 3,
        [Fault("_msearch", 504), Fault("_msearch", cut=True), Fault("_msearch", lost=True)],
        [Fault("_msearch", 503, item=1), Fault("_msearch", 429, item=0)],
    ],
    ids=["throttled", "asleep", "cut-off", "items"],
)
def test_a_search_is_repeated_while_what_went_wrong_may_pass(
    collection: OpenSearchServer, opened: Opener, faults: list[Fault]
) -> None:
    store = opened(collection)
    store.upsert(A, {"chunk": [record("a")]})
    collection.faults.extend(faults)
    words, vectors = store.search_many(A, [SearchRequest("chunk", text="text"), SearchRequest("chunk", vector=EAST)])
    assert [hit.id for hit in words] == [hit.id for hit in vectors] == ["a"]
    assert not collection.faults


@pytest.mark.parametrize(
    "fault",
    [
        Fault("_bulk", 429),
        Fault("_bulk", cut=True),
        Fault("_bulk", lost=True),
        Fault("_bulk", 429, item=1),
        Fault("_bulk", 503, item=0),
    ],
    ids=repr,
)
def test_a_write_is_repeated_and_leaves_each_record_once(collection: OpenSearchServer, opened: Opener, fault: Fault) -> None:
    store = opened(
        collection,
    )
    store.upsert(A, {"chunk": [record("first")]})
    collection.faults.append(fault)
    store.upsert(A, {"chunk": [record("a"), record("b"), record("c")]})
    assert set(texts(store)) == {"first", "a", "b", "c"}
    assert len(collection.indexes[CHUNKS].live) == 4
    if fault.item is not None:
        assert [len(r["lines"]) for r in collection.asked("/_bulk")][-2:] == [6, 2]


def test_patience_ends_with_an_error_that_says_what_happened(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection, patience=0.3)
    collection.faults.extend([Fault("_msearch", 503)] * 1_000)
    with pytest.raises(StoreUnavailable, match=r"POST /_msearch.*503 \(injected_exception\)"):
        store.stats(A)


def test_nothing_that_the_service_quotes_is_told_or_logged(
    collection: OpenSearchServer, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = opened(collection, patience=0.3)
    store.upsert(A, {"chunk": [record("a", "confidential text")]})
    collection.faults.append(Fault("_bulk", 400, item=0))
    with pytest.raises(StoreUnavailable, match="an item of a bulk request: 400") as caught:
        store.upsert(A, {"chunk": [record("b", "confidential text")]})
    collection.faults.extend([Fault("_msearch", 503)] * 1_000)
    with pytest.raises(StoreUnavailable):
        texts(store, "confidential")
    assert "so says the test" not in str(caught.value)
    assert "confidential" not in caplog.text


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_request_is_repeated_at_first_use_only(collection: OpenSearchServer, opened: Opener, status: int) -> None:
    store = opened(collection)
    collection.faults.extend([Fault(status=status)] * 3)
    assert store.stats(A)["chunk"] == 0
    assert not collection.faults
    collection.faults.append(Fault(status=403))
    with pytest.raises(StoreUnavailable, match=r"403.*data access policy.*aoss:APIAccessAll"):
        store.stats(A)


def test_a_refusal_in_plain_words_is_understood_as_one_in_the_form_of_opensearch_is(
    collection: OpenSearchServer, opened: Opener
) -> None:
    collection.plain = True
    store = opened(collection)
    store.upsert(A, {"chunk": [record("a")]})  # which asks for an index that is not there
    assert texts(store) == {"a": "some text"}


def test_a_new_index_that_lets_no_document_in_yet_is_waited_for(collection: OpenSearchServer, opened: Opener) -> None:
    collection.unknown = 3
    store = opened(collection)
    store.upsert(A, {"chunk": [record("a"), record("b")]})
    assert set(texts(store)) == {"a", "b"} and len(collection.indexes[CHUNKS].live) == 2


def test_an_index_that_stays_unknown_is_told_with_its_status(collection: OpenSearchServer, opened: Opener) -> None:
    collection.unknown = 1_000
    with pytest.raises(StoreUnavailable, match=r"POST /_bulk.*items say 404"):
        opened(collection, patience=0.3).upsert(A, {"chunk": [record("a")]})


def test_a_request_signed_with_another_key_is_refused(
    collection: OpenSearchServer, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(StoreUnavailable, match="403"):
        opened(collection, patience=0.3).stats(A)


def test_nobody_at_the_address_is_an_unavailable_store(collection: OpenSearchServer, opened: Opener) -> None:
    with OpenSearchServer() as gone:
        store = opened(gone, patience=0.3)
    with pytest.raises(StoreUnavailable, match="OpenSearch"):
        store.stats(A)


# -- collections of the Classic generation


@pytest.mark.parametrize("plain", [False, True], ids=["in its form", "in plain words"])
@pytest.mark.parametrize("index", ["chunk", "entity"])
def test_a_collection_that_takes_no_ids_of_ours_is_refused_with_the_remedy(
    classic: OpenSearchServer, opened: Opener, index: IndexName, plain: bool
) -> None:
    classic.plain = plain
    vector = EAST if index == "chunk" else None
    with pytest.raises(Misconfigured, match=r"Classic collection.* make a NextGen vector search collection"):
        opened(classic).upsert(A, {index: [record("a", vector=vector)]})
    with pytest.raises(Misconfigured, match="make a NextGen vector search collection"):
        opened(classic).tag(A, [Source("s", "file:///s.md", "default", "S", {"year": 2020})])
    assert not any(held.live for held in classic.indexes.values())


# -- several indexes of a kind


def test_each_tenant_has_its_indexes_and_is_asked_for_there_alone(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection, "&indexes=8")
    tenants = [Tenant(f"t{n}") for n in range(40)]
    for tenant in tenants:
        store.tag(tenant, [Source("s", "file:///s.md", "default", "S", {})])
        store.upsert(tenant, {"chunk": [record("r", f"text of {tenant}")], "entity": [VectorRecord("e", "Name")]})
    chunks = [name for name in collection.indexes if "chunk" in name]
    assert len(chunks) == 8 and all(re.fullmatch(rf"lexigraph-0[0-7]-chunk-{LABEL}", name) for name in chunks)
    assert [name for name in collection.indexes if "tag" in name] == ["lexigraph-tag"]
    collection.show_all()
    other = opened(collection)  # which is not told how many there are
    asked = [
        SearchRequest("chunk", text="text", k=5),
        SearchRequest("chunk", vector=EAST, k=5),
        SearchRequest("entity", text="name"),
    ]
    for tenant in tenants:
        before = len(collection.asked("/_msearch"))
        hits = other.search_many(tenant, asked)
        assert [hit.text for found in hits for hit in found] == [f"text of {tenant}"] * 2 + ["Name"]
        (request,) = collection.asked("/_msearch")[before:]
        assert len({line["index"].split("-")[1] for line in request["lines"][::2]}) == 1
    assert [len(collection.asked(f"/{name}/_mapping")) for name in chunks] == [
        1 + n for n in _tenants_of(chunks, collection)
    ]


def _tenants_of(names: list[str], collection: OpenSearchServer) -> list[int]:
    return [len({row["tenant"] for row in collection.indexes[name].live.values()}) for name in names]


def test_a_number_of_indexes_other_than_the_collections_is_refused_with_what_to_write(
    collection: OpenSearchServer, opened: Opener
) -> None:
    opened(collection, "&indexes=8").upsert(A, {"chunk": [record("a")]})
    collection.show_all()
    for wrong in (opened(collection, "&indexes=1"), opened(collection, "&indexes=16")):
        for call in (lambda: texts(wrong), lambda: wrong.upsert(A, {"chunk": [record("b")]}), lambda: wrong.stats(A)):  # noqa: B023
            with pytest.raises(Misconfigured, match=r"has 8 indexes of a kind.*say indexes=8 or use a new collection"):
                call()
    assert texts(opened(collection, "&indexes=8")) == texts(opened(collection)) == {"a": "some text"}


def test_a_collection_of_a_release_that_knew_one_index_of_a_kind_is_written_on(
    collection: OpenSearchServer, opened: Opener
) -> None:
    opened(collection).upsert(A, {"chunk": [record("a")]})
    for index in collection.indexes.values():
        del index.mappings["_meta"]["indexes"]
    index.mappings["properties"].get("vector", {})["compression_level"] = "1x"
    collection.show_all()
    store = opened(collection, "&indexes=1")
    store.upsert(A, {"chunk": [record("b")]})
    collection.show_all()
    assert texts(store) == texts(opened(collection)) == {"a": "some text", "b": "some text"}
    with pytest.raises(Misconfigured, match="has 1 indexes of a kind, the connection says indexes=8"):
        opened(collection, "&indexes=8").upsert(A, {"chunk": [record("b")]})


def test_two_writers_of_an_empty_collection_agree_on_the_number(collection: OpenSearchServer, opened: Opener) -> None:
    one, other = opened(collection, "&indexes=8"), opened(collection)
    assert other.search_many(A, [SearchRequest("chunk", text="text")]) == [[]]  # nothing is there to tell it
    one.upsert(A, {"chunk": [record("a")]})
    other.upsert(A, {"chunk": [record("b")]})
    collection.show_all()
    assert texts(one) == {"a": "some text", "b": "some text"}


def test_a_database_moves_to_more_indexes_by_an_ingest_of_all_documents(
    collection: OpenSearchServer, tmp_path: Path
) -> None:
    pages = write_pages(tmp_path / "pages", CLOCK)
    embedding = EmbeddingModel("words", WordEmbedder.dimension)
    before, after = (
        replace(
            open_laptop(tmp_path / "data"),
            vectors=VectorStoreFactory.for_vector_store(f"{collection.connection}&indexes={n}", embedding=embedding),
        )
        for n in (1, 8)
    )
    assert not laptop(tmp_path / "data", before).ingest([pages]).failures
    collection.show_all()
    kept = dump_vectors(before.vectors, Tenant())
    with pytest.raises(Misconfigured, match="has 1 indexes of a kind"):
        dump_vectors(after.vectors, Tenant())
    collection.indexes.clear()  # a new collection, or the same without its indexes
    assert not laptop(tmp_path / "data", after).ingest([pages], incremental=False).failures
    collection.show_all()
    moved = dump_vectors(after.vectors, Tenant())
    # a name that is no title comes again when something about it changes: docs/operate.md says so
    assert {row[3] for row in moved["entity"]} == {*CLOCK} < {row[3] for row in kept["entity"]}
    assert moved | {"entity": []} == kept | {"entity": []} and kept["statement"]
    assert all(re.match(r"lexigraph-(02-|tag$)", name) for name in collection.indexes)
    for stores in (before, after):
        stores.close()


def test_a_field_just_added_that_is_not_known_everywhere_is_waited_for(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection)
    collection.late = 3
    store.upsert(A, {"chunk": [record("a"), record("b")]})
    assert len(collection.indexes[CHUNKS].live) == 2
    sent = [len(request["lines"]) for request in collection.asked("/_bulk")]
    assert sent == [4, 4, 2]  # both were refused, then one of them, which is sent alone


def test_a_field_that_stays_unknown_is_told_and_looked_for_anew_by_the_next_write(
    collection: OpenSearchServer, opened: Opener
) -> None:
    store = opened(collection, patience=0.5)
    store.upsert(A, {"chunk": [record("a")]})
    del collection.indexes[CHUNKS]  # by hand, while somebody writes
    collection.indexes[CHUNKS] = Index(CHUNKS, index_body("chunk", LABEL, DIMENSION, 1), "nextgen")
    with pytest.raises(StoreUnavailable, match=r"POST /_bulk, for 0 s: items say 400"):
        store.upsert(A, {"chunk": [record("b")]})
    store.upsert(A, {"chunk": [record("b")]})
    collection.show_all()
    assert texts(store) == {"b": "some text"}


# -- vectors


def test_a_vector_is_sent_with_the_digits_that_the_service_needs_and_read_back_bit_for_bit(
    collection: OpenSearchServer, opened: Opener
) -> None:
    rows = random_units(50, seed=3)
    store = opened(collection)
    store.upsert(A, {"chunk": [record(f"r{n}", "some text", row) for n, row in enumerate(rows)]})
    (request,) = collection.asked("/_bulk")
    sent = [line["vector"] for line in request["lines"] if "vector" in line]
    assert max(len(str(abs(number))) for vector in sent for number in vector) <= 8
    assert np.abs(np.array(sent) - rows).max() <= 5e-7
    collection.show_all()
    kept = store.fetch(A, "chunk", [f"r{n}" for n in range(50)])
    assert all(np.array_equal(kept[f"r{n}"].vector, row) for n, row in enumerate(rows))


@pytest.mark.slow
def test_the_best_are_found_behind_compressed_vectors_and_scored_by_their_own(
    collection: OpenSearchServer, opened: Opener
) -> None:
    """In clusters, as the vectors of texts are: of independent ones none is near another."""
    rng = np.random.default_rng(5)
    middle = rng.standard_normal((100, 384))
    rows = middle[rng.integers(0, 100, 2_000)] + 0.7 * rng.standard_normal((2_000, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    store = opened(collection, label="words-384", dimension=384)
    store.upsert(A, {"chunk": [record(f"r{n:04}", "x", row) for n, row in enumerate(rows)]})
    collection.show_all()
    asked = rows[:50] + 0.02 * rng.standard_normal((50, 384)).astype(np.float32)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    found = store.search_many(A, [SearchRequest("chunk", vector=row, k=10) for row in asked])
    same = 0
    for row, hits in zip(asked, found, strict=True):
        cosines = np.round(rows.astype(float) @ row.astype(float), 6)
        assert [hit.score for hit in hits] == [cosines[int(hit.id[1:])] for hit in hits]
        same += len({int(hit.id[1:]) for hit in hits} & {*np.argsort(-cosines)[:10].tolist()})
    assert same >= 490, "of 500"
    # what the service itself has first is another matter
    index = next(index for name, index in collection.indexes.items() if "chunk" in name)
    query = {"knn": {"vector": {"vector": asked[0].tolist(), "k": 10}}}
    first = [hit["_source"]["doc_key"] for hit in index.search({"query": query, "size": 10})["hits"]]
    assert first != [hit.id for hit in found[0]]


# -- the stand-in


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/some/_refresh"),
        ("POST", "/some/_delete_by_query"),
        ("POST", "/some/_update_by_query"),
        ("PUT", "/_cluster/settings"),
        ("GET", "/_cluster/health"),
    ],
)
def test_the_stand_in_refuses_what_the_service_has_not(collection: OpenSearchServer, method: str, path: str) -> None:
    client = raw(collection)
    with pytest.raises(opensearchpy.NotFoundError):
        client.transport.perform_request(method, path, body={})
    client.close()


def test_a_tenants_ranking_does_not_hang_on_the_words_of_others(collection: OpenSearchServer, opened: Opener) -> None:
    store, asked = opened(collection), [SearchRequest("chunk", text="granite bergen")]
    store.upsert(A, {"chunk": [record("a", "Granite in Bergen"), record("b", "Granite"), record("c", "Bergen by the sea")]})
    collection.show_all()
    before = store.search_many(A, asked)
    assert len(before[0]) == 3
    store.upsert(B, {"chunk": [record(f"b{n}", "granite " * 9) for n in range(40)]})
    collection.show_all()
    assert store.search_many(A, asked) == before
    assert store.search_many(Tenant("nobody"), asked) == [[]]


def test_a_collection_that_takes_no_further_tenant_says_so(collection: OpenSearchServer, opened: Opener) -> None:
    store = opened(collection)
    store.upsert(A, {"chunk": [record("a")]})
    index = collection.indexes[CHUNKS]
    index.add({f"f{n}": {"type": "keyword"} for n in range(1_000 - len(index.fields) - 1)})
    with pytest.raises(Misconfigured, match="use a new collection with more indexes"):
        store.upsert(B, {"chunk": [record("b")]})
    store.upsert(A, {"chunk": [record("c")]})


def bulk(client: opensearchpy.OpenSearch, document: Any) -> Any:
    """Write a document under an id of ours; return what is said of it."""
    lines = json.dumps({"index": {"_index": "some", "_id": "1"}}) + "\n" + json.dumps(document) + "\n"
    return client.transport.perform_request("POST", "/_bulk", body=lines)["items"][0]["index"]


def test_the_stand_in_refuses_as_the_service_does(collection: OpenSearchServer, classic: OpenSearchServer) -> None:
    client, old = raw(collection), raw(classic)
    body = {
        "settings": {"index": {"knn": True}},
        "mappings": {
            "dynamic": "strict",
            "properties": {
                "k": {"type": "keyword"},
                "v": {"type": "knn_vector", "dimension": 2, "method": {"engine": "faiss"}},
            },
        },
    }
    with pytest.raises(opensearchpy.RequestError) as unknown:
        client.transport.perform_request("PUT", "/some", body=body)
    assert "'engine' is not supported" in str(unknown.value.info)
    del body["mappings"]["properties"]["v"]["method"]  # type: ignore[index]  # a dictionary of dictionaries
    for each in (client, old):
        each.transport.perform_request("PUT", "/some", body=body)
    for method, path in (("PUT", "_doc"), ("PUT", "_create"), ("POST", "_create"), ("POST", "_update")):
        with pytest.raises(opensearchpy.RequestError, match="illegal_argument_exception"):
            client.transport.perform_request(method, f"/some/{path}/1", body={"k": "x"})
    assert "Document ID is not supported" in bulk(old, {"k": "x"})["error"]["reason"]
    assert bulk(client, {"k": "x"})["status"] == 200
    for document in ({"v": [1.0]}, {"other": 1}, {"k": "x" * 40_000}):
        assert bulk(client, document)["status"] == 400
    lines = [{"index": "some"}, {"query": {"fuzzy": {"k": "x"}}}, {"index": "none"}, {"query": {"match_none": {}}}]
    answer = client.transport.perform_request("POST", "/_msearch", body="".join(json.dumps(x) + "\n" for x in lines))
    assert [r["error"]["type"] for r in answer["responses"]] == ["parsing_exception", "index_not_found_exception"]
    with pytest.raises(opensearchpy.TransportError, match="413"):
        client.transport.perform_request("POST", "/_bulk", body=json.dumps({"k": "x" * MOST_OF_A_REQUEST}) + "\n")
    for parameter in ({"mode": "in_memory"}, {"compression_level": "4x"}):
        vectors = {"v": {"type": "knn_vector", "dimension": 2, **parameter}}
        with pytest.raises(opensearchpy.RequestError, match="illegal_argument_exception"):
            client.transport.perform_request("PUT", "/other", body={**body, "mappings": {"properties": vectors}})
    packed = raw(collection, http_compress=True)
    with pytest.raises(opensearchpy.AuthorizationException):
        packed.transport.perform_request("POST", "/_msearch", body="{}\n")
    unsigned = opensearchpy.OpenSearch(hosts=[collection.url], max_retries=0)
    with pytest.raises(opensearchpy.AuthorizationException):
        unsigned.transport.perform_request("POST", "/_msearch", body="")
    for c in (client, old, packed, unsigned):
        c.close()


def raw(server: OpenSearchServer, **options: Any) -> opensearchpy.OpenSearch:
    import boto3

    credentials = boto3.session.Session(*ENVIRONMENT.values()).get_credentials()
    signer = opensearchpy.Urllib3AWSV4SignerAuth(credentials, REGION, "aoss")
    return opensearchpy.OpenSearch(
        hosts=[server.url],
        http_auth=signer,
        connection_class=opensearchpy.Urllib3HttpConnection,
        max_retries=0,
        **options,
    )
