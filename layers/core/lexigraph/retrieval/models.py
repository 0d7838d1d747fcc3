"""The models that a retriever asks, made from settings when first used; each failure becomes a warning."""

from collections.abc import Sequence
from functools import cached_property

from lexigraph.inference.protocols import Embedder, FloatArray, Reranker
from lexigraph.model.errors import ModelUnavailable
from lexigraph.retrieval.trace import Trace
from lexigraph.settings import Settings, load_settings


class Models:
    """Embedder and rerankers of one retriever. ``None`` means: as the settings say. Safe to share between threads."""

    def __init__(self, embedder: Embedder | None, settings: Settings | None) -> None:
        self._embedder, self._settings = embedder, settings

    @cached_property
    def settings(self) -> Settings:
        """The settings given, else those of the environment."""
        return self._settings or load_settings()

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder given, else that of the settings."""
        if self._embedder is not None:
            return self._embedder
        from lexigraph.inference.factory import make_embedder

        return make_embedder(self.settings)

    def vectors(self, texts: Sequence[str], trace: Trace) -> Sequence[FloatArray | None]:
        """Return the vectors of questions; None for each, with a warning, when the model fails."""
        try:
            with trace.step("embed"):
                return list(self.embedder.embed_questions(texts))
        except ModelUnavailable as error:
            trace.warn("embedding_failed", f"the embedding model failed ({error}); the search went by words only")
            return [None] * len(texts)

    def reranker(self, given: str | Reranker | None, trace: Trace) -> Reranker | None:
        """Return the reranker of a name, None for none and, with a warning, for one that cannot be used."""
        if given is not None and not isinstance(given, str):
            return given
        from lexigraph.inference.factory import make_reranker

        try:
            return make_reranker(given, self.settings)
        except ModelUnavailable as error:
            trace.warn("rerank_failed", f"the reranker {given} cannot be used ({error}); statements keep their order")
            return None
