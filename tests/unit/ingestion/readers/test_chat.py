"""Chats as WhatsApp exports them to text."""

from pathlib import Path

import pytest

from tests.unit.ingestion.readers.reading import read

OF_A_PHONE = """\
[12/01/24, 10:15:03] Surf Trip: \u200eMessages and calls are end-to-end encrypted.
[12/01/24, 10:15:03] \u200eAnna created this group
[12/01/24, 10:15:40] Anna: who is in for Portugal?
I found a house.
[12/01/24, 10:17:30] ~\u202fLena: me, with \u2068@Tom\u2069: we fly
[12/01/24, 10:21:11] Tom Baker: \u200eimage omitted
\u200e[12/01/24, 10:31:00] Anna: \u200eThis message was deleted.
[13/01/24, 08:40:55] \u202a+49 170 123\u202c: paid 62 \u20ac \u200e<This message was edited>
"""


def test_a_chat_has_the_name_of_its_group_and_a_paragraph_a_message_without_notices(tmp_path: Path) -> None:
    document = read(tmp_path, "_chat.txt", OF_A_PHONE)
    assert document.title == "Surf Trip"
    assert document.text.split("\n\n") == [
        "[2024-01-12 10:15:40] Anna: who is in for Portugal? I found a house.",
        "[2024-01-12 10:17:30] Lena: me, with @Tom: we fly",
        "[2024-01-13 08:40:55] +49 170 123: paid 62 \u20ac",
    ]


@pytest.mark.parametrize(
    ("days", "read_as"),
    [
        (("1/12/24", "1/13/24"), ("2024-01-12", "2024-01-13")),
        (("12/01/2024", "13/01/2024"), ("2024-01-12", "2024-01-13")),
        (("12.01.24", "1.2.24"), ("2024-01-12", "2024-02-01")),
        (("2024-01-12", "2024-02-01"), ("2024-01-12", "2024-02-01")),
        (("12/01/24", "01/02/24"), ("12/01/24", "01/02/24")),  # nothing tells which is the month
    ],
)
def test_days_are_those_that_the_whole_chat_tells(tmp_path: Path, days: tuple[str, str], read_as: tuple[str, str]) -> None:
    first, second = days
    text = (
        f"{first}, 9:15\u202fPM - Messages are end-to-end encrypted.\n{first}, 9:16\u202fPM - Priya: <Media omitted>\n"
        f"{first}, 9:20\u202fPM - Ruth: 272 pages\n{second}, 7:01\u202fAM - Priya: Piranesi it is!\n"
    )
    document = read(tmp_path, "WhatsApp Chat with Book Club.txt", text)
    assert document.title == "WhatsApp Chat with Book Club"
    assert [line.replace("\u202f", " ") for line in document.text.split("\n\n")] == [
        f"[{read_as[0]} 9:20 PM] Ruth: 272 pages",
        f"[{read_as[1]} 7:01 AM] Priya: Piranesi it is!",
    ]


def test_a_text_that_tells_of_times_is_no_chat(tmp_path: Path) -> None:
    text = (
        "12.01.24, 10:15 - the pump stopped\n\nIt was found by Anna: she heard it.\nThe valve was shut.\nNobody was there."
    )
    assert "12.01.24, 10:15 - the pump stopped" in read(tmp_path, "notes.txt", text).text
