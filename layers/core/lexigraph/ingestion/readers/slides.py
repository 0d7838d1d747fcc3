"""Slide decks (pptx): a heading a slide, its lists, texts, tables and notes; form feeds between slides, as between pages."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from lexigraph.ingestion.readers.office import Parts, check_archive, reference
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, one_line
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "ftr", "hdr"})
_NUMBER = "sldNum"
_LISTED = frozenset({"body", "obj", ""})  # placeholders whose paragraphs are items unless they say otherwise
_DECK = "ppt/presentation.xml"


def read_pptx(data: bytes, settings: Settings) -> Parsed:
    """Read a slide deck in the order of its slides; a slide without a title is called "Slide N".

    Notes stand below their slide. Charts, pictures and diagrams are left out. Raise ``InvalidInput`` for more slides than
    ``max_pages``.
    """
    check_archive(data, settings)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = Parts(archive, settings)
        slides = _slides(parts)
        if len(slides) > settings.max_pages:
            raise InvalidInput(
                f"has {len(slides):,} slides, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
            )
        builder = TextBuilder(settings)
        for number, path in enumerate(slides, 1):
            if number > 1:
                builder.page_break()
            _add_slide(builder, parts, path, number)
        core = parts.core()
    first = builder.first_heading()
    metadata = {"author": core["creator"], "page_count": len(slides)}
    return builder.parsed(core["title"] or ("" if first == "Slide 1" else first), metadata)


def _slides(parts: Parts) -> list[str]:
    """Return the paths of the slides in their order. Raise ``InvalidInput`` for what is no slide deck."""
    root = parts.root(_DECK)
    if root is None:
        raise InvalidInput("is damaged, or not of type pptx (no presentation in it)")
    related = parts.related(_DECK)
    return [related[id_][1] for id_ in map(reference, root.iter("{*}sldId")) if id_ in related]


def _add_slide(builder: TextBuilder, parts: Parts, path: str, number: int) -> None:
    slide = parts.root(path)
    shapes = list(_shapes(slide.find(".//{*}spTree"))) if slide is not None else []
    titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    heading = one_line(" ".join(text for shape in titles for _, text in _paragraphs(shape)))
    builder.heading(1, heading or f"Slide {number}")
    for shape in shapes:
        if shape.tag.endswith("}graphicFrame"):
            _add_table(builder, shape)
        elif shape not in titles:
            _add_text(builder, shape)
    for kind, target in parts.related(path).values():
        if kind == "notesSlide" and (notes := parts.root(target)) is not None:
            for shape in _shapes(notes.find(".//{*}spTree")):
                if _placeholder(shape) == "body":
                    for _, text in _paragraphs(shape):
                        builder.add(text)


def _shapes(parent: Any) -> Iterator[Any]:
    """Yield texts and frames, also those in groups."""
    for child in parent if parent is not None else ():
        name = child.tag.rpartition("}")[2]
        if name == "grpSp":
            yield from _shapes(child)
        elif name in ("sp", "graphicFrame"):
            yield child


def _placeholder(shape: Any) -> str | None:
    """Return the kind of a placeholder, empty when it does not say; None for what is none."""
    found = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if found is None else found.get("type", "")


def _paragraphs(shape: Any) -> Iterator[tuple[bool | None, str]]:
    """Yield the paragraphs of a text with whether they have a bullet; None where they do not say."""
    for paragraph in shape.iterfind("{*}txBody/{*}p"):
        parts = ["\n" if node.tag.endswith("}br") else node.text or "" for node in paragraph.iter("{*}t", "{*}br")]
        properties = paragraph.find("{*}pPr")
        bullet = None
        for child in properties if properties is not None else ():
            name = child.tag.rpartition("}")[2]
            bullet = name != "buNone" if name in ("buNone", "buChar", "buAutoNum", "buBlip") else bullet
        if text := "".join(parts).strip():
            yield bullet, text


def _add_text(builder: TextBuilder, shape: Any) -> None:
    kind = _placeholder(shape)
    if kind == _NUMBER:
        return
    paragraphs = list(_paragraphs(shape))
    if kind in _FURNITURE:
        builder.add("\n".join(text for _, text in paragraphs), BOILERPLATE)
        return
    for bullet, text in paragraphs:
        listed = kind in _LISTED and len(paragraphs) > 1 if bullet is None else bullet
        builder.add(f"- {text}" if listed else text, "list" if listed else "paragraph")


def _add_table(builder: TextBuilder, frame: Any) -> None:
    rows = []
    for row in frame.iter("{*}tr"):
        cells = ("".join(node.text or "" for node in cell.iter("{*}t", "{*}br")) for cell in row.iterfind("{*}tc"))
        rows.append(list(cells))
    add_rows(builder, rows, "table")
