"""A walker over the state machine: Amazon States Language as far as ours goes, with its retries, in time that is not waited.

What moto's interpreter does not do: a redrive, and retries without sleeping.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

Data = dict[str, Any]


class TaskFailed(Exception):
    """What a task ended with, as Step Functions names it."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


class Execution:
    """An execution of a state machine with an input.

    ``invoke`` calls a function by its ARN, ``read`` returns the items in an object, ``wait`` is told the seconds that
    pass before another try, ``enter`` which state comes next, with its input. ``at`` is where to begin, when not at the
    beginning, ``name`` that of the execution. ``status`` and ``error`` are those of the last :meth:`run`.
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
    ) -> None:
        self.name = name
        self.given, self.status, self.error = given, "RUNNING", ""
        self._definition, self._invoke, self._read, self._wait = definition, invoke, read, wait
        self._enter, self._at = enter, (at or str(definition["StartAt"]), given)

    def run(self) -> str:
        """Go on where the execution stands: from its beginning, or redriven from the state that failed."""
        try:
            self._walk(self._definition, *self._at, top=True)
        except TaskFailed as error:
            self.status, self.error = "FAILED", error.error
        else:
            self.status = "SUCCEEDED"
        return self.status

    def _walk(self, machine: Mapping[str, Any], name: str, data: Data, *, top: bool = False) -> Data:
        while name:
            if top:
                self._at = name, data
                self._enter(name, data)
            state = machine["States"][name]
            try:
                data = self._step(state, data)
                name = _chosen(state, data) if state["Type"] == "Choice" else state.get("Next", "")
            except TaskFailed as error:
                catcher = next((c for c in state.get("Catch", []) if _fits(c, error)), None)
                if catcher is None:
                    raise
                data = _put(data, catcher.get("ResultPath"), {"Error": error.error, "Cause": error.cause})
                name = catcher["Next"]
        return data

    def _step(self, state: Mapping[str, Any], data: Data) -> Data:
        if state["Type"] == "Pass":
            assert state["InputPath"] == "$$.Execution.Name"
            return _put(data, state["ResultPath"], self.name)
        if state["Type"] == "Task":
            asked = _selected(state["Parameters"], data, None) if "Parameters" in state else data
            return _put(data, state["ResultPath"], self._tried(state, lambda: self._invoke(state["Resource"], asked)))
        if state["Type"] == "Map":
            assert state["ResultPath"] is None
            for item in self._items(state, data):
                inner = _selected(state["ItemSelector"], data, item)
                self._walk(state["ItemProcessor"], state["ItemProcessor"]["StartAt"], inner)
        return data

    def _items(self, state: Mapping[str, Any], data: Data) -> list[Any]:
        if "ItemsPath" in state:
            return list(_value(state["ItemsPath"], data))
        where = _selected(state["ItemReader"]["Parameters"], data, None)
        return self._read(where["Bucket"], where["Key"])[::-1]  # side by side, in any order

    def _tried(self, state: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        used: Counter[int] = Counter()
        while True:
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
    return error.error in rule["ErrorEquals"] or rule["ErrorEquals"] == ["States.ALL"]


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
