"""The explained scores of hybrid search, number by number."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.model.errors import InvalidInput
from lexigraph.model.relations import RELATION_TYPES, Step, count_together
from lexigraph.retrieval.hybrid.args import HYBRID_WEIGHTS, RELATION_WEIGHTS, HybridArgs
from lexigraph.retrieval.hybrid.relation_scores import centrality, path_score, prune, relation_bonus, score_contexts
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.hybrid.subgraph import Context

W = HYBRID_WEIGHTS
PLAIN = HybridArgs(bm25_weight=0.0, path_weight=0.0, relation_bonus=False)


def rel(type_: str, confidence: float, start: str = "s", to: str = "t") -> Step:
    return Step(start, to, "llm_rel", confidence, type_)


def item(number: int, score: float, reason: str = "vector") -> HybridItem:
    return HybridItem(f"c{number:03}", reason, score, 0.0, 0.0, score, score)


def scored(*contexts: Context, args: HybridArgs = PLAIN, steps: tuple[Step, ...] = ()) -> dict[str, HybridItem]:
    return {i.id: i for i in score_contexts(contexts, steps, args, W)}


@pytest.mark.requirement("E-53")
def test_relation_types_have_the_weights_of_the_reference() -> None:
    assert RELATION_WEIGHTS == {
        "STEP_NEXT": 0.12,
        "REFERENCES": 0.18,
        "FOLLOWS": 0.16,
        "CAUSES": 0.22,
        "SUPPORTS": 0.20,
        "PART_OF": 0.15,
        "SUBSTEP_OF": 0.17,
        "CONTRASTS": 0.14,
    }
    assert tuple(RELATION_WEIGHTS) == RELATION_TYPES
    assert W.of_type("SOMETHING_ELSE") == 0.15


@pytest.mark.requirement("E-61")
def test_the_base_is_the_cosine_scaled_over_the_set() -> None:
    found = scored(
        Context("a", "vector", cosine=0.8),
        Context("b", "vector", cosine=0.5),
        Context("c", "entity", cosine=0.2),
        Context("d", "entity", cosine=None),
    )
    assert {i: x.base_norm for i, x in found.items()} == {"a": 1.0, "b": 0.5, "c": 0.0, "d": 0.0}
    assert found["d"].score_raw is None
    assert scored(Context("a", "vector", cosine=0.8))["a"].base_norm == 0.0, "one alone, or equals, are no range"


@pytest.mark.requirement("E-62", "E-63")
def test_the_bonus_is_words_relation_and_centrality_and_the_composite_adds_it_to_the_base() -> None:
    args = HybridArgs(graph_rank="degree", path_weight=0.0)
    step = rel("CAUSES", 0.5, "a", "b")
    found = scored(
        Context("a", "vector", cosine=0.9, bm25=6.0),
        Context("b", "llm_rel", 1, [(1, step)], cosine=0.3, bm25=3.0),
        Context("c", "vector", cosine=0.6, bm25=0.0),
        args=args,
        steps=(step,),
    )
    b = found["b"]
    assert b.parts == {"bm25": 0.2, "relation": 0.11, "graph_rank": 0.1}
    assert (b.base_norm, b.bonus, b.composite_score, b.final_score) == (0.0, 0.41, 0.41, 0.41)
    assert (b.rel_type, b.rel_conf) == ("CAUSES", 0.5)
    assert found["c"].bonus == 0.0
    for one in found.values():
        assert one.composite_score == round(one.base_norm + one.bonus, 4)


@pytest.mark.requirement("E-65")
@pytest.mark.parametrize(
    ("reason", "bonus"), [("vector", 0.0), ("bm25", 0.0), ("entity", 0.12), ("relates", 0.15), ("cooccur", 0.10)]
)
def test_each_reason_has_its_bonus(reason: str, bonus: float) -> None:
    assert relation_bonus(Context("a", reason), W) == bonus


def test_of_several_relations_the_one_that_counts_most_gives_the_bonus() -> None:
    context = Context("a", "llm_rel", 1, [(1, rel("CONTRASTS", 0.9)), (1, rel("CAUSES", 0.8)), (1, rel("OWNS", 1.0))])
    assert relation_bonus(context, W) == pytest.approx(0.22 * 0.8)
    args = HybridArgs(relation_bonus=True)
    assert scored(context, args=args)["a"].rel_type == "CAUSES"
    found_itself = Context("a", "vector", 1, context.arrivals)
    assert scored(found_itself, args=args)["a"].rel_type is None, "it counted for nothing"
    assert scored(context)["a"].rel_type is None, "no relation counts here"


@pytest.mark.requirement("E-70")
def test_relations_of_the_subgraph_count_less_each_time_and_in_dense_places() -> None:
    two = Context("a", "subgraph", 1, [(1, rel("CAUSES", 1.0, "x")), (1, rel("CAUSES", 0.5, "y"))])
    assert relation_bonus(two, W) == pytest.approx(0.12 + 0.35 * 0.22 * (1.0 + 0.5 * 0.7))

    eight = Context("a", "subgraph", 1, [(1, rel("CAUSES", 1.0, f"x{n}")) for n in range(8)])
    five = 0.35 * 0.22 * sum(0.7**n for n in range(5))
    assert relation_bonus(eight, W) == pytest.approx(0.12 + five / (1 + 0.15 * 2))


@pytest.mark.requirement("E-70")
def test_paths_count_by_their_steps_and_depth_at_most_eight_and_below_one() -> None:
    def worth(reason: str, *arrivals: tuple[int, Step]) -> float:
        """The sum behind a score: half of the most for a sum of 1."""
        score = path_score(Context("t", reason, 1, list(arrivals)), W)
        return score / (1.0 - score)

    entity = Step("s", "t", "entity", 1.0)
    assert worth("entity", (1, entity)) == pytest.approx(0.5)
    assert worth("subgraph", (2, entity)) == pytest.approx(0.5 * 0.65)
    assert worth("llm_rel", (1, rel("CAUSES", 0.9))) == pytest.approx(0.54)
    assert worth("subgraph", (2, rel("CAUSES", 0.9))) == pytest.approx(0.54 * 0.7)
    assert worth("entity", (1, rel("CAUSES", 0.5)), (2, entity)) == pytest.approx(0.3 + 0.325)
    many = [(2, rel("CAUSES", 0.2, f"s{n}")) for n in range(20)]
    assert worth("subgraph", *many) == pytest.approx(8 * 0.6 * 0.2 * 0.7)


@pytest.mark.requirement("E-70")
def test_chunks_with_many_paths_are_told_apart() -> None:
    entity = Step("s", "t", "entity", 1.0)
    scores = [round(path_score(Context("t", "relates", 1, [(1, entity)] * n), W), 4) for n in range(1, 9)]
    assert scores == sorted(set(scores)), "each further path adds something"
    assert scores[-1] < 1


@pytest.mark.requirement("E-73")
def test_centrality_is_a_share_of_the_most_central_of_what_was_fetched() -> None:
    star = [Step("hub", leaf, "entity", 1.0) for leaf in ("a", "b", "c")]
    ids = ["a", "b", "c", "hub", "alone"]
    assert centrality("none", ids, star) == {}
    assert centrality("degree", ids, star) == {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3, "hub": 1.0, "alone": 0.0}
    ranks = centrality("pagerank", ids, star)
    assert ranks["hub"] == 1.0 > ranks["a"] == ranks["b"] > ranks["alone"] > 0.0
    assert centrality("pagerank", ["a"], []) == {}


def test_up_to_sixteen_tenths_of_the_target_nothing_is_pruned() -> None:
    items = [item(n, 1.0 - n / 100) for n in range(16)]
    assert prune(items, 10, W) == items
    assert len(prune([*items, item(16, 0.1)], 10, W)) == 10


def test_what_lies_beyond_a_gap_is_dropped_when_enough_is_left() -> None:
    close = [item(n, 2.0 - n / 100) for n in range(6)]
    far = [item(n, 1.0 - n / 100) for n in range(6, 20)]
    assert prune([*close, *far], 10, W) == close
    assert len(prune([*close[:5], *far], 10, W)) == 10, "five are less than 60 % of ten"


def test_pruning_keeps_the_best_two_of_each_reason_then_the_best() -> None:
    items = [*(item(n, 2.0 - n / 100) for n in range(15)), *(item(n, 1.6 - n / 100, "cooccur") for n in range(15, 20))]
    kept = prune(items, 10, W)
    assert [i.id for i in kept] == [*(f"c{n:03}" for n in range(8)), "c015", "c016"]


def test_ties_go_by_id() -> None:
    contexts = [Context(i, "vector", cosine=0.5) for i in ("c", "a", "b")]
    assert [i.id for i in score_contexts(contexts, (), PLAIN, W)] == ["a", "b", "c"]


@pytest.mark.requirement("E-43", "E-59", "E-60")
def test_an_item_is_shown_with_the_fields_of_the_reference() -> None:
    one = HybridItem("chunk:1", "llm_rel", 0.83, 0.72, 0.13, 0.85, 0.9, "CAUSES", 0.7)
    results = HybridResults("why?", (), items=(one,))

    preview = results.preview()
    assert (preview["question"], preview["degraded"], "warn" in preview) == ("why?", False, False)
    assert {k: v for k, v in preview["items"][0].items() if k in REFERENCE_ITEM} == dict(
        zip(REFERENCE_ITEM, ("chunk:1", "llm_rel", 0.83, 0.72, 0.13, 0.85, 0.9, "CAUSES", 0.7), strict=True)
    )
    (source,) = results.sources()
    assert list(source)[:4] == ["id", "rank", "reason", "score"]
    assert (source["rank"], source["score"], source["base_norm"], source["rel_conf"]) == (1, 0.83, 0.72, 0.7)
    assert results.item("chunk:1") is one
    assert results.item("chunk:2") is None


REFERENCE_ITEM = (
    *("id", "reason", "score_raw", "base_norm", "bonus", "composite_score", "final_score", "rel_type", "rel_conf"),
)


@pytest.mark.parametrize(
    "given",
    [
        {"top_k": 0},
        {"top_k": 101},
        {"expand_hops": 3},
        {"subgraph_depth": 3},
        {"graph_rank": "betweenness"},
        {"vector": False, "bm25": False},
        {"bm25": "yes"},
        {"rerank_alpha": 1.1},
        {"rerank_timeout": 0},
        {"reranker": "best"},
        {"max_contexts": 201},
        {"max_link_df": -1},
        {"unknown": 1},
    ],
)
def test_a_value_out_of_range_is_refused_by_name(given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        HybridArgs.of(given)


@given(st.lists(st.frozensets(st.integers(0, 8)), max_size=8), st.integers(1, 4))
def test_pairs_that_stand_together_are_counted_like_by_hand(groups: list[frozenset[int]], least: int) -> None:
    rows = sorted((at, member) for at, group in enumerate(groups) for member in group)
    by_hand = sum(sum({a, b} <= g for g in groups) >= least for a in range(9) for b in range(a + 1, 9))
    assert count_together([g for g, _ in rows], [m for _, m in rows], least) == by_hand


@given(
    st.lists(
        st.builds(
            Context,
            st.uuids().map(str),
            st.sampled_from(["vector", "bm25", "entity", "relates", "cooccur", "subgraph"]),
            st.just(1),
            st.lists(st.tuples(st.integers(1, 2), st.builds(rel, st.sampled_from(RELATION_TYPES), st.floats(0, 1)))),
            st.none() | st.floats(-1, 1),
            st.floats(0, 50),
        ),
        max_size=30,
        unique_by=lambda c: c.id,
    )
)
def test_whatever_is_scored_adds_up_and_is_in_order(contexts: list[Context]) -> None:
    items = score_contexts(contexts, (), HybridArgs(), W)
    assert [i.composite_score for i in items] == sorted((i.composite_score for i in items), reverse=True)
    for one in items:
        assert 0.0 <= one.base_norm <= 1.0
        assert math.isclose(one.bonus, sum(one.parts.values()), abs_tol=1e-9)
        assert one.composite_score == round(one.base_norm + one.bonus, 4) == one.final_score
