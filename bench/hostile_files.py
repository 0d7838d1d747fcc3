"""Read files that are made to fill the memory: what each took, or with which limit it was refused.

python -m bench.hostile_files --megabytes 20 [--only html,xlsx] [--most-mb 1000]

Each file has at most so many megabytes on disk and is read and cut into chunks in a process of its own, with the settings
as they are shipped. The exit code is 1 when one took more than ``--most-mb`` of memory, the interpreter and its modules
included, or died.
"""

import argparse
import gzip
import io
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.files import old_text, pdf_of_forms, record, xls_of

_SECONDS = 300.0
_HIGHEST = 8 << 30  # bytes of address space, so that the machine lives on
_RATIO = 150  # below what an archive may unpack to
_UNPACKED = 490_000_000

Maker = Callable[[int], bytes]
MAKERS: dict[str, Maker] = {}


def _makes(name: str) -> Callable[[Maker], Maker]:
    """Register what makes a file; a name is ``ENDING what``."""

    def note(maker: Maker) -> Maker:
        MAKERS[name] = maker
        return maker

    return note


def _repeated(name: str, piece: str | bytes, before: str = "", after: str = "") -> None:
    """Register a file that is one piece again and again."""
    raw = piece.encode() if isinstance(piece, str) else piece
    MAKERS[name] = lambda size: before.encode() + raw * ((size - len(before) - len(after)) // len(raw)) + after.encode()


for _name, _piece in {
    "txt lines": "a\n",
    "txt paragraphs": "a\n\n",
    "txt sentences": "A b. ",
    "txt headings": "A\n=\n\na\n\n",
    "txt columns": "a   b   c\n",
    "txt line": "a",
    "txt rule": ".",
    "css rules": "a{b:c}",
    "txt words": "a ",
    "md items": "- a\n",
    "md nested items": "- - - - - a\n",
    "md emphasis": "*a* ",
    "md links": "[a](b) ",
    "md open brackets": "[",
    "md quotes": "> > > a\n",
    "md code": "`a` ",
    "md headings": "# a\n",
    "md table": "|a|a|a|a|\n",
    "md html": "<b>a</b>\n\n",
    "md references": "[a]: b\n",
    "rst items": "- a\n",
    "rst lines": "a\n\n",
    "rst roles": ":a:`b` ",
    "rst directives": ".. note:: a\n\n",
    "rst indents": "a\n b\n  c\n   d\n",
    "adoc items": "* a\n",
    "adoc table": "|a |a |a\n",
    "log lines": "2026-01-01 00:00:00 a\n",
    "man lines": ".B a\n",
    "py lines": "a=1\n",
    "py functions": "def a():pass\n",
    "csv rows": "a,b\n",
    "csv narrow rows": "1\n",
    "csv cells": "1,",
    "csv quotes": '""\n',
    "tsv empty cells": "\t",
    "html empty elements": "<b>",
    "html elements": "<b>a</b>",
    "html paragraphs": "<p>a",
    "html items": "<li>a",
    "html attributes": "<b a=1 c=2 d=3 e=4 f=5>",
    "html breaks": "<br>",
    "html comments": "<!---->",
    "html entities": "&lt;",
    "html signs": "<",
    "html headings": "<h1>a</h1>",
    "html spans": "<td colspan=1000 rowspan=1000>a",
    "jsonl records": '{"text":"a b c"}\n',
    "jsonl lists": "[]\n",
}.items():
    _repeated(_name, _piece)
_repeated("eml lines", "a\n", "Subject: a\n\n")
_repeated("mbox lines", "a\n", "From a 1:01 2024\nSubject: a\n\n")
_repeated("eml fields", "a:\n", "Subject: a\n")
_repeated("eml receivers", "a <b@c>, ", "Subject: a\nTo: ")
_repeated("eml encoded words", "=?a?q?b?= ", "Subject: ")
_repeated("eml parts", "--b\n\n", "Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n")
_repeated("eml messages within messages", "Content-Type: message/rfc822\n\n", "Subject: a\n")
_repeated("eml quotations", "> a\nb\n", "Subject: a\n\n")
_repeated("eml forwarded messages", "Forwarded message\nFrom: a\n\nb\n", "Subject: a\n\n")
_repeated("eml one line", "On a wrote: @ 1:1 From: ", "Subject: a\n\n")
_repeated("html table rows", "<tr><td>a<td>b", "<table>")
_repeated("html table wide", "<tr>" + "<td colspan=1000>a" * 10, "<table>")
_repeated("html one row", "<td>a", "<table><tr>")
_repeated("html definition", "<dt>a<dd>b", "<dl>")
_repeated("json lists", "[],", "[", "1]")
_repeated("json numbers", "1,", "[", "1]")
_repeated("ipynb cells", '{"cell_type":"code","source":"a"},', '{"cells":[', "1]}")
_repeated("ipynb outputs", '{"output_type":"stream","text":["a"]},', '{"cells":[{"cell_type":"code","outputs":[', "1]}]}")
_repeated("vtt cues", "0:1 --> 0\n\n")
_repeated("vtt voices", "0:1 --> 0\n" + "<v a>A: a. " * 12 + "\n\n")
_repeated("vtt lines", "a\n", "0:1 --> 0\n")
_repeated("srt one cue", "<v a>A: >> a ", "0:1 --> 0\n")
_repeated("json objects", '{"a":1},', "[", "1]")
_repeated("json objects of objects", '{"a":{"b":{}}},', "[", "1]")
_repeated("json records", '{"text":"a"},', "[", '{"text":"a"}]')
_repeated("json nesting", "[", "", "")
_repeated("json long text", "a b. ", '["\N{GRINNING FACE}', '"]')
_repeated("csv long header", "1\n", ",".join(f"c{number}" for number in range(70_000)) + "\n")
_repeated("jsonl one line of lists", "[],", '{"text":"a","b":[', "1]}")
_repeated("md utf-16 items", "- a\n".encode("utf-16-le"), "", "")


@_makes("json keys")
def _keys(size: int) -> bytes:
    pairs = (f'"{number:x}":0' for number in range(size // 11))
    return f"{{{','.join(pairs)}}}".encode()


@_makes("jsonl.gz records")
def _packed_records(size: int) -> bytes:
    return gzip.compress(b'{"text":"a"}\n' * min(_UNPACKED // 13, size * _RATIO // 13), 6)


@_makes("jsonl.gz one line")
def _packed_line(size: int) -> bytes:
    return gzip.compress(b'{"text":"\xf0\x9f\x98\x80' + b"a" * min(_UNPACKED, size * _RATIO * 5) + b'"}', 6)


# ---------------------------------------------------------------- office


def _archive(size: int, parts: dict[str, str], bombs: dict[str, tuple[str, str, str]]) -> bytes:
    """Return an archive whose ``bombs`` are (beginning, piece, end): as much of the piece as may be unpacked."""
    out = io.BytesIO()
    unpacked = min(_UNPACKED, size * _RATIO) // max(1, len(bombs))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        # what does not shrink, so that the ratio is allowed
        archive.writestr("filler.bin", _noise(size // 4), zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text)
        for name, (begin, piece, end) in bombs.items():
            with archive.open(name, "w") as stream:
                stream.write(begin.encode())
                block = piece.encode() * max(1, (1 << 20) // len(piece))
                for _ in range(unpacked // len(block)):
                    stream.write(block)
                stream.write(end.encode())
    return out.getvalue()


def _noise(size: int) -> bytes:
    state, out = 1, bytearray()
    while len(out) < size:
        state = zlib.crc32(state.to_bytes(8, "little")) | state << 7 & (1 << 60) - 1
        out += state.to_bytes(8, "little") * 1
    return bytes(out)


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def _relations(*targets: tuple[str, str]) -> str:
    lines = (f'<Relationship Id="r{n}" Type="{_R}/{kind}" Target="{to}"/>' for n, (kind, to) in enumerate(targets, 1))
    return f'<Relationships xmlns="{_RELS}">{"".join(lines)}</Relationships>'


def _types(**parts: str) -> str:
    main = "".join(f'<Override PartName="/{name}" ContentType="{type_}"/>' for name, type_ in parts.items())
    defaults = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    return f'<Types xmlns="{_TYPES}">{defaults}<Default Extension="xml" ContentType="application/xml"/>{main}</Types>'


def _docx(body: str, before: str = "", after: str = "", bomb: str = "word/document.xml") -> Maker:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.{}+xml"
    parts = {
        "[Content_Types].xml": _types(
            **{"word/document.xml": kind.format("document.main"), "word/styles.xml": kind.format("styles")}
        ),
        "_rels/.rels": _relations(("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": _relations(("styles", "styles.xml"), ("image", "media/image1.png")),
        "word/document.xml": f"<w:document {_W}><w:body><w:p><w:r><w:t>a</w:t></w:r></w:p></w:body></w:document>",
        "word/styles.xml": f"<w:styles {_W}></w:styles>",
        "word/media/image1.png": "",
    }
    of = {
        "word/document.xml": (f"<w:document {_W}><w:body>{before}", body, f"{after}</w:body></w:document>"),
        "word/styles.xml": (f"<w:styles {_W}>", body, "</w:styles>"),
        "word/media/image1.png": ("", body, ""),
    }
    rest = {name: text for name, text in parts.items() if name != bomb}
    return lambda size: _archive(size, rest, {bomb: of[bomb]})


MAKERS["docx paragraphs"] = _docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>")
MAKERS["docx empty"] = _docx("<w:p/>")
MAKERS["docx table"] = _docx("<w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>", "<w:tbl>", "</w:tbl>")
MAKERS["docx cells"] = _docx("<w:tc/>", "<w:tbl><w:tr/><w:tr>", "</w:tr></w:tbl>")
MAKERS["docx attributes"] = _docx('<w:p w:a="" w:b="" w:c="" w:d="" w:e="" w:f="" w:g="" w:h=""/>')
MAKERS["docx nesting"] = _docx("<w:sdt>")
MAKERS["docx styles"] = _docx('<w:style w:styleId="a"/>', bomb="word/styles.xml")
MAKERS["docx picture"] = _docx("\0\0\0\0", bomb="word/media/image1.png")


def _xlsx(cells: str = "", strings: str = "", styles: str = "", sheets: str = "") -> Maker:
    ns = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    book = f'<workbook {ns} xmlns:r="{_R}"><sheets>{{}}</sheets></workbook>'
    sheet, one = f"<worksheet {ns}><sheetData>{{}}</sheetData></worksheet>", '<sheet name="a" r:id="r1"/>'
    places = {
        "xl/workbook.xml": (book, sheets, one),
        "xl/worksheets/sheet1.xml": (sheet, cells, '<row><c t="inlineStr"><is><t>a</t></is></c></row>'),
        "xl/sharedStrings.xml": (f"<sst {ns}>{{}}</sst>", strings, "<si><t>a</t></si>"),
        "xl/styles.xml": (f"<styleSheet {ns}><cellXfs>{{}}</cellXfs></styleSheet>", styles, "<xf/>"),
    }
    parts = {
        "[Content_Types].xml": _types(),
        "_rels/.rels": _relations(("officeDocument", "xl/workbook.xml")),
        "xl/_rels/workbook.xml.rels": _relations(("worksheet", "worksheets/sheet1.xml")),
        **{name: around.format(text) for name, (around, bomb, text) in places.items() if not bomb},
    }
    bombs = {
        name: (around.split("{}")[0] + (text if name == "xl/workbook.xml" else ""), bomb, around.split("{}")[1])
        for name, (around, bomb, text) in places.items()
        if bomb
    }
    return lambda size: _archive(size, parts, bombs)


MAKERS["xlsx rows"] = _xlsx("<row><c><v>1</v></c></row>")
MAKERS["xlsx empty rows"] = _xlsx("<row/>")
MAKERS["xlsx empty cells"] = _xlsx("<row>" + "<c/>" * 1_000 + "</row>")
MAKERS["xlsx last column"] = _xlsx('<row><c r="XFD1"><v>1</v></c></row>')
MAKERS["xlsx one row"] = _xlsx("<c><v>1</v></c>")
MAKERS["xlsx shared string in all"] = _xlsx('<row><c t="s"><v>0</v></c></row>')
MAKERS["xlsx strings"] = _xlsx(strings="<si><t>ab</t></si>")
MAKERS["xlsx one string"] = _xlsx(strings="<si><r><t>a</t></r></si>".replace("<si>", "").replace("</si>", ""))
MAKERS["xlsx styles"] = _xlsx(styles="<xf/>")
MAKERS["xlsx sheets"] = _xlsx(sheets='<sheet name="a" r:id="r1"/>')


def _pptx(shapes: str, count: int = 1) -> Maker:
    p, a = (
        "http://schemas.openxmlformats.org/presentationml/2006/main",
        "http://schemas.openxmlformats.org/drawingml/2006/main",
    )
    listed = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in range(1, count + 1))
    parts = {
        "[Content_Types].xml": _types(),
        "_rels/.rels": _relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{p}" xmlns:r="{_R}">{listed}</p:presentation>',
        "ppt/_rels/presentation.xml.rels": _relations(*(("slide", "slides/slide1.xml") for _ in range(count))),
    }
    around = f'<p:sld xmlns:p="{p}" xmlns:a="{a}"><p:cSld><p:spTree>', "</p:spTree></p:cSld></p:sld>"
    return lambda size: _archive(size, parts, {"ppt/slides/slide1.xml": (around[0], shapes, around[1])})


MAKERS["pptx shapes"] = _pptx("<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>")
MAKERS["pptx empty shapes"] = _pptx("<p:sp/>")
MAKERS["pptx slides"] = _pptx("<p:sp/>", 5_000)


def _opendocument(body: str, kind: str = "text", before: str = "", after: str = "") -> Maker:
    names = ("office", "text", "table", "style")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    begin = f"<office:document-content {spaces}><office:body><office:{kind}>{before}"
    end = f"{after}</office:{kind}></office:body></office:document-content>"
    return lambda size: _archive(size, {}, {"content.xml": (begin, body, end)})


MAKERS["odt paragraphs"] = _opendocument("<text:p>a</text:p>")
MAKERS["odt spaces"] = _opendocument('<text:p>a<text:s text:c="999999999"/>a</text:p>')
MAKERS["odt lists"] = _opendocument(
    "<text:list-item><text:p>a</text:p></text:list-item>", before="<text:list>", after="</text:list>"
)
_TABLE = ('<table:table table:name="a">', "</table:table>")
MAKERS["ods rows"] = _opendocument(
    "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>", "spreadsheet", *_TABLE
)
MAKERS["ods one row"] = _opendocument("<table:table-cell/>", "spreadsheet", "<table:table><table:table-row>")
MAKERS["ods repeated"] = _opendocument(
    '<table:table-row table:number-rows-repeated="99999999"><table:table-cell table:number-columns-repeated="16384">'
    "<text:p>a</text:p></table:table-cell></table:table-row>",
    "spreadsheet",
    *_TABLE,
)


def _xls(cells: bytes = b"", workbook: bytes = b"") -> Maker:
    """Return the maker of an old Excel file with records again and again, in its sheet or before it."""

    def make(size: int) -> bytes:
        times = (size - 50_000) // (len(cells) + len(workbook))
        shared = record(0xFC, struct.pack("<II", 1, 1) + old_text("word " * 6_000))
        return xls_of(shared + workbook * times, {"a": cells * times}, shift=12)

    return make


MAKERS["xls numbers"] = _xls(record(0xBD, struct.pack("<HH", 0, 0) + struct.pack("<HI", 0, 6) * 256 + b"\xff\0"))
MAKERS["xls one string in all"] = _xls(record(0xFD, bytes(10)))
MAKERS["xls far cells"] = _xls(
    record(0x203, struct.pack("<HHHd", 0, 255, 0, 1)) + record(0x203, struct.pack("<HHHd", 1, 0, 0, 1))
)
MAKERS["xls formats"] = _xls(workbook=record(0xE0, bytes(4)))
MAKERS["xls cut strings"] = _xls(workbook=record(0x3C, b"\1"))
MAKERS["xls strings"] = lambda size: xls_of(
    record(0xFC, struct.pack("<II", 1, 1 << 31)) + record(0x3C, b"\2\0\0ab" * 1_600) * (size // 8_010), {}, shift=12
)


def _epub(page: str, toc: str = "") -> Maker:
    container = '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
    item = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    package = f'<package><metadata/><manifest>{item}{{}}</manifest><spine><itemref idref="a"/></spine></package>'
    parts = {"META-INF/container.xml": container, **({} if toc else {"a.opf": package.format("")})}
    if toc:
        begin, _, end = package.partition("{}")
        parts["a.xhtml"] = "<html><body><p>a</p></body></html>"
        return lambda size: _archive(size, parts, {"a.opf": (begin, toc, end)})
    return lambda size: _archive(size, parts, {"a.xhtml": ("<html><body>", page, "</body></html>")})


MAKERS["epub elements"] = _epub("<b>a</b>")
MAKERS["epub package"] = _epub("", "<item/>")


# ---------------------------------------------------------------- pdf


def _pdf(content: str, pages: int = 1, packed: bool = True) -> Maker:
    """Return the maker of a PDF whose pages all draw one content, as much of it as may be."""

    def make(size: int) -> bytes:
        unpacked = min(_UNPACKED, size * (_RATIO if packed else 1)) - 10_000
        raw = b"BT /F1 9 Tf 9 TL 9 700 Td " + content.encode() * (unpacked // len(content)) + b" ET"
        stream = zlib.compress(raw, 9) if packed else raw
        filter_ = "/Filter /FlateDecode " if packed else ""
        kids = " ".join(f"{5 + n} 0 R" for n in range(pages))
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            f"<< {filter_}/Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream",
        ]
        page = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        out, places = bytearray(b"%PDF-1.4\n"), []
        for number, body in enumerate([*objects, *[page] * pages], 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        start = len(out)
        out += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n".encode()
        out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
        out += f"trailer << /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()
        return bytes(out)

    return make


MAKERS["pdf letters"] = _pdf("(a) Tj ", packed=False)
MAKERS["pdf packed letters"] = _pdf("(a) Tj ")
MAKERS["pdf lines"] = _pdf("(a) ' ", packed=False)
MAKERS["pdf rules"] = _pdf("0 0 1 1 re f ", packed=False)
MAKERS["pdf one long line"] = _pdf(f"({'a' * 1_000}) Tj ", packed=False)


MAKERS["pdf pages"] = lambda size: _pdf("(hello there is a cat.) Tj ", pages=4_900)(size // 1_000)
MAKERS["pdf forms in forms"] = lambda _: pdf_of_forms("a", times=10, depth=8)


# ---------------------------------------------------------------- measuring


def measure(file: Path) -> dict[str, Any]:
    """Read a file in a process of its own and return ``mb``, ``seconds`` and the ``outcome``."""
    command = [sys.executable, "-m", "bench.hostile_files", "--read", str(file)]
    began = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return {"mb": None, "seconds": round(time.monotonic() - began, 1), "outcome": "not done"}
    seconds = round(time.monotonic() - began, 1)
    if done.returncode:
        return {"mb": None, "seconds": seconds, "outcome": f"died ({done.returncode}): {done.stderr[-200:]}"}
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "seconds": seconds}


def read(file: Path) -> dict[str, Any]:
    """Read a file here and cut it, as an ingest does."""
    from lexigraph.ingestion.chunk import chunk
    from lexigraph.ingestion.load import FileItem, Rejected, known_type, load
    from lexigraph.settings import Settings

    resource.setrlimit(resource.RLIMIT_AS, (_HIGHEST, _HIGHEST))
    documents = chunks = 0
    outcome = ""
    for found in load(FileItem(file, file.as_uri(), known_type(file.name)), Settings()):
        if isinstance(found, Rejected):
            outcome = found.reason
            continue
        documents += 1
        try:
            chunks += len(chunk(found))
        except Exception as error:  # noqa: BLE001  # told in the table
            outcome = f"{type(error).__name__} {error}"
    # not what getrusage says: that begins with the memory of whoever started this process
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1_000
    return {"mb": round(peak), "outcome": f"{documents:,} documents, {chunks:,} chunks {outcome}".strip()}


def rows(megabytes: float, only: list[str]) -> Iterator[dict[str, Any]]:
    """Make and read one file after the other."""
    size = int(megabytes * 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        for name, make in MAKERS.items():
            if only and not any(name.startswith(start) for start in only):
                continue
            file = Path(folder) / f"{name.partition(' ')[2].replace(' ', '-')}.{name.partition(' ')[0]}"
            file.write_bytes(make(size))
            yield {"file": name, "size_mb": round(file.stat().st_size / 1e6, 1), **measure(file)}
            file.unlink()


def main() -> int:
    """Print a row for each file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=float, default=20.0)
    parser.add_argument("--only", default="", help="beginnings of names, parted by commas")
    parser.add_argument("--most-mb", type=float, default=1_000.0)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        print(json.dumps(read(given.read)))
        return 0
    bad = 0
    print(f"{'file':32} {'size MB':>8} {'MB':>6} {'s':>6}  outcome")
    for row in rows(given.megabytes, [start for start in given.only.split(",") if start]):
        too_much = row["mb"] is None or row["mb"] > given.most_mb
        bad += too_much
        told = f"{row['file']:32} {row['size_mb']:8} {row['mb']!s:>6} {row['seconds']:6}"
        print(f"{told}{' !' if too_much else '  '}{row['outcome']}", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
