"""What a reranker makes of chunks. It may not hold up a question: it is given up after a time limit, and for a while when it
keeps failing.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock, Thread

from lexigraph import telemetry
from lexigraph.inference.protocols import Reranker
from lexigraph.retrieval.hybrid.results import HybridItem
from lexigraph.retrieval.stages.reranking import min_max, scored
from lexigraph.retrieval.stages.trace import Trace

FAILURES = 3  # in a row, after which it is left alone
COOL_DOWN_SECONDS = 60.0
_RERANKED = 60  # the best chunks are reranked


class RerankGuard:
    """Asks a reranker within ``seconds``. Safe to share between threads."""

    def __init__(self, seconds: float, *, cool_down: float = COOL_DOWN_SECONDS) -> None:
        self._seconds, self._cool_down = seconds, cool_down
        self._lock = Lock()
        self._failures = 0
        self._closed_until = 0.0

    def score(
        self, reranker: Reranker, queries: Sequence[str], texts: Sequence[str], trace: Trace, *, instead: str
    ) -> list[float] | None:
        """Return one finite score a text, or None with a warning that ends in what is done ``instead``."""
        if time.monotonic() < self._closed_until:
            trace.warn("rerank_failed", f"the reranker {reranker.name} failed {FAILURES} times in a row; {instead}")
            return None
        own, found = Trace(), list[list[float] | None]()
        # a thread of our own that nobody waits for: what hangs must not hold up the question, nor the end of the process
        asking = Thread(
            target=telemetry.carried(lambda: found.append(scored(reranker, queries, texts, own, instead=instead))),
            name="rerank",
            daemon=True,
        )
        with trace.step("rerank"):
            asking.start()
            asking.join(self._seconds)
        if asking.is_alive():
            trace.warn("rerank_failed", f"the reranker {reranker.name} did not finish within {self._seconds:g} s; {instead}")
        else:
            trace.warnings += [w for w in own.warnings if w not in trace.warnings]
        scores = found[0] if found and not asking.is_alive() else None
        self._note(scores is not None)
        return scores

    def _note(self, worked: bool) -> None:
        with self._lock:
            self._failures = 0 if worked else self._failures + 1
            if self._failures >= FAILURES:
                self._failures, self._closed_until = 0, time.monotonic() + self._cool_down


def reranked(
    items: Sequence[HybridItem],
    texts: Sequence[str],
    question: str,
    reranker: Reranker,
    guard: RerankGuard,
    alpha: float,
    trace: Trace,
    *,
    best_link: float,
) -> list[HybridItem]:
    """Return the items in their order after reranking: ``alpha`` of the composite score, the rest the reranker's, 0 to 1.

    A reranker compares with the question, and what a link leads to answers what the chunk before it left open: it counts as
    no worse than its link is, as a share of ``best_link``, the most that a link can bring.
    """
    texts = texts[:_RERANKED]
    scores = guard.score(reranker, [question], texts, trace, instead="chunks keep the order of the search")
    if not scores:
        return list(items)
    shares = min_max(scores) + [0.0] * (len(items) - len(scores))
    linked = [item.parts.get("link", 0.0) / best_link if best_link else 0.0 for item in items]
    mixed = [
        replace(item, final_score=round(alpha * item.composite_score + (1 - alpha) * max(share, link), 4))
        for item, share, link in zip(items, shares, linked, strict=True)
    ]
    return sorted(mixed, key=lambda item: (-item.final_score, item.id))
