"""Word files: what styles, numbering and fonts say of paragraphs."""

import io
from typing import Any

from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.ingestion.readers.word import read_docx
from lexigraph.settings import load_settings
from tests.unit.ingestion.readers.reading import placed


def new() -> Any:
    from docx import Document

    return Document()


def read(document: Any) -> Parsed:
    out = io.BytesIO()
    document.save(out)
    return read_docx(out.getvalue(), load_settings())


def style(document: Any, name: str, *, level: int | None = None, font: str = "", base: str = "") -> None:
    """Add a style of paragraphs with an outline level (from 0), a font or a style that it is based on."""
    from docx.enum.style import WD_STYLE_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    made = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    if base:
        made.base_style = document.styles[base]
    if font:
        made.font.name = font
    if level is not None:
        outline = OxmlElement("w:outlineLvl")
        outline.set(qn("w:val"), str(level))
        made.element.get_or_add_pPr().append(outline)


def test_headings_are_told_by_their_outline_level_in_any_language() -> None:
    document = new()
    style(document, "Kapitel", level=0)
    style(document, "Abschnitt", level=1)
    style(document, "Abschnitt rot", base="Abschnitt")
    for name, text in (("Kapitel", "Öfen"), ("Abschnitt rot", "Wärme"), ("Normal", "Öfen kühlen aus.")):
        document.add_paragraph(text, style=name)
    assert placed(read(document)) == [("paragraph", "Öfen > Wärme", "Öfen kühlen aus.")]


def test_items_of_numbered_lists_have_their_numbers() -> None:
    document = new()
    for name, text in (
        ("List Number", "Dry the clay."),
        ("List Number 2", "Small pots."),
        ("List Number 2", "Large pots."),
        ("List Number", "Light the fire."),
        ("List Bullet", "Wait."),
    ):
        document.add_paragraph(text, style=name)
    assert [text for _, _, text in placed(read(document))] == [
        "1. Dry the clay.",
        "1. Small pots.",
        "2. Large pots.",
        "2. Light the fire.",
        "Wait.",
    ]
    assert {role for role, _, _ in placed(read(document))} == {"list"}


def test_code_is_told_by_style_or_font_and_is_one_block() -> None:
    document = new()
    style(document, "Source Code")
    style(document, "Console", font="Courier New")
    document.add_paragraph("Light it:")
    for line in ("def fire(kiln):", "    kiln.light()", "", "    return kiln"):
        document.add_paragraph(line, style="Source Code")
    document.add_paragraph("Then type this:")
    document.add_paragraph("$ kiln --open", style="Console")
    document.add_paragraph("or this:")
    document.add_paragraph().add_run("$ kiln --wait").font.name = "DejaVu Sans Mono"
    document.add_paragraph("Some words are set in ").add_run("code").font.name = "Consolas"
    assert placed(read(document)) == [
        ("paragraph", "", "Light it:"),
        ("code", "", "def fire(kiln):\n    kiln.light()\n\n    return kiln"),
        ("paragraph", "", "Then type this:"),
        ("code", "", "$ kiln --open"),
        ("paragraph", "", "or this:"),
        ("code", "", "$ kiln --wait"),
        ("paragraph", "", "Some words are set in code"),
    ]


def test_a_table_of_contents_is_boilerplate() -> None:
    document = new()
    style(document, "toc 1")
    document.add_paragraph("Contents", style="TOC Heading")
    for line in ("Clay\t1", "Kilns\t3"):
        document.add_paragraph(line, style="toc 1")
    document.add_paragraph("Clay", style="Heading 1")
    document.add_paragraph("Clay is dug in spring.")
    document.add_paragraph("Figure 1: A pit", style="Caption")
    assert placed(read(document)) == [
        ("boilerplate", "", "Contents\nClay 1\nKilns 3"),
        ("paragraph", "Clay", "Clay is dug in spring."),
        ("paragraph", "Clay", "Figure 1: A pit"),
    ]


def test_a_document_in_one_font_of_one_width_is_no_code() -> None:
    document = new()
    document.styles["Normal"].font.name = "Courier New"
    document.add_paragraph("Clay is dug in spring.")
    assert placed(read(document)) == [("paragraph", "", "Clay is dug in spring.")]


def test_a_cell_merged_over_rows_is_said_in_each_of_them() -> None:
    document = new()
    table = document.add_table(rows=3, cols=2)
    for cell, text in zip(table._cells, ("Role", "Name", "Potter", "Ann", "", "Bo"), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    assert [text for _, _, text in placed(read(document))] == ["Role: Potter; Name: Ann", "Role: Potter; Name: Bo"]


def test_a_note_stands_below_its_paragraph() -> None:
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part
    from docx.oxml import OxmlElement
    from docx.oxml.ns import nsdecls, qn

    document = new()
    paragraph = document.add_paragraph("The kiln was rebuilt.")
    mark = OxmlElement("w:footnoteReference")
    mark.set(qn("w:id"), "2")
    paragraph.add_run()._r.append(mark)
    document.add_paragraph("It is fired in May.")
    note = '<w:footnote w:id="2"><w:p><w:r><w:t>It burned in 2019.</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>".encode()
    part = Part(PackURI("/word/footnotes.xml"), "application/xml", notes, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    assert [text for _, _, text in placed(read(document))] == [
        "The kiln was rebuilt.",
        "It burned in 2019.",
        "It is fired in May.",
    ]
