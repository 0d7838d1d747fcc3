"""Recall as shipped (MiniLM, local extraction, defaults) over sixteen manuals: long sessions, follow-ups, patterns."""

import re
from collections.abc import Iterator, Sequence
from itertools import count

import pytest

from lexigraph.ingestion.pipeline import LexicalGraphIndex
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.recall.results import RecallResults
from lexigraph.retrieval.retrievers import RecallRetriever
from lexigraph.settings import Settings
from tests.laptop import write_pages
from tests.manuals import manuals, questions, tools

pytestmark = pytest.mark.nightly
_SESSIONS = count()


class Memory:
    """A recall retriever whose clock goes on by half a minute with every recall."""

    def __init__(self, index: LexicalGraphIndex) -> None:
        stores = index.stores
        self.now = 1_700_000_000.0
        self.retriever = RecallRetriever(
            stores.graph, stores.vectors, stores.registry, settings=index.settings, clock=lambda: self.now
        )

    def ask(self, query: str, session: str = "", **args: object) -> RecallResults:
        self.now += 30
        return self.retriever.retrieve(
            DEFAULT_TENANT,
            Question(query),
            session_id=session or self.session(),
            **args,  # type: ignore[arg-type]  # checked there
        )

    def session(self) -> str:
        """Return a session that nobody used."""
        return f"session {next(_SESSIONS)}"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("manuals")
    with LexicalGraphIndex(settings=Settings(data=folder / "data")) as index:
        assert not index.ingest([write_pages(folder / "pages", manuals())]).failures
        yield Memory(index)


def first_five(found: RecallResults) -> list[str]:
    return [node.key for node in found.nodes[:5]]


def place(found: RecallResults, expected: str) -> int:
    """Return the place of the first node that says what is expected; 99 when none does."""
    return next((n for n, node in enumerate(found.nodes, 1) if expected in f"{node.name} {node.description}"), 99)


@pytest.mark.requirement("M-11", "M-15")
def test_sixty_mixed_questions_in_one_session_are_answered_as_in_fresh_ones(memory: Memory) -> None:
    session = memory.session()
    same = [first_five(memory.ask(question, session)) == first_five(memory.ask(question)) for question in questions()]
    assert len(same) == 60
    assert sum(same) >= 54


FOLLOW_UPS = {
    "its default port?": lambda tool: f"default port is {tool.port}",
    "After how long is its connection closed?": lambda tool: f"timeout of {tool.timeout} seconds",
    "Where are its records kept?": lambda tool: f"/var/lib/{tool.name}",
}


@pytest.mark.requirement("M-11", "M-13", "M-14")
@pytest.mark.parametrize("before", [0, 8])
def test_a_follow_up_question_is_answered_better_with_its_session(memory: Memory, before: int) -> None:
    fresh = {question: memory.ask(question) for question in FOLLOW_UPS}
    with_session, without = [], []
    for tool in tools():
        for question, expected in FOLLOW_UPS.items():
            session = memory.session()
            for other in questions()[:before]:
                memory.ask(other, session)
            memory.ask(f"What is {tool.name} for?", session)
            with_session.append(place(memory.ask(question, session), expected(tool)))
            without.append(place(fresh[question], expected(tool)))
    assert among_three(with_session) >= among_three(without) + 10
    assert sum(1 / p for p in with_session) > 1.5 * sum(1 / p for p in without)


def among_three(places: Sequence[int]) -> int:
    return sum(p <= 3 for p in places)


@pytest.mark.requirement("M-12")
def test_relevance_is_absolute(memory: Memory) -> None:
    nonsense = [
        memory.ask(q) for q in ("Who won the football world cup in 1998?", "Which wine goes with salmon?", "zebra spaceship")
    ]
    good = [memory.ask(f"Which port does {tool.name} use by default?") for tool in tools()]
    assert max((n.score for found in nonsense for n in found.nodes), default=0.0) < 0.6
    assert min(found.nodes[0].score for found in good) > 0.8


@pytest.mark.requirement("M-07")
def test_a_rare_name_wins_over_many_common_words(memory: Memory) -> None:
    found = memory.ask("which option of the service reads the file of every name like weirkeeper")
    assert all("weirkeeper" in f"{n.name} {n.description} {n.title}" for n in found.nodes[:3])


@pytest.mark.requirement("M-10", "M-12")
@pytest.mark.parametrize("said", ["What is {0.variable} for?", "error {0.error}", "{0.config}", 'who reads "{0.config}"'])
def test_an_identifier_is_exact(memory: Memory, said: str) -> None:
    for tool in tools()[:4]:
        found = memory.ask(said.format(tool))
        assert (found.nodes[0].score, tool.name in (found.nodes[0].title + found.nodes[0].description)) == (1.0, True)


PATTERNS = [
    r"\w+_PATH",
    "ervice",
    r"E7\d{3}",
    r"--\w+-\w+s\b",
    r"\d+ seconds",
    "(?-i)TCP|IPv6",
    r"^Error E70[0-4]",
    "a{2}|oo",
]


@pytest.mark.requirement("M-05", "M-10")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_forced_pattern_finds_every_statement_that_matches(memory: Memory, pattern: str) -> None:
    flags = re.MULTILINE if pattern.startswith("(?-i)") else re.MULTILINE | re.IGNORECASE
    compiled = re.compile(pattern.removeprefix("(?-i)"), flags)
    graph = memory.retriever.graph_store
    ids = memory.retriever.vector_store.ids(DEFAULT_TENANT, "statement")
    texts = {i: f"{n.value}\n{n.details}" for i, n in graph.nodes(DEFAULT_TENANT, ids).items()}
    matching = {i for i, text in texts.items() if compiled.search(text)}

    found = memory.ask(pattern, force_regex=True, max_results=50)

    shown = {n.key for n in found.nodes if n.type == "statement"}
    regex = next(s for s in found.strategies if s.name == "regex")
    assert 0 < len(matching) <= regex.found
    assert shown <= matching
    assert shown == matching or len(found.nodes) == 50
    assert found.warnings == ()
