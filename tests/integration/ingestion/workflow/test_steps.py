"""An ingest step by step equals the ingest in process: repeated, killed anywhere, overtaken, in any order."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from lexigraph.ingestion.workflow.file_run import FileRun, Superseded, begin
from lexigraph.ingestion.workflow.steps import BATCH_CHUNKS, Steps
from lexigraph.model.errors import Conflict, StoreUnavailable
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.common.no_cache import NoCache
from lexigraph.storage.files.documents import FileDocumentStore
from tests.files import section
from tests.laptop import content, laptop, open_laptop
from tests.models import SentenceExtractor, WordEmbedder
from tests.stepping import DEFAULT, begun, drive, killed_at, once, steps_over, twice

LONG = "\n".join(
    section(
        f"Room {n}",
        f"The Harbour Office keeps Granite {n} in room {n}. Tove Lund built Granite {n} with Mira Holm.",
        f"Room {n} is dry and Basalt {n} lies in it.",
    )
    for n in range(40)
)
FIRST = {
    "harbour.md": f"# Harbour Office\n\nThe Harbour Office runs Lighthouse.\n\n{LONG}\n",
    "lighthouse.md": "# Lighthouse\n\nLighthouse stores its data in Granite.\n\nMira Holm leads the Harbour Office.\n",
    "people.jsonl": "\n".join(
        json.dumps({"id": name, "text": f"{name} leads the Harbour Office. {name} met Tove Lund."})
        for name in ("Mira Holm", "Anna Berg", "Kai Sund")
    ),
}
SECOND = {
    **FIRST,
    "harbour.md": FIRST["harbour.md"].replace("in room 7.", "in the cellar.").replace("Basalt 9", "Slate 9"),
    "people.jsonl": "\n".join(FIRST["people.jsonl"].splitlines()[:2]).replace("met Tove Lund", "knows Granite"),
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    write(folder, FIRST)
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


def extracted(steps: Steps, path: Path) -> FileRun:
    """Begin a run, and bring the file of one batch up to what is built of it."""
    run = begun(steps, path, "1")
    steps.parse(run, path)
    steps.chunk(run)
    steps.extract(run, 0)
    return run


@pytest.mark.nightly
@pytest.mark.parametrize("do", [once, twice])
def test_files_brought_in_step_by_step_equal_those_ingested_in_process(tmp_path: Path, files: Path, do) -> None:
    whole, steps = laptop(tmp_path / "whole"), steps_over(tmp_path / "steps")
    for edition, texts in enumerate((FIRST, SECOND)):
        write(files, texts)
        report = whole.ingest([files])
        results = [drive(steps, begun(steps, path, f"{edition:04d}"), path, do) for path in sorted(files.iterdir())]
        assert content(steps.stores) == content(whole.stores)
        for name in ("documents_new", "documents_updated", "documents_removed", "chunks_new", "extracted"):
            assert sum(r[name] for r in results) == getattr(report, name), name
    assert steps.artefact_store.sources(DEFAULT) == []


class Counted(FileDocumentStore):
    """Counts how often each file is read."""

    reads: ClassVar[Counter[str]] = Counter()

    def get(self, tenant: Tenant, source_id: str, name: str) -> bytes:
        self.reads[name] += 1
        return super().get(tenant, source_id, name)


def test_what_a_batch_found_is_read_once_however_large_the_file(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data", artefacts=Counted), files / "harbour.md"
    result = drive(steps, begun(steps, path, "1"), path)
    read = {name: n for name, n in Counted.reads.items() if name.startswith("result.")}
    assert len(read) == -(-result["chunks_new"] // BATCH_CHUNKS) > 1
    # `extract` looks whether its own is there already
    assert set(read.values()) == {2}


def test_an_unchanged_file_and_unchanged_chunks_cost_no_model_call(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "harbour.md"
    drive(steps, begun(steps, path, "1"), path)
    path.write_text(SECOND["harbour.md"])

    changed = drive(steps, begun(steps, path, "2"), path)
    same = drive(steps, begun(steps, path, "3"), path)

    assert 0 < changed["extracted"] <= 2
    assert (changed["documents_updated"], changed["chunks_new"]) == (1, changed["extracted"])
    assert (same["extracted"], same["embedded"], same["documents_unchanged"]) == (0, 0, 1)


def test_a_run_that_is_overtaken_stops_before_it_writes_and_says_so(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "lighthouse.md"
    old = extracted(steps, path)
    path.write_text("# Lighthouse\n\nLighthouse moved to Basalt.\n")
    new = begun(steps, path, "2")

    with pytest.raises(Superseded):
        steps.build(old, 0)
    drive(steps, new, path)

    job = steps.registry.job(DEFAULT, old.job_id)
    assert (job.status, job.result["superseded_by"]) == ("FAILED", new.job_id)
    whole = laptop(tmp_path / "whole")
    whole.ingest([path])
    assert content(steps.stores)["graph"] == content(whole.stores)["graph"]


def test_a_job_that_waits_for_a_file_of_which_a_newer_state_was_claimed_ends_and_says_so(tmp_path: Path) -> None:
    registry = open_laptop(tmp_path).registry
    first, second = (registry.start_job(DEFAULT, "ingest", {"paths": ["s3://a/b.md"]}) for _ in range(2))
    newer = begin(registry, DEFAULT, "default", "s3://a/b.md", "md", "2", kind="ingest", job_id=second.id)
    assert newer is not None

    assert begin(registry, DEFAULT, "default", "s3://a/b.md", "md", "1", kind="ingest", job_id=first.id) is None
    assert begin(registry, DEFAULT, "default", "s3://a/b.md", "md", "2", kind="ingest", job_id=second.id) == newer

    over = registry.job(DEFAULT, first.id)
    assert (over.status, over.result) == ("FAILED", {"superseded_by": second.id})
    assert registry.job(DEFAULT, second.id).status == "RUNNING"


@pytest.mark.parametrize("built", [False, True])
def test_a_newer_run_takes_over_from_one_that_was_overtaken_between_build_and_finish(
    tmp_path: Path, files: Path, built: bool
) -> None:
    whole, steps, path = laptop(tmp_path / "whole"), steps_over(tmp_path / "data"), files / "harbour.md"
    drive(steps, begun(steps, path, "1"), path)
    path.write_text(SECOND["harbour.md"].replace("Mira Holm", "Kai Sund"))
    middle = begun(steps, path, "2")
    work = [steps.parse(middle, path), steps.chunk(middle)][1]
    for batch in range(work["batches"]):
        steps.extract(middle, batch)
    path.write_text(SECOND["harbour.md"])
    newest = begun(steps, path, "3") if not built else None
    if built:
        steps.build(middle, 0)
        newest = begun(steps, path, "3")
    assert newest is not None

    result = drive(steps, newest, path)
    with pytest.raises(Superseded):
        steps.finish(middle, 0)

    whole.ingest([files / "harbour.md"])
    assert content(steps.stores)["graph"] == content(whole.stores)["graph"]
    assert content(steps.stores)["texts"] == content(whole.stores)["texts"]
    assert result["documents_updated"] == 1


def test_a_document_that_another_run_began_to_write_after_it_was_chunked_is_chunked_again_whole(
    tmp_path: Path, files: Path
) -> None:
    whole, path = laptop(tmp_path / "whole"), files / "harbour.md"
    # with a cache that remembers the extractions nothing would be missing
    steps = steps_over(tmp_path / "data", replace(open_laptop(tmp_path / "data"), cache=NoCache()))
    drive(steps, begun(steps, path, "1"), path)
    path.write_text(SECOND["harbour.md"].replace("Mira Holm", "Kai Sund"))
    slow = begun(steps, path, "2")
    steps.parse(slow, path)
    for batch in range(steps.chunk(slow)["batches"]):
        steps.extract(slow, batch)
    path.write_text(SECOND["harbour.md"])
    # the slow run's claim is read before, its writes come after the newer one has cut its chunks
    fast = begun(steps, path, "3")
    steps.parse(fast, path)
    steps.chunk(fast)
    record = steps.registry.document(DEFAULT, fast.key)
    assert record is not None
    steps.registry.save(DEFAULT, [replace(record, state="BUILDING", fingerprint="")])

    drive(steps, fast, path)

    whole.ingest([path])
    assert content(steps.stores)["graph"] == content(whole.stores)["graph"]
    assert steps.registry.job(DEFAULT, fast.job_id).status == "SUCCEEDED"
    cut = [e.data["batches"] for e in steps.registry.events(DEFAULT, fast.job_id) if e.stage == "existing_scan"]
    assert 0 < cut[0] < cut[1]


def test_events_told_twice_and_out_of_order_begin_one_run_of_the_newest_state(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "lighthouse.md"
    newest = begun(steps, path, "2")

    again = begin(steps.registry, DEFAULT, "default", newest.uri, "md", "2", kind="ingest")
    late = begin(steps.registry, DEFAULT, "default", newest.uri, "md", "1", kind="ingest")

    assert (again, late) == (newest, None)
    assert len(steps.registry.jobs(DEFAULT)) == 1


def test_a_removal_takes_all_documents_of_a_file_and_a_late_older_run_brings_none_back(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "people.jsonl"
    empty = content(steps.stores)
    old = extracted(steps, path)
    steps.build(old, 0)
    removal = begin(steps.registry, DEFAULT, "default", old.uri, "", "2", kind="remove")
    assert removal is not None

    assert steps.remove(removal) == {"documents_removed": 3}
    assert steps.remove(removal) == {"documents_removed": 3}
    with pytest.raises(Superseded):
        steps.finish(old, 0)

    assert content(steps.stores) == {**empty, "cache": content(steps.stores)["cache"]}


def test_a_document_removed_between_build_and_finish_stays_away(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "lighthouse.md"
    run = extracted(steps, path)
    steps.build(run, 0)
    job = steps.registry.start_job(DEFAULT, "remove", {})

    assert steps.remove_documents(DEFAULT, job.id, [run.key]) == {"documents_removed": 1}
    steps.finish(run, 0)
    steps.close(run)

    assert steps.registry.documents(DEFAULT) == []
    assert steps.stores.graph.stats(DEFAULT)["statements"] == 0


def test_a_removal_between_build_and_finish_of_a_document_that_shares_facts_leaves_what_the_other_says(
    tmp_path: Path, files: Path
) -> None:
    whole, steps, path = laptop(tmp_path / "whole"), steps_over(tmp_path / "data"), files / "lighthouse.md"
    shared = begun(steps, files / "people.jsonl", "1")
    drive(steps, shared, files / "people.jsonl")
    run = extracted(steps, path)
    steps.build(run, 0)
    removal = begin(steps.registry, DEFAULT, "default", shared.uri, "", "2", kind="remove")
    assert removal is not None
    steps.remove(removal)
    steps.finish(run, 0)
    steps.close(run)

    whole.ingest([path])
    for kept in ("graph", "vectors", "registry", "texts"):
        assert content(steps.stores)[kept] == content(whole.stores)[kept]


def test_steps_outside_the_network_of_graph_and_vectors_open_neither(tmp_path: Path, files: Path) -> None:
    data, path = tmp_path / "data", files / "lighthouse.md"
    nowhere = "sqlite:////dev/null/nowhere"
    steps = Steps(
        Settings(data=data, graph_store=nowhere, vector_store=nowhere),
        embedder=WordEmbedder(),
        extractor=SentenceExtractor(),
    )
    run = begun(steps, path, "1")

    assert steps.parse(run, path) == {"parts": 1}
    assert steps.chunk(run) == {"batches": 1, "parts": [0]}
    steps.extract(run, 0)

    with pytest.raises(StoreUnavailable):
        steps.build(run, 0)


def test_a_step_waits_its_turn_while_another_process_holds_the_document(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "lighthouse.md"
    run = extracted(steps, path)
    with steps.registry.lease(DEFAULT, [run.key]), pytest.raises(Conflict):
        steps.build(run, 0)
    steps.build(run, 0)


def test_a_failed_run_says_why_and_goes_on_when_it_is_driven_again(tmp_path: Path, files: Path) -> None:
    whole, steps, path = laptop(tmp_path / "whole"), steps_over(tmp_path / "data"), files / "harbour.md"
    run = begun(steps, path, "1")
    steps.parse(run, path)
    steps.chunk(run)
    steps.note(run, "extract", Conflict("the model was busy"))

    assert steps.fail(run, "States.TaskFailed")
    failed = steps.registry.document(DEFAULT, run.key)
    assert failed is not None
    assert (failed.state, failed.reason) == ("FAILED", "the model was busy")
    assert steps.registry.job(DEFAULT, run.job_id).reason == "the model was busy"

    assert not steps.fail(run, "driven on")
    drive(steps, run, path)
    whole.ingest([path])
    assert content(steps.stores) == content(whole.stores)


def test_a_failed_update_leaves_readers_what_they_saw(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "harbour.md"
    drive(steps, begun(steps, path, "1"), path)
    before = steps.stores.graph.stats(DEFAULT)
    path.write_text(SECOND["harbour.md"])
    run = begun(steps, path, "2")
    work = [steps.parse(run, path), steps.chunk(run)][1]
    for batch in range(work["batches"]):
        steps.extract(run, batch)
    steps.build(run, 0)

    steps.fail(run, "Sandbox.Timedout")

    record = steps.registry.document(DEFAULT, run.key)
    assert record is not None
    assert (record.state, record.reason, record.version) == ("FAILED", "Sandbox.Timedout", 1)
    assert steps.stores.graph.stats(DEFAULT) == before


def test_a_file_that_cannot_be_read_ends_with_its_reason_and_takes_nothing_away(tmp_path: Path, files: Path) -> None:
    steps, path = steps_over(tmp_path / "data"), files / "lighthouse.md"
    drive(steps, begun(steps, path, "1"), path)
    path.write_bytes(b"")

    result = drive(steps, begun(steps, path, "2"), path)

    assert result["failures"] == [{"uri": "lighthouse.md", "reason": "is empty"}]
    assert steps.stores.graph.stats(DEFAULT)["sources"] == 1


def disturbed(tmp_path: Path, files: Path, calls: range) -> int:
    """Kill an update at each of these calls to a store and run it again; return how many were killed at work."""
    whole, path = laptop(tmp_path / "whole"), files / "harbour.md"
    path.write_text(FIRST["harbour.md"].partition("## Room 6")[0])
    whole.ingest([path])
    path.write_text(path.read_text().replace("in room 3.", "in the cellar."))
    whole.ingest([path])
    expected, caught = content(whole.stores), 0
    for call in calls:
        folder = tmp_path / f"killed-{call}"
        path.write_text(path.read_text().replace("in the cellar.", "in room 3."))
        steps = steps_over(folder)
        drive(steps, begun(steps, path, "1"), path)
        path.write_text(path.read_text().replace("in room 3.", "in the cellar."))
        run = begun(steps, path, "2")
        steps.stores.close()
        caught += killed_at(call, folder, run, path)
        again = steps_over(folder)
        drive(again, run, path)
        assert content(again.stores) == expected, f"killed at call {call}"
        again.stores.close()
    return caught


@pytest.mark.nightly
def test_an_update_killed_at_some_calls_to_a_store_and_driven_on_equals_an_undisturbed_one(tmp_path, files) -> None:
    calls = range(4, 60, 9)
    assert disturbed(tmp_path, files, calls) == len(calls)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(4))
def test_an_update_killed_at_any_call_to_a_store_and_driven_on_equals_an_undisturbed_one(tmp_path, files, first) -> None:
    calls = range(1 + first, 90, 4)
    assert disturbed(tmp_path, files, calls) > len(calls) // 2
