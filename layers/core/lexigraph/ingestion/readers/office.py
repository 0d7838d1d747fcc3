"""Office files are zip archives of XML: checked before anything reads them, read part by part."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from lexigraph.ingestion.readers.parsed import check_length, check_parts
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SMALL = 1_000_000  # unpacked bytes below which any ratio is harmless
_PIECE = 1 << 20
_TOO_DEEP = "nests elements more than 256 levels deep, or has more than 10 MB of text in one"  # libxml2 reads no more
_PARTS_AT_ONCE = 4  # times as many tags as may be held at once may be read one part after the other


def check_archive(data: bytes, settings: Settings, *, plain: bool = True) -> None:
    """Raise ``InvalidInput`` for what is no sound zip archive of XML, or unpacks to too much.

    The directory is believed only when it is bad news: every part is unpacked once, counting. ``plain`` refuses document
    types in XML, which books may have.
    """
    if data.startswith(OLD_OFFICE):
        raise InvalidInput("is encrypted or older than Office 2007: save it again without a password")
    limit = settings.max_archive_bytes
    sparse = most_unpacked(len(data), settings)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_unpacked(sum(part.file_size for part in archive.infolist()), limit, sparse)
        total = 0
        for part in archive.infolist():
            with archive.open(part) as stream:
                first = piece = stream.read(_PIECE)
                while piece:
                    total += len(piece)
                    _check_unpacked(total, limit, sparse)
                    piece = stream.read(_PIECE)
            # OpenOffice 2 declares a document type in its manifest, which nobody reads
            if plain and part.filename.lower().endswith((".xml", ".rels")) and part.filename != "META-INF/manifest.xml":
                _check_xml(first)


def most_unpacked(size: int, settings: Settings) -> int:
    """Return the bytes that something packed may unpack to by its size, ``max_archive_ratio`` times as many."""
    return max(_SMALL, size * settings.max_archive_ratio)


def _check_unpacked(unpacked: int, limit: int, sparse: int) -> None:
    if unpacked > limit:
        raise InvalidInput(f"unpacks to more than {limit:,} bytes (max_archive_bytes): it may be a zip bomb")
    if unpacked > sparse:
        raise InvalidInput("exceeds the maximum compression ratio (max_archive_ratio): it may be a zip bomb")


def _check_xml(beginning: bytes) -> None:
    """Refuse a document type: Office writes none, and entities are how XML explodes or reads other files."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import XMLParser

    parser = XMLParser(forbid_dtd=True)
    try:
        parser.feed(beginning)
    except DefusedXmlException:
        raise InvalidInput("declares XML entities, which Office files do not use: it may be malicious") from None


class Parts:
    """The parts of an archive and how they refer to each other. Raise ``InvalidInput`` for parts of too many tags."""

    def __init__(self, archive: zipfile.ZipFile, settings: Settings, *, plain: bool = True) -> None:
        self._archive, self._settings, self._plain = archive, settings, plain
        self._names = set(archive.namelist())
        self._parsed = 0

    def __contains__(self, path: str) -> bool:
        return path in self._names

    def root(self, path: str) -> Any | None:
        """Return the root of an XML part; None when there is no such part."""
        from lxml import etree

        if path not in self._names:
            return None
        with self._archive.open(path) as raw:
            stream = _Counted(raw, self._settings)
            # books may have document types, of which nothing is loaded, and small faults
            how = {} if self._plain else {"load_dtd": False, "recover": True}
            try:
                root = etree.parse(stream, etree.XMLParser(resolve_entities=False, no_network=True, **how)).getroot()
            except etree.XMLSyntaxError as error:
                if error.code != etree.ErrorTypes.ERR_RESOURCE_LIMIT:
                    raise
                raise InvalidInput(_TOO_DEEP) from None
        check_parts(stream.all, "tags", self._settings)
        self._parsed += stream.all
        check_parts(self._parsed // _PARTS_AT_ONCE, "tags", self._settings)
        stream.check_text(root)
        return root

    def stream(self, path: str, name: str) -> Iterator[Any]:
        """Yield the elements of a name, one at a time; each is gone when the next one is asked for."""
        from lxml import etree

        if path not in self._names:
            return
        with self._archive.open(path) as raw:
            stream = _Counted(raw, self._settings)
            found = etree.iterparse(stream, events=("end",), tag=f"{{*}}{name}", resolve_entities=False, no_network=True)
            for _, element in found:
                stream.check_text(element)
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
                stream.held = stream.size = 0

    def related(self, path: str) -> dict[str, tuple[str, str]]:
        """Return what a part refers to: the kind and path of each by its id."""
        folder, name = posixpath.split(path)
        root = self.root(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for entry in root if root is not None else ():
            target = posixpath.normpath(posixpath.join("/", folder, entry.get("Target", ""))).lstrip("/")
            found[entry.get("Id", "")] = entry.get("Type", "").rpartition("/")[2], target
        return found

    def of_kind(self, path: str, kind: str) -> str:
        """Return the path of the first part of a kind that a part, or the file itself (``""``), refers to; else nothing."""
        return next((target for of, target in self.related(path).values() if of == kind), "")

    def core(self) -> dict[str, str]:
        """Return what the file says of itself: ``title`` and ``creator``, empty when it does not."""
        root = self.root("docProps/core.xml")
        return {name: "" if root is None else root.findtext(f"{{*}}{name}") or "" for name in ("title", "creator")}


class _Counted:
    """A stream of XML, counting tags and attributes: ``all``, and those ``held`` in memory, with the ``size`` in bytes."""

    def __init__(self, stream: IO[bytes], settings: Settings) -> None:
        self._stream, self._settings = stream, settings
        self.all = self.held = self.size = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, unless too much is held already."""
        check_parts(self.held, "tags", self._settings)
        piece = self._stream.read(size)
        count = piece.count(b"<") + piece.count(b"=")
        self.all += count
        self.held += count
        self.size += len(piece)
        return piece

    def check_text(self, element: Any) -> None:
        """Raise ``InvalidInput`` for an element of too long a text, before it is put together: that takes as much again."""
        if self.size > self._settings.max_text_chars:
            check_length(sum(map(len, element.itertext("*"))), self._settings.max_text_chars)


def reference(entry: Any) -> str:
    """Return the id of the relation that an element names, whichever of its two namespaces the file has."""
    return next((str(value) for name, value in entry.attrib.items() if name.endswith("}id")), "")
