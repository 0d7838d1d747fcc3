"""Which line leads to which items of a list."""

from dataclasses import dataclass

import pytest

from lexigraph.ingestion.extract.lists import Levels, kind_of


@dataclass
class Item:
    """What is known of an item."""

    mark: str = ""
    term: str = ""
    says: bool = True
    hangs: bool = False
    text: str = ""


@pytest.mark.parametrize(
    ("mark", "other"), [("1.", "12."), ("a)", "c)"), ("ii.", "v."), ("(a)", "(b)"), ("-", "-"), ("(1)", "(10)")]
)
def test_marks_of_one_list_are_of_one_kind(mark, other):
    assert kind_of(Item(mark)) == kind_of(Item(other))


def test_marks_and_terms_of_different_lists_are_not():
    kinds = [Item("1."), Item("a)"), Item("-"), Item("*"), Item(term="--all"), Item(term="0x01"), Item(term="Size (5)")]
    assert len({kind_of(item) for item in kinds}) == len(kinds)


def test_a_list_in_a_list_ends_where_the_marks_of_the_outer_one_return():
    levels = Levels("outer:")
    assert levels.lead_to(Item("1.")) == "outer:"
    levels.announce("inner:")
    assert [levels.lead_to(Item(mark)) for mark in ("a)", "b)", "2.")] == ["inner:", "inner:", "outer:"]


def test_a_list_marked_as_the_one_around_it_ends_at_an_item_that_needs_no_line():
    levels = Levels("")
    levels.lead_to(Item("-"))
    levels.announce("inner:")
    assert [levels.lead_to(Item("-", says=says)) for says in (False, False, True)] == ["inner:", "inner:", ""]


def test_of_two_lists_marked_as_the_one_around_them_each_has_its_own_line():
    levels = Levels("two forms:")
    assert levels.lead_to(Item("-", says=False), leads=True) == "two forms:"
    levels.announce("by name:")
    assert levels.lead_to(Item("-", says=False)) == "by name:"
    assert levels.lead_to(Item("-", says=False), leads=True) == "two forms:"


def test_a_line_from_before_the_chunk_leads_only_to_items_marked_as_the_first_one():
    levels = Levels("before:", kind_of(Item("b)")))
    assert [levels.lead_to(Item(mark)) for mark in ("b)", "c)", "4.")] == ["before:", "before:", ""]


def test_terms_in_a_list_that_began_before_the_chunk_keep_their_line():
    levels = Levels("before:", kind_of(Item("(2)")), within=True)
    assert levels.lead_to(Item("(3)"), leads=True) == "before:"
    levels.announce("inner:")
    assert [levels.lead_to(Item(term=term, says=False)) for term in ("[0]", "[1]")] == ["inner:", "inner:"]
    assert levels.lead_to(Item("(4)")) == "before:"
