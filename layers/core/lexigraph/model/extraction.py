"""What an extractor finds in a chunk: topics with statements, their facts and entities. Values only, with a JSON form."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """A name in a statement, in the form used there, and its class (``Person``, ``Organization``, ...; may be empty)."""

    name: str
    class_: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """Subject, predicate, object. The subject is an entity; the object is one when its name is among the statement's."""

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class ExtractedStatement:
    """A standalone assertion; ``start`` and ``end`` are character offsets of its evidence in the chunk's text.

    ``kind`` is prose, code or table. ``original`` is the sentence as the text has it, where ``value`` had to name what its
    pronouns mean; else empty.
    """

    value: str
    start: int
    end: int
    details: tuple[str, ...] = ()
    entities: tuple[ExtractedEntity, ...] = ()
    facts: tuple[ExtractedFact, ...] = ()
    kind: str = "prose"
    original: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedTopic:
    """A theme of the chunk with its statements in reading order."""

    title: str
    statements: tuple[ExtractedStatement, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The yield of one chunk.

    ``aliases`` are (other name, name) pairs that the text itself gives, as in ``Simple Storage Service (S3)``.
    ``dropped`` says what was thrown away and why; ``failed`` why nothing could be used.
    """

    topics: tuple[ExtractedTopic, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()
    failed: str = ""

    def to_json(self) -> str:
        """Return a canonical JSON form: equal extractions give equal strings."""
        # written out: dataclasses.asdict takes longer than everything else in building a chunk
        topics = [{"title": t.title, "statements": [_plain(s) for s in t.statements]} for t in self.topics]
        whole = {"topics": topics, "aliases": self.aliases, "dropped": self.dropped, "failed": self.failed}
        return json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Extraction":
        """Read what :meth:`to_json` wrote."""
        return _reader().validate_json(text)


def _plain(s: ExtractedStatement) -> dict[str, Any]:
    return {
        "value": s.value,
        "start": s.start,
        "end": s.end,
        "details": s.details,
        "entities": [{"name": e.name, "class_": e.class_} for e in s.entities],
        "facts": [
            {"subject": f.subject, "predicate": f.predicate, "object": f.object, "confidence": f.confidence} for f in s.facts
        ],
        "kind": s.kind,
        "original": s.original,
    }


@cache
def _reader() -> TypeAdapter[Extraction]:
    return TypeAdapter(Extraction)
