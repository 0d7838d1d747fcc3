"""Claims: whoever was told of the newest state of a file brings it in; what is older comes too late."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Claim, Registry

ONE, OTHER = Tenant("one"), Tenant("other")


def test_a_newer_claim_replaces_an_older_one_and_not_the_other_way_round(registry: Registry) -> None:
    assert registry.claimed(ONE, "file") is None
    assert registry.claim(ONE, "file", "0A", "first") == Claim("0A", "first")
    assert registry.claim(ONE, "file", "0B", "second") == Claim("0B", "second")
    assert registry.claim(ONE, "file", "0A", "first") == Claim("0B", "second")
    assert registry.claimed(ONE, "file") == Claim("0B", "second")


def test_of_equal_claims_the_first_stays(registry: Registry) -> None:
    registry.claim(ONE, "file", "0A", "first")
    assert registry.claim(ONE, "file", "0A", "again") == Claim("0A", "first")


def test_claims_of_other_files_and_tenants_are_their_own(registry: Registry) -> None:
    registry.claim(ONE, "file", "0B", "one")
    assert registry.claim(OTHER, "file", "0A", "other").holder == "other"
    assert registry.claim(ONE, "file 2", "0A", "two").holder == "two"
    assert registry.claimed(ONE, "file") == Claim("0B", "one")


def test_of_many_claims_at_once_the_newest_stays(open_registry: Callable[[], Registry]) -> None:
    clients = [open_registry() for _ in range(4)]
    orders = [f"{n:02d}" for n in (5, 3, 7, 1, 6, 2, 4, 0)] * 3
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: clients[n % 4].claim(ONE, "file", orders[n], f"job {orders[n]}"), range(len(orders))))
    assert clients[0].claimed(ONE, "file") == Claim("07", "job 07")
