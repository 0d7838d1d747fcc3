"""What every vector store promises (storage/protocols.py)."""

import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import Filter, MetadataFilter, parse_expression, parse_filter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import FloatArray, Hit, IndexName, SearchRequest, VectorRecord, VectorStore
from tests.contract.vector_fixtures import (
    DIMENSION,
    IN_PROCESSES,
    LABEL,
    WORDS_OF_ALL_TENANTS,
    WRITES_AT_ONCE,
    Opener,
    random_units,
    unit,
)
from tests.contract.vector_workers import SIZE, TENANT, edition_of, look, start, write
from tests.vector_dump import dump_vectors

A, B = Tenant("a"), Tenant("b")
EAST, NORTH = unit(1), unit(0, 1)
same_store = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(
    id_: str, text: str = "some text", vector: FloatArray | None = EAST, source: str = "s", chunk: str = "c"
) -> VectorRecord:
    return VectorRecord(id_, text, source, chunk, vector)


def name(id_: str, text: str) -> VectorRecord:
    return VectorRecord(id_, text)


def by_vector(store: VectorStore, vector: FloatArray = EAST, k: int = 10, tenant: Tenant = A, **more: Any) -> list[Hit]:
    return store.search_many(tenant, [SearchRequest("chunk", vector=vector, k=k, **more)])[0]


def by_words(
    store: VectorStore, text: str, k: int = 10, tenant: Tenant = A, index: IndexName = "chunk", **more: Any
) -> list[Hit]:
    return store.search_many(tenant, [SearchRequest(index, text=text, k=k, **more)])[0]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_a_vector_store_has_all_methods_of_the_protocol(vector_store: VectorStore) -> None:
    assert isinstance(vector_store, VectorStore)
    assert (vector_store.label, vector_store.dimension) == (LABEL, DIMENSION)


# -- cosine


def test_the_nearest_vectors_come_first_with_their_cosine(vector_store: VectorStore) -> None:
    vector_store.upsert(
        A,
        {
            "chunk": [
                record("far", vector=unit(-1)),
                record("near", "near text", unit(1, 1), "s1", "c1"),
                record("same", vector=EAST),
                record("across", vector=NORTH),
            ]
        },
    )
    hits = by_vector(vector_store, k=3)
    assert ids(hits) == ["same", "near", "across"]
    assert [h.score for h in hits] == [1.0, 0.707107, 0.0]
    assert hits[1] == Hit("near", 0.707107, "near text", "s1", "c1")


def test_hits_bring_their_vectors_too_when_asked_to(vector_store: VectorStore) -> None:
    vectors = random_units(9, seed=8)
    rows = [record(f"r{n}", "word", vectors[n]) for n in range(9)]
    vector_store.upsert(A, {"chunk": rows, "entity": [VectorRecord("e", "word")]})
    ids = ("r1", "r4", "missing")
    ways: list[dict[str, Any]] = [
        {"vector": vectors[4], "k": 3},
        {"vector": vectors[4], "ids": ids},
        {"text": "word", "k": 3},
        {"text": "word", "ids": ids},
    ]
    plain = vector_store.search_many(A, [SearchRequest("chunk", **way) for way in ways])
    asked = vector_store.search_many(A, [SearchRequest("chunk", **way, vectors=True) for way in ways])
    for without, hits in zip(plain, asked, strict=True):
        assert len(hits) >= 2
        assert [(h.id, h.score, h.source_id, h.chunk_id) for h in hits] == [
            (h.id, h.score, h.source_id, h.chunk_id) for h in without
        ]
        assert {h.text for h in (*without, *hits)} == {"word"}
        assert all(h.vector is None for h in without)
        for hit in hits:
            assert hit.vector is not None
            assert np.allclose(hit.vector, vectors[int(hit.id[1:])], atol=1e-6)
    (names,) = vector_store.search_many(A, [SearchRequest("entity", text="word", vectors=True)])
    assert [(h.id, h.vector) for h in names] == [("e", None)]


def test_cosines_of_given_records_come_without_their_texts_where_nobody_reads_them(vector_store: VectorStore) -> None:
    vectors = random_units(9, seed=8)
    rows = [record(f"r{n}", "word", vectors[n], f"s{n % 2}") for n in range(9)]
    vector_store.upsert(A, {"chunk": rows})
    vector_store.tag(A, [Source(f"s{n}", f"file:///{n}", metadata={"even": n == 0}) for n in range(2)])
    asked: dict[str, Any] = {"vector": vectors[4], "ids": ("r4", "r1", "missing", "r2", "r1")}
    for filters in (None, parse_expression("even == true")):
        whole, bare = vector_store.search_many(
            A, [SearchRequest("chunk", **asked, filters=filters, texts=texts) for texts in (True, False)]
        )
        assert bare == [Hit(hit.id, hit.score, "", "", "") for hit in whole] != []


def test_more_results_than_records_are_no_error(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("a", "one"), record("b", "one")]})
    assert ids(by_vector(vector_store, k=1_000)) == ["a", "b"]
    assert ids(by_words(vector_store, "one", k=1_000)) == ["a", "b"]
    assert by_vector(vector_store, k=0) == by_words(vector_store, "one", k=0) == []


def test_ties_go_by_id_also_where_the_list_is_cut_whatever_the_order_of_writing(vector_store: VectorStore) -> None:
    names = [f"id-{n:03}" for n in range(100)]
    near, tied = names[:5], names[5:]
    vector = {n: unit(1, 0.1) for n in near} | {n: unit(1, 0.5, 0.25, 0.125) for n in tied}
    for tenant, seed in ((A, 1), (B, 2)):
        shuffled = Random(seed).sample(names, len(names))
        for at in range(0, 100, 30):
            batch = [record(n, "tied text" + " near" * (n in near), vector[n]) for n in shuffled[at : at + 30]]
            vector_store.upsert(tenant, {"chunk": batch})
    for tenant in (A, B):
        for k in (1, 5, 6, 37, 99, 100):
            assert ids(by_vector(vector_store, k=k, tenant=tenant)) == names[:k]
            assert ids(by_words(vector_store, "near text", k=k, tenant=tenant)) == names[:k]


def test_cosines_that_differ_by_rounding_only_are_ties(vector_store: VectorStore) -> None:
    # the same numbers in another order have the same sum, but not in single precision
    numbers, rng = [0.1, 0.2, 0.3, 0.5, 0.7, 1.1, 1.3, 1.7], Random(1)
    vectors = [unit(*rng.sample(numbers, len(numbers))) for _ in range(300)]
    vector_store.upsert(A, {"chunk": [record(f"r{n:03}", vector=v) for n, v in enumerate(vectors)]})
    hits = by_vector(vector_store, unit(*[1] * DIMENSION), k=40)
    assert len({h.score for h in hits}) == 1
    assert ids(hits) == [f"r{n:03}" for n in range(40)]


def test_the_answer_does_not_depend_on_the_order_of_writing_nor_on_other_requests(vector_store: VectorStore) -> None:
    vectors = random_units(300, seed=5)
    records = [record(f"r{n}", f"word{n % 7} text{n % 3}", vectors[n], f"s{n % 9}") for n in range(300)]
    for tenant, seed in ((A, 1), (B, 2)):
        shuffled = Random(seed).sample(records, len(records))
        for at in range(0, 300, 70):
            vector_store.upsert(tenant, {"chunk": shuffled[at : at + 70]})
    questions = random_units(20, seed=6)
    # so many that compressed vectors leave none out: which of those that are as near are left out goes by the service
    requests = [SearchRequest("chunk", vector=q, k=70) for q in questions]
    together = vector_store.search_many(A, requests)
    assert together == vector_store.search_many(B, requests)
    assert together == [vector_store.search_many(A, [request])[0] for request in requests]
    assert dump_vectors(vector_store, A) == dump_vectors(vector_store, B)


def test_all_requests_of_a_call_are_answered_in_their_order(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("c", "red")], "entity": [name("e", "red")], "topic": [record("t", "blue")]})
    requests = [
        SearchRequest("entity", text="red"),
        SearchRequest("topic", vector=EAST),
        SearchRequest("chunk", text="blue"),
        SearchRequest("relation", text="red"),
        SearchRequest("chunk", vector=EAST),
    ]
    assert [ids(hits) for hits in vector_store.search_many(A, requests)] == [["e"], ["t"], [], [], ["c"]]


# -- words


def test_a_rarer_word_counts_more_and_scores_are_positive(vector_store: VectorStore) -> None:
    texts = {"both": "storm harbour", "rare": "storm village", "common": "harbour village"}
    texts |= {f"more-{n}": "harbour town" for n in range(6)} | {f"other-{n}": "quiet meadow" for n in range(20)}
    vector_store.upsert(A, {"chunk": [record(i, text) for i, text in texts.items()]})
    hits = by_words(vector_store, "Which harbour saw the storm?")
    assert ids(hits)[:3] == ["both", "rare", "common"]
    assert all(h.score > 0 for h in hits)
    assert len(hits) == 9
    assert all(h.score == round(h.score, 6) for h in hits)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The databases were indexed", "indexing a database"),
        ("Résumé of Zürich", "resume zurich"),
        ("UPPER case", "upper CASE"),
        ("a hyphen-ated word", "hyphen"),
        ("version 3.14 of it", "3.14"),
        ("Владимир и Москва", "МОСКВА"),
    ],
)
def test_words_are_found_in_another_form_or_spelling(vector_store: VectorStore, text: str, question: str) -> None:
    vector_store.upsert(A, {"chunk": [record("wanted", text), record("other", "nothing alike")]})
    assert ids(by_words(vector_store, question)) == ["wanted"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Die Häuser wurden von der Stadt gebaut.", "Wer hat das Haus gebaut?"),
        ("Les phares ont été construits par la ville.", "Qui construit le phare et la tour ?"),
        ("Маяки построила инженер Соколова.", "Кто построил маяк?"),
        ("灯塔由建筑师林海设计。", "谁设计了灯塔？"),
        ("灯台は一八八七年に建てられた。", "灯台を建てたのは誰ですか？"),
        ("등대를 지은 사람은 김하나였다.", "등대가 어디에 있습니까?"),
        ("بنى المهندس المنارات القديمة", "أين المنارة؟"),
        ("كَتَبَ مُحَمَّدٌ", "محمد"),
        ("यह पुस्तक पुरानी है।", "पुस्तकें कहाँ हैं?"),
        ("ประภาคารอยู่บนเกาะ", "ใครสร้างประภาคาร"),
    ],
)
def test_words_of_other_languages_are_found_in_another_form_or_without_blanks(
    vector_store: VectorStore, text: str, question: str
) -> None:
    vector_store.upsert(A, {"chunk": [record("wanted", text), record("other", "nothing alike")]})
    found = by_words(vector_store, question)
    assert ids(found) == ["wanted"]
    assert found[0].text == text


def test_a_word_is_not_found_by_its_consonants_alone(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("book", "किताब"), record("how much", "कितना")]})
    assert ids(by_words(vector_store, "किताब")) == ["book"]


def test_what_is_added_for_another_language_goes_with_its_record(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("one", "東京都の灯台"), record("two", "京都の灯台")]})
    vector_store.upsert(A, {"chunk": [record("one", "大阪府の港")]})
    vector_store.delete(A, {"chunk": ["two"]})
    assert ids(by_words(vector_store, "灯台")) == []
    assert ids(by_words(vector_store, "大阪の港")) == ["one"]


def test_stop_words_do_not_find_anything_unless_they_are_all_there_is(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("who", "The Who"), record("band", "a band of the time")]})
    assert ids(by_words(vector_store, "the band")) == ["band"]
    assert ids(by_words(vector_store, "Who is the who?"))[0] == "who"


def test_the_last_word_may_be_a_beginning(vector_store: VectorStore) -> None:
    names = ["International Harbour", "Interlaken", "Harbour Street", *(f"Village {n}" for n in range(9))]
    vector_store.upsert(A, {"entity": [name(text, text) for text in names]})
    asked = ("internatio", "inter", "harbour int", "harbour s")
    assert {text: ids(by_words(vector_store, text, index="entity", prefix=True)) for text in asked} == {
        "internatio": ["International Harbour"],
        "inter": ["Interlaken", "International Harbour"],
        "harbour int": ["International Harbour", "Interlaken", "Harbour Street"],
        "harbour s": ["Harbour Street", "International Harbour"],
    }
    assert by_words(vector_store, "inter", index="entity") == []


@pytest.mark.parametrize(
    ("text", "begun"), [("서울특별시", "서울특"), ("ガスタンク", "ガス"), ("हिन्दी", "हिन्"), ("Йодль", "йод")]
)
def test_a_beginning_is_found_in_any_script(vector_store: VectorStore, text: str, begun: str) -> None:
    vector_store.upsert(A, {"entity": [name("wanted", text), name("other", "カスタム")]})
    assert ids(by_words(vector_store, begun, index="entity", prefix=True)) == ["wanted"]


NASTY = [
    "", " ", "???", '"', "''", '"unclosed', "a AND", "OR", "NOT x", "NEAR(a b)", "a*", "*", "^a", "col:x", "text : a",
    "a-b", "a + b", "(a", "{a b}", "-", "a\x00b", "\x00", "\u202eabc\u202c", "אבג", "'; DROP TABLE tags; --", "\ud800",
    "%", "\\", "a" * 4_000, "a b " * 1_000, " ".join(f"w{n}" for n in range(800)), "\U0001f600", "١٢٣", "ﷺ", "\u0301",
]  # fmt: skip


@pytest.mark.parametrize("prefix", [False, True])
def test_no_text_of_a_question_does_any_harm(vector_store: VectorStore, prefix: bool) -> None:
    vector_store.upsert(A, {"chunk": [record("letter", "a or b near x not text col"), record("other", "other words")]})
    for text in NASTY:
        assert "other" not in ids(by_words(vector_store, text, prefix=prefix)), text
    assert ids(by_words(vector_store, "other", prefix=prefix)) == ["other"]


def test_words_that_are_operators_elsewhere_are_words(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("near", "near miss"), record("plain", "plain miss"), record("rest", "rest")]})
    assert ids(by_words(vector_store, "NEAR")) == ["near"]
    assert ids(by_words(vector_store, 'plain" NOT "near')) == ["near", "plain"]


@same_store
@given(st.text(max_size=60), st.text(st.sampled_from("ab \"'*()-:^+{}\x00\u202e"), max_size=30))
def test_any_text_can_be_stored_and_asked_for(vector_store: VectorStore, stored: str, asked: str) -> None:
    vector_store.upsert(A, {"chunk": [record("one", stored)]})
    for text in (stored, asked):
        for prefix in (False, True):
            assert ids(by_words(vector_store, text, prefix=prefix)) in ([], ["one"])
    assert vector_store.fetch(A, "chunk", ["one"])["one"].text == stored


def test_text_that_is_no_unicode_is_refused(vector_store: VectorStore) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        vector_store.upsert(A, {"chunk": [record("x", "half a pair: \ud800")]})
    assert vector_store.stats(A)["chunk"] == 0


# -- given ids


def test_given_ids_are_scored_whatever_their_rank_and_the_limit(vector_store: VectorStore) -> None:
    vectors = random_units(50, seed=1)
    vector_store.upsert(A, {"chunk": [record(f"r{n}", f"word text{n}", vectors[n]) for n in range(50)]})
    best = {h.id: h for h in by_vector(vector_store, k=50)}
    chosen = ("r7", "r33", "r7", "nowhere", "r2")
    hits = by_vector(vector_store, k=1, ids=chosen)
    assert hits == sorted((best[i] for i in {"r7", "r33", "r2"}), key=lambda h: (-h.score, h.id))
    worded = {h.id: h for h in by_words(vector_store, "word text7", k=50)}
    assert by_words(vector_store, "word text7", k=1, ids=chosen) == [worded["r7"], worded["r2"], worded["r33"]]
    assert ids(by_words(vector_store, "text7", ids=chosen)) == ["r7"]
    assert by_vector(vector_store, ids=()) == by_words(vector_store, "word", ids=()) == []


def test_thousands_of_ids_can_be_given(vector_store: VectorStore) -> None:
    vectors = random_units(2_500, seed=1)
    vector_store.upsert(A, {"chunk": [record(f"r{n}", "word", vectors[n]) for n in range(2_500)]})
    every = tuple(f"r{n}" for n in range(2_500))
    assert len(by_vector(vector_store, ids=every)) == len(by_words(vector_store, "word", ids=every)) == 2_500


# -- filters


def source(id_: str, version: int = 1, namespace: str = "default", **metadata: Any) -> Source:
    return Source(id_, f"file:///{id_}.md", namespace, id_.title(), metadata, version)


@pytest.fixture
def filtered(vector_store: VectorStore) -> VectorStore:
    """Three documents of four records, two of them tagged."""
    vectors = random_units(12, seed=3)
    records = [record(f"{s}{n}", "word", vectors[n], s) for s in ("old", "new", "untold") for n in range(4)]
    vector_store.upsert(A, {"chunk": records, "statement": records})
    vector_store.tag(A, [source("old", year=1990, lang="en"), source("new", year=2020, lang="de")])
    return vector_store


def found(store: VectorStore, filters: Filter | None, k: int = 100) -> set[str]:
    """The sources found under a filter, the same ones by vector, by words, and by ids."""
    every = tuple(f"{s}{n}" for s in ("old", "new", "untold") for n in range(4))
    requests = [
        SearchRequest("chunk", vector=EAST, k=k, filters=filters),
        SearchRequest("chunk", text="word", k=k, filters=filters),
        SearchRequest("statement", vector=EAST, ids=every, filters=filters),
        SearchRequest("statement", text="word", ids=every, filters=filters),
    ]
    answers = [{h.source_id for h in hits} for hits in store.search_many(A, requests)]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def test_a_filter_keeps_to_the_sources_that_pass(filtered: VectorStore) -> None:
    assert found(filtered, None) == {"old", "new", "untold"}
    assert found(filtered, parse_expression("year >= 2000")) == {"new"}
    assert found(filtered, parse_expression("lang in [en, de]")) == {"old", "new"}
    assert found(filtered, parse_expression("title == Old")) == {"old"}
    assert found(filtered, parse_expression("namespace == default")) == {"old", "new"}


def test_a_filter_is_applied_before_the_best_are_chosen(filtered: VectorStore) -> None:
    assert found(filtered, parse_expression("year < 2000"), k=4) == {"old"}
    assert len(by_vector(filtered, k=4, filters=parse_expression("year < 2000"))) == 4
    assert len(by_words(filtered, "word", k=3, filters=parse_expression("year < 2000"))) == 3


def test_a_filter_that_nothing_passes_finds_nothing(filtered: VectorStore) -> None:
    assert found(filtered, parse_expression("year > 3000")) == set()
    assert found(filtered, parse_expression("nothing == here")) == set()


def test_a_record_of_an_untagged_source_passes_no_filter(filtered: VectorStore) -> None:
    assert found(filtered, parse_expression("year != 1")) == {"old", "new"}
    assert found(filtered, parse_filter({"condition": "not", "filters": [{"key": "x", "value": 1}]})) == {"old", "new"}


def test_a_number_is_no_truth_value_also_in_one_call(filtered: VectorStore) -> None:
    filtered.tag(A, [source("old", flag=1), source("new", flag=True)])
    one, true = (SearchRequest("chunk", vector=EAST, filters=MetadataFilter("flag", "==", value)) for value in (1, True))
    answers = filtered.search_many(A, [one, true])
    assert [{h.source_id for h in hits} for hits in answers] == [{"old"}, {"new"}]


def test_a_source_passes_in_any_of_its_tagged_versions(filtered: VectorStore) -> None:
    filtered.tag(A, [source("old", version=2, year=2021)])
    assert found(filtered, parse_expression("year == 1990")) == {"old"}
    assert found(filtered, parse_expression("year >= 2020")) == {"old", "new"}
    filtered.untag(A, ["old", "unknown"], keep={"old": 2})
    assert found(filtered, parse_expression("year == 1990")) == set()
    assert found(filtered, parse_expression("year == 2021")) == {"old"}
    filtered.untag(A, ["old"])
    assert found(filtered, parse_expression("year > 0")) == {"new"}


def test_a_version_tagged_again_has_the_latest_tag(filtered: VectorStore) -> None:
    filtered.tag(A, [source("old", year=2020)])
    assert found(filtered, parse_expression("year == 2020")) == {"old", "new"}
    assert found(filtered, parse_expression("year == 1990")) == set()


def test_keys_and_values_with_quotes_and_dots_are_ordinary(filtered: VectorStore) -> None:
    filtered.tag(A, [source("old", **{'a."b"': "it's", "c.d": 1})])
    assert found(filtered, MetadataFilter('a."b"', "==", "it's")) == {"old"}
    assert found(filtered, MetadataFilter("c.d", "==", 1)) == {"old"}
    assert found(filtered, MetadataFilter("c", "==", 1)) == set()


# -- replacing and deleting


def test_a_replaced_record_is_found_by_its_new_words_and_vector_only(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("a", "old words", EAST, "s1", "c1"), record("b", "words", unit(1, 0.5))]})
    assert ids(by_vector(vector_store)) == ["a", "b"]
    vector_store.upsert(A, {"chunk": [record("a", "new words", NORTH, "s2", "c2")]})
    assert by_words(vector_store, "old") == []
    assert ids(by_words(vector_store, "new")) == ["a"]
    assert ids(by_vector(vector_store)) == ["b", "a"]
    assert by_vector(vector_store, NORTH, k=1) == [Hit("a", 1.0, "new words", "s2", "c2")]
    assert vector_store.ids(A, "chunk", "s1") == []
    assert vector_store.stats(A)["chunk"] == 2


def test_only_what_a_record_belongs_to_may_change(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("a", source="one")]})
    vector_store.tag(A, [source("one", n=1), source("two", n=2)])
    assert ids(by_vector(vector_store, filters=parse_expression("n == 1"))) == ["a"]
    vector_store.upsert(A, {"chunk": [record("a", source="two")]})
    assert by_vector(vector_store, filters=parse_expression("n == 1")) == []
    assert ids(by_vector(vector_store, filters=parse_expression("n == 2"))) == ["a"]


def test_the_last_of_equal_ids_in_one_call_counts(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("a", "first"), record("a", "second")]})
    assert by_words(vector_store, "first") == []
    assert ids(by_words(vector_store, "second")) == ["a"]


def test_writing_the_same_again_changes_nothing(vector_store: VectorStore) -> None:
    records = [record(f"r{n}", f"word{n}", v) for n, v in enumerate(random_units(20, seed=2))]
    vector_store.upsert(A, {"chunk": records, "entity": [name("e", "Name")]})
    before = dump_vectors(vector_store, A), by_vector(vector_store, k=20)
    vector_store.upsert(A, {"chunk": records, "entity": [name("e", "Name")]})
    assert (dump_vectors(vector_store, A), by_vector(vector_store, k=20)) == before


def test_what_is_deleted_is_not_found_any_more(vector_store: VectorStore) -> None:
    records = [record(f"r{n}", f"word{n} text", unit(1, n)) for n in range(5)]
    vector_store.upsert(A, {"chunk": records, "statement": records})
    assert len(by_vector(vector_store)) == 5
    vector_store.delete(A, {"chunk": ["r0", "r3", "unknown", "r0"], "topic": ["r1"]})
    assert ids(by_vector(vector_store)) == ids(by_words(vector_store, "text")) == ["r1", "r2", "r4"]
    assert by_words(vector_store, "word3") == by_vector(vector_store, ids=("r3",)) == []
    assert vector_store.stats(A) == {"chunk": 3, "statement": 5, "topic": 0, "entity": 0, "relation": 0}
    assert not vector_store.visible(A, {"chunk": ["r1", "r3"]})
    vector_store.upsert(A, {"chunk": [records[3]]})
    assert ids(by_vector(vector_store)) == ["r1", "r2", "r3", "r4"]


def test_what_is_visible_is_told_of_several_indexes_and_of_tags_at_once(vector_store: VectorStore) -> None:
    records = [record(f"r{n}", f"word{n}", unit(1, n)) for n in range(3)]
    vector_store.tag(A, [Source("s1", "file:///a.md", "default", "A", {}, 2)])
    vector_store.upsert(A, {"chunk": records, "statement": records[:2]})
    assert vector_store.visible(A, {"chunk": ["r0", "r2"], "statement": ["r0", "r1"]}, tagged={"s1": 2})
    assert not vector_store.visible(A, {"chunk": ["r0"], "statement": ["r2"]})
    assert not vector_store.visible(A, {"chunk": ["r0"]}, tagged={"s1": 3})
    assert not vector_store.visible(A, {}, tagged={"s2": 1})
    assert vector_store.visible(A, {})


def test_what_is_gone_takes_no_place_among_the_best(vector_store: VectorStore) -> None:
    near, far = [f"a{n}" for n in range(40)], ["z1", "z2"]
    vector_store.upsert(A, {"chunk": [record(f"calm{n}", "calm", unit(-1)) for n in range(100)]})
    vector_store.upsert(A, {"chunk": [record(i, "storm " * 3) for i in near] + [record(i, "storm", NORTH) for i in far]})
    vector_store.upsert(A, {"chunk": [record(i, "calm", unit(-1)) for i in near[:20]]})
    vector_store.delete(A, {"chunk": near[20:]})
    assert ids(by_words(vector_store, "storm", k=2)) == ids(by_vector(vector_store, k=2)) == far


def test_deleting_everything_leaves_nothing_and_the_index_can_be_filled_again(vector_store: VectorStore) -> None:
    empty = dump_vectors(vector_store, A)
    for round_ in range(3):
        records = [record(f"r{n}", f"round{round_} text", unit(1, n)) for n in range(3)]
        vector_store.upsert(A, {"chunk": records, "entity": [name("e", f"round{round_}")]})
        vector_store.tag(A, [source("s")])
        assert ids(by_vector(vector_store)) == ids(by_words(vector_store, f"round{round_}")) == ["r0", "r1", "r2"]
        assert by_words(vector_store, f"round{round_ - 1}") == []
        vector_store.delete(A, {"chunk": ["r0", "r1", "r2"], "entity": ["e"]})
        vector_store.untag(A, ["s"])
        assert by_vector(vector_store) == by_words(vector_store, "text") == []
        assert dump_vectors(vector_store, A) == empty
    assert not any(empty.values())


# -- reading


def test_a_record_comes_back_as_it_was_written(vector_store: VectorStore) -> None:
    vectors = random_units(3, seed=9)
    written = [record(f"r{n}", f"text {n}\n\x00 ü", vectors[n], f"s{n}", f"c{n}") for n in range(3)]
    vector_store.upsert(A, {"chunk": written, "entity": [name("e", "Name")]})
    read = vector_store.fetch(A, "chunk", ["r2", "nowhere", "r0", "r0"])
    assert set(read) == {"r0", "r2"}
    for n in (0, 2):
        vector = read[f"r{n}"].vector
        assert vector is not None and vector.dtype == np.float32 and np.array_equal(vector, vectors[n])
        assert replace(read[f"r{n}"], vector=None) == replace(written[n], vector=None)
    assert vector_store.fetch(A, "entity", ["e"]) == {"e": name("e", "Name")}


def test_ids_are_listed_by_source_or_all_sorted(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("b", source="s1"), record("a", source="s2"), record("c", source="s1")]})
    assert vector_store.ids(A, "chunk") == ["a", "b", "c"]
    assert vector_store.ids(A, "chunk", "s1") == ["b", "c"]
    assert vector_store.ids(A, "chunk", "nowhere") == vector_store.ids(A, "topic") == []


def test_ids_are_listed_page_by_page(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record(i, source=f"s{i}") for i in "edcba"], "entity": [name("z", "Name")]})
    vector_store.upsert(B, {"chunk": [record("bb")]})
    assert vector_store.ids(A, "chunk", limit=2) == ["a", "b"]
    assert vector_store.ids(A, "chunk", after="b", limit=2) == ["c", "d"]
    assert vector_store.ids(A, "chunk", after="bb") == ["c", "d", "e"]
    assert vector_store.ids(A, "chunk", "sd", after="a") == ["d"]
    assert vector_store.ids(A, "chunk", after="e", limit=2) == []


def test_sources_of_records_and_tags_are_listed_page_by_page(vector_store: VectorStore) -> None:
    assert vector_store.sources(A) == []
    vector_store.upsert(A, {"chunk": [record(f"{i}{n}", source=f"s{i}") for i in "dab" for n in range(3)]})
    vector_store.upsert(A, {"relation": [replace(record("c"), source_id="sc", vector=None)], "entity": [name("e", "Name")]})
    vector_store.upsert(B, {"chunk": [record("a", source="theirs")]})
    vector_store.tag(A, [source("tagged", year=1)])
    assert vector_store.sources(A) == ["sa", "sb", "sc", "sd", "tagged"]
    found, after = list[str](), ""
    while page := vector_store.sources(A, after=after, limit=2):
        assert page == sorted(set(page)) and page[0] > after and len(page) <= 2
        found, after = found + page, page[-1]
    assert found == ["sa", "sb", "sc", "sd", "tagged"]
    vector_store.untag(A, ["tagged"])
    vector_store.delete(A, {"chunk": [f"a{n}" for n in range(3)]})
    assert vector_store.sources(A) == ["sb", "sc", "sd"]


def test_the_dump_holds_every_record_and_tag_in_order(vector_store: VectorStore) -> None:
    vector_store.upsert(A, {"chunk": [record("b", "text", unit(1, 1)), record("a")], "entity": [name("e", "Name")]})
    vector_store.tag(A, [source("s", year=1)])
    dump = dump_vectors(vector_store, A)
    assert dump["chunk"] == [
        ("a", "s", "c", "some text", (1.0, *[0.0] * 7)),
        ("b", "s", "c", "text", (0.7071, 0.7071, *[0.0] * 6)),
    ]
    assert dump["entity"] == [("e", "", "", "Name", None)]
    assert len(dump["tag"]) == 1 and dump["tag"][0][0] == "s"


def test_an_empty_store_answers_every_question(vector_store: VectorStore) -> None:
    nobody = Tenant("nobody")
    requests = [
        SearchRequest("chunk", vector=EAST),
        SearchRequest("chunk", text="word"),
        SearchRequest("entity", text="word", prefix=True),
        SearchRequest("topic", vector=EAST, ids=("a",)),
        SearchRequest("topic", vector=EAST, filters=parse_expression("a == 1")),
    ]
    assert vector_store.search_many(nobody, requests) == [[]] * 5
    assert vector_store.search_many(nobody, []) == []
    assert vector_store.fetch(nobody, "chunk", ["a"]) == {}
    assert vector_store.ids(nobody, "chunk") == []
    assert vector_store.visible(nobody, {"chunk": []}) and not vector_store.visible(nobody, {"chunk": ["a"]})
    assert not any(vector_store.stats(nobody).values()) and not any(dump_vectors(vector_store, nobody).values())
    vector_store.delete(nobody, {"chunk": ["a"]})
    vector_store.untag(nobody, ["s"])
    vector_store.upsert(nobody, {})
    vector_store.upsert(nobody, {"chunk": []})


# -- tenants


def test_two_tenants_with_equal_ids_and_texts_share_nothing(open_vector_store: Opener) -> None:
    vector_store = open_vector_store()

    def worded() -> list[object]:
        hits = by_words(vector_store, "shared words")
        return ids(hits) if open_vector_store.back_end in WORDS_OF_ALL_TENANTS else list(hits)

    rows = [record(f"r{n}", "shared words", unit(1, n)) for n in range(4)]
    for tenant in (A, B):
        vector_store.upsert(tenant, {"chunk": rows, "entity": [name("e", "shared name")]})
        vector_store.tag(tenant, [source("s", owner=str(tenant))])
    vector_store.upsert(B, {"chunk": [record("r0", "shared words rewritten", NORTH)]})
    assert by_vector(vector_store, k=1) == [Hit("r0", 1.0, "shared words", "s", "c")]
    assert by_vector(vector_store, filters=parse_expression("owner == b")) == []
    assert by_words(vector_store, "rewritten") == []
    before = worded(), dump_vectors(vector_store, A)
    vector_store.upsert(B, {"chunk": [record(f"more{n}", "words words", unit(1, n)) for n in range(50)]})
    vector_store.delete(B, {"chunk": ["r1", "r2"], "entity": ["e"]})
    vector_store.untag(B, ["s"])
    assert (worded(), dump_vectors(vector_store, A)) == before
    assert ids(by_words(vector_store, "shared", index="entity")) == ["e"]
    assert len(by_vector(vector_store, k=100, filters=parse_expression("owner == a"))) == 4


# -- what is refused


@pytest.mark.parametrize("length", [0, 7, 9])
def test_a_vector_of_another_dimension_is_refused(vector_store: VectorStore, length: int) -> None:
    wrong = np.ones(length, np.float32)
    with pytest.raises(InvalidInput, match=f"{length}.*dimension 8"):
        vector_store.upsert(A, {"entity": [name("e", "Name")], "chunk": [record("a"), record("b", vector=wrong)]})
    assert not any(vector_store.stats(A).values())
    with pytest.raises(InvalidInput, match=f"{length}.*dimension 8"):
        by_vector(vector_store, wrong)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vector_that_is_not_finite_is_refused(vector_store: VectorStore, bad: float) -> None:
    wrong = EAST.copy()
    wrong[3] = bad
    with pytest.raises(InvalidInput, match="finite"):
        vector_store.upsert(A, {"chunk": [record("a", vector=wrong)]})
    with pytest.raises(InvalidInput, match="finite"):
        by_vector(vector_store, wrong)


def test_a_record_that_does_not_fit_its_index_is_refused(vector_store: VectorStore) -> None:
    for index, wrong, message in (
        ("chunk", record("a", vector=None), "missing"),
        ("entity", record("a"), "text only"),
        ("chunk", record(""), "id is empty"),
        ("chunks", record("a"), "use one of chunk, statement"),
    ):
        with pytest.raises(InvalidInput, match=message):
            vector_store.upsert(A, {index: [wrong]})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="'chunks'"):
        by_words(vector_store, "a", index="chunks")  # type: ignore[arg-type]


def test_a_store_of_another_embedding_is_refused_with_the_remedy(open_vector_store: Opener) -> None:
    first = open_vector_store("old-model-8", 8)
    first.upsert(A, {"chunk": [record("a")], "entity": [name("e", "Name")]})
    second = open_vector_store("new-model-4", 4)
    requests = [
        SearchRequest("chunk", vector=unit(1)[:4]),
        SearchRequest("chunk", text="text"),
        SearchRequest("topic", text="x"),
    ]
    for request in requests:
        with pytest.raises(
            InvalidInput, match=r"old-model-8.*new-model-4.*LEXIGRAPH_EMBEDDING_MODEL.*new (folder|collection)"
        ):
            second.search_many(A, [request])
    with pytest.raises(InvalidInput, match=r"old-model-8.*new-model-4"):
        second.upsert(A, {"chunk": [record("b", vector=unit(1)[:4])]})
    assert ids(by_words(second, "name", index="entity")) == ["e"]
    assert second.search_many(B, requests) == [[], [], []]
    second.delete(A, {"chunk": ["a"]})
    assert first.stats(A)["chunk"] == 0
    assert second.search_many(A, requests) == [[], [], []]


# -- others at work


def test_another_client_sees_every_change_at_once(open_vector_store: Opener) -> None:
    one, two = open_vector_store(), open_vector_store()
    expected: dict[str, FloatArray] = {}
    vectors = random_units(60, seed=4)
    rng = Random(4)
    for n in range(60):
        change = rng.choice(["add", "add", "replace", "delete"])
        chosen = rng.choice(sorted(expected)) if expected else "first"
        if change == "delete" and expected:
            one.delete(A, {"chunk": [chosen]})
            del expected[chosen]
        else:
            id_ = chosen if change == "replace" else f"r{n}"
            one.upsert(A, {"chunk": [record(id_, f"word{n}", vectors[n])]})
            expected[id_] = vectors[n]
            assert ids(by_words(two, f"word{n}")) == [id_]
        cosines = {i: round(float(v.astype(float) @ EAST.astype(float)), 6) + 0.0 for i, v in expected.items()}
        assert {h.id: h.score for h in by_vector(two, k=100)} == cosines
        if n % 10 == 0:
            assert by_vector(open_vector_store(), k=100) == by_vector(two, k=100)
        one, two = two, one


def test_threads_may_share_a_store(open_vector_store: Opener) -> None:
    vector_store, whole = open_vector_store(), open_vector_store.back_end in WRITES_AT_ONCE

    def work(n: int) -> None:
        write(vector_store, f"doc{n}", n)
        look(vector_store, ["doc0", "doc1", "doc2", "doc3"], whole=whole)
        write(vector_store, f"doc{n}", n + 10)
        look(vector_store, ["doc0", "doc1", "doc2", "doc3"], whole=whole)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert vector_store.stats(TENANT)["chunk"] == 4 * SIZE


@pytest.mark.slow
@pytest.mark.parametrize("open_vector_store", IN_PROCESSES, indirect=True)
def test_processes_that_write_and_read_at_once_lose_nothing_and_see_whole_writes(open_vector_store: Opener) -> None:
    documents, whole = ["alpha", "beta"], open_vector_store.back_end in WRITES_AT_ONCE
    workers = [start(open_vector_store, "write", document, 25) for document in documents]
    workers.append(start(open_vector_store, "look", ",".join(documents), 60))
    store = open_vector_store()
    for _ in range(60):
        look(store, documents, whole=whole)
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0]
    for worker in workers:
        worker.communicate(timeout=60)
    assert store.stats(TENANT)["chunk"] == store.stats(TENANT)["statement"] == 2 * SIZE
    word, vector = edition_of(25)
    found, worded = store.search_many(
        TENANT, [SearchRequest("chunk", vector=vector, k=100), SearchRequest("chunk", text=word, k=100)]
    )
    assert [h.score for h in found] == [1.0] * 2 * SIZE
    assert sorted(ids(found)) == sorted(ids(worded))


@pytest.mark.nightly
@pytest.mark.parametrize("open_vector_store", WRITES_AT_ONCE, indirect=True)
@pytest.mark.parametrize("seed", range(4))
def test_a_writer_killed_at_any_moment_leaves_what_it_had_written(open_vector_store: Opener, seed: int) -> None:
    rng = Random(seed)
    reader = open_vector_store()
    for _ in range(3):
        worker = start(open_vector_store, "write", "gamma", 10_000)
        assert worker.stdout is not None
        said = 0
        for _ in range(rng.randrange(1, 12)):
            said = int(worker.stdout.readline())
            look(reader, ["gamma"])
        worker.send_signal(signal.SIGKILL)
        said = max([said, *map(int, worker.stdout.read().split())])  # what was read ahead of the lines is among it
        worker.wait(60)
        for store in (reader, open_vector_store()):
            look(store, ["gamma"])
            hits = store.search_many(TENANT, [SearchRequest("chunk", text="gamma", k=100)])[0]
            assert len(hits) == SIZE
            assert int(hits[0].text.rpartition("edition")[2]) in (said, said + 1)
