"""The portable format, JSON lines: each document as parsed, with the extractions of its chunks, and curation decisions.

Ids are left out, since they follow from tenant and content: documents can be imported into another tenant, and importing the
same lines again changes nothing. Vectors are left out, too: an import computes them.
"""

import json
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from lexigraph.exchange import decisions
from lexigraph.exchange.records import records
from lexigraph.ingestion import curation, splits
from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.events import IngestReport, Listener
from lexigraph.ingestion.extract import Extractor
from lexigraph.ingestion.files import plain_documents, read_documents
from lexigraph.ingestion.models import CachedModels, extraction_use
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.run import Run
from lexigraph.ingestion.upkeep.rebuild import kept_document
from lexigraph.model.curation import Decision
from lexigraph.model.document import ChunkText, LoadedDocument
from lexigraph.model.errors import InvalidInput, StoreDamaged
from lexigraph.model.extraction import Extraction
from lexigraph.model.names import checked_name
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores

FORMAT = 1
MOST_CHARS = 200_000_000  # of a line: a document of the longest text with its blocks


@dataclass(frozen=True, slots=True)
class Header:
    """What the lines were made with: an index that is made otherwise would cut and name chunks otherwise."""

    extractor: str
    chunk_tokens: int
    chunk_overlap: int
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Portable:
    """A document of an import: its namespace, as it was parsed, and what was extracted, by the content of its chunks."""

    namespace: str
    document: LoadedDocument
    extractions: Mapping[str, Extraction] = field(default_factory=dict)


def lines(
    stores: Stores, tenant: Tenant, extractor: Extractor, settings: Settings, namespace: str | None = None
) -> Iterator[tuple[str, int]]:
    """Yield the lines of an export, and with each how many of its chunks have no extraction that was kept.

    Raise ``StoreDamaged`` for a document whose text is lost or altered.
    """
    header = {
        "type": "lexigraph",
        "format": FORMAT,
        "extractor": extractor.name,
        "chunk_tokens": settings.chunk_tokens,
        "chunk_overlap": settings.chunk_overlap,
    }
    yield _line(header), 0
    for record in records(stores, tenant, namespace):
        kept = kept_document(stores, tenant, record)
        if kept is None:
            raise StoreDamaged(
                f"{record.uri}: the stored text is missing or damaged. Run `lexigraph doctor --repair`, then export again"
            )
        home, document = kept
        chunks = chunk(document, max_tokens=settings.chunk_tokens, overlap=settings.chunk_overlap)
        uses = [extraction_use(extractor, one) for one in chunks]
        found = stores.cache.get_many(tenant, uses[0][0], sorted({key for _, key in uses})) if uses else {}
        (plain,) = plain_documents([document])
        told = {key: json.loads(data) for key, data in sorted(found.items())}
        yield _line({"type": "document", "namespace": home, **plain, "extractions": told}), len({*uses}) - len(found)


def decided(stores: Stores, tenant: Tenant) -> Iterator[str]:
    """Yield the lines that follow those of the documents of a whole tenant: its curators' decisions."""
    for one in decisions.told(stores, tenant):
        yield _line({"type": "decision", **one})


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n"


def read(given: Iterable[str]) -> tuple[Header, Iterator[Portable | Decision]]:
    """Return the header of an export, and its documents and decisions one by one. Raise ``InvalidInput`` naming the line."""
    numbered = iter(enumerate(given, 1))
    number, first = next(numbered, (0, ""))
    if not number:
        raise InvalidInput("the file is empty: use a .jsonl file written by `lexigraph export`")
    told = _object(number, first)
    if told.get("type") != "lexigraph":
        raise InvalidInput("line 1: not an export header: use a .jsonl file written by `lexigraph export`")
    if told.get("format") != FORMAT:
        raise InvalidInput(
            f"line 1: format {str(told.get('format'))[:20]} is newer than {FORMAT}, which this release reads: upgrade"
        )
    try:
        header = Header(str(told["extractor"]), int(told["chunk_tokens"]), int(told["chunk_overlap"]))
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("line 1: extractor, chunk_tokens or chunk_overlap is missing or invalid") from None
    return header, (_portable(number, line) for number, line in numbered if line.strip())


def _portable(number: int, line: str) -> Portable | Decision:
    told = _object(number, line)
    kind = told.pop("type", None)
    if kind == "decision":
        return _decision(number, told)
    if kind != "document":
        raise InvalidInput(f"line {number}: type must be document or decision")
    namespace, extractions = told.pop("namespace", None), told.pop("extractions", {})
    try:
        if not isinstance(namespace, str):
            raise TypeError("namespace must be a string")
        (document,) = read_documents([told])
        _checked(document)
        found = {str(key): Extraction.from_json(json.dumps(value)) for key, value in extractions.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"line {number}: not a valid document: {str(error)[:200]}") from None
    return Portable(namespace, document, found)


def _decision(number: int, told: dict[str, Any]) -> Decision:
    try:
        return decisions.read(told)
    except (InvalidInput, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"line {number}: not a valid decision: {str(error)[:200]}") from None


def _object(number: int, line: str) -> dict[str, Any]:
    if len(line) > MOST_CHARS:
        raise InvalidInput(f"line {number}: must have at most {MOST_CHARS:,} characters, got {len(line):,}")
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput(f"line {number}: not valid JSON") from None
    if not isinstance(told, dict):
        raise InvalidInput(f"line {number}: must be a JSON object")
    return told


def _checked(document: LoadedDocument) -> None:
    texts = (document.uri, document.title, document.text, document.fingerprint)
    if not all(isinstance(text, str) for text in texts) or not document.uri:
        raise TypeError("uri, title, text and fingerprint must be strings")
    at = 0
    for block in document.blocks:
        if not (isinstance(block.start, int) and isinstance(block.end, int) and at <= block.start <= block.end):
            raise ValueError("blocks must be in the order of the text")
        at = block.start
    if at > len(document.text) or any(block.end > len(document.text) for block in document.blocks):
        raise ValueError("a block ends after the end of the text")
    if not isinstance(document.metadata, dict) or not all(
        isinstance(value, (str, int, float, bool)) for value in document.metadata.values()
    ):
        raise TypeError("metadata values must be strings, numbers or booleans")


class KeptExtractions:
    """An extractor that gives what an export brought, under the name of the extractor that found it.

    It remembers those of the last ``most`` documents: what has not changed is never asked for.
    """

    def __init__(self, name: str, otherwise: Extractor, most: int) -> None:
        self.name, self._otherwise = name, otherwise
        self.asked = 0  # chunks that the export had no extraction of
        self._kept: deque[Mapping[str, Extraction]] = deque(maxlen=most)

    def offer(self, extractions: Mapping[str, Extraction]) -> None:
        """Have the extractions of a document ready."""
        self._kept.append(extractions)

    def extract(self, chunks: Sequence[ChunkText]) -> Iterator[Extraction]:
        """Yield the extraction of each chunk; what the export lacks is extracted here."""
        for one in chunks:
            kept = next((found[one.content] for found in self._kept if one.content in found), None)
            if kept is None:
                self.asked += 1
                kept = next(iter(self._otherwise.extract([one])))
            yield kept


def take(
    index: LexicalGraphIndex,
    given: Iterable[str],
    *,
    tenant: str = "default",
    namespace: str | None = None,
    on_event: Listener = lambda _: None,
) -> IngestReport:
    """Import the documents of an export, optionally into another ``namespace``, and then its decisions.

    Each document becomes visible once imported. Unchanged documents are skipped, so you can run an interrupted import again;
    others of the same URI and namespace are replaced. Raise ``InvalidInput`` naming the line for invalid input; documents
    before that line are kept. Raise ``Conflict`` for decisions that contradict existing ones.
    """
    began = time.perf_counter()
    header, told = read(given)
    settings = index.settings.model_copy(update={"chunk_tokens": header.chunk_tokens, "chunk_overlap": header.chunk_overlap})
    kept = KeptExtractions(header.extractor, index.models.extractor, 2 * settings.batch_documents + 2)
    models = CachedModels(kept, index.models.embedder, index.stores.cache)
    owner, report = Tenant(tenant), IngestReport()
    brought: list[Decision] = []

    def run_of(home: str) -> Run:
        of_run = index.stores, models, index.llm, settings, owner, checked_name("namespace", home), report, on_event
        return Run(*of_run, fresh=False, again=False)

    def documents() -> Iterator[Portable]:
        for one in told:
            if isinstance(one, Decision):
                places = tuple((namespace or home, uri) for home, uri in one.documents)
                brought.append(replace(one, documents=places))
            else:
                yield one

    def offered(same: Iterable[Portable]) -> Iterator[LoadedDocument]:
        for one in same:
            kept.offer(one.extractions)
            report.files_processed += 1
            yield one.document

    for home, same in groupby(documents(), key=lambda one: namespace or one.namespace):
        run_of(home).build_again(offered(same))
    splits.refuse_other_extractor(splits.documents_of(index.stores, owner, brought), kept.name)
    curation.bring(index.stores, owner, brought, lambda: splits.build(index.stores, owner, run_of))
    report.extracted, report.elapsed_sec = kept.asked, round(time.perf_counter() - began, 3)
    return report
