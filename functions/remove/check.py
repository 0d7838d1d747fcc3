"""`lexigraph doctor`'s comparison of the stores inside a deployment, as a step that the state machine repeats to the end."""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from functions.payloads import Check
from functions.runtime import logger
from lexigraph.ingestion.upkeep.repair import Finding, Place, embedded_otherwise, examine_from, refuse_other_vectors
from lexigraph.ingestion.workflow.workbench import Workbench
from lexigraph.model.numbers import counted
from lexigraph.model.tenant import Tenant
from lexigraph.storage.protocols import Registry

_EVERY = "*"  # no tenant is called so
_SHOWN, _URI_CHARS = 40, 300  # what an execution hands on is 256 KB at most


def go_on(asked: Check, work: Workbench) -> dict[str, Any]:
    """Compare a tenant's stores for a while; return what was asked with how far it is, and what was found so far."""
    label = asked.embedding or work.settings.embedding.label
    if asked.tenant == _EVERY:
        return _told(asked, *_look_at_all(asked, work, label))
    tenant, stores = Tenant(asked.tenant), work.stores
    left = _not_embedded(stores.registry, tenant, label) if asked.embedding and asked.at == Place() else []
    refuse_other_vectors(stores.vectors, tenant)
    at, found = examine_from(
        stores, tenant, asked.at, repair=asked.repair, cache=work.settings.cache_is_own, seconds=asked.seconds
    )
    return _told(asked, at, left + found)


def _look_at_all(asked: Check, work: Workbench, label: str) -> tuple[Place, list[Finding]]:
    """Look which tenants are not embedded by a model, one at least; return where to go on, and these."""
    until, found = time.monotonic() + asked.seconds, list[Finding]()
    for tenant in (tenant for tenant in work.stores.documents.tenants() if tenant > asked.at.after):
        found += _not_embedded(work.stores.registry, tenant, label)
        if time.monotonic() >= until:
            return Place("documents", tenant), found
    return Place("done"), found


def _not_embedded(registry: Registry, tenant: Tenant, label: str) -> list[Finding]:
    if not (lacking := embedded_otherwise(registry, tenant, label)):
        return []
    problem = f"{counted(lacking, 'document has', 'documents have')} no vectors of {label}"
    return [Finding("", tenant, problem, "start the action reembed for this tenant")]


def _told(asked: Check, at: Place, found: Sequence[Finding]) -> dict[str, Any]:
    for one in found:
        told = {"problem": one.problem, "remedy": one.remedy, "repaired": one.repaired}
        tenant = asked.tenant if one.source_id else one.uri
        logger.warning("finding", extra={"tenant": tenant, "source_id": one.source_id, **told})
    # by what is wrong, without how much of it
    problems = Counter(asked.problems) + Counter(re.sub(r"^[\d,]+ ", "", one.problem) for one in found)
    shown = asked.findings + [{**asdict(one), "uri": one.uri[:_URI_CHARS]} for one in found]
    return {**asked.model_dump(), "at": asdict(at), "problems": dict(problems), "findings": shown[:_SHOWN]}
