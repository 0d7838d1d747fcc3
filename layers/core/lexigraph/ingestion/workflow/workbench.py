"""What the steps of an ingest work with: stores and models opened when needed, leases, and the run's standing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from lexigraph.inference.factory import make_embedder, make_llm
from lexigraph.inference.lazy import Lazy
from lexigraph.inference.protocols import Embedder, LanguageModel
from lexigraph.ingestion.events import Listener, recording
from lexigraph.ingestion.extract import Extractor, make_extractor
from lexigraph.ingestion.upkeep.late import Ids, holding
from lexigraph.ingestion.workflow.artefacts import Artefacts
from lexigraph.ingestion.workflow.file_run import FileRun, Superseded
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.factory import CacheFactory, DocumentStoreFactory, RegistryFactory, open_stores
from lexigraph.storage.protocols import ContentCache, DocumentStore, Registry, Stores


@runtime_checkable
class Addressed(Protocol):
    """A document store whose files others can read by bucket and key."""

    def address(self, tenant: Tenant, source_id: str, name: str) -> tuple[str, str]:
        """Return bucket and key of a file."""


class Workbench:
    """Stores and models, those of the settings unless given. What a step does not need is not opened."""

    def __init__(
        self,
        settings: Settings,
        *,
        stores: Stores | None = None,
        artefacts: DocumentStore | None = None,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        llm: LanguageModel | None = None,
    ) -> None:
        self.settings = settings
        at = settings.connections
        self._stores = Lazy(lambda: stores or open_stores(settings, create=True))
        self._registry: Lazy[Registry] = Lazy(
            lambda: stores.registry if stores else RegistryFactory.for_registry(at["registry"])
        )
        self._cache: Lazy[ContentCache] = Lazy(lambda: stores.cache if stores else CacheFactory.for_cache(at["cache"]))
        self._artefacts = Lazy(lambda: artefacts or DocumentStoreFactory.for_document_store(settings.artefacts))
        asks = settings.extraction == "llm" or settings.relations
        self._llm = Lazy(lambda: llm or (make_llm(settings) if asks else None))
        self._extractor = Lazy(lambda: extractor or make_extractor(settings, self._llm()))
        self._embedder = Lazy(lambda: embedder or make_embedder(settings))

    @property
    def registry(self) -> Registry:
        """Jobs, documents and claims."""
        return self._registry()

    @property
    def stores(self) -> Stores:
        """All stores, which only `build`, `finish`, `close` and `remove` need."""
        return self._stores()

    @property
    def artefact_store(self) -> DocumentStore:
        """Where the steps leave what the next ones read."""
        return self._artefacts()

    def artefacts(self, run: FileRun) -> Artefacts:
        """Return what the steps of a run hand on."""
        return Artefacts(self.artefact_store, run.tenant, run.job_id)

    def batches_at(self, run: FileRun) -> dict[str, str]:
        """Return bucket and key of the list of batches, for what reads it there; empty where artefacts are no objects."""
        if not isinstance(self.artefact_store, Addressed):
            return {}
        kept = self.artefacts(run)
        bucket, key = self.artefact_store.address(run.tenant, kept.folder, "batches.json")
        return {"bucket": bucket, "key": key}

    def tell(self, run: FileRun) -> Listener:
        """Return what keeps the events of a run."""
        return recording(self.registry, run.tenant, run.job_id)

    def is_over(self, run: FileRun) -> bool:
        """Whether the run has succeeded. Raise :class:`Superseded`, and end its job, when a newer one was claimed."""
        claim = self.registry.claim(run.tenant, run.key, run.order, run.job_id)
        job = self.registry.job(run.tenant, run.job_id)
        if claim.holder != run.job_id and job.status != "SUCCEEDED":
            reason = f"a newer version of the file was uploaded; job {claim.holder} ingests it"
            self.registry.finish_job(run.tenant, run.job_id, "FAILED", {"superseded_by": claim.holder}, reason)
            self.artefacts(run).clear()
            raise Superseded(reason)
        return job.status == "SUCCEEDED"

    @contextmanager
    def held(self, run: FileRun, source_ids: Sequence[str], written: Mapping[str, Ids] | None = None) -> Iterator[bool]:
        """Hold the leases of documents; the value tells whether the run is over. Raise ``Conflict`` when one is taken.

        ``written`` as for :func:`lexigraph.ingestion.upkeep.late.holding`.
        """
        with holding(self.stores, run.tenant, source_ids, {} if written is None else written) as mine:
            if len(mine) < len(source_ids):
                raise Conflict(f"{len(source_ids) - len(mine)} documents are locked by another process; try again later")
            # asked under the lease: whoever claims later waits for it before it writes
            yield self.is_over(run)
