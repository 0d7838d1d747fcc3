"""Several articles as one context: what is found, in which order, and what is refused."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, LexigraphError, ModelUnavailable, StoreUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.multidoc.sections import PRESETS, extract_facts, sentences
from lexigraph.retrieval.retrievers import CachedSynthesizer, ContextCache, MultiDocSynthesizer
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop, open_laptop
from tests.models import WordEmbedder

QUANTUM = """---
category: Physics
---
# Quantum mechanics

Quantum mechanics is a theory of physics. It describes atoms. What is an atom, then?

## Mathematical formulation

In quantum mechanics a state is a vector. The theory of physics that came before knew no states. Energy is conserved.

## History

Max Planck began quantum mechanics in 1900. Physics was never the same.
"""
ENTANGLED = """# Quantum entanglement

Quantum entanglement is a phenomenon of quantum mechanics. Energy is  conserved.

## Experiments

Bell tests of quantum entanglement have been made since 1972. See also: Bell.
"""
BREAD = "# Bread\n\nBread is baked from flour, water and salt. Energy is conserved!\n"
PAGES = {"quantum.md": QUANTUM, "entangled.md": ENTANGLED, "bread.md": BREAD}
QUESTION = "What is quantum mechanics?"


def fill(folder: Path, pages: Mapping[str, str], opened: Stores, **options: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert not laptop(folder / "data", opened, chunk_tokens=32, chunk_overlap=8).ingest([folder], **options).failures


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("multidoc")
    opened = open_laptop(folder / "data")
    fill(folder / "pages", PAGES, opened)
    yield opened
    opened.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Stores]:
    opened = open_laptop(tmp_path / "data")
    fill(tmp_path / "pages", PAGES, opened)
    yield opened
    opened.close()


def context(stores: Stores, question: str = QUESTION, **args: Any) -> dict[str, Any]:
    return MultiDocSynthesizer(stores, **{"min_relevance": 0.0, **args}).retrieve(question, WordEmbedder())


# ---------------------------------------------------------------- what is found


@pytest.mark.requirement("W-01", "W-06", "W-09", "W-10", "W-11", "W-12")
def test_a_context_has_articles_sections_sources_and_facts(stores: Stores) -> None:
    found = context(stores)

    assert found["sources"] == [article["title"] for article in found["articles"]]
    assert set(found["sources"]) == {"Quantum mechanics", "Quantum entanglement", "Bread"}
    quantum = next(a for a in found["articles"] if a["title"] == "Quantum mechanics")
    (text,) = (s["content"] for s in found["sections"] if s["title"] == "History")
    assert text == "Max Planck began quantum mechanics in 1900. Physics was never the same."
    assert quantum["category"] == "Physics"
    assert next(a for a in found["articles"] if a["title"] == "Bread")["category"] == ""
    assert {s["title"] for s in found["sections"] if s["article_title"] == "Quantum mechanics"} == {
        "Quantum mechanics",
        "Mathematical formulation",
        "History",
    }
    assert "Quantum mechanics is a theory of physics." in found["facts"]
    for section in found["sections"]:
        assert section["section_id"].startswith("chunk:")
        assert 0 <= section["relevance_score"] <= 1


@pytest.mark.requirement("W-09")
def test_the_word_count_is_that_of_the_whole_document(stores: Stores) -> None:
    found = context(stores, max_sections=1)

    shown = sum(len(s["content"].split()) for s in found["sections"] if s["article_title"] == "Quantum mechanics")
    whole = len(QUANTUM.partition("---\n# ")[2].replace("## ", "").split())
    counted = {a["title"]: a["word_count"] for a in found["articles"]}
    assert counted["Quantum mechanics"] == whole > shown


@pytest.mark.requirement("W-07", "W-11", "W-14")
def test_articles_come_by_the_sum_of_their_sections_and_sections_best_first_within(stores: Stores) -> None:
    found = context(stores, max_sections=10)

    relevances = [a["relevance"] for a in found["articles"]]
    assert relevances == sorted(relevances, reverse=True)
    assert found["sources"][0] == "Quantum mechanics"
    for article in found["articles"]:
        of_article = [s["relevance_score"] for s in found["sections"] if s["article_title"] == article["title"]]
        assert of_article == sorted(of_article, reverse=True)
        assert sum(of_article) == pytest.approx(article["relevance"], abs=1e-5)
    assert list(dict.fromkeys(s["article_title"] for s in found["sections"])) == found["sources"]


@pytest.mark.requirement("W-04", "W-16")
@pytest.mark.parametrize("least", [0.0, 0.5, 0.6, 0.7, 0.8, 1.0])
def test_every_section_is_as_relevant_as_asked_for_by_half_of_one_plus_cosine(stores: Stores, least: float) -> None:
    vectors = stores.vectors.fetch(DEFAULT_TENANT, "chunk", stores.vectors.ids(DEFAULT_TENANT, "chunk"))
    asked = WordEmbedder().embed_questions([QUESTION])[0]
    relevance = {i: (1 + float(asked @ r.vector)) / 2 for i, r in vectors.items() if r.vector is not None}

    found = context(stores, min_relevance=least, max_sections=10)

    assert {s["section_id"] for s in found["sections"]} == {i for i, value in relevance.items() if value >= least}
    for section in found["sections"]:
        assert section["relevance_score"] == pytest.approx(relevance[section["section_id"]], abs=2e-6)


@pytest.mark.requirement("W-02", "W-03", "W-17", "W-24")
def test_no_more_articles_and_sections_are_returned_than_asked_for(stores: Stores) -> None:
    for docs in (1, 2, 10):
        for most in (1, 2, 10):
            found = context(stores, num_docs=docs, max_sections=most)
            assert len(found["articles"]) == len(found["sources"]) == min(docs, 3)
            per_article = [sum(s["article_title"] == title for s in found["sections"]) for title in found["sources"]]
            assert max(per_article) <= most
    nothing = context(stores, "Zxqv?", min_relevance=1.0)
    assert {name: nothing[name] for name in ("articles", "sections", "sources", "facts")} == {
        name: [] for name in ("articles", "sections", "sources", "facts")
    }


@pytest.mark.requirement("W-04", "W-19", "W-24")
@pytest.mark.parametrize(
    ("question", "args", "passing"),
    [
        ("Who baked the bread?", {}, "comprehensive"),
        ("Who began quantum mechanics?", {"preset": "factual"}, "explanatory"),
        ("What is quantum mechanics?", {"preset": "specific"}, "factual"),
        ("What is quantum mechanics?", {"min_relevance": 1.0}, "factual"),
    ],
)
def test_where_all_is_left_out_the_best_relevance_there_was_is_told_and_what_to_set(
    stores: Stores, question: str, args: dict[str, Any], passing: str
) -> None:
    left_out = MultiDocSynthesizer(stores, **args).retrieve(question, WordEmbedder())

    (warning,) = left_out["warnings"]
    assert (left_out["articles"], left_out["sections"], warning["type"]) == ([], [], "below_min_relevance")
    said = re.search(
        r"the best has ([\d.]+) .* Set min_relevance to ([\d.]+) or less, or use preset=(\w+)", warning["detail"]
    )
    assert said is not None
    assert float(said[1]) == pytest.approx(left_out["best_relevance"], abs=0.0005)
    assert said[3] == passing
    for remedy in ({"min_relevance": float(said[2])}, {"preset": said[3]}):
        followed = MultiDocSynthesizer(stores, **remedy).retrieve(question, WordEmbedder())
        assert followed["sections"][0]["relevance_score"] == followed["best_relevance"] == left_out["best_relevance"]
        assert followed["warnings"] == []


def test_no_preset_is_named_that_would_leave_all_out_too(stores: Stores) -> None:
    (warning,) = context(stores, "Zxqv?", min_relevance=0.9)["warnings"]
    assert warning["detail"].endswith(" or less.")


def test_where_there_is_nothing_at_all_nothing_was_left_out(stores: Stores) -> None:
    nowhere = MetadataFilter("title", "==", "Nowhere")
    for args, told in (({"tenant": "other"}, []), ({"filters": nowhere}, ["filter_passes_nothing"])):
        nothing = context(stores, min_relevance=0.9, **args)
        assert (nothing["sections"], nothing["best_relevance"]) == ([], None)
        assert [warning["type"] for warning in nothing["warnings"]] == told


def test_articles_of_one_title_are_kept_apart(own: Stores, tmp_path: Path) -> None:
    fill(tmp_path / "more", {"other.md": "# Bread\n\nBread is quantum mechanics to me."}, own)
    fill(tmp_path / "more", {"other.md": "# Bread\n\nBread is quantum mechanics to me."}, own, namespace="second")

    found = context(own)

    assert len(found["sources"]) == len(set(found["sources"])) == 5
    assert sum(title.startswith("Bread (") for title in found["sources"]) == 3


def test_filters_and_tenant_say_what_is_read(stores: Stores) -> None:
    physics = context(stores, filters=MetadataFilter("category", "==", "Physics"))
    assert physics["sources"] == ["Quantum mechanics"]
    assert context(stores, filters={"key": "title", "operator": "!=", "value": "Bread"})["sources"] == [
        "Quantum mechanics",
        "Quantum entanglement",
    ]
    assert context(stores, tenant="other")["articles"] == []


def test_what_the_graph_no_longer_shows_is_not_returned(own: Stores) -> None:
    bread = next(r for r in own.registry.documents(DEFAULT_TENANT) if r.title == "Bread")
    own.graph.withdraw(DEFAULT_TENANT, [bread.source_id])

    assert "Bread" not in context(own)["sources"]


@pytest.mark.requirement("W-07")
def test_a_question_takes_one_vector_one_graph_and_one_registry_call(stores: Stores) -> None:
    found = MultiDocSynthesizer(stores, 10, 10, 0.0).find(QUESTION, WordEmbedder())

    assert found.calls == {"vector": 1, "graph": 1, "registry": 1}
    assert len(found.sections) == 6


# ---------------------------------------------------------------- facts


@pytest.mark.requirement("W-15")
def test_facts_are_the_sentences_that_state_something_in_the_order_of_the_sections(stores: Stores) -> None:
    found = context(stores, max_sections=10)

    assert "What is an atom, then?" not in found["facts"]
    assert not any(fact.startswith("See also") for fact in found["facts"])
    assert "It describes atoms." in found["facts"]
    assert len({fact.casefold() for fact in found["facts"]}) == len(found["facts"])
    text = [s["content"] for s in found["sections"]]
    place = [
        next(at for at, content in enumerate(text) if " ".join(fact.split()) in " ".join(content.split()))
        for fact in found["facts"]
    ]
    assert place == sorted(place)


@pytest.mark.requirement("W-26")
def test_a_fact_tells_how_many_sections_state_it(stores: Stores) -> None:
    found = context(stores, max_sections=10)

    support = dict(zip(found["facts"], found["fact_support"], strict=True))
    assert {fact: n for fact, n in support.items() if n > 1} == {"Energy is conserved.": 3}


@pytest.mark.requirement("W-15")
def test_the_least_length_of_a_fact_can_be_set(stores: Stores) -> None:
    assert "It describes atoms." not in context(stores, min_fact_chars=20)["facts"]
    sections = [{"content": "Fact one. Fact two. Is this a fact?"}, {"content": "So. No! Fact one."}]
    assert extract_facts(sections, 9) == {"Fact one.": 2, "Fact two.": 1}
    assert list(extract_facts(sections, 0)) == ["Fact one.", "Fact two.", "So.", "No!"]
    assert extract_facts(sections, 10) == {}


def test_a_sentence_in_the_overlap_of_two_sections_is_stated_once() -> None:
    overlap = [
        {"content": "One stands here. Two stands here.", "source_id": "a", "start": 0, "end": 33},
        {"content": "Two stands here. Three stands here.", "source_id": "a", "start": 17, "end": 52},
        {"content": "Two stands here.", "source_id": "a", "start": 90, "end": 106},
        {"content": "Two stands here.", "source_id": "b", "start": 17, "end": 33},
    ]
    assert extract_facts(overlap, 0) == {"One stands here.": 1, "Two stands here.": 3, "Three stands here.": 1}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Dr. Smith met J. S. Bach. They sang!", ["Dr. Smith met J. S. Bach.", "They sang!"]),
        ("It costs 3.50 euros. Nobody pays.", ["It costs 3.50 euros.", "Nobody pays."]),
        ("He said \u201cYes.\u201d Then he left.", ["He said \u201cYes.\u201d", "Then he left."]),
        ("A line that\nis wrapped. Next.", ["A line that is wrapped.", "Next."]),
        ("First paragraph\n\nSecond one", ["First paragraph", "Second one"]),
        ("Bring:\n- a passport\n- a letter", ["Bring:", "a passport", "a letter"]),
        ("\u91cf\u5b50\u3002\u529b\u5b66\uff01", ["\u91cf\u5b50\u3002", "\u529b\u5b66\uff01"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    "line",
    [
        "Category: Physics and chemistry.",
        "Last modified on 3 May 2020.",
        "https://example.org/some/long/page",
        "References.",
        "| a table | of cells |",
        "---",
        "12.5 %, 13.7 %, 14.2 %.",
        "Labeling of ports and quays",
        "The harbour has three quays:",
        "$ harbour --list --all --verbose quays",
        "/* Wait until the quay is free. */ for (;;) {",
        "struct quay *first; int depth;",
    ],
)
def test_what_is_about_the_page_and_headings_and_code_are_no_facts(line: str) -> None:
    assert list(
        extract_facts([{"content": f"{line}\n\nReferences to her are many. Authors on strike write nothing."}], 9)
    ) == [
        "References to her are many.",
        "Authors on strike write nothing.",
    ]


@settings(max_examples=200, derandomize=True, database=None)
@given(st.lists(st.text(max_size=80), max_size=5), st.integers(0, 40))
def test_facts_of_any_text_are_sound(texts: list[str], least: int) -> None:
    facts = extract_facts([{"content": text} for text in texts], least)

    words = " ".join(" ".join(texts).split())
    for fact, support in facts.items():
        assert len(fact) >= least
        assert not fact.endswith("?")
        assert 1 <= support <= len(texts)
        assert fact in words or any(fact in " ".join(sentences(text)) for text in texts)


# ---------------------------------------------------------------- parameters and errors


@pytest.mark.requirement("W-02", "W-03", "W-04")
def test_defaults_are_those_of_the_reference_page(stores: Stores) -> None:
    made = MultiDocSynthesizer(stores)
    assert (made.num_docs, made.max_sections, made.min_relevance) == (5, 3, 0.7)


@pytest.mark.requirement("W-19")
@pytest.mark.parametrize(
    ("preset", "values"),
    [("factual", (3, 2, 0.8)), ("explanatory", (5, 3, 0.7)), ("comprehensive", (7, 5, 0.6)), ("specific", (3, 3, 0.85))],
)
def test_presets_are_those_of_the_reference_page_and_give_way_to_what_is_said(
    stores: Stores, preset: str, values: tuple[int, int, float]
) -> None:
    made = MultiDocSynthesizer(stores, preset=preset)
    assert (made.num_docs, made.max_sections, made.min_relevance) == PRESETS[preset] == values
    said = MultiDocSynthesizer(stores, 4, preset=preset, min_relevance=0.1)
    assert (said.num_docs, said.max_sections, said.min_relevance) == (4, values[1], 0.1)


@pytest.mark.requirement("W-05")
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("num_docs", [0, 11, 2.5, True, "5"]),
        ("max_sections", [0, 11]),
        ("min_relevance", [-0.01, 1.01, float("nan"), "0.7"]),
        ("min_fact_chars", [-1, 1_001]),
        ("preset", ["best", None]),
        ("tenant", ["NO"]),
        ("reranker", [3]),
    ],
)
def test_a_value_out_of_range_is_a_value_error_that_names_it(stores: Stores, name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=name) as caught:
            MultiDocSynthesizer(stores, **{name: value})
        assert isinstance(caught.value, InvalidInput)


def test_the_stores_go_by_the_name_of_the_reference_page(stores: Stores) -> None:
    made = MultiDocSynthesizer(conn=stores, num_docs=5, max_sections=3, min_relevance=0.7)
    assert made.conn is stores


@pytest.mark.requirement("W-05")
def test_what_is_no_store_is_a_type_error(stores: Stores) -> None:
    for wrong in (None, "sqlite:///x", object(), stores.graph, replace(stores, registry=stores.graph)):
        with pytest.raises(TypeError, match="conn must be the stores") as caught:
            MultiDocSynthesizer(wrong)  # type: ignore[arg-type]
        assert isinstance(caught.value, LexigraphError)


class Broken(WordEmbedder):
    """An embedding generator that answers with what it was made with, or raises it."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.requirement("W-08")
@pytest.mark.parametrize("question", ["", "  ", "?!", "x" * 4_001, None])
def test_an_empty_or_too_long_question_is_a_value_error(stores: Stores, question: Any) -> None:
    with pytest.raises(ValueError, match="question"):
        MultiDocSynthesizer(stores).retrieve(question, WordEmbedder())


@pytest.mark.requirement("W-08")
@pytest.mark.parametrize(
    "answer",
    [
        ModelUnavailable("connection refused"),
        KeyError("secret text"),
        np.full((1, 64), np.nan, np.float32),
        np.zeros((0, 64), np.float32),
        None,
        np.float32(1),
    ],
)
def test_a_failed_embedding_is_a_value_error(stores: Stores, answer: Any) -> None:
    with pytest.raises(ValueError, match=r"embedding|refused") as caught:
        MultiDocSynthesizer(stores).retrieve(QUESTION, Broken(answer))
    assert isinstance(caught.value, ModelUnavailable)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="embed_questions"):
        MultiDocSynthesizer(stores).retrieve(QUESTION, object())  # type: ignore[arg-type]


@pytest.mark.requirement("W-08")
@pytest.mark.parametrize("table", ["graph.sqlite placed", "registry.sqlite documents", "vectors.sqlite partitions"])
def test_a_lost_store_is_a_runtime_error(own: Stores, tmp_path: Path, table: str) -> None:
    name, _, gone = table.partition(" ")
    connection = sqlite3.connect(tmp_path / "data" / name)
    with connection:
        connection.execute(f"DROP TABLE {gone}")
    connection.close()

    for kind in (MultiDocSynthesizer, CachedSynthesizer):
        with pytest.raises(RuntimeError) as caught:
            kind(own, min_relevance=0.0).retrieve(QUESTION, WordEmbedder())
        assert isinstance(caught.value, StoreUnavailable)


# ---------------------------------------------------------------- hooks


class Backwards:
    """A reranker that likes short articles."""

    name = "backwards"

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        return [-float(len(text)) for text in texts]


class Failing(Backwards):
    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        raise ModelUnavailable("no answer")


@pytest.mark.requirement("W-25")
def test_a_reranker_orders_the_articles_before_they_are_cut(stores: Stores) -> None:
    assert context(stores, num_docs=1)["sources"] == ["Quantum mechanics"]
    assert context(stores, num_docs=1, reranker=Backwards())["sources"] == ["Bread"]
    assert context(stores, reranker="tfidf")["sources"][-1] == "Bread"
    failed = context(stores, reranker=Failing())
    assert failed["sources"] == context(stores)["sources"]
    assert [w["type"] for w in failed["warnings"]] == ["rerank_failed"]


class CountingEmbedder(WordEmbedder):
    asked = 0

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        self.asked += 1
        return super().embed_questions(texts)


@pytest.mark.requirement("W-20")
def test_a_repeated_question_is_answered_from_memory_until_a_document_changes(own: Stores, tmp_path: Path) -> None:
    embedder, cache = CountingEmbedder(), ContextCache()
    cached = CachedSynthesizer(own, min_relevance=0.0, cache=cache)

    first, again = (cached.retrieve(QUESTION, embedder) for _ in range(2))
    assert first == again == context(own)
    assert (embedder.asked, cache.hits, len(cache)) == (1, 1, 1)
    first["sources"].clear()
    assert cached.retrieve(QUESTION, embedder) == again, "a caller's changes stay the caller's"

    fill(tmp_path / "pages", {"bread.md": BREAD + "\nQuantum mechanics is bread.\n"}, own)
    assert "Quantum mechanics is bread." in cached.retrieve(QUESTION, embedder)["facts"]
    assert embedder.asked == 2


@pytest.mark.requirement("W-20")
def test_what_is_remembered_goes_by_tenant_parameters_filters_and_embedding(own: Stores) -> None:
    cache, embedder = ContextCache(), CountingEmbedder()
    others: list[dict[str, Any]] = [
        {"num_docs": 1},
        {"max_sections": 1},
        {"min_relevance": 0.9},
        {"tenant": "other"},
        {"filters": MetadataFilter("title", "==", "Bread")},
        {"min_fact_chars": 30},
        {"reranker": Backwards()},
    ]
    for args in ({}, *others):
        cached = CachedSynthesizer(own, **{"min_relevance": 0.0, **args}, cache=cache)
        assert cached.retrieve(QUESTION, embedder) == context(own, **args)
    assert (embedder.asked, cache.hits) == (1 + len(others), 0)
    relabelled = WordEmbedder()
    relabelled.label = "other-64"
    CachedSynthesizer(own, min_relevance=0.0, cache=cache).retrieve(QUESTION, relabelled)
    assert cache.hits == 0
    assert (cache.clear(DEFAULT_TENANT), len(cache)) == (len(others) + 1, 1)


def test_a_cache_keeps_what_was_used_last_and_nothing_with_a_warning(own: Stores) -> None:
    cache = ContextCache(most=2)
    cached = CachedSynthesizer(own, min_relevance=0.0, cache=cache)
    embedder = CountingEmbedder()
    for question in ("atoms", "bread", "atoms", "Planck", "atoms"):
        cached.retrieve(question, embedder)
    assert (len(cache), embedder.asked) == (2, 3)
    CachedSynthesizer(own, reranker=Failing(), min_relevance=0.0, cache=cache).retrieve("flour", embedder)
    assert len(cache) == 2
    with pytest.raises(InvalidInput, match="most must be at least 1"):
        ContextCache(0)


def test_as_a_retriever_it_returns_the_statements_of_the_same_sections(stores: Stores) -> None:
    args: dict[str, Any] = {"num_docs": 2, "max_sections": 1, "min_relevance": 0.0}
    retriever = make_retriever("multidoc", stores.graph, stores.vectors, embedder=WordEmbedder(), **args)

    found = retriever.retrieve(DEFAULT_TENANT, Question.of(QUESTION))

    sections = {s["section_id"]: s["relevance_score"] for s in context(stores, **args)["sections"]}
    assert {s.chunk_id for s in found.statements} == set(sections)
    assert max(s.score for s in found.statements) == max(sections.values())
    assert found.calls == {"vector": 1, "graph": 1}


def test_as_a_retriever_it_goes_by_words_when_the_embedding_fails(stores: Stores) -> None:
    silent = Broken(ModelUnavailable("connection refused"))
    retriever = make_retriever("multidoc", stores.graph, stores.vectors, embedder=silent)

    found = retriever.retrieve(DEFAULT_TENANT, Question.of("Who was Max Planck?"))

    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert found.statements[0].text.startswith("Max Planck began")
