"""How far a run of :mod:`lexigraph.ingestion.upkeep.reembed` is, and its sum: what one part of it hands on to the next."""

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True)
class ReembedReport:
    """The sum of a run from the embedding ``source`` to ``target``.

    ``documents`` are those that have all their ``records`` in the new indexes, ``unfinished`` those whose own ingest was
    interrupted or failed: the next one completes them. ``written`` are the records that this run added, ``embedded`` the
    texts that the model was given, ``removed`` records that had lost their document. ``missing`` records are in no index:
    an ingest with the new model makes them again. ``dropped``: the old records are gone.
    """

    source: str
    target: str
    job_id: str = ""
    documents: int = 0
    unfinished: int = 0
    records: int = 0
    written: int = 0
    embedded: int = 0
    removed: int = 0
    missing: int = 0
    dropped: bool = False
    elapsed_sec: float = 0.0


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run is: in which part, after the documents of what uri, and which documents before it are left to do.

    First the beginning. ``old`` is the deletion of the old records.
    """

    part: Literal["documents", "strays", "old", "done"] = "documents"
    after: str = ""
    left: tuple[str, ...] = ()
