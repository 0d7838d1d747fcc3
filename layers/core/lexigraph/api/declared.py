"""Names of a request beside its JSON: what a route does not declare is refused, as unknown fields of a body are."""

from collections import Counter
from collections.abc import Iterable, Iterator

from fastapi import Request, params
from fastapi.dependencies.models import Dependant

from lexigraph.model.errors import InvalidInput
from lexigraph.retrieval.traversal.args import check_names

_MOST_CHARS = 80  # of a name, in a message


async def only_declared(request: Request) -> None:
    """Raise ``InvalidInput`` for a name of the query, or a field of a form, that the route would pass over."""
    query, form = set(), set()
    for each in _with_all(request.scope["route"].dependant):
        query |= {field.alias for field in each.query_params}
        form |= {field.alias for field in each.body_params if isinstance(field.field_info, params.Form)}
    _check(request.query_params, query, form, "a field of the form, not of the query")
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        if times > 1:  # the framework would take the last
            raise InvalidInput(f"{name}: is given {times} times; give it once")
    if form and request.headers.get("content-type", "").startswith("multipart/form-data"):  # another is refused as such
        _check(await request.form(), form, query, "of the query, not a field of the form")  # read before, and kept


def _check(given: Iterable[str], known: set[str], elsewhere: set[str], where: str) -> None:
    for name in given:
        if name in elsewhere - known:
            raise InvalidInput(f"{name}: is {where}: send it there")
        check_names({name[:_MOST_CHARS]: None}, sorted(known))


def _with_all(dependant: Dependant) -> Iterator[Dependant]:
    """Yield what a route depends on, itself first."""
    yield dependant
    for each in dependant.dependencies:
        yield from _with_all(each)
