"""A walker over the state machine: Amazon States Language as far as ours goes, with its retries, in time that is not waited.

What moto's interpreter does not do: a redrive, retries without sleeping, and the service's limits. Like Step Functions it
ends an execution whose data or history grow too large: no ``States.ALL`` catches that.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Data = dict[str, Any]


class TaskFailed(Exception):
    """What a task ended with, as Step Functions names it."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


@dataclass
class Limits:
    """What an execution may use: bytes of what goes into and out of a state, and of what a map gathers; events.

    ``largest`` and ``noted`` are what it did use; executions that a distributed map starts have histories of their own.
    """

    bytes: int = 256 * 1024
    events: int = 25_000
    largest: int = 0
    noted: int = field(default=0, init=False)

    def note(self, events: int) -> None:
        """Take down events of the history."""
        self.noted += events
        if self.noted > self.events:
            raise TaskFailed("States.Runtime", f"the execution reached the maximum number of history events ({self.events})")

    def check(self, data: Any, what: str) -> Any:
        """Return what is handed on, if it is not too large."""
        size = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())
        self.largest = max(self.largest, size)
        if size > self.bytes:
            raise TaskFailed("States.DataLimitExceeded", f"{what}: {size} bytes, more than {self.bytes}")
        return data

    def of_child(self) -> "Limits":
        """Return those of an execution that a distributed map starts."""
        return Limits(self.bytes, self.events)


# events of a state's history, beside those of the tries of a task and of what a map runs
_EVENTS = {"Task": 2, "Pass": 2, "Choice": 2, "Succeed": 2, "Map": 4, "Wait": 2}  # entered and exited; a map's start and end
_TRY = 3  # scheduled, started, and how it ended
_ITERATION, _EXECUTION, _MAP_RUN = 2, 2, 2  # started and ended
_FATAL = ("States.DataLimitExceeded", "States.Runtime")


class Execution:
    """An execution of a state machine with an input.

    ``invoke`` calls a function by its ARN, ``read`` returns the items in an object, ``wait`` is told the seconds that
    pass before another try, ``enter`` which state comes next, with its input. ``at`` is where to begin, when not at the
    beginning, ``name`` that of the execution. ``status`` and ``error`` are those of the last :meth:`run`. The input has to
    keep to the ``limits`` of the service, too.
    """

    def __init__(
        self,
        definition: Mapping[str, Any],
        given: Data,
        *,
        invoke: Callable[[str, Any], Any],
        read: Callable[[str, str], list[Any]],
        wait: Callable[[float], None],
        enter: Callable[[str, Data], None] = lambda name, data: None,
        at: str = "",
        name: str = "execution",
        limits: Limits | None = None,
    ) -> None:
        self.name, self.limits = name, limits or Limits()
        self.given, self.status, self.error = given, "RUNNING", ""
        self._definition, self._invoke, self._read, self._wait = definition, invoke, read, wait
        self._enter, self._at = enter, (at or str(definition["StartAt"]), given)

    def run(self) -> str:
        """Go on where the execution stands: from its beginning, or redriven from the state that failed."""
        try:
            self.limits.note(_EXECUTION)
            self._walk(self._definition, *self._at, self.limits, top=True)
        except TaskFailed as error:
            self.status, self.error = "FAILED", error.error
        else:
            self.status = "SUCCEEDED"
        return self.status

    def _walk(self, machine: Mapping[str, Any], name: str, data: Data, limits: Limits, *, top: bool = False) -> Data:
        while name:
            if top:
                self._at = name, data
                self._enter(name, data)
            state = machine["States"][name]
            try:
                limits.note(_EVENTS[state["Type"]])
                data = self._step(state, limits.check(data, f"input of {name}"), limits)
                data = limits.check({} if state.get("OutputPath", "$") is None else data, f"output of {name}")
                name = _chosen(state, data) if state["Type"] == "Choice" else state.get("Next", "")
            except TaskFailed as error:
                catcher = next((c for c in state.get("Catch", []) if _fits(c, error)), None)
                if catcher is None:
                    raise
                data = _put(data, catcher.get("ResultPath"), {"Error": error.error, "Cause": error.cause})
                name = catcher["Next"]
        return data

    def _step(self, state: Mapping[str, Any], data: Data, limits: Limits) -> Data:
        if state["Type"] == "Pass":
            assert state["InputPath"] == "$$.Execution.Name"
            return _put(data, state["ResultPath"], self.name)
        if state["Type"] == "Wait":
            self._wait(state["Seconds"])
        if state["Type"] == "Task":
            asked = _selected(state["Parameters"], data, None) if "Parameters" in state else data
            done = self._tried(state, lambda: self._invoke(state["Resource"], asked), limits)
            return _put(data, state["ResultPath"], limits.check(done, "result of a task"))
        if state["Type"] == "Map":
            return _put(data, state["ResultPath"], limits.check(self._mapped(state, data, limits), "result of a map"))
        return data

    def _mapped(self, state: Mapping[str, Any], data: Data, limits: Limits) -> list[Data]:
        """Run a map; return what it gathers of its iterations, or of the executions of its own that it starts."""
        inner, gathered = state["ItemProcessor"], []
        distributed = inner["ProcessorConfig"]["Mode"] == "DISTRIBUTED"
        limits.note(_MAP_RUN if distributed else 0)
        for item in self._items(state, data):
            asked = _selected(state["ItemSelector"], data, item)
            own = limits.of_child() if distributed else limits
            own.note(_EXECUTION if distributed else _ITERATION)
            try:
                gathered.append(self._walk(inner, inner["StartAt"], asked, own))
            except TaskFailed as error:
                if not distributed:
                    raise
                raise TaskFailed("States.ExceedToleratedFailureThreshold", error.error) from None  # none is tolerated
        return gathered

    def _items(self, state: Mapping[str, Any], data: Data) -> list[Any]:
        if "ItemsPath" in state:
            return list(_value(state["ItemsPath"], data))
        where = _selected(state["ItemReader"]["Parameters"], data, None)
        return self._read(where["Bucket"], where["Key"])[::-1]  # side by side, in any order

    def _tried(self, state: Mapping[str, Any], work: Callable[[], Any], limits: Limits) -> Any:
        used: Counter[int] = Counter()
        while True:
            limits.note(_TRY)
            try:
                return work()
            except TaskFailed as error:
                at, retrier = next(((n, r) for n, r in enumerate(state["Retry"]) if _fits(r, error)), (0, None))
                if retrier is None or used[at] >= retrier["MaxAttempts"]:
                    raise
                longest = retrier["IntervalSeconds"] * retrier["BackoffRate"] ** used[at]
                used[at] += 1
                self._wait(min(longest, retrier["MaxDelaySeconds"]))


def _fits(rule: Mapping[str, Any], error: TaskFailed) -> bool:
    return error.error in rule["ErrorEquals"] or (rule["ErrorEquals"] == ["States.ALL"] and error.error not in _FATAL)


def _chosen(state: Mapping[str, Any], data: Data) -> str:
    for rule in state["Choices"]:
        (wanted,) = (value for name, value in rule.items() if name.endswith("Equals"))
        if _value(rule["Variable"], data) == wanted:
            return str(rule["Next"])
    return str(state["Default"])


def _selected(template: Mapping[str, Any], data: Data, item: Any) -> Data:
    made: Data = {}
    for name, value in template.items():
        if not name.endswith(".$"):
            made[name] = value
        elif value.startswith("$$.Map.Item.Value"):
            made[name[:-2]] = _value(value.removeprefix("$$.Map.Item.Value"), item)
        else:
            made[name[:-2]] = _value(value, data)
    return made


def _value(path: str, data: Any) -> Any:
    for name in path.split(".")[1:]:
        data = data[name]
    return data


def _put(data: Data, path: str | None, result: Any) -> Data:
    if path is None:
        return data
    name, _, inner = path.removeprefix("$.").partition(".")
    return {**data, name: _put(data.get(name, {}), f"$.{inner}", result) if inner else result}
