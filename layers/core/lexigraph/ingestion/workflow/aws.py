"""Where files wait to be ingested on AWS, and the state machine that takes them in: adapters of S3 and Step Functions.

A file lies at ``PREFIX/TENANT/NAMESPACE/NAME`` in the bucket of the inbox, wherever it comes from; NAME may have slashes.
The bucket keeps versions, and tells of every change; who takes in reads the version that it was told of.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.model.errors import Conflict, InvalidInput, NotFound
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.aws import AwsClient, Place, Refused, bucket_place

JOB = "lexigraph-job"  # metadata of an object that a job waits for
_MISSING = ("404", "NoSuchKey", "NoSuchVersion", "NotFound")
_LONGEST_KEY = 1_024
OFFERED_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Object:
    """A version of an object in the inbox; without versions ``version_id`` is empty. ``job_id`` is the one that waits.

    ``size`` is in bytes, as far as it is known.
    """

    bucket: str
    key: str
    version_id: str = ""
    job_id: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Located:
    """What a key says of the file that lies there."""

    tenant: Tenant
    namespace: str
    name: str
    uri: str


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a client may put a file itself: an address that is good for some minutes, and the headers to send."""

    url: str
    headers: dict[str, str]
    seconds: int = OFFERED_SECONDS


def fetched(client: AwsClient, bucket: str, key: str, path: Path, *, version_id: str = "", most: int = 0) -> bool:
    """Read an object into a file; False when there is none. Raise ``InvalidInput`` for more bytes than ``most``."""
    which: dict[str, Any] = {"VersionId": version_id} if version_id else {}

    def read() -> None:  # a body that breaks off is asked for again, from its beginning
        told = client.call("get_object", Bucket=bucket, Key=key, **which)
        if most and told["ContentLength"] > most:
            raise InvalidInput(f"has {told['ContentLength']:,} bytes, the limit is {most:,} (max_file_bytes): split it")
        with path.open("wb") as written:
            for piece in told["Body"].iter_chunks(1 << 20):
                written.write(piece)

    try:
        client.retry(read)
    except Refused as error:
        if error.code in _MISSING:
            return False
        raise
    return True


class Inbox:
    """The bucket of ``s3://BUCKET[/PREFIX][?region=REGION&endpoint=URL]``."""

    def __init__(self, connection: str) -> None:
        """Raise ``Misconfigured`` for a connection that cannot be used; the bucket is first asked when used."""
        self.place = bucket_place(connection)
        self._prefix = f"{self.place.path}/" if self.place.path else ""
        self._client = AwsClient("s3", self.place)

    def key(self, tenant: Tenant, namespace: str, name: str) -> str:
        """Return where a file belongs. Raise ``InvalidInput`` for names that are too long together."""
        folder = quote(namespace, safe="")
        if not folder.strip("."):  # as a part of an address it would lead out of the tenant's folder
            folder = folder.replace(".", "%2E")
        key = f"{self._prefix}{tenant}/{folder}/{name}"
        if len(key.encode()) > _LONGEST_KEY:
            raise InvalidInput(
                f"namespace and file name must have at most {_LONGEST_KEY:,} bytes together: use shorter names"
            )
        return key

    def located(self, bucket: str, key: str) -> Located:
        """Return what lies at a key. Raise ``InvalidInput`` for one that is no file of a tenant's namespace."""
        parts = key.removeprefix(self._prefix).split("/", 2)
        if bucket != self.place.name or not key.startswith(self._prefix) or len(parts) < 3 or not all(parts):
            raise InvalidInput("key must have the form TENANT/NAMESPACE/NAME")
        return Located(Tenant(parts[0]), unquote(parts[1]), parts[2].rpartition("/")[2], f"s3://{bucket}/{quote(key)}")

    def key_of(self, uri: str) -> str:
        """Return the key of a file by its uri; empty for what is no whole file of the inbox."""
        start = f"s3://{self.place.name}/"
        return unquote(uri.removeprefix(start)) if uri.startswith(start) and "#" not in uri else ""

    def found(self, key: str, version_id: str = "") -> Object | None:
        """Return an object, in its newest version or the one given; None when it is not there."""
        which: dict[str, Any] = {"VersionId": version_id} if version_id else {}
        try:
            told = self._client.call("head_object", Bucket=self.place.name, Key=key, **which)
        except Refused as error:
            if error.code in _MISSING:
                return None
            raise
        waits = told.get("Metadata", {}).get(JOB, "")
        return Object(self.place.name, key, told.get("VersionId", version_id) or "", waits, told.get("ContentLength", 0))

    def fetch(self, found: Object, path: Path, *, most: int = 0) -> None:
        """Read a version into a file. Raise ``NotFound`` when it is gone, ``InvalidInput`` for more bytes than ``most``."""
        if not fetched(self._client, found.bucket, found.key, path, version_id=found.version_id, most=most):
            raise NotFound("the object no longer exists: upload it to the inbox again")

    def put(self, key: str, file: BinaryIO, job_id: str) -> None:
        """Write a file that a job waits for."""
        self._client.call("put_object", Bucket=self.place.name, Key=key, Body=file, Metadata={JOB: job_id})

    def offer(self, key: str, job_id: str) -> Offer:
        """Return where a client may put a file, however large, that a job waits for."""
        asked = {"Bucket": self.place.name, "Key": key, "Metadata": {JOB: job_id}}
        url = self._client.call("generate_presigned_url", ClientMethod="put_object", Params=asked, ExpiresIn=OFFERED_SECONDS)
        return Offer(str(url), {f"x-amz-meta-{JOB}": job_id})

    def delete(self, key: str) -> None:
        """Delete a file; in a bucket with versions it is hidden."""
        self._client.call("delete_object", Bucket=self.place.name, Key=key)


class Workflow:
    """The state machine of an ARN."""

    def __init__(self, arn: str, *, endpoint: str = "") -> None:
        """Nothing is asked yet. ``endpoint`` is for a stand-in on this machine."""
        region = arn.split(":")[3] if arn.count(":") >= 6 else ""
        self._arn = arn
        self._client = AwsClient("stepfunctions", Place("states", arn.rpartition(":")[2], "", region, endpoint))

    def ingest(self, run: FileRun, found: Object) -> None:
        """Start bringing a file in. Started before, it is not started again."""
        where = {"bucket": found.bucket, "key": found.key, "version_id": found.version_id}
        self._start(run.job_id, {"action": "ingest", "run": asdict(run), "object": where})

    def remove(self, run: FileRun) -> None:
        """Start taking out what came out of a file that is gone."""
        self._start(run.job_id, {"action": "remove", "run": asdict(run)})

    def remove_documents(self, tenant: Tenant, job_id: str, source_ids: list[str]) -> None:
        """Start taking documents out."""
        removal = {"tenant": str(tenant), "job_id": job_id, "source_ids": source_ids}
        self._start(job_id, {"action": "remove", "removal": removal})

    def relate(self, tenant: Tenant, job_id: str, source_id: str, what: dict[str, Any]) -> None:
        """Start relating the new chunks of a document to others; ``what`` are the fields of ``NewChunks``."""
        relation = {"tenant": str(tenant), "job_id": job_id, "source_id": source_id, "what": what}
        self._start(job_id, {"action": "relate", "relation": relation})

    def _start(self, name: str, asked: dict[str, Any]) -> None:
        try:
            self._client.call("start_execution", stateMachineArn=self._arn, name=name, input=json.dumps(asked))
        except Refused as error:
            if error.code == "ExecutionLimitExceeded":
                raise Conflict("too many ingests are running in this account; try again later") from None
            if error.code != "ExecutionAlreadyExists":
                raise
