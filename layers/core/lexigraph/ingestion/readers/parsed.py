"""What every reader makes: clean text, and blocks with the headings above them."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from lexigraph.model.document import BOILERPLATE, Block
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import scalar
from lexigraph.model.graph import Metadata, Scalar
from lexigraph.settings import Settings

# longer "headings" are paragraphs in a heading's clothes
MAX_HEADING_CHARS = 300
MAX_VALUE_CHARS = 2_000
# of what takes less memory there may be more; tags count with their attributes
_FOR_A_PART = {
    "cells": 10,
    "lines of a message": 3,  # most are those of attachments
    "tags": 3,
    "tags and attributes": 2,
    "strings": 3,
    "keys": 3,
    "clauses": 2,
    "pieces of text": 2,
    "operands of a page": 3,
    "operands of all pages": 100,  # gone with their page: they take time only
}
_ROWS_OF_WIDEST = 100  # a row is held whole: it may have a hundredth of all cells
_LINE_ENDS = "\v\f\x85\u2028\u2029"
_JOINED = frozenset({"list", "table", "row"})
_TRANSLATED = {0xA0: " ", 0xAD: None, 0xFEFF: None, 0x2028: "\n", 0x2029: "\n", 0x0B: "\n", 0x0C: "\n", 0x85: "\n"}
_BAD = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BLANKS = re.compile(r"[^\S\n]+")
_BADGE = re.compile(
    r"(?:https?:)?//\S*(?:badge|shields?[./]|badgen\.|travis-ci|appveyor|circleci|coveralls|codecov|packagephobia|nodei\.co)",
    re.IGNORECASE,
)
_LINE_EDGES = re.compile(r" ?\n[ \n]*")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document as its reader leaves it; an empty ``title`` means that the file does not say."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    metadata: Metadata = field(default_factory=dict)


class TextBuilder:
    """Collects headings and blocks in reading order and keeps count of their offsets.

    Headings stand in the text on lines of their own, above their blocks. One that has neither block nor lower heading
    below it becomes a block of role ``heading``, so that its words are not lost.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cells = self._in_cells = 0
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._path: list[tuple[int, str]] = []
        self._above: tuple[str, ...] = ()  # the path's texts, one tuple for all blocks of a section
        self.base = 0  # levels above those that headings are given: of the part of a page that is another document
        self._bare: Block | None = None
        self._role = ""
        self._page_break = False

    def heading(self, level: int, text: str) -> None:
        """Begin a section; ``level`` counts from 1 downwards (0 is above all)."""
        text = one_line(text)
        if len(text) > MAX_HEADING_CHARS:
            self.add(text)
            return
        if not text:
            return
        self.end_sections(level - 1)
        level += self.base
        start, end = self._append(text, "heading")
        self._bare = Block(start, end, self._above, "heading")
        self._path.append((level, text))
        self._above = (*self._above, text)

    def add(self, text: str, role: str = "paragraph") -> None:
        """Add a block; blank text is passed over. Code keeps its white space, everything else its line breaks only.

        A form feed in it is the page break over which it goes on.
        """
        text = _code(text) if role == "code" else "\f".join(map(paragraph, text.split("\f")))
        if not text:
            return
        self._bare = None
        start, end = self._append(text, role)
        self._blocks.append(Block(start, end, self._above, role))
        check_parts(len(self._blocks), "paragraphs and rows", self._settings)

    def cells(self, row: Sequence[str]) -> list[str]:
        """Return the cells of a row of a table, each on one line, and count them and what they say."""
        self._cells += len(row) + 1
        self._in_cells += sum(map(len, row))  # some files say one thing once and put it into many
        check_length(self._in_cells, self._settings.max_text_chars)
        check_parts(max(self._cells, len(row) * _ROWS_OF_WIDEST), "cells", self._settings)
        return [one_line(cell) for cell in row]

    def page_break(self) -> None:
        """Put a form feed before the next block: page = form feeds before an offset, plus one."""
        self._parts.append("\n\f")
        self._length += 2
        self._page_break = True

    def end_sections(self, level: int) -> None:
        """End the sections below ``level``: what follows stands under the headings above only."""
        level += self.base
        if not self._path or self._path[-1][0] <= level:
            return
        self._keep_bare_heading()
        while self._path and self._path[-1][0] > level:
            self._path.pop()
        self._above = tuple(text for _, text in self._path)

    def parsed(self, title: str = "", metadata: Mapping[str, Any] | None = None, *, silent: bool = False) -> Parsed:
        """Return the document; no statements are made of a ``silent`` one. Raise ``InvalidInput`` when there is no text."""
        self._keep_bare_heading()
        if not self._blocks:
            raise InvalidInput("contains no text")
        blocks = self._blocks
        if silent:
            blocks = [replace(block, role=BOILERPLATE) for block in blocks]
        elif all(block.role in (BOILERPLATE, "heading") for block in blocks):  # then it is what the document is about
            blocks = [replace(block, role="paragraph") if block.role == BOILERPLATE else block for block in blocks]
        return Parsed(one_line(title)[:MAX_HEADING_CHARS], "".join(self._parts), tuple(blocks), scalars(metadata or {}))

    def first_heading(self) -> str:
        """Return the text of the first heading, empty when there is none."""
        headings = (h for block in self._blocks for h in block.headings)
        return next(headings, "") or (self._path[0][1] if self._path else "")

    def _keep_bare_heading(self) -> None:
        if self._bare is not None:
            self._blocks.append(self._bare)
            check_parts(len(self._blocks), "paragraphs and rows", self._settings)
            self._bare = None

    def _append(self, text: str, role: str) -> tuple[int, int]:
        if self._length and not self._page_break:
            gap = "\n" if role == self._role and role in _JOINED else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        self._page_break = False
        self._role = role
        start, end = self._length, self._length + len(text)
        check_length(end, self._settings.max_text_chars)
        self._parts.append(text)
        self._length = end
        return start, end


class Gathered:
    """Lines of one role, as of code, that are one block: until those of another come, or it is flushed."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._role = ""
        self._lines: list[str] = []

    def add(self, text: str, role: str) -> None:
        """Add a line."""
        if role != self._role:
            self.flush()
        self._role = role
        self._lines.append(text)

    def flush(self) -> None:
        """Add the block."""
        self._builder.add("\n".join(self._lines), self._role)
        self._lines, self._role = [], ""


def check_parts(count: int, kind: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for more of a kind than ``max_parts`` allows: what fills the memory before the text is long."""
    if too_many(count, kind, settings):
        limit = _most(kind, settings)
        raise InvalidInput(f"has more than {limit:,} {kind} (max_parts): split it or raise the limit")


def too_many(count: int, kind: str, settings: Settings) -> bool:
    """Tell whether :func:`check_parts` would raise."""
    return count > _most(kind, settings)


def _most(kind: str, settings: Settings) -> int:
    return settings.max_parts * _FOR_A_PART.get(kind, 1)


def check_text(text: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for a text with too many characters or lines."""
    check_length(len(text), settings.max_text_chars)
    if len(text) > settings.max_parts:
        check_parts(max(text.count("\n"), text.count("\r")) + sum(map(text.count, _LINE_ENDS)), "lines", settings)


def check_length(characters: int, limit: int) -> None:
    """Raise ``InvalidInput`` when a text is longer than ``max_text_chars``."""
    if characters > limit:
        raise InvalidInput(f"has more than {limit:,} characters of text (max_text_chars): split it or raise the limit")


def clean(text: str) -> str:
    """Return text without control characters and lone surrogates, composed (NFC), each line break a line feed."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text.translate(_TRANSLATED)))
    elif "\x0b" in text or "\x0c" in text:
        text = text.translate(_TRANSLATED)
    return _BAD.sub("", text)


def paragraph(text: str) -> str:
    """Return cleaned text with single spaces, no blank line and no space at a line's edge."""
    return _LINE_EDGES.sub("\n", _BLANKS.sub(" ", clean(text))).strip()


def one_line(text: str) -> str:
    """Return cleaned text on one line."""
    return " ".join(clean(text).split())


def is_badge(address: str) -> bool:
    """Tell whether a picture is a badge, by its address: its description says what it shows of, not what."""
    return bool(_BADGE.match(address))


def numbered(role: str, text: str) -> str:
    """Return what a role of Sphinx or MyST stands for: ``PEP 508`` where the role is ``pep`` and the text ``508``."""
    return f"{role.upper()} {text}" if role in ("pep", "rfc", "cve", "cwe") else text


def _code(text: str) -> str:
    return "\n".join(line.rstrip() for line in clean(text).split("\n")).strip("\n")


def scalars(raw: Mapping[Any, Any]) -> dict[str, Scalar]:
    """Return what metadata may hold: text (at most 2,000 characters), finite numbers, booleans, dates as ISO text."""
    kept: dict[str, Scalar] = {}
    for name, value in raw.items():
        key, known = one_line(str(name)), scalar(value)
        if isinstance(known, str):
            known = clean(known).strip()[:MAX_VALUE_CHARS]
        elif isinstance(known, float) and not isfinite(known):
            known = None
        elif isinstance(known, int) and not isinstance(known, bool) and abs(known) >= 2**63:
            known = str(known)  # what no store holds as an integer
        if key and known is not None and known != "":
            kept[key] = known
    return kept
