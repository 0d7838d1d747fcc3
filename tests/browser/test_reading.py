"""What a reader does: asks, follows a citation to its words and the evidence to its entities, sends somebody the address."""

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from tests.browser.explorer import Explorer, Serve, Server, Window
from tests.e2e.commandline import apart
from tests.standins.llm_server import Reply

INK = """() => {
    const canvas = document.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value, i) => i % 4 === 0 && value < 100 && data[i + 3] > 0);
}"""
# How many pixels of the graph are drawn within 8 of an edge of it, and how many in the colour of its first node
DRAWN = """() => {
    const probe = document.createElement("i");
    probe.style.color = "var(--accent)";
    document.body.append(probe);
    const accent = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
    probe.remove();
    const drawn = { edge: 0, accent: 0 };
    for (const canvas of document.querySelectorAll(".graph-canvas canvas")) {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] < 40) continue;
            const [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
            if (Math.min(x, y, width - 1 - x, height - 1 - y) < 8) drawn.edge++;
            if ([0, 1, 2].every(c => Math.abs(data[i + c] - accent[c]) < 3)) drawn.accent++;
        }
    }
    return drawn;
}"""
OWNER = "Who leads the team that owns Tidewater?"


def document_of(server: Server, name: str) -> dict[str, Any]:
    documents = server.get("/documents", limit=100)["documents"]
    return next(d for d in documents if d["uri"].endswith(name))


def marked(window: Explorer) -> str:
    window.page.locator("mark").first.wait_for()
    return "".join(window.page.locator("mark").all_text_contents())


@pytest.mark.nightly
def test_the_start_of_the_server_leads_to_the_explorer(window: Window, server: Server) -> None:
    one = window()
    one.page.goto(server.url)

    expect(one.page).to_have_url(f"{server.url}/explorer/")
    expect(one.page.get_by_role("heading", level=1)).to_have_text("Ask your documents")


def test_an_answer_comes_with_sources_reasons_and_scores(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)

    expect(one.page.locator(".prose")).to_contain_text("Tidewater is owned by the Heron Team.")
    source = one.page.locator(".source").first
    expect(source).to_contain_text("Tidewater")
    expect(source.get_by_role("img", name="Match")).to_be_visible()
    source.get_by_text("Why it was found").click()
    expect(source.locator(".why > p")).to_contain_text("the question")
    expect(source.get_by_role("row").first).to_be_hidden()
    source.get_by_text("How it was ranked").click()
    expect(source.get_by_role("row").first).to_be_visible()


def test_a_bar_is_as_long_as_the_match_it_tells(window: Window, server: Server) -> None:
    told = server.client.post("/query", json={"question": OWNER, "retriever": "traversal"}).json()["sources"]
    one = window().open()
    one.ask(OWNER)

    for bar, source in zip(one.page.locator(".score").all(), told, strict=True):
        expect(bar).to_have_accessible_name(re.compile(f"Match {source['final_score']:.2f} of 1"))
        share = bar.evaluate("b => [...b.children].reduce((w, p) => w + p.getBoundingClientRect().width, 0) / b.clientWidth")
        assert share == pytest.approx(source["final_score"], abs=0.01)


def test_why_a_source_was_found_is_told_of_each_by_search_link_and_sum(window: Window, server: Server) -> None:
    told = server.client.post("/query", json={"question": OWNER, "retriever": "traversal"}).json()
    one = window().open(f"#/ask?q={quote(OWNER)}")
    one.answered()

    expect(one.page.locator(".confidence")).to_have_text(f"Confidence {math.floor(100 * told['confidence'])}%")
    reasons = set()
    for card, source in zip(one.page.locator(".source").all(), told["sources"], strict=True):
        card.get_by_text("Why it was found").click()
        card.get_by_text("How it was ranked").click()
        why = card.locator(".why").first
        expect(why).to_contain_text(f"Number {source['ranks']['vector']} of the passages that are closest by meaning.")
        read = f"{OWNER} {source['text']} {source['title']}".casefold()
        stated = [r["label"] != "" for r in source["path_relations"]]
        seen = [n.casefold() in read or any(stated[max(0, i - 1) : i + 1]) for i, n in enumerate(source["path"])]
        followed = bool(seen) and all(seen)
        expect(card.locator(".path")).to_have_count(int(followed))
        assert (f"Reached through {', '.join(source['path'])}," in why.inner_text()) == followed
        *parts, total = [float(t.replace("−", "-")) for t in why.locator("td").all_text_contents()]
        assert total == pytest.approx(sum(parts), abs=1e-9) == pytest.approx(source["final_score"], abs=0.005)
        meanings = why.locator("tbody th span").all_text_contents()
        assert len(meanings) == len(parts)
        assert all(m.endswith(".") for m in meanings), "each part is explained"
        reasons.add(why.locator("ul").inner_text())
    assert len(reasons) > 1
    leader = one.page.locator(".source", has_text="The leader of the Heron Team").first
    expect(leader.locator(".path")).to_have_text("QuestionTidewateris owned byHeron Teamthis passage")
    expect(leader.locator(".why")).to_contain_text("The documents say: Tidewater is owned by Heron Team.")
    one.check()


def test_what_is_named_in_the_sources_stands_in_what_is_shown_of_them(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)

    shown = "\n".join(one.page.locator(".source blockquote, .source pre").all_text_contents()).casefold()
    named = one.page.locator(".named .chip").evaluate_all("all => all.map(chip => chip.firstChild.textContent.trim())")
    assert "Heron Team" in named
    assert [name for name in named if name.casefold() not in shown] == []


@pytest.mark.nightly
def test_of_what_a_model_was_shown_only_what_it_cites_is_shown_until_more_is_asked_for(serve: Serve, window: Window) -> None:
    one = window(server=serve("--open", says="The Heron Team owns it [S1].")).open()
    one.ask("Who owns Tidewater?")
    expect(one.page.locator(".source .label")).to_have_text(["S1"])
    expect(one.page.locator(".source")).to_contain_text("Tidewater is owned by the Heron Team.")
    chips = one.page.locator(".named .chip")
    named = chips.evaluate_all("all => all.map(chip => chip.firstChild.textContent.trim())")
    assert sorted(named) == ["Heron Team", "Tidewater"]
    one.check()

    more = one.page.locator(".rest > summary")
    count = int(more.inner_text().split()[0])
    more.click()
    expect(one.page.locator(".source")).to_have_count(1 + count)
    assert count > 20
    more.click()
    expect(one.page.locator(".source")).to_have_count(1)


@pytest.mark.nightly
def test_a_citation_leads_to_its_source_while_the_answer_is_still_written(serve: Serve, window: Window) -> None:
    served = serve("--open", says=Reply("The Heron Team owns it [S1]. " + "And much more. " * 30, pause=1.0))
    one = window(server=served).open()
    one.expect_failed_requests()
    box = one.page.get_by_label("Question", exact=True)
    box.fill("Who owns Tidewater?")
    box.press("Enter")
    cite = one.page.locator(".cite")
    expect(cite).to_have_text("S1")
    expect(cite).to_have_accessible_name("Source S1: Tidewater")
    expect(one.page.locator(".source .label")).to_have_text(["S1"])
    cite.click()
    card = one.page.locator(".source.lit")
    expect(card).to_be_focused()
    said = card.locator("blockquote").inner_text()
    assert said == "Tidewater is owned by the Heron Team."
    expect(one.page.locator(".answer")).to_have_attribute("aria-busy", "true")
    one.check()
    card.locator("a.title").click()
    assert marked(one) == said
    served.kill()  # the model still speaks: asked to end, it would wait for that


def test_a_citation_leads_to_exactly_the_words_that_the_api_tells(window: Window, server: Server) -> None:
    told = server.client.post("/query", json={"question": OWNER, "retriever": "traversal"}).json()["sources"]
    one = window().open()
    one.ask(OWNER)

    for source in told[:3]:
        one.page.locator(f".cite:text-is('{source['label']}')").click()
        card = one.page.locator(".source.lit")
        expect(card).to_be_focused()
        card.locator("a.title").click()

        assert marked(one) == source["text"]
        reply = server.get(
            f"/documents/{source['document_id']}/text", start=source["start"], limit=source["end"] - source["start"]
        )
        assert marked(one) == reply["text"]
        expect(one.page.locator("mark").first).to_be_in_viewport()
        one.check()
        one.page.go_back()
        one.answered()


def test_the_address_of_an_answer_can_be_sent_to_somebody(window: Window) -> None:
    first = window().open()
    first.ask(OWNER)
    address = first.page.url

    second = window()
    second.page.goto(address)
    second.answered()

    expect(second.page.locator(".prose")).to_contain_text("Heron Team")
    assert second.page.get_by_label("Question", exact=True).input_value() == OWNER


def test_two_searches_stand_side_by_side_and_what_only_one_found_is_marked(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)
    one.page.get_by_text("Options", exact=True).click()
    one.page.get_by_label("Compare with").select_option("fused")
    one.answered()

    expect(one.page.locator(".pane")).to_have_count(2)
    expect(one.page.locator(".differences")).to_contain_text("in both")
    words = "all => all.map(source => source.querySelector('blockquote, pre').textContent)"
    ids = [set(pane.locator(".source").evaluate_all(words)) for pane in one.page.locator(".pane").all()]
    alone = one.page.locator(".source", has=one.page.locator(".badge:text-is('only here')"))
    assert alone.count() == len(ids[0] ^ ids[1]) > 0


def test_a_filter_narrows_the_answer_and_stays_in_the_address(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)
    one.page.get_by_text("Options", exact=True).click()
    one.page.get_by_label("Field").fill("file_type")
    one.page.get_by_label("Value").fill("jsonl")
    one.button("Add filter").click()
    one.page.wait_for_url("**where=*")
    expect(one.page.locator(".place", has_not_text="teams.jsonl")).to_have_count(0)
    expect(one.page.locator(".place").first).to_contain_text("teams.jsonl")
    expect(one.page.locator(".chip", has_text="file_type is jsonl")).to_be_visible()
    one.button("Remove filter file_type is jsonl").click()
    one.answered()
    expect(one.page.locator(".source").first).to_contain_text("Tidewater")


def test_a_question_that_the_documents_do_not_answer_is_said_to_be_one(window: Window, server: Server) -> None:
    told = server.client.post("/query", json={"question": "What is the capital of Peru?", "retriever": "traversal"}).json()
    assert told["entities"], "what is near names something, too"
    one = window().open()
    one.ask("What is the capital of Peru?")

    expect(one.page.locator(".answer")).to_contain_text("Not found in these documents")
    expect(one.page.locator(".named")).to_have_count(0)
    expect(one.page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(one.page.locator(".prose")).to_have_count(0)
    expect(one.page.locator(".source").first).to_be_hidden()
    one.page.get_by_text(re.compile(r"^Nearest \d+ passages$")).click()
    expect(one.page.locator(".source").first).to_be_visible()
    expect(one.page.locator(".answer")).to_contain_text("No retrieved passage mentions")
    for bar in one.page.locator(".score").all():
        expect(bar).to_have_accessible_name(re.compile("too low for an answer"))
    one.check()


def test_an_answer_that_is_in_doubt_is_told_apart_from_one_that_is_not(window: Window, server: Server) -> None:
    question = "Who is the chief of the Lanternfish team's building?"
    told = server.client.post("/query", json={"question": question, "retriever": "traversal"}).json()
    assert 0.5 <= told["confidence"] < 0.75, "the question is one in doubt"
    one = window().open()
    one.ask(question)

    expect(one.page.locator(".answer")).to_contain_text("Related passages, possibly no answer")
    one.ask(OWNER)
    expect(one.page.locator(".answer")).not_to_contain_text("possibly no answer")


def test_a_few_searches_are_offered_by_what_they_are_for_and_conditions_in_words(window: Window) -> None:
    one = window().open()
    one.page.get_by_text("Options", exact=True).click()
    search = one.page.locator(".option-grid select").first

    first = search.locator("> option").all_text_contents()
    assert len(first) == 4
    assert first[0].startswith("Standard")
    assert search.locator("optgroup[label=Expert] > option").count() == 9
    conditions = one.page.get_by_label("Condition").locator("option").all_text_contents()
    assert conditions[:2] == ["is", "is not"]
    assert all(re.fullmatch("[a-z ]+", words) for words in conditions)


def test_the_start_tells_what_is_stored_and_asks_what_can_be_answered(window: Window, server: Server) -> None:
    counts = server.get("/overview")["counts"]
    one = window().open()
    start = one.page.locator(".start")
    expect(start).to_contain_text(f"{counts['documents']} documents, {counts['chunks']} passages and {counts['entities']}")
    examples = start.get_by_role("link").all_text_contents()
    assert len(examples) == 3

    for example in examples:
        told = server.client.post("/query", json={"question": example, "retriever": "traversal"}).json()
        assert told["confidence"] >= 0.75, example
        assert "“" not in example
    one.page.get_by_role("link", name=examples[0]).click()
    one.answered()
    assert one.page.get_by_label("Question", exact=True).input_value() == examples[0]


@pytest.mark.nightly
def test_examples_can_be_understood_where_they_stand(serve: Serve, window: Window, tmp_path: Path) -> None:
    said = "Odile Brandt paints the lamp room. Wen Abara opens the harbour gate. Piet Maas rings the bell."
    pages = {"Harbour Gate Guide": ["What is this gate for?", "Gate Guide", "Opening hours"], "Bell": ["Ringing at night"]}
    (tmp_path / "corpus").mkdir()
    for title, headings in pages.items():
        text = "".join(f"\n## {heading}\n\n{said}\n" for heading in headings)
        (tmp_path / "corpus" / f"{title}.md").write_text(f"# {title}\n{text}", encoding="utf-8")
    assert apart("--data", tmp_path / "data", "ingest", tmp_path / "corpus", cwd=tmp_path).code == 0
    one = window(server=serve("--open", demo=False)).open()

    examples = ["What does Bell say about ringing at night?", "What does Harbour Gate Guide say about opening hours?"]
    expect(one.page.locator(".start").get_by_role("link")).to_have_text(examples)


def test_an_answer_of_nothing_says_so(window: Window) -> None:
    one = window().open("#/ask?q=Who+leads+Tidewater%3F&where=namespace+%3D%3D+nowhere")
    one.answered()

    expect(one.page.locator(".answer")).to_contain_text("Nothing was found")
    expect(one.page.locator(".source")).to_have_count(0)


def test_a_follow_up_is_completed_from_the_question_before(window: Window) -> None:
    one = window().open()
    one.ask("What is Tidewater?")
    before = one.page.locator(".answer .prose").inner_text()
    one.page.get_by_role("link", name="Ask a follow-up").click()
    expect(one.page.get_by_label("Question", exact=True)).to_be_focused()
    expect(one.page.locator(".answer .prose")).to_have_text(before, use_inner_text=True)
    one.page.keyboard.type("And its owner?")
    one.page.keyboard.press("Enter")

    expect(one.page.locator(".answer")).to_contain_text("Searched for: ")
    expect(one.page.locator(".answer")).to_contain_text("Tidewater")
    expect(one.page.get_by_label("Question", exact=True)).to_be_focused()
    turn = one.page.locator(".turn")
    expect(turn).to_have_count(1)
    expect(turn.locator(".prose")).to_be_hidden()
    turn.get_by_text("What is Tidewater?").click()
    expect(turn.locator(".prose")).to_have_text(before, use_inner_text=True)
    one.check()

    one.page.get_by_role("link", name="Ask a follow-up").click()
    expect(turn).to_have_count(1)
    one.page.get_by_role("link", name="New question").first.click()
    expect(one.page.get_by_role("heading", level=1)).to_be_visible()
    expect(turn).to_have_count(0)


@pytest.mark.nightly
def test_what_is_pressed_in_a_narrow_window_is_large_enough(window: Window) -> None:
    one = window(width=360).open(f"#/ask?q={quote(OWNER)}&by=traversal&vs=bm25&where=file_type+!%3D+pdf")
    one.answered()
    for why in one.page.get_by_text("Why it was found").all():
        why.click()
    one.page.get_by_role("link", name="Ask a follow-up").click()
    one.ask("And where does it work?")
    one.page.locator(".turn summary").click()
    one.page.locator(".turn .prose").wait_for()

    small = one.page.evaluate(
        "() => [...document.querySelectorAll('main :is(a, button, summary, input, select, textarea)')]"
        ".filter(e => e.checkVisibility()).map(e => [e.outerHTML.slice(0, 120), e.getBoundingClientRect()])"
        ".filter(([_, box]) => box.height < 24 || box.width < 24).map(([html]) => html)"
    )
    assert small == []
    one.check()


@pytest.mark.nightly
def test_sources_with_one_title_are_told_apart_and_long_code_is_unfolded(
    serve: Serve, window: Window, tmp_path: Path
) -> None:
    code = "\n".join(f"harbour_gate_{n} = open_gate({n})" for n in range(30))
    told = {"north": "Odile Brandt opens the harbour gate at dawn.", "south": "At dusk Wen Abara closes the harbour gate."}
    for folder, text in told.items():
        (tmp_path / "corpus" / folder).mkdir(parents=True)
        page = f"# Gate Notes\n\n{text}\n\n```python\n# {folder}\n{code}\n```\n"
        (tmp_path / "corpus" / folder / "notes.md").write_text(page, encoding="utf-8")
    assert apart("--data", tmp_path / "data", "ingest", tmp_path / "corpus", cwd=tmp_path).code == 0
    served = serve("--open", demo=False)
    one = window(server=served, width=360).open()
    one.ask("Who opens and who closes the harbour gate?")
    names = set(one.page.locator(".file-name").all_text_contents())
    assert names == {"north/notes.md", "south/notes.md"}

    one.ask("Which code opens harbour_gate_7?")
    quoted = one.page.locator(".source", has=one.page.locator("pre")).first
    expect(quoted.locator("pre")).not_to_contain_text("harbour_gate_29")
    quoted.get_by_role("button", name="Show all").click()
    expect(quoted.locator("pre")).to_contain_text("harbour_gate_29")
    one.check()


@pytest.mark.nightly
def test_an_answer_is_copied_as_markdown_with_its_sources(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)
    one.button("Copy as Markdown").click()
    expect(one.text("Copied")).to_be_visible()

    copied = one.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"**{OWNER}**\n\n*Confidence ")
    assert "Extractive answer" not in copied
    assert "- [S1] Tidewater (tidewater.md, Ownership)" in copied
    assert "file://" not in copied
    one.ask("What is the capital of Peru?")
    one.button("Copy as Markdown").click()
    expect(one.text("Copied")).to_be_visible()
    assert "*Not found in these documents. Confidence" in one.page.evaluate("navigator.clipboard.readText()")


def test_an_answer_copied_at_once_waits_for_the_sections_of_its_sources(window: Window) -> None:
    one = window().open()
    held: list[Route] = []
    holding = True
    one.page.route(re.compile(r"/documents/[^/]+/text"), lambda route: held.append(route) if holding else route.continue_())
    one.ask(OWNER)
    one.button("Copy as Markdown").click()
    expect(one.text("Copied")).to_be_hidden()

    holding = False
    for route in held:
        route.continue_()
    expect(one.text("Copied")).to_be_visible()
    assert "- [S1] Tidewater (tidewater.md, Ownership)" in one.page.evaluate("navigator.clipboard.readText()")


FERRY = (
    "# Ferry Handbook\n\n## Boarding\n\n### Order of boarding\n\nThe ferry to Lanmoor takes on board in this order:\n\n"
    "- Carts with --live-fish go first.\n- Riders follow.\n- Walkers come last.\n"
)


@pytest.mark.nightly
def test_a_quoted_list_keeps_its_lines_and_names_its_section(window: Window, server: Server) -> None:
    sent = server.client.post("/documents", files={"file": ("ferry.md", FERRY)}).json()["document"]["id"]
    try:
        one = window(width=900).open()
        one.ask("In which order does the ferry to Lanmoor take on board?")
        source = one.page.locator(".source", has_text="Riders follow").first
        expect(source.locator(".place")).to_contain_text("ferry.md, Boarding › Order of boarding")
        lines = ["- Carts with --live-fish go first.", "- Riders follow.", "- Walkers come last."]
        quoted = one.page.locator(".prose p", has_text="Riders follow").inner_text().splitlines()
        assert [line for line in quoted if line.startswith("-")][:2] == lines[:2]
        assert one.page.locator(".prose .flag").first.inner_text() == "--live-fish"
        one.button("Copy as Markdown").click()
        expect(one.text("Copied")).to_be_visible()
        assert "\n".join(lines) in one.page.evaluate("navigator.clipboard.readText()")
    finally:
        server.client.delete(f"/documents/{sent}")


OPTIONS = (
    ".TH FERRY 1\n.SH NAME\nferry \\- moves carts to Lanmoor\n.SH OPTIONS\nThe options which apply to the ferry are:\n"
    ".TP\n\\fB\\-\\-departure\\fR \\fITIME\\fR\nSet the hour at which the ferry to Lanmoor departs from the quay.\n"
)


def test_a_source_that_the_answer_quotes_shows_more_of_it_than_what_leads_to_a_list(window: Window, server: Server) -> None:
    sent = server.client.post("/documents", files={"file": ("ferry.1", OPTIONS)}).json()["document"]["id"]
    try:
        one = window().open()
        one.ask("Which option sets the hour at which the ferry to Lanmoor departs?")
        quote = one.page.locator("blockquote.repeated", has_text="The options which apply").first
        seen = """e => {
            const nodes = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), range = document.createRange();
            while (!nodes.nextNode().data.includes("Set the hour"));
            range.setStart(nodes.currentNode, nodes.currentNode.data.indexOf("Set the hour"));
            return range.getClientRects()[0].bottom <= e.getBoundingClientRect().bottom + 1;
        }"""
        assert quote.evaluate(seen)
    finally:
        server.client.delete(f"/documents/{sent}")


# at which side of a paragraph a word of it stands
SIDE = """(e, word) => {
  const nodes = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
  while (!nodes.nextNode().data.includes(word));
  const range = document.createRange(), start = nodes.currentNode.data.indexOf(word), box = e.getBoundingClientRect();
  range.setStart(nodes.currentNode, start);
  range.setEnd(nodes.currentNode, start + word.length);
  return range.getBoundingClientRect().x > box.x + box.width / 2 ? "right" : "left";
}"""


def test_arabic_runs_from_right_to_left_where_it_is_quoted_and_read(window: Window, server: Server) -> None:
    said = "صممت المهندسة ليلى حداد المنارة."
    file = ("tower.md", f"# منارة الرمل\n\n{said}\n")
    sent = server.client.post("/documents", files={"file": file}).json()["document"]["id"]
    try:
        one = window().open()
        one.ask("من صمم المنارة؟")
        assert one.page.locator(".prose p", has_text=said).first.evaluate(SIDE, "صممت") == "right"
        one.open(f"#/document/{sent}")
        assert one.page.locator(".text .block", has_text=said).evaluate(SIDE, "صممت") == "right"
        one.page.wait_for_load_state("networkidle")
    finally:
        server.client.delete(f"/documents/{sent}")


FOCUSED = "document.activeElement.tagName + ' ' + document.activeElement.textContent.trim()"
FRAMED = "getComputedStyle(document.activeElement).outlineStyle"


def test_the_focus_goes_to_the_heading_of_a_view_and_back_to_the_source_one_left(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)
    link = one.page.locator(".source a.title").nth(1)
    href = link.get_attribute("href")
    title = link.inner_text()
    link.press("Enter")
    expect(one.page.get_by_role("heading", level=1)).to_be_focused()
    assert one.page.evaluate(FOCUSED) == f"H1 {title}"
    assert one.page.evaluate(FRAMED) == "none", "no key leads to a heading"
    one.page.locator("mark").first.wait_for()
    assert one.page.evaluate(FOCUSED) == f"H1 {title}", "what comes later takes no focus"
    one.page.keyboard.press("Tab")
    assert one.page.evaluate(FOCUSED).endswith("Back to the answer")
    assert one.page.evaluate(FRAMED) == "solid"
    one.page.keyboard.press("Enter")
    one.answered()
    one.page.wait_for_function("href => document.activeElement.getAttribute('href') === href", arg=href)

    for name in ("Documents", "Entities", "Overview"):
        one.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).press("Enter")
        expect(one.page.get_by_role("heading", level=1)).to_be_focused()
        assert one.page.evaluate(FOCUSED) == f"H1 {name}"
    one.page.go_back()
    expect(one.page.get_by_role("heading", level=1)).to_be_focused()


@pytest.mark.nightly
@pytest.mark.parametrize("width", [360, 1280])
def test_the_window_does_not_scroll_beyond_the_page(window: Window, width: int) -> None:
    one = window(width=width, height=700).open(f"#/ask?q={quote(OWNER)}")
    one.answered()
    one.page.mouse.move(60, 680)
    one.page.mouse.wheel(0, 5_000)
    one.page.keyboard.press("End")
    one.page.wait_for_timeout(200)
    assert one.page.evaluate("[scrollY, document.documentElement.scrollHeight]") == [0, 700]


@pytest.mark.nightly
def test_questions_of_the_session_are_kept_and_forgotten(window: Window) -> None:
    one = window().open()
    one.ask(OWNER)
    one.ask("What is Lanternfish?")
    one.page.get_by_role("link", name=OWNER).click()
    one.answered()
    assert one.page.get_by_label("Question", exact=True).input_value() == OWNER

    one.button("Clear").click()
    expect(one.page.get_by_role("link", name="What is Lanternfish?")).to_have_count(0)


@pytest.mark.nightly
def test_a_long_question_is_shortened_wherever_it_is_repeated_until_one_asks_for_all_of_it(window: Window) -> None:
    question = f"{OWNER} {'And is it the team in the old customs house by the harbour? ' * 40}THE-END"
    one = window().open()
    one.ask(question)
    past = one.page.get_by_role("region", name="Questions of this session")
    expect(past.get_by_role("link")).to_contain_text(OWNER)
    expect(past).not_to_contain_text("THE-END")
    past.get_by_role("button", name="Show all of it").click()
    expect(past.get_by_role("link")).to_contain_text("THE-END")
    past.get_by_role("button", name="Show less").click()
    expect(past).not_to_contain_text("THE-END")

    one.page.get_by_role("link", name="Ask a follow-up").click()
    expect(one.page.locator(".follow")).not_to_contain_text("THE-END")
    one.ask("And its owner?")
    turn = one.page.locator(".turn")
    expect(turn).not_to_contain_text("THE-END")
    turn.locator("summary").click()
    expect(turn.locator("summary")).to_contain_text("THE-END")

    one.open(f"#/graph?q={quote(question)}")
    head = one.page.locator(".graph-page > header")
    expect(head).to_contain_text(OWNER)
    expect(head).not_to_contain_text("THE-END")
    head.get_by_role("button", name="Show all of it").press("Enter")
    expect(head).to_contain_text("THE-END")


def test_a_document_is_read_by_its_outline_and_statements(window: Window, server: Server) -> None:
    document = document_of(server, "tidewater.md")
    one = window(width=1700).open(f"#/document/{document['id']}")
    one.page.get_by_role("button", name="Ownership", exact=True).click()
    expect(one.page.locator("mark")).to_have_text("Ownership")

    one.page.get_by_role("button", name="Tidewater is owned by the Heron Team.").click()
    assert marked(one) == "Tidewater is owned by the Heron Team."
    one.page.locator(".statement-facts").get_by_role("link", name="Heron Team").first.click()
    expect(one.page.get_by_role("heading", level=1)).to_have_text("Heron Team")


@pytest.mark.nightly
def test_documents_are_found_in_the_list(window: Window) -> None:
    one = window().open("#/documents")
    one.page.get_by_label("Namespace").fill("elsewhere")
    one.page.get_by_label("Namespace").press("Enter")
    expect(one.page.get_by_text("No matching documents.")).to_be_visible()
    one.page.get_by_label("Namespace").fill("")
    one.page.get_by_label("Find in the list").fill("nept dat")
    expect(one.page.get_by_text("1 document found")).to_be_visible()
    one.page.get_by_role("link", name="Neptune Database").click()
    expect(one.page.get_by_role("heading", level=1)).to_have_text("Neptune Database")


def test_what_is_typed_before_the_list_arrives_stays(window: Window) -> None:
    one = window().open()
    held: list[Route] = []
    one.page.route(re.compile(r"/documents\?"), lambda route: held.append(route) if not held else route.continue_())
    one.open("#/documents")
    one.page.get_by_label("Namespace").press_sequentially("else")
    held[0].continue_()
    expect(one.page.get_by_role("link", name="Neptune Database")).to_be_visible()
    expect(one.page.get_by_label("Namespace")).to_have_value("else")


def names(window: Explorer) -> list[str]:
    return window.page.locator(".virtual .document-row strong").all_text_contents()


@pytest.mark.nightly
def test_documents_are_sorted_by_their_columns(window: Window, server: Server) -> None:
    documents = server.get("/documents", limit=100)["documents"]
    one = window(height=1500).open("#/documents")
    one.page.get_by_role("button", name="Characters").click()
    expect(one.page.get_by_role("button", name="Characters ascending")).to_be_visible()
    by_size = sorted(documents, key=lambda d: d["characters"])
    assert names(one)[0] == by_size[0]["title"]
    one.page.get_by_role("button", name="Characters ascending").press("Enter")
    expect(one.page.locator(".virtual strong").first).to_have_text(by_size[-1]["title"])
    assert len(names(one)) == len(documents)
    one.page.get_by_role("button", name="Name", exact=True).click()
    expect(one.page.get_by_role("button", name="Name ascending")).to_be_visible()
    assert names(one) == sorted(names(one), key=str.casefold)
    one.check()
    narrow = window(width=360).open("#/documents")
    narrow.page.get_by_label("Sort by").select_option("-size")
    expect(narrow.page.locator(".virtual strong").first).to_have_text(by_size[-1]["title"])


@pytest.mark.nightly
@pytest.mark.parametrize("width", [840, 1024, 1600])
def test_long_names_keep_the_columns_of_the_list_and_are_read_whole_with_the_focus(
    window: Window, server: Server, width: int
) -> None:
    title, name = "Customs_of_the_harbour_of_Brackford" * 8, f"{'long-name-of-a-file-' * 9}.md"
    sending = {"file": (name, f"# {title}\n\nThe harbour has customs.\n")}
    reply = server.client.post("/documents", files=sending, data={"namespace": "name-space-" * 9})
    sent = reply.json()["document"]["id"]
    try:
        one = window(width=width, height=1500).open("#/documents?sort=-name")
        row = one.page.locator(f".document-row[href*='{sent}']")
        row.wait_for()
        lefts = "all => all.map(r => [...r.querySelectorAll('.name, .size, .date')].map(c => c.offsetLeft))"
        places = one.page.locator("a.document-row").evaluate_all(lefts)
        assert all(place == pytest.approx(places[0], abs=1) for place in places)
        shown = row.locator("strong")
        assert shown.evaluate("s => s.clientWidth > 150 && s.scrollWidth > s.clientWidth")
        assert row.locator(".name").get_attribute("title") == f"{title}\n{server.get(f'/documents/{sent}')['uri']}"
        one.check()
        row.focus()
        assert shown.evaluate("s => s.scrollWidth <= s.clientWidth")
        assert row.evaluate("r => r.offsetHeight") > shown.evaluate("s => s.offsetHeight") > 40
        row.press("Enter")
        one.button("Delete").click()
        assert one.page.get_by_role("dialog").evaluate("d => d.scrollWidth <= d.clientWidth")
        one.button("Cancel").click()
        one.open("#/documents?sort=-name")  # the page of a document asks for more of it, which is not to be gone meanwhile
        row.wait_for()
    finally:
        server.client.delete(f"/documents/{sent}")


def test_figures_of_the_overview_lead_to_what_they_count(window: Window, server: Server) -> None:
    documents = server.get("/documents", limit=100)["documents"]
    wanted = sum(d["metadata"].get("file_type") == "md" for d in documents)
    one = window().open("#/overview")
    one.page.get_by_role("link", name="md", exact=True).click()
    expect(one.page.get_by_text(f"{wanted} of {len(documents)} shown")).to_be_visible()
    one.button("Show all again: remove Type: md").click()
    expect(one.page.get_by_text(f"{len(documents)} documents")).to_be_visible()


def test_an_address_that_leads_nowhere_says_so_and_leads_on(window: Window) -> None:
    one = window().open("#/nonsense")
    expect(one.page.get_by_role("heading", level=1)).to_have_text("This page does not exist")
    assert one.page.title() == "This page does not exist · Lexigraph"
    one.page.get_by_role("main").get_by_role("link", name="Documents", exact=True).click()
    expect(one.page.get_by_role("heading", level=1)).to_have_text("Documents")
    for address, told in (
        (f"document/source:{'0' * 32}", "This document does not exist"),
        ("document/source:nope", "This document does not exist"),
        ("entity/nope", "This entity does not exist"),
    ):
        one.open("#/settings").open(f"#/{address}")
        expect(one.page.get_by_role("heading", level=1)).to_have_text(told)
        expect(one.page.get_by_role("alert")).to_have_count(0)
    one.expect_failed_requests()


@pytest.mark.nightly
def test_a_document_leads_back_to_the_answer_and_keeps_its_title_in_sight(window: Window, server: Server) -> None:
    one = window(height=600).open()
    one.ask(OWNER)
    answer = one.page.url
    one.page.locator(".source a.title").first.click()
    marked(one)
    one.page.locator(".statement-link").last.click()  # another place of the same document
    one.page.evaluate("document.querySelector('main').scrollTop = 1e6")
    name = one.page.locator(".document-name")
    expect(name).to_be_visible()
    expect(name).to_be_in_viewport()
    one.check()
    one.page.get_by_role("link", name="Back to the answer").click()
    one.answered()
    assert one.page.url == answer
    one.open("#/documents?find=tidewater").page.get_by_role("link", name="Tidewater").first.click()
    expect(one.page.get_by_role("link", name="Back to the list")).to_be_visible()


def test_the_names_of_files_are_written_as_people_do_also_where_a_list_is_pointed_at(window: Window, server: Server) -> None:
    file = ("my report ü 100%.txt", "The Copper Kettle belongs to Anna Weber.")
    sent = server.client.post("/documents", files={"file": file}, timeout=120).json()["document"]["id"]
    try:
        one = window().open("#/documents?find=my")
        name = one.page.locator(f"a[href='#/document/{sent}'] .name")
        expect(name).to_have_attribute("title", re.compile(r"/my report ü 100%\.txt$"))
        expect(name).to_contain_text("my report ü 100%.txt")
        one.check()
    finally:
        server.client.delete(f"/documents/{sent}")


CODE = (
    "# Otter\n\nThe otter script:\n\n```python\nif otter:\n    swim(river)\n```\n\n"
    "| Otter | River |\n|---|---|\n| Mila | Oder |\n"
)


def test_code_is_shown_in_one_width_and_tables_in_rows(window: Window, server: Server) -> None:
    sent = server.client.post("/documents", files={"file": ("otter.md", CODE)}).json()["document"]["id"]
    try:
        one = window().open(f"#/document/{sent}")
        code = one.page.locator(".text code")
        expect(code).to_have_text("if otter:\n    swim(river)")
        assert "mono" in code.evaluate("e => getComputedStyle(e).fontFamily").lower()
        expect(one.page.locator(".text .table-row")).to_contain_text(["Mila"])
        told = server.get(f"/documents/{sent}/text")
        assert one.page.locator(".text").evaluate("e => e.textContent") == told["text"]
        one.check()
    finally:
        server.client.delete(f"/documents/{sent}")


def test_the_pages_of_a_pdf_are_shown_beside_its_text(window: Window, server: Server) -> None:
    document = document_of(server, "marigold-outage.pdf")
    one = window().open(f"#/document/{document['id']}")
    one.button("Original pages").click()
    one.page.locator("input[type=file]").set_input_files(Path(__file__).parents[2] / "examples/corpus/marigold-outage.pdf")

    expect(one.page.get_by_text("Page 1 of")).to_be_visible()
    one.page.wait_for_function(INK)


def test_the_evidence_of_a_question_is_seen_opened_found_and_exported(window: Window, tmp_path: Path) -> None:
    one = window(width=1500).open(f"#/ask?q={quote(OWNER)}&by=hybrid")
    one.answered()
    one.page.get_by_role("main").get_by_role("link", name="Evidence graph").click()
    counts = one.page.locator(".counts")
    expect(counts).to_contain_text("nodes shown")
    first = counts.inner_text()
    one.page.get_by_role("region", name="Entities").get_by_role("button", name="Heron Team").first.click()
    selected = one.page.get_by_role("region", name="Selected")
    selected.get_by_role("button", name="Show its neighbours").click()
    expect(selected).to_contain_text("added")
    expect(counts).to_have_text(re.compile(re.escape(first) + r", \d+ opened"))
    one.button("More evidence").click()
    expect(counts).to_have_text(re.compile(r"^(4\d|50) of \d+ nodes shown$"))
    more = counts.inner_text()
    one.page.reload()
    expect(counts).to_have_text(more)

    one.page.get_by_label("Find in the graph").fill("heron team")
    one.page.get_by_label("Find in the graph").press("Enter")
    expect(selected).to_contain_text("Heron Team")
    one.page.get_by_label("Find in the graph").fill("")

    expect(one.button("PNG")).to_have_text("PNG")
    assert one.page.locator(".canvas-tools").evaluate("tools => tools.scrollWidth <= tools.clientWidth")
    with one.page.expect_download() as png:
        one.button("PNG").click()
    assert Path(png.value.path()).read_bytes().startswith(b"\x89PNG")
    with one.page.expect_download() as exported:
        one.button("JSON").click()
    told = json.loads(Path(exported.value.path()).read_text(encoding="utf-8"))
    assert told["question"] == OWNER
    ids = {node["id"] for node in told["nodes"]}
    assert all(edge["from"] in ids and edge["to"] in ids for edge in told["edges"])


@pytest.mark.nightly
def test_the_evidence_graph_has_what_the_answer_cites_also_where_it_is_opened_by_a_link(window: Window) -> None:
    one = window(width=1500).open()
    one.ask("Who leads the team that owns Tidewater?")
    cited = sorted(set(one.page.locator(".prose .cite").all_text_contents()))
    assert len(cited) > 3
    one.page.get_by_role("main").get_by_role("link", name="Evidence graph").click()
    labels = one.page.get_by_role("region", name="Statements").locator(".badge")
    expect(labels).to_have_text(cited)

    other = window(width=1500).open(one.page.url.split("/explorer/")[1])
    expect(other.page.get_by_role("region", name="Statements").locator(".badge")).to_have_text(cited)


@pytest.mark.nightly
def test_what_all_begin_with_is_left_out_of_the_graph_where_there_is_little_room(window: Window) -> None:
    asked = "What+are+the+steps+of+the+Nightjar+Runbook%3F"
    one = window(width=1500).open(f"#/graph?q={asked}&where=title+%3D%3D+Nightjar+Runbook")
    steps = one.page.get_by_role("region", name="Statements").locator(".node-label", has_text=re.compile(r"^[1-5]\. "))
    expect(steps).to_have_count(5)
    steps.first.click()
    expect(one.page.get_by_role("region", name="Selected").locator(".node-text")).to_contain_text("Steps: ")
    # of one document: its title tells none from another
    passages = one.page.get_by_role("region", name="Passages").get_by_role("button").all_text_contents()
    assert passages
    assert not any("Nightjar Runbook ·" in said or "· Nightjar Runbook" in said for said in passages)


@pytest.mark.nightly
def test_a_layer_with_topics_says_so(window: Window) -> None:
    one = window(width=1500).open(f"#/graph?q={quote(OWNER)}&by=topic")
    expect(one.page.get_by_role("region", name="Passages, topics")).to_be_visible()


@pytest.mark.nightly
def test_the_evidence_graph_is_walked_by_keyboard(window: Window) -> None:
    one = window(width=1500).open("#/graph?q=Who+leads+the+team+that+owns+Tidewater%3F&by=hybrid")
    frame = one.page.get_by_role("application")
    one.page.locator(".graph-canvas canvas").first.wait_for()  # before, no node has a place
    frame.focus()
    selected = one.page.get_by_role("region", name="Selected")
    frame.press("ArrowDown")
    told = selected.locator(".node-text").first
    expect(told).to_have_text(OWNER)
    frame.press("ArrowRight")
    expect(told).not_to_have_text(OWNER)
    before = one.page.locator(".counts").inner_text()
    frame.press("ArrowRight")
    frame.press("Enter")
    expect(selected).to_contain_text("added")
    assert one.page.locator(".counts").inner_text() != before


@pytest.mark.nightly
def test_a_passage_of_the_graph_opens_where_it_stands(window: Window, server: Server) -> None:
    asked = {"question": OWNER, "evidence": True, "evidence_limit": 24}
    nodes = server.client.post("/retrieve/traversal", json=asked).json()["evidence"]["nodes"]
    passage = max((n for n in nodes if n["kind"] == "chunk"), key=lambda n: n["start"])
    assert passage["start"] > 0
    one = window(width=1500).open(f"#/graph?q={OWNER.replace(' ', '+')}&at={passage['id']}")
    one.page.get_by_role("region", name="Selected").get_by_role("link", name="Open").click()

    reply = server.get(
        f"/documents/{passage['document_id']}/text", start=passage["start"], limit=passage["end"] - passage["start"]
    )
    words = " ".join(reply["text"].split())
    assert " ".join(marked(one).split()) in words
    expect(one.page.locator("mark").first).to_be_in_viewport()


@pytest.mark.nightly
def test_the_graph_fits_on_both_axes_and_zooming_keeps_what_is_selected(window: Window) -> None:
    one = window(width=1100, height=700).open(f"#/graph?q={OWNER.replace(' ', '+')}")
    frame = one.page.get_by_role("application")
    one.page.locator(".graph-canvas canvas").first.wait_for()
    one.page.wait_for_function(f"() => ({DRAWN})().accent > 0")
    assert one.page.evaluate(DRAWN)["edge"] == 0
    frame.press("ArrowDown")  # the question, at the left
    before = one.page.evaluate(DRAWN)["accent"]
    for _ in range(6):
        frame.press("+")
    one.page.wait_for_function(f"() => ({DRAWN})().edge > 0")
    assert one.page.evaluate(DRAWN)["accent"] > before
    frame.press("0")
    one.page.wait_for_function(f"() => ({DRAWN})().edge === 0")


# Of what is drawn: the boxes of nodes, and of the words at lines
BOXES = """() => {
    const cy = document.querySelector(".graph-canvas")._cyreg.cy;
    const box = (e, what) => { const b = e.boundingBox(what); return [b.x1 + 4, b.y1 + 4, b.x2 - 4, b.y2 - 4] };
    const said = cy.edges().filter(e => e.style("label"));
    return {
        nodes: cy.nodes().map(n => box(n, { includeEdges: false })),
        words: said.map(e => box(e, { includeNodes: false, includeEdges: false })),
        said: said.map(e => e.style("label")),
    };
}"""
LINE = """() => {
    const cy = document.querySelector(".graph-canvas")._cyreg.cy;
    const edge = cy.edges(".leads_to").filter(e => e.connectedNodes(".selected").length && !e.style("label")).first();
    const { x, y } = edge.renderedMidpoint();
    const frame = document.querySelector(".graph-canvas").getBoundingClientRect();
    return { x: frame.x + x, y: frame.y + y };
}"""


@pytest.mark.nightly
def test_words_at_lines_of_the_graph_cover_nothing_and_those_left_out_are_shown_of_a_line_pointed_at(
    window: Window, server: Server
) -> None:
    one = window(width=1500).open(f"#/graph?q={quote(OWNER)}")
    one.page.locator(".graph-canvas canvas").first.wait_for()
    one.page.get_by_role("region", name="Entities").get_by_role("button").first.click()
    one.page.get_by_role("region", name="Selected").wait_for()
    clear(one)

    before = len(one.page.evaluate(BOXES)["said"])
    at = one.page.evaluate(LINE)
    one.page.mouse.move(at["x"], at["y"])
    one.page.wait_for_function(f"before => ({BOXES})().said.length > before", arg=before)
    one.page.mouse.move(0, 0)
    one.page.wait_for_function(f"before => ({BOXES})().said.length === before", arg=before)

    entity = server.get("/entities", q="heron team")["entities"][0]["id"]
    one.open(f"#/graph?around={entity}")
    one.page.locator(".graph-canvas canvas").first.wait_for()
    one.page.wait_for_function(f"() => ({BOXES})().said.includes('is owned by')")
    clear(one)


def clear(one: Explorer) -> None:
    """Fail where words at a line cover a node or other words."""
    drawn = one.page.evaluate(BOXES)
    for i, (left, top, right, bottom) in enumerate(drawn["words"]):
        for x1, y1, x2, y2 in [*drawn["nodes"], *drawn["words"][:i]]:
            assert right <= x1 or x2 <= left or bottom <= y1 or y2 <= top, drawn["said"][i]


@pytest.mark.nightly
def test_the_tools_of_the_graph_stand_in_one_line_where_there_is_room_for_it(window: Window) -> None:
    one = window(width=1024).open(f"#/graph?q={quote(OWNER)}")
    one.page.get_by_label("Find in the graph").fill("tidewater")
    tools = [one.page.get_by_label("Find in the graph"), *(one.button(name) for name in ("Picture", "List", "JSON"))]
    tops = [tool.evaluate("e => e.getBoundingClientRect().top") for tool in tools]
    assert max(tops) - min(tops) < 4


@pytest.mark.nightly
def test_an_entity_is_drawn_among_those_named_together_with_it(window: Window, server: Server) -> None:
    entity = server.get("/entities", q="heron team")["entities"][0]["id"]
    beside = server.get(f"/entities/{entity}/neighbours")
    one = window(width=1500).open(f"#/entity/{entity}")
    one.page.get_by_role("link", name="Graph around it").click()

    expect(one.page.get_by_role("heading", level=1)).to_have_text("Around Heron Team")
    total = beside["total"] + 1
    expect(one.page.locator(".counts")).to_have_text(f"{total} of {total} nodes shown")
    ring = one.page.get_by_role("region", name="Named together with it")
    assert ring.get_by_role("button").count() == beside["total"]
    ring.get_by_role("button", name="Tidewater").click()
    selected = one.page.get_by_role("region", name="Selected")
    selected.get_by_text("Connected with").click()
    expect(selected.get_by_role("button", name="is owned by → Heron Team")).to_be_visible()
    selected.get_by_role("button", name="Show its neighbours").click()
    expect(selected).to_contain_text("added")
    expect(one.page.get_by_role("region", name="A step further")).to_be_visible()


def test_entities_begin_with_those_that_most_documents_name(window: Window, server: Server) -> None:
    told = server.get("/entities")["entities"]
    one = window().open("#/entities")
    expect(one.page.get_by_role("heading", name="Named in most documents")).to_be_visible()
    assert one.page.locator(".entity-list strong").all_text_contents() == [e["name"] for e in told]
    assert [e["documents"] for e in told] == sorted((e["documents"] for e in told), reverse=True)
    one.page.get_by_label("Name").fill("heron")
    expect(one.page.get_by_role("heading", name="Named in most documents")).to_have_count(0)


@pytest.mark.nightly
def test_an_entity_is_found_as_one_types_and_told_by_source(window: Window) -> None:
    one = window().open("#/entities")
    one.page.get_by_label("Name").press_sequentially("heron")
    one.page.get_by_role("link", name="Heron Team").first.click()

    expect(one.page.get_by_role("heading", level=1)).to_have_text("Heron Team")
    expect(one.page.locator(".said")).to_contain_text("Tidewater is owned by the Heron Team.")
    expect(one.page.locator(".neighbours")).to_contain_text("Tidewater")
    expect(one.page.get_by_role("region", name="Facts")).to_contain_text("Tidewater is owned by Heron Team")
    one.page.locator(".said").get_by_role("link", name="Tidewater is owned by the Heron Team.").first.click()
    assert marked(one) == "Tidewater is owned by the Heron Team."


SEALS = (
    "# Harbour Seals\n\nThe CA signs every seal of the harbour. Each ship asks the CA for a seal.\n\n"
    "The Calder Lighthouse is kept by Calla Brandt. The Calder Lighthouse has a CA of its own.\n"
)


def test_a_letter_or_two_find_names_and_the_one_that_is_typed_whole_comes_first(window: Window, server: Server) -> None:
    sent = server.client.post("/documents", files={"file": ("seals.md", SEALS)}).json()["document"]["id"]
    try:
        one = window().open("#/entities")
        found = one.page.locator(".entity-list strong")
        one.page.get_by_label("Name").press_sequentially("c")
        expect(found.filter(has_text="Calder Lighthouse")).to_be_visible()
        one.page.get_by_label("Name").press_sequentially("a")
        expect(found.first).to_have_text("CA")
        expect(found.filter(has_text="Calder Lighthouse")).to_be_visible()
    finally:
        server.client.delete(f"/documents/{sent}")


def test_the_overview_tells_what_is_stored_and_works(window: Window) -> None:
    one = window().open("#/overview")

    figures = one.page.locator(".figures")
    expect(figures).to_contain_text("19")
    expect(figures).to_contain_text("Statements")
    assert all(meaning for meaning in figures.locator(".meaning").all_text_contents()), "each word is explained"
    expect(one.page.get_by_role("img", name="Working").first).to_be_visible()
    edges = "f => [f, f.lastElementChild].map(e => e.getBoundingClientRect().right)"
    for width in (1024, 720, 390):
        one.page.set_viewport_size({"width": width, "height": 900})
        right, last = figures.evaluate(edges)
        assert last == pytest.approx(right, abs=2), "no row of them has a gap"


VIEWS = [
    "",
    "#/ask?q=Who+leads+the+team+that+owns+Tidewater%3F",
    "#/documents",
    "#/graph?q=Who+owns+Tidewater%3F",
    "#/entities?q=heron",
    "#/ingest",
    "#/overview",
    "#/settings",
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(360, False, id="360-light"),
        pytest.param(2560, True, id="2560-dark"),
        pytest.param(360, True, id="360-dark", marks=pytest.mark.soak),
        pytest.param(2560, False, id="2560-light", marks=pytest.mark.soak),
    ],
)
def test_every_view_fits_and_is_accessible(window: Window, server: Server, width: int, dark: bool) -> None:
    one = window(width=width, height=900, dark=dark)
    document = document_of(server, "tidewater.md")["id"]
    entity = server.get("/entities", q="heron team")["entities"][0]["id"]
    for address in (*VIEWS, f"#/document/{document}?at=620-657", f"#/entity/{entity}", f"#/graph?around={entity}"):
        one.open(address)
        one.page.locator("h1").first.wait_for(state="attached")
        expect(one.page.locator(".loading")).to_have_count(0)
        one.check()


@pytest.mark.nightly
def test_a_question_is_asked_and_its_source_read_by_keyboard_alone(window: Window) -> None:
    one = window().open()
    one.page.keyboard.type(OWNER)  # the question has the focus from the beginning
    one.page.keyboard.press("Enter")
    one.answered()
    for _ in range(40):
        one.page.keyboard.press("Tab")
        if one.page.evaluate("document.activeElement.classList.contains('cite')"):
            break
    outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    one.page.keyboard.press("Enter")
    expect(one.page.locator(".source.lit")).to_be_focused()
    one.page.keyboard.press("Tab")
    one.page.keyboard.press("Enter")

    assert marked(one) == "Tidewater is owned by the Heron Team."


def test_the_first_load_is_small_and_asks_nobody_else(window: Window, server: Server) -> None:
    one = window()
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    one.open()
    expect(one.page.get_by_role("heading", level=1)).to_be_visible()

    assert all(url.startswith(server.url) for url in asked)
    loaded = [url for url in asked if "/explorer/" in url]
    assert len(loaded) >= 3
    assert sum(len(gzip.compress(server.client.get(url).content)) for url in loaded) < 150_000
