"""The retrievers under the name of the reference page's import; they are those of :mod:`lexigraph.retrieval`."""

from typing import TYPE_CHECKING, Any

from lexigraph import retrieval
from lexigraph.retrieval import __all__ as __all__

if TYPE_CHECKING:
    from lexigraph.retrieval import *  # noqa: F403  # the same names, for type checkers


def __getattr__(name: str) -> Any:
    return getattr(retrieval, name)
