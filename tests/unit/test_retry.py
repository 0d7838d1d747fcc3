"""Trying again: how often, how long, and what is not tried again."""

import logging

import pytest

from lexigraph.retry import Retry


class Busy(Exception):
    pass


class TooMuch(Exception):
    pass


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)

    def retry(self, draw: float = 1.0, **settings: float) -> Retry:
        return Retry(sleep=self.sleep, draw=lambda: draw, clock=lambda: self.now, **settings)


def failing(times: int, calls: list[int]):
    def action() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise Busy(f"try {len(calls)}")
        return "done"

    return action


def test_a_busy_model_is_asked_again_until_it_answers():
    clock, calls = Clock(), []
    assert clock.retry().call(failing(3, calls), lambda _: 0.0, "model") == "done"
    assert clock.slept == [0.5, 1.0, 2.0]


def test_jitter_draws_the_whole_range_from_zero_to_the_bound():
    for draw in (0.0, 0.25, 1.0):
        clock = Clock()
        clock.retry(draw=draw).call(failing(3, []), lambda _: 0.0, "model")
        assert clock.slept == [draw * 0.5, draw * 1.0, draw * 2.0]


def test_waits_stop_growing_at_the_cap():
    clock = Clock()
    clock.retry(attempts=9, cap=4.0).call(failing(7, []), lambda _: 0.0, "model")
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]


def test_the_last_error_comes_out_when_the_attempts_are_used_up():
    clock, calls = Clock(), []
    with pytest.raises(Busy, match="try 4"):
        clock.retry(attempts=4).call(failing(99, calls), lambda _: 0.0, "model")
    assert len(calls) == 4


def test_an_error_that_will_not_pass_is_raised_at_once():
    clock, calls = Clock(), []
    with pytest.raises(Busy):
        clock.retry().call(failing(1, calls), lambda _: None, "model")
    assert (len(calls), clock.slept) == (1, [])


def test_what_the_server_asks_to_wait_is_the_least_and_jitter_comes_on_top():
    clock = Clock()
    clock.retry(draw=0.5).call(failing(2, []), lambda _: 7.0, "model")
    assert clock.slept == [7.25, 7.5]


def test_no_try_begins_after_the_time_is_up():
    clock, calls = Clock(), []
    with pytest.raises(Busy, match="try 3"):
        clock.retry(attempts=20, seconds=3.0).call(failing(99, calls), lambda _: 0.0, "model")
    assert clock.now == 1.5


def test_the_same_numbers_are_drawn_for_who_repeats_himself():
    clock = Clock()
    assert list(clock.retry(attempts=4, base=0.1, cap=0.2).begin()) == [1, 2, 3, 4]
    assert clock.slept == [0.1, 0.2, 0.2]
    assert list(clock.retry(attempts=99, seconds=1.0).begin()) == [1, 2]


def test_a_try_is_told_how_much_of_the_time_is_left():
    clock, calls = Clock(), []
    tries, left = clock.retry(seconds=10.0, base=2.0).begin(), []

    def action() -> str:
        left.append(tries.left)
        return failing_twice()

    failing_twice = failing(2, calls)
    assert tries.call(action, lambda _: 0.0, "query") == "done"
    assert left == [10.0, 8.0, 4.0]


def test_what_asks_for_less_begins_anew_at_once_and_with_a_budget_of_its_own():
    clock, size, asked = Clock(), 8, []

    def action() -> int:
        asked.append((size, tries.left))
        clock.now += 1.0
        if size > 2:
            raise TooMuch
        if len(asked) < 5:
            raise Busy
        return size

    def shrink(error: Exception) -> bool:
        nonlocal size
        size //= 2 if isinstance(error, TooMuch) else 1
        return isinstance(error, TooMuch)

    tries = clock.retry(attempts=3, seconds=9.0, base=1.0).begin()
    assert tries.call(action, lambda _: 0.0, "batch", shrink=shrink) == 2
    assert asked == [(8, 9.0), (4, 9.0), (2, 9.0), (2, 7.0), (2, 4.0)]
    assert clock.slept == [1.0, 2.0]


def test_a_shrunken_request_has_as_many_tries_as_any():
    clock, calls = Clock(), []
    with pytest.raises(Busy, match="try 4"):
        clock.retry(attempts=3).begin().call(failing(9, calls), lambda _: 0.0, "batch", shrink=lambda _: len(calls) == 1)


def test_the_log_names_the_request_and_the_kind_of_error_and_repeats_no_text(caplog):
    caplog.set_level(logging.INFO, "lexigraph")
    clock, named = Clock(), {"kind": lambda _: "Throttled"}
    clock.retry().call(failing(1, []), lambda _: 0.0, "model")
    clock.retry().begin().call(failing(1, []), lambda _: 0.0, "query", **named)
    assert caplog.messages == ["model (Busy): try 2 in 0.50 s", "query (Throttled): try 2 in 0.50 s"]
