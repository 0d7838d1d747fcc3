"""Items of a DynamoDB table: texts, numbers and bytes by (pk, sk); batches completed, transactions tried again.

Reads are strong unless said otherwise. What is asked in several batches is asked by several threads.
"""

import json
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import Any, TypeVar

from lexigraph.model.batches import batched, packed
from lexigraph.model.errors import InvalidInput, StoreUnavailable
from lexigraph.retry import Tries
from lexigraph.storage.common.aws import AwsClient, Refused, parse_place
from lexigraph.storage.common.records import as_json

Key = tuple[str, str]
Value = str | int | float | bytes
Item = dict[str, Any]
T = TypeVar("T")
U = TypeVar("U")

TRANSACTION_ITEMS = 100
_GET_ITEMS, _WRITE_ITEMS = 100, 25
_WRITE_BYTES = 4_000_000  # DynamoDB takes 16 MB; less is repeated when a reply is lost
_THREADS = 8
_MICROSECONDS = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_FAILED = "ConditionalCheckFailed"


class Outdated(Exception):
    """A condition did not hold: callers read again. ``failed`` are the places of its items in a transaction.

    ``item`` is what was there instead, where the service tells: when one item was to be put.
    """

    def __init__(self, failed: Sequence[int] = (0,), item: Item | None = None) -> None:
        super().__init__("a condition did not hold")
        self.failed, self.item = frozenset(failed), item or {}


class Table:
    """The table of ``dynamodb://TABLE[?region=REGION&endpoint=URL]``; it must exist."""

    def __init__(self, connection: str) -> None:
        """Raise ``Misconfigured`` for a connection that cannot be used. Nothing is asked yet."""
        self.place = parse_place(connection, "dynamodb://TABLE", _NAME)
        self._client = AwsClient("dynamodb", self.place)

    def get(self, key: Key) -> Item | None:
        """Return an item."""
        found = self._client.call("get_item", TableName=self.place.name, Key=_key(key), ConsistentRead=True)
        return _plain(found["Item"]) if "Item" in found else None

    def get_many(self, keys: Iterable[Key], names: Sequence[str] = (), *, strong: bool = True) -> dict[Key, Item]:
        """Return the items that exist; of them only the attributes named, when ``names`` are given."""
        unique = list(dict.fromkeys(keys))
        wanted: dict[str, Any] = {"ConsistentRead": strong}
        if names:
            wanted |= _only(("pk", "sk", *names))

        def get(batch: Sequence[Key]) -> list[Item]:
            found: list[Item] = []

            def get_some(left: Sequence[Any]) -> list[Any]:
                asked = {self.place.name: {"Keys": left, **wanted}}
                reply = self._client.call("batch_get_item", RequestItems=asked)
                found.extend(_plain(item) for item in reply["Responses"].get(self.place.name, ()))
                return list(reply.get("UnprocessedKeys", {}).get(self.place.name, {}).get("Keys", ()))

            self._until_none_is_left(get_some, [_key(key) for key in batch])
            return found

        return {(i["pk"], i["sk"]): i for items in in_parallel(get, batched(unique, _GET_ITEMS)) for i in items}

    def query(
        self, pk: str, low: str = "", high: str = "", *, names: Sequence[str] = (), limit: int = 0, newest: bool = False
    ) -> Iterator[Item]:
        """Yield the items of a partition in order of sk (``newest``: backwards), from ``low`` up to ``high``, inclusive.

        ``limit`` is the number looked at in one request (0: as much as fits); the caller stops when it has enough.
        """
        request: dict[str, Any] = {
            "TableName": self.place.name,
            "ConsistentRead": True,
            "ScanIndexForward": not newest,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": _typed(pk)},
        }
        bounds = {":low": low, ":high": high}
        request["ExpressionAttributeValues"] |= {name: _typed(bound) for name, bound in bounds.items() if bound}
        if low and high:
            request["KeyConditionExpression"] += " AND sk BETWEEN :low AND :high"
        elif low or high:
            request["KeyConditionExpression"] += " AND sk >= :low" if low else " AND sk <= :high"
        if names:
            request |= _only(names)
        if limit:
            request["Limit"] = limit
        while True:
            page = self._client.call("query", **request)
            yield from (_plain(item) for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def write_many(self, put: Iterable[Item] = (), delete: Iterable[Key] = ()) -> None:
        """Put and delete, each item by itself: repeat the call when it fails. No key twice."""
        writes = [{"PutRequest": {"Item": _item(item)}} for item in put]
        writes += [{"DeleteRequest": {"Key": _key(key)}} for key in dict.fromkeys(delete)]

        def write_some(left: Sequence[Any]) -> list[Any]:
            reply = self._client.call("batch_write_item", RequestItems={self.place.name: left})
            return list(reply.get("UnprocessedItems", {}).get(self.place.name, ()))

        batches = packed(writes, _size, _WRITE_BYTES, _WRITE_ITEMS)
        in_parallel(lambda batch: self._until_none_is_left(write_some, batch), batches)

    def update(self, key: Key, expression: str, condition: str = "", **values: Value) -> Item:
        """Change one item and return it whole. Raise :class:`Outdated` when the condition does not hold."""
        request = update(key, expression, condition, **values)["Update"]
        reply = self._checked("update_item", TableName=self.place.name, ReturnValues="ALL_NEW", **request)
        return _plain(reply["Attributes"])

    def put(self, item: Item, condition: str, **values: Value) -> None:
        """Put one item. Raise :class:`Outdated` when the condition does not hold."""
        request = put(item, condition, **values)["Put"]
        self._checked("put_item", TableName=self.place.name, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request)

    def transact(self, actions: Sequence[Mapping[str, Any]]) -> None:
        """Carry out all actions (:func:`put`, :func:`update`, ...) or none; up to ``TRANSACTION_ITEMS``, 4 MB together.

        Raise :class:`Outdated` when a condition does not hold. A lost reply is asked for with the same token, which
        DynamoDB honours for ten minutes; callers can also tell their own work when they read again.
        """
        table, token = self.place.name, secrets.token_hex(16)
        items = [{kind: {"TableName": table, **what} for kind, what in action.items()} for action in actions]
        try:
            self._client.call("transact_write_items", TransactItems=items, ClientRequestToken=token)
        except Refused as error:
            reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", ())]
            if _FAILED in reasons:
                raise Outdated([n for n, code in enumerate(reasons) if code == _FAILED]) from None
            raise

    def tries(self) -> Tries:
        """Return the tries of who may lose a race, for as long as a request is tried."""
        return self._client.tries()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _checked(self, operation: str, **request: Any) -> dict[str, Any]:
        try:
            return self._client.call(operation, **request)
        except Refused as error:
            if error.code == "ConditionalCheckFailedException":
                raise Outdated(item=_plain(error.response.get("Item", {}))) from None
            raise

    def _until_none_is_left(self, some: Callable[[Sequence[Any]], list[Any]], batch: Sequence[Any]) -> None:
        """Let ``some`` work on a batch, and again on what it returns as unprocessed, as long as that goes on."""
        left, tries = batch, self.tries()
        while unprocessed := some(left):
            if len(unprocessed) < len(left):
                tries = self.tries()
            left = unprocessed
            if not tries.again():
                where = f"dynamodb://{self.place.name}"
                raise StoreUnavailable(f"{where}: leaves items of batches unprocessed; try again later")


def put(item: Item, condition: str = "", **values: Value) -> dict[str, Any]:
    """Return the action of a transaction that puts an item."""
    return {"Put": {"Item": _item(item), **_told(values, ConditionExpression=condition)}}


def update(key: Key, expression: str, condition: str = "", **values: Value) -> dict[str, Any]:
    """Return the action of a transaction that changes an item."""
    told = _told(values, UpdateExpression=expression, ConditionExpression=condition)
    return {"Update": {"Key": _key(key), **told}}


def delete(key: Key, condition: str = "", **values: Value) -> dict[str, Any]:
    """Return the action of a transaction that deletes an item, if it exists."""
    return {"Delete": {"Key": _key(key), **_told(values, ConditionExpression=condition)}}


def check(key: Key, condition: str, **values: Value) -> dict[str, Any]:
    """Return the action of a transaction that changes nothing and asks for a condition."""
    return {"ConditionCheck": {"Key": _key(key), **_told(values, ConditionExpression=condition)}}


def in_parallel(work: Callable[[T], U], parts: Iterable[T]) -> list[U]:
    """Do a piece of work for each part, by some threads when there are several parts; results in order."""
    todo = list(parts)
    if len(todo) < 2:
        return [work(part) for part in todo]
    with ThreadPoolExecutor(min(_THREADS, len(todo))) as pool:
        return list(pool.map(work, todo))


def moment(at: float) -> str:
    """Return a time, in seconds since the epoch, as a part of a key that sorts by it."""
    return f"{int(at * _MICROSECONDS):020d}"


def bounded(text: str, limit: int = 400) -> str:
    """Return a text as a part of a key: as it is, or a hash of it when it is longer than ``limit`` bytes (65 at least)."""
    raw = encoded(text)
    return text if len(raw) <= limit else "~" + blake2b(raw, digest_size=32).hexdigest()


def pack(value: Any, what: str) -> bytes:
    """Return a value as compressed JSON; errors as of :func:`as_json`."""
    return zlib.compress(as_json(value, what).encode("ascii"))


def unpack(data: bytes) -> Any:
    """Return what was packed."""
    return json.loads(zlib.decompress(data))


def encoded(text: str) -> bytes:
    """Return a text as UTF-8. Raise ``InvalidInput`` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput("the text contains a lone surrogate, which is not a valid character") from None


def _typed(value: Value) -> dict[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    return {"B": value} if isinstance(value, bytes) else {"N": repr(value)}


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _plain(item: Mapping[str, Mapping[str, Any]]) -> Item:
    return {name: _number(value) if kind == "N" else value for name, typed in item.items() for kind, value in typed.items()}


def _item(item: Mapping[str, Value]) -> dict[str, Any]:
    return {name: _typed(value) for name, value in item.items()}


def _key(key: Key) -> dict[str, Any]:
    return {"pk": _typed(key[0]), "sk": _typed(key[1])}


def _only(names: Iterable[str]) -> dict[str, Any]:
    known = {f"#{n}": name for n, name in enumerate(dict.fromkeys(names))}
    return {"ProjectionExpression": ",".join(known), "ExpressionAttributeNames": known}


def _told(values: Mapping[str, Value], **expressions: str) -> dict[str, Any]:
    """Return expressions over attributes ``#name`` and values ``:name``; both are found by their names."""
    told: dict[str, Any] = {name: expression for name, expression in expressions.items() if expression}
    if names := re.findall(r"#(\w+)", " ".join(told.values())):
        told["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
    if values:
        told["ExpressionAttributeValues"] = {f":{name}": _typed(value) for name, value in values.items()}
    return told


def _size(write: Item) -> int:
    return sum(len(v) for request in write.values() for i in request.values() for t in i.values() for v in t.values())
