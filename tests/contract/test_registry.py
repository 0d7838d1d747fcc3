"""What every registry promises (storage/protocols.py)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput, NotFound
from lexigraph.model.ids import source_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import DocumentRecord, Registry

A, B = Tenant("a"), Tenant("b")
Opener = Callable[[], Registry]
SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters(exclude_categories=["Cs"]))
)
JSON = st.recursive(
    SCALARS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
same_store = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


def record(uri: str, tenant: Tenant = A, namespace: str = "default", **changes: object) -> DocumentRecord:
    made = DocumentRecord(source_id(tenant, namespace, uri), uri, namespace, uri.title(), "READY")
    return replace(made, **changes)  # type: ignore[arg-type]


def stored(registry: Registry, wanted: DocumentRecord, tenant: Tenant = A) -> DocumentRecord:
    """The record found, without the time of its writing."""
    found = registry.document(tenant, wanted.source_id)
    assert found is not None
    return replace(found, updated_at=wanted.updated_at)


def recent(stamp: str) -> bool:
    at = datetime.fromisoformat(stamp)
    return at.utcoffset() == timedelta(0) and abs(datetime.now(UTC) - at) < timedelta(minutes=10)


def test_a_registry_has_all_methods_of_the_protocol(registry: Registry) -> None:
    assert isinstance(registry, Registry)


# -- documents


def test_a_document_comes_back_as_it_was_saved(registry: Registry) -> None:
    saved = record(
        "file:///ü.md",
        namespace="team",
        title="Übersicht",
        state="FAILED",
        version=3,
        fingerprint="f" * 64,
        metadata={"text": "1", "whole": 1, "broken": 1.0, "true": True, "long": "語" * 100},
        intended=("chunk:2", "chunk:1"),
        extractions={"h1": "e1"},
        chunks=2,
        characters=10**12,
        failed_chunks=1,
        reason='said "no"\n',
    )
    registry.save(A, [saved])
    found = stored(registry, saved)
    assert found == saved
    assert [type(v) for v in found.metadata.values()] == [str, int, float, bool, str]
    assert isinstance(found.intended, tuple)


@same_store
@given(metadata=st.dictionaries(st.text(), SCALARS), intended=st.lists(st.text()))
def test_metadata_keeps_values_and_types(registry: Registry, metadata: dict[str, object], intended: list[str]) -> None:
    saved = record("a.md", metadata=metadata, intended=tuple(intended))
    registry.save(A, [saved])
    found = stored(registry, saved)
    assert found == saved
    assert {k: type(v) for k, v in found.metadata.items()} == {k: type(v) for k, v in metadata.items()}


def test_a_document_that_was_never_saved_is_none(registry: Registry) -> None:
    assert registry.document(A, record("a.md").source_id) is None


def test_saving_sets_the_time_and_replaces_the_whole_record(registry: Registry) -> None:
    registry.save(A, [record("a.md", metadata={"old": 1}, reason="broken", updated_at="1999-01-01T00:00:00+00:00")])
    registry.save(A, [record("a.md", state="BUILDING")])
    found = registry.document(A, record("a.md").source_id)
    assert found is not None
    assert recent(found.updated_at)
    assert (found.state, found.metadata, found.reason) == ("BUILDING", {}, "")
    assert len(registry.documents(A)) == 1


def test_when_one_record_cannot_be_kept_none_is_saved(registry: Registry) -> None:
    with pytest.raises(InvalidInput, match=r"b\.md"):
        registry.save(A, [record("a.md"), record("b.md", metadata={"x": object()})])
    assert registry.documents(A) == []


def test_documents_are_ordered_by_uri_then_id_and_read_page_by_page(registry: Registry) -> None:
    uris = ["b.md", "a.md", "é.md", "Z.md", "a.md.old", "c.md"]
    registry.save(A, [record(uri) for uri in uris])
    pages, after = [], ""
    while page := registry.documents(A, after=after, limit=2):
        pages.append([r.uri for r in page])
        after = page[-1].uri
    assert pages == [["Z.md", "a.md"], ["a.md.old", "b.md"], ["c.md", "é.md"]]


def test_documents_of_one_uri_are_never_parted_by_a_page(registry: Registry) -> None:
    same = [record("b.md", namespace=namespace) for namespace in ("n1", "n2", "n3")]
    registry.save(A, [record("a.md"), *same, record("c.md")])
    first = registry.documents(A, limit=2)
    assert [r.source_id for r in first[1:]] == sorted(r.source_id for r in same)
    assert [r.uri for r in registry.documents(A, after="b.md", limit=2)] == ["c.md"]


def test_documents_of_one_namespace(registry: Registry) -> None:
    registry.save(A, [record("a.md", namespace="x"), record("a.md", namespace="y"), record("b.md", namespace="y")])
    assert [(r.uri, r.namespace) for r in registry.documents(A, namespace="y")] == [("a.md", "y"), ("b.md", "y")]
    assert [r.uri for r in registry.documents(A, namespace="y", after="a.md", limit=1)] == ["b.md"]
    assert registry.documents(A, namespace="z") == []


def test_a_limit_below_one_is_refused(registry: Registry) -> None:
    with pytest.raises(InvalidInput, match="limit must be at least 1, got 0"):
        registry.documents(A, limit=0)
    with pytest.raises(InvalidInput, match="limit must be at least 1, got -1"):
        registry.jobs(A, limit=-1)


def test_fingerprints_of_a_whole_scan_come_at_once(registry: Registry) -> None:
    known = [record(f"{n}.md", fingerprint=f"f{n}", state="READY" if n % 2 else "BUILDING") for n in range(1_000)]
    registry.save(A, known)
    asked = [record(f"{n}.md").source_id for n in range(10_000)]
    found = registry.fingerprints(A, asked)
    assert found == {r.source_id: (r.state, r.fingerprint) for r in known}
    assert registry.fingerprints(A, []) == {}


def test_forgotten_documents_are_gone_and_unknown_ones_passed_over(registry: Registry) -> None:
    registry.save(A, [record("a.md"), record("b.md")])
    registry.forget(A, [record("a.md").source_id, record("never.md").source_id])
    assert [r.uri for r in registry.documents(A)] == ["b.md"]


def test_stats_count_documents_by_state_and_jobs(registry: Registry) -> None:
    registry.save(A, [record("a.md"), record("b.md"), record("c.md", state="FAILED")])
    registry.start_job(A, "ingest", {})
    assert registry.stats(A) == {"BUILDING": 0, "READY": 2, "REMOVING": 0, "FAILED": 1, "jobs": 1}


# -- jobs


def test_a_job_runs_and_is_finished(registry: Registry) -> None:
    job = registry.start_job(A, "ingest", {"paths": ["a", "b"], "options": {"force": True, "depth": 1.0, "none": None}})
    assert (job.kind, job.status, job.result, job.reason) == ("ingest", "RUNNING", {}, "")
    assert recent(job.created_at)
    assert registry.job(A, job.id) == job
    registry.finish_job(A, job.id, "FAILED", {"documents": 1}, "the disk is full")
    done = registry.job(A, job.id)
    assert (done.status, done.result, done.reason) == ("FAILED", {"documents": 1}, "the disk is full")
    assert (done.request, done.created_at) == (job.request, job.created_at)
    assert recent(done.updated_at)


@same_store
@given(
    request=st.dictionaries(st.text(), JSON), result=st.dictionaries(st.text(), JSON), data=st.dictionaries(st.text(), JSON)
)
def test_requests_results_and_events_keep_values_and_types(
    registry: Registry, request: dict[str, object], result: dict[str, object], data: dict[str, object]
) -> None:
    job = registry.start_job(A, "ingest", request)
    registry.add_events(A, job.id, [("stage", data)])
    registry.finish_job(A, job.id, "SUCCEEDED", result)
    found = registry.job(A, job.id)
    # repr tells 1 from 1.0 and True at any depth
    assert repr((found.request, found.result)) == repr((request, result))
    assert repr(registry.events(A, job.id)[0].data) == repr(data)


def test_job_ids_cannot_be_guessed(registry: Registry) -> None:
    ids = {registry.start_job(A, "ingest", {}).id for _ in range(20)}
    assert len(ids) == 20
    assert all(len(i) == 32 and int(i, 16) >= 0 for i in ids)
    assert len({i[:4] for i in ids}) > 15


def test_a_job_started_twice_under_one_id_is_one_job(registry: Registry) -> None:
    first = registry.start_job(A, "ingest", {"paths": ["a"]}, job_id="mine")
    registry.add_events(A, "mine", [("parse", {})])
    again = registry.start_job(A, "ingest", {"paths": ["b"]}, job_id="mine")
    assert (again.id, again.request, again.created_at) == ("mine", {"paths": ["a"]}, first.created_at)
    assert [job.id for job in registry.jobs(A)] == ["mine"]
    assert registry.stats(A)["jobs"] == 1


def test_jobs_come_newest_first(registry: Registry) -> None:
    kinds = [str(n) for n in range(5)]
    for kind in kinds:
        registry.start_job(A, kind, {})
    assert [job.kind for job in registry.jobs(A)] == kinds[::-1]
    assert [job.kind for job in registry.jobs(A, limit=2)] == ["4", "3"]


def test_an_unknown_job_is_not_found(registry: Registry) -> None:
    with pytest.raises(NotFound):
        registry.job(A, "0" * 32)
    with pytest.raises(NotFound):
        registry.add_events(A, "0" * 32, [("scan_input", {})])
    with pytest.raises(NotFound):
        registry.finish_job(A, "0" * 32, "SUCCEEDED", {})
    assert registry.events(A, "0" * 32) == []


def test_events_are_numbered_from_one_and_read_on_from_where_one_stopped(registry: Registry) -> None:
    job, other = registry.start_job(A, "ingest", {}), registry.start_job(A, "ingest", {})
    registry.add_events(A, job.id, [("scan_input", {"files": 3}), ("embedding", {})])
    registry.add_events(A, other.id, [("scan_input", {})])
    registry.add_events(A, job.id, [])
    registry.add_events(A, job.id, [("embedding_progress", {"done": 0.5})])
    events = registry.events(A, job.id)
    assert [(e.seq, e.stage) for e in events] == [(1, "scan_input"), (2, "embedding"), (3, "embedding_progress")]
    assert events[0].data == {"files": 3}
    assert all(recent(e.at) for e in events)
    assert registry.events(A, job.id, after=2) == events[2:]
    assert registry.events(A, job.id, after=3) == []
    assert [registry.job(A, i).seq for i in (job.id, other.id)] == [j.seq for j in reversed(registry.jobs(A))] == [3, 1]


def test_events_of_many_writers_have_no_gaps_and_keep_each_writers_order(open_registry: Opener) -> None:
    clients = [open_registry(), open_registry()]
    job = clients[0].start_job(A, "ingest", {})

    def write(writer: int) -> None:
        for n in range(0, 20, 2):
            clients[writer % 2].add_events(
                A, job.id, [("step", {"writer": writer, "n": n}), ("step", {"writer": writer, "n": n + 1})]
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    events = clients[1].events(A, job.id)
    assert [e.seq for e in events] == list(range(1, 81))
    for writer in range(4):
        assert [e.data["n"] for e in events if e.data["writer"] == writer] == list(range(20))


# -- leases


def test_only_the_leases_that_are_free_are_taken(open_registry: Opener) -> None:
    one, two = open_registry(), open_registry()
    with one.lease(A, ["x", "y", "y"]) as first:
        assert first == {"x", "y"}
        with two.lease(A, ["y", "z"]) as second:
            assert second == {"z"}
        with one.lease(A, ["y"]) as again:
            assert again == frozenset()
        with two.lease(A, ["z"]) as second:
            assert second == {"z"}


def test_leases_are_given_back_at_the_end(open_registry: Opener) -> None:
    one, two = open_registry(), open_registry()
    with one.lease(A, ["x"]):
        pass
    with two.lease(A, ["x"]) as taken:
        assert taken == {"x"}


def test_leases_are_given_back_when_the_work_fails(open_registry: Opener) -> None:
    one, two = open_registry(), open_registry()
    with pytest.raises(ZeroDivisionError), one.lease(A, ["x"]):
        raise ZeroDivisionError
    with two.lease(A, ["x"]) as taken:
        assert taken == {"x"}


def test_whoever_gets_nothing_takes_nothing_from_the_holder(registry: Registry) -> None:
    with registry.lease(A, ["x"]):
        with registry.lease(A, ["x"]) as taken:
            assert not taken
        with registry.lease(A, ["x"]) as taken:
            assert not taken


def test_nothing_asked_for_is_nothing_taken(registry: Registry) -> None:
    with registry.lease(A, []) as taken:
        assert taken == frozenset()


def test_of_many_who_ask_at_once_exactly_one_gets_each_lease(open_registry: Opener) -> None:
    clients = [open_registry(), open_registry()]
    keys = [f"k{n}" for n in range(50)]
    asked, done = Barrier(4), Barrier(4)

    def ask(n: int) -> list[str]:
        asked.wait(60)
        with clients[n % 2].lease(A, keys[n:] + keys[:n]) as taken:
            done.wait(60)
            return list(taken)

    with ThreadPoolExecutor(4) as pool:
        assert sorted(key for taken in pool.map(ask, range(4)) for key in taken) == sorted(keys)


def test_many_leases_are_held_side_by_side_and_outlive_one_another(registry: Registry) -> None:
    with ExitStack() as outer:
        with ExitStack() as inner:
            for n in range(5):
                assert inner.enter_context(registry.lease(A, [f"in{n}"]))
                assert outer.enter_context(registry.lease(A, [f"out{n}"]))
        with registry.lease(A, [f"{where}{n}" for where in ("in", "out") for n in range(5)]) as taken:
            assert taken == {f"in{n}" for n in range(5)}


# -- tenants, clients


def test_two_tenants_share_nothing(registry: Registry) -> None:
    mine = record("a.md")
    registry.save(A, [mine])
    job = registry.start_job(A, "ingest", {})
    registry.add_events(A, job.id, [("scan_input", {})])
    assert registry.document(B, mine.source_id) is None
    assert registry.documents(B) == []
    assert registry.fingerprints(B, [mine.source_id]) == {}
    assert registry.jobs(B) == []
    assert registry.events(B, job.id) == []
    assert registry.stats(B) == {"BUILDING": 0, "READY": 0, "REMOVING": 0, "FAILED": 0, "jobs": 0}
    with pytest.raises(NotFound):
        registry.job(B, job.id)
    with pytest.raises(NotFound):
        registry.add_events(B, job.id, [("scan_input", {})])
    with pytest.raises(NotFound):
        registry.finish_job(B, job.id, "FAILED", {})
    registry.forget(B, [mine.source_id])
    registry.save(B, [replace(mine, title="theirs")])
    with registry.lease(A, ["x"]), registry.lease(B, ["x"]) as taken:
        assert taken == {"x"}
    assert stored(registry, mine) == mine
    assert registry.job(A, job.id) == replace(job, seq=1)
    assert len(registry.events(A, job.id)) == 1


def test_a_lease_that_is_held_lets_its_holder_write_and_leaves_no_late_writer(open_registry: Opener) -> None:
    one, two = open_registry(), open_registry()
    with one.lease(A, ["x"]) as mine:
        assert mine
        with two.lease(A, ["x"]) as taken:
            assert not taken
        one.fence(A, ["x", "somebody else's"])
    with two.lease(A, ["x"]) as taken:
        assert taken
    assert one.late_writers(A, since=0.0) == one.late_tenants(since=0.0) == []


def test_what_was_written_is_there_for_the_next_client(open_registry: Opener) -> None:
    first = open_registry()
    first.save(A, [record("a.md")])
    job = first.start_job(A, "ingest", {})
    first.close()
    second = open_registry()
    assert stored(second, record("a.md")) == record("a.md")
    assert second.job(A, job.id) == job


def test_sums_of_counts_follow_every_save_and_every_removal(registry: Registry) -> None:
    def counting(name: str, **counts: int) -> DocumentRecord:
        return replace(record(name), counts=counts)

    registry.save(A, [counting("a.md", chunks=2, facts=3), counting("b.md", chunks=5)])
    registry.save(A, [counting("a.md", chunks=1, links=4)])
    registry.save(A, [counting("a.md", chunks=1, links=4)])
    registry.save(Tenant("b"), [counting("a.md", chunks=100)])
    found = registry.documents(A)
    assert [dict(r.counts) for r in found] == [{"chunks": 1, "links": 4}, {"chunks": 5}]
    kept = {kind: n for kind, n in registry.counts(A).items() if n}
    assert kept == ({"chunks": 6, "links": 4} if registry.keeps_counts else {})
    registry.forget(A, [record("a.md").source_id, record("nobody.md").source_id])
    registry.forget(A, [record("a.md").source_id])
    assert {k: n for k, n in registry.counts(A).items() if n} == ({"chunks": 5} if registry.keeps_counts else {})
