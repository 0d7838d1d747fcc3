"""The stores of AWS when requests fail, replies are lost, holders stop, and records outgrow an item."""

# ruff: noqa: F401, F811  fixtures

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from lexigraph.model.errors import InvalidInput, NotFound, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.aws import AwsClient
from lexigraph.storage.dynamodb.cache import DynamoDBContentCache
from lexigraph.storage.dynamodb.items import Table
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.factory import CacheFactory, DocumentStoreFactory, RegistryFactory
from lexigraph.storage.protocols import ApiKey, DocumentRecord, Session, Stores
from lexigraph.storage.s3.documents import S3DocumentStore
from tests.contract.registry_fixtures import aws, aws_server
from tests.contract.test_registry import record, stored
from tests.laptop import laptop, open_laptop
from tests.standins.aws_server import AwsServer
from tests.standins.script import Script
from tests.workers import write_corpus

A = Tenant("a")
ONE = "source:" + "0" * 32
OPEN = """
import os, signal, sys, time
signal.alarm(120)  # who waits for a word of ours waits no longer
from lexigraph.model.errors import Conflict
from lexigraph.model.tenant import Tenant
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from tests.contract.test_registry import record
registry, A = DynamoDBRegistry(sys.argv[1], lease_seconds=float(sys.argv[2])), Tenant("a")
"""
HOLD = """
with registry.lease(A, ["x"]) as mine:
    assert mine == {"x"}
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def table(aws: AwsServer, tmp_path: Path) -> str:
    return "faults-" + blake2b(str(tmp_path).encode(), digest_size=8).hexdigest()


@pytest.fixture
def registry(aws: AwsServer, table: str) -> Iterator[DynamoDBRegistry]:
    opened = DynamoDBRegistry(aws.dynamodb(table))
    yield opened
    opened.close()


@pytest.fixture
def documents(aws: AwsServer, table: str) -> S3DocumentStore:
    return S3DocumentStore(aws.s3(table, "documents"))


def process(aws: AwsServer, table: str, body: str, seconds: float) -> subprocess.Popen[str]:
    """Another process with the same registry, listening to its first line."""
    started = subprocess.Popen(
        [sys.executable, "-c", OPEN + body, aws.dynamodb(table), str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def taken(registry: DynamoDBRegistry, *keys: str) -> set[str]:
    with registry.lease(A, keys) as mine:
        return set(mine)


def eventually(condition: Callable[[], Any], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


# -- faults of requests


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ThrottlingException", 400),
        ("ProvisionedThroughputExceededException", 400),
        ("TransactionInProgressException", 400),
        ("InternalServerError", 500),
        ("AnythingElse", 503),
    ],
)
def test_busy_requests_are_tried_again(registry: DynamoDBRegistry, aws: AwsServer, code: str, status: int) -> None:
    with aws.failing("TransactWriteItems", code, 2, status):
        registry.save(A, [record("a.md")])
    with aws.failing("BatchGetItem", code, 2, status):
        assert stored(registry, record("a.md")) == record("a.md")
    assert registry.stats(A)["READY"] == 1


def test_a_reply_that_is_lost_changes_nothing(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    """moto carries a repeated transaction out again whatever its token, so this is the harder case."""
    with aws.failing("TransactWriteItems", "cut"):
        registry.save(A, [record("a.md"), record("b.md")])
    with aws.failing("TransactWriteItems", "cut"):
        job = registry.start_job(A, "ingest", {})
    with aws.failing("TransactWriteItems", "cut"):
        registry.add_events(A, job.id, [("one", {}), ("two", {})])
    with aws.failing("TransactWriteItems", "cut"):
        registry.finish_job(A, job.id, "SUCCEEDED", {"n": 1})
    with aws.failing("TransactWriteItems", "cut"):
        registry.add_key(ApiKey("lxk_1", "ab" * 32, "a", ("read",)))
    with aws.failing("TransactWriteItems", "cut"):
        registry.touch(A, "s", ["x"], 100.0, keep_seconds=1_000)
    with aws.failing("TransactWriteItems", "cut"):
        assert registry.ordinals(A, "n", ["s1", "s2"]) == {"s1": 0, "s2": 1}
    with aws.failing("TransactWriteItems", "cut"):
        registry.forget(A, [record("b.md").source_id])
    assert registry.stats(A) == {"BUILDING": 0, "READY": 1, "REMOVING": 0, "FAILED": 0, "jobs": 1}
    assert [e.stage for e in registry.events(A, job.id)] == ["one", "two"]
    assert registry.job(A, job.id).result == {"n": 1}
    assert [key.id for key in registry.keys(A)] == ["lxk_1"]
    assert registry.session(A, "s", since=0.0) == Session(1, {"x": 100.0})
    assert registry.unfinished() == []


def test_a_recall_reads_its_session_in_one_request_and_notes_it_in_one(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    for at in (100.0, 200.0):
        before = aws.calls.copy()
        registry.session(A, "s", since=0.0)
        registry.touch(A, "s", ["x"], at, keep_seconds=1_000)
        assert aws.calls - before == {"Query": 1, "TransactWriteItems": 1}


def test_a_lease_whose_reply_is_lost_is_held_and_given_back(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    with aws.failing("PutItem", "cut"), aws.failing("UpdateItem", "cut"), registry.lease(A, ["x"]) as mine:
        assert mine == {"x"}
        assert taken(registry, "x") == set()
    assert taken(registry, "x") == {"x"}


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
def test_what_a_batch_leaves_unprocessed_is_asked_for_again(aws: AwsServer, table: str, operation: str) -> None:
    cache = DynamoDBContentCache(aws.dynamodb(table))
    entries = {f"k{n}": bytes([n]) for n in range(5)}
    if operation == "BatchWriteItem":
        with aws.failing(operation, "unprocessed", 3):
            cache.put_many(A, "kind", entries)
        assert cache.get_many(A, "kind", [*entries]) == entries
    else:
        cache.put_many(A, "kind", entries)
        with aws.failing(operation, "unprocessed", 3):
            assert cache.get_many(A, "kind", [*entries]) == entries
    cache.close()


def test_what_stays_busy_is_given_up_with_a_remedy(aws: AwsServer, table: str) -> None:
    client = AwsClient("dynamodb", Table(aws.dynamodb(table)).place, seconds=2.0)
    with (
        aws.failing("GetItem", "ThrottlingException", 1_000) as fault,
        pytest.raises(StoreUnavailable, match="ThrottlingException; try again later"),
    ):
        try:
            client.call("get_item", TableName=table, Key={"pk": {"S": "x"}, "sk": {"S": "x"}})
        finally:
            assert 1 < 1_000 - fault.times < 100
            fault.times = 0
    client.close()


def test_what_is_refused_is_not_tried_again(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    with (
        aws.failing("GetItem", "AccessDeniedException"),
        pytest.raises(StoreUnavailable, match="AccessDeniedException: allow the role"),
    ):
        registry.revision(A)
    assert aws.calls["GetItem"] == 1
    missing = DynamoDBRegistry(aws.dynamodb("there").replace("//there", "//missing"))
    with pytest.raises(StoreUnavailable, match="dynamodb://missing: ResourceNotFoundException: does not exist"):
        missing.revision(A)
    missing.close()


def test_a_server_that_is_gone_is_a_store_that_is_unavailable(aws: AwsServer, table: str) -> None:
    place = replace(Table(aws.dynamodb(table)).place, endpoint="http://127.0.0.1:9")
    client = AwsClient("dynamodb", place, seconds=0.2)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        client.call("list_tables")
    client.close()


def test_a_transaction_that_another_cancelled_is_tried_again(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    with aws.failing("TransactWriteItems", "conflict", 2):
        registry.save(A, [record("a.md")])
    assert registry.stats(A)["READY"] == 1


def test_writers_of_the_same_documents_leave_whole_records_and_true_counts(aws: AwsServer, table: str) -> None:
    clients = [DynamoDBRegistry(aws.dynamodb(table)) for _ in range(2)]
    uris = ("a.md", "b.md", "c.md")

    def write(writer: int) -> None:
        for n in range(4):
            state = ("BUILDING", "READY", "FAILED")[(writer + n) % 3]
            clients[writer % 2].save(A, [record(uri, state=state, title=state) for uri in uris])
            if n == writer:
                clients[writer % 2].forget(A, [record("c.md").source_id])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4), timeout=120))
    left = clients[0].documents(A)
    assert {r.uri for r in left} >= {"a.md", "b.md"}
    assert all(r.title == r.state for r in left)
    counts = clients[1].stats(A)
    assert {state: counts[state] for state in ("BUILDING", "READY", "FAILED")} == {
        state: sum(r.state == state for r in left) for state in ("BUILDING", "READY", "FAILED")
    }
    for client in clients:
        client.close()


# -- leases


@pytest.mark.nightly
def test_a_dead_holder_s_lease_is_free_after_its_term(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    with process(aws, table, HOLD, 1.0) as holder:
        assert taken(registry, "x", "y") == {"y"}
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
        assert taken(registry, "x") == set(), "nobody can know yet"
        eventually(lambda: taken(registry, "x") == {"x"})


@pytest.mark.nightly
def test_a_lease_is_renewed_as_long_as_it_is_held(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    with process(aws, table, HOLD, 1.0) as holder:
        until = time.monotonic() + 5
        while time.monotonic() < until:
            assert taken(registry, "x") == set()
            time.sleep(0.2)
        holder.communicate("go on\n", timeout=60)
        assert holder.returncode == 0
    assert taken(registry, "x") == {"x"}


@pytest.mark.nightly
def test_a_holder_that_was_stopped_too_long_is_told_and_writes_nothing(
    registry: DynamoDBRegistry,
    aws: AwsServer,
    table: str,
) -> None:
    body = """
one = record("a.md")
try:
    with registry.lease(A, [one.source_id]):
        registry.save(A, [one])
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            registry.save(A, [record("a.md", title="late")])
        except Conflict:
            print("save refused", flush=True)
        try:
            registry.fence(A, [one.source_id])
        except Conflict:
            print("fence closed", flush=True)
        try:
            registry.forget(A, [one.source_id])
        except Conflict:
            print("forget refused", flush=True)
except Conflict:
    print("told", flush=True)
"""
    with process(aws, table, body, 1.0) as holder:
        holder.send_signal(signal.SIGSTOP)
        eventually(lambda: taken(registry, record("a.md").source_id))
        holder.send_signal(signal.SIGCONT)
        said, _ = holder.communicate("go on\n", timeout=60)
    assert said.splitlines() == ["save refused", "fence closed", "forget refused", "told"]
    assert stored(registry, record("a.md")) == record("a.md")


@pytest.mark.slow
def test_who_takes_a_lease_from_a_silent_holder_notes_it(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    with process(aws, table, HOLD, 1.0) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
    assert registry.late_writers(A, since=0.0) == [], "nobody has taken it yet"
    with aws.failing("TransactWriteItems", "cut"):
        eventually(lambda: taken(registry, "x") == {"x"})
    (late,) = registry.late_writers(A, since=0.0)
    assert late.key == "x"
    assert registry.late_writers(A, since=60.0) == registry.late_writers(Tenant("b"), since=0.0) == []
    assert (registry.late_tenants(since=0.0), registry.late_tenants(since=60.0)) == ([A], [])
    registry.dismiss(Tenant("b"), [late])
    assert taken(registry, "x") == {"x"}
    assert registry.late_writers(A, since=0.0) == [late], "given back and taken again it is not silent"
    registry.dismiss(A, [late])
    assert registry.late_writers(A, since=0.0) == registry.late_tenants(since=0.0) == []


def test_who_asks_for_a_lease_that_another_holds_writes_once(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    other = DynamoDBRegistry(aws.dynamodb(table))
    with registry.lease(A, ["x"]):
        aws.calls.clear()
        with other.lease(A, ["x"]) as mine:
            assert not mine
        assert aws.calls == {"PutItem": 1}
    other.close()


def test_asking_a_lease_costs_no_request_while_its_term_runs(registry: DynamoDBRegistry, aws: AwsServer) -> None:
    with registry.lease(A, ["x"]):
        before = sum(aws.calls.values())
        for _ in range(50):
            registry.fence(A, ["x"])
        assert sum(aws.calls.values()) == before


@pytest.mark.slow
def test_a_forked_child_holds_nothing_and_gives_back_nothing(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    body = """
with registry.lease(A, ["x"]):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with registry.lease(A, ["x", "y"]) as mine:
            assert mine == {"y"}, mine
        sys.exit(7)  # leaves the parent's block
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    print("ready", flush=True)
    sys.stdin.readline()
"""
    with process(aws, table, body, 60.0) as holder:
        assert taken(registry, "x", "y") == {"y"}
        holder.communicate("go on\n", timeout=60)
        assert holder.returncode == 0
    assert taken(registry, "x") == {"x"}


# -- sizes


def long_record(chunks: int, edition: int = 1) -> DocumentRecord:
    """A record of a document with this many chunks; its ids are as hard to compress as real ones."""

    def digest(n: int, of: str) -> str:
        return blake2b(f"{edition} {of} {n}".encode(), digest_size=16).hexdigest()

    intended = tuple(f"chunk:{digest(n, 'chunk')}" for n in range(chunks))
    extractions = {digest(n, "content"): digest(n, "yield") for n in range(chunks)}
    return record("long.md", intended=intended, extractions=extractions, chunks=chunks)


def test_a_document_of_20_000_chunks_is_kept_replaced_and_forgotten(
    registry: DynamoDBRegistry,
    aws: AwsServer,
    table: str,
) -> None:
    registry.save(A, [long_record(20_000), record("a.md")])
    assert stored(registry, long_record(20_000)) == long_record(20_000)
    parts = {item["sk"]["S"] for item in aws.items(table) if item["sk"]["S"].startswith("part#")}
    assert len(parts) > 1

    registry.save(A, [long_record(15_000, edition=2)])
    assert stored(registry, long_record(1)).intended == long_record(15_000, edition=2).intended
    assert not parts & {item["sk"]["S"] for item in aws.items(table)}, "the old version's parts are gone"
    assert [r.uri for r in registry.documents(A)] == ["a.md", "long.md"]

    registry.forget(A, [long_record(1).source_id])
    assert not [item for item in aws.items(table) if long_record(1).source_id in str(item)]


def test_a_save_that_breaks_off_leaves_the_old_version_and_no_parts_for_ever(
    registry: DynamoDBRegistry,
    aws: AwsServer,
    table: str,
) -> None:
    registry.save(A, [record("long.md", title="old")])
    with aws.failing("TransactWriteItems", "AccessDeniedException"), pytest.raises(StoreUnavailable):
        registry.save(A, [long_record(5_000)])
    assert stored(registry, record("long.md")).title == "old"
    registry.forget(A, [record("long.md").source_id])
    assert not [item for item in aws.items(table) if item["sk"]["S"].startswith("part#")]


@pytest.mark.slow
def test_more_documents_than_a_transaction_holds_are_saved_counted_and_forgotten(registry: DynamoDBRegistry) -> None:
    many = [record(f"{n:03}.md", state="BUILDING") for n in range(120)]
    registry.save(A, many)
    registry.save(A, [replace(r, state="READY") for r in many])
    assert registry.stats(A) == {"BUILDING": 0, "READY": 120, "REMOVING": 0, "FAILED": 0, "jobs": 0}
    assert [r.uri for r in registry.documents(A)] == [r.uri for r in many]
    registry.forget(A, [r.source_id for r in many[:110]])
    assert registry.stats(A)["READY"] == len(registry.documents(A)) == 10


def test_uris_that_are_longer_than_a_key_keep_their_order_and_pages(registry: DynamoDBRegistry) -> None:
    stem = "s3://bucket/" + "é" * 600
    uris = [stem + tail for tail in ("c", "a", "b", "")] + ["s3://bucket/", "s3://bucket/\0", "t", stem[:470]]
    registry.save(A, [record(uri) for uri in uris])
    pages, after = [], ""
    while page := registry.documents(A, after=after, limit=2):
        pages += [r.uri for r in page]
        after = page[-1].uri
    assert pages == sorted(uris)


@pytest.mark.slow
def test_events_that_outgrow_an_item_are_several(registry: DynamoDBRegistry) -> None:
    job = registry.start_job(A, "ingest", {"paths": [blake2b(str(n).encode()).hexdigest() for n in range(10_000)]})
    events = [
        ("step", {"text": blake2b(f"{n}".encode()).hexdigest() * 40, "n": os.urandom(3_000).hex()}) for n in range(300)
    ]
    registry.add_events(A, job.id, events)
    found = registry.events(A, job.id)
    assert [e.seq for e in found] == list(range(1, 301))
    assert [e.data for e in found] == [data for _, data in events]
    assert registry.events(A, job.id, after=150) == found[150:]
    assert len(registry.job(A, job.id).request["paths"]) == 10_000


# -- the cache


def test_uses_noted_while_another_takes_their_owner_away_go_with_whoever_noted_them(aws: AwsServer, table: str) -> None:
    late, other = (DynamoDBContentCache(aws.dynamodb(table)) for _ in range(2))
    late.put_many(A, "kind", {"x": b"1"})
    aws.script = Script()
    aws.script.begin(at=3, kind="wait")  # the uses, after their owner
    aws.script.meanwhile = lambda: other.disown(A, ["chunk"])
    aws.script.counting = True
    late.own(A, {"chunk": [("kind", "x")]})
    assert aws.script.met
    aws.script = None
    late.disown(A, ["chunk"])
    late.put_many(A, "kind", {"x": b"1"})
    late.own(A, {"next": [("kind", "x")]})
    late.disown(A, ["next"])
    assert late.stats(A) == {}


def test_entries_that_waited_too_long_for_an_owner_go_and_owned_ones_stay(aws: AwsServer, table: str) -> None:
    patient = DynamoDBContentCache(aws.dynamodb(table))
    patient.put_many(A, "kind", {"owned": b"1", "waiting": b"2"})
    patient.own(A, {"one": [("kind", "owned")]})
    assert patient.stats(A) == {"kind": 2}
    impatient = DynamoDBContentCache(aws.dynamodb(table), unowned_seconds=0)
    impatient.own(A, {"two": [("kind", "owned")]})
    assert impatient.get_many(A, "kind", ["owned", "waiting"]) == {"owned": b"1"}
    impatient.put_many(A, "kind", {"owned": b"3", "waiting": b"2"})
    impatient.disown(A, ["one"])
    assert impatient.get_many(A, "kind", ["owned", "waiting"]) == {"owned": b"3"}
    impatient.disown(A, ["two"])
    assert aws.items(table) == [], "nothing stays behind"


def test_large_entries_are_compressed_and_what_no_item_holds_is_not_kept(aws: AwsServer, table: str) -> None:
    cache = DynamoDBContentCache(aws.dynamodb(table))
    text, noise = b"a statement of a chunk. " * 40_000, os.urandom(500_000)
    cache.put_many(A, "kind", {"text": text, "noise": b"old"})
    cache.put_many(A, "kind", {"noise": noise})
    assert cache.get_many(A, "kind", ["text", "noise"]) == {"text": text}


# -- documents in a bucket


def test_busy_requests_and_lost_replies_of_the_bucket_are_tried_again(documents: S3DocumentStore, aws: AwsServer) -> None:
    with aws.failing("S3 PUT", "SlowDown", 2, 503):
        documents.put(A, ONE, "text-1.txt", b"1")
    with aws.failing("S3 PUT", "cut"):
        documents.put(A, ONE, "text-2.txt", b"2")
    with aws.failing("S3 GET", "InternalError", 1, 500):
        assert documents.get(A, ONE, "text-2.txt") == b"2"
    with aws.failing("S3 POST delete", "cut"):
        documents.delete(A, ONE, keep=["text-1.txt"])
    assert documents.names(A, ONE) == ["text-1.txt"]


def test_a_bucket_that_refuses_says_so(documents: S3DocumentStore, aws: AwsServer) -> None:
    with (
        aws.failing("S3 GET", "AccessDenied", 1, 403),
        pytest.raises(StoreUnavailable, match="AccessDenied: allow the role"),
    ):
        documents.get(A, ONE, "text-1.txt")
    with pytest.raises(NotFound, match="has no file"):
        documents.get(A, ONE, "text-1.txt")
    missing = S3DocumentStore(aws.s3("there").replace("//there", "//missing-bucket"))
    with pytest.raises(StoreUnavailable, match="NoSuchBucket: does not exist"):
        missing.get(A, ONE, "text-1.txt")


def test_objects_stand_under_prefix_tenant_and_source_and_nothing_is_said_of_access(
    documents: S3DocumentStore,
    aws: AwsServer,
) -> None:
    documents.put(A, ONE, "Übersicht 1+1?.pdf", b"1")
    listed = aws.client("s3").list_objects_v2(Bucket=documents.place.name)["Contents"]
    assert [item["Key"] for item in listed] == [f"documents/a/{'0' * 32}/%C3%9Cbersicht%201%2B1%3F.pdf"]
    assert documents.names(A, ONE) == ["Übersicht 1+1?.pdf"]


@pytest.mark.nightly
def test_more_files_than_a_page_of_a_listing_are_listed_and_deleted(documents: S3DocumentStore) -> None:
    for n in range(1_005):
        documents.put(A, ONE, f"text-{n}.txt", b"1")
    assert len(documents.names(A, ONE)) == 1_005
    documents.delete(A, ONE, keep=["text-7.txt"])
    assert documents.names(A, ONE) == ["text-7.txt"]


# -- all of them together


@pytest.mark.nightly
def test_documents_are_taken_in_replaced_and_removed_over_the_stores_of_aws(
    aws: AwsServer, table: str, tmp_path: Path
) -> None:
    embedded = open_laptop(tmp_path / "data")
    stores = Stores(
        embedded.graph,
        embedded.vectors,
        DocumentStoreFactory.for_document_store(aws.s3(table)),
        RegistryFactory.for_registry(aws.dynamodb(table)),
        CacheFactory.for_cache(aws.dynamodb(table)),
    )
    index, pages = laptop(tmp_path / "data", stores), tmp_path / "pages"
    write_corpus(pages, 3, "aws")
    assert not index.ingest([pages]).failures
    texts = {name: index.document(name).version for name in ("aws-0.md", "aws-1.md", "aws-2.md")}
    assert set(texts.values()) == {1}
    assert index.ingest([pages]).documents_unchanged == 3
    write_corpus(pages, 1, "aws", edition=2)
    assert not index.ingest([pages]).failures
    assert index.document("aws-0.md").version == 2
    index.remove([record.source_id for record in stores.registry.documents(Tenant("default"))])
    assert stores.registry.documents(Tenant("default")) == []
    assert stores.documents.sources(Tenant("default")) == []
    assert stores.cache.stats(Tenant("default")) == {}
    stores.close()
    embedded.registry.close()
    embedded.cache.close()


def test_a_lease_that_cannot_be_taken_for_the_store_is_gone_holds_nothing(
    registry: DynamoDBRegistry, aws: AwsServer
) -> None:
    with aws.failing("PutItem", "AccessDeniedException"), pytest.raises(StoreUnavailable), registry.lease(A, ["x"]):
        raise AssertionError("nothing was taken")
    assert taken(registry, "x") == {"x"}


def test_a_write_without_a_lease_of_one_s_own_is_not_held_up(registry: DynamoDBRegistry, aws: AwsServer, table: str) -> None:
    other = DynamoDBRegistry(aws.dynamodb(table))
    with other.lease(A, [record("a.md").source_id]):
        registry.save(A, [record("a.md")])
        other.save(A, [record("a.md", title="again")])
    assert stored(registry, record("a.md")).title == "again"
    other.close()


def test_an_owner_whose_uses_were_not_all_noted_has_them_after_another_try(aws: AwsServer, table: str) -> None:
    cache = DynamoDBContentCache(aws.dynamodb(table))
    uses = {"one": [("vectors", "a"), ("vectors", "b")]}
    cache.put_many(A, "vectors", {"a": b"1", "b": b"2"})
    aws.script = Script()
    aws.script.begin(3, "denied")  # what the owner uses is written, its uses are not
    aws.script.counting = True
    with pytest.raises(StoreUnavailable):
        cache.own(A, uses)
    aws.script = None

    cache.own(A, uses)
    cache.own(A, {"two": uses["one"]})
    cache.disown(A, ["two"])

    assert cache.get_many(A, "vectors", ["a", "b"]) == {"a": b"1", "b": b"2"}
    cache.disown(A, ["one"])
    assert cache.stats(A) == {}
