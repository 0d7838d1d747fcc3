"""PDF by pypdf: the lines of each page become headings, paragraphs, lists, tables and code."""

import io
import logging
import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile
from statistics import median
from typing import TYPE_CHECKING

from lexigraph.ingestion.readers.hyphens import Hyphenation
from lexigraph.ingestion.readers.parsed import MAX_HEADING_CHARS, Parsed, TextBuilder, check_parts, clean, one_line
from lexigraph.ingestion.readers.pdf.ascii85 import limit_ascii85
from lexigraph.ingestion.readers.pdf.furniture import edges, is_contents, is_entry
from lexigraph.ingestion.readers.pdf.headings import Headings, ends_sentence, outline, stands_above
from lexigraph.ingestion.readers.pdf.lines import MAX_SPACES, Line, common_gutter, lines
from lexigraph.ingestion.readers.pdf.spans import Budget, Fonts, Span, spans
from lexigraph.ingestion.readers.pdf.tables import table_end, table_rows
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

if TYPE_CHECKING:
    from pypdf import PdfReader

# ligatures, and what WinAnsiEncoding shows as a bullet
_SHOWN = {0x7F: "•", 0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BULLETS = re.compile(r"[•‣▪▫◦●○■□∙\uf0b7\uf0a7➢✓]\s*")  # which mean nothing else
_BULLET = re.compile(rf"{_BULLETS.pattern}|(?:[·*–—-]|[(\[]?(?:\d{{1,2}}|[a-zA-Z]|[ivx]{{1,4}})[.)\]])(?:\s+|$)")
_MARKED = re.compile(rf"{_BULLETS.pattern}|[·*–—-]\s+")
_SIGNATURE = re.compile(r"(?:(?:async|class|exception) )?[\w.:]+\((?!\d\w?\))[^()]*\)(?:\s*->.*)?")  # not ls(1)
_CUT = re.compile(r"(?<=\w)([-\u2010\xad])$")
_LAST_WORD = re.compile(r"(?<![\w-])[\w-]*$")
_FIRST_WORD = re.compile(r"\w[\w-]*")
_IDEOGRAPHS = re.compile(r"[\u3040-\u9fff\uff00-\uffef]")
_JUNK_TITLE = re.compile(
    r"microsoft \w+ - .*|untitled.*|.*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|qxd|odt|fm)|\W*", re.IGNORECASE
)
_PARTED = 1.18  # a step between lines, of the usual one, that parts paragraphs
_CODE_APART = 3.5
_BLANK_LINE = 1.6
_PARAGRAPHS_APART = 2.2
_OF_A_LABEL = 3  # words
_MAX_WORD = 200  # characters of a word that is cut, at most: a paragraph may be as long as its document
_INDENT = 0.8  # sizes of the font
_HANG = 0.3
_FAR = 8.0
_TERM = 0.6
_SHORT_END = 0.85
_TITLE = 1.3
_BELOW_TITLE = 2


def read_pdf(data: bytes, settings: Settings) -> Parsed:
    """Read the text layer of a PDF; pages are parted by form feeds, ``page_count`` is in the metadata.

    A paragraph that goes on over a page is one block with a form feed in it. An empty password is tried on an encrypted
    file. A page whose text cannot be read is left out and counted in the metadata (``unreadable_pages``). Raise
    ``InvalidInput`` without the password, with too many pages, without text.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports each repaired flaw
    limit_ascii85()
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise InvalidInput("is encrypted: save it without a password")
    count = len(reader.pages)
    if count > settings.max_pages:
        raise InvalidInput(
            f"has {count:,} pages, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
        )
    pages, margins, unreadable = _pages(reader, count, settings)
    if unreadable == count:
        raise InvalidInput("is damaged: no page can be read")
    headings = Headings(pages, outline(reader))
    builder = TextBuilder(settings)
    writer = _Writer(builder, headings, pages)
    for page, margin in zip(pages, margins, strict=True):
        writer.page(page, margin)
    writer.end()
    metadata = {"page_count": count, "author": _entry(reader, "/Author"), "unreadable_pages": unreadable}
    kept = {key: value for key, value in metadata.items() if value}
    try:
        return builder.parsed(_title(reader, pages, headings), kept)
    except InvalidInput:
        raise InvalidInput("contains no text: if it is scanned, run OCR on it first") from None


def _pages(reader: "PdfReader", count: int, settings: Settings) -> tuple[list[list[Line]], list[list[str]], int]:
    """Return the lines of each page, what stands in its margins, and how many pages cannot be read."""
    fonts, budget = Fonts(), Budget(settings)
    found: list[list[Span]] = []
    unreadable = pieces = 0
    for number in range(count):
        try:
            shown = spans(reader.pages[number], reader, fonts, budget)
        except InvalidInput:
            raise
        except Exception:  # noqa: BLE001  # whatever one page does, the others are read
            unreadable += 1
            shown = []
        pieces += len(shown)
        check_parts(pieces, "pieces of text", settings)
        found.append([span._replace(text=clean(span.text.translate(_SHOWN)).replace("\n", " ")) for span in shown])
    gutter = common_gutter(found)
    made = [lines(shown, number, gutter) for number, shown in enumerate(found)]
    return [page for page, _ in made], [margin for _, margin in made], unreadable


def _entry(reader: "PdfReader", key: str) -> str:
    value = reader.metadata.get(key) if reader.metadata else None
    return one_line(value)[:MAX_HEADING_CHARS] if isinstance(value, str) else ""


def _title(reader: "PdfReader", pages: Sequence[Sequence[Line]], headings: Headings) -> str:
    """Return the title that the file states, unless it is the name of a file; else what is largest on the first page."""
    stated = _entry(reader, "/Title")
    if not _JUNK_TITLE.fullmatch(stated):
        return stated
    first = next((page for page in pages if page), [])
    largest = max((line.size for line in first), default=0.0)
    if largest < headings.body * _TITLE:
        return ""
    lead = dropwhile(lambda line: line.size <= largest - 0.5, first)
    return " ".join(line.text for line in takewhile(lambda line: line.size > largest - 0.5, lead))[:MAX_HEADING_CHARS]


class _Writer:
    """Writes lines as blocks: a paragraph, an item or code is open until what comes next does not belong to it."""

    def __init__(self, builder: TextBuilder, headings: Headings, pages: Sequence[Sequence[Line]]) -> None:
        self._builder = builder
        self._headings = headings
        self._edges = edges(pages)
        self._hyphens = Hyphenation("\n".join(line.text for page in pages for line in page))
        steps = [a.y - b.y for page in pages for a, b in pairwise(page) if a.column == b.column]
        usual = [round(step, 1) for step in steps if 0 < step < headings.body * 2]
        self._step = median(usual) if usual else headings.body * 1.2
        self._pages = 0
        self._open: list[Line] = []
        self._text = ""
        self._role = ""
        self._heads: list[str] = []  # of the page on which the open paragraph ends
        self._feet: list[str] = []  # of the page before
        self._term = False  # stands alone in the line before
        self._contents: list[str] = []
        self._in_contents = False

    def page(self, page: Sequence[Line], margin: Sequence[str]) -> None:
        """Write a page. Where a paragraph goes on over the page, foot and head stand before and behind it."""
        body = [line for line in page if id(line) not in self._edges]
        top = max((line.y for line in body), default=0.0)
        heads = [line.text for line in page if id(line) in self._edges and line.y > top]
        if body and self._open and self._runs_over(body[0]):
            self._furniture(self._feet)
            self._add(body.pop(0), "\f")
            self._heads = heads
        else:
            self.end()
            if self._pages:
                self._builder.page_break()
            self._furniture(heads)
        self._pages += 1
        self._feet = [*(line.text for line in page if id(line) in self._edges and line.y <= top), *margin]
        self._lines(body)

    def end(self) -> None:
        """Write what is open."""
        self._flush()
        self._furniture(self._feet)
        self._feet = []

    def _furniture(self, found: Sequence[str]) -> None:
        self._builder.add("\n".join(found), BOILERPLATE)

    def _lines(self, body: Sequence[Line]) -> None:
        at = 0
        while at < len(body):
            line, below = body[at], body[at + 1] if at + 1 < len(body) else None
            if is_entry(line, self._in_contents) or (self._contents and below and is_entry(below, self._in_contents)):
                self._flush_block()
                self._contents.append(line.text)
                at += 1
                continue
            self._flush_contents()
            if (end := table_end(body, at, self._step)) > at:
                self._flush()
                add_rows(
                    self._builder, table_rows(body[at:end], self._step), "table", headed=line.bold and not body[end - 1].bold
                )
                at = end
            elif level := self._headings.level(line):
                at = self._heading(body, at, level)
            else:
                self._line(line, body[at + 1 : at + 3])
                at += 1
        self._flush_contents()

    def _heading(self, body: Sequence[Line], at: int, level: int) -> int:
        """Write a heading with the lines on which it goes on; return the place behind it."""
        self._flush()
        first = body[at]
        texts = [first.text]
        at += 1
        while at < len(body) and self._headings.goes_on(body[at - 1], body[at]):
            texts.append(body[at].text)
            at += 1
        self._in_contents = is_contents(first.text)
        self._builder.heading(level, " ".join(texts))
        return at

    def _line(self, line: Line, following: Sequence[Line]) -> None:
        text, below = line.text, following[0] if following else None
        if self._term:
            self._term = False
            self._add(line, "\n")
            return
        if self._is_term(line, following):
            self._begin(line, "list")
            self._text, self._term = f"{text.rstrip(':')}:", True
            return
        bullet = _BULLETS.match(text)
        if line.mono and self._headings.mono_is_code and not bullet and not self._wraps_code(line, below):
            if self._role != "code" or self._open[-1].column != line.column or self._down(line) > _CODE_APART:
                self._begin(line, "code")
            else:
                self._open.append(line)
            return
        goes_on = self._role in ("paragraph", "list") and self._goes_on(line)
        sign = _BULLET.match(text)
        if sign and (bullet or not goes_on or (self._role == "list" and self._indent_of_mark(line))):
            self._begin(line, "list")
        elif not self._headings.by_style and self._stands_free() and stands_above(line, below):
            self._flush()
            self._builder.heading(_BELOW_TITLE, text)
        elif goes_on:
            self._add(line, "\n")
        else:
            self._begin(line, "paragraph")

    def _stands_free(self) -> bool:
        return not self._text or ends_sentence(self._text)

    def _begin(self, line: Line, role: str) -> None:
        self._flush()
        self._open, self._role, self._text = [line], role, line.text

    def _add(self, line: Line, parting: str) -> None:
        """Add a line to the open paragraph; a word that was cut before it is made whole."""
        self._open.append(line)
        text, cut, first = line.text, _CUT.search(self._text[-2:]), _FIRST_WORD.match(line.text)
        if cut and first:
            head = _LAST_WORD.search(self._text[-_MAX_WORD:-1])
            before = head[0] if head else ""
            whole = self._hyphens.word(before, first[0], cut[1])
            self._text = self._text[: -1 - len(before)] + whole
            rest = text[first.end() :]
            following = rest.split(" ", 1)
            self._text += following[0]
            text = following[1] if len(following) > 1 else ""
        elif parting == "\n" and self._text and text and _IDEOGRAPHS.match(self._text[-1]) and _IDEOGRAPHS.match(text):
            parting = ""
        self._text += (" " if parting == "\n" else parting) + text

    # ------------------------------------------------------------ what belongs together

    def _down(self, line: Line) -> float:
        """The distance to the last open line, in usual steps for its size; 0 for one that is not below it."""
        last = self._open[-1]
        scale = min(max(line.size / max(self._headings.body, 1.0), 0.5), 2.0)
        down = (last.y - line.y) / (self._step * scale)
        return down if last.column == line.column and last.page == line.page else 0.0

    def _runs_over(self, line: Line) -> bool:
        """Tell whether the open paragraph goes on in another column or on the next page."""
        last = self._open[-1]
        if self._role not in ("paragraph", "list") or line.mono != last.mono or abs(line.size - last.size) > 1:
            return False
        cut = bool(_CUT.search(self._text[-2:]))
        begins = line.text[:1].islower() or cut or line.text[:1] in '("“‘' or last.full > _SHORT_END
        return begins and not ends_sentence(self._text) and not self._headings.level(line) and not _BULLET.match(line.text)

    def _goes_on(self, line: Line) -> bool:
        last = self._open[-1]
        if last.column != line.column or last.page != line.page:
            return last.page == line.page and self._runs_over(line)
        down = self._down(line)
        if not 0 < down <= _PARTED or abs(line.size - last.size) > 1:
            return False
        if ends_sentence(self._text) and last.full < _SHORT_END:
            return False
        if self._role == "list":
            return line.x0 > self._open[0].x0 + line.size * _HANG
        shift = (line.x0 - last.x0) / line.size
        if last.full > _SHORT_END and not ends_sentence(self._text):
            return True  # hanging below a first line that is full
        return shift <= _INDENT and (shift >= -_INDENT or len(self._open) == 1)

    def _indent_of_mark(self, line: Line) -> bool:
        return abs(line.x0 - self._open[0].x0) < line.size / 2

    def _wraps_code(self, line: Line, below: Line | None) -> bool:
        """Tell code within a sentence that fills a line from code that stands by itself."""
        prose = self._role in ("paragraph", "list") and not ends_sentence(self._text) and self._goes_on(line)
        return prose and (below is None or not below.mono or abs(below.x0 - line.x0) > line.size)

    def _is_term(self, line: Line, following: Sequence[Line]) -> bool:
        """Tell a term from text or code: alone in its line, in another font than its description, which is indented."""
        if not following or self._role == "code" or not self._stands_free() or _BULLET.match(line.text):
            return False
        below, next_ = following[0], following[-1]
        alone = line.column == below.column and line.full < _TERM and len(line.cells) == len(below.cells) == 1
        label = line.text.endswith(":") and line.text.count(" ") < _OF_A_LABEL and not below.mono
        marked = (line.mono and not below.mono) or (line.bold and not below.bold) or label
        apart = self._step * (_PARAGRAPHS_APART if label else _BLANK_LINE)
        hangs = line.size < below.x0 - line.x0 < line.size * _FAR and 0 < line.y - below.y < apart
        # a first line that is indented is no description
        beside = next_ is below or abs(next_.x0 - (line if _alike(line, next_) else below).x0) < line.size / 2
        return alone and marked and hangs and beside

    # ------------------------------------------------------------ writing

    def _flush(self) -> None:
        self._flush_block()
        self._flush_contents()

    def _flush_contents(self) -> None:
        self._builder.add("\n".join(self._contents), BOILERPLATE)
        self._contents = []

    def _flush_block(self) -> None:
        if self._open:
            if self._role == "code":
                self._builder.add(_code(self._open), "code")
            else:
                text = _MARKED.sub("- ", self._text, count=1) if self._role == "list" else self._text
                self._builder.add(text, "code" if _SIGNATURE.fullmatch(text) else self._role)
        self._open, self._text, self._role = [], "", ""
        self._furniture(self._heads)
        self._heads = []


def _alike(line: Line, other: Line) -> bool:
    return line.mono == other.mono and line.bold == other.bold


def _code(found: Sequence[Line]) -> str:
    """Return code with its indents and blank lines."""
    left = min(line.x0 for line in found)
    downs = [line.y - below.y for line, below in pairwise(found)]
    step = min((down for down in downs if down > 0), default=0.0)
    rows: list[str] = []
    for number, line in enumerate(found):
        width = (line.x1 - line.x0) / max(len(line.text), 1)
        if number and downs[number - 1] > step * _BLANK_LINE:
            rows.append("")
        indent = round((line.x0 - left) / width) if width > 0 else 0
        rows.append(" " * min(indent, MAX_SPACES) + line.text)
    return "\n".join(rows)
