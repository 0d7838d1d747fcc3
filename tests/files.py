"""Files of every format, made here: nothing in the tests comes from elsewhere."""

import io
import random
import struct
import zipfile
from collections.abc import Iterable, Sequence

from lexigraph.model.tokens import count_tokens

SUBJECTS = ("The cluster", "A replica", "The index", "Our gateway", "The archive", "A client", "The scheduler", "One shard")
VERBS = ("stores", "returns", "copies", "refuses", "delays", "encrypts", "counts", "forgets", "compares", "keeps")
OBJECTS = (
    "old records",
    "each request",
    "the latest version",
    "small files",
    "several keys",
    "a full backup",
    "long queries",
)
ENDS = (
    "overnight",
    "in two regions",
    "for every tenant",
    "without a lock",
    "under heavy load",
    "after a restart",
    "at low cost",
)


def sentence(rng: random.Random) -> str:
    """A sentence that hardly ever comes twice."""
    words = (rng.choice(SUBJECTS), rng.choice(VERBS), rng.choice(OBJECTS), rng.choice(ENDS))
    return f"{' '.join(words)}, which took {rng.randrange(2, 99_999)} milliseconds in {rng.randrange(1_990, 2_026)}."


def paragraphs(rng: random.Random, count: int, shortest: int = 2, longest: int = 7) -> list[list[str]]:
    """Paragraphs as lists of sentences."""
    return [[sentence(rng) for _ in range(rng.randint(shortest, longest))] for _ in range(count)]


def prose(*said: str, tokens: int = 120) -> str:
    """A paragraph that says this and goes on about other things, up to so many tokens.

    A section that holds it is a chunk of its own; one of less than 100 tokens is packed with what stands beside it.
    """
    rng, text = random.Random("".join(said)), " ".join(said)
    while count_tokens(text) < tokens:
        text = f"{text} {sentence(rng)}".lstrip()
    return text


def section(title: str, *said: str, tokens: int = 120) -> str:
    """A heading and a paragraph of :func:`prose` below it, in Markdown."""
    return f"## {title}\n\n{prose(*said, tokens=tokens)}\n"


FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
Drawn = tuple[float, float, int, float, str]  # x, y (points from the lower left corner), which of the fonts, size, text


def pdf(pages: Sequence[Sequence[str]], title: str = "", author: str = "") -> bytes:
    """A PDF with these lines on its pages, written by hand; a page without lines draws a box, as a scan has no text."""
    shown = [" T* ".join(f"({line}) Tj" for line in lines) for lines in pages]
    return _pdf([f"BT /F1 12 Tf 14 TL 72 720 Td {s} ET" if s else "72 72 100 100 re f" for s in shown], title, author)


def drawn_pdf(pages: Sequence[Sequence[Drawn]], title: str = "", outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """A PDF that draws each text where it is told; the outline has titles and their pages, from 0."""
    contents = []
    for drawn in pages:
        texts = ((x, y, font, size, _escaped(text)) for x, y, font, size, text in drawn)
        contents.append(
            "\n".join(f"BT /F{font + 1} {size:.3f} Tf {x:.3f} {y:.3f} Td ({text}) Tj ET" for x, y, font, size, text in texts)
        )
    return _pdf(contents, title, outline=outline)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _pdf(contents: Sequence[str], title: str = "", author: str = "", outline: Sequence[tuple[str, int]] = ()) -> bytes:
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
        b"",
        f"<< /Title ({title}) /Author ({author}) >>".encode(),
        *(f"<< /Type /Font /Subtype /Type1 /BaseFont /{f} /Encoding /WinAnsiEncoding >>".encode() for f in FONTS),
    ]
    objects.insert(5, b"")
    fonts = b"/F1 4 0 R /F2 5 0 R /F3 7 0 R"
    kids = []
    for content in contents:
        body = content.encode("cp1252")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
        kids.append(len(objects) + 1)
        place = b"/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << %s >> >>" % fonts
        objects.append(b"<< /Type /Page %s /Contents %d 0 R >>" % (place, len(objects)))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    first = len(objects) + 1
    objects[5] = b"<< /Type /Outlines >>"
    if outline:
        objects[5] = b"<< /Type /Outlines /First %d 0 R /Last %d 0 R >>" % (first, first + len(outline) - 1)
    for number, (entry, page) in enumerate(outline):
        following = b" /Next %d 0 R" % (first + number + 1) if number + 1 < len(outline) else b""
        objects.append(b"<< /Title (%s) /Parent 6 0 R /Dest [%d 0 R /Fit]%s >>" % (entry.encode(), kids[page], following))
    return _written(objects)


def pdf_of_filters(packed: bytes, *filters: str) -> bytes:
    """A PDF of a page whose content is decoded by filters, one after the other."""
    named = "".join(f"/{name}" for name in filters)
    return _written(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Filter [{named}] /Length {len(packed)} >>\nstream\n".encode() + packed + b"\nendstream",
        ]
    )


def pdf_of_forms(text: str, times: int, depth: int) -> bytes:
    """A PDF of a page that draws a form several times, which draws the next one as often; the last one shows a text."""

    def stream(drawn: str, entries: str = "") -> bytes:
        return f"<< {entries} /Length {len(drawn)} >>\nstream\n{drawn}\nendstream".encode()

    def within(number: int) -> str:
        return f"/Resources << /Font << /F1 3 0 R >> /XObject << /X {number} 0 R >> >>"

    again = "/X Do " * times
    form = "/Type /XObject /Subtype /Form /BBox [0 0 600 800]"
    return _written(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R {within(6)} >>".encode(),
            stream(again),
            *(stream(again, f"{form} {within(number)}") for number in range(7, 6 + depth)),
            stream(f"BT /F1 9 Tf 9 9 Td ({text}) Tj ET", f"{form} {within(0)}"),
        ]
    )


def _written(objects: Sequence[bytes]) -> bytes:
    out, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, io.SEEK_END)
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % offset for offset in offsets))
    out.write(b"trailer << /Size %d /Root 1 0 R /Info 3 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def encrypted_pdf(pages: Sequence[Sequence[str]], user_password: str) -> bytes:
    """A PDF that needs the password, or opens for everybody when it is empty."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for page in PdfReader(io.BytesIO(pdf(pages))).pages:
        writer.add_page(page)
    writer.encrypt(user_password=user_password, owner_password="owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx(body: Iterable[tuple[str, object]], title: str = "", author: str = "") -> bytes:
    """A Word file of (style, text) pairs; the style ``table`` takes rows of cells."""
    from docx import Document

    document = Document()
    document.core_properties.title, document.core_properties.author = title, author
    for style, content in body:
        if isinstance(content, str):
            document.add_paragraph(content, style=style)
            continue
        rows = list(content)
        table = document.add_table(rows=len(rows), cols=len(rows[0]))
        for row, cells in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def xlsx(sheets: dict[str, Sequence[Sequence[object]]], title: str = "", author: str = "") -> bytes:
    """An Excel file of sheets of rows."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    book.properties.title, book.properties.creator = title, author
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def compound(stream: bytes, name: str = "Workbook", shift: int = 9) -> bytes:
    """A compound file of one stream, in sectors of ``1 << shift`` bytes; a small stream is kept in small sectors."""
    size, end, small = 1 << shift, 0xFFFF_FFFE, len(stream) < 4_096

    def chain_of(first: int, count: int) -> list[int]:
        return [*range(first + 1, first + count), end] if count else []

    def sectors(raw: bytes) -> list[bytes]:
        return [raw[at : at + size].ljust(size, b"\0") for at in range(0, len(raw), size)]

    def entry(called: str, kind: int, child: int, start: int, length: int) -> bytes:
        coded = called.encode("utf-16-le") + b"\0\0"
        links = struct.pack("<HBBIII", len(coded), kind, 1, 0xFFFF_FFFF, 0xFFFF_FFFF, child)
        return coded.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, length)

    minis = -(-len(stream) // 64)
    data = sectors(stream.ljust(minis * 64, b"\0"))
    mini_table = sectors(struct.pack(f"<{minis}I", *chain_of(0, minis)).ljust(size, b"\xff")) if small else []
    fats = 1
    while fats * size // 4 < fats + 1 + len(mini_table) + len(data):
        fats += 1
    start = fats + 1 + len(mini_table)
    of_root = (start, len(data) * size) if small else (end, 0)
    directory = entry("Root Entry", 5, 1, *of_root) + entry(name, 2, 0xFFFF_FFFF, 0 if small else start, len(stream))
    table = [0xFFFF_FFFD] * fats + [end] + chain_of(fats + 1, len(mini_table)) + chain_of(start, len(data))
    fat = sectors(struct.pack(f"<{len(table)}I", *table).ljust(fats * size, b"\xff"))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack(
        "<HHHHH6xIIIIIIIII",
        0x3E,
        3 if shift == 9 else 4,
        0xFFFE,
        shift,
        6,
        0,
        fats,
        fats,
        0,
        4_096,
        fats + 1 if small else end,
        len(mini_table),
        end,
        0,
    )
    head += struct.pack("<109I", *range(fats), *[0xFFFF_FFFF] * (109 - fats))
    return b"".join([head.ljust(size, b"\0"), *fat, *sectors(directory), *mini_table, *data])


def record(code: int, body: bytes = b"") -> bytes:
    """A record of an old Excel file."""
    return struct.pack("<HH", code, len(body)) + body


def old_text(text: str, length: str = "H") -> bytes:
    """A text in such a record, with its length before it in one byte (``B``) or two (``H``)."""
    return struct.pack(f"<{length}B", len(text), 1) + text.encode("utf-16-le")


def xls_of(globals_: bytes, sheets: dict[str, bytes], version: int = 0x600, shift: int = 9) -> bytes:
    """An old Excel file of records: those of the workbook, and of each sheet."""
    begin, end = record(0x809, struct.pack("<HHHHII", version, 5, 0, 0, 0, 0)), record(0x0A)
    names = [old_text(name, "B") if version == 0x600 else bytes([len(name)]) + name.encode("cp1252") for name in sheets]
    at = len(begin + globals_ + end) + sum(10 + len(name) for name in names)
    bounds, bodies = b"", b""
    for name, cells in zip(names, sheets.values(), strict=True):
        bounds += record(0x85, struct.pack("<IBB", at + len(bodies), 0, 0) + name)
        bodies += record(0x809, struct.pack("<HHHHII", version, 0x10, 0, 0, 0, 0)) + cells + end
    return compound(begin + globals_ + bounds + end + bodies, shift=shift)


def xls(sheets: dict[str, Sequence[Sequence[object]]], formats: Sequence[str] = (), since_1904: bool = False) -> bytes:
    """An old Excel file of sheets of rows; a cell ``(number, n)`` has the n-th of the formats."""
    strings: list[str] = []
    pages = {}
    for name, rows in sheets.items():
        cells = b""
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                at = struct.pack("<HHH", y, x, 0)
                match value:
                    case str():
                        cells += record(0xFD, at + struct.pack("<I", len(strings)))
                        strings.append(value)
                    case bool():
                        cells += record(0x205, at + bytes([value, 0]))
                    case int() | float():
                        cells += record(0x203, at + struct.pack("<d", value))
                    case (float() | int() as number, int() as style):
                        cells += record(0x203, struct.pack("<HHHd", y, x, style + 1, number))
        pages[name] = cells
    known = record(0x42, struct.pack("<H", 1200)) + record(0x22, struct.pack("<H", since_1904))
    known += b"".join(record(0x41E, struct.pack("<H", 164 + n) + old_text(code)) for n, code in enumerate(formats))
    known += b"".join(record(0xE0, struct.pack("<HH16x", 0, code)) for code in (0, *range(164, 164 + len(formats))))
    shared = b"".join(map(old_text, strings))
    return xls_of(known + record(0xFC, struct.pack("<II", len(strings), len(strings)) + shared), pages)


def _zip(parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def pptx(slides: Sequence[str], notes: dict[int, str] | None = None, title: str = "", author: str = "") -> bytes:
    """A slide deck of these shapes (see ``shape`` and ``slide_table``), the first slide stored last; notes by slide."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    names = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="{office}"'
    )
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"

    def related(entries: Iterable[tuple[str, str, str]]) -> str:
        inner = "".join(f'<Relationship Id="{i}" Type="{office}/{kind}" Target="{target}"/>' for i, kind, target in entries)
        return f'<Relationships xmlns="{relations}">{inner}</Relationships>'

    count = len(slides)
    files = [f"slides/slide{count - number}.xml" for number in range(count)]
    ids = "".join(f'<p:sldId id="{256 + number}" r:id="rId{number}"/>' for number in range(count))
    parts = {
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": related((f"rId{n}", "slide", name) for n, name in enumerate(files)),
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></cp:coreProperties>",
    }
    for number, (name, shapes) in enumerate(zip(files, slides, strict=True)):
        parts[f"ppt/{name}"] = f"<p:sld {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        if note := (notes or {}).get(number):
            body = shape(note, "body")
            parts[f"ppt/notesSlides/n{number}.xml"] = (
                f"<p:notes {names}><p:cSld><p:spTree>{body}</p:spTree></p:cSld></p:notes>"
            )
            path = f"ppt/slides/_rels/{name.rpartition('/')[2]}.rels"
            parts[path] = related([("rId1", "notesSlide", f"../notesSlides/n{number}.xml")])
    return _zip(parts)


def shape(text: str, placeholder: str | None = None) -> str:
    """A text on a slide, a paragraph a line; one that begins with ``*`` has a bullet of its own."""
    kind = "" if placeholder is None else f'<p:ph type="{placeholder}"/>'
    paragraphs = ""
    for line in text.split("\n"):
        bullet = '<a:pPr><a:buChar char="-"/></a:pPr>' if line.startswith("*") else ""
        paragraphs += f"<a:p>{bullet}<a:r><a:t>{line.lstrip('*')}</a:t></a:r></a:p>"
    return f"<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody>{paragraphs}</p:txBody></p:sp>"


def slide_table(rows: Sequence[Sequence[str]]) -> str:
    """A table on a slide."""
    cells = ["".join(f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in row) for row in rows]
    table = "".join(f"<a:tr>{row}</a:tr>" for row in cells)
    return f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{table}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"


def epub(pages: Sequence[str], title: str = "", authors: Sequence[str] = (), language: str = "", nav: str = "") -> bytes:
    """A book of these bodies, with an old table of contents and, when given, a new one (``nav``) before the pages."""
    xhtml = '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>'
    names = [f"text/part {number}.xhtml" for number in range(len(pages))]
    items = "".join(
        f'<item id="p{n}" href="{name.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(names)
    )
    if nav:
        items += '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    spine = '<itemref idref="nav"/>' * bool(nav) + "".join(f'<itemref idref="p{n}"/>' for n in range(len(pages)))
    said = f"<dc:title>{title}</dc:title><dc:language>{language}</dc:language>"
    said += "".join(f"<dc:creator>{author}</dc:creator>" for author in authors)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{said}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": package,
        "OEBPS/toc.ncx": '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "ncx-2005-1.dtd"><ncx/>',
    }
    parts |= {f"OEBPS/{name}": f"{xhtml}{page}</body></html>" for name, page in zip(names, pages, strict=True)}
    if nav:
        parts["OEBPS/nav.xhtml"] = f"{xhtml}{nav}</body></html>"
    return _zip(parts)


def opendocument(kind: str, body: str, styles: str = "", title: str = "", author: str = "") -> bytes:
    """A file of LibreOffice with this body: of kind ``text``, ``spreadsheet`` or ``presentation``."""
    names = ("office", "text", "table", "style", "draw", "presentation", "meta")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    spaces += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    parts = {
        "content.xml": f"<office:document-content {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
        "meta.xml": f"<office:document-meta {spaces}><office:meta><dc:title>{title}</dc:title>"
        f"<meta:initial-creator>{author}</meta:initial-creator></office:meta></office:document-meta>",
    }
    return _zip(parts)


def ods(*rows: str) -> bytes:
    """A file of one sheet, of rows of these cells in XML."""
    cells = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return opendocument("spreadsheet", f'<table:table table:name="S">{cells}</table:table>')


def with_part(archive: bytes, name: str, content: bytes) -> bytes:
    """The archive with one part more, or with that part instead."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            if part.filename != name:
                new.writestr(part, old.read(part))
        new.writestr(name, content)
    return out.getvalue()


def claiming(archive: bytes, name: str, size: int) -> bytes:
    """The archive, its directory saying that a part unpacks to ``size`` bytes."""
    at = archive.rindex(b"PK\x01\x02", 0, archive.rindex(name.encode()))
    return archive[: at + 24] + struct.pack("<L", size) + archive[at + 28 :]
