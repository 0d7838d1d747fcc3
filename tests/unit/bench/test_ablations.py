"""``bench/ablations.py``: a line for each variant of the ranking, over an index of a tiny corpus."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import ablations
from bench.made.corpus import make_corpus
from lexigraph.evaluation.corpus import read_corpus, read_questions
from lexigraph.evaluation.index import corpus_index
from lexigraph.settings import Settings
from tests.models import SentenceExtractor, WordEmbedder

ROOT = Path(__file__).parents[3]


@pytest.mark.soak
def test_every_variant_is_measured_against_the_shipped_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, questions = make_corpus(50, seed=7, questions=10).save(tmp_path)
    passages = read_corpus(corpus)
    gold = read_questions(questions, {p.id for p in passages})
    settings = Settings(embedding_model="words", embedding_dimension=WordEmbedder.dimension)
    with corpus_index(
        tmp_path / "index", passages, settings, embedder=WordEmbedder(), extractor=SentenceExtractor()
    ) as index:
        index.fill()
        ablations.compare(index, gold)

    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[0] == "recall@5,"
    row = re.compile(r"(.+?)  +([\d.]+)  \[[\d.]+, [\d.]+\] +([+-][\d.]+)   (.+)")
    rows = {found[1]: (float(found[2]), float(found[3]), found[4]) for line in lines if (found := row.fullmatch(line))}
    assert list(rows) == ["traversal as shipped", *ablations.ARGS, *ablations.CONSTANTS, *ablations.OTHERS]
    shipped = rows["traversal as shipped"][0]
    assert all(points == pytest.approx(recall - shipped, abs=0.11) for recall, points, _ in rows.values())
    assert rows["without links"][0] < shipped
    assert all(re.fullmatch(r"1: [\d.]+  2: [\d.]+.*", hops) for _, _, hops in rows.values())


@pytest.mark.parametrize("limit", ["0", "many"])
def test_a_limit_is_a_number_above_zero(limit: str, tmp_path: Path) -> None:
    files = ["--corpus", str(tmp_path / "c.jsonl"), "--questions", str(tmp_path / "q.jsonl")]
    done = subprocess.run(
        [sys.executable, "-m", "bench.ablations", *files, f"--limit={limit}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "argument --limit:" in done.stderr
