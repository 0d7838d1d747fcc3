"""What users build on beside the HTTP API: the names that packages hand on, and the help of every command.

``python -m tests.public_api`` renews docs/public-api.txt; a change of it belongs in the changelog. The HTTP API has its own
file, docs/openapi.json.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from lexigraph.cli.main import app

KEPT = Path(__file__).parents[1] / "docs" / "public-api.txt"
PACKAGES = ("lexigraph", "lexigraph.storage", "lexigraph.storage.protocols", "lexigraph.retrieval.retrievers")


def public_api() -> str:
    """Return it as text, the same in every terminal."""
    names = [f"{package}: {name}" for package in PACKAGES for name in sorted(import_module(package).__all__)]
    return "\n".join([*names, "", *helps(typer.main.get_command(app), ())])


def helps(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the help of a command and of those below it."""
    shown = CliRunner().invoke(app, [*path, "--help"], prog_name="lexigraph", color=False, env={"COLUMNS": "100"})
    yield f"$ {' '.join(('lexigraph', *path))} --help\n{shown.stdout}"
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from helps(command.get_command(None, name), (*path, name))


if __name__ == "__main__":
    KEPT.write_text(public_api(), encoding="utf-8")
