"""The command line as a user meets it: what it prints, where, and how it ends."""

import io
import re
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import pytest
from rich.console import Console
from tests.e2e.commandline import here

from lexigraph.cli.checks import without_secrets
from lexigraph.cli.exits import MEANINGS, ExitCode, exit_code_of
from lexigraph.cli.group import hoisted
from lexigraph.cli.options import value_of
from lexigraph.cli.output import one_line, printable, short_path, size
from lexigraph.cli.progress import Progression, telling
from lexigraph.ingestion.events import Event
from lexigraph.model import errors
from lexigraph.retrieval.args import TraversalArgs
from lexigraph.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
HEAVY = (
    "llama_index",
    "spacy",
    "onnxruntime",
    "tokenizers",
    "bs4",
    "pypdf",
    "docx",
    "openpyxl",
    "boto3",
    "pandas",
    "sklearn",
)


# ---------------------------------------------------------------- help, version, usage


def test_help_names_every_command_exit_code_and_setting() -> None:
    told = here("--help")
    assert told.code == ExitCode.OK
    for command in ("ingest", "query", "retrieve", "documents", "stats", "doctor", "demo", "bench"):
        assert re.search(rf"^  {command}  ", told.out, re.MULTILINE)
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^ +{code.value}  {re.escape(meaning)}$", told.out, re.MULTILINE)
    for name in Settings.model_fields:
        assert f"LEXIGRAPH_{name.upper()} " in told.out


def test_no_arguments_show_the_help() -> None:
    assert here().out == here("--help").out


def test_the_version_is_that_of_the_package() -> None:
    from lexigraph import __version__

    assert here("--version").out == f"lexigraph {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["ingets", "x"], "Did you mean 'ingest'?"),
        (["query"], "Missing argument 'question'"),
        (["documents"], "Missing command"),
        (["stats", "--colour"], "No such option: --colour"),
        (["documents", "rm"], "name the documents to remove"),
        (["documents", "rm", "a.md", "--all"], "name the documents to remove"),
        (["query", "Why?", "--json", "--stream"], "--stream and --json exclude each other"),
        (["query", "Why?", "--limit", "5", "--max-search-results", "5"], "say the same"),
        (["query", "Why?", "--vss-top-k", "many"], "--vss-top-k: 'many' is not INTEGER"),
        (["retrieve", "Why?", "--filter", "year"], "filter 'year' is not 'KEY OPERATOR VALUE'"),
        (["stats", "--set", "colour=red"], "--set 'colour=red': expected NAME=VALUE"),
        (["stats", "--set", "chunk_tokens=1"], "setting chunk_tokens (LEXIGRAPH_CHUNK_TOKENS)"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], complaint: str) -> None:
    told = here(*arguments)
    assert (told.code, told.out) == (ExitCode.INVALID, "")
    assert len(told.complaints) == 1
    assert complaint in told.err


def test_global_options_may_stand_before_and_behind_the_command(tmp_path: Path) -> None:
    for arguments in (["--data", tmp_path / "none", "stats"], ["stats", "--data", tmp_path / "none"]):
        told = here(*arguments)
        assert told.code == ExitCode.NOT_FOUND
        assert str(tmp_path / "none") in told.err


def test_hoisting_keeps_values_with_their_options_and_stops_at_two_dashes() -> None:
    assert hoisted(["query", "Why?", "--tenant=a", "--data", "x", "-v"]) == [
        "--tenant=a",
        "--data",
        "x",
        "-v",
        "query",
        "Why?",
    ]
    assert hoisted(["query", "--", "--data"]) == ["query", "--", "--data"]
    assert hoisted(["query", "--data"]) == ["--data", "query"]


# ---------------------------------------------------------------- a light start


@pytest.mark.parametrize("arguments", [["--help"], ["retrieve", "--help"]])
def test_help_loads_no_heavy_package(arguments: list[str], tmp_path: Path) -> None:
    assert loaded_by(arguments, tmp_path) == set()


def loaded_by(arguments: list[str], folder: Path) -> set[str]:
    """Return the heavy packages that a command has imported when it ends."""
    program = (
        "import sys\n"
        "from lexigraph.cli.main import run\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "try:\n    run()\n"
        "finally:\n    print('LOADED', *{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    names = done.stderr.rpartition("LOADED")[2].split()
    assert "lexigraph" in names
    return set(HEAVY) & set(names)


# ---------------------------------------------------------------- options from dataclasses


@pytest.mark.parametrize("command", ["query", "retrieve"])
def test_every_retrieval_parameter_is_an_option_with_its_default(command: str) -> None:
    told = " ".join(here(command, "--help").out.split())
    for field in fields(TraversalArgs):
        option = f"--{field.name.replace('_', '-')}"
        default = field.default
        shown = ("yes" if default else "no") if isinstance(default, bool) else "none" if default is None else str(default)
        assert re.search(rf"{option}[ /].*?\[default: {re.escape(shown)}\]", told), field.name


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ("5", int, 5),
        ("5", int | None, 5),
        ("none", int | None, None),
        ("None", int | None, None),
        ("0.5", float, 0.5),
        ("2", float, 2.0),
        (True, bool, True),
        ("tfidf", str | None, "tfidf"),
        ("none", Literal["tfidf", "none"] | None, "none"),
        ("none", str, "none"),
    ],
)
def test_an_option_becomes_a_value_of_its_field(given: Any, kind: Any, value: Any) -> None:
    found = value_of("name", given, kind)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("given", "kind"), [("none", int), ("1.5", int), ("x", float | None), ("big", Literal["small"])])
def test_an_option_of_the_wrong_type_is_refused(given: str, kind: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="--some-name"):
        value_of("some_name", given, kind)


# ---------------------------------------------------------------- exit codes and text


def test_every_error_of_the_package_has_an_exit_code_of_its_own() -> None:
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.LexigraphError)]
    codes = [exit_code_of(kind("x")) for kind in kinds]
    assert len(set(codes)) == len(kinds) == 6
    assert exit_code_of(errors.LexigraphError("x")) == ExitCode.UNEXPECTED


def test_a_document_cannot_send_control_sequences_to_the_terminal() -> None:
    assert (
        printable("a\x1b[31mb\x07c\u202ed\ne\tf")
        == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}d\ne\tf"
    )
    assert printable("naïve 漢字 \u200d soft\xadhyphen\xa0") == "naïve 漢字 \u200d soft\xadhyphen\xa0"
    assert one_line("one\n two\r\nthree", 9) == "one two…"


def test_paths_below_the_current_folder_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_path((tmp_path / "a b.md").as_uri()) == "a b.md"
    assert short_path((tmp_path / "a.jsonl").as_uri() + "#x%20y") == "a.jsonl#x y"
    assert short_path("file:///elsewhere/a.md") == "/elsewhere/a.md"
    assert short_path("s3://bucket/a.md") == "s3://bucket/a.md"


def test_sizes_are_for_readers() -> None:
    assert [size(n) for n in (0, 999, 1_500, 2_000_000, 3.2e9, 5e12)] == [
        "0 bytes",
        "999 bytes",
        "1.5 kB",
        "2.0 MB",
        "3.2 GB",
        "5.0 TB",
    ]


def test_connection_strings_are_shown_without_secrets() -> None:
    assert without_secrets("aoss://https://user:secret@host/x") == "aoss://https://***@host/x"
    assert without_secrets("sqlite:////home/a@b/data") == "sqlite:////home/a@b/data"


# ---------------------------------------------------------------- progress


def test_progress_tells_counts_rates_failures_and_the_step() -> None:
    state = Progression(began=time.monotonic() - 10)
    steps = []
    for event in (
        Event("scan_input", {}, 0, 3),
        Event("warning", {"uri": "a", "reason": "is empty"}),
        Event("hash_computed", {}, 2, 3),
        Event("entity_extraction", {}, 40, 2_000),
        Event("embedding", {}, 0, 900),
        Event("embedding_progress", {}, 256, 900),
        Event("embedding_progress", {}, 900, 900),
        Event("documents", {"chunks": 2_000, "statements": 10_000}, 20),
    ):
        state.see(event)
        steps.append(state.step)

    assert steps[3:] == ["extraction 40/2,000", "embedding", "embedding 256/900", "writing", "reading"]
    assert re.fullmatch(
        r"20 documents \((1\.9|2\.0)/s\), 2,000 chunks, 10,000 statements \((9|1,0)\d\d/s\), 1 failed, reading", state.line()
    )


def test_off_a_terminal_progress_is_lines_on_stderr_and_failures_appear_at_once() -> None:
    console = Console(file=io.StringIO(), width=1_000)
    with telling(console) as listener:
        listener(Event("scan_input", {}, 0, 3))
        listener(Event("warning", {"uri": "a.md", "reason": "is empty"}))
    assert console.file.getvalue() == "failed: a.md: is empty\n"


def test_on_a_terminal_progress_is_a_bar_that_goes_when_the_run_ends() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=100, force_terminal=True, legacy_windows=False)
    with telling(console) as listener:
        listener(Event("scan_input", {}, 0, 3))
        listener(Event("hash_computed", {}, 1, 3))
        listener(Event("documents", {"chunks": 7, "statements": 30}, 1))
        listener(Event("warning", {"uri": "a.md", "reason": "is empty"}))
    shown = screen.getvalue()
    assert "failed: a.md: is empty" in shown
    assert "1/3 files" in shown
    assert "7 chunks, 30 statements" in shown
    assert "documents" not in shown.rpartition("\x1b[2K")[2]
