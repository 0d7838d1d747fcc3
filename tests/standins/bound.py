"""Servers that do not outlive the tests: also where those are killed, when nothing is left to end a server."""

import shutil


def bound(command: list[str]) -> list[str]:
    """Return a command whose process ends with the one that starts it, where the system can say so (Linux)."""
    return ["setpriv", "--pdeathsig", "TERM", *command] if shutil.which("setpriv") else command
