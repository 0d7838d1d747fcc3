"""Bad input: each gets one clear line, nothing is raised or printed, and the rest goes on."""

import gzip
import json
import logging
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexigraph.ingestion.load import FileItem, Rejected, fingerprint, load, scan
from lexigraph.model.document import LoadedDocument
from lexigraph.settings import Settings, load_settings
from tests import files

DOCX = files.docx([("Heading 1", "Head"), ("Normal", "Some text.")])
ODT = files.opendocument("text", "<text:h>Head</text:h><text:p>Some text.</text:p>")
PPTX = files.pptx([files.shape("Some text.")])
EPUB = files.epub(["<p>Some text.</p>"])
XLSX = files.xlsx({"Sheet": [["Name", "City"], ["Ann", "Paris"]]})
SECRET = "Sesame"


@pytest.fixture
def settings() -> Settings:
    return load_settings()


@pytest.fixture(autouse=True)
def _silence(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No library writes to the terminal or to the log, whatever it was given."""
    with caplog.at_level(logging.WARNING):
        yield
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def found(paths: list[Path], settings: Settings) -> list[LoadedDocument | Rejected]:
    """What scanning and loading these paths gives, in order."""
    result: list[LoadedDocument | Rejected] = []
    for item in scan(paths):
        result += [item] if isinstance(item, Rejected) else load(item, settings)
    return result


def reason(path: Path, settings: Settings) -> str:
    """The one line that a path gives instead of a document."""
    (rejected,) = found([path], settings)
    assert isinstance(rejected, Rejected), rejected
    assert rejected.path == str(path)
    assert "\n" not in str(rejected)
    assert SECRET not in rejected.reason
    return rejected.reason


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def documents(results: list[LoadedDocument | Rejected]) -> list[LoadedDocument]:
    return [r for r in results if isinstance(r, LoadedDocument)]


# ---------------------------------------------------------------- paths


def test_a_missing_path_is_said_and_the_rest_is_read(tmp_path: Path, settings: Settings) -> None:
    good = put(tmp_path, "good.txt", b"Some text.")
    results = found([tmp_path / "gone", good, tmp_path / "gone.txt"], settings)
    assert [str(r) for r in results if isinstance(r, Rejected)] == [
        f"{tmp_path}/gone: does not exist",
        f"{tmp_path}/gone.txt: does not exist",
    ]
    assert [d.text for d in documents(results)] == ["Some text."]


def test_a_file_of_unknown_type_is_said_when_it_was_named(tmp_path: Path, settings: Settings) -> None:
    assert reason(put(tmp_path, "a.exe", b"MZ"), settings).startswith("has an unsupported type: use one of txt, ")
    assert found([tmp_path], settings) == []


def test_links_in_a_circle_and_to_nowhere_do_no_harm(tmp_path: Path, settings: Settings) -> None:
    put(tmp_path, "good.txt", b"Some text.")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "me.txt").symlink_to(tmp_path / "me.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    results = found([tmp_path], settings)
    assert [d.text for d in documents(results)] == ["Some text."]
    lines = sorted(str(r).removeprefix(f"{tmp_path}/") for r in results if isinstance(r, Rejected))
    assert lines == [
        "a: cannot be read: too many levels of symbolic links",
        "b: cannot be read: too many levels of symbolic links",
        "gone.txt: does not exist",
        "me.txt: cannot be read: too many levels of symbolic links",
    ]


def test_a_pipe_is_not_waited_for(tmp_path: Path, settings: Settings) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert reason(tmp_path / "pipe.txt", settings) == "is not a regular file"
    assert found([tmp_path], settings) == []


def test_files_and_folders_without_permission_are_said_and_the_rest_is_read(settings: Settings) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        put(folder, "good.txt", b"Some text.").chmod(0o644)
        put(folder, "locked.txt", b"Some text.").chmod(0)
        (folder / "shut").mkdir(0o700)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65_534)  # root may read everything
        else:
            (folder / "shut").chmod(0)
        try:
            results = found([folder], settings)
            (item,) = [i for i in scan([folder / "locked.txt"]) if isinstance(i, FileItem)]
            hashed = fingerprint(item, settings)
        finally:
            if root:
                os.seteuid(0)
            else:
                (folder / "shut").chmod(0o700)
        assert [d.text for d in documents(results)] == ["Some text."]
        denied = "cannot be opened: permission denied"
        lines = [str(r).removeprefix(f"{folder}/") for r in results if isinstance(r, Rejected)]
        assert lines == [f"locked.txt: {denied}", f"shut: {denied}"]
        assert hashed == Rejected(str(folder / "locked.txt"), denied)


def test_a_file_that_goes_away_after_the_scan_is_said(tmp_path: Path, settings: Settings) -> None:
    path = put(tmp_path, "a.txt", b"Some text.")
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    path.unlink()
    assert list(load(item, settings)) == [Rejected(str(path), "does not exist")]
    assert fingerprint(item, settings) == Rejected(str(path), "does not exist")


def test_a_name_that_is_no_utf_8_can_be_shown_and_stored(tmp_path: Path, settings: Settings) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    try:
        path.write_bytes(b"Some text.")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (document,) = documents(found([tmp_path], settings))
    assert document.uri.endswith("/caf%E9.txt")
    assert document.title == "caf\ufffd"
    json.dumps(dict(document.metadata), ensure_ascii=False).encode()


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    "name", ["a.txt", "a.md", "a.pdf", "a.docx", "a.xlsx", "a.pptx", "a.epub", "a.csv", "a.json", "a.jsonl", "a.html"]
)
def test_an_empty_file_is_empty_whatever_its_type(tmp_path: Path, settings: Settings, name: str) -> None:
    assert reason(put(tmp_path, name, b""), settings) == "is empty"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.jsonl", "a.html", "b.json"])
def test_a_file_of_white_space_or_nothing_holds_no_text(tmp_path: Path, settings: Settings, name: str) -> None:
    content = b"{}" if name == "b.json" else b" \n\t\n "
    assert reason(put(tmp_path, name, content), settings) in ("contains no text", "contains no records")


def test_a_file_of_200_megabytes_is_refused_without_being_read(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as stream:
        stream.truncate(200_000_000)
    line = "has 200,000,000 bytes, the limit is 100,000,000 (max_file_bytes): split it or raise the limit"
    assert reason(path, settings) == line
    (item,) = scan([path])
    assert isinstance(item, FileItem)
    assert fingerprint(item, settings) == Rejected(str(path), line)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"word " * 300),
        ("a.md", b"word " * 300),
        ("a.html", b"word " * 300),
        ("a.csv", b"word " * 300),
        ("a.json", json.dumps({"a": "word " * 300}).encode()),
        ("a.pdf", files.pdf([["word " * 20]] * 15)),
        ("a.docx", files.docx([("Normal", "word " * 300)])),
        ("a.xlsx", files.xlsx({"S": [["word " * 10]] * 30})),
        ("a.xls", files.xls({"S": [["word " * 10]] * 30})),
        ("a.pptx", files.pptx([files.shape("word " * 300)])),
        ("a.epub", files.epub(["<p>" + "word " * 300 + "</p>"])),
    ],
)
def test_more_text_than_the_limit_is_refused_in_every_format(tmp_path: Path, name: str, content: bytes) -> None:
    assert reason(put(tmp_path, name, content), load_settings(max_text_chars=1_000)) == (
        "has more than 1,000 characters of text (max_text_chars): split it or raise the limit"
    )


# ---------------------------------------------------------------- text


@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x02\x01\x01\x00\x00\x00" + bytes(range(256)) * 4,
        random.Random(1).randbytes(2_000),
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        b"PK\x03\x04\x14\x00",
        bytes(range(1, 32)) * 30,
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.json"])
def test_binary_under_the_name_of_text_is_refused(tmp_path: Path, settings: Settings, name: str, content: bytes) -> None:
    assert reason(put(tmp_path, name, content), settings) == "is binary, not text"


def test_text_in_an_encoding_that_is_not_known_is_told_from_what_is_binary(tmp_path: Path, settings: Settings) -> None:
    minutes = put(tmp_path, "minutes.txt", "会議の議事録\n次回の会議は四月十日に開催します。\n".encode("shift_jis"))
    assert reason(minutes, settings) == "is in an encoding that is not known: save it as UTF-8"


def test_stray_control_characters_are_cleaned_away(tmp_path: Path, settings: Settings) -> None:
    (document,) = documents(found([put(tmp_path, "a.txt", b"A bell \x07 and a stop.\x1b \x0cNext " + b"x" * 400)], settings))
    assert document.text.startswith("A bell and a stop.\n\nNext x")


# ---------------------------------------------------------------- pdf


@pytest.mark.parametrize("content", [b"%PDF-1.7 nothing", b"hello", b"\x00" * 100, files.pdf([["Some text."]])[:200]])
def test_a_broken_pdf_is_said(tmp_path: Path, settings: Settings, content: bytes) -> None:
    assert reason(put(tmp_path, "a.pdf", content), settings).startswith("is damaged, or not of type pdf (")


def test_a_pdf_with_a_damaged_table_of_contents_is_still_read(tmp_path: Path, settings: Settings) -> None:
    content = (
        files.pdf([["Some text."]])
        .replace(b"0000000000 65535 f", b"0000000007 65535 f")
        .replace(b"startxref\n", b"startxref\n9")
    )
    (document,) = documents(found([put(tmp_path, "a.pdf", content)], settings))
    assert document.text == "Some text."


def test_an_encrypted_pdf_asks_for_one_without_a_password(tmp_path: Path, settings: Settings) -> None:
    path = put(tmp_path, "a.pdf", files.encrypted_pdf([[SECRET]], "open"))
    assert reason(path, settings) == "is encrypted: save it without a password"


def test_a_scanned_pdf_asks_for_text_recognition(tmp_path: Path, settings: Settings) -> None:
    assert reason(put(tmp_path, "a.pdf", files.pdf([[], []])), settings) == (
        "contains no text: if it is scanned, run OCR on it first"
    )


def test_a_pdf_of_too_many_pages_is_refused(tmp_path: Path) -> None:
    assert reason(put(tmp_path, "a.pdf", files.pdf([["x"]] * 6)), load_settings(max_pages=5)) == (
        "has 6 pages, the limit is 5 (max_pages): split it or raise the limit"
    )


def test_a_page_that_cannot_be_read_is_counted_and_the_others_are_kept(tmp_path: Path, settings: Settings) -> None:
    content = files.pdf([["Page one."], ["Page two."]])
    at = content.rindex(b"<< /Length")
    broken = content[:at] + b"<< /Filter /Unheard /Length" + content[at + 10 :]
    (document,) = documents(found([put(tmp_path, "a.pdf", broken)], settings))
    assert "Page one." in document.text and "Page two." not in document.text
    assert document.metadata["unreadable_pages"] == 1


# ---------------------------------------------------------------- docx and xlsx


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.epub", "a.odt", "a.ods", "a.odp"])
@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04 not really", DOCX[: len(DOCX) // 2], files.pdf([["x"]])])
def test_a_broken_office_file_is_said(tmp_path: Path, settings: Settings, name: str, content: bytes) -> None:
    assert reason(put(tmp_path, name, content), settings) == f"is damaged, or not of type {name[2:]} (BadZipFile)"


def test_the_wrong_office_format_is_said(tmp_path: Path, settings: Settings) -> None:
    assert reason(put(tmp_path, "a.docx", XLSX), settings).startswith("is damaged, or not of type docx")
    assert reason(put(tmp_path, "a.xlsx", DOCX), settings).startswith("is damaged, or not of type xlsx")
    assert reason(put(tmp_path, "a.pptx", DOCX), settings).startswith("is damaged, or not of type pptx")
    assert reason(put(tmp_path, "a.epub", DOCX), settings).startswith("is damaged, or not of type epub")


def test_an_encrypted_or_old_office_file_asks_to_be_saved_anew(tmp_path: Path, settings: Settings) -> None:
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600
    assert reason(put(tmp_path, "a.docx", content), settings).startswith("is encrypted or older than Office 2007")


@pytest.mark.parametrize(("name", "whole"), [("a.docx", DOCX), ("a.xlsx", XLSX), ("a.pptx", PPTX), ("a.epub", EPUB)])
def test_an_archive_that_unpacks_to_gigabytes_is_refused_by_its_directory(
    tmp_path: Path, settings: Settings, name: str, whole: bytes
) -> None:
    content = files.claiming(
        files.with_part(whole, "word/media/big.bin", b"\x00" * 1_000), "word/media/big.bin", 3_000_000_000
    )
    assert reason(put(tmp_path, name, content), settings) == (
        "unpacks to more than 500,000,000 bytes (max_archive_bytes): it may be a zip bomb"
    )


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, settings: Settings) -> None:
    content = files.with_part(DOCX, "word/media/big.bin", b"\x00" * 30_000_000)
    assert len(content) < 100_000
    assert reason(put(tmp_path, "a.docx", content), settings) == (
        "exceeds the maximum compression ratio (max_archive_ratio): it may be a zip bomb"
    )


def test_an_archive_whose_directory_lies_is_refused(tmp_path: Path, settings: Settings) -> None:
    content = files.claiming(files.with_part(DOCX, "word/media/big.bin", b"\x00" * 30_000_000), "word/media/big.bin", 100)
    assert reason(put(tmp_path, "a.docx", content), settings).startswith("is damaged, or not of type docx (")


@pytest.mark.parametrize(
    ("name", "whole", "part"),
    [
        ("a.docx", DOCX, "word/document.xml"),
        ("a.xlsx", XLSX, "xl/worksheets/sheet1.xml"),
        ("b.docx", DOCX, "docProps/core.xml"),
        ("a.pptx", PPTX, "ppt/presentation.xml"),
        ("a.odt", ODT, "content.xml"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused(
    tmp_path: Path, settings: Settings, name: str, whole: bytes, part: str, encoding: str
) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY a "{SECRET}"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    content = files.with_part(whole, part, bomb.encode(encoding))
    assert reason(put(tmp_path, name, content), settings).startswith("declares XML entities")


# ---------------------------------------------------------------- html, markdown, csv, json


def test_html_nested_too_deep_is_refused(tmp_path: Path, settings: Settings) -> None:
    assert reason(put(tmp_path, "a.html", b"<div>" * 100_000 + b"x"), settings) == "nests elements more than 500 levels deep"


@pytest.mark.parametrize("opening", [b"<!--", b"<![", b"<a ", b"<a b='", b"</x ", b"<!", b"<?", b"&#", b"<![CDATA["])
def test_html_that_never_closes_what_it_opens_is_read_in_linear_time(
    tmp_path: Path, settings: Settings, opening: bytes
) -> None:
    """A parser that searches the rest of the page at each of these would take minutes."""
    content = b"<p>Some text.</p>" + opening * 50_000
    (document,) = documents(found([put(tmp_path, "a.html", content)], settings))
    assert document.text.startswith("Some text.")


@pytest.mark.parametrize("content", [b"> " * 20_000 + b"x", b"- " * 5_000 + b"x"])
def test_markdown_nested_too_deep_is_refused(tmp_path: Path, settings: Settings, content: bytes) -> None:
    """Its parser would leave out what is deeper, and say nothing."""
    assert reason(put(tmp_path, "a.md", content), settings).startswith(
        "nests lists and quotations more than 100 levels deep"
    )


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"[" * 20_000 + b"x", b"*a **b " * 5_000])
def test_signs_nested_too_deep_in_markdown_are_text(tmp_path: Path, settings: Settings, content: bytes) -> None:
    (document,) = documents(found([put(tmp_path, "a.md", content)], settings))
    assert document.text


def test_csv_with_an_open_quote_is_said(tmp_path: Path, settings: Settings) -> None:
    content = b'Name,City\n"' + SECRET.encode() * 40_000
    assert reason(put(tmp_path, "a.csv", content), settings).startswith(
        "is not well-formed csv: a field over 131,072 characters"
    )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply"),
        (b'{"a": 1,\n "Sesame": }', "is not valid JSON at line 2, column 12"),
        (b"Sesame", "is not valid JSON at column 1"),
    ],
)
def test_bad_json_is_said(tmp_path: Path, settings: Settings, content: bytes, line: str) -> None:
    assert reason(put(tmp_path, "a.json", content), settings) == line


# ---------------------------------------------------------------- records

GOOD = [json.dumps({"id": i, "text": f"Text {i}."}) for i in range(3)]


def test_bad_lines_are_said_by_number_and_the_others_are_read(tmp_path: Path, settings: Settings) -> None:
    bad = [
        "Sesame",
        '{"id": 9}',
        '{"id": 9, "text": "  "}',
        "[1]",
        '"Sesame"',
        "null",
        GOOD[0],
        '{"id": 8, "text": "Sesame \\',
        "[" * 100_000,
        '{"id": 7, "text": "\\u0000"}',
    ]
    path = put(tmp_path, "c.jsonl", "\n".join([GOOD[0], *bad, "", *GOOD[1:]]).encode() + b'\n{"text": "caf\xe9"}')
    results = found([path], settings)
    assert [d.text for d in documents(results)] == ["Text 0.", "Text 1.", "Text 2."]
    lines = [str(r).removeprefix(f"{path}, ") for r in results if isinstance(r, Rejected)]
    assert lines == [
        "line 2: is not valid JSON at column 1",
        "line 3: has no text in its field 'text'",
        "line 4: has no text in its field 'text'",
        "line 5: is a list, not an object with a field 'text'",
        "line 6: is text, not an object with a field 'text'",
        "line 7: is null, not an object with a field 'text'",
        "line 8: has an id that another record of this file already has",
        "line 9: is not valid JSON at column 19",
        "line 10: is nested too deeply",
        "line 11: contains no text",
        "line 15: is not UTF-8 encoded JSON",
    ]


def test_a_bad_record_of_a_json_list_is_said_by_number(tmp_path: Path, settings: Settings) -> None:
    results = found([put(tmp_path, "c.json", b'[{"text": "One."}, 5, {"text": ""}, {"text": "Two."}]')], settings)
    assert [d.text for d in documents(results)] == ["One.", "Two."]
    assert [str(r).split(", ")[1] for r in results if isinstance(r, Rejected)] == [
        "item 2: is a number",
        "item 3: has no text in its field 'text'",
    ]


def test_a_file_of_nothing_but_bad_lines_is_given_up(tmp_path: Path, settings: Settings) -> None:
    path = put(tmp_path, "c.jsonl", b"Sesame\n" * 5_000)
    results = found([path], settings)
    assert len(results) == 21
    assert str(results[-1]) == f"{path}: the first 20 records are all invalid: the rest was not read"


@pytest.mark.parametrize("content", [b"hello", gzip.compress(b"x" * 1_000, mtime=0)[:-9], b"\x1f\x8b" + b"\x00" * 50])
@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.txt.gz"])
def test_a_broken_gzip_file_is_said(tmp_path: Path, settings: Settings, name: str, content: bytes) -> None:
    assert isinstance(found([put(tmp_path, name, content)], settings)[-1], Rejected)
    assert str(found([tmp_path], settings)[-1]).endswith("is damaged and cannot be decompressed")


def test_a_gzip_file_that_unpacks_to_too_much_is_stopped(tmp_path: Path) -> None:
    path = put(tmp_path, "c.jsonl.gz", gzip.compress(b'{"text": "Some text."}\n' + b"0" * 3_000_000))
    results = found([path], load_settings(max_archive_bytes=1_000_000))
    assert [d.text for d in documents(results)] == ["Some text."]
    assert str(results[-1]) == (
        f"{path}: unpacks to more than 1,000,000 bytes (max_archive_bytes): split it or raise the limit"
    )


@pytest.mark.parametrize(
    ("data", "limits", "said"),
    [
        (b"word " * 300_000, {"max_file_bytes": 1_000_000}, "unpacks to more than 1,000,000 bytes (max_file_bytes)"),
        (b"word " * 300_000, {"max_archive_bytes": 999_999}, "unpacks to more than 999,999 bytes (max_archive_bytes)"),
        (b"word " * 300_000, {}, "exceeds the maximum compression ratio (max_archive_ratio)"),
        (b"a\x00\xff" * 1_000, {}, "is binary, not text"),
        (b" \n", {}, "contains no text"),
    ],
)
def test_what_is_packed_keeps_the_limits_of_its_type(tmp_path: Path, data: bytes, limits: dict[str, int], said: str) -> None:
    (rejected,) = found([put(tmp_path, "a.txt.gz", gzip.compress(data))], load_settings(**limits))
    assert said in str(rejected)


# ---------------------------------------------------------------- anything


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("a.pdf", files.pdf([["Some text."], ["More text."]], "Title")),
        ("a.docx", DOCX),
        ("a.xlsx", XLSX),
        ("a.odt", ODT),
        ("a.xls", files.xls({"S": [["Name", "City"], ["Ann", "Paris"], ["Ben", 1.5]]})),
        ("a.html", b"<html><body><table><tr><td>a<td>b<tr><td>c<td>d</table><ul><li>x</ul><p>text</body></html>"),
        ("a.md", b"---\na: b\n---\n# H\n\n| a | b |\n|---|---|\n| c | d |\n\n- x\n  1. y\n\n```\ncode\n```\n"),
        ("a.csv", b'a,b\n1,"2"\n'),
        ("a.json", b'{"a": {"b": [1, 2, {"c": "d"}]}}'),
        ("c.jsonl.gz", gzip.compress(b'{"id": 1, "text": "x"}\n{"id": 2, "text": "y"}\n', mtime=0)),
    ],
)
def test_whatever_happens_to_a_file_it_gives_documents_or_a_line(
    tmp_path: Path, settings: Settings, name: str, whole: bytes
) -> None:
    rng = random.Random(name)
    for _ in range(25):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(content))
            match rng.randrange(3):
                case 0:
                    content[at] = rng.randrange(256)
                case 1:
                    del content[at : at + rng.randint(1, 30)]
                case _:
                    content[at:at] = bytes(content[: rng.randint(1, 30)])
        results = found([put(tmp_path, name, bytes(content))], settings)
        assert results
        assert all("\n" not in str(r) for r in results if isinstance(r, Rejected))
