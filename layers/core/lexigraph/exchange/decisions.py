"""What curators decided about names, as lines of an export. Decisions name entities by their names, so that they mean the
same in another index, and are a tenant's: an export of one namespace has none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, get_args

from lexigraph.model.curation import Decision, Kind
from lexigraph.model.names import checked_name
from lexigraph.model.normalise import entity_key
from lexigraph.model.tenant import Tenant
from lexigraph.storage.common.records import decision_json, decision_of
from lexigraph.storage.protocols import Stores


def told(stores: Stores, tenant: Tenant) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a tenant as JSON objects, undone ones too, by id."""
    for one in stores.registry.decisions(tenant):
        yield json.loads(decision_json(one))


def read(given: Mapping[str, Any]) -> Decision:
    """Read what :func:`told` gave. Raise ``TypeError`` or ``ValueError`` saying what is wrong."""
    decision = decision_of(json.dumps(given))
    if not isinstance(given["others"], list):
        raise TypeError("others must be a list of names")
    places = [text for document in decision.documents for text in document]
    for name, value in {**asdict(decision), "documents": tuple(places)}.items():
        if not all(isinstance(text, str) for text in (value if isinstance(value, tuple) else (value,))):
            raise TypeError(f"{name} must be a string")
    if decision.kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {', '.join(get_args(Kind))}")
    checked_name("id", decision.id)
    for namespace in {namespace for namespace, _ in decision.documents}:
        checked_name("namespace", namespace)
    if (decision.kind == "split") != bool(decision.documents) or (decision.documents and len(decision.others) != 1):
        raise ValueError("a split has one other name, and documents")
    for other, name in decision.pairs + decision.senses:
        if not entity_key(checked_name("name", other)) or not entity_key(checked_name("name", name)):
            raise ValueError("each name must contain a letter or digit")
    return decision
