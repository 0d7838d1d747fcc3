"""Names and texts in the form in which they are compared. Pure; ids are made from these keys."""

import re
import unicodedata
from functools import lru_cache

from lexigraph.model.scripts import MARKS, without_optional

_SPACE = re.compile(r"\s+")
_WORD = re.compile(rf"[\w{MARKS}+#&.'-]+")
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_DASH = re.compile(r"\s+[-–—]+\s+")
_ATTACHED = "+#&.'-"


def text_key(text: str) -> str:
    """Return the text under NFKC with single spaces: the key of statements, facts and topics' wording."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()


def statement_key(text: str, kind: str = "prose") -> str:
    """Return the wording of a statement: prose as :func:`text_key`; code and tables keep lines, indents and characters."""
    if kind == "prose":
        return text_key(text)
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


@lru_cache(maxsize=65_536)
def entity_key(name: str) -> str:
    """Return an entity name as it is compared; empty when nothing of a name is left.

    NFKC, case folded, one space between words. Punctuation is dropped except ``+ # & . ' -`` attached to a word, so
    that C, C++ and C# stay apart; full stops, hyphens and apostrophes at the edges of a word go. Vowel signs of Arabic and
    Hebrew, which are written or not, go too.
    """
    folded = without_optional(unicodedata.normalize("NFKC", name).casefold().replace("\u2019", "'"))
    return " ".join(filter(None, (_trim(word) for word in _WORD.findall(folded.replace("_", " ")))))


def _trim(word: str) -> str:
    word = word.lstrip(_ATTACHED.replace(".", "")) if not word.startswith(".") else "." + word.lstrip(_ATTACHED)
    word = word.rstrip(".'-&")
    return word if any(c.isalnum() for c in word) else ""


def without_brackets(title: str) -> str:
    """Return a title without a trailing qualifier: ``Mercury (planet)`` becomes ``Mercury``."""
    bare = _BRACKETS.sub("", title).strip()
    return bare or title


def without_gloss(title: str) -> str:
    """Return the one word that a title explains after a dash: ``bisect`` of ``bisect — Array bisection``; else the title."""
    word, dash, _ = _DASH.sub("\0", title, count=1).partition("\0")
    return word if dash and " " not in word.strip() else title


def title_names(title: str) -> list[str]:
    """Return the names that a document of this title is about: without a qualifier, without an article, and as it stands."""
    bare = without_brackets(without_gloss(title))
    names = dict.fromkeys((bare, _ARTICLE.sub("", bare), title))
    return [name for name in names if entity_key(name)]
