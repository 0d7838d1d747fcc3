"""Neptune's bulk loader: starting a job over files in S3, and looking how far it is.

A job takes what lies below a place in S3. Of one place one job is active at a time: who lost the answer to a start finds the
job among the active ones. A job that failed is driven on by another start, which loads the files that are left (mode AUTO);
all of them, where relationships did not find their nodes, which somebody may have deleted meanwhile (``anew``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lexigraph.aws import code_of, config, credentials_remedy, not_reached
from lexigraph.model.errors import LexigraphError, Misconfigured, NotFound, StoreUnavailable
from lexigraph.retry import Retry, kind_of
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import CONNECT_SECONDS, PASSING, READ_SECONDS, RETRY, signing_session
from lexigraph.storage.neptune.load_files import FOLDERS

_LOADED = "LOAD_COMPLETED"
_ACTIVE = {"LOAD_IN_QUEUE", "LOAD_NOT_STARTED", "LOAD_IN_PROGRESS"}
_MOST_ACTIVE = 64  # that Neptune queues
_ERRORS = 5  # that are told of a job
_REMEDIES = {
    "AccessDeniedException": "allow whoever asks neptune-db:StartLoaderJob, GetLoaderJobStatus and ListLoaderJobs on it",
    "BulkLoadIdNotFoundException": "Neptune keeps the last 1,024 jobs; start it again",
    "InvalidParameterException": "the role must be attached to the cluster, and the bucket be in the cluster's region",
    "LoadUrlAccessDeniedException": "let the role read and list that place, and decrypt with its key; "
    "the VPC needs a gateway endpoint of S3",
    "LOAD_S3_ACCESS_DENIED_ERROR": "let the role read and list that place, and decrypt with its key",
    "LOAD_S3_READ_ERROR": "the VPC needs a gateway endpoint of S3; run it again",
    "LOAD_DATA_DEADLOCK": "run it again with less parallelism",
    "LOAD_COMMITTED_W_WRITE_CONFLICTS": "run it again",
}


@dataclass(frozen=True, slots=True)
class LoadStatus:
    """How far a job is: ``status`` as Neptune calls it, ``records`` so far.

    ``errors`` are the first few, each a line; ``detached`` counts relationships that could not be inserted.
    """

    id: str
    status: str
    source: str = ""
    records: int = 0
    detached: int = 0
    errors: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status not in _ACTIVE

    @property
    def loaded(self) -> bool:
        """Whether all of it is in the graph."""
        return self.status == _LOADED

    def why(self) -> str:
        """Return what went wrong, with what to do."""
        remedy = _REMEDIES.get(self.status, "")
        return "; ".join([f"neptune: load {self.id}: {self.status}", *self.errors, *([remedy] if remedy else [])])


class NeptuneLoader:
    """The loader of the cluster of a ``neptune-db`` connection. Errors are those of ``NeptuneClient``."""

    def __init__(self, connection: str, *, retry: Retry = RETRY) -> None:
        """Raise ``Misconfigured`` for a connection of another kind; the cluster is asked when used."""
        if not connection.startswith("neptune-db:"):
            raise Misconfigured("bulk loading needs Neptune: set LEXIGRAPH_GRAPH_STORE to neptune-db://HOST")
        self._address, self._retry = NeptuneAddress.parse(connection), retry
        self._client: Any = None

    def start(
        self,
        source: str,
        role: str,
        region: str,
        *,
        parallelism: str = "MEDIUM",
        anew: bool = False,
        after: Sequence[str] = (),
    ) -> str:
        """Start loading all files below ``s3://BUCKET/PREFIX/``; return the id of the job, of one under way if there is.

        It waits in the queue for the jobs ``after`` which it goes, and fails when one of them does.
        """

        def begin() -> str:
            for status in self._active():
                if status.source == source and not status.over:
                    return status.id
            started = self._made().start_loader_job(
                source=source,
                format="opencypher",
                s3BucketRegion=region,
                iamRoleArn=role,
                mode="NEW" if anew else "AUTO",
                failOnError=True,
                parallelism=parallelism,
                queueRequest=True,
                userProvidedEdgeIds=True,
                **({"dependencies": list(after)} if after else {}),
            )
            return str(started["payload"]["loadId"])

        found: str = self._call(begin)
        return found

    def start_all(self, place: str, role: str, region: str, *, parallelism: str = "MEDIUM", anew: bool = False) -> list[str]:
        """Start loading a place's folders, one after the other: :data:`~lexigraph.storage.neptune.load_files.FOLDERS`."""
        ids: list[str] = []
        for folder in FOLDERS:
            ids.append(self.start(f"{place}{folder}/", role, region, parallelism=parallelism, anew=anew, after=ids[-1:]))
        return ids

    def status_of(self, load_ids: Sequence[str]) -> LoadStatus:
        """Return how far jobs are that go one after the other: the status of the first that has not loaded all."""
        for load_id in load_ids:
            found = self.status(load_id)
            if not found.loaded:
                break
        return found

    def status(self, load_id: str) -> LoadStatus:
        """Return how far a job is. Raise ``NotFound`` when Neptune knows it no more."""
        found: LoadStatus = self._call(lambda: self._status(load_id, errors=True))
        return found

    def _active(self) -> list[LoadStatus]:
        ids = self._made().list_loader_jobs(limit=_MOST_ACTIVE, includeQueuedLoads=True)["payload"]["loadIds"]
        return [self._status(load_id) for load_id in ids]

    def _status(self, load_id: str, *, errors: bool = False) -> LoadStatus:
        asked = {"details": True, "errors": True, "page": 1, "errorsPerPage": _ERRORS} if errors else {}
        payload = self._made().get_loader_job_status(loadId=load_id, **asked)["payload"]
        told = payload["overallStatus"]
        logs = payload.get("errors", {}).get("errorLogs", ())
        return LoadStatus(
            load_id,
            str(told["status"]),
            str(told.get("fullUri", "")),
            int(told.get("totalRecords", 0)),
            int(told.get("insertErrors", 0)),
            # not its message, which may quote a line of a document
            tuple(f"{one['errorCode']} in {one['fileName'].rpartition('/')[2]}:{one.get('recordNum', 0)}" for one in logs),
        )

    def _call(self, action: Any) -> Any:
        try:
            return self._retry.call(action, _wait, "neptune loader")
        except LexigraphError:
            raise
        except Exception as error:
            code = code_of(error)
            remedy = _REMEDIES.get(code) or credentials_remedy(error)
            told = f"neptune loader: {code or kind_of(error)}" + (f"; {remedy}" if remedy else "")
            if code == "BulkLoadIdNotFoundException":
                raise NotFound(told) from error
            if not code and not remedy:
                told += "; it is reached from inside the VPC only"
            raise StoreUnavailable(told) from error

    def _made(self) -> Any:
        if self._client is None:
            settings = config(CONNECT_SECONDS, READ_SECONDS)
            made = signing_session(self._address.region)
            self._client = made.client("neptunedata", config=settings, endpoint_url=self._address.endpoint)
        return self._client


def _wait(error: Exception) -> float | None:
    return 0.0 if code_of(error) in PASSING or (not code_of(error) and not_reached(error)) else None
