"""HTML by lxml: the main content without scripts; navigation and tables of contents apart from what the page says."""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from html.entities import name2codepoint
from itertools import chain, islice, takewhile, zip_longest
from typing import Any

from lexigraph.ingestion.readers.furniture import furniture
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, check_parts, is_badge, one_line
from lexigraph.ingestion.readers.plain.reader import add_plain
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

MAX_DEPTH = 500
_CHARSET = re.compile(rb"""<(?:meta[^>]+charset|\?xml[^>]+encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_AT_ONCE = re.compile(r"\s*+0*+(?:\.\d*+)?\s*+[;,]\s*+(?:url\s*+=)?\s*+\S", re.IGNORECASE)
_SECTION = re.compile(r"<!\[[^>]*>")
_EMPTY = re.compile(r"</?(?:embed|source|track|wbr|keygen)\b[^>]*>", re.IGNORECASE)  # to lxml the rest is in them
_XHTML = "http://www.w3.org/1999/xhtml"
_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|hr|img|input|link|meta|param)\b)([A-Za-z][\w-]*)((?:\s[^<>]*)?)/>", re.IGNORECASE
)
# those that lxml knows are not even found: each would be a text of its own until all are replaced
_ENTITY = re.compile(rf"&(?!(?:{'|'.join(name2codepoint)}|apos);)(?:#1(?:2[89]|[345]\d);?|[A-Za-z][A-Za-z0-9]{{1,31}};)")
_TAG = re.compile(r"<[A-Za-z][^<>]*")
_ATTRIBUTE = re.compile(r"(?<![\s/\"'])[\s/\"']++[^\s/\"'>=]")
_SPACE = re.compile(r"[^\S\n\xa0]*\n\s*|[^\S\xa0]+")
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
_PAGE = frozenset({"html", "body", "main"})
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
_FRAME = frozenset({"aside", "footer"})  # around the content, unless they are within it
_PERMALINKS = frozenset({"¶", "#", "§", "🔗"})
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_CONTENTS = re.compile(r"(?:table of )?contents:?|(?:on|in) this (?:page|article|section):?", re.IGNORECASE)
_FOOT = re.compile(r"(?:copyright\b|©|\(c\)\s).{0,120}|(?:table of )?contents:?", re.IGNORECASE | re.DOTALL)
_NUMBERING = re.compile(r"(?:\d+[.)])+\d*|[-*•▪]")
_CALL = re.compile(r"[\w.:]+\([^()]*\)(?:\s*->.*)?")
_SIGNATURE = frozenset({"sig", "sig-object", "def", "first-deffn", "deffn", "member-signature", "membersignature"})
_TYPED_LINES, _TYPED_LETTERS, _MOST = 8, 1_000, 0.6
_MAX_SPAN = 64
_NUMBERS = re.compile(r"[\d\s]+")
_TITLE_PARTS = re.compile(r"\s+[-–—|·•»:]+\s+")
# headings that do not say of what
_GENERAL = frozenset(
    "about changelog contents documentation examples faq guide home index installation introduction manual news overview"
    " readme reference start summary usage welcome".split()
)


def read_html(data: bytes, settings: Settings) -> Parsed:
    """Read a page: title, headings, text, lists, tables and code of its main part, or of its body.

    Navigation and tables of contents are boilerplate; a page that is nothing else is read as the lists that it holds. All
    of a page that leads to another at once is boilerplate.
    """
    builder = TextBuilder(settings)
    root, encoding = add_page(builder, data, settings)
    page = root.find(".//title")
    title = _page_title(_text(page) if page is not None else "", builder.first_heading())
    return builder.parsed(title, {**_meta(root), **encoding_note(encoding)}, silent=_leads_on(root))


def _leads_on(root: Any) -> bool:
    """Tell whether a browser that shows a page goes on to another at once."""
    return any(
        (tag.get("http-equiv") or "").casefold() == "refresh" and _AT_ONCE.match(tag.get("content") or "")
        for tag in root.xpath("//meta[not(ancestor::noscript)]")
    )


def add_page(builder: TextBuilder, data: bytes, settings: Settings) -> tuple[Any, str]:
    """Add the main part of a page, or its body; return the root of the page and its encoding."""
    declared = _CHARSET.search(data[:4_096])
    text, encoding = decode(data, declared[1].decode("ascii") if declared else "")
    check_length(len(text), settings.max_text_chars)
    check_tags(text, settings)
    root = parse(text)
    main, body = _main_part(root), root.find("body")
    dropped = _DROPPED if main is not None else _DROPPED | _FRAME
    _Walk(builder, dropped).over(next(part for part in (main, body, root) if part is not None))
    return root, encoding


def check_tags(text: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for a page of too many tags and attributes."""
    if len(text) > settings.max_parts:
        tags = (len(_ATTRIBUTE.findall(found[0])) + 1 for found in _TAG.finditer(text))
        check_parts(sum(tags), "tags and attributes", settings)


def add_html(builder: TextBuilder, fragment: str) -> None:
    """Add what a fragment of HTML says to a document in another format."""
    _Walk(builder, _DROPPED).over(parse(fragment))


def plain_lines(fragment: str) -> str:
    """Return what a fragment of HTML says, each block of it on a line."""
    return _lines(parse(fragment)) if fragment.strip() else ""


def parse(text: str) -> Any:
    """Return the root of a page without what it hides. Raise ``InvalidInput`` when it nests more than 500 elements."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(_terminated(text).encode("utf-8", "replace"), parser)
    if root is None:  # nothing but end tags
        root = etree.Element("html")
    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MAX_DEPTH:
            raise InvalidInput(f"nests elements more than {MAX_DEPTH:,} levels deep")
    for tag in root.xpath("//*[@hidden or @style]"):
        if _is_hidden(tag):
            _remove(tag)
    return root


def _is_hidden(tag: Any) -> bool:
    """Tell what nobody sees, by its own attributes; the page itself may be hidden until a script runs."""
    if tag.tag in _PAGE:
        return False
    hidden = tag.get("hidden")  # `until-found`: a search in the page opens it
    return (hidden is not None and hidden.casefold() != "until-found") or bool(_HIDDEN.search(tag.get("style") or ""))


def _remove(tag: Any) -> None:
    """Remove an element, not the text behind it."""
    above, before = tag.getparent(), tag.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (tag.tail or "")
    else:
        above.text = (above.text or "") + (tag.tail or "")
    above.remove(tag)


def _terminated(text: str) -> str:
    """Return a page without what a parser would search to its end for an end that never comes, or reads otherwise.

    Comments and the conditional sections of Office go, so do the marks around character data; a ``<`` after the last
    ``>`` begins no tag. Entities that HTML knows and lxml does not are replaced.
    """
    text = _COMMENT.sub("", text).replace("<![CDATA[", "").replace("]]>", "")
    end = text.rfind(">") + 1
    text = _SECTION.sub("", text[:end]) + text[end:]
    end = text.rfind(">") + 1
    text = text[:end] + text[end:].replace("<", "&lt;")
    text = _EMPTY.sub(" ", _ENTITY.sub(lambda entity: unescape(entity[0]), text))
    # in XHTML an anchor or title may end in its own tag
    return _CLOSED.sub(r"<\1\2></\1>", text) if _XHTML in text[:4_096] else text


def _main_part(root: Any) -> Any | None:
    """Return the part that the page marks as its content: one main element, else one article."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = root.findall(path)
        if len(found) == 1 and any(text.strip() for text in found[0].itertext()):
            return found[0]
    return None


def _meta(root: Any) -> dict[str, str]:
    authors = (tag.get("content") for tag in root.iter("meta") if (tag.get("name") or "").casefold() == "author")
    body = root.find("body")
    language = root.get("lang") or (body.get("lang") if body is not None else None)
    return {name: value for name, value in (("author", next(authors, None)), ("language", language)) if value}


def _page_title(title: str, heading: str) -> str:
    """Return a title without the name of the site, where it begins with the page's own heading and goes on with another.

    A heading of one general word stays as it is: "Overview - Neptune".
    """
    parts = _TITLE_PARTS.split(title)
    begins = title.casefold().startswith(heading.casefold()) and bool(_TITLE_PARTS.match(title, len(heading)))
    if heading and len(parts) > 1 and begins and heading.casefold() not in _GENERAL:
        return heading
    return title or heading


class _Walk:
    """Goes over a tree without recursion: text gathers until a block begins or ends."""

    def __init__(self, builder: TextBuilder, dropped: frozenset[str]) -> None:
        self._builder = builder
        self._dropped = dropped
        self._furniture: set[Any] = set()
        self._inline: list[str] = []
        self._marker = ""  # what the next text begins with: a bullet, a number, the term that it describes
        self._term = False
        self._lists: list[int | None] = []  # one an open list: the next number, None for bullets
        self._items: list[bool] = []  # one an open item or description: False below a signature
        self._level = 0  # of the last heading
        self._letters = 0

    def over(self, root: Any) -> None:
        from lxml import etree

        self._furniture = furniture(root)
        self._letters = sum(map(len, root.itertext()))
        events = etree.iterwalk(root, events=("start", "end"))
        entered = []
        for event, tag in events:
            if event == "start":
                entered.append(tag is root or self._enter(tag))
                if not entered[-1]:
                    events.skip_subtree()
                elif tag.text:
                    self._inline.append(_SPACE.sub(" ", tag.text))
                continue
            if entered.pop():
                self._leave(tag)
            if tag.tail and tag is not root:
                self._inline.append(_SPACE.sub(" ", tag.tail))
        self._flush()
        self._bare_term()

    def _enter(self, tag: Any) -> bool:
        """Begin an element; False when nothing is left to do inside."""
        name = tag.tag
        if name in self._dropped or _is_permalink(tag):
            return False
        if name == "br":
            self._inline.append("\n")
        elif name == "img":
            self._inline.append(_described(tag))
        if name not in _BLOCKS and name not in _HEADINGS and name != "pre":
            return True
        self._flush()
        if tag in self._furniture:
            self._builder.add(_lines(tag), BOILERPLATE)
            return False
        if (level := _HEADINGS.get(name)) or name == "pre" or name == "table":
            return self._whole(tag, level or 0)
        if name in ("p", "div") and _is_typed(tag):
            self._add_typed(tag)
            return False
        if name == "dt" and _is_signature(tag):
            self._bare_term()
            self._builder.add(_text(tag), "code")
            return False
        self._open_item(tag)
        return True

    def _whole(self, tag: Any, level: int) -> bool:
        """Add a heading, code or a table; True for a table that only lays out the page."""
        if tag.tag == "table":
            if not (rows := _rows(tag)):
                return True
            self._bare_term()
            for caption in tag.iter("caption"):
                self._builder.add(_text(caption))
            self._add_table(rows)
            return False
        self._bare_term()
        if level:
            self._level = level
            if _CONTENTS.fullmatch(said := _text(tag)):
                self._builder.add(said, BOILERPLATE)  # what follows below it is no part of it
            else:
                self._builder.heading(level, said)
        elif len(tag) == 0 and self._letters * _MOST < len(tag.text or "") > _TYPED_LETTERS:
            self._add_typed(tag)
        elif not _NUMBERS.fullmatch(code := _code(tag)):  # numbers of the lines beside
            self._builder.add(code, "code")
        return False

    def _add_typed(self, tag: Any) -> None:
        """Add text that was typed for a fixed width, under the heading above it."""
        self._bare_term()
        self._builder.base = self._level
        text = _code(tag)
        add_plain(self._builder, text if tag.tag == "pre" else text.lstrip())
        self._builder.base = 0

    def _add_table(self, rows: list[list[Any]]) -> None:
        heads = sum(1 for _ in takewhile(lambda row: all(cell.tag == "th" for cell in row), rows))
        heads = heads if heads < len(rows) else 0
        cells: Iterable[list[str]] = _grid(rows, heads)
        if heads > 1:  # each name with what stands above it
            above = zip_longest(*islice(cells, heads), fillvalue="")
            cells = chain([[" ".join(dict.fromkeys(filter(None, names))) for names in above]], cells)
        elif not heads and all(row[0].tag == "th" for row in rows):
            cells = ([f"{first}: {'; '.join(filter(None, rest))}"] for first, *rest in cells)
        add_rows(self._builder, cells, "table", headed=heads > 0)

    def _open_item(self, tag: Any) -> None:
        name = tag.tag
        if name == "ol":
            start = str(tag.get("start") or "1")
            self._lists.append(int(start) if start.isdecimal() and len(start) < 10 else 1)
        elif name in ("ul", "menu"):
            self._lists.append(None)
        elif name == "li":
            self._bare_term()
            number = self._lists[-1] if self._lists else None
            if number is not None:
                self._lists[-1] = number + 1
            self._marker = "- " if number is None else f"{number}. "
            self._items.append(True)
        elif name == "dt":
            self._inline.append(f"{self._marker}, " if self._term else "")
            self._term = False
        elif name == "dd":
            self._marker += ": " * self._term
            before = tag.getprevious()
            while before is not None and before.tag == "dd":
                before = before.getprevious()
            self._items.append(before is None or before.tag != "dt" or not _is_signature(before))

    def _leave(self, tag: Any) -> None:
        name = tag.tag
        if name == "dt":  # its description goes on with it
            self._marker, self._term = one_line("".join(self._inline)).rstrip(" ,").removesuffix(":"), True
            self._inline.clear()
        elif name == "p" and "admonition-title" in (tag.get("class") or "").split():
            self._marker += f"{one_line(''.join(self._inline)).rstrip(':')}: "
            self._inline.clear()
        elif name in _BLOCKS:
            self._flush()
        if name in ("li", "dd"):
            self._items.pop()
        elif name in ("ol", "ul", "menu"):
            self._lists.pop()
        if name in ("li", "dl"):
            self._bare_term()

    def _bare_term(self) -> None:
        """Add a term that has no description; a bullet or a number alone is nothing."""
        if self._term and self._marker:
            self._builder.add(self._marker.removesuffix(": "), "list")
        self._marker, self._term = "", False

    def _flush(self) -> None:
        text = "".join(self._inline)
        self._inline.clear()
        for part in _PARAGRAPHS.split(text) if "\n" in text else (text,):
            if not (part := part.strip()):
                continue
            role = "list" if self._items and self._items[-1] else "paragraph"
            if not self._term and _NUMBERING.fullmatch(part):  # in a column of its own
                self._marker, self._term = f"{part} ", True
                continue
            self._builder.add(self._marker + part, BOILERPLATE if _FOOT.fullmatch(part) else role)
            self._marker, self._term = "", False


def _is_typed(tag: Any) -> bool:
    """Tell a text whose every line was typed as one: each ends in a line break and a new line of the source."""
    breaks = [inner for inner in tag if inner.tag == "br"]
    typed = sum((inner.tail or "").startswith("\n") for inner in breaks)
    return typed >= _TYPED_LINES and typed > len(breaks) * _MOST and len(breaks) > len(tag) * _MOST


def _is_permalink(tag: Any) -> bool:
    return tag.tag == "a" and "".join(tag.itertext()).strip() in _PERMALINKS


def _is_signature(term: Any) -> bool:
    """Tell the signature of a function or class from a term that is described."""
    names = f"{term.get('class') or ''} {term.getparent().get('class') or ''}".casefold().split()
    return not _SIGNATURE.isdisjoint(names) or bool(_CALL.fullmatch(_text(term)))


def _rows(table: Any) -> list[list[Any]]:
    """Return the cells of a table that holds data; empty for one that only lays out the page."""
    if table.get("role") == "presentation" or next(table.iterdescendants("table", "pre", *_HEADINGS), None) is not None:
        return []
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
    rows = [cells for cells in rows if cells]
    return rows if len(rows) > 1 and max(map(len, rows)) > 1 else []


def _grid(rows: list[list[Any]], heads: int) -> Iterator[list[str]]:
    """Yield the texts of cells in their columns: a cell over several rows is in each, a name over several columns, too."""
    below: dict[int, tuple[int, str]] = {}  # rows that a cell goes on, and its text, by column
    for number, row in enumerate(rows):
        cells: list[str] = []
        given = iter(row)
        while True:
            if carried := below.pop(len(cells), None):
                if carried[0] > 1:
                    below[len(cells)] = carried[0] - 1, carried[1]
                cells.append(carried[1])
            elif (cell := next(given, None)) is None:
                break
            else:
                text, tall = _text(cell), _span(cell, "rowspan")
                for part in range(_span(cell, "colspan")):
                    said = text if not part or number < heads else ""
                    if tall > 1:
                        below[len(cells)] = tall - 1, said
                    cells.append(said)
        yield cells


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name) or "1")
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() and len(value) < 6 else 1


def _described(image: Any) -> str:
    """Return the description of a picture, parted from what stands beside it; a badge has none."""
    return "" if is_badge(image.get("src") or "") else f" {image.get('alt') or ''} "


def _pieces(tag: Any, parting: str) -> Iterator[str]:
    """Yield the texts below an element, with ``parting`` where a block begins or ends and at line breaks."""
    from lxml import etree

    events = etree.iterwalk(tag, events=("start", "end"))
    for event, inner in events:
        if inner is not tag and inner.tag in _BLOCKS:
            yield parting
        if event == "start":
            if inner.tag in _DROPPED or _is_permalink(inner):
                events.skip_subtree()
                continue
            if inner.tag in ("br", "img"):
                yield parting if inner.tag == "br" else _described(inner)
            yield inner.text or ""
        elif inner is not tag:
            yield inner.tail or ""


def _text(tag: Any) -> str:
    """Return the words of a heading or cell on one line; blocks and line breaks in it part words, other tags do not."""
    return one_line("".join(_pieces(tag, " ")))


def _lines(tag: Any) -> str:
    """Return the words of an element, each block on a line."""
    return "".join(piece if piece == "\n" else _SPACE.sub(" ", piece) for piece in _pieces(tag, "\n"))


def _code(tag: Any) -> str:
    """Return code with its white space."""
    for line_break in tag.iterdescendants("br"):
        line_break.text = "" if tag.tag != "pre" and (line_break.tail or "").startswith("\n") else "\n"
    return "".join(tag.itertext())
