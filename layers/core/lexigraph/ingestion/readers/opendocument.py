"""Files of LibreOffice: texts (odt), sheets (ods), slides (odp). One XML of paragraphs, lists and tables in all three."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, groupby
from typing import Any

from lexigraph.ingestion.readers.office import Parts, check_archive
from lexigraph.ingestion.readers.parsed import Gathered, Parsed, TextBuilder, check_parts
from lexigraph.ingestion.readers.sheets import MAX_COLUMNS, number_text, shown
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.ingestion.readers.word import CODE_STYLE, MAX_BASES, MONO_FONT
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_CONTENT = "content.xml"
_MAX_SPACES = 100  # that one element stands for
_MAX_SPAN = 64  # columns of a cell in a text
_INDEXES = re.compile(r"table-of-content|.+-index|bibliography")
_WRAPPERS = frozenset({"section", "index-body", "index-title", "frame", "text-box", "custom-shape", "rect", "g"})
_ROWS = frozenset({"table-header-rows", "table-rows", "table-row-group"})
_APART = frozenset({"note", "annotation", "frame", "custom-shape", "rect", "g", "ruby-text"})  # no words of their paragraph
_TIME = re.compile(r"PT(\d{1,9})H(\d{1,9})M(\d{1,9})(?:[.,]\d+)?S")


def read_odt(data: bytes, settings: Settings) -> Parsed:
    """Read a text: headings, paragraphs, lists with their numbers, code, tables; notes stand below their paragraph.

    Tables of contents are boilerplate. Headers, footers, comments and deleted text are left out.
    """
    with _opened(data, settings) as parts:
        body, walk, builder = _walk(parts, "text", settings)
        walk.over(body)
        return _parsed(parts, builder, walk.title or builder.first_heading())


def read_odp(data: bytes, settings: Settings) -> Parsed:
    """Read a slide deck: a heading and page a slide, its texts and tables, and its notes. Raise for over ``max_pages``."""
    with _opened(data, settings) as parts:
        body, walk, builder = _walk(parts, "presentation", settings)
        slides = list(body.iterchildren("{*}page"))
        if len(slides) > settings.max_pages:
            raise InvalidInput(
                f"has {len(slides):,} slides, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
            )
        for number, slide in enumerate(slides, 1):
            if number > 1:
                builder.page_break()
            titles = [frame for frame in slide.iterchildren("{*}frame") if _get(frame, "class") == "title"]
            heading = " ".join(text for frame in titles for text in _texts(frame))
            builder.heading(1, heading if heading.strip() else f"Slide {number}")
            walk.over(shape for shape in slide if shape not in titles)
            for notes in slide.iterchildren("{*}notes"):
                walk.over(frame for frame in notes if _get(frame, "class") == "notes")
        first = builder.first_heading()
        return _parsed(parts, builder, "" if first == "Slide 1" else first, page_count=len(slides))


def read_ods(data: bytes, settings: Settings) -> Parsed:
    """Read sheets as those of Excel: a heading a sheet, a block a row; formulas as the values last computed."""
    with _opened(data, settings) as parts:
        builder = TextBuilder(settings)
        for name, found in groupby(_sheet_rows(parts, settings), key=lambda row: row[0]):
            rows = (cells for _, cells in found)
            if first := next(filter(any, rows), None):
                builder.heading(1, name)
                add_rows(builder, chain([first], rows))
        return _parsed(parts, builder)


@contextmanager
def _opened(data: bytes, settings: Settings) -> Iterator[Parts]:
    """Give the parts of a file. Raise ``InvalidInput`` for what is no sound archive of XML."""
    try:
        check_archive(data, settings)
    except SyntaxError:  # what is encrypted is no XML
        raise InvalidInput("is damaged or encrypted: save it again without a password") from None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = Parts(archive, settings)
        if _CONTENT not in parts:
            raise InvalidInput("is damaged, encrypted or no file of LibreOffice (no content in it)")
        yield parts


def _parsed(parts: Parts, builder: TextBuilder, title: str = "", **more: int) -> Parsed:
    root = parts.root("meta.xml")
    said = {} if root is None else {_name(element): element.text or "" for element in root.iterfind("{*}meta/*")}
    return builder.parsed(
        said.get("title") or title, {"author": said.get("initial-creator") or said.get("creator", ""), **more}
    )


# ---------------------------------------------------------------- sheets


def _sheet_rows(parts: Parts, settings: Settings) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of all sheets, each with the name of its sheet; a row that is there many times is yielded so often."""
    count = 0
    for row in parts.stream(_CONTENT, "table-row"):
        cells: list[str] = []
        blank = 0
        for cell in row:
            times = _number(cell, "number-columns-repeated", 1)
            if value := _value(cell) if _name(cell) == "table-cell" else "":
                if len(cells) + blank + times > MAX_COLUMNS:
                    raise InvalidInput(f"is damaged: it has more than {MAX_COLUMNS:,} columns")
                cells += [""] * blank + [value] * times
                blank = 0
            else:
                blank += times
        table = next(row.iterancestors("{*}table"), None)
        name = "" if table is None else _get(table, "name")
        for _ in range(_number(row, "number-rows-repeated", 1) if cells else 1):
            count += len(cells) + 1
            check_parts(count, "cells", settings)
            yield name, cells


def _value(cell: Any) -> str:
    """Return what a cell holds, not rounded as it may be displayed."""
    match _get(cell, "value-type"):
        case "float" | "percentage" | "currency" if value := _get(cell, "value"):
            return number_text(value)
        case "date" if value := _get(cell, "date-value"):
            return shown(datetime.fromisoformat(value))
        case "time" if found := _TIME.fullmatch(_get(cell, "time-value")):
            hours, minutes, seconds = map(int, found.groups())
            length = timedelta(hours=hours, minutes=minutes, seconds=seconds)
            return f"{length!s:0>8}" if length.days == 0 else str(length)
        case "boolean":
            return _get(cell, "boolean-value")
        case _:
            return "\n".join(_texts(cell))


# ---------------------------------------------------------------- texts


@dataclass(frozen=True, slots=True)
class _Style:
    """What a style of paragraphs says: its names and those of the styles that it is based on, in small letters."""

    names: frozenset[str] = frozenset()
    mono: bool = False


def _walk(parts: Parts, kind: str, settings: Settings) -> tuple[Any, "_Walk", TextBuilder]:
    """Return the body of a document of this kind, what goes over it, and where its text goes."""
    content, styles = parts.root(_CONTENT), parts.root("styles.xml")
    body = None if content is None else content.find(f"{{*}}body/{{*}}{kind}")
    if body is None:
        raise InvalidInput(f"is damaged, or not of the type that its name says (no {kind} in it)")
    builder = TextBuilder(settings)
    roots = [root for root in (styles, content) if root is not None]
    return body, _Walk(builder, _styles(roots), _lists(roots)), builder


class _Walk:
    """Goes over paragraphs, lists and tables; lines of code and of contents gather until something else comes."""

    def __init__(self, builder: TextBuilder, styles: dict[str, _Style], lists: dict[tuple[str, int], int]) -> None:
        self._builder, self._styles, self._lists = builder, styles, lists
        self._gathered = Gathered(builder)
        self._ended: dict[tuple[str, int], int] = {}  # the last number of the lists of a style and depth
        self.title = ""

    def over(self, elements: Iterable[Any], *, contents: bool = False) -> None:
        """Add all, and what is in it."""
        for element in elements:
            name = _name(element)
            if name in ("p", "h"):
                self._paragraph(element, contents=contents)
            elif name == "list":
                self._list(element, "", 1)
            elif name == "table":
                self._table(element)
            elif name in _WRAPPERS or _INDEXES.fullmatch(name):
                self.over(element, contents=contents or bool(_INDEXES.fullmatch(name)))
        self._gathered.flush()

    def _paragraph(self, element: Any, mark: str | None = None, *, contents: bool = False) -> None:
        style = self._styles.get(_get(element, "style-name"), _Style())
        text = "".join(_words(element))
        if contents:
            self._gathered.add(text.strip(), BOILERPLATE)
            return
        if any(map(CODE_STYLE.fullmatch, style.names)) or (text.strip() and style.mono):
            self._gathered.add(text, "code")
            return
        self._gathered.flush()
        if _name(element) == "h":
            self._builder.heading(_number(element, "outline-level", 1), text)
        elif "title" in style.names:
            self.title = self.title or text.strip()
            self._builder.heading(0, text)
        elif text.strip():
            self._builder.add(f"{mark or ''}{text}", "paragraph" if mark is None else "list")
        for apart in _apart(element):
            if _name(apart) == "note":
                self._builder.add(
                    " ".join(text for part in apart for text in _texts(part, direct=_name(part) == "note-citation"))
                )
            elif _name(apart) != "annotation":
                self.over([apart])

    def _list(self, element: Any, style: str, depth: int) -> None:
        style = _get(element, "style-name") or style
        begins = self._lists.get((style, depth), 0)  # 0 for bullets
        goes_on = _get(element, "continue-numbering") == "true" or _get(element, "continue-list")
        number = self._ended.get((style, depth), begins - 1) if goes_on else begins - 1
        for item in element:
            mark = ""
            own = any(_name(child) in ("p", "h") for child in item)  # one of deeper items only has no number
            if _name(item) == "list-item" and begins and own:
                number = _number(item, "start-value", number + 1)
                mark = f"{number}. "
            for child in item:
                if _name(child) in ("p", "h"):
                    self._paragraph(child, mark)
                    mark = ""
                elif _name(child) == "list":
                    self._list(child, style, depth + 1)
                else:
                    self.over([child])
        self._ended[style, depth] = number

    def _table(self, table: Any) -> None:
        self._gathered.flush()
        rows = [
            [text for cell in row if _name(cell).endswith("table-cell") for text in _cell(cell)]
            for row in _table_rows(table)
        ]
        if len(rows) == 1 or all(len(cells) == 1 for cells in rows):  # a frame around text
            for row in _table_rows(table):
                for cell in row:
                    self.over(cell)
        else:
            add_rows(self._builder, rows, "table", headed=table.find("{*}table-header-rows") is not None)


def _table_rows(table: Any) -> Iterator[Any]:
    for child in table:
        if _name(child) == "table-row":
            yield child
        elif _name(child) in _ROWS:
            yield from _table_rows(child)


def _cell(cell: Any) -> list[str]:
    return ["\n".join(_texts(cell))] * min(_number(cell, "number-columns-repeated", 1), _MAX_SPAN)


def _texts(element: Any, *, direct: bool = False) -> Iterator[str]:
    """Yield the words of each paragraph in an element, or of the element itself."""
    if direct or _name(element) in ("p", "h"):
        yield "".join(_words(element))
    elif _name(element) != "annotation":
        for child in element:
            yield from _texts(child)


def _words(element: Any) -> Iterator[str]:
    """Yield the words of a paragraph, without notes and boxes of text in it."""
    yield element.text or ""
    for child in element:
        name = _name(child)
        if name == "s":
            yield " " * min(_number(child, "c", 1), _MAX_SPACES)
        elif name in ("tab", "line-break"):
            yield "\t" if name == "tab" else "\n"
        elif name and name not in _APART:
            yield from _words(child)
        yield child.tail or ""


def _apart(element: Any) -> Iterator[Any]:
    """Yield the notes and boxes in a paragraph, those in others not."""
    for child in element:
        if _name(child) in _APART:
            yield child
        else:
            yield from _apart(child)


# ---------------------------------------------------------------- styles and attributes


def _styles(roots: Iterable[Any]) -> dict[str, _Style]:
    """Return the styles of paragraphs by their names."""
    elements = {
        _get(e, "name"): e for root in roots for e in root.iterfind("*/{*}style") if _get(e, "family") == "paragraph"
    }
    styles = {name: _resolved(name, elements) for name in elements}
    if "Standard" in styles and styles["Standard"].mono:  # then it is no sign of code
        return {name: _Style(style.names) for name, style in styles.items()}
    return styles


def _resolved(name: str, elements: dict[str, Any]) -> _Style:
    names, font = set[str](), ""
    for _ in range(MAX_BASES):
        element = elements.get(name)
        if element is None:
            break
        names.add(name.replace("_20_", " ").casefold())
        properties = element.find("{*}text-properties")
        if properties is not None:
            font = font or _get(properties, "font-name") or _get(properties, "font-family")
        name = _get(element, "parent-style-name")
    return _Style(frozenset(names), bool(MONO_FONT.search(font)))


def _lists(roots: Iterable[Any]) -> dict[tuple[str, int], int]:
    """Return with which number the numbered lists of each style and depth begin."""
    return {
        (_get(style, "name"), _number(level, "level", 1)): _number(level, "start-value", 1)
        for root in roots
        for style in root.iterfind("*/{*}list-style")
        for level in style.iterfind("{*}list-level-style-number")
        if _get(level, "num-format")
    }


def _name(element: Any) -> str:
    """Return the name of an element without its namespace; empty for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _get(element: Any, name: str) -> str:
    """Return an attribute of any namespace; empty when it is not there."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _number(element: Any, name: str, default: int) -> int:
    value = _get(element, name)
    return int(value) if value.isdecimal() and len(value) < 10 else default
