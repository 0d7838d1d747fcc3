"""What a reader with room for so many tokens gets of a result."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from lexigraph.model.errors import InvalidInput
from lexigraph.model.results import SearchResults
from lexigraph.retrieval.catalogue import parameters

BUDGETS = (300, 1_000, 2_000)
_MOST_TOKENS = 100_000
_TOKEN = re.compile(r"\w+|[^\w\s]")


class Handed(NamedTuple):
    """A text that a result hands over, and the document it is from."""

    document: str
    text: str


def handed_over(results: SearchResults) -> tuple[Handed, ...]:
    """Return the texts of a result, best first: results group them for display, a reader with less room gets the best."""
    pairs = sorted(((r, s) for r in results.results for s in r.statements), key=lambda pair: -pair[1].score)
    return tuple(Handed(str(r.source.metadata.get("id", r.source.uri)), s.text) for r, s in pairs)


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
    """Return the parameters by which a retriever is measured in ``room`` tokens; none when it is measured without room.

    All are measured as shipped, unless that has less room.
    """
    return {p: room for p in parameters(name) if p == "max_context_tokens" and room > max(BUDGETS)}


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the budgets in ``300,1000,2000``, ascending. Raise ``InvalidInput``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= _MOST_TOKENS for part in parts):
        raise InvalidInput(f"--budgets {text[:80]!r}: expected numbers of tokens from 1 to {_MOST_TOKENS:,}: 300,1000,2000")
    return tuple(sorted(set(map(int, parts))))
