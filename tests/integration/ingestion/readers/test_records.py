"""Files that hold many documents: what a newer file holds no more leaves with its next ingest, and nothing else does."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.remove import remove_all
from lexigraph.model.tenant import Tenant
from tests.integration.ingestion.test_crashes import kill_after, run
from tests.laptop import content, laptop, open_laptop

DEFAULT = Tenant("default")
ROCKS = ("Granite", "Basalt", "Slate", "Marble")


@pytest.fixture
def index(tmp_path: Path) -> LexicalGraphIndex:
    return laptop(tmp_path / "data")


def write(path: Path, names: Sequence[str], *more: str) -> Path:
    """Write a record a name; ``more`` are lines as they are."""
    records = [{"id": name, "text": f"{name} was cut by Tove Lund."} for name in names]
    if path.suffix == ".json":
        path.write_text(json.dumps(records))
    else:
        path.write_text("\n".join([*map(json.dumps, records), *more]))
    return path


def ids(index: LexicalGraphIndex, **where: str) -> set[str]:
    return {d.uri.rpartition("#")[2] for d in index.documents(**where)}


@pytest.mark.parametrize("name", ["rocks.jsonl", "rocks.json"])
@pytest.mark.parametrize("incremental", [True, False])
def test_records_that_a_newer_file_does_not_hold_leave_every_store(tmp_path: Path, name: str, incremental: bool) -> None:
    index, calm = laptop(tmp_path / "data"), laptop(tmp_path / "calm")
    index.ingest([write(tmp_path / name, ROCKS)])
    report = index.ingest([write(tmp_path / name, ROCKS[:2])], incremental=incremental)
    assert report.documents_removed == 2
    calm.ingest([tmp_path / name])
    assert content(index.stores) == content(calm.stores)


def test_records_that_stay_cost_nothing(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.ingest([write(tmp_path / "rocks.jsonl", ROCKS)])
    report = index.ingest([write(tmp_path / "rocks.jsonl", ROCKS[1:])])
    assert (report.documents_removed, report.documents_unchanged, report.model_calls) == (1, 3, 0)
    assert {d.version for d in index.documents()} == {1}
    revision = index.stores.registry.revision(DEFAULT)
    assert index.ingest([tmp_path / "rocks.jsonl"]).documents_removed == 0
    assert index.stores.registry.revision(DEFAULT) == revision


def test_a_record_leaves_only_its_own_file_and_namespace(index: LexicalGraphIndex, tmp_path: Path) -> None:
    (tmp_path / "rocks.jsonl#more.md").write_text("Chalk is white.")
    write(tmp_path / "rocks.jsonl.json", ROCKS)
    write(tmp_path / "rocks.jsonl", ROCKS)
    index.ingest([tmp_path], namespace="one")
    index.ingest([tmp_path], namespace="two")
    index.ingest([tmp_path], tenant="b", namespace="one")
    index.ingest([write(tmp_path / "rocks.jsonl", ROCKS[:1])], namespace="one")
    assert len(index.documents(namespace="one")) == 1 + 4 + 1
    assert len(index.documents(namespace="two")) == len(index.documents(tenant="b")) == 1 + 4 + 4


def test_a_file_that_is_gone_or_holds_nothing_keeps_its_records(index: LexicalGraphIndex, tmp_path: Path) -> None:
    path = write(tmp_path / "rocks.jsonl", ROCKS)
    index.ingest([tmp_path])
    path.write_text("")
    assert index.ingest([tmp_path]).failures
    path.unlink()
    index.ingest([tmp_path])
    assert ids(index) == {*ROCKS}


def test_a_record_that_cannot_be_read_is_not_taken_for_one_that_is_gone(index: LexicalGraphIndex, tmp_path: Path) -> None:
    path = write(tmp_path / "rocks.jsonl", ROCKS)
    index.ingest([path])
    # no longer JSON: it may be any of those that are missing
    write(path, ROCKS[:1], '{"id": "Basalt", "te')
    assert (index.ingest([path]).documents_removed, ids(index)) == (0, {*ROCKS})
    # without text, but it says which it is
    write(path, ROCKS[:1], '{"id": "Basalt", "text": ""}')
    assert (index.ingest([path]).documents_removed, ids(index)) == (2, {"Granite", "Basalt"})


def test_a_json_file_may_turn_from_one_document_into_many_and_back(index: LexicalGraphIndex, tmp_path: Path) -> None:
    path = tmp_path / "rocks.json"
    path.write_text('{"rock": "Granite is old."}')
    index.ingest([path])
    index.ingest([write(path, ROCKS)])
    assert ids(index) == {*ROCKS}
    path.write_text('{"rock": "Granite is old."}')
    assert index.ingest([path]).documents_removed == 4
    assert {d.uri for d in index.documents()} == {path.as_uri()}


def test_a_record_that_was_written_again_meanwhile_stays(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.ingest([write(tmp_path / "rocks.jsonl", ROCKS)])
    known = {d.source_id: d.updated_at for d in index.documents()}
    again = index.documents()[0]
    index.stores.registry.save(DEFAULT, [replace(again, title="Newer")])
    known[again.source_id] = "an earlier time"
    assert remove_all(index.stores, DEFAULT, list(known), known) == 3
    assert [d.title for d in index.documents()] == ["Newer"]


@pytest.mark.parametrize("back", [False, True])
def test_a_removal_that_was_interrupted_goes_on_with_the_next_ingest(tmp_path: Path, back: bool) -> None:
    index, calm = laptop(tmp_path / "data"), laptop(tmp_path / "calm")
    index.ingest([write(tmp_path / "rocks.jsonl", ROCKS)])
    gone = next(d for d in index.documents() if d.uri.endswith("#Marble"))
    index.stores.registry.save(DEFAULT, [replace(gone, state="REMOVING", fingerprint="")])
    index.stores.graph.withdraw(DEFAULT, [gone.source_id])
    write(tmp_path / "rocks.jsonl", ROCKS if back else ROCKS[:3])
    index.ingest([tmp_path / "rocks.jsonl"])
    calm.ingest([tmp_path / "rocks.jsonl"])
    assert content(index.stores) == content(calm.stores)


@pytest.mark.nightly
@pytest.mark.parametrize("rounds", [pytest.param(3, marks=pytest.mark.slow), pytest.param(12, marks=pytest.mark.soak)])
def test_an_ingest_killed_while_records_leave_and_run_again_equals_an_undisturbed_one(tmp_path: Path, rounds: int) -> None:
    many = [f"Rock {n}" for n in range(60)]
    corpus, calm = tmp_path / "rocks.jsonl", tmp_path / "calm"
    laptop(calm).ingest([write(corpus, many)])
    write(corpus, many[::3], '{"id": "new", "text": "Chalk was cut by Mira Holm."}')
    took = run("ingest", calm, corpus)
    expected = content(open_laptop(calm))
    assert len(expected["registry"]) == 21
    caught = 0
    for at in range(rounds):
        data = tmp_path / f"data-{at}"
        laptop(data).ingest([write(corpus, many)])
        write(corpus, many[::3], '{"id": "new", "text": "Chalk was cut by Mira Holm."}')
        caught += kill_after(took * at / rounds, "ingest", data, corpus)
        run("ingest", data, corpus)
        assert content(open_laptop(data)) == expected, f"round {at}"
    assert caught > 0, "no run was killed while at work"
