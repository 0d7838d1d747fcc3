"""Books: pages in the order of the spine, under their own headings."""

import pytest

from lexigraph.ingestion.readers.epub import read_epub
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings
from tests import files

PAGES = [
    '<h1><a id="c1"/>Clay</h1><p>Clay is dug in spring.</p><h2>Drying</h2><p>It dries&nbsp;slowly.</p>',
    "<p>To all potters.</p>",
    "<section><h1>Kilns</h1><ul><li>small</li><li>large</li></ul><pre>1300 °C</pre></section>",
]
NAV = '<nav><ol><li><a href="text/part%200.xhtml">Clay</a></li></ol></nav><p>A list of parts</p>'


def test_a_book_reads_in_the_order_of_its_spine() -> None:
    book = files.epub(PAGES, "Of clay", ["Ann Lee", "Bo Ek"], "en", NAV)
    parsed = read_epub(book, load_settings())
    assert parsed.title == "Of clay"
    assert parsed.metadata == {"author": "Ann Lee, Bo Ek", "language": "en"}
    assert [(b.role, b.headings, parsed.text[b.start : b.end]) for b in parsed.blocks] == [
        ("paragraph", ("Clay",), "Clay is dug in spring."),
        ("paragraph", ("Clay", "Drying"), "It dries slowly."),
        ("paragraph", (), "To all potters."),
        ("list", ("Kilns",), "- small"),
        ("list", ("Kilns",), "- large"),
        ("code", ("Kilns",), "1300 °C"),
    ]


def test_a_book_without_a_title_is_named_by_its_first_heading() -> None:
    assert read_epub(files.epub(PAGES), load_settings()).title == "Clay"


def test_a_protected_book_is_said_to_be_one() -> None:
    with pytest.raises(InvalidInput, match="protected by DRM"):
        read_epub(files.with_part(files.epub(PAGES), "META-INF/rights.xml", b"<rights/>"), load_settings())


def test_entities_of_a_package_are_not_expanded() -> None:
    bomb = (
        b'<!DOCTYPE x [<!ENTITY a "Sesame"><!ENTITY b "&a;&a;">]><package><metadata><title>&b;</title></metadata></package>'
    )
    with pytest.raises(InvalidInput, match="contains no text"):
        read_epub(files.with_part(files.epub(PAGES), "OEBPS/book.opf", bomb), load_settings())
