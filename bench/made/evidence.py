"""How much of the evidence stays to the end: the gold statements of a question among the statements of a result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraph.answering.context import build_context
from lexigraph.evaluation.corpus import read_corpus, read_questions, records
from lexigraph.evaluation.quality import ranked_documents
from lexigraph.model.results import SearchResults

Said = tuple[str, str]  # document id, text


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a question needs: its type, and of each gold document the sentence that holds the evidence."""

    id: str
    question: str
    type: str
    statements: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Shares of a question's gold statements, 0 to 1: in the results, in what a language model would be shown of them, and
    of its gold documents among the first five.
    """

    results: float
    context: float
    recall: float


def read_evidence(questions: Path, corpus: Path) -> list[Evidence]:
    """Read questions that have ``type`` and ``gold_statements``, one a gold document.

    Raise ``InvalidInput`` for a file that is none of questions about this corpus, or has no such statements.
    """
    known = {passage.id for passage in read_corpus(corpus)}
    checked = read_questions(questions, known)
    found = []
    for gold, record in zip(checked, records(questions), strict=True):
        said = record.fields.get("gold_statements")
        if (
            not isinstance(said, list)
            or len(said) != len(gold.gold)
            or not all(isinstance(s, str) and s.strip() for s in said)
        ):
            raise record.wrong("gold_statements", "must be one text a gold document")
        found.append(Evidence(gold.id, gold.text, record.label("type"), tuple(zip(gold.gold, said, strict=True))))
    return found


def measure_kept(evidence: Evidence, results: SearchResults) -> Kept:
    """Return what a result holds of the evidence. A statement is found when one of the same document holds its text."""
    said = [(_document(r.source.metadata, r.source.uri), s.quoted) for r in results.results for s in r.statements]
    shown = [(_document(c.metadata, c.uri), c.text) for c in build_context(results).sources]
    first, gold = ranked_documents(results)[:5], [document for document, _ in evidence.statements]
    return Kept(
        _share(evidence.statements, said), _share(evidence.statements, shown), sum(d in first for d in gold) / len(gold)
    )


def lost(wanted: Sequence[Said], said: Iterable[Said]) -> list[Said]:
    """Return the wanted statements that no statement of the same document holds."""
    texts: dict[str, list[str]] = {}
    for document, text in said:
        texts.setdefault(document, []).append(" ".join(text.split()))
    return [(d, text) for d, text in wanted if not any(" ".join(text.split()) in t for t in texts.get(d, ()))]


def _share(wanted: Sequence[Said], said: Iterable[Said]) -> float:
    return 1.0 - len(lost(wanted, said)) / len(wanted)


def _document(metadata: Any, uri: str) -> str:
    return str(metadata.get("id", uri))
