"""What a short text without a title is about: the subject that its first sentence begins with."""

import re

from lexigraph.model.scripts import ENGLISH, in_other_script

_LONGEST = 2_000  # characters of a text that is about one thing
_MOST_WORDS = 8
_WORD = re.compile(r"\S+")
# stand inside names: the Wars of the Roses, Johann Wolfgang von Goethe
_INSIDE = frozenset("of the and in for de von van la le du da di del der den al el y on at to &".split())
# begin a sentence before its subject
_BEFORE = frozenset("in on at by during while although however since when after before there here as from with for".split())
_IS = frozenset("is was are were".split())
_QUOTES = "\"'`\u201c\u201d\u2018\u2019.,;"


def lead_subject(text: str) -> str:
    """Return the subject that a text begins with, as written there: ``Ada Lovelace`` of *Ada Lovelace (1815-1852) was*.

    That are the capitalised words before the first verb, bracket or comma. Empty where there are none, or more than eight;
    where nothing says that a single word is a name; of texts over 2,000 characters, which are seldom about one thing; and
    of scripts that have no capitals.
    """
    text = text.strip()
    if len(text) > _LONGEST or in_other_script(text[:100]):
        return ""
    found: list[str] = []
    after = ""
    for match in _WORD.finditer(text):
        word = match.group()
        bare = word.strip(_QUOTES)
        if not (bare[:1].isupper() or (bare[:1].isdigit() and found) or (bare in _INSIDE and found)):
            after = word
            break
        found.append(bare)
        if word[-1] in ",;":
            after = word[-1]
            break
        if word[-1] in ":!?" or (word[-1] == "." and len(bare) > 3) or len(found) > _MOST_WORDS:
            return ""  # a speaker, an exclamation, a sentence that is no more
    while found and (found[-1] in _INSIDE or not found[-1][:1].isalpha()):
        found.pop()
    named = bool(found) and bool(after) and not _opens(found)
    return " ".join(found) if named and (len(found) > 1 or _is_name(found[0], after, text)) else ""


def _opens(words: list[str]) -> bool:
    """Tell whether words open a sentence without naming anything: *It*, *In 1999*, *The*."""
    first = words[0].lower()
    return first in _BEFORE or (first in ENGLISH and (len(words) == 1 or first not in ("the", "a", "an")))


def _is_name(word: str, after: str, text: str) -> bool:
    """Tell whether a word that begins a text is a name: it is explained, or stands inside a sentence as it is."""
    return after[0] in "(,[" or after in _IS or re.search(rf"[a-z,] {re.escape(word)}\b", text) is not None
