"""The index of a corpus in a folder of its own: made once, reused, gone on with after an interruption."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lexigraph.evaluation.corpus import Passage
from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.protocols import Embedder
from lexigraph.ingestion.events import IngestReport, Listener
from lexigraph.ingestion.extract import Extractor, make_extractor
from lexigraph.ingestion.load import FileItem
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.run import CHUNKS
from lexigraph.model.errors import InvalidInput, StoreUnavailable, reason_of
from lexigraph.model.ids import content_hash
from lexigraph.settings import Settings

MARKER = "evaluation.json"
_PASSAGES = "corpus.jsonl"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What an index was made of: another one needs another folder."""

    corpus: str
    titles: bool
    embedding: str
    extractor: str
    chunks: str
    tenant: str


class CorpusIndex:
    """A corpus in a folder: its stores and models. ``complete`` says whether all of it is there."""

    def __init__(self, index: LexicalGraphIndex, folder: Path, fingerprint: Fingerprint, complete: bool) -> None:
        self.stores, self.embedder, self.settings = index.stores, index.models.embedder, index.settings
        self.complete = complete
        self._index, self._folder, self._fingerprint = index, folder, fingerprint

    def fill(self, on_event: Listener = lambda _: None) -> IngestReport | None:
        """Ingest what is missing; return what was done, None when all was there.

        It stays incomplete when an extraction failed. Raise ``InvalidInput`` for a passage that cannot be ingested.
        """
        if self.complete:
            return None
        # ids and with them the order of equals follow from the URI: it must not depend on where the folder is
        passages = FileItem(self._folder / _PASSAGES, _PASSAGES, "jsonl")
        report = self._index.ingest([passages], tenant=self.settings.tenant, on_event=on_event)
        if report.failures:
            number, first = len(report.failures), report.failures[0]
            raise InvalidInput(f"{number:,} passages cannot be ingested; the first is {first.uri}: {first.reason}")
        self.complete = not report.chunks_failed
        _mark(self._folder, self._fingerprint, complete=self.complete)
        return report


@contextmanager
def corpus_index(
    folder: Path,
    passages: Sequence[Passage],
    settings: Settings,
    *,
    titles: bool = True,
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
) -> Iterator[CorpusIndex]:
    """Open the index of a corpus in ``folder``, which is made when it is not there.

    All stores are embedded ones in the folder, whatever the settings name; the cache is that of the settings when they name
    one. Without ``titles`` passages have none, in no text, vector or link. Models default to those of the settings. Raise
    ``InvalidInput`` for a folder that holds anything else, also the index of another corpus, ``StoreUnavailable`` for one
    that cannot be written.
    """
    settings = embedded_in(folder, settings)
    embedder = embedder or make_embedder(settings)
    extractor = extractor or make_extractor(settings, make_llm(settings) if settings.extraction == "llm" else None)
    lines = [_line(passage, titles) for passage in passages]
    fingerprint = Fingerprint(
        corpus=content_hash(*sorted(lines)),
        titles=titles,
        embedding=embedder.label,
        extractor=extractor.name,
        chunks=f"{CHUNKS} {settings.chunk_tokens} {settings.chunk_overlap}",
        tenant=settings.tenant,
    )
    complete = _complete(folder, fingerprint)
    if not complete:
        _mark(folder, fingerprint, complete=False)
        _write(folder / _PASSAGES, "".join(lines))
    with LexicalGraphIndex(settings=settings, embedder=embedder, extractor=extractor) as index:
        yield CorpusIndex(index, folder, fingerprint, complete)


def embedded_in(folder: Path, settings: Settings) -> Settings:
    """Return the settings with all stores embedded ones in the folder; a cache that they name stays."""
    return settings.model_copy(
        update={"data": folder, "graph_store": "", "vector_store": "", "document_store": "", "registry": ""}
    )


def _line(passage: Passage, titles: bool) -> str:
    # an empty title says that there is none; a missing one would be made up from the id
    record = {"id": passage.id, "title": passage.title if titles else "", "text": passage.text}
    return json.dumps(record, ensure_ascii=False) + "\n"


def _complete(folder: Path, fingerprint: Fingerprint) -> bool:
    """Tell whether the index is there and whole. Raise ``InvalidInput`` when something else is there."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        found, complete = Fingerprint(**marker["fingerprint"]), bool(marker["complete"])
    except (FileNotFoundError, NotADirectoryError):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(f"{folder} is not an index of a corpus: use a new folder") from None
        return False
    except (OSError, ValueError, TypeError, KeyError):
        raise InvalidInput(f"{folder / MARKER} cannot be read: name a new folder") from None
    other = [name for name, value in asdict(found).items() if value != getattr(fingerprint, name)]
    if other:
        raise InvalidInput(f"{folder} holds an index made with other {', '.join(other)}: name a new folder")
    return complete


def _mark(folder: Path, fingerprint: Fingerprint, *, complete: bool) -> None:
    _write(folder / MARKER, json.dumps({"fingerprint": asdict(fingerprint), "complete": complete}, indent=2))


def _write(path: Path, text: str) -> None:
    """Write a file that is either whole or not there."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {reason_of(error)}") from None
