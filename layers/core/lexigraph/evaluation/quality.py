"""Asks a retriever questions whose evidence is known, and says how much of it came first, and how long it took."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lexigraph.evaluation.comparison import Compared, compare
from lexigraph.evaluation.corpus import GoldQuestion
from lexigraph.evaluation.metrics import MEASURES, Estimate, estimates, measure
from lexigraph.evaluation.room import Handed, gold_within, handed_over, within
from lexigraph.model.question import MAX_CHARS, Question
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import Retriever


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question brought: documents best first, milliseconds (of which for embedding it), store calls, warnings, and
    the texts handed over.
    """

    id: str
    ranked: tuple[str, ...]
    milliseconds: float
    embedding: float
    calls: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    handed: tuple[Handed, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """The figures of one retriever over all questions.

    ``figures`` are those of ``MEASURES``; ``by_hops`` is recall@5 and the number of questions by hops, ``milliseconds``
    p50 and p95 a question with embedding it, ``retrieval`` without; ``calls`` the most store calls of a question by store;
    ``warnings`` the questions by type of warning.
    """

    figures: Mapping[str, Estimate]
    by_hops: Mapping[str, tuple[float, int]]
    milliseconds: tuple[float, float]
    retrieval: tuple[float, float]
    calls: Mapping[str, int]
    warnings: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            **asdict(self),
            "by_hops": {hops: {"recall@5": mean, "questions": n} for hops, (mean, n) in self.by_hops.items()},
            "milliseconds": dict(zip(("p50", "p95"), self.milliseconds, strict=True)),
            "retrieval": dict(zip(("p50", "p95"), self.retrieval, strict=True)),
        }


def ranked_documents(results: SearchResults) -> tuple[str, ...]:
    """Return the ids of the documents, each at the place of its best statement."""
    return tuple(dict.fromkeys(handed.document for handed in handed_over(results)))


def ask(
    retriever: Retriever,
    tenant: Tenant,
    questions: Sequence[GoldQuestion],
    *,
    max_chars: int = MAX_CHARS,
    room: int = 0,
    advance: Callable[[int, int], None] = lambda *_: None,
) -> list[Asked]:
    """Ask all questions one by one; the first once before, so that no time holds the loading of a model.

    Of the texts handed over, the first ``room`` tokens are kept. Raise ``InvalidInput`` for a question longer than
    ``max_chars``.
    """
    asked = []
    for done, question in enumerate((*questions[:1], *questions)):
        found = retriever.retrieve(tenant, Question.of(question.text, max_chars=max_chars))
        if done:
            took, kinds = found.timings, tuple(dict.fromkeys(w.type for w in found.warnings))
            ranked = ranked_documents(found)
            spent = took["total"], took.get("embed", 0.0)
            asked.append(Asked(question.id, ranked, *spent, found.calls, kinds, tuple(within(handed_over(found), room))))
            advance(done, len(questions))
    return asked


def summary(questions: Sequence[GoldQuestion], asked: Sequence[Asked]) -> Quality:
    """Return the figures of what was asked, in the order of ``questions``."""
    rows = [measure(one.ranked, question.gold) for question, one in zip(questions, asked, strict=True)]
    recall = MEASURES.index("recall@5")
    hops: dict[str, list[float]] = {}
    for question, row in zip(questions, rows, strict=True):
        hops.setdefault(question.hops, []).append(row[recall])
    return Quality(
        figures=dict(zip(MEASURES, estimates(rows), strict=True)),
        by_hops={h: (float(np.mean(hops[h])), len(hops[h])) for h in sorted(hops)},
        milliseconds=_percentiles([one.milliseconds for one in asked]),
        retrieval=_percentiles([one.milliseconds - one.embedding for one in asked]),
        calls={
            store: max(one.calls.get(store, 0) for one in asked) for store in sorted({s for o in asked for s in o.calls})
        },
        warnings=dict(sorted(Counter(kind for one in asked for kind in one.warnings).items())),
    )


def gold_kept(
    questions: Sequence[GoldQuestion], asked: Mapping[str, Sequence[Asked]], budgets: Sequence[int]
) -> dict[int, dict[str, Compared]]:
    """Return, by budget, the share of gold documents that each retriever hands over within it, compared, by hops."""
    kept = {
        name: [gold_within(one.handed, question.gold, budgets) for question, one in zip(questions, found, strict=True)]
        for name, found in asked.items()
    }
    hops = [question.hops for question in questions]
    return {
        budget: compare({name: [row[at] for row in rows] for name, rows in kept.items()}, hops)
        for at, budget in enumerate(budgets)
    }


def _percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return round(float(p50), 2), round(float(p95), 2)
