"""Answers without a language model: which statements are quoted, and how."""

from dataclasses import replace

from lexigraph.answering.context import ExternalText
from lexigraph.answering.extractive import is_weak, names_in, quotation, select, sentence
from lexigraph.model.graph import Source
from lexigraph.model.results import Citation, ScoredStatement, SearchResult, SearchResults


def results(*rows, entities=()):
    """Results with one statement each: (uri, text, score, path), best first; the title is the uri's stem in capitals."""
    groups = []
    for at, (uri, text, score, *path) in enumerate(rows):
        source = Source(f"source:{uri}", uri, title=uri.split(".")[0].replace("-", " ").title())
        statement = ScoredStatement(
            f"statement:{at}", text, score, "chunk", f"chunk:{at}", 100 * at, 100 * at + len(text), (), tuple(path)
        )
        groups.append(SearchResult(source, "", (statement,), score))
    return SearchResults("", tuple(groups), entities)


def texts(question, found, limit, external=()):
    return [c.text for c in select(question, found, external, limit=limit)]


CHAIN = results(
    ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.71),
    ("tidewater.md", "Tidewater replaced Silverbirch.", 0.30),
    ("tidewater.md", "Tidewater runs on Neptune Database.", 0.27),
    ("heron-team.md", "The Heron Team looks after graph storage.", 0.25),
    ("heron-team.md", "The Heron Team works at Kestrel House.", 0.22),
    ("foundry.md", "Foundry Quay is in the city of Trieste.", 0.20),
    ("tidewater.md", "New loans arrive in Tidewater twice an hour.", 0.18),
    ("kestrel.md", "Kestrel House is in the city of Antwerp.", 0.16),
)


def test_a_chain_over_three_documents_is_kept_although_its_end_ranks_low():
    found = texts("In which city does the team that owns Tidewater work?", CHAIN, 3)
    assert found == [
        "Tidewater is owned by the Heron Team.",
        "The Heron Team works at Kestrel House.",
        "Kestrel House is in the city of Antwerp.",
    ]


def test_the_best_statement_comes_first_when_nothing_else_tells_them_apart():
    found = results(("a.md", "Alpha is quick.", 0.9), ("b.md", "Beta is quick.", 0.5), ("c.md", "Gamma is quick.", 0.1))
    assert texts("What is blue?", found, 2) == ["Alpha is quick.", "Beta is quick."]


def test_of_the_statements_that_a_link_reached_the_one_that_says_the_name_carries_on():
    path = ("Heron Team", "Kestrel House")
    found = results(
        ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.7),
        ("sites.csv", "Foundry Quay: city of Trieste.", 0.22, *path),
        ("sites.csv", "Kestrel House: city of Antwerp.", 0.20, *path),
    )
    assert texts("In which city is the owner of Tidewater?", found, 2)[1] == "Kestrel House: city of Antwerp."


def test_asked_for_a_person_a_statement_that_names_somebody_new_is_preferred():
    found = results(
        ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.70),
        ("heron-team.md", "The Heron Team looks after graph storage.", 0.22),
        ("heron-team.md", "Before, Ines Calloway worked for an insurer.", 0.20),
    )
    assert texts("Who heads the team that owns Tidewater?", found, 2)[1] == "Before, Ines Calloway worked for an insurer."
    assert texts("What is done by the team that owns Tidewater?", found, 2)[1] == "The Heron Team looks after graph storage."


def test_a_statement_that_shares_a_rare_name_with_a_chosen_one_comes_next():
    found = results(
        ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.70),
        ("quay.md", "The Basalt Team meets on Fridays.", 0.22),
        ("friday.md", "On Tuesdays the Heron Team meets.", 0.20),
    )
    assert texts("What is known of Tidewater?", found, 2)[1] == "On Tuesdays the Heron Team meets."


def test_a_word_that_is_answered_counts_no_more():
    found = results(
        ("a.md", "Tidewater is in the city of Ghent.", 0.5),
        ("b.md", "Tidewater likes the city.", 0.4),
        ("c.md", "Tidewater is on the top floor.", 0.2),
    )
    assert texts("In which city and on which floor is Tidewater?", found, 2)[1] == "Tidewater is on the top floor."


def test_words_about_something_else_do_not_answer():
    found = results(
        ("tidewater.md", "Tidewater is a graph.", 0.7),
        ("silverbirch.md", "Silverbirch was retired for its joins.", 0.30),
        ("tidewater-loans.md", "Tidewater stores loans.", 0.31),
    )
    assert texts("Why was Tidewater retired?", found, 2)[1] == "Tidewater stores loans."


def test_names_typed_in_lower_case_are_known_from_the_entities_found():
    found = results(
        ("silverbirch.md", "Silverbirch was retired for its joins.", 0.30),
        ("tidewater.md", "It was built in a year.", 0.29),
        ("copperline.md", "It was built in a month.", 0.29),
        entities=("Tidewater", "Copperline"),
    )
    assert texts("how was tidewater built?", found, 1) == ["It was built in a year."]


def test_a_question_without_names_is_answered_by_its_words():
    found = results(
        ("alpha.md", "Alpha is a graph.", 0.30),
        ("beta.md", "Beta is a table.", 0.29),
        ("gamma.md", "Vectors are stored in a file.", 0.28),
    )
    assert texts("how are vectors stored?", found, 1) == ["Vectors are stored in a file."]
    assert texts("How are vectors stored in Zanzibar?", found, 1) == ["Vectors are stored in a file."]


def test_statements_that_say_the_same_are_quoted_once():
    found = results(
        ("a.md", "The outage was caused by a field mapping.", 0.9),
        ("b.md", "The outage was caused by the field mapping!", 0.8),
        ("c.md", "The outage lasted an hour.", 0.2),
    )
    assert texts("What caused the outage?", found, 3) == [
        "The outage was caused by a field mapping.",
        "The outage lasted an hour.",
    ]


def test_each_source_is_heard_before_one_repeats_itself():
    found = results(
        ("a.md", "Alpha is quick.", 0.5), ("a.md", "Alpha sleeps well.", 0.49), ("b.md", "Beta eats apples.", 0.48)
    )
    assert texts("What about them?", found, 2) == ["Alpha is quick.", "Beta eats apples."]


def test_statements_of_one_source_stand_together_in_reading_order():
    chosen = select("Tidewater Heron Team city", CHAIN, limit=8)
    assert [c.label for c in chosen] == [f"S{n}" for n in range(1, 9)]
    assert [c.uri for c in chosen[:4]] == ["tidewater.md"] * 4
    assert [c.start for c in chosen[:4]] == sorted(c.start for c in chosen[:4])


def test_at_most_the_number_asked_for_is_quoted():
    assert len(texts("Tidewater", CHAIN, 2)) == 2
    assert len(texts("Tidewater", CHAIN, 50)) == 8


def test_nothing_comes_of_nothing():
    assert select("Tidewater", results(), limit=5) == ()


def test_statements_without_a_score_are_still_quoted():
    assert texts("Tidewater", results(("a.md", "Tidewater is a graph.", 0.0)), 5) == ["Tidewater is a graph."]


def test_a_text_given_with_the_question_is_quoted_when_it_answers():
    chosen = select("What is the door code?", CHAIN, [ExternalText("note-1", "The door code is four.")], limit=2)
    assert [(c.statement_id, c.reason) for c in chosen if c.reason == "external"] == [("note-1", "external")]


def test_the_choice_is_the_same_every_time():
    assert select("Which team?", CHAIN, limit=4) == select("Which team?", CHAIN, limit=4)


def test_a_quoted_statement_is_one_line_with_an_end_and_cannot_fake_a_label():
    assert sentence("Half a\n sentence [S7]") == "Half a sentence (S7)."
    assert sentence("Is it?") == "Is it?"
    assert sentence("(It is.)") == "(It is.)"
    assert [sentence(text) for text in ("它发光吗？", "「它发光。」", "यह चमकता है।")] == [
        "它发光吗？",
        "「它发光。」",
        "यह चमकता है।",
    ]
    assert sentence("It is (perhaps)") == "It is (perhaps)."


def quoted(text, kind="prose", resolved=""):
    return Citation(
        "S1", "statement:1", text, "source:1", "a.md", "A", "c", 0, 9, 0.5, "chunk", kind=kind, resolved=resolved
    )


def test_what_is_quoted_is_the_sentence_of_the_document_and_what_chose_it_the_one_that_stands_alone():
    (result,) = results(("kiln.md", "The kiln glows.", 0.9)).results
    it = replace(result.statements[0], original="It glows.")
    found = replace(CHAIN, results=(replace(result, statements=(it,)),))
    (chosen,) = select("What does the kiln do?", found, limit=1)
    assert (chosen.text, chosen.resolved, chosen.start) == ("It glows.", "The kiln glows.", it.start)
    assert quotation(chosen) == "It glows. [S1]"
    untitled = replace(chosen, title="")
    assert not is_weak("Which kiln?", [untitled])
    assert is_weak("Which kiln?", [replace(untitled, resolved="")])


def test_statements_of_which_only_the_passage_is_known_are_quoted_each():
    (result,) = results(("ada.md", "Ada was born in London.", 0.9)).results
    born = result.statements[0]
    moved = replace(born, id="statement:9", text="In Paris a daughter followed.", score=0.8)
    found = replace(CHAIN, results=(replace(result, statements=(born, moved)),))
    assert len(texts("Where did Ada live?", found, 3)) == 2


def test_a_sentence_that_says_two_statements_is_quoted_once():
    sentence_ = "Ada, born in London, moved to Paris."
    (result,) = results(("ada.md", "Ada was born in London.", 0.9)).results
    born = replace(result.statements[0], original=sentence_, start=0, end=len(sentence_))
    moved = replace(born, id="statement:9", text="Ada moved to Paris.", score=0.8)
    later = replace(born, id="statement:10", text="Ada wrote notes.", original="", start=40, end=56, score=0.1)
    found = replace(CHAIN, results=(replace(result, statements=(born, moved, later)),))
    assert texts("Where did Ada live?", found, 3) == [sentence_, "Ada wrote notes."]


def test_code_is_quoted_whole_in_a_fence_below_the_sentence_that_leads_to_it():
    code = "    while read -r line; do\n        echo $line\n    done"
    assert quotation(quoted(code, "code", f"Print each\nline\n{code}")) == (
        "\nPrint each line. [S1]\n```\nwhile read -r line; do\n    echo $line\ndone\n```"
    )
    assert quotation(quoted("a | b\n1 | 2", "table")) == "\n[S1]\n```\na | b\n1 | 2\n```"


def test_code_can_neither_end_its_fence_nor_fake_a_label():
    forged = quotation(quoted("```\nThe moon is cheese. [S2]\n````", "code"))
    assert forged == "\n[S1]\n`````\n```\nThe moon is cheese. (S2)\n````\n`````"


def test_names_are_runs_of_capitalised_words():
    text = 'The Heron Team, in Antwerp (Kestrel House), and Tidewater\'s "Nightjar Runbook". It is Ines Calloway.'
    assert names_in(text) == {"heron team", "antwerp", "kestrel house", "tidewater", "nightjar runbook", "ines calloway"}
