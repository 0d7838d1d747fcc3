"""Whether what a model says stands in the passage: the names and numbers of a text have to be among those of the chunk."""

from collections.abc import Sequence

from lexigraph.ingestion.extract.blocks import prose
from lexigraph.ingestion.extract.evidence import Sentences, folded_words, holds, telling
from lexigraph.ingestion.extract.topics import tells
from lexigraph.model.document import ChunkText
from lexigraph.model.grounding import WORD, Said, has_no_case

_APART = 2  # words between the parts of a person's name
_MOST_NAMED = 3


class Passage:
    """What a chunk holds, with its title, its headings and the sentence before it, to hold against what is said of it."""

    def __init__(self, chunk: ChunkText) -> None:
        around = "\n".join([chunk.title, *chunk.headings, *(h for part in chunk.parts for h in part.headings), chunk.before])
        self._text = f"{around}\n{chunk.said}"
        self._said = Said(self._text, chunk.language, tells)
        self._telling = telling(self._text)
        self._sentences = Sentences(chunk.text, prose(chunk), around)

    def source(self, statement: str, after: int = 0) -> tuple[int, int] | None:
        """Return where in the chunk's text the sentence stands that a statement comes from; None when there is none."""
        return self._sentences.source(statement, after)

    def missing(self, text: str) -> list[str]:
        """Return the names and numbers of a text that the passage does not have, at most three."""
        return self._said.missing(text)[:_MOST_NAMED]

    def names(self, name: str, class_: str = "") -> bool:
        """Tell whether the passage has all words of a name, those of a person near each other."""
        if not all(map(self._said.knows, WORD.findall(name))) or self._said.missing_numbers(name):
            return False
        return "person" not in class_.casefold() or self._near(folded_words(name))

    def says(self, value: str) -> bool:
        """Tell whether the passage has the names and numbers of a few words, and most of these."""
        words = telling(value)
        return not self.missing(value) and 2 * len(words & self._telling) >= len(words)

    def _near(self, name: Sequence[str]) -> bool:
        if holds(self._text, " ".join(name)):
            return True
        words = folded_words(self._text)
        reach = len(name) + _APART
        return any(_in_order(name, words[at : at + reach]) for at, word in enumerate(words) if word == name[0])


def is_name(text: str) -> bool:
    """Tell whether a text is written as a name: with a capital, or in a script that has none."""
    return any(c.isupper() or (c.isalpha() and has_no_case(c)) for c in text)


def _in_order(wanted: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(word == one for word in rest) for one in wanted)
