"""Walks: gremlinpython through signed web sockets to a real Gremlin Server that holds the graph of the stand-in."""

import asyncio
import gc
import json
import logging
import random
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from lexigraph.model.errors import Misconfigured, StoreUnavailable
from lexigraph.retry import Retry
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import NeptuneClient
from lexigraph.storage.neptune.gremlin.connection import GremlinWalks, NoWebSocket, signed_headers
from tests.servers import Unavailable, fetch_gremlin_server, gremlin_port, gremlin_server, jars_folder
from tests.standins.neptune import NeptuneStandIn, account
from tests.standins.neptune_gremlin import Frames

pytestmark = pytest.mark.slow

__all__ = ["gremlin_port"]
NODES = "UNWIND $rows AS row MERGE (n:Entity {`~id`: row.id}) SET n += row.properties"
EDGES = """UNWIND $rows AS row MATCH (a:Entity {`~id`: row.a}) MATCH (b:Entity {`~id`: row.b})
MERGE (a)-[r:RELATION {`~id`: row.id}]->(b) SET r.value = row.value"""
SECRET = "the text of a document"


class Walking:
    """A stand-in with a Gremlin Server behind it, and both clients."""

    def __init__(self, server: NeptuneStandIn) -> None:
        self.server = server
        self.slept: list[float] = []
        self.retry = Retry(attempts=4, base=0.1, sleep=self.slept.append, draw=lambda: 1.0)
        self.client = NeptuneClient.connect(server.connection)
        self.walks = GremlinWalks(self.client.address, retry=self.retry)

    def write(self, names: str, edges: tuple[str, ...] = ()) -> None:
        self.client.write(NODES, [{"id": f"e:{name}", "properties": {"value": name}} for name in names])
        rows = [{"id": f"r:{pair}", "a": f"e:{pair[0]}", "b": f"e:{pair[1]}", "value": pair} for pair in edges]
        self.client.write(EDGES, rows)

    def count(self) -> int:
        return self.walks.run(lambda g: g.V().count().next())


@pytest.fixture
def walking(gremlin_port):
    with NeptuneStandIn(gremlin_port=gremlin_port) as server:
        made = Walking(server)
        yield made
        made.walks.close()
        made.client.close()


@pytest.mark.nightly
def test_a_walk_sees_every_write_that_went_before(walking):
    walking.write("abc", ("ab", "bc"))
    assert walking.walks.run(lambda g: g.V("e:a").out("RELATION").out("RELATION").id_().to_list()) == ["e:c"]
    walking.write("d", ("cd",))
    far = walking.walks.run(lambda g: g.V("e:a").repeat(lambda_out()).until(has_id("e:d")).path().by("value").to_list())
    assert [list(path) for path in far] == [["a", "b", "c", "d"]]
    walking.client.write("MATCH (n:Entity {`~id`: 'e:b'}) DETACH DELETE n")
    assert walking.walks.run(lambda g: g.V("e:a").both_e().count().next()) == 0
    assert walking.server.counts["gremlin"] == 3


def lambda_out():
    from gremlin_python.process.graph_traversal import __

    return __.out("RELATION")


def has_id(value: str):
    from gremlin_python.process.graph_traversal import __

    return __.has_id(value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_gremlin_server_holds_exactly_the_graph_that_opencypher_shows(walking, seed):
    draw = random.Random(seed)
    values = [0, -1, 2**40, 0.5, -1e-9, True, False, "", "é 漢 \" ' \\ \n", "x" * 5000]
    names = "abcdefghij"
    rows = [{"id": f"e:{n}", "properties": {f"p{i}": draw.choice(values) for i in range(draw.randrange(4))}} for n in names]
    walking.client.write(NODES, rows)
    pairs = {(draw.choice(names), draw.choice(names)) for _ in range(20)}  # loops among them
    edges = [{"id": f"r:{a}{b}", "a": f"e:{a}", "b": f"e:{b}", "value": draw.choice(values)} for a, b in sorted(pairs)]
    walking.client.write(EDGES, edges)

    def whole(g):
        return [named(element) for element in g.V().element_map().to_list() + g.E().element_map().to_list()]

    nodes = [row["n"] for row in walking.client.read("MATCH (n) RETURN n")]
    relations = [row["r"] for row in walking.client.read("MATCH ()-[r]->() RETURN r")]
    expected = [{"id": n["~id"], "label": n["~labels"][0], **n["~properties"]} for n in nodes]
    expected += [
        {"id": r["~id"], "label": r["~type"], "out": r["~start"], "in": r["~end"], **r["~properties"]} for r in relations
    ]
    assert sorted(walking.walks.run(whole), key=by_id) == sorted(expected, key=by_id)
    assert len(expected) == 10 + len(pairs)


def by_id(element: dict) -> str:
    return element["id"]


def named(element: dict) -> dict:
    """Return an element map with plain keys: T.id is ``id``, Direction.OUT ``out`` and the id of that end."""
    plain = {}
    for key, value in element.items():
        name = key if isinstance(key, str) else key.name.lower().rstrip("_")
        plain[name] = next(iter(value.values())) if isinstance(value, dict) else value
    return plain


@pytest.mark.slow
def test_walks_run_from_threads_and_from_inside_an_event_loop(walking):
    walking.write("abc")

    async def inside() -> int:
        found = walking.count()
        walking.walks.close()
        return found

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda _: walking.count(), range(12))) == [3] * 12
    assert 1 <= walking.server.counts["handshake"] <= 4
    assert asyncio.run(inside()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("politely", [True, False])
def test_a_broken_connection_is_signed_and_opened_anew(walking, politely):
    walking.write("abc")
    walks = GremlinWalks(walking.client.address, connections=1, retry=walking.retry)
    for _ in range(2):
        assert walks.run(lambda g: g.V().count().next()) == 3
        walking.server.reader.cut_walks(politely=politely)
    assert walks.run(lambda g: g.V().count().next()) == 3
    assert (walking.server.counts["handshake"], walking.slept) == (3, [0.1, 0.1])
    walks.close()


@pytest.mark.slow
def test_a_connection_that_rested_is_opened_anew_and_a_closed_store_says_so(walking):
    now = [0.0]
    walks = GremlinWalks(walking.client.address, connections=1, retry=Retry(clock=lambda: now[0]))
    for later, handshakes in ((0, 1), (100, 1), (119, 1), (121, 2)):
        now[0] += later
        assert walks.run(lambda g: g.V().count().next()) == 0
        assert walking.server.counts["handshake"] == handshakes
    walks.close()
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        walks.run(lambda g: g.V().count().next())


@pytest.mark.slow
def test_a_walk_that_takes_too_long_is_ended(walking):
    walking.write("abcdefgh", tuple(a + b for a in "abcdefgh" for b in "abcdefgh"))
    walks = GremlinWalks(walking.client.address, seconds=2.0, connections=1, retry=walking.retry)
    walking.count()  # the graph is loaded
    from gremlin_python.process.graph_traversal import __

    with pytest.raises(StoreUnavailable, match=r"^neptune walk: no answer within 2 s; ask for a smaller neighbourhood$"):
        walks.run(lambda g: g.V().repeat(__.both()).times(60).path().count().next())
    assert walking.slept == []
    walks.close()


@pytest.mark.slow
def test_what_the_server_refuses_is_said_at_once_and_without_its_values(walking, caplog):
    caplog.set_level(logging.INFO)
    walking.client.write(NODES, [{"id": "e:a", "properties": {"value": SECRET}}])
    with pytest.raises(StoreUnavailable, match=r"^neptune walk: 500$") as caught:
        walking.walks.run(lambda g: g.V().values("value").sum_().next())
    assert walking.slept == []
    assert SECRET not in caplog.text + str(caught.value)


@pytest.mark.slow
def test_a_web_socket_without_a_signature_is_refused(walking):
    url = walking.client.address.read_endpoint + "/gremlin"
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(url, headers={"Upgrade": "websocket", "Connection": "Upgrade"}), timeout=10)
    assert walking.server.counts["handshake"] == 0


def test_a_refused_web_socket_names_the_rights_and_leaves_nothing_open(capfd):
    with NeptuneStandIn() as server:  # without a Gremlin Server it refuses, as a cluster does that knows no such role
        walks = GremlinWalks(NeptuneClient.connect(server.connection).address, retry=Retry(attempts=2, base=0.0))
        with pytest.raises(StoreUnavailable, match=r"ConnectionError; check .* and the role's rights"):
            walks.run(lambda g: g.V().to_list())
        walks.close()
    gc.collect()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("code", "tries", "said"),
    [
        ("ThrottlingException", 3, "^neptune walk: ThrottlingException$"),
        ("MemoryLimitExceededException", 1, "^neptune walk: MemoryLimitExceededException$"),
        ("TimeLimitExceededException", 1, "no answer within 30 s"),
    ],
)
def test_errors_as_neptune_words_them_are_judged_by_their_code(code, tries, said):
    from gremlin_python.driver.protocol import GremlinServerError

    begun: list[int] = []

    def walk(g):
        begun.append(1)
        text = json.dumps({"code": code, "requestId": "1", "detailedMessage": SECRET})
        raise GremlinServerError({"code": 500, "message": text, "attributes": {}})

    with account():
        walks = GremlinWalks(nowhere(), retry=Retry(attempts=3, base=0.0))
        with pytest.raises(StoreUnavailable, match=said) as raised:
            walks.run(walk)
        walks.close()
    assert len(begun) == tries
    assert not isinstance(raised.value, NoWebSocket), "what the cluster itself says is no reason to ask it otherwise"


def test_a_mistake_in_a_walk_is_not_taken_for_a_broken_connection():
    with account():
        walks = GremlinWalks(nowhere())
        with pytest.raises(TypeError, match="unsupported operand"):
            walks.run(lambda g: 1 + "1")
        walks.close()


def nowhere() -> NeptuneAddress:
    return NeptuneAddress.parse("neptune-db://db.example.org?region=eu-central-1")


def test_the_signature_covers_host_and_session_token_and_names_the_service(monkeypatch):
    with account():
        monkeypatch.setenv("AWS_SESSION_TOKEN", "a token")
        headers = signed_headers(NeptuneAddress.parse("neptune-db://db.example.org:8182?region=eu-central-1"))
    assert "/eu-central-1/neptune-db/aws4_request" in headers["Authorization"]
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token" in headers["Authorization"]
    assert headers["X-Amz-Security-Token"] == "a token"


def test_without_credentials_or_a_server_a_walk_fails_with_the_remedy(monkeypatch):
    with account(), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = NeptuneAddress.parse(f"neptune-db://127.0.0.1:{taken.getsockname()[1]}?tls=off&region=eu-central-1")
        slept: list[float] = []
        walks = GremlinWalks(address, retry=Retry(attempts=3, base=0.1, sleep=slept.append, draw=lambda: 1.0))
        with pytest.raises(StoreUnavailable, match="check the endpoint, the network"):
            walks.run(lambda g: g.V().to_list())
        assert slept == [0.1, 0.2]
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        with pytest.raises(Misconfigured, match="set AWS credentials"):
            walks.run(lambda g: g.V().to_list())
        walks.close()


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1000, 100_000])
def test_messages_are_read_whatever_pieces_they_come_in(piece):
    def frame(opcode: int, length: int) -> bytes:
        if length < 126:
            size = struct.pack("!B", 0x80 | length)
        else:
            size = struct.pack("!BH", 0x80 | 126, length) if length < 65_536 else struct.pack("!BQ", 0x80 | 127, length)
        return bytes([0x80 | opcode]) + size + b"\1\1\1\1" + b"\x83" * length

    stream = b"".join(frame(opcode, length) for opcode, length in [(2, 5), (9, 0), (2, 300), (1, 3), (2, 70_000), (8, 2)])
    frames = Frames()
    found = [message for at in range(0, len(stream), piece) for message in frames.whole(stream[at : at + piece])]
    assert found == [b"\x82" * length for length in (5, 300, 70_000)]


def test_servers_that_cannot_be_had_say_why_and_what_helps(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="run make servers"):
        gremlin_server.__wrapped__()  # not the one that runs already
    with pytest.raises(Unavailable, match="fetched by Maven, which is not installed"):
        fetch_gremlin_server()
    jars_folder().mkdir(parents=True)
    (jars_folder() / "gremlin-server-3.7.4.jar").write_bytes(b"not what was listed")
    with pytest.raises(Unavailable, match="run make servers"):
        gremlin_server.__wrapped__()


@pytest.mark.slow
def test_a_handshake_that_nobody_answers_is_given_up_at_once():
    with account(), socket.create_server(("127.0.0.1", 0)) as silent:
        address = NeptuneAddress.parse(f"neptune-db://127.0.0.1:{silent.getsockname()[1]}?tls=off&region=eu-central-1")
        slept: list[float] = []
        walks = GremlinWalks(address, retry=Retry(attempts=3, sleep=slept.append))
        with pytest.raises(NoWebSocket, match="check the endpoint"):
            walks.run(lambda g: g.V().to_list())
        walks.close()
    assert slept == [], "another try would be as long"


def test_the_walks_of_a_question_share_a_deadline():
    now = [0.0]
    with account():
        walks = GremlinWalks(nowhere(), seconds=10.0, retry=Retry(clock=lambda: now[0]))
        question = walks.begin()
        left: list[float] = []
        walks.run = lambda walk, seconds: left.append(seconds)
        for _ in range(3):
            question.run(lambda g: g)
            now[0] += 4.0
        assert left == [10.0, 6.0, 2.0]
        GremlinWalks.close(walks)
