"""The comparison with other systems: what can be checked without them."""

import json
import os
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.peers import environments
from bench.peers.__main__ import run_driver
from bench.peers.drawing import draw
from bench.peers.driver import Clock, MadeUp, resident, size
from bench.peers.environments import SYSTEMS, Unavailable, variables
from bench.peers.given import Asked, Document, Fact, Statement, Topic, names_in, read_documents, read_questions, write_lines
from bench.peers.ours import Counted
from bench.peers.prepare import prepare
from bench.peers.report import as_json, percentile, read_step, row, tables
from bench.peers.score import kept, normalised
from lexigraph.model.extraction import Extraction

ASKED = [
    Asked(
        "q1",
        "direct",
        "Who leads Kite Works?",
        ("Kite Works",),
        (("It is led by Ida Ost.", "Kite Works is led by Ida Ost."),),
    ),
    Asked("q2", "multi", "And who leads both?", (), (("Ida Ost leads it.",), ("Leo Hask leads it, too.",))),
]


def told(step: str, **found: Any) -> str:
    figures = {"version": "1.0", "seconds": 2.0, "processor_seconds": 1.0, "peak_mb": 90, "disk_mb": 3.5}
    asked = {"embedding_calls": 1, "first_answer_seconds": 0.5, "resident_mb": 80, "servers_mb": 0}
    return json.dumps({"job": {"step": step}, "found": {**figures, **(asked if step == "ask" else {}), **found}})


def answered(contexts: dict[str, str]) -> str:
    times = [10.0 * (at + 1) for at in range(len(contexts))]
    return told("ask", contexts=contexts, milliseconds=times, calls={"graph": 2, "vectors": 1.5})


# ---------------------------------------------------------------- evidence


def test_evidence_counts_when_one_of_its_wordings_stands_whole_within_the_budget() -> None:
    context = "Kite Works: It is\n led by IDA OST. And more."
    assert kept(ASKED[0].evidence, context) == 1.0
    assert kept(ASKED[0].evidence, context, 20) == 0.0
    assert kept(ASKED[0].evidence, "so Kite Works is led by Ida Ost") == 1.0


def test_each_sentence_of_a_question_counts_alike() -> None:
    assert kept(ASKED[1].evidence, "Ida Ost leads it.") == 0.5
    assert kept(ASKED[1].evidence, "nothing") == 0.0


def test_a_sentence_inside_other_words_does_not_count() -> None:
    assert kept([["It is led by Ida Ost."]], "It is led by Ida Osterman.") == 0.0


def test_contexts_in_json_are_read_as_the_text_they_hold() -> None:
    text = 'The "Quiet Anchor" is a kite.\nShe made it.'
    assert normalised(json.dumps(text)) == normalised(text)


def test_of_names_inside_each_other_the_longer_is_in_a_question() -> None:
    names = ["Kite", "Kite Works", "Ost", "Works"]
    assert names_in("Did Ost found Kite Works, or the Kite Club?", names) == ("Ost", "Kite Works", "Kite")


# ---------------------------------------------------------------- what is given


def test_documents_and_questions_come_back_as_they_were_written(tmp_path: Path) -> None:
    said = Statement("Kite Works is led by Ida Ost.", (("Kite Works", "Organization"),), (Fact("a", "b", "c", entity=True),))
    documents = [
        Document("d1", "Kite Works", "It is led by Ida Ost.", (Topic("Kite Works", (said,)),), Extraction().to_json())
    ]
    write_lines(tmp_path / "documents", documents)
    write_lines(tmp_path / "questions", ASKED)
    assert read_documents(tmp_path / "documents") == documents
    assert read_questions(tmp_path / "questions") == ASKED


@pytest.mark.slow
def test_the_made_corpus_is_given_with_its_extraction_and_all_evidence_can_be_found() -> None:
    documents, questions = prepare(50, 3, 1)
    assert len(documents) == 50 and len(questions) == 9
    everything = "\n".join(d.whole for d in documents)
    assert all(kept(q.evidence, everything) == 1.0 for q in questions)
    assert all(q.names for q in questions)
    statements = [s for d in documents for s in d.statements]
    assert len(statements) > 200 and sum(f.entity for s in statements for f in s.facts) > 50


def test_made_up_vectors_have_length_one_and_depend_on_the_text_alone() -> None:
    model = MadeUp()
    both, one = model.embed_passages(["a", "b"]), model.embed_questions(["b"])
    assert both.shape == (2, 384) and abs(float((both[0] ** 2).sum()) - 1) < 1e-5
    assert (both[1] == one[0]).all() and model.calls == 2


# ---------------------------------------------------------------- results of drivers


def test_a_row_has_shares_by_budget_and_type_and_times(tmp_path: Path) -> None:
    contexts = {"q1": "x " * 600 + "It is led by Ida Ost.", "q2": "Ida Ost leads it."}
    build, only, ask = read_step(told("build")), read_step(told("build-only")), read_step(answered(contexts))
    found = row("Lexigraph", "traversal", ASKED, build, only, ask)
    assert found.kept == {1_000: 0.25, 2_000: 0.75, 4_000: 0.75}
    assert found.by_type == {"direct": 1.0, "multi": 0.5}
    assert (found.p50, found.a_second, found.processor) == (15.0, 1.0, 500.0)
    table = tables([found], {"LightRAG": "no network"})
    assert "| Lexigraph 1.0 | traversal | 15 | 20 | 500 | 1.0 | 2.0 graph, 1.5 vectors | 1.0 | 0.5 |" in table
    assert "| Lexigraph 1.0 | traversal | 25.0 | 75.0 | 75.0 | 100.0 | 50.0 | 75.0 | 619 |" in table
    assert table.endswith("LightRAG was not measured: no network")
    assert json.loads(as_json([found], {}, {"documents": 1}))["rows"][0]["calls"] == {"graph": 2.0, "vectors": 1.5}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"job": {"step": "build"}, "found": {"version": "1"}}',
        '{"job": {"step": "other"}, "found": {}}',
        answered({"q1": ""}).replace("[10.0]", "[]"),
        answered({"q1": ""}).replace('"q1": ""', '"q1": null'),
    ],
)
def test_what_no_driver_wrote_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"driver|match"):
        read_step(text)


def test_a_question_without_a_context_is_refused() -> None:
    step = read_step(told("build"))
    with pytest.raises(ValueError, match="1 questions have no context, the first is q2"):
        row("Lexigraph", "traversal", ASKED, step, step, read_step(answered({"q1": ""})))


def test_percentiles_lie_between_the_values() -> None:
    assert percentile([7.0], 95) == 7.0
    assert percentile([float(n) for n in range(101)], 95) == 95.0


# ---------------------------------------------------------------- drawing


def test_the_drawing_is_svg_for_light_and_dark_with_bars_inside_it() -> None:
    steps = [read_step(told(step)) for step in ("build", "build-only")]
    ask = read_step(answered({"q1": "It is led by Ida Ost.", "q2": ""}))
    rows = [row(name, "a < b", ASKED, *steps, ask) for name in ("Lexigraph", "LightRAG")]
    drawn = draw(rows)
    root = ET.fromstring(drawn)
    bars = [e for e in root.iter() if e.tag.endswith("rect")]
    width, height = (float(root.get(side, "0")) for side in ("width", "height"))
    assert len(bars) == 10 and {bar.get("class") for bar in bars} == {"bar", "ours"}
    assert all(float(b.get("x", "")) + float(b.get("width", "")) < width and float(b.get("y", "")) < height for b in bars)
    assert "prefers-color-scheme: dark" in drawn and "a &lt; b" in drawn


def test_a_drawing_of_nothing_says_so() -> None:
    assert "Nothing was measured" in draw([])


# ---------------------------------------------------------------- running drivers


def test_a_driver_that_fails_says_why_and_one_that_hangs_is_ended() -> None:
    with pytest.raises(Unavailable, match=r"build failed: .*no such thing"):
        run_driver([sys.executable, "-c", "raise SystemExit('no such thing')"], "build", 30)
    with pytest.raises(Unavailable, match="ask mix took longer than 1 s"):
        run_driver([sys.executable, "-c", "import time; time.sleep(60)"], "ask mix", 1)


def test_an_environment_that_cannot_be_made_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "_uv", lambda: "false")
    with pytest.raises(Unavailable, match="its environment cannot be made: it said nothing"):
        environments.environment(SYSTEMS[1])


def test_drivers_do_not_see_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEXIGRAPH_GRAPH_STORE", "neptune-db://example")
    assert "LEXIGRAPH_GRAPH_STORE" not in variables()


@pytest.mark.parametrize("system", SYSTEMS[1:], ids=lambda system: system.name)
def test_requirements_of_a_peer_are_pinned_and_name_no_index(system: environments.System) -> None:
    text = system.requirements.read_text()
    pinned = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert any(line.startswith(f"{system.package}==") for line in pinned)
    assert all("==" in line for line in pinned)
    assert len(pinned) <= text.count("--hash=sha256:")
    assert "://" not in text


def test_calls_of_a_store_are_counted_and_its_values_are_not() -> None:
    calls: Counter[str] = Counter()
    store = Counted(SimpleNamespace(size=3, search=lambda n: n + 1), "graph", calls)
    assert (store.search(1), store.size, calls["graph"]) == (2, 3, 1)


def test_memory_files_and_processors_are_measured(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"12345")
    assert size(tmp_path) == 5
    assert resident(os.getpid()) > 10
    clock: Any = Clock(SimpleNamespace(servers=lambda: [os.getpid()]))  # type: ignore[arg-type]
    sum(n * n for n in range(300_000))
    seconds, processor = clock.told()
    assert seconds > 0 and processor > 0
