"""An ingest that is told to stop: what it had finished stays, nothing half built does, and a later one goes on."""

from pathlib import Path

import pytest

from lexigraph.ingestion import events
from lexigraph.ingestion.events import CANCEL, Event
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import Cancelled
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from tests.laptop import open_laptop
from tests.models import WordEmbedder

OWNER = Tenant("default")
FILES = 6


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LexicalGraphIndex:
    monkeypatch.setattr(events, "_LOOK_SECONDS", 0.0)
    write(tmp_path, "Tove Lund keeps the mill of Brackford")
    stores = open_laptop(tmp_path / "data")
    return LexicalGraphIndex(stores, embedder=WordEmbedder(), settings=Settings(data=tmp_path / "data", batch_documents=1))


def write(folder: Path, says: str) -> None:
    (folder / "files").mkdir(exist_ok=True)
    for n in range(FILES):
        (folder / "files" / f"{n}.md").write_text(f"# Page {n}\n\n{says} {n}.\n")


def cancelled_at(index: LexicalGraphIndex, folder: Path, stage: str, after: int = 1) -> str:
    """Ingest, and tell the job to stop at a step that has come so often; return its id."""
    came = [0]

    def told(event: Event) -> None:
        came[0] += event.stage == stage
        if event.stage == stage and came[0] == after:
            running = index.stores.registry.jobs(OWNER, limit=1)[0]
            index.stores.registry.add_events(OWNER, running.id, [(CANCEL, {})])

    with pytest.raises(Cancelled):
        index.ingest([folder / "files"], on_event=told)
    return index.stores.registry.jobs(OWNER, limit=1)[0].id


@pytest.mark.parametrize("stage", ["hash_computed", "entity_extraction", "build", "documents"])
def test_what_was_finished_stays_and_the_rest_leaves_nothing(index: LexicalGraphIndex, tmp_path: Path, stage: str) -> None:
    job = index.stores.registry.job(OWNER, cancelled_at(index, tmp_path, stage, after=3))
    assert (job.status, job.result["error"]) == ("CANCELLED", "cancelled")
    stayed = index.documents()
    assert len(stayed) < FILES
    assert {record.state for record in stayed} <= {"READY"}
    assert len(stayed) == job.result["documents_new"]
    assert index.repair(dry_run=True) == []
    again = index.ingest([tmp_path / "files"])
    assert (again.documents_new, again.documents_unchanged) == (FILES - len(stayed), len(stayed))


def test_an_update_that_is_cancelled_leaves_what_readers_saw(index: LexicalGraphIndex, tmp_path: Path) -> None:
    index.ingest([tmp_path / "files"])
    write(tmp_path, "Mira Holm has bought the mill of Brackford")
    cancelled_at(index, tmp_path, "build")
    records = index.documents()
    assert {(record.state, record.version) for record in records} == {("READY", 1)}
    assert all("Tove Lund" in index.text(record) for record in records)
    assert index.repair(dry_run=True) == []
    assert index.ingest([tmp_path / "files"]).documents_updated == FILES
