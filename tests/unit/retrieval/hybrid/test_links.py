"""What chunks that the graph leads to add to those that it leads from."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lexigraph.model.graph import Source, StatementRow
from lexigraph.model.question import Question
from lexigraph.model.relations import Step
from lexigraph.model.tenant import DEFAULT_TENANT
from lexigraph.retrieval.hybrid.args import HYBRID_WEIGHTS
from lexigraph.retrieval.hybrid.links import added_by_links
from lexigraph.retrieval.hybrid.reranking import RerankGuard, reranked
from lexigraph.retrieval.hybrid.results import HybridItem, HybridResults
from lexigraph.retrieval.hybrid.subgraph import Context
from lexigraph.retrieval.retrievers import HybridRetriever
from lexigraph.retrieval.stages.trace import Trace
from lexigraph.settings import Settings
from tests.laptop import laptop_with
from tests.models import WordEmbedder

QUESTION = "Who repairs the organ of the chapel in Norwick?"
# the second half of the answer says nothing of organ, chapel or Norwick; others say more of these
CHAIN = {
    "Chapel": "The organ of the chapel in Norwick was built by Olaf Brandt.",
    "Olaf Brandt": "The workshop in Vellmark repairs what its master built.",
}
NEAR = {
    "Norwick": "Norwick has a chapel, a mill and an inn.",
    "Music": "An organ needs wind. An organ in a chapel is tuned by night.",
    "Inns": "The inn of Norwick is beside the chapel.",
    "Brandt & Sons": "Olaf Brandt sold shoes.",
}


def found(tmp_path: Path, pages: dict[str, str], **args: object) -> HybridResults:
    with laptop_with(tmp_path, pages) as stores:
        models = {"embedder": WordEmbedder(), "reranker": "none", "settings": Settings()}
        retriever = HybridRetriever(stores.graph, stores.vectors, **models, **args)  # type: ignore[arg-type]
        return retriever.retrieve(DEFAULT_TENANT, Question.of(QUESTION))


def test_what_a_name_leads_to_comes_before_what_is_only_like_the_question(tmp_path: Path) -> None:
    linked, alone = (
        [item.title for item in found(tmp_path / str(weight), CHAIN | NEAR, link_weight=weight).items]
        for weight in (1.0, 0.0)
    )
    assert set(linked[:2]) == set(CHAIN)
    assert "Olaf Brandt" not in alone[:2]


def test_what_a_link_adds_is_one_of_the_parts_that_are_shown_with_the_names_that_led_there(tmp_path: Path) -> None:
    items = {item.title: item for item in found(tmp_path, CHAIN | NEAR).items}
    assert items["Olaf Brandt"].parts["link"] > HYBRID_WEIGHTS.titled / 2
    assert items["Olaf Brandt"].path[-1] == "Olaf Brandt"
    assert "link" not in items["Music"].parts


def context(id_: str, text: str, *starts: str) -> Context:
    arrivals = [(1, Step(start, id_, "entity", 1.0, names=("Olaf Brandt",))) for start in starts]
    return Context(id_, "entity" if starts else "vector", int(bool(starts)), arrivals, text=text)


def row(chunk: str, source: str, title: str = "") -> StatementRow:
    home = Source(f"source:{source}", f"file:///{source}", title=title)
    return StatementRow(f"s{chunk}", "", "", "topic", "", chunk, 0, 0, 0, 0, 0, home)


@pytest.mark.parametrize(("source", "adds"), [("b", True), ("a", False)])
def test_inside_a_source_a_link_adds_nothing(source: str, adds: bool) -> None:
    contexts = [context("c1", "The organ was built by Olaf Brandt."), context("c2", "He repairs it.", "c1")]
    rows = [row("c1", "a"), row("c2", source)]
    assert bool(added_by_links("Who repairs the organ?", contexts, rows, {"c1": 1.0, "c2": 0.1}, HYBRID_WEIGHTS)) is adds


def test_a_second_step_is_worth_what_the_first_one_adds() -> None:
    contexts = [
        context("c1", "The organ was built by Olaf Brandt."),
        context("c2", "Olaf Brandt has a workshop.", "c1"),
        context("c3", "It repairs what it built.", "c2"),
    ]
    rows = [row("c1", "a"), row("c2", "b", "Olaf Brandt"), row("c3", "c")]
    fits = {"c1": 1.0, "c2": 0.0, "c3": 0.0}
    added = added_by_links("Who repairs the organ?", contexts, rows, fits, HYBRID_WEIGHTS)
    assert set(added) == {"c2", "c3"}
    assert 0 < added["c3"].worth < added["c2"].worth


def test_what_fits_half_as_well_as_the_best_leads_nowhere_near_as_far() -> None:
    contexts = [
        context("c1", "The organ was built by Olaf Brandt."),
        context("c2", "Olaf Brandt has a workshop.", "c1"),
    ]
    rows = [row("c1", "a"), row("c2", "b", "Olaf Brandt")]
    from_best, from_half = (
        added_by_links("Who repairs the organ?", contexts, rows, fits, HYBRID_WEIGHTS)["c2"].worth
        for fits in ({"c1": 1.0, "c2": 0.0}, {"c1": 0.5, "c2": 1.0})
    )
    assert from_half < from_best / 5


class LikeTheQuestion:
    """A reranker to which a text is worth the words that it has in common with the question."""

    name = "words"

    def score(self, queries: Sequence[str], texts: Sequence[str]) -> list[float]:
        asked = set(queries[0].split())
        return [float(len(asked & set(text.split()))) for text in texts]


def test_a_reranker_does_not_undo_what_a_link_brings_for_being_unlike_the_question() -> None:
    linked = HybridItem("linked", "entity", 0.1, 0.1, 1.5, 1.6, 1.6, parts={"link": HYBRID_WEIGHTS.best_link})
    like, unlike = (HybridItem(i, "vector", 0.5, 1.0, 0.0, 1.0, 1.0) for i in ("like", "unlike"))
    texts = ["workshop in Vellmark", "Who repairs organs", "shoes"]
    best = HYBRID_WEIGHTS.best_link
    found = reranked(
        [linked, like, unlike],
        texts,
        "Who repairs organs",
        LikeTheQuestion(),
        RerankGuard(5.0),
        0.5,
        Trace(),
        best_link=best,
    )
    assert [(i.id, i.final_score) for i in found] == [("linked", 1.3), ("like", 1.0), ("unlike", 0.5)]


def test_a_title_that_the_question_names_is_a_part_of_the_score_shared_among_chunks(tmp_path: Path) -> None:
    pages = {"Norwick": NEAR["Norwick"], "Music": NEAR["Music"], "Olaf Brandt": CHAIN["Olaf Brandt"]}
    parts = {item.title: item.parts for item in found(tmp_path, pages).items}
    assert {title for title, part in parts.items() if "title" in part} == {"Norwick"}
    assert parts["Norwick"]["title"] == HYBRID_WEIGHTS.title
