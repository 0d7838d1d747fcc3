"""Asking a language model about chunks: several at a time, with one repair of a reply that cannot be used."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from lexigraph import telemetry
from lexigraph.inference.protocols import LanguageModel, MalformedReply, Prompt
from lexigraph.ingestion.extract.reply import UnusableReply
from lexigraph.model.errors import ModelUnavailable

T = TypeVar("T")
R = TypeVar("R")
_SHOWN_CHARS = 8_000  # of a bad reply, shown to the model that is to repair it
_PROBE = "Reply with the word: ready"


def in_order(work: Callable[[T], R], items: Iterable[T], concurrency: int) -> Iterator[R]:
    """Yield the work on each item, in order; ``concurrency`` are worked on at the same time."""
    waiting: deque[Future[R]] = deque()
    work = telemetry.carried(work)
    with ThreadPoolExecutor(concurrency, "ask") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= 2 * concurrency:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def asked(
    model: LanguageModel, prompt: Prompt, schema: Mapping[str, Any], name: str, repair: str, read: Callable[[Any], T]
) -> T:
    """Ask, read the reply, and ask once more when it cannot be used; ``repair`` is told then, with its ``{reason}``.

    Raise ``UnusableReply`` when it cannot be used again.
    """
    try:
        reply = model.structured(prompt, schema, name)
    except MalformedReply as error:
        said = error.text
        reason = "it was cut off before its end: be briefer." if error.truncated else "it is no JSON."
    else:
        try:
            return read(reply)
        except UnusableReply as error:
            said, reason = json.dumps(reply, ensure_ascii=False), f"{error}{error.details}."
    shown = said if len(said) <= _SHOWN_CHARS else f"{said[:_SHOWN_CHARS]} ..."
    # some services refuse a turn without words
    history = (("user", prompt.user), ("assistant", shown or "(nothing)"))
    try:
        return read(model.structured(replace(prompt, user=repair.format(reason=reason), history=history), schema, name))
    except MalformedReply as error:
        what = f"was cut off after {prompt.max_tokens:,} tokens" if error.truncated else "was not valid JSON"
        raise UnusableReply(f"the reply {what}, even after a retry") from error


def alive(model: LanguageModel, max_tokens: int) -> bool:
    """Tell whether the model answers a question that has nothing to do with any document."""
    try:
        model.complete(Prompt(_PROBE, max_tokens=max_tokens))
    except ModelUnavailable:
        return False
    return True
