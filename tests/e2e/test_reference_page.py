"""The code of the reference page "Querying the Graph", with only the package name and the connection strings changed."""

import json
import subprocess
import sys

import pytest

from tests.e2e.conftest import ExampleIndex

SAMPLE = """
from lexigraph import LexicalGraphQueryEngine
from lexigraph.storage import GraphStoreFactory
from lexigraph.storage import VectorStoreFactory

import nest_asyncio
nest_asyncio.apply()

graph_store = GraphStoreFactory.for_graph_store(
    'sqlite:///data'
)

vector_store = VectorStoreFactory.for_vector_store(
    'sqlite:///data'
)

query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store,
    vector_store
)

response = query_engine.query("What are the differences between Neptune Database and Neptune Analytics?")

print(response.response)
"""

CHUNK_BASED = """
from lexigraph.retrieval.retrievers import ChunkBasedSearch

query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store,
    vector_store,
    retrievers=[ChunkBasedSearch]
)
"""

TEN_RESULTS = """
query_engine = LexicalGraphQueryEngine.for_traversal_based_search(
    graph_store,
    vector_store,
    max_search_results=10
)
"""

REPORT = """
import json
found = query_engine.retrieve("What are the differences between Neptune Database and Neptune Analytics?")
print(json.dumps(found.to_dict()))
"""


@pytest.fixture(scope="module")
def printed(example_index: ExampleIndex) -> str:
    # in a process of its own, as a reader would run it, and because nest_asyncio changes asyncio for good
    code = SAMPLE + CHUNK_BASED + REPORT + TEN_RESULTS + REPORT
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=example_index.data.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.requirement("G-12", "G-13")
def test_the_sample_prints_a_cited_answer(printed: str) -> None:
    answer = printed.rsplit("\n", 3)[0]
    assert "Neptune Database" in answer
    assert "Neptune Analytics" in answer
    assert "[S1]" in answer


@pytest.mark.requirement("G-20")
def test_a_result_has_the_fields_of_the_page(printed: str) -> None:
    result = json.loads(printed.splitlines()[-1])["results"][0]
    assert {"source", "topic", "statements", "score"} <= set(result)
    assert result["source"].endswith(".md")
    assert 0 < result["score"] <= 1
    assert all(isinstance(statement, str) for statement in result["statements"])


@pytest.mark.requirement("G-18")
def test_retrievers_takes_the_type_of_a_subretriever_which_then_works_alone(printed: str) -> None:
    found = json.loads(printed.splitlines()[-2])
    assert found["results"]
    assert found["keywords"] == []


@pytest.mark.requirement("G-21", "G-37")
def test_max_search_results_returns_at_most_ten(printed: str) -> None:
    assert len(json.loads(printed.splitlines()[-1])["results"]) == 10
    assert len(json.loads(printed.splitlines()[-2])["results"]) > 10
