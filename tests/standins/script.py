"""What goes wrong with the n-th request of a way, whichever stand-in it goes to: one count over all of them."""

from collections.abc import Callable
from threading import Lock

KINDS = ("killed", "killed after", "busy", "cut", "denied")


class Script:
    """Given to stand-ins, which ask it about each request: :meth:`next` says what to do with it.

    ``calls`` are the requests since :meth:`begin`, made while ``counting``. The one that is number ``at`` meets ``kind``:

    * ``killed``: ``kill`` is called, and the request is not carried out;
    * ``killed after``: ``kill`` is called, and the request is carried out;
    * ``busy``: it is refused with what another try helps against: throttling, a conflict, items left over;
    * ``cut``: it is carried out and its reply is lost;
    * ``denied``: it and all after it, until :meth:`mend`, are refused with what no other try helps against;
    * ``wait``: ``meanwhile`` is called before it is carried out.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.counting = False
        self.kill: Callable[[], None] = lambda: None
        self.meanwhile: Callable[[], None] = lambda: None
        self._at, self._kind, self._lock = 0, "", Lock()

    def begin(self, at: int = 0, kind: str = "") -> None:
        """Count anew; ``at`` 0 is never."""
        with self._lock:
            self.calls, self._at, self._kind = [], at, kind

    def mend(self) -> None:
        """Let all go well from now on."""
        with self._lock:
            self._at = 0

    @property
    def met(self) -> bool:
        """Whether the way was long enough."""
        return len(self.calls) >= self._at

    def next(self, what: str) -> str:
        """Count a request, and return what is to become of it.

        ``drop``: hang up at once; ``cut``: carry it out and hang up; ``busy`` or ``denied``: refuse it; empty: nothing.
        """
        with self._lock:
            if not self.counting:
                return ""
            self.calls.append(what)
            now = len(self.calls)
            kind = self._kind if self._at and (now == self._at or (now > self._at and self._kind == "denied")) else ""
        if kind == "wait":
            self.counting = False
            self.meanwhile()
            self.counting = True
            return ""
        if kind.startswith("killed"):
            self.kill()
            return "drop" if kind == "killed" else "cut"
        return kind
