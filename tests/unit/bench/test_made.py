"""The generator of made-up worlds: repeatable, in the public format, and with questions that have one answer."""

import gzip
import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from bench.made.corpus import MadeCorpus, make_corpus
from bench.made.evidence import Evidence, lost, measure_kept, read_evidence
from bench.made.pages import write_pages
from bench.made.questions import TYPES, Asker
from bench.made.world import Thing, make_world
from lexigraph.answering.context import build_context
from lexigraph.evaluation.corpus import read_corpus, read_questions
from lexigraph.model.errors import InvalidInput
from lexigraph.model.graph import Source
from lexigraph.model.results import ScoredStatement, SearchResult, SearchResults

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def corpus() -> MadeCorpus:
    return make_corpus(300, seed=3, questions=50)


def test_one_seed_makes_one_corpus_and_another_seed_another(corpus: MadeCorpus) -> None:
    assert make_corpus(300, seed=3, questions=50) == corpus
    assert make_corpus(300, seed=4, questions=50) != corpus


def test_there_are_as_many_documents_and_questions_as_asked_for(corpus: MadeCorpus) -> None:
    assert len({p.id for p in corpus.passages}) == 300
    assert Counter(q.type for q in corpus.questions) == dict.fromkeys(TYPES, 50)
    assert len({q.question for q in corpus.questions}) > 140
    hops = Counter((q.type, q.hops) for q in corpus.questions)
    assert hops["bridge", 2] == 35
    assert hops["bridge", 3] == 15
    assert hops["multi", 2] > hops["multi", 3] > 0


def test_each_gold_statement_stands_in_its_document_once(corpus: MadeCorpus) -> None:
    texts = {p.id: p.text for p in corpus.passages}

    for q in corpus.questions:
        assert len(q.gold) == len(set(q.gold)) == q.hops
        assert [texts[g].count(s) for g, s in zip(q.gold, q.gold_statements, strict=True)] == [1] * q.hops


def test_the_last_document_of_a_bridge_has_the_answer_and_no_name_of_the_question(corpus: MadeCorpus) -> None:
    pages = {p.id: f"{p.title}\n{p.text}" for p in corpus.passages}

    for q in (q for q in corpus.questions if q.type == "bridge"):
        *before, last = (pages[g] for g in q.gold)
        assert q.answer in last
        assert q.answer.casefold() not in q.question.casefold()
        assert not any(q.answer in page for page in before)
        names = set(re.findall(r"(?<=[a-z] )[A-Z][a-z]{2,}", q.question)) - {"The", "Company", "Works", "Brothers", "Fair"}
        names -= {"College", "Institute", "Academy", "Festival"}
        assert not names & set(re.findall(r"[A-Z][a-z]{2,}", last)), q.question


def test_names_are_ambiguous_as_real_ones_are(corpus: MadeCorpus) -> None:
    bare = [re.sub(r" \(.*\)$", "", p.title) for p in corpus.passages]
    families, towns = Counter(b.split()[-1] for b in bare), Counter(b.split()[0] for b in bare)

    assert sum(p.title.endswith(")") for p in corpus.passages) > 30
    assert Counter(bare).most_common(1)[0][1] > 1
    assert families.most_common(20)[-1][1] > 1
    assert towns.most_common(20)[-1][1] > 1
    assert {len(p.text.split("\n\n")) for p in corpus.passages} == {1, 2, 3, 4}


def test_an_answer_is_the_only_one_that_the_facts_of_the_world_allow() -> None:
    rng = random.Random(8)
    world = make_world(280, rng)
    asker = Asker(world, write_pages(world, 20, rng), rng)
    things = [thing for of_kind in world.things.values() for thing in of_kind]

    assert len({thing.asked for thing in things}) == len(things)
    told = defaultdict(list)
    for fact in asker.facts:
        told[fact.subject, fact.relation.name].append(fact)
    assert all(len(facts) == 1 for facts in told.values())
    for asked in asker.ask("bridge", 40):
        for fact, onwards in zip(asked.facts, asked.facts[1:], strict=False):
            assert isinstance(fact.object, Thing)
            assert fact.object == onwards.subject
        assert asked.facts[0].subject.asked in asked.question
        assert asked.facts[-1].answer == asked.answer
    for asked in asker.ask("multi", 40):
        assert all(thing.asked in asked.question for thing in asked.named)


def test_a_world_that_is_too_small_says_so() -> None:
    with pytest.raises(InvalidInput, match="make more documents"):
        make_corpus(50, questions=5_000)
    with pytest.raises(InvalidInput, match="documents must be 50 to 3,000, got 49"):
        make_corpus(49)
    with pytest.raises(InvalidInput, match="questions must be at least 1, got 0"):
        make_corpus(50, questions=0)


def test_the_command_writes_what_the_evaluation_reads(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "bench.questions",
        "--documents",
        "60",
        "--seed",
        "2",
        "--questions",
        "5",
        "--out",
        tmp_path,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)

    files = [Path(line) for line in done.stdout.split()]
    assert files == [tmp_path / "corpus.jsonl", tmp_path / "questions.jsonl"]
    passages = read_corpus(files[0])
    assert (len(passages), len(read_questions(files[1], {p.id for p in passages}))) == (60, 15)
    evidence = read_evidence(files[1], files[0])
    assert [e.type for e in evidence] == [json.loads(line)["type"] for line in files[1].read_text().splitlines()]
    assert all(lost(e.statements, [(p.id, p.text) for p in passages]) == [] for e in evidence)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.questions", "--documents", "5", "--out", str(tmp_path / "new")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert (done.returncode, "documents must be 50 to 3,000, got 5" in done.stderr) == (2, True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"gold_statements": None}, "line 1, field 'gold_statements': must be one text a gold document"),
        ({"gold_statements": "one"}, "field 'gold_statements': must be one text"),
        ({"gold_statements": []}, "field 'gold_statements': must be one text"),
        ({"gold": [...], "gold_statements": [7]}, "field 'gold_statements': must be one text"),
        ({"gold": [...], "gold_statements": [" "]}, "field 'gold_statements': must be one text"),
        ({"type": ["direct"]}, "field 'type': must be text"),
    ],
)
def test_questions_without_gold_statements_are_refused(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    corpus, questions = make_corpus(50, questions=1).save(tmp_path)
    first = json.loads(corpus.read_text().splitlines()[0])["id"]
    changed = {**change, **({"gold": [first]} if "gold" in change else {})}
    rows = [json.loads(line) for line in questions.read_text().splitlines()]
    questions.write_text("".join(json.dumps({**row, **changed}) + "\n" for row in rows))

    with pytest.raises(InvalidInput, match=complaint):
        read_evidence(questions, corpus)


def test_packed_questions_with_gold_statements_are_read(tmp_path: Path) -> None:
    corpus, questions = make_corpus(50, questions=1).save(tmp_path)
    packed = tmp_path / "questions.jsonl.gz"
    packed.write_bytes(gzip.compress(questions.read_bytes()))

    assert read_evidence(packed, corpus) == read_evidence(questions, corpus)


def test_a_statement_is_kept_when_one_of_the_same_document_holds_it() -> None:
    def results(*said: tuple[str, str]) -> SearchResults:
        return SearchResults(
            "?",
            tuple(
                SearchResult(
                    Source(f"s{n}", f"file:///{n}", "default", "Title", {"id": document}),
                    "Topic",
                    (ScoredStatement(f"t{n}", text, 1 - n / 10, "chunk", f"c{n}", 0, len(text)),),
                    1 - n / 10,
                )
                for n, (document, text) in enumerate(said)
            ),
        )

    evidence = Evidence("q", "?", "multi", (("a", "It is in Oakford."), ("b", "It is red.")))

    both = measure_kept(evidence, results(("a", "It is  in Oakford."), ("b", "As they say: It is red.")))
    assert (both.results, both.context, both.recall) == (1.0, 1.0, 1.0)
    other = measure_kept(evidence, results(("b", "It is in Oakford."), ("b", "It is red.")))
    assert (other.results, other.recall) == (0.5, 0.5)
    assert measure_kept(evidence, results()).results == 0.0
    long = results(("b", "It is red."), ("a", "It is in Oakford." + "x" * 60_000))
    assert "Oakford" not in build_context(long).text
    assert (measure_kept(evidence, long).results, measure_kept(evidence, long).context) == (1.0, 0.5)
