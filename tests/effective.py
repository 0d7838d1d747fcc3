"""Parameters that have an effect together, of those drawn at random."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lexigraph.model.errors import InvalidInput

T = TypeVar("T")


def effective(make: Callable[[Mapping[str, Any]], T], args: Mapping[str, Any]) -> tuple[T, dict[str, Any]]:
    """Return what is made of those parameters that are not refused for having no effect, and these."""
    left = dict(args)
    while True:
        try:
            return make(left), left
        except InvalidInput as error:
            name, said, _ = str(error).partition(" has no effect with ")
            if not said:
                raise
            del left[name]
