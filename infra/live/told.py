"""What commands tell: steps with their seconds, tables, and failures that say which and why."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Failed(Exception):
    """A step did not do what it has to; the message says which and why."""


def check(holds: bool, says: str) -> None:
    """Raise :class:`Failed` unless it holds."""
    if not holds:
        raise Failed(says)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print what was done and how long it took."""
    began = time.monotonic()
    yield
    say(f"{time.monotonic() - began:6.1f} s  {name}")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201  # what the commands are for


def quote(answer: str, what: str) -> None:
    """Print the lines of an answer that say something."""
    for line in answer.splitlines():
        if what in line:
            say(f"          {line}")


def table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with columns as wide as they need, the last one as it is."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)] if rows else []
    for row in rows:
        say("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip())
