"""The real command line, in a process of its own or in this one."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from typer.testing import CliRunner

from lexigraph.cli.main import app

LEXIGRAPH = Path(sys.executable).with_name("lexigraph")


@dataclass(frozen=True)
class Outcome:
    """What a command printed and said with its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaints(self) -> list[str]:
        return self.err.splitlines()


def here(*arguments: str | Path, cwd: Path | str = ".", stdin: str = "", env: dict[str, str] | None = None) -> Outcome:
    """Run a command in this process, with ``cwd`` as its current folder."""
    clean = dict.fromkeys(_settings())
    with contextlib.chdir(cwd):
        found = CliRunner().invoke(
            app, [str(a) for a in arguments], input=stdin, env={**clean, **(env or {})}, prog_name="lexigraph"
        )
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return Outcome(found.exit_code, found.stdout, found.stderr)


def apart(*arguments: str | Path, cwd: Path, stdin: str = "", **options: Any) -> Outcome:
    """Run a command in a process of its own, with ``cwd`` as its current folder."""
    with begin(*arguments, cwd=cwd, stdin=subprocess.PIPE, **options) as process:
        out, err = process.communicate(stdin, timeout=200)
    return Outcome(process.returncode, out, err)


class Command(subprocess.Popen[str]):
    """A command at work; a block that fails kills it, where that of its base waits for its end."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind:
            self.kill()
        super().__exit__(kind, error, trace)


def begin(
    *arguments: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    program: Sequence[str | Path] = (LEXIGRAPH,),
    **options: Any,
) -> Command:
    """Start a command in a process of its own."""
    return Command(
        [*program, *map(str, arguments)],
        cwd=cwd,
        stderr=subprocess.PIPE,
        text=True,
        env={**{k: v for k, v in os.environ.items() if k not in _settings()}, **(env or {})},
        **{"stdout": subprocess.PIPE, **options},
    )


def _settings() -> list[str]:
    """Return the settings in the environment of whoever runs the tests: they are to have no effect."""
    return [name for name in os.environ if name.upper().startswith("LEXIGRAPH_")]
