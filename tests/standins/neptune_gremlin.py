"""Gremlin beside openCypher: a tunnel to a real Gremlin Server, which is given FalkorDB's graph before it is asked.

The whole graph is loaded anew before the first message after a write: simple, and right whatever was written. One Gremlin
Server holds one graph, so that stand-ins that are asked by turns load theirs each time.
"""

import json
import socket
import tempfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from threading import Lock, Thread
from typing import Any

from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.traversal import IO

from tests.standins.neptune_dialect import ID, NATIVE
from tests.standins.neptune_falkor import falkor

_loaded: dict[int, tuple[str, int]] = {}  # port of a Gremlin Server -> graph and its state
_lock = Lock()


def load(port: int, graph: str, written: int) -> None:
    """Make the Gremlin Server's graph equal to one of FalkorDB, unless nothing was written since it was."""
    with _lock:
        if _loaded.get(port) == (graph, written):
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            vertices = _vertices(graph)
            file.writelines(json.dumps(vertex) + "\n" for vertex in vertices)
            file.flush()
            connection = DriverRemoteConnection(f"ws://127.0.0.1:{port}/gremlin", "g", pool_size=1)
            try:
                g = traversal().with_remote(connection)
                g.V().drop().iterate()
                if vertices:
                    g.io(file.name).with_(IO.reader, IO.graphson).read().iterate()
                if g.V().count().next() != len(vertices):
                    raise AssertionError("the Gremlin Server did not take the whole graph")
            finally:
                connection.close()
        _loaded[port] = (graph, written)


def tunnel(request: BaseHTTPRequestHandler, port: int, before: Callable[[], None]) -> None:
    """Carry a web socket to the Gremlin Server and back until one side ends; ``before`` each message that comes."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        kept = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        server.sendall(f"{request.requestline}\r\n{kept}\r\n".encode("latin-1"))
        back = Thread(target=_pump, args=(server, request.connection), daemon=True)
        back.start()
        frames = Frames()
        try:
            while data := request.connection.recv(65536):
                for _ in range(frames.begun(data)):
                    before()
                server.sendall(data)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            back.join(10)
            request.close_connection = True


class Frames:
    """Counts the binary messages that begin in a stream of web socket frames (RFC 6455, section 5.2)."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0

    def begun(self, data: bytes) -> int:
        """Return how many messages began in the next piece of the stream."""
        count = 0
        data = self._rest + data
        self._rest = b""
        while data:
            if self._left:
                skipped = min(self._left, len(data))
                self._left, data = self._left - skipped, data[skipped:]
                continue
            short = data[1] & 0x7F if len(data) > 1 else 0
            size = 2 + {126: 2, 127: 8}.get(short, 0)
            if len(data) < size:
                self._rest = data
                break
            length = short if size == 2 else int.from_bytes(data[2:size], "big")
            self._left = length + (4 if data[1] & 0x80 else 0)
            count += data[0] & 0x0F == 2
            data = data[size:]
        return count


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        return  # the other side is gone


def _vertices(name: str) -> list[dict[str, Any]]:
    """Return the graph as GraphSON 3, a vertex with its edges each."""
    graph = falkor().select_graph(name)
    vertices: dict[str, dict[str, Any]] = {}
    for labels, properties in graph.query("MATCH (n) RETURN labels(n), properties(n)").result_set:
        label = "::".join(label for label in labels if label != NATIVE)
        vertices[properties[ID]] = {"id": properties[ID], "label": label, "inE": {}, "outE": {}, "properties": {}}
        for key, value in properties.items():
            if key != ID:
                entry = {"id": _number(len(vertices) * 1000 + len(key)), "value": _typed(value)}
                vertices[properties[ID]]["properties"][key] = [entry]
    asked = f"MATCH (a)-[r]->(b) RETURN a.{ID}, type(r), b.{ID}, properties(r), id(r)"
    for out, kind, into, properties, number in graph.query(asked).result_set:
        given = {key: _typed(value) for key, value in properties.items() if key != ID}
        edge = {"id": properties.get(ID, f"edge-{number}"), "properties": given}
        vertices[out]["outE"].setdefault(kind, []).append({**edge, "inV": into})
        vertices[into]["inE"].setdefault(kind, []).append({**edge, "outV": out})
    return list(vertices.values())


def _typed(value: Any) -> Any:
    if isinstance(value, (bool, str)):
        return value
    return _number(value) if isinstance(value, int) else {"@type": "g:Double", "@value": value}


def _number(value: int) -> dict[str, Any]:
    return {"@type": "g:Int64", "@value": value}
