"""What a model says has to stand in its passage: names, numbers, and a sentence that says it."""

from typing import Any

import pytest

from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.extract.reply import UnusableReply, read_reply
from lexigraph.model.document import Block, ChunkText
from lexigraph.model.extraction import ExtractedStatement, Extraction
from lexigraph.model.sentences import sentences
from tests.models import model
from tests.standins.llm_server import ScriptedLLMServer

TEXT = (
    "A lathe turns a piece of metal against a tool. The first one was made in 1751 by the Swedish engineer Nils Dahl, "
    "and Ida Berg of Kolby paid for it. It weighed 1,500 kg and cost 25 % of two thousand crowns.\n"
    "By 1998–99 some 3.5 million had been sold. The works do not sell to Norway. They closed on 10 December 2004."
)


def passage(text: str = TEXT, title: str = "Lathes", **more: Any) -> ChunkText:
    return ChunkText(0, title, more.pop("headings", ("History",)), text, 0, len(text), **more)


def reply(*statements: str, entities: tuple[str, ...] = (), class_: str = "", **more: Any) -> dict[str, Any]:
    named = [{"name": name, "class": class_} for name in entities]
    said = [{"statement": s, "details": [], "entities": named, "facts": [], **more} for s in statements]
    return {"topics": [{"title": "Lathes", "statements": said}], "aliases": []}


def kept(extraction: Extraction) -> list[ExtractedStatement]:
    return [statement for topic in extraction.topics for statement in topic.statements]


def only(statement: str, chunk: ChunkText | None = None, **more: Any) -> tuple[list[ExtractedStatement], str]:
    """What becomes of a statement, beside one that is good, and what is reported."""
    chunk = chunk or passage()
    good = " ".join(chunk.text[slice(*sentences(chunk.text)[0])].split())
    given = reply(statement, **more)
    given["topics"][0]["statements"].append({"statement": good, "details": [], "entities": [], "facts": []})
    extraction = read_reply(given, chunk)
    return [s for s in kept(extraction) if s.value != good], " ".join(extraction.dropped)


# ---------------------------------------------------------------- names


def test_a_statement_that_names_what_the_passage_does_not_is_dropped_and_reported() -> None:
    found, why = only("The capital of Mars is Olympus.", entities=("Mars", "Olympus"))
    assert found == []
    assert why == "topics[0].statements[0] names 'Mars', not in the passage"


def test_a_name_that_is_listed_nowhere_is_seen_by_its_capital() -> None:
    assert only("The first lathe was made by Nils Dahl of Uppsala.") == (
        [],
        "topics[0].statements[0] names 'Uppsala', not in the passage",
    )
    assert only("Uppsala Works made the first lathe in 1751.")[0] == []


@pytest.mark.parametrize(
    "statement",
    [
        "Nils Dahl made the first lathe.",
        "Dahl's lathe was the first one made.",
        "Nils Dahl, who made the first lathe, came from Sweden.",
        "The First Lathe Was Made By Nils Dahl.",
        "The lathe's first maker was the engineer NILS DAHL.",
    ],
)
def test_a_faithful_paraphrase_is_kept(statement: str) -> None:
    (found,), why = only(statement, entities=("Nils Dahl",), class_="Person")
    assert why == ""
    assert "Swedish engineer Nils Dahl" in TEXT[found.start : found.end]


def test_an_article_before_a_name_is_no_part_of_it() -> None:
    chunk = passage("She was not built in Kolby.", "Tern", headings=())
    (found,) = kept(read_reply(reply("The Tern was not built in Kolby."), chunk))
    assert found.original == "She was not built in Kolby."


def test_names_may_stand_in_the_title_the_headings_or_the_sentence_before() -> None:
    text = "It was founded in 1702. It was sold in 1805 and moved away."
    chunk = passage(text, "Quill & Sons", headings=("Brackford Mill",), before="Ada Marsh bought the mill.")
    for statement in ("Brackford Mill was founded in 1702.", "Quill & Sons was founded in 1702.", "Marsh sold it in 1805."):
        assert only(statement, chunk)[1] == ""


def test_the_names_of_two_persons_do_not_make_a_third() -> None:
    found, why = only("Nils Berg made the first lathe.", entities=("Nils Berg",), class_="Person")
    assert found == []
    assert "'Nils Berg', not in the passage" in why
    assert only("Ida Berg paid for the first lathe.", entities=("Ida Berg",), class_="Person")[0]


def test_a_term_in_other_words_costs_the_entity_and_not_the_statement() -> None:
    (found,), why = only("A lathe turns metal against a tool.", entities=("lathe", "machine tool industry"))
    assert [e.name for e in found.entities] == ["lathe"]
    assert "'machine tool industry' is not in the passage" in why


def test_german_nouns_are_no_names() -> None:
    text = "Die Mühle von Brackfurt mahlt das Korn des Tals. Nils Dahl hat sie gebaut."
    chunk = passage(text, "Mühle", headings=(), language="de")
    assert only("Nils Dahl hat die Mühle als Gebäude gebaut.", chunk)[0]
    assert not only("Nils Dahl hat die Mühle in Kolbing gebaut.", chunk, entities=("Kolbing",))[0]


def test_a_script_without_capitals_has_names_too() -> None:
    text = "東京は日本の首都である。人口は約1400万人である。"
    chunk = passage(text, "東京", headings=(), language="ja")
    (found,), _ = only("東京の人口は約1400万人である。", chunk, entities=("東京",))
    assert text[found.start : found.end] == "人口は約1400万人である。"
    assert not only("大阪の人口は約1400万人である。", chunk, entities=("大阪",))[0]
    assert not only("東京の人口は約1500万人である。", chunk)[0]


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "statement",
    [
        "The first lathe weighed 1500 kg.",
        "The first lathe weighed 1 500 kg.",
        "The first lathe cost 25% of 2,000 crowns.",
        "The first lathe cost 25 percent of two thousand crowns.",
        "By 1999 some 3,500,000 lathes had been sold.",
        "Some 3.5 million lathes had been sold by 1998-1999.",
        "The works closed on 2004-12-10.",
        "The works closed on December 10th, 2004.",
        "The works closed on 10.12.2004.",
    ],
)
def test_numbers_may_be_written_otherwise(statement: str) -> None:
    assert only(statement)[1] == ""


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("The first lathe weighed 1,501 kg.", "1,501"),
        ("The first lathe was made in 1715.", "1715"),
        ("The first lathe cost 26 % of two thousand crowns.", "26"),
        ("The first lathe cost 25 % of three thousand crowns.", "three"),
        ("Some 35 million lathes had been sold.", "35"),
        ("Some 3.5 billion lathes had been sold.", "3.5"),
        ("The works closed on 10 November 2004.", "November"),
        ("The works closed on 11 December 2004.", "11"),
    ],
)
def test_a_number_off_by_a_digit_is_dropped(statement: str, missing: str) -> None:
    assert only(statement) == ([], f"topics[0].statements[0] names '{missing}', not in the passage")


def test_versions_and_dates_without_signs_are_numbers() -> None:
    chunk = passage("20010329: quill 1.10.2 fixes the ink. Earlier versions had none.", "quill")
    for statement in ("quill 1.10.2 fixes the ink.", "quill 1.10 fixes the ink.", "The ink was fixed on 29 March 2001."):
        assert only(statement, chunk)[1] == "", statement
    assert not only("quill 1.1.2 fixes the ink.", chunk)[0]


def test_a_raised_number_is_no_digit_of_the_one_before() -> None:
    assert only("The mill was built in 1905.", passage("It was built in 1905³. It grinds corn."))[1] == ""


# ---------------------------------------------------------------- the sentence


def test_a_statement_has_the_offsets_of_the_sentence_that_it_comes_from() -> None:
    (found,), _ = only("The first lathe weighed 1,500 kg.")
    assert TEXT[found.start : found.end] == "It weighed 1,500 kg and cost 25 % of two thousand crowns."
    assert found.original == TEXT[found.start : found.end]


def test_a_sentence_taken_as_it_is_has_no_other_original() -> None:
    chunk = passage()
    (found,) = kept(read_reply(reply("The works do not sell to Norway."), chunk))
    assert found.original == ""


def test_a_statement_merged_of_two_sentences_has_both() -> None:
    (found,), _ = only("The works do not sell to Norway and closed on 10 December 2004.")
    assert TEXT[found.start : found.end] == "The works do not sell to Norway. They closed on 10 December 2004."


@pytest.mark.parametrize(
    "statement",
    [
        "Children should wear gloves near machines.",  # of nothing
        "Le tour fait tourner une pièce contre un outil.",  # translated
        "Nils Dahl hat mit Ida Berg lange und viel gesprochen.",  # translated, with names of the passage
        "The anchor is lowered before the ferry leaves the harbour.",  # of another chunk
    ],
)
def test_what_no_sentence_says_is_dropped(statement: str) -> None:
    assert only(statement) == ([], "topics[0].statements[0] is said by no sentence of the passage")


def test_the_same_sentence_twice_is_the_next_one_the_second_time() -> None:
    text = "It rained in Kolby. Ada left for good. It rained in Kolby. Ida stayed."
    first, second, third = kept(
        read_reply(reply("It rained in Kolby.", "Ada left for good.", "In Kolby it rained."), passage(text))
    )
    assert (first.start, second.start, third.start) == (0, 20, 39)


def test_sentences_end_neither_at_abbreviations_nor_where_an_editor_wrapped_the_line() -> None:
    text = (
        "Dr. Dahl, i.e. the engineer from Kolby who built the\nBrackford Mill, left. Note:\nHe came back e.g. in May.\n"
        "OPTIONS\nUse none. 人口は多い。町は古い。"
    )
    assert [text[a:b] for a, b in sentences(text)] == [
        "Dr. Dahl, i.e. the engineer from Kolby who built the\nBrackford Mill, left.",
        "Note:",
        "He came back e.g. in May.",
        "OPTIONS",
        "Use none.",
        "人口は多い。",
        "町は古い。",
    ]


# ---------------------------------------------------------------- facts and details


def test_the_object_of_a_fact_has_to_stand_there_too() -> None:
    said = {"subject": "Nils Dahl", "predicate": "made lathe in"}
    facts = [{**said, "object": value} for value in ("1751", "1752", "Uppsala", "a wooden shed by the sea", "metal piece")]
    (found,), why = only("Nils Dahl made the first lathe in 1751.", entities=("Nils Dahl",), facts=facts)
    assert [f.object for f in found.facts] == ["1751", "metal piece"]
    assert why.count("is not in the passage") == 3


def test_details_have_to_stand_there_too() -> None:
    (found,), why = only("Nils Dahl made the first lathe.", details=["in 1751", "in Uppsala"])
    assert found.details == ("in 1751",)
    assert "details[1] names 'Uppsala', not in the passage" in why


# ---------------------------------------------------------------- what is no prose

CODE = "quill init notes.db"
MIXED = f"Make a file of notes so:\n{CODE}\nHome | Up | Next\nA file of notes holds ink."
BLOCKS = (
    Block(0, 24),
    Block(25, 44, (), "code"),
    Block(45, 61, (), "boilerplate"),
    Block(62, 88),
)


def test_code_is_a_statement_by_itself_in_the_topic_of_the_sentence_before() -> None:
    chunk = passage(MIXED, "quill", headings=(), blocks=BLOCKS)
    extraction = LLMExtractor(model(ScriptedLLMServer(""))).read(reply("A file of notes holds ink."), chunk)
    assert [(s.kind, s.value) for s in kept(extraction)] == [
        ("prose", "A file of notes holds ink."),
        ("code", f"Make a file of notes so:\n{CODE}"),
    ]


def test_what_stands_in_navigation_or_code_only_is_no_evidence() -> None:
    chunk = passage(MIXED, "quill", headings=(), blocks=BLOCKS)
    for statement, why in (
        ("Initialise it with init quill.", "is said by no sentence"),
        ("The file of notes holds Up and Home.", "'Up'"),
    ):
        with pytest.raises(UnusableReply) as error:
            read_reply(reply(statement), chunk)
        assert why in error.value.details
        assert str(error.value) == "no statement of the reply can be used"
