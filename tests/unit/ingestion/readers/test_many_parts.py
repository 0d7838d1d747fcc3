"""Files of few characters and many parts, which would fill the memory: refused with the limit, while they are read."""

import base64
import gzip
import io
import re
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

from lexigraph.ingestion.load import FileItem, Rejected, known_type, load
from lexigraph.model.document import LoadedDocument
from lexigraph.settings import Settings, load_settings
from tests import files

FEW = load_settings(max_parts=100)
PAGE = "<html><body>{}</body></html>"


def read(folder: Path, name: str, content: str | bytes, settings: Settings) -> list[LoadedDocument | Rejected]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(load(FileItem(path, path.as_uri(), known_type(name)), settings))


def refusal(folder: Path, name: str, content: str | bytes, settings: Settings) -> str:
    """Why nothing, or nothing more, of a file is read."""
    last = read(folder, name, content, settings)[-1]
    assert isinstance(last, Rejected), last
    return last.reason


def paragraphs(count: int) -> bytes:
    return files.docx([("Normal", "a")] * count)


def of_pdf(content: str) -> bytes:
    return files.pdf([[content]])


STRINGS = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + b"<si><t>a</t></si>" * 301 + b"</sst>"
MANY = {
    "lines.txt": ("a\n" * 101, "100 lines"),
    "ends.txt": ("a\x0b" * 101, "100 lines"),
    "sentences.txt": ("Ann sat. " * 102, "100 sentences"),
    "lines.log": ("a\n" * 101, "100 lines"),
    "lines.rst": ("- a\n" * 101, "100 lines"),
    "lines.adoc": ("* a\n" * 101, "100 lines"),
    "lines.eml": ("Subject: a\n\n" + "a\n" * 301, "300 lines of a message"),
    "parts.eml": ("Subject: a\n\n" + "--b\n\n" * 16, "300 lines of a message"),
    "messages.mbox": ("From a 1:01 2024\nSubject: a\n\na\n\n" * 101, "100 records"),
    "lines.py": ("a = 1\n" * 101, "100 lines"),
    "lines.3": (".B a\n" * 101, "100 lines"),
    "lines.md": ("a\n" * 101, "100 lines"),
    "items.md": ("- a\n" * 40, "100 lines and signs of Markdown"),
    "emphasis.md": ("*a* " * 60, "100 lines and signs of Markdown"),
    "rows.csv": ("a,b\n" * 102, "100 paragraphs and rows"),
    "cells.csv": (("a," * 9 + "\n") * 101, "1,000 cells"),
    "row.csv": ("a," * 11, "1,000 cells"),
    "lists.json": ("[" + "[]," * 100 + "1]", "100 lists and objects"),
    "objects.json": ("[" + '{"a": 1},' * 100 + "1]", "100 lists and objects"),
    "records.jsonl": ('{"text": "Ann sat."}\n' * 101, "100 records"),
    "lists.jsonl": ('{"text": "a", "b": [' + "[]," * 100 + "1]}", "100 lists and objects"),
    "keys.json": ("{" + ",".join(f'"{n}":0' for n in range(301)) + "}", "300 keys"),
    "keys.jsonl": ('{"text": "a",' + ",".join(f'"{n}":0' for n in range(300)) + "}", "300 keys"),
    "lists.ipynb": ('{"cells": [' + "[]," * 100 + "1]}", "100 lists and objects"),
    "lines.ipynb": ('{"cells": [{"cell_type": "code", "source": "' + "a\\n" * 102 + '"}]}', "100 lines"),
    "marks.ipynb": (
        '{"cells": [{"cell_type": "markdown", "source": "' + "*a* " * 60 + '"}]}',
        "100 lines and signs of Markdown",
    ),
    "lines.vtt": ("00:00:01.000 --> 00:00:02.000\n" * 101, "100 lines"),
    "clauses.txt": ("a,b;c:" * 2_000, "200 clauses"),
    "clauses.scss": ("a{b:c}" * 2_000, "200 clauses"),
    "elements.html": (PAGE.format("<b>" * 201), "200 tags and attributes"),
    "attributes.html": (PAGE.format("<p a b=1 c='2'/d>x</p>" * 41), "200 tags and attributes"),
    "page.epub": (files.epub(["<p>a</p>" * 201]), "200 tags and attributes"),
    "paragraphs.docx": (paragraphs(101), "300 tags"),
    "rows.xlsx": (files.xlsx({"S": [["a", "b"]] * 102}), "100 paragraphs and rows"),
    "cells.xlsx": (files.xlsx({"S": [["a", *[None] * 20, "b"]] * 60}), "1,000 cells"),
    "strings.xlsx": (files.with_part(files.xlsx({"S": [["a"]]}), "xl/sharedStrings.xml", STRINGS), "300 strings"),
    "rows.xls": (files.xls({"S": [["a", "b"]] * 102}), "100 paragraphs and rows"),
    "cells.xls": (files.xls({"S": [[1] * 200] * 6}), "1,000 cells"),
    "strings.xls": (files.xls_of(files.record(0xFC, struct.pack("<II", 1, 301) + b"\1\0\0a" * 301), {}), "300 strings"),
    "rows.ods": (files.ods(*["<table:table-cell><text:p>a</text:p></table:table-cell>"] * 101), "100 paragraphs and rows"),
    "cells.ods": (
        files.ods(
            *[
                "<table:table-cell table:number-columns-repeated='50'/>" + "<table:table-cell><text:p>a</text:p>"
                "</table:table-cell>"
            ]
            * 21
        ),
        "1,000 cells",
    ),
    "paragraphs.odt": (files.opendocument("text", "<text:p>a</text:p>" * 201), "300 tags"),
    "row.xlsx": (files.xlsx({"S": [["a"] * 2_000]}), "300 tags"),
    "shapes.pptx": (files.pptx([files.shape("a") * 40]), "300 tags"),
    "operands.pdf": (of_pdf("a " * 301), "300 operands of a page"),
    "forms.pdf": (files.pdf_of_forms("a", times=4, depth=1), "300 operands of a page"),
    "pages.pdf": (files.pdf([["a " * 100]] * 101), "10,000 operands of all pages"),
}


@pytest.mark.parametrize("name", MANY)
def test_more_parts_than_the_limit_are_refused_in_every_format(tmp_path: Path, name: str) -> None:
    content, kind = MANY[name]
    assert refusal(tmp_path, name, content, FEW) == f"has more than {kind} (max_parts): split it or raise the limit"
    assert "max_parts" not in str(read(tmp_path, name, content, load_settings(max_parts=100_000)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "a\n" * 750_001),
        ("a.md", "- a\n" * 250_001),
        ("a.json", "[" + "[]," * 750_001 + "1]"),
        ("a.html", "<b>" * 1_500_001),
        ("a.csv", "1," * 75_001),
    ],
)
def test_so_it_is_as_the_limit_is_set_by_default(tmp_path: Path, name: str, content: str) -> None:
    assert refusal(tmp_path, name, content, load_settings()).endswith("(max_parts): split it or raise the limit")


def test_a_page_that_draws_forms_in_forms_is_refused_by_how_often_they_are_drawn(tmp_path: Path) -> None:
    told = refusal(tmp_path, "a.pdf", files.pdf_of_forms("a", times=10, depth=7), load_settings())
    assert told == "has more than 2,250,000 operands of a page (max_parts): split it or raise the limit"
    (document,) = read(tmp_path, "b.pdf", files.pdf_of_forms("Ann sat.", times=1, depth=7), load_settings())
    assert isinstance(document, LoadedDocument)
    assert document.text == "Ann sat."


def test_the_text_of_a_pdf_is_counted_while_it_is_drawn(tmp_path: Path) -> None:
    book = files.pdf([["a" * 500] * 20] * 3)  # one line on the other would be one line
    assert refusal(tmp_path, "a.pdf", book, load_settings(max_text_chars=29_000)).startswith(
        "has more than 29,000 characters"
    )
    same = files.pdf_of_forms("a" * 100, times=20, depth=2)
    assert refusal(tmp_path, "b.pdf", same, load_settings(max_text_chars=1_000)).startswith("has more than 1,000 characters")


def test_short_rows_below_a_long_header_are_read_at_once(tmp_path: Path) -> None:
    header = ",".join(f"c{number}" for number in range(70_000))
    (document,) = read(tmp_path, "a.csv", f"{header}\n" + "1\n" * 20_000, load_settings(max_read_seconds=5))
    assert isinstance(document, LoadedDocument)
    assert document.text.startswith("c0: 1\nc0: 1\n")


def test_brackets_in_texts_of_json_are_no_lists(tmp_path: Path) -> None:
    (document,) = read(
        tmp_path, "a.json", '{"text": "' + r"A \"[\" and a {. " * 101 + '"}', FEW.model_copy(update={"max_parts": 150})
    )
    assert isinstance(document, LoadedDocument)


def test_parts_that_are_read_one_after_the_other_may_have_more_tags_than_one_at_once(tmp_path: Path) -> None:
    slides = files.pptx([files.shape("a")] * 20)
    assert isinstance(read(tmp_path, "a.pptx", slides, load_settings(max_parts=400))[0], LoadedDocument)
    assert "tags" in refusal(tmp_path, "b.pptx", files.pptx([files.shape("a")] * 200), load_settings(max_parts=400))


def test_marks_in_texts_of_json_are_no_keys_and_escapes_are_one_character(tmp_path: Path) -> None:
    (document,) = read(
        tmp_path, "a.json", '{"text": "' + "at 10:30 " * 400 + '"}', FEW.model_copy(update={"max_parts": 200})
    )
    assert isinstance(document, LoadedDocument)
    few = load_settings(max_text_chars=1_000)
    for name, written in {"b.json": r"\u00e9" * 999, "c.json": r"\ud83d\ude00" * 999, "d.json": r"\"" * 999}.items():
        (document,) = read(tmp_path, name, f'["{written}"]', few)
        assert isinstance(document, LoadedDocument), document
        assert len(document.text) == 999


def peak(folder: Path, name: str, content: str | bytes, settings: Settings) -> int:
    """How many bytes the refusal of a file takes at most."""
    tracemalloc.start()
    try:
        assert refusal(folder, name, content, settings)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_too_long_a_text_in_json_is_refused_before_it_is_a_value(tmp_path: Path) -> None:
    settings = load_settings(max_text_chars=200_000, max_parts=7_500, max_file_bytes=2_000_000)
    text = '["\N{GRINNING FACE}' + "a b. " * 200_000 + '"]'
    told = refusal(tmp_path, "a.json", text, settings)
    assert told == "has more than 200,000 characters of text (max_text_chars): split it or raise the limit"
    assert peak(tmp_path, "b.json", text, settings) < 10_000_000  # a file of 1 MB; 40 times as much before
    keys = "{" + ",".join(f'"{number}":0' for number in range(80_000)) + "}"
    assert peak(tmp_path, "c.json", keys, settings) < 10_000_000


@pytest.mark.parametrize(("name", "content"), [("a.html", "<" * 200_000), ("b.html", "&amp;" * 40_000)])
def test_signs_that_a_page_shows_take_no_more_than_its_text(tmp_path: Path, name: str, content: str) -> None:
    tracemalloc.start()
    try:
        (document,) = read(tmp_path, name, content, load_settings(max_file_bytes=300_000))
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(document, LoadedDocument)
    assert set(document.text) <= {"<", "&"}
    assert taken < 9_000_000  # more than 70 bytes a sign before


def test_a_long_rule_takes_no_more_than_its_text(tmp_path: Path) -> None:
    assert peak(tmp_path, "a.txt", "." * 200_000, load_settings(max_file_bytes=300_000)) < 5_000_000


def test_a_value_that_a_sheet_repeats_is_counted_before_it_is_written_as_often(tmp_path: Path) -> None:
    settings = load_settings(max_text_chars=500_000, max_file_bytes=1_000_000)
    cell = "<table:table-cell table:number-columns-repeated='{}'><text:p>" + "a b " * 50_000 + "</text:p></table:table-cell>"
    told = "has more than 500,000 characters of text (max_text_chars): split it or raise the limit"
    assert refusal(tmp_path, "a.ods", files.ods(cell.format(1_000)), settings) == told
    assert peak(tmp_path, "b.ods", files.ods(cell.format(1_000)), settings) < 10_000_000  # 400 MB before
    table = f"<table:table><table:table-row>{cell.format(64)}</table:table-row><table:table-row/></table:table>"
    assert refusal(tmp_path, "a.odt", files.opendocument("text", table), settings) == told
    strings = STRINGS.partition(b"<si>")[0] + b"<si><t>" + b"a b " * 50_000 + b"</t></si></sst>"
    row = STRINGS[5:].partition(b">")[0].join((b"<worksheet ", b"><sheetData><row>")) + b'<c t="s"><v>0</v></c>' * 1_000
    many = files.with_part(files.xlsx({"S": [["a"]]}), "xl/sharedStrings.xml", strings)
    many = files.with_part(many, "xl/worksheets/sheet1.xml", row + b"</row></sheetData></worksheet>")
    assert refusal(tmp_path, "a.xlsx", many, settings) == told
    assert isinstance(read(tmp_path, "c.ods", files.ods(cell.format(2)), settings)[0], LoadedDocument)


@pytest.mark.parametrize(
    ("name", "whole", "part", "around"),
    [
        ("a.docx", files.docx([("Normal", "a")]), "word/document.xml", b"<w:t>a</w:t>"),
        (
            "a.xlsx",
            files.with_part(files.xlsx({"S": [["a"]]}), "xl/sharedStrings.xml", STRINGS),
            "xl/sharedStrings.xml",
            b"<t>a</t>",
        ),
    ],
)
def test_the_text_of_office_files_is_counted_before_it_is_put_together(
    tmp_path: Path, name: str, whole: bytes, part: str, around: bytes
) -> None:
    settings = load_settings(max_text_chars=1_000_000, max_file_bytes=1_000_000, max_archive_ratio=10_000)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        xml = archive.read(part)
    begin, end = around.split(b"a</")[0], b"</" + around.split(b"</")[1]
    many = around.replace(b"a<", "\N{GRINNING FACE}<".encode()) + (begin + b"a" * 2_000_000 + end) * 10
    file = files.with_part(whole, part, xml.replace(around, many, 1))
    assert refusal(tmp_path, name, file, settings).startswith("has more than 1,000,000 characters of text (max_text_chars)")
    assert peak(tmp_path, f"b{name}", file, settings) < 30_000_000  # 270 and 100 MB before


def test_lists_of_a_word_file_are_as_deep_as_word_makes_them(tmp_path: Path) -> None:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    levels = "".join(f'<w:lvl w:ilvl="{n}"><w:numFmt w:val="decimal"/></w:lvl>' for n in range(1_000))
    lists = "".join(f'<w:num w:numId="{n}"><w:abstractNumId w:val="0"/></w:num>' for n in range(1_000))
    numbering = f'<w:numbering {word}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>{lists}</w:numbering>'
    file = files.with_part(files.docx([("List Number", "a")]), "word/numbering.xml", numbering.encode())
    tracemalloc.start()
    try:
        (document,) = read(tmp_path, "a.docx", file, load_settings(max_file_bytes=1_000_000))
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(document, LoadedDocument)
    assert document.text.endswith("a")
    assert taken < 40_000_000  # each level of each list, 130 MB, before


def test_a_line_of_records_is_read_no_further_than_a_record_may_be_long(tmp_path: Path) -> None:
    settings = load_settings(max_text_chars=10_000, max_parts=10_000)
    long = '{"text": "' + "a" * 5_000_000 + '"}\n'
    told = "has more than 70,000 bytes (max_text_chars): split it or raise the limit"
    good = '{"text": "Ann sat."}\n'
    first, second, third = read(tmp_path, "a.jsonl", good + long + good, settings)
    assert isinstance(first, LoadedDocument)
    assert isinstance(third, LoadedDocument)
    assert isinstance(second, Rejected)
    assert (second.path.endswith(", line 2"), second.reason, third.uri.rpartition("#")[2]) == (True, told, "line=3")
    packed = gzip.compress((good + long).encode())
    assert peak(tmp_path, "b.jsonl.gz", packed, settings.model_copy(update={"max_archive_ratio": 10_000})) < 2_000_000


def test_packed_records_are_refused_by_how_much_they_unpack_to(tmp_path: Path) -> None:
    bomb = gzip.compress(b'{"text": "' + b"a" * 50_000_000)  # whose line never ends
    told = "exceeds the maximum compression ratio (max_archive_ratio): decompress it first"
    assert refusal(tmp_path, "a.jsonl.gz", bomb, load_settings(max_text_chars=100_000)) == told


def test_a_book_of_more_pages_than_the_limit_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, "a.epub", files.epub(["<p>a</p>"] * 4), load_settings(max_pages=3))
    assert told == "has 4 pages, the limit is 3 (max_pages): split it or raise the limit"


def test_a_page_of_a_book_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    told = refusal(tmp_path, "a.epub", files.epub(["<p>" + " " * 5_000 + "a</p>"]), load_settings(max_text_chars=1_000))
    assert told == "has more than 1,000 characters of text (max_text_chars): split it or raise the limit"


def test_a_book_that_shows_one_page_again_and_again_is_refused(tmp_path: Path) -> None:
    page = b"<html><body>" + b" " * 100_000 + b"<p>a</p></body></html>"
    book = files.epub(["<p>a</p>"] * 30)
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        same = re.sub(r'idref="p\d+"', 'idref="p0"', archive.read("OEBPS/book.opf").decode())
    hostile = files.with_part(files.with_part(book, "OEBPS/text/part 0.xhtml", page), "OEBPS/book.opf", same.encode())
    told = refusal(tmp_path, "a.epub", hostile, load_settings(max_archive_bytes=2_000_000))
    assert told == "has pages of more than 2,000,000 bytes (max_archive_bytes): split it"


def test_elements_nested_too_deep_are_refused_with_the_limit(tmp_path: Path) -> None:
    deep = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">' + "<w:sdt>" * 300
    hostile = files.with_part(paragraphs(1), "word/document.xml", deep.encode())
    assert refusal(tmp_path, "a.docx", hostile, load_settings()).startswith("nests elements more than 256 levels deep")
    assert refusal(tmp_path, "a.html", "<div>" * 600 + "a", load_settings()) == "nests elements more than 500 levels deep"
    assert refusal(tmp_path, "a.json", "[" * 100_000, load_settings()) == "is nested too deeply"


def test_letters_of_ascii85_are_decoded_up_to_a_limit_also_behind_other_filters(tmp_path: Path) -> None:
    shown = base64.a85encode(b"BT /F1 9 Tf 9 9 Td (Ann sat.) Tj ET")
    for number, zeros in enumerate((1_000, 2_000_000)):
        packed = zlib.compress(b"z" * zeros + shown + b"~>")
        file = files.pdf_of_filters(packed, "FlateDecode", "ASCII85Decode")
        assert len(file) < 5_000
        if number:
            assert "no page can be read" in refusal(tmp_path, "a.pdf", file, load_settings())
        else:
            (document,) = read(tmp_path, "b.pdf", file, load_settings())
            assert document.text == "Ann sat."
