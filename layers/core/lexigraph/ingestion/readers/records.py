"""JSON and JSON lines: records with a ``text`` are documents, one each; any other is one document of paths and values."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, check_parts, one_line, too_many
from lexigraph.ingestion.readers.plain.reader import add_plain
from lexigraph.ingestion.readers.talk import read_talk
from lexigraph.ingestion.readers.text import decode, encoding_note
from lexigraph.model.errors import InvalidInput
from lexigraph.settings import Settings

_LONG = 200  # characters from which a value is text of its own
_MAY_BE_SHORT = 20 * _LONG  # with what blanks it may have
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{:]', re.DOTALL)
_TITLES = ("title", "name")
_HEADINGS = ("heading", *_TITLES, "subject", "summary", "key")
_TEXTS = ("text", "content", "body")
# types of nodes of rich text -> the roles of their blocks
_RICH = {
    **dict.fromkeys(("paragraph", "heading", "text"), "paragraph"),
    **dict.fromkeys(("listItem", "taskItem"), "list"),
    "codeBlock": "code",
}
_BARE = (*_TEXTS, "value")  # keys that say nothing about what they hold


@dataclass(frozen=True, slots=True)
class Record:
    """A document among many: ``key`` is its id as text, empty when it has none; with an empty title it is ``untitled``."""

    key: str
    parsed: Parsed
    untitled: bool = False


def read_json(data: bytes, settings: Settings, names: Mapping[str, str] | None = None) -> Parsed | list[Any]:
    """Read a JSON file: one document, or the list of records that it is, to be read one by one by :func:`read_record`.

    ``names`` are those of users of Slack by their ids.
    """
    text, encoding = decode(data)
    check_values(text, settings)
    value = parse_json(text)
    if talk := read_talk(value, settings, names or {}):
        return talk
    if isinstance(value, list) and any(isinstance(item, dict) and isinstance(item.get("text"), str) for item in value):
        return value
    if isinstance(value, dict) and isinstance(value.get("text"), str) and value["text"].strip():
        return read_record(value, settings).parsed
    builder = TextBuilder(settings)
    _add(builder, value, (), root=True)
    title = next((value[key] for key in _TITLES if isinstance(value.get(key), str)), "") if isinstance(value, dict) else ""
    return builder.parsed(title, encoding_note(encoding))


def read_json_lines(data: bytes, settings: Settings) -> Parsed:
    """Read JSON lines without the field ``text`` as one document, as the list of their values would be."""
    text, encoding = decode(data)
    builder = TextBuilder(settings)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            check_parts(number, "records", settings)
            try:
                check_values(line, settings)
                _add(builder, [parse_json(line)], (), root=True)
            except InvalidInput as error:
                raise InvalidInput(f"line {number:,} {error}") from None
    return builder.parsed("", encoding_note(encoding))


def lack_text(lines: Iterable[bytes]) -> bool:
    """Tell whether JSON lines are objects of which none has a field ``text``: rows of a table, which are no documents."""
    try:
        values = [parse_json(line) for line in lines]
    except InvalidInput:
        return False
    return bool(values) and all(isinstance(value, dict) and "text" not in value for value in values)


def check_values(text: str, settings: Settings) -> None:
    """Raise ``InvalidInput`` for a JSON text that would take many times its size as values, or has too long a text in it.

    Each list and object takes a hundred times its two brackets; other keys than those of records are as many texts.
    """
    longest = settings.max_text_chars
    if len(text) <= min(settings.max_parts, longest):
        return
    parts = {"lists and objects": text.count("[") + text.count("{"), "keys": text.count(":")}
    if len(text) > longest or any(
        too_many(count, kind, settings) for kind, count in parts.items()
    ):  # most in texts, perhaps
        parts = dict.fromkeys(parts, 0)
        for token in _TOKEN.finditer(text):
            first = text[token.start()]
            if first != '"':
                parts["keys" if first == ":" else "lists and objects"] += 1
            elif token.end() - token.start() > longest:
                check_length(_least_length(text, *token.span()), longest)
    for kind, count in parts.items():
        check_parts(count, kind, settings)


def _least_length(text: str, start: int, end: int) -> int:
    r"""Return how many characters a text in JSON has at least: ``\u0041`` is one, or half of one."""
    return end - start - 2 - 5 * text.count("\\u", start, end) - text.count("\\", start, end)


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise ``InvalidInput`` for another text, or one nested too deep."""
    try:
        # NaN and the infinities are no values; a line break within a text is harmless
        return json.loads(text, parse_constant=lambda _: None, strict=False)
    except RecursionError:
        raise InvalidInput("is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        raise InvalidInput(f"is not valid JSON at {where}") from None
    except ValueError:
        raise InvalidInput("is not UTF-8 encoded JSON") from None


def read_record(value: Any, settings: Settings) -> Record:
    """Read an object with ``text`` and perhaps ``id`` and ``title``; its other scalars are metadata, and so is the id."""
    if not isinstance(value, dict):
        raise InvalidInput(f"is {_kind(value)}, not an object with a field 'text'")
    text = value.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput("has no text in its field 'text'")
    check_length(len(text), settings.max_text_chars)
    builder = TextBuilder(settings)
    add_plain(builder, text)
    title = value.get("title")
    rest = {name: field for name, field in value.items() if name not in ("text", "title")}
    said = title if isinstance(title, str) else None
    parsed = builder.parsed(said or "", rest)
    return Record(record_key(value), parsed, untitled=said is not None and not parsed.title)


def record_key(value: Any) -> str:
    """Return the ``id`` of a record as text, empty when it has none."""
    key = value.get("id") if isinstance(value, dict) else None
    named = isinstance(key, (str, int, float)) and not isinstance(key, bool)
    return one_line(str(key)) if named else ""


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "text", type(None): "null", bool: "true or false"}
    return kinds.get(type(value), "a number")


def _add(builder: TextBuilder, value: Any, path: tuple[str, ...], *, root: bool = False) -> None:
    """Add a value: keys that lead to it and say something are headings, the scalars of one object are one row.

    An object with a heading of its own and text or parts is a section; that of the ``root`` is the title of the document.
    """
    if isinstance(value, Mapping) and value.get("type") == "doc" and _content(value):
        _add_rich(builder, _content(value))
    elif isinstance(value, Mapping):
        headed = "" if root else next((key for key in _HEADINGS if _short(value.get(key))), "")
        row = {key: short for key, item in value.items() if not (headed and key in _TEXTS) and (short := _short(item))}
        parts = {key: item for key, item in value.items() if key not in row and item not in (None, "", [], {})}
        above = path
        if headed and parts:
            path = (*path, row[headed])
            builder.heading(len(path), path[-1])
            row = row if len(row) > 1 else {}
        builder.add("; ".join(f"{one_line(key)}: {short}" for key, short in row.items()), "row")
        for key, item in parts.items():
            builder.end_sections(len(path))
            if key in _BARE:
                _add(builder, item, path)
            else:
                builder.heading(len(path) + 1, key or "-")
                _add(builder, item, (*path, key))
        builder.end_sections(len(above))
    elif isinstance(value, list):
        for item in value:
            if short := _short(item):
                builder.add(short, "row")
            else:
                _add(builder, item, path)
    elif value is not None:
        add_plain(builder, _scalar(value))


def _add_rich(builder: TextBuilder, nodes: list[Any]) -> None:
    """Add rich text as Jira, Confluence and ProseMirror keep it: nodes of a type, with content or text."""
    for node in nodes:
        kind = str(node.get("type")) if isinstance(node, Mapping) else ""
        if kind == "tableRow":
            builder.add("; ".join(filter(None, map(_words, _content(node)))), "row")
        elif kind in _RICH:
            builder.add(_words(node), _RICH[kind])
        else:
            _add_rich(builder, _content(node))


def _words(node: Any) -> str:
    """Return the words of a node, a paragraph in it on lines of its own."""
    if not isinstance(node, Mapping):
        return ""
    shown = node.get("attrs") if node.get("type") != "text" else node
    text = shown.get("text") if isinstance(shown, Mapping) else None
    words = f"{text if isinstance(text, str) else ''}{''.join(map(_words, _content(node)))}"
    return f"{words}\n" if node.get("type") in ("paragraph", "hardBreak") else words


def _content(node: Any) -> list[Any]:
    content = node.get("content") if isinstance(node, Mapping) else None
    return content if isinstance(content, list) else []


def _short(value: Any) -> str:
    """Return a scalar or a list of scalars on one line; empty for what is too long or has parts of its own."""
    if isinstance(value, list) and value and not any(isinstance(item, (list, dict)) for item in value):
        value = ", ".join(_scalar(item) for item in value if item is not None)
    if value is None or isinstance(value, (list, dict)):
        return ""
    scalar = _scalar(value)
    line = one_line(scalar) if len(scalar) <= _MAY_BE_SHORT else scalar
    return line if len(line) <= _LONG else ""


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
