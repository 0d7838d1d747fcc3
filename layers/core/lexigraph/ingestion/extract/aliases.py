"""Other names that a text itself gives: ``Simple Storage Service (S3)``, ``X, also known as Y``, ``X (born Y)``."""

import re
from collections.abc import Iterator, Sequence

from lexigraph.ingestion.extract.names import clean_name
from lexigraph.ingestion.extract.words import listed
from lexigraph.model.normalise import entity_key

_SMALL = listed("of the and for in on de la le des du & a an to with")
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&.-]{1,9}s?")
_BRACKET = re.compile(
    r"\s*\(\s*(?:or |the |abbreviated |abbreviated as |also |known as )*[\"“']?([^()\"“”';,]{2,60}?)[\"”']?\s*[);,]"
)
_CALLED = re.compile(
    r"[\s,(]*(?:\b(?:is|was|are|were|and|or|formerly|previously|originally|commonly|also|better|best|now|sometimes|often|"
    r"officially|popularly|professionally|simply|who|which)\s+)*"
    r"(?:(?:also |better |best |formerly |commonly |officially |popularly |professionally |otherwise |previously )*"
    r"(?:known|called|abbreviated|nicknamed|referred to|branded|marketed|credited)(?: professionally| commonly| simply)?"
    r"(?: as| by)?|a\.?k\.?a\.?|officially|formerly|originally|née|nee|born)\s+(?:simply |as |the |by )*[\"“']*$"
)
_JOINED = re.compile(r"\b(?:and|or|of|in|at|near|from|by|with)(?: the)? $")
_MIN_FULL_WORDS = 2
_BETWEEN = 90  # characters from a name to its other name, at most


def find_aliases(text: str, spans: Sequence[tuple[int, int, str, str]], title: str) -> list[tuple[str, str]]:
    """Return (other name, name) pairs in reading order.

    ``spans`` are (start, end, name, class) of the names in ``text``, in order. The document's ``title`` is the name when
    it is one of the two.
    """
    key = entity_key(title)
    pairs = [*_acronyms(text, spans), *_called(text, spans, key)]
    turned = [(name, other) if key and entity_key(other) == key else (other, name) for other, name in pairs]
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for other, name in turned:
        keys = (entity_key(other), entity_key(name))
        if all(keys) and keys[0] != keys[1] and keys[::-1] not in kept:
            kept.setdefault(keys, (other, name))
    return list(kept.values())


def _acronyms(text: str, spans: Sequence[tuple[int, int, str, str]]) -> Iterator[tuple[str, str]]:
    for _, end, name, _ in spans:
        match = _BRACKET.match(text, end)
        if not match:
            continue
        inner = match.group(1).strip()
        if _ACRONYM.fullmatch(inner) and stands_for(inner, name):
            yield inner, name
        elif _ACRONYM.fullmatch(name) and inner[:1].isupper() and stands_for(name, inner):
            yield name, clean_name(inner)


def stands_for(short: str, full: str) -> bool:
    """Tell whether an acronym can be read from the initials of a name: NBA, S3, ANiC, NATO.

    Leading words of the name may be left out. A digit repeats its neighbour: S3 is read as SSS, from Simple Storage Service.
    """
    words = [w for w in re.split(r"[\s\-–/]+", full.casefold()) if w]
    letters = re.sub(r"[^a-z\d]", "", short.rstrip("s").casefold())
    digit = any(c.isdigit() for c in letters)
    if len(words) < _MIN_FULL_WORDS or sum(c.isupper() for c in short) < (1 if digit else 2):
        return False
    initials = ("".join(w[0] for w in words if w not in _SMALL), "".join(w[0] for w in words))
    if any(i.endswith(form) for i in initials for form in _read_out(letters)):
        return True
    return not digit and len(letters) > 2 and _in_order(letters, words)


def _read_out(letters: str) -> tuple[str, ...]:
    """An acronym as its initials: with its digit as a count (W3C, S3, EC2), and without."""
    counted = re.sub(r"([a-z])(\d)|(\d)([a-z])", lambda m: (m[1] or m[4]) * int(m[2] or m[3]), letters)
    return (counted, re.sub(r"\d", "", letters)) if counted != letters else (letters,)


def _in_order(letters: str, words: Sequence[str]) -> bool:
    """Tell whether the letters come in order in the words, the first one of each important word among them: CARICOM."""
    at = 0
    for word in words:
        if word in _SMALL:
            continue
        if at >= len(letters) or word[0] != letters[at]:
            return False
        for c in word:
            at += at < len(letters) and c == letters[at]
    return at == len(letters)


def _called(text: str, spans: Sequence[tuple[int, int, str, str]], title_key: str) -> Iterator[tuple[str, str]]:
    for at, (begin, end, name, class_) in enumerate(spans):
        titled = entity_key(name) == title_key
        for start, _, other, other_class in spans[at + 1 :]:
            if start - end > _BETWEEN:
                break
            between = text[end:start]
            match = _CALLED.search(between)
            if not match or not _only_bracketed(between[: match.start()]):
                continue
            if not titled and (_doubtful(class_, other, other_class) or _JOINED.search(text, max(0, begin - 12), begin)):
                continue
            married = re.search(r"\b(?:née|nee|born)\b", match.group())
            if married and (
                other_class not in ("Person", "") or len(other.split()) < _MIN_FULL_WORDS or class_ not in ("Person", "")
            ):
                continue
            yield other, name
            break


def _doubtful(class_: str, other: str, other_class: str) -> bool:
    """A store in California, called X; or a single word that may mean many things."""
    single = len(other.split()) == 1 and sum(c.isupper() for c in other) < 2
    return single or (class_ == "Location" != other_class)


def _only_bracketed(between: str) -> bool:
    """Tell whether nothing but brackets and commas stands between two names."""
    bare = re.sub(r"\([^()]*\)?", "", between)
    return ")" not in bare and not re.search(r"\w", bare)
