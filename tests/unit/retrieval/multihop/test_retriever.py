"""Multi-hop search over real embedded stores: hops, scores, row ids, and what happens when a step fails."""

import logging
import math
import sqlite3
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion.files import text_name
from lexigraph.model.errors import InvalidInput, ModelUnavailable, NotFound, StoreUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.multihop import MultihopResults
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.multihop.hops import MultihopArgs, finite
from lexigraph.retrieval.retrievers import MultihopRetriever
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop, open_laptop, write_pages
from tests.models import WordEmbedder

ONE = "document_upload_3f9a1c2e"  # a namespace of one document
APPEALS = """Appeals must be submitted in writing within 14 days of the decision that they are against.

## Review

The review board convenes on Mondays. Marta Quill has led the board for many years, it is said.

It hears both sides before anything at all is decided, and it keeps the minutes of what was said for ten years.

- Bring a passport, a letter and the receipt of the fee, please.

## Decisions

Decisions of the board are issued within 30 days, signed by hand, and sent to both sides by registered letter.

Final rulings are binding unless a court of law says otherwise within the year that follows the day of the ruling.
"""
TOWN = {
    "Parking": "Parking appeals are heard by the parking office of the town, which charges a fee for every one of them.",
    "Marta Quill": "Marta Quill was born in Ghent, plays the lute, and has climbed each of the Seven Hills at least once.",
    "Ghent": "Ghent lies where the Lys meets the Scheldt. Its canals freeze once in a decade, and then everybody skates.",
}
QUESTION = "How are appeals submitted in writing?"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("multihop")
    opened = open_laptop(folder / "data")
    index = laptop(folder / "data", opened, chunk_tokens=32, chunk_overlap=0)
    for name, namespace, pages in (("one", ONE, {"Appeals": APPEALS}), ("many", "town", TOWN)):
        assert not index.ingest([write_pages(folder / name, pages)], namespace=namespace).failures
    yield opened
    opened.close()


def ask(stores: Stores, text: str = QUESTION, namespace: str = ONE, embedder: Any = None, **args: Any) -> MultihopResults:
    retriever = MultihopRetriever(stores.graph, stores.vectors, embedder=embedder or WordEmbedder(), **args)
    return retriever.query(DEFAULT_TENANT, Question.of(text), namespace, stores.registry)


# ---------------------------------------------------------------- the reply


@pytest.mark.requirement("H-02", "H-18", "H-19", "H-20", "H-21", "H-23")
def test_the_reply_has_the_fields_of_the_reference_page(stores: Stores) -> None:
    reply = ask(stores).to_dict()

    assert (reply["query"], reply["namespace"]) == (QUESTION, ONE)
    assert [sorted(hop) for hop in reply["hops"]] == [["docs", "hop"]] * len(reply["hops"])
    assert [hop["hop"] for hop in reply["hops"]] == list(range(len(reply["hops"])))
    for hop in reply["hops"]:
        assert 0 < len(hop["docs"]) <= 3
        assert all(0 < len(text) <= 200 for text in hop["docs"])
    for result in reply["final_results"]:
        assert list(result)[:5] == ["row_id", "value", "role", "parent", "text"]
        assert result["text"] == result["value"]
        assert 0 < result["score"] <= 1
    assert reply["final_results"][0]["value"].startswith("Appeals must be submitted in writing within 14 days")
    assert all(sorted(edge) == ["doc_idx", "hop"] for edge in reply["symbolic_edges"])


@pytest.mark.requirement("H-28", "H-29")
def test_a_result_is_the_chunk_as_it_stands_in_its_document_with_role_and_parent(stores: Stores) -> None:
    (record,) = stores.registry.documents(DEFAULT_TENANT, namespace=ONE)
    text = stores.documents.get(DEFAULT_TENANT, record.source_id, text_name(record.version)).decode()
    placed = stores.graph.chunk_ids(DEFAULT_TENANT, record.source_id)

    results = ask(stores, final_top_k=100).final_results

    assert {r.role for r in results} == {"paragraph", "list"}
    for result in results:
        assert result.value == text[result.start : result.end]
        assert placed[result.chunk_id].role == result.role
    heads = {r.row_id: r.parent for r in results}
    assert heads == {0: "chunk_0", 1: "chunk_1", 2: "chunk_1", 3: "chunk_1", 4: "chunk_4", 5: "chunk_4"}


def test_row_ids_are_sequence_numbers_in_a_namespace_of_one_document(stores: Stores) -> None:
    (record,) = stores.registry.documents(DEFAULT_TENANT, namespace=ONE)
    seqs = {i: p.seq for i, p in stores.graph.chunk_ids(DEFAULT_TENANT, record.source_id).items()}

    assert {r.chunk_id: r.row_id for r in ask(stores, final_top_k=100).final_results} == seqs


def test_row_ids_of_several_documents_never_meet_and_stay_the_same(stores: Stores) -> None:
    first = ask(stores, namespace="town", final_top_k=100)
    again = ask(stores, "Who skates in Ghent?", namespace="town", final_top_k=100)

    rows = {r.chunk_id: r.row_id for r in first.final_results}
    assert len(set(rows.values())) == len(rows) == 3
    assert {row // 1_000_000 for row in rows.values()} == {0, 1, 2}
    assert {r.chunk_id: r.row_id for r in again.final_results} == rows


@pytest.mark.requirement("H-04", "H-24", "H-25")
def test_a_namespace_is_all_that_is_searched_and_an_unknown_one_is_not_found(stores: Stores) -> None:
    inside = ask(stores, "Where was Marta Quill born?", namespace=ONE, final_top_k=100)
    assert {r.title for r in inside.final_results} == {"Appeals"}
    assert {r.title for r in ask(stores, QUESTION, namespace="town", final_top_k=100).final_results} == set(TOWN)
    with pytest.raises(NotFound, match=r"namespace 'document_upload_none' does not exist: ingest"):
        ask(stores, namespace="document_upload_none")
    with pytest.raises(NotFound):
        retriever = MultihopRetriever(stores.graph, stores.vectors, embedder=WordEmbedder())
        retriever.query(Tenant("other"), Question.of(QUESTION), ONE, stores.registry)


def test_metadata_filters_hold_within_the_namespace(stores: Stores) -> None:
    retriever = MultihopRetriever(stores.graph, stores.vectors, embedder=WordEmbedder(), final_top_k=100)
    question = Question.of(QUESTION, MetadataFilter("title", "==", "Ghent"))

    found = retriever.query(DEFAULT_TENANT, question, "town", stores.registry)
    nothing = retriever.query(DEFAULT_TENANT, question, ONE, stores.registry)

    assert {r.title for r in found.final_results} == {"Ghent"}
    assert (nothing.final_results, nothing.hops, nothing.symbolic_edges) == ((), (), ())


# ---------------------------------------------------------------- hops and scores


@pytest.mark.requirement("H-07", "H-08", "H-09")
def test_hops_candidates_and_results_are_as_many_as_asked_for(stores: Stores) -> None:
    assert len(ask(stores, num_hops=1).hops) == 1
    assert [len(hop.docs) for hop in ask(stores, num_hops=3, top_k_per_hop=1).hops] == [1, 1, 1]
    assert len(ask(stores, num_hops=2, top_k_per_hop=2, final_top_k=3).final_results) == 3
    walked = ask(stores, num_hops=8, top_k_per_hop=2, final_top_k=100)
    assert [hop.hop for hop in walked.hops] == [0, 1, 2], "six chunks, two a hop: a hop without any ends the walk"
    assert len(walked.final_results) == 6


@pytest.mark.requirement("H-11", "H-12")
def test_the_next_hop_starts_from_the_best_share_of_the_one_before(stores: Stores) -> None:
    """Chunks 4 and 5 stand under one heading: what is a seed lifts the other, and a hop's best alone is no less a seed."""
    args: dict[str, Any] = {"top_k_per_hop": 2, "num_hops": 3, "final_top_k": 100}

    def reached(ratio: float) -> dict[int, tuple[int, str]]:
        found = ask(stores, "board minutes rulings court", context_expansion_ratio=ratio, **args)
        return {r.row_id: (r.hop, r.reason) for r in found.final_results}

    best, both = reached(0.1), reached(1.0)
    assert (best[5], best[4]) == ((0, "semantic"), (1, "parent"))
    assert (both[5], both[4]) == ((1, "parent"), (1, "parent"))


@pytest.mark.requirement("H-13", "H-23")
def test_a_hop_follows_edges_through_the_document_and_says_which(stores: Stores) -> None:
    found = ask(stores, "passport letter receipt fee", top_k_per_hop=2, num_hops=2, final_top_k=100)

    assert [(r.hop, r.row_id, r.reason) for r in found.final_results] == [
        (0, 3, "semantic"),
        (1, 1, "parent"),
        (1, 4, "name"),
        (1, 5, "name"),
    ]
    # hop 0 reached the list and a paragraph, whose role is looked for; hop 1 two more, by edges
    assert [(e.hop, e.doc_idx) for e in found.symbolic_edges] == [(0, 4), (1, 1), (1, 5)]


@pytest.mark.requirement("H-13")
def test_a_name_in_common_leads_to_another_document(stores: Stores) -> None:
    args: dict[str, Any] = {"namespace": "town", "top_k_per_hop": 1, "num_hops": 2}

    found = ask(stores, "skates canals freeze decade", **args)

    assert [(r.title, r.reason) for r in found.final_results] == [("Ghent", "semantic"), ("Marta Quill", "entity")]


@pytest.mark.requirement("H-16")
def test_a_score_is_relevance_times_decay_for_every_hop_and_the_best_over_hops_is_kept(stores: Stores) -> None:
    args = {"top_k_per_hop": 2, "num_hops": 3, "final_top_k": 100}
    plain = {r.row_id: r for r in ask(stores, **args, hop_decay=1.0).final_results}
    half = {r.row_id: r for r in ask(stores, **args, hop_decay=0.5).final_results}

    assert plain.keys() == half.keys()
    assert {0, 1, 2} == {r.hop for r in half.values()}
    for row, result in half.items():
        if result.hop == plain[row].hop:
            assert result.score == pytest.approx(plain[row].score * 0.5**result.hop, abs=1e-6)
        else:
            assert result.score > plain[row].score * 0.5 ** plain[row].hop, "an earlier hop gives more"


@pytest.mark.requirement("H-16")
@settings(max_examples=40, derandomize=True, database=None)
@given(
    words=st.lists(st.sampled_from(sorted({*APPEALS.lower().split()})), min_size=1, max_size=6),
    hops=st.integers(1, 8),
    top_k=st.integers(1, 4),
    ratio=st.floats(0.01, 1.0),
    symbolic=st.booleans(),
)
def test_without_decay_the_ranking_is_that_of_plain_relevance(
    stores: Stores, words: list[str], hops: int, top_k: int, ratio: float, symbolic: bool
) -> None:
    """What counts is relevance alone, to the question of whichever hop: none loses by being measured again."""
    text = "who " + " ".join(words)
    args = {"top_k_per_hop": top_k, "context_expansion_ratio": ratio, "use_symbolic": symbolic, "final_top_k": 100}
    alone = {r.row_id: r.score for r in ask(stores, text, num_hops=1, **args).final_results}

    reply = ask(stores, text, hop_decay=1.0, num_hops=hops, **args)
    retriever = MultihopRetriever(
        stores.graph, stores.vectors, embedder=WordEmbedder(), hop_decay=1.0, num_hops=hops, **args
    )
    statements = retriever.retrieve(DEFAULT_TENANT, Question.of(text, MetadataFilter("namespace", "==", ONE))).statements

    results = reply.final_results
    assert [(-r.score, r.row_id) for r in results] == sorted((-r.score, r.row_id) for r in results)
    assert len({r.row_id for r in results}) == len(results)
    assert all(r.score >= alone.get(r.row_id, 0.0) for r in results)
    assert not any("decay" in statement.parts for statement in statements)


def cosine(stores: Stores, text: str, chunk_id: str) -> float:
    record = stores.vectors.fetch(DEFAULT_TENANT, "chunk", [chunk_id])[chunk_id]
    assert record.vector is not None
    return float(WordEmbedder().embed_questions([text])[0] @ record.vector)


def test_relevance_is_three_fifths_likeness_and_two_fifths_the_rare_words_answered(stores: Stores) -> None:
    """Six chunks, two words: "passport" stands in one of them, "board" in two, and weighs less."""
    text = "passport board"
    rare, frequent = (math.log(1 + (6 - df + 0.5) / (df + 0.5)) for df in (1, 2))

    results = ask(stores, text, num_hops=1, use_symbolic=False, final_top_k=100).final_results

    assert len(results) == 6
    for result in results:
        answered = rare * ("passport" in result.value) + frequent * ("board" in result.value)
        likeness = (1 + cosine(stores, text, result.chunk_id)) / 2
        expected = 0.6 * likeness + 0.4 * answered / (rare + frequent)
        assert result.score == pytest.approx(expected, abs=1e-5)


@pytest.mark.requirement("H-05", "H-06", "H-14")
def test_chunks_of_the_role_looked_for_count_more_and_are_symbolic_at_hop_0(stores: Stores) -> None:
    def scores(**args: Any) -> dict[int, float]:
        return {r.row_id: r.score for r in ask(stores, num_hops=1, final_top_k=100, **args).final_results}

    plain, default, lists = scores(use_symbolic=False), scores(), scores(role="list")
    assert default == scores(role="paragraph") == scores(role="sentence")
    assert default[3] == pytest.approx(0.95 * plain[3], abs=2e-6), "the list"
    assert lists[3] == pytest.approx(0.95 * plain[3] + 0.05, abs=2e-6)
    assert [e.doc_idx for e in ask(stores, num_hops=1, role="list").symbolic_edges] == [3]
    assert ask(stores, num_hops=1, role="table").symbolic_edges == ()
    assert ask(stores, use_symbolic=False).symbolic_edges == ()


@pytest.mark.requirement("H-22")
@pytest.mark.parametrize(
    ("score", "shown"), [(math.nan, 0.0), (math.inf, 0.0), (-math.inf, 0.0), (-0.1, 0.0), (1.0000001, 1.0), (0.5, 0.5)]
)
def test_scores_that_are_no_finite_numbers_are_0(score: float, shown: float) -> None:
    assert finite(score) == shown


# ---------------------------------------------------------------- budget and failures


@pytest.mark.requirement("H-17")
@pytest.mark.parametrize("hops", [1, 2, 3, 8])
def test_a_question_makes_one_vector_and_one_graph_call_a_hop_and_reads_texts_once(stores: Stores, hops: int) -> None:
    found = ask(stores, num_hops=hops, top_k_per_hop=1)

    walked = min(hops, 6)
    assert len(found.hops) == walked
    assert found.calls["vector"] <= hops
    assert found.calls["graph"] <= hops
    assert (found.calls["text"], found.calls["registry"]) == (1, 2)


@pytest.mark.requirement("H-17")
def test_texts_are_fetched_once_with_the_final_row_ids(stores: Stores) -> None:
    """The one call for texts asks for those shown and no others, however many chunks the hops went through."""
    asked: list[tuple[str, ...]] = []

    class Watched(type(stores.vectors)):  # type: ignore[misc]  # the store's own class, with its calls noted
        def fetch(self, tenant: Tenant, index: Any, ids: Any) -> Any:
            asked.append(tuple(ids))
            return super().fetch(tenant, index, ids)

    folder = stores.vectors._database.path.parent  # type: ignore[attr-defined]
    watched = Watched(f"sqlite:///{folder}", label=stores.vectors.label, dimension=stores.vectors.dimension)
    try:
        found = ask(replace(stores, vectors=watched), top_k_per_hop=4, final_top_k=1, num_hops=1)
    finally:
        watched.close()
    assert [len(ids) for ids in asked] == [3], "one result, which is among the three texts of the hop"
    assert found.final_results[0].chunk_id in asked[0]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Path, Stores]]:
    opened = open_laptop(tmp_path / "data")
    index = laptop(tmp_path / "data", opened, chunk_tokens=32, chunk_overlap=0)
    assert not index.ingest([write_pages(tmp_path / "one", {"Appeals": APPEALS})], namespace=ONE).failures
    yield tmp_path / "data", opened
    opened.close()


@pytest.mark.requirement("H-15")
def test_a_failing_symbolic_step_is_skipped_logged_counted_and_told(
    own: tuple[Path, Stores], caplog: pytest.LogCaptureFixture
) -> None:
    folder, stores = own
    before = ask(stores, top_k_per_hop=2, final_top_k=100)
    with sqlite3.connect(folder / "graph.sqlite") as connection:
        connection.execute("DROP TABLE topic_in")  # what symbolic edges need, and places do not
    connection.close()

    with caplog.at_level(logging.WARNING, "lexigraph.retrieval.multihop.hops"):
        after = ask(stores, top_k_per_hop=2, final_top_k=100)

    assert {r.row_id for r in after.final_results} == {r.row_id for r in before.final_results}
    assert {r.reason for r in after.final_results} == {"semantic"}
    assert (before.symbolic_failures, after.symbolic_failures) == (0, 2)
    assert [w.type for w in after.warnings] == ["symbolic_failed"] * 2
    assert len([r for r in caplog.records if "symbolic step of hop" in r.message]) == 2
    assert not any(word in caplog.text for word in ("Appeals must", QUESTION))


def test_a_lost_graph_is_an_error_since_it_decides_what_readers_see(own: tuple[Path, Stores]) -> None:
    folder, stores = own
    with sqlite3.connect(folder / "graph.sqlite") as connection:
        connection.execute("DROP TABLE placed")
    connection.close()

    for symbolic in (True, False):
        with pytest.raises(StoreUnavailable):
            ask(stores, use_symbolic=symbolic)


def test_a_chunk_that_the_graph_no_longer_shows_is_not_returned(own: tuple[Path, Stores]) -> None:
    _, stores = own
    (record,) = stores.registry.documents(DEFAULT_TENANT, namespace=ONE)
    stores.graph.withdraw(DEFAULT_TENANT, [record.source_id])

    for symbolic in (True, False):
        found = ask(stores, use_symbolic=symbolic)
        assert (found.final_results, found.hops) == ((), ())


def test_two_questions_get_the_same_answer_whatever_was_asked_between(stores: Stores) -> None:
    first = ask(stores, namespace="town")
    ask(stores, "Who skates?", namespace="town")
    second = ask(stores, namespace="town")

    assert replace(first, timings={}) == replace(second, timings={})


class SilentEmbedder(WordEmbedder):
    """An embedding model that cannot be reached."""

    def embed_questions(self, texts: Any) -> FloatArray:
        raise ModelUnavailable("connection refused")


def test_without_an_embedding_the_search_goes_by_words_and_symbolic_edges(stores: Stores) -> None:
    found = ask(stores, "appeals submitted", embedder=SilentEmbedder(), top_k_per_hop=1, final_top_k=100)

    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert found.final_results[0].row_id == 0
    assert {r.reason for r in found.final_results[1:]} <= {"next", "previous", "parent", "entity", "topic"}


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("num_hops", [0, 9, 2.5, True, "3", None]),
        ("top_k_per_hop", [0, 201]),
        ("final_top_k", [0, 101]),
        ("hop_decay", [0, 0.0, 1.01, -1, math.nan, "1", None]),
        ("context_expansion_ratio", [0, 1.5, -0.1]),
        ("use_symbolic", [None, 1, "true"]),
        ("role", ["", " ", "nope", "x" * 65, 3]),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_name_of_the_field(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InvalidInput, match=name):
            MultihopArgs.of({name: value})


@pytest.mark.requirement("H-05", "H-06", "H-07", "H-08", "H-09", "H-10", "H-11")
def test_defaults_are_those_of_the_reference_page() -> None:
    defaults = {f.name: f.default for f in fields(MultihopArgs)}
    assert defaults == {
        "role": None,
        "use_symbolic": True,
        "num_hops": 3,
        "top_k_per_hop": 15,
        "final_top_k": 10,
        "hop_decay": 0.85,
        "context_expansion_ratio": 0.5,
    }
    MultihopArgs.of({"num_hops": 8, "top_k_per_hop": 200, "final_top_k": 100, "hop_decay": 1, "context_expansion_ratio": 1})


def test_as_a_retriever_it_returns_the_statements_of_the_chunks_reached(stores: Stores) -> None:
    retriever = make_retriever(
        "multihop", stores.graph, stores.vectors, embedder=WordEmbedder(), top_k_per_hop=2, final_top_k=3, num_hops=2
    )
    question = Question.of(QUESTION, MetadataFilter("namespace", "==", ONE))

    found = retriever.retrieve(DEFAULT_TENANT, question)

    reached = ask(stores, top_k_per_hop=2, final_top_k=3, num_hops=2).final_results
    assert {s.chunk_id: s.reason for s in found.statements} == {r.chunk_id: r.reason for r in reached}
    assert found.statements[0].text.startswith("Appeals must be submitted")
    best = {r.chunk_id: r.score for r in reached}
    for statement in found.statements:
        assert statement.score <= best[statement.chunk_id] + 1e-6
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-5)
    assert found.calls == {"vector": 2, "graph": 3}
