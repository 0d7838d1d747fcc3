"""Talks as Slack, Discord, Telegram and Teams export them, as JSON: a paragraph a message.

A file of Slack is a channel on a day. The others go over many days, so that each message says when it was written.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from html import unescape
from typing import Any

from lexigraph.ingestion.readers.chat import Chat, Message, add_message, written
from lexigraph.ingestion.readers.html import plain_lines
from lexigraph.ingestion.readers.parsed import Parsed, TextBuilder, one_line
from lexigraph.settings import Settings

# <@U2|anna>, <#C1|general>, <!here>, <https://example.com|the page>
_LINK = re.compile(r"<([@#!]?)([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_SIGNS = re.compile(
    r"(?<!\w)[*~]{1,2}([^\s*~](?:[^*~\n]{0,1000}[^\s*~])?)[*~]{1,2}(?!\w)|(?<![\w:]):[a-z][\w+-]{1,40}:(?![\w:])"
)
# that somebody joined or renamed the channel; what bots and threads say is said
_SAID = frozenset(["", "bot_message", "file_share", "me_message", "thread_broadcast"])
_SAID_ON_DISCORD = frozenset(["Default", "Reply", "ChatInputCommand"])
_MICROSECONDS = re.compile(r"\d{1,11}(?:\.\d{1,9})?")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)")


def read_talk(value: object, settings: Settings, names: Mapping[str, str]) -> Parsed | None:
    """Read messages as ``Anna Lund: ...``, those of a thread together, without notices; None when a value is something else.

    ``names`` are those of users whose messages on Slack tell nothing but an id.
    """
    if _all(value, _is_of_slack):
        return _read_slack(value, settings, names)
    chats = _discord(value) or _teams(value) or _telegram(value)
    return written(chats, settings) if chats else None


def slack_names(users: object) -> dict[str, str]:
    """Return the names of users by their ids, as ``users.json`` of an export tells them."""
    people = [user for user in users if isinstance(user, dict)] if isinstance(users, list) else []
    return {str(user.get("id")): name for user in people if (name := _told(user.get("profile"), user))}


# ---------------------------------------------------------------- what the formats have in common


def _all(value: object, is_message: Callable[[dict[str, Any]], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) and is_message(one) for one in value)


def _moment(stamp: object) -> str:
    found = _MOMENT.match(str(stamp))
    return f"{found[1]} {found[2]}" if found else ""


def _told(*records: object) -> str:
    """Return the first name that some records tell, the fullest first."""
    known = [record for record in records if isinstance(record, dict)]
    keys = ("real_name", "display_name", "displayName", "nickname", "name", "username")
    told = (record.get(key) for record in known for key in keys)
    return next((name for name in told if isinstance(name, str) and name.strip()), "")


def _strings(record: object, *keys: str) -> Iterator[str]:
    if isinstance(record, dict):
        yield from (record[key] for key in keys if isinstance(record.get(key), str))


def _parts(record: Mapping[str, Any], key: str) -> list[Any]:
    return record[key] if isinstance(record.get(key), list) else []


# ---------------------------------------------------------------- Slack


def _read_slack(messages: Any, settings: Settings, known: Mapping[str, str]) -> Parsed:
    names = {**known, **{str(message.get("user")): name for message in messages if (name := _slack_name(message))}}
    builder = TextBuilder(settings)
    ordered = sorted(messages, key=_order)
    for message in ordered:
        said = "\n".join(_LINK.sub(lambda link: _read(link, names), text) for text in _slack_texts(message) if text.strip())
        if message.get("subtype", "") in _SAID:
            who = _slack_name(message) or names.get(str(message.get("user")), str(message.get("user", "")))
            add_message(builder, Message("", who, unescape(_SIGNS.sub(r"\1", said))), settings)
    day = datetime.fromtimestamp(_seconds(ordered[0]["ts"]), UTC)
    return builder.parsed("", {"date": f"{day:%Y-%m-%d}"})


def _is_of_slack(value: Mapping[str, Any]) -> bool:
    return value.get("type") == "message" and bool(_seconds(value.get("ts")))


def _seconds(stamp: object) -> float:
    return float(stamp) if isinstance(stamp, str) and _MICROSECONDS.fullmatch(stamp) else 0.0


def _order(message: Mapping[str, Any]) -> tuple[float, float]:
    return _seconds(message.get("thread_ts")) or _seconds(message["ts"]), _seconds(message["ts"])


def _slack_name(message: Mapping[str, Any]) -> str:
    """Return who a message says that it is from, empty where it tells nothing but an id."""
    return _told(message.get("user_profile") or message.get("bot_profile"), {"username": message.get("username")})


def _slack_texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a message says, and what is attached to it."""
    yield str(message.get("text") or "")
    for part in (*_parts(message, "attachments"), *_parts(message, "files")):
        yield from _strings(part, "title", "text")


def _read(link: re.Match[str], names: Mapping[str, str]) -> str:
    sign, target, shown = link.groups()
    if sign == "@":
        return names.get(target, "") or shown or target
    return f"{sign.replace('!', '@')}{shown or target}" if sign else shown or target


# ---------------------------------------------------------------- Discord, Teams, Telegram


def _discord(value: object) -> list[Chat]:
    """Return the channel that DiscordChatExporter wrote, nothing when a value is something else."""
    exported = value if isinstance(value, dict) else {}
    messages: Any = exported.get("messages")
    if not _all(messages, lambda m: isinstance(m.get("author"), dict) and isinstance(m.get("content"), str)):
        return []
    places = (_told(exported.get(key)) for key in ("guild", "channel"))
    said = [m for m in messages if m.get("type", "Default") in _SAID_ON_DISCORD]
    return [Chat(" ".join(filter(None, places)), [_discord_message(message) for message in said])]


def _discord_message(message: Mapping[str, Any]) -> Message:
    texts = [
        _SIGNS.sub(r"\1", message["content"]),
        *(text for part in _parts(message, "embeds") for text in _strings(part, "title", "description")),
        *(text for part in _parts(message, "attachments") for text in _strings(part, "fileName")),
    ]
    return Message(_moment(message.get("timestamp")), _told(message["author"]), "\n".join(filter(None, texts)))


def _teams(value: object) -> list[Chat]:
    """Return the chat or channel that Microsoft Graph wrote, the replies below what they reply to."""
    messages: Any = value.get("value", value.get("messages")) if isinstance(value, dict) else value
    if not _all(messages, lambda m: isinstance(m.get("body"), dict) and isinstance(m.get("createdDateTime"), str)):
        return []
    said = [m for m in messages if m.get("messageType", "message") == "message"]
    began = {str(message.get("id")): message["createdDateTime"] for message in said}

    def order(message: Mapping[str, Any]) -> tuple[str, str]:
        return began.get(str(message.get("replyToId")), message["createdDateTime"]), message["createdDateTime"]

    return [Chat("", list(map(_teams_message, sorted(said, key=order))))]


def _teams_message(message: Mapping[str, Any]) -> Message:
    sender = message.get("from")
    people = [sender.get(kind) for kind in ("user", "application")] if isinstance(sender, dict) else []
    body = "".join(_strings(message["body"], "content"))
    text = body if message["body"].get("contentType") == "text" else plain_lines(body)
    texts = [*_strings(message, "subject"), text, *(t for p in _parts(message, "attachments") for t in _strings(p, "name"))]
    return Message(_moment(message["createdDateTime"]), _told(*people), "\n".join(filter(None, texts)))


def _telegram(value: object) -> list[Chat]:
    """Return the chats that Telegram Desktop wrote, one or all of an account."""
    whole = value.get("chats") if isinstance(value, dict) else None
    chats: Any = _parts(whole, "list") if isinstance(whole, dict) else [value]
    if not _all(chats, lambda c: _all(c.get("messages"), lambda m: isinstance(m.get("date"), str) and "text" in m)):
        return []
    return [
        Chat(_told(chat), [_telegram_message(message) for message in chat["messages"] if message.get("type") == "message"])
        for chat in chats
    ]


def _telegram_message(message: Mapping[str, Any]) -> Message:
    parts = message["text"] if isinstance(message["text"], list) else [message["text"]]
    text = "".join(part if isinstance(part, str) else "".join(_strings(part, "text")) for part in parts)
    source = message.get("forwarded_from")
    said = f"(forwarded from {one_line(source)}) {text}" if text and isinstance(source, str) else text
    texts = [said, *_strings(message, "file_name")]
    return Message(_moment(message["date"]), "".join(_strings(message, "from")), "\n".join(filter(None, texts)))
