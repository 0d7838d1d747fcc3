"""Talks as Slack exports them: a JSON list of messages for each channel and day."""

import json
from pathlib import Path

import pytest

from lexigraph.ingestion.load import FileItem, LoadedDocument, load
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
        ("paragraph", "deploybot: Deploy 812 failed\ndisk full"),
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
