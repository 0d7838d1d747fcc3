"""What topics are called."""

import pytest

from lexigraph.ingestion.extract.topics import key_phrases, topic_title
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import ExtractedEntity, ExtractedStatement

FERRY = (
    "The Lindholm ferry leaves at six.",
    "A ticket for the Lindholm ferry costs four crowns.",
    "Tickets are sold on the quay.",
    "The ferry carries forty cars.",
)


def said(*values: str, kind: str = "prose", names: tuple[str, ...] = ()) -> list[ExtractedStatement]:
    entities = tuple(ExtractedEntity(name) for name in names)
    return [ExtractedStatement(value, 0, 0, kind=kind, entities=entities) for value in values]


def title_of(
    headings: tuple[str, ...], statements: list[ExtractedStatement], title: str = "Harbour guide", *, long: bool = False
) -> str:
    return topic_title(ChunkText(0, title, headings, "", 0, 0, long=long), headings, statements)


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (("Tickets and fares",), "Tickets and fares"),
        (("Harbour guide", "Tickets and fares"), "Tickets and fares"),
        (("Ferries", "Tickets and fares"), "Ferries > Tickets and fares"),
        (("Ferries", "Examples"), "Ferries > Examples"),
        (("DESCRIPTION", "Tickets and fares"), "Tickets and fares"),
        (("SYNOPSIS",), "Harbour guide > SYNOPSIS"),
        (("3",), "Harbour guide > 3"),
        (("2.1 Introduction",), "Harbour guide > 2.1 Introduction"),
        (("Chapter IV",), "Harbour guide > Chapter IV"),
        (("Notes", "See also"), "Harbour guide > See also"),
        (("7. Fares",), "7. Fares"),
        ((), "Harbour guide"),
    ],
)
def test_a_topic_is_named_by_its_headings_and_by_the_title_where_these_say_nothing(
    headings: tuple[str, ...], expected: str
) -> None:
    assert title_of(headings, said(*FERRY)) == expected


def test_a_part_of_a_long_section_is_named_by_what_it_speaks_of_too() -> None:
    assert title_of(("Timetable",), said(*FERRY), long=True).startswith("Timetable: Lindholm ferry, ticket, ")


def test_words_of_code_are_no_key_phrases() -> None:
    assert title_of(("Timetable",), said("ferry --to lindholm", kind="code"), long=True) == "Timetable"


@pytest.mark.parametrize("title", ["", "scan_0042", "notes.txt", "2026-11-23"])
def test_a_text_without_headings_and_title_is_named_by_its_key_phrases(title: str) -> None:
    assert title_of((), said(*FERRY), title).startswith("Lindholm ferry, ticket, ")


def test_key_phrases_are_said_often_have_several_words_or_are_names() -> None:
    text = ("Gearing ratios differ.", "Ostmark builds gearboxes.", "Gearing ratios of four and five are made by Ostmark.")
    assert key_phrases(said(*text, names=("Ostmark",)))[:2] == ["Gearing ratios", "Ostmark"]


def test_what_is_known_already_is_not_said_again() -> None:
    assert "ferry" not in " ".join(key_phrases(said(*FERRY), known="The ferry"))


def test_nothing_tells_nothing() -> None:
    assert key_phrases([]) == []
    assert title_of((), said("12", "..."), "") == ""
