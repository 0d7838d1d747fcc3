"""Facts without a language model: what a sentence states, whole and no more; in doubt none."""

import pytest

from lexigraph.model.document import ChunkText


@pytest.fixture
def facts(local):
    """The facts of a text as (subject, predicate, object)."""

    def read(text, title="Harbor Notes"):
        (extraction,) = local.extract([ChunkText(0, title, (), text, 0, len(text), "paragraph")])
        return {(f.subject, f.predicate, f.object) for t in extraction.topics for s in t.statements for f in s.facts}

    return read


# ---------------------------------------------------------------- objects


@pytest.mark.parametrize(
    ("text", "object_"),
    [
        ("Norra Suite comes with built-in support for barcodes.", "built-in support for barcodes"),
        (
            "Norra Suite provides information about various crates and pallets.",
            "information about various crates and pallets",
        ),
        ("Norra Suite includes some code to check for leaks.", "some code to check for leaks"),
        ("Norra Suite is a tool that counts crates for the harbor.", "tool that counts crates for the harbor"),
        ("Norra Suite creates a file, which is closed later.", "file"),
        ("Norra Suite is described in the list of tools (see below).", "list of tools"),
        ("Norra Suite offers crates, pallets and ropes.", "crates, pallets and ropes"),
    ],
)
def test_an_object_has_all_the_words_that_say_which_one_is_meant(facts, text, object_):
    assert object_ in {said for _, _, said in facts(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Norra Suite is defined with one of the following values:",
        "Norra Suite prints these values.",
        "Norra Suite means any crate that the harbor lends, including ropes, that is marked with a number.",
        "Norra Suite shows the crate as closed.",
        "Norra Suite has an office (see below).",
    ],
)
def test_an_object_that_lacks_a_part_makes_no_fact(facts, text):
    assert facts(text) == set()


def test_of_names_in_a_row_each_is_an_object_but_not_of_names_between_which_something_is(facts):
    assert {o for _, _, o in facts("Eva Lund met Ada King and John Ruskin.")} == {"Ada King", "John Ruskin"}
    assert {o for _, _, o in facts("The Norra Canal flows between Malmö and Lund.")} <= {"Malmö and Lund"}


def test_a_name_with_more_behind_it_that_says_which_is_no_object_by_itself(facts):
    found = facts("Norra Suite accepts Acme Reports that bear a stamp.")
    assert not any(said == "Acme Reports" for _, _, said in found)


def test_of_a_list_that_is_too_long_the_first_members_are_the_object(facts):
    text = "Eva Lund is a physicist and teacher at Lund University, and an owner of many boats, cranes, ropes and old sheds."
    assert ("Eva Lund", "is", "physicist and teacher at Lund University") in facts(text)


# ---------------------------------------------------------------- subjects


@pytest.mark.parametrize(
    "text",
    [
        "Some Norra Cranes lose a rope.",
        "No Norra Crane moves a rope.",
        "The initial Norra Authority signs the notice.",
        "Norra Software in source form is kept in the shed.",
        "All distribution of Norra Software is free.",
        "This form of Norra Software moves a rope.",
        "Crates in Malmö, Sweden were kept in Lund.",
        "[ Eva Lund, Ada King ] crane 1.1 includes a rope.",
    ],
)
def test_a_subject_that_is_not_the_whole_of_its_clause_makes_no_fact(facts, text):
    assert not any(predicate != "is in" for _, predicate, _ in facts(text))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Alison Webb is a swimmer from Spain, who won a medal.", ("Alison Webb", "won", "medal")),
        ("Alison Webb (born in 1961 in Lund) is a swimmer.", ("Alison Webb", "is", "swimmer")),
        ("The parcel desk of Malmö is the Norra Office.", ("Malmö", "parcel desk is", "Norra Office")),
        ("Norra Suite creates and returns a descriptor.", ("Norra Suite", "returns", "descriptor")),
    ],
)
def test_a_clause_is_said_of_its_own_subject(facts, text, fact):
    assert fact in facts(text)


def test_a_clause_after_a_name_that_may_be_said_of_all_before_it_is_not_read(facts):
    found = facts("More options are listed in Norra Notes, which define the ropes of the cranes.")
    assert not any(predicate == "define" for _, predicate, _ in found)


# ---------------------------------------------------------------- predicates


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("Norra Suite is easily configured to use ropes.", "is easily configured to use"),
        ("Norra Suite occasionally reports errors.", "occasionally reports"),
        ("Norra Suite rolls back the transaction.", "rolls back"),
        ("Norra Suite also counts ropes.", "counts"),
        ("However, Norra Suite counts ropes.", "counts"),
        ("Norra Suite should create and return a rope.", "should return"),
    ],
)
def test_a_predicate_keeps_what_qualifies_its_verb(facts, text, predicate):
    assert predicate in {said for _, said, _ in facts(text)}


@pytest.mark.parametrize(
    "text",
    [
        "By default, Norra Suite counts ropes.",
        "For heavy ropes, Norra Suite prints a list.",
        "To save time, Norra Suite prints a list.",
        "In print mode, Norra Suite counts ropes.",
        "Before the year 2019, Norra Suite did not count ropes.",
        "It is expected that Norra Suite will count ropes.",
        "Making sure the Norra Suite tools are compatible with ropes",
        "(a) that Norra Suite has counted the ropes; or",
        "HEAVY LOADS: Norra Suite counts ropes.",
        "Norra Suite conforms to the standard, except for ropes.",
        "Norra Suite augments or replaces the list.",
    ],
)
def test_what_holds_only_in_a_scope_is_no_fact_of_all_cases(facts, text):
    assert facts(text) == set()


def test_what_happened_once_is_a_fact_whatever_opens_the_sentence(facts):
    assert ("Norra Bank", "built", "shed") in facts("After the war, Norra Bank built a shed.")
    assert ("Norra Bank", "built shed in", "1920") in facts("In 1920, Norra Bank built a shed.")


def test_what_there_is_is_not_said_of_the_subject_before(facts):
    text = "The Norra Office no longer keeps the lists, though looking around in the shed, there are old lists on the shelf."
    assert not any(" are" in f" {predicate}" for _, predicate, _ in facts(text))


@pytest.mark.parametrize(
    "text",
    [
        "Norra Suite is any work that uses the library, but which is not based on it.",
        "Norra Suite is a crane located three miles (5 km) south of the harbor.",
    ],
)
def test_an_object_that_goes_on_behind_a_break_makes_no_fact(facts, text):
    assert not any(predicate == "is" for _, predicate, _ in facts(text))


def test_a_noun_read_as_a_verb_is_no_part_of_a_predicate(facts):
    assert not any("pull" in predicate for _, predicate, _ in facts("Norra Suite welcomes pull requests that mend ropes."))


# ---------------------------------------------------------------- names beside nouns


def test_an_apposition_has_an_article_and_stands_right_behind_its_name(facts):
    assert ("Norra Canal", "is", "waterway of the old harbor") in facts(
        "The Norra Canal, a waterway of the old harbor, was closed in 1950."
    )
    assert not any(p == "is" for _, p, _ in facts("The ropes are in sheds A4, B7 and C9."))


def test_a_list_that_is_spoken_of_under_a_condition_holds_no_apposition(facts):
    text = "You may copy it, provided that this Norra Licence, the harbor notices, and the list of ropes are kept."
    assert facts(text) == set()
