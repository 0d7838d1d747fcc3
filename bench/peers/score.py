"""How much of the evidence of a question stands in the first so many characters of what a system returned."""

import re
from collections.abc import Iterable, Sequence

_ESCAPED = re.compile(r'\\[nrt"\\/]')  # of contexts in JSON
_BETWEEN = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """Return the words of a text in lower case, one space between them, so that setting and punctuation do not count."""
    return f" {_BETWEEN.sub(' ', _ESCAPED.sub(' ', text)).strip().casefold()} "


def kept(evidence: Sequence[Iterable[str]], context: str, budget: int | None = None) -> float:
    """Return the share of evidence in the first ``budget`` characters: of each sentence one of its wordings, whole."""
    shown = normalised(context[:budget])
    return sum(any(normalised(wording) in shown for wording in sentence) for sentence in evidence) / len(evidence)
