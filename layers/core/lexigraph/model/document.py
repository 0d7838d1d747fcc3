"""A document between loading and building: parsed text with blocks, and the chunks made of them."""

from dataclasses import dataclass, field

from lexigraph.model.graph import Metadata
from lexigraph.model.ids import content_hash

BOILERPLATE = "boilerplate"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch ``text[start:end]`` of the parsed text that belongs together.

    ``role`` is one of paragraph, list (an item), table (a row of one), code, row (of a data file), heading (one with nothing
    below it) and boilerplate: navigation, page heads and feet, tables of contents, repeated licences, which stay in the text
    and say nothing. Headings are not blocks but the path above them.
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

    ``blocks`` are the blocks that it holds or has a part of, their offsets in its ``text``; none stands for one block of
    its ``role``. ``before`` is the sentence before it in its section. ``long`` tells that what stands under its
    headings is more than one topic: those of this chunk are told from others by what they speak of. ``language`` is an
    ISO 639-1 code, empty when it is not known.
    """

    seq: int
    title: str
    headings: tuple[str, ...]
    text: str
    start: int
    end: int
    role: str = "paragraph"
    blocks: tuple[Block, ...] = ()
    before: str = ""
    long: bool = False
    language: str = ""

    @property
    def parts(self) -> tuple[Block, ...]:
        """The blocks; a chunk made without any is one."""
        return self.blocks or (Block(0, len(self.text), self.headings, self.role),)

    @property
    def content(self) -> str:
        """A hash of all that an extractor reads of it: equal chunks yield the same."""
        blocks = [f"{b.start} {b.end} {b.role} {' > '.join(b.headings)}" for b in self.blocks]
        how = (self.role, self.language, "long" * self.long)
        return content_hash(self.title, *self.headings, "\x00", self.text, self.before, *how, *blocks)

    @property
    def indexed(self) -> str:
        """What is embedded and searched: title, heading path and text without boilerplate, one a line.

        A heading equal to the title is not repeated.
        """
        head = [self.title, " > ".join(h for h in self.headings if h != self.title)]
        return "\n".join(part for part in (*head, self.said) if part)

    @property
    def said(self) -> str:
        """The text without boilerplate."""
        kept, at = [], 0
        for block in self.blocks:
            if block.role == BOILERPLATE:
                kept.append(self.text[at : block.start].rstrip())
                at = block.end
        return "\n".join(part for part in (*kept, self.text[at:].lstrip("\n") if kept else self.text) if part)
