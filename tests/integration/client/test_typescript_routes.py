"""The TypeScript client says what the API says: what it calls exists, it leaves out nothing without a reason, and it repeats
what Python's does.
"""

import json
import re
from pathlib import Path

from lexigraph.client.operations import OPERATIONS
from lexigraph.client.requests import ONCE
from tests.client_code import DEPLOYED

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "clients" / "typescript" / "src"
PATHS = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
API = {(method.upper(), path) for path, methods in PATHS.items() for method in methods}
_CALL = re.compile(r'this\.(?:(get|post|remove|events)\(|send\(\s*"([A-Z]+)",)\s*"(/[^"]*)"')
_METHODS = {"get": "GET", "post": "POST", "remove": "DELETE", "events": "POST"}

# operations without a method of their own, and why
_ONE_CALL = "one request, one reply: as short and as typed by get, post or remove"
_SERVER_FILES = "files of the server are ingested by whoever works there: Python or the command line"
UNCALLED = {
    "cache_stats": _ONE_CALL,
    "cancel_job": _ONE_CALL,
    "clear_cache": _ONE_CALL,
    "create_key": _ONE_CALL,
    "diagnostics": _ONE_CALL,
    "document_outline": _ONE_CALL,
    "document_text": _ONE_CALL,
    "egonet": _ONE_CALL,
    "estimate": _ONE_CALL,
    "get_document": _ONE_CALL,
    "get_entity": _ONE_CALL,
    "get_statement": _ONE_CALL,
    "health": _ONE_CALL,
    "hm_recall": _ONE_CALL,
    "ingest": _SERVER_FILES,
    "ingest_and_stream": _SERVER_FILES,
    "ingest_stream": _SERVER_FILES,
    "job_events": _ONE_CALL,
    "list_jobs": _ONE_CALL,
    "list_keys": _ONE_CALL,
    "multihop_query": _ONE_CALL,
    "overview": _ONE_CALL,
    "query_multidoc": _ONE_CALL,
    "ranking_preview": _ONE_CALL,
    "revoke_key": _ONE_CALL,
    "upload_document": "its file is sent as a form: upload does that, into a namespace that the caller names",
}


def called() -> set[tuple[str, str]]:
    """Return method and path of all that the client's methods call."""
    text = (SOURCES / "index.ts").read_text("utf-8")
    found = {(_METHODS.get(by, method), path) for by, method, path in _CALL.findall(text)}
    assert {path for _, path in found} == set(re.findall(r'"(/[^"]*)"', text)), "a call is written in another way"
    return found


def test_what_its_methods_call_is_in_the_api() -> None:
    assert called() - set(DEPLOYED.values()) <= API


def test_every_operation_has_a_method_or_a_reason_for_none() -> None:
    assert set(OPERATIONS.values()) - set(DEPLOYED.values()) == API
    assert {name for name, operation in OPERATIONS.items() if operation not in called()} == UNCALLED.keys()


def test_it_repeats_nothing_that_the_python_client_does_not() -> None:
    (line,) = (one for one in (SOURCES / "transport.ts").read_text("utf-8").splitlines() if '"/keys"' in one)
    assert set(re.findall(r'"(/[^"]*)"', line)) == {OPERATIONS[name][1] for name in ONCE}
