"""Options of several commands, and those made from the fields of parameter dataclasses, so that none is forgotten."""

import functools
import inspect
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from lexigraph.model.errors import InvalidInput

_ROW = re.compile(r"^\s*\|\s*``(\w+)``\s*\|\s*(.+?)\s*\|[^|]*\|\s*$", re.MULTILINE)
PathsArgument = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)]
NoProgressOption = Annotated[bool, typer.Option("--no-progress", help="Show only failures and the summary.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ArgOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Retriever parameter, named as in the HTTP API; may be repeated."),
]
_NAMES = {int: "INTEGER", float: "NUMBER", str: "TEXT"}


def with_options(*kinds: type, leave_out: Collection[str] = ()) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that adds an option for each field of some dataclasses.

    The function gets the options that were given as keyword arguments of the fields' types. ``none`` stands for None
    where a field may be None. The help comes from the table in the docstring of the dataclass.
    """
    types: dict[str, Any] = {}
    parameters = []
    for kind in kinds:
        hints, told = get_type_hints(kind), dict(_ROW.findall(kind.__doc__ or ""))
        for field in fields(kind):
            if field.name not in types and field.name not in leave_out:
                types[field.name] = hints[field.name]
                parameters.append(_parameter(field, hints[field.name], told.get(field.name, "")))

    def decorate(function: Callable[..., None]) -> Any:
        own = inspect.signature(function, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]

        @functools.wraps(function)
        def command(**values: Any) -> None:
            raw = {name: values.pop(name) for name in types}
            function(**values, **{name: value_of(name, raw[name], types[name]) for name in types if raw[name] is not None})

        command.__signature__ = own.replace(parameters=[*kept, *parameters])  # type: ignore[attr-defined]  # read by inspect
        return command

    return decorate


def value_of(name: str, given: Any, kind: Any) -> Any:
    """Return what was given on the command line as a value of the type ``kind``. Raise ``InvalidInput``."""
    allowed = _alternatives(kind)
    if isinstance(given, bool):
        return given
    if given in _choices(kind):
        return given
    if NoneType in allowed and given.lower() == "none":
        return None
    for number in (int, float):
        if number in allowed:
            try:
                return number(given)
            except ValueError:
                continue
    if str in allowed:
        return given
    raise InvalidInput(f"{_option(name)}: {given[:80]!r} is not {_metavar(kind).replace('|', ' or ')}")


def assigned(pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` pairs: numbers, ``true``, ``false`` and ``none`` are that, all else is text.

    Raise ``InvalidInput`` for a pair that is none, and for a name that is given twice.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, raw = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not name or not equals:
            raise InvalidInput(f"--arg {pair[:80]!r}: expected NAME=VALUE")
        if name in found:
            raise InvalidInput(f"--arg {name} is given twice")
        try:
            value = None if raw.lower() == "none" else json.loads(raw)
        except ValueError:
            value = raw
        found[name] = raw if isinstance(value, (list, dict)) else value
    return found


def _parameter(field: "Field[Any]", kind: Any, help_: str) -> inspect.Parameter:
    default = (
        field.default if field.default is not MISSING else field.default_factory() if callable(field.default_factory) else ""
    )
    text = help_.replace("``", "").replace("`", "")
    if bool in _alternatives(kind):
        name = _option(field.name)
        option = typer.Option(f"{name}/--no-{name[2:]}", help=f"{text} [default: {'yes' if default else 'no'}]")
        annotation: Any = Annotated[bool | None, option]
    else:
        shown = "none" if default is None else default
        option = typer.Option(_option(field.name), metavar=_metavar(kind), help=f"{text} [default: {shown}]")
        annotation = Annotated[str | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _choices(kind: Any) -> tuple[Any, ...]:
    return tuple(c for part in _alternatives(kind) if get_origin(part) is Literal for c in get_args(part))


def _metavar(kind: Any) -> str:
    names = [_NAMES[part] for part in _alternatives(kind) if part in _NAMES] + [str(c) for c in _choices(kind)]
    if NoneType in _alternatives(kind) and "none" not in names:
        names.append("none")
    return "|".join(names)
