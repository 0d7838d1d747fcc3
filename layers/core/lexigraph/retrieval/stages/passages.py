"""A chunk as it is shown: its own text, without title and headings, and what it stands under. Pure."""

from lexigraph.model.graph import Placement, Source
from lexigraph.storage.protocols import ChunkPlace


def passage(indexed: str, placement: Placement) -> str:
    """Return a chunk's own text: the end of what is indexed, as long as the chunk is in the document."""
    return indexed[max(0, len(indexed) - (placement.end - placement.start)) :]


def heading(place: ChunkPlace, source: Source) -> str:
    """Return the innermost heading that a chunk stands under, else the title of its source."""
    return place.placement.parent.rpartition(" > ")[2] or source.title
