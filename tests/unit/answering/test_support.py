"""Every sentence of an answer is held against the statements that it cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.answering.citations import NOT_ANSWERED, check
from lexigraph.answering.support import Support, Unsupported, check_support
from lexigraph.model.results import Citation
from tests.processor import soon

STATEMENTS = (
    "The first ferry between Kolby and Brackford was built in 1751 by the Swedish engineer Nils Dahl.",
    "It carries 40 passengers and two carts, but no cattle.",
    "Tickets are sold by the harbour office; they cannot be returned.",
    "Set fare.max_days in /etc/ferry.conf, or start ferryd with --max-days, to let passes expire.",
    "The steam ferry of 1889 is not open to visitors.",
    "The Brackford Harbour Board (BHB) leases the berths to three shipping lines.",
    "Fog keeps the boats in port on some twenty days each winter.",
)
HEADINGS = ("Source: Ferries", "Source: Ferries\nTopic: The ferry Tern", *["Source: Ferries"] * 5)


def citations(*texts: str) -> list[Citation]:
    return [
        Citation(f"S{n}", f"statement:{n}", text, "source:1", "ferries.md", "Ferries", "chunk:1", 0, len(text), 0.5, "chunk")
        for n, text in enumerate(texts, 1)
    ]


def checked(answer: str, question: str = "") -> Support:
    return check_support(answer, citations(*STATEMENTS), HEADINGS, question)


def types(answer: str, question: str = "") -> list[str]:
    return [u.type for u in checked(answer, question).unsupported]


# ---------------------------------------------------------------- what is borne out


@pytest.mark.parametrize(
    "answer",
    [
        "Nils Dahl, an engineer from Sweden, built the first ferry from Kolby to Brackford in 1751 [S1].",
        "The ferry Tern takes forty passengers and 2 carts [S2].",
        "Cattle may not go on board of the ferry, which carries carts [S2].",
        "You cannot return tickets that the harbour office sold [S3].",
        "Passes expire when fare.max_days is set or ferryd is started with --max-days [S4].",
        "Nobody can visit the steam ferry of 1889; it isn't open [S5].",
        "Three shipping lines lease their berths from the BHB [S6].",
        "The Harbour Board of Brackford leases berths to shipping lines [S6].",
        "Because of fog the boats stay in port on about 20 days a winter [S7].",
        "The ferry was built in 1751 and carries 40 passengers [S1][S2].",
        "Two ferries are named: that of Nils Dahl [S1] and the steam ferry of 1889 [S5].",
        "- **Tickets** are sold by the `harbour office` [S3]",
        "1. The harbour office sells tickets [S3].\n2. Fog keeps boats in port [S7].",
        "The harbour office sells tickets. [S3] Fog keeps boats in port in winter. [S7]",
    ],
)
def test_paraphrases_and_compositions_of_what_is_cited_are_borne_out(answer: str) -> None:
    assert checked(answer) == Support((), answer)


@pytest.mark.parametrize(
    "answer",
    [
        NOT_ANSWERED,
        "The ferry was built in 1751 [S1]. The sources do not say what it cost.",
        "The statements mention nothing about the price of a ticket [S3].",
        "Here is what is known:\n- It was built in 1751 [S1].",
        "## How tickets were sold in Uppsala\n\n**Prices:**\n\n- The harbour office sells tickets [S3].",
        "Yes.",
        "",
    ],
)
def test_a_sentence_about_the_sources_or_of_no_content_claims_nothing(answer: str) -> None:
    assert types(answer, "What is the price of a ticket, and what did the ferry cost?") == []


def test_a_sentence_may_begin_with_a_small_letter_behind_a_label() -> None:
    (found,) = checked("Passes expire when ferryd is started with --max-days [S4]. ferryd sank in 1912 [S4].").unsupported
    assert found.sentence == "ferryd sank in 1912 [S4]."


def test_a_sentence_without_a_citation_is_held_against_what_its_line_cites() -> None:
    assert types("The harbour office sells tickets [S3]. Tickets cannot be returned.") == []
    assert types("The harbour office sells tickets [S3]. The office opens at eight.") == ["number"]


# ---------------------------------------------------------------- what is not


@pytest.mark.parametrize(
    ("answer", "type_", "named"),
    [
        ("The first ferry was built in 1715 [S1].", "number", "1715"),
        ("The ferry carries 40 passengers and three carts [S2].", "number", "three"),
        ("The first ferry was built in 1751 by Ida Berg [S1].", "name", "Ida, Berg"),
        ("The first ferry between Kolby and Uppsala was built in 1751 [S1].", "name", "Uppsala"),
        ("Passes expire when fare.min_days is set [S4].", "name", "fare.min_days"),
        ("Passes expire when ferryd is started with --min-days [S4].", "name", "--min-days"),
        ("Passes expire by a line in /etc/fares.conf [S4].", "name", "/etc/fares.conf"),
        ("Three shipping lines lease their berths from the NRA [S6].", "name", "NRA"),
    ],
)
def test_a_name_or_number_that_is_not_in_what_is_cited_is_told(answer: str, type_: str, named: str) -> None:
    (found,) = checked(answer).unsupported
    assert (found.sentence, found.type) == (answer, type_)
    assert found.reason.partition(";")[0] == f"not in {found.citations[0]}: {named}"


@pytest.mark.parametrize(
    "answer",
    [
        "Tickets can be returned at the harbour office, which sold them [S3].",
        "The steam ferry of 1889 is open to visitors [S5].",
        "The harbour office does not sell tickets [S3].",
        "No boat is kept in port by fog on winter days [S7].",
    ],
)
def test_a_sentence_that_denies_what_is_cited_or_affirms_what_that_denies_is_told(answer: str) -> None:
    assert types(answer) == ["negation"]


@pytest.mark.parametrize(
    "answer",
    [
        "Tickets cost more in summer, when tourists fill the quay [S3].",
        "The engineer died poor after a quarrel about money [S1].",
        "Fog is measured by an observer on the lighthouse [S7].",
    ],
)
def test_a_sentence_of_whose_words_the_statement_has_few_is_told(answer: str) -> None:
    assert types(answer) == ["content"]


def test_a_citation_of_another_statement_is_told_with_the_one_that_says_it() -> None:
    (found,) = checked("Fog keeps the boats in port on twenty days [S3].").unsupported
    assert (found.type, found.citations) == ("number", ("S3",))
    assert found.reason.endswith("; S7 supports it")


def test_what_is_said_without_any_citation_is_told_as_such() -> None:
    (found,) = checked("The ferry sank off Uppsala.").unsupported
    assert (found.citations, found.reason) == ((), "no citation; not in the sources shown to the model: Uppsala")


def test_the_question_s_name_is_no_evidence_for_a_sentence_that_cites() -> None:
    question = "When was the ferry to Uppsala built?"
    assert types("The ferry to Uppsala was built in 1751 [S1].", question) == ["name"]


def test_a_name_of_the_question_may_stand_elsewhere_in_what_was_shown_of_the_document() -> None:
    answer = "Fog keeps the boats of Kolby in port [S7]."
    assert types(answer, "What keeps the boats of Kolby in port?") == []
    assert types(answer, "What keeps boats in port?") == ["name"]


@pytest.mark.parametrize(
    ("answer", "type_"),
    [
        ("Yes, the Tern carries cattle [S2].", ["negation"]),
        ("The ferry carries cattle [S7].", ["content"]),
        ("No, the Tern carries no cattle [S2].", []),
    ],
)
def test_an_answer_in_the_words_of_the_question_has_to_be_what_is_cited(answer: str, type_: list[str]) -> None:
    assert types(answer, "Does the ferry Tern carry cattle?") == type_


def test_a_citation_beside_others_that_says_nothing_of_the_sentence_is_told_alone() -> None:
    support = checked("Fog keeps the boats in port on twenty days [S7][S3]. It carries 40 passengers [S2].")
    assert support.unsupported == (
        Unsupported("Fog keeps the boats in port on twenty days [S7][S3].", "citation", ("S3",), "S3 does not mention this"),
    )
    assert support.rest == "Fog keeps the boats in port on twenty days [S7]. It carries 40 passengers [S2]."


def test_code_is_held_against_what_the_sentence_before_it_cites() -> None:
    right, wrong = (f"Start it so [S4]:\n```\nferryd --{word}-days\n```" for word in ("max", "min"))
    assert types(right) == []
    assert types(wrong) == ["name"]


# ---------------------------------------------------------------- what is left of a strict answer


def test_what_is_not_borne_out_is_left_out_with_its_line() -> None:
    answer = (
        "Tickets cost 9 crowns [S3]. The harbour office sells tickets [S3]. They cost more at night [S3].\n\n"
        "- The first ferry was built in 1751 [S1].\n- The second one was built in 1802 [S1].\n- Fog keeps boats in [S7].\n\n"
        "It sank in 1912 [S1]."
    )
    assert checked(answer).rest == (
        "The harbour office sells tickets [S3].\n\n- The first ferry was built in 1751 [S1].\n- Fog keeps boats in [S7]."
    )


def test_an_answer_of_which_nothing_is_borne_out_is_empty() -> None:
    assert checked("It sank in 1912 [S1]. All of Uppsala wept [S2].").rest == ""


# ---------------------------------------------------------------- other languages


def test_an_answer_in_another_language_than_its_source_is_held_against_names_and_numbers_only() -> None:
    assert types("Die erste Fähre wurde 1751 von Nils Dahl für die Stadt gebaut und war die einzige [S1].") == []
    assert types("Die erste Fähre wurde 1715 von Nils Dahl für die Stadt gebaut und war die einzige [S1].") == ["number"]


def test_an_answer_in_the_language_of_its_source_is_held_against_its_words() -> None:
    said = citations("Die Fähre fährt im Winter nicht, weil der Nebel auf dem Fluss zu dicht ist.")
    good = "Im Winter ist der Nebel auf dem Fluss dicht, und die Fähre fährt nicht [S1]."
    bad = "Im Sommer ist das Wasser der Bucht warm, und die Kinder baden gern bei der Brücke [S1]."
    assert check_support(good, said).unsupported == ()
    assert [u.type for u in check_support(bad, said).unsupported] == ["content"]


def test_a_text_without_blanks_is_held_against_its_words() -> None:
    said = citations("東京は日本の首都である。人口は約1400万人である。")
    assert check_support("東京の人口は約1400万人である [S1]。", said).unsupported == ()
    assert [u.type for u in check_support("東京の人口は約1500万人である [S1]。", said).unsupported] == ["number"]


# ---------------------------------------------------------------- whatever a model says

_PIECES = st.sampled_from(
    ["[S1]", "[S2]", "[S99]", ". ", "\n", "```", "- ", "not ", "Kolby ", "1751 ", "9" * 5_000, "½", "|", "'"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=30)), max_size=30).map("".join), st.text(max_size=60))
def test_no_answer_breaks_the_check_and_what_is_left_is_part_of_it(answer: str, source: str) -> None:
    text = check(answer, 2).text
    support = check_support(text, citations(source, STATEMENTS[0]), (), "Who?")
    assert all(u.sentence and u.reason for u in support.unsupported)
    letters = iter(text)
    assert all(letter in letters for letter in support.rest)


@pytest.mark.parametrize("piece", ["a_", "_", "a.", "**", "[S1]", "- ", "not ", "A", "1 ", "'", "`", "#"])
def test_a_reply_that_repeats_itself_for_ever_is_checked_in_no_time(piece: str) -> None:
    assert soon(lambda: checked(f"{piece * 4_000}! Fog [S7]."), seconds=5)
