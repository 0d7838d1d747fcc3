"""Whether a text denies what another affirms, or the other way round: by the words behind a negation, in English. Pure."""

import re
from collections.abc import Sequence

from lexigraph.retrieval.stages.text import stems

_REACH = 4  # content words that a negation reaches
_ALIKE = 5  # letters by which words are alike: easy, easily
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[,;:.!?()—–]")
_NEGATION = re.compile(
    r"not|no|never|cannot|nor|none|neither|nobody|nothing|without|unless|rather|instead|\w+n['’]t", re.IGNORECASE
)
_PARTS = (
    "but although though because while whereas if and or so since only also then that which who when where until before "
    "after"
)
_ENDS = frozenset([*",;:.!?()—–", *_PARTS.split()])
# words that say no without a negation: what is "not enabled" is "off"
_LACK = re.compile(
    r"\b(?:off|still|only|any|except|less|behind|seldom|rarely|hardly|unable|outstanding|lack\w*|ignor\w+|forb\w+|refus\w+|fail\w*|"
    r"prevent\w*|avoid\w*|exclu\w+|reject\w*|miss\w+|wrong\w*|un\w{4,}|in(?:valid|capable|compatible)|dis\w{4,}|non-?\w+|"
    r"\w{3,}less)\b",
    re.IGNORECASE,
)


def contradicts(sentence: str, statements: Sequence[str]) -> bool:
    """Tell whether a sentence denies a word that the statements only affirm, or affirms one that the first of them denies.

    All the words that they have in common and that it denies have to disagree: a paraphrase may deny otherwise.
    """
    affirms, denies = _polarity(sentence)
    found = [_polarity(text) for text in statements]
    affirmed, denied = set[str]().union(*(a for a, _ in found)), set[str]().union(*(d for _, d in found))
    here = (denies - affirms) & (affirmed | denied)
    if here and not here & denied:
        return True
    nearest_denies = found[0][1] if found else set[str]()
    there = (nearest_denies - affirmed) & affirms
    return bool(there) and not denies and not _LACK.search(sentence)


def _polarity(text: str) -> tuple[set[str], set[str]]:
    """Return the stems of a text's words that it affirms, and those that it denies."""
    affirmed, denied = set[str](), set[str]()
    left = 0
    for token in _TOKEN.findall(text):
        if _NEGATION.fullmatch(token) and not (token.isupper() and len(token) > 1):  # NOT NULL is a name
            left = _REACH
        elif token.lower() in _ENDS:
            left = 0
        else:
            for stem in stems(token, ""):
                (denied if left else affirmed).add(stem[:_ALIKE])
                left = max(0, left - 1)
    return affirmed, denied
