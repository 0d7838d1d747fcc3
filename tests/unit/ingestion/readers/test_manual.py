"""Manual pages: the source of one, what ``man`` prints of it, and files that are called like one."""

from pathlib import Path

import pytest

from lexigraph.ingestion.load import known_type
from tests.unit.ingestion.readers.reading import of_role, outline, parts, read, refused

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


def test_a_term_hangs_over_its_description_or_stands_above_a_blank_line(tmp_path: Path) -> None:
    source = (
        ".TH KETTLE 1\n.SH OPTIONS\n.HP\n\\fB\\-k\\fR, \\fB\\-\\-keep\\fR[=\\fI\\,C\\/\\fR]\n.IP\nkeep the water warm\n"
        ".HP\n\\fB\\-q\\fR\n.IP\ndo not whistle\n.PP\nAll options may be given twice.\n"
        ".SH FLAGS\n.RS 2m\n.TP 2m\n\\fB\\-\\-lid\\fR\n\nClose the lid.\n\nNever forget it.\n\n.RE\n"
        ".SH NOTES\n.HP\nA paragraph that hangs.\n.IP\nAnother one.\n"
    )
    assert [text for _, _, text in parts(read(tmp_path, "kettle.1", source))] == [
        "-k, --keep[=C]: keep the water warm",
        "-q: do not whistle",
        "All options may be given twice.",
        "--lid: Close the lid.",
        "Never forget it.",
        "A paragraph that hangs.",
        "Another one.",
    ]


def test_a_command_behind_a_prompt_is_code_however_it_is_set(tmp_path: Path) -> None:
    source = (
        ".TH KETTLE 1\n.SH EXAMPLES\nBoil it:\n\n.RS 2m\n$ kettle boil \\e\n    \\-\\-litres=2\n.RE\n\n"
        "$ kettle\n.B pour\n\nIt costs $ 2.\n"
    )
    assert [(role, text) for role, _, text in parts(read(tmp_path, "kettle.1", source))] == [
        ("paragraph", "Boil it:"),
        ("code", "$ kettle boil \\\n    --litres=2"),
        ("code", "$ kettle pour"),
        ("paragraph", "It costs $ 2."),
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


MDOC = r""".\" The kettle of the harbour office.
.Dd March 4, 2026
.Dt KETTLE 1
.Os
.Sh NAME
.Nm kettle ,
.Nm boil
.Nd heat water
.Sh SYNOPSIS
.Nm
.Op Fl qv
.Op Fl -keep Ns = Ns Ar minutes
.Oo Fl o Ar file Oc
.Ar litres ...
.Nm
.Fl V
.In kettle.h
.Ft "char *"
.Fn pour "const char *cup" "int litres"
.Ft int
.Fo whistle
.Fa "int tone"
.Fa "int seconds"
.Fc
.Sh DESCRIPTION
The
.Nm
utility reads
.Pa /etc/kettle.conf
.Pq see Xr kettle.conf 5 ;
.Dq quiet
is
.Fl q ,
.Fl -quiet .
Use
.No \(lq Ns Sy Fl Ns No \(rq
or
.Em Mr\&. Fl .
.Pp
The call is:
.Dl kettle -q 2
.Dl kettle -V
.Ss Safety
.Bl -bullet -compact
.It
the lid is closed;
.It
there is water in it.
.El
.Pp
Then:
.Bl -enum
.It
fill;
.It
pour:
.Bd -literal
    .--.
cup	saucer
.Ed
.El
.Sh OPTIONS
.Bl -tag -width Ds
.It Fl q , Fl -quiet
Do not whistle.
.Pp
Neighbours like it.
.It Xo Fl t
.Sm off
.Ar hours : Ar minutes
.Sm on
.Xc
Begin at a time.
.It Fl V
.It Fl -version
Print the version.
.It Fl m Ar mode
One of:
.Bl -tag
.It o
open;
.It Cm s
shut.
.El
.It Ev KETTLE
.Bl -column "tone" "hertz"
.It Sy Tone Ta Sy Hertz
.It low Ta 220
.El
.El
.Sh EXIT STATUS
.Ex -std
.Sh SEE ALSO
.Xr teapot 1 ,
.Lk https://kettle.example "The kettle"
.Rs
.%A H. Dahl
.%A O. Berg
.%T On Water
.%D 1998
.Re
.Sh STANDARDS
It conforms to
.St -p1003.1-2008 ,
and came with
.Bx 4.3 Reno
and
.Ox 7.1 .
"""


def test_a_page_in_mdoc_is_read_like_one_in_man_macros(tmp_path: Path) -> None:
    document = read(tmp_path, "kettle.1", MDOC)
    assert document.title == "kettle(1) - heat water"
    assert [(role, path[-1], text) for role, path, text in parts(document)] == [
        ("paragraph", "NAME", "kettle, boil - heat water"),
        (
            "code",
            "SYNOPSIS",
            "kettle [-qv] [--keep=minutes] [-o file] litres ...\nkettle -V\n#include <kettle.h>\n"
            "char *pour(const char *cup, int litres);\nint whistle(int tone, int seconds);",
        ),
        (
            "paragraph",
            "DESCRIPTION",
            "The kettle utility reads /etc/kettle.conf (see kettle.conf(5)); “quiet” is -q, --quiet. Use “-” or Mr. -.",
        ),
        ("paragraph", "DESCRIPTION", "The call is:"),
        ("code", "DESCRIPTION", "kettle -q 2\nkettle -V"),
        ("list", "Safety", "• the lid is closed;"),
        ("list", "Safety", "• there is water in it."),
        ("paragraph", "Safety", "Then:"),
        ("list", "Safety", "1. fill;"),
        ("list", "Safety", "2. pour:"),
        ("code", "Safety", "    .--.\ncup\tsaucer"),
        ("list", "OPTIONS", "-q, --quiet: Do not whistle."),
        ("list", "OPTIONS", "Neighbours like it."),
        ("list", "OPTIONS", "-t hours:minutes: Begin at a time."),
        ("list", "OPTIONS", "-V, --version: Print the version."),
        ("list", "OPTIONS", "-m mode: One of:"),
        ("list", "OPTIONS", "o: open;"),
        ("list", "OPTIONS", "s: shut."),
        ("list", "OPTIONS", "KETTLE:"),
        ("table", "OPTIONS", "Tone: low; Hertz: 220"),
        ("paragraph", "EXIT STATUS", "The kettle utility exits 0 on success, and >0 if an error occurs."),
        ("paragraph", "SEE ALSO", "teapot(1), The kettle: https://kettle.example"),
        ("paragraph", "SEE ALSO", "H. Dahl and O. Berg, On Water, 1998."),
        (
            "paragraph",
            "STANDARDS",
            "It conforms to IEEE Std 1003.1-2008 (“POSIX.1”), and came with 4.3BSD-Reno and OpenBSD 7.1.",
        ),
    ]


def test_a_table_without_a_marked_header_has_none(tmp_path: Path) -> None:
    rows = ".Bl -column a b\n.It Ctrl-A Ta begin\n.It Ctrl-E\tend\n.Pp\nof the line\n.El\n"
    document = read(tmp_path, "keys.7", f".Dd May 1, 2026\n.Dt KEYS 7\n.Sh KEYS\n{rows}")
    assert of_role(document, "table") == ["Ctrl-A; begin", "Ctrl-E; end of the line"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (".Oo Fl a\n.Pp\n.Sh NEXT\n.Oc x\n", "[-a"),  # never closed
        (".Oc\n.El\n.Ed\n.Fc\n.Re\nEnd.\n", "End."),  # never opened
        (".It Fl q\nDo not whistle.\n", "-q Do not whistle."),  # of no list
        (".Bl -tag\n.It Xo Fl q\n.It Fl v\nSay more.\n.El\n", "-q, -v: Say more."),  # its term never ends
        (".Bd -literal\n.Fl q\n", "-q"),
        ('.Dq "whole\n', "“whole”"),
        (".Fo\n.Fc\n.Xr\n.Fn\n.St\n.At\n.Bx\n.Lk\nEnd.\n", "AT&T UNIX BSD End."),
        (f".{'Op ' * 3_000}x\n.{'Oo ' * 3_000}y\n", "x]"),
    ],
)
def test_macros_that_fit_no_others_lose_no_words(tmp_path: Path, source: str, text: str) -> None:
    document = read(tmp_path, "kettle.1", f".Dd May 1, 2026\n.Dt KETTLE 1\n.Sh KETTLE\n{source}")
    assert text in document.text


CONDITIONAL = r'''.TH KETTLE 1
.SH COPYRIGHT
.if n Kettle is Copyright (C) 2026 by the harbour office.
.if t Kettle is Copyright \(co 2026 by the harbour office.
.SH OPTIONS
.if n .sp
.ie n .IP """quiet"" (default)" 4
.el .IP "\(lqquiet\(rq (default)" 4
Do not whistle.
.if !'po4a'hide' .BR \-V ", " \-\-version
.if 'po4a'hide' Hidden.
.ie \n(.g .TP
.el .HP
.ie t .B bold
.el .B \-k
Keep the water warm.
.SH NOTES
.ie n \{\
\h'-04'\(bu\h'+03'\c
.\}
.el \{\
.sp -1
.IP \(bu 2.3
.\}
The lid is hot.
'''


def test_what_holds_for_a_terminal_alone_is_read(tmp_path: Path) -> None:
    document = read(tmp_path, "kettle.1", CONDITIONAL)
    assert of_role(document, "paragraph") == ["Kettle is Copyright (C) 2026 by the harbour office."]
    assert of_role(document, "list") == [
        '"quiet" (default): Do not whistle. -V, --version',
        "-k: Keep the water warm.",
        "• The lid is hot.",
    ]


OF_ITS_OWN = r""".TH KETTLE 1
.ig
Nobody reads this.
..
.ig end
Nor
..
this.
.end
.de FN
\fI\|\\$1\|\fP
..
.de Vb
.ft CW
.nf
..
.de Ve
.fi
..
.de URL
\\$2 <\\$1>\\$3
..
.als MTO URL
.ds Ho Harbour Office
.SH FILES
Read at start is
.FN /etc/kettle.conf
of the \*(Ho.
.Vb 2
\&  kettle \-q 2
\&  pour
.Ve
.SH OPTIONS
.TP
.BI \-\-warm\  degrees
.BR Keeps " the water
warm.
.SH AUTHORS
Written by
.MTO "mira@harbour.example" "Mira Holm" "."
.SH TABLES
.TS
allbox tab(:);
lB lB.
T{
Sign
T}:T{
What it
means
T}
.T&
l l.
T{
whistle
T}:T{
It boils: see
.B \-q
T}
silence:cold
.TE
"""


def test_macros_and_strings_that_a_page_defines_and_tables_with_signs_between_cells_are_read(tmp_path: Path) -> None:
    document = read(tmp_path, "kettle.1", OF_ITS_OWN)
    assert of_role(document, "paragraph") == [
        "Read at start is /etc/kettle.conf of the Harbour Office.",
        "Written by Mira Holm <mira@harbour.example>.",
    ]
    assert of_role(document, "code") == ["  kettle -q 2\n  pour"]
    assert of_role(document, "list") == ["--warm degrees: Keeps the water warm."]
    assert of_role(document, "table") == [
        "Sign: whistle; What it means: It boils: see -q",
        "Sign: silence; What it means: cold",
    ]


@pytest.mark.parametrize(
    "source",
    [
        ".de AA\n.AA\n..\n.AA\n",  # says itself
        ".de AA\n.BB\n.BB\n..\n.de BB\n.AA\n.AA\n..\n.AA\n",
        ".de AA\n" + r"\\$1" * 1_000 + "\n..\n.AA " + "x" * 10_000 + "\n",  # says too much
        ".de AA\nnever ends\n",
        ".de\n.als\n.ds\n.AA\n",
    ],
)
def test_macros_that_say_themselves_or_too_much_say_nothing(tmp_path: Path, source: str) -> None:
    document = read(tmp_path, "kettle.1", f".TH KETTLE 1\n.SH NOTES\nThe lid is hot.\n{source}")
    assert document.text == "NOTES\n\nThe lid is hot."


def test_conditions_without_end_or_without_anything_are_passed_over(tmp_path: Path) -> None:
    lines = "\n".join([".if", ".el", ".ie n", ".if !", ".if 'a'", ".if n " * 50_000 + "Gone.", ".if n " * 50 + "Deep."])
    assert read(tmp_path, "kettle.1", f".TH KETTLE 1\n.SH NOTES\n{lines}\nEnd.\n").text.endswith("NOTES\n\nDeep. End.")


def test_a_page_that_only_names_another_is_refused(tmp_path: Path) -> None:
    assert "only refers to another page" in refused(tmp_path, "kettle.1", ".so man1/kettle.1\n")


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
