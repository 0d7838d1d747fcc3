"""Clients that keep a server waiting: they are given up, make room for others, and cost no traceback."""

import json
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from subprocess import PIPE
from threading import Event, Thread

import httpx
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response

from lexigraph.cli.connections import OneByOne, Patience, Room, protocol
from lexigraph.cli.serve import listening
from tests.imports import ROOT
from tests.waiting import eventually

SECONDS = 30.0
PATIENCE = Patience(head=0.5, body=0.5, rate=100_000, answer=0.5, look=0.05)
ENDLESS = Patience(head=SECONDS, body=SECONDS, answer=SECONDS)
HEAD = b"POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n"
LARGE = 30_000_000

app = FastAPI()


@app.get("/")
async def small() -> str:
    return "here"


@app.post("/echo")
async def echo(request: Request) -> int:
    return len(await request.body())


WAITING: list[Event] = []


@app.get("/wait")
def wait() -> None:
    WAITING.append(event := Event())
    event.wait(SECONDS)


@app.get("/large")
async def large() -> Response:
    return Response(b"x" * LARGE)


@contextmanager
def served(room: Room) -> Iterator[tuple[str, int]]:
    """Serve the application; the value is its address."""
    with listening("127.0.0.1", 0) as listener, OneByOne(listener.detach()) as one_by_one:
        config = uvicorn.Config(app, http=protocol(room), log_level="error", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [one_by_one]}, daemon=True)
        address: tuple[str, int] = one_by_one.getsockname()
        thread.start()
        yield address
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


def connected(address: tuple[str, int], sent: bytes = b"", *, room: int = 0) -> socket.socket:
    """Return a connection over which something was sent; it holds ``room`` bytes that nobody has read."""
    made = socket.socket()
    if room:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    made.settimeout(SECONDS)
    made.connect(address)
    made.sendall(sent)
    return made


def said(connection: socket.socket) -> bytes:
    """Return all that the server says until it ends the connection."""
    found = bytearray()
    try:
        while piece := connection.recv(1 << 20):
            found += piece
    except ConnectionResetError:
        pass
    return bytes(found)


def asks(address: tuple[str, int]) -> int:
    return httpx.get(f"http://{address[0]}:{address[1]}/", timeout=SECONDS).status_code


@pytest.mark.parametrize(
    "sent", [HEAD, HEAD + b"\r\nab", b"GET / HTTP/1.1\r\nHost: here\r\n\r\nGET / HT"], ids=["head", "body", "second head"]
)
def test_half_a_request_is_given_up_with_a_408_in_the_one_shape(sent: bytes) -> None:
    with served(Room(9, 0, PATIENCE)) as address, connected(address, sent) as slow:
        began = time.monotonic()
        head, _, body = said(slow).rpartition(b"\r\n\r\n")
        assert time.monotonic() - began < SECONDS
        assert b"HTTP/1.1 408 Request Timeout" in head
        assert {"error", "message", "request_id"} == json.loads(body).keys()


def test_a_connection_that_says_nothing_is_ended_without_a_word() -> None:
    with served(Room(9, 0, PATIENCE)) as address, connected(address) as silent:
        assert said(silent) == b""


def test_bytes_now_and_then_buy_no_time() -> None:
    with served(Room(9, 0, PATIENCE)) as address, connected(address, HEAD) as slow, pytest.raises(OSError):
        for _ in range(40):
            slow.sendall(b"X-More: 1\r\n")
            time.sleep(0.1)


def test_a_body_that_goes_on_arriving_has_the_time_it_takes() -> None:
    with served(Room(9, 0, PATIENCE)) as address, connected(address, HEAD + b"\r\n") as sender:
        for _ in range(20):  # in three times what a body without a byte would have
            sender.sendall(b"x" * 50_000)
            time.sleep(0.075)
        assert sender.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.nightly
def test_a_client_that_takes_nothing_of_its_answer_is_given_up_and_a_slow_one_gets_it_whole() -> None:
    ask = b"GET /large HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
    patience = replace(PATIENCE, answer=3.0)  # a busy machine keeps the slow client from reading for longer than 0.5 s
    with served(Room(9, 0, patience)) as address:
        with connected(address, ask, room=4_096) as deaf:
            time.sleep(5)
            assert len(said(deaf)) < LARGE
        with connected(address, ask) as slow:
            found = 0
            while piece := slow.recv(1 << 20):
                found += len(piece)
                time.sleep(0.05)
            assert found > LARGE


def test_half_requests_keep_nobody_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), served(Room(20, 10, ENDLESS)) as address, ExitStack() as held:
        slow = [held.enter_context(connected(address, HEAD)) for _ in range(40)]
        assert [asks(address) for _ in range(20)] == [200] * 20
        assert b"503 Service Unavailable" in said(slow[0])
        slow[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            slow[-1].recv(1)
    lines = [record for record in caplog.records if "connections" in record.message]
    assert len(lines) == 1, "one line a minute, however many are refused"
    assert not any(record.exc_info for record in caplog.records)


def test_where_all_are_being_answered_a_new_one_is_refused() -> None:
    with served(Room(2, 0, ENDLESS)) as address, ExitStack() as held:
        for _ in range(2):
            held.enter_context(connected(address, b"GET /wait HTTP/1.1\r\nHost: here\r\n\r\n"))
        eventually(lambda: len(WAITING) == 2)
        with connected(address) as new:
            assert b"503 Service Unavailable" in said(new)
        for waiting in WAITING:
            waiting.set()
        eventually(lambda: asks(address), lambda status: status == 200)


FEW_FILES = """
import resource, sys
from lexigraph.cli.connections import Room
from tests.integration.cli.test_connections import served
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
with served(Room(1_000, 0)) as address:
    print(address[1], flush=True)
    sys.stdin.read()
"""


def test_connections_for_which_no_file_can_be_opened_are_ended_without_a_traceback() -> None:
    command = [sys.executable, "-c", FEW_FILES]
    with (
        subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT) as process,
        ExitStack() as held,
    ):
        assert process.stdout and process.stderr
        port = process.stdout.readline()
        assert port, process.stderr.read()
        address = ("127.0.0.1", int(port))
        waiting = [held.enter_context(connected(address)) for _ in range(100)]
        eventually(lambda: [said(one) for one in waiting[60:]], lambda ended: ended == [b""] * 40)
        held.close()
        eventually(lambda: asks(address), lambda status: status == 200)
        _, told = process.communicate(timeout=SECONDS)
    assert "Traceback" not in told
    assert told.count("no more files can be opened here") == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01 hello\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n",
        b"POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\n",
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\nnonsense\r\n\r\n",
    ],
)
def test_what_cannot_be_read_as_http_is_told_in_the_one_shape_of_errors(sent: bytes) -> None:
    with served(Room(10, 10, ENDLESS)) as address, connected(address, sent) as connection:
        head, _, body = b"".join(iter(lambda: connection.recv(65_536), b"")).rpartition(b"\r\n\r\n")
    told = json.loads(body)
    assert b"HTTP/1.1 400 Bad Request" in head
    assert (told["error"], set(told)) == ("bad_request", {"error", "message", "request_id"})
    assert told["request_id"].encode() in head
    assert b"retry-after" not in head


def test_an_answer_arrives_whole_before_what_follows_it_is_told_to_be_no_http() -> None:
    sent = b"GET /large HTTP/1.1\r\nHost: here\r\n\r\nnonsense\r\n\r\n"
    with served(Room(10, 10, ENDLESS)) as address, connected(address, sent) as connection:
        answered = b"".join(iter(lambda: connection.recv(1_000_000), b""))
    assert answered.count(b"x" * 1_000) == LARGE // 1_000
    assert answered.count(b"HTTP/1.1 ") == 2
