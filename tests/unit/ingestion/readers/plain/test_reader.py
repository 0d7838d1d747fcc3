"""Plain text of other kinds: release notes, readmes, requests for comments, licences, changelogs."""

from pathlib import Path

import pytest

from tests.unit.ingestion.readers.reading import of_role, outline, parts, read

README = """\
Harbour 2.1 Release Notes
=========================

Changes since 2.0
-----------------

 * The crane no longer waits for ships that
   have left.

 * Lists of cargo may be sorted:

     harbour sort --by weight

   The order is kept.

UI, Workflows & Features
~~~~~~~~~~~~~~~~~~~~~~~~

 - only the pier with the same name, and only when
   that pier is free; or

 - only the pier with the same name.

Upgrading
---------
Close all gates before the upgrade, since it re-
names some of them. The release was made in
2025. No data is lost.
"""


def test_underlined_lines_are_headings_by_their_underline(tmp_path: Path) -> None:
    document = read(tmp_path, "notes.txt", README)
    assert document.title == "Harbour 2.1 Release Notes"
    assert [path[1:] for path in outline(document)] == [
        ("Changes since 2.0",),
        ("Changes since 2.0", "UI, Workflows & Features"),
        ("Upgrading",),
    ]
    assert [(role, text) for role, _, text in parts(document)] == [
        ("list", "* The crane no longer waits for ships that have left."),
        ("list", "* Lists of cargo may be sorted:"),
        ("code", "harbour sort --by weight"),
        ("list", "The order is kept."),
        ("list", "- only the pier with the same name, and only when that pier is free; or"),
        ("list", "- only the pier with the same name."),
        (
            "paragraph",
            "Close all gates before the upgrade, since it renames some of them. The release was made in 2025. No data is "
            "lost.",
        ),
    ]


def test_headings_of_one_style_are_no_title_of_the_document(tmp_path: Path) -> None:
    text = "Piers\n=====\n\nThere are four of them.\n\nCranes\n======\n\nThere are two of them.\n"
    document = read(tmp_path, "harbour.README.txt", text)
    assert (document.title, outline(document)) == ("harbour.README", [("Piers",), ("Cranes",)])


REQUEST = """\
Network Kitchen Group                                           A. Cook
Request for Comments: 9999                                   March 2026


                      The Teapot Transfer Protocol

Abstract

   This document describes how tea is moved from one pot to another
   without a loss of warmth.

Table of Contents

   1.  Introduction . . . . . . . . . . . . . . . . . . . . . . . .   1
   2.  Pots . . . . . . . . . . . . . . . . . . . . . . . . . . . .   2
       2.1.  Lids . . . . . . . . . . . . . . . . . . . . . . . . .   2

1.  Introduction

   Tea is often moved between pots. This protocol says which of the pots
   is asked first when there are several of them, and what that pot must



Cook                         Informational                      [Page 1]
\f
RFC 9999              The Teapot Transfer Protocol            March 2026


   answer within three seconds.

2.  Pots

   A pot has these fields:

       +--------+-----------------+
       | Field  | Meaning         |
       +--------+-----------------+
       | volume | litres of tea   |
       | lid    | open or closed, |
       |        | never both      |
       +--------+-----------------+

2.1.  Lids

   o  A lid that is open must be closed before the transfer, so that no
      warmth is lost.

Cook                         Informational                      [Page 2]
\f
RFC 9999              The Teapot Transfer Protocol            March 2026


   o  A closed lid stays closed.




Cook                         Informational                      [Page 3]
"""


def test_pages_are_joined_and_their_heads_and_feet_are_boilerplate(tmp_path: Path) -> None:
    document = read(tmp_path, "rfc9999.txt", REQUEST)
    assert (
        "Tea is often moved between pots. This protocol says which of the pots is asked first when there are several of "
        "them, and what that pot must answer within three seconds."
    ) in of_role(document, "paragraph")
    boilerplate = of_role(document, "boilerplate")
    assert any("[Page 1]" in text and "RFC 9999" in text for text in boilerplate)
    assert any("1. Introduction . . ." in text for text in boilerplate)
    assert not any("[Page" in text for role, _, text in parts(document) if role != "boilerplate")


def test_numbered_lines_with_text_between_them_are_headings_by_their_depth(tmp_path: Path) -> None:
    document = read(tmp_path, "rfc9999.txt", REQUEST)
    paths = [path[-2:] for path in outline(document)]
    assert ("2. Pots", "2.1. Lids") in paths
    assert any(path[-1:] == ("1. Introduction",) for path in paths)
    assert any(path[-1:] == ("Abstract",) for path in paths)
    assert of_role(document, "table") == [
        "Field: volume; Meaning: litres of tea",
        "Field: lid; Meaning: open or closed, never both",
    ]
    assert of_role(document, "list") == [
        "o A lid that is open must be closed before the transfer, so that no warmth is lost.",
        "o A closed lid stays closed.",
    ]


LICENCE = """\
                     THE HARBOUR PUBLIC LICENCE
                      Version 1, 3 March 2026

                             Preamble

  This licence lets everybody use the harbour who keeps to what is
written below. It was made for small boats, and fits large ones.

                       TERMS AND CONDITIONS

  0. Definitions.

  A "boat" is whatever floats and carries at least one person over the
water of the harbour.

  1. Entering the Harbour.

  A boat may enter when its skipper has asked for a place, and nobody
has refused it within an hour.

Section 2 -- Leaving

a. A boat leaves by the way on which it came, unless the way is
closed.
b. It leaves no waste behind.
"""


def test_a_numbered_question_of_several_lines_is_a_heading_where_others_are(tmp_path: Path) -> None:
    text = (
        "Questions about the harbour\n\n"
        " 1. May I swim here?\n\n    No. The water is deep.\n\n"
        " 2. Who pays for the lamps on the pier, and for the oil that is\n    burnt in them?\n\n    The town does.\n\n"
        " 3. Is there a crane?\n\n    Yes, of iron.\n\n"
        " 4. Is there a lighthouse?\n\n    Yes, of stone.\n\n"
        " 5. Is there an inn?\n\n    Two of them.\n\n"
        " 6. Is there a road?\n\n    Only a path.\n\n"
        " 7. Boats are tied up at the pier in the order of their arrival and\n    are not moved.\n\n    Mind the rope.\n\n"
        " 9. What about dogs and cats, which are not written of in any of the\n    rules?\n\n    They are kept on a lead.\n"
    )
    headings = {path[-1] for _, path, _ in parts(read(tmp_path, "faq.txt", text))}
    assert "2. Who pays for the lamps on the pier, and for the oil that is burnt in them?" in headings
    assert {heading[:2] for heading in headings} == {
        "1.",
        "2.",
        "3.",
        "4.",
        "5.",
        "6.",
    }  # no sentence, no number out of order


def test_a_licence_is_text_under_its_name(tmp_path: Path) -> None:
    document = read(tmp_path, "COPYING.txt", LICENCE)
    assert document.title == "THE HARBOUR PUBLIC LICENCE Version 1, 3 March 2026"
    assert [path[1:] for path in outline(document)] == [
        ("Preamble",),
        ("TERMS AND CONDITIONS", "0. Definitions."),
        ("TERMS AND CONDITIONS", "1. Entering the Harbour."),
        ("TERMS AND CONDITIONS", "Section 2 -- Leaving"),
    ]
    assert of_role(document, "list") == [
        "a. A boat leaves by the way on which it came, unless the way is closed.",
        "b. It leaves no waste behind.",
    ]
    assert of_role(document, "boilerplate") == []


TERMS = """\
                     THE HARBOUR PUBLIC LICENCE
                      Version 1, 3 March 2026

                             Preamble

  This licence lets everybody use the harbour who keeps to what is
written below. It was made for small boats, and fits large ones.

                     THE HARBOUR PUBLIC LICENCE
  TERMS AND CONDITIONS FOR ENTERING, MOORING, LEAVING AND COMING BACK

  1. A boat may enter when its skipper has asked for a place, and nobody
has refused it within an hour.
"""


def test_a_centred_heading_of_several_lines_in_capitals_ends_the_section_before(tmp_path: Path) -> None:
    document = read(tmp_path, "COPYING", TERMS)
    clauses = "TERMS AND CONDITIONS FOR ENTERING, MOORING, LEAVING AND COMING BACK"
    assert [path[1:] for path in outline(document)] == [("Preamble",), (f"THE HARBOUR PUBLIC LICENCE {clauses}",)]


CLAUSES = """Licence of the Pier

   1. Grant of the Right to Moor. Everybody who keeps to what is written
      here may moor for a night.

      A night ends at ten.

   2. Waste. No boat leaves any behind.

   3. Handing Over Keys, Ropes and Other Things That Belong to the Pier.

      What belongs to the pier is given back before the boat leaves.

Appendix: How to moor.

The rope goes around the bollard twice.
"""


def test_titles_at_the_heads_of_numbered_paragraphs_are_headings(tmp_path: Path) -> None:
    document = read(tmp_path, "LICENCE", CLAUSES)
    assert [(path[-1], text) for _, path, text in parts(document)] == [
        (
            "1. Grant of the Right to Moor.",
            "Everybody who keeps to what is written here may moor for a night.",
        ),
        ("1. Grant of the Right to Moor.", "A night ends at ten."),
        ("2. Waste.", "No boat leaves any behind."),
        (
            "3. Handing Over Keys, Ropes and Other Things That Belong to the Pier.",
            "What belongs to the pier is given back before the boat leaves.",
        ),
        ("Appendix: How to moor.", "The rope goes around the bollard twice."),
    ]


NEWS = """\
harbour (2.1-1) unstable; urgency=medium

  The crane is now switched off at night. Whoever needs it then asks the
  harbour master first.

 -- Ada Cook <ada@example.org>  Thu, 12 Mar 2026 10:11:12 +0100

harbour (2.0-3) unstable; urgency=low

  Piers have names instead of numbers.

 -- Ada Cook <ada@example.org>  Mon, 02 Feb 2026 08:00:00 +0100
"""


def test_the_entries_of_news_are_sections(tmp_path: Path) -> None:
    document = read(tmp_path, "harbour.NEWS.Debian.txt", NEWS)
    assert document.title == "harbour.NEWS.Debian"
    assert outline(document) == [("harbour (2.1-1) unstable; urgency=medium",), ("harbour (2.0-3) unstable; urgency=low",)]
    assert of_role(document, "paragraph")[1] == "-- Ada Cook <ada@example.org> Thu, 12 Mar 2026 10:11:12 +0100"


def test_lone_lines_with_versions_that_begin_alike_are_headings(tmp_path: Path) -> None:
    releases = ["version 1.2 - Ada Cook, 2026-03-12", "version 1.1 - Bo Lind, 2026-02-02"]
    text = "".join(f"{release}\n\n* The lid of the pot {n} was\n  replaced.\n\n" for n, release in enumerate(releases))
    assert outline(read(tmp_path, "a.txt", text)) == [(release,) for release in releases]
    said = "".join(f"Nothing changed from 1.{n}.\n\nThe lids of all pots are still the old ones.\n\n" for n in range(3))
    assert outline(read(tmp_path, "b.txt", said)) == [()]


def test_lines_that_begin_alike_with_a_date_are_entries(tmp_path: Path) -> None:
    text = (
        "20260103: The lid of the large pot was replaced\n"
        "20260102: A leak in the small pot\n          was found and closed\n"
        "20260101: New pots\n"
    )
    assert of_role(read(tmp_path, "changelog.txt", text), "list") == [
        "20260103: The lid of the large pot was replaced",
        "20260102: A leak in the small pot was found and closed",
        "20260101: New pots",
    ]


def test_names_with_addresses_are_entries_and_neither_a_paragraph_nor_code(tmp_path: Path) -> None:
    names = ["Ada Cook <ada@pots.example>", "Bo Lind <bo lids example>", "C. Pan (tins) <pan at tins.example> - of tins"]
    text = "\n".join(names) + "\n\nThe lids are drawn by:\n\n   Di Ladle <di@ladles.example>\n"
    document = read(tmp_path, "AUTHORS.txt", text)
    assert of_role(document, "list") == names
    assert of_role(document, "paragraph") == ["The lids are drawn by:", "Di Ladle <di@ladles.example>"]
    assert not of_role(document, "code")


def test_numbered_paragraphs_are_items_and_not_headings(tmp_path: Path) -> None:
    text = "Rules of the pier\n\n1. Nobody runs.\n\n2. Nobody shouts when it is late.\n\n"
    text += "3. Dogs are kept on a lead, and cats\n   at home.\n"
    document = read(tmp_path, "rules.txt", text)
    assert of_role(document, "list") == [
        "1. Nobody runs.",
        "2. Nobody shouts when it is late.",
        "3. Dogs are kept on a lead, and cats at home.",
    ]


@pytest.mark.parametrize(("outer", "inner"), [("*", "-"), ("-", "-"), ("1.", "*")])
def test_an_item_behind_a_list_within_the_one_before_is_of_the_outer_list(tmp_path: Path, outer: str, inner: str) -> None:
    after = outer.replace("1", "2")
    text = f"Changes of the harbour:\n\n  {outer} The crane is faster.\n    {inner} It was oiled.\n"
    text += f"    {inner} It was painted.\n  {after} The pier is longer\n    than before.\n"
    assert of_role(read(tmp_path, "changes.txt", text), "list") == [
        f"{outer} The crane is faster.",
        f"{inner} It was oiled.",
        f"{inner} It was painted.",
        f"{after} The pier is longer than before.",
    ]


@pytest.mark.parametrize("mark", ["7. ", "- ", "* "])
def test_a_wrapped_line_that_begins_like_an_item_is_none(tmp_path: Path, mark: str) -> None:
    text = (
        "The harbour was rebuilt three times in its long history, and the last\n"
        "of these works took far longer than anybody had thought, as in version\n"
        f"{mark}of the plan was lost in a fire that burnt down the office.\n"
    )
    assert [role for role, _, _ in parts(read(tmp_path, "a.txt", text))] == ["paragraph"]


def test_turns_of_a_talk_keep_their_lines(tmp_path: Path) -> None:
    text = (
        "Ann: Did you see that the harbour is closed until the end of next week?\n"
        "Bob: I did, and my boat has been waiting outside since yesterday evening.\n"
        "Ann: Then we had better call the harbour master before he goes home today.\n"
    )
    assert read(tmp_path, "a.txt", text).text == text.strip()


def test_terms_with_what_they_mean_in_a_second_column_are_items(tmp_path: Path) -> None:
    text = "These attributes are known:\n\n\tTYPE\t\tkind of boat\n\tUUID\t\tits number\n\tLABEL\t\tits name\n"
    assert of_role(read(tmp_path, "a.txt", text), "list") == ["TYPE: kind of boat", "UUID: its number", "LABEL: its name"]


@pytest.mark.parametrize(
    ("first", "row"),
    [
        ("lid     9/tin      # covers a pot\n", "pan; 10/tin; a flat one"),
        ("LID     MATERIAL   USE\n", "LID: pan; MATERIAL: 10/tin; USE: a flat one"),
    ],
)
def test_the_first_row_of_columns_is_their_header_when_it_stands_out(tmp_path: Path, first: str, row: str) -> None:
    text = first + "pan     10/tin     a flat one\nladle   11/tin     a deep one\nspoon   12/wood    a long one\n"
    assert of_role(read(tmp_path, "a.txt", text), "table")[-3] == row


@pytest.mark.parametrize("gap", ["", "\n"])
def test_a_line_above_a_list_further_in_leads_to_it(tmp_path: Path, gap: str) -> None:
    text = "The offices of the harbour are described here, each with its duties, in no order at all.\n\n"
    text += f"pilot\n{gap}    * bring ships to the pier;\n{gap}    * measure how deep the water is.\n\n"
    text += f"guard (at night)\n{gap}    * lock the gates.\n\nNobody else.\n{gap}    * is paid.\n"
    assert [text for _, _, text in parts(read(tmp_path, "a.txt", text))][1:] == [
        "pilot:",
        "* bring ships to the pier;",
        "* measure how deep the water is.",
        "guard (at night):",
        "* lock the gates.",
        "Nobody else.",
        "* is paid.",
    ]


def test_a_notice_of_copyright_above_a_text_is_boilerplate_and_alone_it_is_text(tmp_path: Path) -> None:
    notice = "Copyright (c) 2026 The Harbour Authors.\nLicensed under the Harbour Public Licence."
    story = "The harbour opens at six in the morning and closes when the last boat has left. " * 6
    document = read(tmp_path, "a.txt", f"{notice}\n\n{story}\n")
    assert [role for role, _, _ in parts(document)] == ["boilerplate", "paragraph"]
    assert [role for role, _, _ in parts(read(tmp_path, "b.txt", f"{notice}\n"))] == ["paragraph"]


def test_text_in_a_box_of_stars_is_text(tmp_path: Path) -> None:
    text = (
        "*" * 40
        + "\n*"
        + " " * 38
        + "*\n* The harbour is closed on Sundays,    *\n* and nobody may enter it then.        *\n"
        + "*" * 40
        + "\n"
    )
    assert "The harbour is closed on Sundays, and nobody may enter it then." in " ".join(
        " ".join(t.split()) for _, _, t in parts(read(tmp_path, "a.txt", text))
    )


def test_one_long_line_is_a_paragraph_whatever_follows(tmp_path: Path) -> None:
    one, two = "A boat came in. " * 100, "Another one left. " * 100
    assert of_role(read(tmp_path, "a.txt", f"{one}\n{two}\n"), "paragraph") == [one.strip(), two.strip()]


def test_what_was_drawn_keeps_its_shape(tmp_path: Path) -> None:
    text = (
        "The way of a boat:\n\nSea    ->    gate     ->   pier\nwind         keeper        rope\n      ->      bell     ->\n"
    )
    assert len(of_role(read(tmp_path, "a.txt", text), "code")) == 1


def test_a_term_that_its_description_goes_on_with_makes_a_sentence(tmp_path: Path) -> None:
    text = '1.1. "Boat"\n    means whatever floats.\n\n1.2. "Pier"\n    A place where boats lie.\n'
    assert of_role(read(tmp_path, "a.txt", text), "list") == [
        '1.1. "Boat" means whatever floats.',
        '1.2. "Pier": A place where boats lie.',
    ]


def test_a_term_as_wide_as_its_column_has_one_blank_before_what_it_means(tmp_path: Path) -> None:
    text = (
        "Signals of the harbour:\n\n"
        "       bell\n              Opens the gate for boats that want to leave the harbour.\n\n"
        "       beacon Closes the gate at once, whatever waits before it and however\n"
        "              long that has been waiting already.\n\n"
        "       lantern mast\n              Shows where the pier ends.\n\n"
        "       MASTER Calls the harbour master.\n\n"
        "       Always Ask before you moor.\n"
    )
    assert of_role(read(tmp_path, "a.txt", text), "list") == [
        "bell: Opens the gate for boats that want to leave the harbour.",
        "beacon: Closes the gate at once, whatever waits before it and however long that has been waiting already.",
        "lantern mast: Shows where the pier ends.",
        "MASTER: Calls the harbour master.",
    ]


def test_one_mark_is_a_heading_only_beside_more_of_them(tmp_path: Path) -> None:
    guide = "# Harbour\n\nThe crane lifts loads of ten tonnes.\n\n## Gates\n\nAll gates close at nine in the evening.\n"
    document = read(tmp_path, "guide.txt", guide)
    assert document.title == "Harbour"
    assert [(path, text) for _, path, text in parts(document)][1] == (
        ("Harbour", "Gates"),
        "All gates close at nine in the evening.",
    )
    settings = "# The crane\n\ncrane.load = 10\n\n# The gates\n\ngates.close = 21\n"
    assert all(not path for _, path, _ in parts(read(tmp_path, "settings.txt", settings)))
