"""A bulk load of documents into Neptune: files for its loader, the loader, then an ingest as always.

`write` extracts what an ingest of the same documents would, out of the cache where it can, and puts what the chunks
contribute into S3; `start` hands that to Neptune's loader, and `look` tells how far it is. Nothing of it is shown: an ingest
of the same documents afterwards finds nearly all of the graph there, embeds, and shows each document at once. So what a
document is, who may write it, and when it is seen, is for the ingest to say, and a load that went wrong costs its time only.

What is under way stands in a folder. A part of the files goes with its documents: whoever was killed goes on after the last
part that lies in S3.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lexigraph.inference.protocols import LanguageModel
from lexigraph.ingestion import marks, versions
from lexigraph.ingestion.events import Failure, IngestReport
from lexigraph.ingestion.load import FileItem, Rejected, scan
from lexigraph.ingestion.models import CachedModels
from lexigraph.ingestion.roots import not_own
from lexigraph.ingestion.run import Loaded, Run, in_groups, read
from lexigraph.model.batches import batched
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.aws import AwsClient, bucket_place
from lexigraph.storage.common.no_cache import NoCache
from lexigraph.storage.neptune.load_files import FILE_BYTES, GraphFiles
from lexigraph.storage.neptune.loader import LoadStatus, NeptuneLoader
from lexigraph.storage.protocols import Stores

PART_BYTES = 256_000_000  # of text, of all files that are closed together
_STATE = "load.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS done (source TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fact (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_FACTS_AT_ONCE = 500


@dataclass(slots=True)
class Progress:
    """How far a load is. ``stage``: ``writing`` the files, ``written``, ``loading`` them, ``loaded``.

    ``source`` is where the files lie in S3: ``files`` of ``rows`` lines, ``bytes`` before they were compressed.
    ``load_ids`` are Neptune's jobs, one after the other; ``anew`` has the next ones load all again. ``failures`` are
    documents that could not be read.
    """

    tenant: str
    namespace: str
    connection: str
    source: str
    extractor: str
    stage: str = "writing"
    documents: int = 0
    statements: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0
    parts: int = 0
    load_ids: list[str] = field(default_factory=list)
    anew: bool = False
    failures: list[Failure] = field(default_factory=list)


class BulkLoad:
    """A load in a folder of its own, which is made, or gone on with."""

    def __init__(self, folder: Path, connection: str, tenant: str, namespace: str, extractor: str) -> None:
        """``connection`` is ``s3://BUCKET/PREFIX?region=REGION``. Raise ``InvalidInput`` for a folder of another load."""
        self._place = bucket_place(connection)
        if not self._place.region:
            raise InvalidInput("--to: add ?region=REGION, the region of the bucket and the cluster")
        self._s3 = AwsClient("s3", self._place)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder, self._state = folder, sqlite3.connect(folder / _STATE)
        self._state.executescript(_SCHEMA)
        if found := _read(self._state):
            self.progress = found
        else:
            below = "/".join(filter(None, (self._place.path, f"graph-{secrets.token_hex(6)}")))
            self.progress = Progress(tenant, namespace, connection, f"s3://{self._place.name}/{below}/", extractor)
            self._save()
        p = self.progress
        if (p.tenant, p.namespace, p.connection, p.extractor) != (tenant, namespace, connection, extractor):
            raise InvalidInput(
                f"{folder} contains a load with other documents, another target or another extractor: use another folder"
            )
        self._prefix = p.source.removeprefix(f"s3://{self._place.name}/").rstrip("/")

    def close(self) -> None:
        """Close the connections."""
        self._s3.close()
        self._state.close()

    # ------------------------------------------------------------ the files

    def write(
        self,
        paths: Sequence[Path | FileItem],
        stores: Stores,
        models: CachedModels,
        llm: LanguageModel | None,
        settings: Settings,
        *,
        on_part: Callable[[Progress], None] = lambda _: None,
        part_bytes: int = PART_BYTES,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        """Put into S3 what new and changed documents contribute, part by part; of the stores registry and cache are read.

        Raise ``InvalidInput`` where nothing is cached: the ingest would extract all again, and find other chunks.
        """
        if isinstance(stores.cache, NoCache):
            raise InvalidInput("a bulk load needs a cache for extractions: LEXIGRAPH_CACHE must not be 'none'")
        if self.progress.stage != "writing":
            return
        owner, failures = Tenant(self.progress.tenant), list[Failure]()
        of_run = stores, models, llm, settings, owner, self.progress.namespace, IngestReport(), lambda _: None
        work = Run(*of_run, fresh=False, again=False)
        documents = (work.loaded(d) for d in self._documents(paths, work, failures))
        groups = in_groups(documents, settings.batch_documents, lambda one: len(one[0].text))
        part, taken = self._part(file_bytes), set[str]()
        for group in groups:
            for plans in self._plans(work, [one for one in group if one[1].id not in taken]):
                for p in plans:
                    part.add(owner, p.source, p.placements, p.graphs)
                    self.progress.statements += sum(len(g.statements) for g in p.graphs)
            taken |= {source.id for _, source, _ in group}
            if part.bytes >= part_bytes:
                self._keep(part, taken)
                on_part(self.progress)
                part, taken = self._part(file_bytes), set()
        self.progress.failures = failures
        self.progress.stage = "written"
        self._keep(part, taken)
        on_part(self.progress)

    def _documents(self, paths: Sequence[Path | FileItem], work: Run, failures: list[Failure]) -> Iterator[Any]:
        def reject(found: Rejected) -> None:
            failures.append(Failure(found.path, found.reason))

        where = work.settings, work.stores.registry, work.tenant, work.namespace
        for path in paths:
            for item in [path] if isinstance(path, FileItem) else scan([path], shut=not_own(work.settings)):
                if isinstance(item, Rejected):
                    reject(item)
                else:
                    yield from read(item, *where, {}, reject)

    def _plans(self, work: Run, group: Sequence[Loaded]) -> Iterator[list[versions.Plan]]:
        """Yield the next versions of documents, as the registry knows them, with what their new chunks contribute.

        The graph is not asked: it may be out of reach here, and what is wrong the ingest puts right.
        """
        ids = list(dict.fromkeys(source.id for _, source, _ in group))
        known = work.stores.registry.records(work.tenant, ids)
        plans: list[versions.Plan] = []
        for one in {one[1].id: one for one in reversed(group)}.values():
            record = known.get(one[1].id)
            ready = record if record and record.state == "READY" else None
            if self._is_done(one[1].id) or (ready and marks.covers(ready.fingerprint, one[2])):
                continue
            live = frozenset(ready.intended if ready else ())
            plans.append(work.planned(one, record, record.version + 1 if record else 1, live, work.known_yields(record)))
        self.progress.documents += len(plans)
        for _ in versions.in_parts(plans) if plans else ():
            work.extract(plans, {})
            yield plans

    def _is_done(self, source_id: str) -> bool:
        return self._state.execute("SELECT 1 FROM done WHERE source = ?", (source_id,)).fetchone() is not None

    def _part(self, file_bytes: int) -> GraphFiles:
        """Begin a part in an empty folder: what a killed process left there is not in S3 as a whole."""
        at = self._folder / "part"
        at.mkdir(exist_ok=True, mode=0o700)
        for left in at.glob("*/*"):
            left.unlink()
        return GraphFiles(at, self.progress.parts, self._elsewhere, file_bytes)

    def _elsewhere(self, facts: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for some in batched(facts, _FACTS_AT_ONCE):
            marks_ = ",".join("?" * len(some))
            found |= {row[0] for row in self._state.execute(f"SELECT id FROM fact WHERE id IN ({marks_})", some)}  # noqa: S608
        return found

    def _keep(self, part: GraphFiles, taken: Iterable[str]) -> None:
        """Put a part into S3, and then note it with its documents."""
        for path in part.close():
            key = f"{self._prefix}/{path.relative_to(part.folder).as_posix()}"
            self._s3.call("put_object", Bucket=self._place.name, Key=key, Body=path.read_bytes())
            path.unlink()
        p = self.progress
        p.files, p.rows, p.bytes, p.parts = p.files + len(part.paths), p.rows + part.rows, p.bytes + part.bytes, p.parts + 1
        with self._state:
            self._state.executemany("INSERT OR IGNORE INTO done VALUES (?)", [(i,) for i in taken])
            self._state.executemany("INSERT OR IGNORE INTO fact VALUES (?)", [(i,) for i in sorted(part.facts)])
            self._put()

    # ------------------------------------------------------------ the loader

    def start(self, loader: NeptuneLoader, role: str, *, parallelism: str = "MEDIUM") -> None:
        """Start the loader over the files, unless it works on them; where there are none all is loaded."""
        p = self.progress
        if p.stage == "written" and not p.rows:
            p.stage = "loaded"
        elif p.stage == "written":
            p.load_ids = loader.start_all(p.source, role, self._place.region, parallelism=parallelism, anew=p.anew)
            p.stage = "loading"
        self._save()

    def look(self, loader: NeptuneLoader) -> LoadStatus:
        """Return how far the loader is. Raise ``StoreUnavailable`` when it failed: another :meth:`start` goes on."""
        p = self.progress
        status = loader.status_of(p.load_ids)
        if status.loaded:
            p.stage = "loaded"
        elif status.over:
            p.stage, p.anew = "written", status.detached > 0
        self._save()
        if status.over and not status.loaded:
            raise StoreUnavailable(status.why())
        return status

    def _save(self) -> None:
        with self._state:
            self._put()

    def _put(self) -> None:
        self._state.execute("INSERT OR REPLACE INTO state VALUES (1, ?)", (json.dumps(asdict(self.progress)),))


def progress_of(folder: Path) -> Progress | None:
    """Return how far the load in a folder is, None when there is none."""
    if not (folder / _STATE).exists():
        return None
    with closing(sqlite3.connect(f"file:{folder / _STATE}?mode=ro", uri=True)) as state:
        return _read(state)


def _read(state: sqlite3.Connection) -> Progress | None:
    for (value,) in state.execute("SELECT value FROM state"):
        raw = json.loads(value)
        return Progress(**{**raw, "failures": [Failure(**f) for f in raw["failures"]]})
    return None
