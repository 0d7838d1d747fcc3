"""Stems of Snowball's algorithms. Pure."""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

_ALIAS = "lexigraph.model.snowball"


def snowball(word: str, algorithm: str) -> str:
    """Return the stem of a lower-case word."""
    # one of its own: a stemmer keeps the word it is at work on, and threads stem at the same time
    return str(_stemmer(algorithm)().stemWord(word))


@cache
def _stemmer(algorithm: str) -> Any:
    """Return the class of an algorithm; the package would import all 36 of its languages, for 50 ms."""
    if _ALIAS not in sys.modules:
        found = find_spec("snowballstemmer")
        if found is None:
            raise ModuleNotFoundError("snowballstemmer", name="snowballstemmer")
        sys.modules[_ALIAS] = module_from_spec(found)  # not run: it only says where its modules are
    return getattr(import_module(f"{_ALIAS}.{algorithm}_stemmer"), f"{algorithm.capitalize()}Stemmer")
