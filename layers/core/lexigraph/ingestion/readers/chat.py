"""Chats as messengers export them: a paragraph a message. WhatsApp's are text, the others JSON (:mod:`talk`)."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, one_line
from lexigraph.settings import Settings

# [12/01/24, 10:15:03] Anna: hi, and 12.01.24, 10:15 - Anna: hi
_LINE = re.compile(
    r"[\u200e\u200f]?(?:\[(?=[^\]\n]{12,40}\] )|(?=[^\n]{12,40}? - ))"
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4}),\s(\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[AaPp]\.?\s?[Mm]\.?)?)(?:\]| -) (.*)"
)
_WHO = re.compile(r"(?:~\s)?([^:\n]{1,60}): (?=\S)")
_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # directions of writing
_BY_PROGRAM = "\u200e"
# written by the program: what is left out, deleted, called
_NOTICE = re.compile(rf"{_BY_PROGRAM}.*|<[^<>\n]{{1,60}}>", re.DOTALL)
_EDITED = re.compile(r"(?<!\s)\s*+\u200e?<[^<>\n]{1,60}>$")
_LEAST_LINES = 3
_FENCE = "```"
_MOST = 500  # characters of a paragraph


class Message(NamedTuple):
    """What somebody said; ``when`` is its moment, empty where the document is of one day."""

    when: str
    who: str
    text: str


class Chat(NamedTuple):
    """Messages in their order, and what they stand under."""

    title: str
    messages: list[Message]


def read_chat(text: str, settings: Settings) -> Parsed | None:
    """Read a chat that WhatsApp exported; None when a text is something else."""
    lines = text.strip("\ufeff\n ").split("\n")
    found = list(map(_LINE.fullmatch, lines))
    if not found[0] or sum(map(bool, found)) < max(_LEAST_LINES, len(lines) / 3):
        return None
    day = _day_reader([match for match in found if match])
    title, said = "", list[tuple[str, str, list[str]]]()
    notice = True
    for line, match in zip(lines, found, strict=True):
        if match:
            who = _WHO.match(_MARKS.sub("", match[6]))
            first = match[6].partition(": ")[2]
            notice = not who or bool(_NOTICE.fullmatch(first))
            if who and not notice:
                said.append((f"{day(match)} {match[5]}", who[1], [first]))
            elif who and match is found[0] and first.startswith(_BY_PROGRAM):
                title = who[1]  # it says that it is encrypted
        elif not notice:
            said[-1][2].append(line)
    messages = [Message(when, who, _EDITED.sub("", "\n".join(text))) for when, who, text in said]
    return written([Chat(title, messages)], settings) if messages else None


def written(chats: Sequence[Chat], settings: Settings) -> Parsed:
    """Return the document of some chats; several are sections."""
    builder = TextBuilder(settings)
    for chat in chats:
        if len(chats) > 1:
            builder.heading(1, chat.title)
        for message in chat.messages:
            add_message(builder, message, settings)
    return builder.parsed(chats[0].title if len(chats) == 1 else "")


def add_message(builder: TextBuilder, message: Message, settings: Settings) -> None:
    """Add a message as one line, ``[2024-01-12 10:15] Anna: ...``, a long one as several; its code stands below."""
    said = _MARKS.sub("", message.text)
    check_length(len(said), settings.max_text_chars)
    when = f"[{message.when}] " if message.when else ""
    who = f"{one_line(message.who)}: " if message.who.strip() else ""
    parts = said.split(_FENCE)
    codes = [code for code in parts[1::2] if code.strip()]
    for line in _lines("\n".join(parts[::2]), most=_MOST) or [""] * bool(codes):
        builder.add(f"{when}{who}{line}")
    for code in codes:
        builder.add(code.strip("\n"), "code")


def _lines(text: str, *, most: int) -> list[str]:
    """Return the lines of a message, joined while they have at most so many characters."""
    joined: list[str] = []
    for line in filter(None, map(one_line, text.split("\n"))):
        if joined and len(joined[-1]) + len(line) < most:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def _day_reader(lines: Sequence[re.Match[str]]) -> Callable[[re.Match[str]], str]:
    """Return how the days of a chat are read: as 2024-01-12 where some day of it tells which number is the month."""
    first, third = (max(int(line[group]) for line in lines) for group in (1, 3))

    def day(line: re.Match[str]) -> str:
        a, sign, b, c = line.group(1, 2, 3, 4)
        year = c if len(c) == 4 else f"20{c:0>2}"
        if len(a) == 4:
            return f"{a}-{b:0>2}-{c:0>2}"
        if sign == "." or first > 12 >= third:
            return f"{year}-{b:0>2}-{a:0>2}"
        return f"{year}-{a:0>2}-{b:0>2}" if third > 12 >= first else f"{a}{sign}{b}{sign}{c}"

    return day
