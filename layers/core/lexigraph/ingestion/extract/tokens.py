"""A parsed text as plain lists, and the names found in it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lexigraph.ingestion.extract.names import clean_name
from lexigraph.ingestion.extract.words import IMPERATIVES, KINDS, LINKS

if TYPE_CHECKING:
    from spacy.tokens import Doc

NAME_TAGS = frozenset(["NNP", "NNPS"])
NEVER_IN_NAME = frozenset(["PRP", "PRP$", "DT", "IN", "CC", "MD", "WP", "WRB", "WDT", "EX", "TO", "UH", "RP", "RB"])
_NOT_FIRST = frozenset(["the", "a", "an", "and", "or", "of", "for", "at", "&"])
_NOT_LAST = LINKS | {"'s", "’s", "'", "’", "and", "or", "the", "in", "at", "on"}
_SPACED_HYPHEN = re.compile(r"(?<=\w) [-–] (?=\w)")


@dataclass(frozen=True, slots=True)
class Name:
    """Tokens ``start`` to ``end`` (exclusive) of a parsed text form the name ``text``.

    A name that is not ``certain`` may be one (``Anne of Austria``) or two (``John Small of Ohio``): the facts are told of
    the shorter one.
    """

    start: int
    end: int
    text: str
    class_: str = ""
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Tokens:
    """Words, tags and places of a text's tokens; ``firsts`` are the tokens that begin a sentence."""

    text: str
    offsets: list[int]
    words: list[str]
    tags: list[str]
    firsts: set[int]

    @classmethod
    def of(cls, doc: "Doc") -> "Tokens":
        """Read a parsed text once."""
        return cls(
            doc.text, [t.idx for t in doc], [t.text for t in doc], [t.tag_ for t in doc], {s.start for s in doc.sents}
        )

    def capital(self, i: int) -> bool:
        """Tell whether token ``i`` is written as part of a name."""
        word = self.words[i]
        if not word[0].isupper():
            # iPhone, openCypher
            return word.isalpha() and not word.islower() and len(word) > 3
        if word == "I" and i:
            # Gothelo I, Duke of Lorraine
            after = next(iter(self.words[i + 1 : i + 2]), "")
            return self.tags[i - 1] in NAME_TAGS and after in (",", "of", ".", ")", "(", "and")
        if self.tags[i] in NEVER_IN_NAME:
            return False
        return self.tags[i] in NAME_TAGS or i not in self.firsts

    def name(self, start: int, end: int, class_: str = "") -> Name | None:
        """Return the tokens as a name, without what surrounds it; None when none is left."""
        words = self.words
        while start < end and (words[start].casefold() in _NOT_FIRST or not _has_letter(words[start])):
            start += 1
        if start in self.firsts and end - start > 1 and words[start] in IMPERATIVES:
            start += 1
        while end > start and (words[end - 1] in _NOT_LAST or not _has_letter(words[end - 1])):
            end -= 1
        # the tokenizer parts systemd(1 from its bracket
        closed = end < len(words) and words[end] == ")" and "(" in words[end - 1] and ")" not in words[end - 1]
        text = clean_name(self.joined(start, end) + ")" * closed)
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
