"""Books (epub): their pages of HTML in reading order."""

import io
import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from lexigraph.ingestion.readers.html import add_page
from lexigraph.ingestion.readers.office import check_archive
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_CONTAINER = "META-INF/container.xml"
_LOCKED = frozenset({"META-INF/rights.xml", "META-INF/sinf.xml"})
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
            raise InvalidInput("is protected against copying: only its own readers open it")
        container = _xml(archive, _CONTAINER)
        package = container.find(".//{*}rootfile").get("full-path")
        root = _xml(archive, package)
        builder = TextBuilder(settings)
        for path in _pages(root, posixpath.dirname(package)):
            if path in names:
                builder.end_sections(-1)
                add_page(builder, archive.read(path), settings)
    said = {name: [e.text or "" for e in root.iterfind(f"{{*}}metadata/{{*}}{name}")] for name in _NAMES}
    metadata = {"author": ", ".join(said["creator"]), "language": next(iter(said["language"]), "")}
    return builder.parsed(next(iter(said["title"]), "") or builder.first_heading(), metadata)


def _xml(archive: zipfile.ZipFile, path: str) -> Any:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    return etree.fromstring(archive.read(path), parser)


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
