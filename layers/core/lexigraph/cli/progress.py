"""Telling how an ingest goes: a bar on a terminal, a line every few seconds elsewhere; failures as they happen."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from lexigraph.cli.output import one_line
from lexigraph.ingestion.events import PART_CHUNKS, Event, Listener
from lexigraph.ingestion.pace import repeating
from lexigraph.model.numbers import counted

_LINE_SECONDS = 4.0
_FIRST_SECONDS = 0.5  # until the first line: what takes less shows none

_MINUTES_FROM = 100


@dataclass(slots=True)
class Progression:
    """Where a run stands, by the events seen so far."""

    files: int = 0
    files_total: int = 0
    documents: int = 0
    chunks: int = 0
    statements: int = 0
    failed: int = 0
    step: str = "starting"
    planned: int = 0  # chunks of the documents at work, and how many of them are written
    written: int = 0
    began: float = field(default_factory=time.monotonic)

    def see(self, event: Event) -> None:
        """Take an event into account."""
        match event.stage:
            case "scan_input":
                found = event.detail.get("files", 0)
                self.files_total = event.total
                self.step = "reading" if event.total else f"looking for files: {found:,} so far"
            case "hash_computed":
                self.files, self.step = event.current, "reading"
            case "existing_scan":
                self.planned, self.written = event.detail.get("chunks", 0), 0
            case "build":
                self.written += event.detail["chunks"]
                self.chunks += event.detail["chunks"]
                self.statements += event.detail["statements"]
            case "entity_extraction":
                self.step = _extraction(event)
            case "embedding":
                self.step = "embedding" if event.total else "writing"
            case "embedding_progress":
                done = event.current >= event.total
                self.step = "writing" if done else f"embedding {event.current:,}/{event.total:,}"
            case "documents":
                self.documents = event.current
                self.chunks = event.detail.get("chunks", self.chunks)
                self.statements = event.detail.get("statements", self.statements)
                self.step = "reading"
            case "warning":
                self.failed += not event.detail.get("chunk")

    @property
    def in_parts(self) -> bool:
        """Whether what is at work is so long that it is written in parts, and for some time no document is finished."""
        return self.planned > PART_CHUNKS

    def line(self) -> str:
        """Return counts, rates and the step on one line."""
        seconds = max(time.monotonic() - self.began, 0.001)
        parts = [
            f"{counted(self.documents, 'document')} ({self.documents / seconds:.1f}/s)",
            counted(self.chunks, "chunk"),
            f"{counted(self.statements, 'statement')} ({self.statements / seconds:,.0f}/s)",
        ]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.in_parts:
            parts.append(f"{self.written:,} of {self.planned:,} chunks written ({self.written / self.planned:.0%})")
        return ", ".join([*parts, self.step])


def _extraction(event: Event) -> str:
    """How far an extraction is: chunks done and known, failures, rate, and the rest of the time."""
    parts = [f"extraction {event.current:,}/{event.total:,} chunks"]
    if event.detail.get("expected", 0) > event.total:
        parts[0] += f" of about {event.detail['expected']:,}"
    if failed := event.detail.get("failed"):
        parts.append(f"{failed:,} failed")
    if rate := event.detail.get("per_second"):
        parts.append(f"{rate:,.1f}/s")
    if left := event.detail.get("seconds_left"):
        parts.append(f"about {left} s left" if left < _MINUTES_FROM else f"about {round(left / 60):,} min left")
    return ", ".join(parts)


@contextmanager
def telling(console: Console, *, progress: bool = True) -> Iterator[Listener]:
    """Give a listener that shows a run on ``console``; without ``progress`` it shows failures only."""
    if not progress:
        yield _failures_to(console)
    elif console.is_terminal:
        with _Bar(console) as bar:
            yield bar.see
    else:
        lines = _Lines(console)
        with repeating(lines.when_due, _FIRST_SECONDS):  # a long file takes its time between two events, too
            yield lines.see


def overwriting(console: Console) -> Callable[[str], None]:
    """Return what shows a line on a terminal, over the one before."""
    return lambda told: console.print(f"{told:<60}", end="\r") if console.is_terminal else None


def _failures_to(console: Console) -> Listener:
    def tell(event: Event) -> None:
        if event.stage == "warning":
            failed = f"failed: {event.detail.get('path', '')}: {event.detail.get('reason', '')}"
            console.print(one_line(failed), soft_wrap=True)

    return tell


class _Lines:
    """A line every few seconds, whether something has happened or not."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock, self._due = console, clock, clock() + _FIRST_SECONDS
        self._state, self._failures = Progression(), _failures_to(console)

    def see(self, event: Event) -> None:
        """Take an event into account, and show a line when it is time."""
        self._state.see(event)
        self._failures(event)
        self.when_due()

    def when_due(self) -> None:
        """Show a line if the run has taken some time, and the last one is some seconds old."""
        if self._clock() >= self._due:
            self._due = self._clock() + _LINE_SECONDS
            state = self._state
            known = f"{state.files:,}/{state.files_total:,} files, {state.line()}" if state.files_total else state.step
            self._console.print(known, soft_wrap=True)


class _Bar(Progress):
    """A bar over the files, with counts, rates and the step below it; it goes when the run is over."""

    def __init__(self, console: Console) -> None:
        self._state = Progression()
        self._failures = _failures_to(console)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=None), TimeElapsedColumn())
        super().__init__(*columns, console=console, transient=True, expand=True)
        self._bar = self.add_task("ingesting", total=None)

    def see(self, event: Event) -> None:
        """Show an event."""
        state = self._state
        state.see(event)
        self._failures(event)
        # one file of many documents says nothing about how far it is
        if state.files_total > 1:
            counted = f"{state.files:,}/{state.files_total:,} files"
            self.update(self._bar, completed=state.files, total=state.files_total, description=counted)
        elif state.in_parts:
            self.update(self._bar, completed=state.written, total=state.planned, description="ingesting")
        else:
            self.update(self._bar, total=None, description="ingesting")

    def get_renderables(self) -> Iterator[RenderableType]:
        """Yield the bar and the line below it."""
        yield self.make_tasks_table(self.tasks)
        yield Text(self._state.line(), no_wrap=True, overflow="ellipsis")
