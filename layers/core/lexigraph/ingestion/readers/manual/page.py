"""The source of a manual page, line by line: text, requests and escapes of roff, whichever macros there are."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise, takewhile

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder
from lexigraph.ingestion.readers.plain.pages import manual_title
from lexigraph.ingestion.readers.tables import add_rows

_REQUEST = re.compile(r"[.'][^\S\n]*(\S*)[^\S\n]*(.*)")
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]]{,99}\]|\(..|.)|s(?:[+-]?\d{1,2}|'[^']{,99}'|\[[^\]]{,99}\])|[hvwXbo]'[^']{,99}'|[mMnkFg](?:\[[^\]]{,99}\]|\(..|.)"
    r"|\*(?P<text>\[[^\]]{,99}\]|\(..|.)|(?P<sign>\[[^\]]{,99}\]|\(..)|(?P<one>.))"
)
_ONE = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", "t": " ", ".": "."}
_SIGNS = dict(
    zip(
        'bu em en aq dq lq rq oq cq co rg tm mu ga ha ti rs <= >= != -> <- hy Aq L" R" C` C\' -- at sh Tm R'.split(),
        '•—–\'"“”‘’©®™×`^~\\≤≥≠→←-\'""""—@#™®',
        strict=True,
    )
) | dict(
    zip(
        "ba or pl mi eq de +- oa oA ss /o /O Ba Lq Rq q Lt Gt Le Ge Ne Pm Am".split(), '||+-=°±åÅßøØ|“”"<>≤≥≠±&', strict=True
    )
)
_ACCENTS = dict(zip("`'^~:,", "\u0300\u0301\u0302\u0303\u0308\u0327", strict=True))  # of the letter behind them
_STRING = re.compile(r"\\\*(\[[^\]]{,99}\]|\(..|.)")
TOKEN = re.compile(r'"((?:[^"]|"")*)"?|((?:\\ |\S)+)')  # an argument, in quotation marks or without
_PARAMETER = re.compile(r"\\\\\$([1-9*@])")
# of a request: of a terminal (n) or of print (t), two strings, or an expression
_CONDITION = re.compile(
    r"(?P<not>!?)\s*(?:(?P<letter>[a-z])(?=\s|\\\{|$)|'(?P<one>[^']*)'(?P<other>[^']*)'|(?P<number>\S+))\s*(?P<said>.*)"
)
_CELL = re.compile(r"T\{\n((?:(?!T\}).*(?<!T\{)\n)*)T\}")  # a cell of a table over lines
_MACRO = re.compile(r"^\.\S+", re.MULTILINE)
_SEPARATOR = re.compile(r"\btab *\((.)\)")
_BULLETS = frozenset("•-*·o–—")
_DEFINITIONS = frozenset("de de1 am am1 ig".split())
_MAX_TERM_CHARS = 80
_MAX_DEPTH, _MOST_SAID = 10, 2_000_000  # of macros that a page defines: one in another, characters that they say in all
_MAX_CONDITIONS = 100  # one behind another on a line; what stands behind more is left out


class Page(ABC):
    """Reads source line by line; what was read and not yet added is a paragraph, an item or code."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._lines: list[str] = []
        self._term: list[str] = []
        self._item = False
        self._code = self._synopsis = self._otherwise = False
        self._name = self._summary = self._heading = ""
        self._macros: dict[str, list[str]] = {}  # that the page defines
        self._strings: dict[str, str] = {}
        self._depth, self._spare = 0, _MOST_SAID

    def read(self, text: str) -> None:
        """Read the source of the page."""
        lines = iter(text.replace("\\\n", "").split("\n"))
        for line in lines:
            self._next(line, lines)
        self._end()

    def _next(self, line: str, lines: Iterator[str]) -> None:
        """Read a line, and those of the others that it takes along."""
        if self._strings and "\\*" in line:
            line = _STRING.sub(lambda named: self._strings.get(named[1].strip("([]"), named[0]), line)
        found = _REQUEST.fullmatch(line)
        for _ in range(_MAX_CONDITIONS):
            if not (found and found[1] in ("if", "ie", "el")):
                break
            if not (line := self._conditional(found[1], found[2])):
                return
            found = _REQUEST.fullmatch(line)
        if not found:
            self._text(plain(line))
        elif found[1] in _DEFINITIONS:
            given = [*[""] * (found[1] == "ig"), *_COMMENT.sub("", found[2]).split(), "", ""]
            body = list(takewhile(lambda inner: _name_of(inner) != (given[1] or "."), lines))
            if found[1] in ("de", "de1"):
                self._macros[given[0]] = body
        elif found[1] == "ds":
            name, _, said = found[2].partition(" ")
            if name not in _SIGNS and len(said) <= _MAX_TERM_CHARS:
                self._strings[name] = said.strip().removeprefix('"').replace("\\\\", "\\")
        elif found[1] == "als":
            new, old = [*found[2].split(), "", ""][:2]
            self._macros[new] = self._macros.get(old, [])
        elif found[1] in ("TS", "EQ"):
            self._table(lines, f".{found[1][0]}E" if found[1] == "TS" else ".EN")
        else:
            rest = _COMMENT.sub("", found[2]).strip()
            if found[1] in self._macros and not self._knows(found[1]):
                self._expand(self._macros[found[1]], rest)
            else:
                self._request(found[1], rest)

    def _expand(self, body: list[str], rest: str) -> None:
        """Read what a macro says that the page defines itself, with its arguments; none of those that say too much."""
        self._spare -= 1 + sum(len(line) + line.count("\\\\$") * len(rest) for line in body)
        if self._spare < 0 or self._depth == _MAX_DEPTH:
            return
        given = arguments(rest)
        values = {"*": " ".join(given), "@": " ".join(given), **{str(at): value for at, value in enumerate(given[:9], 1)}}
        said = [_PARAMETER.sub(lambda found: values.get(found[1], ""), line).replace("\\\\", "\\") for line in body]
        self._depth += 1
        inner = iter(said)
        for line in inner:
            self._next(line, inner)
        self._depth -= 1

    def _conditional(self, request: str, rest: str) -> str:
        """Return what is said on one line where a condition of a terminal holds, else an empty text.

        Of what stands in braces the first line is left out and the others are read, whatever the condition: items are told
        twice, for a terminal by a bullet that is drawn, for print by macros.
        """
        if request == "el":
            holds, said = self._otherwise, rest
        elif found := _CONDITION.fullmatch(rest):
            holds, said = bool(found["not"]) != _holds(found), found["said"]
        else:
            holds, said = False, ""
        self._otherwise = request == "ie" and not holds
        return said.strip() if holds and not said.startswith("\\{") else ""

    def parsed(self, metadata: dict[str, str]) -> Parsed:
        """Return what was read."""
        return self._builder.parsed(manual_title(self._name, self._summary) if self._name else "", metadata)

    @abstractmethod
    def _knows(self, name: str) -> bool:
        """Tell whether a request or macro is read here, whatever the page makes of it."""

    @abstractmethod
    def _text(self, text: str) -> None:
        """Read a line of text, without escapes."""

    @abstractmethod
    def _request(self, name: str, rest: str) -> None:
        """Read a request or macro with its arguments, in which escapes stand."""

    def _section(self, level: int, heading: str) -> None:
        """Begin a section or subsection (2); what was read is added already."""
        self._heading = heading
        self._synopsis = heading == "SYNOPSIS" or (level > 1 and self._synopsis)
        self._builder.heading(level, heading)

    def _read(self) -> str:
        return "".join(self._lines).strip()

    def _lead(self) -> None:
        """Let what was read lead to what stands further in: the term of an item, or a short line without a term."""
        if self._is_term():
            self._term, self._lines, self._item = [f"{self._read() or ', '.join(self._term)}:"], [], True

    def _is_term(self) -> bool:
        """Tell whether what was read is a term with its description, or a list of it, further in."""
        text, term = self._read(), ", ".join(self._term)
        if bool(text) == bool(term) or self._is_mark(term):
            return False
        return len(text or term) <= _MAX_TERM_CHARS and (text or term)[-1] not in ".:;?!"

    def _is_mark(self, term: str) -> bool:
        """Tell whether what an item hangs from is a bullet or a number."""
        return term in _BULLETS or bool(re.fullmatch(r"\(?\w{1,3}[.)]", term))

    def _table(self, lines: Iterator[str], end: str) -> None:
        """Keep the rows of a table as they stand, or one by one where cells are texts over lines; formulas are left out."""
        self._end(keep_item=True)
        source = "\n".join(takewhile(lambda line: line.rstrip() != end, lines))
        if end != ".TE":
            return
        options = source.partition("\n")[0]
        between = found[1] if options.endswith(";") and (found := _SEPARATOR.search(options)) else "\t"
        rows, headed = _rows(source, between, options=options.endswith(";"))
        if _CELL.search(source):
            add_rows(self._builder, rows, "table", headed=headed, strict=True)
        elif rows:
            self._builder.add("\n".join("  ".join(row) for row in rows), "code")

    def _end(self, *, keep_item: bool = False) -> None:
        """Add what was read."""
        text = "".join(self._lines).strip("\n" if self._code else None)
        term, lines, self._lines, self._term = ", ".join(self._term), self._lines, [], []
        if self._heading == "NAME" and text and not self._summary:
            self._summary = text
        if self._code or self._synopsis:
            self._builder.add(term or "", "list")
            self._builder.add(re.sub(r"(?<! ) *\n *", "\n", text) if not self._code else text, "code")
        elif text.startswith("$ ") and not term:  # what is typed, set as text
            parts = ("\n" if mark == " " and before.endswith("\\") else mark for before, mark in pairwise(["", *lines]))
            self._builder.add("".join(parts).strip(), "code")
        elif term or text:
            said = " ".join(text.split())
            goes_on = self._is_mark(term) or term.endswith(":")
            whole = f"{term} {said}" if goes_on else f"{term}: {said}" if term and said else term or said
            self._builder.add(whole, "list" if self._item else "paragraph")
        self._item = self._item and keep_item


def plain(line: str) -> str:
    """Return a line without escapes."""
    return _ESCAPE.sub(_meaning, _COMMENT.sub("", line)) if "\\" in line else line


def arguments(rest: str) -> list[str]:
    """Return the arguments of a macro, with their escapes."""
    return [word or quoted.replace('""', '"') for quoted, word in TOKEN.findall(rest)]


def _name_of(line: str) -> str:
    found = _REQUEST.fullmatch(line)
    return found[1] if found else ""


def _rows(source: str, between: str, *, options: bool) -> tuple[list[list[str]], bool]:
    """Return the cells of the rows of a table, and whether its format sets the first one in bold."""
    whole = _CELL.sub(lambda cell: " ".join(_MACRO.sub("", cell[1]).split()).replace(between, "\0"), source)
    rows, format_, first = [], True, ""
    for line in whole.split("\n")[options:]:
        if format_:
            first = first or line
            format_ = not line.rstrip().endswith(".")
        elif line.startswith(".T&"):
            format_ = True
        elif not line.startswith(".") and line.strip("_= "):
            rows.append([plain(cell.replace("\0", between)).strip() for cell in line.split(between)])
    return rows, "B" in first.upper()


def _holds(condition: re.Match[str]) -> bool:
    """Tell whether a condition holds on a terminal, of groff: of its registers ``.g`` alone is known."""
    if condition["letter"]:
        return condition["letter"] in "no"
    if condition["number"]:
        return condition["number"] in ("\\n(.g", "\\n[.g]")
    return bool(plain(condition["one"]) == plain(condition["other"]))


def _meaning(found: re.Match[str]) -> str:
    named = (found["text"] or found["sign"] or "").strip("([]")
    if re.fullmatch(r"u[0-9A-Fa-f]{4,6}", named):
        return chr(int(named[1:], 16))
    if len(named) == 2 and named[0] in _ACCENTS and named[1].isalpha():
        return unicodedata.normalize("NFC", named[1] + _ACCENTS[named[0]])
    return _SIGNS.get(named, "") if named else _ONE.get(found["one"] or "", "")
