"""Charts of profiles as SVG: bars, and the roofline. They have the colour of the text around them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from vyre_foundation.markup import Html, escaped

COLOURS = ("#4c8dd6", "#d9822b", "#46a15c", "#c65b9e", "#8b7bd8", "#b59a2d", "#3aa6a6", "#d0605e")
"""By position; each is legible on white and on black."""
WIDTH, BAR, LABEL = 720, 20, 190
MOST_BARS = 24
HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 320, 64, 16, 14, 44
"""Of the roofline: its height, and the space around the axes."""


def bars(rows: Sequence[tuple[str, float, str]]) -> Html:
    """Horizontal bars, of which the longest fills the space.

    Args:
        rows: A label, a length, and what stands behind the bar, for each.
    """
    rows = rows[:MOST_BARS]
    longest = max((length for _, length, _ in rows), default=0) or 1.0
    space, parts = WIDTH - LABEL - 150, []
    for number, (label, length, text) in enumerate(rows):
        y, width = number * (BAR + 6) + 2, max(1.0, space * length / longest)
        colour, middle = COLOURS[number % len(COLOURS)], y + BAR * 0.72
        parts.append(
            f"<g><title>{escaped(label)}: {escaped(text)}</title>"
            f'<text x="{LABEL - 8}" y="{middle:.1f}" text-anchor="end">{escaped(_short(label))}</text>'
            f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
            f'<text x="{LABEL + width + 6:.1f}" y="{middle:.1f}">{escaped(text)}</text></g>'
        )
    return _svg(WIDTH, len(rows) * (BAR + 6) + 4, parts, "bars")


def roofline(points: Sequence[tuple[str, float, float]], bytes_per_second: float, operations_per_second: float) -> Html:
    """The roofline of a device: operations a second over operations a byte, both logarithmic.

    Args:
        points: A label, operations a byte, and operations a second, for each kernel; both numbers are above 0.
        bytes_per_second: The slope.
        operations_per_second: The flat part.
    """
    ridge = operations_per_second / bytes_per_second
    low_x, high_x = _decades([ridge / 8, ridge * 8, *(x for _, x, _ in points)])
    low_y, high_y = _decades([operations_per_second, operations_per_second / 64, *(y for _, _, y in points)])

    def x_of(intensity: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(intensity) - low_x) / (high_x - low_x)

    def y_of(rate: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high_y - math.log10(rate)) / (high_y - low_y)

    parts = []
    for power in range(low_x, high_x + 1):
        x = x_of(10.0**power)
        parts.append(_line(x, y_of(10.0**low_y), x, TOP, "0.18"))
        parts.append(_text(x, HEIGHT - BOTTOM + 16, f"{10.0**power:g}", "middle"))
    for power in range(low_y, high_y + 1):
        y = y_of(10.0**power)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "0.18"))
        parts.append(_text(LEFT - 6, y + 4, f"{10.0**power / 1e9:g}", "end"))
    parts += _axes()
    start = max(10.0**low_x, 10.0**low_y / bytes_per_second)
    corner = f"{x_of(ridge):.1f},{y_of(operations_per_second):.1f}"
    begin = f"{x_of(start):.1f},{y_of(start * bytes_per_second):.1f}"
    end = f"{WIDTH - RIGHT},{y_of(operations_per_second):.1f}"
    style = 'fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"'
    parts.append(f'<polyline points="{begin} {corner} {end}" {style}/>')
    for number, (label, intensity, rate) in enumerate(points):
        x, y, colour = x_of(intensity), y_of(rate), COLOURS[number % len(COLOURS)]
        side, anchor = (-9, "end") if x > WIDTH * 0.7 else (9, "start")
        parts.append(
            f"<g><title>{escaped(label)}: {intensity:.3g} operations a byte, {rate / 1e9:.3g} Gop/s</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
            f"{_text(x + side, y + 4, _short(label), anchor)}</g>"
        )
    return _svg(WIDTH, HEIGHT, parts, "roofline")


def _axes() -> Iterator[str]:
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "operations a byte", "middle")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
        "operations a second, 10⁹</text>"
    )


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Powers of ten around all values, at least one apart."""
    low = math.floor(math.log10(min(values)) + 1e-9)
    return low, max(low + 1, math.ceil(math.log10(max(values)) - 1e-9))


def _line(x: float, y: float, to_x: float, to_y: float, opacity: str) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="currentColor" '
        f'stroke-opacity="{opacity}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'


def _svg(width: int, height: int, parts: Sequence[str], name: str) -> Html:
    style = 'font-family="system-ui,sans-serif" font-size="12" fill="currentColor"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" viewBox="0 0 {width} {height}"'
    return Html(f'{begin} width="{width}" {style}>{"".join(parts)}</svg>')


def _short(label: str) -> str:
    return label if len(label) <= 24 else f"{label[:23]}…"
