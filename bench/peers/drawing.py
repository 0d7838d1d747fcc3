"""The comparison as a drawing: bars in plain SVG, readable on light and dark ground."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bench.peers.report import BUDGETS, Row

_WIDTH, _LEFT, _BAR, _GAP, _TOP = 760, 280, 18, 8, 34
_ROOM = _WIDTH - _LEFT - 90  # for bars; numbers stand behind them
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.bar { fill: #57606a }
.ours { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .bar { fill: #8b949e }
  .ours { fill: #4493f8 }
}
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars below a title: a value each row; ``log`` where values lie far apart, and a bar ten times as long is then not."""

    title: str
    values: Sequence[float]
    form: str
    log: bool = False


def draw(rows: Sequence[Row]) -> str:
    """Return the drawing as SVG."""
    if not rows:
        return _svg(_TOP, [_text(0, 20, "Nothing was measured.", "title")])
    panels = [
        *(Panel(f"Evidence in the first {b:,} characters, %", [100 * r.kept[b] for r in rows], "{:.0f}") for b in BUDGETS),
        Panel("A question, p50 in ms (logarithmic)", [r.p50 for r in rows], "{:,.0f}", log=True),
        Panel(
            "Build without embedding, processor seconds (logarithmic)",
            [r.build_only_processor for r in rows],
            "{:,.1f}",
            log=True,
        ),
    ]
    parts: list[str] = []
    y = 0
    for panel in panels:
        parts.append(_text(0, y + 20, panel.title, "title"))
        y += _TOP
        longest = max(map(_log, panel.values)) if panel.log else 100.0
        for r, value in zip(rows, panel.values, strict=True):
            share = (_log(value) if panel.log else value) / longest if longest else 0.0
            length = max(1.0, share * _ROOM)
            kind = "ours" if r.system == rows[0].system else "bar"
            parts.append(_text(0, y + 14, f"{r.system}, {r.retriever}"))
            parts.append(f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="2"/>')
            parts.append(_text(_LEFT + length + 6, y + 14, panel.form.format(value)))
            y += _BAR + _GAP
        y += _GAP
    return _svg(y, parts)


def _log(value: float) -> float:
    return math.log10(1 + 10 * value)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    of = f' class="{kind}"' if kind else ""
    return f'<text{of} x="{x:.1f}" y="{y}">{escape(text)}</text>'


def _svg(height: int, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, "<title>Lexigraph beside other systems</title>", f"<style>{_STYLE}</style>", *parts, "</svg>\n"])
