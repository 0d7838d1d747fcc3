"""The beam over topics: a pure function of scores and of what stands beside what; and long documents, asked for real."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.inference.protocols import FloatArray
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.errors import InvalidInput, ModelUnavailable
from lexigraph.model.extraction import Extraction
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.graph import Source, StatementRow
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.retrievers import ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch, TraversalBasedRetriever
from lexigraph.retrieval.stages.anchors import Goal, Likeness
from lexigraph.retrieval.stages.ranking import Coverage
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.retrieval.traversal.topics import (
    BASE,
    NEXT_CHUNK,
    PREVIOUS_CHUNK,
    SAME_CHUNK,
    SHARED_ENTITY,
    FoundTopic,
    beam,
    beside,
    best_topics,
)
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Hit, Stores
from tests.files import section
from tests.laptop import open_laptop
from tests.models import SentenceExtractor, WordEmbedder

CHAIN = {"a": {"b": 1.0}, "b": {"c": 1.0}, "c": {"d": 1.0}}


def grown(
    seeds: Mapping[str, float],
    near: Mapping[str, Mapping[str, float]],
    worth: Mapping[str, float] | None = None,
    width: int = 10,
    max_depth: int = 10,
) -> dict[str, FoundTopic]:
    return beam(seeds, near, worth or {}, width=width, max_depth=max_depth)


# ---------------------------------------------------------------- the beam


def test_a_topic_is_worth_what_leads_to_it_how_near_it_is_and_what_it_says_itself():
    found = grown({"a": 0.8}, {"a": {"b": 0.5, "c": 0.5}}, {"b": 1.0})
    assert found["b"].score == pytest.approx(0.8 * 0.5)
    assert found["c"].score == pytest.approx(0.8 * 0.5 * BASE)
    assert (found["a"].score, found["a"].path) == (0.8, ("a",))
    assert found["b"].path == ("a", "b")


@pytest.mark.parametrize(("depth", "reached"), [(0, "a"), (1, "ab"), (2, "abc"), (9, "abcd")])
def test_it_goes_no_deeper_than_asked(depth: int, reached: str):
    assert "".join(grown({"a": 1.0}, CHAIN, max_depth=depth)) == reached


def test_new_topics_have_a_budget_of_their_own_however_many_seeds_there_are():
    seeds = {f"seed{n}": 1.0 for n in range(30)}
    near = {"seed0": {"x": 0.3, "y": 0.2, "z": 0.1}}
    assert grown(seeds, near, width=2).keys() == {*seeds, "x", "y"}
    assert grown(seeds, near, width=0).keys() == seeds.keys()


def test_a_seed_is_lifted_by_a_better_one_beside_it_and_costs_no_budget():
    found = grown({"a": 1.0, "b": 0.1}, {"a": {"b": 1.0, "c": 0.1}}, width=1)
    assert (found["b"].score, found["b"].path) == (BASE, ("a", "b"))
    assert "c" in found


def test_circles_end_and_the_best_way_to_a_topic_counts():
    near = {"a": {"b": 0.2, "c": 1.0, "a": 1.0}, "b": {"a": 1.0}, "c": {"b": 1.0, "a": 1.0}}
    found = grown({"a": 1.0}, near)
    assert found.keys() == {"a", "b", "c"}
    assert (found["b"].path, found["b"].score) == (("a", "c", "b"), BASE * BASE)


def test_equals_are_taken_by_id():
    near = {"a": {"z": 0.5, "y": 0.5, "x": 0.5}}
    assert list(grown({"a": 1.0}, near, width=2)) == ["a", "x", "y"]
    assert list(grown({"b": 0.5, "a": 0.5}, {})) == ["a", "b"]


IDS = st.sampled_from("abcdefgh")
SHARES = st.floats(0, 1)


@given(
    st.dictionaries(IDS, SHARES, min_size=1),
    st.dictionaries(IDS, st.dictionaries(IDS, SHARES)),
    st.dictionaries(IDS, SHARES),
    st.integers(0, 5),
    st.integers(0, 4),
)
def test_whatever_the_graph_the_budgets_hold_and_scores_fall_along_a_path(seeds, near, worth, width, depth):  # type: ignore[no-untyped-def]
    found = grown(seeds, near, worth, width, depth)
    assert seeds.keys() <= found.keys()
    assert len(found.keys() - seeds.keys()) <= width
    for topic in found.values():
        assert len(topic.path) <= depth + 1
        along = [found[t].score for t in topic.path]
        assert along == sorted(along, reverse=True)
    assert [t.score for t in found.values()] == sorted((t.score for t in found.values()), reverse=True)
    backwards = {a: dict(reversed(to.items())) for a, to in reversed(near.items())}
    assert grown(dict(reversed(seeds.items())), backwards, worth, width, depth) == found


# ---------------------------------------------------------------- where it starts


def best(cosines: Mapping[str, float], **args: Any) -> dict[str, float]:
    likeness = Likeness([Goal(QUESTION, np.ones(2, np.float32))], "topic", absolute=True)
    likeness.take([[Hit(i, cosine, f"topic {i}", "s", "") for i, cosine in cosines.items()], []])
    return best_topics(likeness, Coverage(QUESTION), TraversalArgs.of({"bm25_weight": 0.0, **args}))


def test_a_seed_counts_for_how_far_it_stands_out_from_the_best_topic_left_out():
    assert best({"a": 0.8, "b": 0.5, "c": 0.2}, topic_top_k=2) == pytest.approx({"a": 0.75, "b": 0.375})
    assert best({"a": 0.8, "b": 0.5}, topic_top_k=2) == {"a": 0.8, "b": 0.5}


def test_topics_that_are_all_as_like_the_question_are_no_place_to_start():
    assert best({f"t{n}": 0.4 for n in range(20)}) == {}
    assert best({}) == {}


def test_likeness_of_topics_is_no_share_of_the_best_and_words_of_the_name_count():
    assert best({"a": 0.2, "b": 0.1}) == {"a": 0.2, "b": 0.1}
    likeness = Likeness([Goal(QUESTION, None)], "topic", absolute=True)
    likeness.take([[Hit("a", 9.0, "Restore the ledger", "s", ""), Hit("b", 3.0, "Something else", "s", "")]])
    assert best_topics(likeness, Coverage(QUESTION), TraversalArgs()) == {"a": pytest.approx(0.3 * 2 / 3)}


# ---------------------------------------------------------------- what stands beside what


def row(topic: str, seq: int, *entities: str, source: str = "s") -> StatementRow:
    at = Source(source, source)
    return StatementRow(f"{topic}{seq}", "", "", topic, topic, f"{source}{seq}", seq, 0, 0, 0, 0, at, (), entities)


def test_topics_stand_beside_those_of_their_chunk_of_the_next_and_of_the_one_before():
    near = beside([row("a", 0), row("b", 0), row("c", 1), row("d", 2), row("e", 1, source="other")])
    assert near["a"] == {"b": SAME_CHUNK, "c": NEXT_CHUNK}
    assert near["c"] == {"a": PREVIOUS_CHUNK, "b": PREVIOUS_CHUNK, "d": NEXT_CHUNK}
    assert "e" not in near


def test_topics_that_share_an_entity_stand_beside_each_other_the_nearer_the_fewer_share_it():
    two = beside([row("a", 0, "x"), row("b", 9, "x")])
    many = beside([row(topic, 9 * n, "x") for n, topic in enumerate("abcde")])
    assert two["a"]["b"] == SHARED_ENTITY
    assert many["a"]["b"] == SHARED_ENTITY / 2


# ---------------------------------------------------------------- long documents

QUESTION = "How do we restore the ledger after a flood?"
FILLER = (
    "Press the green lever on the left cabinet until a bell rings twice. Wait for Orla before opening any drawer. "
    "Carry each tray to bench nine, then count the brass tokens slowly. Note every count on the yellow form."
)
UNLIKE = "Hang the copper hook above rack five. Nobody lifts that lamp until Orla has signed. Turn both dials to nine."
GOES_ON = "Seal the crate with wax from shelf four. Hand it to Bram at the south gate before noon."


def manual(number: int) -> str:
    """A long document of twenty sections that talk of other things."""
    sections = [
        section(f"Device {number}-{n}", f"Device {number}-{n} hums at level {n}. Its cover is grey.") for n in range(20)
    ]
    if number == 2:
        sections[5] = section("Procedure 17", UNLIKE)
    if number == 3:
        sections[11] = section("Restore the ledger after a flood", f"{FILLER}\n\n{FILLER.replace('green', 'blue')}")
        sections[12] = section("Last steps", GOES_ON)
    return f"# Manual {number}\n\n" + "\n".join(sections)


DOCUMENTS = {
    **{f"Manual {n}": manual(n) for n in range(6)},
    # short notes that repeat the words of the question and answer nothing
    **{f"Note {n}": f"# Note {n}\n\nWe restore a ledger {n} times. The flood of day {n} did pass." for n in range(40)},
}


class NamingExtractor(SentenceExtractor):
    """Names what a text is about in other words than the text, as a language model does."""

    name = "naming-1"

    def _one(self, chunk: ChunkText) -> Extraction:
        found = super()._one(chunk)
        if "copper hook" not in chunk.text:
            return found
        return replace(found, topics=tuple(replace(t, title="Calibrating telescopes in winter") for t in found.topics))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("topics")
    (folder / "corpus").mkdir()
    for title, text in DOCUMENTS.items():
        (folder / "corpus" / f"{title}.md").write_text(text, encoding="utf-8")
    opened = open_laptop(folder / "data")
    models = {"embedder": WordEmbedder(), "extractor": NamingExtractor()}
    index = LexicalGraphIndex(opened, **models, settings=Settings(data=folder / "data"))
    assert not index.ingest([folder / "corpus"]).failures
    yield opened
    opened.close()


class Broken(WordEmbedder):
    """An embedding model that cannot be reached."""

    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("connection refused")


def ask(
    stores: Stores,
    *searches: Any,
    question: str = QUESTION,
    tenant: str = "default",
    filters: Any = None,
    **options: Any,
) -> SearchResults:
    options = {"embedder": WordEmbedder(), "settings": Settings(), **options}
    retriever = TraversalBasedRetriever(stores.graph, stores.vectors, retrievers=searches or None, **options)
    return retriever.retrieve(Tenant(tenant), Question.of(question, filters))


ALL = (ChunkBasedSearch, EntityBasedSearch, TopicBeamSearch)


def place(found: SearchResults, text: str) -> int:
    """Return the place of the result that holds a text, 1,000 when none does."""
    places = [n for n, r in enumerate(found.results, 1) if any(text in s.text for s in r.statements)]
    return min(places, default=1_000)


def test_a_section_whose_name_is_like_the_question_is_found_though_its_text_is_not(stores: Stores):
    assert place(ask(stores), "green lever") == 1_000
    found = ask(stores, *ALL)
    assert place(found, "green lever") == place(found, "blue lever") == 1
    (best, *_) = found.results
    assert (best.source.title, best.topic) == ("Manual 3", "Restore the ledger after a flood")
    assert {s.reason for s in best.statements} == {"topic"}
    assert all(s.parts["topic"] > 0 for s in best.statements)


def test_a_text_is_found_by_what_it_is_about_though_it_does_not_say_so(stores: Stores):
    question = "How did we go about calibrating telescopes in winter?"
    assert place(ask(stores, question=question), "copper hook") == 1_000
    assert place(ask(stores, *ALL, question=question), "copper hook") == 1


def test_evidence_that_goes_on_in_the_next_topic_is_found_and_says_how(stores: Stores):
    assert place(ask(stores), "Seal the crate") == 1_000
    assert place(ask(stores, *ALL, topic_beam_max_depth=0), "Seal the crate") == 1_000
    found = ask(stores, *ALL)
    assert place(found, "Seal the crate") < 1_000
    goes_on = next(s for s in found.statements if "Seal the crate" in s.text)
    assert (goes_on.reason, goes_on.path) == ("topic", ("Restore the ledger after a flood", "Last steps"))


@pytest.mark.parametrize("searches", [ALL, (TopicBeamSearch,), (ChunkBasedSearch, TopicBeamSearch)])
@pytest.mark.parametrize("options", [{}, {"topic_top_k": 200, "topic_beam_width": 200, "topic_beam_max_depth": 5}])
def test_topics_cost_no_further_call(stores: Stores, searches: tuple[Any, ...], options: dict[str, Any]):
    calls = ask(stores, *searches, **options).calls
    assert calls["vector"] <= 3
    assert calls["graph"] <= 4


@pytest.mark.parametrize("name", ["topic_weight", "topic_top_k", "topic_beam_width", "topic_beam_max_depth"])
def test_without_a_search_of_topics_their_parameters_are_refused(stores: Stores, name: str):
    with pytest.raises(InvalidInput, match=f"{name} belongs to TopicBeamSearch, which is not used here"):
        ask(stores, **{name: 1})


def test_topics_take_part_only_when_asked_for(stores: Stores):
    plain = ask(stores)
    assert plain.results == ask(stores, ChunkBasedSearch, EntityBasedSearch).results
    assert not any("topic" in s.parts for s in plain.statements)


def test_filters_and_tenants_hold_for_topics_too(stores: Stores):
    only = MetadataFilter("title", "!=", "Manual 3")
    found = ask(stores, *ALL, filters=only)
    assert found.results
    assert "Manual 3" not in {r.source.title for r in found.results}
    assert ask(stores, TopicBeamSearch, tenant="other").results == ()


def test_without_embeddings_topics_are_found_by_their_words(stores: Stores):
    found = ask(stores, TopicBeamSearch, embedder=Broken())
    assert [w.type for w in found.warnings] == ["embedding_failed"]
    assert found.results[0].topic == "Restore the ledger after a flood"
