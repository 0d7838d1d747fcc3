"""What an ingest tells while it runs, and what it says at the end."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a run. ``stage`` is one of E-16's names; ``current`` of ``total`` are done (0: not known)."""

    stage: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    current: int = 0
    total: int = 0


Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A file, line or document that could not be taken in, and why, in one line."""

    uri: str
    reason: str


@dataclass(slots=True)
class IngestReport:
    """The sum of a run.

    Entities and relations (facts) are those that the graph has more than before. ``extracted`` and ``embedded`` count the
    chunks and texts that models were given, not those found in the cache.
    """

    job_id: str = ""
    files_processed: int = 0
    documents_new: int = 0
    documents_updated: int = 0
    documents_unchanged: int = 0
    chunks_new: int = 0
    chunks_skipped: int = 0
    chunks_failed: int = 0
    statements_created: int = 0
    entities_created: int = 0
    relations_created: int = 0
    extracted: int = 0
    embedded: int = 0
    dropped: int = 0
    elapsed_sec: float = 0.0
    incremental: bool = True
    failures: list[Failure] = field(default_factory=list)

    @property
    def model_calls(self) -> int:
        """Chunks extracted and texts embedded in this run."""
        return self.extracted + self.embedded

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the result of a job."""
        return {**asdict(self), "model_calls": self.model_calls}
