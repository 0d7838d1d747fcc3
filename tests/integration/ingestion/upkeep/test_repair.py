"""What doctor finds when the stores have come apart, and how they come together again."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.upkeep.repair import Finding, Place, examine_from
from lexigraph.ingestion.workflow.file_run import FileRun
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.graph import Source
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import SourceVersion, VectorRecord
from lexigraph.storage.sqlite.cache import SqliteContentCache
from tests.laptop import content, laptop, open_laptop
from tests.stepping import begun, drive, steps_over
from tests.worlds import said, version

DEFAULT = Tenant("default")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.md").write_text("# Granite\n\nGranite was built by Tove Lund.\n\nTove Lund lives in Bergen.\n")
    (folder / "b.md").write_text("# Bergen\n\nBergen lies by the sea.\n")
    return folder


@pytest.fixture
def index(tmp_path: Path, files: Path) -> LexicalGraphIndex:
    index = laptop(tmp_path / "data")
    index.ingest([files])
    return index


def lose_vectors(index: LexicalGraphIndex, source: str) -> None:
    index.stores.vectors.delete(DEFAULT, {"statement": index.stores.graph.node_ids(DEFAULT, source).statements[:1]})


def lose_labels(index: LexicalGraphIndex, source: str) -> None:
    index.stores.vectors.delete(DEFAULT, {"relation": index.stores.graph.node_ids(DEFAULT, source).chunks})


def leave_labels(index: LexicalGraphIndex, source: str) -> None:
    index.stores.vectors.upsert(DEFAULT, {"relation": [VectorRecord("chunk:" + "9" * 32, "built by", source)]})


def lose_text(index: LexicalGraphIndex, source: str) -> None:
    index.stores.documents.delete(DEFAULT, source)


def leave_a_vector(index: LexicalGraphIndex, source: str) -> None:
    vector = index.models.embedder.embed_questions(["x"])[0]
    index.stores.vectors.upsert(DEFAULT, {"chunk": [VectorRecord("chunk:" + "9" * 32, "x", source, "", vector)]})


def leave_a_text(index: LexicalGraphIndex, source: str) -> None:
    index.stores.documents.put(DEFAULT, source, "text.9", b"old")


def stop_an_update(index: LexicalGraphIndex, source: str) -> None:
    record = index.stores.registry.document(DEFAULT, source)
    assert record is not None
    index.stores.registry.save(DEFAULT, [replace(record, state="BUILDING", title="Half", fingerprint="")])
    shown, live = index.stores.graph.sources(DEFAULT, [source])[source], index.stores.graph.chunk_ids(DEFAULT, source)
    first = dict(list(live.items())[:1])
    index.stores.graph.write(DEFAULT, [SourceVersion(replace(shown, version=2), first)])


def stop_a_removal(index: LexicalGraphIndex, source: str) -> None:
    record = index.stores.registry.document(DEFAULT, source)
    assert record is not None
    index.stores.registry.save(DEFAULT, [replace(record, state="REMOVING")])
    index.stores.graph.withdraw(DEFAULT, [source])


def forget_in_the_registry(index: LexicalGraphIndex, source: str) -> None:
    index.stores.registry.forget(DEFAULT, [source])


DAMAGE: list[tuple[Callable[[LexicalGraphIndex, str], None], str, bool]] = [
    (lose_vectors, "vectors are missing", True),
    (lose_labels, "vectors are missing", True),
    (leave_labels, "left over", True),
    (lose_text, "text is missing", True),
    (leave_a_vector, "left over", True),
    (leave_a_text, "left over", True),
    (stop_an_update, "update was interrupted", True),
    (stop_a_removal, "removal was interrupted", False),
    (forget_in_the_registry, "not in the registry", False),
]


@pytest.mark.parametrize(("damage", "problem", "stays"), DAMAGE, ids=[d[0].__name__ for d in DAMAGE])
def test_damage_is_found_repaired_and_made_good_by_the_next_ingest(
    index: LexicalGraphIndex, files: Path, damage: Callable[[LexicalGraphIndex, str], None], problem: str, stays: bool
) -> None:
    whole = content(index.stores)
    source = index.document("a.md").source_id
    damage(index, source)

    (found,) = index.repair(dry_run=True)
    assert problem in found.problem
    assert (found.source_id, found.repaired) == (source, False)
    (done,) = index.repair()
    assert done.repaired
    shown = set(index.stores.graph.sources(DEFAULT, index.stores.graph.source_ids(DEFAULT)))
    assert (source in shown) is stays
    assert index.document("b.md").source_id in shown

    index.ingest([files])
    assert index.repair(dry_run=True) == []
    assert content(index.stores) == whole


STRANGER = "source:" + "9" * 32


def leave_a_chunk(index: LexicalGraphIndex) -> None:
    leave_a_vector(index, STRANGER)


def leave_words(index: LexicalGraphIndex) -> None:
    leave_labels(index, STRANGER)


def leave_tags(index: LexicalGraphIndex) -> None:
    index.stores.vectors.tag(DEFAULT, [Source(STRANGER, "s3://gone", "default", "Gone")])


def leave_text(index: LexicalGraphIndex) -> None:
    leave_a_text(index, STRANGER)


def leave_nodes(index: LexicalGraphIndex) -> None:
    said_here = {"Life": [said("Tove Lund lived here.", "Tove Lund|Person")]}
    index.stores.graph.write(DEFAULT, [version(DEFAULT, "Gone", said_here)])


LEFT = [leave_a_chunk, leave_words, leave_tags, leave_text, leave_nodes]


@pytest.mark.parametrize("leave", LEFT, ids=[one.__name__ for one in LEFT])
@pytest.mark.parametrize("others", [True, False], ids=["among others", "alone"])
def test_what_is_left_of_a_document_that_nobody_knows_is_found_and_taken_away(
    index: LexicalGraphIndex, leave: Callable[[LexicalGraphIndex], None], others: bool
) -> None:
    if not others:
        index.remove([r.source_id for r in index.documents()])
    whole = content(index.stores)
    leave(index)
    (found,) = index.repair(dry_run=True)
    assert (found.problem, found.remedy) == ("is in a store but not in the registry", "remove it")
    assert content(index.stores) != whole
    (done,) = index.repair()
    assert done == replace(found, repaired=True)
    assert index.repair(dry_run=True) == []
    assert content(index.stores) == whole


def test_names_that_no_document_gives_are_found_and_taken_away(index: LexicalGraphIndex) -> None:
    whole = content(index.stores)
    strays = [VectorRecord(entity_id(DEFAULT, name), name) for name in ("Somebody Removed", "Another")]
    index.stores.vectors.upsert(DEFAULT, {"entity": strays})
    (found,) = index.repair(dry_run=True)
    assert (found.uri, found.problem[:2], found.repaired) == ("names", "2 ", False)
    (done,) = index.repair()
    assert done.repaired
    assert (index.repair(dry_run=True), content(index.stores)) == ([], whole)


@pytest.mark.parametrize("repaired", [False, True])
def test_a_comparison_that_is_stopped_after_every_document_finds_what_one_in_a_piece_finds(
    index: LexicalGraphIndex, repaired: bool
) -> None:
    lose_vectors(index, index.document("a.md").source_id)
    leave_a_text(index, index.document("b.md").source_id)
    leave_nodes(index)
    leave_a_chunk(index)
    index.stores.vectors.upsert(DEFAULT, {"entity": [VectorRecord(entity_id(DEFAULT, "Nobody"), "Nobody")]})
    leave_results(index)
    wanted = [replace(found, repaired=repaired) for found in index.repair(dry_run=True)]
    at, found, calls = Place(), list[Finding](), 0
    while at.part != "done":
        at = Place(**json.loads(json.dumps(asdict(at))))
        at, some = examine_from(index.stores, DEFAULT, at, repair=repaired, cache=True, seconds=0.0)
        found += some
        calls += 1
        assert len(some) <= 1
    assert (len(wanted), calls > len(wanted)) == (6, True)
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert [one.problem for one in index.repair(dry_run=True)] == (
        ["1 vectors are missing"] if repaired else [one.problem for one in wanted]
    ), "what is lost comes back with the next ingest"


def leave_results(index: LexicalGraphIndex) -> None:
    index.stores.cache.put_many(DEFAULT, "extraction:x", {"k": b"what a removed document said"})
    index.stores.cache.own(DEFAULT, {"chunk:" + "9" * 32: [("extraction:x", "k")]})


def test_results_that_are_kept_for_chunks_of_no_document_are_found_and_taken_away(index: LexicalGraphIndex) -> None:
    whole = content(index.stores)
    leave_results(index)
    (found,) = index.repair(dry_run=True)
    assert (found.uri, found.problem) == ("results", "1 chunks in the cache belong to no document")
    assert index.stores.cache.get_many(DEFAULT, "extraction:x", ["k"])
    (done,) = index.repair()
    assert done == replace(found, repaired=True)
    assert (index.repair(dry_run=True), content(index.stores)) == ([], whole)


def test_results_in_a_cache_that_other_databases_may_use_are_left_alone(tmp_path: Path, files: Path) -> None:
    shared = f"sqlite:///{tmp_path / 'shared'}"
    with closing(SqliteContentCache(shared)) as cache:
        index = laptop(tmp_path / "data", replace(open_laptop(tmp_path / "data"), cache=cache), cache=shared)
        index.ingest([files])
        leave_results(index)
        assert index.repair() == []
        assert index.stores.cache.get_many(DEFAULT, "extraction:x", ["k"])


def test_many_strays_are_found_page_by_page(index: LexicalGraphIndex) -> None:
    sources = [f"source:{n:032x}" for n in range(1, 1_200)]
    index.stores.vectors.upsert(
        DEFAULT, {"relation": [VectorRecord(f"chunk:{n:032x}", "x", s) for n, s in enumerate(sources)]}
    )
    assert [f.source_id for f in index.repair(dry_run=True)] == sources


def built(index: LexicalGraphIndex, file: Path, data: Path) -> tuple[Steps, FileRun]:
    """Take a new file in step by step, up to where it is built and not yet shown."""
    file.write_text("# Basalt\n\nMira Holm stores Basalt.\n")
    steps = steps_over(data, index.stores)
    run = begun(steps, file, "1")
    steps.parse(run, file)
    steps.chunk(run)
    steps.extract(run, 0)
    steps.build(run, 0)
    return steps, run


def test_a_document_between_two_steps_of_its_run_is_passed_over(
    index: LexicalGraphIndex, files: Path, tmp_path: Path
) -> None:
    steps, run = built(index, files / "c.md", tmp_path / "data")
    assert index.repair() == []
    steps.finish(run, 0)
    steps.close(run)
    assert index.repair(dry_run=True) == []
    assert index.document("c.md").state == "READY"


def test_a_run_that_failed_between_two_steps_is_found(index: LexicalGraphIndex, files: Path, tmp_path: Path) -> None:
    steps, run = built(index, files / "c.md", tmp_path / "data")
    steps.registry.finish_job(DEFAULT, run.job_id, "FAILED", {}, "stopped")
    assert [f.problem for f in index.repair(dry_run=True)] == ["its ingest never finished"]


def test_a_run_that_is_driven_on_after_its_document_was_repaired_builds_it_again(
    index: LexicalGraphIndex, files: Path, tmp_path: Path
) -> None:
    steps, run = built(index, files / "a.md", tmp_path / "data")
    steps.fail(run, "stopped")
    assert [f.problem for f in index.repair()] == ["the registry and the graph differ"]
    assert steps.fail(run, "driven on") is False
    drive(steps, run, files / "a.md")
    assert index.repair(dry_run=True) == []
    assert index.document("a.md").state == "READY"
    found = content(index.stores)
    other = laptop(tmp_path / "other")
    other.ingest([files])
    assert found == content(other.stores)


@pytest.mark.parametrize("state", ["BUILDING", "FAILED"])
def test_a_run_that_failed_and_was_driven_on_is_passed_over(
    index: LexicalGraphIndex, files: Path, tmp_path: Path, state: str
) -> None:
    steps, run = built(index, files / "c.md", tmp_path / "data")
    if state == "FAILED":
        assert [steps.fail(run, "stopped"), steps.fail(run, "driven on")] == [True, False]
    assert index.document("c.md").state == state
    assert index.repair() == []


def test_a_healthy_database_has_no_findings(index: LexicalGraphIndex) -> None:
    before = content(index.stores)
    assert index.repair() == []
    assert content(index.stores) == before


def test_a_registry_that_knows_nothing_removes_nothing(index: LexicalGraphIndex, tmp_path: Path) -> None:
    before = content(index.stores)
    stranger = laptop(tmp_path / "other")
    mixed = replace(index.stores, registry=stranger.stores.registry)
    (found,) = laptop(tmp_path / "data", mixed).repair()
    assert "LEXIGRAPH_REGISTRY" in found.remedy
    assert not found.repaired
    assert content(index.stores) == before


def test_a_lost_graph_is_built_again_by_the_next_ingest(index: LexicalGraphIndex, files: Path, tmp_path: Path) -> None:
    whole = content(index.stores)
    fresh = laptop(tmp_path / "other")
    mixed = replace(index.stores, graph=fresh.stores.graph)
    again = laptop(tmp_path / "data", mixed)
    report = again.ingest([files])
    assert report.documents_unchanged == 0
    assert content(mixed) == whole
