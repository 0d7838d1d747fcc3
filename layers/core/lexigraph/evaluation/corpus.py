"""Passages and questions with their gold passages, in the public format: JSON lines, packed with gzip or not."""

import gzip
import sys
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lexigraph.ingestion.readers.parsed import one_line
from lexigraph.ingestion.readers.records import parse_json
from lexigraph.model.errors import InvalidInput, reason_of

STDIN = Path("-")
_MAX_ID_CHARS = 500


@dataclass(frozen=True, slots=True)
class Passage:
    """What is retrieved, a document of its own."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question, the ids of the passages that hold its evidence, and how many hops it takes (empty: not known)."""

    id: str
    text: str
    gold: tuple[str, ...]
    hops: str = ""


def read_corpus(path: Path) -> list[Passage]:
    """Read lines of ``id``, ``text`` and perhaps ``title``; other fields are passed over.

    Raise ``InvalidInput`` naming file, line and field for what is missing, of another kind, or an id that came before.
    """
    passages: dict[str, Passage] = {}
    for record in records(path):
        passage = Passage(record.id(), record.text("title", ""), record.text("text"))
        if passage.id in passages:
            raise record.wrong("id", f"{passage.id!r} came before: give each passage an id of its own")
        passages[passage.id] = passage
    return list(passages.values())


def read_questions(path: Path, known: Container[str], limit: int | None = None) -> list[GoldQuestion]:
    """Read lines of ``id``, ``question``, ``gold`` (passage ids) and perhaps ``hops``; the first ``limit`` of them.

    Raise like :func:`read_corpus`, also for a gold passage that is not ``known``.
    """
    questions: dict[str, GoldQuestion] = {}
    for record in islice(records(path), limit):
        question = GoldQuestion(record.id(), record.text("question"), _gold(record, known), record.label("hops"))
        if question.id in questions:
            raise record.wrong("id", f"{question.id!r} came before: give each question an id of its own")
        if not any(c.isalnum() for c in question.text):
            raise record.wrong("question", "must contain a letter or digit")
        questions[question.id] = question
    return list(questions.values())


def _gold(record: "Record", known: Container[str]) -> tuple[str, ...]:
    gold = record.fields.get("gold")
    if not isinstance(gold, list) or not gold or not all(isinstance(i, str) for i in gold):
        raise record.wrong("gold", "must be a list of one or more passage ids")
    for passage in gold:
        if passage not in known:
            raise record.wrong("gold", f"{passage[:80]!r} is no passage of the corpus")
    return tuple(dict.fromkeys(gold))


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a file: ``where`` it stands, and its ``fields``, not checked yet."""

    where: str
    fields: Mapping[str, Any]

    def wrong(self, field: str, what: str) -> InvalidInput:
        """Return the error that says what is wrong with a field."""
        return InvalidInput(f"{self.where}, field {field!r}: {what}")

    def text(self, field: str, default: str | None = None) -> str:
        """Return a field that is text; without a default it must be there and not blank."""
        value = self.fields.get(field, default)
        if not isinstance(value, str):
            what = "is missing: give it as text" if value is None else f"must be text, is {type(value).__name__}"
            raise self.wrong(field, what)
        if default is None and not value.strip():
            raise self.wrong(field, "is empty")
        return value

    def id(self) -> str:
        """Return the field ``id``, which must read the same after clean-up."""
        value = self.text("id")
        # an id that a reader would clean up could not be told from the cleaned one
        if value != one_line(value) or len(value) > _MAX_ID_CHARS:
            raise self.wrong("id", f"must be one line of at most {_MAX_ID_CHARS} characters, single spaces and no others")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a field that is a list of texts, or one text; none when it is missing."""
        value = self.fields.get(field)
        listed = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(listed, list) or not all(isinstance(text, str) and text.strip() for text in listed):
            raise self.wrong(field, 'must be a list of texts that are not blank, such as ["48 hours"]')
        return tuple(listed)

    def flag(self, field: str) -> bool:
        """Return a field that is true or false; false when it is missing."""
        value = self.fields.get(field, False)
        if not isinstance(value, bool):
            raise self.wrong(field, f"must be true or false, is {type(value).__name__}")
        return value

    def label(self, field: str) -> str:
        """Return a field that is text or a whole number, as text; empty when it is missing."""
        value = self.fields.get(field)
        if value is not None and (not isinstance(value, (str, int)) or isinstance(value, bool)):
            raise self.wrong(field, f"must be text or a whole number, is {type(value).__name__}")
        return "" if value is None else str(value)


def records(path: Path) -> Iterator[Record]:
    """Yield the lines that are not blank, of a file or of ``STDIN``.

    Raise ``InvalidInput`` for a file without any, or one that cannot be read.
    """
    number, name = 0, "standard input" if path == STDIN else path
    try:
        with _opened(path) as stream:
            for at, line in enumerate(stream, 1):
                if line.strip():
                    number = at
                    yield Record(f"{name}, line {at:,}", _fields(f"{name}, line {at:,}", line))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInput(f"{path}: is damaged, it does not unpack") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {reason_of(error)}") from None
    if not number:
        raise InvalidInput(f"{name}: holds no line")


def _opened(path: Path) -> AbstractContextManager[Iterable[bytes]]:
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def _fields(where: str, line: bytes) -> Mapping[str, Any]:
    try:
        value = parse_json(line)
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{where}: must be an object with fields, is {type(value).__name__}")
    return value
