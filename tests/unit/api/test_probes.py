"""Whether services are there: asked seldom, never waited for long, and asked again after a failure."""

from collections.abc import Callable
from threading import Event

import pytest

from lexigraph.api.probes import Probes
from lexigraph.model.errors import ModelUnavailable


class Service:
    def __init__(self) -> None:
        self.asked = 0
        self.fails = False

    def __call__(self) -> str:
        self.asked += 1
        if self.fails:
            raise ModelUnavailable("away")
        return "here"


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def ask(now: list[float]) -> Callable[[Service], str | None]:
    probes = Probes(remembered=10.0, clock=lambda: now[0])
    return lambda service: probes.ask("service", service, 5.0)


def test_an_answer_is_remembered_for_some_seconds(ask: Callable[[Service], str | None], now: list[float]) -> None:
    service = Service()
    assert [ask(service), ask(service), service.asked] == ["here", "here", 1]
    now[0] = 10.0
    assert [ask(service), service.asked] == ["here", 2]


def test_a_failure_is_not_remembered(ask: Callable[[Service], str | None]) -> None:
    service = Service()
    service.fails = True
    with pytest.raises(ModelUnavailable):
        ask(service)
    service.fails = False
    assert ask(service) == "here"


def test_what_does_not_answer_in_time_is_unknown_and_not_asked_twice() -> None:
    probes, answers, asked = Probes(), Event(), []

    def slow() -> str:
        asked.append(1)
        answers.wait(30)
        return "here"

    assert [probes.ask("slow", slow, 0.01) for _ in range(3)] == [None, None, None]
    answers.set()
    assert probes.ask("slow", slow, 30.0) == "here"
    assert len(asked) == 1
