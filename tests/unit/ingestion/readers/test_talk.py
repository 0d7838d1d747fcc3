"""Talks as Slack, Discord, Telegram and Teams export them to JSON."""

import json
from pathlib import Path

import pytest

from lexigraph.ingestion.load import FileItem, LoadedDocument, load, scan
from lexigraph.settings import load_settings
from tests.unit.ingestion.readers.reading import parts, read

ANNA, BO = {"real_name": "Anna Lund"}, {"real_name": "", "display_name": "bo"}
MESSAGES = [
    {"user": "U1", "text": "The *lift* is <https://ex.org/lift|out of order> &amp; locked. :pray:", "ts": "1772442000.0001"},
    {"user": "U2", "text": "<@U2> has joined the channel", "ts": "1772442100.0002", "subtype": "channel_join"},
    {"user": "U2", "text": "Since when?", "ts": "1772442200.0003", "user_profile": BO},
    {
        "user": "U1",
        "text": "Ask <@U2> or <!here> in <#C9|infra>: <https://ex.org>",
        "ts": "1772442300.0004",
        "user_profile": ANNA,
    },
    {"user": "U1", "text": "Since Monday.", "ts": "1772442400.0005", "thread_ts": "1772442200.0003"},
    {
        "username": "deploybot",
        "subtype": "bot_message",
        "text": "",
        "ts": "1772442500.0006",
        "attachments": [{"title": "Deploy 812 failed", "text": "disk full"}, None],
        "files": "none",
    },
]
TALK = [{"type": "message", **message} for message in MESSAGES]


def test_a_message_is_a_paragraph_of_whoever_wrote_it_and_threads_stand_together(tmp_path: Path) -> None:
    document = read(tmp_path, "2026-03-02.json", json.dumps(TALK))
    assert [(role, text) for role, _, text in parts(document)] == [
        ("paragraph", "Anna Lund: The lift is out of order & locked."),
        ("paragraph", "bo: Since when?"),
        ("paragraph", "Anna Lund: Since Monday."),
        ("paragraph", "Anna Lund: Ask bo or @here in #infra: https://ex.org"),
        ("paragraph", "deploybot: Deploy 812 failed disk full"),
    ]
    assert document.metadata["date"] == "2026-03-02"


@pytest.mark.parametrize(
    ("uri", "title"),
    [("upload:general/2026-03-02.json", "general 2026-03-02"), ("upload:2026-03-02.json", "2026-03-02")],
)
def test_a_day_of_a_channel_is_called_by_both(tmp_path: Path, uri: str, title: str) -> None:
    path = tmp_path / "2026-03-02.json"
    path.write_text(json.dumps(TALK))
    (document,) = load(FileItem(path, uri, "json"), load_settings(data=tmp_path))
    assert isinstance(document, LoadedDocument)
    assert document.title == title


def test_messages_of_another_kind_are_records(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text(json.dumps([{"type": "message", "text": "The lift is locked."}, {"text": "It is free."}]))
    found = list(load(FileItem(path, path.as_uri(), "json"), load_settings(data=tmp_path)))
    assert [one.text for one in found if isinstance(one, LoadedDocument)] == ["The lift is locked.", "It is free."]


def paragraphs(document: LoadedDocument) -> list[str]:
    return document.text.split("\n\n")


def test_users_of_slack_who_tell_only_their_id_have_the_names_of_the_export_that_is_read(tmp_path: Path) -> None:
    users = [{"id": "U7", "name": "ben.o", "profile": {"real_name": "Ben Okafor"}}, {"id": "U8", "name": "mira"}, None]
    messages = [{"type": "message", "user": "U8", "text": "<@U7> will tell them.", "ts": "1772442000.0001"}]
    day = tmp_path / "slack" / "general" / "2026-03-02.json"
    day.parent.mkdir(parents=True)
    (tmp_path / "slack" / "users.json").write_text(json.dumps(users))
    day.write_text(json.dumps(messages))

    def said(path: Path) -> list[str]:
        read = (one for item in scan([path]) if isinstance(item, FileItem) for one in load(item, load_settings()))
        return [one.text for one in read if isinstance(one, LoadedDocument) and one.title == "general 2026-03-02"]

    assert said(tmp_path / "slack") == ["mira: Ben Okafor will tell them."]
    assert said(day.parent) == ["U8: U7 will tell them."]  # what lies outside of what is ingested is not read


def test_a_message_of_several_lines_is_one_and_its_code_stands_below(tmp_path: Path) -> None:
    text = "Seen since Monday:\n```\nERROR disk\n  full\n```\n• on both nodes\n• only at night"
    long = "\n".join(["We meet at nine. " + "x" * 300] * 2)
    told = [
        {"type": "message", "username": "Bo", "text": said, "ts": f"177244200{n}.0"} for n, said in enumerate((text, long))
    ]
    document = read(tmp_path, "2026-03-02.json", json.dumps(told))
    assert [(role, text[:42]) for role, _, text in parts(document)] == [
        ("paragraph", "Bo: Seen since Monday: • on both nodes • o"),
        ("code", "ERROR disk\n  full"),
        ("paragraph", "Bo: We meet at nine. " + "x" * 21),
        ("paragraph", "Bo: We meet at nine. " + "x" * 21),
    ]


def test_a_channel_of_discord_has_who_wrote_when(tmp_path: Path) -> None:
    def message(time: str, name: str, content: str, **more: object) -> dict[str, object]:
        return {
            "timestamp": f"2024-04-20T{time}:22.1+00:00",
            "author": {"name": "x", "nickname": name},
            "content": content,
            **more,
        }

    messages = [
        message(
            "18:01", "Mossy", "shadows **flicker** :cry:", type="Default", reactions=[{"emoji": {"name": "+1"}, "count": 3}]
        ),
        message("18:04", "kevin", "set `shadow.bias = 0.005`", type="Reply", attachments=[{"fileName": "engine.toml"}]),
        message("18:05", "Mossy", "pinned a message", type="ChannelPinnedMessage"),
    ]
    exported = {"guild": {"name": "Forge"}, "channel": {"name": "help", "topic": "ask"}, "messages": messages}
    document = read(tmp_path, "Forge - help [1].json", json.dumps(exported))
    assert document.title == "Forge help"
    assert paragraphs(document) == [
        "[2024-04-20 18:01] Mossy: shadows flicker",
        "[2024-04-20 18:04] kevin: set `shadow.bias = 0.005` engine.toml",
    ]


def test_chats_of_telegram_are_sections_and_tell_from_whom_something_was_forwarded(tmp_path: Path) -> None:
    def message(name: str, text: object, **more: object) -> dict[str, object]:
        return {"type": "message", "date": "2024-04-01T09:02:11", "from": name, "text": text, **more}

    water = [
        {"type": "service", "date": "2024-04-01T09:00:00", "actor": "Greta", "action": "create_group", "text": ""},
        message("Paul", ["read ", {"type": "link", "text": "https://ex.org"}, " or ask"], text_entities=[{"text": "read"}]),
        message("Greta", "No pellets.", forwarded_from="Committee"),
        message("Paul", "", photo="(File not included)"),
    ]
    single = {"name": "Allotment", "type": "private_group", "messages": water}
    said = [
        "[2024-04-01 09:02] Paul: read https://ex.org or ask",
        "[2024-04-01 09:02] Greta: (forwarded from Committee) No pellets.",
    ]
    document = read(tmp_path, "result.json", json.dumps(single))
    assert (document.title, paragraphs(document)) == ("Allotment", said)
    every = {"about": "export", "chats": {"list": [single, {"name": "Ida", "messages": [message("Ida", "Hello.")]}]}}
    document = read(tmp_path, "result.json", json.dumps(every))
    assert paragraphs(document) == ["Allotment", *said, "Ida", "[2024-04-01 09:02] Ida: Hello."]


def test_messages_of_teams_are_read_as_their_words_and_replies_stand_below(tmp_path: Path) -> None:
    def message(id_: str, hour: str, name: str, html: str, **more: object) -> dict[str, object]:
        sender = {"user": {"displayName": name}}
        body = {"contentType": "html", "content": html}
        return {
            "id": id_,
            "createdDateTime": f"2024-02-12T{hour}:00Z",
            "messageType": "message",
            "from": sender,
            "body": body,
            **more,
        }

    messages = [
        message(
            "3", "09:00", "Ida Bell", "<p>No, <at id='0'>Jon</at>, DEKRA.</p><p>Close&nbsp;finding 4.</p>", replyToId="1"
        ),
        message("2", "08:40", "Jon Roy", "<div><div>Lunch?</div></div>"),
        message("1", "08:30", "Jon Roy", "<p>Is it <b>TÜV</b>?</p>", subject="Audit"),
        {**message("4", "08:31", "", "<systemEventMessage/>"), "messageType": "systemEventMessage", "from": None},
    ]
    document = read(tmp_path, "messages.json", json.dumps({"value": messages}))
    assert paragraphs(document) == [
        "[2024-02-12 08:30] Jon Roy: Audit Is it TÜV?",
        "[2024-02-12 09:00] Ida Bell: No, Jon, DEKRA. Close finding 4.",
        "[2024-02-12 08:40] Jon Roy: Lunch?",
    ]
