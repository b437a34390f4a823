"""What Python makes of an example photograph, for the tests of the page: python painting.py FOLDER.

Written at the time of the test, so that another network needs no other files. Arrays are raw
little-endian bytes; sizes.json says how many numbers each has.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import numpy as np

from sfumato.adversary.invert.encoders import Encoded, scale_descriptors, with_frames
from sfumato.adversary.invert.keypoint_angles import find_neighbourhood, infer_frames, peak_angles
from sfumato.adversary.invert.networks import find_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.refine_frames import describe, refine_frames
from sfumato.adversary.invert.sparse import MapOptions, map_pixels
from sfumato.adversary.invert.turned_views import turned
from sfumato.adversary.metrics import compare
from sfumato.core.releases import PlainRelease, Release
from sfumato.features.image import load_image
from sfumato.pages.photo import shrink

EXAMPLES = Path(__file__).parents[1] / "public" / "examples"
SIDE = 256


def main(folder: Path) -> None:
    sizes: dict[str, list[int]] = {}

    def keep(name: str, values: np.ndarray) -> None:
        sizes[name] = list(values.shape)
        (folder / name).write_bytes(np.ascontiguousarray(values).tobytes())

    release = Release.from_bytes((EXAMPLES / "chelsea-lifted.sfr").read_bytes())
    assert isinstance(release, PlainRelease)
    photo = load_image(EXAMPLES / "chelsea.jpg")
    small = shrink(photo, SIDE)
    size = small.shape[1], small.shape[0]
    scale = np.array(size) / release.image_size
    # Moved a little: SIFT repeats positions, and which of two comes first is chance.
    moved = np.random.default_rng(1).uniform(-0.03, 0.03, release.keypoints.shape)
    points = ((release.keypoints + 0.5) * scale - 0.5 + moved).astype(np.float32)
    points = np.clip(points, 0, np.array(size) - 1).astype(np.float32)
    rows = scale_descriptors(release.descriptors, "sift")
    scales, angles = infer_frames(rows, points, size, "sift")
    near = find_neighbourhood(points, size, 16)
    keep("keypoints", points)
    keep("scales", scales)
    keep("angles", angles)
    keep("near-index", near.index.astype(np.int32))
    keep("near-edges", near.edges)
    keep("near-border", near.border)
    logits = np.random.default_rng(0).normal(size=(50, 36)).astype(np.float32) * 3
    keep("logits", logits)
    keep("peaks", peak_angles(logits))

    bare = Encoded(rows, points, size)
    framed = with_frames(bare, scales, angles, certainty=0.5)
    for name, seen, options in (
        ("plain", bare, MapOptions(3, 48.0, 32)),
        ("framed", framed, MapOptions(3, 48.0, 32, framed=True)),
        ("covering", framed, MapOptions(3, 48.0, 32, framed=True, covering=3)),
        ("turned", turned(framed, 3), MapOptions(3, 48.0, 32, framed=True, covering=3)),
    ):
        pixels = map_pixels(
            seen.keypoints, seen.image_size, options, scales=seen.scales, angles=seen.angles
        )
        keep(f"{name}-rows", seen.rows)
        keep(f"{name}-index", pixels.index.astype(np.int32))
        keep(f"{name}-offsets", pixels.offsets)

    inverter = Inverter(find_network(), threads=1)
    wanted = inverter.architecture
    seen = bare
    if wanted.frames != "none":
        certainty = 0.5 if wanted.frames == "either" else 1.0
        seen = with_frames(bare, scales, angles, certainty=certainty)
    picture = inverter.reconstruct_rows(seen).picture
    keep("picture", picture.astype(np.float32))
    # Frames corrected on the painting; and SIFT of a painting at frames of every size.
    rng = np.random.default_rng(2)
    sizes_tried = (1.85 * np.exp2(rng.uniform(0, 4, len(points)))).astype(np.float32)
    angles_tried = rng.uniform(0, 360, len(points)).astype(np.float32)
    grey = np.rint(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)).astype(np.uint8)
    keep("grey", grey)
    keep("tried", np.stack([*points.T, sizes_tried, angles_tried], axis=1))
    keep("described", describe(grey, points, sizes_tried, angles_tried))
    better = picture
    if wanted.frames == "either":
        better = inverter.reconstruct_rows(refine_frames(seen, inverter._paint)).picture
    keep("photo", (small / 255).astype(np.float32))
    # What the network itself says it wants, to compare with what the page reads of its file.
    facts = {
        "ssim": compare(small, picture).ssim,
        "refined": compare(small, better).ssim,
        "readsWords": int(inverter.reads_words),
        "channels": wanted.channels,
        "frames": wanted.frames,
        "neighbours": wanted.map_options.neighbours,
        "radius": wanted.map_options.radius,
        "multiple": wanted.map_options.multiple,
        "covering": wanted.map_options.covering,
    }
    (folder / "sizes.json").write_text(json.dumps({"sizes": sizes, "facts": facts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
