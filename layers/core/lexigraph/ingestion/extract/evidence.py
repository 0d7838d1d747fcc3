"""Where in a chunk's text a statement has its evidence: an exact quote, else nearly one, else the likeliest sentence."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

_Word = tuple[str, int, int]  # folded, start, end

_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"\S(?:.*?[.!?…]+[\"'”’)\]]*(?=\s|$)|.*)", re.MULTILINE)
_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？]+[”’」』）]*\s*|\n+")
_ABBREVIATED = """
    mr mrs ms dr st prof gen col lt sgt capt maj rev hon sen rep gov pres jr sr vs cf fig figs eq no nos vol pp p ed eds al
    approx ca inc ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec dept est ave blvd mt ft ch sec e.g i.e
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_OPENING = "\"'“‘«([¿¡"
_ENOUGH = 0.5  # share of a statement's words that a sentence must hold to be its evidence
_MIN_QUOTE_WORDS = 2


def locate(text: str, quote: str, statement: str, after: int = 0) -> tuple[int, int]:
    """Return the character offsets of a statement's evidence in ``text``.

    Tried in turn: the quote as it is, the quote without regard to case, punctuation and white space, the statement
    likewise, the sentence or two neighbours that share most words with the statement, the whole text. Of several places
    the first from ``after`` on counts.
    """
    bare = quote.strip()
    if len(bare) > 1:
        at = text.find(bare, after)
        at = text.find(bare) if at < 0 else at
        if at >= 0:
            return at, at + len(bare)
    words = _words(text)
    for wanted in (bare, statement):
        sought = [word for word, _, _ in _words(wanted)]
        places = _places(words, sought) if len(sought) >= _MIN_QUOTE_WORDS else []
        if places:
            at = next((i for i in places if words[i][1] >= after), places[0])
            return words[at][1], words[at + len(sought) - 1][2]
    return _likeliest(text, statement) or _trimmed(text, 0, len(text))


def sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return the offsets of the sentences of ``text[start:end]``, without the white space around them.

    One ends at a full stop or a line break after which no small letter follows, and at those of Chinese and Japanese.
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
    words = text[max(0, stop.start() - 16) : stop.start()].split()
    last = words[-1].lstrip(_OPENING) if words else ""
    initial = len(last) == 1 and last.isupper()
    return stop[0][0] != "." or not (initial or last.lower() in _ABBREVIATIONS)


def holds(text: str, name: str) -> bool:
    """Tell whether a text holds the words of a name in a row, without regard to case and punctuation."""
    sought = [word for word, _, _ in _words(name)]
    return bool(sought and _places(_words(text), sought))


def _words(text: str) -> list[_Word]:
    return [(_folded(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _places(words: Sequence[_Word], sought: list[str]) -> list[int]:
    plain = [word for word, _, _ in words]
    return [i for i in range(len(plain) - len(sought) + 1) if plain[i : i + len(sought)] == sought]


def _likeliest(text: str, statement: str) -> tuple[int, int] | None:
    """The sentence, or two in a row where the second adds much, that holds most of the statement's words."""
    wanted = Counter(word for word, _, _ in _words(statement))
    spans = [m.span() for m in _SENTENCE.finditer(text)]
    if not wanted or not spans:
        return None

    def share(start: int, end: int) -> float:
        held = Counter(word for word, _, _ in _words(text[start:end]))
        return (wanted & held).total() / wanted.total()

    singles = [(share(*span), span) for span in spans]
    pairs = [(share(a[0], b[1]) - 0.15, (a[0], b[1])) for a, b in pairwise(spans)]
    score, span = max([*singles, *pairs], key=lambda found: (found[0], -found[1][0]))
    return span if score >= _ENOUGH else None


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    bare = text[start:end].strip()
    at = text.find(bare, start, end)
    return at, at + len(bare)
