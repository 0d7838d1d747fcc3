"""reStructuredText: what docutils and Sphinx know, and what they do not."""

from pathlib import Path

import pytest

from lexigraph.model.document import LoadedDocument
from tests.unit.ingestion.readers.reading import of_role, outline, parts, read

MANUAL = """\
.. Copyright 2026 The Harbour Authors. All rights reserved.

.. _harbour-manual:

==============
Harbour manual
==============

.. toctree::
   :maxdepth: 2

   piers
   cranes

This manual tells how :ref:`piers <pier-label>` and :py:func:`~harbour.crane.lift` work together,
see `the web site <https://example.org/harbour>`_ and |project|. It is *not* long.

.. |project| replace:: the Harbour Project

.. a comment that nobody reads

Piers
=====

A pier is opened like this::

    pier = harbour.open(3)
    pier.moor("Aurelia")

and closed by the harbour master, who knows

* which boats are there;

  A boat may be hidden.

* how deep the water is
  at low tide.

1. of the two comes first.
#. is the other.

.. note::

   Boats that are on fire must not enter.

.. warning:: Nobody swims here.

.. code-block:: bash
   :caption: Looking for a pier

   harbour list --free
   harbour moor 3

Functions
---------

.. function:: lift(crate, height=2)
              lift_all(crates)

   Lift a crate from a boat. The crane must be free.

   :param crate: what is lifted
   :returns: the new height

   .. versionadded:: 1.2
      The parameter *height*.

.. option:: --verbose

   Say what is done.

tide
   The rise and fall of the water.

>>> lift("tea")
2

Depths
======

.. list-table:: Depth of piers
   :header-rows: 1

   * - Pier
     - Depth
   * - 1
     - 4 m
   * - 2
     - 6 m

.. csv-table::
   :header: "Boat", "Length"

   "Aurelia", 20
   "Mira", 12

=====  ======
Crane  Load
=====  ======
Big    20 t
Small  2 t
=====  ======

+-------+---------+
| Flag  | Meaning |
+=======+=========+
| red   | closed  |
+-------+---------+
| green | open    |
+-------+---------+

.. unheard-of:: directive
   :option: value

   What stands in a directive that is not known is read.

.. [1] A footnote about tides.
"""


@pytest.fixture
def manual(tmp_path: Path) -> LoadedDocument:
    return read(tmp_path, "manual.rst", MANUAL)


def test_sections_are_nested_by_the_order_of_their_styles(manual: LoadedDocument) -> None:
    assert manual.title == "Harbour manual"
    assert [path[1:] for path in outline(manual) if path[1:]] == [("Piers",), ("Piers", "Functions"), ("Depths",)]


def test_roles_links_and_substitutions_are_what_readers_see(manual: LoadedDocument) -> None:
    assert of_role(manual, "paragraph")[0] == (
        "This manual tells how piers and harbour.crane.lift work together, see the web site and the Harbour Project. "
        "It is not long."
    )


def test_notices_and_tables_of_contents_are_boilerplate_and_comments_are_gone(manual: LoadedDocument) -> None:
    assert of_role(manual, "boilerplate") == ["Copyright 2026 The Harbour Authors. All rights reserved.", "piers\ncranes"]
    assert "nobody reads" not in manual.text


def test_literal_blocks_directives_and_doctests_are_code_below_what_leads_to_them(manual: LoadedDocument) -> None:
    assert of_role(manual, "code") == [
        'pier = harbour.open(3)\npier.moor("Aurelia")',
        "harbour list --free\nharbour moor 3",
        "lift(crate, height=2)\nlift_all(crates)",
        "--verbose",
        '>>> lift("tea")\n2',
    ]
    texts = [text for _, _, text in parts(manual)]
    assert texts[texts.index("harbour list --free\nharbour moor 3") - 1] == "Looking for a pier:"
    assert "A pier is opened like this:" in texts


def test_lists_terms_and_fields_are_items(manual: LoadedDocument) -> None:
    assert of_role(manual, "list") == [
        "* which boats are there;",
        "A boat may be hidden.",
        "* how deep the water is at low tide.",
        "1. of the two comes first.",
        "#. is the other.",
        "param crate: what is lifted",
        "returns: the new height",
        "tide: The rise and fall of the water.",
        "[1] A footnote about tides.",
    ]


def test_notes_and_what_stands_in_unknown_directives_are_paragraphs(manual: LoadedDocument) -> None:
    found = of_role(manual, "paragraph")
    for text in (
        "Boats that are on fire must not enter.",
        "Nobody swims here.",
        "New in version 1.2: The parameter height.",
        "Say what is done.",
        "What stands in a directive that is not known is read.",
    ):
        assert text in found


def test_tables_of_four_kinds_are_rows(manual: LoadedDocument) -> None:
    assert of_role(manual, "table") == [
        "Pier: 1; Depth: 4 m",
        "Pier: 2; Depth: 6 m",
        "Boat: Aurelia; Length: 20",
        "Boat: Mira; Length: 12",
        "Crane: Big; Load: 20 t",
        "Crane: Small; Load: 2 t",
        "Flag: red; Meaning: closed",
        "Flag: green; Meaning: open",
    ]


def test_bibliographic_fields_at_the_head_are_metadata(tmp_path: Path) -> None:
    document = read(tmp_path, "a.rst", ":author: Ada Cook\n:orphan:\n\nTides\n=====\n\nThey come twice a day.\n")
    assert (document.title, document.metadata["author"]) == ("Tides", "Ada Cook")
    assert "orphan" not in document.text


def test_nothing_but_directives_is_still_a_document(tmp_path: Path) -> None:
    document = read(tmp_path, "index.rst", ".. toctree::\n\n   one\n   two\n")
    assert [(role, text) for role, _, text in parts(document)] == [("paragraph", "one\ntwo")]


def test_lists_nested_without_end_are_read(tmp_path: Path) -> None:
    text = "".join(f"{'  ' * depth}* level {depth}\n\n" for depth in range(200))
    assert "level 199" in read(tmp_path, "deep.rst", text).text


def test_badges_say_nothing(tmp_path: Path) -> None:
    badges = """\
|docs| |build|

.. |docs| image:: https://readthedocs.org/projects/kiln/badge/
   :alt: Docs
.. |build| image:: https://img.shields.io/build.svg

.. image:: https://img.shields.io/pypi/v/kiln.svg
   :alt: PyPI

.. image:: kiln.png
   :alt: A kiln at dusk
"""
    assert [text for _, _, text in parts(read(tmp_path, "readme.rst", badges))] == ["A kiln at dusk"]


def test_a_role_that_numbers_a_document_names_it(tmp_path: Path) -> None:
    document = read(tmp_path, "rules.rst", "Versions are ordered by :pep:`440`, addresses by :rfc:`4291`.\n")
    assert document.text.strip() == "Versions are ordered by PEP 440, addresses by RFC 4291."
