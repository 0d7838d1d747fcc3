"""Questions about any documents, with what an answer must say and where it stands: JSON lines, packed with gzip or not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from lexigraph.evaluation.corpus import Record, records

_NEGATIVE = ("negative", "unanswerable")
_LATIN = re.compile("[a-z0-9]")
_WHOLE = 4  # characters from which a text may be the beginning of a word


@dataclass(frozen=True, slots=True)
class Expectation:
    """A question and what is expected of its answer.

    ``expected`` are texts that must be said, all of them or with ``any`` one; ``answer`` says it in words of its own;
    ``files`` hold the evidence. An ``unanswerable`` question is to be answered with "not found". ``type`` may be empty.
    """

    id: str
    text: str
    expected: tuple[str, ...] = ()
    answer: str = ""
    any: bool = False
    files: tuple[str, ...] = ()
    unanswerable: bool = False
    type: str = ""

    def said_in(self, texts: Sequence[str]) -> float | None:
        """Return the share of the expected texts that stand in these, 1 where ``any`` of them does; None without any.

        Case and spaces do not matter. A text begins where a word begins; numbers, and texts of fewer than four characters,
        end where one ends.
        """
        whole = plain(" ".join(texts))
        held = [bool(_sought(text).search(whole)) for text in self.expected]
        if not held:
            return None
        return float(any(held)) if self.any else sum(held) / len(held)


def plain(text: str) -> str:
    """Return a text as it is compared: without difference of case, with single spaces."""
    return " ".join(text.casefold().split())


@lru_cache(maxsize=4_096)
def _sought(text: str) -> re.Pattern[str]:
    """Return what finds a text: "IR" not in "their", but "bind-mount" in "bind-mounting"; other scripts anywhere."""
    text = plain(text)
    begins = r"(?<![a-z0-9])" if _LATIN.match(text[0]) else ""
    ends = r"(?![0-9])" if text[-1].isdigit() else ""
    if len(text) < _WHOLE and _LATIN.match(text[-1]):
        ends = r"(?![a-z0-9])"
    return re.compile(begins + re.escape(text) + ends)


def read_expectations(path: Path, limit: int | None = None) -> list[Expectation]:
    """Read lines of ``question`` with ``expected`` (texts, with ``any`` one of them is enough), ``answer``, or
    ``unanswerable`` (or ``type`` "negative"); and perhaps ``files`` (or ``gold``), ``type`` (or ``kind``), ``id``, and
    ``paraphrases``, each a question of its own. Other fields are passed over. Return the first ``limit``.

    Raise ``InvalidInput`` naming file, line, field and remedy for what is missing or of another kind.
    """
    return list(islice((e for number, record in enumerate(records(path), 1) for e in _of(record, number)), limit))


def _of(record: Record, number: int) -> Iterator[Expectation]:
    expected, answer = record.texts("expected"), record.text("answer", "")
    kind = record.label("type") or record.label("kind")
    unanswerable = record.flag("unanswerable") or (kind in _NEGATIVE and not expected and not answer)
    if unanswerable and (expected or answer):
        field = "expected" if expected else "answer"
        raise record.wrong(field, "is given for an unanswerable question: leave one of the two out")
    if not (unanswerable or expected or answer.strip()):
        raise record.wrong("expected", 'is missing: give texts, or "answer", or "unanswerable": true')
    # an id may be anything here: nothing is looked up by it
    name = record.label("id") or str(number)
    files = record.texts("files") or record.texts("gold")
    for at, text in enumerate((record.text("question"), *record.texts("paraphrases"))):
        if not any(c.isalnum() for c in text):
            raise record.wrong("paraphrases" if at else "question", "must contain a letter or digit: write a question")
        id_ = f"{name}/{at}" if at else name
        yield Expectation(id_, text, expected, answer, record.flag("any"), files, unanswerable, kind)
