"""What goes wrong on the way: a server that is gone and comes back, and a stream that breaks."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.explorer import Serve, Window
from tests.standins.llm_server import Reply

pytestmark = pytest.mark.nightly


def test_a_server_that_is_gone_is_told_and_what_was_asked_is_shown_when_it_is_back(serve: Serve, window: Window) -> None:
    fragile = serve("--open")
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


def test_a_start_page_whose_figures_do_not_come_says_so_and_asks_again(window: Window) -> None:
    one = window()
    one.expect_failed_requests()
    held: list[Route] = []
    holding = True
    one.page.route("**/overview", lambda route: held.append(route) if holding else route.continue_())
    with one.page.expect_event("request", lambda request: request.url.endswith("/overview")):
        one.open()
    main = one.page.get_by_role("main")
    expect(main).to_contain_text("Loading")
    while not held:  # the request is told of before it can be held
        one.page.wait_for_timeout(20)
    holding = False
    held[0].fulfill(status=503, json={"error": "store_unavailable", "message": "the graph does not answer"})
    expect(main.get_by_role("alert")).to_contain_text("A store is unavailable")
    one.check()
    one.button("Try again").click()
    expect(main).to_contain_text("are stored")


def test_a_question_asked_while_the_server_is_gone_is_answered_when_it_is_back(serve: Serve, window: Window) -> None:
    fragile = serve("--open")
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
    with one.page.expect_event("request", lambda request: "/canvas-" in request.url):
        one.open("#/graph?q=Who+owns+Tidewater%3F")
    waits = one.page.locator(".canvas-wait")
    expect(waits).to_contain_text("Loading")
    while not held:  # the request is told of before it can be held
        one.page.wait_for_timeout(20)
    held[0].abort()
    expect(waits.get_by_role("alert")).to_contain_text("The picture could not be loaded")
    one.button("List").click()
    expect(one.page.get_by_role("main")).to_contain_text("Heron Team")


def test_a_stream_that_breaks_is_told_and_can_be_asked_for_again(serve: Serve, window: Window) -> None:
    slow = [True]
    served = serve("--open", says=lambda _: Reply("The Heron Team owns it [S1].", pause=20.0 if slow[0] else 0.0))
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


def test_a_question_can_be_stopped(serve: Serve, window: Window) -> None:
    served = serve("--open", says=lambda _: Reply("It is late.", pause=20.0))
    one = window(server=served).open()
    box = one.page.get_by_label("Question", exact=True)
    box.fill("Who owns Tidewater?")
    box.press("Enter")
    expect(one.page.locator(".prose")).to_contain_text("It")
    one.button("Stop").click()
    expect(one.button("Ask")).to_be_visible()
    expect(one.text("Writing")).to_have_count(0)
    served.kill()  # the model still speaks: asked to end, it would wait for that
