"""Stores: protocols, factories by connection string, and a folder a back end. Names are loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexigraph.storage.factory import (
        CacheFactory,
        DocumentStoreFactory,
        GraphStoreFactory,
        RegistryFactory,
        VectorStoreFactory,
    )

__all__ = ["CacheFactory", "DocumentStoreFactory", "GraphStoreFactory", "RegistryFactory", "VectorStoreFactory"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("lexigraph.storage.factory"), name)
