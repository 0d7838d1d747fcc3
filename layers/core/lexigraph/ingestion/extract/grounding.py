"""Whether what a model says stands in the passage: the names and numbers of a text have to be among those of the chunk."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from lexigraph.ingestion.extract import numbers
from lexigraph.ingestion.extract.blocks import prose
from lexigraph.ingestion.extract.evidence import Sentences, folded_words, holds, telling
from lexigraph.ingestion.extract.topics import tells
from lexigraph.model.document import ChunkText

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:;…]|[—–•]) *[\"'“‘«(\[¿¡]*$|^[\"'“‘«(\[¿¡ ]+$")
_POSSESSIVE = re.compile(r"['’]s?$")
# what may be added to a name: plurals, and what makes a Swede of Sweden
_ENDINGS = ("s", "es", "n", "an", "ian", "ish", "ese", "ic", "y", "ia", "en", "ey", "a", "e", "o")
_MIN_STEM = 4
_NOUNS_IN_CAPITALS = frozenset(["de", "lb"])
_ENGLISH = frozenset(["", "en"])
_APART = 2  # words between the parts of a person's name
_MOST_NAMED = 3


class Passage:
    """What a chunk holds, with its title, its headings and the sentence before it, to hold against what is said of it."""

    def __init__(self, chunk: ChunkText) -> None:
        around = "\n".join([chunk.title, *chunk.headings, *(h for part in chunk.parts for h in part.headings), chunk.before])
        self._said = f"{around}\n{chunk.said}"
        self._english = chunk.language in _ENGLISH
        self._words = {form for word in _WORD.findall(self._said) for form in self._forms(_plain(word))}
        self._plain = _plain(self._said)
        self._numbers = numbers.given(self._said)
        self._capitals_tell = chunk.language not in _NOUNS_IN_CAPITALS
        self._telling = telling(self._said)
        self._sentences = Sentences(chunk.text, prose(chunk), around)

    def source(self, statement: str, after: int = 0) -> tuple[int, int] | None:
        """Return where in the chunk's text the sentence stands that a statement comes from; None when there is none."""
        return self._sentences.source(statement, after)

    def missing(self, text: str) -> list[str]:
        """Return the names and numbers of a text that the passage does not have, at most three."""
        names = [word for word in _capitals(text) if not self._knows(word)] if self._capitals_tell else []
        found = dict.fromkeys([*names, *numbers.missing(text, self._numbers, few=self._english)])
        return list(found)[:_MOST_NAMED]

    def names(self, name: str, class_: str = "") -> bool:
        """Tell whether the passage has all words of a name, those of a person near each other."""
        words = _WORD.findall(name)
        if not all(self._knows(word) for word in words) or numbers.missing(name, self._numbers):
            return False
        return "person" not in class_.casefold() or self._near(folded_words(name))

    def says(self, value: str) -> bool:
        """Tell whether the passage has the names and numbers of a few words, and most of these."""
        words = telling(value)
        return not self.missing(value) and 2 * len(words & self._telling) >= len(words)

    def _knows(self, word: str) -> bool:
        plain = _plain(word)
        if bool(self._forms(plain) & self._words) or numbers.MONTHS.get(plain, "") in self._numbers:
            return True
        return _has_no_case(word) and plain in self._plain  # which may not part words, or joins articles to them

    def _forms(self, word: str) -> set[str]:
        """A word and what is left of it without an ending; other languages than English have more of these than we list."""
        cut = {word[: -len(end)] for end in _ENDINGS if word.endswith(end)}
        if not self._english:
            cut |= {word[:-1], word[:-2]}
        return {word} | {stem for stem in cut if len(stem) >= _MIN_STEM}

    def _near(self, name: Sequence[str]) -> bool:
        if holds(self._said, " ".join(name)):
            return True
        words = folded_words(self._said)
        reach = len(name) + _APART
        return any(_in_order(name, words[at : at + reach]) for at, word in enumerate(words) if word == name[0])


def is_name(text: str) -> bool:
    """Tell whether a text is written as a name: with a capital, or in a script that has none."""
    return any(c.isupper() or (c.isalpha() and _has_no_case(c)) for c in text)


def _capitals(text: str) -> Iterable[str]:
    """The words of a text that are written as names; none where all words are.

    The first word of a sentence is one if the next is (``Uppsala Works``, not ``The Works``), or if it has a capital inside.
    """
    words = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(text)]
    long = [word for _, _, word in words if len(word) >= _MIN_STEM and word.isalpha()]
    if len(words) > _MIN_STEM and all(word[0].isupper() for word in long):
        return
    for (start, end, word), (following, _, after) in zip(words, [*words[1:], (-1, -1, "")], strict=False):
        if word == word.lower() or not word[0].isalpha() or len(word) < 2:
            continue
        begins = bool(_BEGINS.search(text[max(0, start - 8) : start]))
        goes_on = following == end + 1 and text[end] == " " and after[0].isupper() and len(after) > 1
        if not begins or (goes_on and tells(word)) or not word[1:].islower():
            yield word


def _plain(word: str) -> str:
    """A word without case, accents, dots and possessive."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
    bare = "".join(c for c in folded if not unicodedata.combining(c))
    return _POSSESSIVE.sub("", bare).replace(".", "").replace("’", "'")


def _has_no_case(word: str) -> bool:
    return word.lower() == word.upper()


def _in_order(wanted: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(word == one for word in rest) for one in wanted)
