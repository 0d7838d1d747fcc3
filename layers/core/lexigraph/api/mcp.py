"""Retrievers, answers and recall as tools of the Model Context Protocol: over stdio, and over HTTP at ``/mcp``.

Over HTTP the principal is that of the request, found by the same middleware as for every route; over stdio it is whoever
runs the command. The SDK is loaded when the first tool is asked for.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, NoReturn

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations, jsonrpc_message_adapter
from pydantic import Field, ValidationError, create_model
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from lexigraph import __version__
from lexigraph.api.access.keys import Principal
from lexigraph.api.answers import Answers
from lexigraph.api.errors import ApiError, as_api_error, first_problem, unread_body
from lexigraph.api.limits import checked, only_known
from lexigraph.api.mcp_results import answered, found
from lexigraph.api.schemas.query import QueryRequest
from lexigraph.api.service import Service
from lexigraph.model.errors import InvalidInput
from lexigraph.model.filters import parse_filter
from lexigraph.model.names import LONGEST
from lexigraph.retrieval.recall.args import RecallArgs

_ABOUT = """Search over documents stored as a lexical graph. Start with `query`, which answers with citations. The search
tools return ranked statements with their reasons, to read yourself; `traversal` first. `hm_recall` finds entities,
statements and topics close to the session so far. Only it remembers earlier calls: put names for "it" and "they" in a
question."""
_TOOLS = {
    "traversal": "Find statements by search and graph traversal, also over several documents: the search to begin with.",
    "semantic-guided": "Find single statements by meaning and keywords, with beam search over the graph.",
    "hybrid": "Find chunks by vectors, BM25 and relations, with explained scores.",
    "multihop": "Follow links hop by hop from the chunks most similar to the question.",
    "multidoc": "Find the best sections of several documents, evenly.",
    "topic": "Find sections of long documents by topic.",
}
Question_ = Annotated[
    str,
    Field(min_length=1, max_length=4_000, description="question in natural language", examples=["Who signs?"]),
]
Most = Annotated[int, Field(ge=1, le=100, description="maximum results")]
Room = Annotated[int, Field(ge=1, le=1_000_000, description="maximum words and punctuation marks in all statements")]
Filters = Annotated[
    dict[str, Any] | None,
    Field(
        description="filter on documents: {key, operator, value} on their metadata, or on namespace, uri, title; "
        "operators ==, !=, <, <=, >, >=, in, not_in; {condition: and | or | not, filters: [...]} combines several",
        examples=[{"key": "year", "operator": ">=", "value": 2020}],
    ),
]
WhoAsks = Callable[[Context[Any, Any]], Principal]


def make_server(service: Service, who: WhoAsks) -> MCPServer[Any]:
    """Return an MCP server with the tools; ``who`` tells the principal of a call."""
    answer = "Answer a question from the documents, with citations, or tell that they have no answer."
    tools = [_tool(_query(service, who), "query", answer)]
    tools += [_tool(_search(service, who, name), name.replace("-", "_"), about) for name, about in _TOOLS.items()]
    recall = "Recall entities, statements and topics for words or a pattern."
    # what is found is noted in the session
    tools.append(_tool(_recall(service, who), "hm_recall", recall, read_only=False))
    return _Server("lexigraph", version=__version__, instructions=_ABOUT, log_level="WARNING", tools=tools)


class _Server(MCPServer[Any]):
    """A server without prompts. The SDK's would log the name of one that was asked for as it came, line ends and all."""

    async def get_prompt(self, *_: object, **__: object) -> NoReturn:
        """Raise ``MCPError``."""
        raise MCPError(INVALID_PARAMS, "there are no prompts")


class _Tool(Tool):
    """A tool that refuses arguments as the HTTP API refuses a body: by name, and without what was given."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Return what the function returns. Raise ``ToolError`` with a code and the field."""
        result = await self.fn(context, **self._read(arguments))
        if not convert_result:
            return result
        # the SDK would indent it: half as many characters again for a model to read
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        return CallToolResult(content=[TextContent(text=text)], structured_content=result)

    def _read(self, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            given = checked(self.fn_metadata.pre_parse_json(arguments))
            only_known(given, tuple(self.fn_metadata.arg_model.model_fields))
            return self.fn_metadata.arg_model.model_validate(given).model_dump_one_level()
        except ValidationError as error:
            problem = _problem(error)
        except ValueError as error:
            problem = f"arguments: {error}"
        raise ToolError(f"{InvalidInput.code}: {problem}")


def _tool(function: Callable[..., Any], name: str, about: str, *, read_only: bool = True) -> Tool:
    hints = ToolAnnotations(
        read_only_hint=read_only, destructive_hint=False, idempotent_hint=read_only, open_world_hint=False
    )
    tool = _Tool.from_function(function, name, description=about, annotations=hints)
    loose = tool.fn_metadata.arg_model
    # the SDK drops what it does not know
    tool.fn_metadata.arg_model = create_model(loose.__name__, __base__=loose, __cls_kwargs__={"extra": "forbid"})
    tool.parameters["additionalProperties"] = False
    return tool


def _problem(error: ValidationError) -> str:
    return first_problem([{**problem, "loc": ("arguments", *problem["loc"])} for problem in error.errors()])


def _search(service: Service, who: WhoAsks, name: str) -> Callable[..., Any]:
    async def search(
        ctx: Context[Any, Any],
        question: Question_,
        max_search_results: Most = 10,
        max_context_tokens: Room = 2_000,
        filters: Filters = None,
    ) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            asks = _reader(who(ctx))
            limits = {"max_search_results": max_search_results, "max_context_tokens": max_context_tokens}
            engine = service.engine(asks.tenant, name, limits)
            return found(engine.retrieve(question, filters=filters))

        return await _told(service, lambda: who(ctx), work)

    return search


def _query(service: Service, who: WhoAsks) -> Callable[..., Any]:
    async def query(ctx: Context[Any, Any], question: Question_, filters: Filters = None) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            try:
                body = QueryRequest.model_validate({"question": question, "filters": filters})
            except ValidationError as error:
                raise InvalidInput(_problem(error)) from None
            return answered(Answers(service, _reader(who(ctx)).tenant, body).whole())

        return await _told(service, lambda: who(ctx), work)

    return query


def _recall(service: Service, who: WhoAsks) -> Callable[..., Any]:
    async def hm_recall(
        ctx: Context[Any, Any],
        query: Annotated[
            str, Field(min_length=1, max_length=4_000, description="words, an identifier, or a regular expression")
        ],
        session_id: Annotated[
            str,
            Field(
                min_length=1, max_length=LONGEST, description="session whose recent nodes rank higher; default: the caller's"
            ),
        ] = "default",
        max_results: Annotated[int, Field(ge=1, le=50, description="maximum nodes")] = 10,
        force_regex: Annotated[bool, Field(description="treat the query as a regular expression (RE2)")] = False,
        filters: Filters = None,
    ) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            args = RecallArgs(session_id, max_results, force_regex)
            asks = _reader(who(ctx))
            return service.recall(asks.tenant, query, parse_filter(filters), args, caller=asks.key_id).to_dict()

        return await _told(service, lambda: who(ctx), work)

    return hm_recall


def _reader(who: Principal) -> Principal:
    if "read" not in who.scopes:
        raise ApiError(403, "the key lacks the scope 'read'")
    return who


async def _told(service: Service, who: Callable[[], Principal], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what ``work`` returns; every error becomes one that says no more than the HTTP API would."""
    try:
        return await service.run(work, asks=who().tenant.whole)
    except Exception as error:  # noqa: BLE001  # the SDK would tell its text
        told = as_api_error(error)
        raise ToolError(f"{told.code}: {told.detail}") from None


class McpApp:
    """``/mcp``: stateless, a request at a time, so that any server of several can answer it."""

    def __init__(self, service: Service) -> None:
        # who may ask, and from where, the application's own middleware has decided
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._app = make_server(service, _of_request).streamable_http_app(
            json_response=True, stateless_http=True, transport_security=security
        )
        self._ready, self._stop = asyncio.Event(), asyncio.Event()
        self._task = asyncio.ensure_future(self._run())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raise ``ApiError`` for a body that is no message."""
        body = await Request(scope, receive).body()
        _check_message(body)
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._ready.wait()
        await self._app({**scope, "path": "/mcp", "root_path": ""}, again, send)

    async def close(self) -> None:
        """End what is under way."""
        self._stop.set()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        async with self._app.router.lifespan_context(self._app):
            self._ready.set()
            await self._stop.wait()


def _check_message(body: bytes) -> None:
    """Refuse what is no message of JSON-RPC; the SDK would repeat what was sent."""
    try:
        jsonrpc_message_adapter.validate_python(json.loads(body), by_name=False)
    except ValidationError:
        hint = 'send {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, or the like'
        raise ApiError(422, "the body is not a JSON-RPC 2.0 message", hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise unread_body(error) or ApiError(422, "the body is not valid JSON") from None


async def serve_stdio(service: Service, who: Principal) -> None:
    """Answer over stdin and stdout until they end."""
    await make_server(service, lambda _: who).run_stdio_async()


def _of_request(ctx: Context[Any, Any]) -> Principal:
    request = ctx.request_context.request
    principal = request.scope.get("lexigraph.principal") if isinstance(request, Request) else None
    if not isinstance(principal, Principal):
        raise ApiError(401, "the request has no principal")
    return principal
