"""AsciiDoc, old and new style."""

from pathlib import Path

import pytest

from lexigraph.model.document import LoadedDocument
from tests.unit.ingestion.readers.reading import of_role, outline, parts, read

GUIDE = """\
= The harbour guide
Ada Cook <ada@example.org>
v1.0, 2026-03-01
:url-site: https://example.org
:toc:

The {url-site}[harbour] is *open* all day, and `harbour list` says which piers are free. See <<cranes,the cranes>>.

// nobody reads this
== Piers

.Opening a pier
[source,bash]
----
harbour open 3
harbour moor Aurelia
----

NOTE: Boats that are on fire must not enter.

[WARNING]
====
Nobody swims here.

* Not even at night.
** And never alone.
====

. Open the gate.
+
 harbour gate --open

. Close it again
  when you are in.

[[cranes]]
=== Cranes

Tide:: The rise and fall of the water.
Crane::
  What lifts crates. It must be free
  before it is asked.

[cols="1,2",options="header"]
|===
|Crane |Load
|Big |20 tonnes
|Small
|2 tonnes
|===

|===
|Flag |Meaning

|red |closed
|===

Old style
---------

 $ harbour --version

 - An item that is indented

   with a second paragraph, which reads as language and is none of the code.
"""


@pytest.fixture
def guide(tmp_path: Path) -> LoadedDocument:
    return read(tmp_path, "guide.adoc", GUIDE)


def test_sections_of_both_styles_are_headings(guide: LoadedDocument) -> None:
    assert guide.title == "The harbour guide"
    assert [path[1:] for path in outline(guide) if path[1:]] == [("Piers",), ("Piers", "Cranes"), ("Old style",)]


def test_attributes_links_and_signs_are_what_readers_see(guide: LoadedDocument) -> None:
    assert of_role(guide, "paragraph")[0] == (
        "The harbour is open all day, and harbour list says which piers are free. See the cranes."
    )
    assert "nobody reads" not in guide.text
    assert of_role(guide, "boilerplate") == ["Ada Cook <ada@example.org>\nv1.0, 2026-03-01"]


def test_listings_and_literal_paragraphs_are_code_and_their_titles_lead_to_them(guide: LoadedDocument) -> None:
    assert of_role(guide, "code") == ["harbour open 3\nharbour moor Aurelia", "harbour gate --open", "$ harbour --version"]
    texts = [text for _, _, text in parts(guide)]
    assert texts[texts.index("harbour open 3\nharbour moor Aurelia") - 1] == "Opening a pier:"


def test_items_and_terms_are_list_blocks(guide: LoadedDocument) -> None:
    assert of_role(guide, "list") == [
        "- Not even at night.",
        "- And never alone.",
        "- Open the gate.",
        "- Close it again when you are in.",
        "Tide: The rise and fall of the water.",
        "Crane: What lifts crates. It must be free before it is asked.",
        "- An item that is indented",
    ]


def test_notes_are_paragraphs(guide: LoadedDocument) -> None:
    assert {"Boats that are on fire must not enter.", "Nobody swims here."} <= set(of_role(guide, "paragraph"))
    assert any("reads as language" in text for text in of_role(guide, "paragraph"))


def test_tables_are_rows_whatever_the_cells_of_a_line(guide: LoadedDocument) -> None:
    assert of_role(guide, "table") == [
        "Crane: Big; Load: 20 tonnes",
        "Crane: Small; Load: 2 tonnes",
        "Flag: red; Meaning: closed",
    ]
