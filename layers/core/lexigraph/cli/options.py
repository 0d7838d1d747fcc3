"""Command-line options made from the fields of a parameter dataclass, so that none is forgotten."""

import functools
import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from lexigraph.model.errors import InvalidInput

_ROW = re.compile(r"^\s*\|\s*``(\w+)``\s*\|\s*(.+?)\s*\|[^|]*\|\s*$", re.MULTILINE)


def with_options(kind: type, *, panel: str, leave_out: Collection[str] = ()) -> Callable[[Callable[..., int]], Any]:
    """Return a decorator that adds an option for each field of the dataclass ``kind``.

    The function gets those that were given, as keyword arguments of the right type. ``none`` stands for None where a
    field may be None. The help comes from the table in the docstring of ``kind``.
    """
    types = get_type_hints(kind)
    told = dict(_ROW.findall(kind.__doc__ or ""))
    chosen = {f.name: types[f.name] for f in fields(kind) if f.name not in leave_out}
    parameters = [_parameter(f, types[f.name], told.get(f.name, ""), panel) for f in fields(kind) if f.name in chosen]

    def decorate(function: Callable[..., int]) -> Any:
        own = inspect.signature(function, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]

        @functools.wraps(function)
        def command(**values: Any) -> int:
            raw = {name: values.pop(name) for name in chosen}
            given = {name: parse_value(name, value, chosen[name]) for name, value in raw.items() if value is not None}
            return function(**values, **given)

        further = [p for p in own.parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]
        command.__signature__ = own.replace(parameters=[*kept, *parameters, *further])  # type: ignore[attr-defined]  # read by inspect
        return command if further and _is_inner(function) else _closed(command)

    return decorate
