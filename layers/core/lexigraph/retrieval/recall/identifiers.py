"""What of a query stands for itself: identifiers, paths, options, versions and quoted strings, as a pattern to look for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lexigraph.retrieval.recall.patterns import Pattern, pattern_of
from lexigraph.retrieval.stages.text import words

_MOST = 8  # of one query
_LENGTHS = range(2, 81)  # characters
_SHORT = 3  # characters of what is looked for standing alone only
_TELLING = 20  # nodes that hold an identifier, beyond which it says less and less of a longer query
_PART = 0.6  # what it is worth to hold one as a part of a longer word
_QUOTED = re.compile(r"\"([^\"]+)\"|`([^`]+)`|[\u201c\u201e]([^\u201c\u201d]+)[\u201c\u201d]|(?<!\w)'([^']+)'(?!\w)")
_TOKEN = re.compile(r"[^\s\"'`,;!?<>|=()\[\]{}]+(?:\(\d\w{0,5}\))?")
_KINDS = (
    re.compile(r"--?[A-Za-z][\w-]*"),  # an option
    re.compile(r"(?:[~.]{0,2}/|[A-Za-z]:\\)[\w.+@/\\~-]*\w[\w.+@/\\~-]*"),  # a path from a root
    re.compile(r"[\w.+@~-]+(?:/[\w.+@~-]+){2,}|[\w+@~-]*[._][\w.+@~-]*/[\w.+@/~-]+|[\w+~-]+/[\w+~-]*\w[._]\w[\w.+~-]*"),
    re.compile(r"[a-z]+://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),  # an address
    re.compile(r"v?\d+(?:\.\d+)+(?:[-+.]?\w+)*|\d{4}-\d\d-\d\d"),  # a version, a date
    re.compile(r"\w+(?:\(\d\w{0,5}\))"),  # a page of the manual
    re.compile(r"\w*[^\W_]_\w*[^\W_]\w*|_+\w*[^\W\d_]\w+"),  # snake_case
    re.compile(r"\w*[a-z]\w*[A-Z]\w*|[A-Z]{2,}[a-z]\w*[a-z]|[A-Z]{4,}\d*"),  # camelCase, CAPITALS
    re.compile(r"(?=[\w.+-]*[^\W\d_])(?=[\w.+-]*\d)(?!\d+[A-Za-z]{1,2}$)\w[\w.+-]*\w"),  # letters and digits
    re.compile(r"\w{2,}(?:\.\w{2,})+"),  # a file name, a dotted name
)


@dataclass(frozen=True)
class Identifiers:
    """The identifiers of a query: each standing ``alone`` and as a part of a longer word, and ``pattern`` for any of them.

    ``only``: the query says nothing else.
    """

    alone: tuple[Pattern, ...]
    parts: tuple[Pattern, ...]
    pattern: Pattern
    only: bool

    def scores(self, texts: Sequence[str]) -> list[float]:
        """Return what the texts are worth: 1 for an identifier, less for a part of a longer word, 0 for none.

        Of a query that says more than that, an identifier is worth the less the more texts hold it.
        """
        best = [0.0] * len(texts)
        for alone, part in zip(self.alone, self.parts, strict=True):
            held = [1.0 if alone.share(text) else _PART if part.share(text) else 0.0 for text in texts]
            worth = 1.0 if self.only else min(1.0, _TELLING / max(1, sum(value > 0 for value in held)))
            best = [max(known, worth * value) for known, value in zip(best, held, strict=True)]
        return best


def identifiers(query: str) -> Identifiers | None:
    """Return the identifiers of a query; None when it has none. Raise ``InvalidInput`` without RE2."""
    quoted = [text.strip() for groups in _QUOTED.findall(query) for text in groups if text.strip()]
    tokens = [token.rstrip(".:\u2026").lstrip(":") for token in _TOKEN.findall(_QUOTED.sub(" ", query))]
    named = [text for text in dict.fromkeys([*quoted, *filter(_stands_for_itself, tokens)]) if len(text) in _LENGTHS][:_MOST]
    if not named:
        return None
    alone, parts = [_alone(text) for text in named], [_part(text) for text in named]
    others = words(" ".join(token for token in tokens if token not in named))
    any_of = pattern_of("|".join(f"(?:{part})" for part in parts))
    return Identifiers(tuple(map(pattern_of, alone)), tuple(map(pattern_of, parts)), any_of, only=not others)


def _stands_for_itself(token: str) -> bool:
    return any(kind.fullmatch(token) for kind in _KINDS)


def _part(text: str) -> str:
    """Return the pattern that finds a text anywhere; a short one standing alone."""
    return re.escape(text) if len(text) > _SHORT else _alone(text)


def _alone(text: str) -> str:
    """Return the pattern that finds a text standing alone, a version after its v, too, a short option in its case."""
    option = text[0] == "-"
    first = r"[^\w-]" if option else r"\W|\bv" if text[0].isdigit() else r"\W" if _is_letter(text[0]) else ""
    last = r"[^\w-]" if option else r"\W" if _is_letter(text[-1]) else ""
    before, after = f"(?:^|{first})" if first else "", f"(?:{last}|$)" if last else ""
    return f"(?{'-i' if option and len(text) == 2 else ''}:{before}{re.escape(text)}{after})"


def _is_letter(c: str) -> bool:
    return c.isalnum() or c == "_"
