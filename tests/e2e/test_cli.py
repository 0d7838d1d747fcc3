"""The command line as a user meets it: what it prints, where, and how it ends."""

import io
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from rich.console import Console

from lexigraph.answering.response import QueryResponse
from lexigraph.answering.support import Unsupported
from lexigraph.api.routes.documents import DocumentReply
from lexigraph.cli import output
from lexigraph.cli.answers import print_doubt, print_results, print_sources, print_unsupported
from lexigraph.cli.checks import without_secrets
from lexigraph.cli.demo import QUESTIONS
from lexigraph.cli.doctor import check_variables, setting_rows
from lexigraph.cli.exits import ExitCode, exit_code_of
from lexigraph.cli.group import hoisted
from lexigraph.cli.invocation import Invocation
from lexigraph.cli.options import assigned, value_of
from lexigraph.cli.output import one_line, printable, short_path
from lexigraph.cli.progress import Progression, telling
from lexigraph.ingestion.events import Event
from lexigraph.model import errors
from lexigraph.model.graph import Source
from lexigraph.model.results import Citation, ScoredStatement, SearchResult, SearchResults
from lexigraph.retrieval.catalogue import RetrieverName
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.settings import Settings
from lexigraph.storage.sqlite.graph.schema import VERSION
from tests.e2e.commandline import Outcome, apart, begin, here
from tests.laptop import open_laptop
from tests.standins.llm_server import ScriptedLLMServer
from tests.waiting import eventually
from tests.workers import write_corpus

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
HEAVY = (
    "llama_index",
    "spacy",
    "onnxruntime",
    "tokenizers",
    "lxml",
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
    for code in ExitCode:
        assert re.search(rf"^ +{code.value}  {re.escape(code.meaning)}$", told.out, re.MULTILINE)
    for name in Settings.model_fields:
        assert f"LEXIGRAPH_{name.upper()} " in told.out


def test_no_arguments_show_the_help() -> None:
    assert here().out == here("--help").out


def test_the_version_is_that_of_the_package() -> None:
    from lexigraph import __version__

    assert here("--version").out == f"lexigraph {__version__}\n"


@pytest.mark.slow
def test_the_package_runs_as_the_command_does_and_no_file_of_the_current_folder_with_it(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("print('run')\n")
    command = [sys.executable, "-m", "lexigraph", "--data", "none", "query", "Who?"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    told = apart("--data", "none", "query", "Who?", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (told.code, told.out, told.err)
    assert told.code == ExitCode.NOT_FOUND


def test_mcp_without_its_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    told = here("mcp", cwd=tmp_path)
    assert told.code == ExitCode.INVALID
    assert told.complaints == ['error: lexigraph mcp needs mcp; run: pip install "lexigraph[mcp]"']


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
        (["query", "Why?", "--json", "--stream"], "--stream and --json cannot be used together"),
        (["query", "Why?", "--limit", "5", "--max-search-results", "5"], "are the same"),
        (["query", "Why?", "--retriever", "telepathy"], "Invalid value for '--retriever': 'telepathy' is not one of"),
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
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
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


def test_a_parameter_by_name_is_a_number_a_flag_nothing_or_text() -> None:
    pairs = ["top_k=12", "bm25-weight = 0.5", "vector=false", "reranker=none", "preset=factual", "role=[1]"]
    expected = {"top_k": 12, "bm25_weight": 0.5, "vector": False, "reranker": None, "preset": "factual", "role": "[1]"}
    assert assigned(pairs) == expected


@pytest.mark.parametrize("command", ["query", "retrieve"])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--retriever", "hybrid", "--arg", "top_k"], "--arg 'top_k': expected NAME=VALUE"),
        (["--retriever", "hybrid", "--arg", "topk=3"], "unknown parameter 'topk'; did you mean 'top_k'?"),
        (["--retriever", "hybrid", "--arg", "top_k=0"], "top_k must be"),
        (["--retriever", "hybrid", "--arg", "top_k=many"], "top_k must be"),
        (["--retriever", "hybrid", "--arg", "bm25=perhaps"], "bm25 must be"),
        (["--retriever", "multihop", "--arg", "hop_decay=2"], "hop_decay must be"),
        (["--retriever", "multidoc", "--arg", "preset=best"], "preset"),
        (["--retriever", "multidoc", "--arg", "top_k=3"], "unknown parameter 'top_k'"),
        (["--retriever", "bm25", "--arg", "vss_top_k=3"], "unknown parameter 'vss_top_k'"),
        (["--retriever", "hybrid", "--arg", "top_k=3", "--arg", "top-k=4"], "--arg top_k is given twice"),
        (["--arg", "bm25_weight=1", "--bm25-weight", "1"], "--arg bm25_weight and --bm25-weight are the same"),
        (["--arg", "max_search_results=1", "--limit", "1"], "--limit and --max-search-results are the same"),
    ],
)
def test_a_bad_parameter_is_refused_by_its_name(tmp_path: Path, command: str, arguments: list[str], complaint: str) -> None:
    open_laptop(tmp_path / "data").close()
    told = here("--data", "data", command, "Who signs?", *arguments, cwd=tmp_path)
    assert told.code == ExitCode.INVALID
    assert len(told.complaints) == 1
    assert told.complaints[0].startswith(f"error: {complaint}")


def test_a_first_ingest_that_takes_nothing_in_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Mira Holm signs.")
    for arguments in (["missing.txt"], ["a.txt", "--set", "llm=ollama:none", "--extractor", "llm"]):
        failed = here("--data", "data", "ingest", *arguments, cwd=tmp_path)
        assert failed.code != ExitCode.OK
        assert not (tmp_path / "data").exists()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.txt").write_text("mine")
    here("--data", "data", "ingest", "missing.txt", cwd=tmp_path)
    assert (tmp_path / "data" / "mine.txt").read_text() == "mine"


def test_an_import_of_another_file_names_the_file_and_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Mira Holm signs.")
    told = here("--data", "data", "import", "a.txt", cwd=tmp_path)
    assert (told.code, told.complaints) == (ExitCode.INVALID, ["error: a.txt: line 1: not valid JSON"])


@pytest.mark.slow
def test_a_database_comes_back_from_its_backup(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Mira Holm signs.")
    assert here("--data", "data", "ingest", "a.txt", cwd=tmp_path).code == ExitCode.OK
    made = here("--data", "data", "backup", "b.zip", "--json", cwd=tmp_path)
    assert (made.code, json.loads(made.out)["documents"]) == (ExitCode.OK, 1)
    assert here("--data", "data", "backup", "b.zip", cwd=tmp_path).code == ExitCode.INVALID
    assert here("--data", "new", "restore", "b.zip", cwd=tmp_path).code == ExitCode.OK
    asked = [here("--data", data, "retrieve", "Who signs?", "--json", cwd=tmp_path).out for data in ("data", "new")]
    first, second = (json.loads(out)["results"] for out in asked)
    assert first == second != []
    assert here("--data", "new", "restore", "b.zip", cwd=tmp_path).code == ExitCode.INVALID


# ---------------------------------------------------------------- exit codes and text


def test_every_error_of_the_package_has_an_exit_code_of_its_own() -> None:
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.LexigraphError)]
    assert exit_code_of(errors.Misconfigured("x")) == exit_code_of(errors.InvalidInput("x")), "for us it is one"
    assert exit_code_of(errors.StoreDamaged("x")) == exit_code_of(errors.StoreUnavailable("x")), "doctor tells them apart"
    assert exit_code_of(errors.Contradiction("x")) == exit_code_of(errors.InvalidInput("x")), "trying again does not help"
    kinds.remove(errors.Misconfigured)
    kinds.remove(errors.Contradiction)
    kinds.remove(errors.StoreDamaged)
    codes = [exit_code_of(kind("x")) for kind in kinds]
    assert len(set(codes)) == len(kinds) == 7
    assert exit_code_of(errors.LexigraphError("x")) == ExitCode.UNEXPECTED


def test_a_document_cannot_send_control_sequences_to_the_terminal() -> None:
    assert (
        printable("a\x1b[31mb\x07c\u202ed\ne\tf")
        == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}d\ne\tf"
    )
    assert printable("naïve 漢字 \u200d soft\xadhyphen\xa0") == "naïve 漢字 \u200d soft\xadhyphen\xa0"
    assert one_line("one\n two\r\nthree", 9) == "one two…"


def test_neither_a_printed_string_nor_json_sends_control_sequences_to_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {"title": "a\x1b[31mb\x9b31mc\u202ed\x7fe\nf", "author": "naïve 漢字"}
    output.print_json(told)
    written = capsys.readouterr().out
    assert json.loads(written) == told, "nothing is lost"
    for console in output.consoles():
        console.print(told["title"])
    printed = written + "".join(capsys.readouterr())
    assert printable(printed) == printed
    assert "naïve 漢字" in printed


def test_paths_below_the_current_folder_are_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert short_path((tmp_path / "a b.md").as_uri()) == "a b.md"
    assert short_path((tmp_path / "a.jsonl").as_uri() + "#x%20y") == "a.jsonl#x y"
    assert short_path("file:///elsewhere/a.md") == "/elsewhere/a.md"
    assert short_path("s3://bucket/a.md") == "s3://bucket/a.md"


def test_connection_strings_are_shown_without_secrets() -> None:
    assert without_secrets("aoss://https://user:secret@host/x") == "aoss://https://***@host/x"
    assert without_secrets("sqlite:////home/a@b/data") == "sqlite:////home/a@b/data"


def test_code_is_shown_with_its_lines_and_prose_on_one() -> None:
    code = "    while read -r line; do\n        echo $line\n    done"
    it = ScoredStatement("s1", "The loop\nends.", 0.9, "chunk", "c", 0, 8, original="It ends.")
    loop = ScoredStatement("s2", f"Print each line:\n{code}", 0.5, "chunk", "c", 9, 60, kind="code", original=code)
    source = Source("source:1", "file:///shells.md", title="Shells")
    found = SearchResults("How?", (SearchResult(source, "Loops", (it, loop), 0.9),))
    assert shown(print_results, found, explain=True).splitlines()[2:-4] == [
        "   0.900 chunk    The loop ends.",
        "         original: It ends.",
        "         place: characters 0-8, c",
        "   0.500 chunk    code",
        "         Print each line:",
        "             while read -r line; do",
        "                 echo $line",
        "             done",
        "         place: characters 9-60, c",
    ]
    labelled = Citation("S1", "s2", code, source.id, source.uri, source.title, "c", 9, 60, 0.5, "chunk", kind="code")
    answer = QueryResponse("How?", "By a loop [S1].", (labelled,), (labelled,), found, extractive=False)
    assert shown(print_sources, answer).splitlines()[2:] == [
        "[S1] Shells  /shells.md, characters 9-60",
        "     while read -r line; do",
        "         echo $line",
        "     done",
    ]
    mail = replace(labelled, metadata={"author": "Ada Cook", "date": "2024-05-03T09:12:44+01:00"})
    assert shown(print_sources, replace(answer, citations=(mail,))).splitlines()[2] == (
        "[S1] Shells, Ada Cook, 2024-05-03  /shells.md, characters 9-60"
    )
    checked = replace(answer, unsupported=(Unsupported("It takes 9 steps [S1].", "number", ("S1",), "not in it: 9"),))
    assert shown(print_unsupported, answer, left_out=False) == ""
    assert shown(print_unsupported, checked, left_out=False).splitlines()[1:] == [
        "Not supported by its citations",
        "- It takes 9 steps [S1].  (not in it: 9)",
    ]
    assert shown(print_unsupported, checked, left_out=True).splitlines()[1] == "Left out, as its citations do not support it"


@pytest.mark.parametrize(("confidence", "doubtful"), [(0.49, False), (0.5, True), (0.74, True), (0.75, False), (1.0, False)])
def test_an_answer_that_may_be_none_says_so_unless_it_is_called_not_found(confidence: float, doubtful: bool) -> None:
    found = SearchResults("How?", ())
    answer = QueryResponse(
        "How?", "So.", (), (), found, extractive=True, confidence=confidence, answerable=confidence >= 0.5
    )
    told = f"confidence {confidence:.2f}: the passages are related to the question, but may not answer it\n"
    assert shown(print_doubt, answer) == (told if doubtful else "")


def shown(print_: Any, *given: Any, **flags: Any) -> str:
    screen = io.StringIO()
    print_(Console(file=screen, width=100, markup=False, highlight=False, emoji=False), *given, **flags)
    return screen.getvalue()


# ---------------------------------------------------------------- settings and documentation


def test_every_setting_is_in_the_documentation_with_its_default() -> None:
    told = DOCS.read_text()
    for name, field in Settings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, list):
            default = json.dumps([str(part) for part in default])
        shown = f"`{default}`" if default not in (None, "", {}) else ""
        assert f"| `LEXIGRAPH_{name.upper()}` | {shown} | {field.description} |" in told


def test_every_exit_code_and_retrieval_parameter_is_in_the_documentation() -> None:
    told = DOCS.read_text()
    for code in ExitCode:
        assert f"| {code.value} | {code.meaning} |" in told
    defaults = dict(re.findall(r"^\| `--([a-z0-9-]+)` \|.*\| (.*) \|$", told, re.MULTILINE))
    for field in (*fields(TraversalArgs), *fields(SemanticArgs)):
        shown = {True: "yes", False: "no"}[field.default] if isinstance(field.default, bool) else str(field.default)
        assert shown in defaults[field.name.replace("_", "-")].replace(",", "").split(), field.name


def test_doctor_says_where_a_setting_comes_from_and_masks_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("LEXIGRAPH_CHUNK_TOKENS=128\nLEXIGRAPH_TENANT=from-dotenv\n")
    monkeypatch.setenv("LEXIGRAPH_TENANT", "from-environment")
    monkeypatch.setenv("LEXIGRAPH_LLM_OPTIONS", '{"api_key": "abc", "base_url": "https://me:abc@host/v1?v=2&token=abc"}')
    monkeypatch.setenv("LEXIGRAPH_USAGE_KEYS", '{"*": "abc", "first": "abc"}')
    settings = Invocation({"threads": 1}).settings()

    rows = {row.name: row for row in setting_rows(settings, {"threads": 1})}

    assert {name: (row.value, row.source) for name, row in rows.items() if row.source != "default"} == {
        "chunk_tokens": (128, ".env"),
        "tenant": ("from-environment", "environment"),
        "threads": (1, "option"),
        "llm_options": ({"api_key": "***", "base_url": "https://***@host/v1?v=2&token=***"}, "environment"),
        "usage_keys": ({"*": "***", "first": "***"}, "environment"),
    }
    assert list(rows) == list(Settings.model_fields)


def test_doctor_finds_variables_that_are_no_settings() -> None:
    found = list(check_variables({"LEXIGRAPH_EMBEDING_MODEL": "x", "LEXIGRAPH_LLM": "none", "HOME": "/"}))
    assert [(c.name, c.status, c.remedy) for c in found] == [
        ("LEXIGRAPH_EMBEDING_MODEL", "note", "did you mean LEXIGRAPH_EMBEDDING_MODEL?")
    ]


# ---------------------------------------------------------------- progress


def test_progress_tells_counts_rates_failures_and_the_step() -> None:
    state = Progression(began=time.monotonic() - 10)
    steps = []
    for event in (
        Event("scan_input", {}, 0, 3),
        Event("warning", {"path": "a", "reason": "is empty"}),
        Event("hash_computed", {}, 2, 3),
        Event("entity_extraction", {}, 40, 2_000),
        Event("embedding", {}, 0, 900),
        Event("embedding_progress", {}, 256, 900),
        Event("embedding_progress", {}, 900, 900),
        Event("documents", {"chunks": 2_000, "statements": 10_000}, 20),
    ):
        state.see(event)
        steps.append(state.step)

    assert steps[3:] == ["extraction 40/2,000 chunks", "embedding", "embedding 256/900", "writing", "reading"]
    assert re.fullmatch(
        r"reading, 1 failed, 20 documents \((1\.9|2\.0)/s\), 2,000 chunks, 10,000 statements \((9|1,0)\d\d/s\)", state.line()
    )


def test_progress_leaves_out_what_is_not_written_yet_and_says_how_long_the_embedding_takes() -> None:
    state = Progression()
    state.see(Event("entity_extraction", {"expected": 577, "per_second": 100.0, "seconds_left": 4}, 177, 300))
    assert state.line() == "extraction 177/300 chunks of about 577, 100.0/s, about 4 s left, then embedding"
    assert (state.done, state.total) == (177, 577)
    state.embedding = time.monotonic() - 10
    state.see(Event("embedding_progress", {}, 100, 700))
    assert state.line() == "embedding 100/700, about 60 s left"
    assert (state.done, state.total) == (100, 700)


def test_off_a_terminal_progress_is_lines_on_stderr_and_failures_appear_at_once() -> None:
    console = Console(file=io.StringIO(), width=1_000)
    with telling(console) as listener:
        listener(Event("scan_input", {}, 0, 3))
        listener(Event("warning", {"path": "a.md", "reason": "is empty"}))
    assert console.file.getvalue() == "failed: a.md: is empty\n"


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    with telling(console) as listener:
        eventually(console.file.getvalue)
        listener(Event("warning", {"path": "a.md", "reason": "is empty"}))
    assert console.file.getvalue() == "starting\nfailed: a.md: is empty\n"


def test_on_a_terminal_progress_is_a_bar_that_goes_when_the_run_ends() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=100, force_terminal=True, legacy_windows=False)
    with telling(console) as listener:
        listener(Event("scan_input", {}, 0, 3))
        listener(Event("hash_computed", {}, 1, 3))
        listener(Event("documents", {"chunks": 7, "statements": 30}, 1))
        listener(Event("warning", {"path": "a.md", "reason": "is empty"}))
    shown = screen.getvalue()
    assert "failed: a.md: is empty" in shown
    assert "1/3 files" in shown
    assert "7 chunks, 30 statements" in shown
    assert "documents" not in shown.rpartition("\x1b[2K")[2]


def test_on_a_narrow_terminal_the_step_is_seen_and_the_clock_goes_on_when_all_files_are_read() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=60, force_terminal=True, legacy_windows=False)
    with telling(console) as listener:
        listener(Event("hash_computed", {}, 3, 3))
        listener(Event("documents", {"chunks": 700, "statements": 3_000}, 64))
        listener(Event("embedding_progress", {}, 0, 900))
        eventually(lambda: "0:00:01" in screen.getvalue())
    assert "embedding 0/900, 64 documents" in screen.getvalue()


# ---------------------------------------------------------------- real files, real models

FILES = {
    "harbour.md": "---\nyear: 2021\n---\n# Harbour Office\n\n"
    "The Harbour Office runs the Lighthouse Database in Antwerp.\n\n## People\n\nMira Holm leads the Harbour Office.\n",
    "lighthouse.txt": "Lighthouse Database\n\nThe Lighthouse Database stores its data in Granite Cellar.\n\n"
    "Granite Cellar was built by Tove Lund in 1998.\n",
    "people.jsonl": '{"id": "mira", "title": "Mira Holm", "text": "Mira Holm was born in Ghent. She likes sailing.", '
    '"year": 2019}\n'
    '{"id": "tove", "title": "Tove Lund", "text": "Tove Lund lives in Bruges.", "year": 2020}\n',
    "empty.md": "",
}


@dataclass(frozen=True)
class World:
    """A folder with files that were ingested into ``data`` below it."""

    folder: Path
    first: Outcome

    def run(self, *arguments: str | Path, **options: Any) -> Outcome:
        return here("--data", "data", *arguments, cwd=self.folder, **options)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    (folder / "files").mkdir()
    for name, text in FILES.items():
        (folder / "files" / name).write_text(text)
    return World(folder, apart("--data", "data", "ingest", "files", "--json", "--no-progress", cwd=folder))


def alike(one: Any, other: Any) -> bool:
    """Tell whether two pieces of JSON have the same fields, those that go by the data left out."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys() - {"metadata", "parts", "timings", "calls"}
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return not one or not other or alike(one[0], other[0])
    return type(one) is type(other)


@pytest.mark.slow
class TestDatabase:
    """One ingest, then every command on it; what changes the database does so in a copy."""

    def test_ingest_reports_what_went_in_and_what_did_not(self, world: World) -> None:
        report = world.first.json
        assert world.first.code == ExitCode.PARTLY
        assert world.first.complaints == ["failed: files/empty.md: is empty"]
        assert (report["documents_new"], report["documents_unchanged"], report["chunks_failed"]) == (4, 0, 0)
        assert report["failures"] == [{"uri": "files/empty.md", "reason": "is empty"}]
        assert report["statements_created"] >= 6

    def test_the_json_of_the_documentation_has_the_fields_that_are_printed(self, world: World) -> None:
        shown = re.findall(r"^\$ lexigraph ([^\n]+ --json)\n(\{.+?^\})$", DOCS.read_text(), re.MULTILINE | re.DOTALL)
        assert {command.split()[0] for command, _ in shown} == {"ingest", "query", "documents"}
        for command, printed in shown:
            told = world.run(*shlex.split(command.replace("examples/corpus", "files")))
            assert alike(json.loads(printed), told.json), command

    def test_a_second_ingest_calls_no_model(self, world: World) -> None:
        told = world.run("ingest", "files", "--no-progress")
        assert "0 new, 0 updated, 4 unchanged, 1 failed" in told.out
        assert "0 chunks extracted, 0 texts embedded" in told.out

    def test_query_answers_with_labels_and_says_where_they_point(self, world: World) -> None:
        told = world.run("query", "Who leads the Harbour Office?")
        assert (told.code, told.err) == (ExitCode.OK, "")
        answer, sources = told.out.split("\nSources\n")
        assert "Mira Holm leads the Harbour Office" in answer
        label = re.search(r"Mira Holm leads the Harbour Office\S* \[(S\d+)\]", answer)
        assert label
        place = re.search(
            rf"^\[{label[1]}\] Harbour Office  files/harbour\.md, characters (\d+)-(\d+)$", sources, re.MULTILINE
        )
        assert place
        text = world.run("documents", "show", "harbour.md", "--text").out
        assert text[int(place[1]) : int(place[2])].startswith("Mira Holm leads the Harbour Office")

    def test_query_json_is_one_document_whose_citations_are_the_labels_of_the_answer(self, world: World) -> None:
        told = world.run("query", "-", "--json", stdin="Who built Granite Cellar?\n")
        assert told.err == ""
        answer = ("answer", "answerable", "confidence", "extractive", "citations", "unsupported", "warnings")
        assert list(told.json) == ["question", "rewritten", *answer, "timings", "results"]
        assert told.json["question"] == "Who built Granite Cellar?"
        labels = set(re.findall(r"\[(S\d+)\]", told.json["answer"]))
        assert labels == {c["label"] for c in told.json["citations"]} != set()
        assert any("Tove Lund" in c["text"] for c in told.json["citations"])

    def test_a_streamed_answer_is_the_answer(self, world: World) -> None:
        whole, streamed = (world.run("query", "Who built Granite Cellar?", *flag).out for flag in ([], ["--stream"]))
        assert streamed.rpartition("\n\n")[0] == whole.rpartition("\n\n")[0]

    def test_a_language_model_writes_the_answer_and_its_quotes_are_shown(self, world: World) -> None:
        def script(body: dict[str, Any]) -> Any:
            return {"keywords": ["Granite Cellar"]} if "response_format" in body else "Tove Lund built it [S1]."

        with ScriptedLLMServer(script) as server:
            llm = ("--llm", "openai:scripted", "--set", f'llm_options={{"base_url": "{server.base_url}"}}')
            for flags in ([], ["--stream"]):
                told = world.run("query", "Who built Granite Cellar?", *llm, *flags)
                assert (told.code, told.err) == (ExitCode.OK, "")
                assert told.out.startswith(
                    "Tove Lund built it [S1].\n\nSources\n[S1] Lighthouse Database  files/lighthouse.txt"
                )
                assert '\n     "Granite Cellar was built by Tove Lund in 1998."\n' in told.out
            assert "openai:scripted" in world.run("doctor", "--probe-llm", *llm[2:], "--set", f"llm={llm[1]}").out

    def test_a_language_model_that_is_away_is_a_warning_and_the_answer_is_quoted(self, world: World) -> None:
        away = {"LEXIGRAPH_LLM_OPTIONS": '{"base_url": "http://127.0.0.1:9/v1"}', "LEXIGRAPH_MODEL_ATTEMPTS": "1"}
        told = world.run("query", "Who built Granite Cellar?", "--llm", "ollama:any", env=away)
        assert told.code == ExitCode.OK
        assert "Granite Cellar was built by Tove Lund in 1998." in told.out
        assert len(told.complaints) == 1, "what retrieval and the answer lacked is one fault"
        assert told.complaints[0].startswith("warning: the language model failed (ollama:any")
        probed = world.run("doctor", "--probe-llm", "--set", "llm=ollama:any", env=away)
        assert probed.code == ExitCode.UNHEALTHY
        assert "run `ollama serve`" in probed.out

    def test_retrieve_gives_results_in_order_with_reasons(self, world: World) -> None:
        found = world.run("retrieve", "Who built Granite Cellar?", "--json").json
        assert list(found) == ["question", "results", "entities", "keywords", "warnings", "timings", "calls"]
        assert found["results"][0]["source"].endswith("/lighthouse.txt")
        scores = [r["score"] for r in found["results"]]
        assert scores == sorted(scores, reverse=True)
        assert all(s["reason"] and s["parts"] for r in found["results"] for s in r["details"])
        explained = world.run("retrieve", "Who built Granite Cellar?", "--explain").out
        assert "parts: " in explained
        assert "store calls: " in explained
        assert "1. " in explained
        assert "files/lighthouse.txt" in explained

    def test_limits_and_none_reach_the_retriever(self, world: World) -> None:
        one = world.run("retrieve", "Who built Granite Cellar?", "--json", "--limit", "1").json
        assert len(one["results"]) == 1
        every = world.run("retrieve", "Who built Granite Cellar?", "--json", "--max-search-results", "none").json
        assert len(every["results"]) > 1
        refused = world.run("retrieve", "Why?", "--max-search-results", "0")
        assert (refused.code, len(refused.complaints)) == (ExitCode.INVALID, 1)
        assert "max_search_results must be" in refused.err

    def test_filters_all_have_to_hold(self, world: World) -> None:
        found = world.run(
            "retrieve", "Who is Mira Holm?", "--json", "--filter", "year >= 2019", "--filter", "year < 2021"
        ).json
        assert {r["metadata"]["year"] for r in found["results"]} == {2019, 2020}

    @pytest.mark.parametrize("retriever", get_args(RetrieverName))
    def test_every_retriever_finds_the_answer(self, retriever: str, world: World) -> None:
        found = world.run("retrieve", "Who built Granite Cellar?", "--json", "--retriever", retriever).json
        assert any("Tove Lund" in s for r in found["results"] for s in r["statements"])

    @pytest.mark.parametrize(
        ("retriever", "option"),
        [("bm25", "--vss-top-k"), ("vector", "--bm25-weight"), ("traversal", "--topic-top-k"), ("chunk", "--max-keywords")],
    )
    def test_a_parameter_without_effect_on_the_retriever_is_refused(self, retriever: str, option: str, world: World) -> None:
        told = world.run("query", "Why is Tove?", "--retriever", retriever, option, "1")
        complaint = f"error: {option} has no effect on --retriever {retriever}: omit it"
        assert (told.code, told.complaints) == (ExitCode.INVALID, [complaint])

    @pytest.mark.parametrize(
        ("retriever", "pair"), [("hybrid", "top_k=1"), ("multihop", "final_top_k=1"), ("multidoc", "num_docs=1")]
    )
    def test_parameters_of_every_retriever_can_be_given_by_name(self, retriever: str, pair: str, world: World) -> None:
        asked = ("retrieve", "Who built Granite Cellar?", "--json", "--retriever", retriever)
        more = ("--arg", "expand_hops=0", "--arg", "subgraph_depth=0") if retriever == "hybrid" else ()
        every, few = world.run(*asked).json, world.run(*asked, "--arg", pair, *more).json
        assert few["results"]
        assert len(str(few["results"])) < len(str(every["results"]))

    def test_a_preset_that_leaves_nothing_is_not_told_as_nothing_found(self, world: World) -> None:
        preset = ("--retriever", "multidoc", "--arg", "preset=specific")
        shown = world.run("retrieve", "Who sings in the cathedral?", *preset)
        answered = world.run("query", "Who sings in the cathedral?", *preset)
        assert shown.out.startswith("nothing relevant enough")
        assert answered.out.startswith("No answer: no section reaches min_relevance=0.85;")
        assert all("Set min_relevance to 0." in told.err for told in (shown, answered))

    def test_what_a_baseline_and_an_answer_have_is_taken(self, world: World) -> None:
        kept = world.run(
            "query", "Who built Granite Cellar?", "--retriever", "bm25", "--quoted-statements", "1", "--include-facts"
        )
        assert kept.out.count("[S") == 2

    def test_listing_loads_no_heavy_package(self, world: World) -> None:
        assert loaded_by(["--data", "data", "documents", "list"], world.folder) == set()
        assert loaded_by(["--data", "data", "stats"], world.folder) == set()

    def test_documents_are_listed_as_a_table_and_as_json(self, world: World) -> None:
        table = world.run("documents", "list").out.splitlines()
        names = ["files/harbour.md", "files/lighthouse.txt", "files/people.jsonl#mira", "files/people.jsonl#tove"]
        assert [line.split()[0] for line in table] == ["document", *names]
        listed = world.run("documents", "list", "--json").json["documents"]
        assert [d["title"] for d in listed] == ["Harbour Office", "Lighthouse Database", "Mira Holm", "Tove Lund"]
        assert {d["state"] for d in listed} == {"READY"}
        assert {frozenset(d) for d in listed} == {frozenset(DocumentReply.model_fields)}
        assert not world.run("documents", "list", "--json", "--namespace", "other").json["documents"]

    def test_entities_are_a_table_that_says_when_there_are_more(self, world: World) -> None:
        first, every = world.run("entities", "list", "--limit", "2"), world.run("entities", "list", "--limit", "1000")
        assert first.out.split()[:2] == ["name", "class"]
        total = len(every.out.splitlines()) - 1
        assert total > 3
        assert (len(first.out.splitlines()), first.complaints) == (3, [f"the first 2 of {total}: --limit shows more"])
        assert [world.run("entities", "list", "--limit", n, "--json").json["more"] for n in ("2", "1000")] == [True, False]
        assert every.err == ""

    @pytest.mark.parametrize(
        ("command", "told"),
        [(["list", "Zanzibar"], "no entities"), (["proposals", "Mira Holm"], "no proposals"), (["history"], "no decisions")],
    )
    def test_a_list_without_rows_says_so(self, command: list[str], told: str, world: World) -> None:
        asked = world.run("entities", *command)
        assert (asked.code, asked.out, asked.complaints) == (ExitCode.OK, "", [told])

    def test_a_narrow_terminal_lists_documents_without_counts(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        heads = []
        for columns in (40, 80):
            monkeypatch.setattr(output, "_WIDE", columns)
            heads.append(world.run("documents", "list").out.splitlines()[0].split())
        assert heads == [["document", "title", "state"], ["document", "title", "state", "chunks", "characters"]]

    @pytest.mark.parametrize("name", ["files/people.jsonl#mira", "mira", "people.jsonl#mira"])
    def test_a_document_has_several_names(self, name: str, world: World) -> None:
        shown = world.run("documents", "show", name, "--json", "--text").json
        assert shown["title"] == "Mira Holm"
        assert "sailing" in shown["text"]
        assert world.run("documents", "show", shown["id"], "--json").json["uri"] == shown["uri"]

    def test_an_unknown_document_is_not_found(self, world: World) -> None:
        told = world.run("documents", "show", "nobody.md")
        assert (told.code, told.complaints) == (
            ExitCode.NOT_FOUND,
            ["error: no document 'nobody.md'; `lexigraph documents list` shows all"],
        )

    def test_stats_count_nodes_vectors_documents_and_bytes(self, world: World) -> None:
        counted = world.run("stats", "--json").json
        assert list(counted) == ["tenant", "graph", "vectors", "documents", "cache", "disk"]
        assert counted["graph"]["sources"] == 4
        assert counted["graph"]["chunks"] == counted["vectors"]["chunk"]
        assert set(counted["disk"]) == {"graph", "vector", "documents", "registry", "cache"}
        assert all(count > 0 for count in counted["disk"].values())
        assert re.search(r"^graph +sources +4$", world.run("stats").out, re.MULTILINE)

    def test_doctor_finds_a_healthy_database(self, world: World) -> None:
        told = world.run("doctor", "--json")
        assert (told.code, told.json["healthy"]) == (ExitCode.OK, True)
        areas = {(c["area"], c["name"]): c for c in told.json["checks"]}
        assert {name for area, name in areas if area == "stores"} == {"graph", "vector", "documents", "registry", "cache"}
        assert f"format {VERSION}" in areas["stores", "graph"]["detail"]
        assert "4 documents" in areas["documents", "comparison"]["detail"]
        assert "no problems" in world.run("doctor").out

    def test_doctor_repairs_what_an_interrupted_run_left(self, world: World, tmp_path: Path) -> None:
        copy = copied(world, tmp_path)
        text = next(p for p in (copy.folder / "data" / "documents").rglob("text.*"))
        text.unlink()
        told = copy.run("doctor")
        assert told.code == ExitCode.UNHEALTHY
        assert "its text is missing" in told.out
        assert "lexigraph doctor --repair" in told.out
        repaired = copy.run("doctor", "--repair")
        assert repaired.code == ExitCode.UNHEALTHY, "what was lost comes back with the next ingest only"
        assert "now ingest it again" in repaired.out
        assert "1 problem\n" in repaired.out
        assert "1 updated" in copy.run("ingest", "files").out
        assert copy.run("doctor").code == ExitCode.OK

    def test_another_embedding_model_is_refused(self, world: World) -> None:
        other = {"LEXIGRAPH_EMBEDDING_MODEL": "llama-index:some.Embedding", "LEXIGRAPH_EMBEDDING_DIMENSION": "8"}
        for command in (["ingest", "files"], ["retrieve", "Why is Tove?"]):
            told = world.run(*command, env=other)
            assert (told.code, len(told.complaints)) == (ExitCode.INVALID, 1)
            assert "minilm-384" in told.err
        doctor = world.run("doctor", env=other)
        assert doctor.code == ExitCode.UNHEALTHY
        assert "minilm-384" in doctor.out

    def test_another_tenant_sees_nothing(self, world: World) -> None:
        assert world.run("--tenant", "other", "documents", "list", "--json").json == {"documents": []}
        assert world.run("--tenant", "other", "retrieve", "Who is Mira Holm?", "--json").json["results"] == []
        assert world.run("--tenant", "other", "documents", "show", "mira").code == ExitCode.NOT_FOUND

    def test_where_there_are_no_documents_a_question_says_so(self, world: World) -> None:
        told = "tenant other has no documents yet: run `lexigraph ingest PATH`, or choose another with --tenant"
        for command in ("query", "retrieve", "recall"):
            asked = world.run("--tenant", "other", command, "Who is Mira Holm?")
            assert (asked.code, asked.complaints) == (ExitCode.OK, [told])
        assert "no documents yet" not in world.run("retrieve", "Who is Mira Holm?", "--filter", "year == 1900").err

    def test_a_reader_that_stops_reading_is_harmless(self, world: World) -> None:
        with begin("--data", "data", "documents", "list", cwd=world.folder) as process:
            process.stdout.close()
            assert process.communicate(timeout=60)[1] == ""
        assert process.returncode == ExitCode.OK

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
    def test_a_full_disk_is_an_error_of_the_system_and_no_fault_to_report(self, world: World) -> None:
        with open("/dev/full", "w") as full, begin("--data", "data", "stats", cwd=world.folder, stdout=full) as process:  # noqa: PTH123
            assert process.communicate(timeout=60)[1] == "error: no space left on device\n"
        assert process.returncode == ExitCode.UNEXPECTED

    def test_removed_documents_are_gone_and_failures_are_told(self, world: World, tmp_path: Path) -> None:
        copy = copied(world, tmp_path)
        told = copy.run("documents", "rm", "mira", "nobody.md", "--json")
        assert told.code == ExitCode.PARTLY
        assert [Path(r["uri"]).name for r in told.json["removed"]] == ["people.jsonl#mira"]
        assert [f["name"] for f in told.json["failures"]] == ["nobody.md"]
        assert "sailing" not in copy.run("query", "What does Mira Holm like?").out
        assert copy.run("documents", "rm", "mira").code == ExitCode.NOT_FOUND
        refused = copy.run("documents", "rm", "--all")
        assert (refused.code, refused.complaints) == (
            ExitCode.INVALID,
            ["error: documents rm --all cannot ask for confirmation without a terminal: add --yes"],
        )
        assert copy.run("documents", "rm", "--all", "--yes").out == "removed 3 documents\n"
        counted = copy.run("stats", "--json").json
        assert not any(counted["graph"].values())
        assert not any(counted["vectors"].values())

    @pytest.mark.nightly
    def test_an_interrupted_ingest_says_so_and_is_finished_by_the_next(self, tmp_path: Path) -> None:
        write_corpus(tmp_path / "files", 120, "a")
        with begin("--data", "data", "ingest", "files", cwd=tmp_path) as process:
            eventually((tmp_path / "data" / "graph.sqlite").exists)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (ExitCode.INTERRUPTED, "")
        assert err.splitlines()[-1].startswith("interrupted: ")
        assert "Traceback" not in err
        assert "0 failed" in apart("--data", "data", "ingest", "files", cwd=tmp_path).out
        assert apart("--data", "data", "stats", "--json", cwd=tmp_path).json["graph"]["sources"] == 120


def copied(world: World, folder: Path) -> World:
    """Return the world with its database in a folder of its own; the files stay where they are."""
    shutil.copytree(world.folder / "data", folder / "data")
    (folder / "files").symlink_to(world.folder / "files")
    return World(folder, world.first)


@pytest.mark.slow
def test_the_demo_answers_four_questions_and_costs_no_model_call_the_second_time(tmp_path: Path) -> None:
    lines = (Path(__file__).parents[2] / "examples" / "questions.jsonl").read_text().splitlines()
    questions = {q["id"]: q for q in map(json.loads, lines)}
    asked = [questions[name] for name in QUESTIONS]
    assert sorted(q["kind"] for q in asked) == ["direct", "three", "two", "two"]

    first, second = apart("demo", cwd=tmp_path), apart("demo", cwd=tmp_path)

    for told in (first, second):
        assert told.code == ExitCode.OK
        answers = told.out.split("\nQ: ")[1:]
        for question, answer in zip(asked, answers, strict=True):
            assert answer.startswith(question["question"])
            assert [e for e in question["expected"] if e not in answer] == []
            sources = answer.partition("\nSources\n")[2]
            assert [f for f in question["files"] if f not in sources] == []
            assert re.search(r"^retrieve \d.*, answer \d.*, total \d", answer, re.MULTILINE)
        assert re.search(r"^done in \d", told.out, re.MULTILINE)
        assert "lexigraph demo --open" in told.out.splitlines()[-1]
    assert "19 new, 0 updated, 0 unchanged, 0 failed" in first.out
    assert "0 new, 0 updated, 19 unchanged, 0 failed" in second.out
    assert "0 chunks extracted, 0 texts embedded" in second.out
    assert (tmp_path / ".demo").is_dir()
