"""What multi-document search is given by its user: stores and an embedding generator, checked; and the page's errors."""

from math import isfinite
from typing import Any, Protocol

import numpy as np

from lexigraph.inference.protocols import Embedder, FloatArray
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.storage.protocols import GraphStore, Registry, VectorStore


class WrongStore(InvalidInput, TypeError):
    """What was given as store is none."""


class EmbeddingFailed(ModelUnavailable, ValueError):
    """The embedding generator failed, or gave something else than a vector."""


class RetrievalFailed(StoreUnavailable, RuntimeError):
    """A store could not be read."""


class ArticleStore(Protocol):
    """The stores that a synthesizer reads: :class:`~lexigraph.storage.protocols.Stores`, or any object with these three."""

    @property
    def graph(self) -> GraphStore:
        """Where sections stand, and what readers see."""

    @property
    def vectors(self) -> VectorStore:
        """The sections."""

    @property
    def registry(self) -> Registry:
        """The articles."""


def check_store(store: Any) -> None:
    """Raise ``WrongStore`` unless a store has a graph, vectors and a registry."""
    for name, kind in (("graph", GraphStore), ("vectors", VectorStore), ("registry", Registry)):
        if not isinstance(getattr(store, name, None), kind):
            raise WrongStore(
                f"conn must be the stores that open_stores(settings) returns; {type(store).__name__} has no {name}"
            )


def embedded(question: str, generator: Embedder) -> FloatArray:
    """Return the vector of a question. Raise ``EmbeddingFailed`` for anything that goes wrong."""
    if not callable(getattr(generator, "embed_questions", None)):
        raise EmbeddingFailed(
            f"embedding_generator must have a method embed_questions(texts), got {type(generator).__name__}"
        )
    try:
        vector: FloatArray = np.asarray(generator.embed_questions([question]), np.float32)[0]
    except ModelUnavailable as error:
        raise EmbeddingFailed(str(error)) from error
    except Exception as error:  # a user's own; its text may hold that of the question
        raise EmbeddingFailed(f"the embedding generator failed: {type(error).__name__}") from error
    if vector.ndim != 1 or not vector.size or not isfinite(float(vector.sum())):
        raise EmbeddingFailed("the embedding generator must return a vector of finite numbers")
    return vector
