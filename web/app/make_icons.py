"""Draws the page's icons into public/: a place among dots, its outline dissolved.

python make_icons.py
"""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw

FOLDER = Path(__file__).parent / "public"
GROUND, INK, GLOW = "#17646d", "#fdfcf9", "#e9c9a2"
#: A spiral of dots that fade away from the middle: x, y, radius and opacity, in a unit square.
DOTS = [
    (
        0.5 + 0.037 * math.sqrt(n) * math.cos(2.39996 * n),
        0.5 + 0.037 * math.sqrt(n) * math.sin(2.39996 * n),
        0.026 * (1 - n / 140),
        max(0.12, 1 - n / 74),
    )
    for n in range(4, 72)
]
PLACE = (0.5, 0.5, 0.062)


def blended(opacity: float) -> tuple[int, int, int]:
    """INK over GROUND: few colours, small files."""
    over, under = (tuple(bytes.fromhex(text[1:])) for text in (INK, GROUND))
    step = round(opacity * 8) / 8
    red, green, blue = (round(step * a + (1 - step) * b) for a, b in zip(over, under, strict=True))
    return red, green, blue


def circle(x: float, y: float, radius: float, size: int) -> tuple[float, float, float, float]:
    return ((x - radius) * size, (y - radius) * size, (x + radius) * size, (y + radius) * size)


def draw_png(size: int) -> None:
    large = 4 * size
    image = Image.new("RGB", (large, large), GROUND)
    pen = ImageDraw.Draw(image)
    for x, y, radius, opacity in DOTS:
        pen.ellipse(circle(x, y, radius, large), fill=blended(opacity))
    pen.ellipse(circle(*PLACE, large), fill=GLOW)
    small = image.resize((size, size), Image.Resampling.LANCZOS)
    small.quantize(64).save(FOLDER / f"icon-{size}.png", optimize=True)


def draw_svg() -> None:
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">']
    lines.append(f'<rect width="100" height="100" rx="22" fill="{GROUND}"/>')
    for x, y, radius, opacity in DOTS:
        red, green, blue = blended(opacity)
        lines.append(
            f'<circle cx="{100 * x:.1f}" cy="{100 * y:.1f}" r="{100 * radius:.1f}" '
            f'fill="#{red:02x}{green:02x}{blue:02x}"/>'
        )
    x, y, radius = PLACE
    lines.append(f'<circle cx="{100 * x:g}" cy="{100 * y:g}" r="{100 * radius:g}" fill="{GLOW}"/>')
    (FOLDER / "icon.svg").write_text("\n".join([*lines, "</svg>", ""]), encoding="utf-8")


if __name__ == "__main__":
    draw_svg()
    for size in (192, 512):
        draw_png(size)
