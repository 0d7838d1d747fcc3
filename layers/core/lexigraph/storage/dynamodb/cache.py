"""The cache of model results in a DynamoDB table, beside the registry's items or in a table of its own of the same kind.

DynamoDB rather than S3: an entry is a vector of 1.5 to 6 KB or an extraction of some tens of KB, and a document asks for
some thousand of them at once. A hundred come in one request here; S3 takes a request each.

=============================  ====================  ==============================================================
pk                             sk                    what
=============================  ====================  ==============================================================
t#TENANT#entry#KIND KEY        data                  an entry
t#TENANT#entry#KIND KEY        use#OWNER             that an owner uses it
t#TENANT#entries#SHARD         KIND KEY              that there is an entry: what statistics count
t#TENANT#waiting#SHARD         TIME#KIND KEY         that an entry was put: it may be waiting for an owner
t#TENANT#owners#SHARD          OWNER                 what an owner uses
=============================  ====================  ==============================================================

:meth:`~DynamoDBContentCache.own` and :meth:`~DynamoDBContentCache.disown` touch more items than a transaction holds. They
go in an order that keeps entries too long rather than leaking them: an owner's item names all it used and will use before
anything else is written, and is shortened last. An interruption leaves owners with too many uses or with uses not noted yet;
repeating the call, or the owner's next, puts that right. Between the look whether an entry is used and its deletion another
may begin to use it: then it is gone, and made anew when it is next asked for.

A use of an entry that does not exist is noted; it counts when the entry is put later. Compressed entries of more than
380 KB are not kept: an item may have 400 KB, and no model's reply has so much.
"""

import math
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice

from lexigraph.model.tenant import Tenant
from lexigraph.storage.dynamodb.items import Item, Key, Table, bounded, in_parallel, moment, pack, unpack

UNOWNED_SECONDS = 7 * 24 * 3600
MAX_BYTES = 380_000
_COMPRESSED_FROM = 8_000  # vectors are smaller, and do not shrink
_SHARDS = 8  # a partition takes 1,000 writes a second
_USE, _AFTER_USES = "use#", "use#~"
_REMEMBERED = 10_000  # owners

Pair = tuple[str, str]


class DynamoDBContentCache:
    """A :class:`~lexigraph.storage.protocols.ContentCache` in the table of ``dynamodb://TABLE[?region=..&endpoint=..]``.

    Safe between threads, processes and forked children; may be shared by several databases.
    """

    def __init__(self, connection: str, *, unowned_seconds: float = UNOWNED_SECONDS) -> None:
        """Raise ``Misconfigured`` for a connection that cannot be used; the table is first asked when used.

        ``unowned_seconds``: how long an entry waits for its first owner.
        """
        self._unowned_seconds = unowned_seconds
        self._table = Table(connection)
        self._noted: dict[Key, set[Pair]] = {}  # uses that we wrote lately, by their owners

    def get_many(self, tenant: Tenant, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        wanted = {_entry_key(tenant, (kind, key)): key for key in keys}
        # an entry that was put a moment ago may be missed: it is cheaper to make it again than to read all twice as dear
        found = self._table.get_many(wanted, ("body", "packed"), strong=False)
        return {wanted[place]: _data(item) for place, item in found.items()}

    def put_many(self, tenant: Tenant, kind: str, entries: Mapping[str, bytes]) -> None:
        made = {key: _entry(tenant, (kind, key), data) for key, data in entries.items()}
        kept = {key: item for key, item in made.items() if len(item["body"]) <= MAX_BYTES}
        since = moment(time.time())
        told: list[Item] = []
        for key in kept:
            name, pair = _name((kind, key)), {"kind": kind, "key": key}
            told.append({"pk": _shard_pk(tenant, "waiting", name), "sk": f"{since}#{name}", **pair})
            told.append({"pk": _shard_pk(tenant, "entries", name), "sk": name, **pair})
        # first how an entry is found, then the entry: an interruption must not leave one that nobody finds
        self._table.write_many(told)
        self._table.write_many(kept.values(), self._places(tenant, [(kind, key) for key in made if key not in kept]))

    def own(self, tenant: Tenant, uses: Mapping[str, Iterable[Pair]]) -> None:
        if not uses:
            return
        wanted = {owner: set(pairs) for owner, pairs in uses.items()}
        before = self._owned(tenant, wanted)
        both = {owner: pairs | before.get(owner, set()) for owner, pairs in wanted.items()}
        self._table.write_many(_owner_item(tenant, owner, pairs) for owner, pairs in both.items() if pairs)
        # all of them: what an owner's item names may lack its use, where an earlier call was interrupted here
        all_uses = [_use(tenant, pair, owner) for owner, pairs in wanted.items() for pair in pairs]
        self._noted |= {_owner_key(tenant, owner): pairs for owner, pairs in wanted.items()}
        for key in list(self._noted)[:-_REMEMBERED]:
            self._noted.pop(key, None)
        self._table.write_many({"pk": pk, "sk": sk} for pk, sk in all_uses)
        released = {owner: pairs - wanted[owner] for owner, pairs in before.items()}
        self._release(tenant, released)
        shortened = {owner: wanted[owner] for owner, pairs in released.items() if pairs}
        self._table.write_many(
            [_owner_item(tenant, owner, pairs) for owner, pairs in shortened.items() if pairs],
            [_owner_key(tenant, owner) for owner, pairs in shortened.items() if not pairs],
        )
        self._sweep(tenant, time.time() - self._unowned_seconds)

    def disown(self, tenant: Tenant, owners: Sequence[str]) -> None:
        if not owners:
            return
        # of what we own ourselves another may have taken the item away before its uses were written
        keys, owned = {owner: _owner_key(tenant, owner) for owner in owners}, self._owned(tenant, owners)
        self._release(tenant, {o: owned.get(o, set()) | self._noted.get(key, set()) for o, key in keys.items()})
        self._table.write_many(delete=keys.values())
        for key in keys.values():
            self._noted.pop(key, None)
        has_owners = any(
            True for n in range(_SHARDS) for _ in self._table.query(f"t#{tenant}#owners#{n}", names=("sk",), limit=1)
        )
        self._sweep(tenant, time.time() - self._unowned_seconds if has_owners else math.inf)

    def owners(self, tenant: Tenant, *, after: str = "", limit: int = 1_000) -> list[str]:
        found: list[str] = []
        shards = [f"t#{tenant}#owners#{n}" for n in range(_SHARDS)]
        at = shards.index(_owner_key(tenant, after)[0]) if after else 0
        for n, pk in enumerate(shards[at:]):
            low = f"{after}\0" if after and n == 0 else ""
            left = limit - len(found)
            found += [item["sk"] for item in islice(self._table.query(pk, low, names=("sk",), limit=left), left)]
            if len(found) == limit:
                break
        return found

    def stats(self, tenant: Tenant) -> dict[str, int]:
        def kinds(n: int) -> Counter[str]:
            return Counter(item["kind"] for item in self._table.query(f"t#{tenant}#entries#{n}", names=("kind",)))

        return dict(sum(in_parallel(kinds, range(_SHARDS)), Counter[str]()))

    def close(self) -> None:
        self._table.close()

    def _owned(self, tenant: Tenant, owners: Iterable[str]) -> dict[str, set[Pair]]:
        keys = {_owner_key(tenant, owner): owner for owner in owners}
        found = self._table.get_many(keys)
        return {keys[key]: {(kind, of) for kind, of in unpack(item["body"])} for key, item in found.items()}

    def _release(self, tenant: Tenant, released: Mapping[str, Iterable[Pair]]) -> None:
        """Take uses away, then the entries that nobody else uses."""
        uses = [(owner, pair) for owner, pairs in released.items() for pair in pairs]
        self._table.write_many(delete=[_use(tenant, pair, owner) for owner, pair in uses])
        self._collect(tenant, {pair for _, pair in uses})

    def _collect(self, tenant: Tenant, pairs: Iterable[Pair]) -> None:
        def is_used(pair: Pair) -> bool:
            pk, _ = _entry_key(tenant, pair)
            return any(True for _ in self._table.query(pk, _USE, _AFTER_USES, names=("sk",), limit=1))

        listed = list(pairs)
        gone = [pair for pair, used in zip(listed, in_parallel(is_used, listed), strict=True) if not used]
        self._table.write_many(delete=self._places(tenant, gone))

    def _places(self, tenant: Tenant, pairs: Iterable[Pair]) -> Iterator[Key]:
        """Yield the items of entries; marks that they wait go with the next sweep."""
        for pair in pairs:
            yield _entry_key(tenant, pair)
            yield _shard_pk(tenant, "entries", _name(pair)), _name(pair)

    def _sweep(self, tenant: Tenant, before: float) -> None:
        """Delete the entries that have waited for an owner since ``before``."""
        latest = "~" if before == math.inf else moment(before)
        waited = in_parallel(lambda n: list(self._table.query(f"t#{tenant}#waiting#{n}", high=latest)), range(_SHARDS))
        stale = [item for items in waited for item in items]
        self._collect(tenant, {(item["kind"], item["key"]) for item in stale})
        self._table.write_many(delete=[(item["pk"], item["sk"]) for item in stale])


def _entry(tenant: Tenant, pair: Pair, data: bytes) -> Item:
    pk, sk = _entry_key(tenant, pair)
    packed = zlib.compress(data, 1) if len(data) >= _COMPRESSED_FROM else data
    smaller = len(packed) < len(data)
    return {"pk": pk, "sk": sk, "body": packed if smaller else data, "packed": int(smaller)}


def _data(item: Item) -> bytes:
    data: bytes = item["body"]
    return zlib.decompress(data) if item["packed"] else data


def _name(pair: Pair) -> str:
    return "\0".join(bounded(part) for part in pair)


def _entry_key(tenant: Tenant, pair: Pair) -> Key:
    return f"t#{tenant}#entry#{_name(pair)}", "data"


def _use(tenant: Tenant, pair: Pair, owner: str) -> Key:
    return _entry_key(tenant, pair)[0], f"{_USE}{bounded(owner)}"


def _owner_key(tenant: Tenant, owner: str) -> Key:
    name = bounded(owner)
    return _shard_pk(tenant, "owners", name), name or "~"


def _owner_item(tenant: Tenant, owner: str, pairs: Iterable[Pair]) -> Item:
    pk, sk = _owner_key(tenant, owner)
    return {"pk": pk, "sk": sk, "body": pack(sorted(pairs), "uses of a cache")}


def _shard_pk(tenant: Tenant, what: str, name: str) -> str:
    return f"t#{tenant}#{what}#{blake2b(name.encode(), digest_size=1).digest()[0] % _SHARDS}"
