"""Words that were cut at the end of a line are made whole again, by what the document itself says about them."""

import re
from collections import Counter

SOFT, HYPHEN, NON_BREAKING = "\xad", "\u2010", "\u2011"
_WORD = re.compile(r"\w+(?:-\w+)*")
# a hyphen at the end of a line, and what stands below it up to the next blank
_CUT = re.compile(rf"(?<=\w)([-{HYPHEN}{SOFT}])[^\S\n]*\n([^\S\n]*)((\w[\w-]*)\S*)[^\S\n]*(\n?)")
_LAST = re.compile(r"[\w-]+$")
_LONGEST = 60
_PART = 4  # letters of a part that is a word by no chance
_DASHES = str.maketrans({HYPHEN: "-", NON_BREAKING: "-", SOFT: None})
# a shorter line with a hyphen at its end was not wrapped: it ends there
_WRAPPED = 30
# what keeps its hyphen more often than not
_KEEPS = frozenset(
    "all anti cross double ex first full half high in left long low mid multi non one open post pre quasi real right run "
    "second self semi short single so sub third three top two user well".split()
)


class Hyphenation:
    """How one document writes its words: with or without the hyphen at which a line of it ends.

    ``text`` is the whole document. What it says elsewhere decides: ``re-use`` or ``reuse``, whichever stands there more
    often. Of words that stand nowhere else, hyphens of typesetters (U+2010, soft) go. Other hyphens go when the rest of
    the document cuts words at them; in one that does not say, they go between small letters, except behind ``non``,
    ``self`` and the like, between two words that stand elsewhere by themselves, and in what has a hyphen already.
    """

    def __init__(self, text: str) -> None:
        self._typeset = False
        self._joins = 0
        self._words: Counter[str] = Counter()
        cuts = list(_CUT.finditer(text))
        if not cuts:
            return
        self._words.update(_WORD.findall(text.translate(_DASHES).casefold()))
        self._typeset = any(cut[1] != "-" for cut in cuts)
        self._joins = sum(self._evidence(_first(cut), cut[4]) for cut in cuts)

    def rejoin(self, text: str) -> str:
        """Return a part of the document in which no word is cut; its lines stay, but for those that were such a rest.

        Within lines, typesetters' hyphens become ``-`` and soft ones go.
        """
        if "-\n" in text or not text.isascii():
            before = ""
            while text != before:  # a narrow column cuts a word more than once
                before, text = text, _CUT.sub(self._replaced, text)
        return text if text.isascii() else text.translate(_DASHES)

    def word(self, first: str, second: str, mark: str = "-") -> str:
        """Return the word, or the two with a hyphen, that ``first`` and ``mark`` above ``second`` are."""
        said = self._evidence(first, second)
        if said:
            joins = said > 0
        elif mark != "-":
            joins = True
        elif self._typeset or not (first[-1:].islower() and second[:1].islower()):
            joins = False  # where typesetters' hyphens stand, this one is of the word
        elif self._stands(first) and self._stands(second):
            joins = False
        elif self._joins:
            joins = self._joins > 0
        else:
            joins = "-" not in first and first.casefold() not in _KEEPS
        return f"{first}{'' if joins else '-'}{second}"

    def _evidence(self, first: str, second: str) -> int:
        """Return 1 when the document writes it as one word, -1 when with a hyphen, 0 when it does not say."""
        joined = self._words[f"{first}{second}".casefold()]
        hyphened = self._words[f"{first}-{second}".casefold()]
        return (joined > hyphened) - (hyphened > joined)

    def _stands(self, part: str) -> bool:
        """Tell whether a part is a word of the document by itself: it stands elsewhere, too."""
        return len(part) >= _PART and self._words[part.casefold()] > 1

    def _replaced(self, cut: re.Match[str]) -> str:
        mark, indent, token, second, end = cut.groups()
        line = cut.start() - cut.string.rfind("\n", 0, cut.start())
        if mark == "-" and (line < _WRAPPED or not (second[0].islower() or second[0].isdigit())):
            return cut[0]
        first = _first(cut)
        rest = self.word(first, second, mark)[len(first) :] + token[len(second) :]
        return f"{rest}{end}" if end else f"{rest}\n{indent}"


def _first(cut: re.Match[str]) -> str:
    """Return the last word of the line."""
    before = _LAST.search(cut.string, max(0, cut.start() - _LONGEST), cut.start())
    return before[0] if before else ""


def rejoin(text: str) -> str:
    """Return a whole text in which no word is cut at the end of a line, as :class:`Hyphenation` judges."""
    return Hyphenation(text).rejoin(text)
