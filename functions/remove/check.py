"""`lexigraph doctor`'s comparison of the stores inside a deployment, as a step that the state machine repeats to the end."""

import re
from collections import Counter
from dataclasses import asdict
from typing import Any

from functions.payloads import Check
from functions.runtime import logger
from lexigraph.ingestion.upkeep.repair import examine_from, refuse_other_vectors
from lexigraph.ingestion.workflow.workbench import Workbench
from lexigraph.model.tenant import Tenant

_SHOWN, _URI_CHARS = 40, 300  # what an execution hands on is 256 KB at most


def go_on(asked: Check, work: Workbench) -> dict[str, Any]:
    """Compare a tenant's stores for a while; return what was asked with how far it is, and what was found so far."""
    tenant, stores = Tenant(asked.tenant), work.stores
    refuse_other_vectors(stores, tenant)
    at, found = examine_from(
        stores, tenant, asked.at, repair=asked.repair, cache=work.settings.cache_is_own, seconds=asked.seconds
    )
    for one in found:
        told = {"problem": one.problem, "remedy": one.remedy, "repaired": one.repaired}
        logger.warning("finding", extra={"tenant": tenant, "source_id": one.source_id, **told})
    # by what is wrong, without how much of it
    problems = Counter(asked.problems) + Counter(re.sub(r"^\d+ ", "", one.problem) for one in found)
    shown = asked.findings + [{**asdict(one), "uri": one.uri[:_URI_CHARS]} for one in found]
    return {**asked.model_dump(), "at": asdict(at), "problems": dict(problems), "findings": shown[:_SHOWN]}
