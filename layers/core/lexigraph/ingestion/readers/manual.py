"""Manual pages: their source, which the macros of ``man(7)`` mark up, or the text that ``man`` prints."""

import re
import shlex
from collections.abc import Iterator

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_text
from lexigraph.ingestion.readers.plain.pages import manual_title
from lexigraph.ingestion.readers.plain.reader import read_text
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_MARKED_UP = re.compile(r"\s*[.'](?:[^\S\n]*\w|\\\")")  # its first line is a comment or a request
_FIRST = re.compile(r"^[.'][^\S\n]*(TH|Dd|so)\s", re.MULTILINE)
_OVERSTRUCK = re.compile(".\b")  # bold and underlined in what man prints
_REQUEST = re.compile(r"[.'][^\S\n]*(\S*)[^\S\n]*(.*)")
_COMMENT = re.compile(r"(?<!\\)\\[\"#].*")
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s(?:[+-]?\d{1,2}|'[^']*'|\[[^\]]*\])|[hvwXbo]'[^']*'|[mMnkFg](?:\[[^\]]*\]|\(..|.)"
    r"|\*(?P<text>\[[^\]]*\]|\(..|.)|(?P<sign>\[[^\]]*\]|\(..)|(?P<one>.))"
)
_ONE = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", "t": " ", ".": "."}
_SIGNS = dict(
    zip(
        'bu em en aq dq lq rq oq cq co rg tm mu ga ha ti rs <= >= != -> <- hy Aq L" R" C` C\' -- at sh Tm R'.split(),
        '•—–\'"“”‘’©®™×`^~\\≤≥≠→←-\'""""—@#™®',
        strict=True,
    )
)
_ALTERNATING = frozenset("BR RB BI IB IR RI".split())
_FONTS = frozenset("B I SM SB R".split())
_BREAKS = frozenset("PP P LP HP sp RS RE".split())
_BULLETS = frozenset("•-*·o–—")
_NO_ITEM = ("SH", "SS", "PP", "P", "LP", "RE")
_MAX_TERM_CHARS = 80


def read_manual(data: bytes, settings: Settings) -> Parsed:
    """Read a manual page, its source or its text; any other text is read as plain text.

    Pages in the macros of ``mdoc(7)``, and those that only name another page, raise ``InvalidInput``.
    """
    text, encoding = decode(_printed(data))
    found = _FIRST.search(text) if _MARKED_UP.match(text) else None
    if not found:
        return read_text(_printed(data), settings)
    if found[1] == "Dd":
        raise InvalidInput("uses mdoc macros: convert it with `man -l FILE > FILE.txt`")
    if found[1] == "so":
        raise InvalidInput("only refers to another page")
    check_text(text, settings)
    page = _Page(TextBuilder(settings))
    page.read(text)
    return page.parsed(encoding_note(encoding))


def _printed(data: bytes) -> bytes:
    return re.sub(_OVERSTRUCK.pattern.encode(), b"", data) if b"\b" in data else data


class _Page:
    """Reads source line by line; what was read and not yet added is a paragraph, an item or code."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._lines: list[str] = []
        self._term: list[str] = []
        self._wants = ""  # what the next line of text is: a term, a heading
        self._item = False
        self._code = self._synopsis = False
        self._name = self._summary = self._heading = ""

    def read(self, text: str) -> None:
        lines = iter(text.replace("\\\n", "").split("\n"))
        for line in lines:
            found = _REQUEST.fullmatch(line)
            if not found:
                self._text(_plain(line))
            elif found[1] in ("de", "ig", "am"):
                end = (found[2].split()[1:2] if found[1] != "ig" else found[2].split()[:1]) or ["."]
                next((inner for inner in lines if (last := _REQUEST.fullmatch(inner)) and last[1] == end[0]), None)
            elif found[1] in ("TS", "EQ"):
                self._table(lines, f".{found[1][0]}E" if found[1] == "TS" else ".EN")
            else:
                self._request(found[1], _COMMENT.sub("", found[2]).strip())
        self._end()

    def parsed(self, metadata: dict[str, str]) -> Parsed:
        return self._builder.parsed(manual_title(self._name, self._summary) if self._name else "", metadata)

    def _request(self, name: str, rest: str) -> None:
        if name in _ALTERNATING or name in _FONTS:
            text = ("" if name in _ALTERNATING else " ").join(_arguments(rest))
            if text:  # without arguments they are for the next line
                self._text(text)
        elif name in ("UR", "MT"):
            self._text(_plain(rest))
        elif name in ("nf", "EX", "fi", "EE"):
            self._end(keep_item=True)
            self._code = name in ("nf", "EX")
        elif name == "br":
            self._lines += ["\n"] * bool(self._lines)
        elif name == "TH":
            title, section, *_ = [*_arguments(rest), "", ""]
            self._name = f"{title}({section})" if title else ""
        elif name in ("SH", "SS"):
            self._end()
            self._wants = name
            if rest:
                self._text(" ".join(_arguments(rest)))
        elif name in ("TP", "TQ", "IP"):
            self._begin_item(name, _arguments(rest))
        elif name == "RS" and self._is_term():
            self._term, self._lines, self._item = [f"{self._read() or ', '.join(self._term)}:"], [], True
        elif name in _BREAKS:
            if name == "RE" and not self._read():  # nothing stood further in
                self._term = [term.removesuffix(":") for term in self._term]
            self._end(keep_item=name not in _NO_ITEM)

    def _read(self) -> str:
        return "".join(self._lines).strip()

    def _is_term(self) -> bool:
        """Tell whether what was read is a term with its description, or a list of it, further in."""
        text, term = self._read(), ", ".join(self._term)
        if bool(text) == bool(term) or _is_mark(term):
            return False
        return len(text or term) <= _MAX_TERM_CHARS and (text or term)[-1] not in ".:;?!"

    def _begin_item(self, name: str, given: list[str]) -> None:
        if name == "IP" and not any(given[:1]) and self._term and not self._read():
            return  # the description of the term above
        if name != "TQ":
            self._end()
        self._item = True
        if name == "IP":
            self._term = given[:1]
        else:
            self._wants = "term"

    def _text(self, text: str) -> None:
        if self._wants and text.strip():
            wanted, self._wants = self._wants, ""
            if wanted == "term":
                self._term.append(text.strip())
            else:
                self._heading = text.strip()
                self._synopsis = self._heading == "SYNOPSIS" or (wanted == "SS" and self._synopsis)
                self._builder.heading(1 if wanted == "SH" else 2, self._heading)
        elif text.strip() or self._code:
            self._lines += [text, "\n" if self._code else " "]
        elif not self._wants:
            self._end(keep_item=True)

    def _table(self, lines: Iterator[str], end: str) -> None:
        """Keep the rows of a table as they stand; formulas are left out."""
        self._end(keep_item=True)
        rows = [_plain(line) for line in iter(lambda: next(lines, end), end)]
        body = [row.replace("\t", "  ") for row in rows if "\t" in row]
        if end == ".TE" and body:
            self._builder.add("\n".join(body), "code")

    def _end(self, *, keep_item: bool = False) -> None:
        """Add what was read."""
        text = "".join(self._lines).strip("\n" if self._code else None)
        term, self._lines, self._term = ", ".join(self._term), [], []
        if self._heading == "NAME" and text and not self._summary:
            self._summary = text
        if self._code or self._synopsis:
            self._builder.add(term or "", "list")
            self._builder.add(re.sub(r" *\n *", "\n", text) if not self._code else text, "code")
        elif term or text:
            said = " ".join(text.split())
            goes_on = _is_mark(term) or term.endswith(":")
            whole = f"{term} {said}" if goes_on else f"{term}: {said}" if term and said else term or said
            self._builder.add(whole, "list" if self._item else "paragraph")
        self._item = self._item and keep_item


def _is_mark(term: str) -> bool:
    """Tell whether what an item hangs from is a bullet or a number."""
    return term in _BULLETS or bool(re.fullmatch(r"\(?\w{1,3}[.)]", term))


def _arguments(rest: str) -> list[str]:
    """The arguments of a macro, those in quotation marks whole."""
    lexer = shlex.shlex(rest, posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return [_plain(argument) for argument in lexer]
    except ValueError:  # a quotation mark that is not closed
        return [_plain(argument.strip('"')) for argument in rest.split()]


def _plain(line: str) -> str:
    """Return a line without escapes."""
    return _ESCAPE.sub(_meaning, _COMMENT.sub("", line)) if "\\" in line else line


def _meaning(found: re.Match[str]) -> str:
    named = (found["text"] or found["sign"] or "").strip("([]")
    if re.fullmatch(r"u[0-9A-Fa-f]{4,6}", named):
        return chr(int(named[1:], 16))
    return _SIGNS.get(named, "") if named else _ONE.get(found["one"] or "", "")
