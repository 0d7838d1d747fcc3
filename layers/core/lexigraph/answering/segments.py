"""An answer taken apart into lines and sentences with their labels, and put together without some. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lexigraph.model.sentences import Span, sentences

LABEL = re.compile(r"\[S([0-9]+)\]")
_LABELLED_END = re.compile(r"\[S[0-9]+\][.!?]+[ \t]+")
_LEADING = re.compile(r"(?:[ \t]*\[S[0-9]+\])+[.,;:!?]*")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•>|#]+|\d{1,3}[.)])[ \t]+")
_HEADING = re.compile(r"#+ [^\n\[]*|(?:\*\*|__)[^\n\[]*(?:\*\*|__):?")


def lines(answer: str) -> Iterator[Span]:
    """Yield the lines of an answer, a block of code with its fences as one."""
    start, at, fenced = 0, 0, False
    for line in answer.splitlines(keepends=True):
        at += len(line)
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced:
            yield start, at
            start = at
    if start < at:
        yield start, at


def units(answer: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of a line, none of a heading; labels behind a full stop belong to the sentence before it."""
    line = answer[start:end]
    if _FENCE.match(line):
        yield start, end
        return
    if _HEADING.fullmatch(line.strip()):
        return
    item = _ITEM.match(answer, start, end)
    begin = item.end() if item else start
    # behind a label a sentence ends, whatever follows: openCypher, say
    cuts = [begin, *(m.end() for m in _LABELLED_END.finditer(answer, begin, end)), end]
    found: list[Span] = []
    for first, last in (span for a, b in pairwise(cuts) for span in sentences(answer, a, b)):
        leading = _LEADING.match(answer, first, last) if found else None
        if leading:
            found[-1] = (found[-1][0], leading.end())
        after = leading.end() if leading else first
        if answer[after:last].strip():
            found.append((after, last))
    yield from found


def without(answer: str, spans: Sequence[Span]) -> str:
    """Return the answer without these stretches, and without the lines of which nothing is left."""
    out, at = list[str](), 0
    for line in answer.splitlines(keepends=True):
        inside = [(max(a - at, 0), min(b - at, len(line))) for a, b in spans if a < at + len(line) and b > at]
        rest = line
        for start, end in sorted(inside, reverse=True):
            rest = rest[:start].rstrip(" \t") + (rest[end:] if start else rest[end:].lstrip(" \t"))
        item = _ITEM.match(rest)
        if not inside or any(map(str.isalnum, LABEL.sub("", rest[item.end() if item else 0 :]))):
            out.append(rest)
        at += len(line)
    return "".join(out).strip() if spans else answer


def labels(text: str, count: int) -> list[int]:
    """Return the numbers of the labels in a text, each once, of those up to ``count``."""
    return [n for n in dict.fromkeys(int(m[1]) for m in LABEL.finditer(text) if len(m[1]) < 7) if 1 <= n <= count]
