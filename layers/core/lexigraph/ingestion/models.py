"""Extraction and embedding through the cache: each distinct content is given to a model once."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from lexigraph.inference.protocols import Embedder, FloatArray
from lexigraph.ingestion.extract import Extractor, OneByOne
from lexigraph.ingestion.extract.asking import in_order
from lexigraph.model.batches import batched
from lexigraph.model.document import ChunkText
from lexigraph.model.extraction import Extraction
from lexigraph.model.ids import content_hash
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import ContentCache

# texts between two progress reports, and between two writes to the cache: the first, and as many as it may become
_FIRST_SLICE, _SLICE = 32, 256
_FAST_SECONDS, _SLOW_SECONDS = 1.0, 4.0  # of a slice, after which the next one is larger or smaller
_EXTRACTIONS = 32  # chunks of a fast extractor between two writes
_EXTRACTION = "extraction:"
Advance = Callable[[int, int], None]
Failed = Callable[[ChunkText, str], None]
Use = tuple[str, str]


def extraction_use(extractor: Extractor, chunk: ChunkText) -> Use:
    """Return kind and key under which a chunk's extraction is cached."""
    return f"{_EXTRACTION}{extractor.name}", chunk.content


def embedding_use(embedder: Embedder, text: str) -> Use:
    """Return kind and key under which a passage's vector is cached."""
    return f"embedding:{embedder.label}", content_hash(text)


class Entries(Protocol):
    """The part of a :class:`~lexigraph.storage.protocols.ContentCache` that models need."""

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that exist."""

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries."""


class Renewing:
    """A cache for a job that asks the models anew: of extractions it has only what the same job put there.

    So a job that was interrupted asks for no chunk twice. :meth:`forget` the job when it is over.
    """

    def __init__(self, cache: ContentCache, job_id: str) -> None:
        self._cache, self._job = cache, job_id
        self._renewed: set[Use] = set()  # what notes that an entry was renewed

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries that the job put."""
        if not kind.startswith(_EXTRACTION):
            return {}
        renewed = list(self._cache.get_many(tenant, self._note(kind), keys))
        self._renewed.update((self._note(kind), key) for key in renewed)
        return self._cache.get_many(tenant, kind, renewed) if renewed else {}

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        """Add or replace entries."""
        self._cache.put_many(tenant, kind, entries)
        if kind.startswith(_EXTRACTION):
            self._cache.put_many(tenant, self._note(kind), dict.fromkeys(entries, b"1"))
            self._renewed.update((self._note(kind), key) for key in entries)

    def forget(self, tenant: Tenant) -> None:
        """Take the notes away."""
        self._cache.own(tenant, {self._job: self._renewed})
        self._cache.disown(tenant, [self._job])

    def _note(self, kind: str) -> str:
        return f"renewed-{self._job}:{kind}"


class CachedModels:
    """An extractor and an embedder behind one cache."""

    def __init__(self, extractor: Extractor, embedder: Embedder, cache: Entries) -> None:
        self.extractor, self.embedder, self._cache = extractor, embedder, cache
        self._begun: dict[str, _Begun] = {}

    def begin(self, tenant: Tenant, chunks: Sequence[ChunkText]) -> None:
        """Let the extractor begin with chunks that :meth:`extract` will be asked for, if it works by itself."""
        self._begin(tenant, self._open(chunks, self._known(tenant, chunks)))

    def extract(
        self,
        tenant: Tenant,
        chunks: Sequence[ChunkText],
        advance: Advance = lambda *_: None,
        failed: Failed = lambda *_: None,
    ) -> tuple[list[Extraction], int]:
        """Return one extraction a chunk, and how many the extractor was asked for; ``failed`` hears at once of a bad one."""
        kind, known = f"{_EXTRACTION}{self.extractor.name}", self._known(tenant, chunks)
        open_ = self._open(chunks, known)
        self._begin(tenant, open_)
        todo, done = list(open_), 0
        if todo:
            advance(0, len(todo))
        for batch in batched(todo, _EXTRACTIONS):
            found: dict[str, bytes] = {}
            try:
                for key in batch:
                    known[key] = extraction = self._begun.pop(key).take(key)
                    if extraction.failed:
                        failed(open_[key], extraction.failed)
                    elif not isinstance(self.extractor, OneByOne):
                        found[key] = extraction.to_json().encode()
                    done += 1
                    advance(done, len(todo))
            finally:
                # a model that gives up must not take with it what it has given
                self._cache.put_many(tenant, kind, found)
        return [known[extraction_use(self.extractor, chunk)[1]] for chunk in chunks], len(todo)

    def _known(self, tenant: Tenant, chunks: Sequence[ChunkText]) -> dict[str, Extraction]:
        keys = [extraction_use(self.extractor, chunk)[1] for chunk in chunks]
        cached = self._cache.get_many(tenant, f"{_EXTRACTION}{self.extractor.name}", keys)
        return {key: Extraction.from_json(data.decode()) for key, data in cached.items()}

    def _open(self, chunks: Sequence[ChunkText], known: Mapping[str, Extraction]) -> dict[str, ChunkText]:
        uses = {extraction_use(self.extractor, chunk)[1]: chunk for chunk in chunks}
        return {key: chunk for key, chunk in uses.items() if key not in known}

    def _begin(self, tenant: Tenant, open_: Mapping[str, ChunkText]) -> None:
        if new := {key: chunk for key, chunk in open_.items() if key not in self._begun}:
            begun = _Begun(list(new), self._extractions(tenant, list(new.values())))
            self._begun.update(dict.fromkeys(new, begun))

    def _extractions(self, tenant: Tenant, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        if isinstance(self.extractor, OneByOne):
            return in_order(partial(self._kept, tenant, self.extractor), chunks, self.extractor.concurrency)
        return self.extractor.extract(chunks)

    def _kept(self, tenant: Tenant, extractor: OneByOne, chunk: ChunkText) -> Extraction:
        """Extract a chunk and keep the result at once: what was answered is not asked again, whatever happens next."""
        extraction = extractor.one(chunk)
        if not extraction.failed:
            kind, key = extraction_use(extractor, chunk)
            self._cache.put_many(tenant, kind, {key: extraction.to_json().encode()})
        return extraction

    def embed(
        self, tenant: Tenant, texts: Sequence[str], advance: Advance = lambda *_: None
    ) -> tuple[FloatArray, frozenset[str]]:
        """Return vectors of shape ``(len(texts), dimension)``, and the texts that the model was given."""
        return embed(self.embedder, self._cache, tenant, texts, advance=advance)


class _Begun:
    """Extractions under way, which come in the order of ``keys`` and are taken in any."""

    def __init__(self, keys: Sequence[str], results: Iterator[Extraction]) -> None:
        self._coming, self._found = zip(keys, results, strict=True), dict[str, Extraction]()

    def take(self, key: str) -> Extraction:
        """Return one extraction, once; wait for it."""
        while key not in self._found:
            came, extraction = next(self._coming)
            self._found[came] = extraction
        return self._found.pop(key)


def embed(
    embedder: Embedder,
    cache: Entries,
    tenant: Tenant,
    texts: Sequence[str],
    *,
    advance: Advance = lambda *_: None,
) -> tuple[FloatArray, frozenset[str]]:
    """Return vectors of shape ``(len(texts), dimension)``, and the texts that the model was given: what is not cached."""
    keys = [embedding_use(embedder, text)[1] for text in texts]
    kind = f"embedding:{embedder.label}"
    cached = cache.get_many(tenant, kind, keys)
    known = {key: np.frombuffer(data, dtype=np.float32) for key, data in cached.items()}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
    # like lengths together: a local model then embeds several texts at once
    todo = sorted(missing.items(), key=lambda entry: -len(entry[1]))
    done, size = 0, _FIRST_SLICE
    while part := todo[done : done + size]:
        began = time.monotonic()
        vectors = embedder.embed_passages([text for _, text in part])
        known.update({key: vector for (key, _), vector in zip(part, vectors, strict=True)})
        cache.put_many(tenant, kind, {k: v.astype(np.float32).tobytes() for (k, _), v in zip(part, vectors, strict=True)})
        done += len(part)
        advance(done, len(todo))
        size = next_slice(size, time.monotonic() - began)
    if not keys:
        return np.zeros((0, embedder.dimension), np.float32), frozenset()
    return np.stack([known[key] for key in keys]), frozenset(missing.values())


def next_slice(size: int, seconds: float) -> int:
    """Return how many texts to embed next, after ``size`` took so many seconds: a slow model is heard of every few."""
    if seconds < _FAST_SECONDS:
        return min(_SLICE, size * 4)
    return size if seconds <= _SLOW_SECONDS else max(1, size // 4)
