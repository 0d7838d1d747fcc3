"""Which document holds which record, for collections that make document ids themselves (Classic vector collections).

Searching for a record's key is not enough: what was written is not found for up to a minute, and until then a second write
would make a second document, and a deletion none. So the ids are kept in DynamoDB, which is read as it was written.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from random import uniform
from typing import Any, NamedTuple, Protocol

from lexigraph.model.errors import Misconfigured, StoreUnavailable
from lexigraph.model.tenant import Tenant

_READ_AT_ONCE = 100
_WRITTEN_AT_ONCE = 25
_PATIENCE = 30.0
_SORT = "id"


class KnownId(NamedTuple):
    """The id that the service gave a document, and a hash of what was written there."""

    id: str
    content: str


class IdRegistry(Protocol):
    """Keeps the ids of documents by index, tenant and key. Reads see every write that was finished before."""

    def known(self, index: str, tenant: Tenant, keys: Sequence[str]) -> dict[str, KnownId]:
        """Return what is known of the keys."""

    def note(self, index: str, tenant: Tenant, ids: Mapping[str, KnownId]) -> None:
        """Add or replace. Not atomic: what fails half way is repeated."""

    def forget(self, index: str, tenant: Tenant, keys: Sequence[str]) -> None:
        """Remove; unknown keys are passed over."""


class DynamoIds:
    """The :class:`IdRegistry` in the table of the registry, or one with the same keys; collections may share it.

    An item a record, ``pk`` being ``t#TENANT#vector#COLLECTION#INDEX#KEY``: no partition gets hot.
    """

    def __init__(self, table: str, collection: str, region: str, *, client: Any = None) -> None:
        """``client``: a boto3 client of DynamoDB to use; by default one for the region."""
        try:
            import boto3  # type: ignore[import-untyped]  # boto3 carries no types
            import botocore.config
            import botocore.exceptions
        except ImportError as error:
            raise Misconfigured("the registry of ids needs the extra 'aws': pip install 'lexigraph[aws]'") from error
        retries = {"mode": "standard", "total_max_attempts": 5}
        config = botocore.config.Config(retries=retries, connect_timeout=5, read_timeout=10)
        self._table, self._collection = table, collection
        self._errors = (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError)
        self._client = client or boto3.client("dynamodb", region_name=region, config=config)

    def known(self, index: str, tenant: Tenant, keys: Sequence[str]) -> dict[str, KnownId]:
        """Return what is known of the keys, by strongly consistent reads."""
        names = {self._name(index, tenant, key): key for key in keys}
        found: dict[str, KnownId] = {}
        for batch in _batches(list(names), _READ_AT_ONCE):
            wanted = [{"pk": {"S": name}, "sk": {"S": _SORT}} for name in batch]
            asked: dict[str, Any] = {self._table: {"Keys": wanted, "ConsistentRead": True}}
            for answer in self._all("batch_get_item", "UnprocessedKeys", asked):
                for item in answer["Responses"].get(self._table, []):
                    found[names[item["pk"]["S"]]] = KnownId(item["id"]["S"], item["content"]["S"])
        return found

    def note(self, index: str, tenant: Tenant, ids: Mapping[str, KnownId]) -> None:
        """Add or replace."""
        items = [
            {"pk": {"S": self._name(index, tenant, key)}, "sk": {"S": _SORT}, "id": {"S": id_}, "content": {"S": content}}
            for key, (id_, content) in ids.items()
        ]
        self._write([{"PutRequest": {"Item": item}} for item in items])

    def forget(self, index: str, tenant: Tenant, keys: Sequence[str]) -> None:
        """Remove."""
        names = dict.fromkeys(self._name(index, tenant, key) for key in keys)
        self._write([{"DeleteRequest": {"Key": {"pk": {"S": name}, "sk": {"S": _SORT}}}} for name in names])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        for batch in _batches(requests, _WRITTEN_AT_ONCE):
            for _ in self._all("batch_write_item", "UnprocessedItems", {self._table: batch}):
                pass

    def _all(self, operation: str, rest: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the answers to a batch until nothing of it is left over."""
        deadline, pause = time.monotonic() + _PATIENCE, 0.05
        while asked:
            try:
                answer = getattr(self._client, operation)(RequestItems=asked)
            except self._errors as error:
                raise StoreUnavailable(f"DynamoDB table {self._table}: {operation}: {type(error).__name__}") from error
            yield answer
            asked = answer.get(rest) or {}
            if asked and time.monotonic() > deadline:
                raise StoreUnavailable(f"DynamoDB table {self._table}: {operation}: throttled for {_PATIENCE:.0f} s")
            if asked:
                time.sleep(uniform(0, pause))  # noqa: S311  # full jitter
                pause = min(2 * pause, 2.0)

    def _name(self, index: str, tenant: Tenant, key: str) -> str:
        return f"t#{tenant}#vector#{self._collection}#{index}#{key}"


def _batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
