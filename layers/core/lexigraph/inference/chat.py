"""What every chat model needs: turns in an order that models accept, replies in pieces, and JSON out of a reply."""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from lexigraph.inference.line import still_wanted
from lexigraph.inference.protocols import MalformedReply, Prompt, ReplyCut
from lexigraph.model.errors import InvalidInput, ModelUnavailable

# Appended to the system prompt of models that take no schema of their own.
JSON_ONLY = "Reply with one JSON value that satisfies the JSON schema below, and with nothing else.\n\n{schema}"
_BEFORE = "(what was said before is not shown)"
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)


def turns(prompt: Prompt) -> list[tuple[str, str]]:
    """Return (role, content) pairs that begin with the user, alternate, and end with ``prompt.user``.

    Models refuse anything else: blank turns go, neighbours of one role are joined, and one of the assistant that comes first
    has a turn of the user before it. Raise ``InvalidInput`` for another role.
    """
    joined: list[tuple[str, str]] = []
    for role, content in (*prompt.history, ("user", prompt.user)):
        if role not in ("user", "assistant"):
            raise InvalidInput(f"history: role {role!r} is not allowed: use 'user' or 'assistant'")
        if not content.strip():
            continue
        if role == "assistant" and not joined:
            joined.append(("user", _BEFORE))
        if joined and joined[-1][0] == role:
            content = f"{joined.pop()[1]}\n\n{content}"
        joined.append((role, content))
    if not joined or joined[-1][0] != "user":
        raise InvalidInput("prompt is empty: the user message has no text")
    return joined


def with_schema(prompt: Prompt, schema: Mapping[str, Any]) -> Prompt:
    """Return the prompt with the schema in its system part, for models that can only be asked in words."""
    ask = JSON_ONLY.format(schema=json.dumps(schema, ensure_ascii=False))
    return replace(prompt, system=f"{prompt.system}\n\n{ask}".strip())


def streamed(
    model: str, begin: Callable[[], Generator[str, None, None]], retry: Callable[[Callable[[], Any]], Any]
) -> Iterator[str]:
    """Yield the pieces of a reply. ``retry`` lets it ``begin`` again until there is one; then it is not asked for again."""

    def begun() -> tuple[str | None, Generator[str, None, None]]:
        still_wanted()
        pieces = _whole_characters(begin())
        return next(pieces, None), pieces

    first, pieces = retry(begun)
    with closing(pieces):
        yield not_empty(first or "", model)
        yield from pieces


def mended(text: str) -> str:
    """Return text as UTF-8 can hold it: both halves of a surrogate pair become its character, one alone U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _whole_characters(pieces: Generator[str, None, None]) -> Generator[str, None, None]:
    """Yield the pieces mended; the halves of a pair may come in two of them."""
    held = ""
    with closing(pieces):
        for piece in pieces:
            text = held + piece
            held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
            if text := mended(text.removesuffix(held)):
                yield text
    if held:
        yield mended(held)


def within(pieces: Iterable[str], prompt: Prompt, model: str) -> Generator[str, None, None]:
    """Yield the pieces of a reply up to ``prompt.max_chars``, where it is closed. Raise ``ReplyCut`` when it is longer."""
    left = prompt.max_chars
    with closed(pieces):
        for piece in pieces:
            if said := piece[:left]:
                yield said
            left -= len(piece)
            if left < 0:
                most = f"{prompt.max_chars:,} characters, more than the {prompt.max_tokens:,} tokens it was asked for"
                raise ReplyCut(f"{model}: the reply was cut off at {most}")


@contextmanager
def closed(pieces: Any) -> Iterator[None]:
    """Close an iterator when the block ends, if it can be closed: the connection below it ends at once."""
    try:
        yield
    finally:
        if close := getattr(pieces, "close", None):
            close()


def out_of_tokens(model: str, prompt: Prompt, text: str = "") -> ReplyCut:
    """Return the error for a reply that its server ended at the maximum of tokens."""
    return ReplyCut(f"{model}: the reply was cut off at {prompt.max_tokens:,} tokens", text)


def not_empty(text: str, model: str, stop: str = "", *, cut: bool = False) -> str:
    """Return the text of a reply. Raise ``ModelUnavailable`` when there is none; ``stop`` is why the server ended it."""
    if text:
        return mended(text)
    why = "; all tokens went before its first word: raise the maximum of tokens" if cut else stop and f" ({stop})"
    raise ModelUnavailable(f"{model} gave an empty reply{why}", public="the model gave an empty reply")


def parse_json(text: str, model: str, truncated: bool | None = None) -> Any:
    """Return the JSON value that ``text`` is, alone or in its only fenced block.

    Raise ``MalformedReply`` otherwise. ``truncated`` is what the server said of the end of the reply; None is not known,
    then a reply that breaks off counts as truncated.
    """
    fenced = _FENCED.findall(text)
    body = mended(fenced[0] if len(fenced) == 1 else text).strip()
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()  # half characters, that is, may be written as escapes
        return value
    except RecursionError:
        raise MalformedReply(f"{model}: reply is nested too deeply", text) from None
    except ValueError as error:
        if truncated is None:
            truncated = body[:1] in ("{", "[") and _breaks_off(body, error)
        why = "reply was cut off before its JSON was complete" if truncated else "reply is no JSON"
        raise MalformedReply(f"{model}: {why}", text, truncated) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _breaks_off(body: str, error: ValueError) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.pos >= len(body) or error.msg.startswith("Unterminated string")
