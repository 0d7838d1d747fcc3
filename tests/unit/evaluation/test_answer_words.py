"""How many words of an answer stand in texts: worked out by hand."""

import pytest

from lexigraph.evaluation.answer_words import content, recall, sought


def test_content_words_are_stems_without_function_words_in_any_case() -> None:
    assert content("The ferries were LEAVING, often; at 6:30 via Grenaa's pier") == {
        "ferri",
        "leav",
        "6",
        "30",
        "grenaa",
        "s",
        "pier",
    }


def test_words_that_the_question_says_are_not_sought() -> None:
    assert sought("Which ferry leaves at six?", "The ferry to Lindholm leaves at six o'clock.") == {
        "lindholm",
        "o",
        "clock",
    }


def test_an_answer_that_only_repeats_the_question_has_nothing_to_find() -> None:
    assert sought("Does red hair raise the risk?", "Red hair raises the risk.") == frozenset()


def test_recall_is_the_share_of_the_words_in_all_texts_together() -> None:
    words = sought("When?", "Ferries leave Lindholm hourly")
    assert recall(words, []) == 0.0
    assert recall(words, ["A ferry", "is leaving"]) == pytest.approx(2 / 4)
    assert recall(words, ["The ferry leaves Lindholm", "on the hour, hourly."]) == pytest.approx(1.0)


def test_a_word_cut_in_two_texts_is_not_found() -> None:
    assert recall(sought("Where?", "Lindholm"), ["Lind", "holm"]) == 0.0
