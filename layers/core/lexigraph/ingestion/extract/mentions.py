"""Finds names in a parsed text: quoted titles, what the model recognises, and capitalised words that it misses."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.names import clean_name
from lexigraph.ingestion.extract.words import AFTER_POSSESSIVE, KINDS, LINKS, NO_NAMES, REGIONS
from lexigraph.model.normalise import entity_key

if TYPE_CHECKING:
    from spacy.tokens import Doc

CLASSES = {
    "PERSON": "Person",
    "ORG": "Organization",
    "GPE": "Location",
    "LOC": "Location",
    "FAC": "Facility",
    "NORP": "Group",
    "PRODUCT": "Product",
    "EVENT": "Event",
    "WORK_OF_ART": "Work",
    "LAW": "Law",
    "LANGUAGE": "Language",
}
_NAME_TAGS = frozenset(["NNP", "NNPS"])
_NEVER_IN_NAME = frozenset(["PRP", "PRP$", "DT", "IN", "CC", "MD", "WP", "WRB", "WDT", "EX", "TO", "UH", "RP", "RB"])
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»"}
_NOT_FIRST = frozenset(["the", "a", "an", "and", "or"])
_NOT_LAST = LINKS | {"'s", "’s", "'", "’", "and", "or", "the", "in", "at", "on"}
_MAX_QUOTED_TOKENS = 12
_SPACED_HYPHEN = re.compile(r"(?<=\w) [-–] (?=\w)")


@dataclass(frozen=True, slots=True)
class Name:
    """Tokens ``start`` to ``end`` (exclusive) of a parsed text form the name ``text``."""

    start: int
    end: int
    text: str
    class_: str = ""


@dataclass(frozen=True, slots=True)
class _Tokens:
    text: str
    offsets: list[int]
    words: list[str]
    tags: list[str]
    firsts: set[int]

    def capital(self, i: int) -> bool:
        """Tell whether token ``i`` is written as part of a name."""
        word = self.words[i]
        if not word[0].isupper():
            # iPhone, openCypher
            return word.isalpha() and not word.islower() and len(word) > 3
        if self.tags[i] in _NEVER_IN_NAME:
            return False
        return self.tags[i] in _NAME_TAGS or i not in self.firsts

    def name(self, start: int, end: int, class_: str = "") -> Name | None:
        """Return the tokens as a name, without what surrounds it; None when none is left."""
        words = self.words
        while start < end and (words[start].casefold() in _NOT_FIRST or not _has_letter(words[start])):
            start += 1
        while end > start and (words[end - 1] in _NOT_LAST or not _has_letter(words[end - 1])):
            end -= 1
        text = clean_name(self.joined(start, end))
        return Name(start, end, text, class_) if text and not self._is_kind(start, end) else None

    def joined(self, start: int, end: int) -> str:
        """Return the text from one token to another; ``Jong - un`` becomes ``Jong-un``."""
        if start >= end:
            return ""
        return _SPACED_HYPHEN.sub("-", self.text[self.offsets[start] : self.offsets[end - 1] + len(self.words[end - 1])])

    def _is_kind(self, start: int, end: int) -> bool:
        """Tell whether this is only the word for a kind of thing: ``the District``."""
        return end - start == 1 and self.words[start].casefold() in KINDS and self.words[start][1:].islower()


def _has_letter(word: str) -> bool:
    return any(c.isalnum() for c in word)


def find_names(doc: "Doc") -> list[Name]:
    """Return the names in a parsed text in order; a place inside a longer name is listed as well."""
    tokens = _Tokens(
        doc.text, [t.idx for t in doc], [t.text for t in doc], [t.tag_ for t in doc], {s.start for s in doc.sents}
    )
    quoted = list(_quoted(tokens))
    inside = _covered(quoted)
    entities: list[Name] = []
    other: set[int] = set()
    for span in doc.ents:
        if span.label_ not in CLASSES:
            # First World War: an ordinal may be part of a name
            other.update(i for i in range(span.start, span.end) if span.label_ != "ORDINAL" or tokens.words[i].islower())
        elif not inside.intersection(range(span.start, span.end)):
            entities += _entities(tokens, span.start, span.end, CLASSES[span.label_])
    found = quoted + _merged(tokens, entities, list(_runs(tokens, inside | other)))
    found = [_with_number(tokens, name) for name in found]
    return sorted([*found, *_towns(tokens, found), *_with_article(tokens, found)], key=lambda n: (n.start, -n.end))


def _covered(names: Iterable[Name]) -> set[int]:
    return {i for n in names for i in range(n.start, n.end)}


def _entities(tokens: _Tokens, start: int, end: int, class_: str) -> Iterator[Name]:
    """A recognised span as a name, and its parts where a comma joins places."""
    span = range(start, end)
    if not any(c.isupper() for i in span for c in tokens.words[i]):
        return
    name = tokens.name(start, end, class_)
    if not name or (name.end - name.start == 1 and tokens.tags[name.start] in _NEVER_IN_NAME):
        return
    if tokens.words[name.start].isupper() and tokens.words[name.start + 1 : name.start + 2] == ["for"]:
        yield from filter(None, (tokens.name(name.start, name.start + 1), tokens.name(name.start + 2, name.end)))
        return
    commas = [i for i in range(name.start, name.end) if tokens.words[i] == ","]
    if class_ in ("Location", "Organization") and len(commas) == 1:
        for a, b in ((name.start, commas[0]), (commas[0] + 1, name.end)):
            part = tokens.name(a, b, "Location")
            if part:
                yield part
    else:
        yield name


def _quoted(tokens: _Tokens) -> Iterator[Name]:
    """Titles in double quotes: capitalised at both ends and for the most part."""
    words = tokens.words
    i = 0
    while i < len(words):
        closing = _QUOTES.get(words[i])
        until = min(i + 2 + _MAX_QUOTED_TOKENS, len(words))
        stop = next((j for j in range(i + 1, until) if words[j] == closing), 0) if closing else 0
        inner = [w for w in words[i + 1 : stop] if w[0].isalnum()]
        capital = [w for w in inner if w[0].isupper() or w[0].isdigit()]
        name = tokens.name(i + 1, stop, "Work") if len(capital) * 2 >= len(inner) > 0 else None
        if name and inner[0] in capital and inner[-1] in capital:
            yield name
        i = stop + 1 if inner else i + 1


def _runs(tokens: _Tokens, closed: set[int]) -> Iterator[Name]:
    """Sequences of capitalised words, also across ``of``, and across a possessive in ``St. John's College``."""
    i = 0
    count = len(tokens.words)
    while i < count:
        start = i
        i += 1
        if start in closed or not tokens.capital(start):
            continue
        while i < count:
            step = 0 if i in closed or i in tokens.firsts or not tokens.capital(i) else 1
            step = step or _bridge(tokens, i, closed)
            if not step:
                break
            i += step
        name = tokens.name(start, i)
        if name and _stands_alone(tokens, name):
            yield name


def _bridge(tokens: _Tokens, i: int, closed: set[int]) -> int:
    """Return how many tokens on the next capitalised word is, when a linking word leads to it, counted past that word."""
    words, at = tokens.words, i
    if words[i] in ("'s", "’s"):
        return 2 if i + 1 < len(words) and words[i + 1].casefold() in AFTER_POSSESSIVE and words[i + 1][0].isupper() else 0
    if words[i] == "-" and i + 1 < len(words) and i + 1 not in closed and tokens.capital(i + 1):
        return 2
    if words[i] == "for" and words[i - 1].isupper():
        return 0  # SPARQL for RDF
    while at < len(words) and at - i < 3 and (words[at] in LINKS or (at > i and words[at] == "the")):
        at += 1
    if at == i or at >= len(words) or at in closed or not tokens.capital(at):
        return 0
    return at + 1 - i


def _stands_alone(tokens: _Tokens, name: Name) -> bool:
    """Tell whether a run that the model did not recognise is a name: several words, an acronym, a proper noun."""
    if name.end - name.start > 1:
        return True
    word = tokens.words[name.start]
    if any(c.isupper() for c in word[1:]):
        return True
    return tokens.tags[name.start] in _NAME_TAGS and name.start not in tokens.firsts and len(word) > 2


def _merged(tokens: _Tokens, entities: list[Name], runs: list[Name]) -> list[Name]:
    """A run gives way to the entities that it touches, unless it makes a single one longer."""
    kept = list(entities)
    for run in runs:
        touching = [e for e in entities if e.start < run.end and run.start < e.end]
        if not touching:
            kept.append(run)
        elif _split_person(run, touching):
            kept = [e for e in kept if e not in touching]
            kept.append(Name(run.start, run.end, run.text, "Person"))
        elif len(touching) == 1 and _extends(tokens, run, touching[0]):
            inner = touching[0]
            # Lok Sabha of India names India too
            if inner.start == run.start or tokens.words[inner.start - 1] not in ("of", "the"):
                kept.remove(inner)
            kept.append(
                Name(run.start, run.end, run.text, inner.class_ if inner.class_ not in ("Group", "Location") else "")
            )
    return kept


def _split_person(run: Name, parts: list[Name]) -> bool:
    """Tell whether single words in a row, one of them a person, are one name that the model took for several."""
    whole = [(i, i + 1) for i in range(run.start, run.end)]
    classes = {p.class_ for p in parts}
    return len(whole) > 1 and [(p.start, p.end) for p in parts] == whole and "Person" in classes and "Group" not in classes


def _extends(tokens: _Tokens, run: Name, inner: Name) -> bool:
    if inner.start < run.start or inner.end > run.end or (inner.start, inner.end) == (run.start, run.end):
        return False
    if inner.class_ != "Person":
        return True
    # Sir Isaac Newton FRS: neither what comes before a person's name nor letters after it belong to it
    return inner.start == run.start and not all(w.isupper() and len(w) < 6 for w in tokens.words[inner.end : run.end])


def _with_number(tokens: _Tokens, name: Name) -> Name:
    """Take the number into names such as ``2020 Summer Olympics`` and ``West Virginia Route 39``."""
    words, tags = tokens.words, tokens.tags
    start, end = name.start, name.end
    year = words[start - 1] if start else ""
    if name.class_ in ("Event", "", "Organization", "Work") and len(year) == 4 and year.isdigit() and end - start > 1:
        opener = words[start - 2].casefold() if start > 1 else ""
        # the 1904 World Series, but not: a 1971 Italian Western film
        kind = end < len(words) and words[end] in KINDS and tags[start] != "NNP"
        if not kind and (start - 1 in tokens.firsts or opener in ("the", "of", "his", "her", "their", "its")):
            start -= 1
    after = words[end] if end < len(words) else ""
    if name.class_ not in ("Person", "Group") and after.isdigit() and len(after) < 4 and end - start < 6:
        following = tags[end + 1] if end + 1 < len(words) else "."
        if following not in ("NNS", "NN", "CD", "JJ", "$", "NNP", ":") and end not in tokens.firsts:
            end += 1
    if (start, end) == (name.start, name.end):
        return name
    return Name(start, end, tokens.joined(start, end), name.class_)


def _towns(tokens: _Tokens, names: list[Name]) -> Iterator[Name]:
    """``Clarksville, Tennessee`` as one name, beside its two parts."""
    by_start = {n.start: n for n in names}
    for name in names:
        region = by_start.get(name.end + 1)
        if not region or tokens.words[name.end] != "," or tokens.words[region.end : region.end + 1] == ["and"]:
            continue
        key = entity_key(name.text)
        if (
            entity_key(region.text) in REGIONS
            and (key not in REGIONS or key == entity_key(region.text))
            and key not in NO_NAMES
        ):
            yield Name(name.start, region.end, f"{name.text}, {region.text}", "Location")


def _with_article(tokens: _Tokens, names: list[Name]) -> Iterator[Name]:
    """``The Hollywood Reporter`` beside ``Hollywood Reporter`` where the article is written as a part of the name."""
    for name in names:
        before = name.start - 1
        if (
            before >= 0
            and tokens.words[before] in ("The", "A", "An")
            and (before not in tokens.firsts or name.class_ == "Work")
        ):
            yield Name(before, name.end, f"{tokens.words[before]} {name.text}", name.class_)
