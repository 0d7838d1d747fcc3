"""The models that a retriever asks, each made from settings once, when first used; what fails becomes a warning."""

from collections.abc import Sequence
from threading import Lock

from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import Embedder, FloatArray, Reranker
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.stages.trace import Trace
from lexigraph.settings import Settings, load_settings


class Models:
    """Embedder and rerankers of one retriever. ``None`` means: as the settings say. Safe to share between threads."""

    def __init__(self, embedder: Embedder | None, settings: Settings | None) -> None:
        self._settings = Lazy(lambda: load_settings() if settings is None else settings)
        self._embedder = Lazy(lambda: self._make_embedder() if embedder is None else embedder)
        self._rerankers: dict[str, Reranker | None] = {}
        self._lock = Lock()

    @property
    def embedder(self) -> Embedder:
        """The embedder given, else that of the settings."""
        return self._embedder()

    def asked(self, tenant: Tenant | str, question: Question | str | None) -> tuple[Tenant, Question]:
        """Return who asks what; what is given alone is the question of the settings' tenant. Raise ``InvalidInput``."""
        if question is None:
            tenant, question = self._settings().tenant, str(tenant)
        if isinstance(question, str):
            question = Question.of(question, max_chars=self._settings().max_question_chars)
        return Tenant(tenant), question

    def vectors(self, texts: Sequence[str], trace: Trace) -> Sequence[FloatArray | None]:
        """Return the vectors of questions; None for each, with a warning, when the model fails."""
        try:
            with trace.step("embed"):
                return list(self.embedder.embed_questions(texts))
        except ModelUnavailable as error:
            trace.warn("embedding_failed", f"the embedding model failed ({error}); only keyword search was used")
            return [None] * len(texts)

    def reranker(self, given: str | Reranker | None) -> Reranker | None:
        """Return the reranker of a name, always the same one, and None for none. Raise ``InvalidInput`` for another name."""
        if given is None or not isinstance(given, str):
            return given
        from lexigraph.inference.factory import make_reranker

        with self._lock:
            if given not in self._rerankers:
                self._rerankers[given] = make_reranker(given, self._settings())
            return self._rerankers[given]

    def _make_embedder(self) -> Embedder:
        from lexigraph.inference.factory import make_embedder

        return make_embedder(self._settings())
