"""Telling how an ingest goes: a bar on a terminal, a line every few seconds elsewhere; failures as they happen."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
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
    """Where a run stands, by the events seen so far; ``done`` of ``total`` (0: unknown) is how far its step is."""

    files: int = 0
    files_total: int = 0
    documents: int = 0
    chunks: int = 0
    statements: int = 0
    failed: int = 0
    step: str = "starting"
    done: int = 0
    total: int = 0
    planned: int = 0  # chunks of the documents at work, and how many of them are written
    written: int = 0
    began: float = field(default_factory=time.monotonic)
    embedding: float = 0.0  # when the last embedding began

    def see(self, event: Event) -> None:
        """Take an event into account."""
        match event.stage:
            case "scan_input":
                found = event.detail.get("files", 0)
                self.files_total = event.total
                self._at("reading" if event.total else f"looking for files: {found:,} so far")
            case "hash_computed":
                self.files = event.current
                self._reading()
            case "existing_scan":
                self.planned, self.written = event.detail.get("chunks", 0), 0
            case "build":
                self.written += event.detail["chunks"]
                self.chunks += event.detail["chunks"]
                self.statements += event.detail["statements"]
            case "entity_extraction":
                self._at(_extraction(event), event.current, max(event.total, event.detail.get("expected", 0)))
            case "embedding":
                self.embedding = time.monotonic()
                self._at("embedding" if event.total else "writing")
            case "embedding_progress" if event.current < event.total:
                step, spent = f"embedding {event.current:,}/{event.total:,}", time.monotonic() - self.embedding
                if event.current and (left := round(spent * (event.total - event.current) / event.current)):
                    step += f", {_left(left)}"
                self._at(step, event.current, event.total)
            case "embedding_progress":
                self._at("writing")
            case "documents":
                self.documents = event.current
                self.chunks = event.detail.get("chunks", self.chunks)
                self.statements = event.detail.get("statements", self.statements)
                self._reading()
            case "warning":
                self.failed += not event.detail.get("chunk")

    def _at(self, step: str, done: int = 0, total: int = 0) -> None:
        self.step, self.done, self.total = step, done, total

    def _reading(self) -> None:
        # one file of many documents says nothing about how far it is
        self._at("reading", self.files, self.files_total if self.files_total > 1 else 0)

    @property
    def in_parts(self) -> bool:
        """Whether what is at work is so long that it is written in parts, and for some time no document is finished."""
        return self.planned > PART_CHUNKS

    def line(self) -> str:
        """Return the step, and what is written so far, on one line whose end may be cut."""
        seconds = max(time.monotonic() - self.began, 0.001)
        parts = [self.step]
        if self.in_parts and self.written:
            parts.append(f"{self.written:,} of {self.planned:,} chunks written ({self.written / self.planned:.0%})")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.documents:
            parts.append(f"{counted(self.documents, 'document')} ({self.documents / seconds:.1f}/s)")
        if self.chunks:
            parts.append(counted(self.chunks, "chunk"))
        if self.statements:
            parts.append(f"{counted(self.statements, 'statement')} ({self.statements / seconds:,.0f}/s)")
        return ", ".join(parts)


def _extraction(event: Event) -> str:
    """How far an extraction is: chunks done and known, failures, rate, and the rest of its time, which is not the run's."""
    parts = [f"extraction {event.current:,}/{event.total:,} chunks"]
    if event.detail.get("expected", 0) > event.total:
        parts[0] += f" of about {event.detail['expected']:,}"
    if failed := event.detail.get("failed"):
        parts.append(f"{failed:,} failed")
    if rate := event.detail.get("per_second"):
        parts.append(f"{rate:,.1f}/s")
    if left := event.detail.get("seconds_left"):
        parts.append(f"{_left(left)}, then embedding")
    return ", ".join(parts)


def _left(seconds: int) -> str:
    return f"about {seconds} s left" if seconds < _MINUTES_FROM else f"about {round(seconds / 60):,} min left"


@contextmanager
def telling(console: Console, *, progress: bool = True) -> Iterator[Listener]:
    """Give a listener that shows a run on ``console``; without ``progress`` it shows failures only."""
    if not progress:
        yield _failures_to(console)
    elif console.is_interactive:  # a dumb terminal shows lines
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


class _Bar(Live):
    """A bar over the step at work, with the time since the run began, and a line below it; it goes when the run is over."""

    def __init__(self, console: Console) -> None:
        self._state, self._spinner = Progression(), Spinner("dots")
        self._failures = _failures_to(console)
        super().__init__(console=console, transient=True, refresh_per_second=10, get_renderable=self._shown)

    def see(self, event: Event) -> None:
        """Take an event into account; it is shown at the next tick."""
        self._state.see(event)
        self._failures(event)

    def _shown(self) -> Group:
        state = self._state
        row = Table.grid(padding=(0, 1), expand=True)
        for ratio in (None, None, 1, None):
            row.add_column(ratio=ratio, no_wrap=True)
        files = f"{state.files:,}/{state.files_total:,} files" if state.files_total > 1 else "ingesting"
        bar = ProgressBar(total=state.total or None, completed=state.done)
        row.add_row(self._spinner, files, bar, str(timedelta(seconds=int(time.monotonic() - state.began))))
        return Group(row, Text(state.line(), no_wrap=True, overflow="ellipsis"))
