"""Names as strings: cleaning, and what a document's title stands for."""

import re

from lexigraph.ingestion.extract.words import NO_NAMES
from lexigraph.model.normalise import entity_key, without_brackets, without_gloss

MAX_NAME_CHARS = 120
MAX_NAME_WORDS = 14

_EDGES = " \t\r\n\"'`“”‘’„«»‹›()[]{}<>.,;:!?*_|\\/~^=-–—…·•"
_TITLE_EDGES = " \t\r\n\"'`“”‘’„«»‹›*_|\\/~^=-–—·•"
_ARTICLE = re.compile(r"(?:the|a|an)\s+(?=[\w.])", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])$")
_PREFIX = re.compile(r"(?:anti|ex|inter|mid|neo|non|post|pre|pro|trans)[-–](?=[A-Z])")
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"[\d\W_]+(?:st|nd|rd|th|s|bc|ad|bce|ce|am|pm|km|m|mm|cm|kg|mi|ft|gb|mb|kb|hp)?", re.IGNORECASE)
# a place in the text, not a thing that it speaks of
_PLACE = re.compile(
    r"(?:chapter|section|table|figure|fig|page|step|appendix|example|listing|note)s?\.? (?:\d[\d.-]*|[a-z])", re.IGNORECASE
)
_DAY = re.compile(r"Tue|Wed|Thu|Fri|Sat")  # Sun and Mon may be names
_FROM_ADDRESS = re.compile(r" <[^<>\s]+@.*")  # a mail's, and what is read into the name behind it
_ABBREVIATED = ("Inc", "Ltd", "Corp", "Co", "Jr", "Sr", "Bros")


def clean_name(raw: str) -> str:
    """Return a name without surrounding punctuation, leading article and possessive; empty when none is left.

    Names over 120 characters or 14 words, numbers and words such as pronouns and months are none.
    """
    text = _FROM_ADDRESS.sub("", _SPACE.sub(" ", raw).strip())
    before = None
    while text != before:
        before = text
        text = _PREFIX.sub("", without_open_brackets(_strip_edges(_POSSESSIVE.sub("", text))))
        text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
    key = entity_key(text)
    if len(key) < 2 or len(text) > MAX_NAME_CHARS or len(key.split()) > MAX_NAME_WORDS:
        return ""
    none = _NUMBER.fullmatch(key) or _PLACE.fullmatch(text) or _DAY.fullmatch(text)
    return "" if key in NO_NAMES or none else text


def _strip_edges(text: str) -> str:
    """Strip punctuation, but keep what belongs to the name: ``.NET``, ``Acme Inc.``, ``Mercury (planet)``."""
    stripped = text.strip(_EDGES)
    if not stripped:
        return ""
    at = text.find(stripped)
    tail = text[at + len(stripped) :]
    if at and text[at - 1] == "." and not text[: at - 1].strip():
        stripped = "." + stripped
    if at and text[at - 1] == "_" and not text[: at - 1].strip(" _"):
        stripped = text[text.find("_") : at] + stripped  # _GNU_SOURCE
    if tail.startswith("()") and stripped[-1:].isalnum():
        return stripped + "()"
    if tail.startswith(")") and stripped.count("(") > stripped.count(")"):
        return stripped + ")"
    last = stripped.rsplit(" ", 1)[-1]
    if tail.startswith(".") and (
        last in _ABBREVIATED or "." in last[-3:] or (len(last) == 1 and last.isupper() and last not in "IVX")
    ):
        return stripped + "."
    return stripped


def without_open_brackets(text: str) -> str:
    """Return a text up to the first bracket that is not closed, and without one that was not opened."""
    for opened, closed in ("()", "[]", "{}"):
        open_at: list[int] = []
        for at, c in enumerate(text):
            if c == opened:
                open_at.append(at)
            elif c == closed:
                if not open_at:
                    return without_open_brackets(text[at + 1 :].strip())
                open_at.pop()
        if open_at:
            return without_open_brackets(text[: open_at[0]].strip())
    return text if text.count('"') % 2 == 0 else text.replace('"', "")


def name_forms(raw: str) -> list[str]:
    """Return a name with and without an article that is written as a part of it (``The Hague``), else the name alone."""
    name = clean_name(raw)
    article = _SPACE.sub(" ", raw).strip(_EDGES).split(" ", 1)[0]
    return (
        [f"{article} {name}", name]
        if name and article in ("The", "A", "An") and not name.startswith(article)
        else [name] * bool(name)
    )


def title_name(title: str) -> str:
    """Return the name that a document's title stands for, without a trailing qualifier in brackets.

    One word before a dash is the name: ``bisect`` of ``bisect — Array bisection algorithm``.
    Its article stays: ``The Quarterback (1926 film)`` stands for ``The Quarterback``.
    """
    return _SPACE.sub(" ", without_brackets(without_gloss(_SPACE.sub(" ", title)))).strip(_TITLE_EDGES)
