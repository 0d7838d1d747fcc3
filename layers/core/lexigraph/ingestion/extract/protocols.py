"""What the pipeline asks of an extractor."""

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import Extraction


@runtime_checkable
class Extractor(Protocol):
    """Finds topics, statements, facts and entities in chunks.

    ``name`` is a fingerprint of method, version, model and prompt: part of cache keys and of document fingerprints.
    """

    name: str

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield one extraction a chunk, in order; what a chunk yields does not depend on the chunks beside it.

        One bad chunk does not end the run: it yields ``Extraction(failed=...)``. Raise ``ModelUnavailable`` when the model
        cannot be loaded or reached; what was yielded before stays valid.
        """
