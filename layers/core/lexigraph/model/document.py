"""A document between loading and building: parsed text with blocks, and the chunks made of them."""

from dataclasses import dataclass, field

from lexigraph.model.graph import Metadata


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch ``text[start:end]`` of the parsed text that belongs together.

    ``role`` is one of paragraph, list, table, code, row; headings are not blocks but the path above them.
    """

    start: int
    end: int
    headings: tuple[str, ...] = ()
    role: str = "paragraph"


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """A parsed document. All offsets in the product point into ``text``; ``fingerprint`` is a hash of the raw content."""

    uri: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    fingerprint: str
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk before it has an id: ``text == document.text[start:end]``.

    ``indexed`` is what is embedded and searched: title, heading path and text.
    """

    seq: int
    title: str
    headings: tuple[str, ...]
    text: str
    start: int
    end: int
    role: str = "paragraph"

    @property
    def indexed(self) -> str:
        """Title, heading path and text, one a line; a heading equal to the title is not repeated."""
        head = [self.title, " > ".join(h for h in self.headings if h != self.title)]
        return "\n".join(part for part in (*head, self.text) if part)
