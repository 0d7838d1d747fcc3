"""``lexigraph bench quality`` as a user meets it: the figures it prints, the run it writes, the index it keeps."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lexigraph.cli.bench.quality import COMPARED
from lexigraph.cli.exits import ExitCode
from lexigraph.retrieval.catalogue import RETRIEVERS
from tests.e2e.commandline import Outcome, here

PASSAGES = {
    "granite": ("Granite Cellar", "Granite Cellar is a database for timetables. Tove Lund built it for the Harbour Office."),
    "tove": ("Tove Lund", "Tove Lund is an engineer. She was born in Skagen and studied in Aarhus."),
    "skagen": ("Skagen", "Skagen is a town at the northern tip of Jutland. Its harbour was opened in 1907."),
    "harbour": ("Harbour Office", "The Harbour Office keeps the timetables of forty ferries. Mira Holm leads it."),
    "mira": ("Mira Holm", "Mira Holm has led the Harbour Office since 2019. Before, she was captain of the Kattegat."),
    "kattegat": ("MS Kattegat", "MS Kattegat is a ferry between Grenaa and Varberg. It was built at Elsinore."),
    "elsinore": ("Elsinore", "Elsinore is a town on the Sound, known for its castle."),
    "grenaa": ("Grenaa", "Grenaa is a port on the east coast of Jutland."),
    "aarhus": ("Aarhus", "Aarhus has a university, which was founded in 1928."),
    "lighthouse": ("Lighthouse", "Lighthouse is a database of weather reports. It replaced Barnacle in 2021."),
    "barnacle": ("Barnacle", "Barnacle was a database of weather reports, written by Oskar Brandt."),
    "oskar": ("Oskar Brandt", "A meteorologist from Odense."),
}
QUESTIONS = [
    ("q1", "Who built Granite Cellar?", ["granite"], 1),
    ("q2", "Where was the engineer who built Granite Cellar born?", ["granite", "tove"], 2),
    ("q3", "When was the harbour opened in the town where Tove Lund was born?", ["tove", "skagen"], 2),
    ("q4", "Who leads the Harbour Office?", ["harbour", "mira"], 1),
    ("q5", "Where was the ferry built whose captain leads the Harbour Office?", ["harbour", "mira", "kattegat"], 3),
    (
        "q6",
        "Where does Oskar Brandt, who wrote the predecessor of Lighthouse, come from?",
        ["lighthouse", "barnacle", "oskar"],
        3,
    ),
]


@dataclass(frozen=True)
class Bench:
    """The files of an evaluation, and the folder where its index is."""

    folder: Path
    corpus: Path
    questions: Path

    def run(self, *arguments: str | Path, **options: Any) -> Outcome:
        return here(
            *("bench", "quality", "--corpus", self.corpus, "--questions", self.questions, *arguments),
            cwd=self.folder,
            **options,
        )


def write_files(folder: Path) -> Bench:
    bench = Bench(folder, folder / "corpus.jsonl", folder / "questions.jsonl")
    passages = ({"id": i, "title": title, "text": text} for i, (title, text) in PASSAGES.items())
    questions = ({"id": i, "question": q, "gold": gold, "hops": hops} for i, q, gold, hops in QUESTIONS)
    for path, records in ((bench.corpus, passages), (bench.questions, questions)):
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return write_files(tmp_path_factory.mktemp("bench"))


def test_what_is_compared_are_retrievers_of_the_catalogue() -> None:
    assert set(COMPARED) <= set(RETRIEVERS)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--retriever", "best"], "retriever 'best' is unknown: use one of traversal"),
        (["--retriever", "all", "--run", "run.jsonl"], "--run needs exactly one retriever"),
        (["--retriever", "fused", "--arg", "bm25_weight"], "--arg 'bm25_weight': expected NAME=VALUE"),
        (["--retriever", "fused", "--arg", "bm25_weight=2"], "bm25_weight must be"),
        (["--retriever", "fused", "--arg", "vss_top_k=2"], "unknown parameter 'vss_top_k'"),
        (["--retriever", "fused", "--arg", "embedder=x"], "unknown parameter 'embedder'"),
        (["--retriever", "fused", "--run", "none/run.jsonl"], "--run none/run.jsonl: name a file in a folder that exists"),
        (["--retriever", "fused", "--limit", "0"], "--limit"),
        (["--retriever", "fused", "--budgets", "300;1000"], "--budgets '300;1000': expected numbers of tokens"),
        (["--retriever", "fused", "--corpus", "none.jsonl"], "none.jsonl: cannot be read"),
        (["--retriever", "fused", "--corpus", "questions.jsonl"], "questions.jsonl, line 1, field 'text': is missing"),
        (["--retriever", "fused", "--index", "questions.jsonl"], "questions.jsonl is not an index of a corpus"),
        ([], "--retriever"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], complaint: str, bench: Bench) -> None:
    told = bench.run(*arguments)
    assert (told.code, told.out, len(told.complaints)) == (ExitCode.INVALID, "", 1)
    assert complaint in told.err


def lines_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.read_text().splitlines()]


def independent(run: Path) -> dict[str, list[float]]:
    """Score a run file anew: recall@2, @5, @10, all-gold@5 and MRR of each question, in percent."""
    ranked = {line["id"]: line["ranked"] for line in lines_of(run)}
    assert list(ranked) == [q[0] for q in QUESTIONS]
    rows = []
    for id_, _, gold, _ in QUESTIONS:
        assert set(ranked[id_]) <= set(PASSAGES)
        assert len(ranked[id_]) == len(set(ranked[id_]))
        places = [ranked[id_].index(g) + 1 if g in ranked[id_] else 999 for g in gold]
        recalls = [100 * sum(p <= k for p in places) / len(gold) for k in (2, 5, 10)]
        rows.append([*recalls, 100.0 * (max(places) <= 5), 100 / min(places) if min(places) < 999 else 0.0])
    return {q[0]: row for q, row in zip(QUESTIONS, rows, strict=True)}


@pytest.fixture(scope="module")
def index(bench: Bench) -> str:
    assert bench.run("--retriever", "bm25", "--index", "index").code == ExitCode.OK
    return "index"


@pytest.mark.slow
class TestMeasuring:
    """One ingest with the real local models, then measurements on it."""

    @pytest.mark.parametrize("name", ["traversal", "fused"])
    def test_the_printed_figures_are_those_of_the_run_scored_independently(
        self, name: str, bench: Bench, index: str
    ) -> None:
        run = bench.folder / f"{name}.jsonl"
        told = bench.run("--retriever", name, "--index", index, "--run", run)
        assert (told.code, told.err) == (ExitCode.OK, "")
        scored = independent(run)
        means = [sum(column) / len(scored) for column in zip(*scored.values(), strict=True)]
        line = re.search(rf"^{name} +(.*\])$", told.out, re.MULTILINE)
        assert line
        cells = re.findall(r"([\d.]+) \[([\d.]+), ([\d.]+)\]", line[1])
        assert [float(mean) for mean, _, _ in cells] == [round(mean, 1) for mean in means]
        assert all(float(low) <= float(mean) <= float(high) for mean, low, high in cells)
        hops = {str(h): [scored[i][1] for i, _, _, its in QUESTIONS if its == h] for h in (1, 2, 3)}
        assert re.search(r"^recall@5 by hops +" + " +".join(rf"{h} \(2\)" for h in hops) + "$", told.out, re.MULTILINE)
        by_hops = " +".join(f"{sum(values) / 2:.1f}" for values in hops.values())
        assert re.search(rf"^{name} +{by_hops}$", told.out, re.MULTILINE)

    def test_an_index_that_is_there_is_reused_without_a_model(self, bench: Bench, index: str) -> None:
        marker = bench.folder / index / "evaluation.json"
        before = marker.read_text(), (bench.folder / index / "graph.sqlite").stat().st_mtime_ns
        told = bench.run("--retriever", "bm25", "--index", index, "--json")
        assert told.json["passages"] == 12
        assert (marker.read_text(), (bench.folder / index / "graph.sqlite").stat().st_mtime_ns) == before
        jobs = here("--data", bench.folder / index, "stats", "--json").json["documents"]
        assert jobs["jobs"] == 1

    def test_the_same_run_twice_and_in_another_folder(self, bench: Bench, index: str) -> None:
        found = []
        for folder in (index, index, "elsewhere/index"):
            run = bench.folder / "again.jsonl"
            told = bench.run(
                "--retriever", "traversal", "--index", folder, "--run", run, env={"LEXIGRAPH_CACHE": "sqlite:///index"}
            )
            assert told.code == ExitCode.OK
            found.append(run.read_text())
        assert found[0] == found[1] == found[2]

    def test_json_has_every_figure_of_every_retriever_that_is_compared(self, bench: Bench, index: str) -> None:
        told = bench.run("--retriever", "fused", "--retriever", "all", "--index", index, "--json", "--limit", "4").json
        assert (told["passages"], told["questions"], told["titles"]) == (12, 4, True)
        assert set(told["retrievers"]) == set(COMPARED)
        for found in told["retrievers"].values():
            assert list(found["figures"]) == ["recall@2", "recall@5", "recall@10", "all-gold@5", "MRR"]
            assert found["figures"]["recall@5"]["mean"] > 0.5
            assert 0 < found["retrieval"]["p50"] <= found["milliseconds"]["p50"] <= found["milliseconds"]["p95"]
            assert (found["by_hops"]["2"]["questions"], found["warnings"]) == (2, {})
        assert told["retrievers"]["fused"]["calls"] == {"graph": 1, "vector": 2}

    def test_budgets_tell_what_is_handed_over_within_them_beside_the_best_rival(self, bench: Bench, index: str) -> None:
        told = bench.run("--retriever", "all", "--index", index, "--budgets", "5,400", "--json").json
        for name, found in told["retrievers"].items():
            assert list(found["budgets"]) == ["5", "400"]
            small, large = found["budgets"].values()
            assert small["mean"]["mean"] < large["mean"]["mean"]
            assert large["by_type"]["2"]["questions"] == 2
            assert small["rival"] in {"vector", "bm25", "fused", "semantic-guided"} - {name}
            difference = small["mean"]["mean"] - told["retrievers"][small["rival"]]["budgets"]["5"]["mean"]["mean"]
            assert small["differences"][small["rival"]]["mean"] == pytest.approx(difference)
        shown = bench.run("--retriever", "traversal", "--retriever", "fused", "--index", index, "--budgets", "5")
        assert "gold passages handed over, 5 tokens" in shown.out
        assert re.search(r"^traversal .*\] +[-+][0-9.]+ \[[-+][0-9.]+, [-+][0-9.]+\] +fused", shown.out, re.MULTILINE)

    def test_a_parameter_of_the_retriever_has_its_effect(self, bench: Bench, index: str) -> None:
        run = bench.folder / "one.jsonl"
        bench.run("--retriever", "traversal", "--index", index, "--run", run, "--arg", "max_search_results=1")
        assert [len(line["ranked"]) for line in lines_of(run)] == [1] * len(QUESTIONS)

    def test_no_titles_makes_another_index_and_ranks_otherwise(self, bench: Bench, index: str) -> None:
        refused = bench.run("--retriever", "bm25", "--index", index, "--no-titles")
        assert (refused.code, refused.out) == (ExitCode.INVALID, "")
        assert "index made with other corpus, titles: name a new folder" in refused.err
        runs = []
        for options in (["--index", index], ["--no-titles", "--index", "untitled"]):
            told = bench.run("--retriever", "bm25", "--run", "run.jsonl", *options)
            assert told.code == ExitCode.OK
            assert ("no titles" in told.out) == ("--no-titles" in options)
            runs.append({line["id"]: line["ranked"] for line in lines_of(bench.folder / "run.jsonl")})
        # his name is in the title of his page only
        assert ["oskar" in run["q6"] for run in runs] == [True, False]
        titles = here("--data", bench.folder / "untitled", "documents", "list", "--json").json["documents"]
        # documents are called by what their texts begin with, if that is a name
        assert "Barnacle" in {d["title"] for d in titles}
        assert "Oskar Brandt" not in {d["title"] for d in titles}
