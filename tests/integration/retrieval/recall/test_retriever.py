"""Recall over a whole laptop: what is found, how a session changes the order, and what comes along."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexigraph.inference.protocols import FloatArray
from lexigraph.model.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from lexigraph.model.filters import MetadataFilter
from lexigraph.model.question import Question
from lexigraph.model.tenant import DEFAULT_TENANT, Tenant
from lexigraph.retrieval.catalogue import make_retriever
from lexigraph.retrieval.recall.results import RecallNode, RecallResults
from lexigraph.retrieval.recall.sessions import HALF_LIFE, IDLE, KEEP, PhaseWeights, Weights
from lexigraph.retrieval.retrievers import RecallRetriever
from lexigraph.settings import EmbeddingModel
from lexigraph.storage.factory import VectorStoreFactory
from lexigraph.storage.protocols import Stores
from tests.laptop import laptop, laptop_with, open_laptop, write_pages
from tests.models import WordEmbedder
from tests.processor import soon

PAGES = {
    "Access": "The Gateway uses JWT tokens. Mara Lindqvist chose JWT over Sessions in 2021. "
    "JWT authentication decisions are reviewed by Mara Lindqvist.",
    "Billing": "Billing depends on Stripe. The Ledger stores invoices. INV-2041 was paid late. Nobody likes chasing debts.",
    "Lindqvist": "Mara Lindqvist leads Platform. Platform owns the Gateway.",
    "Kitchen": "Lunch is served at noon. The Cook recommends soup. Chairs are blue. Tables are round. Cups are small.",
}


@dataclass
class Clock:
    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with laptop_with(tmp_path_factory.mktemp("recall"), PAGES) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


_SESSIONS = iter(range(1_000_000))


@pytest.fixture
def session() -> str:
    return f"session {next(_SESSIONS)}"


def retriever(stores: Stores, clock: Clock | None = None, **options: Any) -> RecallRetriever:
    options.setdefault("embedder", WordEmbedder())
    return RecallRetriever(stores.graph, stores.vectors, stores.registry, clock=clock or Clock(), **options)


def recall(stores: Stores, query: str, session: str, *, filters: MetadataFilter | None = None, **args: Any) -> RecallResults:
    return retriever(stores).retrieve(DEFAULT_TENANT, Question(query, filters), session_id=session, **args)


def named(nodes: Sequence[RecallNode], name: str) -> RecallNode:
    return next(node for node in nodes if node.name == name)


def strategy(found: RecallResults, name: str) -> dict[str, Any]:
    return next(s.to_dict() for s in found.strategies if s.name == name)


# ---------------------------------------------------------------- strategies


@pytest.mark.requirement("M-02", "M-06", "M-21")
def test_a_query_alone_asks_four_strategies_in_one_call(stores: Stores) -> None:
    found = retriever(stores).retrieve(Tenant("default"), Question("JWT authentication decisions"))
    assert found.session_id == "default"
    assert [s.name for s in found.strategies] == ["bm25", "vector", "edge_labels", "regex"]
    assert found.calls == {"vector": 1, "graph": 3, "registry": 2}
    assert found.nodes[0].name == "JWT authentication decisions are reviewed by Mara Lindqvist."
    assert found.nodes[0].sources == ("bm25", "vector")


@pytest.mark.requirement("M-07")
def test_words_find_entities_statements_and_topics(stores: Stores, session: str) -> None:
    found = recall(stores, "Billing Stripe", session)
    by_words = {(n.type, n.name) for n in found.nodes if "bm25" in n.sources}
    assert {("entity", "Stripe"), ("statement", "Billing depends on Stripe."), ("topic", "Billing")} <= by_words


@pytest.mark.requirement("M-08")
def test_likeness_counts_from_a_cosine_of_0_35_on(stores: Stores, session: str) -> None:
    query = "Mara Lindqvist chose JWT over Sessions"
    found = recall(stores, query, session, max_results=50)
    asked = WordEmbedder().embed_questions([query])[0]
    ids = [*stores.vectors.ids(DEFAULT_TENANT, "statement"), *stores.vectors.ids(DEFAULT_TENANT, "topic")]
    kept = {**stores.vectors.fetch(DEFAULT_TENANT, "statement", ids), **stores.vectors.fetch(DEFAULT_TENANT, "topic", ids)}
    near = {i for i, record in kept.items() if record.vector is not None and float(record.vector @ asked) >= 0.35}
    assert 0 < len(near) < len(ids)
    assert {node.key for node in found.nodes if "vector" in node.sources} == near


@pytest.mark.requirement("M-09")
def test_the_label_of_a_relation_finds_both_its_ends(stores: Stores, session: str) -> None:
    owns = recall(stores, "owning", session)
    ends = [n for n in owns.nodes if "edge_labels" in n.sources]
    assert {n.name for n in ends} == {"Platform", "Gateway"}
    assert len({n.scores["general"] for n in ends}) == 1


@pytest.mark.requirement("M-10")
def test_a_query_with_metacharacters_is_tried_as_a_pattern_too(stores: Stores, session: str) -> None:
    found = recall(stores, r"INV-\d{4}", session)
    assert {n.name for n in found.nodes if "regex" in n.sources} == {"INV-2041", "INV-2041 was paid late."}
    assert named(found.nodes, "INV-2041").score > named(found.nodes, "INV-2041 was paid late.").score


@pytest.mark.requirement("M-10")
def test_a_part_of_a_word_is_found_when_no_word_is(stores: Stores, session: str) -> None:
    found = recall(stores, "Lindqv", session)
    assert "Mara Lindqvist leads Platform." in {n.name for n in found.nodes}
    assert {n.sources for n in found.nodes} == {("regex",)}
    assert found.calls == {"vector": 1, "graph": 2, "registry": 2}


@pytest.mark.requirement("M-05", "M-10")
def test_a_forced_pattern_finds_what_it_matches_and_nothing_else(stores: Stores, session: str) -> None:
    found = recall(stores, "^the \\w+ stores", session, force_regex=True)
    assert [n.name for n in found.nodes] == ["The Ledger stores invoices."]
    assert "force_regex" in strategy(found, "bm25")["skipped"]
    plain = recall(stores, "Ledger", session, force_regex=True)
    assert {n.name for n in plain.nodes} == {"The Ledger", "The Ledger stores invoices."}
    assert recall(stores, "gateway$", session, force_regex=True).nodes[0].name == "Gateway"


@pytest.mark.requirement("M-10")
def test_a_pattern_finds_all_that_it_matches_also_inside_words_and_without_any_word(stores: Stores, session: str) -> None:
    years = recall(stores, r"\b\d{4}\b", session, force_regex=True)
    assert {n.name for n in years.nodes} == {
        "INV-2041",
        "INV-2041 was paid late.",
        "Mara Lindqvist chose JWT over Sessions in 2021.",
    }
    inside = {n.name for n in recall(stores, r"\w+qvist", session, force_regex=True, max_results=50).nodes}
    assert inside == {n.name for n in recall(stores, "qvist", session, force_regex=True, max_results=50).nodes}
    assert {"Mara Lindqvist", "Lindqvist", "Mara Lindqvist leads Platform."} <= inside


@pytest.mark.requirement("M-10", "M-12")
@pytest.mark.parametrize("query", ["Mara Lindqvist", "mara lindqvist", "Mara  lindqvist"])
def test_what_is_called_as_the_query_comes_first_however_it_is_written(stores: Stores, session: str, query: str) -> None:
    found = recall(stores, query, session)
    assert [(n.name, n.score) for n in found.nodes if n.score == 1.0] == [("Mara Lindqvist", 1.0)]
    assert strategy(found, "regex") == {"name": "regex", "found": 1}
    asked = recall(stores, "what did mara lindqvist choose", session)
    assert [n.name for n in asked.nodes if n.score == 1.0] == []


@pytest.mark.requirement("M-10", "M-12")
def test_an_identifier_in_a_question_is_found_literally_without_being_forced(stores: Stores, session: str) -> None:
    found = recall(stores, "When was INV-2041 paid?", session)
    exact = [n for n in found.nodes if "regex" in n.sources]
    assert {n.name for n in exact} == {"INV-2041", "INV-2041 was paid late."}
    assert {n.score for n in exact} == {1.0}
    assert exact[0].name == "INV-2041 was paid late."
    assert all(n.score < 1 for n in found.nodes if n not in exact)


def test_a_pattern_that_matches_more_than_can_be_kept_says_so(tmp_path: Path, session: str) -> None:
    crowd = " ".join(f"The gauge_a read {n} feet." for n in range(1_100))
    with laptop_with(tmp_path, {"Gauges": crowd}) as many:
        everything = recall(many, r"\d+ feet", session, force_regex=True)
        few = recall(many, r"\b7\d feet", session, force_regex=True, max_results=50)
        alone = recall(many, "gauge_a", session)
        beside = recall(many, "What did gauge_a read on Monday?", session)
    assert len([n for n in few.nodes if n.type == "statement"]) == 10
    assert few.warnings == ()
    assert [[w.type for w in found.warnings] for found in (everything, alone)] == [["regex_incomplete"]] * 2
    assert beside.warnings == ()
    for found in (everything, alone, beside):
        assert "some matches may be missing" in strategy(found, "regex")["incomplete"]


# ---------------------------------------------------------------- scores and sessions


@pytest.mark.requirement("M-12", "M-17")
def test_the_first_recall_of_a_session_ranks_by_relevance_alone(stores: Stores, session: str) -> None:
    found = recall(stores, "JWT authentication decisions", session)
    assert (found.phase, found.weights, found.hot) == ("early", Weights(1.0, 0.0, 0.0), ())
    assert [n.score for n in found.nodes] == [n.scores["general"] for n in found.nodes]
    assert 0.5 < found.nodes[0].score < 1.0
    assert [n.score for n in found.nodes] == sorted((n.score for n in found.nodes), reverse=True)


@pytest.mark.requirement("M-03", "M-11", "M-14")
def test_what_a_session_saw_is_boosted_in_that_session_only_and_less_as_time_goes_by(
    stores: Stores, clock: Clock, session: str
) -> None:
    ask = retriever(stores, clock)
    first = ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session)
    again = ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session)
    clock.now += HALF_LIFE
    later = ask.retrieve(DEFAULT_TENANT, Question("Billing"), session_id=session)
    other = ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session + " other")

    assert {n.scores["session"] for n in first.nodes} == {0.0}
    assert {n.scores["session"] for n in again.nodes} == {1.0}
    assert again.nodes[0].score == pytest.approx(first.nodes[0].score)
    assert named(later.nodes, "Billing depends on Stripe.").scores["session"] == pytest.approx(0.5)
    assert {n.scores["session"] for n in other.nodes} == {0.0}


@pytest.mark.requirement("M-11")
def test_after_ten_half_lives_a_session_is_as_new(stores: Stores, clock: Clock, session: str) -> None:
    ask = retriever(stores, clock)
    ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session)
    clock.now += KEEP + 1
    later = ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session)
    assert (later.recalls, later.hot, later.weights.general) == (0, (), 1.0)
    assert {n.scores["session"] for n in later.nodes} == {0.0}


def test_what_was_seen_cools_so_that_in_the_end_nothing_is_hot_and_the_phase_is_early(
    stores: Stores, clock: Clock, session: str
) -> None:
    ask = retriever(stores, clock)
    for _ in range(11):
        ask.retrieve(DEFAULT_TENANT, Question("Stripe"), session_id=session)
    clock.now += IDLE - 1
    still = ask.retrieve(DEFAULT_TENANT, Question("soup"), session_id=session)
    clock.now += IDLE + 1
    idle = ask.retrieve(DEFAULT_TENANT, Question("soup"), session_id=session)
    clock.now += 2 * IDLE + 1_000
    cold = ask.retrieve(DEFAULT_TENANT, Question("soup"), session_id=session)
    assert (still.phase, still.recalls) == ("deep", 11)
    assert (idle.phase, idle.recalls) == ("early", 0)
    assert idle.hot
    assert cold.hot == ()


@pytest.mark.requirement("M-13")
def test_what_is_near_to_what_was_seen_comes_before_what_fits_alike(stores: Stores, clock: Clock, session: str) -> None:
    ask = retriever(stores, clock, weights=PhaseWeights(early=Weights(0.0, 1.0, 0.0)))
    ask.retrieve(DEFAULT_TENANT, Question("Platform"), session_id=session, max_results=1)
    found = ask.retrieve(DEFAULT_TENANT, Question("tokens soup paid again"), session_id=session, max_results=50)

    assert found.hot
    gateway, soup = named(found.nodes, "The Gateway uses JWT tokens."), named(found.nodes, "The Cook recommends soup.")
    assert gateway.scores["topical"] in (1 / 2, round(1 / 3, 6), 1 / 4)
    assert soup.scores["topical"] == 0.0
    assert gateway.score > soup.score


@pytest.mark.requirement("M-13")
def test_what_a_document_says_is_a_hop_from_what_was_seen_of_it(stores: Stores, clock: Clock, session: str) -> None:
    ask = retriever(stores, clock)
    ask.retrieve(DEFAULT_TENANT, Question("The Cook recommends soup."), session_id=session, max_results=1)
    found = ask.retrieve(DEFAULT_TENANT, Question("blue chairs or late invoices"), session_id=session, max_results=50)
    assert named(found.nodes, "Chairs are blue.").scores["topical"] == 0.5
    assert named(found.nodes, "INV-2041 was paid late.").scores["topical"] == 0.0


@pytest.mark.requirement("M-15", "M-19")
def test_the_phase_follows_the_number_of_recalls_and_the_score_is_what_the_weights_say(
    stores: Stores, clock: Clock, session: str
) -> None:
    ask = retriever(stores, clock)
    found = [ask.retrieve(DEFAULT_TENANT, Question("of JWT"), session_id=session) for _ in range(12)]
    assert [f.recalls for f in found] == list(range(12))
    assert [f.phase for f in found] == ["early"] * 3 + ["mid"] * 7 + ["deep"] * 2
    general = [f.weights.general for f in found]
    assert general[0] == 1.0
    assert general[0] > general[1] > general[3] > general[10] >= 0.4
    for f in found:
        for n in f.nodes:
            w, of = f.weights, n.scores
            lifted = w.general + w.topical * of["topical"] + w.session * of["session"]
            assert n.score == pytest.approx(of["general"] * lifted, abs=2e-6)


def test_only_what_earned_its_place_without_the_session_is_noted_as_seen(stores: Stores, clock: Clock, session: str) -> None:
    first = recall(stores, "JWT authentication decisions", session, max_results=3)
    seen = stores.registry.session(DEFAULT_TENANT, session, since=0.0).seen
    assert first.context
    assert set(seen) == {n.key for n in first.nodes}

    lifted = retriever(stores, clock, weights=PhaseWeights(early=Weights(0.0, 0.0, 1.0)))
    clock.now += 60
    again = lifted.retrieve(DEFAULT_TENANT, Question("lunch at noon or JWT"), session_id=session, max_results=1)
    fresh = lifted.retrieve(DEFAULT_TENANT, Question("lunch at noon or JWT"), session_id=f"{session} fresh", max_results=1)
    assert again.nodes[0].key in seen
    assert again.nodes[0].key != fresh.nodes[0].key
    assert stores.registry.session(DEFAULT_TENANT, session, since=0.0).seen == seen


def test_a_recall_that_finds_nothing_counts_as_one(stores: Stores, session: str) -> None:
    nothing = recall(stores, "zxqv", session)
    assert (nothing.nodes, nothing.context, nothing.edges) == ((), (), ())
    assert recall(stores, "zxqv", session).recalls == 1


@pytest.mark.requirement("M-03")
def test_the_default_session_is_the_callers_own_and_a_named_one_is_shared(stores: Stores, session: str) -> None:
    ask, question = retriever(stores), Question("Stripe")

    def recalls(caller: str, **args: Any) -> int:
        return ask.retrieve(DEFAULT_TENANT, question, caller=caller, **args).recalls

    assert [recalls(f"{session} a"), recalls(f"{session} b"), recalls(f"{session} a")] == [0, 0, 1]
    assert [recalls(f"{session} {c}", session_id=session) for c in "ab"] == [0, 1]
    assert ask.retrieve(DEFAULT_TENANT, question, caller=f"{session} a").session_id == "default"


# ---------------------------------------------------------------- context, edges, metadata


@pytest.mark.requirement("M-16")
def test_context_is_what_is_connected_to_the_best_with_half_their_score(stores: Stores, session: str) -> None:
    found = recall(stores, "JWT authentication decisions", session, max_results=2)
    score = {n.key: n.score for n in found.nodes}
    joined = {(e.source, e.target) for e in found.edges} | {(e.target, e.source) for e in found.edges}
    assert found.context
    for node in found.context:
        assert node.sources == ("context",)
        assert node.key not in score
        assert node.score == pytest.approx(0.5 * score[node.via], abs=1e-6)
        assert (node.key, node.via) in joined
    assert "Mara Lindqvist" in {n.name for n in found.context} | {n.name for n in found.nodes}


@pytest.mark.requirement("M-18")
def test_edges_have_a_label_and_both_ends_are_given(stores: Stores, session: str) -> None:
    found = recall(stores, "Mara Lindqvist", session)
    assert "Mara Lindqvist" in {n.name for n in found.nodes[:5]}
    name = {n.key: n.name for n in (*found.nodes, *found.context)}
    relations = {(name[e.source], e.relationship, name[e.target]) for e in found.edges if e.type == "RELATION"}
    assert ("Mara Lindqvist", "leads", "Platform") in relations
    assert ("Mara Lindqvist", "chose", "JWT") in relations
    assert all({e.source, e.target} <= name.keys() for e in found.edges)
    assert len({e.edge_id for e in found.edges}) == len(found.edges)


def test_at_most_ten_edges_a_node_and_25_nodes_of_context(tmp_path: Path) -> None:
    crowd = " ".join(f"Hub {kind} Item{n}." for n, kind in enumerate(["joins", "feeds", "needs"] * 12))
    with laptop_with(tmp_path, {"Hub": crowd}) as stores:
        alone = recall(stores, "Hub", "s", max_results=1)
        many = recall(stores, "Item1 Item2 Item3 Item4 Item5 Item6 Hub", "t", max_results=6)
    assert 0 < len(alone.edges) <= 10
    assert 0 < len(many.context) <= 25


@pytest.mark.requirement("M-19")
def test_metadata_tells_phase_weights_tiers_and_strategies(stores: Stores, session: str) -> None:
    found = recall(stores, "JWT authentication decisions", session).to_dict()
    told = json.loads(json.dumps(found))["metadata"]
    assert (told["phase"], told["weights"]) == ("early", {"general": 1.0, "topical": 0.0, "session": 0.0})
    assert set(told["tiers"]) == {"bm25", "vector", "edge_labels", "regex", "context"}
    for name in ("bm25", "vector", "edge_labels"):
        assert told["tiers"][name] == sum(name in node["sources"] for node in found["nodes"]) > 0
    assert told["tiers"]["context"] == len(found["context"])
    assert told["session"] == {"id": session, "recalls": 0, "hot": []}


def test_a_node_of_each_kind_says_what_it_is(stores: Stores, session: str) -> None:
    found = recall(stores, "Billing Stripe Ledger", session, max_results=50).to_dict()
    of_name = {(n["type"], n["name"]): n for n in found["nodes"]}
    stripe, topic = of_name["entity", "Stripe"], of_name["topic", "Billing"]
    assert "Billing depends on Stripe" in stripe["description"]
    assert stripe["class"] == "Name"
    assert "The Ledger stores invoices." in topic["description"]
    statement = of_name["statement", "The Ledger stores invoices."]
    assert statement["title"] == "Billing"
    assert statement["uri"].endswith("Billing.md")


# ---------------------------------------------------------------- limits


@pytest.mark.requirement("M-04")
@pytest.mark.parametrize("most", [1, 3, 50])
def test_so_many_nodes_at_most_and_the_best_are_kept(stores: Stores, session: str, most: int) -> None:
    query = "Mara Lindqvist Platform Gateway JWT Billing Ledger Stripe Cook"
    found, every = recall(stores, query, session, max_results=most), recall(stores, query, f"{session} all", max_results=50)
    assert [n.key for n in found.nodes] == [n.key for n in every.nodes[:most]]
    assert len(recall(stores, query, f"{session} plain").nodes) == 10


@pytest.mark.requirement("M-22")
@pytest.mark.parametrize(
    ("query", "args", "complaint"),
    [
        ("x", {"max_results": 0}, "max_results must be a whole number from 1 to 50"),
        ("x", {"max_results": 51}, "max_results must be a whole number from 1 to 50"),
        ("x", {"max_results": True}, "max_results"),
        ("(", {"force_regex": True}, "not a valid RE2 regular expression"),
        ("a" * 201, {"force_regex": True}, "at most 200"),
        ("x", {"force_regex": "yes"}, "force_regex must be true or false"),
        ("", {}, "query must contain a letter or digit"),
        (" \x00 ", {}, "query must contain a letter or digit"),
        ("?!", {}, "query must contain a letter or digit"),
        ("x" * 4_001, {}, "at most 4,000"),
        ("x" * 10_000, {"force_regex": True}, "at most 4,000"),
        ("x", {"session_id": ""}, "session_id"),
        ("x", {"session_id": "s" * 129}, "1 to 128"),
        ("x", {"session_id": "a\x00b"}, "session_id: must contain a visible character"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(
    stores: Stores, session: str, query: str, args: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        recall(stores, query, **{"session": args.pop("session_id", session), **args})
    assert stores.registry.session(DEFAULT_TENANT, session, since=0.0).recalls == 0


def test_a_query_is_composed_as_documents_are(stores: Stores, session: str) -> None:
    assert recall(stores, "Ha\u0308user", session=session).query == "Häuser"


HARD = [
    "(a+)+$",
    "(.*)*x" * 10,
    "((((((((((a*)*)*)*)*)*)*)*)*)*)b",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u202e\u0645\u0631\u062d\u0628\u0627 (?:x|y)",
    "a\x00b",
    "\ud800 lone",
    "word " * 799,
    "[" * 200,
    "(" * 90 + "a" + ")" * 90,
    ".{0,900}",
    "a|" * 90 + "b",
]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("query", HARD)
def test_hostile_queries_are_answered_or_refused_without_much_work(
    stores: Stores, session: str, query: str, force: bool
) -> None:
    def tried() -> None:
        try:
            found = recall(stores, query, session, force_regex=force)
            json.dumps(found.to_dict()).encode("utf-8")
        except InvalidInput:
            assert force or not any(c.isalnum() for c in query)

    assert soon(tried, seconds=5)


@settings(max_examples=60, derandomize=True, database=None)
@given(query=st.text(min_size=1, max_size=60), force=st.booleans(), most=st.integers(1, 50))
def test_any_text_gives_a_sound_result_or_is_refused(stores: Stores, query: str, force: bool, most: int) -> None:
    try:
        found = recall(stores, query, "any text", force_regex=force, max_results=most)
    except InvalidInput:
        return
    assert len(found.nodes) <= most
    assert all(0 <= n.score <= 1 for n in (*found.nodes, *found.context))
    assert all(n.sources for n in found.nodes)
    assert found.calls["vector"] <= 4
    assert found.calls["graph"] <= 3
    assert found.calls["registry"] == 2


# ---------------------------------------------------------------- tenants, filters, changes


def test_nothing_of_another_tenant_is_found_near_or_remembered(stores: Stores, session: str) -> None:
    recall(stores, "JWT", session)
    other = retriever(stores).retrieve(Tenant("other"), Question("JWT"), session_id=session)
    assert (other.nodes, other.recalls, other.hot) == ((), 0, ())


def test_filters_hold_for_every_strategy_and_for_the_context(stores: Stores, session: str) -> None:
    only = MetadataFilter("title", "==", "Lindqvist")
    for query, force in (("Gateway", False), ("owning", False), ("gate", False), ("gateway", True), (r"Gate\w+", False)):
        found = recall(stores, query, session, filters=only, force_regex=force)
        assert {n.title for n in (*found.nodes, *found.context)} <= {"Lindqvist", ""}
        assert "The Gateway" not in {n.name for n in (*found.nodes, *found.context)}
        assert found.nodes
    assert recall(stores, "Stripe", session, filters=only).nodes == ()


@pytest.mark.requirement("M-09")
def test_labels_change_and_go_with_their_document(tmp_path: Path) -> None:
    stores = open_laptop(tmp_path / "data")
    index = laptop(tmp_path / "data", stores)
    folder = write_pages(tmp_path / "corpus", {"Boats": "Ana steers Ferry.", "Trade": "Molde exports Cod."})
    index.ingest([folder])
    assert recall(stores, "steering", "s").nodes

    write_pages(folder, {"Boats": "Ana paints Ferry."})
    index.ingest([folder])
    assert recall(stores, "steering", "s").nodes == ()
    assert {n.name for n in recall(stores, "painting", "s").nodes if "edge_labels" in n.sources} == {"Ana", "Ferry"}
    assert index.repair(dry_run=True) == []

    index.remove([index.document("Boats.md").source_id])
    assert recall(stores, "painting", "s").nodes == ()
    assert len(stores.vectors.ids(DEFAULT_TENANT, "relation")) == 1
    stores.close()


# ---------------------------------------------------------------- failures


class BrokenEmbedder(WordEmbedder):
    def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        raise ModelUnavailable("the model is away")


def test_a_failing_embedding_model_leaves_the_other_strategies(stores: Stores, session: str) -> None:
    ask = retriever(stores, embedder=BrokenEmbedder())
    found = ask.retrieve(DEFAULT_TENANT, Question("JWT authentication decisions"), session_id=session)
    assert strategy(found, "vector") == {"name": "vector", "found": 0, "error": "model_unavailable"}
    assert strategy(found, "bm25")["found"] > 0
    assert [w.type for w in found.warnings] == ["embedding_failed"]


@pytest.mark.parametrize(("index", "failing"), [("relation", {"edge_labels"}), ("topic", {"bm25"}), ("entity", {"bm25"})])
def test_an_index_that_is_lost_leaves_the_strategies_that_do_not_need_it(
    tmp_path: Path, session: str, index: str, failing: set[str]
) -> None:
    with laptop_with(tmp_path, PAGES) as stores:
        with closing(sqlite3.connect(tmp_path / "data" / "vectors.sqlite")) as connection:
            (number,) = connection.execute("SELECT number FROM partitions WHERE name = ?", (index,)).fetchone()
            connection.execute(f"DROP TABLE words_{number}")
        found = recall(stores, "Mara Lindqvist leads", session)
    assert {s.name for s in found.strategies if s.error == "store_unavailable"} == failing
    assert found.nodes
    assert found.calls == {"vector": 4, "graph": 3 - ("edge_labels" in failing), "registry": 2}


def test_vectors_of_another_model_are_told(tmp_path: Path, session: str) -> None:
    with laptop_with(tmp_path, PAGES) as stores:
        other = EmbeddingModel("others", WordEmbedder.dimension)
        with closing(VectorStoreFactory.for_vector_store(f"sqlite:///{tmp_path}/data", embedding=other)) as vectors:
            mixed = Stores(stores.graph, vectors, stores.documents, stores.registry, stores.cache)
            found = recall(mixed, "owning", session)
    assert {s.name: s.error for s in found.strategies if s.error} == {"bm25": "invalid_input", "vector": "invalid_input"}
    assert strategy(found, "edge_labels")["found"] == 2


def test_a_lost_store_is_an_error(tmp_path: Path, session: str) -> None:
    with laptop_with(tmp_path, PAGES) as stores:
        with closing(sqlite3.connect(tmp_path / "data" / "graph.sqlite")) as connection:
            connection.execute("DROP TABLE said_in")
        with pytest.raises(StoreUnavailable):
            recall(stores, "JWT", session)
        assert stores.registry.session(DEFAULT_TENANT, session, since=0.0).recalls == 0


async def _twice(ask: RecallRetriever, session: str) -> Mapping[str, Any]:
    return (await ask.aretrieve(DEFAULT_TENANT, Question("JWT"), session_id=session)).to_dict()


def test_it_can_be_awaited(stores: Stores, session: str) -> None:
    import asyncio

    assert asyncio.run(_twice(retriever(stores), session))["nodes"]


# ---------------------------------------------------------------- as a retriever of statements


def test_what_recall_finds_can_be_answered_from(stores: Stores) -> None:
    search = make_retriever("recall", stores.graph, stores.vectors, embedder=WordEmbedder())
    found = search.retrieve(DEFAULT_TENANT, Question("JWT authentication decisions"))

    first, *others = found.statements
    assert first.text == "JWT authentication decisions are reviewed by Mara Lindqvist."
    assert (first.reason, dict(first.parts)) == ("statement", {"statement": first.score})
    assert 0.5 < first.score < 1.0
    behind = [s for s in others if s.reason == "entity"]
    assert behind
    assert all(s.path and 0 < s.score <= 0.5 for s in behind)
    assert found.calls["vector"] <= 4
    assert found.calls["graph"] <= 3


def test_a_search_touches_no_session(stores: Stores) -> None:
    before = stores.registry.session(DEFAULT_TENANT, "default", since=0.0)
    make_retriever("recall", stores.graph, stores.vectors, embedder=WordEmbedder()).retrieve(DEFAULT_TENANT, Question("JWT"))
    assert stores.registry.session(DEFAULT_TENANT, "default", since=0.0) == before


@pytest.mark.parametrize("order", [list(PAGES), list(reversed(PAGES))])
def test_a_recall_does_not_depend_on_the_order_of_ingestion(tmp_path: Path, order: list[str]) -> None:
    opened = open_laptop(tmp_path / "data")
    index, corpus = laptop(tmp_path / "data", opened), tmp_path / "corpus"
    for name in order:
        index.ingest([write_pages(corpus, {name: PAGES[name]})])
    straight = recall(opened, "Mara Lindqvist chose the Gateway", "s", max_results=50)
    for name in order:
        index.remove([index.document(f"{name}.md").source_id])
    index.ingest([write_pages(corpus, PAGES)])
    again = recall(opened, "Mara Lindqvist chose the Gateway", "t", max_results=50)
    opened.close()

    assert (again.nodes, again.context, again.edges, again.tiers) == (
        straight.nodes,
        straight.context,
        straight.edges,
        straight.tiers,
    )
    assert len(straight.nodes) > 5
