"""The hours in which a graph runs, as people write them: ``Mon-Fri 08:00-19:00 Europe/Berlin``."""

import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

EXAMPLE = "Mon-Fri 08:00-19:00 Europe/Berlin"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = f"(?:{'|'.join(_DAYS)})"
_CLOCK = r"((?:[01]\d|2[0-3]):[0-5]\d)"
_FORM = re.compile(rf"({_DAY}(?:-{_DAY})?(?:,{_DAY}(?:-{_DAY})?)*) {_CLOCK}-{_CLOCK} (\S+)")


@dataclass(frozen=True)
class Hours:
    """Days of the week, from when until when on each of them as ``HH:MM``, and the time zone of both."""

    days: tuple[str, ...]
    start: str
    stop: str
    zone: str

    @classmethod
    def of(cls, text: str) -> "Hours":
        """Read them. Raise ``ValueError`` for a text that is none."""
        found = _FORM.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r}: write days, hours and a time zone, as {EXAMPLE!r} or 'Mon,Wed-Fri 09:00-17:30 UTC'")
        days, start, stop, zone = found.groups()
        if _minutes(start) >= _minutes(stop):
            raise ValueError(f"{text!r}: the hours of a day have to end on it, after they began")
        try:
            ZoneInfo(zone)
        except (ValueError, OSError, KeyError):
            raise ValueError(f"{text!r}: time zone {zone!r} is not known; use a name as Europe/Berlin or UTC") from None
        wanted = {day for part in days.split(",") for day in _between(*part.split("-"))}
        return cls(tuple(day for day in _DAYS if day in wanted), start, stop, zone)

    @property
    def starts(self) -> str:
        """When the graph is started, as a schedule of EventBridge."""
        return f"cron({_cron(self.start)} ? * {','.join(self.days).upper()} *)"

    @property
    def stops(self) -> str:
        """When it is stopped on these days."""
        return f"cron({_cron(self.stop)} ? * {','.join(self.days).upper()} *)"

    @property
    def rests(self) -> str:
        """When it is stopped on the other days, since somebody may have started it; empty where there are none."""
        others = [day.upper() for day in _DAYS if day not in self.days]
        return f"cron({_cron(self.stop)} ? * {','.join(others)} *)" if others else ""

    @property
    def share(self) -> float:
        """The part of a week in which it runs."""
        return len(self.days) * (_minutes(self.stop) - _minutes(self.start)) / (7 * 24 * 60)


def _between(first: str, last: str = "") -> list[str]:
    """Return the days from one to another, over the end of the week if need be."""
    begin = _DAYS.index(first)
    return [_DAYS[(begin + n) % 7] for n in range((_DAYS.index(last or first) - begin) % 7 + 1)]


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def _cron(clock: str) -> str:
    hour, minute = clock.split(":")
    return f"{int(minute)} {int(hour)}"
