"""What the documentation shows can be typed: commands are understood, and samples of Python run in their order."""

import importlib.util
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from lexigraph.cli.main import app
from tests.documentation import ROOT, Block, blocks, commands
from tests.e2e.conftest import EXAMPLES, ExampleIndex
from tests.server import laptop_api

# samples that need what is not there; of frameworks they run in environments of their own (make frameworks)
_ELSEWHERE = {"boto3", "botocore", "haystack", "langchain_core"}
# names that a page shows without making them: an excerpt of a program
_EXCERPTS = {"docs/api.md", "docs/retrieval.md"}
_ASSIGNMENT = re.compile(r"^[A-Z_]+=\S*$")


def lexigraph_commands() -> Iterator[tuple[Block, list[str]]]:
    """Yield the arguments of every call of ``lexigraph``."""
    for block, line in commands():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quotation that goes on in the next line
            continue
        current: list[str] = []
        for word in [*words, ";"]:
            if re.fullmatch(r"[|&;<>()]+", word):
                while current and _ASSIGNMENT.match(current[0]):
                    current.pop(0)
                if current and current[0].rpartition("/")[2] == "lexigraph" and "..." not in current:
                    yield block, current[1:]
                current = []
            else:
                current.append(word)


def test_every_command_that_the_documentation_shows_is_understood() -> None:
    command = typer.main.get_command(app)
    wrong, number = [], 0
    for block, arguments in lexigraph_commands():
        number += 1
        try:
            context, left, group = command.make_context("lexigraph", list(arguments)), arguments, command
            while isinstance(group, click.Group) or hasattr(group, "commands"):
                left = [*context._protected_args, *context.args]
                if not left:
                    break
                _, group, left = group.resolve_command(context, left)
                context = group.make_context(group.name, list(left), parent=context)
        except (click.exceptions.Exit, typer.Exit):
            continue
        except Exception as error:  # noqa: BLE001  # told with its place
            told = getattr(error, "message", "") or str(error)
            if "does not exist" not in told:
                wrong.append(f"{block}: lexigraph {' '.join(arguments)}: {told}")
    assert wrong == []
    assert number > 50


def test_every_target_and_module_that_the_documentation_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    wrong = []
    for block, line in commands():
        for words in re.findall(r"\bmake ((?:[\w=./-]+ ?)+)", line):
            named = [word for word in words.split() if re.fullmatch(r"[a-z-]+", word)]
            wrong += [f"{block}: make {word}" for word in named[:1] if word not in targets]
        for module in re.findall(r"python -m ([\w.]+)", line):
            if not importlib.util.find_spec(module):
                wrong.append(f"{block}: {module}")
    assert wrong == []


@pytest.mark.parametrize("block", [*blocks("json")], ids=str)
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", [*blocks("python")], ids=str)
def test_samples_of_python_compile(block: Block) -> None:
    compile(block.text, str(block), "exec")


@pytest.fixture(scope="module")
def served_examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A served copy of the corpus, which samples may change."""
    folder = tmp_path_factory.mktemp("served")
    with laptop_api(folder, open_=True) as api:
        with api.client() as client:
            client.post("/ingest", json={"path": str(EXAMPLES / "corpus")})
        yield api.url


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in blocks("python")} - _EXCERPTS))
def test_samples_of_python_run(
    page: str, example_index: ExampleIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served_examples: str
) -> None:
    """In a folder as a reader has it: documents in docs/, an index of them, and a server at the address of the settings."""
    (tmp_path / "docs").symlink_to(ROOT / "examples" / "corpus")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".lexigraph").symlink_to(example_index.data)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEXIGRAPH_URL", served_examples)
    ran = 0
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks("python"):
        if block.page != page or any(f"import {name}" in block.text or f"from {name}" in block.text for name in _ELSEWHERE):
            continue
        if re.search(r"integrations\.(langchain|haystack)", block.text):
            continue
        exec(compile(block.text, str(block), "exec"), names)
        ran += 1
    assert ran > 0
