"""The OpenAPI document as a file: ``python -m lexigraph.api.openapi.file docs/openapi.json`` renews it (`make openapi`)."""

import json
import sys
from pathlib import Path
from typing import Any

from lexigraph.api.app import create_app
from lexigraph.api.openapi.compatibility import allowed, breaking_changes
from lexigraph.model.errors import Conflict


def document() -> dict[str, Any]:
    """Return the document of this version; it does not depend on settings."""
    return create_app().openapi()


def as_text(made: dict[str, Any]) -> str:
    """Return the document as it is kept: one form for the same content."""
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def renew(path: Path) -> bool:
    """Write the document to a file; False when it was the same.

    Raise ``Conflict`` when clients of the document that is there would break and its major version has not grown.
    """
    made = document()
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept == made:
            return False
        if (broken := breaking_changes(kept, made)) and not allowed(kept, made):
            raise Conflict(
                f"{path.name}: clients would break, so the major version must grow. What was never released may change "
                f"freely: remove the file first.\n" + "\n".join(broken)
            )
    path.write_text(as_text(made), encoding="utf-8")
    return True


if __name__ == "__main__":
    try:
        sys.stdout.write("renewed\n" if renew(Path(sys.argv[1])) else "no change\n")
    except Conflict as error:
        sys.exit(str(error))
