"""What every registry promises of keys, sessions, places in a namespace, and the revision."""

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraph.model.errors import Conflict, NotFound
from lexigraph.model.filters import MetadataFilter, MetadataFilters
from lexigraph.model.tenant import Tenant, View
from lexigraph.storage.common.records import key_columns
from lexigraph.storage.protocols import ApiKey, Freshness, Registry, Session
from lexigraph.storage.sqlite.database import APPLICATION_ID
from lexigraph.storage.sqlite.registry import SqliteRegistry
from tests.contract.test_registry import record

A, B = Tenant("a"), Tenant("b")
READER = ApiKey("lxk_reader", "ab" * 32, "a", ("read",), "reader of the shop", ("fractal_db",), 60)
WRITER = ApiKey("lxk_writer", "cd" * 32, "a", ("read", "ingest"))


def test_a_key_is_found_by_its_digest_alone(registry: Registry) -> None:
    registry.add_key(READER)
    found = registry.key(READER.digest)
    assert found is not None
    assert found.created_at
    assert replace(found, created_at="") == READER
    assert registry.key("ef" * 32) is None


def test_a_key_with_filters_opens_a_view_of_its_tenant(registry: Registry) -> None:
    rights = MetadataFilters((MetadataFilter("groups", "in", ("staff", 1, True)), MetadataFilter("draft", "!=", True)))
    registry.add_key(replace(WRITER, filters=rights))
    registry.add_key(READER)
    found = registry.key(WRITER.digest)
    assert found is not None
    assert (found.filters, found.scopes, found.opens) == (rights, WRITER.scopes, View(A, rights))
    assert registry.keys(A)[0] == found
    assert registry.revoke_key(A, WRITER.id).filters == rights
    reader = registry.key(READER.digest)
    assert reader is not None
    assert (reader.filters, reader.opens) == (None, A)


def test_a_release_that_knows_no_filters_finds_that_a_key_with_filters_may_do_nothing() -> None:
    kept = key_columns(replace(READER, filters=MetadataFilter("groups", "==", "staff")))
    assert json.loads(kept["scopes"]) == []
    assert json.loads(key_columns(READER)["scopes"]) == ["read"]


def test_keys_are_those_of_a_tenant_oldest_first(registry: Registry) -> None:
    registry.add_key(WRITER)
    registry.add_key(READER)
    registry.add_key(ApiKey("lxk_other", "01" * 32, "b", ("admin",)))
    assert [key.id for key in registry.keys(A)] == ["lxk_writer", "lxk_reader"]
    assert [key.id for key in registry.keys(B)] == ["lxk_other"]


def test_a_revoked_key_opens_nothing_and_is_still_listed(open_registry: Callable[[], Registry]) -> None:
    registry, other = open_registry(), open_registry()
    registry.add_key(READER)
    revoked = registry.revoke_key(A, READER.id)
    assert revoked.revoked_at
    assert other.key(READER.digest) is None
    assert other.keys(A) == [revoked]
    assert other.revoke_key(A, READER.id) == revoked, "revoking again changes nothing"


def test_it_is_known_whether_a_key_was_ever_made_whoever_s_and_revoked_or_not(open_registry: Callable[[], Registry]) -> None:
    registry, other = open_registry(), open_registry()
    assert not registry.any_key()
    registry.add_key(ApiKey("lxk_other", "01" * 32, "b", ("read",)))
    assert registry.any_key()
    registry.revoke_key(B, "lxk_other")
    assert (registry.any_key(), other.any_key()) == (True, True)


def test_a_key_of_another_tenant_cannot_be_revoked(registry: Registry) -> None:
    registry.add_key(READER)
    with pytest.raises(NotFound, match="lxk_reader"):
        registry.revoke_key(B, READER.id)
    assert registry.key(READER.digest)


@pytest.mark.parametrize("twin", [replace(WRITER, id=READER.id), replace(WRITER, digest=READER.digest)])
def test_two_keys_share_neither_id_nor_digest(registry: Registry, twin: ApiKey) -> None:
    registry.add_key(READER)
    with pytest.raises(Conflict):
        registry.add_key(twin)
    assert [key.id for key in registry.keys(A)] == [READER.id]


def test_a_session_counts_its_recalls_and_knows_when_it_saw_a_node_last(registry: Registry) -> None:
    assert registry.session(A, "s", since=0.0) == Session()
    registry.touch(A, "s", ["x", "y"], 100.0, keep_seconds=1_000)
    registry.touch(A, "s", ["y", "z"], 160.5, keep_seconds=1_000)
    second = {"y": 160.5, "z": pytest.approx(160.5)}
    assert registry.session(A, "s", since=100.0) == Session(2, {"x": 100.0, **second})
    assert registry.session(A, "s", since=100.1) == Session(2, second)
    assert registry.session(A, "s", since=161.0) == Session()
    assert registry.session(A, "t", since=0.0) == registry.session(B, "s", since=0.0) == Session()


def test_of_one_recall_the_best_nodes_are_those_seen_last(registry: Registry) -> None:
    registry.touch(A, "s", ["m", "z", "a"], 1_700_000_000.0, keep_seconds=1_000)
    seen = registry.session(A, "s", since=0.0).seen
    assert sorted(seen, key=lambda node: -seen[node]) == ["m", "z", "a"]
    assert seen == pytest.approx(dict.fromkeys("mza", 1_700_000_000.0))


def test_a_recall_that_returned_nothing_counts(registry: Registry) -> None:
    registry.touch(A, "s", [], 100.0, keep_seconds=1_000)
    assert registry.session(A, "s", since=0.0) == Session(1, {})


def test_a_session_goes_on_with_what_is_not_too_old_and_begins_anew_when_all_is(registry: Registry) -> None:
    registry.touch(A, "s", ["x"], 600.0, keep_seconds=1_000)
    registry.touch(A, "s", [], 700.0, keep_seconds=1_000)
    registry.touch(A, "s", ["y"], 1_601.0, keep_seconds=1_000)
    assert registry.session(A, "s", since=601.0) == Session(3, {"y": 1_601.0})
    registry.touch(A, "s", ["z"], 3_000.0, keep_seconds=1_000)
    assert registry.session(A, "s", since=2_000.0) == Session(1, {"z": 3_000.0})


def test_an_idle_session_counts_from_the_first_again_and_still_knows_what_it_saw(registry: Registry) -> None:
    registry.touch(A, "s", ["x"], 600.0, keep_seconds=1_000, idle_seconds=100)
    registry.touch(A, "s", ["y"], 700.0, keep_seconds=1_000, idle_seconds=100)
    assert registry.session(A, "s", since=0.0, awake_since=700.0) == Session(2, {"x": 600.0, "y": 700.0})
    assert registry.session(A, "s", since=0.0, awake_since=700.5) == Session(0, {"x": 600.0, "y": 700.0})
    registry.touch(A, "s", ["z"], 801.0, keep_seconds=1_000, idle_seconds=100)
    assert registry.session(A, "s", since=0.0, awake_since=801.0) == Session(1, {"x": 600.0, "y": 700.0, "z": 801.0})


def test_a_recall_that_comes_late_counts_and_makes_nothing_older(registry: Registry) -> None:
    registry.touch(A, "s", ["x"], 700.0, keep_seconds=1_000)
    registry.touch(A, "s", ["x", "y"], 650.0, keep_seconds=1_000)
    assert registry.session(A, "s", since=0.0) == Session(2, {"x": 700.0, "y": pytest.approx(650.0)})


def test_a_place_in_a_namespace_is_given_once_and_kept(open_registry: Callable[[], Registry]) -> None:
    registry, other = open_registry(), open_registry()
    assert registry.ordinals(A, "n", ["s2", "s1"]) == {"s2": 0, "s1": 1}
    assert other.ordinals(A, "n", ["s3", "s1"]) == {"s3": 2, "s1": 1}
    assert other.ordinals(A, "m", ["s1"]) == other.ordinals(B, "n", ["s1"]) == {"s1": 0}
    assert registry.ordinals(A, "n", []) == {}


def test_clients_that_ask_at_the_same_time_are_given_different_places(open_registry: Callable[[], Registry]) -> None:
    clients = [open_registry(), open_registry()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: clients[n % 2].ordinals(A, "n", [f"s{n}", "shared"]), range(12), timeout=60))
    assert len({places["shared"] for places in found}) == 1
    every = {source: place for places in found for source, place in places.items()}
    assert sorted(every.values()) == list(range(13))


def test_the_revision_grows_with_every_change_of_a_tenant_s_documents(registry: Registry) -> None:
    assert registry.revision(A) == 0
    registry.save(A, [record("a.md")])
    first = registry.revision(A)
    registry.save(A, [record("a.md", title="again")])
    second = registry.revision(A)
    registry.forget(A, [record("a.md").source_id])
    assert 0 < first < second < registry.revision(A)
    assert registry.revision(B) == 0


def test_clearing_is_counted_for_its_tenant_and_changes_no_revision(registry: Registry) -> None:
    assert registry.freshness(A) == Freshness(0, 0)
    assert registry.clear(A) == 1
    registry.save(A, [record("a.md")])
    assert registry.clear(A) == 2
    assert registry.freshness(A) == Freshness(registry.revision(A), 2)
    assert registry.revision(A) > 0
    assert registry.freshness(B) == Freshness()


def test_a_registry_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    fresh = SqliteRegistry(f"sqlite:///{tmp_path}")
    fresh.save(A, [record("a.md")])
    fresh.close()
    with sqlite3.connect(fresh.path) as c:
        for table in ("keys", "sessions", "seen", "ordinals", "revisions"):
            c.execute(f"DROP TABLE {table}")
        c.execute("PRAGMA user_version = 1")
        assert c.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    c.close()

    opened = SqliteRegistry(f"sqlite:///{tmp_path}")

    assert [d.uri for d in opened.documents(A)] == ["a.md"]
    opened.add_key(READER)
    assert opened.key(READER.digest)
    opened.close()


def test_a_signer_has_the_oldest_key_that_was_not_revoked_and_no_one_elses(registry: Registry) -> None:
    """A key is found by the digest of the signer alone; revoked ones stay listed, and another may follow."""
    signer, other = "iam#" + "ab" * 32, "iam#" + "ac" * 32
    of = [ApiKey(f"lxk_{n}", f"{signer}#lxk_{n}", tenant, ("read",), "arn") for n, tenant in enumerate("ab")]
    assert registry.signer(signer) is None
    for key in (*of, READER):
        registry.add_key(key)
    found = registry.signer(signer)
    assert found
    assert replace(found, created_at="") == of[0]
    assert registry.signer(other) is registry.signer(READER.digest) is registry.signer("iam#") is None
    registry.revoke_key(A, "lxk_0")
    found = registry.signer(signer)
    assert found
    assert (found.id, found.tenant) == ("lxk_1", "b")
    registry.revoke_key(B, "lxk_1")
    assert registry.signer(signer) is None
    assert [(key.id, bool(key.revoked_at)) for key in registry.keys(A)] == [("lxk_0", True), (READER.id, False)]
    assert registry.key(signer) is None, "nobody sends a digest, and this one is no key's"
