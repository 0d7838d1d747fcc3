"""Numbers of a text in a form in which they can be compared: ``1,000`` is 1000, ``3.5 million`` 3500000, ``two`` 2."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"\d{1,3}(?: \d{3})+(?![\d.,]*\d)|\d+(?:[.,'’]\d+)*")
_RAISED = re.compile("[⁰¹²³⁴-⁹₀-₉]+")
_SCALE = re.compile(r"[ -]?(hundred|thousand|million|billion|trillion)s?\b|( ?(?:k|m|mn|bn))\b", re.IGNORECASE)
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "k": 3, "m": 6, "mn": 6, "bn": 9}
_SEPARATOR = re.compile(r"[.,'’ ]")
_DATE = re.compile(r"((?:1[5-9]|20)\d\d)(0[1-9]|1[0-2])([0-2]\d|3[01])")
_YEARS = re.compile(r"\d{4}[-–/]")

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
_COUNTS = {word: n for n, word in enumerate(f"{_SMALL} eighteen nineteen".split())}
_TENS = {word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_COUNTS |= _TENS
_PLACES = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
_ORDINALS = {word: n for n, word in enumerate(f"{_PLACES} sixteenth seventeenth eighteenth nineteenth twentieth".split(), 1)}
_SAID = _COUNTS | _ORDINALS | {"dozen": 12, "both": 2, "pair": 2, "couple": 2, "twice": 2}
_WORDS = re.compile(rf"\b(?:({'|'.join(_TENS)})[- ])?({'|'.join(_SAID)})\b", re.IGNORECASE)
_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = {name[:size]: str(n) for n, name in enumerate(_MONTH_NAMES.split(), 1) for size in (3, 4, len(name))}
_UP_TO_FEW = {str(n) for n in range(13)}
_LONG = 1_000  # digits from which it is no number that anybody reads; Python refuses some thousand


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with what is counted: ``1 node``, ``3 edges``, ``1,204 entities``."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def given(text: str) -> set[str]:
    """Return all that the numbers of a text may be taken for, those that are spelled and those of months among them."""
    found = {MONTHS[word] for word in re.findall(r"[a-z]{3,}", text.lower()) if word in MONTHS}
    for number in _numbers(text):
        found.update(number.bare, number.parts, *number.readings)  # bare, too: 3.5m may be millions or metres
        versions = [one for one in number.bare if one.count(".") > 1]
        found |= {one[: point.start()] for one in versions for point in re.finditer(r"\.", one)}
    return found


def missing(text: str, known: set[str], *, few: bool = True) -> list[str]:
    """Return the numbers of a text, as it writes them, that are not among ``known``; without ``few`` those over 12 only.

    Spelled ones are those from two on: one seldom counts, and an ordinal may be a fraction.
    """
    wanted = [number for number in _numbers(text) if number.counts]
    wrong = [n for n in wanted if not any(reading <= known for reading in [*n.readings, *([n.parts] if n.parts else [])])]
    return [n.text for n in wrong if few or not n.bare & _UP_TO_FEW]


def without(text: str) -> str:
    """Return a text without its numbers, in digits and in words."""
    return _WORDS.sub(" ", _NUMBER.sub(" ", text))


class _Number:
    """A number as written: what it may mean (each of ``readings``, or all of its ``parts``), ``bare`` without its scale."""

    __slots__ = ("bare", "counts", "parts", "readings", "text")

    def __init__(self, text: str, bare: set[str], parts: set[str], scale: str, counts: bool = True) -> None:
        self.text, self.bare, self.parts, self.counts = text, bare, parts, counts
        self.readings = [{_times(one, scale)} for one in bare]
        if len(scale.strip()) <= 2:
            self.readings += [{one} for one in bare]


def _numbers(text: str) -> Iterator[_Number]:
    # a raised 2 is an exponent or a note, no digit of the number before it
    plain = unicodedata.normalize("NFKC", _RAISED.sub(r" \g<0> ", text))
    for match in _NUMBER.finditer(plain):
        bare, parts = _read(match[0])
        if len(match[0]) == 2 and _YEARS.fullmatch(plain, max(0, match.start() - 5), match.start()):
            bare = bare | {plain[match.start() - 5 : match.start() - 3] + match[0]}  # 1998-99
        yield _Number(match[0], bare, parts, _scale(plain, match.end()))
    for match in _WORDS.finditer(plain):
        tens, last = (match[1] or "").lower(), match[2].lower()
        value = _TENS.get(tens, 0) + _SAID[last]
        yield _Number(match[0], {str(value)}, set(), _scale(plain, match.end()), last in _COUNTS and value > 1)


def _scale(text: str, at: int) -> str:
    match = _SCALE.match(text, at)
    return (match[1] or match[2]).lower() if match else ""


def _read(number: str) -> tuple[set[str], set[str]]:
    """What a number may mean, and the numbers that it is made of: a date, or two that stand beside each other."""
    if number.isdecimal():
        date = _DATE.fullmatch(number)
        return {_whole(number)}, {_whole(piece) for piece in date.groups()} if date else set()
    pieces = _SEPARATOR.split(number)
    bare = set() if " " in number else {".".join(pieces)}
    if len(pieces[0]) <= 3 and all(len(piece) == 3 for piece in pieces[1:-1]):  # 1,000 and 1,234,567.8
        bare |= {"".join(pieces)} if len(pieces[-1]) == 3 else {f"{''.join(pieces[:-1])}.{pieces[-1]}"}
    a_date = len(pieces) == 3 and 4 in (len(pieces[0]), len(pieces[2]))
    return bare, {_whole(piece) for piece in pieces} if a_date or " " in number else set()


def _whole(digits: str) -> str:
    return str(int(digits)) if len(digits) < _LONG else digits


def _times(number: str, scale: str) -> str:
    try:
        return f"{(Decimal(number) * 10 ** _SCALES.get(scale.strip(), 0)).normalize():f}" if scale else number
    except InvalidOperation:  # a version
        return number
