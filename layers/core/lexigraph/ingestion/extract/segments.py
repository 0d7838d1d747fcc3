"""Cuts a chunk's text into stretches that hold whole sentences or are one statement by themselves. Pure text, no model.

Every position is a character offset in the text that was given.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lexigraph.ingestion.extract.words import listed

MAX_STATEMENT_CHARS = 600
MAX_SENTENCE_CHARS = 1_000  # of one that is a statement by itself
_MIN_PIECE_CHARS = 120
_WRAP_CHARS = 140
_HEADING_CHARS = 80
_HEADING_WORDS = 9
_TERM_CHARS = 100
_TERM_WORDS = 6
_INLINE_WORDS = 3
_WRAPPED_CHARS = 50

_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦▪–]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[ivx]{1,5})[.)]|\(?[a-zA-Z]\))\s+")
_INLINE_TERM = re.compile(r"(?!(?:Notes?|Warning|Caution|Important|Tip|Hint|Examples?|TODO):)([^\s:][^:\n]{0,60}):\s+(?=\S)")
# Delay= The time to wait; LISTEN The socket is open
_BARE_TERM = re.compile(r"((?:[\w.@-]+=,\s+)*[\w.@-]+=|[a-z][a-z0-9_.-]*[a-z0-9_]|[A-Z][A-Z0-9_]+)\s+(?=[A-Z][a-z]*\s)")
_BRACKETED = re.compile(r"\([^()]*\)")
_OPTION = re.compile(r"\s*[-+/]{1,2}\w[\w-]*")
_CAPITAL = "[A-ZÀ-ÖØ-ÞĆČĐŁŃŚŠŹŻŽ]"
_SPEAKER = re.compile(
    rf"\s*(?:\[[^\]\n]{{1,40}}\]\s*)?(Speaker \d+|{_CAPITAL}[\w.'’-]*(?: {_CAPITAL}[\w.'’-]*){{0,3}}):[ \t]+(?=\S)"
)
_NO_SPEAKERS = listed(
    """
    time date subject from to cc bcc note notes summary example warning tip see name title author type status id url
    version description default returns raises parameters args address phone email location source answer question
    """
)
_CJK_STOP = re.compile(r"[。！？]+[」』”）]*")
_CLAUSE_ENDS = (re.compile(r"[;.!?]\s+"), re.compile(r":\s+|\s[–—]\s|\s-{2}\s"), re.compile(r",\s+"), re.compile(r"\s+"))


@dataclass(frozen=True, slots=True)
class Segment:
    """``text[start:end]``: prose is split into sentences, a whole segment is one statement.

    ``body`` is where the parsed part begins, after a list marker or a speaker's name; ``speaker`` is that name.
    ``heading`` marks a short line without a full stop above a text: the topic of what follows, and no statement. ``term``
    is where that ends which a definition item defines, 0 where there is none; ``mark`` is the bullet or number of an item.
    """

    start: int
    body: int
    end: int
    whole: bool = False
    speaker: str = ""
    heading: bool = False
    term: int = 0
    mark: str = ""


def chat(text: str) -> list[Segment]:
    """Return the turns of a conversation, when most lines begin with ``Name: ``; else nothing."""
    found = _chat(text, _lines(text))
    return [replace(s, start=a, end=b) for s in found for a, b in [_trimmed(text, s.start, s.end)]]


def _lines(text: str) -> list[tuple[int, int]]:
    return [(m.start(), m.end()) for m in _LINE.finditer(text) if any(c.isalnum() for c in m.group())]


def segments(text: str, role: str) -> list[Segment]:
    """Return the segments of a chunk in order; stretches without a letter or digit are left out."""
    lines = _lines(text)
    if role == "row":
        found = [Segment(start, start, end, whole=True) for start, end in lines]
    elif role == "list":
        found = list(_items(text, lines))
    else:
        found = _chat(text, lines) or _headed(text, list(_prose(text, lines)))
    bounds = [_trimmed(text, s.start, s.end) for s in found]
    trimmed = [replace(s, start=a, body=max(s.body, a), end=b) for s, (a, b) in zip(found, bounds, strict=True)]
    return [s for s in trimmed if any(c.isalnum() for c in text[s.body : s.end])]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _items(text: str, lines: list[tuple[int, int]]) -> Iterator[Segment]:
    """List items; a line without a marker continues the item above it, if the list has markers at all."""
    marks = [_ITEM.match(text, start, end) for start, end in lines]
    marked = any(marks)
    begin = body = stop = -1
    bullet = ""
    for (start, end), mark in zip(lines, marks, strict=True):
        if begin >= 0 and marked and not mark:
            stop = end
            continue
        if begin >= 0:
            yield _item(text, begin, body, stop, bullet)
        begin, body, stop = _after_marker(text, start, end), mark.end() if mark else start, end
        bullet = mark.group().strip() if mark else ""
        if not marked and _term_end(text, start, lines[-1][1]):
            stop = lines[-1][1]
            break
    if begin >= 0:
        yield _item(text, begin, body, stop, bullet)


def _item(text: str, begin: int, body: int, stop: int, bullet: str) -> Segment:
    """An item; one that defines something is parsed from its second line on."""
    bare = None if bullet else _BARE_TERM.match(text, body, stop)
    term = bare.end(1) if bare else _term_end(text, body, stop)
    return Segment(begin, term or body, stop, term=term, mark=bullet)


def _term_end(text: str, start: int, stop: int) -> int:
    """Return where ends what an item defines, on a line of its own or before a colon: ``-a, --all``; else 0."""
    inline = _INLINE_TERM.match(text, start, stop)
    if inline and is_short(inline.group(1)):
        return inline.end(1) + 1
    first, _, rest = text[start:stop].partition("\n")
    following = rest.split(maxsplit=1)
    if not following or len(first) > _TERM_CHARS or first.rstrip().endswith((".", ",", ";", "?", "!")):
        return 0
    short = len(first.split()) <= _TERM_WORDS and len(first) + 1 + len(following[0]) < _WRAPPED_CHARS
    return start + len(first) if _OPTION.match(first) or (short and following[0][0].isupper()) else 0


def is_short(term: str) -> bool:
    """Tell whether a text has so few words, but for those in brackets, that it is a term before a colon."""
    return len(_BRACKETED.sub("", term).split()) <= _INLINE_WORDS


def _chat(text: str, lines: list[tuple[int, int]]) -> list[Segment]:
    found = []
    turns = 0
    for start, end in lines:
        match = _SPEAKER.match(text, start, end)
        speaker = match.group(1) if match and _may_speak(match.group(1)) else ""
        turns += bool(speaker)
        found.append(Segment(start, match.end() if match and speaker else start, end, whole=True, speaker=speaker))
    return found if turns >= 2 and turns * 2 >= len(lines) else []


def _may_speak(name: str) -> bool:
    """Tell whether a name before a colon may be somebody's: not ``Note``, ``Q2`` or ``BIT STRING``."""
    return name.casefold() not in _NO_SPEAKERS and "_" not in name and any(c.islower() for c in name)


def _prose(text: str, lines: list[tuple[int, int]]) -> Iterator[Segment]:
    """Paragraphs; lines wrapped at a width are joined, lines broken on purpose are not."""
    if not lines:
        return
    width = max(end - start for start, end in lines)
    begin, stop = lines[0]
    for start, end in lines[1:]:
        if _broken_on_purpose(text, (begin, stop), (start, end), width):
            yield from _paragraph(text, begin, stop)
            begin = start
        stop = end
    yield from _paragraph(text, begin, stop)


def _headed(text: str, found: list[Segment]) -> list[Segment]:
    """Mark the lines that are headings of the text below them."""
    short = [_like_heading(text[s.start : s.end].strip()) for s in found]
    return [
        replace(s, heading=True) if is_short and at + 1 < len(found) and not short[at + 1] else s
        for at, (s, is_short) in enumerate(zip(found, short, strict=True))
    ]


def _like_heading(line: str) -> bool:
    return len(line) <= _HEADING_CHARS and len(line.split()) <= _HEADING_WORDS and line[-1:].isalnum() and not line.islower()


def _broken_on_purpose(text: str, above: tuple[int, int], below: tuple[int, int], width: int) -> bool:
    if text.count("\n", above[1], below[0]) > 1 or _ITEM.match(text, *below):
        return True
    if text[below[0] : below[1]].lstrip()[:1].islower():
        return False
    # a line was wrapped when the next word would not have fit in the widest line
    last_line = above[1] - (text.rfind("\n", above[0], above[1]) + 1 or above[0])
    first_word = len(text[below[0] : below[1]].split(maxsplit=1)[0])
    return width > _WRAP_CHARS or last_line + 1 + first_word <= width


def _paragraph(text: str, start: int, end: int) -> Iterator[Segment]:
    """A paragraph; where sentences end without a space after them, as in Chinese and Japanese, one segment each."""
    mark = _ITEM.match(text, start, end) if "\n" in text else None
    begin, body = _after_marker(text, start, end), mark.end() if mark else start
    for stop in _CJK_STOP.finditer(text, body, end):
        yield Segment(begin, body, stop.end())
        begin = body = stop.end()
    yield Segment(begin, body, end)


def _after_marker(text: str, start: int, end: int) -> int:
    """Return where an item begins: after its bullet, but with its number, which says what comes first."""
    mark = _ITEM.match(text, start, end)
    return mark.end() if mark and not any(c.isalnum() for c in mark.group()) else start


def pieces(text: str, start: int, end: int, limit: int = MAX_STATEMENT_CHARS) -> list[tuple[int, int]]:
    """Cut ``text[start:end]`` at clause punctuation so that no piece is longer than ``limit`` characters."""
    cut = []
    while end - start > limit:
        at = _clause_end(text, start, start + limit)
        cut.append((start, at))
        start = at
    cut.append((start, end))
    trimmed = (_trimmed(text, a, b) for a, b in cut)
    return [(a, b) for a, b in trimmed if a < b]


def _clause_end(text: str, start: int, limit: int) -> int:
    for pattern in _CLAUSE_ENDS:
        ends = [m.end() for m in pattern.finditer(text, start + _MIN_PIECE_CHARS, limit)]
        if ends:
            return ends[-1]
    return limit
