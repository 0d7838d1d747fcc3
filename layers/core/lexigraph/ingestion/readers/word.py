"""Word files: headings by outline level, lists with their numbers, code by style or font, tables."""

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from lexigraph.ingestion.readers.office import Parts, check_archive
from lexigraph.ingestion.readers.parsed import Gathered, Parsed, TextBuilder
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SPACING = {f"{_W}tab": " ", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}p": "\n"}
_NOTES = ("footnote", "endnote")
_BODY_LEVEL = 9  # the outline level of what is no heading
MONO_FONT = re.compile(r"mono|courier|consol|typewriter|menlo|inconsolata|lucida sans type", re.IGNORECASE)
CODE_STYLE = re.compile(
    r"(?:source )?code(?: block)?|html preformatted|preformatted text|macro text|verbatim|plain text code|listing"
)
_CONTENTS = re.compile(r"toc \d|toc heading|table of (?:figures|authorities)|contents (?:heading|\d)|index \d|index heading")
MAX_BASES = 20  # styles that a style is made of
_MAX_DEPTHS = 9  # of a list
_COUNTED = frozenset({"decimal", "decimalZero", "lowerLetter", "upperLetter", "lowerRoman", "upperRoman"})


@dataclass(frozen=True, slots=True)
class _Style:
    """What a style of paragraphs says, with all that it is based on; ``level`` 0 is no heading."""

    name: str = ""
    level: int = 0
    mono: bool = False
    list_: tuple[str, int] | None = None  # numbering and depth


def read_docx(data: bytes, settings: Settings) -> Parsed:
    """Read a Word file: headings, paragraphs, lists, code and tables in document order; inserted text counts as text.

    Tables of contents are boilerplate. Notes stand below their paragraph or table. Headers, footers and comments are left
    out.
    """
    check_archive(data, settings)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = Parts(archive, settings)
        path = parts.of_kind("", "officeDocument")
        document = parts.root(path)
        styles, numbering = (parts.root(parts.of_kind(path, kind)) for kind in ("styles", "numbering"))
        notes = {kind: _notes(parts.root(parts.of_kind(path, f"{kind}s"))) for kind in _NOTES}
        core = parts.core()
    body = None if document is None else document.find(f"{_W}body")
    if body is None:
        raise InvalidInput("is damaged, or not of type docx (no document in it)")
    for twice in list(body.iter(_FALLBACK)):  # a text box is there once for old readers, once for new ones
        twice.getparent().remove(twice)
    builder = TextBuilder(settings)
    title = _Walk(builder, _styles(styles), _Numbers(numbering), notes).over(body)
    return builder.parsed(core["title"] or title or builder.first_heading(), {"author": core["creator"]})


class _Walk:
    """Goes over paragraphs and tables; lines of code and of contents gather until something else comes."""

    def __init__(
        self, builder: TextBuilder, styles: dict[str, _Style], numbers: "_Numbers", notes: dict[str, dict[str, str]]
    ) -> None:
        self._builder = builder
        self._styles = styles
        self._numbers = numbers
        self._notes = notes
        self._gathered = Gathered(builder)
        self._title = ""

    def over(self, body: Any) -> str:
        """Add all; return the text of the first paragraph in the style of titles."""
        for element, contents in _flow(body):
            if element.tag == f"{_W}tbl":
                self._gathered.flush()
                _add_table(self._builder, element)
            else:
                self._paragraph(element, contents)
            for kind, notes in self._notes.items():
                for mark in element.iter(f"{_W}{kind}Reference") if notes else ():
                    if note := notes.pop(mark.get(f"{_W}id", ""), ""):
                        self._gathered.flush()
                        self._builder.add(note)
        self._gathered.flush()
        return self._title

    def _paragraph(self, element: Any, contents: bool) -> None:
        style = self._styles.get(_value(element, "pPr/pStyle"), _Style())
        text = _text(element)
        if contents or _CONTENTS.fullmatch(style.name):
            self._gathered.add(text.strip(), BOILERPLATE)
            return
        if CODE_STYLE.fullmatch(style.name) or (text.strip() and (style.mono or _is_mono(element))):
            self._gathered.add(text, "code")
            return
        self._gathered.flush()
        level = int(own) + 1 if (own := _value(element, "pPr/outlineLvl")).isdecimal() else style.level
        if style.name == "title":
            self._title = self._title or text.strip()
            self._builder.heading(0, text)
        elif 0 < level <= _BODY_LEVEL:
            self._builder.heading(level, text)
        elif text.strip():
            mark = self._numbers.mark(element, style)
            listed = mark is not None or style.name.startswith("list")
            self._builder.add(f"{mark or ''}{text}", "list" if listed else "paragraph")


def _flow(parent: Any, contents: bool = False) -> Iterator[tuple[Any, bool]]:
    """Yield paragraphs and tables, also those in content controls and other wrappers; True in a table of contents."""
    for child in parent:
        if child.tag in (f"{_W}p", f"{_W}tbl"):
            yield child, contents
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
            gallery = _value(child, "sdtPr/docPartObj/docPartGallery")
            yield from _flow(child, contents or gallery == "Table of Contents")


def _value(element: Any, path: str) -> str:
    """Return what the property at a path says; empty when it is not there."""
    found = element.find("/".join(f"{_W}{name}" for name in path.split("/")))
    return "" if found is None else found.get(f"{_W}val", "")


def _text(element: Any) -> str:
    """Return the words of a paragraph or cell; deleted text has a tag of its own and is not among them."""
    nodes = element.iter(f"{_W}t", *_SPACING)
    parts = (node.text or "" if node.tag == f"{_W}t" else _SPACING[node.tag] for node in nodes if node is not element)
    return "".join(parts)


def _notes(root: Any | None) -> dict[str, str]:
    """Return the notes at the foot of pages, or at the end, by their ids."""
    return {} if root is None else {note.get(f"{_W}id", ""): _text(note).strip() for note in root}


def _is_mono(paragraph: Any) -> bool:
    """Tell a paragraph whose every run is set in a font of one width."""
    runs = [run for run in paragraph.iter(f"{_W}r") if any((node.text or "").strip() for node in run.iter(f"{_W}t"))]
    return bool(runs) and all(MONO_FONT.search(_font(run)) for run in runs)


def _font(element: Any) -> str:
    fonts = element.find(f"{_W}rPr/{_W}rFonts")
    return "" if fonts is None else fonts.get(f"{_W}ascii", "")


# ---------------------------------------------------------------- styles and numbers


def _styles(root: Any | None) -> dict[str, _Style]:
    """Return the styles of paragraphs by their ids."""
    elements = {} if root is None else {style.get(f"{_W}styleId", ""): style for style in root.iterfind(f"{_W}style")}
    styles = {id_: _resolved(id_, elements) for id_ in elements}
    if any(style.mono and style.name == "normal" for style in styles.values()):  # then it is no sign of code
        return {id_: replace(style, mono=False) for id_, style in styles.items()}
    return styles


def _resolved(id_: str, elements: dict[str, Any]) -> _Style:
    name = _value(elements[id_], "name").casefold()
    outline, mono, numbering, depth = "", "", "", ""
    for _ in range(MAX_BASES):
        element = elements.get(id_)
        if element is None:
            break
        outline = outline or _value(element, "pPr/outlineLvl")
        numbering = numbering or _value(element, "pPr/numPr/numId")
        depth = depth or _value(element, "pPr/numPr/ilvl")
        mono = mono or _font(element)
        id_ = _value(element, "basedOn")
    level = int(outline) + 1 if outline.isdecimal() else 0
    if name.startswith("heading ") and name[8:].isdecimal():
        level = int(name[8:])
    listed = (numbering, int(depth) if depth.isdecimal() else 0) if numbering.isdecimal() and numbering != "0" else None
    return _Style(name, level, bool(MONO_FONT.search(mono)), listed)


class _Numbers:
    """Counts the items of numbered lists as Word does: each depth by itself, anew below the next item of a higher one."""

    def __init__(self, root: Any | None) -> None:
        self._formats = {} if root is None else _formats(root)
        self._counts: dict[str, dict[int, int]] = {}

    def mark(self, paragraph: Any, style: _Style) -> str | None:
        """Return what stands before an item: its number, nothing for a bullet; None when it is none."""
        own = _value(paragraph, "pPr/numPr/numId")
        if own == "0" or (not own and style.list_ is None):
            return None
        depth = _value(paragraph, "pPr/numPr/ilvl")
        list_, at = (own, int(depth) if depth.isdecimal() else 0) if own else (style.list_ or ("", 0))
        if self._formats.get((list_, at), "bullet") not in _COUNTED:
            return ""
        counts = self._counts.setdefault(list_, {})
        counts[at] = counts.get(at, 0) + 1
        for lower in [depth for depth in counts if depth > at]:
            del counts[lower]
        return f"{counts[at]}. "


def _formats(root: Any) -> dict[tuple[str, int], str]:
    """Return how the items of each list and depth are numbered."""
    abstract = {
        element.get(f"{_W}abstractNumId"): {
            int(level.get(f"{_W}ilvl", "0")): _value(level, "numFmt")
            for level in islice(element.iterfind(f"{_W}lvl"), _MAX_DEPTHS)
        }
        for element in root.iterfind(f"{_W}abstractNum")
    }
    return {
        (number.get(f"{_W}numId"), depth): kind
        for number in root.iterfind(f"{_W}num")
        for depth, kind in abstract.get(_value(number, "abstractNumId"), {}).items()
    }


# ---------------------------------------------------------------- tables


def _add_table(builder: TextBuilder, table: Any) -> None:
    rows: list[list[str]] = []
    for row in table.iterchildren(f"{_W}tr"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_W}tc"):
            span = _value(cell, "tcPr/gridSpan")
            text = _text(cell).strip()
            if _goes_on(cell) and rows and len(cells) < len(rows[-1]):  # merged with the cell above
                text = rows[-1][len(cells)]
            cells += [text, *[""] * (min(int(span), 64) - 1 if span.isdecimal() else 0)]
        rows.append(cells)
    if len(rows) == 1 or all(len(cells) == 1 for cells in rows):  # a frame around text
        for cells in rows:
            for text in cells:
                builder.add(text)
    else:
        add_rows(builder, rows, "table")


def _goes_on(cell: Any) -> bool:
    merge = cell.find(f"{_W}tcPr/{_W}vMerge")
    return merge is not None and merge.get(f"{_W}val", "continue") == "continue"
