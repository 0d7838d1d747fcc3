"""Answers without a language model: which statements are quoted, in which order, and how."""

from dataclasses import replace

import pytest

from lexigraph.answering.asked import read
from lexigraph.answering.candidates import candidates
from lexigraph.answering.citations import check
from lexigraph.answering.context import ExternalText
from lexigraph.answering.extractive import nearest, quotation, select, sentence
from lexigraph.answering.wording import stems
from lexigraph.model.results import Citation, SearchResults

ASKED = read("What of it?", [])


def quoted(question, found, limit=8, external=()):
    """What is quoted, best first, each with the sources that are cited for it."""
    could_be = candidates(found, external)
    return select(read(question, could_be, found.entities), could_be, limit=limit)


def texts(question, found, limit=8, external=()):
    return [group[0].text for group in quoted(question, found, limit, external)]


LONG_LIST = ("red", "green", "amber", "blue", "white", "violet", "brown", "grey", "pink", "black")


@pytest.fixture
def chain(results):
    return results(
        ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.71),
        ("tidewater.md", "Tidewater replaced Silverbirch.", 0.30),
        ("tidewater.md", "Tidewater runs on Neptune Database.", 0.27),
        ("heron-team.md", "The Heron Team looks after graph storage.", 0.25, "Tidewater", "Heron Team"),
        ("heron-team.md", "The Heron Team works at Kestrel House.", 0.42, "Tidewater", "Heron Team"),
        ("foundry.md", "Foundry Quay is in the city of Trieste.", 0.20),
        ("tidewater.md", "New loans arrive in Tidewater twice an hour.", 0.18),
        ("kestrel.md", "Kestrel House is in the city of Antwerp.", 0.40, "Tidewater", "Heron Team", "Kestrel House"),
    )


def test_a_chain_over_three_documents_is_quoted_and_little_else(chain):
    found = texts("In which city does the team that owns Tidewater work?", chain)
    assert len(found) <= 4
    assert set(found) >= {
        "Kestrel House is in the city of Antwerp.",
        "The Heron Team works at Kestrel House.",
        "Tidewater is owned by the Heron Team.",
    }


def test_a_name_that_many_sources_say_leads_nowhere(results):
    rows = [
        ("tidewater.md", "Tidewater is owned by the Heron Team.", 0.7),
        ("heron-team.md", "The Heron Team works at Kestrel House.", 0.4, "Tidewater", "Heron Team"),
    ]
    question = "In which city does the team that owns Tidewater work?"
    assert rows[1][1] in texts(question, results(*rows))
    others = [(f"minutes-{n}.md", f"The Heron Team met for the {n}th time.", 0.1) for n in range(4, 8)]
    assert texts(question, results(*rows, *others)) == [rows[0][1]]


def test_a_question_in_another_language_is_not_answered_by_what_is_only_written_in_it(results):
    found = results(
        ("tor.md", "Das Tor sperrt der Pförtner am Abend.", 0.9),
        ("weg.md", "Am Abend wird der Weg schmal.", 0.89),
        ("schloss.md", "Das Tor sperrt sonst niemand.", 0.8),
    )
    assert texts("Wer sperrt das Tor am Abend?", found) == [
        "Das Tor sperrt der Pförtner am Abend.",
        "Das Tor sperrt sonst niemand.",
    ]


def test_another_document_that_answers_in_the_words_of_the_question_is_quoted_however_low_it_ranks(results):
    found = results(
        ("about.md", "Marta Olsen leads Quill Shipping since 2019.", 0.62),
        ("about.md", "Quill Shipping was founded in 1998.", 0.48),
        ("minutes.txt", "Jonas Hale now leads Quill Shipping.", 0.04),
        ("minutes.txt", "The board of Quill Shipping met in Bergen.", 0.03),
        ("tariff.txt", "Quill Shipping leads the market.", 0.02),
    )
    assert texts("Who leads Quill Shipping?", found) == [
        "Marta Olsen leads Quill Shipping since 2019.",
        "Jonas Hale now leads Quill Shipping.",
    ]


ISSUES = (
    ("issues.csv", "Issue key: HM-2; Summary: Gate opens too late; Status: In Progress; Created: 1 May", 0.9),
    ("issues.csv", "Issue key: HM-1; Summary: Crane 4 stops at full load; Status: Done; Created: 2 May", 0.8),
    ("issues.csv", "Issue key: HM-7; Summary: Lamp flickers; Status: In Progress; Created: 9 May", 0.3),
    ("issues.csv", "Issue key: HM-4; Summary: Crane 4 overheats; Status: In Progress; Created: 4 May", 0.2),
)


def test_of_rows_only_the_one_that_is_identified_is_quoted(results):
    assert texts("What is the status of HM-1?", results(*ISSUES)) == [ISSUES[1][1]]


def test_of_rows_all_that_have_what_is_asked_for_in_the_plural_are_quoted(results):
    open_ones = {row for _, row, _ in ISSUES if "Progress" in row}
    assert set(texts("Which issues are in progress?", results(*ISSUES))) == open_ones
    assert len(texts("Which summaries have a status?", results(*ISSUES))) < len(ISSUES)


def test_the_end_of_a_chain_brings_what_leads_to_it_however_low_that_ranks(results):
    found = results(
        ("sites.csv", "Foundry Quay is cooled with sea water.", 0.9, "Lanternfish", "Basalt Team", "Foundry Quay"),
        ("teams.md", "The Basalt Team sits at Foundry Quay.", 0.2, "Lanternfish", "Basalt Team"),
        ("lanternfish.md", "Lanternfish is kept by the Basalt Team.", 0.1),
    )
    assert texts("What is the building of the Lanternfish people cooled with?", found) == [
        "Foundry Quay is cooled with sea water.",
        "The Basalt Team sits at Foundry Quay.",
        "Lanternfish is kept by the Basalt Team.",
    ]


def test_where_one_statement_has_all_that_is_asked_no_name_leads_on(results):
    direct = ("moor.md", "Moor listens on port 4022 and was written at Kelm.", 0.9)
    led = ("kelm.md", "Kelm is painted green and has a port for ships.", 0.6, "Moor", "Kelm")
    assert texts("On which port does Moor listen?", results(direct, led)) == [direct[1]]


def test_of_statements_that_rank_alike_the_one_that_says_what_is_asked_for_comes_first(results):
    found = results(
        ("outage.md", "The outage that gave the fleet a second index was on a Monday.", 0.60),
        ("outage.md", "The cause of the outage was a field mapping.", 0.59),
    )
    assert texts("What was the cause of the outage that gave the fleet a second index?", found)[0].startswith("The cause")


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How many photographs are copied?", "640 thousand photographs are copied.", "Photographs are copied by hand."),
        ("When is the runbook rehearsed?", "The runbook is rehearsed each quarter.", "The runbook is rehearsed by all."),
        ("Who leads the team?", "The team is led by Ines Calloway.", "The team is led from the top floor."),
        ("Why was the base retired?", "The base was retired because of nine joins.", "The base was retired with a party."),
        ("Why is the base off?", "The base is off because of nine joins.", "The base is off by default since Moor 7.2."),
    ],
)
def test_what_has_the_kind_of_answer_asked_for_comes_first(results, question, answer, other):
    assert texts(question, results(("a.md", other, 0.6), ("b.md", answer, 0.55)))[0] == answer


def test_a_statement_with_the_identifier_asked_for_comes_before_those_with_others(results):
    found = results(
        ("2.31.txt", "This release fixes CVE-2023-11111, see the notes.", 0.9),
        ("2.33.txt", "This release fixes CVE-2023-22222, see the notes.", 0.7),
    )
    assert texts("Which release fixes CVE-2023-22222?", found) == ["This release fixes CVE-2023-22222, see the notes."]


@pytest.mark.parametrize(
    ("question", "term"),
    [("What does --cone set?", "-c, --cone FILE"), ("What does kiln_fire return?", "kiln.kiln_fire(cone, *, hold=0)")],
)
def test_what_stands_below_the_term_asked_for_is_quoted_too(results, question, term):
    named = question.split()[2]
    found = results(
        ("kiln.md", f"Another one may be used like {named} to fire what is glazed.", 0.9),
        ("kiln.md", f"{term}: The heat that is reached.", 0.5),
        ("kiln.md", "A shelf: The heat that is reached is lower there.", 0.5),
    )
    assert f"{term}: The heat that is reached." in texts(question, found)
    assert "A shelf: The heat that is reached is lower there." not in texts(question, found)


def test_what_stands_below_the_setting_asked_for_comes_before_what_names_it(results):
    said = "Shelves are bent where it is off."
    rows = (
        ("kiln.conf.md", "CheckShelves: Looks at shelves, whatever StrictConeChecking is.", 0.9),
        ("kiln.conf.md", f"StrictConeChecking: {said}", 0.6),
    )
    assert texts("What does StrictConeChecking do?", results(*rows))[0] == f"StrictConeChecking: {said}"
    # the name of a thing, not of a setting of it
    of_a_thing = (rows[0], ("kiln.conf.md", f"StrictConeChecking Club: {said}", 0.6))
    assert texts("What does StrictConeChecking do?", results(*of_a_thing))[0] == rows[0][1]


def test_who_speaks_in_many_documents_is_no_setting(results):
    said = ("Ropes are cheap.", "Lunch is late.", "Clay is wet.", "Wood is dry.")
    chats = [(f"day-{at}.txt", f"MacLeod: {text}", 0.88 - at / 100) for at, text in enumerate(said)]
    asks = ("day-9.txt", "Ben: I saw MacLeod fire the kiln at night.", 0.9)
    assert texts("When did MacLeod fire the kiln?", results(asks, *chats))[0] == asks[1]
    assert texts("When did MacLeod fire the kiln?", results(asks, *chats[:1]))[0] == chats[0][1]


def test_behind_a_question_that_is_quoted_stands_what_was_answered(results):
    asks = "Ada: Who takes over the kiln while Ben is away?"
    found = results(
        ("talk.vtt", asks, 0.9), ("talk.vtt", "Cleo: I can.", 0.2), ("talk.vtt", "Ada: Next point, the shelves.", 0.1)
    )
    assert texts("Who takes over the kiln?", found) == [asks, "Cleo: I can."]
    elsewhere = results(("talk.vtt", asks, 0.9), ("other.vtt", "Cleo: I can.", 0.2))
    assert texts("Who takes over the kiln?", elsewhere) == [asks]


def test_the_best_statement_comes_first_and_what_is_far_below_it_is_not_quoted(results):
    found = results(("a.md", "Alpha is quick.", 0.9), ("b.md", "Beta is quick.", 0.85), ("c.md", "Gamma is quick.", 0.1))
    assert texts("What is blue?", found) == ["Alpha is quick.", "Beta is quick."]


def test_both_parts_of_a_question_are_quoted(results):
    found = results(
        ("kiln.md", "Stoneware wants a slow start.", 0.9),
        ("kiln.md", "The cellar is dry.", 0.85),
        ("kiln.md", "Cone six bends early.", 0.55),
    )
    assert "Cone six bends early." in texts("How to start for stoneware, and what of cone six?", found)


def test_both_sides_of_a_comparison_are_quoted(results):
    rows = [
        ("alpha.md", "Alpha keeps data in memory.", 0.9),
        ("alpha.md", "Alpha was made for reading data.", 0.85),
        ("beta.md", "Beta writes small pieces.", 0.45),
    ]
    assert "Beta writes small pieces." in texts("What is the difference between Alpha and Beta?", results(*rows))
    assert "Beta writes small pieces." not in texts("What keeps Alpha in memory?", results(*rows))


@pytest.mark.parametrize(
    "question",
    ["What is the difference between KPL-2 and KPL-3?", "Compare KPL-2 and KPL-3", "How do KPL-2 and KPL-3 differ?"],
)
def test_each_thing_compared_is_quoted_from_the_file_that_is_called_so_however_far_behind(results, question):
    found = results(
        ("KPL-3.txt", "This licence differs from older ones.", 0.9),
        ("KPL-3.txt", "The difference is told in the preamble.", 0.85),
        ("LKPL-2.1.txt", "What differs is linking.", 0.8),
        ("notes.md", "KPL-2 and KPL-3 were written by two people.", 0.3),
        ("KPL-2.txt", "You may copy and pass on the program.", 0.05),
    )
    said = {c.uri for group in quoted(question, found) for c in group}
    assert {"KPL-2.txt", "KPL-3.txt"} <= said
    assert "LKPL-2.1.txt" not in said


def test_each_thing_compared_within_one_document_is_quoted_from_below_its_heading(results):
    rows = [
        ("ranges.md", "A tilde range and a caret range are ranges.", 0.9),
        ("ranges.md", "It allows the last number to change.", 0.4),
        ("ranges.md", "It allows what is left of the first number but zero to change.", 0.4),
    ]
    headings = ("Grammar", "Tilde ranges", "Caret ranges")
    found = [
        replace(c, heading=heading, about=c.about | frozenset(stems(heading)))
        for c, heading in zip(candidates(results(*rows)), headings, strict=True)
    ]
    groups = select(read("What is the difference between a tilde range and a caret range?", found), found)
    assert {rows[1][1], rows[2][1]} <= {group[0].text for group in groups}


def test_a_thing_compared_that_limits_cut_off_is_quoted_all_the_same(results):
    found = candidates(results(("kilnd.md", "Kilnd burns gas.", 0.9)))
    cut = candidates(results(("glazed.md", "Glazed paints.", 0.1), ("salt.md", "Salt is white.", 0.2)))
    asked = read("Compare kilnd with glazed.", found)
    assert [g[0].uri for g in select(asked, found, cut)] == ["kilnd.md", "glazed.md"]
    assert [g[0].uri for g in select(read("What is kilnd?", found), found, cut)] == ["kilnd.md"]


def test_where_nothing_but_a_comparison_is_asked_documents_are_quoted_from_their_beginning(results):
    rows = [
        ("kilnd.md", "Kilnd is the program that watches over all kilns.", 0.3),
        *((f"{at}.md", "Ropes are long.", 0.1) for at in range(12)),
        ("kilnd.md", "Values of kilnd are compared with those before them.", 0.9),
        ("glazed.md", "Glazed is compared with nothing at all.", 0.8),
    ]
    assert rows[0][1] in texts("Compare kilnd and glazed.", results(*rows))
    assert rows[0][1] not in texts("Compare kilnd and glazed in values.", results(*rows))


def test_what_is_hardly_like_the_question_is_not_quoted_beside_what_is(results):
    rows = [("kiln.md", "The kiln module fires clay.", 0.9), ("tags.md", "Kiln module; NONE; yes; no; 0.", 0.85)]
    found = results(*rows, cosines={0: 0.6, 1: 0.6})
    for like, count in ((0.5, 2), (0.1, 1)):
        known = replace(found, cosines={**found.cosines, "statement:0": 0.6, "statement:1": like})
        assert len(texts("What does the kiln module do?", known)) == count


def test_what_was_found_far_behind_the_best_is_not_quoted_for_its_worth(results):
    rows = [("kiln.md", "The kiln fires at night.", 0.9), ("wood.md", "Wood is fired at night, too.", 0.65)]
    for score, count in ((0.65, 2), (0.5, 1)):
        found = results(rows[0], (*rows[1][:2], score), ("heat.md", "Ropes.", 0.2))
        assert len(texts("What fires at night?", found)) == count


def test_an_enumeration_is_gathered_where_all_of_it_is_asked_for(results):
    names = ("red", "green", "amber", "blue", "white", "violet", "brown", "grey")
    rows = [("signals.md", f"The {name} signal stops the pump.", 0.9 - at / 25) for at, name in enumerate(names)]
    found = results(*rows, ("pump.md", "The pump signal is loud.", 0.62))
    everything = texts("List all signals that stop the pump.", found)
    assert everything == [text for _, text, _ in rows]
    assert len(texts("Which signal stops the pump?", found)) < len(everything)


LEAD = "The following settings of the boiler can be changed:"


def listed(results, *others):
    """A list below one line, which what stands alone has in front; only the first item is much like a question."""
    names = ("max_heat", "max_flow", "max_steam")
    rows = [
        ("boiler.md", f"{LEAD} {name}: the upper bound of what the boiler gives.", 0.9 if not at else 0.2)
        for at, name in enumerate(names)
    ]
    found = results(*rows, *others)
    return replace(
        found,
        results=tuple(
            replace(r, statements=(replace(s, original=s.text.removeprefix(LEAD).strip()),)) if at < len(names) else r
            for at, r in enumerate(found.results)
            for s in r.statements
        ),
    )


@pytest.mark.parametrize("question", ["Which settings does the boiler have?", "List the settings of the boiler."])
def test_what_stands_below_one_line_is_quoted_together_where_several_things_are_asked_for(results, question):
    other = ("boiler.md", "The boiler was painted twice.", 0.15)
    found = listed(results, other)
    assert [t.split(":")[0] for t in texts(question, found)][:3] == ["max_heat", "max_flow", "max_steam"]
    assert "The boiler was painted twice." not in texts(question, found)
    assert len(texts("Which setting bounds the heat of the boiler?", found)) == 1


def test_what_several_documents_say_is_quoted_once_with_all_of_them_cited(results):
    found = results(
        ("a.md", "The outage was caused by a field mapping.", 0.9),
        ("b.md", "The outage was caused by the field mapping!", 0.88),
        ("a.md", "The outage was caused by that field mapping.", 0.86),
    )
    (group,) = quoted("What caused the outage?", found)
    assert [(c.label, c.uri) for c in group] == [("S1", "a.md"), ("S2", "b.md")]
    assert quotation(ASKED, group) == "The outage was caused by a field mapping. [S1][S2]"


@pytest.mark.parametrize(
    "other",
    [
        "Release 2.9 does not fix the parser of key_a.",
        "Release 2.8 does fix the parser of key_a.",
        "Release 2.9 does fix the parser of key_b.",
    ],
)
def test_what_differs_in_a_number_a_denial_or_an_identifier_is_not_the_same(results, other):
    found = results(("a.md", "Release 2.9 does fix the parser of key_a.", 0.9), ("b.md", other, 0.88))
    assert len(quoted("Which release does fix the parser?", found)) == 2


def test_names_typed_in_lower_case_are_known_from_the_entities_found(results):
    found = results(
        ("silverbirch.md", "It was built in a year by Tidewater.", 0.30, "Tidewater"),
        ("tidewater.md", "It was built in a month.", 0.30),
        entities=("Tidewater",),
    )
    assert read("how was tidewater built?", candidates(found), found.entities).names == {"tidewater"}


def test_nothing_is_quoted_for_a_name_that_a_quotation_says_in_lower_case(results):
    rows = [
        ("guide.txt", "Salt glazes of stoneware kilns need vents.", 0.9),
        ("guide.txt", "Stoneware was fired here for long, in Kilns.", 0.6),
    ]
    found = results(*rows, ("guide.txt", "The ropes are long.", 0.5), entities=("Stoneware", "Kilns"))
    assert texts("what vents do stoneware kilns with salt glazes need?", found) == [rows[0][1]]
    unsaid = results(("guide.txt", "Salt glazes need vents.", 0.9), *rows[1:], entities=("Stoneware", "Kilns"))
    assert rows[1][1] in texts("what vents do salt glazes need in stoneware kilns?", unsaid)


def test_likeness_of_the_sentence_counts_against_that_of_its_chunk(results):
    found = results(("a.md", "Alpha is quick.", 0.80), ("b.md", "Beta is quick.", 0.78), cosines={0: 0.6, 1: 0.6})
    known = replace(found, cosines={**found.cosines, "statement:0": 0.2, "statement:1": 0.6})
    assert texts("What is blue?", known)[0] == "Beta is quick."


def test_labels_count_from_one_in_the_order_of_worth(chain):
    groups = quoted("Tidewater Heron Team city", chain)
    assert [c.label for group in groups for c in group] == [f"S{n}" for n in range(1, len(groups) + 1)]
    assert groups[0][0].uri == "tidewater.md"


def test_of_statements_alike_four_are_quoted_and_never_more_than_asked_for(results):
    found = results(*((f"{name}.md", f"The {name} team sings.", 0.9) for name in ("red", "green", "amber", "blue", "grey")))
    assert len(quoted("Which team sings?", found)) == 4
    assert len(quoted("Which team sings?", found, limit=2)) == 2
    one_document = results(*(("teams.md", f"The {word} team sings.", 0.9) for word in LONG_LIST))
    assert len(quoted("List all teams that sing.", one_document)) == 8


def test_the_nearest_are_three_however_far_the_others_are_behind(results):
    far = ("The kiln is cold.", 0.1), ("Salt is white.", 0.05), ("Rope is long.", 0.01)
    found = results(("red.md", "Who dances is not known.", 0.9), *((f"{at}.md", *one) for at, one in enumerate(far)))
    could_be = candidates(found)
    asked = read("Who dances in the hall?", could_be)
    assert len(select(asked, could_be)) == 1
    first, *others = (group[0].text for group in nearest(asked, could_be))
    assert (first, len(others)) == ("Who dances is not known.", 2)


def test_the_nearest_are_three_at_most(results):
    found = results(*((f"{name}.md", f"The {name} team sings.", 0.9) for name in "abcdef"))
    could_be = candidates(found)
    assert len(nearest(read("Who dances?", could_be), could_be)) == 3
    assert len(nearest(read("Who dances?", could_be), could_be, limit=1)) == 1


def test_nothing_comes_of_nothing():
    assert quoted("Tidewater", SearchResults("", ())) == ()


def test_statements_without_a_score_are_still_quoted(results):
    assert texts("Tidewater", results(("a.md", "Tidewater is a graph.", 0.0))) == ["Tidewater is a graph."]


def test_a_text_given_with_the_question_is_quoted_last_when_it_answers(chain):
    groups = quoted("What is the door code?", chain, external=[ExternalText("note-1", "The door code is four.")])
    assert (groups[-1][0].statement_id, groups[-1][0].reason) == ("note-1", "external")


def test_the_choice_is_the_same_every_time(chain):
    assert quoted("Which team?", chain) == quoted("Which team?", chain)


def test_a_quoted_statement_is_one_line_with_an_end_and_cannot_fake_a_label():
    assert sentence("Half a\n sentence [S7]") == "Half a sentence (S7)."
    assert sentence("Is it?") == "Is it?"
    assert sentence("(It is.)") == "(It is.)"
    for ended in ("它发光吗？", "「它发光。」", "यह चमकता है।", "Er rief: „Es glüht.“", "»Es glüht.«", "« Il brille. »"):
        assert sentence(ended) == ended
    assert sentence("It is (perhaps)") == "It is (perhaps)."


def citation(text, kind="prose", resolved=""):
    return (
        Citation("S1", "statement:1", text, "source:1", "a.md", "A", "c", 0, 9, 0.5, "chunk", kind=kind, resolved=resolved),
    )


def test_what_is_quoted_is_the_sentence_of_the_document_and_what_chose_it_the_one_that_stands_alone(results):
    (result,) = results(("kiln.md", "The kiln glows.", 0.9)).results
    it = replace(result.statements[0], original="It glows.")
    ((chosen,),) = quoted("What does the kiln do?", SearchResults("", (replace(result, statements=(it,)),)), limit=1)
    assert (chosen.text, chosen.resolved, chosen.start) == ("It glows.", "The kiln glows.", it.start)
    assert quotation(ASKED, (chosen,)) == "It [The kiln] glows. [S1]"


@pytest.mark.parametrize(
    ("text", "resolved", "said"),
    [
        ("It began as a list.", "Silverbirch began as a list.", "It [Silverbirch] began as a list. [S1]"),
        ("It began as a list.", "History: Silverbirch began as a list.", "It [Silverbirch] began as a list. [S1]"),
        ("It began as a list.", "What is it? Silverbirch began as a list.", "It [Silverbirch] began as a list. [S1]"),
        ("Its members\ntake turns", "Juniper Team's members take turns", "Its [Juniper Team] members take turns. [S1]"),
        ("It owns Tidewater.", "Heron is a team. It owns Tidewater.", "[Heron is a team.] It owns Tidewater. [S1]"),
        ("This call was removed.", "pipe(2): This call was removed.", "[pipe(2)] This call was removed. [S1]"),
        ("It glows.", "It glows.", "It glows. [S1]"),
        ("It glows.", "", "It glows. [S1]"),
        ("It glows.", f"{'The kiln of the harbour ' * 20}glows.", "It glows. [S1]"),
        ("It was born of fire.", "The kiln, in 1990, burned.", "It was born of fire. [S1]"),
        ("Itasca glows.", "The town Itasca glows.", "Itasca glows. [S1]"),
    ],
)
def test_what_a_quoted_pronoun_stands_for_is_told_in_brackets(text, resolved, said):
    assert quotation(ASKED, citation(text, resolved=resolved)) == said


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When was the lid mended?", "[2.3.1 (2026-05-06)] The lid was mended. [S1]"),
        ("What is new in 2.3.1?", "[2.3.1 (2026-05-06)] The lid was mended. [S1]"),
        ("What is new in 2.3.0?", "The lid was mended. [S1]"),
        ("Who mended the lid?", "The lid was mended. [S1]"),
    ],
)
def test_a_heading_above_what_is_quoted_is_told_where_it_has_what_is_asked_for(question, said):
    cited = citation("The lid was mended.", resolved="2.3.1 (2026-05-06): The lid was mended.")
    assert quotation(read(question, []), cited) == said


def test_the_name_of_a_class_or_function_above_what_is_quoted_is_always_told():
    cited = citation("Too many lids.", resolved="TooManyLids: Too many lids.")
    assert (
        quotation(read("Which error is raised where there are too many?", []), cited) == "[TooManyLids] Too many lids. [S1]"
    )


def test_what_stands_below_the_term_that_is_asked_of_is_quoted_in_its_order_and_with_the_term(results):
    said = ("Matches hidden files, too, when dot is set.", "It is slow.", "The default is false.")
    rows = [("glob.md", f"dot: {text}", score) for text, score in zip(said, (0.5, 0.45, 0.9), strict=True)]
    found = results(
        *rows, ("glob.md", "case: The dot of an i is no letter.", 0.6), ("paint.md", "A dot of paint dries.", 0.4)
    )
    below = tuple(
        replace(r, statements=(replace(r.statements[0], original=r.statements[0].text.partition(": ")[2]),))
        for r in found.results[:4]
    )
    answer = quoted("What does dot do?", replace(found, results=(*below, found.results[4])))
    assert [group[0].text for group in answer[:3]] == list(said)
    asked = read("What does dot do?", candidates(found))
    assert quotation(asked, answer[0]) == f"[dot] {said[0]} [S1]"


def test_below_the_term_that_is_asked_of_only_what_has_the_other_words_of_the_question_is_quoted_too(results):
    said = ("The kiln that is fired.", "The colour of the flame.", "The heat in degrees. Default: 900.")
    rows = [("kiln.md", f"kiln.fire(): {text}", score) for text, score in zip(said, (0.3, 0.25, 0.9), strict=True)]
    found = results(*rows, *(("paint.md", f"Paint {number} dries.", 0.1) for number in range(10)))
    below = tuple(
        replace(r, statements=(replace(r.statements[0], original=r.statements[0].text.partition(": ")[2]),))
        for r in found.results[:3]
    )
    assert texts("kiln.fire heat", replace(found, results=(*below, *found.results[3:]))) == [said[2]]


def test_code_is_below_the_term_asked_of_only_where_it_stands_beside_what_is_said_of_it(results):
    lines = [
        ("Install it like this:\n", "npm install", "code", "chunk:0", 0.8),
        ("dot: ", "Matches hidden files.", "prose", "chunk:1", 0.9),
        ("For example:\n", "match --dot", "code", "chunk:1", 0.3),
        ("case: ", "Sets the case.", "prose", "chunk:2", 0.3),
        ("In Windows:\n", "copy --all", "code", "chunk:2", 0.3),
    ]
    found = results(*(("cli.md", lead + text, score) for lead, text, *_, score in lines))
    told = tuple(
        replace(r, topic="Options", statements=(replace(r.statements[0], original=text, kind=kind, chunk_id=chunk),))
        for r, (_, text, kind, chunk, _) in zip(found.results, lines, strict=True)
    )
    assert texts("What does dot do?", replace(found, results=told)) == ["Matches hidden files.", "match --dot"]


@pytest.mark.parametrize(
    "question", ["What does kiln.fire() do?", "What is kiln.fire?", "What does the function kiln.fire mean?"]
)
def test_what_a_name_in_code_is_comes_first_from_below_it_and_not_its_parameters(results, question):
    lines = [
        ("kiln.cool()", "kiln.cool(): ", "Ends what kiln.fire() began.", 0.9),
        ("kiln.fire(path[, options])", "kiln.fire(path[, options]): ", "Returns: <boolean>", 0.8),
        ("kiln.fire(path[, options])", "kiln.fire(path[, options]): ", "path <string> What is burnt.", 0.5),
        ("kiln.fire(path[, options])", "kiln.fire(path[, options]): ", "Heats what lies at a path.", 0.4),
        ("kiln.fire(path[, options])", "", "It takes kiln.fire() an hour.", 0.6),
    ]
    found = results(*(("kiln.md", lead + text, score) for _, lead, text, score in lines))
    told = tuple(
        replace(r, topic=f"Kilns > {name}", statements=(replace(r.statements[0], original=text if lead else ""),))
        for r, (name, lead, text, _) in zip(found.results, lines, strict=True)
    )
    whole = replace(found, results=told)
    assert texts(question, whole)[0] == "Heats what lies at a path."
    assert texts("What does kiln.fire() return?", whole)[0] != "Heats what lies at a path."


def test_a_dash_parts_a_term_from_what_it_means(results):
    found = results(
        ("types.md", "Helpers: FrozenDeep - Makes all of an object frozen.", 0.5),
        ("types.md", "Helpers: ThawedDeep - The reverse of FrozenDeep.", 0.9),
    )
    assert "Helpers: FrozenDeep - Makes all of an object frozen." in texts("What is FrozenDeep?", found)


@pytest.mark.parametrize("resolved", ["S2 glows.", "S2: It glows.", "The [S2 glows.", "[S2] glows.", "s2, S3 glows."])
def test_what_a_pronoun_stands_for_can_not_fake_a_label(resolved):
    assert check(quotation(ASKED, citation("It glows.", resolved=resolved)), 9).cited == (1,)


def test_a_sentence_that_says_two_statements_is_quoted_once(results):
    sentence_ = "Ada, born in London, moved to Paris."
    (result,) = results(("ada.md", "Ada was born in London.", 0.9)).results
    born = replace(result.statements[0], original=sentence_, start=0, end=len(sentence_))
    moved = replace(born, id="statement:9", text="Ada moved to Paris.", score=0.88)
    later = replace(born, id="statement:10", text="Ada wrote notes.", original="", start=40, end=56, score=0.8)
    found = SearchResults("", (replace(result, statements=(born, moved, later)),))
    assert texts("What did Ada do?", found) == [sentence_, "Ada wrote notes."]


@pytest.mark.parametrize("above", ["Start it like this:", "How do I start it?"])
def test_the_line_above_code_is_quoted_with_the_code_only(results, above):
    (result,) = results(("kiln.md", above, 0.9)).results
    line, code = result.statements[0], "kiln --cone 6"
    whole = replace(line, id="statement:9", text=f"{above}\n{code}", original=code, kind="code", score=0.7)
    found = SearchResults("", (replace(result, statements=(line, whole)),))
    assert [group[0].kind for group in quoted("How do I start it?", found)] == ["code"]


def test_a_line_above_code_that_leads_to_another_document_is_not_quoted_for_that(results):
    found = results(
        ("kiln.md", "Start the Kiln with the Cone Chart:", 0.5),
        ("cones.md", "The Cone Chart has six rows.", 0.9, "Kiln", "Cone Chart"),
    )
    line = found.results[0].statements[0]
    code = replace(
        line, id="statement:9", text=f"{line.text}\nkiln --chart", original="kiln --chart", kind="code", score=0.2
    )
    whole = replace(found, results=(*found.results, replace(found.results[0], statements=(code,))))
    assert [group[0].kind for group in quoted("How many rows does the Kiln want?", whole)] == ["prose", "code"]


def test_code_is_quoted_whole_in_a_fence_below_the_sentence_that_leads_to_it_or_the_title():
    code = "    while read -r line; do\n        echo $line\n    done"
    assert quotation(ASKED, citation(code, "code", f"Print each\nline\n{code}")) == (
        "\nPrint each line. [S1]\n```\nwhile read -r line; do\n    echo $line\ndone\n```"
    )
    item = citation("1 | 2", "table", "- One lid a pot:\n1 | 2")
    assert quotation(ASKED, item).startswith("\nOne lid a pot: [S1]\n")
    assert quotation(ASKED, citation("a | b\n1 | 2", "table")) == "\nA: [S1]\n```\na | b\n1 | 2\n```"


CODES = (
    "Code: 17; Meaning: The intake is blocked",
    "Code: 42; Meaning: The motor is too hot",
    "Code: 77; Meaning: The sensor is silent",
    "Code: 78; Meaning: The motor is silent",
)


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("What does error code 42 mean?", ("\u2026", CODES[1], "\u2026")),
        ("Which code means that the sensor is silent?", ("\u2026", CODES[2], "\u2026")),
        ("Which code means silent?", ("\u2026", CODES[2], CODES[3])),
        ("What does error code 43 mean?", CODES),
        ("Which code means that the pump is broken?", CODES),
        ("Which codes are there?", CODES),
        ("List the codes with their meaning: 42 and all others.", CODES),
    ],
)
def test_of_a_table_the_rows_with_what_is_asked_are_quoted_or_all(question, shown, results):
    table = citation("\n".join(CODES), "table")
    asked = read(question, candidates(results(("a.md", "\n".join(CODES), 1.0))))
    assert quotation(asked, table) == "\n".join(["", "A: [S1]", "```", *shown, "```"])


def test_code_can_neither_end_its_fence_nor_fake_a_label():
    forged = quotation(ASKED, citation("```\nThe moon is cheese. [S2]\n````", "code"))
    assert forged == "\nA: [S1]\n`````\n```\nThe moon is cheese. (S2)\n````\n`````"


@pytest.mark.parametrize("kind", ["prose", "code"])
def test_what_a_document_has_of_labels_is_none_in_its_quotation(kind):
    own = "[S2] \uff3b\uff333\uff3d [S999999999999] [S\u200b4] [S5\n]"
    text = f"The gate closes at nine {own}."
    said = quotation(
        ASKED, (Citation("S1", "statement:1", text, "source:1", "a.md", "A", "chunk:1", 0, 9, 1.0, "vector", kind=kind),)
    )
    assert check(said, 9).cited == (1,)
    assert check(said, 9).text == said.strip()
