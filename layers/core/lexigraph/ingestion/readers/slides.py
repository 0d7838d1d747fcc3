"""Slide decks (pptx): a heading a slide, its lists, texts, tables and notes; form feeds between slides, as between pages."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any

from lexigraph.ingestion.readers.office import check_archive
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, one_line
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "ftr", "hdr"})
_NUMBER = "sldNum"
_LISTED = frozenset({"body", "obj", ""})  # placeholders whose paragraphs are items unless they say otherwise
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read_pptx(data: bytes, settings: Settings) -> Parsed:
    """Read a slide deck in the order of its slides; a slide without a title is called "Slide N".

    Notes stand below their slide. Charts, pictures and diagrams are left out. Raise ``InvalidInput`` for more slides than
    ``max_pages``.
    """
    check_archive(data, settings)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        deck = _Deck(archive)
        slides = deck.slides()
        if len(slides) > settings.max_pages:
            raise InvalidInput(
                f"has {len(slides):,} slides, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
            )
        builder = TextBuilder(settings)
        for number, path in enumerate(slides, 1):
            if number > 1:
                builder.page_break()
            _add_slide(builder, deck, path, number)
        core = deck.part("docProps/core.xml")
    found = {name: core.findtext(f"{{*}}{name}") if core is not None else None for name in ("title", "creator")}
    first = builder.first_heading()
    metadata = {"author": found["creator"], "page_count": len(slides)}
    return builder.parsed(found["title"] or ("" if first == "Slide 1" else first), metadata)


class _Deck:
    """The parts of the archive and how they refer to each other."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())

    def part(self, path: str) -> Any | None:
        """Return the root of an XML part; None when there is no such part."""
        from lxml import etree

        if path not in self._names:
            return None
        return etree.fromstring(self._archive.read(path), etree.XMLParser(resolve_entities=False, no_network=True))

    def related(self, path: str) -> dict[str, tuple[str, str]]:
        """Return what a part refers to: the kind and path of each by its id."""
        folder, name = posixpath.split(path)
        root = self.part(f"{folder}/_rels/{name}.rels")
        found = {}
        for entry in root if root is not None else ():
            target = posixpath.normpath(posixpath.join(folder, entry.get("Target", ""))).lstrip("/")
            found[entry.get("Id", "")] = entry.get("Type", "").rpartition("/")[2], target
        return found

    def slides(self) -> list[str]:
        """Return the paths of the slides in their order. Raise ``InvalidInput`` for what is no slide deck."""
        path = "ppt/presentation.xml"
        root = self.part(path)
        if root is None:
            raise InvalidInput("is damaged, or not a pptx file (no presentation in it)")
        related = self.related(path)
        ids = [entry.get(_RELATION, "") or entry.get(_id_name(entry), "") for entry in root.iter("{*}sldId")]
        return [related[id_][1] for id_ in ids if id_ in related]


def _id_name(entry: Any) -> str:
    """Return the name of the reference in decks of the strict kind, which has a namespace of its own."""
    return next((name for name in entry.attrib if name.endswith("}id")), "id")


def _add_slide(builder: TextBuilder, deck: _Deck, path: str, number: int) -> None:
    slide = deck.part(path)
    shapes = list(_shapes(slide.find(".//{*}spTree"))) if slide is not None else []
    titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    heading = one_line(" ".join(text for shape in titles for _, text in _paragraphs(shape)))
    builder.heading(1, heading or f"Slide {number}")
    for shape in shapes:
        if shape.tag.endswith("}graphicFrame"):
            _add_table(builder, shape)
        elif shape not in titles:
            _add_text(builder, shape)
    for kind, target in deck.related(path).values():
        if kind == "notesSlide" and (notes := deck.part(target)) is not None:
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
