"""Text files written by a test, and what is read of them: (role, headings, text) a block."""

from pathlib import Path

from lexigraph.ingestion.load import FileItem, Rejected, load, scan
from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.model.document import LoadedDocument
from lexigraph.settings import load_settings

Part = tuple[str, tuple[str, ...], str]


def read(folder: Path, name: str, content: str) -> LoadedDocument:
    """Write a file and read it."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    (item,) = scan([path])
    assert isinstance(item, FileItem), item
    (document,) = load(item, load_settings())
    assert isinstance(document, LoadedDocument), document
    return document


def refused(folder: Path, name: str, content: str) -> str:
    """Write a file that cannot be read, and return why."""
    path = folder / name
    path.write_text(content, encoding="utf-8")
    (item,) = scan([path])
    assert isinstance(item, FileItem), item
    (rejected,) = load(item, load_settings())
    assert isinstance(rejected, Rejected), rejected
    return rejected.reason


def parts(document: LoadedDocument) -> list[Part]:
    """The blocks."""
    return [(b.role, b.headings, document.text[b.start : b.end]) for b in document.blocks]


def placed(parsed: Parsed) -> list[tuple[str, str, str]]:
    """The blocks as (role, heading path, text)."""
    return [(b.role, " > ".join(b.headings), parsed.text[b.start : b.end]) for b in parsed.blocks]


def of_role(document: LoadedDocument, role: str) -> list[str]:
    """The texts of the blocks of a role."""
    return [text for found, _, text in parts(document) if found == role]


def outline(document: LoadedDocument) -> list[tuple[str, ...]]:
    """The heading paths of the blocks, each once, in order."""
    return list(dict.fromkeys(headings for _, headings, _ in parts(document)))
