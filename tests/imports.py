"""Which module of the package imports which: read from the sources, imports inside functions and for types included."""

import ast
from pathlib import Path

import lexigraph

PACKAGE = Path(lexigraph.__file__).parent


def name_of(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, known: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            # of a package its modules, else what the package itself holds
            found |= {name if name in known else node.module for name in inside}
    return {name for name in found if name.split(".")[0] == "lexigraph"} - {name_of(path)}


_FILES = sorted(PACKAGE.rglob("*.py"))
_KNOWN = {name_of(path) for path in _FILES}
IMPORTED = {name_of(path): _imported(path, _KNOWN) for path in _FILES}
