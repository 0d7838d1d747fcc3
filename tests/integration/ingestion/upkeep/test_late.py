"""A writer that sleeps past its lease while its document is removed: whatever it writes when it wakes, nothing stays.

The stores are those of the emulated profile: leases in DynamoDB, which run out, and graph and vectors in SQLite.
tests/integration/ingestion/test_faults.py does the same over Neptune and OpenSearch.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.upkeep import repair
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.errors import Conflict, StoreUnavailable
from lexigraph.model.graph import Source
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.dynamodb.registry import DynamoDBRegistry
from lexigraph.storage.protocols import Stores
from lexigraph.storage.sqlite.cache import SqliteContentCache
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.contract.registry_fixtures import aws, aws_server  # noqa: F401  fixtures
from tests.laptop import content, laptop, open_laptop
from tests.standins.aws_server import AwsServer

OWNER = Tenant("default")
TEXT = "# Granite\n\nGranite was built by Tove Lund.\n\nTove Lund lives in Bergen.\n"
OTHER = "# Bergen\n\nBergen lies by the sea. Mira Holm lives in Bergen.\n"


class Counted:
    """A real store. Before a call to any of them ``before`` is done, with all calls so far; then it is carried out."""

    def __init__(self, store: Any, calls: list[str], before: Callable[[list[str]], None]) -> None:
        self._store, self._calls, self._before = store, calls, before

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*given: Any, **options: Any) -> Any:
            self._calls.append(name)
            self._before(self._calls)
            return found(*given, **options)

        return call


@dataclass
class Town:
    """Two documents, of which one is ingested; ``folder`` and ``table`` are where."""

    aws: AwsServer
    folder: Path
    table: str
    opened: list[Stores] = field(default_factory=list)

    def stores(self, lease_seconds: float = 60.0) -> Stores:
        """Open the stores once more."""
        registry = DynamoDBRegistry(self.aws.dynamodb(self.table), lease_seconds=lease_seconds)
        self.opened.append(replace(open_laptop(self.folder / "data"), registry=registry))
        return self.opened[-1]

    def index(self, stores: Stores) -> LexicalGraphIndex:
        """Open an index over stores."""
        return laptop(self.folder / "data", stores)

    @property
    def file(self) -> Path:
        """The document that comes and goes."""
        return self.folder / "a.md"

    def let_leases_run_out(self) -> None:
        """End all leases that somebody holds, and hinder him from renewing them, as if he slept."""
        for item in self.aws.items(self.table):
            if item["sk"]["S"] == "lease" and "holder" in item:
                asleep = {**item, "holder": {"S": "asleep"}, "until": {"N": "0"}}
                self.aws.client("dynamodb").put_item(TableName=self.table, Item=asleep)

    def end_leases(self) -> None:
        """Let nobody hold a lease, as when all terms are over."""
        for item in self.aws.items(self.table):
            if item["sk"]["S"] == "lease" and "holder" in item:
                self.aws.client("dynamodb").delete_item(TableName=self.table, Key={n: item[n] for n in ("pk", "sk")})

    def note_late_writer(self, source_id: str, tenant: Tenant = OWNER) -> None:
        """Have somebody lose the lease of a document."""
        with suppress(Conflict), closing(self.stores()) as one, one.registry.lease(tenant, [source_id]):
            self.let_leases_run_out()
            with closing(self.stores()) as two, two.registry.lease(tenant, [source_id]) as taken:
                assert taken

    def let_time_pass(self, seconds: float) -> None:
        """Make it so long ago that leases were lost."""
        client = self.aws.client("dynamodb")
        for item in self.aws.items(self.table):
            if item["pk"]["S"] == "system#late":
                tenant, at, token = item["sk"]["S"].split("#")
                earlier = {"S": f"{tenant}#{int(at) - int(seconds * 1e6):020d}#{token}"}
                client.put_item(TableName=self.table, Item={**item, "sk": earlier})
                client.delete_item(TableName=self.table, Key={"pk": item["pk"], "sk": item["sk"]})

    def remove_meanwhile(self, gone: list[str]) -> None:
        """Remove the document once its writer's lease has run out, if the registry knows it."""
        self.let_leases_run_out()
        with self.index(self.stores()) as index:
            known = [r.source_id for r in index.documents() if r.uri.endswith("/a.md")]
            gone += known
            if known:
                index.remove(known)

    def close(self) -> None:
        """Close all stores."""
        for stores in self.opened:
            stores.close()


@pytest.fixture
def town(aws: AwsServer, tmp_path: Path) -> Iterator[Town]:  # noqa: F811  # the fixture
    made = Town(aws, tmp_path, "late-" + blake2b(str(tmp_path).encode(), digest_size=8).hexdigest())
    (tmp_path / "b.md").write_text(OTHER)
    made.file.write_text(TEXT)
    made.index(made.stores()).ingest([tmp_path / "b.md"])
    yield made
    made.close()


def take_in(town: Town, before: Callable[[list[str]], None], lease_seconds: float = 6.0) -> list[str]:
    """Take the document in over stores that do something before each call; return the calls."""
    calls: list[str] = []
    real = town.stores(lease_seconds)
    names = ("graph", "vectors", "documents", "cache")
    counted = {name: Counted(getattr(real, name), calls, before) for name in names}
    with suppress(Conflict):
        town.index(replace(real, **counted)).ingest([town.file])
    return calls


def doctor(town: Town, *, repair: bool = False) -> list[str]:
    return [f.problem for f in town.index(town.stores()).repair(dry_run=not repair)]


def different(town: Town, before: dict[str, Any]) -> list[str]:
    """Return in which stores something differs from before."""
    # results of models without an owner wait for one for a week
    with closing(SqliteContentCache(f"sqlite:///{town.folder / 'data'}", unowned_seconds=0.0)) as cache:
        cache.disown(OWNER, ["nobody"])
    now = content(town.opened[0])
    return [name for name in before if now[name] != before[name]]


def wakes_at_every_third_call(town: Town, first: int, lease_seconds: float) -> None:
    before, met, at = content(town.opened[0]), 0, first
    while True:
        gone: list[str] = []

        def sleep(calls: list[str], at: int = at, gone: list[str] = gone) -> None:
            if len(calls) == at:
                town.remove_meanwhile(gone)

        calls = take_in(town, sleep, lease_seconds)
        if len(calls) < at:
            break
        met += bool(gone)
        if not gone:
            town.remove_meanwhile([])  # it was not begun yet, or all was done
        assert (different(town, before), doctor(town)) == ([], []), (at, calls[at - 1])
        at += 3
    assert met > 3


@pytest.mark.nightly
@pytest.mark.parametrize("first", [pytest.param(1, marks=pytest.mark.soak), 2, pytest.param(3, marks=pytest.mark.soak)])
def test_wherever_a_late_writer_wakes_nothing_of_a_removed_document_stays(town: Town, first: int) -> None:
    wakes_at_every_third_call(town, first, 6.0)


@pytest.mark.soak
@pytest.mark.parametrize("first", [1, 2, 3])
def test_wherever_a_writer_wakes_that_learns_at_once_that_it_is_late_nothing_stays(town: Town, first: int) -> None:
    wakes_at_every_third_call(town, first, 0.2)


@pytest.mark.slow
def test_a_late_writer_takes_its_vectors_away_and_fails(town: Town) -> None:
    before, gone = content(town.opened[0]), list[str]()

    def sleep(calls: list[str]) -> None:
        if calls[-1] == "upsert" and not gone:
            town.remove_meanwhile(gone)

    calls = take_in(town, sleep)
    assert gone
    assert "publish" not in calls
    assert different(town, before) == []


def killed_after(town: Town, late: str) -> None:
    """Take the document in, in a process that sleeps before a call while the document is removed, and dies after it."""
    child = os.fork()
    if child == 0:
        gone: list[str] = []

        def sleep_and_die(calls: list[str]) -> None:
            if gone:
                os.kill(os.getpid(), SIGKILL)
            if calls[-1] == late and "stats" in calls:
                town.remove_meanwhile(gone)

        try:
            take_in(town, sleep_and_die)
        finally:
            os._exit(0)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        assert time.monotonic() < deadline, "the process does not end"
        time.sleep(0.02)
    assert os.WIFSIGNALED(ended[1])
    town.end_leases()  # it may have known that it was late, and have begun to clean up


LATE = ["upsert", "write", pytest.param("put", marks=pytest.mark.nightly), pytest.param("tag", marks=pytest.mark.nightly)]


@pytest.mark.slow
@pytest.mark.parametrize("late", LATE)
def test_what_a_late_writer_left_that_was_killed_is_found_and_taken_away(town: Town, late: str) -> None:
    before = content(town.opened[0])
    killed_after(town, late)
    assert different(town, before)
    assert doctor(town) == doctor(town, repair=True) == ["is in a store but not in the registry"]
    assert (different(town, before), doctor(town)) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("late", LATE)
def test_what_a_late_writer_left_that_was_killed_goes_with_a_later_run(town: Town, late: str) -> None:
    before = content(town.opened[0])
    killed_after(town, late)
    stores = town.stores()
    repair.sweep(stores, OWNER)
    assert different(town, before), "it may still be asleep"
    assert stores.registry.late_writers(OWNER, since=0.0)
    repair.sweep(stores, OWNER, since=0.0)
    assert different(town, before) == []
    assert stores.registry.late_writers(OWNER, since=0.0) == []


@pytest.mark.slow
def test_results_that_a_late_writer_noted_as_used_and_was_killed_are_found_and_taken_away(town: Town) -> None:
    before = content(town.opened[0])
    killed_after(town, "own")
    assert different(town, before) == ["cache"]
    problem = ["1 chunks in the cache belong to no document"]
    assert doctor(town) == doctor(town, repair=True) == problem
    assert (different(town, before), doctor(town)) == ([], [])


@pytest.mark.slow
def test_a_quiet_deployment_takes_away_by_itself_what_killed_writers_left(town: Town) -> None:
    before = content(town.opened[0])
    killed_after(town, "upsert")
    steps = Steps(Settings(data=town.folder / "data"), stores=town.stores())
    assert steps.tend() == {"tenants": 0, "late_writers": 0}, "the writer may still be asleep"
    assert different(town, before)
    town.let_time_pass(repair.OVER_SECONDS)
    noted = len(steps.registry.late_writers(OWNER, since=0.0))
    assert steps.tend() == {"tenants": 1, "late_writers": noted}
    assert different(town, before) == []
    assert steps.tend() == {"tenants": 0, "late_writers": 0}


@pytest.mark.slow
def test_a_document_that_a_late_request_took_from_is_told_and_made_whole_by_its_next_ingest(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    stores = town.stores()
    index = town.index(stores)
    index.ingest([town.file])
    whole = content(stores)
    source = index.document("a.md").source_id
    town.note_late_writer(source)
    stores.vectors.delete(OWNER, {"statement": stores.graph.node_ids(OWNER, source).statements[:1]})
    assert repair.sweep(stores, OWNER, since=0.0) == 1
    assert [r.getMessage() for r in caplog.records if r.name == repair.__name__] == [
        f"{source}: 1 vectors are missing; ingest it again"
    ]
    assert (index.document("a.md").state, doctor(town)) == ("READY", ["1 vectors are missing"])
    assert index.ingest([town.file]).documents_updated == 1
    assert (different(town, whole), doctor(town)) == ([], [])


def test_a_document_whose_run_failed_is_told_and_left_to_its_next_ingest(town: Town) -> None:
    stores = town.stores()
    index = town.index(stores)
    index.ingest([town.file])
    record = replace(index.document("a.md"), state="FAILED", reason="the model is gone", intended=())
    stores.registry.save(OWNER, [record])
    town.note_late_writer(record.source_id)
    assert repair.sweep(stores, OWNER, since=0.0) == 1
    kept = index.document("a.md")
    assert (kept.state, kept.reason, kept.fingerprint) == ("FAILED", record.reason, record.fingerprint)


@pytest.mark.nightly
def test_an_error_with_one_tenant_does_not_keep_others_from_being_swept(town: Town) -> None:
    stores = town.stores()
    index = town.index(stores)
    index.ingest([town.file])
    source = index.document("a.md").source_id
    other = Tenant("other")
    for tenant in (OWNER, other):
        town.note_late_writer(source, tenant)

    class Down(SqliteGraphStore):
        """A graph that answers one tenant nothing."""

        def sources(self, tenant: Tenant, source_ids: Sequence[str]) -> dict[str, Source]:
            if tenant == OWNER:
                raise StoreUnavailable("down")
            return super().sources(tenant, source_ids)

    with closing(Down(f"sqlite:///{town.folder / 'data'}")) as graph:
        tenants = stores.registry.late_tenants(since=0.0)
        assert tenants == [OWNER, other]
        with pytest.raises(StoreUnavailable, match="down"):
            repair.tend(replace(stores, graph=graph), tenants, seconds=60.0, since=0.0)
    assert stores.registry.late_tenants(since=0.0) == [OWNER]


@pytest.mark.nightly
def test_a_document_that_came_back_keeps_all_it_has_when_leftovers_are_swept(town: Town) -> None:
    killed_after(town, "upsert")
    town.file.write_text(TEXT.replace("Bergen", "Oslo"))
    town.index(town.stores()).ingest([town.file])
    assert doctor(town) == ["records of another version are left over"]
    repair.sweep(town.stores(), OWNER, since=0.0)
    assert doctor(town) == []
    swept = content(town.opened[0])
    with closing(town.stores()) as stores:
        index = town.index(stores)
        index.remove([index.document("a.md").source_id])
        index.ingest([town.file])
    assert different(town, swept) == []
