"""What commands print: text that is safe on a terminal, short paths, times, and JSON."""

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rich.console import Console
from rich.text import Text

# a document must not be able to send a terminal its control sequences
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_WIDE = 10_000


class _Printable(Console):
    def print(self, *objects: Any, **how: Any) -> None:
        """Print strings without what a terminal must not be sent: names in a backup are whatever its author wrote."""
        super().print(*(printable(one) if isinstance(one, str) else one for one in objects), **how)


class _Results(_Printable):
    """The console of stdout."""

    def on_broken_pipe(self) -> None:
        """Leave it to the end of the command; rich would exit with 1."""
        raise BrokenPipeError


def consoles() -> tuple[Console, Console]:
    """Return the consoles of stdout and stderr; text is printed as it is, and is not cut where no terminal reads it."""
    plain = {"markup": False, "highlight": False, "emoji": False}
    out = _Results(**plain) if sys.stdout.isatty() else _Results(width=_WIDE, **plain)  # type: ignore[arg-type]  # flags
    return out, _Printable(stderr=True, **plain)  # type: ignore[arg-type]  # flags


def printable(text: str) -> str:
    """Return the text with control characters (but new lines and tabs), bidi overrides and lone surrogates replaced."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str, most: int = 0) -> str:
    """Return the text on one line, cut with an ellipsis when ``most`` is given and it is longer."""
    line = printable(" ".join(text.split()))
    return f"{line[: most - 1].rstrip()}…" if most and len(line) > most else line


def block(text: str, indent: int) -> str:
    """Return code or a table with its lines, each as far indented as its place among them and ``indent`` say."""
    return textwrap.indent(textwrap.dedent(printable(text)), " " * indent)


def short_path(uri: str) -> str:
    """Return a ``file://`` URI as a path, relative when it is below the current folder; other URIs as they are."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return printable(uri)
    path = Path(unquote(parts.path))
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return printable(f"{shown}#{unquote(parts.fragment)}" if parts.fragment else str(shown))


def prose(console: Console, text: str | Text) -> None:
    """Print text of any length: in words over the lines of a terminal, unbroken elsewhere."""
    console.print(text, soft_wrap=not console.is_terminal)


def duration(milliseconds: float) -> str:
    """Return a time for a reader: ``35 ms``, ``2.1 s``."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def print_json(data: Any) -> None:
    """Write one JSON document to stdout; what a terminal must not be sent is escaped, which loses nothing."""
    text = json.dumps(data, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace").decode("utf-8")
    sys.stdout.write(_UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")
