"""The sentences of a text, told by its stops and lines alone: for what has to be quick, in any language. Pure."""

import re

Span = tuple[int, int]

_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[”’」』）]*\s*|\n+")
_ABBREVIATED = """
    mr mrs ms dr st prof gen col lt sgt capt maj rev hon sen rep gov pres jr sr vs cf fig figs eq no nos vol pp p ed eds al
    approx ca inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec dept est ave blvd mt ft ch sec e.g i.e
"""
ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_OPENING = "\"'“‘«([¿¡"
_WRAPPED = 40  # characters of a line that another may continue


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Return the offsets of the sentences of ``text[start:end]``, without the white space around them.

    One ends at a full stop after which no small letter follows, at those of Chinese and Japanese, and at the end of a line
    that no editor wrapped: a short one, or one that ends with a colon.
    """
    end = len(text) if end is None else end
    cuts = [m.end() for m in _STOP.finditer(text, start, end) if _ends(text, m)]
    found = [_trimmed(text, a, b) for a, b in zip([start, *cuts], [*cuts, end], strict=True)]
    return [(a, b) for a, b in found if any(c.isalnum() for c in text[a:b])]


def _ends(text: str, stop: re.Match[str]) -> bool:
    if stop[0][0] in "。！？":
        return True
    if text[stop.end() : stop.end() + 3].lstrip(_OPENING)[:1].islower():
        return False
    if stop[0][0] == "\n":
        line = text[text.rfind("\n", 0, stop.start()) + 1 : stop.start()].strip()
        return len(line) < _WRAPPED or line.endswith(":")
    words = text[max(0, stop.start() - 16) : stop.start()].split()
    last = words[-1].lstrip(_OPENING) if words else ""
    initial = len(last) == 1 and last.isupper()
    return stop[0][0] != "." or not (initial or last.lower() in ABBREVIATIONS)


def _trimmed(text: str, start: int, end: int) -> Span:
    bare = text[start:end].strip()
    at = text.find(bare, start, end)
    return at, at + len(bare)
