"""The subject that a short text begins with, which stands for the title that it lacks."""

import pytest

from lexigraph.ingestion.lead import lead_subject


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Ada Brook (1815 - 1852) was a baker.", "Ada Brook"),
        ("Ada Brook was a baker. She lived in Wells.", "Ada Brook"),
        ("The Siege of Tidewater, in 1642, was short.", "The Siege of Tidewater"),
        ("'Johann von Birk' composed songs.", "Johann von Birk"),
        ("Tidewater is a ferry.", "Tidewater"),
        ("Tidewater (ferry) sank.", "Tidewater"),
        ("Tidewater sailed for years. Most of what Tidewater carried was grain.", "Tidewater"),
    ],
)
def test_the_words_before_the_verb_name_the_subject(text: str, subject: str) -> None:
    assert lead_subject(text) == subject


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One.",
        "It was a ferry.",
        "In 1999 Ada Brook moved.",
        "Children pay nothing.",
        "Ada: hello there",
        "Stop! The mill is closed.",
        "12 people came.",
        "the mill was built by Ada Brook.",
        "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa was long.",
        "水車は古い。",
        "Ada Brook was a baker. " + "She baked bread for the town. " * 80,
    ],
)
def test_what_names_nothing_or_is_too_long_to_be_about_one_thing_has_no_subject(text: str) -> None:
    assert lead_subject(text) == ""
