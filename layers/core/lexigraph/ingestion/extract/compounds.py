"""Names that are made of found names: towns with their state, rulers with their realm, events with their year."""

import re
from collections.abc import Iterator

from lexigraph.ingestion.extract.tokens import Name, Tokens
from lexigraph.ingestion.extract.words import HONORIFICS, KINDS, NO_NAMES, ORGANIZATIONS, RANKS, REGIONS, RULERS
from lexigraph.model.normalise import entity_key

_NUMERAL = re.compile(r"[IVX]+")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


def compounds(tokens: Tokens, names: list[Name]) -> Iterator[Name]:
    """Yield what names the found ones are parts of, or have as their parts."""
    by_start = {n.start: n for n in names}
    yield from _towns(tokens, names, by_start)
    for name in names:
        yield from _with_article(tokens, name)
        yield from _inside(tokens, name)
        yield from _ranked(tokens, name, by_start)


def with_number(tokens: Tokens, name: Name) -> Name:
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
        if following not in ("NNS", "NN", "CD", "JJ", "$", "NNP", ":", "SYM", "HYPH") and end not in tokens.firsts:
            end += 1
    if (start, end) == (name.start, name.end):
        return name
    return Name(start, end, tokens.joined(start, end), name.class_)


def _towns(tokens: Tokens, names: list[Name], by_start: dict[int, Name]) -> Iterator[Name]:
    """``Clarksville, Tennessee`` as one name, beside its two parts."""
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


def _with_article(tokens: Tokens, name: Name) -> Iterator[Name]:
    """``The Hollywood Reporter`` beside ``Hollywood Reporter`` where the article is written as a part of the name."""
    before = name.start - 1
    article = tokens.words[before] if before >= 0 else ""
    if article in ("The", "A", "An") and (before not in tokens.firsts or name.class_ == "Work"):
        yield Name(before, name.end, f"{article} {name.text}", name.class_)


def _inside(tokens: Tokens, name: Name) -> Iterator[Name]:
    """The event without its year, the person without ``Professor``, the university that a school belongs to."""
    words = tokens.words
    first, start = words[name.start].casefold().rstrip("."), name.start + 1
    while start < name.end and words[start] == ".":
        start += 1
    links = [i for i in range(start, name.end - 1) if words[i] in ("of", "at")]
    year = first.isdigit() and len(first) == 4
    ruler = first in RULERS and (name.class_ == "" or bool(links))
    if (year or ruler or (name.class_ == "Person" and first in HONORIFICS)) and name.end - start > 1:
        bare = tokens.name(start, name.end, "Person" if ruler else name.class_)
        if bare and not (ruler and words[name.end - 1].casefold() in KINDS):
            yield bare
    if links and ((ruler and words[links[-1]] == "of") or words[name.end - 1].casefold() in ORGANIZATIONS):
        owner = tokens.name(links[-1] + 1, name.end, "Location" if ruler else "Organization")
        if owner and (ruler or owner.end - owner.start > 1):
            yield owner


def _ranked(tokens: Tokens, name: Name, by_start: dict[int, Name]) -> Iterator[Name]:
    """``Peter II of Portugal``, ``Anne of Austria``, ``John II, Duke of Cleves``, ``Henry Sturt, 1st Baron Alington``."""
    words = tokens.words
    if name.class_ not in ("Person", "Location", "Organization", ""):
        return
    start = name.start
    while start and words[start - 1].casefold() in RANKS and words[start - 1][0].isupper():
        start -= 1
    bare = name.start + (name.end - name.start > 1 and words[name.start].casefold() in RANKS)
    royal = start < bare or bool(_NUMERAL.fullmatch(words[name.end - 1]))
    realm = _realm(tokens, name.end, by_start) if royal or name.class_ in ("Person", "") else name.end
    end = _peerage(tokens, realm)
    if end > name.end:
        for at in sorted({start, bare, name.start}):
            yield Name(at, end, tokens.joined(at, end), "Person", certain=royal or end > realm)


def _realm(tokens: Tokens, at: int, by_start: dict[int, Name]) -> int:
    """Return where ``of Portugal`` ends when it stands at a token, else the token."""
    words = tokens.words
    if words[at : at + 1] != ["of"]:
        return at
    after = at + 2 if words[at + 1 : at + 2] == ["the"] else at + 1
    place = by_start.get(after)
    return place.end if place and place.class_ in ("Location", "Organization", "") else at


def _peerage(tokens: Tokens, at: int) -> int:
    """Return where ``, 1st Baron Alington`` or ``, Duke of Cleves`` ends when it stands at a token, else the token."""
    words = tokens.words
    if words[at : at + 1] != [","]:
        return at
    i = at + 1
    i += bool(i < len(words) and _ORDINAL.fullmatch(words[i]))
    rank = i
    while i < len(words) and words[i].casefold() in RANKS and words[i][0].isupper():
        i += 1
    if i == rank:
        return at
    i += words[i : i + 1] == ["of"]
    i += words[i : i + 1] == ["the"]
    end = i
    while end < len(words) and (
        tokens.capital(end) or (words[end] == "-" and end + 1 < len(words) and tokens.capital(end + 1))
    ):
        end += 1
    ordinal = rank > at + 1
    return end if end > i else (i if ordinal and words[i - 1] not in ("of", "the") else at)
