"""How documents are read: sizes of chunks and topics, kinds of statements, and samples of them to judge by eye. No store."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.extract import Extractor
from lexigraph.ingestion.load import Rejected, load, scan
from lexigraph.model.document import ChunkText, LoadedDocument
from lexigraph.model.errors import InvalidInput
from lexigraph.model.extraction import ExtractedTopic, Extraction
from lexigraph.model.tokens import count_tokens
from lexigraph.settings import Settings

SMALL = 32  # tokens below which a chunk says too little to be found by
LARGE = 40  # statements above which a topic says nothing


class Sample(NamedTuple):
    """What was read, and the passage that it was read from."""

    document: str
    read: str
    passage: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of documents. Tokens are those of :func:`count_tokens`; shares are from 0 to 1.

    ``chunk_tokens`` are the 0.05, 0.25, 0.5, 0.75 and 0.95 quantiles. ``small`` is the share of chunks under 32 tokens,
    without documents that have no more. ``duplicated`` statements say word by word what another one says.
    """

    documents: int
    rejected: tuple[str, ...]
    chunks: int
    tokens: int
    chunk_tokens: tuple[int, ...]
    small: float
    topics: int
    statements: int
    statements_per_topic: float
    large_topics: int
    longest_topic: tuple[str, str, int]  # document, title, statements
    kinds: dict[str, float]
    duplicated: int
    facts: int
    entities: int
    unclosed: int  # names of entities with a bracket that is not closed
    samples: dict[str, list[Sample]]


def measure(
    paths: Sequence[Path],
    settings: Settings,
    extractor: Extractor,
    *,
    seed: int = 1,
    samples: int = 30,
    progress: Callable[[str], None] = lambda _: None,
) -> Reading:
    """Read files and folders as an ingest does, and return what became of them.

    ``seed`` chooses the samples: prose statements, facts and topics. Raise ``InvalidInput`` when there is nothing to read.
    """
    rejected: list[str] = []
    documents = list(_documents(paths, settings, rejected))
    cut = [chunk(d, max_tokens=settings.chunk_tokens, overlap=settings.chunk_overlap) for d in documents]
    flat = [(d, c) for d, chunks in zip(documents, cut, strict=True) for c in chunks]
    if not flat:
        raise InvalidInput("nothing to read: " + ("; ".join(rejected[:3]) or "no file of a known type"))
    found: list[Extraction] = []
    for extraction in extractor.extract([c for _, c in flat]):
        found.append(extraction)
        progress(f"{len(found):,} of {len(flat):,} chunks")
    sizes = [count_tokens(c.text) for _, c in flat]
    whole = Counter(d.uri for d, _ in flat)
    parts = [size for (d, _), size in zip(flat, sizes, strict=True) if whole[d.uri] > 1 or size >= SMALL]
    read = [(d, c, topic) for (d, c), extraction in zip(flat, found, strict=True) for topic in extraction.topics]
    in_topic = defaultdict[tuple[str, str], set[str]](set)  # what a topic says twice is one statement of it
    for d, _, topic in read:
        in_topic[Path(d.uri).name, topic.title].update(s.value for s in topic.statements)
    per_topic = Counter({topic: len(said) for topic, said in in_topic.items()})
    statements = [s for _, _, topic in read for s in topic.statements]
    kinds = Counter(s.kind for s in statements)
    names = {entity.name for s in statements for entity in s.entities}
    repeated = Counter(s.value for s in statements)
    (longest, most), *_ = per_topic.most_common(1) or [(("", ""), 0)]
    return Reading(
        documents=len(documents),
        rejected=tuple(rejected),
        chunks=len(flat),
        tokens=sum(sizes),
        chunk_tokens=_quantiles(sizes),
        small=sum(size < SMALL for size in parts) / max(1, len(parts)),
        topics=len(per_topic),
        statements=len(statements),
        statements_per_topic=len(statements) / max(1, len(per_topic)),
        large_topics=sum(count > LARGE for count in per_topic.values()),
        longest_topic=(*longest, most),
        kinds={kind: count / len(statements) for kind, count in kinds.most_common()},
        duplicated=sum(count - 1 for count in repeated.values()),
        facts=sum(len(s.facts) for s in statements),
        entities=len(names),
        unclosed=sum(name.count("(") != name.count(")") or name.count("[") != name.count("]") for name in names),
        samples=_samples(read, random.Random(seed), samples),  # noqa: S311  # not for secrets
    )


def _documents(paths: Sequence[Path], settings: Settings, rejected: list[str]) -> Iterator[LoadedDocument]:
    for item in scan(paths):
        for found in [item] if isinstance(item, Rejected) else load(item, settings):
            if isinstance(found, Rejected):
                rejected.append(str(found))
            else:
                yield found


def _quantiles(sizes: Sequence[int]) -> tuple[int, ...]:
    if len(sizes) == 1:
        return (sizes[0],) * 5
    cut = quantiles(sizes, n=20, method="inclusive")
    return tuple(round(cut[at]) for at in (0, 4, 9, 14, 18))


def _samples(
    read: Sequence[tuple[LoadedDocument, ChunkText, ExtractedTopic]], rng: random.Random, most: int
) -> dict[str, list[Sample]]:
    statements, facts, topics = list[Sample](), list[Sample](), dict[tuple[str, str], Sample]()
    for document, of, topic in read:
        name = Path(document.uri).name
        topics.setdefault((name, topic.title), Sample(name, topic.title, _stretch(topic, of)))
        for s in topic.statements:
            statements += [Sample(name, s.value, of.text)] if s.kind == "prose" else []
            facts += [Sample(name, f"{f.subject} | {f.predicate} | {f.object}", s.original or s.value) for f in s.facts]
    found = {"statements": statements, "facts": facts, "topics": list(topics.values())}
    return {kind: rng.sample(every, min(most, len(every))) for kind, every in found.items()}


def _stretch(topic: ExtractedTopic, of: ChunkText) -> str:
    """What a topic was read from: a chunk may hold several sections, and they are topics of their own."""
    if not topic.statements:
        return of.text
    return of.text[min(s.start for s in topic.statements) : max(s.end for s in topic.statements)]
