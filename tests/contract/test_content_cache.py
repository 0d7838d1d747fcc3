"""What every cache of model results promises (storage/protocols.py)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import ContentCache

A, B = Tenant("a"), Tenant("b")
KIND = "embedding:minilm-384"
OTHER = "extraction:local-1"


def keys(cache: ContentCache, tenant: Tenant = A, kind: str = KIND) -> str:
    """The one-letter keys that exist."""
    return "".join(sorted(cache.get_many(tenant, kind, [*"abcdefgh"])))


def put(cache: ContentCache, letters: str, tenant: Tenant = A, kind: str = KIND) -> None:
    cache.put_many(tenant, kind, {letter: letter.encode() for letter in letters})


def uses(letters: str, kind: str = KIND) -> list[tuple[str, str]]:
    return [(kind, letter) for letter in letters]


def test_a_cache_has_all_methods_of_the_protocol(cache: ContentCache) -> None:
    assert isinstance(cache, ContentCache)


def test_entries_come_back_byte_by_byte(cache: ContentCache) -> None:
    entries = {"empty": b"", "binary": bytes(range(256)) * 8, "key with ' and ü": b"1"}
    cache.put_many(A, KIND, entries)
    assert cache.get_many(A, KIND, [*entries, "unknown"]) == entries
    assert cache.get_many(A, KIND, []) == {}


def test_putting_again_replaces(cache: ContentCache) -> None:
    cache.put_many(A, KIND, {"a": b"old", "b": b"stays"})
    cache.put_many(A, KIND, {"a": b"new"})
    assert cache.get_many(A, KIND, ["a", "b"]) == {"a": b"new", "b": b"stays"}
    assert cache.stats(A) == {KIND: 2}


def test_an_entry_of_another_kind_is_another_entry(cache: ContentCache) -> None:
    cache.put_many(A, KIND, {"a": b"vector"})
    cache.put_many(A, OTHER, {"a": b"statements", "b": b"more"})
    assert cache.get_many(A, KIND, ["a"]) == {"a": b"vector"}
    assert cache.get_many(A, OTHER, ["a"]) == {"a": b"statements"}
    assert cache.stats(A) == {KIND: 1, OTHER: 2}


def test_thousands_of_keys_are_found_at_once(cache: ContentCache) -> None:
    entries = {f"{n:064x}": n.to_bytes(4, "big") for n in range(3_000)}
    cache.put_many(A, KIND, entries)
    assert cache.get_many(A, KIND, [*entries, *(f"x{n}" for n in range(3_000))]) == entries


def test_an_entry_stays_until_its_last_owner_goes(cache: ContentCache) -> None:
    put(cache, "abc")
    cache.own(A, {"one": uses("ab"), "two": uses("bc")})
    cache.disown(A, ["one"])
    assert keys(cache) == "bc"
    cache.disown(A, ["two"])
    assert keys(cache) == ""
    assert cache.stats(A) == {}


def test_owning_replaces_what_the_owner_used_before(cache: ContentCache) -> None:
    put(cache, "abcd")
    cache.own(A, {"one": uses("ab"), "two": uses("b")})
    cache.own(A, {"one": uses("c")})
    assert keys(cache) == "bcd"
    cache.own(A, {"one": uses("c")})
    assert keys(cache) == "bcd"
    cache.own(A, {"one": []})
    assert keys(cache) == "bd"


def test_an_entry_handed_from_one_owner_to_another_stays(cache: ContentCache) -> None:
    put(cache, "a")
    cache.own(A, {"one": uses("a")})
    cache.own(A, {"one": [], "two": uses("a")})
    assert keys(cache) == "a"


def test_owners_use_entries_of_several_kinds(cache: ContentCache) -> None:
    put(cache, "ab")
    put(cache, "ab", kind=OTHER)
    cache.own(A, {"one": [*uses("a"), *uses("b", OTHER)], "two": [*uses("b"), *uses("a", OTHER)]})
    cache.disown(A, ["one"])
    assert (keys(cache), keys(cache, kind=OTHER)) == ("b", "a")


def test_uses_of_entries_that_do_not_exist_are_passed_over(cache: ContentCache) -> None:
    put(cache, "a")
    cache.own(A, {"one": uses("ax")})
    assert keys(cache) == "a"
    cache.disown(A, ["one", "never seen"])
    assert cache.stats(A) == {}


def test_what_an_interrupted_run_put_is_there_for_the_next(open_cache: Callable[[], ContentCache]) -> None:
    first = open_cache()
    put(first, "ab")
    first.close()
    second = open_cache()
    put(second, "c")
    second.own(A, {"one": uses("c")})
    assert keys(second) == "abc"
    second.own(A, {"two": uses("a")})
    second.disown(A, ["one"])
    assert keys(second) == "ab"


def test_nothing_stays_when_the_last_owner_goes(cache: ContentCache) -> None:
    put(cache, "abc")
    put(cache, "d", kind=OTHER)
    cache.own(A, {"one": uses("a"), "two": uses("b")})
    cache.disown(A, ["one", "two"])
    assert cache.stats(A) == {}


def test_nothing_stays_of_a_run_that_never_owned_anything(cache: ContentCache) -> None:
    put(cache, "abc")
    cache.disown(A, ["removed before it was ready"])
    assert cache.stats(A) == {}


def test_disowning_nobody_removes_nothing(cache: ContentCache) -> None:
    put(cache, "a")
    cache.disown(A, [])
    cache.own(A, {})
    assert keys(cache) == "a"


def test_two_tenants_share_nothing(cache: ContentCache) -> None:
    put(cache, "ab")
    cache.own(A, {"one": uses("a")})
    assert keys(cache, B) == ""
    assert cache.stats(B) == {}
    cache.own(B, {"one": uses("ab")})
    cache.put_many(B, KIND, {"a": b"theirs"})
    cache.disown(B, ["one"])
    assert cache.stats(B) == {}
    assert cache.get_many(A, KIND, ["a", "b"]) == {"a": b"a", "b": b"b"}


def test_writers_at_the_same_time_lose_nothing(open_cache: Callable[[], ContentCache]) -> None:
    clients = [open_cache(), open_cache()]

    def write(n: int) -> None:
        client = clients[n % 2]
        for step in range(5):
            letters = {f"{n}-{step}": b"1", f"shared-{step}": b"2"}
            client.put_many(A, KIND, letters)
            client.own(A, {f"owner-{n}-{step}": [(KIND, key) for key in letters]})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert clients[0].stats(A) == {KIND: 25}
    clients[1].disown(A, [f"owner-{n}-{step}" for n in (0, 1, 2) for step in range(5)])
    assert clients[0].stats(A) == {KIND: 10}


def test_owners_are_listed_page_by_page_each_once(cache: ContentCache) -> None:
    put(cache, "ab")
    put(cache, "a", B)
    owners = [f"chunk:{n:032x}" for n in range(30)]
    cache.own(A, {owner: uses("ab") for owner in owners} | {"idle": []})
    cache.own(B, {"theirs": uses("a")})
    found, after = list[str](), ""
    while page := cache.owners(A, after=after, limit=7):
        assert len(page) <= 7
        found += page
        after = page[-1]
        if len(found) == 14:
            cache.disown(A, [after])  # who goes on after one that is gone misses nobody
    assert sorted(found) == owners
    assert sorted(cache.owners(A)) == sorted({*owners} - {found[13]})
    cache.disown(A, owners)
    assert (cache.owners(A), cache.owners(B)) == ([], ["theirs"])
