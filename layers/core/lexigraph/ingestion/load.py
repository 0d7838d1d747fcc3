"""Find, hash and read files. A file that fails is reported in one line and does not stop the others.

``scan`` finds files, ``fingerprint`` hashes one without parsing it, ``load`` reads one.
"""

import errno
import gzip
import hashlib
import io
import json
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from lexigraph.ingestion.events import Skipped
from lexigraph.ingestion.language import with_language
from lexigraph.ingestion.lead import lead_subject
from lexigraph.ingestion.limit_time import limit_time
from lexigraph.ingestion.readers.office import most_unpacked
from lexigraph.ingestion.readers.parsed import Parsed, check_parts
from lexigraph.ingestion.readers.records import (
    Record,
    check_values,
    lack_text,
    parse_json,
    read_json,
    read_json_lines,
    read_record,
    record_key,
)
from lexigraph.ingestion.readers.talk import slack_names
from lexigraph.model.document import BOILERPLATE, LoadedDocument
from lexigraph.model.errors import InvalidInput, reason_of
from lexigraph.model.graph import Metadata, Scalar
from lexigraph.model.ids import content_hash
from lexigraph.model.names import without_unseen
from lexigraph.model.secrets import holds_secret
from lexigraph.settings import Settings

# the end of a file's name -> its type
FILE_TYPES = {
    ".txt": "txt",
    ".text": "txt",
    ".log": "log",
    ".man": "man",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".rst": "rst",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".pdf": "pdf",
    ".docx": "docx",
    ".odt": "odt",
    ".xlsx": "xlsx",
    ".xls": "xls",
    ".ods": "ods",
    ".odp": "odp",
    ".pptx": "pptx",
    ".epub": "epub",
    ".eml": "eml",
    ".mbox": "mbox",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".ipynb": "ipynb",
    ".vtt": "vtt",
    ".srt": "srt",
    **dict.fromkeys(
        (
            ".py .pyi .jsx .ts .tsx .java .kt .kts .scala .groovy .gradle .c .h .cc .cpp .cxx .hpp .hh .cs "
            ".swift .go .rs .rb .php .pl .pm .lua .r .jl .dart .ex .exs .hs .clj .sh .bash .zsh .fish .ps1 .bat .sql .yaml "
            ".yml .toml .scss .less .proto .graphql .tf .cmake .mk"
        ).split(),
        "source",
    ),
    **dict.fromkeys(".js .mjs .cjs .css".split(), "script"),
    **dict.fromkeys(".ini .cfg .conf .cnf .defs .properties".split(), "settings"),
}
# of files that every package has: read whatever end their names have, README.Debian or COPYING.LIB
_DOCUMENTS = frozenset("readme license licence copying copyright notice changelog changes news todo faq".split())
_IN_EVERY = _DOCUMENTS | {"change log", "history", "release notes", "releases", "version history"}  # titles, too
_ABOVE = {"upload": 1, "s3": 3}  # what stands before the folders of a file: its namespace; its bucket, tenant and namespace
_OF_CODE = frozenset(["src", "lib", "dist", "source"])  # folders
# whole names -> their types, for files whose names have no end
FILE_NAMES = {
    **dict.fromkeys(
        (
            *_DOCUMENTS,
            *"authors contributors contributing maintainers thanks credits bugs install history compat metadata".split(),
        ),
        "txt",
    ),
    "mbox": "mbox",
    **dict.fromkeys("makefile dockerfile jenkinsfile vagrantfile gemfile rakefile procfile".split(), "source"),
}
# what to do with files that are not read; of all others the type is unknown
_HIDDEN, _EMPTY = "hidden", "empty source"
_REMEDIES = {
    _HIDDEN: "file names that begin with a dot are skipped",
    _EMPTY: "nothing to read",
    **dict.fromkeys((".doc", ".rtf", ".pages", ".wpd"), "save it as .docx"),
    **dict.fromkeys((".xlsb", ".numbers"), "save it as .xlsx"),
    **dict.fromkeys((".ppt", ".key"), "save it as .pptx"),
    **dict.fromkeys((".mobi", ".azw", ".azw3"), "save it as .epub"),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp", ".heic", ".svg"), "an image"),
    **dict.fromkeys((".mp3", ".wav", ".ogg", ".flac", ".m4a", ".mp4", ".mov", ".avi", ".mkv", ".webm"), "sound or film"),
    **dict.fromkeys((".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar"), "unpack it first"),
    **dict.fromkeys((".msg", ".emlx"), "save it as .eml"),
    **dict.fromkeys((".pst", ".ost", ".olm"), "export its messages as .eml or .mbox"),
    **dict.fromkeys((".tex", ".ps", ".djvu"), "save it as .pdf"),
}
_UNKNOWN = "unknown type"
_OWN = "belongs to the stores: use another file"
_PACKED = ".gz"  # a file is read as what it packs
_SECTION = re.compile(r"\.[1-8](?:ssl|pm|perl|x|posix|p)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_USERS = "users.json"  # of an export of Slack
_MOST_OF_USERS = 10_000_000  # bytes
_CODE = frozenset({"source", "script", "settings"})
_NAMED = _CODE | {"log"}  # types whose files are called by their whole names
# where chunks may be cut, at least
_SENTENCE_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019\u00bb)\]]*\s|[\u3002\uff01\uff1f]|\n")
_LONG_BLOCK = 10_000  # characters; sentences that are too long for a chunk are cut at their clauses
_HOPELESS = 20  # bad lines at the head of a jsonl file after which it is none
_FIRST = 20  # lines by which a jsonl file is known
_HASH_BYTES = 32
_SQLITE = b"SQLite format 3\0"  # the first bytes of a file
_CLOCK_SECONDS = 0.1  # by which the time of a file may be behind the clock


@dataclass(frozen=True, slots=True)
class FileItem:
    """A file to load. ``uri`` is its absolute ``file://`` URI, ``type`` one of the values of ``FILE_TYPES``.

    A file of type ``jsonl`` or ``mbox`` holds many documents, one of type ``json`` may. ``metadata`` overrides the metadata
    in its documents and their ``file_name``, its ``title`` their titles; an empty ``title`` says that they have none.
    ``users`` is the file that an export of Slack has above the folders of its channels, with the names of all.
    """

    path: Path
    uri: str
    type: str
    metadata: Metadata = field(default_factory=dict)
    users: Path | None = None

    def marked(self, digest: str) -> str:
        """Return the hash of a document of this file, by that of its bytes: other metadata make another document."""
        return content_hash(digest, json.dumps(sorted(self.metadata.items()))) if self.metadata else digest


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file, or a record in one, that could not be loaded, and why, in one line without any of its text.

    ``uri`` is that of the record, empty when it cannot be told.
    """

    path: str
    reason: str
    uri: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


# ---------------------------------------------------------------- finding files


def passed_over(skipped: Mapping[str, int]) -> list[Skipped]:
    """Return what ``scan`` counted with the reasons, the most files first."""
    order = sorted(skipped.items(), key=lambda counted: (-counted[1], counted[0]))
    return [Skipped(ending, files, _REMEDIES.get(ending, _UNKNOWN)) for ending, files in order]


def scan(
    paths: Sequence[Path], skipped: Counter[str] | None = None, *, shut: Callable[[Path], str | None] = lambda _: None
) -> Iterator[FileItem | Rejected]:
    """Yield the files at and below ``paths``, each once, folders in order of names.

    Hidden files and folders below a path are passed over, such files of a known type counted as ``hidden``. Links are
    followed; what was seen already is not seen again.
    Files of an unknown type and empty ones of code are rejected when a path names them; in folders they are passed over and
    counted in ``skipped`` by the end of their names, or as ``empty source``. What is ``shut`` is not looked into: it is
    rejected for the reason that this returns, or passed over in a folder when that is empty.
    """
    seen: set[tuple[int, int]] = set()
    exports: dict[Path, Path] = {}  # folders with a file of users -> that file
    # with the folder where it was found, its links followed: to follow those of every path anew takes most of the time
    pending: list[tuple[Path, Path | None]] = [(Path(path), None) for path in reversed(paths)]
    while pending:
        path, folder = pending.pop()
        named, type_ = folder is None, known_type(path.name)
        try:
            found = path.stat()
            if (found.st_dev, found.st_ino) in seen:
                continue
            if (reason := shut(path)) is not None:
                if reason or named:
                    yield Rejected(_shown(path) if named else path.name, reason or _OWN)
                continue
            real = path.resolve() if folder is None or path.is_symlink() else folder / path.name
            if stat.S_ISDIR(found.st_mode):
                names = sorted((entry.name for entry in os.scandir(path)), reverse=True)
                hidden = [name for name in names if name.startswith(".")]
                if skipped is not None and (documents := sum(bool(known_type(name)) for name in hidden)):
                    skipped[_HIDDEN] += documents
                if _USERS in names and shut(path / _USERS) is None:
                    exports[real] = path / _USERS
                pending += ((path / name, real) for name in names if name not in hidden)
            elif not type_ or not stat.S_ISREG(found.st_mode):
                if named:
                    yield Rejected(_shown(path), _refusal(type_))
                elif skipped is not None:
                    skipped[path.suffix.lower() or path.name] += 1
                continue
            elif type_ in _CODE and not (named or found.st_size) and skipped is not None:  # as __init__.py is
                skipped[_EMPTY] += 1
            else:
                yield FileItem(path, real.as_uri(), type_, users=exports.get(folder.parent) if folder else None)
            seen.add((found.st_dev, found.st_ino))
        except OSError as error:
            if named or type_ or not isinstance(error, FileNotFoundError):
                yield Rejected(_shown(path), _os_reason(error))


def known_type(name: str) -> str:
    """Return the type of a file by its name, empty when it is of none that is known; ``NAME.gz`` is of that of ``NAME``."""
    lower = name.lower().removesuffix(_PACKED)
    if _SECTION.fullmatch(Path(lower).suffix):
        # pages of the manual are called by their section, logs by their age, libraries by their version
        stem = Path(lower).stem
        return "log" if stem.endswith(".log") else "" if ".so" in stem else "man"
    end = Path(lower).suffix
    document = end not in _REMEDIES and lower.split(".")[0] in _DOCUMENTS
    return FILE_TYPES.get(end, "") or FILE_NAMES.get(lower, "") or ("txt" if document else "")


def known_endings() -> str:
    """Return the endings of names that are known, as a user is told of them."""
    endings = (ending[1:] for ending, type_ in FILE_TYPES.items() if type_ not in _CODE)
    return ", ".join([*endings, "source code", "or one of these with .gz"])


def _refusal(type_: str) -> str:
    return "is not a regular file" if type_ else f"has an unsupported type: use one of {known_endings()}"


def _shown(path: Path) -> str:
    """Return a path as text that can be printed and stored, whatever bytes its name has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _called(item: FileItem) -> str:
    """Return how whoever gave a file knows it: one that was sent lies in a folder of ours, which is nobody's business."""
    return item.uri if item.uri.startswith(("upload:", "llama-index:")) else _shown(item.path)


def _os_reason(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "does not exist"
        case PermissionError():
            return "cannot be opened: permission denied"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):  # of what is written to read it, as the languages
            return f"needs a temporary file: {(error.strerror or '').lower()}; free some space (TMPDIR), then run it again"
        case _:
            return f"cannot be read: {reason_of(error)}"


def unchanged_since(paths: Sequence[str], moment: float) -> bool:
    """Tell whether :func:`scan` finds at and below ``paths`` what it found at a time (seconds since the epoch).

    False also where that cannot be told: where a link leads, or something cannot be looked at. A file that was moved away
    below a path counts as a change.
    """
    pending = [(Path(path), True) for path in paths]
    while pending:
        path, named = pending.pop()
        try:
            found = path.lstat()
            folder = stat.S_ISDIR(found.st_mode)
            if stat.S_ISLNK(found.st_mode) or (
                (folder or named or known_type(path.name)) and found.st_ctime > moment - _CLOCK_SECONDS
            ):
                return False
            if folder:
                pending += ((path / e.name, False) for e in os.scandir(path) if not e.name.startswith("."))
        except OSError:
            return False
    return True


# ---------------------------------------------------------------- hashing


def fingerprint(item: FileItem, settings: Settings) -> str | Rejected:
    """Return the hash of a file's bytes, which is the ``fingerprint`` of the one document that it holds.

    Nothing is parsed. The documents of a file that holds many have fingerprints of their own.
    """
    try:
        with _opened(item, settings) as stream:
            return item.marked(hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=_HASH_BYTES)).hexdigest())
    except OSError as error:
        return Rejected(_called(item), _os_reason(error))
    except InvalidInput as error:
        return Rejected(_called(item), str(error))


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).hexdigest()


def _opened(item: FileItem, settings: Settings) -> BufferedReader:
    """Open a file that is neither empty, too large nor a database. Raise ``InvalidInput`` or ``OSError``."""
    size, limit = item.path.stat().st_size, settings.max_file_bytes
    if size == 0:
        raise InvalidInput("is empty")
    if size > limit:
        raise InvalidInput(f"has {size:,} bytes, the limit is {limit:,} (max_file_bytes): split it or raise the limit")
    stream = item.path.open("rb")
    if stream.peek(len(_SQLITE)).startswith(_SQLITE):
        stream.close()
        raise InvalidInput("is a database file")
    return stream


# ---------------------------------------------------------------- reading


def load(item: FileItem, settings: Settings) -> Iterator[LoadedDocument | Rejected]:
    """Yield the documents of a file, or why there is none; nothing is raised.

    One document a file, except records: each line of a jsonl file, and each object of a JSON list, of objects with a field
    ``text`` is a document with the URI ``FILE#ID`` (``FILE#line=N`` or ``FILE#item=N`` without an id), and so is each
    message of a mailbox (``FILE#message=N``). Without a field ``title`` a record is called by its id or its file and place;
    an empty one says that it has none, and it is called by the subject that its text begins with, if that is a name. A bad
    record, or the second of an id, is rejected and the others are loaded.
    """
    found = {"jsonl": _records, "mbox": _mailbox}.get(item.type, _whole)(item, settings)
    try:
        yield from limit_time(found, settings.max_read_seconds)
    except Exception as error:  # noqa: BLE001  # parsers raise what they like, and one file must not end the run
        yield Rejected(_called(item), _reason(error, item.type))


def _reason(error: Exception, type_: str) -> str:
    match error:
        case InvalidInput():
            return str(error)
        case ModuleNotFoundError():
            return f'needs the package {error.name} to be read: pip install "lexigraph[files]"'
        case RecursionError():
            return "is nested too deeply"
        case MemoryError():
            return "needs more memory than is available"
        case EOFError() | zlib.error() | gzip.BadGzipFile():
            return "is damaged and cannot be decompressed"
        case OSError(errno=int()):  # of the system; parsers raise some without a number
            return _os_reason(error)
        case _:
            # the message may quote the file
            return f"is damaged, or not of type {type_} ({type(error).__name__})"


@cache
def _readers() -> dict[str, Callable[[bytes, Settings], Parsed]]:
    """Return how files of each type are read; most who need a type read no file."""
    from lexigraph.ingestion.readers.asciidoc import read_asciidoc
    from lexigraph.ingestion.readers.epub import read_epub
    from lexigraph.ingestion.readers.html import read_html
    from lexigraph.ingestion.readers.log import read_log
    from lexigraph.ingestion.readers.mail import read_mail
    from lexigraph.ingestion.readers.manual.reader import read_manual
    from lexigraph.ingestion.readers.markdown import read_markdown
    from lexigraph.ingestion.readers.notebook import read_notebook
    from lexigraph.ingestion.readers.opendocument import read_odp, read_ods, read_odt
    from lexigraph.ingestion.readers.pdf.read import read_pdf
    from lexigraph.ingestion.readers.plain.reader import read_text
    from lexigraph.ingestion.readers.rst import read_rst
    from lexigraph.ingestion.readers.sheets import read_xlsx
    from lexigraph.ingestion.readers.slides import read_pptx
    from lexigraph.ingestion.readers.source import read_configuration, read_script, read_source
    from lexigraph.ingestion.readers.tables import read_csv
    from lexigraph.ingestion.readers.transcript import read_transcript
    from lexigraph.ingestion.readers.word import read_docx
    from lexigraph.ingestion.readers.xls import read_xls

    return {
        "txt": read_text,
        "md": read_markdown,
        "rst": read_rst,
        "asciidoc": read_asciidoc,
        "html": read_html,
        "pdf": read_pdf,
        "docx": read_docx,
        "odt": read_odt,
        "ods": read_ods,
        "odp": read_odp,
        "xlsx": read_xlsx,
        "xls": read_xls,
        "pptx": read_pptx,
        "epub": read_epub,
        "eml": read_mail,
        "csv": read_csv,
        "jsonl": read_json_lines,
        "source": read_source,
        "script": read_script,
        "settings": read_configuration,
        "log": read_log,
        "man": read_manual,
        "ipynb": read_notebook,
        "vtt": read_transcript,
        "srt": read_transcript,
    }


def _whole(item: FileItem, settings: Settings) -> Iterator[LoadedDocument | Rejected]:
    with _opened(item, settings) as stream:
        raw = stream.read(settings.max_file_bytes + 1)
    data = _unpacked(raw, settings) if _is_packed(item) else raw
    parsed = read_json(data, settings, _names(item)) if item.type == "json" else _readers()[item.type](data, settings)
    if isinstance(parsed, list):
        numbered = ((n, json.dumps(v, sort_keys=True).encode(), v) for n, v in enumerate(parsed, 1))
        yield from _each(item, settings, "item", numbered)
    else:
        parsed = replace(parsed, title=_telling(parsed.title, item))
        yield _document(item, parsed, item.uri, data, _title(item), settings, digest=_hash(raw))


def _title(item: FileItem) -> str:
    """Return what a document is called whose text says no title: its file; code by its whole name, below its folder; of a
    file that has a day for its name, as talks are exported, its folder too.
    """
    named = _file_name(item)
    if item.type == "json" and _DAY.fullmatch(named.stem):
        return f"{_folder(item).rpartition('/')[2]} {named.stem}".strip()
    if item.type in _CODE:
        return f"{_folder(item)}/{named.name}".lstrip("/")
    return named.name if item.type in _NAMED else _telling(named.stem, item)


def _telling(title: str, item: FileItem) -> str:
    """Return a title with what its file or folder is called where it is one that every package has: ``click Changelog``."""
    stem = _file_name(item).stem
    owner = _folder(item).rpartition("/")[2] if stem.casefold() in _IN_EVERY else stem
    return f"{owner} {title}".strip() if title.casefold() in _IN_EVERY and owner != title else title


def _file_name(item: FileItem) -> Path:
    name = Path(_shown(item.path)).name
    return Path(name[: -len(_PACKED)] if _is_packed(item) else name)


def _folder(item: FileItem) -> str:
    """Return the folder of a file, below the one above it where its own name tells nothing: ``click/src``.

    A namespace is none, nor is what stands above it.
    """
    scheme, _, place = unquote(item.uri).rpartition("/")[0].partition("://")
    above = (place or scheme.replace(":", "/")).split("/")[_ABOVE.get(scheme, 0) :]
    telling = next((n for n in range(len(above) - 1, 0, -1) if above[n] not in _OF_CODE), len(above) - 1)
    return "/".join(above[max(telling, 0) :])


def _names(item: FileItem) -> dict[str, str]:
    """Return the names of users by their ids."""
    try:
        small = item.users is not None and item.users.is_file() and item.users.stat().st_size <= _MOST_OF_USERS
        return slack_names(parse_json(item.users.read_bytes())) if item.users and small else {}
    except (OSError, InvalidInput):
        return {}


def _is_packed(item: FileItem) -> bool:
    return item.path.name.lower().endswith(_PACKED)


def _unpacked(packed: bytes, settings: Settings) -> bytes:
    """Return what a file packs, which is held whole as the file would be. Raise ``InvalidInput`` when it is too much."""
    limit = min(("max_file_bytes", "max_archive_bytes"), key=lambda name: int(getattr(settings, name)))
    with gzip.open(io.BytesIO(packed)) as stream:
        data = stream.read(min(getattr(settings, limit), most_unpacked(len(packed), settings)) + 1)
    _check_unpacked(len(data), len(packed), limit, settings)
    return data


def _check_unpacked(unpacked: int, packed: int, limit: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for more bytes than a setting, or the size of what was ``packed`` (0: nothing), allows."""
    if unpacked > (most := getattr(settings, limit)):
        raise InvalidInput(f"unpacks to more than {most:,} bytes ({limit}): split it or raise the limit")
    if packed and unpacked > most_unpacked(packed, settings):
        raise InvalidInput("exceeds the maximum compression ratio (max_archive_ratio): decompress it first")


def _document(
    item: FileItem, parsed: Parsed, uri: str, data: bytes, title: str, settings: Settings, *, digest: str = ""
) -> LoadedDocument:
    """Return a document of the bytes in which it was written; ``digest`` is the hash of what the file holds instead."""
    if holds_secret(data) or holds_secret(parsed.text):  # a reader may change how it looks
        raise InvalidInput("contains an API key or private key: remove it")
    if len(parsed.text) > settings.max_parts:
        check_parts(sum(1 for _ in _SENTENCE_END.finditer(parsed.text)), "sentences", settings)
        long = [b for b in parsed.blocks if b.end - b.start > _LONG_BLOCK and b.role not in ("code", BOILERPLATE)]
        check_parts(sum(parsed.text.count(sign, b.start, b.end) for b in long for sign in ",.;:"), "clauses", settings)
    given: dict[str, Scalar] = {"file_name": Path(_shown(item.path)).name, **item.metadata, "file_type": item.type}
    if "title" in given:  # an empty one says that it has none
        title = lead_subject(parsed.text)
    titles = map(without_unseen, (str(given.pop("title", "")), parsed.title, title))
    title = next(filter(None, titles), "")
    metadata = with_language({**parsed.metadata, **given}, parsed.text)
    return LoadedDocument(uri, title, parsed.text, parsed.blocks, item.marked(digest or _hash(data)), metadata)


def _records(item: FileItem, settings: Settings) -> Iterator[LoadedDocument | Rejected]:
    if _are_rows(item, settings):
        yield from _whole(item, settings)
    else:
        yield from _each(item, settings, "line", ((n, raw, None) for n, raw in _lines_of(item, settings)))


def _are_rows(item: FileItem, settings: Settings) -> bool:
    """Tell whether the first lines of a jsonl file are objects without the field ``text``."""
    try:
        return lack_text(raw for _, raw in islice(_lines_of(item, settings), _FIRST))
    except (InvalidInput, RecursionError, OSError, EOFError, zlib.error):
        return False  # said when it is read


def _lines_of(item: FileItem, settings: Settings) -> Iterator[tuple[int, bytes]]:
    packed = item.path.stat().st_size if _is_packed(item) else 0
    with _opened(item, settings) as file, gzip.open(file) if packed else file as stream:
        yield from _lines(stream, settings, packed)


def _mailbox(item: FileItem, settings: Settings) -> Iterator[LoadedDocument | Rejected]:
    from lexigraph.ingestion.readers.mail import message_key, messages, open_message, read_message

    kind = _Kind(open_message, message_key, read_message)
    with _opened(item, settings) as stream:
        numbered = ((n, raw, None) for n, raw in enumerate(messages(stream), 1))
        yield from _each(item, settings, "message", numbered, kind)


def _lines(stream: Any, settings: Settings, packed: int) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are not blank, of one that is too long as much as tells so.

    ``packed`` is the size of what is unpacked, 0 without. What unpacks to more than the limits ends with ``InvalidInput``.
    """
    limit = "max_archive_bytes" if packed else "max_file_bytes"
    most = getattr(settings, limit)
    longest = _longest_line(settings)
    total = number = 0
    begins = True
    while line := stream.readline(min(longest, most - total) + 1):
        total += len(line)
        _check_unpacked(total, packed, limit, settings)
        number += begins
        if begins and (bare := line.strip()):
            yield number, bare
        begins = line.endswith(b"\n")


class _Kind(NamedTuple):
    """How records are read: their values, the ids of those, their documents."""

    opened: Callable[[bytes, Settings], Any]
    key_of: Callable[[Any], str]
    read: Callable[[Any, Settings], Record]


def _parsed_json(raw: bytes, settings: Settings) -> Any:
    if len(raw) > (longest := _longest_line(settings)):
        raise InvalidInput(f"has more than {longest:,} bytes (max_text_chars): split it or raise the limit")
    check_values(raw.decode("utf-8", "replace") if len(raw) > settings.max_parts else "", settings)
    return parse_json(raw)


def _longest_line(settings: Settings) -> int:
    """Return the bytes of a record that may have a text that is allowed: an escaped character takes six."""
    return min(settings.max_file_bytes, 6 * settings.max_text_chars + settings.max_parts)


def _each(
    item: FileItem,
    settings: Settings,
    place: str,
    numbered: Iterator[tuple[int, bytes, Any]],
    kind: _Kind | None = None,
) -> Iterator[LoadedDocument | Rejected]:
    """Read records given as (number, bytes, value) as documents; a value of None is parsed from the bytes.

    Two JSON records with one id are a mistake. A mailbox holds copies of a message, to a list and to oneself: one is read,
    and what says something else under the same id is told apart by its number.
    """
    opened, key_of, read = kind or _Kind(_parsed_json, record_key, read_record)
    seen: dict[str, int] = {}  # hashes of texts
    number = bad = 0
    for number, raw, value in numbered:
        check_parts(number, "records", settings)
        uri = ""
        try:
            if value is None:
                value = opened(raw, settings)
            key = key_of(value)
            fragment = quote(key, safe="/:@!$&'()*+,;-._~?") if key else f"{place}={number}"
            uri = f"{item.uri}#{fragment}"
            record = read(value, settings)
            said = hash(record.parsed.text)
            if uri in seen and kind is None:
                raise InvalidInput("has an id that another record of this file already has")
            if seen.get(uri) == said:
                continue
            uri = f"{uri};{number}" if uri in seen else uri
            seen[uri] = said
            called = record.key or f"{_title(item)}, {place} {number}"
            title = lead_subject(record.parsed.text) if record.untitled else called
            yield _document(item, record.parsed, uri, raw, title, settings)
        except (InvalidInput, RecursionError) as error:
            bad += 1
            yield Rejected(f"{_called(item)}, {place} {number:,}", _reason(error, item.type), uri)
            if bad == _HOPELESS and not seen:
                raise InvalidInput(f"the first {_HOPELESS} records are all invalid: the rest was not read") from None
    if not number:
        raise InvalidInput(f"contains no {'messages' if kind else 'records'}")
