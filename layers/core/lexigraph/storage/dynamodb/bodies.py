"""Records of any size: a head that transactions change, and a body that is in it or, when long, in parts beside it.

An item may have 400 KB. A document of 20,000 chunks has a body of about 2 MB, which no transaction of several documents
would take either. So parts are written first, under a stamp that nobody knows yet; the transaction that puts the head shows
them; then those of the head before it go. What an interrupted save left goes with the next one that has parts, or with the
record.
"""

import secrets
import time
from collections.abc import Iterable

from lexigraph.model.errors import StoreUnavailable
from lexigraph.storage.dynamodb.items import Item, Key, Table

HEAD = "head"
INLINE_BYTES = 16_000  # what a look at a head costs: 4 KB are a unit of reading
PART_BYTES = 350_000
_PART, _AFTER_PARTS = "part#", "part#~"
_UNFINISHED_SECONDS = 3_600
_TRIES = 5


def stamp() -> str:
    """Return a name for one version of a record: when it was made, and chance."""
    return f"{time.time_ns() // 1_000_000:014d}-{secrets.token_hex(8)}"


def with_body(head: Item, data: bytes) -> tuple[Item, list[Item]]:
    """Return a head that has or names its body, and the parts to be written before it. The head has a ``stamp``."""
    if len(data) <= INLINE_BYTES:
        return {**head, "parts": 0, "body": data}, []
    pieces = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
    parts: list[Item] = [{"pk": head["pk"], "sk": _part(head["stamp"], n), "body": piece} for n, piece in enumerate(pieces)]
    return {**head, "parts": len(parts)}, parts


def read_whole(table: Table, keys: Iterable[Key]) -> dict[Key, tuple[Item, bytes]]:
    """Return heads and bodies of the records that exist. A record replaced while it is read is read again."""
    left, found = list(keys), {}
    for _ in range(_TRIES):
        heads = table.get_many(left)
        named = {key: [(key[0], _part(head["stamp"], n)) for n in range(head["parts"])] for key, head in heads.items()}
        parts = table.get_many(part for parts in named.values() for part in parts)
        left = []
        for key, head in heads.items():
            if any(part not in parts for part in named[key]):
                left.append(key)
            else:
                found[key] = head, head.get("body", b"") + b"".join(parts[part]["body"] for part in named[key])
        if not left:
            return found
    raise StoreUnavailable(f"dynamodb://{table.place.name}: {len(left)} records change faster than they can be read")


def sweep(table: Table, pk: str, old: str = "", *, everything: bool = False) -> None:
    """Delete the parts of the version ``old``, and those of versions that were never shown; or all."""
    before = f"{_PART}{time.time_ns() // 1_000_000 - _UNFINISHED_SECONDS * 1_000:014d}"
    head = None if everything else table.get((pk, HEAD))
    shown = _part(head["stamp"]) if head else _AFTER_PARTS
    gone = [
        (pk, item["sk"])
        for item in table.query(pk, _PART, _AFTER_PARTS, names=("sk",))
        if everything
        or (not item["sk"].startswith(shown) and (item["sk"] < before or (old and item["sk"].startswith(_part(old)))))
    ]
    table.write_many(delete=gone)


def _part(of: str, n: int | None = None) -> str:
    return f"{_PART}{of}#" + ("" if n is None else f"{n:05d}")
