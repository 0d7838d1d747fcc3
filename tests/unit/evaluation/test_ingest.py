"""What `bench ingest` tells of a folder."""

import gzip
import json
from pathlib import Path

import pytest

from lexigraph.evaluation.ingest import STAGES, IngestFigures, measure
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import load_settings


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "guide.md").write_text("# Ferry guide\n\nThe harbour of Ostmark opens at six. Boats leave for Lindholm.\n")
    (folder / "empty.txt").write_text("")
    records = [{"id": str(n), "title": f"Pier {n}", "text": f"Pier {n} was built by Mira Holm."} for n in range(5)]
    with gzip.open(folder / "piers.jsonl.gz", "wt") as lines:
        lines.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def measured(tmp_path: Path, folder: Path, documents: int | None = None) -> IngestFigures:
    return measure(tmp_path / "bench", [folder], load_settings(), documents=documents, cores=1)


def test_counts_rates_stages_and_memory_of_a_folder_are_told(tmp_path, folder):
    found = measured(tmp_path, folder)
    assert (found.documents, found.chunks, found.statements, found.failures) == (6, 6, 7, 1)
    assert found.tokens > 40
    assert found.documents / found.documents_per_second == pytest.approx(found.seconds, rel=0.02, abs=0.01)  # rounded
    assert tuple(found.stages) == STAGES
    # what a busy machine does between two readings of the clock is in no stage, or in two
    assert sum(found.stages.values()) == pytest.approx(found.seconds, rel=0.5, abs=0.5)
    assert found.processor_seconds > 0
    assert found.peak_mb > 50
    assert found.disk_mb > 0


def test_a_number_of_documents_is_taken_of_folders_and_of_files_of_records(tmp_path, folder):
    assert measured(tmp_path, folder, documents=4).documents == 3  # the empty file is one of those that were chosen


def test_nothing_to_take_in_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="nothing to ingest"):
        measured(tmp_path, tmp_path)
