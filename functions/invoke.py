"""Calling a function on this machine with a payload of ``events/``: ``python -m functions.invoke authorize [PAYLOAD]``.

It works with what the settings of the environment name, as the deployed function would; the reply is printed as JSON.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

EVENTS = Path(__file__).parents[1] / "events"


def invoke(name: str, event: dict[str, Any]) -> Any:
    """Call a handler as the runtime does: its event and its reply have been JSON."""
    context = SimpleNamespace(
        function_name=f"lexigraph-{name}",
        memory_limit_in_mb=1_024,
        invoked_function_arn=f"arn:aws:lambda:eu-west-1:123456789012:function:lexigraph-{name}",
        aws_request_id="6f747d0e-7a8e-4b2e-9c54-2f2f0d6f9a11",
        get_remaining_time_in_millis=lambda: 30_000,
    )
    handler = import_module(f"functions.{name}.handler").handler
    return json.loads(json.dumps(handler(json.loads(json.dumps(event)), context)))


def main(arguments: list[str]) -> int:
    """Call the function that the arguments name, with the payload of the same name or the one given."""
    found = sorted(path.stem for path in EVENTS.glob("*.json"))
    if not arguments or (payload := arguments[-1]) not in found:
        print(f"usage: python -m functions.invoke FUNCTION [PAYLOAD]; payloads: {', '.join(found)}")  # noqa: T201
        return 2
    reply = invoke(arguments[0].partition(".")[0], json.loads((EVENTS / f"{payload}.json").read_text()))
    print(json.dumps(reply, indent=2))  # noqa: T201  # the reply
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
