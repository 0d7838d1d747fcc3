"""What a view sees of the graph in Neptune: its rights are added to every condition on what readers see.

:func:`bound` is asked for every query that reads, so that none can be run for a view without them: one that has no such
condition looks for a tenant of the view's name, and finds nothing. The properties of entities are derived from all sources
of a tenant; for a view they are computed anew, from what it sees.
"""

import re
from collections.abc import Mapping
from typing import Any

from lexigraph.model.tenant import View
from lexigraph.storage.neptune.filters import filter_condition
from lexigraph.storage.neptune.schema import LIVE, LIVE_OTHER, SHOWN

_OF_SOURCE = re.compile(r"\bs\.")


def bound(query: str, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a query and its parameters as they are run: for a view of the ``tenant``, within its rights."""
    view = parameters.get("tenant")
    if not isinstance(view, View):
        return query, dict(parameters)
    condition, compared = filter_condition(view.rights)
    condition = condition.replace("$filter", "$right")
    text = query
    for seen, source in ((LIVE, "s."), (SHOWN, "s."), (LIVE_OTHER, "z.")):
        text = text.replace(seen, f"{seen} AND {_OF_SOURCE.sub(source, condition)}")
    if text == query:
        return query, dict(parameters)
    rights = {name.replace("filter", "right"): value for name, value in compared.items()}
    return text, {**parameters, **rights, "tenant": str(view.whole)}
