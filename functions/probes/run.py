"""Probes: a function tries what it depends on, once each, with its own role, network and settings, and says how it went.

``{"probe": {"groups": ["graph.write"]}}`` runs them instead of the function's work; ``make smoke`` sends that. Nothing that
comes through the gateway, the queue or a rule can: these wrap what strangers say. What is written belongs to the tenant
`lexigraph-probe`, and the groups named `remove` take it out again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from functions.probes import graph, models, places, vectors
from functions.probes.report import Report
from lexigraph.model.errors import InvalidInput

_GROUPS: Mapping[str, Callable[[Report], None]] = {
    "registry.read": places.registry_read,
    "registry.write": places.registry_write,
    "registry.session": places.registry_session,
    "registry.refused": places.registry_keys,
    "registry.cache": partial(places.cache, owned=False),
    "registry.owners": partial(places.cache, owned=True),
    "objects.artefacts": partial(places.objects, documents=False),
    "objects.documents": partial(places.objects, documents=True),
    "graph.write": graph.write,
    "graph.read": graph.read,
    "graph.remove": graph.remove,
    "vectors.write": vectors.write,
    "vectors.large": vectors.large,
    "vectors.read": vectors.read,
    "vectors.remove": vectors.remove,
    "models.embed": models.embed,
    "models.converse": models.converse,
    "models.stream": partial(models.converse, streamed=True),
    "models.rerank": models.rerank,
}


class Probe(BaseModel):
    """Which groups to run, in order; ``least_engine`` is the version of Neptune that the profile wants at least."""

    groups: list[str]
    least_engine: str = ""


def run(asked: Any) -> dict[str, Any]:
    """Run groups of probes; return their results. Raise ``InvalidInput`` for a group that is not known."""
    wanted, report = Probe.model_validate(asked), Report()
    status = partial(graph.status, least_engine=wanted.least_engine)
    known: dict[str, Callable[[Report], None]] = {**_GROUPS, "graph.status": status}
    for group in wanted.groups:
        if group not in known:
            raise InvalidInput(f"probe.groups: {group[:40]!r} is unknown: use one of {', '.join(sorted(known))}")
        known[group](report)
    return report.plain()
