"""JSON without records: what its keys say is kept, and a key that says nothing stands before no sentence."""

import json
from typing import Any

from lexigraph.ingestion.readers.records import read_json
from lexigraph.settings import Settings

LONG = "Kestrel House is a former customs building whose lift is too small for crates. " * 3
SHORT = "Deliveries go to the yard."


def told(value: Any) -> list[tuple[tuple[str, ...], str]]:
    """Return the blocks of a document with the headings above them."""
    parsed = read_json(json.dumps(value).encode(), Settings())
    assert not isinstance(parsed, list)
    return [(b.headings, parsed.text[b.start : b.end]) for b in parsed.blocks]


def test_keys_are_headings_and_the_scalars_of_an_object_one_row() -> None:
    assert told({"sites": {"city": "Antwerp", "use": "offices", "history": LONG}}) == [
        (("sites",), "city: Antwerp; use: offices"),
        (("sites", "history"), LONG.strip()),
    ]


def test_a_key_that_says_nothing_is_left_out_and_ends_the_section_before_it() -> None:
    assert told({"history": LONG, "text": [LONG], "value": {"city": "Antwerp", "body": LONG}}) == [
        (("history",), LONG.strip()),
        ((), LONG.strip()),
        ((), "city: Antwerp"),
        ((), LONG.strip()),
    ]


def test_an_object_with_a_heading_and_a_text_is_a_section() -> None:
    parts = [{"heading": "Kestrel", "text": LONG}, {"heading": "Yard", "text": SHORT}, {"name": "Quay", "city": "Trieste"}]
    assert told({"title": "Sites", "parts": parts}) == [
        ((), "title: Sites"),
        (("parts", "Kestrel"), LONG.strip()),
        (("parts", "Yard"), SHORT),
        (("parts",), "name: Quay; city: Trieste"),
    ]


def test_a_section_with_more_fields_keeps_its_name_beside_them() -> None:
    assert told([{"name": "Kestrel", "city": "Antwerp", "notes": LONG, "body": SHORT}]) == [
        (("Kestrel",), "name: Kestrel; city: Antwerp"),
        (("Kestrel", "notes"), LONG.strip()),
        (("Kestrel",), SHORT),
    ]


def test_a_subject_summary_or_key_is_a_heading_where_there_is_no_name() -> None:
    issue = {"id": 7, "key": "K-1", "fields": {"summary": "Lift stops", "state": {"name": "Done"}, "notes": LONG}}
    assert told({"issues": [issue]}) == [
        (("issues", "K-1"), "id: 7; key: K-1"),
        (("issues", "K-1", "fields", "Lift stops", "state"), "name: Done"),
        (("issues", "K-1", "fields", "Lift stops", "notes"), LONG.strip()),
    ]


def test_rich_text_is_read_as_its_words() -> None:
    def node(kind: str, *content: Any) -> dict[str, Any]:
        return {"type": kind, "content": list(content)}

    ann = {"type": "mention", "attrs": {"text": "@Ann"}}
    stop = node("paragraph", {"type": "text", "text": "The lift stops, says "}, ann)
    items = [node("listItem", node("paragraph", {"type": "text", "text": text})) for text in ("Dry it.", "Oil it.")]
    said = node("caption", {"type": "text", "text": "As of May."})
    assert told({"description": {**node("doc", stop, node("bulletList", *items), said), "version": 1}}) == [
        (("description",), "The lift stops, says @Ann"),
        (("description",), "Dry it."),
        (("description",), "Oil it."),
        (("description",), "As of May."),
    ]
