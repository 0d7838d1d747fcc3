"""Markdown by markdown-it-py: headings, paragraphs, lists, tables, code, front matter."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.readers.html import add_html
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, clean
from lexigraph.ingestion.readers.tables import statement
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from markdown_it.token import Token

_YAML = re.compile(r"[\w.-]+[^\S\n]*:(?:[^\S\n]|$)|[#\s\]}-]|$")
_ENTRY = re.compile(r"([A-Za-z_][\w .-]*?)[^\S\n]*:[^\S\n]+(\S.*)")
_COMMENT = re.compile(r"\s+#.*$")


def read_markdown(data: bytes, settings: Settings) -> Parsed:
    """Read Markdown (CommonMark and tables); the title is that of the front matter, else the first heading."""
    from markdown_it import MarkdownIt

    text, encoding = decode(data)
    check_length(len(text), settings.max_text_chars)
    text = clean(text)
    front: dict[str, Any] = {}
    if text.startswith("---\n"):
        front, text = _front_matter(text)
    builder = TextBuilder(settings)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    _Walk(builder).over(tokens)
    title = str(front.pop("title", "")) or builder.first_heading()
    return builder.parsed(title, {**front, **encoding_note(encoding)})


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Part the scalars of a YAML header, between ``---`` and ``---``, from the text below it.

    Lines that are no YAML make it a text between two rules.
    """
    header: list[str] = []
    at = 4
    while (end := text.find("\n", at)) > 0:
        line = text[at:end].rstrip()
        at = end + 1
        if line in ("---", "..."):
            return _scalar_entries(header), text[at:]
        if not _YAML.match(line):
            break
        header.append(line)
    return {}, text


def _scalar_entries(lines: list[str]) -> dict[str, Any]:
    """Read the scalars of the outermost level: text, numbers, booleans."""
    found: dict[str, Any] = {}
    for line in lines:
        entry = _ENTRY.fullmatch(line)
        if not entry or entry[2][0] in "[{|>&*!#":
            continue
        value = entry[2]
        if value[0] in "\"'" and (end := value.find(value[0], 1)) > 0:
            found[entry[1]] = value[1:end]
            continue
        value = _COMMENT.sub("", value)
        try:
            found[entry[1]] = json.loads(value)
        except ValueError:
            found[entry[1]] = value
    return found


class _Walk:
    """Goes over the flat list of tokens once, remembering the lists and tables that are open."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._counters: list[int | None] = []  # one an open list: the next number, None for bullets
        self._marker = ""
        self._header: list[str] = []
        self._cells: list[str] = []
        self._in_head = self._in_table = False

    def over(self, tokens: Sequence["Token"]) -> None:
        level = 0
        for token in tokens:
            match token.type:
                case "heading_open":
                    level = int(token.tag[1])
                case "heading_close":
                    level = 0
                case "inline" if level:
                    self._builder.heading(level, _inline(token))
                case "inline" if self._in_table:
                    self._cells.append(" ".join(_inline(token).split()))
                case "inline":
                    self._builder.add(self._marker + _inline(token), "list" if self._counters else "paragraph")
                    self._marker = ""
                case "fence" | "code_block":
                    self._builder.add(token.content, "code")
                case "html_block":
                    add_html(self._builder, token.content)
                case _:
                    self._structure(token)

    def _structure(self, token: "Token") -> None:
        match token.type:
            case "bullet_list_open":
                self._counters.append(None)
            case "ordered_list_open":
                self._counters.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                self._counters.pop()
            case "list_item_open":
                number = self._counters[-1]
                self._marker = "- " if number is None else f"{number}. "
                self._counters[-1] = None if number is None else number + 1
            case "list_item_close":
                self._marker = ""
            case "table_open" | "table_close":
                self._in_table = token.type == "table_open"
                self._header = []
            case "thead_open" | "thead_close":
                self._in_head = token.type == "thead_open"
            case "tr_open":
                self._cells = []
            case "tr_close" if self._in_head:
                self._header = self._cells
            case "tr_close":
                self._builder.add(statement(self._header, self._cells), "table")


def _inline(token: "Token") -> str:
    """Return the words of an inline token: no markup, links as their text, images as their description."""
    parts = []
    for child in token.children or ():
        match child.type:
            case "text" | "code_inline" | "text_special":
                parts.append(child.content)
            case "image":
                parts.append(_inline(child))
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "html_inline" if child.content.lower().startswith("<br"):
                parts.append("\n")
    return "".join(parts)
