"""Questions about any documents, with what an answer must say and where it stands: JSON lines, packed with gzip or not."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from lexigraph.evaluation.corpus import Record, records

_NEGATIVE = ("negative", "unanswerable")


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
            raise record.wrong("paraphrases" if at else "question", "holds no letter or digit: write a question")
        id_ = f"{name}/{at}" if at else name
        yield Expectation(id_, text, expected, answer, record.flag("any"), files, unanswerable, kind)
