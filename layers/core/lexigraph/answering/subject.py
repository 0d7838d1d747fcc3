"""A question with another subject: "How does bisect search?", asked about heapq. English only, by rule, pure.

What the new subject stands in for is the part of the question that is written like it: a name for a name, a number for a
number, "the client" for "the server", "on Fedora" for "on Debian". Where no part is, nothing is replaced.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from lexigraph.retrieval.stages.text import STOP_WORDS, fold

_EDGES = '?!.,;:"“”‘()[]'
_PREPOSITIONS = frozenset(
    "about after against as at before between by during for from in into of on onto over per since than through to under "
    "until via with within without".split()
)
_DEFINITE = frozenset("the this that these those my our your its their".split())
_INDEFINITE = frozenset("a an another any some each every".split())
_OF = frozenset(("for", "of"))  # may lead to the subject, whatever led to it before
_NAMES = frozenset(("name", "plain"))
_BEFORE_A_VERB = frozenset("i you we one they he she it to who".split())
_VERBAL = frozenset("do does did can could will would should may might must".split())  # a verb follows the subject
_COPULA = frozenset("is are was were be has have had".split())
_ASKS = frozenset("what which whose many much how".split())
# a name by its form: zlib.crc32, SO_PEERCRED, bind(2), Debian, but not the first word of a question
_MARKED = re.compile(r".*[^\W\d].*[._()/:=+#\d].*|.*[A-Z_].*|[/-].*\w.*")
_NUMBER = re.compile(r"v?\d[\d.,:%-]*\w?")
# no name: "And performance?", "And errors?"
_COMMON = re.compile(r"[a-z]+(?:tion|sion|ance|ence|ity|ment|ness|ing|age|acy|ure|[^su]s)")
_PARTICIPLE = re.compile(r"\w+(?:ed|en|ing|t)")


@dataclass(frozen=True, slots=True)
class _Part:
    """Words of a question that stand together, from ``start`` to ``end``, and how they are led to.

    ``kind`` is one of name, number, definite, indefinite, plain and common (nothing before it, and no name).
    """

    start: int
    end: int
    preposition: str
    kind: str


def about(question: str, subject: str) -> str:
    """Return the question asked about another subject ("zlib", "the client", "on Fedora"); empty when it is not sure how."""
    tokens, new = question.split(), subject.split()
    given = _led(new)
    if not given or not tokens:
        return ""
    first, preposition, determiner = given
    kind = _kind(new[first:], determiner)
    every = _parts(tokens)
    parts = [part for part in every if part.preposition == preposition] if preposition else every
    alike = [part for part in parts if part.kind == kind] or (parts if preposition else [])
    if not alike and preposition in _OF:  # "And for zlib?"
        alike = [part for part in every if part.kind == kind]
    if not alike and preposition:
        return _joined(tokens, len(tokens), len(tokens), new)
    if not alike and kind in _NAMES:  # a name may be written like any word
        definite = [part for part in parts if part.kind == "definite"]
        named = [part for part in parts if part.kind in _NAMES]
        if kind == "plain" and len(parts) > 1:  # hardly for what is marked as a name, but for "the force option"
            named = [part for part in named if part.kind == "plain"] or [p for p in definite if p.end - p.start > 1]
            definite = []
        alike = named or [p for p in definite if p.preposition] or definite
    if not alike:
        return ""
    wanted = set(_bare(new[first:]))
    part = max(alike, key=lambda part: len(wanted.intersection(_bare(tokens[part.start : part.end]))))
    return _put(tokens, part, new[max(first - 1, 0) : first] if determiner else [], new[first:])


def _put(tokens: Sequence[str], part: _Part, determiner: Sequence[str], new: Sequence[str]) -> str:
    start, end = part.start, part.end
    led = start > 0 and tokens[start - 1].casefold() in _DEFINITE | _INDEFINITE
    if determiner:
        return _joined(tokens, start - led, end, [*determiner, *new])
    if led and end - start > 1 and _bare(new)[-1] != _bare(tokens[start:end])[-1]:  # the bisect module: the zlib module
        end -= 1
    return _joined(tokens, start, end, new)


def _joined(tokens: Sequence[str], start: int, end: int, new: Sequence[str]) -> str:
    """Return the tokens with new ones in place of some, what stood behind them kept."""
    words = list(new)
    words[-1] = words[-1].rstrip("?!.,;:")
    before, after = list(tokens[:start]), list(tokens[end:])
    if start == end:  # at the end
        tail = re.search(r"[?!.]*$", before[-1])
        before[-1] = before[-1].rstrip("?!.")
    else:
        tail = re.search(r"['’]s[?!.,;:]*$|[?!.,;:]*$", tokens[end - 1])
    words[-1] += tail[0] if tail else ""
    return " ".join([*before, *words, *after])


def _parts(tokens: Sequence[str]) -> list[_Part]:
    """Return the parts of a question that something else could stand in for, in their order."""
    bare = _bare(tokens)
    parts, start = list[_Part](), 0
    while start < len(tokens):
        end = start
        while end < len(tokens) and bare[end] not in STOP_WORDS and (end == start or tokens[end - 1][-1] not in ",;:"):
            end += 1
        parts += _of_run(tokens, bare, start, end) if start < end else []
        start = max(end, start + 1)
    return parts


def _of_run(tokens: Sequence[str], bare: Sequence[str], start: int, end: int) -> list[_Part]:
    """Return the parts of a run of words that carry content: the names and numbers in it, or what stands for its subject."""
    before = bare[start - 1] if start else ""
    led = before in _DEFINITE | _INDEFINITE
    leading = bare[start - 2] if led and start > 1 else before
    preposition = leading if leading in _PREPOSITIONS else ""
    kinds = [_kind([token], "") if at or start else "plain" for at, token in enumerate(tokens[start:end])]
    marked = [(kind, start + at) for at, kind in enumerate(kinds) if kind in ("name", "number")]
    if marked:
        runs = [(kind, [at for _, at in run]) for kind, run in groupby(marked, key=lambda pair: pair[0])]
        return [_Part(run[0], run[0] + len(run), preposition, kind) for kind, run in runs]
    if before in _ASKS:
        start += 2  # what is asked for, a verb
    elif (before in _BEFORE_A_VERB and not preposition) or (not start and len(tokens) > 1):
        start += 1
    elif leading in _VERBAL and bare[end : end + 1] == ["do"]:
        pass  # all of it does something
    elif leading in _VERBAL | _COPULA and not led:
        end = start + 1  # the subject; how many words it has is not known
    elif end - start > 1 and (
        (leading in _VERBAL and (end == len(tokens) or bare[end] not in _COPULA))
        or (leading in _COPULA and _PARTICIPLE.fullmatch(bare[end - 1]))
    ):
        end -= 1  # before its verb
    return [_Part(start, end, preposition, _kind(tokens[start:end], before if led else ""))] if start < end else []


def _led(new: Sequence[str]) -> tuple[int, str, str] | None:
    """Return where the words of a new subject begin, its preposition and its determiner; None when there are none."""
    bare = _bare(new)
    at, preposition, determiner = 0, "", ""
    if at < len(bare) and bare[at] in _PREPOSITIONS:
        preposition, at = bare[at], at + 1
    if at < len(bare) and bare[at] in _DEFINITE | _INDEFINITE:
        determiner, at = bare[at], at + 1
    return (at, preposition, determiner) if not STOP_WORDS.issuperset(bare[at:]) else None


def _kind(words: Sequence[str], determiner: str) -> str:
    bare = [word.strip(_EDGES) for word in words]
    if all(_NUMBER.fullmatch(word) for word in bare):
        return "number"
    if any(_MARKED.fullmatch(word) for word in bare):
        return "name"
    if determiner:
        return "definite" if determiner in _DEFINITE else "indefinite"
    return "common" if bare and _COMMON.fullmatch(bare[-1]) else "plain"


def _bare(words: Sequence[str]) -> list[str]:
    """Return words as they are compared; what is nothing but signs as a stop word."""
    return [fold(re.sub(r"['’]s$", "", word.strip(_EDGES))) or "a" for word in words]
