"""The wire to Neptune: the real boto3 client against a stand-in that refuses what Neptune refuses, over FalkorDB."""

import json
import logging
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from lexigraph.model.errors import Conflict, Misconfigured, StoreUnavailable
from lexigraph.retry import Retry
from lexigraph.storage.neptune.address import NeptuneAddress
from lexigraph.storage.neptune.client import NeptuneClient
from tests.standins.neptune import Fault, NeptuneStandIn

MERGE = "UNWIND $rows AS row MERGE (n:Chunk {`~id`: row.id}) SET n.seq = row.seq"
COUNT = "MATCH (n:Chunk) RETURN count(n) AS n"
SECRET = "the text of a document"
SIGNATURE = "AWS4-HMAC-SHA256 Credential=A/20260101/eu-central-1/{}/aws4_request, SignedHeaders=host, Signature=0"
SIGNED = {"Authorization": SIGNATURE.format("neptune-db"), "Content-Type": "application/json"}


def chunks(count: int) -> list[dict]:
    return [{"id": f"chunk:{i:04}", "seq": i} for i in range(count)]


class Cluster:
    """A stand-in, and a client whose waits are noted instead of slept."""

    def __init__(self, server: NeptuneStandIn) -> None:
        self.server = server
        self.slept: list[float] = []
        self.retry = Retry(attempts=4, base=0.1, cap=1.0, sleep=self.slept.append, draw=lambda: 1.0)
        self.client = self.new_client()

    def new_client(self, **options) -> NeptuneClient:
        return NeptuneClient.connect(self.server.connection, **{"retry": self.retry, **options})

    def sizes(self) -> list[tuple[int, str]]:
        return [(call.rows, call.code) for call in self.server.calls if call.kind == "write"]

    def count(self) -> int:
        return self.client.read_latest(COUNT)[0]["n"]


@pytest.fixture(scope="module")
def started():
    with NeptuneStandIn() as server:
        made = Cluster(server)
        yield made
        made.client.close()


@pytest.fixture
def cluster(started):
    started.server.faults.clear()
    started.client.write("MATCH (n) DETACH DELETE n")
    started.client._size = 200  # as a new client begins
    started.server.forget()
    started.slept.clear()
    return started


def test_what_was_written_is_read_back_with_every_character(cluster):
    text = "quotes ' \" ` backslash \\ newline \n tab \t é 漢 🜁 $x {y} // no comment"
    row = {"id": "chunk:1", "seq": 2**53 + 1, "text": text, "half": 0.5, "yes": True, "none": None}
    query = "MERGE (n:Chunk {`~id`: row.id}) SET n.seq = row.seq, n.text = row.text, n.half = row.half, n.yes = row.yes"
    cluster.client.write(f"UNWIND $rows AS row {query}, n.none = row.none", [row])
    found = cluster.client.read("MATCH (n:Chunk) RETURN n, id(n)")
    properties = {"seq": 2**53 + 1, "text": text, "half": 0.5, "yes": True}
    node = {"~id": "chunk:1", "~entityType": "node", "~labels": ["Chunk"], "~properties": properties}
    assert found == [{"n": node, "id(n)": "chunk:1"}]


def test_a_null_character_which_neptune_does_not_hold_becomes_the_sign_for_what_is_no_character(cluster):
    texts = ["a\x00b", "\x00\x00", "\\\x00", "\\u0000", "\\\\u0000"]
    url = f"{cluster.client.address.endpoint}/openCypher"
    wrong = Request(url, json.dumps({"query": "RETURN $t AS t", "parameters": json.dumps({"t": texts})}).encode(), SIGNED)
    with pytest.raises(HTTPError, match="400"):
        urlopen(wrong, timeout=10)
    found = cluster.client.read("UNWIND $texts AS text RETURN text", texts=texts)
    assert [row["text"] for row in found] == ["a\ufffdb", "\ufffd\ufffd", "\\\ufffd", "\\u0000", "\\\\u0000"]


def test_relationships_and_paths_come_as_neptune_sends_them(cluster):
    cluster.client.write("CREATE (a:Topic {`~id`: 't:1'})-[r:IN {`~id`: 'e:1', w: 2}]->(b:Chunk {`~id`: 'c:1', seq: 1})")
    a = {"~id": "t:1", "~entityType": "node", "~labels": ["Topic"], "~properties": {}}
    b = {"~id": "c:1", "~entityType": "node", "~labels": ["Chunk"], "~properties": {"seq": 1}}
    r = {"~id": "e:1", "~entityType": "relationship", "~start": "t:1", "~end": "c:1", "~type": "IN", "~properties": {"w": 2}}
    found = cluster.client.read(
        "MATCH p=(a:Topic)-[r]->(b) WHERE id(r) = 'e:1' RETURN p, r, labels(b), properties(b) AS known"
    )
    assert found == [{"p": [a, r, b], "r": r, "labels(b)": ["Chunk"], "known": {"seq": 1}}]
    assert cluster.client.read("MATCH ()-[r]->() RETURN id(startNode(r)) AS start, type(r)") == [
        {"start": "t:1", "type(r)": "IN"}
    ]


def test_rows_travel_in_batches_of_two_hundred(cluster):
    returned = cluster.client.write(f"{MERGE} RETURN id(n) AS id", chunks(450))
    assert [row["id"] for row in returned] == [row["id"] for row in chunks(450)]
    assert cluster.sizes() == [(200, ""), (200, ""), (50, "")]
    cluster.client.write(MERGE, [])
    assert len(cluster.sizes()) == 3


@pytest.mark.parametrize("code", ["MemoryLimitExceededException", "TimeLimitExceededException"])
def test_a_batch_that_is_too_much_is_halved_until_it_passes_and_grows_slowly_again(cluster, code):
    cluster.server.faults = [Fault(code, kind="write", times=99, least_rows=60)]
    cluster.client.write(MERGE, chunks(180))
    assert cluster.count() == 180
    assert [size for size, _ in cluster.sizes()] == [180, 90, 45, 55, 65, 32, 42, 6]
    assert cluster.slept == []  # another query, not another try of the same


def test_conflicts_halve_the_batch_and_wait_longer_each_time(cluster):
    cluster.server.faults = [Fault("ConcurrentModificationException", times=3)]
    cluster.client.write(MERGE, chunks(200))
    assert [size for size, _ in cluster.sizes()] == [200, 100, 50, 25, 35, 45, 55, 40]
    assert cluster.slept == [0.1, 0.2, 0.4]
    assert cluster.count() == 200


@pytest.mark.parametrize(
    "fault",
    [
        Fault("ThrottlingException", times=2),
        Fault("TooManyRequestsException", times=2),
        Fault("InternalFailureException", times=2),
        Fault("ServerShutdownException", times=2),
        Fault(hang_up=True, times=2),
        Fault(lose=True, times=2),
        Fault(cut=True, times=2),
    ],
)
def test_a_busy_or_broken_server_is_asked_again_by_us_alone(cluster, fault):
    cluster.client.write(MERGE, chunks(3))
    cluster.server.forget()
    cluster.server.faults = [fault]
    assert cluster.client.read(COUNT) == [{"n": 3}]
    assert (len(cluster.server.calls), cluster.slept) == (3, [0.1, 0.2])


def test_a_write_whose_reply_was_lost_is_repeated_and_changes_nothing_more(cluster):
    cluster.server.faults = [Fault(lose=True), Fault(cut=True)]
    cluster.client.write(MERGE, chunks(3))
    assert [code for _, code in cluster.sizes()] == ["lost", "lost", ""]
    assert cluster.count() == 3


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("ConcurrentModificationException", Conflict, "other writers .* try again"),
        ("ThrottlingException", StoreUnavailable, "raise the cluster's largest capacity"),
    ],
)
def test_what_does_not_pass_in_four_tries_is_given_up_with_its_reason(cluster, code, error, said):
    cluster.server.faults = [Fault(code, times=99)]
    with pytest.raises(error, match=f"^neptune: {code}.*{said}"):
        cluster.client.write("MATCH (n:Chunk) SET n.seq = 1")
    assert len(cluster.server.calls) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("AccessDeniedException", "allow the role neptune-db:ReadDataViaQuery"),
        ("MalformedQueryException", "MalformedQueryException"),
        ("InvalidParameterException", "neptune_query_timeout of the cluster be 110 s or more"),
        ("MemoryLimitExceededException", "ask for less at once"),
        ("TimeLimitExceededException", "no answer within 30 s; raise the time limit"),
    ],
)
def test_what_another_try_cannot_mend_is_said_at_once(cluster, code, said):
    cluster.server.faults = [Fault(code, times=99)]
    with pytest.raises(StoreUnavailable, match=said):
        cluster.client.read(COUNT)
    assert (len(cluster.server.calls), cluster.slept) == (1, [])


def test_an_id_that_another_label_has_is_a_conflict_after_all_tries(cluster):
    cluster.client.write(MERGE, chunks(1))
    cluster.server.forget()
    with pytest.raises(Conflict, match="DuplicateData"):
        cluster.client.write("MERGE (n:Topic {`~id`: $id})", id="chunk:0000")
    assert len(cluster.server.calls) == 4  # two writers of one id: the second finds it when it tries again


def test_queries_that_are_asked_again_have_one_text(cluster):
    for chunk in chunks(30):
        cluster.client.read("MATCH (c:Chunk {`~id`: $id}) RETURN c.seq AS seq", id=chunk["id"])
    assert len({call.query for call in cluster.server.calls}) == 1
    assert len(cluster.server.calls) == 30


def test_a_read_that_is_too_much_for_its_time_is_asked_for_half_as_many_and_half_of_these(cluster):
    cluster.client.write(MERGE, chunks(9))
    cluster.server.forget()
    cluster.server.faults = [Fault("TimeLimitExceededException", kind="read", times=2)]
    ids = [row["id"] for row in chunks(9)]
    query = "UNWIND $ids AS id MATCH (c:Chunk {`~id`: id}) RETURN id(c) AS id"
    assert [row["id"] for row in cluster.client.read_in_parts(query, ids)] == ids
    assert len(cluster.server.calls) == 2 + 5
    cluster.server.faults = [Fault("TimeLimitExceededException", kind="read", times=9)]
    with pytest.raises(StoreUnavailable, match="no answer"):
        cluster.client.read_in_parts(query, ids)


def test_each_query_carries_what_is_left_of_its_time_as_a_part_of_the_whole(cluster):
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    retry = Retry(attempts=9, base=4.0, cap=4.0, sleep=sleep, draw=lambda: 1.0, clock=lambda: now[0])
    client = cluster.new_client(read_seconds=10.0, retry=retry)
    cluster.server.faults = [Fault("ThrottlingException", times=9)]
    with pytest.raises(StoreUnavailable, match="ThrottlingException"):
        client.read(COUNT)
    assert [call.milliseconds for call in cluster.server.calls] == [10_000, 5_000, 2_500]
    client.close()


def test_a_query_that_runs_too_long_is_ended_by_the_server_at_the_deadline(cluster):
    client = cluster.new_client(read_seconds=0.2)
    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 s"):
        client.read("UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(a + b)")
    assert [call.code for call in cluster.server.calls] == ["TimeLimitExceededException"]
    client.close()


def test_a_write_that_runs_too_long_leaves_nothing_behind(cluster):
    client = cluster.new_client(write_seconds=0.2)
    with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 s"):
        client.write("UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b CREATE (n:Chunk {`~id`: a + ':' + b})")
    assert cluster.count() == 0
    client.close()


@pytest.mark.nightly
def test_a_server_that_says_nothing_is_left_soon_after_the_deadline():
    with NeptuneStandIn() as server:  # its own: the query it still has would be counted in the next test
        client = NeptuneClient.connect(server.connection, read_seconds=0.2)
        server.faults = [Fault(seconds=8.0)]
        with pytest.raises(StoreUnavailable, match=r"no answer within 0\.2 s"):
            client.read(COUNT)
        assert server.calls == []  # it still sleeps: nobody waited for it, nobody asked again
        client.close()


def test_readers_are_read_from_and_only_the_writer_sees_writes(cluster):
    cluster.client.read(COUNT)
    cluster.client.read_latest(COUNT)
    cluster.client.write(MERGE, chunks(1))
    assert [(call.kind, call.port) for call in cluster.server.calls] == [
        ("read", "reader"),
        ("read", "writer"),
        ("write", "writer"),
    ]
    reader = cluster.client.address.read_endpoint
    backwards = NeptuneClient(NeptuneAddress(reader, reader, "eu-central-1"), retry=cluster.retry)
    with pytest.raises(StoreUnavailable, match="give the address of the cluster's writer"):
        backwards.write(MERGE, chunks(1))
    backwards.close()


def test_after_a_failover_new_connections_find_the_writer(cluster):
    cluster.server.faults = [Fault("ThrottlingException"), Fault("ReadOnlyViolationException")]
    cluster.client.write(MERGE, chunks(2))
    assert [code for _, code in cluster.sizes()] == ["ThrottlingException", "ReadOnlyViolationException", ""]
    first, second, third = (call.peer for call in cluster.server.calls)
    assert first == second != third


def test_writers_at_once_that_meet_conflicts_lose_and_double_nothing(cluster):
    rows = chunks(40)
    edge = "MATCH (a:Chunk {`~id`: row.id}) MERGE (t:Topic {`~id`: 't:1'}) MERGE (a)-[:IN {`~id`: row.id + '>t:1'}]->(t)"
    with NeptuneStandIn(conflicts=0.2, seed=7) as server, ThreadPoolExecutor(4) as threads:
        client = NeptuneClient.connect(server.connection, retry=Retry(attempts=1_000, base=0.001, cap=0.02), batch_rows=10)
        for query in (MERGE, f"UNWIND $rows AS row {edge}"):
            assert [done.result(60) for done in [threads.submit(client.write, query, rows) for _ in range(4)]] == [[]] * 4
        found = client.read("MATCH (a:Chunk)-[r:IN]->(t:Topic) RETURN count(r) AS r, count(DISTINCT a) AS a")
        codes = {call.code for call in server.calls}
        client.close()
    assert found == [{"r": 40, "a": 40}]
    assert codes == {"", "ConcurrentModificationException"}


REFUSED = {
    "MATCH (n:Chunk|Topic) RETURN n": "MalformedQuery",
    "MATCH (n:Chunk RETURN n": "MalformedQuery",
    "MATCH (n) WHERE EXISTS { (n)-->() } RETURN n": "MalformedQuery",
    "MATCH p=shortestPath((a:Chunk)-[*]->(b:Chunk)) RETURN p": "MalformedQuery",
    "RETURN reduce(sum = 0, x IN [1] | sum + x)": "MalformedQuery",
    "MATCH (n) WHERE any(x IN [1] WHERE x = n.seq) RETURN n": "MalformedQuery",
    "RETURN typeOf(1) AS kind": "MalformedQuery",
    "RETURN 2 ^ 2 AS four": "MalformedQuery",
    "MATCH (n) WITH collect(n) AS all RETURN all[0].seq": "MalformedQuery",
    "MATCH (n) CALL { WITH n AS m RETURN m.seq AS seq } RETURN seq": "MalformedQuery",
    "MATCH (n) CALL { WITH n WHERE n.seq = 1 RETURN n.seq AS seq } RETURN seq": "MalformedQuery",
    "MATCH (n) RETURN n LIMIT 1 + 1": "MalformedQuery",
    "MATCH (n) WITH collect(n) AS some UNWIND some AS one RETURN id(one), one.seq": "UnsupportedOperation",
    "MATCH (n) WITH [n, 1] AS pair WITH pair[0] AS one RETURN one.seq": "UnsupportedOperation",
    "MATCH (n) RETURN count(n) AS by": "MalformedQuery",
    "MATCH (n) RETURN n LIMIT $limit": "MalformedQuery",
    "MATCH (t:Topic) OPTIONAL MATCH (t)-[:IN]->(c:Chunk) SET c.seq = 2": "MalformedQuery",
    "MATCH (t:Topic) OPTIONAL MATCH (t)-->(c:Chunk) OPTIONAL MATCH (c)-->(n) RETURN n": "MalformedQuery",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->() WITH r.w AS w OPTIONAL MATCH (c:Chunk {`~id`: w}) RETURN c": "MalformedQuery",
    "CALL db.labels()": "MalformedQuery",
    "FOREACH (i IN [1] | CREATE (n:Chunk {`~id`: 'c:2'}))": "MalformedQuery",
    "MATCH (n:Chunk) SET n.seq = [1]": "MalformedQuery",
    "MATCH (n:Chunk) SET n.seq=$list": "MalformedQuery",
    "MATCH (n:Chunk) SET n += $map": "MalformedQuery",
    "MATCH (n:Chunk) SET n.seq = {a: 1}": "MalformedQuery",
    "MERGE (n:Chunk {`~id`: 'c:2', seq: $list})": "MalformedQuery",
    "MATCH (n:Chunk)-[r]->() SET r.w = $list": "MalformedQuery",
    "MATCH (n:Chunk) SET n.`~id` = 'c:9'": "UnsupportedOperation",
    "MATCH (n:Chunk) RETURN n.`~id`": "UnsupportedOperation",
    "MATCH (n:Chunk) CALL { WITH n SET n.seq = 2 } RETURN n": "UnsupportedOperation",
    "CREATE (n {`~id`: 'c:2'})": "UnsupportedOperation",
    "MERGE (n {`~id`: 'c:2'})": "UnsupportedOperation",
    "CREATE (n:Chunk {seq: 2})": "UnsupportedOperation",
    "CREATE (n:Chunk {`~id`: 'c:2'}) UNION CREATE (n:Chunk {`~id`: 'c:3'})": "UnsupportedOperation",
    "CREATE (n:Topic {`~id`: 'c:1'})": "DuplicateData",
    "MATCH (n:Chunk) DELETE n": "BadRequest",
}


@pytest.mark.parametrize(("query", "code"), REFUSED.items(), ids=list(REFUSED))
def test_the_stand_in_refuses_what_neptune_refuses_and_changes_nothing(cluster, query, code):
    cluster.client.write("CREATE (c:Chunk {`~id`: 'c:1', seq: 1})-[r:IN {`~id`: 'e:1'}]->(t:Topic {`~id`: 't:1'})")
    everything = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN n, r ORDER BY id(n)"
    before = cluster.client.read(everything)
    with pytest.raises((StoreUnavailable, Conflict), match=f"^neptune: {code}Exception"):
        cluster.client.write(query, list=["a"], map={"seq": ["a"]})
    assert cluster.client.read(everything) == before


def test_lists_that_become_nodes_and_deletions_of_lonely_nodes_are_not_refused(cluster):
    rows = [{"id": "c:1", "of": [{"id": "t:1"}, {"id": "t:2"}]}]
    nested = "MERGE (c:Chunk {`~id`: row.id}) WITH c, row UNWIND row.of AS each MERGE (t:Topic {`~id`: each.id})"
    cluster.client.write(f"UNWIND $rows AS row {nested} MERGE (c)-[r:IN {{`~id`: row.id + each.id}}]->(t) SET r.w = 1", rows)
    cluster.client.write("MATCH (c:Chunk)-[r:IN]->() DELETE r")
    cluster.client.write("MATCH (t:Topic) WHERE NOT (t)--() DELETE t")
    assert cluster.client.read("MATCH (n) RETURN id(n) AS id") == [{"id": "c:1"}]


def test_a_subquery_caps_what_each_row_brings(cluster):
    cluster.client.write("UNWIND range(1, 9) AS i CREATE (n:Topic {`~id`: 't:' + toString(i)})")
    cluster.client.write(
        "CREATE (c:Chunk {`~id`: 'c:1'}) WITH c MATCH (t:Topic) CREATE (t)-[:IN {`~id`: id(t) + '>c'}]->(c)"
    )
    cap = "CALL { WITH c MATCH (c)<-[:IN]-(t:Topic) RETURN t ORDER BY id(t) LIMIT 2 }"
    found = cluster.client.read(f"MATCH (c:Chunk) WHERE id(c) IN $ids {cap} RETURN collect(id(t)) AS topics", ids=["c:1"])
    assert found == [{"topics": ["t:1", "t:2"]}]


def test_a_request_larger_than_the_server_takes_is_refused():
    with NeptuneStandIn(largest=10_000) as server:
        client = NeptuneClient.connect(server.connection, retry=Retry(attempts=1))
        with pytest.raises(StoreUnavailable, match="BadRequestException"):
            client.read("RETURN $text AS text", text="x" * 10_000)
        assert client.read("RETURN $text AS text", text="x") == [{"text": "x"}]
        client.close()


def test_a_request_without_a_signature_is_refused_and_a_form_is_taken(cluster):
    url = f"{cluster.client.address.endpoint}/openCypher"
    form = urlencode({"query": "RETURN $n AS n", "parameters": json.dumps({"n": 1})}).encode()
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(url, form), timeout=10)
    with pytest.raises(HTTPError, match="403"):
        urlopen(Request(url, form, {"Authorization": SIGNATURE.format("es")}), timeout=10)
    with urlopen(Request(url, form, {"Authorization": SIGNATURE.format("neptune-db")}), timeout=10) as reply:
        assert json.load(reply) == {"results": [{"n": 1}]}


def test_a_server_that_is_not_there_is_unavailable_with_the_remedy(cluster):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else answers there
        there = f"neptune-db://127.0.0.1:{taken.getsockname()[1]}?tls=off&region=eu-central-1"
        nobody = NeptuneClient.connect(there, retry=cluster.retry)
        with pytest.raises(StoreUnavailable, match="EndpointConnectionError; check the endpoint, the network"):
            nobody.read(COUNT)
    assert cluster.slept == [0.1, 0.2, 0.4]


def test_no_region_and_no_credentials_are_said_before_any_request(cluster, monkeypatch):
    endpoint = cluster.client.address.endpoint
    with pytest.raises(Misconfigured, match=r"add \?region=REGION to the connection"):
        NeptuneClient(NeptuneAddress(endpoint, endpoint)).read(COUNT)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(Misconfigured, match="set AWS credentials"):
        NeptuneClient(NeptuneAddress(endpoint, endpoint, "eu-central-1")).read(COUNT)
    assert cluster.server.calls == []


def test_neither_errors_nor_logs_hold_a_query_or_a_value(cluster, caplog):
    caplog.set_level(logging.INFO, "lexigraph")
    cluster.server.faults = [Fault("ThrottlingException"), Fault(cut=True)]
    with pytest.raises(StoreUnavailable) as caught:
        cluster.client.read(f"MATCH (n:Nonsense|Other {{text: '{SECRET}'}}) RETURN $text AS text", text=SECRET)
    cluster.client.read("RETURN $text AS text", text=SECRET)
    assert "try 2 in 0.10 s" in caplog.text
    assert SECRET not in caplog.text + str(caught.value)


def test_the_modules_of_neptune_load_no_client_library_before_it_is_used():
    modules = "lexigraph.storage.neptune.client, lexigraph.storage.neptune.gremlin.connection"
    code = (
        f"import sys, {modules}; print([m for m in ('boto3', 'botocore', 'gremlin_python', 'aiohttp') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "[]\n"
