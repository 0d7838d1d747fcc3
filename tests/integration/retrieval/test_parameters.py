"""Whatever the parameters and the question, a result is well-formed and stays within its budgets."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.inference.factory import make_llm
from lexigraph.inference.protocols import LanguageModel
from lexigraph.model.errors import InvalidInput
from lexigraph.model.question import Question
from lexigraph.model.relations import ChunkRelation, PairObservation
from lexigraph.model.results import SearchResults
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.catalogue import RETRIEVERS, make_retriever, parameters
from lexigraph.retrieval.retrievers import RerankingBeamGraphSearch, SemanticGuidedRetriever, TraversalBasedRetriever
from lexigraph.retrieval.semantic.args import SemanticArgs
from lexigraph.retrieval.traversal.args import TraversalArgs
from lexigraph.settings import Settings
from lexigraph.storage.protocols import Stores
from tests.effective import effective
from tests.laptop import laptop, open_laptop
from tests.models import WordEmbedder
from tests.orders import QUESTIONS, WORLD, write
from tests.standins.llm_server import ScriptedLLMServer

TEXTS = [
    "?! who",
    "the of and",
    "Zxqv",
    (f"{QUESTIONS[0].question} " * 200)[:4_000].strip(),
    "Z" * 4_000,
    "\u041a\u0442\u043e \u0437\u0434\u0435\u0441\u044c \u0433\u043b\u0430\u0432\u043d\u044b\u0439?",
    "\u8c01\u62e5\u6709\u8fd9\u5bb6\u516c\u53f8\uff1f",
    "\u0645\u0646 \u064a\u0645\u0644\u0643 \u0627\u0644\u0634\u0631\u0643\u0629\u061f",
    "\u0915\u0902\u092a\u0928\u0940 \u0915\u093e \u092e\u093e\u0932\u093f\u0915 \u0915\u094c\u0928 \u0939\u0948?",
    *(q.question for q in QUESTIONS),
    *(p.title for p in WORLD.passages[:5]),
]


def number(low: int, high: int) -> st.SearchStrategy[int]:
    """Small numbers often: they are where things end."""
    return st.one_of(st.integers(low, min(high, low + 3)), st.integers(low, high))


def weight(high: float) -> st.SearchStrategy[float]:
    return st.one_of(st.just(0.0), st.floats(0.0, high))


COMMON: dict[str, st.SearchStrategy[Any]] = {
    "max_context_tokens": st.none() | number(1, 1_000_000),
    "max_search_results": st.none() | number(1, 1_000),
    "max_statements_per_topic": st.none() | number(1, 1_000),
    "include_facts": st.booleans(),
    "max_keywords": number(1, 50),
    "reranker": st.sampled_from(["tfidf", "none", None]),
    "max_statements": st.none() | number(1, 10_000),
    "entity_weight": weight(10.0),
    "bm25_weight": weight(1.0),
    "link_seeds": number(1, 50),
    "max_links_per_entity": number(1, 100),
    "max_link_df": number(0, 1_000),
    "diversity": weight(0.9),
}
TRAVERSAL = COMMON | {
    "expand_entities": st.booleans(),
    "vss_top_k": st.none() | number(1, 200),
    "vss_diversity_factor": st.none() | number(0, 50),
    "derive_subqueries": st.booleans(),
    "max_subqueries": number(1, 5),
    "chunk_weight": weight(10.0),
    "link_rounds": number(0, 2),
    "max_statements_per_entity": number(1, 1_000),
    "topic_weight": weight(10.0),
    "topic_top_k": number(1, 200),
    "topic_beam_width": number(0, 200),
    "topic_beam_max_depth": number(0, 5),
    "topic_statements": number(1, 1_000),
}
SEMANTIC = COMMON | {
    "cosine_top_k": number(1, 1_000),
    "keyword_top_k": number(1, 1_000),
    "max_depth": number(0, 8),
    "beam_width": number(0, 1_000),
}
SEARCHES = st.sampled_from(
    [["ChunkBasedSearch"], ["EntityBasedSearch"], ["TopicBeamSearch"], ["TopicBeamSearch", "EntityBasedSearch"], None]
)
EXAMPLES = settings(max_examples=25, derandomize=True, database=None)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    folder = tmp_path_factory.mktemp("parameters")
    opened = open_laptop(folder / "data")
    assert not laptop(folder / "data", opened, chunk_tokens=64).ingest(write(folder / "files", WORLD.passages)).failures
    relate_pages(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    opened = open_laptop(tmp_path_factory.mktemp("empty"))
    yield opened
    opened.close()


def relate_pages(stores: Stores) -> None:
    """Let every page cause the next one, so that observed relations take part, too."""
    ids = stores.graph.source_ids(DEFAULT_TENANT)
    chunks = [next(iter(stores.graph.chunk_ids(DEFAULT_TENANT, i))) for i in ids]
    seen = [PairObservation(a, b, "tests", "", (ChunkRelation(a, b, "CAUSES", 0.6),)) for a, b in pairwise(chunks)]
    stores.graph.relate(DEFAULT_TENANT, seen)


def ask(stores: Stores, name: str, text: str, args: Mapping[str, Any]) -> SearchResults:
    retriever = make_retriever(name, stores.graph, stores.vectors, embedder=WordEmbedder(), settings=Settings(), **args)
    return retriever.retrieve(Tenant("default"), Question.of(text))


def check(results: SearchResults, args: Mapping[str, Any], default: TraversalArgs | SemanticArgs, graph_calls: int) -> None:
    used = {**{f.name: getattr(default, f.name) for f in fields(default)}, **args}
    most = used["max_statements"] if used["reranker"] not in (None, "none") else None

    assert len(results.results) <= (used["max_search_results"] or len(results.results))
    assert len(results.statements) <= (most or len(results.statements))
    assert len({s.id for s in results.statements}) == len(results.statements)
    assert [r.score for r in results.results] == sorted((r.score for r in results.results), reverse=True)
    for result in results.results:
        scores = [s.score for s in result.statements]
        assert 0 < len(scores) <= (used["max_statements_per_topic"] or len(scores))
        assert scores == sorted(scores, reverse=True)
        assert result.score == scores[0]
    for statement in results.statements:
        assert 0.0 <= statement.score <= 1.0
        assert sum(statement.parts.values()) == pytest.approx(statement.score, abs=1e-5)
        assert statement.reason
        assert all(statement.path)
        assert used["include_facts"] or not statement.facts
    assert results.calls["vector"] <= 3
    assert results.calls["graph"] <= graph_calls


def test_every_parameter_takes_part() -> None:
    assert set(TRAVERSAL) == {f.name for f in fields(TraversalArgs)}
    assert set(SEMANTIC) == {f.name for f in fields(SemanticArgs)}


@pytest.mark.slow
@EXAMPLES
@given(text=st.sampled_from(TEXTS), args=st.fixed_dictionaries({}, optional=TRAVERSAL), searches=SEARCHES)
def test_traversal_gives_sound_results(stores: Stores, text: str, args: dict[str, Any], searches: list[str] | None) -> None:
    known = TraversalBasedRetriever.parameters(searches).names
    args = {name: value for name, value in args.items() if name in known}

    def made(those: Mapping[str, Any]) -> TraversalBasedRetriever:
        models = {"embedder": WordEmbedder(), "settings": Settings(), "retrievers": searches}
        return TraversalBasedRetriever(stores.graph, stores.vectors, **{**models, **those})

    retriever, args = effective(made, args)
    check(retriever.retrieve(Tenant("default"), Question.of(text)), args, TraversalArgs(), graph_calls=4)


@pytest.mark.slow
@EXAMPLES
@given(text=st.sampled_from(TEXTS), args=st.fixed_dictionaries({}, optional=SEMANTIC))
def test_semantic_guided_search_gives_sound_results(stores: Stores, text: str, args: dict[str, Any]) -> None:
    found, args = effective(lambda those: ask(stores, "semantic-guided", text, those), args)
    check(found, args, SemanticArgs(), graph_calls=3)


@EXAMPLES
@given(
    text=st.sampled_from(TEXTS),
    name=st.sampled_from(["vector", "bm25", "fused"]),
    args=st.fixed_dictionaries(
        {},
        optional={
            k: COMMON[k]
            for k in ("max_context_tokens", "max_search_results", "max_statements_per_topic", "include_facts", "bm25_weight")
        },
    ),
)
def test_baselines_give_sound_results(stores: Stores, text: str, name: str, args: dict[str, Any]) -> None:
    args = {key: value for key, value in args.items() if key in parameters(name)}
    check(ask(stores, name, text, args), {**args, "reranker": None}, TraversalArgs(), graph_calls=1)


@pytest.mark.parametrize("text", TEXTS[:9])
@pytest.mark.parametrize("name", ["traversal", "semantic-guided", "topic", "fused"])
def test_where_nothing_is_kept_nothing_is_found(empty: Stores, stores: Stores, name: str, text: str) -> None:
    assert len(text) <= 4_000
    found = ask(empty, name, text, {})
    assert (found.results, found.entities, found.warnings) == ((), (), ())
    reranker = {} if "reranker" in parameters(name) else {"reranker": None}
    check(ask(stores, name, text, {}), reranker, TraversalArgs(), graph_calls=4)


# ---------------------------------------------------------------- no parameter without effect


class Slow:
    """A reranker that takes longer than it is given."""

    name = "slow"

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        time.sleep(0.1)
        return [float(at) for at in range(len(texts))]


PARTS = {"several_entities": True, "subqueries": [q.question for q in QUESTIONS[1:3]], "keywords": ["Zxqv"]}
# parameter: the value that switches others off, and what must be set for it to do so
SWITCHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "derive_subqueries": (False, {}),
    "expand_entities": (False, {}),
    "vss_diversity_factor": (0, {}),
    "reranker": ("none", {}),
    "link_rounds": (0, {}),
    "topic_beam_width": (0, {}),
    "topic_beam_max_depth": (0, {}),
    "max_depth": (0, {}),
    "beam_width": (0, {}),
    "vector": (False, {}),
    "bm25": (False, {}),
    "expand_hops": (0, {"subgraph_depth": 0}),
    "subgraph_depth": (0, {"expand_hops": 1}),
    "relation_bonus": (False, {}),
    "graph_rank": ("none", {}),
}
# without effect where another is off, and yet taken: flags, and what the reference pages take
TAKEN = {("reranker", "max_statements"), ("expand_hops", "relation_bonus"), ("expand_hops", "graph_rank")}
# parameter: two values that must give different results to some question, and what else must be set for it to matter
FLIPS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "max_context_tokens": (10, 2_000, {}),
    "max_search_results": (2, 3, {}),
    "max_statements_per_topic": (1, 2, {}),
    "include_facts": (False, True, {}),
    "expand_entities": (False, True, {}),
    "max_keywords": (1, 10, {}),
    "vss_top_k": (1, 10, {}),
    "vss_diversity_factor": (0, 5, {"vss_top_k": 10}),
    "derive_subqueries": (False, True, {}),
    "max_subqueries": (1, 2, {"derive_subqueries": True}),
    "reranker": ("none", "tfidf", {}),
    "max_statements": (2, None, {}),
    "chunk_weight": (0.1, 1.0, {}),
    "entity_weight": (0.0, 5.0, {}),
    "bm25_weight": (0.0, 1.0, {}),
    "link_rounds": (0, 2, {}),
    "link_seeds": (1, 5, {}),
    "max_links_per_entity": (1, 10, {}),
    "max_link_df": (0, 15, {}),
    "max_statements_per_entity": (1, 50, {}),
    "topic_weight": (0.0, 5.0, {}),
    "topic_top_k": (1, 10, {}),
    "topic_beam_width": (0, 20, {}),
    "topic_beam_max_depth": (0, 2, {}),
    "topic_statements": (1, 25, {}),
    "diversity": (0.0, 0.9, {}),
    "cosine_top_k": (1, 50, {}),
    "keyword_top_k": (1, 50, {}),
    "max_depth": (0, 2, {}),
    "beam_width": (0, 100, {}),
    "top_k": (1, 8, {}),
    "vector": (False, True, {}),
    "bm25": (False, True, {}),
    "expand_hops": (0, 2, {"subgraph_depth": 0}),
    "subgraph_depth": (0, 2, {"top_k": 1}),
    "relation_bonus": (False, True, {}),
    "path_weight": (0.0, 5.0, {}),
    "link_weight": (0.0, 5.0, {}),
    "graph_rank": ("none", "degree", {}),
    "graph_rank_weight": (0.1, 5.0, {"graph_rank": "pagerank"}),
    "max_entities": (1, 20, {"top_k": 1}),
    "min_rel_confidence": (0.0, 0.9, {}),
    "entity_min_length": (1, 50, {}),
    "cooccur_min_count": (1, 50, {}),
    "max_contexts": (2, 24, {}),
    "rerank_alpha": (0.0, 1.0, {}),
    "rerank_timeout": (0.01, 15.0, {"reranker": Slow()}),
    "role": (None, "table", {}),
    "use_symbolic": (False, True, {}),
    "num_hops": (1, 3, {"top_k_per_hop": 2}),
    "top_k_per_hop": (1, 15, {}),
    "final_top_k": (1, 10, {}),
    "hop_decay": (0.5, 1.0, {"top_k_per_hop": 2}),
    "context_expansion_ratio": (0.1, 1.0, {"top_k_per_hop": 3}),
    "num_docs": (1, 5, {}),
    "max_sections": (1, 5, {}),
    "min_relevance": (0.5, 0.9, {}),
    "preset": ("factual", "comprehensive", {"min_relevance": 0.5}),
}


@pytest.fixture(scope="module")
def model() -> Iterator[LanguageModel]:
    with ScriptedLLMServer(PARTS) as server:
        llm = make_llm(Settings(llm="openai:any", llm_options={"base_url": server.base_url}))
        assert llm is not None
        yield llm


@pytest.mark.parametrize(("name", "parameter"), [(name, parameter) for name in RETRIEVERS for parameter in parameters(name)])
def test_every_parameter_of_every_retriever_changes_what_is_found(
    stores: Stores, model: LanguageModel, name: str, parameter: str
) -> None:
    low, high, others = FLIPS[parameter]
    models = {"embedder": WordEmbedder(), "llm": model if "subqueries" in parameter else None, "settings": Settings()}
    a, b = (
        make_retriever(name, stores.graph, stores.vectors, **models, **{**others, parameter: value})  # type: ignore[arg-type]
        for value in (low, high)
    )
    asked = [Question.of(q.question) for q in QUESTIONS[::5]]
    assert any(a.retrieve(DEFAULT_TENANT, q).results != b.retrieve(DEFAULT_TENANT, q).results for q in asked)


@pytest.mark.parametrize(
    ("name", "args", "refused", "partner"),
    [
        ("traversal", {"max_subqueries": 3}, "max_subqueries", "derive_subqueries=False"),
        ("traversal", {"link_rounds": 0, "link_seeds": 6}, "link_seeds", "link_rounds=0"),
        ("traversal", {"link_rounds": 0, "max_links_per_entity": 8}, "max_links_per_entity", "link_rounds=0"),
        ("topic", {"topic_beam_width": 10, "topic_beam_max_depth": 0}, "topic_beam_width", "topic_beam_max_depth=0"),
        ("semantic-guided", {"max_depth": 0, "beam_width": 5}, "beam_width", "max_depth=0"),
        ("semantic-guided", {"beam_width": 0, "max_link_df": 14}, "max_link_df", "beam_width=0"),
        ("hybrid", {"graph_rank": "none", "graph_rank_weight": 5.0}, "graph_rank_weight", "graph_rank='none'"),
        ("hybrid", {"reranker": "none", "rerank_alpha": 0.1}, "rerank_alpha", "reranker='none'"),
        ("hybrid", {"reranker": None, "rerank_timeout": 1.0}, "rerank_timeout", "reranker=None"),
        ("hybrid", {"bm25": False, "bm25_weight": 1.0}, "bm25_weight", "bm25=False"),
        (
            "hybrid",
            {"expand_hops": 1, "subgraph_depth": 0, "min_rel_confidence": 0.1},
            "min_rel_confidence",
            "expand_hops=1 and subgraph_depth=0",
        ),
    ],
)
def test_what_is_given_without_effect_is_refused_with_what_switches_it_off(
    stores: Stores, name: str, args: dict[str, Any], refused: str, partner: str
) -> None:
    with pytest.raises(InvalidInput, match=f"^{refused} has no effect with {partner}: omit it"):
        ask(stores, name, "Zxqv", args)
    ask(stores, name, "Zxqv", {k: v for k, v in args.items() if k != refused})


def test_where_one_of_two_partners_is_on_a_parameter_is_taken(stores: Stores) -> None:
    ask(stores, "topic", "Zxqv", {"link_rounds": 0, "max_links_per_entity": 7})
    ask(stores, "hybrid", "Zxqv", {"expand_hops": 0, "subgraph_depth": 1, "min_rel_confidence": 0.1})
    # the reference page has it so
    ask(stores, "traversal", "Zxqv", {"reranker": "none", "max_statements": 3})
    # a beam's reranker scores as many chunks when there is no hop
    models = {"embedder": WordEmbedder(), "settings": Settings()}
    beam = RerankingBeamGraphSearch(reranker="tfidf", max_depth=0, beam_width=5)
    SemanticGuidedRetriever(stores.graph, stores.vectors, retrievers=[beam], **models)  # type: ignore[arg-type]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "switch", "parameter"),
    [
        (name, switch, parameter)
        for name in RETRIEVERS
        for switch in parameters(name)
        if switch in SWITCHES
        for parameter in parameters(name)
        if switch != parameter and (switch, parameter) not in TAKEN
    ],
)
def test_what_a_switch_leaves_without_effect_is_refused_with_both_names(
    stores: Stores, model: LanguageModel, name: str, switch: str, parameter: str
) -> None:
    off, besides = SWITCHES[switch]
    low, high, others = FLIPS[parameter]
    args = {**{k: v for k, v in others.items() if k != switch}, **besides, switch: off}
    models = {"embedder": WordEmbedder(), "llm": model if "subqueries" in parameter else None, "settings": Settings()}
    try:
        a, b = (
            make_retriever(name, stores.graph, stores.vectors, **models, **{**args, parameter: value})  # type: ignore[arg-type]
            for value in (low, high)
        )
    except InvalidInput as error:
        assert parameter in str(error)
        assert switch in str(error)
        return
    asked = [Question.of(q.question) for q in QUESTIONS]
    assert any(a.retrieve(DEFAULT_TENANT, q).results != b.retrieve(DEFAULT_TENANT, q).results for q in asked)


def test_no_flip_is_left_over() -> None:
    assert {parameter for name in RETRIEVERS for parameter in parameters(name)} == set(FLIPS)
