"""E-mails: their fields, what their authors say, and apart from it what they quote.

Above what a message says stands a heading of its sender and day, so that every passage tells who wrote it and when. What a
reply quotes, signatures and notices of confidentiality are boilerplate; a forwarded message is a section of its own.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any, BinaryIO

from lexigraph.ingestion.readers.fields import leading_fields
from lexigraph.ingestion.readers.html import add_page
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_parts, check_text, clean, one_line
from lexigraph.ingestion.readers.plain.reader import add_plain
from lexigraph.ingestion.readers.records import Record
from lexigraph.ingestion.readers.replies import heading_of, segments, unflowed, with_roles
from lexigraph.ingestion.readers.text import decode
from lexigraph.model.document import BOILERPLATE
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_MAX_FIELD_CHARS = 20_000  # of a field as it is written; the rest of a longer one is left out
_MAX_NAME_CHARS = 1_000
_MOST_FORWARDED = 20  # messages, each within the one before; what is deeper is read as text
_PART_LINES = 20  # a part of a message takes the memory of so many lines
_BODIES = ("text/plain", "text/html")
_WITHOUT_NAME = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_LAID_OUT = re.compile(rb"<(?:table|h[1-3]|ol|pre)\b", re.IGNORECASE)
_BARE = re.compile(r'"([^"]*)"\s*<')  # the names of addresses are written with or without quotation marks
_OBSCURED = re.compile(r"(\S+) at (\S+) \((.*)\)")  # how Pipermail writes an address

# in a mailbox, above each message; such a line within a message begins with an angle bracket
_PARTING = re.compile(rb"From .*\b\d{1,2}:\d\d.*\b\d{4}\b")
_MAX_PARTING = 500
_ESCAPED = re.compile(rb">+From ")
_MAX_KEY_CHARS = 250

_FORWARD = re.compile(r"\s*(?:fwd?|wg|tr|rv|i|vs|doorst)\s*:", re.IGNORECASE)  # a subject


def read_mail(data: bytes, settings: Settings) -> Parsed:
    """Read a message as it is sent (RFC 5322, MIME): its title is the subject, ``author`` and ``date`` are metadata.

    Of alternatives the plain text is read unless only the HTML has tables or headings. Attachments are named, messages that
    are attached are read. Raise ``InvalidInput`` for other files, and for messages that are encrypted.
    """
    return read_message(open_message(data, settings), settings).parsed


def open_message(data: bytes, settings: Settings) -> Message:
    """Return the parts of a message. Raise ``InvalidInput`` for what is none, or has too many."""
    check_parts(max(data.count(b"\n"), data.count(b"\r")), "lines of a message", settings)
    check_parts(data.count(b"\n--") * _PART_LINES, "lines of a message", settings)
    message = message_from_bytes(data.lstrip())
    if not any(name in message for name in _FIELDS):
        raise InvalidInput("is no e-mail: has none of the fields From, To, Date and Subject")
    return message


def message_key(message: Message) -> str:
    """Return the id of a message without its angle brackets; empty when it has none, or a very long one."""
    key = _field(message, "Message-ID").strip("<> ")
    return key if len(key) <= _MAX_KEY_CHARS else ""


def read_message(message: Message, settings: Settings) -> Record:
    """Read a message as :func:`read_mail` does."""
    reader = _Mail(settings)
    reader.add(message)
    return Record(message_key(message), reader.parsed(message))


def messages(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the messages of a mailbox (mbox), each without the line that parts it from the one before.

    Raise ``InvalidInput`` when it does not begin with one.
    """
    text = bytearray()  # a list of its lines would take ten times as much for short ones
    blank, begun = True, False
    for line in stream:
        if blank and _PARTING.match(line[:_MAX_PARTING]):
            if begun:
                yield bytes(text)
            text, begun = bytearray(), True
        elif begun:
            text += line[1:] if _ESCAPED.match(line) else line
        elif line.strip():
            raise InvalidInput("is no mailbox: it does not begin with a line `From SENDER DATE`")
        blank = not line.strip()
    if begun:
        yield bytes(text)


class _Mail:
    """Adds messages to a document, those that are attached or forwarded below the one that holds them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._builder = TextBuilder(settings)

    def add(self, message: Message) -> None:
        """Add the fields of a message and what it says."""
        told = {name: _BARE.sub(r"\1 <", value) for name in _FIELDS if (value := _field(message, name))}
        bodies, attached, names = _parts(message)
        if names:
            told["Attachments"] = ", ".join(names)
        date = _date(message)
        heading = (_sender(message) or told.get("From", ""), date.date().isoformat() if date else "")
        self._section(", ".join(filter(None, heading)), told)
        for body in bodies:
            data = _payload(body)
            text, _ = decode(data, _charset(data, _declared(body)))
            check_text(text, self._settings)
            if body.get_content_type() == "text/html":
                add_page(self._builder, text.encode("utf-8-sig", "replace"), self._settings)
            else:
                flowed = str(body.get_param("format", "")).casefold() == "flowed"
                text = clean(text)
                text = unflowed(text, joined=str(body.get_param("delsp", "")).casefold() == "yes") if flowed else text
                self._add_text(text, forwarded=bool(_FORWARD.match(told.get("Subject", ""))))
        for inner in attached:
            self.add(inner)

    def parsed(self, message: Message) -> Parsed:
        """Return the document that a message is; without a subject its title tells who wrote it and when."""
        date = _date(message)
        metadata = {"author": _sender(message), "date": date.isoformat() if date else ""}
        subject = _field(message, "Subject")
        parsed = self._builder.parsed(subject or self._builder.first_heading(), metadata)
        return replace(parsed, blocks=tuple(with_roles(parsed, _name, forwarded=bool(_FORWARD.match(subject)))))

    def _section(self, heading: str, told: dict[str, str]) -> None:
        """Begin what a message says: a heading of its sender and day, and its fields, which are one statement."""
        self._builder.end_sections(-1)
        self._builder.heading(0, heading)
        for key, value in told.items():
            self._builder.add(f"{key}: {value}", "table")

    def _add_text(self, text: str, *, forwarded: bool) -> None:
        for _ in range(_MOST_FORWARDED):
            below = ""
            for kind, part in segments(text, forwarded=forwarded):
                if kind == "forwarded":
                    below = part
                elif kind == "said":
                    add_plain(self._builder, part)
                else:
                    self._builder.add(part, "code" if kind == "code" else BOILERPLATE)
            if not below:
                return
            groups, text = leading_fields(below.lstrip("\n"))
            told = {key: one_line(values[0]) for fields in groups[:1] for key, values in fields}
            self._section(heading_of([f"{key}: {value}" for key, value in told.items()], _name), told)
            forwarded = True
        add_plain(self._builder, text)


# ---------------------------------------------------------------- parts and fields


def _parts(message: Message) -> tuple[list[Message], list[Message], list[str]]:
    """Return the bodies of a message, the messages attached to it, and the names of its other attachments."""
    bodies: list[Message] = []
    attached: list[Message] = []
    names: list[str] = []
    pending = [message]
    while pending:
        part = pending.pop()
        type_, name = part.get_content_type(), _file_name(part)
        inner: Any = part.get_payload()
        if type_ in _ENCRYPTED:
            raise InvalidInput("is encrypted or signed as a whole: save it from the mail program without encryption")
        if type_ == "message/rfc822" and isinstance(inner, list):
            attached += inner
        elif type_ == "multipart/alternative" and isinstance(inner, list) and inner:
            chosen = _alternative(inner)
            others = (below for other in inner if other is not chosen for below in other.walk() if not below.is_multipart())
            pending += [*(other for other in others if other.get_content_type() not in _BODIES), chosen]
        elif part.get_content_maintype() == "multipart":
            pending += reversed(inner) if isinstance(inner, list) else ()  # without, its parts cannot be told apart
        elif type_ in _BODIES and not name and part.get_content_disposition() != "attachment":
            bodies.append(part)
        elif not (part.get_content_maintype() == "image" and part["Content-ID"]) and type_ not in _WITHOUT_NAME:
            names.append(name or type_)
    return bodies, attached, names


def _alternative(parts: Sequence[Message]) -> Message:
    """Return the alternative to be read."""
    found = {inner.get_content_type(): part for part in parts for inner in part.walk()}
    plain, html = found.get("text/plain"), found.get("text/html")
    if plain is None or html is None:
        return plain or html or parts[-1]
    shown = next(part for part in html.walk() if part.get_content_type() == "text/html")
    return plain if _payload(plain).strip() and not _LAID_OUT.search(_payload(shown)) else html


def _payload(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, ValueError, TypeError):
        name = "attachment"
    return re.split(r"[/\\]", _decoded(name))[-1]


def _declared(part: Message) -> str:
    try:
        return part.get_content_charset() or ""
    except (LookupError, ValueError, TypeError):
        return ""


def _raw(message: Message, name: str) -> str:
    found = (str(value) for key, value in message.raw_items() if key.casefold() == name.casefold())
    return next(found, "")[:_MAX_FIELD_CHARS]


def _field(message: Message, name: str) -> str:
    return _decoded(_raw(message, name))


def _decoded(value: str) -> str:
    """Return a field without encoded words, on one line."""
    try:
        pieces = decode_header(value) if "=?" in value else [(value, None)]
    except (HeaderParseError, ValueError):
        pieces = [(value, None)]
    texts = [(p.encode("utf-8", "surrogateescape") if isinstance(p, str) else p, charset) for p, charset in pieces]
    try:
        return one_line("".join(decode(text, _charset(text, charset or ""))[0] for text, charset in texts))
    except InvalidInput:  # it is none
        return ""


def _sender(message: Message) -> str:
    return _name(_raw(message, "From"))


def _name(value: str) -> str:
    """Return the name of who an address is of; the address when it has none."""
    value = value[:_MAX_NAME_CHARS].partition("[mailto:")[0]
    if "@" not in value and " at " not in value:
        return _decoded(value)
    if obscured := _OBSCURED.search(value):
        return _decoded(obscured[3] or value)
    found = getaddresses([value])
    name, address = found[0] if found else ("", "")
    return _decoded(name or address)


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(_raw(message, "Date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _charset(data: Any, declared: str) -> str:
    """Return the encoding to be tried first.

    Text that is UTF-8 is hardly ever anything else whatever Western encoding was declared; those that are declared in
    a narrower sense than they are used are taken in the wider one.
    """
    try:
        name = codecs.lookup(declared).name
    except (LookupError, ValueError):
        return ""
    if name.startswith(("iso8859", "cp125", "ascii", "koi8")):
        try:
            return "utf-8" if bytes(data).decode("utf-8") else ""
        except UnicodeError:
            return {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name)
    return {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}.get(name, name)
