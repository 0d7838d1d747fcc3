"""Gremlin beside openCypher: a tunnel to a real Gremlin Server, which is given FalkorDB's graph before it is asked.

The whole graph is loaded anew before the first message after a write: simple, and right whatever was written. One Gremlin
Server holds one graph, so that stand-ins that are asked by turns load theirs each time. A Gremlin Server runs any step; the
steps that would leave Neptune's engine, with all that follow them, are told by :func:`not_native`.
"""

import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from itertools import cycle
from threading import Lock, Thread
from typing import Any

from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.traversal import IO, Bytecode, P, T
from gremlin_python.structure.io.graphbinaryV1 import DataType, GraphBinaryReader

from tests.standins.neptune_dialect import ID, NATIVE
from tests.standins.neptune_falkor import falkor

_BINARY = 2
# Neptune user guide, "Native Gremlin step support in Amazon Neptune" (gremlin-step-support)
ALWAYS = {
    "and",
    "as",
    "count",
    "E",
    "emit",
    "group",
    "groupCount",
    "identity",
    "is",
    "key",
    "label",
    "limit",
    "local",
    "loops",
}
ALWAYS |= {"not", "or", "properties", "subgraph", "until", "V", "value", "valueMap", "values"}
# moves: the page lists no step for them, and shows them within queries that it says are converted
MOVES = {"both", "bothE", "bothV", "in", "inE", "inV", "out", "outE", "outV"}
# in some cases, of which `not_native` checks those that our traversals are in
SOMETIMES = {"has", "hasLabel", "id", "project", "union", "where"}
COMPARED = {"eq", "neq", "within", "without"}
_loaded: dict[int, tuple[str, int]] = {}  # port of a Gremlin Server -> graph and its state
_lock = Lock()


def not_native(code: Bytecode, nested: bool = False) -> Iterator[str]:
    """Yield what of a traversal, and of those inside it, the page does not list as converted."""
    instructions = list(code.step_instructions)
    for at, (step, *arguments) in enumerate(instructions):
        following = [name for name, *_ in instructions[at + 1 :]]
        bys = next((n for n, name in enumerate(following) if name != "by"), len(following))
        predicates = {a.operator for a in arguments if isinstance(a, P)}
        match step:
            case "by":
                continue
            case "has" if isinstance(arguments[0], T) and predicates - {"eq", "neq", "containing"}:
                yield "has() of an id or label compares otherwise than for equality"
            case "project" if bys != len(arguments):
                yield "project() has another number of by() than of names"
            case "union" if nested or following:
                yield "union() is not the last step"
            case "where" if bys or predicates - COMPARED:
                yield "where() has by(), or compares for order"
            case _ if step not in ALWAYS | MOVES | SOMETIMES:
                yield f"{step}()"
        inner = [a for _, *given in instructions[at : at + 1 + (bys if step != "union" else 0)] for a in given]
        for argument in inner:
            if isinstance(argument, Bytecode) or hasattr(argument, "bytecode"):
                yield from not_native(getattr(argument, "bytecode", argument), nested=True)


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


def tunnel(request: BaseHTTPRequestHandler, port: int, before: Callable[[bytes], None]) -> None:
    """Carry a web socket to the Gremlin Server and back until one side ends; each message is told to ``before``, before."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        kept = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        server.sendall(f"{request.requestline}\r\n{kept}\r\n".encode("latin-1"))
        back = Thread(target=_pump, args=(server, request.connection), daemon=True)
        back.start()
        frames = Frames()
        try:
            while data := request.connection.recv(65536):
                for message in frames.whole(data):
                    before(message)
                server.sendall(data)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            back.join(10)
            request.close_connection = True


class Frames:
    """The binary messages of a stream of web socket frames, as a client sends them (RFC 6455, section 5.2)."""

    def __init__(self) -> None:
        self._rest = b""

    def whole(self, data: bytes) -> list[bytes]:
        """Return the messages that the next piece of the stream completes."""
        self._rest += data
        found: list[bytes] = []
        while len(self._rest) > 1:
            wide = {126: 2, 127: 8}.get(self._rest[1] & 0x7F, 0)
            length = int.from_bytes(self._rest[2 : 2 + wide], "big") if wide else self._rest[1] & 0x7F
            begin = 2 + wide + (4 if self._rest[1] & 0x80 else 0)
            if len(self._rest) < 2 + wide or len(self._rest) < begin + length:
                break
            mask, masked = self._rest[2 + wide : begin], self._rest[begin : begin + length]
            if self._rest[0] & 0x0F == _BINARY:
                found.append(bytes(a ^ b for a, b in zip(masked, cycle(mask or b"\0"), strict=False)))
            self._rest = self._rest[begin + length :]
        return found


class _Predicate:
    """Reads what gremlinpython only writes: a comparison, by its name and what is compared with."""

    @staticmethod
    def objectify(data: BytesIO, reader: Any, nullable: bool = True) -> P:
        """Return it; none is null."""
        data.read(nullable)
        name = reader.to_object(data, DataType.string, False)
        values = [reader.read_object(data) for _ in range(int.from_bytes(data.read(4), "big"))]
        return P(name, values)


class _Options:
    """Reads over the options of a traversal."""

    @staticmethod
    def objectify(data: BytesIO, reader: Any, nullable: bool = True) -> None:
        """Return nothing."""
        data.read(nullable)
        reader.to_object(data, DataType.string, False)
        reader.to_object(data, DataType.map, False)


def traversal_of(message: bytes) -> Bytecode | None:
    """Return the traversal in a message of a Gremlin client (GraphBinary 1.0); None where there is none, or a script."""
    _, rest = message[: 1 + message[0]], BytesIO(message[1 + message[0] + 1 + 16 :])  # its type; a version and an id follow
    for _ in ("operation", "processor"):
        rest.read(int.from_bytes(rest.read(4), "big"))
    reader = GraphBinaryReader({DataType.p: _Predicate, DataType.traversalstrategy: _Options})
    for _ in range(int.from_bytes(rest.read(4), "big")):
        name, value = reader.read_object(rest), reader.read_object(rest)
        if name == "gremlin":
            return value if isinstance(value, Bytecode) else None
    return None


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
