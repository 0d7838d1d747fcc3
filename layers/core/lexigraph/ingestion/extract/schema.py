"""The JSON that a language model is asked for, and how much of it is taken. Closed objects, every property required."""

from collections.abc import Mapping
from typing import Any

MAX_TOPICS = 12
MAX_STATEMENTS = 80  # of one chunk
MAX_DETAILS = 12  # of one statement, as the next two
MAX_ENTITIES = 40
MAX_FACTS = 40
MAX_ALIASES = 40
MAX_PROPOSITIONS = 120

MAX_TITLE_CHARS = 200
MAX_STATEMENT_CHARS = 1_200
MAX_DETAIL_CHARS = 600
MAX_CLASS_CHARS = 40
MAX_PREDICATE_CHARS = 120
MAX_OBJECT_CHARS = 300


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}

REPLY: Mapping[str, Any] = _object(
    topics=_list(
        _object(
            title=_TEXT,
            statements=_list(
                _object(
                    statement=_TEXT,
                    details=_list(_TEXT),
                    entities=_list(_object(name=_TEXT, **{"class": _TEXT})),
                    facts=_list(_object(subject=_TEXT, predicate=_TEXT, object=_TEXT)),
                )
            ),
        )
    ),
    aliases=_list(_object(name=_TEXT, other_name=_TEXT)),
)

PROPOSITIONS: Mapping[str, Any] = _object(propositions=_list(_TEXT))

RELATIONS: Mapping[str, Any] = _object(
    relations=_list(
        _object(
            type=_TEXT,
            direction={"type": "string", "enum": ["forward", "backward"]},
            confidence={"type": "number"},
            evidence=_TEXT,
        )
    )
)
