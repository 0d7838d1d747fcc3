"""Multi-document search from memory for a question that was asked before."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from lexigraph.inference.protocols import Embedder
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.multidoc import MultidocContext
from lexigraph.model.question import Question
from lexigraph.model.results import LEFT_OUT
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.multidoc.articles import RetrievalFailed
from lexigraph.retrieval.multidoc.synthesizer import MultiDocSynthesizer

Key = tuple[Any, ...]  # the tenant first


class ContextCache:
    """The ``most`` (256) contexts used last. Safe to share between threads, and between synthesizers over the same stores.

    ``hits`` and ``misses`` count what was asked of it.
    """

    def __init__(self, most: int = 256) -> None:
        if most < 1:
            raise InvalidInput(f"most must be at least 1, got {most}: to disable caching, omit the cache")
        self.hits = self.misses = 0
        self._most = most
        self._kept: OrderedDict[Key, MultidocContext] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key) -> MultidocContext | None:
        """Return what is kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            self.hits, self.misses = self.hits + (found is not None), self.misses + (found is None)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Key, context: MultidocContext) -> None:
        """Keep a context; the one used longest ago goes when there are too many."""
        with self._lock:
            self._kept[key] = context
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self, tenant: Tenant) -> int:
        """Forget all that is kept of a tenant, and return how many contexts that were."""
        with self._lock:
            gone = [key for key in self._kept if key[0] == tenant]
            for key in gone:
                del self._kept[key]
            return len(gone)


class CachedSynthesizer(MultiDocSynthesizer):
    """A :class:`MultiDocSynthesizer` that answers a repeated question from memory, until a document changes or the
    caches of the tenant are cleared, as a decision about names does (W-20).

    The key holds tenant, its freshness, question, parameters, filters, reranker and embedding; reading the freshness is the
    one call that a repeated question makes. ``cache`` may be shared; None makes one. What was found
    while something failed is not kept: it may go better next time.
    """

    def __init__(self, *args: Any, cache: ContextCache | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cache = ContextCache() if cache is None else cache

    def find(self, question: str, embedding_generator: Embedder) -> MultidocContext:
        """Return what was found before for the same, or find it. Raises like :meth:`MultiDocSynthesizer.find`."""
        key = self._key(Question.of(question).text, embedding_generator)
        if (kept := self.cache.get(key)) is not None:
            return kept
        found = super().find(question, embedding_generator)
        if all(w.type == LEFT_OUT for w in found.warnings):
            self.cache.put(key, found)
        return found

    def _key(self, question: str, embedding_generator: Embedder) -> Key:
        try:
            freshness = self.conn.registry.freshness(self.tenant)
        except StoreUnavailable as error:
            raise RetrievalFailed(str(error)) from error
        label = getattr(embedding_generator, "label", "") or repr(embedding_generator)
        ranking = self.reranker.name if self.reranker else ""
        return (self.tenant, freshness, question, self.args, repr(self.filters), self.min_fact_chars, ranking, label)
