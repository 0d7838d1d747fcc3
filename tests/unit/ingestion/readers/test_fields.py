"""Fields at the head of a text: those of letters, packages and proposals."""

from pathlib import Path

import pytest

from tests.unit.ingestion.readers.reading import of_role, outline, parts, read

LETTER = """\
From: Ada Cook <ada@pots.example>
To: Bo Lind <bo@lids.example>,
    Di Ladle <di@ladles.example>
Subject: The lid of the large pot
Tag: lids
X-Pan:
Tag: pots

Dear Bo,

the lid of the large pot has a crack, and nobody knows who dropped it on Monday.
"""
FIELDS = [
    "From: Ada Cook <ada@pots.example>",
    "To: Bo Lind <bo@lids.example>, Di Ladle <di@ladles.example>",
    "Subject: The lid of the large pot",
    "Tag: lids; pots",
]
PACKAGES = """\
Package: kettle
Version: 2.1-3
Maintainer: Ada Cook <ada@pots.example>
Description: boils water
 It has a whistle, and the whistle is loud.
 .
 It has no lid.

Package: pan
Version: 1.0
Depends: kettle (>= 2.0), lid
"""


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.rst"])
def test_fields_at_the_head_are_an_item_each_and_tell_the_title(tmp_path: Path, name: str) -> None:
    document = read(tmp_path, name, LETTER)
    assert document.title == "The lid of the large pot"
    assert of_role(document, "list") == FIELDS
    assert [text.split()[0] for text in of_role(document, "paragraph")] == ["Dear", "the"]


def test_fields_stay_in_their_order(tmp_path: Path) -> None:
    text = "Needs: pan\nNeeds: lid\nWith: handle\nNeeds: glove\nSize: 3\n"
    assert of_role(read(tmp_path, "a.txt", text), "list") == ["Needs: pan; lid", "With: handle", "Needs: glove", "Size: 3"]


def test_each_of_several_groups_of_fields_is_a_section(tmp_path: Path) -> None:
    document = read(tmp_path, "control.txt", PACKAGES)
    assert document.title == "control"
    assert outline(document) == [("kettle",), ("pan",)]
    assert [text for _, path, text in parts(document) if path == ("kettle",)] == [
        "Package: kettle",
        "Version: 2.1-3",
        "Maintainer: Ada Cook <ada@pots.example>",
        "Description: boils water",
        "It has a whistle, and the whistle is loud.",
        "It has no lid.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ann: Who dropped the lid?\nBob: Not me.\nCy: It was the cat!\n",  # a talk
        "Time: 20260309_12:00\nAnn: Hello Bob! Where is the lid? 🥘\nBob: I have it here with me 👍\nAnn: Thanks! Bye 🙂\n",
        "Pot: tin\nPan: iron\n\nThe lids are in the drawer.\n",  # too few
        "Pot: tin\nPan: iron\nLid: clay\nThese are all that we have.\n",  # they are not alone
    ],
)
def test_other_lines_with_colons_are_no_fields(tmp_path: Path, text: str) -> None:
    assert not of_role(read(tmp_path, "a.txt", text), "list")
