"""What holds for a contribution to any graph store before it is written, and how votes of edges are counted. Pure."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from lexigraph.model.errors import Conflict, InvalidInput
from lexigraph.model.graph import ChunkGraph, Source
from lexigraph.storage.protocols import SourceVersion

K = TypeVar("K", bound=Hashable)


def refuse_strays(versions: Sequence[SourceVersion]) -> None:
    """Raise ``InvalidInput`` when a chunk's edges point at nodes that it does not bring."""
    for c in (c for v in versions for c in v.chunks):
        told, topics = {n.id for n in c.statements}, {n.id for n in c.topics}
        strays = {n.topic_id for n in c.statements} - topics
        strays |= ({m.statement_id for m in c.mentions} | {f.statement_id for f in c.facts}) - told
        if strays:
            raise InvalidInput(f"{c.chunk_id}: edges to nodes that it does not hold: {sorted(strays)[:3]}")


def expect_version(source: Source, live: int | None, *, allow_repeat: bool) -> None:
    """Raise ``Conflict`` unless this is the version after the live one (None or 0: there is none), or a repeat of it."""
    expected = (live or 0) + 1
    if source.version != expected and not (allow_repeat and source.version == live):
        raise Conflict(f"{source.uri}: version {source.version} is not the next one ({expected}); ingest the document again")


def entity_forms(chunks: Iterable[ChunkGraph]) -> dict[str, str]:
    """Return every entity that the chunks name, by id, in the form in which they do first."""
    forms: dict[str, str] = {}
    for c in chunks:
        for m in c.mentions:
            forms.setdefault(m.entity_id, m.form)
        for f in c.facts:
            forms.setdefault(f.subject_id, f.subject)
            if f.object_id:
                forms.setdefault(f.object_id, f.object)
        for a in c.aliases:
            forms.setdefault(a.alias, a.alias_form)
            forms.setdefault(a.target, a.target_form)
    return forms


def majority(votes: Iterable[tuple[K, str, int]]) -> dict[K, str]:
    """Return the text with most votes by key; ties go to the smallest, empty texts do not count."""
    tallies: dict[K, Counter[str]] = {}
    for key, text, count in votes:
        if text:
            tallies.setdefault(key, Counter())[text] += count
    return {key: min(tally, key=lambda text: (-tally[text], text)) for key, tally in tallies.items()}
