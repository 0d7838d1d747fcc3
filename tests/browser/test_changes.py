"""What changes something: files that come in and leave, keys that are made and revoked; and texts that mean harm."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Route, expect

from tests.browser.explorer import Explorer, Serve, Server, Window, demo_data
from tests.standins.llm_server import Reply, refused

pytestmark = pytest.mark.nightly

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LIGHTHOUSE = (
    "# Gull Rock\n\nGull Rock is a lighthouse.\n\nThe keeper of Gull Rock is Odile Brandt, who paints the lamp room blue.\n"
)
KEEPER = "Who is the keeper of Gull Rock?"
# what would do harm as markup, what looks like a citation, and characters of two units
HOSTILE = (
    "Bobby <img src=x onerror=\"document.title='hurt'\">\n"
    "===================================================\n\n"
    "Verity Snow \U0001f6a2 wrote <script>document.title='hurt'</script> on the wall [S1] [S9].\n\n"
    "The wall of Verity Snow stands in the harbour of Ostrava.\n"
)


def drop(window: Explorer, name: str, text: str) -> None:
    """Let go of a file over the page, as from a folder of the desktop."""
    transfer = window.page.evaluate_handle(
        "([name, text]) => { const t = new DataTransfer(); t.items.add(new File([text], name)); return t }", [name, text]
    )
    window.page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})


def send(window: Explorer) -> None:
    expect(window.page.get_by_text("Estimating")).to_have_count(0)
    window.page.get_by_role("button", name="Add 1 file").click()
    expect(window.page.get_by_role("link", name="Ready to query")).to_be_visible(timeout=60_000)


def test_a_dropped_file_is_estimated_taken_in_asked_about_and_deleted(window: Window, server: Server) -> None:
    one = window().open()
    one.ask(KEEPER)
    expect(one.page.locator(".answer")).not_to_contain_text("Odile Brandt")
    one.open("#/ingest")
    drop(one, "gull-rock.md", LIGHTHOUSE)
    expect(one.page.locator(".upload")).to_contain_text("passage")
    expect(one.page.locator(".upload")).to_contain_text("no cost")
    send(one)
    one.check()
    job = one.page.locator(".job").first
    expect(job.locator("summary")).to_contain_text("gull-rock.md")
    job.locator("summary").click()
    expect(job.locator(".events")).to_contain_text("Reading")
    drop(one, "gull-rock.md", LIGHTHOUSE)
    one.page.get_by_role("button", name="Add 1 file").click()
    expect(one.page.get_by_role("link", name="Unchanged")).to_be_visible(timeout=60_000)
    expect(one.page.locator(".job").first).to_contain_text("Unchanged")

    one.open("#/ask")
    one.ask(KEEPER)
    expect(one.page.locator(".prose")).to_contain_text("Odile Brandt")
    one.open("#/documents?find=gull")
    one.page.get_by_role("link", name="Gull Rock").click()
    one.button("Delete").click()
    dialog = one.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Gull Rock")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    one.check()
    dialog.get_by_role("button", name="Delete").click()
    expect(one.page.get_by_role("status").filter(has_text="was deleted")).to_be_visible()
    expect(one.page.get_by_role("heading", name="Documents")).to_be_focused()
    expect(one.page.get_by_role("link", name="Gull Rock")).to_have_count(0)
    expect(one.page.get_by_role("searchbox")).to_have_value("gull")
    one.check()
    one.open("#/ingest")
    expect(one.page.locator(".job").first).to_be_visible()
    expect(one.page.locator(".upload")).to_have_count(0)

    assert all("gull-rock" not in d["uri"] for d in server.get("/documents", limit=100)["documents"])
    one.open("#/ask")
    one.ask(KEEPER)
    expect(one.page.locator(".answer")).not_to_contain_text("Odile Brandt")


def test_files_of_one_name_in_a_chosen_folder_come_in_beside_each_other(
    window: Window, server: Server, tmp_path: Path
) -> None:
    for place, keeper in (("north", "Odile Brandt"), ("south", "Piet Maas")):
        (tmp_path / "rocks" / place).mkdir(parents=True)
        (tmp_path / "rocks" / place / "index.md").write_text(f"# {place}\n\nThe keeper is {keeper}.\n")
    one = window().open("#/ingest")
    one.page.locator("input[webkitdirectory]").set_input_files(tmp_path / "rocks")
    expect(one.page.locator(".upload")).to_have_count(2)
    one.page.get_by_role("button", name="Add 2 files").click()
    expect(one.page.get_by_role("link", name="Ready to query")).to_have_count(2, timeout=60_000)
    one.check()
    documents = server.get("/documents", find="rocks")["documents"]
    for document in documents:  # other tests ask the same server
        server.client.delete(f"/documents/{document['id']}").raise_for_status()
    assert [d["uri"] for d in documents] == [
        "upload://default/rocks/north/index.md",
        "upload://default/rocks/south/index.md",
    ]


def test_files_of_one_name_are_not_sent_to_replace_each_other(window: Window, tmp_path: Path) -> None:
    for place in ("north", "south"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "index.md").write_text(f"# {place}\n\nThe keeper of the {place} rock is Odile Brandt.\n")
    one = window().open("#/ingest")
    one.page.locator("input[type=file]").first.set_input_files([tmp_path / "north/index.md", tmp_path / "south/index.md"])

    expect(one.page.get_by_role("button", name="Add 1 file")).to_be_visible()
    refused = one.page.locator(".upload.failed")
    expect(refused).to_contain_text("Its name is that of another file in this list, which it would replace.")
    expect(refused).to_contain_text("Choose the folder that holds both")
    one.check()


def test_an_estimate_says_for_how_many_of_the_files_it_is(window: Window) -> None:
    one = window().open("#/ingest")
    held: list[Route] = []
    holding = True
    one.page.route("**/estimate", lambda route: held.append(route) if holding else route.continue_())
    drop(one, "gull-rock.md", LIGHTHOUSE)
    drop(one, "keeper.md", LIGHTHOUSE)
    drop(one, "chart.pdf", "%PDF-1.7")

    expect(one.text("Estimating")).to_have_count(2)
    expect(one.text("known after reading")).to_have_count(1)
    holding = False
    for route in held:
        route.continue_()
    expect(one.page.locator(".send-row")).to_contain_text("Estimate for 2 of 3 files: 2 passages")


def test_a_deletion_can_be_thought_better_of(window: Window, server: Server) -> None:
    document = next(d for d in server.get("/documents", limit=100)["documents"] if d["uri"].endswith("tidewater.md"))
    one = window().open(f"#/document/{document['id']}")
    one.button("Delete").click()
    one.button("Cancel").click()
    assert server.get(f"/documents/{document['id']}")["state"] == "READY"


def test_a_file_that_cannot_be_read_says_why_and_what_to_do(window: Window) -> None:
    one = window().open("#/ingest")
    one.expect_failed_requests()
    drop(one, "broken.pdf", "this is no PDF")
    one.page.get_by_role("button", name="Add 1 file").click()

    failed = one.page.locator(".upload.failed")
    expect(failed).to_be_visible(timeout=60_000)
    expect(failed.locator(".upload-reason")).to_contain_text("Open the file in its application, save it again")
    expect(one.button("Retry failed")).to_have_count(0)
    job = one.page.locator(".job").first
    expect(job).to_contain_text("Failed")
    expect(job.locator("summary")).to_contain_text("broken.pdf")
    job.locator("summary").click()
    expect(job.locator(".events")).to_be_visible()
    assert job.inner_text().count("amaged, or not of type pdf") == 1
    one.check()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", "The file is empty."),
        ("a.txt", " \n", "The file is empty."),
        ("a.pdf", "", "The file is empty."),
        ("a.bin", "x", "Unsupported file type."),
        ("a.tar.gz", "x", "Unsupported file type."),
        ("large.bin", "x" * 4_000_000, "Unsupported file type."),
        (f"{'ä' * 100}.txt", "x", "Its name is longer than 200 bytes. Rename the file"),
        ("a.json", "{}", "Contains no text."),
        ("a.json", '{"a": }', "Correct the file and upload it again."),
        ("dash.1", ".so man1/sh.1\n", "Only refers to another page."),
    ],
)
def test_a_file_that_would_be_refused_is_told_of_before_it_is_sent(window: Window, name: str, text: str, said: str) -> None:
    one = window().open("#/ingest")
    one.expect_failed_requests()
    uploaded: list[str] = []
    one.page.on("request", lambda r: uploaded.append(r.url) if r.method == "POST" and "/documents" in r.url else None)
    drop(one, name, text)

    expect(one.page.locator(".upload.failed")).to_be_visible()
    expect(one.page.get_by_role("button", name="Add 1 file")).to_have_count(0)
    assert uploaded == []
    reason = one.page.locator(".upload.failed .upload-reason")
    expect(reason).to_contain_text(said)
    expect(reason).not_to_contain_text("text recognition")
    expect(one.button("Retry failed")).to_have_count(0)


def test_a_file_that_a_model_failed_at_can_be_sent_again(serve: Serve, window: Window) -> None:
    statement = {"statement": "Gull Rock is a lighthouse.", "details": [], "entities": [], "facts": []}
    good = {"topics": [{"title": "Gull Rock", "statements": [statement]}], "aliases": []}
    away = [True]
    served = serve("--open", says=lambda _: refused(400) if away[0] else good, LEXIGRAPH_EXTRACTION="llm")
    one = window(server=served).open("#/ingest")
    drop(one, "gull-rock.md", LIGHTHOUSE)
    one.page.get_by_role("button", name="Add 1 file").click()
    expect(one.page.locator(".upload.failed")).to_contain_text("HTTP 400", timeout=60_000)
    away[0] = False
    one.button("Retry failed").click()
    expect(one.page.get_by_role("link", name="Ready to query")).to_be_visible(timeout=60_000)


def test_a_file_on_its_way_in_is_cancelled_and_leaves_nothing(serve: Serve, window: Window) -> None:
    served = serve("--open", says=lambda _: Reply("It is late.", delay=1.0), LEXIGRAPH_EXTRACTION="llm")
    one = window(server=served).open("#/ingest")
    text = "\n\n".join(f"# Part {n}\n\n" + f"Gull Rock {n} is a lighthouse of Brackford. " * 60 for n in range(40))
    drop(one, "gull-rock.md", text)
    one.page.get_by_role("button", name="Add 1 file").click()
    expect(one.page.locator(".upload.running")).to_contain_text("Extracting", timeout=60_000)
    one.check()
    one.button("Cancel gull-rock.md").click()
    expect(one.page.locator(".upload.cancelled")).to_contain_text("Cancelled", timeout=60_000)
    expect(one.page.locator(".job").first).to_contain_text("Cancelled")
    assert all("gull-rock" not in d["uri"] for d in served.get("/documents", limit=100)["documents"])
    assert served.get("/jobs", limit=1)["jobs"][0]["status"] == "CANCELLED"


def test_hostile_names_and_texts_are_shown_as_text(window: Window, server: Server) -> None:
    one = window().open("#/ingest")
    drop(one, "<b onclick=alert(1)>name & 'co'.txt", HOSTILE)
    expect(one.page.locator(".upload-name")).to_contain_text("<b onclick=alert(1)>name & 'co'.txt")
    send(one)

    one.open("#/ask?q=Who+wrote+script+on+the+wall%3F")
    one.answered()
    expect(one.page.locator(".prose")).to_contain_text("<script>document.title='hurt'</script> on the wall (S1) (S9).")
    source = one.page.locator(".source", has_text="wrote <script>").first
    expect(source.locator("script")).to_have_count(0)
    one.check()
    source.locator("a.title").click()
    one.page.locator("mark").first.wait_for()
    asked = {"question": "Who wrote script on the wall?", "retriever": "traversal"}
    told = server.client.post("/query", json=asked).json()["sources"]
    expected = next(s["text"] for s in told if "wrote <script>" in s["text"])
    assert "".join(one.page.locator("mark").all_text_contents()) == expected
    expect(one.page.get_by_role("heading", level=1)).to_contain_text("<img src=x onerror=")
    one.check()

    one.open("#/graph?q=Who+wrote+script+on+the+wall%3F")
    expect(one.page.locator(".counts")).to_contain_text("shown")
    one.open("#/documents?find=bobby")
    one.page.get_by_role("link", name="Bobby <img").wait_for()
    assert "hurt" not in one.page.title()
    assert one.page.locator("img[src=x], b[onclick]").count() == 0


def test_every_view_says_what_to_do_first_while_there_is_no_document(serve: Serve, window: Window) -> None:
    served = serve("--open", demo=False)
    one = window(server=served, width=360)
    for address in ("ask", "ask?q=Who", "documents", "graph", "graph?q=Who", "entities", "entities?q=who", "overview"):
        one.open(f"#/{address}")
        expect(one.page.get_by_role("heading", name="There are no documents yet")).to_be_visible()
        expect(one.page.get_by_role("main")).to_contain_text("lexigraph ingest FOLDER")
        one.check()
    one.page.get_by_role("main").get_by_role("link", name="Add documents").click()
    expect(one.page.get_by_role("button", name="Choose files")).to_be_visible()
    expect(one.page.get_by_role("main")).to_contain_text("lexigraph ingest FOLDER")
    drop(one, "gull-rock.md", LIGHTHOUSE)
    send(one)
    one.page.get_by_role("link", name="Overview").click()
    expect(one.page.locator(".figures")).to_be_visible()
    expect(one.page.get_by_role("heading", name="There are no documents yet")).to_have_count(0)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[Server]:
    """A server that asks for keys."""
    folder = tmp_path_factory.mktemp("guarded")
    demo_data(folder, shared)
    served = Server(folder, 0, "--keys")
    yield served
    served.close()


def made_key(server: Server, *scopes: str) -> str:
    from lexigraph.api.access.keys import new_key
    from lexigraph.storage.factory import RegistryFactory

    secret, key = new_key("default", scopes)
    registry = RegistryFactory.for_registry(f"sqlite:///{server.folder / 'data'}")
    registry.add_key(key)
    registry.close()
    return secret


def test_a_key_is_made_shown_once_used_and_revoked(browser: "Browser", window: Window, guarded: Server) -> None:
    one = window(server=guarded, key=made_key(guarded, "read", "ingest", "admin")).open("#/settings")
    keys = one.page.get_by_role("region", name="Keys of this server").first
    keys.get_by_label("Name").fill("newsroom")
    one.button("Create key").click()
    secret = one.page.locator(".new-key").inner_text()
    one.check()
    assert guarded.get("/documents", key=secret)["documents"]
    one.page.reload()
    keys.get_by_role("row", name="newsroom").wait_for()
    assert secret not in one.page.content()

    reader = window(server=guarded, key=secret).open()
    reader.ask("What is Tidewater?")
    reader.open("#/settings")
    expect(reader.text("Showing keys requires a key with the scope admin.")).to_be_visible()
    reader.expect_failed_requests()

    one.button("Revoke newsroom").click()
    one.page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(keys.get_by_role("row", name="newsroom")).to_contain_text("Revoked")

    reader.open("#/documents")
    dialog = reader.page.get_by_role("dialog")
    expect(dialog).to_contain_text("does not accept this key", timeout=10_000)
    assert guarded.client.get("/documents", headers={"X-API-Key": secret}).status_code == 401


def test_the_first_key_closes_an_open_server_and_the_page_goes_on_with_it(serve: Serve, window: Window) -> None:
    served = serve()
    one = window(server=served).open("#/settings")
    keys = one.page.get_by_role("region", name="Keys of this server")
    keys.get_by_label("Name").fill("mine")
    keys.get_by_label("Administer").check()
    one.button("Create key").click()
    expect(keys.get_by_role("row", name="mine")).to_contain_text("Active")
    assert served.client.get("/documents").status_code == 401
    one.open("#/documents")
    expect(one.page.get_by_role("link", name="Tidewater")).to_be_visible()
    one.check()


def test_a_server_with_keys_asks_for_one_refuses_a_wrong_one_and_forgets_it_with_the_tab(
    window: Window, guarded: Server
) -> None:
    one = window(server=guarded).open("#/documents")
    one.expect_failed_requests()
    dialog = one.page.get_by_role("dialog")
    expect(dialog).to_contain_text("This server requires a key.")
    one.check()
    dialog.get_by_label("Key").fill("lxk_wrong_0000")
    one.button("Use key").click()
    expect(dialog).to_contain_text("does not accept this key")

    secret = made_key(guarded, "read")
    dialog.get_by_label("Key").fill(secret)
    one.button("Use key").click()
    expect(one.page.get_by_role("link", name="Tidewater")).to_be_visible()
    assert secret not in one.page.url
    assert one.page.evaluate("JSON.stringify(localStorage) + document.cookie").find(secret) == -1
    one.page.reload()
    expect(one.page.get_by_role("link", name="Tidewater")).to_be_visible()

    other = window(server=guarded).open("#/documents")
    other.expect_failed_requests()
    expect(other.page.get_by_role("dialog")).to_be_visible()


def test_a_name_is_added_to_an_entity_and_taken_back(window: Window, server: Server) -> None:
    entity = server.get("/entities", q="heron team")["entities"][0]
    one = window().open(f"#/entity/{entity['id']}")
    one.page.get_by_text("Merge names").click()
    one.page.get_by_label("Also called").fill("Grey Herons")
    one.button("Add name").click()
    decision = one.page.locator(".curation li").filter(has_text="Grey Herons")
    expect(decision).to_contain_text(f"{entity['name']} = Grey Herons")
    one.check()
    decision.get_by_role("button", name="Undo").click()
    expect(decision).to_have_count(0)
    made = server.get("/curation/decisions")["decisions"][-1]
    assert made["others"] == ["Grey Herons"] and made["undone_at"]
