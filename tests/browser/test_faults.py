"""What goes wrong on the way: a server that is gone and comes back, and a stream that breaks."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.explorer import Explorer, Server, demo_data
from tests.standins.llm_server import Reply, ScriptedLLMServer

Window = Callable[..., Explorer]


@pytest.fixture
def fragile(tmp_path: Path, shared: Path) -> Iterator[Server]:
    """A server that may be killed."""
    demo_data(tmp_path, shared)
    served = Server(tmp_path, 0, "--open")
    yield served
    served.close()


def test_a_server_that_is_gone_is_told_and_what_was_asked_is_shown_when_it_is_back(window: Window, fragile: Server) -> None:
    one = window(server=fragile).open()
    one.expect_failed_requests()
    one.ask("What is Tidewater?")
    fragile.kill()
    one.page.get_by_role("link", name="Documents", exact=True).click()
    expect(one.text("The server does not answer. Trying again")).to_be_visible()
    one.check()

    fragile.again()
    expect(one.page.get_by_role("link", name="Tidewater")).to_be_visible()
    expect(one.text("The server does not answer. Trying again")).to_have_count(0)


def test_a_question_asked_while_the_server_is_gone_is_answered_when_it_is_back(window: Window, fragile: Server) -> None:
    one = window(server=fragile).open()
    one.expect_failed_requests()
    expect(one.button("Ask")).to_be_visible()
    fragile.kill()
    box = one.page.get_by_label("Question", exact=True)
    box.fill("Who owns Tidewater?")
    box.press("Enter")
    expect(one.text("Server not reachable")).to_be_visible()

    fragile.again()
    expect(one.page.locator(".prose")).to_contain_text("Heron Team")


def test_a_graph_whose_code_does_not_come_says_so_and_keeps_its_list(window: Window) -> None:
    one = window(width=1500).open()
    one.expect_failed_requests()
    held: list[Route] = []
    one.page.route(re.compile(r"/canvas-[^/]+\.js"), lambda route: held.append(route))
    one.open("#/graph?q=Who+owns+Tidewater%3F")
    waits = one.page.locator(".canvas-wait")
    expect(waits).to_contain_text("Loading")
    held[0].abort()
    expect(waits.get_by_role("alert")).to_contain_text("The picture could not be loaded")
    one.button("List").click()
    expect(one.page.get_by_role("main")).to_contain_text("Heron Team")


def test_a_stream_that_breaks_is_told_and_can_be_asked_for_again(window: Window, tmp_path: Path, shared: Path) -> None:
    demo_data(tmp_path, shared)
    slow = [True]

    def script(_: object) -> Reply:
        return Reply("The Heron Team owns it [S1].", pause=20.0 if slow[0] else 0.0)

    with ScriptedLLMServer(script) as model:
        options = f'{{"base_url": "{model.base_url}"}}'
        served = Server(tmp_path, 0, "--open", LEXIGRAPH_LLM="openai:any", LEXIGRAPH_LLM_OPTIONS=options)
        try:
            one = window(server=served).open()
            one.expect_failed_requests()
            box = one.page.get_by_label("Question", exact=True)
            box.fill("Who owns Tidewater?")
            box.press("Enter")
            expect(one.page.locator(".prose")).to_contain_text("The")
            served.kill()
            expect(one.page.get_by_role("alert")).to_contain_text("Answer interrupted")
            expect(one.page.locator(".prose")).to_contain_text("The")
            one.check()

            slow[0] = False
            served.again()
            one.button("Try again").click()
            expect(one.page.locator(".prose")).to_contain_text("The Heron Team owns it")
            expect(one.page.locator(".cite")).to_have_text("S1")
        finally:
            served.close()


def test_a_question_can_be_stopped(window: Window, tmp_path: Path, shared: Path) -> None:
    demo_data(tmp_path, shared)
    with ScriptedLLMServer(lambda _: Reply("It is late.", pause=20.0)) as model:
        options = f'{{"base_url": "{model.base_url}"}}'
        served = Server(tmp_path, 0, "--open", LEXIGRAPH_LLM="openai:any", LEXIGRAPH_LLM_OPTIONS=options)
        try:
            one = window(server=served).open()
            box = one.page.get_by_label("Question", exact=True)
            box.fill("Who owns Tidewater?")
            box.press("Enter")
            expect(one.page.locator(".prose")).to_contain_text("It")
            one.button("Stop").click()
            expect(one.button("Ask")).to_be_visible()
            expect(one.text("Writing")).to_have_count(0)
        finally:
            served.kill()  # the model still speaks: asked to end, it would wait for that
            served.close()
