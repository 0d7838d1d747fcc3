"""What an ingest tells while a language model works: how far it is, also when one call takes long, and what failed where."""

import gc
import re
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lexigraph.cli import progress
from lexigraph.ingestion import events, load, pace, run, versions
from lexigraph.ingestion.events import Event
from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.ingestion.versions import place
from lexigraph.ingestion.workflow.steps import Steps
from lexigraph.model.document import Block, ChunkText, LoadedDocument
from lexigraph.model.tenant import Tenant
from lexigraph.settings import Settings
from lexigraph.storage.files.documents import FileDocumentStore
from tests.laptop import laptop, open_laptop, write_pages
from tests.models import WordEmbedder, model
from tests.standins.llm_server import Reply, ScriptedLLMServer, said
from tests.stepping import begun, drive

PARTS = {name: f"{name} mill grinds the corn of its valley. " * 30 for name in ("Amber", "Birch", "Cedar", "Dover", "Elder")}


def reply_to(body: dict[str, Any]) -> Any:
    """The first sentence of the passage; nothing usable for Cedar, and a long wait for Amber."""
    if "response_format" not in body:
        return "ready"
    name = next(name for name in PARTS if f"{name} mill grinds" in said(body))
    if name == "Cedar":
        return "I would rather not. SECRET"
    statement = {"statement": f"{name} mill grinds the corn of its valley.", "details": [], "entities": [], "facts": []}
    time.sleep(1.2 * (name == "Amber"))
    return {"topics": [{"title": "Mills", "statements": [statement]}], "aliases": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PARTS.items():
        path = tmp_path / "files" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Mills\n\n## {name}\n\n{text}\n")
    return tmp_path / "files"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A slow model, and a clock that goes ten times as fast."""
    monkeypatch.setattr(pace, "_TICK", 0.1)
    monkeypatch.setattr(events, "_SECONDS", 0.4)
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.4)
    with ScriptedLLMServer(reply_to) as opened:
        yield opened


def index_of(server: ScriptedLLMServer, folder: Path, **settings: Any) -> LexicalGraphIndex:
    extractor = LLMExtractor(model(server), concurrency=1)
    made = Settings(data=folder, relations=False, **settings)
    return LexicalGraphIndex(open_laptop(folder), embedder=WordEmbedder(), extractor=extractor, settings=made)


def test_a_second_passes_between_events_and_less_than_five_between_those_kept() -> None:
    assert pace._TICK == 1.0
    assert events._SECONDS + pace._TICK <= 5
    assert progress._LINE_SECONDS + pace._TICK <= 5


@pytest.mark.slow
def test_while_one_call_takes_long_events_keep_coming(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[float, Event]] = []
    index = index_of(server, tmp_path / "data")
    report = index.ingest([folder], on_event=lambda event: seen.append((time.monotonic(), event)))

    steps = [(at, e) for at, e in seen if e.stage == "entity_extraction"]
    gaps = [b - a for (a, _), (b, _) in pairwise(steps)]
    assert max(gaps) < 0.5
    assert len([e for _, e in steps if e.current == 0]) >= 8  # while Amber is waited for
    last = steps[-1][1]
    assert last.current == last.total == report.extracted
    assert last.detail["failed"] == report.chunks_failed > 0
    assert last.detail["per_second"] > 0
    assert last.detail["seconds_left"] == 0
    stored = index.stores.registry.events(Tenant("default"), report.job_id)
    assert len([e for e in stored if e.stage == "entity_extraction"]) >= 3


@pytest.mark.slow
def test_with_files_still_to_read_the_whole_is_a_guess(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    seen: list[Event] = []
    index_of(server, tmp_path / "data", batch_documents=2).ingest([folder], on_event=seen.append)
    steps = [e for e in seen if e.stage == "entity_extraction"]
    assert steps[0].detail["seconds_left"] is None
    assert steps[0].detail["expected"] > steps[0].total
    assert [e.current for e in steps] == sorted(e.current for e in steps)
    assert steps[-1].detail["expected"] == steps[-1].total


@pytest.mark.slow
def test_a_failed_chunk_names_document_place_and_reason_and_no_text(
    server: ScriptedLLMServer, folder: Path, tmp_path: Path
) -> None:
    seen: list[Event] = []
    report = index_of(server, tmp_path / "data").ingest([folder], on_event=seen.append)
    warnings = [e.detail for e in seen if e.stage == "warning"]
    assert len(warnings) == report.chunks_failed == len(report.chunk_failures) > 0
    assert warnings[0]["path"].endswith("/Cedar.md")
    place = r"chunk at characters \d+ to [\d,]+, under Mills > Cedar: the reply was not valid JSON, even after a retry"
    assert re.fullmatch(place, warnings[0]["reason"])
    assert report.chunk_failures[0].reason == warnings[0]["reason"]
    assert "SECRET" not in str(warnings)
    assert "corn" not in str(warnings)


@pytest.mark.slow
def test_a_chunk_that_stands_in_two_documents_fails_in_both(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    (folder / "copy.md").write_bytes((folder / "Cedar.md").read_bytes())
    seen: list[Event] = []
    report = index_of(server, tmp_path / "data").ingest([folder], on_event=seen.append)
    named = {Path(e.detail["path"]).name for e in seen if e.stage == "warning"}
    assert named == {"Cedar.md", "copy.md"}
    assert report.chunks_failed == len(report.chunk_failures)


def test_the_page_of_a_failed_chunk_is_told() -> None:
    text = "Page one.\n\fPage two.\n\fPage three."
    document = LoadedDocument("file:///scan.pdf", "", text, (Block(0, len(text)),), "f")
    assert place(document, ChunkText(0, "", (), "Page two.", 11, 20)) == "characters 11 to 20, page 2"


def test_a_long_document_tells_how_many_of_its_chunks_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (versions, progress):
        monkeypatch.setattr(module, "PART_CHUNKS", 2)
    (tmp_path / "long.md").write_text("\n\n".join(f"{text * 2}\n" for text in PARTS.values()))
    state, shown = progress.Progression(), list[str]()

    def listen(event: Event) -> None:
        state.see(event)
        shown.append(state.line())

    stores, settings = open_laptop(tmp_path / "data"), Settings(data=tmp_path / "data", threads=1)
    index = LexicalGraphIndex(stores, embedder=WordEmbedder(), settings=settings)
    report = index.ingest([tmp_path / "long.md"], on_event=listen)
    assert report.chunks_new > 4
    told = list(dict.fromkeys(m.groups() for line in shown if (m := re.search(r"(\d+) of (\d+) chunks written", line))))
    assert told[0] == ("2", str(report.chunks_new))
    assert told[-1] == (str(report.chunks_new), str(report.chunks_new))
    assert (state.chunks, state.statements) == (report.chunks_new, report.statements_created)


@pytest.mark.usefixtures("server")  # its clock
def test_lines_come_also_while_nothing_happens() -> None:
    console = Console(record=True, width=200, force_terminal=False)
    with progress.telling(console) as listener:
        listener(Event("scan_input", {"files": 1}, 0, 1))
        time.sleep(1.2)
    assert len([line for line in console.export_text().splitlines() if "0/1 files" in line and "reading" in line]) >= 2


@pytest.mark.slow
def test_lines_show_done_and_all_failures_rate_and_the_rest(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    console = Console(record=True, width=200, force_terminal=False)
    with progress.telling(console) as listener:
        index_of(server, tmp_path / "data").ingest([folder], on_event=listener)
    lines = console.export_text().splitlines()
    assert any(re.search(r"extraction \d+/\d+ chunks", line) for line in lines)
    assert any("failed: file:///" in line and "Mills > Cedar" in line for line in lines)
    step = progress._extraction(
        Event("entity_extraction", {"failed": 3, "per_second": 0.8, "seconds_left": 1_620, "expected": 1_450}, 120, 400)
    )
    assert step == "extraction 120/400 chunks of about 1,450, 3 failed, 0.8/s, about 27 min left, then embedding"


def test_a_run_that_breaks_off_leaves_no_thread(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    def stop(event: Event) -> None:
        if event.stage == "entity_extraction" and event.current == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_of(server, tmp_path / "data").ingest([folder], on_event=stop)
    assert not [thread for thread in threading.enumerate() if thread.name == "pace"]


def test_a_refusal_of_the_server_is_the_reason(tmp_path: Path, folder: Path) -> None:
    def script(body: dict[str, Any]) -> Any:
        if "Cedar" in said(body):
            return Reply(status=400, error={"message": "The corn of Cedar is a secret", "code": "content_filter"})
        return reply_to(body) if "Amber" not in said(body) else {"topics": [], "aliases": []}

    with ScriptedLLMServer(script) as server:
        report = index_of(server, tmp_path / "data").ingest([folder])
    assert {f.reason.partition("Cedar: ")[2].partition(": ")[2] for f in report.chunk_failures} == {
        "HTTP 400, content_filter"
    }


def test_step_by_step_a_failed_chunk_is_told_of_alike(server: ScriptedLLMServer, folder: Path, tmp_path: Path) -> None:
    steps = Steps(
        Settings(data=tmp_path / "data", relations=False),
        stores=open_laptop(tmp_path / "data"),
        artefacts=FileDocumentStore(f"file:///{tmp_path}/artefacts"),
        embedder=WordEmbedder(),
        extractor=LLMExtractor(model(server), concurrency=1),
    )
    path = folder / "Cedar.md"
    report = drive(steps, begun(steps, path, "1"), path)
    assert report["chunks_failed"] == len(report["chunk_failures"]) > 0
    assert "under Mills > Cedar: the reply was not valid JSON" in report["chunk_failures"][0]["reason"]
    stored = steps.registry.events(Tenant("default"), report["job_id"])
    assert [e.data["path"] for e in stored if e.stage == "warning"] == [path.resolve().as_uri()] * report["chunks_failed"]


def test_files_are_told_of_before_all_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = write_pages(tmp_path / "files", {name: text[:60] for name, text in PARTS.items()})
    state, steps, told = progress.Progression(), list[str](), threading.Event()

    def slow(*of_scan: Any, **named: Any) -> Iterator[Any]:
        for number, found in enumerate(load.scan(*of_scan, **named)):
            assert number < 2 or told.wait(30)
            yield found

    def listen(event: Event) -> None:
        state.see(event)
        steps.append(state.step)
        if event.stage == "scan_input" and event.detail["files"] == 2:
            told.set()

    monkeypatch.setattr(pace, "_TICK", 0.01)
    monkeypatch.setattr(run, "scan", slow)
    laptop(tmp_path / "data").ingest([pages], on_event=listen)
    assert "looking for files: 2 so far" in steps
    assert state.files == state.files_total == len(PARTS)


def test_the_first_line_comes_after_half_a_second_and_the_next_after_four() -> None:
    now, console = [0.0], Console(record=True, width=200, force_terminal=False)
    lines, shown = progress._Lines(console, lambda: now[0]), list[float]()
    for tenths in range(100):
        now[0] = tenths / 10
        lines.when_due()
        if console.export_text():
            shown.append(now[0])
    assert shown == [0.5, 4.5, 8.5]


@pytest.mark.nightly
def test_of_many_documents_few_are_held_at_a_time(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text("".join(f'{{"id": "{n}", "title": "Mill {n}", "text": "Mill {n} is old."}}\n' for n in range(100)))
    held = list[int]()

    def listen(event: Event) -> None:
        if event.stage == "documents":
            held.append(sum(isinstance(one, LoadedDocument) for one in gc.get_objects()))

    before = sum(isinstance(one, LoadedDocument) for one in gc.get_objects())
    report = laptop(tmp_path / "data", batch_documents=10).ingest([many], on_event=listen)
    assert (report.documents_new, len(held)) == (100, 10)
    assert max(held) - before <= 2 * 10 + 1  # the group that is written, the one before, and the first of the next
