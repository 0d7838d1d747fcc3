"""Words of other scripts and languages: where they are cut, and how they are stemmed."""

import pytest

from lexigraph.model.scripts import WORD, grams, latin_language, stemmed, without_optional


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("wo liegt der hauptsitz der firma", "de"),
        ("qui a construit le phare", "fr"),
        ("quién construyó el faro", "es"),
        ("quien construyo el faro de la isla", "es"),
        ("chi ha costruito il faro", "it"),
        ("wie heeft de vuurtoren gebouwd", "nl"),
        ("quem construiu o farol da ilha", "pt"),
        ("who built the lighthouse", ""),
        ("the film die hard was shown in der spiegel", ""),
        ("he lived in the rue de la paix", ""),
        ("welche frist gilt", "de"),
        ("combien coûte le billet", "fr"),
        ("cuánto cuesta el billete", "es"),
        ("la frist welche gilt", ""),
        ("qui nguyen is a playwright", ""),
        ("la paz", ""),
        ("der spiegel", ""),
        ("leuchtturm", ""),
    ],
)
def test_function_words_tell_a_language_other_than_english_or_nothing(text: str, language: str) -> None:
    assert latin_language(text.split()) == language


@pytest.mark.parametrize(
    ("run", "pieces"),
    [
        ("東京都", ["東京", "京都"]),
        ("東京", ["東京"]),
        ("京", ["京"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("ที่นี่", ["ที่นี่"]),
        ("ประภา", ["ประ", "ระภ", "ะภา"]),
    ],
)
def test_a_run_without_blanks_is_cut_in_overlapping_pairs_or_threes(run: str, pieces: list[str]) -> None:
    assert grams(run) == pieces


@pytest.mark.parametrize(
    ("word", "language", "stem"),
    [
        ("häuser", "de", "haus"),
        ("häuser", "", "häuser"),
        ("phares", "fr", "phar"),
        ("маяки", "", "маяк"),
        ("маяками", "", "маяк"),
        ("київ", "", "київ"),
        ("المنارة", "", "منار"),
        ("किताबें", "", "किताब"),
        ("東京", "", "東京"),
    ],
)
def test_the_script_tells_the_stemmer_and_in_latin_script_the_language(word: str, language: str, stem: str) -> None:
    assert stemmed(word, language) == stem


def test_a_word_keeps_its_vowel_signs_but_those_that_may_be_left_out() -> None:
    assert WORD.findall("हिन्दी भाषा।") == ["हिन्दी", "भाषा"]
    assert without_optional("مُحَمَّد") == "محمد"
    assert without_optional("שָׁלוֹם") == "שלום"
