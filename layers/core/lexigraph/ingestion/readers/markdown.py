"""Markdown by markdown-it-py: headings, paragraphs, lists, tables, code, front matter."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.readers.html import add_html
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_parts, check_text, clean, is_badge, numbered
from lexigraph.ingestion.readers.plain.reader import add_fields
from lexigraph.ingestion.readers.tables import statement
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_DEPTH = 100  # levels of blocks: an item of a list is two
_SIGNS = "*_`[]()!<>&\\|~#+-."
_YAML = re.compile(r"[\w.-]+[^\S\n]*:(?:[^\S\n]|$)|[#\s\]}-]|$")
_ENTRY = re.compile(r"([A-Za-z_][\w .-]*?)(?:(?<!\s)[^\S\n]+)?:[^\S\n]+(\S.*)")
_COMMENT = re.compile(r"(?<!\s)\s+#.*$")
# what tools other than CommonMark's know: callouts, labels and places of tables of contents, ids of headings
_CALLOUT = re.compile(r"(?:\[!(\w+)\]|!!!\s+(\w+)(?:\s+\"[^\"]*\")?|:::\s*\{?(\w+)\}?)(?:\s+|$)")
_MARK = re.compile(r"\([\w .-]+\)=|\[\[?_?TOC_?\]?\]|:::+", re.IGNORECASE)
_HEADING_ID = re.compile(r"(?<!\s)\s*\{[:#.][^{}]*\}$")
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}(.*)")
_OPTION = re.compile(r":[\w-]+:.*\n?|---\n(?:.*\n)*?---\n")
_LISTING = frozenset({"toctree", "contents", "tableofcontents", "index"})
_PROSE = frozenset(
    "admonition attention caution danger dropdown epigraph error hint important note seealso sidebar tip topic"
    " warning".split()
)
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}
_TARGET = re.compile(r"(?<=\S)\s+<[^<>]*>$")
_ROLE = re.compile(r"\{([\w:+-]+)\}$")
_LOWEST = 7  # the level of a heading that is only bold, below all that are marked as such
_BOLD_HEADING = 80  # characters at most
_SENTENCE_ENDS = (".", "!", ",", ";", ":", "\u3002", "\uff01", "\uff1a")
_JUMPS = 3  # links into the page, at least half of all, of which a list is a table of contents


def read_markdown(data: bytes, settings: Settings) -> Parsed:
    """Read Markdown (CommonMark and tables); the title is that of the front matter or of fields, else the first heading."""
    text, encoding = decode(data)
    check_text(text, settings)
    text = clean(text)
    check_marks(text, settings)
    front, text = front_matter(text)
    builder = TextBuilder(settings)
    told, text = add_fields(builder, text)
    add_markdown(builder, text)
    title = str(front.pop("title", "")) or told or builder.first_heading()
    return builder.parsed(title, {**front, **encoding_note(encoding)})


def check_marks(text: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for Markdown of too many lines and signs."""
    if len(text) > settings.max_parts:  # a line and each sign that may be one of the format become objects
        check_parts(2 * text.count("\n") + sum(map(text.count, _SIGNS)), "lines and signs of Markdown", settings)


def add_markdown(builder: TextBuilder, text: str) -> None:
    """Add Markdown to a document. Raise ``InvalidInput`` when it is nested more than 100 levels deep."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH + 2}).enable(["table", "strikethrough"])
    references: dict[str, Any] = {}
    tokens = markdown.parse(text, references)
    if any(token.level > MAX_DEPTH for token in tokens):  # what is deeper still the parser leaves out
        raise InvalidInput(f"nests lists and quotations more than {MAX_DEPTH:,} levels deep, an item of a list as two")
    _Walk(builder, markdown, references).over(tokens)


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Part the scalars of a YAML header, between ``---`` and ``---``, from the text below it.

    Lines that are no YAML make it a text between two rules.
    """
    header: list[str] = []
    if not text.startswith("---\n"):
        return {}, text
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

    def __init__(self, builder: TextBuilder, markdown: "MarkdownIt", references: dict[str, Any]) -> None:
        self._builder = builder
        self._markdown = markdown
        self._env = references
        self._counters: list[int | None] = []  # one an open list: the next number, None for bullets
        self._marker = ""
        self._header: list[str] = []
        self._cells: list[str] = []
        self._in_head = self._in_table = False
        self._headed = False  # a line in bold above the first heading is no title

    def over(self, tokens: Sequence["Token"]) -> None:
        level = at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            match token.type:
                case "heading_open":
                    level, self._headed = int(token.tag[1]), True
                case "heading_close":
                    level = 0
                case "inline" if level:
                    self._builder.heading(level, _HEADING_ID.sub("", _inline(token)))
                case "inline" if self._in_table:
                    self._cells.append(" ".join(_inline(token).split()))
                case "inline" if self._headed and token.level == 1 and _is_bold_heading(token):
                    self._builder.heading(_LOWEST, _inline(token))
                case "inline":
                    self._paragraph(_inline(token))
                case "fence" if directive := _DIRECTIVE.match(token.info):
                    self._directive(directive[1], directive[2].strip(), token.content)
                case "fence" | "code_block":
                    self._flush_marker()
                    self._builder.add(token.content, "code")
                case "html_block":
                    add_html(self._builder, token.content)
                case "bullet_list_open" | "ordered_list_open" if not self._counters and (contents := _contents(tokens, at)):
                    self._builder.add("\n".join(map(_inline, contents)), BOILERPLATE)
                    at = _end(tokens, at)
                case _:
                    self._structure(token)

    def _paragraph(self, text: str) -> None:
        if _MARK.fullmatch(text):
            return
        if callout := _CALLOUT.match(text):
            self._marker += f"{next(filter(None, callout.groups())).capitalize()}: "
            text = text[callout.end() :]
            if not text:
                return
        self._builder.add(self._marker + text, "list" if self._counters else "paragraph")
        self._marker = ""

    def _directive(self, name: str, argument: str, content: str) -> None:
        """Add a block of MyST: prose in a frame, code, or a list of pages."""
        body = content
        while option := _OPTION.match(body):
            body = body[option.end() :]
        if name in _LISTING:
            self._builder.add(body, BOILERPLATE)
        elif name in _PROSE or name in _VERSIONS:
            title = argument if name == "admonition" else f"{_VERSIONS.get(name, name.capitalize())} {argument}".strip()
            self._marker += f"{title}: "
            self.over(self._markdown.parse(body, self._env))
            self._flush_marker()
        else:
            self._flush_marker()
            self._builder.add(body, "code")

    def _flush_marker(self) -> None:
        """Add what was to stand before a text, where none comes; a bullet or number alone is nothing."""
        if self._marker.endswith(": "):
            self._builder.add(self._marker.removesuffix(": "), "paragraph")
        self._marker = ""

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


def _is_bold_heading(token: "Token") -> bool:
    """Tell a line that is set in bold instead of being marked as a heading: no sentence, and nothing else beside it."""
    kinds = [child.type for child in token.children or () if child.type != "text" or child.content]
    bold = kinds[:1] == ["strong_open"] and kinds[-1:] == ["strong_close"] and kinds.count("strong_open") == 1
    return bold and len(text := _inline(token)) <= _BOLD_HEADING and not text.endswith(_SENTENCE_ENDS)


def _end(tokens: Sequence["Token"], at: int) -> int:
    """Return the place behind the list whose opening token stands before ``at``."""
    level = tokens[at - 1].level
    while tokens[at].level > level:
        at += 1
    return at + 1


def _contents(tokens: Sequence["Token"], at: int) -> list["Token"]:
    """Return the entries of a list that is a table of contents: links and nothing else, half of them into the page."""
    found: list[Token] = []
    jumps = 0
    for token in tokens[at : _end(tokens, at)]:
        if token.type not in ("inline", "html_block", "fence", "code_block"):
            continue
        if token.type != "inline" or not (targets := _targets(token)):
            return []
        found.append(token)
        jumps += all(target.startswith("#") for target in targets)
    return found if jumps >= max(_JUMPS, len(found) / 2) else []


def _targets(token: "Token") -> list[str]:
    """Return where the links of a text lead that is links and nothing else; none of any other."""
    targets: list[str] = []
    opened = False
    for child in token.children or ():
        if child.type == "link_open":
            targets.append(str(child.attrGet("href")))
            opened = True
        elif child.type == "link_close":
            opened = False
        elif not opened and any(map(str.isalnum, child.content)):
            return []
    return targets


def _inline(token: "Token") -> str:
    """Return the words of an inline token: no markup, links as their text, images as their description."""
    parts: list[str] = []
    for child in token.children or ():
        match child.type:
            case "code_inline" if parts and (role := _ROLE.search(parts[-1])):
                parts[-1] = parts[-1][: role.start()]
                parts.append(numbered(role[1], _TARGET.sub("", child.content)))
            case "text" | "code_inline" | "text_special":
                parts.append(child.content)
            case "image" if not is_badge(str(child.attrGet("src"))):
                parts.append(_inline(child))
            case "softbreak":
                parts.append(" ")
            case "hardbreak":
                parts.append("\n")
            case "html_inline" if child.content.lower().startswith("<br"):
                parts.append("\n")
    return "".join(parts)
