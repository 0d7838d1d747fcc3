"""Files of every format, made here: nothing in the tests comes from elsewhere."""

import io
import random
import struct
import zipfile
from collections.abc import Iterable, Sequence

from lexigraph.ingestion.chunk import count_tokens

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
            "\n".join(f"BT /F{font + 1} {size} Tf {x} {y} Td ({text}) Tj ET" for x, y, font, size, text in texts)
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
