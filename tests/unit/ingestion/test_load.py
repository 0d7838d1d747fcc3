"""Files become documents: what is found, what is read of each format, what identifies a document."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lexigraph.api.access.keys import new_key
from lexigraph.ingestion.events import told
from lexigraph.ingestion.load import FILE_TYPES, FileItem, Rejected, fingerprint, known_type, load, passed_over, scan
from lexigraph.ingestion.roots import not_own
from lexigraph.model.document import LoadedDocument
from lexigraph.settings import Settings, load_settings
from tests import files


@pytest.fixture
def settings() -> Settings:
    return load_settings()


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def item(path: Path) -> FileItem:
    (found,) = scan([path])
    assert isinstance(found, FileItem), found
    return found


def read(path: Path, settings: Settings) -> LoadedDocument:
    (document,) = load(item(path), settings)
    assert isinstance(document, LoadedDocument), document
    return document


def parts(document: LoadedDocument) -> list[tuple[str, tuple[str, ...], str]]:
    return [(b.role, b.headings, document.text[b.start : b.end]) for b in document.blocks]


def texts(document: LoadedDocument) -> list[str]:
    return [document.text[b.start : b.end] for b in document.blocks]


# ---------------------------------------------------------------- finding files


def test_a_folder_is_read_in_order_of_names_without_hidden_unknown_and_empty_source_files(tmp_path: Path) -> None:
    for name in (
        "b.txt",
        "a/z.md",
        "a/y.PDF",
        ".hidden/x.txt",
        ".secret.txt",
        "c.exe",
        "d.exe",
        "core",
        "a/corpus.jsonl.gz",
    ):
        put(tmp_path, name, "x")
    put(tmp_path, "a/__init__.py", "")
    skipped: Counter[str] = Counter()
    found = list(scan([tmp_path], skipped))
    assert [(i.path.relative_to(tmp_path).as_posix(), i.type) for i in found if isinstance(i, FileItem)] == [
        ("a/corpus.jsonl.gz", "jsonl"),
        ("a/y.PDF", "pdf"),
        ("a/z.md", "md"),
        ("b.txt", "txt"),
    ]
    assert len(found) == 4
    assert skipped == {".exe": 2, "core": 1, "hidden": 1, "empty source": 1}
    assert list(scan([tmp_path / "a/__init__.py"], skipped))  # whoever names it is told


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("README", "txt"),
        ("LICENSE", "txt"),
        ("Makefile", "source"),
        ("a.PY", "source"),
        ("a.adoc", "asciidoc"),
        ("a.ipynb", "ipynb"),
        ("a.en.vtt", "vtt"),
        ("a.SRT", "srt"),
        ("core", ""),
        ("copyright", "txt"),
        ("FAQ", "txt"),
        ("METADATA", "txt"),
        ("README.Debian", "txt"),
        ("changelog.Debian.amd64", "txt"),
        ("COPYING.LIB", "txt"),
        ("README.html", "html"),
        ("README.doc", ""),
        ("NEWS.gz", "txt"),
        ("changelog.Debian.gz", "txt"),
        ("a.MD.GZ", "md"),
        ("ls.1.gz", "man"),
        ("boats.log.1.gz", "log"),
        ("a.tar.gz", ""),
        ("a.txt.gz.gz", ""),
        ("README.gz.gz", ""),
        ("core.gz", ""),
        (".gz", ""),
    ],
)
def test_a_file_is_known_by_the_end_of_its_name_or_by_its_whole_name(name: str, type_: str) -> None:
    assert known_type(name) == type_


def test_what_was_passed_over_is_told_with_what_to_do_the_most_first() -> None:
    found = passed_over({".doc": 1, ".bin": 3, ".zip": 1})
    assert told(found) == "5 files: 3 .bin (unknown type), 1 .doc (save it as .docx), 1 .zip (unpack it first)"


def test_the_folder_of_the_stores_is_not_looked_into(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "x")
    put(tmp_path, "data/documents/text.1", "x")
    put(tmp_path, "elsewhere/text.1", "x")
    settings = Settings(data=tmp_path / "data", document_store=f"file:///{tmp_path}/elsewhere")
    skipped: Counter[str] = Counter()
    assert [found.path for found in scan([tmp_path], skipped, shut=not_own(settings))] == [tmp_path / "a.txt"]
    assert skipped == {}
    (told,) = scan([tmp_path / "elsewhere"], shut=not_own(settings))
    assert "belongs to the stores" in str(told)


def test_a_file_is_found_once_however_it_is_reached(tmp_path: Path) -> None:
    first = put(tmp_path, "docs/a.txt", "x")
    (tmp_path / "docs" / "again.txt").symlink_to(first)
    (tmp_path / "docs" / "loop").symlink_to(tmp_path, target_is_directory=True)
    found = list(scan([tmp_path, tmp_path / "docs", first]))
    assert [i.uri for i in found if isinstance(i, FileItem)] == [first.resolve().as_uri()]
    assert len(found) == 1


def test_the_uri_is_absolute_and_the_same_through_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "my notes/a b.txt", "x")
    monkeypatch.chdir(tmp_path)
    (relative,) = scan([Path("my notes/a b.txt")])
    assert isinstance(relative, FileItem)
    assert relative.uri == path.resolve().as_uri()
    assert relative.uri.endswith("my%20notes/a%20b.txt")


def test_a_hidden_file_that_is_named_is_read(tmp_path: Path) -> None:
    (found,) = scan([put(tmp_path, ".notes.txt", "x")])
    assert isinstance(found, FileItem)


# ---------------------------------------------------------------- fingerprints


def test_the_fingerprint_is_that_of_the_document_and_follows_the_bytes_only(tmp_path: Path, settings: Settings) -> None:
    path = put(tmp_path, "a.md", "# One\n\ntext")
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    before = fingerprint(item, settings)
    assert read(path, settings).fingerprint == before
    path.touch()
    assert fingerprint(item, settings) == before
    path.write_text("# One\n\ntext.")
    assert fingerprint(item, settings) != before
    assert read(path, settings).fingerprint == fingerprint(item, settings)


def test_equal_content_gives_equal_documents_whenever_it_was_written(tmp_path: Path, settings: Settings) -> None:
    path = put(tmp_path, "a.txt", "Some text.")
    first = read(path, settings)
    path.unlink()
    put(tmp_path, "a.txt", "Some text.")
    assert read(path, settings) == first
    assert first.metadata == {"file_name": "a.txt", "file_type": "txt"}


def test_importing_and_scanning_loads_no_parser(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "Some text.")
    script = """
import sys
from pathlib import Path
from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.load import load, scan
from lexigraph.settings import load_settings
(item,) = scan([Path(sys.argv[1])])
(document,) = load(item, load_settings())
assert chunk(document)[0].text == "Some text."
heavy = {"markdown_it", "pypdf", "docx", "openpyxl", "lxml", "defusedxml", "llama_index", "nltk", "spacy"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- plain text


def test_plain_text_has_a_title_paragraphs_and_list_items(tmp_path: Path, settings: Settings) -> None:
    source = """\
The Great Storm

The storm of 1987 was a violent extratropical cyclone which
made many trees fall.\x20\x20
\t
It left:
- damage in
  the south
- 2. floods

Name: X
Age: 3
"""
    document = read(put(tmp_path, "storm.txt", source), settings)
    assert document.title == "The Great Storm"
    under = ("The Great Storm",)
    assert parts(document) == [
        ("paragraph", under, "The storm of 1987 was a violent extratropical cyclone which made many trees fall."),
        ("paragraph", under, "It left:"),
        ("list", under, "- damage in the south"),
        ("list", under, "- 2. floods"),
        ("paragraph", under, "Name: X\nAge: 3"),
    ]


@pytest.mark.parametrize("first", ["It rained.", "- an item", "word " * 30, "two\nlines", "Dear all,"])
def test_a_first_line_that_is_no_title_leaves_the_name_of_the_file(tmp_path: Path, settings: Settings, first: str) -> None:
    document = read(put(tmp_path, "letter-3.txt", f"{first}\n\nThe rest."), settings)
    assert document.title == "letter-3"
    assert document.blocks[0].start == 0


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        ("Zoë's café costs 5 €.".encode(), None),
        (b"\xef\xbb\xbf" + "Zoë's café costs 5 €.".encode(), None),
        ("Zoë's café costs 5 €.".encode("cp1252"), "cp1252"),
        ("Zoë's café costs 5 €.".encode("utf-16"), "utf-16"),
        ("Zoë's café costs 5 €.".encode("utf-16-le"), "utf-16-le"),
        ("Zoë's café costs 5 €.".encode("utf-16-be"), "utf-16-be"),
        ("Zoë's café costs 5 €.".encode("utf-32"), "utf-32"),
        ("Zoe\u0308's cafe\u0301 costs\u00a05\u00a0€.".encode(), None),
    ],
)
def test_text_in_any_common_encoding_reads_the_same(
    tmp_path: Path, settings: Settings, raw: bytes, encoding: str | None
) -> None:
    document = read(put(tmp_path, "a.txt", raw), settings)
    assert document.text == "Zoë's café costs 5 €."
    assert document.metadata.get("encoding") == encoding


def test_bytes_that_windows_1252_does_not_know_are_latin_1(tmp_path: Path, settings: Settings) -> None:
    document = read(
        put(tmp_path, "a.txt", b"caf\xe9 \x81 and a good deal of other text, so that it does not count as binary."), settings
    )
    assert document.text.startswith("café and a good deal")
    assert document.metadata["encoding"] == "latin-1"


# ---------------------------------------------------------------- markdown

MARKDOWN = """\
---
title: "Choosing a store"
author: Ann Lee  # the writer
date: 2026-11-20
draft: false
weight: 3
tags: [a, b]
---
# Stores

Amazon **Neptune** is a [graph database](https://example.org) with `openCypher`.
It runs in
a VPC.

- first item
  goes on
- second
  1. nested

## Empty

## Prices

| Name | 2019 | Note |
|------|-----:|------|
| Neptune | 0.1 | *new* |
| Aurora | | |

```sql
SELECT 1

FROM t
```

> said &amp; done

### Bare

# Last
<details><summary>More</summary>

Hidden<br>text.

</details>
"""


def test_markdown_keeps_its_structure_and_loses_its_signs(tmp_path: Path, settings: Settings) -> None:
    document = read(put(tmp_path, "a.md", MARKDOWN), settings)
    assert document.title == "Choosing a store"
    top, prices, last = ("Stores",), ("Stores", "Prices"), ("Last",)
    assert parts(document) == [
        ("paragraph", top, "Amazon Neptune is a graph database with openCypher. It runs in a VPC."),
        ("list", top, "- first item goes on"),
        ("list", top, "- second"),
        ("list", top, "1. nested"),
        ("heading", top, "Empty"),
        ("table", prices, "Name: Neptune; 2019: 0.1; Note: new"),
        ("table", prices, "Name: Aurora"),
        ("code", prices, "SELECT 1\n\nFROM t"),
        ("paragraph", prices, "said & done"),
        ("heading", prices, "Bare"),
        ("paragraph", last, "More"),
        ("paragraph", last, "Hidden\ntext."),
    ]


def test_the_scalars_of_a_front_matter_are_metadata(tmp_path: Path, settings: Settings) -> None:
    metadata = read(put(tmp_path, "a.md", MARKDOWN), settings).metadata
    assert metadata == {
        "author": "Ann Lee",
        "language": "en",
        "date": "2026-11-20",
        "draft": False,
        "weight": 3,
        "file_name": "a.md",
        "file_type": "md",
    }


def test_markdown_between_two_rules_is_no_front_matter(tmp_path: Path, settings: Settings) -> None:
    document = read(put(tmp_path, "a.md", "---\nA sentence, not YAML.\n\n---\nMore text."), settings)
    assert texts(document) == ["A sentence, not YAML.", "More text."]


def test_the_title_of_markdown_is_its_first_heading_else_the_name_of_the_file(tmp_path: Path, settings: Settings) -> None:
    assert read(put(tmp_path, "a.md", "Intro.\n\n## First *one*\n\ntext\n\n# Second"), settings).title == "First one"
    assert read(put(tmp_path, "plain.md", "Just text."), settings).title == "plain"


def test_a_file_of_headings_only_is_a_document(tmp_path: Path, settings: Settings) -> None:
    assert parts(read(put(tmp_path, "a.md", "# One\n\n## Two\n"), settings)) == [("heading", ("One",), "Two")]


# ---------------------------------------------------------------- html

HTML = """\
<!doctype html><html lang=en><head><title>Stores &amp; more</title><meta name="Author" content="Bo Ek">
<style>p {color: red}</style><script>alert("no")</script></head>
<body><header><nav><a href=/>Home</a></nav></header><main>
<h1>Stores<a class=headerlink>¶</a></h1>
<p>First <b>para</b>graph
with a break.<p>Second one<br>next line <!-- a comment -->
<ul><li>one<li>two<ol start=3><li>three<li>four</ol></ul>
<table><tr><th>Name<th>2019<th>2020<tr><td>EMEA<td>1<td>2<tr><td><div>US</div><p>x</p><td>3<td></table>
<table><tr><th>Area</th><td>5 km<sup>2</sup></td></tr><tr><th>Population</th><td>100</td></tr></table>
<dl><dt>Term</dt><dd>its meaning</dd><dt>Other<dd>more</dl>
<pre><code>a = 1
  b = 2</code></pre><div>loose <span>text</span></div><p hidden>secret</p>
<h2>Empty</h2></main><footer>imprint</footer></body></html>
"""


def test_html_gives_its_main_part_in_order(tmp_path: Path, settings: Settings) -> None:
    document = read(put(tmp_path, "a.html", HTML), settings)
    top = ("Stores",)
    assert parts(document) == [
        ("paragraph", top, "First paragraph with a break."),
        ("paragraph", top, "Second one\nnext line"),
        ("list", top, "- one"),
        ("list", top, "- two"),
        ("list", top, "3. three"),
        ("list", top, "4. four"),
        ("table", top, "Name: EMEA; 2019: 1; 2020: 2"),
        ("table", top, "Name: US x; 2019: 3"),
        ("table", top, "Area: 5 km2"),
        ("table", top, "Population: 100"),
        ("list", top, "Term: its meaning"),
        ("list", top, "Other: more"),
        ("code", top, "a = 1\n  b = 2"),
        ("paragraph", top, "loose text"),
        ("heading", top, "Empty"),
    ]
    assert document.title == "Stores & more"
    assert document.metadata == {"author": "Bo Ek", "language": "en", "file_name": "a.html", "file_type": "html"}


def test_html_without_a_main_part_gives_its_body_without_the_frame(tmp_path: Path, settings: Settings) -> None:
    page = "<body><nav>menu</nav><h1>Head</h1>bare text<aside>advert</aside><footer>imprint</footer></body>"
    document = read(put(tmp_path, "page.html", page), settings)
    assert texts(document) == ["bare text"]
    assert document.title == "Head"


def test_a_table_that_lays_out_the_page_is_read_as_text(tmp_path: Path, settings: Settings) -> None:
    page = "<table><tr><td>left<td><h2>Part</h2><p>One.</p></td></tr><tr><td>a<td>b</table>"
    assert texts(read(put(tmp_path, "a.html", page), settings)) == ["left", "One.", "a", "b"]


@pytest.mark.parametrize(
    "declaration", ['<meta charset="windows-1251">', "<meta http-equiv=x content='text/html; charset=windows-1251'>"]
)
def test_html_is_read_in_the_encoding_it_declares(tmp_path: Path, settings: Settings, declaration: str) -> None:
    page = f"<html><head>{declaration}</head><body><p>Привет</p></body></html>".encode("windows-1251")
    document = read(put(tmp_path, "a.html", page), settings)
    assert document.text == "Привет"
    assert document.metadata["encoding"] == "windows-1251"


def test_a_title_is_one_line_of_what_can_be_seen_whatever_the_file_is_called(tmp_path: Path, settings: Settings) -> None:
    named = read(put(tmp_path, "Mill\x1b[31m\nand\u202eferry\u200b.txt", "The Mill grinds rye."), settings)
    assert named.title == "Mill[31m andferry"
    stated = read(put(tmp_path, "a.html", "<title>Mill &#x202e;and&#x2066; ferry</title><p>The Mill grinds rye."), settings)
    assert stated.title == "Mill and ferry"


# ---------------------------------------------------------------- pdf


def test_pdf_gives_the_text_of_its_pages(tmp_path: Path, settings: Settings) -> None:
    pages = [
        [
            "The archive keeps a copy of every single record that was",
            "ever written. It is encry-",
            "pted at rest.",
            "A new paragraph begins here and",
        ],
        ["Page two has its own."],
    ]
    document = read(put(tmp_path, "a.pdf", files.pdf(pages, "Archive rules", "Ann Lee")), settings)
    assert texts(document) == [
        "The archive keeps a copy of every single record that was ever written. It is encrypted at rest.",
        "A new paragraph begins here and",
        "Page two has its own.",
    ]
    assert document.text[: document.text.index("Page two")].count("\f") == 1
    assert document.title == "Archive rules"
    assert document.metadata == {
        "page_count": 2,
        "author": "Ann Lee",
        "language": "en",
        "file_name": "a.pdf",
        "file_type": "pdf",
    }


def test_pdf_headings_are_not_the_first_words_of_the_paragraph_below(tmp_path: Path, settings: Settings) -> None:
    page = [
        "Incident",  # above a short line: a part of the text
        "report.",
        "Cause",
        "The cause was a field that had been changed from text to number.",
        "After that every report with a letter in it was quietly refused.",
        "Steps 2",
        "A mapping is filled beside the old one, and readers move over to",
        "Ghent when the two agree,",
        "As the minutes of the review said, which are open to everybody.",
    ]
    document = read(put(tmp_path, "a.pdf", files.pdf([page])), settings)
    assert [(b.role, b.headings, document.text[b.start : b.end]) for b in document.blocks] == [
        ("paragraph", (), "Incident report."),
        ("paragraph", ("Cause",), " ".join(page[3:5])),
        ("paragraph", ("Steps 2",), " ".join(page[6:])),
    ]


def test_pdf_without_a_title_is_named_by_its_file(tmp_path: Path, settings: Settings) -> None:
    assert read(put(tmp_path, "report.pdf", files.pdf([["Some text."]])), settings).title == "report"


def test_pdf_encrypted_with_an_empty_password_is_read(tmp_path: Path, settings: Settings) -> None:
    assert read(put(tmp_path, "a.pdf", files.encrypted_pdf([["Some text."]], "")), settings).text == "Some text."


# ---------------------------------------------------------------- docx and xlsx


def test_docx_gives_headings_lists_and_tables_in_order(tmp_path: Path, settings: Settings) -> None:
    body: list[tuple[str, object]] = [
        ("Title", "Store guide"),
        ("Normal", "An introduction."),
        ("Heading 1", "Prices"),
        ("table", [["Name", "Price"], ["Neptune", "0.1"], ["Aurora", ""]]),
        ("List Bullet", "one"),
        ("List Bullet", "two"),
        ("Heading 2", "Nothing"),
        ("Heading 1", "End"),
        ("Normal", "The end."),
    ]
    document = read(put(tmp_path, "a.docx", files.docx(body, author="Ann Lee")), settings)
    guide, prices = ("Store guide",), ("Store guide", "Prices")
    assert parts(document) == [
        ("paragraph", guide, "An introduction."),
        ("table", prices, "Name: Neptune; Price: 0.1"),
        ("table", prices, "Name: Aurora"),
        ("list", prices, "one"),
        ("list", prices, "two"),
        ("heading", prices, "Nothing"),
        ("paragraph", ("Store guide", "End"), "The end."),
    ]
    assert document.title == "Store guide"
    assert document.metadata == {"author": "Ann Lee", "language": "en", "file_name": "a.docx", "file_type": "docx"}


def test_docx_text_in_content_controls_links_and_insertions_is_kept(tmp_path: Path, settings: Settings) -> None:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = """
<w:sdt><w:sdtContent><w:p><w:r><w:t>Controlled.</w:t></w:r></w:p></w:sdtContent></w:sdt>
<w:p><w:r><w:t>A </w:t></w:r><w:hyperlink><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:br/><w:t>and</w:t></w:r>
<w:ins><w:r><w:t xml:space="preserve"> new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>
<w:p><w:r><mc:AlternateContent><mc:Choice><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>twice</w:t></mc:Fallback>
</mc:AlternateContent></w:r></w:p>"""
    xml = f'<?xml version="1.0"?><w:document {w} {mc}><w:body>{body}</w:body></w:document>'.encode()
    data = files.with_part(files.docx([("Normal", "x")], "Title"), "word/document.xml", xml)
    assert texts(read(put(tmp_path, "a.docx", data), settings)) == ["Controlled.", "A link\nand new", "once"]


def test_xlsx_gives_a_heading_a_sheet_and_a_statement_a_row(tmp_path: Path, settings: Settings) -> None:
    from datetime import datetime

    sheets = {
        "People": [
            ["Staff of 2026"],
            [],
            ["Name", "Born", "Active"],
            ["Ann", datetime(1990, 5, 1), True],
            ["Bo", None, False],
        ],
        "Empty": [],
        "Sales": [["Region", 2019, 2020], ["EMEA", 1.5, 2.0]],
        "Pairs": [["Paris", 1], ["Rome", 2]],
    }
    document = read(put(tmp_path, "book.xlsx", files.xlsx(sheets, author="Ann Lee")), settings)
    assert parts(document) == [
        ("paragraph", ("People",), "Staff of 2026"),
        ("row", ("People",), "Name: Ann; Born: 1990-05-01; Active: true"),
        ("row", ("People",), "Name: Bo; Active: false"),
        ("row", ("Sales",), "Region: EMEA; 2019: 1.5; 2020: 2"),
        ("row", ("Pairs",), "Paris; 1"),
        ("row", ("Pairs",), "Rome; 2"),
    ]
    assert document.title == "book"


# ---------------------------------------------------------------- csv


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.csv", "|")])
def test_csv_rows_read_as_statements_whatever_parts_them(
    tmp_path: Path, settings: Settings, name: str, delimiter: str
) -> None:
    rows = [
        ["Name", "City", "Note"],
        ["Ann", "Paris", f'"likes{delimiter} ""this"""'],
        ["", "", ""],
        ["Bo", "", '"two\nlines"'],
    ]
    document = read(put(tmp_path, name, "\r\n".join(delimiter.join(row) for row in rows)), settings)
    assert parts(document) == [
        ("row", (), f'Name: Ann; City: Paris; Note: likes{delimiter.strip()} "this"'),
        ("row", (), "Name: Bo; Note: two lines"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("sep=;\nName;City\nAnn;Paris\n", ["Name: Ann; City: Paris"]),
        ("Ann,31\nBo,44\n", ["Ann; 31", "Bo; 44"]),
        ("one\ntwo\n", ["one", "two"]),
        ("What is it?,A store.\nHow much?,Little.\n", ["What is it?; A store.", "How much?; Little."]),
        ("Name,City\n", ["Name; City"]),
        ("Name,City\nAnn,Paris,extra\n", ["Name: Ann; City: Paris; extra"]),
        ("pot,4/tin\npan,12/tin\nlid,7/clay\n", ["pot; 4/tin", "pan; 12/tin", "lid; 7/clay"]),
        ("Bo,bo@pots.example\nAnn,ann@lids.example\n", ["Bo; bo@pots.example", "Ann; ann@lids.example"]),
        ("Pot,Q1 2026,Q2 2026\ntin,3,4\n", ["Pot: tin; Q1 2026: 3; Q2 2026: 4"]),
        ("Issue,Owner,Label,Label\nK-1,Ann,tin,red\n", ["Issue: K-1; Owner: Ann; Label: tin; Label: red"]),
        (
            "Pot,Sold,,Owner\n,2025,2026,\ntin,3,4,Ann\n",
            ["Pot: tin; Sold 2025: 3; Sold 2026: 4; Owner: Ann"],
        ),
        (",Q1,,Q2\nPot,plan,actual,plan\ntin,3,4,5\n", ["Pot: tin; Q1 plan: 3; Q1 actual: 4; Q2 plan: 5"]),
        ("tin,,Ann\npan,red,Bo\nlid,blue,Cy\n", ["tin; Ann", "pan; red; Bo", "lid; blue; Cy"]),
        ("tin,,3\npan,2,4\nlid,1,5\n", ["tin; 3", "pan; 2; 4", "lid; 1; 5"]),
        ("Pot,Lid,red,red\nPan,Cap,red,blue\n", ["Pot; Lid; red; red", "Pan; Cap; red; blue"]),
    ],
)
def test_csv_has_a_header_only_when_its_first_row_reads_as_one(
    tmp_path: Path, settings: Settings, source: str, expected: list[str]
) -> None:
    assert texts(read(put(tmp_path, "a.csv", source), settings)) == expected


# ---------------------------------------------------------------- json


def test_json_is_paths_and_values(tmp_path: Path, settings: Settings) -> None:
    value = {
        "name": "Shop",
        "version": 3,
        "settings": {"db": {"host": "h", "open": True}, "tags": ["a", "b"]},
        "orders": [{"customer": "Ann", "lines": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}]}, {"customer": "Bo"}],
        "about": "A long text. " * 20,
        "grid": [[1, 2], [3, 4]],
        "nothing": {},
        "null": None,
    }
    document = read(put(tmp_path, "a.json", json.dumps(value)), settings)
    assert document.title == "Shop"
    assert parts(document) == [
        ("row", (), "name: Shop; version: 3"),
        ("row", ("settings",), "tags: a, b"),
        ("row", ("settings", "db"), "host: h; open: true"),
        ("row", ("orders",), "customer: Ann"),
        ("row", ("orders", "lines"), "sku: x; n: 1"),
        ("row", ("orders", "lines"), "sku: y; n: 2"),
        ("row", ("orders",), "customer: Bo"),
        ("paragraph", ("about",), ("A long text. " * 20).strip()),
        ("row", ("grid",), "1, 2"),
        ("row", ("grid",), "3, 4"),
    ]


def test_a_json_object_with_a_text_is_one_document(tmp_path: Path, settings: Settings) -> None:
    document = read(put(tmp_path, "a.json", '{"id": 7, "title": "T", "text": "Body.", "year": 2020}'), settings)
    assert (document.title, document.text, document.metadata["year"], document.metadata["id"]) == ("T", "Body.", 2020, 7)
    assert document.uri == (tmp_path / "a.json").resolve().as_uri()


# ---------------------------------------------------------------- many documents in a file

RECORDS: list[dict[str, object]] = [
    {"id": "m1", "title": "First", "text": "One.\n\nTwo.", "year": 2020, "tags": ["x"], "score": None, "draft": False},
    {"id": 2, "title": "Second", "text": "Three."},
    {"text": "No id, no title."},
]


def many(path: Path, settings: Settings) -> list[LoadedDocument | Rejected]:
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    return list(load(item, settings))


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz", "c.ndjson", "c.json"])
def test_records_are_documents_of_their_own(tmp_path: Path, settings: Settings, name: str) -> None:
    lines = "\n".join(json.dumps(record) for record in RECORDS).encode()
    data = json.dumps(RECORDS).encode() if name == "c.json" else gzip.compress(lines) if name.endswith("gz") else lines
    path = put(tmp_path, name, data)
    first, second, third = many(path, settings)
    assert isinstance(first, LoadedDocument) and isinstance(second, LoadedDocument) and isinstance(third, LoadedDocument)
    uri = path.resolve().as_uri()
    place = "item=3" if name == "c.json" else "line=3"
    assert [d.uri for d in (first, second, third)] == [f"{uri}#m1", f"{uri}#2", f"{uri}#{place}"]
    assert [d.title for d in (first, second, third)] == ["First", "Second", f"c, {place.replace('=', ' ')}"]
    kind = FILE_TYPES[Path(name.removesuffix(".gz")).suffix]
    assert first.metadata == {"id": "m1", "year": 2020, "draft": False, "file_name": name, "file_type": kind}
    assert second.metadata["id"] == 2
    assert texts(first) == ["One.", "Two."]


@pytest.mark.parametrize("name", ["tickets.jsonl", "tickets.jsonl.gz"])
def test_json_lines_without_a_text_are_rows_of_one_document(tmp_path: Path, settings: Settings, name: str) -> None:
    data = b'{"id": 1, "state": "open"}\n\n{"id": 2, "tags": ["vat", "due"]}\n'
    (document,) = many(put(tmp_path, name, gzip.compress(data) if name.endswith("gz") else data), settings)
    assert isinstance(document, LoadedDocument)
    assert (document.title, texts(document)) == ("tickets", ["id: 1; state: open", "id: 2; tags: vat, due"])
    (rejected,) = many(put(tmp_path, "cut.jsonl", b'{"id": 1}\n' * 20 + b'{"id": 2'), settings)
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "line 21 is not valid JSON at column 9"


@pytest.mark.parametrize(
    ("file", "text", "title"),
    [
        ("click/types.py", "LIMIT = 1\n", "click/types.py"),
        ("click/src/index.ts", "const LIMIT = 1;\n", "click/src/index.ts"),
        ("click/CHANGELOG.md", "# Changelog\n\n## 2.0\n\nDrops old pythons.\n", "click Changelog"),
        ("click/README", "Asks users for confirmation.\n", "click README"),
        ("docs/click-CHANGES.md", "# Changes\n\nDrops old pythons.\n", "click-CHANGES Changes"),
        ("click/CHANGELOG.md", "# What click does anew\n\nIt asks.\n", "What click does anew"),
    ],
)
def test_code_and_what_every_package_has_is_called_with_its_folder(
    tmp_path: Path, settings: Settings, file: str, text: str, title: str
) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (document,) = many(path, settings)
    assert isinstance(document, LoadedDocument)
    assert document.title == title


@pytest.mark.parametrize(
    ("uri", "title"),
    [
        ("upload://default/README", "README"),
        ("upload://default/click/README", "click README"),
        ("s3://papers/acme/default/README", "README"),
        ("s3://papers/acme/default/click/README", "click README"),
    ],
)
def test_a_namespace_is_no_folder(tmp_path: Path, settings: Settings, uri: str, title: str) -> None:
    path = tmp_path / "README"
    path.write_text("Asks users for confirmation.\n")
    (document,) = load(FileItem(path, uri, "txt"), settings)
    assert isinstance(document, LoadedDocument)
    assert document.title == title


@pytest.mark.parametrize(
    ("name", "data", "title"),
    [
        ("harbour.md", b"# The harbour\n\nSeals rest on the pier.\n", "The harbour"),
        ("piers.txt", b"Seals rest on the pier.\n", "piers"),
        ("pier.log", b"Seals rest on the pier.\n", "pier.log"),
        ("seals.json", b'[{"id": "s1", "text": "Seals rest on the pier."}]', "s1"),
        (
            "seals.1",
            b".Dd May 1, 2026\n.Dt SEALS 1\n.Sh NAME\n.Nm seals\n.Nd rest on the pier\n",
            "seals(1) - rest on the pier",
        ),
    ],
)
def test_a_packed_file_is_read_as_what_it_packs(
    tmp_path: Path, settings: Settings, name: str, data: bytes, title: str
) -> None:
    (plain,) = many(put(tmp_path, name, data), settings)
    path = put(tmp_path, f"{name}.gz", gzip.compress(data))
    (packed,) = many(path, settings)
    assert isinstance(plain, LoadedDocument) and isinstance(packed, LoadedDocument)
    assert (packed.title, packed.text, packed.blocks) == (title, plain.text, plain.blocks)
    assert packed.metadata == {**plain.metadata, "file_name": f"{name}.gz"}
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    if item.type != "json":
        assert packed.fingerprint == fingerprint(item, settings)


@pytest.mark.parametrize("said", ["", " \n"])
def test_a_record_with_an_empty_title_has_none(tmp_path: Path, settings: Settings, said: str) -> None:
    records = [{"id": "m1", "title": said, "text": "One."}, {"id": "m2", "title": None, "text": "Two."}]
    found = many(put(tmp_path, "c.jsonl", "\n".join(map(json.dumps, records))), settings)
    assert [d.title for d in found if isinstance(d, LoadedDocument)] == ["", "m2"]


def test_the_fingerprint_of_a_record_follows_its_own_line(tmp_path: Path, settings: Settings) -> None:
    lines = [json.dumps(record) for record in RECORDS[:2]]
    before = many(put(tmp_path, "c.jsonl", "\n".join(lines)), settings)
    after = many(put(tmp_path, "c.jsonl", "\n".join([lines[0], lines[1].replace("Three", "Four")])), settings)
    prints = [[d.fingerprint for d in run if isinstance(d, LoadedDocument)] for run in (before, after)]
    assert prints[0][0] == prints[1][0]
    assert prints[0][1] != prints[1][1]


def test_records_are_read_while_the_file_is(tmp_path: Path, settings: Settings) -> None:
    """The first document comes before the last line is parsed: a damaged end loses only itself."""
    whole = gzip.compress(b"".join(json.dumps({"id": i, "text": "word " * 50}).encode() + b"\n" for i in range(2_000)))
    found = many(put(tmp_path, "c.jsonl.gz", whole[: len(whole) // 2]), settings)
    assert isinstance(found[0], LoadedDocument)
    assert len(found) > 500
    assert isinstance(found[-1], Rejected)
    assert found[-1].reason == "is damaged and cannot be decompressed"


def test_metadata_is_what_every_store_can_hold(tmp_path: Path, settings: Settings) -> None:
    line = '{"text": "x", "a\\u0000b": "c\\ud800d", "big": 12345678901234567890, "nan": NaN, "inf": 1e999, "long": "%s"}'
    (document,) = many(put(tmp_path, "c.jsonl", line % ("y" * 9_000)), settings)
    assert isinstance(document, LoadedDocument)
    kept = {key: value for key, value in document.metadata.items() if not key.startswith("file_")}
    assert kept == {"ab": "c\ufffdd", "big": "12345678901234567890", "long": "y" * 2_000}


def test_offsets_of_all_formats_point_into_the_text(tmp_path: Path, settings: Settings) -> None:
    samples: dict[str, bytes] = {
        "a.md": MARKDOWN.encode(),
        "a.html": HTML.encode(),
        "a.pdf": files.pdf([["One."], ["Two."]]),
        "a.docx": files.docx([("Heading 1", "H"), ("Normal", "text")]),
        "a.xlsx": files.xlsx({"S": [["a", "b"], [1, 2]]}),
        "a.odt": files.opendocument("text", "<text:h>H</text:h><text:p>text</text:p>"),
        "a.xls": files.xls({"S": [["a", "b"], [1, 2]]}),
        "a.pptx": files.pptx([files.shape("One.", "title"), files.shape("Two.")]),
        "a.epub": files.epub(["<h1>H</h1><p>text</p>"]),
        "a.csv": b"a,b\n1,2\n",
        "a.json": b'{"a": {"b": 1}}',
        "a.txt": b"Title\n\ntext",
    }
    for name, data in samples.items():
        document = read(put(tmp_path, name, data), settings)
        ends = [0]
        for block in document.blocks:
            assert ends[-1] <= block.start < block.end <= len(document.text), name
            assert document.text[block.start : block.end].strip(), name
            ends.append(block.end)
        assert "\r" not in document.text, name


# ---------------------------------------------------------------- keys

PRIVATE_KEY = (
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{'b3BlbnNza' * 7}\n{'AAAAB3Nza' * 7}\n-----END OPENSSH PRIVATE KEY-----\n"
)


@pytest.mark.parametrize("name", ["key.txt", "flow.md", "settings.yaml", "page.html", "notes.1"])
@pytest.mark.parametrize("before", ["", "The key of the laptop is "])
def test_a_file_that_holds_a_key_is_refused_without_it(tmp_path: Path, settings: Settings, name: str, before: str) -> None:
    secret, _ = new_key("default", ["admin"])
    (told,) = load(item(put(tmp_path, name, f"{before}{secret}\n")), settings)
    assert "contains an API key" in str(told)
    assert secret not in str(told)


def test_a_key_is_found_in_whatever_encoding_and_in_the_text_of_an_office_file(tmp_path: Path, settings: Settings) -> None:
    secret, _ = new_key("default", ["admin"])
    for path in (
        put(tmp_path, "wide.txt", f"The key is {secret}.".encode("utf-16")),
        put(tmp_path, "memo.docx", files.docx([("Heading 1", "Keys"), ("Normal", f"The key is {secret}.")])),
        put(tmp_path, "id.txt", PRIVATE_KEY),
    ):
        (told,) = load(item(path), settings)
        assert "contains an API key" in str(told), path.name


ENCRYPTED = PRIVATE_KEY.replace("OPENSSH", "RSA").replace(
    "-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,4D1F0C\n\n", 1
)


@pytest.mark.parametrize("key", [PRIVATE_KEY.replace("\n", "\\n"), PRIVATE_KEY.replace("\n", "\\r\\n"), ENCRYPTED])
def test_a_private_key_is_found_with_its_line_ends_written_out_and_with_its_cipher(
    tmp_path: Path, settings: Settings, key: str
) -> None:
    (told,) = load(item(put(tmp_path, "settings.md", f"private_key: {key}\n")), settings)
    assert "contains an API key or private key" in str(told)


def test_of_records_only_those_with_a_key_are_refused(tmp_path: Path, settings: Settings) -> None:
    secret, _ = new_key("default", ["admin"])
    lines = [
        {"id": "a", "text": "Mira Holm signs."},
        {"id": "b", "text": f"Use {secret}"},
        {"id": "c", "text": "Tove reads."},
    ]
    found = list(load(item(put(tmp_path, "talk.jsonl", "\n".join(map(json.dumps, lines)))), settings))
    assert [isinstance(each, LoadedDocument) for each in found] == [True, False, True]


def test_what_only_tells_of_keys_is_read(tmp_path: Path, settings: Settings) -> None:
    text = (
        "A key begins with lxk_, `lexigraph keys revoke lxk_5554b5e1` revokes one.\n\n"
        "A file of OpenSSL begins with\n\n-----BEGIN PRIVATE KEY-----\n\nand ends with\n\n-----END PRIVATE KEY-----\n"
    )
    assert "revokes one" in read(put(tmp_path, "keys.md", text), settings).text


def test_a_file_is_not_blamed_for_a_disk_that_takes_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Tar an oiche anuas ar an mbaile beag. " * 5)
    script = (
        "import resource, sys; from pathlib import Path; from lexigraph.ingestion.load import FileItem, known_type, load\n"
        "from lexigraph.settings import Settings\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "(found,) = load(FileItem(Path(sys.argv[1]), 'a.txt', known_type('a.txt')), Settings()); print(found.reason)"
    )
    told = subprocess.run(
        [sys.executable, "-B", "-c", script, tmp_path / "a.txt"], capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout == "needs a temporary file: file too large; free some space (TMPDIR), then run it again\n"
