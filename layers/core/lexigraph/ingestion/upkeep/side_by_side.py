"""Two embeddings at once: the settings with another model, and one vector store opened for both."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from pydantic import ValidationError

from lexigraph.model.errors import InvalidInput
from lexigraph.settings import EmbeddingModel, Settings
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.protocols import VectorStore


def settings_with(
    settings: Settings, model: str, dimension: int | None = None, options: Mapping[str, Any] | None = None
) -> Settings:
    """Return settings with another embedding model; dimension and options of the one before do not hold for it.

    Raise ``InvalidInput`` for values that settings cannot have.
    """
    new = {"embedding_model": model, "embedding_dimension": dimension, "embedding_options": dict(options or {})}
    try:
        return Settings(**{**settings.model_dump(), **new})
    except ValidationError as error:
        first = error.errors()[0]  # without what was given: options may hold keys
        raise InvalidInput(f"{first['loc'][0]}: {first['msg']}") from None


@contextmanager
def side_by_side(settings: Settings, *embeddings: EmbeddingModel) -> Iterator[list[VectorStore]]:
    """Open the vector store of the settings for each of these embeddings. Raise as ``VectorStoreFactory``."""
    where = settings.connections["vector"]
    with ExitStack() as stack:
        yield [
            stack.enter_context(closing(VectorStoreFactory.for_vector_store(where, embedding=one, beside=True)))
            for one in embeddings
        ]
