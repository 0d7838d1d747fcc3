"""One module a contract, each with a ``router``."""
