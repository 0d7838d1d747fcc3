"""What a model answered is kept as it comes: an ingest that is interrupted asks for no chunk twice."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraph.ingestion.extract.llm import LLMExtractor
from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.errors import ModelUnavailable
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.settings import Settings
from tests.files import section
from tests.laptop import open_laptop
from tests.models import WordEmbedder, model
from tests.standins.llm_server import ScriptedLLMServer, said
from tests.waiting import eventually

CHUNKS = 20
_PASSAGE = re.compile(r"Passage:\n.*?Pump (\d+) ", re.DOTALL)


class Model:
    """Answers about the pumps of :func:`file`; away after so many answers, silent about one of them. ``asked`` counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.away_after = CHUNKS
        self.silent_about = ""
        self.speak = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Any:
        found = _PASSAGE.search(said(body))
        with self._lock:
            if not found or self.asked.total() >= self.away_after:
                return ConnectionResetError()
            self.asked[found[1]] += 1
        if found[1] == self.silent_about:
            self.speak.wait(60)
        statement = {"statement": f"Pump {found[1]} is of brass.", "details": [], "entities": [], "facts": []}
        return {"topics": [{"title": "Pumps", "statements": [statement]}], "aliases": []}


@pytest.fixture
def answers() -> Model:
    return Model()


@pytest.fixture
def index(tmp_path: Path, answers: Model) -> Iterator[LexicalGraphIndex]:
    stores = open_laptop(tmp_path / "data")
    with ScriptedLLMServer(answers) as server:
        extractor = LLMExtractor(model(server))  # as many chunks at a time as the settings say by default
        settings = Settings(data=tmp_path / "data", relations=False)
        yield LexicalGraphIndex(stores, embedder=WordEmbedder(), extractor=extractor, settings=settings)
        answers.speak.set()
    stores.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pumps.md"
    path.write_text("\n".join(section(f"Part {n}", f"Pump {n} is of brass.") for n in range(CHUNKS)), encoding="utf-8")
    return path


def kept(index: LexicalGraphIndex) -> int:
    found = index.stores.cache.stats(DEFAULT_TENANT)
    return sum(number for kind, number in found.items() if kind.startswith("extraction:"))


@pytest.mark.requirement("E-32")
def test_after_twelve_answers_of_twenty_the_next_run_asks_for_eight(
    index: LexicalGraphIndex, answers: Model, file: Path
) -> None:
    answers.away_after = 12
    with pytest.raises(ModelUnavailable):
        index.ingest([file], incremental=False)
    assert kept(index) == 12

    answers.away_after = CHUNKS
    assert index.ingest([file], incremental=False).extracted == 8
    assert set(answers.asked.values()) == {1}
    assert len(answers.asked) == CHUNKS


def test_one_slow_answer_holds_back_none_of_the_others(index: LexicalGraphIndex, answers: Model, file: Path) -> None:
    answers.silent_about = "0"
    run = threading.Thread(target=index.ingest, args=([file],))
    run.start()
    # others are asked ahead of the first, and what they answer is safe while it is waited for
    eventually(lambda: kept(index), lambda number: number == answers.asked.total() - 1 > 3, seconds=30)
    answers.speak.set()
    run.join(60)
    assert kept(index) == CHUNKS


@pytest.mark.requirement("E-33")
def test_a_refresh_that_was_interrupted_goes_on_as_one(index: LexicalGraphIndex, answers: Model, file: Path) -> None:
    index.ingest([file])
    answers.asked.clear()
    answers.away_after = 12
    jobs = index.stores.registry
    job = jobs.start_job(DEFAULT_TENANT, "ingest", {"paths": [], "namespace": "default"})
    with pytest.raises(ModelUnavailable):
        index.ingest([file], refresh=True, job=job)

    answers.away_after = CHUNKS
    index.ingest([file], refresh=True, job=job)
    assert (set(answers.asked.values()), len(answers.asked)) == ({1}, CHUNKS), "each chunk once more, and only once"
    assert all(kind.startswith(("extraction:", "embedding:")) for kind in index.stores.cache.stats(DEFAULT_TENANT))
