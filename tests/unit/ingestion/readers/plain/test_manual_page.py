"""A manual page as ``man`` prints it: its indents say what is what."""

from pathlib import Path

import pytest

from lexigraph.model.document import LoadedDocument
from tests.unit.ingestion.readers.reading import of_role, outline, parts, read

PAGE = """\
KETTLE(1)                        Kitchen Commands Manual                        KETTLE(1)

NAME
       kettle - boil water and keep it warm

SYNOPSIS
       kettle [-q] [--keep minutes] litres
              [cup ...]

DESCRIPTION
       kettle heats the given amount of water until it boils, and then  pours  it  into  the
       cups named on its command line.  Without a cup it waits for the next in‐
       struction.  A cup that is already full is left alone, as of version
       7. The water that is left stays in the kettle.

       The following call fills two cups:

           kettle --keep 5 0.5 mug beaker

   Safety
       Never run kettle when it is empty.  Three checks are made:

       •   the lid is closed;

       •   there is water in it, which
           a float measures;

       •   nobody else is pouring.

OPTIONS
       -q, --quiet
           Do not whistle.

       --keep minutes
           Keep the water warm for some minutes.  Zero turns the heating off.

           The default is ten minutes.

       -V     Print the version.

       -x     Stop at once, and
              leave the lid closed.

       --lid  Open the lid  at
              once.

EXIT STATUS
       Code   Meaning
       ─────────────────────────────
       0      The water boiled.
       1      There was no water at
              all.

SEE ALSO
       teapot(1), mug(5), tap(8)

kitchen-utils 2.4                       2026-02-11                              KETTLE(1)
"""


@pytest.fixture
def page(tmp_path: Path) -> LoadedDocument:
    return read(tmp_path, "kettle.1.txt", PAGE)


def test_its_title_is_its_name_with_the_section_and_what_it_is_for(page: LoadedDocument) -> None:
    assert page.title == "kettle(1) - boil water and keep it warm"


def test_lines_left_of_the_text_are_its_headings(page: LoadedDocument) -> None:
    assert [" > ".join(path) for path in outline(page) if path] == [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "DESCRIPTION > Safety",
        "OPTIONS",
        "EXIT STATUS",
        "SEE ALSO",
    ]


def test_head_and_foot_are_boilerplate_and_stay_in_the_text(page: LoadedDocument) -> None:
    assert of_role(page, "boilerplate") == [
        "KETTLE(1) Kitchen Commands Manual KETTLE(1)",
        "kitchen-utils 2.4 2026-02-11 KETTLE(1)",
    ]


def test_paragraphs_are_whole_and_so_are_their_words(page: LoadedDocument) -> None:
    assert of_role(page, "paragraph")[1:4] == [
        "kettle heats the given amount of water until it boils, and then pours it into the cups named on its command "
        "line. Without a cup it waits for the next instruction. A cup that is already full is left alone, as of version "
        "7. The water that is left stays in the kettle.",
        "The following call fills two cups:",
        "Never run kettle when it is empty. Three checks are made:",
    ]


def test_the_synopsis_and_indented_calls_are_code_with_their_line_breaks(page: LoadedDocument) -> None:
    assert of_role(page, "code") == [
        "kettle [-q] [--keep minutes] litres\n       [cup ...]",
        "kettle --keep 5 0.5 mug beaker",
    ]


def test_a_term_and_its_description_are_one_item_and_further_paragraphs_follow_as_items(page: LoadedDocument) -> None:
    assert [text for role, path, text in parts(page) if role == "list" and path == ("OPTIONS",)] == [
        "-q, --quiet: Do not whistle.",
        "--keep minutes: Keep the water warm for some minutes. Zero turns the heating off.",
        "The default is ten minutes.",
        "-V: Print the version.",
        "-x: Stop at once, and leave the lid closed.",
        "--lid: Open the lid at once.",
    ]


def test_bullets_are_items_with_all_their_lines(page: LoadedDocument) -> None:
    assert [text for role, path, text in parts(page) if role == "list" and "Safety" in path] == [
        "• the lid is closed;",
        "• there is water in it, which a float measures;",
        "• nobody else is pouring.",
    ]


def test_columns_under_a_header_are_rows(page: LoadedDocument) -> None:
    assert of_role(page, "table") == [
        "Code: 0; Meaning: The water boiled.",
        "Code: 1; Meaning: There was no water at all.",
    ]


SEVERAL_USES = """\
CUP(1)                        Kitchen Commands Manual                        CUP(1)

SYNOPSIS
   Filling
       cup -f [-l LID] [FILE...]

       cup -t tea with milk [FILE...]

   Emptying
       cup {--pour|--spill}

DESCRIPTION
       cup holds what is poured into it.  It is emptied by the mouth of whoever
       lifts it.
"""


def test_calls_under_headings_of_the_synopsis_are_code(tmp_path: Path) -> None:
    document = read(tmp_path, "cup.1.txt", SEVERAL_USES)
    assert [(role, path) for role, path, _ in parts(document) if path] == [
        ("code", ("SYNOPSIS", "Filling")),
        ("code", ("SYNOPSIS", "Emptying")),
        ("paragraph", ("DESCRIPTION",)),
    ]


def test_a_comment_of_several_lines_goes_on_with_its_code(tmp_path: Path) -> None:
    page = """\
TAP(3)

NAME
       tap - open and close a tap

EXAMPLES
       The program below opens a tap:

           int main(void)
           {
               int tap = 0;

               /*
                * Open the tap. A value of twenty is half open, so that
                * others can drink.
                */

               tap = open_tap(20);
           }
"""
    examples = [role for role, path, _ in parts(read(tmp_path, "tap.3.txt", page)) if "EXAMPLES" in path]
    assert examples == ["paragraph", "code"]


def test_a_page_whose_name_line_says_nothing_is_called_by_its_head(tmp_path: Path) -> None:
    head = "TAP(8)" + 20 * " " + "Kitchen" + 20 * " " + "TAP(8)"
    document = read(tmp_path, "x.txt", f"{head}\n\nDESCRIPTION\n       It drips now and then, mostly at night.\n")
    assert document.title == "TAP(8)"
