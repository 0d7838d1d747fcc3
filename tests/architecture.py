"""The picture of docs/architecture.md, drawn from the imports: ``make architecture`` renews docs/architecture.svg.

A box is a folder, or a module that stands by itself; an arrow leads from who imports to what is imported. Arrows that follow
from others (A to C where A leads to B and B to C) are left out.
"""

from collections.abc import Iterable, Mapping
from html import escape

from tests.imports import ROOT, imported

KEPT = ROOT / "docs" / "architecture.svg"
WIDTH, ROW, BOX, CAPTION = 900, 74, 34, 46
STYLE = """
    .ground { fill: #ffffff; } .ink { fill: #1f2933; } .soft { fill: #52606d; }
    .box { fill: #f3f6f9; stroke: #9aa5b1; } .way { fill: none; stroke: #7b8794; stroke-width: 1.2; } .tip { fill: #7b8794; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #14181d; } .ink { fill: #e4e7eb; } .soft { fill: #9aa5b1; } .box { fill: #1f262e; stroke: #616e7c; }
    }
  """
Graph = Mapping[str, set[str]]

# of each panel: its title, the folder whose inside it shows, and what of it is left out
PANELS = (
    ("The package, and what stands around it", "", {"__main__", "lexigraph"}),
    ("Inside storage/: a folder a back end", "lexigraph.storage", set()),
    ("Inside retrieval/: stages, and a folder a way of retrieving", "lexigraph.retrieval", {"retrievers"}),
)


def picture() -> str:
    """Return the whole picture as SVG."""
    parts: list[str] = []
    top = 0.0
    for title, inside, left_out in PANELS:
        drawn, top = _panel(title, rooms_of(inside, left_out), top)
        parts += drawn
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:.0f}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13" aria-labelledby="title">\n'
        '  <title id="title">Folders of Lexigraph and their imports</title>\n'
        f"  <style>{STYLE}</style>\n"
        '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>\n'
        f'  <rect class="ground" width="{WIDTH}" height="{top:.0f}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def rooms_of(inside: str, left_out: Iterable[str]) -> Graph:
    """Return the folders and modules directly below ``inside``, and which of them each imports."""
    rooms: dict[str, set[str]] = {}
    for module, used in imported().items():
        here = _room(module, inside)
        if here:
            rooms.setdefault(here, set()).update(room for name in used if (room := _room(name, inside)))
    return {
        room: {other for other in others if other != room and other not in left_out}
        for room, others in rooms.items()
        if room not in left_out
    }


def _room(module: str, inside: str) -> str:
    """Return which folder or module below ``inside`` holds a module; empty for ``inside`` itself and what is elsewhere."""
    if not inside:
        module = module.removeprefix("lexigraph.")
    elif module.startswith(f"{inside}."):
        module = module.removeprefix(f"{inside}.")
    else:
        return ""
    return module.split(".")[0]


def _panel(title: str, rooms: Graph, top: float) -> tuple[list[str], float]:
    direct = {room: _direct(room, rooms) for room in rooms}
    level = dict.fromkeys(rooms, 0)
    for _ in rooms:  # the longest way down; there are no circles
        level = {room: max((level[other] + 1 for other in rooms[room]), default=0) for room in rooms}
    for room in rooms:  # what imports nothing stands just below those that import it
        if not rooms[room]:
            level[room] = min((level[other] - 1 for other in rooms if room in rooms[other]), default=0)
    place: dict[str, tuple[float, float]] = {}
    rows = max(level.values()) + 1
    for n in range(rows):
        here = [room for room in rooms if level[room] == rows - 1 - n]
        # below the middle of those that import it, so that few arrows cross
        above = {room: [place[other][0] for other in place if room in direct[other]] or [WIDTH / 2] for room in here}
        here.sort(key=lambda room: (sum(above[room]) / len(above[room]), room))
        for column, room in enumerate(here):
            place[room] = (WIDTH * (2 * column + 1) / (2 * len(here)), top + CAPTION + n * ROW)
    drawn = [f'  <text class="soft" x="20" y="{top + 28:.0f}" font-size="15">{escape(title)}</text>']
    for room in sorted(rooms):
        for other in sorted(direct[room]):
            (x, y), (to_x, to_y) = place[room], place[other]
            bend = (to_y - y - BOX) / 2
            drawn.append(
                f'  <path class="way" marker-end="url(#tip)" d="M{x:.0f} {y + BOX:.0f}C{x:.0f} {y + BOX + bend:.0f} '
                f'{to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y - 2:.0f}"/>'
            )
    for room, (x, y) in sorted(place.items()):
        wide = 9 * len(room) + 26
        drawn.append(f'  <rect class="box" x="{x - wide / 2:.0f}" y="{y:.0f}" width="{wide}" height="{BOX}" rx="6"/>')
        drawn.append(f'  <text class="ink" x="{x:.0f}" y="{y + 22:.0f}" text-anchor="middle">{escape(room)}</text>')
    return drawn, top + CAPTION + rows * ROW - (ROW - BOX) + 24


def _direct(room: str, rooms: Graph) -> set[str]:
    """Return what a room imports and none of what it imports does."""
    return {other for other in rooms[room] if not any(other in _below(between, rooms) for between in rooms[room])}


def _below(room: str, rooms: Graph) -> set[str]:
    return rooms[room].union(*(_below(other, rooms) for other in rooms[room]))


if __name__ == "__main__":
    KEPT.write_text(picture(), encoding="utf-8")
