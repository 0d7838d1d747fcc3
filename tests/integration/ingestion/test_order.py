"""What is found depends on the documents that are there, not on how they came: every retriever, by several histories."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.made.corpus import MadeQuestion
from lexigraph.ingestion.extract import Extractor
from lexigraph.ingestion.extract.local import LocalExtractor
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.retrieval.catalogue import RETRIEVERS
from lexigraph.settings import Settings
from tests.laptop import open_laptop
from tests.models import SentenceExtractor, WordEmbedder
from tests.orders import HISTORIES, QUESTIONS, answers

# so narrow that most of what fits equally well is left out
NARROW = {"max_statements_per_entity": 2, "max_links_per_entity": 1, "max_keywords": 3, "max_link_df": 100, "vss_top_k": 3}
Answers = Mapping[str, Any]


def found_by(
    history: str, folder: Path, questions: Sequence[MadeQuestion], extractor: Callable[[], Extractor] = SentenceExtractor
) -> Answers:
    """What is found after one history; the files of all histories have the same paths, their data do not."""
    stores = open_laptop(folder / history)
    index = LexicalGraphIndex(
        stores, embedder=WordEmbedder(), extractor=extractor(), settings=Settings(data=folder, chunk_tokens=64)
    )
    HISTORIES[history](index, folder / "files")
    narrow = answers(stores, questions[::2], ("traversal", "entity"), **NARROW)
    found = {**answers(stores, questions), **{f"narrow {key}": results for key, results in narrow.items()}}
    stores.close()
    return found


def differing(one: Answers, other: Answers) -> list[str]:
    """The questions that are answered differently: answers as such are too large to be compared on a screen."""
    return [key for key in {**one, **other} if one.get(key) != other.get(key)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("orders")


@pytest.fixture(scope="module")
def at_once(folder: Path) -> Answers:
    return found_by("at once", folder, QUESTIONS[::8])


@pytest.mark.nightly
@pytest.mark.parametrize("history", ["backwards", "replaced", "removed"])
def test_every_retriever_finds_the_same_after_every_history(history: str, folder: Path, at_once: Answers) -> None:
    found = found_by(history, folder, QUESTIONS[::8])

    assert all(results["results"] for results in found.values())
    assert differing(found, at_once) == []


@pytest.mark.nightly
def test_fresh_processes_find_the_same_whatever_the_seed_of_their_hashes(folder: Path, at_once: Answers) -> None:
    files = sorted((folder / "files").iterdir())
    written = [path.stat().st_mtime_ns for path in files]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.orders", str(folder / "files"), str(folder / f"seed {seed}")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": ".", "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    said = [process.communicate(timeout=120)[0] for process in running]

    assert [process.returncode for process in running] == [0, 0]
    # who writes a file that another is about to read takes it away for a moment
    assert [path.stat().st_mtime_ns for path in files] == written
    one, other = map(json.loads, said)
    assert differing(one, other) == []
    assert differing(one, {key: json.loads(json.dumps(at_once[key])) for key in one}) == []


@pytest.mark.soak
def test_the_local_extractor_s_graph_gives_the_same_answers_after_every_history(tmp_path: Path) -> None:
    first, *others = (found_by(history, tmp_path, QUESTIONS[::5], LocalExtractor) for history in HISTORIES)

    for other in others:
        assert differing(first, other) == []


def test_all_retrievers_are_asked(at_once: Answers) -> None:
    assert {key.split(":")[0] for key in at_once} == {*RETRIEVERS, "narrow traversal", "narrow entity"}
