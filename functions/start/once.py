"""Doing once what S3 tells twice: Powertools' idempotency over a table of its own, where there is one."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from functions.runtime import invocation

TABLE = "LEXIGRAPH_IDEMPOTENCY_TABLE"
_SECONDS = 86_400  # for which it is remembered


@cache
def _kept() -> DynamoDBPersistenceLayer:
    return DynamoDBPersistenceLayer(table_name=os.environ[TABLE])


def once(work: Callable[[], None], told: dict[str, Any]) -> None:
    """Do the work unless the same was told within a day and done. A failure is not remembered."""
    if TABLE not in os.environ:
        work()
        return

    config = IdempotencyConfig(expires_after_seconds=_SECONDS)
    config.register_lambda_context(invocation.get())  # how long it may be under way before another may begin

    @idempotent_function(  # type: ignore[untyped-decorator]  # has no types
        data_keyword_argument="told", persistence_store=_kept(), config=config, key_prefix="start"
    )
    def run(*, told: dict[str, Any]) -> None:  # noqa: ARG001  # what it is known by
        work()

    run(told=told)
