"""Lexigraph with its embedded stores, as ``lexigraph ingest`` and ``lexigraph retrieve`` use them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, cast

from bench.peers.driver import Embedder, System
from bench.peers.given import Asked, Document
from lexigraph.answering.context import build_context
from lexigraph.evaluation.corpus import Passage
from lexigraph.evaluation.index import corpus_index
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import Extraction
from lexigraph.model.question import Question
from lexigraph.model.tenant import Tenant
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.settings import Settings

_TENANT = "default"


def default_settings(folder: Path) -> Settings:
    """Return the settings as they are by themselves, with all stores in a folder; no ``.env`` of the user is read."""
    return Settings(data=folder, _env_file=None)  # type: ignore[call-arg]  # of pydantic-settings, no field


class Given:
    """An extractor that finds what is given with the documents."""

    name = "given-1"

    def __init__(self, documents: Sequence[Document]) -> None:
        self._known = {document.text: document.extraction for document in documents}

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk. Raise ``KeyError`` for one that is not a whole document."""
        for chunk in chunks:
            yield Extraction.from_json(self._known[chunk.text])


class Counted:
    """A store that counts its calls."""

    def __init__(self, store: Any, kind: str, calls: Counter[str]) -> None:
        self._store, self._kind, self._calls = store, kind, calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return self._counting(found) if callable(found) else found

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self._calls[self._kind] += 1
            return method(*args, **options)

        return call


class Ours:
    """An index in a folder, asked through a retriever by name."""

    def __init__(self, folder: Path, embedder: Embedder, retriever: str) -> None:
        self.calls: Counter[str] = Counter()
        self._folder, self._embedder, self._name = folder, cast(Any, embedder), retriever
        self._settings = default_settings(folder)
        self._opened = ExitStack()
        self._retriever: Any = None

    def build(self, documents: Sequence[Document]) -> None:
        passages = [Passage(d.id, d.title, d.text) for d in documents]
        extractor = Given(documents)
        with corpus_index(self._folder, passages, self._settings, embedder=self._embedder, extractor=extractor) as index:
            report = index.fill()
        if report is None or report.chunks_failed:
            raise RuntimeError(f"Lexigraph did not take in everything: {report}")

    def ask(self, asked: Asked) -> str:
        retriever = self._retriever = self._retriever or self._open()
        return build_context(retriever.retrieve(Tenant(_TENANT), Question.of(asked.question))).text

    def _open(self) -> Any:
        index = self._opened.enter_context(LexicalGraphIndex(settings=self._settings, embedder=self._embedder))
        graph, vectors = (
            Counted(index.stores.graph, "graph", self.calls),
            Counted(index.stores.vectors, "vectors", self.calls),
        )
        return make_retriever(
            self._name, cast(Any, graph), cast(Any, vectors), embedder=self._embedder, settings=self._settings
        )

    def servers(self) -> Sequence[int]:
        return ()

    def close(self) -> None:
        """Close the stores."""
        self._opened.close()


@contextmanager
def open_system(folder: Path, embedder: Embedder, retriever: str) -> Iterator[System]:
    """Open an index in a folder."""
    with closing(Ours(folder, embedder, retriever)) as system:
        yield system
