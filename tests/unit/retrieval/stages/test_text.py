"""Words, stems and names: what the pure parts of retrieval compare."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.model.normalise import entity_key
from lexigraph.model.scripts import MARKS, grams, is_unspaced, pieces
from lexigraph.retrieval.stages.text import (
    StemFinder,
    fold,
    holder,
    longest,
    names,
    same_thing,
    stem,
    stems,
    unframed,
    words,
)


def keys(text: str, **options: bool) -> list[str]:
    return [name.key for name in names(text, **options)]


def test_words_are_compared_without_case_and_accents():
    assert words("Aschenbrödel, ŒUVRE No. 2") == ["aschenbrodel", "œuvre", "no", "2"]
    assert words("北京 大学") == ["北京", "大学"]


def test_stems_leave_out_what_questions_are_made_of():
    assert stems("Which query languages does it support?") == ["queri", "languag", "support"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What happens when I upload a file?", "upload file"),
        ("When a job fails, what happens?", "job fails"),
        ("Is it possible to export the graph?", "export graph"),
        ("Is there a way to undo a decision?", "undo decision"),
        ("What is the recommended way to load records?", "load records"),
        ("Which pump should I use?", "pump"),
        ("What are the steps to erase a tenant?", "erase tenant"),
        ("How does the valve work?", "valve"),
        ("What does NAT stand for?", "NAT"),
        ("What kind of oil do I need?", "oil"),
        ("What happens?", "happens"),
        ("Who works in the mill?", "works mill"),
        ("What does the sign mean in a way?", "sign mean way"),
    ],
)
def test_a_question_is_searched_for_without_the_words_in_which_it_is_put(question: str, said: str) -> None:
    assert stems(unframed(question)) == stems(said)


def test_a_question_in_lower_case_still_gives_its_names():
    found = keys("what are the differences between neptune database and c++?", capitals=False)
    assert {"neptune database", "c++", "differences"} <= set(found)
    assert not {"the", "and", "what are"} & set(found)


def test_in_running_text_names_begin_and_end_with_a_capital_or_are_short():
    found = keys("The Pirate's Dream is a film by Mario Mattoli about oil refineries.")
    assert {"pirate's dream", "mario mattoli", "the pirate's dream"} <= set(found)
    assert not {"dream is a film", "film by mario", "refineries"} & set(found)


def test_a_number_alone_is_no_name_in_running_text_but_may_be_asked_for():
    text = "Born on 24 June 1984, he ran at the 1984 Summer Games."
    assert {"1984 summer games", "24 june", "24 june 1984"} <= set(keys(text))
    assert not {"24", "1984"} & set(keys(text))
    assert "1984" in {name.key for name in names("who wrote 1984", capitals=False)}


def test_a_name_with_its_kind_in_small_letters_is_the_same_thing():
    state = {name.form: name for name in names("In Kerala state it rains.")}
    assert same_thing(state["Kerala"], state["Kerala state"])
    assert same_thing(state["Kerala state"], state["Kerala state"])
    hills = {name.form: name for name in names("West Kerala Hills")}
    assert not same_thing(hills["Kerala"], hills["West Kerala"])
    assert not same_thing(hills["Kerala"], hills["Kerala Hills"])


def test_a_name_lies_in_another_when_all_of_it_does():
    around = holder([name for name in names("He left New York City Hall.") if name.key == "new york city"])
    found = {name.key: home and home.key for name in names("He left New York City Hall.") for home in [around(name)]}
    assert found["york"] == found["new york city"] == "new york city"
    assert found["city hall"] is found["hall"] is None


def test_a_possessive_is_no_part_of_a_name():
    assert "lothair ii" in keys("Lothair II's mother died.")
    assert "heron team" in keys("The Heron Teams' and the Heron Team's rooms")


def test_a_name_does_not_cross_a_line():
    assert "neptune amazon" not in keys("Neptune\nAmazon builds it")


def test_the_longest_of_overlapping_names_is_kept_and_repeats_stay():
    known = {"new york", "new york city", "york", "city"}
    text = "New York City grew. The City of York is older than New York."
    kept = longest(name for name in names(text) if name.key in known)
    assert [name.key for name in kept] == ["new york city", "city", "york", "new york"]


@given(st.text(max_size=80))
def test_the_key_of_a_name_is_the_key_of_the_entity_of_that_name(text: str):
    for name in names(text, capitals=False):
        assert entity_key(name.key) == name.key


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Countries have borders.", ["countri", "border"]),
        ("A country", ["countri"]),
        ("She was dying, lying and tying", ["die", "lie", "tie"]),
        ("Undying borderline", ["borderlin"]),
        ("the skies over Aschenbrödel", ["sky", "aschenbrodel"]),
        ("", []),
    ],
)
def test_stems_are_found_in_a_text_as_if_every_word_were_stemmed(text: str, held: list[str]) -> None:
    wanted = ("countri", "border", "die", "lie", "tie", "borderlin", "sky", "aschenbrodel", "x")
    assert [wanted[at] for _, at in StemFinder(wanted).found_in([text])] == held


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_finding_stems_agrees_with_stemming_whatever_the_text(text: str, asked: list[str]) -> None:
    wanted = tuple(dict.fromkeys(s for part in asked for s in stems(part)))
    texts = [" ".join([text, *asked[:2]]), *asked, text]
    held = {(at, stem(word)) for at, said in enumerate(texts) for word in words(said)}
    found = {(at, wanted[place]) for at, place in StemFinder(wanted).found_in(texts)}
    assert found == {(at, word) for at, word in held if word in wanted}


MIXED = st.text(alphabet="ab sé’я\uff76\uff9e灯台のไท🙂-1Ω", max_size=30)


@given(MIXED)
def test_words_of_a_text_of_several_scripts_are_cut_each_by_its_own(text: str):
    cut = [piece for word in re.findall(rf"[\w{MARKS}]+", fold(text)) for piece in pieces(word)]
    assert words(text) == [part for piece in cut for part in (grams(piece) if is_unspaced(piece) else [piece])]


@given(st.lists(MIXED, max_size=5), st.text(alphabet="abs é1", max_size=8))
def test_stems_are_found_in_texts_of_several_scripts_as_if_every_word_were_stemmed(texts: list[str], asked: str):
    wanted = tuple(dict.fromkeys(stems(asked)))
    held = {(at, stem(word)) for at, said in enumerate(texts) for word in words(said)}
    found = {(at, wanted[place]) for at, place in StemFinder(wanted).found_in(texts)}
    assert found == {(at, word) for at, word in held if word in wanted}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wer hat die Häuser gebaut?", ["haus", "gebaut"]),
        ("Кто построил маяки", ["кто", "постро", "маяк"]),
        ("東京都の灯台", ["東京", "京都", "都の", "の灯", "灯台"]),
        ("ガスと水", ["ガス", "スと", "と水"]),
        ("यह किताबें", ["यह", "किताब"]),
        ("йод", ["йод"]),
    ],
)
def test_the_stems_of_a_text_are_those_of_its_language_and_script(text: str, expected: list[str]) -> None:
    assert stems(text) == expected


def test_stems_of_a_question_in_another_language_are_found_in_texts_that_do_not_tell_theirs() -> None:
    question = "Wer hat die Häuser am Hafen gebaut?"
    finder = StemFinder(stems(question), "de")
    assert finder.found_in(["Haus am Hafen", "Häfen", "Hafen"]) == [(0, 0), (0, 1), (1, 1), (2, 1)]
    assert StemFinder(["灯台"]).found_in(["東京の灯台", "東京の港"]) == [(0, 0)]


def test_without_blanks_a_name_is_any_stretch_of_letters_of_a_question() -> None:
    found = {name.form: name for name in names("東京都はどこ", capitals=False)}
    assert "東京都" in found and "東京" in found
    kept = longest(found[form] for form in ("東京", "東京都"))
    assert [name.form for name in kept] == ["東京都"]
    assert "エルサ・ブラント" in {name.form for name in names("エルサ・ブラントは誰", capitals=False)}


def test_a_very_long_question_without_blanks_has_no_more_than_a_thousand_names() -> None:
    assert len(list(names("灯" * 5_000, capitals=False))) < 1_100
