"""Hours of the graph as people write them, and the schedules of EventBridge that they become."""

import pytest

from infra.hours import Hours


@pytest.mark.parametrize(
    ("text", "starts", "stops", "rests", "zone", "hours_a_week"),
    [
        (
            "Mon-Fri 08:00-19:00 Europe/Berlin",
            "cron(0 8 ? * MON,TUE,WED,THU,FRI *)",
            "cron(0 19 ? * MON,TUE,WED,THU,FRI *)",
            "cron(0 19 ? * SAT,SUN *)",
            "Europe/Berlin",
            55,
        ),
        (
            "Mon,Wed-Thu 09:05-17:30 UTC",
            "cron(5 9 ? * MON,WED,THU *)",
            "cron(30 17 ? * MON,WED,THU *)",
            "cron(30 17 ? * TUE,FRI,SAT,SUN *)",
            "UTC",
            3 * (8 + 25 / 60),
        ),
        (
            "Sat-Mon 00:00-23:59 America/New_York",
            "cron(0 0 ? * MON,SAT,SUN *)",
            "cron(59 23 ? * MON,SAT,SUN *)",
            "cron(59 23 ? * TUE,WED,THU,FRI *)",
            "America/New_York",
            71.95,
        ),
        (
            "Mon-Sun 10:00-11:00 Asia/Kolkata",
            "cron(0 10 ? * MON,TUE,WED,THU,FRI,SAT,SUN *)",
            "cron(0 11 ? * MON,TUE,WED,THU,FRI,SAT,SUN *)",
            "",
            "Asia/Kolkata",
            7,
        ),
    ],
)
def test_hours_become_a_start_and_a_stop_on_their_days_and_another_stop_on_all_others(
    text: str, starts: str, stops: str, rests: str, zone: str, hours_a_week: float
) -> None:
    found = Hours.of(text)
    assert (found.starts, found.stops, found.rests, found.zone) == (starts, stops, rests, zone)
    assert found.share == pytest.approx(hours_a_week / 168)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("08:00-19:00", "write days, hours and a time zone"),
        ("mon-fri 08:00-19:00 UTC", "write days, hours and a time zone"),
        ("Mon-Fri 8-19 UTC", "write days, hours and a time zone"),
        ("Mon-Fri 08:00-24:00 UTC", "write days, hours and a time zone"),
        ("Mon-Fri 08:00-19:60 UTC", "write days, hours and a time zone"),
        ("Mon-Fri 08:00-19:00", "write days, hours and a time zone"),
        ("cron(0 19 * * ? *)", "write days, hours and a time zone"),
        ("Mon-Fri 19:00-08:00 UTC", "have to end on it, after they began"),
        ("Mon-Fri 08:00-08:00 UTC", "have to end on it, after they began"),
        ("Mon-Fri 08:00-19:00 Berlin", "time zone 'Berlin' is not known"),
        ("Mon-Fri 08:00-19:00 ../etc", "time zone '../etc' is not known"),
        ("Mon-Fri 08:00-19:00 Europe", "time zone 'Europe' is not known"),
    ],
)
def test_what_is_no_hours_is_refused_with_what_to_write(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"write|end on it|is not known") as refused:
        Hours.of(text)
    assert said in str(refused.value)
    assert repr(text) in str(refused.value)
