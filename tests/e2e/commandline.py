"""The real command line, in a process of its own or in this one."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
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


def here(*arguments: str | Path, stdin: str | bytes = "", env: dict[str, str] | None = None) -> Outcome:
    """Run a command in this process."""
    found = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, env=env, prog_name="lexigraph")
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return Outcome(found.exit_code, found.stdout, found.stderr)


def apart(*arguments: str | Path, cwd: Path, stdin: str = "", env: dict[str, str] | None = None, **options: Any) -> Outcome:
    """Run a command in a process of its own, with ``cwd`` as its current folder."""
    done = subprocess.run(
        [LEXIGRAPH, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        timeout=300,
        check=False,
        **options,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)
