"""The settings of the environment, read once."""

from functools import cache

from lexigraph.settings import Settings, load_settings


@cache
def settings() -> Settings:
    """Return the settings of the environment."""
    return load_settings()
