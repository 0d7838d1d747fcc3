"""Books (epub): their pages of HTML in reading order."""

import io
import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from lexigraph.ingestion.readers.html import add_page
from lexigraph.ingestion.readers.office import Parts, check_archive
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_CONTAINER = "META-INF/container.xml"
_LOCKED = frozenset({"META-INF/rights.xml", "META-INF/sinf.xml"})
_BYTES_A_CHARACTER = 4  # at most
_NAMES = ("title", "creator", "language")
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})


def read_epub(data: bytes, settings: Settings) -> Parsed:
    """Read a book: title, authors and language as its package states them, its pages without the navigation document.

    Raise ``InvalidInput`` for a book that is protected against copying.
    """
    check_archive(data, settings, plain=False)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        if names & _LOCKED:
            raise InvalidInput("is protected by DRM and cannot be read")
        parts = Parts(archive, settings, plain=False)
        container = parts.root(_CONTAINER)
        package = container.find(".//{*}rootfile").get("full-path") if container is not None else ""
        root = parts.root(package)
        if root is None:
            raise InvalidInput("is damaged, or not of type epub (no package in it)")
        builder = TextBuilder(settings)
        pages = [path for path in _pages(root, posixpath.dirname(package)) if path in names]
        if len(pages) > settings.max_pages:
            raise InvalidInput(
                f"has {len(pages):,} pages, the limit is {settings.max_pages:,} (max_pages): split it or raise the limit"
            )
        if sum(archive.getinfo(path).file_size for path in pages) > settings.max_archive_bytes:  # some of them many times
            raise InvalidInput(f"has pages of more than {settings.max_archive_bytes:,} bytes (max_archive_bytes): split it")
        for path in pages:
            check_length(archive.getinfo(path).file_size // _BYTES_A_CHARACTER, settings.max_text_chars)
            builder.end_sections(-1)
            add_page(builder, archive.read(path), settings)
    said = {name: [e.text or "" for e in root.iterfind(f"{{*}}metadata/{{*}}{name}")] for name in _NAMES}
    metadata = {"author": ", ".join(said["creator"]), "language": next(iter(said["language"]), "")}
    return builder.parsed(next(iter(said["title"]), "") or builder.first_heading(), metadata)


def _pages(package: Any, folder: str) -> list[str]:
    """Return the paths of the pages in the order of the spine."""
    items = {item.get("id"): item for item in package.iterfind("{*}manifest/{*}item")}
    found = []
    for reference in package.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGES or "nav" in (item.get("properties") or "").split():
            continue
        found.append(posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "")))))
    return found
