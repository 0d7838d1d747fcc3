"""The index of anybody's documents: one that is there already, or one made of a folder and kept up to date."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lexigraph.evaluation.index import embedded_in
from lexigraph.ingestion.events import Listener
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import InvalidInput, StoreUnavailable, reason_of
from lexigraph.settings import Settings

MARKER = "documents.uri"  # beside the stores: which documents they are made of
_GRAPH = "graph.sqlite"


def is_database(path: Path) -> bool:
    """Tell whether a folder holds embedded stores, and not documents."""
    return (path / _GRAPH).is_file()


@contextmanager
def folder_index(documents: Path, home: Path, settings: Settings) -> Iterator[LexicalGraphIndex]:
    """Open the index of ``documents``, a file or folder, in ``home``; or ``documents`` itself, if that is a database.

    All stores are embedded ones. Raise ``InvalidInput`` for a path that does not exist, and for a ``home`` that holds
    anything else, also the index of other documents.
    """
    if not documents.exists():
        raise InvalidInput(f"{documents} does not exist: name a folder of documents, a file, or a database of lexigraph")
    if not is_database(documents):
        _claim(home, documents)
        documents = home
    with LexicalGraphIndex(settings=embedded_in(documents, settings)) as index:
        yield index


def fill(index: LexicalGraphIndex, documents: Path, on_event: Listener = lambda _: None) -> None:
    """Take in what is new or changed, unless ``documents`` is the database. Raise ``InvalidInput`` when there is nothing."""
    tenant = index.settings.tenant
    report = None if is_database(documents) else index.ingest([documents], tenant=tenant, on_event=on_event)
    if index.documents(tenant=tenant):
        return
    if report is None:
        raise InvalidInput(f"{documents} holds no document of tenant {tenant!r}: name another with --tenant")
    why = "; ".join(f"{failure.uri}: {failure.reason}" for failure in report.failures[:3])
    raise InvalidInput(f"{documents} holds nothing that can be read" + (f": {why}" if why else ", no file of a known type"))


def _claim(home: Path, documents: Path) -> None:
    """Note which documents an index is of. Raise ``InvalidInput`` when it is one of others."""
    marker, of = home / MARKER, documents.resolve().as_uri()
    try:
        home.mkdir(parents=True, exist_ok=True)
        known = marker.read_text(encoding="utf-8") if marker.exists() else ""
        free = not any(home.iterdir())
        if free:
            marker.write_text(of, encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"{marker} cannot be used: {reason_of(error)}") from None
    if not free and known != of:
        held = f"the index of {known}" if known else "something else, no index made by this command"
        raise InvalidInput(f"{home} holds {held}: name a new folder")
