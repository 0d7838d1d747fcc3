"""Which sentence of a text a statement comes from: the one that holds most of its telling words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import log

from lexigraph.model.document import Block
from lexigraph.model.sentences import Span, sentences

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_THOUSANDS = re.compile(r"(?<=\d)[,'’ ](?=\d{3}(?!\d))")
# longer than three letters and yet telling nothing
_LINKING = frozenset("also been does from have into such than that their them then there these they this those were".split())
_LINKING |= frozenset("what when where which will with would whose while each must should could".split())
_STEM = 4  # letters that inflected forms of a word share
_SMALL = 0.25  # weight of a word that only links others
_OF_NAMES = 0.5  # of a word with a capital
_ELSEWHERE = 0.5  # of a word that stands in another sentence
_ENOUGH = 0.45  # share of a statement's words that its sentence must hold
_SECOND = 0.3  # of them that a second sentence must add to be evidence, too


def holds(text: str, name: str) -> bool:
    """Tell whether a text holds the words of a name in a row, without regard to case and punctuation."""
    sought, words = folded_words(name), folded_words(text)
    return bool(sought) and any(words[i : i + len(sought)] == sought for i in range(len(words)))


def folded_words(text: str) -> list[str]:
    """Return the words of a text without case and accents; each sign of Chinese, Japanese and Korean is one."""
    plain = unicodedata.normalize("NFKD", _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold()))
    return _WORD.findall(unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c))))


def telling(text: str) -> set[str]:
    """Return the words that tell something, by the letters that their inflected forms share."""
    return {stem for stem, weight in _weighed(text).items() if weight == 1}


class Sentences:
    """The sentences of the ``parts`` of a text; ``around`` is what else is known there: title, headings."""

    def __init__(self, text: str, parts: Sequence[Block], around: str) -> None:
        found = [sentences(text, part.start, part.end) for part in parts]
        self._singles = {span: set(_weighed(text[slice(*span)])) for spans in found for span in spans}
        pairs = [(a, b) for spans in found for a, b in pairwise(spans)]
        self._pairs = {(a[0], b[1]): self._singles[a] | self._singles[b] for a, b in pairs}
        self._counts = Counter(stem for stems in self._singles.values() for stem in stems)
        self._around = set(_weighed(around))

    def source(self, statement: str, after: int = 0) -> Span | None:
        """Return where the sentence stands that a statement comes from, or two in a row that it needs; None without one.

        Rare words tell more than frequent ones. Of equals the first from ``after`` on counts.
        """
        words = _weighed(statement)
        telling = {stem: weight * self._rarity(stem) for stem, weight in words.items()}

        def told(stems: set[str]) -> float:
            return sum(telling[stem] for stem in stems & telling.keys())

        extra = _SECOND * sum(telling.values())
        scored = [(told(stems), span) for span, stems in self._singles.items()]
        scored += [(told(stems) - extra, span) for span, stems in self._pairs.items()]
        if not scored:
            return None
        _, best = max(scored, key=lambda one: (round(one[0], 6), one[1][0] >= after, -one[1][0]))
        for name in (word for word in statement.split()[1:] if word != word.lower()):
            # names alone tell nothing of each other
            words.update({stem: min(weight, _OF_NAMES) for stem, weight in _weighed(name).items()})
        return best if self._share(words, self._singles.get(best) or self._pairs[best]) >= _ENOUGH else None

    def _rarity(self, stem: str) -> float:
        return log(1 + len(self._singles) / (self._counts[stem] or 0.5))

    def _share(self, words: dict[str, float], held: set[str]) -> float:
        """The part of a statement's words that its sentence holds; what is known around it need not be there."""
        here = elsewhere = 0.0
        missing = 0.0
        for stem, weight in words.items():
            if stem in held:
                here += weight
            elif stem in self._counts:
                elsewhere += weight
            elif stem not in self._around and not _has_digit(stem):  # numbers may be written otherwise
                missing += weight
        return here / ((here + _ELSEWHERE * elsewhere + missing) or 1.0)


def _weighed(text: str) -> dict[str, float]:
    """The words of a text by what inflected forms share, and how much they tell."""
    return {_stem(word): _SMALL if _links(word) else 1.0 for word in folded_words(text)}


def _stem(word: str) -> str:
    return word if _has_digit(word) else word[:_STEM]


def _has_digit(word: str) -> bool:
    return any(c.isdigit() for c in word)


def _links(word: str) -> bool:
    return word in _LINKING or (len(word) <= 3 and word.isalpha())
