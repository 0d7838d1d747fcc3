"""What a reader with room for so many tokens gets of a result, and how retrievers compare at the same room."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from lexigraph.evaluation.metrics import Array, Estimate, estimates
from lexigraph.model.errors import InvalidInput
from lexigraph.model.results import SearchResults
from lexigraph.retrieval.catalogue import parameters

BUDGETS = (300, 1_000, 2_000)
BASELINES = ("vector", "bm25", "fused")
_MOST_TOKENS = 100_000
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Handed(NamedTuple):
    """A text that a result hands over, and the document it is from."""

    document: str
    text: str


def handed_over(results: SearchResults) -> tuple[Handed, ...]:
    """Return the texts of a result in its order: what a reader, or a language model, is given."""
    return tuple(
        Handed(str(r.source.metadata.get("id", r.source.uri)), s.text) for r in results.results for s in r.statements
    )


def within(handed: Sequence[Handed], budget: int) -> list[Handed]:
    """Return what stands in the first ``budget`` tokens (words and punctuation marks); the last text may be cut."""
    kept = []
    for document, text in handed:
        ends = [found.end() for found in _TOKEN.finditer(text)][:budget]
        if ends:
            kept.append(Handed(document, text[: ends[-1]]))
        budget -= len(ends)
        if budget <= 0:
            break
    return kept


def gold_within(handed: Sequence[Handed], gold: Sequence[str], budgets: Sequence[int]) -> tuple[float, ...]:
    """Return, for each budget, the share of the gold documents of which something stands in it."""
    wanted = set(gold)
    reached = ({h.document for h in within(handed, budget)} for budget in budgets)
    return tuple(len(wanted & documents) / len(wanted) for documents in reached)


def filling(name: str, room: int) -> dict[str, Any]:
    """Return the parameters by which a retriever is measured in ``room`` tokens.

    A baseline is not cut, since a plain search fills any room; what can be told the room is told it.
    """
    uncut = {"max_search_results": None, "max_statements_per_topic": None} if name in BASELINES else {}
    return {**uncut, **{p: room for p in parameters(name) if p == "max_context_tokens"}}


def rivals(name: str) -> tuple[str, ...]:
    """Return what a retriever must not be worse than: the baselines, and of traversal semantic-guided search too."""
    return tuple(r for r in (*BASELINES, *(["semantic-guided"] if name == "traversal" else [])) if r != name)


@dataclass(frozen=True, slots=True)
class AtBudget:
    """A retriever at one budget: its mean, that of its best rival (empty: none measured) with the paired difference to it,
    and means by type of question with their number.
    """

    budget: int
    mean: Estimate
    rival: str
    difference: Estimate | None
    by_type: Mapping[str, tuple[float, int]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "by_type": {t: {"mean": mean, "questions": n} for t, (mean, n) in self.by_type.items()}}


def at_budgets(
    scores: Mapping[str, Sequence[Sequence[float]]], budgets: Sequence[int], types: Sequence[str] = ()
) -> dict[str, list[AtBudget]]:
    """Compare retrievers: ``scores`` hold a row a question, a column a budget, all in the order of the same questions.

    ``types`` are those of the questions. Intervals are those of :func:`~lexigraph.evaluation.metrics.estimates`, of a
    difference over the differences question by question. Raise ``InvalidInput`` without questions.
    """
    tables = {name: np.asarray(rows, dtype=np.float64) for name, rows in scores.items()}
    return {
        name: [
            AtBudget(budget, mean, *_to_rival(name, tables, column), _by_type(table[:, column], types))
            for column, (budget, mean) in enumerate(zip(budgets, estimates(scores[name]), strict=True))
        ]
        for name, table in tables.items()
    }


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the budgets in ``300,1000,2000``, ascending. Raise ``InvalidInput``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= _MOST_TOKENS for part in parts):
        raise InvalidInput(f"--budgets {text[:80]!r}: expected numbers of tokens from 1 to {_MOST_TOKENS:,}: 300,1000,2000")
    return tuple(sorted(set(map(int, parts))))


def _to_rival(name: str, tables: Mapping[str, Array], column: int) -> tuple[str, Estimate | None]:
    measured = [r for r in rivals(name) if r in tables]
    if not measured:
        return "", None
    best = max(measured, key=lambda r: float(tables[r][:, column].mean()))
    return best, estimates(tables[name][:, [column]] - tables[best][:, [column]])[0]


def _by_type(values: Array, types: Sequence[str]) -> dict[str, tuple[float, int]]:
    found = defaultdict[str, list[float]](list)
    for kind, value in zip(types, values, strict=bool(types)):
        found[kind].append(float(value))
    return {kind: (float(np.mean(found[kind])), len(found[kind])) for kind in sorted(found)}
