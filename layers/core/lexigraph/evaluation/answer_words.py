"""How many of the words of an answer stand in a text: told without a model, and for any length of answer."""

import re
from collections.abc import Iterable
from functools import lru_cache

from lexigraph.model.stemmers import snowball

_WORD = re.compile(r"[a-z0-9]+")
# of its own, so that its figures stay comparable when the search changes what it passes over
_STOP_TEXT = (
    "a about above after again against all also am an and any are as at be because been before being below between both "
    "but by can could did do does doing down during each either etc for from further had has have having he her here hers "
    "him his how i if in into is it its itself just like many may me might more most much must my no nor not of off often "
    "on once one only or other our ours out over own per same shall she should so some such than that the their theirs "
    "them then there these they this those through thus to too under until up upon us use used using very via was we well "
    "were what when where whether which while who whom why will with within without would you your yours"
)
_STOP = frozenset(_STOP_TEXT.split())


def content(text: str) -> frozenset[str]:
    """Return the stems of the words of a text, in Latin letters and digits, that carry content."""
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP)


def sought(question: str, answer: str) -> frozenset[str]:
    """Return the words of an answer to be found: those that the question does not say."""
    return content(answer) - content(question)


def recall(words: frozenset[str], texts: Iterable[str]) -> float:
    """Return the share of an answer's words that stand in the texts, 0 to 1."""
    return len(words & content(" ".join(texts))) / len(words)


@lru_cache(maxsize=131_072)
def _stem(word: str) -> str:
    return snowball(word, "english")
