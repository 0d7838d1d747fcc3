"""HTML by Beautiful Soup over the standard library's parser: the main content without navigation and scripts."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, one_line
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_DEPTH = 500
_CHARSET = re.compile(rb"""<(?:meta[^>]+charset|\?xml[^>]+encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SECTION = re.compile(r"<!\[[^>]*>")
_SPACE = re.compile(r"\s+")
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_BLOCK_NAMES = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
    header hgroup hr html legend li main menu nav ol p section summary table tbody td tfoot th thead tr ul
"""
_DROPPED_NAMES = """
    button canvas datalist embed head iframe input nav noscript object script select style svg template textarea
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_DROPPED = frozenset(_DROPPED_NAMES.split())
_FRAME = frozenset({"aside", "footer"})  # around the content, unless they are within it
# start tag -> what it closes when it was left open, and where to stop looking
_IMPLIED = {
    "li": ({"li"}, {"ul", "ol", "menu", "table"}),
    "dt": ({"dt", "dd"}, {"dl", "table"}),
    "dd": ({"dt", "dd"}, {"dl", "table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "tr": ({"tr"}, {"table"}),
    "p": ({"p"}, _BLOCKS - {"p"}),
}


def read_html(data: bytes, settings: Settings) -> Parsed:
    """Read a page: title, headings, text, lists, tables and code of its main part, or of its body."""
    declared = _CHARSET.search(data[:4_096])
    text, encoding = decode(data, declared[1].decode("ascii") if declared else "")
    check_length(len(text), settings.max_text_chars)
    soup = parse(text)
    builder = TextBuilder(settings)
    main = _main_part(soup)
    _Walk(builder, _DROPPED if main else _DROPPED | _FRAME).over(main or soup.body or soup)
    page = soup.find("title")
    title = one_line(page.get_text()) if page else ""
    return builder.parsed(title or builder.first_heading(), {**_meta(soup), **encoding_note(encoding)})


def add_html(builder: TextBuilder, fragment: str) -> None:
    """Add what a fragment of HTML says to a document in another format."""
    _Walk(builder, _DROPPED).over(parse(fragment))


def parse(text: str) -> "BeautifulSoup":
    """Return the tree of a page. Raise ``InvalidInput`` when it is nested deeper than 500 elements."""
    from bs4 import BeautifulSoup, Tag

    class Page(BeautifulSoup):
        """Closes the elements whose end tag may be omitted, which Beautiful Soup would nest."""

        def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
            closed, stop = _IMPLIED.get(name, ((), ()))
            for tag in reversed(self.tagStack if closed else ()):
                if tag.name in closed:
                    self.handle_endtag(tag.name)
                    break
                if tag.name in stop:
                    break
            return super().handle_starttag(name, *args, **kwargs)

        def pushTag(self, tag: Tag) -> None:  # noqa: N802  # Beautiful Soup's name
            if len(self.tagStack) > MAX_DEPTH:
                raise InvalidInput(f"nests elements more than {MAX_DEPTH:,} deep")
            super().pushTag(tag)

    return Page(_terminated(text), "html.parser")


def _terminated(text: str) -> str:
    """Return a page without what makes the parser search it to its end, again and again, for an end that never comes.

    Comments and the conditional sections of Office go, so do the marks around character data; a ``<`` after the last
    ``>`` begins no tag.
    """
    text = _COMMENT.sub("", text).replace("<![CDATA[", "").replace("]]>", "")
    end = text.rfind(">") + 1
    text = _SECTION.sub("", text[:end]) + text[end:]
    end = text.rfind(">") + 1
    return text[:end] + text[end:].replace("<", "&lt;")


def _main_part(soup: "BeautifulSoup") -> "Tag | None":
    """Return the part that the page marks as its content: one main element, else one article."""
    for found in (soup.find_all("main"), soup.find_all(role="main"), soup.find_all("article")):
        if len(found) == 1 and found[0].get_text(strip=True):
            return found[0]
    return None


def _meta(soup: "BeautifulSoup") -> dict[str, str]:
    author = soup.find("meta", attrs={"name": re.compile("^author$", re.IGNORECASE)})
    root = soup.find("html")
    found = {"author": author.get("content") if author else None, "language": root.get("lang") if root else None}
    return {name: value for name, value in found.items() if isinstance(value, str)}


class _Walk:
    """Goes over a tree without recursion: text gathers until a block begins or ends."""

    def __init__(self, builder: TextBuilder, dropped: frozenset[str]) -> None:
        self._builder = builder
        self._dropped = dropped
        self._inline: list[str] = []
        self._lists: list[int | None] = []  # one an open list: the next number, None for bullets
        self._items = 0

    def over(self, root: "Tag") -> None:
        from bs4 import Tag
        from bs4.element import PreformattedString

        open_tags: list[tuple[Tag, Iterator[Any]]] = [(root, iter(root.contents))]
        while open_tags:
            tag, children = open_tags[-1]
            child = next(children, None)
            if child is None:
                open_tags.pop()
                self._leave(tag)
            elif isinstance(child, Tag):
                if self._enter(child):
                    open_tags.append((child, iter(child.contents)))
            elif not isinstance(child, PreformattedString):  # comments, declarations
                self._inline.append(_SPACE.sub(" ", child))
        self._flush()

    def _enter(self, tag: "Tag") -> bool:
        """Begin an element; False when nothing is left to do inside."""
        name = tag.name
        if name in self._dropped or tag.has_attr("hidden"):
            return False
        if name == "br":
            self._inline.append("\n")
        elif name == "img":
            self._inline.append(f" {tag.get('alt') or ''} ")
        if name not in _BLOCKS and name not in _HEADINGS and name != "pre":
            return True
        if name != "dd":  # a description stands with its term
            self._flush()
        if level := _HEADINGS.get(name):
            self._builder.heading(level, _text(tag).rstrip("¶ "))
            return False
        if name == "pre":
            self._builder.add(tag.get_text(), "code")
            return False
        if name == "table" and (rows := _rows(tag)):
            headed = all(cell.name == "th" for cell in rows[0])
            cells = [[_text(cell) for cell in row] for row in rows]
            if not headed and all(row[0].name == "th" for row in rows):
                cells = [[f"{first}: {'; '.join(filter(None, rest))}"] for first, *rest in cells]
            add_rows(self._builder, cells, "table", headed=headed)
            return False
        self._open_list(tag)
        return True

    def _open_list(self, tag: "Tag") -> None:
        if tag.name == "ol":
            start = str(tag.get("start") or "1")
            self._lists.append(int(start) if start.isdecimal() and len(start) < 10 else 1)
        elif tag.name in ("ul", "menu"):
            self._lists.append(None)
        elif tag.name in ("li", "dd"):
            self._items += 1
            number = self._lists[-1] if self._lists and tag.name == "li" else None
            if number is not None:
                self._lists[-1] = number + 1
            if tag.name == "li":
                self._inline.append("- " if number is None else f"{number}. ")

    def _leave(self, tag: "Tag") -> None:
        if tag.name == "dt":
            self._inline.append(": ")  # the term and its description are one item
            return
        if tag.name in _BLOCKS:
            self._flush()
        if tag.name in ("li", "dd"):
            self._items -= 1
        elif tag.name in ("ol", "ul", "menu"):
            self._lists.pop()

    def _flush(self) -> None:
        if self._inline:
            self._builder.add("".join(self._inline), "list" if self._items else "paragraph")
            self._inline.clear()


def _rows(table: "Tag") -> list[list["Tag"]]:
    """Return the cells of a table that holds data; empty for one that only lays out the page."""
    from bs4 import Tag

    if table.find(["table", "pre", *_HEADINGS]):
        return []
    rows = [[c for c in row.children if isinstance(c, Tag) and c.name in ("td", "th")] for row in table.find_all("tr")]
    rows = [cells for cells in rows if cells]
    return rows if len(rows) > 1 and max(map(len, rows)) > 1 else []


def _text(tag: "Tag") -> str:
    """Return the words of a heading or cell on one line; blocks and line breaks in it part words, other tags do not."""
    from bs4 import Tag
    from bs4.element import PreformattedString

    parts: list[str] = []
    for node in tag.descendants:
        if isinstance(node, Tag):
            parts.append(" " if node.name == "br" or node.name in _BLOCKS else "")
        elif not isinstance(node, PreformattedString):
            after_block = isinstance(node.previous_sibling, Tag) and node.previous_sibling.name in _BLOCKS
            parts.append(f" {node}" if after_block else str(node))
    return one_line("".join(parts))
