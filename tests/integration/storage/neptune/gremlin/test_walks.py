"""Egonets and distances by Gremlin, on a real Gremlin Server: as promised, and as the embedded store gives them."""

import re
import socket
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from hashlib import sha1
from itertools import product
from pathlib import Path
from threading import Thread

import pytest

from lexigraph.model.errors import NotFound, StoreUnavailable
from lexigraph.model.filters import MetadataFilter, MetadataFilters
from lexigraph.model.ids import entity_id
from lexigraph.model.tenant import Tenant
from lexigraph.storage.neptune.store import NeptuneGraphStore
from lexigraph.storage.protocols import GraphStore, SourceVersion
from lexigraph.storage.sqlite.graph.store import SqliteGraphStore
from tests.contract import test_graph_relations as relations
from tests.contract import test_graph_store as stores
from tests.contract import test_graph_walks as walks
from tests.integration.storage.neptune.test_read import FILTERS, NAMES, World
from tests.servers import gremlin_port
from tests.standins.neptune import NeptuneStandIn, account
from tests.worlds import Said, said, show, version

__all__ = ["gremlin_port"]
A, B = Tenant("a"), Tenant("b")
NAMED = [entity_id(A, name) for name in NAMES]
# how many statements name each, beside the one that says where it is
CROWDS = {"Molde": 99, "Bergen": 100}
# the promises of protocols/graph.py about distances and egonets
PROMISES = [
    walks.test_nodes_go_with_their_source_and_are_seen_within_filters_and_by_their_tenant_only,
    walks.test_hops_are_counted_from_the_nearest_up_to_three,
    walks.test_hops_lead_through_statements_and_topics_either_way,
    walks.test_what_is_named_very_often_is_reached_but_leads_nowhere,
    walks.test_a_removed_node_that_was_near_is_far_from_everything,
    walks.test_edges_and_hops_do_not_depend_on_the_order_of_writing,
    walks.test_asking_for_nothing_finds_nothing,
    stores.test_two_tenants_with_equal_documents_share_nothing,
    stores.test_an_egonet_walks_outwards_from_any_live_node,
]
# what readers do not see is asked for by openCypher, and walked to by nobody
WITHOUT_A_WALK = [
    walks.test_nodes_go_with_their_source_and_are_seen_within_filters_and_by_their_tenant_only,
    walks.test_asking_for_nothing_finds_nothing,
]


@pytest.fixture
def cluster(gremlin_port: int) -> Iterator[NeptuneStandIn]:
    with NeptuneStandIn(gremlin_port=gremlin_port) as server:
        yield server
        assert server.not_native == []


@pytest.fixture
def store(cluster: NeptuneStandIn) -> Iterator[NeptuneGraphStore]:
    with closing(NeptuneGraphStore(cluster.connection)) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda test: test.__name__.removeprefix("test_"))
def test_walks_by_gremlin_keep_the_promise(promise, store: GraphStore, cluster: NeptuneStandIn) -> None:
    promise(store)
    assert cluster.counts["gremlin"] > 0 or promise in WITHOUT_A_WALK


@pytest.mark.slow
def test_an_observed_relation_is_an_edge_of_the_egonet(store: GraphStore) -> None:
    shown = relations.shown.__wrapped__(store)
    relations.test_an_observed_relation_is_an_edge_of_the_egonet(store, shown)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [11, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (12, 13))])
def test_distances_and_egonets_of_a_made_graph_are_those_of_the_embedded_store(
    seed: int, store: NeptuneGraphStore, cluster: NeptuneStandIn, tmp_path: Path
) -> None:
    with closing(SqliteGraphStore(f"sqlite:///{tmp_path}")) as embedded:
        world = World(seed, (embedded, store))
        several = MetadataFilters((MetadataFilter("year", "in", (2001, 2003.0)), MetadataFilter("open", "!=", True)), "and")
        filters = [*FILTERS, several, MetadataFilters((several,), "not"), MetadataFilter("kind", "not_in", ())]
        hops, by_gremlin_alone = set[int | None](), 0
        for at in range(40):
            asked = [*world.entities(8), *world.statements(8), *world.topics(4)]
            near = [*world.entities(3)[: at % 3], *world.statements(4), *world.topics(2), "entity:00", "nonsense"]
            narrowed = filters[at % len(filters)]
            cluster.forget()
            found = store.nodes(A, asked, near=near, filters=narrowed)
            assert found == embedded.nodes(A, asked, near=near, filters=narrowed), (asked, near, narrowed)
            assert set(cluster.counts) <= {"gremlin", "handshake", "read"}
            # openCypher says what the nodes are, and once more all of it where a version is on its way
            assert cluster.counts["gremlin"] <= 3 and cluster.counts["read"] <= 2
            by_gremlin_alone += cluster.counts["read"] == 1
            hops |= {node.hops for node in found.values()}
        assert hops == {0, 1, 2, 3, None}
        assert by_gremlin_alone > 0
        sources = [made.source.id for made in world.made[:12:3]]
        facts = [f.id for made in world.made for chunk in made.chunks for f in chunk.facts][:20:5]
        some = [*sources, *facts, *world.chunks(8), *world.entities(8), *world.statements(6), *world.topics(4)]
        for depth in (1, 2, 3):
            for node in some:
                assert drawn(store, node, depth) == drawn(embedded, node, depth), (node, depth)


def drawn(store: GraphStore, node: str, depth: int, limit: int = 100_000) -> tuple[set[tuple[str, ...]], ...] | None:
    """Return an egonet as sets, None where there is none; a chunk without the place at which it is shown."""
    try:
        net = store.egonet(A, node, depth=depth, limit=limit)
    except NotFound:
        return None
    nodes = {(n["id"], n["type"], "" if n["type"] == "chunk" else n["label"]) for n in net["nodes"]}
    return nodes, {(e["source"], e["type"], e["target"]) for e in net["edges"]}


@pytest.mark.nightly
def test_an_egonet_is_two_traversals_a_step_and_what_opencypher_draws(
    store: NeptuneGraphStore, cluster: NeptuneStandIn, tmp_path: Path
) -> None:
    with (
        closing(SqliteGraphStore(f"sqlite:///{tmp_path}")) as embedded,
        closing(NeptuneGraphStore(f"{cluster.connection}&gremlin=off")) as stepwise,
    ):
        world, alone = World(21, (embedded, store)), 0
        some = [*NAMED[:2], world.made[0].source.id, next(iter(world.made[1].placements))]
        for node, depth, limit in product(some, (1, 2, 3), (1, 2, 5, 40, 10_000)):
            cluster.forget()
            by_gremlin = store.egonet(A, node, depth=depth, limit=limit)
            assert 1 <= cluster.counts["gremlin"] <= 2 * depth and cluster.counts["read"] <= depth
            alone += cluster.counts["read"] == 0
            cluster.forget()
            assert by_gremlin == stepwise.egonet(A, node, depth=depth, limit=limit)
            assert 1 <= cluster.counts["read"] <= depth
            assert len(by_gremlin["nodes"]) <= limit
        assert alone > 0, "openCypher is asked only where a version is on its way"


@pytest.mark.nightly
def test_names_and_topics_lead_on_up_to_the_same_crowds_as_in_the_embedded_store(
    store: NeptuneGraphStore, tmp_path: Path
) -> None:
    def topic(name: str, chunks: int) -> dict[str, list[Said]]:
        """A topic that runs over so many chunks, under titles that differ by spaces only."""
        return {name.replace(" ", " " * at): told(name, at) for at in range(1, chunks + 1)}

    def told(name: str, at: int) -> list[Said]:
        return [
            said(f"{name} tells part {at}.", f"{name}{at}", facts=[(f"{name}{at}", "tells", name)] if at % 9 == 0 else [])
        ]

    crowds = {
        "Crowds": [said(f"{n} came to {place}.", place) for place, most in CROWDS.items() for n in range(most)],
        "Links": [said(f"{place} is by the Sea.", place, "Sea", facts=[(place, "is by", "Sea")]) for place in CROWDS],
        **topic("The shorter", 20),
        **topic("The longer", 21),
    }
    made = version(A, "World", crowds)
    with closing(SqliteGraphStore(f"sqlite:///{tmp_path}")) as embedded:
        for each in (embedded, store):
            show(each, A, made)
        stands = Counter(t.id for chunk in made.chunks for t in chunk.topics)
        assert sorted(stands.values()) == [1, 1, 20, 21]
        said_ = [s.id for chunk in made.chunks for s in chunk.statements]
        names = [
            entity_id(A, name)
            for name in (*CROWDS, "Sea", "The shorter1", "The shorter9", "The longer2", "The longer9", "The longer")
        ]
        asked = [*said_[::10], *said_[-43:], *stands, *names]
        for near in (*stands, *names, said_[0], said_[105], said_[-22], said_[-1]):
            assert store.nodes(A, asked, near=[near]) == embedded.nodes(A, asked, near=[near]), near


@pytest.mark.slow
def test_what_an_old_version_said_is_no_step_before_it_is_collected(store: NeptuneGraphStore, tmp_path: Path) -> None:
    def page(number: int, place: str, *more: str) -> SourceVersion:
        fog = said("Fog is common there.", place, "Fog", facts=[(place, "has", "Fog")])
        chunks = {"Weather": [fog, *map(said, more)], f"Part {number}": [said(f"{place} is {number}.", place)]}
        return version(A, "Page", chunks, number=number)

    first, second = page(1, "Molde"), page(2, "Bergen", "It is said so.")
    with closing(SqliteGraphStore(f"sqlite:///{tmp_path}")) as embedded:
        for each in (embedded, store):
            show(each, A, first)
            each.write(A, [second])
            each.publish(A, [second.source])  # the old chunks stay until they are collected
        chunks = [*first.chunks, *second.chunks]
        said_ = [s.id for chunk in chunks for s in chunk.statements]
        topics = [t.id for chunk in chunks for t in chunk.topics]
        facts = [f.id for chunk in chunks for f in chunk.facts]
        asked = [*said_, *topics, *(entity_id(A, name) for name in ("Molde", "Bergen", "Fog"))]
        for node in dict.fromkeys(asked):
            assert store.nodes(A, asked, near=[node]) == embedded.nodes(A, asked, near=[node]), node
        for node in dict.fromkeys([*asked, *facts, *first.placements, *second.placements, first.source.id]):
            assert drawn(store, node, 1) == drawn(embedded, node, 1), node


@pytest.mark.slow
def test_a_node_that_very_much_leads_to_is_told(store: NeptuneGraphStore) -> None:
    crowd = [said(f"Number {n} is in Molde.", "Molde", f"Someone {n}") for n in range(400)]
    show(store, A, version(A, "Crowd", {"Crowd": crowd}))
    molde = entity_id(A, "Molde")
    net = store.egonet(A, molde, depth=3, limit=50)
    assert len(net["nodes"]) == 50
    assert net["nodes"][0] == {"id": molde, "label": "Molde", "type": "entity"}
    with pytest.raises(NotFound):
        store.egonet(B, molde, depth=3)


@pytest.mark.slow
def test_what_is_written_and_not_shown_yet_takes_no_place_from_what_readers_see(
    store: NeptuneGraphStore, cluster: NeptuneStandIn
) -> None:
    show(store, A, version(A, "Ferry", {"Fog": [said("Fog is common in Molde.", "Molde")]}))
    molde = entity_id(A, "Molde")
    settled = store.egonet(A, molde, depth=1)
    store.write(A, [version(A, "Rain", {"Days": [said(f"Day {n} in Molde was wet.", "Molde") for n in range(60)]})])
    cluster.forget()
    assert store.egonet(A, molde, depth=1) == settled
    assert cluster.counts["gremlin"] > 0 and cluster.counts["read"] > 0


def test_a_web_socket_that_is_refused_has_walks_answered_by_opencypher(caplog) -> None:
    now = [1000.0]
    with NeptuneStandIn() as cluster, closing(NeptuneGraphStore(cluster.connection)) as stepwise:
        made = version(A, "Ferry", {"Fog": [said("Fog is common in Molde.", "Molde")]})
        show(stepwise, A, made)
        molde = entity_id(A, "Molde")
        asked = [molde, *(s.id for chunk in made.chunks for s in chunk.statements)]
        refused = cluster.connection.replace("&gremlin=off", "")
        with closing(NeptuneGraphStore(refused, read_seconds=2.0, clock=lambda: now[0])) as store:

            def tried() -> int:
                """Ask both questions, and return how often a web socket was asked for."""
                cluster.forget()
                assert store.nodes(A, asked, near=[molde]) == stepwise.nodes(A, asked, near=[molde])
                assert store.egonet(A, molde, depth=2) == stepwise.egonet(A, molde, depth=2)
                return cluster.counts["refused"]

            assert tried() >= 1
            assert [tried(), tried()] == [0, 0], "a web socket that was refused is not asked for with every question"
            now[0] += 301.0
            assert tried() >= 1, "but after a while"
        warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == 1, "once a store"
        assert "check the endpoint" in warnings[0] and "?gremlin=off" in warnings[0]


@pytest.mark.nightly
def test_a_walk_that_is_not_answered_in_time_is_not_asked_for_otherwise() -> None:
    heads: list[bytes] = []
    opened: list[socket.socket] = []

    def accept_and_say_nothing() -> None:
        with suppress(OSError):  # the end of the test
            while True:
                client, _ = listener.accept()
                opened.append(client)
                heads.append(client.recv(65_536))
                if key := re.search(rb"(?i)sec-websocket-key: *(\S+)", heads[-1]):
                    said = b64encode(sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
                    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    client.sendall(upgrade + b"Sec-WebSocket-Accept: " + said + b"\r\n\r\n")

    with account(), socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = Thread(target=accept_and_say_nothing, daemon=True)
        accepting.start()
        at = f"neptune-db://127.0.0.1:{listener.getsockname()[1]}?tls=off&region=eu-central-1"
        with closing(NeptuneGraphStore(at, read_seconds=0.5)) as silent, pytest.raises(StoreUnavailable, match="no answer"):
            silent.egonet(A, entity_id(A, "Molde"))
        listener.shutdown(socket.SHUT_RDWR)  # to close it does not wake who waits in it, and its port stays open
        accepting.join(60)
    for client in opened:
        client.close()
    assert not accepting.is_alive()
    assert len(heads) == 1 and b"/gremlin" in heads[0]
