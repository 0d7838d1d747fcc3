"""Words, stems and names of a text: what the pure parts of retrieval compare. No model, no I/O."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from lexigraph.model.normalise import entity_key
from lexigraph.model.scripts import (
    FUNCTION_WORDS,
    MARKS,
    PARTICLE,
    UNSPACED,
    grams,
    has_unspaced,
    in_other_script,
    is_unspaced,
    pieces,
    stemmed,
    told_language,
    without_optional,
)
from lexigraph.model.stemmers import snowball

_MAX_NAME_WORDS = 8
_WORD = re.compile(rf"[\w{MARKS}]+")
# of Latin and Greek letters: in other scripts they make another letter
_ACCENTS = re.compile("(?<=[a-z\u00df-\u024f\u0370-\u03ff])[\u0300-\u036f]+")
_MIN_CUT = 3  # letters of a stem that may lack its word's end
_IRREGULAR = frozenset({"die", "lie", "tie"})
_NAME_WORD = re.compile(rf"[\w{MARKS}+#&.'\u2019-]+")
# without blanks a name may begin and end at any letter
_UNSPACED_NAMES = f"[{UNSPACED}\u30fb]+"
_MAX_NAME_LETTERS = 12
_MAX_UNSPACED = 100  # letters of a text that are looked at so

# Function words and what questions are made of: they carry no content that an answer could share.
_STOP_TEXT = (
    "a about above after again against all also am an and another any are as at be because been before being below "
    "between both but by can could d did do does doing don down during each either else ever few for from further get "
    "gets give given got had has have having he her here hers herself him himself his how i if in into is it its "
    "itself just let ll m many may me might more most much must my myself neither no nor not now of off on once only "
    "or other our ours ourselves out over own please re s same shall she should since so some such t tell than that "
    "the their theirs them themselves then there these they this those through to too under until up upon us ve very "
    "was we were what when where whether which while who whom whose why will with would you your yours yourself "
    "yourselves"
)
STOP_WORDS = frozenset(_STOP_TEXT.split())


# how a question is put: rare in documents, so that words like these would count most
_FRAME = re.compile(
    r"\bhappens?(?= (?:after|if|in|on|once|to|when|with)\b|\W*$)|\bit possible(?= (?:for|that|to)\b)"
    r"|\b(?:(?:best|correct|easiest|only|preferred|quickest|recommended|right|simplest|usual) )?ways?(?= (?:of|to)\b)"
    r"|\bsteps?(?= to\b)|\b(?:meaning|purpose)(?= of\b)|\b(?:kinds?|sorts?)(?= of\b)"
    r"|\b(?:can|could|do|may|must|shall|should|would) (?:i|one|we|you) (?:find|get|need|see|use|want)\b",
    re.IGNORECASE,
)
_PUT_AT_THE_END = re.compile(
    r"^(\W*(?:how|what) (?:are|did|do|does|is) .*) (?:means?|stands? for|used for|works?)(?=\W*$)", re.IGNORECASE
)


@lru_cache(maxsize=131_072)
def stem(word: str) -> str:
    """Return the Snowball stem of a lower-case word: as one of English, in other scripts as the script tells."""
    if in_other_script(word):
        return stemmed(word)
    return snowball(word, "english")


def fold(text: str) -> str:
    """Return a text in lower case without accents: ``Aschenbrödel`` is asked for as ``aschenbrodel``."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", folded))
    return without_optional(unicodedata.normalize("NFC", bare))


def words(text: str) -> list[str]:
    """Return the words of a text in order, folded; pairs of letters where no blanks part them."""
    folded = fold(text)
    found = _WORD.findall(folded)
    if not has_unspaced(folded):
        return found
    cut = [piece for word in found for piece in pieces(word)]
    return [word for piece in cut for word in (grams(piece) if is_unspaced(piece) else [piece])]


def unframed(question: str) -> str:
    """Return a question without the words in which it is put ("what happens when", "is there a way to", "how does ... work")
    unless it has no others.
    """
    bare = _FRAME.sub(" ", _PUT_AT_THE_END.sub(r"\1", question))
    return bare if stems(bare) else question


def stems(text: str, language: str | None = None) -> list[str]:
    """Return the stems of the content words of a text in order, in a ``language``; by default the one that it tells."""
    language = told_language(text) if language is None else language
    if not language:
        return [stem(word) for word in words(text) if word not in STOP_WORDS and not PARTICLE.fullmatch(word)]
    return [stemmed(word, language) for word in words(text) if word not in _function_words(language)]


@lru_cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(map(fold, FUNCTION_WORDS[language]))


class StemFinder:
    """Tells which of some stems texts hold, without taking the texts apart: most hold few of them.

    An English word begins with its stem but for the stem's last letter (``countri``, ``country``), except dying, lying and
    tying. Where a question is in another ``language`` or script, texts are taken apart; so are those whose words no blanks
    part.
    """

    def __init__(self, wanted: Sequence[str], language: str = "") -> None:
        self._wanted, self._language = wanted, language
        self._apart = bool(language) or any(map(in_other_script, wanted))
        self._sought: list[tuple[int, str, str]] = []
        for at, sought in enumerate(wanted):
            roots = [sought if len(sought) < _MIN_CUT else sought[:-1], *([f"{sought[0]}y"] if sought in _IRREGULAR else [])]
            self._sought += [(at, sought, root) for root in roots]

    def found_in(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Return which text holds which stem, as places among those given; all texts are searched as one."""
        folded = [] if self._apart else list(map(fold, texts))
        apart = range(len(texts)) if self._apart else [at for at, text in enumerate(folded) if has_unspaced(text)]
        held = [(at, frozenset(stems(texts[at], self._language))) for at in apart]
        found = [(at, place) for at, has in held for place, sought in enumerate(self._wanted) if sought in has]
        if self._apart:
            return found
        for at in apart:
            folded[at] = ""
        ends = list(accumulate([len(text) + 1 for text in folded]))
        joined = "\n".join(folded)
        find, word_at = joined.find, _WORD.match
        for place, sought, root in self._sought:
            at = find(root)
            while at >= 0:
                after, word = at + 1, word_at(joined, at)
                if word and not (at and word_at(joined, at - 1)) and stem(word[0]) == sought:
                    text = bisect_right(ends, at)
                    found.append((text, place))
                    after = ends[text]  # once is enough
                at = find(root, after)
        return found


class Name(NamedTuple):
    """A stretch of words that could be a name: its key as :func:`~lexigraph.model.normalise.entity_key` makes it, the words
    as written, and which words of the text (``first`` to ``last``, the last one excluded) they are.
    """

    key: str
    form: str
    first: int
    last: int


def names(text: str, *, capitals: bool = True) -> Iterator[Name]:
    """Yield every stretch of up to eight words of a line that could be a name.

    With ``capitals`` it is written as names are in running text: it begins and ends with a capital or a digit and has only
    function words between (``Wars of the Roses``), or it is a capital and one more word (``Anglican church``); a number
    alone is none. Without, any
    words may be a name, as in a question typed in lower case, and so may any two to twelve letters where no blanks part
    words. Stretches of function words alone are left out, and a possessive ending is dropped.
    """
    at = 0
    for line in text.split("\n"):
        forms = [form for form in _NAME_WORD.findall(line) if form.isalnum() or _name_word(form).key]
        for first, form in enumerate(forms):
            if capitals and (form[0].islower() or not _name_word(form).marked):
                continue
            before, telling = "", False
            for last, word in enumerate(map(_name_word, forms[first : first + _MAX_NAME_WORDS]), first):
                marked = word.marked or not capitals
                number = capitals and word.key.isdigit()  # 24 June is nothing about the series *24*
                telling = telling or not (word.function or number or (len(word.key) == 1 and last == first))
                ends = marked or (last == first + 1 and not word.function)
                if telling and ends and word.bare:
                    yield Name(before + word.bare, " ".join(forms[first : last + 1]), at + first, at + last + 1)
                if not (marked or word.function) or (capitals and word.ends_sentence):
                    break
                before += word.key + " "
        at += len(forms)
        if not capitals and not line.isascii():
            yield from _unspaced_names(line, at)
            at += len(line)


def _unspaced_names(line: str, at: int) -> Iterator[Name]:
    """Yield the stretches of letters that no blanks part, each letter counted as a word."""
    for run in re.finditer(_UNSPACED_NAMES, line[:_MAX_UNSPACED]):
        start, end = run.span()
        for first in range(start, end - 1):
            for last in range(first + 2, min(first + _MAX_NAME_LETTERS, end) + 1):
                if key := entity_key(line[first:last]):
                    yield Name(key, line[first:last], at + first, at + last)


class _NameWord(NamedTuple):
    key: str
    bare: str
    marked: bool
    function: bool
    ends_sentence: bool


@lru_cache(maxsize=65_536)
def _name_word(form: str) -> _NameWord:
    key = form.lower() if form.isascii() and form.isalnum() else entity_key(form)
    return _NameWord(key, _without_possessive(key), _is_marked(form), key in STOP_WORDS, _ends_sentence(form))


def _is_marked(form: str) -> bool:
    return form[0].isupper() or form[0].isdigit() or form.lstrip("'.\u2019")[:1].isupper()


def _ends_sentence(form: str) -> bool:
    """Tell a full stop that ends a sentence from that of an abbreviation (``St.``, ``U.S.``)."""
    return form[-1] == "." and len(form) > 4 and "." not in form[:-1]


def _without_possessive(key: str) -> str:
    if key.endswith("'s"):
        return key[:-2]
    return key.removesuffix("'")


def longest(found: Iterable[Name]) -> list[Name]:
    """Return the names that do not lie inside a longer one, in the order of the text: longest match first."""
    kept: list[Name] = []
    taken: set[int] = set()
    for name in sorted(found, key=lambda n: (n.first - n.last, n.first)):
        span = range(name.first, name.last)
        if taken.isdisjoint(span):
            taken.update(span)
            kept.append(name)
    return sorted(kept, key=lambda n: n.first)


def holder(whole: Iterable[Name]) -> Callable[[Name], Name | None]:
    """Return a function that tells in which of the names, which do not overlap, a name lies; None when in none."""
    at = {place: name for name in whole for place in range(name.first, name.last)}

    def around(name: Name) -> Name | None:
        found = at.get(name.first)
        return found if found and name.last <= found.last else None

    return around


def same_thing(part: Name, whole: Name) -> bool:
    """Tell whether a name that holds another only adds, in small letters, of what kind it is: ``Kerala state`` is
    ``Kerala``, ``West Kerala`` is not.
    """
    forms = whole.form.split()
    added = forms[: part.first - whole.first] + forms[part.last - whole.first :]
    return all(form[0].islower() for form in added)
