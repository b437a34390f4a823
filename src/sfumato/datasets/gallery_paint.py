"""What is painted on the rectangles of the gallery: photographs, plaster, wood, frames.

The photographs are those inside the wheels of scikit-image and scikit-learn; nothing is
downloaded. Everything else is drawn here from fixed seeds. Textures are linear albedo.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.core.extras import need
from sfumato.datasets.rendering import Image, Quad

_TONES = {
    "black": (0.05, 0.05, 0.055),
    "white": (0.86, 0.85, 0.82),
    "oak": (0.52, 0.36, 0.22),
    "gold": (0.70, 0.54, 0.26),
}
_WALL_TONES = {
    "north": (0.86, 0.84, 0.80),
    "east": (0.70, 0.75, 0.74),
    "south": (0.86, 0.84, 0.80),
    "west": (0.84, 0.77, 0.68),
}
#: Gray photographs of materials, tinted to what they show.
_TINTS = {"brick": (1.0, 0.72, 0.58), "gravel": (1.0, 0.95, 0.88), "grass": (0.80, 1.0, 0.55)}
#: Navy, ochre, terracotta, cream, teal, charcoal, sand, olive, slate, wine.
_PALETTE = np.array(
    [
        *((0.13, 0.20, 0.34), (0.80, 0.60, 0.25), (0.70, 0.36, 0.25), (0.92, 0.87, 0.76)),
        *((0.22, 0.46, 0.47), (0.17, 0.17, 0.18), (0.76, 0.67, 0.53), (0.45, 0.46, 0.28)),
        *((0.46, 0.53, 0.58), (0.42, 0.16, 0.20)),
    ]
)
_SKIMAGE = {
    "hubble": "hubble_deep_field",
    "phantom": "shepp_logan_phantom",
    "motorcycle": "stereo_motorcycle",
}
_DRAWN = ("tiles", "mosaic", "abstract", "study")
_BORDER, _MAT = 0.035, 0.045  # metres of frame and of the card around a photograph
_DENSITY = {
    "wall": 180,
    "floor": 220,
    "ceiling": 60,
    "picture": 440,
    "block": 360,
    "label": 800,
    "rug": 200,
}


def paint(quad: Quad) -> Image:
    """The (h, w, 3) linear albedo of one rectangle; a lamp's is 1."""
    kind, *arguments = quad.skin.split(":")
    density = _DENSITY.get(kind, 60)
    width, height = (max(2, round(side * density)) for side in quad.size)
    if kind == "wall":
        return _plaster(width, height, quad.skin, _WALL_TONES[arguments[0]], 0.042)
    if kind == "ceiling":
        return _plaster(width, height, quad.skin, (0.9, 0.9, 0.89), 0.02)
    if kind == "floor":
        return to_linear(_planks(width, height, quad.skin, board=round(0.14 * density)))
    if kind == "picture":
        return _framed(width, height, density, *arguments)
    if kind == "block":
        return _block_side(width, height, *arguments)
    if kind == "rug":
        return to_linear(_patches(width, height, quad.skin, num_colours=5) * np.float32(0.8))
    if kind == "label":
        return _label(width, height, arguments[0])
    if kind == "frame":
        return to_linear(_flat(width, height, _TONES[arguments[0]]))
    return to_linear(_flat(width, height, (1.0,) * 3 if kind == "lamp" else (0.88, 0.87, 0.85)))


def to_linear(srgb: NDArray[np.float32]) -> Image:
    """Linear light of sRGB values in 0…1."""
    curve = np.where(srgb <= 0.04045, srgb / 12.92, ((np.maximum(srgb, 0) + 0.055) / 1.055) ** 2.4)
    return np.asarray(curve, dtype=np.float32)


@cache
def photograph(name: str) -> NDArray[np.float32]:
    """A bundled photograph as (h, w, 3) sRGB in 0…1."""
    need("studio", "the gallery", "skimage", "sklearn")
    from skimage import data

    if name in ("china", "flower"):
        from sklearn.datasets import load_sample_image

        pixels = load_sample_image(f"{name}.jpg")
    else:
        pixels = getattr(data, _SKIMAGE.get(name, name))()
    if isinstance(pixels, tuple):
        pixels = pixels[0]  # the left one of a stereo pair
    values = np.asarray(pixels, dtype=np.float32)
    if np.asarray(pixels).dtype == np.uint8:
        values = values / np.float32(255)
    if values.ndim == 2:
        values = np.repeat(values[:, :, None], 3, axis=2)
    if values.shape[2] == 4:
        values = values[:, :, :3] * values[:, :, 3:] + (1 - values[:, :, 3:])
    return values


def generator_for(name: str) -> np.random.Generator:
    """The same random numbers for the same name, whatever else is painted."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def _flat(width: int, height: int, tone: tuple[float, ...]) -> NDArray[np.float32]:
    return np.full((height, width, 3), tone, dtype=np.float32)


def _noise(generator: np.random.Generator, width: int, height: int, scale: int) -> Image:
    """Smooth noise of unit spread whose blobs are about `scale` pixels wide."""
    import cv2

    size = (height // scale + 2, width // scale + 2)
    coarse = generator.standard_normal(size, dtype=np.float32)
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC))


def _plaster(width: int, height: int, name: str, tone: tuple[float, ...], strength: float) -> Image:
    generator = generator_for(name)
    shade = np.ones((height, width), dtype=np.float32)
    for scale, weight in ((2, 0.5), (4, 0.7), (9, 0.45), (60, 0.25)):
        shade += np.float32(weight * strength) * _noise(generator, width, height, scale)
    return to_linear(np.clip(_flat(width, height, tone) * shade[:, :, None], 0, 1))


def _planks(width: int, height: int, name: str, *, board: int) -> NDArray[np.float32]:
    """Boards along x with their own tone, grain, ends and dark joints."""
    generator = generator_for(name)
    out = np.empty((height, width, 3), dtype=np.float32)
    for top in range(0, height, board):
        rows = min(board, height - top)
        left = -int(generator.integers(0, 6 * board))
        while left < width:
            length = int(generator.integers(5, 10)) * board
            start, stop = max(left, 0), min(left + length, width)
            left += length
            if stop <= start:
                continue
            grain = _noise(generator, -(-(stop - start) // 24), rows, 2)
            grain = np.repeat(grain, 24, axis=1)[:, : stop - start]
            grain = grain + 0.5 * _noise(generator, stop - start, rows, 9)
            shade = 1 + 0.13 * generator.standard_normal() + 0.07 * grain
            tone = np.array([0.60, 0.44, 0.30]) + generator.normal(0, 0.012, 3)
            out[top : top + rows, start:stop] = tone * shade[:, :, None]
            out[top : top + rows, start : start + 2] *= 0.55
        out[top : top + 2] *= 0.6
    return np.clip(out, 0, 1)


def _patches(width: int, height: int, name: str, *, num_colours: int = 6) -> NDArray[np.float32]:
    """Rectangles of every size, painted over each other: unlike anything else in the room."""
    generator = generator_for(name)
    palette = generator.permutation(_PALETTE)[:num_colours]
    palette = np.clip(palette + generator.normal(0, 0.02, palette.shape), 0, 1)
    out = _flat(width, height, tuple(palette[0]))
    for size in np.geomspace(0.6, 0.05, 160):
        high, wide = (
            max(3, int(side * size * generator.uniform(0.4, 1))) for side in out.shape[:2]
        )
        x, y = generator.integers(-wide // 2, width), generator.integers(-high // 2, height)
        colour = palette[generator.integers(num_colours)]
        out[max(y, 0) : max(y + high, 0), max(x, 0) : max(x + wide, 0)] = colour
    return out


def _picture(source: str, width: int, height: int) -> NDArray[np.float32]:
    """A photograph, or a drawn one, cut to the shape asked for."""
    import cv2

    if source.split()[0] in _DRAWN:
        return _patches(width, height, source)
    pixels = photograph(source)
    rows, columns = pixels.shape[:2]
    scale = min(columns / width, rows / height)
    wide, high = round(width * scale), round(height * scale)
    left, top = (columns - wide) // 2, (rows - high) // 2
    cut = pixels[top : top + high, left : left + wide]
    how = cv2.INTER_AREA if scale > 1 else cv2.INTER_CUBIC
    return np.clip(cv2.resize(cut, (width, height), interpolation=how), 0, 1)


def _framed(width: int, height: int, density: int, source: str, frame: str) -> Image:
    border, mat = round(_BORDER * density), round(_MAT * density)
    out = _flat(width, height, _TONES[frame])
    # A moulding: lit above and on the left, darker towards the photograph.
    ramp = np.linspace(1.25, 0.75, border, dtype=np.float32)
    for step, shade in enumerate(ramp):
        out[step, step : width - step] *= shade
        out[step : height - step, step] *= shade
        out[height - 1 - step, step : width - step] *= 2 - shade
        out[step : height - step, width - 1 - step] *= 2 - shade
    out[border : height - border, border : width - border] = (0.90, 0.89, 0.86)
    inset = border + mat
    out[inset - 2 : height - inset + 2, inset - 2 : width - inset + 2] = 0.62
    inner = _picture(source, width - 2 * inset, height - 2 * inset)
    out[inset : height - inset, inset : width - inset] = inner
    return to_linear(np.clip(out, 0, 1))


def _block_side(width: int, height: int, material: str, number: str) -> Image:
    """Side 0…3 or top 4 of a box; each side shows another part of its photograph."""
    import cv2

    side = int(number)
    name = f"{material}:{number}"
    if material == "plain":
        return _plaster(width, height, name, (0.84, 0.83, 0.80), 0.042)
    if material == "planks":
        return to_linear(_planks(width, height, name, board=40) * np.float32(0.9))
    if material in _DRAWN:
        return to_linear(_patches(width, height, name))
    pixels = photograph(material) * np.array(_TINTS[material], dtype=np.float32)
    if material == "brick":
        part = np.rot90(pixels)[:, side % 4 * 128 : side % 4 * 128 + 128]
    elif side < 4:
        row, column = divmod(side, 2)
        part = pixels[row * 256 : row * 256 + 256, column * 256 : column * 256 + 256]
    else:
        part = pixels[128:384, 128:384][:, ::-1]  # mirrored, it matches none of the sides
    part = np.ascontiguousarray(part)
    return to_linear(
        np.clip(cv2.resize(part, (width, height), interpolation=cv2.INTER_CUBIC), 0, 1)
    )


def _label(width: int, height: int, name: str) -> Image:
    """A white card with the title and three lines too small to read."""
    import cv2

    card = np.full((height, width, 3), (237, 237, 232), dtype=np.uint8)
    cv2.putText(card, name[:11], (6, 20), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (25, 25, 25), 1)
    out = card.astype(np.float32) / np.float32(255)
    generator = generator_for(f"label:{name}")
    for line in range(30, height - 6, 8):
        for x in range(6, width - 14, 12):
            if generator.random() < 0.85:
                out[line : line + 3, x : x + int(generator.integers(5, 11))] = 0.35
    return to_linear(out)
