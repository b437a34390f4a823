"""HardNet and SOSNet on patches at SIFT keypoints.

The networks are kornia's, the weights come from a file the caller names: sfumato downloads
nothing. This is the only file of `features` that imports torch or kornia, when it must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.extras import need
from sfumato.core.types import Features
from sfumato.features.extractors import ExtractorSpec
from sfumato.features.opencv import as_features, detect_sift, guarded, to_gray

PATCH_SIDE = 32
#: Side of a patch in diameters of its keypoint: 12σ, what both networks were trained on.
PATCH_RATIO = 6.0
_BATCH = 512
_CLASSES = {"hardnet": "HardNet", "sosnet": "SOSNet"}

#: (N, 1, 32, 32) float32 in 0…1 → (N, 128) float32.
Network = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def check_available(name: str, weights: str | Path | None) -> None:
    """Refuse with the way out when the packages or the weights are not there."""
    need("train", name, "torch", "kornia")
    if weights is None:
        raise Missing(
            f"{name} needs its weights as a file, none was given; download the state dict from "
            "the authors or from kornia's hub and pass weights=PATH, sfumato downloads nothing."
        )
    if not Path(weights).is_file():
        raise Missing(f"{name} needs its weights as a file, there is none at {weights}.")


def load_network(name: str, weights: str | Path) -> Network:
    """kornia's network, filled from a state dict; code in the file is never run."""
    check_available(name, weights)
    # A folder asks for the same network at every picture; a file that changed is read again.
    return _load(name, str(weights), Path(weights).stat().st_mtime_ns)


def read_state_dict(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a state dict that torch saved, by name; code in the file is never run."""
    need("train", "reading weights as .pth", "torch")
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = state.get("state_dict", state)
        return {str(name): array.numpy() for name, array in state.items()}
    except Exception as error:
        # torch raises pickle, zip, key, attribute and runtime errors, as the file is wrong.
        raise InvalidInput(f"{path} is not a state dict of torch; give weights.") from error


@lru_cache(maxsize=2)
def _load(name: str, weights: str, _modified: int) -> Network:
    import kornia.feature
    import torch

    model = getattr(kornia.feature, _CLASSES[name])(pretrained=False)
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        model.load_state_dict(state.get("state_dict", state))
    except Exception as error:
        # torch raises pickle, zip, key, attribute and runtime errors, as the file is wrong.
        raise InvalidInput(
            f"{weights} is not a state dict of {name}; give the weights of this network."
        ) from error
    model.eval()

    def describe(patches: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(model(torch.from_numpy(patches)).numpy(), dtype=np.float32)

    return describe


def extract_learned(
    rgb: NDArray[np.uint8], spec: ExtractorSpec, max_keypoints: int | None, network: Network
) -> Features:
    """Describe SIFT keypoints, strongest first, with a network on their patches."""
    height, width = rgb.shape[:2]
    with guarded(width, height):
        gray = to_gray(rgb)
        keypoints = detect_sift(gray, max_keypoints)
        patches = cut_patches(gray, keypoints)
    parts = [network(patches[i : i + _BATCH]) for i in range(0, len(patches), _BATCH)]
    descriptors = np.concatenate([np.empty((0, spec.dimension), dtype=np.float32), *parts])
    return as_features(keypoints, descriptors, (width, height), spec)


def cut_patches(
    gray: NDArray[np.uint8], keypoints: Sequence[cv2.KeyPoint], *, side: int = PATCH_SIDE
) -> NDArray[np.float32]:
    """Patches (N, 1, side, side) in 0…1, turned so that the keypoint's angle points right.

    A patch coarser than the picture is cut from a picture halved as often as needed, so that
    fine texture does not alias. Beyond the border the picture's edge is repeated.
    """
    pyramid: list[NDArray[Any]] = [gray.astype(np.float32) / np.float32(255)]
    patches = np.empty((len(keypoints), 1, side, side), dtype=np.float32)
    for row, point in enumerate(keypoints):
        step = PATCH_RATIO * point.size / side  # pixels of the picture per pixel of the patch
        level = max(int(np.floor(np.log2(step))), 0)
        while len(pyramid) <= level and min(pyramid[-1].shape) > 1:
            pyramid.append(np.asarray(cv2.pyrDown(pyramid[-1])))
        level = min(level, len(pyramid) - 1)
        # pyrDown keeps every second pixel, so pixel x of a level lies at 2x of the one below.
        shrink = 0.5**level
        patches[row, 0] = cv2.warpAffine(
            pyramid[level],
            patch_to_picture(point, side, step) * shrink,
            (side, side),
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )
    return patches


def patch_to_picture(point: cv2.KeyPoint, side: int, step: float) -> NDArray[np.float64]:
    """The 2×3 matrix from patch pixels to picture pixels; angles run clockwise, y down."""
    angle = np.deg2rad(max(point.angle, 0.0))  # −1 stands for "none": upright
    turn = step * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = np.full(2, (side - 1) / 2)
    centre = np.array(point.pt, dtype=np.float64)
    return np.column_stack([turn, centre - turn @ middle])
