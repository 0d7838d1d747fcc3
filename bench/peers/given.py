"""What every system is given: documents with their extraction, and questions with the sentences that hold their evidence.

Only the standard library is needed to read it: drivers run in environments without Lexigraph's other packages.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """Subject, predicate, object; ``entity`` tells whether the object is a name, too, and not a value."""

    subject: str
    predicate: str
    object: str
    entity: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence in which pronouns are replaced, with the names in it (name and class) and its facts."""

    text: str
    entities: tuple[tuple[str, str], ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """Statements under one title."""

    title: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document with what was extracted from it; ``extraction`` is the same in Lexigraph's own format."""

    id: str
    title: str
    text: str
    topics: tuple[Topic, ...]
    extraction: str

    @property
    def whole(self) -> str:
        """The text below its title: for systems that know no titles."""
        return f"{self.title}\n\n{self.text}"

    @property
    def statements(self) -> Iterator[Statement]:
        """Every statement, in reading order."""
        return (statement for topic in self.topics for statement in topic.statements)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the names in it, as a language model would find them, and its evidence.

    Each item of ``evidence`` is one sentence, as the text has it and as the extraction has it: either counts.
    """

    id: str
    type: str
    question: str
    names: tuple[str, ...]
    evidence: tuple[tuple[str, ...], ...]


def names_in(question: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return which names a question holds, in its order; of names one inside the other, the longer."""
    taken: list[tuple[int, int]] = []
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", question):
            if all(found.end() <= start or end <= found.start() for start, end in taken):
                taken.append(found.span())
    return tuple(dict.fromkeys(question[start:end] for start, end in sorted(taken)))


def write_lines(path: Path, rows: Iterable[Document | Asked]) -> None:
    """Write one JSON object a line."""
    path.write_text("".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read_documents(path: Path) -> list[Document]:
    """Read documents that ``write_lines`` wrote."""
    return [Document(**{**row, "topics": tuple(map(_topic, row["topics"]))}) for row in _rows(path)]


def read_questions(path: Path) -> list[Asked]:
    """Read questions that ``write_lines`` wrote."""
    return [
        Asked(**{**row, "names": tuple(row["names"]), "evidence": tuple(map(tuple, row["evidence"]))}) for row in _rows(path)
    ]


def _topic(row: dict[str, Any]) -> Topic:
    return Topic(row["title"], tuple(map(_statement, row["statements"])))


def _statement(row: dict[str, Any]) -> Statement:
    entities = tuple((name, kind) for name, kind in row["entities"])
    return Statement(row["text"], entities, tuple(Fact(**fact) for fact in row["facts"]))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
