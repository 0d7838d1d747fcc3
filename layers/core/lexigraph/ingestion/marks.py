"""Fingerprints of documents: what one was made from and with, and the embeddings of which all its vectors are there.

A mark is a hash, then the labels of embeddings, parted by blanks. Equal hashes mean equal content, chunking and extraction;
a label says that nothing has to be embedded. Without a hash (``-``) the document is looked at again.
"""

from collections.abc import Iterable

from lexigraph.model.ids import content_hash

_AGAIN = "-"


def mark(content: str, made_with: Iterable[str], label: str) -> str:
    """Return the mark of a document of this content, made so, whose vectors are those of ``label``."""
    return f"{content_hash(content, *made_with)} {label}"


def covers(known: str, wanted: str) -> bool:
    """Whether a document marked ``known`` is just as ``wanted`` says, and has all vectors that ``wanted`` names."""
    return known.partition(" ")[0] == wanted.partition(" ")[0] != _AGAIN and labels(wanted) <= labels(known)


def labels(known: str) -> frozenset[str]:
    """Return the embeddings of which a document has all vectors."""
    return frozenset(known.split(" ")[1:])


def labelled(known: str, these: Iterable[str]) -> str:
    """Return a mark with these labels in place of those that it has."""
    return " ".join([known.partition(" ")[0] or _AGAIN, *sorted(these)])


def again(known: str) -> str:
    """Return a mark that makes the next ingest look at the document once more; its vectors are there."""
    return labelled(_AGAIN, labels(known))
