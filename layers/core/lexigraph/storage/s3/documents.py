"""Documents in a bucket of S3: ``PREFIX/<tenant>/<source hex>/<name>``, the name percent-encoded.

S3 shows a put, whole, to every read that begins after it. Encryption, access and versions are the bucket's: no request says
anything of them, so a bucket that encrypts with a key of its own, or keeps old versions, does. In a bucket with versions a
delete hides; a lifecycle rule has to take old versions away.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote

from lexigraph.model.batches import batched
from lexigraph.model.errors import NotFound, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.aws import AwsClient, Refused, bucket_place
from lexigraph.storage.common.document_names import checked_name, is_source_id, source_digits

_DELETED_AT_ONCE = 1_000


class S3DocumentStore:
    """A :class:`~lexigraph.storage.protocols.DocumentStore` in ``s3://BUCKET/PREFIX[?region=REGION&endpoint=URL]``.

    PREFIX may be empty. Names as in the store of plain files. Safe between threads, processes and forked children.
    """

    def __init__(self, connection: str) -> None:
        """Raise ``Misconfigured`` for a connection that cannot be used; the bucket is first asked when used."""
        self.place = bucket_place(connection)
        self._client = AwsClient("s3", self.place)

    def put(self, tenant: Tenant, source_id: str, name: str, data: bytes) -> None:
        bucket, key = self.address(tenant, source_id, name)
        self._client.call("put_object", Bucket=bucket, Key=key, Body=data)

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        bucket, key = self.address(tenant, source_id, name)

        def read() -> bytes:  # a body that breaks off is asked for again, from its beginning
            whole: bytes = self._client.call("get_object", Bucket=bucket, Key=key)["Body"].read()
            return whole

        try:
            return self._client.retry(read)
        except Refused as error:
            if error.code in ("NoSuchKey", "404"):
                raise NotFound(f"{source_id} has no file {name!r}") from None
            raise

    def names(self, tenant: Tenant, source_id: str) -> list[str]:
        folder = self._folder(tenant, source_id)
        return sorted(unquote(key.removeprefix(folder)) for key in self._keys(folder))

    def delete(self, tenant: Tenant, source_id: str, *, keep: Sequence[str] = ()) -> None:
        folder = self._folder(tenant, source_id)
        kept = {folder + quote(name, safe="", errors="replace") for name in keep}
        gone = [key for key in self._keys(folder) if key not in kept]
        for some in batched(gone, _DELETED_AT_ONCE):
            self._delete(some)

    def sources(self, tenant: Tenant, *, after: str = "", limit: int | None = None) -> list[str]:
        top = self._top(tenant)
        # after all that lies in the folder of the last one: what follows a slash
        begin = {"StartAfter": f"{top}{source_digits(after)}0"} if after else {}
        found = (
            f"source:{common['Prefix'].removeprefix(top).rstrip('/')}"
            for page in self._pages(top, Delimiter="/", **begin)
            for common in page.get("CommonPrefixes", ())
        )
        return list(islice(filter(is_source_id, found), limit))

    def tenants(self) -> list[Tenant]:
        top = f"{self.place.path}/" if self.place.path else ""
        found = (common["Prefix"] for page in self._pages(top, Delimiter="/") for common in page.get("CommonPrefixes", ()))
        return sorted(Tenant(prefix.removeprefix(top).rstrip("/")) for prefix in found)

    def address(self, tenant: Tenant, source_id: str, name: str) -> tuple[str, str]:
        """Return bucket and key of a file, for what reads it there itself."""
        return self.place.name, self._folder(tenant, source_id) + quote(checked_name(name), safe="")

    def _delete(self, keys: Sequence[str]) -> None:
        asked = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        failed = self._client.call("delete_objects", Bucket=self.place.name, Delete=asked).get("Errors", ())
        for error in failed:  # inside a reply that says 200
            self._client.call("delete_object", Bucket=self.place.name, Key=str(error["Key"]))

    def _keys(self, folder: str) -> Iterator[str]:
        for page in self._pages(folder):
            yield from (item["Key"] for item in page.get("Contents", ()))

    def _pages(self, prefix: str, **options: str) -> Iterator[dict[str, Any]]:
        request: dict[str, Any] = {"Bucket": self.place.name, "Prefix": prefix, **options}
        while True:
            page = self._client.call("list_objects_v2", **request)
            yield page
            if not page.get("IsTruncated"):
                return
            if request.get("ContinuationToken") == page["NextContinuationToken"]:
                raise StoreUnavailable(f"s3://{self.place.name}: a listing was cut short; try again")
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _top(self, tenant: Tenant) -> str:
        return f"{self.place.path}{'/' if self.place.path else ''}{Tenant(tenant)}/"

    def _folder(self, tenant: Tenant, source_id: str) -> str:
        return f"{self._top(tenant)}{source_digits(source_id)}/"
