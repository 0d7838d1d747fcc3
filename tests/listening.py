"""A real store between a retriever and a test that looks at what is asked of it."""

from typing import Any


class Listening:
    """Passes every call on, and keeps the methods called, and all arguments: lists one by one."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls: list[str] = []
        self.asked: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            self.calls.append(name)
            for given in args:
                self.asked += given if isinstance(given, (list, tuple)) else [given]
            return found(*args, **named)

        return call
