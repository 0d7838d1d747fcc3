"""Finds names in a parsed text: quoted titles, what the model recognises, and capitalised words that it misses."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.compounds import compounds, with_number
from lexigraph.ingestion.extract.tokens import NAME_TAGS, NEVER_IN_NAME, Name, Tokens
from lexigraph.ingestion.extract.words import AFTER_POSSESSIVE, FINITE, LINKS

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
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»"}
_MAX_QUOTED_TOKENS = 12
_IDENTIFIER = re.compile(r"(?<![\w./%-])(?:[a-zA-Z_][\w.-]*\(\d?[a-z]{0,4}\)|_*[a-zA-Z]\w*_\w+(?:\(\))?)(?![\w/])")


def find_names(doc: "Doc") -> list[Name]:
    """Return the names in a parsed text in order; a place inside a longer name is listed as well."""
    tokens = Tokens.of(doc)
    quoted = [*_quoted(tokens), *_identifiers(doc)]
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
    found = [with_number(tokens, name) for name in found]
    return sorted([*found, *compounds(tokens, found)], key=lambda n: (n.start, -n.end))


def _identifiers(doc: "Doc") -> Iterator[Name]:
    """Names of functions and the like, whatever their case: ``read(2)``, ``pipe()``, ``bisect_left``."""
    for match in _IDENTIFIER.finditer(doc.text):
        span = doc.char_span(*match.span(), alignment_mode="expand")
        if span is not None and span.end - span.start < _MAX_QUOTED_TOKENS:
            yield Name(span.start, span.end, match.group())


def _covered(names: Iterable[Name]) -> set[int]:
    return {i for n in names for i in range(n.start, n.end)}


def _entities(tokens: Tokens, start: int, end: int, class_: str) -> Iterator[Name]:
    """A recognised span as a name, and its parts where a comma joins places, or a verb two names: Heron Team is Ada Cook."""
    span = range(start, end)
    if not any(c.isupper() for i in span for c in tokens.words[i]):
        return
    verbs = (i for i in span if tokens.tags[i] in FINITE and tokens.words[i].isalpha() and tokens.words[i].islower())
    if verb := next(verbs, 0):
        yield from _entities(tokens, start, verb, "")
        yield from _entities(tokens, verb + 1, end, "")
        return
    name = tokens.name(start, end, class_)
    if not name or (name.end - name.start == 1 and tokens.tags[name.start] in NEVER_IN_NAME):
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


def _quoted(tokens: Tokens) -> Iterator[Name]:
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


def _runs(tokens: Tokens, closed: set[int]) -> Iterator[Name]:
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


def _bridge(tokens: Tokens, i: int, closed: set[int]) -> int:
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


def _stands_alone(tokens: Tokens, name: Name) -> bool:
    """Tell whether a run that the model did not recognise is a name: several words, an acronym, a proper noun."""
    if name.end - name.start > 1:
        return True
    word = tokens.words[name.start]
    if word.isupper() and len(word) > 3 and f" {word.casefold()} " in tokens.text:
        return False  # VALUE is a value
    if any(c.isupper() for c in word[1:]):
        return True
    return tokens.tags[name.start] in NAME_TAGS and name.start not in tokens.firsts and len(word) > 2


def _merged(tokens: Tokens, entities: list[Name], runs: list[Name]) -> list[Name]:
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
        else:
            last = max(e.end for e in touching)
            rest = tokens.name(last, run.end) if last < run.end else None
            if rest and rest.end - rest.start > 1 and tokens.words[last] in LINKS:
                kept.append(rest)
    return kept


def _split_person(run: Name, parts: list[Name]) -> bool:
    """Tell whether single words in a row, one of them a person, are one name that the model took for several."""
    whole = [(i, i + 1) for i in range(run.start, run.end)]
    classes = {p.class_ for p in parts}
    return len(whole) > 1 and [(p.start, p.end) for p in parts] == whole and "Person" in classes and "Group" not in classes


def _extends(tokens: Tokens, run: Name, inner: Name) -> bool:
    if inner.start < run.start or inner.end > run.end or (inner.start, inner.end) == (run.start, run.end):
        return False
    if inner.class_ != "Person":
        return True
    after = tokens.words[inner.end : run.end]
    # Sir Isaac Newton FRS of the Royal Society: none of what surrounds a person's name belongs to it
    return inner.start == run.start and not (LINKS.intersection(after) or all(w.isupper() and len(w) < 6 for w in after))
