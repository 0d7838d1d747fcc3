"""Transcripts and subtitles: what each speaker says, joined from cues, with the time at which it begins."""

from pathlib import Path

import pytest

from lexigraph.ingestion.chunk import chunk
from lexigraph.ingestion.extract.segments import segments
from tests.processor import soon
from tests.unit.ingestion.readers.reading import outline, parts, read, refused

TEAMS = """\
WEBVTT

NOTE duration:"00:00:20"

4b1c-8/12-0
00:00:01.500 --> 00:00:04.000
<v Anna Berg>The deadline is
the twelfth</v>

4b1c-8/13-0
00:00:04.000 --> 00:00:06.000
<v Anna Berg>of March.</v>

NOTE Confidence: 0.9

4b1c-8/14-0
00:00:07.000 --> 00:00:09.000
<v NOWAK, Jan (Guest)>Priya takes over the migration.</v> <v Anna Berg>Good.</v>
"""
ZOOM = """\
WEBVTT

1
00:00:03.120 --> 00:00:06.000
Anna Berg: The deadline is: the twelfth

2
00:00:06.010 --> 00:00:09.500
Anna Berg: of March,
and more: it will stay.

3
00:00:09.900 --> 00:00:12.000
Łukasz's iPhone: It will not move.
"""
YOUTUBE = """\
WEBVTT
Kind: captions
Language: en

00:00:00.160 --> 00:00:02.869 align:start position:0%
\x20
welcome<00:00:00.480><c> to</c><00:00:00.640><c> the</c><c.colorE5E5E5> harbour</c>

00:00:02.869 --> 00:00:02.879 align:start position:0%
welcome to the harbour
\x20

00:00:02.879 --> 00:00:05.000 align:start position:0%
welcome to the harbour
it<00:00:03.000><c> lies</c> in Kelm

00:00:05.000 --> 00:00:06.000 align:start position:0%
it lies in Kelm
[Music]

00:00:06.000 --> 00:00:07.000
&gt;&gt; Since when? &gt;&gt; Since 1912 &amp; before.
"""
SRT = """\
1
00:00:01,000 --> 00:00:04,000
<i>In the harbour</i>
{\\an8}lay a boat.
2
00:01:05,500 --> 00:01:07,000 X1:40 X2:600
- Whose is it?
- Hers.

3
01:00:08,000 --> 01:00:09,000
MINKO: Remember this: never moor here.

4
01:00:09,000 --> 01:00:11,000
(door closes)

5
01:00:12,000 --> 01:00:13,000
It is the mayor's.
"""


def cue(seconds: int, text: str) -> str:
    return f"{seconds // 60:02d}:{seconds % 60:02d}.000 --> {seconds // 60:02d}:{seconds % 60:02d}.900\n{text}\n\n"


def said(folder: Path, *cues: str, name: str = "a.vtt") -> list[str]:
    return [text for _, _, text in parts(read(folder, name, "WEBVTT\n\n" + "".join(cues)))]


def test_what_a_voice_says_in_several_cues_is_one_paragraph_with_its_name_and_time(tmp_path: Path) -> None:
    document = read(tmp_path, "standup.vtt", TEAMS)
    assert document.title == "standup"
    assert parts(document) == [
        ("paragraph", (), "[00:00:01] Anna Berg: The deadline is the twelfth of March."),
        ("paragraph", (), "[00:00:07] Jan Nowak: Priya takes over the migration."),
        ("paragraph", (), "[00:00:07] Anna Berg: Good."),
    ]


def test_where_all_cues_begin_with_a_name_it_is_the_speaker_whatever_it_looks_like(tmp_path: Path) -> None:
    assert [text for _, _, text in parts(read(tmp_path, "a.vtt", ZOOM))] == [
        "[00:00:03] Anna Berg: The deadline is: the twelfth of March, and more: it will stay.",
        "[00:00:09] Łukasz's iPhone: It will not move.",
    ]


def test_where_a_name_is_told_when_another_speaks_the_cues_below_are_of_the_same(tmp_path: Path) -> None:
    cues = ["Anna de la Cruz: The deadline", "is March. The rule is: it stays.", "SPEAKER_02: Who moves it?", "Nobody."]
    assert said(tmp_path, *(cue(n, text) for n, text in enumerate(cues))) == [
        "[00:00:00] Anna de la Cruz: The deadline is March. The rule is: it stays.",
        "[00:00:02] Speaker 02: Who moves it? Nobody.",
    ]


def test_captions_that_roll_are_read_once_and_their_sounds_and_styles_are_left_out(tmp_path: Path) -> None:
    document = read(tmp_path, "a.vtt", YOUTUBE)
    assert [text for _, _, text in parts(document)] == [
        "[00:00:00] welcome to the harbour it lies in Kelm",
        "[00:00:06] Since when?",
        "[00:00:06] Since 1912 & before.",
    ]
    assert document.metadata["language"] == "en"


def test_subtitles_of_a_film_have_names_in_capitals_for_one_cue_only(tmp_path: Path) -> None:
    assert parts(read(tmp_path, "film.srt", SRT)) == [
        ("paragraph", ("00:00:00 to 00:05:00",), "[00:00:01] In the harbour lay a boat."),
        ("paragraph", ("00:00:00 to 00:05:00",), "[00:01:05] Whose is it? Hers."),
        ("paragraph", ("01:00:00 to 01:05:00",), "[01:00:08] Minko: Remember this: never moor here."),
        ("paragraph", ("01:00:00 to 01:05:00",), "[01:00:12] It is the mayor's."),
    ]


def test_a_long_speech_is_parted_at_its_sentences_and_at_pauses(tmp_path: Path) -> None:
    long = [cue(n, "<v Anna>" + ("The boat" if n % 2 else "lies there.")) for n in range(1, 41)]
    paragraphs = said(tmp_path, *long)
    assert len(paragraphs) > 1
    assert all(text.endswith("lies there.") and len(text) < 250 for text in paragraphs)
    assert all(text[11:].startswith("Anna: The boat") for text in paragraphs)
    assert said(tmp_path, cue(1, "It lies there."), cue(20, "It is old."), cue(80, "It is hers.")) == [
        "[00:00:01] It lies there. It is old.",
        "[00:01:20] It is hers.",
    ]
    assert all(len(text) < 600 for text in said(tmp_path, *(cue(n, "so and then we go on") for n in range(50))))


@pytest.mark.parametrize(("last", "sections"), [(599, [()]), (600, [("00:00:00 to 00:05:00",), ("00:10:00 to 00:15:00",)])])
def test_what_is_long_has_a_section_for_five_minutes(tmp_path: Path, last: int, sections: list[tuple[str, ...]]) -> None:
    assert outline(read(tmp_path, "a.vtt", cue(1, "It lies there.") + cue(last, "It is hers."))) == sections


def test_the_head_of_a_file_tells_its_title_and_language(tmp_path: Path) -> None:
    document = read(tmp_path, "a.vtt", "WEBVTT - The harbour\nLanguage: de\n\n" + cue(1, "Boot."))
    assert (document.title, document.metadata["language"]) == ("The harbour", "de")


def test_turns_are_statements_of_their_speakers(tmp_path: Path) -> None:
    (made,) = chunk(read(tmp_path, "a.vtt", TEAMS))
    found = segments(made.text, "paragraph")
    assert [(s.speaker, made.text[s.body : s.end]) for s in found] == [
        ("Anna Berg", "The deadline is the twelfth of March."),
        ("Jan Nowak", "Priya takes over the migration."),
        ("Anna Berg", "Good."),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("WEBVTT\n\nAnna: hello\n", "has no cues: each begins with its times, as 00:01:02.000 --> 00:01:05.000"),
        ("WEBVTT\n\n" + cue(1, "sheet.jpg#xywh=0,0,160,90"), "contains no text"),
        (cue(1, "[Music]"), "contains no text"),
    ],
)
def test_what_holds_no_words_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    assert refused(tmp_path, "a.vtt", content) == reason


@pytest.mark.parametrize(
    "piece", ["<v a>", "<v ", "<", "{\\", "[", "(", "a: ", "A a: ", ">> ", "a\n", "A ", ".\u201d", "#xywh="]
)
def test_what_is_repeated_takes_no_more_time_than_it_is_long(tmp_path: Path, piece: str) -> None:
    content = cue(1, "It lies there.") + cue(2, piece * 50_000) + cue(3, piece * 50_000)
    assert soon(lambda: read(tmp_path, "a.vtt", content), seconds=5)
