"""What is added to the words of a text that a store finds itself, in what is indexed and in what is asked."""

import pytest

from lexigraph.storage.common.words import further_words, looked_up


@pytest.mark.parametrize(
    "text",
    [
        "The lighthouse was built in 1887 by Elsa Brandt.",
        "Beyoncé sang “Déjà Vu” – in Zürich…",
        "La Paz",
        "int main(void) { return 0; }",
        "",
    ],
)
def test_nothing_is_added_to_english(text: str) -> None:
    assert further_words(text) == []


def test_stems_are_added_where_a_language_is_told_but_none_of_its_function_words() -> None:
    assert further_words("Die Häuser wurden von der Stadt verkauft.") == ["haus"]


def test_pairs_are_added_where_no_blanks_part_words() -> None:
    assert further_words("The tower (東京都) in 서울") == ["東京", "京都", "서울"]


def test_letters_of_full_width_and_half_width_are_the_same() -> None:
    assert further_words("ｶﾞｽ灯") == further_words("ガス灯") == ["ガス", "ス灯"]


def test_a_question_is_looked_up_without_the_function_words_of_its_language() -> None:
    assert looked_up("Wer hat das Haus gebaut?", False) == (["haus", "gebaut"], "")


def test_endings_of_japanese_are_looked_up_only_where_there_is_nothing_else() -> None:
    assert looked_up("灯台です", False) == (["灯台です", "灯台", "台で"], "")
    assert looked_up("さくら", False) == (["さくら", "さく", "くら"], "")


def test_signs_are_looked_up_as_letters_since_the_stores_cut_words_at_signs() -> None:
    words, begun = looked_up("हिन्दी भाषा", True)
    assert all(word.isalpha() for word in words)
    assert begun.isalpha()
