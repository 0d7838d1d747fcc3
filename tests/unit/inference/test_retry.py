"""Trying again: how often, how long, and what is not tried again."""

import pytest

from lexigraph.inference.retry import Retry


class Busy(Exception):
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
    assert clock.retry().call(failing(3, calls), lambda _: 0.0) == "done"
    assert clock.slept == [0.5, 1.0, 2.0]


def test_jitter_draws_the_whole_range_from_zero_to_the_bound():
    for draw in (0.0, 0.25, 1.0):
        clock = Clock()
        clock.retry(draw=draw).call(failing(3, []), lambda _: 0.0)
        assert clock.slept == [draw * 0.5, draw * 1.0, draw * 2.0]


def test_waits_stop_growing_at_the_cap():
    clock = Clock()
    clock.retry(attempts=9, cap=4.0).call(failing(7, []), lambda _: 0.0)
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0]


def test_the_last_error_comes_out_when_the_attempts_are_used_up():
    clock, calls = Clock(), []
    with pytest.raises(Busy, match="try 4"):
        clock.retry(attempts=4).call(failing(99, calls), lambda _: 0.0)
    assert len(calls) == 4


def test_an_error_that_will_not_pass_is_raised_at_once():
    clock, calls = Clock(), []
    with pytest.raises(Busy):
        clock.retry().call(failing(1, calls), lambda _: None)
    assert (len(calls), clock.slept) == (1, [])


def test_what_the_server_asks_to_wait_is_the_least_and_jitter_comes_on_top():
    clock = Clock()
    clock.retry(draw=0.5).call(failing(2, []), lambda _: 7.0)
    assert clock.slept == [7.25, 7.5]


def test_no_try_begins_after_the_time_is_up():
    clock, calls = Clock(), []
    with pytest.raises(Busy, match="try 3"):
        clock.retry(attempts=20, seconds=3.0).call(failing(99, calls), lambda _: 0.0)
    assert clock.now == 1.5
