"""Whether what a text names was said: its names and numbers have to be among those of what it goes back to. Pure."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from lexigraph.model import numbers

WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’][^\W_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:;…]|[—–•]) *[\"'“‘«(\[¿¡]*$|^[\"'“‘«(\[¿¡ ]+$")
_POSSESSIVE = re.compile(r"['’]s?$")
# what may be added to a name: plurals, and what makes a Swede of Sweden
_ENDINGS = ("s", "es", "n", "an", "ian", "ish", "ese", "ic", "y", "ia", "en", "ey", "a", "e", "o")
_MIN_STEM = 4
_NOUNS_IN_CAPITALS = frozenset(["de", "lb"])
_ENGLISH = frozenset(["", "en"])


class Said:
    """A text in a ``language`` (a code, empty for English), to hold names and numbers against.

    ``tells`` says of the first word of a sentence whether it may be the beginning of a name.
    """

    def __init__(self, text: str, language: str, tells: Callable[[str], bool]) -> None:
        self._english = language in _ENGLISH
        self._words = {form for word in WORD.findall(text) for form in self._forms(_plain(word))}
        self._plain = _plain(text)
        self._numbers = numbers.given(text)
        self._capitals_tell = language not in _NOUNS_IN_CAPITALS
        self._tells = tells

    def missing(self, text: str) -> list[str]:
        """Return the names and numbers of a text that are not here, each once."""
        names = [word for word in self._capitals(text) if not self.knows(word)] if self._capitals_tell else []
        # in other languages than English, small ones are spelled in words that we do not know
        return list(dict.fromkeys([*names, *self.missing_numbers(text, few=self._english)]))

    def missing_numbers(self, text: str, *, few: bool = True) -> list[str]:
        """Return the numbers of a text that are not here; without ``few`` those over 12 only."""
        return numbers.missing(text, self._numbers, few=few)

    def knows(self, word: str) -> bool:
        """Tell whether a word is here, perhaps in another form."""
        plain = _plain(word)
        if bool(self._forms(plain) & self._words) or numbers.MONTHS.get(plain, "") in self._numbers:
            return True
        return has_no_case(word) and plain in self._plain  # which may not part words, or joins articles to them

    def _forms(self, word: str) -> set[str]:
        """A word and what is left of it without an ending; other languages than English have more of these than we list."""
        cut = {word[: -len(end)] for end in _ENDINGS if word.endswith(end)}
        if not self._english:
            cut |= {word[:-1], word[:-2]}
        return {word} | {stem for stem in cut if len(stem) >= _MIN_STEM}

    def _capitals(self, text: str) -> Iterator[str]:
        """The words of a text that are written as names; none where all words are.

        The first word of a sentence is one if the next is (``Uppsala Works``, not ``The Works``), or if it has a capital
        inside.
        """
        words = [(m.start(), m.end(), m[0]) for m in WORD.finditer(text)]
        if _all_in_capitals(word for _, _, word in words):
            return
        for (start, end, word), (following, _, after) in zip(words, [*words[1:], (-1, -1, "")], strict=False):
            if word == word.lower() or not word[0].isalpha() or len(word) < 2:
                continue
            begins = bool(_BEGINS.search(text[max(0, start - 8) : start]))
            goes_on = following == end + 1 and text[end] == " " and after[0].isupper() and len(after) > 1
            if not begins or (goes_on and self._tells(word)) or not word[1:].islower():
                yield word


def has_no_case(word: str) -> bool:
    """Tell whether a word is of a script without capitals."""
    return word.lower() == word.upper()


def _all_in_capitals(words: Iterable[str]) -> bool:
    given = list(words)
    return len(given) > _MIN_STEM and all(w[0].isupper() for w in given if len(w) >= _MIN_STEM and w.isalpha())


def _plain(word: str) -> str:
    """A word without case, accents, dots and possessive."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word).casefold())
    bare = "".join(c for c in folded if not unicodedata.combining(c))
    return _POSSESSIVE.sub("", bare).replace(".", "").replace("’", "'")
