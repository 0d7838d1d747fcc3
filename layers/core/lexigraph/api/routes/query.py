"""Cited answers, whole or as they are written, and the ranking behind them (E-35 to E-47, E-59 to E-64)."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.sse import ServerSentEvent

from lexigraph.answering.response import StreamingQueryResponse
from lexigraph.api import sse
from lexigraph.api.access.auth import Reader
from lexigraph.api.answers import Answers
from lexigraph.api.leaving import unless_left
from lexigraph.api.openapi.document import events
from lexigraph.api.schemas.query import PreviewReply, PreviewRequest, QueryReply, QueryRequest
from lexigraph.api.service import TheService
from lexigraph.inference.line import Line, asking_over
from lexigraph.retrieval.hybrid.results import HybridResults

router = APIRouter(tags=["query"])
_EVENTS = (
    'event: token\ndata: {"text":"Mira Holm signs [S1]."}\n\nevent: sources\ndata: [{"id":"chunk:3c06","label":"S1"}]\n\n'
    'event: done\ndata: {"question":"Who signs?","answer":"Mira Holm signs [S1]."}\n\n'
)


@router.post(
    "/query",
    operation_id="query",
    summary="Answer a question",
    response_model=QueryReply,
    responses={
        200: events("the answer; with `stream` as events `token`, `sources`, `done`, or `error`", _EVENTS),
    },
)
async def query(request: Request, who: Reader, service: TheService, body: QueryRequest) -> Response:
    """Answer a question from the documents, with citations.

    With ``stream`` the response is server-sent events: ``token`` with a piece of the answer, then ``sources``, then ``done``
    with the rest; ``error`` if it fails midway. With ``sources_first`` what a language model may cite is sent as ``sources``
    also before its first ``token``; the later ones replace them. A cached answer is one ``token``, with ``cached`` true.
    """
    if not body.stream:
        answered = service.run(lambda: Answers(service, who.tenant, body).whole(), asks=who.tenant.whole)
        return JSONResponse(await unless_left(request, answered))

    def begin() -> Callable[[sse.Tell], None]:
        answers = Answers(service, who.tenant, body)
        if (known := answers.known()) is not None:
            return partial(_retell, known)
        return partial(_tell, answers, answers.begin())

    # what can be refused is refused before the stream begins
    with ExitStack() as turn:
        turn.enter_context(service.streaming(who.tenant.whole))
        work = await service.run(begin, asks=who.tenant.whole)
        return sse.stream(work, _error_event, patience=service.settings.api_deadline, turn=turn.pop_all())


@router.post(
    "/ranking/preview",
    operation_id="ranking_preview",
    summary="Explain a ranking",
    response_model=PreviewReply,
    response_model_exclude_unset=True,
)
async def preview(who: Reader, service: TheService, body: PreviewRequest) -> dict[str, Any]:
    """Return the chunks that ``/query`` would use, in its order, with score parts and without an answer."""

    def work() -> dict[str, Any]:
        found = service.engine(who.tenant, "hybrid", body.parameters).retrieve(body.question, filters=body.where())
        return found.preview() if isinstance(found, HybridResults) else {}

    return await service.run(work, asks=who.tenant.whole)


def _tell(answers: Answers, pieces: StreamingQueryResponse, tell: sse.Tell) -> None:
    line = Line()
    tell.when_left(line.hang_up)  # a reply that nobody reads costs, also before its first word
    if offered := answers.offered(pieces):
        tell(sse.event(offered, "sources"))
    with asking_over(line):
        for piece in pieces:
            if not tell.heard:
                pieces.close()
                return
            tell(sse.event({"text": piece}, "token"))
    _tell_rest(answers.finish(pieces), tell)


def _retell(known: dict[str, Any], tell: sse.Tell) -> None:
    tell(sse.event({"text": known["answer"]}, "token"))
    _tell_rest(known, tell)


def _tell_rest(reply: dict[str, Any], tell: sse.Tell) -> None:
    tell(sse.event(reply.pop("sources"), "sources"))
    tell(sse.event(reply, "done"))


def _error_event(told: Mapping[str, str]) -> ServerSentEvent:
    return sse.event(dict(told), "error")
