"""Many files of a tenant that end at once take turns at one lease, without asking for it more than DynamoDB allows."""

import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from bench.scale import closing
from tests.standins.aws_server import AwsServer


@pytest.fixture
def aws() -> Iterator[AwsServer]:
    with patch.dict(os.environ, closing.ENVIRONMENT), AwsServer() as server:
        yield server


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("files", "seconds"), [(12, 0.4), pytest.param(200, 2.0, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_files_that_close_at_once_lose_no_name_and_no_lease(aws: AwsServer, files: int, seconds: float) -> None:
    done = closing.close_at_once(aws, files, seconds)
    assert (done.throttled, done.lost, done.missing) == (0, 0, 0)
    assert done.derived <= 4  # one takes what very many have changed
    assert done.busiest < 5 * files
    assert done.requests < 25 * files


@pytest.mark.nightly
def test_a_key_that_is_written_to_too_often_is_refused_by_the_stand_in_and_asked_again(aws: AwsServer) -> None:
    aws.most_writes = 8
    done = closing.close_at_once(aws, 12, 0.4)
    assert done.throttled > 0 == done.lost == done.missing
    assert done.busiest <= 8


def test_the_model_keeps_the_limits_of_an_item_and_sees_when_they_are_passed() -> None:
    assert all(closing.model_closing(200, 2.0, 0.01, seed).busiest <= closing.MOST_WRITES for seed in range(5))
    assert closing.model_closing(600, 2.0, 0.01, 1).busiest > closing.MOST_WRITES
    assert closing.model_publishing(50, 2, 10.0, 0.02, 1).busiest <= closing.MOST_WRITES
