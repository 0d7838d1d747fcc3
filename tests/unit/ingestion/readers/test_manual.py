"""Manual pages: the source of one, what ``man`` prints of it, and files that are called like one."""

from pathlib import Path

import pytest

from lexigraph.ingestion.load import known_type
from tests.unit.ingestion.readers.reading import outline, parts, read, refused

PAGE = r"""'\" t
.\" The kettle of the harbour office.
.de Vb
.ft CW
..
.TH KETTLE 1 "2026\-02\-11" "kitchen 2.4" "Kitchen Commands"
.SH NAME
kettle \- boil water and keep it warm
.SH SYNOPSIS
.B kettle
.RB [ \-q ]
.I litres
.br
.B kettle \-\-version
.SH DESCRIPTION
.B kettle
heats the \fIgiven\fP amount of water \(em nothing else.
It\(aqs done when it boils; see
.BR teapot (1).
.PP
The call is:
.PP
.nf
kettle \-q 2 \e
    && pour
.fi
.SS Safety
Three checks are made:
.IP \(bu 2
the lid is closed;
.IP \(bu
there is water in it.
.SH OPTIONS
.TP
.BR \-q ", " \-\-quiet
Do not whistle.
.IP
Neighbours like it.
.PP
\-\-keep
.RS 4
Keep the water warm.
.RE
.TP
.B \-V
.TQ
.B \-\-version
Print the version.
"""


def test_the_source_of_a_page_is_read_by_its_macros(tmp_path: Path) -> None:
    document = read(tmp_path, "kettle.1", PAGE)
    assert document.title == "kettle(1) - boil water and keep it warm"
    assert [(role, path[-1], text) for role, path, text in parts(document)] == [
        ("paragraph", "NAME", "kettle - boil water and keep it warm"),
        ("code", "SYNOPSIS", "kettle [-q] litres\nkettle --version"),
        (
            "paragraph",
            "DESCRIPTION",
            "kettle heats the given amount of water — nothing else. It's done when it boils; see teapot(1).",
        ),
        ("paragraph", "DESCRIPTION", "The call is:"),
        ("code", "DESCRIPTION", "kettle -q 2 \\\n    && pour"),
        ("paragraph", "Safety", "Three checks are made:"),
        ("list", "Safety", "• the lid is closed;"),
        ("list", "Safety", "• there is water in it."),
        ("list", "OPTIONS", "-q, --quiet: Do not whistle."),
        ("list", "OPTIONS", "Neighbours like it."),
        ("list", "OPTIONS", "--keep: Keep the water warm."),
        ("list", "OPTIONS", "-V, --version: Print the version."),
    ]


def test_a_term_whose_description_is_a_list_leads_to_it(tmp_path: Path) -> None:
    source = (
        ".TH KETTLE 5\n.SH KEYS\n.TP\n.B SAFE\n.RS\n.IP \\(bu 2\nclose the lid;\n.IP \\(bu\nfill in water.\n.RE\n"
        ".TP\n.B QUIET\n.IP\nDo not whistle.\n.PP\nLOUD\n.RS 4\n.IP 1. 4\nwhistle;\n.RE\n.PP\nNobody\n.RS 4\n.RE\n"
    )
    assert [text for _, _, text in parts(read(tmp_path, "kettle.5", source))] == [
        "SAFE:",
        "• close the lid;",
        "• fill in water.",
        "QUIET: Do not whistle.",
        "LOUD:",
        "1. whistle;",
        "Nobody",
    ]


def test_a_printed_page_is_read_as_text_without_what_was_struck_twice(tmp_path: Path) -> None:
    text = (
        "KETTLE(1)                 Kitchen Commands                 KETTLE(1)\n\n"
        "N\bNA\bAM\bME\bE\n       kettle - boil water\n\n"
        "D\bDE\bES\bSC\bC\n       k\bke\bet\btt\btl\ble\be heats the given amount of water until it boils, and then pours\n"
        "       it into the cups.\n"
    )
    document = read(tmp_path, "kettle.man", text)
    assert document.title == "kettle(1) - boil water"
    assert outline(document)[1:] == [("NAME",), ("DESC",)]


@pytest.mark.parametrize(
    ("source", "reason"),
    [(".Dd March 4, 2026\n.Dt KETTLE 1\n.Sh NAME\n", "mdoc"), (".so man1/kettle.1\n", "only refers to another page")],
)
def test_pages_that_cannot_be_read_are_refused_with_the_reason(tmp_path: Path, source: str, reason: str) -> None:
    assert reason in refused(tmp_path, "kettle.1", source)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("kettle.1", "man"),
        ("kettle.7ssl", "man"),
        ("kettle.man", "man"),
        ("boats.log.1", "log"),
        ("libkettle.so.1", ""),
        ("kettle.9x", ""),
        ("COPYING", "txt"),
    ],
)
def test_files_are_known_by_the_section_of_the_manual(name: str, type_: str) -> None:
    assert known_type(name) == type_
