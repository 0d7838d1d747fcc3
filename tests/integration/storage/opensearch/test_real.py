"""The stand-in says what a real OpenSearch says, to all that the store asks about text, tags and ids."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.model.filters import parse_expression, parse_filter
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.storage.opensearch.store import OpenSearchVectorStore
from lexigraph.storage.protocols import SearchRequest, VectorRecord, VectorStore
from tests.contract.vector_waiting import WaitingVectorStore
from tests.opensearch_server import opensearch_port  # noqa: F401  fixture
from tests.standins.aws_server import ENVIRONMENT, REGION
from tests.standins.opensearch import OpenSearchServer
from tests.vector_dump import dump_vectors

EXAMPLES = Path(__file__).parents[4] / "examples"
A, B = Tenant("a"), Tenant("b")
# up to version 2 OpenSearch multiplies BM25 by k1 + 1, from 3 on it does not; the order is the same
LEGACY = 2.2
ODD = [
    *("", "Résumé of Zürich", "Владимир и Москва", "a" * 4_000, "\x00 x", "version 3.14 of it", "hyphen-ated words don't"),
    *("universities University universal", "日本語 テスト", "ﬁle ß Straße Ærø", "it is as is"),
    *("Die Häuser wurden von der Stadt verkauft.", "灯台は一八八七年に建てられた。", "서울특별시의 등대", "ガスタンク"),
    *("हिन्दी में लिखी किताबें", "ประภาคารอยู่บนเกาะ", "كَتَبَ مُحَمَّدٌ عن المنارات", "Йодль и ёлка"),
]
FILTERS = ("n >= 2", "n != 3", "n in [1, 4]", "n < 3.5", "b == true", "title == T3", "f > 0.5", "w > xx", "none == 1")
pytestmark = pytest.mark.slow


def questions() -> list[str]:
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [text for row in map(json.loads, lines) for text in (row["question"], *row["paraphrases"])]


def paragraphs() -> list[str]:
    pages = [page.read_text(encoding="utf-8") for page in sorted((EXAMPLES / "corpus").glob("*.md"))]
    return [text for page in pages for text in page.split("\n\n") if text.strip()]


@pytest.fixture(scope="module")
def both(opensearch_port: int) -> Iterator[tuple[VectorStore, VectorStore]]:  # noqa: F811  fixture
    """The same in a real OpenSearch and in the stand-in, written once: what is deleted counts in Lucene for a while."""
    with pytest.MonkeyPatch.context() as environment, OpenSearchServer() as stand_in:
        for name, value in ENVIRONMENT.items():
            environment.setenv(name, value)
        connections = (f"aoss://http://127.0.0.1:{opensearch_port}?region={REGION}", stand_in.connection)
        stores = [WaitingVectorStore(OpenSearchVectorStore(c, label="words-8", dimension=8)) for c in connections]
        for store in stores:
            tags = ({"n": n, "w": "x" * (n * 400), "f": n / 3, "b": n % 2 == 0} for n in range(5))
            store.tag(A, [Source(f"s{n}", f"file:///{n}", "default", f"T{n}", tag) for n, tag in enumerate(tags)])
            texts = enumerate([*questions(), *paragraphs(), *ODD])
            rows = [VectorRecord(f"r{n:04}", text, f"s{n % 6}", "c") for n, text in texts]
            names = [VectorRecord(row.id, " ".join(row.text.split()[:3])) for row in rows]
            store.upsert(A, {"relation": rows, "entity": names})
        yield stores[0], stores[1]
        for store in stores:
            store.close()


def requests() -> list[SearchRequest]:
    some = tuple(f"r{n:04}" for n in range(0, 90, 3))
    asked = []
    for text in [*questions(), *paragraphs(), *ODD]:
        begun = [text[:4], " ".join(text.split()[:2])[:-1]]
        for index in ("relation", "entity"):
            asked.append(SearchRequest(index, text=text, k=20))
            asked.append(SearchRequest(index, text=text, ids=some))
            asked += [SearchRequest(index, text=beginning, k=10, prefix=True) for beginning in begun]
    filters = [parse_expression(f) for f in FILTERS]
    no = parse_filter({"condition": "not", "filters": [{"key": "n", "operator": ">", "value": 1}]})
    return asked + [SearchRequest("relation", text="the team of Neptune", k=30, filters=f) for f in (*filters, no)]


@pytest.mark.nightly
def test_the_stand_in_finds_and_scores_as_opensearch_does(both: tuple[VectorStore, VectorStore]) -> None:
    asked = requests()
    found = [store.search_many(A, asked) for store in both]
    assert sum(map(len, found[0])) > 5_000
    for request, real, ours in zip(asked, *found, strict=True):
        assert {h.id for h in real} == {h.id for h in ours}, request
        scores = {h.id: h.score for h in ours}
        assert all(h.score / LEGACY == pytest.approx(scores[h.id], abs=1e-4) for h in real), request


@pytest.mark.nightly
def test_a_real_collection_is_written_listed_retagged_and_emptied_alike(both: tuple[VectorStore, VectorStore]) -> None:
    for store in both:
        store.upsert(B, {"relation": [VectorRecord(f"x{n}", f"text {n}", "s1", "c") for n in range(30)]})
        store.upsert(B, {"relation": [VectorRecord("x1", "another text", "s2", "c")]})
        store.tag(B, [Source("s1", "file:///1", "default", "T", {"n": 1}, 1)])
        store.tag(B, [Source("s1", "file:///1", "default", "T", {"n": 2}, 2)])
        store.delete(B, {"relation": ["x3", "unknown"]})
    real, ours = both
    assert dump_vectors(real, B) == dump_vectors(ours, B) and len(dump_vectors(real, B)["relation"]) == 29
    assert real.stats(B) == ours.stats(B)
    assert real.ids(B, "relation", "s2") == ["x1"] and not real.visible(B, {"relation": ["x3"]})
    for store in both:
        every = store.ids(B, "relation")
        assert store.ids(B, "relation", after=every[9], limit=4) == every[10:14]
        pages = [store.sources(B, limit=1), store.sources(B, after="s1", limit=1), store.sources(B, after="s2")]
        assert (store.sources(B), pages) == (["s1", "s2"], [["s1"], ["s2"], []])
    for n, count in ((1, 28), (2, 28), (3, 0)):
        wanted = SearchRequest("relation", text="text", k=50, filters=parse_expression(f"n == {n}"))
        assert [len(store.search_many(B, [wanted])[0]) for store in both] == [count, count]
    for store in both:
        store.untag(B, ["s1"], keep={"s1": 2})
        gone = SearchRequest("relation", text="text", k=50, filters=parse_expression("n == 1"))
        assert store.search_many(B, [gone]) == [[]]
        store.delete(B, {"relation": store.ids(B, "relation")})
        store.untag(B, ["s1"])
        assert not any(dump_vectors(store, B).values())
