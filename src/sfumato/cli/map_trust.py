"""Is a reconstruction to be trusted? Figures, a verdict, and what to do where it is poor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.lens import focal_lengths

if TYPE_CHECKING:
    from sfumato.server.mapping import Map

#: (sound, poor): share of images placed, points an image sees, mean error in pixels, views a point.
_PLACED, _SEEN, _ERROR, _VIEWS = (0.9, 0.5), (200, 50), (1.5, 3.0), (2.5, 2.1)


def judge(world: Map, figures: dict[str, Any]) -> dict[str, Any] | None:
    """Figures of a map whose poses were reconstructed; None where they were given."""
    facts = world.facts
    if not str(facts.get("method", "")).startswith("structure from motion"):
        return None
    outside = len(facts.get("unregistered", []))
    seen = np.asarray(world.observations_per_image)
    share = world.num_images / (world.num_images + outside)
    per_image = float(np.median(seen)) if len(seen) else 0.0
    error, views = figures["mean_reprojection_error_px"], figures["mean_track_length"]
    doubts, poor = [], False
    for value, (sound, bad), falls, advice in (
        (share, _PLACED, True, _MORE_OVERLAP),
        (per_image, _SEEN, True, _MORE_TEXTURE),
        (error, _ERROR, False, _SHARPER),
        (views, _VIEWS, True, _MORE_VIEWS),
    ):
        worse = value < sound if falls else not value <= sound
        poor |= value < bad if falls else not value <= bad
        if worse:
            doubts.append(advice)
    return {
        "registered": world.num_images,
        "not_registered": outside,
        "points_per_image_median": per_image,
        "points_per_image_least": int(seen.min()) if len(seen) else 0,
        "reprojection_error_px": error,
        "views_per_point": views,
        "focal_lengths": [_focal(world, camera) for camera in range(len(world.cameras))],
        "focal_lengths_from": dict(facts.get("focal_lengths_from", {})),
        "verdict": "poor" if poor else "doubtful" if doubts else "sound",
        "advice": doubts,
    }


_MORE_OVERLAP = (
    "images were left out: take more pictures between those that were placed and those that were "
    "not, a step apart, each showing two thirds of the one before"
)
_MORE_TEXTURE = (
    "images see few points: more light, no motion blur, more of the place, less sky and blank wall"
)
_SHARPER = (
    "points do not meet well: use pictures of one camera at one zoom, uncropped, and give its "
    "intrinsics with --cameras where they are known"
)
_MORE_VIEWS = "points are seen by hardly more than two images: take more pictures of the same"


def _focal(world: Map, camera: int) -> dict[str, Any]:
    found = world.cameras[camera]
    focal = focal_lengths(found)[0]
    side = max(found.width, found.height)
    return {
        "pixels": focal,
        "over_longer_side": focal / side,
        "field_of_view_deg": math.degrees(2 * math.atan(side / 2 / focal)),
        "images": int(np.count_nonzero(np.asarray(world.camera_of_image) == camera)),
    }


def trust_text(facts: dict[str, Any]) -> dict[str, str]:
    """The same for a newcomer, the verdict first."""
    total = facts["registered"] + facts["not_registered"]
    first = max(facts["focal_lengths"], key=lambda one: one["images"])
    more = len(facts["focal_lengths"]) - 1
    begun = [
        f"{count} {_BEGUN.get(source, source)}"
        for source, count in facts["focal_lengths_from"].items()
        if count
    ]
    verdict = {
        "sound": "sound: all that can be checked without the truth looks right",
        "doubtful": "doubtful: usable, but look at it with `sfumato map show` first",
        "poor": "POOR: do not rely on poses in this map",
    }[facts["verdict"]]
    return {
        "verdict": verdict,
        "  to do": "; ".join(facts["advice"]) or "nothing",
        "  placed": f"{facts['registered']:,} of {total:,} images",
        "  they see": f"{facts['points_per_image_median']:,.0f} points each in the middle, "
        f"{facts['points_per_image_least']:,} the least",
        "  focal length": f"{first['pixels']:,.0f} pixels, {first['field_of_view_deg']:.0f}° wide"
        + (f", and {more} more cameras" if more else "")
        + (f"; begun from {', '.join(begun)}" if begun else ""),
        "  scale": "not known: lengths are in a unit of the map's own, and up is where it happened",
    }


_BEGUN = {"exif": "by EXIF", "guess": "by a guess", "given": "as given"}
