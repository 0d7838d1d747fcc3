"""``lexigraph bench answers`` and ``bench questions`` as somebody with a folder and no questions meets them."""

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from lexigraph.cli.bench import quality
from lexigraph.cli.exits import ExitCode
from tests.e2e.commandline import Outcome, here
from tests.standins.llm_server import ScriptedLLMServer

FILES = {
    "granite.md": "# Granite Cellar\n\nGranite Cellar is a database of timetables. Tove Lund built Granite Cellar.\n",
    "harbour.md": "# Harbour Office\n\nThe Harbour Office keeps the timetables of forty ferries. Mira Holm leads it.\n",
    "ferry.txt": "MS Kattegat is a ferry between Grenaa and Varberg. MS Kattegat was built at Elsinore.\n",
    "lighthouse.md": "# Lighthouse\n\nLighthouse replaced Barnacle in 2021. Lighthouse stores weather reports.\n",
}
NEW = "# Skagen\n\nSkagen is a town at the northern tip of Jutland.\n"
QUESTIONS = [
    {"question": "Who built Granite Cellar?", "expected": ["Tove Lund"], "files": ["granite.md"], "kind": "direct"},
    {"question": "Where was MS Kattegat built?", "expected": ["Elsinore"], "files": ["ferry.txt"], "kind": "direct"},
    {"question": "What does the Harbour Office keep?", "answer": "Timetables of forty ferries", "type": "long"},
    {"question": "Who won the football world cup?", "unanswerable": True},
]


@pytest.fixture(scope="module", name="home")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("answers")
    (home / "docs").mkdir()
    for name, text in FILES.items():
        (home / "docs" / name).write_text(text)
    (home / "questions.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS))
    return home


def bench(home: Path, *arguments: str | Path, **options: str) -> Outcome:
    return here("bench", *arguments, cwd=home, **options)


@pytest.fixture(scope="module", name="told")
def _told(home: Path) -> Outcome:
    return bench(home, "answers", "docs", "--questions", "questions.jsonl", "--index", "kept", "--json")


@pytest.mark.nightly
def test_every_retriever_is_measured_at_every_budget_beside_its_best_rival(told: Outcome) -> None:
    assert told.code == ExitCode.OK
    assert (told.json["documents"], told.json["questions"], told.json["answered_by"]) == (4, 4, "quotations")
    assert list(told.json["retrievers"]) == ["traversal", "semantic-guided", "hybrid", "vector", "bm25", "fused"]
    for name, found in told.json["retrievers"].items():
        for what in ("answer words found", "expected texts found"):
            assert list(found[what]) == ["300", "1000", "2000"]
            assert found[what]["2000"]["mean"]["mean"] == 1.0, name
            assert {d["mean"] for d in found[what]["2000"]["differences"].values()} == {0.0}
        assert found["expected texts found"]["300"]["by_type"] == {"direct": {"mean": 1.0, "questions": 2}}


def test_answers_are_judged(told: Outcome) -> None:
    answers = told.json["retrievers"]["traversal"]["answers"]
    assert answers["all expected said"]["mean"]["mean"] == 1.0
    assert answers["needed files quoted"]["mean"]["mean"] == 1.0
    assert answers["citations right"]["mean"]["mean"] == 1.0
    assert 0 < answers["quotations right"]["mean"]["mean"] <= 1.0
    assert {"unanswerable told", "answerable refused"} <= set(answers)


def test_a_later_run_asks_the_same_index_and_takes_in_what_is_new(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    before = here("--data", home / "kept", "stats", "--json").json["documents"]["jobs"]
    (home / "docs" / "new.md").write_text(NEW)
    (home / "more.jsonl").write_text('{"question": "Where is Skagen?", "expected": "Jutland"}\n')
    again = bench(home, "answers", "docs", "--questions", "more.jsonl", "--index", "kept", "--retriever", "bm25")
    assert "5 documents, 1 question" in again.out
    assert "expected texts found, 300 tokens" in again.out
    (home / "docs" / "new.md").unlink()
    assert here("--data", home / "kept", "stats", "--json").json["documents"]["jobs"] == before + 1


def test_a_database_is_asked_as_it_is(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    arguments = ("--questions", "-", "--retriever", "fused", "--budgets", "50", "--json")
    found = bench(home, "answers", "kept", *arguments, stdin=json.dumps(QUESTIONS[0]))
    assert found.code == ExitCode.OK
    assert found.json["retrievers"]["fused"]["expected texts found"]["50"]["rival"] == ""
    assert found.json["retrievers"]["fused"]["answers"]["first quotation right"]["mean"]["mean"] == 1.0


def test_parameters_of_the_answer_are_given_like_those_of_the_retriever(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    arguments = ("--questions", "questions.jsonl", "--limit", "1", "--retriever", "bm25", "--json")
    one = bench(home, "answers", "kept", *arguments, "--arg", "quoted_statements=1").json["retrievers"]["bm25"]["answers"]
    # a single quotation is right or wrong as a whole
    assert one["quotations right"]["mean"]["mean"] == one["first quotation right"]["mean"]["mean"] == 1.0
    refused = bench(home, "answers", "kept", *arguments, "--arg", "quoted=1")
    assert (refused.code, "unknown parameter 'quoted'" in refused.err) == (ExitCode.INVALID, True)


def test_what_was_found_is_written_for_other_scorers(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    arguments = ("--questions", "questions.jsonl", "--retriever", "vector", "--limit", "2", "--run", "run.jsonl")
    assert bench(home, "answers", "kept", *arguments).code == ExitCode.OK
    lines = [json.loads(line) for line in (home / "run.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["1", "2"]
    assert any("Tove Lund" in text for text in lines[0]["texts"])
    assert lines[0]["figures"]["all expected said"] == 1.0


@pytest.mark.nightly
def test_figures_of_answers_are_shown_with_their_questions_and_by_type_when_wanted(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    arguments = ("--questions", "questions.jsonl", "--retriever", "vector", "--retriever", "bm25", "--budgets", "300")
    plain, by_type = (bench(home, "answers", "kept", *arguments, *more).out for more in ((), ("--by-type",)))
    for shown in (plain, by_type):
        assert re.search(r"^all expected said \(2\) +100\.0 \[100\.0, 100\.0\] +100\.0", shown, re.MULTILINE)
    of_type = re.compile(r"^all expected said, direct \(2\) +100\.0 +100\.0", re.MULTILINE)
    assert (bool(of_type.search(plain)), bool(of_type.search(by_type))) == (False, True)


def test_off_a_terminal_a_line_now_and_then_tells_how_many_questions_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    told = StringIO()
    advance = quality.counting(Console(file=told), "bm25")
    advance(1, 2_000)
    assert told.getvalue() == ""
    monkeypatch.setattr(quality, "_LINE_SECONDS", 0.0)
    advance(2, 2_000)
    assert told.getvalue() == "bm25: 2/2,000 questions\n"


def test_a_model_answers_where_one_is_set(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    arguments = (
        "--questions",
        "questions.jsonl",
        "--limit",
        "2",
        "--retriever",
        "traversal",
        "--llm",
        "openai:any",
        "--json",
    )
    with ScriptedLLMServer("Tove Lund [S1].") as server:
        options = json.dumps({"base_url": server.base_url})
        found = here("--set", f"llm_options={options}", "bench", "answers", "kept", *arguments, cwd=home)
    assert found.json["answered_by"].startswith("openai:any")
    # the same answer to both questions: what is expected of the first one only
    assert found.json["retrievers"]["traversal"]["answers"]["all expected said"]["mean"]["mean"] == 0.5


def test_drafts_are_questions_to_be_measured_with(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    drafted = bench(home, "questions", "docs", "--index", "kept", "--number", "6", "--unanswerable", "2")
    assert drafted.code == ExitCode.OK
    lines = [json.loads(line) for line in drafted.out.splitlines()]
    assert all(line["draft"] for line in lines)
    assert sum(line.get("unanswerable", False) for line in lines) == 2
    assert len({line["files"][0] for line in lines if "files" in line}) > 2
    for line in lines:
        if "expected" in line:
            assert line["expected"][0] in {**FILES, "new.md": NEW}[line["files"][0]]
    assert "drafts, to be read before they are trusted" in drafted.err
    assert bench(home, "questions", "kept", "--number", "6", "--unanswerable", "2").out == drafted.out
    measured = bench(home, "answers", "kept", "--questions", "-", "--retriever", "traversal", "--json", stdin=drafted.out)
    assert measured.json["questions"] == len(lines)
    assert measured.json["retrievers"]["traversal"]["expected texts found"]["300"]["mean"]["mean"] == 1.0


def test_a_model_writes_the_drafts_and_facts_stand_in_for_one_that_fails(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    usable, unusable = {"question": "Which town?", "expected": "Elsinore"}, {"question": "Which town?", "expected": "Oslo"}
    for reply, kinds in ((usable, {"written"}), (unusable, {"cloze"}), (OSError(), {"cloze"})):
        with ScriptedLLMServer(lambda _, reply=reply: reply) as server:
            options = json.dumps({"base_url": server.base_url})
            sets = ("--set", f"llm_options={options}", "--set", "model_attempts=1")
            arguments = ("kept", "--number", "4", "--unanswerable", "0", "--llm", "openai:any")
            found = here(*sets, "bench", "questions", *arguments, cwd=home)
        assert {json.loads(line)["type"] for line in found.out.splitlines()} == kinds
        assert ("warning: " in found.err) == (kinds == {"cloze"})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere", "--questions", "questions.jsonl"), "nowhere does not exist: name a folder of documents, a file, or"),
        (("docs", "--questions", "none.jsonl"), "none.jsonl: cannot be read"),
        (("docs", "--questions", "bad.jsonl"), "bad.jsonl, line 2, field 'expected': is missing: give texts, or"),
        (("docs", "--questions", "questions.jsonl", "--index", "docs"), "docs holds something else, no index made by this"),
        (("empty", "--questions", "questions.jsonl"), "empty holds nothing that can be read, no file of a known type"),
        (("docs", "--questions", "questions.jsonl", "--budgets", "x"), "--budgets 'x': expected numbers of tokens"),
        (("docs", "--questions", "questions.jsonl", "--retriever", "best"), "retriever 'best' is unknown"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_what_to_do(home: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (home / "empty").mkdir(exist_ok=True)
    (home / "bad.jsonl").write_text('{"question": "Who?", "expected": ["a"]}\n{"question": "Who?"}\n')
    told = bench(home, "answers", *arguments)
    assert (told.code, told.out) == (ExitCode.INVALID, "")
    assert complaint in told.err


def test_a_database_has_no_other_index(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    for command in (("answers", "kept", "--questions", "questions.jsonl"), ("questions", "kept")):
        refused = bench(home, *command, "--index", "other")
        assert (refused.code, refused.out) == (ExitCode.INVALID, "")
        assert "--index: kept is already a database: omit --index" in refused.err


def test_the_index_of_other_documents_is_refused(told: Outcome, home: Path) -> None:
    assert told.code == ExitCode.OK
    (home / "other").mkdir(exist_ok=True)
    (home / "other" / "one.md").write_text("Text.")
    refused = bench(home, "answers", "other", "--questions", "questions.jsonl", "--index", "kept")
    assert refused.code == ExitCode.INVALID
    assert "kept holds the index of file://" in refused.err
