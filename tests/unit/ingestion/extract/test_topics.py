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
        (("Ferries", "Examples"), "Harbour guide > Ferries > Examples"),
        (("Ferries to Lindholm", "Examples"), "Ferries to Lindholm > Examples"),
        (("State",), "Harbour guide > State"),
        (("Class: Ferry",), "Harbour guide > Class: Ferry"),
        (("DESCRIPTION", "Tickets and fares"), "Tickets and fares"),
        (("SYNOPSIS",), "Harbour guide > SYNOPSIS"),
        (("3",), "Harbour guide > 3"),
        (("2.1 Introduction",), "Harbour guide > 2.1 Introduction"),
        (("Chapter IV",), "Harbour guide > Chapter IV"),
        (("Notes", "See also"), "Harbour guide > See also"),
        (("7. Fares",), "Harbour guide > 7. Fares"),
        ((), "Harbour guide"),
    ],
)
def test_a_topic_is_named_by_its_headings_and_by_the_title_where_these_say_nothing(
    headings: tuple[str, ...], expected: str
) -> None:
    assert title_of(headings, said(*FERRY)) == expected


def test_a_part_of_a_long_section_is_named_by_what_it_speaks_of_too() -> None:
    named = title_of(("Winter timetable",), said(*FERRY), long=True)
    assert named.startswith("Winter timetable: Lindholm ferry, ticket, ")


@pytest.mark.parametrize("heading", ["harbour (2.1-1) unstable; urgency=low", "v2.1.0 (2026-03-04)"])
def test_a_release_is_named_by_its_version_and_by_what_is_said_of_it(heading: str) -> None:
    named = title_of((heading,), said(*FERRY), title="News")
    assert named.startswith(f"News > {heading.partition(' unstable')[0]}: Lindholm ferry")


def test_a_part_of_a_long_table_is_named_by_its_first_and_last_row() -> None:
    rows = "Name: Ada; Boat: Tern\nName: Bo; Boat: Gull\nName: Cleo; Boat: Auk"
    assert title_of(("Boats of Ostmark",), said(rows, kind="table"), long=True) == "Boats of Ostmark: Ada, Tern to Cleo, Auk"


def test_a_part_of_a_long_list_is_named_by_its_first_and_last_entry() -> None:
    terms = said("anchor: iron", "bollard: wood", "crane: steel")
    assert title_of(("Gear on the pier",), terms, long=True) == "Gear on the pier: anchor to crane"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("#include <pier.h>\n/* Moor the boat at its place. */\nmoor(boat);", "Moor the boat at its place."),
        ("$ ferry --to lindholm {\n}", "$ ferry --to lindholm"),
        ("2026-03-04 10:11:12 boat moored\n2026-03-04 10:11:13 boat left", "10:11:12 boat moored"),
    ],
)
def test_a_part_of_a_long_listing_is_named_by_its_first_comment_or_line(code: str, name: str) -> None:
    named = title_of(("Log of boats", "2026-03-04"), said(code, kind="code"), long=True)
    assert named == f"Log of boats > 2026-03-04: {name}"


def test_words_of_code_among_prose_are_no_key_phrases() -> None:
    trace = "by 0x4102BB4E: Pier::moor(Boat *, Rope *) (pier.cpp:149)"
    named = title_of(("Winter timetable",), said(*FERRY, trace, trace, trace), long=True)
    assert named.startswith("Winter timetable: Lindholm ferry, ticket, ")


def test_verbs_are_no_key_phrases_and_adjectives_end_none() -> None:
    text = said("The guards inspect wooden cargo.", "They inspect wooden cargo and wooden.", "Guards inspect.")
    no_nouns = {"inspect": False, "wooden": True, "they": False}
    assert key_phrases(text, no_nouns=no_nouns) == ["wooden cargo", "guards"]


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
