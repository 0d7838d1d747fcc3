"""How an answer is judged by what was expected of it, worked out by hand."""

from dataclasses import dataclass
from typing import Any

import pytest

from lexigraph.answering.response import QueryResponse
from lexigraph.evaluation.answers import FIGURES, Reply, answer_figures, found_within, is_from, judged
from lexigraph.evaluation.expectations import Expectation
from lexigraph.evaluation.room import Handed
from lexigraph.model.results import Citation, SearchResults

TEXTS = {
    "ferry.md": "The ferry leaves at six.\nTickets cost 48\ncoins.",
    "town.md": "Lindholm is an island. Mira Holm sells tickets.",
}


def quote(file: str, text: str, start: int | None = None) -> Citation:
    at = " ".join(TEXTS[file].split()).index(text) if start is None else start
    place = ("chunk:1", at, at + len(text), 0.5, "chunk")
    return Citation("S1", text, text, file, f"file:///docs/{file}", file, *place)


def answer(*quoted: Citation, text: str = "", extractive: bool = True) -> QueryResponse:
    return QueryResponse("?", text, quoted, quoted, SearchResults("?", ()), extractive)


def judge(question: Expectation, response: QueryResponse) -> dict[str, float]:
    found = judged(question, response, lambda source_id: TEXTS.get(source_id, ""))
    assert set(found) <= set(FIGURES)
    return found


def expect(*texts: str, **more: Any) -> Expectation:
    return Expectation("q", "How much is a ticket?", texts, **more)


def test_quotations_are_right_that_say_something_expected_whatever_case_and_spaces() -> None:
    found = judge(
        expect("48 COINS", "mira holm", files=("ferry.md",)),
        answer(quote("town.md", "Lindholm is an island."), quote("ferry.md", "Tickets cost 48 coins.")),
    )
    assert found == {
        "citations right": 1.0,
        "answerable refused": 0.0,
        "first quotation right": 0.0,
        "all expected said": 0.0,
        "quotations right": 0.5,
        "needed files quoted": 1.0,
        "from needed files": 0.5,
    }


def test_all_expected_texts_must_be_said_unless_any_will_do() -> None:
    said = answer(quote("ferry.md", "Tickets cost 48 coins."))
    assert judge(expect("48 coins", "Mira"), said)["all expected said"] == 0.0
    assert judge(expect("48 coins", "Mira", any=True), said)["all expected said"] == 1.0


def test_what_a_model_wrote_counts_as_said_and_not_what_it_cited() -> None:
    cited = quote("ferry.md", "Tickets cost 48 coins.")
    assert judge(expect("48 coins"), answer(cited, text="See [S1].", extractive=False))["all expected said"] == 0.0
    assert judge(expect("48 coins"), answer(cited, text="48 coins [S1].", extractive=False))["all expected said"] == 1.0


def test_a_quotation_that_stands_elsewhere_or_nowhere_is_a_wrong_citation() -> None:
    right, moved = quote("town.md", "Mira Holm sells tickets."), quote("town.md", "Lindholm is an island.", start=3)
    assert judge(expect("x"), answer(right, moved))["citations right"] == 0.5


def test_nothing_quoted_is_neither_precise_nor_right() -> None:
    assert judge(expect("48", files=("ferry.md",)), answer()) == {
        "answerable refused": 0.0,
        "first quotation right": 0.0,
        "all expected said": 0.0,
        "needed files quoted": 0.0,
    }


@dataclass(frozen=True, slots=True)
class Told(QueryResponse):
    """A reply that says whether it answers."""

    answerable: bool = True


def told(answerable: bool, *quoted: Citation) -> Told:
    return Told("?", "", quoted, quoted, SearchResults("?", ()), True, answerable=answerable)


def test_not_found_is_right_for_an_unanswerable_question_only() -> None:
    foreign = Expectation("q", "Who won the cup?", unanswerable=True)
    assert [judge(foreign, told(answerable=a))["unanswerable told"] for a in (True, False)] == [0.0, 1.0]
    nearest = quote("ferry.md", "Tickets cost 48 coins.")
    refused = judge(expect("48 coins", files=("ferry.md",)), told(False, nearest))
    assert (refused["answerable refused"], refused["first quotation right"], refused["needed files quoted"]) == (
        1.0,
        0.0,
        0.0,
    )
    assert "quotations right" not in refused


def test_words_of_an_answer_are_looked_for_in_the_quotations() -> None:
    question = Expectation("q", "How much is a ticket?", answer="It costs 48 silver coins.")
    cost = quote("ferry.md", "Tickets cost 48 coins.")
    found = judge(question, answer(cost, quote("ferry.md", "The ferry leaves at six.")))
    assert found["answer words quoted"] == pytest.approx(3 / 4)
    assert found["quotations that add"] == pytest.approx(1 / 2)
    assert "first quotation right" not in found


@pytest.mark.parametrize(
    ("file", "same"),
    [
        ("guide one.md", True),
        ("docs/guide one.md", True),
        ("/data/docs/guide one.md", True),
        ("file:///data/docs/guide%20one.md", True),
        ("one.md", False),
        ("other/guide one.md", False),
        ("p7", True),
    ],
)
def test_a_file_is_named_by_the_end_of_its_path_or_by_its_id(file: str, same: bool) -> None:
    cited = Citation("S1", "s", "t", "d", "file:///data/docs/guide%20one.md", "", "c", 0, 1, 0.5, "chunk", {"id": "p7"})
    assert is_from(cited, file) == same


def replies(*handed: list[Handed], figures: tuple[dict[str, float], ...] = ({}, {})) -> list[Reply]:
    return [Reply(str(at), tuple(h), figures[at], 1.0) for at, h in enumerate(handed)]


def test_what_is_found_within_a_budget_is_told_by_words_of_answers_and_by_expected_texts() -> None:
    questions = [Expectation("a", "Who?", answer="Mira Holm", type="who"), Expectation("b", "When?", ("at six", "noon"))]
    found = found_within(
        questions,
        {
            "traversal": replies([Handed("d", "Then Mira Holm")], [Handed("d", "It leaves at six.")]),
            "fused": replies([Handed("d", "Mira")], []),
        },
        [2, 10],
    )
    words, texts = found["answer words found"], found["expected texts found"]
    assert [words[budget]["traversal"].mean.mean for budget in (2, 10)] == [0.5, 1.0]
    assert [texts[budget]["traversal"].mean.mean for budget in (2, 10)] == [0.0, 0.5]
    difference = words[10]["traversal"].difference
    assert (words[10]["traversal"].rival, difference and difference.mean) == ("fused", 0.5)
    assert words[10]["traversal"].by_type == {"who": (1.0, 1)}


def test_figures_are_compared_over_the_questions_where_every_retriever_has_them() -> None:
    questions = [expect("a"), expect("b")]
    both, one = {"first quotation right": 1.0, "quotations right": 0.5}, {"first quotation right": 0.0}
    found = answer_figures(
        questions, {"hybrid": replies([], [], figures=(both, one)), "bm25": replies([], [], figures=(both, both))}
    )
    assert list(found) == ["first quotation right", "quotations right"]
    assert (found["first quotation right"]["hybrid"].mean.mean, found["quotations right"]["hybrid"].mean.mean) == (0.5, 0.5)
    assert found["quotations right"]["hybrid"].by_type == {"": (0.5, 1)}
