"""What stands below the headings of plain text: paragraphs, list items, terms with their descriptions, code, tables."""

import re
from collections.abc import Sequence
from itertools import pairwise

from lexigraph.ingestion.readers.parsed import TextBuilder
from lexigraph.ingestion.readers.plain import columns
from lexigraph.ingestion.readers.plain.lines import (
    Line,
    Run,
    are_records,
    bullet_end,
    ends_sentence,
    in_columns,
    is_code,
    is_marked,
    is_prose,
    number_of,
    unwrap,
    wrapped,
)
from lexigraph.ingestion.readers.tables import add_rows
from lexigraph.model.document import BOILERPLATE

_INLINE = re.compile(r"(\S.*?)\s{2,}(\S.*)")
_RULE = re.compile(r"(\W)\1{2,}+")
_OPTION = re.compile(r"--?\w")
_USAGE = re.compile(r"(?:^|\s)[\[{<-]+\w")
_OPTIONS_FIRST = re.compile(r"(--?\w\S*+(?: --?\w\S*+)*+) ([^-\s].*)")  # the text of an option begins right behind it
# a term as wide as its column, one blank before what it means; no word that begins a sentence
_SNUG = re.compile(r"((?![A-Z][a-z]+ )\S{3,}[^\W_]) (\S.*)")
_VERB = re.compile(r"(?:means?|is|are|refers?|denotes?|includes?|shall|has|have)\b")  # which makes a sentence with its term
_APART = 2  # blanks between a word and what it means that no justified line has
_MOST_TERMS = 4
_MOST = 80  # characters of a line that leads to a list without a colon
_TITLED = re.compile(r"^(?!.*(?:@|://)).*[\w)\]>\"'’”]$")  # a line that is neither a sentence nor an address


class Body:
    """Adds runs to a document, one after the other.

    ``margin`` is the indent of its paragraphs, ``width`` the column where its lines wrap (0: they do not). Where an item's
    text begins, its further paragraphs do, too: those are ``list`` blocks as it is.
    """

    def __init__(self, builder: TextBuilder, margin: int = 0, width: int = 0) -> None:
        self._builder = builder
        self._margin = margin
        self._width = width
        self._defined_at = (-1, -1)  # the columns of the last term and of what it means
        self._items: list[int] = []  # the columns where the text of open items begins
        self._bullets: list[tuple[int, str]] = []  # and those where their bullets or numbers stand, with the sign
        self._below: Line | None = None  # the first line of the run below
        self._code: list[str] = []
        self._code_indent = 0
        self._introduced = False  # the text before does not end with a full stop
        self._colon = False
        self._table: columns.Table | None = None  # the block before, whose header serves when a blank line parts its rows
        self.synopsis = False  # what is no prose here is code

    def heading(self, level: int, text: str) -> None:
        """Begin a section."""
        self.close()
        self._items, self._bullets = [], []
        self._introduced = self._colon = self.synopsis = False
        self._builder.heading(level, text)

    def close(self) -> None:
        """End what is open."""
        if self._code:
            self._builder.add("\n".join(self._code), "code")
            self._code = []

    def add(self, run: Run, below: Line | None = None) -> None:
        """Add the lines of a run; ``below`` is the first line of the text below it."""
        self._below = below
        if run.furniture:
            self._block("\n".join(line.text for line in run.lines), BOILERPLATE)
            return
        while self._items and run.indent < self._items[-1] - 1:
            self._items.pop()
        if self._goes_on(run) or self._is_code(run.lines):
            self._add_code(run.lines, run.gap)
            return
        if self._add_table(run.lines):
            return
        if not bullet_end(run.text) and are_records(run.lines):
            self._add_records(run.lines)
        else:
            self._add_segments(run.lines)

    # ------------------------------------------------------------ code and tables

    def _context(self) -> int:
        return self._items[-1] if self._items else self._margin

    def _goes_on(self, run: Run) -> bool:
        """Tell whether a run goes on with the code before it."""
        if not self._code or run.indent < self._code_indent:
            return False
        return is_marked(run.lines) or not any(is_prose(line.text) or ends_sentence(line.text) for line in run.lines)

    def _is_code(self, lines: Sequence[Line]) -> bool:
        if self.synopsis:
            said = is_prose(lines[0].text) and ends_sentence(lines[-1].text) and not _USAGE.search(lines[0].text)
            return not said and columns.drawn(lines) is None
        if lines[0].indent <= self._context():
            code = self._colon and is_marked(lines) and not bullet_end(lines[0].text)
            return code or (len(lines) > 2 and self._is_drawing(lines))
        if bullet_end(lines[0].text) or columns.drawn(lines):
            return False
        return is_marked(lines) or (is_code(lines, introduced=self._introduced) and not columns.aligned(lines, self._width))

    def _is_drawing(self, lines: Sequence[Line]) -> bool:
        """Tell whether most lines fall into columns that are none of a table."""
        parted = sum(in_columns(line.text) for line in lines)
        return parted * 2 > len(lines) and columns.drawn(lines) is None and columns.aligned(lines, self._width) is None

    def _add_code(self, lines: Sequence[Line], gap: int = 0) -> None:
        if self._code:
            self._code += [""] * gap
        else:
            self._code_indent = min(line.indent for line in lines)
        self._code += [line.raw[self._code_indent :] if line.indent >= self._code_indent else line.text for line in lines]

    def _add_table(self, lines: Sequence[Line]) -> bool:
        """Add a table; one of two columns without a header is a list of terms."""
        table = columns.drawn(lines) or columns.aligned(lines, self._width)
        if table is None or any(map(bullet_end, (line.text for line in lines[:2]))):
            return False
        self.close()
        above, self._table = self._table, table
        if above and (above.left, len(above.rows[0])) == (table.left, len(table.rows[0])) and above.headed > table.headed:
            self._table = table = columns.Table([above.rows[0], *table.rows], headed=True, left=table.left)
        if len(table.rows[0]) == 2 and not table.headed:
            for term, said in table.rows:
                self._block(_defined(term, said), "list")
        else:
            add_rows(self._builder, table.rows, "table", headed=table.headed, strict=True)
            self._introduced = self._colon = False
        return True

    # ------------------------------------------------------------ text

    def _block(self, text: str, role: str) -> None:
        self.close()
        self._builder.add(text, role)
        self._table = None
        self._introduced = not ends_sentence(text)
        self._colon = text.rstrip().endswith(":")

    def _add_text(self, lines: Sequence[Line], below: Line | None = None) -> None:
        if lines:
            role = "list" if self._items and lines[0].indent >= self._items[-1] - 1 else "paragraph"
            text = unwrap(lines, self._width)
            self._block(f"{text}:" if below and _leads_to(lines, below) else text, role)

    def _add_records(self, lines: Sequence[Line]) -> None:
        """Add entries, an item each; lines further in go on with the entry above."""
        entries: list[list[str]] = []
        for line in lines:
            if entries and line.indent > lines[0].indent:
                entries[-1].append(line.text)
            else:
                entries.append([line.text])
        for entry in entries:
            self._block(" ".join(entry), "list")

    def _add_segments(self, lines: Sequence[Line]) -> None:
        """Part lines at items and terms, and add each part."""
        segment: list[Line] = []
        lines = [line for line in lines if any(map(str.isalnum, line.text)) or not _RULE.fullmatch(line.text)]
        if not lines:
            return
        for number, line in enumerate(lines):
            if segment and self._begins(lines, number, segment):
                self._add_segment(segment, line)
                segment = []
            segment.append(line)
        self._add_segment(segment, self._below)

    def _begins(self, lines: Sequence[Line], number: int, segment: Sequence[Line]) -> bool:
        """Tell whether a line begins something new: an item, a term, or a paragraph whose first line is indented."""
        line, first = lines[number], segment[0]
        if bullet_end(line.text) and self._is_item(lines, number, segment):
            return True
        if len(segment) == 1:
            return False
        body = segment[1].indent
        if bullet_end(first.text) and body <= first.indent:
            return False  # items whose lines all begin in one column
        return line.indent <= first.indent < body or (body < line.indent == first.indent)

    def _is_item(self, lines: Sequence[Line], number: int, segment: Sequence[Line]) -> bool:
        """Tell an item from a wrapped line that happens to begin with a dash or a number: indents and order decide."""
        line, first, above = lines[number], segment[0], lines[number - 1]
        own = number_of(line.text)
        if line.indent < first.indent and (line.indent, _sign(line.text)) in self._bullets:
            return True  # of a list around this one
        if bullet_end(first.text):
            hangs = len(segment) > 1 and segment[1].indent > first.indent
            if abs(line.indent - first.indent) < 2 and (hangs or not own or own == number_of(first.text) + 1):
                return True
            return line.indent > first.indent + 1 and own < 2 and (not own or not wrapped(above, line, self._width))
        if line.indent > above.indent + 1:
            return own < 2
        alone = above.text.endswith(":") or not wrapped(above, line, self._width)
        below = lines[number + 1] if number + 1 < len(lines) else None
        goes_on = below is not None and (
            below.indent > line.indent or (bullet_end(below.text) > 0 and number_of(below.text) != 1)
        )
        return own < 2 and (alone or goes_on)

    def _add_segment(self, lines: Sequence[Line], below: Line | None) -> None:
        first = lines[0]
        while self._items and first.indent < self._items[-1] - 1:
            self._items.pop()
        while self._bullets and first.indent <= self._bullets[-1][0]:
            self._bullets.pop()
        if end := bullet_end(first.text):
            self._add_item(lines, first.indent + end)
            return
        level = next((n for n, line in enumerate(lines) if line.indent > first.indent + 1), 0)
        if inline := self._inline(lines):
            self._add_term(*inline)
        elif level and not wrapped(lines[level - 1], lines[level], self._width):
            self._add_term(lines[:level], lines[level:])
        else:
            self._add_text(lines, below)

    def _add_item(self, lines: Sequence[Line], column: int) -> None:
        """Add a list item; what it introduces by a colon further in may be code."""
        self._bullets.append((lines[0].indent, _sign(lines[0].text)))
        inner = next((n for n in range(1, len(lines)) if lines[n].indent > column + 1), 0)
        last = next((n for n in range(inner, len(lines)) if lines[n].indent <= column + 1), len(lines))
        if inner and lines[inner - 1].text.endswith(":") and is_code(lines[inner:last], introduced=True):
            self._block(" ".join(line.text for line in lines[:inner]), "list")
            self._items.append(column)
            self._add_code(lines[inner:last])
            if lines[last:]:
                self._add_segments(lines[last:])
            return
        self._block(" ".join(line.text for line in lines), "list")
        self._items.append(column)

    def _inline(self, lines: Sequence[Line]) -> tuple[list[Line], list[Line]] | None:
        """Part a term from a description that begins on its line: ``-f     Follow links``."""
        found = _INLINE.fullmatch(lines[0].text)
        snug = _SNUG.fullmatch(lines[0].text)
        full = len(lines) > 1 and wrapped(lines[0], lines[1], self._width)  # else all of the line may be the term
        for begins in (_OPTIONS_FIRST.fullmatch(lines[0].text), snug if full else None):
            if begins and len(lines) > 1 and lines[0].indent + begins.start(2) == lines[1].indent:
                found = begins
        if snug and len(lines) == 1 and snug[2][0].isupper():
            column = lines[0].indent + snug.start(2)
            if (lines[0].indent, column) == self._defined_at:  # below a term that stands apart, in the same columns
                return [Line(lines[0].indent, snug[1])], [Line(column, snug[2])]
        if not found:
            return None
        column = lines[0].indent + found.start(2)
        hangs = len(lines) > 1 and all(line.indent == column for line in lines[1:])
        apart = _OPTION.match(found[1]) or found.start(2) - found.end(1) > _APART
        if not hangs and not (len(lines) == 1 and apart):
            return None
        return [Line(lines[0].indent, found[1])], [Line(column, found[2]), *lines[1:]]

    def _add_term(self, head: Sequence[Line], body: Sequence[Line]) -> None:
        """Add lines with others further in below them: terms and what they mean, or a paragraph above its code."""
        if self._is_code_below(head, body):
            self._add_text(head)
            self._add_code(body)
            return
        terms = list(head)
        separate = all(not wrapped(a, b, self._width) for a, b in pairwise(head))
        if len(head) > 1 and not (separate and len(head) <= _MOST_TERMS):
            self._add_text(head[:-1])
            terms = [head[-1]]
        term = ", ".join(line.text.rstrip(",") for line in terms)
        end = next((n for n in range(1, len(body)) if self._parts(body, n)), len(body))
        self._block(_defined(term, " ".join(line.text for line in body[:end])), "list")
        self._items.append(body[0].indent)
        self._defined_at = head[0].indent, body[0].indent
        if body[end:]:
            self._add_segments(body[end:])

    def _is_code_below(self, head: Sequence[Line], body: Sequence[Line]) -> bool:
        introduced = head[-1].text.endswith(":") and is_prose(head[-1].text)
        return is_marked(body) or (introduced and is_code(body, introduced=True))

    def _parts(self, body: Sequence[Line], number: int) -> bool:
        """Tell whether the description of a term ends before a line of it."""
        line = body[number]
        return bool(bullet_end(line.text)) and (line.indent > body[0].indent or self._is_item(body, number, body[:number]))


def _sign(text: str) -> str:
    """Return the bullet of an item, one sign for all numbers."""
    return "1" if number_of(text) else text[0]


def _leads_to(lines: Sequence[Line], below: Line) -> bool:
    """Tell whether lines are a term or a title without a colon, and the line below is the first item of its list."""
    text = lines[0].text
    item = bullet_end(below.text) > 0 and number_of(below.text) < 2 and below.indent > lines[0].indent + 1
    return item and len(lines) == 1 and len(text) <= _MOST and _TITLED.search(text) is not None and not in_columns(text)


def _defined(term: str, said: str) -> str:
    """Return a term and what it means as one text."""
    said = said.removeprefix(": ")
    if not term or not said:
        return term or said
    goes_on = term[-1] in ":=" or _VERB.match(said)
    return f"{term} {said}" if goes_on else f"{term}: {said}"
