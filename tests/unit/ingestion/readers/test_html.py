"""Pages as programs write them: what they say, in order and under its headings; navigation and lists of contents apart."""

import pytest

from lexigraph.ingestion.readers.html import read_html
from lexigraph.ingestion.readers.parsed import Parsed
from lexigraph.settings import load_settings
from tests.unit.ingestion.readers.reading import placed


def read(page: str) -> Parsed:
    return read_html(page.encode(), load_settings())


def said(parsed: Parsed) -> list[tuple[str, str]]:
    return [(role, text) for role, _, text in placed(parsed) if role != "boilerplate"]


def furniture(parsed: Parsed) -> list[str]:
    return [text for role, _, text in placed(parsed) if role == "boilerplate"]


DOCBOOK = """\
<html><head><title>3. The kiln</title></head><body bgcolor="white">
<div><table class="nav" width="100%" summary="Navigation header"><tr>
<td><a accesskey="p" href="clay.html"><img src="prev.png" alt="Prev"></a></td>
<th>Potter's manual</th>
<td><a accesskey="n" href="glaze.html"><img src="next.png" alt="Next"></a></td></tr></table></div>
<div class="chapter"><div class="titlepage"><h1 class="title"><a name="kiln"></a>3. The kiln</h1></div>
<div class="toc"><p><b>Table of Contents</b></p>
<dl class="toc"><dt><span class="sect1"><a href="kiln.html#heat">3.1. Heat</a></span></dt>
<dt><span class="sect1"><a href="kiln.html#wood">3.2. Wood</a></span></dt></dl></div>
<p>A kiln dries and fires clay. It is lit in the evening and left to burn through the night.</p>
<div class="sect1"><h2 class="title">3.1. Heat</h2>
<div class="variablelist"><dl>
<dt><span class="term">bisque</span>, </dt><dt><span class="term">first fire</span></dt><dd><p>Fired at 1,000 degrees.</p>
<p>Takes a day.</p></dd><dt>glost</dt><dd><pre class="screen">kiln --glost</pre></dd></dl></div>
<table border="0"><tr><td><b>1.1.</b></td><td><p>How hot does it get?</p></td></tr>
<tr><td></td><td><p>It depends.</p><pre>1300</pre></td></tr></table>
</div></div>
<div><br><table class="nav" summary="Navigation footer"><tr><td><a href="clay.html">&lt;&lt; 2. Clay</a></td>
<td><a href="manual.html">Up</a></td><td><a href="glaze.html">4. Glaze &gt;&gt;</a></td></tr></table></div>
</body></html>
"""


def test_a_page_of_docbook_says_what_stands_between_its_navigation_and_its_table_of_contents() -> None:
    page = read(DOCBOOK)
    assert page.title == "3. The kiln"
    assert placed(page) == [
        ("boilerplate", "", "Prev\nPotter's manual\nNext"),
        ("boilerplate", "3. The kiln", "Table of Contents\n3.1. Heat\n3.2. Wood"),
        (
            "paragraph",
            "3. The kiln",
            "A kiln dries and fires clay. It is lit in the evening and left to burn through the night.",
        ),
        ("list", "3. The kiln > 3.1. Heat", "bisque, first fire: Fired at 1,000 degrees."),
        ("list", "3. The kiln > 3.1. Heat", "Takes a day."),
        ("list", "3. The kiln > 3.1. Heat", "glost"),
        ("code", "3. The kiln > 3.1. Heat", "kiln --glost"),
        ("paragraph", "3. The kiln > 3.1. Heat", "1.1. How hot does it get?"),
        ("paragraph", "3. The kiln > 3.1. Heat", "It depends."),
        ("boilerplate", "3. The kiln > 3.1. Heat", "<< 2. Clay\nUp\n4. Glaze >>"),
    ]


SPHINX = """\
<html lang="en"><head><title>kiln — Control a kiln — Pottery 3.1 documentation</title></head><body>
<div class="related" role="navigation"><h3>Navigation</h3><ul><li><a href="clay.html">next</a></li></ul></div>
<div class="body" role="main">
<section id="kiln"><h1>kiln — Control a kiln<a class="headerlink" href="#kiln" title="Permalink">¶</a></h1>
<div class="contents topic"><ul><li><a href="#use">Use</a></li><li><a href="#notes">Notes</a></li></ul></div>
<p>The following functions are provided:</p>
<dl class="py function"><dt class="sig sig-object py" id="kiln.fire">
<span class="sig-prename">kiln.</span><span class="sig-name">fire</span>(<em>degrees</em>, <em>hours=8.5</em>)
<a class="headerlink">¶</a></dt>
<dd><p>Fire the kiln. Return when it has cooled.</p>
<dl class="field-list simple"><dt>Parameters</dt><dd><p><strong>degrees</strong> – how hot</p></dd></dl>
<div class="admonition note"><p class="admonition-title">Note</p><p>Open the flue first.</p></div></dd></dl>
<ul><li><p>Dry the clay.</p></li><li><p>Light the fire:</p>
<div class="highlight"><pre><span></span><span>&gt;&gt;&gt; </span>fire(900)
<span>&gt;&gt;&gt; </span>wait()</pre></div></li></ul>
<table class="docutils"><caption>Cones by heat</caption><thead><tr><th>Cone</th><th>Degrees</th></tr></thead>
<tbody><tr><td><p>06</p></td><td><p>999</p></td></tr><tr><td><p>6</p></td><td><p>1222</p></td></tr></tbody></table>
</section></div>
<div class="sphinxsidebar" role="navigation"><h3>Table of Contents</h3></div><div class="footer">© Copyright 2026.</div>
</body></html>
"""


def test_a_signature_is_code_above_its_description_and_a_caption_stands_before_its_table() -> None:
    page = read(SPHINX)
    assert page.title == "kiln — Control a kiln"
    assert page.metadata["language"] == "en"
    assert {path for _, path, _ in placed(page)} == {"kiln — Control a kiln"}
    assert furniture(page) == ["Use\nNotes"]
    assert said(page) == [
        ("paragraph", "The following functions are provided:"),
        ("code", "kiln.fire(degrees, hours=8.5)"),
        ("paragraph", "Fire the kiln. Return when it has cooled."),
        ("list", "Parameters: degrees – how hot"),
        ("paragraph", "Note: Open the flue first."),
        ("list", "- Dry the clay."),
        ("list", "- Light the fire:"),
        ("code", ">>> fire(900)\n>>> wait()"),
        ("paragraph", "Cones by heat"),
        ("table", "Cone: 06; Degrees: 999"),
        ("table", "Cone: 6; Degrees: 1222"),
    ]


def test_a_field_keeps_its_value_where_that_is_a_number_and_has_one_colon() -> None:
    fields = "<dt>Author<span>:</span></dt><dd><p>Ines Berg</p></dd><dt>Release:</dt><dd><p>0.1</p></dd>"
    page = read(f"<h1>Kiln</h1><dl class='field-list'>{fields}</dl><p>Fires clay.</p>")
    assert said(page) == [("list", "Author: Ines Berg"), ("list", "Release: 0.1"), ("paragraph", "Fires clay.")]


TEXINFO = """\
<html><head><title>Lighting (pottery: the manual of the kiln)</title></head><body lang="en">
<div class="section" id="Lighting"><div class="header">
<p>Next: <a href="Cooling.html" rel="next">Cooling</a>, Up: <a href="Kiln.html">The Kiln</a> &nbsp;
[<a href="i.html">Index</a>]</p>
</div><hr><h3 class="section">2.6 Lighting</h3>
<p>Wood is laid crosswise&hellip; and lit&check; from above.</p>
<dl class="def"><dt><strong>Function:</strong> <em>int</em> <strong>light</strong> <em>(wood *stack)</em></dt>
<dd><p>Returns 0 when the fire has caught. See <a href="Cooling.html">Cooling</a>.</p></dd></dl>
</div></body></html>
"""


def test_a_page_of_texinfo_has_its_line_of_links_apart() -> None:
    page = read(TEXINFO)
    assert page.title == "Lighting (pottery: the manual of the kiln)"
    assert furniture(page) == ["Next: Cooling, Up: The Kiln [Index]"]
    assert said(page) == [
        ("paragraph", "Wood is laid crosswise… and lit✓ from above."),
        ("code", "Function: int light (wood *stack)"),
        ("paragraph", "Returns 0 when the fire has caught. See Cooling."),
    ]


def test_a_page_that_is_a_list_of_links_is_read_as_one() -> None:
    links = "".join(f"<li><a href='{name}.html'>{name}</a></li>" for name in ("Clay", "Glaze", "Kiln", "Wheel"))
    page = read(f"<title>Pottery</title><h1>Pottery</h1><p>Our pages:</p><ul>{links}</ul>")
    assert said(page) == [("paragraph", "Our pages:"), *(("list", f"- {n}") for n in ("Clay", "Glaze", "Kiln", "Wheel"))]


@pytest.mark.parametrize(
    ("head", "roles"),
    [
        ('<meta http-equiv="refresh" content="0; URL=clay.html">', {"boilerplate"}),
        ('<META HTTP-EQUIV=Refresh CONTENT="0.0;clay.html">', {"boilerplate"}),
        ('<meta http-equiv="refresh" content="10; url=clay.html">', {"paragraph"}),
        ('<meta http-equiv="refresh" content="0">', {"paragraph"}),
        ('<noscript><meta http-equiv="refresh" content="0; url=plain.html"></noscript>', {"paragraph"}),
    ],
)
def test_of_a_page_that_leads_to_another_at_once_nothing_is_said(head: str, roles: set[str]) -> None:
    page = f"<html><head><title>Redirecting...</title>{head}</head><body><p>Redirecting to <a href=clay.html>clay</a>.</p>"
    assert {role for role, _, _ in placed(read(page))} == roles


def test_a_heading_of_a_table_of_contents_is_above_nothing_else() -> None:
    page = (
        "<h1>kiln-fire</h1><h2>Table of contents</h2><ul><li><a href='#use'>Use</a></li><li><a href='#see'>See</a></li>"
        "<li><a href='#end'>End</a></li></ul><h3 id='use'>Use</h3><p>Heats the kiln to the temperature of a cone.</p>"
    )
    assert [b.headings for b in read(page).blocks if b.role == "paragraph"] == [("kiln-fire", "Use")]


def test_a_list_of_links_to_other_places_is_no_table_of_contents() -> None:
    links = "".join(f"<li><a href='https://{n}.example/'>{n}</a></li>" for n in ("Delft", "Sèvres", "Meissen"))
    page = read(f"<h1>Makers</h1><p>{'A long text about those who make pots. ' * 9}</p><ul>{links}</ul>")
    assert [text for role, text in said(page) if role == "list"] == ["- Delft", "- Sèvres", "- Meissen"]


def test_words_of_furniture_in_a_sentence_or_on_a_wrapper_hide_nothing() -> None:
    page = read(
        "<body class='has-sidebar'><div id='content' class='with-toc page-header'><h1>Steps</h1>"
        "<p>Next, go <a href='up.html'>up the hill</a> and home.</p><div class='sidebar'><p>A side note in prose.</p></div>"
        "</div></body>"
    )
    assert [text for _, text in said(page)] == ["Next, go up the hill and home.", "A side note in prose."]


def test_copyright_lines_are_boilerplate_and_sentences_about_copyright_are_not() -> None:
    page = read("<p>Potters keep their copyright.</p><p>Copyright © 2020-2026 The Potters</p>")
    assert said(page) == [("paragraph", "Potters keep their copyright.")]
    assert furniture(page) == ["Copyright © 2020-2026 The Potters"]


def test_the_name_of_the_site_leaves_a_title_that_says_enough_without_it() -> None:
    for title, heading, expected in (
        ("Kiln - Pottery wiki", "Kiln", "Kiln"),
        ("Overview | Kiln Works", "Overview", "Overview | Kiln Works"),
        ("Pottery wiki: Kiln", "Kiln", "Pottery wiki: Kiln"),
        ("Kilns of the north", "Kilns", "Kilns of the north"),
    ):
        assert read(f"<title>{title}</title><h1>{heading}</h1><p>text</p>").title == expected


def test_cells_over_several_rows_and_names_over_several_columns_are_in_each() -> None:
    page = read(
        "<table><tr><th rowspan=2>Kiln<th colspan=2>2026</tr><tr><th>spring<th>fall</tr>"
        "<tr><td rowspan=2>North<td>9<td>8</tr><tr><td>7<td>6</tr><tr><td colspan=2>South<td>5</tr></table>"
    )
    assert [text for _, text in said(page)] == [
        "Kiln: North; 2026 spring: 9; 2026 fall: 8",
        "Kiln: North; 2026 spring: 7; 2026 fall: 6",
        "Kiln: South; 2026 fall: 5",
    ]


def test_text_that_was_typed_for_a_fixed_width_is_read_as_such_below_the_heading_of_its_page() -> None:
    typed = """\
Fuel
----
Wood that was cut in winter and has dried for a whole summer burns
longest. It is split before it is stacked.

- Oak burns for nine hours and leaves hardly any ash, as the potters
  of the north say.
- Birch burns fast.

Ash
---
It is kept for glazes.
"""
    under = ("Of kilns", "Fuel")
    broken = typed.replace("\n", "<br>\n")
    for page in (f"<h1>Of kilns</h1><div><p>{broken}</p></div>", f"<h1>Of kilns</h1><pre>{typed + typed * 4}</pre>"):
        blocks = read(page).blocks
        assert [(b.role, b.headings) for b in blocks[:4]] == [
            ("paragraph", under),
            ("list", under),
            ("list", under),
            ("paragraph", ("Of kilns", "Ash")),
        ]


def test_two_line_breaks_part_paragraphs_and_numbers_of_lines_are_no_code() -> None:
    page = read("<body>One.<br><br>Two.<table><tr><td><pre>1\n2</pre></td><td><pre>a = 1\nb = 2</pre></td></tr></table>")
    assert said(page) == [("paragraph", "One."), ("paragraph", "Two."), ("code", "a = 1\nb = 2")]


def test_what_a_page_hides_is_not_what_it_says() -> None:
    page = """<body><h1>Kilns <span style="display:none">unseen</span>by the river</h1>
    <p>Lit in <b hidden>unseen</b>the evening.<i style="color:red; DISPLAY : none ;">unseen</i> Left to burn.</p>
    <div style="margin:0;visibility:hidden"><p>unseen</p><ul><li>unseen</li></ul></div>
    <table><tr><th>Wood</th><th>Hours</th></tr><tr style="display: none"><td>unseen</td><td>0</td></tr>
    <tr><td>Oak<em hidden="">unseen</em></td><td>9</td></tr></table>
    <pre>fire --slow<span style="display:none !important"> unseen</span>
fire --fast</pre><p>To the end.</p></body>"""
    assert [text for _, text in said(read(page))] == [
        "Lit in the evening. Left to burn.",
        "Wood: Oak; Hours: 9",
        "fire --slow\nfire --fast",
        "To the end.",
    ]
    assert "unseen" not in read(page).text
    assert "Kilns by the river" in read(page).text


def test_what_only_looks_hidden_is_read() -> None:
    page = """<body style="visibility: hidden"><main style="display:none"><p style="display: block">One.</p>
    <p style="x-display:none-at-all">Two.</p><div hidden="until-found">Three.</div></main></body>"""
    assert [text for _, text in said(read(page))] == ["One.", "Two.", "Three."]
