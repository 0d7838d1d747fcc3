"""What retrievers must find, find once, or not be led by: repeated sentences, titles, synonyms, long documents, filters."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.filters import MetadataFilter
from lexigraph.model.graph import Source, StatementRow
from lexigraph.model.question import Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.stages.statements import leads_on
from lexigraph.settings import Settings
from tests.files import section
from tests.found import texts, titles
from tests.laptop import laptop, open_laptop
from tests.models import WordEmbedder

Ask = Callable[..., SearchResults]
NOTES = {f"Note {n}": f"People sit in room {n}. Room {n} is small." for n in range(20)}
GRAPH = pytest.mark.parametrize("retriever", ["traversal", "semantic-guided"])


@pytest.fixture
def world(tmp_path: Path) -> Callable[..., Ask]:
    """Make a function that asks questions of some documents, by title."""

    def build(documents: Mapping[str, str], synonyms: str = "", name: str = "data") -> Ask:
        folder, others = tmp_path / name, tmp_path / f"{name}.txt"
        for title, text in documents.items():
            path = tmp_path / f"{name}-files" / f"{title}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"# {title}\n\n{text}", encoding="utf-8")
        others.write_text(synonyms, encoding="utf-8")
        with closing(open_laptop(folder)) as stores:
            assert not laptop(folder, stores, synonyms=others).ingest([tmp_path / f"{name}-files"]).failures

        def ask(retriever: str, question: str, filters: Any = None, **options: Any) -> SearchResults:
            with closing(open_laptop(folder)) as stores:
                made = make_retriever(
                    retriever, stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(), **options
                )
                return made.retrieve(DEFAULT_TENANT, Question.of(question, filters))

        return ask

    return build


@GRAPH
def test_a_sentence_that_chunks_of_a_topic_repeat_is_returned_once(world: Callable[..., Ask], retriever: str):
    filler = " ".join(f"Word{n} is told at length in the long book." for n in range(40))
    long = "\n\n".join(f"## Care\n\nThe standard warning applies. Widget {n} is small. {filler}" for n in range(8))
    found = world({"Manual": long, **NOTES})(retriever, "Which standard warning applies?", max_statements_per_topic=None)
    repeated = [s for s in found.statements if s.text == "The standard warning applies."]
    assert len(repeated) == 1
    assert repeated[0].score == max(s.score for s in found.statements)
    assert len({s.id for s in found.statements}) == len(found.statements)


@pytest.mark.parametrize("retriever", ["entity", "traversal", "semantic-guided"])
def test_a_document_about_an_entity_is_found_though_its_text_never_names_it(world: Callable[..., Ask], retriever: str):
    ask = world({"Heron Team": "It sits at Kestrel House. Ines Calloway is in charge of it.", **NOTES})
    found = ask(retriever, "Who is the boss of the Heron Team?")
    assert titles(found)[0] == "Heron Team"
    assert "Ines Calloway is in charge of it." in texts(found)


@pytest.mark.parametrize("retriever", ["entity", "traversal", "semantic-guided"])
def test_a_question_that_uses_a_synonym_finds_what_names_the_entity(world: Callable[..., Ask], retriever: str):
    ask = world({"Offices": "Heron Team is at Kestrel House.", **NOTES}, "Blue Birds = Heron Team\n")
    found = ask(retriever, "Where do the Blue Birds work?")
    named = next(s for s in found.statements if s.text == "Heron Team is at Kestrel House.")
    assert named.parts["entity"] > 0
    assert found.entities == ("Blue Birds" if retriever == "semantic-guided" else "Heron Team",)


def test_a_synonym_counts_as_the_title_it_stands_for(world: Callable[..., Ask]):
    ask = world({"Heron Team": "It sits at Kestrel House.", **NOTES}, "Blue Birds = Heron Team\n")
    for retriever in ("entity", "traversal"):
        found = ask(retriever, "Where do the Blue Birds work?")
        assert titles(found)[0] == "Heron Team"
        assert found.statements[0].parts["title"] > 0


ALMANAC = {
    "Grand Almanac": "\n".join(
        section(f"Part {n}", f"The part numbered {n} tells of plain matters and of nothing else, day after day.")
        if n != 25
        else section("Part 25", "Sunflower oil is pressed at the western mill.")
        for n in range(30)
    ),
    "Rollo Finch": "Rollo Finch wrote the Grand Almanac.",
    **{f"Page {n}": f"Page {n} tells of sand {n}. People write of oil, presses and mills {n}." for n in range(40)},
}


@GRAPH
def test_a_link_leads_to_the_section_of_a_long_document_that_is_like_the_question(world: Callable[..., Ask], retriever: str):
    question = "What is said in the book by Rollo Finch on where sunflower is pressed?"
    found = world(ALMANAC)(retriever, question)
    pressed = next(s for s in found.statements if s.text == "Sunflower oil is pressed at the western mill.")
    assert pressed.parts["link"] > 0
    assert "Rollo Finch" in pressed.path or "Grand Almanac" in pressed.path


SECRET = {"Secret Plan": "Zorblax Quill wrote the Secret Plan on the Heron Team. Zorblax Quill met Ines Calloway."}
OPEN = {
    "Heron Team": "The Heron Team works at Kestrel House. Ines Calloway leads the Heron Team.",
    "Kestrel House": "Kestrel House is in Antwerp.",
    **dict(list(NOTES.items())[:8]),
}


@GRAPH
def test_of_a_newspaper_only_what_it_says_of_the_name_counts(world: Callable[..., Ask], retriever: str):
    documents = {
        "Ada Brook": "Ada Brook is a baker. Her teacher was Otto Vale.",
        "Monday Gazette": "Otto Vale died in 1912. Hugo Lamb went to a fair.",
        "Tuesday Gazette": "Otto Vale went to a fair. Hugo Lamb died in 1944.",
    }
    found = world({**documents, **NOTES})(retriever, "When did the teacher of Ada Brook die?")
    link = {r.source.title: r.statements[0].parts["link"] for r in found.results if r.source.title in documents}
    assert link["Monday Gazette"] > link["Tuesday Gazette"] > 0


@pytest.mark.parametrize("retriever", ["traversal", "entity", "topic", "semantic-guided"])
def test_a_document_that_is_filtered_out_does_not_steer(world: Callable[..., Ask], retriever: str):
    within, without = world({**OPEN, **SECRET}), world(OPEN, name="open")
    admitted = MetadataFilter("title", "!=", "Secret Plan")
    for question in (
        "What did Zorblax Quill write about the Heron Team?",
        "Who met Ines Calloway?",
        "What is in the Secret Plan?",
    ):
        found, expected = within(retriever, question, admitted), without(retriever, question)
        assert not {"Zorblax Quill", "Secret Plan"} & set(found.entities)
        assert set(found.entities) == set(expected.entities)
        assert titles(found)[:2] == titles(expected)[:2]
        assert set(titles(found)) == set(titles(expected))
        assert set(texts(found)) == set(texts(expected))
    everything = within(retriever, "What did Zorblax Quill write about the Heron Team?")
    assert "Secret Plan" in titles(everything)


def test_a_name_within_another_word_is_not_named():
    row = StatementRow("s", "They moved to Canada.", "", "t", "", "c", 0, 0, 0, 0, 0, Source("source", "file:///x"))
    assert leads_on(row, [("entity:x", "ada", 0.5)]) == 0.0
    assert leads_on(row, [("entity:x", "canada", 0.5), ("entity:y", "they", 0.3)]) == 0.5
    assert leads_on(row._replace(entities=("entity:x",)), [("entity:x", "ada", 0.5)]) == 0.5
