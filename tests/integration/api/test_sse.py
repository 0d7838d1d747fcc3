"""Streams of events as they go over the wire: framed, kept open while nothing happens, and never stored on the way."""

import json
import logging
from collections.abc import Iterator
from threading import Event

import httpx
import pytest
from fastapi import FastAPI, Response

from lexigraph.api import sse
from tests.server import serving

SECONDS = 15.0


def test_an_event_is_one_line_whatever_its_reader_takes_for_an_end() -> None:
    data = {"text": "Zoë\u2028signs\u2029a\x85form\r\n"}
    written = sse.event(data).raw_data
    assert written is not None
    assert "Zoë" in written
    assert len(written.splitlines()) == 1
    assert json.loads(written) == data


@pytest.fixture
def left() -> Event:
    """Set when the client has gone away."""
    return Event()


@pytest.fixture
def client(left: Event) -> Iterator[httpx.Client]:
    app, go = FastAPI(), Event()

    def work(tell: sse.Tell) -> None:
        tell.when_left(left.set)
        tell(sse.event({"text": "Zoë\nsigns"}, "token", id_="1"))
        assert go.wait(SECONDS)
        tell(sse.event([], "sources"))
        raise ValueError("words of a document")

    @app.get("/")
    async def stream() -> Response:
        return sse.stream(work, lambda told: sse.event(dict(told), "error"), ping=0.05)

    @app.get("/go")
    def proceed() -> None:
        go.set()

    with serving(app) as url, httpx.Client(base_url=url, timeout=SECONDS, verify=False) as asking:
        yield asking
        go.set()


def test_events_are_written_as_they_come_and_a_silent_line_is_kept_open(client: httpx.Client) -> None:
    with client.stream("GET", "/") as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert (reply.headers["cache-control"], reply.headers["x-accel-buffering"]) == ("no-store", "no")
        lines = reply.iter_lines()
        assert [next(lines) for _ in range(4)] == ["event: token", 'data: {"text":"Zoë\\nsigns"}', "id: 1", ""]
        assert [next(lines) for _ in range(2)] == [": ping", ""], "while the work goes on"
        client.get("/go")
        rest = [line for line in lines if line and not line.startswith(":")]
    assert rest[:3] == ["event: sources", "data: []", "event: error"]
    assert "words of a document" not in rest[3]
    assert len(rest) == 4


def test_a_client_that_goes_away_is_noticed(client: httpx.Client, left: Event) -> None:
    with client.stream("GET", "/") as reply:
        lines = reply.iter_lines()  # kept: one that is given up hangs up
        next(lines)
        assert not left.is_set()
    assert left.wait(SECONDS)


def test_a_client_that_goes_away_in_the_middle_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    app, over = FastAPI(), Event()

    def work(tell: sse.Tell) -> None:
        for _ in range(20_000):
            if not tell.heard:
                break
            tell(sse.event({"text": "word " * 200}, "token"))
        over.set()

    @app.get("/")
    async def stream() -> Response:
        return sse.stream(work, lambda told: sse.event(dict(told), "error"))

    log = logging.getLogger("uvicorn.error")
    with serving(app) as url, httpx.Client(base_url=url, timeout=SECONDS, verify=False) as asking:
        caplog.set_level(logging.ERROR, log.name)
        log.addHandler(caplog.handler)
        for _ in range(5):
            over.clear()
            with asking.stream("GET", "/") as reply:
                next(reply.iter_raw())
            assert over.wait(SECONDS)
        log.removeHandler(caplog.handler)  # how a server ends on a busy machine is another matter
    assert [record.getMessage() for record in caplog.records] == []
