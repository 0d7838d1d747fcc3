"""Talks as Slack exports them, a JSON list of messages for each channel and day: one document, a paragraph a message."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import unescape
from typing import Any

from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, check_length, one_line
from lexigraph.settings import Settings

# <@U2|anna>, <#C1|general>, <!here>, <https://example.com|the page>
_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_SIGNS = re.compile(r"(?<!\w)[*~](\S[^*~\n]{0,1000}(?<=\S))[*~](?!\w)|(?<![\w:]):[a-z][\w+-]{1,40}:(?![\w:])")
# that somebody joined or renamed the channel; what bots and threads say is said
_SAID = frozenset(["", "bot_message", "file_share", "me_message", "thread_broadcast"])
_MICROSECONDS = re.compile(r"\d{1,11}(?:\.\d{1,9})?")


def is_talk(value: object) -> bool:
    """Tell whether a JSON value is the messages of a channel."""
    return isinstance(value, list) and bool(value) and all(map(_is_message, value))


def read_talk(messages: Sequence[Mapping[str, Any]], settings: Settings) -> Parsed:
    """Read messages as ``Anna Lund: ...``, those of a thread together, without notices; the day of the first is ``date``."""
    names = {str(message.get("user")): name for message in messages if (name := _name(message))}
    builder = TextBuilder(settings)
    ordered = sorted(messages, key=_order)
    for message in ordered:
        said = "\n".join(_LINK.sub(lambda link: _read(link, names), text) for text in _texts(message) if text.strip())
        if said and message.get("subtype", "") in _SAID:
            check_length(len(said), settings.max_text_chars)
            who = _name(message) or names.get(str(message.get("user")), str(message.get("user", "")))
            bare = unescape(_SIGNS.sub(r"\1", said))
            builder.add(f"{one_line(who)}: {bare}" if who else bare)
    day = datetime.fromtimestamp(_seconds(ordered[0]["ts"]), UTC)
    return builder.parsed("", {"date": f"{day:%Y-%m-%d}"})


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") == "message" and bool(_seconds(value.get("ts")))


def _seconds(stamp: object) -> float:
    return float(stamp) if isinstance(stamp, str) and _MICROSECONDS.fullmatch(stamp) else 0.0


def _order(message: Mapping[str, Any]) -> tuple[float, float]:
    return _seconds(message.get("thread_ts")) or _seconds(message["ts"]), _seconds(message["ts"])


def _name(message: Mapping[str, Any]) -> str:
    """Return who a message says that it is from, empty where it tells nothing but an id."""
    profile = message.get("user_profile") or message.get("bot_profile")
    known = profile if isinstance(profile, dict) else {}
    told = (known.get("real_name"), known.get("display_name"), known.get("name"), message.get("username"))
    return next((name for name in told if isinstance(name, str) and name.strip()), "")


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a message says, and what is attached to it."""
    yield str(message.get("text") or "")
    for key in ("attachments", "files"):
        parts = message.get(key)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                yield from (part[name] for name in ("title", "text") if isinstance(part.get(name), str))


def _read(link: re.Match[str], names: Mapping[str, str]) -> str:
    sign, target, shown = link.groups()
    if sign == "@":
        return names.get(target, "") or shown or target
    return f"{sign.replace('!', '@')}{shown or target}" if sign else shown or target
