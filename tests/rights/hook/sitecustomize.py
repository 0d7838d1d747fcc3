"""Notes every call to AWS that a Python process makes, where its environment asks for it: what a function needs rights for.

Python loads a module of this name by itself when its folder is on the path. ``RIGHTS_FILE`` is the file that gets a line
of JSON for each kind of call, ``RIGHTS_OF`` the function under whose role the process would run. botocore tells of its
requests by an event; what is signed without a client of botocore (OpenSearch, Gremlin) is seen when it is signed.
"""

import json
import os
from threading import Lock
from typing import Any

_noted: set[str] = set()
_lock = Lock()


def _note(found: list[dict[str, Any]]) -> None:
    for call in found:
        line = json.dumps({"function": os.environ["RIGHTS_OF"], **call}, sort_keys=True)
        with _lock:
            new = line not in _noted
            _noted.add(line)
        if new:
            with open(os.environ["RIGHTS_FILE"], "a", encoding="utf-8") as told:  # noqa: PTH123  # one write, appended
                told.write(f"{line}\n")


def _watch() -> None:
    import botocore.handlers
    from botocore.auth import SigV4Auth

    from tests.rights.calls import of_botocore, of_signed

    def before(params: Any, model: Any, **_: Any) -> None:
        _note(of_botocore(model.service_model.service_name, model.name, params))

    botocore.handlers.BUILTIN_HANDLERS.append(("before-parameter-build", before))
    sign = SigV4Auth.add_auth

    def signed(self: Any, request: Any) -> Any:
        of_gremlin = self._service_name == "neptune-db" and "/gremlin" in request.url
        if self._service_name == "aoss" or of_gremlin:
            body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
            _note(of_signed(self._service_name, request.method, request.url, body))
        return sign(self, request)

    SigV4Auth.add_auth = signed


if "RIGHTS_FILE" in os.environ:
    _watch()
