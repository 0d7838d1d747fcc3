"""Slide decks: a heading a slide, in their order, with the slide for a page."""

import pytest

from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.ingestion.readers.slides import read_pptx
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings
from tests import files
from tests.files import shape, slide_table

SLIDES = [
    shape("Kilns in winter", "ctrTitle") + shape("A talk in Ghent", "subTitle"),
    shape("Cooling", "title")
    + shape("Wet clay keeps the heat.\nEmbers keep it, too.", "body")
    + shape("Measured in nine kilns.\n*All were lit at noon.")
    + shape("Potters 2026", "ftr")
    + shape("2", "sldNum"),
    "<p:grpSp>" + shape("Cones were read twice.") + "</p:grpSp>" + slide_table([["Cone", "Degrees"], ["06", "999"]]),
]


def parts(parsed: Parsed) -> list[tuple[int, str, str, str]]:
    """Each block as (slide, role, heading path, text)."""
    return [
        (parsed.text.count("\f", 0, b.start) + 1, b.role, " > ".join(b.headings), parsed.text[b.start : b.end])
        for b in parsed.blocks
    ]


def test_a_deck_reads_slide_by_slide_with_its_notes() -> None:
    parsed = read_pptx(files.pptx(SLIDES, {1: "Say where this was measured."}, author="Ann Lee"), load_settings())
    assert parsed.title == "Kilns in winter"
    assert parsed.metadata == {"author": "Ann Lee", "page_count": 3}
    assert parts(parsed) == [
        (1, "paragraph", "Kilns in winter", "A talk in Ghent"),
        (2, "list", "Cooling", "- Wet clay keeps the heat."),
        (2, "list", "Cooling", "- Embers keep it, too."),
        (2, "paragraph", "Cooling", "Measured in nine kilns."),
        (2, "list", "Cooling", "- All were lit at noon."),
        (2, "boilerplate", "Cooling", "Potters 2026"),
        (2, "paragraph", "Cooling", "Say where this was measured."),
        (3, "paragraph", "Slide 3", "Cones were read twice."),
        (3, "table", "Slide 3", "Cone: 06; Degrees: 999"),
    ]


def test_a_deck_whose_first_slide_has_no_title_is_named_by_its_file() -> None:
    assert read_pptx(files.pptx([shape("Some text.")]), load_settings()).title == ""
    assert read_pptx(files.pptx([shape("Some text.")], title="Winter"), load_settings()).title == "Winter"


def test_a_deck_of_too_many_slides_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has 3 slides, the limit is 2"):
        read_pptx(files.pptx(SLIDES), load_settings(max_pages=2))
